//! Games that are saved at random moments: each save is loaded into a world and a schedule that were
//! built anew, goes on with another number of threads, and is compared tick by tick.
#![expect(elided_lifetimes_in_paths, reason = "the arguments of systems read better without <'_>")]

use std::sync::OnceLock;

use bytemuck::{Pod, Zeroable};
use formic_ai::goap::{Facts, Goal, GoapAgent, Operator, PlannerBuilder, Planners, Sensors};
use formic_ai::htn::{Domain, DomainBuilder, HtnAgent, HtnPlanners, Method, Preference};
use formic_ai::prelude::*;
use formic_ecs::{ChildOf, Codec, Despawned, StateHash};
use formic_jobs::{Save, SaveRules, ScheduleBuilder, SystemConfig};
use formic_nav::{Cell, Grid, MoveRule, PathRequest, SearchBudget, Terrain, Wander, systems};

/// Plays the game that the bytes describe.
pub(crate) fn run(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let plan = Plan::read(&mut bytes);
    let saves: Vec<(u64, usize)> = (0..=bytes.below(4))
        .scan(0, |tick, _| {
            *tick += bytes.below(9);
            Some((*tick, bytes.place(POOLS)))
        })
        .collect();
    compare(&plan, &saves);
}

/// Bytes as numbers; zeros behind the last.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    fn below(&mut self, limit: u8) -> u64 {
        u64::from(self.next() % limit)
    }

    fn place(&mut self, count: usize) -> usize {
        usize::from(self.next()) % count
    }

    fn number(&mut self) -> u64 {
        (0..4).fold(0, |number, _| number << 8 | self.below(u8::MAX))
    }
}

const POOLS: usize = 4;
const TICKS_AFTER: u64 = 12;

/// With 0 to 3 workers beside the thread that runs the game.
fn pool(workers: usize) -> &'static Pool {
    static ALL: [OnceLock<Pool>; POOLS] = [const { OnceLock::new() }; POOLS];
    let threads = || if workers == 0 { Threads::None } else { Threads::Own(workers) };
    ALL[workers].get_or_init(|| Pool::new(threads()).expect("there are threads"))
}

/// The game itself, then each of its saves.
fn compare(plan: &Plan, saves: &[(u64, usize)]) {
    let (mut world, mut schedule) = plan.build();
    plan.populate(&mut world);
    let end = saves.last().map_or(0, |last| last.0) + TICKS_AFTER;
    let (mut hashes, mut failures): (Vec<StateHash>, Vec<usize>) = (Vec::new(), Vec::new());
    let mut saved: Vec<Save> = Vec::new();
    for tick in 0..=end {
        hashes.push(world.state_hash());
        let is_saved = tick == end || saves.iter().any(|save| save.0 == tick);
        saved.extend(is_saved.then(|| Save::of(&world, &schedule).expect("it can be saved")));
        failures.push(plan.tick(&mut world, &mut schedule, plan.workers));
    }
    let mut uncovered = hashes.iter().flat_map(StateHash::uncovered);
    assert!(uncovered.all(|name| name.to_string().ends_with("Cache")), "{hashes:?}");
    let mut ticks: Vec<u64> = saves.iter().map(|save| save.0).collect();
    ticks.dedup();
    for &(from, workers) in saves {
        let which = |tick: u64| format!("tick {tick} of what was saved at {from}: {plan:?}");
        let save = &saved[ticks.iter().position(|&tick| tick == from).expect("it was saved")];
        let save = Save::from_bytes(&save.to_bytes()).expect("it is a save");
        let (mut other, mut its_schedule) = plan.build();
        let report = save.load(&mut other, &mut its_schedule).expect("it can be loaded");
        assert!(report.is_exact(), "{report}");
        assert_eq!(Save::of(&other, &its_schedule).as_ref(), Ok(&save), "{}", which(from));
        other.check().expect("the loaded world is in order");
        for tick in from..=end {
            let place = usize::try_from(tick).expect("small");
            assert_eq!(other.state_hash(), hashes[place], "{}", which(tick));
            if tick == end {
                let (last, now) = (saved.last(), Save::of(&other, &its_schedule));
                assert_eq!(now.as_ref().ok(), last, "{}", which(tick));
            }
            let failed = plan.tick(&mut other, &mut its_schedule, workers);
            assert_eq!(failed, failures[place], "commands that failed: {}", which(tick));
        }
    }
}

