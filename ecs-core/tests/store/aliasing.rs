//! Borrows that queries hand out, kept and used side by side: for Miri, which sees whether any two of them
//! overlap. Worlds are small, so that it can.

use formic_ecs::prelude::*;
use formic_ecs::{DynamicQuery, Query, QueryData};

#[derive(Component, Clone, Debug, PartialEq)]
#[component(enableable)]
struct Gold(u64);

#[derive(Component, Clone, Debug, PartialEq)]
#[component(tracked, enableable)]
struct Health(u64);

/// Without a size.
#[derive(Component, Clone, Debug, PartialEq)]
struct Tag;

/// How many there are of each kind: enough for several chunks of the smallest size.
const EACH: u64 = if cfg!(miri) { 12 } else { 3000 };

/// Entities with all three and with gold alone; of every third the gold is off, of every fourth the
/// health.
fn world() -> (World, Vec<Entity>) {
    let mut world = World::new();
    let mut all = world.spawn_batch((0..EACH).map(|i| (Gold(i), Health(i), Tag)));
    for (i, &entity) in all.iter().enumerate() {
        world.set_enabled::<Gold>(entity, i % 3 != 0).expect("it has gold");
        world.set_enabled::<Health>(entity, i % 4 != 0).expect("it has health");
    }
    // A chunk in which all are on, another way of visiting.
    all.extend(world.spawn_batch((0..EACH).map(Gold)));
    (world, all)
}

/// Keeps every row, by each way of walking, then hands all of them over at once.
fn keep_all<'w, Q: QueryData>(
    world: &'w mut World,
    mut with: impl for<'a> FnMut(Vec<Q::Item<'a>>),
) {
    fn kept<'a, Q: QueryData>(query: Query<'a, Q>) -> Vec<Q::Item<'a>> {
        let mut kept = Vec::new();
        query.for_each(|item| kept.push(item));
        kept
    }
    with(kept(world.query::<Q>()));
    with(world.query::<Q>().into_iter().collect());
    let mut rows = Vec::new();
    world.query::<Q>().chunks(|chunk| rows.extend(chunk));
    with(rows);
    let mut query = world.query::<Q>();
    with(kept(query.reborrow()));
    with(query.into_iter().collect());
}

#[test]
fn rows_that_are_kept_do_not_overlap() {
    let (mut world, _) = world();
    keep_all::<(&mut Gold, Option<&mut Health>)>(&mut world, |mut rows| {
        let sum: u64 = rows.iter().map(|row| row.0.0).sum();
        for index in 1..rows.len() {
            let (before, rest) = rows.split_at_mut(index);
            core::mem::swap(&mut *before[index - 1].0, &mut *rest[0].0);
            if let (Some(left), Some(right)) = (&mut before[index - 1].1, &mut rest[0].1) {
                core::mem::swap(&mut **left, &mut **right);
            }
        }
        assert_eq!(rows.iter().map(|row| row.0.0).sum::<u64>(), sum);
    });
    keep_all::<(Mut<'_, Health>, Present<&mut Gold>, &mut Tag, EnabledMut<Health>)>(
        &mut world,
        |mut rows| {
            for (health, gold, tag, bit) in rows.iter_mut().rev() {
                health.0 += gold.0;
                **tag = Tag;
                gold.0 = health.0;
                let was = bit.set(true);
                bit.set(was);
            }
            assert!(rows.iter().all(|(health, gold, ..)| health.0 == gold.0));
        },
    );
    world.check().expect("consistent");
}

#[test]
fn references_inside_options_and_tuples_of_tuples_do_not_overlap() {
    let (mut world, _) = world();
    keep_all::<((&mut Gold, (Entity, Option<(&mut Health, &Tag)>)), Option<Enabled<Health>>)>(
        &mut world,
        |mut rows| {
            for ((gold, (_, inner)), _) in &mut rows {
                if let Some((health, _)) = inner {
                    core::mem::swap(&mut gold.0, &mut health.0);
                }
            }
        },
    );
    keep_all::<(&Gold, Ref<'_, Gold>, Option<&Gold>, Option<&mut Health>)>(&mut world, |rows| {
        for (gold, same, again, health) in rows {
            assert_eq!((gold, Some(gold)), (&*same, again));
            health.into_iter().for_each(|health| health.0 = gold.0);
        }
    });
    world.check().expect("consistent");
}

