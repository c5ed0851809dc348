//! A queue behind a lock, for what is pushed and taken in one go.

use crate::sync::{AtomicUsize, Mutex, Ordering};
use crossbeam_utils::CachePadded;
use std::collections::VecDeque;

/// First in, first out, for all threads at both ends.
///
/// Unlike a queue without a lock it allocates no block for every so many items, and a lock that
/// nobody else wants costs no more than its compare-exchange.
#[derive(Debug)]
pub(crate) struct LockedQueue<T> {
    /// `list.len()`, readable without the lock.
    count: CachePadded<AtomicUsize>,
    list: Mutex<VecDeque<T>>,
}

impl<T> LockedQueue<T> {
    /// An empty queue that allocates no more as long as no more than `list` has room for wait in it.
    pub(crate) fn new(list: VecDeque<T>) -> Self {
        debug_assert!(list.is_empty(), "a queue begins empty");
        Self { count: CachePadded::new(AtomicUsize::new(0)), list: Mutex::new(list) }
    }

    pub(crate) fn push(&self, item: T) {
        let mut list = self.list.lock();
        list.push_back(item);
        self.count.store(list.len(), Ordering::Relaxed);
    }

    /// Takes the oldest item.
    pub(crate) fn pop(&self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let mut list = self.list.lock();
        let item = list.pop_front();
        self.count.store(list.len(), Ordering::Relaxed);
        item
    }

    pub(crate) fn is_empty(&self) -> bool {
        // Relaxed: a thread that goes to sleep has a fence before it looks, and whoever pushes
        // looks again itself.
        self.count.load(Ordering::Relaxed) == 0
    }

    /// What the queue lay in, and what is left in it.
    pub(crate) fn take_list(&mut self) -> VecDeque<T> {
        self.count.store(0, Ordering::Relaxed);
        std::mem::take(self.list.get_mut())
    }
}
