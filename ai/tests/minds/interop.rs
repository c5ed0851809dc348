//! One mind for another over the same actions: whatever decides, actions begin, go on and end as they
//! should, and nothing is left behind.
#![expect(clippy::cast_possible_truncation, reason = "small numbers, drawn by chance")]

use bytemuck::{Pod, Zeroable};
use formic_ai::action::Ended;
use formic_ai::bt::{Library, Tree, TreeAgent, Trees};
use formic_ai::explain::DecisionLog;
use formic_ai::fsm::{FsmAgent, Machine, MachineBuilder, Machines, State, Transition};
use formic_ai::goap::{
    Facts, Goal, GoapAgent, Operator, PlannerBuilder, Planners, Replan, Sensors,
};
use formic_ai::prelude::*;
use formic_ai::utility::{Curve, Input, Reasoner, Select, Utility, UtilityAgent, UtilityAgents};
use std::collections::BTreeMap;
use std::sync::Mutex;

const ACTIONS: usize = 5;

/// On an agent: who it is, and the numbers that its mind goes by.
#[derive(Component, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Senses {
    key: u64,
    random: u64,
    inputs: [f32; 4],
}

/// On an agent: what was done with its actions, `s`tart, `u`pdate, `e`nd, `i`nterruption.
#[derive(Component, Default)]
#[component(unhashed)]
#[component(transient)]
struct Log(Mutex<Vec<(usize, char)>>);

/// An action whose length and end are drawn anew for each activation.
#[derive(Component, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Deed {
    number: u32,
    left: u32,
    random: u64,
}

#[derive(Component)]
struct Ballast<const SIZE: usize>([u64; SIZE]);

struct Doing<'a>(ComponentLookup<'a, &'static Log>);

impl Doing<'_> {
    fn note(&self, agent: Agent<'_>, deed: &Deed, what: char) {
        // Several actions of an agent may be carried out at a time, by different threads.
        if let Ok(log) = self.0.get(agent.entity) {
            log.0.lock().unwrap().push((deed.number as usize, what));
        }
    }
}

impl Processor for Doing<'_> {
    type Action = Deed;

    fn start(&self, agent: Agent<'_>, deed: &mut Deed) -> ActionResult {
        self.note(agent, deed, 's');
        let mut random = RandomStream::new(deed.random);
        deed.left = random.below(4) as u32;
        deed.random = random.next_u64();
        ActionResult::Running
    }

    fn update(&self, agent: Agent<'_>, deed: &mut Deed) -> ActionResult {
        self.note(agent, deed, 'u');
        match deed.left.checked_sub(1) {
            Some(left) => {
                deed.left = left;
                ActionResult::Running
            }
            None if deed.random % 3 == 0 => ActionResult::Failed,
            None => ActionResult::Success,
        }
    }

    fn cleanup(&self, agent: Agent<'_>, deed: &mut Deed, ended: Ended) {
        self.note(agent, deed, if ended == Ended::Interrupted { 'i' } else { 'e' });
    }
}

fn act(mut actions: Actions<Deed>, logs: ComponentLookup<&'static Log>) {
    actions.process(&Doing(logs));
}

/// New numbers for all agents, each from its own stream.
fn sense(mut all: Query<&mut Senses>) {
    all.par_for_each(|senses| {
        let mut random = RandomStream::new(senses.random);
        senses.inputs = senses.inputs.map(|_| random.next_f32());
        senses.random = random.state();
    });
}

type Seen = &'static Senses;

struct Shared {
    reasoner: Reasoner,
    tree: Tree<Seen>,
    machine: Machine<Seen>,
    sensors: Sensors<Seen>,
}

fn by_utility(mut minds: UtilityAgents<Seen>, shared: Res<Shared>) {
    minds.decide(&shared.reasoner, |senses| senses.inputs);
}

fn by_tree(mut trees: Trees<Seen>, shared: Res<Shared>) {
    trees.tick(&shared.tree);
}

fn by_machine(mut machines: Machines<Seen>, shared: Res<Shared>) {
    machines.update(&shared.machine);
}

fn by_plan(mut planners: Planners<Seen>, shared: Res<Shared>) {
    planners.think(&shared.sensors, 3);
}

