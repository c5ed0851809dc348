//! Queries that hold the right to their components: they hand out each chunk once, and each row once.
#![expect(unsafe_code, reason = "hands out each chunk of a query and each row of a chunk once")]

mod parallel;

use alloc::borrow::Cow;
use core::marker::PhantomData;
use core::ops::Range;

#[cfg(all(test, loom))]
pub(super) use self::parallel::Taken;
pub use self::parallel::{ParallelChunks, ParallelScratch};
use super::access::{Access, BorrowGuard};
use super::column::{AddressToken, ChunkRef, RangeToken, RowToken};
use super::data::{ColumnData, FetchOf, QueryData, QueryParts, ReadOnly, item};
use super::filter::QueryFilter;
use super::plan::{FirstChunkOf, MatchOf, QueryPlanOf, TermsOf, matches_once};
use super::term::Term;
use crate::archetype::{Archetype, ArchetypeId, Archetypes};
use crate::component::Registry;
use crate::entities::{Entities, Location};
use crate::entity::Entity;
use crate::error::{NoSuchEntity, QueryEntityError};
use crate::mask::Rows;
use crate::storage::{ChangeWindow, Chunks, Directory, RowAddress, Shard};

/// The parts of a world that every query needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'w> {
    pub(crate) archetypes: &'w [Archetype],
    pub(crate) entities: &'w Entities,
    pub(crate) directory: &'w Directory,
    pub(crate) window: ChangeWindow,
}

impl<'w> Source<'w> {
    /// Returns one chunk of an archetype.
    #[inline]
    pub(crate) fn chunk(&self, archetype: ArchetypeId, chunk: usize) -> ChunkRef<'w> {
        let chunks = &self.archetypes[archetype.index()].chunks;
        ChunkRef { chunks, chunk, window: self.window }
    }

    /// Returns the location of this entity, if it is alive.
    #[inline]
    pub(crate) fn locate(&self, entity: Entity) -> Option<Location> {
        self.entities.locate(entity, self.directory)
    }
}

/// The parts of a world that every query needs, with the right to what one access names (I-10).
pub(crate) struct SourceToken<'w> {
    source: Source<'w>,
    /// `None` for the right to everything.
    access: Option<&'w Access>,
}

impl<'w> SourceToken<'w> {
    /// Returns the right to everything, since the archetypes are borrowed exclusively.
    #[inline]
    pub(crate) fn exclusive(
        archetypes: &'w mut Archetypes,
        entities: &'w Entities,
        directory: &'w Directory,
        window: ChangeWindow,
    ) -> Self {
        let archetypes = archetypes.list();
        Self { source: Source { archetypes, entities, directory, window }, access: None }
    }

    /// Checks that this is the right to `access`, and returns the source.
    ///
    /// # Panics
    /// Panics if it is the right to another access.
    #[inline]
    pub(super) fn check(&self, access: &Access) -> Source<'w> {
        let is_to_it = self.access.is_none_or(|mine| core::ptr::eq(mine, access));
        assert!(is_to_it, "the right to another access");
        self.source
    }

    /// Returns the source without the right.
    #[inline]
    pub(crate) fn source(&self) -> Source<'w> {
        self.source
    }

    /// Returns the same right for a shorter time.
    pub(crate) fn reborrow(&mut self) -> SourceToken<'_> {
        SourceToken { source: self.source, access: self.access }
    }

    /// Returns the same right, for a query that asks what is new since this version.
    pub(crate) fn since(mut self, version: u64) -> Self {
        self.source.window.since = version;
        self
    }

    /// Returns all entities that match a query, by its plan, which was just extended.
    #[inline(always)]
    pub(crate) fn query<Q: QueryData, F: QueryFilter>(
        self,
        plan: &'w QueryPlanOf<Q, F>,
    ) -> Query<'w, Q, F> {
        let source = self.check(&plan.access);
        // The plan belongs to the world of the source. While that is borrowed, no chunk comes, goes or
        // moves (I-23).
        let first_chunks = plan.first_chunks(source.directory);
        // SAFETY: this is the right to the access of the plan that the matches come from (I-10). The plan
        // lists what matches (I-8), and the right is consumed.
        let query = unsafe { Query::new(source, &plan.matches) };
        Query { first_chunks, ..query }
    }

    /// Returns a walk over the chunks of the archetypes, for an access.
    pub(crate) fn walk(self, access: &Access) -> ChunkWalk<'w> {
        ChunkWalk { source: self.check(access), next: (0, 0) }
    }
}

