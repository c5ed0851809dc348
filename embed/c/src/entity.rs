//! Entities and the values of single ones, many at a time.
#![expect(unsafe_code, reason = "exports functions that take pointers")]

use core::ffi::c_int;

use formic_ecs::{ComponentId, Entity};

use crate::component::fm_component;
use crate::ffi;
use crate::status::{Failure, call, fm_status};
use crate::world::{WorldState, fm_world, with};

/// The handle of an entity. 0 is none.
pub type fm_entity = u64;

/// The entity with this handle, if it can be one.
pub(crate) fn entity_of(entity: fm_entity) -> Result<Entity, Failure> {
    Entity::from_bits(entity).ok_or_else(|| {
        Failure::new(fm_status::FM_NO_ENTITY, format!("{entity:#x} is the handle of no entity"))
    })
}

/// The components that were asked for, with the size of their values, if their values are bytes.
fn sizes(
    state: &WorldState,
    components: &[fm_component],
) -> Result<Vec<(ComponentId, usize)>, Failure> {
    let size_of = |&component: &fm_component| {
        let id = state.component(component)?;
        Ok((id, state.world.component_info(id)?.layout().size()))
    };
    components.iter().map(size_of).collect()
}

/// Spawns `count` entities with the same components. `values` has an array for each component, of
/// `count` values; that of a component without bytes may be null. `entities` gets the handles, in
/// the order of the values.
///
/// # Safety
/// `components` and `values` have `components_len` elements, each array has `count` values,
/// `entities` has room for `count` handles, initialised.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_spawn(
    world: fm_world,
    components: *const fm_component,
    components_len: usize,
    values: *const *const u8,
    count: usize,
    entities: *mut fm_entity,
) -> fm_status {
    call(|| {
        // SAFETY: the caller vouches for as many components.
        let components = unsafe { ffi::slice("components", components, components_len) }?;
        // SAFETY: the caller vouches for as many arrays.
        let values = unsafe { ffi::slice("values", values, components_len) }?;
        // SAFETY: the caller vouches for room for as many handles.
        let entities = unsafe { ffi::slice_mut("entities", entities, count) }?;
        with(world, |state| {
            state.expect_no_lease()?;
            let mut columns = Vec::with_capacity(components.len());
            for (&(id, size), &start) in sizes(state, components)?.iter().zip(values) {
                let len = size.checked_mul(count);
                let len = len.ok_or_else(|| Failure::argument("too many values"))?;
                // SAFETY: the caller vouches for `count` values of the component, as bytes.
                columns.push((id, unsafe { ffi::slice("an array of values", start, len) }?));
            }
            let spawned = state.world.spawn_batch_by_id(&columns, count)?;
            for (place, entity) in entities.iter_mut().zip(spawned) {
                *place = entity.to_bits();
            }
            Ok(())
        })
    })
}

/// Takes entities out of the world, with those that depend on them. Those that are not in it any more
/// are passed over: FM_NO_ENTITY if there were any, when all others are gone.
///
/// # Safety
/// `entities` has `count` handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_despawn(
    world: fm_world,
    entities: *const fm_entity,
    count: usize,
) -> fm_status {
    call(|| {
        // SAFETY: the caller vouches for as many handles.
        let entities = unsafe { ffi::slice("entities", entities, count) }?;
        with(world, |state| {
            state.expect_no_lease()?;
            each(entities, |entity| Ok(state.world.despawn(entity)?))
        })
    })
}

/// Does something to all; the first failure is returned in the end.
fn each(
    entities: &[fm_entity],
    mut body: impl FnMut(Entity) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut first = Ok(());
    for &entity in entities {
        let done = entity_of(entity).and_then(&mut body);
        first = first.and(done);
    }
    first
}

/// Inserts a component into entities, or replaces its values. `values` has one for each. Entities that
/// are not in the world are passed over, as for fm_despawn().
///
/// # Safety
/// `entities` has `count` handles, `values` as many values of the component.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_insert(
    world: fm_world,
    entities: *const fm_entity,
    count: usize,
    component: fm_component,
    values: *const u8,
) -> fm_status {
    call(|| {
        // SAFETY: the caller vouches for as many handles.
        let entities = unsafe { ffi::slice("entities", entities, count) }?;
        with(world, |state| {
            state.expect_no_lease()?;
            let (id, size) = sizes(state, &[component])?[0];
            let len = size.checked_mul(count);
            let len = len.ok_or_else(|| Failure::argument("too many values"))?;
            // SAFETY: the caller vouches for `count` values of the component, as bytes.
            let values = unsafe { ffi::slice("values", values, len) }?;
            let mut at = 0;
            each(entities, |entity| {
                let value = &values[at..at + size];
                at += size;
                Ok(state.world.insert_by_id(entity, id, value)?)
            })
        })
    })
}

