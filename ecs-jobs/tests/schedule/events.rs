//! Events: none is lost, none comes twice, and their order is that of the schedule.
#![expect(elided_lifetimes_in_paths, reason = "the arguments of systems read better without <'_>")]

use crate::support::{pool, pools};
use formic_ecs::prelude::*;
use formic_jobs::prelude::*;
use formic_jobs::{EventCursor, ScheduleBuilder, ScheduleError, SystemConfig};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Ping(u64);
#[derive(Default)]
struct Heard(Vec<u64>);
#[derive(Component)]
struct Number(u64);

fn hear(mut pings: EventReader<Ping>, mut heard: ResMut<Heard>) {
    heard.0.extend(pings.read().map(|ping| ping.0));
}

fn world() -> World {
    let mut world = World::new();
    world.insert_resource(Heard::default());
    world
}

fn heard(world: &mut World) -> Vec<u64> {
    std::mem::take(&mut world.resource_mut::<Heard>().unwrap().0)
}

/// Says `start`, `start + 1` and so on, some more in each run, and takes its time.
fn speaker(start: u64, delay_us: u64) -> SystemConfig {
    let system = move |mut pings: EventWriter<Ping>, mut runs: Local<u64>| {
        *runs += 1;
        if !cfg!(miri) {
            std::thread::sleep(Duration::from_micros(delay_us));
        }
        pings.send_batch((0..*runs % 4).map(|number| Ping(start + number)));
    };
    system.into_config()
}

#[test]
fn writers_do_not_wait_for_each_other_and_readers_wait_for_writers() {
    let mut world = world();
    let builder = Schedule::builder().add((speaker(0, 0), speaker(10, 0))).add(hear);
    let schedule = builder.build(&mut world).unwrap();
    assert_eq!(schedule.steps().collect::<Vec<_>>(), [(0, 2), (1, 2)]);
}

#[test]
fn events_come_in_the_order_of_the_systems_whoever_is_first() {
    let build = || {
        // The first takes longest.
        Schedule::builder().add((speaker(0, 300), speaker(10, 100), speaker(20, 0))).add(hear)
    };
    for pool in pools() {
        let mut world = world();
        let mut schedule = build().build(&mut world).unwrap();
        for run in 1..9 {
            schedule.run(&mut world, &pool);
            let one = |start: u64| start..start + run % 4;
            let expected: Vec<_> = one(0).chain(one(10)).chain(one(20)).collect();
            assert_eq!(heard(&mut world), expected, "{pool:?}, run {run}");
        }
    }
}

#[test]
fn events_that_a_function_wrote_once_age_with_the_schedule_that_reads_them() {
    let mut world = world();
    let pool = pool(0);
    let mut schedule = Schedule::builder().add(hear).build(&mut world).unwrap();
    world.run_system(&pool, |mut pings: EventWriter<Ping>| pings.send(Ping(0)));
    for run in 1..9 {
        schedule.run(&mut world, &pool);
        assert_eq!(heard(&mut world), [run - 1]);
        world.resource_mut::<Events<Ping>>().unwrap().send(Ping(run));
        assert_eq!(world.resource::<Events<Ping>>().unwrap().len(), 2, "run {run}");
    }
}

#[test]
fn a_reader_before_the_writer_hears_in_the_next_run() {
    let mut world = world();
    let builder = Schedule::builder().add(hear).add(speaker(0, 0));
    let mut schedule = builder.build(&mut world).unwrap();
    let pool = pool(0);
    let mut all = Vec::new();
    for _ in 0..5 {
        schedule.run(&mut world, &pool);
        all.push(heard(&mut world));
    }
    assert_eq!(all, [vec![], vec![0], vec![0, 1], vec![0, 1, 2], vec![]]);
}

#[test]
fn an_event_lives_as_long_as_it_was_given() {
    for lifetime in 1..5 {
        let mut world = world();
        let say = |mut pings: EventWriter<Ping>, mut runs: Local<u64>| {
            pings.send(Ping(*runs));
            *runs += 1;
        };
        let mut schedule = Schedule::builder().add(say).build(&mut world).unwrap();
        world.resource_mut::<Events<Ping>>().unwrap().set_lifetime(lifetime);
        for run in 1..10_usize {
            schedule.run(&mut world, &pool(0));
            let events = world.resource::<Events<Ping>>().unwrap();
            let kept = run.min(lifetime - 1);
            assert!(events.iter().map(|ping| ping.0).eq((run - kept) as u64..run as u64));
        }
    }
}

