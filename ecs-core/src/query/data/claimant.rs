//! The row itself, as the one that claims entities.

use core::fmt;
use core::marker::PhantomData;

use super::{
    Access, Archetype, CacheToken, CachedPlace, ChangeWindow, Chunks, IdSource, QueryData,
    QueryParts, RangeToken, RowToken, Rows,
};
use crate::entity::Entity;

/// A row as the one that claims entities, see [`ExclusiveView`](crate::ExclusiveView).
///
/// A query that asks for it hands it out with the row. It cannot be made, copied, kept for longer than
/// the query, or used by another thread: who has it is the row. One query with claimants lives at a
/// time in a system (in a [turn](crate::WorldCell::turn) of a cell), and stays on its thread; the rows
/// of its parallel loops are on all of them.
///
/// ```
/// use formic_ecs::prelude::*;
/// # #[derive(Component)] struct Gold(u32);
/// let mut world = World::new();
/// let imps = world.spawn_batch((0..2).map(Gold));
/// let mut names = world.query::<(Claimant, &Gold)>().map(|(imp, gold)| (imp.entity(), gold.0));
/// assert_eq!(names.next(), Some((imps[0], 0)));
/// ```
pub struct Claimant<'w> {
    entity: Entity,
    /// Of the query, and of this thread alone.
    marker: PhantomData<(&'w (), *mut ())>,
}

impl fmt::Debug for Claimant<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Claimant").field(&self.entity).finish()
    }
}

impl Claimant<'_> {
    /// The entity of the row.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// let mut world = World::new();
    /// let imp = world.spawn(());
    /// assert_eq!(world.query::<Claimant>().single()?.entity(), imp);
    /// # Ok::<(), formic_ecs::QuerySingleError>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn entity(&self) -> Entity {
        self.entity
    }
}

// Not `ReadOnly`: two queries that are asked at the same time would hand out the same row twice.
impl QueryData for Claimant<'_> {
    type Item<'w> = Claimant<'w>;

    super::own_parts!(Entity);
}

impl QueryParts for Claimant<'_> {
    type State = ();
    type Slots = ();
    type Fetch<'w> = &'w [Entity];

    super::cached_place!();

    type Run<'w> = Self::Fetch<'w>;

    const NARROWS: bool = false;

    fn state(_ids: &mut IdSource<'_>) {}

    fn access((): &(), access: &mut Access) {
        access.add_claimants();
    }

    fn slots((): &(), _archetype: &Archetype) -> Option<()> {
        Some(())
    }

    #[inline]
    fn rows((): &(), _chunks: &Chunks, _chunk: usize, _rows: &mut Rows) {}

    #[inline]
    fn fetch<'w>((): &(), chunks: &'w Chunks, chunk: usize, _moment: ChangeWindow) -> &'w [Entity] {
        chunks.entities(chunk)
    }

    #[inline]
    fn run<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, _right: RangeToken<'a>) -> Self::Run<'a> {
        fetch
    }

    #[inline]
    fn with_run<'a, 'w: 'a>(
        _fetch: &Self::Fetch<'w>,
        run: Self::Run<'a>,
        _right: &RangeToken<'a>,
    ) -> Self::Fetch<'a> {
        run
    }

    #[inline]
    fn nothing<'w>() -> Self::Fetch<'w> {
        &[]
    }

    #[inline]
    fn item<'a, 'w: 'a>(fetch: &Self::Fetch<'w>, right: RowToken<'a>) -> Self::Item<'a> {
        Claimant { entity: fetch[right.row()], marker: PhantomData }
    }
}
