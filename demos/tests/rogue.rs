//! The roguelike from outside.

use std::fs;
#[cfg(target_os = "linux")]
use std::io::Write;
#[cfg(target_os = "linux")]
use std::process::{Command, Stdio};

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

/// Plays in a terminal of 100 columns by typing `keys`; returns what the terminal showed, or none where
/// there is no `script`, which opens terminals.
#[cfg(target_os = "linux")]
fn typed(keys: &str, recording: &str) -> Option<String> {
    let game = format!("rogue --agents 12 --seed 3 --play --record '{recording}'");
    let game = format!("stty rows 30 cols 100; exec '{}' {game}", env!("CARGO_BIN_EXE_demos"));
    let mut script = Command::new("script");
    script.args(["-qec", &game, "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut script = script.spawn().ok()?;
    let mut keyboard = script.stdin.take().expect("it is piped");
    keyboard.write_all(keys.as_bytes()).expect("it reads them");
    let output = script.wait_with_output().expect("it ends");
    // Until now, or the terminal would be told that there are no more keys.
    drop(keyboard);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    Some(text(&output.stdout))
}

#[cfg(target_os = "linux")]
#[test]
fn a_game_in_a_terminal_is_played_by_keys_recorded_and_lived_again() {
    let file = |name| scratch(name).to_str().expect("the target folder is UTF-8").to_owned();
    let (path, other) = (file("rogue-played.recording"), file("rogue-played-other.recording"));
    // Three steps, one by an arrow key; the reasons, leafed through; a rest; a shot that is thought better
    // of, another one, and a door that is none; all taken back; a key that says nothing; a step, and the end.
    let Some(shown) = typed("l\x1b[Cj?jkq.fxfhcluxhqq", &path) else {
        eprintln!("SKIPPED a game in a terminal: there is no script");
        return;
    };
    let recording = fs::read_to_string(&path).expect("it was recorded");
    let inputs = recording.lines().filter_map(|line| line.split_once("\"input\":\""));
    let inputs: Vec<&str> = inputs.filter_map(|(_, rest)| Some(rest.split_once('"')?.0)).collect();
    assert_eq!(
        inputs,
        ["go east", "go east", "go south", "rest", "shoot west", "close east", "undo", "go west"]
    );
    let (screen, summary) = shown.split_once("\x1b[?1049l").expect("the terminal is given back");
    for said in ["\x1b[?1049h", "Which way?", "rock stands: accept", "There is no open door."] {
        assert!(screen.contains(said), "{said}: {screen}");
    }
    assert!(summary.contains("8 ticks from seed 3, played in "), "{summary}");
    let replayed = json(&["rogue", "--replay", &path]);
    let hash = replayed["state_hash"].as_str().expect("the hash is text");
    assert!(summary.contains(hash), "{hash}: {summary}");
    assert_eq!(run(&["verify", &path]).status.code(), Some(0));
    typed("l\x1b[Cjlqq", &other).expect("there is a script");
    assert_eq!(run(&["diff", &path, &path]).status.code(), Some(0));
    let found = text(&run(&["diff", &path, &other]).stdout);
    assert!(found.contains("\ntick 3, system "), "{found}");
}
