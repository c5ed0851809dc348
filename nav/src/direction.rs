//! Directions, rings and the rules of movement.
//!
//! The eight cells around a cell form its *ring*. A set of directions, such as the open part of a ring,
//! is one byte with a bit for each direction. The moves that a rule allows depend on the ring alone, so
//! they are looked up in a table of 256 entries per rule instead of being decided move by move.

use crate::cell::Cell;
use bytemuck::{CheckedBitPattern, NoUninit};
use formic_ecs::HashState;

/// One of the eight directions out of a cell.
///
/// The discriminants follow reading order (north-west to south-east), so the opposite of direction `d` is
/// `7 - d`.
///
/// ```
/// use formic_nav::{Cell, Direction};
/// assert_eq!(Direction::North.opposite(), Direction::South);
/// assert_eq!(Direction::East.step(Cell::new(3, 4)), Some(Cell::new(4, 4)));
/// assert_eq!(Direction::West.step(Cell::new(0, 4)), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, NoUninit, CheckedBitPattern, HashState)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(u8)]
#[expect(missing_docs, reason = "the points of the compass need no explanation")]
pub enum Direction {
    NorthWest = 0,
    North = 1,
    NorthEast = 2,
    West = 3,
    East = 4,
    SouthWest = 5,
    South = 6,
    SouthEast = 7,
}

impl Direction {
    /// All directions in the order of their discriminants.
    pub const ALL: [Self; 8] = [
        Self::NorthWest,
        Self::North,
        Self::NorthEast,
        Self::West,
        Self::East,
        Self::SouthWest,
        Self::South,
        Self::SouthEast,
    ];

    /// The opposite direction.
    #[must_use]
    pub const fn opposite(self) -> Self {
        Self::ALL[7 - self as usize]
    }

    /// The columns and rows that one step covers, each -1, 0 or 1.
    #[must_use]
    pub const fn offset(self) -> (i16, i16) {
        OFFSETS[self as usize]
    }

    /// Whether a step changes both column and row.
    #[must_use]
    pub const fn is_diagonal(self) -> bool {
        self.bit() & ORTHOGONAL == 0
    }

    /// The cell one step away, or `None` outside of the range of coordinates.
    #[must_use]
    pub fn step(self, cell: Cell) -> Option<Cell> {
        let (dx, dy) = self.offset();
        Some(Cell { x: cell.x.checked_add_signed(dx)?, y: cell.y.checked_add_signed(dy)? })
    }

    /// The direction of a step between two touching cells, otherwise `None`.
    #[must_use]
    pub fn between(from: Cell, to: Cell) -> Option<Self> {
        Self::ALL.into_iter().find(|direction| direction.step(from) == Some(to))
    }

    /// The set that contains only this direction.
    pub(crate) const fn bit(self) -> u8 {
        1 << self as u8
    }

    /// The cell one step away, for a step that is known to stay inside the grid.
    pub(crate) const fn step_inside(self, cell: Cell) -> Cell {
        let (dx, dy) = self.offset();
        Cell { x: cell.x.wrapping_add_signed(dx), y: cell.y.wrapping_add_signed(dy) }
    }
}

const OFFSETS: [(i16, i16); 8] =
    [(-1, -1), (0, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (0, 1), (1, 1)];

/// The four orthogonal directions as a set.
pub(crate) const ORTHOGONAL: u8 = 1 << 1 | 1 << 3 | 1 << 4 | 1 << 6;

/// The members of a set of directions, in the order of their discriminants.
pub(crate) fn members(mut set: u8) -> impl Iterator<Item = Direction> {
    std::iter::from_fn(move || {
        if set == 0 {
            return None;
        }
        let direction = Direction::ALL[set.trailing_zeros() as usize];
        set &= set - 1;
        Some(direction)
    })
}

/// The rule of which steps are legal between open cells.
///
/// Orthogonal steps always are. The rules differ in what a diagonal step requires of the two orthogonal
/// cells between which it passes.
///
/// ```
/// use formic_nav::MoveRule;
/// assert_eq!(MoveRule::default(), MoveRule::BothFree);
/// ```
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, Debug, Default, NoUninit, CheckedBitPattern, HashState,
)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(u8)]
pub enum MoveRule {
    /// No diagonal steps: four neighbours.
    Orthogonal,
    /// Diagonal if both orthogonal cells are open, so that no step cuts a corner. The rule of the
    /// MovingAI benchmarks.
    #[default]
    BothFree,
    /// Diagonal if at least one of the orthogonal cells is open.
    OneFree,
    /// Diagonal always, even between two blocked cells.
    Always,
}

impl MoveRule {
    /// All rules, for tools and tests.
    pub const ALL: [Self; 4] = [Self::Orthogonal, Self::BothFree, Self::OneFree, Self::Always];

    /// Whether diagonal steps may pass solid cells. Paths and fields support such rules, agents do not.
    #[must_use]
    pub const fn cuts_corners(self) -> bool {
        matches!(self, Self::OneFree | Self::Always)
    }

    /// The connectivity that reachability has under this rule.
    ///
    /// A diagonal that needs an open orthogonal cell has a twin of two
    /// orthogonal steps through that cell, so it connects nothing new. Only
    /// [`MoveRule::Always`] joins cells that touch at a corner alone.
    #[must_use]
    pub const fn connectivity(self) -> Connectivity {
        match self {
            Self::Orthogonal | Self::BothFree | Self::OneFree => Connectivity::Four,
            Self::Always => Connectivity::Eight,
        }
    }

    /// The set of legal directions, for each set of open ring cells.
    pub(crate) const fn table(self) -> &'static [u8; 256] {
        &MOVES[self as usize]
    }
}

/// The connectivity of the cells of a region.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, NoUninit, CheckedBitPattern, HashState)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(u8)]
pub enum Connectivity {
    /// Through sides.
    Four,
    /// Through sides and corners.
    Eight,
}

impl Connectivity {
    /// The directions in which a cell touches its region.
    pub(crate) const fn directions(self) -> u8 {
        match self {
            Self::Four => ORTHOGONAL,
            Self::Eight => u8::MAX,
        }
    }
}

/// The tables of [`MoveRule::ALL`].
static MOVES: [[u8; 256]; 4] =
    [move_table(None), move_table(Some(2)), move_table(Some(1)), move_table(Some(0))];

/// Each diagonal with the two orthogonal directions between which it passes.
const DIAGONALS: [(Direction, Direction, Direction); 4] = [
    (Direction::NorthWest, Direction::North, Direction::West),
    (Direction::NorthEast, Direction::North, Direction::East),
    (Direction::SouthWest, Direction::South, Direction::West),
    (Direction::SouthEast, Direction::South, Direction::East),
];

/// The legal directions for every ring, if a diagonal needs `free_min` open orthogonal cells, or is never
/// legal.
const fn move_table(free_min: Option<u32>) -> [u8; 256] {
    let mut table = [0; 256];
    let mut ring = 0_u8;
    loop {
        let mut moves = ring & ORTHOGONAL;
        if let Some(free_min) = free_min {
            let mut i = 0;
            while i < DIAGONALS.len() {
                let (diagonal, vertical, horizontal) = DIAGONALS[i];
                let free = (ring & (vertical.bit() | horizontal.bit())).count_ones();
                if ring & diagonal.bit() != 0 && free >= free_min {
                    moves |= diagonal.bit();
                }
                i += 1;
            }
        }
        table[ring as usize] = moves;
        if ring == u8::MAX {
            return table;
        }
        ring += 1;
    }
}
