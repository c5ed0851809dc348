//! Walking a query by component id: row by row, or by runs of rows.
#![expect(unsafe_code, reason = "turns columns into bytes and slices of a type that was checked")]

use alloc::vec::Vec;
use core::any::TypeId;
use core::fmt;
use core::ops::Range;
use core::ptr::NonNull;

use super::access::BorrowGuard;
use super::chunk::Source;
use super::dynamic::{DynamicMatch, DynamicQuery, Term};
use crate::archetype::Archetype;
use crate::component::Component;
use crate::entity::Entity;
use crate::error::{NoSuchEntity, QueryEntityError, TermError};
use crate::mask::Rows;
use crate::storage::{Moment, RowAddress};

/// The rows that a [`DynamicQuery`] finds.
///
/// They come in the order in which any query gives them.
pub struct DynamicRows<'w> {
    source: Source<'w>,
    query: &'w DynamicQuery,
}

impl fmt::Debug for DynamicRows<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamicRows").field("query", self.query).finish_non_exhaustive()
    }
}

impl<'w> DynamicRows<'w> {
    /// # Safety
    /// The caller has the right that the query's access names to all of these archetypes for `'w`
    /// (I-10), and gives it away with what is returned; the query was just extended to them (I-8).
    pub(crate) unsafe fn new(source: Source<'w>, query: &'w DynamicQuery) -> Self {
        Self { source, query }
    }

    /// The same rows for a shorter time; these can be asked again afterwards.
    pub fn reborrow(&mut self) -> DynamicRows<'_> {
        DynamicRows { source: self.source, query: self.query }
    }

    /// Calls `f` with every row.
    pub fn for_each(self, f: impl FnMut(DynamicRow<'w>)) {
        self.into_iter().for_each(f);
    }

    /// Calls `f` with every run of rows that lie one after the other and have the same optional
    /// terms: a whole chunk at a time where nothing in it is disabled.
    pub fn for_each_run(self, mut f: impl FnMut(DynamicRun<'w>)) {
        let mut walk = Walk::new(self);
        while let Some(run) = walk.next_run() {
            f(DynamicRun(run));
        }
    }

    /// How many rows match.
    #[must_use]
    pub fn count(&self) -> usize {
        let rows_of = |found: &DynamicMatch| {
            let chunks = &self.source.archetypes[found.archetype].chunks;
            let in_chunk = |chunk| found.rows(chunks, chunk).count(chunks.len(chunk));
            (0..chunks.used_count()).map(in_chunk).sum::<usize>()
        };
        self.query.matches().iter().map(rows_of).sum()
    }

    /// What one entity gives.
    ///
    /// # Errors
    /// Where the entity is not in the world, or does not match.
    pub fn get(&mut self, entity: Entity) -> Result<DynamicRow<'_>, QueryEntityError> {
        let location = self.source.locate(entity).ok_or(NoSuchEntity(entity))?;
        let matches = self.query.matches();
        let found = matches
            .binary_search_by_key(&location.archetype.index(), |found| found.archetype)
            .map_err(|_| QueryEntityError::NotMatching(entity))?;
        let RowAddress { chunk, row } = location.address;
        let walk = Walk::new(self.reborrow());
        let mut opened = walk.open(found, chunk, 0).ok_or(QueryEntityError::NotMatching(entity))?;
        opened.from = row;
        let run = opened.next_run().filter(|run| run.rows.start == row);
        Ok(DynamicRow(run.ok_or(QueryEntityError::NotMatching(entity))?.first()))
    }
}

impl<'w> IntoIterator for DynamicRows<'w> {
    type Item = DynamicRow<'w>;
    type IntoIter = DynamicRowIter<'w>;

    fn into_iter(self) -> DynamicRowIter<'w> {
        DynamicRowIter { walk: Walk::new(self), run: None }
    }
}

/// The rows of a [`DynamicQuery`], one by one.
#[derive(Debug)]
pub struct DynamicRowIter<'w> {
    walk: Walk<'w>,
    /// The rows of the run that are still to come.
    run: Option<Run<'w>>,
}

impl<'w> Iterator for DynamicRowIter<'w> {
    type Item = DynamicRow<'w>;

    fn next(&mut self) -> Option<DynamicRow<'w>> {
        loop {
            if let Some(run) = self.run.as_mut().filter(|run| !run.rows.is_empty()) {
                let row = run.first();
                run.rows.start += 1;
                return Some(DynamicRow(row));
            }
            self.run = Some(self.walk.next_run()?);
        }
    }
}

/// The runs of a query, each once (I-11).
struct Walk<'w> {
    rows: DynamicRows<'w>,
    next_match: usize,
    next_chunk: usize,
    ordinal: usize,
    open: Option<OpenChunk<'w>>,
}

