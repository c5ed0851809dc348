//! Changes to all entities that pass a filter.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{Counted, Ledger, panics_as_planned};
use formic_ecs::prelude::*;
use formic_ecs::{Bulk, ChildOf, Event, EventKind, QueryFilter};

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Number(u64);

#[derive(Component, Clone, Debug, PartialEq)]
struct Text(String);

#[derive(Component, Clone)]
struct Other(Counted);

#[derive(Component, Clone)]
#[component(enableable)]
struct On;

#[derive(Component, Clone)]
#[component(tracked)]
struct Tracked;

const COUNT: usize = if cfg!(miri) { 30 } else { 700 };

/// Entities of four archetypes, over chunk borders; `On` is off in every fifth, where it is.
fn crowd(ledger: &Ledger) -> (World, Vec<Entity>) {
    let mut world = World::new();
    let all = world.spawn_batch((0..COUNT as u64).map(|i| (Number(i), ledger.value(i))));
    for (i, &entity) in all.iter().enumerate() {
        if i % 2 == 0 {
            world.insert(entity, On).expect("alive");
        }
        if i % 3 == 0 {
            world.insert(entity, Text(i.to_string())).expect("alive");
        }
        if i % 10 == 0 {
            world.set_enabled::<On>(entity, false).expect("it has one");
        }
    }
    (world, all)
}

fn numbers(world: &World, all: &[Entity], holds: impl Fn(&World, Entity) -> bool) -> Vec<usize> {
    (0..all.len()).filter(|&i| world.contains(all[i]) && holds(world, all[i])).collect()
}

fn steps(holds: impl Fn(usize) -> bool) -> Vec<usize> {
    (0..COUNT).filter(|&i| holds(i)).collect()
}

#[test]
fn an_insertion_reaches_every_entity_that_passes_and_no_other() {
    let ledger = Ledger::default();
    let (mut world, all) = crowd(&ledger);
    let enabled = steps(|i| i % 2 == 0 && i % 10 != 0);
    let inserted = world.bulk::<With<On>>().insert((Text("new".into()), Tracked));
    world.check().expect("consistent");
    assert_eq!(inserted, enabled.len());
    assert_eq!(numbers(&world, &all, |world, entity| world.has::<Tracked>(entity)), enabled);
    for (i, &entity) in all.iter().enumerate() {
        let text = world.get::<Text>(entity).ok().map(|text| text.0.clone());
        let expected = (i % 3 == 0).then(|| i.to_string());
        let is_new = enabled.binary_search(&i).is_ok();
        assert_eq!(text, if is_new { Some("new".into()) } else { expected });
        assert_eq!(world.get(entity), Ok(&Number(i as u64)));
        assert_eq!(world.get::<Counted>(entity).map(Counted::number), Ok(i as u64));
        assert_eq!(world.is_enabled::<On>(entity).ok(), (i % 2 == 0).then_some(i % 10 != 0));
    }
}

#[test]
fn an_entity_is_given_a_bundle_once_even_if_its_new_archetype_passes_too() {
    let ledger = Ledger::default();
    let (mut world, all) = crowd(&ledger);
    let clones = Ledger::default();
    assert_eq!(world.bulk::<()>().insert(Other(clones.value(1))), all.len());
    assert_eq!(clones.live(), all.len());
    assert_eq!(world.bulk::<()>().insert((Other(clones.value(2)), Text(String::new()))), all.len());
    world.check().expect("consistent");
    assert_eq!(clones.live(), all.len(), "the old ones were dropped");
    assert!(world.query::<&Other>().into_iter().all(|other| other.0.number() == 2));
}

#[test]
fn a_removal_passes_over_who_lacks_a_component() {
    let ledger = Ledger::default();
    let (mut world, all) = crowd(&ledger);
    assert_eq!(world.bulk::<()>().remove::<(Counted, Text)>(), steps(|i| i % 3 == 0).len());
    world.check().expect("consistent");
    let with = numbers(&world, &all, |world, entity| world.has::<Counted>(entity));
    assert_eq!(with, steps(|i| i % 3 != 0));
    assert_eq!(ledger.live(), with.len());
    assert!(world.query::<&Text>().is_empty());
    let off = numbers(&world, &all, |world, entity| world.is_enabled::<On>(entity) == Ok(false));
    assert_eq!(off, steps(|i| i % 10 == 0));
    assert_eq!(world.bulk::<()>().remove::<Tracked>(), 0);
}

