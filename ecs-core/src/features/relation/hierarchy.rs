//! The hierarchy: parents, children, ancestors, descendants.

use alloc::vec::Vec;
use core::iter::FusedIterator;

use super::{ChildOf, RelationError};
use crate::entity::Entity;
use crate::world::World;

impl World {
    /// Makes an entity the child of another, or of none. It comes last of the children.
    ///
    /// What is despawned takes its children with it, at any depth; see [`despawn`](Self::despawn).
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// let mut world = World::new();
    /// let [house, room, chair] = [world.spawn(()), world.spawn(()), world.spawn(())];
    /// world.set_parent(room, house)?;
    /// world.set_parent(chair, room)?;
    /// assert_eq!(world.parent(chair), Some(room));
    /// assert_eq!(world.children(house), [room]);
    /// assert!(world.ancestors(chair).eq([room, house]));
    /// assert!(world.descendants(house).eq([room, chair]));
    /// assert!(world.set_parent(house, chair).is_err(), "that would be a circle");
    /// world.set_parent(chair, None)?;
    /// world.despawn(house)?;
    /// assert_eq!(world.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if one of them is not in the world, or the parent is the child itself or
    /// one of its descendants.
    pub fn set_parent(
        &mut self,
        child: Entity,
        parent: impl Into<Option<Entity>>,
    ) -> Result<(), RelationError> {
        if let Some(parent) = parent.into() {
            self.relate::<ChildOf>(child, parent)?;
        } else if let Some(parent) = self.parent(child) {
            self.unrelate::<ChildOf>(child, parent)?;
        } else {
            self.expect_there(child)?;
        }
        Ok(())
    }

    /// The parent of an entity, if it has one.
    #[must_use]
    pub fn parent(&self, child: Entity) -> Option<Entity> {
        self.targets::<ChildOf>(child).first().copied()
    }

    /// The children of an entity, in the order in which they came to it.
    #[must_use]
    pub fn children(&self, parent: Entity) -> &[Entity] {
        self.sources::<ChildOf>(parent)
    }

    /// The parent of an entity, the parent's parent, and so on.
    pub fn ancestors(&self, entity: Entity) -> impl FusedIterator<Item = Entity> + '_ {
        core::iter::successors(self.parent(entity), |&ancestor| self.parent(ancestor))
    }

    /// The children of an entity, each followed by its own descendants.
    pub fn descendants(&self, entity: Entity) -> impl FusedIterator<Item = Entity> + '_ {
        let mut ahead: Vec<Entity> = self.children(entity).iter().rev().copied().collect();
        core::iter::from_fn(move || {
            let next = ahead.pop()?;
            ahead.extend(self.children(next).iter().rev());
            Some(next)
        })
        .fuse()
    }
}
