//! Creating and despawning entities.

use alloc::vec::Vec;

use super::World;
use super::lifecycle::Lifecycle;
use crate::bundle::{Bundle, Parts};
use crate::component::ArchetypeFlags;
use crate::entity::Entity;
use crate::error::NoSuchEntity;
use crate::storage::Chunks;
use crate::transfer::RowMoves;
use crate::user_code::{expected_of, finish};

/// Entities: creating and despawning them.
impl World {
    /// Creates an entity with the components of `bundle` and returns its handle. A bundle is a component,
    /// a tuple of up to twelve bundles, or a struct that derives [`Bundle`]. `()` creates an entity
    /// without components.
    ///
    /// The entity is already gone if an [observer](crate::Hooks::observe) despawned it.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
    /// # #[derive(Component)] struct Depth(u32);
    /// let mut world = World::new();
    /// let imp = world.spawn((Gold(5), Depth(3)));
    /// let nothing = world.spawn(());
    /// assert_eq!(world.get(imp), Ok(&Gold(5)));
    /// assert_eq!(world.len(), 2);
    /// # assert!(world.contains(nothing));
    /// ```
    ///
    /// # Panics
    /// Panics if the bundle has a component twice, or the world has no handle left (see [`World`]).
    #[doc(alias = "spawn_empty")]
    pub fn spawn<B: Bundle>(&mut self, bundle: B) -> Entity {
        let parts = bundle.into_parts();
        self.entities.expect_one();
        self.spawn_parts(None, parts)
    }

    /// Creates an entity with a bundle: the given one, whose handle is reserved, or else a new one.
    #[inline(always)]
    pub(crate) fn spawn_parts<P: Parts>(&mut self, reserved: Option<Entity>, bundle: P) -> Entity {
        let (entity, flags) = self.moves().spawn(reserved, bundle);
        if flags.any(ArchetypeFlags::ON_ADD) {
            self.trigger_bundle::<P>(entity, |ids| Lifecycle::Spawned(ids));
        }
        entity
    }

    /// Creates one entity for each bundle that the iterator yields, and returns their handles.
    ///
    /// If the iterator panics, the entities before it exist.
    ///
    /// # Panics
    /// Panics if the bundle has a component twice, or the world has no handle left (see [`World`]). The
    /// entities before that exist.
    #[doc(alias = "spawn_many")]
    pub fn spawn_batch<B: Bundle>(&mut self, bundles: impl IntoIterator<Item = B>) -> Vec<Entity> {
        let mut bundles = bundles.into_iter();
        let expected = expected_of(&bundles);
        self.entities.reserve(expected);
        let mut spawned = Vec::with_capacity(expected);
        while let Some(first) = bundles.next() {
            let mut moves = self.moves();
            if moves.flags_of_new::<B::Parts>().any(ArchetypeFlags::ON_ADD) {
                spawned.push(self.spawn(first));
                continue;
            }
            let wanted = expected.saturating_sub(spawned.len());
            let parts = (first.into_parts(), || bundles.next().map(B::into_parts));
            moves.spawn_run(wanted, parts, &mut spawned);
        }
        spawned
    }

    /// Removes an entity from the world and drops its components.
    ///
    /// Its dependants are despawned first, at any depth: its children, and all of its
    /// [sources](crate::Relation) whose relation says so. The last of them goes first, and none before
    /// its own dependants. An entity with [cleanup components](crate::Component::CLEANUP) stays in the
    /// world as [`Despawned`](crate::Despawned) until they are removed.
    ///
    /// If a drop panics, the entity is gone nevertheless, and the world is consistent. If the drop is
    /// that of a dependant, the entities that were to be despawned after it still exist.
    ///
    /// # Errors
    /// Returns [`NoSuchEntity`] if the entity is not in the world, or is already despawned and only
    /// awaits cleanup.
    ///
    /// # Panics
    /// Panics if observers keep giving dependants to an entity that is being despawned.
    #[doc(alias("despawn_recursive", "destroy"))]
    pub fn despawn(&mut self, entity: Entity) -> Result<(), NoSuchEntity> {
        let row = self.moves().locate(entity).ok_or(NoSuchEntity(entity))?;
        if row.flags().any(ArchetypeFlags::MORE_THAN_A_ROW) {
            return self.despawn_with_dependents(entity);
        }
        drop(row.despawn());
        Ok(())
    }

    /// Despawns many entities and returns their number. Those that are not in the world are skipped, also
    /// those that went as the dependants of others before it was their turn.
    ///
    /// It does the same as [`despawn`](Self::despawn), several times as fast: rows of one archetype are taken
    /// out together. Only the order of the rows that remain is another.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Age(u32);
    /// let mut world = World::new();
    /// let ants = world.spawn_batch((0..1000).map(Age));
    /// let old = ants.iter().copied().filter(|ant| ant.index() % 3 == 0);
    /// assert_eq!(world.despawn_many(old), 334);
    /// assert_eq!(world.len(), 666);
    /// ```
    ///
    /// If the iterator panics, the entities before that are gone. If a drop panics, so are all entities
    /// that were to be taken out together, and each of their components was dropped once; those after
    /// them still exist.
    pub fn despawn_many(&mut self, entities: impl IntoIterator<Item = Entity>) -> usize {
        let mut entities = entities.into_iter().peekable();
        let mut count = 0;
        while let Some(&first) = entities.peek() {
            let Some(at) = self.locate(first) else {
                _ = entities.next();
                continue;
            };
            let mut moves = RowMoves::despawn(self.moves(), at.archetype);
            if moves.source().flags.any(ArchetypeFlags::MORE_THAN_A_ROW) {
                drop(moves);
                _ = entities.next();
                count += usize::from(self.despawn(first).is_ok());
                continue;
            }
            moves.prepare_any_order();
            while entities.next_if(|&entity| moves.despawn_one(entity)).is_some() {
                count += 1;
            }
        }
        count
    }

    /// Removes all entities from the world and drops their components. Resources stay.
    ///
    /// Entities that trigger [observers](crate::Hooks::observe) are removed first, one by one. If an
    /// observer panics, the others still exist.
    ///
    /// # Panics
    /// Panics if observers keep spawning entities that trigger observers.
    pub fn clear(&mut self) {
        self.despawn_observed();
        self.next_version();
        self.entities.clear();
        let mut archetypes = self.archetypes.list_mut().iter_mut();
        finish(|| archetypes.by_ref().for_each(|it| it.empty(&mut self.blocks, Chunks::trim)));
    }
}
