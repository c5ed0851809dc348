//! The page's view of running worlds: places of agents, their components, the reasons for
//! what they do, and what cheats do to them.

use std::fs;
use std::thread;

use formic_demos::catalogue::DEMOS;
use serde_json::{Value, json};

use crate::recording::altered;
use crate::serve::{Running, serve};
use crate::support::{json as run_json, scratch, state_hash};

#[test]
fn every_demo_is_opened_stepped_and_told_of() {
    let server = serve("miners", 60);
    let (_, demos) = server.get("/api/demos");
    let names: Vec<_> = demos["demos"].as_array().expect("a list").iter().collect();
    assert_eq!(names.len(), DEMOS.len());
    for demo in DEMOS {
        let (status, state) = server.post("/api/open", &json!({ "demo": demo.name, "agents": 60 }));
        assert_eq!((status, &state["tick"]), (200, &0.into()), "{}: {state}", demo.name);
        let (_, state) = server.post("/api/step", &json!({ "what": "tick", "count": 40 }));
        assert_eq!(state["tick"], 40, "{}", demo.name);
        let hash = state["state_hash"].as_str().expect("a text").to_owned();
        let alone = [demo.name, "--agents", "60", "--ticks", "40", "--threads", "1"];
        assert_eq!(hash, state_hash(&alone), "{}: as without the page", demo.name);
        assert_eq!(server.get("/api/check").1["check"], "ok", "{}", demo.name);
        let (status, picture) = server.raw(b"GET /api/picture HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert_eq!((status, &picture[1..4]), (200, &b"PNG"[..]));
    }
}

#[test]
fn a_recording_of_every_demo_is_played_with_its_hashes_compared() {
    let server = serve("miners", 60);
    let path = scratch("dropped.recording");
    let file = path.to_str().expect("Unicode");
    let line = |state: &Value| state["summary"][0].clone();
    for demo in DEMOS {
        let arguments =
            [demo.name, "--agents", "60", "--ticks", "40", "--hash-every", "10", "--record"];
        run_json(&[&arguments[..], &[file]].concat());
        let recording = fs::read_to_string(&path).expect("it was written");
        let (status, state) = server.post("/api/replay", &json!({ "recording": recording }));
        assert_eq!((status, &state["tick"]), (200, &0.into()), "{}: {state}", demo.name);
        assert_eq!(line(&state), json!(["recording", "tick 0 of 40, 1 of 5 hashes equal"]));
        let (_, state) = server.post("/api/step", &json!({ "what": "tick", "count": 45 }));
        assert_eq!(line(&state), json!(["recording", "tick 40 of 40, 5 of 5 hashes equal"]));
        assert_eq!(state["replay_fault"], Value::Null, "{}", demo.name);
        let other = altered(&recording, |text| text.replace("\"seed\":1", "\"seed\":2"));
        let (_, state) = server.post("/api/replay", &json!({ "recording": other }));
        let fault = state["replay_fault"].as_str().expect("another world");
        assert!(fault.starts_with("the state at tick 0 is "), "{fault}");
        assert!(fault.ends_with(" on the recording; from the start"), "{fault}");
    }
}

#[test]
fn a_recording_with_a_hash_of_each_tick_is_taken_by_the_page() {
    let server = serve("miners", 60);
    let path = scratch("long.recording");
    let file = path.to_str().expect("Unicode");
    run_json(&[
        "miners",
        "--agents",
        "20",
        "--ticks",
        "400",
        "--hash-every",
        "1",
        "--record",
        file,
    ]);
    let recording = fs::read_to_string(&path).expect("it was written");
    assert!(recording.len() > 25_000, "{} bytes", recording.len());
    let (_, state) = server.post("/api/replay", &json!({ "recording": recording }));
    assert_eq!(state["summary"][0][1], "tick 0 of 400, 1 of 401 hashes equal", "{state}");
}

#[test]
fn steps_asked_for_while_others_are_taken_come_on_top() {
    let server = serve("miners", 60);
    let step = |steps: Value| server.post("/api/step", &steps);
    // A request is answered when its steps are taken, so that most of these arrive before that.
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| step(json!({ "what": "tick", "count": 500 })));
        }
    });
    let (_, state) = step(json!({ "what": "tick" }));
    assert_eq!(state["tick"], 4_001);
}

