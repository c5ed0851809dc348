//! The minds of Formic beside their peers and beside an `if`: `cargo bench -p minds-bench`.
//!
//! Prints one table and writes it as JSON. How the rows are defined, and what makes the comparison
//! fair, is in the README of this folder.

mod actions;
mod activities;
#[path = "../../jobs/src/allocations.rs"]
mod allocations;
mod deciders;
mod decomposition;
mod domain;
mod harness;
mod plans;
mod reload;
mod turns;

use std::process::ExitCode;

use harness::{Options, Row};

fn main() -> ExitCode {
    match Options::parse(std::env::args().skip(1)) {
        Ok(options) => {
            let rows: Vec<Row> = [
                actions::rows,
                activities::rows,
                deciders::rows,
                plans::rows,
                decomposition::rows,
                reload::rows,
                turns::rows,
            ]
            .into_iter()
            .flat_map(|rows| rows())
            .collect();
            harness::run(rows, &options)
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}
