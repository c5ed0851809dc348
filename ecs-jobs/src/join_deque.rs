//! A deque of the second halves of joins, for one thread alone.

use crate::task_group::JobRef;
use std::cell::Cell;

/// The capacity of a deque. A power of two, so that indices wrap by a mask; in models so small that it is
/// sometimes full.
const CAPACITY: usize = if cfg!(loom) { 1 } else { 64 };

/// The index after that of a job in a [`JoinDeque`]: the number of joins that the job is inside of, itself
/// included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DequeIndex(usize);

/// A ring buffer of job references, oldest first, for one thread.
///
/// Joins push and pop here, a few nanoseconds apart, so it is minimal: it does not grow, and when it is
/// full, the oldest must be moved elsewhere.
pub(crate) struct JoinDeque {
    /// Boxed, since the deque moves with the queues of its thread.
    ring: Box<[Cell<Option<JobRef>>; CAPACITY]>,
    /// The index of the oldest, and of the next push: the number of joins that this thread is inside of.
    oldest: Cell<usize>,
    end: Cell<usize>,
}

debug_fields!([] JoinDeque:; len = |it| it.len());

impl JoinDeque {
    pub(crate) fn new() -> Self {
        Self {
            ring: Box::new([const { Cell::new(None) }; CAPACITY]),
            oldest: Cell::new(0),
            end: Cell::new(0),
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.end.get().wrapping_sub(self.oldest.get())
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.end.get() == self.oldest.get()
    }

    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.len() == CAPACITY
    }

    /// Pushes a job, and returns its index for [`take_back`](Self::take_back). The deque must not be
    /// full.
    #[inline]
    pub(crate) fn push(&self, job: JobRef) -> DequeIndex {
        debug_assert!(!self.is_full(), "the caller makes room");
        let index = self.end.get();
        self.ring[index % CAPACITY].set(Some(job));
        let end = index.wrapping_add(1);
        self.end.set(end);
        DequeIndex(end)
    }

    /// Takes back the newest job, which is before `end`; returns false if it is no longer here.
    ///
    /// This does not read the ring: reading a value just written would stall the processor. Values left
    /// in the ring are never read again.
    #[inline]
    pub(crate) fn take_back(&self, DequeIndex(end): DequeIndex) -> bool {
        if self.is_empty() {
            return false;
        }
        assert!(self.end.get() == end, "joins end in order");
        self.end.set(end.wrapping_sub(1));
        true
    }

    /// Takes the oldest, and returns it with the number of joins around it.
    pub(crate) fn pop_oldest(&self) -> Option<(usize, JobRef)> {
        if self.is_empty() {
            return None;
        }
        let first = self.oldest.get();
        self.oldest.set(first.wrapping_add(1));
        self.ring[first % CAPACITY].take().map(|job| (first, job))
    }

    /// Notes that the join with this index, whose job is no longer here, ends. The deque is empty.
    pub(crate) fn leave(&self, DequeIndex(end): DequeIndex) {
        self.set_depth(end.wrapping_sub(1));
    }

    /// Runs `job`, which is inside of `depth` joins, of other threads perhaps.
    pub(crate) fn at_depth(&self, depth: usize, job: impl FnOnce()) {
        let outer = self.end.get();
        self.set_depth(depth);
        job();
        self.set_depth(outer);
    }

    fn set_depth(&self, depth: usize) {
        if self.is_empty() {
            self.oldest.set(depth);
            self.end.set(depth);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::sync::OnceLock;
    use crate::task_group::{JobHead, TaskGroup};

    fn head(which: usize) -> &'static JobHead {
        static HEADS: OnceLock<Vec<JobHead>> = OnceLock::new();
        let new = |_| JobHead { group: TaskGroup::new(0), run: |_| () };
        &HEADS.get_or_init(|| (0..CAPACITY + 10).map(new).collect())[which]
    }

    fn job(which: usize) -> JobRef {
        JobRef::of_nothing(head(which))
    }

    #[test]
    fn the_newest_is_taken_back_and_the_oldest_goes_first() {
        let deque = JoinDeque::new();
        let indices = [0, 1, 2].map(|which| deque.push(job(which)));
        assert!(deque.take_back(indices[2]));
        let (_, oldest) = deque.pop_oldest().expect("there are two");
        assert!(oldest.is_in(&head(0).group));
        assert!(deque.take_back(indices[1]));
        assert!(!deque.take_back(indices[0]) && deque.pop_oldest().is_none());
    }

    #[test]
    fn a_full_ring_wraps_around() {
        let deque = JoinDeque::new();
        for which in 0..CAPACITY + 10 {
            if deque.is_full() {
                let (_, oldest) = deque.pop_oldest().expect("it is full");
                assert!(oldest.is_in(&head(which - CAPACITY).group));
            }
            deque.push(job(which));
        }
        assert_eq!(deque.len(), CAPACITY);
    }
}
