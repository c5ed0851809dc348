//! The changes of a grid, and their versions.

use bytemuck::{CheckedBitPattern, NoUninit, Pod, Zeroable};
use formic_ecs::HashState;
use std::collections::VecDeque;
use std::fmt;

use formic_ecs::{Codec, CodecError};

use crate::bytes::{Bytes, Saved, bytes_as, bytes_by_field, codec, ensure};
use crate::cell::Cell;
use crate::cost::Weight;

/// The number of changes that a grid remembers.
pub const CHANGES_MAX: usize = 4096;

/// The version of a grid: the number of its changes, and a hash of its origin and of all changes.
///
/// Two grids have equal versions if and only if they began alike and have seen the same changes, except
/// for one chance in 2^63. So code that derived something from one grid notices when it is given another.
/// Of two versions of one grid, the later is greater.
///
/// ```
/// use formic_nav::{Cell, Grid};
/// let (mut a, mut b) = (Grid::solid(4, 4)?, Grid::solid(4, 4)?);
/// assert_eq!(a.version(), b.version());
/// a.dig(Cell::new(1, 1));
/// b.dig(Cell::new(2, 2));
/// assert_ne!(a.version(), b.version());
/// assert_eq!(a.version().get(), b.version().get());
/// assert!(a.changes_since(b.version()).is_none()); // of another history
/// # Ok::<(), formic_nav::GridSizeError>(())
/// ```
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Pod, Zeroable, HashState,
)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(C)]
pub struct GridVersion {
    count: u64,
    history: u64,
}

bytes_by_field!(GridVersion { count, history });

impl GridVersion {
    /// The version of nothing, which no grid has.
    pub const ZERO: Self = Self { count: 0, history: 0 };

    /// The number of changes.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.count
    }

    /// The format of a version in a saved game, beside what was derived from a grid.
    pub const CODEC: Codec<Self> = codec();

    /// The version after an event, described by this number, that is not a change.
    fn told(self, number: u64) -> Self {
        // The odd constant is 2^64 divided by the golden ratio. Zero is reserved for no grid.
        let mixed = (self.history ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Self { history: (mixed ^ mixed >> 32).wrapping_add(number) | 1, ..self }
    }
}

impl fmt::Display for GridVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.count)
    }
}

/// One change of one cell.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, HashState)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Change {
    /// The version of the grid after the change.
    pub version: GridVersion,
    /// The cell that changed.
    pub cell: Cell,
    /// The kind of the change.
    pub kind: ChangeKind,
}

/// The kind of a change.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, NoUninit, CheckedBitPattern, HashState)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(u8)]
pub enum ChangeKind {
    /// The cell was solid and is open now.
    Dug,
    /// The cell was open and is solid now.
    Filled,
    /// The weight of the cell changed.
    Weighed,
}

bytes_as!(ChangeKind as u8, |kind| *kind as u8, |kind| [Self::Dug, Self::Filled, Self::Weighed]
    .get(usize::from(kind))
    .copied());

/// The last [`CHANGES_MAX`] changes, with consecutive versions.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChangeLog {
    changes: VecDeque<Change>,
    /// The version before the oldest remembered change.
    base: GridVersion,
    version: GridVersion,
}

impl Bytes for ChangeLog {
    /// Writes the version before the oldest change, and for each change its history, cell and kind.
    fn write(&self, out: &mut Vec<u8>) {
        self.base.write(out);
        let changes = self.changes.iter();
        let changes = changes.map(|change| (change.version.history, (change.cell, change.kind)));
        changes.collect::<Vec<_>>().write(out);
    }

    fn read(bytes: &mut &[u8]) -> Saved<Self> {
        let base = GridVersion::read(bytes)?;
        // There is room to count on.
        ensure(base.count <= u64::MAX / 2)?;
        let mut log = Self { changes: VecDeque::new(), base, version: base };
        let changes = Vec::<(u64, (Cell, ChangeKind))>::read(bytes)?;
        ensure(changes.len() <= CHANGES_MAX)?;
        for (history, (cell, kind)) in changes {
            log.version = GridVersion { count: log.version.count + 1, history };
            log.changes.push_back(Change { version: log.version, cell, kind });
        }
        Ok(log)
    }
}

impl ChangeLog {
    /// The cells of the changes.
    pub(crate) fn cells(&self) -> impl Iterator<Item = Cell> + '_ {
        self.changes.iter().map(|change| change.cell)
    }

    pub(crate) fn version(&self) -> GridVersion {
        self.version
    }

    /// Starts another history, given by numbers that describe the grid, and forgets the changes before.
    pub(crate) fn begin(&mut self, numbers: impl IntoIterator<Item = u64>) {
        self.changes.clear();
        self.version = numbers.into_iter().fold(self.version, GridVersion::told);
        self.base = self.version;
    }

    pub(crate) fn push(&mut self, cell: Cell, kind: ChangeKind, weight: Weight) {
        if self.changes.len() == CHANGES_MAX {
            if let Some(oldest) = self.changes.pop_front() {
                self.base = oldest.version;
            }
        }
        let place = u64::from(cell.x) << 16 | u64::from(cell.y);
        let number = place << 16 | u64::from(weight.get()) << 8 | kind as u64;
        self.version = self.version.told(number);
        self.version.count += 1;
        self.changes.push_back(Change { version: self.version, cell, kind });
    }

    /// The changes after `version`, oldest first. `None` if some of them are forgotten already, or if the
    /// version is of another history.
    pub(crate) fn since(&self, version: GridVersion) -> Option<impl Iterator<Item = Change> + '_> {
        let missed = usize::try_from(self.version.count.checked_sub(version.count)?).ok()?;
        let known = self.changes.len().checked_sub(missed)?;
        let before = known.checked_sub(1).map_or(self.base, |last| self.changes[last].version);
        (before == version).then(|| self.changes.range(known..).copied())
    }
}