#[test]
fn a_recording_brings_its_inputs_along_but_no_files() {
    let server = serve("rogue", 12);
    let (script, path) = (scratch("dropped.script"), scratch("inputs.recording"));
    fs::write(&script, "rest\nrest\nrest\n").expect("the target folder can be written");
    let names = [&script, &path].map(|path| path.to_str().expect("Unicode"));
    run_json(&["rogue", "--script", names[0], "--ticks", "3", "--record", names[1]]);
    let recording = fs::read_to_string(&path).expect("it was written");
    let (status, answer) = server.post("/api/replay", &json!({ "recording": recording }));
    let error = "--script of the recording names a file; use demos verify";
    assert_eq!((status, &answer["error"]), (400, &error.into()));
    let (status, answer) = server.post("/api/replay", &json!({ "recording": "a shopping list" }));
    assert_eq!((status, &answer["error"]), (400, &"it is not a recording".into()));

    let dungeon = ["dungeon", "--agents", "40", "--ticks", "30", "--hash-every", "10", "--record"];
    run_json(&[&dungeon[..], &[names[1]]].concat());
    let recording = fs::read_to_string(&path).expect("it was written");
    let with_one_more = altered(&recording, |text| {
        let at = text.find("{\"tick\":10").expect("a hash");
        format!("{}{{\"tick\":5,\"input\":\"spawn 1 10 3\"}}\n{}", &text[..at], &text[at..])
    });
    let (_, state) = server.post("/api/replay", &json!({ "recording": with_one_more }));
    assert_eq!(state["replay_fault"], Value::Null);
    let (_, state) = server.post("/api/step", &json!({ "what": "tick", "count": 30 }));
    assert!(
        state["replay_fault"].as_str().is_some_and(|it| it.starts_with("the state at tick 10 is ")),
        "{state}"
    );
}

#[test]
fn stepping_system_by_system_gives_the_same_tick() {
    let server = serve("dungeon", 50);
    let (_, whole) = server.post("/api/step", &json!({ "what": "tick" }));
    server.post("/api/open", &json!({ "demo": "dungeon", "agents": 50 }));
    let (_, systems) = server.get("/api/systems");
    let names: Vec<String> = systems["systems"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|system| system["name"].as_str().expect("a text").to_owned())
        .collect();
    for (place, name) in names.iter().enumerate() {
        let state = server.state();
        assert_eq!(state["next_step"], name.as_str());
        assert_eq!(state["stepping"], place > 0);
        server.post("/api/step", &json!({ "what": "system" }));
    }
    let state = server.state();
    assert_eq!((&state["tick"], &state["stepping"]), (&1.into(), &false.into()));
    assert_eq!(state["state_hash"], whole["state_hash"]);
    // A tick that was begun by steps is ended by the next one.
    server.post("/api/step", &json!({ "what": "system", "count": 2 }));
    let (_, state) = server.post("/api/step", &json!({ "what": "tick" }));
    assert_eq!(state["tick"], 2);
}

#[test]
fn a_picked_agent_is_told_of_with_its_place_and_its_reasons() {
    let server = serve("dungeon", 80);
    server.post("/api/step", &json!({ "what": "tick", "count": 30 }));
    let (status, nobody) = server.post("/api/pick", &json!({ "x": -50, "y": -50, "reach": 1 }));
    assert_eq!((status, nobody), (200, json!({ "entity": null })));
    assert_eq!(server.get("/api/entity").0, 400);
    let (_, picked) = server.post("/api/pick", &json!({ "x": 64, "y": 48, "reach": 200 }));
    let (status, agent) = server.get(&entity_path(&picked));
    assert_eq!((status, &agent["entity"]), (200, &picked["entity"]), "{agent}");
    assert!(agent["row"].as_u64() < agent["chunk_rows"].as_u64(), "{agent}");
    let has = |name: &str| {
        let components = agent["components"].as_array().expect("a list");
        components.iter().find(|it| it["name"] == name).expect("imps have it").clone()
    };
    let field = &has("Position")["fields"][0];
    assert_eq!((&field["type"], &field["editable"]), (&json!("Vec2"), &json!(true)), "{agent}");
    assert_eq!(field["value"].as_str().expect("a text").split(", ").count(), 2, "{agent}");
    assert_eq!(has("PathPending")["enabled"], false);
    assert_eq!(has("Speed")["enabled"], Value::Null);
    let why = agent["why"][0].as_str().expect("a sentence");
    assert!(why.contains("because") && why.ends_with('.'), "{why}");
    let (status, _) = server.get("/api/entity?id=77777777777777");
    assert_eq!(status, 404);
    assert_eq!(server.get("/api/entity?id=imp").0, 400);
}

