//! `demos serve` over plain sockets: what it answers, what it refuses, and that nothing holds it up.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use formic::inspect::Stopper;
use formic_demos::catalogue::DEMOS;
use formic_demos::serve::bind;
use formic_demos::session::Live;
use formic_demos::setup::Setup;
use serde_json::{Value, json};

use crate::support::{refused, text};

/// A server of this process, which ends with the test.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
}

/// Serves a demo that is paused, at a port of its own.
pub(crate) fn serve(demo: &str, agents: u32) -> Running {
    let demo = DEMOS.iter().find(|known| known.name == demo).expect("there is such a demo");
    let setup = Setup { agents, ticks: 0, seed: 1, threads: 2 };
    let inspector = bind(0).expect("some port is free").paused();
    let (address, stopper) = (inspector.address(), inspector.stopper());
    let thread = std::thread::spawn(move || {
        let mut live = Live::open(DEMOS, demo, setup).expect("the demo takes the numbers");
        inspector.run(&mut live, || false);
    });
    Running { address, stopper, thread: Some(thread) }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stopper.stop();
        let ended = self.thread.take().expect("it is joined once").join();
        if !std::thread::panicking() {
            ended.expect("the server does not panic");
        }
    }
}

impl Running {
    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time that is allowed");
        stream
    }

    /// Sends bytes, and reads the one answer.
    pub(crate) fn raw(&self, bytes: &[u8]) -> (u16, Vec<u8>) {
        let mut stream = self.connect();
        // A refused request may be answered before all of it was sent.
        drop(stream.write_all(bytes));
        read_answer(&mut stream).expect("there is an answer")
    }

    pub(crate) fn get(&self, path: &str) -> (u16, Value) {
        let (status, body) =
            self.raw(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes());
        (status, serde_json::from_slice(&body).unwrap_or(Value::Null))
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let body = body.to_string();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let (status, body) = self.raw((head + &body).as_bytes());
        (status, serde_json::from_slice(&body).unwrap_or(Value::Null))
    }

    /// Where an agent is.
    pub(crate) fn place_of(&self, agent: u32) -> (f64, f64) {
        let (_, entity) = self.get(&format!("/api/entity?id={agent}"));
        let mut components = entity["components"].as_array().expect("a list").iter();
        let position = components.find(|it| it["name"] == "Position").expect("it is on the map");
        let (x, y) = position["fields"][0]["value"]
            .as_str()
            .and_then(|it| it.split_once(", "))
            .expect("two numbers");
        (x.parse().expect("a number"), y.parse().expect("a number"))
    }

    pub(crate) fn state(&self) -> Value {
        let (status, state) = self.get("/api/state");
        assert_eq!(status, 200, "{state}");
        state
    }
}

/// The status and the body of an answer; `None` where the connection was closed.
pub(crate) fn read_answer(stream: &mut impl Read) -> Option<(u16, Vec<u8>)> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = text(&head);
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).ok()?;
    Some((status, body))
}

