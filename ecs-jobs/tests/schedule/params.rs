//! The values that the arguments of a system give.
#![expect(elided_lifetimes_in_paths, reason = "the arguments of systems read better without <'_>")]

use crate::support::{pool, pools};
use formic_ecs::QueryEntityError;
use formic_ecs::prelude::*;
use formic_jobs::prelude::*;
use formic_jobs::{ScheduleBuilder, ScheduleError};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Enough for several chunks, and for several threads.
const ENTITIES: usize = if cfg!(miri) { 12 } else { 5_000 };

#[derive(Component, Debug, PartialEq)]
struct Gold(u64);
#[derive(Component, Clone, Copy)]
struct Friend(Entity);
#[derive(Component)]
#[component(enableable)]
struct Lamp;
struct Price(u64);
struct Sum(u64);

/// A row of entities, each the friend of the one before.
fn friends(world: &mut World) -> Vec<Entity> {
    let row = world.spawn_batch((0..ENTITIES as u64).map(|index| (Gold(index), Lamp)));
    for (index, &entity) in row.iter().enumerate() {
        world.insert(entity, Friend(row[(index + 1) % row.len()])).unwrap();
    }
    row
}

/// Runs one system once.
fn run(world: &mut World, pool: &Pool, builder: ScheduleBuilder) {
    builder.build(world).unwrap().run(world, pool);
}

fn message_of(call: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(call)).expect_err("the call is to panic");
    *payload.downcast().expect("a message")
}

#[test]
fn a_resource_is_read_and_another_one_written() {
    fn add_up(mut gold: Query<&Gold>, price: Res<Price>, mut sum: ResMut<Sum>) {
        gold.for_each(|gold| sum.0 += gold.0 * price.0);
    }
    let mut world = World::new();
    world.insert_resource(Price(3));
    world.insert_resource(Sum(0));
    world.spawn_batch((1..=4).map(Gold));
    run(&mut world, &pool(0), Schedule::builder().add(add_up));
    assert_eq!(world.resource::<Sum>().unwrap().0, 30);
}

#[test]
fn a_missing_resource_is_a_panic_that_names_the_system_and_the_resource() {
    fn needs_price(_price: Res<Price>) {}
    fn needs_sum(_sum: ResMut<Sum>) {}
    for pool in pools() {
        let mut world = World::new();
        let message = message_of(|| run(&mut world, &pool, Schedule::builder().add(needs_price)));
        assert!(message.contains("needs_price") && message.contains("::Price"), "{message}");
        let message = message_of(|| run(&mut world, &pool, Schedule::builder().add(needs_sum)));
        assert!(message.contains("needs_sum") && message.contains("::Sum"), "{message}");
    }
}

#[test]
fn a_resource_may_come_after_the_building_and_be_replaced() {
    fn count(mut sum: ResMut<Sum>) {
        sum.0 += 1;
    }
    let mut world = World::new();
    let mut schedule = Schedule::builder().add(count).build(&mut world).unwrap();
    for start in [10, 20] {
        world.insert_resource(Sum(start));
        schedule.run(&mut world, &pool(0));
        assert_eq!(world.resource::<Sum>().unwrap().0, start + 1);
    }
}

#[test]
fn a_local_is_kept_from_run_to_run_and_is_the_systems_own() {
    fn once(mut runs: Local<u64>, mut sum: ResMut<Sum>) {
        *runs += 1;
        sum.0 += *runs;
    }
    let mut world = World::new();
    world.insert_resource(Sum(0));
    let mut schedule = Schedule::builder().add(once).add(once).build(&mut world).unwrap();
    for _ in 0..3 {
        schedule.run(&mut world, &pool(1));
    }
    assert_eq!(world.resource::<Sum>().unwrap().0, 2 * (1 + 2 + 3));
}

#[test]
fn a_function_may_keep_what_it_captures() {
    let mut runs = 0;
    let count = move |mut sum: ResMut<Sum>| {
        runs += 1;
        sum.0 = runs;
    };
    let mut world = World::new();
    world.insert_resource(Sum(0));
    let mut schedule = Schedule::builder().add(count).build(&mut world).unwrap();
    for _ in 0..3 {
        schedule.run(&mut world, &pool(0));
    }
    assert_eq!(world.resource::<Sum>().unwrap().0, 3);
}

