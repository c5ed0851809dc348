//! Failed jobs: those that panicked, and those cancelled because of them.

use super::JobId;
use crate::panic_slot::{PanicSlot, Payload, discard};
use crate::sync::{Arc, AtomicUsize, Mutex, Ordering};
use std::collections::{HashMap, VecDeque};

/// The number of failed jobs that a pool remembers by id. Of older ones it keeps the last generation per
/// slot.
const REMEMBERED_MAX: usize = 1 << 16;
/// The number of payloads kept for a caller to take. The oldest ones are dropped.
const PAYLOADS_MAX: usize = 1 << 10;

/// The failed jobs, each with the panic that made it fail.
///
/// A slot is reused as soon as its job is done, failed or not, so failures are kept outside it. As long
/// as no job fails, this costs one load.
#[derive(Debug)]
pub(crate) struct Failures {
    /// The number of remembered failures, readable without the lock.
    count: AtomicUsize,
    log: Mutex<FailureLog>,
}

#[derive(Debug, Default)]
struct FailureLog {
    panics: HashMap<u64, Arc<PanicSlot>>,
    oldest: VecDeque<JobId>,
    /// For each slot, the generation of the last failed job that is no longer remembered by id.
    forgotten: HashMap<u32, u32>,
    /// The panics whose payloads may not have been taken, oldest first.
    untaken: VecDeque<Arc<PanicSlot>>,
}

impl Failures {
    pub(super) fn new() -> Self {
        Self { count: AtomicUsize::new(0), log: Mutex::new(FailureLog::default()) }
    }

    /// Records that `id` has panicked, before it ends.
    pub(crate) fn note_panic(&self, id: JobId, payload: Payload) {
        let panic = PanicSlot::new();
        panic.keep(payload);
        let panic = Arc::new(panic);
        let mut log = self.log.lock();
        log.untaken.push_back(Arc::clone(&panic));
        let dropped = if log.untaken.len() > PAYLOADS_MAX { log.untaken.pop_front() } else { None };
        self.note(&mut log, id, panic);
        drop(log);
        // A payload is a value of the user, and its drop may panic.
        discard(dropped.and_then(|panic| panic.take()));
    }

    /// Records that `id` was cancelled because `cause` has failed, before it ends.
    pub(super) fn note_cancelled(&self, id: JobId, cause: JobId) {
        let mut log = self.log.lock();
        let panic = log.panics.get(&cause.to_bits()).cloned();
        let panic = panic.unwrap_or_else(|| Arc::new(PanicSlot::new()));
        self.note(&mut log, id, panic);
    }

    fn note(&self, log: &mut FailureLog, id: JobId, panic: Arc<PanicSlot>) {
        if log.oldest.len() == REMEMBERED_MAX {
            if let Some(oldest) = log.oldest.pop_front() {
                log.forget(oldest);
            }
        }
        log.panics.insert(id.to_bits(), panic);
        log.oldest.push_back(id);
        self.count.store(log.oldest.len(), Ordering::Relaxed);
    }

    /// Whether no job has failed.
    #[inline]
    fn are_none(&self) -> bool {
        // Relaxed: a caller that asks about a job knows by an acquire load that it has ended, and the
        // failure was recorded before that.
        self.count.load(Ordering::Relaxed) == 0
    }

    /// The panic that made `id`, which has ended, fail, if it did fail. If that failure, or the failure
    /// of a later job of its slot, is no longer remembered by id, there is no payload. Any earlier job of
    /// the same slot counts as failed, too.
    #[inline]
    pub(crate) fn panic_of(&self, id: JobId) -> Option<Arc<PanicSlot>> {
        if self.are_none() { None } else { self.look_up(id) }
    }

    fn look_up(&self, id: JobId) -> Option<Arc<PanicSlot>> {
        let log = self.log.lock();
        let panic = log.panics.get(&id.to_bits()).cloned();
        let is_forgotten =
            || log.forgotten.get(&id.index()).is_some_and(|&last| last >= id.generation());
        panic.or_else(|| is_forgotten().then(|| Arc::new(PanicSlot::new())))
    }

    #[cfg(all(test, not(loom)))]
    pub(super) fn forget(&self, id: JobId) {
        self.log.lock().forget(id);
    }

    /// Takes the oldest payload that has not been taken.
    pub(crate) fn take_any(&self) -> Option<Payload> {
        if self.are_none() {
            return None;
        }
        let mut log = self.log.lock();
        std::iter::from_fn(|| log.untaken.pop_front()).find_map(|panic| panic.take())
    }
}

impl FailureLog {
    /// Forgets everything about a failed job but the fact that it failed.
    fn forget(&mut self, id: JobId) {
        self.panics.remove(&id.to_bits());
        let last = self.forgotten.entry(id.index()).or_default();
        *last = id.generation().max(*last);
    }
}

impl Drop for Failures {
    fn drop(&mut self) {
        let untaken = std::mem::take(&mut self.log.get_mut().untaken);
        // Payloads are values of the user, see `note_panic`.
        untaken.into_iter().filter_map(|panic| panic.take()).for_each(discard);
    }
}
