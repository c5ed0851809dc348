//! Panics in systems and at the sync point: the run ends, everything else goes on.
#![expect(elided_lifetimes_in_paths, reason = "the arguments of systems read better without <'_>")]

use crate::support::{pool, pools, wait_until, within};
use formic_ecs::prelude::*;
use formic_jobs::RunReport;
use formic_jobs::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

#[derive(Debug, PartialEq)]
struct Reason(usize);

/// Whether a system is to panic in the next run.
struct Fuse(AtomicBool);

impl Fuse {
    /// Panics without the hook, which would print a page for each.
    fn blow(&self, reason: usize) {
        if self.0.load(Ordering::SeqCst) {
            resume_unwind(Box::new(Reason(reason)));
        }
    }
}

#[derive(Default)]
struct Runs(AtomicUsize);

/// Counts how many of its kind were dropped.
#[derive(Component)]
#[component(unhashed)]
struct Payload(Arc<AtomicUsize>);
struct Dropped(Arc<AtomicUsize>);
#[derive(Component)]
struct Number(u64);

fn world() -> World {
    let mut world = World::new();
    world.insert_resource(Fuse(AtomicBool::new(true)));
    world.insert_resource(Runs::default());
    world.insert_resource(Dropped(Arc::default()));
    world.spawn_batch((0..100).map(Number));
    world
}