#[test]
fn a_query_visits_every_row_once_whatever_the_way_of_walking() {
    fn by_iterator(mut all: Query<&mut Gold>) {
        for gold in &mut all {
            gold.0 += 1;
        }
    }
    fn by_row(mut all: Query<&mut Gold>) {
        all.for_each(|gold| gold.0 += 1);
    }
    fn by_chunk(mut all: Query<&mut Gold>) {
        all.for_each_chunk(|gold| gold.iter_mut().for_each(|gold| gold.0 += 1));
    }
    fn in_parallel(mut all: Query<&mut Gold>) {
        all.par_for_each(|gold| gold.0 += 1);
    }
    fn in_parallel_by_chunk(mut all: Query<&mut Gold>) {
        all.par_for_each_chunk(|gold| gold.iter_mut().for_each(|gold| gold.0 += 1));
    }
    fn counted(all: Query<&Gold, With<Lamp>>) {
        assert_eq!(all.count(), ENTITIES);
    }
    for pool in pools() {
        let mut world = World::new();
        let row = friends(&mut world);
        let five = Schedule::builder().add(by_iterator).add(by_row).add(by_chunk).add(in_parallel);
        run(&mut world, &pool, five.add(in_parallel_by_chunk).add(counted));
        for (index, &entity) in row.iter().enumerate() {
            assert_eq!(world.get::<Gold>(entity).unwrap().0, index as u64 + 5);
        }
    }
}

#[test]
fn a_query_gives_one_entity() {
    fn ask(mut rich: Query<&mut Gold, With<Lamp>>, mut askers: Query<&Friend>) {
        askers.for_each(|friend| match rich.get(friend.0) {
            Ok(gold) => gold.0 += 100,
            Err(error) => assert_eq!(error, QueryEntityError::NotMatching(friend.0)),
        });
    }
    let mut world = World::new();
    let lit = world.spawn((Gold(1), Lamp));
    let dark = world.spawn(Gold(1));
    world.spawn_batch([Friend(lit), Friend(dark)]);
    run(&mut world, &pool(0), Schedule::builder().add(ask));
    assert_eq!((world.get(lit), world.get(dark)), (Ok(&Gold(101)), Ok(&Gold(1))));
}

#[test]
fn a_lookup_reads_any_entity_from_any_thread() {
    #[derive(Component)]
    struct Envy(u64);
    fn envy(mut all: Query<(&mut Envy, &Friend)>, gold: ComponentLookup<&Gold>) {
        all.par_for_each(|(envy, friend)| envy.0 = gold.get(friend.0).unwrap().0);
    }
    for pool in pools() {
        let mut world = World::new();
        let row = friends(&mut world);
        row.iter().for_each(|&entity| world.insert(entity, Envy(0)).unwrap());
        run(&mut world, &pool, Schedule::builder().add(envy));
        for (index, &entity) in row.iter().enumerate() {
            assert_eq!(world.get::<Envy>(entity).unwrap().0, (index as u64 + 1) % ENTITIES as u64);
        }
    }
}

#[test]
fn a_lookup_knows_what_is_not_there() {
    fn ask(
        mut askers: Query<&Friend>,
        mut gold: ComponentLookup<&mut Gold>,
        mut gone: ResMut<Sum>,
    ) {
        askers.for_each(|friend| match gold.get_mut(friend.0) {
            Ok(gold) => gold.0 += 1,
            Err(QueryEntityError::NoSuchEntity(_)) => gone.0 += 1,
            Err(_) => gone.0 += 100,
        });
    }
    let mut world = World::new();
    world.insert_resource(Sum(0));
    let (stale, poor, rich) = (world.spawn(()), world.spawn(()), world.spawn(Gold(0)));
    world.despawn(stale).unwrap();
    world.spawn_batch([Friend(stale), Friend(poor), Friend(rich)]);
    run(&mut world, &pool(0), Schedule::builder().add(ask));
    assert_eq!(world.resource::<Sum>().unwrap().0, 101);
    assert_eq!(world.get(rich), Ok(&Gold(1)));
}

