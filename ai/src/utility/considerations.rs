//! The considerations of an option, and the score that they make.

use std::sync::Arc;

use super::curve::{Curve, unit};
use crate::explain::{Decision, Factor, Label};

/// The number of agents that are scored together.
pub(super) const BATCH: usize = 64;

/// An input of considerations: a number that the system of the mind supplies for each agent.
///
/// ```
/// use formic_ai::utility::Input;
/// let [hunger, tiredness] = Input::named(["hunger", "tiredness"]);
/// assert_ne!(hunger, tiredness);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input {
    /// Its index in the array that the system fills for each agent.
    place: usize,
    name: &'static str,
}

impl Input {
    /// Creates the inputs of a reasoner, with the names that appear in [decision
    /// records](crate::explain). The system supplies their values in this order.
    #[must_use]
    pub const fn named<const N: usize>(names: [&'static str; N]) -> [Self; N] {
        let mut inputs = [Self { place: 0, name: "" }; N];
        let mut place = 0;
        while place < N {
            inputs[place] = Self { place, name: names[place] };
            place += 1;
        }
        inputs
    }
}

/// The rule that combines the considerations of an option into one score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum Combine {
    /// Their product: every consideration is necessary. More considerations make the product smaller;
    /// [`Utility::compensated`] corrects that.
    #[default]
    Product,
    /// Their weighted mean: one consideration can make up for another.
    WeightedSum,
    /// The smallest of them.
    Minimum,
    /// The largest of them.
    Maximum,
}

/// The utility of an option: its considerations, and how they are combined and weighted.
///
/// ```
/// use formic_ai::utility::{Curve, Input, Utility};
/// let [hunger, tiredness] = Input::named(["hunger", "tiredness"]);
/// let play = Utility::sum()
///     .weighted(0.4, hunger, Curve::exponential(2.0).inverted())
///     .weighted(0.6, tiredness, Curve::fast_then_slow(4.0).inverted());
/// assert_eq!(play.score(&[0.0, 0.0]), 1.0);
/// assert_eq!(play.score(&[0.0, 1.0]), 0.4);
/// ```
///
/// A utility also says how the option competes with others, and with itself once it is chosen:
///
/// ```
/// # use formic_ai::utility::{Curve, Input, Utility};
/// let [danger, wounds] = Input::named(["danger", "wounds"]);
/// // Worth as much as the weaker reason. It goes before all options of a lower rank; once chosen it counts a fifth
/// // more, and once left it is not to be had for three decisions.
/// let flee = Utility::minimum()
///     .and(danger, Curve::step(0.5))
///     .and(wounds, Curve::linear(1.0, 0.0))
///     .rank(1)
///     .momentum(1.2)
///     .cooldown(3);
/// assert_eq!(flee.score(&[0.9, 0.5]), 0.5);
/// assert_eq!(flee.score(&[0.1, 0.5]), 0.0);
/// // Either reason will do, and it is worth half as much as others.
/// let hide = Utility::maximum().and(danger, Curve::step(0.5)).and(wounds, Curve::step(0.5)).weight(0.5);
/// assert_eq!(hide.score(&[0.1, 0.7]), 0.5);
/// // Both are needed; a product of two is made up for, to compete with options of one consideration.
/// let linear = || Curve::linear(1.0, 0.0);
/// let rest = Utility::of(danger, linear().inverted()).and(wounds, linear());
/// assert_eq!(rest.score(&[0.5, 0.5]), 0.25);
/// assert!(rest.compensated().score(&[0.5, 0.5]) > 0.3);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Utility {
    considerations: Vec<Consideration>,
    combine: Combine,
    compensated: bool,
    weight: f32,
    pub(super) rank: i32,
    inertia: f32,
    momentum: f32,
    pub(super) cooldown: u32,
    committed: Commitment,
    /// The sum of the weights, or `1 - 1/n` for the compensation; precomputed.
    factor: f32,
}

#[derive(Clone, Debug, PartialEq)]
struct Consideration {
    input: usize,
    weight: f32,
    curve: Curve,
    /// The names of the input and of the curve in records.
    name: Label,
    curve_name: Label,
    /// The curve at evenly spaced inputs from 0 to 1, for records.
    curve_points: Arc<[f32]>,
}

/// The number of points of a curve in a record.
const CURVE_POINTS: u16 = 33;

/// The condition of [`Utility::until`]: while the option runs and the input is above the limit, the score
/// is the maximum. An infinite limit stands for no commitment.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Commitment {
    input: usize,
    above: f32,
}

impl Commitment {
    const NONE: Self = Self { input: 0, above: f32::INFINITY };
}

impl Utility {
    pub(super) fn new(combine: Combine) -> Self {
        Self {
            considerations: Vec::new(),
            combine,
            compensated: false,
            weight: 1.0,
            rank: 0,
            inertia: 0.0,
            momentum: 1.0,
            cooldown: 0,
            committed: Commitment::NONE,
            factor: 0.0,
        }
    }