fn actions(key: u64) -> ActionSet {
    let both =
        ActionSet::new().action("b5", deed(ACTIONS, key)).action("b6", deed(ACTIONS + 1, key));
    (0..ACTIONS)
        .fold(ActionSet::new(), |actions, it| actions.action(format!("a{it}"), deed(it, key)))
        .composite("both", Composite::join(), both)
}

fn deed(number: usize, key: u64) -> Deed {
    let random = RandomStream::new(key).fork(number as u64).state();
    Deed { number: number as u32, left: 0, random }
}

fn shared() -> Shared {
    let actions = actions(0);
    let inputs = Input::named(["a", "b", "c", "d"]);
    let plain = |input: usize| Utility::of(inputs[input], Curve::linear(1.0, 0.0));
    let reasoner = Reasoner::new()
        .select(Select::Highest)
        .option("a0", plain(0).inertia(0.2))
        .option("a1", plain(1).until(inputs[2], 0.3))
        .option("both", plain(3));
    let library = Library::<Seen>::new(&actions)
        .condition("high", |senses| senses.inputs[0] > 0.6)
        .condition("low", |senses| senses.inputs[1] < 0.2);
    let tree = "selector {
        sequence { high? timeout(3) a0 }
        parallel(2, 2) { a1 sequence_memory { a2 a3 } guard(low?) both }
        stay_until(low?) random { a4 a0 }
    }";
    let tree = Tree::parse(tree, &library).unwrap();
    let when = |from: &str, to: &str, input: usize| {
        Transition::<Seen>::new(from, to).when(move |senses| senses.inputs[input] > 0.7)
    };
    let machine = MachineBuilder::new()
        .state(State::new("outer").action("a4"))
        .state(State::new("x").inside("outer").action("a0"))
        .state(State::new("y").inside("outer").action("both"))
        .state(State::new("z").action("a1"))
        .transition(Transition::new("x", "y").when_done())
        .transition(when("y", "x", 0))
        .transition(when("outer", "z", 1))
        .transition(Transition::interrupt("z", "y").after(4))
        .transition(Transition::back("y").when_done().priority(1))
        .build(&actions)
        .unwrap();
    let mut facts = Facts::new();
    let (ready, count) = (facts.flag("ready"), facts.number("count", 5));
    let planner = PlannerBuilder::new(facts)
        .operator(Operator::new("a0").then(ready.becomes(true)))
        .operator(Operator::new("a1").when(ready.is(true)).then(count.add(2)))
        .operator(Operator::new("both").then(count.add(1)).cost(2))
        .goal(Goal::new("much").when(count.at_least(4)))
        .goal(Goal::new("ready").when(ready.is(true)).priority(1));
    let sensors = Sensors::<Seen>::new(planner.build().unwrap(), &actions)
        .unwrap()
        .fact(ready, |senses| u32::from(senses.inputs[2] > 0.5))
        .fact(count, |senses| (senses.inputs[3] * 5.0) as u32)
        .rest(2);
    Shared { reasoner: reasoner.bind(&actions).unwrap(), tree, machine, sensors }
}

/// How many entities an agent is, all of its actions included.
const ENTITIES: usize = 1 + ACTIONS + 1 + 2;

/// How the same agents are put into a world.
#[derive(Clone, Copy, Debug)]
struct Layout {
    workers: usize,
    backwards: bool,
    scattered: bool,
    /// Whether the log asks why the agents do what they do: the first few of them, or all.
    watched: u64,
}

const PLAIN: Layout = Layout { workers: 0, backwards: false, scattered: false, watched: 0 };

struct Stage {
    world: World,
    schedule: Schedule,
    pool: Pool,
    agents: BTreeMap<u64, Entity>,
    /// For each agent what was done with its actions, tick by tick, in the order of the actions.
    logs: BTreeMap<u64, Vec<(usize, char)>>,
}

