//! The roguelike from outside.

use std::fs;

use crate::support::{
    has_keys, hash_for_any_threads, is_picture, json, refused, run, scratch, state_hash, text,
};

#[test]
fn it_plays_itself_to_an_end_and_is_the_same_for_any_number_of_threads() {
    let value = json(&["rogue"]);
    has_keys(&value, "rogue", &["hero_turns", "turns", "undone", "escaped", "foes_left"]);
    let count = |key: &str| value[key].as_u64().expect("a counter");
    assert!(count("hero_turns") > 10 && count("turns") > count("hero_turns"), "{value}");
    hash_for_any_threads(&["rogue", "--ticks", "40"]);
    assert_ne!(state_hash(&["rogue", "--seed", "2"]), state_hash(&["rogue", "--seed", "3"]));
}

#[test]
fn a_script_is_played_and_undoing_all_of_it_comes_back_to_the_beginning() {
    let path = scratch("rogue.script");
    let path_text = path.to_str().expect("the target folder is UTF-8");
    let script = "# to and fro\ngo east\nrest\ngo w\nshoot ne\nundo\nundo\nundo\nundo\n";
    fs::write(&path, script).expect("the script can be written");
    let value = json(&["rogue", "--script", path_text]);
    assert_eq!(value["undone"], 4);
    assert_eq!(value["state_hash"], json(&["rogue", "--ticks", "0"])["state_hash"]);
}

#[test]
fn why_is_told_on_request() {
    let path = scratch("rogue-why.script");
    let path_text = path.to_str().expect("the target folder is UTF-8");
    fs::write(&path, "go east\n").expect("the script can be written");
    let output = run(&["rogue", "--script", path_text, "--why"]);
    assert_eq!(output.status.code(), Some(0));
    let summary = text(&output.stdout);
    assert!(summary.contains("| rock stands: accept"), "{summary}");
    assert!(summary.contains("1 of the hero"), "{summary}");
    fs::write(&path, "rest\n").expect("the script can be written");
    let rested = run(&["rogue", "--agents", "1", "--script", path_text, "--why"]);
    let summary = text(&rested.stdout);
    assert!(summary.contains("rest: committed, no changes"), "{summary}");
}

#[test]
fn an_entity_that_waits_to_be_brought_is_no_foe() {
    let asked = text(&run(&["rogue", "--ticks", "0", "--explain", "300"]).stdout);
    assert!(asked.contains("Vacancy#300 is not in the game: it waits to be"), "{asked}");
}

#[test]
fn a_script_that_is_none_says_in_which_line() {
    let path = scratch("rogue-bad.script");
    let path_text = path.to_str().expect("the target folder is UTF-8");
    for (script, part) in [
        ("go east\n\ndance\n", ":3: \"dance\" is no command"),
        ("go up\n", ":1: \"up\" is no direction"),
    ] {
        fs::write(&path, script).expect("the script can be written");
        refused(&["rogue", "--script", path_text], &[path_text, part]);
    }
    refused(&["rogue", "--script", "/no/such/file"], &["cannot read", "/no/such/file"]);
}

#[test]
fn it_is_not_played_where_there_is_no_terminal() {
    refused(&["rogue", "--play"], &["--play needs a terminal", "--script"]);
    refused(&["rogue", "--play", "--script", "x"], &["cannot be used with"]);
}

#[test]
fn the_picture_decodes() {
    let png = scratch("rogue.png");
    let path = png.to_str().expect("the target folder is UTF-8");
    let output = run(&["rogue", "--ticks", "20", "--png", path]);
    assert_eq!(output.status.code(), Some(0));
    is_picture(&fs::read(png).expect("the picture is there"));
}
