//! The shared world: access is granted, refused and released at run time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::queries::{A, B, On};
use formic_ecs::prelude::*;
use formic_ecs::{ClaimError, DeclaredAccess};

#[derive(Component)]
struct Wide([u64; 9]);

fn world(count: u64) -> (World, Vec<Entity>) {
    let mut world = World::new();
    let all = world.spawn_batch((0..count).map(|i| (A(i), B(i), On)));
    (world, all)
}

#[test]
fn readers_share_and_a_writer_is_alone() {
    let (mut world, _) = world(10);
    let mut read = world.plan::<&A>();
    let mut also_read = world.plan::<(&A, &B)>();
    let mut write = world.plan::<&mut A>();
    let cell = world.cell();
    let first = cell.query(&mut read).expect("free");
    let second = cell.query(&mut also_read).expect("readers share");
    let refused = cell.query(&mut write).expect_err("it is read");
    assert!(refused.wanted_write);
    assert_eq!(
        refused.to_string(),
        "cannot write store::queries::A: it is in use elsewhere at this moment"
    );
    drop(first);
    assert!(cell.query(&mut write).is_err(), "the second still reads");
    drop(second);
    let writing = cell.query(&mut write).expect("free");
    assert!(!cell.query(&mut read).expect_err("it is written").wanted_write);
    drop(writing);
    assert_eq!(cell.query(&mut read).expect("free").count(), 10);
}

#[test]
fn an_access_that_is_refused_halfway_holds_nothing() {
    let (mut world, _) = world(10);
    let mut write_b = world.plan::<&mut B>();
    let mut write_both = world.plan::<(&mut A, &mut B)>();
    let mut read_both = world.plan::<(&A, &B)>();
    let mut write_a = world.plan::<&mut A>();
    let cell = world.cell();
    let b = cell.query(&mut write_b).expect("free");
    assert!(cell.query(&mut write_both).is_err());
    assert!(cell.query(&mut read_both).is_err());
    assert!(cell.query(&mut write_a).is_ok(), "A was given back");
    drop(b);
    assert!(cell.query(&mut write_both).is_ok());
}

#[test]
fn queries_views_and_claims_refuse_each_other() {
    let (mut world, _) = world(10);
    let mut query = world.plan::<&A>();
    let mut view = world.view_plan::<&mut A>();
    let mut claims = world.claim_plan::<&mut A>();
    let mut others = world.claim_plan::<&mut A>();
    let cell = world.cell();
    {
        let _held = cell.query(&mut query).expect("free");
        assert!(cell.view(&mut view).is_err() && cell.claims(&mut claims).is_err());
    }
    {
        let _held = cell.view(&mut view).expect("free");
        assert!(cell.query(&mut query).is_err() && cell.claims(&mut claims).is_err());
    }
    let _held = cell.claims(&mut claims).expect("free");
    assert!(cell.query(&mut query).is_err() && cell.view(&mut view).is_err());
    assert!(cell.claims(&mut others).is_err(), "two sets of claims know nothing of each other");
}

#[test]
fn bits_are_never_in_the_way() {
    let (mut world, all) = world(10);
    let mut bits = world.plan::<EnabledMut<On>>();
    let mut more_bits = world.view_plan::<EnabledMut<On>>();
    let mut rows = world.plan::<&mut On>();
    let cell = world.cell();
    let _rows = cell.query(&mut rows).expect("free");
    let mut bits = cell.query(&mut bits).expect("bits are atomics");
    let more_bits = cell.view(&mut more_bits).expect("bits are atomics");
    assert_eq!(more_bits.set(all[0], false), Ok(true));
    assert_eq!(bits.query().into_iter().filter(|bit| !bit.get()).count(), 1);
}

#[test]
fn a_filter_and_an_option_of_a_written_component() {
    let (mut world, _) = world(10);
    let mut filtered = world.plan_filtered::<&B, (With<A>, Present<On>)>();
    let mut optional = world.plan::<Option<&A>>();
    let mut write = world.plan::<&mut A>();
    let cell = world.cell();
    let _writing = cell.query(&mut write).expect("free");
    assert!(cell.query(&mut filtered).is_ok(), "a filter reads no values");
    assert!(cell.query(&mut optional).is_err(), "an option does");
}

