//! Formic beside its peers and beside plain vectors: `cargo bench`.
//!
//! Prints one table and writes it as JSON. How the rows are defined, and what makes the comparison
//! fair, is in the README of this folder.

mod cli;
mod columns;
mod harness;
mod memory;
mod model;
mod report;
mod rows;

use std::process::ExitCode;

use cli::{Options, Request};
use columns::Column;
use harness::{Cell, Clock};
use report::{Figures, Report};
use rows::{Kind, Row};

fn main() -> ExitCode {
    match cli::parse(std::env::args().skip(1)) {
        Ok(Request::Bench(options)) => bench(&options),
        Ok(Request::Fill { column, n }) => memory::fill(&column, n),
        Ok(Request::Help) => {
            print!("{}", cli::HELP);
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn bench(options: &Options) -> ExitCode {
    let columns = options.columns();
    let rows = options.rows();
    let mut report = Report::new(&columns, options);
    for row in &rows {
        eprintln!("{} {}", row.name, row.n);
        let figures = match row.kind {
            Kind::Memory => memory::measure(row, &columns),
            _ => time(row, &columns, options),
        };
        match figures {
            Ok(figures) => report.add(row, figures),
            Err(message) => {
                eprintln!("{} {}: {message}", row.name, row.n);
                return ExitCode::FAILURE;
            }
        }
    }
    print!("{}", report.markdown());
    if let Err(error) = report.write(&options.json) {
        eprintln!("{}: {error}", options.json.display());
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Measures a row in all columns that have it.
fn time(row: &Row, columns: &[Column], options: &Options) -> Result<Figures, String> {
    let made = columns.iter().map(|column| (column.cell)(row));
    let (places, mut cells): (Vec<usize>, Vec<Cell>) =
        made.enumerate().filter_map(|(place, cell)| Some((place, cell?))).unzip();
    let clock = match row.kind {
        Kind::HeavyParallel | Kind::ScheduleParallel => Clock::Wall,
        _ => Clock::Thread,
    };
    let measured = harness::measure(&mut cells, row.repeat, clock, options.budget);
    let named = |at: usize| columns[places[at]].name;
    let sums: Vec<_> =
        measured.checksums.iter().enumerate().map(|(at, sum)| (named(at), *sum)).collect();
    agree(&sums)?;
    let mut by_column = vec![None; columns.len()];
    for (place, nanoseconds) in places.iter().zip(&measured.best) {
        by_column[*place] = Some(nanoseconds / row.operations as f64);
    }
    Ok(Figures { by_column, rounds: measured.rounds })
}

/// That all checksums are the same; else says which are not.
fn agree(sums: &[(&str, u64)]) -> Result<(), String> {
    if sums.windows(2).all(|pair| pair[0].1 == pair[1].1) {
        return Ok(());
    }
    let list: Vec<_> = sums.iter().map(|(name, sum)| format!("{name} {sum:016x}")).collect();
    Err(format!("the columns disagree: {}", list.join(", ")))
}
