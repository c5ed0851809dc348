//! Command buffers: changes that are recorded now and made later, in order.
#![expect(unsafe_code, reason = "exports functions that take pointers")]

use formic_ecs::CommandBuffer;

use crate::component::fm_component;
use crate::entity::{entity_of, fm_entity};
use crate::ffi;
use crate::status::{Failure, call, fm_status};
use crate::world::{call_with, fm_world, with};

/// A command buffer of one world.
pub type fm_commands = u64;

/// Makes a command buffer. `*out` is its handle.
///
/// # Safety
/// `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_commands_new(world: fm_world, out: *mut fm_commands) -> fm_status {
    call(|| {
        ffi::expect_place("out", out)?;
        let buffer = with(world, |state| {
            let buffer = CommandBuffer::new(&state.world);
            Ok(state.buffers.insert(buffer))
        })?;
        // SAFETY: the caller says that it may be written.
        unsafe { ffi::give("out", out, buffer) }
    })
}

/// Frees a command buffer; what it has recorded is not done.
#[unsafe(no_mangle)]
pub extern "C" fn fm_commands_free(world: fm_world, commands: fm_commands) -> fm_status {
    // Dropped outside of the table, with the world's lock held.
    call_with(world, |state| state.buffers.remove(commands).map(drop))
}

/// Records an entity that is to come. `*out` is a handle for the same buffer's later commands, until it is
/// played, and for no other call: a query finds the entity then, or fm_spawn() gives its handle at once.
///
/// # Safety
/// `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_commands_spawn(
    world: fm_world,
    commands: fm_commands,
    out: *mut fm_entity,
) -> fm_status {
    call(|| {
        ffi::expect_place("out", out)?;
        let entity = with(world, |state| Ok(state.buffers.get_mut(commands)?.spawn(())))?;
        // SAFETY: the caller says that it may be written.
        unsafe { ffi::give("out", out, entity.to_bits()) }
    })
}

/// Records that a component is to be inserted, or its value replaced.
///
/// # Safety
/// `value` points at `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_commands_insert(
    world: fm_world,
    commands: fm_commands,
    entity: fm_entity,
    component: fm_component,
    value: *const u8,
    size: usize,
) -> fm_status {
    call(|| {
        // SAFETY: the caller vouches for as many bytes.
        let value = unsafe { ffi::slice("value", value, size) }?;
        with(world, |state| {
            let id = state.component(component)?;
            let info = state.world.component_info(id)?;
            if !info.is_bytes() {
                let text = format!("{} is not plain bytes, as command buffers need", info.name());
                return Err(Failure::argument(text));
            }
            let expected = info.layout().size();
            if expected != size {
                return Err(Failure::argument(format!("a value has {expected} bytes, not {size}")));
            }
            let buffer = state.buffers.get_mut(commands)?;
            buffer.insert_by_id(entity_of(entity)?, id, value);
            Ok(())
        })
    })
}

/// Records that a component is to be removed.
#[unsafe(no_mangle)]
pub extern "C" fn fm_commands_remove(
    world: fm_world,
    commands: fm_commands,
    entity: fm_entity,
    component: fm_component,
) -> fm_status {
    call_with(world, |state| {
        let id = state.component(component)?;
        state.buffers.get_mut(commands)?.remove_by_id(entity_of(entity)?, id);
        Ok(())
    })
}

/// Records that an entity is to be despawned.
#[unsafe(no_mangle)]
pub extern "C" fn fm_commands_despawn(
    world: fm_world,
    commands: fm_commands,
    entity: fm_entity,
) -> fm_status {
    call_with(world, |state| {
        state.buffers.get_mut(commands)?.despawn(entity_of(entity)?);
        Ok(())
    })
}

/// Does what was recorded, in order, and empties the buffer. Commands that do not apply (the entity is
/// gone, or does not have what is to be removed) are passed over; `*failures` is how many, and
/// fm_error_text() has the first of them, with FM_NO_ENTITY as the status.
///
/// # Safety
/// `failures` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_commands_play(
    world: fm_world,
    commands: fm_commands,
    failures: *mut usize,
) -> fm_status {
    call(|| {
        ffi::expect_place("failures", failures)?;
        let (count, first) = with(world, |state| {
            state.expect_no_lease()?;
            let playback = state.buffers.get_mut(commands)?.play(&mut state.world);
            let failed = playback.failures();
            Ok((failed.len(), failed.first().map(ToString::to_string)))
        })?;
        // SAFETY: the caller says that it may be written.
        unsafe { ffi::give("failures", failures, count) }?;
        first.map_or(Ok(()), |text| Err(Failure::new(fm_status::FM_NO_ENTITY, text)))
    })
}
