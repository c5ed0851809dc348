//! Reasoners: the options of an agent, and the selection among them.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;

use super::considerations::{BATCH, Utility};
use crate::action::{ActionSet, MindError, hint};
use crate::explain::Label;

/// The rule that selects an option by the scores. Only options of the highest rank take part, among those
/// that score above 0, or above the threshold of [`FirstAbove`](Self::FirstAbove).
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum Select {
    /// The highest score. Ties go to the option that runs, then to the first.
    #[default]
    Highest,
    /// The first option, in order, whose score is above this threshold.
    FirstAbove(f32),
    /// At random, in proportion to the scores. An option that runs continues until it ends, scores 0, or
    /// is outranked.
    WeightedRandom,
}

/// The options of a kind of agent, immutable and shared by all of its agents.
///
/// ```
/// use formic_ai::prelude::*;
/// use formic_ai::utility::{Curve, Input, Reasoner, Utility};
/// # #[derive(Component, Clone)] struct Eat;
/// # #[derive(Component, Clone)] struct Sleep;
/// let actions = ActionSet::new().action("eat", Eat).action("sleep", Sleep);
/// let [hunger, tiredness] = Input::named(["hunger", "tiredness"]);
/// let cat = Reasoner::new()
///     .option("eat", Utility::of(hunger, Curve::exponential(2.0)).inertia(0.2))
///     .option("sleep", Utility::of(tiredness, Curve::fast_then_slow(4.0)))
///     .bind(&actions)?;
/// assert_eq!(cat.scores(&[0.5, 0.0]), [0.25, 0.0]);
/// # Ok::<(), formic_ai::action::MindError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Reasoner {
    /// Shared with the records, which are read later.
    pub(super) options: Arc<Options>,
    pub(super) select: Select,
    input_count: usize,
    has_cooldowns: bool,
    /// Whether options have different ranks.
    has_ranks: bool,
}

/// Whether a score above 0 beats the best so far. Ties go to the option that runs.
#[inline(always)]
fn beats(score: f32, best_score: f32, runs: bool) -> bool {
    (score > best_score) | (runs & (score == best_score) & (score > 0.0))
}

const UNSOUND: &str = "has a number that is not finite or out of range";

/// The options, in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub(super) struct Options(Vec<OptionSpec>);

impl Deref for Options {
    type Target = [OptionSpec];

    #[inline(always)]
    fn deref(&self) -> &[OptionSpec] {
        &self.0
    }
}

#[derive(Clone, Debug)]
pub(super) struct OptionSpec {
    pub(super) name: Label,
    pub(super) action: usize,
    pub(super) utility: Utility,
}

impl Reasoner {
    /// The option with the highest score for each agent of a batch; `none` if all score 0. The result is
    /// the same as for single agents, but no branch depends on an agent, so that the compiler vectorizes
    /// the loops. `inputs` are the raw inputs, `units` the same as
    /// [`unit_or_nan`](super::curve::unit_or_nan).
    pub(super) fn highest_each(
        &self,
        inputs: &[[f32; BATCH]],
        units: &[[f32; BATCH]],
        current: &[u32; BATCH],
        none: u32,
    ) -> [u32; BATCH] {
        let mut best = [none; BATCH];
        let mut best_scores = [0.0; BATCH];
        let mut best_ranks = [i32::MIN; BATCH];
        let mut scores = [0.0; BATCH];
        for (option, spec) in (0_u32..).zip(self.options.iter()) {
            spec.utility.score_each(units, &mut scores);
            spec.utility.run_each(option, inputs, current, &mut scores);
            if !self.has_ranks {
                for place in 0..BATCH {
                    let (score, best_score) = (scores[place], best_scores[place]);
                    let is_better = beats(score, best_score, current[place] == option);
                    // By bit masks: the compiler would otherwise emit a conditional store per agent.
                    let mask = 0_u32.wrapping_sub(u32::from(is_better));
                    best[place] = best[place] & !mask | option & mask;
                    best_scores[place] = if score > best_score { score } else { best_score };
                }
                continue;
            }
            let rank = spec.utility.rank;
            for place in 0..BATCH {
                let (score, best_score) = (scores[place], best_scores[place]);
                let is_above = (rank > best_ranks[place]) & (score > 0.0);
                let is_higher = beats(score, best_score, current[place] == option);
                let is_better = is_above | ((rank == best_ranks[place]) & is_higher);
                best[place] = if is_better { option } else { best[place] };
                best_scores[place] = if is_better { score } else { best_score };
                best_ranks[place] = if is_better { rank } else { best_ranks[place] };
            }
        }
        best
    }

