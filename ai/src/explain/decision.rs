//! The record of one decision, by any kind of mind.

use std::fmt;
use std::sync::Arc;

use bytemuck::{CheckedBitPattern, NoUninit};
use formic_ecs::{Entity, HashState};

/// The name of an option, a state or a rule in a record. It is cheap to clone.
pub type Label = Arc<str>;

/// The kind of mind that has decided, in the order in which they decide within a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Engine {
    /// A state machine, see [`fsm`](crate::fsm).
    Machine,
    /// A behaviour tree, see [`bt`](crate::bt).
    Tree,
    /// Utility, see [`utility`](crate::utility).
    Utility,
    /// A planner, see [`goap`](crate::goap).
    Planner,
    /// An activity, which sleeps until something happens.
    Activity,
    /// A [`Composite`](crate::action::Composite) action.
    Composite,
    /// A [`Sequence`](crate::action::Sequence).
    Sequence,
    /// The rules of a game of turns.
    Rules,
    /// A search for a path: the request and the answer.
    Paths,
    /// A mind of your own, with its name.
    Other(&'static str),
}

/// The end of an action, of an [activity](crate::activity) or of a step of a plan.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    NoUninit,
    CheckedBitPattern,
    serde::Serialize,
    serde::Deserialize,
    HashState,
)]
#[repr(u8)]
pub enum Ended {
    /// It has succeeded.
    Success = 1,
    /// It has failed.
    Failed = 2,
    /// Something else came first, or the agent is gone.
    Interrupted = 3,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Success => "done",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
        })
    }
}

/// Something that an agent did, and the reason why it stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stopped {
    /// The name of what the agent did.
    pub what: Label,
    /// The kind of its end.
    pub ended: Ended,
    /// The obstacle, or what took its place, if that is known.
    pub why: Option<Label>,
}

impl Stopped {
    /// Something that ended for an unknown reason.
    pub fn new(what: impl Into<Label>, ended: Ended) -> Self {
        Self { what: what.into(), ended, why: None }
    }

    /// Sets the obstacle, or what took its place.
    #[must_use]
    pub fn because(mut self, why: impl Into<Label>) -> Self {
        self.why = Some(why.into());
        self
    }

    /// Something that was interrupted, by what took its place if that is known.
    pub fn interrupted(what: impl Into<Label>, by: Option<&str>) -> Self {
        let why = by.map(|by| format!("interrupted by {by}").into());
        Self { why, ..Self::new(what, Ended::Interrupted) }
    }
}

/// The verdict on a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// It runs from now on.
    Chosen,
    /// Another candidate had a higher score, or was drawn.
    Beaten,
    /// A candidate of a higher rank or priority was available.
    Outranked,
    /// It scored 0.
    Worthless,
    /// It ran before, and is on cooldown.
    Cooling {
        /// The number of decisions for which it stays unavailable.
        decisions: u32,
    },
    /// It waits for something that has not happened.
    Waits {
        /// The event or condition that it waits for.
        on: Label,
    },
    /// Something refused it.
    Refused {
        /// The guard, condition or rule that refused it.
        by: Label,
    },
    /// The goal holds already.
    Holds,
    /// It cannot be reached.
    Unreachable,
    /// The search for it was given up.
    GaveUp,
    /// The search for it continues.
    Unfinished,
    /// It was checked, and has succeeded or holds.
    Succeeded,
    /// It was checked, and has failed or does not hold.
    Failed,
    /// It was checked, and continues.
    Running,
}

/// Something that an agent could have done.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Candidate {
    /// Its name.
    pub name: Label,
    /// The verdict on it.
    pub verdict: Verdict,
    /// Its score when it was compared with the others, if candidates are compared by score.
    pub score: Option<f32>,
    /// The part of the score that it has because it was running already: by inertia, momentum and
    /// commitment.
    pub bonus: f32,
    /// Candidates of a higher rank, or priority, precede all others.
    pub rank: i32,
}

