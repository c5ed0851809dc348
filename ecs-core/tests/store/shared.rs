//! Shared components: entities with equal values lie together, each value is there once.

use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::support::{Counted, Ledger, panics_as_planned};
use formic_ecs::prelude::*;
use formic_ecs::{
    Add, Archetype, ComponentError, DynamicQuery, EventKind, NoSuchEntity, RandomStream,
    WithShared, WithoutShared,
};

/// So many that they take several chunks, and one over when they go in three groups.
const MANY: u16 = if cfg!(miri) { 61 } else { 1000 };

#[derive(Component, Clone, Debug, PartialEq)]
struct Number(u64);

#[derive(Component, Clone)]
#[component(enableable)]
struct Awake;

#[derive(SharedComponent, Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Level(u32);

#[derive(SharedComponent, Clone, Debug, PartialEq, Eq, Hash)]
struct Material(String);

fn material(name: &str) -> Material {
    Material(name.into())
}

#[test]
fn one_that_is_spawned_into_a_group_is_where_one_that_is_moved_there_is() {
    let mut world = World::new();
    let moved = world.spawn((Number(1), Awake));
    world.set_shared(moved, Level(7)).expect("alive");
    let archetypes = world.archetypes().len();
    let spawned = world.spawn_shared((Awake, Number(2)), Level(7));
    let other = world.spawn_shared((Awake, Number(3)), Level(8));
    world.check().expect("consistent");
    assert_eq!(world.archetypes().len(), archetypes + 1, "one for the other value");
    for (entity, number, level) in [(moved, 1, 7), (spawned, 2, 7), (other, 3, 8)] {
        assert_eq!(world.get::<Number>(entity), Ok(&Number(number)));
        assert_eq!(world.shared::<Level>(entity), Ok(&Level(level)));
        assert_eq!(world.is_enabled::<Awake>(entity), Ok(true));
    }
    let places: Vec<_> = world.entities().collect();
    assert_eq!(places, [moved, spawned, other]);
    // The id of a value that was given up may be another's, after the archetypes went.
    world.despawn(other).expect("alive");
    world.collect_archetypes();
    assert_eq!(world.release_unused_shared(), 1);
    let last = world.spawn_shared((Awake, Number(4)), Level(9));
    assert_eq!(world.shared::<Level>(last), Ok(&Level(9)));
    world.check().expect("consistent");
}

#[test]
fn watchers_are_told_of_one_that_is_spawned_into_a_group() {
    let mut world = World::new();
    let told = Arc::new(AtomicU32::new(0));
    let count = told.clone();
    world.observe::<Add, Number>(move |world: &mut World, event| {
        assert!(world.has::<Number>(event.entity) && world.shared::<Level>(event.entity).is_ok());
        count.fetch_add(1, Ordering::Relaxed);
    });
    world.spawn_shared(Number(1), Level(1));
    assert_eq!(told.load(Ordering::Relaxed), 1);
}

#[test]
fn entities_with_equal_values_lie_in_chunks_of_their_own() {
    let mut world = World::new();
    let crowd = world.spawn_batch((0..u64::from(MANY)).map(Number));
    for (i, &entity) in (0..).zip(&crowd) {
        world.set_shared(entity, Level(i % 3)).expect("alive");
    }
    world.check().expect("consistent");
    for archetype in world.archetypes().iter().filter(|archetype| !archetype.is_empty()) {
        for chunk in 0..archetype.chunk_count() {
            let levels = archetype.entities(chunk).iter();
            let mut levels: Vec<_> =
                levels.map(|&entity| *world.shared::<Level>(entity).expect("it has one")).collect();
            levels.dedup();
            assert_eq!(levels.len(), 1);
        }
    }
    let lens = world.archetypes().iter().map(Archetype::len).filter(|&len| len > 0);
    assert_eq!(
        lens.collect::<Vec<_>>(),
        [usize::from(MANY / 3) + 1, usize::from(MANY / 3), usize::from(MANY / 3)]
    );
    for (i, &entity) in (0..).zip(&crowd) {
        assert_eq!(world.shared::<Level>(entity), Ok(&Level(i % 3)));
        assert_eq!(world.get::<Number>(entity), Ok(&Number(u64::from(i))));
    }
}

