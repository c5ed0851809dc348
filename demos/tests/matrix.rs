//! Every demo with every argument that all demos have, and every way in which it can go wrong.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use formic_demos::catalogue::DEMOS;
use formic_demos::saved_game::SavedGame;
use serde_json::Value;

use crate::support::{
    demos, has_keys, hash_for_any_threads, is_picture, json, refused, run, scratch, state_hash,
    text,
};

/// Arguments that make a demo small.
const SMALL: [&str; 6] = ["--agents", "30", "--ticks", "60", "--seed", "7"];

/// The rows are the demos; these are the columns.
const COLUMNS: [(&str, fn(&str)); 7] = [
    ("headless", runs_without_a_screen),
    ("--json", prints_one_object),
    ("--threads", threads_change_nothing_but_the_time),
    ("--seed", is_another_one_with_another_seed),
    ("--png", draws),
    ("--record, --replay, verify", is_recorded_and_lived_again),
    ("--explain, --trace", explains_itself_and_changes_nothing_by_it),
];

#[test]
fn every_demo_has_every_argument() {
    for demo in DEMOS {
        for (column, check) in COLUMNS {
            eprintln!("{} {column}", demo.name);
            check(demo.name);
        }
    }
}

fn small<'a>(demo: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&[demo][..], &SMALL, more].concat()
}

fn runs_without_a_screen(demo: &str) {
    let output = run(&small(demo, &[]));
    let (out, complaint) = (text(&output.stdout), text(&output.stderr));
    assert_eq!((output.status.code(), &*complaint), (Some(0), ""), "{demo}");
    assert!(out.starts_with(&format!("{demo}: 30 ")) && out.contains("60 ticks"), "{out}");
    assert!(out.contains("check       passed"), "{out}");
}

fn prints_one_object(demo: &str) {
    let value = json(&small(demo, &[]));
    has_keys(&value, demo, &[]);
    assert_eq!(
        (&value["agents"], &value["ticks"], &value["seed"]),
        (&30.into(), &60.into(), &7.into())
    );
    assert_eq!(value["check"], "ok");
    assert!(value.get("explained").is_none(), "{value}");
}

/// All that a run writes on so many threads, but for the time that it took and their number.
fn written(demo: &str, threads: &str) -> Vec<(&'static str, String)> {
    let of = |what: &str| scratch(&format!("matrix-{demo}-{threads}.{what}"));
    let [png, hashes, save] = ["png", "hashes", "save"].map(of);
    let path = |path: &Path| path.to_str().expect("Unicode").to_owned();
    let picture = path(&png);
    let threads = ["--threads", threads];
    let plain = run(&small(demo, &[&threads[..], &["--png", &picture]].concat()));
    // `miners: 30 miners, 60 ticks from seed 7 in 2.1 ms on 3 threads (1,166 ns per agent and tick)`
    let text_of = |bytes: &[u8]| {
        let all = text(bytes).replace(&picture, "PICTURE");
        let (first, rest) = all.split_once('\n').expect("a summary");
        let (run, time) = first.split_once(" in ").expect("the time that it took");
        assert!(time.contains(" on ") && time.ends_with(" ns per agent and tick)"), "{time}");
        // A row of `minds` has two times behind its name, and eight figures behind those.
        let is_row = |words: &[&str]| demo == "minds" && words.len() > 10;
        let lines =
            rest.lines().map(|line| match &line.split_whitespace().collect::<Vec<_>>()[..] {
                words if is_row(words) => format!("{} {:?}\n", words[0], &words[words.len() - 8..]),
                _ => format!("{line}\n"),
            });
        format!("{run}\n{}", lines.collect::<String>())
    };
    let explained = run(&small(demo, &[&threads[..], &["--explain", "0,3"]].concat()));
    let (to_hashes, to_save) = (path(&hashes), path(&save));
    let both = [&threads[..], &["--hashes", &to_hashes, "--save", &to_save]].concat();
    let mut object = json(&small(demo, &both));
    for key in ["threads", "elapsed_ms", "ns_per_agent_tick"] {
        object.as_object_mut().expect("an object").remove(key).expect("each has it");
    }
    // `minds` has two times of each kind of mind.
    object.as_object_mut().expect("an object").retain(|key, _| !key.ends_with("_ns"));
    // But for the command line, which it was begun with.
    let mut game = SavedGame::read(&save).expect("it was written").save;
    game.attach("demo", "");
    let bytes = |path: &Path| format!("{:?}", fs::read(path).expect("it was written"));
    vec![
        ("summary", text_of(&plain.stdout)),
        ("complaints", text(&plain.stderr)),
        ("picture", bytes(&png)),
        ("explanations", text_of(&explained.stdout)),
        ("object", object.to_string()),
        ("hashes", bytes(&hashes)),
        ("save", format!("{game:?}")),
    ]
}

