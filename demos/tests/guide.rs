//! Chapters 7 and 10 of the guide compare hashes of runs on several threads. These are their programs
//! in short, with mistakes in them that depend on the threads or on orders: the hash has to show each.

use formic::ecs::StateHash;
use formic::prelude::*;

#[derive(Component)]
struct Position(f32);
#[derive(Component)]
struct Dice(RandomStream);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    None,
    /// A value depends on the number of threads.
    ThreadCount,
    /// Floating-point numbers are added in another order.
    OrderOfAdding,
    /// Two entities change places.
    OrderOfSpawning,
    /// One agent throws its dice once more.
    OneThrow,
}

/// The hash after three ticks. The mistake is made where there is more than one thread.
fn three_ticks(threads: Threads, mistake: Mistake) -> StateHash {
    let pool = Pool::new(threads).expect("threads are granted");
    let is = move |other| mistake == other && threads != Threads::None;
    let random = RandomStream::new(1);
    let mut numbers: Vec<u16> = (0..1_000).collect();
    if is(Mistake::OrderOfSpawning) {
        numbers.swap(0, 1);
    }
    let mut world = World::new();
    world.spawn_batch(
        numbers
            .into_iter()
            .map(|number| (Position(f32::from(number)), Dice(random.fork(number.into())))),
    );
    let walk = move |mut ants: Query<'_, (&mut Position, &mut Dice)>| {
        if is(Mistake::OneThrow) {
            let first = (&mut ants).into_iter().next();
            _ = first.expect("there are a thousand").1.0.next_u64();
        }
        let more = if is(Mistake::ThreadCount) { 3.0 } else { 0.0 };
        ants.par_for_each(|(position, dice)| {
            let step = [1.5, 0.25, 1e9, -1e9];
            let sum: f32 = match is(Mistake::OrderOfAdding) {
                true => step.iter().rev().sum(),
                false => step.iter().sum(),
            };
            #[expect(clippy::cast_precision_loss, reason = "it is below 100")]
            let thrown = dice.0.below(100) as f32;
            position.0 += sum + thrown + more;
        });
    };
    let mut schedule = Schedule::builder().add(walk).build(&mut world).expect("one system");
    (0..3).for_each(|_| drop(schedule.run(&mut world, &pool)));
    world.state_hash()
}

#[test]
fn the_hash_shows_every_mistake_that_depends_on_threads_or_orders() {
    let one = three_ticks(Threads::None, Mistake::None);
    assert!(one.is_whole());
    assert_eq!(one, three_ticks(Threads::Own(3), Mistake::None));
    for mistake in
        [Mistake::ThreadCount, Mistake::OrderOfAdding, Mistake::OrderOfSpawning, Mistake::OneThrow]
    {
        assert_ne!(one, three_ticks(Threads::Own(3), mistake), "{mistake:?}");
    }
}
