//! Agents that plan and are saved while they think.
#![expect(clippy::cast_possible_truncation, reason = "small numbers")]

use bytemuck::{Pod, Zeroable};
use formic_ai::bt::Trees;
use formic_ai::explain::DecisionLog;
use formic_ai::fsm::Machines;
use formic_ai::goap::{
    Fact, Facts, Goal, GoapAgent, NoPlan, Operator, OperatorSet, Planner, PlannerBuilder,
    PlannerState, Planners, Sensors,
};
use formic_ai::htn::{Domain, DomainBuilder, HtnAgent, HtnPlanners, HtnState, Method, Preference};
use formic_ai::prelude::*;
use formic_ai::utility::UtilityAgents;
use formic_jobs::{Save, SaveRules};

use crate::goap::claiming;

const DIGITS: usize = 4;

/// On an agent: the facts that its plans are about, and how far things are from it.
#[derive(Component, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Digits {
    values: [u32; DIGITS],
    distance: u32,
}

/// Turns a digit.
#[derive(Component, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Turn {
    digit: u32,
    by: u32,
}

struct Turning<'a>(AgentAccess<'a, &'static mut Digits>);

impl Processor for Turning<'_> {
    type Action = Turn;

    fn start(&self, agent: Agent, turn: &mut Turn) -> ActionResult {
        let Ok(mut digits) = self.0.claim(agent) else { return ActionResult::Failed };
        let digit = &mut digits.get_mut().values[turn.digit as usize];
        *digit = (*digit + turn.by) % 6;
        ActionResult::Running
    }

    fn update(&self, _: Agent, _: &mut Turn) -> ActionResult {
        ActionResult::Success
    }
}

fn turn(mut actions: Actions<Turn>, digits: AgentAccess<&'static mut Digits>) {
    actions.process(&Turning(digits));
}

/// Undoes what the agents have done, so that there is something to do again.
fn spoil(mut all: Query<&mut Digits>) {
    all.for_each(|digits| digits.values = digits.values.map(|value| (value * 3 + 1) % 4));
}

type Seen = &'static Digits;
struct Goals(Sensors<Seen>);
struct Methods(Sensors<Seen, Domain>);

fn by_goals(mut planners: Planners<Seen>, shared: Res<Goals>) {
    planners.think(&shared.0, 7);
}

fn by_methods(mut planners: HtnPlanners<Seen>, shared: Res<Methods>) {
    planners.think(&shared.0, 5);
}

fn facts() -> (Facts, Vec<Fact>) {
    let mut facts = Facts::new();
    let digits = (0..DIGITS).map(|digit| facts.number(format!("d{digit}"), 5)).collect();
    (facts, digits)
}

/// What is done by an operator is `+2` or `-1` in both planners.
fn operators(digits: &[Fact], first_cost: u32) -> Vec<Operator> {
    let both = digits.iter().enumerate().flat_map(|(digit, fact)| {
        let up = Operator::new(format!("up{digit}")).then(fact.add(2)).cost(first_cost + 1);
        let down = Operator::new(format!("down{digit}")).then(fact.subtract(1)).cost(2);
        [up, down]
    });
    both.collect()
}

fn planner(first_cost: u32) -> Planner {
    let (facts, digits) = facts();
    let all_are = |name: &str, value: u32| {
        digits.iter().fold(Goal::new(name), |goal, digit| goal.when(digit.equals(value)))
    };
    let builder = PlannerBuilder::new(facts).pattern_states_max(1);
    let operators = operators(&digits, first_cost).into_iter();
    let builder = operators.fold(builder, PlannerBuilder::operator);
    builder.goal(all_are("threes", 3)).goal(all_are("ones", 1).priority(-1)).build().unwrap()
}

fn domain(preference: Preference) -> Domain {
    domain_where(preference, 2)
}

fn domain_where(preference: Preference, first_cost: u32) -> Domain {
    let (facts, digits) = facts();
    let builder = DomainBuilder::new(facts).prefer(preference);
    let mut builder =
        operators(&digits, first_cost).into_iter().fold(builder, DomainBuilder::operator);
    let mut all = Method::new("all", "of them");
    for (digit, fact) in digits.iter().enumerate() {
        let name = format!("set{digit}");
        let (up, down) = (format!("up{digit}"), format!("down{digit}"));
        builder = builder
            .method(Method::new(&name, "up").when(fact.at_most(3)).task(up).task(&name))
            .method(Method::new(&name, "down").when(fact.at_least(4)).task(down).task(&name))
            .method(Method::new(&name, "no").when(fact.equals(4)));
        all = all.task(name);
        if digit == 1 {
            all = all.pause();
        }
    }
    builder.method(all).build("all").unwrap()
}

