//! Commands that are recorded once and played many times.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use super::deferred::Deferred;
use super::playback::Playback;
use super::{Action, CommandBuffer};
use crate::bundle::Bundle;
use crate::component::Component;
use crate::entity::Entity;
use crate::world::World;

/// Commands that can be played any number of times, such as the making of a wave of enemies: what
/// they give are clones.
///
/// Deferred entities stand for others each time. In all else it is a [`CommandBuffer`], and plays
/// as one does, into which clones have been recorded.
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::RepeatableCommands;
/// # #[derive(Component, Clone)] struct Leader;
/// # #[derive(Component, Clone)] struct Follows(#[component(entity)] Entity);
/// let mut world = World::new();
/// let mut wave = RepeatableCommands::new(&world);
/// let leader = wave.spawn(Leader);
/// for _ in 0..10 {
///     wave.spawn(Follows(leader));
/// }
/// for _ in 0..3 {
///     assert!(wave.play(&mut world).failures().is_empty());
/// }
/// assert_eq!(world.query::<&Leader>().count(), 3);
/// assert_eq!(world.query::<&Follows>().count(), 30);
/// ```
pub struct RepeatableCommands {
    world: u64,
    sort_key: u64,
    recorders: Vec<Recorder>,
    /// Each playback has a copy of it: the handles are the same, what they stand for is not.
    deferred: Deferred,
}

/// One command.
struct Recorder {
    sort_key: u64,
    record: Box<dyn Fn(&mut CommandBuffer) + Send + Sync>,
}

impl fmt::Debug for RepeatableCommands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RepeatableCommands")
            .field("commands", &self.recorders.len())
            .finish_non_exhaustive()
    }
}

impl RepeatableCommands {
    /// No commands yet, for this world.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::RepeatableCommands;
    /// let world = World::new();
    /// assert!(RepeatableCommands::new(&world).is_empty());
    /// ```
    #[must_use]
    pub fn new(world: &World) -> Self {
        let (recorders, deferred) = (Vec::new(), Deferred::default());
        Self { world: world.id(), sort_key: 0, recorders, deferred }
    }