/// A right together with the guard that it comes from (I-10).
pub(crate) struct BorrowedToken<'w> {
    token: SourceToken<'w>,
    guard: BorrowGuard<'w>,
}

impl<'w> BorrowedToken<'w> {
    /// # Safety
    /// The guard is that of this access to the world of the source, and every other user of the values
    /// has such a guard (I-10).
    #[inline(always)]
    pub(crate) unsafe fn new(
        source: Source<'w>,
        access: &'w Access,
        guard: BorrowGuard<'w>,
    ) -> Self {
        Self { token: SourceToken { source, access: Some(access) }, guard }
    }

    /// Returns the right for as long as this is borrowed, so nothing that it hands out outlives the
    /// guard.
    pub(crate) fn lend(&mut self) -> SourceToken<'_> {
        self.token.reborrow()
    }

    /// Returns the right and the guard. The caller keeps the guard for as long as anything of the right
    /// exists.
    #[inline(always)]
    pub(super) fn into_parts(self) -> (SourceToken<'w>, BorrowGuard<'w>) {
        (self.token, self.guard)
    }
}

/// A walk that opens chunks in order, with the right to their rows (I-10).
pub(crate) struct ChunkWalk<'w> {
    source: Source<'w>,
    /// The first chunk that may still be opened.
    next: (usize, usize),
}

impl<'w> ChunkWalk<'w> {
    /// Opens a chunk of an archetype, and returns it with a token for all of its rows.
    ///
    /// # Panics
    /// Panics if this chunk, or a later one, was opened before.
    pub(crate) fn open(
        &mut self,
        archetype: usize,
        chunk: usize,
    ) -> (ChunkRef<'w>, RangeToken<'w>) {
        assert!(self.next <= (archetype, chunk), "each chunk is opened once");
        self.next = (archetype, chunk + 1);
        let Source { archetypes, window, .. } = self.source;
        let chunk = ChunkRef { chunks: &archetypes[archetype].chunks, chunk, window };
        // SAFETY: these are the chunk's rows, to which this walk has the right (I-10), and the chunk is
        // opened once (I-11).
        let rows = unsafe { RangeToken::new(0..chunk.len()) };
        (chunk, rows)
    }
}

/// A query of a world, ready to use: by row, by chunk, or entity by entity.
///
/// Rows come archetype by archetype in the order of their first use, then chunk by chunk, in row order.
/// The order depends only on the operations that made the world.
///
/// ```
/// use formic_ecs::prelude::*;
/// # #[derive(Component)] struct Position(f32);
/// # #[derive(Component)] struct Velocity(f32);
/// let mut world = World::new();
/// world.spawn_batch((0..100).map(|i| (Position(0.0), Velocity(i as f32))));
///
/// for (position, velocity) in world.query::<(&mut Position, &Velocity)>() {
///     position.0 += velocity.0;
/// }
/// // The same, as fast as a plain loop.
/// world.query::<(&mut Position, &Velocity)>().for_each(|(p, v)| p.0 += v.0);
/// // The same with slices, a run of rows at a time.
/// world.query::<(&mut Position, &Velocity)>().for_each_chunk(|(positions, velocities)| {
///     for (position, velocity) in positions.iter_mut().zip(velocities) {
///         position.0 += velocity.0;
///     }
/// });
/// assert_eq!(world.query::<&Position>().map(|p| p.0).sum::<f32>(), 3.0 * 4950.0);
/// ```
pub struct Query<'w, Q: QueryData, F: QueryFilter = ()> {
    source: Source<'w>,
    matches: Cow<'w, [MatchOf<Q, F>]>,
    /// The first chunks of all matches that have one, or an empty slice if they are unknown (I-23).
    first_chunks: &'w [FirstChunkOf<Q>],
    /// A query with [`Claimant`](crate::Claimant)s stays on its thread.
    marker: PhantomData<Q::Parts>,
}

