//! The system parameter that runs activities.

use formic_ecs::{
    Access, CommandBuffer, Despawned, EnabledBitMut, EnabledMut, Entity, With, Without, World,
};
use formic_jobs::{
    Commands, EventWriter, Gather, ParamError, Query, RunContext, StateArchive, SystemAccess,
    SystemParam,
};

use super::behaviour::{Activity, EventOf, Failure, WorldOf};
use super::deliver::{ActivityReport, DeliveryState};
use super::domain::{Ending, Status};
use super::event::Posted;
use super::record::stopped_by;
use super::slot::{ActivitySlot, Blocking, Next, State};
use super::table::{LastNumber, Subscriptions, Watched};
use super::tick::{Effects, Finished, Outgoing, Tick};
use crate::explain::{DecisionRecorder, Ended, Watch};

type Row<A> =
    (Entity, &'static mut ActivitySlot<A>, EnabledMut<Blocking>, Option<&'static LastNumber>);
type Awake<A> = Query<'static, Row<A>, Without<Blocking>>;
/// Tasks whose entities were despawned; only the activity is left.
type Orphaned<A> = Query<'static, (Entity, &'static mut ActivitySlot<A>), With<Despawned>>;
type Posts<A> = EventWriter<'static, Posted<EventOf<A>>>;
type Ends<A> = EventWriter<'static, Finished<Failure<A>>>;
type Out<A> = Gather<'static, Outgoing<<A as Activity>::Domain>>;
type StateOf<P> = <P as SystemParam>::State;

/// All activities of type `A`: the argument of the system that runs them.
///
/// One system of a schedule runs the activities of one type. The [module documentation](super) describes
/// a run, and has a complete example.
pub struct Activities<'a, A: Activity> {
    state: &'a mut ActivitiesState<A>,
    context: RunContext<'a>,
}

/// The state that [`Activities`] keep between runs.
pub struct ActivitiesState<A: Activity> {
    delivery: DeliveryState<A>,
    awake: StateOf<Awake<A>>,
    orphaned: StateOf<Orphaned<A>>,
    commands: StateOf<Commands<'static>>,
    out: StateOf<Out<A>>,
    posts: StateOf<Posts<A>>,
    ends: StateOf<Ends<A>>,
    /// Subjects whose deaths must be reported.
    watched: Vec<Entity>,
}

debug_fields!([A: Activity] ActivitiesState<A>:);

debug_fields!([A: Activity] Activities<'_, A>:);

impl<A: Activity> SystemParam for Activities<'_, A> {
    type State = ActivitiesState<A>;
    type Item<'a> = Activities<'a, A>;

    fn init(world: &mut World, access: &mut SystemAccess) -> ActivitiesState<A> {
        // The queries are used one after the other, so their access is declared as one.
        let mut components = Access::default();
        let delivery = DeliveryState::new(world, access, &mut components);
        components.merge(world.plan_filtered::<Row<A>, Without<Blocking>>().access());
        let orphans =
            world.plan_filtered::<(Entity, &'static mut ActivitySlot<A>), With<Despawned>>();
        components.merge(orphans.access());
        access.add_components(&components, world);
        let mut covered = SystemAccess::default();
        ActivitiesState {
            delivery,
            awake: Awake::<A>::init(world, &mut covered),
            orphaned: Orphaned::<A>::init(world, &mut covered),
            commands: Commands::init(world, access),
            out: Out::<A>::init(world, access),
            posts: Posts::<A>::init(world, access),
            ends: Ends::<A>::init(world, access),
            watched: Vec::new(),
        }
    }

    fn fetch<'a>(
        state: &'a mut ActivitiesState<A>,
        context: RunContext<'a>,
    ) -> Result<Activities<'a, A>, ParamError> {
        Ok(Activities { state, context })
    }

    fn visit_commands(state: &mut ActivitiesState<A>, visit: &mut dyn FnMut(&mut [CommandBuffer])) {
        Commands::visit_commands(&mut state.commands, visit);
    }

    fn visit_state(state: &mut ActivitiesState<A>, archive: &mut StateArchive<'_>) {
        state.delivery.visit_state(archive);
        Awake::<A>::visit_state(&mut state.awake, archive);
        Orphaned::<A>::visit_state(&mut state.orphaned, archive);
    }

    fn finish(state: &mut ActivitiesState<A>, context: RunContext<'_>) {
        Posts::<A>::finish(&mut state.posts, context);
        Ends::<A>::finish(&mut state.ends, context);
    }
}

