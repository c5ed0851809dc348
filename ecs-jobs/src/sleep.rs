//! The list of a pool's sleeping threads, and the one way to wake them.
//!
//! ```text
//!   a thread without work               a thread that brings work
//!   ---------------------               -------------------------
//!   list: add myself with a tag         make the work visible
//!         fence(SeqCst)                 has_any: fence(SeqCst)
//!   look everywhere again                        anyone listed? -> wake
//!   found:   leave
//!   nothing: sleep until taken off
//! ```
//!
//! One of the two fences comes first. If it is the sleeper's, the other side sees it listed; if not, the
//! sleeper sees the work. `docs/job-sleep.md` describes the whole protocol.

use crate::sync::{
    AtomicUsize, Deadline, Mutex, Ordering, Thread, current_thread, needed_fence, park,
    park_timeout,
};
use crossbeam_utils::CachePadded;

/// The events that wake a sleeper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tag {
    /// Whether it takes any work: an idle worker.
    pub(crate) is_worker: bool,
    /// The address of the task group that it waits for, or zero. The end of the group wakes it, and so
    /// does work in the group or below.
    pub(crate) group: usize,
    /// The bits of the job that it waits for, or zero. The end of the job wakes it, and so does any job
    /// that becomes ready after another.
    pub(crate) job: u64,
    /// Whether it has a condition of its own, which the end of any job may make true. It takes jobs with
    /// handles meanwhile.
    pub(crate) is_conditional: bool,
    /// Whether it helps inside jobs that other threads run, in `job` or any.
    pub(crate) helps_inside: bool,
    /// Its number among the threads that jobs are pinned to, if such jobs wake it.
    pub(crate) pinned: Option<u32>,
}

#[cfg(test)]
impl Tag {
    /// The tag of an idle worker.
    pub(crate) const IDLE: Self = Self {
        is_worker: true,
        group: 0,
        job: 0,
        is_conditional: false,
        helps_inside: false,
        pinned: None,
    };
}

#[derive(Debug)]
struct Sleeper {
    ticket: u64,
    tag: Tag,
    thread: Thread,
}

/// The threads of a pool that sleep, or are about to.
#[derive(Debug)]
pub(crate) struct Sleepers {
    /// The number of listed threads, readable without the lock.
    count: CachePadded<AtomicUsize>,
    /// The number of these with a condition of their own.
    conditional_count: CachePadded<AtomicUsize>,
    /// The number of these that are idle workers.
    idle_count: CachePadded<AtomicUsize>,
    list: Mutex<List>,
}

#[derive(Debug)]
struct List {
    sleepers: Vec<Sleeper>,
    last_ticket: u64,
}

impl Sleepers {
    pub(crate) fn new(worker_count: usize) -> Self {
        let sleepers = Vec::with_capacity(worker_count + 16);
        Self {
            count: CachePadded::new(AtomicUsize::new(0)),
            conditional_count: CachePadded::new(AtomicUsize::new(0)),
            idle_count: CachePadded::new(AtomicUsize::new(0)),
            list: Mutex::new(List { sleepers, last_ticket: 0 }),
        }
    }

    /// Stores the counts of a list that has changed.
    fn count(&self, sleepers: &[Sleeper]) {
        self.count.store(sleepers.len(), Ordering::Relaxed);
        let count_of = |is_meant: fn(&Tag) -> bool| {
            sleepers.iter().filter(|sleeper| is_meant(&sleeper.tag)).count()
        };
        self.conditional_count.store(count_of(|tag| tag.is_conditional), Ordering::Relaxed);
        let idle_count = count_of(|tag| tag.is_worker);
        self.idle_count.store(idle_count, Ordering::Relaxed);
    }

