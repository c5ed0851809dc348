//! Columns of an opened chunk, and the right to rows of it: from addresses to references.
#![expect(unsafe_code, reason = "turns columns into references and slices")]

use core::marker::PhantomData;
use core::ops::Range;
use core::ptr::NonNull;

use crate::component::ComponentInfo;
use crate::entity::Entity;
use crate::storage::{ChangeWindow, Chunks, ColumnRecord};
use crate::sync::AtomicU64;

/// One chunk, as a query comes to it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct ChunkRef<'w> {
    pub(crate) chunks: &'w Chunks,
    pub(crate) chunk: usize,
    pub(crate) window: ChangeWindow,
}

impl<'w> ChunkRef<'w> {
    /// The chunk for a caller that stamps nothing, and to whom everything is new.
    pub(crate) fn new(chunks: &'w Chunks, chunk: usize) -> Self {
        Self { chunks, chunk, window: ChangeWindow::default() }
    }

    /// How many rows it has.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.chunks.len(self.chunk)
    }

    /// The entities in its rows.
    #[inline]
    pub(crate) fn entities(&self) -> &'w [Entity] {
        self.chunks.entities(self.chunk)
    }

    /// What is known about one of its columns.
    #[inline]
    pub(crate) fn record(&self, column: usize) -> &'w ColumnRecord {
        self.chunks.record(self.chunk, column)
    }

    /// The bits of its rows, of the `slot`-th enableable column.
    #[inline]
    pub(crate) fn words(&self, slot: usize) -> &'w [AtomicU64] {
        self.chunks.marks(self.chunk).bits(slot).words()
    }

    /// Opens the chunk for some data, by what is found of it: the token is shown to that alone.
    #[inline(always)]
    pub(super) fn open<A, F>(
        &self,
        find: impl FnOnce(&Self) -> A,
        open: impl FnOnce(&A, AddressToken<'w>, ChangeWindow) -> F,
    ) -> F {
        // SAFETY: what it is shown to is made of this chunk here, and the chunk is borrowed for 'w (I-23).
        let token = unsafe { AddressToken::new(self.chunks) };
        open(&find(self), token, self.window)
    }
}

/// The right to one row of an opened chunk, in all columns that a query asks for.
///
/// The caller that makes one vouches for it once; what [`QueryParts`](super::data::QueryParts) does with it is
/// safe code. It is copied for the members of a tuple, which are about different components, or
/// only read (I-11).
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct RowToken<'a> {
    row: usize,
    marker: PhantomData<&'a mut ()>,
}

impl RowToken<'_> {
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

/// The right to a run of rows, as [`RowToken`] is to one.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct RangeToken<'a> {
    rows: Range<usize>,
    marker: PhantomData<&'a mut ()>,
}

impl RangeToken<'_> {
    /// # Safety
    /// As for [`RowToken::new`], for each of the rows.
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

impl<'a> RangeToken<'a> {
    /// Splits off the right to the rows before one of them.
    ///
    /// # Panics
    /// Panics if that is before the first of them, or behind the last.
    #[inline]
    pub(crate) fn split_to(&mut self, row: usize) -> Self {
        let Range { start, end } = self.rows;
        assert!(start <= row && row <= end, "the row is one of these");
        self.rows.start = row;
        Self { rows: start..row, marker: PhantomData }
    }

