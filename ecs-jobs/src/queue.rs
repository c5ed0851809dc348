//! A queue behind a lock, with its length beside it. All queued work lies in such queues.

use crate::sync::{AtomicUsize, Mutex, Ordering, thread_local};
use crossbeam_utils::CachePadded;
use std::cell::Cell;
use std::collections::VecDeque;

thread_local! {
    /// The number of times that this thread found the lock of a queue taken when it came for work.
    static CONTENTION_COUNT: Cell<u32> = const { Cell::new(0) };
}

/// The number of times that this thread found the lock of a queue taken when it came for work, modulo
/// 2^32.
pub(crate) fn contention_count() -> u32 {
    CONTENTION_COUNT.with(Cell::get)
}

/// A queue that all threads use at both ends.
///
/// Unlike a lock-free queue it allocates no blocks, can be searched, and an uncontended lock costs only
/// its compare-exchange.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    /// `list.len()`, readable without the lock.
    count: CachePadded<AtomicUsize>,
    list: Mutex<VecDeque<T>>,
}

impl<T> Queue<T> {
    /// Creates an empty queue that does not allocate while it holds no more items than `list` has room
    /// for.
    pub(crate) fn new(list: VecDeque<T>) -> Self {
        debug_assert!(list.is_empty(), "a queue begins empty");
        Self { count: CachePadded::new(AtomicUsize::new(0)), list: Mutex::new(list) }
    }

    /// Calls `change` with the list.
    pub(crate) fn with<R>(&self, change: impl FnOnce(&mut VecDeque<T>) -> R) -> R {
        self.change(&mut self.list.lock(), change)
    }

    /// Like `with`, for a thread that takes work: it counts how often another thread holds the lock.
    pub(crate) fn take_with<R>(&self, take: impl FnOnce(&mut VecDeque<T>) -> R) -> R {
        let mut list = self.list.try_lock().unwrap_or_else(|| {
            CONTENTION_COUNT.with(|count| count.set(count.get().wrapping_add(1)));
            self.list.lock()
        });
        self.change(&mut list, take)
    }

    /// The only place where the count changes.
    fn change<R>(&self, list: &mut VecDeque<T>, change: impl FnOnce(&mut VecDeque<T>) -> R) -> R {
        let result = change(list);
        // Relaxed: a thread that goes to sleep executes a fence before it reads the count, and a thread
        // that pushes executes one afterwards.
        self.count.store(list.len(), Ordering::Relaxed);
        result
    }

    pub(crate) fn push(&self, item: T) {
        self.with(|list| list.push_back(item));
    }

    /// Adds several items, oldest first, and returns whether the queue was empty before.
    pub(crate) fn extend(&self, items: impl Iterator<Item = T>) -> bool {
        self.with(|list| {
            let were_none = list.is_empty();
            list.extend(items);
            were_none
        })
    }

    /// Takes the oldest item.
    pub(crate) fn pop(&self) -> Option<T> {
        if self.is_empty() { None } else { self.take_with(VecDeque::pop_front) }
    }

    /// Takes the newest item, if it `is_wanted`.
    pub(crate) fn pop_newest(&self, is_wanted: impl FnOnce(&T) -> bool) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        self.with(|list| if list.back().is_some_and(is_wanted) { list.pop_back() } else { None })
    }

    /// Takes the oldest item that `is_wanted`.
    pub(crate) fn take_where(&self, is_wanted: impl FnMut(&T) -> bool) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        self.with(|list| list.iter().position(is_wanted).and_then(|place| list.remove(place)))
    }

    /// The result of `find` for the first item for which it returns one; the item stays in the queue.
    pub(crate) fn find_map<R>(&self, find: impl FnMut(&T) -> Option<R>) -> Option<R> {
        if self.is_empty() { None } else { self.list.lock().iter().find_map(find) }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// The list of the queue, with the items left in it.
    pub(crate) fn take_list(&mut self) -> VecDeque<T> {
        self.count.store(0, Ordering::Relaxed);
        std::mem::take(self.list.get_mut())
    }
}