/// What of a game does not change while it is played.
#[derive(Debug)]
struct Plan {
    seed: u64,
    workers: usize,
    ants: u64,
    walkers: u64,
    planners: u64,
    /// Which systems there are: kind, key, rate and condition.
    systems: Vec<(usize, u64, u64, u64)>,
}

impl Plan {
    fn read(bytes: &mut Bytes) -> Self {
        let system = |bytes: &mut Bytes| {
            (bytes.place(KINDS.len()), bytes.number(), bytes.below(9), bytes.below(6))
        };
        Self {
            seed: bytes.number(),
            workers: bytes.place(POOLS),
            ants: bytes.below(80),
            walkers: bytes.below(9),
            planners: bytes.below(7),
            systems: (0..=bytes.below(12)).map(|_| system(bytes)).collect(),
        }
    }

    fn random(&self, of: u64) -> RandomStream {
        RandomStream::new(self.seed).fork(of)
    }

    fn build(&self) -> (World, Schedule) {
        let mut world = World::new();
        world.register::<Gold>();
        world.register::<Seen>();
        world.register::<Awake>();
        world.register::<Dice>();
        world.register::<Grave>();
        world.register::<Friend>();
        world.register::<Buffer<Note>>();
        world.register::<Cache>();
        world.relation_mut::<ChildOf>();
        world.insert_resource(Diary::default());
        world.insert_resource(Weather::default());
        world.insert_resource(String::from("made from a file"));
        let rules = SaveRules::of(&mut world);
        rules.save(Codec::<Diary>::plain()).save(Codec::<Weather>::plain());
        rules.save(Codec::<Coin>::plain()).rebuild::<String>();
        rules.save_part(
            Codec::plain(),
            |it: &Squares| it.0.len() as u64,
            |it, len: u64, _| it.0 = (0..len).map(|number| number * number).collect(),
        );
        let mut builder = Schedule::builder().skip_panics();
        for &(kind, key, rate, condition) in &self.systems {
            builder = builder.add(with_condition(at_rate(KINDS[kind](key), rate), condition));
        }
        if self.walkers > 0 {
            builder = self.add_walking(&mut world, builder);
        }
        if self.planners > 0 {
            builder = add_planning(&mut world, builder);
        }
        let schedule = builder.build(&mut world).expect("the schedule is in order");
        (world, schedule)
    }

    fn add_walking(&self, world: &mut World, builder: ScheduleBuilder) -> ScheduleBuilder {
        let mut random = self.random(1);
        let grid = Grid::from_fn(24, 24, |_| random.below(4) != 0).expect("it is small");
        systems::insert_resources(world, Terrain::new(grid, MoveRule::default()));
        world.insert_resource(SearchBudget { expansions: 20 + random.below(60) });
        systems::add(builder)
    }

    /// The entities that a game begins with.
    fn populate(&self, world: &mut World) {
        let mut random = self.random(2);
        for number in 0..self.ants {
            let ant = world.spawn((Gold(number), Seen(0)));
            self.equip(world, ant, &mut random);
        }
        if self.walkers > 0 {
            let terrain = world.remove_resource::<Terrain>().expect("it was built");
            let open: Vec<Cell> =
                terrain.grid().cells().filter(|&it| terrain.is_open(it)).collect();
            let place = |random: &mut RandomStream| {
                open[usize::try_from(random.below(open.len() as u64)).expect("small")].centre()
            };
            for number in 0..self.walkers {
                let walker = world.spawn(systems::agent(place(&mut random), 6.0));
                let mut request = PathRequest::to(place(&mut random));
                request.or_nearest().keep_trying();
                if number % 3 == 0 {
                    world.insert(walker, Wander::new(random.fork(number))).expect("it is there");
                } else {
                    world.insert(walker, request).expect("it is there");
                }
            }
            world.insert_resource(terrain);
        }
        for number in 0..self.planners {
            let drawn = random.next_u64();
            let digits = std::array::from_fn(|digit| u32::from(drawn.to_le_bytes()[digit]) % 6);
            let agent = actions().spawn(world, Digits(digits)).expect("it can be spawned");
            match number % 2 {
                0 => GoapAgent::drive(world, agent).expect("it has a body"),
                _ => HtnAgent::drive(world, agent).expect("it has a body"),
            }
        }
    }