#[test]
fn an_entity_has_one_value_of_a_type_and_any_number_of_types() {
    let mut world = World::new();
    let imp = world.spawn(Number(1));
    world.set_shared(imp, Level(1)).expect("alive");
    world.set_shared(imp, material("clay")).expect("alive");
    world.set_shared(imp, Level(2)).expect("alive");
    assert_eq!(world.shared::<Level>(imp), Ok(&Level(2)));
    assert_eq!(world.shared::<Material>(imp), Ok(&material("clay")));
    assert_eq!(world.components_of(imp).expect("alive").len(), 3);
    world.remove_shared::<Level>(imp).expect("it has one");
    assert!(world.shared::<Level>(imp).is_err() && world.shared::<Material>(imp).is_ok());
    world.check().expect("consistent");
}

#[test]
fn what_is_missing_is_an_error_and_hands_the_value_back() {
    let mut world = World::new();
    let gone = world.spawn(());
    world.despawn(gone).expect("alive");
    let imp = world.spawn(Number(1));
    let refused = world.set_shared(gone, Level(9)).expect_err("it is gone");
    assert_eq!((refused.entity, refused.bundle), (gone, Level(9)));
    let no_entity = ComponentError::NoSuchEntity(NoSuchEntity(gone));
    assert_eq!(world.remove_shared::<Level>(gone), Err(no_entity));
    assert_eq!(world.shared::<Level>(gone), Err(no_entity));
    assert!(matches!(world.shared::<Level>(imp), Err(ComponentError::Missing(_))));
    assert!(matches!(world.remove_shared::<Level>(imp), Err(ComponentError::Missing(_))));
    world.check().expect("consistent");
}

#[test]
fn an_equal_value_moves_nobody() {
    let mut world = World::new();
    let imp = world.spawn(Number(1));
    world.set_shared(imp, material("clay")).expect("alive");
    let archetypes = world.archetypes().len();
    let before = std::ptr::from_ref(world.get::<Number>(imp).expect("a number"));
    let text = world.shared::<Material>(imp).expect("it has one").0.as_ptr();
    world.set_shared(imp, material("clay")).expect("alive");
    assert_eq!(world.archetypes().len(), archetypes);
    assert_eq!(std::ptr::from_ref(world.get::<Number>(imp).expect("a number")), before);
    assert_eq!(world.shared::<Material>(imp).expect("it has one").0.as_ptr(), text);
}

#[test]
fn queries_hand_out_and_narrow_by_shared_values() {
    let mut world = World::new();
    let crowd = world.spawn_batch((0..100).map(Number));
    for (i, &entity) in (0..).zip(&crowd[..90]) {
        world.set_shared(entity, Level(i % 3)).expect("alive");
    }
    for (number, level) in world.query::<(&Number, Shared<Level>)>() {
        assert_eq!(number.0 % 3, u64::from(level.0));
    }
    assert_eq!(world.query::<Shared<Level>>().count(), 90);
    assert_eq!(world.query::<Option<Shared<Level>>>().count(), 100);
    assert_eq!(world.query_filtered::<Entity, WithShared<Level>>().count(), 90);
    assert_eq!(world.query_filtered::<Entity, WithoutShared<Level>>().count(), 10);
    assert_eq!(world.query_filtered::<&Number, WithoutShared<Material>>().count(), 100);
    let numbers = world.query::<&Number>().with_shared(&Level(1));
    assert!(numbers.map(|number| number.0 % 3).all(|rest| rest == 1));
    assert_eq!(world.query::<&Number>().with_shared(&Level(1)).count(), 30);
    assert_eq!(world.query::<&Number>().with_shared(&Level(8)).count(), 0);
    assert!(world.query::<&Number>().with_shared(&Level(1)).get(crowd[1]).is_ok());
    assert!(world.query::<&Number>().with_shared(&Level(1)).get(crowd[2]).is_err());
    let mut slices = 0;
    world.query::<(&Number, Shared<Level>)>().for_each_chunk(|(numbers, level)| {
        assert!(numbers.iter().all(|number| number.0 % 3 == u64::from(level.0)));
        slices += numbers.len();
    });
    assert_eq!(slices, 90);
    world.query::<&mut Number>().with_shared(&Level(0)).for_each(|number| number.0 = 0);
    assert_eq!(world.query_ref::<&Number>().map(|number| number.0).filter(|&n| n == 0).count(), 30);
}

