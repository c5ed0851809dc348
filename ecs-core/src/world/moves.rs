//! Runs of rows that leave an archetype, come to one, or go from one to the other.
#![expect(unsafe_code, reason = "moves runs of rows between archetypes")]

use alloc::vec::Vec;
use core::ops::Range;
use core::ptr::NonNull;

use super::bundles::{Placement, Transition};
use crate::archetype::Archetype;
use crate::bundle::ColumnStarts;
use crate::entities::{Entities, Location};
use crate::entity::Entity;
use crate::storage::{BlockPool, Place, RowAddress, RowPlan};

/// Rows of one chunk whose entities have gone.
#[derive(Debug)]
struct Hole {
    chunk: usize,
    rows: Range<usize>,
}

/// Memory for runs of rows, kept by the world and empty in between.
#[derive(Debug, Default)]
pub(crate) struct MoveScratch {
    holes: Vec<Hole>,
}

/// The parts of the world that moving rows needs beside the archetypes.
pub(crate) struct MoveContext<'w> {
    pub(crate) entities: &'w mut Entities,
    pub(crate) blocks: &'w mut BlockPool,
    pub(crate) scratch: &'w mut MoveScratch,
    pub(crate) version: u64,
}

/// Many rows on their way: out of the `source`, into the `target`, or both.
///
/// An entity's place is written as its turn comes. What it leaves behind is a *hole*: a row that
/// the source still counts, so that the rows around it stay where they are. What it comes to is a
/// reserved row. All rows of one reservation are copied and committed together, column by column,
/// and the holes are closed in the end. Until then no other code may look at the world (C-2), which
/// is borrowed; dropping this brings everything in order, also on the way of a panic.
pub(crate) struct RowMoves<'w> {
    context: MoveContext<'w>,
    source: Option<Source<'w>>,
    target: Option<Target<'w>>,
    /// The first of the holes whose rows have not been copied yet.
    fresh: usize,
}

/// Where rows leave.
struct Source<'w> {
    archetype: &'w mut Archetype,
    /// The columns whose values go along: from here, to the target.
    moves: &'w [(usize, usize)],
    /// The bits and the versions that go along.
    plan: Option<&'w RowPlan>,
    /// The columns whose values stay behind in the holes and are dropped in the end.
    dropped: Dropped<'w>,
}

/// Which values of an archetype are to be dropped.
#[derive(Clone, Copy, Debug)]
enum Dropped<'w> {
    None,
    Of(&'w [usize]),
    All,
}

/// Where rows arrive.
struct Target<'w> {
    archetype: &'w mut Archetype,
    /// The columns that the caller writes.
    columns: &'w [usize],
    /// The reserved rows: `granted` of them, from `first` on.
    first: RowAddress,
    granted: usize,
    /// How many of these have an entity, which is written into its row.
    arrived: usize,
    starts: ColumnStarts,
}

impl Dropped<'_> {
    fn has(self, archetype: &Archetype, column: usize) -> bool {
        let is_named = match self {
            Self::None => false,
            Self::Of(columns) => columns.contains(&column),
            Self::All => true,
        };
        is_named && archetype.columns[column].info.erased.drop.is_some()
    }
}

impl<'w> Source<'w> {
    fn new(archetype: &'w mut Archetype, dropped: Dropped<'w>) -> Self {
        let any = (0..archetype.columns.len()).any(|column| dropped.has(archetype, column));
        let dropped = if any { dropped } else { Dropped::None };
        Self { archetype, moves: &[], plan: None, dropped }
    }
}

impl<'w> Target<'w> {
    fn new(archetype: &'w mut Archetype, columns: &'w [usize]) -> Self {
        let first = RowAddress { chunk: 0, row: 0 };
        let starts = ColumnStarts::new([].into_iter());
        Self { archetype, columns, first, granted: 0, arrived: 0, starts }
    }
}

impl Target<'_> {
    /// Where the next row goes.
    #[inline]
    fn next(&self) -> RowAddress {
        RowAddress { row: self.first.row + self.arrived, ..self.first }
    }
}

impl<'w> RowMoves<'w> {
    fn new(
        context: MoveContext<'w>,
        source: Option<Source<'w>>,
        target: Option<Target<'w>>,
    ) -> Self {
        debug_assert!(context.scratch.holes.is_empty());
        Self { context, source, target, fresh: 0 }
    }

