//! The ring buffer of the recent decisions of one agent.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use formic_ecs::Entity;

use super::decision::{Candidate, Decision, Engine, Stopped};

/// A kind of mind that reconstructs a record when it is read, from the few numbers that the decision was
/// made from. A record is a thousand bytes in a dozen allocations, and most are overwritten before they
/// are read; the numbers fit into one cache line.
pub(crate) trait Recall: fmt::Debug + Send + Sync {
    /// Fills in a decision from the facts, in the order in which the mind stored them.
    fn recall(&self, facts: &[u32], decision: &mut Decision);
}

/// The maximum number of facts, which makes [`Kept`] one cache line.
const FACTS_MAX: usize = 8;

/// The numbers that a decision was made from.
#[derive(Debug)]
pub(crate) struct Facts {
    all: [u32; FACTS_MAX],
    count: u32,
}

impl Facts {
    /// `None` if there are too many.
    pub(crate) fn collect(facts: impl Iterator<Item = u32>) -> Option<Self> {
        let mut all = [0; FACTS_MAX];
        let mut count = 0;
        for fact in facts {
            *all.get_mut(count as usize)? = fact;
            count += 1;
        }
        Some(Self { all, count })
    }

    fn as_slice(&self) -> &[u32] {
        &self.all[..self.count as usize]
    }
}

#[derive(Debug)]
#[repr(align(64))]
pub(super) enum Kept {
    /// In its own box, so that moving it moves a pointer.
    Whole(Box<Decision>),
    /// A decision of the agent itself by the mind of the ring, reconstructed when it is read.
    Brief { tick: u64, facts: Facts, stopped: Box<[Stopped]> },
}

const _: () = assert!(size_of::<Kept>() == 64, "it is one line of the cache");

/// The mind that reconstructs brief decisions.
#[derive(Debug)]
struct Mind {
    engine: Engine,
    recall: Arc<dyn Recall>,
}

/// The last decisions of an agent, sorted by tick, engine, and the entity that has decided.
#[derive(Debug, Default)]
pub(super) struct Ring {
    kept: VecDeque<Kept>,
    /// No kept decision has a later tick. If the next one is later still, it goes to the end without
    /// comparisons.
    last_tick: u64,
    /// The mind of all brief decisions.
    mind: Option<Mind>,
    /// The number of decisions that were overwritten.
    lost: u64,
    /// Things that have stopped since the last decision.
    stopped: Vec<Stopped>,
    /// For each kind of mind that records changes, the hash of the state that it recorded last.
    changed: Vec<(Engine, u64)>,
    /// The kinds of minds that have decided since the agent is watched.
    heard: Vec<Engine>,
    /// An overwritten decision whose lists have capacity.
    spare: Option<Box<Decision>>,
}

impl Kept {
    const fn tick(&self) -> u64 {
        match self {
            Self::Whole(decision) => decision.tick,
            Self::Brief { tick, .. } => *tick,
        }
    }

    /// The sort key of decisions.
    fn key(&self, agent: Entity, mind: Option<&Mind>) -> (u64, Engine, Entity) {
        match self {
            Self::Whole(decision) => (decision.tick, decision.engine, decision.by),
            Self::Brief { tick, .. } => (*tick, engine(mind), agent),
        }
    }

    fn tell(&self, agent: Entity, mind: Option<&Mind>) -> Decision {
        match self {
            Self::Whole(decision) => Decision::clone(decision),
            Self::Brief { tick, facts, stopped } => {
                let mut decision = Decision::new(*tick, agent, agent, engine(mind));
                decision.stopped.extend_from_slice(stopped);
                if let Some(mind) = mind {
                    mind.recall.recall(facts.as_slice(), &mut decision);
                }
                decision
            }
        }
    }
}

/// If any decision is brief, there is a mind.
fn engine(mind: Option<&Mind>) -> Engine {
    mind.map_or(Engine::Other(""), |mind| mind.engine)
}

impl Ring {
    /// Returns an empty decision to fill in.
    pub(super) fn begin(
        &mut self,
        (agent, by): (Entity, Entity),
        tick: u64,
        engine: Engine,
    ) -> Box<Decision> {
        match self.spare.take() {
            Some(mut old) => {
                old.reset(tick, agent, by, engine);
                old
            }
            None => Box::new(Decision::new(tick, agent, by, engine)),
        }
    }

    /// Inserts a decision. If the agent itself has decided, it takes what has stopped, and lists it
    /// first.
    pub(super) fn keep(
        &mut self,
        mut decision: Box<Decision>,
        agent: Entity,
        decisions_max: usize,
    ) {
        if decision.by == agent {
            decision.stopped.splice(..0, self.stopped.drain(..));
        }
        self.insert(Kept::Whole(decision), agent, decisions_max);
    }

    /// Whether this state differs from the last one of this kind of mind. It counts as recorded then.
    pub(super) fn take_change(&mut self, engine: Engine, hash: u64) -> bool {
        if let Some((_, last)) = self.changed.iter_mut().find(|(known, _)| *known == engine) {
            return std::mem::replace(last, hash) != hash;
        }
        self.changed.push((engine, hash));
        true
    }

