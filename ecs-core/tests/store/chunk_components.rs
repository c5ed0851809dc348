//! Chunk components: a chunk has one value for all its rows.

use std::cell::Cell;

use crate::support::{Counted, Ledger, panics_as_planned};
use formic_ecs::prelude::*;
use formic_ecs::{ComponentError, NoSuchEntity, WithChunkValue};

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Place(f32);

#[derive(Component, Clone)]
#[component(enableable)]
struct Visible;

/// So many that they take several chunks.
const MANY: u16 = if cfg!(miri) { 96 } else { 3200 };

/// The least and the greatest place in a chunk.
#[derive(ChunkComponent, Clone, Copy, Debug, PartialEq)]
struct Bounds {
    low: f32,
    high: f32,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { low: f32::INFINITY, high: f32::NEG_INFINITY }
    }
}

impl Bounds {
    fn include(&mut self, place: Place) {
        self.low = self.low.min(place.0);
        self.high = self.high.max(place.0);
    }
}

/// A number per chunk, the default of which can be told to panic.
#[derive(ChunkComponent, Debug, PartialEq)]
struct Mark(u32);

thread_local! {
    static DEFAULT_PANICS: Cell<bool> = const { Cell::new(false) };
}

impl Default for Mark {
    fn default() -> Self {
        assert!(!DEFAULT_PANICS.get(), "planned: default");
        Self(100)
    }
}

/// Whether a chunk has it is counted.
#[derive(ChunkComponent, Default)]
struct Held(Option<Counted>);

fn crowd(world: &mut World, count: u16) -> Vec<Entity> {
    let crowd = world.spawn_batch((0..count).map(|i| Place(f32::from(i))));
    for &entity in &crowd {
        assert_eq!(world.add_chunk_component::<Bounds>(entity), Ok(false));
    }
    world.check().expect("consistent");
    crowd
}

/// The entities of each chunk that has bounds.
fn chunks(world: &World) -> Vec<Vec<Entity>> {
    let bounded = |archetype: &&formic_ecs::Archetype| {
        (0..archetype.chunk_count())
            .any(|chunk| world.chunk_value::<Bounds>(archetype.entities(chunk)[0]).is_ok())
    };
    let chunks = world.archetypes().iter().filter(bounded);
    chunks
        .flat_map(|archetype| {
            (0..archetype.chunk_count()).map(|chunk| archetype.entities(chunk).to_vec())
        })
        .collect()
}

#[test]
fn all_rows_of_a_chunk_have_its_value_and_no_others() {
    let mut world = World::new();
    crowd(&mut world, MANY);
    let chunks = chunks(&world);
    assert!(chunks.len() >= 3);
    for (i, chunk) in (0_u16..).zip(&chunks) {
        *world.chunk_value_mut::<Bounds>(chunk[0]).expect("it has one") =
            Bounds { low: f32::from(i), high: 0.0 };
    }
    for (i, chunk) in (0_u16..).zip(&chunks) {
        for &entity in chunk {
            assert_eq!(world.chunk_value::<Bounds>(entity).map(|bounds| bounds.low), Ok(i.into()));
        }
    }
    for (entity, bounds) in world.query::<(Entity, ChunkValue<Bounds>)>() {
        let chunk = (0_u16..).zip(&chunks).find(|(i, _)| f32::from(*i) == bounds.low);
        assert!(chunk.expect("one of them").1.contains(&entity));
    }
    world.check().expect("consistent");
}

#[test]
fn what_was_not_set_reads_as_the_default() {
    let mut world = World::new();
    let entity = world.spawn(Place(1.0));
    world.add_chunk_component::<Mark>(entity).expect("alive");
    assert_eq!(world.chunk_value::<Mark>(entity), Ok(&Mark(100)));
    assert_eq!(world.query_ref::<ChunkValue<Mark>>().single(), Ok(&Mark(100)));
    world.chunk_value_mut::<Mark>(entity).expect("it has one").0 += 1;
    assert_eq!(world.chunk_value::<Mark>(entity), Ok(&Mark(101)));
    assert_eq!(world.add_chunk_component::<Mark>(entity), Ok(true), "it has one already");
    assert_eq!(world.chunk_value::<Mark>(entity), Ok(&Mark(101)));
}

