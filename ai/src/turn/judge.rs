//! The judgement of one action by the rules, and its commit.

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

/// The maximum number of entities that an action can bring, unless more were made before.
const BROUGHT_MAX: usize = 1 << 16;

/// The outcome of an action before the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It happens.
    Accepted,
    /// The rule with this number rejected it; the [trace](Turns::trace) has its name.
    Rejected(usize),
    /// It could not be bound, or was rewritten without end.
    Refused(Refusal),
}

/// Whether an action is recorded in the trace.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tracing {
    On,
    Off,
}

impl<K: TurnActionKind> Turns<K> {
    /// The outcome of an action if it were decided now. Nothing happens, except that
    /// [more](Refusal::NoVacancy) vacant entities may be made, and the trace stays that of the last turn.
    ///
    /// Minds use it: an enemy checks before it walks.
    pub fn judge(&mut self, world: &mut World, kind: K) -> Decision {
        let (_, decision) = self.weigh(world, kind, Cause::Decision(None), 0, Tracing::Off);
        self.abandon();
        decision
    }

    /// Puts one action before the rules and commits it if they accept. Its reactions are queued
    /// afterwards. Also returns whether there is something new to draw.
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

    /// Asks the rules. Afterwards their reactions are queued, and an accepted or rejected action is
    /// bound.
    fn weigh(
        &mut self,
        world: &mut World,
        mut kind: K,
        mut cause: Cause,
        time: u64,
        tracing: Tracing,
    ) -> (usize, Decision) {
        // Reactions are only left if a rule has panicked.
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

    /// Binds a kind. If it needs more vacant entities than there are, more are made.
    fn bind_in(&mut self, world: &mut World, kind: &K) -> Result<(), Refusal> {
        loop {
            let now = Situation::now(world, &self.cells);
            match bind(kind, now, &self.known, &self.vacant, &mut self.action) {
                Err(Refusal::NoVacancy) if self.vacant.len() < BROUGHT_MAX => {
                    let room = BROUGHT_MAX - self.vacant.len();
                    self.reserve(world, self.vacant.len().max(16).min(room));
                }
                bound => return bound,
            }
        }
    }

    /// Asks the rules about the bound action one after the other. Returns the first rule that rejected
    /// it, or a rewrite with its rule. One rejection is enough: a later rewrite is ignored.
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
            // A rewrite has dropped those of earlier rules.
            let is_rewritten = said == Answer::Rewrite(()) && rejected.is_none();
            let before = if is_rewritten { 0 } else { reactions };
            let (checking, reactions) = (ruling.checking, self.reactions.len() - before);
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

    /// Whether a viewer sees the commit of the bound action.
    pub(super) fn is_seen(&self, world: &World) -> bool {
        let (now, action) = (Situation::now(world, &self.cells), &self.action);
        let is_visible = |id| self.visible.is_empty() || self.visible.contains(&id);
        action.columns().any(|column| is_visible(column.component))
            && self.seen.as_ref().is_none_or(|seen| seen(&now, &now.after(action), action))
    }

    /// Commits the bound action: removals, then insertions. The cells are updated before any other code
    /// runs.
    pub(super) fn commit(&mut self, world: &mut World) {
        for index in 0..self.action.scheduled.len() {
            let (entity, delay) = self.action.scheduled[index];
            self.schedule(entity, delay);
        }
        let gone = self.action.inserted::<Gone>();
        // After the current steps: a turn is identified by its first step.
        let until = self.journal.end() + 1;
        self.pending_despawns.extend(gone.map(|(entity, _)| (until, entity)));
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
        for column in self.action.columns() {
            if self.cells.depends_on(column.component) {
                self.touched.extend(column.changes().iter().map(|it| it.0));
            }
        }
        self.action.apply(world, &mut self.journal);
        for entity in self.touched.drain(..) {
            self.cells.refresh(world, entity);
        }
    }
}
