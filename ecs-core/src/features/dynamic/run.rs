//! The data of a query by component id: for a run of rows, or for one row.

use core::any::TypeId;
use core::ops::{Deref, DerefMut, Range};
use core::ptr::NonNull;

use super::TermError;
use super::query::{DynamicQuery, DynamicSlots, Term};
use crate::archetype::Archetype;
use crate::component::{Component, ComponentId};
use crate::entity::Entity;
use crate::query::{ChunkRef, RangeToken, Values};
use crate::storage::{ChangeWindow, ColumnRecord, OneThread, RowAddress};

/// A run of consecutive rows of a [`DynamicQuery`], as columns, with access to what the query asks for.
/// Terms are numbered in the order in which they were named. All rows of a run have the same optional
/// terms.
///
/// ```
/// use formic_ecs::{DynamicQuery, prelude::*};
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// # #[derive(Component, Debug)] struct Depth(u32);
/// let mut world = World::new();
/// world.spawn_batch((0..10).map(|i| (Gold(i), Depth(2 * i))));
/// let (gold, depth) = (world.register::<Gold>(), world.register::<Depth>());
/// let mut query = DynamicQuery::builder().write(gold).read(depth).build(&world)?;
/// world.query_by_id(&mut query)?.for_each_run(|mut run| {
///     assert_eq!(run.entities().len(), run.row_count());
///     run.slice_mut::<Gold>(0).expect("a term to write").iter_mut().for_each(|gold| gold.0 += 1);
///     assert_eq!(run.slice::<Depth>(1).expect("a term").len(), run.row_count());
///     assert!(run.slice::<Depth>(0).is_err(), "term 0 is another type");
///     assert!(run.bytes(0).is_err(), "this type did not say that it is plain bytes");
/// });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
// Each row is in only one run that is handed out (I-11).
pub struct DynamicRun<'w> {
    pub(super) archetype: &'w Archetype,
    pub(super) slots: &'w DynamicSlots,
    pub(super) query: &'w DynamicQuery,
    pub(super) window: ChangeWindow,
    pub(super) chunk: usize,
    pub(super) ordinal: usize,
    pub(super) rows: RangeToken<'w>,
    /// One bit per term: whether these rows have it.
    pub(super) present: u64,
    pub(super) one_thread: OneThread,
}