#[test]
fn who_reads_too_seldom_is_told_how_much_was_missed() {
    fn rarely(mut pings: EventReader<Ping>, mut heard: ResMut<Heard>) {
        heard.0.extend(pings.read().map(|ping| ping.0));
        heard.0.push(1_000 + pings.missed());
    }
    let mut world = world();
    let say = |mut pings: EventWriter<Ping>, mut runs: Local<u64>| {
        pings.send(Ping(*runs));
        *runs += 1;
    };
    let builder = Schedule::builder().add(say).add(rarely.every(5).phase(4));
    let mut schedule = builder.build(&mut world).unwrap();
    for _ in 0..10 {
        schedule.run(&mut world, &pool(0));
    }
    assert_eq!(heard(&mut world), [3, 4, 1_003, 8, 9, 1_006]);
}

#[test]
fn a_cursor_counts_what_is_gone_and_begins_anew_where_other_events_take_the_place() {
    let mut events = Events::default();
    let mut cursor = EventCursor::default();
    (0..5).for_each(|number| events.send(Ping(number)));
    assert_eq!(cursor.read(&events).len(), 5);
    events.clear();
    events.send(Ping(9));
    assert_eq!(cursor.read(&events).map(|ping| ping.0).collect::<Vec<_>>(), [9]);
    assert_eq!(cursor.missed(), 5);
    let mut others = Events::default();
    others.send(Ping(1));
    assert_eq!(cursor.read(&others).map(|ping| ping.0).collect::<Vec<_>>(), [1]);
    assert_eq!(cursor.missed(), 5);
}

#[test]
fn a_cursor_of_any_saved_numbers_reads() {
    let mut events = Events::default();
    events.send(Ping(1));
    events.clear();
    events.send(Ping(2));
    let mut cursor = EventCursor::from_numbers([0, u64::MAX]);
    assert_eq!(cursor.read(&events).len(), 1);
    assert_eq!(cursor.missed(), u64::MAX);
    assert_eq!(EventCursor::from_numbers([u64::MAX; 2]).read(&events).len(), 1);
}

#[test]
fn what_an_iterator_has_not_come_to_stays_unread() {
    fn one_at_a_time(mut pings: EventReader<Ping>, mut heard: ResMut<Heard>) {
        let count = pings.len();
        assert_eq!(pings.read().len(), count);
        heard.0.extend(pings.read().next().map(|ping| ping.0));
        assert_eq!(pings.len(), count.saturating_sub(1));
    }
    let mut world = world();
    let mut schedule = Schedule::builder().add(one_at_a_time).build(&mut world).unwrap();
    let events = world.resource_mut::<Events<Ping>>().unwrap();
    events.set_lifetime(10);
    (0..3).for_each(|number| events.send(Ping(number)));
    for _ in 0..5 {
        schedule.run(&mut world, &pool(0));
    }
    assert_eq!(heard(&mut world), [0, 1, 2]);
}

#[test]
fn events_of_parallel_loops_come_in_the_order_of_rows() {
    fn odd(mut all: Query<&Number>, mut pings: EventWriter<Ping>) {
        pings.send(Ping(1_000_000));
        all.par_for_each_with(&mut pings, |number, pings| {
            if number.0 % 2 == 1 {
                pings.send(Ping(number.0));
            }
            if number.0 % 256 == 0 && !cfg!(miri) {
                std::thread::sleep(Duration::from_micros(20));
            }
        });
        pings.send(Ping(2_000_000));
    }
    let count = if cfg!(miri) { 40 } else { 20_000 };
    for pool in pools() {
        let mut world = world();
        world.spawn_batch((0..count).map(Number));
        let mut schedule = Schedule::builder().add((odd, hear)).build(&mut world).unwrap();
        for _ in 0..3 {
            schedule.run(&mut world, &pool);
            let odd = (0..count).filter(|number| number % 2 == 1);
            let expected = std::iter::once(1_000_000).chain(odd).chain([2_000_000]);
            assert!(heard(&mut world).into_iter().eq(expected), "{pool:?}");
        }
    }
}

