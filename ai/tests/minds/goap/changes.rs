//! Plans in a world that changes meanwhile: a step that cannot be taken is never begun.

use formic_ai::goap::{
    Facts, Goal, GoapAgent, Operator, OperatorSet, Planner, PlannerBuilder, Planners, Sensors,
};
use formic_ai::prelude::*;

use crate::goap::Domain;

/// How things are, one number for each fact.
#[derive(Component, Clone)]
struct Things(Vec<u32>);

/// What was begun.
#[derive(Component, Default)]
struct Begun(Vec<&'static str>);

#[derive(Component, Clone)]
struct Deed {
    name: &'static str,
    /// The fact that it sets, if it does, and to what.
    sets: Option<(usize, u32)>,
}

struct Working<'a>(AgentAccess<'a, &'static mut Things>, AgentAccess<'a, &'static mut Begun>);

impl Processor for Working<'_> {
    type Action = Deed;

    fn start(&self, agent: Agent<'_>, deed: &mut Deed) -> ActionResult {
        self.1.claim(agent).unwrap().get_mut().0.push(deed.name);
        ActionResult::Running
    }

    fn update(&self, agent: Agent<'_>, deed: &mut Deed) -> ActionResult {
        if let Some((fact, value)) = deed.sets {
            self.0.claim(agent).unwrap().get_mut().0[fact] = value;
        }
        ActionResult::Success
    }
}

struct Shared(Sensors<&'static Things>, usize);

struct Stage {
    world: World,
    schedule: Schedule,
    pool: Pool,
    agent: Entity,
}

impl Stage {
    fn new(
        planner: Planner,
        deeds: impl IntoIterator<Item = Deed>,
        things: &[u32],
        states: usize,
    ) -> Self {
        fn think(mut planners: Planners<&'static Things>, shared: Res<Shared>) {
            planners.think(&shared.0, shared.1);
        }
        fn work(
            mut actions: Actions<Deed>,
            things: AgentAccess<&'static mut Things>,
            begun: AgentAccess<&'static mut Begun>,
        ) {
            actions.process(&Working(things, begun));
        }
        let actions = deeds
            .into_iter()
            .fold(ActionSet::new(), |actions, deed| actions.action(deed.name, deed));
        let facts: Vec<_> = planner.facts().names().map(String::from).collect();
        let facts: Vec<_> = facts.iter().map(|name| planner.facts().find(name).unwrap()).collect();
        let sensors = Sensors::new(planner, &actions).unwrap().rest(0);
        let sensors = facts.into_iter().fold(sensors, |sensors, fact| {
            sensors.fact(fact, move |things: &&Things| things.0[fact.index()])
        });
        let mut world = World::new();
        let agent = actions.spawn(&mut world, (Things(things.to_vec()), Begun::default())).unwrap();
        GoapAgent::drive(&mut world, agent).unwrap();
        world.insert_resource(Shared(sensors, states));
        let schedule =
            formic_ai::action::add(Schedule::builder()).add(think.as_mind()).add(work.as_action());
        let schedule = schedule.build(&mut world).unwrap();
        Self { world, schedule, pool: Pool::new(Threads::None).unwrap(), agent }
    }

    fn set(&mut self, fact: usize, value: u32) {
        self.world.get_mut::<Things>(self.agent).unwrap().0[fact] = value;
    }

    /// One tick; what was begun in it.
    fn tick(&mut self) -> Vec<&'static str> {
        let report = self.schedule.run(&mut self.world, &self.pool);
        assert!(report.failures.is_empty(), "{:?}", report.failures);
        std::mem::take(&mut self.world.get_mut::<Begun>(self.agent).unwrap().0)
    }
}

fn deed(name: &'static str, sets: Option<(usize, u32)>) -> Deed {
    Deed { name, sets }
}

