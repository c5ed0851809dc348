//! Trees that the documentation of BehaviorTree.CPP uses: what they call, and in which order; and any
//! trees beside a small BehaviorTree.CPP.

mod files;
mod oracle;
mod rules;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ActionResult::{Failed, Running, Success};
use formic_ai::action::{Ended, LoadError};
use formic_ai::bt::{Library, Node, Tree, TreeAgent, Trees};
use formic_ai::prelude::*;
use oracle::{Board, LEAVES, Theirs, all_ids};

const TICK: Duration = Duration::from_millis(100);

/// What holds, what ends and how, and what was called.
#[derive(Default)]
struct State {
    holds: Vec<&'static str>,
    ends: Vec<(&'static str, ActionResult)>,
    calls: Vec<String>,
}

type Shared = Arc<Mutex<State>>;

#[derive(Component, Clone)]
struct Deed(&'static str);

struct Doing(Shared);

impl Processor for Doing {
    type Action = Deed;

    fn start(&self, _: Agent<'_>, deed: &mut Deed) -> ActionResult {
        self.0.lock().unwrap().calls.push(deed.0.into());
        Running
    }

    fn update(&self, _: Agent<'_>, deed: &mut Deed) -> ActionResult {
        let state = self.0.lock().unwrap();
        state.ends.iter().find(|end| end.0 == deed.0).map_or(Running, |end| end.1)
    }

    fn cleanup(&self, _: Agent<'_>, deed: &mut Deed, ended: Ended) {
        if !matches!(ended, Ended::Success | Ended::Failed) {
            self.0.lock().unwrap().calls.push(format!("halt {}", deed.0));
        }
    }
}

struct Minds(Tree<()>, Shared);

fn think(mut trees: Trees<()>, minds: Res<Minds>) {
    trees.tick(&minds.0);
}

fn act(mut actions: Actions<Deed>, minds: Res<Minds>) {
    actions.process_serial(&Doing(Arc::clone(&minds.1)));
}

const ACTIONS: [&str; 11] = [
    "MoveBase goal=\"1;2;3\"",
    "MoveBase goal=\"{move_goal}\"",
    "OpenDoor",
    "PickLock",
    "SmashDoor",
    "PassThroughDoor",
    "OpenGripper",
    "ApproachObject",
    "CloseGripper",
    "ActionA",
    "ActionB",
];
const CONDITIONS: [&str; 6] = [
    "BatteryOK",
    "IsDoorClosed",
    "CheckBattery",
    "SwitchCase case=\"1\" variable=\"{mode}\"",
    "SwitchCase case=\"2\" variable=\"{mode}\"",
    "ScriptCondition code=\"a &amp;&amp; b\"",
];
const EFFECTS: [&str; 5] = [
    "SaySomething message=\"mission started...\"",
    "SaySomething message=\"mission completed!\"",
    "SaySomething message=\"{move_result}\"",
    "SetBlackboard output_key=\"{move_result}\" value=\"goal reached\"",
    "Script code=\" move_goal:='1;2;3' \"",
];

fn actions() -> ActionSet {
    ACTIONS.iter().fold(ActionSet::new(), |set, name| set.action(*name, Deed(name)))
}

fn library(shared: &Shared) -> Library<()> {
    let mut library = Library::new(&actions());
    for name in CONDITIONS {
        let shared = Arc::clone(shared);
        library = library.condition(name, move |()| {
            let mut state = shared.lock().unwrap();
            state.calls.push(format!("{name}?"));
            state.holds.contains(&name)
        });
    }
    for name in EFFECTS {
        let shared = Arc::clone(shared);
        library = library.effect(name, move |()| shared.lock().unwrap().calls.push(name.into()));
    }
    library
}

struct Play {
    world: World,
    schedule: Schedule,
    pool: Pool,
    agent: Entity,
    shared: Shared,
}

impl Play {
    /// A file of these trees, the first of them the main one.
    fn new(trees: &str) -> Self {
        let shared = Shared::default();
        let tree = Tree::parse_btcpp(&file(trees), &library(&shared), TICK).unwrap();
        Self::with(tree, &actions(), shared)
    }

    fn with(tree: Tree<()>, actions: &ActionSet, shared: Shared) -> Self {
        let mut world = World::new();
        let agent = actions.spawn(&mut world, ()).unwrap();
        TreeAgent::drive(&mut world, agent, &tree, 1).unwrap();
        world.insert_resource(Minds(tree, Arc::clone(&shared)));
        let schedule = formic_ai::action::add(Schedule::builder())
            .add(think.as_mind())
            .add(act.as_action())
            .build(&mut world)
            .unwrap();
        Self { world, schedule, pool: Pool::new(Threads::None).unwrap(), agent, shared }
    }

    /// One tick: the calls, and what the tree gave.
    fn tick(
        &mut self,
        holds: &[&'static str],
        ends: &[(&'static str, ActionResult)],
    ) -> (String, ActionResult) {
        {
            let mut state = self.shared.lock().unwrap();
            (state.holds, state.ends) = (holds.to_vec(), ends.to_vec());
        }
        self.schedule.run(&mut self.world, &self.pool);
        let calls = std::mem::take(&mut self.shared.lock().unwrap().calls).join(", ");
        (calls, self.world.get::<TreeAgent>(self.agent).unwrap().result())
    }

    #[track_caller]
    fn check(
        &mut self,
        holds: &[&'static str],
        ends: &[(&'static str, ActionResult)],
        calls: &str,
        result: ActionResult,
    ) {
        assert_eq!(self.tick(holds, ends), (calls.into(), result));
    }
}

fn file(trees: &str) -> String {
    format!("<root BTCPP_format=\"4\" main_tree_to_execute=\"Main\">\n{trees}\n</root>")
}

fn main_tree(node: &str) -> String {
    format!("<BehaviorTree ID=\"Main\">{node}</BehaviorTree>")
}

fn parse(trees: &str) -> Result<Node, LoadError> {
    Node::parse_btcpp(&file(trees), &library(&Shared::default()), TICK)
}

#[track_caller]
fn refused(node: &str, why: &str) {
    let error = parse(&main_tree(node)).unwrap_err();
    assert!(error.to_string().contains(why), "{error}");
    assert!(error.to_string().starts_with("line 2, "), "{error}");
}

const MISSION: &str = r#"
    <BatteryOK/>
    <SaySomething message="mission started..."/>
    <MoveBase goal="1;2;3"/>
    <SaySomething message="mission completed!"/>"#;

const MOVE: &str = "MoveBase goal=\"1;2;3\"";
const STARTED: &str = "SaySomething message=\"mission started...\"";
const COMPLETED: &str = "SaySomething message=\"mission completed!\"";

const CROSSDOOR: &str = r#"
    <BehaviorTree ID="Main">
        <Sequence>
            <Fallback>
                <Inverter><IsDoorClosed/></Inverter>
                <SubTree ID="DoorClosed"/>
            </Fallback>
            <PassThroughDoor/>
        </Sequence>
    </BehaviorTree>
    <BehaviorTree ID="DoorClosed">
        <Fallback>
            <OpenDoor/>
            <RetryUntilSuccessful num_attempts="2"><PickLock/></RetryUntilSuccessful>
            <SmashDoor/>
        </Fallback>
    </BehaviorTree>"#;

const REMAPPING: &str = r#"
    <BehaviorTree ID="Main">
        <Sequence>
            <Script code=" move_goal:='1;2;3' "/>
            <SubTree ID="MoveRobot" target="{move_goal}" result="{move_result}"/>
            <SaySomething message="{move_result}"/>
        </Sequence>
    </BehaviorTree>
    <BehaviorTree ID="MoveRobot">
        <Sequence>
            <MoveBase goal="{target}"/>
            <SetBlackboard value="goal reached" output_key="{result}"/>
        </Sequence>
    </BehaviorTree>"#;

const DECORATORS: &str = r#"
    <BehaviorTree ID="Main">
        <Parallel failure_count="2">
            <Repeat num_cycles="3"><ForceSuccess><OpenDoor/></ForceSuccess></Repeat>
            <Repeat num_cycles="-1"><ForceFailure><PickLock/></ForceFailure></Repeat>
            <KeepRunningUntilFailure><SmashDoor/></KeepRunningUntilFailure>
            <Inverter><KeepRunningUntilFailure><ActionA/></KeepRunningUntilFailure></Inverter>
            <RetryUntilSuccessful num_attempts="-1"><ActionB/></RetryUntilSuccessful>
            <Timeout msec="1001"><OpenGripper/></Timeout>
            <Delay delay_msec="250"><CloseGripper/></Delay>
            <IfThenElse><CheckBattery/><ApproachObject/></IfThenElse>
            <ReactiveFallback><AlwaysFailure/><Sleep msec="5"/><AlwaysSuccess/></ReactiveFallback>
        </Parallel>
    </BehaviorTree>"#;

const SWITCH: &str = r#"
    <BehaviorTree ID="Main">
        <Switch2 variable="{mode}" case_1="1" case_2="2">
            <ActionA/><Action ID="ActionB"/><AlwaysFailure/>
        </Switch2>
    </BehaviorTree>"#;

#[test]
fn a_sequence_asks_its_condition_once_and_a_reactive_one_each_tick() {
    let mut play = Play::new(&main_tree(&format!("<Sequence>{MISSION}</Sequence>")));
    play.check(&["BatteryOK"], &[], &format!("BatteryOK?, {STARTED}, {MOVE}"), Running);
    play.check(&[], &[(MOVE, Success)], "", Running);
    play.check(&[], &[], COMPLETED, Success);
    play.check(&[], &[], "BatteryOK?", Failed);

    let (battery, rest) = MISSION.split_at(MISSION.find("<Say").unwrap());
    let reactive =
        format!("<ReactiveSequence>{battery}<Sequence>{rest}</Sequence></ReactiveSequence>");
    let mut play = Play::new(&main_tree(&reactive));
    play.check(&["BatteryOK"], &[], &format!("BatteryOK?, {STARTED}, {MOVE}"), Running);
    play.check(&["BatteryOK"], &[], "BatteryOK?", Running);
    play.check(&[], &[], &format!("BatteryOK?, halt {MOVE}"), Failed);
    play.check(&["BatteryOK"], &[], &format!("BatteryOK?, {STARTED}, {MOVE}"), Running);
}

#[test]
fn a_closed_door_is_opened_picked_or_smashed_in_this_order() {
    let closed = ["IsDoorClosed"];
    let mut play = Play::new(CROSSDOOR);
    play.check(&[], &[], "IsDoorClosed?, PassThroughDoor", Running);
    let mut play = Play::new(CROSSDOOR);
    play.check(&closed, &[("OpenDoor", Failed)], "IsDoorClosed?, OpenDoor", Running);
    play.check(&closed, &[("PickLock", Failed)], "PickLock", Running);
    // The first of two tries has failed: the second begins in the next tick.
    play.check(&closed, &[], "", Running);
    play.check(&closed, &[("PickLock", Failed)], "PickLock", Running);
    play.check(&closed, &[("SmashDoor", Success)], "SmashDoor", Running);
    play.check(&closed, &[("PassThroughDoor", Success)], "PassThroughDoor", Running);
    play.check(&closed, &[], "", Success);
}

#[test]
fn the_ports_of_a_subtree_are_entries_of_the_main_tree() {
    let goal = "MoveBase goal=\"{move_goal}\"";
    let mut play = Play::new(REMAPPING);
    play.check(&[], &[(goal, Success)], &format!("{}, {goal}", EFFECTS[4]), Running);
    play.check(&[], &[], &format!("{}, {}", EFFECTS[3], EFFECTS[2]), Success);
    // A constant, the default of a model, and all names as they are outside.
    let uses = [
        ("", r#"target="1;2;3""#, "goal=\"1;2;3\""),
        (
            r#"<SubTree ID="Go"><input_port name="target" default="1;2;3"/></SubTree>"#,
            "",
            "goal=\"1;2;3\"",
        ),
        ("", r#"target="{move_goal}""#, "goal=\"{move_goal}\""),
    ];
    for (model, port, name) in uses {
        let node = parse(&format!(
            r#"<TreeNodesModel>{model}</TreeNodesModel>
            <BehaviorTree ID="Main"><SubTree ID="Go" {port}/></BehaviorTree>
            <BehaviorTree ID="Go"><MoveBase name="m" goal="{{target}}"/></BehaviorTree>"#
        ));
        assert_eq!(node.unwrap(), Node::action(format!("MoveBase {name}")));
    }
    let inner = r#"<BehaviorTree ID="Go"><MoveBase goal="{move_goal}"/></BehaviorTree>"#;
    let outer = |ports| main_tree(&format!("<SubTree ID=\"Go\" {ports}/>")) + inner;
    for ports in ["_autoremap=\"true\"", "move_goal=\"{=}\""] {
        assert_eq!(parse(&outer(ports)).unwrap(), Node::action("MoveBase goal=\"{move_goal}\""));
    }
    let error = parse(&outer("")).unwrap_err();
    let why = "\"move_goal\" has no counterpart: each use of a subtree has its own: make it a port";
    assert!(error.to_string().ends_with(why), "{error}");
}

#[test]
fn a_parallel_ends_when_enough_have_ended() {
    let mut play = Play::new(&main_tree(
        r#"<Parallel success_count="2" failure_count="2"><OpenDoor/><ActionA/><ActionB/></Parallel>"#,
    ));
    play.check(&[], &[("ActionA", Success)], "OpenDoor, ActionA, ActionB", Running);
    play.check(&[], &[("OpenDoor", Success)], "", Running);
    play.check(&[], &[], "halt ActionB", Success);
    // The first child decides: the second is not begun.
    let mut play = Play::new(&main_tree("<Parallel><AlwaysFailure/><ActionA/></Parallel>"));
    play.check(&[], &[], "", Failed);
}

#[test]
fn a_switch_follows_its_variable_and_does_not_try_another_branch() {
    let mut play = Play::new(SWITCH);
    let [one, two] = [CONDITIONS[3], CONDITIONS[4]];
    assert_eq!(play.tick(&[one], &[]), (format!("{one}?, ActionA"), Running));
    let (calls, result) = play.tick(&[two], &[("ActionB", Failed)]);
    assert!(calls.contains("halt ActionA") && calls.ends_with("ActionB"), "{calls}");
    assert_eq!(result, Running);
    let (calls, result) = play.tick(&[two], &[]);
    assert!(result == Failed && !calls.contains("Action"), "{calls}");
    let mut play =
        Play::new(&main_tree("<WhileDoElse><CheckBattery/><ActionA/><ActionB/></WhileDoElse>"));
    assert_eq!(play.tick(&["CheckBattery"], &[]).0, "CheckBattery?, ActionA");
    let (calls, _) = play.tick(&[], &[]);
    assert_eq!(calls, "CheckBattery?, halt ActionA, ActionB");
}

#[test]
fn decorators_of_both_have_the_same_meaning() {
    let check = |xml: &str, text: &str| {
        assert_eq!(parse(&main_tree(xml)).unwrap(), Node::parse(text).unwrap(), "{xml}");
    };
    check(
        "<KeepRunningUntilFailure><ActionA/></KeepRunningUntilFailure>",
        "not until_failure ActionA",
    );
    check("<Delay delay_msec=\"250\"><ActionA/></Delay>", "sequence_memory { wait(3) ActionA }");
    check("<Timeout msec=\"1000\"><ActionA/></Timeout>", "timeout(10) ActionA");
    check("<Timeout msec=\"0\"><ActionA/></Timeout>", "ActionA");
    check("<Repeat num_cycles=\"-1\"><ActionA/></Repeat>", "repeat ActionA");
    check("<RunOnce then_skip=\"false\"><ActionA/></RunOnce>", "once ActionA");
    check(
        "<TryCatch><ActionA/><BatteryOK/><ActionB/></TryCatch>",
        "selector_memory { sequence_memory { ActionA BatteryOK? } force_failure ActionB }",
    );
    check(
        "<IfThenElse><ActionA/><ActionB/><OpenDoor/></IfThenElse>",
        "if_else_memory { ActionA ActionB OpenDoor }",
    );
    check(
        "<ParallelAll max_failures=\"-1\"><ActionA/></ParallelAll>",
        "parallel_all(1) { ActionA }",
    );
    check(
        "<WhileDoElse><Sequence><BatteryOK/><CheckBattery/></Sequence><ActionA/></WhileDoElse>",
        "sequence { sequence_memory { BatteryOK? CheckBattery? } ActionA }",
    );
    let mut play =
        Play::new(&main_tree("<KeepRunningUntilFailure><ActionA/></KeepRunningUntilFailure>"));
    play.check(&[], &[("ActionA", Success)], "ActionA", Running);
    play.check(&[], &[], "", Running);
    play.check(&[], &[("ActionA", Failed)], "ActionA", Running);
    play.check(&[], &[], "", Failed);
}

/// The actions, and the library over a board, of the trees that are drawn.
fn drawn_library(board: &Arc<Mutex<Board>>, names: &'static [String]) -> Library<()> {
    let actions = names.iter().fold(ActionSet::new(), |set, name| set.action(name, Deed(name)));
    let mut library = Library::new(&actions);
    let ask = |holds: fn(&Board, u32) -> bool, number| {
        let board = Arc::clone(board);
        move |(): &()| holds(&board.lock().unwrap(), number)
    };
    for number in 0..4 {
        library = library
            .condition(format!("C{number}"), ask(Board::holds, number))
            .condition(format!("ScriptCondition code=\"c{number}\""), ask(Board::holds, number))
            .condition(
                format!("SwitchCase case=\"{number}\" variable=\"{{mode}}\""),
                ask(|board, case| board.mode == case, number),
            );
    }
    library = library.condition("LoopInt queue=\"{q}\"", ask(|board, _| board.queue > 0, 0));
    let effects = (0..LEAVES).map(|number| (format!("E{number}"), format!("E{number}"), 0));
    let pop = ("LoopInt queue=\"{q}\" value=\"{v}\"".into(), "pop".into(), 1);
    for (name, said, taken) in effects.chain([pop]) {
        let board = Arc::clone(board);
        library = library.effect(name, move |()| {
            let mut board = board.lock().unwrap();
            board.queue -= taken;
            board.log.push(said.clone());
        });
    }
    library
}

#[test]
fn trees_do_what_a_small_behaviortree_cpp_does() {
    let names: &'static [String] =
        (0..LEAVES).map(|it| format!("A{it}")).collect::<Vec<_>>().leak();
    let mut random = RandomStream::new(11);
    let mut counts = std::collections::BTreeMap::new();
    let (mut refused, mut ends) = (0, 0);
    for round in 0..800 {
        let mut theirs = Theirs::draw(&mut random, 1 + round % 4, true, &mut [0; 2]);
        let xml = file(&main_tree(&theirs.xml(100)));
        let board = Arc::new(Mutex::new(Board::default()));
        let library = drawn_library(&board, names);
        let node = match Node::parse_btcpp(&xml, &library, TICK) {
            Ok(node) => node,
            // Which of a Parallel's counts is reached first would show.
            Err(error) => {
                assert!(error.to_string().contains("\"Parallel\" has no counterpart"), "{error}");
                refused += 1;
                continue;
            }
        };
        let exported = node.to_btcpp(TICK).unwrap();
        rules::check(&exported);
        assert_eq!(Node::parse_btcpp(&exported, &library, TICK).unwrap(), node, "{exported}");
        let mut ids = Vec::new();
        theirs.ids(&mut ids);
        ids.into_iter().for_each(|id| *counts.entry(id).or_insert(0) += 1);
        let tree = Tree::new(&node, &library).unwrap();
        let actions = names.iter().fold(ActionSet::new(), |set, name| set.action(name, Deed(name)));
        let shared = Shared::default();
        let mut play = Play::with(tree, &actions, shared);
        let mut wanted = Board::default();
        for tick in 0..60 {
            wanted.draw(&mut random);
            wanted.log.clear();
            *board.lock().unwrap() = wanted.clone();
            let result = theirs.tick_root(&mut wanted);
            let outcomes = names.iter().map(|name| &name[..]).zip(wanted.ends.iter().copied());
            let (calls, ours) = play.tick(&[], &outcomes.collect::<Vec<_>>());
            let mut log = std::mem::take(&mut board.lock().unwrap().log);
            log.extend(calls.split(", ").filter(|call| !call.is_empty()).map(String::from));
            log.sort();
            assert_eq!((log, ours), (wanted.log.clone(), result), "tick {tick}: {node}\n{xml}");
            ends += u32::from(result != Running);
        }
    }
    for id in all_ids() {
        assert!(counts.get(id).is_some_and(|&count| count > 30), "{id} in {counts:?}");
    }
    assert!(refused < 300 && ends > 5_000, "{refused} refused, {ends} ends");
}
