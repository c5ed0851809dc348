//! Decision records of planners.

use formic_ai::explain::{Candidate, DecisionLog, Engine, Stopped, Verdict};
use formic_ai::goap::{
    Facts, Goal, GoapAgent, Operator, PlannerBuilder, Planners, Replan, Sensors,
};
use formic_ai::prelude::*;

use super::stage::{Senses, Stage, actions};

struct Shared(Sensors<&'static Senses>, usize);

fn think(mut planners: Planners<&'static Senses>, shared: Res<Shared>) {
    planners.think(&shared.0, shared.1);
}

/// Eating takes one that is rested; resting is by sleep.
fn stage(states: usize) -> Stage {
    let mut facts = Facts::new();
    let (rested, fed, glad) = (facts.flag("rested"), facts.flag("fed"), facts.flag("glad"));
    let never = facts.flag("never");
    let planner = PlannerBuilder::new(facts)
        .operator(Operator::new("sleep").then(rested.becomes(true)).cost(2))
        .operator(Operator::new("eat").when(rested.is(true)).then(fed.becomes(true)))
        .operator(Operator::new("play").when(never.is(true)).then(glad.becomes(true)))
        .goal(Goal::new("be fed").when(fed.is(true)))
        .goal(Goal::new("be glad").when(glad.is(true)).priority(1))
        .pattern_states_max(1);
    let sensors = Sensors::new(planner.build().unwrap(), &actions())
        .unwrap()
        .fact(rested, |senses: &&Senses| u32::from(senses.inputs[1] > 0.5))
        .fact(fed, |senses: &&Senses| u32::from(senses.inputs[0] > 0.5))
        .rest(3);
    let drive = |world: &mut World, agent| {
        GoapAgent::drive(world, agent).unwrap();
        world.insert_resource(Shared(sensors, states));
    };
    Stage::new(drive, |minds| minds.add(think.as_mind()))
}

#[test]
fn a_plan_is_told_with_its_steps_and_what_finding_it_took() {
    let mut stage = stage(1000);
    stage.ticks(2);
    let decisions = stage.decisions();
    assert_eq!(decisions.len(), 1);
    let plan = decisions[0].plan.clone().unwrap();
    assert_eq!((plan.steps.len(), plan.cost), (2, 3));
    assert!(plan.searched > 0);
    assert_eq!(
        decisions[0].sentence("Cat"),
        format!(
            "Tick 0: Cat pursues be fed, because it was told to think; the plan is sleep, eat at a \
             cost of 3, found after {} states; be glad cannot be reached.",
            plan.searched
        )
    );
    stage.sense([0.0, 1.0, 0.0]);
    stage.end(ActionResult::Success);
    stage.ticks(2);
    assert_eq!(stage.sentences(), ["Tick 3: Cat pursues be fed with eat, step 2; sleep is done."]);
    stage.sense([1.0, 1.0, 0.0]);
    stage.end(ActionResult::Success);
    stage.ticks(9);
    assert_eq!(
        stage.sentences(),
        [
            "Tick 5: Cat does nothing, because the plan is carried out; be glad cannot be reached; be \
          fed holds already; eat is done."
        ]
    );
}

#[test]
fn it_is_told_why_a_plan_was_dropped() {
    let mut stage = stage(1000);
    stage.sense([0.0, 1.0, 0.0]);
    stage.ticks(1);
    assert_eq!(stage.decisions().len(), 1);
    stage.end(ActionResult::Failed);
    stage.ticks(2);
    let sentences = stage.sentences();
    assert!(sentences[0].contains("because eat has failed"), "{sentences:?}");
    assert!(sentences[0].ends_with("; eat has failed."), "{sentences:?}");
    // It is not rested any more: the plan begins with sleep.
    stage.sense([0.0; 3]);
    stage.world.set_enabled::<Replan>(stage.agent, true).unwrap();
    stage.ticks(1);
    let sentences = stage.sentences();
    assert!(
        sentences[0].ends_with("eat stopped: a new plan, because it was told to think."),
        "{sentences:?}"
    );
    assert!(sentences[0].contains("be glad cannot be reached"), "all goals anew: {sentences:?}");
    // The next step cannot be taken, since what was done did not help.
    stage.end(ActionResult::Success);
    stage.ticks(2);
    let sentences = stage.sentences();
    assert!(
        sentences[0].contains("because eat cannot begin: its conditions do not hold"),
        "{sentences:?}"
    );
}

#[test]
fn a_search_that_goes_on_is_told_once() {
    let mut stage = stage(1);
    stage.ticks(1);
    let decisions = stage.decisions();
    assert_eq!(decisions[0].candidates.last().unwrap().verdict, Verdict::Unfinished);
    stage.ticks(60);
    let decisions = stage.decisions();
    assert!(decisions.len() <= 3, "{decisions:?}");
    assert!(decisions.last().unwrap().plan.is_some());
}

#[test]
fn what_has_ended_meanwhile_is_told_though_there_is_still_nothing_to_do() {
    let mut stage = stage(1000);
    stage.sense([1.0, 1.0, 0.0]);
    stage.ticks(9);
    let log = stage.world.resource::<DecisionLog>().unwrap();
    log.note_end(stage.agent, || Stopped::new("dig", Ended::Failed));
    stage.ticks(9);
    let sentences = stage.sentences();
    assert_eq!(sentences.len(), 2, "{sentences:?}");
    assert!(sentences[1].contains("does nothing") && sentences[1].ends_with("; dig has failed."));
}

#[test]
fn that_there_is_nothing_to_do_is_not_told_again_after_a_way_was() {
    let mut stage = stage(1000);
    stage.sense([1.0, 1.0, 0.0]);
    stage.ticks(1);
    let log = stage.world.resource::<DecisionLog>().unwrap();
    let way = || Candidate::new("a path to (4, 7): found", Verdict::Chosen);
    log.note_change((stage.agent, 1), Engine::Paths, &true, way);
    stage.ticks(9);
    let sentences = stage.sentences();
    assert_eq!(sentences.len(), 2, "{sentences:?}");
    assert!(sentences[0].contains("does nothing"), "{sentences:?}");
    assert_eq!(sentences[1], "Tick 1: Cat asked for a path to (4, 7): found.");
}
