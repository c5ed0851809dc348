//! The queue of ready jobs with handles.

use crate::queue::Queue;
use crate::slots::JobId;
use crate::sync::{AtomicU32, Ordering, is_kept};
use std::collections::VecDeque;

/// One of this many jobs taken is a background job, if any is queued.
const BACKGROUND_TURN: u32 = if cfg!(loom) { 2 } else { 8 };
/// The minimum number of ids that a list makes room for when it is full.
const LEN_MIN: usize = 128;
/// A list with more room than this is freed when it becomes empty.
const BURST_LEN: usize = 1 << 14;

/// Ids of ready jobs, in the order in which they became ready.
///
/// An id is a hint: a thread that waits for a job may claim it without removing its id here. A thread
/// that takes an id tries to claim the job, and ignores the id if that fails.
#[derive(Debug)]
pub(crate) struct JobQueue {
    frame: Queue<JobId>,
    background: Queue<JobId>,
    /// The number of frame jobs taken while background jobs waited. A hint.
    taken: AtomicU32,
}

impl JobQueue {
    pub(crate) fn new() -> Self {
        let queue = || Queue::new(VecDeque::with_capacity(LEN_MIN));
        Self { frame: queue(), background: queue(), taken: AtomicU32::new(0) }
    }

    /// Adds a job. The caller tells the sleepers.
    ///
    /// If all jobs are run by threads that wait for them, stale ids would pile up. So a full list first
    /// removes the ids that are no longer `ready`, and then makes room for more.
    pub(crate) fn push(&self, id: JobId, is_background: bool, is_ready: impl Fn(JobId) -> bool) {
        let queue = if is_background { &self.background } else { &self.frame };
        queue.with(|list| {
            if list.len() == list.capacity() {
                list.retain(|&id| is_ready(id));
                list.reserve(LEN_MIN.max(list.len()));
            }
            list.push_back(id);
        });
    }

    /// Takes the next job.
    pub(crate) fn pop(&self) -> Option<JobId> {
        self.take_by(take)
    }

    /// Takes the next job that `is_wanted`.
    pub(crate) fn pop_where(&self, is_wanted: impl Fn(&JobId) -> bool) -> Option<JobId> {
        self.take_by(|queue| queue.take_where(&is_wanted))
    }

    /// Calls `take` on one of the two queues, and on the other if that returns none.
    fn take_by(&self, take: impl Fn(&Queue<JobId>) -> Option<JobId>) -> Option<JobId> {
        let waits = !self.background.is_empty();
        let is_turn = self.taken.load(Ordering::Relaxed) + 1 >= BACKGROUND_TURN;
        if waits && (is_turn && is_kept("background_turn") || !self.has_frame()) {
            // Relaxed: with several threads, a turn may come to two of them, or some jobs later.
            if is_kept("background_share") {
                self.taken.store(0, Ordering::Relaxed);
            }
            return take(&self.background).or_else(|| take(&self.frame));
        }
        if waits {
            self.taken.fetch_add(1, Ordering::Relaxed);
        }
        take(&self.frame).or_else(|| take(&self.background))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn len(&self) -> usize {
        self.frame.len() + self.background.len()
    }

    /// Whether a frame job waits.
    pub(crate) fn has_frame(&self) -> bool {
        !self.frame.is_empty()
    }
}

/// Takes the oldest id. If that empties the queue after a burst, the memory is freed.
fn take(queue: &Queue<JobId>) -> Option<JobId> {
    if queue.is_empty() {
        return None;
    }
    queue.take_with(|list| {
        let id = list.pop_front();
        if list.is_empty() && list.capacity() > BURST_LEN {
            list.shrink_to(LEN_MIN);
        }
        id
    })
}

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
            queue.push(id(index), false, |_| true);
            queue.push(id(100 + index), true, |_| true);
        }
        let taken: Vec<u32> = (0..24).filter_map(|_| Some(queue.pop()?.index())).collect();
        let background: Vec<usize> = (0..24).filter(|&place| taken[place] >= 100).collect();
        assert_eq!(background, [7, 15, 22, 23], "and then only they are left");
        assert_eq!(taken[..3], [0, 1, 2]);
        assert_eq!(std::iter::from_fn(|| queue.pop()).count(), 16);
    }

    /// The situation in which jobs are cancelled and no thread of the host ever takes one.
    #[test]
    fn ids_of_no_use_do_not_pile_up_where_no_thread_takes_them() {
        let queue = JobQueue::new();
        for index in 0..if cfg!(miri) { 1_000 } else { 100_000 } {
            queue.push(id(index), false, |_| false);
            assert!(queue.frame.len() <= LEN_MIN);
        }
    }

    #[test]
    fn only_ids_that_are_of_no_use_are_thrown_out() {
        let queue = JobQueue::new();
        for index in 0..1_000 {
            queue.push(id(index), false, |id| id.index() % 2 == 1 || id.index() > 900);
        }
        let left: Vec<u32> = std::iter::from_fn(|| queue.pop()).map(JobId::index).collect();
        assert!(left.len() < 1_000, "some were thrown out");
        assert_eq!(left.iter().filter(|&&index| index % 2 == 1).count(), 500);
        assert!(queue.is_empty());
    }
}
