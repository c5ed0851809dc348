//! Minds as files: what is wrong is said with its place, and files that change are taken over.

use std::path::{Path, PathBuf};

use formic_ai::action::MindText;
use formic_ai::bt::{Tree, TreeAgent, Trees};
use formic_ai::fsm::{FsmAgent, Library, Machine, MachineFile, Machines};
use formic_ai::goap::{GoapAgent, Planner, Planners, Sensors};
use formic_ai::htn::{Domain, HtnAgent, HtnPlanners};
use formic_ai::reload::{MindFile, load_folder};
use formic_ai::utility::{Reasoner, UtilityAgent, UtilityAgents};

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

fn think(mut minds: UtilityAgents<&'static Senses>, file: Res<MindFile<Reasoner>>) {
    minds.decide(file.mind(), |senses| senses.inputs);
}

/// An agent with the reasoner of a file.
fn chooser(path: &Path) -> Stage {
    let inputs = ["hunger", "tired", "bored"];
    let mind = MindFile::load(path, move |text| Reasoner::parse(text, &inputs, &actions()));
    let mind = mind.unwrap();
    let drive = |world: &mut World, agent| {
        UtilityAgent::drive(world, agent, mind.mind(), 0).unwrap();
        world.insert_resource(mind);
    };
    Stage::new(drive, |minds| minds.add(think.as_mind()))
}

#[test]
fn an_option_goes_on_where_it_is_still_there_and_is_halted_where_it_is_not() {
    let option = |name: &str, input: &str| {
        format!(
            "(name: \"{name}\", considerations: [(input: \"{input}\", curve: Linear(1.0, 0.0))], inertia: 0.1)"
        )
    };
    let text = |options: &[String]| format!("(options: [{}])", options.join(",\n"));
    let path = file("reasoner.ron");
    let (eat, sleep) = (option("eat", "hunger"), option("sleep", "tired"));
    std::fs::write(&path, text(&[eat.clone(), sleep.clone()])).unwrap();
    let mut stage = chooser(&path);
    stage.sense([0.2, 0.8, 0.0]);
    stage.ticks(2);
    assert_eq!(running(&stage), [1]);
    let reload = |stage: &mut Stage| MindFile::<Reasoner>::reload(&mut stage.world, &[stage.agent]);
    let play = option("play", "bored");
    std::fs::write(&path, text(&[play.clone(), sleep, eat.clone()])).unwrap();
    assert!(reload(&mut stage));
    let current = |stage: &Stage| stage.world.get::<UtilityAgent>(stage.agent).unwrap().current();
    assert_eq!((current(&stage), running(&stage)), (Some(1), vec![1]));
    stage.ticks(2);
    assert_eq!(stage.world.get::<UtilityAgent>(stage.agent).unwrap().switches(), 1, "it goes on");
    std::fs::write(&path, text(&[play, eat])).unwrap();
    assert!(reload(&mut stage));
    assert_eq!((current(&stage), running(&stage)), (None, vec![]));
    stage.ticks(1);
    assert_eq!(running(&stage), [0]);
}

#[test]
fn cooldowns_are_forgotten_by_a_reasoner_without_and_are_given_by_one_with_them() {
    let text = |select: &str, cooldown: u32| {
        let option = |name: &str, input: &str| {
            format!(
                "(name: \"{name}\", considerations: [(input: \"{input}\", curve: Linear(1.0, 0.0))], \
                 cooldown: {cooldown})"
            )
        };
        let (eat, sleep) = (option("eat", "hunger"), option("sleep", "tired"));
        format!("(select: {select}, options: [{eat}, {sleep}])")
    };
    let path = file("cooldowns.ron");
    std::fs::write(&path, text("Highest", 0)).unwrap();
    let mut stage = chooser(&path);
    let reload = |stage: &mut Stage, text: String| {
        std::fs::write(&path, text).unwrap();
        assert!(MindFile::<Reasoner>::reload(&mut stage.world, &[stage.agent]));
    };
    stage.sense([0.8, 0.2, 0.0]);
    stage.ticks(2);
    assert_eq!(running(&stage), [0]);
    reload(&mut stage, text("Highest", 100));
    stage.sense([0.2, 0.8, 0.0]);
    stage.ticks(2);
    stage.sense([0.8, 0.2, 0.0]);
    stage.ticks(2);
    assert_eq!(running(&stage), [1], "it has eaten");
    reload(&mut stage, text("FirstAbove(0.1)", 0));
    stage.ticks(2);
    assert_eq!(running(&stage), [0], "there are no cooldowns any more");
}

