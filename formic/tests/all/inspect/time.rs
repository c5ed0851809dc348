//! The world is paused, stepped, stopped by breakpoints and taken back in time.

use formic::inspect::{Host, Scene, View};
use formic::jobs::Step;

use super::*;

#[test]
fn a_program_is_paused_stepped_and_let_run_again() {
    let program = program();
    program.post("/api/run", json!({ "running": true }));
    let paused = program.pause();
    std::thread::sleep(Duration::from_millis(50));
    let state = program.get("/api/state");
    assert_eq!((&state["tick"], &state["running"]), (&paused["tick"], &false.into()));
    assert_eq!(state["state_hash"], paused["state_hash"]);
    let tick = paused["tick"].as_u64().expect("a number");
    let (_, state) = program.post("/api/step", json!({ "what": "tick", "count": 7 }));
    assert_eq!(state["tick"], tick + 7);
    let (_, state) = program.post("/api/step", json!({ "what": "system" }));
    assert_eq!((&state["stepping"], &state["tick"]), (&true.into(), &(tick + 7).into()), "{state}");
    let systems = program.get("/api/systems");
    let texts = systems["systems"].to_string();
    assert!(texts.contains("grow") && texts.contains("has not run"), "{systems}");
    program.post("/api/run", json!({ "running": true }));
    let deadline = Instant::now() + Duration::from_secs(20);
    while program.get("/api/state")["tick"].as_u64() < Some(tick + 20) {
        assert!(Instant::now() < deadline, "it goes on");
    }
    assert!(program.end() >= tick + 20);
}

#[test]
fn a_world_that_lived_before_keeps_the_numbers_of_its_ticks() {
    fn aged() -> (World, Schedule) {
        let (mut world, mut schedule) = cats();
        let pool = Pool::new(Threads::None).expect("no threads are needed");
        (0..5).for_each(|_| drop(schedule.run(&mut world, &pool)));
        (world, schedule)
    }
    let program = living(aged);
    assert_eq!(program.get("/api/state")["tick"], 6, "one of them by the loop");
    let (_, state) = program.post("/api/step", json!({ "what": "tick", "count": 2 }));
    assert_eq!(state["tick"], 8);
}

#[test]
fn ticks_that_are_asked_for_together_with_systems_are_run_by_the_program() {
    let program = living_with(field, Duration::from_millis(300));
    let address = program.address;
    let tick = program.pause()["tick"].as_u64().expect("a number");
    let step = move |what: &str, count: u64| {
        let body = json!({ "what": what, "count": count });
        std::thread::spawn(move || request(address, "POST", "/api/step", &body))
    };
    // Both arrive while the program is in the loop of its own.
    let first = step("tick", 1);
    std::thread::sleep(Duration::from_millis(100));
    let start = Instant::now();
    let others = [step("system", 1), step("tick", 5)];
    for asked in others.into_iter().chain([first]) {
        assert_eq!(asked.join().expect("it does not panic").0, 200);
    }
    assert!(start.elapsed() > Duration::from_millis(5 * 300), "{:?}", start.elapsed());
    assert_eq!(program.get("/api/state")["tick"], tick + 7);
}

#[test]
fn the_time_of_a_tick_is_without_the_sleep_of_the_program_and_the_thoughts_of_a_person() {
    let program = living_with(field, Duration::from_millis(300));
    program.pause();
    let (_, state) = program.post("/api/step", json!({ "what": "tick", "count": 2 }));
    let tick_ms = |state: &Value| state["tick_ms"].as_f64().expect("a number");
    assert!(tick_ms(&state) > 0.0 && tick_ms(&state) < 150.0, "{state}");
    program.post("/api/step", json!({ "what": "system" }));
    std::thread::sleep(Duration::from_secs(3));
    let (_, state) = program.post("/api/step", json!({ "what": "tick" }));
    assert!(tick_ms(&state) < 150.0, "{state}");
}

#[test]
fn a_breakpoint_stops_the_world_after_the_tick_in_which_an_entity_begins_to_match() {
    let program = program();
    program.pause();
    let cat = program.only("Named = \"Cat 3\"");
    let stop_when =
        |query: &str| program.post("/api/break", json!({ "break": "add", "query": query }));
    assert_eq!(stop_when("Hunger > 0.0355, Hunger < 0.04").0, 200);
    let (_, state) = program.post("/api/step", json!({ "what": "tick", "count": 1_000 }));
    assert_eq!(
        (&state["running"], &state["stop"]["entity"]),
        (&false.into(), &json!(cat)),
        "{state}"
    );
    assert!(state["tick"].as_u64() < Some(10) && state["stop"]["tick"] == state["tick"], "{state}");
    let hunger =
        program.component(&cat, "Hunger").expect("it has it")["fields"][0]["value"].clone();
    let hunger: f32 = hunger.as_str().expect("a text").parse().expect("a number");
    assert!(hunger > 0.0355 && hunger < 0.0366, "{hunger}");
    // Cat 3 goes on to match, and is no reason to stop again; the next one is Cat 2.
    let (_, state) = program.post("/api/step", json!({ "what": "tick", "count": 1_000 }));
    assert_eq!(state["stop"]["entity"], program.only("Named = \"Cat 2\""), "{state}");
    let number = program.get("/api/time")["breakpoints"][0]["number"].clone();
    let remove = json!({ "break": "remove", "number": number });
    assert_eq!(program.post("/api/break", remove.clone()).0, 200);
    assert_eq!(program.post("/api/break", remove).0, 404);
    let (_, state) = program.post("/api/step", json!({ "what": "tick", "count": 100 }));
    assert_eq!(state["stop"], Value::Null, "it is gone");
}

