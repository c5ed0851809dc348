//! Exit codes, complaints and streams, as a script would see them.

use std::fs;
use std::process::Stdio;

use formic_demos::catalogue;

use crate::support::{demos, refused, run, scratch, text};

#[test]
fn list_names_every_demo_in_a_line() {
    let output = run(&["list"]);
    assert_eq!(output.status.code(), Some(0));
    let lines = text(&output.stdout);
    let names: Vec<&str> = lines.lines().filter_map(|line| line.split(' ').next()).collect();
    let demos: Vec<&str> = catalogue::DEMOS.iter().map(|demo| demo.name).collect();
    assert_eq!(names, demos);
    assert!(lines.lines().all(|line| (30..100).contains(&line.len())), "{lines}");
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn help_and_version_go_to_stdout() {
    for arguments in [&["--help"][..], &["--version"], &["miners", "--help"]] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(text(&output.stderr), "", "{arguments:?}");
        assert!(text(&output.stdout).contains("demos"), "{arguments:?}");
    }
    assert!(text(&run(&["--version"]).stdout).contains(env!("CARGO_PKG_VERSION")));
    for demo in catalogue::DEMOS {
        let help = run(&[demo.name, "--help"]);
        let help = text(&help.stdout);
        for (argument, count) in
            [("--agents", demo.agents_default.into()), ("--ticks", demo.ticks_default)]
        {
            let line = help.lines().find(|line| line.trim_start().starts_with(argument));
            let line = line.expect("every demo takes both");
            assert!(line.ends_with(&format!(" [default: {count}]")), "{line}");
        }
    }
}

#[test]
fn bad_numbers_are_refused_with_the_rule() {
    for demo in ["miners", "dungeon"] {
        for bad in ["0", "-1", "2000001", "many", "1.5", "99999999999999999999999"] {
            refused(&[demo, "--agents", bad], &["--agents", bad, "from 1 to 2,000,000"]);
        }
        for bad in ["0", "257", "-2", "two"] {
            refused(&[demo, "--threads", bad], &["--threads", bad, "from 1 to 256"]);
        }
        refused(&[demo, "--ticks", "1000000001"], &["--ticks", "from 0 to 1,000,000,000"]);
        refused(&[demo, "--seed", "18446744073709551616"], &["--seed", "whole number"]);
    }
}

#[test]
fn unknown_and_broken_arguments_are_refused_in_one_line() {
    refused(&["minors"], &["minors", "miners"]);
    refused(&["miners", "--agent", "5"], &["--agent", "--agents"]);
    refused(&["miners", "--agents"], &["--agents", "value"]);
    refused(&["miners", "--agents", "5", "--agents", "6"], &["--agents"]);
    refused(&["miners", "--map", "x.map"], &["--map"]);
    refused(&["miners", "--agents", "5\n\n6"], &["--agents"]);
    refused(&["--json"], &["--json"]);
}

#[test]
fn quiet_keeps_the_results_and_says_nothing_else() {
    for flag in ["--quiet", "-q"] {
        let output = run(&["cats", "--agents", "3", "--ticks", "9", flag]);
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(text(&output.stderr), "");
        assert!(text(&output.stdout).starts_with("cats: 3 cats, 9 ticks"));
    }
}

#[test]
fn no_text_has_colours_for_terminals() {
    for arguments in [&["--help"][..], &["fleet", "--help"], &["list"], &["minds", "--ticks", "1"]]
    {
        let mut command = demos(arguments);
        let output = command.env("CLICOLOR_FORCE", "1").output().expect("the binary starts");
        assert!(!text(&output.stdout).contains('\x1b'), "{arguments:?}");
    }
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    for arguments in [&["list"][..], &["--help"], &["--version"]] {
        let mut child = demos(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        // The reading end closes before or while the program writes.
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("the binary ends");
        assert_eq!(text(&output.stderr), "", "{arguments:?}");
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn results_that_cannot_be_written_are_an_error() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let output = demos(&["list"]).stdout(full).output().expect("the binary starts");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stderr).lines().count(), 1);
}

#[test]
fn a_picture_that_cannot_be_written_is_refused() {
    let folder = scratch("no-such-folder").join("out.png");
    let path = folder.to_str().expect("the target folder is UTF-8");
    for demo in ["miners", "dungeon"] {
        let small = [demo, "--agents", "5", "--ticks", "5", "--png"];
        refused(&[&small[..], &[path]].concat(), &["cannot write", path]);
        let directory = env!("CARGO_TARGET_TMPDIR");
        refused(&[&small[..], &[directory]].concat(), &["cannot write", directory]);
    }
}
