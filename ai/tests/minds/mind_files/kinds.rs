//! Files of reasoners, planners, domains and trees, and folders of them.

use formic_ai::goap::{GoapAgent, OperatorSet, Planner, Planners, Sensors};
use formic_ai::htn::{Domain, HtnAgent, HtnPlanners};
use formic_ai::reload::load_folder;
use formic_ai::utility::{Reasoner, UtilityAgent, UtilityAgents};
use std::path::Path;

use super::*;

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

fn plan_slowly(
    mut planners: Planners<'_, &'static Senses>,
    file: Res<'_, MindFile<Sensors<&'static Senses>>>,
) {
    planners.think(file.mind(), 1);
}

/// An agent that sees whether it is fed and rested, and plans one state a tick, with the goals of a file.
fn careful(path: &Path, goals: &str) -> Stage {
    write_goals(path, goals);
    let mind = MindFile::load(path, |text| {
        let planner = Planner::parse(text)?;
        let [fed, rested] = ["fed", "rested"].map(|name| planner.facts().find(name).unwrap());
        let sensors = Sensors::<&'static Senses>::new(planner, &actions());
        Ok(sensors
            .expect("all operators are actions")
            .fact(fed, |senses| u32::from(senses.inputs[0] > 0.5))
            .fact(rested, |senses| u32::from(senses.inputs[1] > 0.5)))
    });
    let mind = mind.unwrap();
    let drive = |world: &mut World, agent| {
        GoapAgent::drive(world, agent).unwrap();
        world.insert_resource(mind);
    };
    Stage::new(drive, |minds| minds.add(plan_slowly.as_mind()))
}

fn write_goals(path: &Path, goals: &str) {
    let text = format!(
        r#"(
    facts: [("fed", 1), ("rested", 1)],
    operators: [
        (name: "eat", then: [("fed", Set(1))]),
        (name: "sleep", then: [("rested", Set(1))]),
    ],
    goals: [{goals}],
)"#
    );
    std::fs::write(path, text).unwrap();
}

const FED: &str = r#"(name: "be fed", when: [("fed", Is(true))], priority: 1)"#;
const RESTED: &str = r#"(name: "be rested", when: [("rested", Is(true))])"#;

#[test]
fn a_plan_in_the_making_begins_anew_with_the_first_goal() {
    let path = file("slow.ron");
    let mut stage = careful(&path, &[FED, RESTED].join(", "));
    stage.sense([1.0, 0.0, 0.0]);
    stage.ticks(1);
    let agent = |stage: &Stage| *stage.world.get::<GoapAgent>(stage.agent).unwrap();
    assert_eq!((agent(&stage).plans(), running(&stage)), (0, vec![]), "it plans its rest");
    stage.sense([0.0, 0.0, 0.0]);
    write_goals(&path, &[RESTED, FED].join(", "));
    let agents = [stage.agent];
    assert!(MindFile::<Sensors<&'static Senses>>::reload(&mut stage.world, &agents));
    stage.ticks(8);
    assert_eq!((agent(&stage).goal(), running(&stage)), (Some(1), vec![0]), "it is hungry");
}

#[test]
fn a_plan_for_a_goal_that_is_gone_is_dropped() {
    let path = file("goals.ron");
    let mut stage = careful(&path, &[FED, RESTED].join(", "));
    stage.ticks(8);
    assert_eq!(running(&stage), [0]);
    write_goals(&path, RESTED);
    let agents = [stage.agent];
    assert!(MindFile::<Sensors<&'static Senses>>::reload(&mut stage.world, &agents));
    let goal = |stage: &Stage| stage.world.get::<GoapAgent>(stage.agent).unwrap().goal();
    assert_eq!((goal(&stage), running(&stage)), (None, vec![]), "its steps are still there");
    stage.ticks(8);
    assert_eq!((goal(&stage), running(&stage)), (Some(0), vec![1]));
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
