//! The decision log: the records of all watched agents.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use formic_ecs::{Entity, HashState, StateHasher};

use super::decision::{Candidate, Decision, Engine, Label, Stopped};
use super::ring::{Facts, Recall, Ring};
use crate::key_map::KeyMap;

/// The resource that says which agents are watched, and holds their recent decisions.
///
/// Minds write to it as they decide, on any thread. If the world has no log, or no agent is watched,
/// nothing is recorded. The log is outside of the entities: a watched agent has the same components as
/// before, keeps its place in memory, and behaves the same.
///
/// ```
/// use formic_ai::explain::DecisionLog;
/// use formic_ai::prelude::*;
/// # #[derive(Component, Clone)] struct Walk;
/// # #[derive(Component, Clone)] struct Rest;
/// # struct Doing;
/// # impl Processor for Doing {
/// #     type Action = Walk;
/// #     fn start(&self, _: Agent, _: &mut Walk) -> ActionResult { ActionResult::Success }
/// #     fn update(&self, _: Agent, _: &mut Walk) -> ActionResult { ActionResult::Success }
/// # }
/// # fn walk(mut actions: Actions<Walk>) { actions.process(&Doing); }
/// let mut world = World::new();
/// let agent = Sequence::new().then(Walk).then(Rest).spawn(&mut world, ())?;
/// let mut log = DecisionLog::new();
/// log.watch(agent, "Walker", 16);
/// world.insert_resource(log);
/// let mut schedule = formic_ai::action::add(Schedule::builder())
///     .add(walk.as_action())
///     .build(&mut world)?;
/// schedule.run(&mut world, &Pool::new(Threads::None)?);
/// for sentence in world.resource::<DecisionLog>()?.sentences(agent) {
///     println!("{sentence}");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Decisions as data; and written by hand, as a mind of your own does it:
///
/// ```
/// use formic_ai::explain::{Candidate, DecisionLog, Engine, Verdict};
/// # use formic_ai::prelude::*;
/// # let mut world = World::new();
/// # let rat = world.spawn(());
/// let mut log = DecisionLog::watching(rat, "Rat", 2);
/// for tick in 0..3 {
///     log.note(rat, tick, Engine::Utility, |decision| {
///         decision.candidate(Candidate::new("bite", Verdict::Chosen).score(0.75));
///         decision.candidate(Candidate::new("flee", Verdict::Beaten).score(0.5));
///     });
/// }
/// let [_, last] = &log.decisions(rat)[..] else { panic!("two are kept") };
/// assert_eq!((log.lost(rat), last.tick), (1, 2));
/// assert_eq!(&*last.chosen().unwrap().name, "bite");
/// assert_eq!(&*last.runner_up().unwrap().name, "flee");
/// assert_eq!(last.margin(), Some(0.25));
/// assert!(log.agents().eq([rat]));
/// log.unwatch(rat);
/// assert!(log.is_empty());
/// ```
#[derive(Debug, Default)]
pub struct DecisionLog {
    watched: KeyMap<Entity, Watched>,
    /// The kinds of entities that are not watched.
    kinds: BTreeMap<Entity, Label>,
}

#[derive(Debug)]
struct Watched {
    kind: Label,
    decisions_max: usize,
    /// Locked only briefly. The parallel activities of one agent may record decisions on several threads
    /// at the same time; the resulting records do not depend on which comes first.
    ring: Mutex<Ring>,
}

/// If more agents than this are watched, agents that continue as before are not recorded.
const FIRST_ASKED_MAX: usize = 64;

