//! Errors of queries.

use core::fmt;

use super::NoSuchEntity;
use crate::entity::Entity;
use crate::text::from_error;

/// Why a query has nothing to say about an entity.
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::QueryEntityError;
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// let mut world = World::new();
/// let rock = world.spawn(());
/// assert_eq!(world.query_one::<&Gold>(rock), Err(QueryEntityError::NotMatching(rock)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QueryEntityError {
    /// The entity is not in this world.
    NoSuchEntity(NoSuchEntity),
    /// The entity lacks what the query asks for, or has it disabled.
    NotMatching(Entity),
}

impl fmt::Display for QueryEntityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchEntity(error) => error.fmt(f),
            Self::NotMatching(entity) => write!(f, "entity {entity} does not match the query"),
        }
    }
}

impl core::error::Error for QueryEntityError {}

from_error!(NoSuchEntity => QueryEntityError::NoSuchEntity);

/// Why several entities could not be handed out at once.
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::QueryManyError;
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// let mut world = World::new();
/// let imp = world.spawn(Gold(1));
/// let twice = world.query::<&mut Gold>().get_many_mut([imp, imp]).map(drop);
/// assert_eq!(twice, Err(QueryManyError::Repeated(imp)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QueryManyError {
    /// One of the entities is not in this world.
    NoSuchEntity(NoSuchEntity),
    /// One of the entities lacks what the query asks for, or has it disabled.
    NotMatching(Entity),
    /// One of the entities was named twice.
    Repeated(Entity),
}

impl fmt::Display for QueryManyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchEntity(error) => error.fmt(f),
            Self::NotMatching(entity) => write!(f, "entity {entity} does not match the query"),
            Self::Repeated(entity) => write!(f, "entity {entity} was asked for twice at once"),
        }
    }
}

impl core::error::Error for QueryManyError {}

impl From<QueryEntityError> for QueryManyError {
    fn from(error: QueryEntityError) -> Self {
        match error {
            QueryEntityError::NoSuchEntity(error) => Self::NoSuchEntity(error),
            QueryEntityError::NotMatching(entity) => Self::NotMatching(entity),
        }
    }
}

/// Why there is not the one row that was asked for.
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::QuerySingleError;
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// let mut world = World::new();
/// assert_eq!(world.query::<&Gold>().single(), Err(QuerySingleError::NoRow));
/// world.spawn_batch([Gold(1), Gold(2)]);
/// assert_eq!(world.query::<&Gold>().single(), Err(QuerySingleError::SeveralRows));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QuerySingleError {
    /// No row matches.
    NoRow,
    /// More than one row matches.
    SeveralRows,
}

impl fmt::Display for QuerySingleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRow => f.write_str("no row matches the query, which asks for a single one"),
            Self::SeveralRows => {
                f.write_str("several rows match the query, which asks for a single one")
            }
        }
    }
}

impl core::error::Error for QuerySingleError {}
