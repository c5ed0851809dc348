//! The argument of the system that runs activities.

use std::fmt;

use ecs_core::{
    Access, CommandBuffer, Despawned, EnabledBitMut, EnabledMut, Entity, With, Without, World,
};
use ecs_jobs::{Commands, EventWriter, Gather, Query, RunContext, SystemAccess, SystemParam};

use super::behaviour::{Activity, EventOf, Failure, WorldOf};
use super::deliver::DeliveryState;
use super::doing::{Blocking, Doing, State};
use super::event::Posted;
use super::record::{TaskWatch, Watch, stopped_by};
use super::setting::{Ending, Status};
use super::table::{Subscriptions, Watched};
use super::tick::{Effects, Finished, Outgoing, Tick};
use crate::explain::{Stopped, Witness};

type Row<A> = (Entity, &'static mut Doing<A>, EnabledMut<Blocking>);
type Awake<A> = Query<'static, Row<A>, Without<Blocking>>;
/// Those whose agents were despawned; nothing but the activity is left.
type Orphaned<A> = Query<'static, (Entity, &'static mut Doing<A>), With<Despawned>>;
type Posts<A> = EventWriter<'static, Posted<EventOf<A>>>;
type Ends<A> = EventWriter<'static, Finished<Failure<A>>>;
type Out<A> = Gather<'static, Outgoing<<A as Activity>::Setting>>;
type StateOf<P> = <P as SystemParam>::State;

/// What a run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ActivityReport {
    /// How many agents and lanes were awake.
    pub awake: usize,
    /// How many times an activity was told of an event, a death or a timer.
    pub told: usize,
    /// How many events nobody wanted.
    pub dropped: usize,
    /// How many activities came to their end.
    pub ended: usize,
    /// How many wanted to sleep without waiting for anything, and were not let.
    pub waiting_for_nothing: usize,
}

/// All activities of type `A`: the argument of the system that runs them.
///
/// One system of a schedule runs the activities of one type. [The page of the module](super) has
/// what happens in a run, and a whole example.
pub struct Activities<'a, A: Activity> {
    state: &'a mut ActivitiesState<A>,
    context: RunContext<'a>,
}

/// What [`Activities`] keep from run to run.
pub struct ActivitiesState<A: Activity> {
    delivery: DeliveryState<A>,
    awake: StateOf<Awake<A>>,
    orphaned: StateOf<Orphaned<A>>,
    commands: StateOf<Commands<'static>>,
    out: StateOf<Out<A>>,
    posts: StateOf<Posts<A>>,
    ends: StateOf<Ends<A>>,
    /// Subjects whose deaths are to be told.
    watched: Vec<Entity>,
}

impl<A: Activity> fmt::Debug for ActivitiesState<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActivitiesState").finish_non_exhaustive()
    }
}

impl<A: Activity> fmt::Debug for Activities<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Activities").finish_non_exhaustive()
    }
}

impl<A: Activity> SystemParam for Activities<'_, A> {
    type State = ActivitiesState<A>;
    type Item<'a> = Activities<'a, A>;

    fn init(world: &mut World, access: &mut SystemAccess) -> ActivitiesState<A> {
        // They use the components in turn, so what each of them needs is declared as one.
        let mut components = Access::default();
        let delivery = DeliveryState::new(world, access, &mut components);
        components.merge(world.plan::<Row<A>, Without<Blocking>>().access());
        let orphans = world.plan::<(Entity, &'static mut Doing<A>), With<Despawned>>();
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
    ) -> Result<Activities<'a, A>, String> {
        Ok(Activities { state, context })
    }

    fn visit_commands(state: &mut ActivitiesState<A>, visit: &mut dyn FnMut(&mut [CommandBuffer])) {
        Commands::visit_commands(&mut state.commands, visit);
    }

    fn finish(state: &mut ActivitiesState<A>, context: RunContext<'_>) {
        Posts::<A>::finish(&mut state.posts, context);
        Ends::<A>::finish(&mut state.ends, context);
    }
}