#[test]
fn a_despawn_takes_who_passes_and_drops_what_they_had() {
    let ledger = Ledger::default();
    let (mut world, all) = crowd(&ledger);
    assert_eq!(world.bulk::<Disabled<On>>().despawn(), steps(|i| i % 10 == 0).len());
    world.check().expect("consistent");
    let left = numbers(&world, &all, |_, _| true);
    assert_eq!(left, steps(|i| i % 10 != 0));
    assert_eq!(ledger.live(), left.len());
    for &i in &left {
        assert_eq!(world.get(all[i]), Ok(&Number(i as u64)));
    }
    assert_eq!(world.bulk::<()>().despawn(), left.len());
    assert_eq!((world.len(), ledger.live()), (0, 0));
    world.check().expect("consistent");
    let again = world.spawn(Number(0));
    assert!((again.index() as usize) < COUNT, "the slots are used again");
}

/// In an order that has nothing to do with the rows, some twice and some that are gone.
#[test]
fn many_are_despawned_at_once_and_what_is_known_about_the_others_goes_with_them() {
    let ledger = Ledger::default();
    for part in [2, 3, 7] {
        let (mut world, all) = crowd(&ledger);
        for &entity in all.iter().step_by(4) {
            world.insert(entity, Tracked).expect("alive");
        }
        let known = |world: &mut World, i: usize| {
            let tracked = world.query_one::<Ref<'_, Tracked>>(all[i]).ok();
            let tracked = tracked.map(|it| (it.last_changed(), it.added_at()));
            let on = world.is_enabled::<On>(all[i]).ok();
            (world.get::<Number>(all[i]).copied(), tracked, on, world.get::<Text>(all[i]).cloned())
        };
        let before: Vec<_> = (0..COUNT).map(|i| known(&mut world, i)).collect();
        world.despawn(all[1]).expect("alive");
        let leaves = |i: usize| i % part == 0 || i > COUNT - 20;
        let leaving = (0..COUNT).map(|i| i * 37 % COUNT).filter(|&i| leaves(i) || i == 1);
        let leaving: Vec<_> = leaving.flat_map(|i| [all[i], all[i]]).collect();
        assert_eq!(world.despawn_many(leaving), steps(leaves).len());
        world.check().expect("consistent");
        let left = numbers(&world, &all, |_, _| true);
        assert_eq!(left, steps(|i| !leaves(i) && i != 1));
        assert_eq!(ledger.live(), left.len());
        assert!(left.iter().all(|&i| known(&mut world, i) == before[i]));
        assert_eq!(world.despawn_many(all), left.len());
        assert_eq!((world.len(), ledger.live()), (0, 0));
    }
}

/// The search for the next hole skips thousands of rows at a time where none is left.
#[test]
fn holes_far_from_each_other_are_all_filled() {
    // So that some are in chunks of many thousands of rows.
    const FAR: u64 = if cfg!(miri) { 300 } else { 110_000 };
    let mut world = World::new();
    let all = world.spawn_batch((0..FAR + 200).map(Number));
    let holes = [3, 70, FAR / 2, FAR - FAR / 20, FAR - 1, FAR, FAR + 64];
    let leaves = |i: u64| holes.contains(&i);
    let leaving = all.iter().zip(0..).filter(|&(_, i)| leaves(i)).map(|(&entity, _)| entity);
    assert_eq!(world.despawn_many(leaving), holes.len());
    world.check().expect("consistent");
    for (&entity, i) in all.iter().zip(0..) {
        assert_eq!(world.get::<Number>(entity).ok(), (!leaves(i)).then_some(&Number(i)));
    }
    let numbers: Vec<u64> = world.query::<&Number>().map(|number| number.0).collect();
    // Those at the end went to the holes in front, in their order.
    for (hole, number) in holes.into_iter().zip(FAR + 193..) {
        assert_eq!(numbers[usize::try_from(hole).expect("a row")], number);
    }
}

#[test]
fn of_many_that_go_those_with_more_than_a_row_go_as_one_does() {
    #[derive(Component)]
    #[component(cleanup)]
    struct Grave;
    let ledger = Ledger::default();
    let (mut world, all) = crowd(&ledger);
    world.relation_mut::<ChildOf>().set_parent(all[5], all[1]).expect("no cycle");
    world.insert(all[2], Grave).expect("alive");
    world.insert(all[3], Other(ledger.value(3))).expect("alive");
    let seen = Arc::new(AtomicUsize::new(0));
    let inside = Arc::clone(&seen);
    world.hooks().observe::<Other>(EventKind::Despawn, move |_: &mut World, _: Event| {
        _ = inside.fetch_add(1, Ordering::Relaxed);
    });
    assert_eq!(world.despawn_many(all[..5].iter().copied()), 5);
    world.check().expect("consistent");
    assert_eq!(seen.load(Ordering::Relaxed), 1);
    let left = numbers(&world, &all, |_, _| true);
    assert_eq!(left, steps(|i| i == 2 || i > 5), "the child went, and one is to be cleaned up");
    assert_eq!(world.despawn_many([all[2], all[5], all[6]]), 1, "one was despawned before");
    assert!(world.contains(all[2]) && world.remove::<Grave>(all[2]).is_ok());
    assert!(!world.contains(all[2]));
    world.check().expect("consistent");
    assert_eq!(ledger.live(), COUNT - 7);
}

