//! Panics of jobs: caught where they happen, resumed where they are awaited.

use crate::sync::Mutex;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// What a panicking job leaves behind.
pub(crate) type Payload = Box<dyn Any + Send>;

/// Keeps the first panic among the jobs of a group.
pub(crate) struct PanicSlot(Mutex<Option<Payload>>);

impl PanicSlot {
    #[inline]
    pub(crate) fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Keeps `payload` if it is the first.
    pub(crate) fn keep(&self, payload: Payload) {
        let mut first = self.0.lock();
        if first.is_none() {
            *first = Some(payload);
            return;
        }
        drop(first);
        discard(payload);
    }

    /// Takes what was kept, so that it is resumed once.
    pub(crate) fn take(&self) -> Option<Payload> {
        self.0.lock().take()
    }

    /// Resumes the panic that was kept. Whatever of the caller's would be
    /// dropped on the way has to be [discarded](discard) before.
    pub(crate) fn resume_if_any(&self) {
        if let Some(payload) = self.take() {
            resume_unwind(payload);
        }
    }
}

debug_fields!([] PanicSlot:);

/// Drops what no caller will get because of another panic: a payload, a result, a
/// job that has not started.
///
/// Whatever it is may itself panic when dropped, which on top of a panic that is
/// under way would abort the process. So may the payload of that panic, and so
/// on: after a few of them the last one is forgotten rather than chased for ever.
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

/// Runs `job`. The pool does not look at what a panicking job may have left
/// half done, it hands the panic on, and so unwind safety is the waiter's.
#[inline]
pub(crate) fn catch<R>(job: impl FnOnce() -> R) -> Result<R, Payload> {
    catch_unwind(AssertUnwindSafe(job))
}

/// Runs `steps`, and aborts the process if they unwind.
///
/// Around code whose unwinding would free a stack frame that other threads
/// still use. Nothing in there panics; if a bug makes it, it stays a crash.
#[inline(always)]
pub(crate) fn never_unwinding<R>(steps: impl FnOnce() -> R) -> R {
    let unwinding = AbortOnDrop;
    let result = steps();
    std::mem::forget(unwinding);
    result
}

/// Aborts the process when it is dropped, that is when the steps unwind behind which it is to be
/// forgotten.
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
