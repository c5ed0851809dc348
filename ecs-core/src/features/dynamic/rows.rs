//! Iteration over a query by component id: by rows, or by runs of rows.

use alloc::vec::Vec;
use core::marker::PhantomData;
use core::ops::Range;

use super::DynamicQueryError;
use super::query::{DynamicMatch, DynamicQuery};
use super::run::{DynamicRow, DynamicRun};
use crate::entity::Entity;
use crate::error::{NoSuchEntity, QueryEntityError};
use crate::mask::Rows;
use crate::query::{BorrowedToken, ChunkWalk, LastRun, RangeToken, Source, SourceToken};
use crate::storage::RowAddress;
use crate::world::{World, WorldCell};

/// The rows that a [`DynamicQuery`] finds.
///
/// They come in the same order as in any other query.
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::DynamicQuery;
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// # #[derive(Component, Debug)] struct Depth(u32);
/// let mut world = World::new();
/// world.spawn_batch((0..10).map(|i| (Gold(i), Depth(2 * i))));
/// let gold = world.component_id::<Gold>().expect("it is in use");
/// let depth = world.component_id::<Depth>().expect("it is in use");
/// let mut query = DynamicQuery::builder().write(gold).read(depth).build(&world)?;
/// let mut rows = world.query_by_id(&mut query)?;
/// assert_eq!(rows.count(), 10);
/// rows.reborrow().for_each(|mut row| {
///     let depth = row.get::<Depth>(1).expect("a term").0;
///     row.get_mut::<Gold>(0).expect("a term to write").0 += depth;
/// });
/// let total: u32 = rows.into_iter().map(|row| row.get::<Gold>(0).expect("a term").0).sum();
/// assert_eq!(total, 3 * 45);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DynamicRows<'w> {
    /// The access to what the query asks for.
    token: SourceToken<'w>,
    query: &'w DynamicQuery,
}

debug_fields!([] DynamicRows<'_>: query);

impl<'w> DynamicRows<'w> {
    /// Returns the same rows for a shorter time. These can be used again afterwards.
    pub fn reborrow(&mut self) -> DynamicRows<'_> {
        DynamicRows { token: self.token.reborrow(), query: self.query }
    }

    /// Returns the same rows, where only what was changed or added after this version of the world is
    /// new. Without this call, everything is new.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::DynamicQuery;
    /// # #[derive(Component)] #[component(tracked)] struct Gold(u32);
    /// let mut world = World::new();
    /// world.spawn(Gold(1));
    /// let before = world.version();
    /// world.spawn(Gold(2));
    /// let gold = world.register::<Gold>();
    /// let mut query = DynamicQuery::builder().added(gold).build(&world)?;
    /// assert_eq!(world.query_by_id(&mut query)?.since(before).count(), 1);
    /// assert_eq!(world.query_by_id(&mut query)?.count(), 2);
    /// # Ok::<(), formic_ecs::DynamicQueryError>(())
    /// ```
    #[must_use]
    pub fn since(self, version: u64) -> Self {
        Self { token: self.token.since(version), ..self }
    }

    /// Calls `f` with every row.
    pub fn for_each(self, f: impl FnMut(DynamicRow<'w>)) {
        self.into_iter().for_each(f);
    }

    /// Calls `f` with every run of consecutive rows that match and have the same optional terms. A run is
    /// a whole chunk if nothing in it is disabled, and the query does not ask for changes.
    pub fn for_each_run(self, mut f: impl FnMut(DynamicRun<'w>)) {
        let mut walk = RunIter::new(self);
        while let Some(run) = walk.next_run() {
            f(run);
        }
    }

    /// Marks all columns that the query writes as written, as if [`for_each_run`](Self::for_each_run) had
    /// handed them out. It is for a host that kept the addresses of rows which [are whole
    /// chunks](DynamicQuery::is_whole), and which no structural change has moved since.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::DynamicQuery;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// world.spawn(Gold(1));
    /// let gold = world.register::<Gold>();
    /// let mut write = DynamicQuery::builder().write(gold).build(&world)?;
    /// let mut changed = DynamicQuery::builder().changed(gold).build(&world)?;
    /// let before = world.version();
    /// assert_eq!(world.query_by_id(&mut changed)?.since(before).count(), 0);
    /// world.query_by_id(&mut write)?.mark_written();
    /// assert_eq!(world.query_by_id(&mut changed)?.since(before).count(), 1);
    /// # Ok::<(), formic_ecs::DynamicQueryError>(())
    /// ```
    pub fn mark_written(self) {
        let Self { token, query } = self;
        let source = token.source();
        for matched in &query.0.matches {
            let chunks = &source.archetypes[matched.archetype.index()].chunks;
            let terms = query.terms().iter().zip(&matched.slots.slots);
            for slot in terms.filter_map(|(term, slot)| slot.as_ref().filter(|_| term.write)) {
                for chunk in 0..chunks.used_count() {
                    let chunk = source.chunk(matched.archetype, chunk);
                    chunk.record(slot.column()).stamps().mark(source.window.version);
                    if let Some(versions) = slot.row_versions(&chunk) {
                        versions.changed.mark_run(0..chunk.len(), source.window);
                    }
                }
            }
        }
    }

    /// Returns the number of rows that match.
    #[must_use]
    pub fn count(&self) -> usize {
        let source = self.token.source();
        let rows_of = |matched: &DynamicMatch| {
            let chunks = &source.archetypes[matched.archetype.index()].chunks;
            let in_chunk = |chunk| {
                let mut rows = Rows::All;
                let chunk = source.chunk(matched.archetype, chunk);
                matched.slots.rows(&chunk, &mut rows);
                rows.count(chunk.len())
            };
            (0..chunks.used_count()).map(in_chunk).sum::<usize>()
        };
        self.query.0.matches.iter().map(rows_of).sum()
    }

    /// Returns the row of one entity.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world, or does not match.
    pub fn get(&mut self, entity: Entity) -> Result<DynamicRow<'_>, QueryEntityError> {
        let location = self.token.source().locate(entity).ok_or(NoSuchEntity(entity))?;
        let matches = &self.query.0.matches;
        let index = matches
            .binary_search_by_key(&location.archetype, |matched| matched.archetype)
            .map_err(|_| QueryEntityError::NotMatching(entity))?;
        let RowAddress { chunk, row } = location.address;
        let mut walk = RunIter::new(self.reborrow());
        walk.open((index, chunk), 0, Some(row));
        let opened = walk.open.as_mut().ok_or(QueryEntityError::NotMatching(entity))?;
        _ = opened.rows.split_to(row);
        let run = walk.next_of_open();
        run.and_then(|mut run| run.take_first()).ok_or(QueryEntityError::NotMatching(entity))
    }
}

impl<'w> IntoIterator for DynamicRows<'w> {
    type Item = DynamicRow<'w>;
    type IntoIter = DynamicRowIter<'w>;

    fn into_iter(self) -> DynamicRowIter<'w> {
        DynamicRowIter { walk: RunIter::new(self), run: None }
    }
}

