//! Exact path costs in integers.
//!
//! A diagonal is the square root of two times as long as a straight step, and floating-point sums of the
//! two depend on the order of addition. Costs here are integers instead: 33,461 for a straight step and
//! 47,321 for a diagonal, from the Pell convergents of sqrt 2. By the best-approximation property of
//! convergents, sums of these order exactly as `a + b * sqrt 2` does while two paths differ by fewer than
//! 33,461 diagonals. So searches of different kinds agree to the bit on what is optimal.

use bytemuck::{CheckedBitPattern, NoUninit, Pod, Zeroable};
use formic_ecs::{CodecError, HashState};
use std::fmt;
use std::num::NonZeroU8;
use std::ops::{Add, AddAssign};

use crate::bytes::{Bytes, Saved, bytes_as};
use crate::cell::Cell;
use crate::direction::{Direction, MoveRule};

/// The cost of a straight step between cells of weight one.
pub const STRAIGHT: u32 = 33_461;
/// The cost of a diagonal step between cells of weight one.
pub const DIAGONAL: u32 = 47_321;

/// The units of a step in each direction between cells of weight one.
pub(crate) const LENGTHS: [u64; 8] = {
    let mut lengths = [STRAIGHT as u64; 8];
    let mut i = 0;
    while i < lengths.len() {
        if Direction::ALL[i].is_diagonal() {
            lengths[i] = DIAGONAL as u64;
        }
        i += 1;
    }
    lengths
};

/// The exclusive upper bound of costs and estimates in searches by jumps, which have 40 bits for them.
pub(crate) const JUMP_COST_END: u64 = 1 << 40;

/// The cost of a path, in units of which a straight step has [`STRAIGHT`].
///
/// It is 64 bits wide, because a winding corridor on a large map overflows 32.
///
/// ```
/// use formic_nav::{Cost, DIAGONAL, STRAIGHT};
/// let cost = Cost::from_units(u64::from(2 * STRAIGHT + DIAGONAL));
/// assert!((cost.length() - (2.0 + 2_f64.sqrt())).abs() < 1e-9);
/// ```
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Pod, Zeroable, HashState,
)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(transparent)]
pub struct Cost(u64);

impl Cost {
    /// The cost of standing still.
    pub const ZERO: Self = Self(0);

    /// Creates a cost of this many units.
    #[must_use]
    pub const fn from_units(units: u64) -> Self {
        Self(units)
    }

    /// The cost of `length` cells over ground of one weight, rounded.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "lengths of ways")]
    pub(crate) fn of_length(length: f64, factor: u64) -> Self {
        Self((length * f64::from(STRAIGHT)).round() as u64 * factor)
    }

    /// The exact number of units.
    #[must_use]
    pub const fn units(self) -> u64 {
        self.0
    }

    /// The cost in cell widths, for people and for comparison with other tools.
    ///
    /// The ratio 47,321 / 33,461 is sqrt 2 to within 4e-10.
    #[must_use]
    pub fn length(self) -> f64 {
        // Costs of maps stay far below 2^53, so the conversion is exact.
        self.0 as f64 / f64::from(STRAIGHT)
    }
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", self.length())
    }
}

/// The weight of a cell: how hard it is to cross, from 1 (ordinary) to 255.
///
/// A step costs its length times the weight of the *heavier* of its two cells. The rule is symmetric, so
/// a path costs the same in both directions, and it stays in integers.
///
/// ```
/// use formic_nav::Weight;
/// assert_eq!(Weight::new(3).unwrap().get(), 3);
/// assert_eq!(Weight::new(0), None); // solid is not a weight
/// ```
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, NoUninit, CheckedBitPattern, HashState,
)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(transparent)]
pub struct Weight(NonZeroU8);

bytes_as!(Weight as u8, |it| it.get(), Self::new);

impl Weight {
    /// The weight of ordinary ground.
    pub const ONE: Self = Self(NonZeroU8::MIN);

    /// Creates a weight. Returns `None` for zero: whether a cell can be crossed at all is its
    /// passability, which is separate from its weight.
    #[must_use]
    pub const fn new(value: u8) -> Option<Self> {
        match NonZeroU8::new(value) {
            Some(value) => Some(Self(value)),
            None => None,
        }
    }

    /// The weight as a number.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0.get()
    }

    /// This weight as a factor of costs.
    pub(crate) fn factor(self) -> u64 {
        u64::from(self.get())
    }
}

impl Default for Weight {
    fn default() -> Self {
        Self::ONE
    }
}

/// The least cost in units between two cells under a rule, if all cells were open and every weight were
/// one.
///
/// This is the octile distance, or the Manhattan distance if there are no diagonals. One of the cells may
/// lie far outside of any grid.
pub(crate) fn distance_units(rule: MoveRule, from: Cell, to: Cell) -> u64 {
    let (dx, dy) = (u64::from(from.x.abs_diff(to.x)), u64::from(from.y.abs_diff(to.y)));
    let (straight, diagonal) = (u64::from(STRAIGHT), u64::from(DIAGONAL));
    match rule {
        MoveRule::Orthogonal => straight * (dx + dy),
        _ => straight * dx.max(dy) + (diagonal - straight) * dx.min(dy),
    }
}
