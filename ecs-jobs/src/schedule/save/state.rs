//! The state that systems keep between runs, as it is saved and loaded.

use std::any::{TypeId, type_name};

use formic_ecs::{CodecError, QueryData, QueryFilter, QueryPlan, World};

use super::file::{Entries, put_bytes, put_text};
use super::rules::{Extent, SaveRules};
use super::{LoadError, Unsaved};
use crate::schedule::name;

/// A visitor of the state that a system keeps between runs: the same calls save and load it.
///
/// Passed to [`SystemParam::visit_state`](crate::SystemParam::visit_state) and
/// [`System::visit_state`](crate::System::visit_state). Each call names its entry. A save is read by
/// these names, so parameters can be added and removed.
#[derive(Debug)]
pub struct StateArchive<'a> {
    rules: &'a SaveRules,
    /// The name of the system, for messages.
    system: &'a str,
    mode: Mode<'a>,
}

#[derive(Debug)]
enum Mode<'a> {
    Save {
        out: Vec<u8>,
        problems: &'a mut Vec<Unsaved>,
        world: &'a World,
    },
    Load {
        entries: Entries<'a>,
        missing: Vec<String>,
        failed: Option<LoadError>,
        world: Option<&'a World>,
    },
}

impl<'a> StateArchive<'a> {
    pub(in crate::schedule) fn saving(
        rules: &'a SaveRules,
        system: &'a str,
        problems: &'a mut Vec<Unsaved>,
        world: &'a World,
    ) -> Self {
        Self { rules, system, mode: Mode::Save { out: Vec::new(), problems, world } }
    }

    /// Creates a visitor that reads all entries, and stores them if there is a world; otherwise nothing
    /// changes. `None` if the bytes are malformed.
    pub(in crate::schedule) fn loading(
        rules: &'a SaveRules,
        system: &'a str,
        bytes: &'a [u8],
        world: Option<&'a World>,
    ) -> Option<Self> {
        let entries = Entries::read(bytes, rules)?;
        let mode = Mode::Load { entries, missing: Vec::new(), failed: None, world };
        Some(Self { rules, system, mode })
    }

    pub(in crate::schedule) fn into_bytes(self) -> Vec<u8> {
        match self.mode {
            Mode::Save { out, .. } => out,
            Mode::Load { .. } => Vec::new(),
        }
    }

    /// Returns the entries that were not in the save, and those of the save that were not used.
    pub(in crate::schedule) fn finish(self) -> Result<(Vec<String>, Vec<String>), LoadError> {
        match self.mode {
            Mode::Load { failed: Some(error), .. } => Err(error),
            Mode::Load { entries, missing, .. } => {
                Ok((missing, entries.left().map(name::of_type).collect()))
            }
            Mode::Save { .. } => Ok(Default::default()),
        }
    }

    /// Visits an entry: `write` writes it; `read` reads it back, and stores it only if it gets the world.
    pub fn entry<T: ?Sized>(
        &mut self,
        what: &str,
        state: &mut T,
        write: impl FnOnce(&T, &mut Vec<u8>) -> Result<(), CodecError>,
        read: impl FnOnce(&mut T, &mut &[u8], Option<&World>) -> Result<(), CodecError>,
    ) {
        let system = self.system;
        match &mut self.mode {
            Mode::Save { .. } => {
                let mut bytes = Vec::new();
                let written = write(state, &mut bytes);
                self.put(what, written.map(|()| bytes));
            }
            Mode::Load { entries, missing, failed, world } => {
                let Some(mut bytes) = entries.take(what) else {
                    return missing.push(name::of_type(what));
                };
                if read(state, &mut bytes, *world).is_err() || !bytes.is_empty() {
                    let what = called(what, system);
                    failed.get_or_insert(LoadError::InvalidValue { what });
                }
            }
        }
    }

    fn put(&mut self, what: &str, written: Result<Vec<u8>, CodecError>) {
        let Mode::Save { out, problems, .. } = &mut self.mode else { return };
        match written {
            Ok(bytes) => {
                put_text(out, what);
                put_bytes(out, &bytes);
            }
            Err(CodecError) => problems.push(Unsaved::unwritable(called(what, self.system))),
        }
    }

