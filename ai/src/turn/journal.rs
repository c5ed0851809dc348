//! The undo journal: the values before each change, undone in reverse order.

use std::any::{Any, TypeId};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use formic_ecs::{Codec, CodecError, Component, Entity, World};

use super::error::TurnsSaveError;
use super::schedule::Ticket;

/// One step that can be undone.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(super) enum Step {
    /// A component changed; the earlier value is the last one of the column with this index.
    Component(usize),
    /// A vacant entity was taken.
    Took(Entity),
    /// A turn was scheduled.
    Scheduled(Ticket),
    /// A turn of this entity was cancelled.
    Unscheduled(Ticket, Entity),
}

/// All steps since the oldest turn that can be undone.
#[derive(Default)]
pub(super) struct Journal {
    steps: VecDeque<Step>,
    /// The number of dropped steps. Together with the length of `steps` it is the number of all steps
    /// ever made.
    pub(super) forgotten: u64,
    columns: Vec<(TypeId, Box<dyn AnySaved>)>,
    /// The number of columns of declared components, which come first.
    declared: usize,
}

/// The earlier value of a component, and whether it was enabled.
struct Saved<T> {
    values: VecDeque<(Entity, Option<(T, bool)>)>,
}

/// A journal in its saved form: the values of each component, written by its codec, with its name.
#[derive(serde::Serialize, serde::Deserialize)]
pub(super) struct SavedJournal {
    forgotten: u64,
    columns: Vec<(String, Vec<u8>)>,
    steps: VecDeque<Step>,
}

/// The byte before a value.
const ABSENT: u8 = 0;
const DISABLED: u8 = 1;
const ENABLED: u8 = 2;

trait AnySaved: Send + Sync {
    fn name(&self) -> &'static str;
    fn len(&self) -> usize;
    /// Writes all values.
    fn write(&self, out: &mut Vec<u8>) -> Result<(), CodecError>;
    /// Reads a column of the same component from written values.
    fn read(&self, bytes: &[u8]) -> Result<Box<dyn AnySaved>, CodecError>;
    /// Restores the last value. It is removed from the list before any observer runs.
    fn restore_last(&mut self, world: &mut World) -> Option<Entity>;
    fn forget_first(&mut self);
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl<T: Component + Clone> AnySaved for Saved<T> {
    fn name(&self) -> &'static str {
        T::name()
    }

    fn len(&self) -> usize {
        self.values.len()
    }

    fn write(&self, out: &mut Vec<u8>) -> Result<(), CodecError> {
        for (entity, value) in &self.values {
            Codec::plain().write(entity, out)?;
            out.push(value.as_ref().map_or(ABSENT, |(_, on)| if *on { ENABLED } else { DISABLED }));
            value.iter().try_for_each(|(value, _)| T::CODEC.write(value, out))?;
        }
        Ok(())
    }

    fn read(&self, mut bytes: &[u8]) -> Result<Box<dyn AnySaved>, CodecError> {
        let mut values = VecDeque::new();
        while !bytes.is_empty() {
            let entity = Codec::plain().read(&mut bytes)?;
            let value = match Codec::<u8>::plain().read(&mut bytes)? {
                ABSENT => None,
                mark @ (ENABLED | DISABLED) => Some((T::CODEC.read(&mut bytes)?, mark == ENABLED)),
                _ => return Err(CodecError),
            };
            values.push_back((entity, value));
        }
        Ok(Box::new(Self { values }))
    }

