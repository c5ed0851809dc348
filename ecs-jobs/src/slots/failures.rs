//! What is kept of jobs that panicked, and of those that were cancelled for it.

use super::JobId;
use crate::panic_slot::{PanicSlot, Payload, discard};
use crate::sync::{Arc, AtomicUsize, Mutex, Ordering};
use std::collections::{HashMap, VecDeque};

/// How many failed jobs a pool remembers; then it forgets the oldest.
const REMEMBERED_MAX: usize = 1 << 16;

/// The jobs that failed, each with the panic that it failed for.
///
/// A slot is used again as soon as its job is done, failed or not, so this is
/// kept beside it. It costs nothing as long as nothing fails: one load.
#[derive(Debug)]
pub(crate) struct Failures {
    /// How many are remembered, readable without the lock.
    count: AtomicUsize,
    book: Mutex<Book>,
}

#[derive(Debug, Default)]
struct Book {
    panics: HashMap<u64, Arc<PanicSlot>>,
    oldest: VecDeque<u64>,
}

impl Failures {
    pub(crate) fn new() -> Self {
        Self { count: AtomicUsize::new(0), book: Mutex::new(Book::default()) }
    }

    /// Notes that `id` has panicked, before it ends.
    pub(crate) fn note_panic(&self, id: JobId, payload: Payload) {
        let panic = PanicSlot::new();
        panic.keep(payload);
        self.note(id, Arc::new(panic));
    }

    /// Notes that `id` was cancelled because `cause` has failed, before it ends.
    pub(crate) fn note_cancelled(&self, id: JobId, cause: Option<JobId>) {
        let panic = cause.and_then(|cause| self.panic_of(cause));
        self.note(id, panic.unwrap_or_else(|| Arc::new(PanicSlot::new())));
    }

    /// The panic that `id` failed for, if it did. The job has ended.
    pub(crate) fn panic_of(&self, id: JobId) -> Option<Arc<PanicSlot>> {
        // Relaxed: that the job has ended is known by an acquire load, and the
        // note was made before.
        if self.count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        self.book.lock().panics.get(&id.to_bits()).cloned()
    }

    /// Takes the oldest panic that nobody has got.
    pub(crate) fn take_any(&self) -> Option<Payload> {
        if self.count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let book = self.book.lock();
        book.oldest.iter().find_map(|id| book.panics.get(id)?.take())
    }

    fn note(&self, id: JobId, panic: Arc<PanicSlot>) {
        let mut book = self.book.lock();
        let mut forgotten = None;
        if book.oldest.len() == REMEMBERED_MAX {
            forgotten = book.oldest.pop_front().and_then(|id| book.panics.remove(&id));
        }
        book.panics.insert(id.to_bits(), panic);
        book.oldest.push_back(id.to_bits());
        self.count.store(book.oldest.len(), Ordering::Relaxed);
        drop(book);
        // A payload is the user's, and may panic when it is dropped.
        discard(forgotten);
    }
}

impl Drop for Failures {
    fn drop(&mut self) {
        // Payloads are the user's, see `note`.
        let panics = std::mem::take(&mut self.book.get_mut().panics);
        panics.into_values().for_each(discard);
    }
}
