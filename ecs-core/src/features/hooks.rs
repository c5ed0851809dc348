//! Hooks and observers: user code that runs when components and entities come and go.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::{Any, TypeId};

use crate::component::{ArchetypeFlags, Component, ComponentId};
use crate::entity::Entity;
use crate::error::ByIdError;
use crate::hash::BuildFibonacci;
use crate::sync::Serial;
use crate::world::{DEPTH_MAX, Lifecycle, World};

/// The kind of an event: what happened to a component of an entity, or is about to happen.
///
/// | operation | called before | called after |
/// |---|---|---|
/// | spawn, instantiate | | `Add` of all, then `Insert` of all |
/// | insert | `Replace` of those that are there | `Add` of the new ones, then `Insert` of all |
/// | remove | `Replace` of all, then `Remove` of all | |
/// | despawn, clear | `Despawn` of all, then `Replace`, then `Remove` | |
///
/// The components of a bundle come in declared order. Those of an entity that is despawned or
/// instantiated come in the order in which their types were first used. For each component, the hook is
/// called first, then the observers in the order of their registration. Before an operation the values
/// are as they were; after it everything is complete. The world is consistent in both cases.
///
/// A [cleanup component](Component::CLEANUP) stays when its entity is despawned: `Replace` and `Remove`
/// come when it is removed. If the world is cleared instead, all three come, `Despawn` for a second time.
///
/// Batches, bulk operations and command buffers trigger the same events, entity by entity. Enabling or
/// disabling a component triggers nothing: many threads flip bits at once, and none has a world to pass
/// to an observer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EventKind {
    /// The component was added to the entity, which did not have it.
    Add,
    /// The entity has a new value of the component. It may have had another one before.
    Insert,
    /// The value is about to be replaced or removed. It can still be read.
    Replace,
    /// The component is about to be removed. It can still be read.
    Remove,
    /// The entity is about to be despawned. It is still in the world.
    Despawn,
}

impl EventKind {
    /// Whether it is triggered before it takes place.
    pub(crate) const fn comes_before(self) -> bool {
        matches!(self, Self::Replace | Self::Remove | Self::Despawn)
    }

    pub(crate) const fn flag(self) -> ArchetypeFlags {
        match self {
            Self::Add => ArchetypeFlags::ADD,
            Self::Insert => ArchetypeFlags::INSERT,
            Self::Replace => ArchetypeFlags::REPLACE,
            Self::Remove => ArchetypeFlags::REMOVE,
            Self::Despawn => ArchetypeFlags::DESPAWN,
        }
    }
}

/// An event: something that happened to a component of an entity, or is about to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// The kind of the event.
    pub kind: EventKind,
    /// The entity to which it happens.
    pub entity: Entity,
    /// The component to which it happens.
    pub component: ComponentId,
}

/// The id of an observer, by which it can be removed. No observer of another world has the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObserverId(u64);

type ObserverFn = dyn Fn(&mut World, &dyn Any, Entity) + Send + Sync;

/// A hook, which has the id zero, or an observer. It is shared, so it stays alive while it runs, even if
/// it removes itself.
#[derive(Clone)]
struct Observer {
    id: ObserverId,
    call: Arc<ObserverFn>,
}

const HOOK: ObserverId = ObserverId(0);

static OBSERVER_IDS: Serial = Serial::starting_at(1);

/// The events for which an observer is called.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Topic {
    /// An [`Event`] of a component.
    Component(EventKind, ComponentId),
    /// Any event of a user-defined type.
    Type(TypeId),
}

/// The hooks and observers of one world.
#[derive(Default)]
struct Observers {
    /// Each list is in increasing order of ids.
    lists: hashbrown::HashMap<Topic, Vec<Observer>, BuildFibonacci>,
    has_event_observers: bool,
    newest: u64,
    depth: u32,
    /// The events of the operations that are calling observers, the innermost last, each with whether it
    /// is the one that they are called for now.
    dispatch: Vec<(Event, bool)>,
}