impl Watched {
    fn ring(&self) -> MutexGuard<'_, Ring> {
        // A record is complete when it is put into the ring, so that a panic leaves the ring consistent.
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DecisionLog {
    /// Creates a log in which no agent is watched.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a log that [watches](Self::watch) one agent.
    #[must_use]
    pub fn watching(agent: Entity, kind: impl Into<Label>, decisions_max: usize) -> Self {
        let mut log = Self::new();
        log.watch(agent, kind, decisions_max);
        log
    }

    /// Watches an agent and keeps its last `decisions_max` decisions, at least one. Sentences name the
    /// agent by its kind and the index of its entity: `Cat#12`.
    ///
    /// If the agent is watched already, its records stay, as far as there is room for them. A newly
    /// watched agent records its next decision even if it continues as before, provided that its mind
    /// decides every tick (utility, trees, machines) and that no more than 64 agents are watched.
    pub fn watch(&mut self, agent: Entity, kind: impl Into<Label>, decisions_max: usize) {
        let decisions_max = decisions_max.max(1);
        let kind = kind.into();
        let new = || Watched { kind: kind.clone(), decisions_max, ring: Mutex::default() };
        let watched = self.watched.entry(agent).or_insert_with(new);
        (watched.kind, watched.decisions_max) = (kind, decisions_max);
        watched.ring.get_mut().unwrap_or_else(PoisonError::into_inner).shrink(decisions_max);
    }

    /// Stops watching an agent, and drops its decisions. Returns whether it was watched.
    pub fn unwatch(&mut self, agent: Entity) -> bool {
        self.watched.remove(&agent).is_some()
    }

    /// Whether an agent is watched.
    #[must_use]
    #[inline]
    pub fn is_watched(&self, agent: Entity) -> bool {
        self.watched.contains_key(&agent)
    }

    /// Whether no agent is watched.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.watched.is_empty()
    }

    /// The watched agents, sorted by handle. Despawned agents stay until [`unwatch`](Self::unwatch), so
    /// that you can find out why they were despawned.
    pub fn agents(&self) -> impl ExactSizeIterator<Item = Entity> {
        let mut agents: Vec<Entity> = self.watched.keys().copied().collect();
        agents.sort_unstable();
        agents.into_iter()
    }

    /// The recent decisions of an agent, the oldest first; empty if it is not watched.
    #[must_use]
    pub fn decisions(&self, agent: Entity) -> Vec<Decision> {
        self.watched.get(&agent).map(|watched| watched.ring().tell(agent)).unwrap_or_default()
    }

    /// The last decision of an agent, if it is watched and has decided.
    #[must_use]
    pub fn last(&self, agent: Entity) -> Option<Decision> {
        self.at(agent, u64::MAX)
    }

    /// The last decision of an agent by this kind of mind.
    pub(crate) fn last_of(&self, agent: Entity, engine: Engine) -> Option<Decision> {
        self.watched.get(&agent)?.ring().tell_last_of(agent, engine)
    }

    /// Whether an agent is watched and this kind of mind should record its decision, even if nothing
    /// changes: it has recorded nothing yet, or something [is pending](Self::is_pending).
    pub(crate) fn is_awaited(&self, agent: Entity, engine: Engine) -> bool {
        let is_awaited = |ring: &Ring| ring.is_pending() || !ring.has_heard_of(engine);
        self.watched.get(&agent).is_some_and(|watched| is_awaited(&watched.ring()))
    }

    /// Whether few agents are watched, and for one of them this kind of mind has recorded nothing yet.
    /// Minds that only look up agents whose behaviour changes call this once per run; if it returns true,
    /// they look up all agents.
    pub(crate) fn awaits_first(&self, engine: Engine) -> bool {
        let is_first = |watched: &Watched| !watched.ring().has_heard_of(engine);
        self.watched.len() <= FIRST_ASKED_MAX && self.watched.values().any(is_first)
    }

    /// The decision that an agent followed in a tick: the last one made in that tick or before. `None` if
    /// there is none, or if it was overwritten.
    #[must_use]
    pub fn at(&self, agent: Entity, tick: u64) -> Option<Decision> {
        self.watched.get(&agent)?.ring().tell_at(agent, tick)
    }

    /// The number of decisions of an agent that were overwritten by later ones.
    #[must_use]
    pub fn lost(&self, agent: Entity) -> u64 {
        self.watched.get(&agent).map_or(0, |watched| watched.ring().lost())
    }

