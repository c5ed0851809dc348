//! The inspector of a program's own world, over plain sockets.
#![cfg(feature = "inspect")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use formic::inspect::Inspector;
use formic::prelude::*;
use serde_json::{Value, json};

#[derive(Component)]
#[component(editable)]
struct Hunger(f32);
#[derive(Component)]
#[component(enableable)]
struct Asleep;
#[derive(Component)]
#[component(editable)]
struct Named(String);
#[derive(Component, Default)]
struct Fleas {
    count: u32,
}

/// Says no when it goes.
#[derive(Component, Default)]
struct Curse;

impl Drop for Curse {
    fn drop(&mut self) {
        panic!("the curse stays");
    }
}

fn grow(mut all: Query<'_, &mut Hunger>) {
    all.for_each(|hunger| hunger.0 += 0.001);
}

/// A component that can be saved.
#[derive(Component, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[component(editable)]
#[repr(C)]
struct Grain {
    count: u64,
}

/// Sows as many as there are.
fn sow(mut all: Query<'_, &mut Grain>) {
    all.for_each(|grain| grain.count = grain.count.wrapping_mul(3) % 1_000_003 + 1);
}

fn scratch(mut all: Query<'_, &mut Fleas>) {
    all.for_each(|fleas| fleas.count += 1);
}

/// A program with a loop of its own, which ends with the test.
struct Program {
    address: SocketAddr,
    is_over: std::sync::Arc<AtomicBool>,
    thread: Option<JoinHandle<u64>>,
}

fn cats() -> (World, Schedule) {
    let mut world = World::new();
    for cat in 0..100_u8 {
        let hunger = Hunger(f32::from(cat) / 100.0);
        let cat = world.spawn((hunger, Asleep, Named(format!("Cat {cat}"))));
        world.set_enabled::<Asleep>(cat, cat.index() % 2 == 0).expect("it has it");
    }
    world.spawn(Fleas { count: 0 });
    world.register::<Curse>();
    let schedule = Schedule::builder().add((grow, scratch)).build(&mut world).expect("an order");
    (world, schedule)
}

fn field() -> (World, Schedule) {
    let mut world = World::new();
    world.spawn_batch((1..=3).map(|count| Grain { count }));
    let schedule = Schedule::builder().add(sow).build(&mut world).expect("an order");
    (world, schedule)
}

fn program() -> Program {
    living(cats)
}

fn living(build: fn() -> (World, Schedule)) -> Program {
    living_with(build, Duration::ZERO)
}

/// Lets a world live, by the ten lines that a user has, and sleeps between two ticks.
fn living_with(build: fn() -> (World, Schedule), sleep: Duration) -> Program {
    let is_over = std::sync::Arc::new(AtomicBool::new(false));
    let over = std::sync::Arc::clone(&is_over);
    let (tell, address) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let (mut world, mut schedule) = build();
        let pool = Pool::new(Threads::None).expect("no threads are needed");
        let inspector = Inspector::bind("127.0.0.1:0").expect("some port is free");
        let mut inspector = inspector.label::<Hunger>("from 0 to 1").paused();
        tell.send(inspector.address()).expect("the test waits");
        while !over.load(Ordering::Relaxed) {
            schedule.run(&mut world, &pool);
            std::thread::sleep(sleep);
            inspector.poll(&mut world, &mut schedule);
        }
        world.check().expect("the world is sound");
        schedule.tick()
    });
    let address = address.recv().expect("the program begins");
    Program { address, is_over, thread: Some(thread) }
}

impl Program {
    /// Ends it, and returns how many ticks it has lived.
    fn end(mut self) -> u64 {
        self.over()
    }

    fn over(&mut self) -> u64 {
        self.is_over.store(true, Ordering::Relaxed);
        // It may be paused; if it is not, it may be over before it answers.
        if let Ok(mut stream) = TcpStream::connect(self.address) {
            let body = r#"{"running":true,"speed":0}"#;
            let head = "POST /api/run HTTP/1.1\r\nHost: localhost\r\nContent-Length:";
            drop(stream.write_all(format!("{head} {}\r\n\r\n{body}", body.len()).as_bytes()));
            drop(stream.read(&mut [0]));
        }
        self.thread.take().map_or(0, |thread| thread.join().expect("it does not panic"))
    }