    /// Inserts a candidate as a decision. What has stopped is left for the minds.
    pub(super) fn keep_change(
        &mut self,
        (tick, engine): (u64, Engine),
        candidate: Candidate,
        agent: Entity,
        decisions_max: usize,
    ) {
        let mut decision = self.begin((agent, agent), tick, engine);
        decision.candidate(candidate);
        self.insert(Kept::Whole(decision), agent, decisions_max);
    }

    /// Inserts a brief decision of the agent itself.
    pub(super) fn keep_brief<M: Recall + 'static>(
        &mut self,
        (engine, mind): (Engine, &Arc<M>),
        (tick, facts): (u64, Facts),
        agent: Entity,
        decisions_max: usize,
    ) {
        self.go_by(engine, mind, agent);
        let stopped = std::mem::take(&mut self.stopped).into_boxed_slice();
        self.insert(Kept::Brief { tick, facts, stopped }, agent, decisions_max);
    }

    /// Makes this the mind of further brief decisions; those of another mind are filled in.
    fn go_by<M: Recall + 'static>(&mut self, engine: Engine, mind: &Arc<M>, agent: Entity) {
        let is_the_same = |it: &Mind| {
            std::ptr::addr_eq(Arc::as_ptr(&it.recall), Arc::as_ptr(mind)) && it.engine == engine
        };
        if self.mind.as_ref().is_some_and(is_the_same) {
            return;
        }
        for kept in &mut self.kept {
            if matches!(kept, Kept::Brief { .. }) {
                *kept = Kept::Whole(Box::new(kept.tell(agent, self.mind.as_ref())));
            }
        }
        let recall: Arc<dyn Recall> = Arc::<M>::clone(mind);
        self.mind = Some(Mind { engine, recall });
    }

    /// Inserts at the sorted position. If there is no room, the first in that order is dropped,
    /// regardless of which was inserted first.
    fn insert(&mut self, kept: Kept, agent: Entity, decisions_max: usize) {
        let key = |it: &Kept| it.key(agent, self.mind.as_ref());
        let engine = key(&kept).1;
        if !self.heard.contains(&engine) {
            self.heard.push(engine);
        }
        let later = if kept.tick() > self.last_tick {
            0
        } else {
            self.kept.iter().rev().take_while(|it| key(it) > key(&kept)).count()
        };
        self.last_tick = self.last_tick.max(kept.tick());
        let place = self.kept.len() - later;
        if self.kept.len() < decisions_max {
            return self.kept.insert(place, kept);
        }
        self.lost += 1;
        // The old one is removed before the new one is inserted, so that the list does not grow.
        let old = match place.checked_sub(1) {
            None => kept,
            Some(place) => {
                let Some(old) = self.kept.pop_front() else { return };
                self.kept.insert(place, kept);
                old
            }
        };
        if let Kept::Whole(decision) = old {
            self.spare = Some(decision);
        }
    }

    /// Adds something that stopped, for the next decision. At most `stopped_max` are kept, the last ones.
    pub(super) fn stop(&mut self, stopped: Stopped, stopped_max: usize) {
        if self.stopped.len() >= stopped_max {
            self.stopped.remove(0);
        }
        self.stopped.push(stopped);
    }

    /// Whether something has stopped that no decision includes.
    pub(super) fn is_pending(&self) -> bool {
        !self.stopped.is_empty()
    }

    /// Whether this kind of mind has decided since the agent is watched.
    pub(super) fn has_heard_of(&self, engine: Engine) -> bool {
        self.heard.contains(&engine)
    }

    pub(super) const fn lost(&self) -> u64 {
        self.lost
    }

    /// Keeps the last `decisions_max` decisions.
    pub(super) fn shrink(&mut self, decisions_max: usize) {
        let surplus = self.kept.len().saturating_sub(decisions_max);
        self.kept.drain(..surplus);
        self.lost += surplus as u64;
    }

    /// Drops everything except which minds have decided.
    pub(super) fn clear(&mut self) {
        *self = Self { heard: std::mem::take(&mut self.heard), ..Self::default() };
    }

    pub(super) fn forget_after(&mut self, tick: u64) {
        self.kept.retain(|kept| kept.tick() <= tick);
        self.stopped.clear();
        self.changed.clear();
    }

    /// All decisions, the oldest first.
    pub(super) fn tell(&self, agent: Entity) -> Vec<Decision> {
        self.kept.iter().map(|kept| kept.tell(agent, self.mind.as_ref())).collect()
    }

    /// The last decision of this kind of mind.
    pub(super) fn tell_last_of(&self, agent: Entity, engine: Engine) -> Option<Decision> {
        Some(self.last_of(agent, engine)?.tell(agent, self.mind.as_ref()))
    }

    fn last_of(&self, agent: Entity, engine: Engine) -> Option<&Kept> {
        let mind = self.mind.as_ref();
        self.kept.iter().rev().find(|kept| kept.key(agent, mind).1 == engine)
    }

    /// The last decision that was made in a tick or before.
    pub(super) fn tell_at(&self, agent: Entity, tick: u64) -> Option<Decision> {
        let kept = self.kept.iter().rev().find(|kept| kept.tick() <= tick)?;
        Some(kept.tell(agent, self.mind.as_ref()))
    }
}
