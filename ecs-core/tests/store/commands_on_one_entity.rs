//! Commands on one entity that follow one another.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::support::{Counted, Ledger, panics_as_planned};
use formic_ecs::prelude::*;
use formic_ecs::{CommandFailureReason, Event, EventKind, MapEntities, Playback};

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Number(u64);

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Link(#[component(entity)] Option<Entity>);

#[derive(Component)]
struct Other(Counted);

#[derive(Component)]
#[component(enableable)]
struct On(Counted);

fn reasons(playback: &Playback) -> Vec<CommandFailureReason> {
    playback.failures().iter().map(|failure| failure.reason.clone()).collect()
}

/// Values that are given and replaced, given and taken, and that never reach the world, on an
/// entity that stays in its archetype, one that leaves it, a new one, and two that end.
fn record(commands: &mut CommandBuffer, all: &[Entity], ledger: &Ledger) {
    let value = |number| ledger.value(number);
    // Ends where it began.
    commands.insert(all[0], (value(1), Number(1)));
    commands.insert(all[0], (On(value(2)), value(3)));
    commands.remove::<On>(all[0]);
    // Goes elsewhere.
    commands.insert(all[1], (Other(value(4)), On(value(5))));
    commands.remove::<Counted>(all[1]);
    commands.insert(all[1], Other(value(6)));
    commands.set_enabled::<On>(all[1], false);
    // Is new.
    let new = commands.spawn((value(7), Number(7)));
    commands.insert(new, (value(8), Other(value(9))));
    commands.remove::<Other>(new);
    // End, one of them before it began.
    commands.insert(all[2], value(10));
    commands.despawn(all[2]);
    commands.insert(all[2], Other(value(11)));
    let brief = commands.spawn(value(12));
    commands.insert(brief, On(value(13)));
    commands.despawn(brief);
    commands.insert(brief, value(14));
}

fn setting(ledger: &Ledger) -> (World, Vec<Entity>, CommandBuffer) {
    let mut world = World::new();
    let all = world.spawn_batch((0..4).map(|i| (Number(i), ledger.value(i))));
    let mut commands = CommandBuffer::new(&world);
    record(&mut commands, &all, ledger);
    (world, all, commands)
}

fn values_in(world: &mut World) -> usize {
    for value in world.query::<&Counted>() {
        _ = value.number();
    }
    let others = world.query::<&Other>().map(|other| other.0.number()).count();
    let mut on = 0;
    for entity in world.entities().collect::<Vec<_>>() {
        on += world.get::<On>(entity).map(|on| on.0.number()).into_iter().count();
    }
    world.query::<&Counted>().count() + others + on
}

#[test]
fn what_was_given_last_is_there_and_everything_else_is_dropped_once() {
    let ledger = Ledger::default();
    let (mut world, all, mut commands) = setting(&ledger);
    let playback = commands.play(&mut world);
    assert_eq!(reasons(&playback), vec![CommandFailureReason::NoSuchEntity; 2]);
    world.check().expect("consistent");
    assert_eq!(world.get::<Counted>(all[0]).map(Counted::number), Ok(3));
    assert_eq!(world.get(all[0]), Ok(&Number(1)));
    assert!(!world.has::<On>(all[0]));
    assert_eq!(world.get::<Other>(all[1]).map(|other| other.0.number()), Ok(6));
    assert_eq!(world.is_enabled::<On>(all[1]), Ok(false));
    assert!(!world.has::<Counted>(all[1]) && !world.contains(all[2]));
    let new = world.entities().find(|&entity| world.get(entity) == Ok(&Number(7)));
    let new = new.expect("it was spawned");
    assert_eq!(world.get::<Counted>(new).map(Counted::number), Ok(8));
    assert!(!world.has::<Other>(new));
    assert_eq!(world.len(), 4);
    assert_eq!(ledger.live(), values_in(&mut world));
}

#[test]
fn a_panic_of_any_drop_leaves_the_world_in_order_and_nothing_behind() {
    for nth in 0.. {
        let ledger = Ledger::default();
        let (mut world, all, mut commands) = setting(&ledger);
        ledger.panic_at_drop(nth);
        let panicked = panics_as_planned(|| drop(commands.play(&mut world)));
        world.check().expect("consistent");
        assert!(commands.is_empty());
        assert_eq!(ledger.live(), values_in(&mut world), "at drop {nth}");
        commands.insert(all[3], Number(9));
        assert_eq!(commands.play(&mut world).applied_count(), 1);
        // The handles that were reserved are not lost.
        let new = world.spawn(());
        assert!(new.index() <= 6, "{new}");
        _ = panics_as_planned(|| drop(world));
        assert_eq!(ledger.live(), 0);
        if !panicked {
            assert_eq!(nth, 13);
            return;
        }
    }
}

#[test]
fn a_row_that_was_made_in_steps_is_whole() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let mut commands = CommandBuffer::new(&world);
    let deferred = commands.spawn((Number(1), Link(None)));
    commands.insert(deferred, ledger.value(2));
    commands.insert(deferred, Link(Some(deferred)));
    assert_eq!(commands.play(&mut world).applied_count(), 3);
    let entity = world.entities().next().expect("it was spawned");
    assert_eq!(world.get(entity), Ok(&Link(Some(entity))));
    let copy = world.instantiate(entity, 1).expect("all is Clone")[0];
    assert_eq!(world.get(copy), Ok(&Link(Some(copy))));
    ledger.panic_at_clone(0);
    assert!(panics_as_planned(|| drop(world.instantiate(entity, 1))));
    world.check().expect("consistent");
    assert_eq!((world.len(), ledger.live()), (2, 2));
}

