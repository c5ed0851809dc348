//! The undo journal: the values before each change, undone in reverse order.

use std::any::TypeId;
use std::collections::VecDeque;

use formic_ecs::{Codec, CodecError, Component, Entity, World};

use super::error::TurnsSaveError;
use super::schedule::Ticket;
use super::values::{ABSENT, AnyValues, ENABLED, Values};

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
    columns: Vec<Column>,
    /// The number of columns of declared components, which come first.
    declared: usize,
}

/// The earlier values of a component.
struct Column {
    component: TypeId,
    /// The entities, each with the mark of its value.
    entries: VecDeque<(Entity, u8)>,
    values: Box<dyn AnyValues>,
}

/// A journal in its saved form: the values of each component, written by its codec, with its name.
#[derive(serde::Serialize, serde::Deserialize)]
pub(super) struct SavedJournal {
    forgotten: u64,
    columns: Vec<(String, Vec<u8>)>,
    steps: VecDeque<Step>,
}

impl Column {
    /// Writes all values, each behind its entity and its mark.
    fn write(&self) -> Result<Vec<u8>, CodecError> {
        let mut out = Vec::new();
        for (index, (entity, mark)) in self.entries.iter().enumerate() {
            Codec::plain().write(entity, &mut out)?;
            out.push(*mark);
            self.values.write(index, &mut out)?;
        }
        Ok(out)
    }

    /// Reads a column of the same component from written values.
    fn read(&self, mut bytes: &[u8]) -> Result<Self, CodecError> {
        let (mut entries, mut values) = (VecDeque::new(), self.values.empty());
        while !bytes.is_empty() {
            let entity = Codec::plain().read(&mut bytes)?;
            entries.push_back((entity, values.read(&mut bytes)?));
        }
        Ok(Self { component: self.component, entries, values })
    }
}

impl Journal {
    /// The number of all steps ever made.
    pub(super) fn end(&self) -> u64 {
        self.forgotten + self.steps.len() as u64
    }

    /// Saves an entity's value of this component, which is about to change. Its type is that of `like`.
    pub(super) fn save(&mut self, of: TypeId, like: &dyn AnyValues, world: &World, entity: Entity) {
        let index = self.column(of, || like.empty());
        let Column { entries, values, .. } = &mut self.columns[index];
        entries.push_back((entity, values.save(world, entity)));
        self.steps.push_back(Step::Component(index));
    }

    /// The index of the column of a component.
    fn column(&mut self, component: TypeId, empty: impl FnOnce() -> Box<dyn AnyValues>) -> usize {
        let index = self.columns.iter().position(|it| it.component == component);
        index.unwrap_or_else(|| {
            self.columns.push(Column { component, entries: VecDeque::new(), values: empty() });
            self.columns.len() - 1
        })
    }

    /// Creates a column for `T` before the game begins, so that its values can be read from bytes.
    pub(super) fn declare<T: Component + Clone>(&mut self) {
        self.column(TypeId::of::<T>(), || Box::new(Values::<T>::new()));
        self.declared = self.columns.len();
    }

    /// The journal in its saved form, unless it has a value of a component that was not declared.
    pub(super) fn to_saved(&self) -> Result<SavedJournal, TurnsSaveError> {
        let mut columns = Vec::new();
        for (number, column) in self.columns.iter().enumerate() {
            let component = column.values.name().to_owned();
            if number >= self.declared && !column.entries.is_empty() {
                return Err(TurnsSaveError::Undeclared { component });
            }
            let Ok(values) = column.write() else {
                return Err(TurnsSaveError::Component { component });
            };
            columns.push((component, values));
        }
        Ok(SavedJournal { forgotten: self.forgotten, columns, steps: self.steps.clone() })
    }

    /// A journal from its saved form, with the same components as this one.
    pub(super) fn loaded(&self, saved: SavedJournal) -> Result<Self, TurnsSaveError> {
        let columns = self.columns[..self.declared].iter().map(|column| column.read(&[]));
        let columns = columns.collect::<Result<_, _>>();
        let mut journal = Self {
            columns: columns.map_err(|_| TurnsSaveError::Malformed)?,
            declared: self.declared,
            forgotten: saved.forgotten,
            steps: saved.steps,
        };
        // The index here of each saved column.
        let mut places = Vec::new();
        for (component, values) in saved.columns {
            let place = journal.columns.iter().position(|it| it.values.name() == component);
            places.push(place);
            match place {
                None if values.is_empty() => {}
                None => return Err(TurnsSaveError::Undeclared { component }),
                Some(place) => match journal.columns[place].read(&values) {
                    Ok(read) => journal.columns[place] = read,
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
        let lengths = journal.columns.iter().map(|column| column.entries.len());
        // There is room to count on.
        let is_whole = lengths.eq(counts) && journal.forgotten <= u64::MAX / 2;
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
        let Column { entries, values, .. } = &mut self.columns[column];
        let (entity, mark) = entries.pop_back()?;
        values.put(entries.len(), world, entity, Some(mark == ENABLED));
        if mark == ABSENT && values.is_in(world, entity) {
            values.remove_from(world, entity);
        }
        Some(entity)
    }

    /// Drops all steps before the `start`-th.
    pub(super) fn forget_before(&mut self, start: u64) {
        while self.forgotten < start {
            let Some(step) = self.steps.pop_front() else { return };
            self.forgotten += 1;
            if let Step::Component(column) = step {
                let Column { entries, values, .. } = &mut self.columns[column];
                entries.pop_front();
                values.forget(0);
            }
        }
    }
}
