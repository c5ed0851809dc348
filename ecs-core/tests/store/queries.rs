//! Queries: which rows, in which order, in every way of walking them.

use formic_ecs::prelude::*;
use formic_ecs::{
    Access, DynamicQuery, ExclusiveView, ParallelChunks, ParallelScratch, QueryEntityError,
    QueryPlan, QuerySingleError, Snapshot, StateHasher, ViewPlan, WorldCell,
};

#[derive(Component, Clone, Debug, PartialEq)]
pub(crate) struct A(pub(crate) u64);

#[derive(Component, Clone, Debug, PartialEq)]
pub(crate) struct B(pub(crate) u64);

#[derive(Component, Clone)]
#[component(enableable)]
pub(crate) struct On;

/// Never given to an entity.
#[derive(Component)]
struct Unknown;

/// Three archetypes with A, in this order, and one without.
fn world() -> World {
    let mut world = World::new();
    drop(world.spawn_batch((0..100).map(A)));
    drop(world.spawn_batch((100..150).map(B)));
    drop(world.spawn_batch((150..400).map(|i| (B(i), A(i)))));
    drop(world.spawn_batch((400..500).map(|i| (A(i), On))));
    world
}

fn panic_message(f: impl FnOnce()) -> String {
    let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).expect_err("it panics");
    payload.downcast_ref::<String>().expect("a formatted message").clone()
}

#[test]
fn rows_come_by_archetype_in_order_of_first_use_then_by_row() {
    let mut world = world();
    let found: Vec<u64> = world.query::<&A>().map(|a| a.0).collect();
    let expected: Vec<u64> = (0..100).chain(150..500).collect();
    assert_eq!(found, expected);
    let both: Vec<u64> = world.query::<(&A, &B)>().map(|(a, b)| a.0.min(b.0)).collect();
    assert_eq!(both, (150..400).collect::<Vec<_>>());
}

#[test]
fn every_way_of_walking_visits_the_same_rows_in_the_same_order() {
    let mut world = world();
    let expected: Vec<u64> = world.query::<&A>().map(|a| a.0).collect();
    let mut found = Vec::new();
    world.query::<&A>().for_each(|a| found.push(a.0));
    assert_eq!(found, expected);
    found.clear();
    world.query::<&A>().for_each_chunk(|slice| found.extend(slice.iter().map(|a| a.0)));
    assert_eq!(found, expected);
    found.clear();
    world.query::<&A>().chunks(|chunk| found.extend(chunk.into_iter().map(|a| a.0)));
    assert_eq!(found, expected);
    assert_eq!(world.query_ref::<&A>().map(|a| a.0).collect::<Vec<_>>(), expected);
    found.clear();
    let mut query = world.query::<&A>();
    let mut scratch = ParallelScratch::default();
    let chunks = query.parallel(&mut scratch);
    (0..chunks.len())
        .filter_map(|index| chunks.take(index))
        .for_each(|chunk| chunk.for_each(|a| found.push(a.0)));
    assert_eq!(found, expected);
}

#[test]
fn fold_goes_on_where_next_left_off() {
    let mut world = world();
    let expected: Vec<u64> = world.query::<&A>().map(|a| a.0).collect();
    for taken in [0, 1, 59, 60, 61, 99, 100, 101, expected.len()] {
        let mut rows = world.query::<&A>().into_iter();
        let mut found: Vec<u64> = rows.by_ref().take(taken).map(|a| a.0).collect();
        found = rows.fold(found, |mut found, a| {
            found.push(a.0);
            found
        });
        assert_eq!(found, expected, "after {taken} rows");
    }
}

#[test]
fn an_iterator_that_has_ended_stays_ended() {
    let mut world = world();
    let mut rows = world.query::<&A>().into_iter();
    assert_eq!(rows.by_ref().count(), 350 + 100);
    assert!(rows.next().is_none() && rows.next().is_none());
    assert_eq!(rows.fold(0, |count, _| count + 1), 0);
}

