//! Response curves: functions from the strength of an input to a score.

use std::f32::consts::TAU;
use std::fmt;

/// A response curve: a function from an input to a score, both from 0 to 1.
///
/// Inputs are clamped to this range before the formula, and scores after it. NaN scores 0 as an input and
/// as the result of the formula, whether the curve is inverted or not.
///
/// ```
/// use formic_ai::utility::Curve;
/// assert_eq!(Curve::exponential(2.0).at(0.5), 0.25);
/// assert_eq!(Curve::fast_then_slow(2.0).at(0.5), 0.75);
/// assert_eq!(Curve::linear(1.0, 0.0).inverted().at(0.25), 0.75);
/// assert_eq!(Curve::linear(1.0, 0.0).inverted().at(f32::NAN), 0.0);
/// // Shaped like an S, like a bell, all or nothing, and drawn point by point:
/// assert_eq!(Curve::logistic(10.0, 0.5).at(0.5), 0.5);
/// assert_eq!(Curve::normal(0.5, 0.2).at(0.5), 1.0);
/// assert_eq!(Curve::step(0.3).at(0.2), 0.0);
/// assert_eq!(Curve::piecewise([(0.0, 1.0), (0.5, 0.25), (1.0, 0.75)]).at(0.75), 0.5);
/// // A parabola, slow at first and then fast, the S lying down, and a wave:
/// assert_eq!(Curve::polynomial(-4.0, 2, 0.5, 1.0).at(0.5), 1.0);
/// assert!(Curve::growth(4.0).at(0.5) < 0.2);
/// assert_eq!(Curve::logit(0.1, 0.5).at(0.5), 0.5);
/// assert_eq!(Curve::sine(1.0, 0.25).at(0.0), 1.0);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    shape: Shape,
    /// The power, if it is a small whole number: such powers are products, which are many times faster.
    power: Option<i32>,
    /// The part of the formula that does not depend on the input.
    factor: f32,
    inverted: bool,
}

/// The constructors of [`Curve`] with their parameters, as they are written in a file.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) enum Shape {
    Linear(f32, f32),
    Exponential(f32),
    FastThenSlow(f32),
    Polynomial(f32, i32, f32, f32),
    Growth(f32),
    Logistic(f32, f32),
    Logit(f32, f32),
    Normal(f32, f32),
    Sine(f32, f32),
    Step(f32),
    Piecewise(Vec<(f32, f32)>),
}

/// Clamps a value to the range from 0 to 1; NaN becomes 0.
#[inline]
pub(super) fn unit(value: f32) -> f32 {
    // Comparisons with NaN are false. Each of these two is one instruction; `min` and `clamp` are
    // several, because they promise more about NaN.
    let positive = if value > 0.0 { value } else { 0.0 };
    if positive < 1.0 { positive } else { 1.0 }
}

/// Clamps a value to the range from 0 to 1, but keeps NaN, which the curve handles.
#[inline]
pub(super) fn unit_or_nan(value: f32) -> f32 {
    let positive = if value < 0.0 { 0.0 } else { value };
    if positive > 1.0 { 1.0 } else { positive }
}

/// The name and the first parameter, as in [decision records](crate::explain): `exponential 2`.
impl fmt::Display for Curve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.shape {
            Shape::Linear(slope, _) => write!(f, "linear {slope}"),
            Shape::Exponential(power) => write!(f, "exponential {power}"),
            Shape::FastThenSlow(power) => write!(f, "fast then slow {power}"),
            Shape::Polynomial(_, exponent, ..) => write!(f, "polynomial {exponent}"),
            Shape::Growth(rate) => write!(f, "growth {rate}"),
            Shape::Logistic(steepness, _) => write!(f, "logistic {steepness}"),
            Shape::Logit(scale, _) => write!(f, "logit {scale}"),
            Shape::Normal(mean, _) => write!(f, "normal {mean}"),
            Shape::Sine(cycles, _) => write!(f, "sine {cycles}"),
            Shape::Step(threshold) => write!(f, "step {threshold}"),
            Shape::Piecewise(points) => write!(f, "piecewise {}", points.len()),
        }?;
        f.write_str(if self.inverted { ", inverted" } else { "" })
    }
}

#[inline]
fn whole(exponent: f32) -> Option<i32> {
    let is_small = (0.0..=32.0).contains(&exponent);
    #[expect(clippy::cast_possible_truncation, reason = "at most 32")]
    (is_small && exponent.fract() == 0.0).then_some(exponent as i32)
}