fn plan(mut planners: Planners<&'static Senses>, file: Res<MindFile<Sensors<&'static Senses>>>) {
    planners.think(file.mind(), 100);
}

#[test]
fn a_plan_is_gone_on_with_where_its_steps_are_still_there() {
    let text = |first: &str| {
        format!(
            r#"(
    facts: [("rested", 1), ("fed", 1)],
    operators: [
        (name: "{first}", then: [("rested", Set(1))]),
        (name: "eat", when: [("rested", Is(true))], then: [("fed", Set(1))]),
    ],
    goals: [(name: "be fed", when: [("fed", Is(true))])],
)"#
        )
    };
    let path = file("planner.ron");
    std::fs::write(&path, text("sleep")).unwrap();
    let mind = MindFile::load(&path, |text| {
        Ok(Sensors::<&'static Senses>::new(Planner::parse(text)?, &actions())
            .expect("all operators are actions"))
    });
    let mind = mind.unwrap();
    let drive = |world: &mut World, agent| {
        GoapAgent::drive(world, agent).unwrap();
        world.insert_resource(mind);
    };
    let mut stage = Stage::new(drive, |minds| minds.add(plan.as_mind()));
    stage.ticks(2);
    assert_eq!(running(&stage), [1]);
    let reload = |stage: &mut Stage| {
        MindFile::<Sensors<&'static Senses>>::reload(&mut stage.world, &[stage.agent])
    };
    std::fs::write(
        &path,
        text("sleep").replacen("[(name: \"be", "[(name: \"never\", priority: -1), (name: \"be", 1),
    )
    .unwrap();
    assert!(reload(&mut stage));
    let agent = |stage: &Stage| *stage.world.get::<GoapAgent>(stage.agent).unwrap();
    assert_eq!(
        (agent(&stage).goal(), agent(&stage).plans(), running(&stage)),
        (Some(1), 1, vec![1])
    );
    std::fs::write(&path, text("play")).unwrap();
    assert!(reload(&mut stage));
    assert_eq!((agent(&stage).goal(), running(&stage)), (None, vec![]));
    stage.ticks(2);
    assert_eq!((agent(&stage).plans(), running(&stage)), (2, vec![2]));
}

type HtnSensors = Sensors<&'static Senses, Domain>;

fn decompose(mut planners: HtnPlanners<&'static Senses>, file: Res<MindFile<HtnSensors>>) {
    planners.think(file.mind(), 100);
}

/// A cat that plays or sleeps first, and dines then, which is planned for later.
fn htn_text(first: &str, more: &str) -> String {
    format!(
        r#"(
    facts: [],
    operators: [(name: "{first}"), (name: "eat"){more}],
    methods: [
        (of: "live", name: "well", tasks: ["{first}", "...", "dine"]),
        (of: "dine", name: "at home", tasks: ["eat"]),
    ],
    root: "live",
)"#
    )
}

#[test]
fn a_decomposition_and_what_is_left_of_it_are_gone_on_with_where_their_tasks_are_still_there() {
    let path = file("domain.ron");
    std::fs::write(&path, htn_text("sleep", "")).unwrap();
    let mind = MindFile::load(&path, |text| {
        let sensors = HtnSensors::new(Domain::parse(text)?, &actions());
        Ok(sensors.expect("all operators are actions"))
    });
    let mind = mind.unwrap();
    let drive = |world: &mut World, agent| {
        HtnAgent::drive(world, agent).unwrap();
        world.insert_resource(mind);
    };
    let mut stage = Stage::new(drive, |minds| minds.add(decompose.as_mind()));
    stage.ticks(2);
    assert_eq!(running(&stage), [1]);
    let reload =
        |stage: &mut Stage| MindFile::<HtnSensors>::reload(&mut stage.world, &[stage.agent]);
    let agent = |stage: &Stage| *stage.world.get::<HtnAgent>(stage.agent).unwrap();
    // One operator more: all tasks have other numbers, also the one that is left for later.
    std::fs::write(&path, htn_text("sleep", ", (name: \"play\")")).unwrap();
    assert!(reload(&mut stage));
    assert_eq!((agent(&stage).plans(), running(&stage)), (1, vec![1]));
    stage.end(ActionResult::Success);
    stage.ticks(2);
    assert_eq!((agent(&stage).plans(), running(&stage)), (2, vec![0]), "it dines");
    // The operator that it is at is still there, and the first one of the plan was passed.
    std::fs::write(&path, htn_text("play", "")).unwrap();
    assert!(reload(&mut stage));
    assert_eq!((agent(&stage).plans(), running(&stage)), (2, vec![0]));
    stage.end(ActionResult::Success);
    stage.ticks(2);
    assert_eq!((agent(&stage).plans(), running(&stage)), (3, vec![2]), "it begins anew");
    // What it does is no operator any more.
    std::fs::write(&path, htn_text("sleep", "")).unwrap();
    assert!(reload(&mut stage));
    assert_eq!((agent(&stage).step(), running(&stage)), (0, vec![]));
    stage.ticks(2);
    assert_eq!((agent(&stage).plans(), running(&stage)), (4, vec![1]));
    // A broken file is reported, and the mind stays as it was.
    std::fs::write(&path, htn_text("sleep", "").replace("\"dine\"]", "\"dime\"]")).unwrap();
    assert!(!reload(&mut stage));
    let file = stage.world.resource::<MindFile<HtnSensors>>().unwrap();
    let said = file.problem().unwrap().to_string();
    assert!(said.contains("domain.ron: line 5, ") && said.contains("\"dime\""), "{said}");
    stage.ticks(1);
    assert_eq!(running(&stage), [1]);
}

