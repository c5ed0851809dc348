//! The command line that all demos share.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};

use crate::arguments::{RunArguments, demo_command, one_line, threads};
use crate::card::Demo;
use crate::catalogue::DEMOS;
use crate::failure::Failure;
use crate::proofs::path::PathArguments;
use crate::proofs::regions::RegionsArguments;
use crate::serve::ServeArguments;

/// A parsed command line.
#[derive(Debug)]
pub enum Request {
    /// A text that clap has ready: the help or the version.
    Text(String),
    /// No arguments: run the introduction for new users.
    FirstRun,
    /// A demo.
    Demo(Box<DemoCommand>),
    /// A command that is not a demo.
    Tool(Tool),
}

/// The commands beside the demos.
#[derive(Debug, Subcommand)]
pub enum Tool {
    /// List the demos, each in a line
    List,
    /// Run a recording again and compare its hashes
    Verify {
        /// What `--record` has written
        file: PathBuf,
        /// How many threads work; one for each core if not given
        #[arg(long, value_name = "T", value_parser = threads, allow_negative_numbers = true)]
        threads: Option<usize>,
    },
    /// Say where two runs part: tick, system, entity, component and both values
    #[command(after_help = "Exit codes: 0 equal, 1 different, 2 they could not be compared.")]
    Diff(DiffArguments),
    /// Run any demo live, as a web page on this machine
    Serve(ServeArguments),
    /// Solve the scenarios of a MovingAI map and check every path
    Path(PathArguments),
    /// Dig and fill at random and compare the regions with fresh floods
    Regions(RegionsArguments),
}

/// The arguments of `diff`.
#[derive(Debug, Clone, Args)]
pub struct DiffArguments {
    /// How many threads each of the two runs has
    #[arg(long, value_name = "T,T", value_parser = threads, value_delimiter = ',', num_args = 1)]
    pub threads: Vec<usize>,
    /// Two recordings, two saved games, or a demo with its arguments
    #[arg(
        value_name = "A B | DEMO",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub compared: Vec<String>,
}

/// The subcommand of a demo, with its arguments.
#[derive(Debug)]
pub struct DemoCommand {
    /// The demo.
    pub demo: &'static Demo,
    /// The arguments that all demos have.
    pub run: RunArguments,
    /// All arguments, for the demo to find its own.
    pub matches: ArgMatches,
    /// The command line as it was typed, without the name of the program; none if it is not Unicode.
    pub words: Option<Vec<String>>,
}

/// Returns the whole command line. The subcommands of demos come from the catalogue.
fn root() -> Command {
    let root = Command::new("demos")
        .version(env!("CARGO_PKG_VERSION"))
        .after_help(
            "Without a command the dungeon runs as it comes and leaves a picture.\n\
             Exit codes: 0 fine, 1 a check failed, 2 a bad argument or file, 130 interrupted by Ctrl-C.",
        )
        .disable_help_subcommand(true)
        .subcommands(DEMOS.iter().map(|demo| demo_command(demo)));
    // Set last: a derived list of subcommands sets it to the comment on its type.
    Tool::augment_subcommands(root)
        .about("Every pattern of Formic as something to run and to look at")
}

/// Parses a command line; the first argument is the name of the program.
///
/// # Errors
/// Returns [`Failure::Usage`] with clap's error message in one line.
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

fn request(matches: &ArgMatches, words: &[OsString]) -> Result<Request, clap::Error> {
    let Some((name, own)) = matches.subcommand() else { return Ok(Request::FirstRun) };
    let Some(demo) = DEMOS.iter().find(|demo| demo.name == name) else {
        return Tool::from_arg_matches(matches).map(Request::Tool);
    };
    let words = words.iter().skip(1).map(|word| word.to_str().map(str::to_owned)).collect();
    let (run, matches) = (RunArguments::from_arg_matches(own)?, own.clone());
    Ok(Request::Demo(Box::new(DemoCommand { demo, run, matches, words })))
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
            let request = parse(["demos", demo.name].map(OsString::from));
            let Ok(Request::Demo(command)) = request else { panic!("{request:?}") };
            assert_eq!(command.run.numbers.seed, Setup::SEED_DEFAULT, "{}", demo.name);
        }
    }
}
