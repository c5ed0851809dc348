//! Action sets: the actions of a kind of agent, and how they are spawned.

use std::sync::Arc;

use formic_ecs::{Buffer, Bundle, ChildOf, Component, Entity, NoSuchEntity, World};

use super::body::{Body, OwnedAction, Reported, Switching};
use super::components::{Action, Executing, Finished};
use super::composite::{Composite, Concluded};
use super::lifetimes::link_lifetimes;
use super::names::{ActionNames, layout_with};

debug_as_text!(ActionSetError);

/// The actions of a kind of agent, in order and by name. Any number of agents can be spawned from one
/// set. It defines what an agent can do; the mind, which decides, is added as a component.
///
/// ```
/// use formic_ai::prelude::*;
/// # #[derive(Component, Clone)] struct Eat(u32);
/// # #[derive(Component, Clone)] struct Sleep;
/// # #[derive(Component)] struct Hunger(f32);
/// let cat = ActionSet::new().action("eat", Eat(2)).action("sleep", Sleep);
/// assert_eq!(cat.find("sleep"), Some(1));
/// let mut world = World::new();
/// let agent = cat.spawn(&mut world, Hunger(0.0))?;
/// assert_eq!(world.len(), 3, "an agent and two actions");
/// assert_eq!(world.get::<Body>(agent)?.running().count(), 0);
/// world.despawn(agent)?;
/// assert!(world.is_empty(), "it takes its actions along");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Spawning agents during the game
///
/// A system spawns agents by a command that gets the world. (An agent cannot be instantiated: the copy
/// would share its actions.) `drive` changes the world and therefore cannot use a mind that is borrowed
/// from a resource of that world: keep such a mind in an [`Arc`].
///
/// ```
/// use formic_ai::bt::{Library, Tree, TreeAgent};
/// use formic_ai::prelude::*;
/// use std::sync::Arc;
/// # #[derive(Component, Clone)] struct Eat;
/// #[derive(Component)]
/// struct Nest;
/// #[derive(Component)]
/// struct Hunger(f32);
/// /// What every kitten gets: a resource.
/// struct Cats { body: ActionSet, mind: Arc<Tree<&'static Hunger>> }
///
/// fn breed(mut nests: Query<(), With<Nest>>, cats: Res<Cats>, mut commands: Commands) {
///     nests.for_each(|()| {
///         let (body, mind) = (cats.body.clone(), Arc::clone(&cats.mind));
///         commands.run(move |world| {
///             let kitten = body.spawn(world, Hunger(0.9)).expect("it has actions");
///             TreeAgent::drive(world, kitten, &mind, 1).expect("it was just spawned");
///         });
///     });
/// }
///
/// let body = ActionSet::new().action("eat", Eat);
/// let library = Library::<&Hunger>::new(&body).condition("hungry", |hunger| hunger.0 > 0.5);
/// let mind = Arc::new(Tree::parse("sequence { hungry? eat }", &library)?);
/// let mut world = World::new();
/// world.insert_resource(Cats { body, mind });
/// world.spawn(Nest);
/// let mut schedule = Schedule::builder().add(breed).build(&mut world)?;
/// schedule.run(&mut world, &Pool::new(Threads::None)?);
/// assert_eq!(world.query::<(&Hunger, &Body, &TreeAgent)>().count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct ActionSet {
    actions: Vec<ActionSpec>,
    /// The layout, a hash of the names; see [`layout_with`].
    layout: u32,
    /// The maximum nesting depth of its composites.
    depth: usize,
}

/// The maximum nesting depth of composites. Despawning an agent despawns all of them through hooks that
/// trigger each other, and these must not nest much deeper.
pub(super) const DEPTH_MAX: usize = 64;

#[derive(Clone)]
struct ActionSpec {
    name: String,
    spawn: SpawnAction,
    /// The error in the parts of a composite, if there is one.
    problem: Option<ActionSetError>,
}

pub(super) type SpawnAction = Arc<dyn Fn(&mut World, Action) -> Entity + Send + Sync>;

debug_fields!([] ActionSet:; names = |it| it.names().collect::<Vec<_>>());

/// An error in spawning the actions of an [`ActionSet`].
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ActionSetError {
    /// There are no actions.
    #[error("an action set needs at least one action")]
    Empty,
    /// There are more actions than a [`Body`] can have.
    #[error(
        "an action set has at most {} actions, this one has {count}: group some into composites",
        Body::ACTIONS_MAX
    )]
    TooManyActions {
        /// The number of actions.
        count: usize,
    },
    /// Composites are nested too deeply.
    #[error("composites lie in each other more than {DEPTH_MAX} deep")]
    TooDeep,
    /// The entity is not in the world.
    #[error(transparent)]
    NoSuchEntity(#[from] NoSuchEntity),
    /// The entity already has a body.
    #[error("entity {0} already has a body")]
    Occupied(Entity),
}

