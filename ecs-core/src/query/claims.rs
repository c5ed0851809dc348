//! The words that record which row has claimed which entity: the protocol of
//! [`ExclusiveView`](super::ExclusiveView).

use alloc::vec::Vec;

use crate::sync::{Ordering, ProtocolU32};

/// One word per entity slot. It says which row has claimed the entity in the slot, in which loop, and
/// whether it holds a claim at the moment (I-12).
///
/// ```text
/// number of the loop         | held | index of the row's entity
/// 31 - `index_bits` bits     |  1   | `index_bits` bits
/// ```
///
/// A word keeps its row until the loop ends, so a second row is detected whenever it comes. What an
/// earlier loop has left does not count. What it still holds stays held for the life of the view. The
/// words are cleared only when the loop numbers start again, or an index needs another bit.
///
/// Taking a word acquires and leaving it releases, so the next row that claims the entity sees what was
/// written before. The models are in `loom_models`.
#[derive(Debug, Default)]
pub(crate) struct ClaimWords {
    words: Vec<ProtocolU32>,
    index_bits: u32,
    /// The number of the first loop of this view. No loop has number 0.
    first_loop: u32,
}

/// The number of loops of one view that have their own numbers. Later loops share the last of these.
const LOOPS: u32 = 4;

/// The maximum number of index bits. They leave 3 bits for the loop number: enough for the numbers of one
/// view, and for 0.
const INDEX_BITS_MAX: u32 = 28;

/// The reason why a word was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The same row holds it.
    Held,
    /// The row of the entity with this index has claimed it in the same loop, or holds it.
    ClaimedBy(u32),
}

impl ClaimWords {
    /// Begins a view with words for this many slots, none of them taken.
    ///
    /// Panics if there are 2^28 of them or more.
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

    /// Takes the word of a slot for a row, in the loop that follows `earlier` others in this view.
    /// Returns the word to pass to [`leave`](Self::leave). `slot` and `row` are below the number of
    /// slots.
    #[inline]
    pub(crate) fn take(&self, slot: usize, row: u32, earlier: u32) -> Result<u32, Refused> {
        let number = self.first_loop + earlier.min(LOOPS - 1);
        let mine = number << (self.index_bits + 1) | row;
        let word = &self.words[slot];
        // Relaxed: only what the exchange finds counts.
        let mut seen = word.load(Ordering::Relaxed);
        loop {
            // Free if left by this row, in an earlier view, or in an earlier loop of this view.
            let is_free = seen == mine
                || self.loop_of(seen) < self.first_loop
                || self.loop_of(seen) < number && seen & self.held() == 0;
            if !is_free {
                let other = seen & (self.held() - 1);
                let is_held = seen & self.held() != 0;
                return Err(if other == row && is_held {
                    Refused::Held
                } else {
                    Refused::ClaimedBy(other)
                });
            }
            let taken = mine | self.held();
            match word.compare_exchange(seen, taken, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Ok(mine),
                Err(now) => seen = now,
            }
        }
    }

    /// Releases the word of a slot that this row has taken. The row keeps the slot for the loop, but does
    /// not hold it any more.
    #[inline]
    pub(crate) fn leave(&self, slot: usize, mine: u32) {
        self.words[slot].store(mine, Ordering::Release);
    }

    /// Returns the number of slots.
    pub(crate) fn slot_count(&self) -> usize {
        self.words.len()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// What was left in a slot does not count any more when the loop numbers start again.
    #[test]
    fn words_are_cleared_when_the_numbers_of_loops_begin_again() {
        let slots = 3;
        let mut words = ClaimWords::default();
        words.prepare(slots);
        // As after very many views: an index has two bits and the mark one, so the last loop is 2^29 - 1.
        let first = (1 << 29) - 10 * LOOPS;
        words.first_loop = first;
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
        assert_eq!(views, 10, "the last of the loops before are 2^29 - 4 to 2^29 - 1");
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
        assert_eq!(words.take(7, 198, 0), Err(Refused::ClaimedBy(199)));
    }

    #[test]
    fn what_a_loop_has_left_is_free_in_the_next_and_what_it_holds_is_not() {
        let mut words = ClaimWords::default();
        words.prepare(8);
        for earlier in 0..LOOPS {
            let mine = words.take(5, 1, earlier).expect("free");
            assert_eq!(words.take(5, 1, earlier + 1), Err(Refused::Held));
            assert_eq!(words.take(5, 2, earlier + 1), Err(Refused::ClaimedBy(1)));
            words.leave(5, mine);
            assert_eq!(words.take(5, 2, earlier), Err(Refused::ClaimedBy(1)));
        }
        // From here on, all loops share one number.
        assert_eq!(words.take(5, 2, LOOPS), Err(Refused::ClaimedBy(1)));
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
