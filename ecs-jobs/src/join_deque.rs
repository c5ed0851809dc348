//! A deque of the second halves of joins, for one thread alone.

use crate::task_group::JobRef;
use std::cell::Cell;

/// The capacity of a deque. A power of two, so that indices wrap by a mask; in models so small that it is
/// sometimes full.
const CAPACITY: usize = if cfg!(loom) { 1 } else { 64 };

/// The index of a job in a [`JoinDeque`], which only grows.
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
        let end = self.end.get();
        self.ring[end % CAPACITY].set(Some(job));
        self.end.set(end.wrapping_add(1));
        DequeIndex(end)
    }

    /// Takes back the newest job, which has this `index`; returns false if it is no longer here.
    ///
    /// This does not read the ring: reading a value just written would stall the processor. Values left
    /// in the ring are never read again.
    #[inline]
    pub(crate) fn take_back(&self, index: DequeIndex) -> bool {
        if self.is_empty() {
            return false;
        }
        assert!(self.end.get() == index.0.wrapping_add(1), "joins end in order");
        self.end.set(index.0);
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
    use crate::task_group::TaskGroup;
    use std::ptr::NonNull;

    /// A reference to a job that is identified by its address.
    fn job(bytes: &[u8], which: usize) -> JobRef {
        fn nothing(_: NonNull<()>) {}
        static GROUP: OnceLock<TaskGroup> = OnceLock::new();
        let group = GROUP.get_or_init(|| TaskGroup::new(0));
        JobRef::of_nothing(NonNull::from(&bytes[which]).cast(), group, nothing)
    }

    #[test]
    fn the_newest_is_taken_back_and_the_oldest_goes_first() {
        let lie_here = [0; 4];
        let deque = JoinDeque::new();
        let indices = [0, 1, 2].map(|which| deque.push(job(&lie_here, which)));
        assert!(deque.take_back(indices[2]));
        let oldest = deque.pop_oldest().expect("there are two");
        assert!(oldest.is_for(NonNull::from(&lie_here[0]).cast()));
        assert!(deque.take_back(indices[1]));
        assert!(!deque.take_back(indices[0]) && deque.pop_oldest().is_none());
    }

    #[test]
    fn a_full_ring_wraps_around() {
        let lie_here = [0; CAPACITY + 10];
        let deque = JoinDeque::new();
        for which in 0..CAPACITY + 10 {
            if deque.is_full() {
                let oldest = deque.pop_oldest().expect("it is full");
                assert!(oldest.is_for(NonNull::from(&lie_here[which - CAPACITY]).cast()));
            }
            deque.push(job(&lie_here, which));
        }
        assert_eq!(deque.len(), CAPACITY);
    }
}
