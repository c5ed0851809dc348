//! Turns: actions as data, rules that judge them before they happen, and a schedule.
//!
//! In a turn-based game little happens by itself. An actor decides on an action; rules say whether
//! it happens and what follows from it; then it is another actor's turn. Here an action is a value
//! that says which components change, so that it can be looked at, judged, rewritten, foreseen,
//! logged and undone.
//!
//! # Vocabulary
//!
//! * A **kind** ([`TurnActionKind`]) is what can be done in the game: a small enum of yours. It is
//!   what minds decide, what rules answer with, what scripts and logs consist of.
//! * A **[`TurnAction`]** is what a kind comes to in the world as it is: components to insert and to
//!   remove. A flag is a component without fields. It is made when the turn of the action has come,
//!   not when it was decided.
//! * A **[`Situation`]** is the world as it is, or as it would be [after](Situation::after) an action,
//!   with the same getters and without a copy.
//! * **Cells** are a spatial hash: who is where, how many of them have a component, which ones. What
//!   names a cell is up to you.
//! * A **[`Rule`]** looks at one component of an action and says `Accept`, `Reject` or `Rewrite`, and
//!   whether to keep checking. One `Reject` is enough. What follows are **[`Reactions`]**: kinds that
//!   come before the same rules, at once or after a delay within the turn.
//! * A **[`RealTime`]** hook runs at every point inside a turn: what flies and bursts by itself.
//! * The **[`TurnSchedule`]** says whose turn it is, by time and then by who was first. A **[`Ticket`]**
//!   is a place in it.
//! * The **[`Trace`]** of a turn says why everything happened; [`Trace::note`] puts it beside the
//!   decisions of other minds.
//!
//! # A purse that holds two coins
//!
//! ```
//! use formic_ai::turn::{Change, Draft, Refusal, Rule, Ruling, TurnActionKind, Turns, unseen};
//! use formic_ecs::prelude::*;
//!
//! #[derive(Component, Clone, Debug, PartialEq)]
//! struct Gold(u32);
//! #[derive(Clone, Debug)]
//! struct Earn(Entity);
//! impl TurnActionKind for Earn {
//!     type Cell = ();
//!     fn bind(&self, draft: &mut Draft<()>) -> Result<(), Refusal> {
//!         draft.insert(self.0, Gold(draft.get::<Gold>(self.0)?.0 + 1));
//!         Ok(())
//!     }
//! }
//!
//! let mut world = World::new();
//! let hero = world.spawn(Gold(1));
//! let builder = Turns::builder().component::<Gold>();
//! let builder = builder.rule(Rule::on("a full purse", |_, gold: Change<Gold>, _| {
//!     if gold.value.0 > 2 { Ruling::reject() } else { Ruling::pass() }
//! }));
//! let mut turns = builder.build(&mut world)?;
//! turns.schedule(hero, 0);
//! for _ in 0..3 { turns.take_turn(&mut world, hero, Earn(hero), unseen)?; }
//! assert_eq!(world.get::<Gold>(hero)?, &Gold(2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A bump opens a door
//!
//! Cells say who is where, a rule answers with another action, and both turns can be undone:
//!
//! ```
//! use formic_ai::turn::{CellPosition, Change, Draft, Refusal, Rule, Ruling, TurnActionKind, Turns, unseen};
//! use formic_ecs::prelude::*;
//!
//! #[derive(Component, Clone, Debug, PartialEq)]
//! struct Position(i32);
//! impl CellPosition for Position {
//!     type Cell = i32;
//!     fn cell(&self) -> i32 { self.0 }
//! }
//! #[derive(Component, Clone)]
//! struct ClosedDoor;
//!
//! #[derive(Clone, Debug)]
//! enum Deed { Walk(Entity, i32), Open(Entity) }
//! impl TurnActionKind for Deed {
//!     type Cell = i32;
//!     fn bind(&self, draft: &mut Draft<i32>) -> Result<(), Refusal> {
//!         match *self {
//!             Deed::Walk(who, by) => draft.insert(who, Position(draft.get::<Position>(who)?.0 + by)),
//!             Deed::Open(door) => draft.remove::<ClosedDoor>(door),
//!         }
//!         Ok(())
//!     }
//! }
//!
//! let mut world = World::new();
//! let hero = world.spawn(Position(0));
//! let door = world.spawn((Position(1), ClosedDoor));
//! let bump = Rule::on("bump opens doors", |case, moved: Change<Position>, reactions| {
//!     let Some(door) = case.after.cell(moved.value.0).first::<ClosedDoor>() else { return Ruling::pass() };
//!     reactions.push(Deed::Open(door));
//!     Ruling::reject()
//! });
//! let builder = Turns::builder().position::<Position>().set::<ClosedDoor>().rule(bump);
//! let mut turns = builder.build(&mut world)?;
//! turns.schedule(hero, 0);
//!
//! turns.take_turn(&mut world, hero, Deed::Walk(hero, 1), unseen)?;
//! assert_eq!(world.get::<Position>(hero)?, &Position(0));
//! assert!(!world.has::<ClosedDoor>(door));
//! turns.take_turn(&mut world, hero, Deed::Walk(hero, 1), unseen)?;
//! assert_eq!(world.get::<Position>(hero)?, &Position(1));
//! assert!(turns.undo(&mut world).is_some());
//! assert!(turns.undo(&mut world).is_some());
//! assert!(world.has::<ClosedDoor>(door));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What happens in a turn
//!
//! 1. The kind is bound. Where it makes no sense, or is about an entity that is gone, it is refused.
//! 2. The rules that look at what changes are asked, in their order. One rejection is enough, also
//!    against a rule that would rewrite the action later on. A rewritten action starts again with the
//!    first rule.
//! 3. If it is accepted, removals are made, then insertions, then the cells are brought up to date,
//!    and if anything can be seen it is drawn.
//! 4. What was added with the final verdict waits behind what waits already; what was added with the
//!    other one is dropped. Go on with 1 until nothing is due.
//! 5. With hooks: time goes on to the next point or delayed action, whichever is first (actions
//!    before hooks), until nothing waits and nothing moves.
//! 6. The actor gets its next turn, unless it is gone; the turn is logged.
//!
//! If user code panics in the middle of it, the whole turn is taken back before the panic goes on.
//!
//! All of it is bounded: actions, rewrites and points in a turn, turns that can be undone, and what a
//! trace keeps. Order decides everywhere: of entities, rules, delays and tickets; nothing depends on
//! addresses, clocks or chance.
//!
//! Entities are not spawned and despawned by actions, since handles that come back by undoing have to
//! be the same: those that can be brought wait as [`Vacant`], and who is taken out stays as [`Gone`],
//! without other components.
//!
//! # When to use it, and when not
//!
//! Use it if rules speak about *what is about to happen*, and where it matters that a move can be refused,
//! foreseen, explained or taken back: roguelikes, tactics, puzzles, board games. Not where everything
//! moves all the time: that is what systems are for, and inside a turn [`RealTime`]. The actions of
//! [`crate::action`] are another thing: what an agent does over many ticks. A mind of this crate can
//! well decide which kind comes next.

mod action;
mod cell_changes;
mod cells;
mod draft;
mod error;
mod explain;
mod history;
mod journal;
mod judge;
mod log;
mod real_time;
mod resolve;
mod rollback;
mod rule;
mod rule_book;
mod save;
mod schedule;
mod situation;
mod trace;
mod turns;

pub use self::action::{Gone, TurnAction, Vacant};
pub use self::cells::{CellName, CellPosition, Cells};
pub use self::draft::{Draft, TurnActionKind};
pub use self::error::{Refusal, ReplayError, RuleError, TurnsSaveError};
pub use self::judge::Decision;
pub use self::log::{LoggedTurn, TurnLog};
pub use self::real_time::{Motion, Point, RealTime};
pub use self::resolve::{Frame, Next, NotTheirTurn, Stopped, TurnEnd, unseen};
pub use self::rule::{Answer, Case, Change, Checking, Reactions, Rule, Ruling};
pub use self::schedule::{Ticket, TurnSchedule};
pub use self::situation::{CellEntities, CellView, Situation};
pub use self::trace::{Cause, Fate, Trace, TracedAction, TracedPoint, TracedRuling};
pub use self::turns::{TurnLimits, Turns, TurnsBuilder};