#[test]
fn toggles_switch_any_entity_and_say_what_was() {
    fn switch(
        mut all: Query<(&Gold, &Friend)>,
        lamps: EnabledLookup<Lamp>,
        switched: Res<Switched>,
    ) {
        all.par_for_each(|(gold, friend)| {
            if lamps.set(friend.0, gold.0 % 3 == 0).unwrap() != (gold.0 % 3 == 0) {
                switched.0.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    #[derive(Default)]
    struct Switched(AtomicUsize);
    for pool in pools() {
        let mut world = World::new();
        world.insert_resource(Switched::default());
        let row = friends(&mut world);
        let mut schedule = Schedule::builder().add(switch).build(&mut world).unwrap();
        schedule.run(&mut world, &pool);
        schedule.run(&mut world, &pool);
        let lit = |index: usize| world.is_enabled::<Lamp>(row[index]).unwrap();
        assert!((0..ENTITIES).all(|index| lit((index + 1) % ENTITIES) == (index % 3 == 0)));
        let off = (0..ENTITIES).filter(|&index| !lit(index)).count();
        assert_eq!(world.resource::<Switched>().unwrap().0.load(Ordering::Relaxed), off);
    }
}

#[test]
fn toggles_say_where_there_is_nothing_to_switch() {
    fn ask(mut askers: Query<&Friend>, lamps: EnabledLookup<Lamp>) {
        askers.for_each(|friend| {
            let error = QueryEntityError::NotMatching(friend.0);
            assert_eq!(lamps.set(friend.0, true), Err(error));
        });
    }
    let mut world = World::new();
    let dark = world.spawn(Gold(0));
    world.spawn(Friend(dark));
    run(&mut world, &pool(0), Schedule::builder().add(ask));
}

#[test]
fn a_system_has_up_to_eight_arguments() {
    fn full(
        gold: Query<&mut Gold>,
        friends: Query<&Friend>,
        price: Res<Price>,
        mut sum: ResMut<Sum>,
        runs: Local<u64>,
        _lookup: ComponentLookup<&Friend>,
        _lamps: EnabledLookup<Lamp>,
        commands: Commands,
    ) {
        assert!(commands.is_empty());
        sum.0 = gold.count() as u64 + friends.count() as u64 + price.0 + *runs;
    }
    let mut world = World::new();
    world.insert_resource(Price(10));
    world.insert_resource(Sum(0));
    friends(&mut world);
    run(&mut world, &pool(1), Schedule::builder().add(full));
    assert_eq!(world.resource::<Sum>().unwrap().0, 2 * ENTITIES as u64 + 10);
}

#[test]
fn a_missing_resource_is_denied_by_the_name_of_its_system_unless_a_condition_guards_it() {
    struct Map;
    const DRAWING: Group = Group::named("drawing");
    fn draw(_map: Res<Map>) {}
    fn send(mut events: EventWriter<u8>) {
        events.send(1);
    }
    let mut world = World::new();
    let builder = || Schedule::builder().add(send).deny_missing_resources();
    assert!(builder().build(&mut world).is_ok(), "a writer of events brings them along");
    let guarded = builder().add(draw.run_if(resource_exists::<Map>()));
    assert!(guarded.build(&mut world).is_ok());
    let in_group = builder().add(DRAWING.run_if(resource_exists::<Map>()));
    assert!(in_group.add(draw.in_group(DRAWING)).build(&mut world).is_ok());
    let Err(ScheduleError::MissingResource { system, resource }) =
        builder().add(draw).build(&mut world)
    else {
        panic!("there is no map");
    };
    assert!(system.ends_with("draw") && resource.ends_with("Map"));
    assert!(Schedule::builder().add(draw).build(&mut world).is_ok(), "it may come later");
}

#[test]
fn a_resource_that_a_later_system_brings_along_is_not_missed() {
    fn look(_: Res<Events<u16>>) {}
    fn send(_: EventWriter<u16>) {}
    let builder = Schedule::builder().add((look, send)).deny_missing_resources();
    assert!(builder.build(&mut World::new()).is_ok());
}

#[test]
fn a_resource_that_a_system_does_without_is_not_missed() {
    fn look(number: Option<Res<u32>>, mut seen: ResMut<Vec<Option<u32>>>) {
        seen.push(number.map(|number| *number));
    }
    fn need(_: Res<u32>, _: Option<Res<u32>>) {}
    let mut world = World::new();
    world.insert_resource(Vec::<Option<u32>>::new());
    let builder = || Schedule::builder().deny_missing_resources();
    let error = builder().add(need).build(&mut world).unwrap_err();
    assert!(error.to_string().contains("u32"), "the other argument needs it: {error}");
    let mut schedule = builder().add(look).build(&mut world).unwrap();
    let pool = Pool::new(Threads::None).unwrap();
    schedule.run(&mut world, &pool);
    world.insert_resource(7_u32);
    schedule.run(&mut world, &pool);
    assert_eq!(*world.resource::<Vec<Option<u32>>>().unwrap(), [None, Some(7)]);
}