impl Curve {
    pub(super) fn new(mut shape: Shape) -> Self {
        let (mut power, mut factor) = (None, 1.0);
        match &mut shape {
            Shape::Exponential(exponent) | Shape::FastThenSlow(exponent) => {
                power = whole(*exponent);
            }
            Shape::Growth(0.0) => shape = Shape::Linear(1.0, 0.0),
            Shape::Growth(rate) => factor = 1.0 / (libm::expf(*rate) - 1.0),
            Shape::Normal(_, deviation) => factor = 0.5 / (*deviation * *deviation),
            Shape::Piecewise(points) => points.sort_by(|a, b| a.0.total_cmp(&b.0)),
            _ => {}
        }
        Self { shape, power, factor, inverted: false }
    }

    /// `slope * x + shift`. With a slope of 0 it is the same for every input: the worth of what can always be
    /// done.
    #[must_use]
    #[doc(alias = "constant")]
    pub fn linear(slope: f32, shift: f32) -> Self {
        Self::new(Shape::Linear(slope, shift))
    }

    /// `x ^ power`. With a power above 1, it rises slowly at first and then fast.
    #[must_use]
    pub fn exponential(power: f32) -> Self {
        Self::new(Shape::Exponential(power))
    }

    /// `1 - (1 - x) ^ power`. With a power above 1, it rises fast at first and then slowly.
    #[must_use]
    pub fn fast_then_slow(power: f32) -> Self {
        Self::new(Shape::FastThenSlow(power))
    }

    /// `slope * (x - x_shift) ^ exponent + y_shift`.
    #[must_use]
    pub fn polynomial(slope: f32, exponent: i32, x_shift: f32, y_shift: f32) -> Self {
        Self::new(Shape::Polynomial(slope, exponent, x_shift, y_shift))
    }

    /// `(e ^ (rate * x) - 1) / (e ^ rate - 1)`, from 0 to 1. With a rate of 0 it is a straight line.
    #[must_use]
    pub fn growth(rate: f32) -> Self {
        Self::new(Shape::Growth(rate))
    }

    /// `1 / (1 + e ^ (-steepness * (x - midpoint)))`.
    #[must_use]
    pub fn logistic(steepness: f32, midpoint: f32) -> Self {
        Self::new(Shape::Logistic(steepness, midpoint))
    }

    /// `scale * ln(x / (1 - x)) + shift`, the inverse of the logistic curve. A scale of 0.1 and a shift
    /// of 0.5 use most of the range.
    #[must_use]
    pub fn logit(scale: f32, shift: f32) -> Self {
        Self::new(Shape::Logit(scale, shift))
    }

    /// `e ^ (-(x - mean)² / (2 * deviation²))`, the bell curve.
    #[must_use]
    pub fn normal(mean: f32, deviation: f32) -> Self {
        Self::new(Shape::Normal(mean, deviation))
    }

    /// `(1 + sin(2π * (cycles * x + phase))) / 2`.
    #[must_use]
    pub fn sine(cycles: f32, phase: f32) -> Self {
        Self::new(Shape::Sine(cycles, phase))
    }

    /// 1 from the threshold on, 0 below it.
    #[must_use]
    pub fn step(threshold: f32) -> Self {
        Self::new(Shape::Step(threshold))
    }

    /// Linear interpolation between points `(x, y)`, given in any order. The curve is constant before the
    /// first and after the last point. Without points it is 0.
    #[must_use]
    pub fn piecewise(points: impl IntoIterator<Item = (f32, f32)>) -> Self {
        let mut all = Vec::new();
        // `collect` would allocate as much as the size hint of the iterator says.
        points.into_iter().for_each(|point| all.push(point));
        Self::new(Shape::Piecewise(all))
    }

    /// Inverts the curve: `1 - y`.
    #[must_use]
    pub const fn inverted(mut self) -> Self {
        self.inverted = !self.inverted;
        self
    }

    /// Whether all parameters of the curve are finite, and small enough to compute it.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let is_number = |numbers: &[f32]| numbers.iter().all(|number| number.is_finite());
        let are_numbers = match &self.shape {
            Shape::Exponential(a) | Shape::FastThenSlow(a) | Shape::Growth(a) | Shape::Step(a) => {
                is_number(&[*a])
            }
            Shape::Linear(a, b)
            | Shape::Logistic(a, b)
            | Shape::Logit(a, b)
            | Shape::Normal(a, b)
            | Shape::Sine(a, b) => is_number(&[*a, *b]),
            Shape::Polynomial(a, _, b, c) => is_number(&[*a, *b, *c]),
            Shape::Piecewise(points) => points.iter().all(|&(x, y)| is_number(&[x, y])),
        };
        // A `growth` whose highest value is infinite.
        let is_too_steep = matches!(self.shape, Shape::Growth(_)) && self.factor == 0.0;
        are_numbers && self.factor.is_finite() && !is_too_steep
    }

    /// The score of an input.
    #[must_use]
    #[inline]
    pub fn at(&self, input: f32) -> f32 {
        if input.is_nan() {
            return 0.0;
        }
        let x = unit(input);
        let y = match (&self.shape, self.power) {
            (Shape::Linear(slope, shift), _) => slope * x + shift,
            (Shape::Exponential(_), Some(exponent)) => power(x, exponent),
            (Shape::FastThenSlow(_), Some(exponent)) => 1.0 - power(1.0 - x, exponent),
            (Shape::Step(threshold), _) => f32::from(u8::from(x >= *threshold)),
            _ => self.slowly_at(x),
        };
        // Inverted before clamping: NaN would otherwise become 1.
        unit(if self.inverted { 1.0 - y } else { y })
    }
}