#[test]
fn bits_and_components_go_along_when_the_value_changes() {
    let mut world = World::new();
    let ledger = Ledger::default();
    let imps: Vec<_> = (0..50).map(|i| world.spawn((ledger.value(i), Awake))).collect();
    for &imp in &imps {
        world.set_shared(imp, Level(0)).expect("alive");
        world.set_enabled::<Awake>(imp, imp.index() % 2 == 0).expect("it has a bit");
    }
    for &imp in &imps {
        world.set_shared(imp, Level(imp.index() % 3)).expect("alive");
    }
    world.check().expect("consistent");
    for (i, &imp) in (0..).zip(&imps) {
        assert_eq!(world.is_enabled::<Awake>(imp), Ok(imp.index() % 2 == 0));
        assert_eq!(world.get::<Counted>(imp).expect("it has one").number(), i);
    }
    assert_eq!(ledger.live(), 50);
    let awake = world.query_filtered::<Entity, With<Awake>>().with_shared(&Level(0)).count();
    assert_eq!(awake, imps.iter().filter(|imp| imp.index() % 6 == 0).count());
}

#[test]
fn copies_have_the_value_of_the_prefab() {
    let mut world = World::new();
    let prefab = world.spawn(Number(5));
    world.set_shared(prefab, Level(3)).expect("alive");
    let copies = world.instantiate(prefab, 10).expect("a number is Clone");
    assert!(copies.iter().all(|&copy| world.shared::<Level>(copy) == Ok(&Level(3))));
    assert_eq!(world.query::<Shared<Level>>().with_shared(&Level(3)).count(), 11);
    world.check().expect("consistent");
}

#[test]
fn the_state_hash_takes_in_the_value_and_not_its_id() {
    let state = |first: u32, second: u32, level: u32| {
        let mut world = World::new();
        let imp = world.spawn(Number(1));
        for number in [first, second, level] {
            world.set_shared(imp, Level(number)).expect("alive");
        }
        world.state_hash()
    };
    assert_eq!(state(1, 2, 3), state(2, 1, 3));
    assert_ne!(state(1, 2, 3), state(1, 2, 4));
}

#[test]
fn two_values_of_one_type_by_id_leave_the_later_one() {
    let mut world = World::new();
    let (low, high) = (world.spawn(()), world.spawn(()));
    world.set_shared(low, Level(0)).expect("alive");
    world.set_shared(high, Level(9)).expect("alive");
    let id_of = |world: &World, entity| {
        let with = |archetype: &&Archetype| {
            (0..archetype.chunk_count()).any(|c| archetype.entities(c).contains(&entity))
        };
        world.archetypes().iter().find(with).expect("it is somewhere").components().ids()[0]
    };
    let (low_id, high_id) = (id_of(&world, low), id_of(&world, high));
    assert!(world.insert_by_id(low, high_id, &[]).is_err(), "it is not plain bytes");
    let mut query = DynamicQuery::builder().with(high_id).build(&world).expect("built");
    assert_eq!(world.query_by_id(&mut query).expect("this world's").count(), 1);
    world.remove_by_id(low, low_id).expect("it has it");
    assert!(world.shared::<Level>(low).is_err());
    world.check().expect("consistent");
}

/// A shared value whose `Hash` and `Eq` panic, or lie, when told to.
#[derive(Debug)]
struct Tricky(u32);

thread_local! {
    static TRICK: Cell<Trick> = const { Cell::new(Trick::None) };
}

#[derive(Clone, Copy, PartialEq)]
enum Trick {
    None,
    PanicInHash,
    PanicInEq,
    NeverEqual,
    AlwaysEqual,
}

impl SharedComponent for Tricky {}

impl PartialEq for Tricky {
    fn eq(&self, other: &Self) -> bool {
        match TRICK.get() {
            Trick::PanicInEq => panic!("planned: eq"),
            Trick::NeverEqual => false,
            Trick::AlwaysEqual => true,
            _ => self.0 == other.0,
        }
    }
}

impl Eq for Tricky {}

impl Hash for Tricky {
    fn hash<H: Hasher>(&self, state: &mut H) {
        assert!(TRICK.get() != Trick::PanicInHash, "planned: hash");
        state.write_u8(0);
    }
}

