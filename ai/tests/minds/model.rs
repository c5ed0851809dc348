//! Random agents against an interpreter that carries out one agent after the other.

use bytemuck::NoUninit;
use formic_ai::action::{self, Ended};
use formic_ai::prelude::*;
use formic_jobs::ScheduleBuilder;
use std::collections::{BTreeMap, BTreeSet};

const SEEDS: u64 = if cfg!(miri) { 2 } else { 40 };
const TICKS: u64 = if cfg!(miri) { 6 } else { 40 };
const KINDS: usize = 3;

/// What an action does: how long each activation takes and how it ends is drawn from its seed.
#[derive(Clone, Copy, Debug, NoUninit)]
#[repr(C)]
struct Script {
    seed: u64,
    begun: u32,
    updates_left: u32,
}

impl Script {
    fn draw(&self) -> u64 {
        RandomStream::new(self.seed).fork(self.begun.into()).next_u64()
    }

    fn outcome(&self) -> ActionResult {
        if self.draw() % 4 == 0 { ActionResult::Failed } else { ActionResult::Success }
    }

    fn start(&mut self) -> ActionResult {
        self.begun += 1;
        self.updates_left = u32::try_from((self.draw() >> 8) % 4).unwrap();
        if self.updates_left == 0 { self.outcome() } else { ActionResult::Running }
    }

    fn update(&mut self) -> ActionResult {
        self.updates_left = self.updates_left.checked_sub(1).expect("no update after the end");
        if self.updates_left == 0 { self.outcome() } else { ActionResult::Running }
    }
}

/// What was done with an action; it is told by its script's seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, HashState)]
enum Call {
    Start(u64),
    Update(u64),
    Cleanup(u64, bool),
}

/// On an agent: what was done with its actions.
#[derive(Component, Default)]
struct Log(Vec<Call>);
/// On an agent: who it is, whatever handle it has.
#[derive(Component, Clone, Copy, NoUninit)]
#[repr(C)]
struct Key(u64);
#[derive(Component)]
struct Ballast<const SIZE: usize>([u64; SIZE]);
/// Which kinds of actions are not processed in this tick.
struct Skipped([bool; KINDS]);

/// The script of an action of one of three kinds.
trait Kind: Component + Clone {
    const NUMBER: usize;
    fn script(&mut self) -> &mut Script;
}

macro_rules! kinds {
    ($($name:ident $number:expr;)*) => {$(
        #[derive(Component, Clone, Copy, NoUninit)]
        #[repr(C)]
        struct $name(Script);

        impl Kind for $name {
            const NUMBER: usize = $number;

            fn script(&mut self) -> &mut Script {
                &mut self.0
            }
        }
    )*};
}

kinds! { Walk 0; Work 1; Rest 2; }

struct Acting<'a, T> {
    logs: AgentAccess<'a, &'static mut Log>,
    kind: std::marker::PhantomData<fn() -> T>,
}

impl<T> Acting<'_, T> {
    fn log(&self, agent: Agent<'_>, call: Call) {
        self.logs.claim(agent).expect("one action of an agent executes").get_mut().0.push(call);
    }
}

impl<T: Kind> Processor for Acting<'_, T> {
    type Action = T;

    fn start(&self, agent: Agent<'_>, action: &mut T) -> ActionResult {
        self.log(agent, Call::Start(action.script().seed));
        action.script().start()
    }

    fn update(&self, agent: Agent<'_>, action: &mut T) -> ActionResult {
        self.log(agent, Call::Update(action.script().seed));
        action.script().update()
    }

    fn cleanup(&self, agent: Agent<'_>, action: &mut T, ended: Ended) {
        if ended == Ended::Interrupted {
            assert!(self.logs.claim(agent).is_err(), "only the agent's end interrupts a sequence");
            return;
        }
        self.log(agent, Call::Cleanup(action.script().seed, ended == Ended::Success));
    }
}

fn act<T: Kind>(
    mut actions: Actions<T>,
    logs: AgentAccess<&'static mut Log>,
    skipped: Res<Skipped>,
) {
    if !skipped.0[T::NUMBER] {
        actions.process(&Acting { logs, kind: std::marker::PhantomData });
    }
}

/// The interpreter: one agent, without entities, bits or threads.
#[derive(Clone)]
struct Model {
    on_failure: OnFailure,
    actions: Vec<(usize, Script)>,
    current: usize,
    is_due: bool,
    /// Whether the current action executes when a tick is over.
    executes: bool,
    advances: u32,
    log: Vec<Call>,
}