impl Candidate {
    /// Creates a candidate without a score.
    pub fn new(name: impl Into<Label>, verdict: Verdict) -> Self {
        Self { name: name.into(), verdict, score: None, bonus: 0.0, rank: 0 }
    }

    /// Sets its score.
    #[must_use]
    pub const fn score(mut self, score: f32) -> Self {
        self.score = Some(score);
        self
    }

    /// Sets its rank.
    #[must_use]
    pub const fn rank(mut self, rank: i32) -> Self {
        self.rank = rank;
        self
    }

    /// Sets the part of the score that it has because it was running already.
    #[must_use]
    pub const fn bonus(mut self, bonus: f32) -> Self {
        self.bonus = bonus;
        self
    }
}

/// One factor of the score of a candidate: an input, and the value of a curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    /// The index of the candidate.
    pub candidate: usize,
    /// The name of the input.
    pub name: Label,
    /// The value of the input.
    pub input: f32,
    /// The name of the curve.
    pub curve: Label,
    /// The values of the curve for evenly spaced inputs from 0 to 1, to draw it.
    pub curve_points: Arc<[f32]>,
    /// Its weight among the factors.
    pub weight: f32,
    /// The value of the curve for this input.
    pub score: f32,
}

/// A plan that is carried out from now on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanRecord {
    /// The steps, first to last.
    pub steps: Vec<Label>,
    /// Its cost, in the units of the planner.
    pub cost: u64,
    /// The number of states that were visited.
    pub searched: usize,
}

/// An event that wakes a sleeping agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscribed {
    /// The entity that the event is about; `None` for any.
    pub subject: Option<Entity>,
    /// The kind of the event; `None` for all kinds.
    pub event: Option<Label>,
}

/// The answer of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuleVerdict {
    /// It accepts the action.
    Accepted,
    /// It forbids the action.
    Rejected,
    /// It replaces the action by another one.
    Rewritten {
        /// The action that happens instead.
        to: Label,
    },
}

/// A rule that was asked, in the order of asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleRecord {
    /// The name of the rule.
    pub rule: Label,
    /// Its answer.
    pub verdict: RuleVerdict,
    /// Whether the rules after it were not asked because of it.
    pub stops: bool,
    /// The further actions that it caused.
    pub reactions: Vec<Label>,
}

/// One decision of one agent, by any kind of mind: the candidates, which one was chosen and why, and how
/// what the agent did before ended.
///
/// Lists that a kind of mind does not use are empty. For the decision as text, see
/// [`sentence`](Self::sentence).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Decision {
    /// The number of the [run](formic_jobs::Schedule::tick) of the schedule, or of the turn.
    pub tick: u64,
    /// The agent.
    pub agent: Entity,
    /// The entity that has decided: the agent itself, or a second mind, a composite action or an activity
    /// of the agent.
    pub by: Entity,
    /// The kind of mind.
    pub engine: Engine,
    /// The reason for deciding, if the mind does not decide every tick.
    pub cause: Option<Label>,
    /// The candidates, in the order in which they were considered.
    pub candidates: Vec<Candidate>,
    /// The factors of the scores, candidate by candidate.
    pub factors: Vec<Factor>,
    /// Everything that stopped since the previous decision, or by this one.
    pub stopped: Vec<Stopped>,
    /// The plan that was made.
    pub plan: Option<PlanRecord>,
    /// The events that wake the agent.
    pub subscriptions: Vec<Subscribed>,
    /// The tick since which the agent sleeps.
    pub blocked_since: Option<u64>,
    /// The rules that were asked.
    pub rules: Vec<RuleRecord>,
}

impl Decision {
    pub(super) const fn new(tick: u64, agent: Entity, by: Entity, engine: Engine) -> Self {
        Self {
            tick,
            agent,
            by,
            engine,
            cause: None,
            candidates: Vec::new(),
            factors: Vec::new(),
            stopped: Vec::new(),
            plan: None,
            subscriptions: Vec::new(),
            blocked_since: None,
            rules: Vec::new(),
        }
    }

