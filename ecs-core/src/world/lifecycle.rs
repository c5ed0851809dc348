//! State and callbacks of the features above the kernel: what they keep in a world, and the
//! functions by which the kernel calls them; and the end of entities with all that depends on them.

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
    /// The entity has come, with these components.
    Spawned(&'a [ComponentId]),
    /// The entity has come, with all its components.
    Arrived,
    /// The entity is about to be given these components.
    Replacing(&'a [ComponentId]),
    /// The entity was given these components; it was in this archetype before.
    Given(&'a [ComponentId], ArchetypeId),
    /// These components are about to be taken from the entity.
    Removing(&'a [ComponentId]),
    /// The entity is about to go.
    Despawning {
        /// Its cleanup components stay until the last of them is removed.
        keeps_cleanup: bool,
    },
}

/// What is to be done once an entity is gone.
pub(crate) type AfterDespawn = Box<dyn FnOnce(&mut World)>;

/// The functions by which the kernel calls the features above it. They do nothing until a feature
/// that is used puts its own in their place; what the flags of an archetype do not ask for is not
/// called at all.
#[derive(Clone, Copy)]
pub(crate) struct Callbacks {
    /// Calls what has to be called at this moment, where the archetype is flagged for it.
    pub(crate) trigger: fn(&mut World, Entity, Lifecycle<'_>),
    /// Gives those that are despawned with an entity that is [`RELATED`](ArchetypeFlags::RELATED).
    pub(crate) dependents: fn(&World, Entity, &mut dyn FnMut(Entity)),
    /// Takes an entity that is about to go out of its relations.
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

/// What features keep in a world, one value of each type.
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

/// How deep hooks and observers may cause each other.
pub(crate) const DEPTH_MAX: u32 = 128;

impl World {
    pub(crate) fn trigger_lifecycle(&mut self, entity: Entity, moment: Lifecycle<'_>) {
        (self.callbacks.trigger)(self, entity, moment);
    }

    /// A moment that concerns the components of a bundle.
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

    /// Every archetype with the component has this to do from now on.
    pub(crate) fn add_flags(&mut self, component: ComponentId, flag: ArchetypeFlags) {
        self.registry.add_flags(component, flag);
        for archetype in self.archetypes.list_mut() {
            if archetype.components().contains(component) {
                archetype.flags = archetype.flags.and(flag).complete();
            }
        }
    }
}

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
            // A relation with cycles may lead back to one that is on the path.
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
        self.trigger_despawn(entity, keeps_cleanup);
        self.let_go(entity, keeps_cleanup);
    }

    fn trigger_despawn(&mut self, entity: Entity, keeps_cleanup: bool) {
        if self.flags_of(entity).any(ArchetypeFlags::ON_DESPAWN) {
            self.trigger_lifecycle(entity, Lifecycle::Despawning { keeps_cleanup });
        }
    }

    /// The same for an entity that observers were told of. They may have done anything.
    fn let_go(&mut self, entity: Entity, keeps_cleanup: bool) {
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

    /// The tag of entities that have been despawned and are not gone.
    pub(crate) fn register_despawned(&mut self) -> ComponentId {
        let tag = self.register::<Despawned>();
        if !self.registry.info(tag).flags.any(ArchetypeFlags::DESPAWNED) {
            self.add_flags(tag, ArchetypeFlags::DESPAWNED);
        }
        tag
    }

    /// The last cleanup component of an entity was removed after it had been despawned. It goes also
    /// where an observer panics that is told of it: nothing would ever take it away (I-19).
    #[cold]
    pub(crate) fn finish_cleanup(&mut self, entity: Entity) {
        let mut is_told = false;
        finish(|| {
            if !core::mem::replace(&mut is_told, true) {
                self.trigger_despawn(entity, false);
            }
            self.let_go(entity, false);
        });
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

/// Lets those of these entities go that were despawned and have nothing left to be cleaned up: at the
/// latest when this goes, whatever panics meanwhile.
#[derive(Debug)]
pub(crate) struct Finishing<'w, 'e> {
    pub(crate) world: &'w mut World,
    pub(crate) entities: &'e [Entity],
}

impl Finishing<'_, '_> {
    pub(crate) fn finish(&mut self) {
        while let Some((&entity, rest)) = self.entities.split_first() {
            self.entities = rest;
            if self.world.flags_of(entity).any(ArchetypeFlags::CLEANUP_PENDING) {
                self.world.finish_cleanup(entity);
            }
        }
    }
}

impl Drop for Finishing<'_, '_> {
    fn drop(&mut self) {
        self.finish();
    }
}
