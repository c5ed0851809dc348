//! The events of hooks and observers.

use crate::component::{ArchetypeFlags, ComponentId};
use crate::entity::Entity;

/// What happened to a component of an entity, or is about to.
///
/// | operation | told before | told after |
/// |---|---|---|
/// | spawn, instantiate | | `Add` of all, then `Insert` of all |
/// | insert | `Replace` of those that are there | `Add` of the new ones, then `Insert` of all |
/// | remove | `Replace` of all, then `Remove` of all | |
/// | despawn, clear | `Despawn` of all, then `Replace`, then `Remove` | |
///
/// The components of a bundle come in declared order, those of an entity that is despawned or
/// instantiated in the order in which their types were first used. Of each, the hook is called
/// first, then the observers in the order of their registration. Before an operation the values
/// are as they were, after it everything is complete; no book is ever open.
///
/// Batches, bulk operations and command buffers tell the same, entity by entity. Nothing is told
/// when a component is switched on or off: bits are flipped by many threads at once, where there
/// is no world to give to an observer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EventKind {
    /// The entity has the component, which it did not have.
    Add,
    /// The entity has a new value of the component, which it may have had before.
    Insert,
    /// The value is about to be replaced or removed, and can still be read.
    Replace,
    /// The component is about to be removed, and can still be read.
    Remove,
    /// The entity is about to be despawned, and is still there.
    Despawn,
}

impl EventKind {
    pub(crate) const COUNT: usize = 5;

    /// Whether it is told before it takes place.
    pub(crate) const fn comes_before(self) -> bool {
        matches!(self, Self::Replace | Self::Remove | Self::Despawn)
    }

    pub(crate) const fn flag(self) -> ArchetypeFlags {
        match self {
            Self::Add => ArchetypeFlags::ADD,
            Self::Insert => ArchetypeFlags::INSERT,
            Self::Replace => ArchetypeFlags::REPLACE,
            Self::Remove => ArchetypeFlags::REMOVE,
            Self::Despawn => ArchetypeFlags::DESPAWN,
        }
    }
}

/// One thing that happened, or is about to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// What it is.
    pub kind: EventKind,
    /// To whom.
    pub entity: Entity,
    /// Of which component.
    pub component: ComponentId,
}

/// A type that names an [`EventKind`], for [`World::observe`](crate::World::observe).
pub trait EventType {
    /// The kind that it names.
    const KIND: EventKind;
}

macro_rules! event_types {
    ($($name:ident)*) => {
        $(
            #[doc = concat!("Names [`EventKind::", stringify!($name), "`].\n\n")]
            #[doc = "```\n"]
            #[doc = concat!("use formic_ecs::{EventKind, EventType, ", stringify!($name), "};\n")]
            #[doc = concat!("assert_eq!(", stringify!($name), "::KIND, EventKind::", stringify!($name), ");\n")]
            #[doc = "```"]
            #[derive(Clone, Copy, Debug)]
            pub struct $name;

            impl EventType for $name {
                const KIND: EventKind = EventKind::$name;
            }
        )*
    };
}

event_types!(Add Insert Replace Remove Despawn);