    /// Reuses the memory for another decision.
    pub(super) fn reset(&mut self, tick: u64, agent: Entity, by: Entity, engine: Engine) {
        (self.tick, self.agent, self.by, self.engine) = (tick, agent, by, engine);
        (self.cause, self.plan, self.blocked_since) = (None, None, None);
        self.candidates.clear();
        self.factors.clear();
        self.stopped.clear();
        self.subscriptions.clear();
        self.rules.clear();
    }

    /// The chosen candidate; `None` if none was chosen.
    pub fn chosen(&self) -> Option<&Candidate> {
        self.candidates.iter().find(|candidate| candidate.verdict == Verdict::Chosen)
    }

    /// The best candidate with a score above 0 that was not chosen, by rank and score.
    #[must_use]
    pub fn runner_up(&self) -> Option<&Candidate> {
        let others = self.candidates.iter().filter(|it| it.verdict != Verdict::Chosen);
        let key = |it: &Candidate| (it.rank, it.score.unwrap_or(f32::NEG_INFINITY));
        // Ties go to the first, as in the minds.
        others.filter(|it| it.score.is_some_and(|score| score > 0.0)).reduce(|best, it| {
            let ((rank, score), (best_rank, best_score)) = (key(it), key(best));
            if (rank, score.total_cmp(&best_score)) > (best_rank, std::cmp::Ordering::Equal) {
                it
            } else {
                best
            }
        })
    }

    /// The difference between the scores of the chosen candidate and the runner-up, if both have the same
    /// rank; `None` if candidates are not compared by score, or if there was no other.
    ///
    /// It is negative if chance or order took precedence over the score.
    #[must_use]
    pub fn margin(&self) -> Option<f32> {
        let (chosen, other) = (self.chosen()?, self.runner_up()?);
        (chosen.rank == other.rank).then_some(chosen.score? - other.score?)
    }

    /// The factors of the score of the candidate with this index.
    ///
    /// ```
    /// use formic_ai::explain::DecisionLog;
    /// use formic_ai::prelude::*;
    /// use formic_ai::utility::{Curve, Input, Reasoner, Utility, UtilityAgent, UtilityAgents};
    /// # #[derive(Component, Clone)] struct Eat;
    /// #[derive(Component)]
    /// struct Hunger(f32);
    /// let actions = ActionSet::new().action("eat", Eat);
    /// let [hunger] = Input::named(["hunger"]);
    /// let cats = Reasoner::new().option("eat", Utility::of(hunger, Curve::exponential(2.0)));
    /// let cats = cats.bind(&actions)?;
    /// # let mut world = World::new();
    /// let cat = actions.spawn(&mut world, Hunger(0.5))?;
    /// UtilityAgent::drive(&mut world, cat, &cats, 1)?;
    /// world.insert_resource(DecisionLog::watching(cat, "Cat", 16));
    /// let think = move |mut minds: UtilityAgents<&Hunger>| minds.decide(&cats, |hunger| [hunger.0]);
    /// let mut schedule =
    ///     formic_ai::action::add(Schedule::builder()).add(think.as_mind()).build(&mut world)?;
    /// schedule.run(&mut world, &Pool::new(Threads::None)?);
    /// let decision = world.resource::<DecisionLog>()?.last(cat).expect("it is watched");
    /// let factor = decision.factors_of(0).next().expect("hunger counts");
    /// assert_eq!((&*factor.name, factor.input, factor.score), ("hunger", 0.5, 0.25));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn factors_of(&self, candidate: usize) -> impl Iterator<Item = &Factor> {
        self.factors.iter().filter(move |factor| factor.candidate == candidate)
    }

    /// The rule that rejected the action.
    pub fn rejected_by(&self) -> Option<&RuleRecord> {
        self.rules.iter().find(|rule| rule.verdict == RuleVerdict::Rejected)
    }

    /// Adds a candidate.
    pub fn candidate(&mut self, candidate: Candidate) {
        self.candidates.push(candidate);
    }
}