    /// Names the kind of an entity in sentences about others, whether it is watched or not: a `Door`. An
    /// [observer](formic_ecs::Hooks::observe) of a component can do this for entities that are spawned
    /// later.
    pub fn call(&mut self, entity: Entity, kind: impl Into<Label>) {
        let kind = kind.into();
        match self.watched.get_mut(&entity) {
            Some(watched) => watched.kind = kind,
            None => drop(self.kinds.insert(entity, kind)),
        }
    }

    /// The kind of an entity, if it is known.
    #[must_use]
    pub fn kind(&self, entity: Entity) -> Option<&Label> {
        self.watched.get(&entity).map(|watched| &watched.kind).or_else(|| self.kinds.get(&entity))
    }

    /// The name of an entity in sentences: `Cat#12`, or `entity 12` if its kind is not known.
    #[must_use]
    pub fn name(&self, entity: Entity) -> String {
        match self.kind(entity) {
            Some(kind) => format!("{kind}#{}", entity.index()),
            None => format!("entity {}", entity.index()),
        }
    }

    /// The recent decisions of an agent as [sentences](Decision::sentence), the oldest first.
    #[must_use]
    pub fn sentences(&self, agent: Entity) -> Vec<String> {
        let name = self.name(agent);
        let decisions = self.decisions(agent);
        decisions.iter().map(|it| it.sentence_with(&name, |other| self.name(other))).collect()
    }

    /// Records a decision if the agent is watched; otherwise `fill` is not called.
    ///
    /// Call it from minds of your own. A system should take a
    /// [`DecisionRecorder`](super::DecisionRecorder) as its argument. The decisions of an agent in one
    /// tick are ordered by their engines and by the entities that have decided, not by the order of these
    /// calls.
    pub fn note(&self, agent: Entity, tick: u64, engine: Engine, fill: impl FnOnce(&mut Decision)) {
        self.note_by(agent, agent, tick, engine, fill);
    }

    /// Records a decision that another entity `by` has made for the agent: a second mind, a composite
    /// action, one of several activities. Things that [ended](Self::note_end) are left for the agent's
    /// own decisions.
    ///
    /// ```
    /// use formic_ai::explain::{Candidate, DecisionLog, Engine, Verdict};
    /// # let mut world = formic_ecs::World::new();
    /// let (ogre, second_head) = (world.spawn(()), world.spawn(()));
    /// let log = DecisionLog::watching(ogre, "Ogre", 16);
    /// log.note_by(ogre, second_head, 7, Engine::Utility, |decision| {
    ///     decision.candidate(Candidate::new("sing", Verdict::Chosen));
    /// });
    /// assert_eq!(log.last(ogre).expect("it is watched").by, second_head);
    /// ```
    pub fn note_by(
        &self,
        agent: Entity,
        by: Entity,
        tick: u64,
        engine: Engine,
        fill: impl FnOnce(&mut Decision),
    ) {
        let Some(watched) = self.watched.get(&agent) else { return };
        let mut decision = watched.ring().begin((agent, by), tick, engine);
        fill(&mut decision);
        watched.ring().keep(decision, agent, watched.decisions_max);
    }

    /// Records a state of a watched agent if it differs from the last one of the same `engine`, by its
    /// hash: for lasting states that are checked every tick. Things that [ended](Self::note_end) are left
    /// for the decisions of the agent's minds.
    ///
    /// ```
    /// use formic_ai::explain::{Candidate, DecisionLog, Engine, Verdict};
    /// # let mut world = formic_ecs::World::new();
    /// let imp = world.spawn(());
    /// let log = DecisionLog::watching(imp, "Imp", 16);
    /// for (tick, state) in [(0, "looked for"), (1, "looked for"), (2, "found")] {
    ///     let path = || Candidate::new(format!("a path to the mine: {state}"), Verdict::Chosen);
    ///     log.note_change((imp, tick), Engine::Paths, &state, path);
    /// }
    /// let second = &log.sentences(imp)[1];
    /// assert_eq!(second, "Tick 2: Imp#0 asked for a path to the mine: found.");
    /// ```
    pub fn note_change(
        &self,
        (agent, tick): (Entity, u64),
        engine: Engine,
        state: &impl HashState,
        candidate: impl FnOnce() -> Candidate,
    ) {
        let Some(watched) = self.watched.get(&agent) else { return };
        let mut hasher = StateHasher::new();
        state.hash_state(&mut hasher);
        if watched.ring().take_change(engine, hasher.finish()) {
            let candidate = candidate();
            watched.ring().keep_change((tick, engine), candidate, agent, watched.decisions_max);
        }
    }