    /// Creates a utility with one consideration; [`and`](Self::and) multiplies by further ones.
    #[must_use]
    pub fn of(input: Input, curve: Curve) -> Self {
        Self::new(Combine::Product).and(input, curve)
    }

    /// Creates a utility that is the weighted mean of its considerations. Add them with
    /// [`weighted`](Self::weighted).
    #[must_use]
    pub fn sum() -> Self {
        Self::new(Combine::WeightedSum)
    }

    /// Creates a utility that is the minimum of its considerations.
    #[must_use]
    pub fn minimum() -> Self {
        Self::new(Combine::Minimum)
    }

    /// Creates a utility that is the maximum of its considerations.
    #[must_use]
    pub fn maximum() -> Self {
        Self::new(Combine::Maximum)
    }

    /// Adds a consideration with weight 1.
    #[must_use]
    pub fn and(self, input: Input, curve: Curve) -> Self {
        self.weighted(1.0, input, curve)
    }

    /// Adds a consideration. The weight matters only in a [`Combine::WeightedSum`].
    #[must_use]
    pub fn weighted(self, weight: f32, input: Input, curve: Curve) -> Self {
        self.consider(weight, (input.place, input.name.into()), curve)
    }

    /// Adds a consideration of the input with this index and name.
    pub(super) fn consider(
        mut self,
        weight: f32,
        (input, name): (usize, Label),
        curve: Curve,
    ) -> Self {
        let curve_name = curve.to_string().into();
        let curve_points =
            (0..CURVE_POINTS).map(|at| curve.at(f32::from(at) / f32::from(CURVE_POINTS - 1)));
        let curve_points = curve_points.collect();
        self.considerations.push(Consideration {
            input,
            weight,
            curve,
            name,
            curve_name,
            curve_points,
        });
        self.factor = self.new_factor();
        self
    }

    fn new_factor(&self) -> f32 {
        let weights: f32 = self.considerations.iter().map(|it| it.weight).sum();
        match self.combine {
            Combine::WeightedSum => weights,
            #[expect(clippy::cast_precision_loss, reason = "a handful")]
            _ => 1.0 - 1.0 / self.considerations.len().max(1) as f32,
        }
    }

    /// Compensates for the number of factors of a product, so that options with many considerations can
    /// compete with those that have few: `s + (1 - s) * (1 - 1/n) * s` (Dave Mark's compensation factor).
    #[must_use]
    pub fn compensated(mut self) -> Self {
        self.compensated = true;
        self
    }

    /// Multiplies the score by a weight from 0 to 1. The default is 1.
    #[must_use]
    pub fn weight(mut self, weight: f32) -> Self {
        self.weight = weight;
        self
    }

    /// Sets the rank. An option that scores above 0 beats all options of a lower rank. The default is 0.
    /// (Kevin Dill's dual utility.)
    #[must_use]
    pub fn rank(mut self, rank: i32) -> Self {
        self.rank = rank;
        self
    }

    /// Adds a bonus to the score while the option runs: a rival of the same rank must be better by more
    /// than this.
    #[must_use]
    pub fn inertia(mut self, bonus: f32) -> Self {
        self.inertia = bonus;
        self
    }

    /// Multiplies the score by a factor while the option runs, before the inertia is added. The default
    /// is 1.
    #[must_use]
    pub fn momentum(mut self, factor: f32) -> Self {
        self.momentum = factor;
        self
    }

    /// Makes the option unavailable for this many decisions after it was left or has ended.
    #[must_use]
    pub fn cooldown(mut self, decisions: u32) -> Self {
        self.cooldown = decisions;
        self
    }

    /// Commits to the option: while it runs and the input is above `at_most`, it scores 1 (times its
    /// weight). Once begun it is carried through, unless an option of a higher rank, or one with a higher
    /// score by weight and inertia, competes.
    #[must_use]
    pub fn until(self, input: Input, at_most: f32) -> Self {
        self.until_at(input.place, at_most)
    }

    /// [`until`](Self::until) for the input with this index.
    pub(super) fn until_at(mut self, input: usize, at_most: f32) -> Self {
        self.committed = Commitment { input, above: at_most };
        self
    }

    /// The score for these inputs while the option does not run, from 0 to 1.
    ///
    /// # Panics
    /// Panics if there are fewer inputs than the considerations need, as do all methods that take inputs.
    #[must_use]
    #[inline]
    pub fn score(&self, inputs: &[f32]) -> f32 {
        let scores =
            self.considerations.iter().map(|it| (it.weight, it.curve.at(inputs[it.input])));
        let combined = match self.combine {
            Combine::Product => {
                return self.finished(scores.fold(1.0, |product, (_, score)| product * score));
            }
            Combine::WeightedSum => {
                scores.fold(0.0, |sum, (weight, score)| sum + weight * score) / self.factor
            }
            Combine::Minimum => scores.map(|(_, score)| score).fold(1.0, f32::min),
            Combine::Maximum => scores.map(|(_, score)| score).fold(0.0, f32::max),
        };
        unit(unit(combined) * self.weight)
    }