#[test]
fn what_was_stolen_is_not_sold() {
    let mut facts = Facts::new();
    let (at_market, logs, rich) =
        (facts.flag("at_market"), facts.number("logs", 9), facts.flag("rich"));
    let planner = PlannerBuilder::new(facts)
        .operator(Operator::new("walk").then(at_market.becomes(true)))
        .operator(Operator::new("chop").then(logs.set(5)).then(at_market.becomes(false)))
        .operator(
            Operator::new("sell")
                .when(at_market.is(true))
                .then(logs.subtract(5))
                .then(rich.becomes(true)),
        )
        .goal(Goal::new("rich").when(rich.is(true)))
        .build()
        .unwrap();
    let deeds =
        [deed("walk", Some((0, 1))), deed("chop", Some((1, 5))), deed("sell", Some((2, 1)))];
    let mut stage = Stage::new(planner, deeds, &[0, 5, 0], 1_000);
    assert_eq!(stage.tick(), ["walk"]);
    // Three of five: `sell` would be left with less than nothing.
    stage.set(1, 2);
    let begun: Vec<_> = (0..4).flat_map(|_| stage.tick()).collect();
    assert_eq!(begun, ["chop", "walk", "sell"]);
}

/// A door that is open or shut, and a way in through it or through the cellar, which is longer.
fn house() -> Planner {
    let mut facts = Facts::new();
    let (is_open, inside, at_cellar) =
        (facts.flag("is_open"), facts.flag("inside"), facts.flag("at_cellar"));
    PlannerBuilder::new(facts)
        .operator(Operator::new("enter").when(is_open.is(true)).then(inside.becomes(true)).cost(9))
        .operator(Operator::new("go_down").then(at_cellar.becomes(true)).cost(5))
        .operator(
            Operator::new("climb").when(at_cellar.is(true)).then(inside.becomes(true)).cost(5),
        )
        .goal(Goal::new("inside").when(inside.is(true)))
        .pattern_states_max(1)
        .build()
        .unwrap()
}

fn house_deeds() -> [Deed; 3] {
    [deed("enter", Some((1, 1))), deed("go_down", Some((2, 1))), deed("climb", Some((1, 1)))]
}

#[test]
fn a_door_that_shuts_while_the_plan_is_made_is_not_entered() {
    let mut stage = Stage::new(house(), house_deeds(), &[1, 0, 0], 1);
    assert_eq!(stage.tick(), [""; 0], "the search takes more than one tick");
    stage.set(0, 0);
    let begun: Vec<_> = (0..20).flat_map(|_| stage.tick()).collect();
    assert_eq!(begun, ["go_down", "climb"]);
}

#[test]
fn a_goal_that_comes_to_hold_while_it_is_planned_for_leaves_nothing_to_do() {
    let mut stage = Stage::new(house(), house_deeds(), &[1, 0, 0], 1);
    assert_eq!(stage.tick(), [""; 0]);
    stage.set(1, 1);
    assert_eq!((0..20).flat_map(|_| stage.tick()).count(), 0);
}

#[test]
fn an_operator_is_applicable_where_it_can_be_applied() {
    let mut by_range = 0;
    for seed in 0..2_000 {
        let random = &mut RandomStream::new(seed);
        let domain = Domain::draw(random);
        let Ok(planner) = domain.planner(1) else { continue };
        for _ in 0..10 {
            let values = domain.values(random);
            for operator in 0..planner.operators().len() {
                let is_applicable = planner.is_applicable(operator, |fact| values[fact]);
                let applied = planner.apply(operator, &values);
                assert_eq!(is_applicable, applied.is_some(), "seed {seed}");
                by_range += usize::from(!is_applicable);
            }
        }
    }
    assert!(by_range > 1_000);
}

#[test]
fn costs_add_up_beyond_what_a_single_operator_can_cost() {
    let mut facts = Facts::new();
    let steps = facts.number("steps", 63);
    let shortcut = facts.flag("shortcut");
    let planner = PlannerBuilder::new(facts)
        .operator(Operator::new("step").then(steps.add(1)).cost(u32::MAX))
        .operator(Operator::new("jump").then(steps.add(2)).cost(u32::MAX))
        .operator(Operator::new("look").then(shortcut.becomes(true)).cost(u32::MAX))
        .goal(Goal::new("there").when(steps.equals(5)))
        .build()
        .unwrap();
    let plan = planner.plan(0, &[0, 0]).unwrap();
    assert_eq!((plan.operators.len(), plan.cost), (3, 3 * u64::from(u32::MAX)));
    assert_eq!(planner.lower_bound(0, &[0, 0]), Some(plan.cost));
}

#[test]
#[should_panic(expected = "budget of 0 states")]
fn to_think_about_no_states_is_refused() {
    let mut stage = Stage::new(house(), house_deeds(), &[1, 0, 0], 0);
    let report = stage.schedule.run(&mut stage.world, &stage.pool);
    panic!("{:?}", report.failures);
}
