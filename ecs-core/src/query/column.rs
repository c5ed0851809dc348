//! Columns of an opened chunk, and the right to rows of it: from addresses to references.
#![expect(unsafe_code, reason = "turns columns into references and slices")]

use core::fmt;
use core::marker::PhantomData;
use core::ops::Range;
use core::ptr::NonNull;

use crate::archetype::Archetype;
use crate::component::Component;
use crate::storage::{ChunkVersions, Chunks, ColumnRecord, ColumnStamps};
use crate::sync::{AtomicU64, Ordering};

/// The right to one row of an opened chunk, in all columns that a query asks for.
///
/// Whoever makes one vouches for it once; what [`QueryData`](super::QueryData) does with it is
/// safe code. It is copied for the members of a tuple, which are about different components, or
/// only read (I-11).
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct RowRight<'a> {
    row: usize,
    marker: PhantomData<&'a mut ()>,
}

impl fmt::Debug for RowRight<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RowRight").field(&self.row).finish()
    }
}

impl RowRight<'_> {
    /// # Safety
    /// It is shown only to the fetch of one chunk, of one query: the row is below the length of that
    /// chunk, the caller has the right to what the query's access names for `'a` (I-10), and no
    /// other item of the same row exists while what this one gives is used, unless all of them
    /// only read (I-11).
    #[inline]
    pub(crate) unsafe fn new(row: usize) -> Self {
        Self { row, marker: PhantomData }
    }

    /// The row itself.
    #[inline]
    pub(crate) fn row(self) -> usize {
        self.row
    }
}

/// The right to a run of rows, as [`RowRight`] is to one.
#[doc(hidden)]
#[derive(Clone)]
pub struct RunRight<'a> {
    rows: Range<usize>,
    marker: PhantomData<&'a mut ()>,
}

impl fmt::Debug for RunRight<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RunRight").field(&self.rows).finish()
    }
}

impl RunRight<'_> {
    /// # Safety
    /// As for [`RowRight::new`], for each of the rows.
    #[inline]
    pub(crate) unsafe fn new(rows: Range<usize>) -> Self {
        Self { rows, marker: PhantomData }
    }

    /// The rows themselves.
    #[inline]
    pub(crate) fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }
}

impl<'a> RunRight<'a> {
    /// The right to each of the rows.
    #[inline]
    pub(crate) fn into_rows(self) -> impl Iterator<Item = RowRight<'a>> {
        // SAFETY: whoever made this vouched for each row (`new`, I-10); each comes up once (I-11).
        self.rows.map(|row| unsafe { RowRight::new(row) })
    }
}

/// The values of a component in an opened chunk.
#[doc(hidden)]
pub struct Values<'w, T> {
    start: NonNull<T>,
    marker: PhantomData<&'w [T]>,
}

impl<T> Clone for Values<'_, T> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Values<'_, T> {}

impl<T> fmt::Debug for Values<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Values").field(&self.start).finish()
    }
}

impl<'w, T: Component> Values<'w, T> {
    /// The column of `T` in a chunk; the caller has found it by the id of `T`.
    #[inline]
    pub(crate) fn open(record: &'w ColumnRecord) -> Self {
        Self { start: record.start().cast(), marker: PhantomData }
    }

    /// Those of no chunk, to which there is no right.
    pub(crate) fn nothing() -> Self {
        Self { start: NonNull::dangling(), marker: PhantomData }
    }

    /// The column that `run` has some rows of: those that the right is to.
    #[inline]
    pub(crate) fn of_run(run: &'w [T], right: &RunRight<'w>) -> Self {
        debug_assert_eq!(run.len(), right.rows.len());
        // SAFETY: the run was made by `read_run` with this right (`QueryData`), so as many rows as
        // the first one's number lie before it in the same block (I-3).
        let start = unsafe { NonNull::from(run).cast::<T>().sub(right.rows.start) };
        Self { start, marker: PhantomData }
    }

    /// [`of_run`](Self::of_run) for one that is written.
    #[inline]
    pub(crate) fn of_run_mut(run: &'w mut [T], right: &RunRight<'w>) -> Self {
        debug_assert_eq!(run.len(), right.rows.len());
        // SAFETY: the run was made by `write_run` with this right (`QueryData`), so as many rows as
        // the first one's number lie before it in the same block (I-3).
        let start = unsafe { NonNull::from(run).cast::<T>().sub(right.rows.start) };
        Self { start, marker: PhantomData }
    }

