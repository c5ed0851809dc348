//! A converter from elapsed time to ticks of a fixed length.

use std::time::Duration;

/// Computes the number of due ticks of a fixed length from the time that has passed.
///
/// It reads no clock: the host passes the time in, so that a replay or a test gets the same ticks.
///
/// ```
/// use formic_jobs::FixedStep;
/// use std::time::Duration;
///
/// let mut step = FixedStep::new(Duration::from_millis(20)).at_most(5);
/// let mut ticks = 0;
/// for frame_ms in [16, 16, 16, 2000] {
///     for _tick in step.advance(Duration::from_millis(frame_ms)) {
///         ticks += 1; // schedule.run(&mut world, &pool)
///     }
/// }
/// // 2 after 48 ms; after the long frame no more than 5, and the rest is let go.
/// assert_eq!(ticks, 7);
/// assert_eq!(step.remainder(), Duration::from_millis(8));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[doc(alias("FixedUpdate", "Time"))]
pub struct FixedStep {
    length: Duration,
    at_most: u32,
    waiting: Duration,
    skipped: u64,
}

impl FixedStep {
    /// Creates a converter with ticks of this length, without a limit to the ticks due at once but that of
    /// their type.
    ///
    /// # Panics
    /// Panics if the length is zero.
    #[must_use]
    pub fn new(length: Duration) -> Self {
        assert!(!length.is_zero(), "a tick takes some time");
        Self { length, at_most: u32::MAX, waiting: Duration::ZERO, skipped: 0 }
    }

    /// Drops ticks beyond this many at once: a world that cannot keep up slows down, instead of having
    /// more to do in each frame than in the one before.
    #[must_use]
    pub const fn at_most(self, ticks: u32) -> Self {
        Self { at_most: ticks, ..self }
    }

    /// Returns the length of a tick.
    #[must_use]
    pub const fn length(&self) -> Duration {
        self.length
    }

    /// Adds elapsed time; returns the due ticks, as a range that counts them.
    pub fn advance(&mut self, elapsed: Duration) -> std::ops::Range<u32> {
        self.waiting = self.waiting.saturating_add(elapsed);
        let length = self.length.as_nanos();
        let due = self.waiting.as_nanos() / length;
        let rest = u64::try_from(self.waiting.as_nanos() % length);
        // A tick would have to be longer than 584 years to be out of range.
        self.waiting = rest.map_or(Duration::ZERO, Duration::from_nanos);
        let granted = due.min(u128::from(self.at_most));
        self.skipped =
            self.skipped.saturating_add(u64::try_from(due - granted).unwrap_or(u64::MAX));
        0..u32::try_from(granted).unwrap_or(u32::MAX)
    }

    /// Returns the time since the last tick was due.
    #[must_use]
    pub const fn remainder(&self) -> Duration {
        self.waiting
    }

    /// Returns the remainder as a fraction of a tick, from 0 to below 1, by which to interpolate drawing
    /// from the last tick.
    #[must_use]
    pub fn fraction(&self) -> f64 {
        let fraction = self.waiting.as_secs_f64() / self.length.as_secs_f64();
        // As floating-point numbers, long times are equal that are not.
        fraction.min(1.0 - f64::EPSILON)
    }

    /// Returns the total number of dropped ticks.
    #[must_use]
    pub const fn skipped(&self) -> u64 {
        self.skipped
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn time_is_neither_lost_nor_counted_twice() {
        let mut step = FixedStep::new(Duration::from_nanos(16_666_667));
        let (mut ticks, mut passed) = (0, Duration::ZERO);
        for frame in 0..10_000_u64 {
            let elapsed = Duration::from_nanos(frame * 7_919 % 50_000_000);
            passed += elapsed;
            ticks += u128::from(step.advance(elapsed).end);
            assert!(step.remainder() < step.length());
            assert_eq!(ticks, passed.as_nanos() / 16_666_667);
        }
        assert_eq!(step.skipped(), 0);
    }

    #[test]
    fn what_is_let_go_is_counted() {
        let mut step = FixedStep::new(Duration::from_millis(10)).at_most(3);
        assert_eq!(step.advance(Duration::from_millis(95)), 0..3);
        assert_eq!((step.skipped(), step.remainder()), (6, Duration::from_millis(5)));
        assert!((step.fraction() - 0.5).abs() < 1e-9);
        assert_eq!(step.advance(Duration::MAX).end, 3);
        assert!(step.skipped() > 1 << 40);
    }

    #[test]
    fn the_fraction_of_a_tick_that_is_not_over_is_below_one() {
        for secs in [1, 1_000_000, 100_000_000, 10_000_000_000] {
            let length = Duration::from_secs(secs);
            let mut step = FixedStep::new(length);
            assert_eq!(step.advance(length - Duration::from_nanos(1)), 0..0);
            assert!((0.999..1.0).contains(&step.fraction()), "ticks of {length:?}");
        }
    }

    #[test]
    #[should_panic(expected = "a tick takes some time")]
    fn a_tick_without_a_length_is_refused() {
        _ = FixedStep::new(Duration::ZERO);
    }
}
