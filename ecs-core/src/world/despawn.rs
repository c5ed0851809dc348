//! Despawning entities that observers, relations or cleanup components hold on to.

use alloc::vec::Vec;

use super::World;
use super::lifecycle::{DEPTH_MAX, Lifecycle};
use crate::archetype::Archetype;
use crate::component::{ArchetypeFlags, ComponentId, Despawned};
use crate::entity::Entity;
use crate::error::NoSuchEntity;
use crate::hash::BuildFibonacci;

/// Entities without an order.
pub(crate) type EntitySet = hashbrown::HashSet<Entity, BuildFibonacci>;

impl World {
    /// Despawns an entity that has flags, after all whose life depends on it.
    #[cold]
    pub(super) fn despawn_with_dependents(&mut self, root: Entity) -> Result<(), NoSuchEntity> {
        if self.flags_of(root).any(ArchetypeFlags::DESPAWNED) {
            return Err(NoSuchEntity(root));
        }
        let mut seen = EntitySet::default();
        let mut latecomers = 0;
        // The path from the root to the entity that goes next, and for each whether those who depend on it
        // are on it or gone already.
        let mut path = alloc::vec![(root, false)];
        while let Some(&mut (entity, ref mut is_expanded)) = path.last_mut() {
            let was_expanded = core::mem::replace(is_expanded, true);
            let before = path.len();
            // A relation with circles may lead back to one that is on the path.
            seen.insert(entity);
            if self.flags_of(entity).any(ArchetypeFlags::RELATED) {
                (self.callbacks.dependents)(self, entity, &mut |next| {
                    path.extend(seen.insert(next).then_some((next, false)));
                });
            }
            if path.len() == before {
                path.pop();
                self.despawn_one(entity, true);
            } else if was_expanded {
                latecomers += 1;
                assert!(
                    latecomers < DEPTH_MAX,
                    "hooks and observers keep giving sources to an entity that is despawned"
                );
            }
        }
        Ok(())
    }

    /// Lets one entity go, by itself. Cleanup components are kept where `keeps_cleanup` says so.
    pub(super) fn despawn_one(&mut self, entity: Entity, keeps_cleanup: bool) {
        let flags = self.flags_of(entity);
        if flags.any(ArchetypeFlags::ON_DESPAWN) {
            self.trigger_lifecycle(entity, Lifecycle::Despawning { keeps_cleanup });
        }
        // Observers may have done anything.
        let flags = self.flags_of(entity);
        if keeps_cleanup && flags.any(ArchetypeFlags::DESPAWNED) {
            return;
        }
        let mut after = None;
        if flags.any(ArchetypeFlags::RELATED) {
            after = (self.callbacks.unrelate)(self, entity);
        }
        let Some(at) = self.locate(entity) else { return };
        if keeps_cleanup && self.archetypes.get(at.archetype).flags.any(ArchetypeFlags::CLEANUP) {
            let tag = self.register_despawned();
            self.strip(entity, at, tag);
        } else {
            self.remove_row(entity, at);
        }
        if let Some(after) = after {
            after(self);
        }
    }

    /// The tag of entities that have been despawned and are not gone.
    pub(crate) fn register_despawned(&mut self) -> ComponentId {
        let tag = self.register::<Despawned>();
        if !self.registry.info(tag).flags.any(ArchetypeFlags::DESPAWNED) {
            self.add_flags(tag, ArchetypeFlags::DESPAWNED);
        }
        tag
    }

    /// The last cleanup component of an entity was removed after it had been despawned.
    #[cold]
    pub(crate) fn finish_cleanup(&mut self, entity: Entity) {
        self.despawn_one(entity, false);
    }

    /// Before the world is emptied: entities with hooks go one by one.
    pub(super) fn despawn_observed(&mut self) {
        let is_told_of = |archetype: &&Archetype| archetype.flags.any(ArchetypeFlags::ON_DESPAWN);
        // Observers may spawn others, which have to be told of as well.
        for _ in 0..DEPTH_MAX {
            let archetypes = self.archetypes().iter().filter(is_told_of);
            let leaving: Vec<Entity> = archetypes.flat_map(Archetype::all_entities).collect();
            if leaving.is_empty() {
                return;
            }
            // An observer may have been faster.
            leaving.into_iter().for_each(|entity| self.despawn_one(entity, false));
        }
        panic!("hooks and observers spawn entities without end while the world is cleared");
    }

    /// Whether the entity is in the world, and not only to be cleaned up.
    pub(crate) fn expect_there(&self, entity: Entity) -> Result<(), NoSuchEntity> {
        let at = self.locate(entity).ok_or(NoSuchEntity(entity))?;
        let is_despawned = self.archetypes.get(at.archetype).flags.any(ArchetypeFlags::DESPAWNED);
        if is_despawned { Err(NoSuchEntity(entity)) } else { Ok(()) }
    }
}