/// Panics as it is mapped.
#[derive(Component)]
struct Explosive(Counted);

impl MapEntities for Explosive {
    fn map_entities(&mut self, _map: &mut dyn FnMut(Entity) -> Entity) {
        panic!("planned: map");
    }
}

#[test]
fn where_a_mapping_panics_nothing_is_applied_and_all_is_dropped() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let agent = world.spawn(ledger.value(0));
    let mut commands = CommandBuffer::new(&world);
    commands.insert(agent, (Number(1), Other(ledger.value(1))));
    _ = commands.spawn(ledger.value(2));
    commands.insert(agent, (Explosive(ledger.value(3)), On(ledger.value(4))));
    commands.remove::<Counted>(agent);
    assert!(panics_as_planned(|| drop(commands.play(&mut world))));
    world.check().expect("consistent");
    assert_eq!((world.len(), ledger.live()), (1, 1));
    assert!(!world.has::<Number>(agent));
    assert_eq!(commands.play(&mut world), Playback::default());
}

#[test]
fn nobody_is_mapped_where_nothing_was_deferred() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let agent = world.spawn(());
    let mut commands = CommandBuffer::new(&world);
    commands.insert(agent, Explosive(ledger.value(1)));
    assert_eq!(commands.play(&mut world).applied_count(), 1);
    assert_eq!(world.get::<Explosive>(agent).map(|found| found.0.number()), Ok(1));
}

#[test]
fn each_failure_has_its_own_reason() {
    let mut world = World::new();
    let agent = world.spawn(Number(1));
    let ledger = Ledger::default();
    let mut commands = CommandBuffer::new(&world);
    commands.set_sort_key(4);
    commands.remove::<On>(agent);
    commands.set_enabled::<On>(agent, false);
    commands.insert(agent, On(ledger.value(1)));
    commands.set_sort_key(6);
    commands.set_enabled::<Number>(agent, true);
    commands.remove::<Number>(agent);
    commands.set_enabled::<On>(agent, false);
    commands.remove::<(On, Number)>(agent);
    let playback = commands.play(&mut world);
    let lines: Vec<String> = playback.failures().iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "remove on 0v1 (sort key 4) did not apply: entity 0v1 has no component store::commands_on_one_entity::On",
            "set_enabled on 0v1 (sort key 4) did not apply: entity 0v1 has no component store::commands_on_one_entity::On",
            "set_enabled on 0v1 (sort key 6) did not apply: store::commands_on_one_entity::Number is not \
             enableable; declare it with #[component(enableable)]",
            "remove on 0v1 (sort key 6) did not apply: entity 0v1 has no component store::commands_on_one_entity::Number",
        ]
    );
    assert_eq!(playback.applied_count(), 3);
    assert_eq!(world.is_enabled::<On>(agent), Ok(false));
}

