//! Query plans: the archetypes that match a query, and the positions of their columns.

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use core::any::{Any, TypeId, type_name};

use super::access::Access;
use super::column::ChunkRef;
use super::data::{AddressOf, QueryData, QueryParts};
use super::filter::QueryFilter;
use super::term::Term;
use crate::archetype::{Archetype, ArchetypeId};
use crate::component::{IdSource, Registry};
use crate::hash::TypeMap;
use crate::storage::Directory;

/// The data and the filter of a query as one term.
pub(crate) type TermsOf<Q, F> = (<Q as QueryData>::Parts, <F as QueryFilter>::Terms);

/// An archetype that matches, with the positions of the components of the terms in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Match<Slots> {
    pub(crate) archetype: ArchetypeId,
    pub(crate) slots: Slots,
}

/// A match of this query. Its slots are those of the data and those of the filter.
pub(crate) type MatchOf<Q, F> = Match<<TermsOf<Q, F> as Term>::Slots>;

/// A plan without the lifetimes of its query. It lists exactly those of the first `seen` archetypes that
/// match, in their order (I-8).
#[derive(Debug)]
pub(crate) struct Plan<State, Slots, Cached> {
    /// The world that made the plan, and the epoch of the list of archetypes that it was made from. Both
    /// are 0 for a plan that the world itself keeps, which is dropped together with the list.
    pub(crate) world: u64,
    epoch: u64,
    pub(crate) state: State,
    pub(crate) access: Access,
    /// The message for a component that is asked for twice, once of them for writing: such a plan visits
    /// no archetype (I-11). It is formatted in advance, so that the code of a query names no type and
    /// similar queries share it.
    clash: Option<Box<str>>,
    /// Updates the plan: looks for matches in new archetypes, and caches what is known of chunks.
    update: UpdateFn<Self>,
    seen: usize,
    pub(crate) matches: Vec<Match<Slots>>,
    /// What is cached about chunks (I-23), and the value of `Directory::changes` at that time.
    pub(super) cached: Vec<Cached>,
    pub(crate) cached_at: u64,
    /// The value of `Directory::changes` when a query last used the plan. Views do not set it.
    used_at: u64,
}

type UpdateFn<P> = fn(&mut P, &[Archetype], &Directory);

pub(super) type PlanOf<Q, F, Cached> =
    Plan<<TermsOf<Q, F> as Term>::State, <TermsOf<Q, F> as Term>::Slots, Cached>;

/// Creates a plan. Messages call the user of the plan `asker`.
#[cold]
#[inline(never)]
pub(super) fn plan<Q: QueryData, F: QueryFilter, Cached>(
    world: u64,
    ids: &mut IdSource<'_>,
    asker: &str,
    update: UpdateFn<PlanOf<Q, F, Cached>>,
) -> PlanOf<Q, F, Cached> {
    let mut access = Access::default();
    let state = TermsOf::<Q, F>::state(ids, &mut access);
    let clash = clash(&access, asker, type_name::<Q>(), ids.registry());
    Plan::new(world, state, access, clash, update)
}

fn clash(access: &Access, asker: &str, name: &str, registry: &Registry) -> Option<Box<str>> {
    let component = registry.info(access.clash()?).name();
    Some(format!("the {asker} {name} asks for {component} twice, once of them to write").into())
}

impl<State, Slots, Cached> Plan<State, Slots, Cached> {
    pub(crate) fn new(
        world: u64,
        state: State,
        access: Access,
        clash: Option<Box<str>>,
        update: UpdateFn<Self>,
    ) -> Self {
        let (matches, cached) = (Vec::new(), Vec::new());
        let (epoch, seen, cached_at, used_at) = (0, 0, 0, 0);
        Self {
            world,
            epoch,
            state,
            access,
            clash,
            update,
            seen,
            matches,
            cached,
            cached_at,
            used_at,
        }
    }