#[test]
fn size_hints_hold_what_they_promise() {
    let mut world = world();
    let first = world.query::<(Entity, &On)>().map(|(entity, _)| entity).next().expect("a row");
    world.set_enabled::<On>(first, false).expect("it has one");
    let total = world.query::<&On>().count();
    let mut rows = world.query::<&On>().into_iter();
    for left in (0..=total).rev() {
        let (low, high) = rows.size_hint();
        assert!(low <= left && high.is_none_or(|high| left <= high));
        assert_eq!(rows.next().is_some(), left > 0);
    }
    world.query::<&On>().chunks(|chunk| {
        let count = chunk.row_count();
        let mut rows = chunk.into_iter();
        for left in (0..=count).rev() {
            assert_eq!(rows.size_hint(), (left, Some(left)));
            assert_eq!(rows.next().is_some(), left > 0);
        }
    });
}

#[test]
fn count_is_empty_and_single_agree() {
    let mut world = World::new();
    assert!(world.query::<&A>().is_empty());
    assert_eq!(world.query::<&A>().single(), Err(QuerySingleError::NoRow));
    let one = world.spawn(A(1));
    assert_eq!(world.query::<&A>().single(), Ok(&A(1)));
    assert_eq!(world.query::<&A>().count(), 1);
    let two = world.spawn((A(2), On));
    assert_eq!(world.query::<&A>().single(), Err(QuerySingleError::SeveralRows));
    assert_eq!(world.query_filtered::<&A, With<On>>().single(), Ok(&A(2)));
    world.set_enabled::<On>(two, false).expect("it has one");
    assert!(world.query::<&On>().is_empty());
    assert_eq!(world.query::<&On>().single().map(drop), Err(QuerySingleError::NoRow));
    assert_eq!(world.query_filtered::<Entity, Without<On>>().count(), 2);
    world.despawn(one).expect("alive");
    assert_eq!(world.query::<&A>().single(), Ok(&A(2)));
}

#[test]
fn get_gives_what_the_walk_gives_for_one_entity() {
    let mut world = world();
    let all: Vec<Entity> = world.entities().collect();
    let mut query = world.query::<(&mut A, &B)>();
    let mut found = 0;
    for &entity in &all {
        match query.get(entity) {
            Ok((a, b)) => {
                assert_eq!(a.0, b.0);
                a.0 += 1;
                found += 1;
            }
            Err(error) => assert_eq!(error, QueryEntityError::NotMatching(entity)),
        }
    }
    assert_eq!(found, 250);
    assert!(query.into_iter().all(|(a, b)| a.0 == b.0 + 1));
}

#[test]
fn a_query_that_is_borrowed_can_be_walked_again() {
    let mut world = world();
    let mut query = world.query::<&mut A>();
    for a in &mut query {
        a.0 += 1;
    }
    query.reborrow().for_each(|a| a.0 += 1);
    assert_eq!(query.reborrow().into_iter().next(), Some(&mut A(2)));
    assert_eq!(query.count(), 450);
}

#[test]
fn a_component_that_nobody_has_matches_nothing_but_options_and_without() {
    let mut world = world();
    assert_eq!(world.query_ref::<&Unknown>().count(), 0);
    assert_eq!(world.query_ref::<Option<&Unknown>>().count(), 500);
    assert_eq!(world.query_ref_filtered::<Entity, Without<Unknown>>().count(), 500);
    assert_eq!(world.query_ref_filtered::<Entity, Present<Unknown>>().count(), 0);
    assert!(world.components().iter().all(|info| !info.name().ends_with("Unknown")));
    assert_eq!(world.query::<&Unknown>().count(), 0, "and with the right to register it");
    _ = world.spawn(Unknown);
    assert_eq!(world.query::<&Unknown>().count(), 1);
}

