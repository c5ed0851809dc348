//! Atomics, locks, thread-locals, threads and the clock: the only module through which the pool uses
//! them.
//!
//! Normally these are the standard library's and `parking_lot`'s. Under `--cfg loom` they are loom's, and
//! under `--cfg shuttle` shuttle's, with the same interface, so that the models in `loom_models` and
//! `tests/shuttle.rs` run the code that ships. No other file of the pool names `std::sync`, `std::thread`
//! or `parking_lot`.

#[cfg(any(loom, shuttle))]
#[path = "sync/models.rs"]
mod chosen;

pub(crate) use self::chosen::*;
use std::sync::atomic::AtomicU64 as UnmodelledU64;
use std::thread::available_parallelism;

/// A cell that is written once. It is the standard library's in models as well: its initializers create
/// atomics but access none, so loom has nothing to check.
pub(crate) use std::sync::OnceLock;

/// The number of threads that the machine runs in parallel, if known.
pub(crate) fn core_count() -> Option<usize> {
    available_parallelism().ok().map(std::num::NonZero::get)
}

/// Returns a number that this process has not used before, above zero.
pub(crate) fn unique_number() -> u64 {
    static NEXT: UnmodelledU64 = UnmodelledU64::new(1);
    // Relaxed: only uniqueness matters.
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// An ordering that the proof of `place` depends on.
///
/// The must-fail twins of the loom models run a model with the ordering of one place removed, or one half
/// of it; everywhere else this is the ordering itself.
#[cfg(not(all(test, loom)))]
pub(crate) const fn needed(_place: &str, ordering: Ordering) -> Ordering {
    ordering
}

#[cfg(all(test, loom))]
pub(crate) fn needed(place: &str, ordering: Ordering) -> Ordering {
    use Ordering::{AcqRel, Acquire, Relaxed, Release};
    if is_taken_out(place, "") {
        return Relaxed;
    }
    match ordering {
        Acquire | AcqRel if is_taken_out(place, " acquire") => {
            if ordering == AcqRel {
                Release
            } else {
                Relaxed
            }
        }
        Release | AcqRel if is_taken_out(place, " release") => {
            if ordering == AcqRel {
                Acquire
            } else {
                Relaxed
            }
        }
        whole => whole,
    }
}

/// Subtracts `some` from a count, and returns whether that was the rest. If `some` is the rest, no other
/// thread changes the count any more, and a load is enough for the thread that subtracts it.
#[inline]
pub(crate) fn count_down(count: &AtomicU32, some: u32, look: Ordering, order: Ordering) -> bool {
    count.load(look) == some || {
        let before = count.fetch_sub(some, order);
        debug_assert!(before >= some, "a count is of what has not been taken off");
        before == some
    }
}

/// A sequentially consistent fence that the proof of `place` depends on, see [`needed`].
pub(crate) fn needed_fence(place: &str) {
    #[cfg(all(test, loom))]
    if is_taken_out(place, "") {
        return;
    }
    #[cfg(not(all(test, loom)))]
    let _ = place;
    fence(Ordering::SeqCst);
}

/// Whether this process is a twin without the ordering of `place`, or without that `half` of it.
#[cfg(all(test, loom))]
fn is_taken_out(place: &str, half: &str) -> bool {
    static TAKEN_OUT: OnceLock<Option<String>> = OnceLock::new();
    let taken_out = TAKEN_OUT.get_or_init(|| std::env::var("FORMIC_TAKEN_OUT").ok());
    taken_out.as_deref().and_then(|of| of.strip_prefix(place)) == Some(half)
}

/// Whether to take a step that the proof of `place` depends on: always, except in a must-fail twin.
#[cfg(not(all(test, loom)))]
#[inline(always)]
pub(crate) const fn is_kept(_place: &str) -> bool {
    true
}

#[cfg(all(test, loom))]
pub(crate) fn is_kept(place: &str) -> bool {
    !is_taken_out(place, "")
}

/// Checks a few times whether `condition` holds, with a pause that doubles after each check, and returns
/// whether it did.
///
/// A check may take locks, hence the growing pauses. It never yields: on a busy machine that consumes
/// time that others need, without benefit (kotlinx.coroutines #884).
pub(crate) fn spin_until(mut condition: impl FnMut() -> bool) -> bool {
    (0..SPIN_ROUNDS).any(|round| {
        (0..1 << round).for_each(|_| spin_loop());
        condition()
    })
}

/// `Arc::downgrade`.
#[cfg(not(loom))]
pub(crate) fn downgrade<T>(strong: &Arc<T>) -> Weak<T> {
    Arc::downgrade(strong)
}

/// `std::cell::UnsafeCell` with loom's interface: access is a closure over a raw pointer, so that a model
/// sees where it begins and ends.
#[cfg(not(loom))]
#[derive(Debug)]
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    pub(crate) fn with_mut<R>(&self, access: impl FnOnce(*mut T) -> R) -> R {
        access(self.0.get())
    }
}

#[cfg(not(any(loom, shuttle)))]
mod chosen {
    pub(crate) use parking_lot::Mutex;
    pub(crate) use std::hint::spin_loop;
    pub(crate) use std::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    };
    pub(crate) use std::sync::{Arc, Weak};
    pub(crate) use std::thread::{self, Thread, current as current_thread};
    pub(crate) use std::thread_local;
    use std::time::Duration;

    pub(crate) fn park() {
        assert_there_are_threads();
        thread::park();
    }

    pub(crate) fn park_timeout(time: Duration) {
        assert_there_are_threads();
        thread::park_timeout(time);
    }

    /// Without threads nothing could end a sleep, and `park` returns at once: the caller would spin for
    /// ever.
    fn assert_there_are_threads() {
        let has_threads = cfg!(not(target_family = "wasm")) || cfg!(target_feature = "atomics");
        assert!(
            has_threads,
            "this waits for what only another thread could do, and there are none"
        );
    }

    /// The number of checks that a thread without work makes before it sleeps: a few microseconds in all.
    pub(crate) const SPIN_ROUNDS: u32 = if cfg!(miri) { 1 } else { 7 };

    /// A time until which a thread waits.
    #[derive(Debug)]
    pub(crate) struct Deadline(Stopwatch, Duration);

    impl Deadline {
        pub(crate) fn after(time: Duration) -> Self {
            Self(Stopwatch::start(), time)
        }

        /// The remaining time, if any.
        pub(crate) fn left(&self) -> Option<Duration> {
            let left = self.1.saturating_sub(Duration::from_nanos(self.0.elapsed_ns()));
            (!left.is_zero()).then_some(left)
        }
    }

    /// A stopwatch.
    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    #[derive(Debug)]
    pub(crate) struct Stopwatch(std::time::Instant);

    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    impl Stopwatch {
        pub(crate) fn start() -> Self {
            Self(std::time::Instant::now())
        }

        pub(crate) fn elapsed_ns(&self) -> u64 {
            u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX)
        }
    }

    /// A bare wasm module has no clock, and asking for one panics: here all intervals are zero.
    #[cfg(all(target_family = "wasm", target_os = "unknown"))]
    #[derive(Debug)]
    pub(crate) struct Stopwatch;

    #[cfg(all(target_family = "wasm", target_os = "unknown"))]
    impl Stopwatch {
        pub(crate) fn start() -> Self {
            Self
        }

        #[expect(clippy::unused_self, reason = "where there is a clock it is asked")]
        pub(crate) fn elapsed_ns(&self) -> u64 {
            0
        }
    }
}
