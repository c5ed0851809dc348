//! Woodcutters that plan: fetch the axe, chop, and sell, in whatever order gets them there cheapest.
//!
//! `cargo run -p formic-ai --example woodcutters` prints what one of them does. Now and then an axe breaks,
//! and he thinks again.
#![expect(elided_lifetimes_in_paths, reason = "the arguments of systems read better without <'_>")]

use formic_ai::goap::{Facts, Goal, GoapAgent, Operator, PlannerBuilder, Planners, Sensors};
use formic_ai::prelude::*;

#[derive(Component, Default)]
struct Things {
    has_axe: bool,
    wood: u32,
    coins: u32,
    /// How far it is to the smith, in minutes.
    way_to_smith: u32,
}

#[derive(Component, Clone)]
enum Deed {
    BorrowAxe,
    BuyAxe,
    Chop,
    PickUp,
    Sell,
}

fn work(mut actions: Actions<Deed>, things: AgentAccess<&mut Things>) {
    actions.update(|woodcutter, deed| {
        things.act(woodcutter, |things| {
            match deed {
                Deed::BorrowAxe | Deed::BuyAxe => things.has_axe = true,
                // Every fourth stroke breaks the axe.
                Deed::Chop if things.wood % 4 == 3 => {
                    (things.has_axe, things.wood) = (false, things.wood + 1);
                    return ActionResult::Failed;
                }
                Deed::Chop | Deed::PickUp => things.wood += 1,
                Deed::Sell => (things.wood, things.coins) = (things.wood - 5, things.coins + 1),
            }
            ActionResult::Success
        })
    });
}

#[expect(clippy::print_stdout, reason = "it is what the example is for")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut facts = Facts::new();
    let has_axe = facts.flag("has axe");
    let wood = facts.number("wood", 10);
    let rich = facts.flag("rich");
    let planner = PlannerBuilder::new(facts)
        .operator(Operator::new("borrow axe").then(has_axe.becomes(true)).cost(5))
        .operator(Operator::new("buy axe").then(has_axe.becomes(true)).cost(1))
        .operator(Operator::new("chop").when(has_axe.is(true)).then(wood.add(1)))
        .operator(Operator::new("pick up").then(wood.add(1)).cost(4))
        .operator(Operator::new("sell").then(wood.subtract(5)).then(rich.becomes(true)))
        .goal(Goal::new("be rich").when(rich.is(true)))
        .build()?;
    let actions = ActionSet::new()
        .action("borrow axe", Deed::BorrowAxe)
        .action("buy axe", Deed::BuyAxe)
        .action("chop", Deed::Chop)
        .action("pick up", Deed::PickUp)
        .action("sell", Deed::Sell);
    let sensors = Sensors::<&'static Things>::new(planner, &actions)?
        .fact(has_axe, |things| u32::from(things.has_axe))
        .fact(wood, |things| things.wood)
        .fact(rich, |things| u32::from(things.coins >= 2))
        .cost("buy axe", |things| things.way_to_smith);
    let mut world = World::new();
    let agent = actions.spawn(&mut world, Things { way_to_smith: 2, ..Things::default() })?;
    GoapAgent::drive(&mut world, agent)?;
    let think = move |mut planners: Planners<&Things>| planners.think(&sensors, 500);
    let mut schedule = formic_ai::action::add(Schedule::builder())
        .add(think.as_mind())
        .add(work.as_action())
        .build(&mut world)?;
    let pool = Pool::new(Threads::None)?;
    for minute in 0..30_u32 {
        schedule.run(&mut world, &pool);
        let body = world.get::<Body>(agent)?;
        let done = actions.names().enumerate().find(|&(action, _)| body.ended(action).is_some());
        let Things { wood, coins, .. } = world.get::<Things>(agent)?;
        if let Some((action, name)) = done {
            let how = body.ended(action);
            println!("{minute:3}: {name}: {how:?}; {wood} wood, {coins} coins");
        }
        // The smith moves away.
        world.get_mut::<Things>(agent)?.way_to_smith = 2 + minute / 2;
    }
    Ok(())
}