    /// Rows that are given a bundle, which the caller writes; replaced values are dropped.
    pub(crate) fn insertion(
        context: MoveContext<'w>,
        (source, target): (&'w mut Archetype, &'w mut Archetype),
        insertion: &'w Transition,
    ) -> Self {
        let source = Source {
            moves: &insertion.moves,
            plan: Some(&insertion.plan),
            ..Source::new(source, Dropped::Of(&insertion.replaced))
        };
        Self::new(context, Some(source), Some(Target::new(target, &insertion.columns)))
    }

    /// Rows that a bundle is taken from and dropped.
    pub(crate) fn removal(
        context: MoveContext<'w>,
        (source, target): (&'w mut Archetype, &'w mut Archetype),
        removal: &'w Transition,
    ) -> Self {
        let source = Source {
            moves: &removal.moves,
            plan: Some(&removal.plan),
            ..Source::new(source, Dropped::Of(&removal.columns))
        };
        Self::new(context, Some(source), Some(Target::new(target, &[])))
    }

    /// New rows, whose components the caller writes.
    pub(crate) fn spawn(
        context: MoveContext<'w>,
        target: &'w mut Archetype,
        placement: &'w Placement,
    ) -> Self {
        Self::new(context, None, Some(Target::new(target, &placement.columns)))
    }

    /// Rows whose entities end, and whose values are dropped.
    pub(crate) fn despawn(context: MoveContext<'w>, source: &'w mut Archetype) -> Self {
        Self::new(context, Some(Source::new(source, Dropped::All)), None)
    }

    /// The archetype that rows leave. Holes are rows of it like all others.
    pub(crate) fn source(&self) -> &Archetype {
        self.source.as_ref().expect("there is a source").archetype
    }

    /// Whether values will be dropped in the end.
    pub(crate) fn drops_values(&self) -> bool {
        self.source.as_ref().is_some_and(|source| !matches!(source.dropped, Dropped::None))
    }

    /// Where this entity is, if it is alive: as the table has it, in or out of a hole.
    #[inline]
    pub(crate) fn locate(&self, entity: Entity) -> Option<Location> {
        self.context.entities.locate(entity, &self.context.blocks.directory)
    }

    /// Whether the handle of an entity was given out that is yet to come.
    #[inline]
    pub(crate) fn is_reserved(&self, entity: Entity) -> bool {
        self.context.entities.is_reserved(entity)
    }

    /// Makes sure that the next row has a place and needs no memory; of `wanted` rows that may
    /// come, as many as fit get a place. Returns how many rows are left of the reservation.
    #[inline]
    pub(crate) fn prepare(&mut self, wanted: usize) -> usize {
        let room =
            self.target.as_ref().map_or(usize::MAX, |target| target.granted - target.arrived);
        if room == 0 {
            return self.reserve(wanted);
        }
        self.context.scratch.holes.reserve(1);
        room
    }

    #[inline(never)]
    fn reserve(&mut self, wanted: usize) -> usize {
        self.commit();
        let MoveContext { blocks, scratch, .. } = &mut self.context;
        scratch.holes.reserve(1);
        let Some(target) = &mut self.target else { return usize::MAX };
        let chunks = &mut target.archetype.chunks;
        (target.first, target.granted) = chunks.reserve_rows(blocks, wanted);
        let starts = target.columns.iter().map(|&column| chunks.column(target.first.chunk, column));
        target.starts = ColumnStarts::new(starts);
        target.granted
    }

    /// Where the caller has to write the next row's bundle: the starts of the columns, and the row.
    #[inline]
    pub(crate) fn next_row(&self) -> (&[NonNull<u8>], usize) {
        self.target
            .as_ref()
            .map_or((&[], 0), |target| (target.starts.as_slice(), target.next().row))
    }

    /// An entity goes from a row of the source to the next row of the target.
    ///
    /// # Safety
    /// `prepare` was called since the last row, the entity lives in that row of the source (I-1),
    /// and the caller has written all of the bundle into [`next_row`](Self::next_row) (I-2, C-3).
    #[inline]
    pub(crate) unsafe fn relocate(&mut self, entity: Entity, from: RowAddress) {
        let place = self.arrive(entity);
        self.context.entities.set_place(entity, place);
        self.leave(from);
    }

    /// A reserved entity starts to live in the next row of the target.
    ///
    /// # Safety
    /// As for [`relocate`](Self::relocate), of a move that has no source; the entity is reserved.
    #[inline]
    pub(crate) unsafe fn begin(&mut self, entity: Entity) {
        debug_assert!(self.source.is_none());
        let place = self.arrive(entity);
        self.context.entities.activate(entity, place);
    }

