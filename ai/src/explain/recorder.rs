//! The decision log as a system parameter.

use formic_ecs::{Entity, Res, World};
use formic_jobs::{ParamError, RunContext, SaveRules, SystemAccess, SystemParam};

use super::decision::{Decision, Engine};
use super::log::DecisionLog;

/// The [`DecisionLog`] of the world for a system in which agents decide; without a log it does nothing.
/// It only reads the resource, so that systems that have one can run at the same time.
///
/// A loop over agents calls [`log`](Self::log) once, and records nothing if it is `None`.
///
/// ```
/// use formic_ai::explain::{Candidate, DecisionLog, Engine, Verdict, DecisionRecorder};
/// use formic_ai::prelude::*;
/// #[derive(Component)]
/// struct Mood(i32);
///
/// fn think(mut moods: Query<(Entity, &mut Mood)>, recorder: DecisionRecorder) {
///     let log = recorder.log();
///     moods.par_for_each(|(agent, mood)| {
///         mood.0 += 1;
///         if let Some(log) = log.filter(|log| log.is_watched(agent)) {
///             log.note(agent, recorder.tick(), Engine::Other("mood"), |decision| {
///                 decision.candidate(Candidate::new("be glad", Verdict::Chosen));
///             });
///         }
///     });
/// }
///
/// let mut world = World::new();
/// let agent = world.spawn(Mood(0));
/// let mut log = DecisionLog::new();
/// log.watch(agent, "Poet", 8);
/// world.insert_resource(log);
/// let mut schedule = Schedule::builder().add(think).build(&mut world)?;
/// schedule.run(&mut world, &Pool::new(Threads::None)?);
/// let log = world.resource::<DecisionLog>()?;
/// assert_eq!(log.sentences(agent), ["Tick 0: Poet#0 chose be glad."]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DecisionRecorder<'a> {
    log: Option<Res<'a, DecisionLog>>,
    tick: u64,
}

debug_fields!([] DecisionRecorder<'_>: tick; is_on = |it| it.log().is_some());

impl SystemParam for DecisionRecorder<'_> {
    type State = ();
    type Item<'a> = DecisionRecorder<'a>;

    fn init(world: &mut World, access: &mut SystemAccess) {
        // The reasons of past decisions do not influence the future of a game, so they are not saved.
        SaveRules::of(world).rebuild::<DecisionLog>();
        <Option<Res<'_, DecisionLog>>>::init(world, access);
    }

    fn fetch<'a>(
        state: &'a mut (),
        context: RunContext<'a>,
    ) -> Result<DecisionRecorder<'a>, ParamError> {
        let log = <Option<Res<'_, DecisionLog>>>::fetch(state, context)?;
        Ok(DecisionRecorder { log, tick: context.tick })
    }
}

impl DecisionRecorder<'_> {
    /// The log, if there is one and at least one agent is watched.
    #[must_use]
    pub fn log(&self) -> Option<&DecisionLog> {
        self.log.as_deref().filter(|log| !log.is_empty())
    }

    /// The number of the run, see [`Schedule::tick`](formic_jobs::Schedule::tick).
    #[must_use]
    pub const fn tick(&self) -> u64 {
        self.tick
    }

    /// The log for the decisions of an agent, if it is watched.
    pub(crate) fn watch(&self, agent: Entity) -> Option<Watch<'_>> {
        self.watch_by(agent, agent)
    }

    /// The log for decisions that another entity makes for an agent, such as one of its actions.
    pub(crate) fn watch_by(&self, agent: Entity, by: Entity) -> Option<Watch<'_>> {
        let log = self.log.as_deref().filter(|log| log.is_watched(agent))?;
        Some(Watch { log, tick: self.tick, agent, by })
    }
}

/// The log for the decisions of one watched agent in this tick.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch<'a> {
    pub(crate) log: &'a DecisionLog,
    pub(crate) tick: u64,
    pub(crate) agent: Entity,
    /// The entity that decides.
    pub(crate) by: Entity,
}

impl Watch<'_> {
    pub(crate) fn note(self, engine: Engine, fill: impl FnOnce(&mut Decision)) {
        self.log.note_by(self.agent, self.by, self.tick, engine, fill);
    }
}
