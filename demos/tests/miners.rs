//! The miners from outside.

use std::fs;

use crate::support::{has_keys, hash_for_any_threads, is_picture, json, run, scratch, state_hash};

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
fn the_hash_is_the_same_for_any_number_of_threads() {
    for seed in ["1", "2", "18446744073709551615"] {
        hash_for_any_threads(&small(&["--seed", seed]));
    }
    hash_for_any_threads(&["miners", "--agents", "1", "--ticks", "100"]);
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
