//! The components of agents, as the argument of the systems of their actions.

use std::fmt;

use formic_ecs::{Claim, ClaimError, QueryData};
use formic_jobs::{ExclusiveLookup, SystemParam};

use super::components::ActionResult;
use super::processor::Agent;

/// Exclusive access of the actions of one kind to components of their agents, from all threads: what
/// a [`Processor`](super::Processor) writes to its agent with.
///
/// An action has the components of its agent to itself, as long as no other action of the same kind
/// and agent is carried out in the same tick; those that are interrupted come before the others and
/// are not in their way. Two actions that are carried out at once, as the parts of a
/// [race](super::Composite::race) may be, and write to the same agent are an error every time: see
/// [`ExclusiveLookup`]. Make them two kinds of actions, which come in the order of their systems, or
/// carry them out [one after the other](super::Actions::process_serial), with a
/// [`ComponentLookup`](formic_jobs::ComponentLookup).
///
/// ```
/// use formic_ai::prelude::*;
///
/// #[derive(Component)]
/// struct Gold(u32);
/// #[derive(Component, Clone)]
/// struct Dig;
/// fn dig(mut actions: Actions<Dig>, purses: AgentAccess<&mut Gold>) {
///     actions.update(|imp, Dig| {
///         purses.act(imp, |gold| {
///             gold.0 += 1;
///             ActionResult::Success
///         })
///     });
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
    /// Hands the components of the agent to `act`, and gives what that gives. An action of an agent that
    /// is gone, or lacks one of them, fails, as does any other that [`claim`](Self::claim) refuses.
    #[inline]
    pub fn act(
        &self,
        agent: Agent<'_>,
        act: impl FnOnce(Q::Item<'_>) -> ActionResult,
    ) -> ActionResult {
        match self.claim(agent) {
            Ok(mut claim) => act(claim.get_mut()),
            Err(_) => ActionResult::Failed,
        }
    }

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
