//! One crowd under six decision engines: what each costs, and how each behaves.
//!
//! Foragers gather berries, eat them, sleep, and hide while the wolf is there. Six crowds begin alike. In
//! the first an `if` decides and a `match` acts. In the others these four are action entities, the same
//! in all of them, and each crowd has another decision engine that decides which of them run.
//!
//! ```text
//!   live ──> think (one of five) ──> identify ──> gather, eat, sleep, hide ──> bite
//!   live ──> decide and act (if and match) ──────────────────────────────────> bite
//! ```
//!
//! * `forager`: the components of all foragers, the passing of time, and the wolf;
//! * `actions`: the four actions;
//! * `if_else`, `sequence`, `machine`, `tree`, `utility`, `planner`: the decision engines, a file for
//!   each;
//! * `crowd`: a world with one of them, and its statistics;
//! * `picture`: the activities of the crowds over time;
//! * `view`: the same live, side by side.

mod actions;
mod crowd;
mod forager;
mod if_else;
mod machine;
mod picture;
mod planner;
mod sequence;
#[cfg(test)]
mod tests;
mod tree;
mod utility;
mod view;

use std::sync::Arc;

use formic_ecs::{StateHash, World};
use formic_jobs::{Save, Step};
use serde_json::{Value, json};

use self::crowd::{Crowd, Mind, Tally};
use crate::card::{Demo, no_arguments};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::raster::Raster;
use crate::setup::Setup;
use crate::simulation::{Counter, Simulation};

/// The card of this demo.
pub const DEMO: Demo = Demo {
    name: "minds",
    about: "One crowd under an if, a sequence, a state machine, a tree, utility and a planner",
    agents_noun: "foragers",
    agents_default: 12_000,
    ticks_default: 3_000,
    summary: &[],
    arguments: no_arguments,
    build: |setup, _| simulation(setup),
};

/// The decision engines, from the simplest to the one that thinks most.
const MINDS: [&Mind; 6] =
    [&if_else::MIND, &sequence::MIND, &machine::MIND, &tree::MIND, &utility::MIND, &planner::MIND];

struct Minds {
    crowds: Vec<Crowd>,
    /// The crowd in focus.
    focus: usize,
}

/// Divides the agents among the crowds; each has at least one.
fn simulation(setup: &Setup) -> Result<Box<dyn Simulation>, Failure> {
    let pool = Arc::new(setup.pool()?);
    let count = u32::try_from(MINDS.len()).expect("there are six");
    let crowd = |(mind, number): (&&'static Mind, u32)| {
        let size = (setup.agents / count + u32::from(number < setup.agents % count)).max(1);
        Crowd::new(mind, size, setup, Arc::clone(&pool))
    };
    let crowds = MINDS.iter().zip(0..).map(crowd).collect::<Result<_, _>>()?;
    Ok(Box::new(Minds { crowds, focus: 0 }))
}

impl Minds {
    fn in_focus(&self) -> &Crowd {
        &self.crowds[self.focus]
    }

    fn others(&mut self) -> impl Iterator<Item = &mut Crowd> {
        let focus = self.focus;
        let crowds = self.crowds.iter_mut().enumerate();
        crowds.filter(move |&(number, _)| number != focus).map(|(_, crowd)| crowd)
    }
}

impl Simulation for Minds {
    fn engine(&self) -> &Engine {
        &self.in_focus().engine
    }

    fn engine_mut(&mut self) -> &mut Engine {
        &mut self.crowds[self.focus].engine
    }

    /// Steps through the crowd in focus; the others run their tick when its own is over.
    fn step(&mut self) -> Step {
        let focus = self.focus;
        let step = self.crowds[focus].step();
        if !self.crowds[focus].engine.schedule().is_stepping() {
            self.others().for_each(Crowd::tick);
        }
        step
    }

    fn worlds(&self) -> Vec<(&str, &World)> {
        self.crowds.iter().map(|crowd| (crowd.name(), &crowd.engine.world)).collect()
    }

    fn worlds_mut(&mut self) -> Vec<&mut World> {
        self.crowds.iter_mut().map(|crowd| &mut crowd.engine.world).collect()
    }

    /// Each crowd is a separate process in the trace viewer.
    fn trace(&self) -> String {
        let mut events = Vec::new();
        for (crowd, process) in self.crowds.iter().zip(1_u64..) {
            let trace = crowd.engine.schedule().trace_json();
            let mut trace: Value = serde_json::from_str(&trace).expect("a schedule writes JSON");
            let args = json!({ "name": crowd.name() });
            events.push(json!({ "name": "process_name", "ph": "M", "pid": process, "args": args }));
            for event in trace["traceEvents"].as_array_mut().into_iter().flatten() {
                event["pid"] = process.into();
                events.push(event.take());
            }
        }
        json!({ "displayTimeUnit": "ns", "traceEvents": events }).to_string()
    }

    /// The saves of all other crowds, each by its name, are attached to that of the first.
    fn save(&self) -> Result<Save, String> {
        let one = |crowd: &Crowd| {
            crowd.engine.save().map_err(|error| format!("{}: {error}", crowd.name()))
        };
        let (first, others) = self.crowds.split_first().ok_or("there is no crowd")?;
        let mut save = one(first)?;
        for crowd in others {
            save.attach(crowd.name(), one(crowd)?.to_bytes());
        }
        Ok(save)
    }

    fn load(&mut self, save: &Save) -> Result<String, String> {
        let mut report = String::new();
        let mut first = Some(save);
        for crowd in &mut self.crowds {
            let own = match first.take() {
                Some(save) => save.clone(),
                None => {
                    let bytes = save.attached(crowd.name());
                    let bytes =
                        bytes.ok_or_else(|| format!("no crowd {:?} in it", crowd.name()))?;
                    Save::from_bytes(bytes).map_err(|error| error.to_string())?
                }
            };
            let loaded =
                crowd.engine.load(&own).map_err(|error| format!("{}: {error}", crowd.name()))?;
            report += &loaded.to_string();
        }
        Ok(report)
    }

    fn tick(&mut self) {
        self.crowds.iter_mut().for_each(Crowd::tick);
    }

    fn state_hash(&self) -> StateHash {
        let nothing = World::new().state_hash();
        self.crowds.iter().fold(nothing, |hash, crowd| hash.and_world(crowd.world()))
    }

    fn counters(&self) -> Vec<Counter> {
        self.crowds.iter().flat_map(Crowd::counters).collect()
    }

    fn check(&self) -> Result<(), String> {
        self.crowds.iter().try_for_each(Crowd::check)
    }

    fn raster(&self) -> Raster {
        picture::draw(&self.crowds)
    }

    fn lines(&self) -> Vec<(&'static str, String)> {
        let rows = self.crowds.iter().map(|crowd| (crowd.name(), crowd.row()));
        std::iter::once(("mind", Tally::HEAD.to_owned())).chain(rows).collect()
    }
}
