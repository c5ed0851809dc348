//! Errors of relations.

use crate::entity::Entity;
use crate::error::NoSuchEntity;
use crate::text::{error_text, from_error};

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

error_text! { RelationError:
    Self::NoSuchEntity(error) => "{error}";
    Self::Circle { source, target } => "relating {source} to {target} would close a circle";
}

from_error!(NoSuchEntity => RelationError::NoSuchEntity);