#[test]
fn the_page_is_one_file_that_loads_nothing_from_elsewhere() {
    let server = serve("dungeon", 5);
    let (status, page) = server.raw(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    let page = text(&page);
    assert_eq!(status, 200);
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    for outside in ["src=\"http", "href=\"http", "@import", "url(http", "import("] {
        assert!(!page.contains(outside), "the page has {outside}");
    }
    // The head alone tells how long the page is, and the page does not follow.
    let mut stream = server.connect();
    stream
        .write_all(b"HEAD / HTTP/1.1\r\nHost: [::1]:99\r\nConnection: close\r\n\r\n")
        .expect("it is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it ends");
    assert!(answer.contains(&format!("Content-Length: {}\r\n", page.len())), "{answer}");
    assert!(answer.ends_with("\r\n\r\n"), "{answer}");
}

#[test]
fn time_goes_by_at_the_speed_that_was_asked_for() {
    let server = serve("dungeon", 10);
    let (_, state) = server.post("/api/run", &json!({ "running": true, "speed": 1000 }));
    assert_eq!((&state["running"], &state["speed"]), (&true.into(), &1000.0.into()));
    let deadline = Instant::now() + Duration::from_secs(20);
    while server.state()["tick"].as_u64() < Some(200) {
        assert!(Instant::now() < deadline, "200 ticks at 1000 a second");
        std::thread::sleep(Duration::from_millis(5));
    }
    server.post("/api/run", &json!({ "running": false }));
    let tick = server.state()["tick"].clone();
    std::thread::sleep(Duration::from_millis(60));
    assert_eq!(server.state()["tick"], tick, "paused");
}

#[test]
fn bad_wishes_are_refused_and_change_nothing() {
    let server = serve("dungeon", 10);
    let hash = server.state()["state_hash"].clone();
    let cases = [
        ("/api/step", json!({ "what": "century" }), 400),
        ("/api/step", json!({ "what": "tick", "count": 0 }), 400),
        ("/api/step", json!({ "what": "tick", "count": 100_001 }), 400),
        ("/api/step", json!([1]), 400),
        ("/api/run", json!({ "speed": -1 }), 400),
        ("/api/run", json!({ "speed": 1e-30 }), 400),
        ("/api/run", json!({ "sped": 1 }), 400),
        ("/api/pick", json!({ "x": 1e300, "y": 0, "reach": 1 }), 400),
        ("/api/select", json!({ "entity": "0v0" }), 400),
        // No entity has this number: nothing is kept for it.
        ("/api/select", json!({ "entity": "18446744073709551614" }), 404),
        ("/api/select", json!({}), 400),
        ("/api/edit", json!({ "edit": "despawn", "entity": "18446744073709551614" }), 404),
        ("/api/edit", json!({ "edit": "explode", "entity": "4294967296" }), 400),
        ("/api/query", json!({ "query": "Hungry" }), 400),
        ("/api/query", json!({ "query": "", "entity": "18446744073709551614" }), 404),
        ("/api/cheat", json!({ "cheat": "fly", "x": 0, "y": 0 }), 404),
        ("/api/open", json!({ "demo": "chess" }), 404),
        ("/api/open", json!({ "demo": "miners", "agents": 0 }), 400),
        ("/api/open", json!({ "demo": "miners", "threads": 9999 }), 400),
        ("/api/state", json!({}), 405),
        ("/", json!({}), 405),
        ("/etc/passwd", json!({}), 404),
    ];
    for (path, body, expected) in cases {
        let (status, answer) = server.post(path, &body);
        assert_eq!(status, expected, "{path} {body}: {answer}");
        assert!(answer["error"].is_string(), "{path} {body}: {answer}");
    }
    assert_eq!(server.get("/api/step").0, 405);
    assert_eq!(server.get("/nowhere").0, 404);
    let state = server.state();
    assert_eq!((&state["tick"], &state["state_hash"]), (&0.into(), &hash));
}

#[test]
fn malformed_requests_are_refused_and_the_server_goes_on() {
    let server = serve("dungeon", 5);
    let cases: [(&[u8], u16); 9] = [
        (b"HELLO\r\n\r\n", 400),
        (b"GET / HTTP/9.9\r\n\r\n", 505),
        (b"BREW / HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
        (b"GET / HTTP/1.1\r\n\r\n", 403),
        (b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n", 403),
        (b"GET / HTTP/1.1\r\nHost: localhost:4747\r\nOrigin: http://example.org\r\n\r\n", 403),
        (b"POST /api/run HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2000000\r\n\r\n", 413),
        (b"POST /api/run HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}", 200),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
    ];
    for (bytes, expected) in cases {
        assert_eq!(server.raw(bytes).0, expected, "{}", text(bytes));
    }
    let mut endless = server.connect();
    drop(endless.write_all(&vec![b'a'; 100_000]));
    assert_eq!(read_answer(&mut endless).map(|(status, _)| status), Some(431));
    // Half a request, and nothing more.
    let mut half = server.connect();
    half.write_all(b"GET /api/st").expect("it is sent");
    half.shutdown(Shutdown::Write).expect("it is open");
    assert_eq!(read_answer(&mut half), None);
    server.state();
}

#[test]
fn several_requests_on_one_connection_are_answered_in_order() {
    let server = serve("dungeon", 5);
    let mut stream = server.connect();
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let both = get("/api/check") + &get("/api/nothing");
    stream.write_all(both.as_bytes()).expect("it is sent");
    assert_eq!(read_answer(&mut stream).map(|(status, _)| status), Some(200));
    assert_eq!(read_answer(&mut stream).map(|(status, _)| status), Some(404));
}

#[test]
fn sockets_that_say_nothing_give_way_to_clients_that_ask() {
    let server = serve("dungeon", 5);
    let mut frames = socket(&server, KEY).0;
    let silent: Vec<TcpStream> = (0..200).map(|_| server.connect()).collect();
    for _ in 0..3 {
        assert_eq!(server.state()["tick"], 0, "there is room");
    }
    send(&mut frames, 1, b"frame");
    assert!(receive(&mut frames).is_some(), "a viewer that has asked before stays");
    drop(silent);
}

#[test]
fn thousands_of_steps_hold_up_no_other_client() {
    let server = serve("dungeon", 2_000);
    std::thread::scope(|scope| {
        scope.spawn(|| server.post("/api/step", &json!({ "what": "tick", "count": 100_000 })));
        let deadline = Instant::now() + Duration::from_secs(20);
        while server.state()["tick"] == 0 {
            assert!(Instant::now() < deadline, "the steps begin");
        }
        let asked = Instant::now();
        let tick = server.state()["tick"].as_u64().expect("a number");
        assert!(
            tick < 100_000 && asked.elapsed() < Duration::from_secs(2),
            "{:?}",
            asked.elapsed()
        );
        // Pausing ends the steps, and a client that waits for them is answered.
        server.post("/api/run", &json!({ "running": false }));
    });
    let tick = server.state()["tick"].clone();
    assert_eq!(server.state()["tick"], tick, "no more steps are taken");
}

/// Opens a WebSocket, with the key of RFC 6455.
fn socket(server: &Running, more: &str) -> (TcpStream, String) {
    let mut stream = server.connect();
    let head = format!(
        "GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\n{more}\r\n"
    );
    stream.write_all(head.as_bytes()).expect("it is sent");
    let mut answer = Vec::new();
    let mut byte = [0];
    while !answer.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count == 1) {
        answer.push(byte[0]);
    }
    (stream, text(&answer))
}

const KEY: &str = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

/// A message from the client, masked by zeros.
fn send(stream: &mut TcpStream, opcode: u8, payload: &[u8]) {
    let length = u8::try_from(payload.len()).expect("a short message");
    assert!(length < 126);
    let mut bytes = vec![0x80 | opcode, 0x80 | length, 0, 0, 0, 0];
    bytes.extend_from_slice(payload);
    // The server may have closed already.
    drop(stream.write_all(&bytes));
}

/// A message from the server: its opcode and its content. A text says what a late one waits for.
fn receive(stream: &mut TcpStream) -> Option<(u8, Vec<u8>)> {
    receive_any(stream).and_then(|(opcode, bytes)| match opcode {
        1 => receive(stream),
        _ => Some((opcode, bytes)),
    })
}

fn receive_any(stream: &mut TcpStream) -> Option<(u8, Vec<u8>)> {
    let mut head = [0; 2];
    stream.read_exact(&mut head).ok()?;
    let mut wide = [0; 8];
    match head[1] {
        126 => stream.read_exact(&mut wide[6..]).ok()?,
        127 => stream.read_exact(&mut wide).ok()?,
        short => wide[7] = short,
    }
    let length = usize::try_from(u64::from_be_bytes(wide)).ok()?;
    let mut payload = vec![0; length];
    stream.read_exact(&mut payload).ok()?;
    Some((head[0] & 0x0f, payload))
}

/// The tags of the sections in a frame, with their contents.
fn sections(mut frame: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
    let mut sections = Vec::new();
    while frame.len() >= 8 {
        let (tag, length) = (number(&frame[..4]), number(&frame[4..8]) as usize);
        sections.push((tag, frame[8..8 + length].to_vec()));
        frame = &frame[8 + length.next_multiple_of(4)..];
    }
    assert!(frame.is_empty());
    sections
}

#[test]
fn frames_come_over_a_websocket_and_say_only_what_is_new() {
    let server = serve("dungeon", 25);
    let (mut stream, answer) = socket(&server, KEY);
    assert!(answer.starts_with("HTTP/1.1 101 "), "{answer}");
    assert!(answer.contains("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{answer}");
    let frame = |stream: &mut TcpStream, wish: &str| {
        send(stream, 1, wish.as_bytes());
        let (opcode, bytes) = receive(stream).expect("there is a frame");
        assert_eq!(opcode, 2);
        sections(&bytes)
    };
    let first = frame(&mut stream, "frame");
    let tags: Vec<u32> = first.iter().map(|(tag, _)| *tag).collect();
    assert_eq!(tags, [4, 3, 1, 2], "ground, ids, head and marks");
    let marks = &first[3].1;
    assert_eq!((marks[0], marks.len()), (25, 4 + 25 * 5));
    // Time stands still: nothing is new, and that is said as well.
    assert_eq!(frame(&mut stream, "frame"), []);
    server.post("/api/step", &json!({ "what": "tick" }));
    let tags: Vec<u32> = frame(&mut stream, "frame").iter().map(|(tag, _)| *tag).collect();
    assert_eq!(tags, [1, 2]);
    server.post("/api/step", &json!({ "what": "tick", "count": 60 }));
    let tags: Vec<u32> = frame(&mut stream, "paths").iter().map(|(tag, _)| *tag).collect();
    assert_eq!(tags, [4, 1, 2, 5], "walls were dug, and the paths are wanted");
    server.post("/api/open", &json!({ "demo": "miners", "agents": 7 }));
    let other = frame(&mut stream, "frame");
    assert_eq!(other.last().expect("the marks").1.len(), 4 + 7 * 5);
    // A ping is answered, and then the next wish.
    send(&mut stream, 9, b"you?");
    assert_eq!(receive(&mut stream), Some((10, b"you?".to_vec())));
}

#[test]
fn handshakes_and_messages_that_are_none_are_refused() {
    let server = serve("dungeon", 5);
    assert!(socket(&server, "").1.starts_with("HTTP/1.1 400 "));
    assert!(socket(&server, "Sec-WebSocket-Key: short\r\n").1.starts_with("HTTP/1.1 400 "));
    let foreign = format!("{KEY}Origin: http://example.org\r\n");
    assert!(socket(&server, &foreign).1.starts_with("HTTP/1.1 403 "));
    assert_eq!(server.get("/ws").0, 426);
    for (opcode, payload) in [(1, &b"everything"[..]), (2, b"frame"), (3, b""), (8, b"\x03")] {
        let (mut stream, _) = socket(&server, KEY);
        send(&mut stream, opcode, payload);
        // It is closed, with a word of farewell or without.
        while let Some((opcode, _)) = receive(&mut stream) {
            assert_eq!(opcode, 8);
        }
    }
    // A message that says it is of four gigabytes.
    let (mut stream, _) = socket(&server, KEY);
    let long = [0x82, 0xff, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
    stream.write_all(&long).expect("it is sent");
    while let Some((opcode, _)) = receive(&mut stream) {
        assert_eq!(opcode, 8);
    }
    server.state();
}

#[test]
fn a_client_that_does_not_read_holds_no_other_up() {
    let server = serve("dungeon", 2_000);
    let mut lazy: Vec<TcpStream> = (0..4).map(|_| socket(&server, KEY).0).collect();
    server.post("/api/run", &json!({ "running": true, "speed": 0 }));
    for stream in &mut lazy {
        for _ in 0..200 {
            send(stream, 1, b"frame");
        }
    }
    let before = server.state()["tick"].as_u64().expect("a number");
    let deadline = Instant::now() + Duration::from_secs(20);
    while server.state()["tick"].as_u64() < Some(before + 20) {
        assert!(Instant::now() < deadline, "the world goes on");
    }
}

/// Kills the program if the test fails before it is done with it.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// The program itself, and the line that it says where it is in.
fn program(arguments: &[&str]) -> (Program, String) {
    let mut child = crate::support::demos(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut line = String::new();
    let mut out = child.stdout.take().expect("it is piped");
    let mut byte = [0];
    while !line.ends_with('\n') && out.read(&mut byte).is_ok_and(|count| count == 1) {
        line.push(char::from(byte[0]));
    }
    child.stdout = Some(out);
    (Program(child), line)
}

#[test]
fn the_program_says_where_the_page_is() {
    let (_program, line) = program(&["serve", "miners", "--port", "0", "--agents", "9"]);
    let address = line.split("http://").nth(1).and_then(|rest| rest.split('/').next());
    let address = address.expect("the line names the address");
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.write_all(b"GET /api/state HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("it is sent");
    let (status, body) = read_answer(&mut stream).expect("there is an answer");
    let state: Value = serde_json::from_slice(&body).expect("JSON");
    assert_eq!((status, &state["demo"], &state["agents"]), (200, &"miners".into(), &9.into()));
    assert_eq!(state["running"], true);
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_program_well() {
    for signal in ["-INT", "-TERM"] {
        let (mut program, line) = program(&["serve", "--port", "0", "--agents", "9"]);
        assert!(line.contains("http://"), "{line}");
        let process = program.0.id().to_string();
        let killed = std::process::Command::new("kill").args([signal, &process]).status();
        assert!(killed.expect("every Unix has kill").success());
        assert_eq!(program.0.wait().expect("it ends").code(), Some(0), "{signal}");
        let mut rest = String::new();
        let mut out = program.0.stdout.take().expect("it is piped");
        out.read_to_string(&mut rest).expect("it is text");
        assert_eq!(rest.trim(), "stopped");
    }
}

#[test]
fn a_port_that_is_taken_is_one_line_that_says_what_to_do() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("some port is free");
    let port = taken.local_addr().expect("it has one").port().to_string();
    refused(&["serve", "--port", &port], &["port", &port, "is taken", "--port"]);
    refused(&["serve", "chess"], &["chess", "dungeon", "miners"]);
    let refused_number = |argument, number: &str, most| {
        refused(&["serve", argument, number], &[argument, number, "expected a whole number", most]);
    };
    refused_number("--port", "99999", "from 0 to 65,535");
    refused_number("--port", "-1", "from 0 to 65,535");
    refused_number("--agents", "0", "from 1 to 2,000,000");
    refused_number("--threads", "0", "from 1 to 256");
    refused_number("--seed", "x", "from 0 to 18,446,744,073,709,551,615");
}

#[cfg(unix)]
#[test]
fn an_interrupt_does_not_wait_for_a_world_that_is_being_built() {
    let (mut program, _) = program(&["serve", "fleet", "--port", "0", "--agents", "2000000"]);
    let process = program.0.id().to_string();
    let start = Instant::now();
    let killed = std::process::Command::new("kill").args(["-INT", &process]).status();
    assert!(killed.expect("every Unix has kill").success());
    assert_eq!(program.0.wait().expect("it ends").code(), Some(0));
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
}
