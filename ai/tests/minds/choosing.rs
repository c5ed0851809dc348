//! Composites that minds choose, and a kind of action that two frameworks share.

use formic_ai::action::{self, WideProcessor};
use formic_ai::bt::{Library, Tree, TreeAgent, Trees};
use formic_ai::fsm::{FsmAgent, Machine, MachineBuilder, Machines, State, Transition};
use formic_ai::goap::{Facts, Goal, GoapAgent, Operator, PlannerBuilder, Planners, Sensors};
use formic_ai::htn::{Domain, DomainBuilder, HtnAgent, HtnPlanners, Method};
use formic_ai::prelude::*;
use formic_ai::utility::{Curve, Input, Reasoner, Utility, UtilityAgent, UtilityAgents};

/// Counts how often it was done.
#[derive(Component, Clone)]
struct Work(u32);

struct Working;

impl Processor for Working {
    type Action = Work;

    fn start(&self, _: Agent, work: &mut Work) -> ActionResult {
        work.0 += 1;
        ActionResult::Success
    }
}

fn work(mut actions: Actions<Work>) {
    actions.process(&Working);
}

/// How often the actions of all were done, in the order in which they were spawned.
fn counts(world: &World) -> Vec<u32> {
    let works = world.query_ref::<(Entity, &Work)>();
    let mut works: Vec<(Entity, u32)> = works.into_iter().map(|(it, work)| (it, work.0)).collect();
    works.sort_unstable();
    works.into_iter().map(|(_, count)| count).collect()
}

struct Minds {
    tree: Tree<()>,
    machine: Machine<()>,
    reasoner: Reasoner,
    planner: Sensors<()>,
    domain: Sensors<(), Domain>,
}

fn climb(mut trees: Trees<()>, minds: Res<Minds>) {
    trees.tick(&minds.tree);
}

fn follow(mut machines: Machines<()>, minds: Res<Minds>) {
    machines.update(&minds.machine);
}

fn weigh(mut agents: UtilityAgents<()>, minds: Res<Minds>) {
    agents.decide(&minds.reasoner, |()| [1.0]);
}

fn plan(mut planners: Planners<()>, minds: Res<Minds>) {
    planners.think(&minds.planner, 100);
}

fn decompose(mut planners: HtnPlanners<()>, minds: Res<Minds>) {
    planners.think(&minds.domain, 100);
}

fn minds(actions: &ActionSet) -> Minds {
    let mut facts = Facts::new();
    let done = facts.flag("done");
    let haul = || Operator::new("haul").then(done.becomes(true));
    let planner = PlannerBuilder::new(facts.clone())
        .operator(haul())
        .goal(Goal::new("be done").when(done.is(true)))
        .build();
    let domain = DomainBuilder::new(facts)
        .operator(haul())
        .method(Method::new("live", "well").task("haul"))
        .build("live");
    let machine = MachineBuilder::new()
        .state(State::new("at work").action("haul"))
        .transition(Transition::new("at work", "at work").when_done());
    let reasoner = Reasoner::new()
        .option("haul", Utility::of(Input::named(["need"])[0], Curve::linear(1.0, 0.0)));
    Minds {
        tree: Tree::parse("haul", &Library::new(actions)).unwrap(),
        machine: machine.build(actions).unwrap(),
        reasoner: reasoner.bind(actions).unwrap(),
        planner: Sensors::new(planner.unwrap(), actions).unwrap(),
        domain: Sensors::new(domain.unwrap(), actions).unwrap(),
    }
}

#[test]
fn every_mind_chooses_a_composite_as_it_chooses_any_other_action() {
    let drive: [fn(&mut World, Entity, &Minds); 5] = [
        |world, agent, minds| TreeAgent::drive(world, agent, &minds.tree, 0).unwrap(),
        |world, agent, minds| FsmAgent::drive(world, agent, &minds.machine).unwrap(),
        |world, agent, minds| UtilityAgent::drive(world, agent, &minds.reasoner, 0).unwrap(),
        |world, agent, _| GoapAgent::drive(world, agent).unwrap(),
        |world, agent, _| HtnAgent::drive(world, agent).unwrap(),
    ];
    let pool = Pool::new(Threads::None).unwrap();
    for (which, drive) in drive.into_iter().enumerate() {
        let parts = ActionSet::new().action("dig", Work(0)).action("carry", Work(0));
        let actions = ActionSet::new().action("rest", Work(0));
        let actions = actions.composite("haul", Composite::sequence(), parts);
        let minds = minds(&actions);
        let mut world = World::new();
        let agent = actions.spawn(&mut world, ()).unwrap();
        drive(&mut world, agent, &minds);
        world.insert_resource(minds);
        let mut schedule = action::add(Schedule::builder())
            .add(climb.as_mind())
            .add(follow.as_mind())
            .add(weigh.as_mind())
            .add(plan.as_mind())
            .add(decompose.as_mind())
            .add(work.as_action())
            .build(&mut world)
            .unwrap();
        (0..20).for_each(|_| drop(schedule.run(&mut world, &pool)));
        let counts = counts(&world);
        let [rest, dig, carry] = counts[..] else { panic!("{counts:?}") };
        assert!(rest == 0 && carry >= 3 && dig - carry <= 1, "mind {which}: {counts:?}");
    }
}

