//! The arguments that every demo has, on a command line and in the header of a recording.

use std::any::TypeId;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command};
use formic::inspect::EntityName;

use crate::card::Demo;
use crate::setup::Setup;
use crate::text::grouped;

/// Returns the subcommand of a demo: the arguments of every demo, with the numbers of this one, and its own.
#[must_use]
pub fn demo_command(demo: &Demo) -> Command {
    let counts = [("agents", demo.agents_default.into()), ("ticks", demo.ticks_default)];
    let command = RunArguments::augment_args(Command::new(demo.name));
    let command = counts.into_iter().fold(command, |command, (name, count)| {
        command.mut_arg(name, |argument| {
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            argument.help(format!("{help} [default: {count}]"))
        })
    });
    // Set last: derived arguments set it to the comment on their type.
    (demo.arguments)(command).about(demo.about)
}

/// Returns the first argument on a command line that only this demo has.
#[must_use]
pub fn own_argument(demo: &Demo, matches: &ArgMatches) -> Option<String> {
    own_argument_that(demo, matches, |_| true)
}

/// Returns the first argument on a command line that only this demo has and that names a file.
#[must_use]
pub fn own_file(demo: &Demo, matches: &ArgMatches) -> Option<String> {
    let file = TypeId::of::<PathBuf>();
    own_argument_that(demo, matches, |argument| argument.get_value_parser().type_id() == file)
}

fn own_argument_that(
    demo: &Demo,
    matches: &ArgMatches,
    is_wanted: impl Fn(&Arg) -> bool,
) -> Option<String> {
    let own = (demo.arguments)(Command::new(demo.name));
    let is_typed =
        |it: &Arg| matches.value_source(it.get_id().as_str()) == Some(ValueSource::CommandLine);
    let found = own.get_arguments().find(|it| is_typed(it) && is_wanted(it))?;
    Some(found.get_long().unwrap_or(found.get_id().as_str()).to_owned())
}

/// The numbers that every world starts from.
#[derive(Debug, Clone, Args)]
pub struct Numbers {
    /// How many agents live in the world
    #[arg(long, value_name = "N", value_parser = |text: &str| whole_number(text, 1, Setup::AGENTS_MAX), allow_negative_numbers = true)]
    pub agents: Option<u32>,
    /// Where every random choice comes from
    #[arg(long, value_name = "S", default_value_t = Setup::SEED_DEFAULT, value_parser = |text: &str| whole_number(text, 0, u64::MAX), allow_negative_numbers = true)]
    pub seed: u64,
    /// How many threads work; one for each core if not given
    #[arg(long, value_name = "T", value_parser = threads, allow_negative_numbers = true)]
    pub threads: Option<usize>,
}

impl Numbers {
    /// Returns the setup of a run of `ticks` ticks; numbers not given come from the demo.
    #[must_use]
    pub fn setup(&self, demo: &Demo, ticks: u64) -> Setup {
        Setup {
            agents: self.agents.unwrap_or(demo.agents_default),
            ticks,
            seed: self.seed,
            threads: self.threads.unwrap_or_else(Setup::threads_default),
        }
    }
}

/// The arguments of every demo.
#[derive(Debug, Clone, Args)]
pub struct RunArguments {
    /// What the world starts from
    #[command(flatten)]
    pub numbers: Numbers,
    /// How many ticks to simulate; 0 shows the world as it starts
    #[arg(long, value_name = "N", value_parser = ticks, allow_negative_numbers = true)]
    pub ticks: Option<u64>,
    /// What comes of the run
    #[command(flatten)]
    pub results: Results,
    /// Record the run, for --replay and `verify`
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Every how many ticks a recording notes the state hash
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = |text: &str| whole_number(text, 1, Setup::TICKS_MAX), allow_negative_numbers = true)]
    pub hash_every: u64,
    /// Run what was recorded, and compare its state hashes
    #[arg(long, value_name = "FILE", conflicts_with_all = ["agents", "ticks", "seed", "record", "hash_every"])]
    pub replay: Option<PathBuf>,
    /// Save the game, for --load
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub save: Option<PathBuf>,
    /// After how many ticks to save; at the end if not given
    #[arg(long, value_name = "N", value_parser = ticks, requires = "save", allow_negative_numbers = true)]
    pub at: Option<u64>,
    /// Go on with a saved game, up to the tick that --ticks says, or the one it was to end with
    #[arg(long, value_name = "FILE", conflicts_with_all = ["agents", "seed", "record", "replay"])]
    pub load: Option<PathBuf>,
    /// Where a replay ends
    #[arg(long, value_name = "TICK", value_parser = ticks, requires = "replay", allow_negative_numbers = true)]
    pub until: Option<u64>,
}

/// What is to come of a run, and where it goes.
#[derive(Debug, Clone, Default, Args)]
pub struct Results {
    /// Print one JSON object instead of the summary
    #[arg(long)]
    pub json: bool,
    /// Show no progress; stderr hears of errors only
    #[arg(long, short)]
    pub quiet: bool,
    /// Draw the world as it is at the end
    #[arg(long, value_name = "FILE")]
    pub png: Option<PathBuf>,
    /// Write the state hash after every tick, one in a line behind the number of the tick
    #[arg(long, value_name = "FILE")]
    pub hashes: Option<PathBuf>,
    /// Say why an agent did what it did: the number of its entity, or several with commas; none to
    /// list whom one can ask
    #[arg(long, value_name = "ENTITY", value_delimiter = ',', num_args = 0..)]
    pub explain: Option<Vec<EntityName>>,
    /// Write the timeline of the last ticks, for ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
}

/// Returns clap's error message without its usage block, with its tip in brackets.
pub(crate) fn one_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    // Not the first blank line: a value may contain one, and is quoted in full.
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

fn ticks(text: &str) -> Result<u64, String> {
    whole_number(text, 0, Setup::TICKS_MAX)
}

/// Parses a number of threads.
///
/// # Errors
/// Returns the whole rule if the text breaks it.
pub fn threads(text: &str) -> Result<usize, String> {
    whole_number(text, 1, Setup::THREADS_MAX)
}

/// Parses a number of any width, and states the whole rule if the text breaks it. Clap's own range parser
/// mentions digits, then the type, then the range.
///
/// # Errors
/// Returns the whole rule if the text breaks it.
pub(crate) fn whole_number<T>(text: &str, least: T, most: T) -> Result<T, String>
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
    use super::*;

    #[test]
    fn numbers_are_taken_up_to_both_limits() {
        let agents = |text| whole_number(text, 1, Setup::AGENTS_MAX);
        assert_eq!(agents("1"), Ok(1));
        assert_eq!(agents("2000000"), Ok(Setup::AGENTS_MAX));
        assert_eq!(whole_number("18446744073709551615", 0, u64::MAX), Ok(u64::MAX));
        for bad in ["0", "2000001", "-1", "1e6", "", "99999999999999999999999"] {
            assert_eq!(
                agents(bad),
                Err("expected a whole number from 1 to 2,000,000".to_owned()),
                "{bad}"
            );
        }
    }
}
