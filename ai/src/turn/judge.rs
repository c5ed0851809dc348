//! One action before the rules, and what becomes of it.

use formic_ecs::World;

use super::action::{Gone, Vacant};
use super::draft::{TurnActionKind, bind};
use super::error::Refusal;
use super::journal::Step;
use super::rule::{Answer, Case, Checking};
use super::schedule::Ticket;
use super::situation::Situation;
use super::trace::{Cause, Fate, TracedRuling};
use super::turns::Turns;

/// How many entities an action can bring, about.
const BROUGHT_MAX: usize = 1 << 16;

/// What the rules make of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It happens.
    Accepted,
    /// The rule of this number rejected it; the [trace](Turns::trace) has its name.
    Rejected(usize),
    /// It never came before the rules.
    Refused(Refusal),
}

/// Whether an action is written into the trace.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tracing {
    On,
    Off,
}

impl<K: TurnActionKind> Turns<K> {
    /// What would become of an action, were it decided now. Nothing happens, and the trace stays
    /// that of the last turn.
    ///
    /// For minds: an enemy asks before it walks.
    pub fn judge(&mut self, world: &mut World, kind: K) -> Decision {
        let (_, decision) = self.weigh(world, kind, Cause::Decision(None), 0, Tracing::Off);
        self.abandon();
        decision
    }

    /// Brings one action before the rules and does it if they let it. What follows from either is
    /// waiting afterwards. `is_seen` says whether there is something new to draw.
    pub(super) fn process(
        &mut self,
        world: &mut World,
        kind: K,
        cause: Cause,
        time: u64,
    ) -> (Decision, bool) {
        let (node, decision) = self.weigh(world, kind, cause, time, Tracing::On);
        let mut is_seen = false;
        match decision {
            Decision::Accepted => {
                let changes = self.action.len();
                is_seen = self.is_seen(world);
                self.commit(world);
                self.trace.end(node, Fate::Committed { changes });
            }
            Decision::Rejected(rule) => {
                self.action.clear();
                self.trace.end(node, Fate::Rejected { rule });
            }
            Decision::Refused(ref why) => self.trace.end(node, Fate::Refused(why.clone())),
        }
        let mut reactions = std::mem::take(&mut self.reactions);
        for reaction in reactions.decide(decision == Decision::Accepted) {
            let cause = Cause::Reaction { to: reaction.to, rule: reaction.rule };
            self.enqueue(reaction.kind, time.saturating_add(reaction.delay), cause);
        }
        self.reactions = reactions;
        (decision, is_seen)
    }

    /// Asks the rules. What they react with is in the queues afterwards, and the action that is
    /// accepted or rejected is bound.
    fn weigh(
        &mut self,
        world: &mut World,
        mut kind: K,
        mut cause: Cause,
        time: u64,
        tracing: Tracing,
    ) -> (usize, Decision) {
        // Something is left only where a rule has panicked while it was asked.
        self.reactions.clear();
        let mut rewrites = 0;
        let mut is_asked = true;
        loop {
            let node = match tracing {
                Tracing::On => self.trace.begin(&kind, cause, time),
                Tracing::Off => usize::MAX,
            };
            if let Err(why) = self.bind_in(world, &kind) {
                self.reactions.clear();
                return (node, Decision::Refused(why));
            }
            if !is_asked {
                return (node, Decision::Accepted);
            }
            let (rejected, rewritten) = self.ask(world, &kind, node);
            let Some((rule, other, checking)) = rewritten else {
                let decision = rejected.map_or(Decision::Accepted, Decision::Rejected);
                return (node, decision);
            };
            rewrites += 1;
            if rewrites > self.limits.rewrites {
                self.reactions.clear();
                self.action.clear();
                let limit = self.limits.rewrites;
                return (node, Decision::Refused(Refusal::RewrittenTooOften { limit }));
            }
            self.trace.end(node, Fate::Rewritten);
            is_asked = checking == Checking::KeepChecking;
            cause = Cause::Rewrite { of: node, rule };
            kind = other;
        }
    }

