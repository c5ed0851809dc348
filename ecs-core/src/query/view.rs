//! Views: random access to the components of entities. The columns are cached chunk by chunk from view to
//! view, and looked up again when chunks come, go or move. An exclusive view lends components to many
//! threads, entity by entity.
#![expect(unsafe_code, reason = "lends the row of one entity, under a borrow or a claim")]

use core::marker::PhantomData;

use super::access::{Access, BorrowGuard, ClaimLoops};
use super::claims::{ClaimWords, Refused};
use super::column::{AddressToken, ChunkRef, RowToken};
use super::cursor::{BorrowedToken, Source, SourceToken, find_each};
use super::data::{
    AddressOf, Claimant, EnabledMut, FetchOf, QueryData, QueryParts, ReadOnly, item,
};
use super::plan::{PlanCache, PlanOf, PlanSource, TermsOf, plan};
use super::term::Term;
use crate::archetype::Archetype;
use crate::component::{Component, IdSource, Registry};
use crate::entities::Places;
use crate::entity::Entity;
use crate::error::{ClaimError, NoSuchEntity, QueryEntityError};
use crate::storage::{Directory, Writers};

/// Random access to some components of any entity, with their columns looked up in advance.
///
/// A view sees components whether they are enabled or not, as `World::get` does, since it is asked for
/// one entity and not for those that match.
///
/// ```
/// use formic_ecs::prelude::*;
/// # #[derive(Component)] struct Position(f32);
/// let mut world = World::new();
/// let agents: Vec<_> = (0..10).map(|i| world.spawn(Position(i as f32))).collect();
/// let mut positions = world.view::<&mut Position>();
/// for &agent in agents.iter().rev() {
///     positions.get_mut(agent)?.0 *= 2.0;
/// }
/// assert_eq!(positions.get_mut(agents[3])?.0, 6.0);
/// # Ok::<(), formic_ecs::QueryEntityError>(())
/// ```
// Created only from a `SourceToken`, which is the right that Q needs (I-10).
pub struct View<'w, Q: QueryData> {
    lookups: Lookups<'w, Q>,
    guard: Option<BorrowGuard<'w>>,
    /// A view of [`Claimant`]s stays on its thread.
    marker: PhantomData<Q::Parts>,
}

debug_fields!([Q: QueryData] View<'_, Q>:);

/// The entity table, and what is cached about the chunks of a view.
pub(crate) struct Lookups<'w, Q: QueryData> {
    source: Source<'w>,
    places: Places<'w>,
    /// One entry for each number in the directory of chunks.
    columns: &'w [Option<AddressOf<Q>>],
}

copied!([Q: QueryData] Lookups<'_, Q>);

/// The chunk of one entity, and its row there.
type RowLookup<'w, Q> = (&'w AddressOf<Q>, usize);

impl<'w, Q: QueryData> Lookups<'w, Q> {
    /// The plan must belong to the world of the source. Callers ensure that, since two worlds may have
    /// had the same number of changes.
    ///
    /// # Panics
    /// Panics if the plan was not extended since a chunk came, went or moved.
    pub(super) fn new(source: Source<'w>, plan: &'w ViewPlanOf<Q>) -> Self {
        // No chunk has come, gone or moved since the plan was extended, and the source is borrowed
        // (I-23).
        assert_eq!(plan.cached_at, source.directory.changes(), "the plan is out of date");
        Self { source, places: source.entities.places(), columns: &plan.cached }
    }

    #[cfg(test)]
    pub(super) fn writers(&self) -> Writers {
        self.source.window.writers
    }

    /// Returns the same lookups for one of several threads, which stamp rows of the same chunks at the
    /// same time.
    pub(super) fn among_several(mut self) -> Self {
        self.source.window.writers = Writers::Several;
        self
    }