impl Model {
    fn random(random: &mut RandomStream) -> Self {
        let on_failure = if random.below(2) == 0 { OnFailure::Retry } else { OnFailure::Advance };
        let counts = [1, 1, 2, 3, 5, 8];
        let count = counts[usize::try_from(random.below(6)).unwrap()];
        let action = |_| {
            let kind = usize::try_from(random.below(KINDS as u64)).unwrap();
            (kind, Script { seed: random.next_u64(), begun: 0, updates_left: 0 })
        };
        let actions = (0..count).map(action).collect();
        Self {
            on_failure,
            actions,
            current: 0,
            is_due: true,
            executes: false,
            advances: 0,
            log: Vec::new(),
        }
    }

    fn tick(&mut self, skipped: [bool; KINDS]) {
        let count = self.actions.len();
        let (kind, script) = &mut self.actions[self.current];
        self.executes = true;
        if skipped[*kind] {
            return;
        }
        let mut result = ActionResult::Running;
        if std::mem::take(&mut self.is_due) {
            self.log.push(Call::Start(script.seed));
            result = script.start();
        }
        if result == ActionResult::Running {
            self.log.push(Call::Update(script.seed));
            result = script.update();
        }
        if result == ActionResult::Running {
            return;
        }
        let is_success = result == ActionResult::Success;
        self.log.push(Call::Cleanup(script.seed, is_success));
        self.is_due = true;
        self.executes = false;
        if is_success || self.on_failure == OnFailure::Advance {
            self.current = (self.current + 1) % count;
            self.advances += 1;
        }
    }

    fn spawn(&self, world: &mut World, key: u64) -> Entity {
        let sequence = Sequence::new().on_failure(self.on_failure);
        let add = |sequence: Sequence, &(kind, script): &(usize, Script)| match kind {
            0 => sequence.then(Walk(script)),
            1 => sequence.then(Work(script)),
            _ => sequence.then(Rest(script)),
        };
        let sequence = self.actions.iter().fold(sequence, add);
        sequence.spawn(world, (Key(key), Log::default())).unwrap()
    }
}

/// How the same agents are put into a world.
#[derive(Clone, Copy, Debug)]
struct Layout {
    workers: usize,
    /// Whether the last agent is spawned first.
    backwards: bool,
    /// Of how many entities one gets other components, and so another place; 0 for none.
    scattered: u64,
}

struct Play {
    world: World,
    schedule: Schedule,
    pool: Pool,
    agents: BTreeMap<u64, Entity>,
}

impl Play {
    fn new(models: &BTreeMap<u64, Model>, layout: Layout) -> Self {
        let mut world = World::new();
        world.insert_resource(Skipped([false; KINDS]));
        let mut keys: Vec<_> = models.keys().copied().collect();
        if layout.backwards {
            keys.reverse();
        }
        let agents =
            keys.into_iter().map(|key| (key, models[&key].spawn(&mut world, key))).collect();
        if layout.scattered > 0 {
            let mut random = RandomStream::new(layout.scattered);
            let all: Vec<_> = world.entities().collect();
            for entity in all {
                match random.below(layout.scattered) {
                    0 => world.insert(entity, Ballast([0; 1])).unwrap(),
                    1 => world.insert(entity, Ballast([0; 100])).unwrap(),
                    _ => {}
                }
            }
        }
        let add = |schedule: ScheduleBuilder| {
            let schedule = schedule.add(act::<Walk>.as_action()).add(act::<Work>.as_action());
            schedule.add(act::<Rest>.as_action())
        };
        // The log is the game's: that its order is that of adding is for the game to say.
        let schedule = add(action::add(Schedule::builder())).allow_ambiguities_about::<Log>();
        let schedule = schedule.build(&mut world).unwrap();
        assert_eq!(schedule.ambiguities(), []);
        let pool = Pool::new(Threads::Own(layout.workers)).unwrap();
        Self { world, schedule, pool, agents }
    }

    fn tick(&mut self, skipped: [bool; KINDS]) {
        *self.world.resource_mut().unwrap() = Skipped(skipped);
        let report = self.schedule.run(&mut self.world, &self.pool);
        assert!(report.failures.is_empty(), "{:?}", report.failures);
    }