    /// Updates a plan that a user keeps, as [`extend`](Self::extend) does. The plan must belong to this
    /// world, and uses this list of archetypes from now on. Returns whether it was last used before the
    /// world was restored.
    #[inline(always)]
    pub(crate) fn extend_in(&mut self, source: PlanSource<'_>) -> bool {
        assert_eq!(self.world, source.world, "a plan is of use only to the world that made it");
        let is_of_another_past = self.epoch < source.restored;
        if self.epoch != source.epoch {
            // Other archetypes have taken the indices of those that are listed.
            self.seen = 0;
            self.matches.clear();
            self.epoch = source.epoch;
        }
        self.extend(source.archetypes, source.directory);
        is_of_another_past
    }

    /// Adds the archetypes and chunks that have appeared since the last time.
    #[inline(always)]
    fn extend(&mut self, archetypes: &[Archetype], directory: &Directory) {
        if self.seen < archetypes.len() || self.cached_at != directory.changes() {
            (self.update)(self, archetypes, directory);
        }
    }

    /// Adds the archetypes that have appeared and match. Queries leave out hidden archetypes. Views do
    /// not, since they are asked for single entities.
    pub(crate) fn find(
        &mut self,
        archetypes: &[Archetype],
        hidden_too: bool,
        slots: impl Fn(&State, &Archetype) -> Option<Slots>,
    ) {
        let new = archetypes.get(self.seen..).unwrap_or_default();
        if let (Some(clash), false) = (&self.clash, new.is_empty()) {
            panic!("{clash}");
        }
        for archetype in new {
            self.seen += 1;
            if hidden_too || !self.access.skips(archetype) {
                if let Some(slots) = slots(&self.state, archetype) {
                    self.matches.push(Match { archetype: archetype.id(), slots });
                }
            }
        }
    }
}

impl<State: Copy, Slots, Cached: PartialEq> Plan<State, Slots, Cached> {
    /// Checks that the plan contains what a new pass over all archetypes and chunks would find (I-8),
    /// apart from what is out of date (I-23).
    fn check(&self, archetypes: &[Archetype], directory: &Directory) -> CheckResult {
        let changes = directory.changes();
        let mut again = Self::new(self.world, self.state, self.access.clone(), None, self.update);
        again.used_at = changes;
        (self.update)(&mut again, archetypes.get(..self.seen).unwrap_or_default(), directory);
        let listed = |plan: &Self| plan.matches.iter().map(|it| it.archetype).collect::<Vec<_>>();
        if again.seen != self.seen || listed(&again) != listed(self) {
            return Err(("I-8", "a plan lists other archetypes than those that match"));
        }
        if self.cached_at == changes && again.cached != self.cached {
            return Err(("I-23", "a plan looks for a component where it is not"));
        }
        Ok(())
    }
}

/// `Ok`, or an invariant that is broken and how.
pub(super) type CheckResult = Result<(), (&'static str, &'static str)>;

/// The parts of a world from which a plan is created and updated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlanSource<'a> {
    pub(crate) world: u64,
    /// The number of this list of archetypes. What was computed from another list is invalid (I-21).
    pub(crate) epoch: u64,
    /// The first epoch after the last restore of the world.
    pub(crate) restored: u64,
    pub(crate) archetypes: &'a [Archetype],
    pub(crate) directory: &'a Directory,
}

/// A query of one world, prepared once and kept: a system keeps its plans from run to run.
///
/// Created by [`World::plan`](crate::World::plan). No other world accepts the plan.
///
/// A plan remembers when it was last used: [`Changed`](crate::Changed) and [`Added`](crate::Added) find
/// what is new since then. After the world was [restored](crate::World::restore), everything counts as
/// new.
///
/// ```
/// use formic_ecs::prelude::*;
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// let mut world = World::new();
/// let imp = world.spawn(Gold(1));
/// let mut news = world.plan_filtered::<&Gold, Changed<Gold>>();
/// assert_eq!(world.cell().query(&mut news)?.count(), 1);
/// assert_eq!(world.cell().query(&mut news)?.count(), 0, "nothing since then");
/// world.get_mut::<Gold>(imp)?.0 = 2;
/// assert_eq!(world.cell().query(&mut news)?.count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct QueryPlan<Q: QueryData, F: QueryFilter = ()> {
    plan: QueryPlanOf<Q, F>,
    last_run: LastRun,
}