debug_fields!([Q: QueryData, F: QueryFilter] Query<'_, Q, F>:; archetypes = |it| it.matches.len());

impl<'w, Q: QueryData, F: QueryFilter> Query<'w, Q, F> {
    /// # Safety
    /// The caller has the right that the query needs to all of these archetypes for `'w` (I-10), and
    /// gives it to the query. `matches` are those of this query in them, each once (I-8).
    unsafe fn new(source: Source<'w>, matches: impl Into<Cow<'w, [MatchOf<Q, F>]>>) -> Self {
        Self { source, matches: matches.into(), first_chunks: &[], marker: PhantomData }
    }

    /// Returns all entities that match a query that only reads. A cell borrows the world exclusively and
    /// lends the list of its archetypes, but never `Archetypes` itself.
    pub(crate) fn readonly(
        archetypes: &'w Archetypes,
        entities: &'w Entities,
        directory: &'w Directory,
        window: ChangeWindow,
        registry: &Registry,
    ) -> Self
    where
        Q: ReadOnly,
    {
        let archetypes = archetypes.list();
        let matches = matches_once::<Q, F>(registry, archetypes);
        // SAFETY: `Q` only reads, and the archetypes are borrowed shared (I-10). The matches were just
        // computed (I-8).
        unsafe { Self::new(Source { archetypes, entities, directory, window }, matches) }
    }

    /// Returns the change window of the query.
    pub(super) const fn window(&self) -> ChangeWindow {
        self.source.window
    }

    /// Returns the same query with another change window.
    pub(super) fn at(mut self, window: ChangeWindow) -> Self {
        self.source.window = window;
        self
    }

    /// Returns the same query for a shorter time. This one can be used again afterwards.
    pub fn reborrow(&mut self) -> Query<'_, Q, F> {
        let Self { source, ref matches, first_chunks, marker } = *self;
        Query { source, matches: Cow::Borrowed(matches), first_chunks, marker }
    }

    /// Returns the same query for a caller that only reads. Any number of these can be in use at once.
    pub fn as_readonly(&self) -> Query<'_, Q, F>
    where
        Q: ReadOnly,
    {
        let Self { source, ref matches, first_chunks, marker } = *self;
        Query { source, matches: Cow::Borrowed(matches), first_chunks, marker }
    }

    /// Calls `f` with every row. This is the fastest way to go row by row, since the loop runs chunk by
    /// chunk.
    #[inline]
    pub fn for_each(self, mut f: impl FnMut(Q::Item<'w>)) {
        self.visit(&mut f, |fetch, rows, len, f| {
            // SAFETY: these are rows of the chunk that was fetched. The query holds the right (I-10) and
            // is consumed, and `visit` gives each chunk once (I-11).
            unsafe { each_row::<Q>(fetch, rows, 0..len, f) };
        });
    }

    /// Calls `f` with the slices of every run of rows: the whole chunk if no row of it is excluded,
    /// otherwise each run of rows that match.
    ///
    /// With [`bytemuck::cast_slice`] a slice of `Pod` components becomes a slice of the numbers that they
    /// consist of, so the compiler can use the whole width of a vector.
    #[inline]
    pub fn for_each_chunk(self, mut f: impl FnMut(Q::Columns<'w>))
    where
        Q: ColumnData,
    {
        self.visit(&mut f, |fetch, rows, len, f| {
            // SAFETY: these are rows of the chunk that was fetched. The query holds the right (I-10) and
            // is consumed, and `visit` gives each chunk once (I-11).
            unsafe { each_run::<Q>(fetch, rows, 0..len, f) };
        });
    }

    /// Calls `each` with each chunk and the rows of it that match, each once.
    ///
    /// Only `each` gets the visitor, not the code that steps from chunk to chunk, which is not inlined.
    /// So a sum that the visitor computes can stay in a register.
    #[inline]
    fn visit<V>(&self, visitor: &mut V, each: impl Fn(&FetchOf<'w, Q>, &Rows, usize, &mut V)) {
        let Source { archetypes, window, .. } = self.source;
        // All rows of every chunk match, whatever their bits and versions are.
        let is_dense = !TermsOf::<Q, F>::NARROWS && window.shard.is_none();
        // SAFETY: the token is passed only to the first chunks, which belong to these archetypes. None of
        // their chunks has come, gone or moved since they were found (`SourceToken::query`, I-23).
        let token = unsafe { AddressToken::new(archetypes) };
        let mut first_chunks = self.first_chunks.iter();
        let mut matches = if first_chunks.len() > 0 { [].iter() } else { self.matches.iter() };
        loop {
            // If archetypes are many, they are small, and the cost of each step counts. So archetypes
            // with one chunk have a loop of their own.
            let (matched, chunks) = 'next: {
                for first in first_chunks.by_ref() {
                    let chunks = &archetypes[first.archetype.index()].chunks;
                    if !is_dense || chunks.used_count() != 1 {
                        break 'next (&self.matches[first.index()], chunks);
                    }
                    let fetch = Q::Parts::open(&first.address, token, window);
                    each(&fetch, &Rows::All, chunks.row_count(), visitor);
                }
                for matched in matches.by_ref() {
                    let chunks = &archetypes[matched.archetype.index()].chunks;
                    if !is_dense || chunks.used_count() != 1 {
                        break 'next (matched, chunks);
                    }
                    let chunk = ChunkRef { chunks, chunk: 0, window };
                    let fetch = Q::Parts::fetch(&matched.slots.0, &chunk);
                    each(&fetch, &Rows::All, chunks.row_count(), visitor);
                }
                return;
            };
            let (mut next, mut rows) = (0, Rows::None);
            while let Some(chunk) =
                next_chunk::<Q, F>(chunks, matched, window, &mut next, &mut rows)
            {
                let chunk = ChunkRef { chunks, chunk, window };
                each(&Q::Parts::fetch(&matched.slots.0, &chunk), &rows, chunk.len(), visitor);
            }
        }
    }

    /// Calls `visit` with every chunk that has rows to visit.
    #[inline]
    pub fn chunks(self, mut visit: impl FnMut(Chunk<'w, Q>)) {
        let mut chunks = self.into_chunks();
        while let Some(chunk) = chunks.next() {
            visit(chunk);
        }
    }

    pub(super) fn into_chunks(self) -> OpenedChunks<'w, Q, F> {
        OpenedChunks { query: self, next_match: 0, next_chunk: 0, ordinal: 0 }
    }

    /// Returns all chunks of the query's archetypes, in the order of their ordinals: the index of the
    /// match, and the index of the chunk in the archetype.
    fn chunk_indices(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.matches.iter().enumerate().flat_map(|(index, matched)| {
            let chunks = &self.source.archetypes[matched.archetype.index()].chunks;
            (0..chunks.used_count()).map(move |chunk| (index, chunk))
        })
    }

    /// Returns one of these chunks, with its match.
    fn chunk_at(&self, (index, chunk): (usize, usize)) -> (&MatchOf<Q, F>, ChunkRef<'w>) {
        let matched = &self.matches[index];
        (matched, self.source.chunk(matched.archetype, chunk))
    }

    /// Returns the number of matching rows of each chunk.
    pub(super) fn counts(&self) -> impl Iterator<Item = usize> + '_ {
        self.chunk_indices().map(|indices| {
            let (matched, chunk) = self.chunk_at(indices);
            rows::<Q, F>(matched, &chunk).count(chunk.len())
        })
    }

    /// Returns whether this entity matches.
    #[must_use]
    pub fn contains(&self, entity: Entity) -> bool {
        self.find(entity).is_ok()
    }

    /// Returns the row of an entity, if it matches: the index of its match, and its address.
    #[inline]
    fn find(&self, entity: Entity) -> Result<(usize, RowAddress), QueryEntityError> {
        let location = self.source.locate(entity).ok_or(NoSuchEntity(entity))?;
        let matches = &*self.matches;
        let index = matches
            .binary_search_by_key(&location.archetype, |matched| matched.archetype)
            .map_err(|_| QueryEntityError::NotMatching(entity))?;
        let mut chunk = self.source.chunk(location.archetype, location.address.chunk);
        // A question about one entity is not restricted to the shard.
        chunk.window.shard = None;
        if rows::<Q, F>(&matches[index], &chunk).contains(location.address.row) {
            Ok((index, location.address))
        } else {
            Err(QueryEntityError::NotMatching(entity))
        }
    }

    /// # Safety
    /// This query found the place, and gives its right to this row away (I-10). No other item of the row
    /// is used meanwhile, unless Q only reads (I-11).
    #[inline]
    unsafe fn item(&self, (index, address): (usize, RowAddress)) -> Q::Item<'w> {
        let (matched, chunk) = self.chunk_at((index, address.chunk));
        let fetch = Q::Parts::fetch(&matched.slots.0, &chunk);
        // SAFETY: the place is a row of the chunk that was just opened (I-1). The caller guarantees the
        // rest.
        let token = unsafe { RowToken::new(address.row) };
        item::<Q>(&fetch, token)
    }

    /// Returns the item of one entity, for as long as the world is borrowed.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world, or does not match the query.
    #[inline]
    pub fn into_get(self, entity: Entity) -> Result<Q::Item<'w>, QueryEntityError> {
        let place = self.find(entity)?;
        // SAFETY: the place was just found. The query holds the right (I-10) and is consumed, so there is
        // no other item (I-11).
        Ok(unsafe { self.item(place) })
    }

    /// Returns the items of several entities at once.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::QueryEntityError;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// let [ada, ben] = [world.spawn(Gold(5)), world.spawn(Gold(1))];
    /// let mut purses = world.query::<&mut Gold>();
    /// let [from, to] = purses.get_many_mut([ada, ben])?;
    /// std::mem::swap(from, to);
    /// assert_eq!(purses.get_many_mut([ada, ada]).err(), Some(QueryEntityError::Repeated(ada)));
    /// # Ok::<(), QueryEntityError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if one of them is not in the world, does not match the query, or is repeated.
    /// Then nothing counts as written.
    #[doc(alias = "iter_combinations")]
    pub fn get_many_mut<const N: usize>(
        &mut self,
        entities: [Entity; N],
    ) -> Result<[Q::Item<'_>; N], QueryEntityError> {
        let query = self.reborrow();
        let places = find_each(entities, |entity| query.find(entity))?;
        // SAFETY: the places were just found. They belong to different entities, which are in different
        // rows (I-1, I-15). The query holds the right, and is borrowed exclusively for as long as the
        // items are used.
        Ok(places.map(|place| unsafe { query.item(place) }))
    }
}

