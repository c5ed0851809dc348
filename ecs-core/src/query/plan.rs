//! Query plans: which archetypes match, and where their columns are.

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

/// What a query asks for and what it filters by, as one term.
pub(crate) type TermsOf<Q, F> = (<Q as QueryData>::Parts, <F as QueryFilter>::Terms);

/// One archetype that matches, and where the components of the terms are in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Match<Slots> {
    pub(crate) archetype: ArchetypeId,
    pub(crate) slots: Slots,
}

/// A match of this query: its slots are those of the data and those of the filter.
pub(crate) type MatchOf<Q, F> = Match<<TermsOf<Q, F> as Term>::Slots>;

/// A plan without the lifetimes of its query: it lists exactly those of the first `seen`
/// archetypes that match, in their order (I-8).
#[derive(Debug)]
pub(crate) struct Plan<State, Slots> {
    /// The world that made it, and which of its lists of archetypes it goes by; 0 for a plan that the
    /// world itself keeps, which goes when the list does.
    world: u64,
    epoch: u64,
    last_run: LastRun,
    state: State,
    pub(super) access: Access,
    kind: PlanKind,
    /// What to say of a component that is asked for twice, once of them to write: no archetype is looked at
    /// then (I-11). Written beforehand, so that the code of a query names no type and queries alike share it.
    clash: Option<Box<str>>,
    seen: usize,
    pub(super) matches: Vec<Match<Slots>>,
}

/// What a plan is of: queries leave out archetypes that are hidden, views are asked for an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlanKind {
    Query,
    View,
}

pub(super) type PlanOf<Q, F> = Plan<<TermsOf<Q, F> as Term>::State, <TermsOf<Q, F> as Term>::Slots>;

#[cold]
#[inline(never)]
pub(super) fn plan<Q: QueryData, F: QueryFilter>(
    world: u64,
    ids: &mut IdSource<'_>,
    kind: PlanKind,
) -> PlanOf<Q, F> {
    let state = TermsOf::<Q, F>::state(ids);
    let mut access = Access::default();
    TermsOf::<Q, F>::access(&state, &mut access);
    let clash = clash(&access, kind, type_name::<Q>(), ids.registry());
    let (epoch, last_run, seen, matches) = (0, LastRun::default(), 0, Vec::new());
    Plan { world, epoch, last_run, state, access, kind, clash, seen, matches }
}

fn clash(access: &Access, kind: PlanKind, name: &str, registry: &Registry) -> Option<Box<str>> {
    let component = registry.info(access.clash()?).name();
    let asker = if kind == PlanKind::View { "view" } else { "query" };
    Some(format!("the {asker} {name} asks for {component} twice, once of them to write").into())
}

impl<State, Slots: Copy> Plan<State, Slots> {
    /// Sees to it that the plan is of this world, and of this list of archetypes.
    #[inline]
    pub(super) fn expect(&mut self, source: PlanSource<'_>) {
        assert_eq!(self.world, source.world, "a plan is of use only to the world that made it");
        if self.epoch != source.epoch {
            // Others have taken the places of the archetypes.
            self.seen = 0;
            self.matches.clear();
            if self.epoch < source.restored {
                // It was asked in another past: the versions since then count anew.
                self.last_run.version = 0;
            }
            self.epoch = source.epoch;
        }
    }

    /// Looks at the archetypes that have appeared since the last time.
    #[inline]
    pub(super) fn extend<T: Term<State = State, Slots = Slots>>(
        &mut self,
        archetypes: &[Archetype],
    ) {
        if self.seen < archetypes.len() {
            self.look_at::<T>(&archetypes[self.seen..]);
        }
    }

    // Apart, so that a query has none of this in its way.
    #[cold]
    #[inline(never)]
    fn look_at<T: Term<State = State, Slots = Slots>>(&mut self, archetypes: &[Archetype]) {
        if let Some(clash) = &self.clash {
            panic!("{clash}");
        }
        for archetype in archetypes {
            self.seen += 1;
            if let Some(found) = self.match_of::<T>(archetype) {
                self.matches.push(found);
            }
        }
    }