#[test]
fn a_panic_while_something_is_borrowed_releases_it() {
    let (mut world, _) = world(10);
    let mut plan = world.plan::<&mut A>();
    let mut after = world.plan::<&mut A>();
    let cell = world.cell();
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        cell.query(&mut plan).expect("free").query().for_each(|a| assert!(a.0 < 5, "planned"));
    }));
    assert!(outcome.is_err());
    assert_eq!(cell.query(&mut after).expect("released").count(), 10);
}

#[test]
fn a_claim_is_exclusive_until_it_is_dropped() {
    let (mut world, all) = world(3);
    let stranger = world.spawn(B(1));
    let mut plan = world.claim_plan::<(&mut A, Option<&B>)>();
    let mut rows = world.plan::<Claimant<'_>>();
    let cell = world.cell();
    let claims = cell.claims(&mut plan).expect("free");
    let mut rows = cell.query(&mut rows).expect("free");
    let row = &rows.query().into_get(all[2]).expect("alive");
    let mut mine = claims.claim(row, all[0]).expect("free");
    assert_eq!(claims.claim(row, all[0]).expect_err("claimed"), ClaimError::Held(all[0]));
    assert!(claims.claim(row, all[1]).is_ok(), "another entity is another matter");
    assert!(claims.claim(row, all[2]).is_ok(), "and so is the row itself");
    for _ in 0..2 {
        assert_eq!(
            claims.claim(row, stranger).expect_err("it has no A, nor is it kept"),
            ClaimError::Missing(stranger)
        );
    }
    let stale = Entity::from_bits(all[0].to_bits() + (7 << 32)).expect("a handle");
    assert!(matches!(claims.claim(row, stale), Err(ClaimError::NoSuchEntity(_))));
    mine.get_mut().0.0 = 77;
    drop(mine);
    assert_eq!(claims.claim(row, all[0]).expect("free again").get_mut().0, &A(77));
}

#[test]
fn a_claim_that_was_leaked_is_free_in_the_next_view() {
    let (mut world, all) = world(2);
    let mut plan = world.claim_plan::<&mut A>();
    let mut rows = world.plan::<Claimant<'_>>();
    let cell = world.cell();
    let mut rows = cell.query(&mut rows).expect("free");
    let row = &rows.query().into_get(all[0]).expect("alive");
    // More views than the number of a round can count.
    for _ in 0..600 {
        let claims = cell.claims(&mut plan).expect("free");
        std::mem::forget(claims.claim(row, all[0]).expect("free"));
        assert_eq!(claims.claim(row, all[0]).expect_err("leaked"), ClaimError::Held(all[0]));
        assert!(claims.claim(row, all[1]).is_ok());
    }
}

#[test]
fn a_claim_that_was_leaked_is_free_in_all_later_views() {
    let (mut world, all) = world(2);
    let mut plan = world.claim_plan::<&mut A>();
    let mut rows = world.plan::<Claimant<'_>>();
    let cell = world.cell();
    let mut rows = cell.query(&mut rows).expect("free");
    let row = &rows.query().into_get(all[0]).expect("alive");
    std::mem::forget(cell.claims(&mut plan).expect("free").claim(row, all[0]).expect("free"));
    // A number of a few bits that says which view it was would come again.
    for _ in 0..255 {
        drop(cell.claims(&mut plan).expect("free"));
    }
    for later in 256..600 {
        let claims = cell.claims(&mut plan).expect("free");
        assert!(later % 64 != 0 || claims.claim(row, all[0]).is_ok(), "view {later}");
    }
}

