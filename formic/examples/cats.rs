//! A mind that says why: a cat eats, sleeps or plays, whichever scores most.
//!
//! `cargo run -p formic --example cats`

#![expect(clippy::print_stdout, reason = "an example prints")]

use formic::prelude::*;

/// From 0 to 1.
#[derive(Component)]
struct Needs {
    hunger: f32,
    tiredness: f32,
}
#[derive(Component, Clone)]
struct Pastime;

/// Time makes hungry and tired, whatever a cat does.
fn grow(mut cats: Query<'_, &mut Needs>) {
    cats.for_each(|needs| {
        needs.hunger = (needs.hunger + 0.03).min(1.0);
        needs.tiredness = (needs.tiredness + 0.01).min(1.0);
    });
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let actions =
        ActionSet::new().action("eat", Pastime).action("sleep", Pastime).action("play", Pastime);
    let [hunger, tiredness] = Input::named(["hunger", "tiredness"]);
    let cats = Reasoner::new()
        .option("eat", Utility::of(hunger, Curve::exponential(2.0)))
        .option("sleep", Utility::of(tiredness, Curve::linear(1.0, 0.0)))
        .option("play", Utility::of(tiredness, Curve::linear(-1.0, 1.0)))
        .bind(&actions)?;
    let mut world = World::new();
    let cat = actions.spawn(&mut world, Needs { hunger: 0.1, tiredness: 0.4 })?;
    UtilityAgent::drive(&mut world, cat, &cats, 1)?;
    world.insert_resource(DecisionLog::watching(cat, "Cat", 16));

    let think = move |mut minds: UtilityAgents<'_, &Needs>| {
        minds.decide(&cats, |needs| [needs.hunger, needs.tiredness]);
    };
    let systems = formic::ai::action::add(Schedule::builder());
    let mut schedule = systems.add((think.as_mind(), grow).chain()).build(&mut world)?;
    let pool = Pool::new(Threads::None)?;
    for _tick in 0..30 {
        schedule.run(&mut world, &pool);
    }
    for sentence in world.resource::<DecisionLog>()?.sentences(cat) {
        println!("{sentence}");
    }
    Ok(())
}
