//! Groups: systems that are ordered and switched together.

use std::any::{Any, TypeId, type_name};

use super::condition::Condition;
use super::name;
use crate::sync::unique_number;

/// A named set of systems, to be ordered, and run or not, as one.
///
/// A group is its name; systems join it by
/// [`in_group`](super::IntoSystem::in_group), from anywhere, and it comes before and after other
/// groups and systems like a system does. What is true of the group itself is
/// [added](super::ScheduleBuilder::add) like a system; a tuple of groups can be
/// [chained](super::IntoSystem::chain).
///
/// ```
/// use formic_jobs::prelude::*;
///
/// const INPUT: Group = Group::named("input");
/// const PHYSICS: Group = Group::named("physics");
/// struct Paused(bool);
///
/// fn read_keys(mut log: ResMut<'_, Vec<&'static str>>) { log.push("keys"); }
/// fn fall(mut log: ResMut<'_, Vec<&'static str>>) { log.push("fall"); }
/// fn collide(mut log: ResMut<'_, Vec<&'static str>>) { log.push("collide"); }
/// fn is_running(paused: Res<'_, Paused>) -> bool { !paused.0 }
///
/// let mut world = World::new();
/// world.insert_resource(Vec::<&'static str>::new());
/// world.insert_resource(Paused(false));
/// let mut schedule = Schedule::builder()
///     .add(PHYSICS.after(INPUT).run_if(is_running))
///     .add((fall, collide).chain().in_group(PHYSICS))
///     .add(read_keys.in_group(INPUT))
///     .build(&mut world)?;
/// let pool = Pool::new(Threads::None)?;
/// schedule.run(&mut world, &pool);
/// world.insert_resource(Paused(true));
/// schedule.run(&mut world, &pool);
/// assert_eq!(*world.resource::<Vec<&str>>()?, ["keys", "fall", "collide", "keys"]);
/// assert!(schedule.explain(fall).to_string().ends_with(
///     "fall did not run in tick 1: its group physics is off, as is_running was false"
/// ));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Group(&'static str);

impl Group {
    /// The group with this name.
    #[must_use]
    pub const fn named(name: &'static str) -> Self {
        Self(name)
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0
    }
}

/// Systems that are ordered and switched together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Set {
    Group(Group),
    /// Those of a tuple that have a condition in common, or of a part of a chain, by a number of its own.
    Tuple(u64),
}

impl Set {
    pub(super) fn of_tuple() -> Self {
        Self::Tuple(unique_number())
    }

    pub(super) fn group(self) -> Option<Group> {
        match self {
            Self::Group(group) => Some(group),
            Self::Tuple(_) => None,
        }
    }

    /// Empty for a tuple.
    pub(super) fn name(self) -> String {
        self.group().map_or_else(String::new, |group| format!("the group {}", group.name()))
    }
}

/// The place of a system or a set in the order, and when it runs at all.
#[derive(Debug, Default)]
pub(super) struct Placement {
    pub(super) after: Vec<(Target, StepKind)>,
    pub(super) before: Vec<(Target, StepKind)>,
    pub(super) conditions: Vec<Condition>,
    /// The sets that it was put into.
    pub(super) sets: Vec<Set>,
}

/// A set with its place in the order.
#[derive(Debug)]
pub(super) struct SetConfig {
    pub(super) set: Set,
    pub(super) place: Placement,
    /// Whether its systems run one after the other, in the order of adding.
    pub(super) chained: bool,
}

impl SetConfig {
    pub(super) fn of(set: Set) -> Self {
        Self { set, place: Placement::default(), chained: false }
    }

    /// Takes in what was said of the same group elsewhere.
    pub(super) fn merge(&mut self, other: Self) {
        self.place.after.extend(other.place.after);
        self.place.before.extend(other.place.before);
        self.place.conditions.extend(other.place.conditions);
        self.place.sets.extend(other.place.sets);
        self.chained |= other.chained;
    }
}

/// What a system or a group is ordered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// All systems of this type; functions have a type each.
    Type(TypeId, &'static str),
    Set(Set),
}

impl Target {
    pub(super) fn of<T: 'static>(other: &T) -> Self {
        match (other as &dyn Any).downcast_ref::<Group>() {
            Some(group) => Self::Set(Set::Group(*group)),
            None => Self::Type(TypeId::of::<T>(), type_name::<T>()),
        }
    }

    pub(super) fn name(self) -> String {
        match self {
            Self::Type(_, full) => name::of_system(full),
            Self::Set(set) => set.name(),
        }
    }
}

/// Whether who comes later sees what the commands of the earlier one change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepKind {
    Synced,
    Unsynced,
}
