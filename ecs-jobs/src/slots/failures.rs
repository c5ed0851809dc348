//! Failed jobs: those that panicked, and those that were cancelled for it.

use super::JobId;
use crate::panic_slot::{PanicSlot, Payload, discard};
use crate::sync::{Arc, AtomicUsize, Mutex, Ordering};
use std::collections::{HashMap, VecDeque};

/// How many failed jobs a pool remembers by name. Of older ones it knows the last in each slot.
const REMEMBERED_MAX: usize = 1 << 16;
/// How many payloads wait for a caller that takes them. The oldest ones are dropped.
const PAYLOADS_MAX: usize = 1 << 10;

/// The jobs that failed, each with the panic that it failed for.
///
/// A slot is used again as soon as its job is done, failed or not, so this is kept beside it. It
/// costs nothing as long as nothing fails: one load.
#[derive(Debug)]
pub(crate) struct Failures {
    /// How many are remembered, readable without the lock.
    count: AtomicUsize,
    book: Mutex<Book>,
}

#[derive(Debug, Default)]
struct Book {
    panics: HashMap<u64, Arc<PanicSlot>>,
    oldest: VecDeque<JobId>,
    /// For each slot the generation of the last job whose failure is not remembered by name any more.
    forgotten: HashMap<u32, u32>,
    /// The panics whose payloads may not have been taken, the oldest first.
    untaken: VecDeque<Arc<PanicSlot>>,
}

impl Failures {
    pub(super) fn new() -> Self {
        Self { count: AtomicUsize::new(0), book: Mutex::new(Book::default()) }
    }

    /// Notes that `id` has panicked, before it ends.
    pub(crate) fn note_panic(&self, id: JobId, payload: Payload) {
        let panic = PanicSlot::new();
        panic.keep(payload);
        let panic = Arc::new(panic);
        let mut book = self.book.lock();
        book.untaken.push_back(Arc::clone(&panic));
        let dropped =
            if book.untaken.len() > PAYLOADS_MAX { book.untaken.pop_front() } else { None };
        self.note(&mut book, id, panic);
        drop(book);
        // A payload is the user's, and may panic when it is dropped.
        discard(dropped.and_then(|panic| panic.take()));
    }

    /// Notes that `id` was cancelled because `cause` has failed, before it ends.
    pub(super) fn note_cancelled(&self, id: JobId, cause: JobId) {
        let mut book = self.book.lock();
        let panic = book.panics.get(&cause.to_bits()).cloned();
        let panic = panic.unwrap_or_else(|| Arc::new(PanicSlot::new()));
        self.note(&mut book, id, panic);
    }

    fn note(&self, book: &mut Book, id: JobId, panic: Arc<PanicSlot>) {
        if book.oldest.len() == REMEMBERED_MAX {
            if let Some(oldest) = book.oldest.pop_front() {
                book.forget(oldest);
            }
        }
        book.panics.insert(id.to_bits(), panic);
        book.oldest.push_back(id);
        self.count.store(book.oldest.len(), Ordering::Relaxed);
    }

    /// Whether no job has failed.
    #[inline]
    fn are_none(&self) -> bool {
        // Relaxed: who asks about a job knows by an acquire load that it has ended, and the note was
        // made before.
        self.count.load(Ordering::Relaxed) == 0
    }

    /// The panic that `id`, which has ended, failed for, if it did. If that is remembered no more,
    /// or a later job of its slot is not, there is no payload. So is any job taken for a failed one that
    /// had the same slot before.
    #[inline]
    pub(crate) fn panic_of(&self, id: JobId) -> Option<Arc<PanicSlot>> {
        if self.are_none() { None } else { self.look_up(id) }
    }

    fn look_up(&self, id: JobId) -> Option<Arc<PanicSlot>> {
        let book = self.book.lock();
        let panic = book.panics.get(&id.to_bits()).cloned();
        let is_forgotten =
            || book.forgotten.get(&id.index()).is_some_and(|&last| last >= id.generation());
        panic.or_else(|| is_forgotten().then(|| Arc::new(PanicSlot::new())))
    }

    #[cfg(all(test, not(loom)))]
    pub(super) fn forget(&self, id: JobId) {
        self.book.lock().forget(id);
    }

    /// Takes the oldest payload that has not been taken.
    pub(crate) fn take_any(&self) -> Option<Payload> {
        if self.are_none() {
            return None;
        }
        let mut book = self.book.lock();
        std::iter::from_fn(|| book.untaken.pop_front()).find_map(|panic| panic.take())
    }
}

impl Book {
    /// Remembers of a failed job no more than that it was one.
    fn forget(&mut self, id: JobId) {
        self.panics.remove(&id.to_bits());
        let last = self.forgotten.entry(id.index()).or_default();
        *last = id.generation().max(*last);
    }
}

impl Drop for Failures {
    fn drop(&mut self) {
        let book = std::mem::take(self.book.get_mut());
        // Payloads are the user's, see `note_panic`.
        book.untaken.into_iter().filter_map(|panic| panic.take()).for_each(discard);
        book.panics.into_values().filter_map(|panic| panic.take()).for_each(discard);
    }
}
