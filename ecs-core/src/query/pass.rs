//! One pass over all rows of a query, chunk by chunk.
#![expect(unsafe_code, reason = "asks each row of a query once")]

use core::ops::Range;

use super::chunk::{Source, rows};
use super::column::{RowRight, RunRight};
use super::data::{ColumnData, QueryData};
use super::filter::QueryFilter;
use super::plan::MatchOf;
use crate::archetype::Archetype;
use crate::mask::{RowMask, Rows};
use crate::prefetch::{prefetch, prefetch_pages};
use crate::storage::{BLOCK_BYTES, Moment};

/// Where the columns of a query take so many bytes, 4 MiB, they come from further away than the second
/// cache: each chunk begins with misses, since the processor foresees only what follows in memory.
const PACED_BYTES: usize = 256 * BLOCK_BYTES;
/// How many bytes are asked for at a time. All rows of a chunk at once are too many misses to be on
/// their way together.
const PACE_BYTES: usize = 1024;
/// So many chunks before its turn, one line of each page of a chunk is asked for: where a page is has
/// to be looked up in memory as well, which holds up whoever asks for its other lines.
const PAGES_AHEAD: usize = 2;

/// As many rows as are asked for at a time, all lanes of a vector full.
const fn pace<Q: QueryData>() -> usize {
    match PACE_BYTES.checked_div(Q::ROW_BYTES) {
        Some(rows) if rows < 16 => 16,
        Some(rows) => rows / 16 * 16,
        None => usize::MAX,
    }
}

/// From so many archetypes on, what is known about them comes from further away than the first
/// cache.
const MANY: usize = 128;
/// So many archetypes before its turn, what is known about the columns of one is asked for.
const AHEAD: usize = 4;

/// Calls `f` with every row that matches.
///
/// # Safety
/// The caller has the right that the query needs to all of these archetypes for `'w` (I-10), and
/// gives it away (I-11); `matches` are those of this query in them, each once (I-8).
#[inline]
pub(crate) unsafe fn visit_rows<'w, Q: QueryData, F: QueryFilter>(
    source: Source<'w>,
    matches: &[MatchOf<Q, F>],
    f: &mut impl FnMut(Q::Item<'w>),
) {
    visit::<Q, F>(source, matches, |fetch, part| match part {
        Part::Run(rows) => {
            // SAFETY: rows of the chunk that was fetched, to which the caller has the right (I-10);
            // `visit` gives each once (I-11).
            let right = unsafe { RunRight::new(rows) };
            Q::visit(fetch, right, f);
        }
        Part::Masked(mask) => mask.for_each(|row| {
            // SAFETY: rows of the chunk that was fetched, to which the caller has the right (I-10);
            // `visit` gives each mask once, and a mask has no row twice (I-11).
            let right = unsafe { RowRight::new(row) };
            f(Q::item(fetch, right));
        }),
    });
}

/// Calls `f` with the slices of every run of rows that match.
///
/// # Safety
/// As for [`visit_rows`].
#[inline]
pub(crate) unsafe fn visit_runs<'w, Q: ColumnData, F: QueryFilter>(
    source: Source<'w>,
    matches: &[MatchOf<Q, F>],
    f: &mut impl FnMut(Q::Columns<'w>),
) {
    visit::<Q, F>(source, matches, |fetch, part| match part {
        Part::Run(rows) => {
            // SAFETY: rows of the chunk that was fetched, to which the caller has the right (I-10);
            // `visit` gives each once (I-11).
            let right = unsafe { RunRight::new(rows) };
            f(Q::columns(fetch, right));
        }
        Part::Masked(mask) => mask.for_each_run(|rows| {
            // SAFETY: rows of the chunk that was fetched, to which the caller has the right (I-10);
            // `visit` gives each mask once, and its runs do not overlap (I-11).
            let right = unsafe { RunRight::new(rows) };
            f(Q::columns(fetch, right));
        }),
    });
}

/// Rows of a chunk to visit.
enum Part<'a> {
    Run(Range<usize>),
    Masked(&'a RowMask),
}

/// Calls `f` with each chunk and the rows of it that match, each once; where an archetype is large,
/// with no more than [`pace`] rows at a time.
#[inline]
fn visit<'w, Q: QueryData, F: QueryFilter>(
    source: Source<'w>,
    matches: &[MatchOf<Q, F>],
    mut f: impl FnMut(&Q::Fetch<'w>, Part<'_>),
) {
    let is_dense = is_dense::<Q, F>(source.moment);
    let ahead = if matches.len() >= MANY { &matches[AHEAD..] } else { &[] };
    for (index, found) in matches.iter().enumerate() {
        if let Some(ahead) = ahead.get(index) {
            source.archetypes[ahead.archetype.index()].chunks.prefetch_records();
        }
        let archetype = &source.archetypes[found.archetype.index()];
        let chunks = &archetype.chunks;
        // Where archetypes are many they are small, and what counts is how little is done for each.
        if is_dense && chunks.used_count() == 1 {
            let fetch = Q::fetch(&found.query, chunks, 0, source.moment);
            f(&fetch, Part::Run(0..chunks.row_count()));
        } else if chunks.used_count() > 0 {
            visit_archetype::<Q, F>(archetype, found, source.moment, &mut f);
        }
    }
}

/// Whether all rows of every chunk come, whatever is in them.
#[inline]
fn is_dense<Q: QueryData, F: QueryFilter>(moment: Moment) -> bool {
    !Q::NARROWS && !F::NARROWS && moment.slice.is_none()
}

/// [`visit`] for one archetype.
#[inline(never)]
fn visit_archetype<'w, Q: QueryData, F: QueryFilter>(
    archetype: &'w Archetype,
    found: &MatchOf<Q, F>,
    moment: Moment,
    f: &mut impl FnMut(&Q::Fetch<'w>, Part<'_>),
) {
    let chunks = &archetype.chunks;
    let last = chunks.used_count() - 1;
    let is_paced = chunks.row_count().saturating_mul(Q::ROW_BYTES) >= PACED_BYTES;
    if is_dense::<Q, F>(moment) && !is_paced {
        for chunk in 0..=last {
            let fetch = Q::fetch(&found.query, chunks, chunk, moment);
            f(&fetch, Part::Run(0..chunks.len(chunk)));
        }
        return;
    }
    // While some rows of a chunk of a large archetype are visited, the same rows of the next one
    // are on their way.
    let pace = if is_paced { pace::<Q>() } else { usize::MAX };
    for chunk in 0..=last {
        let rows = rows::<Q, F>(archetype, found, chunk, moment);
        if matches!(rows, Rows::None) {
            continue;
        }
        let fetch = Q::fetch(&found.query, chunks, chunk, moment);
        if let Rows::Some(mask) = &rows {
            f(&fetch, Part::Masked(mask));
            continue;
        }
        let later = chunk + PAGES_AHEAD;
        if is_paced && later <= last {
            Q::prefetch(&found.query, chunks, later, 0..chunks.len(later), prefetch_pages);
        }
        let len = chunks.len(chunk);
        let mut start = 0;
        while start < len {
            let some = start..len.min(start.saturating_add(pace));
            start = some.end;
            if is_paced && chunk < last {
                Q::prefetch(&found.query, chunks, chunk + 1, some.clone(), prefetch);
            }
            f(&fetch, Part::Run(some));
        }
    }
}
