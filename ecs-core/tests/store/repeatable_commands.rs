//! Commands that are recorded once and played many times.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::support::{Counted, Ledger, panics_as_planned};
use formic_ecs::prelude::*;
use formic_ecs::{CommandFailureReason, Playback, RepeatableCommands};

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Number(u64);

#[derive(Component, Clone, Debug, PartialEq)]
struct Links(#[component(entity)] Vec<Option<Entity>>);

#[derive(Component, Clone, Copy)]
#[component(enableable)]
struct On;

#[test]
fn each_playback_has_entities_of_its_own() {
    let mut world = World::new();
    let agent = world.spawn(());
    let mut commands = RepeatableCommands::new(&world);
    let first = commands.spawn((Number(1), On));
    let second = commands.spawn(Links(vec![Some(first), None, Some(agent)]));
    commands.insert(first, Links(vec![Some(second)]));
    commands.set_enabled::<On>(first, false);
    commands.insert(agent, Links(vec![Some(second)]));
    assert_eq!(commands.len(), 5);
    let mut seen = Vec::new();
    for _ in 0..4 {
        let playback = commands.play(&mut world);
        assert_eq!((playback.applied_count(), playback.failures()), (5, &[][..]));
        let links = |entity| world.get::<Links>(entity).expect("it has some").0.clone();
        let second = links(agent)[0].expect("a link");
        assert_eq!(links(second)[1..], [None, Some(agent)]);
        let first = links(second)[0].expect("a link");
        assert_eq!(links(first), [Some(second)]);
        assert_eq!(world.is_enabled::<On>(first), Ok(false));
        assert!(!seen.contains(&first) && !seen.contains(&second));
        seen.extend([first, second]);
        world.check().expect("consistent");
    }
    assert_eq!(world.len(), 9);
}

#[test]
fn a_playback_does_what_a_buffer_does() {
    let mut rows = Vec::new();
    for repeats in [true, false] {
        let mut world = World::new();
        let all = world.spawn_batch((0..10).map(Number));
        let mut repeatable = RepeatableCommands::new(&world);
        let mut once = CommandBuffer::new(&world);
        macro_rules! record {
            ($commands:ident) => {
                for key in [3, u64::MAX, 0, 2, 0] {
                    $commands.set_sort_key(key);
                    $commands.insert(all[3], Number(key));
                    $commands.insert(all[3], On);
                    $commands.remove::<On>(all[4]);
                    $commands.spawn(Number(key));
                    $commands.despawn(all[5]);
                    $commands.run(move |world| _ = world.spawn(Number(100 + key / 2)));
                }
            };
        }
        let playback: Playback = if repeats {
            record!(repeatable);
            repeatable.play(&mut world)
        } else {
            record!(once);
            once.play(&mut world)
        };
        world.check().expect("consistent");
        rows.push((playback, world.state_hash(), world.entities().collect::<Vec<_>>()));
    }
    assert_eq!(rows[0], rows[1]);
    assert_eq!(rows[0].0.failures().len(), 9);
}

#[test]
fn no_commands_are_no_change() {
    let mut world = World::new();
    let agent = world.spawn(Number(1));
    let before = world.state_hash();
    let commands = RepeatableCommands::new(&world);
    assert!(commands.is_empty());
    assert_eq!(commands.play(&mut world), Playback::default());
    assert_eq!(world.state_hash(), before);
    assert_eq!(world.spawn(()).index(), agent.index() + 1);
}

#[test]
fn the_values_are_clones_and_each_is_dropped_once() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let dead = world.spawn(());
    world.despawn(dead).expect("alive");
    let mut commands = RepeatableCommands::new(&world);
    let new = commands.spawn(ledger.value(1));
    commands.insert(new, ledger.value(2));
    commands.insert(dead, ledger.value(3));
    assert_eq!(ledger.live(), 3);
    for round in 1..4 {
        let failures = commands.play(&mut world);
        assert_eq!(failures.failures()[0].reason, CommandFailureReason::NoSuchEntity);
        assert_eq!(ledger.live(), 3 + round);
    }
    assert!(world.query::<&Counted>().into_iter().all(|value| value.number() == 2));
    drop(commands);
    assert_eq!(ledger.live(), 3);
    drop(world);
    assert_eq!(ledger.live(), 0);
}

#[test]
fn a_clone_that_panics_keeps_everything_from_being_applied() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let agent = world.spawn(());
    let mut commands = RepeatableCommands::new(&world);
    commands.spawn((Number(1), ledger.value(1)));
    commands.insert(agent, ledger.value(2));
    commands.spawn((ledger.value(3), Number(2)));
    let (before, stored) = (world.state_hash(), ledger.live());
    for nth in 0..3 {
        ledger.panic_at_clone(nth);
        assert!(panics_as_planned(|| drop(commands.play(&mut world))));
        world.check().expect("consistent");
        assert_eq!((world.state_hash(), ledger.live()), (before, stored));
    }
    assert_eq!(commands.play(&mut world).applied_count(), 3);
    assert_eq!(ledger.live(), stored + 3);
}

#[test]
fn a_drop_that_panics_ends_one_playback_and_not_the_next() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let agent = world.spawn(ledger.value(0));
    let mut commands = RepeatableCommands::new(&world);
    commands.insert(agent, ledger.value(1));
    commands.spawn(ledger.value(2));
    ledger.panic_at_drop(0);
    assert!(panics_as_planned(|| drop(commands.play(&mut world))));
    world.check().expect("consistent");
    assert_eq!(world.len(), 1);
    assert_eq!(world.get::<Counted>(agent).map(Counted::number), Ok(1));
    assert_eq!(commands.play(&mut world).applied_count(), 2);
    drop((world, commands));
    assert_eq!(ledger.live(), 0);
}

#[test]
fn another_world_is_refused_before_anything_is_cloned() {
    let ledger = Ledger::default();
    let (mut mine, mut other) = (World::new(), World::new());
    let mut commands = RepeatableCommands::new(&mine);
    commands.spawn(ledger.value(1));
    ledger.panic_at_clone(0);
    let refused = catch_unwind(AssertUnwindSafe(|| drop(commands.play(&mut other))));
    let message = refused.expect_err("it panics");
    let message = message.downcast_ref::<String>().expect("a formatted message");
    assert!(message.contains("only to its own world"), "{message}");
    assert!(other.is_empty());
    assert!(panics_as_planned(|| drop(commands.play(&mut mine))), "the clone is still to come");
}

#[test]
fn a_deferred_entity_of_these_commands_is_foreign_to_a_buffer() {
    let mut world = World::new();
    let mut repeatable = RepeatableCommands::new(&world);
    let mut once = CommandBuffer::new(&world);
    let theirs = repeatable.spawn(Number(1));
    let mine = once.spawn(Number(2));
    once.insert(theirs, On);
    repeatable.insert(mine, On);
    for playback in [once.play(&mut world), repeatable.play(&mut world)] {
        assert_eq!(playback.failures()[0].reason, CommandFailureReason::ForeignDeferred);
    }
    assert_eq!(world.query::<&On>().count(), 0);
}

#[test]
fn many_threads_may_keep_the_same_commands() {
    fn is_send_and_sync<T: Send + Sync>(_: &T) {}
    let mut world = World::new();
    let commands = RepeatableCommands::new(&world);
    is_send_and_sync(&commands);
    world.insert_resource(commands);
}
