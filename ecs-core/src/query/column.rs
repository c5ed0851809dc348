//! The columns of an opened chunk, and the tokens for its rows, which turn addresses into references.
#![expect(unsafe_code, reason = "turns columns into references and slices")]

use core::marker::PhantomData;
use core::ops::Range;
use core::ptr::NonNull;

use crate::component::ComponentInfo;
use crate::entity::Entity;
use crate::storage::{ChangeWindow, Chunks, ColumnRecord};
use crate::sync::AtomicU64;

/// One chunk, as a query enters it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct ChunkRef<'w> {
    pub(crate) chunks: &'w Chunks,
    pub(crate) chunk: usize,
    pub(crate) window: ChangeWindow,
}

impl<'w> ChunkRef<'w> {
    /// Creates the reference for a caller that stamps nothing and for which everything is new.
    pub(crate) fn new(chunks: &'w Chunks, chunk: usize) -> Self {
        Self { chunks, chunk, window: ChangeWindow::default() }
    }

    /// Returns the number of its rows.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.chunks.len(self.chunk)
    }

    /// Returns the entities of its rows.
    #[inline]
    pub(crate) fn entities(&self) -> &'w [Entity] {
        self.chunks.entities(self.chunk)
    }

    /// Returns the record of one of its columns.
    #[inline]
    pub(crate) fn record(&self, column: usize) -> &'w ColumnRecord {
        self.chunks.record(self.chunk, column)
    }

    /// Returns the enabled bits of its rows for the `slot`-th enableable column.
    #[inline]
    pub(crate) fn words(&self, slot: usize) -> &'w [AtomicU64] {
        self.chunks.marks(self.chunk).bits(slot).words()
    }

    /// Opens the chunk for some data: `find` looks its addresses up, and only these are passed to `open`
    /// with the token.
    #[inline(always)]
    pub(super) fn open<A, F>(
        &self,
        find: impl FnOnce(&Self) -> A,
        open: impl FnOnce(&A, AddressToken<'w>, ChangeWindow) -> F,
    ) -> F {
        // SAFETY: the token is passed only to what `find` makes of this chunk here, and the chunk is
        // borrowed for 'w (I-23).
        let token = unsafe { AddressToken::new(self.chunks) };
        open(&find(self), token, self.window)
    }
}

/// A token for one row of an opened chunk, in all columns that a query asks for.
///
/// The caller that creates a token vouches for it once; what
/// [`QueryParts`](super::data::QueryParts) does with it is safe code. It is copied for the members of a
/// tuple, which are about different components or only read (I-11).
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct RowToken<'a> {
    row: usize,
    marker: PhantomData<&'a mut ()>,
}

impl RowToken<'_> {
    /// # Safety
    /// The token is passed only to the fetch of one chunk, of one query. The row is below the length of
    /// that chunk, and the caller has the right to what the query's access names for `'a` (I-10). While
    /// the item of this token is used, no other item of the same row exists, unless all of them only read
    /// (I-11).
    #[inline]
    pub(crate) unsafe fn new(row: usize) -> Self {
        Self { row, marker: PhantomData }
    }

    /// Returns the row itself.
    #[inline]
    pub(crate) fn row(self) -> usize {
        self.row
    }
}

/// A token for a run of rows, as [`RowToken`] is for one.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct RangeToken<'a> {
    rows: Range<usize>,
    marker: PhantomData<&'a mut ()>,
}

impl RangeToken<'_> {
    /// # Safety
    /// The requirements of [`RowToken::new`], for each of the rows.
    #[inline]
    pub(crate) unsafe fn new(rows: Range<usize>) -> Self {
        Self { rows, marker: PhantomData }
    }

    /// Returns the rows themselves.
    #[inline]
    pub(crate) fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }
}

impl<'a> RangeToken<'a> {
    /// Splits off the token for the rows before `row`.
    ///
    /// # Panics
    /// Panics if `row` is before the first of these rows, or after their end.
    #[inline]
    pub(crate) fn split_to(&mut self, row: usize) -> Self {
        let Range { start, end } = self.rows;
        assert!(start <= row && row <= end, "the row is one of these");
        self.rows.start = row;
        Self { rows: start..row, marker: PhantomData }
    }

    /// Returns the values of a column in these rows as bytes, or `None` if the component has no function
    /// for that. The column must be of this component.
    pub(crate) fn bytes(&self, record: &'a ColumnRecord, info: &ComponentInfo) -> Option<&'a [u8]> {
        let (bytes, size) = (info.erased.bytes?, info.layout.size());
        // SAFETY: the token is for rows of this chunk (`new`), so they are inside the column (I-3).
        let first = unsafe { record.start().add(self.rows.start * size) };
        // SAFETY: the rows are initialised (I-2) values of the component that the function belongs to
        // (I-9, I-16), and may be read (I-10).
        let bytes = unsafe { bytes(first, self.rows.len(), size) };
        // SAFETY: the function made the bytes from rows that may be read (I-2, I-10).
        Some(unsafe { bytes.as_ref() })
    }

    /// Returns the values of a column in these rows as mutable bytes, or `None` if the component was not
    /// registered as plain bytes. The column must be of this component, and the query's access names it
    /// as written.
    pub(crate) fn bytes_mut(
        &self,
        record: &ColumnRecord,
        info: &ComponentInfo,
    ) -> Option<&'a mut [u8]> {
        let size = info.layout.size();
        // SAFETY: the token is for rows of this chunk (`new`), so they are inside the column (I-3).
        let first = unsafe { record.start().add(self.rows.start * size) };
        let mut bytes = NonNull::slice_from_raw_parts(first, self.rows.len() * size);
        if !info.is_bytes() {
            return None;
        }
        // SAFETY: the rows are initialised (I-2) bytes, as was just checked (I-16). They may be written
        // (I-10), and no other user holds them (I-11).
        Some(unsafe { bytes.as_mut() })
    }