impl<A: Activity> Activities<'_, A> {
    /// Notifies the activities of what they wait for, and ticks those that are awake, on all threads of
    /// the pool. `now` is the number of the tick, by which timers go. It is part of the state of the
    /// game, and must not decrease except by restoring a snapshot.
    ///
    /// # Panics
    /// Panics if an activity panics. The other activities continue in the next run.
    pub fn run(self, now: u64, world: &WorldOf<'_, A>) -> ActivityReport {
        match self.state.run(self.context, now, world) {
            Ok(report) => report,
            Err(why) => panic!("activities cannot run: {why}"),
        }
    }
}

impl<A: Activity> ActivitiesState<A> {
    fn run(
        &mut self,
        context: RunContext<'_>,
        now: u64,
        world: &WorldOf<'_, A>,
    ) -> Result<ActivityReport, ParamError> {
        let mut table = context.cell.resource_mut::<Subscriptions<A>>()?;
        let mut report = self.delivery.deliver(context, &mut table, Some(now))?;

        let mut nothing = ();
        let recorder = <DecisionRecorder<'_> as SystemParam>::fetch(&mut nothing, context)?;
        self.watched.append(&mut table.unmarked);
        // Until all results of the ticks are applied. If a tick panics, this never happens, and the next
        // run rebuilds the table from the activities.
        table.needs_rebuild = true;
        // Likewise until all queued changes are applied.
        table.unapplied_tick = Some(context.tick);
        let calls = &table.calls.clone();
        let mut commands = Commands::fetch(&mut self.commands, context)?;
        let mut out = Out::<A>::fetch(&mut self.out, context)?;
        {
            let mut orphaned = Orphaned::<A>::fetch(&mut self.orphaned, context)?;
            orphaned.par_for_each_with(
                (&mut commands, &mut out),
                |(task, slot), (commands, out)| {
                    let agent = slot.agent(task);
                    let mut effects = Effects { task, agent, now, commands, out, calls };
                    let watch = recorder.watch_by(agent, task);
                    finish(slot, Ending::Interrupted, &mut effects, world, watch);
                    // The last component, which kept the entity.
                    effects.commands.remove::<ActivitySlot<A>>(task);
                },
            );
        }
        {
            let mut awake = Awake::<A>::fetch(&mut self.awake, context)?;
            report.awake = awake.count();
            awake.par_for_each_with(
                (&mut commands, &mut out),
                |(task, slot, mut blocking, last), (commands, out)| {
                    let agent = slot.agent(task);
                    let watch = recorder.watch_by(agent, task);
                    if let (0, Some(last)) = (slot.newest, last) {
                        slot.newest = last.0;
                    }
                    let effects = Effects { task, agent, now, commands, out, calls };
                    tick(slot, &mut blocking, effects, world, watch);
                },
            );
        }
        let mut posts = Posts::<A>::fetch(&mut self.posts, context)?;
        let mut ends = Ends::<A>::fetch(&mut self.ends, context)?;
        for outgoing in out.drain() {
            match outgoing {
                Outgoing::Post(post) => posts.send(post),
                Outgoing::WaitsForNothing => report.waiting_for_nothing += 1,
                Outgoing::Unlink(token) => table.unlink(token),
                Outgoing::UnlinkAll(task) => table.unlink_all(task),
                Outgoing::Ended(finished) => {
                    report.ended += 1;
                    ends.send(finished);
                }
                Outgoing::Link { task, subscription } => {
                    let subject = subscription.subject();
                    if subject != task && !table.is_watched(subject) {
                        self.watched.push(subject);
                    }
                    table.link(task, subscription);
                }
            }
        }
        table.needs_rebuild = false;
        report.looked_at = table.looked_at;
        let watched = std::mem::take(&mut self.watched);
        commands.run(move |world| {
            watch::<A>(world, &watched);
            // The last queued command: all others have been applied.
            if let Ok(subscriptions) = world.resource_mut::<Subscriptions<A>>() {
                subscriptions.unapplied_tick = None;
            }
        });
        Ok(report)
    }
}

/// Marks these subjects, so that their deaths are reported, including those that have died already.
fn watch<A: Activity>(world: &mut World, subjects: &[Entity]) {
    for &subject in subjects {
        let is_alive = world.has::<Watched>(subject) || world.insert(subject, Watched).is_ok();
        let is_dying = world.has::<Despawned>(subject);
        if is_alive && !is_dying {
            continue;
        }
        if let Ok(subscriptions) = world.resource_mut::<Subscriptions<A>>() {
            subscriptions.note_death(subject);
        }
    }
}

