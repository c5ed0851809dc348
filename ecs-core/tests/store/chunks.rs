//! Chunks: rows of every size and alignment, at every border.

use formic_ecs::Bundle;
use formic_ecs::prelude::*;

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Number(u64);

const HUGE: usize = if cfg!(any(miri, formic_small_blocks)) { 160 } else { 5 * 1024 };

/// Larger than any ordinary block.
#[derive(Component, Clone)]
struct Huge([u64; HUGE]);

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[repr(align(64))]
struct Line(u8);

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[repr(align(4096))]
struct Page(u8);

#[derive(Component, Clone)]
struct Empty;

#[derive(Component, Clone)]
#[repr(align(64))]
struct EmptyLine;

#[derive(Component, Clone)]
#[component(enableable)]
#[repr(align(4096))]
struct EmptyPage;

#[derive(Component, Clone)]
#[component(enableable)]
struct On(u8);

fn address<T>(value: &T) -> usize {
    std::ptr::from_ref(value).addr()
}

/// How many rows the first chunks of an archetype of `B` have.
fn capacities<B: Bundle + Clone>(bundle: B, chunks: usize) -> Vec<usize> {
    let mut world = World::new();
    let mut found = Vec::new();
    for chunk in 0..chunks {
        _ = world.spawn(bundle.clone());
        let archetype = world.archetypes().last().expect("the one of the bundle");
        let (len, capacity) = archetype.chunk_fill(chunk);
        assert_eq!(len, 1, "the spawn opened a new chunk");
        found.push(capacity);
        drop(world.spawn_batch((1..capacity).map(|_| bundle.clone())));
    }
    world.check().expect("consistent");
    found
}

#[test]
fn rows_larger_than_a_block_get_a_block_each() {
    let mut world = World::new();
    let huge = |i| Huge(std::array::from_fn(|place| i * 10_000 + place as u64));
    let all = world.spawn_batch((0..4).map(|i| (huge(i), Number(i))));
    let archetype = world.archetypes().last().expect("the one of Huge");
    assert_eq!(archetype.chunk_count(), 4);
    assert_eq!(archetype.chunk_fill(3), (1, 1));
    assert!(archetype.block_bytes() >= 4 * size_of::<Huge>());
    world.despawn(all[1]).expect("alive");
    assert_eq!(world.remove::<Number>(all[0]), Ok(Number(0)));
    for (i, &entity) in (0..).zip(&all).filter(|(i, _)| *i != 1) {
        assert!(world.get::<Huge>(entity).expect("alive").0 == huge(i).0);
    }
    world.check().expect("consistent");
}

#[test]
fn columns_are_aligned_as_their_types_ask() {
    let mut world = World::new();
    let bundle = |i: u8| (Number(i.into()), Page(i), Line(i), EmptyPage, EmptyLine);
    let all = world.spawn_batch((0..30).map(bundle));
    for (i, &entity) in (0_u8..).zip(&all) {
        let query = world.query_one::<(&Number, &Page, &Line, &EmptyPage, &EmptyLine)>(entity);
        let (number, page, line, empty_page, empty_line) = query.expect("it has all");
        assert_eq!((number.0, page.0, line.0), (i.into(), i, i));
        assert_eq!(address(page) % 4096, 0);
        assert_eq!(address(line) % 64, 0);
        assert_eq!(address(empty_page) % 4096, 0);
        assert_eq!(address(empty_line) % 64, 0);
    }
    world.query::<(&Page, &EmptyPage)>().for_each_chunk(|(pages, empty)| {
        assert_eq!(pages.len(), empty.len());
        assert_eq!(pages.as_ptr().addr() % 4096, 0);
        assert_eq!(empty.as_ptr().addr() % 4096, 0);
    });
    for &entity in all.iter().step_by(2) {
        world.despawn(entity).expect("alive");
    }
    for (i, &entity) in (0..).zip(&all).filter(|(i, _)| i % 2 == 1) {
        assert_eq!(world.get(entity), Ok(&Page(i)));
    }
    world.check().expect("consistent");
}

