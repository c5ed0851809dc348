//! Cleanup components: they outlive the despawning of their entity, until they are removed.

use crate::support::{Counted, Ledger, panics_as_planned};
use formic_ecs::prelude::*;
use formic_ecs::{ByIdError, ChildOf, Despawned, Event, EventKind, NoSuchEntity};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

#[derive(Component, Clone, Debug, PartialEq)]
#[component(cleanup, enableable)]
struct Socket(u32);

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(cleanup)]
struct Texture(u8);

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Position(f32);

#[track_caller]
fn check(world: &World) {
    world.check().expect("every invariant holds");
}

#[test]
fn despawning_leaves_the_cleanup_components_and_a_valid_handle() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let others = world.spawn_batch((0..3).map(|i| (Socket(i), Position(0.0))));
    let entity = world.spawn((Socket(7), ledger.value(1), Position(1.0), Texture(3)));
    world.set_enabled::<Socket>(entity, false).expect("it has one");
    world.despawn(entity).expect("alive");
    check(&world);
    assert!(world.contains(entity) && world.place_of(entity).is_ok(), "its row is still a row");
    assert_eq!(ledger.live(), 0, "the others are dropped");
    assert_eq!(world.get(entity), Ok(&Socket(7)));
    assert_eq!(world.is_enabled::<Socket>(entity), Ok(false), "the bit goes along");
    assert!(!world.has::<Position>(entity) && world.has::<Despawned>(entity));
    assert_eq!(world.despawn(entity), Err(NoSuchEntity(entity)), "it was despawned already");
    assert_eq!(world.remove::<Socket>(entity), Ok(Socket(7)));
    assert!(world.contains(entity), "there is another one");
    assert_eq!(world.remove::<Texture>(entity), Ok(Texture(3)));
    assert!(!world.contains(entity) && world.place_of(entity).is_err());
    assert!(others.iter().all(|&other| world.contains(other)));
    check(&world);
    let new = world.spawn(());
    assert_eq!(new.index(), entity.index(), "the slot is free");
    assert_ne!(new, entity);
}

#[test]
fn an_entity_without_any_is_gone_at_once() {
    let mut world = World::new();
    let entity = world.spawn((Socket(1), Position(0.0)));
    assert_eq!(world.remove::<Socket>(entity), Ok(Socket(1)));
    assert!(world.contains(entity), "it was not despawned");
    world.despawn(entity).expect("alive");
    assert!(!world.contains(entity));
}

#[test]
fn queries_leave_the_despawned_out_unless_they_name_the_tag() {
    let mut world = World::new();
    let all = world.spawn_batch((0..4).map(Socket));
    world.despawn(all[1]).expect("alive");
    world.despawn(all[3]).expect("alive");
    assert_eq!(world.query::<&Socket>().count(), 2);
    assert_eq!(world.query_ref::<&Socket>().count(), 2);
    assert_eq!(world.query::<Entity>().count(), 2);
    let found = world.query_filtered::<Entity, (With<Despawned>, With<Socket>)>();
    let gone: Vec<Entity> = found.into_iter().collect();
    assert_eq!(gone, [all[1], all[3]]);
    assert_eq!(world.query::<(&Socket, Option<&Despawned>)>().count(), 4);
    assert_eq!(world.query_filtered::<Entity, Without<Despawned>>().count(), 2);
    assert_eq!(world.view::<&Socket>().get(all[1]), Ok(&Socket(1)), "a handle finds it");
    let id = world.component_id::<Despawned>().expect("known");
    let build = |query: formic_ecs::DynamicQueryBuilder, world: &World| query.build(world);
    let socket = world.component_id::<Socket>().expect("known");
    let mut hidden = build(formic_ecs::DynamicQuery::builder().read(socket), &world).expect("fine");
    assert_eq!(world.query_by_id(&mut hidden).expect("its world").count(), 2);
    let named = formic_ecs::DynamicQuery::builder().read(socket).with(id);
    let mut named = build(named, &world).expect("fine");
    assert_eq!(world.query_by_id(&mut named).expect("its world").count(), 2);
    for entity in gone {
        world.remove::<Socket>(entity).expect("it has one");
    }
    assert_eq!(world.len(), 2);
    check(&world);
}

