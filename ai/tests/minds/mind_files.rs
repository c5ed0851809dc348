//! Minds as files: what is wrong is said with its place, and files that change are taken over.

mod kinds;

use std::path::PathBuf;

use formic_ai::action::MindText;
use formic_ai::bt::{Tree, TreeAgent, Trees};
use formic_ai::fsm::{FsmAgent, Library, Machine, MachineFile, Machines};
use formic_ai::reload::MindFile;

use crate::explain::stage::{Senses, Stage, actions};
use formic_ai::prelude::*;

/// A file of its own for a test.
fn file(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("mind_files");
    std::fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

fn library() -> Library<&'static Senses> {
    Library::new(&actions())
        .condition("hungry", |senses: &&Senses| senses.inputs[0] > 0.5)
        .condition("tired", |senses: &&Senses| senses.inputs[1] > 0.5)
}

const CAT: &str = r#"(
    events: ["bell"],
    states: [
        (name: "awake", history: Shallow),
        (name: "playing", inside: "awake", action: "play"),
        (name: "eating", inside: "awake", action: "eat"),
        (name: "sleeping", action: "sleep"),
    ],
    transitions: [
        (from: "playing", to: "eating", when: "hungry"),
        (from: "awake", to: "sleeping", when: "tired", priority: 1),
        (from: "sleeping", to: "awake", on: "bell"),
    ],
)"#;

#[test]
fn what_is_wrong_with_a_machine_is_said_with_its_line_its_column_and_its_name() {
    let error = |from: &str, to: &str| {
        assert!(CAT.contains(from), "{from}");
        Machine::parse(&CAT.replacen(from, to, 1), &library()).unwrap_err().to_string()
    };
    for (from, to, expected) in [
        (
            "when: \"hungry\"",
            "when: \"hungri\"",
            "line 10, column 47: there is no condition \"hungri\"",
        ),
        ("on: \"bell\"", "on: \"bel\"", "line 12, column 45: there is no event \"bel\""),
        ("action: \"eat\"", "action: \"ate\"", "line 6, column 51: there is no action \"ate\""),
        ("to: \"sleeping\"", "to: \"asleep\"", "line 11, column 29: there is no state \"asleep\""),
        (
            "name: \"sleeping\"",
            "name: \"playing\"",
            "line 7, column 16: the state \"playing\" is defined twice",
        ),
        (
            "on: \"bell\"",
            "on: \"bell\", after: 3",
            "line 7, column 16: a transition waits for one of `on`, `after` and `trigger`",
        ),
        ("priority: 1", "priority: high", "line 11, "),
        ("history: Shallow", "histori: Shallow", "line 4, "),
    ] {
        let error = error(from, to);
        assert!(error.starts_with(expected), "{to}: {error}");
    }
}

#[test]
fn files_are_written_as_they_are_read() {
    let machine = MachineFile::parse(CAT).unwrap();
    let text = machine.to_text();
    assert_eq!(MachineFile::parse(&text).unwrap(), machine, "{text}");
    assert_eq!(Machine::parse(&text, &library()).unwrap().state_count(), 4);
}

fn follow(mut machines: Machines<&'static Senses>, file: Res<MindFile<Machine<&'static Senses>>>) {
    machines.update(file.mind());
}

/// A cat that follows the file.
fn cat(name: &str) -> (Stage, PathBuf) {
    let path = file(name);
    std::fs::write(&path, CAT).unwrap();
    let library = library();
    let mind = MindFile::load(&path, move |text| Machine::parse(text, &library)).unwrap();
    let drive = |world: &mut World, agent| {
        FsmAgent::drive(world, agent, mind.mind()).unwrap();
        world.insert_resource(mind);
    };
    (Stage::new(drive, |minds| minds.add(follow.as_mind())), path)
}

fn reload(stage: &mut Stage) -> bool {
    MindFile::<Machine<&'static Senses>>::reload(&mut stage.world, &[stage.agent])
}

fn state(stage: &Stage) -> String {
    let file = stage.world.resource::<MindFile<Machine<&'static Senses>>>().unwrap();
    let state = stage.world.get::<FsmAgent>(stage.agent).unwrap().state();
    state.map_or(String::from("none"), |state| file.mind().name(state).to_owned())
}

fn running(stage: &Stage) -> Vec<usize> {
    let body = stage.world.get::<Body>(stage.agent).unwrap();
    (0..3).filter(|&action| body.is_running(action)).collect()
}

