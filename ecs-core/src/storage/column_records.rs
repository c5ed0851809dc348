//! The head of each chunk of an archetype, and the record of each column of it: where it starts, when it
//! was last written, and when rows came to it.

use core::marker::PhantomData;
use core::num::NonZeroU64;
use core::ptr::NonNull;

use super::block::ColumnStart;
use super::directory::{ChunkId, Place};
use crate::entity::Entity;
use crate::sync::{AtomicU64, Ordering};

/// When a query runs: what it stamps with, and what it has seen already. By default it stamps
/// nothing, and everything is new.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChangeWindow {
    /// What is written from now on is stamped with this.
    pub(crate) version: u64,
    /// What was stamped after this is new to the query.
    pub(crate) since: u64,
    /// When any query ran last: no other is going to ask for what is new since anything below, as a rule.
    /// One that does gets the same answer by a longer way.
    pub(crate) newest_run: u64,
    /// Who stamps rows of the same chunk meanwhile, with this version.
    pub(crate) writers: Writers,
    /// Which entities the query is about, if not all of them.
    pub(crate) slice: Option<Slice>,
}

/// The entities whose index leaves the remainder `which` when it is divided by `count`.
///
/// The count is in the upper half, the remainder in the lower: as one number, with none for all
/// entities, it travels in one register.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slice(NonZeroU64);

impl Slice {
    /// `None` for all.
    ///
    /// # Panics
    /// Panics if there is no such slice.
    pub(crate) fn of(count: u32, which: u32) -> Option<Self> {
        assert!(which < count, "slice {which} of {count}");
        let number = u64::from(count) << 32 | u64::from(which);
        NonZeroU64::new(number).filter(|_| count > 1).map(Self)
    }

    /// The rows that are in the slice, of up to 64 entities, as bits.
    pub(crate) fn bits(self, entities: &[Entity]) -> u64 {
        let (count, which) = (self.0.get() >> 32, self.0.get() & u64::from(u32::MAX));
        let is_in = |entity: &Entity| u64::from(u64::from(entity.index()) % count == which);
        entities.iter().enumerate().fold(0, |bits, (row, entity)| bits | is_in(entity) << row)
    }
}

/// Whether several threads stamp with one version.
// As wide as the rest of a window: padding would be copied in pieces that are slow to read back.
#[repr(u64)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Writers {
    #[default]
    One,
    Several,
}

/// Keeps what marks single rows on the thread that made it, where [`Writers::One`] is what it says.
pub(crate) type OneThread = PhantomData<*const ()>;

/// The versions of one column of one chunk.
// Both are atomics, though only structural changes, which have the chunk to themselves, write the
// second: the row that leaves and the one that takes its place may be of one record or of two, which
// is all the same to shared references.
#[derive(Debug, Default)]
pub struct ColumnStamps {
    changed: AtomicU64,
    added: AtomicU64,
}

impl ColumnStamps {
    /// When the column was last opened for writing, or rows of the chunk came or went.
    #[inline]
    pub(crate) fn changed(&self) -> u64 {
        self.changed.load(Ordering::Relaxed)
    }

    /// When the youngest of the components that have been in this chunk came to its entity.
    #[inline]
    pub(crate) fn added(&self) -> u64 {
        self.added.load(Ordering::Relaxed)
    }

    /// Writes down that the column is opened for writing.
    #[inline]
    pub(crate) fn mark(&self, version: u64) {
        // Relaxed: who reads it is ordered after the writer by the schedule or by `&mut World`.
        // Random access stamps a chunk over and over: threads that only look share the line. A
        // slot that comes late does not take back what was written after it.
        if self.changed.load(Ordering::Relaxed) < version {
            self.changed.store(version, Ordering::Relaxed);
        }
    }

    /// Writes down that rows came or went; the components of those that came had come to their
    /// entities at `added` or before.
    #[inline]
    pub(super) fn arrive(&self, version: u64, added: u64) {
        self.changed.store(version, Ordering::Relaxed);
        self.raise_added(added);
    }

    /// The chunk had no rows before: what was in it is forgotten.
    pub(super) fn begin(&self) {
        self.added.store(0, Ordering::Relaxed);
    }

    /// Writes down that components came to entities of the chunk at this version.
    #[inline]
    pub(crate) fn raise_added(&self, version: u64) {
        if self.added() < version {
            self.added.store(version, Ordering::Relaxed);
        }
    }
}

/// A column of a chunk: where it starts, and when it was written.
///
/// Opening a column to write it needs both, so they share a cache line.
#[derive(Debug)]
pub struct ColumnRecord {
    /// Aligned for the column's type, inside the block (I-3). The start of a column without a size
    /// is no memory, but as well aligned.
    start: ColumnStart,
    stamps: ColumnStamps,
}

impl ColumnRecord {
    /// The record of a column whose rows, if it has any, came at `version` with components that came to
    /// their entities at `added`.
    pub(super) fn new(start: ColumnStart, version: u64, added: u64) -> Self {
        let stamps = ColumnStamps { changed: version.into(), added: added.into() };
        Self { start, stamps }
    }

    /// Where the values are. Rows of zero-sized components all lie there.
    #[inline]
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start.0
    }

    /// When the column was written, and when components came to it.
    #[inline]
    pub(crate) fn stamps(&self) -> &ColumnStamps {
        &self.stamps
    }

    /// Writes down that rows came, see [`ColumnStamps::arrive`].
    #[inline]
    pub(super) fn arrive(&self, version: u64, added: u64) {
        self.stamps.arrive(version, added);
    }

    /// Writes down that a row left, and that another one of `filler` took its place: rows of both
    /// went.
    #[inline]
    pub(super) fn leave(&self, filler: &Self, version: u64) {
        self.stamps.arrive(version, filler.stamps.added());
        filler.stamps.arrive(version, 0);
    }
}

/// Where the entities of a chunk are, how many rows are in use, and its number.
///
/// A row that comes or goes needs all of them, so they lie together.
#[derive(Debug)]
pub(super) struct ChunkHead {
    entities: ColumnStart,
    /// Of the rows, so that it has no more than `ROWS_MAX`.
    len: u32,
    /// The number under which the world knows the chunk.
    id: ChunkId,
}

impl ChunkHead {
    /// The head of a chunk without rows.
    pub(super) fn new(entities: ColumnStart, id: ChunkId) -> Self {
        Self { entities, len: 0, id }
    }

    /// How many rows there are.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "no chunk has more than ROWS_MAX rows")]
    pub(super) fn set_len(&mut self, len: usize) {
        debug_assert!(len <= crate::mask::ROWS_MAX);
        self.len = len as u32;
    }

    #[inline]
    pub(super) fn id(&self) -> ChunkId {
        self.id
    }

    /// The word for a row.
    #[inline]
    pub(super) fn place(&self, row: usize) -> Place {
        Place::new(self.id, row)
    }

    /// Where the entity column starts (I-3).
    #[inline]
    pub(super) fn entities(&self) -> NonNull<Entity> {
        self.entities.0.cast()
    }
}
