//! The queues under shuttle: behind a lock each.
//!
//! Only there. A lock brings the order that the sleep protocol must bring by
//! itself, so this would hide a missing fence from loom; shuttle sees no fences
//! in the first place. Every use of a lock is a place where shuttle may switch,
//! just as it would in the atomics of the real deque.

use crate::sync::{Arc, Mutex};
use std::collections::VecDeque;

#[derive(Debug)]
struct Queue<T>(Mutex<VecDeque<T>>);

impl<T> Queue<T> {
    fn new() -> Self {
        Self(Mutex::new(VecDeque::new()))
    }

    fn push(&self, item: T) {
        self.0.lock().push_back(item);
    }

    fn take_oldest(&self) -> Option<T> {
        self.0.lock().pop_front()
    }

    fn take_newest(&self) -> Option<T> {
        self.0.lock().pop_back()
    }

    fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }
}

#[derive(Debug)]
pub(crate) struct Worker<T>(Arc<Queue<T>>);

impl<T> Worker<T> {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Queue::new()))
    }

    pub(crate) fn stealer(&self) -> Stealer<T> {
        Stealer(Arc::clone(&self.0))
    }

    pub(crate) fn push(&self, item: T) {
        self.0.push(item);
    }

    pub(crate) fn pop(&self) -> Option<T> {
        self.0.take_newest()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.0.lock().len()
    }
}

#[derive(Debug)]
pub(crate) struct Stealer<T>(Arc<Queue<T>>);

impl<T> Stealer<T> {
    pub(crate) fn steal(&self) -> Option<T> {
        self.0.take_oldest()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
