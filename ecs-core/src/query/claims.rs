//! Which row has taken which entity, in a word per entity: the protocol of [`ExclusiveView`](super::ExclusiveView).

use alloc::vec::Vec;

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
    pub(crate) fn slot_count(&self) -> usize {
        self.words.len()
    }
}

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
