//! The undo journal: the values before each change, taken back last first.

use std::any::{Any, TypeId};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use formic_ecs::{Component, Entity, World};

use super::schedule::Ticket;

/// One step that can be taken back.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// A component changed; what was there is the last value of the column of this number.
    Component(usize),
    /// A vacant entity was taken.
    Took(Entity),
    /// A turn was scheduled.
    Scheduled(Ticket),
    /// A turn of this entity was struck out.
    Unscheduled(Ticket, Entity),
}

/// All steps since the oldest turn that can be undone.
#[derive(Default)]
pub(super) struct Journal {
    steps: VecDeque<Step>,
    /// How many steps are forgotten; together with those above, all that ever were.
    forgotten: u64,
    columns: Vec<(TypeId, Box<dyn AnySaved>)>,
}

/// The value that a component had, and whether it was enabled.
struct Saved<T> {
    values: VecDeque<(Entity, Option<(T, bool)>)>,
}

trait AnySaved: Send + Sync {
    /// Gives an entity back what it had. The value is off the list before any watcher runs.
    fn restore_last(&mut self, world: &mut World) -> Option<Entity>;
    fn forget_first(&mut self);
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl<T: Component + Clone> AnySaved for Saved<T> {
    fn restore_last(&mut self, world: &mut World) -> Option<Entity> {
        let (entity, value) = self.values.pop_back()?;
        match value {
            Some((value, enabled)) => {
                // Where the entity was despawned behind our back there is nothing to restore.
                let insert = || drop(world.insert(entity, value));
                let inserted = catch_unwind(AssertUnwindSafe(insert));
                if T::ENABLEABLE {
                    // A watcher may have taken the component at once: then there is no bit to set.
                    world.set_enabled::<T>(entity, enabled).unwrap_or_default();
                }
                // A watcher has panicked: the value is there all the same, and its bit is now.
                inserted.unwrap_or_else(|panic| resume_unwind(panic));
            }
            None if world.has::<T>(entity) => drop(world.remove::<T>(entity)),
            None => {}
        }
        Some(entity)
    }

    fn forget_first(&mut self) {
        self.values.pop_front();
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

impl Journal {
    /// How many steps there ever were.
    pub(super) fn end(&self) -> u64 {
        self.forgotten + self.steps.len() as u64
    }

    /// Writes down what an entity has of `T` now, which is about to change.
    pub(super) fn save<T: Component + Clone>(&mut self, world: &World, entity: Entity) {
        let enabled = |value: &T| {
            (value.clone(), !T::ENABLEABLE || world.is_enabled::<T>(entity).unwrap_or(true))
        };
        let value = world.get::<T>(entity).ok().map(enabled);
        self.save_value(entity, value);
    }

    /// Writes down what an entity had of `T`.
    pub(super) fn save_value<T: Component + Clone>(
        &mut self,
        entity: Entity,
        value: Option<(T, bool)>,
    ) {
        let id = TypeId::of::<T>();
        let index = self.columns.iter().position(|&(known, _)| known == id);
        let index = index.unwrap_or_else(|| {
            self.columns.push((id, Box::new(Saved::<T> { values: VecDeque::new() })));
            self.columns.len() - 1
        });
        if let Some(saved) = self.columns[index].1.as_any_mut().downcast_mut::<Saved<T>>() {
            saved.values.push_back((entity, value));
            self.steps.push_back(Step::Component(index));
        }
    }

    /// Writes down a step that is no change of a component.
    pub(super) fn push(&mut self, step: Step) {
        self.steps.push_back(step);
    }

    /// The last step that came after the `start`-th, off the list.
    pub(super) fn pop_after(&mut self, start: u64) -> Option<Step> {
        if self.end() > start { self.steps.pop_back() } else { None }
    }

    /// Takes the last change of this column back; whose it was.
    pub(super) fn restore(&mut self, column: usize, world: &mut World) -> Option<Entity> {
        self.columns[column].1.restore_last(world)
    }

    /// Forgets all steps before the `start`-th.
    pub(super) fn forget_before(&mut self, start: u64) {
        while self.forgotten < start {
            let Some(step) = self.steps.pop_front() else { return };
            self.forgotten += 1;
            if let Step::Component(column) = step {
                self.columns[column].1.forget_first();
            }
        }
    }
}