    /// Binds a kind. Where it brings more than are vacant, more are made.
    fn bind_in(&mut self, world: &mut World, kind: &K) -> Result<(), Refusal> {
        loop {
            let now = Situation::now(world, &self.cells);
            match bind(kind, now, &self.known, &self.vacant, &mut self.action) {
                Err(Refusal::NoVacancy) if self.vacant.len() < BROUGHT_MAX => {
                    self.reserve(world, self.vacant.len().max(16));
                }
                bound => return bound,
            }
        }
    }

    /// Asks one rule after the other about the bound action: which one rejected it first, and what
    /// one rewrote it to. One rejection is enough: a rewrite that comes later is not heard.
    fn ask(
        &mut self,
        world: &World,
        kind: &K,
        node: usize,
    ) -> (Option<usize>, Option<(usize, K, Checking)>) {
        let now = Situation::now(world, &self.cells);
        let case = Case { kind, action: &self.action, now, after: now.after(&self.action) };
        self.rules.look_up(&self.action);
        let mut rejected = None;
        let mut from = 0;
        while let Some(rule) = self.rules.next_from(from) {
            from = rule + 1;
            let reactions = self.reactions.len();
            self.reactions.begin_rule(node, rule);
            let ruling = (self.rules.rules[rule].judge)(&case, &mut self.reactions);
            let said = match ruling.verdict {
                Answer::Accept => Answer::Accept,
                Answer::Reject => Answer::Reject,
                Answer::Rewrite(_) => Answer::Rewrite(()),
            };
            let (checking, reactions) =
                (ruling.checking, self.reactions.len().saturating_sub(reactions));
            self.trace.ruling(node, TracedRuling { rule, said, checking, reactions });
            match ruling.verdict {
                Answer::Accept => {}
                Answer::Reject => rejected = rejected.or(Some(rule)),
                Answer::Rewrite(_) if rejected.is_some() => {}
                Answer::Rewrite(other) => return (None, Some((rule, other, checking))),
            }
            if checking == Checking::StopChecking {
                break;
            }
        }
        (rejected, None)
    }

    /// Whether a viewer sees it when the bound action is done.
    pub(super) fn is_seen(&self, world: &World) -> bool {
        let (now, action) = (Situation::now(world, &self.cells), &self.action);
        let is_visible = |id| self.visible.is_empty() || self.visible.contains(&id);
        action.columns().any(|(id, _)| is_visible(id))
            && self.seen.as_ref().is_none_or(|seen| seen(&now, &now.after(action), action))
    }

    /// Does the bound action: removals, then insertions; the cells know of it before anything else runs.
    pub(super) fn commit(&mut self, world: &mut World) {
        for index in 0..self.action.scheduled.len() {
            let (entity, delay) = self.action.scheduled[index];
            self.schedule(entity, delay);
        }
        let gone = self.action.inserted::<Gone>();
        // Behind the steps that there are now: the turn is known by where it begins.
        let until = self.journal.end() + 1;
        self.graves.extend(gone.map(|(entity, _)| (until, entity)));
        let gone = self.action.inserted::<Gone>();
        let tickets: Vec<Ticket> =
            gone.flat_map(|(entity, _)| self.schedule.tickets_of(entity)).collect();
        for ticket in tickets {
            self.cancel(ticket);
        }
        if self.action.spawned > 0 {
            debug_assert!(self.action.column(std::any::TypeId::of::<Vacant>()).is_some());
            for entity in self.vacant.drain(..self.action.spawned) {
                self.journal.push(Step::Took(entity));
            }
        }
        for (id, column) in self.action.columns() {
            if self.cells.depends_on(id) {
                self.touched.extend((0..column.len()).map(|index| column.entity(index)));
            }
        }
        self.action.apply(world, &mut self.journal);
        for entity in self.touched.drain(..) {
            self.cells.refresh(world, entity);
        }
        self.action.clear();
    }
}
