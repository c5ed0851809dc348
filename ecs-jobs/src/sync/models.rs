//! The interface of `sync` over the model checkers loom and shuttle.
//!
//! Shuttle runs a whole pool on one thread of the machine, and switches between the pool's threads at
//! random wherever a synchronization primitive is used. It treats every atomic access as sequentially
//! consistent. So it finds deadlocks, lost jobs and wrong counts among many threads, but no missing
//! fence; for those there are loom's models in `loom_models`.

#[cfg(loom)]
use loom as tool;
#[cfg(shuttle)]
use shuttle as tool;

pub(crate) use self::particular::*;
use std::cell::Cell;
use std::sync::PoisonError;
use std::time::Duration;
pub(crate) use tool::hint::spin_loop;
pub(crate) use tool::sync::Arc;
use tool::sync::MutexGuard;
pub(crate) use tool::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};
pub(crate) use tool::thread;

/// Spinning only multiplies the schedules; the protocol must hold without it.
pub(crate) const SPIN_ROUNDS: u32 = 0;

/// A mutex with `parking_lot`'s interface, without poisoning.
#[derive(Debug)]
pub(crate) struct Mutex<T>(tool::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(tool::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Blocks as well: the models do not depend on what happens when a lock is taken.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        Some(self.lock())
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The time is over at once.
pub(crate) fn park_timeout(_time: Duration) {}

/// A deadline that passes once a thread has asked three times and is about to sleep.
#[derive(Debug)]
pub(crate) struct Deadline(Cell<u32>);

impl Deadline {
    pub(crate) fn after(_time: Duration) -> Self {
        Self(Cell::new(0))
    }

    pub(crate) fn left(&self) -> Option<Duration> {
        (self.0.replace(self.0.get() + 1) < 3).then_some(Duration::ZERO)
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

#[cfg(shuttle)]
mod particular {
    pub(crate) use shuttle::sync::Weak;
    pub(crate) use shuttle::thread::{Thread, current as current_thread, park};
    pub(crate) use shuttle::thread_local;
}

#[cfg(loom)]
mod particular {
    use super::{Arc, Mutex};
    pub(crate) use loom::cell::UnsafeCell;
    use std::sync::PoisonError;

    /// loom has no weak references: here they are strong.
    #[derive(Debug)]
    pub(crate) struct Weak<T>(Arc<T>);

    impl<T> Weak<T> {
        pub(crate) fn upgrade(&self) -> Option<Arc<T>> {
            Some(Arc::clone(&self.0))
        }
    }

    /// `Arc::downgrade`.
    pub(crate) fn downgrade<T>(strong: &Arc<T>) -> Weak<T> {
        Weak(Arc::clone(strong))
    }

    /// loom's macro does not support the `const` form.
    macro_rules! loom_thread_local {
        ($(#[$attribute:meta])* static $name:ident: $type:ty = const { $value:expr };) => {
            loom::thread_local! { $(#[$attribute])* static $name: $type = $value; }
        };
        ($(#[$attribute:meta])* static $name:ident: $type:ty = $value:expr;) => {
            loom::thread_local! { $(#[$attribute])* static $name: $type = $value; }
        };
    }
    pub(crate) use loom_thread_local as thread_local;

    /// A thread that can be unparked: by a token behind a lock, since loom's own `unpark` also ends other
    /// waits of a thread, which loom reports as a bug.
    #[derive(Clone, Debug)]
    pub(crate) struct Thread(Arc<(Mutex<bool>, loom::sync::Condvar)>);

    pub(crate) fn current_thread() -> Thread {
        loom::thread_local! {
            static OWN: Thread = Thread(Arc::new((Mutex::new(false), loom::sync::Condvar::new())));
        }
        OWN.with(Clone::clone)
    }

    impl Thread {
        pub(crate) fn unpark(&self) {
            *self.0.0.lock() = true;
            self.0.1.notify_one();
        }
    }

    pub(crate) fn park() {
        let Thread(own) = current_thread();
        let mut token = own.0.lock();
        while !*token {
            token = own.1.wait(token).unwrap_or_else(PoisonError::into_inner);
        }
        *token = false;
    }
}
