//! The pool and the schedule of Formic beside their peers and beside a serial loop:
//! `cargo bench -p jobs-bench`.
//!
//! Prints one table and writes it as JSON. How the rows are defined, and what makes the comparison
//! fair, is in the README of this folder.

mod allocations;
mod cli;
mod columns;
mod effects;
mod harness;
mod latency;
mod mixed;
mod model;
mod report;
mod rows;
mod scaling;
mod shared_items;
mod signal;

use std::process::ExitCode;

use cli::{Options, Request};
use columns::Column;
use harness::{Cell, Figure};
use report::{Entry, Report};
use rows::{Metric, Row};

fn main() -> ExitCode {
    match cli::parse(std::env::args().skip(1)) {
        Ok(Request::Bench(options)) => bench(&options),
        Ok(Request::Scaling(options)) => exit(scaling::run(&options)),
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

fn exit(outcome: Result<(), String>) -> ExitCode {
    outcome.map_or_else(
        |message| {
            eprintln!("{message}");
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    )
}

fn bench(options: &Options) -> ExitCode {
    columns::prepare(options.threads);
    let columns = options.columns();
    let rows = options.rows();
    let mut report = Report::new(&columns, options);
    // Rows about the same cells are measured together.
    for rows in
        rows.chunk_by(|left, right| (left.kind, left.threads) == (right.kind, right.threads))
    {
        eprintln!("{} on {}", rows[0].name, rows[0].threads);
        let outcome = if rows[0].metric == Metric::Value {
            sleeping(rows, &columns, options, &mut report);
            Ok(())
        } else {
            frames(&rows[0], &columns, options).map(|(figures, rounds)| {
                for row in rows {
                    let entry = |figure: &Option<_>| figure.map(|one| Entry::of_frames(one, row));
                    report.add(row, figures.iter().map(entry).collect(), rounds);
                }
            })
        };
        if let Err(message) = outcome {
            return exit(Err(format!("{}: {message}", rows[0].name)));
        }
    }
    print!("{}", report.markdown());
    let written = report.write(&options.json);
    exit(written.map_err(|error| format!("{}: {error}", options.json.display())))
}

/// Measures a row in all columns that have it: the figures of one frame by column, and the rounds.
fn frames(
    row: &Row,
    columns: &[Column],
    options: &Options,
) -> Result<(Vec<Option<Figure>>, u32), String> {
    let made = columns.iter().map(|column| (column.cell)(row));
    let (places, mut cells): (Vec<usize>, Vec<Cell>) =
        made.enumerate().filter_map(|(place, cell)| Some((place, cell?))).unzip();
    let measured = harness::measure(&mut cells, row.repeat, options.budget);
    let names = places.iter().map(|&place| columns[place].name);
    agree(&names.zip(measured.checksums.iter().copied()).collect::<Vec<_>>())?;
    let mut figures = vec![None; columns.len()];
    for (&place, &figure) in places.iter().zip(&measured.figures) {
        figures[place] = Some(figure);
    }
    Ok((figures, measured.rounds))
}

/// Measures rows about sleeping and waking.
fn sleeping(rows: &[Row], columns: &[Column], options: &Options, report: &mut Report) {
    let measured = latency::measure(rows[0].kind, columns, rows[0].threads, options.effort);
    for row in rows {
        let figures = measured.iter().find(|measured| measured.name == row.name);
        let figures = &figures.expect("each row has a measurement").figures;
        let entries = figures.iter().map(|figure| figure.map(Entry::of_value)).collect();
        report.add(row, entries, options.effort.rounds);
    }
}

/// That all checksums are the same; else says which are not.
fn agree(sums: &[(&str, u64)]) -> Result<(), String> {
    if sums.windows(2).all(|pair| pair[0].1 == pair[1].1) {
        return Ok(());
    }
    let list: Vec<_> = sums.iter().map(|(name, sum)| format!("{name} {sum:016x}")).collect();
    Err(format!("the columns disagree: {}", list.join(", ")))
}
