//! Rows that are new in the world: spawned, cloned or loaded.
#![expect(unsafe_code, reason = "clones and loads values into reserved rows and commits them")]

use alloc::vec::Vec;
use core::ptr::NonNull;

use smallvec::SmallVec;

use super::MoveContext;
use super::plan::Transition;
use crate::archetype::{Archetype, ArchetypeId, Archetypes};
use crate::bundle::{AnyParts, BundleColumns, ColumnStarts, Parts, with_starts};
use crate::component::{ArchetypeFlags, CloneErasedFn as CloneFn, MapErasedFn as MapFn};
use crate::entities::{Entities, Location};
use crate::entity::Entity;
use crate::storage::{BlockPool, Chunks, ColumnAction, Place, RowAddress};

/// Reserved rows of one chunk, which are written one after the other.
#[derive(Debug, Default)]
pub(super) struct ReservedRows {
    first: RowAddress,
    granted: usize,
    /// The number of rows that have been written.
    written: usize,
    /// The columns that are written by pointer.
    columns: BundleColumns,
}

impl ReservedRows {
    /// Reserves the rows that are free in the next chunk, at most `wanted`. The columns are those of the
    /// bundle that `insertion` adds.
    pub(super) fn new(
        chunks: &mut Chunks,
        blocks: &mut BlockPool,
        wanted: usize,
        insertion: Option<&Transition>,
    ) -> Self {
        let (first, granted) = chunks.reserve_rows(blocks, wanted);
        let columns = insertion.map(|insertion| insertion.columns_in(chunks, first.chunk));
        Self { first, granted, written: 0, columns: columns.unwrap_or_default() }
    }

    pub(super) fn first(&self) -> RowAddress {
        self.first
    }

    /// Returns the number of rows that can still be written.
    #[inline]
    pub(super) fn left(&self) -> usize {
        self.granted - self.written
    }

    #[inline]
    fn next(&self) -> RowAddress {
        RowAddress { row: self.first.row + self.written, ..self.first }
    }

    /// Returns the place of the next row to write: the columns, and the row.
    #[inline]
    pub(super) fn next_row(&self) -> (&BundleColumns, usize) {
        (&self.columns, self.next().row)
    }

    /// Notes that the next rows have been written, and returns the first of them.
    ///
    /// # Panics
    /// Panics if fewer are [left](Self::left).
    #[inline]
    pub(super) fn take(&mut self, count: usize) -> RowAddress {
        assert!(count <= self.left(), "the rows were granted");
        let next = self.next();
        self.written += count;
        next
    }
}

/// New rows of an archetype. They are reserved a chunk at a time, written by the caller, and committed
/// together, with all components enabled. Dropping this commits the rows that were written.
#[derive(Debug)]
pub(crate) struct NewRows<'w> {
    archetype: &'w mut Archetype,
    /// The insertion that gives new entities all components of the archetype.
    insertion: Option<&'w Transition>,
    rows: ReservedRows,
    version: u64,
    /// The entities of the rows. Those from `committed` on belong to rows that are not committed.
    entities: &'w mut Vec<Entity>,
    committed: usize,
}

impl<'w> NewRows<'w> {
    /// Creates rows for entities that get what this insertion adds to an entity without components. The
    /// entities are pushed to `entities`.
    pub(crate) fn new(
        archetypes: &'w mut Archetypes,
        insertion: &'w Transition,
        version: u64,
        entities: &'w mut Vec<Entity>,
    ) -> Self {
        insertion.expect_from(ArchetypeId::EMPTY);
        Self::of(archetypes.get_mut(insertion.target), Some(insertion), version, entities)
    }

    fn of(
        archetype: &'w mut Archetype,
        insertion: Option<&'w Transition>,
        version: u64,
        entities: &'w mut Vec<Entity>,
    ) -> Self {
        let committed = entities.len();
        Self { archetype, insertion, rows: ReservedRows::default(), version, entities, committed }
    }

    /// Ensures that the next row is reserved. It reserves as many of the `wanted` rows that may come as
    /// fit in the chunk. Returns how many rows of the reservation are left.
    #[inline]
    pub(crate) fn prepare(&mut self, blocks: &mut BlockPool, wanted: usize) -> usize {
        if self.rows.left() == 0 {
            self.reserve(blocks, wanted);
        }
        self.rows.left()
    }

    #[inline(never)]
    fn reserve(&mut self, blocks: &mut BlockPool, wanted: usize) {
        self.commit();
        let chunks = &mut self.archetype.chunks;
        self.rows = ReservedRows::new(chunks, blocks, wanted, self.insertion);
        // No failure is possible between writing a row and adding its entity.
        self.entities.reserve(self.rows.left());
    }

