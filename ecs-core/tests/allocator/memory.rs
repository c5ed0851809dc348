//! Memory that a world takes, and gives back.

use formic_ecs::prelude::*;
use formic_ecs::{ArchetypeId, Changed};

use crate::BYTES;

/// What this thread holds more than when it had `before`.
fn bytes_since(before: isize) -> isize {
    BYTES.get() - before
}

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Position([f32; 3]);

#[derive(Component, Clone, Copy)]
#[component(enableable, tracked)]
struct Fuel(u64);

/// A different type for every number.
#[derive(Clone, Copy)]
struct Nth<const N: usize>(usize);
impl<const N: usize> Component for Nth<N> {
    const HASH: formic_ecs::HashRule<Self> =
        formic_ecs::HashRule::Fields(|nth, hasher| hasher.write_u64(nth.0 as u64));
}

/// Gives an entity the components whose bits are set in `set`.
fn equip(world: &mut World, entity: Entity, set: usize) {
    macro_rules! each {
        ($($bit:literal)*) => {
            $(
                if set & (1 << $bit) != 0 {
                    world.insert(entity, Nth::<$bit>(set)).expect("alive");
                }
            )*
        };
    }
    each!(0 1 2 3 4 5 6 7 8 9 10 11 12 13);
}

/// Entities with a component set each, of up to fourteen components.
fn diverse(world: &mut World, sets: std::ops::Range<usize>) -> Vec<Entity> {
    sets.map(|set| {
        let entity = world.spawn(());
        equip(world, entity, set);
        entity
    })
    .collect()
}

#[test]
fn ten_thousand_archetypes_of_one_entity_stay_small_and_come_back() {
    let sets = if cfg!(miri) { 60 } else { 10_000 };
    let before = BYTES.get();
    let mut world = World::new();
    let all = diverse(&mut world, 0..sets);
    assert!(world.archetypes().len() >= sets);
    let told = isize::try_from(world.stats().total_bytes()).expect("fits");
    let most = isize::try_from(sets * 64 * 1024 * 1024 / 10_000).expect("fits");
    let allocated = bytes_since(before);
    if !cfg!(miri) {
        assert!(told < most, "{told}");
        assert!(allocated < most, "{allocated}");
        // Bundles, transitions and the map of sets are beside what is told.
        assert!(told * 2 > allocated, "{told} of {allocated}");
    }
    for (set, &entity) in all.iter().enumerate().skip(1).step_by(97) {
        let low = set.trailing_zeros();
        assert_eq!(world.components_of(entity).expect("alive").len(), set.count_ones() as usize);
        if low == 0 {
            assert_eq!(world.get::<Nth<0>>(entity).expect("there").0, set);
        }
    }
    for entity in all {
        world.despawn(entity).expect("alive");
    }
    assert!(world.collect_archetypes() >= sets - 1);
    assert_eq!(world.archetypes().len(), 1);
    world.compact();
    world.check().expect("in order");
    let table = isize::try_from(world.stats().table_bytes).expect("fits");
    let left = bytes_since(before) - table;
    assert!(left < 8 * 1024, "{left} bytes are left");
}

/// What a world allocates for entities with a component set each, all of them with this component.
fn bytes_with<T: Component + Copy>(component: T, sets: usize) -> isize {
    let before = BYTES.get();
    let mut world = World::new();
    for set in 0..sets {
        let entity = world.spawn(component);
        equip(&mut world, entity, set);
    }
    assert!(world.archetypes().len() >= sets);
    bytes_since(before)
}

#[test]
fn an_enableable_component_costs_archetypes_of_one_entity_a_few_words_each() {
    #[derive(Component, Clone, Copy)]
    struct Plain(u32);
    #[derive(Component, Clone, Copy)]
    #[component(enableable)]
    struct Enableable(u32);
    let sets = if cfg!(miri) { 60 } else { 10_000 };
    let (without, with) = (bytes_with(Plain(1), sets), bytes_with(Enableable(1), sets));
    let each = (with - without) / isize::try_from(sets).expect("fits");
    // A first block has less than 128 rows, and a list room for four words at least. Transitions have
    // the bits that go along on a list of theirs.
    assert!(each <= 100, "{each} bytes for each archetype, {without} to {with}");
}

