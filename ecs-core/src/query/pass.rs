//! One pass over all rows of a query, chunk by chunk.
#![expect(unsafe_code, reason = "asks each row of a query once")]

use core::ops::Range;

use super::chunk::{Source, find_rows};
use super::column::{RangeToken, RowToken};
use super::data::{ColumnData, QueryData};
use super::filter::QueryFilter;
use super::plan::MatchOf;
use crate::archetype::Archetype;
use crate::mask::{RowMask, Rows};
use crate::storage::ChangeWindow;

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
    visit::<Q, F, _>(
        source,
        matches,
        f,
        |fetch, rows, f| {
            // SAFETY: rows of the chunk that was fetched, to which the caller has the right (I-10);
            // `visit` gives each once (I-11).
            let right = unsafe { RangeToken::new(rows) };
            Q::visit(fetch, right, f);
        },
        |fetch, mask, f| {
            mask.for_each(|row| {
                // SAFETY: rows of the chunk that was fetched, to which the caller has the right
                // (I-10); `visit` gives each mask once, and a mask has no row twice (I-11).
                let right = unsafe { RowToken::new(row) };
                f(Q::item(fetch, right));
            });
        },
    );
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
    visit::<Q, F, _>(
        source,
        matches,
        f,
        |fetch, rows, f| {
            // SAFETY: rows of the chunk that was fetched, to which the caller has the right (I-10);
            // `visit` gives each once (I-11).
            let right = unsafe { RangeToken::new(rows) };
            f(Q::columns(fetch, right));
        },
        |fetch, mask, f| {
            mask.for_each_run(|rows| {
                // SAFETY: rows of the chunk that was fetched, to which the caller has the right
                // (I-10); `visit` gives each mask once, and its runs do not overlap (I-11).
                let right = unsafe { RangeToken::new(rows) };
                f(Q::columns(fetch, right));
            });
        },
    );
}

/// Calls `run` or `masked` with each chunk and the rows of it that match, each once.
///
/// The visitor goes to these two alone, and not to what steps from chunk to chunk, which is not
/// inlined: what it adds up can stay in a register.
#[inline]
fn visit<'w, Q: QueryData, F: QueryFilter, V>(
    source: Source<'w>,
    matches: &[MatchOf<Q, F>],
    visitor: &mut V,
    run: impl Fn(&Q::Fetch<'w>, Range<usize>, &mut V),
    masked: impl Fn(&Q::Fetch<'w>, &RowMask, &mut V),
) {
    let is_dense = is_dense::<Q, F>(source.moment);
    let mut matches = matches.iter();
    loop {
        // Where archetypes are many they are small, and what counts is how little is done for each:
        // a loop of its own for those of one chunk.
        let (found, archetype) = loop {
            let Some(found) = matches.next() else { return };
            let archetype = &source.archetypes[found.archetype.index()];
            let chunks = &archetype.chunks;
            if is_dense && chunks.used_count() == 1 {
                let fetch = Q::fetch(&found.query, chunks, 0, source.moment);
                run(&fetch, 0..chunks.row_count(), visitor);
            } else if chunks.used_count() > 0 {
                break (found, archetype);
            }
        };
        let mut walk = Walk::<Q, F>::new(archetype, found, source.moment);
        while let Some(chunk) = walk.next_chunk() {
            let fetch = Q::fetch(&found.query, &archetype.chunks, chunk, source.moment);
            if let Rows::Some(mask) = &walk.rows {
                masked(&fetch, mask, visitor);
            } else {
                run(&fetch, 0..archetype.chunks.len(chunk), visitor);
            }
        }
    }
}

/// Whether all rows of every chunk come, whatever is in them.
#[inline]
fn is_dense<Q: QueryData, F: QueryFilter>(moment: ChangeWindow) -> bool {
    !Q::NARROWS && !F::NARROWS && moment.slice.is_none()
}

/// The way through the chunks of one archetype.
struct Walk<'w, 'm, Q: QueryData, F: QueryFilter> {
    archetype: &'w Archetype,
    found: &'m MatchOf<Q, F>,
    moment: ChangeWindow,
    /// The chunk after this one.
    next: usize,
    /// The rows to visit of this chunk.
    rows: Rows,
}

impl<'w, 'm, Q: QueryData, F: QueryFilter> Walk<'w, 'm, Q, F> {
    #[inline]
    fn new(archetype: &'w Archetype, found: &'m MatchOf<Q, F>, moment: ChangeWindow) -> Self {
        Self { archetype, found, moment, next: 0, rows: Rows::None }
    }

    /// The next chunk with rows to visit.
    // Apart: a loop over rows has none of this in its way.
    #[inline(never)]
    fn next_chunk(&mut self) -> Option<usize> {
        let chunks = &self.archetype.chunks;
        while self.next < chunks.used_count() {
            let chunk = self.next;
            self.next += 1;
            find_rows::<Q, F>(self.archetype, self.found, chunk, self.moment, &mut self.rows);
            if !matches!(self.rows, Rows::None) {
                return Some(chunk);
            }
        }
        None
    }
}