impl Stage {
    fn new(agents: u64, layout: Layout) -> Self {
        let mut world = World::new();
        world.insert_resource(shared());
        let mut keys: Vec<u64> = (0..agents).collect();
        if layout.backwards {
            keys.reverse();
        }
        let spawn = |world: &mut World, key| {
            let senses = Senses { key, random: key, inputs: [0.0; 4] };
            actions(key).spawn(world, (senses, Log::default())).unwrap()
        };
        let agents: BTreeMap<_, _> =
            keys.iter().map(|&key| (key, spawn(&mut world, key))).collect();
        if layout.scattered {
            for (place, entity) in world.entities().collect::<Vec<_>>().into_iter().enumerate() {
                match place % 7 {
                    0 => world.insert(entity, Ballast([0; 1])).unwrap(),
                    1 => world.insert(entity, Ballast([0; 100])).unwrap(),
                    _ => {}
                }
            }
        }
        let schedule = formic_ai::action::add(Schedule::builder())
            .add(sense.before(by_utility).before(by_tree).before(by_machine).before(by_plan))
            .add(by_utility.as_mind())
            .add(by_tree.as_mind())
            .add(by_machine.as_mind())
            .add(by_plan.as_mind())
            .add(act.as_action());
        let schedule = schedule.build(&mut world).unwrap();
        assert_eq!(schedule.ambiguities(), []);
        let pool = Pool::new(Threads::Own(layout.workers)).unwrap();
        if layout.watched > 0 {
            let mut log = DecisionLog::new();
            for (_, &agent) in agents.range(..layout.watched) {
                log.watch(agent, "Agent", 200);
            }
            world.insert_resource(log);
        }
        Self { world, schedule, pool, agents, logs: BTreeMap::new() }
    }

    fn tick(&mut self) {
        let report = self.schedule.run(&mut self.world, &self.pool);
        assert!(report.failures.is_empty(), "{:?}", report.failures);
        for (senses, log) in self.world.query::<(&Senses, &mut Log)>() {
            let mut now = std::mem::take(log.0.get_mut().unwrap());
            // What one action went through stays in its order.
            now.sort_by_key(|&(action, _)| action);
            self.logs.entry(senses.key).or_default().extend(now);
        }
    }

    /// Takes an agent's mind away and gives it another one; the last kind is none at all.
    fn give_mind(&mut self, key: u64, kind: u64) {
        let (world, agent) = (&mut self.world, self.agents[&key]);
        _ = world.remove::<(SequenceAgent,)>(agent);
        _ = world.remove::<(UtilityAgent,)>(agent);
        _ = world.remove::<(TreeAgent,)>(agent);
        drop(world.remove::<(FsmAgent,)>(agent));
        _ = world.remove::<(GoapAgent,)>(agent);
        let shared = world.remove_resource::<Shared>().unwrap();
        match kind {
            0 => SequenceAgent::drive(world, agent, OnFailure::Retry),
            1 => UtilityAgent::drive(world, agent, &shared.reasoner, key),
            2 => TreeAgent::drive(world, agent, &shared.tree, key),
            3 => FsmAgent::drive(world, agent, &shared.machine),
            4 => GoapAgent::drive(world, agent),
            _ => Ok(()),
        }
        .unwrap();
        world.insert_resource(shared);
        if kind == 4 {
            assert_eq!(self.world.is_enabled::<Replan>(self.agents[&key]), Ok(true));
        }
    }
}

/// Begun, carried on, ended or interrupted, and only then begun again. How often it was begun, and
/// whether it is underway.
fn check_action(log: &[(usize, char)], action: usize) -> (u32, bool) {
    let (mut starts, mut is_underway) = (0, false);
    for &(_, what) in log.iter().filter(|&&(number, _)| number == action) {
        let (was, is) = if what == 's' { (false, true) } else { (true, what == 'u') };
        assert_eq!(is_underway, was, "{what} of {action}: {log:?}");
        starts += u32::from(what == 's');
        is_underway = is;
    }
    (starts, is_underway)
}

/// Random agents change their minds at random times, and some go. Their logs, and the hash of the
/// world at the end.
fn play(seed: u64, layout: Layout) -> (BTreeMap<u64, Vec<(usize, char)>>, u64) {
    let (logs, hash, _) = play_and_tell(seed, layout);
    (logs, hash)
}

