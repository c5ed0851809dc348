//! The command line that all demos share.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};

use crate::arguments::{RunArguments, demo_command, threads};
use crate::card::Demo;
use crate::catalogue::DEMOS;
use crate::failure::Failure;
use crate::proofs::Proof;
use crate::serve::ServeArguments;

/// What `demos diff` compares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compared {
    /// Two recordings, or two saved games.
    Files(PathBuf, PathBuf),
    /// The run of a command line, without the name of the program.
    Command(Vec<String>),
}

/// What a command line asks for.
#[derive(Debug)]
pub enum Request {
    /// A text that clap has ready: the help or the version.
    Text(String),
    /// Every demo in a line.
    List,
    /// Nothing was said: show what a stranger should see.
    FirstRun,
    /// One demo.
    Demo(Box<DemoCommand>),
    /// One proof.
    Proof(Proof),
    /// Two runs are to be compared.
    Diff {
        /// Which.
        compared: Compared,
        /// On how many threads each of them.
        threads: Option<[usize; 2]>,
    },
    /// The page where demos run live.
    Serve(ServeArguments),
    /// A recording is to be held against a run.
    Verify {
        /// The recording.
        file: PathBuf,
        /// How many threads the run has; one for each core where nothing is said.
        threads: Option<usize>,
    },
}

/// The subcommand of a demo, with its arguments.
#[derive(Debug)]
pub struct DemoCommand {
    /// Which demo.
    pub demo: &'static Demo,
    /// The arguments that all demos have.
    pub run: RunArguments,
    /// All arguments, for the demo to find its own.
    pub matches: ArgMatches,
    /// The command line as it was typed, without the name of the program; none where it is not
    /// Unicode.
    pub words: Option<Vec<String>>,
}

/// The whole command line. The subcommands of demos come from the catalogue.
///
/// What it says about a command is set last: `augment_args` sets it to the comment on the struct.
fn root() -> Command {
    let root = Command::new("demos")
        .version(env!("CARGO_PKG_VERSION"))
        .after_help(
            "Without a command the dungeon runs as it comes and leaves a picture.\n\
             Exit codes: 0 fine, 1 a check failed, 2 a bad argument or file.",
        )
        .disable_help_subcommand(true)
        .subcommand(Command::new("list").about("List the demos, each in a line"))
        .subcommand(verify_command())
        .subcommand(diff_command())
        .subcommands(DEMOS.iter().map(|demo| demo_command(demo)))
        .subcommand(
            ServeArguments::augment_args(Command::new("serve"))
                .about("Run any demo live, as a web page on this machine"),
        );
    Proof::augment_subcommands(root)
        .about("Every pattern of Formic as something to run and to look at")
}

fn verify_command() -> Command {
    VerifyArguments::augment_args(Command::new("verify"))
        .about("Run a recording again and compare its hashes")
}

fn diff_command() -> Command {
    DiffArguments::augment_args(Command::new("diff"))
        .about("Say where two runs part: tick, system, entity, component and both values")
        .after_help("Exit codes: 0 equal, 1 different, 2 they could not be compared.")
}

/// The arguments of `verify`.
#[derive(Debug, Clone, Args)]
struct VerifyArguments {
    /// What `--record` has written
    file: PathBuf,
    /// How many threads work; one for each core if not given
    #[arg(long, value_name = "T", value_parser = threads, allow_negative_numbers = true)]
    threads: Option<usize>,
}

/// The arguments of `diff`.
#[derive(Debug, Clone, Args)]
struct DiffArguments {
    /// How many threads each of the two runs has
    #[arg(long, value_name = "T,T", value_parser = threads, value_delimiter = ',', num_args = 1)]
    threads: Vec<usize>,
    /// Two recordings, two saved games, or a demo with its arguments
    #[arg(
        value_name = "A B | DEMO",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    compared: Vec<String>,
}

impl DiffArguments {
    fn request(self) -> Result<Request, clap::Error> {
        let wrong =
            |what: &str| clap::Error::raw(clap::error::ErrorKind::WrongNumberOfValues, what);
        let threads = match self.threads[..] {
            [] => None,
            [here, there] => Some([here, there]),
            _ => return Err(wrong("--threads of diff takes two numbers, such as 1,8")),
        };
        let is_demo = |name: &str| DEMOS.iter().any(|demo| demo.name == name);
        let compared = match &self.compared[..] {
            [name, ..] if is_demo(name) => Compared::Command(self.compared),
            [here, there] => Compared::Files(here.into(), there.into()),
            _ => return Err(wrong("diff takes two files, or a demo with its arguments")),
        };
        Ok(Request::Diff { compared, threads })
    }
}

