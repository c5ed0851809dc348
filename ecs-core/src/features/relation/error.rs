//! Errors of relations.

use core::fmt;

use crate::entity::Entity;
use crate::error::NoSuchEntity;
use crate::text::from_error;

/// Why two entities could not be related.
///
/// ```
/// use formic_ecs::{RelationError, World};
/// let mut world = World::new();
/// let [ada, bob] = [world.spawn(()), world.spawn(())];
/// world.set_parent(ada, bob)?;
/// let circle = world.set_parent(bob, ada);
/// assert_eq!(circle, Err(RelationError::Circle { source: bob, target: ada }));
/// # Ok::<(), RelationError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RelationError {
    /// One of them is not in this world, or was despawned and is only there to be cleaned up.
    NoSuchEntity(NoSuchEntity),
    /// The target is the source, or is related to it already, directly or by others, and the
    /// relation must not have circles.
    Circle {
        /// Who was to be related.
        source: Entity,
        /// To whom.
        target: Entity,
    },
}

impl fmt::Display for RelationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchEntity(error) => error.fmt(f),
            Self::Circle { source, target } => {
                write!(f, "relating {source} to {target} would close a circle")
            }
        }
    }
}

impl core::error::Error for RelationError {}

from_error!(NoSuchEntity => RelationError::NoSuchEntity);