    fn match_of<T: Term<State = State, Slots = Slots>>(
        &self,
        archetype: &Archetype,
    ) -> Option<Match<Slots>> {
        if self.kind == PlanKind::Query && self.access.leaves_out(archetype) {
            return None;
        }
        let slots = T::slots(&self.state, archetype)?;
        Some(Match { archetype: archetype.id(), slots })
    }

    /// Whether the matches are what would be found if all archetypes were looked at again (I-8).
    pub(super) fn check<T: Term<State = State, Slots = Slots>>(
        &self,
        archetypes: &[Archetype],
    ) -> CheckResult {
        let seen = archetypes.get(..self.seen).unwrap_or_default();
        let found = seen.iter().filter_map(|archetype| self.match_of::<T>(archetype));
        let is_exact = seen.len() == self.seen
            && found.map(|it| it.archetype).eq(self.matches.iter().map(|it| it.archetype));
        let other = ("I-8", "a plan lists other archetypes than those that match");
        if is_exact { Ok(()) } else { Err(other) }
    }
}

/// An invariant that is broken, and how.
pub(super) type CheckResult = Result<(), (&'static str, &'static str)>;

/// What a plan is made from and kept up with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlanSource<'a> {
    pub(crate) world: u64,
    /// Which list of archetypes this is. What was worked out from another is worth nothing (I-21).
    pub(crate) epoch: u64,
    /// The first epoch after the world was restored the last time.
    pub(crate) restored: u64,
    pub(crate) archetypes: &'a [Archetype],
}

/// A query of one world, worked out once and kept: what a system holds from run to run.
///
/// Made by [`World::plan`](crate::World::plan). A plan is refused by every other world.
///
/// It remembers when it was last asked: [`Changed`](crate::Changed) and [`Added`](crate::Added) find
/// what is new since then. Everything is, after the world was
/// [restored](crate::World::restore).
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
pub struct QueryPlan<Q: QueryData, F: QueryFilter = ()>(KeptQueryOf<Q, F>);

/// What a plan remembers of its last run, the last time that it was asked.
#[derive(Debug, Default)]
pub(crate) struct LastRun {
    /// The world's version; 0 where it never was.
    pub(crate) version: u64,
    /// The number of the declared access that it was seen to keep to; 0 where there was none.
    pub(crate) declared: u64,
}

/// A plan of a query, and the first chunk of each match, which is opened by that alone where it is the only one:
/// where archetypes are many and small, each step counts.
#[derive(Debug)]
struct KeptQuery<Plan, Address> {
    plan: Plan,
    first_chunks: Vec<FirstChunk<Address>>,
    /// The directory's change that these are as of (I-23).
    known: u64,
    /// The directory's change when this was last asked.
    asked: u64,
}

/// Where the data of a query is in the first chunk of an archetype, which may have more.
#[derive(Debug, PartialEq)]
pub(super) struct FirstChunk<Address> {
    pub(super) archetype: ArchetypeId,
    /// The place of the archetype's match.
    found: u32,
    pub(super) address: Address,
}

impl<Address> FirstChunk<Address> {
    pub(super) const fn found(&self) -> usize {
        self.found as usize
    }
}

pub(super) type FirstChunkOf<Q> = FirstChunk<AddressOf<Q>>;
type KeptQueryOf<Q, F> = KeptQuery<PlanOf<Q, F>, AddressOf<Q>>;

fn kept_query<Q: QueryData, F: QueryFilter>(
    world: u64,
    ids: &mut IdSource<'_>,
) -> KeptQueryOf<Q, F> {
    let plan = plan::<Q, F>(world, ids, PlanKind::Query);
    KeptQuery { plan, first_chunks: Vec::new(), known: 0, asked: 0 }
}

/// What a plan says, after a look at the archetypes that have appeared, and at the first chunk of each match
/// where any chunk came, went or moved; and when it was asked last, which the query that uses it writes down.
#[inline(always)]
fn planned<'a, Q: QueryData, F: QueryFilter>(
    query: &'a mut KeptQueryOf<Q, F>,
    archetypes: &[Archetype],
    directory: &Directory,
) -> (Planned<'a, Q, F>, &'a mut LastRun) {
    query.plan.extend::<TermsOf<Q, F>>(archetypes);
    if !TermsOf::<Q, F>::NARROWS && query.known != directory.changes() {
        look_at_chunks::<Q, F>(query, archetypes, directory.changes());
    }
    let KeptQuery { plan: Plan { access, matches, last_run, .. }, first_chunks, known, .. } = query;
    (Planned { matches, first_chunks, known: *known, access }, last_run)
}

