//! The timeline: what ran where, as a file that other programs read.
#![cfg(feature = "timeline")]

mod support;

use ecs_core::prelude::*;
use ecs_jobs::prelude::*;
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::Duration;
use support::pool;

fn work<const NUMBER: usize>() {
    std::thread::sleep(Duration::from_micros(200));
}

fn record(mut commands: Commands<'_>) {
    commands.spawn(());
}

fn seldom() {}

fn events(schedule: &Schedule) -> Vec<Value> {
    let trace: Value = serde_json::from_str(&schedule.trace_json()).expect("it is JSON");
    trace["traceEvents"].as_array().expect("it has events").clone()
}

#[test]
fn the_trace_has_every_system_that_ran_once_and_when() {
    let mut world = World::new();
    let mut schedule = Schedule::builder()
        .add((work::<0>, work::<1>, record, seldom.every(100)))
        .build(&mut world)
        .expect("there is no circle");
    let pool = pool(2);
    for _ in 0..20 {
        schedule.run(&mut world, &pool);
    }
    let events = events(&schedule);
    let named = |name: &str| {
        let has = |event: &&Value| event["name"].as_str().is_some_and(|it| it.ends_with(name));
        events.iter().filter(has).cloned().collect::<Vec<_>>()
    };
    for (name, count) in
        [("work<0>", 20), ("work<1>", 20), ("record", 20), ("seldom", 1), ("sync point", 20)]
    {
        assert_eq!(named(name).len(), count, "{name}");
    }
    let micros = |event: &Value, key: &str| event[key].as_f64().expect("it is a number");
    for event in events.iter().filter(|event| event["ph"] == "X") {
        assert!(micros(event, "ts") >= 0.0 && micros(event, "dur") >= 0.0);
        assert!(event["tid"].as_u64().is_some_and(|lane| lane < 3));
    }
    assert!(named("work<0>").iter().all(|event| micros(event, "dur") >= 200.0));
    // On one thread things come one after the other.
    for lane in 0..3 {
        let on_lane = events.iter().filter(|event| event["ph"] == "X" && event["tid"] == lane);
        let times: Vec<_> = on_lane.map(|it| (micros(it, "ts"), micros(it, "dur"))).collect();
        assert!(times.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0 + 0.002));
    }
    let threads: BTreeSet<_> =
        events.iter().filter(|it| it["ph"] == "M").map(|it| it["tid"].as_u64()).collect();
    assert!(!threads.is_empty());
}

#[test]
fn a_ring_keeps_the_newest() {
    let mut world = World::new();
    let mut schedule = Schedule::builder().add(seldom).build(&mut world).expect("no circle");
    let pool = pool(0);
    for _ in 0..5_000 {
        schedule.run(&mut world, &pool);
    }
    let events = events(&schedule);
    let times: Vec<_> = events.iter().filter_map(|event| event["ts"].as_f64()).collect();
    assert_eq!(times.len(), 4096);
    assert!(times.windows(2).all(|pair| pair[0] <= pair[1]));
}

#[test]
fn names_are_quoted() {
    struct Odd;
    impl ecs_jobs::System for Odd {
        fn name(&self) -> &str {
            "a \"quoted\" \\ name\n\u{1}"
        }

        fn initialize(&mut self, _world: &mut World) -> ecs_jobs::SystemAccess {
            ecs_jobs::SystemAccess::default()
        }

        fn run(&mut self, _context: ecs_jobs::RunContext<'_>) {}
    }
    let mut world = World::new();
    let odd = ecs_jobs::SystemConfig::of(Odd);
    let mut schedule = Schedule::builder().add(odd).build(&mut world).expect("no circle");
    schedule.run(&mut world, &pool(0));
    assert_eq!(events(&schedule)[0]["name"], "a \"quoted\" \\ name\n\u{1}");
}