debug_fields!([] DynamicRun<'_>: chunk; rows = |it| it.rows.rows());

impl<'w> DynamicRun<'w> {
    /// Returns other rows of the same chunk, with these terms.
    #[inline]
    pub(super) fn with_rows(&self, rows: RangeToken<'w>, present: u64) -> Self {
        Self { rows, present, ..*self }
    }

    /// Splits off the first row, if there is one.
    pub(super) fn take_first(&mut self) -> Option<DynamicRow<'w>> {
        let Range { start, end } = self.rows.rows();
        (start < end).then(|| {
            let first = self.rows.split_to(start + 1);
            DynamicRow(self.with_rows(first, self.present))
        })
    }

    /// Returns a term, and the index of its column.
    #[inline]
    fn term(&self, term: usize) -> Result<(&'w Term, usize), TermError> {
        let terms = self.query.terms();
        let (wanted, slot) =
            terms.get(term).zip(self.slots.slots.get(term)).ok_or(TermError::NoSuchTerm)?;
        let slot = slot.filter(|_| self.present & (1 << term) != 0).ok_or(TermError::Absent)?;
        Ok((wanted, slot.column()))
    }

    fn written_term(&self, term: usize) -> Result<(&'w Term, usize), TermError> {
        let (wanted, column) = self.term(term)?;
        if wanted.write { Ok((wanted, column)) } else { Err(TermError::ReadOnly) }
    }

    /// Returns the record of a column.
    #[inline]
    fn record(&self, column: usize) -> &'w ColumnRecord {
        self.archetype.chunks.record(self.chunk, column)
    }

    /// Marks the rows of a term that is handed out for writing as changed, if it is tracked.
    fn mark(&self, term: usize) {
        let Some(slot) = &self.slots.slots[term] else { return };
        let chunk = ChunkRef::new(&self.archetype.chunks, self.chunk);
        if let Some(versions) = slot.row_versions(&chunk) {
            versions.changed.mark_run(self.rows.rows(), self.window);
        }
    }

    /// Returns the index of this run's chunk among all chunks of the query's archetypes. Use it as the
    /// sort key when recording into a command buffer. Runs of the same chunk have the same index. It is 0
    /// for a row from [`DynamicRows::get`](crate::DynamicRows::get).
    #[must_use]
    pub fn ordinal(&self) -> usize {
        self.ordinal
    }

    /// Returns the number of rows, which is at least one.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.rows.rows().len()
    }

    /// Returns the entities in these rows.
    #[inline]
    #[must_use]
    pub fn entities(&self) -> &[Entity] {
        &self.archetype.chunks.entities(self.chunk)[self.rows.rows()]
    }

    /// Returns the bytes of a term's values, one after the other. Its component was registered as plain
    /// bytes, or its type has bytes.
    ///
    /// # Errors
    /// Returns an error if there is no such term, the rows lack it, or its values have no bytes.
    pub fn bytes(&self, term: usize) -> Result<&[u8], TermError> {
        let (wanted, column) = self.term(term)?;
        self.rows.bytes(self.record(column), &wanted.info).ok_or(TermError::NotBytes)
    }

    /// Returns mutable access to the bytes of a term's values, one after the other.
    ///
    /// # Errors
    /// Returns an error if there is no such term for writing, the rows lack it, or its component was not
    /// registered as plain bytes.
    pub fn bytes_mut(&mut self, term: usize) -> Result<&mut [u8], TermError> {
        let (wanted, column) = self.written_term(term)?;
        let bytes = self.rows.bytes_mut(self.record(column), &wanted.info);
        let bytes = bytes.ok_or(TermError::NotBytes)?;
        self.mark(term);
        Ok(bytes)
    }

    /// Returns the bytes of two terms at once, those of the first for writing.
    ///
    /// ```
    /// use core::alloc::Layout;
    /// use formic_ecs::{ComponentDescriptor, DynamicQuery, World};
    /// let mut world = World::new();
    /// let [here, there] = ["here", "there"].map(|name| ComponentDescriptor::bytes(name, Layout::new::<u8>()));
    /// let (here, there) = (world.by_id_mut().register(here)?, world.by_id_mut().register(there)?);
    /// let imp = world.by_id_mut().spawn(&[(here, &[1]), (there, &[5])])?;
    /// let mut query = DynamicQuery::builder().write(here).read(there).build(&world)?;
    /// for mut row in world.query_by_id(&mut query)? {
    ///     let (here, there) = row.bytes_pair(0, 1)?;
    ///     here.copy_from_slice(there);
    /// }
    /// assert_eq!(world.by_id().get(imp, here)?, [5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`bytes_mut`](Self::bytes_mut) for the first term and those of
    /// [`bytes`](Self::bytes) for the second, or an error if both are the same component.
    pub fn bytes_pair(
        &mut self,
        written: usize,
        read: usize,
    ) -> Result<(&mut [u8], &[u8]), TermError> {
        let id = |term: usize| self.query.terms().get(term).map(|term| term.info.id);
        if id(written).ok_or(TermError::NoSuchTerm)? == id(read).ok_or(TermError::NoSuchTerm)? {
            return Err(TermError::SameComponent);
        }
        // A component that a query writes is in no other term of it (I-11), so the slices are of two
        // different columns.
        let (wanted, column) = self.term(read)?;
        let bytes = self.rows.bytes(self.record(column), &wanted.info);
        let bytes = bytes.ok_or(TermError::NotBytes)?;
        Ok((self.bytes_mut(written)?, bytes))
    }

    /// Returns the address of the first of a term's values, whatever its component is. The others follow
    /// it. It is for reading, and for writing if the query writes the term, as long as the run exists and
    /// nothing else of it is in use.
    ///
    /// ```
    /// use formic_ecs::{DynamicQuery, prelude::*};
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// world.spawn_batch([3, 4].map(Gold));
    /// let gold = world.register::<Gold>();
    /// let mut query = DynamicQuery::builder().read(gold).build(&world)?;
    /// world.query_by_id(&mut query)?.for_each_run(|mut run| {
    ///     let first = run.ptr(0).expect("a term").cast::<Gold>();
    ///     // SAFETY: the term is this type, and the run has two rows.
    ///     assert_eq!(unsafe { first.add(1).as_ref() }.0, 4);
    /// });
    /// # Ok::<(), formic_ecs::DynamicQueryError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if there is no such term, or the rows lack it.
    #[inline]
    pub fn ptr(&mut self, term: usize) -> Result<NonNull<u8>, TermError> {
        let (wanted, column) = self.term(term)?;
        if wanted.write {
            self.mark(term);
        }
        let first = RowAddress { chunk: self.chunk, row: self.rows.rows().start };
        Ok(self.archetype.chunks.row(first, column))
    }

    /// Returns for each row whether a component is enabled. The query asks for it by
    /// [`mask`](crate::DynamicQueryBuilder::mask), which has an example.
    ///
    /// # Errors
    /// Returns an error if the query does not ask for the mask of the component.
    pub fn mask(&self, id: ComponentId) -> Result<impl ExactSizeIterator<Item = bool>, TermError> {
        let Self { archetype, chunk, ref rows, .. } = *self;
        let column = archetype.column_of(id).filter(|_| self.query.masks(id));
        let slot = archetype.columns[column.ok_or(TermError::NoSuchTerm)?].enable_slot;
        let bits = slot.map(|slot| archetype.chunks.marks(chunk).bits(slot));
        Ok(rows.rows().map(move |row| bits.is_none_or(|bits| bits.bit(row).get())))
    }

    /// Returns the values of a term whose component is the type `T`.
    ///
    /// # Errors
    /// Returns an error if there is no such term, the rows lack it, or it has another type.
    pub fn slice<T: Component>(&self, term: usize) -> Result<&[T], TermError> {
        let (wanted, column) = self.term(term)?;
        expect_type::<T>(wanted)?;
        Ok(Values::open(self.record(column)).read_run(&self.rows))
    }

    /// Returns mutable access to the values of a term whose component is the type `T`.
    ///
    /// # Errors
    /// Returns an error if there is no such term for writing, the rows lack it, or it has another type.
    pub fn slice_mut<T: Component>(&mut self, term: usize) -> Result<&mut [T], TermError> {
        let (wanted, column) = self.written_term(term)?;
        expect_type::<T>(wanted)?;
        self.mark(term);
        Ok(Values::open(self.record(column)).write_run(&self.rows))
    }
}

