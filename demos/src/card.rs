//! A demo's card: its name, its description and its constructor.

use clap::{ArgMatches, Command, FromArgMatches};
#[cfg(test)]
use formic_ecs::World;

use crate::failure::Failure;
use crate::setup::Setup;
use crate::simulation::Simulation;
use crate::text::grouped;

/// The card of a demo: its line in `demos list`, its default sizes, and its constructor.
///
/// Each demo's folder has one as the constant `DEMO`. The defaults are chosen so that a release build
/// finishes in seconds on two cores.
#[derive(Debug, Clone, Copy)]
pub struct Demo {
    /// The subcommand.
    pub name: &'static str,
    /// The description, in one line without a full stop.
    pub about: &'static str,
    /// The noun for its agents, in the plural: "imps".
    pub agents_noun: &'static str,
    /// The number of agents without `--agents`.
    pub agents_default: u32,
    /// The number of ticks without `--ticks`.
    pub ticks_default: u64,
    /// The summary for people: lines of a label and a text, in which the name of a counter in braces
    /// stands for its value.
    pub summary: &'static [(&'static str, &'static str)],
    /// Declares the arguments that only this demo has: [`no_arguments`], or the `augment_args` of
    /// a type that derives `clap::Args`.
    pub arguments: fn(Command) -> Command,
    /// Builds the world. It gets the demo's own arguments as clap has parsed them; [`own_arguments`]
    /// converts them to that type.
    pub build: fn(&Setup, &ArgMatches) -> Result<Box<dyn Simulation>, Failure>,
}

impl Demo {
    /// Builds the world with the defaults of the demo's own arguments.
    ///
    /// # Errors
    /// Returns an error if the demo requires an argument, or rejects its numbers.
    pub fn open(&self, setup: &Setup) -> Result<Box<dyn Simulation>, Failure> {
        let matches = (self.arguments)(Command::new(self.name)).try_get_matches_from([self.name]);
        let matches = matches.map_err(|error| Failure::Usage(error.to_string()))?;
        (self.build)(setup, &matches)
    }

    /// Runs some ticks, and checks that a world that `spoil` has changed fails its check with these words.
    #[cfg(test)]
    pub(crate) fn assert_check_finds(&self, words: &str, spoil: impl FnOnce(&mut World)) {
        let setup = Setup { agents: 60, ticks: 20, seed: 1, threads: 1 };
        let mut simulation = self.open(&setup).expect("small numbers are allowed");
        (0..setup.ticks).for_each(|_| simulation.tick());
        assert_eq!(simulation.check(), Ok(()), "{words}");
        spoil(&mut simulation.engine_mut().world);
        let fault = simulation.check().expect_err(words);
        assert!(fault.contains(words), "{words}: {fault}");
    }

    /// Returns the current lines of the summary, including those about no counter.
    #[must_use]
    pub fn summary(&self, simulation: &dyn Simulation) -> Vec<(&'static str, String)> {
        let counters = simulation.counters();
        let filled = |&(label, text): &(&'static str, &str)| {
            let text = counters.iter().fold(text.to_owned(), |text, &(name, value)| {
                with_value(&text, &format!("{{{name}}}"), value)
            });
            (label, text)
        };
        self.summary.iter().map(filled).chain(simulation.lines()).collect()
    }
}

/// Replaces a name in a text by its value. If the value is one, the next word is put into the singular.
fn with_value(text: &str, name: &str, value: u64) -> String {
    let Some((before, after)) = text.split_once(name) else { return text.to_owned() };
    let next = after.strip_prefix(' ').unwrap_or_default();
    let end = next.find(|letter: char| !letter.is_alphabetic()).unwrap_or(next.len());
    let after = match next[..end].strip_suffix('s').filter(|_| value == 1) {
        Some(one) => format!(" {one}{}", &next[end..]),
        None => after.to_owned(),
    };
    format!("{before}{}{after}", grouped(value))
}

/// For [`Demo::arguments`]: no arguments beside those that all demos have.
#[must_use]
pub fn no_arguments(command: Command) -> Command {
    command
}

/// Returns a demo's own arguments, of the type that [`Demo::arguments`] declared them from.
///
/// # Errors
/// Returns an error if the type declares other arguments than it reads.
pub fn own_arguments<T: FromArgMatches>(matches: &ArgMatches) -> Result<T, Failure> {
    T::from_arg_matches(matches).map_err(|error| Failure::Usage(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_something_is_no_plural() {
        for (value, expected) in
            [(1, "1 rat, asleep"), (2, "2 rats, asleep"), (0, "0 rats, asleep")]
        {
            assert_eq!(with_value("{rats} rats, asleep", "{rats}", value), expected);
        }
        assert_eq!(with_value("of {n}, {n} found", "{n}", 1), "of 1, {n} found");
        assert_eq!(with_value("{n} times", "{n}", 1), "1 time");
    }
}
