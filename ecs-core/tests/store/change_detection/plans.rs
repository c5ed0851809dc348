//! When a plan was asked last, version slots, and rows that many threads write.

use formic_ecs::prelude::*;
use formic_ecs::{ParallelScratch, QueryPlan};

use super::{Coarse, Exact, Lamp, changed, crowd, sorted};

#[test]
fn a_plan_asks_for_what_is_new_since_it_was_asked_last() {
    let (mut world, all) = crowd();
    let mut plan: QueryPlan<Entity, Changed<Exact>> = world.plan_filtered();
    let ask = |world: &mut World, plan: &mut QueryPlan<Entity, Changed<Exact>>| {
        let cell = world.cell();
        cell.query(plan).expect("free").query().into_iter().collect::<Vec<_>>()
    };
    assert_eq!(plan.last_run(), 0);
    assert_eq!(ask(&mut world, &mut plan).len(), all.len());
    assert_eq!(plan.last_run(), world.version());
    assert_eq!(ask(&mut world, &mut plan), []);
    world.get_mut::<Exact>(all[2]).expect("alive").0 = 0;
    assert_eq!(ask(&mut world, &mut plan), [all[2]]);
    assert_eq!(ask(&mut world, &mut plan), []);
}

#[test]
fn a_plan_that_was_refused_was_not_asked() {
    let (mut world, all) = crowd();
    let mut plan = world.plan_filtered::<&Exact, Changed<Exact>>();
    let mut writing = world.plan::<&mut Exact>();
    let cell = world.cell();
    let guard = cell.query(&mut writing).expect("free");
    assert!(cell.query(&mut plan).is_err());
    drop(guard);
    assert_eq!(plan.last_run(), 0);
    assert_eq!(cell.query(&mut plan).expect("free").count(), all.len());
}

#[test]
fn a_later_version_slot_is_news_for_an_earlier_one() {
    let (mut world, all) = crowd();
    let mut early = world.plan_filtered::<&Exact, Changed<Exact>>();
    let mut writing = world.plan::<(Entity, &mut Exact)>();
    let mut late = world.plan_filtered::<&Exact, Changed<Exact>>();
    let mut seen = Vec::new();
    for round in 0..4 {
        let cell = world.cell_with_versions(3);
        let first = cell.version_slot(0).query(&mut early).expect("free").count();
        if round == 1 {
            let mut query = cell.version_slot(1).query(&mut writing).expect("free");
            let (_, exact) = query.query().into_get(all[6]).expect("alive");
            exact.0 = 0;
        }
        let last = cell.version_slot(2).query(&mut late).expect("free").count();
        seen.push((first, last));
        world.check().expect("consistent");
    }
    let all = all.len();
    assert_eq!(seen, [(all, all), (0, 1), (1, 0), (0, 0)]);
}

#[test]
fn a_version_slot_that_comes_too_late_takes_nothing_back() {
    let (mut world, all) = crowd();
    let mut one = world.plan::<(Entity, &mut Exact)>();
    let mut two = world.plan::<(Entity, &mut Exact)>();
    let before = world.version();
    let cell = world.cell_with_versions(2);
    for (slot, plan, who) in [(1, &mut one, 3), (0, &mut two, 4)] {
        let mut query = cell.version_slot(slot).query(plan).expect("free");
        query.query().into_get(all[who]).expect("alive").1.0 = 0;
        query.query().into_get(all[3]).expect("alive").1.0 = 0;
    }
    assert_eq!(changed(&mut world, before), sorted(vec![all[3], all[4]]));
    assert_eq!(changed(&mut world, before + 1), [all[3]]);
    world.check().expect("consistent");
}

#[test]
#[should_panic(expected = "version slot 2 of a cell with 2")]
fn a_version_slot_that_the_cell_was_not_made_for_is_refused() {
    _ = World::new().cell_with_versions(2).version_slot(2);
}

#[derive(Component)]
struct Writes(Entity);

#[test]
fn claims_from_many_threads_stamp_each_their_rows() {
    let (mut world, all) = crowd();
    let before = world.version();
    // Rows in chunks of their own, as many as threads.
    let is_theirs = |nth: usize| nth % 6 < 3;
    let mut rows = [(); 3].map(|()| Vec::new());
    for (nth, &entity) in all.iter().enumerate().filter(|(nth, _)| is_theirs(*nth)) {
        rows[nth % 3].push(Writes(entity));
    }
    let [one, two, three] = rows;
    world.spawn_batch(one);
    world.spawn_batch(two.into_iter().map(|it| (it, Lamp(2))));
    world.spawn_batch(three.into_iter().map(|it| (it, Coarse(3))));
    let mut plan = world.claim_plan::<&mut Exact>();
    let mut rows = world.plan::<(Claimant<'_>, &Writes)>();
    let mut scratch = ParallelScratch::default();
    let cell = world.cell();
    let claims = cell.claims(&mut plan).expect("free");
    let mut rows = cell.query(&mut rows).expect("free");
    let mut query = rows.query();
    let chunks = query.parallel(&mut scratch);
    assert!(chunks.len() >= 3);
    std::thread::scope(|scope| {
        for first in 0..3 {
            let (claims, chunks) = (&claims, &chunks);
            scope.spawn(move || {
                let indices = (first..chunks.len()).step_by(3);
                for (row, writes) in indices.filter_map(|index| chunks.take(index)).flatten() {
                    claims.claim(&row, writes.0).expect("each has its own").get_mut().0 += 1;
                }
            });
        }
    });
    drop(query);
    drop((rows, claims));
    let expected = all.iter().enumerate().filter(|(nth, _)| is_theirs(*nth)).map(|(_, &e)| e);
    assert_eq!(changed(&mut world, before), sorted(expected.collect()));
    world.check().expect("consistent");
}

#[test]
fn shards_of_a_view_stamp_each_their_rows_from_many_threads() {
    let (mut world, all) = crowd();
    for round in 0..if cfg!(miri) { 2 } else { 50 } {
        let before = world.version();
        let mut view = world.view::<&mut Exact>();
        std::thread::scope(|scope| {
            for (which, mut shard) in (0..4).zip(view.shards(4)) {
                let all = &all;
                scope.spawn(move || {
                    for &entity in all.iter().filter(|it| it.index() % 8 != round % 8) {
                        let is_mine = entity.index() % 4 == which;
                        let item = shard.get_mut(entity).map(|exact| exact.0 += 1);
                        assert_eq!(item.is_ok(), is_mine, "each is of one part");
                    }
                });
            }
        });
        drop(view);
        let expected = all.iter().copied().filter(|it| it.index() % 8 != round % 8);
        assert_eq!(changed(&mut world, before), sorted(expected.collect()), "round {round}");
    }
    world.check().expect("consistent");
}
