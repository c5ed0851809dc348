//! Groups, chains, exclusive systems and sync points: who comes after whom.
#![expect(elided_lifetimes_in_paths, reason = "the arguments of systems read better without <'_>")]

use crate::support::{pool, pools};
use formic_ecs::prelude::*;
use formic_jobs::prelude::*;
use formic_jobs::{ScheduleError, Sharing, SyncReason};

/// What ran, in order. Who reads it is not in conflict with others who do.
#[derive(Default)]
struct Log(std::sync::Mutex<Vec<usize>>);

fn note<const NUMBER: usize>(log: Res<Log>) {
    log.0.lock().unwrap().push(NUMBER);
}

const FIRST: Group = Group::named("first");
const SECOND: Group = Group::named("second");
const INNER: Group = Group::named("inner");

fn world() -> World {
    let mut world = World::new();
    world.insert_resource(Log::default());
    world
}

/// What a run of these systems logs, which is to be the same for any number of threads.
fn logged(build: impl Fn() -> formic_jobs::ScheduleBuilder) -> Vec<usize> {
    let runs = pools().map(|pool| {
        let mut world = world();
        build().build(&mut world).unwrap().run(&mut world, &pool);
        world.resource::<Log>().unwrap().0.lock().unwrap().clone()
    });
    let runs: Vec<_> = runs.collect();
    assert!(runs.windows(2).all(|pair| pair[0] == pair[1]), "{runs:?}");
    runs[0].clone()
}

#[test]
fn a_chain_runs_in_its_order_and_nests() {
    let chain = || Schedule::builder().add((note::<1>, note::<2>, note::<3>).chain());
    assert_eq!(logged(chain), [1, 2, 3]);
    let nested = || {
        let middle = (note::<4>, note::<5>).chain();
        Schedule::builder()
            .add((note::<6>, middle, note::<7>).chain())
            .add(note::<1>.before(note::<6>))
    };
    assert_eq!(logged(nested), [1, 6, 4, 5, 7]);
}

