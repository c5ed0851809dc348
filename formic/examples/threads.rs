//! Systems on all cores, with one result whatever their number.
//!
//! `cargo run -p formic --example threads`

#![expect(clippy::print_stdout, reason = "an example prints")]

use formic::prelude::*;

#[derive(Component)]
struct Place(f32);
#[derive(Component)]
struct Pace(f32);
#[derive(Component)]
struct Lifetime(u32);

fn walk(mut ants: Query<'_, (&mut Place, &Pace)>) {
    ants.par_for_each(|(place, pace)| place.0 += pace.0);
}

/// Runs beside `walk`, because they touch different components.
fn age(mut ants: Query<'_, (Entity, &mut Lifetime)>, mut commands: Commands<'_>) {
    for (ant, left) in &mut ants {
        left.0 -= 1;
        if left.0 == 0 {
            commands.despawn(ant);
        }
    }
}

fn live(threads: Threads) -> Result<(usize, f32), Box<dyn std::error::Error>> {
    let mut world = World::new();
    let ant = |i: u16| (Place(0.0), Pace(f32::from(i % 7)), Lifetime(1 + u32::from(i) % 20));
    world.spawn_batch((0..10_000).map(ant));
    let pool = Pool::new(threads)?;
    let mut schedule = Schedule::builder().add(walk).add(age).build(&mut world)?;
    for _tick in 0..15 {
        schedule.run(&mut world, &pool);
    }
    Ok((world.len(), world.query::<&Place>().into_iter().map(|place| place.0).sum()))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (alone, all) = (live(Threads::None)?, live(Threads::all_cores())?);
    println!("{} ants are left, and the sum of their places is {}", all.0, all.1);
    println!("on one thread and on all cores the same: {}", alone == all);
    Ok(())
}