#[test]
fn setting_a_value_moves_nobody() {
    let mut world = World::new();
    let crowd = crowd(&mut world, 10);
    let before = std::ptr::from_ref(world.get::<Place>(crowd[3]).expect("it has one"));
    world.chunk_value_mut::<Bounds>(crowd[3]).expect("it has one").low = 5.0;
    assert_eq!(std::ptr::from_ref(world.get::<Place>(crowd[3]).expect("it has one")), before);
}

#[test]
fn what_is_missing_is_an_error() {
    let mut world = World::new();
    let gone = world.spawn(());
    world.despawn(gone).expect("alive");
    let entity = world.spawn(Place(0.0));
    let no_entity = ComponentError::NoSuchEntity(NoSuchEntity(gone));
    assert_eq!(world.add_chunk_component::<Mark>(gone), Err(NoSuchEntity(gone)));
    assert_eq!(world.chunk_value::<Mark>(gone), Err(no_entity));
    assert_eq!(world.chunk_value_mut::<Mark>(gone), Err(no_entity));
    assert_eq!(world.remove_chunk_component::<Mark>(gone), Err(no_entity));
    let missing = |result| matches!(result, Err(ComponentError::Missing(_)));
    assert!(missing(world.chunk_value::<Mark>(entity).map(|_| ())));
    assert!(missing(world.chunk_value_mut::<Mark>(entity).map(|_| ())));
    assert!(missing(world.remove_chunk_component::<Mark>(entity)));
    world.add_chunk_component::<Mark>(entity).expect("alive");
    world.remove_chunk_component::<Mark>(entity).expect("it has one");
    assert!(missing(world.chunk_value::<Mark>(entity).map(|_| ())));
    assert_eq!(world.query_filtered::<Entity, WithChunkValue<Mark>>().count(), 0);
    world.check().expect("consistent");
}

#[test]
fn one_pass_works_out_all_values() {
    let mut world = World::new();
    crowd(&mut world, MANY);
    world.spawn(Place(-1.0));
    world.update_chunk_values::<Bounds, &Place>(|bounds, places| {
        *bounds = Bounds::default();
        places.for_each_run(|run| run.iter().for_each(|&place| bounds.include(place)));
    });
    for chunk in chunks(&world) {
        let bounds = *world.chunk_value::<Bounds>(chunk[0]).expect("it has one");
        let places = chunk.iter().map(|&entity| world.get::<Place>(entity).expect("a place").0);
        assert_eq!(bounds.low, places.clone().fold(f32::INFINITY, f32::min));
        assert_eq!(bounds.high, places.fold(f32::NEG_INFINITY, f32::max));
    }
    world.check().expect("consistent");
}

#[test]
fn the_pass_sees_enabled_rows_alone() {
    let mut world = World::new();
    let crowd = crowd(&mut world, 100);
    for &entity in &crowd {
        world.insert(entity, Visible).expect("alive");
        let place = world.get::<Place>(entity).expect("it has one").0;
        world.set_enabled::<Visible>(entity, place < 20.0).expect("it has a bit");
    }
    world.update_chunk_values::<Bounds, (&Place, &Visible)>(|bounds, rows| {
        rows.for_each(|(&place, _)| bounds.include(place));
    });
    let greatest = world.query::<ChunkValue<Bounds>>().map(|bounds| bounds.high);
    assert_eq!(greatest.fold(f32::NEG_INFINITY, f32::max), 19.0);
}

