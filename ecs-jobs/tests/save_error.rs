//! A program whose `main` returns the error of a game that cannot be saved: a process of its own, since
//! what matters is what the user of that program reads.

use std::error::Error;
use std::process::{Command, ExitCode, Termination};

use formic_jobs::prelude::*;
use formic_jobs::{Save, SaveError};

struct Map(#[expect(dead_code, reason = "a game would read it")] Vec<u8>);
#[derive(Clone)]
struct Bang;
#[derive(Default)]
struct Memory;

fn play(_memory: Local<'_, Memory>, _bangs: EventWriter<'_, Bang>, _map: Res<'_, Map>) {}

fn save() -> Result<Save, SaveError> {
    let mut world = World::new();
    world.insert_resource(Map(vec![1, 2]));
    let mut schedule = Schedule::builder().add(play).build(&mut world).expect("one system");
    schedule.run(&mut world, &Pool::new(Threads::None).expect("no threads are needed"));
    Save::of(&world, &schedule)
}

/// A `main` of one kind or the other.
fn game(kind: &str) -> ExitCode {
    match kind {
        "boxed" => save().map(drop).map_err(Box::<dyn Error>::from).report(),
        _ => save().map(drop).report(),
    }
}

const KIND: &str = "FORMIC_TEST_MAIN";

fn main() -> ExitCode {
    if let Ok(kind) = std::env::var(KIND) {
        return game(&kind);
    }
    for kind in ["boxed", "plain"] {
        let program = std::env::current_exe().expect("it runs");
        let output = Command::new(program).env(KIND, kind).output().expect("it runs again");
        let text = String::from_utf8(output.stderr).expect("text");
        assert!(!output.status.success() && output.stdout.is_empty(), "{kind}: {text}");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{kind}:\n{text}");
        assert!(lines[0].ends_with("the game cannot be saved as it is:"), "{text}");
        for (what, remedy) in [
            ("the resource Map", ".rebuild::<Map>()"),
            ("events of Bang", ".rebuild::<Bang>()"),
            ("Local<Memory> of the system", ".rebuild::<Memory>()"),
        ] {
            let is_it = |line: &&str| line.contains(what) && line.contains(remedy);
            assert!(lines[1..].iter().any(is_it), "{kind}: {what} in\n{text}");
        }
        assert!(lines[1..].iter().all(|line| line.starts_with("  ")), "{text}");
    }
    ExitCode::SUCCESS
}