impl Observers {
    fn list(&self, topic: Topic) -> &[Observer] {
        self.lists.get(&topic).map_or(&[], Vec::as_slice)
    }

    fn add(&mut self, topic: Topic, call: Arc<ObserverFn>) -> ObserverId {
        self.newest = OBSERVER_IDS.next();
        let id = ObserverId(self.newest);
        self.lists.entry(topic).or_default().push(Observer { id, call });
        id
    }

    /// Returns the observer after `last`, of those whose ids are at most `newest`.
    fn next(&self, topic: Topic, last: Option<ObserverId>, newest: u64) -> Option<Observer> {
        let list = self.list(topic);
        let place = list.partition_point(|observer| Some(observer.id) <= last);
        list.get(place).filter(|observer| observer.id.0 <= newest).cloned()
    }
}

/// Converts an observer of a component into the form in which all observers are stored.
fn of_component(observer: impl Fn(&mut World, Event) + Send + Sync + 'static) -> Arc<ObserverFn> {
    Arc::new(move |world, event, _| {
        if let Some(&event) = event.downcast_ref() {
            observer(world, event);
        }
    })
}

/// Access to the hooks and observers of a world. Created by [`World::hooks`].
///
/// A *hook* belongs to a component: there is one for each [kind of event](EventKind). It runs before all
/// observers and is never removed. Code that only wants to be notified *observes*. What
/// [`observe`](Self::observe) says about observers also holds for hooks.
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::EventKind;
/// # #[derive(Component)] struct Imp;
/// #[derive(Default)]
/// struct Census(usize);
///
/// let mut world = World::new();
/// world.insert_resource(Census::default());
/// world
///     .hooks()
///     .on::<Imp>(EventKind::Add, |world, _| world.resource_mut::<Census>().unwrap().0 += 1)
///     .on::<Imp>(EventKind::Remove, |world, _| world.resource_mut::<Census>().unwrap().0 -= 1);
/// let imps = world.spawn_batch((0..10).map(|_| Imp));
/// world.despawn(imps[3])?;
/// world.remove::<Imp>(imps[4])?;
/// assert_eq!(world.resource::<Census>()?.0, 8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Hooks<'w>(&'w mut World);