#[test]
fn the_decisions_of_a_picked_agent_are_told_and_change_nothing() {
    let server = serve("cats", 50);
    let (_, picked) = server.post("/api/pick", &json!({ "x": 50, "y": 20, "reach": 500 }));
    let (_, state) = server.post("/api/step", &json!({ "what": "tick", "count": 300 }));
    let (_, cat) = server.get(&entity_path(&picked));
    let decisions = cat["decisions"].as_array().expect("a list");
    assert!(decisions.len() > 1, "{cat}");
    let last = decisions[0].as_str().expect("a sentence");
    assert!(last.contains("chose") && last.ends_with('.'), "{last}");
    let alone = ["cats", "--agents", "50", "--ticks", "300", "--threads", "1"];
    assert_eq!(state["state_hash"], state_hash(&alone).as_str());
}

#[test]
fn an_agent_goes_by_the_needs_that_a_person_gives_it() {
    for (demo, component, hunger) in [("cats", "Hunger", 0), ("minds", "Needs", 0)] {
        let server = serve(demo, 60);
        if demo == "minds" {
            // Those that decide by utility.
            assert_eq!(server.post("/api/focus", &json!({ "world": 4 })).0, 200);
        }
        let query = json!({ "query": format!("{component}, UtilityAgent") });
        let agent = server.post("/api/query", &query).1["entities"][0]["entity"].clone();
        assert_eq!(server.post("/api/select", &json!({ "entity": agent })).0, 200);
        server.post("/api/step", &json!({ "what": "tick", "count": 2 }));
        let set = json!({ "edit": "set", "entity": agent, "component": component, "field": hunger, "value": "99" });
        assert_eq!(server.post("/api/edit", &set).0, 200, "{demo}");
        server.post("/api/step", &json!({ "what": "tick", "count": 20 }));
        let path = format!("/api/entity?id={}", agent.as_str().expect("a number"));
        let decisions = server.get(&path).1["decisions"].to_string();
        assert!(decisions.contains("chose eat"), "{demo}: {decisions}");
    }
}

#[test]
fn the_world_stops_when_an_agent_makes_a_choice() {
    let server = serve("cats", 50);
    let (_, picked) = server.post("/api/pick", &json!({ "x": 50, "y": 20, "reach": 500 }));
    let (_, cat) = server.get(&entity_path(&picked));
    let index = cat["name"].as_str().and_then(|it| it.split('v').next()).expect("12v1");
    let query = format!("{index} chooses sleep");
    assert_eq!(server.post("/api/break", &json!({ "break": "add", "query": query })).0, 200);
    let (_, state) = server.post("/api/step", &json!({ "what": "tick", "count": 5_000 }));
    let tick = state["tick"].as_u64().expect("a number");
    assert!(tick < 5_000, "every cat sleeps some day: {state}");
    assert_eq!(state["stop"]["entity"], picked["entity"], "{state}");
    let (_, cat) = server.get(&entity_path(&picked));
    let last = cat["decisions"][0].as_str().expect("a sentence").to_owned();
    assert!(last.contains("sleep"), "{last}");
    let ticks = tick.to_string();
    let alone = ["cats", "--agents", "50", "--ticks", &ticks, "--threads", "1"];
    assert_eq!(state["state_hash"], state_hash(&alone).as_str(), "looking on changes nothing");
}

#[test]
fn every_demo_goes_back_and_lives_the_same_again() {
    let server = serve("miners", 60);
    for demo in DEMOS {
        let name = demo.name;
        server.post("/api/open", &json!({ "demo": name, "agents": 40 }));
        let step = |count: u64| {
            let (_, state) = server.post("/api/step", &json!({ "what": "tick", "count": count }));
            (state["tick"].clone(), state["state_hash"].clone())
        };
        step(5);
        let (status, answer) = server.post("/api/history", &json!({ "every": 10 }));
        assert_eq!(status, 200, "{name}: {answer}");
        let (early, late) = (step(8), step(30));
        for (tick, hash) in [&early, &late, &early] {
            let (status, state) = server.post("/api/rewind", &json!({ "tick": tick }));
            assert_eq!((status, &state["tick"]), (200, tick), "{name}: {state}");
            assert_eq!(state["state_hash"], *hash, "{name} at tick {tick}");
            assert_eq!(server.get("/api/check").1["check"], "ok", "{name}");
        }
        assert_eq!(step(30), late, "{name}");
    }
}

