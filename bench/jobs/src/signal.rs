//! A signal by which a pushed job tells that it runs, and when.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// Rung by a job; the thread that made it waits.
pub(crate) struct Signal {
    /// What `rung_at` counts from.
    epoch: Instant,
    rung: AtomicU64,
    rung_at: AtomicU64,
    waiter: OnceLock<Thread>,
}

impl Signal {
    /// One that lives as long as the program, so that any job may hold it.
    pub(crate) fn leaked() -> &'static Self {
        Box::leak(Box::new(Self {
            epoch: Instant::now(),
            rung: AtomicU64::new(0),
            rung_at: AtomicU64::new(0),
            waiter: OnceLock::from(thread::current()),
        }))
    }

    /// What the job does.
    pub(crate) fn ring(&self) {
        let at = u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.rung_at.store(at, Ordering::Relaxed);
        self.rung.fetch_add(1, Ordering::Release);
        self.waiter.get().expect("set when it was made").unpark();
    }

    pub(crate) fn count(&self) -> u64 {
        self.rung.load(Ordering::Acquire)
    }

    /// Sleeps until it was rung more than `before` times; false if that takes too long.
    pub(crate) fn wait(&self, before: u64, limit: Duration) -> bool {
        let end = Instant::now() + limit;
        while self.count() <= before {
            let now = Instant::now();
            if now >= end {
                return false;
            }
            thread::park_timeout(end - now);
        }
        true
    }

    /// How long after `start` it was rung last.
    pub(crate) fn after(&self, start: Instant) -> Duration {
        let at = self.epoch + Duration::from_nanos(self.rung_at.load(Ordering::Relaxed));
        at.saturating_duration_since(start)
    }
}
