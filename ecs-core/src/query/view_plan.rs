//! The columns that a view reads, archetype by archetype and chunk by chunk: kept from
//! view to view, and found anew when chunks come, go or move.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::{Any, TypeId};
use core::fmt;

use super::access::Access;
use super::cursor::Source;
use super::data::{QueryData, QueryParts, SlotsOf};
use super::plan::PlanSource;
use crate::archetype::Archetype;
use crate::component::{IdSource, Registry};
use crate::entities::{Entities, Places};
use crate::hash::TypeMap;
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
    world: u64,
    epoch: u64,
    parts: PartsOf<Q>,
}

/// A plan without the lifetimes of its view.
#[derive(Debug)]
struct Parts<State, Slots, Cached> {
    state: State,
    access: Access,
    /// By archetype.
    slots: Vec<Option<Slots>>,
    /// By number of chunk.
    cached: Vec<Option<Cached>>,
    /// The directory's change that `cached` is as of (I-23).
    known: u64,
}

type PartsOf<Q> = Parts<<<Q as QueryData>::Parts as QueryParts>::State, SlotsOf<Q>, CachedOf<Q>>;

type CachedOf<Q> = <<Q as QueryData>::Parts as QueryParts>::Cached;

impl<Q: QueryData> fmt::Debug for ViewPlan<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ViewPlan").field("access", &self.parts.access).finish_non_exhaustive()
    }
}

impl<State, Slots: Copy + PartialEq, Cached: PartialEq> Parts<State, Slots, Cached> {
    #[cold]
    #[inline(never)]
    fn make<Q>(registry: &mut Registry) -> Self
    where
        Q: QueryData<Parts: QueryParts<State = State, Slots = Slots, Cached = Cached>>,
    {
        let state = Q::Parts::state(&mut IdSource::Register(registry));
        let mut access = Access::default();
        Q::Parts::access(&state, &mut access);
        if let Some(id) = access.clash() {
            let (view, component) = (core::any::type_name::<Q>(), registry.info(id).name());
            panic!("the view {view} asks for {component} twice, once of them to write");
        }
        Self { state, access, slots: Vec::new(), cached: Vec::new(), known: 0 }
    }

    /// Looks at the archetypes that have appeared since the last time, and at all chunks where any
    /// came, went or moved.
    #[inline]
    fn extend<Q>(&mut self, archetypes: &[Archetype], directory: &Directory)
    where
        Q: QueryData<Parts: QueryParts<State = State, Slots = Slots, Cached = Cached>>,
    {
        if self.known != directory.changes() || self.slots.len() != archetypes.len() {
            self.look_at::<Q>(archetypes, directory);
        }
    }

    #[cold]
    #[inline(never)]
    fn look_at<Q>(&mut self, archetypes: &[Archetype], directory: &Directory)
    where
        Q: QueryData<Parts: QueryParts<State = State, Slots = Slots, Cached = Cached>>,
    {
        let new = archetypes[self.slots.len()..].iter();
        self.slots.extend(new.map(|archetype| Q::Parts::slots(&self.state, archetype)));
        // As of no change: what follows a panic in here looks at all chunks once more.
        self.known = u64::MAX;
        self.cached.clear();
        self.cached.resize_with(directory.bound(), || None);
        for (archetype, slots) in archetypes.iter().zip(&self.slots) {
            let Some(slots) = slots else { continue };
            let chunks = &archetype.chunks;
            // Those without rows as well, since a first row is no change.
            for chunk in 0..chunks.all_count() {
                self.cached[chunks.id(chunk)] = Some(Q::Parts::cache(slots, chunks, chunk));
            }
        }
        self.known = directory.changes();
    }

    fn lookups<'w, Q>(&'w self, entities: &'w Entities) -> Lookups<'w, Q>
    where
        Q: QueryData<Parts: QueryParts<State = State, Slots = Slots, Cached = Cached>>,
    {
        Lookups { places: entities.places(), slots: &self.slots, cached: &self.cached }
    }

    /// Whether the slots, and what is kept about chunks unless it is out of date, are what would be
    /// found now.
    fn is_exact<Q>(&self, archetypes: &[Archetype], directory: &Directory) -> bool
    where
        Q: QueryData<Parts: QueryParts<State = State, Slots = Slots, Cached = Cached>>,
    {
        let mut known = archetypes.iter().zip(&self.slots);
        let are_slots = self.slots.len() <= archetypes.len()
            && known.all(|(archetype, slots)| *slots == Q::Parts::slots(&self.state, archetype));
        let mut expected: Vec<Option<Cached>> = Vec::new();
        expected.resize_with(self.cached.len(), || None);
        if self.known == directory.changes() {
            for (archetype, slots) in archetypes.iter().zip(&self.slots) {
                let (Some(slots), chunks) = (slots, &archetype.chunks) else { continue };
                for chunk in 0..chunks.all_count() {
                    let Some(place) = expected.get_mut(chunks.id(chunk)) else { return false };
                    *place = Some(Q::Parts::cache(slots, chunks, chunk));
                }
            }
        }
        are_slots && (self.known != directory.changes() || self.cached == expected)
    }
}