    /// Returns the chunk and the row of one entity, if it has what the plan asks for.
    #[inline]
    fn find(&self, entity: Entity) -> Result<RowLookup<'w, Q>, QueryEntityError> {
        // Both are loaded first, whatever happens to the entity: then a loop loads them once, not for
        // each row.
        let Self { places, columns, .. } = *self;
        // The shorter lookups are, the more of their cache misses overlap. So there is one exit for all
        // failures, whose reason is determined later.
        if let Some(place) = places.get(entity) {
            debug_assert!(place.chunk() < columns.len(), "a place names a chunk that is there");
            // SAFETY: the directory gave the chunk of a live entity its number (I-1), and the columns of
            // this source have an entry for each number (`new`, `update`).
            if let Some(cached) = unsafe { columns.get_unchecked(place.chunk()) } {
                return Ok((cached, place.row()));
            }
        }
        Err(why_not_found(places, entity))
    }

    /// Returns the opened chunk and the row of one entity, if it has what the plan asks for.
    #[inline]
    pub(super) fn open(&self, entity: Entity) -> Result<(FetchOf<'w, Q>, usize), QueryEntityError> {
        self.find(entity).map(|found| self.opened(found))
    }

    #[inline]
    fn opened(&self, (cached, row): RowLookup<'w, Q>) -> (FetchOf<'w, Q>, usize) {
        // SAFETY: these are columns of this source, which is borrowed for `'w`, and no chunk has come, gone
        // or moved since they were found (`new`, I-23).
        let token = unsafe { AddressToken::new(self.source.archetypes) };
        (Q::Parts::open(cached, token, self.source.window), row)
    }
}

/// Returns the reason why an entity has no row in a view.
#[cold]
fn why_not_found(places: Places<'_>, entity: Entity) -> QueryEntityError {
    match places.get(entity) {
        Some(_) => QueryEntityError::NotMatching(entity),
        None => NoSuchEntity(entity).into(),
    }
}

impl<'w, Q: QueryData> View<'w, Q> {
    /// Returns the same view, asking what was changed or added after this version of the world: see
    /// [`Query::since`](super::Query::since). Without it, everything counts as new.
    #[must_use]
    pub fn since(mut self, version: u64) -> Self {
        self.lookups.source.window.since = version;
        self
    }

    /// Returns the components of one entity.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world, or lacks one of the components.
    #[inline]
    pub fn get(&self, entity: Entity) -> Result<Q::Item<'_>, QueryEntityError>
    where
        Q: ReadOnly,
    {
        let (fetch, row) = self.lookups.open(entity)?;
        // SAFETY: a live entity's location is a row of its chunk (I-1). The view holds the right to read
        // (I-10), and lends it while it is borrowed; `Q` only reads (I-11).
        let token = unsafe { RowToken::new(row) };
        Ok(item::<Q>(&fetch, token))
    }

    /// Returns the components of one entity, to be written where the view may.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world, or lacks one of the components.
    #[inline]
    pub fn get_mut(&mut self, entity: Entity) -> Result<Q::Item<'_>, QueryEntityError> {
        let (fetch, row) = self.lookups.open(entity)?;
        // SAFETY: a live entity's location is a row of its chunk (I-1). The view holds the right (I-10), and
        // is borrowed exclusively for as long as the item is used (I-11).
        let token = unsafe { RowToken::new(row) };
        Ok(item::<Q>(&fetch, token))
    }
}

