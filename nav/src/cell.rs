//! Cells: the squares of a grid, identified by column and row.

use bytemuck::{Pod, Zeroable};
use formic_ecs::HashState;
use std::cmp::Ordering;
use std::fmt;

use glam::Vec2;

use crate::bytes::{Bytes, Saved, bytes_by_field};

/// A square of a grid: column `x` grows to the east, row `y` to the south.
///
/// `(0, 0)` is an ordinary cell, the first byte of the first row of a map file; "no cell" is an
/// `Option<Cell>`. Cells are ordered row by row. A cell does not know its grid: ask the grid whether it
/// lies inside.
///
/// ```
/// use formic_nav::Cell;
/// let mut cells = [Cell::new(0, 1), Cell::new(5, 0)];
/// cells.sort();
/// assert_eq!(cells[0], Cell::new(5, 0));
/// assert_eq!(cells[0].to_string(), "(5, 0)");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Pod, Zeroable, HashState)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(C)]
pub struct Cell {
    /// Column, 0 at the west edge.
    pub x: u16,
    /// Row, 0 at the north edge.
    pub y: u16,
}

bytes_by_field!(Cell { x, y });

impl Cell {
    /// Creates the cell in column `x` and row `y`.
    #[must_use]
    pub const fn new(x: u16, y: u16) -> Self {
        Self { x, y }
    }

    /// The centre of this cell in map units, where one cell is one unit wide.
    ///
    /// ```
    /// # use formic_nav::Cell;
    /// assert_eq!(Cell::new(2, 7).centre(), glam::Vec2::new(2.5, 7.5));
    /// ```
    #[must_use]
    pub fn centre(self) -> Vec2 {
        Vec2::new(f32::from(self.x) + 0.5, f32::from(self.y) + 0.5)
    }

    /// The cell that contains a position. `None` if no cell can be there: left of or above the origin, or
    /// beyond column or row 65,535, or if it is not a number.
    ///
    /// A position on the line between two cells belongs to the eastern or southern one.
    ///
    /// ```
    /// # use formic_nav::Cell;
    /// use glam::Vec2;
    /// assert_eq!(Cell::containing(Vec2::new(2.9, 0.0)), Some(Cell::new(2, 0)));
    /// assert_eq!(Cell::containing(Vec2::new(-0.1, 0.0)), None);
    /// assert_eq!(Cell::containing(Vec2::NAN), None);
    /// ```
    #[must_use]
    pub fn containing(position: Vec2) -> Option<Self> {
        Some(Self { x: whole_part(position.x)?, y: whole_part(position.y)? })
    }

    /// The cell nearest to a position, which may be outside of all cells; `None` if it is not a number.
    #[expect(clippy::cast_possible_truncation, reason = "the conversion saturates")]
    pub(crate) fn nearest_to(position: Vec2) -> Option<Self> {
        // Casts saturate: values that are too small become zero, and values that are too large the
        // maximum.
        (!position.is_nan()).then_some(Self { x: position.x as u16, y: position.y as u16 })
    }

    /// Row and column in one word that has the order of cells.
    pub(crate) const fn to_bits(self) -> u32 {
        (self.y as u32) << 16 | self.x as u32
    }

    /// The inverse of [`Cell::to_bits`].
    #[expect(clippy::cast_possible_truncation, reason = "the two halves are taken apart")]
    pub(crate) const fn from_bits(bits: u32) -> Self {
        Self { x: bits as u16, y: (bits >> 16) as u16 }
    }
}

impl Ord for Cell {
    fn cmp(&self, other: &Self) -> Ordering {
        self.to_bits().cmp(&other.to_bits())
    }
}

impl PartialOrd for Cell {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.x, self.y)
    }
}

/// The coordinate of the row or column of cells that contains `value`.
#[expect(clippy::cast_possible_truncation, reason = "the range is tested first")]
fn whole_part(value: f32) -> Option<u16> {
    // The range test is also false for NaN, so no separate test is needed.
    (0.0..65_536.0).contains(&value).then_some(value as u16)
}
