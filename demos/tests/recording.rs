//! The contents of recordings and explanations, errors in them, and Ctrl-C. `matrix` checks
//! that every demo has them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use formic_demos::recording::Seal;
use serde_json::Value;

use crate::support::{demos, json, refused, run, scratch, text};

/// Arguments that make a demo small.
const SMALL: [&str; 6] = ["--agents", "30", "--ticks", "60", "--hash-every", "25"];

fn record(demo: &str, name: &str) -> (PathBuf, Value) {
    let path = scratch(name);
    let file = path.to_str().expect("Unicode");
    let value = json(&[&[demo, "--record", file, "--seed", "7"][..], &SMALL].concat());
    (path, value)
}

/// The recording with every line as `alter` has it, and checksums that are right again.
pub(crate) fn altered(recording: &str, alter: impl FnOnce(String) -> String) -> String {
    let (mut open, mut close) = (Seal::new(), Seal::new());
    let lines =
        recording.lines().map(|line| open.open(line.as_bytes()).expect("as it was written"));
    let plain: String = lines.map(|line| String::from_utf8(line).expect("text") + "\n").collect();
    alter(plain).lines().map(|line| close.close(line) + "\n").collect()
}

fn said(path: &Path, threads: &str) -> (Option<i32>, String, String) {
    let output = run(&["verify", path.to_str().expect("Unicode"), "--threads", threads]);
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn cats_say_why_they_do_what_they_do() {
    let output = run(&["cats", "--agents", "20", "--ticks", "400", "--explain", "4"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let lines = text(&output.stdout);
    let sentences: Vec<&str> = lines.lines().filter(|line| line.contains(": Cat#4 ")).collect();
    assert!(sentences.len() > 3, "{lines}");
    assert!(
        sentences.iter().any(|it| it.contains(" chose sleep ") && it.contains("tiredness ")),
        "{lines}"
    );
    assert!(sentences.iter().all(|it| it.starts_with("Tick ") && it.ends_with('.')), "{lines}");
}

#[test]
fn a_recording_that_was_altered_is_found_out_at_the_first_tick_that_differs() {
    let (path, _) = record("miners", "altered.recording");
    let text = fs::read_to_string(&path).expect("it was written");
    let other_hash = |text: String| {
        let at_50 = text.find("\"tick\":50").expect("a hash");
        // The last digit, which stands before a quote and a bracket.
        let digit = at_50 + text[at_50..].find("\"}").expect("the end of the line") - 1;
        let other = if &text[digit..=digit] == "0" { "1" } else { "0" };
        format!("{}{other}{}", &text[..digit], &text[digit + 1..])
    };
    fs::write(&path, altered(&text, other_hash)).expect("it can be written");
    let (code, out, complaint) = said(&path, "2");
    assert_eq!((code, out.as_str()), (Some(1), ""), "{complaint}");
    assert_eq!(complaint.lines().count(), 1, "{complaint}");
    for part in ["tick 50", "the same at tick 25"] {
        assert!(complaint.contains(part), "{complaint}");
    }
    // Another seed is another run from the start.
    let other = altered(&text, |text| text.replace("\"seed\":7", "\"seed\":8"));
    fs::write(&path, other).expect("it can be written");
    let (code, _, complaint) = said(&path, "1");
    assert_eq!(code, Some(1), "{complaint}");
    assert!(complaint.contains("tick 0") && complaint.contains("from the start"), "{complaint}");
}

#[test]
fn what_is_no_recording_is_refused_in_one_line() {
    let path = scratch("hostile.recording");
    let file = path.to_str().expect("Unicode");
    let refuse = |content: &[u8], part: &str| {
        fs::write(&path, content).expect("it can be written");
        refused(&["verify", file], &[file, part]);
        refused(&["miners", "--replay", file], &[file, part]);
    };
    refuse(b"", "not a recording");
    refuse(b"\x89PNG\r\n\x1a\n\0\0\0", "not a recording");
    refuse(b"{\"formic_recording\":99}\n", "format 99");
    let (whole, _) = record("miners", "whole.recording");
    let whole = fs::read(whole).expect("it was written");
    let header = whole.iter().position(|&byte| byte == b'\n').expect("it has lines");
    refuse(&whole[..header + 1], "cut off");
    refuse(&whole[..header + 9], "cut off");
    let text = String::from_utf8(whole).expect("text");
    refuse(text.replace("\"seed\":7", "\"seed\":8").as_bytes(), "line 1 is damaged");
    let lie = |from: &str, to: &str| altered(&text, |text| text.replacen(from, to, 1));
    refuse(lie("\"demo\":\"miners\"", "\"demo\":\"moles\"").as_bytes(), "moles");
    let lies = lie("\"arguments\":[\"miners\"", "\"arguments\":[\"dungeon\"");
    refuse(lies.as_bytes(), "runs no miners");
    let lies = lie("\"arguments\":[\"miners\"", "\"arguments\":[\"miners\",\"--no\"");
    refuse(lies.as_bytes(), "--no");
    let input = lie("{\"tick\":0,", "{\"tick\":0,\"hash\":\"zz\"}\n{\"tick\":0,");
    refuse(input.as_bytes(), "line 2");
    refused(&["verify", "/no/such/file"], &["/no/such/file"]);
    refused(&["verify"], &["FILE"]);
}

#[test]
fn what_was_recorded_before_a_kill_is_replayed() {
    let path = scratch("killed.recording");
    let file = path.to_str().expect("Unicode");
    let arguments = ["fleet", "--agents", "30", "--ticks", "900000000", "--hash-every", "5"];
    let mut child = demos(&[&arguments[..], &["--record", file, "--quiet"]].concat())
        .stdout(Stdio::null())
        .spawn()
        .expect("the binary starts");
    let start = Instant::now();
    let has_begun = || fs::read_to_string(&path).is_ok_and(|text| text.lines().count() > 4);
    while !has_begun() && start.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
    // On Unix this is SIGKILL: no thread gets to write an end.
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    // Cut in the middle of a line, as by a full disk, it is the same.
    let bytes = fs::read(&path).expect("it was written");
    fs::write(&path, [&bytes[..], br#"{"tick":9"#].concat()).expect("it can be written");
    let (code, out, complaint) = said(&path, "2");
    assert_eq!(code, Some(0), "{complaint}");
    assert!(out.starts_with("fleet: ") && out.contains("all equal"), "{out}");
    assert!(out.contains("was cut off, and ends with tick "), "{out}");
    let output = run(&["fleet", "--replay", file, "--until", "10", "--json"]);
    let complaint = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{complaint}");
    assert!(complaint.contains("was cut off") && complaint.lines().count() == 1, "{complaint}");
    let value: Value = serde_json::from_slice(&output.stdout).expect("the results");
    assert_eq!(value["ticks"], 10);
}

#[test]
fn an_input_that_a_demo_does_not_know_is_refused() {
    let (path, _) = record("dungeon", "input.recording");
    let text = fs::read_to_string(&path).expect("it was written");
    let sung = altered(&text, |text| {
        text.replacen("{\"tick\":25,", "{\"tick\":3,\"input\":\"sing\"}\n{\"tick\":25,", 1)
    });
    fs::write(&path, sung).expect("it can be written");
    refused(&["verify", path.to_str().expect("Unicode")], &["tick 3", "sing"]);
}

#[test]
fn a_replay_takes_what_the_recording_says_and_nothing_else() {
    let (path, _) = record("dungeon", "own.recording");
    let file = path.to_str().expect("Unicode");
    refused(&["miners", "--replay", file], &["a run of dungeon, not of miners"]);
    refused(&["dungeon", "--replay", file, "--agents", "3"], &["--replay", "--agents"]);
    refused(&["dungeon", "--replay", file, "--record", file], &["--replay", "--record"]);
    refused(&["dungeon", "--replay", file, "--map", "x.map"], &["--map", "recording"]);
    refused(&["dungeon", "--until", "3"], &["--replay"]);
    refused(&["miners", "--record", "/no/such/folder/x"], &["/no/such/folder/x"]);
    refused(&["miners", "--hash-every", "0"], &["--hash-every", "from 1 to"]);
}

#[test]
fn an_entity_that_is_not_there_is_refused() {
    refused(&["miners", "--explain", "cat"], &["--explain", "such as 12"]);
    refused(&["miners", "--agents", "3", "--explain", "999"], &["entity 999"]);
}

#[test]
fn a_timeline_is_written_as_one_json_value() {
    let path = scratch("trace.json");
    let file = path.to_str().expect("Unicode");
    json(&["miners", "--agents", "20", "--ticks", "10", "--trace", file]);
    let bytes = fs::read(&path).expect("it was written");
    let value: Value = serde_json::from_slice(&bytes).expect("JSON");
    assert!(value["traceEvents"].as_array().is_some_and(|events| events.len() > 50));
    refused(&["miners", "--trace", "/no/such/folder/x"], &["/no/such/folder/x"]);
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_ends_a_run_with_its_results_and_a_recording_that_is_whole() {
    use std::process::Command;
    for signal in ["-INT", "-TERM"] {
        let path = scratch("interrupted.recording");
        let file = path.to_str().expect("Unicode");
        let arguments =
            ["miners", "--agents", "50", "--ticks", "900000000", "--json", "--record", file];
        let child = demos(&arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let start = Instant::now();
        let has_begun = || fs::read_to_string(&path).is_ok_and(|text| text.lines().count() > 2);
        while !has_begun() && start.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let id = child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().expect("a shell").success());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("interrupted after "), "{}", text(&output.stderr));
        let value: Value = serde_json::from_slice(&output.stdout).expect("the results");
        let lived = value["ticks"].as_u64().expect("a number");
        assert!((1..900_000_000).contains(&lived));
        let (code, out, complaint) = said(&path, "2");
        assert_eq!(code, Some(0), "{complaint}");
        assert!(out.starts_with("miners: "), "{out}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_ends_at_once_what_has_no_results_yet() {
    use std::process::Command;
    let built = ["fleet", "--agents", "2000000", "--ticks", "0", "--quiet"];
    let compared = ["diff", "--threads", "1,2", "cats", "--ticks", "900000000"];
    for arguments in [&built[..], &compared] {
        let mut child = demos(arguments).stdout(Stdio::null()).spawn().expect("the binary starts");
        std::thread::sleep(Duration::from_millis(300));
        let (id, start) = (child.id().to_string(), Instant::now());
        assert!(Command::new("kill").args(["-INT", &id]).status().expect("a shell").success());
        while child.try_wait().expect("it is our child").is_none()
            && start.elapsed() < Duration::from_secs(1)
        {
            std::thread::sleep(Duration::from_millis(10));
        }
        // One that is still there has no exit code after this.
        drop(child.kill());
        let ended = child.wait().expect("it is our child");
        assert_eq!(ended.code(), Some(130), "{arguments:?}");
    }
}
