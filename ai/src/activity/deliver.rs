//! Delivery: tells activities what they wait for.

use formic_ecs::{
    Access, Codec, Despawned, EnabledMut, Entity, EventKind, QueryPlan, View, ViewPlan, With,
    World, WorldCell,
};
use formic_jobs::{
    EventReader, Events, ParamError, RunContext, SaveRules, StateArchive, SystemAccess, SystemParam,
};

use super::behaviour::{Activity, EventOf};
use super::domain::{ActivityDomain, Drops};
use super::event::{Event, EventKinds, Notice, Posted};
use super::slot::{ActivitySlot, Blocking, State};
use super::subscription::Subscription;
use super::table::{LastNumber, Subscriptions, Watched};
use super::tick::Finished;
use crate::explain::DecisionRecorder;

type Told<A> = (&'static mut ActivitySlot<A>, EnabledMut<Blocking>);
type Tasks<A> = (Entity, &'static ActivitySlot<A>);

/// The state of delivery between runs.
pub struct DeliveryState<A: Activity> {
    told: ViewPlan<Told<A>>,
    tasks: QueryPlan<Tasks<A>, ()>,
    /// Makes events age. Which ones were read is stored with the subscriptions, since several systems
    /// deliver.
    reader: <EventReader<'static, Posted<EventOf<A>>> as SystemParam>::State,
    matches: Vec<(Entity, Subscription)>,
}

debug_fields!([A: Activity] DeliveryState<A>:);

/// The counts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ActivityReport {
    /// The number of agents and parallel activities that were awake.
    pub awake: usize,
    /// The number of notices that activities received: events, deaths, timers, and events that may have
    /// been [missed](super::Notice::Missed).
    pub told: usize,
    /// The number of events without a subscriber.
    pub dropped: usize,
    /// The number of events that were gone before they were read, because activities did not run for
    /// longer than [events are kept](formic_jobs::Events::set_lifetime). Activities that wait for events
    /// are [notified](super::Notice::Missed).
    pub missed: u64,
    /// The number of subscriptions that were visited to find receivers, and to end those that have ended.
    pub looked_at: usize,
    /// The number of activities that ended.
    pub ended: usize,
    /// The number of activities that tried to sleep without waiting for anything, and were kept awake.
    pub waiting_for_nothing: usize,
}

/// Installs the table of subscriptions and the hooks that report removals and deaths.
fn install<A: Activity>(world: &mut World) {
    if world.resource::<Subscriptions<A>>().is_ok() {
        return;
    }
    world.insert_resource(Subscriptions::<A>::default());
    let rules = SaveRules::of(world);
    rules.save_part(Codec::plain(), Subscriptions::<A>::to_save, Subscriptions::<A>::load);
    if <EventOf<A> as Event>::CODEC.is_saved() {
        rules.save(Posted::<EventOf<A>>::CODEC);
    }
    if <A::Domain as ActivityDomain>::FAILURE.is_saved() {
        rules.save(Finished::codec::<A::Domain>());
    }
    world.register::<LastNumber>();
    world.hooks().observe::<ActivitySlot<A>>(EventKind::Replace, |world, event| {
        depart::<A>(world, event.entity);
    });
    world.hooks().observe::<Watched>(EventKind::Despawn, |world, event| {
        if let Ok(subscriptions) = world.resource_mut::<Subscriptions<A>>() {
            subscriptions.note_death(event.entity);
        }
    });
}

/// Handles an activity slot that is removed or replaced: its subscriptions end, and it becomes idle.
fn depart<A: Activity>(world: &mut World, task: Entity) {
    if let Ok(subscriptions) = world.resource_mut::<Subscriptions<A>>() {
        subscriptions.unlink_all(task);
    }
    let Ok(slot) = world.get_mut::<ActivitySlot<A>>(task) else { return };
    let last = slot.newest;
    let departed = slot.depart();
    if last > 0 && !world.has::<Despawned>(task) {
        // The entity exists, so this cannot fail.
        _ = world.insert(task, LastNumber(last));
    }
    // Code that runs in the drop may look at this state, which is consistent by now.
    drop(departed);
}

impl<A: Activity> DeliveryState<A> {
    /// Prepares a world. Adds the components that are accessed to `components`.
    pub(super) fn new(
        world: &mut World,
        access: &mut SystemAccess,
        components: &mut Access,
    ) -> Self {
        install::<A>(world);
        access.add_resource_write::<Subscriptions<A>>();
        <DecisionRecorder<'_> as SystemParam>::init(world, access);
        let reader = EventReader::<Posted<EventOf<A>>>::init(world, access);
        let (told, tasks) = (world.view_plan(), world.plan());
        components.merge(told.access());
        components.merge(tasks.access());
        Self { told, tasks, reader, matches: Vec::new() }
    }

    /// The tasks and the table have their own state: only the reader needs a visit.
    pub(super) fn visit_state(&mut self, archive: &mut StateArchive<'_>) {
        EventReader::<Posted<EventOf<A>>>::visit_state(&mut self.reader, archive);
    }

    /// Delivers missed events, events, deaths, and the timers that are due.
    pub(super) fn deliver(
        &mut self,
        context: RunContext<'_>,
        table: &mut Subscriptions<A>,
        now: Option<u64>,
    ) -> Result<ActivityReport, ParamError> {
        // Only its existence has an effect.
        <EventReader<'_, Posted<EventOf<A>>>>::fetch(&mut self.reader, context)?.clear();
        let cell = context.cell;
        table.looked_at = 0;
        // Queued changes that were not applied before the next run never will be.
        let needs_rebuild =
            table.needs_rebuild || table.unapplied_tick.is_some_and(|tick| tick != context.tick);
        let is_restored = table.restored != Some(cell.restored());
        if needs_rebuild || is_restored {
            self.rebuild(cell, table, is_restored)?;
        }
        // If an activity panics, others may not be told of what it was told.
        table.needs_rebuild = true;
        let view = cell.view(&mut self.told)?;
        let mut nothing = ();
        let recorder = <DecisionRecorder<'_> as SystemParam>::fetch(&mut nothing, context)?;
        let mut notifier = Notifier { view, table, delivered: ActivityReport::default(), recorder };
        let matches = &mut self.matches;
        notifier.notify_calls();
        notifier.notify_missed(cell, needs_rebuild && !is_restored, matches)?;
        notifier.notify_posted(cell, matches)?;
        notifier.notify_deaths(matches);
        if let Some(now) = now {
            notifier.table.now = now;
            while let Some(timer) = notifier.table.pop_timer(now) {
                notifier.tell(timer.task(), Notice::Time(timer), timer.task());
            }
        }
        let delivered = notifier.delivered;
        table.needs_rebuild = false;
        Ok(delivered)
    }

    /// Rebuilds the table from all tasks, after it has become invalid.
    fn rebuild(
        &mut self,
        cell: WorldCell<'_>,
        table: &mut Subscriptions<A>,
        is_restored: bool,
    ) -> Result<(), ParamError> {
        table.clear();
        if is_restored {
            // The pending deaths and events concern the world before it was restored.
            table.deaths.clear();
            let events = cell.resource::<Events<Posted<EventOf<A>>>>()?;
            let unread = table.cursor.read(&events);
            let passed_over = if table.restored.is_some() { unread.len() } else { 0 };
            unread.take(passed_over).for_each(drop);
            // A loaded game knows how many its activities were told of.
            if !std::mem::take(&mut table.is_loaded) {
                table.missed = table.cursor.missed();
            }
        }
        let mut tasks = cell.query(&mut self.tasks)?;
        for (task, slot) in tasks.query() {
            for &subscription in slot.subscriptions() {
                let subject = subscription.subject();
                table.link(task, subscription);
                if !cell.contains(subject) {
                    table.deaths.push(subject);
                } else if subject != task && subscription.due().is_none() {
                    table.unmarked.push(subject);
                }
            }
        }
        table.restored = Some(cell.restored());
        (table.needs_rebuild, table.unapplied_tick) = (false, None);
        Ok(())
    }
}

struct Notifier<'t, 'v, A: Activity> {
    view: View<'v, Told<A>>,
    table: &'t mut Subscriptions<A>,
    delivered: ActivityReport,
    recorder: DecisionRecorder<'v>,
}

impl<A: Activity> Notifier<'_, '_, A> {
    /// Wakes the tasks whose wakers were called.
    fn notify_calls(&mut self) {
        // One by one, because making a record may panic. Calls that come meanwhile wait for the next run,
        // since they might never end.
        for _ in 0..self.table.calls.len() {
            let Some(token) = self.table.calls.next() else { break };
            let task = token.task();
            let Ok((slot, mut blocking)) = self.view.get_mut(task) else { continue };
            let is_in_force = slot.subscriptions.iter().any(|it| it.token(task) == token);
            if !is_in_force || slot.state != State::Blocked {
                continue;
            }
            (slot.state, slot.since) = (State::Active, self.table.now);
            blocking.set(false);
            if let Some(watch) = self.recorder.watch_by(slot.agent(task), task) {
                watch.woken::<A>(slot.to_string(), None, task);
            }
        }
    }

    /// Notifies of events that are gone unread, or, if `lost`, of requests of the last run that may be
    /// lost. These notices come before the events that are still there.
    fn notify_missed(
        &mut self,
        cell: WorldCell<'_>,
        lost: bool,
        matches: &mut Vec<(Entity, Subscription)>,
    ) -> Result<(), ParamError> {
        let events = cell.resource::<Events<Posted<EventOf<A>>>>()?;
        drop(self.table.cursor.read(&events));
        let missed = self.table.cursor.missed();
        let told = std::mem::replace(&mut self.table.missed, missed);
        self.delivered.missed = missed.saturating_sub(told);
        if !lost && self.delivered.missed == 0 {
            return Ok(());
        }
        matches.clear();
        // If the lost requests include a waker, an activity waits for a call by a subscription to itself.
        self.table.all_to_events(lost, matches);
        for (task, subscription) in matches.drain(..) {
            let calls =
                |slot: &ActivitySlot<A>| [task, slot.agent(task)].contains(&subscription.subject());
            if subscription.kinds() == EventKinds::NONE
                && !self.view.get_mut(task).is_ok_and(|(slot, _)| calls(slot))
            {
                continue;
            }
            let token = subscription.token(task);
            self.tell(task, Notice::Missed(token), subscription.subject());
        }
        Ok(())
    }

    fn notify_posted(
        &mut self,
        cell: WorldCell<'_>,
        matches: &mut Vec<(Entity, Subscription)>,
    ) -> Result<(), ParamError> {
        let events = cell.resource::<Events<Posted<EventOf<A>>>>()?;
        loop {
            // The event counts as delivered first, so that an activity that panics is not told of it
            // again.
            let mut reading = self.table.cursor.clone();
            self.table.cursor.read(&events).next();
            let Some(post) = reading.read(&events).next() else { break };
            let kind = Event::kind(&post.event);
            matches.clear();
            let mut looked_at = 0;
            let mut wants = |(_, it): &(Entity, Subscription)| {
                looked_at += 1;
                it.subject() == post.subject && it.kinds().intersects(kind)
            };
            match post.answers {
                // Independent of how many others have subscribed to the same subject.
                Some(token) => matches.extend(self.table.with_token(token).filter(&mut wants)),
                None => matches.extend(self.table.of_subject(post.subject).filter(&mut wants)),
            }
            self.table.looked_at += looked_at;
            self.delivered.dropped += usize::from(matches.is_empty());
            // The newest subscription comes first in the list.
            for (task, subscription) in matches.drain(..).rev() {
                let token = subscription.token(task);
                self.tell(task, Notice::Event(&post.event, token), post.subject);
            }
        }
        Ok(())
    }

    fn notify_deaths(&mut self, matches: &mut Vec<(Entity, Subscription)>) {
        matches.clear();
        for &subject in &self.table.deaths {
            matches.extend(self.table.of_subject(subject));
        }
        // The order in which deaths became known may depend on other agents.
        matches.sort_unstable_by_key(|(task, it)| it.token(*task));
        for (task, subscription) in matches.drain(..) {
            let token = subscription.token(task);
            self.tell(task, Notice::Died(token), subscription.subject());
        }
        // Only now: if an activity panics, the next run tells those that were not told.
        self.table.deaths.clear();
    }

    /// Notifies one activity, if it still waits for this.
    fn tell(&mut self, task: Entity, notice: Notice<'_, EventOf<A>>, subject: Entity) {
        let Ok((slot, mut blocking)) = self.view.get_mut(task) else {
            // It is despawned, and waits to be finished.
            return;
        };
        let is_it = |it: &Subscription| it.token(task) == notice.token();
        let Some(place) = slot.subscriptions.iter().position(is_it) else { return };
        let is_over = matches!(notice, Notice::Died(_) | Notice::Time(_));
        if is_over {
            let subscription = slot.subscriptions.remove(place);
            self.table.unlink(subscription.token(task));
        }
        let watch = self.recorder.watch_by(slot.agent(task), task);
        let Some(activity) = &mut slot.activity else { return };
        self.delivered.told += 1;
        let has_to_look = matches!(notice, Notice::Died(_) | Notice::Missed(_));
        // Active while it is told. If it panics it stays active, since it may have nothing left to wait
        // for.
        let was_blocked = slot.state == State::Blocked;
        // Not set if another activity is to begin.
        let was_marked = blocking.get();
        if was_blocked {
            slot.state = State::Active;
            blocking.set(false);
        }
        let response = activity.on_event(notice, subject);
        match response.drops {
            Drops::This if !is_over => {
                let subscription = slot.subscriptions.remove(place);
                self.table.unlink(subscription.token(task));
            }
            Drops::All => {
                slot.subscriptions.clear();
                self.table.unlink_all(task);
            }
            Drops::None | Drops::This => {}
        }
        let has_to = has_to_look || slot.subscriptions.is_empty();
        if was_blocked && (response.wakes || has_to) {
            slot.since = self.table.now;
            if let Some(watch) = watch {
                watch.woken::<A>(slot.to_string(), Some(&notice), subject);
            }
        } else if was_blocked {
            slot.state = State::Blocked;
            blocking.set(was_marked);
        }
    }
}

/// A system that delivers all pending events to activities of type `A`, and wakes them.
///
/// [`Activities::run`](super::Activities::run) begins with the same. At the end of a tick this system
/// makes sure that no event is pending *between* ticks, where a snapshot would not contain it.
///
/// ```
/// # use std::borrow::Cow;
/// # use formic_ai::activity::{Activity, Event, Status, Tick};
/// use formic_ai::activity::{self, Activities};
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
/// # fn think() {}
/// # fn walk() {}
/// fn live(activities: Activities<Eat>) {
///     activities.run(0, &());
/// }
/// let mut world = World::new();
/// let schedule =
///     Schedule::builder().add((think, live, walk, activity::deliver::<Eat>)).build(&mut world)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Panics
/// Panics if an activity panics.
pub fn deliver<A: Activity>(deliveries: Deliveries<'_, A>) {
    let Deliveries { state, context } = deliveries;
    let delivered = context.cell.resource_mut().map_err(ParamError::from);
    let delivered = delivered.and_then(|mut table| state.deliver(context, &mut table, None));
    if let Err(why) = delivered {
        panic!("events cannot be delivered to activities: {why}");
    }
}

/// Checks that the table has exactly the subscriptions of the tasks; for tests. After a restore there is
/// nothing to check until the first run.
///
/// # Errors
/// Returns a description of the first discrepancy.
pub fn check<A: Activity>(world: &World) -> Result<(), String> {
    let Ok(table) = world.resource::<Subscriptions<A>>() else { return Ok(()) };
    if table.restored != Some(world.restored()) {
        return Ok(());
    }
    let alive = world.query_ref::<Tasks<A>>().into_iter();
    let orphaned = world.query_ref_filtered::<Tasks<A>, With<Despawned>>().into_iter();
    let tasks = alive.chain(orphaned).map(|(task, slot)| (task, slot.subscriptions()));
    table.check(tasks)
}

/// The system parameter of [`deliver`].
pub struct Deliveries<'a, A: Activity> {
    state: &'a mut DeliveryState<A>,
    context: RunContext<'a>,
}

debug_fields!([A: Activity] Deliveries<'_, A>:);

impl<A: Activity> SystemParam for Deliveries<'_, A> {
    type State = DeliveryState<A>;
    type Item<'a> = Deliveries<'a, A>;

    fn init(world: &mut World, access: &mut SystemAccess) -> DeliveryState<A> {
        let mut components = Access::default();
        let state = DeliveryState::new(world, access, &mut components);
        access.add_components(&components, world);
        state
    }

    fn fetch<'a>(
        state: &'a mut DeliveryState<A>,
        context: RunContext<'a>,
    ) -> Result<Deliveries<'a, A>, ParamError> {
        Ok(Deliveries { state, context })
    }

    fn visit_state(state: &mut DeliveryState<A>, archive: &mut StateArchive<'_>) {
        state.visit_state(archive);
    }
}