impl<A: Activity> Activities<'_, A> {
    /// Tells the activities what they wait for, and ticks those that are awake, on all threads of
    /// the pool. `now` is the number of the tick, by which timers go: it belongs to the state of
    /// the game, and is not to go backwards but by restoring a snapshot.
    ///
    /// # Panics
    /// Where an activity does. The others go on in the next run.
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
    ) -> Result<ActivityReport, String> {
        let mut report = ActivityReport::default();
        let table = context.cell.resource_mut::<Subscriptions<A>>();
        let mut table = table.map_err(|error| error.to_string())?;
        let delivered = self.delivery.deliver(context, &mut table, Some(now))?;
        (report.told, report.dropped) = (delivered.told, delivered.dropped);

        let mut nothing = ();
        let witness = <Witness<'_> as SystemParam>::fetch(&mut nothing, context)?;
        let records = witness.log().map(|log| Watch::new(log, witness.tick()));
        self.watched.append(&mut table.unmarked);
        // Until all that comes of the ticks is taken in; where one of them panics, it never is, and
        // the next run asks the activities what they wait for.
        table.is_torn = true;
        let mut commands = Commands::fetch(&mut self.commands, context)?;
        let mut out = Out::<A>::fetch(&mut self.out, context)?;
        {
            let mut orphaned = Orphaned::<A>::fetch(&mut self.orphaned, context)?;
            orphaned.par_for_each_with_both(
                &mut commands,
                &mut out,
                |(task, doing), commands, out| {
                    let agent = doing.agent(task);
                    let mut effects = Effects { task, agent, now, commands, out };
                    let watch = records.and_then(|records| records.of(agent, task));
                    let stopped = finish(doing, Ending::Interrupted, &mut effects, world, watch);
                    if let Some(watch) = watch {
                        watch.ended::<A>(stopped, None);
                    }
                    // The last that holds it.
                    effects.commands.remove::<Doing<A>>(task);
                },
            );
        }
        {
            let mut awake = Awake::<A>::fetch(&mut self.awake, context)?;
            report.awake = awake.count();
            awake.par_for_each_with_both(
                &mut commands,
                &mut out,
                |(task, doing, mut blocking), commands, out| {
                    let agent = doing.agent(task);
                    let watch = records.and_then(|records| records.of(agent, task));
                    let effects = Effects { task, agent, now, commands, out };
                    tick(doing, &mut blocking, effects, world, watch);
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
        table.is_torn = false;
        if !self.watched.is_empty() {
            let watched = std::mem::take(&mut self.watched);
            commands.run(move |world| watch::<A>(world, &watched));
        }
        Ok(report)
    }
}

/// Has the death of these subjects told, also if they have died by now.
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

/// One tick of an agent that is awake.
fn tick<A: Activity>(
    doing: &mut Doing<A>,
    blocking: &mut EnabledBitMut<'_>,
    mut effects: Effects<'_, A::Setting>,
    world: &WorldOf<'_, A>,
    watch: Option<TaskWatch<'_>>,
) {
    let now = effects.now;
    if let Some(next) = doing.next.take() {
        let stopped = finish_for(doing, next.activity.as_ref(), &mut effects, world, watch);
        if let Some(watch) = watch {
            watch.ended(stopped, next.activity.as_ref());
        }
        if next.activity.is_some() {
            (doing.activity, doing.priority) = (next.activity, next.priority);
            (doing.state, doing.since) = (State::Active, now);
        }
    }
    let Some(activity) = doing.activity.as_mut().filter(|_| doing.state == State::Active) else {
        // It has none; or somebody has flipped the bit of one that sleeps.
        blocking.set(true);
        return;
    };
    let mut tick = Tick {
        effects: effects.reborrow(),
        subscriptions: &mut doing.subscriptions,
        newest: &mut doing.newest,
    };
    let status = activity.on_tick(&mut tick, world);
    match status {
        Status::Ongoing => {}
        Status::Blocked if doing.subscriptions.is_empty() => {
            effects.out.push(Outgoing::WaitsForNothing);
        }
        Status::Blocked => {
            (doing.state, doing.since) = (State::Blocked, now);
            blocking.set(true);
            if let Some(watch) = watch {
                watch.blocked(doing);
            }
        }
        Status::Finished(ending) => {
            blocking.set(true);
            let stopped = finish(doing, ending, &mut effects, world, watch);
            if let Some(watch) = watch {
                watch.ended::<A>(stopped, None);
            }
        }
    }
}

/// Ends the activity as interrupted, if there is one, for what comes next.
fn finish_for<A: Activity>(
    doing: &mut Doing<A>,
    next: Option<&A>,
    effects: &mut Effects<'_, A::Setting>,
    world: &WorldOf<'_, A>,
    watch: Option<TaskWatch<'_>>,
) -> Option<Stopped> {
    let stopped = doing.activity.as_ref().filter(|_| watch.is_some());
    let stopped = stopped.map(|activity| stopped_by(activity, &Ending::Interrupted, next));
    finish(doing, Ending::Interrupted, effects, world, None);
    stopped
}

/// Ends the activity, if there is one. It is called when the books are in order, so that a panic in
/// it does not have it called again.
fn finish<A: Activity>(
    doing: &mut Doing<A>,
    ending: Ending<Failure<A>>,
    effects: &mut Effects<'_, A::Setting>,
    world: &WorldOf<'_, A>,
    watch: Option<TaskWatch<'_>>,
) -> Option<Stopped> {
    let activity = doing.activity.take()?;
    (doing.state, doing.since, doing.priority) = (State::Idle, effects.now, 0);
    doing.ended = Some(ending.how());
    let task = effects.task;
    if !doing.subscriptions.is_empty() {
        doing.subscriptions.clear();
        effects.out.push(Outgoing::UnlinkAll(task));
    }
    let stopped = watch.map(|_| stopped_by(&activity, &ending, None));
    activity.on_finish(&ending, effects, world);
    effects.out.push(Outgoing::Ended(Finished { task, agent: effects.agent, ending }));
    stopped
}
