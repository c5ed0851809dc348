//! Where the components of entities are, chunk by chunk: kept from view to view, and kept up with
//! what comes and goes.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::{Any, TypeId};
use core::fmt;

use super::access::Access;
use super::chunk::Source;
use super::data::QueryData;
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
struct Parts<State, Slots, Door> {
    state: State,
    access: Access,
    /// By archetype.
    slots: Vec<Option<Slots>>,
    /// By number of chunk.
    doors: Vec<Option<Door>>,
    /// The last of the directory's changes that the doors know of (I-23).
    known: u64,
}

type PartsOf<Q> = Parts<<Q as QueryData>::State, <Q as QueryData>::Slots, <Q as QueryData>::Door>;

impl<Q: QueryData> fmt::Debug for ViewPlan<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ViewPlan").field("access", &self.parts.access).finish_non_exhaustive()
    }
}

impl<State, Slots: Copy + PartialEq, Door: PartialEq> Parts<State, Slots, Door> {
    #[cold]
    #[inline(never)]
    fn make<Q>(registry: &mut Registry) -> Self
    where
        Q: QueryData<State = State, Slots = Slots, Door = Door>,
    {
        let state = Q::state(&mut IdSource::Register(registry));
        let mut access = Access::default();
        Q::access(&state, &mut access);
        if let Some(id) = access.clash() {
            let (view, component) = (core::any::type_name::<Q>(), registry.info(id).name());
            panic!("the view {view} asks for {component} twice, once of them to write");
        }
        Self { state, access, slots: Vec::new(), doors: Vec::new(), known: 0 }
    }

    /// Forgets the archetypes, since others have taken their places.
    fn restart(&mut self) {
        self.slots.clear();
        self.doors.clear();
        self.known = 0;
    }

    /// Looks at the archetypes that have appeared since the last time, and at the chunks of those in
    /// which any came, went or moved.
    #[inline]
    fn extend<Q>(&mut self, archetypes: &[Archetype], directory: &Directory)
    where
        Q: QueryData<State = State, Slots = Slots, Door = Door>,
    {
        if self.known != directory.changes() || self.slots.len() != archetypes.len() {
            self.look_at::<Q>(archetypes, directory);
        }
    }

    // Apart: it is long, and is in the way of whoever asks.
    #[cold]
    #[inline(never)]
    fn look_at<Q>(&mut self, archetypes: &[Archetype], directory: &Directory)
    where
        Q: QueryData<State = State, Slots = Slots, Door = Door>,
    {
        for archetype in &archetypes[self.slots.len()..] {
            self.slots.push(Q::slots(&self.state, archetype));
        }
        // A number may be another archetype's now, so those that were given out or taken back lead
        // nowhere at first.
        self.doors.resize_with(directory.bound(), || None);
        for (door, &changed_at) in self.doors.iter_mut().zip(directory.changed_at()) {
            if changed_at > self.known {
                *door = None;
            }
        }
        for (archetype, slots) in archetypes.iter().zip(&self.slots) {
            let Some(slots) = slots else { continue };
            let chunks = &archetype.chunks;
            if chunks.moved_at() <= self.known {
                continue;
            }
            // Those without rows as well, since a first row is no change.
            for chunk in 0..chunks.all_count() {
                self.doors[chunks.id(chunk)] = Some(Q::door(slots, chunks, chunk));
            }
        }
        self.known = directory.changes();
    }

    /// Whether the slots, and the doors that count as known, are what would be found now.
    fn is_exact<Q>(&self, archetypes: &[Archetype], directory: &Directory) -> bool
    where
        Q: QueryData<State = State, Slots = Slots, Door = Door>,
    {
        let leads_there = |(archetype, slots): (&Archetype, &Option<Slots>)| {
            let chunks = &archetype.chunks;
            *slots == Q::slots(&self.state, archetype)
                && slots.as_ref().filter(|_| chunks.moved_at() <= self.known).is_none_or(|slots| {
                    (0..chunks.all_count()).all(|chunk| {
                        let door = Q::door(slots, chunks, chunk);
                        self.doors.get(chunks.id(chunk)) == Some(&Some(door))
                    })
                })
        };
        let matches = |owner: usize| self.slots.get(owner).is_some_and(Option::is_some);
        let is_its = |(number, door): (usize, &Option<Door>)| {
            let is_known = directory.changed_at().get(number).is_some_and(|&at| at <= self.known);
            !is_known || door.is_none() || directory.owner(number).is_some_and(matches)
        };
        self.slots.len() <= archetypes.len()
            && archetypes.iter().zip(&self.slots).all(leads_there)
            && self.doors.iter().enumerate().all(is_its)
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
            self.parts.restart();
            self.epoch = plans.epoch;
        }
        self.parts.extend::<Q>(source.archetypes, source.directory);
    }
}

