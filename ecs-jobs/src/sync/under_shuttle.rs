//! The face over shuttle, which runs a whole pool on one thread of the machine
//! and switches between its threads at random wherever one of these is used.
//!
//! Shuttle takes every atomic access for a sequentially consistent one: it finds
//! deadlocks, lost jobs and wrong counts among many threads, and no missing
//! fence. Those are loom's, in `loom_models`.

pub(crate) use shuttle::hint::spin_loop;
use shuttle::sync::MutexGuard;
pub(crate) use shuttle::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};
pub(crate) use shuttle::sync::{Arc, Weak};
pub(crate) use shuttle::thread::{self, Thread, current as current_thread, park};
pub(crate) use shuttle::thread_local;

/// `Arc::downgrade`.
pub(crate) fn downgrade<T>(strong: &Arc<T>) -> Weak<T> {
    Arc::downgrade(strong)
}

/// Spinning only lengthens the schedules; the protocol must hold without.
pub(crate) const SPIN_ROUNDS: u32 = 0;

/// shuttle's mutex with `parking_lot`'s interface: it knows no poison.
#[derive(Debug)]
pub(crate) struct Mutex<T>(shuttle::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(shuttle::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(shuttle::sync::PoisonError::into_inner)
    }

    /// Waits as well.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        Some(self.lock())
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(shuttle::sync::PoisonError::into_inner)
    }
}

/// The time is up at once.
pub(crate) fn park_timeout(_time: std::time::Duration) {}

/// As outside of models: shuttle does not watch cells.
#[derive(Debug)]
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    pub(crate) fn with_mut<R>(&self, access: impl FnOnce(*mut T) -> R) -> R {
        access(self.0.get())
    }
}

/// A clock that stands still at the end of time.
#[derive(Debug)]
pub(crate) struct Stopwatch;

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self
    }

    pub(crate) fn elapsed_ns(&self) -> u64 {
        u64::MAX
    }
}