#[cold]
#[inline(never)]
fn look_at_chunks<Q: QueryData, F: QueryFilter>(
    query: &mut KeptQueryOf<Q, F>,
    archetypes: &[Archetype],
    changes: u64,
) {
    // The second time only: where chunks come and go from one time to the next, it would be for nothing.
    if core::mem::replace(&mut query.asked, changes) == changes {
        query.first_chunks.clear();
        query.first_chunks.extend(first_chunks::<Q, F>(&query.plan.matches, archetypes));
        query.known = changes;
    }
}

/// The first chunks of the matches that have one. A first row is no change, so it may be empty.
fn first_chunks<Q: QueryData, F: QueryFilter>(
    matches: &[MatchOf<Q, F>],
    archetypes: &[Archetype],
) -> impl Iterator<Item = FirstChunkOf<Q>> {
    (0..).zip(matches).filter_map(|(found, place)| {
        let chunks = &archetypes[place.archetype.index()].chunks;
        let address = || Q::Parts::address(&place.slots.0, &ChunkRef::new(chunks, 0));
        let archetype = place.archetype;
        (chunks.all_count() > 0).then(|| FirstChunk { archetype, found, address: address() })
    })
}

/// What a plan has to say about a world: what it touches, and the matches of that very plan, which is why
/// only plans make it (I-10).
pub(crate) struct Planned<'a, Q: QueryData, F: QueryFilter> {
    pub(super) matches: &'a [MatchOf<Q, F>],
    first_chunks: &'a [FirstChunkOf<Q>],
    known: u64,
    access: &'a Access,
}

impl<'a, Q: QueryData, F: QueryFilter> Planned<'a, Q, F> {
    pub(crate) const fn access(&self) -> &'a Access {
        self.access
    }

    /// The first chunks of all matches, or none where a chunk came, went or moved since they were found.
    #[inline]
    pub(super) fn first_chunks(&self, directory: &Directory) -> &'a [FirstChunkOf<Q>] {
        if self.known == directory.changes() { self.first_chunks } else { &[] }
    }
}

debug_fields!([Q: QueryData, F: QueryFilter] QueryPlan<Q, F>:; plan = |it| (&it.0.plan.last_run, it.0.plan.matches.len()));

impl<Q: QueryData, F: QueryFilter> QueryPlan<Q, F> {
    pub(crate) fn new(world: u64, registry: &mut Registry) -> Self {
        Self(kept_query::<Q, F>(world, &mut IdSource::Register(registry)))
    }

    /// What the query touches.
    #[must_use]
    pub const fn access(&self) -> &Access {
        &self.0.plan.access
    }

    /// The version at which it was last asked; 0 where it never was.
    #[must_use]
    pub const fn last_run(&self) -> u64 {
        self.0.plan.last_run.version
    }

    /// The matches among all archetypes there are now, and when the plan was last asked, which the query
    /// that uses it now writes down.
    #[inline(always)]
    pub(crate) fn matches(
        &mut self,
        source: PlanSource<'_>,
        directory: &Directory,
    ) -> (Planned<'_, Q, F>, &mut LastRun) {
        self.0.plan.expect(source);
        planned::<Q, F>(&mut self.0, source.archetypes, directory)
    }
}

/// The plans of a world's own queries and views, by their types.
#[derive(Debug, Default)]
pub(crate) struct PlanCache(TypeMap<KeptPlan>);

#[derive(Debug)]
struct KeptPlan {
    plan: Box<dyn Any + Send + Sync>,
    check: CheckFn,
}

/// Whether a plan is as it has to be.
pub(super) type CheckFn = fn(&dyn Any, &[Archetype], &Directory) -> CheckResult;