/// What a view goes by: where the entities are, and where the components are, by archetype and by
/// number of chunk.
pub(crate) struct Doors<'w, Q: QueryData> {
    pub(super) places: Places<'w>,
    pub(super) slots: &'w [Option<Q::Slots>],
    /// As many as the directory gave numbers.
    pub(super) doors: &'w [Option<Q::Door>],
}

impl<Q: QueryData> Clone for Doors<'_, Q> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Q: QueryData> Copy for Doors<'_, Q> {}

impl<'w, Q: QueryData> Doors<'w, Q> {
    /// Those of a plan, which was just extended over this source.
    pub(crate) fn new(source: Source<'w>, plan: &'w ViewPlan<Q>) -> Self {
        Self::of(source.entities, &plan.parts)
    }

    fn of(entities: &'w Entities, parts: &'w PartsOf<Q>) -> Self {
        Self { places: entities.places(), slots: &parts.slots, doors: &parts.doors }
    }
}

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
    /// The doors of this view, from the plan that is kept for it.
    pub(crate) fn doors<'w, Q: QueryData>(
        &'w mut self,
        registry: &mut Registry,
        source: Source<'w>,
    ) -> Doors<'w, Q> {
        let entry = self.0.entry(TypeId::of::<PartsOf<Q>>());
        let entry = entry.or_insert_with(|| Self::entry::<Q>(registry));
        let parts = entry.parts.downcast_mut::<PartsOf<Q>>().expect("the key is the type");
        parts.extend::<Q>(source.archetypes, source.directory);
        Doors::of(source.entities, parts)
    }

    #[cold]
    #[inline(never)]
    fn entry<Q: QueryData>(registry: &mut Registry) -> KeptView {
        let parts = PartsOf::<Q>::make::<Q>(registry);
        KeptView { parts: Box::new(parts), is_exact: is_exact::<Q> }
    }

    /// Whether each door leads to where its chunk is (I-23).
    pub(crate) fn check(
        &self,
        archetypes: &[Archetype],
        directory: &Directory,
    ) -> Result<(), &'static str> {
        let is_exact = |view: &KeptView| (view.is_exact)(&*view.parts, archetypes, directory);
        if self.0.values().all(is_exact) {
            Ok(())
        } else {
            Err("a door leads to where its chunk is not")
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
    use std::vec::Vec;

    #[derive(formic_ecs_derive::Component)]
    struct A;
    #[derive(formic_ecs_derive::Component)]
    struct B;

    fn doors_of<Q: QueryData>(world: &mut World) -> &mut Vec<Option<Q::Door>> {
        let view = world.views.0.get_mut(&TypeId::of::<PartsOf<Q>>()).expect("it was asked for");
        &mut view.parts.downcast_mut::<PartsOf<Q>>().expect("the key is the type").doors
    }

    #[test]
    fn a_view_makes_only_the_doors_of_archetypes_whose_chunks_came_or_went() {
        let mut world = World::new();
        let (one, two) = (world.spawn(A), world.spawn((A, B)));
        assert!(world.view::<&A>().contains(one));
        doors_of::<&A>(&mut world).fill_with(|| None);
        assert!(world.view::<&A>().get(one).is_err(), "nothing was made anew");
        while world.archetypes()[2].chunk_count() < 2 {
            world.spawn((A, B));
        }
        let view = world.view::<&A>();
        assert!(view.get(one).is_err() && view.get(two).is_ok(), "only those with `B`");
    }

    #[test]
    fn a_door_that_leads_elsewhere_is_found() {
        let mut world = World::new();
        world.spawn(A);
        world.spawn((A, B));
        drop(world.view::<&A>());
        world.check().expect("in order");
        let doors = doors_of::<&A>(&mut world);
        let door = doors.iter_mut().find(|door| door.is_some()).expect("there are chunks");
        *door = None;
        assert_eq!(world.check().expect_err("a door is missing").invariant, "I-23");
    }
}