fn threads_change_nothing_but_the_time(demo: &str) {
    let one = written(demo, "1");
    for ((what, here), (_, there)) in one.iter().zip(written(demo, "8")) {
        let place = here.bytes().zip(there.bytes()).position(|(a, b)| a != b);
        assert!(*here == there, "{demo}, {what} on 8 threads, at {place:?}");
    }
}

fn is_another_one_with_another_seed(demo: &str) {
    let of = |seed| {
        json(&[demo, "--agents", "30", "--ticks", "60", "--seed", seed])["state_hash"].clone()
    };
    assert_ne!(of("7"), of("18446744073709551615"), "{demo}");
}

fn draws(demo: &str) {
    let path = scratch(&format!("matrix-{demo}.png"));
    json(&small(demo, &["--png", path.to_str().expect("Unicode")]));
    is_picture(&fs::read(&path).expect("it was written"));
}

fn is_recorded_and_lived_again(demo: &str) {
    let path = scratch(&format!("matrix-{demo}.recording"));
    let file = path.to_str().expect("Unicode");
    let recorded = json(&small(demo, &["--record", file, "--hash-every", "25"]));
    for threads in ["1", "3"] {
        let output = run(&["verify", file, "--threads", threads]);
        let (out, complaint) = (text(&output.stdout), text(&output.stderr));
        assert_eq!((output.status.code(), &*complaint), (Some(0), ""), "{demo}");
        // At the start, at 25, at 50, and at the end.
        assert!(out.starts_with(&format!("{demo}: 60 ticks, 4 hashes, all equal")), "{out}");
    }
    let replayed = json(&[demo, "--replay", file]);
    for key in ["state_hash", "agents", "seed", "ticks"] {
        assert_eq!(replayed[key], recorded[key], "{demo}: {key}");
    }
    assert_eq!(json(&[demo, "--replay", file, "--until", "30"])["ticks"], 30, "{demo}");
}

fn explains_itself_and_changes_nothing_by_it(demo: &str) {
    let trace = scratch(&format!("matrix-{demo}.json"));
    let file = trace.to_str().expect("Unicode");
    let plain = json(&small(demo, &[]));
    let asked = json(&small(demo, &["--explain", "0,1,3,4", "--trace", file, "--threads", "2"]));
    assert_eq!(plain["state_hash"], asked["state_hash"], "{demo}");
    let explained = asked["explained"].as_array().expect("a list");
    assert!(!explained.is_empty(), "{demo}");
    for said in explained.iter().map(|one| &one["decisions"]) {
        let said = said.as_array().expect("a list");
        let sentences = said.iter().filter_map(Value::as_str).filter(|text| !text.is_empty());
        assert!(sentences.clone().count() > 0, "{demo} answers with silence");
        let is_named = |text: &str| text.starts_with("Tick ") || text.contains('#');
        assert!(
            sentences.clone().next().is_some_and(is_named),
            "{demo}, of whom, and when: {said:?}"
        );
        for text in sentences {
            let mut words = text.split(|c: char| !c.is_alphanumeric());
            let is_handle = |word: &str| {
                let parts = word.split_once('v').map(|(index, generation)| [index, generation]);
                parts.is_some_and(|parts| parts.iter().all(|it| it.parse::<u32>().is_ok()))
            };
            assert_eq!(words.find(|word| is_handle(word)), None, "{demo}: {text}");
            for wrong in [" { ", "something", "its condition", "entity "] {
                assert!(!text.contains(wrong), "{demo}, {wrong}: {text}");
            }
        }
    }
    let list = run(&small(demo, &["--explain"]));
    assert!(text(&list.stdout).contains("such as --explain "), "{demo}: {}", text(&list.stderr));
    let list = json(&small(demo, &["--explain"]));
    let first = &list["askable"][0]["agents"][0];
    assert!(list["demo"] == demo && first.is_u64(), "{list}");
    let trace: Value =
        serde_json::from_slice(&fs::read(&trace).expect("it is there")).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("a list");
    let systems = events.iter().filter(|event| event["cat"] == "system");
    let ticks: BTreeSet<_> = systems.map(|event| event["args"]["tick"].as_u64()).collect();
    assert_eq!(ticks.first(), Some(&Some(0)), "{demo}");
    assert!(ticks.len() > 30, "{demo}: a system or more in every tick: {ticks:?}");
}

