//! A woodcutter that plans: what it does, when it plans anew, and what it asks its sensors.

use std::sync::{Arc, Mutex};

use formic_ai::explain::DecisionLog;
use formic_ai::goap::{
    Facts, Goal, GoapAgent, Operator, OperatorSet, PlannerBuilder, Planners, Replan, Sensors,
};
use formic_ai::prelude::*;

/// What a woodcutter has; his sensors count how often they are asked.
#[derive(Component, Clone, Default)]
struct Things {
    axe: u32,
    wood: u32,
    sold: u32,
    /// How far the shop is.
    way: u32,
    /// How many more actions fail.
    mishaps: u32,
}

#[derive(Component, Clone, Default)]
pub(super) struct Deed(u32);

struct Shared(Sensors<&'static Things>, usize);

struct Working<'a>(AgentAccess<'a, &'static mut Things>);

impl Processor for Working<'_> {
    type Action = Deed;

    fn start(&self, _: Agent<'_>, _: &mut Deed) -> ActionResult {
        ActionResult::Running
    }

    fn update(&self, agent: Agent<'_>, deed: &mut Deed) -> ActionResult {
        let Ok(mut things) = self.0.claim(agent) else { return ActionResult::Failed };
        let things = things.get_mut();
        if things.mishaps > 0 {
            things.mishaps -= 1;
            return ActionResult::Failed;
        }
        match deed.0 {
            0 => things.axe = 1,
            1 => things.wood += 1,
            2 => (things.wood, things.sold) = (things.wood - 2, things.sold + 1),
            _ => things.wood += 2,
        }
        ActionResult::Success
    }
}

fn deeds() -> ActionSet {
    ActionSet::new()
        .action("fetch", Deed(0))
        .action("chop", Deed(1))
        .action("sell", Deed(2))
        .action("buy", Deed(3))
}

struct Stage {
    world: World,
    schedule: Schedule,
    pool: Pool,
    agent: Entity,
    names: Vec<String>,
    /// The sensors that were asked, of those that tell.
    asked: Arc<Mutex<Vec<&'static str>>>,
}

impl Stage {
    fn new(states: usize, rest: u32) -> Self {
        fn think(mut planners: Planners<'_, &'static Things>, shared: Res<'_, Shared>) {
            planners.think(&shared.0, shared.1);
        }
        fn work(mut actions: Actions<'_, Deed>, things: AgentAccess<'_, &'static mut Things>) {
            actions.process(&Working(things));
        }
        let mut facts = Facts::new();
        let (axe, wood, sold) = (facts.flag("axe"), facts.number("wood", 9), facts.flag("sold"));
        let planner = PlannerBuilder::new(facts)
            .operator(Operator::new("fetch").then(axe.becomes(true)))
            .operator(Operator::new("chop").when(axe.is(true)).then(wood.add(1)))
            .operator(Operator::new("sell").then(wood.subtract(2)).then(sold.becomes(true)))
            .operator(Operator::new("buy").then(wood.add(2)).cost(1))
            .goal(Goal::new("rich").when(sold.is(true)).priority(-1))
            .goal(Goal::new("impossible").when(axe.is(false)).priority(5))
            .goal(Goal::new("stocked").when(wood.at_least(2)));
        let actions = deeds();
        let sensors = Sensors::<&'static Things>::new(planner.build().unwrap(), &actions).unwrap();
        let names = sensors.planner().operators().iter().map(|it| it.name().to_string()).collect();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (axes, sales) = (Arc::clone(&asked), Arc::clone(&asked));
        let sensors = sensors
            .fact(axe, move |things| {
                axes.lock().unwrap().push("axe");
                things.axe
            })
            .fact(wood, |things| things.wood)
            .fact(sold, move |things| {
                sales.lock().unwrap().push("sold");
                things.sold
            })
            .cost("buy", |things| things.way)
            .rest(rest);
        let mut world = World::new();
        let agent = actions.spawn(&mut world, Things::default()).unwrap();
        GoapAgent::drive(&mut world, agent).unwrap();
        world.insert_resource(Shared(sensors, states));
        let schedule =
            formic_ai::action::add(Schedule::builder()).add(think.as_mind()).add(work.as_action());
        let schedule = schedule.build(&mut world).unwrap();
        Self { world, schedule, pool: Pool::new(Threads::None).unwrap(), agent, names, asked }
    }

    fn things(&mut self) -> &mut Things {
        self.world.get_mut::<Things>(self.agent).unwrap()
    }