#[test]
fn stats_tell_what_is_there() {
    let mut world = World::new();
    drop(world.spawn_batch((0..1000).map(|_| Position([0.0; 3]))));
    drop(world.spawn_batch((0..10).map(|i| (Position([1.0; 3]), Fuel(i)))));
    let stats = world.stats();
    assert_eq!((stats.entity_count, stats.slot_count), (1010, 1010));
    assert_eq!(stats.archetypes.len(), world.archetypes().len());
    let positions = stats.archetypes.iter().find(|line| line.entity_count == 1000).expect("there");
    assert_eq!(positions.components, [Position::name()]);
    assert_eq!((positions.row_bytes, positions.used_bytes()), (20, 20_000));
    assert!(positions.capacity >= 1000 && positions.block_bytes >= 20_000);
    assert_eq!(stats.used_bytes(), 20_000 + 10 * 28);
    assert!(stats.utilisation() > 0.3 && stats.utilisation() <= 1.0);
    let blocks: usize = world.archetypes().iter().map(|archetype| archetype.block_bytes()).sum();
    assert_eq!(stats.block_bytes(), blocks);
    let table = stats.to_string();
    assert!(table.starts_with("1010 entities in "), "{table}");
    assert_eq!(table.lines().count(), 3 + stats.archetypes.len());
    assert!(table.contains("Position, "), "{table}");
}

#[test]
fn what_stats_tell_is_what_is_allocated() {
    let before = BYTES.get();
    let mut world = World::new();
    drop(world.spawn_batch(
        (0..if cfg!(miri) { 500 } else { 50_000 }).map(|i| (Position([0.0; 3]), Fuel(i))),
    ));
    world.compact();
    let (told, allocated) = (world.stats().total_bytes(), bytes_since(before));
    let told = isize::try_from(told).expect("fits");
    assert!(told <= allocated, "{told} of {allocated}");
    assert!(cfg!(miri) || told * 10 > allocated * 8, "{told} of {allocated}");
}

#[test]
fn compact_gives_back_what_a_peak_has_left() {
    let rows = if cfg!(miri) { 300 } else { 100_000 };
    let before = BYTES.get();
    let mut world = World::new();
    let kept = world.spawn(Position([7.0; 3]));
    let all = world.spawn_batch((0..rows).map(|i| (Position([0.0; 3]), Fuel(i))));
    let peak = bytes_since(before);
    for &entity in &all[1..] {
        world.despawn(entity).expect("alive");
    }
    assert!(bytes_since(before) > peak / 2, "blocks are kept for the next to come");
    world.compact();
    world.check().expect("in order");
    let stats = world.stats();
    assert_eq!((stats.pool_bytes, stats.spare_chunk_count()), (0, 0));
    assert_eq!(world.get::<Position>(kept), Ok(&Position([7.0; 3])));
    assert!(world.has::<Fuel>(all[0]));
    // The table keeps the generations of the slots: what was once may not come back.
    let table = isize::try_from(stats.table_bytes).expect("fits");
    let left = bytes_since(before) - table - isize::try_from(all.capacity() * 8).expect("fits");
    assert!(left < 64 * 1024, "{left} bytes are left");

    let again = world.spawn_batch((0..rows).map(|i| (Position([0.0; 3]), Fuel(i))));
    world.check().expect("in order");
    assert_eq!(again.len(), all.len());
}

#[test]
fn a_few_that_are_left_of_many_sit_in_a_small_first_chunk() {
    #[derive(Component, Clone)]
    struct Tag;
    let rows = if cfg!(miri) { 300 } else { 50_000 };
    let mut world = World::new();
    let mut all = world.spawn_batch((0..3).map(|_| Position([1.0; 3])));
    let small = world.stats().block_bytes();
    all.extend(world.spawn_batch((0..rows).map(|_| Position([2.0; 3]))));
    // Once the rows are where they were spawned, once their chunks have changed hands as a whole.
    for step in 0..2 {
        if step == 1 {
            all.extend(world.spawn_batch((0..rows).map(|_| Position([2.0; 3]))));
            assert_eq!(world.bulk::<With<Position>>().insert(Tag), all.len());
        }
        // The first ones go: those that stay came from the largest chunks.
        for entity in all.drain(..all.len() - 3) {
            world.despawn(entity).expect("alive");
        }
        assert!(world.stats().total_bytes() > 10 * small, "kept for the next to come");
        world.compact();
        world.check().expect("in order");
        assert_eq!(world.stats().block_bytes(), small);
    }
}

