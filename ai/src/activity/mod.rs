//! Activities: what agents do over time, asleep until an event wakes them.
//!
//! # Vocabulary
//!
//! * An **[`Activity`]** is what an agent does: fetch that thing, eat, run away. An agent has one at a
//!   time, in its [`ActivitySlot`]. It mostly delegates to **sub-activities** (go to, pick up), which are
//!   activities as well, one at a time in a [`Current`]. Both have names for people to read.
//! * It is **active**, and ticked every tick, or **blocked**: then the agent's enableable component
//!   [`Blocking`] is enabled, and the tick skips it.
//! * An **event** has a kind and is about a **subject**, an entity. Systems post it with an
//!   [`EventWriter`](formic_jobs::EventWriter) of [`Posted`]. A **[`Subscription`]** is to kinds of
//!   events about one subject, and always to its death. A **timer** is a subscription to a tick.
//! * A **[`Token`]** names a subscription, so that the answer to an old request is not mistaken for the
//!   answer to the current one.
//! * An **[`ActivityDomain`]** is the set of types that the activities of a game share: the world they
//!   read, the events that wake them, and how they fail.
//! * An **[`Async`]** activity is written as an `async fn`.
//! * A **[parallel activity](parallel)** runs on an entity of its own, for an agent, beside the agent's
//!   own activity.
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
//! First the minds run: a system with [`every(10).staggered()`](formic_jobs::IntoSystem::every) proposes
//! activities with a priority ([`ActivitySlot::propose`]). Then [`Activities::run`] does the following,
//! in this order:
//!
//! 1. It wakes activities whose [wakers](Tick::waker) were called from other threads. If events are gone
//!    unread, or requests were lost, it [notifies](Notice::Missed) all activities that wait for events.
//! 2. It delivers the events that were posted since the last run, in the order of the systems that posted
//!    them and of their rows, whatever the number of threads. Each goes only to the subscribers of its
//!    subject and kind; an event without a subscriber costs one lookup.
//! 3. It delivers the deaths of subjects, to each agent in the order of its subscriptions.
//! 4. It delivers the timers that are due, the earliest first, then in the order of the subscriptions.
//! 5. It finishes activities whose agents were despawned, as interrupted.
//! 6. It ticks all agents that are awake, in parallel. If another activity is to begin, the current one
//!    is interrupted and finished first, and the new one is ticked.
//! 7. It applies the results of these ticks: subscriptions first, in the order of rows, then it hands on
//!    the events that they posted. Queued changes are applied at the next sync point.
//!
//! An activity that is woken in steps 1 to 4 is ticked in the same run. Subscriptions of different agents
//! to one event are notified in no particular order, which is not observable, since
//! [`on_event`](Activity::on_event) has no access to the world. An agent with several matching
//! subscriptions is notified once for each, in the order of subscribing.
//!
//! # No lost wake-up
//!
//! To get an answer, subscribe first and then request: the subscription takes effect before a queued
//! change can be seen, and events that others have posted meanwhile are delivered after that. A condition
//! that already holds posts no event: check it first, as the example does. An event that comes while the
//! activity is active is delivered as well, before the next tick. If the request carries a token, the
//! answer to an older request, whose subscription has ended, is dropped.
//!
//! No activity waits silently for something that cannot come any more: if it may have missed something,
//! because activities were off for long or something has panicked, it is notified and wakes.
//!
//! Many threads post, subscribe and end subscriptions at the same time, without shared writes: each
//! writes to a list of its own (an [`EventWriter`](formic_jobs::EventWriter)'s, or that of the run), and
//! at the end of the loop one thread puts these in the order of the rows. Systems that post in parallel
//! hand on their lists one after the other, in the order of the schedule. Delivery accesses only data of
//! the one system that delivers.
//!
//! # When things go wrong
//!
//! | | |
//! |---|---|
//! | the subject is already dead on subscribing | its death is reported in the next run |
//! | the subject dies | reported as [`Notice::Died`]; the subscription ends; the activity wakes |
//! | an interruption while blocked | `on_finish` in the same run, without a tick before it |
//! | an event after unsubscribing | is not delivered, even if it was posted before |
//! | blocked without waiting for anything | keeps being ticked, and is [counted](ActivityReport::waiting_for_nothing) |
//! | nothing left to wait for after an event | wakes, whatever its response |
//! | the agent is despawned | `on_finish` in the next run; the entity is gone after it |
//! | the game removes or replaces an [`ActivitySlot`] | the subscriptions end, without `on_finish`; no token is used again |
//! | activities are off for longer than events are kept | activities that wait for events receive [`Notice::Missed`]; the lost events are [counted](ActivityReport::missed) |
//! | an activity panics | the panic goes to the caller of the schedule; no activity is finished twice, and no subscription is lost; posts and requests of that run are lost, which is reported as [`Notice::Missed`] |
//! | another system panics, so that requests are not applied | the same |
//! | an activity panics in `on_event` | it is awake afterwards, and is not notified of the same thing again; others may have missed it: [`Notice::Missed`] |
//! | an activity panics in `on_finish` | it is not finished again; the next activity begins |
//! | a snapshot | contains activities with a [`CODEC`](Activity::CODEC), with their subscriptions and timers; others cause a [`SnapshotError`](formic_ecs::SnapshotError) |
//! | an activity that waits for a [waker](Tick::waker) is restored | it keeps waiting: an earlier waker still wakes it, but only in the world in which the waker was made |
//! | a snapshot while events are pending | does not contain them: end the tick with [`deliver`]; a [`Save`](formic_jobs::Save) contains them |
//!
//! # When to use it, and when not
//!
//! Use it if the things that agents do take long and mostly consist of waiting, and if there are many
//! agents: of a million blocked agents, a tick visits only those that are notified. An activity is also
//! the place for cleanup, which happens however it ends. If all agents compute something every tick
//! (steering, physics), there is nothing to wait for: write a system. If designers should combine
//! actions, the action entities of [`action`](crate::action) take less code per action.
//!
//! The pattern is Dom Williams's (*Activities*, 2021). Added here: tokens against stale answers, the
//! deaths of subjects, ending a subscription in time proportional to the task's own subscriptions,
//! timers, and parallel ticks with the same result for any number of threads.

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
