//! The record of one decision, whatever has decided.

use std::fmt;
use std::sync::Arc;

use bytemuck::{CheckedBitPattern, NoUninit};
use formic_ecs::{Entity, HashState};

/// A name in a record: of an option, a state, a rule. Cheap to clone.
pub type Label = Arc<str>;

/// What kind of mind has decided, in the order in which they decide within a tick.
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
    /// A search for a way: what was asked, and the answer.
    Paths,
    /// A mind of your own, by its name.
    Other(&'static str),
}

/// How an action, an [activity](crate::activity) or a step of a plan ended.
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
    /// It was done.
    Success = 1,
    /// It could not be done.
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

/// Something that an agent did, and why it does it no more.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stopped {
    /// What it was.
    pub what: Label,
    /// How it ended.
    pub ended: Ended,
    /// What was in the way, or came in between, where that is known.
    pub why: Option<Label>,
}

impl Stopped {
    /// Something that ended, for a reason that is not known.
    pub fn new(what: impl Into<Label>, ended: Ended) -> Self {
        Self { what: what.into(), ended, why: None }
    }

    /// Says what was in the way, or came in between.
    #[must_use]
    pub fn because(mut self, why: impl Into<Label>) -> Self {
        self.why = Some(why.into());
        self
    }

    /// Something that was interrupted, by what took its place where that is known.
    pub fn interrupted(what: impl Into<Label>, by: Option<&str>) -> Self {
        let why = by.map(|by| format!("interrupted by {by}").into());
        Self { why, ..Self::new(what, Ended::Interrupted) }
    }
}

/// What became of a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// It is done from now on.
    Chosen,
    /// Something else was worth more, or was drawn.
    Beaten,
    /// Something of a higher rank or priority was to be had.
    Outranked,
    /// It was worth nothing.
    Worthless,
    /// It was done before, and is not to be had again so soon.
    Cooling {
        /// For how many decisions more.
        decisions: u32,
    },
    /// What it waits for has not happened.
    Waits {
        /// What that is.
        on: Label,
    },
    /// Something said no.
    Refused {
        /// A guard, a condition, a rule.
        by: Label,
    },
    /// There is nothing left to do for it.
    Holds,
    /// It cannot be reached.
    Unreachable,
    /// The search for it was given up.
    GaveUp,
    /// The search for it goes on.
    Unfinished,
    /// It was asked, and is done, or holds.
    Succeeded,
    /// It was asked, and has failed, or does not hold.
    Failed,
    /// It was asked, and goes on.
    Running,
}

/// Something that an agent could have done.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Candidate {
    /// What it is.
    pub name: Label,
    /// What became of it.
    pub verdict: Verdict,
    /// What it was worth when it was compared with the others, if it is compared by worth.
    pub score: Option<f32>,
    /// How much of the score is there because it was being done already: by inertia, momentum and
    /// commitment.
    pub bonus: f32,
    /// Candidates of a higher rank, or priority, go before all others.
    pub rank: i32,
}

impl Candidate {
    /// A candidate that is not compared by worth.
    pub fn new(name: impl Into<Label>, verdict: Verdict) -> Self {
        Self { name: name.into(), verdict, score: None, bonus: 0.0, rank: 0 }
    }

    /// Adds what it was worth.
    #[must_use]
    pub const fn score(mut self, score: f32) -> Self {
        self.score = Some(score);
        self
    }

    /// Adds its rank.
    #[must_use]
    pub const fn rank(mut self, rank: i32) -> Self {
        self.rank = rank;
        self
    }

    /// Adds how much of the score is there because it was being done already.
    #[must_use]
    pub const fn bonus(mut self, bonus: f32) -> Self {
        self.bonus = bonus;
        self
    }
}

/// One reason for the score of a candidate: an input, and what a curve made of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    /// The candidate, by its place.
    pub candidate: usize,
    /// What the input is called.
    pub name: Label,
    /// How strong it was.
    pub input: f32,
    /// The curve.
    pub curve: Label,
    /// What the curve gives for inputs from 0 to 1, evenly spaced: to draw it.
    pub curve_points: Arc<[f32]>,
    /// How much it counts beside the others.
    pub weight: f32,
    /// What the curve gave.
    pub score: f32,
}

