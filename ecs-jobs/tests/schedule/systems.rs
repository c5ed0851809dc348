//! The order of systems: what was declared, what follows from conflicts, and what runs together.
#![expect(elided_lifetimes_in_paths, reason = "the arguments of systems read better without <'_>")]

use crate::support::{pool, pools, wait_until, within};
use formic_ecs::prelude::*;
use formic_jobs::SystemConfig;
use formic_jobs::prelude::*;
use formic_jobs::{Ambiguity, RunContext, ScheduleBuilder, ScheduleError, System, SystemAccess};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const REPEATS: usize = if cfg!(miri) { 2 } else { 50 };

#[derive(Component, Debug, PartialEq)]
struct Left(u64);
#[derive(Component, Debug, PartialEq)]
struct Right(u64);
#[derive(Component)]
#[component(enableable)]
struct Lamp;
struct Total(u64);

/// Who ran, in order. Notes are taken through a lock, so that they make no conflict.
#[derive(Default)]
struct Trace(Mutex<Vec<&'static str>>);

impl Trace {
    fn note(&self, who: &'static str) {
        self.0.lock().unwrap().push(who);
    }

    fn take(&self) -> Vec<&'static str> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

fn pairs(lefts: Query<&Left>, mut total: ResMut<Total>) {
    // A query that only reads is walked by `&`, also within a walk of its own.
    for left in &lefts {
        total.0 += lefts.iter().filter(|other| other.0 > left.0).count() as u64;
    }
}

#[test]
fn a_query_that_only_reads_is_walked_while_it_is_walked() {
    let mut world = World::new();
    world.insert_resource(Total(0));
    world.spawn_batch((0..10).map(Left));
    let mut schedule = Schedule::builder().add(pairs).build(&mut world).unwrap();
    schedule.run(&mut world, &pool(0));
    assert_eq!(world.resource::<Total>().unwrap().0, 45);
}

fn a(trace: Res<Trace>) {
    trace.note("a");
}

fn b(trace: Res<Trace>) {
    trace.note("b");
}

fn c(trace: Res<Trace>) {
    trace.note("c");
}

fn write_left(_left: Query<&mut Left>, trace: Res<Trace>) {
    trace.note("write_left");
}

fn read_left(_left: Query<&Left>, trace: Res<Trace>) {
    trace.note("read_left");
}

fn read_left_too(_left: ComponentLookup<&Left>) {}

fn write_right(_right: Query<&mut Right>) {}

fn write_both(_both: Query<(&mut Left, &mut Right)>, trace: Res<Trace>) {
    trace.note("write_both");
}

fn set_total(mut total: ResMut<Total>, trace: Res<Trace>) {
    total.0 += 1;
    trace.note("set_total");
}

fn get_total(total: Res<Total>, again: Res<Total>, trace: Res<Trace>) {
    assert_eq!(total.0, again.0);
    trace.note("get_total");
}

fn switch_lamps(_lamps: EnabledLookup<Lamp>, trace: Res<Trace>) {
    trace.note("switch_lamps");
}

fn see_lamps(_lit: Query<Entity, With<Lamp>>, trace: Res<Trace>) {
    trace.note("see_lamps");
}

fn world() -> World {
    let mut world = World::new();
    world.insert_resource(Trace::default());
    world.insert_resource(Total(0));
    world.spawn((Left(1), Right(2), Lamp));
    world
}

/// Runs a schedule many times on many pools, and expects these notes each time.
fn check(builder: impl Fn() -> ScheduleBuilder, expected: &[&str]) {
    for pool in pools() {
        let mut world = world();
        let mut schedule = builder().build(&mut world).unwrap();
        for _ in 0..REPEATS {
            schedule.run(&mut world, &pool);
            assert_eq!(world.resource::<Trace>().unwrap().take(), expected);
        }
    }
}

fn error_of(builder: ScheduleBuilder) -> ScheduleError {
    builder.build(&mut world()).expect_err("the schedule is wrong")
}

fn ambiguities(builder: ScheduleBuilder) -> Vec<(String, String, Vec<String>)> {
    let schedule = builder.build(&mut world()).unwrap();
    let list = schedule.ambiguities().iter().cloned();
    list.map(|Ambiguity { first, second, about, .. }| (first, second, about)).collect()
}

#[test]
fn declared_order_holds_against_the_order_of_adding() {
    check(|| Schedule::builder().add(a.after(b)).add(b.after(c)).add(c), &["c", "b", "a"]);
    check(|| Schedule::builder().add(c).add(b.before(c)).add(a.before(b)), &["a", "b", "c"]);
}

#[test]
fn one_system_may_have_several_orders() {
    check(
        || Schedule::builder().add(b).add(a.before(b).before(c)).add(c.after(b)),
        &["a", "b", "c"],
    );
}

#[test]
fn an_order_is_relative_to_all_systems_of_the_type() {
    check(|| Schedule::builder().add(b.after(a)).add(a).add(a), &["a", "a", "b"]);
}

#[test]
fn declared_order_holds_against_conflicts() {
    check(
        || Schedule::builder().add(read_left.after(write_left)).add(write_left),
        &["write_left", "read_left"],
    );
}

#[test]
fn systems_in_conflict_run_in_the_order_of_adding() {
    check(
        || Schedule::builder().add(write_left).add(read_left).add(write_both),
        &["write_left", "read_left", "write_both"],
    );
    check(|| Schedule::builder().add(get_total).add(set_total), &["get_total", "set_total"]);
    check(|| Schedule::builder().add(set_total).add(get_total), &["set_total", "get_total"]);
}

#[test]
fn who_switches_and_who_filters_run_in_the_order_of_adding() {
    let both = ["switch_lamps", "see_lamps"];
    check(|| Schedule::builder().add(switch_lamps).add(see_lamps), &both);
    check(|| Schedule::builder().add(see_lamps).add(switch_lamps), &["see_lamps", "switch_lamps"]);
}

#[test]
fn an_empty_schedule_runs() {
    let mut world = world();
    let mut schedule = Schedule::builder().build(&mut world).unwrap();
    for pool in pools() {
        assert!(schedule.run(&mut world, &pool).failures.is_empty());
    }
}

/// Where systems wait for each other to have started.
#[derive(Default)]
struct Meeting(AtomicUsize);

impl Meeting {
    fn of(&self, count: usize) {
        self.0.fetch_add(1, Ordering::SeqCst);
        wait_until(|| self.0.load(Ordering::SeqCst) >= count);
    }
}

#[test]
fn systems_that_share_nothing_run_at_the_same_time() {
    fn one(_left: Query<&mut Left>, meeting: Res<Meeting>) {
        meeting.of(2);
    }
    fn other(_right: Query<&mut Right>, meeting: Res<Meeting>) {
        meeting.of(2);
    }
    within(Duration::from_secs(30), || {
        for workers in 1..=3 {
            let mut world = world();
            world.insert_resource(Meeting::default());
            let mut schedule = Schedule::builder().add(one).add(other).build(&mut world).unwrap();
            schedule.run(&mut world, &pool(workers));
        }
    });
}

#[test]
fn systems_that_read_the_same_run_at_the_same_time() {
    fn reader(_query: Query<&Left>, _lookup: ComponentLookup<&Left>, meeting: Res<Meeting>) {
        meeting.of(3);
    }
    within(Duration::from_secs(30), || {
        let mut world = world();
        world.insert_resource(Meeting::default());
        let three = Schedule::builder().add(reader).add(reader).add(reader);
        three.build(&mut world).unwrap().run(&mut world, &pool(2));
    });
}

#[test]
fn systems_that_waited_for_the_same_one_run_at_the_same_time() {
    fn first() {}
    fn second(meeting: Res<Meeting>) {
        meeting.of(2);
    }
    within(Duration::from_secs(30), || {
        let mut world = world();
        world.insert_resource(Meeting::default());
        let fork = Schedule::builder().add(first).add(second.after(first)).add(second.after(first));
        fork.build(&mut world).unwrap().run(&mut world, &pool(1));
    });
}

#[test]
fn a_cycle_is_reported_by_names() {
    let error = error_of(Schedule::builder().add(a.after(b)).add(b.after(c)).add(c.after(a)));
    let ScheduleError::Cycle { systems } = &error else { panic!("{error}") };
    assert_eq!(systems.len(), 4);
    assert_eq!(systems.first(), systems.last());
    // c before b, b before a, a before c; it does not matter where one begins.
    for pair in systems.windows(2) {
        let pair = (pair[0].as_str(), pair[1].as_str());
        let declared = [
            ("systems::c", "systems::b"),
            ("systems::b", "systems::a"),
            ("systems::a", "systems::c"),
        ];
        assert!(declared.contains(&pair), "{pair:?}");
    }
    assert!(error.to_string().contains("systems::c before systems::b"), "{error}");
}

#[test]
fn a_system_before_itself_is_a_cycle() {
    let systems = vec!["systems::a".to_owned(); 2];
    assert_eq!(error_of(Schedule::builder().add(a.before(a))), ScheduleError::Cycle { systems });
}

#[test]
fn systems_beside_a_cycle_are_not_named() {
    let error = error_of(
        Schedule::builder()
            .add(c.before(a))
            .add(a.before(b))
            .add(b.before(a))
            .add(write_left.after(b)),
    );
    let ScheduleError::Cycle { systems } = error else { panic!("{error}") };
    assert!(
        systems.iter().all(|name| ["systems::a", "systems::b"].contains(&&**name)),
        "{systems:?}"
    );
}

#[test]
fn an_order_by_a_system_that_was_not_added_is_reported() {
    let unknown = |builder| match error_of(builder) {
        ScheduleError::UnknownSystem { system, other } => (system, other),
        error => panic!("{error}"),
    };
    let expected = ("systems::a".to_owned(), "systems::c".to_owned());
    assert_eq!(unknown(Schedule::builder().add(a.after(c)).add(b)), expected);
    assert_eq!(unknown(Schedule::builder().add(a.before(c)).add(b)), expected);
}

#[test]
fn a_system_that_contradicts_itself_is_reported_with_what_it_wants_twice() {
    fn two_queries(_one: Query<&mut Left>, _other: Query<&Left>) {}
    fn query_and_lookup(_one: Query<&Left>, _other: ComponentLookup<&mut Left>) {}
    fn read_and_write(_one: Res<Total>, _other: ResMut<Total>) {}
    fn write_twice(_one: ResMut<Total>, _other: ResMut<Total>) {}
    fn one_query(_one: Query<(&mut Left, &Right, &Left)>) {}
    fn one_lookup(_one: ComponentLookup<(&mut Left, &mut Left)>) {}
    fn one_claim(_one: ExclusiveLookup<(&Left, &mut Left)>) {}
    let check = |builder, system: &str, wanted: &str| {
        let expected =
            ScheduleError::Contradiction { system: system.into(), wanted: vec![wanted.into()] };
        let error = error_of(builder);
        assert_eq!(error, expected);
        assert!(error.to_string().contains(system) && error.to_string().contains(wanted));
    };
    let test = "a_system_that_contradicts_itself_is_reported_with_what_it_wants_twice";
    let name = |function: &str| format!("{test}::{function}");
    check(Schedule::builder().add(two_queries), &name("two_queries"), "schedule::systems::Left");
    check(
        Schedule::builder().add(query_and_lookup),
        &name("query_and_lookup"),
        "schedule::systems::Left",
    );
    check(
        Schedule::builder().add(read_and_write),
        &name("read_and_write"),
        "schedule::systems::Total",
    );
    check(Schedule::builder().add(write_twice), &name("write_twice"), "schedule::systems::Total");
    let left = "schedule::systems::Left";
    check(Schedule::builder().add(one_query), &name("one_query"), left);
    check(Schedule::builder().add(one_lookup), &name("one_lookup"), left);
    check(Schedule::builder().add(one_claim), &name("one_claim"), left);
    let once = catch_unwind(AssertUnwindSafe(|| world().run_system(&pool(0), one_query)));
    let text = *once.expect_err("it is refused").downcast::<String>().unwrap();
    let error = format!(
        "one_query asks for {left} twice, once of them to write; filters that exclude each other do not help: \
         ask for it once"
    );
    assert!(text.ends_with(&error), "{text}");
}

#[test]
fn a_system_may_filter_by_what_it_switches() {
    fn douse(mut lit: Query<Entity, With<Lamp>>, lamps: EnabledLookup<Lamp>) {
        lit.for_each(|entity| {
            lamps.set(entity, false).unwrap();
        });
    }
    let mut world = world();
    Schedule::builder().add(douse).build(&mut world).unwrap().run(&mut world, &pool(0));
    assert_eq!(world.query_ref_filtered::<Entity, With<Lamp>>().count(), 0);
}

#[test]
fn ambiguities_are_listed_with_what_they_are_about() {
    let text =
        |names: &[&str]| names.iter().map(|name| format!("schedule::systems::{name}")).collect();
    let found = ambiguities(
        Schedule::builder().add(write_left).add(read_left_too).add(write_both).add(write_right),
    );
    let expected: Vec<(&str, &str, Vec<String>)> = vec![
        ("write_left", "read_left_too", text(&["Left"])),
        ("write_left", "write_both", text(&["Left"])),
        ("read_left_too", "write_both", text(&["Left"])),
        ("write_both", "write_right", text(&["Right"])),
    ];
    let full = |name: &str| format!("systems::{name}");
    let expected: Vec<_> =
        expected.into_iter().map(|(one, other, about)| (full(one), full(other), about)).collect();
    assert_eq!(found, expected);
    let found = ambiguities(Schedule::builder().add(get_total).add(set_total));
    assert_eq!(found, [(full("get_total"), full("set_total"), text(&["Total"]))]);
    let found = ambiguities(Schedule::builder().add(switch_lamps).add(see_lamps));
    assert_eq!(found, [(full("switch_lamps"), full("see_lamps"), text(&["Lamp"]))]);
}

#[test]
fn a_declared_order_is_not_ambiguous() {
    let by_way_of_a = Schedule::builder().add(write_left).add(a.after(write_left));
    assert!(ambiguities(by_way_of_a.add(read_left_too.after(a))).is_empty());
}

#[test]
fn an_order_that_follows_from_another_ambiguity_is_one_itself() {
    // `read_left` was added after `write_both` and runs before it, because it has to run before
    // `write_right`, which was added first: this was not declared.
    let builder =
        Schedule::builder().add(write_right).add(write_both).add(read_left.before(write_right));
    let found = ambiguities(builder);
    let pairs: Vec<_> =
        found.iter().map(|(first, second, _)| (first.as_str(), second.as_str())).collect();
    let expected = [
        ("systems::write_right", "systems::write_both"),
        ("systems::read_left", "systems::write_both"),
    ];
    assert_eq!(pairs, expected);
    check(
        || Schedule::builder().add(write_right).add(write_both).add(read_left.before(write_right)),
        &["read_left", "write_both"],
    );
}

#[test]
fn steps_that_others_make_up_for_are_left_out() {
    let mut world = world();
    let builder = Schedule::builder().add(a).add(b.after(a)).add(c.after(b).after(a).after(a));
    let schedule = builder.build(&mut world).unwrap();
    assert_eq!(schedule.steps().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
    assert_eq!(schedule.system_names(), ["systems::a", "systems::b", "systems::c"]);
}

#[test]
fn archetypes_that_appear_after_the_building_are_seen() {
    fn light_up(
        mut all: Query<(Claimant, &Left, &Total)>,
        rights: ComponentLookup<&Right>,
        lamps: EnabledLookup<Lamp>,
        totals: ExclusiveLookup<&mut Late>,
    ) {
        all.for_each(|(row, left, total)| {
            let entity = row.entity();
            let mut late = totals.claim(&row, total.0).unwrap();
            late.get_mut().0 = left.0 + rights.get(entity).unwrap().0;
            lamps.set(entity, true).unwrap();
        });
    }
    #[derive(Component)]
    struct Late(u64);
    #[derive(Component)]
    struct Total(Entity);
    let mut world = World::new();
    let mut schedule = Schedule::builder().add(light_up).build(&mut world).unwrap();
    schedule.run(&mut world, &pool(0));
    let total = world.spawn(Late(0));
    let entity = world.spawn((Left(1), Right(2), Lamp, Total(total)));
    world.set_enabled::<Lamp>(entity, false).unwrap();
    schedule.run(&mut world, &pool(0));
    assert_eq!(world.get::<Late>(total).unwrap().0, 3);
    assert!(world.is_enabled::<Lamp>(entity).unwrap());
}

#[test]
#[should_panic(expected = "a schedule runs only in the world that it was built for")]
fn a_schedule_of_another_world_is_refused() {
    let mut schedule = Schedule::builder().add(a).build(&mut world()).unwrap();
    schedule.run(&mut world(), &pool(0));
}

/// Says that it touches nothing, and does what it is told to.
struct Liar {
    plan: Option<formic_ecs::QueryPlan<&'static mut Left, ()>>,
    act: fn(&mut formic_ecs::QueryPlan<&'static mut Left, ()>, RunContext<'_>),
}

impl System for Liar {
    fn name(&self) -> &'static str {
        "liar"
    }

    fn initialize(&mut self, world: &mut World) -> SystemAccess {
        self.plan = Some(world.plan());
        SystemAccess::default()
    }

    fn run(&mut self, context: RunContext<'_>) {
        (self.act)(self.plan.as_mut().unwrap(), context);
    }
}

/// A system that records commands, and does not say so.
#[cfg(debug_assertions)]
struct Quiet(SystemAccess, Option<CommandBuffer>);

#[cfg(debug_assertions)]
impl System for Quiet {
    fn name(&self) -> &'static str {
        "quiet"
    }

    fn initialize(&mut self, world: &mut World) -> SystemAccess {
        self.1 = Some(CommandBuffer::new(world));
        self.0.clone()
    }

    fn run(&mut self, _context: RunContext<'_>) {
        self.1.as_mut().unwrap().spawn(());
    }

    fn run_exclusive(&mut self, _world: &mut World, _pool: &Pool) {
        self.1.as_mut().unwrap().spawn(());
    }

    fn visit_commands(&mut self, visit: &mut dyn FnMut(&mut [CommandBuffer])) {
        visit(self.1.as_mut_slice());
    }
}

#[test]
#[cfg(debug_assertions)]
fn a_system_that_records_commands_and_does_not_say_so_is_named() {
    for access in [SystemAccess::default(), SystemAccess::exclusive()] {
        let mut world = World::new();
        let system = SystemConfig::of(Quiet(access, None));
        let mut schedule = Schedule::builder().add(system).build(&mut world).unwrap();
        let run = AssertUnwindSafe(|| schedule.run(&mut world, &pool(0)));
        let payload = catch_unwind(run).expect_err("it panics");
        let text = payload.downcast_ref::<String>().expect("it is text");
        assert_eq!(text, "the system quiet records commands, which its access does not declare");
    }
}

#[test]
fn a_system_that_touches_what_it_did_not_declare_panics_with_both_named() {
    type Act = fn(&mut formic_ecs::QueryPlan<&'static mut Left, ()>, RunContext<'_>);
    let cases: [(Act, &str); 3] = [
        (|plan, context| drop(context.cell.query(plan)), "liar writes schedule::systems::Left"),
        (
            |_, context| drop(context.cell.resource::<Total>()),
            "liar reads the resource schedule::systems::Total",
        ),
        (
            |_, context| drop(context.cell.resource_mut::<Total>()),
            "liar writes the resource schedule::systems::Total",
        ),
    ];
    for (act, expected) in cases {
        for pool in pools() {
            let mut world = world();
            world.insert_resource(Total(0));
            // Alone or beside others, always.
            let builder = Schedule::builder().add(SystemConfig::of(Liar { plan: None, act }));
            let mut schedule = builder.add(a).build(&mut world).unwrap();
            let run = || schedule.run(&mut world, &pool);
            let payload = catch_unwind(AssertUnwindSafe(run)).expect_err("it is refused");
            let message = payload.downcast_ref::<String>().expect("a message");
            assert!(message.contains(expected), "{message}");
            assert!(message.ends_with("which it has not declared"), "{message}");
        }
    }
}

#[derive(Component)]
#[component(tracked)]
struct Watched(u64);

/// What each system of a run saw change.
#[derive(Default)]
struct Sightings(Vec<(&'static str, usize)>);

#[test]
fn a_reader_before_the_writer_sees_a_change_once_in_the_next_run() {
    fn early(changed: Query<Entity, Changed<Watched>>, mut seen: ResMut<Sightings>) {
        seen.0.push(("early", changed.count()));
    }
    fn write(mut watched: Query<Mut<Watched>>, mut wanted: ResMut<Total>) {
        for mut watched in &mut watched {
            if wanted.0 > 0 {
                wanted.0 -= 1;
                watched.0 += 1;
            }
        }
    }
    fn late(changed: Query<Entity, Changed<Watched>>, mut seen: ResMut<Sightings>) {
        seen.0.push(("late", changed.count()));
    }
    let mut seen = Vec::new();
    for pool in pools() {
        let mut world = World::new();
        drop(world.spawn_batch((0..1000).map(Watched)));
        world.insert_resource(Sightings::default());
        world.insert_resource(Total(0));
        // Added in another order than they run in: the turn is the place in the order.
        let mut schedule = Schedule::builder()
            .add(late)
            .add(write.before(late))
            .add(early.before(write))
            .build(&mut world)
            .unwrap();
        for wanted in [0, 5, 0, 3, 3] {
            world.resource_mut::<Total>().unwrap().0 = wanted;
            drop(schedule.run(&mut world, &pool));
        }
        seen.push(std::mem::take(&mut world.resource_mut::<Sightings>().unwrap().0));
    }
    assert_eq!(
        seen[0],
        [
            ("early", 1000),
            ("late", 1000), // It is all new.
            ("early", 0),
            ("late", 5),
            ("early", 5),
            ("late", 0),
            ("early", 0),
            ("late", 3),
            ("early", 3),
            ("late", 3),
        ]
    );
    assert!(seen.iter().all(|others| *others == seen[0]), "on any number of threads");
}

#[test]
fn who_asks_for_changes_is_ordered_with_who_makes_them() {
    fn ask(_changed: Query<Entity, Changed<Left>>) {}
    let mut world = world();
    let schedule = Schedule::builder().add(ask).add(write_left).build(&mut world).unwrap();
    assert_eq!(schedule.steps().collect::<Vec<_>>(), [(0, 1)]);
    let schedule = Schedule::builder().add(ask).add(read_left).build(&mut world).unwrap();
    assert_eq!(schedule.steps().count(), 0);
}

#[test]
fn each_system_and_each_job_is_a_span_for_the_host_also_if_it_panics() {
    fn first() {}
    fn blows() {
        std::panic::resume_unwind(Box::new("on purpose"));
    }
    fn alone(_world: &mut World) {}
    fn job() {}
    for threads in [Threads::None, Threads::Own(2)] {
        let log = std::sync::Arc::new(Mutex::new(Vec::new()));
        let note = |what: &'static str| {
            let log = std::sync::Arc::clone(&log);
            move |name: &str| {
                let name = name.rsplit("::").next().expect("there is one part at least");
                log.lock().unwrap().push(format!("{what} {name}"));
            }
        };
        let builder = Pool::builder().threads(threads).on_span(note("begin"), note("end"));
        let pool = builder.build().unwrap();
        let mut world = World::new();
        let builder = Schedule::builder().add((first, alone, blows).chain()).skip_panics();
        builder.build(&mut world).unwrap().run(&mut world, &pool);
        pool.complete(pool.schedule(job));
        assert!(pool.try_complete(pool.schedule(blows)).is_err());
        let mut graph = JobGraph::builder();
        graph.add("baked", &[], |_| ());
        graph.build().unwrap().run(&pool);
        let expected = ["first", "alone", "blows", "job", "blows", "baked"];
        let expected = expected.map(|name| [format!("begin {name}"), format!("end {name}")]);
        assert_eq!(*log.lock().unwrap(), expected.concat());
    }
}
