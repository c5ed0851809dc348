//! Deciding: an `if`, utility, a behaviour tree, a state machine.

use std::cell::RefCell;
use std::rc::Rc;

use formic_ai::action::identify;
use formic_ai::bt::{Library, Tree, TreeAgent, Trees};
use formic_ai::explain::DecisionLog;
use formic_ai::fsm::{FsmAgent, Machine, MachineBuilder, Machines, State, Transition};
use formic_ai::prelude::*;
use formic_ai::utility::{Curve, Input, Reasoner, Utility, UtilityAgent, UtilityAgents};

use crate::harness::{Contender, Row};

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = vec![Row::new("cats: decide and do, 100k", None, || {
        vec![utility_tick(100_000), if_else(100_000)]
    })];
    let explain = Row::new("explain: cats, 10k of 100k watched", None, || watched(100_000, 10_000));
    rows.push(explain.second_within(1.05));
    for (agents, name) in [(100_000, "100k"), (1_000_000, "1M")] {
        rows.push(Row::new(format!("utility: 3 options, {name}"), Some(6.0), move || {
            vec![utility(agents)]
        }));
        rows.push(Row::new(format!("bt: reactive, 11 nodes, {name}"), Some(19.0), move || {
            #[cfg_attr(
                not(feature = "bonsai"),
                expect(unused_mut, reason = "without the peer there is one column")
            )]
            let mut columns = vec![tree(agents)];
            #[cfg(feature = "bonsai")]
            columns.push(bonsai(agents));
            columns
        }));
        rows.push(Row::new(format!("fsm: idle, 2 guards, {name}"), Some(10.0), move || {
            vec![machine(agents)]
        }));
    }
    rows
}

#[derive(Component, Clone, HashState)]
struct Needs {
    hunger: f32,
    tiredness: f32,
}

#[derive(Component, Clone)]
struct Pastime {
    hunger: f32,
    tiredness: f32,
}

fn needs(agent: usize) -> Needs {
    let mut random = RandomStream::new(agent as u64);
    Needs { hunger: random.between(0.0, 100.0), tiredness: random.between(0.0, 100.0) }
}

fn actions() -> ActionSet {
    let pastime = |hunger, tiredness| Pastime { hunger, tiredness };
    ActionSet::new()
        .action("eat", pastime(-5.0, 0.0))
        .action("sleep", pastime(0.0, -3.0))
        .action("play", pastime(2.0, 4.0))
}