impl fmt::Debug for Walk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Walk").field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl<'w> Walk<'w> {
    fn new(rows: DynamicRows<'w>) -> Self {
        Self { rows, next_match: 0, next_chunk: 0, ordinal: 0, open: None }
    }

    fn next_run(&mut self) -> Option<Run<'w>> {
        loop {
            if let Some(run) = self.open.as_mut().and_then(OpenChunk::next_run) {
                return Some(run);
            }
            let found = self.rows.query.matches().get(self.next_match)?;
            let chunks = &self.rows.source.archetypes[found.archetype].chunks;
            if self.next_chunk < chunks.used_count() {
                self.open = self.open(self.next_match, self.next_chunk, self.ordinal);
                self.next_chunk += 1;
                self.ordinal += 1;
            } else {
                self.next_match += 1;
                self.next_chunk = 0;
            }
        }
    }

    /// Enters a chunk: looks at its bits once, and stamps what will be written.
    fn open(&self, found: usize, chunk: usize, ordinal: usize) -> Option<OpenChunk<'w>> {
        let (query, moment) = (self.rows.query, self.rows.source.moment);
        let found = &query.matches()[found];
        let archetype = &self.rows.source.archetypes[found.archetype];
        let rows = found.rows(&archetype.chunks, chunk);
        if matches!(rows, Rows::None) {
            return None;
        }
        let optionals = query
            .optional_terms()
            .map(|term| (term, found.optional_rows(&archetype.chunks, chunk, term)))
            .collect();
        for (term, slot) in query.terms().iter().zip(&found.slots) {
            if let (true, Some(slot)) = (term.write, slot) {
                archetype.chunks.stamps(chunk, slot.column).mark(moment.version);
            }
        }
        let place = Run { archetype, found, query, moment, chunk, ordinal, rows: 0..0, present: 0 };
        Some(OpenChunk { place, rows, optionals, from: 0 })
    }
}

/// A chunk that was entered, and what its bits were then.
struct OpenChunk<'w> {
    place: Run<'w>,
    rows: Rows,
    optionals: Vec<(usize, Rows)>,
    /// The rows before this one were handed out.
    from: usize,
}

impl<'w> OpenChunk<'w> {
    fn next_run(&mut self) -> Option<Run<'w>> {
        let len = self.place.archetype.chunks.len(self.place.chunk);
        let mut rows = self.rows.next_run(self.from, len)?;
        let mut present = u64::MAX;
        for (term, optional) in &self.optionals {
            let next = optional.next_run(rows.start, len);
            match next.filter(|next| next.start == rows.start) {
                Some(there) => rows.end = rows.end.min(there.end),
                None => {
                    present &= !(1 << term);
                    let there = optional.next_run(rows.start, len);
                    rows.end = there.map_or(rows.end, |there| rows.end.min(there.start));
                }
            }
        }
        self.from = rows.end;
        Some(Run { rows, present, ..self.place.clone() })
    }
}

/// Rows of one chunk, with the right to what the query asks of them. Each row is in one run that
/// exists (I-11); the runs behind the public types are never copied.
#[derive(Clone)]
struct Run<'w> {
    archetype: &'w Archetype,
    found: &'w DynamicMatch,
    query: &'w DynamicQuery,
    moment: Moment,
    chunk: usize,
    ordinal: usize,
    rows: Range<usize>,
    /// A bit per term: whether these rows have it.
    present: u64,
}

impl fmt::Debug for Run<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("chunk", &self.chunk).field("rows", &self.rows).finish()
    }
}

impl<'w> Run<'w> {
    /// The first row alone.
    fn first(&self) -> Self {
        Self { rows: self.rows.start..self.rows.start + 1, ..self.clone() }
    }

