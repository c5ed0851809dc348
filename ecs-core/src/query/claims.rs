//! Exclusive access to single entities, from many threads at once.
#![expect(unsafe_code, reason = "gives out the row of an entity for as long as it is claimed")]

use alloc::vec::Vec;
use core::fmt;

use super::access::BorrowGuard;
use super::chunk::Source;
use super::column::RowRight;
use super::data::QueryData;
use super::doors::{Doors, ViewPlan};
use super::view::opened;
use crate::entity::Entity;
use crate::error::{ClaimError, QueryEntityError};
use crate::storage::{Moment, Writers};
use crate::sync::{Ordering, ProtocolU8};

/// A flag per entity slot: set while somebody holds a claim on the entity that is there (I-12).
///
/// Taking a flag acquires and leaving it releases: whoever claims an entity next sees what the one
/// before wrote. The models are in `loom_models`. A flag is a byte of its own, so that leaving it
/// is a plain store. It is set by writing the number of the view's round into it: a claim that was
/// leaked in an earlier round counts for nothing, and nobody has to clear the flags between rounds.
#[derive(Debug, Default)]
pub(crate) struct ClaimFlags {
    flags: Vec<ProtocolU8>,
    round: u8,
}

/// What no round has for its number.
const FREE: u8 = 0;

impl ClaimFlags {
    /// Begins a round, with flags for this many slots, none of them set.
    pub(crate) fn prepare(&mut self, slot_count: usize) {
        self.round = self.round.wrapping_add(1);
        if self.round == FREE {
            self.flags.clear();
            self.round = 1;
        }
        while self.flags.len() < slot_count {
            self.flags.push(ProtocolU8::new(FREE));
        }
    }

    /// Sets the flag; whether it was not set before.
    #[inline]
    pub(crate) fn take(&self, index: usize) -> bool {
        self.flags[index].swap(self.round, Ordering::Acquire) != self.round
    }

    /// Clears the flag, which this thread has set.
    #[inline]
    pub(crate) fn leave(&self, index: usize) {
        self.flags[index].store(FREE, Ordering::Release);
    }
}

/// Random access from many threads, one entity at a time each: the pattern of actions that write
/// to the agent they belong to.
///
/// A [`claim`](Self::claim) on an entity gives exclusive access to its components in this view
/// until it is dropped. Somebody who asks for the same entity meanwhile is told so; there is no
/// waiting and no data race.
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::ClaimError;
/// # #[derive(Component)] struct Gold(u32);
/// let mut world = World::new();
/// let agent = world.spawn(Gold(0));
/// let mut plan = world.claim_plan::<&mut Gold>();
/// let cell = world.cell();
/// let purses = cell.claims(&mut plan)?;
/// let mut purse = purses.claim(agent).expect("nobody else has it");
/// purse.get_mut().0 += 5;
/// assert_eq!(purses.claim(agent).unwrap_err(), ClaimError::Claimed(agent));
/// drop(purse);
/// assert_eq!(purses.claim(agent).expect("free again").get_mut().0, 5);
/// # Ok::<(), formic_ecs::AccessConflict>(())
/// ```
pub struct ExclusiveView<'w, Q: QueryData> {
    source: Source<'w>,
    doors: Doors<'w, Q>,
    flags: &'w ClaimFlags,
    _guard: BorrowGuard<'w>,
}

/// What a system keeps from run to run for a [`ExclusiveView`].
///
/// Made by [`World::claim_plan`](crate::World::claim_plan).
///
/// ```
/// use formic_ecs::prelude::*;
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// let mut world = World::new();
/// let imp = world.spawn(Gold(1));
/// let mut purses = world.claim_plan::<&mut Gold>();
/// assert_eq!(purses.access().writes().len(), 1);
/// world.cell().claims(&mut purses)?.claim(imp)?.get_mut().0 = 2;
/// assert_eq!(world.get::<Gold>(imp)?, &Gold(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ExclusivePlan<Q: QueryData> {
    pub(crate) view: ViewPlan<Q>,
    pub(crate) flags: ClaimFlags,
}

impl<Q: QueryData> fmt::Debug for ExclusivePlan<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExclusivePlan").field("view", &self.view).finish_non_exhaustive()
    }
}

impl<Q: QueryData> ExclusivePlan<Q> {
    /// What the view touches.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// let plan = world.claim_plan::<&mut Gold>();
    /// assert_eq!(plan.access().writes(), [world.register::<Gold>()]);
    /// ```
    #[must_use]
    pub const fn access(&self) -> &super::Access {
        self.view.access()
    }
}

