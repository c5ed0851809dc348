//! Groups: systems that are ordered and switched together.

use std::any::{Any, TypeId, type_name};

use super::condition::{Condition, IntoCondition};
use super::name;
use crate::sync::unique_number;

/// A named set of systems, to be ordered, and run or not, as one.
///
/// A group is its name; systems join it by
/// [`in_group`](super::IntoSystem::in_group), from anywhere, and it comes before and after other
/// groups and systems like a system does. What is true of the group itself is said once, by
/// [`ScheduleBuilder::configure`](super::ScheduleBuilder::configure).
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
///     .configure(PHYSICS.after(INPUT).run_if(is_running))
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

    pub(super) fn config(self) -> GroupConfig {
        GroupConfig::of(Set::Group(self))
    }

    /// Runs all of it after a group, or after all systems of a type.
    #[must_use]
    pub fn after<T: 'static>(self, other: T) -> GroupConfig {
        self.config().after(other)
    }

    /// Runs all of it before a group, or before all systems of a type.
    #[must_use]
    pub fn before<T: 'static>(self, other: T) -> GroupConfig {
        self.config().before(other)
    }

    /// Runs its systems only in ticks in which the condition holds.
    #[must_use]
    pub fn run_if<Marker>(self, condition: impl IntoCondition<Marker>) -> GroupConfig {
        self.config().run_if(condition)
    }

    /// Makes it a part of a larger group.
    #[must_use]
    pub fn in_group(self, outer: Group) -> GroupConfig {
        self.config().in_group(outer)
    }

    /// Runs its systems one after the other, in the order of adding.
    #[must_use]
    pub fn chain(self) -> GroupConfig {
        self.config().chain()
    }
}

/// Systems that are ordered and switched together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Set {
    Group(Group),
    /// Those of a tuple that have a condition in common, by a number of its own.
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

    pub(super) fn name(self) -> String {
        self.group().map_or_else(|| "a tuple".into(), |group| Target::Group(group).name())
    }
}

/// The place of a system or a set in the order, and when it runs at all.
#[derive(Debug, Default)]
pub(super) struct Placement {
    pub(super) after: Vec<(Target, Step)>,
    pub(super) before: Vec<(Target, Step)>,
    pub(super) conditions: Vec<Condition>,
    /// The sets that it was put into.
    pub(super) sets: Vec<Set>,
}

/// A group with its place in the order; made by the methods of [`Group`].
#[derive(Debug)]
pub struct GroupConfig {
    pub(super) set: Set,
    pub(super) place: Placement,
    pub(super) chained: bool,
}

impl GroupConfig {
    pub(super) fn of(set: Set) -> Self {
        Self { set, place: Placement::default(), chained: false }
    }

    /// Runs all of it after a group, or after all systems of a type, and after their commands.
    #[must_use]
    pub fn after<T: 'static>(mut self, other: T) -> Self {
        self.place.after.push((Target::of(&other), Step::Synced));
        self
    }

    /// Runs all of it before a group, or before all systems of a type, which see its commands.
    #[must_use]
    pub fn before<T: 'static>(mut self, other: T) -> Self {
        self.place.before.push((Target::of(&other), Step::Synced));
        self
    }

    /// Runs its systems only in ticks in which the condition holds. It is evaluated once for all of
    /// them, after what the group comes after and before its first system.
    #[must_use]
    pub fn run_if<Marker>(mut self, condition: impl IntoCondition<Marker>) -> Self {
        self.place.conditions.push(condition.into_condition());
        self
    }

    /// Makes it a part of a larger group: its systems are ordered and switched by that as well.
    #[must_use]
    pub fn in_group(mut self, outer: Group) -> Self {
        self.place.sets.push(Set::Group(outer));
        self
    }

    /// Runs its systems one after the other, in the order of adding.
    #[must_use]
    pub fn chain(mut self) -> Self {
        self.chained = true;
        self
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
    Group(Group),
}

impl Target {
    pub(super) fn of<T: 'static>(other: &T) -> Self {
        match (other as &dyn Any).downcast_ref::<Group>() {
            Some(group) => Self::Group(*group),
            None => Self::Type(TypeId::of::<T>(), type_name::<T>()),
        }
    }

    pub(super) fn name(self) -> String {
        match self {
            Self::Type(_, full) => name::of_system(full),
            Self::Group(group) => format!("the group {}", group.name()),
        }
    }
}

/// Whether who comes later sees what the commands of the earlier one change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Synced,
    Unsynced,
}
