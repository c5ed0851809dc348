//! `demos diff`: what it compares, what it finds, and its exit codes.

use std::alloc::Layout;
use std::collections::HashMap;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use formic::inspect::View;
use formic_demos::diff::{Side, search};
use formic_demos::engine::Engine;
use formic_demos::raster::{Colour, Raster};
use formic_demos::setup::Setup;
use formic_demos::simulation::{Counter, Simulation};
use formic_ecs::ComponentDescriptor;
use formic_jobs::ScheduleBuilder;
use formic_jobs::prelude::*;

use crate::recording::altered;
use crate::support::{json, refused, run, scratch, text};

/// The exit code and what was said, of `diff` with these arguments.
fn diff(arguments: &[&str]) -> (Option<i32>, String) {
    let output = run(&[&["diff"][..], arguments].concat());
    assert_eq!(text(&output.stderr), "", "{arguments:?}");
    (output.status.code(), text(&output.stdout))
}

fn file(name: &str) -> String {
    scratch(name).to_str().expect("Unicode").to_owned()
}

fn script(name: &str, lines: &[&str]) -> String {
    let path = file(name);
    fs::write(&path, lines.join("\n")).expect("it can be written");
    path
}

#[test]
fn a_command_line_is_equal_on_any_two_numbers_of_threads() {
    for demo in ["miners", "minds", "rogue"] {
        let arguments = ["--threads", "1,3", demo, "--agents", "30", "--ticks", "40"];
        assert_eq!(diff(&arguments), (Some(0), String::new()), "{demo}");
    }
}

#[test]
fn recordings_are_lived_again_up_to_the_system_in_which_they_part() {
    let record = |name: &str, commands: &[&str]| {
        let (script, path) = (script(&format!("{name}.script"), commands), file(name));
        let hashes = ["--hash-every", "1"];
        json(&[&["rogue", "--script", &script, "--record", &path][..], &hashes].concat());
        path
    };
    let one = record("diff-one.recording", &["rest", "rest", "rest", "rest"]);
    let same = record("diff-same.recording", &["rest", "rest", "rest", "rest"]);
    let other = record("diff-other.recording", &["rest", "rest", "rest", "go e"]);
    assert_eq!(diff(&[&one, &same]), (Some(0), String::new()));
    let (code, found) = diff(&["--threads", "2,1", &one, &other]);
    assert_eq!(code, Some(1), "{found}");
    let lines: Vec<&str> = found.lines().collect();
    assert_eq!(lines[..2], [format!("here:  {one}"), format!("there: {other}")]);
    assert!(lines[2].starts_with("tick 3, system ") && lines[2].contains("hero_acts"), "{found}");
    assert!(lines[2].contains("Position"), "{found}");
}

#[test]
fn recordings_of_other_lengths_are_compared_up_to_the_end_of_the_shorter_one() {
    // Both have a hash of tick 0, and none of another tick in common.
    let record = |name: &str, commands: &[&str]| {
        let (script, path) = (script(&format!("{name}.script"), commands), file(name));
        json(&["rogue", "--script", &script, "--record", &path]);
        path
    };
    let long = record("diff-long.recording", &["rest", "rest", "rest"]);
    let short = record("diff-short.recording", &["rest", "rest"]);
    let other = record("diff-short-other.recording", &["rest", "go e"]);
    assert_eq!(diff(&[&long, &short]), (Some(0), String::new()));
    let (code, found) = diff(&[&long, &other]);
    assert!(code == Some(1) && found.contains("\ntick 1, system "), "{code:?}: {found}");
}