debug_fields!([] Hooks<'_>:);

impl Hooks<'_> {
    /// Sets the hook of a component type for a kind of event. It runs first whenever that happens.
    ///
    /// # Panics
    /// Panics if this hook is set already, or if an entity has the component, because the hook would have
    /// missed it.
    pub fn on<T: Component>(
        &mut self,
        kind: EventKind,
        hook: impl Fn(&mut World, Event) + Send + Sync + 'static,
    ) -> &mut Self {
        const { assert!(!T::MANAGED, "nothing is told of what the world manages") };
        let id = self.0.register::<T>();
        let is_used = self
            .0
            .archetypes()
            .iter()
            .any(|archetype| !archetype.is_empty() && archetype.components().contains(id));
        assert!(!is_used, "an entity has {}: set its hooks before it is used", T::name());
        let list = self.0.observers_mut().lists.entry(Topic::Component(kind, id)).or_default();
        let is_set = list.first().is_some_and(|first| first.id == HOOK);
        assert!(!is_set, "{} has a hook for {kind:?} already", T::name());
        list.insert(0, Observer { id: HOOK, call: of_component(hook) });
        self.0.add_flags(id, kind.flag());
        self
    }

    /// Adds an observer, which is called whenever this happens to a component of this type. [`EventKind`]
    /// says when exactly, and in which order.
    ///
    /// An observer, or a hook, may do anything to the world. What it does happens at once, with events of
    /// its own, before the next observer is called. If it removes the component or despawns the entity,
    /// the observers after it are not called. What is about to happen is triggered once: if an observer
    /// of a removal despawns the entity, that does not trigger the same events again. An operation that
    /// has called its observers beforehand continues with the world as they left it: an insertion into an
    /// entity that they despawned is refused. An observer that is added takes part from the next event
    /// on. One that is removed is not called any more. It may remove itself.
    ///
    /// If an observer panics, the world is consistent: an event that is triggered beforehand has not
    /// taken place, and one that is triggered afterwards has. An entity whose last cleanup component was
    /// removed is gone. The observers after the one that panicked are not called. Nor are the observers
    /// of an insertion during which the drop of a replaced value panicked, if they come after it.
    ///
    /// # Panics
    /// Panics if observers trigger each other 128 levels deep, or if an observer puts another world in
    /// place of the one that it was given. The panic comes from the operation that is observed.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::{Event, EventKind};
    /// # #[derive(Component)] struct Position(i32);
    /// # #[derive(Component)] struct Corpse(i32);
    /// let mut world = World::new();
    /// let observer = world.hooks().observe::<Position>(EventKind::Despawn, |world: &mut World, event: Event| {
    ///     let position = world.get::<Position>(event.entity).unwrap().0;
    ///     world.spawn(Corpse(position));
    /// });
    /// let imp = world.spawn(Position(3));
    /// world.despawn(imp)?;
    /// assert_eq!(world.query::<&Corpse>().into_iter().next().unwrap().0, 3);
    /// assert!(world.hooks().unobserve(observer));
    /// # Ok::<(), formic_ecs::NoSuchEntity>(())
    /// ```
    #[doc(alias("add_observer", "RemovedComponents", "on_add", "on_remove"))]
    pub fn observe<T: Component>(
        &mut self,
        kind: EventKind,
        observer: impl Fn(&mut World, Event) + Send + Sync + 'static,
    ) -> ObserverId {
        const { assert!(!T::MANAGED, "nothing is told of what the world manages") };
        let component = self.0.register::<T>();
        self.add(kind, component, of_component(observer))
    }

    /// Adds an observer, which is called whenever this happens to the component with this id, as
    /// [`observe`](Self::observe) does.
    ///
    /// # Errors
    /// Returns an error if the world does not know the id, or only the world adds and removes the
    /// component, such as the two sides of a relation.
    pub fn observe_by_id(
        &mut self,
        kind: EventKind,
        component: ComponentId,
        observer: impl Fn(&mut World, Event) + Send + Sync + 'static,
    ) -> Result<ObserverId, ByIdError> {
        let info = self.0.registry.find(component)?;
        if info.managed {
            return Err(ByIdError::Managed(info.name().clone()));
        }
        Ok(self.add(kind, component, of_component(observer)))
    }

    fn add(
        &mut self,
        kind: EventKind,
        component: ComponentId,
        call: Arc<ObserverFn>,
    ) -> ObserverId {
        self.0.add_flags(component, kind.flag());
        self.0.observers_mut().add(Topic::Component(kind, component), call)
    }

    /// Adds an observer, which is called whenever an event of this type is [triggered](Self::trigger). It
    /// behaves like other [observers](Self::observe).
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
    /// struct Robbed(u32);
    ///
    /// let mut world = World::new();
    /// world.hooks().observe_event(|world: &mut World, robbed: &Robbed, who: Entity| {
    ///     world.get_mut::<Gold>(who).expect("it has some").0 -= robbed.0;
    /// });
    /// let imp = world.spawn(Gold(5));
    /// world.hooks().trigger(&Robbed(2), imp);
    /// assert_eq!(world.get(imp), Ok(&Gold(3)));
    /// ```
    pub fn observe_event<E: 'static>(
        &mut self,
        observer: impl Fn(&mut World, &E, Entity) + Send + Sync + 'static,
    ) -> ObserverId {
        self.0.observers_mut().has_event_observers = true;
        // The end of a relation is an event, also when the world is cleared: those that are related are
        // despawned one by one then.
        let all = self.0.registry.infos().iter();
        let related = all.filter(|info| info.flags.any(ArchetypeFlags::RELATED));
        let related: Vec<_> = related.map(|info| info.id).collect();
        related.into_iter().for_each(|id| self.0.add_flags(id, ArchetypeFlags::DESPAWN));
        let call = move |world: &mut World, event: &dyn Any, entity| {
            if let Some(event) = event.downcast_ref() {
                observer(world, event, entity);
            }
        };
        self.0.observers_mut().add(Topic::Type(TypeId::of::<E>()), Arc::new(call))
    }

    /// Removes an observer. Returns `false` if it was removed already.
    pub fn unobserve(&mut self, observer: ObserverId) -> bool {
        let lists = &mut self.0.extensions.get_mut::<Observers>().lists;
        // The archetypes keep their flags, which costs a check and no more. The captures of the closure
        // are dropped at the end, when all lists are consistent.
        let found = lists.values_mut().find_map(|list| {
            let place = list.binary_search_by_key(&observer, |observer| observer.id).ok()?;
            Some(list.remove(place))
        });
        found.is_some()
    }

    /// Calls the observers of an event of any type, in the order of their registration. `entity` is the
    /// entity that the event is about. It need not be alive.
    pub fn trigger<E: 'static>(&mut self, event: &E, entity: Entity) {
        self.0.trigger_topic(Topic::Type(TypeId::of::<E>()), &[], (event, entity));
    }
}

