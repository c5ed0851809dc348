//! The order of the systems around action entities.

use formic_jobs::{IntoSystem, ScheduleBuilder, SystemConfig};

use super::body::{Body, Reported, Switching};
use super::components::{Action, Executing, Finished};
use super::composite::{carry_composites, conclude};
use super::sequence::{advance, rest};
use super::systems::{bury, identify, identify_parts};

/// Places a system in the tick, see [`add`].
#[expect(
    clippy::wrong_self_convention,
    reason = "a system is a value that is given away, as in `after`"
)]
pub trait AgentSystem<Marker>: IntoSystem<Marker> {
    /// Places a system in which agents decide: it runs before the decisions are passed on to the actions.
    fn as_mind(self) -> SystemConfig {
        self.into_config().before_ignoring_commands(rest)
    }

    /// Places a system that processes one kind of action: it runs after the changes were passed on to the
    /// actions, and before sequences take the results. Its commands are played back later.
    fn as_action(self) -> SystemConfig {
        self.into_config().after(identify_parts).before_ignoring_commands(bury)
    }
}

impl<System: IntoSystem<Marker>, Marker> AgentSystem<Marker> for System {}

/// Adds the systems of this module to a schedule, in order. Add minds and actions beside them, marked as
/// such:
///
/// ```
/// use formic_ai::action;
/// use formic_ai::prelude::*;
/// # #[derive(Component)] struct Mood(u32);
/// # #[derive(Component, Clone)] struct Walk;
/// # struct Walking;
/// # impl Processor for Walking {
/// #     type Action = Walk;
/// #     fn start(&self, _: Agent, _: &mut Walk) -> ActionResult { ActionResult::Success }
/// #     fn update(&self, _: Agent, _: &mut Walk) -> ActionResult { ActionResult::Success }
/// # }
/// fn think(mut agents: Query<(&Mood, &mut Body, EnabledMut<Switching>)>) {
///     // ...
/// # let _ = &mut agents;
/// }
/// fn walk(mut actions: Actions<Walk>) {
///     actions.process(&Walking);
/// }
///
/// # use formic_ai::action::Switching;
/// # use formic_ecs::EnabledMut;
/// # let mut world = World::new();
/// let schedule = action::add(Schedule::builder())
///     .add(think.as_mind())
///     .add(walk.as_action())
///     .build(&mut world)?;
/// assert!(schedule.ambiguities().is_empty());
/// # Ok::<(), formic_jobs::ScheduleError>(())
/// ```
///
/// Two minds, or two kinds of actions, run in the order in which they were added. Conflicts between them
/// over the components of this module and of minds are therefore not reported as ambiguities.
#[must_use]
pub fn add(schedule: ScheduleBuilder) -> ScheduleBuilder {
    let passing_on = (rest, identify, carry_composites, conclude, identify_parts);
    let taking_back = (bury, advance);
    schedule
        .add(passing_on.chain_ignoring_commands())
        .add(taking_back.chain_ignoring_commands().after(identify_parts))
        .allow_ambiguities_about::<Action>()
        .allow_ambiguities_about::<Executing>()
        .allow_ambiguities_about::<Finished>()
        .allow_ambiguities_about::<Body>()
        .allow_ambiguities_about::<Switching>()
        .allow_ambiguities_about::<Reported>()
}
