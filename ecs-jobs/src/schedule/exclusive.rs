//! Functions that get the whole world.

use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;

use formic_ecs::World;

use super::access::SystemAccess;
use super::param::{Local, RunContext, visit_unknown};
use super::save::StateArchive;
use super::system::System;
use crate::pool::Pool;

/// A function that takes `&mut World`, and after it up to three [`ExclusiveParam`]s: an *exclusive
/// system*. Nothing else runs beside it, and all commands of the systems before it have been played.
///
/// ```
/// use formic_jobs::prelude::*;
/// # #[derive(Component)] struct Gold(u32);
/// struct Total(u32);
///
/// fn count(world: &mut World, mut runs: Local<'_, u32>) {
///     *runs += 1;
///     let sum = world.query::<&Gold>().map(|gold| gold.0).sum::<u32>() * *runs;
///     world.insert_resource(Total(sum));
/// }
/// fn mint(mut commands: Commands<'_>) {
///     commands.spawn(Gold(5));
/// }
///
/// let mut world = World::new();
/// let mut schedule = Schedule::builder().add(mint).add(count).build(&mut world)?;
/// schedule.run(&mut world, &Pool::new(Threads::None)?);
/// assert_eq!(world.resource::<Total>()?.0, 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait ExclusiveFunction<Marker>: Send + 'static {
    /// The arguments after the world, as a tuple.
    type Params: ExclusiveParam;

    /// Calls the function.
    fn call(&mut self, world: &mut World, arguments: <Self::Params as ExclusiveParam>::Item<'_>);
}

/// A type that can be an argument of an exclusive system, beside the world: [`Local`], and `&Pool`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument beside `&mut World`",
    note = "a function that gets the whole world has besides only `Local` and `&Pool`; resources are asked of the world"
)]
pub trait ExclusiveParam {
    /// What is kept from run to run.
    type State: Send + 'static;
    /// The argument itself, for one run.
    type Item<'a>;

    /// Gets ready for a world.
    fn init(world: &mut World) -> Self::State;

    /// The argument.
    fn get<'a>(state: &'a mut Self::State, pool: &'a Pool) -> Self::Item<'a>;

    /// As [`SystemParam::visit_state`](super::SystemParam::visit_state).
    fn visit_state(state: &mut Self::State, archive: &mut StateArchive<'_>) {
        visit_unknown::<Self, _>(state, archive);
    }
}

impl<T: Default + Send + 'static> ExclusiveParam for Local<'_, T> {
    type State = T;
    type Item<'a> = Local<'a, T>;

    fn init(_world: &mut World) -> T {
        T::default()
    }

    fn get<'a>(state: &'a mut T, _pool: &'a Pool) -> Local<'a, T> {
        Local::new(state)
    }

    fn visit_state(state: &mut T, archive: &mut StateArchive<'_>) {
        archive.value(state);
    }
}

impl ExclusiveParam for &Pool {
    type State = ();
    type Item<'a> = &'a Pool;

    fn init(_world: &mut World) {}

    fn get<'a>((): &'a mut (), pool: &'a Pool) -> &'a Pool {
        pool
    }
}

/// A system that calls such a function.
pub struct ExclusiveSystem<Function, Marker>
where
    Function: ExclusiveFunction<Marker>,
{
    function: Function,
    state: Option<<Function::Params as ExclusiveParam>::State>,
    marker: PhantomData<fn() -> Marker>,
}

impl<Function: ExclusiveFunction<Marker>, Marker> ExclusiveSystem<Function, Marker> {
    pub(super) fn new(function: Function) -> Self {
        Self { function, state: None, marker: PhantomData }
    }
}

impl<Function: ExclusiveFunction<Marker>, Marker> fmt::Debug for ExclusiveSystem<Function, Marker> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ExclusiveSystem").field(&type_name::<Function>()).finish()
    }
}

impl<Function: ExclusiveFunction<Marker>, Marker> System for ExclusiveSystem<Function, Marker> {
    fn name(&self) -> &str {
        type_name::<Function>()
    }

    fn initialize(&mut self, world: &mut World) -> SystemAccess {
        self.state = Some(Function::Params::init(world));
        SystemAccess::exclusive()
    }

    fn run(&mut self, _context: RunContext<'_>) {
        unreachable!("an exclusive system gets the world");
    }

    fn run_exclusive(&mut self, world: &mut World, pool: &Pool) {
        let state = self.state.as_mut().expect("a system is initialized before it runs");
        self.function.call(world, Function::Params::get(state, pool));
    }

    fn visit_state(&mut self, archive: &mut StateArchive<'_>) {
        if let Some(state) = &mut self.state {
            Function::Params::visit_state(state, archive);
        }
    }
}

macro_rules! exclusive_function {
    ($(($param:ident $variable:ident)),*) => {
        #[allow(
            clippy::allow_attributes,
            clippy::unused_unit,
            reason = "without arguments, and only then, the state is nothing"
        )]
        impl<$($param: ExclusiveParam),*> ExclusiveParam for ($($param,)*) {
            type State = ($($param::State,)*);
            type Item<'a> = ($($param::Item<'a>,)*);

            fn init(world: &mut World) -> Self::State {
                _ = &world;
                ($($param::init(world),)*)
            }

            fn get<'a>(state: &'a mut Self::State, pool: &'a Pool) -> Self::Item<'a> {
                let ($($variable,)*) = state;
                _ = pool;
                ($($param::get($variable, pool),)*)
            }

            fn visit_state(state: &mut Self::State, archive: &mut StateArchive<'_>) {
                _ = &archive;
                let ($($variable,)*) = state;
                $($param::visit_state($variable, archive);)*
            }
        }

        impl<Function, $($param: ExclusiveParam),*> ExclusiveFunction<fn(&mut World, $($param),*)>
            for Function
        where
            Function: Send + 'static,
            // As for `SystemFunction`.
            for<'f> &'f mut Function:
                FnMut(&mut World, $($param),*) + FnMut(&mut World, $($param::Item<'_>),*),
        {
            type Params = ($($param,)*);

            fn call(&mut self, world: &mut World, arguments: <Self::Params as ExclusiveParam>::Item<'_>) {
                fn inner<$($param),*>(
                    mut function: impl FnMut(&mut World, $($param),*),
                    world: &mut World,
                    ($($variable,)*): ($($param,)*),
                ) {
                    function(world, $($variable),*);
                }
                inner(self, world, arguments);
            }
        }
    };
}

exclusive_function!();
exclusive_function!((A a));
exclusive_function!((A a), (B b));
exclusive_function!((A a), (B b), (C c));
