//! The log entries of planning by methods.

use formic_ecs::Entity;

use super::domain::{Domain, Preference};
use super::search::Plan;
use crate::explain::{Candidate, DecisionLog, Ending, Engine, Label, PlanRecord, Verdict};
use crate::goap::NoPlan;

/// Where the plans of an agent that is watched are written down.
pub(super) struct Watch<'a> {
    log: &'a DecisionLog,
    tick: u64,
    agent: Entity,
    domain: &'a Domain,
    /// Why it thinks.
    cause: Option<Label>,
}

impl<'a> Watch<'a> {
    pub(super) const fn new(
        log: &'a DecisionLog,
        tick: u64,
        agent: Entity,
        domain: &'a Domain,
    ) -> Self {
        Self { log, tick, agent, domain, cause: None }
    }

    fn operator(&self, operator: usize) -> Label {
        self.domain.operators[operator].name().to_owned().into()
    }

    /// An action of the plan has ended.
    pub(super) fn action_ended(&mut self, operator: usize, is_done: bool) {
        let name = self.operator(operator);
        let why = match is_done {
            true => Ending::Success,
            false => {
                self.cause = Some(format!("{name} has failed").into());
                Ending::Failed { error: None }
            }
        };
        self.log.note_end(self.agent, || name, why);
    }

    /// The next step of the plan begins.
    pub(super) fn next_step(&self, operator: usize, step: usize) {
        self.log.note(self.agent, self.tick, Engine::Planner, |decision| {
            let root = self.domain.task_name(self.domain.root);
            let text = format!("{root} with {}, step {}", self.operator(operator), step + 1);
            decision.candidate(Candidate::new(text, Verdict::Chosen));
        });
    }

    /// There is no step left, or the next one cannot be taken.
    pub(super) fn plan_ended(&mut self, next: Option<usize>) {
        self.cause = Some(match next {
            None => Label::plain("the plan is carried out"),
            Some(next) => format!("{} cannot be begun as things are", self.operator(next)).into(),
        });
    }

    /// The first step cannot be taken any more.
    pub(super) fn plan_is_outdated(&mut self) {
        self.cause = Some(Label::plain("things changed while it planned"));
    }

    /// The search goes on in the next tick.
    pub(super) fn goes_on(self) {
        let name = self.domain.task_name(self.domain.root).to_owned();
        let is_repeated = |last: crate::explain::Decision| {
            last.candidates.iter().any(|it| it.verdict == Verdict::Unfinished)
        };
        let is_pending = self.log.is_pending(self.agent);
        let is_new = is_pending || self.cause.is_some();
        if is_new || !self.log.last(self.agent).is_some_and(is_repeated) {
            self.log.note(self.agent, self.tick, Engine::Planner, |decision| {
                decision.candidate(Candidate::new(name, Verdict::Unfinished));
                decision.cause = self.cause;
            });
        }
    }

    /// What became of the methods of the root that were not chosen. `method` is the one that was.
    fn others(&self, method: Option<u32>, mut value: impl FnMut(usize) -> u32) -> Vec<Candidate> {
        let methods = self.domain.methods_of(self.domain.root).iter();
        let mut is_before = true;
        let mut others = Vec::new();
        for &other in methods {
            if Some(other) == method {
                is_before = false;
                continue;
            }
            let missing = self.domain.methods[other as usize].conditions.iter();
            let missing = missing.copied().find(|it| !it.holds_for(value(it.fact())));
            let verdict = match missing {
                Some(condition) => Verdict::Refused {
                    by: format!("its condition on {}", self.domain.facts.name(condition.fact()))
                        .into(),
                },
                None if self.domain.preference == Preference::Cheapest && method.is_some() => {
                    Verdict::Beaten
                }
                None if is_before => Verdict::Unreachable,
                None => Verdict::Outranked,
            };
            others.push(Candidate::new(self.domain.method_name(other), verdict));
        }
        others
    }

    /// A plan is carried out from now on; what was running, if it was, is dropped for it.
    pub(super) fn plan(
        self,
        (plan, searched): (&Plan, usize),
        dropped: Option<usize>,
        value: impl FnMut(usize) -> u32,
    ) {
        let root = self.domain.root;
        let chosen = plan.methods.iter().copied();
        let method = chosen.into_iter().find(|it| self.domain.methods_of(root).contains(it));
        let name = match method {
            Some(method) => self.domain.method_name(method),
            None => self.domain.task_name(root).to_owned(),
        };
        let others = self.others(method, value);
        let cause = self.cause.clone().unwrap_or(Label::plain("it was told to think"));
        self.log.note(self.agent, self.tick, Engine::Planner, |decision| {
            decision.candidate(Candidate::new(name, Verdict::Chosen));
            decision.candidates.extend(others);
            decision.plan = Some(PlanRecord {
                steps: plan.operators.iter().map(|&operator| self.operator(operator)).collect(),
                cost: plan.cost,
                searched,
            });
            if let Some(operator) = dropped {
                decision.stop(self.operator(operator), Ending::Replanned { why: cause.clone() });
            }
            decision.cause = Some(cause);
        });
    }

    /// There is nothing to do, or nothing that it can do.
    pub(super) fn no_plan(
        self,
        why: Option<NoPlan>,
        dropped: Option<usize>,
        value: impl FnMut(usize) -> u32,
    ) {
        let verdict = match why {
            None => Verdict::Holds,
            Some(NoPlan::GaveUp) => Verdict::GaveUp,
            Some(_) => Verdict::Unreachable,
        };
        let name = self.domain.task_name(self.domain.root).to_owned();
        let mut candidates = vec![Candidate::new(name, verdict)];
        if why == Some(NoPlan::Unreachable) {
            candidates.extend(self.others(None, value));
        }
        let is_repeated =
            self.log.last(self.agent).is_some_and(|last| last.candidates == candidates);
        if is_repeated && dropped.is_none() && !self.log.is_pending(self.agent) {
            return;
        }
        self.log.note(self.agent, self.tick, Engine::Planner, |decision| {
            decision.candidates.extend(candidates);
            if let Some(operator) = dropped {
                let why = Label::plain("there is nothing left to do, or to be done about it");
                decision.stop(self.operator(operator), Ending::Replanned { why });
            }
            decision.cause = self.cause.clone();
        });
    }
}
