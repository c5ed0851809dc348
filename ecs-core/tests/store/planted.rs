//! Mistakes that were planted and that no other test has found.

use formic_ecs::prelude::*;
use formic_ecs::{CommandFailureReason, DynamicQuery, ParallelScratch};

#[derive(Component, Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Number(u64);

#[derive(Component, Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[component(tracked)]
#[repr(C)]
struct Exact(u64);

#[derive(Component)]
#[component(enableable)]
struct On;

#[derive(Component)]
#[component(enableable)]
struct Doomed;

const COUNT: u64 = if cfg!(miri) { 600 } else { 3000 };

/// The rows that fill a hole of more than 64 rows bring all their bits.
#[test]
fn bits_of_a_long_run_that_fills_a_hole_come_along() {
    let count = usize::try_from(COUNT).expect("small");
    for first_off in 0..90 {
        let mut world = World::new();
        let all = world.spawn_batch((0..COUNT).map(|i| (Number(i), On, Doomed)));
        let is_on = |i: usize| i < count / 2 || i % 90 != first_off;
        for (i, &entity) in all.iter().enumerate() {
            world.set_enabled::<On>(entity, is_on(i)).expect("it has one");
            let is_doomed = (count / 4..count / 4 + 300).contains(&i);
            world.set_enabled::<Doomed>(entity, is_doomed).expect("it has one");
        }
        assert_eq!(world.bulk::<With<Doomed>>().despawn(), 300);
        for (i, &entity) in all.iter().enumerate().filter(|(_, it)| world.contains(**it)) {
            assert_eq!(world.is_enabled::<On>(entity), Ok(is_on(i)), "entity {i}");
        }
    }
}

/// The place of a chunk among all does not depend on which of them are skipped, however they are
/// walked: it is a sort key.
#[test]
fn chunks_that_are_skipped_have_a_place_in_the_order() {
    let mut world = World::new();
    let all = world.spawn_batch((0..COUNT).map(|i| (Number(i), On)));
    world.spawn_batch((0..10).map(|i| (Exact(i), Number(i), On)));
    for &entity in &all[..all.len() / 2] {
        world.set_enabled::<On>(entity, false).expect("it has one");
    }
    let mut walked = Vec::new();
    world.query_filtered::<&Number, With<On>>().chunks(|chunk| walked.push(chunk.ordinal()));
    assert!(walked[0] > 0, "the first is skipped");
    let mut scratch = ParallelScratch::default();
    let mut query = world.query_filtered::<&Number, With<On>>();
    let chunks = query.parallel(&mut scratch);
    let taken = (0..chunks.len()).filter_map(|index| chunks.take(index));
    assert_eq!(taken.map(|chunk| chunk.ordinal()).collect::<Vec<_>>(), walked);
}

/// When values were changed and added is the same in a world that was restored, whichever query asks since
/// when, by rows and by chunks.
#[test]
fn versions_of_rows_and_chunks_are_restored() {
    fn found(world: &mut World, since: u64) -> [Vec<Entity>; 4] {
        [
            world.query_filtered::<Entity, Changed<Exact>>().since(since).into_iter().collect(),
            world.query_filtered::<Entity, Added<Exact>>().since(since).into_iter().collect(),
            world.query_filtered::<Entity, Changed<Number>>().since(since).into_iter().collect(),
            world.query_filtered::<Entity, Added<Number>>().since(since).into_iter().collect(),
        ]
    }
    let mut world = World::new();
    let all = world.spawn_batch((0..COUNT / 4).map(|i| (Exact(i), Number(i))));
    let bare = world.spawn_batch((0..COUNT / 4).map(|i| (Number(i),)));
    world.get_mut::<Exact>(all[7]).expect("alive").0 += 1;
    world.get_mut::<Number>(all[0]).expect("alive").0 += 1;
    for &entity in &bare[..3] {
        world.insert(entity, Exact(3)).expect("alive");
    }
    world.get_mut::<Exact>(bare[1]).expect("alive").0 += 1;
    world.despawn(all[5]).expect("alive");
    world.get_mut::<Number>(bare[9]).expect("alive").0 += 1;
    let saved = world.snapshot().expect("plain values");
    let mut other = World::new();
    other.register::<Exact>();
    other.register::<Number>();
    other.restore(&saved).expect("a snapshot");
    for since in 0..=world.version() {
        assert_eq!(found(&mut other, since), found(&mut world, since), "since {since}");
    }
}

