//! `ActivitySlot`, the component that holds an agent's activity.

use bytemuck::{CheckedBitPattern, NoUninit};
use std::fmt;

use formic_ecs::{
    Buffer, Bundle, Codec, CodecError, Component, ComponentError, EnabledBitMut, Entity, HashRule,
    HashState, MapEntities, MapEntitiesFn, StateHasher, World,
};

use super::behaviour::Activity;
use super::subscription::Subscription;
use crate::explain::Ended;

/// Enabled on an entity with an [`ActivitySlot`] while a tick has nothing to do for it, because its
/// activity is blocked or it has none.
#[derive(Component, Clone, Copy, Debug)]
#[component(enableable)]
pub struct Blocking;

/// The component of an agent, or of a [parallel activity](super::parallel) of one, that holds its
/// activity.
///
/// Minds [propose](Self::propose) activities. A proposal of a higher priority interrupts the current
/// activity in the next [`Activities::run`](super::Activities::run).
///
/// It outlives the despawning of its entity until its activity has been finished, in the next run. It
/// cannot be instantiated. If it is removed or replaced, its activity is dropped, and it is idle. It
/// belongs to its entity: do not swap the values of two entities.
///
/// ```
/// # use std::borrow::Cow;
/// # use formic_ai::activity::{Activity, Event, Status, Tick};
/// use formic_ai::activity::{self, Blocking, ActivitySlot};
/// use formic_ai::prelude::*;
/// # struct Nothing;
/// # impl Event for Nothing {}
/// # type Village = ((), Nothing, ());
/// struct Eat;
/// # impl Activity for Eat {
/// #     type Domain = Village;
/// #     const HASH: formic_ecs::HashRule<Self> = formic_ecs::HashRule::Fields(|_, _| {});
/// #     fn name(&self) -> Cow<'_, str> { "eating".into() }
/// #     fn on_tick(&mut self, _: &mut Tick<Village>, (): &()) -> Status<()> { Status::Ongoing }
/// # }
/// #[derive(Component)]
/// struct Hunger(u32);
/// const EMERGENCY: u32 = 100;
///
/// fn think(mut minds: Query<(&Hunger, &mut ActivitySlot<Eat>, EnabledMut<Blocking>)>) {
///     minds.par_for_each(|(hunger, slot, mut blocking)| {
///         if hunger.0 > 5 && slot.takes(EMERGENCY) {
///             _ = slot.propose(EMERGENCY, Eat, &mut blocking);
///         }
///     });
/// }
///
/// let mut world = World::new();
/// let agent = world.spawn((Hunger(9), activity::idle::<Eat>()));
/// let mut schedule = Schedule::builder()
///     .add(think.every(10).staggered())
///     .add(|mut activities: activity::Activities<Eat>| _ = activities.run(0, &()))
///     .build(&mut world)?;
/// let pool = Pool::new(Threads::None)?;
/// (0..10).for_each(|_| _ = schedule.run(&mut world, &pool));
/// assert_eq!(world.get::<ActivitySlot<Eat>>(agent)?.to_string(), "eating");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ActivitySlot<A> {
    pub(super) activity: Option<A>,
    pub(super) next: Option<Box<Next<A>>>,
    pub(super) subscriptions: Buffer<Subscription>,
    /// The agent, if this is a parallel activity.
    agent: Option<Entity>,
    /// The tick in which the activity last began, blocked or woke, or in which the last one ended.
    pub(super) since: u64,
    /// The number of the newest subscription.
    pub(super) newest: u32,
    pub(super) priority: u32,
    pub(super) state: State,
    pub(super) ended: Option<Ended>,
}

/// The state of an agent's activity.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    NoUninit,
    CheckedBitPattern,
    serde::Serialize,
    serde::Deserialize,
    HashState,
)]
#[repr(u8)]
pub enum State {
    /// There is no activity.
    Idle = 0,
    /// The activity is ticked.
    Active = 1,
    /// The activity sleeps.
    Blocked = 2,
}

/// The next activity, or an order to stop.
pub(super) struct Next<A> {
    pub(super) activity: Option<A>,
    pub(super) priority: u32,
}