fn climb(mut trees: Trees<&'static Senses>, file: Res<MindFile<Tree<&'static Senses>>>) {
    trees.tick(file.mind());
}

#[test]
fn an_action_that_both_trees_have_goes_on_and_another_is_halted() {
    let path = file("cat.tree");
    let text = "selector { sequence { hungry? eat } play }";
    std::fs::write(&path, text).unwrap();
    let library = library();
    let mind = MindFile::load(&path, move |text| Tree::parse(text, &library)).unwrap();
    let drive = |world: &mut World, agent| {
        TreeAgent::drive(world, agent, mind.mind(), 0).unwrap();
        world.insert_resource(mind);
    };
    let mut stage = Stage::new(drive, |minds| minds.add(climb.as_mind()));
    stage.sense([1.0, 0.0, 0.0]);
    stage.ticks(2);
    assert_eq!(running(&stage), [0]);
    let reload = |stage: &mut Stage| {
        MindFile::<Tree<&'static Senses>>::reload(&mut stage.world, &[stage.agent])
    };
    std::fs::write(
        &path,
        "retry(3) selector { sequence { tired? sleep } sequence { hungry? eat } }",
    )
    .unwrap();
    assert!(reload(&mut stage));
    stage.ticks(2);
    assert_eq!(running(&stage), [0]);
    let eat = stage.world.get::<Buffer<OwnedAction>>(stage.agent).unwrap()[0].entity();
    assert_eq!(stage.world.get::<Action>(eat).unwrap().activations(), 1, "it goes on");
    std::fs::write(&path, "selector {\n  hungry? ett\n}").unwrap();
    assert!(!reload(&mut stage));
    let file = stage.world.resource::<MindFile<Tree<&'static Senses>>>().unwrap();
    let said = file.problem().unwrap().to_string();
    let at = "cat.tree: line 2, column 11: there is no action \"ett\"; did you mean \"eat\"?";
    assert!(said.contains(at), "{said}");
    std::fs::write(&path, "play").unwrap();
    assert!(reload(&mut stage));
    assert_eq!(running(&stage), [0; 0]);
    stage.ticks(1);
    assert_eq!(running(&stage), [2]);
}

#[test]
fn an_unknown_name_of_a_tree_is_found_where_it_is_a_word_of_its_own() {
    let at = |text: &str| Tree::parse(text, &library()).err().unwrap().to_string();
    let said = at("selector {\n  sequence { hungry? eat }\n  sequence { tired? q }\n}");
    assert!(said.starts_with("line 3, column 21: there is no action \"q\""), "{said}");
    let said = at("selector {\n  hungry?\n  hungry\n}");
    assert!(said.starts_with("line 3, column 3: there is no action \"hungry\""), "{said}");
    let said = at("selector {\n  eat\n  eat?\n}");
    assert!(said.starts_with("line 3, column 3: there is no condition \"eat\""), "{said}");
    let said = at("selector {\n  parallel(3, 1) { eat }\n}");
    assert!(said.starts_with("line 2, column 3: a parallel asks"), "{said}");
    let said = at("selector {\n  parallel(1, 1) { eat }\n  parallel(3, 1) { eat }\n}");
    assert!(
        said.starts_with("line 1, column 1: a parallel asks"),
        "which of them is not known: {said}"
    );
}

