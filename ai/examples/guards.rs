//! Guards that follow a behaviour tree: they patrol, attack who comes near, and flee when hurt.
//!
//! `cargo run -p formic-ai --example guards` prints what one guard does while an intruder comes and goes.
#![expect(elided_lifetimes_in_paths, reason = "the arguments of systems read better without <'_>")]

use formic_ai::action::Ended;
use formic_ai::bt::{Library, Tree, TreeAgent, Trees};
use formic_ai::prelude::*;

#[derive(Component)]
struct Enemy {
    distance: f32,
}
#[derive(Component)]
struct Health(f32);
/// The blackboard of a guard.
#[derive(Component, Default)]
struct Board {
    alarms: u32,
}

type Senses = (&'static Enemy, &'static Health, &'static mut Board);

/// All that guards do takes time; what differs is how much.
#[derive(Component, Clone)]
struct Deed {
    name: &'static str,
    ticks: u32,
    left: u32,
}

struct Tell;

#[expect(clippy::print_stdout, reason = "it is what the example is for")]
impl Processor for Tell {
    type Action = Deed;

    fn start(&self, _guard: Agent, deed: &mut Deed) -> ActionResult {
        println!("    begins to {}", deed.name);
        deed.left = deed.ticks;
        ActionResult::Running
    }

    fn update(&self, _guard: Agent, deed: &mut Deed) -> ActionResult {
        deed.left = deed.left.saturating_sub(1);
        if deed.left == 0 { ActionResult::Success } else { ActionResult::Running }
    }

    fn cleanup(&self, _guard: Agent, deed: &mut Deed, ended: Ended) {
        println!("    stops to {}: {ended:?}", deed.name);
    }
}

fn act(mut actions: Actions<Deed>) {
    actions.process(&Tell);
}

const TREE: &str = "
    # What matters more comes first.
    subtree defend sequence {
        enemy_near?
        force_success cooldown(20) do raise_alarm
        attack
    }
    selector {
        sequence { enemy_near? hurt? timeout(3) flee }
        use defend
        patrol
    }
";

#[expect(clippy::print_stdout, reason = "it is what the example is for")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let deed = |name, ticks| Deed { name, ticks, left: 0 };
    let actions = ActionSet::new()
        .action("patrol", deed("patrol", 10))
        .action("attack", deed("attack", 2))
        .action("flee", deed("flee", 5));
    let library = Library::<Senses>::new(&actions)
        .condition("enemy_near", |(enemy, _, _)| enemy.distance < 5.0)
        .condition("hurt", |(_, health, _)| health.0 < 0.3)
        .effect("raise_alarm", |(_, _, board)| board.alarms += 1);
    let tree = Tree::parse(TREE, &library)?;
    let mut world = World::new();
    let guard =
        actions.spawn(&mut world, (Enemy { distance: 9.0 }, Health(1.0), Board::default()))?;
    TreeAgent::drive(&mut world, guard, &tree, 1)?;
    let think = move |mut trees: Trees<Senses>| trees.tick(&tree);
    let mut schedule = formic_ai::action::add(Schedule::builder())
        .add(think.as_mind())
        .add(act.as_action())
        .build(&mut world)?;
    let pool = Pool::new(Threads::None)?;
    for tick in 0..16_u8 {
        // The intruder comes up to the guard, fights, and goes away again.
        let distance = (f32::from(tick) - 8.0).abs();
        world.get_mut::<Enemy>(guard)?.distance = distance;
        if (6..9).contains(&tick) {
            world.get_mut::<Health>(guard)?.0 -= 0.25;
        }
        println!("tick {tick}: the intruder is {distance} m away");
        schedule.run(&mut world, &pool);
    }
    println!("{} alarm", world.get::<Board>(guard)?.alarms);
    Ok(())
}
