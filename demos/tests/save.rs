//! Every demo, saved at odd ticks, goes on the same: also in another process and on other threads.

use std::fs;
use std::path::Path;

use formic_demos::catalogue::DEMOS;
use formic_demos::failure::Failure;
use formic_demos::saved_game::SavedGame;
use formic_demos::setup::Setup;
use formic_jobs::Save;

use crate::support::{json, refused, run, scratch, text};

/// The lines that `--hashes` has written, from a tick on.
fn hashes(path: &Path, from: u64) -> Vec<String> {
    let text = fs::read_to_string(path).expect("it was written");
    let tick = |line: &&str| line.split(' ').next().and_then(|tick| tick.parse::<u64>().ok());
    text.lines().filter(|line| tick(line) >= Some(from)).map(str::to_owned).collect()
}

fn str_of(path: &Path) -> &str {
    path.to_str().expect("Unicode")
}

#[test]
fn every_demo_goes_on_in_another_process_on_other_threads_with_the_same_hash_in_every_tick() {
    for demo in DEMOS {
        let of = |name: &str| scratch(&format!("{}-{name}", demo.name));
        let whole = of("whole.hashes");
        let small = ["--agents", "40", "--ticks", "90", "--seed", "5"];
        let start = [&[demo.name][..], &small].concat();
        json(&[&start[..], &["--threads", "1", "--hashes", str_of(&whole)]].concat());
        assert_eq!(hashes(&whole, 0).len(), 91, "{}", demo.name);
        // Each process goes on with what the one before has saved.
        let mut arguments: Vec<String> = start.iter().map(|&word| word.to_owned()).collect();
        let mut from = 0;
        for (at, threads) in [(1, "2"), (37, "1"), (61, "3"), (90, "8")] {
            let (save, lines) = (of(&format!("{at}.save")), of(&format!("{at}.hashes")));
            let at_text = at.to_string();
            let mut words: Vec<&str> = arguments.iter().map(String::as_str).collect();
            words.extend(["--threads", threads, "--at", &at_text]);
            words.extend(["--save", str_of(&save), "--hashes", str_of(&lines)]);
            let value = json(&words);
            assert_eq!(
                (&value["ticks"], &value["agents"], &value["seed"]),
                (&90.into(), &40.into(), &5.into())
            );
            assert_eq!(hashes(&lines, 0), hashes(&whole, from), "{} from {from}", demo.name);
            arguments = vec![demo.name.into(), "--load".into(), str_of(&save).into()];
            from = at;
        }
        // There is nothing left to play: what the game checks at its end holds all the same.
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        assert_eq!(json(&words)["ticks"], 90, "{}", demo.name);
    }
}

#[test]
fn a_save_that_cannot_be_loaded_is_refused_in_one_line() {
    let path = scratch("refused.save");
    let file = str_of(&path);
    let made = ["miners", "--agents", "20", "--ticks", "9", "--save", file, "--at", "5"];
    json(&made);
    let bytes = fs::read(&path).expect("it was written");
    refused(&["dungeon", "--load", file], &[file, "a game of miners, not of dungeon"]);
    refused(&["miners", "--load", file, "--ticks", "4"], &["--ticks", "after tick 5"]);
    refused(&["miners", "--load", file, "--seed", "4"], &["--load", "--seed"]);
    refused(&["miners", "--load", file, "--agents", "4"], &["--load", "--agents"]);
    refused(&["miners", "--load", file, "--plan", "x.ron"], &["--plan", "from the save"]);
    refused(&["miners", "--load", file, "--record", "x"], &["--load", "--record"]);
    refused(&["miners", "--at", "4"], &["--save"]);
    refused(&["miners", "--save", file, "--ticks", "4", "--at", "5"], &["--at 5", "from 0 to 4"]);
    refused(&["miners", "--load", file, "--save", file, "--at", "4"], &["--at 4", "from 5 to 9"]);
    assert_eq!(fs::read(&path).expect("it is there"), bytes, "what is refused writes nothing");
    refused(&["miners", "--load", "/no/such/file"], &["/no/such/file"]);
    refused(&["miners", "--save", "/no/such/folder/x"], &["/no/such/folder/x"]);
    refused(&["miners", "--save", env!("CARGO_TARGET_TMPDIR")], &["cannot save"]);
    refused(&["miners", "--hashes", "/no/such/folder/x"], &["/no/such/folder/x"]);
    let refuse = |content: &[u8], part: &str| {
        fs::write(&path, content).expect("it can be written");
        refused(&["miners", "--load", file], &[file, part]);
    };
    refuse(&bytes[..bytes.len() - 1], "cut off");
    refuse(&bytes[..bytes.len() / 2], "cut off");
    refuse(b"", "not a saved game");
    let mut altered = bytes.clone();
    altered[bytes.len() / 2] ^= 1;
    refuse(&altered, "damaged");
    // Of a game without the demo's header.
    let game = DEMOS[0].open(&Setup { agents: 2, ticks: 1, seed: 1, threads: 1 });
    let save = game.expect("it needs no arguments").save().expect("it can be saved");
    refuse(&save.to_bytes(), "another program");
}

