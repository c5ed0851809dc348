//! Exclusive systems: functions that get the whole world.

use std::any::type_name;
use std::marker::PhantomData;

use formic_ecs::World;

use super::access::SystemAccess;
use super::function::SystemSignature;
use super::param::{Local, RunContext, SystemParam};
use super::save::StateArchive;
use super::system::System;
use crate::pool::Pool;

/// An *exclusive system*: a function of `&mut World` and up to three [`ExclusiveParam`]s. No other system
/// runs in parallel, and all commands of earlier systems have been played.
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
    /// The parameters after the world, as a tuple.
    type Params: SystemParam;

    /// Calls the function with the world and the arguments of these parameters.
    fn call(
        &mut self,
        world: &mut World,
        state: &mut <Self::Params as SystemParam>::State,
        pool: &Pool,
    );
}

/// A type that can be a parameter of an exclusive system, beside the world: [`Local`] and `&Pool`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument beside `&mut World`",
    note = "a function that gets the whole world has besides only `Local` and `&Pool`; resources are asked of the world"
)]
pub trait ExclusiveParam: SystemParam {
    /// Returns the argument.
    fn get<'a>(state: &'a mut Self::State, pool: &'a Pool) -> Self::Item<'a>;
}

impl<T: Default + Send + 'static> ExclusiveParam for Local<'_, T> {
    fn get<'a>(state: &'a mut T, _pool: &'a Pool) -> Local<'a, T> {
        Local::new(state)
    }
}

impl ExclusiveParam for &Pool {
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
    state: Option<<Function::Params as SystemParam>::State>,
    marker: PhantomData<fn() -> Marker>,
}

impl<Function: ExclusiveFunction<Marker>, Marker> ExclusiveSystem<Function, Marker> {
    pub(super) fn new(function: Function) -> Self {
        Self { function, state: None, marker: PhantomData }
    }
}

debug_fields!(
    [Function: ExclusiveFunction<Marker>, Marker] ExclusiveSystem<Function, Marker>:;
    name = |_it| type_name::<Function>()
);

impl<Function: ExclusiveFunction<Marker>, Marker> System for ExclusiveSystem<Function, Marker> {
    fn name(&self) -> &str {
        type_name::<Function>()
    }

    fn initialize(&mut self, world: &mut World) -> SystemAccess {
        let mut access = SystemAccess::exclusive();
        self.state = Some(Function::Params::init(world, &mut access));
        access
    }

    fn run(&mut self, _context: RunContext<'_>) {
        unreachable!("an exclusive system gets the world");
    }

    fn run_exclusive(&mut self, world: &mut World, pool: &Pool) {
        let state = self.state.as_mut().expect("a system is initialized before it runs");
        self.function.call(world, state, pool);
    }

    fn visit_state(&mut self, archive: &mut StateArchive<'_>) {
        if let Some(state) = &mut self.state {
            Function::Params::visit_state(state, archive);
        }
    }
}

macro_rules! exclusive_function {
    ($(($param:ident $variable:ident)),*) => {
        impl<'w, Function, $($param: ExclusiveParam + 'static),*> SystemSignature<Function>
            for fn(&'w mut World, $($param),*)
        where
            Function: ExclusiveFunction<fn(&mut World, $($param),*)>,
        {
            fn system(function: Function) -> Box<dyn System> {
                Box::new(ExclusiveSystem::<_, fn(&mut World, $($param),*)>::new(function))
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

            fn call(
                &mut self,
                world: &mut World,
                ($($variable,)*): &mut <Self::Params as SystemParam>::State,
                pool: &Pool,
            ) {
                fn inner<$($param),*>(
                    mut function: impl FnMut(&mut World, $($param),*),
                    world: &mut World,
                    $($variable: $param),*
                ) {
                    function(world, $($variable),*);
                }
                _ = pool;
                inner(self, world, $($param::get($variable, pool)),*);
            }
        }
    };
}

exclusive_function!();
exclusive_function!((A a));
exclusive_function!((A a), (B b));
exclusive_function!((A a), (B b), (C c));
