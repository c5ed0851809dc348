//! Components and queries by component id.

mod bulk;
mod by_id;
mod descriptor;
mod query;
mod rows;
mod run;

use alloc::string::String;

use crate::entity::Entity;
use crate::error::{AccessConflict, NoSuchEntity, UnknownComponent};
use crate::name::Name;

pub use bulk::DynamicBulk;
pub use by_id::{ById, ByIdMut};
pub use descriptor::{CloneValueFn, ComponentDescriptor, HashValueFn};
pub use query::{DynamicQuery, DynamicQueryBuilder};
pub use rows::{BorrowedDynamicRows, DynamicRowIter, DynamicRows};
pub use run::{DynamicRow, DynamicRun};

/// The reason why a component could not be registered at run time. The world is unchanged.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegisterError {
    /// The world already has a component with this name, with a Rust type or without.
    NameTaken(Name),
    /// The values are larger than [`ComponentDescriptor::SIZE_MAX`](crate::ComponentDescriptor::SIZE_MAX).
    TooLarge {
        /// The component.
        name: Name,
        /// The requested size, in bytes.
        size: usize,
    },
    /// The values require a coarser alignment than
    /// [`ComponentDescriptor::ALIGN_MAX`](crate::ComponentDescriptor::ALIGN_MAX).
    TooAligned {
        /// The component.
        name: Name,
        /// The requested alignment, in bytes.
        align: usize,
    },
    /// The size is not a multiple of the alignment, so consecutive values would not be aligned. Pad the
    /// layout, as C and Rust do with their types.
    Unpadded(Name),
    /// The world has as many components as it can number.
    TooMany,
}

error_text! { RegisterError:
    Self::NameTaken(name) => "the world has a component {name} already";
    Self::TooLarge { name, size } => "the component {name} is too large: {size} bytes";
    Self::TooAligned { name, align } => "the component {name} asks for too coarse an alignment: {align} bytes";
    Self::Unpadded(name) => "the size of the component {name} is no multiple of its alignment";
    Self::TooMany => "the world cannot number any more components";
}

/// The reason why an access to a component by its id failed. The world is unchanged.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ByIdError {
    /// The entity is not in this world.
    NoSuchEntity(NoSuchEntity),
    /// The world has no component with this id.
    Unknown(UnknownComponent),
    /// The entity does not have the component.
    Missing {
        /// The entity.
        entity: Entity,
        /// The component that it lacks.
        component: Name,
    },
    /// The component cannot be enabled or disabled.
    NotEnableable(Name),
    /// Only the world adds, changes and removes the component.
    Managed(Name),
    /// The values of the component are not plain bytes, so they cannot be read or written as such.
    NotBytes(Name),
    /// The number of bytes is wrong.
    WrongLength {
        /// The component.
        component: Name,
        /// The size of the values in bytes.
        expected: usize,
        /// The number of bytes that were given.
        given: usize,
    },
    /// The same component was given twice.
    Twice(Name),
    /// The component has no default value.
    NoDefault(Name),
    /// The text cannot set the field.
    NotSet {
        /// The component.
        component: Name,
        /// What is wrong with the text or the field.
        reason: String,
    },
}

error_text! { ByIdError:
    Self::NoSuchEntity(error) => "{error}";
    Self::Unknown(error) => "{error}";
    Self::Missing { entity, component } => "entity {entity} has no component {component}";
    Self::NotEnableable(name) => "{name} is not enableable";
    Self::Managed(name) => "{name} is the world's to give and to take";
    Self::NotBytes(name) => "the values of {name} are not plain bytes";
    Self::WrongLength { component, expected, given } => "the values of {component} have {expected} bytes in all, not {given}";
    Self::Twice(name) => "{name} is given twice";
    Self::NoDefault(name) => "{name} has no default value";
    Self::NotSet { component, reason } => "{component}: {reason}";
}

from_error!(NoSuchEntity => ByIdError::NoSuchEntity);
from_error!(UnknownComponent => ByIdError::Unknown);

/// The reason why a query by id could not be built or run.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DynamicQueryError {
    /// The world for which the query is built has no component with this id.
    Unknown(UnknownComponent),
    /// The query was built for another world.
    OtherWorld,
    /// A component is asked for twice, at least once for writing.
    Twice(Name),
    /// No row can have the component as the terms require, such as both enabled and absent.
    Contradiction(Name),
    /// The component is required to be disabled, which it cannot be.
    NotEnableable(Name),
    /// The component is asked for writing, but only the world changes it.
    Managed(Name),
    /// More terms are handed out than [`DynamicQuery::TERMS_MAX`](crate::DynamicQuery::TERMS_MAX).
    TooManyTerms,
    /// A component is in use elsewhere at this moment.
    Conflict(AccessConflict),
}

error_text! { DynamicQueryError:
    Self::Unknown(error) => "{error}";
    Self::OtherWorld => "the query was built for another world";
    Self::Twice(name) => "the query asks for {name} twice, once of them to write";
    Self::Contradiction(name) => "no entity can have {name} in all the ways that the query asks for";
    Self::NotEnableable(name) => "the query asks for {name} disabled, but it is not enableable";
    Self::Managed(name) => "{name} is the world's to change";
    Self::TooManyTerms => "the query hands out too many terms";
    Self::Conflict(error) => "{error}";
}

from_error!(UnknownComponent => DynamicQueryError::Unknown);
from_error!(AccessConflict => DynamicQueryError::Conflict);

/// The reason why a term of a query by id has no data for a row.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TermError {
    /// The query hands out fewer terms, or no mask of the component.
    NoSuchTerm,
    /// The term is optional, and the row does not have the component, or has it disabled.
    Absent,
    /// The term is only for reading.
    ReadOnly,
    /// The values of the component are not plain bytes.
    NotBytes,
    /// The values of the component have another type.
    OtherType,
    /// Two terms that are accessed at once have to be different components.
    SameComponent,
}

error_text! { TermError:
    Self::NoSuchTerm => "the query has no such term";
    Self::Absent => "the row does not have this component, or has it disabled";
    Self::ReadOnly => "the query asks for this term to read only";
    Self::NotBytes => "the values of this component are not plain bytes";
    Self::OtherType => "the values of this component are of another type";
    Self::SameComponent => "the two terms are of one component";
}