impl<Q: QueryData> ViewPlan<Q> {
    pub(crate) fn new(world: u64, registry: &mut Registry) -> Self {
        Self { world, epoch: 0, parts: PartsOf::<Q>::make::<Q>(registry) }
    }

    /// What the view touches.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Gold(u32);
    /// # #[derive(Component)] struct Debt(u32);
    /// let mut world = World::new();
    /// let plan = world.view_plan::<(&Gold, &mut Debt)>();
    /// assert_eq!(plan.access().reads(), [world.register::<Gold>()]);
    /// assert_eq!(plan.access().writes(), [world.register::<Debt>()]);
    /// ```
    #[must_use]
    pub const fn access(&self) -> &Access {
        &self.parts.access
    }

    /// Looks at the archetypes that have appeared since the last time.
    pub(crate) fn extend(&mut self, plans: PlanSource<'_>, source: Source<'_>) {
        assert_eq!(self.world, plans.world, "a view plan is of use only to the world that made it");
        if self.epoch != plans.epoch {
            self.parts.slots.clear();
            self.parts.known = 0;
            self.epoch = plans.epoch;
        }
        self.parts.extend::<Q>(source.archetypes, source.directory);
    }

    /// Where entities and components are, in a source that it was just extended over.
    pub(crate) fn lookups<'w>(&'w self, source: Source<'w>) -> Lookups<'w, Q> {
        self.parts.lookups(source.entities)
    }
}

/// Where the entities are, and the components that a view asks for: by archetype and by number of
/// chunk.
pub(crate) struct Lookups<'w, Q: QueryData> {
    pub(super) places: Places<'w>,
    pub(super) slots: &'w [Option<SlotsOf<Q>>],
    /// As many as the directory gave numbers.
    pub(super) cached: &'w [Option<CachedOf<Q>>],
}

impl<Q: QueryData> Clone for Lookups<'_, Q> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Q: QueryData> Copy for Lookups<'_, Q> {}

/// The plans of a world's own views, by what they ask for.
#[derive(Debug, Default)]
pub(crate) struct ViewCache(TypeMap<KeptView>);

#[derive(Debug)]
struct KeptView {
    /// The [`Parts`] of the view.
    parts: Box<dyn Any + Send + Sync>,
    /// Whether they are as they have to be.
    is_exact: fn(&dyn Any, &[Archetype], &Directory) -> bool,
}

impl ViewCache {
    /// Where the components of this view are, from the plan that is kept for it.
    pub(crate) fn lookups<'w, Q: QueryData>(
        &'w mut self,
        registry: &mut Registry,
        source: Source<'w>,
    ) -> Lookups<'w, Q> {
        let entry = self.0.entry(TypeId::of::<PartsOf<Q>>());
        let entry = entry.or_insert_with(|| Self::entry::<Q>(registry));
        let parts = entry.parts.downcast_mut::<PartsOf<Q>>().expect("the key is the type");
        parts.extend::<Q>(source.archetypes, source.directory);
        parts.lookups(source.entities)
    }

    #[cold]
    #[inline(never)]
    fn entry<Q: QueryData>(registry: &mut Registry) -> KeptView {
        let parts = PartsOf::<Q>::make::<Q>(registry);
        KeptView { parts: Box::new(parts), is_exact: is_exact::<Q> }
    }

    /// Whether each view looks where the components are (I-23).
    pub(crate) fn check(
        &self,
        archetypes: &[Archetype],
        directory: &Directory,
    ) -> Result<(), &'static str> {
        if self.0.values().all(|view| (view.is_exact)(&*view.parts, archetypes, directory)) {
            Ok(())
        } else {
            Err("a view looks for a component where it is not")
        }
    }
}

fn is_exact<Q: QueryData>(
    parts: &dyn Any,
    archetypes: &[Archetype],
    directory: &Directory,
) -> bool {
    let parts = parts.downcast_ref::<PartsOf<Q>>().expect("the key is the type");
    parts.is_exact::<Q>(archetypes, directory)
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
        let view = world.views.0.get_mut(&TypeId::of::<PartsOf<Q>>()).expect("it was asked for");
        &mut view.parts.downcast_mut::<PartsOf<Q>>().expect("the key is the type").cached
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
