//! A queue behind a lock, with its length beside it: all work waits in these.

use crate::sync::{AtomicUsize, Mutex, Ordering, thread_local};
use crossbeam_utils::CachePadded;
use std::cell::Cell;
use std::collections::VecDeque;

thread_local! {
    /// How often this thread has found the lock of a queue taken when it came for work.
    static CROWDED_COUNT: Cell<u32> = const { Cell::new(0) };
}

/// How often this thread has found the lock of a queue taken when it came for work, modulo 2^32.
pub(crate) fn crowded_count() -> u32 {
    CROWDED_COUNT.with(Cell::get)
}

/// A queue for all threads at both ends.
///
/// Unlike a queue without a lock it allocates no block for every so many items, can be searched,
/// and a lock that no other thread wants costs no more than its compare-exchange.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    /// `list.len()`, readable without the lock.
    count: CachePadded<AtomicUsize>,
    list: Mutex<VecDeque<T>>,
}

impl<T> Queue<T> {
    /// An empty queue that allocates no more as long as no more than `list` has room for wait in it.
    pub(crate) fn new(list: VecDeque<T>) -> Self {
        debug_assert!(list.is_empty(), "a queue begins empty");
        Self { count: CachePadded::new(AtomicUsize::new(0)), list: Mutex::new(list) }
    }

    /// Lets `change` at the list.
    pub(crate) fn with<R>(&self, change: impl FnOnce(&mut VecDeque<T>) -> R) -> R {
        self.change(&mut self.list.lock(), change)
    }

    /// The same for a thread that takes work, which counts how often another one holds the lock.
    pub(crate) fn take_with<R>(&self, take: impl FnOnce(&mut VecDeque<T>) -> R) -> R {
        let mut list = self.list.try_lock().unwrap_or_else(|| {
            CROWDED_COUNT.with(|count| count.set(count.get().wrapping_add(1)));
            self.list.lock()
        });
        self.change(&mut list, take)
    }

    /// All changes of the count are made here.
    fn change<R>(&self, list: &mut VecDeque<T>, change: impl FnOnce(&mut VecDeque<T>) -> R) -> R {
        let result = change(list);
        // Relaxed: a thread that goes to sleep has a fence before it looks at the count, and one
        // that pushes has one behind it.
        self.count.store(list.len(), Ordering::Relaxed);
        result
    }

    pub(crate) fn push(&self, item: T) {
        self.with(|list| list.push_back(item));
    }

    /// Adds several, the oldest first, and returns whether there were none before.
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

    /// What `find` makes of the first item that it wants, while that stays where it is.
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

    /// What the queue lay in, and what is left in it.
    pub(crate) fn take_list(&mut self) -> VecDeque<T> {
        self.count.store(0, Ordering::Relaxed);
        std::mem::take(self.list.get_mut())
    }
}
