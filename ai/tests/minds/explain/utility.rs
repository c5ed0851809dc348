//! Decisions by utility, in words.

use formic_ai::explain::Verdict;
use formic_ai::prelude::*;
use formic_ai::utility::{Curve, Input, Reasoner, Select, Utility, UtilityAgent, UtilityAgents};

use super::stage::{Deed, Senses, Stage, actions};

const INPUTS: [Input; 3] = Input::named(["hunger", "tiredness", "boredom"]);

struct Cats(Reasoner);

fn think(mut minds: UtilityAgents<&'static Senses>, cats: Res<Cats>) {
    minds.decide(&cats.0, |senses| senses.inputs);
}

fn stage(reasoner: Reasoner) -> Stage {
    let reasoner = reasoner.bind(&actions()).unwrap();
    let drive = |world: &mut World, agent| {
        UtilityAgent::drive(world, agent, &reasoner, 1).unwrap();
        world.insert_resource(Cats(reasoner));
    };
    Stage::new(drive, |minds| minds.add(think.as_mind()))
}

fn plain(input: usize) -> Utility {
    Utility::of(INPUTS[input], Curve::linear(1.0, 0.0))
}

fn cats() -> Reasoner {
    Reasoner::new()
        .option("eat", Utility::of(INPUTS[0], Curve::exponential(2.0)))
        .option("sleep", plain(1).inertia(0.25))
        .option("play", Utility::sum().weighted(0.5, INPUTS[1], Curve::linear(1.0, 0.0).inverted()))
}

#[test]
fn a_choice_is_told_when_it_changes_with_what_it_was_made_of() {
    let mut stage = stage(cats());
    stage.sense([0.9, 0.44, 0.0]);
    stage.ticks(3);
    assert_eq!(
        stage.sentences(),
        ["Tick 0: Cat chose eat 0.81 over play 0.56: hunger 0.90 -> exponential 2 -> 0.81."]
    );
    stage.sense([0.5, 0.6, 0.0]);
    stage.ticks(2);
    assert_eq!(
        stage.sentences(),
        ["Tick 3: Cat chose sleep 0.60 over play 0.40: tiredness 0.60 -> linear 1 -> 0.60; eat \
          stopped: interrupted by sleep."]
    );
    // By inertia it stays until the other one is better by more than that.
    stage.sense([0.9, 0.6, 0.0]);
    stage.ticks(1);
    assert_eq!(stage.decisions(), []);
    stage.sense([0.95, 0.6, 0.0]);
    stage.ticks(1);
    let decisions = stage.decisions();
    let sleep = &decisions[0].candidates[1];
    assert_eq!((sleep.score, sleep.bonus), (Some(0.85), 0.25));
    assert_eq!(&*decisions[0].chosen().unwrap().name, "eat");
    assert!((decisions[0].margin().unwrap() - (0.95 * 0.95 - 0.85)).abs() < 1e-6);
}

#[test]
fn how_the_last_option_ended_is_told_with_the_next() {
    let mut stage = stage(cats());
    stage.sense([0.9, 0.6, 0.0]);
    stage.end(ActionResult::Failed);
    stage.ticks(2);
    let sentences = stage.sentences();
    assert_eq!(sentences.len(), 2);
    assert!(sentences[1].ends_with("eat has failed."), "{sentences:?}");
    assert!(
        sentences[1].starts_with("Tick 1: Cat chose eat 0.81 over sleep 0.60"),
        "{sentences:?}"
    );
}

#[test]
fn an_agent_that_has_nothing_left_to_do_says_so() {
    let reasoner = Reasoner::new().option("eat", plain(0));
    let mut stage = stage(reasoner);
    stage.sense([1.0; 3]);
    stage.end(ActionResult::Success);
    stage.ticks(1);
    stage.sense([0.0; 3]);
    stage.ticks(3);
    let sentences = stage.sentences();
    assert_eq!(sentences[1..], ["Tick 1: Cat does nothing; eat is done."]);
}

#[test]
fn ranks_and_cooldowns_are_told() {
    let reasoner = Reasoner::new()
        .option("eat", plain(0).cooldown(5))
        .option("sleep", plain(1).rank(1))
        .option("play", plain(2));
    let mut stage = stage(reasoner);
    stage.sense([1.0, 0.0, 0.5]);
    stage.end(ActionResult::Success);
    stage.ticks(2);
    let decisions = stage.decisions();
    let verdicts: Vec<_> = decisions[1].candidates.iter().map(|it| it.verdict.clone()).collect();
    assert_eq!(verdicts, [Verdict::Cooling { decisions: 5 }, Verdict::Worthless, Verdict::Chosen]);
    let mut decision = decisions[1].clone();
    for (left, expected) in [(1, "for 1 more decision"), (2, "for 2 more decisions")] {
        decision.candidates[0].verdict = Verdict::Cooling { decisions: left };
        let sentence = decision.sentence("Cat");
        assert!(sentence.contains(&format!("; eat is cooling down {expected};")), "{sentence}");
    }
    stage.sense([1.0, 0.1, 0.5]);
    stage.ticks(1);
    let decision = stage.decisions().remove(0);
    assert_eq!(decision.candidates[2].verdict, Verdict::Outranked);
    assert_eq!((decision.chosen().unwrap().rank, decision.margin()), (1, None));
}

