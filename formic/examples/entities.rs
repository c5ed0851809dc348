//! Entities and components: spawn, query, change, despawn. Needs no feature.
//!
//! `cargo run -p formic --example entities`

#![expect(clippy::print_stdout, reason = "an example prints")]

use formic::prelude::*;

#[derive(Component, Clone, Copy, Debug)]
struct Health(i32);
#[derive(Component)]
struct Name(&'static str);
/// Costs a bit to switch off and on.
#[derive(Component)]
#[component(enableable)]
struct Poisoned;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut world = World::new();
    let ada = world.spawn((Name("Ada"), Health(3), Poisoned));
    let bob = world.spawn((Name("Bob"), Health(5), Poisoned));
    world.set_enabled::<Poisoned>(bob, false)?;

    while world.contains(ada) {
        world.query_filtered::<&mut Health, With<Poisoned>>().for_each(|health| health.0 -= 1);
        // Changes to what exists wait until the walk is over.
        let mut commands = CommandBuffer::new(&world);
        for (entity, name, health) in &world.query_ref::<(Entity, &Name, &Health)>() {
            println!("{} has {} left", name.0, health.0);
            if health.0 <= 0 {
                commands.despawn(entity);
            }
        }
        commands.play(&mut world);
    }
    println!("Bob is unharmed: {:?}", world.get::<Health>(bob)?);
    Ok(())
}