/// A plan that is carried out from now on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanRecord {
    /// What is done, first to last.
    pub steps: Vec<Label>,
    /// What it costs, in the units of the planner.
    pub cost: u64,
    /// How many states were looked at.
    pub searched: usize,
}

/// Something that an agent that sleeps is to be woken by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscribed {
    /// Whose doing it is; `None` for any.
    pub subject: Option<Entity>,
    /// What kind of event; `None` for all kinds.
    pub event: Option<Label>,
}

/// What a rule said.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuleVerdict {
    /// It has nothing against it.
    Accepted,
    /// It forbids it.
    Rejected,
    /// It wants this done in its place.
    Rewritten {
        /// What is done.
        to: Label,
    },
}

/// A rule that was asked, in the order of asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleRecord {
    /// The rule.
    pub rule: Label,
    /// What it said.
    pub verdict: RuleVerdict,
    /// Whether the rules after it were not asked because of it.
    pub stops: bool,
    /// What it has happen besides.
    pub reactions: Vec<Label>,
}

/// One decision of one agent, whatever kind of mind has decided: what there was to choose from, what
/// was chosen and why, and what became of what the agent did before.
///
/// Lists that a kind of mind has no use for are empty. As text, see
/// [`sentence`](Self::sentence).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Decision {
    /// When: the number of the [run](formic_jobs::Schedule::tick) of the schedule, or the turn.
    pub tick: u64,
    /// Who.
    pub agent: Entity,
    /// The entity that has decided: the agent itself, or a second mind, a composite action or an
    /// activity of it.
    pub by: Entity,
    /// By what kind of mind.
    pub engine: Engine,
    /// What called for a decision, where it is not made every tick.
    pub cause: Option<Label>,
    /// What there was to choose from, in the order in which it was looked at.
    pub candidates: Vec<Candidate>,
    /// The reasons for the scores, candidate by candidate.
    pub factors: Vec<Factor>,
    /// What stopped since the decision before, or by this one.
    pub stopped: Vec<Stopped>,
    /// The plan that was made.
    pub plan: Option<PlanRecord>,
    /// What the agent is to be woken by.
    pub subscriptions: Vec<Subscribed>,
    /// Since which tick the agent sleeps.
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

    /// The same memory for another decision.
    pub(super) fn reset(&mut self, tick: u64, agent: Entity, by: Entity, engine: Engine) {
        (self.tick, self.agent, self.by, self.engine) = (tick, agent, by, engine);
        (self.cause, self.plan, self.blocked_since) = (None, None, None);
        self.candidates.clear();
        self.factors.clear();
        self.stopped.clear();
        self.subscriptions.clear();
        self.rules.clear();
    }

    /// What was chosen; `None` where nothing was.
    pub fn chosen(&self) -> Option<&Candidate> {
        self.candidates.iter().find(|candidate| candidate.verdict == Verdict::Chosen)
    }

    /// The best of those that were not chosen, by rank and score.
    #[must_use]
    pub fn runner_up(&self) -> Option<&Candidate> {
        let others = self.candidates.iter().filter(|it| it.verdict != Verdict::Chosen);
        let key = |it: &Candidate| (it.rank, it.score.unwrap_or(f32::NEG_INFINITY));
        // Of equals the first, as it is with the minds.
        others.filter(|it| it.score.is_some_and(|score| score > 0.0)).reduce(|best, it| {
            let ((rank, score), (best_rank, best_score)) = (key(it), key(best));
            if (rank, score.total_cmp(&best_score)) > (best_rank, std::cmp::Ordering::Equal) {
                it
            } else {
                best
            }
        })
    }

    /// By how much what was chosen is worth more than the best of the others of its rank; `None`
    /// where it is not compared by worth, or there was no other.
    ///
    /// It is below zero where chance, or the order, went before worth.
    #[must_use]
    pub fn margin(&self) -> Option<f32> {
        let (chosen, other) = (self.chosen()?, self.runner_up()?);
        (chosen.rank == other.rank).then_some(chosen.score? - other.score?)
    }

    /// The reasons for the score of a candidate, by its place.
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

    /// The rule that said no.
    pub fn rejected_by(&self) -> Option<&RuleRecord> {
        self.rules.iter().find(|rule| rule.verdict == RuleVerdict::Rejected)
    }

    /// Adds a candidate.
    pub fn candidate(&mut self, candidate: Candidate) {
        self.candidates.push(candidate);
    }
}
