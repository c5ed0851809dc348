//! Laying out the actions of an agent.

use std::fmt;

use ecs_core::{Bundle, Component, Entity, NoSuchEntity, World};

use super::components::{
    Action, ActionResult, Executing, OnFailure, Reported, SequenceAgent, Switching,
};

/// The actions of a kind of agent, in order: a plan that any number of agents can be spawned from.
///
/// ```
/// use ai::prelude::*;
/// # #[derive(Component, Clone)] struct MoveTo(&'static str);
/// # #[derive(Component, Clone)] struct AddItem(u32);
/// # #[derive(Component)] struct Gold(u32);
/// let miner = Sequence::new().then(MoveTo("mine")).then(AddItem(5)).then(MoveTo("castle"));
/// let mut world = World::new();
/// let agent = miner.spawn(&mut world, Gold(0))?;
/// assert_eq!(world.len(), 4);
/// assert_eq!(world.get::<SequenceAgent>(agent).unwrap().action_count(), 3);
/// # Ok::<(), ai::action::EmptySequence>(())
/// ```
#[derive(Default)]
pub struct Sequence {
    actions: Vec<SpawnAction>,
    on_failure: Option<OnFailure>,
}

type SpawnAction = Box<dyn Fn(&mut World, Action) -> Entity + Send + Sync>;

impl fmt::Debug for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sequence").field("actions", &self.actions.len()).finish_non_exhaustive()
    }
}

/// A sequence without actions cannot be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmptySequence;

impl fmt::Display for EmptySequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence needs at least one action")
    }
}

impl std::error::Error for EmptySequence {}

impl Sequence {
    /// No actions yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an action with this filter component.
    #[must_use]
    pub fn then<T: Component + Clone>(mut self, filter: T) -> Self {
        self.actions.push(Box::new(move |world, action| {
            let entity = world.spawn((action, Executing, filter.clone()));
            // New components come enabled; a new action waits for its turn.
            world.set_enabled::<Executing>(entity, false).expect("the action was just spawned");
            entity
        }));
        self
    }

    /// What to do when an action fails; [`OnFailure::Retry`] where nothing is said.
    #[must_use]
    pub fn on_failure(mut self, on_failure: OnFailure) -> Self {
        self.on_failure = Some(on_failure);
        self
    }

    /// Spawns an agent with these components, and its actions. It begins with the first one in the
    /// next tick.
    ///
    /// # Errors
    /// Where the sequence has no actions; nothing is spawned then.
    ///
    /// # Panics
    /// Where `agent` brings one of the components that make it an agent along.
    pub fn spawn<B: Bundle>(&self, world: &mut World, agent: B) -> Result<Entity, EmptySequence> {
        if self.actions.is_empty() {
            return Err(EmptySequence);
        }
        let agent = world.spawn(agent);
        let mut action = Action {
            agent,
            next: agent,
            index: 0,
            activations: 0,
            started: 0,
            result: ActionResult::Running,
        };
        let mut entities = Vec::with_capacity(self.actions.len());
        for spawn in &self.actions {
            entities.push(spawn(world, action));
            action.index += 1;
        }
        for (place, &entity) in entities.iter().enumerate() {
            let next = entities[(place + 1) % entities.len()];
            world.get_mut::<Action>(entity).expect("the action was just spawned").next = next;
        }
        let sequence = SequenceAgent {
            current: entities[0],
            previous: entities[0],
            action_count: action.index,
            advances: 0,
            on_failure: self.on_failure.unwrap_or(OnFailure::Retry),
            last_result: ActionResult::Running,
        };
        world.insert(agent, (sequence, Switching, Reported)).expect("the agent was just spawned");
        world.set_enabled::<Reported>(agent, false).expect("the agent was just given it");
        Ok(agent)
    }
}

/// Takes an agent out of the world, and its actions with it.
///
/// # Errors
/// Where the agent is not in the world.
pub fn despawn_agent(world: &mut World, agent: Entity) -> Result<(), NoSuchEntity> {
    let first = world.get::<SequenceAgent>(agent).ok().map(SequenceAgent::current);
    world.despawn(agent)?;
    let mut next = first;
    while let Some(action) = next {
        next = world.get::<Action>(action).ok().map(|action| action.next);
        // The circle ends where it began, at an action that is gone already.
        if world.despawn(action).is_err() {
            break;
        }
    }
    Ok(())
}
