//! The C interface of Formic beside its Rust calls and beside flecs' C interface:
//! `cargo bench -p capi-bench`.
//!
//! Prints one table and writes it as JSON. How the rows are defined, and what makes the comparison
//! fair, is in the README of this folder.

mod columns;
#[path = "../../src/harness.rs"]
#[expect(
    dead_code,
    reason = "all rows here are of one thread, and know no number of rounds but the quick one"
)]
mod harness;
mod report;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use harness::{Budget, Clock};
use report::Line;

/// A row: what is done, to how many entities in each frame, and how often in a turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) kind: Kind,
    pub(crate) name: &'static str,
    pub(crate) entities: usize,
    repeat: u32,
    /// How many times the time of the Rust call the C call may take.
    pub(crate) target: Option<f64>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// Entities of two components by one call, into a world that knows both.
    Spawn,
    /// As many entities again after those of before were despawned; both calls are timed.
    Respawn,
    /// `position += velocity`, over whole columns: in C a lease, the loop, and the end of the lease.
    Iterate,
    /// The same in a lease that was taken before.
    Held,
    /// The same over 26 archetypes of equal size.
    Fragments,
}

/// The rows with targets, and beside them smaller sizes, which show what a call costs.
const ROWS: [Row; 10] = [
    row(Kind::Spawn, "spawn", 100, 500, None),
    row(Kind::Spawn, "spawn", 10_000, 10, Some(1.5)),
    row(Kind::Spawn, "spawn", 1_000_000, 1, Some(1.5)),
    row(Kind::Respawn, "respawn", 10_000, 10, None),
    row(Kind::Iterate, "iterate", 100, 5_000, None),
    row(Kind::Iterate, "iterate", 10_000, 200, Some(1.05)),
    row(Kind::Iterate, "iterate", 1_000_000, 2, Some(1.05)),
    row(Kind::Held, "iterate, held", 10_000, 200, Some(1.05)),
    row(Kind::Held, "iterate, held", 1_000_000, 2, Some(1.05)),
    row(Kind::Fragments, "iterate 26 archetypes", 26_000, 100, Some(1.05)),
];

const fn row(
    kind: Kind,
    name: &'static str,
    entities: usize,
    repeat: u32,
    target: Option<f64>,
) -> Row {
    Row { kind, name, entities, repeat, target }
}

const HELP: &str = "\
The C interface of Formic beside its Rust calls and beside flecs' C interface.

cargo bench -p capi-bench -- [OPTIONS]

  --rows LIST      Only rows whose name begins with one of these, comma separated.
  --seconds S      Time for each row, over all columns (default 3).
  --quick          Three rounds: whether it works, not how fast it is.
  --json FILE      Where to write the figures (default results/capi.json here).
  --help           This text.
";

struct Options {
    rows: Vec<String>,
    budget: Budget,
    json: PathBuf,
}

/// `None` if only the help is asked for.
fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Option<Options>, String> {
    let json = concat!(env!("CARGO_MANIFEST_DIR"), "/../results/capi.json").into();
    let budget = Budget::Time(Duration::from_secs(3));
    let mut options = Options { rows: Vec::new(), budget, json };
    while let Some(flag) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{flag} needs a value"));
        match flag.as_str() {
            // Added by cargo.
            "--bench" => {}
            "--help" => return Ok(None),
            "--quick" => options.budget = Budget::Rounds(3),
            "--json" => options.json = value()?.into(),
            "--rows" => options.rows = value()?.split(',').map(String::from).collect(),
            "--seconds" => {
                let time = value()?.parse().ok().map(Duration::try_from_secs_f64);
                let time = time.and_then(Result::ok).ok_or("--seconds needs a number above 0")?;
                options.budget = Budget::Time(time);
            }
            _ => return Err(format!("{flag} is not an option; --help lists them")),
        }
    }
    Ok(Some(options))
}

fn main() -> ExitCode {
    let options = match parse(std::env::args().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    keep_memory();
    let wanted = |row: &Row| {
        options.rows.is_empty()
            || options.rows.iter().any(|part| row.name.starts_with(part.as_str()))
    };
    let lines: Result<Vec<Line>, String> =
        ROWS.into_iter().filter(wanted).map(|row| measure(row, options.budget)).collect();
    let written = lines.and_then(|lines| {
        print!("{}", report::markdown(&lines));
        report::write(&lines, &options.json)
            .map_err(|error| format!("{}: {error}", options.json.display()))
    });
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// Memory that was freed stays in the process: else a row of a million entities is mostly the kernel's
/// time for new pages, by which column it gives them to.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn keep_memory() {
    for (setting, value) in [(libc::M_MMAP_MAX, 0), (libc::M_TRIM_THRESHOLD, -1)] {
        // SAFETY: no other thread is there yet.
        let is_set = unsafe { libc::mallopt(setting, value) } == 1;
        assert!(is_set, "malloc has no setting {setting}");
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn keep_memory() {}

fn measure(row: Row, budget: Budget) -> Result<Line, String> {
    eprintln!("{} {}", row.name, row.entities);
    let (names, mut cells): (Vec<_>, Vec<_>) = columns::cells(row).into_iter().unzip();
    let measured = harness::measure(&mut cells, row.repeat, Clock::Thread, budget);
    if measured.checksums.windows(2).any(|pair| pair[0] != pair[1]) {
        let sums: Vec<_> = names.iter().zip(&measured.checksums).collect();
        return Err(format!("{} {}: the columns disagree: {sums:x?}", row.name, row.entities));
    }
    let figures = measured.best.iter().map(|time| time / row.entities as f64).collect();
    Ok(Line { row, names, figures, rounds: measured.rounds })
}
