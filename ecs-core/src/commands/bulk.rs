//! Recorded changes to all entities that pass a filter.

use core::marker::PhantomData;

use super::CommandBuffer;
use super::deferred::NO_ENTITY;
use crate::bundle::{Bundle, mapped};
use crate::component::Component;
use crate::query::QueryFilter;
use crate::text::debug_fields;

/// A command on all entities that pass a filter when it is played, made by
/// [`CommandBuffer::bulk`].
///
/// ```
/// use formic_ecs::prelude::*;
/// # #[derive(Component, Clone)] struct Position(f32);
/// # #[derive(Component, Clone)] struct Frozen;
/// # #[derive(Component)] #[component(enableable)] struct Awake;
/// let mut world = World::new();
/// world.spawn_batch((0..1000).map(|i| (Position(i as f32), Awake)));
///
/// let mut commands = CommandBuffer::new(&world);
/// commands.spawn((Position(0.0), Awake));
/// commands.bulk::<With<Awake>>().insert(Frozen); // the one above, too
/// commands.bulk::<With<Frozen>>().set_enabled::<Awake>(false);
/// commands.play(&mut world);
/// assert_eq!(world.query_filtered::<(), (With<Frozen>, Without<Awake>)>().count(), 1001);
/// ```
pub struct BulkCommands<'a, F: QueryFilter + 'static> {
    commands: &'a mut CommandBuffer,
    filter: PhantomData<fn() -> F>,
}

debug_fields!([F: QueryFilter + 'static] BulkCommands<'_, F>:);

impl CommandBuffer {
    /// All entities that pass a filter when the command is played, see
    /// [`World::bulk`](crate::World::bulk). One command, however many there will be.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Spark;
    /// let mut world = World::new();
    /// let mut commands = CommandBuffer::new(&world);
    /// commands.bulk::<With<Spark>>().despawn();
    /// world.spawn_batch((0..9).map(|_| Spark)); // after recording, before playing
    /// commands.play(&mut world);
    /// assert!(world.is_empty());
    /// ```
    pub fn bulk<F: QueryFilter + 'static>(&mut self) -> BulkCommands<'_, F> {
        BulkCommands { commands: self, filter: PhantomData }
    }
}

impl<F: QueryFilter + 'static> BulkCommands<'_, F> {
    /// Gives each entity clones of these components, see [`Bulk::insert`](crate::Bulk::insert).
    /// Deferred entities in them are replaced.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Spark;
    /// # #[derive(Component, Clone, Debug, PartialEq)] struct Heat(u32);
    /// let mut world = World::new();
    /// let spark = world.spawn(Spark);
    /// let mut commands = CommandBuffer::new(&world);
    /// commands.bulk::<With<Spark>>().insert(Heat(9));
    /// commands.play(&mut world);
    /// assert_eq!(world.get(spark), Ok(&Heat(9)));
    /// ```
    pub fn insert<B: Bundle + Clone>(self, bundle: B) {
        self.commands.record_call("bulk insert", NO_ENTITY, move |world, _, deferred| {
            let bundle = mapped(bundle, &mut |entity| deferred.resolve(entity));
            world.bulk::<F>().insert(bundle);
            Ok(())
        });
    }

    /// Takes components from each entity that has all of them, see
    /// [`Bulk::remove`](crate::Bulk::remove).
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Spark;
    /// # #[derive(Component)] struct Lit;
    /// let mut world = World::new();
    /// let spark = world.spawn((Spark, Lit));
    /// let mut commands = CommandBuffer::new(&world);
    /// commands.bulk::<With<Spark>>().remove::<Lit>();
    /// commands.play(&mut world);
    /// assert!(!world.has::<Lit>(spark));
    /// ```
    pub fn remove<B: Bundle>(self) {
        self.commands.run(|world| _ = world.bulk::<F>().remove::<B>());
    }

    /// Takes each entity out of the world, see [`Bulk::despawn`](crate::Bulk::despawn).
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Spark;
    /// let mut world = World::new();
    /// world.spawn_batch((0..9).map(|_| Spark));
    /// let mut commands = CommandBuffer::new(&world);
    /// commands.bulk::<With<Spark>>().despawn();
    /// commands.play(&mut world);
    /// assert!(world.is_empty());
    /// ```
    pub fn despawn(self) {
        self.commands.run(|world| _ = world.bulk::<F>().despawn());
    }

    /// Switches a component on or off in each entity that has it, see
    /// [`Bulk::set_enabled`](crate::Bulk::set_enabled).
    ///
    /// Does not compile where the component is not declared enableable.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] #[component(enableable)] struct Awake;
    /// let mut world = World::new();
    /// world.spawn_batch((0..9).map(|_| Awake));
    /// let mut commands = CommandBuffer::new(&world);
    /// commands.bulk::<With<Awake>>().set_enabled::<Awake>(false);
    /// commands.play(&mut world);
    /// assert_eq!(world.query::<&Awake>().count(), 0);
    /// ```
    pub fn set_enabled<T: Component>(self, enabled: bool) {
        self.commands.run(move |world| _ = world.bulk::<F>().set_enabled::<T>(enabled));
    }
}