fn with_senses<P: OperatorSet>(planner: P, actions: &ActionSet) -> Sensors<Seen, P> {
    let (_, digits) = facts();
    let sensors = Sensors::new(planner, actions).unwrap().rest(3);
    let sensors = sensors.cost("up1", |digits: &&Digits| 3 + digits.distance);
    digits.into_iter().fold(sensors, |sensors, fact| {
        sensors.fact(fact, move |digits: &&Digits| digits.values[fact.index()])
    })
}

fn actions() -> ActionSet {
    (0..DIGITS as u32).fold(ActionSet::new(), |set, digit| {
        set.action(format!("up{digit}"), Turn { digit, by: 2 })
            .action(format!("down{digit}"), Turn { digit, by: 5 })
    })
}

fn build(planner: Planner, domain: Domain) -> (World, Schedule) {
    let mut world = World::new();
    let actions = actions();
    world.insert_resource(Goals(with_senses(planner, &actions)));
    world.insert_resource(Methods(with_senses(domain, &actions)));
    SaveRules::of(&mut world).rebuild::<Goals>().rebuild::<Methods>().rebuild::<DecisionLog>();
    let schedule = formic_ai::action::add(Schedule::builder())
        .add(by_goals.as_mind())
        .add(by_methods.as_mind())
        .add(turn.as_action())
        .add(spoil.every(23))
        .build(&mut world)
        .unwrap();
    (world, schedule)
}

fn begin(preference: Preference) -> (World, Schedule, Vec<Entity>) {
    let (mut world, schedule) = build(planner(2), domain(preference));
    let actions = actions();
    let agents = (0..6_u32).map(|number| {
        let values = std::array::from_fn(|digit| (number * 5 + digit as u32 * 3) % 6);
        let digits = Digits { values, distance: number };
        let agent = actions.spawn(&mut world, digits).unwrap();
        match number % 2 {
            0 => GoapAgent::drive(&mut world, agent).unwrap(),
            _ => HtnAgent::drive(&mut world, agent).unwrap(),
        }
        agent
    });
    let agents = agents.collect();
    (world, schedule, agents)
}

/// Whether a planner is in the midst of a search: what is written says so.
fn is_searching(world: &World, agent: Entity) -> bool {
    bytes_of(world, agent).len() > 1
}

fn bytes_of(world: &World, agent: Entity) -> Vec<u8> {
    let mut bytes = Vec::new();
    match world.get::<PlannerState>(agent) {
        Ok(state) => PlannerState::CODEC.write(state, &mut bytes).unwrap(),
        Err(_) => {
            HtnState::CODEC.write(world.get::<HtnState>(agent).unwrap(), &mut bytes).unwrap();
        }
    }
    bytes
}

#[test]
fn a_game_that_is_saved_while_agents_plan_goes_on_the_same() {
    let one = Pool::new(Threads::None).unwrap();
    let two = Pool::new(Threads::Own(2)).unwrap();
    for preference in [Preference::Order, Preference::Cheapest] {
        let (mut world, mut schedule, agents) = begin(preference);
        let (mut hashes, mut saves, mut searching) = (Vec::new(), Vec::new(), [0, 0]);
        for _ in 0..100 {
            hashes.push(world.state_hash());
            saves.push(Save::of(&world, &schedule).unwrap());
            for (number, &agent) in agents.iter().enumerate() {
                searching[number % 2] += u32::from(is_searching(&world, agent));
            }
            schedule.run(&mut world, &one);
        }
        assert!(searching.iter().all(|&ticks| ticks > 20), "{searching:?} ticks of searching");
        for (tick, save) in saves.iter().enumerate().take(70) {
            let (mut other, mut its_schedule) = build(planner(2), domain(preference));
            let read = Save::from_bytes(&save.to_bytes()).unwrap();
            let report = read.load(&mut other, &mut its_schedule).unwrap();
            assert!(report.is_exact(), "{report}");
            for later in tick..tick + 30 {
                assert_eq!(other.state_hash(), hashes[later], "{later}, saved at {tick}");
                if later == tick + 1 {
                    assert_eq!(Save::of(&other, &its_schedule).unwrap(), saves[later]);
                }
                its_schedule.run(&mut other, if tick % 2 == 0 { &two } else { &one });
            }
        }
    }
}

/// None of what their systems keep from run to run is part of a game.
#[test]
fn a_game_with_any_other_mind_can_be_saved() {
    let mut world = World::new();
    let mut schedule = formic_ai::action::add(Schedule::builder())
        .add((|_: UtilityAgents<&Digits>| {}).as_mind())
        .add((|_: Trees<&Digits>| {}).as_mind())
        .add((|_: Machines<&Digits>| {}).as_mind())
        .add(turn.as_action())
        .build(&mut world)
        .unwrap();
    schedule.run(&mut world, &Pool::new(Threads::None).unwrap());
    let saved = Save::of(&world, &schedule);
    assert!(saved.is_ok(), "{}", saved.unwrap_err());
}

