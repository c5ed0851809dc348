//! A world that many threads use at once, with every access checked as it is taken.
#![expect(
    unsafe_code,
    reason = "turns checked borrows into the rights that queries and views need"
)]

use core::fmt;

use super::{Res, ResMut, ResourceError, World};
use crate::entity::Entity;
use crate::error::AccessConflict;
use crate::query::{
    BorrowedQuery, ClaimPlan, ClaimView, PlanSource, QueryData, QueryFilter, QueryPlan, View,
    ViewPlan,
};

/// A world that is borrowed exclusively, in order to be shared: it can be copied to any number of
/// threads, and each asks it for what it needs.
///
/// Whoever asks for components or a resource that somebody else uses in a way that contradicts it
/// is refused, whatever a schedule may have said: a wrong schedule is an error, never a data race.
/// Nothing structural can change while a cell exists; record it in a
/// [`CommandBuffer`](crate::CommandBuffer).
///
/// ```
/// use ecs_core::prelude::*;
/// # #[derive(Component)] struct Position(f32);
/// let mut world = World::new();
/// world.spawn_batch((0..100).map(|i| Position(i as f32)));
/// let mut mine = world.plan::<&mut Position, ()>();
/// let mut yours = world.plan::<&Position, ()>();
/// let cell = world.cell();
/// let writing = cell.query(&mut mine)?;
/// assert!(cell.query(&mut yours).is_err());
/// drop(writing);
/// assert_eq!(cell.query(&mut yours)?.count(), 100);
/// # Ok::<(), ecs_core::AccessConflict>(())
/// ```
#[derive(Clone, Copy)]
pub struct WorldCell<'w> {
    pub(super) world: &'w World,
}

impl fmt::Debug for WorldCell<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WorldCell").field(self.world).finish()
    }
}

impl World {
    /// The world as something that threads can share.
    pub fn cell(&mut self) -> WorldCell<'_> {
        self.next_version();
        // The exclusive borrow shows that no guard of an earlier cell is in use.
        self.borrows.reset();
        self.resources.reset();
        self.borrows.grow(self.registry.infos().len());
        WorldCell { world: self }
    }
}

impl<'w> WorldCell<'w> {
    /// The number of the world.
    #[must_use]
    pub const fn world_id(self) -> u64 {
        self.world.id()
    }

    /// Whether this entity is alive.
    #[must_use]
    pub fn contains(self, entity: Entity) -> bool {
        self.world.contains(entity)
    }

    /// All entities that the plan finds, until the query is dropped.
    ///
    /// # Errors
    /// Where a component is in use elsewhere in a way that contradicts the plan.
    ///
    /// # Panics
    /// Where the plan is another world's.
    pub fn query<Q: QueryData, F: QueryFilter>(
        self,
        plan: &'w mut QueryPlan<Q, F>,
    ) -> Result<BorrowedQuery<'w, Q, F>, AccessConflict> {
        let world = self.world;
        let source = PlanSource { world: world.id, archetypes: world.archetypes() };
        let (access, matches) = plan.matches(source);
        let guard = world.borrows.take(access, &world.registry)?;
        // SAFETY: the guard is the right that the plan's access asks for, as long as everybody
        // goes through cells, which is the case: the world is borrowed exclusively by the first. The
        // plan was just extended (I-8).
        Ok(unsafe { BorrowedQuery::new(world.source(), matches, guard) })
    }

    /// Random access to some components, until the view is dropped.
    ///
    /// # Errors
    /// Where a component is in use elsewhere in a way that contradicts the plan.
    ///
    /// # Panics
    /// Where the plan is another world's.
    pub fn view<Q: QueryData>(
        self,
        plan: &'w mut ViewPlan<Q>,
    ) -> Result<View<'w, Q>, AccessConflict> {
        let world = self.world;
        plan.extend(world.id, world.archetypes());
        let guard = world.borrows.take(plan.access(), &world.registry)?;
        // SAFETY: as in `query`.
        Ok(unsafe { View::planned(world.source(), plan, Some(guard)) })
    }

    /// Random access to some components from many threads at once, entity by entity, until the
    /// view is dropped.
    ///
    /// # Errors
    /// Where a component is in use elsewhere in a way that contradicts the plan.
    ///
    /// # Panics
    /// Where the plan is another world's.
    pub fn claims<Q: QueryData>(
        self,
        plan: &'w mut ClaimPlan<Q>,
    ) -> Result<ClaimView<'w, Q>, AccessConflict> {
        let world = self.world;
        plan.view.extend(world.id, world.archetypes());
        plan.flags.prepare(world.entities.slot_count());
        let plan = &*plan;
        let guard = world.borrows.take(plan.access(), &world.registry)?;
        // SAFETY: as in `query`; the flags were just prepared, and the plan is borrowed by the view.
        Ok(unsafe { ClaimView::new(world.source(), plan, guard) })
    }

    /// A resource, to be read.
    ///
    /// # Errors
    /// Where there is none, or somebody writes it.
    pub fn resource<T: Send + Sync + 'static>(self) -> Result<Res<'w, T>, ResourceError> {
        // SAFETY: the world is borrowed exclusively by the first cell, so all go through cells.
        unsafe { self.world.resources.read() }
    }

    /// A resource, to be written.
    ///
    /// # Errors
    /// Where there is none, or somebody uses it.
    pub fn resource_mut<T: Send + Sync + 'static>(self) -> Result<ResMut<'w, T>, ResourceError> {
        // SAFETY: the world is borrowed exclusively by the first cell, so all go through cells.
        unsafe { self.world.resources.write() }
    }
}
