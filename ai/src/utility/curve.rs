//! Response curves: from how strong an input is to how much it matters.

use std::f32::consts::TAU;
use std::fmt;

/// Turns an input into a score, both from 0 to 1.
///
/// Whatever comes in is brought into this range first, and whatever the formula gives afterwards.
/// What is not a number scores 0, at both ends, whether the curve is inverted or not.
///
/// ```
/// use formic_ai::utility::Curve;
/// assert_eq!(Curve::exponential(2.0).at(0.5), 0.25);
/// assert_eq!(Curve::fast_then_slow(2.0).at(0.5), 0.75);
/// assert_eq!(Curve::linear(1.0, 0.0).inverted().at(0.25), 0.75);
/// assert_eq!(Curve::linear(1.0, 0.0).inverted().at(f32::NAN), 0.0);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    shape: Shape,
    inverted: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Shape {
    Linear {
        slope: f32,
        shift: f32,
    },
    /// Powers that are whole numbers are products, which is many times faster.
    Power {
        exponent: i32,
    },
    PowerReal {
        exponent: f32,
    },
    FastThenSlow {
        exponent: i32,
    },
    FastThenSlowReal {
        exponent: f32,
    },
    Polynomial {
        slope: f32,
        exponent: i32,
        x_shift: f32,
        y_shift: f32,
    },
    Growth {
        rate: f32,
        scale: f32,
    },
    Logistic {
        steepness: f32,
        midpoint: f32,
    },
    Logit {
        scale: f32,
        shift: f32,
    },
    Normal {
        mean: f32,
        halved: f32,
    },
    Sine {
        cycles: f32,
        phase: f32,
    },
    Step {
        threshold: f32,
    },
    Piecewise(Box<[(f32, f32)]>),
}

/// From 0 to 1; what is not a number is 0.
#[inline]
pub(super) fn unit(value: f32) -> f32 {
    // Comparisons with what is not a number are false. Each of the two is one instruction; `min`
    // and `clamp` are several, for they promise more about what is not a number.
    let positive = if value > 0.0 { value } else { 0.0 };
    if positive < 1.0 { positive } else { 1.0 }
}

/// From 0 to 1; what is not a number stays so, for the curve to know.
#[inline]
pub(super) fn unit_or_nan(value: f32) -> f32 {
    let positive = if value < 0.0 { 0.0 } else { value };
    if positive > 1.0 { 1.0 } else { positive }
}

/// By its name and its first number, as in [records](crate::explain): `exponential 2`.
impl fmt::Display for Curve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.shape {
            Shape::Linear { slope, .. } => write!(f, "linear {slope}"),
            Shape::Power { exponent } => write!(f, "exponential {exponent}"),
            Shape::PowerReal { exponent } => write!(f, "exponential {exponent}"),
            Shape::FastThenSlow { exponent } => write!(f, "fast then slow {exponent}"),
            Shape::FastThenSlowReal { exponent } => write!(f, "fast then slow {exponent}"),
            Shape::Polynomial { exponent, .. } => write!(f, "polynomial {exponent}"),
            Shape::Growth { rate, .. } => write!(f, "growth {rate}"),
            Shape::Logistic { steepness, .. } => write!(f, "logistic {steepness}"),
            Shape::Logit { scale, .. } => write!(f, "logit {scale}"),
            Shape::Normal { mean, .. } => write!(f, "normal {mean}"),
            Shape::Sine { cycles, .. } => write!(f, "sine {cycles}"),
            Shape::Step { threshold } => write!(f, "step {threshold}"),
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
    const fn new(shape: Shape) -> Self {
        Self { shape, inverted: false }
    }

    /// `slope * x + shift`.
    #[must_use]
    pub const fn linear(slope: f32, shift: f32) -> Self {
        Self::new(Shape::Linear { slope, shift })
    }