    /// Returns where the caller has to write the next row: the columns, and the row.
    #[inline]
    pub(crate) fn next_row(&self) -> (&BundleColumns, usize) {
        self.rows.next_row()
    }

    /// Returns the place of the next row.
    #[inline]
    pub(crate) fn place(&self) -> Place {
        self.archetype.chunks.place(self.rows.next())
    }

    /// Assigns the next row to this entity.
    ///
    /// # Safety
    /// [`prepare`](Self::prepare) has reserved the row, and all of its columns are initialised (I-2,
    /// C-3).
    #[inline]
    pub(crate) unsafe fn push(&mut self, entity: Entity) {
        _ = self.rows.take(1);
        self.entities.push(entity);
    }

    /// Creates an entity, whose handle is reserved, with the bundle that `take` returns. It reserves as
    /// many of the `wanted` rows that may come as fit in the chunk.
    ///
    /// # Panics
    /// Panics if the bundle has another type than that of the insertion.
    #[inline(always)]
    pub(crate) fn spawn_one<B: AnyParts>(
        &mut self,
        entity: Entity,
        (entities, blocks): (&mut Entities, &mut BlockPool),
        wanted: usize,
        take: impl FnOnce() -> B,
    ) {
        self.prepare(blocks, wanted);
        let bundle = take();
        let (columns, row) = self.next_row();
        // SAFETY: the columns are those of this type of bundle (I-6, I-9) in its archetype, which has no
        // others (`new`), and `prepare` has reserved the row.
        unsafe { bundle.write(columns, row) };
        entities.activate(entity, self.place());
        // SAFETY: just prepared and written: the row is complete (C-3).
        unsafe { self.push(entity) };
    }

    /// Commits the rows that have been written. Returns the first, and how many there are.
    fn commit(&mut self) -> (RowAddress, usize) {
        let first = core::mem::take(&mut self.rows).first;
        let entities = &self.entities[self.committed..];
        self.committed = self.entities.len();
        // A chunk without rows must not count as used (I-4).
        if !entities.is_empty() {
            let (chunks, version) = (&mut self.archetype.chunks, self.version);
            // SAFETY: the rows were reserved by `reserve`, and the archetype has been borrowed since;
            // each entity was pushed after its row was written (`push`, I-2).
            unsafe { chunks.commit_rows(first, entities, version, version) };
        }
        (first, entities.len())
    }
}

impl Drop for NewRows<'_> {
    fn drop(&mut self) {
        _ = self.commit();
    }
}

impl MoveContext<'_> {
    /// Creates an entity with a bundle: with the handle `reserved`, or else the next one. Returns it, and
    /// the flags of its archetype.
    #[inline(always)]
    pub(crate) fn spawn<P: Parts>(
        mut self,
        reserved: Option<Entity>,
        bundle: P,
    ) -> (Entity, ArchetypeFlags) {
        let version = self.next_version();
        let Self { bundles, registry, archetypes, entities, blocks, .. } = self;
        let insertion = bundles.insertion::<P>(ArchetypeId::EMPTY, registry, archetypes);
        let Archetype { chunks, flags, .. } = archetypes.get_mut(insertion.target);
        let address = chunks.reserve_row(blocks);
        let start = |k: usize| chunks.column(address.chunk, insertion.columns[k]);
        with_starts::<P, _>(start, |starts| {
            // SAFETY: the columns are those of the bundle's components in this archetype (I-6, I-9),
            // and the row is reserved.
            unsafe { bundle.write(starts, address.row) };
        });
        let place = chunks.place(address);
        let entity = match reserved {
            Some(entity) => {
                entities.activate(entity, place);
                entity
            }
            None => entities.allocate(place),
        };
        // SAFETY: the row was reserved above, and only the entity table was changed since; the archetype
        // has exactly the components of the bundle (I-6), so every column of the row was written (I-2).
        unsafe { chunks.commit_rows(address, &[entity], version, version) };
        (entity, *flags)
    }

    /// Returns the flags of the archetype of new entities with a bundle.
    pub(crate) fn flags_of_new<P: Parts>(&mut self) -> ArchetypeFlags {
        let Self { bundles, registry, archetypes, .. } = self;
        let insertion = bundles.insertion::<P>(ArchetypeId::EMPTY, registry, archetypes);
        archetypes.get(insertion.target).flags
    }

    /// Spawns an entity for each bundle: `first`, and those that `next` returns. It spawns at most
    /// `wanted`, and no more than there are free rows in the next chunk and available handles. If `next`
    /// panics, the entities before it exist.
    pub(crate) fn spawn_run<P: Parts>(
        mut self,
        wanted: usize,
        (first, mut next): (P, impl FnMut() -> Option<P>),
        spawned: &mut Vec<Entity>,
    ) {
        let version = self.next_version();
        let Self { bundles, registry, archetypes, entities, blocks, .. } = self;
        let insertion = bundles.insertion::<P>(ArchetypeId::EMPTY, registry, archetypes);
        // Every granted row can get an entity, so that nothing fails half-way.
        let wanted = wanted.clamp(1, entities.available_min());
        let mut rows = NewRows::new(archetypes, insertion, version, spawned);
        let granted = rows.prepare(blocks, wanted);
        let (columns, row) = rows.next_row();
        let starts: ColumnStarts = columns.starts.as_slice().into();
        let mut run = SpawnRun { rows, entities, written: 0 };
        let mut bundle = Some(first);
        while let Some(parts) = bundle {
            // SAFETY: the columns are those of the bundle's components in this archetype (I-6, I-9), and
            // fewer rows were written than are granted.
            unsafe { parts.write(&starts, row + run.written) };
            run.written += 1;
            // User code: nothing is incomplete while it runs, and if it panics, the rows that were
            // written are committed.
            bundle = if run.written < granted { next() } else { None };
        }
    }
}

