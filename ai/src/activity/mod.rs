//! Activities: what agents do, asleep until the world calls.
//!
//! # Vocabulary
//!
//! * An **[`Activity`]** is what an agent is at: fetch that thing, eat, run away. An agent has one at
//!   a time, in its [`ActivitySlot`]. It mostly delegates to **sub-activities** (go to, pick up), which are
//!   activities as well, one at a time in a [`Current`]. Both have names that a person can read.
//! * It is **active**, and ticked in every tick, or **blocked**: then the agent's enableable
//!   component [`Blocking`] is on, and the tick does not come near it.
//! * An **event** is about a **subject**, an entity, and of a kind. Systems post it with an
//!   [`EventWriter`](formic_jobs::EventWriter) of [`Posted`]. A **[`Subscription`]** is to kinds of
//!   events about one subject; its death is always told. A **timer** is a subscription to a tick.
//! * A **[`Token`]** names a subscription, so that the answer to an old request is not taken for
//!   that to the present one.
//! * A **[`ActivityDomain`]** is what the activities of a game have in common: what they read, what wakes
//!   them, how they fail.
//! * An **[`Async`]** activity is written as an `async fn`.
//! * A **[parallel activity](parallel)** is an entity that is at an activity for an agent beside the
//!   agent's own.
//!
//! ```
//! use formic_ai::activity::{self, Activities, ActivitySlot, Async, AsyncContext, Blocking};
//! use formic_ai::activity::{Event, EventKinds, Posted};
//! use formic_ai::prelude::*;
//!
//! #[derive(Clone)]
//! struct Rung;
//! impl Event for Rung {}
//! type House = ((), Rung, ()); // nothing to read, one kind of event, no reason to fail
//!
//! let mut world = World::new();
//! let bell = world.spawn(());
//! let agent = world.spawn(activity::idle::<Async<House>>());
//! let answer = Async::new("waiting for the bell", move |context: AsyncContext<House>| async move {
//!     context.subscribe(bell, EventKinds::ALL).await;
//!     context.event().await.map(drop).map_err(drop)
//! });
//! activity::order(&mut world, agent, 1, answer)?;
//! let live = |activities: Activities<Async<House>>| _ = activities.run(0, &());
//! let mut schedule = Schedule::builder().add(live).build(&mut world)?;
//! let pool = Pool::new(Threads::None)?;
//! schedule.run(&mut world, &pool);
//! assert!(world.is_enabled::<Blocking>(agent)?, "it sleeps until the bell rings");
//! world.resource_mut::<Events<Posted<Rung>>>()?.send(Posted::about(bell, Rung));
//! schedule.run(&mut world, &pool);
//! assert_eq!(world.get::<ActivitySlot<Async<House>>>(agent)?.ended(), Some(Ended::Success));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! An activity that is a type of its own can be saved and hashed. This one walks:
//!
//! ```
//! use formic_ai::activity::{self, Activities, Activity, ActivitySlot, Ending, Event, EventKinds};
//! use formic_ai::activity::{Posted, Status, Tick};
//! use formic_ai::prelude::*;
//! # use std::borrow::Cow;
//!
//! struct Arrived;
//! impl Event for Arrived {}
//! type Village = (ComponentLookup<'static, &'static Position>, Arrived, ());
//! #[derive(Component)]
//! struct Position(i32);
//! #[derive(Component)]
//! struct Walk { to: i32 }
//!
//! #[derive(formic_ecs::HashState)]
//! struct GoTo(i32);
//! impl Activity for GoTo {
//!     type Domain = Village;
//!     const HASH: formic_ecs::HashRule<Self> = formic_ecs::HashRule::Fields(formic_ecs::HashState::hash_state);
//!     fn name(&self) -> Cow<'_, str> { format!("going to {}", self.0).into() }
//!     fn on_tick(&mut self, tick: &mut Tick<Village>, world: &ComponentLookup<&'static Position>) -> Status<()> {
//!         let agent = tick.agent();
//!         if world.get(agent).is_ok_and(|position| position.0 == self.0) {
//!             return Status::Finished(Ending::Success);
//!         }
//!         tick.subscribe(agent, EventKinds::ALL); // first this, then the request
//!         tick.commands().insert(agent, Walk { to: self.0 });
//!         Status::Blocked
//!     }
//! }
//!
//! fn live(activities: Activities<GoTo>, positions: ComponentLookup<&'static Position>) {
//!     activities.run(0, &positions);
//! }
//! fn walk(mut all: Query<(Entity, &Walk, &mut Position)>, mut posts: EventWriter<Posted<Arrived>>) {
//!     all.par_for_each_with(&mut posts, |(walker, walk, position), posts| {
//!         position.0 += (walk.to - position.0).signum();
//!         if position.0 == walk.to {
//!             posts.send(Posted::about(walker, Arrived));
//!         }
//!     });
//! }
//!
//! let mut world = World::new();
//! let agent = world.spawn((Position(0), activity::idle::<GoTo>()));
//! activity::order(&mut world, agent, 1, GoTo(3))?;
//! let mut schedule = Schedule::builder().add((live, walk)).build(&mut world)?;
//! let pool = Pool::new(Threads::None)?;
//! schedule.run(&mut world, &pool);
//! assert!(world.is_enabled::<activity::Blocking>(agent)?, "it sleeps until it has arrived");
//! (0..5).for_each(|_| _ = schedule.run(&mut world, &pool));
//! assert_eq!(world.get::<ActivitySlot<GoTo>>(agent)?.ended(), Some(Ended::Success));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A tick
//!
//! Minds run when they are due: a system of [`every(10).staggered()`](formic_jobs::IntoSystem::every)
//! proposes activities with a priority ([`ActivitySlot::propose`]). Then [`Activities::run`], in this order:
//!
//! 1. Those who were [called](Tick::waker) from other threads wake. Where events are gone that were not
//!    read, or requests were undone, all who wait for events are
//!    [told so](Notice::Missed).
//! 2. The events that were posted since the last run, in the order of the systems that posted them
//!    and of their rows, whatever the number of threads. Each goes to those who have subscribed to
//!    its subject and kind, and to no other: one without a subscriber costs a look.
//! 3. The deaths of subjects, to each agent in the order of its subscribing.
//! 4. The timers that are due, the earliest first, then by the order of subscribing.
//! 5. Activities whose agents were despawned are finished, as interrupted.
//! 6. All agents that are awake, in parallel: one that is to begin something else has what it is at
//!    finished as interrupted, and begins; then its activity is ticked.
//! 7. What came of these ticks: subscriptions first, in the order of rows, then the events that they
//!    posted are handed on. Queued updates are made at the next sync point.
//!
//! An activity that is woken in 1 to 4 is ticked in the same run. Of one event, subscriptions of
//! different agents are told in no particular order, which cannot be seen, since
//! [`on_event`](Activity::on_event) has no access to the world. An agent with several subscriptions
//! that match is told once for each, in the order of subscribing.
//!
//! # No lost wake-up
//!
//! Subscribe, then request, to get the answer: the subscription is in force before a queued
//! update can be seen, and what others have posted meanwhile is looked at after that. What
//! is true already posts nothing: look first, as the example does. An event that comes while the
//! activity is active is told as well, before the next tick. With a token in the request, the answer
//! to an older one, given up since, is dropped.
//!
//! No activity waits in silence for what cannot come any more: one that may have missed something, because
//! activities were switched off for long or something has panicked, hears of that and wakes.
//!
//! Many threads post, subscribe and end subscriptions at once, but none of them touches what another
//! one does: each writes to a list of its own (an [`EventWriter`](formic_jobs::EventWriter)'s, or that
//! of the run), and these are put in the order of the rows by one thread, at the end of the loop.
//! Systems that post beside each other hand their lists on one after the other, in the order of the
//! schedule. All that telling looks at belongs to the one system that tells.
//!
//! # When things go wrong
//!
//! | | |
//! |---|---|
//! | the subject is dead by the time of subscribing | its death is told in the next run |
//! | the subject dies | told as [`Notice::Died`]; the subscription ends; the activity wakes |
//! | an interruption while blocked | `on_finish` in the same run, without a tick before it |
//! | an event after unsubscribing | is not told, also if it had been posted before |
//! | blocked without waiting for anything | goes on being ticked, and is [counted](ActivityReport::waiting_for_nothing) |
//! | nothing left to wait for after an event | wakes, whatever it answered |
//! | the agent is despawned | `on_finish` in the next run; the entity is gone after it |
//! | the game removes [`ActivitySlot`], or puts another one in its place | the subscriptions end; there is nothing to finish any more; no token is used again |
//! | activities are off for longer than events are kept | activities that wait for events are told [`Notice::Missed`]; how many are gone is [counted](ActivityReport::missed) |
//! | an activity panics | the panic goes to the caller of the schedule; no activity is finished twice, and no subscriptions are lost; what was posted and requested in that run is, which is told as [`Notice::Missed`] |
//! | another system panics, so that requests are not made | the same |
//! | an activity panics in `on_event` | it is awake afterwards, and not told of the same thing again; others may not have been told: [`Notice::Missed`] |
//! | an activity panics in `on_finish` | it is not finished again; what was to come next begins |
//! | a snapshot | has activities with a [`CODEC`](Activity::CODEC), with their subscriptions and timers; others are a [`SnapshotError`](formic_ecs::SnapshotError) |
//! | an activity that waits for a [waker](Tick::waker) is restored | it waits: a holder of the waker of that time can call it, in the world that it was made in alone |
//! | a snapshot while events are on their way | they are not in it: end the tick with [`deliver`]; a [`Save`](formic_jobs::Save) has them |
//!
//! # When to use it, and when not
//!
//! Use it if what agents do takes long and consists of waiting, and there are many of them: of a million
//! blocked agents, the tick visits those that something happened to. An activity is also the place
//! to tidy up, whatever happens. Where all agents have something to compute in each tick (steering,
//! physics) there is nothing to sleep for; write a system. Where a designer is to put actions
//! together, the action entities of [`action`](crate::action) take less code per action.
//!
//! The pattern is Dom Williams's (*Activities*, 2021). Different from there: tokens against stale
//! answers, the deaths of subjects, subscriptions that end in the time of one's own, timers, and
//! parallel ticks with the same result for any number of threads.

mod async_context;
mod asynchronous;
mod behaviour;
mod calls;
mod current;
mod deliver;
mod domain;
mod event;
mod inbox;
mod mailbox;
mod param;
mod record;
mod slot;
mod subscription;
mod table;
mod tick;

pub use self::async_context::{AsyncContext, Guard};
pub use self::asynchronous::Async;
pub use self::behaviour::{Activity, EventOf, Failure, WorldOf};
pub use self::current::Current;
#[doc(hidden)]
pub use self::deliver::DeliveryState;
pub use self::deliver::{ActivityReport, Deliveries, check, deliver};
pub use self::domain::{ActivityDomain, Ending, Response, Status};
pub use self::event::{Event, EventKinds, Notice, Posted, Token};
pub use self::inbox::{NoEvent, Told};
pub use self::param::Activities;
#[doc(hidden)]
pub use self::param::ActivitiesState;
pub use self::slot::{ActivitySlot, Blocking, State, idle, order, parallel, stop};
pub use self::subscription::Subscription;
pub use self::table::Subscriptions;
pub use self::tick::{Effects, Finished, Tick};