    /// One value, to be read.
    #[inline]
    pub(crate) fn read<'a>(self, right: RowRight<'a>) -> &'a T
    where
        'w: 'a,
    {
        // SAFETY: the right is to a row of this chunk (`RowRight::new`), so it is inside the column
        // (I-3), which holds values of T (I-9).
        let value = unsafe { self.start.add(right.row) };
        // SAFETY: the row is initialised (I-2), and the right allows to read it (I-10).
        unsafe { value.as_ref() }
    }

    /// One value, to be written. The query's access names `T` as written.
    #[inline]
    pub(crate) fn write<'a>(self, right: RowRight<'a>) -> &'a mut T
    where
        'w: 'a,
    {
        // SAFETY: the right is to a row of this chunk (`RowRight::new`), so it is inside the column
        // (I-3), which holds values of T (I-9).
        let mut value = unsafe { self.start.add(right.row) };
        // SAFETY: the row is initialised (I-2); the right allows to write it (I-10), and nobody
        // else holds it (I-11).
        unsafe { value.as_mut() }
    }

    /// A run of values, to be read.
    #[inline]
    pub(crate) fn read_run<'a>(self, right: &RunRight<'a>) -> &'a [T]
    where
        'w: 'a,
    {
        // SAFETY: the right is to rows of this chunk (`RunRight::new`), so they are inside the
        // column (I-3).
        let start = unsafe { self.start.add(right.rows.start) };
        // SAFETY: the rows are initialised (I-2) values of T (I-9) that may be read (I-10).
        unsafe { core::slice::from_raw_parts(start.as_ptr(), right.rows.len()) }
    }

    /// A run of values, to be written. The query's access names `T` as written.
    #[inline]
    pub(crate) fn write_run<'a>(self, right: &RunRight<'a>) -> &'a mut [T]
    where
        'w: 'a,
    {
        // SAFETY: the right is to rows of this chunk (`RunRight::new`), so they are inside the
        // column (I-3).
        let start = unsafe { self.start.add(right.rows.start) };
        // SAFETY: the rows are initialised (I-2) values of T (I-9) that may be written (I-10) and
        // that nobody else holds (I-11).
        unsafe { core::slice::from_raw_parts_mut(start.as_ptr(), right.rows.len()) }
    }
}

/// The right to go through doors, and the archetypes that they lead to.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct DoorRight<'w>(&'w [Archetype]);

impl<'w> DoorRight<'w> {
    /// # Safety
    /// The doors that it is shown to were made from chunks of these archetypes, and nothing that they
    /// lead to has left its address since (I-23).
    #[inline]
    pub(crate) unsafe fn new(archetypes: &'w [Archetype]) -> Self {
        Self(archetypes)
    }
}

/// Where a component is in one chunk, worked out before it is known whether anybody asks. It is kept
/// beyond the borrow of the chunks, and worth nothing without a [`DoorRight`].
///
/// Doors are equal where they lead to the same addresses.
#[doc(hidden)]
#[derive(Debug)]
pub struct ValuesDoor<T>(NonNull<T>);

impl<T> Clone for ValuesDoor<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for ValuesDoor<T> {}

impl<T> PartialEq for ValuesDoor<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

// SAFETY: an address of what may be used from any thread (I-22), which is got at by a right alone
// (I-23).
unsafe impl<T: Component> Send for ValuesDoor<T> {}
// SAFETY: as for `Send` (I-22, I-23).
unsafe impl<T: Component> Sync for ValuesDoor<T> {}

impl<T: Component> ValuesDoor<T> {
    #[inline]
    pub(crate) fn new(record: &ColumnRecord) -> Self {
        Self(record.start().cast())
    }

    /// The column.
    #[inline]
    pub(crate) fn values<'w>(&self, _right: DoorRight<'w>) -> Values<'w, T> {
        Values { start: self.0, marker: PhantomData }
    }
}

