//! Conditions, rates and explanations: what runs in which tick, and why something did not.
#![expect(elided_lifetimes_in_paths, reason = "the arguments of systems read better without <'_>")]

use crate::support::{pool, pools};
use formic_ecs::prelude::*;
use formic_jobs::prelude::*;
use formic_jobs::{Condition, Explanation, Reason, ScheduleBuilder, ScheduleError, SystemConfig};

struct Flags([bool; 4]);
#[derive(Default)]
struct Asked(std::sync::Mutex<Vec<usize>>);

fn flag<const NUMBER: usize>(flags: Res<Flags>, asked: Res<Asked>) -> bool {
    asked.0.lock().unwrap().push(NUMBER);
    flags.0[NUMBER]
}

fn system() {}
fn other() {}

fn world(flags: [bool; 4]) -> World {
    let mut world = World::new();
    world.insert_resource(Flags(flags));
    world.insert_resource(Asked::default());
    world
}

/// The reason for `system`, and which flags were asked for.
fn outcome(builder: ScheduleBuilder, flags: [bool; 4]) -> (Reason, Vec<usize>) {
    let mut world = world(flags);
    let mut schedule = builder.build(&mut world).unwrap();
    schedule.run(&mut world, &pool(0));
    let reason = schedule.explain(system).0[0].reason.clone();
    let asked = world.resource::<Asked>().unwrap().0.lock().unwrap().clone();
    (reason, asked)
}

fn builder(condition: Condition) -> ScheduleBuilder {
    Schedule::builder().add(system.run_if(condition))
}

#[test]
fn combined_conditions_ask_no_more_than_they_have_to() {
    let (one, two) = (flag::<0>, flag::<1>);
    for bits in 0..4 {
        let flags = [bits & 1 != 0, bits & 2 != 0, false, false];
        let ran = |condition: Condition| {
            let (reason, asked) = outcome(builder(condition), flags);
            (reason == Reason::Ran, asked)
        };
        let both = if flags[0] { vec![0, 1] } else { vec![0] };
        assert_eq!(ran(one.and(two)), (flags[0] && flags[1], both));
        let either = if flags[0] { vec![0] } else { vec![0, 1] };
        assert_eq!(ran(one.or(two)), (flags[0] || flags[1], either));
        assert_eq!(ran(one.not()), (!flags[0], vec![0]));
        assert_eq!(ran(one.or(two).not().or(two)).0, !flags[0] || flags[1]);
    }
}

#[test]
fn the_first_condition_that_does_not_hold_is_the_reason() {
    let several = || Schedule::builder().add(system.run_if(flag::<0>).run_if(flag::<1>));
    let (reason, asked) = outcome(several(), [true, false, true, true]);
    assert_eq!(reason, Reason::ConditionFalse { condition: "flag<1>".into() });
    assert_eq!(asked, [0, 1]);
    let (reason, asked) = outcome(several(), [false, false, true, true]);
    assert_eq!(reason, Reason::ConditionFalse { condition: "flag<0>".into() });
    assert_eq!(asked, [0]);
}

const OUTER: Group = Group::named("outer");
const INNER: Group = Group::named("inner");

#[test]
fn the_condition_of_a_group_is_asked_once_and_counts_for_all_of_it() {
    let groups = || {
        Schedule::builder()
            .add(OUTER.run_if(flag::<0>))
            .add(INNER.in_group(OUTER).run_if(flag::<1>))
            .add(other.in_group(OUTER))
            .add((system, other).in_group(INNER))
    };
    let (reason, asked) = outcome(groups(), [true, true, true, true]);
    assert_eq!((reason, asked), (Reason::Ran, vec![0, 1]));
    let (reason, asked) = outcome(groups(), [true, false, true, true]);
    let off = |group: &str, condition: &str| Reason::GroupOff {
        group: Some(group.into()),
        condition: condition.into(),
    };
    assert_eq!((reason, asked), (off("inner", "flag<1>"), vec![0, 1]));
    let (reason, asked) = outcome(groups(), [false, true, true, true]);
    assert_eq!((reason, asked), (off("outer", "flag<0>"), vec![0]), "the inner one is not asked");
}

