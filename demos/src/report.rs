//! The results of a run: one JSON object, or a summary for people.

use std::io::{self, Write};
use std::time::Duration;

use formic_ecs::StateHash;
use serde::{Serialize, Serializer};

use crate::explain::{Explained, explained};
use crate::failure::Failure;
use crate::plan::Plan;
use crate::simulation::{Counter, Simulation};
use crate::text::{counted, duration, grouped, rounded, write_json, write_line};

/// The progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lived {
    /// The number of ticks that the world has run.
    pub ticks: u64,
    /// The number of them that were run before the game was saved.
    pub from: u64,
    /// The time they took, without the time for recording.
    pub elapsed: Duration,
    /// Whether a person has played: then the time depends on the person and not on the program.
    pub is_played: bool,
    /// Whether the user has stopped the run before its end.
    pub is_interrupted: bool,
}

/// The results of a run.
struct Report<'a> {
    plan: &'a Plan,
    simulation: &'a dyn Simulation,
    lived: Lived,
    explained: Vec<Explained>,
    state_hash: StateHash,
    check: &'a str,
}

/// Collects the results of a simulation, and writes them in the form that the plan asks for.
///
/// # Errors
/// Returns [`Failure::Stdout`] if `out` cannot be written.
pub fn write(
    plan: &Plan,
    simulation: &dyn Simulation,
    lived: Lived,
    check: &Result<(), String>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let (explained, state_hash) = (explained(simulation), simulation.state_hash());
    let check = check.as_ref().err().map_or("ok", String::as_str);
    let report = Report { plan, simulation, lived, explained, state_hash, check };
    let written = match plan.results.json {
        true => write_json(out, &report.json()),
        false => report.write_text(out),
    };
    written.map_err(Failure::Stdout)
}

impl Report<'_> {
    fn json(&self) -> Json<'_> {
        let setup = &self.plan.setup;
        Json {
            demo: self.plan.demo.name,
            agents: setup.agents,
            ticks: self.lived.ticks,
            seed: setup.seed,
            threads: setup.threads,
            state_hash: format!("{:016x}", self.state_hash.value()),
            uncovered: self.state_hash.uncovered().iter().map(|name| &**name).collect(),
            elapsed_ms: rounded(self.lived.elapsed.as_secs_f64() * 1e3),
            ns_per_agent_tick: rounded(self.ns_per_agent_tick()),
            check: self.check,
            explained: &self.explained,
            counters: Counters(self.simulation.counters()),
        }
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}\n", self.headline())?;
        for (label, text) in self.plan.demo.summary(self.simulation) {
            write_line(out, label, &text)?;
        }
        let hash = format!("{}, whatever the number of threads", self.state_hash);
        write_line(out, "state hash", &hash)?;
        write_line(out, "check", if self.check == "ok" { "passed" } else { self.check })?;
        if let Some(path) = &self.plan.results.png {
            write_line(out, "picture", &path.display().to_string())?;
        }
        self.explained.iter().try_for_each(|explained| write_explained(out, explained))
    }

    /// Returns the sentence above the columns.
    fn headline(&self) -> String {
        let Plan { demo, setup, .. } = self.plan;
        let run = format!(
            "{}: {}, {} from seed {}",
            demo.name,
            counted(setup.agents.into(), demo.agents_noun),
            counted(self.lived.ticks, "ticks"),
            setup.seed,
        );
        let elapsed = duration(self.lived.elapsed);
        if self.lived.is_played {
            return format!("{run}, played in {elapsed}");
        }
        let each = Duration::from_secs_f64(self.ns_per_agent_tick() / 1e9).as_nanos();
        let each = grouped(u64::try_from(each).unwrap_or(u64::MAX));
        let threads = counted(setup.threads as u64, "threads");
        format!("{run} in {elapsed} on {threads} ({each} ns per agent and tick)")
    }

    /// Returns the time per tick and agent; 0 for a run without ticks, and for one that was played.
    fn ns_per_agent_tick(&self) -> f64 {
        if self.lived.is_played {
            return 0.0;
        }
        let agent_ticks =
            f64::from(self.plan.setup.agents) * (self.lived.ticks - self.lived.from) as f64;
        if agent_ticks > 0.0 { self.lived.elapsed.as_secs_f64() * 1e9 / agent_ticks } else { 0.0 }
    }
}

/// Writes a paragraph for each agent to be explained.
fn write_explained(out: &mut dyn Write, explained: &Explained) -> io::Result<()> {
    writeln!(out)?;
    if explained.earlier > 0 {
        writeln!(out, "{} earlier decisions are not shown.", grouped(explained.earlier))?;
    }
    explained.decisions.iter().try_for_each(|sentence| writeln!(out, "{sentence}"))
}

/// The object that `--json` prints; its keys are in this order.
#[derive(Serialize)]
struct Json<'a> {
    demo: &'static str,
    agents: u32,
    ticks: u64,
    seed: u64,
    threads: usize,
    state_hash: String,
    /// The components that the hash does not cover.
    uncovered: Vec<&'a str>,
    elapsed_ms: f64,
    ns_per_agent_tick: f64,
    check: &'a str,
    #[serde(skip_serializing_if = "<[Explained]>::is_empty")]
    explained: &'a [Explained],
    #[serde(flatten)]
    counters: Counters,
}

/// Counters as a map, so that they stand beside the other keys.
struct Counters(Vec<Counter>);

impl Serialize for Counters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}
