//! The command line that all demos share.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::failure::Failure;
use crate::proofs::Proof;
use crate::setup::Setup;
use crate::text::grouped;
use crate::{dungeon, miners};

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
    Demo(DemoCommand),
    /// One proof.
    Proof(Proof),
}

#[derive(Debug, Parser)]
#[command(
    name = "demos",
    version,
    about = "Every pattern of Formic as something to run and to look at",
    after_help = "Without a command the dungeon runs as it comes and leaves a picture.\n\
                  Exit codes: 0 fine, 1 a check failed, 2 a bad argument or file.",
    disable_help_subcommand = true
)]
struct Root {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show every demo in a line
    List,
    #[command(flatten)]
    Demo(DemoCommand),
    #[command(flatten)]
    Proof(Proof),
}

/// The subcommands that run a demo, each with its arguments.
#[derive(Debug, Subcommand)]
#[expect(missing_docs, reason = "a doc comment would replace the `about` of the card")]
pub enum DemoCommand {
    #[command(about = miners::DEMO.about)]
    Miners(RunArguments),
    #[command(about = dungeon::DEMO.about)]
    Dungeon(DungeonArguments),
}

/// The arguments of every demo.
#[derive(Debug, Clone, Args)]
pub struct RunArguments {
    /// How many agents live in the world
    #[arg(long, value_name = "N", value_parser = agents, allow_negative_numbers = true)]
    pub agents: Option<u32>,
    /// How many ticks to simulate; 0 shows the world as it starts
    #[arg(long, value_name = "N", value_parser = ticks, allow_negative_numbers = true)]
    pub ticks: Option<u64>,
    /// Where every random choice comes from
    #[arg(long, value_name = "S", default_value_t = Setup::SEED_DEFAULT, value_parser = seed, allow_negative_numbers = true)]
    pub seed: u64,
    /// How many threads work; one for each core if not given
    #[arg(long, value_name = "T", value_parser = threads, allow_negative_numbers = true)]
    pub threads: Option<usize>,
    /// Print one JSON object instead of the summary
    #[arg(long)]
    pub json: bool,
    /// Draw the world as it is at the end
    #[arg(long, value_name = "FILE")]
    pub png: Option<PathBuf>,
}

/// The arguments of the dungeon.
#[derive(Debug, Clone, Args)]
pub struct DungeonArguments {
    /// What all demos share.
    #[command(flatten)]
    pub run: RunArguments,
    /// Live in this MovingAI map instead of our own
    #[arg(long, value_name = "FILE")]
    pub map: Option<PathBuf>,
}

/// Reads a command line; the first argument is the name of the program.
///
/// # Errors
/// [`Failure::Usage`] with clap's complaint in one line.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Request, Failure> {
    match Root::try_parse_from(arguments) {
        Ok(Root { command: None }) => Ok(Request::FirstRun),
        Ok(Root { command: Some(Command::List) }) => Ok(Request::List),
        Ok(Root { command: Some(Command::Demo(command)) }) => Ok(Request::Demo(command)),
        Ok(Root { command: Some(Command::Proof(proof)) }) => Ok(Request::Proof(proof)),
        Err(error) if error.use_stderr() => Err(Failure::Usage(one_line(&error))),
        Err(error) => Ok(Request::Text(error.render().to_string())),
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

fn agents(text: &str) -> Result<u32, String> {
    whole_number(text, 1, Setup::AGENTS_MAX)
}

fn ticks(text: &str) -> Result<u64, String> {
    whole_number(text, 0, Setup::TICKS_MAX)
}

fn seed(text: &str) -> Result<u64, String> {
    whole_number(text, 0, u64::MAX)
}

fn threads(text: &str) -> Result<usize, String> {
    whole_number(text, 1, Setup::THREADS_MAX)
}

/// Reads a number of any width and says the whole rule when it is broken;
/// clap's own range parser speaks of digits, then of the type, then of the
/// range.
fn whole_number<T>(text: &str, least: T, most: T) -> Result<T, String>
where
    T: std::str::FromStr + PartialOrd + Copy + TryInto<u64>,
{
    match text.parse::<T>() {
        Ok(number) if least <= number && number <= most => Ok(number),
        _ => Err(format!("expected a whole number from {} to {}", shown(least), shown(most))),
    }
}

fn shown<T: TryInto<u64>>(number: T) -> String {
    grouped(number.try_into().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::catalogue;

    #[test]
    fn the_command_line_is_well_formed() {
        Root::command().debug_assert();
    }

    #[test]
    fn the_catalogue_and_the_subcommands_are_the_same_set() {
        let root = Root::command();
        let is_demo = |name: &&str| !["list", "path", "regions"].contains(name);
        let commands: Vec<&str> =
            root.get_subcommands().map(clap::Command::get_name).filter(is_demo).collect();
        let demos: Vec<&str> = catalogue::DEMOS.iter().map(|demo| demo.name).collect();
        assert_eq!(commands, demos);
    }

    #[test]
    fn numbers_are_taken_up_to_both_limits() {
        assert_eq!(agents("1"), Ok(1));
        assert_eq!(agents("2000000"), Ok(Setup::AGENTS_MAX));
        assert_eq!(seed("18446744073709551615"), Ok(u64::MAX));
        for bad in ["0", "2000001", "-1", "1e6", "", "99999999999999999999999"] {
            assert_eq!(
                agents(bad),
                Err("expected a whole number from 1 to 2,000,000".to_owned()),
                "{bad}"
            );
        }
    }
}
