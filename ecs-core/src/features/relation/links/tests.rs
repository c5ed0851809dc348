//! Worlds in which there is no id left for a side, or no chunk for a row that moves.

use super::*;
use crate::storage::{BLOCK_BYTES, CHUNKS_LIMIT};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[derive(crate::Component, Clone)]
struct Huge([u64; BLOCK_BYTES]);

#[derive(crate::Component, Clone)]
#[component(cleanup)]
struct Grave;

#[derive(crate::Component, Clone)]
struct A;

#[derive(crate::Component)]
struct B;

#[derive(crate::Component)]
struct C;

struct Likes;
impl Relation for Likes {}

#[test]
fn a_relation_of_which_one_side_has_no_id_leaves_the_world_unchanged() {
    let register = |world: &mut World, name: alloc::string::String| {
        let bytes = crate::ComponentDescriptor::bytes(name, core::alloc::Layout::new::<u8>());
        world.by_id_mut().register(bytes)
    };
    let mut world = World::new();
    let full = (0..).take_while(|number| register(&mut world, format!("{number}")).is_ok()).count();
    for missing in 0..3 {
        let mut world = World::new();
        for number in 0..full - missing {
            register(&mut world, format!("{number}")).expect("there is room");
        }
        let result = world.by_id_mut().register_relation("trusts", RelationRules::default());
        assert_eq!(result.err(), (missing < 2).then_some(RegisterError::TooMany));
        assert_eq!(world.components().len(), if missing < 2 { full - missing } else { full });
        world.check().expect("in order");
    }
}

/// The other entities go to an archetype each: none loses the same sides of relations.
#[test]
#[cfg_attr(any(miri, formic_small_blocks), ignore = "there are too many entities")]
fn a_target_is_despawned_only_if_there_are_chunks_for_all_that_are_related_to_it() {
    CHUNKS_LIMIT.set(usize::MAX);
    let mut world = World::new();
    let likes = ["a", "b", "c", "d"].map(|name| {
        let relation = world.by_id_mut().register_relation(name, RelationRules::default());
        relation.expect("a new name").id()
    });
    let (root, other) = (world.spawn(B), world.spawn(C));
    for kept in 0..190 {
        let one = world.spawn(());
        let relate = |world: &mut World, relation, source, target| {
            let mut relation = world.by_id_mut().relation(relation).expect("of this world");
            assert!(relation.add(source, target).expect("alive"));
        };
        for (number, &relation) in likes.iter().enumerate() {
            relate(&mut world, relation, one, root);
            relate(&mut world, relation, root, one);
            if kept >> (2 * number) & 1 != 0 {
                relate(&mut world, relation, one, other);
            }
            if kept >> (2 * number) & 2 != 0 {
                relate(&mut world, relation, other, one);
            }
        }
    }
    world.collect_archetypes();
    world.compact();
    let (hash, chunks) = (world.state_hash(), world.blocks.directory.len());
    for room in [1, 100, 180] {
        CHUNKS_LIMIT.set(chunks + room);
        let result = catch_unwind(AssertUnwindSafe(|| world.despawn(root)));
        CHUNKS_LIMIT.set(usize::MAX);
        assert!(result.is_err(), "with {chunks} chunks and {room} more");
        world.check().expect("in order");
        assert_eq!(world.state_hash(), hash);
    }
    world.despawn(root).expect("alive");
    world.check().expect("in order");
    assert!(world.blocks.directory.len() > chunks + 180);
}

/// There are more of these than chunks may be, and they need a few chunks.
#[test]
#[cfg_attr(any(miri, formic_small_blocks), ignore = "there are too many entities")]
fn a_target_of_many_alike_is_despawned_though_they_are_more_than_chunks_may_be() {
    CHUNKS_LIMIT.set(100);
    let mut world = World::new();
    let root = world.spawn(B);
    for one in world.spawn_batch((0..150).map(|_| ())) {
        world.relation_mut::<Likes>().add(one, root).expect("alive");
        world.relation_mut::<ChildOf>().set_parent(root, one).expect("alive");
    }
    world.despawn(root).expect("alive");
    world.check().expect("in order");
    assert_eq!(world.len(), 150);
}

#[test]
fn a_world_without_another_chunk_keeps_both_sides_in_step() {
    type Attempt = fn(&mut World, [Entity; 4]);
    let attempts: [(&str, Attempt); 6] = [
        ("add", |world, [_, b, _, d]| {
            world.relation_mut::<ChildOf>().set_parent(d, b).expect("alive");
        }),
        ("add another", |world, [a, b, ..]| {
            world.relation_mut::<ChildOf>().set_parent(a, b).expect("alive");
        }),
        ("remove", |world, [a, b, ..]| _ = world.relation_mut::<Likes>().remove(a, b)),
        ("despawn", |world, [a, ..]| world.despawn(a).expect("alive")),
        ("despawn a target", |world, [_, b, ..]| world.despawn(b).expect("alive")),
        ("copy", |world, [a, ..]| drop(world.instantiate(a, 1).expect("can be copied"))),
    ];
    for (name, attempt) in attempts {
        let mut refused = 0;
        for room in 0..if cfg!(miri) { 2 } else { 8 } {
            let mut world = World::new();
            // Each in an archetype of its own.
            let (a, b) = (world.spawn((A, Grave)), world.spawn(B));
            let (c, d) = (world.spawn(C), world.spawn(()));
            for (source, target) in [(a, b), (a, c), (c, a), (b, d)] {
                world.relation_mut::<Likes>().add(source, target).expect("alive");
            }
            world.relation_mut::<ChildOf>().set_parent(a, c).expect("alive");
            world.compact();
            while world.blocks.directory.len() < CHUNKS_LIMIT.get() - room {
                world.spawn(Huge([1; BLOCK_BYTES]));
            }
            let before = world.state_hash();
            let attempt = AssertUnwindSafe(|| attempt(&mut world, [a, b, c, d]));
            if catch_unwind(attempt).is_err() {
                refused += 1;
                assert_eq!(world.state_hash(), before, "{name} with {room} chunks");
            }
            world.check().unwrap_or_else(|error| panic!("{name} with {room}: {error}"));
        }
        assert!((1..8).contains(&refused), "{name}: {refused} times");
    }
}
