//! The system parameter that runs the executing actions of one kind.

use std::cell::RefCell;
use std::marker::PhantomData;

use formic_ecs::{
    Claimant, CommandBuffer, Component, EnabledMut, Entity, QueryData, QueryFilter, With, World,
};
use formic_jobs::{
    ComponentLookup, ParallelSink, ParallelSinks, ParamError, Query, RunContext, Scatter,
    StateArchive, SystemAccess, SystemParam,
};

use super::carry::{Carried, Turn};
use super::components::{Action, ActionResult, Executing, Finished};
use super::lifetimes::link_kind;
use super::processor::{ActionChunk, Agent, Extras, WideProcessor};
use super::report::{Owner, Report, deliver};
use super::systems::identify_parts;
use crate::explain::Ended;

type Row<T, X> = (
    Claimant<'static>,
    &'static mut Action,
    &'static mut T,
    EnabledMut<Executing>,
    EnabledMut<Finished>,
    X,
);
type Executed<'a, T, X> = Query<'a, Row<T, X>, With<Executing>>;
type Interrupted<'a, T, X> = Query<'a, Row<T, X>, (With<Executing>, With<Finished>)>;
type Shared<'a> = (ComponentLookup<'a, Owner>, Scatter<'a, Report>);

/// The executing actions whose filter component is `T`: the argument of the system for one kind of
/// action. `X` is the query data for further components of the action entities.
pub struct Actions<'a, T: Component, X: QueryData + 'static = ()> {
    executing: &'a mut <Executed<'static, T, X> as SystemParam>::State,
    interrupted: &'a mut <Interrupted<'static, T, X> as SystemParam>::State,
    shared: Shared<'a>,
    context: RunContext<'a>,
}

/// The state that [`Actions`] keep between runs.
pub struct ActionsState<T: Component, X: QueryData + 'static> {
    executing: <Executed<'static, T, X> as SystemParam>::State,
    interrupted: <Interrupted<'static, T, X> as SystemParam>::State,
    shared: <Shared<'static> as SystemParam>::State,
}

debug_fields!([T: Component, X: QueryData] ActionsState<T, X>:);

debug_fields!([T: Component, X: QueryData] Actions<'_, T, X>:);

impl<T: Component, X: QueryData + 'static> SystemParam for Actions<'_, T, X> {
    type State = ActionsState<T, X>;
    type Item<'a> = Actions<'a, T, X>;

    fn init(world: &mut World, access: &mut SystemAccess) -> Self::State {
        link_kind::<T>(world);
        access.expect_after(identify_parts, "add it by `.as_action()` to the schedule");
        let executing = Executed::<T, X>::init(world, access);
        ActionsState {
            executing,
            // Never used at the same time as the other query.
            interrupted: Interrupted::<T, X>::init(world, &mut SystemAccess::default()),
            shared: Shared::init(world, access),
        }
    }

    fn fetch<'a>(
        state: &'a mut Self::State,
        context: RunContext<'a>,
    ) -> Result<Actions<'a, T, X>, ParamError> {
        let ActionsState { executing, interrupted, shared } = state;
        let shared = Shared::fetch(shared, context)?;
        Ok(Actions { executing, interrupted, shared, context })
    }

    fn visit_commands(state: &mut Self::State, visit: &mut dyn FnMut(&mut [CommandBuffer])) {
        Shared::visit_commands(&mut state.shared, visit);
    }

    fn finish(state: &mut Self::State, context: RunContext<'_>) {
        Shared::finish(&mut state.shared, context);
    }

    fn visit_state(state: &mut Self::State, archive: &mut StateArchive<'_>) {
        Executed::<T, X>::visit_state(&mut state.executing, archive);
        Interrupted::<T, X>::visit_state(&mut state.interrupted, archive);
        Shared::visit_state(&mut state.shared, archive);
    }
}