fn expect_type<T: Component>(term: &Term) -> Result<(), TermError> {
    let same = term.info.type_id() == Some(TypeId::of::<T>());
    if same { Ok(()) } else { Err(TermError::OtherType) }
}

/// One row of a [`DynamicQuery`]: a run of one row. Beside the bytes and addresses of the run, it has
/// access to single values.
#[derive(Debug)]
pub struct DynamicRow<'w>(DynamicRun<'w>);

impl<'w> Deref for DynamicRow<'w> {
    type Target = DynamicRun<'w>;

    fn deref(&self) -> &DynamicRun<'w> {
        &self.0
    }
}

impl DerefMut for DynamicRow<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl DynamicRow<'_> {
    /// Returns the entity in this row.
    #[must_use]
    pub fn entity(&self) -> Entity {
        self.entities()[0]
    }

    /// Returns the value of a term whose component is the type `T`.
    ///
    /// # Errors
    /// Returns an error if there is no such term, the row lacks it, or it has another type.
    pub fn get<T: Component>(&self, term: usize) -> Result<&T, TermError> {
        self.slice::<T>(term).map(|values| &values[0])
    }

    /// Returns mutable access to the value of a term whose component is the type `T`.
    ///
    /// # Errors
    /// Returns an error if there is no such term for writing, the row lacks it, or it has another type.
    pub fn get_mut<T: Component>(&mut self, term: usize) -> Result<&mut T, TermError> {
        self.slice_mut::<T>(term).map(|values| &mut values[0])
    }
}
