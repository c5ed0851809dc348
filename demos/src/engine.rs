//! The engine of a demo: a world, its systems, and the threads that they run on.

use std::sync::Arc;

use formic_ecs::{Component, World};
use formic_jobs::{LoadError, LoadReport, Pool, Save, SaveError, Schedule, ScheduleBuilder, Step};

use crate::failure::Failure;
use crate::setup::Setup;

/// A world and its schedule, on as many threads as the setup says.
#[derive(Debug)]
pub struct Engine {
    /// The world.
    pub world: World,
    schedule: Schedule,
    pool: Arc<Pool>,
    failed_commands: usize,
}

impl Engine {
    /// Creates an engine from a world and its systems, on threads of its own.
    ///
    /// # Errors
    /// Returns [`Failure::Usage`] if the system refuses a thread, and [`Failure::Check`] if the systems
    /// have no valid order.
    pub fn new(setup: &Setup, world: World, systems: ScheduleBuilder) -> Result<Self, Failure> {
        Self::on(Arc::new(setup.pool()?), world, systems)
    }

    /// Creates an engine from a world and its systems, on a shared pool.
    ///
    /// # Errors
    /// Returns [`Failure::Check`] if the systems have no valid order.
    pub fn on(
        pool: Arc<Pool>,
        mut world: World,
        systems: ScheduleBuilder,
    ) -> Result<Self, Failure> {
        let schedule =
            systems.build(&mut world).map_err(|error| Failure::Check(error.to_string()))?;
        Ok(Self { world, schedule, pool, failed_commands: 0 })
    }

    /// Runs every system that is due, once.
    pub fn tick(&mut self) {
        self.failed_commands += self.schedule.run(&mut self.world, &self.pool).failures.len();
    }

    /// Takes one step of a tick: a system or a sync point. Further steps or [`tick`](Self::tick) finish
    /// the tick.
    pub fn step(&mut self) -> Step {
        let report = self.schedule.step(&mut self.world, &self.pool);
        self.failed_commands += report.ended.map_or(0, |run| run.failures.len());
        report.step
    }

    /// Saves the world and the state of its systems, between two ticks.
    ///
    /// # Errors
    /// Returns a list of what cannot be saved.
    pub fn save(&self) -> Result<Save, SaveError> {
        Save::of(&self.world, &self.schedule)
    }

    /// Continues a game saved by an engine that was built like this one.
    ///
    /// # Errors
    /// Returns what does not fit; nothing has changed then.
    pub fn load(&mut self, save: &Save) -> Result<LoadReport, LoadError> {
        save.load(&mut self.world, &mut self.schedule)
    }

    /// Returns the schedule, which knows what each system did.
    #[must_use]
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// Returns the number of finished ticks.
    #[must_use]
    pub fn ticks(&self) -> u64 {
        self.schedule.tick() - u64::from(self.schedule.is_stepping())
    }

    /// Returns a resource that was inserted into the world at the start.
    ///
    /// # Panics
    /// Panics if it has been removed.
    #[must_use]
    pub fn resource<T: Send + Sync + 'static>(&self) -> &T {
        self.world.resource().expect("inserted at the start, and nobody takes it out")
    }

    /// Returns the same resource mutably.
    ///
    /// # Panics
    /// Panics if it has been removed.
    pub fn resource_mut<T: Send + Sync + 'static>(&mut self) -> &mut T {
        self.world.resource_mut().expect("inserted at the start, and nobody takes it out")
    }

    /// Sums a number over all components of a type.
    #[must_use]
    pub fn sum<T: Component>(&self, of: &dyn Fn(&T) -> u64) -> u64 {
        self.world.query_ref::<&T>().map(of).sum()
    }

    /// Returns the number of components of a type.
    #[must_use]
    pub fn count<T: Component>(&self) -> u64 {
        self.sum::<T>(&|_| 1)
    }

    /// Checks the invariants of all demos: the world is consistent, and no command has failed.
    ///
    /// # Errors
    /// Returns a line that says what is wrong.
    pub fn check(&self) -> Result<(), String> {
        self.world.check().map_err(|error| error.to_string())?;
        match self.failed_commands {
            0 => Ok(()),
            some => Err(format!("{some} commands did not apply")),
        }
    }
}

#[cfg(test)]
mod tests {
    use formic_jobs::prelude::*;

    use super::*;

    fn despawn_nothing(mut commands: Commands<'_>) {
        let gone = Entity::from_bits(1 << 32 | 7).expect("a handle");
        commands.despawn(gone);
    }

    #[test]
    fn a_command_that_does_not_apply_fails_the_check() {
        let setup = Setup { agents: 1, ticks: 1, seed: 1, threads: 1 };
        let systems = Schedule::builder().add(despawn_nothing);
        let mut engine = Engine::new(&setup, World::new(), systems).expect("one thread is here");
        assert_eq!(engine.check(), Ok(()));
        engine.tick();
        assert_eq!(engine.check(), Err("1 commands did not apply".to_owned()));
    }
}
