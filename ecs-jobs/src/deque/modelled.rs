//! Small models of the queues for loom: the real fences, none of the growth.
//!
//! The deque is the ring of Chase and Lev with the orderings of Lê et al. (2013),
//! which are crossbeam's as well: a release fence at push, sequentially
//! consistent fences in pop and steal. A queue behind a mutex would not do: its
//! lock adds the very order that the sleep protocol must bring by itself, and a
//! protocol without fences passes (docs/job-sleep.md, section 8).
#![expect(unsafe_code, reason = "queues hand items from thread to thread without a lock")]

use crate::sync::{Arc, AtomicUsize, Ordering, UnsafeCell, fence};

/// No model needs more; a longer ring only costs time. Indices count up from
/// `START`, so that the deque's `bottom - 1` never wraps.
const CAPACITY: usize = 4;
const START: usize = CAPACITY;

#[derive(Debug)]
struct Ring<T> {
    /// Where thieves take, moved on by compare-exchange.
    top: AtomicUsize,
    /// Where the owner pushes and pops.
    bottom: AtomicUsize,
    /// Invariant (model): an item is read by the one who won it, by moving
    /// `top` (thief, or owner at the last item) or by lowering `bottom` (owner).
    items: [UnsafeCell<Option<T>>; CAPACITY],
}

// SAFETY: an item is taken once, by whoever won it (the ring's invariant), so
// a shared ring only moves items between threads.
unsafe impl<T: Send> Sync for Ring<T> {}
// SAFETY: an item is taken once, by whoever won it (the ring's invariant), so a
// ring only moves items between threads.
unsafe impl<T: Send> Send for Ring<T> {}

impl<T> Ring<T> {
    fn take(&self, index: usize) -> Option<T> {
        self.items[index % CAPACITY].with_mut(|item| {
            // SAFETY: the caller won this item (the ring's invariant); loom
            // checks that no other access overlaps.
            unsafe { (*item).take() }
        })
    }

    fn put(&self, index: usize, value: T) {
        self.items[index % CAPACITY].with_mut(|item| {
            // SAFETY: the place lies outside `top..bottom`, so nobody reads it;
            // loom checks that no other access overlaps.
            unsafe { *item = Some(value) };
        });
    }
}

#[derive(Debug)]
pub(crate) struct Worker<T>(Arc<Ring<T>>);

impl<T> Worker<T> {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Ring {
            top: AtomicUsize::new(START),
            bottom: AtomicUsize::new(START),
            items: std::array::from_fn(|_| UnsafeCell::new(None)),
        }))
    }

    pub(crate) fn stealer(&self) -> Stealer<T> {
        Stealer(Arc::clone(&self.0))
    }

    pub(crate) fn push(&self, item: T) {
        let bottom = self.0.bottom.load(Ordering::Relaxed);
        let top = self.0.top.load(Ordering::Acquire);
        assert!(bottom - top < CAPACITY, "the model pushes more than its ring holds");
        self.0.put(bottom, item);
        fence(Ordering::Release);
        self.0.bottom.store(bottom + 1, Ordering::Relaxed);
    }

    pub(crate) fn pop(&self) -> Option<T> {
        let bottom = self.0.bottom.load(Ordering::Relaxed) - 1;
        self.0.bottom.store(bottom, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let top = self.0.top.load(Ordering::Relaxed);
        if top < bottom {
            return self.0.take(bottom);
        }
        let won = top == bottom && self.win(top);
        self.0.bottom.store(bottom + 1, Ordering::Relaxed);
        if won { self.0.take(bottom) } else { None }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn len(&self) -> usize {
        let bottom = self.0.bottom.load(Ordering::Relaxed);
        bottom.saturating_sub(self.0.top.load(Ordering::Relaxed))
    }

    fn win(&self, top: usize) -> bool {
        self.0.top.compare_exchange(top, top + 1, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }
}

#[derive(Debug)]
pub(crate) struct Stealer<T>(Arc<Ring<T>>);

impl<T> Stealer<T> {
    pub(crate) fn steal(&self) -> Option<T> {
        loop {
            let top = self.0.top.load(Ordering::Acquire);
            fence(Ordering::SeqCst);
            let bottom = self.0.bottom.load(Ordering::Acquire);
            if bottom <= top {
                return None;
            }
            // Unlike the original this wins first and reads second: loom's cells
            // know no speculative reads. The owner cannot reuse the place in
            // between, because no model pushes more than a ring's worth.
            let won =
                self.0.top.compare_exchange(top, top + 1, Ordering::SeqCst, Ordering::Relaxed);
            if won.is_ok() {
                return self.0.take(top);
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        let top = self.0.top.load(Ordering::Acquire);
        fence(Ordering::SeqCst);
        self.0.bottom.load(Ordering::Acquire) <= top
    }
}

/// A bounded queue with a stamp per place (Vyukov's), which orders exactly one
/// push before exactly one steal, as crossbeam's `Injector` does.
#[cfg(test)]
#[derive(Debug)]
pub(crate) struct Injector<T> {
    head: AtomicUsize,
    tail: AtomicUsize,
    /// 1 once the place of the same number has been written.
    written: [AtomicUsize; CAPACITY],
    ring: Ring<T>,
}

#[cfg(test)]
impl<T> Injector<T> {
    pub(crate) fn new() -> Self {
        Self {
            head: AtomicUsize::new(0),
            tail: AtomicUsize::new(0),
            written: std::array::from_fn(|_| AtomicUsize::new(0)),
            ring: Ring {
                top: AtomicUsize::new(0),
                bottom: AtomicUsize::new(0),
                items: std::array::from_fn(|_| UnsafeCell::new(None)),
            },
        }
    }

    pub(crate) fn push(&self, item: T) {
        let place = self.tail.fetch_add(1, Ordering::AcqRel);
        assert!(place < CAPACITY, "the model pushes more than its queue ever holds");
        self.ring.put(place, item);
        self.written[place].store(1, Ordering::Release);
    }

    pub(crate) fn steal(&self) -> Option<T> {
        loop {
            let head = self.head.load(Ordering::Acquire);
            if head >= self.tail.load(Ordering::Acquire) {
                return None;
            }
            let next = head + 1;
            if self.head.compare_exchange(head, next, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                while self.written[head].load(Ordering::Acquire) == 0 {
                    crate::sync::spin_loop();
                }
                return self.ring.take(head);
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        let head = self.head.load(Ordering::Acquire);
        head >= self.tail.load(Ordering::Acquire)
    }
}
