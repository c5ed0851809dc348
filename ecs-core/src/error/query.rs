//! Errors of queries.

use super::NoSuchEntity;
use crate::entity::Entity;
use crate::text::{error_text, from_error};

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

error_text! { QueryEntityError:
    Self::NoSuchEntity(error) => "{error}";
    Self::NotMatching(entity) => "entity {entity} does not match the query";
}

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

error_text! { QueryManyError:
    Self::NoSuchEntity(error) => "{error}";
    Self::NotMatching(entity) => "entity {entity} does not match the query";
    Self::Repeated(entity) => "entity {entity} was asked for twice at once";
}

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

error_text! { QuerySingleError:
    Self::NoRow => "no row matches the query, which asks for a single one";
    Self::SeveralRows => "several rows match the query, which asks for a single one";
}
