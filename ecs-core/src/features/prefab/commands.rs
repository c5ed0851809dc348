//! Copies of entities by command.

use super::InstantiateError;
use crate::bundle::{Bundle, mapped};
use crate::commands::CommandBuffer;
use crate::entity::Entity;
use crate::error::CommandFailureReason;

impl CommandBuffer {
    /// Makes copies of an entity, as [`World::instantiate`](crate::World::instantiate) does.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::Prefab;
    /// # #[derive(Component, Clone)] struct Imp;
    /// let mut world = World::new();
    /// let mut commands = CommandBuffer::new(&world);
    /// let prefab = commands.spawn((Prefab, Imp));
    /// commands.instantiate(prefab, 3);
    /// commands.play(&mut world);
    /// assert_eq!(world.query::<&Imp>().count(), 3);
    /// ```
    pub fn instantiate(&mut self, prefab: Entity, count: usize) {
        self.record_call("instantiate", prefab, move |world, prefab, _| {
            world.instantiate(prefab, count).map(drop).map_err(instantiate_reason)
        });
    }

    /// Makes copies of an entity and gives each the bundle that the closure makes for it, as
    /// [`World::instantiate_with`](crate::World::instantiate_with) does. Deferred entities in the bundles are replaced.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component, Clone)] struct Guest;
    /// # #[derive(Component, Clone)] struct Seat(#[component(entity)] Entity);
    /// let mut world = World::new();
    /// let guest = world.spawn(Guest);
    /// let mut commands = CommandBuffer::new(&world);
    /// let seats = commands.spawn_batch([(), (), ()]);
    /// commands.instantiate_with(guest, 3, move |index| Seat(seats[index]));
    /// commands.play(&mut world);
    /// assert!(world.query::<&Seat>().map(|seat| seat.0).all(|seat| !seat.is_deferred()));
    /// ```
    pub fn instantiate_with<B: Bundle>(
        &mut self,
        prefab: Entity,
        count: usize,
        mut bundle: impl FnMut(usize) -> B + Send + 'static,
    ) {
        self.record_call("instantiate", prefab, move |world, prefab, deferred| {
            let bundle = |index| mapped(bundle(index), &mut |entity| deferred.resolve(entity));
            world.instantiate_with(prefab, count, bundle).map(drop).map_err(instantiate_reason)
        });
    }
}

fn instantiate_reason(error: InstantiateError) -> CommandFailureReason {
    match error {
        InstantiateError::NoSuchEntity(_) => CommandFailureReason::NoSuchEntity,
        InstantiateError::NotClone { component } => {
            let name = component.as_static().unwrap_or("a component without a type");
            CommandFailureReason::NotClone(name)
        }
    }
}