#[test]
fn chunks_that_are_not_wanted_are_not_entered() {
    let mut world = World::new();
    crowd(&mut world, MANY);
    world.spawn(Place(f32::from(MANY - 10)));
    world.update_chunk_values::<Bounds, &Place>(|bounds, places| {
        places.for_each(|&place| bounds.include(place));
    });
    let (mut asked, mut entered, mut found) = (0, 0, 0);
    let wanted = |bounds: &Bounds| {
        asked += 1;
        bounds.high >= f32::from(MANY - 10)
    };
    world.query::<&mut Place>().chunks_where(wanted, |chunk| {
        entered += 1;
        chunk.for_each(|place| found += usize::from(place.0 >= f32::from(MANY - 10)));
    });
    assert_eq!(asked, chunks(&world).len());
    assert!(entered < asked);
    assert_eq!(found, 10, "who has no bounds is passed over");
}

#[test]
fn a_chunk_that_empties_drops_its_value() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let crowd: Vec<_> = (0..MANY / 4).map(|i| world.spawn(Place(f32::from(i)))).collect();
    for &entity in &crowd {
        world.add_chunk_component::<Held>(entity).expect("alive");
    }
    let chunk_count =
        world.archetypes().iter().map(formic_ecs::Archetype::chunk_count).max().expect("some");
    world.update_chunk_values::<Held, Entity>(|held, _| held.0 = Some(ledger.value(1)));
    assert_eq!(ledger.live(), chunk_count);
    for (i, &entity) in crowd.iter().enumerate() {
        if i % 2 == 0 {
            world.despawn(entity).expect("alive");
        } else {
            world.remove_chunk_component::<Held>(entity).expect("it has one");
        }
        world.check().expect("consistent");
    }
    assert_eq!(ledger.live(), 0);
    world.add_chunk_component::<Held>(crowd[1]).expect("alive");
    assert!(world.chunk_value::<Held>(crowd[1]).expect("it has one").0.is_none(), "a fresh one");
}

#[test]
fn commands_that_empty_chunks_drop_their_values() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let crowd = world.spawn_batch((0..MANY / 4).map(|i| Place(f32::from(i))));
    for &entity in &crowd {
        world.add_chunk_component::<Held>(entity).expect("alive");
    }
    world.update_chunk_values::<Held, Entity>(|held, _| held.0 = Some(ledger.value(1)));
    assert!(ledger.live() > 1);
    let mut commands = CommandBuffer::new(&world);
    for (i, &entity) in crowd.iter().enumerate() {
        if i % 2 == 0 {
            commands.despawn(entity);
        } else {
            commands.insert(entity, Visible);
        }
    }
    let failures = commands.play(&mut world).failures().len();
    assert_eq!((failures, world.len()), (0, usize::from(MANY / 8)));
    world.check().expect("consistent");
    assert_eq!(ledger.live(), 0, "all have left the chunks that had values");
    assert!(world.query::<ChunkValue<Held>>().into_iter().all(|held| held.0.is_none()));
}

#[test]
fn clear_and_the_end_of_the_world_drop_the_values() {
    for clear in [true, false] {
        let ledger = Ledger::default();
        let mut world = World::new();
        for i in 0..u64::from(MANY / 4) {
            let entity = world.spawn(ledger.value(i));
            world.add_chunk_component::<Held>(entity).expect("alive");
        }
        world.update_chunk_values::<Held, Entity>(|held, _| held.0 = Some(ledger.value(1)));
        assert!(ledger.live() > usize::from(MANY / 4));
        if clear {
            world.clear();
            world.check().expect("consistent");
            assert_eq!(ledger.live(), 0);
        }
        drop(world);
        assert_eq!(ledger.live(), 0);
    }
}