#[test]
fn commands_despawn_and_clean_up() {
    let mut world = World::new();
    let all = world.spawn_batch((0..6).map(|i| (Socket(i), Position(0.0))));
    let mut commands = CommandBuffer::new(&world);
    all[..4].iter().for_each(|&entity| commands.despawn(entity));
    commands.despawn(all[0]);
    let failures = commands.play(&mut world);
    assert_eq!(failures.failures().len(), 1, "the second time");
    assert_eq!(world.len(), 6);
    check(&world);
    all[..3].iter().for_each(|&entity| commands.remove::<Socket>(entity));
    assert!(commands.play(&mut world).failures().is_empty());
    assert_eq!(world.len(), 3);
    assert!(world.contains(all[3]) && !world.contains(all[2]));
    check(&world);
    world.clear();
    assert!(world.is_empty(), "clear waits for nobody");
}

#[test]
fn what_it_is_given_meanwhile_goes_with_it() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let entity = world.spawn(Socket(1));
    world.despawn(entity).expect("alive");
    world.insert(entity, (ledger.value(1), Texture(2))).expect("the handle is valid");
    world.remove::<Socket>(entity).expect("it has one");
    assert!(world.contains(entity) && world.has::<Texture>(entity));
    world.remove::<Texture>(entity).expect("it has one");
    assert!(!world.contains(entity));
    assert_eq!(ledger.live(), 0);
    check(&world);
}

#[test]
fn copies_do_not_get_them() {
    let mut world = World::new();
    #[derive(Component)]
    #[component(cleanup)]
    struct NotClone;
    let ledger = Ledger::default();
    let entity = world.spawn((Socket(1), Position(2.0), NotClone, ledger.value(4)));
    ledger.panic_at_clone(0);
    assert!(panics_as_planned(|| drop(world.instantiate(entity, 1))));
    check(&world);
    let copy = world.instantiate(entity, 1).expect("all that is copied is Clone")[0];
    assert_eq!(world.len(), 2);
    assert_eq!(world.get(copy), Ok(&Position(2.0)));
    assert!(!world.has::<Socket>(copy));
    world.despawn(entity).expect("alive");
    assert!(world.instantiate(entity, 1).is_err(), "it was despawned");
    check(&world);
}

#[test]
fn the_tag_is_the_worlds_also_by_its_id() {
    let mut world = World::new();
    let entity = world.spawn(Socket(1));
    world.despawn(entity).expect("alive");
    let tag = world.component_id::<Despawned>().expect("known");
    assert!(matches!(world.by_id_mut().remove(entity, tag), Err(ByIdError::Managed(_))));
    assert!(matches!(world.by_id_mut().insert(entity, tag, &[]), Err(ByIdError::NotBytes(_))));
    let socket = world.component_id::<Socket>().expect("known");
    world.by_id_mut().remove(entity, socket).expect("it has one");
    assert!(!world.contains(entity), "the last was removed by its id");
    check(&world);
}