#[test]
fn breakpoints_that_are_none_are_refused() {
    let program = program();
    program.pause();
    for (query, status) in [
        ("", 400),
        (",,", 400),
        ("Thirst > 1", 400),
        ("chooses eat", 400),
        ("4294967295 chooses eat", 404),
        ("99999999999 chooses eat", 400),
        ("1 chooses ", 400),
    ] {
        let (found, answer) = program.post("/api/break", json!({ "break": "add", "query": query }));
        assert_eq!(found, status, "{query}: {answer}");
        assert!(answer["error"].is_string(), "{query}: {answer}");
    }
    for body in [
        json!({ "break": "add" }),
        json!({ "break": "add", "query": 7 }),
        json!({ "break": "remove", "number": u64::MAX }),
        json!({ "break": "remove", "number": -1 }),
        json!({ "break": "all", "query": "Hunger" }),
        json!([1]),
    ] {
        assert_eq!(program.post("/api/break", body.clone()).0, 400, "{body}");
    }
    for place in 0..9 {
        let (status, _) =
            program.post("/api/break", json!({ "break": "add", "query": "0, Hunger > 5" }));
        assert_eq!(status, if place < 8 { 200 } else { 400 }, "eight are enough");
    }
}

#[test]
fn the_world_goes_back_to_any_tick_that_is_kept_and_forth_again() {
    let program = living(field);
    program.pause();
    let step = |count: u64| {
        let (status, state) = program.post("/api/step", json!({ "what": "tick", "count": count }));
        assert_eq!(status, 200, "{state}");
        (state["tick"].as_u64().expect("a number"), state["state_hash"].clone())
    };
    let go = |tick: u64| program.post("/api/rewind", json!({ "tick": tick }));
    let bytes_of = |history: &Value, saves: u64| {
        let bytes = history["bytes"].as_u64()? * saves / history["saves"].as_u64()?;
        Some(bytes)
    };
    step(1);
    assert_eq!(go(1).0, 409, "nothing is kept yet");
    let history = || program.get("/api/time")["history"].clone();
    assert_eq!((&history()["saves"], &history()["from"]), (&json!(0), &Value::Null));
    let (_, time) = program.post("/api/history", json!({ "every": 7 }));
    let from = time["history"]["from"].as_u64().expect("a save");
    let lived: Vec<_> = (0..30).map(|_| step(1)).collect();
    for place in [29, 3, 12, 0, 29, 20, 6, 7] {
        let (tick, hash) = &lived[place];
        let (status, state) = go(*tick);
        assert_eq!((status, &state["tick"], &state["state_hash"]), (200, &json!(tick), hash));
    }
    let all_kept = history();
    assert_eq!(all_kept["saves"], 5, "{all_kept}");
    // What is lived from here on was lived alike before, but this is another time.
    assert_eq!(step(1), lived[8]);
    assert_eq!(go(lived[9].0).0, 400, "it is another time");

    // A change by a person is not lived across: before it is before it, and after it is after it.
    let grain = program.found("Grain").len();
    assert_eq!(grain, 3);
    let (_, list) = program.post("/api/query", json!({ "query": "Grain" }));
    let first = &list["entities"][0]["entity"];
    let set =
        json!({ "edit": "set", "entity": first, "component": "Grain", "field": 0, "value": "5" });
    assert_eq!(program.post("/api/edit", set).0, 200);
    let edited = program.get("/api/state")["state_hash"].clone();
    assert_ne!(edited, lived[8].1);
    // The start, two saves after it, and that of the edit; what they take is known.
    let kept = history();
    assert_eq!(kept["saves"], 3, "{kept}");
    let few = bytes_of(&all_kept, 2)..bytes_of(&all_kept, 4);
    assert!(few.contains(&kept["bytes"].as_u64()), "{kept} of {all_kept}");
    let later = step(9);
    assert_eq!(go(lived[8].0).1["state_hash"], edited);
    assert_eq!(go(lived[5].0).1["state_hash"], lived[5].1);
    assert_eq!(go(later.0).1["state_hash"], later.1);

    // A graph and a breakpoint go along.
    assert_eq!(go(from).0, 200);
    let add = json!({ "graph": "add", "entity": first, "component": "Grain", "field": 0 });
    assert_eq!(program.post("/api/graph", add).0, 200);
    let add = json!({ "break": "add", "query": "Grain > 20" });
    assert_eq!(program.post("/api/break", add).0, 200);
    assert_eq!(go(lived[3].0).1["tick"], lived[3].0, "no breakpoint holds it up");
    let ticks = program.get("/api/time")["graphs"][0]["ticks"].clone();
    assert_eq!(ticks.as_array().map(Vec::len), usize::try_from(lived[3].0 - from + 1).ok());
    go(lived[1].0);
    let ticks = program.get("/api/time")["graphs"][0]["ticks"].clone();
    assert_eq!(ticks.as_array().map(Vec::len), usize::try_from(lived[1].0 - from + 1).ok());

    // It is forgotten.
    assert_eq!(program.post("/api/history", json!({ "every": 0 })).0, 200);
    assert_eq!(go(from).0, 409);
    program.post("/api/run", json!({ "running": true }));
    assert!(program.end() > 0);
}