#[test]
fn a_second_row_is_refused_whenever_it_comes_and_both_rows_are_named() {
    let (mut world, all) = world(4);
    let [target, one, other, third] = all[..] else { panic!("four") };
    let mut plan = world.claim_plan::<&mut A>();
    let mut rows = world.plan::<Claimant<'_>>();
    let cell = world.cell();
    for order in [[one, other], [other, one]] {
        let mut rows = cell.query(&mut rows).expect("free");
        let mut query = rows.query();
        let [first, second] = query.get_many_mut(order).expect("alive");
        let claims = cell.claims(&mut plan).expect("free");
        let contested = ClaimError::Contested { target, rows: [one, other] };
        let held = claims.claim(&first, target).expect("free");
        assert_eq!(claims.claim(&second, target).expect_err("held"), contested);
        drop(held);
        assert_eq!(claims.claim(&second, target).expect_err("taken"), contested);
        assert!(claims.claim(&first, target).is_ok(), "it has it until the pass ends");
        assert_eq!(claims.claim(&second, target).expect_err("taken"), contested);
        assert!(claims.claim(&second, third).is_ok(), "another target is another matter");
    }
}

/// In one view: what the rows of one query have dropped, those of the next may have.
#[test]
fn rows_of_a_later_query_get_what_those_of_the_one_before_have_dropped_and_not_what_they_hold() {
    let (mut world, all) = world(4);
    let [target, held, one, other] = all[..] else { panic!("four") };
    let mut plan = world.claim_plan::<&mut A>();
    let mut rows = world.plan::<Claimant<'_>>();
    let cell = world.cell();
    let claims = cell.claims(&mut plan).expect("free");
    let mut kept = Vec::new();
    for entity in [one, other, one] {
        let mut rows = cell.query(&mut rows).expect("the one before is gone");
        let row = rows.query().into_get(entity).expect("alive");
        assert!(claims.claim(&row, target).is_ok(), "no row of this loop has it");
        match claims.claim(&row, held) {
            Ok(claim) => kept.push(claim),
            Err(refused) if entity == one => assert_eq!(refused, ClaimError::Held(held)),
            Err(refused) => {
                assert_eq!(refused, ClaimError::Contested { target: held, rows: [one, other] });
            }
        }
    }
    assert_eq!(kept.len(), 1);
}

