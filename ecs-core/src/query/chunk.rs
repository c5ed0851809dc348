//! One chunk of a query: the rows to visit, one by one or as slices.
#![expect(unsafe_code, reason = "asks each row of a chunk once")]

use core::fmt;

use super::column::{RangeToken, RowToken};
use super::data::{ColumnData, QueryData};
use super::filter::QueryFilter;
use super::plan::MatchOf;
use crate::archetype::Archetype;
use crate::entities::{Entities, Location};
use crate::entity::Entity;
use crate::mask::Rows;
use crate::storage::{ChangeWindow, Chunks, Directory, Slice};

/// What every query of a world needs to know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'w> {
    pub(crate) archetypes: &'w [Archetype],
    pub(crate) entities: &'w Entities,
    pub(crate) directory: &'w Directory,
    pub(crate) moment: ChangeWindow,
}

impl Source<'_> {
    /// Where this entity is, if it is alive.
    #[inline]
    pub(crate) fn locate(&self, entity: Entity) -> Option<Location> {
        self.entities.locate(entity, self.directory)
    }
}

/// The rows of one chunk that a query visits.
///
/// It holds the right to its rows; each is handed out at most once (I-11).
///
/// ```
/// use formic_ecs::prelude::*;
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// let mut world = World::new();
/// world.spawn_batch((0..1000).map(Gold));
/// let (mut rows, mut slices, mut last) = (0, 0, None);
/// world.query::<&mut Gold>().chunks(|chunk| {
///     assert!(last.replace(chunk.ordinal()) < Some(chunk.ordinal()), "they come in order");
///     rows += chunk.row_count();
///     // By slices, or row by row with `for_each` or a loop.
///     chunk.for_each_run(|gold| slices += gold.len());
/// });
/// assert_eq!((rows, slices), (1000, 1000));
/// ```
pub struct Chunk<'w, Q: QueryData> {
    fetch: Q::Fetch<'w>,
    rows: Rows,
    len: usize,
    ordinal: usize,
}

impl<Q: QueryData> fmt::Debug for Chunk<'_, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chunk")
            .field("ordinal", &self.ordinal)
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

impl<'w, Q: QueryData> Chunk<'w, Q> {
    /// # Safety
    /// `fetch` was made for a chunk of `len` rows, `rows` is at most these; the caller has the
    /// right to all of them for `'w` (I-10) and gives it away with this chunk (I-11).
    pub(crate) unsafe fn new(fetch: Q::Fetch<'w>, rows: Rows, len: usize, ordinal: usize) -> Self {
        Self { fetch, rows, len, ordinal }
    }

    /// A chunk without rows.
    pub(crate) fn nothing() -> Self {
        Self { fetch: Q::nothing(), rows: Rows::None, len: 0, ordinal: 0 }
    }

    /// The place of this chunk among all chunks of the query's archetypes, visited or not. It
    /// depends on the contents of the world alone, which makes it the sort key for what is
    /// recorded into a command buffer while visiting the chunk.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// world.spawn_batch((0..10_000).map(Gold));
    /// let mut ordinals = Vec::new();
    /// world.query::<&Gold>().chunks(|chunk| ordinals.push(chunk.ordinal()));
    /// assert!(ordinals.iter().copied().eq(0..ordinals.len()), "all of them are visited");
    /// ```
    #[must_use]
    pub fn ordinal(&self) -> usize {
        self.ordinal
    }