/// Runs one tick of an agent that is awake.
fn tick<A: Activity>(
    slot: &mut ActivitySlot<A>,
    blocking: &mut EnabledBitMut<'_>,
    mut effects: Effects<'_, A::Domain>,
    world: &WorldOf<'_, A>,
    watch: Option<Watch<'_>>,
) {
    let now = effects.now;
    if slot.next.is_some() {
        begin_next(slot, &mut effects, world, watch);
    }
    let Some(activity) = slot.activity.as_mut().filter(|_| slot.state == State::Active) else {
        // There is no activity; or the game has changed the bit of one that sleeps.
        blocking.set(true);
        return;
    };
    let mut tick = Tick {
        effects: effects.reborrow(),
        subscriptions: &mut slot.subscriptions,
        newest: &mut slot.newest,
        ended: None,
    };
    let status = activity.on_tick(&mut tick, world);
    match status {
        Status::Ongoing => {}
        Status::Blocked if slot.subscriptions.is_empty() => {
            effects.out.push(Outgoing::WaitsForNothing);
        }
        Status::Blocked => {
            (slot.state, slot.since) = (State::Blocked, now);
            blocking.set(true);
            if let Some(watch) = watch {
                watch.blocked(slot);
            }
        }
        Status::Finished(ending) => {
            blocking.set(true);
            finish(slot, ending, &mut effects, world, watch);
        }
    }
}

/// Replaces the activity, if there is one, by the proposed one, and interrupts it. The new activity is in
/// place before the old one is finished, so that a panic there does not lose it.
fn begin_next<A: Activity>(
    slot: &mut ActivitySlot<A>,
    effects: &mut Effects<'_, A::Domain>,
    world: &WorldOf<'_, A>,
    watch: Option<Watch<'_>>,
) {
    let next = slot.next.as_ref().and_then(|next| next.activity.as_ref());
    if let Some(watch) = watch {
        let stopped = slot.activity.as_ref();
        watch.ended(stopped.map(|it| stopped_by(it, &Ending::Interrupted, next)), next);
    }
    let Some(next) = slot.next.take() else { return };
    let before = leave(slot, Ended::Interrupted, effects);
    if let Next { activity: Some(next), priority } = *next {
        (slot.activity, slot.priority) = (Some(next), priority);
        (slot.state, slot.since) = (State::Active, effects.now);
    }
    if let Some(before) = before {
        call_on_finish(before, Ending::Interrupted, effects, world);
    }
}

/// Ends the activity, if there is one. `on_finish` is called last, when the state is consistent, so that
/// it is not called again if it panics.
fn finish<A: Activity>(
    slot: &mut ActivitySlot<A>,
    ending: Ending<Failure<A>>,
    effects: &mut Effects<'_, A::Domain>,
    world: &WorldOf<'_, A>,
    watch: Option<Watch<'_>>,
) {
    if let (Some(watch), Some(activity)) = (watch, &slot.activity) {
        watch.ended::<A>(Some(stopped_by(activity, &ending, None)), None);
    }
    if let Some(activity) = leave(slot, ending.how(), effects) {
        call_on_finish(activity, ending, effects, world);
    }
}

/// Takes the activity out, if there is one, and ends everything that it waits for.
fn leave<A: Activity>(
    slot: &mut ActivitySlot<A>,
    ended: Ended,
    effects: &mut Effects<'_, A::Domain>,
) -> Option<A> {
    let activity = slot.activity.take()?;
    (slot.state, slot.since, slot.priority) = (State::Idle, effects.now, 0);
    slot.ended = Some(ended);
    if !slot.subscriptions.is_empty() {
        slot.subscriptions.clear();
        effects.out.push(Outgoing::UnlinkAll(effects.task));
    }
    Some(activity)
}

fn call_on_finish<A: Activity>(
    activity: A,
    ending: Ending<Failure<A>>,
    effects: &mut Effects<'_, A::Domain>,
    world: &WorldOf<'_, A>,
) {
    activity.on_finish(&ending, effects, world);
    let Effects { task, agent, .. } = *effects;
    effects.out.push(Outgoing::Ended(Finished { task, agent, ending }));
}
