//! Decision records of sequences and composites.

use formic_ai::explain::DecisionLog;
use formic_ai::prelude::*;

use super::stage::{Deed, Stage, actions};

fn stage(on_failure: OnFailure) -> Stage {
    let drive = |world: &mut World, agent| SequenceAgent::drive(world, agent, on_failure).unwrap();
    Stage::new(drive, |minds| minds)
}

#[test]
fn each_step_is_told_with_how_the_one_before_ended() {
    let mut stage = stage(OnFailure::Retry);
    stage.ticks(2);
    assert_eq!(stage.sentences(), [""; 0]);
    stage.end(ActionResult::Success);
    stage.ticks(1);
    assert_eq!(stage.sentences(), ["Tick 2: Cat goes on with sleep; eat is done."]);
    stage.ticks(1);
    stage.end(ActionResult::Failed);
    stage.ticks(1);
    assert_eq!(stage.sentences(), ["Tick 4: Cat goes on with sleep; sleep has failed."]);
}

#[test]
fn a_rest_is_told_from_its_beginning_to_its_end() {
    let mut stage = stage(OnFailure::BackOff { ticks: 2, ticks_max: 8 });
    stage.ticks(1);
    stage.end(ActionResult::Failed);
    stage.ticks(6);
    assert_eq!(
        stage.sentences(),
        [
            "Tick 1: Cat does nothing; eat waits for the end of 3 ticks; eat has failed.",
            "Tick 4: Cat goes on with eat, because its rest is over.",
        ]
    );
}

#[test]
fn a_sequence_that_stopped_says_so() {
    let mut stage = stage(OnFailure::Stop);
    stage.ticks(1);
    stage.end(ActionResult::Failed);
    stage.ticks(3);
    assert_eq!(
        stage.sentences(),
        ["Tick 1: Cat does nothing; eat waits for being started again; eat has failed."]
    );
}

#[test]
fn composites_tell_of_their_parts() {
    let actions =
        ActionSet::new().composite("dine", Composite::sequence(), actions()).action("rest", Deed);
    let drive = |world: &mut World, agent| {
        SequenceAgent::drive(world, agent, OnFailure::Retry).unwrap();
    };
    let mut stage = Stage::of(&actions, drive, |minds| minds);
    stage.ticks(1);
    stage.end(ActionResult::Success);
    stage.ticks(2);
    stage.end(ActionResult::Failed);
    stage.ticks(3);
    assert_eq!(
        stage.sentences(),
        [
            "Tick 0: Cat goes on with eat, because the sequence begins.",
            "Tick 2: Cat goes on with sleep; eat is done.",
            "Tick 4: Cat does nothing, because the sequence has failed; sleep has failed.",
            "Tick 4: Cat goes on with dine; dine has failed.",
            "Tick 5: Cat goes on with eat, because the sequence begins.",
        ]
    );
    let log = stage.world.resource::<DecisionLog>().unwrap();
    assert!(log.decisions(stage.agent).is_empty(), "they were taken");
}

#[test]
fn in_a_race_the_losers_are_interrupted() {
    let actions = ActionSet::new().composite("stroll", Composite::race(), actions());
    let drive = |world: &mut World, agent| {
        SequenceAgent::drive(world, agent, OnFailure::Stop).unwrap();
    };
    let mut stage = Stage::of(&actions, drive, |minds| minds);
    stage.end(ActionResult::Success);
    stage.ticks(2);
    let decisions = stage.decisions();
    assert_eq!(decisions[0].candidates.len(), 3);
    assert_ne!(decisions[0].by, decisions[0].agent, "the composite has decided");
    let words = decisions[1].sentence("Cat");
    assert!(words.starts_with("Tick 1: Cat does nothing, because the race is done"), "{words}");
    assert_eq!(words.matches("stopped: interrupted").count(), 2, "{words}");
    assert_eq!(words.matches(" is done").count(), 2, "{words}");
}