#[test]
fn a_recording_of_another_program_is_told_from_a_run_that_differs() {
    let one = file("diff-honest.recording");
    json(&["miners", "--agents", "9", "--ticks", "20", "--hash-every", "5", "--record", &one]);
    let lied = file("diff-lied.recording");
    let recording = fs::read_to_string(&one).expect("it was written");
    let lie = |text: String| {
        let line =
            text.lines().find(|line| line.contains("\"tick\":10,")).expect("a hash").to_owned();
        text.replace(&line, r#"{"tick":10,"hash":"00000000deadbeef"}"#)
    };
    fs::write(&lied, altered(&recording, lie)).expect("it can be written");
    let (code, found) = diff(&[&one, &lied]);
    assert_eq!(code, Some(1));
    assert!(found.contains("after tick 10 ") && found.contains("00000000deadbeef"), "{found}");
    assert!(found.contains("equal where both are lived again"), "{found}");
}

#[test]
fn saved_games_are_compared_from_the_later_one_on() {
    let save = |name: &str, more: &[&str]| {
        let path = file(name);
        let small = ["--agents", "20", "--ticks", "60", "--seed", "4"];
        json(&[&["dungeon", "--save", &path][..], &small, more].concat());
        path
    };
    let early = save("diff-early.save", &["--at", "21"]);
    let late = save("diff-late.save", &["--at", "37", "--threads", "3"]);
    assert_eq!(diff(&["--threads", "2,1", &early, &late]), (Some(0), String::new()));
    let other = save("diff-other.save", &["--at", "37", "--cheat", "9: spawn 1 10 10"]);
    let (code, found) = diff(&[&early, &other]);
    assert_eq!(code, Some(1), "{found}");
    assert!(found.contains("tick 9, "), "the run from the start says where: {found}");
    assert!(found.contains("after tick 37: "), "{found}");
}

#[test]
fn what_cannot_be_compared_is_refused_in_one_line() {
    let (save, recording, cats) =
        (file("diff.save"), file("diff.recording"), file("diff-cats.save"));
    let small = ["--agents", "3", "--ticks", "4"];
    json(&[&["miners", "--save", &save, "--record", &recording][..], &small].concat());
    json(&[&["cats", "--save", &cats][..], &small].concat());
    refused(&["diff", &save, &recording], &["a recording", "a saved game"]);
    refused(&["diff", &save, &cats], &["miners", "cats"]);
    refused(&["diff", &save, "/no/such/file"], &["/no/such/file"]);
    refused(&["diff", &save], &["two files"]);
    refused(&["diff"], &["--help"]);
    refused(&["diff", "miners"], &["--threads 1,8"]);
    refused(&["diff", "--threads", "1", "miners"], &["two numbers"]);
    refused(&["diff", "--threads", "1,2,3", "miners"], &["two numbers"]);
    refused(&["diff", "--threads", "1,0", "miners"], &["from 1 to"]);
    refused(&["diff", "--threads", "1,2", "miners", "--plom"], &["--plom"]);
    refused(&["diff", "--threads", "1,2", "miners", "--load", &save], &["diff A B"]);
    let text_file = script("diff.text", &["a cat"]);
    refused(&["diff", &text_file, &text_file], &["not a recording"]);
}

#[derive(Component, Debug)]
#[component(name = "tests.gold")]
struct Gold(u64);
/// How many threads there are, and how many ticks there were.
struct Around {
    threads: u64,
    ticks: u64,
}

fn count(mut around: ResMut<'_, Around>) {
    around.ticks += 1;
}

fn earn(mut all: Query<'_, &mut Gold>) {
    all.par_for_each(|gold| gold.0 += 1);
}

fn reads_the_thread_count(mut all: Query<'_, &mut Gold>, around: Res<'_, Around>) {
    let is_due = around.ticks > 20;
    all.par_for_each(|gold| gold.0 += around.threads * u64::from(is_due && gold.0 % 97 == 0));
}

fn walks_over_a_hash_map(mut all: Query<'_, (Entity, &mut Gold)>, around: Res<'_, Around>) {
    // Each map has an order of its own.
    let owners: HashMap<Entity, u64> =
        (&mut all).into_iter().map(|(entity, gold)| (entity, gold.0)).collect();
    let heir = owners.keys().next().copied().filter(|_| around.ticks > 20);
    all.for_each(|(entity, gold)| gold.0 += u64::from(Some(entity) == heir));
}

fn reads_a_clock(mut all: Query<'_, &mut Gold>, around: Res<'_, Around>) {
    static CLOCK: AtomicU64 = AtomicU64::new(0);
    // Never twice the same, as a clock.
    let now = CLOCK.fetch_add(1, Ordering::Relaxed);
    all.for_each(|gold| gold.0 += now * u64::from(around.ticks > 20));
}

fn merges_as_it_comes(mut all: Query<'_, &mut Gold>, around: Res<'_, Around>) {
    // As threads would hand them in: with more of them, the later come first.
    let arrived = Mutex::new(Vec::new());
    all.par_for_each(|gold| arrived.lock().expect("no panic").push(gold.0));
    let mut arrived = arrived.into_inner().expect("no panic");
    arrived.sort_unstable();
    if around.threads > 1 && around.ticks > 20 {
        arrived.reverse();
    }
    let sum = arrived.iter().fold(0_u64, |sum, gold| sum.wrapping_mul(3).wrapping_add(*gold));
    all.for_each(|gold| gold.0 = gold.0.wrapping_add(sum));
}

fn leaves_padding_as_it_was(world: &mut World) {
    // Never twice the same, as what was in memory before.
    static MEMORY: AtomicU64 = AtomicU64::new(1);
    let record = world.component_by_name("tests.record").expect("it was registered");
    let is_due = world.resource::<Around>().expect("it is there").ticks > 20;
    let owner = world.query_filtered::<Entity, With<Gold>>().first().expect("there are some");
    let [low, ..] = MEMORY.fetch_add(1, Ordering::Relaxed).to_le_bytes();
    let padding = if is_due { low } else { 0 };
    world.by_id_mut().insert(owner, record, &[1, padding, 2, 0]).expect("it has four bytes");
}

/// A demo with a mistake in it.
struct Planted(Engine);

impl Planted {
    fn boxed(threads: usize, plant: fn(ScheduleBuilder) -> ScheduleBuilder) -> Box<dyn Simulation> {
        let mut world = World::new();
        world.insert_resource(Around { threads: threads as u64, ticks: 0 });
        world.spawn_batch((0..500).map(Gold));
        // A byte, one of padding, and a number of two bytes.
        let record = ComponentDescriptor::bytes("tests.record", Layout::new::<[u16; 2]>());
        world.by_id_mut().register(record).expect("the name is free");
        let systems = plant(Schedule::builder().add((count, earn).chain()));
        let setup = Setup { agents: 500, ticks: 40, seed: 1, threads };
        Box::new(Self(Engine::new(&setup, world, systems).expect("they have an order")))
    }
}

impl Simulation for Planted {
    fn engine(&self) -> &Engine {
        &self.0
    }
    fn engine_mut(&mut self) -> &mut Engine {
        &mut self.0
    }
    fn counters(&self) -> Vec<Counter> {
        Vec::new()
    }
    fn check(&self) -> Result<(), String> {
        self.0.check()
    }
    fn raster(&self) -> Raster {
        Raster::new(1, 1, Colour::ROCK)
    }
}

impl View for Planted {}

#[test]
fn planted_differences_are_found_with_tick_system_component_and_both_values() {
    type Plant = fn(ScheduleBuilder) -> ScheduleBuilder;
    let plants: [(&str, &str, Plant); 5] = [
        ("reads_the_thread_count", "gold", |it| it.add(reads_the_thread_count.after(earn))),
        ("walks_over_a_hash_map", "gold", |it| it.add(walks_over_a_hash_map.after(earn))),
        ("reads_a_clock", "gold", |it| it.add(reads_a_clock.after(earn))),
        ("merges_as_it_comes", "gold", |it| it.add(merges_as_it_comes.after(earn))),
        ("leaves_padding_as_it_was", "record", |it| it.add(leaves_padding_as_it_was.after(earn))),
    ];
    for (name, component, plant) in plants {
        let side = |threads: usize| {
            let start = move || Ok(Planted::boxed(threads, plant));
            Side { name: format!("{threads} threads"), start: Box::new(start), inputs: &[] }
        };
        let found = search(&side(1), &side(3), 0, 40).expect("both begin");
        let found = found.unwrap_or_else(|| panic!("{name} is not found"));
        assert!(found.starts_with("tick 20, system ") && found.contains(name), "{name}: {found}");
        let (_, values) = found.split_once(&format!("tests.{component} of ")).expect(&found);
        let values = values.split_once(" is ").and_then(|(_, it)| it.split_once(" here and "));
        let (here, there) = values.unwrap_or_else(|| panic!("{name}: {found}"));
        let there = there.split_once(" there").map_or(there, |(value, _)| value);
        assert_ne!(here, there, "{name}: {found}");
    }
    let equal = |threads: usize| {
        let start = move || Ok(Planted::boxed(threads, |it| it));
        Side { name: String::new(), start: Box::new(start), inputs: &[] }
    };
    assert_eq!(search(&equal(1), &equal(3), 0, 40).expect("both begin"), None);
}
