//! The executing actions of one kind, as the argument of a system.

use std::fmt;

use formic_ecs::{
    CommandBuffer, Component, EnabledBitMut, EnabledMut, Entity, ParallelScratch, QueryData, With,
    World,
};
use formic_jobs::{
    EnabledLookup, ExclusiveLookup, Pool, Query, RunContext, StateArchive, SystemAccess,
    SystemParam,
};

use super::body::{Body, Reported};
use super::carry::{Carrier, Narrow, Serial, Turn, Wide, tick};
use super::components::{Action, Executing, Finished};
use super::lifetimes::link_lifetimes;
use super::processor::{ActionChunk, Processor, SerialProcessor, WideProcessor};
use super::report::report;

type Row<T, X> =
    (Entity, &'static mut Action, &'static mut T, EnabledMut<Executing>, EnabledMut<Finished>, X);
type Executed<'a, T, X> = Query<'a, Row<T, X>, With<Executing>>;
type Parts<'a, T, X> =
    (Executed<'a, T, X>, ExclusiveLookup<'a, &'static mut Body>, EnabledLookup<'a, Reported>);

/// The executing actions whose filter component is `T`: what the system of one kind of action
/// takes as an argument. `X` is what else it wants of the action entities, as in a query.
pub struct Actions<'a, T: Component, X: QueryData + 'static = ()> {
    parts: Parts<'a, T, X>,
    scratch: &'a mut ParallelScratch,
    pool: &'a Pool,
}

impl<T: Component, X: QueryData> fmt::Debug for Actions<'_, T, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Actions").field("executing", &self.parts.0).finish_non_exhaustive()
    }
}

impl<T: Component, X: QueryData + 'static> SystemParam for Actions<'_, T, X> {
    type State = (<Parts<'static, T, X> as SystemParam>::State, ParallelScratch);
    type Item<'a> = Actions<'a, T, X>;

    fn init(world: &mut World, access: &mut SystemAccess) -> Self::State {
        link_lifetimes(world);
        (Parts::<T, X>::init(world, access), ParallelScratch::default())
    }

    fn fetch<'a>(
        (state, scratch): &'a mut Self::State,
        context: RunContext<'a>,
    ) -> Result<Actions<'a, T, X>, String> {
        let parts = Parts::<T, X>::fetch(state, context)?;
        Ok(Actions { parts, scratch, pool: context.pool })
    }

    fn visit_commands((state, _): &mut Self::State, visit: &mut dyn FnMut(&mut [CommandBuffer])) {
        Parts::<T, X>::visit_commands(state, visit);
    }

    fn finish((state, _): &mut Self::State, context: RunContext<'_>) {
        Parts::<T, X>::finish(state, context);
    }

    fn visit_state((state, _): &mut Self::State, archive: &mut StateArchive<'_>) {
        Parts::<T, X>::visit_state(state, archive);
    }
}

impl<T: Component, X: QueryData + 'static> Actions<'_, T, X> {
    /// How many actions of this kind are executing.
    #[must_use]
    pub fn count(&self) -> usize {
        self.parts.0.count()
    }

    /// Carries out all executing actions of this kind for one tick, on all threads of the pool.
    ///
    /// # Panics
    /// Where the processor panics.
    pub fn process(&mut self, processor: &impl Processor<Action = T>) {
        self.process_parallel(|| Narrow(processor));
    }

    /// Carries out all executing actions of this kind for one tick, on all threads of the pool,
    /// with the other components that were asked for.
    ///
    /// # Panics
    /// Where the processor panics.
    pub fn process_wide(&mut self, processor: &impl WideProcessor<X, Action = T>) {
        self.process_parallel(|| Wide(processor));
    }

    /// Carries out all executing actions of this kind for one tick, one after the other on this
    /// thread.
    ///
    /// # Panics
    /// Where the processor panics.
    pub fn process_serial(&mut self, processor: &mut impl SerialProcessor<Action = T>) {
        let (executing, bodies, reported) = &mut self.parts;
        let mut carrier = Serial(processor);
        executing.query().chunks(|chunk| {
            let action_count = chunk.row_count();
            if action_count > 0 {
                let ordinal = chunk.ordinal();
                Carrier::<T, X>::before_chunk(&mut carrier, ActionChunk { ordinal, action_count });
                chunk.for_each(|row| carry::<T, X, _>(&mut carrier, row, bodies, reported));
            }
        });
    }

    fn process_parallel<C: Carrier<T, X>>(&mut self, carrier: impl Fn() -> C + Sync) {
        let (executing, bodies, reported) = &mut self.parts;
        let (bodies, reported) = (&*bodies, &*reported);
        let mut query = executing.query();
        let chunks = query.parallel(self.scratch);
        self.pool.for_each_range(chunks.len(), |range| {
            let mut carrier = carrier();
            for chunk in range.filter_map(|index| chunks.take(index)) {
                let (ordinal, action_count) = (chunk.ordinal(), chunk.row_count());
                carrier.before_chunk(ActionChunk { ordinal, action_count });
                chunk.for_each(|row| carry::<T, X, _>(&mut carrier, row, bodies, reported));
            }
        });
    }
}

/// One tick of one action, and what follows from it for the action and its owner.
#[inline]
fn carry<T: Component, X: QueryData, C: Carrier<T, X>>(
    carrier: &mut C,
    row: (Entity, &mut Action, &mut T, EnabledBitMut<'_>, EnabledBitMut<'_>, X::Item<'_>),
    bodies: &ExclusiveLookup<'_, &'static mut Body>,
    reported: &EnabledLookup<'_, Reported>,
) {
    let (entity, action, filter, mut executing, mut finished, mut extras) = row;
    match tick::<T, X, C>(carrier, entity, action, filter, &mut extras) {
        Turn::GoesOn => {}
        Turn::Ended(result) => {
            executing.set(false);
            report(bodies, reported, action, result);
        }
        Turn::Stopped => _ = executing.set(false),
        Turn::Disowned => {
            executing.set(false);
            finished.set(true);
        }
    }
}

/// Makes an argument of systems of a struct `$name<'a, Q>` whose one field, `parts`, is of the type
/// `Parts<'a, Q>`, a tuple of arguments of which the first is a query. It is for agents that are driven
/// by `$mind`, which the world knows as a mind from then on.
macro_rules! argument_of_parts {
    ($name:ident, $mind:ty) => {
        impl<Q: formic_ecs::QueryData> std::fmt::Debug for $name<'_, Q> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name)).field("query", &self.parts.0).finish()
            }
        }

        impl<Q: formic_ecs::QueryData + 'static> formic_jobs::SystemParam for $name<'_, Q> {
            type State = <Parts<'static, Q> as formic_jobs::SystemParam>::State;
            type Item<'a> = $name<'a, Q>;

            fn init(
                world: &mut formic_ecs::World,
                access: &mut formic_jobs::SystemAccess,
            ) -> Self::State {
                crate::action::link_mind::<$mind>(world);
                <Parts<'static, Q> as formic_jobs::SystemParam>::init(world, access)
            }

            fn fetch<'a>(
                state: &'a mut Self::State,
                context: formic_jobs::RunContext<'a>,
            ) -> Result<$name<'a, Q>, String> {
                let parts = <Parts<'static, Q> as formic_jobs::SystemParam>::fetch(state, context)?;
                Ok($name { parts })
            }

            fn visit_state(state: &mut Self::State, archive: &mut formic_jobs::StateArchive<'_>) {
                <Parts<'static, Q> as formic_jobs::SystemParam>::visit_state(state, archive);
            }
        }
    };
}
pub(crate) use argument_of_parts;
