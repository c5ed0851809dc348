//! Entities come and go.

use alloc::vec::Vec;

use super::World;
use super::lifecycle::Lifecycle;
use crate::bundle::{Bundle, Parts};
use crate::component::ArchetypeFlags;
use crate::entity::Entity;
use crate::error::NoSuchEntity;
use crate::storage::Chunks;
use crate::user_code::{expected_of, finish};

/// Entities: they come and go.
impl World {
    /// A new entity with these components: one, a tuple of up to twelve, which may nest, or a struct
    /// that derives [`Bundle`]. `()` is an entity without any.
    ///
    /// It is gone already where an [observer](crate::Hooks::observe) despawned it.
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
    pub fn spawn<B: Bundle>(&mut self, bundle: B) -> Entity {
        let parts = bundle.into_parts();
        self.entities.expect_one();
        self.spawn_parts(None, parts)
    }

    /// Lets an entity live with a bundle: this one, whose handle is reserved, or else the next.
    #[inline(always)]
    pub(crate) fn spawn_parts<P: Parts>(&mut self, reserved: Option<Entity>, bundle: P) -> Entity {
        let (entity, flags) = self.moves().spawn(reserved, bundle);
        if flags.any(ArchetypeFlags::ON_ADD) {
            self.trigger_bundle::<P>(entity, |ids| Lifecycle::Spawned(ids));
        }
        entity
    }

    /// New entities, one for each bundle that the iterator gives.
    ///
    /// Should the iterator panic, the entities before it are there.
    ///
    /// # Panics
    /// Panics if the bundle has a component twice, or the world has no handle left (see [`World`]);
    /// the entities before that are there.
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

    /// Takes an entity out of the world and drops its components.
    ///
    /// Those who depend on it go first: its children, and all [sources](crate::Relation) of it whose
    /// relation says so, whatever the depth; the last of them first, and none before its own
    /// dependants. Where it has [cleanup components](crate::Component::CLEANUP), it stays in the world as
    /// [`Despawned`](crate::Despawned) until they are removed.
    ///
    /// Should a drop panic, the entity is gone all the same and everything else is in order. Should
    /// that be in one of its dependants, those that were to go after it are still there.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world, or was despawned and is only there to be
    /// cleaned up.
    pub fn despawn(&mut self, entity: Entity) -> Result<(), NoSuchEntity> {
        let row = self.moves().locate(entity).ok_or(NoSuchEntity(entity))?;
        if row.flags().any(ArchetypeFlags::MORE_THAN_A_ROW) {
            return self.despawn_with_dependents(entity);
        }
        drop(row.despawn());
        Ok(())
    }

    /// Takes all entities out of the world and drops their components. Resources stay.
    ///
    /// Those that [observers](crate::Hooks::observe) have to be told of go first, one by one; should an
    /// observer panic, the others are still there.
    ///
    /// # Panics
    /// Panics if observers keep spawning entities that have to be told of.
    pub fn clear(&mut self) {
        self.despawn_observed();
        self.next_version();
        self.entities.clear();
        let mut archetypes = self.archetypes.list_mut().iter_mut();
        finish(|| archetypes.by_ref().for_each(|it| it.empty(&mut self.blocks, Chunks::trim)));
    }
}
