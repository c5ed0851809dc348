//! What happens to regions, for whoever keeps something per region.

use std::collections::VecDeque;
use std::fmt;
use std::num::NonZeroU32;

/// How many events wait to be drained before the oldest are forgotten.
pub const EVENTS_MAX: usize = 65_536;

/// A region, by slot and generation.
///
/// Slots are used again, generations make the difference: the id of a region
/// that was merged away or removed names nothing ever after. Which ids an edit
/// hands out is a function of the grid at the start and the edits since.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RegionId {
    pub(crate) slot: u32,
    pub(crate) generation: NonZeroU32,
}

impl RegionId {
    /// A small number that no other region has at the same time, to index arrays
    /// or choose colours with.
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

/// A change of the set of regions. Regions that merely grow or shrink by the
/// edited cell make no event; their version moves on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RegionEvent {
    /// A cell was dug that touches no other open cell.
    Created {
        /// The new region of one cell.
        region: RegionId,
    },
    /// The last cell of a region was filled.
    Removed {
        /// The region that is no more.
        region: RegionId,
    },
    /// A dug cell joined two regions.
    Merged {
        /// The region that goes on, which was the larger one.
        into: RegionId,
        /// The region that is no more.
        from: RegionId,
        /// The cells that changed their region.
        cell_count: u32,
    },
    /// A filled cell cut a piece off a region.
    Split {
        /// The region that goes on.
        from: RegionId,
        /// The new region.
        into: RegionId,
        /// The cells that changed their region.
        cell_count: u32,
    },
}

/// The events that nobody has drained yet, the last [`EVENTS_MAX`] at most.
#[derive(Clone, Debug, Default)]
pub(crate) struct EventLog {
    events: VecDeque<RegionEvent>,
    lost_count: u64,
}

impl EventLog {
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
