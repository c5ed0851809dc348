//! A state machine: three states inside one called safe, and one for the wolf.

use formic_ai::fsm::{FsmAgent, History, Machine, MachineBuilder, Machines, State, Transition};
use formic_ai::prelude::*;
use formic_jobs::SaveRules;

use super::actions;
use super::crowd::{self, Mind};
use super::forager::{Senses, has_berries, is_hungry, is_tired, is_wolf_near};

pub(super) const MIND: Mind = Mind {
    name: "machine",
    keys: crowd::keys!("machine"),
    drive: |world, crowd| {
        let actions = actions::set();
        let machine = machine(&actions);
        crowd::drive(world, crowd, &actions, |world, it, _| FsmAgent::drive(world, it, &machine));
        world.insert_resource(machine);
        SaveRules::of(world).rebuild::<Machine<Senses>>();
    },
    thinks: Some("::think"),
    systems: |schedule| crowd::with_mind(schedule, think),
};

fn machine(actions: &ActionSet) -> Machine<Senses> {
    let go = Transition::<Senses>::new;
    MachineBuilder::new()
        .state(State::new("safe").history(History::Shallow))
        .state(State::new("gathering").inside("safe").action("gather"))
        .state(State::new("eating").inside("safe").action("eat"))
        .state(State::new("sleeping").inside("safe").action("sleep"))
        .state(State::new("hiding").action("hide"))
        .transition(go("safe", "hiding").when(is_wolf_near).called("the wolf is near").priority(2))
        .transition(go("hiding", "safe").when_done())
        .transition(
            go("gathering", "eating")
                .when(|it| is_hungry(it) && has_berries(it))
                .called("it is hungry and has berries")
                .priority(1),
        )
        .transition(go("gathering", "sleeping").when(is_tired).called("it is tired"))
        .transition(go("gathering", "gathering").when_done())
        .transition(go("gathering", "gathering").when_failed())
        .transition(go("eating", "gathering").when_done())
        .transition(go("eating", "gathering").when_failed())
        .transition(go("sleeping", "gathering").when_done())
        .build(actions)
        .expect("every state and action that is named is there")
}

fn think(mut machines: Machines<Senses>, machine: Res<Machine<Senses>>) {
    machines.update(&machine);
}
