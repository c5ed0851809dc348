//! `Activity`, the trait of an activity.

use std::borrow::Cow;

use formic_ecs::{Codec, Entity, HashRule};

use super::domain::{ActivityDomain, Ending, Response, Status};
use super::event::Notice;
use super::tick::{Effects, Tick};

/// The failure type of an activity.
pub type Failure<A> = <<A as Activity>::Domain as ActivityDomain>::Failure;

/// The event type of an activity.
pub type EventOf<A> = <<A as Activity>::Domain as ActivityDomain>::Event;

/// The part of the world that an activity can read.
pub type WorldOf<'w, A> = <<A as Activity>::Domain as ActivityDomain>::World<'w>;

/// Something that an agent does over time, and that sleeps while nothing concerns it.
///
/// An activity decides what comes after what. Most of the work is done by *sub-activities* (go to, pick
/// up, haul), which are activities as well, and which it runs in a [`Current`](super::Current).
///
/// The [module documentation](super) has a complete example.
pub trait Activity: Send + Sync + Sized + 'static {
    /// The domain that it shares with the other activities of the game.
    type Domain: ActivityDomain;

    /// The codec of the activity for snapshots. Without one, a world with such an activity has no
    /// snapshots.
    const CODEC: Codec<Self> = Codec::UNSAVED;

    /// The rule by which the state hash covers the activity: `HashRule::Fields(Self::hash_state)` if it
    /// derives [`HashState`](trait@formic_ecs::HashState), for instance.
    const HASH: HashRule<Self>;

    /// The name of the activity, for people to read: "Hauling wood to the yard".
    fn name(&self) -> Cow<'_, str>;

    /// The current step, the name of the sub-activity: "going to (3, 4)".
    fn step(&self) -> Option<Cow<'_, str>> {
        None
    }

    /// Runs one tick of an active activity. It reads the world, queues changes, and returns whether it
    /// continues, sleeps or has finished.
    fn on_tick(
        &mut self,
        tick: &mut Tick<'_, Self::Domain>,
        world: &WorldOf<'_, Self>,
    ) -> Status<Failure<Self>>;

    /// Handles an event that it has subscribed to, whether the activity sleeps or not. There is
    /// intentionally no access to the world: store what matters, and do the work in the next
    /// [`on_tick`](Self::on_tick), which comes in the same tick.
    ///
    /// An activity cannot keep the world of a tick for its events either:
    ///
    /// ```compile_fail,E0521
    /// # use std::borrow::Cow;
    /// # use formic_ai::activity::{Activity, Event, EventKinds, ActivityDomain, Status, Tick};
    /// # struct Nothing;
    /// # impl Event for Nothing { fn kind(&self) -> EventKinds { EventKinds::one(0) } }
    /// # enum Village {}
    /// # impl ActivityDomain for Village {
    /// #     type World<'w> = u32;
    /// #     type Event = Nothing;
    /// #     type Failure = ();
    /// # }
    /// struct Keep(Option<&'static u32>);
    /// impl Activity for Keep {
    ///     type Domain = Village;
    ///     const HASH: formic_ecs::HashRule<Self> = formic_ecs::HashRule::Unhashed;
    ///     fn name(&self) -> Cow<'_, str> { "keeping".into() }
    ///     fn on_tick(&mut self, _: &mut Tick<Village>, world: &u32) -> Status<()> {
    ///         self.0 = Some(world);
    ///         Status::Ongoing
    ///     }
    /// }
    /// ```
    fn on_event(&mut self, notice: Notice<'_, EventOf<Self>>, subject: Entity) -> Response {
        _ = (notice, subject);
        Response::WAKE
    }

    /// Called exactly once for every activity that was begun, however it ends. Its subscriptions have
    /// ended by then. Hauling, for instance, sets the load down in its place on success, and drops it
    /// otherwise.
    ///
    /// If the agent was despawned, its other components are gone by then, and commands on it come too
    /// late.
    fn on_finish(
        self,
        ending: &Ending<Failure<Self>>,
        effects: &mut Effects<'_, Self::Domain>,
        world: &WorldOf<'_, Self>,
    ) {
        _ = (ending, effects, world);
    }
}