impl<Q: QueryData> View<'_, Q> {
    /// Splits the view into `count` parts, for as many threads. Each part has the entities whose index
    /// modulo `count` is the number of the part.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component, Debug, PartialEq)] struct Gold(u32);
    /// let mut world = World::new();
    /// let purses = world.spawn_batch((0..10).map(Gold));
    /// let mut view = world.view::<&mut Gold>();
    /// std::thread::scope(|scope| {
    ///     for (which, mut shard) in view.shards(2).enumerate() {
    ///         let purses = &purses;
    ///         scope.spawn(move || {
    ///             for &purse in purses.iter().filter(|purse| purse.index() % 2 == which as u32) {
    ///                 shard.get_mut(purse).expect("one of this part").0 += 1;
    ///             }
    ///         });
    ///     }
    /// });
    /// # drop(view);
    /// assert_eq!(world.get(purses[9]), Ok(&Gold(10)));
    /// # Ok::<(), formic_ecs::ComponentError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `count` is 0.
    pub fn shards(&mut self, count: u32) -> impl ExactSizeIterator<Item = ViewShard<'_, Q>> {
        self.shards_of_runs(count, 1)
    }

    /// Like [`shards`](Self::shards), but for runs of neighbours. Each part has the entities whose index,
    /// divided by `run`, is the number of the part modulo `count`.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// let purses = world.spawn_batch((0..10).map(Gold));
    /// let mut view = world.view::<&mut Gold>();
    /// let mut first = view.shards_of_runs(2, 4).next().expect("two");
    /// let is_in_it = purses.iter().map(|&purse| first.get_mut(purse).is_ok());
    /// assert!(is_in_it.eq((0..10).map(|index| index / 4 != 1)));
    /// ```
    ///
    /// # Panics
    /// Panics if `count` is 0, or `run` is not a power of two.
    pub fn shards_of_runs(
        &mut self,
        count: u32,
        run: u32,
    ) -> impl ExactSizeIterator<Item = ViewShard<'_, Q>> {
        assert!(count > 0, "a view has one part at least");
        assert!(run.is_power_of_two(), "{run} is not a power of two");
        let (lookups, shift) = (self.lookups.among_several(), run.ilog2());
        let reciprocal = (u64::MAX / u64::from(count)).wrapping_add(1);
        (0..count).map(move |which| ViewShard {
            lookups,
            shift,
            count,
            reciprocal,
            which,
            marker: PhantomData,
        })
    }

    /// Returns the components of several entities at once.
    ///
    /// # Errors
    /// Returns an error if one of them is not in the world, lacks a component, or is repeated. Then
    /// nothing counts as written.
    pub fn get_many_mut<const N: usize>(
        &mut self,
        entities: [Entity; N],
    ) -> Result<[Q::Item<'_>; N], QueryEntityError> {
        let lookups = self.lookups;
        let all = find_each(entities, |entity| lookups.find(entity))?;
        Ok(all.map(|found| {
            let (fetch, row) = lookups.opened(found);
            // SAFETY: these are the rows of live entities (I-1), which are different (I-15). The view
            // holds the right (I-10), and is borrowed exclusively for as long as the items are used (I-11).
            let token = unsafe { RowToken::new(row) };
            item::<Q>(&fetch, token)
        }))
    }

    /// Returns whether this entity is alive and has the components of the view, enabled or not.
    #[must_use]
    pub fn contains(&self, entity: Entity) -> bool {
        self.lookups.find(entity).is_ok()
    }
}

/// A part of a [`View`], created by [`View::shards`].
pub struct ViewShard<'v, Q: QueryData> {
    lookups: Lookups<'v, Q>,
    shift: u32,
    count: u32,
    /// 2^64 divided by `count` and rounded up, modulo 2^64.
    reciprocal: u64,
    which: u32,
    /// As in a [`View`].
    marker: PhantomData<Q::Parts>,
}

debug_fields!([Q: QueryData] ViewShard<'_, Q>: which);

impl<Q: QueryData> ViewShard<'_, Q> {
    /// Returns whether an entity belongs to this part.
    #[inline]
    fn is_of(&self, entity: Entity) -> bool {
        // The remainder without a division, which would take longer than the rest of a lookup (Lemire,
        // Kaser, Kurz, "Faster remainder by direct computation", 2019).
        let fraction = self.reciprocal.wrapping_mul(u64::from(entity.index() >> self.shift));
        (u128::from(fraction) * u128::from(self.count)) >> 64 == u128::from(self.which)
    }

    /// Returns the components of one entity of this part, to be written where the view may.
    ///
    /// # Errors
    /// Returns [`QueryEntityError::NoSuchEntity`] if the entity is not in the world, and
    /// [`QueryEntityError::NotMatching`] if it lacks one of the components or is of another part.
    #[inline]
    pub fn get_mut(&mut self, entity: Entity) -> Result<Q::Item<'_>, QueryEntityError> {
        if !self.is_of(entity) {
            return Err(why_not_found(self.lookups.places, entity));
        }
        let (fetch, row) = self.lookups.open(entity)?;
        // SAFETY: a live entity's location is a row of its chunk (I-1). The view holds the right (I-10), and
        // its parts borrow it exclusively (`shards`). This is the only part with this entity, as was just
        // checked, and it is borrowed exclusively for as long as the item is used (I-11).
        let token = unsafe { RowToken::new(row) };
        Ok(item::<Q>(&fetch, token))
    }
}