#[test]
fn decisions_keep_the_words_of_the_reasoner_that_made_them() {
    let light = |input| Utility::sum().weighted(0.5, INPUTS[input], Curve::linear(1.0, 0.0));
    let mut stage = stage(Reasoner::new().option("eat", light(0)).option("sleep", plain(1)));
    stage.sense([1.0, 0.5, 0.0]);
    stage.ticks(1);
    let other = Reasoner::new().option("play", plain(2)).option("eat", plain(0));
    stage.world.insert_resource(Cats(other.bind(&actions()).unwrap()));
    stage.sense([0.0, 0.5, 0.25]);
    stage.ticks(1);
    stage.sense([0.5, 0.5, 0.25]);
    stage.ticks(1);
    let said = stage.sentences();
    assert_eq!(
        said[0],
        "Tick 0: Cat chose eat 1.00 over sleep 0.50: hunger 1.00 -> linear 1 -> 1.00 at a weight of \
         0.5."
    );
    assert!(said.last().unwrap().contains("Cat chose eat 0.50 over play 0.25"), "{said:?}");
}

#[test]
fn an_option_is_outranked_only_by_one_of_a_higher_rank() {
    let reasoner = Reasoner::new()
        .option("eat", plain(0).rank(1))
        .option("sleep", plain(1))
        .option("play", plain(2).rank(1));
    let mut stage = stage(reasoner);
    stage.sense([0.5, 0.9, 0.7]);
    stage.ticks(1);
    let decision = stage.decisions().remove(0);
    let verdicts: Vec<_> = decision.candidates.iter().map(|it| it.verdict.clone()).collect();
    assert_eq!(verdicts, [Verdict::Beaten, Verdict::Outranked, Verdict::Chosen]);
}

#[test]
fn the_record_says_what_was_chosen_however_it_is_selected() {
    for select in [Select::Highest, Select::FirstAbove(0.2), Select::WeightedRandom] {
        let curve = Curve::logistic(10.0, 0.5);
        let dear = |input| Utility::of(INPUTS[input], curve.clone());
        let options =
            Reasoner::new().option("eat", dear(0)).option("sleep", dear(1)).select(select);
        let mut stage = stage(options);
        let mut random = RandomStream::new(3);
        for _ in 0..200 {
            stage.sense([random.next_f32(), random.next_f32(), 0.0]);
            if random.below(4) == 0 {
                stage.end(ActionResult::Success);
            }
            let before = stage.world.get::<UtilityAgent>(stage.agent).unwrap().current();
            stage.ticks(1);
            let now = stage.world.get::<UtilityAgent>(stage.agent).unwrap().current();
            let decisions = stage.decisions();
            assert!(before == now || decisions.len() == 1, "{select:?}");
            for decision in decisions {
                let chosen = decision.chosen().map(|chosen| chosen.name.to_string());
                assert_eq!(chosen.as_deref(), now.map(|now| ["eat", "sleep"][now]), "{select:?}");
            }
        }
    }
}

#[test]
fn a_decision_is_told_by_the_reasoner_that_made_it_whichever_came_after() {
    let more = ["purr", "hide", "hunt", "wash"];
    let body = more.into_iter().fold(actions(), |actions, name| actions.action(name, Deed));
    let first = cats().bind(&body).unwrap();
    let drive = |world: &mut World, agent| {
        UtilityAgent::drive(world, agent, &first, 1).unwrap();
        world.insert_resource(Cats(first));
    };
    let mut stage = Stage::of(&body, drive, |minds| minds.add(think.as_mind()));
    stage.sense([0.9, 0.44, 0.0]);
    stage.ticks(1);
    // More options with cooldowns than there is room for in a short record.
    let many = ["play", "sleep", "eat"].into_iter().chain(more).enumerate();
    let many = many.fold(Reasoner::new(), |reasoner, (place, name)| {
        reasoner.option(name, plain(place % 3).cooldown(9))
    });
    let many = many.bind(&body).unwrap();
    UtilityAgent::drive(&mut stage.world, stage.agent, &many, 1).unwrap();
    stage.world.insert_resource(Cats(many));
    stage.sense([0.0, 0.7, 0.6]);
    stage.ticks(1);
    stage.world.insert_resource(Cats(cats().bind(&actions()).unwrap()));
    stage.sense([0.95, 0.5, 0.0]);
    stage.ticks(1);
    let decisions = stage.decisions();
    let told = decisions.iter().map(|it| (it.tick, it.candidates.len(), it.factors.len()));
    assert_eq!(told.collect::<Vec<_>>(), [(0, 3, 3), (1, 7, 7), (2, 3, 3)]);
    let chosen = decisions.iter().map(|it| it.chosen().unwrap());
    let chosen: Vec<_> = chosen.map(|it| (&*it.name, it.score.unwrap())).collect();
    assert_eq!(chosen, [("eat", 0.9 * 0.9), ("sleep", 0.7), ("eat", 0.95 * 0.95)]);
}

#[test]
fn an_agent_that_is_watched_later_tells_its_next_decision_though_it_is_to_go_on() {
    // Where there are cooldowns each decides by itself, else many together.
    for cooldown in [0, 2] {
        let eat = Utility::of(INPUTS[0], Curve::exponential(2.0)).cooldown(cooldown);
        let cats = Reasoner::new().option("eat", eat).option("sleep", plain(1).inertia(0.25));
        let mut stage = stage(cats);
        stage.sense([0.5, 0.6, 0.0]);
        stage.ticks(3);
        stage.watch_anew();
        stage.ticks(2);
        let text = "Tick 3: Cat chose sleep 0.85 over eat 0.25: tiredness 0.60 -> linear 1 -> 0.60, 0.25 of it \
                    because it was running.";
        assert_eq!(stage.sentences(), [text]);
    }
}