#[test]
fn a_query_that_was_asked_before_sees_archetypes_that_came_after() {
    let mut world = World::new();
    assert_eq!(world.query::<&A>().count(), 0);
    _ = world.spawn((A(1), B(1)));
    assert_eq!(world.query::<&A>().count(), 1);
    let entity = world.spawn(());
    assert_eq!(world.query::<&A>().count(), 1);
    world.insert(entity, (A(2), On)).expect("alive");
    assert_eq!(world.query::<&A>().map(|a| a.0).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn a_plan_that_was_made_before_sees_archetypes_that_came_after() {
    let mut world = World::new();
    let mut plan = world.plan_filtered::<&A, Without<B>>();
    let mut view_plan = world.view_plan::<&A>();
    for round in 1..4 {
        _ = world.spawn(A(1));
        _ = world.spawn((A(2), B(2)));
        let entity = if round == 2 { world.spawn((A(3), On)) } else { world.spawn(A(4)) };
        let cell = world.cell();
        let count = cell.query(&mut plan).expect("free").count();
        assert_eq!(count, 2 * round);
        assert!(cell.view(&mut view_plan).expect("free").get(entity).is_ok());
    }
}

#[test]
fn plans_of_another_world_are_refused() {
    let mut mine = world();
    let mut theirs = World::new();
    let mut plan = mine.plan::<&mut A>();
    let mut view = mine.view_plan::<&mut A>();
    let mut claims = mine.claim_plan::<&mut A>();
    let cell = theirs.cell();
    let expected = "only to the world that made it";
    assert!(panic_message(|| drop(cell.query(&mut plan))).contains(expected));
    assert!(panic_message(|| drop(cell.view(&mut view))).contains(expected));
    assert!(panic_message(|| drop(cell.claims(&mut claims))).contains(expected));
    assert_eq!(mine.cell().query(&mut plan).expect("free").count(), 450);
}

#[test]
fn swapping_two_worlds_swaps_what_their_plans_are_good_for() {
    let (mut mine, mut theirs) = (world(), World::new());
    let mut plan = mine.plan::<&A>();
    std::mem::swap(&mut mine, &mut theirs);
    assert!(panic_message(|| drop(mine.cell().query(&mut plan))).contains("only to the world"));
    assert_eq!(theirs.cell().query(&mut plan).expect("free").count(), 450);
}

#[test]
fn a_query_that_contradicts_itself_panics_and_names_the_component() {
    macro_rules! refused {
        ($($data:ty),* $(,)?) => {
            $(
                for message in [
                    panic_message(|| drop(World::new().query::<$data>())),
                    panic_message(|| drop(world().query::<$data>())),
                    panic_message(|| drop(world().view::<$data>())),
                    panic_message(|| {
                        let mut world = world();
                        let mut plan = world.plan::<$data>();
                        let mut access = Access::default();
                        access.merge(plan.access());
                        assert_eq!(access.clash(), Some(world.register::<A>()));
                        // No plan is let in, however often it is tried.
                        drop(panic_message(|| drop(world.cell().query(&mut plan))));
                        drop(world.cell().query(&mut plan));
                    }),
                    panic_message(|| {
                        let mut world = world();
                        let mut plan = world.view_plan::<$data>();
                        drop(world.cell().view(&mut plan));
                    }),
                    panic_message(|| {
                        let mut world = world();
                        let mut plan = world.claim_plan::<$data>();
                        drop(world.cell().claims(&mut plan));
                    }),
                ] {
                    assert!(message.contains("store::queries::A twice"), "{message}");
                }
            )*
        };
    }
    refused!(
        (&mut A, &mut A),
        (&mut A, &A),
        (&A, &mut A),
        (&A, &B, Option<&mut A>),
        (Option<&mut A>, Option<&mut A>),
        (&mut B, (&A, (Entity, &mut A))),
        ((&mut A,), Option<(&B, &A)>),
    );
    assert_eq!(world().query::<(&A, &A, Option<&A>, &mut B)>().count(), 250, "no contradiction");
}

#[test]
fn a_refused_query_is_refused_again_and_harms_nothing() {
    let mut world = world();
    for _ in 0..2 {
        assert!(panic_message(|| drop(world.query::<(&mut A, &A)>())).contains("twice"));
    }
    assert_eq!(world.query::<&mut A>().count(), 450);
    world.check().expect("consistent");
}

#[test]
fn the_ordinal_of_a_chunk_counts_chunks_that_are_passed_over() {
    let mut world = world();
    let all: Vec<(Entity, usize)> = {
        let mut all = Vec::new();
        world.query::<(Entity, &On)>().chunks(|chunk| {
            let ordinal = chunk.ordinal();
            chunk.for_each(|(entity, _)| all.push((entity, ordinal)));
        });
        all
    };
    let last = all.last().expect("there are rows").1;
    for &(entity, _) in all.iter().filter(|(_, ordinal)| *ordinal != last) {
        world.set_enabled::<On>(entity, false).expect("it has one");
    }
    let mut seen = Vec::new();
    world.query::<&On>().chunks(|chunk| seen.push(chunk.ordinal()));
    assert_eq!(seen, [last]);
}

/// Cut into batches, and these put together in any way, the rows are those of the chunks, each once, in their
/// order; and who asks for a batch that is gone gets nothing of its chunk.
#[test]
fn batches_of_chunks_have_all_rows_once_and_in_order() {
    let mut world = world();
    world.spawn_batch((0..5_000).map(|i| (A(i), On)));
    let switched: Vec<Entity> =
        world.query_filtered::<Entity, With<On>>().into_iter().step_by(3).collect();
    for entity in switched {
        world.set_enabled::<On>(entity, false).expect("it has one");
    }
    let mut scratch = ParallelScratch::default();
    fn check<F: formic_ecs::QueryFilter>(world: &mut World, scratch: &mut ParallelScratch) {
        let found = world.query_filtered::<(Entity, &A), F>().into_iter();
        let all: Vec<Entity> = found.map(|(entity, _)| entity).collect();
        for step in [1, 2, 3, 7, 64, 1_000] {
            let mut query = world.query_filtered::<(Entity, &mut A), F>();
            let chunks = query.parallel(scratch);
            let count = chunks.batch_count();
            let has_small_chunks = cfg!(any(miri, formic_small_blocks));
            assert!(count > chunks.len() || has_small_chunks, "{count} of {}", chunks.len());
            let (mut rows, mut slices) = (Vec::new(), 0);
            for start in (0..count).step_by(step) {
                let mut next = start;
                chunks.take_batches(start..count.min(start + step), |first, part| {
                    assert!(first == start || first > next, "they come in order");
                    next = first;
                    assert!(part.row_count() <= step * 64);
                    if start % 2 == 0 {
                        part.for_each_run(|(run, _)| {
                            slices += run.len();
                            rows.extend_from_slice(run);
                        });
                    } else {
                        rows.extend(part.into_iter().map(|(entity, _)| entity));
                    }
                });
            }
            assert!(rows == all, "in steps of {step}");
            assert!(slices > 0);
            chunks.take_batches(0..count, |_, _| panic!("all of them are gone"));
            assert!((0..chunks.len()).all(|index| chunks.take(index).is_none()));
        }
    }
    check::<()>(&mut world, &mut scratch);
    check::<With<On>>(&mut world, &mut scratch);
    let mut query = world.query::<&A>();
    let chunks = query.parallel(&mut scratch);
    let last = chunks.len() - 1;
    chunks.take_batches(chunks.batch_count() - 1..chunks.batch_count(), |_, _| {});
    assert!(chunks.take(last).is_none() && chunks.take(0).is_some());
    let count = chunks.batch_count();
    assert!(panic_message(|| chunks.take_batches(0..count + 1, |_, _| {})).contains("there are"));
}

#[test]
fn a_chunk_is_given_out_once_whoever_asks() {
    let mut world = world();
    let mut query = world.query::<&mut A>();
    let mut scratch = ParallelScratch::default();
    for _ in 0..2 {
        let chunks = query.parallel(&mut scratch);
        let count = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for chunk in (0..chunks.len()).filter_map(|index| chunks.take(index)) {
                        chunk.for_each(|a| {
                            a.0 += 1;
                            _ = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        });
                    }
                });
            }
        });
        assert_eq!(count.into_inner(), 450);
    }
    let sum: u64 = query.into_iter().map(|a| a.0).sum();
    assert_eq!(sum, (0..100).chain(150..500).sum::<u64>() + 2 * 450);
}