#[test]
fn one_query_with_claimants_lives_at_a_time_in_a_version_slot() {
    let (mut world, all) = world(2);
    let mut one = world.plan::<(Claimant<'_>, &A)>();
    let mut two = world.plan_filtered::<Option<Claimant<'_>>, With<A>>();
    let mut view = world.view_plan::<Present<Claimant<'_>>>();
    let mut free = world.plan::<&mut B>();
    let mut taken = world.plan::<(Claimant<'_>, &mut B)>();
    let cell = world.cell_with_versions(2);
    let rows = cell.query(&mut one).expect("free");
    let refused = cell.query(&mut two).expect_err("there is one");
    assert_eq!(refused.to_string(), "cannot write Claimant: it is in use elsewhere at this moment");
    assert!(cell.view(&mut view).is_err() && cell.query(&mut taken).is_err());
    assert!(cell.query(&mut free).is_ok(), "what the refused one had taken is given back");
    assert!(cell.version_slot(1).query(&mut two).is_ok(), "another user of the cell");
    drop(rows);
    assert!(cell.view(&mut view).expect("free").get_mut(all[0]).is_ok());
    std::mem::forget(cell.query(&mut two).expect("free"));
    assert!(cell.query(&mut taken).is_err());
    assert!(world.cell().query(&mut taken).is_ok(), "a guard that was leaked is forgotten");
}

#[test]
fn what_no_user_declares_to_write_is_shared_by_readers_and_refused_to_all_writers() {
    let (mut world, _) = world(10);
    _ = (world.insert_resource(7_u32), world.insert_resource(8_u64));
    let (mut read, mut also_read) = (world.plan::<(&A, &B)>(), world.plan::<&A>());
    let (mut write, mut view) = (world.plan::<&mut A>(), world.view_plan::<&mut A>());
    let (mut claims, mut write_b) = (world.claim_plan::<&mut A>(), world.plan::<&mut B>());
    let mut declared = DeclaredAccess::new("one", also_read.access().clone());
    declared.add_resource::<u32>(false);
    let mut other = DeclaredAccess::new("the other", write_b.access().clone());
    other.add_resource::<u64>(true);
    declared.merge(&other);

    let cell = world.cell_for(&declared, 2);
    for _ in 0..2 {
        assert!(cell.query(&mut write).expect_err("read only").wanted_write);
        assert!(cell.view(&mut view).is_err() && cell.claims(&mut claims).is_err());
        assert!(cell.resource_mut::<u32>().is_err());
        let both = cell.query(&mut read).expect("free");
        let numbers =
            (cell.resource::<u32>().expect("free"), cell.resource::<u64>().expect("free"));
        assert!(cell.version_slot(1).query(&mut also_read).is_ok(), "readers share");
        assert!(cell.query(&mut write).is_err() && cell.query(&mut write_b).is_err());
        assert!(cell.resource_mut::<u32>().is_err() && cell.resource_mut::<u64>().is_err());
        assert_eq!((both.count(), *numbers.0, *numbers.1), (10, 7, 8));
        drop((both, numbers));
        let written = (cell.query(&mut write_b), cell.resource_mut::<u64>().expect("free"));
        assert!(cell.query(&mut read).is_err() && cell.resource::<u64>().is_err());
        drop(written);
    }
    std::mem::forget((cell.query(&mut read), cell.resource::<u64>()));

    let cell = world.cell();
    assert!(cell.query(&mut write).is_ok() && cell.resource_mut::<u32>().is_ok());
    let reading = cell.query(&mut also_read).expect("free");
    assert!(cell.query(&mut write).is_err(), "readers of a cell where it may be written count");
    drop(reading);
    assert!(cell.view(&mut view).is_ok());
}

#[test]
fn in_a_cell_of_its_own_a_user_meets_nothing_that_earlier_users_hold() {
    let (mut world, _) = world(10);
    let (mut read, mut also_read) = (world.plan::<&A>(), world.plan::<&A>());
    let (mut write, mut write_b) = (world.plan::<&mut A>(), world.plan::<&mut B>());
    let [reads, writes] = [read.access(), write.access()]
        .map(|access| DeclaredAccess::new("one of them", access.clone()));

    let mut cells = world.serial_cells_for(&writes, 4);
    let mut versions = Vec::new();
    for slot in [0, 2] {
        cells.lend(slot, &writes, |cell| {
            versions.push(cell.version());
            let written = cell.query(&mut write).expect("free");
            assert!(cell.query(&mut read).is_err(), "within a slot a writer keeps all others out");
            drop(written);
            assert!(cell.query(&mut write_b).is_err(), "it has not said so");
            std::mem::forget(cell.query(&mut write));
        });
        cells.lend(slot + 1, &reads, |cell| {
            versions.push(cell.version());
            let reading = cell.query(&mut read).expect("free");
            assert!(cell.query(&mut also_read).is_ok(), "readers share");
            assert!(cell.query(&mut write).expect_err("read only").wanted_write);
            std::mem::forget(reading);
        });
    }
    assert!(versions.windows(2).all(|pair| pair[0] + 1 == pair[1]), "as the slots of one cell");
    let cell = world.cell();
    assert_eq!(cell.version(), versions[3] + 1);
    assert!(cell.query(&mut write).is_ok() && cell.query(&mut write_b).is_ok());
}

#[test]
fn what_a_user_that_panics_was_to_write_is_read_only_for_the_next_one() {
    let (mut world, _) = world(10);
    let (mut read, mut write) = (world.plan::<&A>(), world.plan::<&mut A>());
    let [reads, writes] = [read.access(), write.access()]
        .map(|access| DeclaredAccess::new("one of them", access.clone()));
    let mut cells = world.serial_cells_for(&writes, 2);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        cells.lend(0, &writes, |cell| {
            std::mem::forget(cell.query(&mut write));
            panic!("on purpose");
        });
    }));
    assert!(outcome.is_err());
    cells.lend(1, &reads, |cell| {
        assert!(cell.query(&mut read).is_ok(), "what the other one held is free");
        assert!(cell.query(&mut write).is_err(), "it has not said so");
    });
}