impl PlanCache {
    /// The access and the matches of this query, from the plan that is kept for it.
    pub(crate) fn matches<Q: QueryData, F: QueryFilter>(
        &mut self,
        registry: &mut Registry,
        archetypes: &[Archetype],
        directory: &Directory,
    ) -> Planned<'_, Q, F> {
        let make = || kept_query::<Q, F>(0, &mut IdSource::Register(registry));
        let check: CheckFn = |query, archetypes, directory| {
            check::<Q, F>(plan_of::<KeptQueryOf<Q, F>>(query), archetypes, directory)
        };
        planned::<Q, F>(self.plan(make, check), archetypes, directory).0
    }

    /// The plan of this type, which is made when it is asked for first.
    #[inline]
    pub(super) fn plan<P: Any + Send + Sync>(
        &mut self,
        make: impl FnOnce() -> P,
        check: CheckFn,
    ) -> &mut P {
        let entry = self.0.entry(TypeId::of::<P>()).or_insert_with(|| Self::entry(make, check));
        entry.plan.downcast_mut().expect("the key is the type")
    }

    #[cold]
    #[inline(never)]
    fn entry<P: Any + Send + Sync>(make: impl FnOnce() -> P, check: CheckFn) -> KeptPlan {
        KeptPlan { plan: Box::new(make()), check }
    }

    /// Whether each plan lists what matches, each once (I-8), and looks where that is (I-23).
    pub(crate) fn check(&self, archetypes: &[Archetype], directory: &Directory) -> CheckResult {
        self.0.values().try_for_each(|plan| (plan.check)(&*plan.plan, archetypes, directory))
    }

    #[cfg(test)]
    pub(super) fn kept<P: Any>(&mut self) -> &mut P {
        let entry = self.0.get_mut(&TypeId::of::<P>()).expect("it was asked for");
        entry.plan.downcast_mut().expect("the key is the type")
    }
}

pub(super) fn plan_of<P: Any>(plan: &dyn Any) -> &P {
    plan.downcast_ref().expect("the key is the type")
}

/// Whether the plan lists what matches, and what is kept about chunks, unless it is out of date, is
/// what would be found now.
fn check<Q: QueryData, F: QueryFilter>(
    query: &KeptQueryOf<Q, F>,
    archetypes: &[Archetype],
    directory: &Directory,
) -> CheckResult {
    query.plan.check::<TermsOf<Q, F>>(archetypes)?;
    let expected: Vec<_> = first_chunks::<Q, F>(&query.plan.matches, archetypes).collect();
    let is_exact = TermsOf::<Q, F>::NARROWS
        || query.known != directory.changes()
        || expected == query.first_chunks;
    let elsewhere = ("I-23", "a query looks for a component where it is not");
    if is_exact { Ok(()) } else { Err(elsewhere) }
}

/// The matches of a query that is asked without the right to write anything down.
pub(crate) fn matches_once<Q: QueryData, F: QueryFilter>(
    registry: &Registry,
    archetypes: &[Archetype],
) -> Vec<MatchOf<Q, F>> {
    let mut plan = plan::<Q, F>(0, &mut IdSource::LookUp(registry), PlanKind::Query);
    plan.extend::<TermsOf<Q, F>>(archetypes);
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

    /// Lets everything pass, and counts the archetypes that it is asked about.
    struct Counting;

    impl QueryFilter for Counting {
        type Terms = Self;
    }

    impl Term for Counting {
        type State = ();
        type Slots = ();

        const NARROWS: bool = false;

        fn state(_ids: &mut IdSource<'_>) {}

        fn access((): &(), _access: &mut Access) {}

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
        let plan = &mut world.plans.kept::<KeptQueryOf<&Gold, ()>>().plan;
        plan.matches.push(plan.matches[0]);
        assert_eq!(world.check().unwrap_err().invariant, "I-8");
    }

    /// What is kept about chunks for `&A`.
    fn kept_chunks(world: &mut World) -> &mut Vec<FirstChunkOf<&'static A>> {
        &mut world.plans.kept::<KeptQueryOf<&A, ()>>().first_chunks
    }

    #[test]
    fn a_query_looks_at_the_chunks_when_it_is_asked_again_and_none_came_or_went() {
        let mut world = World::new();
        _ = (world.spawn(A), world.spawn((A, B)), world.spawn(B));
        for kept in [0, 2, 2] {
            assert_eq!(world.query::<&A>().count(), 2);
            assert_eq!(kept_chunks(&mut world).len(), kept);
        }
        kept_chunks(&mut world).truncate(1);
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
        kept_chunks(&mut world).swap(0, 1);
        assert_eq!(world.check().expect_err("they are mixed up").invariant, "I-23");
    }
}
