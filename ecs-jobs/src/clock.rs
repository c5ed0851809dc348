//! The clock of a pool: the system's, or the host's.

use crate::sync::Stopwatch;
use std::time::Duration;

/// A clock that counts nanoseconds.
pub(crate) struct Clock {
    since_start: Stopwatch,
    host: Option<Box<HostClock>>,
}

/// A function that returns the time since some fixed moment.
pub(crate) type HostClock = dyn Fn() -> Duration + Send + Sync;

impl Clock {
    pub(crate) fn new(host: Option<Box<HostClock>>) -> Self {
        Self { since_start: Stopwatch::start(), host }
    }

    /// The time since the pool was created, or that of the host's clock, in nanoseconds.
    pub(crate) fn now_ns(&self) -> u64 {
        match &self.host {
            Some(now) => u64::try_from(now().as_nanos()).unwrap_or(u64::MAX),
            None => self.since_start.elapsed_ns(),
        }
    }

    /// The cost of a clock read in nanoseconds, which is part of every measured interval. At most a
    /// microsecond: a larger value means that the clock jumps.
    pub(crate) fn look_ns(&self) -> u64 {
        let mut before = self.now_ns();
        let looks = (0..3).map(|_| {
            let now = self.now_ns();
            now.saturating_sub(std::mem::replace(&mut before, now))
        });
        looks.fold(1_000, u64::min)
    }

    /// The start time of a measurement, in nanoseconds. In models it is long ago, so that every loop is
    /// worth sharing.
    pub(crate) fn begin_ns(&self) -> u64 {
        if cfg!(any(loom, shuttle)) { 0 } else { self.now_ns() }
    }

    /// The time since the start, in nanoseconds.
    pub(crate) fn elapsed_ns(&self, began_ns: u64) -> u64 {
        self.now_ns().saturating_sub(began_ns)
    }
}

debug_fields!([] Clock:; is_of_host = |it| it.host.is_some());
