//! Operations on whole rows: cloning, dropping, and the end of an archetype.
#![expect(
    unsafe_code,
    reason = "clones, drops, saves and loads the values of rows through their columns' functions"
)]

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;
use core::ptr::NonNull;

use smallvec::SmallVec;

use super::Archetype;
use crate::component::{
    CloneErasedFn as CloneFn, CodecError, ComponentInfo, DebugErasedFn, DropErasedFn as DropFn,
    MapErasedFn as MapFn,
};
use crate::entity::Entity;
use crate::hash::StateHasher;
use crate::storage::{BlockPool, Place, RowAddress};

impl Archetype {
    /// The first component that would have to be cloned and cannot be, if there is one.
    pub(crate) fn not_clone(&self) -> Option<&ComponentInfo> {
        let infos = self.columns.iter().map(|column| &column.info);
        infos.filter(|info| !info.is_cleanup()).find(|info| info.erased.clone.is_none())
    }

    /// Takes what the state hash sees of one value into it.
    pub(crate) fn hash_value(&self, address: RowAddress, column: usize, hasher: &mut StateHasher) {
        let info = &self.columns[column].info;
        let value = self.chunks.row(address, column);
        let (hash, size) = (info.erased.hash, info.layout.size());
        // SAFETY: the function is that of the column's type (I-9), and the row, which `row` has
        // seen to be there, is initialised (I-2); `&self` keeps writers out.
        unsafe { hash(value, size, hasher) };
    }

    pub(crate) fn is_enabled(&self, address: RowAddress, column: usize) -> bool {
        let bits = self.columns[column].enable_slot.map(|slot| self.chunks.bits(slot));
        bits.is_none_or(|bits| bits.get(address.chunk, address.row))
    }