/// New rows that are being written. Dropping this allocates the entities of those that were.
struct SpawnRun<'w> {
    rows: NewRows<'w>,
    entities: &'w mut Entities,
    written: usize,
}

impl Drop for SpawnRun<'_> {
    fn drop(&mut self) {
        for _ in 0..self.written {
            let entity = self.entities.allocate(self.rows.place());
            // SAFETY: `spawn_run` has written this many of the granted rows, every column (I-2, I-6).
            unsafe { self.rows.push(entity) };
        }
    }
}

/// Clones one value of a row into the rows of one column.
#[derive(Clone, Copy, Debug)]
struct ColumnCloner {
    clone: CloneFn,
    map_entities: Option<MapFn>,
    source: NonNull<u8>,
    /// The start of the column.
    target: NonNull<u8>,
    size: usize,
}

/// Copies of one row, in reserved rows of one chunk. Each copy is complete or does not exist. Dropping
/// this commits the finished copies, with the enabled bits of the original.
#[derive(Debug)]
pub(crate) struct RowCopies<'a> {
    /// The archetype of the original, unless that is the target as well. It does not change meanwhile.
    source: Option<&'a Archetype>,
    from: RowAddress,
    transition: &'a Transition,
    /// One for each column of the target.
    cloners: SmallVec<[ColumnCloner; 8]>,
    rows: NewRows<'a>,
}

impl<'a> RowCopies<'a> {
    /// Reserves the rows that are free in the next chunk, at most `wanted`, for copies of the row at
    /// `from`. The entities of the copies are pushed to `copies`.
    ///
    /// # Panics
    /// Panics if there is no such row, or the transition does not fill each column of the target with
    /// clones.
    pub(crate) fn new(
        archetypes: &'a mut Archetypes,
        from: Location,
        transition: &'a Transition,
        (pool, wanted): (&mut BlockPool, usize),
        version: u64,
        copies: &'a mut Vec<Entity>,
    ) -> Self {
        let (source, target) = if transition.target == from.archetype {
            (None, archetypes.get_mut(transition.target))
        } else {
            let (source, target) = archetypes.get_two(from.archetype, transition.target);
            (Some(&*source), target)
        };
        let mut rows = NewRows::of(target, None, version, copies);
        _ = rows.prepare(pool, wanted);
        let target = &*rows.archetype;
        let (original, steps) = (source.unwrap_or(target), transition.plan.steps.iter());
        let pairs = steps.enumerate().filter(|(_, step)| step.action == ColumnAction::Move);
        let pairs = pairs.filter_map(|(mine, step)| Some((mine, step.target? as usize)));
        assert!(pairs.clone().map(|pair| pair.1).eq(0..target.columns.len()), "every column once");
        let cloner = |(mine, theirs): (usize, usize)| {
            let info = &original.columns[mine].info;
            assert_eq!(info.id, target.columns[theirs].info.id, "the same component");
            ColumnCloner {
                clone: info.erased.clone.expect("every component can be cloned"),
                map_entities: info.erased.map_entities,
                source: original.chunks.row(from.address, mine),
                target: target.chunks.column(rows.rows.first.chunk, theirs),
                size: info.layout.size(),
            }
        };
        let cloners = pairs.map(cloner).collect();
        Self { source, from: from.address, transition, cloners, rows }
    }