#[test]
fn cheats_change_the_dungeon_between_two_ticks() {
    let server = serve("dungeon", 20);
    let cheats = server.state()["scene"]["cheats"].clone();
    let names: Vec<_> = cheats.as_array().expect("a list").iter().map(|it| &it["name"]).collect();
    assert!(["dig", "fill", "send"].iter().all(|name| names.contains(&&json!(name))), "{cheats}");
    let (_, open) = server.post("/api/pick", &json!({ "x": 64, "y": 48, "reach": 200 }));
    assert!(open["entity"].is_string());
    let cheat = |name: &str, x: f32, y: f32| {
        server.post("/api/cheat", &json!({ "cheat": name, "x": x, "y": y }))
    };
    // In the corner of our own map is rock.
    assert_eq!(cheat("spawn100", 0.5, 0.5).0, 409);
    assert_eq!(cheat("dig", 0.5, 0.5).0, 200);
    assert_eq!(cheat("dig", 0.5, 0.5).0, 409, "it is open already");
    // A tick that was begun is ended first.
    server.post("/api/step", &json!({ "what": "system" }));
    assert_eq!(cheat("spawn100", 0.5, 0.5).0, 200);
    let state = server.state();
    assert_eq!((&state["tick"], &state["stepping"]), (&1.into(), &false.into()));
    assert_eq!(state["entities"], 120);
    assert_eq!(cheat("send", 0.5, 0.5).0, 200);
    assert_eq!(cheat("send", -3.0, 0.5).0, 409);
    server.post("/api/step", &json!({ "what": "tick", "count": 50 }));
    assert_eq!(server.get("/api/check").1["check"], "ok");
}

#[test]
fn archetypes_and_systems_are_told_of() {
    let server = serve("miners", 3_000);
    server.post("/api/step", &json!({ "what": "tick", "count": 5 }));
    let (_, data) = server.get("/api/archetypes");
    for archetype in data["archetypes"].as_array().expect("a list") {
        let bars = archetype["fill"].as_array().expect("a list");
        let chunks: u64 = bars.iter().filter_map(Value::as_u64).sum();
        assert_eq!((bars.len(), Some(chunks)), (10, archetype["chunks"].as_u64()), "{archetype}");
    }
    let (_, data) = server.get("/api/systems");
    let spans = data["spans"].as_array().expect("a list");
    assert!(!spans.is_empty());
    for span in spans {
        assert!(span["from_us"].as_f64() <= span["to_us"].as_f64(), "{span}");
        assert!(
            span["delay"].as_str().is_some_and(|it| it.contains("wait") || it.contains("busy"))
        );
    }
}

/// Where the entity is told of that was picked.
fn entity_path(picked: &Value) -> String {
    format!("/api/entity?id={}", picked["entity"].as_str().expect("an entity was picked"))
}

