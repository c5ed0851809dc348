//! Groups: systems that share an order and conditions.

use std::any::{Any, TypeId, type_name};

use super::condition::Condition;
use super::name;
use crate::sync::unique_number;

/// A named set of systems with an order and conditions in common.
///
/// A group is its name. Systems join it by [`in_group`](super::IntoSystem::in_group), from anywhere, and
/// it is ordered before and after other groups and systems like a system. The configuration of the group
/// itself is [added](super::ScheduleBuilder::add) like a system; a tuple of groups can be
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
#[doc(alias("SystemSet", "configure_sets"))]
pub struct Group(&'static str);

impl Group {
    /// Creates the group with this name.
    #[must_use]
    pub const fn named(name: &'static str) -> Self {
        Self(name)
    }

    /// Returns its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0
    }
}

/// A set of systems that share an order and conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Set {
    Group(Group),
    /// A tuple whose systems share a condition, or a part of a chain, by a unique number.
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

/// The position of a system or a set in the order, and its conditions.
#[derive(Debug, Default)]
pub(super) struct Placement {
    pub(super) after: Vec<(Target, StepKind)>,
    pub(super) before: Vec<(Target, StepKind)>,
    pub(super) conditions: Vec<Condition>,
    /// The sets that contain it.
    pub(super) sets: Vec<Set>,
}

/// A set with its position in the order.
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

    /// Adds the configuration of the same group given elsewhere.
    pub(super) fn merge(&mut self, other: Self) {
        self.place.after.extend(other.place.after);
        self.place.before.extend(other.place.before);
        self.place.conditions.extend(other.place.conditions);
        self.place.sets.extend(other.place.sets);
        self.chained |= other.chained;
    }
}

/// The target of an order declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// All systems of this type; each function has a type of its own.
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

/// Whether the later system sees the effects of the earlier one's commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepKind {
    Synced,
    Unsynced,
}
