//! The head of each chunk of an archetype, and the record of each of its columns: its start, the version
//! of the last write, and the version at which components were last added.

use core::marker::PhantomData;
use core::num::NonZeroU64;
use core::ptr::NonNull;

use super::block::ColumnStart;
use super::directory::{ChunkId, Place};
use crate::entity::Entity;
use crate::sync::{AtomicU64, Ordering};

/// The versions that a query runs with: the one that it stamps with, and the last one that it has seen.
/// By default it stamps nothing, and everything is new to it.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChangeWindow {
    /// The version with which writes are stamped.
    pub(crate) version: u64,
    /// Writes stamped above this version are new to the query.
    pub(crate) since: u64,
    /// The version at which any query last ran. As a rule no query asks for what is new since a lower
    /// version. One that does gets the same answer, but more slowly.
    pub(crate) newest_run: u64,
    /// Whether several threads stamp rows of the same chunk with this version at the same time.
    pub(crate) writers: Writers,
    /// The shard of the entities that the query visits, if not all of them.
    pub(crate) shard: Option<Shard>,
}

/// The entities whose index leaves the remainder `which` when divided by `count`.
///
/// The count is in the upper half, the remainder in the lower. As one number, with `None` for all
/// entities, it is passed in one register.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shard(NonZeroU64);

impl Shard {
    /// Creates a shard; `None` stands for all entities.
    ///
    /// # Panics
    /// Panics if `which` is not below `count`.
    pub(crate) fn of(count: u32, which: u32) -> Option<Self> {
        assert!(which < count, "shard {which} of {count}");
        let number = u64::from(count) << 32 | u64::from(which);
        NonZeroU64::new(number).filter(|_| count > 1).map(Self)
    }

    /// Returns the rows of up to 64 entities that are in the shard, as bits.
    pub(crate) fn bits(self, entities: &[Entity]) -> u64 {
        let (count, which) = (self.0.get() >> 32, self.0.get() & u64::from(u32::MAX));
        let is_in = |entity: &Entity| u64::from(u64::from(entity.index()) % count == which);
        entities.iter().enumerate().fold(0, |bits, (row, entity)| bits | is_in(entity) << row)
    }
}

/// Whether several threads stamp with one version.
// As wide as the other fields of a window: padding would be copied in pieces, which are slow to read
// back.
#[repr(u64)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Writers {
    #[default]
    One,
    Several,
}

/// A marker that keeps a value that stamps single rows on the thread that created it, for which
/// [`Writers::One`] is true.
pub(crate) type OneThread = PhantomData<*const ()>;

/// The versions of one column of one chunk.
// Both are atomics, although the second is written only by structural changes, which have exclusive
// access to the chunk. The row that leaves and the row that takes its place may belong to one record or
// to two; shared references allow for both.
#[derive(Debug, Default)]
pub struct ColumnStamps {
    changed: AtomicU64,
    added: AtomicU64,
}

impl ColumnStamps {
    /// Returns the version at which the column was last opened for writing, or rows of the chunk came or
    /// left.
    #[inline]
    pub(crate) fn changed(&self) -> u64 {
        self.changed.load(Ordering::Relaxed)
    }

    /// Returns the latest version at which a component that has been in this chunk was added to its
    /// entity.
    #[inline]
    pub(crate) fn added(&self) -> u64 {
        self.added.load(Ordering::Relaxed)
    }

    /// Notes that the column is opened for writing.
    #[inline]
    pub(crate) fn mark(&self, version: u64) {
        // Relaxed: a reader is ordered after the writer by the schedule or by `&mut World`. Random access
        // stamps the same chunk repeatedly; threads that only read share the cache line. A version slot
        // that comes late does not undo a later stamp.
        if self.changed.load(Ordering::Relaxed) < version {
            self.changed.store(version, Ordering::Relaxed);
        }
    }

    /// Notes that rows came or left. The components of rows that came were added to their entities at
    /// `added` or before.
    #[inline]
    pub(super) fn arrive(&self, version: u64, added: u64) {
        self.changed.store(version, Ordering::Relaxed);
        self.raise_added(added);
    }

    /// Forgets the previous contents of the chunk, which had no rows until now.
    pub(super) fn begin(&self) {
        self.added.store(0, Ordering::Relaxed);
    }

    /// Notes that components were added to entities of the chunk at this version.
    #[inline]
    pub(crate) fn raise_added(&self, version: u64) {
        if self.added() < version {
            self.added.store(version, Ordering::Relaxed);
        }
    }
}

/// The record of a column of a chunk: its start and its versions.
///
/// Opening a column for writing needs both, so they are stored together.
#[derive(Debug)]
pub struct ColumnRecord {
    /// An address inside the block, aligned for the column's type (I-3). The start of a column of
    /// zero-sized values has the same alignment but belongs to no memory.
    start: ColumnStart,
    stamps: ColumnStamps,
}

impl ColumnRecord {
    /// Creates the record of a column. Its rows, if it has any, came at `version`, with components that
    /// were added to their entities at `added`.
    pub(super) fn new(start: ColumnStart, version: u64, added: u64) -> Self {
        let stamps = ColumnStamps { changed: version.into(), added: added.into() };
        Self { start, stamps }
    }

    /// Returns the address of the first value. All values of a zero-sized component share it.
    #[inline]
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start.0
    }

    /// Returns the versions of the column.
    #[inline]
    pub(crate) fn stamps(&self) -> &ColumnStamps {
        &self.stamps
    }

    /// Notes that rows came, see [`ColumnStamps::arrive`].
    #[inline]
    pub(super) fn arrive(&self, version: u64, added: u64) {
        self.stamps.arrive(version, added);
    }

    /// Notes that a row left, and that a row of `filler` took its place: both columns have changed.
    #[inline]
    pub(super) fn leave(&self, filler: &Self, version: u64) {
        self.stamps.arrive(version, filler.stamps.added());
        filler.stamps.arrive(version, 0);
    }
}

/// The head of a chunk: the start of its entities, its number of rows, and its number in the world.
///
/// A row that comes or leaves needs all three, so they are stored together.
#[derive(Debug)]
pub(super) struct ChunkHead {
    entities: ColumnStart,
    /// The number of rows, at most `ROWS_MAX`.
    len: u32,
    /// The number by which the world identifies the chunk.
    id: ChunkId,
}

impl ChunkHead {
    /// Creates the head of a chunk without rows.
    pub(super) fn new(entities: ColumnStart, id: ChunkId) -> Self {
        Self { entities, len: 0, id }
    }

    /// Returns the number of rows.
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

    /// Returns the place of a row.
    #[inline]
    pub(super) fn place(&self, row: usize) -> Place {
        Place::new(self.id, row)
    }

    /// Returns the start of the entity column (I-3).
    #[inline]
    pub(super) fn entities(&self) -> NonNull<Entity> {
        self.entities.0.cast()
    }
}