    /// The bytes of the values of a column in these rows, if they have bytes. The column is of this
    /// component.
    pub(crate) fn bytes(&self, record: &'a ColumnRecord, info: &ComponentInfo) -> Option<&'a [u8]> {
        let (bytes, size) = (info.erased.bytes?, info.layout.size());
        // SAFETY: the right is to rows of this chunk (`new`), so they are inside the column (I-3).
        let first = unsafe { record.start().add(self.rows.start * size) };
        // SAFETY: the rows are initialised (I-2) values of the component whose function it is (I-9,
        // I-16), which may be read (I-10).
        let bytes = unsafe { bytes(first, self.rows.len(), size) };
        // SAFETY: made by that function from rows that may be read (I-2, I-10).
        Some(unsafe { bytes.as_ref() })
    }

    /// The bytes of the values of a column in these rows, to be written, if it was registered as plain
    /// bytes. The column is of this component, and the query's access names it as written.
    pub(crate) fn bytes_mut(
        &self,
        record: &ColumnRecord,
        info: &ComponentInfo,
    ) -> Option<&'a mut [u8]> {
        let size = info.layout.size();
        // SAFETY: the right is to rows of this chunk (`new`), so they are inside the column (I-3).
        let first = unsafe { record.start().add(self.rows.start * size) };
        let mut bytes = NonNull::slice_from_raw_parts(first, self.rows.len() * size);
        if !info.is_bytes() {
            return None;
        }
        // SAFETY: the rows are initialised (I-2) bytes, as was just seen (I-16), that may be written
        // (I-10) and that no other user holds (I-11).
        Some(unsafe { bytes.as_mut() })
    }

    /// The right to each of the rows.
    #[inline]
    pub(crate) fn into_rows(self) -> impl Iterator<Item = RowToken<'a>> {
        // SAFETY: the maker of this vouched for each row (`new`, I-10); each comes up once (I-11).
        self.rows.map(|row| unsafe { RowToken::new(row) })
    }
}

/// The values of a component in an opened chunk.
#[doc(hidden)]
pub struct Values<'w, T> {
    start: NonNull<T>,
    marker: PhantomData<&'w [T]>,
}

copied!([T] Values<'_, T>);
debug_fields!([T] Values<'_, T>: start);

/// Those of no chunk, to which there is no right.
impl<T> Default for Values<'_, T> {
    fn default() -> Self {
        Self { start: NonNull::dangling(), marker: PhantomData }
    }
}

impl<'w, T> Values<'w, T> {
    /// The column of `T` in a chunk; the caller has found it by the id of `T`.
    #[inline]
    pub(crate) fn open(record: &'w ColumnRecord) -> Self {
        Self { start: record.start().cast(), marker: PhantomData }
    }

    /// The column that begins at an address.
    #[inline]
    pub(crate) fn at(start: ChunkAddress<T>, _token: AddressToken<'w>) -> Self {
        Self { start: start.0, marker: PhantomData }
    }

    /// The column that `run` has some rows of: those that the right is to.
    #[inline]
    pub(crate) fn of_run(run: &'w [T], right: &RangeToken<'w>) -> Self {
        debug_assert_eq!(run.len(), right.rows.len());
        // SAFETY: the run was made by `read_run` with this right (`QueryParts`), so as many rows as
        // the first one's number lie before it in the same block (I-3).
        let start = unsafe { NonNull::from(run).cast::<T>().sub(right.rows.start) };
        Self { start, marker: PhantomData }
    }

    /// [`of_run`](Self::of_run) for one that is written.
    #[inline]
    pub(crate) fn of_run_mut(run: &'w mut [T], right: &RangeToken<'w>) -> Self {
        debug_assert_eq!(run.len(), right.rows.len());
        // SAFETY: the run was made by `write_run` with this right (`QueryParts`), so as many rows as
        // the first one's number lie before it in the same block (I-3).
        let start = unsafe { NonNull::from(run).cast::<T>().sub(right.rows.start) };
        Self { start, marker: PhantomData }
    }

    /// One value, to be read.
    #[inline]
    pub(crate) fn read<'a>(self, right: RowToken<'a>) -> &'a T
    where
        'w: 'a,
    {
        // SAFETY: the right is to a row of this chunk (`RowToken::new`), so it is inside the column
        // (I-3), which holds values of T (I-9).
        let value = unsafe { self.start.add(right.row) };
        // SAFETY: the row is initialised (I-2), and the right allows to read it (I-10).
        unsafe { value.as_ref() }
    }

    /// One value, to be written. The query's access names `T` as written.
    #[inline]
    pub(crate) fn write<'a>(self, right: RowToken<'a>) -> &'a mut T
    where
        'w: 'a,
    {
        // SAFETY: the right is to a row of this chunk (`RowToken::new`), so it is inside the column
        // (I-3), which holds values of T (I-9).
        let mut value = unsafe { self.start.add(right.row) };
        // SAFETY: the row is initialised (I-2); the right allows to write it (I-10), and no other
        // user holds it (I-11).
        unsafe { value.as_mut() }
    }

    /// A run of values, to be read.
    #[inline]
    pub(crate) fn read_run<'a>(self, right: &RangeToken<'a>) -> &'a [T]
    where
        'w: 'a,
    {
        // SAFETY: the right is to rows of this chunk (`RangeToken::new`), so they are inside the
        // column (I-3).
        let start = unsafe { self.start.add(right.rows.start) };
        // SAFETY: the rows are initialised (I-2) values of T (I-9) that may be read (I-10).
        unsafe { core::slice::from_raw_parts(start.as_ptr(), right.rows.len()) }
    }

    /// A run of values, to be written. The query's access names `T` as written.
    #[inline]
    pub(crate) fn write_run<'a>(self, right: &RangeToken<'a>) -> &'a mut [T]
    where
        'w: 'a,
    {
        // SAFETY: the right is to rows of this chunk (`RangeToken::new`), so they are inside the
        // column (I-3).
        let start = unsafe { self.start.add(right.rows.start) };
        // SAFETY: the rows are initialised (I-2) values of T (I-9) that may be written (I-10) and
        // that has no other holder (I-11).
        unsafe { core::slice::from_raw_parts_mut(start.as_ptr(), right.rows.len()) }
    }
}

