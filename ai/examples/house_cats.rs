//! Cats that eat, sleep and play, whichever scores most: utility over action entities.
//!
//! `cargo run -p formic-ai --example house_cats` prints what one cat does. It plays; then it naps, again and
//! again; and now and then it is hungry enough to eat. It sleeps more than it eats.
#![expect(elided_lifetimes_in_paths, reason = "the arguments of systems read better without <'_>")]

use formic_ai::prelude::*;
use formic_ai::utility::{Curve, Input, Reasoner, Utility, UtilityAgent, UtilityAgents};

/// From 0 to 100.
#[derive(Component)]
struct Hunger(f32);
/// From 0 to 100.
#[derive(Component)]
struct Tiredness(f32);

/// How fast an action changes its cat's needs, in points per second.
#[derive(Clone, Copy, HashState)]
struct Rates {
    hunger: f32,
    tiredness: f32,
}

/// The three actions differ in their rates alone; each could be a component and a system of its own.
#[derive(Component, Clone)]
struct Pastime(Rates);

struct TimeStep(f32);

fn live(
    mut actions: Actions<Pastime>,
    needs: AgentAccess<(&mut Hunger, &mut Tiredness)>,
    time: Res<TimeStep>,
) {
    let seconds = time.0;
    actions.update(|cat, pastime| {
        needs.act(cat, |(hunger, tiredness)| {
            hunger.0 = (hunger.0 + pastime.0.hunger * seconds).clamp(0.0, 100.0);
            tiredness.0 = (tiredness.0 + pastime.0.tiredness * seconds).clamp(0.0, 100.0);
            ActionResult::Running
        })
    });
}

fn actions() -> ActionSet {
    let pastime = |hunger, tiredness| Pastime(Rates { hunger, tiredness });
    ActionSet::new()
        .action("eat", pastime(-5.0, 0.0))
        .action("sleep", pastime(0.0, -3.0))
        .action("play", pastime(2.0, 4.0))
}

/// Once it eats it eats its fill, once it sleeps it sleeps until it is rested; it plays when it is
/// neither hungry nor tired, and being tired bothers it more.
fn reasoner(actions: &ActionSet) -> Result<Reasoner, formic_ai::action::MindError> {
    let [hunger, tiredness] = Input::named(["hunger", "tiredness"]);
    let hungry = Curve::exponential(2.0);
    let tired = Curve::fast_then_slow(4.0);
    let play = Utility::sum().weighted(0.4, hunger, hungry.clone().inverted()).weighted(
        0.6,
        tiredness,
        tired.clone().inverted(),
    );
    Reasoner::new()
        .option("eat", Utility::of(hunger, hungry).until(hunger, 0.0))
        .option("sleep", Utility::of(tiredness, tired).until(tiredness, 0.0))
        .option("play", play)
        .bind(actions)
}

/// What one cat does, and for how many seconds.
///
/// # Errors
/// Returns an error if there is something wrong with the options.
pub(crate) fn diary(seconds: u32) -> Result<Vec<(String, f32)>, Box<dyn std::error::Error>> {
    const TICK_SECONDS: f32 = 0.1;
    let actions = actions();
    let cats = reasoner(&actions)?;
    let mut world = World::new();
    let cat = actions.spawn(&mut world, (Hunger(0.0), Tiredness(0.0)))?;
    UtilityAgent::drive(&mut world, cat, &cats, 1)?;
    let names: Vec<String> = cats.names().map(String::from).collect();
    let think = move |mut minds: UtilityAgents<(&Hunger, &Tiredness)>| {
        minds.decide(&cats, |(hunger, tiredness)| [hunger.0 / 100.0, tiredness.0 / 100.0]);
    };
    world.insert_resource(TimeStep(TICK_SECONDS));
    let mut schedule = formic_ai::action::add(Schedule::builder())
        .add(think.as_mind())
        .add(live.as_action())
        .build(&mut world)?;
    let pool = Pool::new(Threads::None)?;
    let mut diary: Vec<(String, f32)> = Vec::new();
    for _tick in 0..seconds * 10 {
        schedule.run(&mut world, &pool);
        let now = world.get::<UtilityAgent>(cat)?.current();
        let name = now.map_or("nothing", |option| names[option].as_str());
        match diary.last_mut() {
            Some((last, for_seconds)) if last == name => *for_seconds += TICK_SECONDS,
            _ => diary.push((name.to_string(), TICK_SECONDS)),
        }
    }
    Ok(diary)
}

#[expect(clippy::print_stdout, reason = "it is what the example is for")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    for (name, seconds) in diary(240)? {
        println!("{name:>6} for {seconds:5.1} s");
    }
    Ok(())
}