impl<T: Component> View<'_, EnabledMut<T>> {
    /// Enables or disables `T` of one entity, and returns whether it was enabled. The bits are atomics:
    /// any number of threads may do this at once, and the last write to a bit wins.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] #[component(enableable)] struct Awake;
    /// let mut world = World::new();
    /// let imp = world.spawn(Awake);
    /// let mut plan = world.view_plan::<EnabledMut<Awake>>();
    /// let bits = world.cell().view(&mut plan)?;
    /// assert_eq!(bits.set(imp, false)?, true, "as it was before");
    /// drop(bits);
    /// assert_eq!(world.query::<&Awake>().count(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world, or lacks the component.
    #[inline]
    pub fn set(&self, entity: Entity, enabled: bool) -> Result<bool, QueryEntityError> {
        let (fetch, row) = self.lookups.open(entity)?;
        Ok(fetch.bit(row).set(enabled))
    }

    /// Like [`set`](Self::set), but several times faster if the view was created from the world itself
    /// and not from a cell: then no other thread can switch a bit meanwhile.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world, or lacks the component.
    #[inline]
    pub fn set_mut(&mut self, entity: Entity, enabled: bool) -> Result<bool, QueryEntityError> {
        let (fetch, row) = self.lookups.open(entity)?;
        let bit = fetch.bit(row);
        // A view without a guard belongs to the world itself, which it borrows exclusively.
        let alone = self.guard.is_none();
        Ok(if alone { bit.set_alone(enabled) } else { bit.set(enabled) })
    }
}

/// A view of one world, prepared once and kept: the addresses of the columns, chunk by chunk.
///
/// Created by [`World::view_plan`](crate::World::view_plan). No other world accepts the plan.
pub struct ViewPlan<Q: QueryData>(ViewPlanOf<Q>);

debug_fields!([Q: QueryData] ViewPlan<Q>:; archetypes = |it| it.0.matches.len());

impl<Q: QueryData> ViewPlan<Q> {
    pub(crate) fn new(world: u64, registry: &mut Registry) -> Self {
        Self(view_plan::<Q>(world, registry))
    }

    /// Returns the access of the view.
    #[must_use]
    pub const fn access(&self) -> &Access {
        &self.0.access
    }

    /// Adds the archetypes and chunks that have appeared since the last time.
    pub(crate) fn extend(&mut self, source: PlanSource<'_>) {
        self.0.extend_in(source);
    }
}

/// A plan of a view, with the addresses of the data by chunk number, for each number in the directory.
pub(crate) type ViewPlanOf<Q> = PlanOf<Q, (), Option<AddressOf<Q>>>;

fn view_plan<Q: QueryData>(world: u64, registry: &mut Registry) -> ViewPlanOf<Q> {
    plan::<Q, (), _>(world, &mut IdSource::Register(registry), "view", update::<Q>)
}

#[cold]
#[inline(never)]
fn update<Q: QueryData>(plan: &mut ViewPlanOf<Q>, archetypes: &[Archetype], directory: &Directory) {
    plan.find(archetypes, true, TermsOf::<Q, ()>::slots);
    // This value is no valid change count: if this function panics, the next use looks at all chunks
    // again.
    plan.cached_at = u64::MAX;
    plan.cached.clear();
    plan.cached.resize_with(directory.bound(), || None);
    for matched in &plan.matches {
        let chunks = &archetypes[matched.archetype.index()].chunks;
        // Chunks without rows as well, since a first row does not count as a change.
        for chunk in 0..chunks.all_count() {
            let address = Q::Parts::address(&matched.slots.0, &ChunkRef::new(chunks, chunk));
            plan.cached[chunks.id(chunk)] = Some(address);
        }
    }
    plan.cached_at = directory.changes();
}

