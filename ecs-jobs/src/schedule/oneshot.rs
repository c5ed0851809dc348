//! Functions that run once, with the parameters of systems.

use std::panic::resume_unwind;

use formic_ecs::{CommandBuffer, World};

use super::function::{AnyFunction, FunctionSystem, SystemFunction};
use super::name;
use super::node::check_clashes;
use super::param::RunData;
use super::system::System;
use super::turn::clear_quietly;
use crate::panic_slot::catch;
use crate::pool::Pool;

/// Runs functions with system parameters right away.
pub trait RunSystem {
    /// Calls a function once, plays its commands, and returns its result.
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
    /// Panics if the function requests the same access twice, at least once to write; and if the function
    /// panics: its commands are dropped then.
    #[doc(alias = "run_system_once")]
    fn run_system<Marker, Function>(&mut self, pool: &Pool, function: Function) -> Function::Output
    where
        Function: AnyFunction<Marker> + SystemFunction<Marker>;
}

impl RunSystem for World {
    fn run_system<Marker, Function>(&mut self, pool: &Pool, function: Function) -> Function::Output
    where
        Function: AnyFunction<Marker> + SystemFunction<Marker>,
    {
        let mut system = FunctionSystem::new(function);
        let access = system.initialize(self);
        let checked = check_clashes(&name::of_system(system.name()), &access);
        checked.unwrap_or_else(|error| panic!("{error}"));
        let outcome = catch(|| {
            let output = system.call(&RunData { cell: self.cell(), pool, slice: None, tick: 0 });
            system.visit_commands(&mut |buffers| drop(CommandBuffer::play_all(buffers, self)));
            output
        });
        outcome.unwrap_or_else(|payload| {
            system.visit_commands(&mut clear_quietly);
            resume_unwind(payload)
        })
    }
}
