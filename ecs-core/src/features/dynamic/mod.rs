//! Components and queries that are known by their ids alone.

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

/// Why a component could not be registered at run time. The world is as it was.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegisterError {
    /// The world has a component of this name already, a type or another one.
    NameTaken(Name),
    /// The values are larger than [`ComponentDescriptor::SIZE_MAX`](crate::ComponentDescriptor::SIZE_MAX).
    TooLarge {
        /// The component.
        name: Name,
        /// The size that was asked for, in bytes.
        size: usize,
    },
    /// The values want a coarser alignment than
    /// [`ComponentDescriptor::ALIGN_MAX`](crate::ComponentDescriptor::ALIGN_MAX).
    TooAligned {
        /// The component.
        name: Name,
        /// The alignment that was asked for, in bytes.
        align: usize,
    },
    /// The size is no multiple of the alignment, so that values one after the other would not be
    /// aligned. Pad the layout, as C and Rust do with their types.
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

/// Why something could not be done with a component by its id. The world is as it was.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ByIdError {
    /// The entity is not in this world.
    NoSuchEntity(NoSuchEntity),
    /// The id is not of this world.
    Unknown(UnknownComponent),
    /// The entity does not have the component.
    Missing {
        /// The entity that was asked.
        entity: Entity,
        /// The component that it lacks.
        component: Name,
    },
    /// The component has no bit to read or write.
    NotEnableable(Name),
    /// Only the world gives, changes and takes the component.
    Managed(Name),
    /// The values of the component are not plain bytes, so they cannot be read or written as such.
    NotBytes(Name),
    /// The bytes are not as many as a value has.
    WrongLength {
        /// The component.
        component: Name,
        /// How many bytes a value has.
        expected: usize,
        /// How many there were.
        given: usize,
    },
    /// The same component was given twice.
    Twice(Name),
    /// There is no value of the component that nothing need be said about.
    NoDefault(Name),
    /// A text does not set the field.
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
    Self::WrongLength { component, expected, given } => "a value of {component} has {expected} bytes, not {given}";
    Self::Twice(name) => "{name} is given twice";
    Self::NoDefault(name) => "{name} has no default value";
    Self::NotSet { component, reason } => "{component}: {reason}";
}

from_error!(NoSuchEntity => ByIdError::NoSuchEntity);
from_error!(UnknownComponent => ByIdError::Unknown);

/// Why a query by id could not be made, or be asked.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DynamicQueryError {
    /// An id is not of the world that the query is for.
    Unknown(UnknownComponent),
    /// The query was built for another world.
    OtherWorld,
    /// A component is asked for twice, once of them to write.
    Twice(Name),
    /// No row can have the component as the terms ask: enabled and absent, say.
    Contradiction(Name),
    /// The component is asked to be disabled, which it cannot be.
    NotEnableable(Name),
    /// The component is asked for to write, which only the world does.
    Managed(Name),
    /// More terms are handed out than [`DynamicQuery::TERMS_MAX`](crate::DynamicQuery::TERMS_MAX).
    TooManyTerms,
    /// Another user holds a component at this moment.
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

/// Why a term of a query by id gives nothing for a row.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TermError {
    /// The query hands out fewer terms, or no mask of the component.
    NoSuchTerm,
    /// The term is optional, and the row does not have the component, or has it disabled.
    Absent,
    /// The term was asked for to read only.
    ReadOnly,
    /// The values of the component are not plain bytes.
    NotBytes,
    /// The values of the component are of another type.
    OtherType,
    /// Two terms at once have to be two different components.
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