#[test]
fn rows_may_be_kept_as_long_as_the_world_is_borrowed() {
    let mut world = world();
    let mut rows: Vec<(&mut A, &B)> = world.query::<(&mut A, &B)>().into_iter().collect();
    rows.reverse();
    for (a, b) in &mut rows {
        a.0 = b.0 * 2;
    }
    assert!(world.query_ref::<(&A, &B)>().into_iter().all(|(a, b)| a.0 == 2 * b.0));
}

#[test]
fn slices_of_pods_are_flat_numbers() {
    #[derive(Component, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
    #[repr(C)]
    struct Position([f32; 3]);
    let mut world = World::new();
    drop(world.spawn_batch((0..100).map(|_| Position([1.0, 2.0, 3.0]))));
    let mut sum = 0.0;
    world.query::<&mut Position>().for_each_chunk(|slice| {
        let numbers = bytemuck::cast_slice_mut::<_, f32>(slice);
        numbers.iter_mut().for_each(|number| *number *= 2.0);
        sum += numbers.iter().sum::<f32>();
    });
    assert_eq!(sum.to_bits(), 1200.0_f32.to_bits());
}

/// That the others are refused is in `tests/compile_fail/types.rs`.
#[test]
fn what_holds_components_goes_to_other_threads_and_is_shared_by_them() {
    fn is_for_threads<T: Send + Sync>() {}
    is_for_threads::<World>();
    is_for_threads::<WorldCell<'_>>();
    is_for_threads::<(CommandBuffer, Snapshot)>();
    is_for_threads::<(QueryPlan<&mut A>, ViewPlan<&mut A>, DynamicQuery)>();
    is_for_threads::<ExclusiveView<'_, &mut A>>();
    is_for_threads::<ParallelChunks<'_, &mut A>>();
}

