//! A command buffer that is filled and played again and again allocates nothing once it is warm.

use formic_ecs::prelude::*;

use crate::ALLOCATIONS;

#[derive(Component, Clone, Copy, PartialEq)]
struct Number(u64);

#[derive(Component, Clone, Copy, PartialEq)]
struct Extra([f32; 3]);

#[derive(Component, Clone, Copy)]
struct Link(#[component(entity)] Entity);

#[derive(Component)]
#[component(enableable)]
struct On;

/// Everything that a buffer can do, in an order that its keys do not have.
fn tick(world: &mut World, all: &[Entity], buffers: &mut [CommandBuffer]) {
    for (index, commands) in buffers.iter_mut().enumerate() {
        let mine = || all.iter().skip(index).step_by(2).copied();
        commands.set_sort_key(3);
        for entity in mine() {
            let spawned = commands.spawn((Number(1), Link(entity)));
            commands.insert(spawned, Link(spawned));
            commands.insert(entity, Extra([1.0; 3]));
            commands.set_enabled::<On>(entity, false);
        }
        commands.set_sort_key(1);
        mine().for_each(|entity| commands.insert(entity, Link(entity)));
        commands.set_sort_key(9);
        mine().for_each(|entity| commands.remove::<(Extra, Link)>(entity));
        mine().for_each(|entity| commands.set_enabled::<On>(entity, true));
        for entity in mine() {
            commands.run_with(entity, move |world, it| assert!(it == entity && world.contains(it)));
        }
    }
    assert!(CommandBuffer::play_all(buffers, world).failures().is_empty());
    let commands = &mut buffers[1];
    for (entity, _) in world.query_filtered::<(Entity, &Link), Without<On>>() {
        commands.despawn(entity);
    }
    assert_eq!(commands.play(world).applied_count(), all.len());
}

#[test]
fn a_warm_buffer_is_filled_and_played_without_an_allocation() {
    let mut world = World::new();
    let count = if cfg!(miri) { 20 } else { 3000 };
    let all = world.spawn_batch((0..count).map(|i| (Number(i), On)));
    let mut buffers = [CommandBuffer::new(&world), CommandBuffer::new(&world)];
    for _ in 0..4 {
        tick(&mut world, &all, &mut buffers);
    }
    let before = ALLOCATIONS.get();
    for _ in 0..4 {
        tick(&mut world, &all, &mut buffers);
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
}