    fn restore_last(&mut self, world: &mut World) -> Option<Entity> {
        let (entity, value) = self.values.pop_back()?;
        match value {
            Some((value, enabled)) => {
                // If other code has despawned the entity, there is nothing to restore.
                let insert = || drop(world.insert(entity, value));
                let inserted = catch_unwind(AssertUnwindSafe(insert));
                if T::ENABLEABLE {
                    // An observer may have removed the component at once: then there is no bit to set.
                    world.set_enabled::<T>(entity, enabled).unwrap_or_default();
                }
                // An observer has panicked: the value is in place nevertheless, and by now its bit is
                // too.
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
    /// The number of all steps ever made.
    pub(super) fn end(&self) -> u64 {
        self.forgotten + self.steps.len() as u64
    }

    /// Saves an entity's value of `T`, which is about to change.
    pub(super) fn save<T: Component + Clone>(&mut self, world: &World, entity: Entity) {
        let enabled = |value: &T| {
            (value.clone(), !T::ENABLEABLE || world.is_enabled::<T>(entity).unwrap_or(true))
        };
        let value = world.get::<T>(entity).ok().map(enabled);
        let index = self.column::<T>();
        if let Some(saved) = self.columns[index].1.as_any_mut().downcast_mut::<Saved<T>>() {
            saved.values.push_back((entity, value));
            self.steps.push_back(Step::Component(index));
        }
    }

    /// The index of the column of `T`.
    fn column<T: Component + Clone>(&mut self) -> usize {
        let id = TypeId::of::<T>();
        let index = self.columns.iter().position(|&(known, _)| known == id);
        index.unwrap_or_else(|| {
            self.columns.push((id, Box::new(Saved::<T> { values: VecDeque::new() })));
            self.columns.len() - 1
        })
    }

    /// Creates a column for `T` before the game begins, so that its values can be read from bytes.
    pub(super) fn declare<T: Component + Clone>(&mut self) {
        self.column::<T>();
        self.declared = self.columns.len();
    }

    /// The journal in its saved form, unless it has a value of a component that was not declared.
    pub(super) fn to_saved(&self) -> Result<SavedJournal, TurnsSaveError> {
        let mut columns = Vec::new();
        for (number, (_, column)) in self.columns.iter().enumerate() {
            let component = column.name().to_owned();
            if number >= self.declared && column.len() > 0 {
                return Err(TurnsSaveError::Undeclared { component });
            }
            let mut values = Vec::new();
            if column.write(&mut values).is_err() {
                return Err(TurnsSaveError::Component { component });
            }
            columns.push((component, values));
        }
        Ok(SavedJournal { forgotten: self.forgotten, columns, steps: self.steps.clone() })
    }

    /// A journal from its saved form, with the same components as this one.
    pub(super) fn loaded(&self, saved: SavedJournal) -> Result<Self, TurnsSaveError> {
        let none = |(id, column): &(TypeId, Box<dyn AnySaved>)| Ok((*id, column.read(&[])?));
        let columns = self.columns[..self.declared].iter().map(none);
        let columns = columns.collect::<Result<_, CodecError>>();
        let mut journal = Self {
            columns: columns.map_err(|_| TurnsSaveError::Malformed)?,
            declared: self.declared,
            forgotten: saved.forgotten,
            steps: saved.steps,
        };
        // The index here of each saved column.
        let mut places = Vec::new();
        for (component, values) in saved.columns {
            let place = journal.columns.iter().position(|(_, column)| column.name() == component);
            places.push(place);
            match place {
                None if values.is_empty() => {}
                None => return Err(TurnsSaveError::Undeclared { component }),
                Some(place) => match journal.columns[place].1.read(&values) {
                    Ok(read) => journal.columns[place].1 = read,
                    Err(_) => return Err(TurnsSaveError::Component { component }),
                },
            }
        }
        // There must be exactly one value for each step that restores one.
        let mut counts = vec![0; journal.columns.len()];
        for step in &mut journal.steps {
            if let Step::Component(column) = step {
                let place = places.get(*column).copied().flatten();
                *column = place.ok_or(TurnsSaveError::Malformed)?;
                counts[*column] += 1;
            }
        }
        let lengths = journal.columns.iter().map(|(_, column)| column.len());
        let end = journal.forgotten.checked_add(journal.steps.len() as u64);
        let is_whole = lengths.eq(counts) && end.is_some();
        is_whole.then_some(journal).ok_or(TurnsSaveError::Malformed)
    }

    /// Adds a step that is not a change of a component.
    pub(super) fn push(&mut self, step: Step) {
        self.steps.push_back(step);
    }

    /// Takes the last step if it is the `start`-th or later.
    pub(super) fn pop_after(&mut self, start: u64) -> Option<Step> {
        if self.end() > start { self.steps.pop_back() } else { None }
    }

    /// Undoes the last change of this column. Returns its entity.
    pub(super) fn restore(&mut self, column: usize, world: &mut World) -> Option<Entity> {
        self.columns[column].1.restore_last(world)
    }

    /// Drops all steps before the `start`-th.
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
