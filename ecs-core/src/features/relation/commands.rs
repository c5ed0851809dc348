//! Relations by command.

use super::{Relation, RelationError};
use crate::commands::CommandBuffer;
use crate::entity::Entity;
use crate::error::CommandFailureReason;

impl CommandBuffer {
    /// Relates an entity to another, as [`World::relate`](crate::World::relate) does.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// struct Likes;
    /// impl formic_ecs::Relation for Likes {}
    ///
    /// let mut world = World::new();
    /// let ada = world.spawn(());
    /// let mut commands = CommandBuffer::new(&world);
    /// let bob = commands.spawn(());
    /// commands.relate::<Likes>(ada, bob);
    /// commands.play(&mut world);
    /// assert_eq!(world.targets::<Likes>(ada).len(), 1);
    /// ```
    pub fn relate<R: Relation>(&mut self, source: Entity, target: Entity) {
        self.record_call("relate", source, move |world, source, deferred| {
            let target = deferred.resolve(target);
            let related = world.relate::<R>(source, target);
            related.map(drop).map_err(|error| relation_reason(error, source))
        });
    }

    /// Ends the relation of an entity to another, as [`World::unrelate`](crate::World::unrelate) does; nothing happens where
    /// there is none.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// struct Likes;
    /// impl formic_ecs::Relation for Likes {}
    ///
    /// let mut world = World::new();
    /// let [ada, bob] = [world.spawn(()), world.spawn(())];
    /// world.relate::<Likes>(ada, bob)?;
    /// let mut commands = CommandBuffer::new(&world);
    /// commands.unrelate::<Likes>(ada, bob);
    /// commands.play(&mut world);
    /// assert!(world.targets::<Likes>(ada).is_empty());
    /// # Ok::<(), formic_ecs::RelationError>(())
    /// ```
    pub fn unrelate<R: Relation>(&mut self, source: Entity, target: Entity) {
        self.record_call("unrelate", source, move |world, source, deferred| {
            let ended = world.unrelate::<R>(source, deferred.resolve(target));
            ended.map(drop).map_err(|error| relation_reason(error.into(), source))
        });
    }

    /// Makes an entity the child of another, or of none, as [`World::set_parent`](crate::World::set_parent) does.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// let mut world = World::new();
    /// let house = world.spawn(());
    /// let mut commands = CommandBuffer::new(&world);
    /// let room = commands.spawn(());
    /// commands.set_parent(room, house);
    /// commands.set_parent(house, room); // a circle
    /// let playback = commands.play(&mut world);
    /// assert_eq!(playback.failures().len(), 1);
    /// assert_eq!(world.children(house).len(), 1);
    /// ```
    pub fn set_parent(&mut self, child: Entity, parent: impl Into<Option<Entity>>) {
        let parent = parent.into();
        self.record_call("set_parent", child, move |world, child, deferred| {
            let parent = parent.map(|parent| deferred.resolve(parent));
            world.set_parent(child, parent).map_err(|error| relation_reason(error, child))
        });
    }
}

fn relation_reason(error: RelationError, source: Entity) -> CommandFailureReason {
    match error {
        RelationError::NoSuchEntity(missing) if missing.0 == source => {
            CommandFailureReason::NoSuchEntity
        }
        RelationError::NoSuchEntity(missing) if missing.0.is_deferred() => {
            CommandFailureReason::ForeignDeferred
        }
        RelationError::NoSuchEntity(missing) => CommandFailureReason::NoSuchTarget(missing.0),
        RelationError::Circle { target, .. } => CommandFailureReason::Circle(target),
    }
}