#[test]
fn an_iterator_of_those_that_go_may_panic() {
    let ledger = Ledger::default();
    let (mut world, all) = crowd(&ledger);
    let leaving = all.iter().enumerate().map(|(i, &entity)| {
        assert!(i < 10, "planned: iterator");
        entity
    });
    assert!(panics_as_planned(|| _ = world.despawn_many(leaving)));
    world.check().expect("consistent");
    assert_eq!(numbers(&world, &all, |_, _| true), steps(|i| i >= 10));
    assert_eq!(ledger.live(), COUNT - 10);
}

#[test]
fn a_flip_of_all_bits_leaves_who_does_not_pass_alone() {
    let ledger = Ledger::default();
    let (mut world, all) = crowd(&ledger);
    let off = |world: &World, entity| world.is_enabled::<On>(entity) == Ok(false);
    assert_eq!(world.bulk::<With<Text>>().set_enabled::<On>(false), steps(|i| i % 6 == 0).len());
    world.check().expect("consistent");
    assert_eq!(numbers(&world, &all, off), steps(|i| i % 6 == 0 || i % 10 == 0));
    assert_eq!(
        world.bulk::<Disabled<On>>().set_enabled::<On>(true),
        steps(|i| i % 6 == 0 || i % 10 == 0).len()
    );
    world.check().expect("consistent");
    assert_eq!(numbers(&world, &all, off), [0; 0]);
    assert_eq!(world.bulk::<()>().set_enabled::<On>(false), steps(|i| i % 2 == 0).len());
    assert_eq!(world.query_filtered::<(), With<On>>().count(), 0);
    world.check().expect("consistent");
}

#[test]
fn where_a_clone_panics_each_entity_has_the_bundle_or_not() {
    let ledger = Ledger::default();
    let (mut world, all) = crowd(&ledger);
    let clones = Ledger::default();
    let given = clones.value(1);
    clones.panic_at_clone(all.len() / 2);
    assert!(panics_as_planned(|| _ = world.bulk::<()>().insert((Other(given), Tracked))));
    world.check().expect("consistent");
    let with = numbers(&world, &all, |world, entity| world.has::<Other>(entity));
    assert_eq!((with.len(), clones.live()), (all.len() / 2, all.len() / 2));
    assert_eq!(numbers(&world, &all, |world, entity| world.has::<Tracked>(entity)), with);
    for (i, &entity) in all.iter().enumerate() {
        assert_eq!(world.get::<Counted>(entity).map(Counted::number), Ok(i as u64));
    }
}

#[test]
fn where_a_drop_panics_nothing_is_dropped_twice_or_left_behind() {
    for nth in [0, 1, 7, COUNT / 2, COUNT - 1] {
        for despawns in [true, false] {
            let ledger = Ledger::default();
            let (mut world, all) = crowd(&ledger);
            ledger.panic_at_drop(nth);
            assert!(panics_as_planned(|| {
                if despawns {
                    world.bulk::<()>().despawn();
                } else {
                    world.bulk::<()>().remove::<Counted>();
                }
            }));
            world.check().expect("consistent");
            let with = numbers(&world, &all, |world, entity| world.has::<Counted>(entity));
            assert_eq!(ledger.live(), with.len());
            for i in with {
                let value = world.get::<Counted>(all[i]).expect("it has one");
                assert_eq!(value.number(), i as u64);
            }
        }
    }
}

