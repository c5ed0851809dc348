//! Errors of queries by id.

use crate::error::{AccessConflict, UnknownComponent};
use crate::name::Name;
use crate::text::{error_text, from_error};

/// Why a query by id could not be made, or be asked.
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::{DynamicQuery, DynamicQueryError};
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// let mut world = World::new();
/// let gold = world.register::<Gold>();
/// let twice = DynamicQuery::builder().read(gold).write(gold).build(&world);
/// assert!(matches!(twice, Err(DynamicQueryError::Twice(_))));
/// let mut query = DynamicQuery::builder().read(gold).build(&world)?;
/// let foreign = World::new().query_by_id(&mut query).map(drop);
/// assert_eq!(foreign, Err(DynamicQueryError::OtherWorld));
/// # Ok::<(), DynamicQueryError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
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
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::{DynamicQuery, TermError};
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// let mut world = World::new();
/// world.spawn(Gold(1));
/// let gold = world.register::<Gold>();
/// let mut query = DynamicQuery::builder().read(gold).build(&world)?;
/// for mut row in world.query_by_id(&mut query)? {
///     assert_eq!(row.get_mut::<Gold>(0), Err(TermError::ReadOnly));
///     assert_eq!(row.get::<Gold>(1), Err(TermError::NoSuchTerm));
/// }
/// # Ok::<(), formic_ecs::DynamicQueryError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