#[test]
fn columns_start_at_a_cache_line() {
    let mut world = World::new();
    drop(world.spawn_batch((0..1000).map(|i| (On(1), Number(i)))));
    let mut chunks = 0;
    world.query::<(&On, &Number)>().for_each_chunk(|(on, numbers)| {
        assert_eq!(on.as_ptr().addr() % 64, 0);
        assert!(on.iter().all(|on| on.0 == 1));
        assert_eq!(numbers.as_ptr().addr() % 64, 0);
        chunks += 1;
    });
    assert!(chunks > 2);
}

#[test]
fn archetypes_of_nothing_but_empty_types_work() {
    let mut world = World::new();
    let all = world.spawn_batch((0..300).map(|_| (Empty, EmptyLine, EmptyPage)));
    assert_eq!(world.query::<(&Empty, &mut EmptyLine, &EmptyPage)>().count(), 300);
    _ = world.set_enabled::<EmptyPage>(all[7], false).expect("it has one");
    assert_eq!(world.query::<&EmptyPage>().count(), 299);
    world.despawn(all[0]).expect("alive");
    assert_eq!(world.is_enabled::<EmptyPage>(all[7]), Ok(false));
    drop(world.instantiate(all[7], 3).expect("all are Clone"));
    assert_eq!(world.query_filtered::<Entity, Disabled<EmptyPage>>().count(), 4);
    let mut total = 0;
    world.query::<&EmptyLine>().for_each_chunk(|slice| total += slice.len());
    assert_eq!(total, 302);
    world.check().expect("consistent");
}

#[test]
fn zero_sized_values_are_dropped_as_often_as_they_are_made() {
    use std::cell::Cell;
    thread_local!(static LIVE: Cell<i64> = const { Cell::new(0) });
    #[derive(Component)]
    #[repr(align(64))]
    struct Ghost;
    impl Ghost {
        fn new() -> Self {
            LIVE.set(LIVE.get() + 1);
            Self
        }
    }
    impl Clone for Ghost {
        fn clone(&self) -> Self {
            Self::new()
        }
    }
    impl Drop for Ghost {
        fn drop(&mut self) {
            LIVE.set(LIVE.get() - 1);
        }
    }

    let mut world = World::new();
    let all = world.spawn_batch((0..20).map(|i| (Ghost::new(), Number(i))));
    assert_eq!(LIVE.get(), 20);
    world.despawn(all[3]).expect("alive");
    drop(world.remove::<Ghost>(all[4]).expect("it has one"));
    world.insert(all[5], Ghost::new()).expect("alive");
    assert_eq!(LIVE.get(), 18);
    drop(world.instantiate(all[6], 2).expect("Ghost is Clone"));
    let mut commands = CommandBuffer::new(&world);
    _ = commands.spawn(Ghost::new());
    commands.insert(all[3], Ghost::new());
    assert_eq!(LIVE.get(), 22);
    drop(commands.play(&mut world));
    assert_eq!(LIVE.get(), 21, "the one for the dead entity is gone");
    world.check().expect("consistent");
    drop(world);
    assert_eq!(LIVE.get(), 0);
}