    /// Gives an ant some of what ants have.
    fn equip(&self, world: &mut World, ant: Entity, random: &mut RandomStream) {
        let parts = random.below(128);
        let others: Vec<Entity> = ants(world);
        let other = others[usize::try_from(random.below(others.len() as u64)).expect("small")];
        if parts & 1 != 0 {
            world.insert(ant, Awake).expect("it is there");
        }
        if parts & 2 != 0 {
            world.insert(ant, Dice(random.fork(parts))).expect("it is there");
        }
        if parts & 4 != 0 {
            world.insert(ant, Friend(other)).expect("it is there");
        }
        if parts & 8 != 0 {
            world.insert(ant, Buffer::<Note>::new()).expect("it is there");
        }
        if parts & 16 != 0 {
            // It may be a cycle.
            _ = world.relation_mut::<ChildOf>().add(ant, other);
        }
        if parts & 32 != 0 {
            world.insert(ant, Cache::default()).expect("it is there");
        }
        if parts & 64 != 0 {
            world.insert(ant, Grave(parts)).expect("it is there");
        }
    }

    /// One tick of the game, and then what a host does between two of them. Returns how many commands
    /// have failed, and systems have panicked.
    fn tick(&self, world: &mut World, schedule: &mut Schedule, workers: usize) -> usize {
        let report = schedule.run(world, pool(workers));
        let failed = report.failures.len() + report.panics.len() * 1_000;
        let mut random = self.random(100 + schedule.tick());
        let all = ants(world);
        let one = |random: &mut RandomStream| {
            all.get(usize::try_from(random.below(all.len().max(1) as u64)).expect("small")).copied()
        };
        for _ in 0..random.below(4) {
            let Some(ant) = one(&mut random) else { break };
            if !world.has::<Gold>(ant) {
                continue;
            }
            match random.below(6) {
                0 => drop(world.despawn(ant)),
                1 => {
                    let new = world.spawn((Gold(random.below(99)), Seen(0)));
                    self.equip(world, new, &mut random);
                }
                2 => world.get_mut::<Gold>(ant).expect("ants have it").0 += 1,
                3 => drop(world.remove::<(Dice,)>(ant)),
                4 => world.resource_mut::<Weather>().expect("it is there").0 += 1,
                _ => self.equip(world, ant, &mut random),
            }
        }
        failed
    }
}

fn ants(world: &mut World) -> Vec<Entity> {
    world.query::<(Entity, &Gold)>().map(|(ant, _)| ant).collect()
}

#[derive(Component, Clone, Copy, Debug, Pod, Zeroable)]
#[component(tracked)]
#[repr(C)]
struct Gold(u64);

#[derive(Component, Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Seen(u64);

#[derive(Component, Clone, Copy)]
#[component(enableable)]
struct Awake;

#[derive(Component, Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Dice(RandomStream);