#[test]
fn slices_that_are_kept_do_not_overlap() {
    let (mut world, _) = world();
    let mut runs = Vec::new();
    world
        .query::<(&mut Gold, &mut Health, &mut Tag, Entity)>()
        .for_each_chunk(|run| runs.push(run));
    for (gold, health, tags, entities) in &mut runs {
        assert!(gold.len() == health.len() && tags.len() == entities.len());
        gold.iter_mut().zip(&mut **health).for_each(|(gold, health)| gold.0 += health.0);
        health.reverse();
    }
    for (gold, ..) in &mut runs {
        gold.reverse();
    }
}

#[test]
fn entities_by_name_do_not_overlap() {
    let (mut world, all) = world();
    let few = all[..5].to_vec();
    let mut view = world.view::<(&mut Gold, Option<Mut<'_, Health>>)>();
    let [a, b, c] = view.get_many_mut([few[0], few[4], few[2]]).expect("three of them");
    core::mem::swap(a.0, c.0);
    core::mem::swap(b.0, a.0);
    if let (Some(mut left), Some(mut right)) = (b.1, c.1) {
        core::mem::swap(&mut *left, &mut *right);
    }
    drop(view);
    let mut query = world.query::<Present<&mut Gold>>();
    let [a, b] = query.get_many_mut([few[1], few[3]]).expect("two of them");
    core::mem::swap(a, b);
    world.check().expect("consistent");
}

#[test]
fn rows_and_runs_by_id_do_not_overlap() {
    let (mut world, all) = world();
    let id = |world: &World| {
        (
            world.component_id::<Gold>().expect("known"),
            world.component_id::<Health>().expect("known"),
            world.component_id::<Tag>().expect("known"),
        )
    };
    let (gold, health, tag) = id(&world);
    let mut asking = DynamicQuery::builder()
        .write(gold)
        .optional_write(health)
        .optional_write(tag)
        .build(&world)
        .expect("no contradiction");
    let mut rows: Vec<_> =
        world.query_by_id(&mut asking).expect("this world").into_iter().collect();
    let mut values: Vec<&mut Gold> =
        rows.iter_mut().map(|row| row.get_mut::<Gold>(0).expect("gold")).collect();
    values.iter_mut().for_each(|value| value.0 += 1);
    for row in rows.iter_mut().rev() {
        if let Ok(health) = row.get_mut::<Health>(1) {
            health.0 += 1;
        }
        if let Ok(tag) = row.get_mut::<Tag>(2) {
            *tag = Tag;
        }
    }
    let mut runs = Vec::new();
    world.query_by_id(&mut asking).expect("this world").for_each_run(|run| runs.push(run));
    let mut slices: Vec<&mut [Gold]> =
        runs.iter_mut().map(|run| run.slice_mut::<Gold>(0).expect("gold")).collect();
    slices.iter_mut().for_each(|slice| slice.reverse());
    let mut rows = world.query_by_id(&mut asking).expect("this world");
    for &entity in &all[..4] {
        if let Ok(mut row) = rows.get(entity) {
            row.get_mut::<Gold>(0).expect("gold").0 = 7;
        }
    }
    world.check().expect("consistent");
}

#[test]
fn claims_and_parallel_chunks_on_several_threads_do_not_overlap() {
    let (mut world, all) = world();
    let mut claiming = world.claim_plan::<(&mut Gold, Option<Mut<'_, Health>>)>();
    let mut rows = world.plan::<Claimant<'_>>();
    let mut scratch = formic_ecs::ParallelScratch::default();
    let cell = world.cell();
    let claims = cell.claims(&mut claiming).expect("no other");
    let mut rows = cell.query(&mut rows).expect("no other");
    let mut query = rows.query();
    let chunks = query.parallel(&mut scratch);
    assert!(chunks.len() > 1, "two threads have something to do");
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for row in (0..chunks.len()).filter_map(|index| chunks.take(index)).flatten() {
                    // Its own, and one that another row wants as well.
                    let other = all[row.entity().index() as usize * 7 % all.len()];
                    for target in [row.entity(), other] {
                        let Ok(mut claim) = claims.claim(&row, target) else { continue };
                        let (gold, health) = claim.get_mut();
                        gold.0 += 1;
                        health.into_iter().for_each(|mut health| health.0 += 1);
                    }
                }
            });
        }
    });
    drop(query);
    drop((rows, claims));
    let mut query = world.query::<(&mut Gold, Option<&mut Health>, EnabledMut<Gold>)>();
    let chunks = query.parallel(&mut scratch);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for chunk in (0..chunks.len()).filter_map(|index| chunks.take(index)) {
                    let mut rows: Vec<_> = chunk.into_iter().collect();
                    for (gold, health, bit) in &mut rows {
                        gold.0 += 1;
                        health.iter_mut().for_each(|health| health.0 += 1);
                        bit.set(gold.0 % 2 == 0);
                    }
                }
            });
        }
    });
    world.check().expect("consistent");
}