struct Cats(Reasoner);
struct Guards(Tree<&'static Needs>);
struct Doors(Machine<&'static Needs>);

fn crowd(agents: usize) -> (World, Vec<Entity>) {
    let mut world = World::new();
    let all = world.spawn_batch((0..agents).map(needs));
    let actions = actions();
    for &agent in &all {
        actions.attach(&mut world, agent).expect("it has actions");
    }
    (world, all)
}

fn run<Marker>(
    mut world: World,
    column: &'static str,
    agents: usize,
    mind: impl IntoSystem<Marker>,
) -> Contender {
    // The mind alone: what it begins is not passed on.
    let passing_on = identify.run_if(|| false);
    let systems = Schedule::builder().add(mind.before(identify)).add(passing_on);
    let mut schedule = systems.build(&mut world).expect("it has no cycle");
    let pool = Pool::new(Threads::None).expect("no threads are asked for");
    Contender::new(column, agents, move || drop(schedule.run(&mut world, &pool)))
}

fn reasoner() -> Reasoner {
    let [hunger, tiredness] = Input::named(["hunger", "tiredness"]);
    let (hungry, tired) = (Curve::exponential(2.0), Curve::fast_then_slow(4.0));
    let play = Utility::sum().weighted(0.4, hunger, hungry.clone().inverted()).weighted(
        0.6,
        tiredness,
        tired.clone().inverted(),
    );
    Reasoner::new()
        .option("eat", Utility::of(hunger, hungry).until(hunger, 0.0))
        .option("sleep", Utility::of(tiredness, tired).until(tiredness, 0.0))
        .option("play", play)
        .bind(&actions())
        .expect("it makes sense")
}

fn think(mut minds: UtilityAgents<'_, &'static Needs>, cats: Res<'_, Cats>) {
    minds.decide(&cats.0, |needs| [needs.hunger * 0.01, needs.tiredness * 0.01]);
}

struct Living<'a>(AgentAccess<'a, &'static mut Needs>);

impl Processor for Living<'_> {
    type Action = Pastime;
    fn start(&self, _: Agent<'_>, _: &mut Pastime) -> ActionResult {
        ActionResult::Running
    }
    fn update(&self, cat: Agent<'_>, pastime: &mut Pastime) -> ActionResult {
        let Ok(mut needs) = self.0.claim(cat) else { return ActionResult::Failed };
        let needs = needs.get_mut();
        needs.hunger = (needs.hunger + pastime.hunger * 0.1).clamp(0.0, 100.0);
        needs.tiredness = (needs.tiredness + pastime.tiredness * 0.1).clamp(0.0, 100.0);
        ActionResult::Running
    }
}

fn live(mut actions: Actions<'_, Pastime>, needs: AgentAccess<'_, &'static mut Needs>) {
    actions.process(&Living(needs));
}

fn cats(agents: usize) -> (World, Vec<Entity>) {
    let (mut world, all) = crowd(agents);
    let reasoner = reasoner();
    for &agent in &all {
        UtilityAgent::drive(&mut world, agent, &reasoner, 1).expect("it has a body");
    }
    world.insert_resource(Cats(reasoner));
    (world, all)
}

fn utility(agents: usize) -> Contender {
    run(cats(agents).0, "formic", agents, think)
}

/// Cats that decide and do, and have come out of step: they take turns of some dozen ticks, so that
/// a frame is several ticks.
struct CatLife {
    world: World,
    schedule: Schedule,
    pool: Pool,
}

impl CatLife {
    const TICKS: usize = 20;

    fn new(mut world: World) -> Self {
        let schedule = formic_ai::action::add(Schedule::builder())
            .add(think.as_mind())
            .add(live.as_action())
            .build(&mut world)
            .expect("it has no cycle");
        let pool = Pool::new(Threads::None).expect("no threads are asked for");
        let mut life = Self { world, schedule, pool };
        (0..30).for_each(|_| life.frame());
        life
    }

    fn frame(&mut self) {
        (0..Self::TICKS).for_each(|_| drop(self.schedule.run(&mut self.world, &self.pool)));
    }
}

fn utility_tick(agents: usize) -> Contender {
    let mut life = CatLife::new(cats(agents).0);
    Contender::new("formic", agents * CatLife::TICKS, move || life.frame())
}

/// The same world with its log and without it, in turns: two worlds differ by more than what is
/// measured here, by where they lie in memory.
fn watched(agents: usize, watched: usize) -> Vec<Contender> {
    let (mut world, all) = cats(agents);
    let mut log = DecisionLog::new();
    all.iter().take(watched).for_each(|&agent| log.watch(agent, "Cat", 16));
    world.insert_resource(log);
    let mut life = CatLife::new(world);
    // Until the rings are full.
    (0..60).for_each(|_| life.frame());
    let life = Rc::new(RefCell::new((life, None::<DecisionLog>)));
    let with = Rc::clone(&life);
    let unwatched = move || {
        let (life, log) = &mut *life.borrow_mut();
        if log.is_none() {
            *log = life.world.remove_resource::<DecisionLog>();
        }
        life.frame();
    };
    let watched = move || {
        let (life, log) = &mut *with.borrow_mut();
        if let Some(log) = log.take() {
            life.world.insert_resource(log);
        }
        life.frame();
    };
    let size = agents * CatLife::TICKS;
    vec![
        Contender::new("no agent watched", size, unwatched),
        Contender::new("10k watched", size, watched),
    ]
}

#[derive(Component)]
struct Cat {
    needs: Needs,
    pastime: u32,
}

fn plain(mut cats: Query<'_, &'static mut Cat>) {
    cats.par_for_each(|cat| {
        let needs = &mut cat.needs;
        let eat = (needs.hunger * 0.01).powi(2);
        let sleep = 1.0 - (1.0 - needs.tiredness * 0.01).powi(4);
        let play = 1.0 - (0.4 * eat + 0.6 * sleep);
        cat.pastime = if cat.pastime == 0 && needs.hunger > 0.0 {
            0
        } else if cat.pastime == 1 && needs.tiredness > 0.0 {
            1
        } else if eat > sleep && eat > play {
            0
        } else if sleep > play {
            1
        } else {
            2
        };
        match cat.pastime {
            0 => needs.hunger = (needs.hunger - 0.5).max(0.0),
            1 => needs.tiredness = (needs.tiredness - 0.3).max(0.0),
            _ => {
                needs.hunger = (needs.hunger + 0.2).min(100.0);
                needs.tiredness = (needs.tiredness + 0.4).min(100.0);
            }
        }
    });
}

fn if_else(agents: usize) -> Contender {
    let mut world = World::new();
    world.spawn_batch((0..agents).map(|agent| Cat { needs: needs(agent), pastime: 2 }));
    run(world, "if/else", agents, plain)
}

fn watch(mut trees: Trees<'_, &'static Needs>, guards: Res<'_, Guards>) {
    trees.tick(&guards.0);
}

fn tree(agents: usize) -> Contender {
    let (mut world, all) = crowd(agents);
    let library = Library::new(&actions())
        .condition("hungry", |needs: &&Needs| needs.hunger > 70.0)
        .condition("starving", |needs: &&Needs| needs.hunger > 95.0)
        .condition("tired", |needs: &&Needs| needs.tiredness > 60.0);
    let text = "selector {
        sequence { starving? eat }
        sequence { tired? sleep }
        sequence { hungry? eat }
        play
    }";
    let tree = Tree::parse(text, &library).expect("it makes sense");
    assert_eq!(tree.node_count(), 11);
    for agent in all {
        TreeAgent::drive(&mut world, agent, &tree, 1).expect("it has a body");
    }
    world.insert_resource(Guards(tree));
    run(world, "formic", agents, watch)
}