    /// Searching -> Listed. The caller checks for work once more, then leaves or sleeps.
    pub(crate) fn list(&self, tag: Tag) -> Listed<'_> {
        let thread = current_thread();
        let mut list = self.list.lock();
        list.last_ticket += 1;
        let ticket = list.last_ticket;
        list.sleepers.push(Sleeper { ticket, tag, thread });
        self.count(&list.sleepers);
        drop(list);
        // Pairs with the fence in `has_any`.
        needed_fence("list");
        Listed { sleepers: self, ticket }
    }

    /// Whether any thread is listed, for a caller that has just made work visible.
    pub(crate) fn has_any(&self) -> bool {
        // Pairs with the fence in `list`.
        needed_fence("has_any");
        self.count.load(Ordering::Relaxed) > 0
    }

    /// Wakes up to `limit` of the threads that the news `is_for`, for a caller that has just made it
    /// visible.
    pub(crate) fn tell(&self, limit: usize, is_for: impl Fn(&Tag) -> bool) {
        if self.has_any() {
            self.wake(limit, is_for);
        }
    }

    /// The number of listed idle workers, for a caller that has executed a fence.
    pub(crate) fn idle_count(&self) -> usize {
        self.idle_count.load(Ordering::Relaxed)
    }

    /// Wakes the threads with a condition of their own, if any is seen. There is no fence; the caller
    /// supplies one if it needs it.
    pub(crate) fn wake_conditional(&self) {
        if self.conditional_count.load(Ordering::Relaxed) > 0 {
            self.wake(usize::MAX, |tag| tag.is_conditional);
        }
    }

    /// Removes up to `limit` of the threads that the news `is_for` from the list, most recent first,
    /// since that one has the warmest cache. Wakes each, and returns their number.
    pub(crate) fn wake(&self, limit: usize, is_for: impl Fn(&Tag) -> bool) -> usize {
        self.wake_before(u64::MAX, limit, is_for)
    }

    /// Like [`wake`](Self::wake), for threads that were listed before the one with this ticket.
    #[cold]
    #[inline(never)]
    pub(crate) fn wake_before(
        &self,
        ticket: u64,
        limit: usize,
        is_for: impl Fn(&Tag) -> bool,
    ) -> usize {
        // A thread that was listed since has checked for itself: otherwise the two would wake and list
        // for ever.
        let mut newest = ticket - 1;
        for woken in 0..limit {
            let mut list = self.list.lock();
            newest = newest.min(list.last_ticket);
            let is_meant = |one: &Sleeper| one.ticket <= newest && is_for(&one.tag);
            let place = list.sleepers.iter().rposition(is_meant);
            let Some(place) = place else { return woken };
            let sleeper = list.sleepers.remove(place);
            self.count(&list.sleepers);
            drop(list);
            sleeper.thread.unpark();
        }
        limit
    }
}

/// A thread's entry in the list, until it leaves or is woken.
#[derive(Debug)]
pub(crate) struct Listed<'pool> {
    sleepers: &'pool Sleepers,
    /// Increases with each entry; above zero.
    pub(crate) ticket: u64,
}

impl Listed<'_> {
    /// Listed -> Asleep -> Searching: returns once a wake-up was spent on this thread, or the deadline
    /// has passed.
    ///
    /// A thread may be unparked for another reason, or late, after it has already woken. So an unpark
    /// proves nothing: the thread sleeps on until it is off the list.
    pub(crate) fn sleep(&self, deadline: Option<&Deadline>) {
        while self.is_listed() {
            match deadline.map(Deadline::left) {
                None => park(),
                Some(Some(left)) => park_timeout(left),
                Some(None) => return,
            }
        }
    }

    pub(crate) fn is_listed(&self) -> bool {
        self.sleepers.list.lock().sleepers.iter().any(|sleeper| sleeper.ticket == self.ticket)
    }

    /// Removes this thread from the list. Returns false if a wake-up has already done so: this thread
    /// must then use the wake-up or pass it on.
    pub(crate) fn leave(&self) -> bool {
        let mut list = self.sleepers.list.lock();
        let place = list.sleepers.iter().position(|sleeper| sleeper.ticket == self.ticket);
        if let Some(place) = place {
            list.sleepers.remove(place);
            self.sleepers.count(&list.sleepers);
        }
        place.is_some()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_sleeper_that_left_is_not_woken() {
        let sleepers = Sleepers::new(1);
        assert!(sleepers.list(Tag::IDLE).leave());
        assert!(!sleepers.has_any());
        assert_eq!(sleepers.wake(1, |_| true), 0);
    }

    #[test]
    fn a_sleeper_woken_before_it_leaves_is_told_so_and_does_not_sleep() {
        let sleepers = Sleepers::new(1);
        let listed = sleepers.list(Tag::IDLE);
        assert_eq!(sleepers.wake(3, |tag| tag.is_worker), 1);
        listed.sleep(None);
        assert!(!listed.leave());
    }

    #[test]
    fn only_those_are_woken_that_the_news_is_for_and_the_last_first() {
        let sleepers = Sleepers::new(1);
        let owner = sleepers.list(Tag { group: 7, ..Tag::default() });
        let first = sleepers.list(Tag::IDLE);
        let last = sleepers.list(Tag::IDLE);
        assert_eq!(sleepers.wake(1, |tag| tag.is_worker), 1);
        assert!(!last.leave());
        assert!(first.leave() && owner.leave());
    }

    #[test]
    fn a_late_token_does_not_end_the_next_sleep() {
        let sleepers = Sleepers::new(1);
        let first = sleepers.list(Tag::IDLE);
        sleepers.wake(1, |_| true);
        // It left without sleeping, so the token is still there.
        assert!(!first.leave());
        std::thread::scope(|threads| {
            let listed = sleepers.list(Tag { job: 9, ..Tag::default() });
            threads.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(20));
                assert_eq!(sleepers.wake(1, |tag| tag.job == 9), 1, "it sleeps on");
            });
            listed.sleep(None);
            assert!(!listed.leave());
        });
    }
}
