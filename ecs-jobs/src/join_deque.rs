//! A deque of the second halves of joins, for one thread alone.

use crate::task_group::JobRef;
use std::cell::Cell;

/// The capacity of a deque. A power of two, so that indices wrap by a mask; in models so small that it is
/// sometimes full.
const CAPACITY: usize = if cfg!(loom) { 1 } else { 64 };

/// The index after that of a job in a [`JoinDeque`], which only grows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DequeIndex(usize);

/// A ring buffer of job references, oldest first, for one thread.
///
/// Joins push and pop here, a few nanoseconds apart, so it is minimal: it does not grow, and when it is
/// full, the oldest must be moved elsewhere.
pub(crate) struct JoinDeque {
    /// Boxed, since the deque moves with the queues of its thread.
    ring: Box<[Cell<Option<JobRef>>; CAPACITY]>,
    /// The index of the oldest, and of the next push, both modulo [`CAPACITY`].
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

    /// Takes the oldest.
    pub(crate) fn pop_oldest(&self) -> Option<JobRef> {
        if self.is_empty() {
            return None;
        }
        let first = self.oldest.get();
        self.oldest.set(first.wrapping_add(1));
        self.ring[first % CAPACITY].take()
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
        let oldest = deque.pop_oldest().expect("there are two");
        assert!(oldest.is_in(&head(0).group));
        assert!(deque.take_back(indices[1]));
        assert!(!deque.take_back(indices[0]) && deque.pop_oldest().is_none());
    }

    #[test]
    fn a_full_ring_wraps_around() {
        let deque = JoinDeque::new();
        for which in 0..CAPACITY + 10 {
            if deque.is_full() {
                let oldest = deque.pop_oldest().expect("it is full");
                assert!(oldest.is_in(&head(which - CAPACITY).group));
            }
            deque.push(job(which));
        }
        assert_eq!(deque.len(), CAPACITY);
    }
}
