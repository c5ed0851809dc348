//! Planning by methods: against a decomposition that is tried out in full, and on the stage.

mod reference;

use formic_ai::explain::DecisionLog;
use formic_ai::goap::{Fact, Facts, NoPlan, Operator, Replan, Sensors};
use formic_ai::htn::{Domain, DomainBuilder, HtnAgent, HtnPlanners, Method, Preference};
use formic_ai::prelude::*;

use crate::goap::claiming;

#[test]
fn what_makes_no_sense_is_refused_with_its_name() {
    let mut facts = Facts::new();
    let cash = facts.number("cash", 3);
    let builder = || DomainBuilder::new(facts.clone()).operator(Operator::new("walk"));
    let error = |builder: DomainBuilder| builder.build("go").unwrap_err().to_string();
    let go = || Method::new("go", "on foot");
    assert_eq!(
        error(builder().method(go().task("fly"))),
        "\"go on foot\" names \"fly\", which has neither an operator nor methods, but \"go\", \"walk\""
    );
    assert_eq!(
        error(builder()),
        "\"the domain\" names \"go\", which has neither an operator nor methods, but \"walk\""
    );
    assert_eq!(
        error(builder().method(go()).method(go().task("walk"))),
        "\"go on foot\" is defined twice"
    );
    let same = builder().method(Method::new("walk", "fast")).build("walk");
    assert_eq!(same.unwrap_err().to_string(), "\"walk\" is defined twice");
    assert_eq!(
        error(builder().method(go().when(cash.at_least(4)))),
        "\"go on foot\" requires a value that the fact cannot have"
    );
    // Also behind something that can be done by doing nothing.
    let cycle = builder()
        .method(Method::new("look around", "not at all"))
        .method(go().task("look around").task("go").task("walk"));
    assert_eq!(error(cycle), "\"go\" decomposes into itself before any operator");
    // A pause that nothing comes before does not end the plan.
    let cycle = builder().method(go().pause().task("go").task("walk"));
    assert_eq!(error(cycle), "\"go\" decomposes into itself before any operator");
    let pause = Method::new("rest", "a while").pause();
    let cycle = builder().method(pause).method(go().task("rest").task("go").task("walk"));
    assert_eq!(error(cycle), "\"go\" decomposes into itself before any operator");
    assert!(
        builder()
            .method(go())
            .method(Method::new("go", "on").task("walk").task("go"))
            .build("go")
            .is_ok()
    );
}

#[test]
fn a_search_without_end_is_given_up() {
    let mut facts = Facts::new();
    let done = facts.flag("done");
    let domain = DomainBuilder::new(facts)
        .operator(Operator::new("walk"))
        .operator(Operator::new("stop").when(done.is(true)))
        .method(Method::new("go", "on").task("walk").task("go").task("stop"))
        .method(Method::new("go", "no further").when(done.is(true)))
        .states_max(500);
    let first = domain.clone().build("go").unwrap();
    assert_eq!(first.plan(&[0]), Err(NoPlan::GaveUp));
    // A save that says it got further than that is not searched so far.
    let mut planning = first.begin(|_| 0, |_| 0);
    assert_eq!(first.go_on(&mut planning, 3), None);
    let mut altered = claiming(&planning, 501);
    assert_eq!(first.go_on(&mut altered, 1), Some(Err(NoPlan::OtherPlanner)));
    let mut altered = claiming(&planning, 499);
    assert_eq!(first.go_on(&mut altered, 1), Some(Err(NoPlan::GaveUp)));
    let cheapest = domain.prefer(Preference::Cheapest).build("go").unwrap();
    assert_eq!(cheapest.plan(&[0]), Err(NoPlan::GaveUp));
    assert!(cheapest.plan(&[1]).unwrap().operators.is_empty());
}

/// On an agent: its facts, and how many ticks an action takes.
#[derive(Component, Clone, Debug, Default)]
struct Purse {
    cash: u32,
    is_home: bool,
    /// The next action to end fails.
    fails: bool,
    /// For how many ticks it rings; a call takes three.
    rings: u32,
}

