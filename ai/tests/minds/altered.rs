//! Minds from saves that were tampered with: whatever is read, no later tick panics or goes on for ever.

use bytemuck::{Pod, Zeroable};
use formic_ai::action;
use formic_ai::bt::{Library, NodeMemory, Tree, TreeAgent, Trees};
use formic_ai::explain::DecisionLog;
use formic_ai::fsm::{
    FsmAgent, History, Machine, MachineBuilder, Machines, State, StateMemory, Transition,
};
use formic_ai::prelude::*;
use formic_ai::utility::{Cooldown, Curve, Input, Reasoner, Utility, UtilityAgent, UtilityAgents};
use formic_ecs::Snapshot;

/// An action that takes some ticks.
#[derive(Component, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Deed {
    ticks: u32,
    left: u32,
}

fn act(mut actions: Actions<Deed>) {
    actions.carry_out(
        |_, deed| {
            deed.left = deed.ticks;
            ActionResult::Running
        },
        |_, deed| {
            deed.left = deed.left.saturating_sub(1);
            match deed.left {
                0 if deed.ticks == 2 => ActionResult::Failed,
                0 => ActionResult::Success,
                _ => ActionResult::Running,
            }
        },
        |_, _, _| (),
    );
}

#[derive(Component, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Age(u32);

fn age(mut all: Query<&mut Age>) {
    all.for_each(|age| age.0 += 1);
}

type Seen = &'static Age;

fn actions() -> ActionSet {
    let parts = ActionSet::new().action("x", Deed { ticks: 1, left: 0 });
    let parts = parts.action("y", Deed { ticks: 3, left: 0 });
    let deeds = (0..8_u32).fold(ActionSet::new(), |set, deed| {
        set.action(format!("a{deed}"), Deed { ticks: 1 + deed % 4, left: 0 })
    });
    deeds.composite("both", Composite::sequence(), parts)
}

fn tree() -> Tree<Seen> {
    let text = "sequence_memory {
        if_else_memory { odd? a0 a4 }
        force_success parallel(all, one) { random { a1 a2 } sequence_async { a3 both } }
        parallel_all(1) { repeat(2) a4 timeout(3) a7 cooldown(2) a0 }
        stay_until(odd?) repeat_while(odd?) retry(2) selector_memory { once a5 weighted { 2: a6 1: wait(2) } }
    }";
    let library = Library::new(&actions()).condition("odd", |age: &&Age| age.0 % 2 == 1);
    Tree::parse(text, &library).unwrap()
}

fn machine() -> Machine<Seen> {
    let go = Transition::<Seen>::new;
    MachineBuilder::new()
        .state(State::new("calm").history(History::Deep))
        .state(State::new("walking").inside("calm").action("a0"))
        .state(State::new("looking").inside("calm"))
        .state(State::new("left").inside("looking").action("a1"))
        .state(State::new("right").inside("looking").action("a2"))
        .state(State::new("fighting").action("both"))
        .state(State::new("greeting").action("a3"))
        .transition(go("walking", "right").after(2))
        .transition(go("looking", "fighting").when(|age| age.0 % 5 == 1))
        .transition(go("fighting", "calm").after(1))
        .transition(Transition::<Seen>::interrupt_any("greeting").when(|age| age.0 % 4 == 1))
        .transition(Transition::<Seen>::back("greeting").after(1))
        .build(&actions())
        .unwrap()
}

fn reasoner(cooldown: u32) -> Reasoner {
    let [full, empty] = Input::named(["full", "empty"]);
    let of = |input| Utility::of(input, Curve::linear(1.0, 0.1));
    let eat = of(empty).inertia(0.1).cooldown(cooldown);
    Reasoner::new().option("a2", eat).option("both", of(full)).bind(&actions()).unwrap()
}

struct Stage {
    world: World,
    schedule: Schedule,
    pool: Pool,
    saved: Snapshot,
}

impl Stage {
    /// A game of one agent with this mind, after some ticks.
    fn new(drive: impl FnOnce(&mut World, Entity), ticks: usize) -> (Self, Entity) {
        let mut world = World::new();
        let agent = actions().spawn(&mut world, Age(0)).unwrap();
        drive(&mut world, agent);
        let mut log = DecisionLog::new();
        log.watch(agent, "agent", 4);
        world.insert_resource(log);
        let (tree, machine) = (tree(), machine());
        let reasoner = reasoner(u32::from(world.has::<Buffer<Cooldown>>(agent)));
        let mut schedule = action::add(Schedule::builder())
            .add((move |mut trees: Trees<Seen>| trees.tick(&tree)).as_mind())
            .add((move |mut machines: Machines<Seen>| machines.update(&machine)).as_mind())
            .add(
                (move |mut minds: UtilityAgents<Seen>| {
                    minds.decide(&reasoner, |age| {
                        [(age.0 % 9) as f32 / 9.0, (age.0 % 5) as f32 / 5.0]
                    });
                })
                .as_mind(),
            )
            .add(act.as_action())
            .add(age)
            .build(&mut world)
            .unwrap();
        let pool = Pool::new(Threads::None).unwrap();
        (0..ticks).for_each(|_| drop(schedule.run(&mut world, &pool)));
        let saved = world.snapshot().unwrap();
        (Self { world, schedule, pool, saved }, agent)
    }