/// What a plan remembers of its last run, which is the last time that it was used.
#[derive(Debug, Default)]
pub(crate) struct LastRun {
    /// The world's version then, or 0 if it has not run.
    pub(crate) version: u64,
    /// The number of the declared access that it was last checked against, or 0 if there was none.
    pub(crate) declared: u64,
}

/// A plan of a query, with the first chunk of each match. An archetype with a single chunk is opened by
/// that alone, since each step counts if archetypes are many and small.
pub(crate) type QueryPlanOf<Q, F> = PlanOf<Q, F, FirstChunkOf<Q>>;

/// The addresses of the data of a query in the first chunk of an archetype, which may have more chunks.
#[derive(Debug, PartialEq)]
pub(crate) struct FirstChunk<Address> {
    pub(super) archetype: ArchetypeId,
    /// The index of the archetype's match.
    index: u32,
    pub(super) address: Address,
}

impl<Address> FirstChunk<Address> {
    pub(super) const fn index(&self) -> usize {
        self.index as usize
    }
}

pub(super) type FirstChunkOf<Q> = FirstChunk<AddressOf<Q>>;

fn query_plan<Q: QueryData, F: QueryFilter>(
    world: u64,
    ids: &mut IdSource<'_>,
) -> QueryPlanOf<Q, F> {
    plan::<Q, F, _>(world, ids, "query", update::<Q, F>)
}

// A separate function, which keeps this code out of the queries.
#[cold]
#[inline(never)]
fn update<Q: QueryData, F: QueryFilter>(
    plan: &mut QueryPlanOf<Q, F>,
    archetypes: &[Archetype],
    directory: &Directory,
) {
    plan.find(archetypes, false, TermsOf::<Q, F>::slots);
    let changes = directory.changes();
    // Only on the second use without a change: if chunks come and go between uses, caching would be in
    // vain.
    let is_asked_again = core::mem::replace(&mut plan.used_at, changes) == changes;
    if TermsOf::<Q, F>::NARROWS {
        plan.cached_at = changes;
    } else if is_asked_again && plan.cached_at != changes {
        plan.cached.clear();
        // Chunks may be empty, since a first row does not count as a change.
        for (index, &Match { archetype, ref slots }) in (0..).zip(&plan.matches) {
            let chunks = &archetypes[archetype.index()].chunks;
            if chunks.all_count() > 0 {
                let address = Q::Parts::address(&slots.0, &ChunkRef::new(chunks, 0));
                plan.cached.push(FirstChunk { archetype, index, address });
            }
        }
        plan.cached_at = changes;
    }
}

impl<State, Slots, Address> Plan<State, Slots, FirstChunk<Address>> {
    /// Returns the first chunks of all matches, or none if a chunk came, went or moved since they were
    /// cached.
    #[inline]
    pub(super) fn first_chunks(&self, directory: &Directory) -> &[FirstChunk<Address>] {
        if self.cached_at == directory.changes() { &self.cached } else { &[] }
    }
}

debug_fields!([Q: QueryData, F: QueryFilter] QueryPlan<Q, F>: last_run; matches = |it| it.plan.matches.len());

impl<Q: QueryData, F: QueryFilter> QueryPlan<Q, F> {
    pub(crate) fn new(world: u64, registry: &mut Registry) -> Self {
        let plan = query_plan::<Q, F>(world, &mut IdSource::Register(registry));
        Self { plan, last_run: LastRun::default() }
    }

    /// Returns the access of the query.
    #[must_use]
    pub const fn access(&self) -> &Access {
        &self.plan.access
    }

