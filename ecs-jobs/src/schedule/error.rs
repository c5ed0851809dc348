//! Errors of a schedule, and of what its systems take.

use std::error::Error;

/// Why a schedule could not be built.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScheduleError {
    /// These systems and groups each have to run before the next one, and the last before the
    /// first.
    Cycle {
        /// The systems, in order; the first again at the end.
        systems: Vec<String>,
    },
    /// A system asks for the same thing twice, once of them to write: in two parameters, or in one query.
    Contradiction {
        /// The system.
        system: String,
        /// What it asks for twice.
        wanted: Vec<String>,
    },
    /// A system or group is to run before or after one that is not in the schedule.
    UnknownSystem {
        /// The system that asks.
        system: String,
        /// The one it asks for.
        other: String,
    },
    /// A system has to run before or after another one, and nothing declares that it does.
    Misplaced {
        /// The system.
        system: String,
        /// `before` or `after`.
        side: &'static str,
        /// The other one.
        other: String,
        /// How the system is given its place.
        how: &'static str,
    },
    /// A condition writes something, or records commands.
    WritingCondition {
        /// The condition.
        condition: String,
        /// The system that it is for.
        system: String,
    },
    /// Missing resources were denied, and there is one.
    MissingResource {
        /// The system that takes it.
        system: String,
        /// Its type.
        resource: &'static str,
    },
    /// Ambiguities were denied, and there are some.
    Ambiguous {
        /// All of them.
        ambiguities: Vec<Ambiguity>,
    },
}

error_text! { ScheduleError:
    Self::Cycle { systems } => "the order of these systems is a cycle: {}", systems.join(" before ");
    Self::Contradiction { system, wanted } => "{system} asks for {} twice, once of them to write; filters that \
        exclude each other do not help: ask for it once", wanted.join(" and ");
    Self::UnknownSystem { system, other } => "{system} is ordered relative to {other}, which is not added to the schedule: add it, or \
        call what adds it, such as `action::add` or `nav::systems::add`";
    Self::Misplaced { system, side, other, how } => "{system} has to run {side} {other}, and nothing declares that it does: {how}";
    Self::WritingCondition { condition, system } => "the condition {condition} of {system} writes; conditions only read";
    Self::MissingResource { system, resource } => "{system} takes the resource {resource}, which is not in the world";
    Self::Ambiguous { ambiguities } => "{} pairs of systems have no declared order; {}", ambiguities.len(),
        ambiguities.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
}

/// Two systems that touch the same data, and whose order is not declared: they run in the order
/// in which they were added, unless that contradicts what was declared of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ambiguity {
    /// The system that runs first.
    pub first: String,
    /// The other one.
    pub second: String,
    /// The components and resources that they share.
    pub about: Vec<String>,
}

display_text! { Ambiguity:
    Self { first, second, about } => "{first} runs before {second} only by the order of adding; both use {}",
        about.join(", ");
}

/// Why a parameter cannot be had for a run, in words that complete "the system X cannot run: ...".
pub type ParamError = Box<dyn Error + Send + Sync>;
