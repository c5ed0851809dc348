//! The components of agents, as the argument of the systems of their actions.

use std::fmt;

use formic_ecs::{Claim, ClaimError, QueryData};
use formic_jobs::{ExclusiveLookup, SystemParam};

use super::processor::Agent;

/// Exclusive access of the actions of one kind to components of their agents, from all threads: what
/// a [`Processor`](super::Processor) writes to its agent with.
///
/// An action has the components of its agent to itself, as long as no other action of the same kind
/// and agent is carried out in the same tick; those that are interrupted come before the others and
/// are not in their way. Two actions that are carried out at once, as the parts of a
/// [race](super::Composite::race) may be, and write to the same agent are an error every time: see
/// [`ExclusiveLookup`]. Make them two kinds of actions, which come in the order of their systems, or
/// carry them out by a [`SerialProcessor`](super::SerialProcessor), one after the other, with a
/// [`ComponentLookup`](formic_jobs::ComponentLookup).
///
/// ```
/// use formic_ai::prelude::*;
///
/// #[derive(Component)]
/// struct Gold(u32);
/// #[derive(Component, Clone)]
/// struct Dig;
/// struct Digging<'a>(AgentAccess<'a, &'static mut Gold>);
///
/// impl Processor for Digging<'_> {
///     type Action = Dig;
///     fn start(&self, _: Agent, _: &mut Dig) -> ActionResult {
///         ActionResult::Running
///     }
///     fn update(&self, imp: Agent, _: &mut Dig) -> ActionResult {
///         let Ok(mut gold) = self.0.claim(imp) else { return ActionResult::Failed };
///         gold.get_mut().0 += 1;
///         ActionResult::Success
///     }
/// }
/// fn dig(mut actions: Actions<Dig>, purses: AgentAccess<&'static mut Gold>) {
///     actions.process(&Digging(purses));
/// }
///
/// let mut world = World::new();
/// let imp = Sequence::new().then(Dig).spawn(&mut world, Gold(0))?;
/// let mut schedule =
///     formic_ai::action::add(Schedule::builder()).add(dig.as_action()).build(&mut world)?;
/// schedule.run(&mut world, &Pool::new(Threads::None)?);
/// assert_eq!(world.get::<Gold>(imp)?.0, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(SystemParam)]
pub struct AgentAccess<'a, Q: QueryData + 'static>(ExclusiveLookup<'a, Q>);

impl<Q: QueryData + 'static> AgentAccess<'_, Q> {
    /// The components of the agent, until the claim is dropped.
    ///
    /// # Errors
    /// Returns [`ClaimError::NoSuchEntity`] if the agent is gone, [`ClaimError::Missing`] if it lacks
    /// a component, [`ClaimError::Held`] if this action holds a claim on it, and
    /// [`ClaimError::Contested`] if another action of the same kind has claimed it in this tick. Both
    /// of these end the run as well.
    #[inline]
    pub fn claim(&self, agent: Agent<'_>) -> Result<Claim<'_, Q>, ClaimError> {
        self.0.claim(agent.row, agent.entity)
    }
}

impl<Q: QueryData + 'static> fmt::Debug for AgentAccess<'_, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
