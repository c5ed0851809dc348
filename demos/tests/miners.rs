//! The miners from outside.

use std::fs;

use crate::support::{
    has_keys, hash_for_any_threads, is_picture, json, refused, run, scratch, state_hash,
};

/// The plan that the demo has, for tests to break.
const PLAN: &str = include_str!("../plans/miner.ron");

/// Writes a plan file and returns its path as text.
fn plan(name: &str, content: impl AsRef<[u8]>) -> String {
    let path = scratch(name);
    fs::write(&path, content).expect("the target folder can be written");
    path.to_str().expect("the target folder is UTF-8").to_owned()
}

const SMALL: [&str; 5] = ["miners", "--agents", "300", "--ticks", "400"];

fn small(more: &[&'static str]) -> Vec<&'static str> {
    [&SMALL[..], more].concat()
}

#[test]
fn gold_reaches_the_castle() {
    let value = json(&SMALL);
    has_keys(&value, "miners", &["gold_delivered"]);
    assert_eq!((&value["agents"], &value["ticks"]), (&300.into(), &400.into()));
    assert!(value["gold_delivered"].as_u64().is_some_and(|gold| gold > 0), "{value}");
    // Workers carry five at a time.
    assert_eq!(value["gold_delivered"].as_u64().map(|gold| gold % 5), Some(0));
}

#[test]
fn the_hash_depends_on_seed_agents_and_ticks() {
    let hashes = [
        state_hash(&small(&[])),
        state_hash(&small(&["--seed", "77"])),
        state_hash(&["miners", "--agents", "301", "--ticks", "400"]),
        state_hash(&["miners", "--agents", "300", "--ticks", "401"]),
    ];
    for (index, hash) in hashes.iter().enumerate() {
        assert!(!hashes[..index].contains(hash), "{hashes:?}");
    }
}

#[test]
fn a_world_without_ticks_is_a_world() {
    let value = json(&["miners", "--agents", "7", "--ticks", "0"]);
    assert_eq!(value["gold_delivered"], 0);
}

#[test]
fn the_picture_decodes() {
    let png = scratch("miners.png");
    let path = png.to_str().expect("the target folder is UTF-8");
    let output = run(&[&SMALL[..], &["--png", path]].concat());
    assert_eq!(output.status.code(), Some(0));
    is_picture(&fs::read(&png).expect("the picture is there"));
}

#[test]
fn the_plan_of_the_demo_is_the_one_that_is_used() {
    let same = plan("miner-same.ron", PLAN);
    assert_eq!(state_hash(&small(&[])), state_hash(&[&SMALL[..], &["--plan", &same]].concat()));
    let greedy = plan("miner-greedy.ron", PLAN.replace("count: 5", "count: 7"));
    let value = json(&[&SMALL[..], &["--plan", &greedy]].concat());
    assert_eq!(value["gold_delivered"].as_u64().map(|gold| gold % 7), Some(0), "{value}");
}

#[test]
fn a_plan_with_parts_that_race_keeps_the_books_and_the_hash() {
    let load = "(name: \"load\", kind: \"AddItem\", with: (item: Gold, count: 5))";
    let both = "(name: \"load\", kind: \"Join\", parts: [
        (name: \"gold\", kind: \"AddItem\", with: (item: Gold, count: 5)),
        (name: \"coal\", kind: \"AddItem\", with: (item: Coal, count: 1)),
        (name: \"rest\", kind: \"PlayAnimation\", with: (clip: Rest)),
    ])";
    assert!(PLAN.contains(load));
    let joined = plan("miner-joined.ron", PLAN.replace(load, both));
    let arguments = ["miners", "--agents", "50", "--ticks", "500", "--plan", &joined];
    assert!(json(&arguments)["gold_delivered"].as_u64().is_some_and(|gold| gold > 0));
    hash_for_any_threads(&arguments);
}

/// The plan with two actions of a kind beside each other, one of them in a sequence.
fn at_once(kind: &str, with: &str) -> String {
    let load = "(name: \"load\", kind: \"AddItem\", with: (item: Gold, count: 5))";
    let action = |name: &str| format!("(name: \"{name}\", kind: \"{kind}\", with: ({with})),");
    let both = format!(
        "(name: \"load\", kind: \"Race\", parts: [\n{}\n(name: \"then\", kind: \"Sequence\", parts: \
         [\n{}\n]),\n])",
        action("first"),
        action("second"),
    );
    assert!(PLAN.contains(load));
    PLAN.replace(load, &both)
}

#[test]
fn broken_plans_are_refused_with_file_line_and_field() {
    let cases = [
        ("field", PLAN.replacen("place: Mine", "plaice: Mine", 1), 12, "plaice"),
        ("value", PLAN.replacen("place: Mine", "place: Tavern", 1), 12, "Tavern"),
        ("kind", PLAN.replacen("\"AddItem\"", "\"AddItems\"", 1), 14, "AddItems"),
        ("count", PLAN.replacen("count: 5", "count: -5", 1), 14, "load"),
        ("name", PLAN.replacen("\"dig\"", "\"to the mine\"", 1), 13, "taken"),
        ("policy", PLAN.replacen("BackOff(ticks: 5,", "BackOff(", 1), 10, "ticks"),
        ("empty", "(actions: [])".into(), 1, "at least one action"),
        ("nothing", String::new(), 1, ""),
        ("clips", at_once("PlayAnimation", "clip: Rest"), 17, "second"),
        ("ways", at_once("MoveTo", "place: Castle"), 17, "one MoveTo at a time"),
    ];
    for (name, content, line, word) in cases {
        let path = plan(&format!("miner-{name}.ron"), content);
        refused(&["miners", "--plan", &path], &[&format!("{path}:{line}:"), word]);
    }
    let path = plan("miner-binary.ron", b"(\n\xFF)");
    refused(&["miners", "--plan", &path], &[&format!("{path}:2:"), "UTF-8"]);
    let missing = scratch("miner-missing.ron");
    let path = missing.to_str().expect("the target folder is UTF-8");
    refused(&["miners", "--plan", path], &["cannot read", path]);
}