    fn post(&self, path: &str, body: Value) -> (u16, Value) {
        request(self.address, "POST", path, &body)
    }

    fn get(&self, path: &str) -> Value {
        let (status, answer) = request(self.address, "GET", path, &Value::Null);
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    fn pause(&self) -> Value {
        self.post("/api/run", json!({ "running": false }));
        self.get("/api/state")
    }

    /// The entities that a query finds, by their names.
    fn found(&self, query: &str) -> Vec<String> {
        let (status, answer) = self.post("/api/query", json!({ "query": query }));
        assert_eq!(status, 200, "{query}: {answer}");
        let entities = answer["entities"].as_array().expect("a list");
        entities.iter().map(|it| it["name"].as_str().expect("a name").to_owned()).collect()
    }

    /// The number of the one entity that a query finds.
    fn only(&self, query: &str) -> String {
        let (_, answer) = self.post("/api/query", json!({ "query": query }));
        let entities = answer["entities"].as_array().expect("a list");
        assert_eq!(entities.len(), 1, "{query}: {answer}");
        entities[0]["entity"].as_str().expect("a number as text").to_owned()
    }

    fn component(&self, entity: &str, name: &str) -> Option<Value> {
        let told = self.get(&format!("/api/entity?id={entity}"));
        let components = told["components"].as_array().expect("a list").clone();
        components.into_iter().find(|it| it["name"] == name)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if self.thread.is_some() && !std::thread::panicking() {
            self.over();
        }
    }
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time that is allowed");
    stream
}

fn request(address: SocketAddr, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let length = body.len();
    let head =
        format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n");
    let (status, body) = raw(address, (head + &body).as_bytes()).expect("there is an answer");
    (status, serde_json::from_slice(&body).unwrap_or(Value::Null))
}

/// Sends bytes and reads the answer, if there is one.
fn raw(address: SocketAddr, bytes: &[u8]) -> Option<(u16, Vec<u8>)> {
    let mut stream = connect(address);
    // A refused request may be answered before all of it was sent.
    drop(stream.write_all(bytes));
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).expect("a head is text");
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "))?;
    let mut body = vec![0; length.parse().ok()?];
    stream.read_exact(&mut body).ok()?;
    Some((head.split(' ').nth(1)?.parse().ok()?, body))
}

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
fn entities_are_found_and_one_that_is_not_is_told_why() {
    let program = program();
    program.pause();
    assert_eq!(program.found("Named = \"Cat 7\"").len(), 1);
    assert_eq!(program.found("\"cat 99\", Hunger > 0.9"), program.found("99"));
    assert_eq!(program.found("Asleep, Hunger < 0.5").len(), 25);
    assert_eq!(program.found("without Asleep").len(), 51);
    assert_eq!(program.found("Fleas").len(), 1);
    let flea = program.only("Fleas");
    let body = json!({ "query": "Hunger > 0.5, without Asleep", "entity": flea });
    let (_, answer) = program.post("/api/query", body);
    assert_eq!(answer["matches"], false);
    assert_eq!(answer["reasons"][0], json!(["Hunger > 0.5", "It has no Hunger."]));
    assert_eq!(answer["reasons"][1], json!(["without Asleep", null]));
    // A page of the list at a time.
    let (_, first) = program.post("/api/query", json!({ "query": "" }));
    assert_eq!(
        (first["entities"].as_array().map(Vec::len), &first["next"]),
        (Some(100), &100.into())
    );
    let (_, second) = program.post("/api/query", json!({ "query": "", "after": 100 }));
    assert_eq!(
        (second["entities"].as_array().map(Vec::len), &second["next"]),
        (Some(1), &Value::Null)
    );
}

