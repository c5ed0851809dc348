//! Proofs: commands that solve public problems and check every answer.
//!
//! They are not simulations: they have no ticks, no agents, no picture. They share with the demos the
//! command line (clap) and the output (exit codes, JSON).

pub mod path;
pub mod regions;

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use formic_nav::Grid;

use crate::failure::Failure;
use crate::files;
use crate::text::write_line;

fn load_grid(path: &Path) -> Result<Grid, Failure> {
    let bytes = files::read(path)?;
    Grid::parse(&path.display().to_string(), &bytes)
        .map_err(|error| Failure::Usage(error.to_string()))
}

fn write_lines(out: &mut dyn Write, headline: &str, lines: &[(&str, String)]) -> io::Result<()> {
    writeln!(out, "{headline}\n")?;
    lines.iter().try_for_each(|(label, text)| write_line(out, label, text))
}

/// The times of many pieces of work.
#[derive(Debug, Default)]
struct Times(Vec<Duration>);

impl Times {
    fn push(&mut self, time: Duration) {
        self.0.push(time);
    }

    /// Returns the mean in nanoseconds, 0 if there are none.
    fn mean_ns(&self) -> f64 {
        let sum: Duration = self.0.iter().sum();
        sum.as_nanos() as f64 / self.0.len().max(1) as f64
    }

    /// Returns the time in nanoseconds that 99 of 100 do not exceed, 0 if there are none.
    fn p99_ns(&mut self) -> f64 {
        self.0.sort_unstable();
        let place = (self.0.len() * 99).div_ceil(100).saturating_sub(1);
        self.0.get(place).map_or(0.0, |time| time.as_nanos() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_hundred_times_one_may_exceed_the_99th_percentile() {
        let mut times = Times::default();
        assert_eq!((times.mean_ns(), times.p99_ns()), (0.0, 0.0));
        (1..=100).rev().for_each(|ns| times.push(Duration::from_nanos(ns)));
        assert_eq!((times.mean_ns(), times.p99_ns()), (50.5, 99.0));
    }
}