impl<A: Activity> Default for ActivitySlot<A> {
    fn default() -> Self {
        Self {
            activity: None,
            next: None,
            subscriptions: Buffer::new(),
            agent: None,
            since: 0,
            newest: 0,
            priority: 0,
            state: State::Idle,
            ended: None,
        }
    }
}

/// The components of an agent without an activity.
pub fn idle<A: Activity>() -> impl Bundle {
    (ActivitySlot::<A>::default(), Blocking)
}

/// The components of an entity that runs activities for an agent beside the agent's own: the hands haul
/// while the feet walk. It is a task of its own, with its own subscriptions and ending. Spawn it as a
/// [child](formic_ecs::ChildOf) of the agent, so that it is despawned with the agent.
///
/// ```
/// # use std::borrow::Cow;
/// # use formic_ai::activity::{Activity, Event, Status, Tick};
/// use formic_ai::activity::{self, ActivitySlot};
/// use formic_ai::prelude::*;
/// use formic_ecs::ChildOf;
/// # struct Nothing;
/// # impl Event for Nothing {}
/// # type Village = ((), Nothing, ());
/// # struct Eat;
/// # impl Activity for Eat {
/// #     type Domain = Village;
/// #     const HASH: formic_ecs::HashRule<Self> = formic_ecs::HashRule::Fields(|_, _| {});
/// #     fn name(&self) -> Cow<'_, str> { "eating".into() }
/// #     fn on_tick(&mut self, _: &mut Tick<Village>, (): &()) -> Status<()> { Status::Ongoing }
/// # }
/// let mut world = World::new();
/// let agent = world.spawn(activity::idle::<Eat>());
/// let hands = world.spawn(activity::parallel::<Eat>(agent));
/// world.relation_mut::<ChildOf>().add(hands, agent)?;
/// assert_eq!(world.get::<ActivitySlot<Eat>>(hands)?.agent(hands), agent);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn parallel<A: Activity>(agent: Entity) -> impl Bundle {
    (ActivitySlot::<A> { agent: Some(agent), ..ActivitySlot::default() }, Blocking)
}

/// Orders an agent to begin this activity in the next run. Its current activity is interrupted, whatever
/// the priorities.
///
/// # Errors
/// Returns an error if the agent is not in the world, or lacks the components of [`idle`].
pub fn order<A: Activity>(
    world: &mut World,
    agent: Entity,
    priority: u32,
    activity: A,
) -> Result<(), ComponentError> {
    let slot = world.get_mut::<ActivitySlot<A>>(agent)?;
    slot.set_next(Some(activity), priority);
    world.set_enabled::<Blocking>(agent, false)?;
    Ok(())
}

/// Orders an agent to stop its activity in the next run, as interrupted.
///
/// ```
/// # use std::borrow::Cow;
/// # use formic_ai::activity::{Activity, Event, Status, Tick};
/// use formic_ai::activity::{self, Activities, ActivitySlot};
/// use formic_ai::prelude::*;
/// # struct Nothing;
/// # impl Event for Nothing {}
/// # type Village = ((), Nothing, ());
/// # struct Eat;
/// # impl Activity for Eat {
/// #     type Domain = Village;
/// #     const HASH: formic_ecs::HashRule<Self> = formic_ecs::HashRule::Fields(|_, _| {});
/// #     fn name(&self) -> Cow<'_, str> { "eating".into() }
/// #     fn on_tick(&mut self, _: &mut Tick<Village>, (): &()) -> Status<()> { Status::Ongoing }
/// # }
/// let mut world = World::new();
/// let cow = world.spawn(activity::idle::<Eat>());
/// let mut schedule = Schedule::builder()
///     .add(|activities: Activities<Eat>| _ = activities.run(0, &()))
///     .build(&mut world)?;
/// let pool = Pool::new(Threads::None)?;
/// activity::order(&mut world, cow, 1, Eat)?;
/// schedule.run(&mut world, &pool);
/// assert_eq!(world.get::<ActivitySlot<Eat>>(cow)?.to_string(), "eating");
/// activity::stop::<Eat>(&mut world, cow)?;
/// schedule.run(&mut world, &pool);
/// assert_eq!(world.get::<ActivitySlot<Eat>>(cow)?.ended(), Some(Ended::Interrupted));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns an error if the agent is not in the world, or lacks the components of [`idle`].
pub fn stop<A: Activity>(world: &mut World, agent: Entity) -> Result<(), ComponentError> {
    let slot = world.get_mut::<ActivitySlot<A>>(agent)?;
    slot.set_next(None, 0);
    world.set_enabled::<Blocking>(agent, false)?;
    Ok(())
}