/// Hooks, observers, and user-defined events.
impl World {
    /// Returns access to the hooks and observers of this world: to add them, and to trigger events.
    #[must_use]
    pub const fn hooks(&mut self) -> Hooks<'_> {
        Hooks(self)
    }

    /// Whether an observer of a user-defined event, or of a relation, was ever added.
    pub(crate) fn has_event_observers(&self) -> bool {
        self.extensions.get::<Observers>().is_some_and(|hooks| hooks.has_event_observers)
    }

    /// Returns the hooks and observers, which the kernel calls from now on.
    fn observers_mut(&mut self) -> &mut Observers {
        self.callbacks.trigger = trigger;
        self.extensions.get_mut()
    }

    /// Calls the observers that exist now, one after the other. Those of a component, whose event is the
    /// last of `dispatched`, are called for as long as the entity has it.
    fn trigger_topic(&mut self, topic: Topic, dispatched: &[Event], of: (&dyn Any, Entity)) {
        let Some(newest) = self.extensions.get::<Observers>().map(|it| it.newest) else { return };
        let (mut last, (event, entity)) = (None, of);
        while let Some(next) = self.extensions.get_mut::<Observers>().next(topic, last, newest) {
            last = Some(next.id);
            let at = self.locate(entity).map(|at| self.archetypes.get(at.archetype).components());
            let is_there = |of: &Event| at.is_some_and(|set| set.contains(of.component));
            if !dispatched.last().is_none_or(is_there) {
                return;
            }
            self.call(dispatched, |world| (next.call)(world, event, entity));
        }
    }

    /// Calls one observer, one level deeper.
    fn call(&mut self, events: &[Event], observer: impl FnOnce(&mut Self)) {
        /// Restores the depth when it is dropped, also by a panic.
        struct DepthGuard<'w>(&'w mut World, usize, u64);

        impl Drop for DepthGuard<'_> {
            fn drop(&mut self) {
                if self.0.id() != self.2 {
                    // This is not the world whose depth was increased: `call` panics.
                    return;
                }
                let hooks = self.0.extensions.get_mut::<Observers>();
                hooks.depth = hooks.depth.saturating_sub(1);
                hooks.dispatch.truncate(self.1);
            }
        }

        let id = self.id();
        let hooks = self.extensions.get_mut::<Observers>();
        assert!(
            hooks.depth < DEPTH_MAX,
            "hooks and observers cause each other without end: {DEPTH_MAX} levels deep"
        );
        let dispatched_before = hooks.dispatch.len();
        hooks.depth += 1;
        hooks.dispatch.extend(events.iter().map(|event| (*event, events.last() == Some(event))));
        observer(DepthGuard(self, dispatched_before, id).0);
        assert_eq!(self.id(), id, "a hook or observer put another world in place of its own");
    }
}