#[test]
fn compact_on_a_new_world_changes_nothing() {
    let mut world = World::new();
    world.compact();
    assert_eq!(world.collect_archetypes(), 0);
    let entity = world.spawn(Position([0.0; 3]));
    world.compact();
    world.check().expect("in order");
    assert!(world.contains(entity));
}

#[test]
fn entities_are_where_they_were_when_archetypes_before_theirs_have_gone() {
    let mut world = World::new();
    let sets = if cfg!(miri) { 40 } else { 600 };
    let all = diverse(&mut world, 0..sets);
    let crowd = world.spawn_batch((0..500).map(|i| (Nth::<20>(i), Position([0.0; 3]))));
    for (set, &entity) in all.iter().enumerate() {
        if set % 3 != 0 {
            world.despawn(entity).expect("alive");
        }
    }
    let hash = world.state_hash();
    let order: Vec<Entity> = world.entities().collect();
    assert!(world.collect_archetypes() > 0);
    world.check().expect("in order");
    assert!(world.archetypes().iter().skip(1).all(|archetype| !archetype.is_empty()));
    assert!(world.entities().eq(order));
    assert_eq!(world.state_hash(), hash);
    for (i, &entity) in (0..).zip(&crowd) {
        assert_eq!(world.get::<Nth<20>>(entity).expect("there").0, i);
    }
    // And everything goes on.
    for &entity in &crowd {
        world.insert(entity, Nth::<0>(1)).expect("alive");
    }
    drop(diverse(&mut world, 0..sets));
    world.check().expect("in order");
    assert_eq!(world.query::<(&Nth<20>, &Nth<0>)>().count(), 500);
}

#[test]
fn plans_and_bundles_notice_that_archetypes_have_gone() {
    let mut world = World::new();
    let gone = [world.spawn(Nth::<0>(1)), world.spawn((Nth::<1>(1), Nth::<0>(2)))];
    let stays = world.spawn((Position([1.0; 3]), Nth::<1>(5)));
    let mut plan = world.plan::<&Nth<1>>();
    let mut view = world.view_plan::<&Nth<1>>();
    let mut claims = world.claim_plan::<&mut Nth<1>>();
    let mut rows = world.plan::<Claimant<'_>>();
    let mut changes = world.plan_filtered::<&Nth<1>, Changed<Nth<1>>>();
    let mut look = |world: &mut World| {
        let cached = world.query::<&Nth<1>>().count();
        let cell = world.cell();
        let planned = cell.query(&mut plan).expect("free").query().count();
        let viewed = cell.view(&mut view).expect("free").get(stays).expect("there").0;
        let claims = cell.claims(&mut claims).expect("free");
        let mut rows = cell.query(&mut rows).expect("free");
        let row = rows.query().into_get(stays).expect("alive");
        let claimed = claims.claim(&row, stays).expect("there").get_mut().0;
        drop(claims);
        let changed = cell.query(&mut changes).expect("free").query().count();
        (cached, planned, viewed, claimed, changed)
    };
    assert_eq!(look(&mut world), (2, 2, 5, 5, 2));
    for entity in gone {
        world.despawn(entity).expect("alive");
    }
    let ids = |world: &World| world.archetypes().iter().map(|archetype| archetype.id()).collect();
    let before: Vec<ArchetypeId> = ids(&world);
    assert_eq!(world.collect_archetypes(), 2);
    let after: Vec<ArchetypeId> = ids(&world);
    assert_eq!(after[..], before[..after.len()], "ids are places in the list");
    // A claim in the round before counts as a change, as any that may have written.
    assert_eq!(look(&mut world), (1, 1, 5, 5, 1));
    let other = world.spawn(Nth::<0>(7));
    assert_eq!(world.get::<Nth<0>>(other).expect("there").0, 7);
    world.insert(stays, Nth::<0>(8)).expect("alive");
    assert_eq!(look(&mut world), (1, 1, 5, 5, 1));
    assert_eq!(world.remove::<(Nth<0>, Nth<1>)>(stays).expect("both").0.0, 8);
    world.check().expect("in order");
}