#[test]
fn a_paused_world_is_edited_and_a_running_one_is_not() {
    let program = program();
    program.pause();
    let cat = program.only("Named = \"Cat 3\"");
    let edit = |body: Value| program.post("/api/edit", body);
    let set = |component: &str, field: u64, value: &str| {
        edit(
            json!({ "edit": "set", "entity": cat, "component": component, "field": field, "value": value }),
        )
    };
    assert_eq!(set("Hunger", 0, "0.25").0, 200);
    assert_eq!(set("Named", 0, "Ada \"the\" cat").0, 200);
    let hunger = program.component(&cat, "Hunger").expect("it has it");
    assert_eq!(hunger["label"], "from 0 to 1");
    let field = json!({ "name": "0", "type": "f32", "value": "0.25", "editable": true });
    assert_eq!(hunger["fields"], json!([field]));
    for (component, field, value) in
        [("Hunger", 0, "much"), ("Hunger", 9, "1"), ("Thirst", 0, "1"), ("Fleas", 0, "1")]
    {
        let (status, answer) = set(component, field, value);
        assert!(status == 400 && answer["error"].is_string(), "{component}: {answer}");
    }
    let escaped = program.post("/api/query", json!({ "query": "\"the\\\" cat\"" }));
    assert_eq!(escaped.0, 400, "quotation marks have no escapes");
    assert_eq!(program.only("\"ADA\""), cat);

    let of = |edit: &str, component: &str| json!({ "edit": edit, "entity": cat, "component": component });
    assert_eq!(edit(of("add", "Fleas")).0, 200);
    assert_eq!(program.component(&cat, "Fleas").expect("it was added")["fields"][0]["value"], "0");
    assert_eq!(edit(of("add", "Hunger")).0, 400, "it has no default value");
    assert_eq!(edit(of("remove", "Hunger")).0, 200);
    assert_eq!(program.component(&cat, "Hunger"), None);
    let on = json!({ "edit": "enable", "entity": cat, "component": "Asleep", "enabled": true });
    assert_eq!(edit(on).0, 200);
    assert_eq!(program.component(&cat, "Asleep").expect("it has it")["enabled"], true);
    program.post("/api/step", json!({ "what": "tick" }));
    let fleas = program.component(&cat, "Fleas").expect("systems see it");
    assert_eq!(fleas["fields"][0]["value"], "1");

    program.post("/api/run", json!({ "running": true }));
    assert_eq!(edit(of("remove", "Fleas")).0, 409, "the world goes on");
    program.pause();
    assert_eq!(edit(json!({ "edit": "despawn", "entity": cat })).0, 200);
    assert_eq!(edit(json!({ "edit": "despawn", "entity": cat })).0, 404);
    let (status, told) =
        request(program.address, "GET", &format!("/api/entity?id={cat}"), &Value::Null);
    assert!(status == 404 && told.to_string().contains("despawned"), "{told}");
}

#[test]
fn an_edit_that_panics_is_an_answer_and_the_program_goes_on() {
    let program = program();
    let before = program.pause()["entities"].clone();
    let cat = program.only("Named = \"Cat 3\"");
    let of = |edit: &str| json!({ "edit": edit, "entity": cat, "component": "Curse" });
    assert_eq!(program.post("/api/edit", of("add")).0, 200);
    let (status, answer) = program.post("/api/edit", of("remove"));
    assert_eq!(status, 500, "{answer}");
    assert_eq!(program.component(&cat, "Curse"), None, "it is gone all the same");
    let (_, state) = program.post("/api/step", json!({ "what": "tick" }));
    assert_eq!(state["entities"], before);
}

