//! The queue of jobs with handles that are ready.

use crate::slots::{JobId, Priority};
use crate::sync::{AtomicUsize, Mutex, Ordering};
use crossbeam_utils::CachePadded;
use std::collections::VecDeque;

/// Ids of jobs that are ready, in the order in which they became so.
///
/// An id is a hint: a thread that waits for a job may have claimed it without coming by here. A
/// thread that takes an id out tries to claim the job, and forgets the id if that fails.
#[derive(Debug)]
pub(crate) struct JobQueue {
    /// How many ids there are, readable without the lock.
    count: CachePadded<AtomicUsize>,
    lists: Mutex<Lists>,
}

#[derive(Debug)]
struct Lists {
    frame: VecDeque<JobId>,
    background: VecDeque<JobId>,
    /// How many have been taken since one of the background was.
    taken: u32,
    /// At which length to look for ids that are of no use any more.
    sift_len: usize,
}

/// The least length at which that is worth it.
const SIFT_LEN_MIN: usize = 64;

impl Lists {
    fn len(&self) -> usize {
        self.frame.len() + self.background.len()
    }

    fn take(&mut self) -> Option<JobId> {
        let is_turn = self.taken + 1 >= Priority::BACKGROUND_TURN;
        if !self.background.is_empty() && (is_turn || self.frame.is_empty()) {
            self.taken = 0;
            return self.background.pop_front();
        }
        self.taken = if self.background.is_empty() { 0 } else { self.taken + 1 };
        self.frame.pop_front()
    }
}

impl JobQueue {
    pub(crate) fn new() -> Self {
        // Ids of no use lie here until there are so many: in a pool with little to do that may be
        // long after it has become warm.
        let frame = VecDeque::with_capacity(2 * SIFT_LEN_MIN);
        let lists = Lists { frame, background: VecDeque::new(), taken: 0, sift_len: SIFT_LEN_MIN };
        Self { count: CachePadded::new(AtomicUsize::new(0)), lists: Mutex::new(lists) }
    }

    /// Adds a job. The caller tells the sleepers.
    ///
    /// Where all jobs are run by threads that wait for them, the ids would pile up: so from time to
    /// time those that are not `ready` any more are thrown out, and with them the room that a burst
    /// has taken.
    pub(crate) fn push(&self, id: JobId, priority: Priority, is_ready: impl Fn(JobId) -> bool) {
        let mut lists = self.lists.lock();
        if lists.len() >= lists.sift_len {
            lists.frame.retain(|&id| is_ready(id));
            lists.background.retain(|&id| is_ready(id));
            lists.sift_len = SIFT_LEN_MIN.max(lists.len() * 2);
        }
        match priority {
            Priority::Frame => lists.frame.push_back(id),
            Priority::Background => lists.background.push_back(id),
        }
        // Relaxed: the caller has a fence behind it, a thread that goes to sleep one before it looks.
        self.count.store(lists.len(), Ordering::Relaxed);
    }

    /// Takes the next job.
    pub(crate) fn pop(&self) -> Option<JobId> {
        if self.is_empty() {
            return None;
        }
        let mut lists = self.lists.lock();
        let id = lists.take();
        let len = lists.len();
        if len == 0 && lists.frame.capacity() > BURST_LEN {
            lists.frame.shrink_to(2 * SIFT_LEN_MIN);
            lists.background.shrink_to(0);
            lists.sift_len = SIFT_LEN_MIN;
        }
        self.count.store(len, Ordering::Relaxed);
        id
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    /// Whether a job of the frame waits. Takes the lock, unless nothing waits at all.
    pub(crate) fn has_frame(&self) -> bool {
        !self.is_empty() && !self.lists.lock().frame.is_empty()
    }
}

/// A queue that had room for more than this gives it back when it is empty.
const BURST_LEN: usize = 1 << 14;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn id(index: u32) -> JobId {
        JobId::new(index, 1)
    }

    #[test]
    fn jobs_of_the_frame_go_first_and_one_in_eight_is_of_the_background() {
        let queue = JobQueue::new();
        for index in 0..20 {
            queue.push(id(index), Priority::Frame, |_| true);
            queue.push(id(100 + index), Priority::Background, |_| true);
        }
        let taken: Vec<u32> = (0..24).filter_map(|_| Some(queue.pop()?.index())).collect();
        let background: Vec<usize> = (0..24).filter(|&place| taken[place] >= 100).collect();
        assert_eq!(background, [7, 15, 22, 23], "and then only they are left");
        assert_eq!(taken[..3], [0, 1, 2]);
        assert_eq!(std::iter::from_fn(|| queue.pop()).count(), 16);
    }

    /// As where jobs are cancelled and no thread of the host ever comes by.
    #[test]
    fn ids_of_no_use_do_not_pile_up_where_no_thread_takes_them() {
        let queue = JobQueue::new();
        for index in 0..100_000 {
            queue.push(id(index), Priority::Frame, |_| false);
            assert!(queue.count.load(Ordering::Relaxed) <= SIFT_LEN_MIN);
        }
    }

    #[test]
    fn only_ids_that_are_of_no_use_are_thrown_out() {
        let queue = JobQueue::new();
        for index in 0..1_000 {
            queue.push(id(index), Priority::Frame, |id| id.index() % 2 == 1 || id.index() > 900);
        }
        let left: Vec<u32> = std::iter::from_fn(|| queue.pop()).map(JobId::index).collect();
        assert!(left.len() < 1_000, "some were thrown out");
        assert_eq!(left.iter().filter(|&&index| index % 2 == 1).count(), 500);
        assert!(queue.is_empty());
    }
}