/// The components of an entity whose events are triggered.
#[derive(Clone, Copy)]
enum Which<'a> {
    All,
    These(&'a [ComponentId]),
    /// All. For those that stay for cleanup, only the despawning is triggered.
    AllButCleanup,
}

/// The function that the kernel calls once there is a hook or an observer.
fn trigger(world: &mut World, entity: Entity, moment: Lifecycle<'_>) {
    use EventKind::{Add, Despawn, Insert, Remove, Replace};
    match moment {
        Lifecycle::Spawned(ids) => world.trigger_all(entity, &[Add, Insert], Which::These(ids)),
        Lifecycle::Arrived => world.trigger_all(entity, &[Add, Insert], Which::All),
        Lifecycle::Inserting(ids) => world.trigger_all(entity, &[Replace], Which::These(ids)),
        Lifecycle::Inserted(ids, before) => {
            let had = world.archetypes.get(before).components();
            let added: Vec<_> = ids.iter().copied().filter(|&id| !had.contains(id)).collect();
            world.trigger_all(entity, &[Add], Which::These(&added));
            world.trigger_all(entity, &[Insert], Which::These(ids));
        }
        Lifecycle::Removing(ids) => {
            world.trigger_all(entity, &[Replace, Remove], Which::These(ids));
        }
        Lifecycle::Despawning { keeps_cleanup } => {
            let which = if keeps_cleanup { Which::AllButCleanup } else { Which::All };
            world.trigger_all(entity, &[Despawn, Replace, Remove], which);
        }
    }
}

impl World {
    /// Triggers events of these kinds, in this order, for these components, or for all. Each event is
    /// triggered once. Those whose observers are added meanwhile are included.
    fn trigger_all(&mut self, entity: Entity, kinds: &[EventKind], which: Which<'_>) {
        let mut triggered = Vec::new();
        while let Some(event) = self.pending(entity, kinds, which, &triggered) {
            triggered.push(event);
            let topic = Topic::Component(event.kind, event.component);
            self.trigger_topic(topic, &triggered, (&event, entity));
        }
    }

    fn pending(
        &self,
        entity: Entity,
        kinds: &[EventKind],
        which: Which<'_>,
        triggered: &[Event],
    ) -> Option<Event> {
        let hooks = self.extensions.get::<Observers>()?;
        let archetype = self.archetypes.get(self.locate(entity)?.archetype);
        let keeps_cleanup = matches!(which, Which::AllButCleanup);
        if keeps_cleanup && archetype.flags.any(ArchetypeFlags::DESPAWNED) {
            // An observer has despawned it, and it awaits cleanup.
            return None;
        }
        let components = match which {
            Which::All | Which::AllButCleanup => archetype.components().ids(),
            Which::These(ids) => ids,
        };
        let stays = |event: &Event| {
            keeps_cleanup
                && event.kind != EventKind::Despawn
                && self.registry.info(event.component).is_cleanup()
        };
        let is_insertion = kinds == [EventKind::Replace];
        let kinds = kinds.iter().filter(|kind| archetype.flags.any(kind.flag()));
        kinds
            .flat_map(|&kind| {
                components.iter().map(move |&component| Event { kind, entity, component })
            })
            .find(|event| {
                let is_observed = archetype.components().contains(event.component)
                    && !hooks.list(Topic::Component(event.kind, event.component)).is_empty();
                // An insertion may replace another value than the one that is about to go.
                let is_same = |&(other, is_now)| other == *event && (is_now || !is_insertion);
                let is_dispatching =
                    event.kind.comes_before() && hooks.dispatch.iter().any(is_same);
                is_observed && !is_dispatching && !triggered.contains(event) && !stays(event)
            })
    }
}