#[test]
fn a_panic_in_hash_or_eq_leaves_the_world_as_it_was() {
    for trick in [Trick::PanicInHash, Trick::PanicInEq] {
        TRICK.set(Trick::None);
        let mut world = World::new();
        let imp = world.spawn(Number(1));
        world.set_shared(imp, Tricky(1)).expect("alive");
        let (components, archetypes) = (world.components().len(), world.archetypes().len());
        TRICK.set(trick);
        assert!(panics_as_planned(|| world.set_shared(imp, Tricky(2)).expect("alive")));
        TRICK.set(Trick::None);
        assert_eq!(world.shared::<Tricky>(imp), Ok(&Tricky(1)));
        assert_eq!(world.components().len(), components);
        assert_eq!(world.archetypes().len(), archetypes);
        world.check().expect("consistent");
    }
}

#[test]
fn an_eq_that_lies_splits_or_merges_values_and_no_more() {
    let count = if cfg!(miri) { 6 } else { 20 };
    for trick in [Trick::NeverEqual, Trick::AlwaysEqual] {
        TRICK.set(trick);
        let mut world = World::new();
        let imps: Vec<_> = (0..count).map(|i| world.spawn(Number(i))).collect();
        for round in 0..if cfg!(miri) { 2 } else { 3 } {
            for (i, &imp) in (0..).zip(&imps) {
                world.set_shared(imp, Tricky(i % 4 + round)).expect("alive");
            }
            world.check().expect("consistent");
        }
        assert_eq!(world.query::<Shared<Tricky>>().count(), imps.len());
        for &imp in &imps {
            world.remove_shared::<Tricky>(imp).expect("it has one");
        }
        world.check().expect("consistent");
        TRICK.set(Trick::None);
    }
}

/// A shared value that is counted.
struct Held(u32, #[expect(dead_code, reason = "it is there to be dropped")] Counted);

impl SharedComponent for Held {}

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Held {}

impl Hash for Held {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

#[test]
fn each_value_is_kept_once_and_dropped_with_the_world() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let imps: Vec<_> = (0..30).map(|i| world.spawn(Number(i))).collect();
    for (i, &imp) in (0..).zip(&imps) {
        world.set_shared(imp, Held(i % 5, ledger.value(0))).expect("alive");
    }
    assert_eq!(ledger.live(), 5);
    assert_eq!(world.release_unused_shared(), 0, "all of them have archetypes");
    let spare = Held(1, ledger.value(0));
    world.despawn(imps[0]).expect("alive");
    let refused = world.set_shared(imps[0], spare).expect_err("it is gone");
    assert_eq!(ledger.live(), 6);
    drop(refused);
    drop(world);
    assert_eq!(ledger.live(), 0);
}

#[test]
fn a_panic_in_the_drop_of_an_equal_value_comes_last() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let (one, two) = (world.spawn(Number(1)), world.spawn(Number(2)));
    world.set_shared(one, Held(1, ledger.value(0))).expect("alive");
    ledger.panic_at_drop(0);
    let spare = Held(1, ledger.value(0));
    assert!(panics_as_planned(|| _ = world.set_shared(two, spare).is_ok()));
    assert!(world.shared::<Held>(two).is_ok(), "it has the value all the same");
    assert_eq!(ledger.live(), 1);
    world.check().expect("consistent");
}

#[test]
fn a_clone_that_panics_leaves_no_copy_with_the_value() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let prefab = world.spawn(ledger.value(1));
    world.set_shared(prefab, Level(1)).expect("alive");
    ledger.panic_at_clone(2);
    assert!(panics_as_planned(|| drop(world.instantiate(prefab, 5))));
    assert_eq!(world.query::<Entity>().with_shared(&Level(1)).count(), 3);
    assert_eq!(ledger.live(), 3);
    world.check().expect("consistent");
}