impl<'a, T: Component, X: Extras + 'static> Actions<'a, T, X> {
    /// The number of executing actions of this kind.
    #[must_use]
    pub fn count(&mut self) -> usize {
        fetched::<Executed<'static, T, X>>(self.executing, self.context).count()
    }

    /// Runs all executing actions of this kind for one tick, on all threads of the pool. Interrupted
    /// actions are cleaned up first.
    ///
    /// # Panics
    /// Panics if the processor panics.
    pub fn process(&mut self, processor: &(impl WideProcessor<X, Action = T> + Sync)) {
        self.with(&mut ()).process(processor);
    }

    /// Adds an output to these actions: the command buffer of [`Commands`](formic_jobs::Commands), or the
    /// slot of an [`EventWriter`](formic_jobs::EventWriter). The output is kept in the order of the
    /// actions, so that it does not depend on which thread ran which action.
    ///
    /// ```
    /// use formic_ai::action;
    /// use formic_ai::prelude::*;
    ///
    /// #[derive(Component)]
    /// struct Gun { shots: u32 }
    /// #[derive(Component, Clone)]
    /// struct Fire;
    /// #[derive(Component)]
    /// struct Bullet { by: Entity }
    ///
    /// fn fire(mut actions: Actions<Fire>, guns: AgentAccess<&mut Gun>, mut commands: Commands) {
    ///     actions.with(&mut commands).update(|gunner, Fire, commands| {
    ///         guns.act(gunner, |gun| {
    ///             gun.shots -= 1;
    ///             commands.spawn(Bullet { by: gunner.entity });
    ///             if gun.shots == 0 { ActionResult::Success } else { ActionResult::Running }
    ///         })
    ///     });
    /// }
    ///
    /// let mut world = World::new();
    /// let gunner = Sequence::new().then(Fire).spawn(&mut world, Gun { shots: 2 })?;
    /// let mut schedule =
    ///     action::add(Schedule::builder()).add(fire.as_action()).build(&mut world)?;
    /// let pool = Pool::new(Threads::None)?;
    /// (0..2).for_each(|_| _ = schedule.run(&mut world, &pool));
    /// assert!(world.query::<&Bullet>().into_iter().all(|bullet| bullet.by == gunner));
    /// assert_eq!(world.query::<&Bullet>().count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with<'r, S: ParallelSink>(
        &'r mut self,
        sink: &'r mut S,
    ) -> ActionsWith<'r, 'a, T, X, S> {
        ActionsWith { actions: self, sink, before_chunk: |_, _| () }
    }

    /// Runs all executing actions of this kind for one tick, one after the other on this thread: for
    /// actions that write to more than their own agent, such as a door that two agents push. The
    /// processor keeps what it writes to in a [`RefCell`](std::cell::RefCell).
    ///
    /// Interrupted actions are cleaned up first. Actions run in the order of their entities in the world,
    /// which does not depend on the number of threads.
    ///
    /// # Panics
    /// Panics if the processor panics.
    pub fn process_serial(&mut self, processor: &impl WideProcessor<X, Action = T>) {
        let Self { executing, interrupted, shared: (owners, reports), context, .. } = self;
        one_by_one::<true, T, X, _, _>(interrupted, context, reports, processor);
        one_by_one::<false, T, X, _, _>(executing, context, reports, processor);
        deliver(reports, owners);
    }
}