/// Calls `find` with each of these entities, and returns an error if one of them is repeated.
pub(super) fn find_each<const N: usize, P: Copy>(
    entities: [Entity; N],
    mut find: impl FnMut(Entity) -> Result<P, QueryEntityError>,
) -> Result<[P; N], QueryEntityError> {
    let mut found = [None; N];
    for (index, &entity) in entities.iter().enumerate() {
        if entities[..index].contains(&entity) {
            return Err(QueryEntityError::Repeated(entity));
        }
        found[index] = Some(find(entity)?);
    }
    Ok(found.map(|place| place.expect("each was found")))
}

/// Calls `f` with some rows within a part of a chunk.
///
/// # Safety
/// The chunk was fetched, and the part contains only rows of it. `rows` contains no others. The caller
/// has the right to them (I-10) and gives it away (I-11).
#[inline]
unsafe fn each_row<'w, Q: QueryData>(
    fetch: &FetchOf<'w, Q>,
    rows: &Rows,
    within: Range<usize>,
    f: &mut impl FnMut(Q::Item<'w>),
) {
    match rows {
        Rows::None => {}
        Rows::All => {
            // SAFETY: these are rows of the chunk (I-2), each comes up once (I-11), and the caller has
            // given the right to them away (I-10).
            let token = unsafe { RangeToken::new(within) };
            Q::Parts::visit::<Q>(fetch, token, f);
        }
        Rows::Some(mask) => mask.for_each(|row| {
            // SAFETY: as above; a mask contains no row twice (I-11).
            let token = unsafe { RowToken::new(row) };
            f(item::<Q>(fetch, token));
        }),
    }
}