    /// Records a decision by the numbers that it was made from, if the agent is watched. If there are too
    /// many numbers, the decision is filled in at once.
    pub(crate) fn note_facts<M: Recall + 'static>(
        &self,
        agent: Entity,
        tick: u64,
        engine: Engine,
        (mind, facts): (&Arc<M>, impl Iterator<Item = u32> + Clone),
    ) {
        let Some(watched) = self.watched.get(&agent) else { return };
        let Some(few) = Facts::collect(facts.clone()) else {
            let fill = |decision: &mut Decision| {
                mind.recall(&facts.collect::<Vec<_>>(), decision);
            };
            return self.note(agent, tick, engine, fill);
        };
        let mind = (engine, mind);
        watched.ring().keep_brief(mind, (tick, few), agent, watched.decisions_max);
    }

    /// Records that something ended, if the agent is watched. The agent's next decision includes it.
    ///
    /// ```
    /// use formic_ai::explain::{Candidate, DecisionLog, Ended, Engine, Stopped, Verdict};
    /// # let mut world = formic_ecs::World::new();
    /// let imp = world.spawn(());
    /// let log = DecisionLog::watching(imp, "Imp", 16);
    /// log.note_end(imp, || Stopped::new("dig", Ended::Failed).because("the rock is too hard"));
    /// assert!(log.is_pending(imp));
    /// log.note(imp, 7, Engine::Other("a mind of mine"), |decision| {
    ///     decision.candidate(Candidate::new("sulk", Verdict::Chosen));
    /// });
    /// assert!(!log.is_pending(imp), "the decision has told it");
    /// let sentence = "Tick 7: Imp#0 chose sulk; dig has failed: the rock is too hard.";
    /// assert_eq!(log.sentences(imp), [sentence]);
    /// ```
    pub fn note_end(&self, agent: Entity, stopped: impl FnOnce() -> Stopped) {
        let Some(watched) = self.watched.get(&agent) else { return };
        // Bounded, so that a mind that never decides does not fill the memory.
        watched.ring().stop(stopped(), watched.decisions_max);
    }

    /// Whether something [has ended](Self::note_end) for an agent that no decision includes yet. If so, a
    /// mind should record a decision even if it does nothing new.
    #[must_use]
    pub fn is_pending(&self, agent: Entity) -> bool {
        let is_pending = |watched: &Watched| watched.ring().is_pending();
        self.watched.get(&agent).is_some_and(is_pending)
    }

    /// Drops the decisions after a tick, because they were undone or the world was restored: the
    /// remaining ones led to the world as it is. Things that have ended since and are pending are dropped
    /// as well.
    ///
    /// ```
    /// use formic_ai::explain::{Candidate, DecisionLog, Engine, Verdict};
    /// # let mut world = formic_ecs::World::new();
    /// let rat = world.spawn(());
    /// let mut log = DecisionLog::new();
    /// log.watch(rat, "Rat", 16);
    /// for turn in 1..=3 {
    ///     log.note(rat, turn, Engine::Rules, |decision| {
    ///         decision.candidate(Candidate::new("bite", Verdict::Chosen));
    ///     });
    /// }
    /// log.forget_after(1);
    /// assert_eq!(log.sentences(rat), ["Turn 1: Rat#0 wanted to bite."]);
    /// ```
    pub fn forget_after(&mut self, tick: u64) {
        for watched in self.watched.values_mut() {
            let ring = watched.ring.get_mut().unwrap_or_else(PoisonError::into_inner);
            ring.forget_after(tick);
        }
    }

    /// Drops all decisions. Watched agents stay watched.
    pub fn clear(&mut self) {
        for watched in self.watched.values_mut() {
            watched.ring.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        }
    }
}

#[cfg(test)]
mod tests;
