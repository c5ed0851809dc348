//! Worlds whose blocks come from an allocator of the host.

use std::alloc::{GlobalAlloc, Layout};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use formic_ecs::prelude::*;

use crate::allocator::Watched;
use crate::support::{Counted, Ledger};

#[derive(Component, Clone)]
struct Value(Counted);

#[derive(Component, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[component(tracked)]
#[repr(C)]
struct Number(u64);

#[derive(Component, Clone, Copy)]
#[component(enableable)]
struct Tag;

#[derive(Component, Clone)]
#[repr(align(256))]
struct Aligned(u8);

/// A row of it is larger than an ordinary block.
#[derive(Component, Clone)]
struct Huge([u64; HUGE]);

/// Blocks are small under Miri, which takes long to fill large values.
const HUGE: usize = if cfg!(miri) { 100 } else { 3000 };

/// What an allocator has given out.
#[derive(Default)]
struct Loans {
    /// How many blocks of each layout are out.
    out: BTreeMap<(usize, usize), usize>,
    given: usize,
}

#[derive(Clone, Default)]
struct Lender(Arc<Mutex<Loans>>);

impl Lender {
    fn memory(&self) -> Arc<dyn GlobalAlloc + Send + Sync> {
        let key = |layout: Layout| (layout.size(), layout.align());
        let (lends, takes) = (self.clone(), self.clone());
        let grants = move |layout: Layout| {
            let mut loans = lends.0.lock().expect("no panic while it is locked");
            loans.given += 1;
            *loans.out.entry(key(layout)).or_default() += 1;
            true
        };
        let freed = move |layout: Layout| {
            let mut loans = takes.0.lock().expect("no panic while it is locked");
            let count = loans.out.get_mut(&key(layout)).filter(|count| **count > 0);
            // A panic in here would be the allocator's. The count that is left is found in the end.
            count.into_iter().for_each(|count| *count -= 1);
        };
        Arc::new(Watched { grants, freed })
    }

    fn bytes(&self) -> usize {
        let loans = self.0.lock().expect("no panic while it is locked");
        loans.out.iter().map(|(&(size, _), count)| size * count).sum()
    }

    fn given(&self) -> usize {
        self.0.lock().expect("no panic while it is locked").given
    }
}

/// What a world has in blocks is what it was lent.
fn is_in_order(world: &World, lender: &Lender) {
    world.check().expect("in order");
    let stats = world.stats();
    assert_eq!(stats.block_bytes() + stats.pool_bytes, lender.bytes());
}

const ROWS: u64 = if cfg!(miri) { 50 } else { 1500 };

/// A bit of everything that takes blocks or gives them back, each with a value of the ledger.
const STEPS: [fn(&mut World, &Ledger); 14] = [
    |world, ledger| {
        drop(world.spawn_batch((0..ROWS).map(|i| (Number(i), Value(ledger.value(i))))));
    },
    |world, ledger| {
        for i in 0..20 {
            _ = world.spawn((Value(ledger.value(i)), Aligned(1)));
            _ = world.spawn((Value(ledger.value(i)), Huge([i; HUGE])));
        }
    },
    |world, _| {
        for entity in world.entities().step_by(3).collect::<Vec<_>>() {
            drop(world.insert(entity, Aligned(2)));
        }
    },
    // The chunks change hands as they are.
    |world, _| _ = world.bulk::<With<Huge>>().insert(Plain),
    |world, _| _ = world.bulk::<With<Number>>().insert(Tag),
    |world, _| _ = world.bulk::<With<Aligned>>().remove::<Number>(),
    |world, _| {
        let entity = world.entities().next().expect("some are there");
        drop(world.instantiate(entity, 200));
    },
    |world, ledger| {
        let mut commands = CommandBuffer::new(world);
        for entity in world.entities().step_by(2).collect::<Vec<_>>() {
            commands.insert(entity, (Huge([1; HUGE]), Value(ledger.value(5))));
            _ = commands.spawn((Number(1), Aligned(4), Value(ledger.value(6))));
        }
        drop(commands.play(world));
    },
    |world, _| {
        for entity in world.entities().step_by(2).collect::<Vec<_>>() {
            world.despawn(entity).expect("alive");
        }
    },
    |world, _| world.compact(),
    |world, _| _ = world.collect_archetypes(),
    |world, _| {
        let mut saved = World::new();
        drop(saved.spawn_batch((0..ROWS).map(Number)));
        world.register::<Number>();
        world.restore(&saved.snapshot().expect("all of it is saved")).expect("known");
    },
    |world, ledger| {
        drop(world.spawn_batch((0..ROWS).map(|i| (Aligned(1), Value(ledger.value(i))))));
    },
    |world, _| world.clear(),
];

#[derive(Component, Clone, Copy)]
struct Plain;

#[test]
fn all_block_memory_comes_back_to_where_it_came_from() {
    let (ledger, lenders) = (Ledger::default(), [Lender::default(), Lender::default()]);
    let mut worlds = lenders.clone().map(|lender| World::with_block_memory(lender.memory()));
    for (number, step) in STEPS.iter().enumerate() {
        for (world, lender) in worlds.iter_mut().zip(&lenders) {
            step(world, &ledger);
            is_in_order(world, lender);
        }
        assert_eq!(lenders[0].given(), lenders[1].given(), "step {number}");
    }
    assert!(lenders[0].given() > 20);
    for (world, lender) in worlds.into_iter().zip(&lenders) {
        drop(world);
        assert_eq!(lender.bytes(), 0);
        assert_eq!(Arc::strong_count(&lender.0), 1, "its allocator is gone");
    }
    assert_eq!(ledger.live(), 0);
}
