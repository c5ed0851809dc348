//! Prefabs, and copies of entities with all that belongs to them.

use crate::support::{Counted, Ledger, panics_as_planned};
use formic_ecs::prelude::*;
use formic_ecs::{ChildOf, EventKind, Prefab, Related, Relation};
use std::sync::{Arc, Mutex};

struct Likes;
impl Relation for Likes {}

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Number(u64);

#[derive(Component, Clone, Debug, PartialEq)]
struct Links(#[component(entity)] Vec<Entity>);

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(enableable)]
struct Lamp(u8);

#[derive(Component, Clone)]
struct Value(Counted);

#[track_caller]
fn check(world: &World) {
    world.check().expect("every invariant holds");
}

/// Enough copies for several chunks.
const MANY: usize = if cfg!(any(miri, formic_small_blocks)) { 30 } else { 1000 };

#[test]
fn queries_leave_prefabs_out_unless_they_name_the_tag() {
    let mut world = World::new();
    let prefab = world.spawn((Prefab, Number(1)));
    world.spawn(Number(2));
    assert_eq!(world.query::<&Number>().count(), 1);
    assert_eq!(world.query_filtered::<&Number, With<Prefab>>().count(), 1);
    assert_eq!(world.query_filtered::<&Number, Present<Prefab>>().count(), 1);
    assert_eq!(world.query_filtered::<&Number, Without<Prefab>>().count(), 1);
    assert_eq!(world.query::<(&Number, Option<&Prefab>)>().count(), 2);
    let mut plan = world.plan::<&mut Number>();
    assert_eq!(world.cell().query(&mut plan).expect("free").count(), 1);
    assert_eq!(world.get(prefab), Ok(&Number(1)));
    assert!(world.query_one::<&Number>(prefab).is_err());
    world.remove::<Prefab>(prefab).expect("it has one");
    assert_eq!(world.query::<&Number>().count(), 2, "a plan that was made before sees it");
    check(&world);
}

#[test]
fn a_component_of_the_user_may_hide_as_well() {
    #[derive(Component)]
    #[component(hides)]
    struct Paused;
    let mut world = World::new();
    let all = world.spawn_batch((0..3).map(Number));
    world.insert(all[1], Paused).expect("alive");
    assert_eq!(world.query::<&Number>().count(), 2);
    world.insert(all[1], Prefab).expect("alive");
    assert_eq!(world.query_filtered::<&Number, With<Paused>>().count(), 0, "both are to be named");
    assert_eq!(world.query_filtered::<&Number, (With<Paused>, With<Prefab>)>().count(), 1);
}

#[test]
fn copies_have_all_but_the_tag_with_bits_and_references_to_themselves() {
    let mut world = World::new();
    let other = world.spawn(Number(0));
    let prefab = world.spawn((Prefab, Number(7), Lamp(3)));
    world.insert(prefab, Links(vec![prefab, other])).expect("alive");
    world.set_enabled::<Lamp>(prefab, false).expect("it has one");
    let copies = world.instantiate(prefab, MANY).expect("all is Clone");
    check(&world);
    assert_eq!(copies.len(), MANY);
    for &copy in &copies {
        assert_eq!(world.get(copy), Ok(&Number(7)));
        assert_eq!(world.get(copy), Ok(&Links(vec![copy, other])));
        assert_eq!(world.is_enabled::<Lamp>(copy), Ok(false));
        assert!(!world.has::<Prefab>(copy));
    }
    assert_eq!(world.query::<&Number>().count(), MANY + 1);
    assert_eq!(world.query::<&Lamp>().count(), 0);
    assert_eq!(world.instantiate(prefab, 0), Ok(vec![]));
}

/// A root with two children, one of which has a child; references in all directions.
fn family(world: &mut World, ledger: &Ledger) -> [Entity; 4] {
    let all: [Entity; 4] = core::array::from_fn(|i| {
        world.spawn((Prefab, Number(i as u64), Value(ledger.value(i as u64))))
    });
    let [root, left, right, leaf] = all;
    world.relation_mut::<ChildOf>().set_parent(left, root).expect("alive");
    world.relation_mut::<ChildOf>().set_parent(right, root).expect("alive");
    world.relation_mut::<ChildOf>().set_parent(leaf, left).expect("alive");
    world.relation_mut::<Likes>().add(right, leaf).expect("alive");
    world.insert(root, Links(vec![leaf, root])).expect("alive");
    world.insert(leaf, Links(vec![right])).expect("alive");
    all
}