/// Says that addresses in and beside chunks are good.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct AddressToken<'w>(PhantomData<&'w Chunks>);

impl<'w> AddressToken<'w> {
    /// # Safety
    /// What it is shown to was made from these chunks, or those of these archetypes, and nothing that it
    /// refers to has left its address since (I-23).
    #[inline]
    pub(crate) unsafe fn new<T: ?Sized>(_borrowed: &'w T) -> Self {
        Self(PhantomData)
    }
}

/// The address of something in a chunk, or known about it, kept beyond the borrow of the chunks. It
/// is worth nothing without an [`AddressToken`].
#[doc(hidden)]
pub struct ChunkAddress<T: ?Sized>(NonNull<T>);

debug_fields!([T: ?Sized] ChunkAddress<T>:);

copied!([T: ?Sized] ChunkAddress<T>);

impl<T: ?Sized> PartialEq for ChunkAddress<T> {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::addr_eq(self.0.as_ptr(), other.0.as_ptr())
    }
}

// SAFETY: an address of what may be used from any thread (I-22), which only a token makes good
// (I-23).
unsafe impl<T: ?Sized + Send + Sync> Send for ChunkAddress<T> {}
// SAFETY: as for `Send` (I-22, I-23).
unsafe impl<T: ?Sized + Send + Sync> Sync for ChunkAddress<T> {}

impl<T: ?Sized> ChunkAddress<T> {
    #[inline]
    pub(crate) fn new(value: &T) -> Self {
        Self(NonNull::from(value))
    }

    #[inline]
    pub(crate) fn get<'w>(self, _token: AddressToken<'w>) -> &'w T
    where
        T: 'w,
    {
        // SAFETY: made from a reference into the chunks (`new`), which the token says are borrowed,
        // with what is known about them where it was (I-23).
        unsafe { self.0.as_ref() }
    }
}

impl<T> ChunkAddress<T> {
    /// Where a column of `T` in a chunk begins: of which there need not be a value, so that this
    /// is used by [`Values::at`] alone.
    #[inline]
    pub(crate) fn of_column(start: NonNull<T>) -> Self {
        Self(start)
    }
}