    /// One value as text: as `Debug` writes it, else its bytes, else what is hashed of it.
    pub(crate) fn shown_value(&self, address: RowAddress, column: usize) -> String {
        struct Shown(NonNull<u8>, DebugErasedFn);
        impl fmt::Debug for Shown {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                // SAFETY: made below of a row and the function of its column's type (I-9), while
                // `&self` of the archetype keeps writers out.
                unsafe { self.1(self.0, f) }
            }
        }
        if let Some(debug) = self.columns[column].info.erased.debug {
            return format!("{:?}", Shown(self.chunks.row(address, column), debug));
        }
        if let Some(bytes) = self.bytes(address, column) {
            return format!("the bytes {bytes:02x?}");
        }
        let mut hasher = StateHasher::new();
        self.hash_value(address, column, &mut hasher);
        format!("a value with the hash {:016x} (it is no Debug)", hasher.finish())
    }

    /// The bytes of one value, if its values have bytes.
    pub(crate) fn bytes(&self, address: RowAddress, column: usize) -> Option<&[u8]> {
        let value = self.chunks.row(address, column);
        let info = &self.columns[column].info;
        let bytes = info.erased.bytes?;
        // SAFETY: the function is that of the column's component (I-9, I-16), and the row, which
        // `row` has seen to be there, is initialised (I-2); `&self` keeps writers out.
        let bytes = unsafe { bytes(value, 1, info.layout.size()) };
        // SAFETY: the bytes are those of a row, initialised (I-2), or what the type's own function
        // lends with it (I-9); `&self`, which the result borrows, keeps writers out (I-10).
        Some(unsafe { bytes.as_ref() })
    }

    /// What it takes to clone a row into rows of one chunk of an archetype, which may be this one:
    /// a cloner for each column of the target. `pairs` has the columns that go along, here and
    /// there.
    ///
    /// # Panics
    /// Panics if there is no such row, where the pairs are not each column of the target once, in
    /// their order, beside one here of the same component, or where a component cannot be cloned.
    fn cloners(
        &self,
        from: RowAddress,
        target: &Self,
        chunk: usize,
        pairs: &[(usize, usize)],
    ) -> Cloners {
        assert!(pairs.iter().map(|pair| pair.1).eq(0..target.columns.len()), "every column once");
        let cloner = |&(mine, theirs): &(usize, usize)| {
            let info = &self.columns[mine].info;
            assert_eq!(info.id, target.columns[theirs].info.id, "the same component");
            ColumnCloner {
                clone: info.erased.clone.expect("every component can be cloned"),
                map_entities: info.erased.map_entities,
                source: self.chunks.row(from, mine),
                target: target.chunks.column(chunk, theirs),
                size: info.layout.size(),
            }
        };
        pairs.iter().map(cloner).collect()
    }

    /// Appends the values of one column of a chunk to `out`, in row order.
    pub(crate) fn save_column(
        &self,
        chunk: usize,
        column: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        let info = &self.columns[column].info;
        let (save, size) = (info.erased.codec.save, info.layout.size());
        let first = self.chunks.column(chunk, column);
        // SAFETY: the function is that of the column's type (I-9), and the first `len` rows are
        // initialised (I-2); `&self` keeps writers out.
        unsafe { save(first, self.chunks.len(chunk), size, out) }
    }

    /// Loads rows behind the last one, as many of these entities as fit into the chunk that is next,
    /// and says where they are and how many. Their versions are left
    /// to the caller. Their values are taken off the sources, one for each
    /// column. An error is the column whose values could not be read; no row has come then.
    pub(crate) fn load_rows(
        &mut self,
        pool: &mut BlockPool,
        entities: &[Entity],
        sources: &mut [&[u8]],
    ) -> Result<(RowAddress, usize), usize> {
        let (first, count) = self.chunks.reserve_rows(pool, entities.len());
        let mut rows = UncommittedRows { archetype: self, first, count, columns: 0..0 };
        for (index, column) in self.columns.iter().enumerate() {
            let (load, size) = (column.info.erased.codec.load, column.info.layout.size());
            let target = self.chunks.reserved(first, index);
            // SAFETY: the function is that of the column's type (I-9), and so many rows were
            // reserved.
            let loaded = unsafe { load(&mut sources[index], target, count, size) };
            loaded.map_err(|_| index)?;
            rows.columns.end = index + 1;
        }
        rows.into_committed();
        // SAFETY: reserved above, with nothing taken or committed since, and every column of these
        // rows was loaded: all are initialised (I-2).
        unsafe { self.chunks.commit_rows(first, &entities[..count], 0, 0) };
        Ok((first, count))
    }

    /// Drops the values of a row that was given up, of those columns that have something to drop
    /// and that `which` names. Where a drop panics the others are dropped all the same.
    ///
    /// # Safety
    /// The values are initialised and unowned (I-2), of their columns' types (I-9), and not used
    /// afterwards; the row's memory is still there.
    pub(crate) unsafe fn drop_row(&self, address: RowAddress, which: impl Fn(usize) -> bool) {
        let rows = address.row..address.row + 1;
        // SAFETY: the caller vouches for values that are initialised, unowned (I-2), and of the
        // columns' types (I-9).
        unsafe { self.drop_rows(address.chunk, rows, 0..self.columns.len(), &which) };
    }

    /// Drops all values of a row that was given up. Where a drop panics the others are dropped all
    /// the same.
    ///
    /// # Safety
    /// As for [`drop_row`](Self::drop_row), for all columns that have something to drop.
    #[inline]
    pub(crate) unsafe fn drop_whole_row(&self, address: RowAddress) {
        if !self.drops.is_empty() {
            DropRow { archetype: self, address, drops: self.drops.iter() }.run();
        }
    }

    /// Drops the values of rows of one chunk that were given up, as [`drop_row`](Self::drop_row)
    /// does for one.
    ///
    /// # Safety
    /// As for [`drop_row`](Self::drop_row), for each of the rows.
    pub(crate) unsafe fn drop_run(
        &self,
        chunk: usize,
        rows: Range<usize>,
        which: impl Fn(usize) -> bool,
    ) {
        // SAFETY: the caller vouches for each row as `drop_row` asks (I-2, I-9).
        unsafe { self.drop_rows(chunk, rows, 0..self.columns.len(), &which) };
    }

    /// # Safety
    /// As for [`drop_row`](Self::drop_row), for these rows and columns.
    unsafe fn drop_rows(
        &self,
        chunk: usize,
        rows: Range<usize>,
        columns: Range<usize>,
        which: &dyn Fn(usize) -> bool,
    ) {
        DropColumns { archetype: self, chunk, rows, columns, which }.run();
    }

    /// Gives up all rows. The books are in order when this returns, and the values are dropped by
    /// [`drop_forgotten`](Self::drop_forgotten).
    pub(crate) fn forget_rows(&mut self) -> ForgottenRows {
        ForgottenRows { lens: self.chunks.forget_rows() }
    }

    /// Drops all values and gives back all chunks, the latter also where a drop panics.
    pub(crate) fn empty(&mut self, pool: &mut BlockPool) {
        let forgotten = self.forget_rows();
        let emptied = Emptied { archetype: self, pool };
        // SAFETY: just given up, and not touched since: the rows that were counted are initialised
        // (I-2) and unowned now.
        unsafe { emptied.archetype.drop_forgotten(&forgotten) };
    }

    /// Drops the values of the rows that were given up.
    ///
    /// # Safety
    /// `forgotten` came from this archetype, which has not been touched since: the rows that it
    /// counts are initialised (I-2).
    pub(crate) unsafe fn drop_forgotten(&self, forgotten: &ForgottenRows) {
        if !self.drops.is_empty() {
            DropChunks { archetype: self, forgotten, next: 0 }.run();
        }
    }
}