#[test]
fn an_insertion_over_a_component_keeps_its_bit_and_a_new_one_comes_enabled() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let all = world.spawn_batch((0..2).map(|i| On(ledger.value(i))));
    for &entity in &all {
        world.set_enabled::<On>(entity, false).expect("it has one");
    }
    let mut commands = CommandBuffer::new(&world);
    commands.insert(all[0], Number(1));
    commands.insert(all[0], On(ledger.value(5)));
    commands.remove::<On>(all[1]);
    commands.insert(all[1], (On(ledger.value(6)), Number(1)));
    assert_eq!(commands.play(&mut world).applied_count(), 4);
    assert_eq!(world.is_enabled::<On>(all[0]), Ok(false));
    assert_eq!(world.is_enabled::<On>(all[1]), Ok(true));
}

#[test]
fn watchers_are_told_of_every_step() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let agent = world.spawn(Number(0));
    let told = Arc::new(AtomicUsize::new(0));
    let watch = || {
        let told = Arc::clone(&told);
        move |world: &mut World, event: Event| {
            world.check().expect("no book is open");
            assert!(world.contains(event.entity));
            told.fetch_add(1, Ordering::Relaxed);
        }
    };
    _ = world.hooks().observe::<On>(EventKind::Add, watch());
    _ = world.hooks().observe::<On>(EventKind::Remove, watch());
    let mut commands = CommandBuffer::new(&world);
    commands.insert(agent, ledger.value(1));
    commands.insert(agent, On(ledger.value(2)));
    commands.remove::<Counted>(agent);
    commands.remove::<On>(agent);
    commands.insert(agent, Number(5));
    assert_eq!(commands.play(&mut world).applied_count(), 5);
    assert_eq!(told.load(Ordering::Relaxed), 2);
    assert_eq!((world.get(agent), ledger.live()), (Ok(&Number(5)), 0));
}

#[test]
fn a_watcher_that_exchanges_the_world_ends_the_playback() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let agent = world.spawn(());
    let spare = Arc::new(Mutex::new(World::new()));
    let watched = Arc::clone(&spare);
    _ = world.hooks().observe::<Number>(EventKind::Add, move |world: &mut World, _| {
        std::mem::swap(world, &mut watched.lock().expect("no panic while it is locked"));
    });
    let mut commands = CommandBuffer::new(&world);
    commands.insert(agent, Number(1));
    _ = commands.spawn(ledger.value(1));
    let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        drop(commands.play(&mut world));
    }));
    let message = played.expect_err("it panics");
    let message = message.downcast_ref::<String>().expect("a formatted message");
    assert!(message.contains("another world in place"), "{message}");
    assert!(commands.is_empty());
    world.check().expect("consistent");
    assert_eq!((world.len(), ledger.live()), (0, 0));
    // The world has the observer, which has what the world is in.
    drop(std::mem::take(&mut *spare.lock().expect("no panic while it is locked")));
}

