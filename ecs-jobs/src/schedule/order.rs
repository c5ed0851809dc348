//! Labels that systems are ordered by.

use std::any::{Any, TypeId, type_name};

use super::group::Group;
use super::name;

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
