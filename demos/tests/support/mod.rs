//! Starting the built binary and looking at what it did.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// The binary, ready for more arguments.
pub(crate) fn demos(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_demos"));
    command.args(arguments).stdin(Stdio::null());
    command
}

pub(crate) fn run(arguments: &[&str]) -> Output {
    demos(arguments).output().expect("the binary starts")
}

/// Runs with `--json` and returns the one object on stdout.
pub(crate) fn json(arguments: &[&str]) -> Value {
    let output = demos(arguments).arg("--json").output().expect("the binary starts");
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    let value: Value = serde_json::from_slice(&output.stdout).expect("one JSON value on stdout");
    assert!(value.is_object(), "{value}");
    value
}

/// The state hash of a run, after a look at its form.
pub(crate) fn state_hash(arguments: &[&str]) -> String {
    let value = json(arguments);
    let hash = value["state_hash"].as_str().expect("the hash is text").to_owned();
    let lower_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    assert!(hash.len() == 16 && hash.bytes().all(lower_hex), "{hash}");
    hash
}

/// Checks that the hash is one and the same for 1, 2, 3 and 8 threads and from
/// run to run, and returns it.
pub(crate) fn hash_for_any_threads(arguments: &[&str]) -> String {
    let with = |threads| state_hash(&[arguments, &["--threads", threads]].concat());
    let one = with("1");
    for threads in ["1", "2", "3", "8"] {
        assert_eq!(with(threads), one, "{arguments:?} on {threads} threads");
    }
    one
}

/// Checks that a run is refused with exit code 2, nothing on stdout, and one
/// line on stderr that has all of `parts`.
pub(crate) fn refused(arguments: &[&str], parts: &[&str]) {
    let output = run(arguments);
    let complaint = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {complaint}");
    assert_eq!(text(&output.stdout), "", "{arguments:?}");
    assert_eq!(complaint.lines().count(), 1, "{arguments:?}: {complaint}");
    assert!(complaint.starts_with("demos: "), "{arguments:?}: {complaint}");
    for part in parts {
        assert!(complaint.contains(part), "{arguments:?}: no {part:?} in {complaint}");
    }
}

/// Checks that every demo's own keys are there beside those of the shell.
pub(crate) fn has_keys(value: &Value, demo: &str, counters: &[&str]) {
    assert_eq!(value["demo"], demo);
    for key in ["agents", "ticks", "seed", "threads"] {
        assert!(value[key].is_u64(), "{key} in {value}");
    }
    assert_eq!(value["uncovered"], serde_json::json!([]), "the hash sees every value of {demo}");
    for key in ["elapsed_ms", "ns_per_agent_tick"] {
        assert!(value[key].as_f64().is_some_and(|number| number >= 0.0), "{key} in {value}");
    }
    for key in counters {
        assert!(value[key].is_u64(), "{key} in {value}");
    }
}

/// Checks that a file is a PNG whose every row decodes and that more than one
/// colour is in it.
pub(crate) fn is_picture(bytes: &[u8]) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().expect("a PNG");
    let mut pixels = vec![0; reader.output_buffer_size().expect("a sane size")];
    let info = reader.next_frame(&mut pixels).expect("whole pixels");
    assert_eq!(info.color_type, png::ColorType::Rgb);
    let first = &pixels[..3];
    assert!(pixels.chunks(3).any(|pixel| pixel != first), "a picture of one colour");
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A path for a file of one test, with nothing there yet.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    // Left from an earlier run, or not there: both are fine.
    drop(std::fs::remove_file(&path));
    path
}
