//! Behaviour trees: conditions and actions in an order of preference, looked through every tick.
//!
//! # Vocabulary
//!
//! * A **tree** is a [`Node`] and what is below it, made flat ([`Tree`]): one array in pre-order,
//!   each node with the end of its subtree. It is shared by all agents that follow it.
//! * A tree is **ticked**; every node that is asked gives [`Success`], [`Failed`] or [`Running`].
//! * **Leaves** are actions of the agent's body, conditions and effects over its components, which
//!   a [`Library`] names. **Composites** have children, **decorators** have one.
//! * A composite is **reactive** if it asks its children from the first one each tick, so that
//!   something more important can come in between; with **memory** it goes on where it was.
//! * A node is **halted** if it was running and is not asked any more. Actions that are halted are
//!   interrupted, once; what other nodes remember is forgotten.
//! * A **blackboard** is a component of your own, with types, see [`Library`].
//!
//! An agent needs 16 bytes ([`TreeAgent`]) and 8 for each node that remembers something.
//!
//! # A tree in twenty lines
//!
//! ```
//! use formic_ai::bt::{Library, Tree, TreeAgent, Trees};
//! use formic_ai::prelude::*;
//! # #[derive(Component, Clone)] struct Attack;
//! # #[derive(Component, Clone)] struct Patrol;
//! #[derive(Component)]
//! struct Enemy { distance: f32 }
//!
//! let actions = ActionSet::new().action("attack", Attack).action("patrol", Patrol);
//! let library = Library::<&Enemy>::new(&actions)
//!     .condition("enemy_near", |enemy| enemy.distance < 5.0);
//! let tree = Tree::parse("selector { sequence { enemy_near? attack } patrol }", &library)?;
//! let mut world = World::new();
//! let guard = actions.spawn(&mut world, Enemy { distance: 2.0 })?;
//! TreeAgent::drive(&mut world, guard, &tree, 1)?;
//! let think = move |mut trees: Trees<&Enemy>| trees.tick(&tree);
//! let schedule = formic_ai::action::add(Schedule::builder());
//! let mut schedule = schedule.add(think.as_mind()).build(&mut world)?;
//! schedule.run(&mut world, &Pool::new(Threads::None)?);
//! assert!(world.get::<Body>(guard)?.is_running(0), "it attacks");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Semantics
//!
//! *Fresh* is a node that was not running at the end of the last tick. After each tick, what was
//! running before it and was not asked in it is halted: actions are interrupted if they are
//! underway, and what a node remembers is forgotten (it is fresh when it is asked again), unless
//! the table says otherwise. An action that has ended meanwhile and is not asked is forgotten. Two
//! leaves with the same action are one action: it goes on where control passes from one to the
//! other. S, F and R are success, failure and running.
//!
//! | node | tick | remembers |
//! |---|---|---|
//! | action | begins it if it is neither running nor has ended: R; when it has ended, S or F, once | - |
//! | condition | S if it holds, else F | - |
//! | effect | does it: S | - |
//! | `wait(n)` | R for n ticks, then S | when it began |
//! | `succeed`, `fail` | S, F | - |
//! | `sequence` | children from the first, until one is not S: what that one gave; S if all are S | - |
//! | `selector` | children from the first, until one is not F: what that one gave; F if all are F | - |
//! | `sequence_memory`, `selector_memory` | the same, from the child that was running | that child |
//! | `sequence_async`, `selector_async` | the same; but where a child gives S, or F, in the tick in which it began: R, and the next child in the next tick | that child |
//! | `sequence_persistent` | as `sequence_async`, but from the child that it was at, also when it failed there or was halted | that child, also when it failed or was halted |
//! | `if_else` | the first child; if it is S the second, if it is F the third: what that one gave | - |
//! | `if_else_memory` | the same, from the child that was running | that child |
//! | `parallel(s, f)` | asks all children that have not ended; then S if s have succeeded, F if f have failed or fewer than s can still succeed, else R. Children still running then are halted | who has ended, and how |
//! | `parallel_all(f)` | asks all children that have not ended; R until all have, then F if f have failed, else S | who has ended, and how |
//! | `random`, `weighted` | the child that was running, or one drawn of those not tried; the next draw if it is F; F if all were tried. Weight 0 is never drawn | who was tried; the random numbers stay for ever |
//! | `priority` | children by falling score, asked for each tick, equals in their order, until one is not F | - |
//! | `invert` | S for F, F for S | - |
//! | `force_success`, `force_failure` | S, or F, for both | - |
//! | `repeat(n)` | child; R after S until it was S n times, then S; F is F. Without n for ever | how often |
//! | `repeat_while(c)` | asks c before each time: S if it does not hold; child; R after S; F is F | whether it begins again |
//! | `retry(n)` | child; R after F until it was F n times, then F; S is S | how often |
//! | `until_success` | child; R for F | - |
//! | `until_failure` | child; R for S, and S for F | - |
//! | `timeout(n)` | child, n ticks in a row; in the next one F, without asking it | when it began |
//! | `cooldown(n)` | child; when it has ended, F for n ticks without asking it | when it ended, also when halted |
//! | `guard(c)` | child if c holds, else F without asking it | - |
//! | `once` | child until it has ended; ever after what it ended with | what it ended with, also when halted |
//! | `stay_until(c)` | F if c holds, else child. While it is R, ticks go to it and not to the root: what is outside waits as it is. When it ends, or c holds, the whole tree is ticked in the same tick | - |
//!
//! # When to use it, and when not
//!
//! Use it if conditions decide, in an order that designers know, and where it must be plain why an
//! agent does what it does. Not where options compete by degrees ([utility](crate::utility) is made
//! for that), nor where the ways of getting something done are too many to write down. A tree is
//! looked through each tick even if nothing has changed; large trees want `stay_until`, or to be
//! ticked less often.
//!
//! [`Success`]: crate::action::ActionResult::Success
//! [`Failed`]: crate::action::ActionResult::Failed
//! [`Running`]: crate::action::ActionResult::Running

mod agent;
#[cfg(feature = "btcpp")]
mod btcpp;
mod data;
mod node;
mod parse;
mod record;
mod tick;
mod tree;

pub use self::agent::{NodeMemory, TreeAgent, Trees};
pub use self::node::Node;
pub use self::tree::Tree;
pub use crate::library::Library;
