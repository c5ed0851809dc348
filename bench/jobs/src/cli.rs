//! The command line.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use crate::columns::{self, Column};
use crate::harness::Budget;
use crate::latency::Effort;
use crate::rows::{self, Row};

pub(crate) const HELP: &str = "\
The pool and the schedule of Formic beside their peers and beside a serial loop.

cargo bench -p jobs-bench -- [OPTIONS]

  --rows LIST      Only rows whose name contains one of these, comma separated.
  --columns LIST   Only these columns, comma separated.
  --threads N      Rows run on 1 thread and on N (default: as many as cores).
  --seconds S      Time for each row, over all columns (default 2).
  --rounds N       Turns of each column in each row, instead of a time.
  --quick          Three rounds: whether it works, not how fast it is.
  --scaling        Instead of the table, loops and joins on 1 to N threads.
  --json FILE      Where to write the figures (default ../results/jobs.json here).
  --help           This text.
";

/// What the command line asks for.
#[derive(Debug)]
pub(crate) enum Request {
    Bench(Options),
    Scaling(Options),
    Help,
}

#[derive(Debug)]
pub(crate) struct Options {
    rows: Vec<String>,
    columns: Vec<String>,
    pub(crate) threads: usize,
    pub(crate) budget: Budget,
    pub(crate) effort: Effort,
    pub(crate) json: PathBuf,
}

impl Options {
    pub(crate) fn rows(&self) -> Vec<Row> {
        let mut rows = rows::all(self.threads);
        let wanted = |name: &str| self.rows.iter().any(|part| name.contains(part.as_str()));
        rows.retain(|row| self.rows.is_empty() || wanted(row.name));
        rows
    }

    pub(crate) fn columns(&self) -> Vec<Column> {
        let mut columns = columns::all();
        let wanted = |name| self.columns.iter().any(|wanted| wanted == name);
        columns.retain(|column| self.columns.is_empty() || wanted(column.name));
        columns
    }
}

/// Reads the command line.
pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Request, String> {
    let mut options = Options {
        rows: Vec::new(),
        columns: Vec::new(),
        threads: thread::available_parallelism().map_or(1, std::num::NonZero::get),
        budget: Budget::Time(Duration::from_secs(2)),
        effort: Effort::FULL,
        json: [env!("CARGO_MANIFEST_DIR"), "..", "results", "jobs.json"].iter().collect(),
    };
    let mut is_scaling = false;
    while let Some(flag) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{flag} needs a value"));
        match flag.as_str() {
            // What `cargo bench` itself adds.
            "--bench" => {}
            "--help" | "-h" => return Ok(Request::Help),
            "--rows" => options.rows = list(&value()?),
            "--columns" => options.columns = list(&value()?),
            "--threads" => options.threads = above_zero(&flag, &value()?)?,
            "--rounds" => {
                let rounds = above_zero(&flag, &value()?)?;
                options.budget = Budget::Rounds(u32::try_from(rounds).unwrap_or(u32::MAX));
            }
            "--seconds" => options.budget = seconds(&value()?)?,
            "--quick" => {
                options.budget = Budget::Rounds(3);
                options.effort = Effort::QUICK;
            }
            "--scaling" => is_scaling = true,
            "--json" => options.json = value()?.into(),
            _ => return Err(format!("{flag} is not an option; --help lists them")),
        }
    }
    check_names(&options)?;
    Ok(if is_scaling { Request::Scaling(options) } else { Request::Bench(options) })
}

fn list(value: &str) -> Vec<String> {
    value.split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

fn above_zero(flag: &str, value: &str) -> Result<usize, String> {
    match value.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(format!("{flag} needs a whole number above 0, not {value}")),
    }
}

fn seconds(value: &str) -> Result<Budget, String> {
    let time = value.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    match time {
        Some(time) if !time.is_zero() => Ok(Budget::Time(time)),
        _ => Err(format!("--seconds needs a number above 0, not {value}")),
    }
}

fn check_names(options: &Options) -> Result<(), String> {
    for wanted in &options.columns {
        let built = columns::all();
        if built.iter().all(|column| column.name != wanted) {
            let names: Vec<_> = built.iter().map(|column| column.name).collect();
            return Err(format!("--columns: no {wanted} here; there are {}", names.join(", ")));
        }
    }
    for part in &options.rows {
        if rows::all(options.threads).iter().all(|row| !row.name.contains(part.as_str())) {
            return Err(format!("--rows: no row has {part} in its name"));
        }
    }
    Ok(())
}
