//! The rate of a system: its interval in ticks, and its part of the rows.

/// The maximum number of parts of the entities of a staggered system; its queries keep a number for each.
const SLICES_MAX: u32 = 1 << 16;

/// The interval of a system in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rate {
    every: u32,
    phase: u32,
    staggered: bool,
}

impl Default for Rate {
    fn default() -> Self {
        Self { every: 1, phase: 0, staggered: false }
    }
}

impl Rate {
    /// # Panics
    /// Panics if `ticks` is 0, or if there are more parts than the maximum.
    pub(super) fn every(self, ticks: u32) -> Self {
        assert!(ticks > 0, "a system cannot run every 0 ticks");
        Self { every: ticks, ..self }.checked()
    }

    pub(super) fn phase(self, ticks: u32) -> Self {
        Self { phase: ticks, ..self }
    }

    /// # Panics
    /// Panics if there are more parts than the maximum.
    pub(super) fn staggered(self) -> Self {
        Self { staggered: true, ..self }.checked()
    }

    fn checked(self) -> Self {
        assert!(
            !self.staggered || self.every <= SLICES_MAX,
            "a system can be staggered over at most {SLICES_MAX} ticks, not {}",
            self.every
        );
        self
    }

    /// The number of ticks until it is due, if it is not due in this tick.
    pub(super) fn ticks_to_go(self, tick: u64) -> Option<u32> {
        if self.every == 1 || self.staggered {
            return None;
        }
        let past = self.past(tick);
        (past != 0).then(|| self.every - past)
    }

    /// The part of the entities for this tick, if not all of them.
    pub(super) fn slice(self, tick: u64) -> Option<(u32, u32)> {
        (self.staggered && self.every > 1).then(|| (self.every, self.past(tick)))
    }

    pub(super) const fn ticks(self) -> u32 {
        self.every
    }

    /// The number of ticks since it was last due.
    fn past(self, tick: u64) -> u32 {
        let every = u64::from(self.every);
        let past = (tick % every + every - u64::from(self.phase) % every) % every;
        u32::try_from(past).expect("less than a u32")
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_due_once_in_each_period_and_says_when() {
        for every in 1..12 {
            for phase in 0..12 {
                let rate = Rate::default().every(every).phase(phase);
                let due = |tick: u64| tick % u64::from(every) == u64::from(phase % every);
                for tick in 0..100 {
                    let expected = (0..every).find(|&ahead| due(tick + u64::from(ahead)));
                    assert_eq!(rate.ticks_to_go(tick).unwrap_or(0), expected.unwrap());
                    assert_eq!(rate.slice(tick), None);
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "over at most 65536 ticks, not 65537")]
    fn a_rate_of_more_slices_than_there_may_be_is_refused() {
        _ = Rate::default().every(SLICES_MAX).staggered().every(SLICES_MAX + 1);
    }

    #[test]
    #[should_panic(expected = "over at most 65536 ticks, not 4294967295")]
    fn a_rate_is_staggered_over_a_number_of_ticks_that_is_checked() {
        _ = Rate::default().every(u32::MAX).staggered();
    }

    #[test]
    fn a_staggered_rate_goes_through_all_slices() {
        for every in 2..12 {
            for phase in 0..every {
                let rate = Rate::default().every(every).phase(phase).staggered();
                for start in [0, 7, 100] {
                    let slices =
                        (start..).take(every as usize).map(|tick| rate.slice(tick).unwrap());
                    let mut which: Vec<_> = slices.map(|(_, which)| which).collect();
                    which.sort_unstable();
                    assert!(which.into_iter().eq(0..every));
                    assert_eq!(rate.ticks_to_go(start), None);
                }
                assert_eq!(rate.slice(u64::from(phase)), Some((every, 0)));
            }
        }
        assert_eq!(Rate::default().staggered().slice(5), None);
    }
}
