//! Counts of the jobs that were added and that have ended, to know when all have.

use crate::sync::{AtomicU64, Ordering, needed};
use crossbeam_utils::CachePadded;

/// Counts per thread, which the thread alone changes, so that a job costs no locked instruction.
///
/// A thread that asks reads all counts of ended jobs first, and then all counts of added ones. A job that
/// it sees ended it sees added, too, so the first sum is not above the second, and if they are the
/// same, all jobs that were added up to then have ended.
#[derive(Debug)]
pub(crate) struct Ledger {
    places: Box<[CachePadded<Counts>]>,
    /// For threads without a place.
    others: CachePadded<Counts>,
}

#[derive(Debug)]
struct Counts {
    added: AtomicU64,
    ended: AtomicU64,
}

impl Ledger {
    pub(crate) fn new(place_count: usize) -> Self {
        let counts =
            || CachePadded::new(Counts { added: AtomicU64::new(0), ended: AtomicU64::new(0) });
        Self { places: (0..place_count).map(|_| counts()).collect(), others: counts() }
    }

    /// Counts a job that no other thread knows yet, on the thread that has this place.
    pub(crate) fn add_one(&self, place: Option<usize>) {
        // Relaxed: a thread that sees the job end sees this as well.
        match place.and_then(|place| self.places.get(place)) {
            Some(own) => add_alone(&own.added, Ordering::Relaxed),
            None => _ = self.others.added.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// Counts a job that has ended.
    pub(crate) fn end_one(&self, place: Option<usize>) {
        // Release: what the job did, and that it was added, comes along.
        let order = needed("ledger_end", Ordering::Release);
        match place.and_then(|place| self.places.get(place)) {
            Some(own) => add_alone(&own.ended, order),
            None => _ = self.others.ended.fetch_add(1, order),
        }
    }

    /// Whether all jobs have ended that were added before. What they did is visible then.
    pub(crate) fn is_even(&self) -> bool {
        let all = || self.places.iter().chain([&self.others]);
        let order = needed("ledger_is_even", Ordering::Acquire);
        let ended = all().fold(0, |sum: u64, own| sum.wrapping_add(own.ended.load(order)));
        let added =
            all().fold(0, |sum: u64, own| sum.wrapping_add(own.added.load(Ordering::Relaxed)));
        ended == added
    }
}

/// Adds one to a counter that only the calling thread changes.
fn add_alone(counter: &AtomicU64, order: Ordering) {
    if cfg!(loom) {
        // Of a load and a store of one thread loom tries no schedule in between, nor before.
        counter.fetch_add(1, order);
    } else {
        counter.store(counter.load(Ordering::Relaxed) + 1, order);
    }
}