/// Spawns, switches off, despawns and moves at one fill of the world.
fn at_fill(count: usize) {
    let mut world = World::new();
    let all = world.spawn_batch((0..count as u64).map(|i| (Number(i), On(1))));
    assert_eq!(world.len(), count);
    world.check().expect("consistent");

    for &entity in all.iter().step_by(3) {
        assert_eq!(world.set_enabled::<On>(entity, false), Ok(true));
    }
    let off = count.div_ceil(3);
    assert_eq!(world.query::<&On>().count(), count - off);
    assert_eq!(world.query_filtered::<(), Disabled<On>>().count(), off);
    assert_eq!(world.query_filtered::<&Number, Present<On>>().count(), count);
    let mut seen = 0;
    world.query_filtered::<&Number, With<On>>().for_each_chunk(|numbers| {
        assert!(numbers.iter().all(|number| number.0 % 3 != 0));
        seen += numbers.len();
    });
    assert_eq!(seen, count - off);
    world.check().expect("consistent");

    // From both ends and the middle, so that rows of every chunk fill holes of every other.
    for index in [0, count / 2, count - 1, count / 3] {
        if world.contains(all[index]) {
            world.despawn(all[index]).expect("just seen");
            world.check().expect("consistent");
        }
    }
    for (i, &entity) in (0..).zip(&all) {
        if world.contains(entity) {
            assert_eq!(world.get(entity), Ok(&Number(i)));
            assert_eq!(world.is_enabled::<On>(entity), Ok(i % 3 != 0));
        }
    }
    for &entity in &all {
        if world.contains(entity) {
            _ = world.remove::<On>(entity).expect("each has one");
        }
    }
    assert_eq!(world.query::<&Number>().count(), world.len());
    world.check().expect("consistent");
}

#[test]
fn words_of_the_mask_meet_without_a_seam() {
    // Under Miri no chunk has more rows than a word has bits.
    let counts: &[usize] =
        if cfg!(miri) { &[1, 2, 65] } else { &[1, 2, 63, 64, 65, 127, 128, 129, 191, 192, 193] };
    counts.iter().copied().for_each(at_fill);
}

#[test]
fn chunks_meet_without_a_seam() {
    let capacities = capacities((Number(0), On(0)), if cfg!(miri) { 2 } else { 3 });
    let mut borders = Vec::new();
    let mut full = 0;
    for capacity in capacities {
        full += capacity;
        borders.extend([full - 1, full, full + 1]);
    }
    borders.into_iter().filter(|&count| count > 0).for_each(at_fill);
}

#[test]
fn chunks_of_one_block_and_of_two_meet_without_a_seam() {
    let capacities = capacities((Number(0), On(0)), if cfg!(miri) { 5 } else { 8 });
    let after = |chunks| capacities[..chunks].iter().sum::<usize>();
    // The fifth chunk is the first of a block with several.
    let borders: &[usize] = if cfg!(miri) { &[5] } else { &[4, 5, 7] };
    for full in borders.iter().map(|&chunks| after(chunks)) {
        [full - 1, full, full + 1].into_iter().for_each(at_fill);
    }
}

#[test]
fn the_rows_of_a_large_block_lie_side_by_side() {
    let mut world = World::new();
    let count = if cfg!(any(miri, formic_small_blocks)) { 600_u64 } else { 30_000 };
    drop(world.spawn_batch((0..count).map(|i| (Number(i), On(0)))));
    let (mut ends, mut neighbours, mut expected) = (Vec::new(), 0, 0);
    world.query::<(&Number, &On)>().for_each_chunk(|(numbers, on)| {
        assert!(
            numbers.iter().map(|number| number.0).eq(expected..expected + numbers.len() as u64)
        );
        expected += numbers.len() as u64;
        let starts = (numbers.as_ptr_range(), on.as_ptr_range());
        if let Some((number, on)) = ends.last() {
            neighbours += usize::from((*number, *on) == (starts.0.start, starts.1.start));
        }
        ends.push((starts.0.end, starts.1.end));
    });
    assert_eq!(expected, count);
    let borders = ends.len() - 1;
    assert!(neighbours * 3 > borders, "{neighbours} of {borders} borders are inside of a block");
    world.check().expect("consistent");
}

#[test]
fn the_first_chunks_of_an_archetype_are_smaller() {
    let found = capacities((Number(0), On(0)), 4);
    assert!(found.is_sorted() && found[2] == found[3], "{found:?}");
    // Of tiny blocks the fractions are too small for a row.
    let tiny = cfg!(any(miri, formic_small_blocks));
    assert!(tiny || found[0] < found[1] && found[1] < found[2], "{found:?}");
}