    fn mind(&self) -> GoapAgent {
        *self.world.get::<GoapAgent>(self.agent).unwrap()
    }

    /// One tick; which action was begun or goes on.
    fn tick(&mut self) -> Option<String> {
        self.schedule.run(&mut self.world, &self.pool);
        let mind = self.mind();
        mind.goal()?;
        let steps = self.world.get::<Buffer<formic_ai::goap::PlannedStep>>(self.agent).unwrap();
        Some(self.names[steps[mind.step()].operator()].clone())
    }
}

#[test]
fn goals_are_pursued_by_priority_and_one_that_cannot_be_reached_is_passed_over() {
    let mut stage = Stage::new(1_000, 0);
    stage.things().way = 9;
    stage.things().axe = 1;
    // The axe cannot be got rid of. Then comes the wood, and then the gold.
    for (expected, goal) in
        ["chop", "chop", "sell", "chop", "chop"].into_iter().zip([2, 2, 0, 2, 2])
    {
        assert_eq!(stage.tick().as_deref(), Some(expected));
        assert_eq!(stage.mind().goal(), Some(goal));
    }
    let planner = stage.world.resource::<Shared>().unwrap().0.planner();
    let goals: Vec<_> = planner.goals().iter().map(Goal::name).collect();
    assert_eq!(goals, ["rich", "impossible", "stocked"]);
    assert_eq!((planner.find("fetch"), planner.find("sing")), (Some(2), None));
    assert_eq!(stage.tick(), None, "all that can be reached holds");
    assert_eq!((stage.things().wood, stage.things().sold), (2, 1));
    assert_eq!(stage.mind().plans(), 3);
}

#[test]
fn it_plans_anew_when_an_action_fails() {
    let mut stage = Stage::new(1_000, 0);
    (stage.things().way, stage.things().axe, stage.things().mishaps) = (9, 1, 2);
    for _ in 0..4 {
        assert_eq!(stage.tick().as_deref(), Some("chop"));
    }
    assert_eq!((stage.mind().failures(), stage.mind().plans()), (2, 3));
    assert_eq!(stage.things().wood, 2);
}

#[test]
fn it_plans_anew_when_the_next_step_cannot_be_taken_any_more() {
    let mut stage = Stage::new(1_000, 0);
    stage.things().way = 9;
    stage.things().axe = 1;
    assert_eq!(stage.tick().as_deref(), Some("chop"));
    stage.things().axe = 0;
    // Without an axe nothing of a higher priority is left to want, and chopping needs one.
    assert_eq!(stage.tick().as_deref(), Some("fetch"));
    assert_eq!(stage.tick().as_deref(), Some("chop"));
    assert_eq!(stage.mind().failures(), 0);
}

#[test]
fn it_plans_anew_when_it_is_told_to_and_goes_by_the_costs_as_they_are() {
    let mut stage = Stage::new(1_000, 0);
    (stage.things().way, stage.things().axe) = (9, 1);
    stage.things().mishaps = u32::MAX;
    assert_eq!(stage.tick().as_deref(), Some("chop"));
    stage.things().way = 1;
    assert_eq!(stage.tick().as_deref(), Some("buy"), "it is the cheaper way now");
    let mut stage = Stage::new(1_000, 0);
    stage.things().way = 9;
    stage.tick();
    stage.world.set_enabled::<Replan>(stage.agent, true).unwrap();
    let plans = stage.mind().plans();
    stage.tick();
    assert_eq!(stage.mind().plans(), plans + 1);
}

#[test]
fn a_plan_that_is_spread_over_ticks_is_the_same() {
    let run = |states| {
        let mut stage = Stage::new(states, 0);
        (stage.things().way, stage.things().axe) = (9, 1);
        let mut done: Vec<String> = (0..80).filter_map(|_| stage.tick()).collect();
        done.dedup();
        done
    };
    assert_eq!(run(1), run(1_000));
}

#[test]
fn sensors_are_asked_only_for_what_matters() {
    let mut stage = Stage::new(1_000, 0);
    (stage.things().way, stage.things().axe) = (9, 1);
    assert_eq!(stage.tick().as_deref(), Some("chop"));
    let asked = std::mem::take(&mut *stage.asked.lock().unwrap());
    assert!(asked.contains(&"axe") && !asked.contains(&"sold"), "{asked:?}");
    stage.tick();
    stage.tick();
    assert!(stage.asked.lock().unwrap().contains(&"sold"), "that goal has its turn now");
}

