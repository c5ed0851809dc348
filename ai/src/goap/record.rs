//! Decision records of planners.

use formic_ecs::Entity;

use super::planner::{NoPlan, Plan, Planner};
use crate::explain::{Candidate, DecisionLog, Ending, Engine, Label, PlanRecord, Verdict};

/// Where the thoughts of an agent that is watched are written down.
pub(super) struct Watch<'a> {
    log: &'a DecisionLog,
    tick: u64,
    agent: Entity,
    /// The goals that were thought about in this tick.
    goals: Vec<Candidate>,
    /// Why it thinks.
    cause: Option<Label>,
}

impl<'a> Watch<'a> {
    pub(super) const fn new(log: &'a DecisionLog, tick: u64, agent: Entity) -> Self {
        Self { log, tick, agent, goals: Vec::new(), cause: None }
    }

    /// An action of the plan has ended.
    pub(super) fn action_ended(&mut self, planner: &Planner, operator: usize, is_done: bool) {
        let name = planner.operators[operator].name();
        let why = if is_done {
            Ending::Success
        } else {
            self.cause = Some(format!("{name} has failed").into());
            Ending::Failed { error: None }
        };
        self.log.note_end(self.agent, || name.to_owned().into(), why);
    }

    /// The next step of the plan begins.
    pub(super) fn next_step(&self, planner: &Planner, goal: usize, operator: usize, step: usize) {
        self.log.note(self.agent, self.tick, Engine::Planner, |decision| {
            let (goal, name) = (planner.goals[goal].name(), planner.operators[operator].name());
            let text = format!("{goal} with {name}, step {}", step + 1);
            decision.candidate(Candidate::new(text, Verdict::Chosen));
        });
    }

    /// The next step of the plan cannot be taken.
    pub(super) fn step_is_impossible(&mut self, planner: &Planner, operator: usize) {
        let name = planner.operators[operator].name();
        self.cause = Some(format!("{name} cannot be begun as things are").into());
    }

    /// The goal of a plan holds already, or its first step cannot be taken.
    pub(super) fn plan_is_outdated(&mut self, planner: &Planner, goal: usize) {
        let goal = planner.goals[goal].name();
        self.cause = Some(format!("things changed while {goal} was planned for").into());
    }

    /// There is no step left.
    pub(super) fn plan_is_done(&mut self) {
        self.cause = Some(Label::plain("the plan is carried out"));
    }

    /// What became of a goal.
    pub(super) fn goal(&mut self, planner: &Planner, goal: usize, verdict: Verdict) {
        let goal = &planner.goals[goal];
        self.goals.push(Candidate::new(goal.name().to_owned(), verdict).rank(goal.priority));
    }

    /// A goal has no plan.
    pub(super) fn no_plan(&mut self, planner: &Planner, goal: usize, why: NoPlan) {
        let verdict = match why {
            NoPlan::Unreachable => Verdict::Unreachable,
            NoPlan::GaveUp => Verdict::GaveUp,
        };
        self.goal(planner, goal, verdict);
    }

    /// A plan is carried out from now on; what was running, if it was, is dropped for it.
    pub(super) fn plan(
        mut self,
        planner: &Planner,
        goal: usize,
        (plan, searched): (&Plan, usize),
        dropped: Option<usize>,
    ) {
        self.goal(planner, goal, Verdict::Chosen);
        let cause = self.cause.take().unwrap_or(Label::plain("it was told to think"));
        self.log.note(self.agent, self.tick, Engine::Planner, |decision| {
            let name = |operator: usize| Label::from(planner.operators[operator].name().to_owned());
            decision.candidates.append(&mut self.goals);
            decision.plan = Some(PlanRecord {
                steps: plan.operators.iter().map(|&operator| name(operator)).collect(),
                cost: plan.cost,
                searched,
            });
            if let Some(operator) = dropped {
                decision.stop(name(operator), Ending::Replanned { why: cause.clone() });
            }
            decision.cause = Some(cause);
        });
    }

    /// There is nothing to do, or the search goes on in the next tick.
    pub(super) fn no_decision(mut self, planner: &Planner, dropped: Option<usize>) {
        let is_repeated = |last: crate::explain::Decision| {
            last.candidates == self.goals && last.plan.is_none() && dropped.is_none()
        };
        let is_pending = self.log.is_pending(self.agent);
        if !is_pending && self.log.last(self.agent).is_some_and(is_repeated) {
            return;
        }
        self.log.note(self.agent, self.tick, Engine::Planner, |decision| {
            decision.candidates.append(&mut self.goals);
            if let Some(operator) = dropped {
                let name = planner.operators[operator].name().to_owned();
                let why = Label::plain("there is nothing left to do, or to be done about it");
                decision.stop(name, Ending::Replanned { why });
            }
            decision.cause = self.cause.take();
        });
    }
}
