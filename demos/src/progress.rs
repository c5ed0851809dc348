//! A line of progress on stderr.

use std::cell::Cell;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::text::grouped;

/// A line that counts ticks and is overwritten repeatedly; nothing is drawn if stderr is not a terminal.
#[derive(Debug)]
pub struct Progress {
    name: &'static str,
    wanted: u64,
    /// The number of ticks between two looks at the clock: a tick may take a microsecond.
    step: u64,
    start: Instant,
    next: Cell<Duration>,
}

impl Progress {
    /// The maximum number of looks at the clock in a run.
    const LOOKS_MAX: u64 = 1_000;
    /// The minimum time between two lines.
    const PAUSE: Duration = Duration::from_millis(50);

    /// Creates a line for a run of `ticks`.
    #[must_use]
    pub fn new(name: &'static str, ticks: u64) -> Self {
        let step =
            if io::stderr().is_terminal() { (ticks / Self::LOOKS_MAX).max(1) } else { u64::MAX };
        Self { name, wanted: ticks, step, start: Instant::now(), next: Cell::new(Self::PAUSE) }
    }

    /// Creates a line that is never drawn, for a quiet run.
    #[must_use]
    pub fn hidden() -> Self {
        Self { step: u64::MAX, ..Self::new("", 0) }
    }

    /// Reports that `ticks` ticks are done.
    pub fn at(&self, ticks: u64) {
        if ticks % self.step == 0 && self.start.elapsed() >= self.next.get() {
            let elapsed = self.start.elapsed();
            self.next.set(elapsed + Self::PAUSE);
            // A failure to show progress is no reason to stop.
            drop(write!(io::stderr(), "\r{}\x1b[K", self.line(ticks, elapsed)));
        }
    }

    /// Removes the line from the screen.
    pub fn finish(&self) {
        if self.next.get() > Self::PAUSE {
            drop(write!(io::stderr(), "\r\x1b[K"));
        }
    }

    fn line(&self, ticks: u64, elapsed: Duration) -> String {
        let share = ticks as f64 / self.wanted.max(1) as f64;
        let left = elapsed.as_secs_f64() / share.max(1e-9) * (1.0 - share);
        let full = usize::try_from(40 * ticks / self.wanted.max(1)).unwrap_or(40).min(40);
        format!(
            "{} [{:<40}] {}/{} ticks, {left:.0} s left",
            self.name,
            "=".repeat(full),
            grouped(ticks),
            grouped(self.wanted),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_has_the_share_and_the_time_left() {
        let line = Progress::new("cats", 2_000).line(500, Duration::from_secs(3));
        let bar = format!("{:<40}", "=".repeat(10));
        assert_eq!(line, format!("cats [{bar}] 500/2,000 ticks, 9 s left"));
        assert!(Progress::new("cats", 0).line(0, Duration::ZERO).contains("0/0"));
    }

    #[test]
    fn a_quiet_run_draws_nothing() {
        let progress = Progress::hidden();
        (1..5).for_each(|tick| progress.at(tick));
        assert_eq!(progress.next.get(), Progress::PAUSE);
    }
}