#[test]
fn the_condition_of_a_tuple_is_asked_once_and_after_what_the_tuple_waits_for() {
    fn set(mut flags: ResMut<Flags>) {
        flags.0[0] = true;
    }
    let tuple = || Schedule::builder().add((system, other).after(set).run_if(flag::<0>)).add(set);
    let (reason, asked) = outcome(tuple(), [false; 4]);
    assert_eq!((reason, asked), (Reason::Ran, vec![0]));
    let before = || Schedule::builder().add((system, other).before(set).run_if(flag::<0>)).add(set);
    let (reason, asked) = outcome(before(), [false; 4]);
    let off = Reason::GroupOff { group: None, condition: "flag<0>".into() };
    assert_eq!((reason, asked), (off.clone(), vec![0]));
    let off = Explanation { system: "work".into(), tick: Some(7), reason: off };
    let text = "work did not run in tick 7: what it was added with is off, as flag<0> was false";
    assert_eq!(off.to_string(), text);
}

#[test]
fn a_condition_that_writes_is_refused() {
    fn greedy(mut flags: ResMut<Flags>) -> bool {
        flags.0[0] = true;
        true
    }
    fn recording(_commands: Commands) -> bool {
        true
    }
    let mut world = world([true; 4]);
    for condition in [greedy.into_condition(), recording.into_condition()] {
        let name = condition.name().to_string();
        let result = Schedule::builder().add(system.run_if(condition)).build(&mut world);
        let Err(ScheduleError::WritingCondition { condition, .. }) = result else {
            panic!("{result:?}")
        };
        assert_eq!(condition, name);
    }
}

