//! Systems that run when they are called.

use std::fmt;

use formic_ecs::{CommandBuffer, CommandFailure, World};

use super::function::{FunctionSystem, SystemFunction};
use super::name;
use super::param::RunContext;
use super::run::clear_quietly;
use crate::pool::Pool;

/// A function with the arguments of a system, ready to be called: outside of a schedule, with
/// what it returns, and its commands played when it has ended.
///
/// It keeps what systems keep from run to run: plans, [`Local`](super::Local)s, and what was seen
/// already. For a function that is called only once [`RunSystem`] is shorter.
///
/// ```
/// use formic_jobs::{OneShot, prelude::*};
/// # #[derive(Component)] struct Gold(u32);
/// fn wealth(mut all: Query<'_, &Gold>, mut calls: Local<'_, u32>) -> (u32, u32) {
///     *calls += 1;
///     let mut sum = 0;
///     all.for_each(|gold| sum += gold.0);
///     (*calls, sum)
/// }
///
/// let mut world = World::new();
/// world.spawn_batch((0..5).map(Gold));
/// let pool = Pool::new(Threads::None)?;
/// let mut wealth = OneShot::new(&mut world, wealth);
/// assert_eq!(wealth.run(&mut world, &pool), (1, 10));
/// assert_eq!(wealth.run(&mut world, &pool), (2, 10));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct OneShot<Function, Marker>
where
    Function: SystemFunction<Marker>,
{
    world: u64,
    system: FunctionSystem<Function, Marker>,
    failures: Vec<CommandFailure>,
}

impl<Function: SystemFunction<Marker>, Marker> fmt::Debug for OneShot<Function, Marker> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OneShot").field(&self.system).finish()
    }
}

impl<Function: SystemFunction<Marker>, Marker> OneShot<Function, Marker> {
    /// Gets a function ready for a world.
    ///
    /// # Panics
    /// Panics if two of its parameters want the same thing, one of them to write.
    #[must_use]
    pub fn new(world: &mut World, function: Function) -> Self {
        let mut system = FunctionSystem::new(function);
        let access = system.prepare(world);
        assert!(
            access.clashes().is_empty(),
            "two parameters of {} both want {}, one of them to write",
            name::of_system(system.function_name()),
            access.clashes().join(" and ")
        );
        Self { world: world.id(), system, failures: Vec::new() }
    }

    /// Calls it, and plays its commands.
    ///
    /// # Panics
    /// Panics if the function does; its commands are dropped then. Where it was made for another
    /// world.
    pub fn run(&mut self, world: &mut World, pool: &Pool) -> Function::Output {
        assert_eq!(self.world, world.id(), "it runs only in the world that it was made for");
        let guard = Abandoned(&mut self.system);
        let output = guard.0.call(RunContext::new(world.cell(), pool, 0));
        let failures = &mut self.failures;
        failures.clear();
        guard.0.visit_recorded(&mut |buffers| {
            let playback = CommandBuffer::play_all(buffers, world);
            failures.extend_from_slice(playback.failures());
        });
        std::mem::forget(guard);
        output
    }

    /// The commands of the last call that did not apply, and why.
    #[must_use]
    pub fn failures(&self) -> &[CommandFailure] {
        &self.failures
    }
}

/// Drops the commands of a call that a panic ended.
struct Abandoned<'a, Function: SystemFunction<Marker>, Marker>(
    &'a mut FunctionSystem<Function, Marker>,
);

impl<Function: SystemFunction<Marker>, Marker> Drop for Abandoned<'_, Function, Marker> {
    fn drop(&mut self) {
        self.0.visit_recorded(&mut clear_quietly);
    }
}

/// Running functions with the arguments of systems right away.
pub trait RunSystem {
    /// Calls a function once, plays its commands, and returns what it returned.
    ///
    /// ```
    /// use formic_jobs::prelude::*;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// let pool = Pool::new(Threads::None)?;
    /// world.run_system(&pool, |mut commands: Commands<'_>| {
    ///     commands.spawn(Gold(3));
    /// });
    /// let gold = world.run_system(&pool, |mut all: Query<'_, &Gold>| {
    ///     all.par_reduce(|gold| gold.0, |a, b| a + b)
    /// });
    /// assert_eq!(gold, Some(3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// As [`OneShot::new`] and [`OneShot::run`].
    fn run_system<Marker, Function>(&mut self, pool: &Pool, function: Function) -> Function::Output
    where
        Function: SystemFunction<Marker>;
}

impl RunSystem for World {
    fn run_system<Marker, Function>(&mut self, pool: &Pool, function: Function) -> Function::Output
    where
        Function: SystemFunction<Marker>,
    {
        OneShot::new(self, function).run(self, pool)
    }
}
