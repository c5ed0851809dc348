//! What changed on a grid, and when.

use std::collections::VecDeque;
use std::fmt;

use crate::cell::Cell;

/// How many changes a grid remembers.
pub const CHANGES_MAX: usize = 4096;

/// The number of changes a grid has seen: it grows by one with each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct GridVersion(u64);

impl GridVersion {
    /// The version of a grid that has seen no changes.
    pub const ZERO: Self = Self(0);

    /// A version that no grid ever has.
    pub(crate) const NEVER: Self = Self(u64::MAX);

    /// The version as a number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for GridVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// One change of one cell.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Change {
    /// The version of the grid once the change was made.
    pub version: GridVersion,
    /// The cell that changed.
    pub cell: Cell,
    /// What happened to it.
    pub kind: ChangeKind,
}

/// What happened to a cell.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ChangeKind {
    /// It was solid and is open now.
    Dug,
    /// It was open and is solid now.
    Filled,
    /// Its weight changed.
    Weighed,
}

/// The last [`CHANGES_MAX`] changes, of versions without a gap.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChangeLog {
    changes: VecDeque<Change>,
    version: GridVersion,
}

impl ChangeLog {
    pub(crate) fn version(&self) -> GridVersion {
        self.version
    }

    pub(crate) fn push(&mut self, cell: Cell, kind: ChangeKind) {
        if self.changes.len() == CHANGES_MAX {
            self.changes.pop_front();
        }
        self.version = GridVersion(self.version.0 + 1);
        self.changes.push_back(Change { version: self.version, cell, kind });
    }

    /// The changes after `version`, oldest first, or `None` if some of them are
    /// forgotten already.
    pub(crate) fn since(&self, version: GridVersion) -> Option<impl Iterator<Item = Change> + '_> {
        // A version of the future has seen everything.
        let missed = usize::try_from(self.version.0.saturating_sub(version.0)).ok()?;
        let known = self.changes.len().checked_sub(missed)?;
        Some(self.changes.range(known..).copied())
    }
}