    fn entities(&self) -> &'w [Entity] {
        &self.archetype.chunks.entities(self.chunk)[self.rows.clone()]
    }

    /// A term, and the address of its value in the first of these rows.
    fn term(&self, term: usize) -> Result<(&'w Term, NonNull<u8>), TermError> {
        let terms = self.query.terms();
        let (wanted, slot) =
            terms.get(term).zip(self.found.slots.get(term)).ok_or(TermError::NoSuchTerm)?;
        let slot = slot.filter(|_| self.present & (1 << term) != 0).ok_or(TermError::Absent)?;
        let first = RowAddress { chunk: self.chunk, row: self.rows.start };
        Ok((wanted, self.archetype.chunks.row(first, slot.column)))
    }

    fn written_term(&self, term: usize) -> Result<(&'w Term, NonNull<u8>), TermError> {
        let (wanted, value) = self.term(term)?;
        if !wanted.write {
            return Err(TermError::ReadOnly);
        }
        self.mark(term);
        Ok((wanted, value))
    }

    /// Stamps the rows of a term that is handed out to be written, if it is tracked.
    fn mark(&self, term: usize) {
        let Some(slot) = &self.found.slots[term] else { return };
        if let Some(versions) = slot.row_versions(&self.archetype.chunks, self.chunk) {
            versions.changed.mark_run(self.rows.clone(), self.moment);
        }
    }

    fn bytes(&self, term: usize) -> Result<&[u8], TermError> {
        let (wanted, value) = self.term(term)?;
        let bytes = wanted.info.erased.bytes.ok_or(TermError::NotBytes)?;
        let size = wanted.info.layout.size();
        // SAFETY: rows of the chunk, initialised (I-2) and of the component whose function it is
        // (I-9, I-16), which the query has the right to read (I-10); who writes them borrows the
        // run exclusively.
        let bytes = unsafe { bytes(value, self.rows.len(), size) };
        // SAFETY: as above.
        Ok(unsafe { bytes.as_ref() })
    }

    fn bytes_mut(&mut self, term: usize) -> Result<&mut [u8], TermError> {
        let (wanted, value) = self.written_term(term)?;
        if !wanted.info.is_bytes() {
            return Err(TermError::NotBytes);
        }
        let bytes = self.rows.len() * wanted.info.layout.size();
        let mut bytes = NonNull::slice_from_raw_parts(value, bytes);
        // SAFETY: rows of the chunk, all of them initialised bytes (I-2, I-16), which the query has
        // the right to write (I-10), and which are in no other run (I-11); this one is borrowed
        // exclusively.
        Ok(unsafe { bytes.as_mut() })
    }

    fn slice<T: Component>(&self, term: usize) -> Result<&[T], TermError> {
        let (wanted, value) = self.term(term)?;
        expect_type::<T>(wanted)?;
        let values = NonNull::slice_from_raw_parts(value.cast::<T>(), self.rows.len());
        // SAFETY: rows of the chunk, initialised (I-2) values of `T`, as was just checked (I-9),
        // which the query has the right to read (I-10).
        Ok(unsafe { values.as_ref() })
    }

    fn slice_mut<T: Component>(&mut self, term: usize) -> Result<&mut [T], TermError> {
        let (wanted, value) = self.written_term(term)?;
        expect_type::<T>(wanted)?;
        let mut values = NonNull::slice_from_raw_parts(value.cast::<T>(), self.rows.len());
        // SAFETY: as in `slice`, and as in `bytes_mut` for the right to write.
        Ok(unsafe { values.as_mut() })
    }

    fn pair(&mut self, written: usize, read: usize) -> Result<(&mut [u8], &[u8]), TermError> {
        let id = |term: usize| self.query.terms().get(term).map(|term| term.info.id);
        if id(written).ok_or(TermError::NoSuchTerm)? == id(read).ok_or(TermError::NoSuchTerm)? {
            return Err(TermError::SameComponent);
        }
        let bytes = NonNull::from(self.bytes(read)?);
        let mutable = self.bytes_mut(written)?;
        // SAFETY: made from a reference just now. A component that a query writes is in no other
        // term of it (I-11), so the two slices are of two columns.
        Ok((mutable, unsafe { bytes.as_ref() }))
    }
}

fn expect_type<T: Component>(term: &Term) -> Result<(), TermError> {
    let same = term.info.type_id() == Some(TypeId::of::<T>());
    if same { Ok(()) } else { Err(TermError::OtherType) }
}

/// One row of a [`DynamicQuery`], and the right to what the query asks of it. Terms are numbered
/// as they were named.
#[derive(Debug)]
pub struct DynamicRow<'w>(Run<'w>);

