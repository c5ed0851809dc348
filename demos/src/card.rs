//! A demo's card: its name, its description and its constructor.

use clap::{ArgMatches, Command, FromArgMatches};

use crate::failure::Failure;
use crate::interrupt;
use crate::setup::Setup;
use crate::simulation::Simulation;
use crate::text::grouped;

/// The card of a demo: what `demos list` shows, its default sizes, and how it is built.
///
/// Each demo's folder has one as the constant `DEMO`. The defaults are chosen
/// so that a release build finishes in seconds on two cores.
#[derive(Debug, Clone, Copy)]
pub struct Demo {
    /// The subcommand.
    pub name: &'static str,
    /// What it shows, in one line without a full stop.
    pub about: &'static str,
    /// What its agents are called, in the plural: "imps".
    pub agents_noun: &'static str,
    /// The number of agents without `--agents`.
    pub agents_default: u32,
    /// The number of ticks without `--ticks`.
    pub ticks_default: u64,
    /// What happened, for a person to read: lines of a label and a text, in which the name of a
    /// counter in braces stands for its value.
    pub summary: &'static [(&'static str, &'static str)],
    /// Declares the arguments that only this demo has: [`no_arguments`], or the `augment_args` of
    /// a type that derives `clap::Args`.
    pub arguments: fn(Command) -> Command,
    /// Builds the world. Its own arguments come as clap has read them; [`own_arguments`] makes
    /// them that type again.
    pub build: fn(&Setup, &ArgMatches) -> Result<Box<dyn Simulation>, Failure>,
}

impl Demo {
    /// Builds the world as it is where none of the demo's own arguments were given.
    ///
    /// # Errors
    /// Returns an error if the demo needs an argument, or finds its numbers wrong.
    pub fn open(&self, setup: &Setup) -> Result<Box<dyn Simulation>, Failure> {
        let matches = (self.arguments)(Command::new(self.name)).try_get_matches_from([self.name]);
        let matches = matches.map_err(|error| Failure::Usage(error.to_string()))?;
        (self.build)(setup, &matches)
    }

    /// Builds the world by arguments that clap has read, for a command line: Ctrl-C does not wait for it.
    ///
    /// # Errors
    /// Returns an error if the demo finds its numbers or arguments wrong.
    pub fn start(
        &self,
        setup: &Setup,
        matches: &ArgMatches,
    ) -> Result<Box<dyn Simulation>, Failure> {
        interrupt::building(|| (self.build)(setup, matches))
    }

    /// The lines of the summary as they are now, and those that are about no counter.
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

/// A text with the value in the place of a name. One of something is no plural: where the next word is
/// one, it is put into the singular.
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

/// For [`Demo::arguments`]: there are none beside those that all demos have.
#[must_use]
pub fn no_arguments(command: Command) -> Command {
    command
}

/// A demo's own arguments, of the type that [`Demo::arguments`] declared them from.
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