#[test]
fn an_agent_with_nothing_to_do_rests_before_it_thinks_again() {
    let mut stage = Stage::new(1_000, 5);
    (stage.things().axe, stage.things().wood, stage.things().sold) = (1, 5, 1);
    assert_eq!(stage.tick(), None);
    stage.things().wood = 0;
    for _ in 0..5 {
        assert_eq!(stage.tick(), None);
    }
    assert_eq!(stage.tick().as_deref(), Some("buy"));
}

#[test]
fn an_agent_that_goes_while_it_plans_leaves_nothing_behind() {
    for ticks in 0..12 {
        let mut stage = Stage::new(1, 0);
        (0..ticks).for_each(|_| drop(stage.tick()));
        stage.world.despawn(stage.agent).unwrap();
        stage.schedule.run(&mut stage.world, &stage.pool);
        assert!(stage.world.is_empty(), "after {ticks} ticks");
    }
}

#[test]
fn an_action_that_ends_while_it_plans_makes_it_begin_anew_with_the_first_goal() {
    // It never has more wood than it wants, though it is told to plan while it chops.
    for (states, offset) in (1..4).flat_map(|states| (0..5).map(move |offset| (states, offset))) {
        let mut stage = Stage::new(states, 0);
        (stage.things().way, stage.things().axe) = (9, 1);
        for tick in 0..80 {
            if stage.tick().is_some() && tick % 5 == offset {
                stage.world.set_enabled::<Replan>(stage.agent, true).unwrap();
            }
            assert!(stage.things().wood <= 2, "{states} states in each tick");
        }
        assert_eq!(stage.things().sold, 1);
    }
    // After it has sold the wood it wants wood again, and does not rest.
    let mut stage = Stage::new(1, 50);
    (stage.things().way, stage.things().axe, stage.things().wood) = (9, 1, 2);
    while stage.tick().as_deref() != Some("sell") {}
    stage.world.set_enabled::<Replan>(stage.agent, true).unwrap();
    let next: Vec<_> = (0..30).filter_map(|_| stage.tick()).collect();
    assert!(next.iter().any(|it| it == "chop"), "{next:?}");
}

#[test]
fn an_agent_with_nothing_left_to_do_halts_what_it_does() {
    let mut stage = Stage::new(1_000, 0);
    (stage.things().way, stage.things().axe) = (9, 1);
    assert_eq!(stage.tick().as_deref(), Some("chop"));
    (stage.things().wood, stage.things().sold) = (5, 1);
    stage.world.set_enabled::<Replan>(stage.agent, true).unwrap();
    for _ in 0..3 {
        assert_eq!(stage.tick(), None);
        assert_eq!(stage.things().wood, 5);
    }
}

#[test]
fn a_plan_of_operators_that_the_planner_lacks_is_made_anew() {
    // As after a game was loaded by a program with fewer of them: wood can only be bought.
    let exchange = |stage: &mut Stage| {
        let mut facts = Facts::new();
        let wood = facts.number("wood", 9);
        let planner = PlannerBuilder::new(facts)
            .operator(Operator::new("buy").then(wood.add(2)))
            .goal(Goal::new("stocked").when(wood.at_least(2)));
        let sensors = Sensors::<&'static Things>::new(planner.build().unwrap(), &deeds()).unwrap();
        stage.world.insert_resource(Shared(sensors.fact(wood, |things| things.wood), 1_000));
    };
    // At its first step, and at its last.
    for ticks in [1, 2] {
        let mut stage = Stage::new(1_000, 0);
        (stage.things().way, stage.things().axe) = (9, 1);
        (0..ticks).for_each(|_| assert_eq!(stage.tick().as_deref(), Some("chop")));
        let before = stage.mind();
        exchange(&mut stage);
        stage.things().wood = 0;
        let mut log = DecisionLog::new();
        log.watch(stage.agent, "Cutter", 16);
        stage.world.insert_resource(log);
        stage.schedule.run(&mut stage.world, &stage.pool);
        stage.schedule.run(&mut stage.world, &stage.pool);
        assert!(stage.mind().plans() > before.plans(), "after {ticks} ticks");
        let said = stage.world.resource::<DecisionLog>().unwrap().sentences(stage.agent);
        assert!(said[0].contains("its planner is not the one"), "{said:?}");
        assert_eq!(stage.things().wood, 2);
    }
}
