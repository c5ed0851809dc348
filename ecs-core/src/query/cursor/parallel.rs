//! The chunks of a query as units of work for several threads, each taken once.

use alloc::vec::Vec;
use core::ops::Range;

use super::{Chunk, MatchOf, Query, QueryData, QueryFilter, QueryParts, Source, rows};
use crate::mask::{RowMask, Rows};
use crate::sync::{Ordering, ProtocolU64};

impl<Q: QueryData, F: QueryFilter> Query<'_, Q, F> {
    /// Returns the chunks as units of work for several threads. `scratch` keeps its memory for reuse.
    pub fn parallel<'a>(
        &'a mut self,
        scratch: &'a mut ParallelScratch,
    ) -> ParallelChunks<'a, Q, F> {
        scratch.units.clear();
        scratch.words.clear();
        scratch.batch_count = 0;
        // Loops, because iterators are much more code for the compiler, which sees it for each query.
        let mut ordinal = 0;
        for (index, matched) in self.matches.iter().enumerate() {
            for chunk in 0..self.source.archetypes[matched.archetype.index()].chunks.used_count() {
                let opened = self.source.chunk(matched.archetype, chunk);
                let rows = rows::<Q, F>(matched, &opened);
                scratch.push((index, chunk), ordinal, opened.len(), &rows);
                ordinal += 1;
            }
        }
        scratch.taken.prepare(scratch.batch_count);
        ParallelChunks { source: self.source, matches: &self.matches, scratch }
    }
}

/// One chunk of one match that has rows to visit.
#[derive(Clone, Copy, Debug)]
struct ChunkUnit {
    index: usize,
    chunk: usize,
    ordinal: usize,
    /// The number of batches in the units before this one.
    first_batch: usize,
    /// The start of its mask in the words, if not all rows are visited.
    mask: Option<usize>,
}

/// The number of rows of a batch. Threads that stamp or switch rows of different batches share no word.
const BATCH_ROWS: usize = 64;

/// Reusable memory for splitting a query into chunks.
#[derive(Debug, Default)]
pub struct ParallelScratch {
    units: Vec<ChunkUnit>,
    /// The masks of the units that have one.
    words: Vec<u64>,
    batch_count: usize,
    taken: Taken,
}

/// The batches that have been taken: a bit for each, set once and by one thread (I-11). The model is in
/// `loom_models`.
#[derive(Debug, Default)]
pub(crate) struct Taken(Vec<ProtocolU64>);

impl Taken {
    /// Resets to `count` batches, none of them taken.
    pub(crate) fn prepare(&mut self, count: usize) {
        self.0.clear();
        self.0.extend((0..count.div_ceil(64)).map(|_| ProtocolU64::new(0)));
    }

    /// Sets the bits of some batches. Returns whether none of them was set before.
    #[inline]
    pub(crate) fn take(&self, batches: Range<usize>) -> bool {
        let (mut start, mut is_first) = (batches.start, true);
        while start < batches.end {
            let end = batches.end.min((start / 64 + 1) * 64);
            let bits = u64::MAX >> (64 - (end - start)) << (start % 64);
            // Relaxed: it is enough that only one thread can be first. The thread that handed the query
            // to this one published the contents of the chunk, and no thread gives a bit back. A thread
            // that comes second accesses nothing, and a thread that joins the first sees what it wrote.
            is_first &= self.0[start / 64].fetch_or(bits, Ordering::Relaxed) & bits == 0;
            start = end;
        }
        is_first
    }
}

impl ParallelScratch {
    /// Adds a chunk of `len` rows.
    fn push(&mut self, (index, chunk): (usize, usize), ordinal: usize, len: usize, rows: &Rows) {
        let mask = match rows {
            Rows::None => return,
            Rows::All => None,
            Rows::Some(mask) => {
                self.words.extend_from_slice(mask.words());
                Some(self.words.len() - mask.words().len())
            }
        };
        let first_batch = self.batch_count;
        self.batch_count += len.div_ceil(BATCH_ROWS);
        self.units.push(ChunkUnit { index, chunk, ordinal, first_batch, mask });
    }

    /// Returns the rows of a unit that are visited within a part of its chunk. The part starts at a word
    /// of the mask.
    fn rows(&self, unit: ChunkUnit, within: &Range<usize>) -> Rows {
        match unit.mask {
            None => Rows::All,
            Some(start) => Rows::Some(RowMask::from_words(&self.words[start..], within)),
        }
    }
}

