//! Exclusive access to single entities, from many threads at once.
#![expect(unsafe_code, reason = "gives out the row of an entity for as long as it is claimed")]

use alloc::vec::Vec;
use core::marker::PhantomData;

use super::access::{BorrowGuard, ClaimLoops};
use super::column::RowToken;
use super::cursor::BorrowedRight;
use super::data::{Claimant, FetchOf, QueryData, item};
use super::view::Lookups;
use super::view::ViewPlan;
use crate::entities::Entities;
use crate::entity::Entity;
use crate::error::{ClaimError, NoSuchEntity, QueryEntityError};
#[cfg(test)]
use crate::storage::Writers;
use crate::sync::{Ordering, ProtocolU32};

/// A word per entity slot: which row has taken the entity that is there, in which loop, and whether
/// it holds a claim on it at this moment (I-12).
///
/// ```text
/// number of the loop         | held | index of the row's entity
/// 31 - `index_bits` bits     |  1   | `index_bits` bits
/// ```
///
/// A word keeps the row until the loop ends, so that a second row is found whenever it comes. What
/// an earlier loop has left counts for nothing; what it holds is held as long as the view is the same.
/// The words are cleared only where the numbers of loops begin again, or an index needs another bit.
///
/// Taking a word acquires and leaving it releases: who claims an entity next sees what was written
/// before. The models are in `loom_models`.
#[derive(Debug, Default)]
pub(crate) struct ClaimWords {
    words: Vec<ProtocolU32>,
    index_bits: u32,
    /// The number of the first loop of this view. 0 is that of none.
    first_loop: u32,
}

/// How many loops of one view have numbers of their own; later ones have the last of these.
const LOOPS: u32 = 4;

/// Twice the numbers of a view have to fit beside an index, and zero with them.
const INDEX_BITS_MAX: u32 = 28;

/// Why a word was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The same row holds it.
    Held,
    /// The row of the entity with this index has taken it in the same loop, or holds it.
    By(u32),
}

impl ClaimWords {
    /// Begins a view, with words for this many slots, none of them taken.
    ///
    /// Panics if there are more than 2^28 of them.
    pub(crate) fn prepare(&mut self, slot_count: usize) {
        let index_bits = usize::BITS - slot_count.leading_zeros();
        assert!(
            index_bits <= INDEX_BITS_MAX,
            "exclusive access needs fewer than 2^{INDEX_BITS_MAX} entity slots"
        );
        let loop_max = (1 << (31 - index_bits)) - 1;
        self.first_loop += LOOPS;
        if index_bits != self.index_bits || self.first_loop + LOOPS - 1 > loop_max {
            self.words.clear();
            self.index_bits = index_bits;
            self.first_loop = 1;
        }
        while self.words.len() < slot_count {
            self.words.push(ProtocolU32::new(0));
        }
    }

    fn held(&self) -> u32 {
        1 << self.index_bits
    }

    fn loop_of(&self, word: u32) -> u32 {
        word >> (self.index_bits + 1)
    }

    /// Takes the word of a slot for a row, in a loop that comes after `earlier` ones in this view; gives
    /// what [`leave`](Self::leave) is to leave there. Both are below the number of slots.
    #[inline]
    pub(crate) fn take(&self, slot: usize, row: u32, earlier: u32) -> Result<u32, Refused> {
        let number = self.first_loop + earlier.min(LOOPS - 1);
        let mine = number << (self.index_bits + 1) | row;
        let word = &self.words[slot];
        // Relaxed: what counts is what the exchange finds.
        let mut seen = word.load(Ordering::Relaxed);
        loop {
            // Left by this row, in an earlier view, or in an earlier loop of this one.
            let is_free = seen == mine
                || self.loop_of(seen) < self.first_loop
                || self.loop_of(seen) < number && seen & self.held() == 0;
            if !is_free {
                let other = seen & (self.held() - 1);
                let is_held = seen & self.held() != 0;
                return Err(if other == row && is_held {
                    Refused::Held
                } else {
                    Refused::By(other)
                });
            }
            let taken = mine | self.held();
            match word.compare_exchange(seen, taken, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Ok(mine),
                Err(now) => seen = now,
            }
        }
    }

    /// Lets go of the word of a slot, which this row has taken: it still has it, and holds it no more.
    #[inline]
    pub(crate) fn leave(&self, slot: usize, mine: u32) {
        self.words[slot].store(mine, Ordering::Release);
    }

    /// How many slots there are.
    fn slot_count(&self) -> usize {
        self.words.len()
    }
}

/// Random access from many threads, one entity at a time each: the pattern of rows that write to
/// one entity of their own, such as actions to the agent that they belong to.
///
/// A [`claim`](Self::claim) gives a row exclusive access to the components of a target in this view
/// until it is dropped. The row has the target until the view is dropped: it may claim it again, and
/// another row that claims it gets [`ClaimError::Contested`] whenever it comes, also where the first
/// one is done with it. So two rows that write to one target are an error every time, on any number
/// of threads, and never a result that depends on which of them was first.
///
/// A row shows that it is itself by its [`Claimant`], which the query hands out. Where one query with
/// claimants follows another in the same view, so that no row of the first is left, what its rows have
/// claimed and dropped is free again.
///
/// For targets that many rows write to, collect what is to be written and apply it afterwards, as
/// `Scatter` of `formic-jobs` does.
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
    entities: &'w Entities,
    lookups: Lookups<'w, Q>,
    words: &'w ClaimWords,
    loops: &'w ClaimLoops,
    /// How many loops had begun before this view.
    begun: u32,
    _guard: BorrowGuard<'w>,
}

