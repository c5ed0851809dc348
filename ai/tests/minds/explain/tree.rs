//! Decision records of behaviour trees.

use formic_ai::bt::{Library, Tree, TreeAgent, Trees};
use formic_ai::prelude::*;

use super::stage::{Senses, Stage, actions};

type Seen = &'static mut Senses;

struct Guards(Tree<Seen>);

fn think(mut trees: Trees<Seen>, guards: Res<Guards>) {
    trees.tick(&guards.0);
}

fn stage(text: &str) -> Stage {
    let library = Library::<Seen>::new(&actions())
        .condition("hungry", |senses| senses.inputs[0] > 0.5)
        .condition("tired", |senses| senses.inputs[1] > 0.5)
        .effect("sigh", |senses| senses.inputs[2] += 1.0);
    let tree = Tree::parse(text, &library).unwrap();
    let drive = |world: &mut World, agent| {
        TreeAgent::drive(world, agent, &tree, 1).unwrap();
        world.insert_resource(Guards(tree));
    };
    Stage::new(drive, |minds| minds.add(think.as_mind()))
}

#[test]
fn the_leaves_are_told_when_the_agent_does_something_else() {
    // The first is looked through by jumps, the second node by node.
    for text in [
        "selector { sequence { hungry? do sigh eat } sequence { tired? sleep } play }",
        "selector { sequence { hungry? do sigh eat } timeout(99) sequence { tired? sleep } play }",
    ] {
        let mut stage = stage(text);
        stage.ticks(3);
        assert_eq!(stage.sentences(), ["Tick 0: Cat does play; hungry: no; tired: no."], "{text}");
        stage.sense([1.0, 0.0, 0.0]);
        stage.ticks(2);
        assert_eq!(
            stage.sentences(),
            ["Tick 3: Cat does eat; hungry: yes; sigh: yes; play stopped: interrupted by eat."],
            "{text}"
        );
        stage.end(ActionResult::Failed);
        stage.ticks(2);
        assert_eq!(
            stage.sentences(),
            ["Tick 6: Cat does play; hungry: yes; sigh: yes; eat: no; tired: no; eat has failed."],
            "{text}"
        );
    }
}

#[test]
fn several_actions_at_a_time_are_told_together() {
    let mut stage = stage("parallel(2, 1) { eat play }");
    stage.ticks(2);
    assert_eq!(stage.sentences(), ["Tick 0: Cat does eat and play."]);
}

#[test]
fn of_a_long_tick_the_last_leaves_are_told() {
    let conditions = "hungry? ".repeat(30);
    let many = format!("selector {{ {conditions} play }}");
    let mut stage = stage(&format!("sequence {{ invert selector {{ {conditions} }} {many} }}"));
    stage.ticks(1);
    let decisions = stage.decisions();
    assert_eq!(decisions[0].candidates.len(), 61);
    let mut stage = self::stage(&format!(
        "sequence {{ invert selector {{ {conditions} }} invert selector {{ {conditions} }} {many} }}"
    ));
    stage.ticks(1);
    let decisions = stage.decisions();
    assert_eq!(decisions[0].candidates.len(), 64);
    assert_eq!(&*decisions[0].chosen().unwrap().name, "play");
}

#[test]
fn an_agent_that_is_watched_later_tells_the_leaves_of_its_next_tick() {
    let mut stage = stage("selector { sequence { hungry? eat } play }");
    stage.ticks(3);
    stage.watch_anew();
    stage.ticks(2);
    assert_eq!(stage.sentences(), ["Tick 3: Cat does play; hungry: no."]);
}
