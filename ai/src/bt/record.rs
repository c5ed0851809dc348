//! Decision records of behaviour trees.

use formic_ecs::QueryData;

use super::node::Op;
use super::tree::Tree;
use crate::action::{ActionResult, Body};
use crate::explain::{Candidate, Engine, Label, Stopped, Verdict, Watch};

/// A listener for every leaf that a tick reaches, for agents that are watched.
pub(super) trait Trace {
    fn leaf(&mut self, op: Op, argument: u32, result: ActionResult);
}

/// The listener for an agent that is not watched.
impl Trace for () {
    #[inline(always)]
    fn leaf(&mut self, _: Op, _: u32, _: ActionResult) {}
}

/// The number of leaves of a tick that are kept, the last ones.
const LEAVES_MAX: usize = 64;

/// The last leaves of a tick, and their results.
pub(super) struct Leaves {
    all: [(Op, u32, ActionResult); LEAVES_MAX],
    count: usize,
}

impl Leaves {
    pub(super) const fn new() -> Self {
        Self { all: [(Op::Succeed, 0, ActionResult::Running); LEAVES_MAX], count: 0 }
    }

    fn iter(&self) -> impl Iterator<Item = (Op, u32, ActionResult)> {
        let first = self.count.saturating_sub(LEAVES_MAX);
        (first..self.count).map(|place| self.all[place % LEAVES_MAX])
    }
}

impl Trace for Leaves {
    fn leaf(&mut self, op: Op, argument: u32, result: ActionResult) {
        self.all[self.count % LEAVES_MAX] = (op, argument, result);
        self.count += 1;
    }
}

/// The state of a body and the result of its tree before a tick.
pub(super) struct Before {
    body: Body,
    result: ActionResult,
}

impl Before {
    pub(super) fn new(body: &Body, result: ActionResult) -> Self {
        Self { body: body.clone(), result }
    }
}

impl<Q: QueryData> Tree<Q> {
    /// Records a tick if the agent's running actions or result have changed, or if one of its actions has
    /// ended.
    pub(super) fn note(
        &self,
        watch: Watch<'_>,
        before: Before,
        (body, result): (&Body, ActionResult),
        leaves: &Leaves,
    ) {
        let had_ended =
            |action: usize| before.body.ended(action).filter(|_| self.whole.actions.has(action));
        let mut all = 0..body.action_count();
        let is_news = !body.running().eq(before.body.running())
            || result != before.result
            || watch.log.is_awaited(watch.agent, Engine::Tree)
            || all.any(|action| had_ended(action).is_some());
        if is_news {
            watch.note(Engine::Tree, |decision| {
                for (op, argument, result) in leaves.iter() {
                    let verdict = match (op, result) {
                        (Op::Action, ActionResult::Running) => Verdict::Chosen,
                        (_, ActionResult::Running) => Verdict::Running,
                        (_, ActionResult::Success) => Verdict::Succeeded,
                        (_, ActionResult::Failed) => Verdict::Failed,
                    };
                    decision.candidate(Candidate::new(self.leaf_name(op, argument), verdict));
                }
                let first_begun = body.running().find(|&it| !before.body.is_running(it));
                let by = first_begun.map(|action| self.action_name(action));
                for action in 0..body.action_count() {
                    let name = self.action_name(action);
                    decision.stopped.push(match had_ended(action) {
                        Some(result) => Stopped::new(name, result.into()),
                        None if before.body.is_running(action) && !body.is_running(action) => {
                            Stopped::interrupted(name, by.as_deref())
                        }
                        None => continue,
                    });
                }
            });
        }
    }

    fn action_name(&self, action: usize) -> Label {
        let name = self.library.actions.get(action);
        name.map_or_else(|| format!("action {action}").into(), |name| Label::from(name.as_str()))
    }

    fn leaf_name(&self, op: Op, argument: u32) -> Label {
        let entries = &self.library.entries;
        match op {
            Op::Action => self.action_name(argument as usize),
            Op::Effect => entries.effects[argument as usize].0.clone().into(),
            _ => entries.conditions[argument as usize].0.clone().into(),
        }
    }
}