impl<A: Activity> ActivitySlot<A> {
    /// The activity, if there is one.
    #[must_use]
    pub const fn activity(&self) -> Option<&A> {
        self.activity.as_ref()
    }

    /// The agent of the entity that has this component: the entity itself, or the agent of a [`parallel`]
    /// activity.
    #[must_use]
    pub fn agent(&self, entity: Entity) -> Entity {
        self.agent.unwrap_or(entity)
    }

    /// Whether the activity is ticked, sleeps, or does not exist.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    /// The tick in which it entered that state, or in which the activity began.
    #[must_use]
    pub const fn since(&self) -> u64 {
        self.since
    }

    /// The priority of the activity; 0 without one.
    #[must_use]
    pub const fn priority(&self) -> u32 {
        self.priority
    }

    /// The end of the last activity, if there was one.
    #[must_use]
    pub const fn ended(&self) -> Option<Ended> {
        self.ended
    }

    /// Its subscriptions, in the order of subscribing.
    #[must_use]
    pub fn subscriptions(&self) -> &[Subscription] {
        &self.subscriptions
    }

    /// Whether a proposal of this priority is accepted. It must be higher than that of the activity that
    /// is to begin next or, if none is, of the current one. Any is accepted if there is neither, or if the
    /// agent is to stop.
    #[must_use]
    pub fn takes(&self, priority: u32) -> bool {
        match &self.next {
            Some(next) if next.activity.is_some() => priority > next.priority,
            Some(_) => true,
            None => self.activity.is_none() || priority > self.priority,
        }
    }

    /// Proposes an activity for the next run, if [`takes`](Self::takes) accepts this priority. `blocking`
    /// is the agent's bit of [`Blocking`], which is disabled.
    ///
    /// # Errors
    /// Returns the activity if the proposal is not accepted.
    pub fn propose(
        &mut self,
        priority: u32,
        activity: A,
        blocking: &mut EnabledBitMut<'_>,
    ) -> Result<(), A> {
        if !self.takes(priority) {
            return Err(activity);
        }
        self.set_next(Some(activity), priority);
        blocking.set(false);
        Ok(())
    }

    /// Stops its activity in the next run, as interrupted, and drops any proposal. `blocking` is the
    /// agent's bit of [`Blocking`], which is disabled.
    pub fn stop(&mut self, blocking: &mut EnabledBitMut<'_>) {
        self.set_next(None, 0);
        blocking.set(false);
    }

    /// Takes the activity and the proposal out, and ends all subscriptions.
    pub(super) fn depart(&mut self) -> impl Sized + use<A> {
        self.subscriptions.clear();
        (self.state, self.priority, self.newest) = (State::Idle, 0, 0);
        (self.activity.take(), self.next.take())
    }

    fn set_next(&mut self, activity: Option<A>, priority: u32) {
        let before = self.next.replace(Box::new(Next { activity, priority }));
        // Code that runs in the drop may look at this state, which is consistent by now.
        drop(before);
    }
}

debug_fields!([A: Activity] ActivitySlot<A>:
    state, since, priority, subscriptions; activity = |it| it.to_string());

/// The activity and its step: `hauling wood: going to (3, 4)`.
impl<A: Activity> fmt::Display for ActivitySlot<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(activity) = &self.activity else { return f.write_str("idle") };
        f.write_str(&activity.name())?;
        match activity.step() {
            Some(step) => write!(f, ": {step}"),
            None => Ok(()),
        }
    }
}

impl<A: Activity> Component for ActivitySlot<A> {
    const CLEANUP: bool = true;
    const HASH: HashRule<Self> =
        if A::HASH.is_whole() { HashRule::Fields(hash) } else { HashRule::Partly(hash) };
    const MAP_ENTITIES: Option<MapEntitiesFn<Self>> =
        Some(|slot, map| slot.agent.map_entities(map));
    const CODEC: Codec<Self> =
        if A::CODEC.is_saved() { Codec::custom(write, read) } else { Codec::UNSAVED };
}

