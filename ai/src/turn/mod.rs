//! Turn-based games: actions as data, rules that judge them before they happen, and a schedule.
//!
//! In a turn-based game little happens by itself. An actor decides on an action; rules say whether it
//! happens and what follows from it; then it is another actor's turn. Here an action is a value that says
//! which components change, so that it can be inspected, judged, rewritten, foreseen, logged and undone.
//!
//! # Vocabulary
//!
//! * A **kind** ([`TurnActionKind`]) is something that can be done in the game: a value of a small enum
//!   of yours. Minds decide on kinds, rules answer with them, and scripts and logs consist of them.
//! * A **[`TurnAction`]** is the effect of a kind in the current world: components to insert and to
//!   remove. A flag is a component without fields. The action is made when its turn has come, not when it
//!   was decided.
//! * A **[`Situation`]** is the world as it is, or as it would be [after](Situation::after) an action,
//!   with the same getters and without a copy.
//! * **Cells** are a spatial hash: which entities are in each cell, and how many and which of them have a
//!   component. You choose the type that names a cell.
//! * A **[`Rule`]** looks at one component of an action and answers `Accept`, `Reject` or `Rewrite`, and
//!   whether to keep checking. One `Reject` is enough. Rules add **[`Reactions`]**: kinds that are put
//!   before the same rules, at once or after a delay within the turn.
//! * A **[`RealTime`]** hook runs at every point inside a turn, for things that fly and burst by
//!   themselves.
//! * The **[`TurnSchedule`]** is the turn order: by time, then in the order of scheduling. A
//!   **[`Ticket`]** is a place in it.
//! * The **[`Trace`]** of a turn says why everything happened. [`Trace::note`] records it beside the
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
//! Cells know which entities they contain, a rule answers with another action, and both turns can be
//! undone:
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
//! 1. The kind is bound. If it makes no sense, or concerns an entity that is gone, it is refused.
//! 2. The rules that look at the changed components are asked, in order. One rejection is enough, even
//!    against a rule that would rewrite the action later. A rewritten action starts again with the first
//!    rule.
//! 3. If the action is accepted, removals are applied, then insertions, then the cells are updated; if
//!    anything can be seen, it is drawn.
//! 4. Reactions that were added with the final verdict are queued after those that wait already; those
//!    added with the other verdict are dropped. The turn continues with step 1 until nothing is due.
//! 5. With hooks, time advances to the next point or delayed action, whichever is first (actions before
//!    hooks), until nothing waits and nothing moves.
//! 6. The actor gets its next turn, unless it is gone. The turn is logged.
//!
//! If user code panics during a turn, the whole turn is undone before the panic continues.
//!
//! Everything is bounded: actions, rewrites and points in a turn, turns that can be undone, and the size
//! of a trace. Everything is ordered: entities, rules, delays and tickets. Nothing depends on addresses,
//! clocks or chance.
//!
//! Actions do not spawn and despawn entities, since undoing has to bring back the same handles: entities
//! that can be brought wait as [`Vacant`], and those that are taken out stay as [`Gone`], without other
//! components.
//!
//! # When to use it, and when not
//!
//! Use it if rules are about *what is about to happen*, and if a move must be refused, foreseen,
//! explained or undone: roguelikes, tactics, puzzles, board games. Do not use it if everything moves all
//! the time: that is the job of systems and, inside a turn, of [`RealTime`]. The actions of
//! [`crate::action`] are something else: what an agent does over many ticks. A mind of this crate can
//! decide which kind comes next.

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
mod values;

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