#[test]
fn what_a_condition_reads_orders_its_system() {
    fn set(mut flags: ResMut<Flags>) {
        flags.0[0] ^= true;
    }
    for pool in pools() {
        let mut world = world([false; 4]);
        let builder = Schedule::builder().add(set).add(system.run_if(flag::<0>)).add(set);
        let mut schedule = builder.build(&mut world).unwrap();
        assert_eq!(schedule.steps().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
        for _ in 0..5 {
            schedule.run(&mut world, &pool);
            assert_eq!(schedule.explain(system).0[0].reason, Reason::Ran);
        }
    }
}

#[derive(Component)]
struct Seen(u64);

#[test]
fn what_a_condition_reads_of_components_orders_its_system_as_well() {
    fn flip(mut all: Query<&mut Seen>) {
        all.for_each(|seen| seen.0 ^= 1);
    }
    fn is_set(mut all: Query<&Seen>) -> bool {
        (&mut all).into_iter().any(|seen| seen.0 == 1)
    }
    for pool in pools() {
        let mut world = world([false; 4]);
        world.spawn(Seen(0));
        let builder = Schedule::builder().add(flip).add(system.run_if(is_set)).add(flip);
        let mut schedule = builder.build(&mut world).unwrap();
        assert_eq!(schedule.steps().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
        for _ in 0..5 {
            schedule.run(&mut world, &pool);
            assert_eq!(schedule.explain(system).0[0].reason, Reason::Ran);
        }
    }
}

#[test]
fn a_rate_counts_ticks_and_says_when_it_is_due() {
    fn count(mut runs: ResMut<u32>) {
        *runs += 1;
    }
    let mut world = World::new();
    world.insert_resource(0_u32);
    let mut schedule = Schedule::builder().add(count.every(4).phase(1)).build(&mut world).unwrap();
    for tick in 0..12 {
        assert_eq!(schedule.tick(), tick);
        schedule.run(&mut world, &pool(0));
        let next_in = u32::try_from((5 - tick % 4) % 4).unwrap();
        let expected =
            if next_in == 0 { Reason::Ran } else { Reason::NotDue { every: 4, next_in } };
        assert_eq!(schedule.explain(count).0[0].reason, expected, "tick {tick}");
    }
    assert_eq!(*world.resource::<u32>().unwrap(), 3);
}

#[test]
fn staggered_loops_of_all_kinds_come_to_each_entity_once_in_a_period() {
    fn walk(mut all: Query<&mut Seen>) {
        all.par_for_each(|seen| seen.0 += 1);
        (&mut all).into_iter().for_each(|seen| seen.0 += 1 << 8);
        all.for_each(|seen| seen.0 += 1 << 16);
        all.par_for_each_chunk(|column| column.iter_mut().for_each(|seen| seen.0 += 1 << 24));
        let count = all.count() as u64;
        let folded = all.par_fold(|| 0, |sum, _| *sum += 1, |sum, other| *sum += other);
        assert_eq!(folded, count);
        assert!(all.all().count() as u64 > count);
        let sum = all.par_reduce(|seen| seen.0 & 0xFF, |a, b| a + b).unwrap_or(0);
        assert!(sum >= count);
    }
    for pool in pools() {
        let mut world = World::new();
        world.spawn_batch((0..1_000).map(|_| Seen(0)));
        let builder = Schedule::builder().add(walk.every(7).phase(3).staggered());
        let mut schedule = builder.build(&mut world).unwrap();
        for period in 1..4 {
            for _ in 0..7 {
                schedule.run(&mut world, &pool);
            }
            let each = period * 0x0101_0101;
            assert!(world.query::<&Seen>().into_iter().all(|seen| seen.0 == each));
        }
    }
}

#[test]
fn a_staggered_query_finds_what_has_changed_since_the_same_part_came_up() {
    #[derive(Component)]
    #[component(tracked)]
    struct Health(u32);
    fn heal(mut hurt: Query<&Health, Changed<Health>>, mut found: ResMut<Vec<u32>>) {
        hurt.for_each(|health| found.push(health.0));
    }
    let mut world = World::new();
    world.insert_resource(Vec::<u32>::new());
    let all = world.spawn_batch((0..20).map(Health));
    let builder = Schedule::builder().add(heal.every(5).staggered());
    let mut schedule = builder.build(&mut world).unwrap();
    let found = |world: &mut World, schedule: &mut Schedule| {
        for _ in 0..5 {
            schedule.run(world, &pool(0));
        }
        let mut found = std::mem::take(world.resource_mut::<Vec<u32>>().unwrap());
        found.sort_unstable();
        found
    };
    assert_eq!(found(&mut world, &mut schedule), (0..20).collect::<Vec<_>>());
    assert!(found(&mut world, &mut schedule).is_empty());
    for (entity, health) in [(all[3], 103), (all[4], 104), (all[17], 117)] {
        world.get_mut::<Health>(entity).unwrap().0 = health;
    }
    assert_eq!(found(&mut world, &mut schedule), [103, 104, 117]);
}

#[test]
fn a_resource_is_changed_once_for_each_condition() {
    fn write(mut flags: ResMut<Flags>, mut runs: Local<usize>) {
        *runs += 1;
        if *runs % 3 == 0 {
            flags.0[1] = true;
        }
    }
    let mut world = world([false; 4]);
    let builder = Schedule::builder()
        .add(system.run_if(resource_changed::<Flags>()))
        .add(write)
        .add(other.run_if(resource_changed::<Flags>()));
    let mut schedule = builder.build(&mut world).unwrap();
    let mut ran = Vec::new();
    for _ in 0..7 {
        schedule.run(&mut world, &pool(0));
        let did = |explained: formic_jobs::Explanations| explained.0[0].reason == Reason::Ran;
        ran.push((did(schedule.explain(system)), did(schedule.explain(other))));
    }
    let neither = (false, false);
    let expected = [
        (true, true),
        neither,
        (false, true),
        (true, false),
        neither,
        (false, true),
        (true, false),
    ];
    assert_eq!(ran, expected);
}

#[test]
fn every_reason_is_a_sentence() {
    let mut world = world([false; 4]);
    let mut schedule = Schedule::builder()
        .add(system.every(3).phase(1))
        .add(other.run_if(flag::<0>))
        .build(&mut world)
        .unwrap();
    let says = |schedule: &Schedule, text: &str| {
        let all = schedule.explain_all().to_string();
        assert!(all.lines().any(|line| line.ends_with(text)), "{text} in {all}");
    };
    says(&schedule, "system has not run: the schedule has not since it was built or loaded");
    schedule.run(&mut world, &pool(0));
    says(&schedule, "system did not run in tick 0: it runs every 3 ticks, next in 1");
    says(&schedule, "other did not run in tick 0: flag<0> was false");
    schedule.run(&mut world, &pool(0));
    says(&schedule, "system ran in tick 1");
}

// What random conditions, groups and rates make of systems, against a few lines that do the same.

/// One system of a random schedule.
#[derive(Clone, Debug)]
struct Spec {
    every: u32,
    phase: u32,
    own: Option<usize>,
    group: Option<usize>,
}

struct Ran(Vec<std::sync::atomic::AtomicUsize>);

const GROUPS: [Group; 3] = [Group::named("a"), Group::named("b"), Group::named("c")];

fn config(place: usize, spec: &Spec) -> SystemConfig {
    let system = move |ran: Res<Ran>| {
        _ = ran.0[place].fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    };
    let mut config = system.every(spec.every).phase(spec.phase);
    if let Some(own) = spec.own {
        config = config.run_if(flag_of(own));
    }
    if let Some(group) = spec.group {
        config = config.in_group(GROUPS[group]);
    }
    config
}

fn flag_of(number: usize) -> Condition {
    (move |flags: Res<Flags>| flags.0[number]).into_condition()
}

#[test]
fn random_conditions_groups_and_rates_do_what_they_say() {
    let pools: Vec<_> = if cfg!(miri) { vec![pool(1)] } else { [0, 1, 4].map(pool).into() };
    for seed in 0..if cfg!(miri) { 3 } else { 150 } {
        let mut random = RandomStream::new(seed);
        let mut below = |limit: u64| usize::try_from(random.below(limit)).unwrap();
        let specs: Vec<_> = (0..1 + below(12))
            .map(|_| Spec {
                every: u32::try_from(1 + below(4)).unwrap(),
                phase: u32::try_from(below(6)).unwrap(),
                own: Some(below(8)).filter(|&flag| flag < 4),
                group: Some(below(6)).filter(|&group| group < 3),
            })
            .collect();
        // Group c lies in b, which lies in a, or not.
        let nested = [below(2) == 0, below(2) == 0];
        let group_flags = [below(4), below(4), below(4)];
        let ticks: Vec<[bool; 4]> =
            (0..12).map(|_| std::array::from_fn(|_| below(3) > 0)).collect();

        let is_on = |group: usize, flags: &[bool; 4]| {
            let mut around = group;
            loop {
                if !flags[group_flags[around]] {
                    return false;
                }
                if around == 0 || !nested[around - 1] {
                    return true;
                }
                around -= 1;
            }
        };
        let mut expected = vec![0; specs.len()];
        for (tick, flags) in ticks.iter().enumerate() {
            for (spec, count) in specs.iter().zip(&mut expected) {
                let due = tick % spec.every as usize == (spec.phase % spec.every) as usize;
                let own = spec.own.is_none_or(|own| flags[own]);
                *count +=
                    usize::from(due && own && spec.group.is_none_or(|group| is_on(group, flags)));
            }
        }

        for pool in &pools {
            let mut world = World::new();
            world.insert_resource(Flags([false; 4]));
            world.insert_resource(Ran(specs.iter().map(|_| 0.into()).collect()));
            let mut builder = Schedule::builder();
            for (group, flag) in group_flags.into_iter().enumerate() {
                builder = builder.add(GROUPS[group].run_if(flag_of(flag)));
                if group > 0 && nested[group - 1] {
                    builder = builder.add(GROUPS[group].in_group(GROUPS[group - 1]));
                }
            }
            for (place, spec) in specs.iter().enumerate() {
                builder = builder.add(config(place, spec));
            }
            let mut schedule = builder.build(&mut world).unwrap();
            let mut explained = 0;
            for flags in &ticks {
                world.resource_mut::<Flags>().unwrap().0 = *flags;
                schedule.run(&mut world, pool);
                let all = schedule.explain_all().0;
                assert_eq!(all.len(), specs.len());
                explained += all.iter().filter(|it| it.reason == Reason::Ran).count();
            }
            let ran: Vec<usize> = world
                .remove_resource::<Ran>()
                .unwrap()
                .0
                .into_iter()
                .map(std::sync::atomic::AtomicUsize::into_inner)
                .collect();
            assert_eq!(ran, expected, "seed {seed}: {specs:?}, nested {nested:?}");
            assert_eq!(explained, expected.iter().sum::<usize>(), "seed {seed}");
        }
    }
}

#[test]
fn a_restored_world_counts_as_changed_once_and_hides_no_later_change() {
    struct Map(u32);
    struct Drawn(u32);
    fn draw(mut drawn: ResMut<'_, Drawn>) {
        drawn.0 += 1;
    }
    let pool = pool(0);
    let mut world = World::new();
    world.insert_resource(Map(1));
    world.insert_resource(Drawn(0));
    let draw = draw.run_if(resource_changed::<Map>());
    let mut schedule = Schedule::builder().add(draw).build(&mut world).expect("one system");
    let saved = world.snapshot().expect("there is nothing that cannot be saved");
    let drawn = |world: &World| world.resource::<Drawn>().expect("it is there").0;
    let run = |times, schedule: &mut Schedule, world: &mut World| {
        for _ in 0..times {
            schedule.run(world, &pool);
        }
    };
    run(50, &mut schedule, &mut world);
    assert_eq!(drawn(&world), 1);
    world.restore(&saved).expect("it is a snapshot of this world");
    run(20, &mut schedule, &mut world);
    assert_eq!(drawn(&world), 2);
    world.restore(&saved).expect("it is a snapshot of this world");
    world.insert_resource(Map(7));
    run(5, &mut schedule, &mut world);
    assert_eq!(drawn(&world), 3);
    world.resource_mut::<Map>().expect("it is there").0 = 8;
    schedule.run(&mut world, &pool);
    assert_eq!(drawn(&world), 4);
}

#[derive(Component)]
struct Fire;

fn light(mut commands: Commands) {
    commands.spawn(Fire);
}

/// A condition of several systems is asked when all that they wait for has ended, commands included.
#[test]
fn the_condition_of_a_tuple_waits_for_what_its_systems_wait_for() {
    let pair = || (system, other).run_if(any_entity::<With<Fire>>());
    let builders = [
        Schedule::builder().add((light, pair()).chain()),
        Schedule::builder().add(pair().after(light)).add(light),
        Schedule::builder().add(OUTER.after(light)).add(pair().in_group(OUTER)).add(light),
        Schedule::builder().add(OUTER.after(light)).add(light).add(
            (system.in_group(OUTER), other.in_group(OUTER)).run_if(any_entity::<With<Fire>>()),
        ),
    ];
    for (place, builder) in builders.into_iter().enumerate() {
        let (reason, _) = outcome(builder, [false; 4]);
        assert_eq!(reason, Reason::Ran, "of builder {place}");
    }
}

#[test]
fn the_condition_of_a_tuple_in_a_tuple_that_is_off_is_not_asked() {
    let inner = (system, other).run_if(flag::<0>);
    let builder = Schedule::builder().add((inner, || ()).run_if(flag::<1>));
    let (reason, asked) = outcome(builder, [true, false, false, false]);
    assert_eq!(reason, Reason::GroupOff { group: None, condition: "flag<1>".into() });
    assert_eq!(asked, [1]);
}

#[test]
#[should_panic(expected = "the group outer is no system: say this of its systems")]
fn a_group_has_no_rate() {
    drop(OUTER.every(2));
}
