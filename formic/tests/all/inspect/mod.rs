//! The inspector of a program's own world, over plain sockets.

mod address;
mod entities;
mod graph;
mod hostile;
mod large;
mod map;
mod time;

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

/// Takes its time to come.
#[derive(Component)]
struct Slow;

impl Default for Slow {
    fn default() -> Self {
        std::thread::sleep(Duration::from_millis(1_500));
        Self
    }
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
    world.register::<Slow>();
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
        listed(self.address, query).iter().map(|it| text_of(&it["name"])).collect()
    }

    /// The number of the one entity that a query finds.
    fn only(&self, query: &str) -> String {
        let entities = listed(self.address, query);
        assert_eq!(entities.len(), 1, "{query}: {entities:?}");
        text_of(&entities[0]["entity"])
    }

    fn component(&self, entity: &str, name: &str) -> Option<Value> {
        let told = self.get(&format!("/api/entity?id={entity}"));
        let components = told["components"].as_array().expect("a list").clone();
        components.into_iter().find(|it| it["name"] == name)
    }
}

/// What a query finds, page by page: a page ends where its time is over, or it has a hundred entities.
fn listed(address: SocketAddr, query: &str) -> Vec<Value> {
    let (mut listed, mut after) = (Vec::new(), json!(0));
    while !after.is_null() {
        let body = json!({ "query": query, "after": after });
        let (status, answer) = request(address, "POST", "/api/query", &body);
        assert_eq!(status, 200, "{query}: {answer}");
        let page = answer["entities"].as_array().expect("a list");
        assert!(page.len() <= 100, "{}", page.len());
        listed.extend_from_slice(page);
        after = answer["next"].clone();
    }
    listed
}

fn text_of(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
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
