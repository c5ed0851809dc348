//! Telling activities what they wait for.

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

/// What telling keeps from run to run.
pub struct DeliveryState<A: Activity> {
    told: ViewPlan<Told<A>>,
    tasks: QueryPlan<Tasks<A>, ()>,
    /// Has the events grow older; which were read is kept with the subscriptions, for several
    /// systems tell them.
    reader: <EventReader<'static, Posted<EventOf<A>>> as SystemParam>::State,
    matches: Vec<(Entity, Subscription)>,
}

debug_fields!([A: Activity] DeliveryState<A>:);

/// What a run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ActivityReport {
    /// How many agents and parallel activities were awake.
    pub awake: usize,
    /// How many times an activity was told of an event, a death or a timer.
    pub told: usize,
    /// The number of events without a subscriber.
    pub dropped: usize,
    /// How many events were gone before they were read, because activities were not run for longer
    /// than [events are kept](formic_jobs::Events::set_lifetime). Activities that wait for events were told
    /// [so](super::Notice::Missed).
    pub missed: u64,
    /// How many subscriptions were looked at to find whom to tell, and to end those that have ended.
    pub looked_at: usize,
    /// How many activities came to their end.
    pub ended: usize,
    /// How many wanted to sleep without waiting for anything, and were not let.
    pub waiting_for_nothing: usize,
}

/// Makes sure that a world has the table, and that it is told who goes.
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

/// What a task is at is removed or replaced: its subscriptions end, and what comes out, if an activity
/// looks at it, is idle.
fn depart<A: Activity>(world: &mut World, task: Entity) {
    if let Ok(subscriptions) = world.resource_mut::<Subscriptions<A>>() {
        subscriptions.unlink_all(task);
    }
    let Ok(slot) = world.get_mut::<ActivitySlot<A>>(task) else { return };
    let last = slot.newest;
    let departed = slot.depart();
    if last > 0 && !world.has::<Despawned>(task) {
        // It is there, so this cannot fail.
        _ = world.insert(task, LastNumber(last));
    }
    // What is dropped may look: the books are in order by now.
    drop(departed);
}

impl<A: Activity> DeliveryState<A> {
    /// Gets ready for a world; adds to `components` what will be touched.
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

    /// Which tasks there are, and who has heard what, is known to the tasks and to the table.
    pub(super) fn visit_state(&mut self, archive: &mut StateArchive<'_>) {
        EventReader::<Posted<EventOf<A>>>::visit_state(&mut self.reader, archive);
    }

    /// Tells of what was missed, of events and deaths, and of the timers that are due by now.
    pub(super) fn deliver(
        &mut self,
        context: RunContext<'_>,
        table: &mut Subscriptions<A>,
        now: Option<u64>,
    ) -> Result<ActivityReport, ParamError> {
        // It has nothing to do but to be there.
        <EventReader<'_, Posted<EventOf<A>>>>::fetch(&mut self.reader, context)?.clear();
        let cell = context.cell;
        table.looked_at = 0;
        // Queued updates that were not made by the next run never will be.
        let is_torn = table.is_torn || table.unplayed.is_some_and(|tick| tick != context.tick);
        let is_restored = table.restored != Some(cell.restored());
        if is_torn || is_restored {
            self.rebuild(cell, table, is_restored)?;
        }
        // Where an activity panics, others may not come to hear what it heard.
        table.is_torn = true;
        let view = cell.view(&mut self.told)?;
        let mut nothing = ();
        let recorder = <DecisionRecorder<'_> as SystemParam>::fetch(&mut nothing, context)?;
        let mut teller = Teller { view, table, delivered: ActivityReport::default(), recorder };
        let matches = &mut self.matches;
        teller.tell_calls();
        teller.tell_missed(cell, is_torn && !is_restored, matches)?;
        teller.tell_posted(cell, matches)?;
        teller.tell_deaths(matches);
        if let Some(now) = now {
            teller.table.now = now;
            while let Some(timer) = teller.table.pop_timer(now) {
                teller.tell(timer.task(), Notice::Time(timer), timer.task());
            }
        }
        let delivered = teller.delivered;
        table.is_torn = false;
        Ok(delivered)
    }

