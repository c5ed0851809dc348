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

/// Why an entity could not be made an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttachError {
    /// There is nothing to carry out.
    Empty(EmptySequence),
    /// The entity is not in the world.
    NoSuchEntity(NoSuchEntity),
    /// The entity carries out a sequence already.
    Occupied(Entity),
}

impl fmt::Display for AttachError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty(error) => error.fmt(f),
            Self::NoSuchEntity(error) => error.fmt(f),
            Self::Occupied(agent) => write!(f, "entity {agent} carries out a sequence already"),
        }
    }
}

impl std::error::Error for AttachError {}

impl From<EmptySequence> for AttachError {
    fn from(error: EmptySequence) -> Self {
        Self::Empty(error)
    }
}

impl From<NoSuchEntity> for AttachError {
    fn from(error: NoSuchEntity) -> Self {
        Self::NoSuchEntity(error)
    }
}

impl Sequence {
    /// No actions yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an action with this filter component.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "every new action has an `Executing`")]
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
    pub fn spawn<B: Bundle>(&self, world: &mut World, agent: B) -> Result<Entity, EmptySequence> {
        if self.actions.is_empty() {
            return Err(EmptySequence);
        }
        let agent = world.spawn(agent);
        self.spawn_actions(world, agent);
        Ok(agent)
    }

    /// Makes an entity an agent: spawns its actions. It begins with the first one in the next
    /// tick.
    ///
    /// For crowds this is the better way: with the agents spawned first and their actions
    /// afterwards, agents lie together in the entity table, which every action looks its agent up
    /// in.
    ///
    /// # Errors
    /// Where the sequence has no actions, or the entity is not in the world or has a sequence
    /// already; nothing is spawned then.
    pub fn attach(&self, world: &mut World, agent: Entity) -> Result<(), AttachError> {
        if self.actions.is_empty() {
            return Err(EmptySequence.into());
        }
        if !world.contains(agent) {
            return Err(NoSuchEntity(agent).into());
        }
        if world.has::<SequenceAgent>(agent) {
            return Err(AttachError::Occupied(agent));
        }
        self.spawn_actions(world, agent);
        Ok(())
    }

    /// The agent is in the world, and there is at least one action.
    fn spawn_actions(&self, world: &mut World, agent: Entity) {
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
        world.insert(agent, (sequence, Switching, Reported)).expect("the agent is in the world");
        world.set_enabled::<Reported>(agent, false).expect("the agent was just given it");
    }
}

/// Takes an agent out of the world, and its actions with it.
///
/// An action that is under way ends here without [`Processor::cleanup`]: nobody knows its processor
/// at this point.
///
/// [`Processor::cleanup`]: super::Processor::cleanup
///
/// # Errors
/// Where the agent is not in the world.
pub fn despawn_agent(world: &mut World, agent: Entity) -> Result<(), NoSuchEntity> {
    let sequence = world.get::<SequenceAgent>(agent).ok().copied();
    world.despawn(agent)?;
    let Some(sequence) = sequence else { return Ok(()) };
    let mut next = sequence.current;
    for _ in 0..sequence.action_count {
        match world.get::<Action>(next).copied() {
            Ok(action) if action.agent == agent => {
                world.despawn(next)?;
                next = action.next;
            }
            _ => {
                despawn_by_search(world, agent);
                break;
            }
        }
    }
    Ok(())
}

/// Somebody has despawned one of the actions, and the way around the circle is broken: looks
/// through all actions for the others.
fn despawn_by_search(world: &mut World, agent: Entity) {
    let actions = world.query_ref::<(Entity, &Action)>();
    let left: Vec<Entity> =
        actions.into_iter().filter(|(_, action)| action.agent == agent).map(|(it, _)| it).collect();
    for action in left {
        world.despawn(action).expect("it was just found");
    }
}
