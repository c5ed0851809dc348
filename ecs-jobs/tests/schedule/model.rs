//! Random systems with random access: the schedule gives the world that running them one after
//! the other gives, and its graph has the steps that it needs and no others.
#![expect(elided_lifetimes_in_paths, reason = "the arguments of systems read better without <'_>")]

use crate::support::pool;
use bytemuck::NoUninit;
use formic_ecs::QueryData;
use formic_ecs::prelude::*;
use formic_jobs::prelude::*;
use formic_jobs::{RunContext, ScheduleBuilder, Sharing, System, SystemAccess, SystemConfig};

const SEEDS: u64 = if cfg!(miri) { 2 } else { 40 };
/// Enough for several chunks, and for several threads to take part.
const ENTITIES: u64 = if cfg!(miri) { 12 } else { 1_500 };
const TICKS: usize = 3;

/// A component that is a number.
trait Part: Component {
    fn new(number: u64) -> Self;
    fn get(&self) -> u64;
    fn set(&mut self, number: u64);
}

macro_rules! parts {
    ($($name:ident)*) => {$(
        #[derive(Component, Clone, Copy, NoUninit)]
        #[repr(C)]
        struct $name(u64);

        impl Part for $name {
            fn new(number: u64) -> Self {
                Self(number)
            }

            fn get(&self) -> u64 {
                self.0
            }

            fn set(&mut self, number: u64) {
                self.0 = number;
            }
        }
    )*};
}

parts!(A B C);