#[test]
fn a_family_is_copied_with_its_references_and_relations() {
    let mut world = World::new();
    let ledger = Ledger::default();
    let [root, ..] = family(&mut world, &ledger);
    let copies = world.instantiate(root, 5).expect("all is Clone");
    check(&world);
    assert_eq!((world.len(), ledger.live()), (24, 24));
    for copy in copies {
        let [left, right] = world.relation::<ChildOf>().children(copy) else {
            panic!("two children")
        };
        let [leaf] = world.relation::<ChildOf>().children(*left) else { panic!("one child") };
        assert_eq!(world.get(copy), Ok(&Links(vec![*leaf, copy])));
        assert_eq!(world.get(*leaf), Ok(&Links(vec![*right])));
        assert_eq!(world.relation::<Likes>().targets(*right), [*leaf]);
        assert_eq!(world.relation::<Likes>().sources(*leaf), [*right]);
        let numbers = [copy, *left, *right, *leaf].map(|member| world.get::<Number>(member));
        assert_eq!(numbers.map(|number| number.expect("copied").0), [0, 1, 2, 3]);
        assert_eq!(world.relation::<ChildOf>().parent(copy), None);
    }
    assert_eq!(world.query::<&Number>().count(), 20);
    world.despawn(root).expect("alive");
    assert_eq!(world.query_filtered::<Entity, With<Prefab>>().count(), 0);
    check(&world);
}

#[test]
fn copies_are_related_to_those_outside_to_whom_the_original_is() {
    let mut world = World::new();
    let ledger = Ledger::default();
    let [root, left, ..] = family(&mut world, &ledger);
    let [house, friend, admirer] = [world.spawn(()), world.spawn(()), world.spawn(())];
    world.relation_mut::<ChildOf>().set_parent(root, house).expect("alive");
    world.relation_mut::<Likes>().add(left, friend).expect("alive");
    world.relation_mut::<Likes>().add(admirer, left).expect("alive");
    let copies = world.instantiate(root, 2).expect("all is Clone");
    check(&world);
    assert_eq!(world.relation::<ChildOf>().children(house), [root, copies[0], copies[1]]);
    let lefts = copies
        .iter()
        .map(|&copy| world.relation::<ChildOf>().children(copy)[0])
        .collect::<Vec<_>>();
    assert_eq!(world.relation::<Likes>().sources(friend), [left, lefts[0], lefts[1]]);
    assert_eq!(world.relation::<Likes>().targets(admirer), [left], "nobody likes a copy unasked");
    assert_eq!(world.relation::<Likes>().sources(lefts[0]), []);
    // One that is related and has no family.
    let copy = world.instantiate(friend, 1).expect("all is Clone")[0];
    assert_eq!(world.relation::<Likes>().sources(copy), []);
    check(&world);
}

#[test]
fn a_descendant_that_cannot_be_copied_refuses_all() {
    #[derive(Component, Clone)]
    #[component(unique)]
    struct Crown;
    let mut world = World::new();
    let ledger = Ledger::default();
    let [root, .., leaf] = family(&mut world, &ledger);
    world.insert(leaf, Crown).expect("alive");
    let error = world.instantiate(root, 3).expect_err("there is one crown");
    assert!(error.to_string().contains("Crown"), "{error}");
    assert_eq!((world.len(), ledger.live()), (4, 4));
    world.despawn(root).expect("alive");
    assert!(world.instantiate(root, 1).is_err());
}

#[test]
fn a_clone_that_panics_leaves_whole_families() {
    for nth in 0..12 {
        let mut world = World::new();
        let ledger = Ledger::default();
        let [root, left, ..] = family(&mut world, &ledger);
        let friend = world.spawn(());
        world.relation_mut::<Likes>().add(left, friend).expect("alive");
        ledger.panic_at_clone(nth);
        assert!(panics_as_planned(|| drop(world.instantiate(root, 3))));
        check(&world);
        let whole = nth / 4;
        assert_eq!((world.len(), ledger.live()), (5 + whole * 4, 4 + whole * 4));
        assert_eq!(world.relation::<Likes>().sources(friend).len(), 1 + whole);
        world.instantiate(root, 2).expect("all is Clone");
        check(&world);
        drop(world);
        assert_eq!(ledger.live(), 0);
    }
}