#[derive(Component, Clone, Copy, Debug, bytemuck::NoUninit, bytemuck::CheckedBitPattern)]
#[repr(C)]
struct Friend(#[component(entity)] Entity);

#[derive(Component, Clone, Copy, Debug, Pod, Zeroable)]
#[component(buffer = 2)]
#[repr(C)]
struct Note(u64);

/// Stays behind an ant that has died, until it is seen to.
#[derive(Component, Clone, Copy, Debug, Pod, Zeroable)]
#[component(cleanup)]
#[repr(C)]
struct Grave(u64);

/// Comes back as nothing, and is worked out from `Seen` alone.
#[derive(Component, Clone, Copy, Debug, Default)]
#[component(transient, unhashed)]
struct Cache(Option<u64>);

/// Every system writes something into it.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
struct Diary(u64);

#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
struct Weather(u64);

#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Coin(u64);

/// Made from what is asked of it, so that its length is all that has to be saved.
#[derive(Default)]
struct Squares(Vec<u64>);

fn mixed(left: u64, right: u64) -> u64 {
    (left ^ right.rotate_left(17)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

const KINDS: &[fn(u64) -> SystemConfig] = &[
    mint, hear, hear_some, react, welcome, feed, roll, wake, breed, square, write, befriend,
    census, remember, storm, stumble, bury,
];

fn at_rate(system: SystemConfig, rate: u64) -> SystemConfig {
    match rate {
        0..4 => system,
        4 => system.every(2).phase(1),
        5 => system.every(3),
        6 => system.every(4).staggered(),
        7 => system.every(7).phase(5),
        _ => system.every(2).staggered(),
    }
}

fn with_condition(system: SystemConfig, condition: u64) -> SystemConfig {
    match condition {
        0..3 => system,
        3 => system.run_if(resource_changed::<Weather>()),
        4 => system.run_if(on_event::<Coin>().and(resource_changed::<Weather>().not())),
        _ => system.run_if(|diary: Res<Diary>, mut calls: Local<u64>| {
            *calls += 1;
            mixed(diary.0, *calls) % 3 != 0
        }),
    }
}

fn mint(key: u64) -> SystemConfig {
    let system = move |mut all: Query<(Entity, &mut Gold)>,
                       mut runs: Local<u64>,
                       mut coins: EventWriter<Coin>| {
        *runs += 1;
        let runs = *runs;
        all.par_for_each_with(&mut coins, |(entity, gold), coins| {
            if mixed(entity.to_bits() ^ key, runs) % 5 == 0 {
                gold.0 += runs;
                coins.send(Coin(gold.0));
            }
        });
    };
    system.into_config()
}

fn hear(key: u64) -> SystemConfig {
    let system = move |mut coins: EventReader<Coin>, mut diary: ResMut<Diary>| {
        diary.0 = coins.read().fold(diary.0, |sum, coin| mixed(sum, coin.0 ^ key));
    };
    system.into_config()
}

/// What it leaves is there in the next run, and is missed after that.
fn hear_some(_: u64) -> SystemConfig {
    let system = |mut coins: EventReader<Coin>, mut diary: ResMut<Diary>| {
        let heard = coins.read().take(2).fold(diary.0, |sum, coin| mixed(sum, coin.0));
        diary.0 = mixed(heard, coins.missed());
    };
    system.into_config()
}

fn react(key: u64) -> SystemConfig {
    let system = move |mut changed: Query<&mut Seen, Changed<Gold>>| {
        changed.par_for_each(|seen| seen.0 = mixed(seen.0, key));
    };
    system.into_config()
}

fn welcome(key: u64) -> SystemConfig {
    let system = move |mut new: Query<(&Gold, &mut Seen), Added<Gold>>| {
        new.for_each(|(gold, seen)| seen.0 = mixed(seen.0 ^ key, gold.0));
    };
    system.into_config()
}

fn feed(key: u64) -> SystemConfig {
    let system = move |mut friends: Query<(&Friend, &Seen)>,
                       mut meals: Scatter<u64>,
                       mut fed: ComponentLookup<&mut Gold>| {
        friends.par_for_each_with(&mut meals, |(friend, seen), meals| meals.push(friend.0, seen.0));
        meals.apply(&mut fed, |gold, meal| gold.0 = mixed(gold.0 ^ key, *meal) % 1_000);
    };
    system.into_config()
}

fn roll(key: u64) -> SystemConfig {
    let system = move |mut all: Query<(&mut Dice, &mut Seen), With<Awake>>| {
        all.par_for_each(|(dice, seen)| seen.0 ^= dice.0.below(key % 100 + 1));
    };
    system.into_config()
}

fn wake(key: u64) -> SystemConfig {
    let system = move |mut all: Query<(Entity, &Seen)>, awake: EnabledLookup<Awake>| {
        all.par_for_each(|(entity, seen)| {
            _ = awake.set(entity, mixed(seen.0, key) % 3 != 0);
        });
    };
    system.into_config()
}

fn breed(key: u64) -> SystemConfig {
    let system = move |mut all: Query<(Entity, &Gold)>, mut commands: Commands| {
        all.par_for_each_with(&mut commands, |(entity, gold), commands| {
            match mixed(gold.0, key ^ entity.to_bits()) % 32 {
                0 => _ = commands.spawn((Gold(key % 50), Seen(1), Awake)),
                1 => commands.despawn(entity),
                2 => commands.insert(entity, Friend(entity)),
                _ => {}
            }
        });
    };
    system.into_config()
}

fn square(key: u64) -> SystemConfig {
    let system = move |mut squares: Local<Squares>, mut diary: ResMut<Diary>| {
        let next = squares.0.len() as u64;
        squares.0.push(next * next);
        diary.0 = mixed(diary.0 ^ key, squares.0[squares.0.len() / 2]);
    };
    system.into_config()
}

fn write(key: u64) -> SystemConfig {
    let system = move |mut all: Query<(&mut Buffer<Note>, &Gold)>| {
        all.par_for_each(|(notes, gold)| {
            if notes.len() > 5 {
                notes.clear();
            }
            notes.push(Note(gold.0 ^ key));
        });
    };
    system.into_config()
}

fn befriend(key: u64) -> SystemConfig {
    let system = move |mut all: Query<(Entity, &Seen)>, mut commands: Commands| {
        let all: Vec<Entity> = (&mut all).into_iter().map(|(ant, _)| ant).collect();
        let Some(&last) = all.last() else { return };
        commands.insert(all[usize::try_from(key).unwrap_or(0) % all.len()], Friend(last));
    };
    system.into_config()
}

fn census(key: u64) -> SystemConfig {
    let system = move |world: &mut World, mut runs: Local<u64>| {
        *runs += 1;
        let count = mixed(*runs, world.len() as u64);
        let diary = world.resource_mut::<Diary>().expect("it is there");
        diary.0 = mixed(diary.0 ^ key, count);
    };
    system.into_config()
}

fn remember(_: u64) -> SystemConfig {
    let system = |mut all: Query<(&mut Cache, &mut Seen)>| {
        all.par_for_each(|(cache, seen)| {
            let known = *cache.0.get_or_insert(7);
            seen.0 ^= known;
        });
    };
    system.into_config()
}

fn storm(key: u64) -> SystemConfig {
    let system = move |mut weather: ResMut<Weather>| weather.0 ^= key;
    system.into_config()
}

/// Panics now and then, in the midst of what it does.
fn stumble(key: u64) -> SystemConfig {
    let system = move |mut all: Query<&mut Seen>,
                       mut runs: Local<u64>,
                       mut coins: EventWriter<Coin>,
                       mut commands: Commands| {
        *runs += 1;
        let number = mixed(key, *runs);
        coins.send(Coin(number));
        commands.spawn((Gold(number % 50), Seen(2)));
        for (place, seen) in (&mut all).into_iter().enumerate() {
            if place == 5 && number % 3 == 0 {
                // Without the message that a panic prints.
                std::panic::resume_unwind(Box::new("stumbled"));
            }
            seen.0 = mixed(seen.0, number);
        }
    };
    system.into_config()
}

/// Lets go of those that have died.
fn bury(key: u64) -> SystemConfig {
    let system = move |mut dead: Query<(Entity, &Grave), With<Despawned>>,
                       mut commands: Commands| {
        for (entity, grave) in &mut dead {
            if grave.0 % 4 != key % 4 {
                commands.remove::<(Grave,)>(entity);
            }
        }
    };
    system.into_config()
}

/// On an agent that plans: the numbers that it turns.
#[derive(Component, Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Digits([u32; DIGITS]);

const DIGITS: usize = 3;

#[derive(Component, Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Turn {
    digit: u32,
    by: u32,
}

struct Turning<'a>(AgentAccess<'a, &'static mut Digits>);

impl Processor for Turning<'_> {
    type Action = Turn;

    fn start(&self, agent: Agent, turn: &mut Turn) -> ActionResult {
        let Ok(mut digits) = self.0.claim(agent) else { return ActionResult::Failed };
        let digit = &mut digits.get_mut().0[turn.digit as usize];
        *digit = (*digit + turn.by) % 6;
        ActionResult::Running
    }

    fn update(&self, _: Agent, _: &mut Turn) -> ActionResult {
        ActionResult::Success
    }
}

type SeenDigits = &'static Digits;
struct Goals(Sensors<SeenDigits>);
struct Methods(Sensors<SeenDigits, Domain>);

fn actions() -> ActionSet {
    (0_u32..).take(DIGITS).fold(ActionSet::new(), |set, digit| {
        set.action(format!("up{digit}"), Turn { digit, by: 2 })
            .action(format!("down{digit}"), Turn { digit, by: 5 })
    })
}

/// Agents of both planners, which look at few states in a tick, and a system that gives them something
/// to do again.
fn add_planning(world: &mut World, builder: ScheduleBuilder) -> ScheduleBuilder {
    let mut facts = Facts::new();
    let digits: Vec<_> = (0..DIGITS).map(|digit| facts.number(format!("d{digit}"), 5)).collect();
    let operators = || {
        digits.iter().enumerate().flat_map(|(digit, fact)| {
            let up = Operator::new(format!("up{digit}")).then(fact.add(2)).cost(3);
            [up, Operator::new(format!("down{digit}")).then(fact.subtract(1)).cost(2)]
        })
    };
    let planner = PlannerBuilder::new(facts.clone()).pattern_states_max(1);
    let planner = operators().fold(planner, PlannerBuilder::operator);
    let goal = digits.iter().fold(Goal::new("all"), |goal, digit| goal.when(digit.equals(3)));
    let planner = planner.goal(goal).build().expect("the planner is in order");
    let mut domain = DomainBuilder::new(facts).prefer(Preference::Cheapest);
    domain = operators().fold(domain, DomainBuilder::operator);
    let mut all = Method::new("all", "of them");
    for (digit, fact) in digits.iter().enumerate() {
        let [set, up, down] = ["set", "up", "down"].map(|what| format!("{what}{digit}"));
        domain = domain
            .method(Method::new(&set, "up").when(fact.at_most(3)).task(up).task(&set))
            .method(Method::new(&set, "down").when(fact.at_least(4)).task(down).task(&set))
            .method(Method::new(&set, "no").when(fact.equals(4)));
        all = all.task(set);
        if digit == 0 {
            all = all.pause();
        }
    }
    let domain = domain.method(all).build("all").expect("the domain is in order");
    let (mut goals, mut methods) = (
        Sensors::new(planner, &actions()).expect("there are actions").rest(1),
        Sensors::new(domain, &actions()).expect("there are actions").rest(1),
    );
    for fact in digits {
        goals = goals.fact(fact, move |digits: &&Digits| digits.0[fact.index()]);
        methods = methods.fact(fact, move |digits: &&Digits| digits.0[fact.index()]);
    }
    world.insert_resource(Goals(goals));
    world.insert_resource(Methods(methods));
    SaveRules::of(world).rebuild::<Goals>().rebuild::<Methods>();
    let by_goals = |mut planners: Planners<SeenDigits>, shared: Res<Goals>| {
        planners.think(&shared.0, 5);
    };
    let by_methods = |mut planners: HtnPlanners<SeenDigits>, shared: Res<Methods>| {
        planners.think(&shared.0, 3);
    };
    let turn = |mut actions: Actions<Turn>, digits: AgentAccess<&'static mut Digits>| {
        actions.process(&Turning(digits));
    };
    let spoil = |mut all: Query<&mut Digits>| {
        all.for_each(|digits| digits.0 = digits.0.map(|digit| (digit * 3 + 1) % 4));
    };
    formic_ai::action::add(builder)
        .add(by_goals.as_mind())
        .add(by_methods.as_mind())
        .add(turn.as_action())
        .add(spoil.every(11))
}
