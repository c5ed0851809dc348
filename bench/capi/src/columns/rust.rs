//! The Rust calls of formic-ecs.

use std::alloc::Layout;

use formic_ecs::prelude::*;
use formic_ecs::{ComponentDescriptor, ComponentId};

use super::{FRAGMENTS, Position, Store, Values, Velocity, advance, sum};

pub(crate) struct Rust {
    world: World,
    tags: Vec<ComponentId>,
    spawned: Vec<Entity>,
}

impl Store for Rust {
    fn new() -> Self {
        let mut world = World::new();
        world.register::<Position>();
        world.register::<Velocity>();
        let tag = |number| ComponentDescriptor::bytes(format!("tag {number}"), Layout::new::<()>());
        let tags =
            (0..FRAGMENTS).map(tag).map(|tag| world.by_id_mut().register(tag).expect("a new name"));
        let tags = tags.collect();
        Self { world, tags, spawned: Vec::new() }
    }

    fn spawn(&mut self, values: &Values, tag: Option<usize>) {
        let both = values.positions.iter().copied().zip(values.velocities.iter().copied());
        self.spawned = self.world.spawn_batch(both);
        // Not timed: only the row of fragments has tags.
        if let Some(tag) = tag {
            for &entity in &self.spawned {
                self.world.by_id_mut().insert(entity, self.tags[tag], &[]).expect("alive");
            }
        }
    }

    fn despawn(&mut self) {
        for &entity in &self.spawned {
            self.world.despawn(entity).expect("alive");
        }
    }

    fn advance(&mut self) {
        let query = self.world.query::<(&mut Position, &Velocity)>();
        query.for_each_chunk(|(positions, velocities)| advance(positions, velocities));
    }

    fn sum(&mut self) -> u64 {
        sum(self.world.query_ref::<&Position>())
    }
}