/// The same, and what the watched agents have to say.
fn play_and_tell(
    seed: u64,
    layout: Layout,
) -> (BTreeMap<u64, Vec<(usize, char)>>, u64, Vec<String>) {
    let mut random = RandomStream::new(seed);
    let count = if seed % 4 == 0 { 300 } else { 12 };
    let mut stage = Stage::new(count, layout);
    for key in 0..count {
        stage.give_mind(key, random.below(5));
    }
    for _ in 0..40 {
        for _ in 0..count / 6 {
            let (key, kind) = (random.below(count), random.below(6));
            if stage.agents.contains_key(&key) {
                stage.give_mind(key, kind);
            }
        }
        let gone = random.below(count * 4);
        if let Some(agent) = stage.agents.remove(&gone) {
            stage.world.despawn(agent).unwrap();
        }
        stage.tick();
        assert_eq!(stage.world.len(), stage.agents.len() * ENTITIES);
    }
    stage.world.check().unwrap();
    let mut executing: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    let senses = |world: &World, agent| world.get::<Senses>(agent).map(|it| it.key);
    for (action, deed) in stage.world.query_ref_filtered::<(&Action, &Deed), With<Executing>>() {
        let key = senses(&stage.world, action.agent()).unwrap();
        executing.entry(key).or_default().push(deed.number as usize);
    }
    let mut activations: BTreeMap<(u64, usize), u32> = BTreeMap::new();
    for (action, deed) in stage.world.query_ref::<(&Action, &Deed)>() {
        let key = senses(&stage.world, action.agent()).unwrap();
        activations.insert((key, deed.number as usize), action.activations());
    }
    for &key in stage.agents.keys() {
        for action in 0..ACTIONS + 2 {
            let (starts, is_underway) = check_action(&stage.logs[&key], action);
            assert_eq!(starts, activations[&(key, action)], "seed {seed}");
            let executes = executing.get(&key).is_some_and(|it| it.contains(&action));
            assert_eq!(is_underway, executes, "seed {seed}, agent {key}, action {action}");
        }
    }
    let (logs, hash) = (stage.logs.clone(), stage.world.state_hash().value());
    // Without minds all comes to rest.
    for key in stage.agents.keys().copied().collect::<Vec<_>>() {
        stage.give_mind(key, 5);
    }
    // What composites have begun stops one tick later.
    (0..3).for_each(|_| stage.tick());
    assert_eq!(stage.world.query_filtered::<(), With<Executing>>().count(), 0);
    for &key in stage.agents.keys() {
        for action in 0..ACTIONS + 2 {
            assert!(!check_action(&stage.logs[&key], action).1, "seed {seed}: all were left");
        }
    }
    for &agent in stage.agents.values() {
        stage.world.despawn(agent).unwrap();
    }
    assert!(stage.world.is_empty());
    let log = stage.world.remove_resource::<DecisionLog>().unwrap_or_default();
    let sentences = log.agents().flat_map(|agent| log.sentences(agent)).collect();
    (logs, hash, sentences)
}

#[test]
fn minds_may_be_exchanged_at_any_time_and_actions_begin_and_end_as_they_should() {
    for seed in 0..12 {
        let (logs, _) = play(seed, PLAIN);
        let count = |what| logs.values().flatten().filter(|it| it.1 == what).count();
        assert!(count('e') > 50 && count('i') > 50, "seed {seed}: a lot has happened");
    }
}

#[test]
fn what_agents_do_depends_neither_on_threads_nor_on_where_they_lie() {
    for seed in [4, 5, 8] {
        let (logs, hash) = play(seed, PLAIN);
        for workers in [1, 3] {
            let (same, same_hash) = play(seed, Layout { workers, ..PLAIN });
            assert!(same == logs, "seed {seed}, {workers} workers");
            assert_eq!(same_hash, hash, "seed {seed}, {workers} workers");
        }
        for (backwards, scattered) in [(true, false), (false, true), (true, true)] {
            let (same, _) = play(seed, Layout { workers: 2, backwards, scattered, ..PLAIN });
            assert!(same == logs, "seed {seed}, backwards {backwards}, scattered {scattered}");
        }
    }
}