#[derive(Component, Clone)]
struct Deed(&'static str);

struct Going<'a>(AgentAccess<'a, &'static mut Purse>);

impl Processor for Going<'_> {
    type Action = Deed;

    fn start(&self, _: Agent<'_>, _: &mut Deed) -> ActionResult {
        ActionResult::Running
    }

    fn update(&self, agent: Agent<'_>, deed: &mut Deed) -> ActionResult {
        let Ok(mut purse) = self.0.claim(agent) else { return ActionResult::Failed };
        let purse = purse.get_mut();
        if std::mem::take(&mut purse.fails) {
            return ActionResult::Failed;
        }
        match deed.0 {
            "ride" => (purse.cash, purse.is_home) = (purse.cash - 2, true),
            "walk" => purse.is_home = true,
            "work" => purse.cash += 1,
            "call" if purse.rings < 2 => {
                purse.rings += 1;
                return ActionResult::Running;
            }
            _ => {}
        }
        ActionResult::Success
    }
}

fn go(mut actions: Actions<Deed>, purses: AgentAccess<&'static mut Purse>) {
    actions.process(&Going(purses));
}

struct Guests(Sensors<&'static Purse, Domain>, usize);

fn think(mut planners: HtnPlanners<&'static Purse>, shared: Res<Guests>) {
    planners.think(&shared.0, shared.1);
}

struct Town {
    world: World,
    schedule: Schedule,
    pool: Pool,
    guest: Entity,
}

impl Town {
    fn new(methods: impl Fn(DomainBuilder, Fact, Fact) -> DomainBuilder, purse: Purse) -> Self {
        let mut facts = Facts::new();
        let (cash, home) = (facts.number("cash", 10), facts.flag("home"));
        let builder = DomainBuilder::new(facts)
            .operator(Operator::new("call"))
            .operator(Operator::new("ride").then(cash.subtract(2)).then(home.becomes(true)))
            .operator(Operator::new("walk").then(home.becomes(true)))
            .operator(Operator::new("work").then(cash.add(1)));
        let domain = methods(builder, cash, home).build("go home").unwrap();
        let actions = ["call", "ride", "walk", "work"];
        let actions =
            actions.iter().fold(ActionSet::new(), |set, name| set.action(*name, Deed(name)));
        let sensors = Sensors::new(domain, &actions).unwrap().rest(2);
        let sensors = sensors.fact(cash, |purse: &&Purse| purse.cash);
        let sensors = sensors.fact(home, |purse: &&Purse| u32::from(purse.is_home));
        let mut world = World::new();
        let guest = actions.spawn(&mut world, purse).unwrap();
        HtnAgent::drive(&mut world, guest).unwrap();
        world.insert_resource(Guests(sensors, 100));
        let mut log = DecisionLog::new();
        log.watch(guest, "Guest", 32);
        world.insert_resource(log);
        let schedule = formic_ai::action::add(Schedule::builder()).add(think.as_mind());
        let schedule = schedule.add(go.as_action()).build(&mut world).unwrap();
        Self { world, schedule, pool: Pool::new(Threads::None).unwrap(), guest }
    }

    fn ticks(&mut self, count: usize) {
        (0..count).for_each(|_| drop(self.schedule.run(&mut self.world, &self.pool)));
    }

    fn sentences(&self) -> Vec<String> {
        self.world.resource::<DecisionLog>().unwrap().sentences(self.guest)
    }

    fn purse(&self) -> &Purse {
        self.world.get::<Purse>(self.guest).unwrap()
    }
}

fn by_taxi_or_on_foot(builder: DomainBuilder, cash: Fact, home: Fact) -> DomainBuilder {
    let taxi = Method::new("go home", "by taxi").when(home.is(false)).when(cash.at_least(2));
    builder
        .method(taxi.task("call").task("ride"))
        .method(Method::new("go home", "on foot").when(home.is(false)).task("walk"))
        .method(Method::new("go home", "not at all").when(home.is(true)))
}

/// Each task is the next one, so that what is known of the last comes to the first by all others.
#[test]
fn a_domain_is_made_in_a_time_that_grows_with_its_size() {
    let count = 20_000;
    let start = std::time::Instant::now();
    for is_upward in [false, true] {
        let mut facts = Facts::new();
        let done = facts.flag("done");
        let work = Operator::new("work").cost(3).then(done.becomes(true));
        let domain = DomainBuilder::new(facts).operator(work);
        let method = |domain: DomainBuilder, number: usize| {
            let next = if number + 1 == count { "work".into() } else { format!("{}", number + 1) };
            domain.method(Method::new(format!("{number}"), "on").task(next))
        };
        let domain = match is_upward {
            true => (0..count).fold(domain, method),
            false => (0..count).rev().fold(domain, method),
        };
        let domain = domain.states_max(3 * count).build("0").expect("it is a domain");
        let plan = domain.plan(&[0]).expect("there is a way");
        assert_eq!(plan.names(&domain).collect::<Vec<_>>(), ["work"]);
    }
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}

#[test]
fn an_agent_carries_out_its_plan_and_says_which_way_it_took_and_why() {
    let mut town = Town::new(by_taxi_or_on_foot, Purse { cash: 2, ..Purse::default() });
    town.ticks(12);
    assert!(town.purse().is_home);
    assert_eq!(town.purse().cash, 0);
    let sentences = town.sentences();
    assert!(
        sentences[0].contains(
            "Guest#0 pursues go home by taxi, because it was told to think; the plan is call, ride"
        ),
        "{sentences:?}"
    );
    assert!(
        sentences[1].contains("Guest#0 pursues go home with ride, step 2; call is done"),
        "{sentences:?}"
    );
    assert!(sentences[2].contains("go home holds already; ride is done"), "{sentences:?}");
    assert_eq!(sentences.len(), 3, "{sentences:?}");
}

#[test]
fn a_method_that_is_closed_is_told_with_the_fact_that_closes_it() {
    let mut town = Town::new(by_taxi_or_on_foot, Purse { cash: 1, ..Purse::default() });
    town.ticks(4);
    let sentences = town.sentences();
    assert!(
        sentences[0].contains("pursues go home on foot")
            && sentences[0].contains("go home by taxi: its condition on cash said no"),
        "{sentences:?}"
    );
}

#[test]
fn a_failure_and_a_step_that_cannot_be_taken_make_it_plan_anew() {
    let mut town = Town::new(by_taxi_or_on_foot, Purse { cash: 2, ..Purse::default() });
    town.ticks(1);
    // The purse is stolen while it calls: the ride cannot begin.
    town.world.get_mut::<Purse>(town.guest).unwrap().cash = 0;
    town.ticks(6);
    assert!(town.purse().is_home, "on foot");
    assert!(
        town.sentences()
            .iter()
            .any(|it| it.contains("because ride cannot begin: its conditions do not hold"))
    );
    let mut town =
        Town::new(by_taxi_or_on_foot, Purse { cash: 2, fails: true, ..Purse::default() });
    town.ticks(10);
    assert_eq!(town.world.get::<HtnAgent>(town.guest).unwrap().failures(), 1);
    assert!(town.purse().is_home);
    assert!(town.sentences().iter().any(|it| it.contains("because call has failed")));
}

#[test]
fn behind_a_pause_it_plans_by_how_things_are_then() {
    let methods = |builder: DomainBuilder, cash: Fact, home: Fact| {
        let earn = Method::new("go home", "after work").when(home.is(false));
        let earn = earn.when(cash.equals(0)).task("work").pause().task("leave");
        builder
            .method(earn)
            .method(Method::new("go home", "at once").when(home.is(false)).task("leave"))
            .method(Method::new("go home", "not at all").when(home.is(true)))
            .method(Method::new("leave", "by taxi").when(cash.at_least(2)).task("ride"))
            .method(Method::new("leave", "on foot").task("walk"))
    };
    for (tip, name) in [(0, "walk"), (5, "ride")] {
        let mut town = Town::new(methods, Purse::default());
        let domain = town.world.resource::<Guests>().unwrap().0.planner();
        let plan = domain.plan(&[0, 0]).unwrap();
        assert!(plan.is_partial());
        assert_eq!(plan.names(domain).collect::<Vec<_>>(), ["work"]);
        town.ticks(1);
        town.world.get_mut::<Purse>(town.guest).unwrap().cash += tip;
        town.ticks(6);
        assert!(town.purse().is_home);
        let sentences = town.sentences();
        assert!(
            sentences.iter().any(|it| it.contains(&format!("the plan is {name}"))),
            "{sentences:?}"
        );
        // The root begins with work where there is no cash; what was left did not.
        assert_eq!(sentences.iter().filter(|it| it.contains("the plan is work")).count(), 1);
    }
}

#[test]
fn a_plan_whose_next_operator_the_domain_lacks_is_made_anew() {
    let mut town = Town::new(by_taxi_or_on_foot, Purse { cash: 2, ..Purse::default() });
    town.ticks(1);
    // As after a game was loaded by a program in which to call is enough.
    let mut facts = Facts::new();
    let home = facts.flag("home");
    let domain = DomainBuilder::new(facts)
        .operator(Operator::new("call").then(home.becomes(true)))
        .method(Method::new("go home", "by magic").when(home.is(false)).task("call"));
    let actions = ActionSet::new().action("call", Deed("call"));
    let sensors = Sensors::new(domain.build("go home").unwrap(), &actions).unwrap();
    let sensors = sensors.fact(home, |purse: &&Purse| u32::from(purse.is_home));
    town.world.insert_resource(Guests(sensors, 100));
    town.ticks(6);
    let said = town.sentences();
    let why = "by magic, because its planner is not the one that the game was saved with";
    assert!(said[1].contains(why), "{said:?}");
}

#[test]
fn a_task_that_cannot_be_done_is_told_with_what_keeps_each_method_from_it() {
    for preference in [Preference::Order, Preference::Cheapest] {
        let methods = |builder: DomainBuilder, cash: Fact, home: Fact| {
            let taxi = Method::new("go home", "by taxi").when(cash.at_least(5)).task("ride");
            let rides = Method::new("go home", "by two taxis").when(home.is(false));
            builder.prefer(preference).method(taxi).method(rides.task("ride").task("ride"))
        };
        let mut town = Town::new(methods, Purse { cash: 3, ..Purse::default() });
        town.ticks(4);
        assert_eq!(
            town.sentences(),
            [
                "Tick 0: Guest#0 does nothing; go home cannot be reached; go home by taxi: its condition \
                 on cash said no; go home by two taxis cannot be reached."
            ]
        );
    }
}

#[test]
fn what_is_left_behind_a_pause_is_forgotten_with_the_plan_before_it() {
    // Told to think in the midst of it, it begins with the root, which begins with a call.
    let methods = |builder: DomainBuilder, _: Fact, home: Fact| {
        let calls = Method::new("go home", "after a call").when(home.is(false));
        builder
            .method(calls.task("call").pause().task("walk"))
            .method(Method::new("go home", "not at all").when(home.is(true)))
    };
    let mut town = Town::new(methods, Purse::default());
    town.ticks(1);
    town.world.set_enabled::<Replan>(town.guest, true).unwrap();
    town.ticks(1);
    let said = town.sentences();
    assert!(said.len() == 2 && said[1].contains("the plan is call"), "{said:?}");
    // A step before the pause that cannot be taken ends all of it.
    let methods = |builder: DomainBuilder, cash: Fact, home: Fact| {
        let taxi = Method::new("go home", "by taxi").when(cash.at_least(2));
        builder
            .method(taxi.task("call").task("ride").pause().task("work"))
            .method(Method::new("go home", "on foot").when(home.is(false)).task("walk"))
            .method(Method::new("go home", "not at all").when(home.is(true)))
    };
    let mut town = Town::new(methods, Purse { cash: 2, ..Purse::default() });
    town.ticks(1);
    town.world.get_mut::<Purse>(town.guest).unwrap().cash = 0;
    town.ticks(8);
    let said = town.sentences();
    assert!(said[1].contains("on foot") && said[1].contains("the plan is walk"), "{said:?}");
    assert_eq!((town.purse().is_home, town.purse().cash), (true, 0));
}

#[test]
fn what_comes_behind_a_pause_adds_nothing_to_the_cost_of_a_way() {
    let mut facts = Facts::new();
    let done = facts.flag("done");
    let operator = |name: &str, cost| Operator::new(name).cost(cost).then(done.becomes(true));
    let domain = DomainBuilder::new(facts)
        .prefer(Preference::Cheapest)
        .operator(operator("begin", 5))
        .operator(operator("toil", 100))
        .operator(operator("buy", 10))
        .method(Method::new("first", "slowly").task("begin").pause())
        .method(Method::new("all", "by hand").task("first").task("toil"))
        .method(Method::new("all", "for money").task("buy"))
        .build("all")
        .unwrap();
    let plan = domain.plan(&[0]).unwrap();
    assert_eq!((plan.names(&domain).collect::<Vec<_>>(), plan.cost), (vec!["begin"], 5));
    assert_eq!(plan.methods(&domain).collect::<Vec<_>>(), ["all by hand", "first slowly"]);
    assert!(plan.is_partial());
}

#[test]
fn a_search_that_goes_on_state_by_state_is_given_up_at_its_limit() {
    let mut facts = Facts::new();
    let number = facts.number("number", 60);
    let domain = DomainBuilder::new(facts)
        .operator(Operator::new("count").then(number.add(1)))
        .method(Method::new("all", "at last").when(number.at_least(50)))
        .method(Method::new("all", "step by step").task("count").task("all"))
        .states_max(5)
        .build("all")
        .unwrap();
    let mut planning = domain.begin(|_| 0, |_| 0);
    let results: Vec<_> = (0..5).map(|_| domain.go_on(&mut planning, 1)).collect();
    let gave_up = Some(Err(NoPlan::GaveUp));
    assert_eq!(results, [None, None, None, None, gave_up]);
}

#[test]
fn told_to_think_it_begins_with_the_root_and_what_is_first_again_goes_on() {
    let mut town = Town::new(by_taxi_or_on_foot, Purse { cash: 2, ..Purse::default() });
    town.ticks(1);
    town.world.set_enabled::<Replan>(town.guest, true).unwrap();
    town.ticks(1);
    let plans = |town: &Town| town.world.get::<HtnAgent>(town.guest).unwrap().plans();
    assert_eq!(plans(&town), 2);
    assert_eq!(town.purse().rings, 2, "it goes on to call");
    let said = town.sentences();
    assert!(said.len() == 2 && !said[1].contains("stopped"), "{said:?}");
    town.world.set_enabled::<Replan>(town.guest, true).unwrap();
    town.world.get_mut::<Purse>(town.guest).unwrap().cash = 1;
    town.ticks(1);
    let said = town.sentences();
    assert!(
        said.last().unwrap().ends_with("call stopped: a new plan, because it was told to think."),
        "{said:?}"
    );
    town.ticks(3);
    assert!(town.purse().is_home);
    assert_eq!(town.purse().cash, 1, "on foot");
}

#[test]
fn a_plan_that_takes_several_ticks_is_the_same_and_is_not_begun_if_it_has_become_impossible() {
    let mut town = Town::new(by_taxi_or_on_foot, Purse { cash: 2, ..Purse::default() });
    town.world.resource_mut::<Guests>().unwrap().1 = 1;
    town.ticks(2);
    assert_eq!(town.world.get::<HtnAgent>(town.guest).unwrap().plans(), 0, "it is at it");
    town.ticks(20);
    assert!(town.sentences().iter().any(|it| it.contains("the plan is call, ride at a cost of 2")));
    assert!(town.purse().is_home);

    let methods = |builder: DomainBuilder, cash: Fact, home: Fact| {
        let ride = Method::new("go home", "by taxi").when(home.is(false)).when(cash.at_least(2));
        builder
            .method(ride.task("ride").task("work").task("work"))
            .method(Method::new("go home", "on foot").when(home.is(false)).task("walk"))
            .method(Method::new("go home", "not at all").when(home.is(true)))
    };
    let mut town = Town::new(methods, Purse { cash: 2, ..Purse::default() });
    town.world.resource_mut::<Guests>().unwrap().1 = 1;
    town.ticks(3);
    assert_eq!(town.world.get::<HtnAgent>(town.guest).unwrap().plans(), 0);
    town.world.get_mut::<Purse>(town.guest).unwrap().cash = 0;
    town.ticks(20);
    // The ride would take more than there is, which is a panic.
    assert!(town.purse().is_home);
    let said = town.sentences();
    assert!(
        said.iter().any(|it| it.contains("because things changed while it planned")),
        "{said:?}"
    );
}