#[test]
fn a_query_has_a_limit_of_terms() {
    let program = program();
    program.pause();
    let long = ["Hunger"; 16].join(",");
    assert_eq!(program.found(&long).len(), 100);
    let body = json!({ "query": format!("{long},Hunger") });
    assert_eq!(program.post("/api/query", body).0, 400);
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
fn a_graph_has_the_numbers_of_a_field_over_the_last_ticks() {
    let program = program();
    program.pause();
    let cat = program.only("Named = \"Cat 3\"");
    let add = |component: &str, field: u64| json!({ "graph": "add", "entity": cat, "component": component, "field": field });
    let (status, time) = program.post("/api/graph", add("Hunger", 0));
    assert_eq!((status, &time["graphs"][0]["unit"]), (200, &json!("from 0 to 1")), "{time}");
    let step = |count: u64| program.post("/api/step", json!({ "what": "tick", "count": count }));
    step(50);
    let graph = program.get("/api/time")["graphs"][0].clone();
    let numbers = |of: &Value| {
        let list = of.as_array().expect("a list").clone();
        list.iter().map(|it| it.as_f64().expect("a number")).collect::<Vec<_>>()
    };
    let (ticks, values) = (numbers(&graph["ticks"]), numbers(&graph["lines"][0]));
    assert_eq!(
        (ticks.len(), values.len(), graph["lines"].as_array().map(Vec::len)),
        (51, 51, Some(1))
    );
    for pair in ticks.windows(2).zip(values.windows(2)) {
        let ([before, after], [less, more]) = pair else { panic!("two each") };
        assert!(
            (after - before - 1.0).abs() < 1e-9 && (more - less - 0.001).abs() < 1e-5,
            "{pair:?}"
        );
    }
    // The same once more is the same.
    assert_eq!(
        program.post("/api/graph", add("Hunger", 0)).1["graphs"].as_array().map(Vec::len),
        Some(1)
    );
    step(1_000);
    let ticks = numbers(&program.get("/api/time")["graphs"][0]["ticks"]);
    assert_eq!(ticks.len(), 600, "older ones are gone");
    // What is gone is drawn no further.
    program.post("/api/edit", json!({ "edit": "despawn", "entity": cat }));
    step(5);
    let after = numbers(&program.get("/api/time")["graphs"][0]["ticks"]);
    assert_eq!(after, ticks);
}

#[test]
fn graphs_of_what_is_no_number_are_refused() {
    let program = program();
    program.pause();
    let cat = program.only("Named = \"Cat 3\"");
    for (entity, component, field, status) in [
        (&*cat, "Named", 0_u64, 400),
        (&cat, "Asleep", 0, 400),
        (&cat, "Hunger", 1, 400),
        (&cat, "Hunger", u64::MAX, 400),
        (&cat, "Thirst", 0, 400),
        (&cat, "Fleas", 0, 400),
        ("18446744073709551614", "Hunger", 0, 404),
        ("one", "Hunger", 0, 400),
    ] {
        let body =
            json!({ "graph": "add", "entity": entity, "component": component, "field": field });
        let (found, answer) = program.post("/api/graph", body);
        assert_eq!(found, status, "{component} {field} of {entity}: {answer}");
    }
    for body in [json!({ "graph": "add" }), json!({ "graph": "remove", "number": "1" }), json!(1)] {
        assert_eq!(program.post("/api/graph", body.clone()).0, 400, "{body}");
    }
    assert_eq!(program.post("/api/graph", json!({ "graph": "remove", "number": 77 })).0, 404);
    for cat in 0..9 {
        let entity = program.only(&format!("Named = \"Cat {cat}\""));
        let body = json!({ "graph": "add", "entity": entity, "component": "Hunger", "field": 0 });
        assert_eq!(program.post("/api/graph", body).0, if cat < 8 { 200 } else { 400 });
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
    assert_eq!(go(1).0, 409, "nothing is kept yet");
    let (_, time) = program.post("/api/history", json!({ "every": 7 }));
    let from = time["history"]["from"].as_u64().expect("a save");
    let lived: Vec<_> = (0..30).map(|_| step(1)).collect();
    for place in [29, 3, 12, 0, 29, 20, 6, 7] {
        let (tick, hash) = &lived[place];
        let (status, state) = go(*tick);
        assert_eq!((status, &state["tick"], &state["state_hash"]), (200, &json!(tick), hash));
    }
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
    assert_eq!(program.post("/api/history", json!({ "every": 1 })).0, 200);
    for tick in [json!(u64::MAX), json!(1_u64 << 40), json!(-1), json!("now"), json!(null)] {
        let (status, answer) = program.post("/api/rewind", json!({ "tick": tick }));
        assert!(status == 400 && answer["error"].is_string(), "{tick}: {answer}");
    }
}

#[test]
fn a_bogus_entity_is_an_error_and_takes_no_memory() {
    let program = program();
    program.pause();
    let hash = program.get("/api/state")["state_hash"].clone();
    // The highest index, of a generation that there may be.
    let bogus = ((1_u64 << 32) | u64::from(u32::MAX - 1)).to_string();
    for path in ["/api/select", "/api/edit", "/api/query"] {
        let body = match path {
            "/api/edit" => json!({ "edit": "despawn", "entity": bogus }),
            "/api/query" => json!({ "query": "", "entity": bogus }),
            _ => json!({ "entity": bogus }),
        };
        assert_eq!(program.post(path, body).0, 404, "{path}");
    }
    for text in ["", "0", "-1", "1v", "v1", "1v1v1", "1v0", "99999999999999999999999"] {
        assert_eq!(program.post("/api/select", json!({ "entity": text })).0, 400, "{text}");
    }
    assert_eq!(program.get("/api/state")["state_hash"], hash);
    // One that lives is watched, and says something.
    let cat = program.only("\"Cat 5\", Hunger < 0.1");
    assert_eq!(
        program.post("/api/select", json!({ "entity": cat })),
        (200, json!({ "entity": cat }))
    );
    let told = program.get(&format!("/api/entity?id={cat}"));
    assert!(told["why"][0].is_string());
    // It has a second name.
    let bits: u64 = cat.parse().unwrap();
    let called = Entity::from_bits(bits).unwrap().to_string();
    assert!(called.contains('v'), "{called}");
    assert_eq!(program.get(&format!("/api/entity?id={called}")), told);
}

#[test]
fn requests_that_are_none_are_refused_and_the_program_goes_on() {
    let program = program();
    // Whole requests with a fault, and parts of a good one, in an order that seeds decide.
    let good =
        "POST /api/query HTTP/1.1\r\nHost: localhost\r\nContent-Length: 12\r\n\r\n{\"query\":\"\"}";
    assert_eq!(raw(program.address, good.as_bytes()).expect("an answer").0, 200);
    let mut random = 88_172_645_463_325_252_u64;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random % below as u64).expect("it is below")
    };
    for _ in 0..300 {
        let mut bytes = good.as_bytes().to_vec();
        for _ in 0..=next(3) {
            let at = next(bytes.len());
            bytes[at] = u8::try_from(next(256)).expect("a byte");
        }
        let mut stream = TcpStream::connect(program.address).expect("it listens");
        drop(stream.write_all(&bytes));
        drop(stream.shutdown(std::net::Shutdown::Write));
        let mut answer = Vec::new();
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
        drop(stream.read_to_end(&mut answer));
        assert!(
            answer.is_empty() || answer.starts_with(b"HTTP/1.1 "),
            "{:?}",
            String::from_utf8_lossy(&answer)
        );
    }
    for (bytes, expected) in [
        (&b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"[..], 403),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://example.org\r\n\r\n", 403),
        (b"GET /api/check HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: cross-site\r\n\r\n", 403),
        (b"DELETE / HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
        (b"GET /api/demos HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        (b"GET /api/edit HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
    ] {
        assert_eq!(raw(program.address, bytes).expect("an answer").0, expected);
    }
    assert!(program.end() > 0);
}

#[test]
fn requests_of_any_content_are_answered_and_the_program_goes_on() {
    let program = living(field);
    program.pause();
    let entity =
        program.post("/api/query", json!({ "query": "" })).1["entities"][0]["entity"].clone();
    let good = [
        ("/api/query", json!({ "query": "Grain > 3, 1", "after": 0, "entity": entity })),
        ("/api/run", json!({ "running": true, "speed": 60.0 })),
        ("/api/step", json!({ "what": "tick", "count": 3 })),
        ("/api/pick", json!({ "x": 1.0, "y": 1.0, "reach": 2.0 })),
        ("/api/select", json!({ "entity": entity })),
        (
            "/api/edit",
            json!({ "edit": "set", "entity": entity, "component": "Grain", "field": 0, "value": "7" }),
        ),
        ("/api/edit", json!({ "edit": "despawn", "entity": entity })),
        ("/api/focus", json!({ "world": 0 })),
        ("/api/cheat", json!({ "cheat": "dig", "x": 0.0, "y": 0.0 })),
        ("/api/break", json!({ "break": "add", "query": "1 chooses eat" })),
        ("/api/break", json!({ "break": "remove", "number": 1 })),
        (
            "/api/graph",
            json!({ "graph": "add", "entity": entity, "component": "Grain", "field": 0 }),
        ),
        ("/api/graph", json!({ "graph": "remove", "number": 1 })),
        ("/api/history", json!({ "every": 5 })),
        ("/api/rewind", json!({ "tick": 2 })),
    ];
    let odd = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(2),
        json!(u64::MAX),
        json!(1e308),
        json!(0.5),
        json!(""),
        json!("4294967297"),
        json!("18446744073709551615"),
        json!("\u{0}\"<script>"),
        json!("Grain > 1e999, !Grain, \"a\", 12v3 chooses x"),
        json!(",".repeat(900)),
        json!("tick"),
        json!("add"),
        json!([]),
        json!({ "query": {} }),
    ];
    let mut random = RandomStream::new(3);
    let mut below =
        |count: usize| usize::try_from(random.below(count as u64)).expect("it is below");
    let mut statuses = std::collections::BTreeSet::new();
    for round in 0..1_500 {
        let (path, body) = &good[below(good.len())];
        let mut body = body.clone();
        let keys: Vec<String> = body.as_object().expect("it is one").keys().cloned().collect();
        for _ in 0..below(3) {
            body[&keys[below(keys.len())]] = odd[below(odd.len())].clone();
        }
        let (status, answer) = program.post(path, body.clone());
        let is_told = status == 200 || answer["error"].is_string();
        assert!(is_told && status < 500, "round {round}, {path} {body}: {status} {answer}");
        statuses.insert(status);
        if round % 100 == 0 {
            program.pause();
            program.get("/api/time");
            program.get("/api/state");
        }
    }
    assert_eq!(statuses.into_iter().collect::<Vec<_>>(), [200, 400, 404, 409]);
    assert!(program.end() > 0);
}

#[test]
fn silent_sockets_hold_no_seat_and_end_with_the_program() {
    let program = program();
    let silent: Vec<TcpStream> = (0..300).map(|_| connect(program.address)).collect();
    program.get("/api/state");
    let address = program.address;
    program.end();
    let start = Instant::now();
    for mut stream in silent {
        let mut byte = [0];
        assert!(!stream.read(&mut byte).is_ok_and(|count| count > 0), "nothing is said to it");
    }
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert!(TcpStream::connect(address).is_err(), "no thread listens any more");
}

#[test]
fn an_address_of_other_machines_is_refused() {
    let error = Inspector::bind("0.0.0.0:0").expect_err("it would be open to all");
    assert!(error.to_string().contains("this machine alone"), "{error}");
}

#[test]
fn an_address_that_is_taken_is_named() {
    let first = Inspector::bind("127.0.0.1:0").expect("some port is free");
    let error = Inspector::bind(first.address()).expect_err("it is taken");
    assert!(error.to_string().starts_with(&first.address().to_string()), "{error}");
}

/// Ends the example if the test fails before it is done with it.
struct Example(std::process::Child);

impl Drop for Example {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
fn the_example_serves_its_page() {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/inspect.rs");
    let source = std::fs::read_to_string(source).expect("it is there");
    let lines = source.lines().filter(|line| line.contains("inspector"));
    assert_eq!(lines.count(), 3, "three lines attach the inspector");

    let own = std::env::current_exe().expect("the test has a path");
    let example = own.ancestors().nth(2).expect("two folders").join("examples/inspect");
    if !example.is_file() {
        eprintln!("SKIPPED the example: it was not built with this test");
        return;
    }
    let child = std::process::Command::new(example)
        .arg("127.0.0.1:0")
        .stdout(std::process::Stdio::piped())
        .spawn();
    let mut child = Example(child.expect("it starts"));
    let mut line = String::new();
    let out = child.0.stdout.as_mut().expect("it is piped");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).expect("a line");
    let address = line.strip_prefix("http://").and_then(|it| it.split('/').next());
    let address: SocketAddr = address.and_then(|it| it.parse().ok()).expect("an address");
    let (status, page) =
        raw(address, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("a page");
    assert!(status == 200 && page.starts_with(b"<!doctype html>"));
    let (_, answer) = request(address, "POST", "/api/query", &json!({ "query": "Asleep" }));
    assert_eq!(answer["entities"].as_array().map(Vec::len), Some(20));
}
