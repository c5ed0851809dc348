//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use crate::columns::{self, Column};
use crate::harness::Budget;
use crate::rows::{self, Row};

pub(crate) const HELP: &str = "\
Formic beside its peers and beside plain vectors.

cargo bench -- [OPTIONS]

  --rows LIST      Only rows whose name contains one of these, comma separated.
  --columns LIST   Only these columns, comma separated.
  --seconds S      Time for each row, over all columns (default 3).
  --rounds N       Turns of each column in each row, instead of a time.
  --quick          Three rounds: whether it works, not how fast it is.
  --json FILE      Where to write the figures (default results/latest.json here).
  --help           This text.
";

/// What the command line asks for.
#[derive(Debug)]
pub(crate) enum Request {
    Bench(Options),
    /// Asked by this program of itself: fill a world and say how much memory it took.
    Fill {
        column: String,
        n: usize,
    },
    Help,
}

#[derive(Debug)]
pub(crate) struct Options {
    rows: Vec<String>,
    columns: Vec<String>,
    pub(crate) budget: Budget,
    pub(crate) json: PathBuf,
}

impl Options {
    pub(crate) fn rows(&self) -> Vec<Row> {
        let mut rows = rows::all();
        rows.retain(|row| self.wants_row(row.name));
        rows
    }

    fn wants_row(&self, name: &str) -> bool {
        self.rows.is_empty() || self.rows.iter().any(|part| name.contains(part.as_str()))
    }

    pub(crate) fn columns(&self) -> Vec<Column> {
        let mut columns = columns::all();
        columns.retain(|column| self.wants_column(column.name));
        columns
    }

    fn wants_column(&self, name: &str) -> bool {
        self.columns.is_empty() || self.columns.iter().any(|wanted| wanted == name)
    }
}

/// Reads the command line.
pub(crate) fn parse(arguments: impl Iterator<Item = String>) -> Result<Request, String> {
    let mut arguments = arguments.peekable();
    let mut options = Options {
        rows: Vec::new(),
        columns: Vec::new(),
        budget: Budget::Time(Duration::from_secs(3)),
        json: [env!("CARGO_MANIFEST_DIR"), "results", "latest.json"].iter().collect(),
    };
    while let Some(flag) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{flag} needs a value"));
        match flag.as_str() {
            // What `cargo bench` itself adds.
            "--bench" => {}
            "--help" | "-h" => return Ok(Request::Help),
            "--rows" => options.rows = list(&value()?),
            "--columns" => options.columns = list(&value()?),
            "--rounds" => options.budget = rounds(&value()?)?,
            "--seconds" => options.budget = seconds(&value()?)?,
            "--quick" => options.budget = Budget::Rounds(3),
            "--json" => options.json = value()?.into(),
            "--fill" => {
                let column = value()?;
                let n = value()?.parse().map_err(|_| "--fill needs a column and a number")?;
                return Ok(Request::Fill { column, n });
            }
            _ => return Err(format!("{flag} is not an option; --help lists them")),
        }
    }
    check_names(&options)?;
    Ok(Request::Bench(options))
}

fn list(value: &str) -> Vec<String> {
    value.split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

fn rounds(value: &str) -> Result<Budget, String> {
    match value.parse() {
        Ok(rounds) if rounds > 0 => Ok(Budget::Rounds(rounds)),
        _ => Err(format!("--rounds needs a whole number above 0, not {value}")),
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
        if rows::all().iter().all(|row| !row.name.contains(part.as_str())) {
            return Err(format!("--rows: no row has {part} in its name"));
        }
    }
    Ok(())
}
