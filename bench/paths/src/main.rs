//! Paths over grids of Formic beside their peers: `cargo bench -p paths-bench`.
//!
//! Prints a table of ratios, map by map, and one of ticks, and writes them as JSON. What makes the comparison fair is
//! in the README of this folder.

mod cli;
mod columns;
mod costs;
mod maps;
mod measure;
mod report;
mod ticks;

use std::process::ExitCode;

use cli::{Options, Request};
use maps::Problem;
use measure::Figures;
use report::Report;

fn main() -> ExitCode {
    match cli::parse(std::env::args().skip(1)) {
        Ok(Request::Bench(options)) => match bench(&options) {
            Ok(()) => ExitCode::SUCCESS,
            Err(message) => {
                eprintln!("{message}");
                ExitCode::FAILURE
            }
        },
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

fn bench(options: &Options) -> Result<(), String> {
    let mut report = Report::new();
    let has_public = options.maps.is_some();
    let has_any = options.has_maps || has_public;
    let problems = if has_any { maps::problems(options)? } else { Vec::new() };
    for problem in problems.iter().filter(|_| options.has_maps) {
        for weighted in [false, true].into_iter().take(1 + usize::from(options.has_weights)) {
            let problem = if weighted { problem.weighted() } else { problem.clone() };
            eprintln!("{}", problem.name);
            report.add(&problem, run(&problem, options)?);
        }
    }
    if options.has_ticks {
        eprintln!("ticks");
        report.set_ticks(ticks::all(options.rounds)?);
    }
    eprintln!("costs");
    report.set_costs(costs::all(if has_public { &problems } else { &[] })?);
    print!("{}", report.markdown());
    std::fs::write(&options.json, report.json())
        .map_err(|error| format!("{}: {error}", options.json.display()))
}

/// Measures one map in all columns, and holds those that are exact to one cost.
fn run(problem: &Problem, options: &Options) -> Result<Vec<(&'static str, Figures)>, String> {
    let mut columns = columns::all(problem);
    let figures = measure::measure(problem, &mut columns, options.rounds);
    let best = figures[0].1.length;
    for (column, (name, figures)) in columns.iter().zip(&figures) {
        // Sums of a hundred lengths in floating-point numbers.
        if column.is_exact && (figures.length / best - 1.0).abs() > 1e-9 {
            return Err(format!(
                "{}: {name} has paths of {} in all, and {} is best",
                problem.name, figures.length, best
            ));
        }
    }
    Ok(figures)
}