/// An iterator over the rows of a [`DynamicQuery`].
#[derive(Debug)]
pub struct DynamicRowIter<'w> {
    walk: RunIter<'w>,
    /// The remaining rows of the current run.
    run: Option<DynamicRun<'w>>,
}

impl<'w> Iterator for DynamicRowIter<'w> {
    type Item = DynamicRow<'w>;

    fn next(&mut self) -> Option<DynamicRow<'w>> {
        loop {
            if let Some(row) = self.run.as_mut().and_then(DynamicRun::take_first) {
                return Some(row);
            }
            self.run = Some(self.walk.next_run()?);
        }
    }
}

/// The iteration over the runs of a query, each once (I-11).
struct RunIter<'w> {
    source: Source<'w>,
    query: &'w DynamicQuery,
    chunks: ChunkWalk<'w>,
    next_match: usize,
    next_chunk: usize,
    ordinal: usize,
    open: Option<OpenChunk<'w>>,
    /// The rows of the open chunk that match. It is large, so it stays in place.
    matching: Rows,
}

debug_fields!([] RunIter<'_>: query);

impl<'w> RunIter<'w> {
    fn new(rows: DynamicRows<'w>) -> Self {
        let (source, query) = (rows.token.source(), rows.query);
        let chunks = rows.token.walk(query.access());
        let (next_match, next_chunk, ordinal, open, matching) = (0, 0, 0, None, Rows::None);
        Self { source, query, chunks, next_match, next_chunk, ordinal, open, matching }
    }

    fn next_run(&mut self) -> Option<DynamicRun<'w>> {
        loop {
            if let Some(run) = self.next_of_open() {
                return Some(run);
            }
            if !self.open_next() {
                return None;
            }
        }
    }

    #[inline]
    fn next_of_open(&mut self) -> Option<DynamicRun<'w>> {
        self.open.as_mut()?.next_run(&self.matching)
    }

    /// Enters the next chunk, if there is one. `open` is `None` if none of its rows matches.
    fn open_next(&mut self) -> bool {
        while let Some(matched) = self.query.0.matches.get(self.next_match) {
            let chunks = &self.source.archetypes[matched.archetype.index()].chunks;
            if self.next_chunk < chunks.used_count() {
                self.open((self.next_match, self.next_chunk), self.ordinal, None);
                self.next_chunk += 1;
                self.ordinal += 1;
                return true;
            }
            self.next_match += 1;
            self.next_chunk = 0;
        }
        false
    }

    /// Enters a chunk, unless none of its rows matches, or the one that is asked for does not: reads its
    /// bits once, and marks the columns that will be written.
    fn open(&mut self, (index, chunk): (usize, usize), ordinal: usize, row: Option<usize>) {
        let (query, window) = (self.query, self.source.window);
        let matched = &query.0.matches[index];
        let archetype = &self.source.archetypes[matched.archetype.index()];
        let (at, mut rows) = self.chunks.open(matched.archetype.index(), chunk);
        matched.slots.rows(&at, &mut self.matching);
        let is_refused = |row| !self.matching.contains(row);
        if matches!(self.matching, Rows::None) || row.is_some_and(is_refused) {
            self.open = None;
            return;
        }
        let optionals: Vec<_> = query
            .optional_terms()
            .map(|term| (term, matched.slots.optional_rows(&at, term)))
            .collect();
        for (place, (term, slot)) in query.terms().iter().zip(&matched.slots.slots).enumerate() {
            let is_absent = |(term, rows): &(_, _)| *term == place && matches!(rows, Rows::None);
            if let (true, Some(slot)) = (term.write && !optionals.iter().any(is_absent), slot) {
                at.record(slot.column()).stamps().mark(window.version);
            }
        }
        let place = DynamicRun {
            archetype,
            slots: &matched.slots,
            query,
            window,
            chunk,
            ordinal,
            rows: rows.split_to(0),
            present: 0,
            one_thread: PhantomData,
        };
        self.open = Some(OpenChunk { place, optionals, rows });
    }
}