#[test]
fn an_unknown_name_in_any_file_comes_with_the_one_that_was_meant() {
    let machine = |from: &str, to: &str| {
        Machine::parse(&CAT.replacen(from, to, 1), &library()).unwrap_err().to_string()
    };
    let reasoner = |text: &str| {
        let text = text.replace("CURVE", "curve: Linear(1.0, 0.0)");
        Reasoner::parse(&text, &["hunger", "tired"], &actions()).unwrap_err().to_string()
    };
    let planner = |text: &str| Planner::parse(text).unwrap_err().to_string();
    let tree = |text: &str| Tree::parse(text, &library()).err().unwrap().to_string();
    for (said, meant) in [
        (machine("when: \"hungry\"", "when: \"hungri\""), "hungry"),
        (machine("on: \"bell\"", "on: \"bel\""), "bell"),
        (machine("action: \"eat\"", "action: \"ett\""), "eat"),
        (machine("to: \"sleeping\"", "to: \"sleepnig\""), "sleeping"),
        (
            reasoner(r#"(options: [(name: "slepe", considerations: [(input: "hunger", CURVE)])])"#),
            "sleep",
        ),
        (
            reasoner(r#"(options: [(name: "eat", considerations: [(input: "hungre", CURVE)])])"#),
            "hunger",
        ),
        (
            planner(
                r#"(facts: [("wood", 1)], operators: [(name: "chop", then: [("wod", Set(1))])], goals: [])"#,
            ),
            "wood",
        ),
        (tree("sequence { hungri? eat }"), "hungry"),
        (tree("sequense { eat }"), "sequence"),
        (tree("subtree meal eat use meel"), "meal"),
    ] {
        assert!(said.ends_with(&format!("; did you mean \"{meant}\"?")), "{said}");
        assert!(said.starts_with("line "), "{said}");
    }
    // Where no name is near, those that there are.
    let said = machine("action: \"eat\"", "action: \"wash\"");
    assert!(
        said.ends_with("there is no action \"wash\", but \"eat\", \"sleep\", \"play\""),
        "{said}"
    );
}

#[test]
fn planners_and_domains_say_where_they_make_no_sense() {
    let planner = "(facts: [(\"wood\", 64)], operators: [], goals: [])";
    let error = Planner::parse(planner).unwrap_err().to_string();
    assert_eq!(error, "line 1, column 11: the fact \"wood\" goes up to 64, and the limit is 63");
    let planner = "(facts: [(\"wood\", 3)], operators: [],\n goals: [(name: \"rich\", when: [(\"wood\", AtLeast(4))])])";
    let error = Planner::parse(planner).unwrap_err().to_string();
    assert_eq!(error, "line 2, column 17: \"rich\" requires a value that the fact cannot have");
    let domain = "(facts: [], operators: [], methods: [\n(of: \"go\", name: \"on\", tasks: [\"go\"])], root: \"go\")";
    let error = Domain::parse(domain).unwrap_err().to_string();
    assert_eq!(error, "line 2, column 6: \"go\" decomposes into itself before any operator");
}

#[test]
fn a_folder_of_minds_is_a_library() {
    let folder = file("folder");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("cat.ron"), CAT).unwrap();
    std::fs::write(folder.join("dog.ron"), CAT.replacen("playing\"", "barking\"", 3)).unwrap();
    std::fs::write(folder.join("notes.txt"), "no machine").unwrap();
    let library = library();
    let read = |_: &str, text: &str| Machine::parse(text, &library);
    let minds = load_folder(&folder, "ron", read).unwrap();
    assert!(minds.keys().eq(["cat", "dog"]));
    assert!(minds["dog"].find("barking").is_some());
    std::fs::write(folder.join("dog.ron"), "(states: [])").unwrap();
    let error = load_folder(&folder, "ron", read).unwrap_err().to_string();
    assert!(
        error.contains("dog.ron: line 1, column 1: a machine has from 1 to 4096 states"),
        "{error}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_of_a_folder_whose_name_is_no_text_is_an_error() {
    use std::os::unix::ffi::OsStrExt;
    let folder = file("folder of no text");
    std::fs::create_dir_all(&folder).unwrap();
    let name = std::ffi::OsStr::from_bytes(b"d\xF6g.ron");
    if std::fs::write(folder.join(name), CAT).is_err() {
        return; // not on this file system
    }
    let error = load_folder(&folder, "ron", |_, _| Ok(())).unwrap_err().to_string();
    assert!(error.contains("g.ron") && error.contains("its name is not UTF-8"), "{error}");
}