impl DynamicRow<'_> {
    /// The entity in this row.
    #[must_use]
    pub fn entity(&self) -> Entity {
        self.0.entities()[0]
    }

    /// The bytes of a term's value: of a component that was registered as plain bytes, or of a type
    /// that has bytes.
    ///
    /// # Errors
    /// Where there is no such term, the row lacks it, or its values have no bytes.
    pub fn bytes(&self, term: usize) -> Result<&[u8], TermError> {
        self.0.bytes(term)
    }

    /// The bytes of a term's value, to be written.
    ///
    /// # Errors
    /// Where there is no such term to write, the row lacks it, or it was not registered as plain
    /// bytes.
    pub fn bytes_mut(&mut self, term: usize) -> Result<&mut [u8], TermError> {
        self.0.bytes_mut(term)
    }

    /// The bytes of two terms at once, the first to be written.
    ///
    /// # Errors
    /// As [`bytes_mut`](Self::bytes_mut) for the one and [`bytes`](Self::bytes) for the other, or
    /// where both are the same component.
    pub fn bytes_pair(
        &mut self,
        written: usize,
        read: usize,
    ) -> Result<(&mut [u8], &[u8]), TermError> {
        self.0.pair(written, read)
    }

    /// The value of a term whose component is the type `T`.
    ///
    /// # Errors
    /// Where there is no such term, the row lacks it, or it is of another type.
    pub fn get<T: Component>(&self, term: usize) -> Result<&T, TermError> {
        self.0.slice::<T>(term).map(|values| &values[0])
    }

    /// The value of a term whose component is the type `T`, to be written.
    ///
    /// # Errors
    /// Where there is no such term to write, the row lacks it, or it is of another type.
    pub fn get_mut<T: Component>(&mut self, term: usize) -> Result<&mut T, TermError> {
        self.0.slice_mut::<T>(term).map(|values| &mut values[0])
    }

    /// The address of a term's value, whatever its component is: for reading, and for writing where
    /// the query writes the term, while this row is there and nothing else of it is in use.
    ///
    /// # Errors
    /// Where there is no such term, or the row lacks it.
    pub fn ptr(&mut self, term: usize) -> Result<NonNull<u8>, TermError> {
        let (wanted, value) = self.0.term(term)?;
        if wanted.write {
            self.0.mark(term);
        }
        Ok(value)
    }
}

/// Rows of a [`DynamicQuery`] that lie one after the other, as columns. Terms are numbered as they
/// were named; all rows of a run have the same optional ones.
#[derive(Debug)]
pub struct DynamicRun<'w>(Run<'w>);

impl DynamicRun<'_> {
    /// The place of this run's chunk among all chunks of the query's archetypes: a sort key for
    /// what is recorded into a command buffer. Runs of the same chunk have the same.
    #[must_use]
    pub fn ordinal(&self) -> usize {
        self.0.ordinal
    }

    /// How many rows there are.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.0.rows.len()
    }

    /// The entities in these rows.
    #[must_use]
    pub fn entities(&self) -> &[Entity] {
        self.0.entities()
    }

    /// The bytes of a term's values, one after the other.
    ///
    /// # Errors
    /// Where there is no such term, the rows lack it, or its values have no bytes.
    pub fn bytes(&self, term: usize) -> Result<&[u8], TermError> {
        self.0.bytes(term)
    }

    /// The bytes of a term's values, one after the other, to be written.
    ///
    /// # Errors
    /// Where there is no such term to write, the rows lack it, or it was not registered as plain
    /// bytes.
    pub fn bytes_mut(&mut self, term: usize) -> Result<&mut [u8], TermError> {
        self.0.bytes_mut(term)
    }

    /// The bytes of two terms at once, the first to be written.
    ///
    /// # Errors
    /// As [`bytes_mut`](Self::bytes_mut) for the one and [`bytes`](Self::bytes) for the other, or
    /// where both are the same component.
    pub fn bytes_pair(
        &mut self,
        written: usize,
        read: usize,
    ) -> Result<(&mut [u8], &[u8]), TermError> {
        self.0.pair(written, read)
    }

    /// The values of a term whose component is the type `T`.
    ///
    /// # Errors
    /// Where there is no such term, the rows lack it, or it is of another type.
    pub fn slice<T: Component>(&self, term: usize) -> Result<&[T], TermError> {
        self.0.slice(term)
    }

    /// The values of a term whose component is the type `T`, to be written.
    ///
    /// # Errors
    /// Where there is no such term to write, the rows lack it, or it is of another type.
    pub fn slice_mut<T: Component>(&mut self, term: usize) -> Result<&mut [T], TermError> {
        self.0.slice_mut(term)
    }
}

/// The rows of a [`DynamicQuery`] through a [`WorldCell`](crate::WorldCell): it holds the right to
/// the query's components while it lives, and lends it to one walk at a time.
pub struct BorrowedDynamicRows<'w> {
    rows: DynamicRows<'w>,
    _guard: BorrowGuard<'w>,
}

impl fmt::Debug for BorrowedDynamicRows<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BorrowedDynamicRows").field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl<'w> BorrowedDynamicRows<'w> {
    /// # Safety
    /// `guard` is the right that the query's access names (I-10); the query was just extended to
    /// these archetypes (I-8).
    pub(crate) unsafe fn new(
        source: Source<'w>,
        query: &'w DynamicQuery,
        guard: BorrowGuard<'w>,
    ) -> Self {
        // SAFETY: the guard, which lives as long as the rows, is the right; what they hand out
        // cannot outlive the borrow of `self` in `rows`.
        let rows = unsafe { DynamicRows::new(source, query) };
        Self { rows, _guard: guard }
    }

    /// The rows, for as long as this is borrowed.
    pub fn rows(&mut self) -> DynamicRows<'_> {
        self.rows.reborrow()
    }
}
