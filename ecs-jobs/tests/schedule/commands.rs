//! The sync point: what systems recorded is played in one order, whatever thread did what.
#![expect(elided_lifetimes_in_paths, reason = "the arguments of systems read better without <'_>")]

use crate::support::{pool, pools};
use bytemuck::NoUninit;
use formic_ecs::prelude::*;
use formic_ecs::{CommandFailureReason, Entity};
use formic_jobs::prelude::*;
use std::time::Duration;

/// Enough for many chunks.
const ENTITIES: u64 = if cfg!(miri) { 12 } else { 20_000 };
const REPEATS: usize = if cfg!(miri) { 1 } else { 5 };
const WORKERS: &[usize] = if cfg!(miri) { &[1, 2] } else { &[1, 2, 3, 7] };

#[derive(Component, Clone, Copy, Debug, PartialEq, NoUninit)]
#[repr(C)]
struct Number(u64);
/// Who came last, or in which order they came.
#[derive(Component, Clone, Copy, Debug, PartialEq, NoUninit)]
#[repr(C)]
struct Stamp(u64);
#[derive(Component, Clone, Copy, NoUninit)]
#[repr(C)]
struct Child(#[component(entity)] Entity);
/// Makes rows large, so that chunks are small.
#[derive(Component, Clone, Copy, NoUninit)]
#[repr(C)]
struct Ballast([u64; 30]);

fn numbers(world: &mut World) -> Vec<Entity> {
    world.spawn_batch((0..ENTITIES).map(|number| (Number(number), Ballast([0; 30]))))
}

/// Keeps a thread busy for a moment, so that others take their share.
fn linger(number: u64) {
    if number % 64 == 0 && !cfg!(miri) {
        std::thread::sleep(Duration::from_micros(number % 7 * 10));
    }
}

#[test]
fn nothing_changes_before_the_next_sync_point() {
    fn spawn(mut commands: Commands) {
        commands.spawn(Stamp(1));
    }
    fn look(stamps: Query<&Stamp>, mut seen: Local<usize>) {
        assert_eq!(stamps.count(), *seen);
        *seen += 1;
    }
    for pool in pools() {
        let mut world = World::new();
        let builder = Schedule::builder().add(spawn).add(look.after_ignoring_commands(spawn));
        let mut schedule = builder.build(&mut world).unwrap();
        for runs in 1..4 {
            schedule.run(&mut world, &pool);
            assert_eq!(world.len(), runs);
        }
    }
}

#[test]
fn commands_are_played_in_the_order_of_adding_whoever_ends_first() {
    fn spawner<const STAMP: u64>(mut commands: Commands) {
        // The first ones end last.
        std::thread::sleep(Duration::from_millis(4 - STAMP));
        commands.spawn(Stamp(STAMP));
    }
    for pool in pools() {
        let mut world = World::new();
        let builder = Schedule::builder().add(spawner::<0>).add(spawner::<1>).add(spawner::<2>);
        let mut schedule = builder.add(spawner::<3>).build(&mut world).unwrap();
        schedule.run(&mut world, &pool);
        let mut spawned: Vec<_> = world
            .query_ref::<(Entity, &Stamp)>()
            .map(|(entity, stamp)| (entity, stamp.0))
            .collect();
        spawned.sort_unstable();
        assert!(spawned.iter().map(|&(_, stamp)| stamp).eq(0..4), "{spawned:?}");
    }
}

#[test]
fn at_one_sync_point_an_order_between_systems_does_not_change_that_of_their_commands() {
    fn late(mut commands: Commands) {
        commands.spawn(Stamp(0));
    }
    fn early(mut commands: Commands) {
        commands.spawn(Stamp(1));
    }
    let mut world = World::new();
    let mut schedule = Schedule::builder()
        .add(late.after_ignoring_commands(early))
        .add(early)
        .build(&mut world)
        .unwrap();
    schedule.run(&mut world, &pool(0));
    let stamps: Vec<_> = world.query_ref::<&Stamp>().map(|stamp| stamp.0).collect();
    assert_eq!(stamps, [0, 1]);
}

#[test]
fn what_many_threads_record_gives_one_world() {
    fn change(mut all: Query<(Entity, &Number)>, mut commands: Commands) {
        all.par_for_each_with(&mut commands, |(entity, number), commands| {
            linger(number.0);
            match number.0 % 5 {
                0 => commands.despawn(entity),
                1 => {
                    let child = commands.spawn(Stamp(number.0));
                    commands.insert(entity, Child(child));
                }
                2 => {
                    commands.spawn(Number(number.0 / 2));
                }
                3 => commands.remove::<Number>(entity),
                _ => {}
            }
        });
    }
    let state = |pool: &Pool| {
        let mut world = World::new();
        numbers(&mut world);
        let mut schedule = Schedule::builder().add(change).build(&mut world).unwrap();
        let hashes: Vec<_> = (0..3)
            .map(|_| {
                assert!(schedule.run(&mut world, pool).failures.is_empty());
                world.state_hash()
            })
            .collect();
        world.check().unwrap();
        hashes
    };
    let expected = state(&Pool::new(Threads::None).unwrap());
    for _ in 0..REPEATS {
        for &workers in WORKERS {
            assert_eq!(state(&pool(workers)), expected, "{workers} workers");
        }
    }
}

#[test]
fn commands_before_in_and_after_a_parallel_loop_are_played_in_this_order() {
    fn stamp(
        mut all: Query<(Entity, &Number)>,
        mut commands: Commands,
        before: Local<Vec<Entity>>,
    ) {
        _ = before;
        let entities: Vec<_> = all.into_iter().map(|(entity, _)| entity).collect();
        // The last one wins.
        entities.iter().for_each(|&entity| commands.insert(entity, Stamp(1)));
        for round in [10, 20] {
            all.par_for_each_with(&mut commands, |(entity, number), commands| {
                linger(number.0 + round);
                commands.insert(entity, Stamp(round));
            });
            let some = entities.iter().step_by(2);
            some.for_each(|&entity| commands.insert(entity, Stamp(round + 1)));
        }
    }
    for _ in 0..REPEATS {
        for pool in pools() {
            let mut world = World::new();
            let entities = numbers(&mut world);
            let mut schedule = Schedule::builder().add(stamp).build(&mut world).unwrap();
            for _ in 0..2 {
                schedule.run(&mut world, &pool);
                for (index, &entity) in entities.iter().enumerate() {
                    let last = if index % 2 == 0 { 21 } else { 20 };
                    assert_eq!(world.get::<Stamp>(entity).unwrap().0, last);
                }
            }
        }
    }
}

/// Calls that append to a list, so that their order shows, from all threads.
#[test]
fn calls_of_parallel_loops_are_made_by_sort_key() {
    struct Seen(Vec<u64>);
    fn call(mut all: Query<(Entity, &Number)>, mut commands: Commands) {
        commands.run(|world| world.resource_mut::<Seen>().unwrap().0.push(u64::MAX));
        all.par_for_each_with(&mut commands, |(entity, number), commands| {
            linger(number.0);
            let number = number.0;
            let child = commands.spawn(Child(entity));
            commands.run_with((entity, child), move |world, (entity, child)| {
                assert_eq!(world.get::<Child>(child).unwrap().0, entity);
                world.resource_mut::<Seen>().unwrap().0.push(number);
            });
            commands.set_parent(child, entity);
        });
        commands.bulk::<With<Child>>().insert(Stamp(1));
        commands.run(|world| {
            let count = world.query::<(&Child, &Stamp)>().count() as u64;
            world.resource_mut::<Seen>().unwrap().0.push(count);
        });
    }
    let state = |pool: &Pool| {
        let mut world = World::new();
        let first = numbers(&mut world)[0];
        world.insert_resource(Seen(Vec::new()));
        let mut schedule = Schedule::builder().add(call).build(&mut world).unwrap();
        assert!(schedule.run(&mut world, pool).failures.is_empty());
        world.check().unwrap();
        assert_eq!(world.relation::<ChildOf>().children(first).len(), 1);
        (world.remove_resource::<Seen>().unwrap().0, world.state_hash())
    };
    let expected = state(&Pool::new(Threads::None).unwrap());
    assert_eq!(expected.0.len() as u64, ENTITIES + 2);
    assert_eq!((expected.0.first(), expected.0.last()), (Some(&u64::MAX), Some(&ENTITIES)));
    for &workers in WORKERS {
        assert!(state(&pool(workers)) == expected, "{workers} workers");
    }
}

#[test]
fn a_call_that_panics_ends_the_sync_point_and_not_the_schedule() {
    fn spawn(mut commands: Commands) {
        commands.spawn(Stamp(1));
    }
    fn call(mut commands: Commands) {
        commands.run(|world| assert!(world.len() > 1, "planned"));
        commands.spawn(Stamp(2));
    }
    let mut world = World::new();
    let mut schedule = Schedule::builder().add(spawn).add(call).build(&mut world).unwrap();
    let pool = pool(1);
    let run = std::panic::AssertUnwindSafe(|| drop(schedule.run(&mut world, &pool)));
    assert!(std::panic::catch_unwind(run).is_err());
    assert_eq!(world.len(), 1);
    assert!(schedule.run(&mut world, &pool).failures.is_empty());
    assert_eq!(world.len(), 3);
    world.check().unwrap();
}

#[test]
fn two_command_arguments_of_one_system_are_played_one_after_the_other() {
    fn both(mut first: Commands, mut second: Commands, mut numbers: Query<&Number>) {
        numbers.par_for_each_with(&mut second, |_, second| {
            second.spawn(Stamp(2));
        });
        first.spawn(Stamp(1));
    }
    let mut world = World::new();
    world.spawn(Number(0));
    let mut schedule = Schedule::builder().add(both).build(&mut world).unwrap();
    schedule.run(&mut world, &pool(1));
    let stamps: Vec<_> = world.query_ref::<&Stamp>().map(|stamp| stamp.0).collect();
    assert_eq!(stamps, [1, 2]);
}

#[test]
fn commands_that_did_not_apply_are_reported_in_the_order_of_adding() {
    fn despawn(mut all: Query<Entity, With<Number>>, mut commands: Commands) {
        all.for_each(|entity| commands.despawn(entity));
    }
    fn strip(mut all: Query<Entity, With<Number>>, mut commands: Commands) {
        all.for_each(|entity| commands.remove::<Number>(entity));
    }
    let mut world = World::new();
    let entity = world.spawn(Number(0));
    let builder = Schedule::builder().add(despawn).add(strip).add(despawn);
    let mut schedule = builder.build(&mut world).unwrap();
    let report = schedule.run(&mut world, &pool(2));
    let failures: Vec<_> =
        report.failures.iter().map(|failure| (failure.command, failure.entity)).collect();
    assert_eq!(failures, [("remove", entity), ("despawn", entity)]);
    let gone = CommandFailureReason::NoSuchEntity;
    assert!(report.failures.iter().all(|failure| failure.reason == gone));
    assert!(schedule.run(&mut world, &pool(2)).failures.is_empty(), "they are played once");
}

#[test]
fn a_schedule_may_run_on_one_pool_after_the_other() {
    fn spawn(mut all: Query<&Number>, mut commands: Commands) {
        all.par_for_each_with(&mut commands, |number, commands| {
            linger(number.0);
            commands.spawn(Stamp(number.0));
        });
    }
    let mut world = World::new();
    numbers(&mut world);
    let mut schedule = Schedule::builder().add(spawn).build(&mut world).unwrap();
    for (runs, workers) in (2..).zip([3, 0, 1, 3]) {
        schedule.run(&mut world, &pool(workers));
        assert_eq!(world.len() as u64, runs * ENTITIES);
    }
}

#[test]
fn a_loop_that_does_more_with_its_commands_than_record_is_an_error_on_any_number_of_threads() {
    type Body = fn(&mut CommandBuffer);
    let run = |pool: &Pool, body: Body| {
        let mut world = World::new();
        numbers(&mut world);
        let system = move |mut all: Query<&Number>, mut commands: Commands| {
            all.par_for_each_with(&mut commands, |number, commands| {
                commands.spawn(Stamp(number.0));
                if number.0 == 7 {
                    body(commands);
                }
            });
        };
        let mut schedule = Schedule::builder().add(system).build(&mut world).unwrap();
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            schedule.run(&mut world, pool);
        }));
        (outcome, world.query::<&Stamp>().count())
    };
    // What comes first of those with the same key would depend on timing, and so would what else is in it.
    let bodies: [Body; 3] = [
        |commands| commands.set_sort_key(5),
        |commands| commands.clear(),
        |commands| drop(std::mem::replace(commands, CommandBuffer::new(&World::new()))),
    ];
    for pool in pools() {
        for body in bodies {
            let (outcome, count) = run(&pool, body);
            let payload = outcome.expect_err("it is an error every time");
            let text = payload.downcast_ref::<String>().expect("it says what is wrong");
            assert!(text.contains("must only record"), "{text}");
            assert_eq!(count, 0, "nothing is played");
        }
        assert_eq!(run(&pool, |_| ()).1, usize::try_from(ENTITIES).unwrap());
    }
}