/// Calls `f` with the slices of each run of some rows.
///
/// # Safety
/// The requirements of [`each_row`].
#[inline]
unsafe fn each_run<'w, Q: ColumnData>(
    fetch: &FetchOf<'w, Q>,
    rows: &Rows,
    within: Range<usize>,
    f: &mut impl FnMut(Q::Columns<'w>),
) {
    let mut from = within.start;
    while let Some(run) = rows.next_run(from, within.end) {
        from = run.end;
        // SAFETY: the run consists of rows of the chunk (I-2), the runs do not overlap (I-11), and the
        // caller has given the right to them away (I-10).
        let token = unsafe { RangeToken::new(run) };
        f(Q::columns(fetch, token));
    }
}

/// Returns the rows of a chunk that match, by the current bits and versions.
#[inline]
pub(crate) fn rows<Q: QueryData, F: QueryFilter>(
    matched: &MatchOf<Q, F>,
    chunk: &ChunkRef<'_>,
) -> Rows {
    let mut rows = Rows::All;
    find_rows::<Q, F>(matched, chunk, &mut rows);
    rows
}

/// Computes [`rows`] in place, since they take a quarter of a kilobyte.
#[inline]
fn find_rows<Q: QueryData, F: QueryFilter>(
    matched: &MatchOf<Q, F>,
    chunk: &ChunkRef<'_>,
    rows: &mut Rows,
) {
    *rows = Rows::All;
    TermsOf::<Q, F>::rows(&matched.slots, chunk, rows);
    if let Some(shard) = chunk.window.shard {
        keep_shard(chunk.entities(), shard, rows);
    }
}