impl Drop for Payload {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn runs(world: &World) -> usize {
    world.resource::<Runs>().unwrap().0.load(Ordering::SeqCst)
}

fn count(runs: Res<Runs>) {
    runs.0.fetch_add(1, Ordering::SeqCst);
}

fn blow(fuse: Res<Fuse>) {
    fuse.blow(1);
}

fn reason_of(schedule: &mut Schedule, world: &mut World, pool: &Pool) -> Reason {
    let run = || schedule.run(world, pool);
    let payload = catch_unwind(AssertUnwindSafe(run)).expect_err("the run is to panic");
    *payload.downcast().expect("the payload is the system's own")
}

fn mend(world: &World) {
    world.resource::<Fuse>().unwrap().0.store(false, Ordering::SeqCst);
}

#[test]
fn the_panic_of_a_system_is_resumed_with_its_payload() {
    for pool in pools() {
        let mut world = world();
        let mut schedule = Schedule::builder().add(blow).build(&mut world).unwrap();
        assert_eq!(reason_of(&mut schedule, &mut world, &pool), Reason(1));
    }
}

#[test]
fn systems_that_wait_for_one_that_panics_are_not_started() {
    for pool in pools() {
        let mut world = world();
        let builder = Schedule::builder().add(blow).add(count.after(blow)).add(count.after(blow));
        let mut schedule = builder.build(&mut world).unwrap();
        reason_of(&mut schedule, &mut world, &pool);
        assert_eq!(runs(&world), 0);
    }
}

#[test]
fn a_row_of_systems_on_another_thread_is_cut_short() {
    const ROW: usize = 200;
    /// Panics once the other thread is at work.
    fn blow_beside(fuse: Res<Fuse>, runs: Res<Runs>) {
        wait_until(|| runs.0.load(Ordering::SeqCst) > 0);
        fuse.blow(2);
    }
    fn slow(mut numbers: Query<&mut Number>, runs: Res<Runs>) {
        numbers.for_each(|number| number.0 += 1);
        runs.0.fetch_add(1, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(5));
    }
    within(Duration::from_secs(30), || {
        let mut world = world();
        let mut builder = Schedule::builder().add(blow_beside);
        for _ in 0..ROW {
            builder = builder.add(slow);
        }
        let mut schedule = builder.build(&mut world).unwrap();
        assert_eq!(reason_of(&mut schedule, &mut world, &pool(1)), Reason(2));
        assert!(runs(&world) < ROW, "the systems after the panic ran as well");
    });
}

#[test]
fn a_panic_waits_for_the_systems_that_run() {
    fn blow_beside(fuse: Res<Fuse>, runs: Res<Runs>) {
        wait_until(|| runs.0.load(Ordering::SeqCst) == 1);
        fuse.blow(3);
    }
    fn linger(runs: Res<Runs>) {
        runs.0.fetch_add(1, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(20));
        runs.0.fetch_add(1, Ordering::SeqCst);
    }
    within(Duration::from_secs(30), || {
        let mut world = world();
        let builder = Schedule::builder().add(blow_beside).add(linger);
        let mut schedule = builder.build(&mut world).unwrap();
        assert_eq!(reason_of(&mut schedule, &mut world, &pool(1)), Reason(3));
        assert_eq!(runs(&world), 2);
    });
}

#[test]
fn the_commands_of_a_run_that_panics_are_dropped_and_never_played() {
    fn record(mut numbers: Query<&Number>, mut commands: Commands, dropped: Res<Dropped>) {
        commands.spawn(Payload(dropped.0.clone()));
        numbers.par_for_each_with(&mut commands, |_, commands| {
            commands.spawn(Payload(dropped.0.clone()));
        });
    }
    for pool in pools() {
        let mut world = world();
        let dropped = world.resource::<Dropped>().unwrap().0.clone();
        let builder = Schedule::builder().add(record).add(blow.after_ignoring_commands(record));
        let mut schedule = builder.build(&mut world).unwrap();
        reason_of(&mut schedule, &mut world, &pool);
        assert_eq!((world.len(), dropped.load(Ordering::SeqCst)), (100, 101));
        mend(&world);
        schedule.run(&mut world, &pool);
        assert_eq!((world.len(), dropped.load(Ordering::SeqCst)), (201, 101));
        world.check().unwrap();
    }
}

#[test]
fn a_function_that_is_run_once_and_panics_changes_nothing_by_command_or_event() {
    fn record(
        mut numbers: Query<&Number>,
        mut commands: Commands,
        mut news: EventWriter<u64>,
        dropped: Res<Dropped>,
        fuse: Res<Fuse>,
    ) {
        commands.spawn(Payload(dropped.0.clone()));
        news.send(1);
        numbers.par_for_each_with(&mut commands, |_, commands| {
            commands.spawn(Payload(dropped.0.clone()));
        });
        fuse.blow(7);
    }
    for pool in pools() {
        let mut world = world();
        let dropped = world.resource::<Dropped>().unwrap().0.clone();
        let run = AssertUnwindSafe(|| world.run_system(&pool, record));
        let reason = catch_unwind(run).expect_err("it panics");
        assert_eq!(reason.downcast_ref(), Some(&Reason(7)));
        world.check().unwrap();
        let events = world.resource::<Events<u64>>().unwrap().len();
        assert_eq!((world.len(), dropped.load(Ordering::SeqCst), events), (100, 101, 0));
        mend(&world);
        world.run_system(&pool, record);
        let events = world.resource::<Events<u64>>().unwrap().len();
        assert_eq!((world.len(), dropped.load(Ordering::SeqCst), events), (201, 101, 1));
    }
}

#[test]
fn pool_and_schedule_and_world_are_of_use_after_a_panic() {
    fn blow_in_a_loop(mut numbers: Query<&mut Number>, fuse: Res<Fuse>) {
        numbers.par_for_each(|number| {
            if number.0 == 50 {
                fuse.blow(5);
            }
        });
    }
    fn rewrite(mut numbers: Query<&mut Number>, _runs: ResMut<Runs>) {
        numbers.par_for_each(|number| number.0 += 1);
    }
    for pool in pools() {
        let mut world = world();
        let builder = Schedule::builder().add(blow_in_a_loop).add(rewrite).add(count);
        let mut schedule = builder.build(&mut world).unwrap();
        for _ in 0..3 {
            assert_eq!(reason_of(&mut schedule, &mut world, &pool), Reason(5));
        }
        mend(&world);
        for _ in 0..3 {
            schedule.run(&mut world, &pool);
        }
        assert_eq!(runs(&world), 3);
        assert_eq!(world.query_ref::<&Number>().map(|number| number.0).sum::<u64>(), 4950 + 300);
    }
}

#[test]
fn a_panic_at_the_sync_point_leaves_no_commands_for_the_next_run() {
    #[derive(Component)]
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                resume_unwind(Box::new(Reason(6)));
            }
        }
    }
    fn defuse(mut bombs: Query<Entity, With<Bomb>>, mut commands: Commands) {
        bombs.for_each(|bomb| commands.despawn(bomb));
    }
    fn record(mut numbers: Query<&Number>, mut commands: Commands, dropped: Res<Dropped>) {
        numbers.par_for_each_with(&mut commands, |_, commands| {
            commands.spawn(Payload(dropped.0.clone()));
        });
    }
    for pool in pools() {
        let mut world = world();
        let dropped = world.resource::<Dropped>().unwrap().0.clone();
        world.spawn(Bomb);
        let builder = Schedule::builder().add(record).add(defuse).add(record);
        let mut schedule = builder.build(&mut world).unwrap();
        assert_eq!(reason_of(&mut schedule, &mut world, &pool), Reason(6));
        assert_eq!((world.len(), dropped.load(Ordering::SeqCst)), (200, 100));
        schedule.run(&mut world, &pool);
        assert_eq!((world.len(), dropped.load(Ordering::SeqCst)), (400, 100));
        world.check().unwrap();
    }
}

