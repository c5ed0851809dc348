//! The state and the callbacks of the features above the kernel: the values that they keep in a world,
//! and the functions by which the kernel calls them. Also the despawning of entities with all that depend
//! on them.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::{Any, TypeId};

use super::World;
use crate::archetype::{Archetype, ArchetypeId};
use crate::bundle::Parts;
use crate::component::{ArchetypeFlags, ComponentId, Despawned};
use crate::entities::Location;
use crate::entity::Entity;
use crate::error::{BrokenInvariant, NoSuchEntity};
use crate::hash::{BuildFibonacci, TypeMap};
use crate::transfer::{BundleIndex, Change};
use crate::user_code::finish;

/// A moment at which hooks and observers are called.
#[derive(Clone, Copy)]
pub(crate) enum Lifecycle<'a> {
    /// The entity was spawned with these components.
    Spawned(&'a [ComponentId]),
    /// The entity has come, with all its components.
    Arrived,
    /// These components are about to be inserted into the entity.
    Inserting(&'a [ComponentId]),
    /// These components were inserted into the entity, which was in this archetype before.
    Inserted(&'a [ComponentId], ArchetypeId),
    /// These components are about to be removed from the entity.
    Removing(&'a [ComponentId]),
    /// The entity is about to be despawned.
    Despawning {
        /// Whether its cleanup components stay until the last of them is removed.
        keeps_cleanup: bool,
    },
}

/// The work that remains once an entity is gone.
pub(crate) type AfterDespawn = Box<dyn FnOnce(&mut World)>;

/// The functions by which the kernel calls the features above it. They do nothing until a feature that is
/// used replaces them. The kernel calls those that concern an entity only if the flags of its archetype
/// ask for it.
#[derive(Clone, Copy)]
pub(crate) struct Callbacks {
    /// Calls the hooks and observers of this moment, if the archetype has flags for it.
    pub(crate) trigger: fn(&mut World, Entity, Lifecycle<'_>),
    /// Passes on the entities that are despawned together with an entity that is
    /// [`RELATED`](ArchetypeFlags::RELATED).
    pub(crate) dependents: fn(&World, Entity, &mut dyn FnMut(Entity)),
    /// Removes an entity that is about to go from its relations.
    pub(crate) unrelate: fn(&mut World, Entity) -> Option<AfterDespawn>,
    /// Verifies the invariants of the features.
    pub(crate) check: fn(&World) -> Result<(), BrokenInvariant>,
}

impl Default for Callbacks {
    fn default() -> Self {
        Self {
            trigger: |_, _, _| {},
            dependents: |_, _, _| {},
            unrelate: |_, _| None,
            check: |_| Ok(()),
        }
    }
}

/// The values that features keep in a world, one of each type.
#[derive(Default)]
pub(crate) struct Extensions(TypeMap<Box<dyn Any + Send + Sync>>);

impl Extensions {
    pub(crate) fn get<T: 'static>(&self) -> Option<&T> {
        self.0.get(&TypeId::of::<T>())?.downcast_ref()
    }

    pub(crate) fn get_mut<T: Default + Send + Sync + 'static>(&mut self) -> &mut T {
        let value = self.0.entry(TypeId::of::<T>()).or_insert_with(|| Box::new(T::default()));
        value.downcast_mut().expect("the key is the type")
    }
}

/// The maximum depth to which hooks and observers may trigger each other.
pub(crate) const DEPTH_MAX: u32 = 128;

impl World {
    pub(crate) fn trigger_lifecycle(&mut self, entity: Entity, moment: Lifecycle<'_>) {
        (self.callbacks.trigger)(self, entity, moment);
    }

    /// Triggers a moment that concerns the components of a bundle.
    #[cold]
    pub(super) fn trigger_bundle<P: Parts>(
        &mut self,
        entity: Entity,
        moment: impl for<'a> Fn(&'a [ComponentId]) -> Lifecycle<'a>,
    ) {
        let bundle = self.bundles.index::<P>(&mut self.registry);
        self.trigger_bundle_at(entity, bundle, &moment);
    }

    // Compiled once for all bundles.
    fn trigger_bundle_at(
        &mut self,
        entity: Entity,
        bundle: BundleIndex,
        moment: &dyn for<'a> Fn(&'a [ComponentId]) -> Lifecycle<'a>,
    ) {
        let ids = self.bundles.ids(bundle).ids.to_vec();
        self.trigger_lifecycle(entity, moment(&ids));
    }

    pub(crate) fn flags_of(&self, entity: Entity) -> ArchetypeFlags {
        let flags = |at: Location| self.archetypes.get(at.archetype).flags;
        self.locate(entity).map_or(ArchetypeFlags::NONE, flags)
    }

    /// Adds a flag to every archetype with the component, including those created later.
    pub(crate) fn add_flags(&mut self, component: ComponentId, flag: ArchetypeFlags) {
        self.registry.add_flags(component, flag);
        for archetype in self.archetypes.list_mut() {
            if archetype.components().contains(component) {
                archetype.flags = archetype.flags.and(flag).complete();
            }
        }
    }
}

/// An unordered set of entities.
pub(crate) type EntitySet = hashbrown::HashSet<Entity, BuildFibonacci>;