#[test]
fn a_past_that_cannot_be_kept_says_why() {
    let program = program();
    program.pause();
    let (status, answer) = program.post("/api/history", json!({ "every": 10 }));
    let fault = answer["error"].as_str().expect("a reason");
    assert!(status == 409 && fault.contains("Hunger") && fault.contains("serde"), "{answer}");
    let told = program.get("/api/time")["history"].clone();
    assert_eq!((&told["every"], &told["fault"]), (&0.into(), &json!(fault)));
    for body in [
        json!({ "every": 10_001 }),
        json!({ "every": u64::MAX }),
        json!({ "every": -1 }),
        json!({ "every": "often" }),
        json!({}),
    ] {
        assert_eq!(program.post("/api/history", body.clone()).0, 400, "{body}");
    }
    let program = living(field);
    program.pause();
    assert_eq!(program.post("/api/history", json!({ "every": 10_000 })).0, 200);
    assert_eq!(program.post("/api/history", json!({ "every": 1 })).0, 200);
    for tick in [json!(u64::MAX), json!(1_u64 << 40), json!(-1), json!("now"), json!(null)] {
        let (status, answer) = program.post("/api/rewind", json!({ "tick": tick }));
        assert!(status == 400 && answer["error"].is_string(), "{tick}: {answer}");
    }
}

#[test]
fn a_replay_that_is_interrupted_leaves_another_time() {
    let program = living_with(field, Duration::from_millis(100));
    let from = program.pause()["tick"].as_u64().expect("a number");
    assert_eq!(program.post("/api/history", json!({ "every": 1_000 })).0, 200);
    program.post("/api/step", json!({ "what": "tick", "count": 8 }));
    let go = |tick: u64| program.post("/api/rewind", json!({ "tick": tick }));
    assert_eq!(go(from).0, 200);
    let (address, goal) = (program.address, json!({ "tick": from + 8 }));
    let replay = std::thread::spawn(move || request(address, "POST", "/api/rewind", &goal));
    std::thread::sleep(Duration::from_millis(250));
    program.post("/api/run", json!({ "running": false }));
    assert_eq!(replay.join().expect("it does not panic").0, 200);
    let (_, state) = program.post("/api/step", json!({ "what": "tick" }));
    let tick = state["tick"].as_u64().expect("a number");
    assert!(tick < from + 8, "{state}");
    assert_eq!(program.get("/api/time")["history"]["to"], tick, "what came later is forgotten");
}

/// A world that takes its own time: so many ticks a second.
struct Slow(World, Schedule, Pool, f32);

impl View for Slow {
    fn scene(&self) -> Scene {
        Scene { ticks_per_second: self.3, ..Scene::default() }
    }
}

impl Host for Slow {
    fn world(&self) -> &World {
        &self.0
    }

    fn world_mut(&mut self) -> &mut World {
        &mut self.0
    }

    fn schedule(&self) -> &Schedule {
        &self.1
    }

    fn threads(&self) -> usize {
        1
    }

    fn tick(&mut self) {
        self.1.run(&mut self.0, &self.2);
    }

    fn step(&mut self) -> Step {
        self.1.step(&mut self.0, &self.2).step
    }

    fn view(&self) -> &dyn View {
        self
    }

    fn view_mut(&mut self) -> &mut dyn View {
        self
    }
}

#[test]
fn a_world_that_is_told_to_end_does_not_wait_for_its_next_tick() {
    for ticks_per_second in [0.1, 1e-30] {
        let (world, schedule) = cats();
        let pool = Pool::new(Threads::None).expect("no threads are needed");
        let mut host = Slow(world, schedule, pool, ticks_per_second);
        let inspector = Inspector::bind("127.0.0.1:0").expect("some port is free");
        let start = Instant::now();
        inspector.run(&mut host, || start.elapsed() > Duration::from_millis(300));
        assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    }
}