    /// Creates a reasoner without options that selects by [`Select::Highest`].
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an option, which runs the action of this name.
    #[must_use]
    pub fn option(mut self, name: impl Into<String>, utility: Utility) -> Self {
        let name = Label::from(name.into());
        self.input_count = self.input_count.max(utility.inputs_wanted());
        self.has_cooldowns |= utility.cooldown > 0;
        let is_ranked = |other: &OptionSpec| other.utility.rank != utility.rank;
        self.has_ranks |= self.options.first().is_some_and(is_ranked);
        Arc::make_mut(&mut self.options).0.push(OptionSpec { name, action: usize::MAX, utility });
        self
    }

    /// Sets how an option is selected. The default is [`Select::Highest`].
    #[must_use]
    pub const fn select(mut self, select: Select) -> Self {
        self.select = select;
        self
    }

    /// Resolves the actions of the options, and checks all numbers.
    ///
    /// # Errors
    /// Returns an error if
    ///
    /// * there are no options, or one of them is there twice,
    /// * an option has no considerations, or names no action of the set,
    /// * a number of a curve, or the limit of an `until` or of [`Select::FirstAbove`], is unusable,
    /// * a weight, inertia or momentum is negative or not finite, or
    /// * the weights of a weighted sum add up to 0.
    pub fn bind(mut self, actions: &ActionSet) -> Result<Self, MindError> {
        if self.options.is_empty() {
            return Err(MindError::new("a reasoner needs at least one option"));
        }
        let about = |name: &str, problem: &str| {
            MindError::about("name", name, format!("the option {name:?} {problem}"))
        };
        let mut names = BTreeSet::new();
        for option in &mut Arc::make_mut(&mut self.options).0 {
            if !names.insert(option.name.clone()) {
                let problem = format!("the option {:?} is defined twice", option.name);
                return Err(MindError::twice("name", &option.name, problem));
            }
            if option.utility.is_empty() {
                return Err(about(&option.name, "has no considerations"));
            }
            if !option.utility.is_sound() {
                return Err(about(&option.name, UNSOUND));
            }
            option.action = actions.find(&option.name).ok_or_else(|| {
                let hint = hint(&option.name, actions.names());
                about(&option.name, &format!("names no action of the set{hint}"))
            })?;
        }
        if let Select::FirstAbove(threshold) = self.select {
            if threshold.is_nan() {
                return Err(about("first above", "has a threshold that is not a number"));
            }
        }
        Ok(self)
    }

    /// The names of the options, in order.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.options.iter().map(|option| &*option.name)
    }

    /// The number of inputs that the options need.
    #[must_use]
    pub const fn input_count(&self) -> usize {
        self.input_count
    }

    /// Whether the action of every option is resolved.
    pub(super) fn is_bound(&self) -> bool {
        !self.options.is_empty() && self.options.iter().all(|option| option.action != usize::MAX)
    }

    /// Whether any option has a cooldown. If so, agents need [`Cooldown`](super::Cooldown)s.
    #[must_use]
    pub const fn has_cooldowns(&self) -> bool {
        self.has_cooldowns
    }

    /// The scores of the options for these inputs while none of them runs.
    ///
    /// # Panics
    /// Panics if there are fewer inputs than [`input_count`](Self::input_count).
    #[must_use]
    pub fn scores(&self, inputs: &[f32]) -> Vec<f32> {
        self.options.iter().map(|option| option.utility.score(inputs)).collect()
    }

    /// The target for which an option has the highest score above 0, and that score. Ties go to the
    /// smaller handle, in whatever order the targets come.
    ///
    /// ```
    /// use formic_ai::prelude::*;
    /// use formic_ai::utility::{Curve, Input, Reasoner, Utility};
    /// # #[derive(Component, Clone)] struct Chase;
    /// let [nearness] = Input::named(["nearness"]);
    /// let actions = ActionSet::new().action("chase", Chase);
    /// let cat = Reasoner::new()
    ///     .option("chase", Utility::of(nearness, Curve::linear(1.0, 0.0)))
    ///     .bind(&actions)?;
    /// let mut world = World::new();
    /// let [far, near] = [world.spawn(()), world.spawn(())];
    /// let mice = [(far, [0.1]), (near, [0.9])];
    /// assert_eq!(cat.best_target(0, mice), Some((near, 0.9)));
    /// # Ok::<(), formic_ai::action::MindError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if there is no such option, or if there are fewer inputs than it needs.
    pub fn best_target<I: AsRef<[f32]>>(
        &self,
        option: usize,
        targets: impl IntoIterator<Item = (formic_ecs::Entity, I)>,
    ) -> Option<(formic_ecs::Entity, f32)> {
        let utility = &self.options[option].utility;
        let mut best: Option<(formic_ecs::Entity, f32)> = None;
        for (target, inputs) in targets {
            let score = utility.score(inputs.as_ref());
            let is_better = match best {
                None => score > 0.0,
                Some((holder, held)) => score > held || score == held && target < holder,
            };
            if is_better {
                best = Some((target, score));
            }
        }
        best
    }
}