#[test]
fn a_tuple_without_a_chain_has_no_order() {
    let mut world = world();
    let schedule =
        Schedule::builder().add((note::<1>, note::<2>, note::<3>)).build(&mut world).unwrap();
    assert_eq!(schedule.steps().count(), 0);
    let chained = Schedule::builder()
        .add((note::<1>, note::<2>, note::<3>).chain())
        .build(&mut world)
        .unwrap();
    assert_eq!(chained.steps().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
}

#[test]
fn groups_are_ordered_as_one_by_groups_and_by_systems() {
    let by_group = || {
        Schedule::builder()
            .add(note::<9>.after(SECOND))
            .add((note::<3>, note::<4>).chain().in_group(SECOND))
            .add(note::<2>.in_group(FIRST).after(note::<1>))
            .add(note::<1>.in_group(FIRST))
            .add(note::<0>.before(FIRST))
            .add((FIRST, SECOND).chain())
    };
    assert_eq!(logged(by_group), [0, 1, 2, 3, 4, 9]);
    let by_system = || {
        Schedule::builder()
            .add(SECOND.after(note::<5>))
            .add((note::<3>, note::<4>).in_group(SECOND).chain())
            .add(note::<5>)
    };
    assert_eq!(logged(by_system), [5, 3, 4]);
}

#[test]
fn an_empty_group_passes_its_order_on() {
    let around = || {
        Schedule::builder()
            .add(note::<2>.after(INNER))
            .add(note::<1>.before(INNER))
            .add(INNER.in_group(FIRST))
    };
    assert_eq!(logged(around), [1, 2]);
}

#[test]
fn a_group_in_a_group_is_ordered_by_both() {
    let nested = || {
        Schedule::builder()
            .add(INNER.in_group(FIRST))
            .add(INNER.after(note::<2>))
            .add(note::<4>.after(FIRST))
            .add(note::<3>.in_group(INNER))
            .add(note::<2>.in_group(FIRST))
            .add(note::<1>.before(FIRST))
    };
    assert_eq!(logged(nested), [1, 2, 3, 4]);
}

#[test]
fn a_chained_group_runs_in_the_order_of_adding() {
    let chained = || {
        let builder = Schedule::builder().add(FIRST.chain());
        builder.add(note::<3>.in_group(FIRST)).add((note::<1>, note::<2>).in_group(FIRST))
    };
    assert_eq!(logged(chained), [3, 1, 2]);
}

#[test]
fn cycles_through_groups_are_named() {
    let mut world = world();
    let cycle = Schedule::builder()
        .add(note::<1>.in_group(FIRST).after(note::<2>))
        .add(note::<2>.after(FIRST))
        .build(&mut world);
    let Err(ScheduleError::Cycle { systems }) = cycle else { panic!("{cycle:?}") };
    assert!(systems.iter().any(|name| name == "the group first"), "{systems:?}");
    assert!(systems.iter().any(|name| name.ends_with("note<2>")), "{systems:?}");
    assert_eq!(systems.first(), systems.last());

    let cycle = Schedule::builder().add((FIRST, SECOND, FIRST).chain()).build(&mut world);
    assert!(matches!(cycle, Err(ScheduleError::Cycle { .. })), "{cycle:?}");
    let own = Schedule::builder().add(FIRST.in_group(FIRST)).build(&mut world);
    assert!(matches!(own, Err(ScheduleError::Cycle { .. })), "{own:?}");
}

#[test]
fn an_order_of_groups_may_come_before_their_systems() {
    let ordered = || {
        let builder = Schedule::builder().add((FIRST, INNER, SECOND).chain());
        builder.add(note::<2>.in_group(SECOND)).add(note::<1>.in_group(INNER))
    };
    assert_eq!(logged(ordered), [1, 2]);
}

#[test]
fn a_group_that_nobody_knows_is_an_error() {
    let result = Schedule::builder().add(note::<1>.after(SECOND)).build(&mut world());
    let Err(ScheduleError::UnknownSystem { other, .. }) = result else { panic!("{result:?}") };
    assert_eq!(other, "the group second");
}

#[derive(Component)]
struct Mark(usize);

fn spawn(mut commands: Commands) {
    commands.spawn(Mark(1));
}

fn count(marks: Query<&Mark>, mut counts: ResMut<Vec<usize>>) {
    counts.push(marks.count());
}

fn counted(build: impl Fn() -> formic_jobs::ScheduleBuilder) -> (Vec<usize>, usize) {
    let mut results = pools().map(|pool| {
        let mut world = World::new();
        world.insert_resource(Vec::<usize>::new());
        let mut schedule = build().build(&mut world).unwrap();
        schedule.run(&mut world, &pool);
        schedule.run(&mut world, &pool);
        (world.resource::<Vec<usize>>().unwrap().clone(), schedule.sync_points().len())
    });
    let first = results.next().unwrap();
    assert!(results.all(|other| other == first));
    first
}

#[test]
fn who_comes_after_a_system_sees_its_commands() {
    assert_eq!(counted(|| Schedule::builder().add(spawn).add(count.after(spawn))), (vec![1, 2], 1));
    assert_eq!(
        counted(|| Schedule::builder().add(count).add(spawn.before(count))),
        (vec![1, 2], 1)
    );
    assert_eq!(counted(|| Schedule::builder().add((spawn, count).chain())), (vec![1, 2], 1));
    let by_group = || Schedule::builder().add(spawn.in_group(FIRST)).add(count.after(FIRST));
    assert_eq!(counted(by_group), (vec![1, 2], 1));
}

#[test]
fn sync_points_are_where_they_are_needed_and_nowhere_else() {
    // No system asks: one at the end.
    assert_eq!(counted(|| Schedule::builder().add((spawn, count))), (vec![0, 1], 1));
    let ignoring = || Schedule::builder().add((spawn, count).chain_ignoring_commands());
    assert_eq!(counted(ignoring), (vec![0, 1], 1));
    let ignoring = || Schedule::builder().add(spawn).add(count.after_ignoring_commands(spawn));
    assert_eq!(counted(ignoring), (vec![0, 1], 1));
    // The order goes by way of a system that records nothing.
    let by_way = || Schedule::builder().add((spawn, note_nothing, count).chain());
    assert_eq!(counted(by_way), (vec![1, 2], 1));
    // Two that wait for one need one point, and what is recorded later another.
    let both = || {
        Schedule::builder()
            .add(spawn)
            .add((count, note_nothing).after(spawn))
            .add(spawn_more.after(spawn))
    };
    assert_eq!(counted(both), (vec![1, 3], 2));
}

fn note_nothing() {}

fn spawn_more(mut commands: Commands) {
    commands.spawn(Mark(2));
}

#[test]
fn sync_points_say_what_they_play_and_why() {
    fn look(world: &mut World) {
        assert!(!world.is_empty());
    }
    fn spawn_last(mut commands: Commands) {
        commands.spawn(Mark(3));
    }
    let mut world = World::new();
    world.insert_resource(Vec::<usize>::new());
    let schedule = Schedule::builder()
        .add(spawn)
        .add(count.after(spawn))
        .add(spawn_more.after(count))
        .add(look)
        .add(spawn_last)
        .build(&mut world)
        .unwrap();
    let points = schedule.sync_points();
    assert_eq!(points.len(), 3, "{schedule}");
    assert_eq!(points[0].plays.len(), 1);
    assert!(matches!(&points[0].because, SyncReason::Order(pairs) if pairs.len() == 1));
    assert!(points[0].to_string().contains("count is to run after"), "{}", points[0]);
    assert!(matches!(&points[1].because, SyncReason::Exclusive(name) if name.ends_with("look")));
    assert_eq!(points[2].because, SyncReason::EndOfRun);
    let text = schedule.to_string();
    assert_eq!(text.lines().filter(|line| line.starts_with("sync point: ")).count(), 3);
    assert!(text.lines().any(|line| line.starts_with("alone: ") && line.ends_with("look")));
}

#[test]
fn an_exclusive_system_is_alone_and_sees_all_commands_before_it() {
    fn look(world: &mut World, mut runs: Local<usize>, pool: &Pool) {
        *runs += 1;
        pool.join(|| (), || ());
        let marks: usize = world.query::<&Mark>().map(|mark| mark.0).sum();
        world.resource_mut::<Vec<usize>>().unwrap().push(marks * 100 + *runs);
    }
    let mixed = || Schedule::builder().add(spawn).add(look).add(count).add(spawn);
    assert_eq!(counted(mixed), (vec![101, 1, 302, 3], 2));
    let moved = || Schedule::builder().add((count, look.after(count), spawn.before(look)));
    assert_eq!(counted(moved), (vec![0, 101, 1, 202], 1));
}

#[test]
fn exclusive_systems_run_nested_schedules() {
    struct Inner(Schedule);
    fn nest(world: &mut World, pool: &Pool) {
        let mut inner = world.remove_resource::<Inner>().unwrap();
        for _ in 0..3 {
            inner.0.run(world, pool);
        }
        world.insert_resource(inner);
    }
    for pool in pools() {
        let mut world = World::new();
        world.insert_resource(Vec::<usize>::new());
        let inner = Schedule::builder().add((spawn, count).chain()).build(&mut world).unwrap();
        world.insert_resource(Inner(inner));
        let outer = Schedule::builder().add((count, nest, count).chain());
        let mut outer = outer.build(&mut world).unwrap();
        outer.run(&mut world, &pool);
        assert_eq!(*world.resource::<Vec<usize>>().unwrap(), [0, 1, 2, 3, 3]);
    }
}

#[test]
fn ambiguities_about_a_type_that_is_a_component_and_a_resource_are_silenced_at_once() {
    #[derive(Component)]
    #[component(name = "weather")]
    struct Weather;
    fn blow(_here: Query<&mut Weather>) {}
    fn rain(_there: ResMut<Weather>) {}
    let mut world = World::new();
    let all = || Schedule::builder().add((blow, rain)).add((blow, rain));
    assert_eq!(all().build(&mut world).unwrap().ambiguities().len(), 2);
    let schedule = all().allow_ambiguities_about::<Weather>().build(&mut world).unwrap();
    assert_eq!(schedule.ambiguities(), []);
}

#[test]
fn ambiguities_are_silenced_one_by_one_or_by_what_they_are_about() {
    fn add(mut number: ResMut<u32>) {
        *number += 1;
    }
    fn double(mut number: ResMut<u32>) {
        *number *= 2;
    }
    fn square(mut number: ResMut<u32>, marks: Query<&mut Mark>) {
        *number *= *number + u32::try_from(marks.count()).unwrap();
    }
    let mut world = World::new();
    let mut pairs = |builder: formic_jobs::ScheduleBuilder| {
        let schedule = builder.build(&mut world).unwrap();
        schedule.ambiguities().iter().map(|ambiguity| ambiguity.about.join("+")).collect::<Vec<_>>()
    };
    let all = Schedule::builder().add((add, double, square));
    assert_eq!(pairs(all), ["u32", "u32", "u32"]);
    let one = Schedule::builder().add((add, double.ambiguous_with(add), square));
    assert_eq!(pairs(one), ["u32", "u32"]);
    let group =
        Schedule::builder().add((add, double).in_group(FIRST)).add(square.ambiguous_with(FIRST));
    assert_eq!(pairs(group), ["u32"]);
    let allowed = Schedule::builder().add((add, double, square, count));
    assert!(pairs(allowed).iter().any(|about| about.ends_with("Mark")));
    let allowed =
        Schedule::builder().add((add, double, square, count)).allow_ambiguities_about::<u32>();
    assert_eq!(pairs(allowed).len(), 1);
    let allowed = Schedule::builder()
        .add((add, double, square, count))
        .allow_ambiguities_about::<u32>()
        .allow_ambiguities_about::<Mark>();
    assert!(pairs(allowed).is_empty());
    let denied = Schedule::builder().add((add, double)).deny_ambiguities().build(&mut world);
    let Err(ScheduleError::Ambiguous { ambiguities }) = denied else { panic!("{denied:?}") };
    assert_eq!(ambiguities.len(), 1);
    // Silenced or not, the order of adding holds.
    world.insert_resource(1_u32);
    let builder = Schedule::builder().add((add, double.ambiguous_with(add)));
    builder.build(&mut world).unwrap().run(&mut world, &pool(1));
    assert_eq!(*world.resource::<u32>().unwrap(), 4);
}

#[test]
fn one_shot_systems_return_and_play_their_commands() {
    for pool in pools() {
        let mut world = World::new();
        let answer = world.run_system(&pool, |mut commands: Commands| {
            commands.spawn(Mark(7));
            "done"
        });
        assert_eq!(answer, "done");
        let spawned = world.query_filtered::<Entity, With<Mark>>().single().unwrap();
        let sum = world.run_system(&pool, |mut marks: Query<&Mark>| {
            marks.par_fold(|| 0, |sum, mark| *sum += mark.0, |sum, other| *sum += other)
        });
        assert_eq!(sum, 7);
        world.run_system(&pool, move |mut commands: Commands| commands.despawn(spawned));
        assert!(world.is_empty());
    }
}

#[derive(Component)]
struct Load(u32);
#[derive(Component)]
struct Heavy;
#[derive(Component)]
#[component(enableable)]
struct Awake;

fn with<T: Component>(mut loads: Query<&mut Load, With<T>>) {
    loads.for_each(|load| load.0 = load.0 * 3 + 1);
}

fn without<T: Component>(mut loads: Query<&mut Load, Without<T>>) {
    loads.for_each(|load| load.0 = load.0 * 5 + 2);
}

/// The second pair is why filters cannot be gone by: one flip moves a row from one to the other.
#[test]
fn systems_that_write_one_component_are_ordered_whatever_their_filters_say() {
    for pool in pools() {
        let mut world = World::new();
        let plain = world.spawn((Load(1),));
        let heavy = world.spawn((Load(1), Heavy));
        let asleep = world.spawn((Load(1), Awake));
        world.set_enabled::<Awake>(asleep, false).expect("it has it");
        let builder = Schedule::builder().sharing(Sharing::Always);
        let builder =
            builder.add((with::<Heavy>, without::<Heavy>, with::<Awake>, without::<Awake>));
        let mut schedule = builder.build(&mut world).expect("no contradiction");
        assert_eq!(schedule.steps().collect::<Vec<_>>(), [(0, 1), (1, 2), (2, 3)]);
        schedule.run(&mut world, &pool);
        let load = |entity| world.get::<Load>(entity).expect("it lives").0;
        // By `without` of both; by `with` and then by `without`; as the first, for it is off.
        assert_eq!([plain, heavy, asleep].map(load), [37, 22, 37]);
    }
}

/// More chunks than a fold has batches, and numbers of which each order of adding has another sum.
#[test]
fn a_parallel_fold_of_numbers_that_round_is_the_same_on_any_number_of_threads() {
    #[derive(Component)]
    struct Weight(f64, [u64; 63]);
    fn weigh(mut all: Query<&Weight>, mut sums: ResMut<Vec<f64>>) {
        let sum = all.par_fold(|| 0.0, |sum, weight| *sum += weight.0, |sum, other| *sum += other);
        let most = all.par_reduce(|weight| weight.0, |one, other| one / 2.0 + other);
        sums.extend([sum, most.unwrap()]);
    }
    let mut expected = None;
    for pool in pools() {
        let mut world = World::new();
        world.insert_resource(Vec::<f64>::new());
        let count = if cfg!(miri) { 300 } else { 20_000 };
        world.spawn_batch((0..count).map(|i| Weight(1.0 / (f64::from(i) + 0.1), [0; 63])));
        for _ in 0..3 {
            world.run_system(&pool, weigh);
        }
        let sums: Vec<u64> =
            world.resource::<Vec<f64>>().unwrap().iter().map(|sum| sum.to_bits()).collect();
        assert_eq!(*expected.get_or_insert(sums.clone()), sums, "{} threads", pool.parallelism());
    }
}

/// For each seed: the order in which systems ran, and the one in which their commands were played.
#[test]
fn shuffled_systems_keep_what_is_declared_and_their_commands_the_order_of_adding() {
    fn act<const NUMBER: usize>(mut log: ResMut<Vec<usize>>) {
        log.push(NUMBER);
    }
    fn record<const NUMBER: usize>(mut log: ResMut<Vec<usize>>, mut commands: Commands) {
        log.push(NUMBER);
        commands.run(|world| world.resource::<Log>().unwrap().0.lock().unwrap().push(NUMBER));
    }
    // In conflict with no other, so that no system of the first sync point comes after it.
    fn record_aside<const NUMBER: usize>(mut commands: Commands) {
        commands.run(|world| world.resource::<Log>().unwrap().0.lock().unwrap().push(NUMBER));
    }
    let run = |seed, pool| {
        let mut world = world();
        world.insert_resource(Vec::<usize>::new());
        let schedule = Schedule::builder()
            .add((record::<0>, record::<1>, record::<2>))
            .add((act::<3>, act::<4>, act::<5>).chain())
            .add(record::<6>)
            .add(act::<7>.after(FIRST))
            .add((act::<8>, act::<9>).in_group(FIRST))
            .add(act::<10>.before(act::<8>))
            .add(record_aside::<11>.after(record::<1>))
            .add((act::<12>, act::<13>).chain().ambiguous_with(act::<3>))
            .shuffle_ambiguous(seed);
        schedule.build(&mut world).unwrap().run(&mut world, pool);
        let played = world.resource::<Log>().unwrap().0.lock().unwrap().clone();
        (world.resource::<Vec<usize>>().unwrap().clone(), played)
    };
    let pools: Vec<_> = pools().collect();
    let mut orders = std::collections::BTreeSet::new();
    for seed in 0..if cfg!(miri) { 5 } else { 100 } {
        let (ran, played) = run(seed, &pools[0]);
        let at = |number| ran.iter().position(|&it| it == number).expect("it ran");
        for (first, then) in [(3, 4), (4, 5), (8, 7), (9, 7), (10, 8), (12, 13)] {
            assert!(at(first) < at(then), "{first} before {then}, seed {seed}: {ran:?}");
        }
        assert_eq!(ran.len(), 13, "seed {seed}: {ran:?}");
        // The last one waits for the commands of another, and is of the next sync point.
        assert_eq!(played, [0, 1, 2, 6, 11], "seed {seed}");
        for pool in &pools[1..] {
            assert_eq!(run(seed, pool), (ran.clone(), played.clone()), "seed {seed}");
        }
        orders.insert(ran);
    }
    assert!(orders.len() > if cfg!(miri) { 2 } else { 90 }, "{} orders", orders.len());
}

#[test]
fn a_system_that_is_meant_to_run_after_earlier_ones_does_so_in_every_shuffle() {
    fn note<const NUMBER: usize>(mut log: ResMut<Vec<usize>>) {
        log.push(NUMBER);
    }
    let pool = Pool::new(Threads::None).unwrap();
    for seed in 0..20 {
        let mut world = World::new();
        world.insert_resource(Vec::<usize>::new());
        let mut schedule = Schedule::builder()
            .add((note::<0>, note::<1>))
            .add((note::<2>, note::<3>).chain().after_earlier())
            .add(note::<4>.before(note::<0>))
            .shuffle_ambiguous(seed)
            .build(&mut world)
            .unwrap();
        let listed = schedule.ambiguities();
        assert!(listed.iter().all(|it| !it.first.ends_with("2>") && !it.second.ends_with("2>")));
        schedule.run(&mut world, &pool);
        let ran = world.resource::<Vec<usize>>().unwrap();
        let at = |number| ran.iter().position(|&it| it == number).expect("it ran");
        assert!(at(0) < at(2) && at(1) < at(2) && at(2) < at(3), "seed {seed}: {ran:?}");
        assert!(at(4) < at(0), "what is declared goes first, seed {seed}: {ran:?}");
    }
}
