//! Decision records of planners.

use super::operator::Operator;
use super::planner::NoPlan;
use crate::action::ActionResult;
use crate::explain::{Candidate, Ended, Engine, Label, PlanRecord, Stopped, Verdict, Watch};

/// The writer of decision records for a watched agent that plans.
pub(crate) struct PlanWatch<'a> {
    watch: Watch<'a>,
    /// The verdicts of this tick.
    pub(crate) candidates: Vec<Candidate>,
    /// The reason why it plans.
    cause: Option<Label>,
}

pub(crate) const OTHER_PLANNER: &str = "its planner is not the one that the game was saved with";

fn replanned(dropped: &Operator, why: &str) -> Stopped {
    let why = format!("a new plan, because {why}");
    Stopped::new(dropped.name(), Ended::Interrupted).because(why)
}

impl<'a> PlanWatch<'a> {
    pub(crate) const fn new(watch: Watch<'a>) -> Self {
        Self { watch, candidates: Vec::new(), cause: None }
    }

    /// Records that an action of the plan has ended.
    pub(crate) fn action_ended(&mut self, operator: &Operator, result: ActionResult) {
        if result == ActionResult::Failed {
            self.cause = Some(format!("{} has failed", operator.name()).into());
        }
        self.watch.log.note_end(self.watch.agent, || Stopped::new(operator.name(), result.into()));
    }

    /// Records that the next step of the plan begins.
    pub(crate) fn next_step(&self, goal: &str, operator: &Operator, step: u32) {
        self.watch.note(Engine::Planner, |decision| {
            let text = format!("{goal} with {}, step {}", operator.name(), step + 1);
            decision.candidate(Candidate::new(text, Verdict::Chosen));
        });
    }

    /// Sets the cause of planning.
    pub(crate) fn because(&mut self, cause: impl Into<Label>) {
        self.cause = Some(cause.into());
    }

    /// Records that a plan was found; `dropped` is the operator whose action was halted for it.
    pub(crate) fn plan(mut self, plan: PlanRecord, dropped: Option<&Operator>) {
        let cause = self.cause.take().unwrap_or("it was told to think".into());
        let stopped = dropped.map(|it| replanned(it, &cause));
        self.cause = Some(cause);
        self.note(Some(plan), stopped);
    }

    /// Records that no plan is followed, unless that was recorded before and nothing has happened since.
    pub(crate) fn no_plan(self, dropped: Option<&Operator>) {
        let is_repeated = |last: crate::explain::Decision| {
            last.candidates == self.candidates && last.plan.is_none() && dropped.is_none()
        };
        let Watch { log, agent, .. } = self.watch;
        let is_news = self.cause.is_some() || log.is_pending(agent);
        if !is_news && log.last_of(agent, Engine::Planner).is_some_and(is_repeated) {
            return;
        }
        let why = "every goal holds or is out of reach";
        self.note(None, dropped.map(|it| replanned(it, why)));
    }

    fn note(mut self, plan: Option<PlanRecord>, stopped: Option<Stopped>) {
        self.watch.note(Engine::Planner, |decision| {
            decision.candidates.append(&mut self.candidates);
            decision.plan = plan;
            decision.stopped.extend(stopped);
            decision.cause = self.cause;
        });
    }
}

/// The verdict on a goal for which there is no plan.
pub(crate) const fn verdict_of(why: NoPlan) -> Verdict {
    match why {
        NoPlan::Unreachable | NoPlan::OtherPlanner => Verdict::Unreachable,
        NoPlan::GaveUp => Verdict::GaveUp,
    }
}

/// The record of a plan.
pub(crate) fn plan_record(
    operators: &[Operator],
    (steps, cost): (&[usize], u64),
    searched: usize,
) -> PlanRecord {
    let steps = steps.iter().map(|&operator| operators[operator].name().into()).collect();
    PlanRecord { steps, cost, searched }
}