#[test]
fn a_clone_that_panics_in_a_run_leaves_the_copies_before_it() {
    for nth in [0, 1, 2, 7, 2 * MANY - 1] {
        let mut world = World::new();
        let ledger = Ledger::default();
        let prefab = world.spawn((Prefab, Value(ledger.value(5)), Number(5), ledger.value(5)));
        ledger.panic_at_clone(nth);
        assert!(panics_as_planned(|| drop(world.instantiate(prefab, MANY))));
        check(&world);
        assert_eq!(world.query::<&Number>().count(), nth / 2);
        assert_eq!(ledger.live(), 2 + nth / 2 * 2);
        assert!(world.query::<&Value>().into_iter().all(|value| value.0.number() == 5));
        // A drop while the world ends.
        ledger.panic_at_drop(1);
        assert!(panics_as_planned(|| drop(world)));
        assert_eq!(ledger.live(), 0);
    }
}

#[test]
fn copies_are_given_what_the_closure_makes() {
    let mut world = World::new();
    let ledger = Ledger::default();
    let [root, ..] = family(&mut world, &ledger);
    let bundle = |index| (Number(index as u64 + 10), Lamp(1));
    let copies = world.instantiate_with(root, 3, bundle).expect("all is Clone");
    for (index, &copy) in (10..).zip(&copies) {
        assert_eq!(world.get(copy), Ok(&Number(index)));
        assert!(world.has::<Lamp>(copy));
        assert_eq!(world.relation::<ChildOf>().children(copy).len(), 2);
    }
    let before = world.len();
    assert!(panics_as_planned(|| {
        let bundle = |index| {
            assert!(index < 2, "planned: closure");
            Number(0)
        };
        drop(world.instantiate_with(root, 4, bundle));
    }));
    assert_eq!(world.len(), before + 8);
    check(&world);
}

#[test]
fn watchers_see_whole_copies_and_may_change_the_original() {
    let mut world = World::new();
    let ledger = Ledger::default();
    let [root, left, ..] = family(&mut world, &ledger);
    let looks = world.hooks().observe::<Links>(EventKind::Add, |world: &mut World, event| {
        check(world);
        for &other in &world.get::<Links>(event.entity).expect("told after").0 {
            assert!(world.contains(other) && !world.has::<Prefab>(other));
        }
    });
    let pairs = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&pairs);
    world.hooks().observe_event(move |_: &mut World, _: &Related<ChildOf>, _| {
        *counted.lock().expect("not poisoned") += 1;
    });
    world.instantiate(root, 2).expect("all is Clone");
    assert_eq!(*pairs.lock().expect("not poisoned"), 6);

    assert!(world.hooks().unobserve(looks));
    // The original goes while its second copy is told of.
    let told = Mutex::new(0);
    world.hooks().observe::<Value>(EventKind::Add, move |world: &mut World, _| {
        let mut told = told.lock().expect("not poisoned");
        *told += 1;
        if *told == 5 {
            world.despawn(left).expect("alive");
        } else if *told == 9 {
            world.despawn(root).expect("alive");
        }
    });
    let copies = world.instantiate(root, 5).expect("all is Clone");
    check(&world);
    assert_eq!(copies.len(), 3, "those that were made");
    assert_eq!(world.relation::<ChildOf>().children(copies[0]).len(), 2);
    assert_eq!(world.relation::<ChildOf>().children(copies[2]).len(), 1, "of what was left");
}

#[test]
fn a_watcher_may_take_a_lone_original_away() {
    let mut world = World::new();
    let prefab = world.spawn((Prefab, Number(1)));
    world.hooks().observe::<Number>(EventKind::Add, move |world: &mut World, _| {
        if world.query::<&Number>().count() == 3 {
            world.despawn(prefab).expect("alive");
        }
    });
    assert_eq!(world.instantiate(prefab, 10).expect("all is Clone").len(), 3);
    check(&world);
}
