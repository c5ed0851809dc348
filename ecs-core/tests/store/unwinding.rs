//! Guards open while a panic unwinds: they close on the way, and nothing of ours panics then,
//! which would end the process, and this program with it.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::support::{Counted, Ledger, panics_as_planned};
use formic_ecs::prelude::*;
use formic_ecs::{DeclaredAccess, DynamicQuery, EventKind, ParallelScratch, SnapshotError};

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Number(u64);

#[derive(Component, Clone)]
#[component(enableable)]
struct On(Counted);

const ROWS: u64 = 9;

fn bundle(ledger: &Ledger, number: u64) -> (Counted, Number, On) {
    (ledger.value(number), Number(number), On(ledger.value(number)))
}

fn filled(ledger: &Ledger) -> (World, Vec<Entity>) {
    let mut world = World::new();
    let all = world.spawn_batch((0..ROWS).map(|number| bundle(ledger, number)));
    (world, all)
}

/// Spawns, inserts and despawns, with values of their own.
fn recorded(world: &World, ledger: &Ledger) -> CommandBuffer {
    let mut commands = CommandBuffer::new(world);
    let spawned = commands.spawn(bundle(ledger, 20));
    commands.insert(spawned, ledger.value(20));
    commands.spawn_batch((21..24).map(|number| bundle(ledger, number)));
    let held = ledger.value(30);
    commands.run(move |_| assert_eq!(held.number(), 30));
    commands
}

type Open = fn(&mut World, &[Entity], &Ledger);

/// Each opens something and panics.
const OPEN: [(&str, Open); 6] = [
    ("chunks that were taken, and a row of one", |world, _, _| {
        let mut scratch = ParallelScratch::default();
        let mut query = world.query::<(&mut Counted, &On)>();
        let chunks = query.parallel(&mut scratch);
        let rows = chunks.take(0).into_iter().flatten();
        rows.for_each(|(value, _)| assert!(value.number() != 3, "planned: a row"));
    }),
    ("buffers, one of which has taken another over", |world, _, ledger| {
        let (mut commands, mut more) = (recorded(world, ledger), recorded(world, ledger));
        commands.append(&mut more);
        drop(more.spawn_batch([ledger.value(1)]));
        panic!("planned: while commands are recorded");
    }),
    ("a batch, in a call of one buffer, in a call of another", |world, _, ledger| {
        let (mut outer, ours) = (recorded(world, ledger), ledger.clone());
        outer.run(move |world| {
            let (mut inner, ours) = (recorded(world, &ours), ours);
            inner.run(move |world| {
                drop(world.spawn_batch((0..9).map(|number| {
                    assert!(number < 5, "planned: an iterator");
                    bundle(&ours, number)
                })));
            });
            inner.spawn(Number(9));
            drop(inner.play(world));
        });
        outer.spawn(ledger.value(5));
        drop(outer.play(world));
    }),
    ("an insertion that is being told of", |world, all, ledger| {
        drop(world.remove::<On>(all[2]).expect("it has one"));
        _ = world
            .hooks()
            .observe::<On>(EventKind::Add, |_: &mut World, _| panic!("planned: an observer"));
        let mut commands = recorded(world, ledger);
        commands.insert(all[2], (On(ledger.value(2)), ledger.value(2)));
        commands.despawn(all[3]);
        drop(commands.play(world));
    }),
    ("a value in hand, and several entities", |world, all, _| {
        let value = world.remove::<On>(all[1]).expect("it has one");
        let mut view = world.view::<&mut Number>();
        let [one, two] = view.get_many_mut([all[1], all[2]]).expect("both have one");
        assert!(value.0.number() + one.0 + two.0 == 0, "planned: several entities");
    }),
    ("rows by id, of which one is being written", |world, _, _| {
        let number = world.register::<Number>();
        let mut query = DynamicQuery::builder().write(number).build(world).expect("known");
        for mut row in world.query_by_id(&mut query).expect("ours") {
            assert!(row.get_mut::<Number>(0).expect("it has one").0 < 4, "planned: by id");
        }
    }),
];

