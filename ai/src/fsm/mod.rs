//! Finite state machines, flat and hierarchical: the active state of an agent determines what it does.
//!
//! # Vocabulary
//!
//! * A **[`State`]** may have an action of the agent's body, which runs while the state is active. The
//!   processor of that action is the system of the state: its `start`, `update` and `cleanup` are enter,
//!   update and exit. [`State::on_enter`] and [`State::on_exit`] change the agent's components at once.
//! * A **[`Transition`]** leads from one state to another. It requires an event, a time, the end of the
//!   action, a condition (its *guard*), or several of these.
//! * States may lie **inside** each other. The innermost state and all states that it lies in are active,
//!   and the transitions of all of them apply. Entering a state also enters its initial state inside or,
//!   with a **[`History`]**, the one that was last active.
//! * A transition **from any** state applies in whichever state the agent is. An **interruption** pushes
//!   the state that it leaves onto a stack; a transition **back** pops it.
//! * A **[`Machine`]** consists of all of these, and is shared by all agents that follow it.
//!   [`StateChanged`] tells other systems that an agent's state has changed, and from which to which.
//!
//! # What happens in an update
//!
//! 1. Among the transitions of the active states that can be taken, the one with the highest priority is
//!    taken; among equals, the one that was added first. At most one is taken per update.
//! 2. States are exited from the innermost outwards, up to the innermost state that both the old and the
//!    new state lie inside; then states are entered inwards. A transition from a state to itself exits
//!    and enters it.
//! 3. Pending events are cleared.
//!
//! Actions are begun and halted through the [`Body`](crate::action::Body). Each is therefore entered and
//! exited exactly once, even if the agent, the action or the body is removed.
//!
//! ```
//! use formic_ai::fsm::{FsmAgent, MachineBuilder, Machines, State, Transition};
//! use formic_ai::prelude::*;
//! # #[derive(Component, Clone)] struct Patrol;
//! # #[derive(Component, Clone)] struct Chase;
//! #[derive(Component)]
//! struct Enemy { distance: f32 }
//!
//! let actions = ActionSet::new().action("patrol", Patrol).action("chase", Chase);
//! let go = Transition::<&Enemy>::new;
//! let machine = MachineBuilder::new()
//!     .state(State::new("patrolling").action("patrol"))
//!     .state(State::new("chasing").action("chase"))
//!     .transition(go("patrolling", "chasing").when(|enemy| enemy.distance < 5.0))
//!     .build(&actions)?;
//! let mut world = World::new();
//! let guard = actions.spawn(&mut world, Enemy { distance: 2.0 })?;
//! FsmAgent::drive(&mut world, guard, &machine)?;
//! let think = move |mut machines: Machines<&Enemy>| machines.update(&machine);
//! let schedule = formic_ai::action::add(Schedule::builder());
//! let mut schedule = schedule.add(think.as_mind()).build(&mut world)?;
//! let pool = Pool::new(Threads::None)?;
//! (0..2).for_each(|_| _ = schedule.run(&mut world, &pool));
//! assert_eq!(world.get::<FsmAgent>(guard)?.state(), Some(1), "it chases");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Hierarchical states, a history, events, and an interruption that leads back:
//!
//! ```
//! use formic_ai::fsm::{History, MachineBuilder, State, Transition};
//! use formic_ai::prelude::*;
//! # #[derive(Component, Clone)] struct Deed;
//! const SEEN: u32 = 0;
//! const LOST: u32 = 1;
//! #[derive(Component)]
//! struct Health(f32);
//! let actions = ["walk", "look", "aim", "flee", "greet"];
//! let actions = actions.iter().fold(ActionSet::new(), |set, name| set.action(*name, Deed));
//! let machine = MachineBuilder::new()
//!     .state(State::new("calm").history(History::Shallow))
//!     .state(State::new("walking").inside("calm").action("walk"))
//!     .state(State::new("looking").inside("calm").action("look"))
//!     .state(State::new("fighting").action("aim"))
//!     .state(State::new("fleeing").action("flee"))
//!     .state(State::new("greeting").action("greet"))
//!     .transition(Transition::new("walking", "looking").after(30))
//!     .transition(Transition::new("looking", "walking").when_done())
//!     .transition(Transition::new("calm", "fighting").on(SEEN))
//!     .transition(Transition::new("fighting", "calm").on(LOST))
//!     .transition(Transition::<&Health>::from_any("fleeing").when(|health| health.0 < 0.2).priority(9))
//!     .transition(Transition::interrupt("calm", "greeting").on(2))
//!     .transition(Transition::back("greeting").when_done())
//!     .build(&actions)?;
//! assert_eq!(machine.state_count(), 6);
//! # Ok::<(), formic_ai::action::MindError>(())
//! ```
//!
//! # When to use it, and when not
//!
//! Use a state machine if an agent is plainly in one of a few situations, and the transitions between
//! them can be drawn on a sheet of paper: doors, weapons, the moods of a guard. Hierarchical states keep
//! that sheet readable for a while. If every state can lead to every other, use a behaviour tree; if the
//! situation is a matter of degree, use utility.

mod agent;
mod builder;
mod data;
mod machine;
mod machines;
mod record;
mod situation;
mod state;
mod transition;
mod update;

pub use self::agent::{FsmAgent, StateChanged, StateMemory};
pub use self::builder::MachineBuilder;
pub use self::data::MachineFile;
pub use self::machine::Machine;
pub use self::machines::Machines;
pub use self::state::{History, State};
pub use self::transition::Transition;
pub use crate::library::Library;
