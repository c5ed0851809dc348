//! The undo journal: the values before each change, taken back last first.

use std::any::{Any, TypeId};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use formic_ecs::{Component, Entity, World};

use super::bytes::{Reader, put, put_counted};
use super::error::TurnsSaveError;
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
    /// How many of the columns are of components that the turns were told of before the game began;
    /// they are the first.
    declared: usize,
}

/// The value that a component had, and whether it was enabled.
struct Saved<T> {
    values: VecDeque<(Entity, Option<(T, bool)>)>,
}

/// What stands before a value in bytes.
const ABSENT: u8 = 0;
const DISABLED: u8 = 1;
const ENABLED: u8 = 2;

trait AnySaved: Send + Sync {
    fn name(&self) -> &'static str;
    fn len(&self) -> usize;
    /// Writes all values.
    fn write(&self, out: &mut Vec<u8>) -> Option<()>;
    /// A column of the same component with the values that were written.
    fn read(&self, bytes: &[u8]) -> Option<Box<dyn AnySaved>>;
    /// Gives an entity back what it had. The value is off the list before any watcher runs.
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

    fn write(&self, out: &mut Vec<u8>) -> Option<()> {
        for (entity, value) in &self.values {
            put(out, entity.to_bits());
            let Some((value, is_enabled)) = value else {
                out.push(ABSENT);
                continue;
            };
            out.push(if *is_enabled { ENABLED } else { DISABLED });
            T::CODEC.write(value, out).ok()?;
        }
        Some(())
    }

    fn read(&self, bytes: &[u8]) -> Option<Box<dyn AnySaved>> {
        let (mut reader, mut values) = (Reader(bytes), VecDeque::new());
        while !reader.0.is_empty() {
            let entity = reader.entity()?;
            let (&mark, rest) = reader.0.split_first()?;
            reader.0 = rest;
            let value = match mark {
                ABSENT => None,
                ENABLED | DISABLED => Some((T::CODEC.read(&mut reader.0).ok()?, mark == ENABLED)),
                _ => return None,
            };
            values.push_back((entity, value));
        }
        Some(Box::new(Self { values }))
    }

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

    /// How many steps are forgotten: the number of the first that is not.
    pub(super) fn start(&self) -> u64 {
        self.forgotten
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
        let index = self.column::<T>();
        if let Some(saved) = self.columns[index].1.as_any_mut().downcast_mut::<Saved<T>>() {
            saved.values.push_back((entity, value));
            self.steps.push_back(Step::Component(index));
        }
    }

    /// The number of the column of `T`.
    fn column<T: Component + Clone>(&mut self) -> usize {
        let id = TypeId::of::<T>();
        let index = self.columns.iter().position(|&(known, _)| known == id);
        index.unwrap_or_else(|| {
            self.columns.push((id, Box::new(Saved::<T> { values: VecDeque::new() })));
            self.columns.len() - 1
        })
    }

    /// Has a column for `T` from the beginning, so that its values can be read from bytes.
    pub(super) fn declare<T: Component + Clone>(&mut self) {
        self.column::<T>();
        self.declared = self.columns.len();
    }

    /// Writes all steps, and the values that they would bring back.
    pub(super) fn write(&self, out: &mut Vec<u8>) -> Result<(), TurnsSaveError> {
        put(out, self.forgotten);
        put(out, self.columns.len() as u64);
        for (number, (_, column)) in self.columns.iter().enumerate() {
            let component = || column.name().to_owned();
            if number >= self.declared && column.len() > 0 {
                return Err(TurnsSaveError::Undeclared { component: component() });
            }
            put_counted(out, column.name().as_bytes());
            let mut values = Vec::new();
            let written = column.write(&mut values);
            written.ok_or_else(|| TurnsSaveError::Component { component: component() })?;
            put_counted(out, &values);
        }
        put(out, self.steps.len() as u64);
        for step in &self.steps {
            match *step {
                Step::Component(column) => {
                    put(out, 0);
                    put(out, column as u64);
                }
                Step::Took(entity) => {
                    put(out, 1);
                    put(out, entity.to_bits());
                }
                Step::Scheduled(ticket) => {
                    put(out, 2);
                    ticket.write(out);
                }
                Step::Unscheduled(ticket, entity) => {
                    put(out, 3);
                    ticket.write(out);
                    put(out, entity.to_bits());
                }
            }
        }
        Ok(())
    }

    /// A journal of the same components with the steps that were written.
    pub(super) fn read(&self, reader: &mut Reader<'_>) -> Result<Self, TurnsSaveError> {
        const BAD: TurnsSaveError = TurnsSaveError::Malformed;
        let forgotten = reader.number().ok_or(BAD)?;
        let saved = reader.list(|reader| Some((reader.counted()?, reader.counted()?)));
        let none = |(id, column): &(TypeId, Box<dyn AnySaved>)| Some((*id, column.read(&[])?));
        let columns = self.columns[..self.declared].iter().map(none).collect::<Option<_>>();
        let mut journal =
            Self { columns: columns.ok_or(BAD)?, declared: self.declared, ..Self::default() };
        journal.forgotten = forgotten;
        // Where each column that was saved is here.
        let mut places = Vec::new();
        for (name, values) in saved.ok_or(BAD)? {
            let is_it = |(_, column): &(_, Box<dyn AnySaved>)| column.name().as_bytes() == name;
            let place = journal.columns.iter().position(is_it);
            places.push(place);
            let component = || String::from_utf8_lossy(name).into_owned();
            match place {
                None if values.is_empty() => {}
                None => return Err(TurnsSaveError::Undeclared { component: component() }),
                Some(place) => {
                    let read = journal.columns[place].1.read(values);
                    let bad = || TurnsSaveError::Component { component: component() };
                    journal.columns[place].1 = read.ok_or_else(bad)?;
                }
            }
        }
        let steps = reader.list(|reader| {
            Some(match reader.number()? {
                0 => Step::Component((*places.get(reader.size()?)?)?),
                1 => Step::Took(reader.entity()?),
                2 => Step::Scheduled(Ticket::read(reader)?),
                3 => Step::Unscheduled(Ticket::read(reader)?, reader.entity()?),
                _ => return None,
            })
        });
        journal.steps = steps.ok_or(BAD)?.into();
        // There is a value for each step that brings one back, and none besides.
        let mut counts = vec![0; journal.columns.len()];
        for step in &journal.steps {
            if let Step::Component(column) = step {
                counts[*column] += 1;
            }
        }
        let lengths = journal.columns.iter().map(|(_, column)| column.len());
        let is_whole =
            lengths.eq(counts) && forgotten.checked_add(journal.steps.len() as u64).is_some();
        is_whole.then_some(journal).ok_or(BAD)
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
