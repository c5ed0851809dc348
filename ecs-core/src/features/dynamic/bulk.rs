//! Changes to all entities that a query by ids finds.

use super::query::DynamicMatch;
use super::{ByIdError, ByIdMut, DynamicQuery, DynamicQueryError};
use crate::archetype::ArchetypeId;
use crate::component::ComponentId;
use crate::mask::Rows;
use crate::query::ChunkRef;
use crate::world::{Matches, World};

/// All entities that a query by ids finds when a change is made to them, made by [`ByIdMut::bulk`]: what
/// [`Bulk`](crate::Bulk) is to a filter.
///
/// ```
/// use core::alloc::Layout;
/// use formic_ecs::prelude::*;
/// use formic_ecs::{ComponentDescriptor, DynamicQuery};
///
/// let mut world = World::new();
/// let [gold, rust] = ["gold", "rust"].map(|name| {
///     let component = ComponentDescriptor::bytes(name, Layout::new::<u8>());
///     world.by_id_mut().register(component).expect("the name is free")
/// });
/// world.by_id_mut().spawn_batch(&[(gold, &[7; 1000])], 1000)?;
///
/// let mut rich = DynamicQuery::builder().with(gold).build(&world)?;
/// assert_eq!(world.by_id_mut().bulk(&mut rich)?.insert(rust, &[1])?, 1000);
/// assert_eq!(world.by_id_mut().bulk(&mut rich)?.remove(gold)?, 1000);
/// let mut rusty = DynamicQuery::builder().with(rust).build(&world)?;
/// assert_eq!(world.by_id_mut().bulk(&mut rusty)?.despawn(), 1000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DynamicBulk<'w> {
    world: &'w mut World,
    query: &'w DynamicQuery,
}

debug_fields!([] DynamicBulk<'_>: query);

impl<'w> ByIdMut<'w> {
    /// All entities that a query by ids finds, to be changed together.
    ///
    /// # Errors
    /// Returns an error if the query was built for another world.
    pub fn bulk(self, query: &'w mut DynamicQuery) -> Result<DynamicBulk<'w>, DynamicQueryError> {
        query.extend(self.0.plan_source())?;
        Ok(DynamicBulk { world: self.0, query })
    }
}

impl<'w> DynamicBulk<'w> {
    /// Gives each entity a component that was registered as plain bytes, with these; returns how many
    /// entities there were. They go one by one.
    ///
    /// # Errors
    /// Returns an error if the id is not of this world, the component was not registered as plain
    /// bytes, or the bytes are not as many as a value has. Nothing has changed then.
    pub fn insert(self, id: ComponentId, bytes: &[u8]) -> Result<usize, ByIdError> {
        self.world.expect_bytes(id, bytes, 1)?;
        let insert =
            |world: &mut World, entity| world.by_id_mut().insert(entity, id, bytes).is_ok();
        Ok(self.matches().one_by_one(self.world, insert))
    }

    /// Takes a component of any kind from each entity that has it, and drops it; returns how many
    /// entities there were. Rows go by runs and chunks, unless a hook watches.
    ///
    /// Should a drop panic, it is as with [`Bulk::remove`](crate::Bulk::remove).
    ///
    /// # Errors
    /// Returns an error if the id is not of this world, or the component is the world's to take.
    pub fn remove(self, id: ComponentId) -> Result<usize, ByIdError> {
        self.world.changeable(id)?;
        let one = |world: &mut World, entity| world.by_id_mut().remove(entity, id).is_ok();
        Ok(self.matches().remove(self.world, &[id], one))
    }

    /// Takes each entity out of the world and drops its components; returns how many there were. Rows
    /// go by runs and chunks, unless a hook watches.
    ///
    /// Should a drop panic, it is as with [`Bulk::despawn`](crate::Bulk::despawn).
    #[expect(clippy::must_use_candidate, reason = "it has done its work")]
    pub fn despawn(self) -> usize {
        self.matches().despawn(self.world)
    }

    /// Switches a component on or off in each entity that has it; returns how many there were.
    ///
    /// # Errors
    /// Returns an error if the id is not of this world, or the component is not enableable.
    pub fn set_enabled(self, id: ComponentId, enabled: bool) -> Result<usize, ByIdError> {
        let info = self.world.registry.find(id)?;
        if !info.enableable {
            return Err(ByIdError::NotEnableable(info.name().clone()));
        }
        Ok(self.matches().set_enabled(self.world, id, enabled))
    }

    fn matches(&self) -> Matches<impl Fn(&ChunkRef<'_>) -> Rows + use<'w>> {
        let query: &'w DynamicQuery = self.query;
        let rows = |found: &'w DynamicMatch| {
            let id = u32::try_from(found.archetype).expect("archetypes are numbered by u32");
            let rows = |chunk: &ChunkRef<'_>| {
                let mut rows = Rows::All;
                found.rows(chunk, &mut rows);
                rows
            };
            (ArchetypeId(id), rows)
        };
        Matches(query.matches.iter().map(rows).collect())
    }
}
