//! Rows with named fields as arguments of systems.
#![expect(elided_lifetimes_in_paths, reason = "the arguments of systems read better without <'_>")]

use crate::support::{pool, pools};
use formic_ecs::prelude::*;
use formic_jobs::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

const NURSES: u16 = if cfg!(miri) { 12 } else { 5_000 };

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Position(f32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Velocity(f32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Meals(f32);
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Feeds(Entity);

#[derive(QueryData)]
struct Mover<'w> {
    position: &'w mut Position,
    velocity: Option<&'w Velocity>,
}

#[derive(QueryData)]
struct Nurse<'w> {
    row: Claimant<'w>,
    feeds: &'w Feeds,
    mover: Mover<'w>,
}

impl Nurse<'_> {
    fn step(&mut self) {
        self.mover.position.0 += self.mover.velocity.map_or(1.0, |velocity| velocity.0);
    }
}

/// Nurses of which each feeds one larva: its own, or all the first one.
fn nest(feed_one: bool) -> World {
    let mut world = World::new();
    let larvae = world.spawn_batch((0..NURSES).map(|_| Meals(0.0)));
    let feeds = |i: u16| Feeds(larvae[if feed_one { 0 } else { i.into() }]);
    let halves = (0..NURSES / 2, NURSES / 2..NURSES);
    world.spawn_batch(halves.0.map(|i| (Position(i.into()), Velocity(0.5), feeds(i))));
    world.spawn_batch(halves.1.map(|i| (Position(i.into()), feeds(i))));
    world
}

fn by_struct(mut nurses: Query<Nurse>, meals: ExclusiveLookup<Meal<'static>>) {
    nurses.par_for_each(|mut nurse| {
        nurse.step();
        let target = nurse.feeds.0;
        let mut larva = meals.claim(&nurse.row, target).expect("each has its own");
        larva.get_mut().meals.0 += nurse.mover.position.0;
    });
}

#[derive(QueryData)]
struct Meal<'w> {
    meals: &'w mut Meals,
}

type Row<'w> = (Claimant<'w>, &'w Feeds, (&'w mut Position, Option<&'w Velocity>));

fn by_tuple(mut nurses: Query<Row>, meals: ExclusiveLookup<&'static mut Meals>) {
    nurses.par_for_each(|(row, feeds, (position, velocity))| {
        position.0 += velocity.map_or(1.0, |velocity| velocity.0);
        let mut larva = meals.claim(&row, feeds.0).expect("each has its own");
        larva.get_mut().0 += position.0;
    });
}

#[test]
fn a_system_does_with_named_rows_what_it_does_with_tuples_on_any_number_of_threads() {
    let mut expected = nest(false);
    expected.run_system(&pool(0), by_tuple);
    for pool in pools() {
        let mut world = nest(false);
        world.run_system(&pool, by_struct);
        assert_eq!(world.state_hash(), expected.state_hash(), "{} threads", pool.parallelism());
    }
}

#[test]
fn loops_that_fold_and_loops_row_by_row_hand_out_named_rows() {
    fn fold(mut movers: Query<Mover>) {
        // Whole numbers, so that the order does not matter.
        let add = |sum: &mut f64, mover: Mover<'_>| *sum += f64::from(mover.position.0);
        let sum = movers.par_fold(|| 0.0, add, |sum, part| *sum += part);
        let mut again = 0.0;
        for mover in &mut movers {
            again += f64::from(mover.position.0);
        }
        assert_eq!(sum.to_bits(), again.to_bits());
        assert_eq!(sum.to_bits(), (0..NURSES).map(f64::from).sum::<f64>().to_bits());
        movers.for_each(|mover| mover.position.0 += 1.0);
    }
    for pool in pools() {
        let mut world = nest(false);
        world.run_system(&pool, fold);
        assert_eq!(world.query::<&Position>().first(), Some(&Position(1.0)));
    }
}

#[test]
fn named_rows_that_claim_one_entity_are_an_error_on_any_number_of_threads() {
    fn feed(mut nurses: Query<Nurse>, meals: ExclusiveLookup<Meal<'static>>) {
        nurses.par_for_each(|nurse| drop(meals.claim(&nurse.row, nurse.feeds.0)));
    }
    for pool in pools() {
        let mut world = nest(true);
        let run = AssertUnwindSafe(|| world.run_system(&pool, feed));
        let panic = catch_unwind(run).expect_err("two rows claim one entity");
        let message = panic.downcast_ref::<String>().expect("a text");
        assert!(message.contains("both claim") && message.contains("Meals"), "{message}");
    }
}

/// Few rows that take long are shared, though one chunk has most of them: each is slow by sleeping, so that the
/// figure does not depend on how many cores there are.
#[test]
#[cfg_attr(miri, ignore = "measures time")]
fn slow_rows_of_one_chunk_are_shared() {
    const ROWS: u16 = 512;
    fn toil(mut all: Query<&mut Meals>) {
        all.par_for_each(|meals| {
            std::thread::sleep(std::time::Duration::from_micros(200));
            meals.0 += 1.0;
        });
    }
    let mut world = World::new();
    world.spawn_batch((0..ROWS).map(|_| Meals(0.0)));
    let mut largest = 0;
    world.query::<&Meals>().chunks(|chunk| largest = largest.max(chunk.row_count()));
    assert!(2 * largest > usize::from(ROWS), "one chunk has most of them");
    let mut schedule = Schedule::builder().add(toil).build(&mut world).unwrap();
    let mut time = |pool: &Pool| {
        let start = std::time::Instant::now();
        assert!(schedule.run(&mut world, pool).failures.is_empty());
        start.elapsed()
    };
    let (alone, together) = (time(&pool(0)), time(&pool(3)));
    assert!(together * 2 < alone, "{together:?} by four threads, {alone:?} by one");
}
