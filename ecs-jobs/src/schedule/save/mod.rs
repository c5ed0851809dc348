//! The format of saved games: sections, the rules of types, and the state of systems.

mod file;
mod rules;
mod state;

use std::fmt;

use formic_ecs::{RestoreError, SnapshotError};

pub use self::file::MalformedSave;
pub(super) use self::file::{Entries, Reader, Section, from_bytes, put_bytes, put_text, to_bytes};
pub use self::rules::SaveRules;
pub(super) use self::rules::{Change, Extent};
pub use self::state::StateArchive;
use super::name;

/// The counts of ticks and events in a save are below this: a loaded game goes on counting.
pub(super) const COUNT_END: u64 = 1 << 62;

/// A part of a game that cannot be saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsaved {
    /// The part, and where it is.
    pub what: String,
    /// The way to make it savable.
    pub remedy: String,
}

impl Unsaved {
    pub(super) fn rule_for(name: &str) -> String {
        let name = name::of_type(name);
        format!(
            "say how with `SaveRules::of(&mut world)` and one of `.save(Codec::<{name}>::serde())`, \
             `.save_part(...)`, or `.rebuild::<{name}>()` if the game is built with it anew"
        )
    }

    pub(super) fn rule_for_events(name: &str) -> String {
        let name = name::of_type(name);
        format!(
            "say how with `SaveRules::of(&mut world)` and `.save(Codec::<{name}>::serde())`, or \
             `.rebuild::<{name}>()` if those that no system has read yet may be lost"
        )
    }

    pub(super) fn unwritable(what: String) -> Self {
        Self { what, remedy: "its codec failed to write the value that is there now".into() }
    }
}

/// The reason why a game could not be saved. It prints as a list of all obstacles with remedies, also as
/// `{:?}`, so that the error of a `main` that returns it is readable.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SaveError {
    /// These parts cannot be saved.
    Unsaved(Vec<Unsaved>),
    /// The entities could not be saved.
    World(SnapshotError),
    /// A run is [stepped](crate::Schedule::step) through and has not ended.
    MiddleOfRun,
    /// The schedule was built for another world.
    OtherWorld,
}

error_text! { SaveError:
    Self::Unsaved(all) => "the game cannot be saved as it is:\n{}",
        all.iter().map(|it| format!("  {}: {}", it.what, it.remedy)).collect::<Vec<_>>().join("\n");
    Self::World(error) => "{error}";
    Self::MiddleOfRun => "a run is stepped through: end it first";
    Self::OtherWorld => "the schedule was built for another world";
}

from_error!(SnapshotError => SaveError::World);

/// The reason why a game could not be loaded. World and schedule are unchanged.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoadError {
    /// The bytes are not a valid save.
    Malformed(MalformedSave),
    /// The entities could not be restored.
    World(RestoreError),
    /// An entry of the save is not a valid value of its type.
    InvalidValue {
        /// The target of the value.
        what: String,
    },
    /// A run is [stepped](crate::Schedule::step) through and has not ended.
    MiddleOfRun,
    /// The schedule was built for another world.
    OtherWorld,
}

error_text! { LoadError:
    Self::Malformed(error) => "{error}";
    Self::World(error) => "{error}";
    Self::InvalidValue { what } => "the save has no value of {what}";
    Self::MiddleOfRun => "a run is stepped through: end it first";
    Self::OtherWorld => "the schedule was built for another world";
}

from_error!(MalformedSave => LoadError::Malformed);

/// The differences between a save and the game that it was loaded into: empty if both are of one version
/// of the game. It prints as lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadReport {
    /// Parts of the save without a counterpart in the game, which were dropped.
    pub dropped: Vec<String>,
    /// Parts of the game that the save does not have; they are as the game was built.
    pub new: Vec<String>,
    /// The [migration steps](SaveRules::migrate) that the save went through, because it is older than
    /// they are.
    pub migrated: Vec<String>,
}

impl LoadReport {
    /// Returns whether everything matched: then the game continues exactly as the saved one would have.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.dropped.is_empty() && self.new.is_empty() && self.migrated.is_empty()
    }
}

impl fmt::Display for LoadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = [
            (&self.dropped, "dropped, the game has no place for it"),
            (&self.new, "as the game was built, the save does not know it"),
            (&self.migrated, "the save is from before it and was migrated"),
        ];
        let lines =
            lines.iter().flat_map(|(all, why)| all.iter().map(move |it| format!("{it}: {why}")));
        f.write_str(&lines.collect::<Vec<_>>().join("\n"))
    }
}
