//! The timeline: what ran where, as a file that other programs read.

use crate::support::pool;
use formic_ecs::prelude::*;
use formic_jobs::prelude::*;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

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
        .expect("there is no cycle");
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
        assert!(event["tid"].as_u64().is_some_and(|track| track < 3));
    }
    assert!(named("work<0>").iter().all(|event| micros(event, "dur") >= 200.0));
    let mut ticks: Vec<_> = named("record").iter().map(|it| it["args"]["tick"].as_u64()).collect();
    ticks.sort_unstable();
    assert_eq!(ticks, (0..20).map(Some).collect::<Vec<_>>(), "each event names its tick");
    // On one thread things come one after the other.
    for track in 0..3 {
        let on_track = events.iter().filter(|event| event["ph"] == "X" && event["tid"] == track);
        let times: Vec<_> = on_track.map(|it| (micros(it, "ts"), micros(it, "dur"))).collect();
        assert!(times.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0 + 0.002));
    }
    let threads: BTreeSet<_> =
        events.iter().filter(|it| it["ph"] == "M").map(|it| it["tid"].as_u64()).collect();
    assert!(!threads.is_empty());
}

#[test]
fn a_ring_keeps_the_newest() {
    let mut world = World::new();
    let mut schedule = Schedule::builder().add(seldom).build(&mut world).expect("no cycle");
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
    impl formic_jobs::System for Odd {
        fn name(&self) -> &str {
            "a \"quoted\" \\ name\n\u{1}"
        }

        fn initialize(&mut self, _world: &mut World) -> formic_jobs::SystemAccess {
            formic_jobs::SystemAccess::default()
        }

        fn run(&mut self, _context: formic_jobs::RunContext<'_>) {}
    }
    let mut world = World::new();
    let odd = formic_jobs::SystemConfig::of(Odd);
    let mut schedule = Schedule::builder().add(odd).build(&mut world).expect("no cycle");
    schedule.run(&mut world, &pool(0));
    assert_eq!(events(&schedule)[0]["name"], "a \"quoted\" \\ name\n\u{1}");
}

#[test]
fn every_span_of_the_last_run_names_what_it_waited_for() {
    use formic_jobs::Delay;
    fn exclusive(_world: &mut World) {}
    let mut world = World::new();
    let builder = Schedule::builder()
        .sharing(formic_jobs::Sharing::Never)
        .add(work::<0>)
        .add(work::<1>)
        .add(work::<2>.after(work::<0>))
        .add(record)
        .add(seldom.after(record))
        .add(exclusive)
        .add(work::<3>);
    let mut schedule = builder.build(&mut world).expect("there is no cycle");
    let pool = pool(0);
    // The first run has the seldom one as well; only the last one is told of.
    schedule.run(&mut world, &pool);
    schedule.run(&mut world, &pool);
    let place = |name: &str| {
        let names = schedule.system_names();
        names.iter().position(|it| it.ends_with(name)).expect("it was added")
    };
    let spans = schedule.last_run();
    let delay_of = |name: &str| {
        let span = spans.iter().find(|span| span.system == Some(place(name)));
        span.expect("it ran").delay
    };
    assert_eq!(delay_of("work<0>"), Delay::Nothing);
    assert_eq!(delay_of("seldom"), Delay::SyncPoint);
    assert_eq!(delay_of("exclusive"), Delay::Order(place("seldom")));
    assert_eq!(delay_of("work<3>"), Delay::Order(place("exclusive")));
    let sync = spans.iter().find(|span| span.system.is_none()).expect("something is recorded");
    assert!(matches!(sync.delay, Delay::Stage(_)), "{sync:?}");
    let in_a_row = ["work<1>", "work<2>", "record"].map(delay_of);
    for delay in in_a_row {
        assert!(matches!(delay, Delay::Thread(_) | Delay::Order(_)), "{delay:?}");
    }
    assert!(spans.windows(2).all(|pair| pair[0].from_ns <= pair[1].from_ns));
    assert!(spans.iter().all(|span| span.from_ns <= span.to_ns && span.thread == 0));
}

#[test]
fn a_span_on_another_thread_waits_for_the_order_alone() {
    use formic_jobs::Delay;
    let mut world = World::new();
    let builder = Schedule::builder()
        .sharing(formic_jobs::Sharing::Always)
        .add((work::<0>, work::<1>))
        .add(work::<2>.after(work::<0>).after(work::<1>));
    let mut schedule = builder.build(&mut world).expect("there is no cycle");
    let pool = pool(2);
    for _ in 0..20 {
        schedule.run(&mut world, &pool);
        let spans = schedule.last_run();
        assert_eq!(spans.len(), 3);
        let last = spans[2];
        let latest = if spans[0].to_ns > spans[1].to_ns { spans[0] } else { spans[1] };
        assert_eq!(last.delay, Delay::Order(latest.system.expect("it is a system")));
    }
}

#[test]
fn a_run_may_be_stepped_through_on_one_pool_and_ended_on_another() {
    fn think() {}
    fn act() {}
    let mut world = World::new();
    let mut schedule = Schedule::builder().add((think, act)).build(&mut world).unwrap();
    schedule.step(&mut world, &Pool::new(Threads::None).unwrap());
    schedule.run(&mut world, &Pool::new(Threads::Own(3)).unwrap());
    assert!(!schedule.is_stepping());
    assert!(schedule.trace_json().contains("act"));
}

#[test]
fn the_time_is_that_of_the_host_and_a_run_is_told_from_others_though_none_goes_by() {
    let time = Arc::new(AtomicU64::new(0));
    let clock = {
        let time = Arc::clone(&time);
        move || Duration::from_millis(time.load(Ordering::Relaxed))
    };
    let pool = Pool::builder().threads(Threads::None).clock(clock).build().unwrap();
    let mut world = World::new();
    let tick = move || _ = time.fetch_add(3, Ordering::Relaxed);
    let mut schedule = Schedule::builder().add((seldom, tick)).build(&mut world).unwrap();
    for run in 0..2 {
        schedule.run(&mut world, &pool);
        let times: Vec<_> =
            schedule.last_run().iter().map(|span| (span.from_ns, span.to_ns)).collect();
        assert_eq!(times, [(0, 0), (0, 3_000_000)], "run {run}");
    }
}
