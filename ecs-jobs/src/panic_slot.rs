//! Panics of jobs: caught where they occur, resumed where the job is awaited.

use crate::sync::{AtomicBool, Mutex, Ordering};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// The payload of a panic.
pub(crate) type Payload = Box<dyn Any + Send>;

/// Keeps the first panic among the jobs of a group, which cancels the others.
pub(crate) struct PanicSlot {
    has_kept: AtomicBool,
    first: Mutex<Option<Payload>>,
}

impl PanicSlot {
    pub(crate) fn new() -> Self {
        Self { has_kept: AtomicBool::new(false), first: Mutex::new(None) }
    }

    /// Runs a job, and keeps its panic.
    pub(crate) fn run<R>(&self, job: impl FnOnce() -> R) -> Option<R> {
        catch(job).map_err(|payload| self.keep(payload)).ok()
    }

    /// Whether jobs that have not started must not start any more.
    pub(crate) fn has_kept(&self) -> bool {
        // Relaxed: a job that misses the flag runs, as it might have anyway.
        self.has_kept.load(Ordering::Relaxed)
    }

    /// Keeps `payload` if it is the first.
    pub(crate) fn keep(&self, payload: Payload) {
        self.has_kept.store(true, Ordering::Relaxed);
        let mut first = self.first.lock();
        if first.is_none() {
            *first = Some(payload);
            return;
        }
        drop(first);
        discard(payload);
    }

    /// Takes the kept panic, so that it is resumed only once.
    pub(crate) fn take(&self) -> Option<Payload> {
        self.first.lock().take()
    }

    /// Resumes the kept panic. Values of the caller that unwinding would drop must be
    /// [discarded](discard) before.
    pub(crate) fn resume_if_any(&self) {
        if let Some(payload) = self.take() {
            resume_unwind(payload);
        }
    }
}

debug_fields!([] PanicSlot:);

/// Drops a value that no caller will get because of another panic: a payload, a result, a job that has
/// not started.
///
/// The drop may itself panic, which would abort the process while another panic is under way. So may the
/// drop of the resulting payload, and so on: after a few rounds the last payload is leaked.
pub(crate) fn discard<T>(value: T) {
    const CHASED_MAX: usize = 8;
    let Err(mut payload) = catch(|| drop(value)) else { return };
    for _ in 0..CHASED_MAX {
        match catch(|| drop(payload)) {
            Ok(()) => return,
            Err(next) => payload = next,
        }
    }
    std::mem::forget(payload);
}

/// Runs `job` and catches its panic. The pool does not use state that a panicking job may have left
/// inconsistent, and resumes the panic, so unwind safety is up to the waiting caller.
#[inline]
pub(crate) fn catch<R>(job: impl FnOnce() -> R) -> Result<R, Payload> {
    catch_unwind(AssertUnwindSafe(job))
}

/// Runs `steps`, and aborts the process if they unwind.
///
/// It guards code whose unwinding would free a stack frame that other threads still use. That code does
/// not panic; if a bug makes it do so, the result is an abort.
#[inline(always)]
pub(crate) fn never_unwinding<R>(steps: impl FnOnce() -> R) -> R {
    let unwinding = AbortOnDrop;
    let result = steps();
    std::mem::forget(unwinding);
    result
}

/// Aborts the process when it is dropped: when the guarded steps unwind, before it is forgotten.
pub(crate) struct AbortOnDrop;

impl Drop for AbortOnDrop {
    #[cold]
    #[inline(never)]
    fn drop(&mut self) {
        std::process::abort();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    struct PanicsWhenDropped;

    impl Drop for PanicsWhenDropped {
        fn drop(&mut self) {
            std::panic::panic_any("dropped");
        }
    }

    #[test]
    fn the_first_payload_is_kept_and_taken_once() {
        let slot = PanicSlot::new();
        slot.keep(Box::new(1));
        slot.keep(Box::new(2));
        let kept = slot.take().expect("one was kept");
        assert_eq!(kept.downcast_ref::<i32>(), Some(&1));
        assert!(slot.take().is_none());
    }

    #[test]
    fn a_later_payload_that_panics_when_dropped_does_no_harm() {
        let slot = PanicSlot::new();
        slot.keep(Box::new(1));
        slot.keep(Box::new(PanicsWhenDropped));
        assert!(slot.take().is_some());
    }
}
