//! Rows of unusual shape: without a size and coarsely aligned, larger than a block, so many that
//! their chunks are large. Every way to move rows meets them.

use crate::support::{Counted, Ledger, panics_as_planned};
use formic_ecs::prelude::*;

const LARGE: usize = if cfg!(any(miri, formic_small_blocks)) { 75 } else { 2400 };

/// Larger than a block: the first chunks have one row each, those after many chunks have several.
#[derive(Component, Clone)]
struct Large([u64; LARGE], Counted);

/// Without a size, and yet at an address of its own.
#[derive(Component, Clone, Copy)]
#[repr(align(4096))]
struct Page;

#[derive(Component, Clone)]
#[component(enableable, tracked)]
#[repr(align(4096))]
struct Aligned(u8);

#[derive(Component, Clone, Copy)]
#[component(tracked)]
struct Mark;

/// More than there are chunks with one row, and but for Miri more than there are of the next size.
const ROWS: usize = if cfg!(miri) { 66 } else { 500 };

fn large(ledger: &Ledger, number: usize) -> Large {
    Large([number as u64; LARGE], ledger.value(number as u64))
}

#[track_caller]
fn check(world: &mut World, ledger: &Ledger) {
    world.check().expect("every invariant holds");
    let mut values = 0;
    for Large(numbers, counted) in world.query::<&Large>() {
        let step = if cfg!(miri) { LARGE - 1 } else { 1 };
        assert!(numbers.iter().step_by(step).all(|&number| number == counted.number()));
        values += 1;
    }
    for page in world.query::<&Page>() {
        assert!(std::ptr::from_ref(page).is_aligned());
    }
    for aligned in world.query::<&Aligned>() {
        assert!(std::ptr::from_ref(aligned).is_aligned() && aligned.0 < 100);
    }
    assert_eq!(ledger.live(), values);
}

#[test]
fn rows_larger_than_a_block_survive_every_kind_of_move() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let all = world.spawn_batch((0..ROWS).map(|i| (large(&ledger, i), Mark)));
    check(&mut world, &ledger);
    let mut commands = CommandBuffer::new(&world);
    // Every other one moves on in a run, and leaves a hole before the border of the large chunks
    // as well as behind it.
    all.iter().step_by(2).for_each(|&entity| commands.insert(entity, Page));
    assert!(commands.play(&mut world).failures().is_empty());
    check(&mut world, &ledger);
    assert_eq!(world.bulk::<With<Page>>().remove::<Mark>(), ROWS / 2);
    check(&mut world, &ledger);
    // Once in one step, once by itself.
    for (&entity, number) in all.iter().zip(0..9) {
        commands.insert(entity, large(&ledger, 1000 + number));
        commands.remove::<Page>(entity);
        commands.insert(entity, (Page, large(&ledger, 2000 + number)));
    }
    assert_eq!(commands.play(&mut world).failures().len(), 4, "some had no page");
    check(&mut world, &ledger);
    assert_eq!(world.bulk::<Without<Mark>>().insert(large(&ledger, 5)), ROWS / 2);
    check(&mut world, &ledger);
    let copies = world.instantiate(all[0], 3).expect("all of it can be cloned");
    assert_eq!(copies.len(), 3);
    all.iter().skip(1).step_by(3).for_each(|&entity| commands.despawn(entity));
    assert!(commands.play(&mut world).failures().is_empty());
    check(&mut world, &ledger);
    ledger.panic_at_clone(ROWS / 8);
    let panicked = panics_as_planned(|| {
        _ = world.bulk::<With<Mark>>().insert((Aligned(1), large(&ledger, 6)));
    });
    assert!(panicked && world.query::<&Aligned>().count() >= ROWS / 8);
    check(&mut world, &ledger);
    ledger.panic_at_drop(7);
    assert!(panics_as_planned(|| _ = world.bulk::<With<Page>>().despawn()));
    check(&mut world, &ledger);
    world.clear();
    check(&mut world, &ledger);
}

#[test]
fn coarsely_aligned_rows_stay_aligned_wherever_they_go() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let all = world.spawn_batch((0..20).map(|i| (Page, Aligned(i), Mark)));
    check(&mut world, &ledger);
    let mut commands = CommandBuffer::new(&world);
    for &entity in &all[..10] {
        world.set_enabled::<Aligned>(entity, false).expect("it has one");
        commands.remove::<Page>(entity);
    }
    for i in 50..55 {
        _ = commands.spawn((Aligned(i), Page));
    }
    commands.remove::<Mark>(all[3]);
    commands.insert(all[3], (Mark, Aligned(9)));
    assert!(commands.play(&mut world).failures().is_empty());
    check(&mut world, &ledger);
    assert_eq!(world.bulk::<With<Page>>().insert(Large([3; LARGE], ledger.value(3))), 15);
    assert_eq!(world.bulk::<Disabled<Aligned>>().remove::<Mark>(), 10);
    check(&mut world, &ledger);
    for &entity in &all {
        let aligned = world.remove::<Aligned>(entity).expect("it has one");
        world.insert(entity, aligned).expect("alive");
    }
    for copy in world.instantiate(all[12], 4).expect("all of it can be cloned") {
        assert_eq!(world.get::<Aligned>(copy).map(|aligned| aligned.0), Ok(12));
    }
    check(&mut world, &ledger);
    for entity in all {
        world.despawn(entity).expect("alive");
    }
    check(&mut world, &ledger);
}
