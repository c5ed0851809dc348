//! Changes to all entities that a query by component id finds.

use super::query::DynamicMatch;
use super::{ByIdError, ByIdMut, DynamicQuery, DynamicQueryError};
use crate::component::ComponentId;
use crate::mask::Rows;
use crate::query::ChunkRef;
use crate::world::{Matches, World};

/// All entities that a query by ids finds at the time of a change. Created by [`ByIdMut::bulk`]. It is to
/// such a query what [`Bulk`](crate::Bulk) is to a filter.
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
    /// Selects all entities that a query by ids finds, to change them together.
    ///
    /// # Errors
    /// Returns an error if the query was built for another world.
    pub fn bulk(self, query: &'w mut DynamicQuery) -> Result<DynamicBulk<'w>, DynamicQueryError> {
        query.extend(self.0.plan_source())?;
        Ok(DynamicBulk { world: self.0, query })
    }
}

impl<'w> DynamicBulk<'w> {
    /// Adds a component that was registered as plain bytes, with these bytes, to each entity, and returns
    /// the number of entities. They are changed one by one.
    ///
    /// # Errors
    /// Returns an error if the world does not know the id, the component was not registered as plain
    /// bytes, or the number of bytes is not the size of a value. Nothing has changed then.
    pub fn insert(self, id: ComponentId, bytes: &[u8]) -> Result<usize, ByIdError> {
        self.world.expect_bytes(id, bytes, 1)?;
        let insert =
            |world: &mut World, entity| world.by_id_mut().insert(entity, id, bytes).is_ok();
        Ok(self.matches().one_by_one(self.world, insert))
    }

    /// Removes a component of any kind from each entity that has it, drops it, and returns the number of
    /// entities. Rows are changed by runs and chunks, unless a hook observes the change.
    ///
    /// If a drop panics, the effect is that of [`Bulk::remove`](crate::Bulk::remove).
    ///
    /// # Errors
    /// Returns an error if the world does not know the id, or only the world removes the component.
    pub fn remove(self, id: ComponentId) -> Result<usize, ByIdError> {
        self.world.expect_unmanaged(id)?;
        let one = |world: &mut World, entity| world.by_id_mut().remove(entity, id).is_ok();
        Ok(self.matches().remove(self.world, &[id], one))
    }

    /// Despawns each entity, and returns the number of entities. Rows are removed by runs and chunks,
    /// unless a hook observes the change.
    ///
    /// The number, and the effect if a drop panics, are those of [`Bulk::despawn`](crate::Bulk::despawn).
    #[expect(clippy::must_use_candidate, reason = "it has done its work")]
    pub fn despawn(self) -> usize {
        self.matches().despawn(self.world)
    }

    /// Enables or disables a component of each entity that has it, and returns the number of entities.
    ///
    /// # Errors
    /// Returns an error if the world does not know the id, or the component is not enableable.
    pub fn set_enabled(self, id: ComponentId, enabled: bool) -> Result<usize, ByIdError> {
        let info = self.world.registry.find(id)?;
        if !info.enableable {
            return Err(ByIdError::NotEnableable(info.name().clone()));
        }
        Ok(self.matches().set_enabled(self.world, id, enabled))
    }

    fn matches(&self) -> Matches<impl Fn(&ChunkRef<'_>) -> Rows + use<'w>> {
        let query: &'w DynamicQuery = self.query;
        let rows = |matched: &'w DynamicMatch| {
            let rows = |chunk: &ChunkRef<'_>| {
                let mut rows = Rows::All;
                matched.slots.rows(chunk, &mut rows);
                rows
            };
            (matched.archetype, rows)
        };
        Matches(query.0.matches.iter().map(rows).collect())
    }
}