impl<'w> BorrowedToken<'w> {
    /// Returns random access to what a plan asks for. The plan was just extended.
    pub(crate) fn view<Q: QueryData>(self, plan: &'w ViewPlan<Q>) -> View<'w, Q> {
        let (token, guard) = self.into_parts();
        let lookups = Lookups::new(token.check(plan.access()), &plan.0);
        View { lookups, guard: Some(guard), marker: PhantomData }
    }
}

impl<'w> SourceToken<'w> {
    /// Returns random access to what a plan of the world itself asks for. The plan was just extended.
    pub(crate) fn view<Q: QueryData>(self, plan: &'w ViewPlanOf<Q>) -> View<'w, Q> {
        let lookups = Lookups::new(self.check(&plan.access), plan);
        View { lookups, guard: None, marker: PhantomData }
    }
}

impl PlanCache {
    /// Returns the plan of this view, with the archetypes and chunks that have appeared.
    pub(crate) fn view<Q: QueryData>(
        &mut self,
        registry: &mut Registry,
        archetypes: &[Archetype],
        directory: &Directory,
    ) -> &ViewPlanOf<Q> {
        self.plan(|| view_plan::<Q>(0, registry), archetypes, directory)
    }
}

/// Random access from many threads, entity by entity. It is for rows that each write to an entity of
/// their own, such as actions that write to the agent that they belong to.
///
/// A [`claim`](Self::claim) gives a row exclusive access to the components of a target until the claim is
/// dropped. The target then belongs to the row until the view is dropped. The row may claim it again, but
/// any other row that claims it gets [`ClaimError::Contested`], even after the first claim was dropped.
/// So two rows that write to one target are always an error, on any number of threads, and the result
/// never depends on which of them was first.
///
/// A row proves its identity by its [`Claimant`], which the query hands out. If one query with claimants
/// follows another in the same view, no row of the first is left, and the targets that its rows have
/// claimed and dropped are free again. A view tells at most four such queries apart: later ones count as
/// one with the last of these.
///
/// For targets that many rows write to, collect the writes and apply them afterwards, as `Scatter` of
/// `formic-jobs` does.
///
/// ```
/// use formic_ecs::ClaimError;
/// use formic_ecs::prelude::*;
/// # #[derive(Component)] struct Gold(u32);
/// let mut world = World::new();
/// let [agent, thief] = [world.spawn(()), world.spawn(())];
/// let purse = world.spawn(Gold(0));
/// let (mut rows, mut plan) = (world.plan_filtered::<Claimant, Without<Gold>>(), world.claim_plan::<&mut Gold>());
/// let cell = world.cell();
/// let (mut rows, purses) = (cell.query(&mut rows)?, cell.claims(&mut plan)?);
/// rows.query().for_each(|row| {
///     for _ in 0..2 {
///         match purses.claim(&row, purse) {
///             Ok(mut purse) => purse.get_mut().0 += 5,
///             Err(refused) => {
///                 let rows = [agent, thief];
///                 assert_eq!(refused, ClaimError::Contested { target: purse, rows });
///             }
///         }
///     }
/// });
/// # drop((rows, purses));
/// assert_eq!(world.get::<Gold>(purse)?.0, 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ExclusiveView<'w, Q: QueryData> {
    lookups: Lookups<'w, Q>,
    words: &'w ClaimWords,
    loops: &'w ClaimLoops,
    /// The number of loops that had begun before this view was created.
    begun: u32,
    _guard: BorrowGuard<'w>,
}

/// The state that a system keeps from run to run for an [`ExclusiveView`].
///
/// Created by [`World::claim_plan`](crate::World::claim_plan).
pub struct ExclusivePlan<Q: QueryData> {
    pub(crate) view: ViewPlan<Q>,
    pub(crate) words: ClaimWords,
}

debug_fields!([Q: QueryData] ExclusivePlan<Q>: view);

impl<Q: QueryData> ExclusivePlan<Q> {
    pub(crate) fn new(view: ViewPlan<Q>) -> Self {
        Self { view, words: ClaimWords::default() }
    }