#[test]
fn a_loop_can_write_commands_and_events() {
    #[derive(Component)]
    struct Grave;
    fn bury(
        mut all: Query<(Entity, &Number)>,
        mut commands: Commands,
        mut pings: EventWriter<Ping>,
    ) {
        all.par_for_each_with(
            (&mut commands, &mut pings),
            |(entity, number), (commands, pings)| {
                if number.0 % 3 == 0 {
                    commands.despawn(entity);
                    commands.spawn(Grave);
                    pings.send(Ping(number.0));
                }
            },
        );
    }
    for pool in pools() {
        let mut world = world();
        world.spawn_batch((0..300).map(Number));
        let mut schedule = Schedule::builder().add((bury, hear)).build(&mut world).unwrap();
        schedule.run(&mut world, &pool);
        assert!(heard(&mut world).into_iter().eq((0..300).step_by(3)));
        assert_eq!(world.query_filtered::<(), With<Grave>>().count(), 100);
        assert_eq!(world.query::<&Number>().count(), 200);
    }
}

#[test]
fn a_system_that_panics_has_written_nothing() {
    struct Counted(Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let dropped = Arc::new(AtomicUsize::new(0));
    let counter = dropped.clone();
    let fail =
        move |mut all: Query<&Number>, mut events: EventWriter<Counted>, mut runs: Local<u32>| {
            *runs += 1;
            events.send(Counted(counter.clone()));
            let bad = if *runs == 1 { 70 } else { u64::MAX };
            all.par_for_each_with(&mut events, |number, events| {
                if number.0 == bad {
                    resume_unwind(Box::new(()));
                }
                events.send(Counted(counter.clone()));
            });
        };
    let mut world = World::new();
    world.spawn_batch((0..100).map(Number));
    let mut schedule = Schedule::builder().add(fail).build(&mut world).unwrap();
    let pool = pool(1);
    assert!(catch_unwind(AssertUnwindSafe(|| schedule.run(&mut world, &pool))).is_err());
    assert_eq!(world.resource::<Events<Counted>>().unwrap().len(), 0);
    schedule.run(&mut world, &pool);
    assert_eq!(world.resource::<Events<Counted>>().unwrap().len(), 101);
    let of_the_panic = dropped.load(Ordering::Relaxed);
    drop((schedule, world));
    assert_eq!(dropped.load(Ordering::Relaxed), of_the_panic + 101);
}

#[test]
fn events_age_in_a_run_that_panics_and_come_in_order_in_a_world_that_is_restored_after_it() {
    struct IsBad(bool);
    fn fail(is_bad: Res<IsBad>) {
        if is_bad.0 {
            resume_unwind(Box::new(()));
        }
    }
    let mut sent = 0;
    let say = move |mut pings: EventWriter<Ping>| {
        pings.send(Ping(sent));
        sent += 1;
    };
    let (mut world, pool) = (world(), pool(0));
    world.insert_resource(IsBad(false));
    let builder = Schedule::builder().add((hear, say, fail).chain());
    let mut schedule = builder.build(&mut world).unwrap();
    let beginning = world.snapshot().unwrap();
    schedule.run(&mut world, &pool);
    world.insert_resource(IsBad(true));
    for _ in 0..10 {
        let run = AssertUnwindSafe(|| schedule.run(&mut world, &pool));
        catch_unwind(run).expect_err("it fails");
    }
    assert!(world.resource::<Events<Ping>>().unwrap().len() <= 2);
    world.insert_resource(IsBad(false));
    world.restore(&beginning).unwrap();
    (0..3).for_each(|_| drop(schedule.run(&mut world, &pool)));
    assert_eq!(heard(&mut world), (0..13).collect::<Vec<u64>>());
}

#[test]
fn one_system_cannot_write_events_while_it_holds_them() {
    fn echo(_events: ResMut<Events<Ping>>, _writer: EventWriter<Ping>) {}
    let result = Schedule::builder().add(echo).build(&mut World::new());
    let Err(ScheduleError::Contradiction { wanted, .. }) = result else { panic!("{result:?}") };
    assert!(wanted[0].contains("Ping"), "{wanted:?}");
}

#[test]
fn events_of_the_host_grow_older_with_the_schedules_that_read_them() {
    let mut world = world();
    let mut schedule = Schedule::builder().add(hear).build(&mut world).unwrap();
    let mut cursor = EventCursor::default();
    for number in 0..5 {
        let events = world.resource_mut::<Events<Ping>>().unwrap();
        events.send(Ping(number));
        assert!(cursor.read(events).eq(&[Ping(number)]));
        schedule.run(&mut world, &pool(0));
        assert_eq!(heard(&mut world), [number]);
        assert!(world.resource::<Events<Ping>>().unwrap().len() <= 2);
    }
}

// Random writers and readers, against a list of everything that was said.

/// Where in a random schedule a system writes events, or reads them.
#[derive(Clone, Copy, Debug)]
enum Part {
    Writer { every: u32 },
    Reader { every: u32 },
}

struct Ears(Vec<std::sync::Mutex<Vec<u64>>>);

fn build(parts: &[Part]) -> ScheduleBuilder {
    parts.iter().enumerate().fold(Schedule::builder(), |builder, (place, &part)| match part {
        Part::Writer { every } => {
            let system = move |mut pings: EventWriter<Ping>, mut runs: Local<u64>| {
                *runs += 1;
                for number in 0..(*runs * 7 + place as u64) % 5 {
                    pings.send(Ping(place as u64 * 1_000_000 + *runs * 1_000 + number));
                }
                if !cfg!(miri) && (*runs + place as u64) % 3 == 0 {
                    std::thread::sleep(Duration::from_micros(30));
                }
            };
            builder.add(system.every(every))
        }
        Part::Reader { every } => {
            let system = move |mut pings: EventReader<Ping>, ears: Res<Ears>| {
                ears.0[place].lock().unwrap().extend(pings.read().map(|ping| ping.0));
            };
            builder.add(system.every(every))
        }
    })
}

#[test]
fn random_readers_hear_everything_once_and_in_order() {
    let pools: Vec<_> = if cfg!(miri) { vec![pool(1)] } else { [0, 1, 3].map(pool).into() };
    for seed in 0..if cfg!(miri) { 2 } else { 40 } {
        let mut random = RandomStream::new(seed);
        let count = 2 + random.below(8);
        let parts: Vec<_> = (0..count)
            .map(|_| {
                let every = u32::try_from(1 + random.below(3)).unwrap();
                if random.below(2) == 0 { Part::Writer { every } } else { Part::Reader { every } }
            })
            .collect();
        let mut all: Vec<Vec<Vec<u64>>> = Vec::new();
        for pool in &pools {
            let mut world = World::new();
            world
                .insert_resource(Ears(parts.iter().map(|_| std::sync::Mutex::default()).collect()));
            let mut schedule = build(&parts).build(&mut world).unwrap();
            if let Ok(events) = world.resource_mut::<Events<Ping>>() {
                // No reader comes more seldom than every third run.
                events.set_lifetime(4);
            }
            for _ in 0..30 {
                schedule.run(&mut world, pool);
            }
            let ears = world.remove_resource::<Ears>().unwrap();
            all.push(ears.0.into_iter().map(|ear| ear.into_inner().unwrap()).collect());
        }
        // What was said, in the order of runs and then of places.
        let mut said = Vec::new();
        for tick in 0..30_u64 {
            for (place, part) in parts.iter().enumerate() {
                let Part::Writer { every } = *part else { continue };
                if tick % u64::from(every) == 0 {
                    let (runs, place) = (tick / u64::from(every) + 1, place as u64);
                    let numbers = 0..(runs * 7 + place) % 5;
                    said.extend(
                        numbers
                            .map(|number| (tick, place, place * 1_000_000 + runs * 1_000 + number)),
                    );
                }
            }
        }
        for (place, part) in parts.iter().enumerate() {
            let Part::Reader { every } = *part else { continue };
            let last = 29 / u64::from(every) * u64::from(every);
            let before =
                |&&(tick, writer, _): &&(u64, u64, u64)| (tick, writer) < (last, place as u64);
            let expected: Vec<_> = said.iter().filter(before).map(|&(.., number)| number).collect();
            for (heard, pool) in all.iter().zip(&pools) {
                assert_eq!(
                    heard[place], expected,
                    "seed {seed}, {pool:?}, {parts:?}, place {place}"
                );
            }
        }
    }
}

#[test]
fn a_system_that_answers_events_with_events_of_the_same_type_reads_its_own_in_the_next_run() {
    let echo = |mut read: EventReader<Ping>, mut write: EventWriter<Ping>| {
        read.read().for_each(|ping| write.send(Ping(ping.0 + 1)));
    };
    for pool in pools() {
        let mut world = world();
        let mut schedule = Schedule::builder().add(echo).add(hear).build(&mut world).unwrap();
        world.resource_mut::<Events<Ping>>().unwrap().send(Ping(0));
        schedule.run(&mut world, &pool);
        assert_eq!(heard(&mut world), [0, 1]);
        for answer in 2..9 {
            schedule.run(&mut world, &pool);
            assert_eq!(heard(&mut world), [answer]);
        }
    }
}

#[test]
fn what_is_gathered_lies_in_the_order_of_the_rows_and_is_gone_in_the_next_run() {
    let gather = |mut all: Query<&Number>, mut found: Gather<u64>, mut heard: ResMut<Heard>| {
        found.push(1_000_000);
        all.par_for_each_with(&mut found, |number, found| {
            if number.0 % 3 != 0 {
                found.push(number.0);
                found.push(number.0 + 1);
            }
        });
        found.push(2_000_000);
        // What is not taken out does not come back either.
        heard.0 = found.drain().collect();
        found.push(3_000_000);
    };
    let numbers = (0..20_000).filter(|number| number % 3 != 0);
    let mut expected = vec![1_000_000];
    expected.extend(numbers.flat_map(|number| [number, number + 1]));
    expected.push(2_000_000);
    for pool in pools() {
        let mut world = world();
        world.spawn_batch((0..20_000).map(Number));
        let mut schedule = Schedule::builder().add(gather).build(&mut world).unwrap();
        for _ in 0..3 {
            schedule.run(&mut world, &pool);
            assert_eq!(heard(&mut world), expected);
        }
    }
}

#[test]
fn what_was_gathered_before_a_panic_is_forgotten() {
    let gather = |mut all: Query<&Number>, mut found: Gather<u64>, mut runs: Local<u32>| {
        *runs += 1;
        let panics = *runs == 1;
        all.par_for_each_with(&mut found, |number, found| {
            found.push(number.0);
            assert!(!panics || number.0 < 50, "on purpose");
        });
        assert_eq!(found.drain().len(), 100);
    };
    let mut world = world();
    world.spawn_batch((0..100).map(Number));
    let mut schedule = Schedule::builder().add(gather).build(&mut world).unwrap();
    let pool = pool(2);
    let first = catch_unwind(AssertUnwindSafe(|| schedule.run(&mut world, &pool)));
    assert!(first.is_err());
    schedule.run(&mut world, &pool);
}

#[test]
fn what_a_loop_gathered_before_its_panic_was_caught_comes_before_what_follows() {
    let gather = |mut all: Query<&Number>, mut found: Gather<u64>, mut heard: ResMut<Heard>| {
        let fail = catch_unwind(AssertUnwindSafe(|| {
            all.par_for_each_with(&mut found, |number, found| {
                found.push(number.0);
                assert!(number.0 < 2, "on purpose");
            });
        }));
        assert!(fail.is_err());
        found.push(100);
        all.par_for_each_with(&mut found, |number, found| found.push(number.0));
        heard.0 = found.drain().collect();
    };
    let mut world = world();
    world.spawn_batch((0..5).map(Number));
    let mut schedule = Schedule::builder().add(gather).build(&mut world).unwrap();
    for pool in pools() {
        schedule.run(&mut world, &pool);
        assert_eq!(heard(&mut world), [0, 1, 2, 100, 0, 1, 2, 3, 4]);
    }
}

#[test]
fn an_iterator_may_lie_about_how_many_events_it_gives() {
    struct Lying(u64);
    impl Iterator for Lying {
        type Item = Ping;
        fn next(&mut self) -> Option<Ping> {
            self.0 = self.0.checked_sub(1)?;
            Some(Ping(self.0))
        }
        fn size_hint(&self) -> (usize, Option<usize>) {
            (usize::MAX >> 18, None)
        }
    }
    let mut world = World::new();
    let mut schedule = Schedule::builder()
        .add(|mut pings: EventWriter<Ping>| pings.send_batch(Lying(3)))
        .build(&mut world)
        .unwrap();
    schedule.run(&mut world, &Pool::new(Threads::None).unwrap());
    let pings = world.resource::<Events<Ping>>().unwrap();
    assert!(pings.iter().map(|ping| ping.0).eq([2, 1, 0]));
}