/// What belongs to agents that march.
#[derive(Component, Clone)]
struct Marching;
/// What belongs to agents that plan.
#[derive(Component, Clone)]
struct Planned;

struct ByTag(u32);

impl WideProcessor<&'static Marching> for ByTag {
    type Action = Work;

    fn start(&self, _: Agent, work: &mut Work, _: &Marching, (): &mut ()) -> ActionResult {
        work.0 += self.0;
        ActionResult::Success
    }
}

impl WideProcessor<&'static Planned> for ByTag {
    type Action = Work;

    fn start(&self, _: Agent, work: &mut Work, _: &Planned, (): &mut ()) -> ActionResult {
        work.0 += self.0;
        ActionResult::Failed
    }
}

fn march(mut actions: Actions<Work, &'static Marching>) {
    actions.process(&ByTag(1));
}

fn carry_out_plans(mut actions: Actions<Work, &'static Planned>) {
    actions.process(&ByTag(100));
}

#[test]
fn two_frameworks_of_one_agent_share_a_kind_of_action_and_are_kept_apart_by_its_type() {
    let mut world = World::new();
    let work = || ActionSet::new().action("work", Work(0));
    let agent = Sequence::from(work().tagged(Marching)).spawn(&mut world, ()).unwrap();
    let other = work().tagged(Planned).attach_mind(&mut world, agent, ()).unwrap();
    SequenceAgent::drive(&mut world, other, OnFailure::Stop).unwrap();
    let mut schedule = action::add(Schedule::builder())
        .add(march.as_action())
        .add(carry_out_plans.as_action().after(march))
        .build(&mut world)
        .unwrap();
    let pool = Pool::new(Threads::None).unwrap();
    (0..5).for_each(|_| drop(schedule.run(&mut world, &pool)));
    // The one advances every tick, the other has failed in the first.
    assert_eq!(counts(&world), [5, 100]);
    assert_eq!(world.get::<SequenceAgent>(agent).unwrap().advances(), 5);
    assert_eq!(world.get::<SequenceAgent>(other).unwrap().advances(), 0);
}

#[derive(Component)]
struct Cat;
#[derive(Component)]
struct Dog;
struct Mind<T>(T);

fn machines<T: Component>(mut all: Machines<&'static T>, it: Res<Mind<Machine<&'static T>>>) {
    all.update(&it.0);
}
fn trees<T: Component>(mut all: Trees<&'static T>, it: Res<Mind<Tree<&'static T>>>) {
    all.tick(&it.0);
}
fn plans<T: Component>(mut all: Planners<&'static T>, it: Res<Mind<Sensors<&'static T>>>) {
    all.think(&it.0, 1);
}
fn tasks<T: Component>(
    mut all: HtnPlanners<&'static T>,
    it: Res<Mind<Sensors<&'static T, Domain>>>,
) {
    all.think(&it.0, 1);
}
fn choices<T: Component>(mut all: UtilityAgents<&'static T>, it: Res<Mind<(Reasoner, T)>>) {
    all.decide(&it.0.0, |_| [1.0]);
}
fn all_minds<T: Component>() -> formic_jobs::SystemConfig {
    let planning = (plans::<T>.as_mind(), tasks::<T>.as_mind());
    (machines::<T>.as_mind(), trees::<T>.as_mind(), choices::<T>.as_mind(), planning).into_config()
}

#[test]
fn minds_of_two_kinds_of_agents_are_ambiguous_about_the_game_alone() {
    let mut world = World::new();
    let minds = (all_minds::<Cat>(), all_minds::<Dog>());
    let schedule = action::add(Schedule::builder()).add(minds).build(&mut world).unwrap();
    assert_eq!(schedule.ambiguities(), []);
    fn one(mut all: Trees<&'static mut Cat>, it: Res<Mind<Tree<&'static mut Cat>>>) {
        all.tick(&it.0);
    }
    fn other(mut all: Machines<&'static mut Cat>, it: Res<Mind<Machine<&'static mut Cat>>>) {
        all.update(&it.0);
    }
    let minds = (one.as_mind(), other.as_mind());
    let schedule = action::add(Schedule::builder()).add(minds).build(&mut world).unwrap();
    let said = schedule.ambiguities()[0].to_string();
    assert!(said.ends_with("both use minds::choosing::Cat"), "{said}");
}