    /// An entity in a row of the source ends.
    ///
    /// # Safety
    /// `prepare` was called since the last row, the entity lives in that row of the source (I-1),
    /// and there is no target.
    #[inline]
    pub(crate) unsafe fn despawn_row(&mut self, entity: Entity, from: RowAddress) {
        debug_assert!(self.target.is_none());
        self.context.entities.free(entity);
        self.leave(from);
    }

    /// The entities in `count` rows of the source, from one on, go to the next rows of the target.
    ///
    /// # Safety
    /// As for [`relocate`](Self::relocate), for each of them: `prepare` said that there is room, the
    /// rows are there and are no holes (I-2, C-2), and the bundles were written from
    /// [`next_row`](Self::next_row) on (C-3).
    pub(crate) unsafe fn relocate_run(&mut self, from: RowAddress, count: usize) {
        let (Some(source), Some(target)) = (&self.source, &mut self.target) else { return };
        assert!(target.arrived + count <= target.granted, "the rows were granted");
        let (chunks, to) = (&source.archetype.chunks, target.next());
        // SAFETY: the caller vouches for so many rows of the source (I-2); as many are reserved in
        // the target, as was just asserted, and unowned (C-3).
        unsafe { chunks.copy_entities(from, count, &mut target.archetype.chunks, to) };
        target.arrived += count;
        let rows = from.row..from.row + count;
        let place = target.archetype.chunks.place(to);
        self.context.entities.set_places(&chunks.entities(from.chunk)[rows], place);
        self.leave_run(from, count);
    }

    /// The entities in `count` rows of the source, from one on, end.
    ///
    /// # Safety
    /// As for [`despawn_row`](Self::despawn_row), for each of them: the rows are there and are no holes (I-2, C-2).
    pub(crate) unsafe fn despawn_run(&mut self, from: RowAddress, count: usize) {
        debug_assert!(self.target.is_none());
        let Some(source) = &self.source else { return };
        let rows = from.row..from.row + count;
        for &entity in &source.archetype.chunks.entities(from.chunk)[rows] {
            self.context.entities.free(entity);
        }
        self.leave_run(from, count);
    }

    fn leave_run(&mut self, from: RowAddress, count: usize) {
        if count > 0 {
            self.leave(from);
            let holes = &mut self.context.scratch.holes;
            if let Some(last) = holes.last_mut() {
                last.rows.end += count - 1;
            }
        }
    }

    fn arrive(&mut self, entity: Entity) -> Place {
        let target = self.target.as_mut().expect("there is a target");
        assert!(target.arrived < target.granted, "the row was granted");
        let to = target.next();
        target.arrived += 1;
        let chunks = &mut target.archetype.chunks;
        // SAFETY: the row was reserved (`reserve`), was just seen to be one of those, and is not
        // committed: it is unowned (I-2).
        unsafe { chunks.set_reserved(to, entity) };
        chunks.place(to)
    }

    fn leave(&mut self, from: RowAddress) {
        let RowAddress { chunk, row } = from;
        let holes = &mut self.context.scratch.holes;
        match holes[self.fresh..].last_mut() {
            Some(last) if last.chunk == chunk && last.rows.end == row => last.rows.end += 1,
            _ => holes.push(Hole { chunk, rows: row..row + 1 }),
        }
    }

    /// Lets the rows that have arrived belong to the target (C-3).
    fn commit(&mut self) {
        let MoveContext { scratch: MoveScratch { holes }, version, .. } = &mut self.context;
        let fresh = &holes[self.fresh..];
        self.fresh = holes.len();
        let Some(target) = &mut self.target else { return };
        let mut to = target.first;
        for Hole { chunk, rows } in fresh {
            let Some(source) = &self.source else { break };
            let from = RowAddress { chunk: *chunk, row: rows.start };
            let (chunks, other) = (&source.archetype.chunks, &target.archetype.chunks);
            // SAFETY: the holes since the last commit are rows of the source whose entities have
            // arrived in these reserved rows one after the other (`relocate`); the pairs of
            // columns are a transition's (I-6). What is left behind is forgotten (`close`).
            unsafe { chunks.copy_rows(from, rows.len(), other, to, source.moves) };
            to.row += rows.len();
        }
        target.granted = 0;
        let arrived = core::mem::take(&mut target.arrived);
        if arrived == 0 {
            return;
        }
        let added = if self.source.is_some() { 0 } else { *version };
        // SAFETY: reserved by `reserve`, and nothing was committed to the target or taken from it
        // since; the caller has written the bundle of each row (`relocate`, `begin`), the moves
        // above the other columns, so all are initialised (I-2, C-3); the entities were written as
        // they arrived.
        unsafe { target.archetype.chunks.commit_written(target.first, arrived, *version, added) };
        if let Some(source @ Source { plan: Some(plan), .. }) = &self.source {
            copy_bits(source, plan, fresh, target.archetype, target.first);
            carry_versions(source, plan, fresh, target.archetype, target.first, *version);
        }
    }

