//! Operations by component id, which have to do what those by type do.
#![expect(unsafe_code, reason = "hands values to the world by their addresses")]

use std::any::Any;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use formic_ecs::{ByIdError, ComponentId, DynamicQuery, Entity, World};

use super::bulk::Crowd;
use super::parts::{Kind, Part, Seed};

/// Values of one component, which are the world's once it has taken them.
pub(crate) struct Column {
    start: NonNull<u8>,
    #[expect(dead_code, reason = "`start` points into it")]
    memory: Box<dyn Any>,
}

impl Column {
    pub(crate) fn of<T: Part>(seed: &Seed<'_>, count: usize) -> Self {
        let make = |nth| MaybeUninit::new(T::make(&seed.nth(nth)));
        let mut memory: Vec<MaybeUninit<T>> = (0..count).map(make).collect();
        Self { start: NonNull::from(memory.as_mut_slice()).cast(), memory: Box::new(memory) }
    }
}

/// Spawns entities with components of these kinds.
pub(crate) fn spawn(
    world: &mut World,
    kinds: &[Kind],
    seed: &Seed<'_>,
    count: usize,
) -> Result<Vec<Entity>, ByIdError> {
    let ids: Vec<ComponentId> = kinds.iter().map(|kind| (kind.fns().id)(world)).collect();
    let columns: Vec<Column> = kinds.iter().map(|kind| (kind.fns().column)(seed, count)).collect();
    let values: Vec<_> = ids.into_iter().zip(columns.iter().map(|column| column.start)).collect();
    // SAFETY: each column has `count` values of the component that the id is for. Nothing else uses
    // or drops them: they are `MaybeUninit`.
    unsafe { world.by_id_mut().spawn_batch_ptr(&values, count) }
}

/// Inserts one component into an entity that is there.
pub(crate) fn insert(
    world: &mut World,
    entity: Entity,
    kind: Kind,
    seed: &Seed<'_>,
) -> Result<(), ByIdError> {
    let (id, column) = ((kind.fns().id)(world), (kind.fns().column)(seed, 1));
    // SAFETY: the column has one value of the component that the id is for. Nothing else uses or
    // drops it: it is `MaybeUninit`.
    unsafe { world.by_id_mut().insert_ptr(entity, id, column.start) }
}

/// Writes one component of an entity; `false` where it is not to be had.
pub(crate) fn poke<T: Part>(world: &mut World, entity: Entity, value: u64) -> bool {
    let id = world.register::<T>();
    let Ok(place) = world.by_id_mut().get_mut_ptr(entity, id) else { return false };
    // SAFETY: a value of `T`, by whose id it was found, in a world that is borrowed exclusively.
    let part: &mut T = unsafe { place.cast().as_mut() };
    part.set(value);
    true
}

/// Reads one component of an entity, and whether it is enabled.
pub(crate) fn read<T: Part>(world: &World, entity: Entity) -> Option<(u64, bool)> {
    let id = world.component_id::<T>()?;
    let by_id = world.by_id();
    let place = by_id.get_ptr(entity, id).ok()?;
    assert!(by_id.has(entity, id));
    // SAFETY: a value of `T`, by whose id it was found, in a world that is borrowed meanwhile.
    let part: &T = unsafe { place.cast().as_ref() };
    Some((part.value(), by_id.is_enabled(entity, id).expect("it has it")))
}

/// The query by ids for those of a crowd.
pub(crate) fn query(world: &mut World, crowd: Crowd) -> DynamicQuery {
    let builder = DynamicQuery::builder();
    let builder = match crowd {
        Crowd::Everybody => builder,
        Crowd::Active => builder.with((Kind::Active.fns().id)(world)),
        Crowd::Unfuelled => builder.disabled((Kind::Fuel.fns().id)(world)),
    };
    builder.build(world).expect("nothing contradicts")
}