    /// Returns a token for each of the rows.
    #[inline]
    pub(crate) fn into_rows(self) -> impl Iterator<Item = RowToken<'a>> {
        // SAFETY: the creator of this token vouched for each row (`new`, I-10), and each comes up once
        // (I-11).
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

/// The values of no chunk, for which no token exists.
impl<T> Default for Values<'_, T> {
    fn default() -> Self {
        Self { start: NonNull::dangling(), marker: PhantomData }
    }
}

impl<'w, T> Values<'w, T> {
    /// Returns the column of `T` in a chunk. The caller has found it by the id of `T`.
    #[inline]
    pub(crate) fn open(record: &'w ColumnRecord) -> Self {
        Self { start: record.start().cast(), marker: PhantomData }
    }

    /// Returns the column that starts at this address.
    #[inline]
    pub(crate) fn at(start: ChunkAddress<T>, _token: AddressToken<'w>) -> Self {
        Self { start: start.0, marker: PhantomData }
    }

    /// Returns the column that contains `run`, which was made with this token for as long as it lasts.
    #[inline]
    pub(crate) fn of_run(run: impl Into<NonNull<[T]>>, token: &RangeToken<'w>) -> Self {
        let run = run.into();
        debug_assert_eq!(run.len(), token.rows.len());
        // SAFETY: `read_run` or `write_run` made the run with this token (`QueryParts`), so the column has
        // `token.rows.start` rows before it, in the same block (I-3).
        let start = unsafe { run.cast::<T>().sub(token.rows.start) };
        Self { start, marker: PhantomData }
    }

    /// Returns one value for reading.
    #[inline]
    pub(crate) fn read<'a>(self, token: RowToken<'a>) -> &'a T
    where
        'w: 'a,
    {
        // SAFETY: the token is for a row of this chunk (`RowToken::new`), so it is inside the column
        // (I-3), which holds values of T (I-9).
        let value = unsafe { self.start.add(token.row) };
        // SAFETY: the row is initialised (I-2), and the token permits reading it (I-10).
        unsafe { value.as_ref() }
    }

    /// Returns one value for writing. The query's access names `T` as written.
    #[inline]
    pub(crate) fn write<'a>(self, token: RowToken<'a>) -> &'a mut T
    where
        'w: 'a,
    {
        // SAFETY: the token is for a row of this chunk (`RowToken::new`), so it is inside the column
        // (I-3), which holds values of T (I-9).
        let mut value = unsafe { self.start.add(token.row) };
        // SAFETY: the row is initialised (I-2), the token permits writing it (I-10), and no other user
        // holds it (I-11).
        unsafe { value.as_mut() }
    }

    /// Returns a run of values for reading.
    #[inline]
    pub(crate) fn read_run<'a>(self, token: &RangeToken<'a>) -> &'a [T]
    where
        'w: 'a,
    {
        // SAFETY: the token is for rows of this chunk (`RangeToken::new`), so they are inside the column
        // (I-3).
        let start = unsafe { self.start.add(token.rows.start) };
        // SAFETY: the rows are initialised (I-2) values of T (I-9) that may be read (I-10).
        unsafe { core::slice::from_raw_parts(start.as_ptr(), token.rows.len()) }
    }

    /// Returns a run of values for writing. The query's access names `T` as written.
    #[inline]
    pub(crate) fn write_run<'a>(self, token: &RangeToken<'a>) -> &'a mut [T]
    where
        'w: 'a,
    {
        // SAFETY: the token is for rows of this chunk (`RangeToken::new`), so they are inside the column
        // (I-3).
        let start = unsafe { self.start.add(token.rows.start) };
        // SAFETY: the rows are initialised (I-2) values of T (I-9). They may be written (I-10), and no
        // other user holds them (I-11).
        unsafe { core::slice::from_raw_parts_mut(start.as_ptr(), token.rows.len()) }
    }
}

/// A token for addresses in and beside chunks, which shows that they are valid.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct AddressToken<'w>(PhantomData<&'w Chunks>);

impl<'w> AddressToken<'w> {
    /// # Safety
    /// The token is passed only to addresses that were made from these chunks, or from those of these
    /// archetypes, and nothing that they refer to has left its address since (I-23).
    #[inline]
    pub(crate) unsafe fn new<T: ?Sized>(_borrowed: &'w T) -> Self {
        Self(PhantomData)
    }
}

/// The address of something in a chunk, or of its metadata, kept beyond the borrow of the chunks. It can
/// be used only with an [`AddressToken`].
#[doc(hidden)]
pub struct ChunkAddress<T: ?Sized>(NonNull<T>);

debug_fields!([T: ?Sized] ChunkAddress<T>:);

copied!([T: ?Sized] ChunkAddress<T>);

impl<T: ?Sized> PartialEq for ChunkAddress<T> {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::addr_eq(self.0.as_ptr(), other.0.as_ptr())
    }
}

// SAFETY: it is the address of something that any thread may use (I-22), and only a token makes it usable
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
        // SAFETY: it was made from a reference into the chunks or their metadata (`new`). The token shows
        // that the chunks are borrowed and that nothing has left its address (I-23).
        unsafe { self.0.as_ref() }
    }
}

impl<T> ChunkAddress<T> {
    /// Keeps the start of a column of `T` in a chunk. There may be no value there, so only [`Values::at`]
    /// uses it.
    #[inline]
    pub(crate) fn of_column(start: NonNull<T>) -> Self {
        Self(start)
    }
}