/// Removes a component from entities. Those that are not in the world, or do not have it, are passed
/// over, as for fm_despawn().
///
/// # Safety
/// `entities` has `count` handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_remove(
    world: fm_world,
    entities: *const fm_entity,
    count: usize,
    component: fm_component,
) -> fm_status {
    call(|| {
        // SAFETY: the caller vouches for as many handles.
        let entities = unsafe { ffi::slice("entities", entities, count) }?;
        with(world, |state| {
            state.expect_no_lease()?;
            let id = state.component(component)?;
            each(entities, |entity| Ok(state.world.remove_by_id(entity, id)?))
        })
    })
}

/// Switches a component on or off for entities; no row moves, and leases may be open. Those that are
/// not in the world, or do not have it, are passed over, as for fm_despawn().
///
/// # Safety
/// `entities` has `count` handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_set_enabled(
    world: fm_world,
    entities: *const fm_entity,
    count: usize,
    component: fm_component,
    enabled: bool,
) -> fm_status {
    call(|| {
        // SAFETY: the caller vouches for as many handles.
        let entities = unsafe { ffi::slice("entities", entities, count) }?;
        with(world, |state| {
            let id = state.component(component)?;
            each(entities, |entity| {
                state.world.set_enabled_by_id(entity, id, enabled)?;
                Ok(())
            })
        })
    })
}

/// Copies the value that an entity has of a component. `size` is the size that the caller thinks it
/// has.
///
/// # Safety
/// `value` points at `size` bytes that are initialised and may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_get(
    world: fm_world,
    entity: fm_entity,
    component: fm_component,
    value: *mut u8,
    size: usize,
) -> fm_status {
    call(|| {
        // SAFETY: the caller vouches for as many bytes.
        let value = unsafe { ffi::slice_mut("value", value, size) }?;
        with(world, |state| {
            let id = state.component(component)?;
            state.expect_readable(id)?;
            let bytes = state.world.get_by_id(entity_of(entity)?, id)?;
            if bytes.len() != value.len() {
                let text = format!("a value has {} bytes, not {size}", bytes.len());
                return Err(Failure::argument(text));
            }
            value.copy_from_slice(bytes);
            Ok(())
        })
    })
}

/// Writes the value of a component that an entity has, and notes the change.
///
/// # Safety
/// `value` points at `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_set(
    world: fm_world,
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
            state.expect_writable(id)?;
            let expected = state.world.component_info(id)?.layout().size();
            if expected != size {
                return Err(Failure::argument(format!("a value has {expected} bytes, not {size}")));
            }
            state.world.get_mut_by_id(entity_of(entity)?, id)?.copy_from_slice(value);
            Ok(())
        })
    })
}

/// What an entity is: `*out` gets 0 if it is not in the world, or has not this component; 1 if it
/// has it and it is off; 2 if it is on.
///
/// # Safety
/// `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_has(
    world: fm_world,
    entity: fm_entity,
    component: fm_component,
    out: *mut c_int,
) -> fm_status {
    call(|| {
        let has = with(world, |state| {
            let id = state.component(component)?;
            let found = Entity::from_bits(entity);
            let on = found.and_then(|it| state.world.is_enabled_by_id(it, id).ok());
            Ok(on.map_or(0, |on| 1 + c_int::from(on)))
        })?;
        // SAFETY: the caller says that it may be written.
        unsafe { ffi::give("out", out, has) }
    })
}

/// Makes an entity the child of another, or of none if `parent` is 0: it is despawned with it.
#[unsafe(no_mangle)]
pub extern "C" fn fm_set_parent(world: fm_world, child: fm_entity, parent: fm_entity) -> fm_status {
    call(|| {
        with(world, |state| {
            state.expect_no_lease()?;
            let child = entity_of(child)?;
            let parent = if parent == 0 { None } else { Some(entity_of(parent)?) };
            state.world.set_parent(child, parent).map_err(Failure::argument)
        })
    })
}

/// Gives the children of an entity, the first ones of them if there is room for fewer. `*len` is how
/// many it has.
///
/// # Safety
/// `children` has room for `capacity` handles, initialised; `len` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_children(
    world: fm_world,
    parent: fm_entity,
    children: *mut fm_entity,
    capacity: usize,
    len: *mut usize,
) -> fm_status {
    call(|| {
        ffi::expect_place("len", len)?;
        // SAFETY: the caller vouches for room for as many handles.
        let room = unsafe { ffi::slice_mut("children", children, capacity) }?;
        let count = with(world, |state| {
            let parent = entity_of(parent)?;
            state.world.place_of(parent)?;
            let found = state.world.children(parent);
            for (place, child) in room.iter_mut().zip(found) {
                *place = child.to_bits();
            }
            Ok(found.len())
        })?;
        // SAFETY: the caller says that it may be written.
        unsafe { ffi::give("len", len, count) }
    })
}