/// What a system keeps from run to run for a [`ExclusiveView`].
///
/// Made by [`World::claim_plan`](crate::World::claim_plan).
pub struct ExclusivePlan<Q: QueryData> {
    pub(crate) view: ViewPlan<Q>,
    pub(crate) words: ClaimWords,
}

debug_fields!([Q: QueryData] ExclusivePlan<Q>: view);

impl<Q: QueryData> ExclusivePlan<Q> {
    pub(crate) fn new(view: ViewPlan<Q>) -> Self {
        Self { view, words: ClaimWords::default() }
    }

    /// What the view touches.
    #[must_use]
    pub const fn access(&self) -> &super::Access {
        self.view.access()
    }
}

debug_fields!([Q: QueryData] ExclusiveView<'_, Q>:);

impl<'w, Q: QueryData> ExclusiveView<'w, Q> {
    /// The words were prepared for these entities and are used by no other view (I-12), as the plan is
    /// borrowed; it was just extended.
    pub(crate) fn new(
        right: BorrowedRight<'w>,
        plan: &'w ExclusivePlan<Q>,
        loops: &'w ClaimLoops,
    ) -> Self {
        let (right, guard) = right.into_parts();
        let (entities, words) = (right.source().entities, &plan.words);
        let lookups = Lookups::new(right.to(plan.access()), &plan.view).among_several();
        Self { entities, lookups, words, loops, begun: loops.begun(), _guard: guard }
    }

    #[cfg(test)]
    pub(super) fn writers(&self) -> Writers {
        self.lookups.writers()
    }

    /// Exclusive access of a row to the components of a target, until the claim is dropped.
    ///
    /// # Errors
    /// Returns [`ClaimError::NoSuchEntity`] if the target is not in the world, or the row in another,
    /// [`ClaimError::Missing`] if it lacks a component, [`ClaimError::Contested`] if another row has
    /// claimed it, and [`ClaimError::Held`] if this row holds a claim on it.
    // Always: it is the inner loop of every action system, and half of its work folds away where
    // the columns are known.
    #[inline(always)]
    pub fn claim(&self, row: &Claimant<'_>, target: Entity) -> Result<Claim<'_, Q>, ClaimError> {
        let row = row.entity();
        // Opening the chunk finds addresses and stamps it; no value is touched before the claim
        // stands.
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
            Refused::By(index) => {
                let other = self.entities.at(index).unwrap_or(row);
                ClaimError::Contested { target, rows: [row.min(other), row.max(other)] }
            }
        }
    }
}

struct Release<'a> {
    words: &'a ClaimWords,
    slot: usize,
    mine: u32,
    /// Claims stay on the thread of their row, so that it knows what it holds.
    marker: PhantomData<*mut ()>,
}

impl Drop for Release<'_> {
    #[inline]
    fn drop(&mut self) {
        self.words.leave(self.slot, self.mine);
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
    /// The components.
    #[inline]
    pub fn get_mut(&mut self) -> Q::Item<'_> {
        // SAFETY: the row is that of a live entity (I-1) in the chunk that was fetched. The view
        // behind this claim holds the right to all entities (I-10); the word, which the claim
        // holds, makes it exclusive for this one (I-12), and `self` is borrowed exclusively.
        let right = unsafe { RowToken::new(self.row) };
        item::<Q>(&self.fetch, right)
    }
}

debug_fields!([Q: QueryData] Claim<'_, Q>:; slot = |it| it.release.slot);

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// What a slot was left with counts for nothing when the numbers of loops begin again.
    #[test]
    fn words_are_cleared_when_the_numbers_of_loops_begin_again() {
        let slots = 1 << 18;
        let mut words = ClaimWords::default();
        words.prepare(slots);
        let first = words.first_loop;
        _ = words.take(0, 1, 0).expect("free, and never left");
        let mine = words.take(1, 1, LOOPS - 1).expect("free");
        words.leave(1, mine);
        let mut views = 0;
        loop {
            words.prepare(slots);
            views += 1;
            if words.first_loop <= first {
                break;
            }
        }
        assert!(views > 1000, "{views} views are few");
        assert!(words.take(0, 2, 0).is_ok() && words.take(1, 2, 0).is_ok());
    }

    #[test]
    fn words_are_cleared_when_an_index_needs_another_bit() {
        let mut words = ClaimWords::default();
        words.prepare(3);
        for slot in 0..3 {
            _ = words.take(slot, 2, 1).expect("free");
        }
        words.prepare(200);
        assert!((0..200).all(|slot| words.take(slot, 199, 0).is_ok()));
        assert_eq!(words.take(7, 199, 0), Err(Refused::Held));
        assert_eq!(words.take(7, 198, 0), Err(Refused::By(199)));
    }

    #[test]
    fn what_a_loop_has_left_is_free_in_the_next_and_what_it_holds_is_not() {
        let mut words = ClaimWords::default();
        words.prepare(8);
        for earlier in 0..LOOPS {
            let mine = words.take(5, 1, earlier).expect("free");
            assert_eq!(words.take(5, 1, earlier + 1), Err(Refused::Held));
            assert_eq!(words.take(5, 2, earlier + 1), Err(Refused::By(1)));
            words.leave(5, mine);
            assert_eq!(words.take(5, 2, earlier), Err(Refused::By(1)));
        }
        // From here on all are one loop.
        assert_eq!(words.take(5, 2, LOOPS), Err(Refused::By(1)));
        assert!(words.take(5, 1, LOOPS + 7).is_ok());
        words.prepare(8);
        assert!(words.take(5, 2, 0).is_ok(), "another view");
    }

    #[test]
    #[should_panic(expected = "fewer than 2^28 entity slots")]
    fn so_many_slots_that_no_loop_has_a_number_are_refused() {
        ClaimWords::default().prepare(1 << 28);
    }
}
