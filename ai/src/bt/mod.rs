//! Behaviour trees: conditions and actions in an order of preference, ticked every update.
//!
//! # Vocabulary
//!
//! * A **tree** is a [`Node`] and everything below it, flattened into a [`Tree`]: one array in pre-order,
//!   in which each node knows the end of its subtree. It is shared by all agents that follow it.
//! * A tree is **ticked**. Every node that is ticked returns [`Success`], [`Failed`] or [`Running`].
//! * **Leaves** are actions of the agent's body, and conditions and effects over its components, which a
//!   [`Library`] names. **Composites** have children, **decorators** have one child.
//! * A composite is **reactive** if it ticks its children from the first one each tick, so that something
//!   more important can interrupt. With **memory** it continues with the child that was running.
//! * A node is **halted** if it was running and is not reached any more. Halted actions are interrupted
//!   once; the memories of other nodes are reset.
//! * A **blackboard** is a component of your own, with typed fields, see [`Library`].
//!
//! An agent needs 16 bytes ([`TreeAgent`]), and 8 for each node that remembers something, or 16 if the
//! node draws at random.
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
//! A node is *fresh* if it was not running at the end of the last tick. After each tick, nodes that were
//! running before it and were not reached in it are halted: actions that are underway are interrupted,
//! and the memory of a node is reset, so that the node is fresh when it is reached again, unless the
//! table says otherwise. The result of an action that has ended is discarded if the tick does not reach
//! the action. Two leaves with the same action are one action, which continues when control passes from
//! one leaf to the other. S, F and R stand for success, failure and running.
//!
//! | node | tick | remembers |
//! |---|---|---|
//! | action | begins it if it is neither running nor has ended: R; when it has ended, S or F, once | - |
//! | condition | S if it holds, else F | - |
//! | effect | applies it: S | - |
//! | `wait(n)` | R for n ticks, then S | when it began |
//! | `succeed`, `fail` | S, F | - |
//! | `sequence` | children from the first, until one is not S: its result; S if all are S | - |
//! | `selector` | children from the first, until one is not F: its result; F if all are F | - |
//! | `sequence_memory`, `selector_memory` | the same, from the child that was running | that child |
//! | `sequence_async`, `selector_async` | the same; but if a child returns S, or F, in the tick in which it began: R, and the next child in the next tick | that child |
//! | `sequence_persistent` | as `sequence_async`, but from the child where it was, also after a failure there or a halt | that child, also after a failure or a halt |
//! | `if_else` | the first child; if it is S the second, if it is F the third: its result | - |
//! | `if_else_memory` | the same, from the child that was running | that child |
//! | `parallel(s, f)` | ticks all children that have not ended; then S if s have succeeded, F if f have failed or fewer than s can still succeed, else R. Children still running then are halted | which have ended, and how |
//! | `parallel_all(f)` | ticks all children that have not ended; R until all have, then F if f have failed, else S | which have ended, and how |
//! | `random`, `weighted` | the child that was running, or one drawn from those not tried; another draw if it is F; F if all were tried. Weight 0 is never drawn | which were tried; the random state is never reset |
//! | `priority` | children by descending score, computed each tick, equals in their order, until one is not F | - |
//! | `invert` | S for F, F for S | - |
//! | `force_success`, `force_failure` | S, or F, for both | - |
//! | `repeat(n)` | child; R after S until it was S n times, then S; F is F. Without n there is no limit | how often |
//! | `repeat_while(c)` | checks c before each repetition: S if it does not hold; child; R after S; F is F | whether it begins again |
//! | `retry(n)` | child; R after F until it was F n times, then F; S is S | how often |
//! | `until_success` | child; R for F | - |
//! | `until_failure` | child; R for S, and S for F | - |
//! | `timeout(n)` | child, n ticks in a row; in the next one F, without ticking it | when it began |
//! | `cooldown(n)` | child; when it has ended, F for n ticks without ticking it | when it ended, also after a halt |
//! | `guard(c)` | child if c holds, else F without ticking it | - |
//! | `once` | child until it has ended; from then on its result | its result, also after a halt |
//! | `stay_until(c)` | F if c holds, else child. While it is R, ticks start at it instead of the root: nodes outside keep their state. When it ends, or c holds, the whole tree is ticked in the same tick | - |
//!
//! # When to use it, and when not
//!
//! Use a behaviour tree if conditions decide, in an order that designers know, and if it must be plain
//! why an agent does what it does. Do not use it if options compete by degrees ([utility](crate::utility)
//! is made for that), or if there are too many ways to a goal to write them all down. A tree is ticked
//! even if nothing has changed: large trees should use `stay_until`, or be ticked less often.
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
