//! Once warm, a run of a schedule allocates nothing.
#![expect(elided_lifetimes_in_paths, reason = "the arguments of systems read better without <'_>")]

use crate::ceases_to_allocate;
use formic_ecs::prelude::*;
use formic_jobs::prelude::*;
use std::time::Duration;

#[derive(Component)]
struct Age(u32);
#[derive(Component)]
struct Weight(u32);
struct Tick(u32);
struct Birthday(u32);

const LATE: Group = Group::named("late");

fn count(mut tick: ResMut<Tick>) {
    tick.0 += 1;
}

/// In the first runs there is more to write down, so that later on the buffers of all threads are
/// large enough, whatever each thread gets.
fn is_warming_up(tick: &Tick) -> bool {
    tick.0 < 150
}

fn grow(
    mut all: Query<(&mut Age, &Weight)>,
    mut birthdays: EventWriter<Birthday>,
    tick: Res<Tick>,
) {
    let every = if is_warming_up(&tick) { 1 } else { 64 };
    all.par_for_each_with(&mut birthdays, |(age, weight), birthdays| {
        age.0 += weight.0;
        if age.0 % every == 0 {
            birthdays.send(Birthday(age.0));
        }
    });
}

fn eat(mut all: Query<&mut Weight>) {
    all.par_for_each(|weight| weight.0 = weight.0 % 7 + 1);
    let sum = all.par_fold(|| 0, |sum, weight| *sum += weight.0, |sum, other| *sum += other);
    assert!(sum > 0);
}

fn renew(mut all: Query<(Entity, &Age)>, mut commands: Commands, tick: Res<Tick>) {
    let limit = if is_warming_up(&tick) { 100 } else { 1_000 };
    all.par_for_each_with(&mut commands, |(entity, age), commands| {
        if age.0 > limit {
            commands.insert(entity, Age(0));
        }
    });
}

fn cheer(mut birthdays: EventReader<Birthday>, mut sum: Local<u32>) {
    *sum = birthdays.read().fold(*sum, |sum, birthday| sum.wrapping_add(birthday.0));
}

/// Long enough to be given to another thread.
fn linger<const PLACE: usize>() {
    std::thread::sleep(Duration::from_micros(100));
}

fn inspect(world: &mut World) {
    assert_eq!(world.query::<&Age>().count(), 5_000);
}

pub(crate) fn warm_runs_do_not_allocate() {
    let pool = Pool::new(Threads::Own(2)).expect("two threads are granted");
    let mut world = World::new();
    world.insert_resource(Tick(0));
    world.spawn_batch((0..5_000).map(|number| (Age(number % 900), Weight(number % 7))));
    let mut schedule = Schedule::builder()
        .add(LATE.run_if(any_entity::<With<Age>>()).after(count))
        .add(count)
        .add(eat.run_if(resource_changed::<Tick>()))
        .add((grow, cheer).in_group(LATE))
        .add((linger::<0>, linger::<1>, linger::<2>))
        .add(renew.every(3).staggered())
        .add(inspect)
        .build(&mut world)
        .expect("it has no cycles");
    // Until the costs are known, and the buffers large enough.
    for _ in 0..200 {
        schedule.run(&mut world, &pool);
    }
    ceases_to_allocate(|| drop(schedule.run(&mut world, &pool)));
}