/// The same for a component that is written, with its stamps and the versions of its rows.
///
/// The start is in the record as well as the stamps are; kept apart it is there a step earlier.
#[doc(hidden)]
#[derive(Debug)]
pub struct ColumnDoor<T> {
    values: ValuesDoor<T>,
    /// The last version that the column was stamped with by way of this door: the column has this
    /// stamp or a later one, since stamps only go up while it stays where it is.
    stamped: AtomicU64,
    stamps: NonNull<ColumnStamps>,
    rows: Option<NonNull<ChunkVersions>>,
}

impl<T> PartialEq for ColumnDoor<T> {
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values && self.stamps == other.stamps && self.rows == other.rows
    }
}

// SAFETY: addresses of what may be used from any thread (I-22), which is got at by a right alone
// (I-23).
unsafe impl<T: Component> Send for ColumnDoor<T> {}
// SAFETY: as for `Send` (I-22, I-23).
unsafe impl<T: Component> Sync for ColumnDoor<T> {}

impl<T: Component> ColumnDoor<T> {
    #[inline]
    pub(crate) fn new(record: &ColumnRecord, rows: Option<&ChunkVersions>) -> Self {
        Self {
            values: ValuesDoor::new(record),
            stamped: AtomicU64::new(0),
            stamps: NonNull::from(record.stamps()),
            rows: rows.map(NonNull::from),
        }
    }

    /// The column.
    #[inline]
    pub(crate) fn values<'w>(&self, right: DoorRight<'w>) -> Values<'w, T> {
        self.values.values(right)
    }

    /// Writes down that the column is opened for writing.
    // Random access comes through the same doors over and over: it sees here that this was done.
    #[inline]
    pub(crate) fn mark(&self, right: DoorRight<'_>, version: u64) {
        // Relaxed: whoever sees another version stamps once more, which changes nothing.
        if self.stamped.load(Ordering::Relaxed) != version {
            self.mark_column(right, version);
        }
    }

    #[cold]
    #[inline(never)]
    fn mark_column(&self, _right: DoorRight<'_>, version: u64) {
        // SAFETY: made from a reference into the chunks, which the right says are borrowed, with what
        // is known about them where it was (I-23).
        unsafe { self.stamps.as_ref() }.mark(version);
        self.stamped.store(version, Ordering::Relaxed);
    }

    /// The versions of its rows, if they have any.
    #[inline]
    pub(crate) fn rows<'w>(&self, _right: DoorRight<'w>) -> Option<&'w ChunkVersions> {
        // SAFETY: made from a reference into the chunks, which the right says are borrowed, with what
        // is known about them where it was (I-23).
        self.rows.map(|rows| unsafe { rows.as_ref() })
    }
}

/// The same for data that is looked up the long way: no address at all.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChunkDoor<S> {
    pub(crate) slots: S,
    archetype: u32,
    chunk: u32,
}

impl<S> ChunkDoor<S> {
    pub(crate) fn new(slots: S, chunks: &Chunks, chunk: usize) -> Self {
        let chunk = u32::try_from(chunk).expect("fewer than 2^32 chunks");
        Self { slots, archetype: chunks.owner(), chunk }
    }

    #[inline]
    pub(crate) fn chunks<'w>(&self, right: DoorRight<'w>) -> &'w Chunks {
        &right.0[self.archetype as usize].chunks
    }

    #[inline]
    pub(crate) fn chunk(&self) -> usize {
        self.chunk as usize
    }
}

/// Where the enabled bits of a component are in one chunk.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BitsDoor(NonNull<[AtomicU64]>);

// SAFETY: an address of what may be used from any thread (I-22), which is got at by a right alone
// (I-23).
unsafe impl Send for BitsDoor {}
// SAFETY: as for `Send` (I-22, I-23).
unsafe impl Sync for BitsDoor {}

impl BitsDoor {
    /// The words of the chunk.
    pub(crate) fn new(words: &[AtomicU64]) -> Self {
        Self(NonNull::from(words))
    }

    #[inline]
    pub(crate) fn words<'w>(&self, _right: DoorRight<'w>) -> &'w [AtomicU64] {
        // SAFETY: made from a reference into the chunks, which the right says are borrowed, with what
        // is known about them where it was (I-23).
        unsafe { self.0.as_ref() }
    }
}