impl Curve {
    /// [`at`](Self::at) for many inputs, each of them a [`unit_or_nan`]. The shape is matched once for
    /// all. Powers of such inputs need no clamping.
    pub(super) fn at_each<const N: usize>(&self, inputs: &[f32; N], scores: &mut [f32; N]) {
        match (&self.shape, self.power) {
            (Shape::Linear(slope, shift), _) => {
                self.map(inputs, scores, |x| unit(slope * x + shift));
            }
            (Shape::Exponential(_), Some(2)) => self.map(inputs, scores, |x| x * x),
            (Shape::Exponential(_), Some(exponent)) => {
                self.map(inputs, scores, |x| power(x, exponent));
            }
            (Shape::FastThenSlow(_), Some(4)) => {
                self.map(inputs, scores, |x| 1.0 - power(1.0 - x, 4));
            }
            (Shape::FastThenSlow(_), Some(exponent)) => {
                self.map(inputs, scores, |x| 1.0 - power(1.0 - x, exponent));
            }
            (Shape::Step(threshold), _) => {
                self.map(inputs, scores, |x| f32::from(u8::from(x >= *threshold)));
            }
            _ => scores.iter_mut().zip(inputs).for_each(|(score, &x)| *score = self.at(x)),
        }
    }

    #[inline(always)]
    fn map<const N: usize>(
        &self,
        inputs: &[f32; N],
        scores: &mut [f32; N],
        shape: impl Fn(f32) -> f32,
    ) {
        let number = |x: f32, score: f32| if x.is_nan() { 0.0 } else { score };
        let both = scores.iter_mut().zip(inputs);
        if self.inverted {
            both.for_each(|(score, &x)| *score = number(x, 1.0 - shape(x)));
        } else {
            both.for_each(|(score, &x)| *score = number(x, shape(x)));
        }
    }
}

/// `x ^ exponent` by multiplication, in an order that is the same on every machine.
#[inline]
fn power(x: f32, exponent: i32) -> f32 {
    match exponent {
        1 => return x,
        2 => return x * x,
        3 => return x * (x * x),
        4 => return (x * x) * (x * x),
        _ => {}
    }
    let (mut base, mut left, mut product) = (x, exponent, 1.0);
    while left > 0 {
        if left & 1 == 1 {
            product *= base;
        }
        base *= base;
        left >>= 1;
    }
    product
}

// The functions of libm give the same bits on every machine; those of the operating system do not.
impl Curve {
    /// The shapes that [`at`](Self::at) does not compute itself.
    #[inline(never)]
    fn slowly_at(&self, x: f32) -> f32 {
        match &self.shape {
            Shape::Linear(..) | Shape::Step(_) => unreachable!("`at` works these out"),
            Shape::Exponential(power) => libm::powf(x, *power),
            Shape::FastThenSlow(power) => 1.0 - libm::powf(1.0 - x, *power),
            Shape::Polynomial(slope, exponent, x_shift, y_shift) => {
                let product = power(x - x_shift, exponent.saturating_abs());
                let power = if *exponent < 0 { 1.0 / product } else { product };
                slope * power + y_shift
            }
            Shape::Growth(rate) => (libm::expf(rate * x) - 1.0) * self.factor,
            Shape::Logistic(steepness, midpoint) => {
                1.0 / (1.0 + libm::expf(-steepness * (x - midpoint)))
            }
            Shape::Logit(scale, shift) => scale * libm::logf(x / (1.0 - x)) + shift,
            Shape::Normal(mean, _) => libm::expf(-(x - mean) * (x - mean) * self.factor),
            Shape::Sine(cycles, phase) => (1.0 + libm::sinf(TAU * (cycles * x + phase))) / 2.0,
            Shape::Piecewise(points) => between(points, x),
        }
    }
}

fn between(points: &[(f32, f32)], x: f32) -> f32 {
    let after = points.partition_point(|point| point.0 <= x);
    let Some(&(right, right_y)) = points.get(after) else {
        return points.last().map_or(0.0, |point| point.1);
    };
    let Some(&(left, left_y)) = after.checked_sub(1).map(|before| &points[before]) else {
        return right_y;
    };
    left_y + (right_y - left_y) * ((x - left) / (right - left))
}
