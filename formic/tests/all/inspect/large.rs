//! A world that is too large to be looked through for one answer, and requests that take their time.

use super::*;

const COUNT: u32 = 300_000;

fn crowd() -> (World, Schedule) {
    let mut world = World::new();
    world.spawn_batch((0..COUNT).map(|count| Grain { count: count.into() }));
    let schedule = Schedule::builder().add(sow).build(&mut world).expect("an order");
    (world, schedule)
}

#[test]
fn the_hash_of_a_large_world_is_worked_out_when_it_is_asked_for_and_known_until_it_changes() {
    let program = living(crowd);
    assert_eq!(program.pause()["state_hash"], Value::Null);
    let told = program.get("/api/hash");
    assert_eq!(told["state_hash"].as_str().map(str::len), Some(16), "{told}");
    let last = program.only(&(COUNT - 1).to_string());
    program.post("/api/select", json!({ "entity": last }));
    assert_eq!(program.get("/api/state")["state_hash"], told["state_hash"]);
    let stepped = program.post("/api/step", json!({ "what": "tick" })).1;
    assert_eq!(stepped["state_hash"], Value::Null, "it is another one");
    assert_ne!(program.get("/api/hash")["state_hash"], told["state_hash"]);
    program.post("/api/run", json!({ "running": true }));
    assert_eq!(request(program.address, "GET", "/api/hash", &Value::Null).0, 409);
}

#[test]
fn a_query_looks_at_a_part_of_a_large_world_and_says_where_to_go_on() {
    let program = living(crowd);
    program.pause();
    let mut after = json!(0);
    let mut answers = 0;
    while !after.is_null() {
        let body = json!({ "query": "Grain.count = 0, \"nowhere\"", "after": after });
        let (status, answer) = program.post("/api/query", body);
        assert_eq!((status, answer["entities"].as_array().map(Vec::len)), (200, Some(0)));
        let looked_at = answer["looked_at"].as_u64().expect("a number");
        assert!((1..=20_000).contains(&looked_at), "{answer}");
        (after, answers) = (answer["next"].clone(), answers + 1);
    }
    assert!(answers >= COUNT / 20_000, "{answers}");
    // An entity that is named is found at once, and so is one that is gone.
    for (query, found) in [(COUNT - 1, 1), (COUNT, 0)] {
        let answer = program.post("/api/query", json!({ "query": query.to_string() })).1;
        assert_eq!((&answer["looked_at"], &answer["next"]), (&found.into(), &Value::Null));
    }
}

#[test]
fn a_breakpoint_that_would_look_at_too_much_after_every_tick_is_refused() {
    let add = |program: &Program, query: &str| {
        program.post("/api/break", json!({ "break": "add", "query": query }))
    };
    let program = living(crowd);
    program.pause();
    let (status, answer) = add(&program, "Grain");
    let text = answer["error"].as_str().expect("a reason");
    assert!(status == 400 && text.contains("name an entity"), "{answer}");
    assert_eq!(add(&program, &format!("{}, Grain.count > 7", COUNT - 1)).0, 200);
    // Texts are dearer than components, and only those count that may match.
    let program = super::program();
    program.pause();
    for (query, status) in [("Hunger > 2", 200), ("Fleas, \"x\"", 200), ("\"Cat x\"", 200)] {
        assert_eq!(add(&program, query).0, status, "{query}");
    }
}

#[test]
fn a_viewer_is_told_which_request_of_another_one_it_waits_for() {
    let program = program();
    program.pause();
    let cat = program.only("\"Cat 5\", Hunger < 0.1");
    let mut viewer = connect(program.address);
    let head = "GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    viewer.write_all(head.as_bytes()).expect("it is sent");
    let (mut answer, mut byte) = (Vec::new(), [0]);
    while !answer.ends_with(b"\r\n\r\n") {
        viewer.read_exact(&mut byte).expect("there is an answer");
        answer.push(byte[0]);
    }
    std::thread::scope(|scope| {
        let edit = json!({ "edit": "add", "entity": cat, "component": "Slow" });
        scope.spawn(|| program.post("/api/edit", edit));
        std::thread::sleep(Duration::from_millis(300));
        // A text of five bytes, masked by zeros.
        viewer.write_all(b"\x81\x85\0\0\0\0frame").expect("it is sent");
        let mut text = [0; 11];
        viewer.read_exact(&mut text).expect("something is said");
        assert_eq!(&text, b"\x81\x09/api/edit");
    });
}