/// The chunks of a query that have rows to visit. Any thread can take them, each once.
///
/// The rows to visit were determined when this was created: if a thread switches a bit meanwhile, only
/// the next pass sees it. Parallel loops are built on this; `ecs-jobs` has `par_for_each`.
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::ParallelScratch;
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// let mut world = World::new();
/// world.spawn_batch((0..10_000).map(Gold));
/// let mut scratch = ParallelScratch::default();
/// let mut query = world.query::<&mut Gold>();
/// let chunks = query.parallel(&mut scratch);
/// assert!(!chunks.is_empty());
/// std::thread::scope(|scope| {
///     for _ in 0..2 {
///         scope.spawn(|| {
///             for chunk in (0..chunks.len()).filter_map(|index| chunks.take(index)) {
///                 chunk.for_each(|gold| gold.0 += 1);
///             }
///         });
///     }
/// });
/// # drop(query);
/// assert_eq!(world.query::<&Gold>().first(), Some(&Gold(1)));
/// ```
pub struct ParallelChunks<'w, Q: QueryData, F: QueryFilter = ()> {
    source: Source<'w>,
    matches: &'w [MatchOf<Q, F>],
    scratch: &'w ParallelScratch,
}

debug_fields!([Q: QueryData, F: QueryFilter] ParallelChunks<'_, Q, F>:; len = |it| it.len());

impl<'w, Q: QueryData, F: QueryFilter> ParallelChunks<'w, Q, F> {
    /// Returns the number of chunks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.scratch.units.len()
    }

    /// Returns whether there are no chunks to visit.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.scratch.units.is_empty()
    }

    /// Takes the chunk at this index. Returns `None` if the chunk, or a batch of it, has been taken
    /// before. Then the rest of the chunk counts as taken, too.
    ///
    /// # Panics
    /// Panics if `index` is not below [`len`](Self::len).
    #[inline]
    pub fn take(&self, index: usize) -> Option<Chunk<'_, Q>> {
        let unit = self.scratch.units[index];
        let next = self.scratch.units.get(index + 1);
        self.take_part(
            unit,
            0..next.map_or(self.batch_count(), |it| it.first_batch) - unit.first_batch,
        )
    }

    /// Returns the number of batches. A batch is up to 64 consecutive rows of one chunk.
    #[must_use]
    pub fn batch_count(&self) -> usize {
        self.scratch.batch_count
    }

    /// Takes some batches. For each chunk that they belong to, it calls `visit` with the number of the
    /// first of its batches and with the rows. If one of the batches of a chunk has been taken before,
    /// `visit` is not called for that chunk, and the other requested batches of it count as taken, too.
    /// So callers must agree on who takes what.
    ///
    /// Unlike whole chunks, batches let several threads share a few rows that each take long.
    ///
    /// # Panics
    /// Panics if `batches` ends above [`batch_count`](Self::batch_count).
    pub fn take_batches<'a>(
        &'a self,
        batches: Range<usize>,
        mut visit: impl FnMut(usize, Chunk<'a, Q>),
    ) {
        assert!(batches.end <= self.batch_count(), "there are {}", self.batch_count());
        let Range { mut start, end } = batches;
        let mut index = self.scratch.units.partition_point(|unit| unit.first_batch <= start);
        while start < end {
            let unit = self.scratch.units[index - 1];
            let next = self.scratch.units.get(index);
            let stop = next.map_or(end, |next| end.min(next.first_batch));
            if let Some(part) =
                self.take_part(unit, start - unit.first_batch..stop - unit.first_batch)
            {
                visit(start, part);
            }
            (start, index) = (stop, index + 1);
        }
    }

    /// Takes these batches of a unit.
    #[inline]
    fn take_part(&self, unit: ChunkUnit, batches: Range<usize>) -> Option<Chunk<'_, Q>> {
        let taken = unit.first_batch + batches.start..unit.first_batch + batches.end;
        if !self.scratch.taken.take(taken) {
            return None;
        }
        let matched = &self.matches[unit.index];
        let chunk = self.source.chunk(matched.archetype, unit.chunk);
        let within = batches.start * BATCH_ROWS..chunk.len().min(batches.end * BATCH_ROWS);
        let fetch = Q::Parts::fetch(&matched.slots.0, &chunk);
        // The rows were those of this chunk when the query was split, and none has come or gone since, as
        // the query borrows the world. This holds the right to all chunks (I-10). Each chunk is a unit
        // once, each row is in one batch, and the bits show that these batches have not been given away
        // (I-11).
        let rows = self.scratch.rows(unit, &within);
        Some(Chunk { fetch, rows, within, ordinal: unit.ordinal })
    }
}