    /// Alters a component in all sorts of ways, and goes on after each.
    fn alter<C: Component>(&mut self, of: Entity, is_kept: impl Fn(usize) -> bool) {
        self.world.restore(&self.saved).unwrap();
        let mut good = Vec::new();
        C::CODEC.write(self.world.get::<C>(of).unwrap(), &mut good).unwrap();
        let places = (0..good.len()).filter(|&place| !is_kept(place));
        let altered = places.flat_map(|place| {
            let flips = (0..8).map(move |bit| (place, 1, 1_u8 << bit));
            flips.chain([(place, 2, u8::MAX), (place, 4, u8::MAX)])
        });
        let mut read_count = 0;
        for (place, count, change) in altered {
            let mut bytes = good.clone();
            bytes.iter_mut().enumerate().skip(place).take(count).for_each(|(at, byte)| {
                if !is_kept(at) {
                    *byte ^= change;
                }
            });
            let Ok(value) = C::CODEC.read(&mut bytes.as_slice()) else { continue };
            read_count += 1;
            self.world.restore(&self.saved).unwrap();
            *self.world.get_mut::<C>(of).unwrap() = value;
            for _ in 0..4 {
                assert!(self.schedule.run(&mut self.world, &self.pool).failures.is_empty());
            }
        }
        assert!(read_count > 0, "{} is read at times", C::name());
    }

    /// The same for the body and the actions of an agent.
    fn alter_actions(&mut self, agent: Entity) {
        // Minds panic if there are fewer actions than they drive: the number stays.
        let is_number = |place: usize| (40..44).contains(&place);
        self.alter::<Body>(agent, is_number);
        let actions = self.world.get::<Buffer<OwnedAction>>(agent).unwrap().to_vec();
        for action in [actions[0], actions[8]] {
            self.alter::<Action>(action.entity(), |_| false);
        }
        self.alter::<Composite>(actions[8].entity(), |_| false);
        self.alter::<Body>(actions[8].entity(), |_| false);
    }
}

const TICKS: [usize; 3] = [1, 4, 9];

#[test]
fn no_bytes_of_a_tree_agent_make_a_later_tick_panic() {
    for ticks in TICKS {
        let drive = |world: &mut World, agent| TreeAgent::drive(world, agent, &tree(), 1).unwrap();
        let (mut stage, agent) = Stage::new(drive, ticks);
        stage.alter::<TreeAgent>(agent, |_| false);
        stage.alter::<Buffer<NodeMemory>>(agent, |_| false);
        stage.alter_actions(agent);
    }
}

#[test]
fn no_bytes_of_an_agent_with_a_machine_make_a_later_tick_panic_or_last_for_ever() {
    for ticks in TICKS {
        let drive = |world: &mut World, agent| FsmAgent::drive(world, agent, &machine()).unwrap();
        let (mut stage, agent) = Stage::new(drive, ticks);
        stage.alter::<FsmAgent>(agent, |_| false);
        stage.alter::<Buffer<StateMemory>>(agent, |_| false);
    }
}

#[test]
fn no_bytes_of_a_utility_agent_make_a_later_tick_panic() {
    for (ticks, cooldown) in TICKS.into_iter().flat_map(|ticks| [(ticks, 0), (ticks, 1)]) {
        let drive = |world: &mut World, agent| {
            UtilityAgent::drive(world, agent, &reasoner(cooldown), 1).unwrap();
        };
        let (mut stage, agent) = Stage::new(drive, ticks);
        stage.alter::<UtilityAgent>(agent, |_| false);
        if cooldown > 0 {
            stage.alter::<Buffer<Cooldown>>(agent, |_| false);
        }
    }
}

#[test]
fn no_bytes_of_a_sequence_make_a_later_tick_panic() {
    let patient = OnFailure::BackOff { ticks: 1, ticks_max: 2 };
    for (ticks, on_failure) in
        [(1, patient), (4, patient), (6, OnFailure::Retry), (40, OnFailure::Advance)]
    {
        let drive =
            |world: &mut World, agent| SequenceAgent::drive(world, agent, on_failure).unwrap();
        let (mut stage, agent) = Stage::new(drive, ticks);
        stage.alter::<SequenceAgent>(agent, |_| false);
        stage.alter_actions(agent);
    }
}
