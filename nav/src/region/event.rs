//! The events of regions, for code that keeps data per region.

use bytemuck::{CheckedBitPattern, NoUninit};
use formic_ecs::HashState;
use std::collections::VecDeque;
use std::fmt;
use std::num::NonZeroU32;

use formic_ecs::CodecError;

use crate::bytes::{Saved, get, get_count, get_u32, put, take};

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
    /// A cell was dug that touches no other open cell.
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

impl RegionId {
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        put(out, u64::from(self.slot) << 32 | u64::from(self.generation.get()));
    }

    pub(crate) fn read(bytes: &mut &[u8]) -> Saved<Self> {
        let bits = get(bytes)?;
        let slot = u32::try_from(bits >> 32).map_err(|_| CodecError)?;
        let generation = u32::try_from(bits & 0xFFFF_FFFF).map_err(|_| CodecError)?;
        Ok(Self { slot, generation: NonZeroU32::new(generation).ok_or(CodecError)? })
    }
}

impl EventLog {
    /// Writes for each event its kind, two regions and a number, each 0 if it has none.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        put(out, self.lost_count);
        put(out, self.events.len() as u64);
        for event in &self.events {
            let (kind, one, other, count) = match *event {
                RegionEvent::Created { region } => (0, region, region, 0),
                RegionEvent::Removed { region } => (1, region, region, 0),
                RegionEvent::Merged { into, from, cell_count } => (2, into, from, cell_count),
                RegionEvent::Split { from, into, cell_count } => (3, from, into, cell_count),
            };
            out.push(kind);
            one.write(out);
            other.write(out);
            put(out, count.into());
        }
    }

    pub(crate) fn read(bytes: &mut &[u8]) -> Saved<Self> {
        let mut log = Self { events: VecDeque::new(), lost_count: get(bytes)? };
        for _ in 0..get_count(bytes, 25)?.min(EVENTS_MAX) {
            let [kind] = take(bytes)?;
            let (one, other) = (RegionId::read(bytes)?, RegionId::read(bytes)?);
            let cell_count = get_u32(bytes)?;
            log.events.push_back(match kind {
                0 => RegionEvent::Created { region: one },
                1 => RegionEvent::Removed { region: one },
                2 => RegionEvent::Merged { into: one, from: other, cell_count },
                3 => RegionEvent::Split { from: one, into: other, cell_count },
                _ => return Err(CodecError),
            });
        }
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
