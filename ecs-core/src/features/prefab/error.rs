//! The error of instantiating.

use crate::error::NoSuchEntity;
use crate::name::Name;
use crate::text::{error_text, from_error};

/// Why an entity could not be instantiated.
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::InstantiateError;
/// #[derive(Component)]
/// struct Socket(u32); // not Clone
///
/// let mut world = World::new();
/// let client = world.spawn(Socket(80));
/// assert!(matches!(world.instantiate(client, 3), Err(InstantiateError::NotClone { .. })));
/// assert_eq!(world.len(), 1);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstantiateError {
    /// The entity to copy is not in this world.
    NoSuchEntity(NoSuchEntity),
    /// One of its components cannot be cloned.
    NotClone {
        /// The name of the component.
        component: Name,
    },
}

error_text! { InstantiateError:
    Self::NoSuchEntity(error) => "{error}";
    Self::NotClone { component } => "{component} cannot be copied: it is not Clone, or declared unique";
}

from_error!(NoSuchEntity => InstantiateError::NoSuchEntity);