    /// Returns the access of the view.
    #[must_use]
    pub const fn access(&self) -> &Access {
        self.view.access()
    }
}

debug_fields!([Q: QueryData] ExclusiveView<'_, Q>:);

impl<'w, Q: QueryData> ExclusiveView<'w, Q> {
    /// Creates a view. The words were prepared for these entities, and no other view uses them (I-12), as
    /// the plan is borrowed. The plan was just extended.
    pub(crate) fn new(
        token: BorrowedToken<'w>,
        plan: &'w ExclusivePlan<Q>,
        loops: &'w ClaimLoops,
    ) -> Self {
        let (token, guard) = token.into_parts();
        let lookups = Lookups::new(token.check(plan.access()), &plan.view.0).among_several();
        Self { lookups, words: &plan.words, loops, begun: loops.begun(), _guard: guard }
    }

    #[cfg(test)]
    pub(super) fn writers(&self) -> Writers {
        self.lookups.writers()
    }

    /// Gives a row exclusive access to the components of a target, until the claim is dropped.
    ///
    /// # Errors
    /// Returns [`ClaimError::NoSuchEntity`] if the target is not in the world, or the row is of another
    /// world and its index is too large for this one. Returns [`ClaimError::Missing`] if the target lacks
    /// a component, [`ClaimError::Contested`] if another row has claimed it, and [`ClaimError::Held`] if
    /// this row holds a claim on it.
    // Always inlined: this is the inner loop of every action system, and half of its work is constant if
    // the columns are known.
    #[inline(always)]
    pub fn claim(&self, row: &Claimant<'_>, target: Entity) -> Result<Claim<'_, Q>, ClaimError> {
        let row = row.entity();
        // Opening the chunk finds addresses and stamps the columns. No value is accessed before the claim
        // is granted.
        let (fetch, place) = match self.lookups.open(target) {
            Ok(opened) => opened,
            Err(QueryEntityError::NoSuchEntity(error)) => {
                return Err(ClaimError::NoSuchEntity(error));
            }
            Err(_) => return Err(ClaimError::Missing(target)),
        };
        if row.index() as usize >= self.words.slot_count() {
            return Err(NoSuchEntity(row).into());
        }
        let slot = target.index() as usize;
        let earlier = self.loops.begun().saturating_sub(self.begun);
        match self.words.take(slot, row.index(), earlier) {
            Ok(mine) => {
                let release = Release { words: self.words, slot, mine, marker: PhantomData };
                Ok(Claim { fetch, row: place, release })
            }
            Err(why) => Err(self.refusal(row, target, why)),
        }
    }

    #[cold]
    fn refusal(&self, row: Entity, target: Entity, why: Refused) -> ClaimError {
        match why {
            Refused::Held => ClaimError::Held(target),
            Refused::ClaimedBy(index) => {
                let other = self.lookups.source.entities.at(index).unwrap_or(row);
                ClaimError::Contested { target, rows: [row.min(other), row.max(other)] }
            }
        }
    }
}

struct Release<'a> {
    words: &'a ClaimWords,
    slot: usize,
    mine: u32,
    /// Claims stay on the thread of their row, so that the row knows what it holds.
    marker: PhantomData<*mut ()>,
}

impl Drop for Release<'_> {
    #[inline]
    fn drop(&mut self) {
        self.words.leave(self.slot, self.mine);
    }
}

/// Exclusive access to the components of one entity, as long as the claim lives.
///
/// A claim lends the components instead of dereferencing to them: if callers had the references
/// themselves, two claims could swap theirs, and these would outlive the wrong claim.
///
/// ```
/// use formic_ecs::prelude::*;
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// let mut world = World::new();
/// let [ada, bob] = [world.spawn(Gold(5)), world.spawn(Gold(0))];
/// let (mut rows, mut plan) = (world.plan::<Claimant>(), world.claim_plan::<&mut Gold>());
/// let cell = world.cell();
/// let (mut rows, purses) = (cell.query(&mut rows)?, cell.claims(&mut plan)?);
/// let row = rows.query().into_get(ada)?;
/// let (mut from, mut to) = (purses.claim(&row, ada)?, purses.claim(&row, bob)?);
/// from.get_mut().0 -= 2;
/// to.get_mut().0 += 2;
/// drop((from, to)); // now the same row can have them again
/// assert_eq!(purses.claim(&row, bob)?.get_mut().0, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Claim<'a, Q: QueryData> {
    fetch: FetchOf<'a, Q>,
    row: usize,
    release: Release<'a>,
}

impl<Q: QueryData> Claim<'_, Q> {
    /// Returns the components.
    #[inline]
    pub fn get_mut(&mut self) -> Q::Item<'_> {
        // SAFETY: the row is that of a live entity (I-1) in the chunk that was fetched. The view behind
        // this claim holds the right to all entities (I-10). The claim holds the word, which makes it
        // exclusive for this one (I-12), and `self` is borrowed exclusively.
        let token = unsafe { RowToken::new(self.row) };
        item::<Q>(&self.fetch, token)
    }
}

debug_fields!([Q: QueryData] Claim<'_, Q>:; slot = |it| it.release.slot);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::World;
    use alloc::vec::Vec;

    #[derive(formic_ecs_derive::Component)]
    struct A;

    /// The number of writers decides whether stamping is atomic. A race would show an error only by
    /// chance.
    #[test]
    fn the_shards_of_a_view_and_the_claims_of_a_plan_stamp_as_several_threads() {
        let mut world = World::new();
        world.spawn(A);
        assert!(
            world.view::<&mut A>().shards(2).all(|it| it.lookups.writers() == Writers::Several)
        );
        let mut plan = world.claim_plan::<&mut A>();
        let cell = world.cell();
        let claims = cell.claims(&mut plan).expect("free");
        assert_eq!(claims.writers(), Writers::Several);
    }

    #[derive(formic_ecs_derive::Component)]
    struct B;

    fn cached_of<Q: QueryData>(world: &mut World) -> &mut Vec<Option<AddressOf<Q>>> {
        &mut world.plans.cached::<ViewPlanOf<Q>>().cached
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