fn step(mut machines: Machines<'_, &'static Needs>, doors: Res<'_, Doors>) {
    machines.update(&doors.0);
}

fn machine(agents: usize) -> Contender {
    let (mut world, all) = crowd(agents);
    let machine = MachineBuilder::new()
        .state(State::new("playing").action("play"))
        .state(State::new("sleeping").action("sleep"))
        .state(State::new("eating").action("eat"))
        .transition(
            Transition::new("playing", "sleeping").when(|needs: &&Needs| needs.tiredness > 200.0),
        )
        .transition(
            Transition::new("playing", "eating").when(|needs: &&Needs| needs.hunger > 200.0),
        )
        .build(&actions())
        .expect("it makes sense");
    for agent in all {
        FsmAgent::drive(&mut world, agent, &machine).expect("it has a body");
    }
    world.insert_resource(Doors(machine));
    run(world, "formic", agents, step)
}

/// The same tree; an instance for each agent, which is how that library works.
#[cfg(feature = "bonsai")]
fn bonsai(agents: usize) -> Contender {
    use bonsai_bt::{Action, BT, Behavior, Event, Status, UpdateArgs};

    #[derive(Clone, Copy, Debug)]
    enum Leaf {
        Starving,
        Tired,
        Hungry,
        Deed,
    }
    let both =
        |condition| Behavior::Sequence(vec![Action(condition), Action(Leaf::Deed)]).memory(false);
    let tree = Behavior::Select(vec![
        both(Leaf::Starving),
        both(Leaf::Tired),
        both(Leaf::Hungry),
        Action(Leaf::Deed),
    ])
    .memory(false);
    let mut all: Vec<BT<Leaf, Needs>> =
        (0..agents).map(|agent| BT::new(tree.clone(), needs(agent))).collect();
    let event: Event = UpdateArgs { dt: 0.1 }.into();
    Contender::new("bonsai-bt", agents, move || {
        for agent in &mut all {
            let result = agent.tick(&event, &mut |arguments, needs| {
                let holds = match *arguments.action {
                    Leaf::Starving => needs.hunger > 95.0,
                    Leaf::Tired => needs.tiredness > 60.0,
                    Leaf::Hungry => needs.hunger > 70.0,
                    Leaf::Deed => return (Status::Running, 0.0),
                };
                (if holds { Status::Success } else { Status::Failure }, 0.0)
            });
            std::hint::black_box(result);
        }
    })
}