#[test]
fn a_save_that_cannot_be_written_leaves_the_old_one() {
    let path = scratch("kept.save");
    let new = scratch("kept.save.new");
    drop(fs::remove_dir(&new));
    let file = str_of(&path);
    let arguments = ["miners", "--agents", "20", "--ticks", "9", "--save", file];
    json(&arguments);
    let old = fs::read(&path).expect("it was written");
    let game = SavedGame::read(&path).expect("it was just written");
    let fails = |why: &str| {
        let Err(Failure::Usage(what)) = game.write(&path) else { panic!("{why}: it was written") };
        assert!(what.contains(file), "{what}");
        assert_eq!(fs::read(&path).expect("it is there"), old, "{why}");
    };
    fs::create_dir(&new).expect("there is nothing");
    fails("the place beside it is taken");
    refused(&arguments, &[file]);
    fs::remove_dir(&new).expect("it is empty");
    // Of some bytes none is written, or only some of them.
    #[cfg(target_os = "linux")]
    {
        std::os::unix::fs::symlink("/dev/full", &new).expect("there is nothing");
        fails("the disk is full");
        assert!(!new.is_symlink(), "nothing is left beside it");
    }
    // What can be written takes its place, and leaves nothing beside it.
    let mut other = game.clone();
    other.header.origin.seed += 1;
    other.write(&path).expect("nothing is in the way");
    assert_eq!(SavedGame::read(&path).expect("it was written").header, other.header);
    assert!(!new.exists());
    // And where nothing can take its place.
    let folder = scratch("kept.folder");
    fs::create_dir_all(&folder).expect("it can be made");
    assert!(game.write(&folder).is_err());
    assert!(folder.is_dir() && !folder.with_extension("folder.new").exists());
    #[cfg(unix)]
    {
        let socket = scratch("kept.socket");
        drop(fs::remove_file(&socket));
        let _listener = std::os::unix::net::UnixListener::bind(&socket).expect("a short path");
        let name = socket.to_str().expect("it is text");
        refused(&["miners", "--ticks", "900000000", "--save", name], &[name, "than a file"]);
        assert!(socket.exists() && !socket.is_file(), "it is a socket yet");
    }
}

#[test]
fn a_run_that_is_over_too_early_says_that_it_saved_nothing() {
    let (script, save) = (scratch("short.script"), scratch("short.save"));
    fs::write(&script, "rest\nrest\n").expect("it can be written");
    let arguments = ["rogue", "--script", str_of(&script), "--save", str_of(&save), "--at", "9"];
    refused(&arguments, &[str_of(&save), "over after tick 2"]);
    assert!(!save.exists());
    let output = run(&arguments[..5]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(save.exists(), "it is saved at the end");
}

#[test]
fn every_demo_that_is_saved_goes_on_with_the_same_hash_in_every_tick() {
    for demo in DEMOS {
        let setup = Setup { agents: 60, ticks: 90, seed: 3, threads: 1 };
        let mut game = demo.open(&setup).expect("it needs no arguments");
        let mut tick = 0;
        for saved_at in [1, 37, 61] {
            while tick < saved_at {
                game.tick();
                tick += 1;
            }
            let save = game.save().unwrap_or_else(|error| panic!("{}: {error}", demo.name));
            let save = Save::from_bytes(&save.to_bytes()).expect("it was just written");
            let mut other = demo.open(&Setup { threads: 3, ..setup }).expect("as before");
            let report = other.load(&save).unwrap_or_else(|error| panic!("{}: {error}", demo.name));
            assert_eq!(report, "", "{}", demo.name);
            let mut same = demo.open(&Setup { threads: 2, ..setup }).expect("as before");
            same.load(&save).expect("as before");
            for later in 0..29 {
                let which = format!("{}: {later} ticks after tick {saved_at}", demo.name);
                assert_eq!(other.state_hash(), game.state_hash(), "{which}");
                other.tick();
                game.tick();
            }
            assert_eq!(other.save(), game.save(), "{}", demo.name);
            other.check().unwrap_or_else(|error| panic!("{}: {error}", demo.name));
            // From where it was saved.
            game = same;
        }
    }
}