/// The state, the end of the last activity, whether there is one now, and whether one comes next.
fn flags<A>(slot: &ActivitySlot<A>) -> [u8; 4] {
    [
        slot.state as u8,
        slot.ended.map_or(0, |ended| ended as u8),
        slot.activity.is_some().into(),
        slot.next.as_ref().map_or(0, |next| 1 + u8::from(next.activity.is_some())),
    ]
}

fn hash<A: Activity>(slot: &ActivitySlot<A>, hasher: &mut StateHasher) {
    hasher.write_u64(u32::from_le_bytes(flags(slot)).into());
    hasher.write_u64(slot.agent.map_or(0, Entity::to_bits));
    hasher.write_u64(slot.since);
    hasher.write_u64(u64::from(slot.newest) << 32 | u64::from(slot.priority));
    hasher.write_u64(slot.subscriptions.len() as u64);
    slot.subscriptions.iter().for_each(|subscription| subscription.hash_state(hasher));
    slot.activity.iter().for_each(|activity| A::HASH.hash(activity, hasher));
    if let Some(next) = &slot.next {
        hasher.write_u64(next.priority.into());
        next.activity.iter().for_each(|activity| A::HASH.hash(activity, hasher));
    }
}

fn write<A: Activity>(slot: &ActivitySlot<A>, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
    let count = u32::try_from(slot.subscriptions.len()).map_err(|_| CodecError)?;
    Codec::plain().write(&flags(slot), bytes)?;
    Codec::plain().write(&[slot.agent.map_or(0, Entity::to_bits), slot.since], bytes)?;
    Codec::plain().write(&[slot.newest, slot.priority, count], bytes)?;
    slot.subscriptions.iter().try_for_each(|subscription| subscription.write(bytes))?;
    slot.activity.iter().try_for_each(|activity| A::CODEC.write(activity, bytes))?;
    let Some(next) = &slot.next else { return Ok(()) };
    Codec::plain().write(&next.priority, bytes)?;
    next.activity.iter().try_for_each(|activity| A::CODEC.write(activity, bytes))
}

/// Whether this can be the state of a task: a task that sleeps waits for something, and a task without an
/// activity waits for nothing.
fn is_coherent<A: Activity>(slot: &ActivitySlot<A>) -> bool {
    let is_waiting = !slot.subscriptions.is_empty();
    let fits = match slot.state {
        State::Idle => slot.activity.is_none() && !is_waiting && slot.priority == 0,
        State::Active => slot.activity.is_some(),
        State::Blocked => slot.activity.is_some() && is_waiting,
    };
    // In the order of subscribing, without duplicates: the distance to the newest decreases.
    let since = |it: &Subscription| slot.newest.wrapping_sub(it.number());
    fits && slot.subscriptions.is_sorted_by(|one, next| since(one) > since(next))
}

fn read<A: Activity>(bytes: &mut &[u8]) -> Result<ActivitySlot<A>, CodecError> {
    let state = Codec::plain().read(bytes)?;
    let [ended, has_activity, next] = Codec::<[u8; 3]>::plain().read(bytes)?;
    let [agent, since] = Codec::<[u64; 2]>::plain().read(bytes)?;
    let [newest, priority, count] = Codec::<[u32; 3]>::plain().read(bytes)?;
    let mut slot = ActivitySlot {
        agent: if agent == 0 { None } else { Some(Entity::from_bits(agent).ok_or(CodecError)?) },
        since,
        newest,
        priority,
        state,
        ended: match ended {
            0 => None,
            ended => Some(Codec::plain().read(&mut &[ended][..])?),
        },
        ..ActivitySlot::default()
    };
    // Element by element: the count is untrusted and must not size an allocation.
    for _ in 0..count {
        slot.subscriptions.push(Subscription::read(bytes)?);
    }
    slot.activity = match has_activity {
        0 => None,
        1 => Some(A::CODEC.read(bytes)?),
        _ => return Err(CodecError),
    };
    if !is_coherent(&slot) {
        return Err(CodecError);
    }
    if next > 0 {
        let priority = Codec::plain().read(bytes)?;
        let activity = match next {
            1 => None,
            2 => Some(A::CODEC.read(bytes)?),
            _ => return Err(CodecError),
        };
        slot.next = Some(Box::new(Next { activity, priority }));
    }
    Ok(slot)
}
