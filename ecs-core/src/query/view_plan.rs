//! The columns that a view reads, chunk by chunk: kept from view to view, and found anew when chunks
//! come, go or move.

use alloc::vec::Vec;

use super::access::Access;
use super::cursor::Source;
use super::data::{QueryData, QueryParts};
use super::plan::{
    CheckFn, CheckResult, MatchOf, Parts, PartsOf, PlanCache, PlanKind, PlanSource, QueryPlan,
    parts_of,
};
use crate::archetype::Archetype;
use crate::component::{IdSource, Registry};
use crate::storage::Directory;

/// A view of one world, worked out once and kept: where the columns are, by archetype.
///
/// Made by [`World::view_plan`](crate::World::view_plan). A plan is refused by every other world.
///
/// ```
/// use formic_ecs::prelude::*;
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// let mut world = World::new();
/// let imp = world.spawn(Gold(1));
/// let mut purses = world.view_plan::<&mut Gold>();
/// assert_eq!(purses.access().writes().len(), 1);
/// world.cell().view(&mut purses)?.get_mut(imp)?.0 = 2;
/// assert_eq!(world.get::<Gold>(imp)?, &Gold(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ViewPlan<Q: QueryData> {
    plan: QueryPlan<Q>,
    columns: Columns<CachedOf<Q>>,
}

pub(super) type CachedOf<Q> = <<Q as QueryData>::Parts as QueryParts>::Cached;

debug_fields!([Q: QueryData] ViewPlan<Q>: plan);

impl<Q: QueryData> ViewPlan<Q> {
    pub(crate) fn new(world: u64, registry: &mut Registry) -> Self {
        let plan = QueryPlan::of_kind(world, registry, PlanKind::View);
        Self { plan, columns: Columns::default() }
    }

    /// What the view touches.
    #[must_use]
    pub const fn access(&self) -> &Access {
        self.plan.access()
    }

    /// Looks at the archetypes and chunks that have appeared since the last time.
    pub(crate) fn extend(&mut self, plans: PlanSource<'_>, source: Source<'_>) {
        let matches = self.plan.matches(plans).matches;
        self.columns.extend::<Q>(matches, source.archetypes, source.directory);
    }

    /// What is kept about the chunks of the source that it was just extended over.
    pub(crate) fn columns(&self) -> &[Option<CachedOf<Q>>] {
        &self.columns.cached
    }
}

/// What a view keeps about the chunks of its matches.
#[derive(Debug)]
struct Columns<Cached> {
    /// By number of chunk, for as many as the directory gave numbers.
    cached: Vec<Option<Cached>>,
    /// The directory's change that this is as of (I-23).
    known: u64,
}

impl<Cached> Default for Columns<Cached> {
    fn default() -> Self {
        Self { cached: Vec::new(), known: 0 }
    }
}

impl<Cached: PartialEq> Columns<Cached> {
    /// Looks at all chunks where any came, went or moved.
    #[inline]
    fn extend<Q>(
        &mut self,
        matches: &[MatchOf<Q, ()>],
        archetypes: &[Archetype],
        directory: &Directory,
    ) where
        Q: QueryData<Parts: QueryParts<Cached = Cached>>,
    {
        if self.known != directory.changes() {
            self.look_at::<Q>(matches, archetypes, directory);
        }
    }

    #[cold]
    #[inline(never)]
    fn look_at<Q>(
        &mut self,
        matches: &[MatchOf<Q, ()>],
        archetypes: &[Archetype],
        directory: &Directory,
    ) where
        Q: QueryData<Parts: QueryParts<Cached = Cached>>,
    {
        // As of no change: what follows a panic in here looks at all chunks once more.
        self.known = u64::MAX;
        self.cached.clear();
        self.cached.resize_with(directory.bound(), || None);
        for found in matches {
            let chunks = &archetypes[found.archetype.index()].chunks;
            // Those without rows as well, since a first row is no change.
            for chunk in 0..chunks.all_count() {
                self.cached[chunks.id(chunk)] = Some(Q::Parts::cache(&found.query, chunks, chunk));
            }
        }
        self.known = directory.changes();
    }
}

/// A view that a world keeps for itself.
#[derive(Debug)]
struct KeptView<P, Cached> {
    plan: P,
    columns: Columns<Cached>,
}

type KeptViewOf<Q> = KeptView<PartsOf<Q, ()>, CachedOf<Q>>;

impl PlanCache {
    /// What is kept about the chunks that this view is of.
    pub(crate) fn columns<Q: QueryData>(
        &mut self,
        registry: &mut Registry,
        source: Source<'_>,
    ) -> &[Option<CachedOf<Q>>] {
        let ids = &mut IdSource::Register(registry);
        let make = || KeptView {
            plan: Parts::make::<Q, ()>(ids, PlanKind::View),
            columns: Columns::default(),
        };
        let check: CheckFn = |kept, archetypes, directory| {
            check::<Q>(parts_of::<KeptViewOf<Q>>(kept), archetypes, directory)
        };
        let KeptView { plan, columns }: &mut KeptViewOf<Q> = self.parts(make, check);
        plan.extend::<Q, ()>(source.archetypes);
        columns.extend::<Q>(&plan.matches, source.archetypes, source.directory);
        &columns.cached
    }
}

/// Whether the plan lists what matches, and what is kept about chunks, unless it is out of date, is
/// what would be found now.
fn check<Q: QueryData>(
    KeptView { plan, columns }: &KeptViewOf<Q>,
    archetypes: &[Archetype],
    directory: &Directory,
) -> CheckResult {
    plan.check::<Q, ()>(archetypes)?;
    let mut expected = Columns::default();
    expected.extend::<Q>(&plan.matches, archetypes, directory);
    let is_exact = columns.known != expected.known || columns.cached == expected.cached;
    let elsewhere = ("I-23", "a view looks for a component where it is not");
    if is_exact { Ok(()) } else { Err(elsewhere) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::World;

    #[derive(formic_ecs_derive::Component)]
    struct A;
    #[derive(formic_ecs_derive::Component)]
    struct B;

    fn cached_of<Q: QueryData>(world: &mut World) -> &mut Vec<Option<CachedOf<Q>>> {
        &mut world.plans.kept::<KeptViewOf<Q>>().columns.cached
    }

    #[test]
    fn a_view_looks_at_the_chunks_again_only_when_some_came_or_went() {
        let mut world = World::new();
        let (one, two) = (world.spawn(A), world.spawn((A, B)));
        assert!(world.view::<&A>().contains(one));
        cached_of::<&A>(&mut world).fill_with(|| None);
        assert!(world.view::<&A>().get(one).is_err(), "nothing was found anew");
        while world.archetypes()[2].chunk_count() < 2 {
            world.spawn((A, B));
        }
        let view = world.view::<&A>();
        assert!(view.get(one).is_ok() && view.get(two).is_ok());
    }

    #[test]
    fn a_view_that_looks_elsewhere_is_found() {
        let mut world = World::new();
        world.spawn(A);
        world.spawn((A, B));
        drop(world.view::<&A>());
        world.check().expect("in order");
        let mut kept = cached_of::<&A>(&mut world).iter_mut().filter(|kept| kept.is_some());
        *kept.next().expect("there are chunks") = None;
        assert_eq!(world.check().expect_err("a chunk is missing").invariant, "I-23");
    }
}