    /// Returns the number of copies that there is room for.
    pub(crate) fn granted(&self) -> usize {
        self.rows.rows.granted
    }

    /// Makes the next copy, and maps the entities in it. `settle` gets its place and returns its entity.
    /// A panic drops the values that were cloned for this copy, and continues.
    pub(crate) fn push(
        &mut self,
        map: &mut dyn FnMut(Entity) -> Entity,
        settle: impl FnOnce(Place) -> Entity,
    ) {
        assert!(self.rows.rows.left() > 0, "a row was reserved for it");
        let first = self.rows.rows.next();
        let archetype = &*self.rows.archetype;
        let mut cloned = UncommittedRows { archetype, first, count: 1, columns: 0 };
        for column in &self.cloners {
            // SAFETY: the row was reserved, so it is inside the column (I-3).
            let room = unsafe { column.target.add(first.row * column.size) };
            // SAFETY: the function is that of the column's type (I-9). The source is a row (`new`, I-2)
            // of an archetype that has been borrowed since. The target row is unowned: it was reserved,
            // and is written once.
            unsafe { (column.clone)(column.source, room, column.size) };
            cloned.columns += 1;
            if let Some(map_entities) = column.map_entities {
                // SAFETY: the function is that of the column's type (I-9); the value was just
                // written, and the row has no other user (I-2), as it is not committed.
                unsafe { map_entities(room, map) };
            }
        }
        let copy = settle(archetype.chunks.place(first));
        cloned.into_committed();
        // SAFETY: reserved by `new`, and every column was just cloned (I-2).
        unsafe { self.rows.push(copy) };
    }
}

impl Drop for RowCopies<'_> {
    fn drop(&mut self) {
        let (first, count) = self.rows.commit();
        let target = &*self.rows.archetype;
        for &(mine, theirs) in &self.transition.plan.bit_moves {
            let source = self.source.unwrap_or(target);
            if !source.chunks.marks(self.from.chunk).bits(mine).bit(self.from.row).get() {
                let bits = target.chunks.marks(first.chunk).bits(theirs);
                let rows = first.row..first.row + count;
                rows.for_each(|row| _ = bits.bit(row).set(false));
            }
        }
    }
}

impl Archetype {
    /// Loads rows behind the last one, for as many of these entities as fit in the next chunk. Returns
    /// the first row, and how many there are. The caller has to set their versions. The values are
    /// consumed from `sources`, one for each column. The error is the column whose values could not be
    /// read; no row is added then.
    pub(crate) fn load_rows(
        &mut self,
        pool: &mut BlockPool,
        entities: &[Entity],
        sources: &mut [&[u8]],
    ) -> Result<(RowAddress, usize), usize> {
        let (first, count) = self.chunks.reserve_rows(pool, entities.len());
        let mut rows = UncommittedRows { archetype: self, first, count, columns: 0 };
        for (index, column) in self.columns.iter().enumerate() {
            let (load, size) = (column.info.erased.codec.load, column.info.layout.size());
            let target = self.chunks.reserved(first, index);
            // SAFETY: the function is that of the column's type (I-9), and this many rows were reserved.
            let loaded = unsafe { load(&mut sources[index], target, count, size) };
            loaded.map_err(|_| index)?;
            rows.columns = index + 1;
        }
        rows.into_committed();
        // SAFETY: reserved above, with nothing taken or committed since, and every column of these rows
        // was loaded: all are initialised (I-2).
        unsafe { self.chunks.commit_rows(first, &entities[..count], 0, 0) };
        Ok((first, count))
    }
}

/// Rows that are not committed. Their first `columns` columns are initialised, and belong to this value.
#[derive(Debug)]
struct UncommittedRows<'a> {
    archetype: &'a Archetype,
    first: RowAddress,
    count: usize,
    columns: usize,
}

impl UncommittedRows<'_> {
    /// Leaves the values to the archetype.
    fn into_committed(self) {
        core::mem::forget(self);
    }
}

impl Drop for UncommittedRows<'_> {
    fn drop(&mut self) {
        let Archetype { chunks, ending, .. } = self.archetype;
        let written = ending.drops.partition_point(|&(column, _)| column < self.columns);
        // SAFETY: these columns were written by `RowCopies` or `load_rows`, and belong to this
        // value: their rows are not committed, so the chunk does not own them (I-2).
        unsafe { chunks.drop_rows(self.first, self.count, &ending.drops[..written]) };
    }
}