#[test]
#[should_panic(expected = "version slot 2 of a cell with 2")]
fn there_are_no_more_slots_than_asked_for() {
    let mut world = World::new();
    let declared = DeclaredAccess::default();
    world.serial_cells_for(&declared, 2).lend(2, &declared, |_| ());
}

#[test]
fn what_a_leaked_guard_held_is_free_in_the_next_cell() {
    let (mut world, _) = world(2);
    _ = world.insert_resource(7_u32);
    let mut plan = world.plan::<&mut A>();
    let cell = world.cell();
    std::mem::forget(cell.query(&mut plan).expect("free"));
    std::mem::forget(cell.resource_mut::<u32>().expect("free"));
    assert!(cell.query(&mut plan).is_err() && cell.resource::<u32>().is_err());
    let cell = world.cell();
    assert!(cell.query(&mut plan).is_ok() && cell.resource::<u32>().is_ok());
}

#[test]
fn a_guard_that_is_passed_on_gives_up_its_right_where_it_is_dropped() {
    // See the test of the same name about resources.
    use formic_ecs::{BorrowedQuery, Claim, ExclusiveView};
    fn claimed<'a>(
        claim: Claim<'a, &mut A>,
        claims: &'a ExclusiveView<'_, &mut A>,
        row: &Claimant<'_>,
    ) {
        drop(claim);
        claims.claim(row, row.entity()).expect("free again").get_mut().0 += 1;
    }
    fn queried(query: BorrowedQuery<'_, &mut A>, then: impl FnOnce()) {
        drop(query);
        then();
    }
    let (mut world, all) = world(5);
    let mut plan = world.claim_plan::<&mut A>();
    let mut one = world.plan::<&mut A>();
    let mut two = world.plan::<&mut A>();
    let mut rows = world.plan::<Claimant<'_>>();
    let cell = world.cell();
    let claims = cell.claims(&mut plan).expect("free");
    let mut rows = cell.query(&mut rows).expect("free");
    let row = rows.query().into_get(all[1]).expect("alive");
    claimed(claims.claim(&row, all[1]).expect("free"), &claims, &row);
    drop((claims, row));
    drop(rows);
    queried(cell.query(&mut one).expect("free"), || {
        cell.query(&mut two).expect("free again").query().for_each(|a| a.0 += 1);
    });
    assert_eq!(world.get(all[1]), Ok(&A(3)));
}