    /// Takes the holes out, from the last to the first: what fills a hole is never one itself.
    /// To be run again where a drop has panicked: the holes that are left are taken out then.
    fn close(&mut self) {
        let place = |hole: &Hole| (hole.chunk, hole.rows.start);
        let holes = &mut self.context.scratch.holes;
        if !holes.is_sorted_by_key(place) {
            holes.sort_unstable_by_key(place);
        }
        let Some(source) = &mut self.source else { return };
        while let Some(hole) = self.context.scratch.holes.last_mut() {
            let count = hole.rows.len().min(source.archetype.chunks.tail_len());
            let (chunk, rows) = (hole.chunk, hole.rows.end - count..hole.rows.end);
            hole.rows.end = rows.start;
            if hole.rows.is_empty() {
                _ = self.context.scratch.holes.pop();
            }
            source.take(&mut self.context, chunk, rows);
        }
    }
}

impl Source<'_> {
    /// Takes rows out that are holes, and drops what was left in them.
    fn take(&mut self, context: &mut MoveContext<'_>, chunk: usize, rows: Range<usize>) {
        let Self { archetype, dropped, .. } = self;
        let count = rows.len();
        let columns = &archetype.columns;
        let dropped = *dropped;
        let keep = |column: usize| match dropped {
            Dropped::None => false,
            Dropped::Of(named) => named.contains(&column),
            Dropped::All => columns[column].info.erased.drop.is_some(),
        };
        let chunks = &mut archetype.chunks;
        let taken = chunks.take_rows(context.blocks, chunk, rows, context.version, keep);
        for row in taken.moved {
            let place = chunks.place(RowAddress { chunk, row });
            context.entities.set_place(chunks.entities(chunk)[row], place);
        }
        if !matches!(dropped, Dropped::None) {
            let rows = taken.vacated.row..taken.vacated.row + count;
            // SAFETY: `take_rows` kept these values, initialised (I-2) and of their columns' types
            // (I-9), behind the last row; they were holes' (C-2), so they are unowned, and each
            // comes up once.
            unsafe { archetype.drop_run(taken.vacated.chunk, rows, keep) };
        }
    }
}

/// Copies the enabled bits that go along with rows, from holes to the rows from `to` on.
fn copy_bits(
    source: &Source<'_>,
    plan: &RowPlan,
    holes: &[Hole],
    target: &Archetype,
    to: RowAddress,
) {
    for &(mine, theirs) in &plan.bit_moves {
        let (mine, theirs) = (source.archetype.chunks.bits(mine), target.chunks.bits(theirs));
        let mut row = to.row;
        for hole in holes {
            // Rows arrive enabled.
            if !mine.are_on(hole.chunk, hole.rows.clone()) {
                for (offset, from) in hole.rows.clone().enumerate() {
                    theirs.set(to.chunk, row + offset, mine.get(hole.chunk, from));
                }
            }
            row += hole.rows.len();
        }
    }
}

/// Writes down the versions of the rows from `to` on, which have come from holes.
fn carry_versions(
    source: &Source<'_>,
    plan: &RowPlan,
    holes: &[Hole],
    target: &mut Archetype,
    mut to: RowAddress,
    version: u64,
) {
    let (mine, theirs) = (&source.archetype.chunks, &mut target.chunks);
    for Hole { chunk, rows } in holes {
        let from = RowAddress { chunk: *chunk, row: rows.start };
        mine.carry_added(*chunk, theirs, to.chunk, plan, version);
        mine.carry_versions(from, rows.len(), theirs, to, plan, version);
        to.row += rows.len();
    }
}

impl Drop for RowMoves<'_> {
    fn drop(&mut self) {
        // Should the drop of a value panic, the others are dropped and the holes closed all the
        // same, and the panic goes on.
        struct Rest<'a, 'w>(&'a mut RowMoves<'w>);
        impl Drop for Rest<'_, '_> {
            fn drop(&mut self) {
                self.0.close();
            }
        }
        self.commit();
        let rest = Rest(self);
        rest.0.close();
    }
}