    /// Returns the version at which the plan was last used, or 0 if it has not been used.
    #[must_use]
    pub const fn last_run(&self) -> u64 {
        self.last_run.version
    }

    /// Updates the plan, and returns it with the record of its last run, which the query that uses it now
    /// overwrites.
    #[inline(always)]
    pub(crate) fn extend(&mut self, source: PlanSource<'_>) -> (&QueryPlanOf<Q, F>, &mut LastRun) {
        if self.plan.extend_in(source) {
            // Versions are counted anew since the restore.
            self.last_run.version = 0;
        }
        (&self.plan, &mut self.last_run)
    }
}

/// The plans of the queries and views of the world itself, by type.
#[derive(Debug, Default)]
pub(crate) struct PlanCache(TypeMap<CachedPlan>);

#[derive(Debug)]
struct CachedPlan {
    plan: Box<dyn Any + Send + Sync>,
    /// Checks that the plan is as it has to be.
    check: fn(&dyn Any, &[Archetype], &Directory) -> CheckResult,
}

impl PlanCache {
    /// Returns the plan of this query, with the archetypes and chunks that have appeared.
    #[inline]
    pub(crate) fn query<Q: QueryData, F: QueryFilter>(
        &mut self,
        registry: &mut Registry,
        archetypes: &[Archetype],
        directory: &Directory,
    ) -> &QueryPlanOf<Q, F> {
        let make = || query_plan::<Q, F>(0, &mut IdSource::Register(registry));
        self.plan(make, archetypes, directory)
    }

    /// Returns the plan of this type, which is created when it is first requested, with what has
    /// appeared.
    #[inline]
    pub(super) fn plan<State, Slots, Cached>(
        &mut self,
        make: impl FnOnce() -> Plan<State, Slots, Cached>,
        archetypes: &[Archetype],
        directory: &Directory,
    ) -> &Plan<State, Slots, Cached>
    where
        Plan<State, Slots, Cached>: Any + Send + Sync,
        State: Copy,
        Cached: PartialEq,
    {
        let key = TypeId::of::<Plan<State, Slots, Cached>>();
        let entry = self.0.entry(key).or_insert_with(|| CachedPlan {
            plan: Box::new(make()),
            check: |plan, archetypes, directory| {
                let plan = plan.downcast_ref::<Plan<State, Slots, Cached>>();
                plan.expect("the key is the type").check(archetypes, directory)
            },
        });
        let plan: &mut Plan<State, Slots, Cached> =
            entry.plan.downcast_mut().expect("the key is the type");
        plan.extend(archetypes, directory);
        plan
    }

    /// Checks that each plan lists exactly what matches, each once (I-8), with valid addresses (I-23).
    pub(crate) fn check(&self, archetypes: &[Archetype], directory: &Directory) -> CheckResult {
        self.0.values().try_for_each(|plan| (plan.check)(&*plan.plan, archetypes, directory))
    }

    #[cfg(test)]
    pub(super) fn cached<P: Any>(&mut self) -> &mut P {
        let entry = self.0.get_mut(&TypeId::of::<P>()).expect("it was asked for");
        entry.plan.downcast_mut().expect("the key is the type")
    }
}

