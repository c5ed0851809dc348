//! Entities come and go.
#![expect(
    unsafe_code,
    reason = "writes bundles into reserved rows and drops the rows of despawned entities"
)]

use alloc::vec::Vec;

use super::World;
use super::lifecycle::Lifecycle;
use crate::archetype::{Archetype, ArchetypeId, ForgottenRows};
use crate::bundle::{Bundle, ColumnStarts, Parts, with_starts};
use crate::component::ArchetypeFlags;
use crate::entities::{Entities, Location};
use crate::entity::Entity;
use crate::error::NoSuchEntity;
use crate::storage::Place;
use crate::transfer::{MoveContext, NewRows, despawn_row};
use crate::user_code::expected_of;
use crate::user_code::finish;

impl World {
    /// A new entity with these components: one, a tuple of up to twelve, which may nest, or a struct
    /// that derives [`Bundle`]. `()` is an entity without any.
    ///
    /// It is gone already where an [observer](Self::observe) despawned it.
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
        self.spawn_parts(parts, Entities::allocate)
    }

    /// Lets an entity live whose handle was reserved.
    pub(crate) fn spawn_reserved<P: Parts>(&mut self, entity: Entity, bundle: P) {
        self.spawn_parts(bundle, |entities, place| {
            entities.activate(entity, place);
            entity
        });
    }

    /// Writes a bundle into a row; `settle` says who lives there.
    #[inline]
    fn spawn_parts<P: Parts>(
        &mut self,
        bundle: P,
        settle: impl FnOnce(&mut Entities, Place) -> Entity,
    ) -> Entity {
        let version = self.next_version();
        let Self { bundles, registry, archetypes, entities, blocks, .. } = self;
        let insertion = bundles.insertion::<P>(ArchetypeId::EMPTY, registry, archetypes);
        let Archetype { chunks, flags, .. } = archetypes.get_mut(insertion.target);
        let address = chunks.reserve_row(blocks);
        let start = |k: usize| chunks.column(address.chunk, insertion.columns[k]);
        with_starts::<P, _>(start, |starts| {
            // SAFETY: the columns are those of the bundle's components in this archetype (I-6, I-9),
            // and the row is reserved.
            unsafe { bundle.write(starts, address.row) };
        });
        let entity = settle(entities, chunks.place(address));
        // SAFETY: the row was reserved above, and nothing but the entity table was touched since; the
        // archetype has the bundle's components and no others, so every column of it was written
        // (I-2).
        unsafe { chunks.commit_rows(address, &[entity], version, version) };
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
            let version = self.next_version();
            let Self { bundles: known, registry, archetypes, entities, blocks, .. } = self;
            let insertion = known.insertion::<B::Parts>(ArchetypeId::EMPTY, registry, archetypes);
            let archetype = archetypes.get_mut(insertion.target);
            if archetype.flags.any(ArchetypeFlags::ON_ADD) {
                spawned.push(self.spawn(first));
                continue;
            }
            // Every row that is granted can get an entity: nothing must fail half-way.
            let left = expected.saturating_sub(spawned.len());
            let wanted = left.clamp(1, entities.available_min());
            let mut rows = NewRows::new(archetype, &insertion.columns, version, &mut spawned);
            let granted = rows.prepare(blocks, wanted);
            let (starts, row) = rows.next_row();
            let starts: ColumnStarts = starts.into();
            let mut run = SpawnRun { rows, entities, written: 0 };
            let mut next = Some(first);
            while let Some(bundle) = next {
                let bundle = bundle.into_parts();
                // SAFETY: the columns are those of the bundle's components in this archetype (I-9),
                // and fewer rows were written than are granted.
                unsafe { bundle.write(&starts, row + run.written) };
                run.written += 1;
                // The iterator is user code, as is what takes a bundle apart: nothing is half done
                // while they run, and what was written is committed should they panic.
                next = if run.written < granted { bundles.next() } else { None };
            }
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
        let location = self.locate(entity).ok_or(NoSuchEntity(entity))?;
        if self.archetypes.get(location.archetype).flags.any(ArchetypeFlags::MORE_THAN_A_ROW) {
            return self.despawn_with_dependents(entity);
        }
        self.remove_row(entity, location);
        Ok(())
    }

    /// Takes an entity that is at `location` out of the world and drops its components.
    #[inline(always)]
    pub(crate) fn remove_row(&mut self, entity: Entity, location: Location) {
        debug_assert_eq!(self.locate(entity), Some(location));
        let version = self.next_version();
        let Self { archetypes, entities, blocks, scratch, .. } = self;
        let context = MoveContext { entities, blocks, scratch, version };
        let archetype = archetypes.get_mut(location.archetype);
        // SAFETY: the entity is there: the callers have located it (I-1).
        drop(unsafe { despawn_row(context, archetype, entity, location) });
    }

    /// Takes all entities out of the world and drops their components. Resources stay.
    ///
    /// Those that [observers](Self::observe) have to be told of go first, one by one; should an
    /// observer panic, the others are still there.
    ///
    /// # Panics
    /// Panics if observers keep spawning entities that have to be told of.
    pub fn clear(&mut self) {
        self.despawn_observed();
        self.next_version();
        self.entities.clear();
        let all = self.archetypes.list_mut().iter_mut();
        let forgotten: Vec<ForgottenRows> = all.map(Archetype::forget_rows).collect();
        let mut forgotten = forgotten.iter().enumerate();
        // What is in the other archetypes is dropped should one drop panic, and chunks are given back.
        finish(|| {
            for (archetype, forgotten) in forgotten.by_ref() {
                // SAFETY: these rows, initialised until then (I-2), were given up by this archetype,
                // the world has been borrowed since, and each archetype comes up once.
                unsafe { self.archetypes.list()[archetype].drop_forgotten(forgotten) };
            }
            let Self { archetypes, blocks, .. } = &mut *self;
            archetypes.list_mut().iter_mut().for_each(|archetype| archetype.chunks.trim(blocks));
        });
    }
}

/// New rows that are being written; the entities of those that were come when it is dropped.
struct SpawnRun<'w> {
    rows: NewRows<'w>,
    entities: &'w mut Entities,
    written: usize,
}

impl Drop for SpawnRun<'_> {
    fn drop(&mut self) {
        for _ in 0..self.written {
            let entity = self.entities.allocate(self.rows.place());
            // SAFETY: `spawn_batch` has written so many of the granted rows, every column (I-2).
            unsafe { self.rows.push(entity) };
        }
    }
}