/// Narrows to the rows whose entities are in a shard. A separate function, because shards are rare.
#[inline(never)]
fn keep_shard(entities: &[Entity], shard: Shard, rows: &mut Rows) {
    rows.keep_words(entities.len(), |word| {
        shard.bits(&entities[word * 64..entities.len().min(word * 64 + 64)])
    });
}

/// Returns the next chunk of an archetype, from `next` on, that has rows to visit, and writes these to
/// `rows`.
// A separate function, which keeps this code out of loops over rows.
#[inline(never)]
fn next_chunk<Q: QueryData, F: QueryFilter>(
    chunks: &Chunks,
    matched: &MatchOf<Q, F>,
    window: ChangeWindow,
    next: &mut usize,
    rows: &mut Rows,
) -> Option<usize> {
    while *next < chunks.used_count() {
        let chunk = *next;
        *next += 1;
        find_rows::<Q, F>(matched, &ChunkRef { chunks, chunk, window }, rows);
        if !matches!(rows, Rows::None) {
            return Some(chunk);
        }
    }
    None
}

/// The rows of one chunk that a query visits.
///
/// A chunk holds the right to its rows (I-10): all rows `within` a part of the chunk that was fetched, or
/// those of a mask of them. It hands out each of them at most once (I-11).
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
    fetch: FetchOf<'w, Q>,
    rows: Rows,
    within: Range<usize>,
    ordinal: usize,
}

debug_fields!([Q: QueryData] Chunk<'_, Q>: ordinal, within);

impl<'w, Q: QueryData> Chunk<'w, Q> {
    /// Returns a chunk without rows.
    pub(super) fn empty() -> Self {
        Self { fetch: FetchOf::<'w, Q>::default(), rows: Rows::None, within: 0..0, ordinal: 0 }
    }

    /// Returns the index of this chunk among all chunks of the query's archetypes, visited or not. It
    /// depends only on the contents of the world, so it is the sort key for commands that are recorded
    /// while the chunk is visited.
    #[must_use]
    pub fn ordinal(&self) -> usize {
        self.ordinal
    }

    /// Returns the number of rows that are visited.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.rows.count(self.within.len())
    }

    /// Calls `f` with each row.
    #[inline]
    pub fn for_each(self, mut f: impl FnMut(Q::Item<'w>)) {
        // SAFETY: the chunk holds the right to these rows of what was fetched (I-10), and is consumed
        // here (I-11).
        unsafe { each_row::<Q>(&self.fetch, &self.rows, self.within, &mut f) };
    }

    /// Calls `f` with the slices of each run of rows.
    #[inline]
    pub fn for_each_run(self, mut f: impl FnMut(Q::Columns<'w>))
    where
        Q: ColumnData,
    {
        // SAFETY: the chunk holds the right to these rows of what was fetched (I-10), and is consumed
        // here (I-11).
        unsafe { each_run::<Q>(&self.fetch, &self.rows, self.within, &mut f) };
    }
}

impl<'w, Q: QueryData> IntoIterator for Chunk<'w, Q> {
    type Item = Q::Item<'w>;
    type IntoIter = ChunkIter<'w, Q>;

    fn into_iter(self) -> ChunkIter<'w, Q> {
        let Range { start, end } = self.within;
        let end = if matches!(self.rows, Rows::All) { end } else { start };
        ChunkIter { chunk: self, row: start, end, word: 0, bits: 0 }
    }
}

/// The chunks of a query that have rows to visit. The position only increases, and the matches are listed
/// once each (I-8). So each chunk is opened once (I-11), with the right of the query that this owns.
pub(super) struct OpenedChunks<'w, Q: QueryData, F: QueryFilter> {
    query: Query<'w, Q, F>,
    next_match: usize,
    next_chunk: usize,
    ordinal: usize,
}

impl<'w, Q: QueryData, F: QueryFilter> OpenedChunks<'w, Q, F> {
    // This loop is much like `next_chunk`, but calling that, inlined or not, made a loop over the rows of
    // 4,096 archetypes of one entity take 8 or 39 % longer.
    #[inline]
    pub(super) fn next(&mut self) -> Option<Chunk<'w, Q>> {
        loop {
            let matched = self.query.matches.get(self.next_match)?;
            let Source { archetypes, window, .. } = self.query.source;
            let chunks = &archetypes[matched.archetype.index()].chunks;
            while self.next_chunk < chunks.used_count() {
                let chunk = ChunkRef { chunks, chunk: self.next_chunk, window };
                let ordinal = self.ordinal;
                self.next_chunk += 1;
                self.ordinal += 1;
                let rows = rows::<Q, F>(matched, &chunk);
                if !matches!(rows, Rows::None) {
                    let fetch = Q::Parts::fetch(&matched.slots.0, &chunk);
                    return Some(Chunk { fetch, rows, within: 0..chunk.len(), ordinal });
                }
            }
            self.next_match += 1;
            self.next_chunk = 0;
        }
    }
}

/// An iterator over the rows of one chunk.
pub struct ChunkIter<'w, Q: QueryData> {
    chunk: Chunk<'w, Q>,
    /// The remaining rows, if all rows of the part are visited.
    row: usize,
    end: usize,
    /// If there is a mask: the index of its next word, and the remaining rows of the word before it. The
    /// iterator goes bit by bit, as `RowMask::for_each` does.
    word: usize,
    bits: u64,
}