#[test]
fn a_panicking_drop_of_a_value_leaves_the_world_in_order() {
    for operation in 0..3 {
        let ledger = Ledger::default();
        let mut world = World::new();
        let entity = world.spawn((Place(0.0), Visible));
        world.add_chunk_component::<Held>(entity).expect("alive");
        world.chunk_value_mut::<Held>(entity).expect("it has one").0 = Some(ledger.value(1));
        ledger.panic_at_drop(0);
        assert!(panics_as_planned(|| match operation {
            0 => world.despawn(entity).expect("alive"),
            1 => drop(world.remove::<Visible>(entity).expect("it has one")),
            _ => world.clear(),
        }));
        world.check().expect("consistent");
        assert_eq!((world.contains(entity), ledger.live()), (operation == 1, 0));
    }
}

#[test]
fn a_panicking_default_changes_nothing() {
    let mut world = World::new();
    let entity = world.spawn(Place(0.0));
    DEFAULT_PANICS.set(true);
    assert!(panics_as_planned(|| _ = world.add_chunk_component::<Mark>(entity)));
    world.check().expect("consistent");
    assert!(world.chunk_value::<Mark>(entity).is_err());
    DEFAULT_PANICS.set(false);
    world.add_chunk_component::<Mark>(entity).expect("alive");
    DEFAULT_PANICS.set(true);
    assert!(panics_as_planned(|| _ = world.chunk_value_mut::<Mark>(entity).is_ok()));
    assert!(panics_as_planned(|| world.update_chunk_values::<Mark, Entity>(|_, _| {})));
    world.check().expect("consistent");
    assert_eq!(world.chunk_value::<Mark>(entity), Ok(&Mark(100)));
    DEFAULT_PANICS.set(false);
}

#[test]
fn a_panic_in_the_pass_keeps_all_values() {
    let mut world = World::new();
    let crowd = crowd(&mut world, MANY);
    world.update_chunk_values::<Bounds, Entity>(|bounds, _| bounds.low = 1.0);
    let mut calls = 0;
    assert!(panics_as_planned(|| world.update_chunk_values::<Bounds, Entity>(|bounds, _| {
        bounds.low = 2.0;
        calls += 1;
        assert!(calls < 3, "planned: pass");
    })));
    world.check().expect("consistent");
    let low = |entity| world.chunk_value::<Bounds>(entity).expect("it has one").low;
    let twos = chunks(&world).iter().filter(|chunk| low(chunk[0]) == 2.0).count();
    assert_eq!(twos, 3);
    assert!(crowd.iter().all(|&entity| low(entity) > 0.0));
}

#[test]
fn the_state_hash_does_not_depend_on_chunk_values() {
    let mut world = World::new();
    let crowd = crowd(&mut world, 10);
    let before = world.state_hash();
    world.chunk_value_mut::<Bounds>(crowd[0]).expect("it has one").low = 3.0;
    assert_eq!(world.state_hash(), before, "where rows are is no part of the state");
    world.remove_chunk_component::<Bounds>(crowd[0]).expect("it has one");
    assert_ne!(world.state_hash(), before, "but that it is there is");
}

#[test]
fn a_clone_that_panics_leaves_the_values_of_chunks_alone() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let prefab = world.spawn(ledger.value(1));
    world.add_chunk_component::<Mark>(prefab).expect("alive");
    world.chunk_value_mut::<Mark>(prefab).expect("it has one").0 = 7;
    ledger.panic_at_clone(2);
    assert!(panics_as_planned(|| drop(world.instantiate(prefab, 5))));
    assert_eq!(world.query::<ChunkValue<Mark>>().count(), 3);
    assert_eq!(world.chunk_value::<Mark>(prefab), Ok(&Mark(7)));
    world.check().expect("consistent");
}

#[test]
fn copies_are_in_chunks_that_have_a_value() {
    let mut world = World::new();
    let entity = world.spawn(Place(1.0));
    world.add_chunk_component::<Bounds>(entity).expect("alive");
    let copies = world.instantiate(entity, usize::from(MANY / 4)).expect("it is Clone");
    assert!(copies.iter().all(|&copy| world.chunk_value::<Bounds>(copy).is_ok()));
    world.check().expect("consistent");
}