/// A chunk that was entered, and the rows that had its optional terms then.
struct OpenChunk<'w> {
    place: DynamicRun<'w>,
    optionals: Vec<(usize, Rows)>,
    /// The rows that have not been handed out yet.
    rows: RangeToken<'w>,
}

impl<'w> OpenChunk<'w> {
    // Inlined, like the accessors of a run: a run is large, and is built where it is used.
    #[inline]
    fn next_run(&mut self, matching: &Rows) -> Option<DynamicRun<'w>> {
        let (rows, present) = self.next_rows(matching)?;
        _ = self.rows.split_to(rows.start);
        Some(self.place.with_rows(self.rows.split_to(rows.end), present))
    }

    /// Returns the next rows, and a bit for each term that they have.
    fn next_rows(&self, matching: &Rows) -> Option<(Range<usize>, u64)> {
        let len = self.place.archetype.chunks.len(self.place.chunk);
        let mut rows = matching.next_run(self.rows.rows().start, len)?;
        let mut present = u64::MAX;
        for (term, optional) in &self.optionals {
            match optional.next_run(rows.start, len) {
                Some(there) if there.start == rows.start => rows.end = rows.end.min(there.end),
                there => {
                    present &= !(1 << term);
                    rows.end = there.map_or(rows.end, |there| rows.end.min(there.start));
                }
            }
        }
        Some((rows, present))
    }
}

/// The rows of a [`DynamicQuery`] through a [`WorldCell`]. It holds the access to the query's components
/// while it lives, and lends it to one iteration at a time.
pub struct BorrowedDynamicRows<'w> {
    token: BorrowedToken<'w>,
    query: &'w DynamicQuery,
}

debug_fields!([] BorrowedDynamicRows<'_>: query);

impl BorrowedDynamicRows<'_> {
    /// Returns the rows, for as long as this is borrowed.
    pub fn rows(&mut self) -> DynamicRows<'_> {
        DynamicRows { token: self.token.lend(), query: self.query }
    }
}

/// Queries by id.
impl World {
    /// Returns all entities that the query finds.
    ///
    /// # Errors
    /// Returns an error if the query was built for another world.
    pub fn query_by_id<'w>(
        &'w mut self,
        query: &'w mut DynamicQuery,
    ) -> Result<DynamicRows<'w>, DynamicQueryError> {
        query.extend(self.plan_source())?;
        self.next_version();
        let (window, directory) = (self.window(), &self.blocks.directory);
        let token = SourceToken::exclusive(&mut self.archetypes, &self.entities, directory, window);
        Ok(DynamicRows { token, query })
    }
}

impl<'w> WorldCell<'w> {
    /// Returns all entities that the query finds. The components are borrowed until the result is
    /// dropped.
    ///
    /// # Errors
    /// Returns an error if the query was built for another world, or if a component is in use elsewhere
    /// in a conflicting way.
    ///
    /// # Panics
    /// Panics if the cell is [restricted](Self::restrict_to) and the query is not covered by the declared
    /// access.
    pub fn query_by_id(
        self,
        query: &'w mut DynamicQuery,
    ) -> Result<BorrowedDynamicRows<'w>, DynamicQueryError> {
        let world = self.world;
        query.extend(world.plan_source())?;
        let query = &*query;
        Ok(BorrowedDynamicRows {
            token: self.take(query.access(), &mut LastRun::default())?,
            query,
        })
    }
}
