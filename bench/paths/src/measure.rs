//! Timing: columns that take turns on each query, the best turn of each counts.

use std::hint::black_box;
use std::time::Duration;

use cpu_time::ThreadTime;

use crate::columns::Column;
use crate::maps::Problem;

/// What one column needed for all queries of a map.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Figures {
    /// Microseconds a query.
    pub(crate) mean_us: f64,
    /// The lengths of all paths together, in cell widths; steps over weights count as much.
    pub(crate) length: f64,
    /// Queries without an answer.
    pub(crate) unsolved: usize,
}

/// A turn lasts at least so long, by repeating the query, for clocks are coarse.
const TURN_MIN: Duration = Duration::from_micros(100);

pub(crate) fn measure(
    problem: &Problem,
    columns: &mut [Column],
    rounds: u32,
) -> Vec<(&'static str, Figures)> {
    let mut figures = vec![Figures::default(); columns.len()];
    for &(start, goal) in &problem.queries {
        let mut best = vec![Duration::MAX; columns.len()];
        let mut repeats = vec![1; columns.len()];
        for round in 0..=rounds {
            for (at, column) in columns.iter_mut().enumerate() {
                // Once without the clock, however long it takes, so that a turn finds in the caches what
                // it would find in a program of its own.
                column.solver.solve(black_box(start), black_box(goal));
                let clock = ThreadTime::now();
                for _ in 0..repeats[at] {
                    column.solver.solve(black_box(start), black_box(goal));
                }
                let time = clock.elapsed();
                // The first round, in warm caches as the others, shows how often to repeat.
                if round == 0 {
                    let times = TURN_MIN.as_nanos() / time.as_nanos().max(1) + 1;
                    repeats[at] = u32::try_from(times).expect("at most a turn's nanoseconds");
                } else {
                    best[at] = best[at].min(time / repeats[at]);
                }
            }
        }
        for (at, column) in columns.iter().enumerate() {
            figures[at].mean_us += best[at].as_nanos() as f64 / 1e3;
            match column.solver.length() {
                Some(length) => figures[at].length += length,
                None => figures[at].unsolved += 1,
            }
        }
    }
    let count = problem.queries.len() as f64;
    let mean = |figures: Figures| Figures { mean_us: figures.mean_us / count, ..figures };
    columns.iter().zip(figures).map(|(column, figures)| (column.name, mean(figures))).collect()
}
