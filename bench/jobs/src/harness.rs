//! Timing: cells that take turns, by the time of all processors and by the wall clock.

use std::thread;
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;

use crate::allocations;

/// One row in one column.
pub(crate) struct Cell {
    frame: Box<dyn FnMut()>,
    check: Box<dyn FnMut() -> u64>,
}

impl Cell {
    /// A cell that repeats `frame`. `check` says what all frames so far have come to.
    pub(crate) fn new<S: 'static>(
        state: S,
        frame: impl Fn(&mut S) + 'static,
        check: impl Fn(&mut S) -> u64 + 'static,
    ) -> Self {
        // Both need the state, one after the other.
        let state = std::rc::Rc::new(std::cell::RefCell::new(state));
        let of_check = std::rc::Rc::clone(&state);
        Self {
            frame: Box::new(move || frame(&mut state.borrow_mut())),
            check: Box::new(move || check(&mut of_check.borrow_mut())),
        }
    }

    fn turn(&mut self, repeat: u32) -> Spent {
        // In the caches of its own, and with its threads awake, if a frame wakes them.
        (self.frame)();
        let (cpu, wall) = (ProcessTime::now(), Instant::now());
        for _ in 0..repeat {
            (self.frame)();
        }
        let spent = Spent { wall: wall.elapsed(), cpu: cpu.elapsed() };
        // What its threads do until they sleep again is not the next one's.
        thread::sleep(Duration::from_micros(300));
        spent
    }
}

struct Spent {
    cpu: Duration,
    wall: Duration,
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

/// What one cell took, in its best turns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figure {
    /// Nanoseconds of all processors together, for one frame.
    pub(crate) cpu: f64,
    /// Nanoseconds by the wall clock, for one frame.
    pub(crate) wall: f64,
    /// Allocations in one frame, once warm.
    pub(crate) allocations: f64,
}

/// What the measurement of one row gave, by cell.
pub(crate) struct Measured {
    pub(crate) figures: Vec<Figure>,
    pub(crate) checksums: Vec<u64>,
    pub(crate) rounds: u32,
}

/// Lets the cells take turns until the budget is spent.
pub(crate) fn measure(cells: &mut [Cell], repeat: u32, budget: Budget) -> Measured {
    const COUNTED_FRAMES: u32 = 4;
    // The first turn of each warms caches, branch predictors and allocators.
    cells.iter_mut().for_each(|cell| _ = cell.turn(1));
    let mut best = vec![(Duration::MAX, Duration::MAX); cells.len()];
    let mut rounds = 0;
    let start = Instant::now();
    while !budget.is_spent(rounds, start) {
        // Another one begins each round: no row always comes after the same neighbour's mess.
        for step in 0..cells.len() {
            let at = (step + rounds as usize) % cells.len();
            let spent = cells[at].turn(repeat);
            best[at] = (best[at].0.min(spent.cpu), best[at].1.min(spent.wall));
        }
        rounds += 1;
    }
    let allocated = cells.iter_mut().map(|cell| {
        let count = allocations::during(|| (0..COUNTED_FRAMES).for_each(|_| (cell.frame)()));
        count as f64 / f64::from(COUNTED_FRAMES)
    });
    let allocated: Vec<f64> = allocated.collect();
    let checksums = cells.iter_mut().map(|cell| (cell.check)()).collect();
    let per_frame = |time: Duration| time.as_nanos() as f64 / f64::from(repeat);
    let figures = best.iter().zip(allocated).map(|(&(cpu, wall), allocations)| Figure {
        cpu: per_frame(cpu),
        wall: per_frame(wall),
        allocations,
    });
    Measured { figures: figures.collect(), checksums, rounds }
}