#[test]
fn watchers_are_told_of_what_goes_when_it_goes() {
    let mut world = World::new();
    let log = Arc::new(Mutex::new(Vec::new()));
    let write = |line: &'static str| {
        let log = Arc::clone(&log);
        move |_: &mut World, _: Event| log.lock().expect("not poisoned").push(line)
    };
    let take = || std::mem::take(&mut *log.lock().expect("not poisoned"));
    world.hooks().observe::<Socket>(EventKind::Despawn, write("despawn socket"));
    world.hooks().observe::<Socket>(EventKind::Remove, write("remove socket"));
    world.hooks().observe::<Position>(EventKind::Remove, write("remove position"));
    world.hooks().observe::<Despawned2>(EventKind::Add, write("never"));
    let entity = world.spawn((Socket(1), Position(0.0)));
    world.despawn(entity).expect("alive");
    assert_eq!(take(), ["despawn socket", "remove position"]);
    world.remove::<Socket>(entity).expect("it has one");
    assert_eq!(take(), ["remove socket"]);
    assert!(!world.contains(entity));
    let entity = world.spawn((Socket(1), Position(0.0)));
    world.despawn(entity).expect("alive");
    take();
    world.clear();
    assert_eq!(take(), ["despawn socket", "remove socket"]);
    check(&world);
}

/// The despawning around it has nothing left to tell of, also if the entity gets a new value then.
#[test]
fn a_watcher_may_despawn_the_whole_family_and_each_is_told_of_once() {
    let (mut world, log) = (World::new(), Arc::new(Mutex::new(Vec::new())));
    let family = [world.spawn(()), world.spawn(()), world.spawn(())];
    for &child in &family[1..] {
        world.relation_mut::<ChildOf>().set_parent(child, family[0]).expect("no cycle");
    }
    let write = |line: &'static str| {
        let log = Arc::clone(&log);
        move |_: &mut World, event: Event| {
            log.lock().expect("not poisoned").push((line, event.entity));
        }
    };
    world.hooks().observe::<Position>(EventKind::Remove, write("remove position"));
    world.hooks().observe::<Socket>(EventKind::Despawn, write("despawn socket"));
    world.hooks().observe::<Position>(EventKind::Despawn, move |world: &mut World, event| {
        family.iter().for_each(|&entity| _ = world.despawn(entity));
        world.insert(event.entity, Position(1.0)).expect("it awaits its cleanup");
    });
    for &entity in &family {
        world.insert(entity, (Position(0.0), Socket(1))).expect("alive");
    }
    world.despawn(family[0]).expect("alive");
    check(&world);
    let mut told = std::mem::take(&mut *log.lock().expect("not poisoned"));
    told.sort_unstable_by_key(|&(line, entity)| (line, entity.to_bits()));
    let all = |line| family.map(|entity| (line, entity));
    assert_eq!(told, [all("despawn socket"), all("remove position")].concat());
    assert!(family.iter().all(|&entity| world.get(entity) == Ok(&Position(1.0))));
}

#[derive(Component)]
struct Despawned2;

#[test]
fn a_watcher_may_clean_up_at_once() {
    let mut world = World::new();
    world.hooks().observe::<Socket>(EventKind::Despawn, |world: &mut World, event| {
        world.remove::<Socket>(event.entity).expect("it is there");
    });
    let entity = world.spawn((Socket(1), Position(0.0)));
    world.despawn(entity).expect("alive");
    assert!(!world.contains(entity), "nothing was left to wait for");
    check(&world);
}

#[test]
fn a_drop_that_panics_while_it_is_stripped_or_ends() {
    for nth in 0..3 {
        let ledger = Ledger::default();
        let mut world = World::new();
        #[derive(Component)]
        struct Second(Counted);
        #[derive(Component)]
        #[component(cleanup)]
        struct Held(Counted);
        let bundle = |i| (Held(ledger.value(i)), ledger.value(i), Second(ledger.value(i)));
        let all = world.spawn_batch((0..3).map(bundle));
        ledger.panic_at_drop(nth);
        let panicked = panics_as_planned(|| world.despawn(all[0]).expect("alive"));
        assert_eq!(panicked, nth < 2);
        check(&world);
        assert!(world.has::<Despawned>(all[0]) && world.has::<Held>(all[0]));
        assert_eq!(ledger.live(), 7);
        let held = world.remove::<Held>(all[0]).expect("it has one");
        assert_eq!(held.0.number(), 0);
        let panicked = panics_as_planned(|| drop(held));
        assert_eq!(panicked, nth == 2);
        assert!(!world.contains(all[0]));
        assert!(world.query::<&Second>().into_iter().all(|second| second.0.number() > 0));
        check(&world);
        drop(world);
        assert_eq!(ledger.live(), 0);
    }
}

