//! A page for a world of one's own: <http://127.0.0.1:4747/> lists its cats, says what each is made of,
//! pauses it and changes it.
//!
//! `cargo run -p formic --features inspect --example inspect`

#![expect(clippy::print_stdout, reason = "an example prints")]

use formic::inspect::Inspector;
use formic::prelude::*;

#[derive(Component)]
#[component(editable)]
struct Hunger(f32);
#[derive(Component)]
struct Asleep;

/// Cats grow hungry while they are awake, and eat when they have to.
fn live(mut cats: Query<'_, &mut Hunger, Without<Asleep>>) {
    cats.for_each(|hunger| hunger.0 = if hunger.0 > 0.9 { 0.0 } else { hunger.0 + 0.001 });
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut world = World::new();
    world.spawn_batch((0..100_u8).map(|cat| Hunger(f32::from(cat) / 100.0)));
    world.spawn_batch((0..20).map(|_| (Hunger(0.5), Asleep)));
    let mut schedule = Schedule::builder().add(live).build(&mut world)?;
    let pool = Pool::new(Threads::None)?;

    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:4747".to_owned());
    let mut inspector = Inspector::bind(address)?.label::<Hunger>("from 0 to 1");
    println!("http://{}/ (Ctrl-C ends)", inspector.address());
    loop {
        schedule.run(&mut world, &pool);
        inspector.poll(&mut world, &mut schedule);
    }
}
