//! The runner with a world of two numbers, so that the shell is proven apart
//! from any demo.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use formic::inspect::View;
use formic_demos::arguments::Results;
use formic_demos::card::{Demo, no_arguments};
use formic_demos::engine::Engine;
use formic_demos::failure::Failure;
use formic_demos::plan::Plan;
use formic_demos::raster::{Colour, Point, Raster};
use formic_demos::report::{self, Lived};
use formic_demos::runner;
use formic_demos::setup::Setup;
use formic_demos::simulation::{Counter, Simulation};
use formic_ecs::{HashState, StateHash, World};
use formic_jobs::Schedule;

use crate::support::{is_picture, scratch, text};

const DRIFT: Demo = Demo {
    name: "drift",
    about: "A dot moves to the right",
    agents_noun: "dots",
    agents_default: 3,
    ticks_default: 4,
    summary: &[("steps", "{steps} of them")],
    arguments: no_arguments,
    build: |_, _| Ok(Box::new(Drift::new(99))),
};

/// A dot that moves to the right, and that is wrong when it gets to `wall`.
struct Drift {
    place: i32,
    wall: i32,
    engine: Engine,
}

impl Drift {
    fn new(wall: i32) -> Self {
        let setup = Setup { agents: 3, ticks: 4, seed: u64::MAX, threads: 1 };
        let engine = Engine::new(&setup, World::new(), Schedule::builder());
        Self { place: 0, wall, engine: engine.expect("no systems have an order") }
    }
}

impl View for Drift {}

impl Simulation for Drift {
    fn engine(&self) -> &Engine {
        &self.engine
    }
    fn engine_mut(&mut self) -> &mut Engine {
        &mut self.engine
    }
    fn tick(&mut self) {
        self.place += 1;
    }
    fn state_hash(&self) -> StateHash {
        World::new().state_hash().and(|hasher| self.place.hash_state(hasher))
    }
    fn counters(&self) -> Vec<Counter> {
        vec![("steps", 1_234), ("a_first", u64::MAX)]
    }
    fn check(&self) -> Result<(), String> {
        if self.place < self.wall { Ok(()) } else { Err("a dot is inside\na wall".into()) }
    }
    fn raster(&self) -> Raster {
        let mut raster = Raster::new(32, 8, Colour::ROCK);
        raster.disc(Point::new(self.place, 4), 2, Colour::WHITE);
        raster
    }
    fn lines(&self) -> Vec<(&'static str, String)> {
        vec![("place", self.place.to_string())]
    }
}

fn plan(json: bool, png: Option<PathBuf>) -> Plan {
    let setup = Setup { agents: 3, ticks: 4, seed: u64::MAX, threads: 2 };
    Plan::new(&DRIFT, setup, Results { json, png, ..Results::default() })
}

fn run(plan: &Plan, wall: i32) -> (Result<(), Failure>, String) {
    let mut out = Vec::new();
    let result = runner::run(plan, &mut Drift::new(wall), &mut out);
    (result, text(&out))
}

#[test]
fn json_is_one_object_with_the_keys_in_order() {
    let (result, out) = run(&plan(true, None), 99);
    result.expect("nothing is wrong");
    let value: serde_json::Value = serde_json::from_str(&out).expect("one JSON value");
    assert_eq!(value["seed"], u64::MAX);
    let hash = Drift { place: 4, ..Drift::new(99) }.state_hash().value();
    assert_eq!(value["state_hash"], format!("{hash:016x}"));
    assert_eq!(value["uncovered"], serde_json::json!([]));
    assert_eq!(value["check"], "ok");
    assert_eq!(value["a_first"], u64::MAX);
    let keys: Vec<&str> =
        out.split('"').filter(|part| out.contains(&format!("\"{part}\":"))).collect();
    let expected = [
        "demo",
        "agents",
        "ticks",
        "seed",
        "threads",
        "state_hash",
        "uncovered",
        "elapsed_ms",
        "ns_per_agent_tick",
        "check",
        "steps",
        "a_first",
    ];
    assert_eq!(keys, expected);
}

#[test]
fn the_summary_has_the_headline_the_lines_and_the_picture() {
    let png = scratch("shell-summary.png");
    let (result, out) = run(&plan(false, Some(png.clone())), 99);
    result.expect("nothing is wrong");
    assert!(out.starts_with("drift: 3 dots, 4 ticks from seed 18446744073709551615 in "), "{out}");
    let hash = Drift { place: 4, ..Drift::new(99) }.state_hash().to_string();
    for part in [
        "steps       1,234 of them",
        "place       4",
        &hash,
        "passed",
        png.to_str().expect("UTF-8"),
    ] {
        assert!(out.contains(part), "no {part:?} in {out}");
    }
    is_picture(&fs::read(&png).expect("the picture is there"));
}

#[test]
fn a_failed_check_still_reports_and_draws() {
    let png = scratch("shell-check.png");
    let (result, out) = run(&plan(true, Some(png.clone())), 2);
    let failure = result.expect_err("the dot is at the wall");
    assert_eq!(failure.exit_code(), 1);
    assert_eq!(failure.to_string(), "check failed: a dot is inside a wall");
    let value: serde_json::Value = serde_json::from_str(&out).expect("one JSON value");
    assert_eq!(value["check"], "a dot is inside\na wall");
    is_picture(&fs::read(&png).expect("the picture is there"));
}

#[test]
fn no_ticks_is_a_run_of_no_time_per_tick() {
    let mut plan = plan(true, None);
    plan.setup.ticks = 0;
    let (result, out) = run(&plan, 99);
    result.expect("nothing is wrong");
    assert!(out.contains("\"ns_per_agent_tick\":0.0"), "{out}");
}

#[test]
fn a_picture_that_cannot_be_written_stops_the_run_before_its_first_tick() {
    let mut world = Drift::new(99);
    let png = scratch("shell-none").join("out.png");
    let failure = runner::run(&plan(false, Some(png)), &mut world, &mut Vec::new())
        .expect_err("there is no such folder");
    assert_eq!((failure.exit_code(), world.place), (2, 0));
}

/// A stream that answers every write with one kind of error.
struct Broken(io::ErrorKind);

impl Write for Broken {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(self.0.into())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_closed_pipe_is_quiet_unless_the_check_failed() {
    let run = |kind, wall| {
        let mut world = Drift::new(wall);
        let result = runner::run(&plan(true, None), &mut world, &mut Broken(kind));
        result.expect_err("nothing can be written").exit_code()
    };
    assert_eq!(run(io::ErrorKind::BrokenPipe, 99), 0);
    assert_eq!(run(io::ErrorKind::BrokenPipe, 2), 1);
    assert_eq!(run(io::ErrorKind::StorageFull, 99), 2);
}

#[test]
fn the_time_of_a_person_who_played_is_not_counted_for_each_agent() {
    let plan = plan(false, None);
    let headline = |is_played| {
        let elapsed = std::time::Duration::from_secs(100);
        let lived = Lived { ticks: 4, from: 0, elapsed, is_played, is_interrupted: false };
        let mut out = Vec::new();
        let written = report::write(&plan, &Drift::new(99), lived, &Ok(()), &mut out);
        written.expect("memory takes it");
        text(&out).lines().next().expect("a headline").to_owned()
    };
    assert!(headline(false).contains("ns per agent and tick"), "{}", headline(false));
    let played = headline(true);
    assert!(played.ends_with("played in 100.0 s") && !played.contains("ns per"), "{played}");
}