#[derive(Component)]
#[component(cleanup)]
struct Lock;

#[test]
fn the_last_cleanup_ends_an_entity_also_where_a_snapshot_brought_the_archetypes() {
    let end = |world: &mut World| {
        let entity = world.spawn(Lock);
        world.despawn(entity).expect("alive");
        assert!(world.contains(entity));
        assert!(world.remove::<Lock>(entity).is_ok());
        assert!(!world.contains(entity), "nothing is left to clean up");
        check(world);
    };
    let mut first = World::new();
    end(&mut first);
    let saved = first.snapshot().expect("there is no value that cannot be saved");
    let mut second = World::new();
    _ = second.register::<Lock>();
    _ = second.register::<Despawned>();
    second.restore(&saved).expect("the world knows both");
    end(&mut second);
}

#[test]
fn an_entity_goes_with_its_last_cleanup_whatever_the_drop_does() {
    #[derive(Component)]
    #[component(cleanup)]
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("planned");
        }
    }
    let mut world = World::new();
    let bomb = world.register::<Bomb>();
    let entity = world.spawn(Bomb);
    world.despawn(entity).expect("alive");
    assert!(panics_as_planned(|| world.by_id_mut().remove(entity, bomb).expect("it has one")));
    assert!(!world.contains(entity));
    check(&world);
}

#[test]
fn an_entity_goes_with_its_last_cleanup_also_where_an_observer_panics() {
    type End = fn(&mut World, Entity);
    let ends: [End; 4] = [
        |world, entity| drop(world.remove::<Socket>(entity)),
        |world, entity| {
            let socket = world.component_id::<Socket>().expect("it is in use");
            world.by_id_mut().remove(entity, socket).expect("it has one");
        },
        |world, entity| {
            let mut commands = CommandBuffer::new(world);
            commands.remove::<Socket>(entity);
            commands.play(world);
        },
        |world, _| {
            world.bulk::<With<Despawned>>().remove::<Socket>();
        },
    ];
    for end in ends {
        let ledger = Ledger::default();
        let mut world = World::new();
        world.hooks().observe::<Position>(EventKind::Despawn, |_, _| panic!("planned"));
        let [entity, friend] = [world.spawn(Socket(1)), world.spawn(())];
        world.despawn(entity).expect("alive");
        let late = (Position(0.0), ledger.value(1));
        assert!(world.insert(entity, late).is_ok(), "it is there to be cleaned up");
        assert!(panics_as_planned(|| end(&mut world, entity)));
        check(&world);
        assert!(!world.contains(entity) && world.contains(friend));
        assert_eq!(ledger.live(), 0);
    }
}

#[test]
fn an_observer_that_exchanges_the_world_costs_the_other_one_no_entity() {
    let (mut world, mut other) = (World::new(), World::new());
    let (entity, same) = (world.spawn(Socket(1)), other.spawn(Position(5.0)));
    assert_eq!(entity, same, "a handle of both worlds");
    let other = Mutex::new(other);
    world.hooks().observe::<Position>(EventKind::Despawn, move |world: &mut World, _| {
        std::mem::swap(world, &mut other.lock().expect("once"));
    });
    world.despawn(entity).expect("alive");
    assert!(world.insert(entity, Position(0.0)).is_ok(), "it is there to be cleaned up");
    let exchange = AssertUnwindSafe(|| drop(world.remove::<Socket>(entity)));
    assert!(catch_unwind(exchange).is_err());
    check(&world);
    assert_eq!(world.get(same), Ok(&Position(5.0)), "this one was not despawned");
}
