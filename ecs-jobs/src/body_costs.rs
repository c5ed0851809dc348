//! The measured cost per index of each loop body, by which the next loop over the same body decides
//! whether to share.

use crate::sync::{AtomicU64, AtomicUsize, Ordering};
use std::ops::Range;

/// The number of remembered bodies; two with the same entry overwrite each other.
const ENTRY_COUNT: usize = if cfg!(loom) { 1 } else { 64 };

/// The costs of the bodies that were run last.
///
/// An estimate: a wrong one costs one wake-up too many, or a loop that is shared later than possible. So
/// it does not matter that an entry consists of two words that two threads may write at the same time.
#[derive(Debug)]
pub(crate) struct BodyCosts {
    entries: [Entry; ENTRY_COUNT],
}

#[derive(Debug)]
struct Entry {
    body: AtomicUsize,
    /// Nanoseconds.
    cost: AtomicU64,
}

/// The identity of a loop body: the address of a function that is compiled for its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Body(usize);

impl Body {
    pub(crate) fn of<F: Fn(usize, Range<usize>)>(_body: &F) -> Self {
        // The function contains the body's code: functions with identical code may be merged, and the
        // type name of a closure is the same for all closures in a function.
        let call: fn(&F, usize, Range<usize>) = |body, slot, range| body(slot, range);
        Self((call as *const ()).addr())
    }

    fn entry_index(self) -> usize {
        // Fibonacci hashing: addresses differ in the middle.
        let mixed = (self.0 as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        mixed as usize % ENTRY_COUNT
    }
}

impl BodyCosts {
    pub(crate) fn new() -> Self {
        let entry = || Entry { body: AtomicUsize::new(0), cost: AtomicU64::new(0) };
        Self { entries: std::array::from_fn(|_| entry()) }
    }

    /// The cost of an index in nanoseconds, if known.
    pub(crate) fn of(&self, body: Body) -> Option<u64> {
        let entry = &self.entries[body.entry_index()];
        (entry.body.load(Ordering::Relaxed) == body.0).then(|| entry.cost.load(Ordering::Relaxed))
    }

    /// Records the cost of an index in the last loop. A known cost rises at once and falls by at most
    /// half: a body that is light and heavy in turn counts as heavy, and a body that was slow once,
    /// because the machine was busy, does so for a few loops.
    pub(crate) fn note(&self, body: Body, cost: u64) {
        let entry = &self.entries[body.entry_index()];
        let least = self.of(body).unwrap_or(0) / 2;
        entry.body.store(body.0, Ordering::Relaxed);
        entry.cost.store(cost.max(least), Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "a function has another address each time that it is asked for")]
    fn a_body_is_known_by_its_type_and_by_what_it_has_cost() {
        let costs = BodyCosts::new();
        let count = std::cell::Cell::new(0);
        let one = |_, range: Range<usize>| count.set(count.get() + range.len());
        let other = |slot, range: Range<usize>| count.set(count.get() * slot + range.end);
        assert_eq!(costs.of(Body::of(&one)), None);
        costs.note(Body::of(&one), 7);
        costs.note(Body::of(&one), 9);
        assert_eq!(costs.of(Body::of(&one)), Some(9));
        costs.note(Body::of(&one), 0);
        assert_eq!(costs.of(Body::of(&one)), Some(4), "it falls slowly");
        assert_eq!(costs.of(Body::of(&other)), None);
        one(1, 0..4);
        other(2, 0..3);
        assert_eq!(count.get(), 4 * 2 + 3);
    }
}