/// Returns the matches of a query without a plan that is kept, for a world that is borrowed shared.
pub(crate) fn matches_once<Q: QueryData, F: QueryFilter>(
    registry: &Registry,
    archetypes: &[Archetype],
) -> Vec<MatchOf<Q, F>> {
    let mut plan = query_plan::<Q, F>(0, &mut IdSource::LookUp(registry));
    plan.find(archetypes, false, TermsOf::<Q, F>::slots);
    plan.matches
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mask::Rows;
    use crate::query::column::ChunkRef;
    use crate::world::World;
    use core::cell::Cell;

    std::thread_local! {
        static LOOKS: Cell<usize> = const { Cell::new(0) };
    }

    /// A filter that lets everything pass, and counts the archetypes that it is asked about.
    struct Counting;

    impl QueryFilter for Counting {
        type Terms = Self;
    }

    impl Term for Counting {
        type State = ();
        type Slots = ();

        const NARROWS: bool = false;

        fn state(_ids: &mut IdSource<'_>, _access: &mut Access) {}

        fn slots((): &(), _archetype: &Archetype) -> Option<()> {
            LOOKS.set(LOOKS.get() + 1);
            Some(())
        }

        fn rows((): &(), _chunk: &ChunkRef<'_>, _rows: &mut Rows) {}
    }

    #[derive(formic_ecs_derive::Component)]
    struct A;
    #[derive(formic_ecs_derive::Component)]
    struct B;

    fn looks_during(act: impl FnOnce()) -> usize {
        let before = LOOKS.get();
        act();
        LOOKS.get() - before
    }

    #[test]
    fn a_plan_looks_at_each_archetype_once() {
        let mut world = World::new();
        let mut plan = world.plan_filtered::<(), Counting>();
        let ask = |world: &mut World, plan: &mut QueryPlan<(), Counting>| {
            looks_during(|| {
                let cell = world.cell();
                assert!(cell.query(plan).is_ok());
            })
        };
        let cached =
            |world: &mut World| looks_during(|| _ = world.query_filtered::<(), Counting>().count());
        assert_eq!((ask(&mut world, &mut plan), cached(&mut world)), (1, 1), "the empty one");
        _ = world.spawn(A);
        let two = world.spawn((A, B));
        assert_eq!((ask(&mut world, &mut plan), cached(&mut world)), (2, 2));
        assert!(world.despawn(two).is_ok());
        _ = world.spawn((B, A));
        assert_eq!((ask(&mut world, &mut plan), cached(&mut world)), (0, 0));
        _ = world.spawn(B);
        assert_eq!((ask(&mut world, &mut plan), cached(&mut world)), (1, 1));
    }

    #[test]
    fn a_plan_that_lists_an_archetype_twice_is_found() {
        #[derive(crate::Component)]
        struct Gold;
        let mut world = World::new();
        world.spawn(Gold);
        assert_eq!(world.query::<&Gold>().into_iter().count(), 1);
        world.check().unwrap();
        let plan = world.plans.cached::<QueryPlanOf<&Gold, ()>>();
        plan.matches.push(plan.matches[0]);
        assert_eq!(world.check().unwrap_err().invariant, "I-8");
    }

    /// Returns what is cached about chunks for `&A`.
    fn cached_chunks(world: &mut World) -> &mut Vec<FirstChunkOf<&'static A>> {
        &mut world.plans.cached::<QueryPlanOf<&A, ()>>().cached
    }

    #[test]
    fn a_query_looks_at_the_chunks_when_it_is_asked_again_and_none_came_or_went() {
        let mut world = World::new();
        _ = (world.spawn(A), world.spawn((A, B)), world.spawn(B));
        for count in [0, 2, 2] {
            assert_eq!(world.query::<&A>().count(), 2);
            assert_eq!(cached_chunks(&mut world).len(), count);
        }
        cached_chunks(&mut world).truncate(1);
        let mut count = 0;
        world.query::<&A>().for_each(|_| count += 1);
        assert_eq!(count, 1, "nothing was looked at anew");
        while world.archetypes()[2].chunk_count() < 2 {
            world.spawn((A, B));
        }
        for _ in 0..3 {
            let (mut count, expected) = (0, world.query_ref::<&A>().count());
            world.query::<&A>().for_each(|_| count += 1);
            assert_eq!(count, expected);
        }
    }

    #[test]
    fn a_query_that_looks_elsewhere_is_found() {
        let mut world = World::new();
        world.spawn(A);
        world.spawn((A, B));
        for _ in 0..2 {
            drop(world.query::<&A>());
        }
        world.check().expect("in order");
        cached_chunks(&mut world).swap(0, 1);
        assert_eq!(world.check().expect_err("they are mixed up").invariant, "I-23");
    }
}
