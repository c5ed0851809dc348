//! The catalogue of all demos.

use crate::card::Demo;
use crate::{cats, dungeon, fleet, harbour, minds, miners, rogue, villagers};

/// Every demo, in the order in which `demos list` shows them. A line here is all that the shell has to
/// know about a demo.
#[rustfmt::skip] // A line each, so that two new demos do not meet in one.
pub const DEMOS: &[&Demo] = &[
    &miners::DEMO,
    &cats::DEMO,
    &minds::DEMO,
    &fleet::DEMO,
    &villagers::DEMO,
    &dungeon::DEMO,
    &harbour::DEMO,
    &rogue::DEMO,
];

/// The demo that runs if none is named.
pub const FIRST: &Demo = &dungeon::DEMO;

/// The text at the end of the first run.
pub const TRY_NEXT: &str = "\
Try next:
  cargo run --release -- list                          every demo in a line
  cargo run --release -- serve                         any of them live, as a page of this machine
  cargo run --release -- cats --plot cats.svg          what a cat wants, and why it sleeps
  cargo run --release -- minds                         one crowd under six minds, and their price
  cargo run --release -- fleet --png fleet.png         ships, turrets and bullets at war
  cargo run --release -- villagers                     most of them asleep, and what that saves
  cargo run --release -- harbour --ticks 300 --explain 2
                                                       a troll, and the door that it is too wide for
  cargo run --release -- rogue --play                  a dungeon in turns, in this terminal
  cargo run --release -- miners --agents 100000        a crowd that is mostly asleep
  cargo run --release -- dungeon --map FILE --png OUT  a MovingAI map of your own
";

/// Returns the text of `demos list`.
#[must_use]
pub fn list() -> String {
    DEMOS.iter().map(|demo| format!("{:<10} {}\n", demo.name, demo.about)).collect()
}

#[cfg(test)]
mod colour_tests;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::Setup;

    #[test]
    fn every_figure_that_a_summary_names_is_a_counter() {
        let setup = Setup { agents: 40, ticks: 0, seed: 1, threads: 1 };
        for demo in DEMOS {
            let simulation = demo.open(&setup).expect("small numbers are allowed");
            let counters = simulation.counters();
            for &(label, text) in demo.summary {
                for named in text.split('{').skip(1).filter_map(|rest| rest.split_once('}')) {
                    let is_known = counters.iter().any(|&(name, _)| name == named.0);
                    assert!(is_known, "{}, {label}: {{{}}}", demo.name, named.0);
                }
            }
            let lines = demo.summary(simulation.as_ref());
            assert!(lines.iter().all(|(_, text)| !text.contains('{')), "{lines:?}");
        }
    }
}