/// Clones one value of a row into the rows of one column.
#[derive(Clone, Copy, Debug)]
struct ColumnCloner {
    clone: CloneFn,
    map_entities: Option<MapFn>,
    source: NonNull<u8>,
    /// Where the column starts.
    target: NonNull<u8>,
    size: usize,
}

type Cloners = SmallVec<[ColumnCloner; 8]>;

/// Copies of one row, in reserved rows of one chunk: each is complete or not there. Those that were
/// made are committed when this is dropped, all enabled, with what is on and off carried over.
#[derive(Debug)]
pub(crate) struct RowCopies<'a> {
    /// Where the original is, unless it is in the target as well. It stays as it is meanwhile.
    source: Option<&'a Archetype>,
    target: &'a mut Archetype,
    from: RowAddress,
    bit_moves: &'a [(usize, usize)],
    cloners: Cloners,
    first: RowAddress,
    granted: usize,
    version: u64,
    /// Those that were made are behind the first `start`.
    copies: &'a mut Vec<Entity>,
    start: usize,
}

impl<'a> RowCopies<'a> {
    /// Reserves as many rows as there are in the next chunk, at most `wanted`. The pairs are those
    /// of the columns and of the enabled bits that go along, all of the target's.
    ///
    /// # Panics
    /// Panics if the row, or what goes along, is not as it has to be.
    pub(crate) fn new(
        (source, from): (Option<&'a Archetype>, RowAddress),
        target: &'a mut Archetype,
        (moves, bit_moves): (&[(usize, usize)], &'a [(usize, usize)]),
        (pool, wanted): (&mut BlockPool, usize),
        version: u64,
        copies: &'a mut Vec<Entity>,
    ) -> Self {
        let (first, granted) = target.chunks.reserve_rows(pool, wanted);
        let cloners = source.unwrap_or(target).cloners(from, target, first.chunk, moves);
        copies.reserve(granted);
        let start = copies.len();
        Self { source, target, from, bit_moves, cloners, first, granted, version, copies, start }
    }

    /// How many there can be.
    pub(crate) fn granted(&self) -> usize {
        self.granted
    }

    /// Makes the next copy, with the entities in it mapped. `settle` is told its place and says who
    /// lives there. A panic drops what was cloned of this copy and goes on.
    pub(crate) fn push(
        &mut self,
        map: &mut dyn FnMut(Entity) -> Entity,
        settle: impl FnOnce(Place) -> Entity,
    ) {
        let count = self.copies.len() - self.start;
        assert!(count < self.granted, "a row was reserved for it");
        let to = RowAddress { row: self.first.row + count, ..self.first };
        let target = &*self.target;
        let mut cloned = UncommittedRows { archetype: target, first: to, count: 1, columns: 0..0 };
        for column in &self.cloners {
            // SAFETY: the row was reserved, so it is inside the column (I-3).
            let room = unsafe { column.target.add(to.row * column.size) };
            // SAFETY: the function is that of the column's type (I-9). What is cloned is a row
            // (`cloners`, I-2) of an archetype that is borrowed since. This row is unowned: it was
            // reserved, and comes up once.
            unsafe { (column.clone)(column.source, room, column.size) };
            cloned.columns.end += 1;
            if let Some(map_entities) = column.map_entities {
                // SAFETY: the function is that of the column's type (I-9); the value was just
                // written, and the row has no other user (I-2), as it is not committed.
                unsafe { map_entities(room, map) };
            }
        }
        let copy = settle(target.chunks.place(to));
        cloned.into_committed();
        // There is room for it: nothing comes between a row and its entity.
        self.copies.push(copy);
    }
}

impl Drop for RowCopies<'_> {
    fn drop(&mut self) {
        let (target, first, version) = (&mut *self.target, self.first, self.version);
        let copies = &self.copies[self.start..];
        if copies.is_empty() {
            // The first clone has panicked: a chunk without rows must not count as used (I-4).
            return;
        }
        // SAFETY: the rows were reserved when this was made, and the archetype is borrowed since;
        // each entity was pushed after every column of its row had been cloned, so all are
        // initialised (I-2).
        unsafe { target.chunks.commit_rows(first, copies, version, version) };
        for &(mine, theirs) in self.bit_moves {
            let source = self.source.unwrap_or(target);
            if !source.chunks.bits(mine).get(self.from.chunk, self.from.row) {
                let bits = target.chunks.bits(theirs);
                let rows = first.row..first.row + copies.len();
                rows.for_each(|row| _ = bits.set(first.chunk, row, false));
            }
        }
    }
}

/// An archetype whose chunks are to be given back.
struct Emptied<'a> {
    archetype: &'a mut Archetype,
    pool: &'a mut BlockPool,
}

