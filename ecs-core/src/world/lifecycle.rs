//! State and callbacks of the features above the kernel: what they keep in a world, and the
//! functions by which the kernel calls them.

use alloc::boxed::Box;
use core::any::{Any, TypeId};

use super::World;
use crate::archetype::ArchetypeId;
use crate::bundle::Parts;
use crate::component::{ArchetypeFlags, ComponentId};
use crate::entities::Location;
use crate::entity::Entity;
use crate::error::BrokenInvariant;
use crate::hash::TypeMap;

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
        moment: impl for<'a> FnOnce(&'a [ComponentId]) -> Lifecycle<'a>,
    ) {
        let bundle = self.bundles.index::<P>(&mut self.registry);
        let ids = self.bundles.ids(bundle).to_vec();
        self.trigger_lifecycle(entity, moment(&ids));
    }

    pub(crate) fn flags_at(&self, location: Option<Location>) -> ArchetypeFlags {
        location.map_or(ArchetypeFlags::NONE, |at| self.archetypes.get(at.archetype).flags)
    }

    pub(crate) fn flags_of(&self, entity: Entity) -> ArchetypeFlags {
        self.flags_at(self.locate(entity))
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