/// Reads a command line; the first argument is the name of the program.
///
/// # Errors
/// [`Failure::Usage`] with clap's complaint in one line.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Request, Failure> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    match root().try_get_matches_from(&arguments) {
        Ok(matches) => {
            request(&matches, &arguments).map_err(|error| Failure::Usage(one_line(&error)))
        }
        Err(error) if error.use_stderr() => Err(Failure::Usage(one_line(&error))),
        Err(error) => Ok(Request::Text(error.render().to_string())),
    }
}

/// The command line of a demo that is given no arguments.
///
/// # Errors
/// Only where the demo cannot do without.
pub fn as_it_comes(demo: &'static Demo) -> Result<DemoCommand, Failure> {
    demo_command(demo)
        .try_get_matches_from([demo.name])
        .and_then(|matches| DemoCommand::new(demo, matches, &["demos".into(), demo.name.into()]))
        .map_err(|error| Failure::Usage(one_line(&error)))
}

fn request(matches: &ArgMatches, words: &[OsString]) -> Result<Request, clap::Error> {
    let Some((name, own)) = matches.subcommand() else { return Ok(Request::FirstRun) };
    if name == "list" {
        return Ok(Request::List);
    }
    if name == "serve" {
        return ServeArguments::from_arg_matches(own).map(Request::Serve);
    }
    if name == "verify" {
        let VerifyArguments { file, threads } = VerifyArguments::from_arg_matches(own)?;
        return Ok(Request::Verify { file, threads });
    }
    if name == "diff" {
        return DiffArguments::from_arg_matches(own)?.request();
    }
    match DEMOS.iter().find(|demo| demo.name == name) {
        Some(demo) => DemoCommand::new(demo, own.clone(), words).map(Box::new).map(Request::Demo),
        None => Proof::from_arg_matches(matches).map(Request::Proof),
    }
}

impl DemoCommand {
    fn new(
        demo: &'static Demo,
        matches: ArgMatches,
        words: &[OsString],
    ) -> Result<Self, clap::Error> {
        let words = words.iter().skip(1).map(|word| word.to_str().map(str::to_owned)).collect();
        Ok(Self { demo, run: RunArguments::from_arg_matches(&matches)?, matches, words })
    }
}

/// Clap's complaint without its usage block, its tip in brackets.
fn one_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    // Not the first blank line: a value may hold one, and is quoted in full.
    let end = ["\n\n  tip: ", "\n\nUsage: ", "\n\nFor more information"]
        .iter()
        .filter_map(|block| text.find(block))
        .min()
        .unwrap_or(text.len());
    let (complaint, rest) = text.split_at(end);
    let words: Vec<&str> = complaint.split_whitespace().collect();
    let tip = rest.lines().find_map(|line| line.trim().strip_prefix("tip: "));
    let complaint = words.join(" ");
    let complaint = complaint.trim_start_matches("error: ");
    format!("{complaint} ({})", tip.unwrap_or("try --help"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::Setup;

    #[test]
    fn the_command_line_is_well_formed() {
        root().debug_assert();
    }

    #[test]
    fn every_command_says_what_it_does() {
        let root = root();
        let about = |command: &Command| command.get_about().map(ToString::to_string);
        assert!(about(&root).is_some_and(|text| text.starts_with("Every pattern of Formic")));
        for command in root.get_subcommands() {
            let text = about(command).unwrap_or_default();
            let name = command.get_name();
            for comment in ["arguments of", "What only", "subcommands"] {
                assert!(!text.contains(comment), "{name} shows a comment of the source: {text}");
            }
            assert!(text.len() > 20 && !text.ends_with('.'), "{name}: {text}");
            assert!(command.get_long_about().is_none(), "{name}");
        }
        for demo in DEMOS {
            let command = root.find_subcommand(demo.name).and_then(about);
            assert_eq!(command.as_deref(), Some(demo.about));
        }
    }

    #[test]
    fn every_demo_runs_without_arguments() {
        for demo in DEMOS {
            let command = as_it_comes(demo).expect("nothing is required");
            assert_eq!(command.run.seed, Setup::SEED_DEFAULT, "{}", demo.name);
        }
    }
}
