//! The villagers from outside.

use std::fs;

use crate::support::{has_keys, is_picture, json, run, scratch, text};

const SMALL: [&str; 5] = ["villagers", "--agents", "300", "--ticks", "900"];

fn small(more: &[&'static str]) -> Vec<&'static str> {
    [&SMALL[..], more].concat()
}

#[test]
fn they_do_everything_there_is_to_do_and_sleep_most_of_the_time() {
    let value = json(&["villagers", "--agents", "400", "--ticks", "2000"]);
    let lives = ["blocks_broken", "stones_hauled", "stones_dropped", "pickaxes_taken", "meals"];
    has_keys(&value, "villagers", &lives);
    let count = |key: &str| value[key].as_u64().expect("a counter");
    for key in lives.iter().chain(&["flights"]) {
        assert!(count(key) > 0, "{key} in {value}");
    }
    assert!(count("activity_ticks") * 20 < 400 * 2_000, "{value}");
}

#[test]
fn who_asks_in_every_tick_does_the_same_as_who_is_told() {
    for seed in ["1", "5"] {
        let told = json(&small(&["--seed", seed]));
        let asking = json(&small(&["--seed", seed, "--polling"]));
        for key in ["blocks_broken", "stones_hauled", "meals", "flights", "behaviour_hash"] {
            assert_eq!(told[key], asking[key], "{key} with seed {seed}");
        }
        let ticks =
            |value: &serde_json::Value| value["activity_ticks"].as_u64().expect("a counter");
        assert!(ticks(&told) * 10 < ticks(&asking), "{told} {asking}");
    }
}

#[test]
fn a_stone_that_came_later_is_called_a_stone() {
    let all: Vec<String> = (0..=110).map(|number: u32| number.to_string()).collect();
    let asked = ["villagers", "--agents", "60", "--ticks", "400", "--explain", &all.join(",")];
    let told = text(&run(&asked).stdout);
    assert!(told.contains("because the breaking of Stone#"), "{told}");
    assert!(!told.contains("of entity "), "{told}");
}

#[test]
fn the_picture_decodes_and_the_summary_says_what_sleeping_saves() {
    let png = scratch("villagers.png");
    let path = png.to_str().expect("the target folder is UTF-8");
    let output = run(&small(&[]).into_iter().chain(["--png", path]).collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    is_picture(&fs::read(&png).expect("the picture is there"));
    let summary = text(&output.stdout);
    assert!(summary.contains("in place of 270,000"), "{summary}");
    let output = run(&small(&["--polling"]));
    assert!(text(&output.stdout).contains("all ask"), "{}", text(&output.stdout));
}

#[test]
fn a_village_of_one_and_a_village_without_time_are_fine() {
    json(&["villagers", "--agents", "1", "--ticks", "500"]);
    json(&["villagers", "--ticks", "0", "--agents", "50"]);
}