/// Which entities have lost what a bulk change takes, the `nth` drop of which panics.
fn lost<F: QueryFilter>(
    nth: usize,
    change: fn(Bulk<'_, F>) -> usize,
    watch: impl FnOnce(&mut World),
) -> Vec<bool> {
    let ledger = Ledger::default();
    let (mut world, all) = crowd(&ledger);
    watch(&mut world);
    ledger.panic_at_drop(nth);
    assert!(panics_as_planned(|| _ = change(world.bulk::<F>())));
    world.check().expect("consistent");
    let lost: Vec<_> = all.iter().map(|&entity| !world.has::<Counted>(entity)).collect();
    let lost_count = lost.iter().filter(|&&is_lost| is_lost).count();
    assert_eq!(ledger.live(), all.len() - lost_count, "each was dropped once");
    lost
}

/// In [`crowd`], which archetype an entity is in.
fn archetype_of(i: usize) -> (bool, bool) {
    (i % 2 == 0, i % 3 == 0)
}

#[test]
fn where_a_drop_panics_all_that_pass_of_its_archetype_have_lost_their_values() {
    fn check<F: QueryFilter>(passes: fn(usize) -> bool, change: fn(Bulk<'_, F>) -> usize) {
        let count = steps(passes).len();
        for nth in [0, 1, count / 3, count / 2, count - 1] {
            let lost = lost::<F>(nth, change, |_| {});
            // Of the entities that pass, those of one archetype have one fate.
            let mut fates = std::collections::BTreeMap::new();
            for (i, is_lost) in lost.iter().copied().enumerate() {
                if passes(i) {
                    let fate = *fates.entry(archetype_of(i)).or_insert(is_lost);
                    assert_eq!(is_lost, fate, "entity {i} after {nth} drops");
                } else {
                    assert!(!is_lost, "entity {i} does not pass");
                }
            }
            assert!(lost.iter().filter(|&&is_lost| is_lost).count() > nth);
            let archetypes_lost = fates.values().filter(|&&is_lost| is_lost).count();
            assert!(nth > 0 || archetypes_lost == 1, "the others are not begun");
            assert!(nth < count - 1 || archetypes_lost == fates.len(), "the last is done");
        }
    }
    let is_on = |i| i % 2 == 0 && i % 10 != 0;
    check::<()>(|_| true, |bulk| bulk.despawn());
    check::<()>(|_| true, |bulk| bulk.remove::<Counted>());
    check::<With<On>>(is_on, |bulk| bulk.despawn());
    check::<With<On>>(is_on, |bulk| bulk.remove::<Counted>());
    check::<With<On>>(is_on, |bulk| bulk.remove::<(Counted, Number)>());
}

/// With a watcher entities go one by one: those from the panic on are as they were.
#[test]
fn where_a_drop_panics_those_up_to_it_have_lost_their_values_if_there_is_a_watcher() {
    let watch =
        |world: &mut World| _ = world.hooks().observe::<Number>(EventKind::Remove, |_, _| {});
    for nth in [0, 1, COUNT / 2, COUNT - 1] {
        for change in [
            |bulk: Bulk<'_, ()>| bulk.despawn(),
            |bulk: Bulk<'_, ()>| bulk.remove::<Counted>(),
            |bulk: Bulk<'_, ()>| bulk.remove::<(Number, Counted)>(),
        ] {
            let lost = lost::<()>(nth, change, watch);
            assert_eq!(lost.iter().filter(|&&is_lost| is_lost).count(), nth + 1);
        }
    }
}

#[test]
fn where_the_drop_of_a_replaced_value_panics_the_rest_is_in_order() {
    for nth in [0, 5, COUNT - 1] {
        let ledger = Ledger::default();
        let (mut world, all) = crowd(&ledger);
        let given = ledger.value(9);
        ledger.panic_at_drop(nth);
        assert!(panics_as_planned(|| _ = world.bulk::<()>().insert((given, Tracked))));
        world.check().expect("consistent");
        assert_eq!(ledger.live(), all.len());
        for (i, &entity) in all.iter().enumerate() {
            let number = world.get::<Counted>(entity).expect("it has one").number();
            assert!(number == i as u64 || number == 9);
        }
    }
}

#[test]
fn watchers_are_told_of_every_entity() {
    let ledger = Ledger::default();
    let (mut world, all) = crowd(&ledger);
    let told = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&told);
    _ = world.hooks().observe::<Tracked>(EventKind::Add, move |world: &mut World, event: Event| {
        assert!(world.has::<Tracked>(event.entity));
        count.fetch_add(1, Ordering::Relaxed);
    });
    assert_eq!(
        world.bulk::<Without<On>>().insert(Tracked),
        steps(|i| i % 2 != 0 || i % 10 == 0).len()
    );
    assert_eq!(told.load(Ordering::Relaxed), steps(|i| i % 2 != 0 || i % 10 == 0).len());
    assert_eq!(world.bulk::<With<Tracked>>().despawn(), told.load(Ordering::Relaxed));
    assert_eq!(ledger.live(), all.len() - told.load(Ordering::Relaxed));
    world.check().expect("consistent");
}

#[test]
fn what_a_bulk_insertion_changed_is_news_and_nothing_else_is() {
    let mut world = World::new();
    let all = world.spawn_batch((0..COUNT as u64).map(|i| (Number(i), Tracked)));
    for &entity in all.iter().step_by(2) {
        world.insert(entity, On).expect("alive");
    }
    let since = world.version();
    assert_eq!(world.bulk::<With<On>>().insert(Number(0)), all.len().div_ceil(2));
    assert_eq!(world.query_filtered::<(), Changed<Tracked>>().since(since).count(), 0);
    assert_eq!(
        world.bulk::<With<On>>().insert((Tracked, Text(String::new()))),
        all.len().div_ceil(2)
    );
    let changed = world.query_filtered::<(), Changed<Tracked>>().since(since).count();
    assert_eq!(changed, all.len().div_ceil(2));
    assert_eq!(world.query_filtered::<(), Added<Tracked>>().since(since).count(), 0);
}

#[derive(Component, Clone, Debug, PartialEq)]
struct Tag;

/// Without a size, and counted all the same.
#[derive(Component)]
struct Token;

static TOKENS: AtomicUsize = AtomicUsize::new(0);
static TOKENS_MAX: AtomicUsize = AtomicUsize::new(usize::MAX);

impl Clone for Token {
    fn clone(&self) -> Self {
        let panics = TOKENS.load(Ordering::Relaxed) >= TOKENS_MAX.load(Ordering::Relaxed);
        assert!(!panics, "planned: clone");
        TOKENS.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        TOKENS.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn an_archetype_that_is_given_a_tag_keeps_its_rows_in_order() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let count = COUNT as u64;
    let all = world.spawn_batch((0..count).map(|i| (Number(i), Other(ledger.value(i)), Tag)));
    world.bulk::<With<Tag>>().remove::<Tag>();
    assert_eq!(world.entities().collect::<Vec<_>>(), all);
    let version = world.version();
    for round in 0..3 {
        let before = world.entities().collect::<Vec<_>>();
        assert_eq!(world.bulk::<With<Number>>().insert(Tag), all.len());
        world.check().expect("consistent");
        assert_eq!(world.entities().collect::<Vec<_>>(), before);
        assert_eq!(world.query_filtered::<&Number, Added<Tag>>().since(version).count(), all.len());
        // What is not tracked is known by chunks.
        let numbers = world.query_filtered::<(), Added<Number>>().since(version);
        assert!(round > 0 || numbers.count() == 0);
        // Others come to the archetype that was left, and to the new one, in between.
        let other = Other(ledger.value(count));
        let late = [world.spawn((Number(0), Tag)), world.spawn((Number(1), other))];
        assert_eq!(world.bulk::<With<Other>>().remove::<Tag>(), all.len());
        late.into_iter().for_each(|entity| world.despawn(entity).expect("alive"));
        world.check().expect("consistent");
        for (i, &entity) in (0..).zip(&all) {
            assert_eq!(world.get::<Number>(entity), Ok(&Number(i)));
            assert!(!world.has::<Tag>(entity));
        }
        assert_eq!(world.len(), all.len());
        assert_eq!(ledger.live(), all.len());
    }
    drop(world);
    assert_eq!(ledger.live(), 0);
}

#[test]
fn a_tag_that_has_something_to_drop_is_dropped_as_often_as_it_was_cloned() {
    let mut world = World::new();
    let all = world.spawn_batch((0..COUNT as u64).map(Number));
    let token = Token;
    // The one that was not cloned counts as well.
    TOKENS.store(1, Ordering::Relaxed);
    TOKENS_MAX.store(COUNT / 2, Ordering::Relaxed);
    assert!(panics_as_planned(|| _ = world.bulk::<()>().insert(token)));
    world.check().expect("consistent");
    let given = all.iter().filter(|&&entity| world.has::<Token>(entity)).count();
    assert_eq!(TOKENS.load(Ordering::Relaxed), given, "what nobody has was dropped");
    TOKENS_MAX.store(usize::MAX, Ordering::Relaxed);
    TOKENS.fetch_add(1, Ordering::Relaxed);
    assert_eq!(world.bulk::<()>().insert(Token), all.len());
    assert_eq!(TOKENS.load(Ordering::Relaxed), all.len());
    assert_eq!(world.bulk::<()>().remove::<Token>(), all.len());
    assert_eq!(TOKENS.load(Ordering::Relaxed), 0);
    world.check().expect("consistent");
}