/// What was deferred before a buffer was cleared is unowned afterwards.
#[test]
fn a_handle_of_a_cleared_buffer_is_foreign() {
    let mut world = World::new();
    let mut commands = CommandBuffer::new(&world);
    let old = commands.spawn(Number(1));
    commands.clear();
    let new = commands.spawn(Number(2));
    assert_ne!(old, new);
    commands.insert(old, Number(3));
    let playback = commands.play(&mut world);
    assert_eq!(playback.failures().len(), 1);
    assert_eq!(playback.failures()[0].reason, CommandFailureReason::ForeignDeferred);
    assert_eq!(world.query::<&Number>().first(), Some(&Number(2)));
    commands.insert(new, Number(4));
    assert_eq!(commands.play(&mut world).failures().len(), 1, "playing clears as well");
}

/// What was written at a version has not changed since then, by id as well.
#[test]
fn a_chunk_has_not_changed_since_the_version_at_which_it_was_written() {
    let mut world = World::new();
    // Few enough for one chunk, however small the blocks are.
    let all = world.spawn_batch((0..2).map(Number));
    let id = world.register::<Number>();
    let mut news = DynamicQuery::builder().read(id).changed(id).build(&world).expect("known");
    let before = world.version();
    world.get_mut::<Number>(all[1]).expect("alive").0 += 1;
    let now = world.version();
    let rows = world.query_by_id(&mut news).expect("this world");
    assert_eq!(rows.since(before).count(), 2, "by the chunk");
    let rows = world.query_by_id(&mut news).expect("this world");
    assert_eq!(rows.since(now).count(), 0);
}

/// A view that was asked before finds values, and stamps what it writes, where a chunk has gone to
/// another archetype as it is, and where another chunk has its number.
#[test]
fn a_view_follows_chunks_that_change_hands_and_numbers_that_are_used_again() {
    #[derive(Component, Clone)]
    struct Tag;
    #[derive(Component)]
    struct Other;

    fn write_all(world: &mut World, all: &[Entity]) {
        let before = world.version();
        let mut view = world.view::<(&mut Number, &mut Exact)>();
        for &entity in all {
            let (number, exact) = view.get_mut(entity).expect("it has both");
            assert_eq!(number.0, exact.0);
            (number.0, exact.0) = (number.0 + 1, exact.0 + 1);
        }
        drop(view);
        let found = world.query_filtered::<(), Changed<Number>>().since(before).count();
        assert!(found >= all.len(), "{found} of {}", all.len());
        let found = world.query_filtered::<(), Changed<Exact>>().since(before).count();
        assert_eq!(found, all.len());
        world.check().expect("in order");
    }

    let mut world = World::new();
    let mut all = world.spawn_batch((0..COUNT).map(|i| (Number(i), Exact(i), On)));
    write_all(&mut world, &all);
    assert_eq!(world.bulk::<With<Number>>().insert(Tag), all.len());
    write_all(&mut world, &all);
    assert_eq!(world.bulk::<With<Number>>().remove::<Tag>(), all.len());
    write_all(&mut world, &all);
    for entity in all.drain(10..) {
        world.despawn(entity).expect("alive");
    }
    world.compact();
    write_all(&mut world, &all);
    all.extend(world.spawn_batch((0..COUNT).map(|i| (Number(i), Exact(i), Other))));
    write_all(&mut world, &all);
}

/// In a chunk that `clear` has emptied, rows that come are as they come: nothing of the old ones.
#[test]
fn bits_of_a_cleared_world_are_forgotten() {
    let mut world = World::new();
    world.spawn_batch((0..COUNT).map(|i| (Number(i), On)));
    world.clear();
    world.check().expect("no bit is set beyond the last row");
    world.spawn_batch((0..COUNT / 2).map(|i| (Number(i), On)));
    world.check().expect("no bit is set beyond the last row");
}