#[test]
fn a_world_can_be_read_by_many_threads() {
    let world = world();
    let hash = world.state_hash();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut hasher = StateHasher::new();
                world.query_ref::<&A>().for_each(|a| hasher.write_u64(a.0));
                assert_ne!(hasher.finish(), 0);
                assert_eq!(world.state_hash(), hash);
            });
        }
    });
}

#[test]
fn rows_of_a_large_archetype_are_visited_once_each_and_can_be_kept() {
    #[derive(Component)]
    struct Left(u64);
    #[derive(Component)]
    struct Right(u64);
    // Several of the largest blocks, whatever their size.
    let count = if cfg!(any(miri, formic_small_blocks)) { 9_000 } else { 300_000 };
    let mut world = World::new();
    world.spawn_batch((0..count).map(|i| (Left(i), Right(0))));
    let mut kept = Vec::new();
    world.query::<(&Left, &mut Right)>().for_each(|(left, right)| {
        right.0 += left.0;
        kept.push((left, right));
    });
    assert_eq!(kept.len(), usize::try_from(count).expect("small"));
    for (left, right) in kept {
        right.0 += left.0;
    }
    let mut slices = Vec::new();
    world.query::<(&Left, &mut Right)>().for_each_chunk(|columns| slices.push(columns));
    let mut seen = 0;
    for (left, right) in slices {
        for (left, right) in left.iter().zip(right) {
            assert_eq!((left.0, right.0), (seen, 2 * seen));
            right.0 = 0;
            seen += 1;
        }
    }
    assert_eq!(seen, count);
}
