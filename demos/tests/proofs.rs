//! `demos path` and `demos regions`: what they find, and what they refuse.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{json, refused, run, scratch, text};

const MAP: &str = "type octile\nheight 4\nwidth 6\nmap\n......\n.@@@@.\n.@..@.\n......\n";

/// A file of one test with this content.
fn file(name: &str, content: &str) -> PathBuf {
    let path = scratch(name);
    fs::write(&path, content).expect("the folder for tests can be written");
    path
}

fn arguments<'a>(map: &'a Path, scen: &'a Path) -> [&'a str; 5] {
    ["path", "--map", map.to_str().unwrap(), "--scen", scen.to_str().unwrap()]
}

#[test]
fn scenarios_of_both_dialects_are_solved_and_counted() {
    let map = file("solved.map", MAP);
    let tabs = "version 1\n0\tx.map\t6\t4\t0\t0\t5\t0\t5\n0\tx.map\t6\t4\t2\t2\t5\t3\t3.41421356\n";
    let blanks = "version 1.0\n0 my maps/x.map 6 4 2 2 5 3 3.41\n";
    for (name, content, count) in [("tabs.scen", tabs, 2), ("blanks.scen", blanks, 1)] {
        let scen = file(name, content);
        for algo in ["astar", "jps"] {
            let found = json(&[&arguments(&map, &scen)[..], &["--algo", algo]].concat());
            for key in ["scenarios", "optimal"] {
                assert_eq!(found[key], count, "{key} in {found}");
            }
            for key in ["suboptimal", "illegal", "unsolved"] {
                assert_eq!(found[key], 0, "{key} in {found}");
            }
            assert_eq!(found["map"], map.to_str().unwrap());
            assert!(found["mean_us"].is_f64() && found["p99_us"].is_f64(), "{found}");
            assert!(found["expansions"].as_u64() > Some(0), "{found}");
        }
    }
    let limited =
        json(&[&arguments(&map, &scratch_of("tabs.scen"))[..], &["--limit", "1"]].concat());
    assert_eq!(limited["scenarios"], 1);
}

fn scratch_of(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

#[test]
fn a_wrong_optimum_and_a_goal_in_rock_fail_the_check() {
    let map = file("wrong.map", MAP);
    let scen = file(
        "wrong.scen",
        "version 1\n0 x 6 4 0 0 5 0 4.5\n0 x 6 4 0 0 1 1 2\n0 x 6 4 0 0 5 0 5.02\n0 x 6 4 0 0 5 0 5.01\n",
    );
    let output = run(&[&arguments(&map, &scen)[..], &["--json"]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr).lines().count(), 1);
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let counts = ["optimal", "suboptimal", "illegal", "unsolved"].map(|key| found[key].as_u64());
    assert_eq!(counts, [1, 2, 0, 1].map(Some), "{found}");
}

#[test]
fn broken_files_are_refused_by_file_line_and_reason() {
    let map = file("good.map", MAP);
    let scen = file("good.scen", "version 1\n0 x 6 4 0 0 5 0 5\n");
    let bad_map = file("bad.map", "type octile\nheight 2\nwidth 3\nmap\n...\n..x\n");
    let bad_scen = file("bad.scen", "version 1\n\n0 x 6 4 0 0 5 y 5\n");
    let other_scen = file("other.scen", "version 1\n0 x 6 4 0 0 5 0 5\n0 x 7 4 0 0 5 0 5\n");
    refused(&arguments(&bad_map, &scen), &["bad.map:6: ", "'x' is no terrain"]);
    refused(&arguments(&map, &bad_scen), &["bad.scen:3: ", "goal y is not"]);
    refused(&arguments(&map, &other_scen), &["other.scen:3: ", "7 x 4"]);
    refused(&arguments(Path::new("/nowhere.map"), &scen), &["/nowhere.map", "cannot read"]);
    refused(&[&arguments(&map, &scen)[..], &["--algo", "dfs"]].concat(), &["--algo", "dfs"]);
    refused(&[&arguments(&map, &scen)[..], &["--limit", "0"]].concat(), &["--limit"]);
    let regions = ["regions", "--edits", "5", "--map", bad_map.to_str().unwrap()];
    refused(&regions, &["bad.map:6: "]);
}

#[test]
fn regions_stay_exact_and_the_same_seed_does_the_same() {
    let map = file("regions.map", MAP);
    let with_seed = |seed| {
        let map = map.to_str().unwrap();
        json(&["regions", "--map", map, "--edits", "3000", "--seed", seed])
    };
    let found = with_seed("7");
    assert_eq!((&found["mismatches"], &found["edits"]), (&0.into(), &3000.into()), "{found}");
    assert!(found["mean_ns"].is_f64() && found["p99_ns"].is_f64(), "{found}");
    assert_eq!(found["digs"].as_u64().unwrap() + found["fills"].as_u64().unwrap(), 3000);
    for key in ["merges", "splits", "checks"] {
        assert!(found[key].as_u64() > Some(5), "{key} in {found}");
        assert_eq!(found[key], with_seed("7")[key]);
    }
    assert_ne!(found["splits"], with_seed("8")["splits"]);
}

#[test]
fn both_say_in_words_what_they_found() {
    let map = file("words.map", MAP);
    let scen = file("words.scen", "version 1\n0 x 6 4 0 0 5 0 5\n");
    let output = run(&arguments(&map, &scen));
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("optimal     1"), "{}", text(&output.stdout));
    let output = run(&["regions", "--edits", "10", "--map", map.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("mismatches  0 in "), "{}", text(&output.stdout));
}

#[test]
fn paths_are_the_same_for_any_number_of_threads() {
    let map = file("threads.map", MAP);
    let cells = (0..6).flat_map(|x| [(x, 0), (x, 3)]);
    let lines: String = cells.map(|(x, y)| format!("0 x.map 6 4 0 0 {x} {y} 1\n")).collect();
    let scen = file("threads.scen", &format!("version 1\n{lines}"));
    let hash = |threads: &str| {
        // What the file says of lengths is wrong; the paths are what matters here.
        let more = ["--json", "--threads", threads];
        let output = run(&[&arguments(&map, &scen)[..], &more].concat());
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&found["scenarios"], &found["unsolved"]), (&12.into(), &0.into()), "{found}");
        found["paths_hash"].as_str().expect("a hash").to_owned()
    };
    let hashes = ["1", "2", "8"].map(hash);
    assert!(hashes[0] == hashes[1] && hashes[0] == hashes[2], "{hashes:?}");
    let threads = [&arguments(&map, &scen)[..], &["--threads", "0"]].concat();
    refused(&threads, &["from 1 to"]);
}
