//! The events of regions, for code that keeps data per region.

use bytemuck::{CheckedBitPattern, NoUninit};
use formic_ecs::{CodecError, HashState};
use std::collections::VecDeque;
use std::fmt;
use std::num::NonZeroU32;

use crate::bytes::{Bytes, Saved, bytes_as, bytes_by_field, ensure};

/// The maximum number of events that wait to be drained; older ones are dropped.
pub const EVENTS_MAX: usize = 65_536;

/// The id of a region: a slot and a generation.
///
/// Slots are reused, and generations tell their regions apart: the id of a region that was merged away or
/// removed never names another one. The ids that an edit assigns are a function of the grid at the start
/// and the edits since.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, NoUninit, CheckedBitPattern, HashState,
)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(C)]
pub struct RegionId {
    pub(crate) slot: u32,
    pub(crate) generation: NonZeroU32,
}

impl RegionId {
    /// A small number that no other region has at the same time, to index arrays or choose colours.
    #[must_use]
    pub const fn slot(self) -> usize {
        self.slot as usize
    }
}

impl fmt::Display for RegionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}v{}", self.slot, self.generation)
    }
}

/// A change of the set of regions. A region that only grows or shrinks by the edited cell causes no
/// event; its version changes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, HashState)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum RegionEvent {
    /// A cell was dug to which no other open cell is connected.
    Created {
        /// The new region of one cell.
        region: RegionId,
    },
    /// The last cell of a region was filled.
    Removed {
        /// The region that no longer exists.
        region: RegionId,
    },
    /// A dug cell joined two regions.
    Merged {
        /// The region that remains: the one of more pieces (on maps of more than 1,024 cells along a
        /// side, of more groups of these), or of equals the one of more cells.
        into: RegionId,
        /// The region that no longer exists.
        from: RegionId,
        /// The cells that changed their region.
        cell_count: u32,
    },
    /// A filled cell cut a part off a region.
    Split {
        /// The region that remains.
        from: RegionId,
        /// The new region.
        into: RegionId,
        /// The cells that changed their region.
        cell_count: u32,
    },
}

/// The events that are not drained yet, at most the last [`EVENTS_MAX`].
#[derive(Clone, Debug, Default)]
pub(crate) struct EventLog {
    events: VecDeque<RegionEvent>,
    lost_count: u64,
}

bytes_by_field!(RegionId { slot, generation });

/// The kind of an event, its regions, and its number of cells; of those that it has not, any.
type EventFields = ((u8, u32), (RegionId, RegionId));

bytes_as!(
    RegionEvent as EventFields,
    |event| match *event {
        Self::Created { region } => ((0, 0), (region, region)),
        Self::Removed { region } => ((1, 0), (region, region)),
        Self::Merged { into, from, cell_count } => ((2, cell_count), (into, from)),
        Self::Split { from, into, cell_count } => ((3, cell_count), (from, into)),
    },
    |((kind, cell_count), (one, other))| match kind {
        0 => Some(Self::Created { region: one }),
        1 => Some(Self::Removed { region: one }),
        2 => Some(Self::Merged { into: one, from: other, cell_count }),
        3 => Some(Self::Split { from: one, into: other, cell_count }),
        _ => None,
    }
);

bytes_by_field!(EventLog { lost_count, events });

impl EventLog {
    /// Reads a log of no more events than may wait.
    pub(crate) fn read_short(bytes: &mut &[u8]) -> Saved<Self> {
        let log = Self::read(bytes)?;
        ensure(log.events.len() <= EVENTS_MAX)?;
        Ok(log)
    }

    pub(crate) fn push(&mut self, event: RegionEvent) {
        if self.events.len() == EVENTS_MAX {
            self.events.pop_front();
            self.lost_count += 1;
        }
        self.events.push_back(event);
    }

    pub(crate) fn drain(&mut self) -> impl Iterator<Item = RegionEvent> + '_ {
        self.events.drain(..)
    }

    pub(crate) const fn lost_count(&self) -> u64 {
        self.lost_count
    }
}