/// The cat with another order of states, and one that is new.
fn reordered() -> String {
    let new = "(name: \"washing\"), (name: \"sleeping\", action: \"sleep\"), (name: \"awake\", history: Shallow)";
    let text = CAT.replacen("(name: \"awake\", history: Shallow)", new, 1);
    text.replacen("        (name: \"sleeping\", action: \"sleep\"),\n    ]", "    ]", 1)
}

#[test]
fn an_agent_stays_in_the_state_of_the_same_name_and_goes_on_with_its_action() {
    let (mut stage, path) = cat("stays.ron");
    stage.sense([1.0, 0.0, 0.0]);
    stage.ticks(3);
    assert_eq!((state(&stage), running(&stage)), ("eating".into(), vec![0]));
    assert!(!reload(&mut stage), "nothing has changed");
    std::fs::write(&path, reordered()).unwrap();
    assert!(reload(&mut stage));
    assert_eq!((state(&stage), running(&stage)), ("eating".into(), vec![0]));
    stage.ticks(2);
    assert_eq!(state(&stage), "eating", "and it is not entered again");
    // By the new machine it goes to sleep, and the bell takes it back to where it was.
    stage.sense([0.0, 1.0, 0.0]);
    stage.ticks(1);
    assert_eq!((state(&stage), running(&stage)), ("sleeping".into(), vec![1]));
    std::fs::write(&path, CAT).unwrap();
    assert!(reload(&mut stage));
    stage.sense([0.0; 3]);
    let agent = stage.agent;
    stage.world.get_mut::<FsmAgent>(agent).unwrap().send(0);
    stage.ticks(1);
    assert_eq!((state(&stage), running(&stage)), ("eating".into(), vec![0]), "its history is kept");
}

#[test]
fn events_that_are_on_their_way_keep_their_names() {
    let two = |events: &str| {
        let text = CAT.replacen("events: [\"bell\"]", &format!("events: {events}"), 1);
        text.replacen("to: \"awake\", on", "to: \"playing\", on", 1)
    };
    let event = |stage: &Stage, name: &str| {
        let file = stage.world.resource::<MindFile<Machine<&'static Senses>>>().unwrap();
        file.mind().event(name)
    };
    for (events, is_heard) in
        [("[\"call\", \"bell\"]", true), ("[\"bell\", \"call\"]", true), ("[\"bell\"]", false)]
    {
        let (mut stage, path) = cat("events.ron");
        std::fs::write(&path, two("[\"bell\", \"call\"]")).unwrap();
        assert!(reload(&mut stage));
        assert_eq!(["bell", "call", "ring"].map(|it| event(&stage, it)), [Some(0), Some(1), None]);
        stage.sense([0.0, 1.0, 0.0]);
        stage.ticks(2);
        assert_eq!(state(&stage), "sleeping");
        stage.sense([0.0; 3]);
        // It is sent the bell, or a call where the next file has none.
        let sent = u32::from(!is_heard);
        stage.world.get_mut::<FsmAgent>(stage.agent).unwrap().send(sent);
        std::fs::write(&path, format!("{}\n", two(events))).unwrap();
        assert!(reload(&mut stage));
        stage.ticks(1);
        assert_eq!(state(&stage), if is_heard { "playing" } else { "sleeping" }, "{events}");
    }
}

#[test]
fn transitions_of_a_file_wait_for_times_and_ends_and_lead_back() {
    const DOG: &str = r#"(
        states: [
            (name: "resting"),
            (name: "eating", action: "eat"),
            (name: "sad"),
            (name: "glad"),
            (name: "barking"),
        ],
        transitions: [
            (from: "resting", to: "eating", after: 3),
            (from: "eating", to: "glad", trigger: Done),
            (from: "eating", to: "sad", trigger: Failed),
            (from: "glad", to: "barking", interrupts: true, when: "hungry"),
            (from: "barking", when: "tired"),
        ],
    )"#;
    let dog = |end| {
        let machine = Machine::parse(DOG, &library()).unwrap();
        let think =
            |mut machines: Machines<&'static Senses>, dog: Res<Dog>| machines.update(&dog.0);
        let drive = |world: &mut World, agent| {
            FsmAgent::drive(world, agent, &machine).unwrap();
            world.insert_resource(Dog(machine));
        };
        let mut stage = Stage::new(drive, |minds| minds.add(think.as_mind()));
        let mut states = Vec::new();
        let mut tick = |stage: &mut Stage| {
            stage.ticks(1);
            let state = stage.world.get::<FsmAgent>(stage.agent).unwrap().state().unwrap();
            states.push(stage.world.resource::<Dog>().unwrap().0.name(state).to_owned());
        };
        (0..4).for_each(|_| tick(&mut stage));
        stage.end(end);
        (0..2).for_each(|_| tick(&mut stage));
        for inputs in [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]] {
            stage.sense(inputs);
            tick(&mut stage);
        }
        states
    };
    let begin = ["resting", "resting", "resting", "eating", "eating"];
    let glad = dog(ActionResult::Success);
    assert_eq!(glad, [&begin[..], &["glad", "barking", "glad"]].concat());
    assert_eq!(dog(ActionResult::Failed), [&begin[..], &["sad", "sad", "sad"]].concat());
    // To lead back, and to interrupt without a target, make no sense together.
    let error = |from: &str, to: &str| {
        assert!(DOG.contains(from));
        Machine::parse(&DOG.replacen(from, to, 1), &library()).unwrap_err().to_string()
    };
    for to in ["(when: \"tired\")", "(from: \"barking\", interrupts: true)"] {
        let error = error("(from: \"barking\", when: \"tired\")", to);
        assert!(error.contains("a transition without `to` leads back"), "{error}");
    }
}