/// Where the marks of a frame are, as fractions of the map, and of which kind each is.
fn marks(server: &Running) -> Vec<(f64, f64, u8)> {
    let (status, frame) = server.raw(b"GET /api/frame HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!(status, 200);
    let number = |at: usize| {
        let bytes = frame[at..at + 4].try_into().expect("four bytes");
        usize::try_from(u32::from_le_bytes(bytes)).expect("a length")
    };
    let mut at = 0;
    while number(at) != 2 {
        at += 8 + number(at + 4).next_multiple_of(4);
    }
    let (count, start) = (number(at + 8), at + 12);
    let place = |at: usize| f64::from(u16::from_le_bytes([frame[at], frame[at + 1]])) / 65_535.0;
    let mark = |i: usize| {
        let kind = frame[start + 4 * count + i];
        (place(start + 2 * i), place(start + 2 * count + 2 * i), kind)
    };
    (0..count).map(mark).collect()
}

/// Clicks on the first mark, and returns what is told of the agent there.
fn click_first(server: &Running) -> Value {
    let size = server.state()["scene"]["size"].clone();
    let side = |axis: usize| size[axis].as_f64().expect("a number");
    let (x, y, _) = marks(server)[0];
    let at = json!({ "x": x * side(0), "y": y * side(1), "reach": 2.0 });
    let (_, picked) = server.post("/api/pick", &at);
    assert!(picked["entity"].is_string(), "{at}: {picked}");
    let (status, entity) = server.get(&entity_path(&picked));
    assert_eq!(status, 200, "{entity}");
    entity
}

#[test]
fn every_demo_has_a_map_and_agents_that_can_be_asked() {
    let server = serve("miners", 60);
    for demo in DEMOS {
        let name = demo.name;
        server.post("/api/open", &json!({ "demo": name, "agents": 60 }));
        server.post("/api/step", &json!({ "what": "tick", "count": 12 }));
        let kinds = server.state()["scene"]["kinds"].as_array().expect("a list").len();
        let marks = marks(&server);
        assert!(!marks.is_empty(), "{name}");
        assert!(marks.iter().all(|&(_, _, kind)| usize::from(kind) < kinds), "{name}");
        let agent = click_first(&server);
        assert!(agent["row"].as_u64() < agent["chunk_rows"].as_u64(), "{name}: {agent}");
        let list = |of: &Value, key: &str| of[key].as_array().expect("a list").clone();
        for key in ["components", "why", "systems"] {
            assert!(!list(&agent, key).is_empty(), "{name}: no {key} in {agent}");
        }
        let (_, archetypes) = server.get("/api/archetypes");
        assert!(!list(&archetypes, "archetypes").is_empty(), "{name}");
        // System by system to the end of a tick, with a word on each that has not run.
        let count = list(&server.get("/api/systems").1, "systems").len();
        assert!(count > 1, "{name}");
        server.post("/api/step", &json!({ "what": "system" }));
        let (_, begun) = server.get("/api/systems");
        let waits = |it: &Value| it["text"].as_str().is_some_and(|it| it.contains("has not run"));
        assert!(list(&begun, "systems").iter().any(waits), "{name}: {begun}");
        while server.state()["tick"] == 12 {
            server.post("/api/step", &json!({ "what": "system" }));
        }
        assert_eq!(server.state()["stepping"], false, "{name}");
        let (_, ran) = server.get("/api/systems");
        assert!(!list(&ran, "spans").is_empty(), "{name}: {ran}");
        let alone = [name, "--agents", "60", "--ticks", "13", "--threads", "1"];
        assert_eq!(server.state()["state_hash"], state_hash(&alone).as_str(), "{name}");
    }
}

#[test]
fn the_systems_that_touch_an_agent_are_told_with_what_they_write() {
    let server = serve("dungeon", 30);
    let agent = click_first(&server);
    let systems = agent["systems"].as_array().expect("a list");
    let named = |name: &str| {
        systems.iter().find(|it| it["system"] == name).unwrap_or_else(|| panic!("{name}: {agent}"))
    };
    let writes = named("follow")["writes"].as_array().expect("a list");
    assert!(writes.contains(&json!("Position")), "{agent}");
    let watch = named("watch");
    assert!(watch["reads"].as_array().expect("a list").contains(&json!("Position")), "{watch}");
    // The works dig and fill, and touch no imp.
    assert!(systems.iter().all(|it| it["system"] != "work"), "{agent}");
}

#[test]
fn a_demo_of_several_worlds_shows_the_one_that_is_chosen() {
    let server = serve("minds", 60);
    let names = server.state()["worlds"].as_array().expect("a list").len();
    assert_eq!((names, &server.state()["focus"]), (6, &0.into()));
    server.post("/api/step", &json!({ "what": "system" }));
    let (status, state) = server.post("/api/focus", &json!({ "world": 3 }));
    // A tick that was begun in one world is ended in all before another is looked at.
    assert_eq!((status, &state["focus"], &state["tick"]), (200, &3.into(), &1.into()), "{state}");
    let (_, archetypes) = server.get("/api/archetypes");
    assert!(archetypes.to_string().contains("TreeAgent"), "{archetypes}");
    assert_eq!(server.post("/api/focus", &json!({ "world": 6 })).0, 404);
    // Who is clicked on is in the first world.
    click_first(&server);
    assert_eq!(server.state()["focus"], 0);
    let (status, done) = server.post("/api/cheat", &json!({ "cheat": "wolf", "x": 0, "y": 0 }));
    assert_eq!(status, 200, "{done}");
    server.post("/api/step", &json!({ "what": "tick", "count": 5 }));
    let hiding = marks(&server).iter().filter(|&&(_, _, kind)| kind == 3).count();
    assert!(hiding > 30, "all but the sequence hide from the wolf: {hiding}");
    assert_eq!(server.get("/api/check").1["check"], "ok");
}

#[test]
fn a_choice_is_waited_for_and_a_graph_is_of_one_world_while_others_are_looked_at() {
    let server = serve("minds", 60);
    let focus = |world: u8| server.post("/api/focus", &json!({ "world": world })).0;
    assert_eq!(focus(1), 200);
    let (_, found) = server.post("/api/query", &json!({ "query": "Basket" }));
    let agent = &found["entities"][0]["entity"];
    let (_, entity) = server.get(&entity_path(&found["entities"][0]));
    let index = entity["name"].as_str().and_then(|it| it.split('v').next()).expect("12v1");
    let query = format!("{index} chooses sleep");
    assert_eq!(server.post("/api/break", &json!({ "break": "add", "query": query })).0, 200);
    // A choice that none has had yet comes with those that are known, in the world that it is about.
    let query = format!("{index} chooses yodel");
    assert_eq!(server.post("/api/break", &json!({ "break": "add", "query": query })).0, 200);
    server.post("/api/step", &json!({ "what": "tick", "count": 20 }));
    let hint = || server.get("/api/time").1["breakpoints"][1]["hint"].clone();
    let text = hint().as_str().unwrap_or_default().to_owned();
    assert!(text.contains("`yodel`") && text.contains("sleep"), "{text}");
    let graph = json!({ "graph": "add", "entity": agent, "component": "Needs", "field": 0 });
    assert_eq!(server.post("/api/graph", &graph).0, 200);
    assert_eq!((focus(2), hint()), (200, Value::Null));
    // The same entity of another world is another one.
    let (_, time) = server.post("/api/graph", &graph);
    assert_eq!(time["graphs"].as_array().map(Vec::len), Some(2), "{time}");
    assert_eq!((focus(1), server.state()["stop"].is_null()), (200, true));
    let (_, state) = server.post("/api/step", &json!({ "what": "tick", "count": 5_000 }));
    assert_eq!(&state["stop"]["entity"], agent, "{state}");
}

#[test]
fn the_roguelike_is_played_by_buttons_and_clicks() {
    let server = serve("rogue", 6);
    let start = server.state()["state_hash"].clone();
    let cheat = |name: &str, x: f64, y: f64| {
        server.post("/api/cheat", &json!({ "cheat": name, "x": x, "y": y }))
    };
    let (status, done) = cheat("rest", 0.0, 0.0);
    assert!(status == 200 && done["done"].as_str().is_some_and(|it| it.starts_with("rest")));
    let hero = |marks: &[(f64, f64, u8)]| marks.iter().find(|mark| mark.2 == 10).copied();
    let at = hero(&marks(&server)).expect("the hero is shown");
    let size = server.state()["scene"]["size"].clone();
    let (width, height) = (size[0].as_f64().expect("one"), size[1].as_f64().expect("two"));
    let (status, done) = cheat("walk", at.0 * width + 1.0, at.1 * height);
    assert_eq!(status, 200, "{done}");
    assert_ne!(hero(&marks(&server)), Some(at), "{done}");
    assert_eq!(cheat("walk", 0.5, 0.5).0, 409, "rock");
    for _ in 0..2 {
        assert_eq!(cheat("undo", 0.0, 0.0).0, 200);
    }
    assert_eq!(server.state()["state_hash"], start, "everything was taken back");
    assert_eq!(server.get("/api/check").1["check"], "ok");
}

#[test]
fn a_world_is_opened_while_the_one_before_it_lives_on() {
    let server = serve("dungeon", 5);
    let open = |agents: u32| json!({ "demo": "miners", "agents": agents });
    thread::scope(|scope| {
        let opened = scope.spawn(|| {
            let mut answers = std::iter::repeat_with(|| server.post("/api/open", &open(30_000)));
            answers.find(|(status, _)| *status != 409).expect("there is no end of them")
        });
        // Another one has to wait until that one is built, and the one that is there answers meanwhile.
        let mut answers = std::iter::repeat_with(|| server.post("/api/open", &open(9)));
        let refusal = answers.find(|(status, _)| *status == 409 || opened.is_finished());
        let (_, refusal) = refusal.expect("there is no end of them");
        assert_eq!(refusal["error"], "another world is being opened");
        let (_, state) = server.post("/api/step", &json!({ "what": "tick" }));
        assert_eq!(state["tick"], 1, "{state}");
        assert_ne!(state["agents"], 30_000, "the world before it");
        let (status, state) = opened.join().expect("it is answered");
        assert_eq!((status, &state["agents"]), (200, &json!(30_000)), "{state}");
    });
}