/// A game in which both planners are in the midst of a search.
fn thinking() -> (World, Schedule, Vec<Entity>) {
    let one = Pool::new(Threads::None).unwrap();
    let (mut world, mut schedule, agents) = begin(Preference::Cheapest);
    for _ in 0..200 {
        if agents[..2].iter().all(|&agent| is_searching(&world, agent)) {
            return (world, schedule, agents);
        }
        schedule.run(&mut world, &one);
    }
    panic!("the two never search at the same time")
}

#[test]
fn a_plan_of_another_planner_is_made_anew_and_the_decision_says_so() {
    let (world, schedule, agents) = thinking();
    let save = Save::of(&world, &schedule).unwrap();
    let one = Pool::new(Threads::None).unwrap();
    let same = || domain(Preference::Cheapest);
    let cases = [
        (planner(2), same(), 0),
        (planner(4), domain(Preference::Order), 2),
        // All that was worked out is still possible where an operator costs less, and yet wrong.
        (planner(1), same(), 1),
        (planner(2), domain_where(Preference::Cheapest, 1), 1),
    ];
    for (planner, domain, expected) in cases {
        let (mut world, mut schedule) = build(planner, domain);
        save.load(&mut world, &mut schedule).unwrap();
        let mut log = DecisionLog::new();
        agents[..2].iter().for_each(|&agent| log.watch(agent, "Agent", 64));
        world.insert_resource(log);
        (0..12).for_each(|_| drop(schedule.run(&mut world, &one)));
        let log = world.resource::<DecisionLog>().unwrap();
        let said = agents[..2].iter().filter(|&&agent| {
            let sentences = log.sentences(agent);
            sentences.iter().any(|it| it.contains("not the one that the game was saved with"))
        });
        let all: Vec<_> = agents[..2].iter().map(|&agent| log.sentences(agent)).collect();
        assert_eq!(said.count(), expected, "{all:#?}");
        let named = all.iter().flatten().any(|it| it.contains("up") || it.contains("down"));
        assert!(named && !all.concat().concat().contains("action "), "{all:#?}");
    }
}

#[test]
fn altered_bytes_of_a_plan_in_the_making_are_refused_or_begin_a_new_one() {
    let (mut world, mut schedule, agents) = thinking();
    let save = Save::of(&world, &schedule).unwrap();
    let one = Pool::new(Threads::None).unwrap();
    let (mut refused, mut taken) = (0, 0);
    for &agent in &agents[..2] {
        let good = bytes_of(&world, agent);
        for place in 0..good.len() {
            for change in [1, 2, 0x80, 0xFF] {
                let mut bytes = good.clone();
                bytes[place] ^= change;
                let is_read = if world.has::<PlannerState>(agent) {
                    let state = PlannerState::CODEC.read(&mut bytes.as_slice());
                    state.map(|state| *world.get_mut(agent).unwrap() = state).is_ok()
                } else {
                    let state = HtnState::CODEC.read(&mut bytes.as_slice());
                    state.map(|state| *world.get_mut(agent).unwrap() = state).is_ok()
                };
                if is_read {
                    taken += 1;
                    (0..12).for_each(|_| drop(schedule.run(&mut world, &one)));
                    save.load(&mut world, &mut schedule).unwrap();
                } else {
                    refused += 1;
                }
            }
        }
        for len in 0..good.len() {
            let mut bytes = &good[..len];
            let is_read = match world.has::<PlannerState>(agent) {
                true => PlannerState::CODEC.read(&mut bytes).is_ok(),
                false => HtnState::CODEC.read(&mut bytes).is_ok(),
            };
            assert!(!is_read, "{len} of {} bytes", good.len());
        }
    }
    assert!(refused > 200 && taken > 100, "{refused} refused, {taken} taken");
}