    /// How many commands there are.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::RepeatableCommands;
    /// let mut world = World::new();
    /// let mut wave = RepeatableCommands::new(&world);
    /// wave.spawn(());
    /// wave.play(&mut world);
    /// assert_eq!(wave.len(), 1, "it is there to be played again");
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.recorders.len()
    }

    /// Whether there is no command.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::RepeatableCommands;
    /// let mut wave = RepeatableCommands::new(&World::new());
    /// wave.spawn(());
    /// assert!(!wave.is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.recorders.is_empty()
    }

    /// Sets the sort key of the commands that follow.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::RepeatableCommands;
    /// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
    /// let mut world = World::new();
    /// let purse = world.spawn(());
    /// let mut gifts = RepeatableCommands::new(&world);
    /// gifts.set_sort_key(2);
    /// gifts.insert(purse, Gold(2));
    /// gifts.set_sort_key(1);
    /// gifts.insert(purse, Gold(1));
    /// gifts.play(&mut world);
    /// assert_eq!(world.get(purse), Ok(&Gold(2)), "the greater key comes later");
    /// ```
    pub fn set_sort_key(&mut self, sort_key: u64) {
        self.sort_key = sort_key;
    }

    /// A new entity with clones of these components, each time. The handle stands for the one that
    /// is made in the same playback.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::RepeatableCommands;
    /// # #[derive(Component, Clone)] struct Gold(u32);
    /// let mut world = World::new();
    /// let mut wave = RepeatableCommands::new(&world);
    /// wave.spawn(Gold(1));
    /// (0..3).for_each(|_| _ = wave.play(&mut world));
    /// assert_eq!(world.query::<&Gold>().count(), 3);
    /// ```
    ///
    /// # Panics
    /// Where there are more than 2^32 of them.
    pub fn spawn<B: Bundle + Clone>(&mut self, bundle: B) -> Entity {
        let entity = self.deferred.next();
        self.record(move |commands| {
            commands.record_payload(entity, bundle.clone(), Action::Spawn);
        });
        entity
    }

    /// Gives clones of these components to an entity.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::RepeatableCommands;
    /// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
    /// let mut world = World::new();
    /// let purse = world.spawn(Gold(0));
    /// let mut refill = RepeatableCommands::new(&world);
    /// refill.insert(purse, Gold(5));
    /// refill.play(&mut world);
    /// world.get_mut::<Gold>(purse)?.0 -= 2;
    /// refill.play(&mut world);
    /// assert_eq!(world.get(purse), Ok(&Gold(5)));
    /// # Ok::<(), formic_ecs::ComponentError>(())
    /// ```
    pub fn insert<B: Bundle + Clone>(&mut self, entity: Entity, bundle: B) {
        self.record(move |commands| commands.insert(entity, bundle.clone()));
    }

    /// Takes components from an entity and drops them.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::RepeatableCommands;
    /// # #[derive(Component, Clone)] struct Gold(u32);
    /// let mut world = World::new();
    /// let purse = world.spawn(Gold(1));
    /// let mut robbery = RepeatableCommands::new(&world);
    /// robbery.remove::<Gold>(purse);
    /// assert!(robbery.play(&mut world).failures().is_empty());
    /// assert_eq!(robbery.play(&mut world).failures().len(), 1, "nothing is left");
    /// ```
    pub fn remove<B: Bundle>(&mut self, entity: Entity) {
        self.record(move |commands| commands.remove::<B>(entity));
    }

    /// Switches a component of an entity on or off.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::RepeatableCommands;
    /// # #[derive(Component)] #[component(enableable)] struct Awake;
    /// let mut world = World::new();
    /// let imp = world.spawn(Awake);
    /// let mut lullaby = RepeatableCommands::new(&world);
    /// lullaby.set_enabled::<Awake>(imp, false);
    /// lullaby.play(&mut world);
    /// assert_eq!(world.is_enabled::<Awake>(imp), Ok(false));
    /// ```
    pub fn set_enabled<T: Component>(&mut self, entity: Entity, enabled: bool) {
        self.record(move |commands| commands.set_enabled::<T>(entity, enabled));
    }

    /// Takes an entity out of the world.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::RepeatableCommands;
    /// let mut world = World::new();
    /// let mut spark = RepeatableCommands::new(&world);
    /// let entity = spark.spawn(());
    /// spark.despawn(entity);
    /// spark.play(&mut world);
    /// assert!(world.is_empty());
    /// ```
    pub fn despawn(&mut self, entity: Entity) {
        self.record(move |commands| commands.despawn(entity));
    }

    /// Calls a clone of a closure with the world, see [`CommandBuffer::run`].
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::RepeatableCommands;
    /// let mut world = World::new();
    /// world.insert_resource(0_u32);
    /// let mut count = RepeatableCommands::new(&world);
    /// count.run(|world| *world.resource_mut::<u32>().expect("there") += 1);
    /// (0..3).for_each(|_| _ = count.play(&mut world));
    /// assert_eq!(world.resource(), Ok(&3_u32));
    /// ```
    pub fn run(&mut self, call: impl FnOnce(&mut World) + Clone + Send + Sync + 'static) {
        self.record(move |commands| commands.run(call.clone()));
    }

    fn record(&mut self, record: impl Fn(&mut CommandBuffer) + Send + Sync + 'static) {
        self.recorders.push(Recorder { sort_key: self.sort_key, record: Box::new(record) });
    }

    /// Makes the changes, as [`CommandBuffer::play`] does.
    ///
    /// Should a clone panic, no command has been applied, and those clones that were made are
    /// dropped. The commands can be played again, whatever has happened.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::RepeatableCommands;
    /// let mut world = World::new();
    /// let mut wave = RepeatableCommands::new(&world);
    /// wave.spawn(());
    /// assert_eq!(wave.play(&mut world).applied_count(), 1);
    /// assert_eq!(wave.play(&mut world).applied_count(), 1);
    /// assert_eq!(world.len(), 2);
    /// ```
    ///
    /// # Panics
    /// Where the commands were recorded for another world.
    pub fn play(&self, world: &mut World) -> Playback {
        let mut commands = CommandBuffer::for_world_id(self.world);
        commands.expect_world(world);
        commands.deferred = self.deferred.to_fill_again();
        commands.records.reserve(self.recorders.len());
        for recorder in &self.recorders {
            commands.set_sort_key(recorder.sort_key);
            (recorder.record)(&mut commands);
        }
        commands.play(world)
    }
}