impl<Q: QueryData> fmt::Debug for ExclusiveView<'_, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExclusiveView").finish_non_exhaustive()
    }
}

impl<'w, Q: QueryData> ExclusiveView<'w, Q> {
    /// # Safety
    /// `guard` is the right that Q needs in these archetypes (I-10); the flags were prepared for
    /// these entities and are used by no other view (I-12), and the plan was just extended over the
    /// source (I-23).
    pub(crate) unsafe fn new(
        source: Source<'w>,
        plan: &'w ExclusivePlan<Q>,
        guard: BorrowGuard<'w>,
    ) -> Self {
        // Others stamp rows of the same chunks meanwhile.
        let moment = Moment { writers: Writers::Several, ..source.moment };
        let source = Source { moment, ..source };
        Self { source, doors: Doors::new(source, &plan.view), flags: &plan.flags, _guard: guard }
    }

    /// Exclusive access to the components of one entity, until the claim is dropped.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// let purse = world.spawn(Gold(3));
    /// let mut plan = world.claim_plan::<&mut Gold>();
    /// let claims = world.cell().claims(&mut plan)?;
    /// let mut claim = claims.claim(purse)?;
    /// claim.get_mut().0 += 1;
    /// assert!(claims.claim(purse).is_err(), "somebody has it");
    /// drop(claim);
    /// assert!(claims.claim(purse).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Where the entity is not in the world, lacks a component, or is claimed by somebody.
    // Always: it is the inner loop of every action system, and half of its work folds away where
    // the columns are known.
    #[inline(always)]
    pub fn claim(&self, entity: Entity) -> Result<Claim<'_, Q>, ClaimError> {
        // Opening the chunk finds addresses and stamps it; no value is touched before the claim
        // stands.
        // SAFETY: the plan was extended over the source as this view was made (`new`), and the
        // source is borrowed since (I-23).
        let (fetch, row) = match unsafe { opened::<Q>(self.source, self.doors, entity) } {
            Ok(opened) => opened,
            Err(QueryEntityError::NoSuchEntity(error)) => {
                return Err(ClaimError::NoSuchEntity(error));
            }
            Err(QueryEntityError::NotMatching(entity)) => return Err(ClaimError::Missing(entity)),
        };
        let index = entity.index() as usize;
        if !self.flags.take(index) {
            return Err(ClaimError::Claimed(entity));
        }
        Ok(Claim { fetch, row, release: Release { flags: self.flags, index } })
    }
}

struct Release<'a> {
    flags: &'a ClaimFlags,
    index: usize,
}

impl Drop for Release<'_> {
    #[inline]
    fn drop(&mut self) {
        self.flags.leave(self.index);
    }
}

/// Exclusive access to the components of one entity, while it lives.
///
/// It lends them rather than dereferencing to them: with the reference itself in hand, two claims
/// could swap theirs and outlive the wrong one.
///
/// ```
/// use formic_ecs::prelude::*;
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// let mut world = World::new();
/// let [ada, bob] = [world.spawn(Gold(5)), world.spawn(Gold(0))];
/// let mut plan = world.claim_plan::<&mut Gold>();
/// let cell = world.cell();
/// let purses = cell.claims(&mut plan)?;
/// let (mut from, mut to) = (purses.claim(ada)?, purses.claim(bob)?);
/// from.get_mut().0 -= 2;
/// to.get_mut().0 += 2;
/// drop((from, to)); // now others can have them
/// assert_eq!(purses.claim(bob)?.get_mut().0, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Claim<'a, Q: QueryData> {
    fetch: Q::Fetch<'a>,
    row: usize,
    release: Release<'a>,
}

impl<Q: QueryData> Claim<'_, Q> {
    /// The components.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// let purse = world.spawn(Gold(3));
    /// let mut plan = world.claim_plan::<&mut Gold>();
    /// let purses = world.cell().claims(&mut plan)?;
    /// let mut claim = purses.claim(purse)?;
    /// claim.get_mut().0 -= 1;
    /// assert_eq!(claim.get_mut().0, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn get_mut(&mut self) -> Q::Item<'_> {
        // SAFETY: the row is that of a live entity (I-1) in the chunk that was fetched. The view
        // behind this claim holds the right to all entities (I-10); the flag, which the claim
        // holds, makes it exclusive for this one (I-12), and `self` is borrowed exclusively.
        let right = unsafe { RowRight::new(self.row) };
        Q::item(&self.fetch, right)
    }
}

impl<Q: QueryData> fmt::Debug for Claim<'_, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claim").field("slot", &self.release.index).finish_non_exhaustive()
    }
}