#[test]
fn a_plan_in_the_making_with_a_count_that_no_search_reaches_is_made_anew() {
    // Beyond the end of the search, and beyond what the planner visits at most.
    for count in [65_535, usize::MAX >> 1] {
        let (mut world, mut schedule, agents) = thinking();
        let mut log = DecisionLog::new();
        for &agent in &agents[..2] {
            log.watch(agent, "Adder", 16);
            if let Ok(state) = world.get_mut::<PlannerState>(agent) {
                *state = claiming(state, count);
            } else {
                let state = world.get_mut::<HtnState>(agent).unwrap();
                *state = claiming(state, count);
            }
        }
        world.insert_resource(log);
        let one = Pool::new(Threads::None).unwrap();
        for _ in 0..12 {
            let report = schedule.run(&mut world, &one);
            assert!(report.failures.is_empty(), "{:?}", report.failures);
        }
        let log = world.resource::<DecisionLog>().unwrap();
        for &agent in &agents[..2] {
            let said = log.sentences(agent);
            let is_anew = |it: &String| it.contains("not the one that the game was saved with");
            assert!(said.iter().any(is_anew), "{said:#?}");
        }
    }
}

#[test]
fn a_search_is_gone_on_with_by_the_planner_that_began_it() {
    let start = [0, 5, 2, 4];
    let (first, second) = (planner(2), planner(3));
    let mut planning = first.begin(0, |fact| start[fact], |_| 3);
    assert_eq!(first.go_on(&mut planning, 3), None);
    assert_eq!(second.go_on(&mut planning, 3), Some(Err(NoPlan::OtherPlanner)));
    let plan = first.go_on(&mut planning, usize::MAX).unwrap().unwrap();
    let mut whole = first.begin(0, |fact| start[fact], |_| 3);
    assert_eq!(first.go_on(&mut whole, usize::MAX), Some(Ok(plan)));
    assert_eq!(planning.looked_at(), whole.looked_at());

    let (first, second) = (domain(Preference::Cheapest), domain(Preference::Order));
    let mut planning = first.begin(|fact| start[fact], |_| 3);
    assert_eq!(first.go_on(&mut planning, 3), None);
    assert_eq!(second.go_on(&mut planning, 3), Some(Err(NoPlan::OtherPlanner)));
    assert!(first.go_on(&mut planning, usize::MAX).unwrap().is_ok());
}

#[test]
fn a_planner_that_differs_in_anything_at_all_is_another_one() {
    type Alter = fn(PlannerBuilder, [Fact; 2]) -> PlannerBuilder;
    let (up, down) = (|| Operator::new("up"), || Operator::new("down"));
    let build = |value_max: u32, up: &dyn Fn([Fact; 2]) -> Operator, alter: Alter| {
        let mut facts = Facts::new();
        let both = [facts.number("a", value_max), facts.number("b", 5)];
        let builder = PlannerBuilder::new(facts).operator(up(both));
        alter(builder.operator(down().then(both[1].add(1))), both).build().unwrap()
    };
    let usual = |[a, b]: [Fact; 2]| up().then(a.add(1)).when(b.at_least(1)).cost(3);
    let goal: Alter = |it, [a, _]| it.goal(Goal::new("full").when(a.at_least(5)));
    let first = build(7, &usual, goal);
    // None of them comes to an end so soon.
    let begin = |planner: &Planner| {
        let mut planning = planner.begin(0, |_| 0, |_| 9);
        assert_eq!(planner.go_on(&mut planning, 3), None);
        planning
    };
    let others = [
        build(7, &|[a, b]| up().then(a.add(1)).when(b.at_least(1)).cost(2), goal),
        build(7, &|[a, b]| up().then(a.add(1)).when(b.at_least(1)).cost(4), goal),
        build(7, &|[a, b]| up().then(a.add(1)).when(b.at_least(2)).cost(3), goal),
        build(7, &|[a, b]| up().then(a.add(2)).when(b.at_least(1)).cost(3), goal),
        build(7, &|[a, b]| usual([a, b]).then(b.subtract(1)), goal),
        build(8, &usual, goal),
        build(7, &usual, |it, [a, _]| it.goal(Goal::new("full").when(a.at_least(4)))),
        build(7, &usual, |it, [a, b]| {
            it.operator(Operator::new("way up").then(a.add(3)).when(b.at_least(3)).cost(9))
                .goal(Goal::new("full").when(a.at_least(5)))
        }),
        build(7, &usual, |it, [a, _]| {
            it.pattern_states_max(1).goal(Goal::new("full").when(a.at_least(5)))
        }),
    ];
    // A fact that no condition knows: how far it goes is known to itself alone.
    let exact: Alter = |it, [a, _]| it.goal(Goal::new("full").when(a.equals(5)));
    let narrow = [build(7, &usual, exact), build(6, &usual, exact)];
    let pairs = others.iter().map(|other| (&first, other)).chain([(&narrow[0], &narrow[1])]);
    for (number, (one, other)) in pairs.enumerate() {
        let refused = Some(Err(NoPlan::OtherPlanner));
        assert_eq!(other.go_on(&mut begin(one), 3), refused, "planner {number}");
        assert_eq!(one.go_on(&mut begin(other), 3), refused, "planner {number}");
    }
}
