//! The cats of `cats.rs` with no mind at all: an enum and an `if`, in one system.
//!
//! `cargo run -p formic-ai --example if_else` prints what one cat does. The page
//! `docs/examples/if_else.md` says what this buys and what it costs.
#![expect(elided_lifetimes_in_paths, reason = "the arguments of systems read better without <'_>")]

use formic_jobs::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq, HashState)]
enum Pastime {
    Eat,
    Sleep,
    Play,
}

#[derive(Component)]
struct Cat {
    /// From 0 to 100, as the one below.
    hunger: f32,
    tiredness: f32,
    pastime: Pastime,
}

struct TimeStep(f32);

/// Needs as scores, and the highest of three.
fn choose(cat: &Cat) -> Pastime {
    let eat = (cat.hunger / 100.0).powi(2);
    let sleep = 1.0 - (1.0 - cat.tiredness / 100.0).powi(4);
    let play = 1.0 - (0.4 * eat + 0.6 * sleep);
    // What it has begun it carries through.
    if cat.pastime == Pastime::Eat && cat.hunger > 0.0 {
        Pastime::Eat
    } else if cat.pastime == Pastime::Sleep && cat.tiredness > 0.0 {
        Pastime::Sleep
    } else if eat > sleep && eat > play {
        Pastime::Eat
    } else if sleep > play {
        Pastime::Sleep
    } else {
        Pastime::Play
    }
}

fn live(mut cats: Query<&mut Cat>, time: Res<TimeStep>) {
    let seconds = time.0;
    cats.par_for_each(|cat| {
        cat.pastime = choose(cat);
        match cat.pastime {
            Pastime::Eat => cat.hunger = (cat.hunger - 5.0 * seconds).max(0.0),
            Pastime::Sleep => cat.tiredness = (cat.tiredness - 3.0 * seconds).max(0.0),
            Pastime::Play => {
                cat.hunger = (cat.hunger + 2.0 * seconds).min(100.0);
                cat.tiredness = (cat.tiredness + 4.0 * seconds).min(100.0);
            }
        }
    });
}

#[expect(clippy::print_stdout, reason = "it is what the example is for")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut world = World::new();
    let cat = world.spawn(Cat { hunger: 0.0, tiredness: 0.0, pastime: Pastime::Play });
    world.insert_resource(TimeStep(0.1));
    let mut schedule = Schedule::builder().add(live).build(&mut world)?;
    let pool = Pool::new(Threads::None)?;
    let mut last = None;
    for tick in 0..2400_u16 {
        schedule.run(&mut world, &pool);
        let now = world.get::<Cat>(cat)?.pastime;
        if last.replace(now) != Some(now) {
            println!("{:5.1} s: {now:?}", f32::from(tick) / 10.0);
        }
    }
    Ok(())
}