    /// How many rows are visited.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] #[component(enableable)] struct Lamp;
    /// let mut world = World::new();
    /// let rooms = world.spawn_batch((0..9).map(|_| Lamp));
    /// world.set_enabled::<Lamp>(rooms[4], false)?;
    /// world.query::<&Lamp>().chunks(|chunk| assert_eq!(chunk.row_count(), 8));
    /// # Ok::<(), formic_ecs::ComponentError>(())
    /// ```
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.rows.count(self.len)
    }

    /// Calls `f` with each row.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// world.spawn_batch((0..9).map(Gold));
    /// let mut sum = 0;
    /// world.query::<&Gold>().chunks(|chunk| chunk.for_each(|gold| sum += gold.0));
    /// assert_eq!(sum, 36);
    /// ```
    #[inline]
    pub fn for_each(self, mut f: impl FnMut(Q::Item<'w>)) {
        match &self.rows {
            Rows::None => {}
            Rows::All => {
                // SAFETY: the rows are the chunk's (I-2), and the chunk, which holds the right
                // (`new`, I-10), is consumed here; each row comes up once (I-11).
                let right = unsafe { RangeToken::new(0..self.len) };
                Q::visit(&self.fetch, right, &mut f);
            }
            Rows::Some(mask) => mask.for_each(|row| {
                // SAFETY: the rows of the mask are the chunk's (I-2), and the chunk, which holds
                // the right (`new`, I-10), is consumed here; a mask has no row twice (I-11).
                let right = unsafe { RowToken::new(row) };
                f(Q::item(&self.fetch, right));
            }),
        }
    }

    /// Calls `f` with the slices of each run of rows.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// world.spawn_batch((0..9).map(Gold));
    /// let mut sum = 0;
    /// world.query::<&Gold>().chunks(|chunk| {
    ///     chunk.for_each_run(|run| sum += run.iter().map(|gold| gold.0).sum::<u32>());
    /// });
    /// assert_eq!(sum, 36);
    /// ```
    #[inline]
    pub fn for_each_run(self, mut f: impl FnMut(Q::Columns<'w>))
    where
        Q: ColumnData,
    {
        let mut from = 0;
        while let Some(run) = self.rows.next_run(from, self.len) {
            from = run.end;
            // SAFETY: the run is of the chunk's rows (I-2), and the chunk, which holds the right
            // (`new`, I-10), is consumed here; the runs do not overlap (I-11).
            let right = unsafe { RangeToken::new(run) };
            f(Q::columns(&self.fetch, right));
        }
    }
}

impl<'w, Q: QueryData> IntoIterator for Chunk<'w, Q> {
    type Item = Q::Item<'w>;
    type IntoIter = ChunkIter<'w, Q>;

    fn into_iter(self) -> ChunkIter<'w, Q> {
        ChunkIter { chunk: self, row: 0, end: 0 }
    }
}

/// The rows of a chunk that match, as the bits are now.
#[inline]
pub(crate) fn rows<Q: QueryData, F: QueryFilter>(
    archetype: &Archetype,
    found: &MatchOf<Q, F>,
    chunk: usize,
    moment: ChangeWindow,
) -> Rows {
    let mut rows = Rows::All;
    find_rows::<Q, F>(archetype, found, chunk, moment, &mut rows);
    rows
}

/// [`rows`] in place, for they take a quarter of a kilobyte.
#[inline]
pub(crate) fn find_rows<Q: QueryData, F: QueryFilter>(
    archetype: &Archetype,
    found: &MatchOf<Q, F>,
    chunk: usize,
    moment: ChangeWindow,
    rows: &mut Rows,
) {
    *rows = Rows::All;
    Q::rows(&found.query, &archetype.chunks, chunk, rows);
    F::rows(&found.filter, &archetype.chunks, chunk, moment.since, rows);
    if let Some(slice) = moment.slice {
        keep_slice(&archetype.chunks, chunk, slice, rows);
    }
}

/// Narrows to the rows whose entities are in a slice. Apart, because it is seldom asked for.
#[inline(never)]
fn keep_slice(chunks: &Chunks, chunk: usize, slice: Slice, rows: &mut Rows) {
    let entities = chunks.entities(chunk);
    rows.keep_words(entities.len(), |word| {
        slice.bits(&entities[word * 64..entities.len().min(word * 64 + 64)])
    });
}

/// Opens the chunk of a match, whose rows come with it.
///
/// # Safety
/// The caller has the right that the query needs to this chunk for `'w` (I-10), and gives it away
/// with what is returned (I-11).
#[inline]
pub(crate) unsafe fn open<'w, Q: QueryData, F: QueryFilter>(
    archetype: &'w Archetype,
    found: &MatchOf<Q, F>,
    chunk: usize,
    ordinal: usize,
    moment: ChangeWindow,
) -> Option<Chunk<'w, Q>> {
    let rows = rows::<Q, F>(archetype, found, chunk, moment);
    if matches!(rows, Rows::None) {
        return None;
    }
    let chunks = &archetype.chunks;
    let fetch = Q::fetch(&found.query, chunks, chunk, moment);
    // SAFETY: fetched from the chunk whose length is given; the rows began as all of its rows and
    // were only narrowed (`QueryData`, `QueryFilter`); the right (I-10) is the caller's to give
    // (I-11).
    Some(unsafe { Chunk::new(fetch, rows, chunks.len(chunk), ordinal) })
}

/// The rows of one chunk, one by one.
///
/// ```
/// use formic_ecs::prelude::*;
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// let mut world = World::new();
/// world.spawn_batch((0..10).map(Gold));
/// let mut sum = 0;
/// world.query::<&Gold>().chunks(|chunk| {
///     for gold in chunk {
///         sum += gold.0;
///     }
/// });
/// assert_eq!(sum, 45);
/// ```
pub struct ChunkIter<'w, Q: QueryData> {
    chunk: Chunk<'w, Q>,
    row: usize,
    /// The end of the run that `row` is in.
    end: usize,
}

impl<Q: QueryData> fmt::Debug for ChunkIter<'_, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChunkIter")
            .field("chunk", &self.chunk)
            .field("row", &self.row)
            .finish_non_exhaustive()
    }
}

impl<Q: QueryData> ChunkIter<'_, Q> {
    /// How many rows are still to come.
    pub(crate) fn remaining(&self) -> usize {
        let mut from = self.end;
        let mut count = self.end - self.row;
        while let Some(run) = self.chunk.rows.next_run(from, self.chunk.len) {
            count += run.len();
            from = run.end;
        }
        count
    }

    #[cold]
    #[inline(never)]
    fn next_run(&mut self) -> bool {
        match self.chunk.rows.next_run(self.end, self.chunk.len) {
            Some(run) => {
                (self.row, self.end) = (run.start, run.end);
                true
            }
            None => false,
        }
    }
}

impl<'w, Q: QueryData> Iterator for ChunkIter<'w, Q> {
    type Item = Q::Item<'w>;

    #[inline]
    fn next(&mut self) -> Option<Q::Item<'w>> {
        if self.row == self.end && !self.next_run() {
            return None;
        }
        let row = self.row;
        self.row += 1;
        // SAFETY: `row` is inside a run of the chunk, which this iterator owns together with the
        // right to it (I-10); it only ever goes up, so each row comes up once (I-11).
        let right = unsafe { RowToken::new(row) };
        Some(Q::item(&self.chunk.fetch, right))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let remaining = self.remaining();
        (remaining, Some(remaining))
    }
}
