//! Handles: given out, recognised as stale, given out again.

use std::collections::HashSet;

use formic_ecs::prelude::*;
use formic_ecs::{BufferElement, ComponentError, InstantiateError, NoSuchEntity, QueryEntityError};

#[derive(Component, Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Number(u64);

/// Every way in which a handle can be used is refused.
fn assert_stale(world: &mut World, entity: Entity) {
    let gone = NoSuchEntity(entity);
    assert!(!world.contains(entity));
    assert!(!world.has::<Number>(entity));
    assert_eq!(world.get::<Number>(entity), Err(gone.into()));
    assert_eq!(world.get_mut::<Number>(entity), Err(gone.into()));
    assert_eq!(world.is_enabled::<Number>(entity), Err(gone.into()));
    assert_eq!(world.set_enabled::<Number>(entity, false), Err(gone.into()));
    assert_eq!(world.remove::<Number>(entity), Err(gone.into()));
    assert_eq!(world.remove::<()>(entity), Err(gone.into()));
    assert_eq!(world.despawn(entity), Err(gone));
    assert_eq!(world.components_of(entity), Err(gone));
    assert_eq!(world.instantiate(entity, 1), Err(InstantiateError::NoSuchEntity(gone)));
    assert_eq!(world.query_one::<&Number>(entity), Err(QueryEntityError::NoSuchEntity(gone)));
    assert_eq!(
        world.view::<&Number>().get(entity).err(),
        Some(QueryEntityError::NoSuchEntity(gone))
    );
    let returned = world.insert(entity, Number(9)).expect_err("no such entity");
    assert_eq!((returned.entity, returned.bundle), (entity, Number(9)));
    world.check().expect("nothing was touched");
}

#[test]
fn a_despawned_handle_stays_stale_after_its_slot_is_used_again() {
    let mut world = World::new();
    let first = world.spawn(Number(1));
    world.despawn(first).expect("alive");
    assert_stale(&mut world, first);
    let second = world.spawn(Number(2));
    assert_eq!(second.index(), first.index());
    assert_ne!(second, first);
    assert_stale(&mut world, first);
    assert_eq!(world.get(second), Ok(&Number(2)));
}

#[test]
fn no_handle_is_given_out_twice() {
    let mut world = World::new();
    let mut seen = HashSet::new();
    let rounds = if cfg!(miri) { 50 } else { 20_000 };
    for _ in 0..rounds {
        let entity = world.spawn(());
        assert!(seen.insert(entity));
        world.despawn(entity).expect("alive");
    }
    assert!(seen.iter().all(|entity| entity.index() == 0), "one slot serves them all");
}

#[test]
fn handles_that_were_never_given_out_are_stale() {
    let mut world = World::new();
    _ = world.spawn(Number(1));
    for bits in [0x1_0000_0001, 0x2_0000_0000, 0x7FFF_FFFF_0000_0000, 1 << 63, u64::MAX] {
        assert_stale(&mut world, Entity::from_bits(bits).expect("a handle has these bits"));
    }
    assert_eq!(Entity::from_bits(0xFFFF_FFFF), None, "generation zero does not exist");
}

#[test]
fn the_next_generation_of_a_free_slot_is_stale_until_it_is_given_out() {
    let mut world = World::new();
    let first = world.spawn(Number(1));
    world.despawn(first).expect("alive");
    let foreseen = Entity::from_bits(first.to_bits() + (1 << 32)).expect("a handle");
    assert_stale(&mut world, foreseen);
    assert_eq!(world.spawn(Number(2)), foreseen);
}

#[test]
fn deferred_handles_are_stale_in_every_world() {
    let mut world = World::new();
    _ = world.spawn(Number(1));
    let mut commands = CommandBuffer::new(&world);
    let deferred = commands.spawn(Number(2));
    assert!(deferred.is_deferred());
    assert_stale(&mut world, deferred);
    drop(commands.play(&mut world));
    assert_stale(&mut world, deferred);
}

#[test]
fn slots_are_used_again_last_in_first_out() {
    let mut world = World::new();
    let all: Vec<Entity> = (0..4).map(|_| world.spawn(())).collect();
    world.despawn(all[1]).expect("alive");
    world.despawn(all[3]).expect("alive");
    assert_eq!([(); 3].map(|()| world.spawn(()).index()), [3, 1, 4]);
}

#[test]
fn after_clear_old_handles_are_stale_and_slots_start_from_the_front() {
    let mut world = World::new();
    let old: Vec<Entity> = world.spawn_batch((0..10).map(Number));
    world.despawn(old[4]).expect("alive");
    world.clear();
    assert!(world.is_empty());
    assert_eq!(world.entities().count(), 0);
    for &entity in &old {
        assert_stale(&mut world, entity);
    }
    let new = world.spawn_batch((0..9).map(Number));
    assert!(new.is_sorted_by_key(|entity| entity.index()));
    assert!(new.iter().all(|entity| !old.contains(entity)));
    world.check().expect("consistent");
}

#[test]
fn a_batch_fills_free_slots_before_new_ones() {
    let mut world = World::new();
    let old = world.spawn_batch((0..10).map(Number));
    for &entity in &old[2..5] {
        world.despawn(entity).expect("alive");
    }
    let new = world.spawn_batch((10..15).map(Number));
    let indexes: Vec<u32> = new.iter().map(|entity| entity.index()).collect();
    assert_eq!(indexes, [4, 3, 2, 10, 11]);
    for (entity, number) in new.into_iter().zip(10..) {
        assert_eq!(world.get(entity), Ok(&Number(number)));
    }
    world.check().expect("consistent");
}

