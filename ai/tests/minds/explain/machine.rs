//! Decision records of state machines.

use formic_ai::fsm::{FsmAgent, History, Machine, MachineBuilder, Machines, State, Transition};
use formic_ai::prelude::*;

use super::stage::{Senses, Stage, actions};

struct Guards(Machine<&'static Senses>);

fn think(mut machines: Machines<&'static Senses>, guards: Res<Guards>) {
    machines.update(&guards.0);
}

fn stage(machine: MachineBuilder<&'static Senses>) -> Stage {
    let machine = machine.build(&actions()).unwrap();
    let drive = |world: &mut World, agent| {
        FsmAgent::drive(world, agent, &machine).unwrap();
        world.insert_resource(Guards(machine));
    };
    Stage::new(drive, |minds| minds.add(think.as_mind()))
}

fn hungry(senses: &&Senses) -> bool {
    senses.inputs[0] > 0.5
}

#[test]
fn a_transition_is_told_with_those_that_were_refused_before_it() {
    let mut stage = stage(
        MachineBuilder::new()
            .state(State::new("calm").history(History::Shallow))
            .state(State::new("playing").inside("calm").action("play"))
            .state(State::new("eating").action("eat"))
            .state(State::new("sleeping").action("sleep"))
            .event(3, "the night")
            .transition(Transition::new("calm", "sleeping").on(3))
            .transition(Transition::new("calm", "eating").when(hungry).called("it is hungry"))
            .transition(
                Transition::new("calm", "sleeping").when(|senses: &&Senses| senses.inputs[1] > 0.5),
            )
            .transition(Transition::new("sleeping", "calm").when_failed())
            .transition(Transition::new("sleeping", "calm").when_done())
            .transition(Transition::interrupt("sleeping", "eating").on(1).when(hungry))
            .transition(Transition::back("eating").after(2)),
    );
    stage.ticks(3);
    assert_eq!(stage.sentences(), ["Tick 0: Cat went to playing in calm, because it begins."]);
    stage.sense([0.0, 1.0, 0.0]);
    stage.ticks(1);
    assert_eq!(
        stage.sentences(),
        [
            "Tick 3: Cat went to sleeping, because its condition holds; sleeping waits for the night; \
          eating: \"it is hungry\" said no; playing stopped: interrupted by sleeping."
        ]
    );
    stage.sense([1.0, 0.0, 0.0]);
    let agent = stage.agent;
    stage.world.get_mut::<FsmAgent>(agent).unwrap().send(1);
    stage.ticks(1);
    assert_eq!(
        stage.sentences(),
        [
            "Tick 4: Cat went to eating, because event 1 came and its condition holds; calm waits for \
          sleeping to fail; calm waits for sleeping to be done; sleeping stopped: interrupted by \
          eating."
        ]
    );
    stage.sense([0.0; 3]);
    stage.ticks(2);
    assert_eq!(
        stage.sentences(),
        [
            "Tick 6: Cat went to sleeping, because 2 updates have passed; eating stopped: interrupted \
          by sleeping."
        ]
    );
    stage.end(ActionResult::Success);
    stage.ticks(2);
    assert_eq!(
        stage.sentences(),
        [
            "Tick 8: Cat went to playing in calm, because sleeping is done; calm waits for sleeping to \
          fail; sleeping is done."
        ]
    );
}

#[test]
fn a_guard_is_asked_as_often_as_without_a_watcher() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    let asked = Arc::new(AtomicUsize::new(0));
    let (first, second) = (Arc::clone(&asked), Arc::clone(&asked));
    let mut stage = stage(
        MachineBuilder::new()
            .state(State::new("playing").action("play"))
            .state(State::new("eating").action("eat"))
            .transition(Transition::new("playing", "eating").when(move |_: &&Senses| {
                first.fetch_add(1, Ordering::Relaxed);
                false
            }))
            .transition(Transition::new("playing", "eating").when(move |_: &&Senses| {
                second.fetch_add(100, Ordering::Relaxed);
                true
            })),
    );
    stage.ticks(2);
    assert_eq!(stage.sentences().len(), 2);
    assert_eq!(asked.load(Ordering::Relaxed), 101);
}

#[test]
fn an_interruption_that_is_refused_is_told_once_until_the_state_changes() {
    let mut stage = stage(
        MachineBuilder::new()
            .state(State::new("playing").action("play"))
            .state(State::new("eating").action("eat"))
            .transition(Transition::interrupt("playing", "eating").when(hungry))
            .transition(Transition::interrupt("eating", "playing").when(hungry))
            .transition(Transition::back("playing").on(1)),
    );
    stage.ticks(1);
    stage.sense([1.0, 0.0, 0.0]);
    stage.ticks(16);
    assert_eq!(stage.sentences().len(), 17);
    stage.ticks(3);
    let said = "Cat stayed where it was; an interruption of playing: the limit of 16 said no.";
    assert_eq!(stage.sentences(), [format!("Tick 17: {said}")]);
    stage.sense([0.0; 3]);
    let agent = stage.agent;
    stage.world.get_mut::<FsmAgent>(agent).unwrap().send(1);
    stage.ticks(1);
    stage.sense([1.0, 0.0, 0.0]);
    stage.ticks(3);
    let told = stage.sentences();
    assert_eq!(told.len(), 3, "{told:?}");
    assert_eq!(told[2], format!("Tick 22: {said}"));
}

#[test]
fn an_agent_that_is_watched_later_tells_what_keeps_it_where_it_is() {
    let mut stage = stage(
        MachineBuilder::new()
            .state(State::new("playing").action("play"))
            .state(State::new("eating").action("eat"))
            .transition(Transition::new("playing", "eating").when(hungry).called("it is hungry"))
            .transition(Transition::new("playing", "eating").after(9)),
    );
    stage.ticks(3);
    stage.watch_anew();
    stage.ticks(2);
    let text = "Tick 3: Cat stayed where it was; playing goes on; eating: \"it is hungry\" said no; eating \
                waits for the end of 9 updates.";
    assert_eq!(stage.sentences(), [text]);
}