/// Rows of several chunks, each of which wants each target; those that get one write again and again.
#[test]
fn many_threads_claim_and_no_write_is_lost() {
    let (mut world, all) = world(16);
    world.spawn_batch((0..50).map(|i| (A(0), B(0), Wide([i; 9]))));
    world.spawn_batch((0..50).map(|_| (A(0), B(0))));
    let mut plan = world.claim_plan::<(&mut A, &mut B)>();
    let mut rows = world.plan::<Claimant<'_>>();
    let mut scratch = formic_ecs::ParallelScratch::default();
    let rounds = if cfg!(miri) { 3 } else { 30 };
    for round in 0..rounds {
        let (writes, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let cell = world.cell();
        let claims = cell.claims(&mut plan).expect("free");
        let mut rows = cell.query(&mut rows).expect("free");
        let mut query = rows.query();
        let chunks = query.parallel(&mut scratch);
        assert!(chunks.len() >= 3);
        std::thread::scope(|scope| {
            for (first, thread) in (0..3).enumerate() {
                let (claims, chunks, all, writes, refused) =
                    (&claims, &chunks, &all, &writes, &refused);
                scope.spawn(move || {
                    let mut random = RandomStream::new(thread);
                    let indices = (0..chunks.len()).map(|nth| (nth + first) % chunks.len());
                    for row in indices.filter_map(|index| chunks.take(index)).flatten() {
                        for _ in 0..16 {
                            let target = all[usize::try_from(random.below(16)).expect("small")];
                            let Ok(mut claim) = claims.claim(&row, target) else {
                                _ = refused.fetch_add(1, Ordering::Relaxed);
                                continue;
                            };
                            let (a, b) = claim.get_mut();
                            a.0 += 1;
                            b.0 += 1;
                            assert_eq!(a.0, b.0, "another row came between");
                            _ = writes.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        drop(query);
        drop((rows, claims));
        assert!(refused.into_inner() > 0, "round {round}: rows want the same");
        let written = all.iter().map(|&it| world.get::<A>(it).expect("alive").0);
        assert_eq!(written.sum::<u64>(), (0..16).sum::<u64>() + writes.into_inner() as u64);
        for (i, &entity) in (0..).zip(&all) {
            *world.get_mut::<A>(entity).expect("alive") = A(i);
            *world.get_mut::<B>(entity).expect("alive") = B(i);
        }
    }
}

#[test]
fn many_threads_flip_bits_and_the_count_stays_right() {
    let (mut world, all) = world(200);
    let mut plan = world.view_plan::<EnabledMut<On>>();
    let cell = world.cell();
    let view = cell.view(&mut plan).expect("free");
    let rounds = if cfg!(miri) { 40 } else { 5000 };
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let (view, all) = (&view, &all);
            scope.spawn(move || {
                let mut random = RandomStream::new(thread);
                for _ in 0..rounds {
                    let entity = all[usize::try_from(random.below(200)).expect("small")];
                    _ = view.set(entity, random.below(2) == 0).expect("it has one");
                }
            });
        }
    });
    drop(view);
    world.check().expect("bits and counts agree");
}

#[test]
fn threads_that_ask_at_the_same_time_are_granted_or_refused_but_never_mixed() {
    let (mut world, _) = world(50);
    let mut plans: Vec<_> = (0..3).map(|_| world.plan::<(&mut A, &mut B)>()).collect();
    let granted = AtomicUsize::new(0);
    let rounds = if cfg!(miri) { 8 } else { 300 };
    let cell = world.cell();
    std::thread::scope(|scope| {
        for plan in &mut plans {
            let granted = &granted;
            scope.spawn(move || {
                for _ in 0..rounds {
                    let Ok(mut query) = cell.query(plan) else {
                        std::thread::yield_now();
                        continue;
                    };
                    _ = granted.fetch_add(1, Ordering::Relaxed);
                    for (a, b) in query.query() {
                        a.0 += 1;
                        b.0 += 1;
                        assert_eq!(a.0, b.0);
                    }
                }
            });
        }
    });
    let granted = granted.into_inner() as u64;
    assert!(granted > 0);
    assert!(
        world
            .query::<(Entity, &A)>()
            .into_iter()
            .all(|(e, a)| a.0 == u64::from(e.index()) + granted)
    );
}

#[test]
fn the_access_of_a_plan_says_what_it_touches() {
    let (mut world, _) = world(1);
    let (a, b) = (world.register::<A>(), world.register::<B>());
    let write_a = world.plan_filtered::<(&mut A, &B), With<On>>();
    let read_a = world.plan::<&A>();
    let flip = world.plan::<EnabledMut<On>>();
    assert_eq!((write_a.access().writes(), write_a.access().reads()), (&[a][..], &[b][..]));
    assert_eq!(write_a.access().conflicts(read_a.access()), [a]);
    assert_eq!(read_a.access().conflicts(read_a.access()), []);
    assert_eq!(flip.access().conflicts(write_a.access()), [world.register::<On>()]);
    assert_eq!(flip.access().value_conflicts(write_a.access()), []);
}

#[test]
fn a_cell_of_too_many_slots_is_refused_and_the_world_still_has_its_versions() {
    let mut world = World::new();
    let all = world.spawn_batch((0..3).map(|_| ()));
    let before = world.version();
    for slots in [(1 << 20) + 1, usize::MAX] {
        let cell = AssertUnwindSafe(|| _ = world.cell_with_versions(slots));
        assert!(catch_unwind(cell).is_err());
        assert_eq!(world.version(), before, "nothing has happened");
    }
    let last = world.cell_with_versions(1 << 20).version_slot((1 << 20) - 1).version();
    assert_eq!(last, before + (1 << 20));
    let saved = world.snapshot().expect("all can be saved");
    world.restore(&saved).expect("it is not too old");
    assert!(world.contains(all[2]));
}