    /// Visits numbers, such as versions of the world or counters.
    pub fn numbers(&mut self, what: &str, numbers: &mut Vec<u64>) {
        let write = |numbers: &Vec<u64>, out: &mut Vec<u8>| {
            numbers.iter().for_each(|number| out.extend(number.to_le_bytes()));
            Ok(())
        };
        self.entry(what, numbers, write, |numbers, bytes, world| {
            let read = bytes.chunks(8).map(|chunk| chunk.try_into().map(u64::from_le_bytes));
            let read: Vec<u64> = read.collect::<Result<_, _>>().map_err(|_| CodecError)?;
            *bytes = &[];
            if world.is_some() {
                *numbers = read;
            }
            Ok(())
        });
    }

    /// Visits a number.
    pub fn number(&mut self, what: &str, number: &mut u64) {
        let write = |number: &u64, out: &mut Vec<u8>| {
            out.extend(number.to_le_bytes());
            Ok(())
        };
        self.entry(what, number, write, |number, bytes, world| {
            let (first, rest) = bytes.split_first_chunk().ok_or(CodecError)?;
            *bytes = rest;
            if world.is_some() {
                *number = u64::from_le_bytes(*first);
            }
            Ok(())
        });
    }

    /// Visits a version of the world, at which something was last checked, and the number of the world's
    /// last [restoring](World::restored) before that.
    pub(in crate::schedule) fn version(&mut self, what: &str, seen: &mut u64, restored: &mut u64) {
        self.number(what, seen);
        if let Mode::Load { world: Some(world), .. } = &self.mode {
            *restored = world.restored();
        }
    }

    /// Visits the version at which a query was last run: what it has seen is not new to it in the loaded
    /// game either.
    pub fn plan<Q: QueryData, F: QueryFilter>(&mut self, plan: &mut QueryPlan<Q, F>) {
        let mut asked = plan.last_run();
        self.number(type_name::<QueryPlan<Q, F>>(), &mut asked);
        if let Mode::Load { world: Some(world), .. } = &self.mode {
            world.resume_plan(plan, asked);
        }
    }

    /// Visits a value whose type has a rule among the [`SaveRules`].
    pub fn value<T: Send + 'static>(&mut self, value: &mut T) {
        let name = type_name::<T>();
        let Some(rule) = self.rules.get(TypeId::of::<T>()) else {
            self.cannot_save(&format!("Local<{}>", name::of_type(name)), &Unsaved::rule_for(name));
            return;
        };
        if rule.extent == Extent::Rebuilt {
            return;
        }
        let write = |value: &T, out: &mut Vec<u8>| (rule.write)(value, out);
        self.entry(name, value, write, |value, bytes, world| {
            let put = (rule.read)(bytes)?;
            if let Some(world) = world {
                put(value, world);
            }
            Ok(())
        });
    }

    /// Records the number of values of a [rebuilt](SaveRules::rebuild) type that are left out of the save
    /// and that the system would still have read. No load uses this entry, so it is reported as dropped.
    pub(in crate::schedule) fn note_lost<T: 'static>(&mut self, count: impl Fn(&World) -> u64) {
        let Mode::Save { world, .. } = &self.mode else { return };
        let count = if self.rules.drops::<T>() { count(world) } else { 0 };
        if count > 0 {
            self.put(&format!("{count} unread {}", type_name::<T>()), Ok(Vec::new()));
        }
    }

    /// Records state that cannot be saved, with a remedy: then the whole game cannot be saved.
    pub fn cannot_save(&mut self, what: &str, remedy: &str) {
        if let Mode::Save { problems, .. } = &mut self.mode {
            let what = format!("{what} of the system {}", self.system);
            problems.push(Unsaved { what, remedy: remedy.to_owned() });
        }
    }
}

/// The name of an entry of a system, for messages.
fn called(what: &str, system: &str) -> String {
    format!("{} of the system {system}", name::of_type(what))
}
