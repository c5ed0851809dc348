//! Going to sleep without missing the work that arrives at that very moment.
//!
//! Idle workers sleep in an [`EventCount`]; a thread that waits for a group
//! sleeps on its own [`Parker`], by the same steps. The whole protocol, its
//! states and why no wake-up is lost, is in `docs/job-sleep.md`.

use crate::sync::{Arc, AtomicUsize, Condvar, Mutex, Ordering, needed_fence};
use crossbeam_utils::CachePadded;

/// Where one thread sleeps: a token, and a bell that rings when it arrives.
///
/// A token may arrive late, after its receiver woke for another reason. So
/// waking proves nothing: whoever sleeps looks again at what it waits for.
#[derive(Debug)]
pub(crate) struct Parker {
    token: Mutex<bool>,
    bell: Condvar,
}

impl Parker {
    pub(crate) fn new() -> Self {
        Self { token: Mutex::new(false), bell: Condvar::new() }
    }

    /// Sleeps until there is a token, and consumes it.
    pub(crate) fn park(&self) {
        let mut token = self.token.lock();
        while !*token {
            token = self.bell.wait(token);
        }
        *token = false;
    }

    /// Leaves a token. Tokens do not add up.
    pub(crate) fn unpark(&self) {
        *self.token.lock() = true;
        self.bell.notify_one();
    }
}

/// The parkers of a pool, by number, so that whoever finishes a group last can
/// wake its owner without a pointer into the owner's stack.
///
/// Workers and the guest desk have fixed numbers. Other outside threads borrow
/// a number for as long as they are in the pool; numbers are used again, and a
/// token meant for an earlier holder is merely a late one.
#[derive(Debug)]
pub(crate) struct Parkers {
    fixed: Box<[Parker]>,
    lent: Mutex<LentParkers>,
}

#[derive(Debug, Default)]
struct LentParkers {
    all: Vec<Arc<Parker>>,
    free: Vec<usize>,
}

impl Parkers {
    pub(crate) fn new(fixed_count: usize) -> Self {
        let fixed = (0..fixed_count).map(|_| Parker::new()).collect();
        Self { fixed, lent: Mutex::new(LentParkers::default()) }
    }

    pub(crate) fn park(&self, number: usize) {
        match self.fixed.get(number) {
            Some(parker) => parker.park(),
            None => self.lent_parker(number).park(),
        }
    }

    pub(crate) fn unpark(&self, number: usize) {
        match self.fixed.get(number) {
            Some(parker) => parker.unpark(),
            None => self.lent_parker(number).unpark(),
        }
    }

    pub(crate) fn borrow_number(&self) -> usize {
        let mut lent = self.lent.lock();
        if let Some(number) = lent.free.pop() {
            return number;
        }
        lent.all.push(Arc::new(Parker::new()));
        self.fixed.len() + lent.all.len() - 1
    }

    pub(crate) fn give_back(&self, number: usize) {
        debug_assert!(number >= self.fixed.len(), "fixed numbers are not borrowed");
        self.lent.lock().free.push(number);
    }

    fn lent_parker(&self, number: usize) -> Arc<Parker> {
        Arc::clone(&self.lent.lock().all[number - self.fixed.len()])
    }
}

/// The idle workers of a pool: who sleeps, and how to wake some of them.
///
/// ```text
///   worker                              whoever brings work
///   ------                              -------------------
///   announce: list myself               make the work visible
///             fence(SeqCst)             notify: fence(SeqCst)
///   look everywhere again                       anybody listed? -> wake
///   found:   cancel
///   nothing: sleep
/// ```
///
/// Of the two fences one comes first. If it is the worker's, the other side
/// sees it listed; if not, the worker sees the work.
#[derive(Debug)]
pub(crate) struct EventCount {
    /// `listed.len()`, readable without the lock.
    listed_count: CachePadded<AtomicUsize>,
    /// Workers that announced themselves and were not woken since.
    listed: Mutex<Vec<usize>>,
}

impl EventCount {
    pub(crate) fn new(worker_count: usize) -> Self {
        Self {
            listed_count: CachePadded::new(AtomicUsize::new(0)),
            listed: Mutex::new(Vec::with_capacity(worker_count)),
        }
    }

    /// Searching -> Announced (docs/job-sleep.md, section 2). The caller looks
    /// everywhere once more, then calls [`cancel`](Self::cancel) or
    /// [`sleep`](Self::sleep).
    pub(crate) fn announce(&self, worker: usize) {
        let mut listed = self.listed.lock();
        debug_assert!(!listed.contains(&worker), "a worker announces itself once");
        listed.push(worker);
        self.listed_count.store(listed.len(), Ordering::Relaxed);
        drop(listed);
        // Pairs with the fence in `notify` (docs/job-sleep.md, section 3).
        needed_fence("announce");
    }

    /// Announced -> Searching. Returns false if a wake-up was spent on this
    /// worker meanwhile: it is then the worker's to pass on.
    #[must_use]
    pub(crate) fn cancel(&self, worker: usize) -> bool {
        let mut listed = self.listed.lock();
        let place = listed.iter().position(|&other| other == worker);
        if let Some(place) = place {
            listed.swap_remove(place);
            self.listed_count.store(listed.len(), Ordering::Relaxed);
        }
        place.is_some()
    }

    /// Announced -> Asleep -> Searching: returns once a wake-up was spent on
    /// this worker.
    pub(crate) fn sleep(&self, worker: usize, parkers: &Parkers) {
        loop {
            parkers.park(worker);
            // A late token, see `Parker`, leaves the worker listed: it sleeps on.
            if !self.listed.lock().contains(&worker) {
                return;
            }
        }
    }

    /// Wakes up to `wanted` idle workers and returns how many.
    ///
    /// Every path that makes work visible ends here or in a function that calls
    /// it; the fence orders the work before the look at the sleepers.
    pub(crate) fn notify(&self, wanted: usize, parkers: &Parkers) -> usize {
        // Pairs with the fence in `announce` (docs/job-sleep.md, section 3).
        needed_fence("notify");
        if self.listed_count.load(Ordering::Relaxed) == 0 {
            return 0;
        }
        self.wake(wanted, parkers)
    }

    #[cold]
    #[inline(never)]
    fn wake(&self, wanted: usize, parkers: &Parkers) -> usize {
        for woken in 0..wanted {
            let mut listed = self.listed.lock();
            // The last to fall asleep has the warmest cache.
            let Some(worker) = listed.pop() else { return woken };
            self.listed_count.store(listed.len(), Ordering::Relaxed);
            drop(listed);
            parkers.unpark(worker);
        }
        wanted
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_cancelled_sleeper_is_not_woken() {
        let (events, parkers) = (EventCount::new(1), Parkers::new(1));
        events.announce(0);
        assert!(events.cancel(0));
        assert_eq!(events.notify(1, &parkers), 0);
    }

    #[test]
    fn a_sleeper_woken_before_it_cancels_is_told_so() {
        let (events, parkers) = (EventCount::new(1), Parkers::new(1));
        events.announce(0);
        assert_eq!(events.notify(3, &parkers), 1);
        assert!(!events.cancel(0));
    }

    #[test]
    fn lent_numbers_are_used_again() {
        let parkers = Parkers::new(2);
        let first = parkers.borrow_number();
        assert_eq!(first, 2);
        parkers.give_back(first);
        assert_eq!(parkers.borrow_number(), first);
        assert_eq!(parkers.borrow_number(), 3);
    }
}