impl World {
    /// Despawns an entity that has flags, after all entities that depend on it.
    #[cold]
    pub(super) fn despawn_with_dependents(&mut self, root: Entity) -> Result<(), NoSuchEntity> {
        if self.flags_of(root).any(ArchetypeFlags::DESPAWNED) {
            return Err(NoSuchEntity(root));
        }
        let mut seen = EntitySet::default();
        // How often an entity on the path got more dependants since the last one that was there from the
        // beginning went.
        let mut late_dependents = 0;
        // The path from the root to the entity that is despawned next. The flags say whether the entities
        // that depend on this one are on the path or already gone, and whether this one came late itself.
        let mut path = alloc::vec![(root, false, false)];
        while let Some(&mut (entity, ref mut is_expanded, is_late)) = path.last_mut() {
            let was_expanded = core::mem::replace(is_expanded, true);
            let before = path.len();
            // A relation with cycles may lead back to an entity on the path. One that only waits there is put
            // on it again: it goes before all that it depends on, and is passed over when its turn comes.
            seen.insert(entity);
            if self.flags_of(entity).any(ArchetypeFlags::RELATED) {
                (self.callbacks.dependents)(self, entity, &mut |next| {
                    let step = (next, false, was_expanded || is_late);
                    path.extend((!seen.contains(&next)).then_some(step));
                });
            }
            if path.len() == before {
                path.pop();
                late_dependents = if is_late { late_dependents } else { 0 };
                self.despawn_one(entity, true);
            } else if was_expanded {
                late_dependents += 1;
                assert!(
                    late_dependents < DEPTH_MAX,
                    "hooks and observers keep giving sources to an entity that is despawned"
                );
            }
        }
        Ok(())
    }

    /// Despawns a single entity. Cleanup components are kept if `keeps_cleanup` is set.
    pub(super) fn despawn_one(&mut self, entity: Entity, keeps_cleanup: bool) {
        self.trigger_despawn(entity, keeps_cleanup);
        self.remove_despawned(entity, keeps_cleanup);
    }

    fn trigger_despawn(&mut self, entity: Entity, keeps_cleanup: bool) {
        if self.flags_of(entity).any(ArchetypeFlags::ON_DESPAWN) {
            self.trigger_lifecycle(entity, Lifecycle::Despawning { keeps_cleanup });
        }
    }

    /// Does the same for an entity whose observers have been called. They may have changed anything.
    fn remove_despawned(&mut self, entity: Entity, keeps_cleanup: bool) {
        let flags = self.flags_of(entity);
        if keeps_cleanup && flags.any(ArchetypeFlags::DESPAWNED) {
            return;
        }
        let mut after = None;
        if flags.any(ArchetypeFlags::RELATED) {
            after = (self.callbacks.unrelate)(self, entity);
        }
        let Some(row) = self.moves().locate(entity) else { return };
        if keeps_cleanup && row.flags().any(ArchetypeFlags::CLEANUP) {
            let tag = self.register_despawned();
            drop(self.moves().locate(entity).and_then(|row| row.leave(Change::Strip, &[tag])));
        } else {
            drop(row.despawn());
        }
        if let Some(after) = after {
            after(self);
        }
    }

    /// Returns the tag of entities that were despawned and are not gone.
    pub(crate) fn register_despawned(&mut self) -> ComponentId {
        let tag = self.register::<Despawned>();
        if !self.registry.info(tag).flags.any(ArchetypeFlags::DESPAWNED) {
            self.add_flags(tag, ArchetypeFlags::DESPAWNED);
        }
        tag
    }

    /// Removes a despawned entity whose last cleanup component was removed. It is removed even if one of
    /// its observers panics, since nothing would ever remove it later (I-19).
    #[cold]
    pub(crate) fn finish_cleanup(&mut self, entity: Entity) {
        let (id, mut was_triggered) = (self.id(), false);
        finish(|| {
            if !core::mem::replace(&mut was_triggered, true) {
                self.trigger_despawn(entity, false);
            }
            // If an observer put another world here, which panics, its entity of this handle is another one.
            if self.id() == id {
                self.remove_despawned(entity, false);
            }
        });
    }

    /// Despawns the entities with hooks one by one, before the world is cleared.
    pub(super) fn despawn_observed(&mut self) {
        let is_observed = |archetype: &&Archetype| archetype.flags.any(ArchetypeFlags::ON_DESPAWN);
        // Observers may spawn more entities with observers.
        for _ in 0..DEPTH_MAX {
            let archetypes = self.archetypes().iter().filter(is_observed);
            let leaving: Vec<Entity> = archetypes.flat_map(Archetype::all_entities).collect();
            if leaving.is_empty() {
                return;
            }
            // An observer may have despawned the entity already.
            leaving.into_iter().for_each(|entity| self.despawn_one(entity, false));
        }
        panic!("hooks and observers spawn entities without end while the world is cleared");
    }

    /// Checks that the entity is in the world, and is not a despawned one that waits for its cleanup.
    pub(crate) fn expect_there(&self, entity: Entity) -> Result<(), NoSuchEntity> {
        let at = self.locate(entity).ok_or(NoSuchEntity(entity))?;
        let is_despawned = self.archetypes.get(at.archetype).flags.any(ArchetypeFlags::DESPAWNED);
        if is_despawned { Err(NoSuchEntity(entity)) } else { Ok(()) }
    }
}

/// A guard that removes those of these entities that were despawned and have nothing left to clean up: at
/// the latest when it is dropped, even if something panics.
#[derive(Debug)]
pub(crate) struct CleanupGuard<'w, 'e> {
    pub(crate) world: &'w mut World,
    pub(crate) entities: &'e [Entity],
}

impl CleanupGuard<'_, '_> {
    pub(crate) fn finish(&mut self) {
        while let Some((&entity, rest)) = self.entities.split_first() {
            self.entities = rest;
            if self.world.flags_of(entity).any(ArchetypeFlags::CLEANUP_DONE) {
                self.world.finish_cleanup(entity);
            }
        }
    }
}

impl Drop for CleanupGuard<'_, '_> {
    fn drop(&mut self) {
        self.finish();
    }
}