#[test]
fn random_programs_agree_with_a_model() {
    for seed in 0..if cfg!(miri) { 1 } else { 40 } {
        let mut random = RandomStream::new(seed);
        let mut world = World::new();
        let mut model: Vec<(Entity, Option<u64>, Option<Level>, Option<Material>)> = Vec::new();
        for _ in 0..if cfg!(miri) { 40 } else { 400 } {
            let level = Level(u32::try_from(random.below(3)).expect("small"));
            let clay = material(["clay", "gold"][usize::from(random.below(2) == 1)]);
            let place = usize::try_from(random.below(model.len().max(1) as u64)).expect("small");
            let action = random.below(8);
            match (action, model.get_mut(place)) {
                (0 | 1, _) | (_, None) => {
                    let entity = world.spawn(Number(7));
                    model.push((entity, Some(7), None, None));
                }
                (2, Some(_)) => {
                    let (entity, ..) = model.swap_remove(place);
                    world.despawn(entity).expect("alive");
                }
                (3, Some((entity, _, mine, _))) => {
                    world.set_shared(*entity, level).expect("alive");
                    *mine = Some(level);
                }
                (4, Some((entity, _, _, mine))) => {
                    world.set_shared(*entity, clay.clone()).expect("alive");
                    *mine = Some(clay);
                }
                (5, Some((entity, _, mine, _))) => {
                    let removed = world.remove_shared::<Level>(*entity);
                    assert_eq!(removed.is_ok(), mine.take().is_some());
                }
                (6, Some((entity, number, ..))) => match number.take() {
                    Some(_) => _ = world.remove::<Number>(*entity).expect("it has one"),
                    None => {
                        let value = random.below(100);
                        world.insert(*entity, Number(value)).expect("alive");
                        *number = Some(value);
                    }
                },
                (_, Some(entry)) => {
                    let entry = entry.clone();
                    let copies = world.instantiate(entry.0, 1).expect("all of it is Clone");
                    model.push((copies[0], entry.1, entry.2, entry.3));
                }
            }
            world.check().expect("consistent");
        }
        for (entity, number, level, material) in &model {
            assert_eq!(world.get::<Number>(*entity).ok().map(|number| number.0), *number);
            assert_eq!(world.shared::<Level>(*entity).ok(), level.as_ref());
            assert_eq!(world.shared::<Material>(*entity).ok(), material.as_ref());
        }
        for wanted in (0..3).map(Level) {
            let expected = model.iter().filter(|entry| entry.2 == Some(wanted)).count();
            assert_eq!(world.query::<Entity>().with_shared(&wanted).count(), expected);
        }
    }
}

#[test]
fn archetypes_that_are_collected_give_up_their_shared_values() {
    #[derive(SharedComponent, PartialEq, Eq, Hash)]
    struct Text(String);
    let mut world = World::new();
    let plan = |world: &mut World| world.query::<(Entity, Shared<Text>)>().count();
    let (rounds, count) = if cfg!(miri) { (2, 5) } else { (4, 20) };
    for round in 0..rounds {
        for i in 0..count {
            let entity = world.spawn(Awake);
            world.set_shared(entity, Text(format!("{round} {i}"))).expect("alive");
        }
        assert_eq!(plan(&mut world), count);
        world.clear();
        assert!(world.collect_archetypes() >= count);
        assert_eq!(world.release_unused_shared(), count, "their ids are used again");
        world.check().expect("in order");
        assert_eq!(plan(&mut world), 0);
    }
}

#[test]
fn observers_of_the_id_of_a_value_go_with_the_value() {
    #[derive(SharedComponent, PartialEq, Eq, Hash)]
    struct Level(u32);
    let mut world = World::new();
    let imp = world.spawn(());
    let group = |world: &mut World, level| {
        world.set_shared(imp, Level(level)).expect("alive");
        let place = world.place_of(imp).expect("alive");
        world.archetypes()[place.archetype.index()].components().ids()[0]
    };
    let first = group(&mut world, 1);
    let held = Arc::new(());
    let told = Arc::clone(&held);
    let observer = world
        .observe_by_id(EventKind::Add, first, move |_, _| panic!("{told:?} is told of another"))
        .expect("known");
    world.remove_shared::<Level>(imp).expect("it has one");
    world.collect_archetypes();
    assert_eq!(world.release_unused_shared(), 1);
    assert_eq!(Arc::strong_count(&held), 1, "the observer is dropped");
    assert_eq!(group(&mut world, 2), first, "the id is used again");
    assert!(!world.unobserve(observer), "it is gone");
    world.check().expect("in order");
}