#[test]
fn agents_do_the_same_whether_they_are_watched_or_not() {
    for seed in [4, 5, 8] {
        let (logs, hash) = play(seed, PLAIN);
        let (_, _, sentences) = play_and_tell(seed, Layout { watched: 1000, ..PLAIN });
        for watched in [2, 1000] {
            for workers in [0, 3] {
                let layout = Layout { watched, workers, ..PLAIN };
                let (same, same_hash, said) = play_and_tell(seed, layout);
                assert!(same == logs, "seed {seed}, {layout:?}");
                assert_eq!(same_hash, hash, "seed {seed}, {layout:?}");
                assert!(!said.is_empty());
                assert!(watched < 1000 || said == sentences, "seed {seed}, {layout:?}");
            }
        }
    }
}

/// A crowd of these minds in the middle of what it does, and the hashes of the ticks after that.
fn interrupted(kinds: std::ops::Range<u64>) -> (Stage, formic_ecs::Snapshot, Vec<u64>) {
    let mut stage = Stage::new(60, PLAIN);
    for key in 0..60 {
        stage.give_mind(key, kinds.start + key % (kinds.end - kinds.start));
    }
    (0..25).for_each(|_| stage.tick());
    let saved = stage.world.snapshot().unwrap();
    let hashes = hashes(&mut stage);
    (stage, saved, hashes)
}

fn hashes(stage: &mut Stage) -> Vec<u64> {
    let tick = |stage: &mut Stage| {
        stage.tick();
        // Without what is not saved.
        for agent in stage.agents.values() {
            drop(stage.world.remove::<(Log,)>(*agent));
        }
        stage.world.state_hash().value()
    };
    (0..30).map(|_| tick(stage)).collect()
}

#[test]
fn agents_that_are_restored_in_the_middle_go_on_as_those_that_were_saved() {
    let (mut stage, saved, expected) = interrupted(0..5);
    assert_ne!(expected[0], expected[29], "they are up to something");
    for _ in 0..2 {
        stage.world.restore(&saved).unwrap();
        stage.world.check().unwrap();
        assert_eq!(hashes(&mut stage), expected);
    }
}

/// The minds that an agent has.
fn minds_of(world: &World, agent: Entity) -> [bool; 5] {
    [
        world.has::<SequenceAgent>(agent),
        world.has::<TreeAgent>(agent),
        world.has::<FsmAgent>(agent),
        world.has::<UtilityAgent>(agent),
        world.has::<GoapAgent>(agent),
    ]
}

#[test]
fn an_agent_that_is_given_another_mind_has_one_and_does_one_thing() {
    let drive: [fn(&mut World, Entity, &Shared); 5] = [
        |world, agent, _| SequenceAgent::drive(world, agent, OnFailure::Retry).unwrap(),
        |world, agent, shared| TreeAgent::drive(world, agent, &shared.tree, 1).unwrap(),
        |world, agent, shared| FsmAgent::drive(world, agent, &shared.machine).unwrap(),
        |world, agent, shared| UtilityAgent::drive(world, agent, &shared.reasoner, 1).unwrap(),
        |world, agent, _| GoapAgent::drive(world, agent).unwrap(),
    ];
    for first in 0..5 {
        for second in 0..5 {
            let mut world = World::new();
            let shared = shared();
            let agent = actions(0).spawn(&mut world, ()).unwrap();
            formic_ai::action::link_mind::<UtilityAgent>(&mut world);
            drive[first](&mut world, agent, &shared);
            world.get_mut::<Body>(agent).unwrap().begin(3);
            drive[second](&mut world, agent, &shared);
            let mut expected = [false; 5];
            expected[second] = true;
            assert_eq!(minds_of(&world, agent), expected, "{second} after {first}");
            let running: Vec<usize> = world.get::<Body>(agent).unwrap().running().collect();
            let expected: &[usize] = if second == 0 { &[0] } else { &[] };
            assert_eq!(running, expected, "what ran before is halted");
            // A mind that is inserted by hand takes the place of the other as well.
            world.insert(agent, UtilityAgent::new(1)).unwrap();
            assert_eq!(minds_of(&world, agent), [false, false, false, true, false]);
        }
    }
}