#[test]
fn a_panic_in_a_condition_ends_the_run_and_is_explained() {
    fn blow_up(fuse: Res<Fuse>) -> bool {
        fuse.blow(7);
        true
    }
    const GROUP: Group = Group::named("group");
    for pool in pools() {
        for in_group in [false, true] {
            let mut world = world();
            let builder = if in_group {
                let builder = Schedule::builder().add(GROUP.run_if(blow_up));
                builder.add(count.in_group(GROUP))
            } else {
                Schedule::builder().add(count.run_if(blow_up))
            };
            let mut schedule = builder.add(last.after(count)).build(&mut world).unwrap();
            assert_eq!(reason_of(&mut schedule, &mut world, &pool), Reason(7));
            assert_eq!(runs(&world), 0);
            let text = schedule.explain(last).to_string();
            assert!(text.contains("its turn did not come, because "), "{text}");
            let text = schedule.explain(count).to_string();
            let expected =
                if in_group { "its turn did not come" } else { "count panicked in tick 0" };
            assert!(text.contains(expected), "{text}");
            mend(&world);
            schedule.run(&mut world, &pool);
            assert_eq!(runs(&world), 1);
            assert!(schedule.explain(last).to_string().ends_with("last ran in tick 1"));
        }
    }
}

fn last() {}

#[test]
fn a_panic_of_an_exclusive_system_leaves_what_was_played_and_drops_the_rest() {
    fn record(mut commands: Commands, dropped: Res<Dropped>) {
        commands.spawn(Payload(dropped.0.clone()));
    }
    fn blow_up(world: &mut World) {
        world.resource::<Fuse>().unwrap().blow(8);
    }
    for pool in pools() {
        let mut world = world();
        let dropped = world.resource::<Dropped>().unwrap().0.clone();
        let builder = Schedule::builder().add(record).add(blow_up).add(record);
        let mut schedule = builder.build(&mut world).unwrap();
        assert_eq!(reason_of(&mut schedule, &mut world, &pool), Reason(8));
        assert_eq!((world.len(), dropped.load(Ordering::SeqCst)), (101, 0));
        mend(&world);
        schedule.run(&mut world, &pool);
        assert_eq!((world.len(), dropped.load(Ordering::SeqCst)), (103, 0));
    }
}

#[test]
fn a_panic_in_a_nested_run_goes_through_both() {
    struct Inner(Schedule);
    fn nest(world: &mut World, pool: &Pool) {
        let mut inner = world.remove_resource::<Inner>().unwrap();
        let ended = catch_unwind(AssertUnwindSafe(|| inner.0.run(world, pool)));
        world.insert_resource(inner);
        if let Err(payload) = ended {
            resume_unwind(payload);
        }
    }
    for pool in pools() {
        let mut world = world();
        let inner = Schedule::builder().add((count, blow).chain()).build(&mut world).unwrap();
        world.insert_resource(Inner(inner));
        let mut outer = Schedule::builder().add((nest, last)).build(&mut world).unwrap();
        assert_eq!(reason_of(&mut outer, &mut world, &pool), Reason(1));
        assert!(outer.explain(nest).to_string().ends_with("nest panicked in tick 0"));
        mend(&world);
        outer.run(&mut world, &pool);
        assert_eq!(runs(&world), 2);
    }
}