impl ActionSet {
    /// Creates a set without actions.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an action with this filter component, which determines its kind.
    #[must_use]
    pub fn action<T: Component + Clone>(self, name: impl Into<String>, filter: T) -> Self {
        self.action_with(name, filter, ())
    }

    /// Adds an action with this filter component and further components.
    ///
    /// ```
    /// use formic_ai::prelude::*;
    /// # #[derive(Component, Clone)] struct Walk;
    /// # #[derive(Component, Clone, PartialEq, Debug)] struct Pace(f32);
    /// // Two of one kind: what carries out a `Walk` asks for its `Pace` as well.
    /// let legs = ActionSet::new()
    ///     .action_with("stroll", Walk, Pace(1.0))
    ///     .action_with("run", Walk, Pace(4.0));
    /// let mut world = World::new();
    /// legs.spawn(&mut world, ())?;
    /// assert!(world.query_filtered::<&Pace, With<Walk>>().into_iter().eq(&[Pace(1.0), Pace(4.0)]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn action_with<T: Component + Clone, B: Bundle + Clone + Send + Sync + 'static>(
        self,
        name: impl Into<String>,
        filter: T,
        extras: B,
    ) -> Self {
        self.push(name.into(), spawn_action(filter, extras), None)
    }

    /// Adds this tag to all actions that were added so far. Tags separate two frameworks that share a
    /// kind of action: the system of each queries for its own tag. A system that queries for no tag
    /// processes all actions of its kind, including tagged ones.
    ///
    /// ```
    /// use formic_ai::action::{self, Agent, WideProcessor};
    /// use formic_ai::prelude::*;
    /// #[derive(Component, Clone)]
    /// struct Walk;
    /// #[derive(Component, Clone)]
    /// struct InFormation;
    /// struct Marching;
    ///
    /// impl WideProcessor<&'static InFormation> for Marching {
    ///     type Action = Walk;
    ///     fn start(&self, _: Agent, _: &mut Walk, _: &InFormation, (): &mut ()) -> ActionResult {
    ///         ActionResult::Success
    ///     }
    /// }
    /// // The walks of others are not its business.
    /// fn march(mut actions: Actions<Walk, &'static InFormation>) {
    ///     actions.process(&Marching);
    /// }
    ///
    /// let mut world = World::new();
    /// let walk = || ActionSet::new().action("walk", Walk);
    /// let soldier = Sequence::from(walk().tagged(InFormation)).spawn(&mut world, ())?;
    /// let tourist = Sequence::from(walk()).spawn(&mut world, ())?;
    /// let mut schedule =
    ///     action::add(Schedule::builder()).add(march.as_action()).build(&mut world)?;
    /// schedule.run(&mut world, &Pool::new(Threads::None)?);
    /// assert_eq!(world.get::<SequenceAgent>(soldier)?.advances(), 1);
    /// assert_eq!(world.get::<SequenceAgent>(tourist)?.advances(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn tagged<T: Component + Clone>(mut self, tag: T) -> Self {
        let tagged = |ActionSpec { name, spawn, problem }| {
            let tag = tag.clone();
            let spawn: SpawnAction = Arc::new(move |world, action| {
                let entity = spawn(world, action);
                if world.insert(entity, tag.clone()).is_err() {
                    unreachable!("the action was just spawned");
                }
                entity
            });
            ActionSpec { name, spawn, problem }
        };
        self.actions = self.actions.into_iter().map(tagged).collect();
        self
    }

    pub(super) fn push(
        mut self,
        name: String,
        spawn: SpawnAction,
        problem: Option<ActionSetError>,
    ) -> Self {
        self.layout = layout_with(self.layout, &name);
        self.actions.push(ActionSpec { name, spawn, problem });
        self
    }

    /// Adds an action that consists of others: see [`Composite`]. Composites may be nested up to 64 deep.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "every new composite has a `Concluded`")]
    pub fn composite(mut self, name: impl Into<String>, kind: Composite, parts: Self) -> Self {
        let depth = parts.depth + 1;
        self.depth = self.depth.max(depth);
        let is_too_deep = depth > DEPTH_MAX;
        let problem = if is_too_deep { Some(ActionSetError::TooDeep) } else { parts.check().err() };
        // Parts that can never be spawned are dropped, so that nesting cannot grow without bound.
        let parts = if problem.is_none() { parts } else { Self::new() };
        let spawn = move |world: &mut World, action: Action| {
            let entity = world.spawn((action, Executing, Finished, kind, Concluded));
            put_to_sleep(world, entity);
            world.set_enabled::<Concluded>(entity, false).expect("the action was just spawned");
            parts.spawn_actions(world, action.agent, entity);
            entity
        };
        self.push(name.into(), Arc::new(spawn), problem)
    }

    /// The index of the first action with this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<usize> {
        self.actions.iter().position(|action| action.name == name)
    }

    /// The names of the actions, in order.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.actions.iter().map(|action| action.name.as_str())
    }

    /// Spawns an agent with these components, and its actions, none of which is executing.
    ///
    /// # Errors
    /// Returns an error if the set has no actions or too many, or if its composites are nested too
    /// deeply. Nothing is spawned then.
    pub fn spawn<B: Bundle>(&self, world: &mut World, agent: B) -> Result<Entity, ActionSetError> {
        self.check()?;
        let agent = world.spawn(agent);
        self.spawn_actions(world, agent, agent);
        Ok(agent)
    }

    /// Gives an entity a body: spawns its actions, none of which is executing.
    ///
    /// Prefer this for crowds. If all agents are spawned before their actions, the agents are adjacent in
    /// the entity table, in which every action looks up its agent.
    ///
    /// # Errors
    /// Returns an error if the set has no actions or too many, if its composites are nested too deeply,
    /// or if the entity is not in the world or already has a body. Nothing is spawned then.
    pub fn attach(&self, world: &mut World, agent: Entity) -> Result<(), ActionSetError> {
        self.check()?;
        if !world.contains(agent) {
            return Err(NoSuchEntity(agent).into());
        }
        if world.has::<Body>(agent) {
            return Err(ActionSetError::Occupied(agent));
        }
        self.spawn_actions(world, agent, agent);
        Ok(())
    }

    /// Gives an agent a second mind with its own actions. The returned entity has the body and these
    /// components, and is despawned with the agent. Its actions act for the agent.
    ///
    /// Several minds can thus drive one agent at the same time, each its own part: legs that follow a
    /// sequence, a mouth that follows a tree.
    ///
    /// ```
    /// use formic_ai::prelude::*;
    /// # #[derive(Component, Clone)] struct Walk;
    /// # #[derive(Component, Clone)] struct Talk;
    /// let mut world = World::new();
    /// let agent = ActionSet::new().action("walk", Walk).spawn(&mut world, ())?;
    /// let mouth = ActionSet::new().action("talk", Talk).attach_mind(&mut world, agent, ())?;
    /// let talk = world.get::<Buffer<OwnedAction>>(mouth)?[0].entity();
    /// assert_eq!(world.get::<Action>(talk)?.agent(), agent);
    /// world.despawn(agent)?;
    /// assert!(world.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the set has no actions or too many, if its composites are nested too deeply,
    /// or if the agent is not in the world.
    #[expect(clippy::missing_panics_doc, reason = "a new entity cannot be an ancestor")]
    pub fn attach_mind<B: Bundle>(
        &self,
        world: &mut World,
        agent: Entity,
        mind: B,
    ) -> Result<Entity, ActionSetError> {
        self.check()?;
        if !world.contains(agent) {
            return Err(NoSuchEntity(agent).into());
        }
        let owner = world.spawn(mind);
        let related = world.relation_mut::<ChildOf>().add(owner, agent);
        related.expect("a new entity is no parent");
        self.spawn_actions(world, agent, owner);
        Ok(owner)
    }

    pub(super) fn check(&self) -> Result<(), ActionSetError> {
        match self.actions.len() {
            0 => Err(ActionSetError::Empty),
            count if count > Body::ACTIONS_MAX => Err(ActionSetError::TooManyActions { count }),
            _ => self.actions.iter().find_map(|action| action.problem).map_or(Ok(()), Err),
        }
    }

    /// Spawns the actions. The caller has checked the set; `agent` and `owner` are in the world, and
    /// `owner` has no body.
    pub(super) fn spawn_actions(&self, world: &mut World, agent: Entity, owner: Entity) {
        link_lifetimes(world);
        let entities: Buffer<OwnedAction> = (0..)
            .zip(&self.actions)
            .map(|(index, action)| {
                OwnedAction((action.spawn)(world, Action::new(agent, owner, index)))
            })
            .collect();
        ActionNames::keep(world, self.layout, self.names());
        let body = Body::new(self.actions.len()).with_layout(self.layout);
        let parts = (body, entities, Switching, Reported);
        if world.insert(owner, parts).is_err() {
            unreachable!("the owner is in the world");
        }
        // New components are enabled; a new agent has nothing to pass on or report.
        world.set_enabled::<Switching>(owner, false).expect("the owner was just given it");
        world.set_enabled::<Reported>(owner, false).expect("the owner was just given it");
    }
}

/// Returns a function that spawns an action with this filter component and further components.
pub(super) fn spawn_action<T: Component + Clone, B: Bundle + Clone + Send + Sync + 'static>(
    filter: T,
    extras: B,
) -> SpawnAction {
    Arc::new(move |world, action| {
        let entity = world.spawn((action, Executing, Finished, filter.clone()));
        put_to_sleep(world, entity);
        if world.insert(entity, extras.clone()).is_err() {
            unreachable!("the action was just spawned");
        }
        entity
    })
}

fn put_to_sleep(world: &mut World, action: Entity) {
    // New components are enabled; a new action does not execute yet.
    world.set_enabled::<Executing>(action, false).expect("the action was just spawned");
    world.set_enabled::<Finished>(action, false).expect("the action was just spawned");
}
