//! The program: from the words of a command line to an exit code.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use crate::cli::{self, DemoCommand, Request, Tool};
use crate::failure::Failure;
use crate::plan::Plan;
use crate::{catalogue, diff, files, interrupt, proofs, resume, runner, serve};

/// Runs the program on `arguments` (the first one is its own name), with results on stdout and at most
/// one line of error on stderr.
pub fn main_with(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    interrupt::listen();
    // Not locked: the thread that ends a long tick after Ctrl-C writes as well.
    let mut stdout = io::stdout();
    match run(arguments, &mut stdout) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !failure.is_silent() {
                // If stderr is closed as well, the error cannot be shown; `eprintln!` would panic.
                drop(writeln!(io::stderr(), "demos: {failure}"));
            }
            ExitCode::from(failure.exit_code())
        }
    }
}

/// Runs the program on `arguments` and writes its results to `out`.
///
/// # Errors
/// Returns an error for a bad argument, an unusable file, a failed check, or an `out` that cannot be
/// written.
pub fn run(
    arguments: impl IntoIterator<Item = OsString>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let done = match cli::parse(arguments)? {
        Request::Text(text) => write!(out, "{text}").map_err(Failure::Stdout),
        Request::FirstRun => run_first(out),
        Request::Demo(command) => run_demo(&command, out),
        Request::Tool(Tool::List) => write!(out, "{}", catalogue::list()).map_err(Failure::Stdout),
        Request::Tool(Tool::Verify { file, threads }) => resume::verify(&file, threads, out),
        Request::Tool(Tool::Diff(arguments)) => diff::run(&arguments, out),
        Request::Tool(Tool::Serve(arguments)) => {
            interrupt::polled(|| serve::run(&arguments, catalogue::DEMOS, out))
        }
        Request::Tool(Tool::Path(arguments)) => proofs::path::run(&arguments, out),
        Request::Tool(Tool::Regions(arguments)) => proofs::regions::run(&arguments, out),
    };
    // The failure of the run is more useful than that of the flush.
    done.and(out.flush().map_err(Failure::Stdout))
}

/// Runs the introduction for new users: the dungeon with its defaults, a picture of it, and suggestions
/// for what to try next.
fn run_first(out: &mut dyn Write) -> Result<(), Failure> {
    let name = catalogue::FIRST.name;
    let Request::Demo(mut command) = cli::parse(["demos", name].map(OsString::from))? else {
        return Err(Failure::Usage(format!("{name} is no demo")));
    };
    // A first run without a place for pictures shows everything else.
    let picture = files::picture_path(command.demo.name);
    command.run.results.png = picture.as_ref().ok().cloned();
    run_demo(&command, out)?;
    if let Err(failure) = picture {
        writeln!(out, "  no picture: {failure}; --png FILE puts one elsewhere")
            .map_err(Failure::Stdout)?;
    }
    write!(out, "\n{}", catalogue::TRY_NEXT).map_err(Failure::Stdout)
}

fn run_demo(command: &DemoCommand, out: &mut dyn Write) -> Result<(), Failure> {
    let (plan, mut simulation) = match (&command.run.replay, &command.run.load) {
        (Some(file), _) => resume::of_recording(command, file)?,
        (None, Some(file)) => resume::of_save(command, file)?,
        (None, None) => {
            let plan = Plan::of_command(command)?;
            let simulation = (plan.demo.build)(&plan.setup, &command.matches)?;
            (plan, simulation)
        }
    };
    interrupt::polled(|| runner::run(&plan, simulation.as_mut(), out))
}