#[test]
fn a_panic_ends_the_run_that_is_stepped_through() {
    fn record(mut commands: Commands, dropped: Res<Dropped>) {
        commands.spawn(Payload(dropped.0.clone()));
    }
    fn count_more(runs: Res<Runs>) {
        count(runs);
    }
    let (mut world, pool) = (world(), pool(0));
    // Nothing is ordered after `record`, so its commands wait for the end.
    let builder = Schedule::builder().add(record).add((count, blow, count_more).chain());
    let mut schedule = builder.build(&mut world).unwrap();
    schedule.step(&mut world, &pool);
    assert!(schedule.explain(blow).to_string().ends_with("in tick 0: its turn is still to come"));
    schedule.step(&mut world, &pool);
    let step = || schedule.step(&mut world, &pool);
    catch_unwind(AssertUnwindSafe(step)).expect_err("the third step is to panic");
    assert!(!schedule.is_stepping());
    let dropped = world.resource::<Dropped>().unwrap().0.load(Ordering::SeqCst);
    assert_eq!(dropped, 1, "what was recorded is dropped");
    assert!(schedule.explain(blow).to_string().ends_with("panicked in tick 0"));
    mend(&world);
    schedule.run(&mut world, &pool);
    assert_eq!(runs(&world), 1 + 2, "the next run is a whole one");
}

/// Panics when it is dropped.
#[derive(Component)]
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        resume_unwind(Box::new(Reason(2)));
    }
}

#[test]
fn what_was_recorded_may_panic_as_it_is_thrown_away() {
    fn record(mut commands: Commands) {
        commands.spawn((Bomb,));
        commands.spawn((Number(0),));
    }
    let pool = Pool::new(Threads::None).unwrap();
    let mut world = world();
    let mut schedule = Schedule::builder()
        .add((record, blow).chain_ignoring_commands())
        .build(&mut world)
        .unwrap();
    for _ in 0..2 {
        assert_eq!(
            reason_of(&mut schedule, &mut world, &pool),
            Reason(1),
            "the first panic goes on"
        );
    }
    assert_eq!(world.len(), 100);
    world.check().unwrap();
}

#[test]
fn a_schedule_that_skips_panics_runs_all_other_systems_and_names_those_that_panicked() {
    fn spawn_and_blow(fuse: Res<Fuse>, dropped: Res<Dropped>, mut commands: Commands) {
        commands.spawn(Payload(Arc::clone(&dropped.0)));
        assert!(!fuse.0.load(Ordering::SeqCst), "the {} is lit", "fuse");
    }
    fn blow_alone(_world: &mut World) {
        panic!("alone")
    }
    fn is_dark() -> bool {
        panic!("dark")
    }
    const NIGHT: Group = Group::named("night");
    for pool in pools() {
        let mut world = world();
        let builder = Schedule::builder()
            .add((spawn_and_blow, count, blow_alone).chain())
            .add(count.in_group(NIGHT))
            .add(NIGHT.run_if(is_dark).after(blow_alone))
            .skip_panics();
        let mut schedule = builder.build(&mut world).unwrap();
        let entities = world.len();
        let messages = |report: RunReport| {
            let panics = report.panics.into_iter();
            panics.map(|panic| panic.message).collect::<Vec<_>>()
        };
        assert_eq!(messages(schedule.run(&mut world, &pool)), ["the fuse is lit", "alone", "dark"]);
        assert_eq!(runs(&world), 1, "the group is off");
        assert_eq!(world.len(), entities, "what was recorded is not played");
        assert_eq!(world.resource::<Dropped>().unwrap().0.load(Ordering::SeqCst), 1);
        let text = schedule.explain(spawn_and_blow).to_string();
        assert!(text.ends_with("panicked in tick 0"), "{text}");
        let text = schedule.explain(NIGHT).to_string();
        assert!(
            text.ends_with("because the condition is_dark of the group night panicked"),
            "{text}"
        );
        mend(&world);
        let report = loop {
            if let Some(report) = schedule.step(&mut world, &pool).ended {
                break report;
            }
        };
        assert_eq!(messages(report), ["alone", "dark"], "step by step as well");
        assert_eq!(world.len(), entities + 1);
    }
}

#[test]
fn a_panic_that_was_skipped_is_not_reported_by_the_run_after_one_that_playback_ended() {
    fn blow_once(fuse: Res<Fuse>) {
        assert!(!fuse.0.load(Ordering::SeqCst), "lit");
    }
    fn blow_in_playback(fuse: Res<Fuse>, mut commands: Commands) {
        if fuse.0.load(Ordering::SeqCst) {
            commands.run(|_| resume_unwind(Box::new(Reason(3))));
        }
    }
    for pool in pools() {
        let mut world = world();
        let builder = Schedule::builder().add((blow_once, blow_in_playback)).skip_panics();
        let mut schedule = builder.build(&mut world).unwrap();
        assert_eq!(reason_of(&mut schedule, &mut world, &pool), Reason(3));
        mend(&world);
        assert_eq!(schedule.run(&mut world, &pool).panics, []);
    }
}
