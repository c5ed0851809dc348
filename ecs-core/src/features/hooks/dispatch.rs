//! Dispatch of lifecycle events to hooks and observers.

use alloc::vec::Vec;

use super::Hooks;
use super::event::{Event, EventKind};
use crate::component::ComponentId;
use crate::entity::Entity;
use crate::world::{Lifecycle, World};

/// Which components of an entity are told of.
#[derive(Clone, Copy)]
enum Which<'a> {
    All,
    These(&'a [ComponentId]),
    /// All, but those that stay are not told to be removed.
    Passing,
}

/// What the kernel calls once there is a hook or an observer.
pub(super) fn trigger(world: &mut World, entity: Entity, moment: Lifecycle<'_>) {
    use EventKind::{Add, Despawn, Insert, Remove, Replace};
    match moment {
        Lifecycle::Spawned(ids) => world.trigger_all(entity, &[Add, Insert], Which::These(ids)),
        Lifecycle::Arrived => world.trigger_all(entity, &[Add, Insert], Which::All),
        Lifecycle::Replacing(ids) => world.trigger_all(entity, &[Replace], Which::These(ids)),
        Lifecycle::Given(ids, before) => {
            let had = world.archetypes.get(before).components();
            let added: Vec<_> = ids.iter().copied().filter(|&id| !had.contains(id)).collect();
            world.trigger_all(entity, &[Add], Which::These(&added));
            world.trigger_all(entity, &[Insert], Which::These(ids));
        }
        Lifecycle::Removing(ids) => {
            world.trigger_all(entity, &[Replace, Remove], Which::These(ids));
        }
        Lifecycle::Despawning { keeps_cleanup } => {
            let which = if keeps_cleanup { Which::Passing } else { Which::All };
            world.trigger_all(entity, &[Despawn, Replace, Remove], which);
        }
    }
}

impl World {
    /// Calls the observers of one event, as long as there is something to tell.
    fn trigger_one(&mut self, event: Event) {
        let newest = self.extensions.get_mut::<Hooks>().newest();
        let mut last = None;
        while let Some((id, watch)) = self.extensions.get_mut::<Hooks>().next(event, last, newest) {
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
        let hooks = self.extensions.get::<Hooks>()?;
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
                    && hooks.is_observed(event.kind, event.component);
                let is_being_told = event.kind.comes_before() && hooks.is_dispatching(event);
                is_observed && !is_being_told && !told.contains(event) && !stays(event)
            })
    }
}
