//! Every pattern of Formic as something to run and to look at.
//!
//! The crate is a shell and the demos it runs. A demo is a folder with one public
//! item: `DEMO`, its card ([`card::Demo`]), which describes it and says how it is
//! built ([`simulation::Simulation`]). The shell does the rest: the command line,
//! the progress bar, the clock, the JSON, the summary, the picture and the exit
//! code.
//!
//! ```text
//!   cli ──> plan ──> Demo::build ──> runner ──> report ──> stdout
//!                                 │    └──> raster ──> PNG
//!                                 └──> tape ──> recording ──> replay
//! ```
//!
//! Beside the demos there are proofs ([`proofs`]), which solve public problems
//! and judge the answers.
//!
//! In a page there is no shell: the modules without which a demo does well are not built for wasm.
//!
//! To add a demo, write its folder, name it as a module below, and add its card to
//! [`catalogue::DEMOS`].

#![forbid(unsafe_code)]

pub mod arguments;
pub mod card;
pub mod catalogue;
pub mod cats;
#[cfg(not(target_family = "wasm"))]
pub mod cli;
#[cfg(not(target_family = "wasm"))]
pub mod diff;
pub mod direction;
pub mod dungeon;
pub mod engine;
pub mod explain;
pub mod failure;
pub mod files;
pub mod fleet;
#[cfg(doctest)]
mod guide;
pub mod harbour;
pub mod interrupt;
pub mod minds;
pub mod miners;
pub mod picture;
#[cfg(not(target_family = "wasm"))]
pub mod plan;
#[cfg(not(target_family = "wasm"))]
pub mod progress;
#[cfg(not(target_family = "wasm"))]
pub mod proofs;
pub mod raster;
pub mod recording;
#[cfg(not(target_family = "wasm"))]
pub mod replay;
#[cfg(not(target_family = "wasm"))]
pub mod report;
#[cfg(not(target_family = "wasm"))]
pub mod resume;
pub mod rogue;
#[cfg(not(target_family = "wasm"))]
pub mod runner;
#[cfg(not(target_family = "wasm"))]
pub mod saved_game;
#[cfg(not(target_family = "wasm"))]
pub mod serve;
pub mod session;
pub mod setup;
pub mod simulation;
pub mod svg;
pub mod tape;
pub mod text;
pub mod villagers;
pub mod walkers;

#[cfg(not(target_family = "wasm"))]
use std::ffi::OsString;
#[cfg(not(target_family = "wasm"))]
use std::io::{self, Write};
#[cfg(not(target_family = "wasm"))]
use std::process::ExitCode;

#[cfg(not(target_family = "wasm"))]
use crate::cli::{DemoCommand, Request};
#[cfg(not(target_family = "wasm"))]
use crate::failure::Failure;
#[cfg(not(target_family = "wasm"))]
use crate::plan::Plan;

/// Runs the program on `arguments` (the first one is its own name), with
/// results on stdout and at most one line of complaint on stderr.
#[cfg(not(target_family = "wasm"))]
pub fn main_with(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    interrupt::listen();
    let mut stdout = io::stdout().lock();
    match run(arguments, &mut stdout) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !failure.is_silent() {
                // With stderr closed as well there is no one left to tell;
                // `eprintln!` would panic.
                drop(writeln!(io::stderr(), "demos: {failure}"));
            }
            ExitCode::from(failure.exit_code())
        }
    }
}

/// Runs the program on `arguments` and writes its results to `out`.
///
/// # Errors
/// A bad argument, an unusable file, a failed check, or an `out` that cannot
/// be written.
#[cfg(not(target_family = "wasm"))]
pub fn run(
    arguments: impl IntoIterator<Item = OsString>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let done = match cli::parse(arguments)? {
        Request::Text(text) => write!(out, "{text}").map_err(Failure::Stdout),
        Request::List => write!(out, "{}", catalogue::list()).map_err(Failure::Stdout),
        Request::FirstRun => run_first(out),
        Request::Demo(command) => run_demo(&command, out),
        Request::Proof(proof) => proofs::run(&proof, out),
        Request::Verify { file, threads } => replay::verify(&file, threads, out),
        Request::Diff { compared, threads } => diff::run(&compared, threads, out),
        Request::Serve(arguments) => serve::run(&arguments, catalogue::DEMOS, out),
    };
    // The failure of the run says more than that of the flush.
    done.and(out.flush().map_err(Failure::Stdout))
}

/// What a stranger sees first: the dungeon as it comes, a picture of it, and
/// where to go from there.
#[cfg(not(target_family = "wasm"))]
fn run_first(out: &mut dyn Write) -> Result<(), Failure> {
    let mut command = cli::as_it_comes(catalogue::FIRST)?;
    // A first run without a place for pictures shows all the rest.
    let picture = files::picture_path(command.demo.name);
    command.run.results.png = picture.as_ref().ok().cloned();
    run_demo(&command, out)?;
    if let Err(failure) = picture {
        writeln!(out, "  no picture: {failure}; --png FILE puts one elsewhere")
            .map_err(Failure::Stdout)?;
    }
    write!(out, "\n{}", catalogue::TRY_NEXT).map_err(Failure::Stdout)
}

#[cfg(not(target_family = "wasm"))]
fn run_demo(command: &DemoCommand, out: &mut dyn Write) -> Result<(), Failure> {
    let (plan, mut simulation) = match (&command.run.replay, &command.run.load) {
        (Some(file), _) => replay::of_command(command, file)?,
        (None, Some(file)) => resume::of_command(command, file)?,
        (None, None) => {
            let plan = Plan::of_command(command)?;
            let simulation = (plan.demo.build)(&plan.setup, &command.matches)?;
            (plan, simulation)
        }
    };
    runner::run(&plan, simulation.as_mut(), out)
}