#[test]
fn what_is_open_when_a_panic_comes_is_closed_on_its_way() {
    for (what, open) in OPEN {
        let ledger = Ledger::default();
        let (mut world, all) = filled(&ledger);
        assert!(panics_as_planned(|| open(&mut world, &all, &ledger)), "{what}");
        world.check().expect(what);
        let values = world.query::<&Counted>().count() + world.query::<&On>().count();
        assert_eq!(ledger.live(), values, "{what}: the rest was dropped");
        world.query::<(&Counted, &Number)>().for_each(|(value, number)| {
            assert_eq!(value.number(), number.0, "{what}");
        });
        let saved = world.snapshot();
        assert_ne!(saved, Err(SnapshotError::InPlayback), "{what}: no handle is left reserved");
        world.clear();
        assert_eq!(ledger.live(), 0, "{what}");
    }
}

#[test]
fn a_world_may_be_among_what_a_panic_drops() {
    for (what, open) in OPEN {
        let ledger = Ledger::default();
        let (mut world, all) = filled(&ledger);
        let ours = ledger.clone();
        assert!(panics_as_planned(move || open(&mut world, &all, &ours)), "{what}");
        assert_eq!(ledger.live(), 0, "{what}: nothing was left behind, nor dropped twice");
    }
}

/// A default value comes from within, so that its owner has to be clear whichever observer panics.
#[test]
fn a_default_value_that_an_observer_keeps_from_its_row_is_not_leaked() {
    thread_local! {
        static LIVE: Cell<isize> = const { Cell::new(0) };
    }
    #[derive(Component)]
    struct Counting(u8);
    impl Default for Counting {
        fn default() -> Self {
            LIVE.set(LIVE.get() + 1);
            Self(7)
        }
    }
    impl Drop for Counting {
        fn drop(&mut self) {
            LIVE.set(LIVE.get() - 1);
        }
    }
    for kind in [EventKind::Replace, EventKind::Add, EventKind::Insert] {
        for there in [false, true] {
            let mut world = World::new();
            let id = world.register::<Counting>();
            let entity = world.spawn(());
            if there {
                world.by_id_mut().insert_default(entity, id).expect("it has a default value");
            }
            _ = world
                .hooks()
                .observe::<Counting>(kind, |_: &mut World, _| panic!("planned: an observer"));
            let insert = || drop(world.by_id_mut().insert_default(entity, id));
            _ = panics_as_planned(insert);
            assert_eq!(LIVE.get(), isize::from(world.has::<Counting>(entity)), "{there}");
            assert_eq!(world.check(), Ok(()));
            drop(world);
            assert_eq!(LIVE.get(), 0, "{there}");
        }
    }
}

/// The panic is ours here, and comes while others hold what they were granted.
#[test]
fn what_a_cell_has_granted_is_given_back_by_a_panic() {
    let ledger = Ledger::default();
    let (mut world, all) = filled(&ledger);
    _ = world.insert_resource(7_u32);
    let mut numbers = world.plan::<&mut Number>();
    let mut switches = world.view_plan::<&mut On>();
    let mut values = world.claim_plan::<&mut Counted>();
    let mut claimants = world.plan::<Claimant<'_>>();
    let mut undeclared = world.plan::<&Counted>();
    let rights = DeclaredAccess::new("the miner", numbers.access().clone());
    let cell = world.cell();
    for _ in 0..3 {
        let refused = catch_unwind(AssertUnwindSafe(|| {
            let resource = cell.resource_mut::<u32>().expect("given back");
            let mut query = cell.query(&mut numbers).expect("given back");
            let mut rows = query.query().into_iter();
            let row = rows.next().expect("there are some");
            let view = cell.view(&mut switches).expect("given back");
            let claims = cell.claims(&mut values).expect("given back");
            let mut claimants = cell.query(&mut claimants).expect("given back");
            let claimant = claimants.query().into_get(all[1]).expect("alive");
            let claim = claims.claim(&claimant, all[0]).expect("given back");
            drop(cell.restrict_to(&rights).query(&mut undeclared));
            drop((resource, claim, view, row));
        }));
        let message = refused.expect_err("it has not declared that");
        assert!(message.downcast_ref::<String>().expect("formatted").contains("the miner"));
    }
    world.check().expect("consistent");
}
