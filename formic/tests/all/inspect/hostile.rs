//! Requests and sockets that mean no good: the program goes on.

use super::*;

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
    for text in ["", "-1", "1v", "v1", "1v1v1", "1v0", "99999999999999999999999"] {
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
    // And a third, as long as it lives.
    let (index, _) = called.split_once('v').unwrap();
    assert_eq!(program.get(&format!("/api/entity?id={index}")), told);
    assert_eq!(program.post("/api/select", json!({ "entity": "4000000000" })).0, 404);
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
        (b"GET /some/image HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: cross-site\r\n\r\n", 403),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: cross-site\r\n\r\n", 200),
        (b"GET / HTTP/1.1\r\nHost: LocalHost\r\nOrigin: http://localhost\r\n\r\n", 200),
        (b"GET / HTTP/1.1\r\nHost: localhost.example.org\r\n\r\n", 403),
        (b"DELETE / HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
        (b"GET /api/demos HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        (b"GET /api/edit HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
    ] {
        assert_eq!(raw(program.address, bytes).expect("an answer").0, expected);
    }
    // A connection that is to be closed is, whatever the answer.
    for line in ["GET /api/state", "DELETE /", "GET /api/nothing", "HEAD /"] {
        for host in ["localhost", "example.org"] {
            let mut stream = connect(program.address);
            let head = format!("{line} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
            stream.write_all(head.as_bytes()).expect("it is sent");
            let read = stream.read_to_end(&mut Vec::new());
            assert!(read.is_ok(), "{line} of {host}: {read:?}");
        }
    }
    // The answer to HEAD has no body, whatever the answer.
    for path in ["/", "/ws", "/api/state", "/api/nothing", "/api/edit"] {
        let mut stream = connect(program.address);
        let head = format!("HEAD {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).expect("it is sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it is text");
        assert!(answer.ends_with("\r\n\r\n"), "{path}: {answer}");
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