    /// Every agent stands where its model stands, and executes that action alone.
    fn check(&self, models: &BTreeMap<u64, Model>) {
        assert!(self.agents.keys().eq(models.keys()));
        let mut executing: BTreeMap<Entity, Vec<usize>> = BTreeMap::new();
        let query = self.world.query_ref_filtered::<&Action, With<Executing>>();
        query.for_each(|action| executing.entry(action.agent()).or_default().push(action.index()));
        for (key, model) in models {
            let agent = self.agents[key];
            // What has ended sleeps; what comes next is switched on in the next tick.
            let expected = if model.executes { vec![model.current] } else { Vec::new() };
            assert_eq!(executing.remove(&agent).unwrap_or_default(), expected);
            let sequence = self.world.get::<SequenceAgent>(agent).unwrap();
            assert_eq!(sequence.current(), model.current);
            assert_eq!(sequence.advances(), model.advances);
            assert_eq!(self.world.get::<Log>(agent).unwrap().0, model.log);
        }
        // What executes besides belongs to agents that have gone, and waits for its processor.
        assert!(executing.keys().all(|&agent| !self.world.contains(agent)));
        let waiting = executing.len();
        let action_count: usize = models.values().map(|model| model.actions.len()).sum();
        assert_eq!(self.world.len(), models.len() + action_count + waiting);
        self.world.check().unwrap();
    }
}

/// Plays a seed in one layout beside the interpreter; returns the hash of the world at the end.
fn play(seed: u64, layout: Layout) -> u64 {
    let mut random = RandomStream::new(seed);
    // A few seeds have crowds, which several threads share.
    let agents = if cfg!(miri) {
        4
    } else if seed % 20 == 0 {
        600
    } else {
        1 + random.below(20)
    };
    let mut models: BTreeMap<_, _> =
        (0..agents).map(|key| (key, Model::random(&mut random.fork(key)))).collect();
    let mut play = Play::new(&models, layout);
    for _ in 0..TICKS {
        let skipped = [(); KINDS].map(|()| random.below(5) == 0);
        play.tick(skipped);
        models.values_mut().for_each(|model| model.tick(skipped));
        play.check(&models);
        if random.below(8) == 0 {
            let gone = random.below(agents);
            if let Some(agent) = play.agents.remove(&gone) {
                models.remove(&gone);
                play.world.despawn(agent).unwrap();
            }
        }
    }
    play.world.state_hash().value()
}

#[test]
fn agents_do_what_the_interpreter_says_in_any_layout_on_any_threads() {
    for seed in 0..SEEDS {
        for (backwards, scattered) in [(false, 0), (true, 0), (false, 5), (true, 3)] {
            let workers = if scattered == 0 { &[0, 1, 2, 3][..] } else { &[0, 3] };
            // The interpreter has its say in each of them.
            let hashes =
                workers.iter().map(|&workers| play(seed, Layout { workers, backwards, scattered }));
            let hashes: BTreeSet<u64> = hashes.collect();
            assert_eq!(hashes.len(), 1, "seed {seed}");
        }
    }
}

#[test]
fn every_start_is_an_activation_and_has_one_cleanup() {
    for seed in 0..SEEDS {
        let model = Model::random(&mut RandomStream::new(seed));
        let models = BTreeMap::from([(0, model)]);
        let layout = Layout { workers: 0, backwards: false, scattered: 0 };
        let mut play = Play::new(&models, layout);
        for _ in 0..TICKS {
            play.tick([false; KINDS]);
        }
        let calls = &play.world.get::<Log>(play.agents[&0]).unwrap().0;
        let count = |is: fn(&Call) -> bool| calls.iter().filter(|&call| is(call)).count();
        let starts = count(|call| matches!(call, Call::Start(_)));
        let cleanups = count(|call| matches!(call, Call::Cleanup(..)));
        let actions = play.world.query_ref::<&Action>().into_iter();
        let activations: u32 = actions.map(Action::activations).sum();
        assert_eq!(starts, activations as usize, "seed {seed}");
        assert!(starts - cleanups <= 1, "seed {seed}: only the current one has not ended");
        assert!(matches!(calls[0], Call::Start(_)));
        for pair in calls.windows(2) {
            let is_start = matches!(pair[1], Call::Start(_));
            assert_eq!(matches!(pair[0], Call::Cleanup(..)), is_start, "seed {seed}: {pair:?}");
        }
    }
}