    /// `x ^ power`: slow at first and then fast, for powers above 1.
    #[must_use]
    pub fn exponential(power: f32) -> Self {
        Self::new(match whole(power) {
            Some(exponent) => Shape::Power { exponent },
            None => Shape::PowerReal { exponent: power },
        })
    }

    /// `1 - (1 - x) ^ power`: fast at first and then slow, for powers above 1.
    #[must_use]
    pub fn fast_then_slow(power: f32) -> Self {
        Self::new(match whole(power) {
            Some(exponent) => Shape::FastThenSlow { exponent },
            None => Shape::FastThenSlowReal { exponent: power },
        })
    }

    /// `slope * (x - x_shift) ^ exponent + y_shift`.
    #[must_use]
    pub const fn polynomial(slope: f32, exponent: i32, x_shift: f32, y_shift: f32) -> Self {
        Self::new(Shape::Polynomial { slope, exponent, x_shift, y_shift })
    }

    /// `(e ^ (rate * x) - 1) / (e ^ rate - 1)`, which goes from 0 to 1; a straight line for a rate
    /// of 0.
    #[must_use]
    pub fn growth(rate: f32) -> Self {
        if rate == 0.0 {
            return Self::linear(1.0, 0.0);
        }
        Self::new(Shape::Growth { rate, scale: 1.0 / (libm::expf(rate) - 1.0) })
    }

    /// `1 / (1 + e ^ (-steepness * (x - midpoint)))`.
    #[must_use]
    pub const fn logistic(steepness: f32, midpoint: f32) -> Self {
        Self::new(Shape::Logistic { steepness, midpoint })
    }

    /// `scale * ln(x / (1 - x)) + shift`, the logistic curve the other way round. A scale of 0.1
    /// and a shift of 0.5 use most of the range.
    #[must_use]
    pub const fn logit(scale: f32, shift: f32) -> Self {
        Self::new(Shape::Logit { scale, shift })
    }

    /// `e ^ (-(x - mean)² / (2 * deviation²))`, the bell.
    #[must_use]
    pub fn normal(mean: f32, deviation: f32) -> Self {
        Self::new(Shape::Normal { mean, halved: 0.5 / (deviation * deviation) })
    }

    /// `(1 + sin(2π * (cycles * x + phase))) / 2`.
    #[must_use]
    pub const fn sine(cycles: f32, phase: f32) -> Self {
        Self::new(Shape::Sine { cycles, phase })
    }

    /// 1 from the threshold on, 0 below it.
    #[must_use]
    pub const fn step(threshold: f32) -> Self {
        Self::new(Shape::Step { threshold })
    }

    /// Straight lines between points `(x, y)`, in any order; before the first and after the last it
    /// is level. Without points it is 0.
    #[must_use]
    pub fn piecewise(points: impl IntoIterator<Item = (f32, f32)>) -> Self {
        let mut sorted = Vec::new();
        // Not `collect`, which would make room for as many as the iterator says.
        points.into_iter().for_each(|point| sorted.push(point));
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self::new(Shape::Piecewise(sorted.into()))
    }

    /// The same upside down: `1 - y`.
    #[must_use]
    pub const fn inverted(mut self) -> Self {
        self.inverted = !self.inverted;
        self
    }