#[test]
fn a_playback_that_ends_in_another_world_leaves_its_reserved_handles_alone() {
    let (mut outer, mut inner) = (World::new(), World::new());
    let agents = [outer.spawn(()), inner.spawn(())];
    let [mut for_outer, mut for_inner] = [&outer, &inner].map(CommandBuffer::new);
    for (commands, agent) in [(&mut for_outer, agents[0]), (&mut for_inner, agents[1])] {
        commands.insert(agent, Number(1));
        _ = commands.spawn(Link(None));
    }
    let spare = Arc::new(Mutex::new(World::new()));
    let exchange = |spare: &Arc<Mutex<World>>| {
        let spare = Arc::clone(spare);
        move |world: &mut World| {
            std::mem::swap(world, &mut spare.lock().expect("no panic while it is locked"));
        }
    };
    let exchange_again = exchange(&spare);
    _ = inner
        .hooks()
        .observe::<Number>(EventKind::Add, move |world: &mut World, _| exchange_again(world));
    *spare.lock().expect("no panic while it is locked") = inner;
    let (exchange_first, for_inner) = (exchange(&spare), Mutex::new(for_inner));
    _ = outer.hooks().observe::<Number>(EventKind::Add, move |world: &mut World, _| {
        exchange_first(world);
        let mut commands = for_inner.lock().expect("no panic while it is locked");
        let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            drop(commands.play(world));
        }));
        assert!(played.is_err(), "its watcher has brought the outer world back");
    });
    // The handle that is reserved in one world is the same number as that in the other.
    let playback = for_outer.play(&mut outer);
    assert_eq!((playback.failures(), playback.applied_count()), (&[][..], 2));
    assert_eq!(outer.query::<&Link>().count(), 1);
    outer.check().expect("consistent");
    drop(std::mem::take(&mut *spare.lock().expect("no panic while it is locked")));
}

#[derive(Component)]
#[component(tracked)]
struct First(u64);

#[derive(Component)]
#[component(tracked)]
struct Second(u64);

/// What a query since then says about the two: changed and added, of each.
fn news(world: &mut World, since: u64, entity: Entity) -> [bool; 4] {
    [
        world.query_filtered::<(), Changed<First>>().since(since).into_get(entity).is_ok(),
        world.query_filtered::<(), Added<First>>().since(since).into_get(entity).is_ok(),
        world.query_filtered::<(), Changed<Second>>().since(since).into_get(entity).is_ok(),
        world.query_filtered::<(), Added<Second>>().since(since).into_get(entity).is_ok(),
    ]
}

#[test]
fn commands_on_one_entity_stamp_what_they_change_and_nothing_else() {
    type Record = fn(&mut CommandBuffer, Entity);
    let cases: [(Record, [bool; 4]); 5] = [
        (
            |commands, agent| {
                commands.insert(agent, Number(1));
                commands.insert(agent, Number(2));
            },
            [false; 4],
        ),
        (
            |commands, agent| {
                commands.insert(agent, Number(1));
                commands.insert(agent, First(1));
            },
            [true, false, false, false],
        ),
        (
            |commands, agent| {
                commands.insert(agent, First(1));
                commands.insert(agent, First(2));
            },
            [true, false, false, false],
        ),
        (
            |commands, agent| {
                commands.remove::<Second>(agent);
                commands.insert(agent, Second(1));
            },
            [false, false, true, true],
        ),
        (
            |commands, agent| {
                commands.remove::<Second>(agent);
                commands.insert(agent, (Number(3), Second(1)));
                commands.insert(agent, First(3));
            },
            [true, false, true, true],
        ),
    ];
    for (case, (record, expected)) in cases.into_iter().enumerate() {
        let mut world = World::new();
        let all = world.spawn_batch((0..3).map(|i| (First(i), Second(i))));
        let since = world.version();
        let mut commands = CommandBuffer::new(&world);
        record(&mut commands, all[1]);
        assert!(commands.play(&mut world).failures().is_empty());
        assert_eq!(news(&mut world, since, all[1]), expected, "case {case}");
        assert_eq!(news(&mut world, since, all[0]), [false; 4], "case {case}");
        world.check().expect("consistent");
    }
}
