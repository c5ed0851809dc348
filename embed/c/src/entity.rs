//! Entities and the values of single ones, many at a time.
#![expect(unsafe_code, reason = "exports functions that take pointers")]

use core::alloc::Layout;
use core::ffi::c_int;
use core::ptr::NonNull;

use formic_ecs::{ComponentId, ComponentInfo, Entity};

use crate::component::{expect_hosts, fm_component, is_hosts};
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

/// A component that was registered here.
fn hosts(state: &WorldState, component: fm_component) -> Result<&ComponentInfo, Failure> {
    let info = state.world.component_info(state.component(component)?)?;
    expect_hosts(info)?;
    Ok(info)
}

/// The size of so many values.
fn size_of_all(size: usize, count: usize) -> Result<usize, Failure> {
    size.checked_mul(count).ok_or_else(|| Failure::argument("too many values"))
}

/// Room for a value on its way into the world.
struct Scratch {
    layout: Layout,
    room: NonNull<u8>,
}

impl Scratch {
    fn new(layout: Layout) -> Result<Self, Failure> {
        let dangling = NonNull::new(core::ptr::without_provenance_mut(layout.align()));
        let room = if layout.size() == 0 {
            dangling
        } else {
            // SAFETY: it has a size.
            NonNull::new(unsafe { std::alloc::alloc(layout) })
        };
        let room = room.ok_or_else(|| Failure::argument("there is no memory for a value"))?;
        Ok(Self { layout, room })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.layout.size() > 0 {
            // SAFETY: allocated in `new` with this layout, as it has a size.
            unsafe { std::alloc::dealloc(self.room.as_ptr(), self.layout) };
        }
    }
}

/// Moves a value into the world, as [`fm_insert`] does. Where the entity is gone it is dropped.
fn move_in(
    state: &mut WorldState,
    entity: Result<Entity, Failure>,
    id: ComponentId,
    scratch: &Scratch,
    value: &[u8],
) -> Result<(), Failure> {
    // SAFETY: the room has the layout of the component, of which the value has as many bytes.
    unsafe { scratch.room.copy_from_nonoverlapping(NonNull::from(value).cast(), value.len()) };
    let there = entity.and_then(|it| state.world.place_of(it).map(|_| it).map_err(Failure::from));
    let entity = match there {
        Ok(entity) => entity,
        Err(failure) => {
            if let Some((drop, user)) = state.world.component_info(id)?.drop_fn() {
                // SAFETY: the room has a value of the component, which the caller gave up.
                unsafe { drop(user, scratch.room.as_ptr().cast()) };
            }
            return Err(failure);
        }
    };
    // SAFETY: the id is of this world; the room has a value of the component, which the caller gave
    // up, aligned and outside of the world.
    Ok(unsafe { state.world.by_id_mut().insert_ptr(entity, id, scratch.room) }?)
}

/// Entities that are spawned at a time: their list stays in the cache, and beside the caller's there is
/// no second one of all.
const SPAWN_BLOCK: usize = 1 << 13;

/// Spawns `count` entities with the same components. `values` has an array for each component, of
/// `count` values; that of a component without bytes may be null. `entities` gets the handles, in
/// the order of the values. If it fails, values of components with a drop function are still the
/// caller's; but after FM_PANIC some may be the world's, and none is to be dropped.
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
            for (&component, &start) in components.iter().zip(values) {
                let info = hosts(state, component)?;
                let len = size_of_all(info.layout().size(), count)?;
                // SAFETY: the caller vouches for `count` values of the component, as bytes.
                let values = unsafe { ffi::slice("an array of values", start, len) }?;
                columns.push((info.id(), values));
            }
            state.world.reserve(count);
            for (block, entities) in entities.chunks_mut(SPAWN_BLOCK).enumerate() {
                let of_block = |&(id, values): &(ComponentId, &[u8])| {
                    let before = values.len() / count * (block * SPAWN_BLOCK);
                    (id, NonNull::from(&values[before..]).cast())
                };
                let columns: Vec<_> = columns.iter().map(of_block).collect();
                // SAFETY: the ids are of this world; there are as many values of each, as the caller
                // says, who gives them up if they have a drop function.
                let spawned =
                    unsafe { state.world.by_id_mut().spawn_batch_ptr(&columns, entities.len()) }?;
                for (place, entity) in entities.iter_mut().zip(spawned) {
                    *place = entity.to_bits();
                }
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
            each(entities, |_, entity| Ok(state.world.despawn(entity)?))
        })
    })
}

/// Does something to all, each with its place in the list; the first failure is returned in the end.
pub(crate) fn each(
    entities: &[fm_entity],
    mut body: impl FnMut(usize, Entity) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut first = Ok(());
    for (place, &entity) in entities.iter().enumerate() {
        first = first.and(entity_of(entity).and_then(|entity| body(place, entity)));
    }
    first
}

/// Inserts a component into entities, or replaces its values. `values` has one for each. Entities that
/// are not in the world are passed over, as for fm_despawn(). Values of a component with a drop function
/// are the world's if this is FM_OK or FM_NO_ENTITY (those for entities that are gone are dropped), or
/// FM_PANIC, else the caller's.
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
            let info = hosts(state, component)?;
            let (id, layout) = (info.id(), info.layout());
            let len = size_of_all(layout.size(), count)?;
            // SAFETY: the caller vouches for `count` values of the component, as bytes.
            let values = unsafe { ffi::slice("values", values, len) }?;
            let scratch = Scratch::new(layout)?;
            let mut first = Ok(());
            for (place, &entity) in entities.iter().enumerate() {
                let value = &values[place * layout.size()..][..layout.size()];
                let done = move_in(state, entity_of(entity), id, &scratch, value);
                first = first.and(done);
            }
            first
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
            each(entities, |_, entity| Ok(state.world.by_id_mut().remove(entity, id)?))
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
            each(entities, |_, entity| {
                state.world.by_id_mut().set_enabled(entity, id, enabled)?;
                Ok(())
            })
        })
    })
}

/// Copies the value that an entity has of a component; one that has a drop function stays the world's.
/// `size` is the size that the caller thinks it
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
            let (entity, info) = (entity_of(entity)?, state.world.component_info(id)?);
            let bytes = if is_hosts(info) {
                let value = state.world.by_id().get_ptr(entity, id)?;
                // SAFETY: a value of a component of the host, which it has said is all bytes; no
                // lease writes it.
                unsafe { NonNull::slice_from_raw_parts(value, info.layout().size()).as_ref() }
            } else {
                state.world.by_id().get(entity, id)?
            };
            if bytes.len() != value.len() {
                let text = format!("a value has {} bytes, not {size}", bytes.len());
                return Err(Failure::argument(text));
            }
            value.copy_from_slice(bytes);
            Ok(())
        })
    })
}

/// Writes the value of a component that an entity has, and notes the change. With FM_OK a value of a
/// component with a drop function is the world's, and the one before is dropped.
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
            let layout = hosts(state, component)?.layout();
            if layout.size() != size {
                let text = format!("a value has {} bytes, not {size}", layout.size());
                return Err(Failure::argument(text));
            }
            let entity = entity_of(entity)?;
            state.world.by_id().get_ptr(entity, id)?;
            move_in(state, Ok(entity), id, &Scratch::new(layout)?, value)
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
            let on = found.and_then(|it| state.world.by_id().is_enabled(it, id).ok());
            Ok(on.map_or(0, |on| 1 + c_int::from(on)))
        })?;
        // SAFETY: the caller says that it may be written.
        unsafe { ffi::give("out", out, has) }
    })
}
