//! The dungeon from outside.

use std::fs;
use std::path::PathBuf;

use crate::support::{
    demos, has_keys, hash_for_any_threads, is_picture, json, refused, run, scratch, state_hash,
    text,
};

const SMALL: [&str; 5] = ["dungeon", "--agents", "30", "--ticks", "300"];
const COUNTERS: [&str; 5] =
    ["paths_found", "paths_unreachable", "regions", "tiles_dug", "tiles_filled"];

/// Two rooms with a wall between them.
const ROOMS: &str = "type octile\nheight 5\nwidth 9\nmap\n\
    @@@@@@@@@\n@...@...@\n@...@...@\n@...@...@\n@@@@@@@@@\n";

fn small(more: &[&'static str]) -> Vec<&'static str> {
    [&SMALL[..], more].concat()
}

/// Writes a map file and returns its path as text.
fn map(name: &str, content: &[u8]) -> String {
    let path: PathBuf = scratch(name);
    fs::write(&path, content).expect("the target folder can be written");
    path.to_str().expect("the target folder is UTF-8").to_owned()
}

#[test]
fn imps_find_paths_while_tiles_are_dug_and_filled() {
    let value = json(&SMALL);
    has_keys(&value, "dungeon", &COUNTERS);
    for key in ["paths_found", "regions", "tiles_dug", "tiles_filled"] {
        assert!(value[key].as_u64().is_some_and(|count| count > 0), "{key} in {value}");
    }
}

#[test]
fn the_hash_is_the_same_for_any_number_of_threads() {
    for seed in ["1", "2"] {
        hash_for_any_threads(&small(&["--seed", seed]));
    }
    let rooms = map("rooms-threads.map", ROOMS.as_bytes());
    hash_for_any_threads(&["dungeon", "--agents", "5", "--ticks", "200", "--map", &rooms]);
}

#[test]
fn the_hash_depends_on_seed_agents_ticks_and_map() {
    let rooms = map("rooms-hash.map", ROOMS.as_bytes());
    let hashes = [
        state_hash(&small(&[])),
        state_hash(&small(&["--seed", "77"])),
        state_hash(&["dungeon", "--agents", "31", "--ticks", "300"]),
        state_hash(&["dungeon", "--agents", "30", "--ticks", "301"]),
        state_hash(&[&SMALL[..], &["--map", &rooms]].concat()),
    ];
    for (index, hash) in hashes.iter().enumerate() {
        assert!(!hashes[..index].contains(hash), "{hashes:?}");
    }
}

#[test]
fn a_map_starts_with_the_regions_that_it_shows() {
    let rooms = map("rooms-regions.map", ROOMS.as_bytes());
    let value = json(&["dungeon", "--agents", "2", "--ticks", "0", "--map", &rooms]);
    assert_eq!(value["regions"], 2, "{value}");
    assert_eq!((&value["tiles_dug"], &value["tiles_filled"]), (&0.into(), &0.into()));
}

#[test]
fn a_map_with_windows_line_ends_is_the_same_map() {
    let plain = map("rooms-plain.map", ROOMS.as_bytes());
    let windows = map("rooms-windows.map", ROOMS.replace('\n', "\r\n").as_bytes());
    let hash =
        |path: &str| state_hash(&["dungeon", "--agents", "3", "--ticks", "50", "--map", path]);
    assert_eq!(hash(&plain), hash(&windows));
}

#[test]
fn malformed_maps_are_refused_with_file_and_line() {
    let rows = ROOMS.split_once("map\n").expect("there is a header").1;
    let cases: [(&str, String, usize); 9] = [
        ("wrong-type", ROOMS.replace("type octile", "kind octile"), 1),
        ("wrong-height", ROOMS.replace("height 5", "height five"), 2),
        ("zero-height", ROOMS.replace("height 5", "height 0"), 4),
        ("absurd-width", ROOMS.replace("width 9", "width 99999999999"), 3),
        ("no-map-line", ROOMS.replace("map\n", ""), 4),
        ("short-row", ROOMS.replacen("@...@...@", "@...@...", 1), 6),
        ("long-row", ROOMS.replacen("@...@...@", "@...@...@@", 1), 6),
        ("strange-byte", ROOMS.replacen("@...@...@", "@..?@...@", 1), 6),
        ("missing-row", ROOMS.replace("height 5", "height 6"), 9),
    ];
    for (name, content, line) in cases {
        let path = map(&format!("{name}.map"), content.as_bytes());
        refused(&["dungeon", "--map", &path], &[&format!("{path}:{line}:")]);
    }
    let path = map("no-header.map", rows.as_bytes());
    refused(&["dungeon", "--map", &path], &[&format!("{path}:1:")]);
    let path = map("binary.map", b"type octile\nheight 1\nwidth 3\nmap\n\xFF\x00.\n");
    refused(&["dungeon", "--map", &path], &[&format!("{path}:5:")]);
    let path = map("empty.map", b"");
    refused(&["dungeon", "--map", &path], &[&format!("{path}:1:")]);
}

#[test]
fn a_map_without_a_passable_tile_is_refused() {
    let path = map("solid.map", b"type octile\nheight 2\nwidth 3\nmap\n@@@\n@T@\n");
    refused(&["dungeon", "--map", &path], &[&path, "passable"]);
}

#[test]
fn a_map_may_begin_with_a_byte_order_mark() {
    let path = map("mark.map", &[b"\xEF\xBB\xBF", ROOMS.as_bytes()].concat());
    let value = json(&["dungeon", "--map", &path, "--agents", "2", "--ticks", "2"]);
    assert_eq!(value["check"], "ok");
}

#[test]
fn a_map_that_cannot_be_read_is_refused() {
    let missing = scratch("missing.map");
    let path = missing.to_str().expect("the target folder is UTF-8");
    refused(&["dungeon", "--map", path], &["cannot read", path]);
    let folder = env!("CARGO_TARGET_TMPDIR");
    refused(&["dungeon", "--map", folder], &["cannot read", folder]);
    #[cfg(target_os = "linux")]
    refused(&["dungeon", "--map", "/dev/zero"], &["cannot read", "/dev/zero", "larger"]);
}

#[test]
fn the_picture_decodes() {
    let png = scratch("dungeon.png");
    let path = png.to_str().expect("the target folder is UTF-8");
    let output = run(&[&SMALL[..], &["--png", path]].concat());
    assert_eq!(output.status.code(), Some(0));
    is_picture(&fs::read(&png).expect("the picture is there"));
}

#[test]
fn the_first_run_prints_a_summary_and_the_path_of_its_picture() {
    let folder = scratch("first-run");
    fs::create_dir_all(&folder).expect("the target folder can be written");
    let output = demos(&[]).env("TMPDIR", &folder).output().expect("the binary starts");
    let summary = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    // Stderr is no terminal here, so the progress bar stays away.
    assert_eq!(text(&output.stderr), "");
    let picture = summary.lines().find_map(|line| line.trim().strip_prefix("picture"));
    let picture = picture.expect("the summary names the picture").trim();
    is_picture(&fs::read(picture).expect("the picture is there"));
    assert!(summary.contains("Try next"), "{summary}");
}

#[test]
fn a_first_run_without_a_place_for_its_picture_shows_the_rest() {
    let nowhere = scratch("no-such-folder").join("nor-this");
    let output = demos(&[]).env("TMPDIR", &nowhere).output().expect("the binary starts");
    let summary = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for part in ["state hash", "no picture: cannot write", "Try next"] {
        assert!(summary.contains(part), "no {part} in {summary}");
    }
}

#[test]
fn cheats_dig_fill_spawn_and_send_before_their_ticks() {
    let rooms = map("rooms-cheats.map", ROOMS.as_bytes());
    let run = |more: &[&str]| {
        let base = ["dungeon", "--agents", "4", "--ticks", "40", "--map", &rooms];
        json(&[&base[..], more].concat())
    };
    let count = |value: &serde_json::Value, key: &str| value[key].as_u64().expect("a counter");
    let alone = run(&[]);
    assert_eq!((count(&alone, "imps"), count(&alone, "cheats")), (4, 0));

    let crowd = run(&["--cheat", "10: spawn 100 2 2", "--cheat", "10: spawn 1 6 2"]);
    assert_eq!((count(&crowd, "imps"), count(&crowd, "cheats")), (105, 2));

    // Into the wall between the rooms, and out of it again; the second time there is nothing to do.
    let dug = run(&["--cheat", "0: dig 4 2", "--cheat", "1: dig 4 2", "--cheat", "2: send 6 2"]);
    assert_eq!((count(&dug, "cheats"), count(&dug, "cheats_refused")), (3, 1));
    assert_ne!(dug["state_hash"], alone["state_hash"]);

    let solid = run(&["--cheat", "5: spawn 1 0 0"]);
    assert_eq!((count(&solid, "imps"), count(&solid, "cheats_refused")), (4, 1));
}

#[test]
fn a_script_of_cheats_replays_to_the_bit_on_any_number_of_threads() {
    let script = map(
        "cheats.txt",
        b"# All at once.\n20: spawn 100 10 10 # in the middle\n\n21: send 30 30\n5: fill 12 12\n60: send 5 5\n",
    );
    let lines = ["5: fill 12 12", "20: spawn 100 10 10", "21: send 30 30", "60: send 5 5"];
    let at: Vec<&str> = lines.iter().flat_map(|line| ["--cheat", line]).collect();
    let by_file = small(&[]).into_iter().chain(["--cheats", &script]).collect::<Vec<_>>();
    hash_for_any_threads(&by_file);
    assert_eq!(state_hash(&by_file), state_hash(&[&SMALL[..], &at].concat()));
    assert_ne!(state_hash(&by_file), state_hash(&SMALL));
}

#[test]
fn bad_cheats_are_refused_with_their_place() {
    let rooms = map("rooms-bad.map", ROOMS.as_bytes());
    for (content, place, what) in [
        ("5: dig 1 1\n6 dig 1 1\n", ":2:", "expected TICK: CHEAT"),
        ("x: dig 1 1\n", ":1:", "number of a tick"),
        ("\n\n7: blow 1 1\n", ":3:", "expected dig X Y"),
        ("7: dig 1 -1\n", ":1:", "whole numbers"),
        ("7: spawn 0 1 1\n", ":1:", "1 to 10000"),
        ("7: dig 9 1\n", ":1:", "not on the map"),
    ] {
        let script = map("bad-cheats.txt", content.as_bytes());
        refused(&["dungeon", "--map", &rooms, "--cheats", &script], &[place, what]);
    }
    let outside = ["dungeon", "--map", &rooms, "--cheat", "3: dig 100 1"];
    refused(&outside, &["--cheat", "not on the map"]);
    refused(&["dungeon", "--cheat", "soon: dig 1 1"], &["number of a tick"]);
    refused(&["dungeon", "--cheats", "no/such/file"], &["no/such/file"]);
}

#[test]
fn an_imp_says_what_it_asked_for_and_how_that_ended() {
    let output = run(&["dungeon", "--ticks", "1000", "--explain", "5"]);
    let said = text(&output.stdout);
    assert!(said.contains("Imp#5 asked for a path to (43, 88): found."), "{said}");
    assert!(said.contains("Imp#5 asked for a path to (43, 88): arrived."), "{said}");
}
