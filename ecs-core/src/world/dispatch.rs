//! Dispatch of lifecycle events to hooks and observers.

use alloc::vec::Vec;

use super::World;
use super::event::{Event, EventKind};
use crate::archetype::ArchetypeId;
use crate::bundle::Bundle;
use crate::component::{ArchetypeFlags, ComponentId};
use crate::entities::Location;
use crate::entity::Entity;

/// Which components of an entity are told of.
#[derive(Clone, Copy)]
enum Which<'a> {
    All,
    These(&'a [ComponentId]),
    /// All, but those that stay are not told to be removed.
    Passing,
}

impl World {
    /// Calls the observers of one event, as long as there is something to tell.
    fn trigger_one(&mut self, event: Event) {
        let newest = self.hooks.newest();
        let mut last = None;
        while let Some((id, watch)) = self.hooks.next(event, last, newest) {
            last = Some(id);
            let has = |world: &Self| {
                let at = world.locate(event.entity)?;
                world.archetypes.get(at.archetype).column_of(event.component)
            };
            if has(self).is_none() {
                return;
            }
            self.call(Some(event), |world| watch(world, event));
        }
    }

    /// Tells of these kinds, in this order, and of these components, or all.
    /// Each is told of once: also those that observers add meanwhile.
    fn trigger_all(&mut self, entity: Entity, kinds: &[EventKind], which: Which<'_>) {
        let mut told = Vec::new();
        while let Some(event) = self.pending(entity, kinds, which, &told) {
            told.push(event);
            self.trigger_one(event);
        }
    }

    fn pending(
        &self,
        entity: Entity,
        kinds: &[EventKind],
        which: Which<'_>,
        told: &[Event],
    ) -> Option<Event> {
        let archetype = self.archetypes.get(self.locate(entity)?.archetype);
        let components = match which {
            Which::All | Which::Passing => archetype.components().ids(),
            Which::These(ids) => ids,
        };
        let stays = |event: &Event| {
            matches!(which, Which::Passing)
                && event.kind != EventKind::Despawn
                && self.registry.info(event.component).is_cleanup()
        };
        let kinds = kinds.iter().filter(|kind| archetype.flags.any(kind.flag()));
        kinds
            .flat_map(|&kind| {
                components.iter().map(move |&component| Event { kind, entity, component })
            })
            .find(|event| {
                let is_observed = archetype.components().contains(event.component)
                    && self.hooks.is_observed(event.kind, event.component);
                let is_being_told = event.kind.comes_before() && self.hooks.is_dispatching(event);
                is_observed && !is_being_told && !told.contains(event) && !stays(event)
            })
    }

    /// The components of a bundle, while the world is used for something else.
    fn ids_of<B: Bundle>(&mut self) -> Vec<ComponentId> {
        self.bundles.ids::<B>(&mut self.registry).to_vec()
    }

    /// After an entity has come with a bundle.
    #[cold]
    pub(crate) fn trigger_spawned<B: Bundle>(&mut self, entity: Entity) {
        let ids = self.ids_of::<B>();
        self.trigger_all(entity, &[EventKind::Add, EventKind::Insert], Which::These(&ids));
    }

    /// After an entity has come with all its components.
    #[cold]
    pub(crate) fn trigger_arrived(&mut self, entity: Entity) {
        self.trigger_all(entity, &[EventKind::Add, EventKind::Insert], Which::All);
    }

    /// Before an entity is given a bundle.
    #[cold]
    pub(crate) fn trigger_replacing<B: Bundle>(&mut self, entity: Entity) {
        let ids = self.ids_of::<B>();
        self.trigger_all(entity, &[EventKind::Replace], Which::These(&ids));
    }

    /// After an entity was given a bundle; it was in the archetype `before`.
    #[cold]
    pub(crate) fn trigger_inserted<B: Bundle>(&mut self, entity: Entity, before: ArchetypeId) {
        let ids = self.ids_of::<B>();
        self.trigger_given(entity, before, &ids);
    }

    fn trigger_given(&mut self, entity: Entity, before: ArchetypeId, ids: &[ComponentId]) {
        let had = self.archetypes.get(before).components();
        let added: Vec<_> = ids.iter().copied().filter(|&id| !had.contains(id)).collect();
        self.trigger_all(entity, &[EventKind::Add], Which::These(&added));
        self.trigger_all(entity, &[EventKind::Insert], Which::These(ids));
    }

    /// Before a bundle is taken from an entity.
    #[cold]
    pub(crate) fn trigger_removing<B: Bundle>(&mut self, entity: Entity) {
        let ids = self.ids_of::<B>();
        self.trigger_all(entity, &[EventKind::Replace, EventKind::Remove], Which::These(&ids));
    }

    pub(super) fn flags_at(&self, location: Option<Location>) -> ArchetypeFlags {
        location.map_or(ArchetypeFlags::NONE, |at| self.archetypes.get(at.archetype).flags)
    }

    /// Where an entity is that is to be given a component, after all was told that has to be told
    /// before.
    pub(crate) fn locate_for_insert(
        &mut self,
        entity: Entity,
        id: ComponentId,
    ) -> Option<Location> {
        if self.flags_at(self.locate(entity)).any(ArchetypeFlags::REPLACE) {
            self.trigger_all(entity, &[EventKind::Replace], Which::These(&[id]));
        }
        self.locate(entity)
    }

    /// Where an entity is that a component is to be taken from, after all was told that has to be
    /// told before.
    pub(crate) fn locate_for_removal(
        &mut self,
        entity: Entity,
        id: ComponentId,
    ) -> Option<Location> {
        if self.flags_at(self.locate(entity)).any(ArchetypeFlags::ON_REMOVE) {
            self.trigger_all(entity, &[EventKind::Replace, EventKind::Remove], Which::These(&[id]));
        }
        self.locate(entity)
    }

    /// Tells what has to be told after an entity was given a component; it was in the archetype
    /// `before`.
    pub(crate) fn after_insert(&mut self, entity: Entity, before: ArchetypeId, id: ComponentId) {
        if self.flags_at(self.locate(entity)).any(ArchetypeFlags::ON_ADD) {
            self.trigger_given(entity, before, &[id]);
        }
    }

    /// Tells what has to be told after an entity has come with these components.
    pub(crate) fn after_spawn(&mut self, entity: Entity, ids: &[ComponentId]) {
        if self.flags_at(self.locate(entity)).any(ArchetypeFlags::ON_ADD) {
            self.trigger_all(entity, &[EventKind::Add, EventKind::Insert], Which::These(ids));
        }
    }

    /// Before an entity goes.
    #[cold]
    pub(super) fn trigger_despawning(&mut self, entity: Entity, keeps_cleanup: bool) {
        let kinds = [EventKind::Despawn, EventKind::Replace, EventKind::Remove];
        self.trigger_all(entity, &kinds, if keeps_cleanup { Which::Passing } else { Which::All });
    }
}