#[test]
fn a_row_that_comes_and_goes_at_a_border_keeps_one_spare_chunk() {
    let mut world = World::new();
    let capacity = capacities(Number(0), 1)[0];
    let all = world.spawn_batch((0..capacity as u64).map(Number));
    let bytes = |world: &World| world.archetypes().last().expect("Number's").block_bytes();
    let over = world.spawn(Number(0));
    let with_spare = bytes(&world);
    for _ in 0..10 {
        world.despawn(over).ok();
        assert_eq!(bytes(&world), with_spare);
        let again = world.spawn(Number(0));
        world.despawn(again).expect("alive");
    }
    all.iter().for_each(|&entity| world.despawn(entity).expect("alive"));
    assert_eq!(world.archetypes().last().map(|archetype| archetype.chunk_count()), Some(0));
    assert!(bytes(&world) <= with_spare);
    world.check().expect("consistent");
}

#[test]
fn memory_of_a_world_that_fills_and_empties_again_does_not_grow() {
    const COUNT: u64 = if cfg!(miri) { 50 } else { 500 };
    let mut world = World::new();
    let bytes = |world: &World| -> usize {
        world.archetypes().iter().map(|archetype| archetype.block_bytes()).sum()
    };
    let mut most = 0;
    for round in 0..if cfg!(miri) { 2 } else { 8 } {
        let all = world.spawn_batch((0..COUNT).map(|i| (Number(i), Line(1))));
        for &entity in &all {
            world.insert(entity, On(1)).expect("alive");
        }
        if round == 0 {
            most = bytes(&world);
        }
        assert_eq!(bytes(&world), most, "round {round}");
        if round % 2 == 0 {
            world.clear();
        } else {
            all.iter().for_each(|&entity| world.despawn(entity).expect("alive"));
        }
        world.check().expect("consistent");
    }
}

/// Which chunks count as changed, going by `Number`, which has no versions of rows.
fn changed_chunks(world: &mut World, since: u64) -> Vec<usize> {
    let query = world.query_filtered::<Entity, Changed<Number>>().since(since);
    let found: Vec<Entity> = query.into_iter().collect();
    let mut chunks: Vec<_> =
        found.iter().map(|&entity| world.place_of(entity).expect("alive").chunk).collect();
    chunks.dedup();
    chunks
}

#[test]
fn a_chunk_that_gives_its_last_row_to_a_hole_in_another_has_changed() {
    #[derive(Component, Clone)]
    struct Moved;
    type Leave = fn(&mut World, Entity);
    let leave: [Leave; 5] = [
        |world, entity| world.despawn(entity).expect("alive"),
        |world, entity| world.insert(entity, Moved).expect("alive"),
        |world, entity| _ = world.remove::<Number>(entity).expect("it has it"),
        // Several commands on one entity.
        |world, entity| {
            let mut commands = CommandBuffer::new(world);
            commands.insert(entity, On(1));
            commands.insert(entity, Moved);
            assert!(commands.play(world).failures().is_empty());
        },
        // One command is a run.
        |world, entity| {
            let mut commands = CommandBuffer::new(world);
            commands.insert(entity, Moved);
            assert!(commands.play(world).failures().is_empty());
        },
    ];
    for leave in leave {
        let mut world = World::new();
        let all = world.spawn_batch((0..if cfg!(miri) { 200 } else { 3000 }).map(Number));
        let archetype = world.place_of(all[0]).expect("alive").archetype.index();
        let last = world.archetypes()[archetype].chunk_count() - 1;
        assert!(last > 1 && world.archetypes()[archetype].chunk_fill(last).0 > 1);
        let before = world.version();
        leave(&mut world, all[0]);
        let mut chunks = changed_chunks(&mut world, before);
        chunks.sort_unstable();
        chunks.dedup();
        assert_eq!(chunks, [0, last], "the one with the hole, and the one that filled it");
        world.check().expect("consistent");
    }
}