    /// Whether all numbers that it was made of are numbers.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let is_number = |numbers: &[f32]| numbers.iter().all(|number| number.is_finite());
        match &self.shape {
            Shape::Power { .. } | Shape::FastThenSlow { .. } => true,
            Shape::PowerReal { exponent } | Shape::FastThenSlowReal { exponent } => {
                is_number(&[*exponent])
            }
            Shape::Linear { slope: a, shift: b }
            | Shape::Growth { rate: a, scale: b }
            | Shape::Logistic { steepness: a, midpoint: b }
            | Shape::Logit { scale: a, shift: b }
            | Shape::Normal { mean: a, halved: b }
            | Shape::Sine { cycles: a, phase: b } => is_number(&[*a, *b]),
            Shape::Polynomial { slope, x_shift, y_shift, .. } => {
                is_number(&[*slope, *x_shift, *y_shift])
            }
            Shape::Step { threshold } => is_number(&[*threshold]),
            Shape::Piecewise(points) => points.iter().all(|&(x, y)| is_number(&[x, y])),
        }
    }

    /// Whether it takes a handful of instructions, so that leaving it out saves nothing.
    pub(super) const fn is_cheap(&self) -> bool {
        matches!(
            self.shape,
            Shape::Linear { .. }
                | Shape::Power { .. }
                | Shape::FastThenSlow { .. }
                | Shape::Step { .. }
        )
    }

    /// The score of an input.
    #[must_use]
    #[inline]
    pub fn at(&self, input: f32) -> f32 {
        if input.is_nan() {
            return 0.0;
        }
        let x = unit(input);
        let y = match &self.shape {
            Shape::Linear { slope, shift } => slope * x + shift,
            Shape::Power { exponent } => power(x, *exponent),
            Shape::FastThenSlow { exponent } => 1.0 - power(1.0 - x, *exponent),
            Shape::Step { threshold } => f32::from(u8::from(x >= *threshold)),
            other => other.slowly_at(x),
        };
        // Inverted before it is brought into the range: what is no number would be 1 otherwise.
        unit(if self.inverted { 1.0 - y } else { y })
    }
}

impl Curve {
    /// [`at`](Self::at) for many inputs, each of them a [`unit_or_nan`]: what kind of curve it is, is
    /// asked once. Powers of such inputs are from 0 to 1 themselves.
    pub(super) fn at_each<const N: usize>(&self, inputs: &[f32; N], scores: &mut [f32; N]) {
        match &self.shape {
            Shape::Linear { slope, shift } => {
                self.map(inputs, scores, |x| unit(slope * x + shift));
            }
            Shape::Power { exponent: 2 } => self.map(inputs, scores, |x| x * x),
            Shape::Power { exponent } => self.map(inputs, scores, |x| power(x, *exponent)),
            Shape::FastThenSlow { exponent: 4 } => {
                self.map(inputs, scores, |x| 1.0 - power(1.0 - x, 4));
            }
            Shape::FastThenSlow { exponent } => {
                self.map(inputs, scores, |x| 1.0 - power(1.0 - x, *exponent));
            }
            Shape::Step { threshold } => {
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

/// By products, in an order that is the same on every machine.
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

// The functions of libm have the same bits on every machine; those of a system have not.
impl Shape {
    #[inline(never)]
    fn slowly_at(&self, x: f32) -> f32 {
        match self {
            Self::Linear { slope, shift } => slope * x + shift,
            Self::Power { exponent } => power(x, *exponent),
            Self::FastThenSlow { exponent } => 1.0 - power(1.0 - x, *exponent),
            Self::PowerReal { exponent } => libm::powf(x, *exponent),
            Self::FastThenSlowReal { exponent } => 1.0 - libm::powf(1.0 - x, *exponent),
            Self::Polynomial { slope, exponent, x_shift, y_shift } => {
                let product = power(x - x_shift, exponent.saturating_abs());
                let power = if *exponent < 0 { 1.0 / product } else { product };
                slope * power + y_shift
            }
            Self::Growth { rate, scale } => (libm::expf(rate * x) - 1.0) * scale,
            Self::Logistic { steepness, midpoint } => {
                1.0 / (1.0 + libm::expf(-steepness * (x - midpoint)))
            }
            Self::Logit { scale, shift } => scale * libm::logf(x / (1.0 - x)) + shift,
            Self::Normal { mean, halved } => libm::expf(-(x - mean) * (x - mean) * halved),
            Self::Sine { cycles, phase } => (1.0 + libm::sinf(TAU * (cycles * x + phase))) / 2.0,
            Self::Step { threshold } => f32::from(u8::from(x >= *threshold)),
            Self::Piecewise(points) => between(points, x),
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