struct Dog(Machine<&'static Senses>);

#[test]
fn each_agent_of_a_crowd_is_taken_over_once_however_it_is_listed() {
    let (mut stage, path) = cat("crowd.ron");
    let machine = Machine::parse(CAT, &library()).unwrap();
    let mut cats = vec![stage.agent];
    for hunger in [1.0, 0.0, 1.0, 0.0] {
        let cat = stage.world.spawn(Senses { inputs: [hunger, 0.0, 0.0], end: None });
        actions().attach(&mut stage.world, cat).unwrap();
        FsmAgent::drive(&mut stage.world, cat, &machine).unwrap();
        cats.push(cat);
    }
    stage.ticks(3);
    let gone = cats.pop().unwrap();
    stage.world.despawn(gone).unwrap();
    let stone = stage.world.spawn(());
    std::fs::write(&path, reordered()).unwrap();
    let listed: Vec<Entity> =
        cats.iter().rev().chain(&[stone, gone]).chain(&cats).copied().collect();
    assert!(MindFile::<Machine<&'static Senses>>::reload(&mut stage.world, &listed));
    for _ in 0..2 {
        for (place, &cat) in cats.iter().enumerate() {
            stage.agent = cat;
            let expected = if place % 2 == 1 { ("eating", 0) } else { ("playing", 2) };
            assert_eq!((state(&stage), running(&stage)), (expected.0.into(), vec![expected.1]));
        }
        stage.ticks(2);
    }
}

#[test]
fn an_agent_whose_state_is_no_more_begins_anew_and_a_state_with_another_action_takes_it() {
    let (mut stage, path) = cat("gone.ron");
    stage.sense([1.0, 0.0, 0.0]);
    stage.ticks(3);
    let text = CAT.replacen(
        "inside: \"awake\", action: \"eat\"",
        "inside: \"awake\", action: \"sleep\"",
        1,
    );
    std::fs::write(&path, &text).unwrap();
    assert!(reload(&mut stage));
    assert_eq!((state(&stage), running(&stage)), ("eating".into(), vec![1]));
    let text = "(states: [(name: \"playing\", action: \"play\")])";
    std::fs::write(&path, text).unwrap();
    assert!(reload(&mut stage));
    assert_eq!((state(&stage), running(&stage)), ("none".into(), vec![]));
    stage.ticks(1);
    assert_eq!((state(&stage), running(&stage)), ("playing".into(), vec![2]));
}

#[test]
fn of_several_files_of_one_type_each_has_agents_of_its_own() {
    let paths = ["several_one", "several_other"].map(file);
    let mut world = World::new();
    let mut minds = paths.each_ref().map(|path| {
        std::fs::write(path, CAT).unwrap();
        let library = library();
        MindFile::load(path, move |text| Machine::parse(text, &library)).unwrap()
    });
    let cats = minds.each_ref().map(|file| {
        let cat = world.spawn(Senses { inputs: [0.0; 3], end: None });
        actions().attach(&mut world, cat).unwrap();
        FsmAgent::drive(&mut world, cat, file.mind()).unwrap();
        cat
    });
    let first = |minds: &[MindFile<Machine<&'static Senses>>; 2]| {
        minds.each_ref().map(|file| file.mind().name(0).to_owned())
    };
    let before = first(&minds);
    std::fs::write(&paths[1], reordered()).unwrap();
    let mut follow = || [0, 1].map(|place| minds[place].follow(&mut world, &[cats[place]]));
    assert_eq!([follow(), follow()], [[false, true], [false, false]]);
    let after = first(&minds);
    assert_eq!(after[0], before[0]);
    assert_ne!(after[1], before[1]);
}

#[test]
fn a_file_that_was_looked_at_is_followed_from_the_next_reload_on() {
    let (mut stage, path) = cat("looked_at.ron");
    let look = |stage: &mut Stage| {
        stage.world.resource_mut::<MindFile<Machine<&'static Senses>>>().unwrap().look()
    };
    let states = |stage: &Stage| {
        let file = stage.world.resource::<MindFile<Machine<&'static Senses>>>().unwrap();
        file.mind().state_count()
    };
    assert!(!look(&mut stage), "nothing has changed");
    std::fs::write(&path, reordered()).unwrap();
    assert!(look(&mut stage) && look(&mut stage));
    stage.ticks(2);
    assert_eq!(states(&stage), 4, "the old one stays until then");
    // It was read: that the file is gone is a problem, and changes nothing.
    std::fs::remove_file(&path).unwrap();
    assert!(reload(&mut stage));
    assert_eq!((states(&stage), state(&stage)), (5, "playing".into()));
    assert!(!reload(&mut stage));
    // One that was in order and is not any more is not followed.
    std::fs::write(&path, CAT).unwrap();
    assert!(look(&mut stage));
    std::fs::write(&path, CAT.replacen("hungry", "hungri", 1)).unwrap();
    assert!(!look(&mut stage) && !reload(&mut stage));
    assert_eq!(states(&stage), 5);
    let file = stage.world.resource::<MindFile<Machine<&'static Senses>>>().unwrap();
    assert!(file.problem().is_some());
}

#[test]
fn a_broken_file_is_reported_and_the_old_mind_stays() {
    let (mut stage, path) = cat("broken.ron");
    stage.ticks(2);
    std::fs::write(&path, CAT.replacen("hungry", "hungri", 1)).unwrap();
    assert!(!reload(&mut stage));
    let problem = |stage: &Stage| {
        let file = stage.world.resource::<MindFile<Machine<&'static Senses>>>().unwrap();
        file.problem().map(ToString::to_string)
    };
    let said = problem(&stage).unwrap();
    assert!(
        said.contains("broken.ron: line 10, column 47: there is no condition \"hungri\"; "),
        "{said}"
    );
    assert!(!reload(&mut stage));
    assert_eq!(problem(&stage), Some(said.clone()), "as long as it is broken");
    stage.sense([1.0, 0.0, 0.0]);
    stage.ticks(1);
    assert_eq!(state(&stage), "eating", "by the old one");
    std::fs::remove_file(&path).unwrap();
    assert!(!reload(&mut stage));
    assert!(problem(&stage).is_some());
    std::fs::write(&path, CAT.replacen("hungry", "hungri", 1)).unwrap();
    assert!(!reload(&mut stage));
    assert_eq!(problem(&stage), Some(said), "it is there again, and as broken as before");
    std::fs::write(&path, CAT).unwrap();
    assert!(reload(&mut stage));
    assert_eq!(problem(&stage), None);
    // The same file that was gone for a moment is not followed anew.
    std::fs::remove_file(&path).unwrap();
    assert!(!reload(&mut stage) && problem(&stage).is_some());
    std::fs::write(&path, CAT).unwrap();
    assert!(!reload(&mut stage));
    assert_eq!(problem(&stage), None);
}

#[test]
fn a_reader_that_panics_leaves_the_old_mind() {
    let path = file("panics.ron");
    std::fs::write(&path, CAT).unwrap();
    let library = library();
    let read = move |text: &str| {
        assert!(text.starts_with('('), "this is no machine");
        Machine::parse(text, &library)
    };
    let mind = MindFile::load(&path, read).unwrap();
    let mut stage = Stage::new(
        |world: &mut World, agent| {
            FsmAgent::drive(world, agent, mind.mind()).unwrap();
            world.insert_resource(mind);
        },
        |minds| minds.add(follow.as_mind()),
    );
    std::fs::write(&path, "?").unwrap();
    for _ in 0..2 {
        let panics = std::panic::AssertUnwindSafe(|| reload(&mut stage));
        assert!(std::panic::catch_unwind(panics).is_err());
    }
    stage.ticks(1);
    assert_eq!(state(&stage), "playing");
    std::fs::write(&path, reordered()).unwrap();
    assert!(reload(&mut stage));
}

#[test]
fn the_mark_that_windows_puts_before_a_text_is_passed_over() {
    let path = file("mark.ron");
    std::fs::write(&path, format!("\u{feff}{CAT}").replace('\n', "\r\n")).unwrap();
    let library = library();
    let machine = formic_ai::action::load_file(&path, |text| Machine::parse(text, &library));
    assert_eq!(machine.unwrap().state_count(), 4);
}
