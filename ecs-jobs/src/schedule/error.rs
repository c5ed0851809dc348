//! Errors of a schedule, and of the parameters of its systems.

use std::error::Error;

/// The reason why a schedule could not be built.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScheduleError {
    /// These systems and groups must each run before the next one, and the last before the first.
    Cycle {
        /// The systems, in order; the first again at the end.
        systems: Vec<String>,
    },
    /// A system requests the same access twice, at least once to write: in two parameters, or in one
    /// query.
    Contradiction {
        /// The system.
        system: String,
        /// The accesses that it requests twice.
        wanted: Vec<String>,
    },
    /// A system or group is ordered relative to one that is not in the schedule.
    UnknownSystem {
        /// The system with that order.
        system: String,
        /// The missing one.
        other: String,
    },
    /// A system must run before or after another one, and no declared order makes it do so.
    Misplaced {
        /// The system.
        system: String,
        /// `before` or `after`.
        side: &'static str,
        /// The other system.
        other: String,
        /// The way to give the system that order.
        how: &'static str,
    },
    /// A condition writes something, or records commands.
    WritingCondition {
        /// The condition.
        condition: String,
        /// The system that it belongs to.
        system: String,
    },
    /// Missing resources are denied, and one is missing.
    MissingResource {
        /// The system that requires it.
        system: String,
        /// Its type.
        resource: &'static str,
    },
    /// Ambiguities are denied, and there are some.
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

/// Two systems with conflicting accesses and no declared order. They run in the order of adding, unless
/// that contradicts the declared order of others.
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

/// The reason why a parameter is not available for a run, in words that complete "the system X cannot
/// run: ...".
pub type ParamError = Box<dyn Error + Send + Sync>;
