//! Timing: cells that take turns.
//!
//! A *cell* is one row in one column. The cells of a row take turns, so that a machine that slows
//! down or speeds up does so for all; the best turn counts, because noise only ever adds time.

use std::hint::black_box;
use std::time::{Duration, Instant};

use cpu_time::ThreadTime;

/// What a row is timed by.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Clock {
    /// The time that this thread was running: what else the machine does is not counted.
    Thread,
    /// The time that went by, for rows on several threads.
    Wall,
}

impl Clock {
    #[inline]
    fn time(self, work: impl FnOnce()) -> Duration {
        match self {
            Self::Thread => {
                let start = ThreadTime::now();
                work();
                start.elapsed()
            }
            Self::Wall => {
                let start = Instant::now();
                work();
                start.elapsed()
            }
        }
    }
}

/// One row in one column.
pub(crate) struct Cell(Box<dyn Turn>);

trait Turn {
    /// Does the work this many times and says how long it took.
    fn turn(&mut self, repeat: u32, clock: Clock) -> Duration;
    /// What the work has come to since the cell was made.
    fn checksum(&mut self) -> u64;
}

impl Cell {
    fn turn(&mut self, repeat: u32, clock: Clock) -> Duration {
        self.0.turn(repeat, clock)
    }

    fn checksum(&mut self) -> u64 {
        self.0.checksum()
    }

    /// A cell that keeps its state and repeats a frame. Each turn begins with one frame that is not
    /// timed, so that it finds in the caches what it would find in a program of its own.
    pub(crate) fn frames<S: 'static>(
        state: S,
        frame: impl FnMut(&mut S) + 'static,
        check: impl FnMut(&mut S) -> u64 + 'static,
    ) -> Self {
        Self(Box::new(Frames { state, frame, check }))
    }

    /// A cell whose state is built before each turn and dropped after it; neither is timed.
    pub(crate) fn rebuilt<S: 'static>(
        build: impl FnMut() -> S + 'static,
        mut run: impl FnMut(&mut S) + 'static,
        check: impl FnMut(&mut S) -> u64 + 'static,
    ) -> Self {
        let run = move |state: &mut S, clock: Clock| clock.time(|| run(state));
        Self(Box::new(Rebuilt { build, run, check, sum: 0 }))
    }

    /// A cell that makes `n` calls, each of which spawns an entity. What counts are all of them, or where
    /// worst cases are asked for the call that took longest.
    pub(crate) fn one_by_one<S: 'static>(
        (n, is_worst_case): (usize, bool),
        build: impl FnMut() -> S + 'static,
        mut spawn: impl FnMut(&mut S, usize) + 'static,
        check: impl FnMut(&mut S) -> u64 + 'static,
    ) -> Self {
        if !is_worst_case {
            return Self::rebuilt(build, move |state| (0..n).for_each(|i| spawn(state, i)), check);
        }
        let run = move |state: &mut S, clock: Clock| {
            let times = (0..n).map(|i| clock.time(|| spawn(state, i)));
            times.max().unwrap_or_default()
        };
        Self(Box::new(Rebuilt { build, run, check, sum: 0 }))
    }
}

struct Frames<S, F, C> {
    state: S,
    frame: F,
    check: C,
}

impl<S, F: FnMut(&mut S), C: FnMut(&mut S) -> u64> Turn for Frames<S, F, C> {
    fn turn(&mut self, repeat: u32, clock: Clock) -> Duration {
        (self.frame)(black_box(&mut self.state));
        clock.time(|| {
            for _ in 0..repeat {
                (self.frame)(black_box(&mut self.state));
            }
        })
    }

    fn checksum(&mut self) -> u64 {
        (self.check)(&mut self.state)
    }
}

struct Rebuilt<B, F, C> {
    build: B,
    run: F,
    check: C,
    /// Over all turns.
    sum: u64,
}

impl<S, B, F, C> Turn for Rebuilt<B, F, C>
where
    B: FnMut() -> S,
    F: FnMut(&mut S, Clock) -> Duration,
    C: FnMut(&mut S) -> u64,
{
    fn turn(&mut self, repeat: u32, clock: Clock) -> Duration {
        let mut spent = Duration::ZERO;
        for _ in 0..repeat {
            let mut state = (self.build)();
            spent += (self.run)(black_box(&mut state), clock);
            self.sum = self.sum.wrapping_mul(31).wrapping_add((self.check)(&mut state));
        }
        spent
    }

    fn checksum(&mut self) -> u64 {
        self.sum
    }
}

/// When a row has been measured enough.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Budget {
    Rounds(u32),
    Time(Duration),
}

impl Budget {
    /// Rounds that are made however slow they are.
    const ROUNDS_MIN: u32 = 3;

    fn is_spent(self, rounds: u32, start: Instant) -> bool {
        match self {
            Self::Rounds(wanted) => rounds >= wanted,
            Self::Time(time) => rounds >= Self::ROUNDS_MIN && start.elapsed() >= time,
        }
    }
}

/// What the measurement of one row gave.
pub(crate) struct Measured {
    /// Nanoseconds for one repetition, in the best turn of each cell.
    pub(crate) best: Vec<f64>,
    /// The checksum of each cell, after as many turns each.
    pub(crate) checksums: Vec<u64>,
    pub(crate) rounds: u32,
}

/// Lets the cells take turns until the budget is spent.
pub(crate) fn measure(cells: &mut [Cell], repeat: u32, clock: Clock, budget: Budget) -> Measured {
    // The first turn of each cell warms caches, branch predictors and allocators.
    cells.iter_mut().for_each(|cell| _ = cell.turn(1, clock));
    let mut best = vec![Duration::MAX; cells.len()];
    let mut rounds = 0;
    let start = Instant::now();
    while !budget.is_spent(rounds, start) {
        // Another one begins each round: no row always comes after the same neighbour's mess.
        for step in 0..cells.len() {
            let at = (step + rounds as usize) % cells.len();
            best[at] = best[at].min(cells[at].turn(repeat, clock));
        }
        rounds += 1;
    }
    let checksums = cells.iter_mut().map(Cell::checksum).collect();
    let best = best.iter().map(|time| time.as_nanos() as f64 / f64::from(repeat)).collect();
    Measured { best, checksums, rounds }
}
