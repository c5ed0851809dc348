//! The trait of an activity.

use std::borrow::Cow;

use formic_ecs::{Codec, Entity, HashRule};

use super::domain::{ActivityDomain, Ending, Response, Status};
use super::event::Notice;
use super::tick::{Effects, Tick};

/// The failure of an activity.
pub type Failure<A> = <<A as Activity>::Domain as ActivityDomain>::Failure;

/// The events of an activity.
pub type EventOf<A> = <<A as Activity>::Domain as ActivityDomain>::Event;

/// What the activity can read of the world.
pub type WorldOf<'w, A> = <<A as Activity>::Domain as ActivityDomain>::World<'w>;

/// Something that an agent does, which sleeps while there is nothing to do about it.
///
/// An activity decides what comes after what; the work is mostly done by *sub-activities* (go to,
/// pick up, haul), which are activities as well, and which it runs in a [`Current`](super::Current).
///
/// [The page of the module](super) has a whole one.
pub trait Activity: Send + Sync + Sized + 'static {
    /// What it shares with the other activities of the game.
    type Domain: ActivityDomain;

    /// How it is saved in a snapshot. Without this, a world with such an activity has none.
    const CODEC: Codec<Self> = Codec::UNSAVED;

    /// How the state hash sees it: `HashRule::Fields(Self::hash_state)` where it derives
    /// [`HashState`](trait@formic_ecs::HashState), say.
    const HASH: HashRule<Self>;

    /// What the agent is doing, for a person to read: "Hauling wood to the yard".
    fn name(&self) -> Cow<'_, str>;

    /// What it is doing of that at the moment, the name of the sub-activity: "going to (3, 4)".
    fn step(&self) -> Option<Cow<'_, str>> {
        None
    }

    /// One tick of an activity that is awake. It looks at the world, queues updates of it, and says
    /// what it is waiting for.
    fn on_tick(
        &mut self,
        tick: &mut Tick<'_, Self::Domain>,
        world: &WorldOf<'_, Self>,
    ) -> Status<Failure<Self>>;

    /// An event that it has subscribed to, with who it is about, whether the activity sleeps or
    /// not. There is no world here, by intention: note what matters, and do the work in the next
    /// [`on_tick`](Self::on_tick), which comes in the same tick.
    ///
    /// Nor can an activity keep the world of a tick for its events:
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

    /// Called once for every activity that was begun, however it ends; its subscriptions have
    /// ended. Hauling sets the thing down in its place on success, and drops it where it is
    /// otherwise.
    ///
    /// Where the agent was despawned, its other components are gone by then, and commands on it
    /// come too late.
    fn on_finish(
        self,
        ending: &Ending<Failure<Self>>,
        effects: &mut Effects<'_, Self::Domain>,
        world: &WorldOf<'_, Self>,
    ) {
        _ = (ending, effects, world);
    }
}