impl Drop for Emptied<'_> {
    fn drop(&mut self) {
        self.archetype.chunks.free_spare(self.pool);
    }
}

/// Drops chunks one after the other, and the rest of them should a drop panic.
struct DropChunks<'a> {
    archetype: &'a Archetype,
    forgotten: &'a ForgottenRows,
    next: usize,
}

impl DropChunks<'_> {
    fn run(&mut self) {
        while let Some(&len) = self.forgotten.lens.get(self.next) {
            let chunk = self.next;
            self.next += 1;
            // SAFETY: made only by `drop_forgotten`: these rows were initialised (I-2) until they
            // were given up, its caller ensures that no code has touched them since, and each chunk
            // comes up once.
            unsafe {
                self.archetype.drop_rows(chunk, 0..len, 0..self.archetype.columns.len(), &|_| true);
            };
        }
    }
}

impl Drop for DropChunks<'_> {
    fn drop(&mut self) {
        self.run();
    }
}

/// How many rows each chunk had.
#[derive(Debug)]
pub(crate) struct ForgottenRows {
    lens: Vec<usize>,
}

/// Rows whose first columns are initialised and belong to this value.
#[derive(Debug)]
struct UncommittedRows<'a> {
    archetype: &'a Archetype,
    first: RowAddress,
    count: usize,
    columns: Range<usize>,
}

impl UncommittedRows<'_> {
    /// The values are to belong to the archetype.
    fn into_committed(self) {
        core::mem::forget(self);
    }
}

impl Drop for UncommittedRows<'_> {
    fn drop(&mut self) {
        let RowAddress { chunk, row } = self.first;
        let rows = row..row + self.count;
        // SAFETY: these columns were written by `RowCopies` or `load_rows`, and belong to this
        // value: their rows are not committed, so the chunk does not own them (I-2).
        unsafe { self.archetype.drop_rows(chunk, rows, self.columns.clone(), &|_| true) };
    }
}

/// Drops the values of one row one after the other, and the rest of them should one panic.
struct DropRow<'a> {
    archetype: &'a Archetype,
    address: RowAddress,
    drops: core::slice::Iter<'a, (usize, DropFn)>,
}

impl DropRow<'_> {
    fn run(&mut self) {
        // The iterator steps over the column before its drop runs, so that none is dropped twice.
        for &(column, drop) in self.drops.by_ref() {
            let value = self.archetype.chunks.vacated(self.address, column);
            // SAFETY: made only by `drop_whole_row`, whose caller ensures that the value is
            // initialised and unowned; the function is that of the column's type (I-9).
            unsafe { drop(value) };
        }
    }
}

impl Drop for DropRow<'_> {
    fn drop(&mut self) {
        self.run();
    }
}

/// Drops columns one after the other, and the rest of them should one panic.
struct DropColumns<'a> {
    archetype: &'a Archetype,
    chunk: usize,
    rows: Range<usize>,
    columns: Range<usize>,
    which: &'a dyn Fn(usize) -> bool,
}

impl DropColumns<'_> {
    fn run(&mut self) {
        // The range steps over the column before its drops run, so that none is dropped twice.
        for index in self.columns.by_ref() {
            let Some(drop) = self.archetype.columns[index].info.erased.drop else { continue };
            if (self.which)(index) {
                // SAFETY: made only by `drop_rows`, whose caller ensures that the values are
                // initialised and unowned; the function is that of the column's type (I-9).
                unsafe {
                    self.archetype.chunks.drop_column(self.chunk, index, self.rows.clone(), drop);
                };
            }
        }
    }
}

impl Drop for DropColumns<'_> {
    fn drop(&mut self) {
        self.run();
    }
}

impl Drop for Archetype {
    fn drop(&mut self) {
        let forgotten = self.forget_rows();
        // SAFETY: just given up: the rows that were counted are initialised (I-2) and unowned now.
        // The blocks are freed by the chunks, also where a drop panics.
        unsafe { self.drop_forgotten(&forgotten) };
    }
}