    #[inline]
    fn finished(&self, product: f32) -> f32 {
        let whole = if self.compensated {
            product + (1.0 - product) * self.factor * product
        } else {
            product
        };
        unit(whole * self.weight)
    }

    /// The score while the option runs. It may be above 1.
    pub(super) fn score_running(&self, inputs: &[f32]) -> f32 {
        self.running(self.score(inputs), inputs)
    }

    /// [`score`](Self::score) for each agent of a batch, bit for bit. Each input is a
    /// [`unit_or_nan`](super::curve::unit_or_nan).
    pub(super) fn score_each(&self, inputs: &[[f32; BATCH]], scores: &mut [f32; BATCH]) {
        let mut considerations = self.considerations.iter();
        if let Some(first) = considerations.next() {
            first.curve.at_each(&inputs[first.input], scores);
            if self.combine == Combine::WeightedSum {
                scores.iter_mut().for_each(|score| *score *= first.weight);
            }
        }
        for it in considerations {
            let mut one = [0.0; BATCH];
            it.curve.at_each(&inputs[it.input], &mut one);
            let both = scores.iter_mut().zip(&one);
            match self.combine {
                Combine::Product => both.for_each(|(score, one)| *score *= one),
                Combine::WeightedSum => both.for_each(|(score, one)| *score += it.weight * one),
                Combine::Minimum => both.for_each(|(score, one)| *score = score.min(*one)),
                Combine::Maximum => both.for_each(|(score, one)| *score = score.max(*one)),
            }
        }
        if self.combine == Combine::WeightedSum {
            scores.iter_mut().for_each(|score| *score = unit(*score / self.factor));
        }
        // With weight 1 and no compensation the scores, which are from 0 to 1, do not change.
        if self.weight != 1.0 || self.compensated {
            scores.iter_mut().for_each(|score| {
                *score = match self.combine {
                    Combine::Product => self.finished(*score),
                    _ => unit(*score * self.weight),
                }
            });
        }
    }

    /// [`running`](Self::running) for the agents of a batch that run this option.
    pub(super) fn run_each(
        &self,
        option: u32,
        inputs: &[[f32; BATCH]],
        current: &[u32; BATCH],
        scores: &mut [f32; BATCH],
    ) {
        if self.is_indifferent() {
            return;
        }
        let committed = inputs.get(self.committed.input).unwrap_or(&[0.0; BATCH]);
        let most = unit(self.weight);
        for ((score, &current), &input) in scores.iter_mut().zip(current).zip(committed) {
            let base = if input > self.committed.above { most } else { *score };
            let running = if base > 0.0 { base * self.momentum + self.inertia } else { 0.0 };
            *score = if current == option { running } else { *score };
        }
    }

    /// Whether the option scores the same whether it runs or not.
    fn is_indifferent(&self) -> bool {
        self.committed == Commitment::NONE && self.momentum == 1.0 && self.inertia == 0.0
    }

    /// The score while the option runs, from the score while it does not.
    #[inline]
    pub(super) fn running(&self, score: f32, inputs: &[f32]) -> f32 {
        let is_committed =
            inputs.get(self.committed.input).is_some_and(|&it| it > self.committed.above);
        let score = if is_committed { unit(self.weight) } else { score };
        if score > 0.0 { score * self.momentum + self.inertia } else { 0.0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.considerations.is_empty()
    }

    /// Records the factors of a candidate's score.
    pub(super) fn record_factors(&self, candidate: usize, inputs: &[f32], decision: &mut Decision) {
        decision.factors.extend(self.considerations.iter().map(|it| Factor {
            candidate,
            name: it.name.clone(),
            input: inputs[it.input],
            curve: it.curve_name.clone(),
            curve_points: Arc::clone(&it.curve_points),
            weight: it.weight,
            score: it.curve.at(inputs[it.input]),
        }));
    }

    pub(super) fn inputs_wanted(&self) -> usize {
        let considered = self.considerations.iter().map(|it| it.input);
        let is_committed = self.committed != Commitment::NONE;
        let all = considered.chain(is_committed.then_some(self.committed.input));
        all.map(|input| input + 1).max().unwrap_or(0)
    }

    pub(super) fn is_sound(&self) -> bool {
        let numbers = [self.weight, self.inertia, self.momentum];
        let are_numbers = numbers.iter().all(|number| number.is_finite() && *number >= 0.0);
        let is_committed_soundly = !self.committed.above.is_nan();
        let weights = self.considerations.iter().map(|it| it.weight);
        let are_weights = weights.clone().all(|weight| weight.is_finite() && weight >= 0.0)
            && (self.combine != Combine::WeightedSum || weights.sum::<f32>() > 0.0);
        are_numbers
            && is_committed_soundly
            && are_weights
            && self.considerations.iter().all(|it| it.curve.is_sound())
    }
}