impl<T: Component> Actions<'_, T> {
    /// Runs all executing actions of this kind for one tick, on all threads of the pool, with a function
    /// in place of [`update`](super::Processor::update): for actions that need neither a start nor a
    /// cleanup. See [`AgentAccess`](super::AgentAccess) for an example.
    ///
    /// # Panics
    /// Panics if the function panics.
    pub fn update(&mut self, update: impl Fn(Agent<'_>, &mut T) -> ActionResult + Sync) {
        self.with(&mut ()).update(|agent, action, ()| update(agent, action));
    }

    /// Does the same one action after the other on this thread, in the order of
    /// [`process_serial`](Self::process_serial): for actions that write to more than their own agent.
    ///
    /// ```
    /// use formic_ai::prelude::*;
    ///
    /// #[derive(Component)]
    /// struct Door { pushes: u32 }
    /// #[derive(Component, Clone)]
    /// struct Push(Entity);
    ///
    /// /// It takes two.
    /// fn push(mut actions: Actions<Push>, mut doors: ComponentLookup<&mut Door>) {
    ///     actions.update_serial(|_, push| {
    ///         let Ok(door) = doors.get_mut(push.0) else { return ActionResult::Failed };
    ///         door.pushes += 1;
    ///         if door.pushes == 2 { ActionResult::Success } else { ActionResult::Failed }
    ///     });
    /// }
    ///
    /// let mut world = World::new();
    /// let door = world.spawn(Door { pushes: 0 });
    /// for _ in 0..2 {
    ///     Sequence::new().then(Push(door)).spawn(&mut world, ())?;
    /// }
    /// let mut schedule =
    ///     formic_ai::action::add(Schedule::builder()).add(push.as_action()).build(&mut world)?;
    /// schedule.run(&mut world, &Pool::new(Threads::None)?);
    /// assert_eq!(world.get::<Door>(door)?.pushes, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// Panics if the function panics.
    pub fn update_serial(&mut self, update: impl FnMut(Agent<'_>, &mut T) -> ActionResult) {
        let update = RefCell::new(update);
        let update =
            |agent: Agent<'_>, action: &mut T, (): &mut ()| (update.borrow_mut())(agent, action);
        self.process_serial(&Functions(goes_on, update, is_done, PhantomData));
    }

    /// Runs all executing actions of this kind for one tick, on all threads of the pool, with functions
    /// in place of [`start`](super::Processor::start), [`update`](super::Processor::update) and
    /// [`cleanup`](super::Processor::cleanup).
    ///
    /// ```
    /// use formic_ai::action::{self, Ended};
    /// use formic_ai::prelude::*;
    ///
    /// #[derive(Component, Default)]
    /// struct Face { clip: &'static str, ticks_left: u32 }
    /// #[derive(Component, Clone)]
    /// struct Play(&'static str);
    ///
    /// fn play(mut actions: Actions<Play>, faces: AgentAccess<&mut Face>) {
    ///     actions.carry_out(
    ///         |agent, play| faces.act(agent, |face| {
    ///             *face = Face { clip: play.0, ticks_left: 2 };
    ///             ActionResult::Running
    ///         }),
    ///         |agent, _| faces.act(agent, |face| {
    ///             face.ticks_left -= 1;
    ///             if face.ticks_left == 0 { ActionResult::Success } else { ActionResult::Running }
    ///         }),
    ///         // However it ends; the agent may be gone.
    ///         |agent, _, ended| if let Ok(mut face) = faces.claim(agent) {
    ///             face.get_mut().clip = if ended == Ended::Success { "content" } else { "startled" };
    ///         },
    ///     );
    /// }
    ///
    /// let mut world = World::new();
    /// let cat = Sequence::new().then(Play("yawn")).spawn(&mut world, Face::default())?;
    /// let mut schedule =
    ///     action::add(Schedule::builder()).add(play.as_action()).build(&mut world)?;
    /// let pool = Pool::new(Threads::None)?;
    /// let mut clip = || {
    ///     schedule.run(&mut world, &pool);
    ///     world.get::<Face>(cat).unwrap().clip
    /// };
    /// assert_eq!([clip(), clip()], ["yawn", "content"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// Panics if one of the functions panics.
    pub fn carry_out(
        &mut self,
        start: impl Fn(Agent<'_>, &mut T) -> ActionResult + Sync,
        update: impl Fn(Agent<'_>, &mut T) -> ActionResult + Sync,
        cleanup: impl Fn(Agent<'_>, &mut T, Ended) + Sync,
    ) {
        self.with(&mut ()).carry_out(
            |agent, action, ()| start(agent, action),
            |agent, action, ()| update(agent, action),
            |agent, action, ended, ()| cleanup(agent, action, ended),
        );
    }
}

/// The executing actions of one kind with an output that every function gets. [`Actions::with`] returns
/// it.
#[must_use = "they are carried out by `update`, `carry_out` or `process`"]
pub struct ActionsWith<
    'r,
    'a,
    T: Component,
    X: QueryData + 'static,
    S: ParallelSink,
    B = fn(ActionChunk, &mut <S as ParallelSink>::Slot),
> {
    actions: &'r mut Actions<'a, T, X>,
    sink: &'r mut S,
    before_chunk: B,
}

debug_fields!([T: Component, X: QueryData, S: ParallelSink, B] ActionsWith<'_, '_, T, X, S, B>:);

impl<'r, 'a, T: Component, X: Extras + 'static, S: ParallelSink, B> ActionsWith<'r, 'a, T, X, S, B>
where
    B: Fn(ActionChunk, &mut S::Slot) + Sync,
{
    /// Calls `before_chunk` before the actions of each chunk, on the thread that runs them. It can
    /// prepare what they need, in the output that they get.
    ///
    /// ```
    /// use formic_ai::action;
    /// use formic_ai::prelude::*;
    ///
    /// #[derive(Component, Clone)]
    /// struct Bark;
    ///
    /// /// All barks of a chunk are one noise.
    /// fn bark(mut actions: Actions<Bark>, mut noises: EventWriter<usize>) {
    ///     actions
    ///         .with(&mut noises)
    ///         .before_chunk(|chunk, noises| noises.send(chunk.action_count))
    ///         .update(|_, Bark, _| ActionResult::Success);
    /// }
    /// fn hear(mut noises: EventReader<usize>) {
    ///     assert_eq!(noises.read().sum::<usize>(), 3);
    /// }
    ///
    /// let mut world = World::new();
    /// for _ in 0..3 {
    ///     Sequence::new().then(Bark).spawn(&mut world, ())?;
    /// }
    /// let schedule = action::add(Schedule::builder()).add(bark.as_action()).add(hear.after(bark));
    /// let report = schedule.build(&mut world)?.run(&mut world, &Pool::new(Threads::None)?);
    /// assert!(report.failures.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn before_chunk<F>(self, before_chunk: F) -> ActionsWith<'r, 'a, T, X, S, F>
    where
        F: Fn(ActionChunk, &mut S::Slot) + Sync,
    {
        ActionsWith { actions: self.actions, sink: self.sink, before_chunk }
    }

    /// Runs the actions as [`Actions::process`] does.
    ///
    /// # Panics
    /// Panics if a function or the processor panics.
    pub fn process(self, processor: &(impl WideProcessor<X, S::Slot, Action = T> + Sync)) {
        let Self { actions, sink, before_chunk: before } = self;
        let Actions { executing, interrupted, shared: (owners, reports), context } = actions;
        in_parallel::<true, T, X, _, _, _>(interrupted, context, reports, sink, &before, processor);
        in_parallel::<false, T, X, _, _, _>(executing, context, reports, sink, &before, processor);
        deliver(reports, owners);
    }
}

impl<T: Component, S: ParallelSink, B> ActionsWith<'_, '_, T, (), S, B>
where
    B: Fn(ActionChunk, &mut S::Slot) + Sync,
{
    /// Runs the actions as [`Actions::update`] does.
    ///
    /// # Panics
    /// Panics if a function panics.
    pub fn update(self, update: impl Fn(Agent<'_>, &mut T, &mut S::Slot) -> ActionResult + Sync) {
        self.carry_out(goes_on, update, is_done);
    }

    /// Runs the actions as [`Actions::carry_out`] does.
    ///
    /// # Panics
    /// Panics if a function panics.
    pub fn carry_out(
        self,
        start: impl Fn(Agent<'_>, &mut T, &mut S::Slot) -> ActionResult + Sync,
        update: impl Fn(Agent<'_>, &mut T, &mut S::Slot) -> ActionResult + Sync,
        cleanup: impl Fn(Agent<'_>, &mut T, Ended, &mut S::Slot) + Sync,
    ) {
        self.process(&Functions(start, update, cleanup, PhantomData));
    }
}

/// The `start` of an action that has none.
fn goes_on<T, O>(_: Agent<'_>, _: &mut T, _: &mut O) -> ActionResult {
    ActionResult::Running
}

/// The `cleanup` of an action that has none.
fn is_done<T, O>(_: Agent<'_>, _: &mut T, _: Ended, _: &mut O) {}

/// A processor made of three functions.
struct Functions<S, U, C, T, O>(S, U, C, PhantomData<fn(&mut T, &mut O)>);

impl<S, U, C, T: Component, O> WideProcessor<(), O> for Functions<S, U, C, T, O>
where
    S: Fn(Agent<'_>, &mut T, &mut O) -> ActionResult,
    U: Fn(Agent<'_>, &mut T, &mut O) -> ActionResult,
    C: Fn(Agent<'_>, &mut T, Ended, &mut O),
{
    type Action = T;

    #[inline]
    fn start(&self, agent: Agent<'_>, action: &mut T, (): (), out: &mut O) -> ActionResult {
        (self.0)(agent, action, out)
    }

    #[inline]
    fn update(&self, agent: Agent<'_>, action: &mut T, (): (), out: &mut O) -> ActionResult {
        (self.1)(agent, action, out)
    }

    fn cleanup(&self, agent: Agent<'_>, action: &mut T, (): (), ended: Ended, out: &mut O) {
        (self.2)(agent, action, ended, out);
    }
}

type StateOf<T, X, F> = <Query<'static, Row<T, X>, F> as SystemParam>::State;

/// Runs all actions that a query matches; `CLEANS_UP` if it matches the interrupted ones.
fn in_parallel<const CLEANS_UP: bool, T: Component, X: Extras + 'static, F, S: ParallelSink, P>(
    state: &mut StateOf<T, X, F>,
    context: RunContext<'_>,
    reports: &mut Scatter<'_, Report>,
    sink: &mut S,
    before_chunk: &(impl Fn(ActionChunk, &mut S::Slot) + Sync),
    processor: &P,
) where
    F: QueryFilter + 'static,
    P: WideProcessor<X, S::Slot, Action = T> + Sync,
{
    let mut all = fetched::<Query<'static, Row<T, X>, F>>(state, context);
    let (mut query, scratch, pool) = all.walk();
    let chunks = query.parallel(scratch);
    let mut sinks = (reports, sink);
    sinks.begin_loop(chunks.len());
    let shared = &sinks;
    pool.for_each_range_with_slot(chunks.len(), |slot, range| {
        for index in range {
            let Some(chunk) = chunks.take(index) else { continue };
            let (ordinal, action_count) = (chunk.ordinal(), chunk.row_count());
            shared.with_slots(slot, index, |(reports, out)| {
                before_chunk(ActionChunk { ordinal, action_count }, *out);
                chunk.for_each(|row| {
                    let report = |owner, report| reports.push(owner, report);
                    carry::<CLEANS_UP, T, X, _, _>(processor, row, *out, report);
                });
            });
        }
    });
}

fn one_by_one<const CLEANS_UP: bool, T: Component, X: Extras + 'static, F, P>(
    state: &mut StateOf<T, X, F>,
    context: RunContext<'_>,
    reports: &mut Scatter<'_, Report>,
    processor: &P,
) where
    F: QueryFilter + 'static,
    P: WideProcessor<X, Action = T>,
{
    fetched::<Query<'static, Row<T, X>, F>>(state, context).query().chunks(|chunk| {
        chunk.for_each(|row| {
            let report = |owner, report| reports.push(owner, report);
            carry::<CLEANS_UP, T, X, _, _>(processor, row, &mut (), report);
        });
    });
}

/// The query of a state, for the rest of the borrow.
fn fetched<'a, P: SystemParam>(state: &'a mut P::State, context: RunContext<'a>) -> P::Item<'a> {
    match P::fetch(state, context) {
        Ok(query) => query,
        Err(why) => panic!("the actions cannot be accessed: {why}"),
    }
}

/// Runs one tick of one action, and applies its outcome to the action and its owner.
#[inline]
fn carry<const CLEANS_UP: bool, T: Component, X: Extras + 'static, O, P>(
    processor: &P,
    row: <Row<T, X> as QueryData>::Item<'_>,
    out: &mut O,
    report: impl FnOnce(Entity, Report),
) where
    P: WideProcessor<X, O, Action = T>,
{
    let (row, action, filter, mut executing, mut finished, extras) = row;
    let carried = Carried { processor, row: &row, action: &mut *action, filter, extras, out };
    if CLEANS_UP {
        finished.set(false);
        return carried.clean_up();
    }
    match carried.tick() {
        Turn::GoesOn => {}
        Turn::Ended(result) => {
            executing.set(false);
            report(action.owner, Report::new(action, result));
        }
        Turn::Stopped => _ = executing.set(false),
        Turn::Disowned => {
            executing.set(false);
            finished.set(true);
        }
    }
}