    /// Asks all tasks what they wait for, where what is known is not the truth any more.
    fn rebuild(
        &mut self,
        cell: WorldCell<'_>,
        table: &mut Subscriptions<A>,
        is_restored: bool,
    ) -> Result<(), ParamError> {
        table.clear();
        if is_restored {
            // All of this was about the world as it was before.
            table.deaths.clear();
            let events = cell.resource::<Events<Posted<EventOf<A>>>>()?;
            let unread = table.cursor.read(&events);
            let passed_over = if table.restored.is_some() { unread.len() } else { 0 };
            unread.take(passed_over).for_each(drop);
            table.missed = table.cursor.missed();
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
        (table.is_torn, table.unplayed) = (false, None);
        Ok(())
    }
}

struct Teller<'t, 'v, A: Activity> {
    view: View<'v, Told<A>>,
    table: &'t mut Subscriptions<A>,
    delivered: ActivityReport,
    recorder: DecisionRecorder<'v>,
}

impl<A: Activity> Teller<'_, '_, A> {
    /// Wakes those that were called from outside.
    fn tell_calls(&mut self) {
        // One by one, because what a record asks of an activity may panic; and none of those that
        // come meanwhile, which might have no end.
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

    /// Where events are gone that were not read, or what activities have requested in the
    /// last run was `lost`: they come before those that are still there.
    fn tell_missed(
        &mut self,
        cell: WorldCell<'_>,
        lost: bool,
        matches: &mut Vec<(Entity, Subscription)>,
    ) -> Result<(), ParamError> {
        let events = cell.resource::<Events<Posted<EventOf<A>>>>()?;
        drop(self.table.cursor.read(&events));
        let missed = self.table.cursor.missed();
        self.delivered.missed = missed - std::mem::replace(&mut self.table.missed, missed);
        if !lost && self.delivered.missed == 0 {
            return Ok(());
        }
        matches.clear();
        // Where a waker was among what was lost, an activity that waits for a call does so by a subscription
        // to itself.
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

    fn tell_posted(
        &mut self,
        cell: WorldCell<'_>,
        matches: &mut Vec<(Entity, Subscription)>,
    ) -> Result<(), ParamError> {
        let events = cell.resource::<Events<Posted<EventOf<A>>>>()?;
        loop {
            // It counts as told before it is: an activity that panics is not told of it again.
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
                // However many others have asked the same subject.
                Some(token) => matches.extend(self.table.with_token(token).filter(&mut wants)),
                None => matches.extend(self.table.of_subject(post.subject).filter(&mut wants)),
            }
            self.table.looked_at += looked_at;
            self.delivered.dropped += usize::from(matches.is_empty());
            // The newest comes first in the list.
            for (task, subscription) in matches.drain(..).rev() {
                let token = subscription.token(task);
                self.tell(task, Notice::Event(&post.event, token), post.subject);
            }
        }
        Ok(())
    }

    fn tell_deaths(&mut self, matches: &mut Vec<(Entity, Subscription)>) {
        matches.clear();
        for &subject in &self.table.deaths {
            matches.extend(self.table.of_subject(subject));
        }
        // In which order subjects became known as dead, may have to do with other agents.
        matches.sort_unstable_by_key(|(task, it)| it.token(*task));
        for (task, subscription) in matches.drain(..) {
            let token = subscription.token(task);
            self.tell(task, Notice::Died(token), subscription.subject());
        }
        // Only now: where an activity has panicked, the next run tells those who were not told.
        self.table.deaths.clear();
    }

    /// Tells one activity, if it still waits for this.
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
        // Awake while it is told: one that panics is to look again, for it may have nothing left to
        // wait for.
        let was_blocked = slot.state == State::Blocked;
        // Not set where there is something else to begin.
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

/// Tells activities of type `A` of all events that are on their way, and wakes them, as a system.
///
/// [`Activities::run`](super::Activities::run) begins with the same. At the end of a tick it makes
/// sure that nothing is on its way *between* ticks, where a snapshot would not have it.
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
/// Panics if an activity does.
pub fn deliver<A: Activity>(deliveries: Deliveries<'_, A>) {
    let Deliveries { state, context } = deliveries;
    let delivered = context.cell.resource_mut().map_err(ParamError::from);
    let delivered = delivered.and_then(|mut table| state.deliver(context, &mut table, None));
    if let Err(why) = delivered {
        panic!("events cannot be delivered to activities: {why}");
    }
}

/// Looks whether the subscriptions that are known are those of the tasks, each of them and no others:
/// for tests. A world that was restored has nothing to look at until the first run.
///
/// # Errors
/// Returns what is wrong.
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

/// The argument of [`deliver`].
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
