//! Activities that run beside an agent's main one.

use formic_ai::activity::{self, EventKinds, Status};
use formic_ai::prelude::*;
use formic_ecs::ChildOf;

use crate::puppet::{Puppet, Stage, done};

fn wait_for(
    kind: u32,
) -> impl FnMut(&mut activity::Tick<'_, crate::puppet::Theatre>) -> crate::puppet::Outcome {
    move |tick| {
        tick.subscribe(tick.agent(), EventKinds::one(kind));
        Status::Blocked
    }
}

#[test]
fn an_agent_hauls_while_it_goes_somewhere() {
    let mut stage = Stage::new();
    let feet = stage.puppet("feet").act(wait_for(0)).act(|_| done());
    let agent = stage.agent(feet);
    let hands = stage.world.spawn(activity::parallel::<Puppet>(agent));
    stage.world.relation_mut::<ChildOf>().add(hands, agent).unwrap();
    let haul = stage.puppet("hands").act(wait_for(1)).act(|_| done());
    activity::order(&mut stage.world, hands, 1, haul).unwrap();
    stage.tick();
    assert!(stage.is_blocked(agent) && stage.is_blocked(hands));
    // Both go by the agent, and each wakes for its own.
    stage.post(agent, 1, 1);
    let heard = format!("hands hears 1 of {agent}");
    assert_eq!(stage.tick(), [heard, "hands ticks".into(), "hands done".into()]);
    assert!(stage.is_blocked(agent));
    stage.post(agent, 0, 2);
    assert_eq!(stage.tick().last().unwrap(), "feet done");
}

#[test]
fn a_lane_goes_with_its_agent_and_is_finished() {
    let mut stage = Stage::new();
    let feet = stage.puppet("feet").act(wait_for(0));
    let agent = stage.agent(feet);
    let hands = stage.world.spawn(activity::parallel::<Puppet>(agent));
    stage.world.relation_mut::<ChildOf>().add(hands, agent).unwrap();
    let haul = stage.puppet("hands").act(wait_for(1));
    activity::order(&mut stage.world, hands, 1, haul).unwrap();
    stage.tick();
    stage.world.despawn(agent).unwrap();
    let mut log = stage.tick();
    log.sort();
    assert_eq!(log, ["feet interrupted", "hands interrupted"]);
    assert!(!stage.world.contains(hands) && !stage.world.contains(agent));
}

/// Spawned by commands, the two refer to each other before either is in the world.
#[derive(Component)]
struct Asked(#[component(entity)] activity::Token);

#[test]
fn a_lane_that_commands_spawn_with_its_agent_acts_for_it() {
    let mut stage = Stage::new();
    let mut commands = CommandBuffer::new(&stage.world);
    let deferred = commands.spawn(activity::idle::<Puppet>());
    let hands = commands
        .spawn((activity::parallel::<Puppet>(deferred), Asked(activity::Token::new(deferred, 7))));
    assert!(deferred != hands);
    assert!(commands.play(&mut stage.world).failures().is_empty());
    let hands = stage.world.query_filtered::<Entity, With<Asked>>().first().unwrap();
    let agent = stage.slot(hands).agent(hands);
    assert!(agent != hands && stage.world.contains(agent));
    assert_eq!(stage.slot(agent).agent(agent), agent);
    let token = stage.world.get::<Asked>(hands).unwrap().0;
    assert_eq!((token.task(), token.number()), (agent, 7));
}
