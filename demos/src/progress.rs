//! The progress bar on stderr.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar that counts ticks; nothing is drawn if stderr is not a terminal.
///
/// A tick may take a microsecond, so the bar hears of every thousandth part of
/// the run and not of every tick.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    step: u64,
}

impl Progress {
    /// The most updates in a run.
    const STEPS_MAX: u64 = 1_000;

    /// A bar for a run of `ticks`.
    #[must_use]
    pub fn new(name: &'static str, ticks: u64) -> Self {
        // `ProgressBar::new` draws on stderr and hides itself elsewhere.
        let bar = ProgressBar::new(ticks).with_message(name);
        let style = ProgressStyle::with_template("{msg} [{bar:40}] {pos}/{len} ticks, {eta} left");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { bar, step: (ticks / Self::STEPS_MAX).max(1) }
    }

    /// For a quiet run: a bar that is never drawn.
    #[must_use]
    pub fn hidden() -> Self {
        Self { bar: ProgressBar::hidden(), step: u64::MAX }
    }

    /// Notes that `ticks` ticks are done.
    pub fn at(&self, ticks: u64) {
        if ticks % self.step == 0 {
            self.bar.set_position(ticks);
        }
    }

    /// Takes the bar off the screen.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