/// What is asked for, and what the complaint has to name.
const REFUSED: [(&[&str], &str); 10] = [
    (&["--png", "/no/such/folder/a.png"], "/no/such/folder/a.png"),
    (&["--trace", "/no/such/folder/a.json"], "/no/such/folder/a.json"),
    (&["--record", "/no/such/folder/a.recording"], "/no/such/folder/a.recording"),
    (&["--replay", "/no/such/a.recording"], "/no/such/a.recording"),
    (&["--explain", "4000000000"], "there is no entity 4000000000"),
    (&["--explain", "me"], "such as 12"),
    (&["--agents", "0"], "from 1 to 2,000,000"),
    (&["--threads", "0"], "from 1 to 256"),
    (&["--colour"], "--colour"),
    (&["extra"], "extra"),
];

/// Runs whose loops are long enough to be shared among threads, and those of one agent.
const SHARED: [&[&str]; 9] = [
    &["cats", "--agents", "300", "--ticks", "300"],
    &["fleet", "--agents", "512", "--ticks", "120"],
    &["harbour", "--agents", "40", "--ticks", "250"],
    &["minds", "--agents", "120", "--ticks", "200"],
    &["minds", "--agents", "1", "--ticks", "50"],
    &["miners", "--agents", "300", "--ticks", "200"],
    &["miners", "--agents", "1", "--ticks", "100"],
    &["villagers", "--agents", "300", "--ticks", "400"],
    &["villagers", "--agents", "200", "--ticks", "300", "--polling"],
];

#[test]
fn the_hash_is_the_same_for_any_number_of_threads() {
    for run in SHARED {
        let of_seed = |seed| [run, &["--seed", seed]].concat();
        assert_ne!(hash_for_any_threads(&of_seed("1")), state_hash(&of_seed("2")), "{run:?}");
    }
}

#[test]
fn every_demo_refuses_what_cannot_be_done_in_one_line() {
    for demo in DEMOS {
        for (arguments, part) in REFUSED {
            let numbers: &[&str] = match arguments[0] {
                "--agents" | "--replay" => &[],
                _ => &["--agents", "5"],
            };
            refused(&[&[demo.name][..], numbers, arguments].concat(), &[part]);
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn every_demo_says_so_where_the_disk_is_full_or_the_reader_has_gone() {
    use std::process::Stdio;
    for demo in DEMOS {
        for flag in ["--png", "--trace", "--record"] {
            let arguments = [demo.name, "--agents", "5", "--ticks", "5", flag, "/dev/full"];
            let output = run(&arguments);
            let complaint = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{arguments:?}: {complaint}");
            assert!(complaint.contains("cannot write /dev/full"), "{complaint}");
            assert_eq!(complaint.lines().count(), 1, "{complaint}");
        }
        let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
        let output = demos(&[demo.name, "--agents", "5", "--ticks", "5"]).stdout(full).output();
        let output = output.expect("the binary starts");
        assert_eq!(output.status.code(), Some(2), "{}", demo.name);
        assert!(text(&output.stderr).contains("cannot write the results"), "{}", demo.name);
        let mut child = demos(&[demo.name, "--agents", "5", "--ticks", "5"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        let complaint = text(&output.stderr);
        assert_eq!((output.status.code(), &*complaint), (Some(0), ""), "{}", demo.name);
    }
}