/// Gives so many numbers, and says that there are `hint` of them.
struct Lying {
    left: u64,
    hint: usize,
}
impl Iterator for Lying {
    type Item = Number;
    fn next(&mut self) -> Option<Number> {
        self.left = self.left.checked_sub(1)?;
        Some(Number(self.left))
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.hint, Some(self.hint))
    }
}

struct Element(Number);

impl BufferElement for Element {
    type Inline = [Self; 2];
    const HASH: formic_ecs::HashRule<Self> = formic_ecs::HashRule::Unhashed;
}

#[test]
fn an_iterator_may_lie_about_how_many_it_gives() {
    for (left, hint) in [(0, 100), (3, 100), (100, 0), (300, 1), (200, 199), (3, usize::MAX >> 18)]
    {
        let mut world = World::new();
        let spawned = world.spawn_batch(Lying { left, hint });
        let mut commands = CommandBuffer::new(&world);
        assert_eq!(commands.spawn_batch(Lying { left, hint }).len() as u64, left);
        let mut buffer: Buffer<Element> = Lying { left, hint }.map(Element).collect();
        buffer.extend(Lying { left, hint }.map(Element));
        let elements = buffer.iter().map(|element| element.0.0);
        assert!(elements.eq((0..left).rev().chain((0..left).rev())));
        assert_eq!(spawned.len() as u64, left);
        assert_eq!(world.len() as u64, left);
        for (&entity, number) in spawned.iter().zip((0..left).rev()) {
            assert_eq!(world.get(entity), Ok(&Number(number)));
        }
        world.check().expect("consistent");
    }
}

#[test]
fn an_entity_without_components_is_an_entity() {
    let mut world = World::new();
    let entity = world.spawn(());
    assert!(world.contains(entity));
    assert_eq!(world.components_of(entity), Ok(vec![]));
    assert_eq!(world.query::<Entity>().map(|e| e).collect::<Vec<_>>(), [entity]);
    assert_eq!(world.query::<()>().count(), 1);
    assert_eq!(world.remove::<()>(entity), Ok(()));
    world.insert(entity, ()).expect("alive");
    let missing = world.remove::<Number>(entity).expect_err("it has none");
    assert!(matches!(missing, ComponentError::Missing(_)));
    assert!(missing.to_string().contains("Number"));
    world.despawn(entity).expect("alive");
    world.check().expect("consistent");
}

#[test]
fn handles_go_through_numbers_and_text_unchanged() {
    let mut world = World::new();
    let entity = world.spawn_batch((0..3).map(Number))[2];
    assert_eq!(Entity::from_bits(entity.to_bits()), Some(entity));
    assert_eq!(entity.to_string(), "2v1");
    let deferred = CommandBuffer::new(&world).spawn(());
    assert_eq!(deferred.to_string(), "deferred#0");
}

#[test]
fn a_copy_refers_to_itself_where_the_prefab_did_and_elsewhere_to_the_same() {
    #[derive(Component, Clone, Copy)]
    struct Friends {
        #[component(entity)]
        pair: [Entity; 2],
        #[component(entity)]
        third: Option<Entity>,
        unmarked: Entity,
    }
    let mut world = World::new();
    let other = world.spawn(Number(0));
    let prefab = world.spawn(Number(1));
    let friends = Friends { pair: [prefab, other], third: Some(prefab), unmarked: prefab };
    world.insert(prefab, friends).expect("alive");
    for copy in world.instantiate(prefab, 5).expect("all can be cloned") {
        let friends = *world.get::<Friends>(copy).expect("it was copied");
        assert_eq!(friends.pair, [copy, other]);
        assert_eq!(friends.third, Some(copy));
        assert_eq!(friends.unmarked, prefab, "only marked fields are mapped");
        assert_eq!(world.get(copy), Ok(&Number(1)));
    }
    assert_eq!(world.get::<Friends>(prefab).expect("still there").pair, [prefab, other]);
    world.check().expect("consistent");
}

#[test]
fn what_cannot_be_cloned_cannot_be_instantiated_and_nothing_has_changed() {
    #[derive(Component)]
    struct Unique;
    let mut world = World::new();
    let prefab = world.spawn((Number(1), Unique));
    let refused = world.instantiate(prefab, 3).expect_err("Unique is not Clone");
    assert!(refused.to_string().contains("Unique"), "{refused}");
    assert_eq!(world.len(), 1);
    world.check().expect("consistent");
}

mod engine {
    pub(super) use formic_ecs as ecs;
}

#[test]
fn a_derive_goes_by_the_path_that_it_is_given() {
    #[derive(Component, Clone, Copy, Debug, PartialEq)]
    #[component(crate = engine::ecs, tracked)]
    struct Follows(#[component(entity)] Entity);
    #[derive(Component, Debug, PartialEq)]
    #[component(crate = engine::ecs, buffer = 2)]
    struct Step(u8);

    let mut world = World::new();
    let leader = world.spawn(());
    let follower = world.spawn((Follows(leader), [Step(1)].into_iter().collect::<Buffer<_>>()));
    assert_eq!(world.get(follower), Ok(&Follows(leader)));
    assert_eq!(world.get::<Buffer<Step>>(follower).map(|steps| steps.len()), Ok(1));
}