#[derive(Component, Clone, Copy, NoUninit)]
#[repr(C)]
struct Friend(#[component(entity)] Entity);
#[derive(Component)]
#[component(enableable)]
struct Flag;
struct Total(u64);
struct Salt(u64);

fn mixed(left: u64, right: u64) -> u64 {
    (left ^ right.rotate_left(17)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

// Each of these is a system of other access; none of them commutes with one that it is in conflict
// with, so that any other order gives another world.

fn mix<From: Part, To: Part>(key: u64) -> SystemConfig {
    let system = move |mut all: Query<(&From, &mut To)>| {
        all.par_for_each(|(from, to)| to.set(mixed(to.get() ^ key, from.get())));
    };
    system.into_config()
}

fn stir<To: Part>(key: u64) -> SystemConfig {
    let system = move |mut all: Query<&mut To>, salt: Res<Salt>, mut runs: Local<u64>| {
        *runs += 1;
        all.for_each_chunk(|column| {
            column.iter_mut().for_each(|to| to.set(mixed(to.get() ^ key, salt.0 + *runs)));
        });
    };
    system.into_config()
}

fn tally<From: Part>(key: u64) -> SystemConfig {
    let system = move |mut all: Query<&From>, mut total: ResMut<Total>| {
        let sum = (&mut all).into_iter().fold(0, |sum: u64, from| sum.wrapping_add(from.get()));
        total.0 = mixed(total.0 ^ key, sum);
    };
    system.into_config()
}

fn spread<To: Part>(key: u64) -> SystemConfig {
    let system = move |mut all: Query<&mut To, With<Flag>>, total: Res<Total>| {
        all.par_for_each(|to| to.set(mixed(to.get() ^ key, total.0)));
    };
    system.into_config()
}

fn salt(key: u64) -> SystemConfig {
    (move |mut salt: ResMut<Salt>| salt.0 = mixed(salt.0, key)).into_config()
}

fn follow<From: Part, To: Part>(key: u64) -> SystemConfig {
    let system = move |mut all: Query<(&Friend, &mut To)>, others: ComponentLookup<&From>| {
        all.par_for_each(|(friend, to)| {
            let found = others.get(friend.0).map_or(key, Part::get);
            to.set(mixed(to.get(), found));
        });
    };
    system.into_config()
}

fn push<From: Part, To: Part>(key: u64) -> SystemConfig {
    let system = move |mut all: Query<(&Friend, &From)>,
                       mut pushed: Scatter<u64>,
                       mut others: ComponentLookup<&mut To>| {
        all.par_for_each_with(&mut pushed, |(friend, from), pushed| {
            pushed.push(friend.0, from.get());
        });
        // Not a sum: the order counts.
        pushed.apply(&mut others, |other, &from| other.set(mixed(other.get(), key ^ from)));
    };
    system.into_config()
}

fn flip<From: Part>(key: u64) -> SystemConfig {
    let system = move |mut all: Query<(Entity, &From)>, flags: EnabledLookup<Flag>| {
        all.par_for_each(|(entity, from)| {
            _ = flags.set(entity, mixed(from.get(), key) % 3 != 0);
        });
    };
    system.into_config()
}

const KINDS: &[fn(u64) -> SystemConfig] = &[
    mix::<A, B>,
    mix::<B, C>,
    mix::<C, A>,
    stir::<A>,
    stir::<B>,
    tally::<A>,
    tally::<C>,
    spread::<B>,
    spread::<C>,
    salt,
    follow::<A, B>,
    follow::<C, A>,
    push::<B, A>,
    push::<A, C>,
    flip::<A>,
    flip::<B>,
];

fn world(seed: u64) -> World {
    let mut random = RandomStream::new(seed);
    let mut world = World::new();
    world.insert_resource(Total(1));
    world.insert_resource(Salt(2));
    let all: Vec<_> = (0..ENTITIES).map(|_| world.spawn(())).collect();
    for &entity in &all {
        let traits = random.below(32);
        if traits & 1 != 0 {
            world.insert(entity, A::new(random.next_u64())).unwrap();
        }
        if traits & 2 != 0 {
            world.insert(entity, B::new(random.next_u64())).unwrap();
        }
        if traits & 4 != 0 {
            world.insert(entity, C::new(random.next_u64())).unwrap();
        }
        if traits & 8 != 0 {
            world.insert(entity, Flag).unwrap();
        }
        if traits & 16 != 0 {
            let friend = all[usize::try_from(random.below(ENTITIES)).unwrap()];
            world.insert(entity, Friend(friend)).unwrap();
        }
    }
    world
}

/// Which kinds of systems, with their keys.
fn plan(seed: u64) -> Vec<(usize, u64)> {
    let mut random = RandomStream::new(seed).fork(1);
    let count = 2 + random.below(9);
    let kind_count = KINDS.len() as u64;
    let pick = |random: &mut RandomStream| usize::try_from(random.below(kind_count)).unwrap();
    (0..count).map(|_| (pick(&mut random), random.next_u64())).collect()
}

fn state(world: &World) -> (u64, u64, u64) {
    let (total, salt) = (world.resource::<Total>().unwrap().0, world.resource::<Salt>().unwrap().0);
    (world.state_hash().value(), total, salt)
}

fn run(
    seed: u64,
    pool: &Pool,
    mut schedules: impl FnMut(&mut World) -> Vec<Schedule>,
) -> (u64, u64, u64) {
    let mut world = world(seed);
    let mut schedules = schedules(&mut world);
    for _ in 0..TICKS {
        for schedule in &mut schedules {
            schedule.run(&mut world, pool);
        }
    }
    world.check().unwrap();
    state(&world)
}

#[test]
fn random_systems_give_the_world_that_one_after_the_other_gives() {
    let pools: Vec<_> = [0, 1, 2, 3, 8].map(pool).into();
    for seed in 0..SEEDS {
        let plan = plan(seed);
        let systems = || plan.iter().map(|&(kind, key)| KINDS[kind](key));
        let expected = run(seed, &pools[0], |world| {
            let alone =
                systems().map(|system| Schedule::builder().add(system).build(world).unwrap());
            alone.collect()
        });
        for pool in &pools {
            let found = run(seed, pool, |world| {
                // Also what is too small to be worth it.
                let builder = Schedule::builder().sharing(Sharing::Always);
                let together = systems().fold(builder, ScheduleBuilder::add);
                vec![together.build(world).unwrap()]
            });
            assert_eq!(found, expected, "seed {seed}, {pool:?}, systems {plan:?}");
        }
    }
}

// What cannot be compared with one system after the other, because commands are played and events
// grow older by the run, is compared with the same schedule on one thread.

/// What is said of a number.
struct Word(u64);

fn breed<From: Part>(key: u64) -> SystemConfig {
    let system = move |mut all: Query<(Entity, &From)>, mut commands: Commands| {
        all.par_for_each_with(&mut commands, |(entity, from), commands| {
            match mixed(from.get(), key) % 16 {
                0 => _ = commands.spawn(From::new(key ^ from.get())),
                1 => commands.despawn(entity),
                2 => commands.insert(entity, B::new(key)),
                _ => {}
            }
        });
    };
    system.into_config()
}

fn tell<From: Part>(key: u64) -> SystemConfig {
    let system = move |mut all: Query<&From>, mut words: EventWriter<Word>| {
        words.send(Word(key));
        all.par_for_each_with(&mut words, |from, words| {
            if mixed(from.get(), key) % 8 == 0 {
                words.send(Word(from.get()));
            }
        });
    };
    system.into_config()
}

fn hear(key: u64) -> SystemConfig {
    let system = move |mut words: EventReader<Word>, mut total: ResMut<Total>| {
        total.0 = words.read().fold(total.0, |sum, word| mixed(sum, word.0 ^ key));
    };
    system.into_config()
}

fn census(key: u64) -> SystemConfig {
    let system = move |world: &mut World, mut runs: Local<u64>| {
        *runs += 1;
        let count = world.len() as u64 + *runs;
        let salt = world.resource_mut::<Salt>().unwrap();
        salt.0 = mixed(salt.0 ^ key, count);
    };
    system.into_config()
}

fn fold<From: Part>(key: u64) -> SystemConfig {
    let system = move |mut all: Query<&From>, mut total: ResMut<Total>| {
        let sum = all.par_fold(
            || key,
            |sum, from| *sum = mixed(*sum, from.get()),
            |sum, other| *sum = mixed(*sum, other),
        );
        total.0 ^= sum;
    };
    system.into_config()
}

const OTHER_KINDS: &[fn(u64) -> SystemConfig] =
    &[breed::<A>, breed::<B>, breed::<C>, tell::<A>, tell::<C>, hear, hear, census, fold::<B>];

const EARLY: Group = Group::named("early");
const LATE: Group = Group::named("late");

/// A schedule of all kinds of systems, in groups, with conditions and at rates.
fn schedule_of_everything(seed: u64, sharing: Sharing, world: &mut World) -> Schedule {
    let mut random = RandomStream::new(seed).fork(3);
    let mut below = |limit: usize| usize::try_from(random.below(limit as u64)).unwrap();
    let odd = |salt: Res<Salt>| salt.0 % 2 == 1;
    let unsettled = |total: Res<Total>| total.0 % 4 != 0;
    let mut builder = Schedule::builder().sharing(sharing).add((EARLY, LATE).chain());
    if below(2) == 0 {
        builder = builder.add(LATE.run_if(unsettled));
    }
    for _ in 0..3 + below(9) {
        let key = below(1 << 30) as u64;
        let kind = below(KINDS.len() + 2 * OTHER_KINDS.len());
        let mut system = match KINDS.get(kind) {
            Some(kind) => kind(key),
            None => OTHER_KINDS[(kind - KINDS.len()) % OTHER_KINDS.len()](key),
        };
        match below(6) {
            0 => system = system.every(2).phase(1),
            1 => system = system.every(3).staggered(),
            2 => system = system.run_if(odd),
            _ => {}
        }
        match below(4) {
            0 => system = system.in_group(EARLY),
            1 => system = system.in_group(LATE),
            _ => {}
        }
        builder = builder.add(system);
    }
    builder.build(world).unwrap()
}

#[test]
fn random_schedules_of_everything_give_the_same_world_on_any_number_of_threads() {
    let pools: Vec<_> = [0, 1, 2, 4, 8].map(pool).into();
    for seed in 0..SEEDS {
        let run = |sharing, pool: &Pool| {
            let mut world = world(seed);
            let mut schedule = schedule_of_everything(seed, sharing, &mut world);
            let mut failures = 0;
            for _ in 0..6 {
                failures += schedule.run(&mut world, pool).failures.len();
            }
            world.check().unwrap();
            (state(&world), failures, schedule.explain_all())
        };
        let expected = run(Sharing::Never, &pools[0]);
        for pool in &pools {
            for sharing in [Sharing::Always, Sharing::WhereWorthIt] {
                let found = run(sharing, pool);
                assert_eq!(found, expected, "seed {seed}, {pool:?}, {sharing:?}");
            }
        }
    }
}

#[test]
fn stepping_through_runs_gives_the_world_that_running_them_gives() {
    let pool = pool(0);
    for seed in 0..SEEDS {
        let live = |stepped: bool| {
            let mut world = world(seed);
            let mut schedule = schedule_of_everything(seed, Sharing::Never, &mut world);
            let mut failures = 0;
            for tick in 0..6_u64 {
                // Every second run is begun by steps and ended in one go.
                let steps = if tick % 2 == 0 { usize::MAX } else { 3 };
                let ended = (0..steps).take_while(|_| stepped).find_map(|_| {
                    let next = schedule.next_step();
                    let report = schedule.step(&mut world, &pool);
                    assert_eq!(next, Some(report.step), "seed {seed}");
                    assert_eq!(schedule.is_stepping(), report.ended.is_none());
                    report.ended
                });
                let report = ended.unwrap_or_else(|| schedule.run(&mut world, &pool));
                failures += report.failures.len();
                assert_eq!(schedule.tick(), tick + 1);
            }
            world.check().unwrap();
            (state(&world), failures, schedule.explain_all())
        };
        assert_eq!(live(true), live(false), "seed {seed}");
    }
}

type Declare = fn(&mut World, &mut SystemAccess);

/// A system of its own type for each place, that only declares.
struct Place<const PLACE: usize>(Vec<Declare>);

impl<const PLACE: usize> System for Place<PLACE> {
    fn name(&self) -> &'static str {
        std::any::type_name::<Self>()
    }

    fn initialize(&mut self, world: &mut World) -> SystemAccess {
        let mut access = SystemAccess::default();
        self.0.iter().for_each(|declare| declare(world, &mut access));
        access
    }

    fn run(&mut self, _context: RunContext<'_>) {}
}

fn components<Q: QueryData>(world: &mut World, access: &mut SystemAccess) {
    let plan = world.plan::<Q>();
    access.add_components(plan.access(), world);
}

/// What a system can declare: for each thing, that it reads it, and that it writes it.
const DECLARATIONS: [[Declare; 2]; 4] = [
    [components::<&A>, components::<&mut A>],
    [components::<&B>, components::<&mut B>],
    [components::<Enabled<Flag>>, components::<EnabledMut<Flag>>],
    [
        |_, access| access.add_resource_read::<Total>(),
        |_, access| access.add_resource_write::<Total>(),
    ],
];
const PLACES: usize = 8;

/// For each thing, whether a place leaves it alone (0), reads it (1) or writes it (2).
type Uses = [usize; DECLARATIONS.len()];

fn config(place: usize, uses: &Uses) -> SystemConfig {
    fn of<const PLACE: usize>(declared: Vec<Declare>) -> SystemConfig {
        SystemConfig::of(Place::<PLACE>(declared))
    }
    let used = uses.iter().zip(DECLARATIONS).filter(|&(&how, _)| how > 0);
    let declared = used.map(|(&how, choices)| choices[how - 1]).collect();
    [of::<0>, of::<1>, of::<2>, of::<3>, of::<4>, of::<5>, of::<6>, of::<7>][place](declared)
}

fn after(config: SystemConfig, earlier: usize) -> SystemConfig {
    let none = Vec::new();
    match earlier {
        0 => config.after(Place::<0>(none)),
        1 => config.after(Place::<1>(none)),
        2 => config.after(Place::<2>(none)),
        3 => config.after(Place::<3>(none)),
        4 => config.after(Place::<4>(none)),
        5 => config.after(Place::<5>(none)),
        6 => config.after(Place::<6>(none)),
        _ => config.after(Place::<7>(none)),
    }
}

/// Which places are reached from which, over one step or more.
fn reached(steps: &[(usize, usize)]) -> Vec<Vec<bool>> {
    let mut reached = vec![vec![false; PLACES]; PLACES];
    steps.iter().for_each(|&(from, to)| reached[from][to] = true);
    for by in 0..PLACES {
        for from in 0..PLACES {
            for to in 0..PLACES {
                reached[from][to] |= reached[from][by] && reached[by][to];
            }
        }
    }
    reached
}

fn in_conflict(one: &Uses, other: &Uses) -> bool {
    one.iter().zip(other).any(|(&one, &other)| one > 0 && other > 0 && one + other > 2)
}

#[test]
fn the_steps_are_those_that_order_and_conflicts_ask_for_and_none_is_redundant() {
    let seeds = if cfg!(miri) { 3 } else { 2_000 };
    for seed in 0..seeds {
        let mut random = RandomStream::new(seed).fork(2);
        // Some want it crowded, some want it free.
        let density = 2 + random.below(8);
        let uses: [Uses; PLACES] = std::array::from_fn(|_| {
            std::array::from_fn(|_| usize::try_from(random.below(density)).unwrap() % 7).map(
                |how| {
                    if how > 2 { 0 } else { how }
                },
            )
        });
        // A hidden order of all places keeps the declared one free of cycles.
        let hidden: [u64; PLACES] = std::array::from_fn(|_| random.next_u64());
        let mut declared = Vec::new();
        for to in 0..PLACES {
            for from in (0..PLACES).filter(|&from| hidden[from] < hidden[to]) {
                if random.below(density) == 0 {
                    declared.push((from, to));
                }
            }
        }
        let mut world = World::new();
        let builder = (0..PLACES).fold(Schedule::builder(), |builder, place| {
            let earlier = declared.iter().filter(|&&(_, to)| to == place).map(|&(from, _)| from);
            builder.add(earlier.fold(config(place, &uses[place]), after))
        });
        let schedule = builder.build(&mut world).unwrap();
        let steps: Vec<_> = schedule.steps().collect();
        let (ways, by_word) = (reached(&steps), reached(&declared));
        let mut ambiguous = 0;
        for to in 0..PLACES {
            assert!(!ways[to][to], "seed {seed}: a cycle");
            for from in 0..PLACES {
                assert!(ways[from][to] || !by_word[from][to], "seed {seed}: {from} before {to}");
            }
            for from in 0..to {
                let unsaid = !by_word[from][to] && !by_word[to][from];
                if in_conflict(&uses[from], &uses[to]) {
                    assert!(ways[from][to] != ways[to][from], "seed {seed}: {from} and {to}");
                    ambiguous += usize::from(unsaid);
                }
                if declared.is_empty() && ways[to][from] {
                    panic!("seed {seed}: {to} before {from} against the order of adding");
                }
            }
        }
        assert_eq!(schedule.ambiguities().len(), ambiguous, "seed {seed}");
        for (index, &(from, to)) in steps.iter().enumerate() {
            let asked = declared.contains(&(from, to)) || in_conflict(&uses[from], &uses[to]);
            assert!(asked, "seed {seed}: nobody asked for {from} before {to}");
            let mut others = steps.clone();
            others.remove(index);
            assert!(!reached(&others)[from][to], "seed {seed}: {from} before {to} is redundant");
        }
    }
}
