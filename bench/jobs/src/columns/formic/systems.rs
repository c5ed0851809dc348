//! Schedules of systems.

use std::sync::atomic::{AtomicU64, Ordering};

use formic_ecs::prelude::*;
use formic_jobs::ScheduleBuilder;
use formic_jobs::prelude::*;

use crate::effects::{self, Feeds, Stomach};
use crate::harness::Cell;
use crate::mixed::{self, for_each_mixed};

/// What a schedule runs on.
struct Frame {
    pool: Pool,
    world: World,
    schedule: Schedule,
}

impl Frame {
    fn run(&mut self) {
        self.schedule.run(&mut self.world, &self.pool);
    }
}

pub(super) fn empty(pool: Pool, count: usize) -> Cell {
    fn nothing() {}
    let mut world = World::new();
    let add = |builder: ScheduleBuilder, _| builder.add(nothing);
    let schedule = (0..count).fold(Schedule::builder(), add);
    let schedule = schedule.build(&mut world).expect("no contradiction");
    Cell::new(Frame { pool, world, schedule }, Frame::run, |_| 0)
}

fn feed(
    mut rows: Query<'_, &Feeds>,
    mut meals: Scatter<'_, u64>,
    mut stomachs: ComponentLookup<'_, &'static mut Stomach>,
) {
    rows.par_for_each_with(&mut meals, |feeds, meals| meals.push(feeds.0, 1));
    meals.apply(&mut stomachs, |stomach, meal| stomach.eat(*meal));
}

pub(super) fn effects(pool: Pool, targets: usize) -> Cell {
    let mut world = effects::world(targets);
    let schedule = Schedule::builder().add(feed).build(&mut world).expect("no contradiction");
    let sum = |frame: &mut Frame| effects::sum(&mut frame.world);
    Cell::new(Frame { pool, world, schedule }, Frame::run, sum)
}

#[derive(Component, Clone, Copy)]
struct Written<const N: usize>(u32);
#[derive(Component, Clone, Copy)]
struct Steady(u32);
struct Gain(u32);
#[derive(Default)]
struct Rows(AtomicU64);

fn advance<const N: usize>(mut rows: Query<'_, (&mut Written<N>, &Steady)>, gain: Res<'_, Gain>) {
    rows.for_each(|(written, steady)| written.0 = mixed::advance(written.0, steady.0, gain.0));
}

fn count<const N: usize>(mut rows: Query<'_, &Written<N>>, counted: Res<'_, Rows>) {
    let mut count = 0;
    rows.for_each(|_| count += 1);
    counted.0.fetch_add(count, Ordering::Relaxed);
}

fn record<const N: usize>(mut rows: Query<'_, (Entity, &Written<N>)>, mut commands: Commands<'_>) {
    rows.for_each(|(entity, written)| {
        if mixed::is_over(written.0) {
            commands.despawn(entity);
        }
    });
}

fn nothing() {}

pub(super) fn mixed(pool: Pool) -> Cell {
    let mut world = World::new();
    world.insert_resource(Gain(mixed::GAIN));
    world.insert_resource(Rows::default());
    macro_rules! spawn {
        ($($n:literal)*) => {$(
            world.spawn_batch((0..mixed::ROWS).map(|row| (Written::<$n>(row), Steady(row))));
        )*};
    }
    for_each_mixed!(spawn);
    let mut builder = Schedule::builder();
    for _ in 0..mixed::REPEATS {
        macro_rules! add {
            ($($n:literal)*) => {$(
                builder = builder.add(advance::<$n>).add(count::<$n>);
            )*};
        }
        for_each_mixed!(add);
    }
    macro_rules! add_once {
        ($($n:literal)*) => {$( builder = builder.add(record::<$n>).add(nothing); )*};
    }
    for_each_mixed!(add_once);
    let schedule = builder.build(&mut world).expect("no contradiction");
    Cell::new(Frame { pool, world, schedule }, Frame::run, |frame| check(&mut frame.world))
}

fn check(world: &mut World) -> u64 {
    let mut sum = world.resource::<Rows>().expect("it was inserted").0.load(Ordering::Relaxed);
    macro_rules! add {
        ($($n:literal)*) => {$(
            world.query::<&Written<$n>>().for_each(|written| {
                sum = sum.wrapping_add(u64::from(written.0));
            });
        )*};
    }
    for_each_mixed!(add);
    sum
}
