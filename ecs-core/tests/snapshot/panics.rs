//! Functions that fail or panic while a snapshot is made or restored.

use super::support::{Counted, Ledger, panics_as_planned};
use super::*;

/// Copies the value while it is written.
struct Copied(Counted);

impl Component for Copied {
    const HASH: HashRule<Self> = HashRule::Codec(Self::CODEC);
    const CODEC: Codec<Self> = Codec::custom(
        |value, out| {
            out.extend(value.0.clone().number().to_le_bytes());
            Ok(())
        },
        |_| Err(CodecError),
    );
}

#[test]
fn a_panicking_write_leaves_no_half_snapshot_and_nothing_behind() {
    let ledger = Ledger::default();
    let mut world = World::new();
    drop(world.spawn_batch((0..9).map(|i| Copied(ledger.value(i)))));
    for nth in 0..9 {
        let mut saved = World::new().snapshot().expect("nothing to save");
        ledger.panic_at_clone(nth);
        assert!(panics_as_planned(|| world.snapshot_into(&mut saved).expect("no error")));
        assert_eq!(saved.as_bytes(), []);
        assert_eq!((world.len(), ledger.live()), (9, 9));
        world.check().expect("in order");
    }
}

#[test]
fn a_restore_drops_what_was_there_once() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let saved = world.snapshot().expect("nothing to save");
    drop(world.spawn_batch((0..100).map(|i| (ledger.value(i), Tag))));
    world.restore(&saved).expect("its own");
    assert_eq!((world.len(), ledger.live()), (0, 0));
}

#[test]
fn a_panicking_drop_of_what_was_there_leaves_the_restored_world() {
    for nth in [0, 1, 50, 99] {
        let ledger = Ledger::default();
        let mut world = World::new();
        let kept = world.spawn(Fuel(1));
        let saved = world.snapshot().expect("plain");
        drop(world.spawn_batch((0..60).map(|i| (ledger.value(i), Tag))));
        drop(world.spawn_batch((0..40).map(|i| (ledger.value(i), Fuel(2)))));
        ledger.panic_at_drop(nth);
        assert!(panics_as_planned(|| drop(world.restore(&saved).expect("its own"))));
        world.check().expect("in order");
        assert_eq!((world.len(), ledger.live()), (1, 0));
        assert_eq!(world.get::<Fuel>(kept), Ok(&Fuel(1)));
    }
}

thread_local! {
    /// How many reads of `Fragile` go well.
    static READS: std::cell::Cell<u32> = const { std::cell::Cell::new(u32::MAX) };
    static ALIVE: std::cell::Cell<i32> = const { std::cell::Cell::new(0) };
}

#[derive(Debug)]
struct Fragile(Box<u8>);

impl Fragile {
    fn new(number: u8) -> Self {
        ALIVE.set(ALIVE.get() + 1);
        Self(Box::new(number))
    }
}

impl Drop for Fragile {
    fn drop(&mut self) {
        ALIVE.set(ALIVE.get() - 1);
    }
}

impl Component for Fragile {
    const HASH: HashRule<Self> = HashRule::Codec(Self::CODEC);
    const CODEC: Codec<Self> = Codec::custom(
        |value, out| {
            out.push(*value.0);
            Ok(())
        },
        |source| {
            let (&number, rest) = source.split_first().ok_or(CodecError)?;
            *source = rest;
            assert!(READS.get() > 0 || number % 2 == 0, "planned: read");
            if READS.get() == 0 {
                return Err(CodecError);
            }
            READS.set(READS.get() - 1);
            Ok(Self::new(number))
        },
    );
}

#[test]
fn a_failing_or_panicking_read_leaves_the_world_and_drops_what_was_read() {
    let mut world = World::new();
    drop(world.spawn_batch((0..70).map(|i| (Fragile::new(i), Fuel(i.into())))));
    let saved = world.snapshot().expect("all can be saved");
    let hash = world.state_hash();
    for reads in 0..70 {
        READS.set(reads);
        let mut result = Ok(());
        let panicked = panics_as_planned(|| result = world.restore(&saved).map(drop));
        assert!(panicked == (reads % 2 == 1) && panicked == result.is_ok());
        assert_eq!(ALIVE.get(), 70);
        assert_eq!(world.state_hash(), hash);
        world.check().expect("in order");
    }
    READS.set(70);
    world.restore(&saved).expect("its own");
    assert_eq!((ALIVE.get(), world.state_hash()), (70, hash));
    READS.set(u32::MAX);
    drop(world);
    assert_eq!(ALIVE.get(), 0);
}