debug_fields!([Q: QueryData] ChunkIter<'_, Q>: chunk, row);

impl<Q: QueryData> ChunkIter<'_, Q> {
    /// Returns the number of remaining rows.
    pub(crate) fn remaining(&self) -> usize {
        let Rows::Some(mask) = &self.chunk.rows else { return self.end - self.row };
        let words = mask.words()[self.word..].iter().chain([&self.bits]);
        words.map(|word| word.count_ones() as usize).sum()
    }

    #[inline]
    fn next_of_mask(&mut self) -> Option<usize> {
        let Rows::Some(mask) = &self.chunk.rows else { return None };
        while self.bits == 0 {
            self.bits = *mask.words().get(self.word)?;
            self.word += 1;
        }
        let row = (self.word - 1) * 64 + self.bits.trailing_zeros() as usize;
        self.bits &= self.bits - 1;
        Some(row)
    }
}

impl<'w, Q: QueryData> Iterator for ChunkIter<'w, Q> {
    type Item = Q::Item<'w>;

    #[inline]
    fn next(&mut self) -> Option<Q::Item<'w>> {
        let row = if self.row < self.end {
            self.row += 1;
            self.row - 1
        } else {
            self.next_of_mask()?
        };
        // SAFETY: `row` is in the part of the chunk or in the mask. This iterator owns it together with
        // the right to its rows (I-10). The index only increases, so each row comes up once (I-11).
        let token = unsafe { RowToken::new(row) };
        Some(item::<Q>(&self.chunk.fetch, token))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let remaining = self.remaining();
        (remaining, Some(remaining))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::World;

    #[derive(crate::Component)]
    struct A;

    /// Returns a right to one access. The tests access no row.
    fn token<'w>(world: &'w World, access: &'w Access) -> SourceToken<'w> {
        SourceToken { source: world.source_at(world.window()), access: Some(access) }
    }

    #[test]
    #[should_panic(expected = "the right to another access")]
    fn a_right_is_good_for_its_own_access_alone() {
        let mut world = World::new();
        let (mine, other) = (world.plan::<&A>(), world.plan::<&mut A>());
        _ = token(&world, mine.access()).check(other.access());
    }

    #[test]
    #[should_panic(expected = "each chunk is opened once")]
    fn a_walk_opens_no_chunk_again() {
        let mut world = World::new();
        world.spawn(A);
        let plan = world.plan::<&A>();
        let mut walk = token(&world, plan.access()).walk(plan.access());
        _ = walk.open(1, 0);
        _ = walk.open(1, 0);
    }
}
