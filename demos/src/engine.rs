//! The engine of a demo: a world, the systems over it, and the threads that they run on.

use std::sync::Arc;

use formic_ecs::World;
use formic_jobs::{LoadError, LoadReport, Pool, Save, SaveError, Schedule, ScheduleBuilder, Step};

use crate::failure::Failure;
use crate::setup::Setup;

/// A world that lives by a schedule, on as many threads as the setup says.
#[derive(Debug)]
pub struct Engine {
    /// Everything there is.
    pub world: World,
    schedule: Schedule,
    pool: Arc<Pool>,
    failed_commands: usize,
}

impl Engine {
    /// Puts a world and its systems together, on threads of its own.
    ///
    /// # Errors
    /// Returns [`Failure::Usage`] if the system refuses a thread, [`Failure::Check`] if the systems
    /// have no order.
    pub fn new(setup: &Setup, world: World, systems: ScheduleBuilder) -> Result<Self, Failure> {
        Self::on(Arc::new(setup.pool()?), world, systems)
    }

    /// Puts a world and its systems together, on threads that others use as well.
    ///
    /// # Errors
    /// Returns [`Failure::Check`] if the systems have no order.
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

    /// Takes one step of a tick: the turn of a system, or a sync point. What it begins is ended by
    /// further steps or by [`tick`](Self::tick).
    pub fn step(&mut self) -> Step {
        let report = self.schedule.step(&mut self.world, &self.pool);
        self.failed_commands += report.ended.map_or(0, |run| run.failures.len());
        report.step
    }

    /// The world and what its systems keep, between two ticks.
    ///
    /// # Errors
    /// Returns a list of what cannot be saved.
    pub fn save(&self) -> Result<Save, SaveError> {
        Save::of(&self.world, &self.schedule)
    }

    /// Goes on with a game that was saved by an engine that was built like this one.
    ///
    /// # Errors
    /// Returns what does not fit; nothing has changed then.
    pub fn load(&mut self, save: &Save) -> Result<LoadReport, LoadError> {
        save.load(&mut self.world, &mut self.schedule)
    }

    /// The systems and their order, to be asked what they did.
    #[must_use]
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// How many ticks are over.
    #[must_use]
    pub fn ticks(&self) -> u64 {
        self.schedule.tick() - u64::from(self.schedule.is_stepping())
    }

    /// Something that was inserted into the world at the start.
    ///
    /// # Panics
    /// Panics if it was taken out since.
    #[must_use]
    pub fn resource<T: Send + Sync + 'static>(&self) -> &T {
        self.world.resource().expect("inserted at the start, and nobody takes it out")
    }

    /// The same, to be changed.
    ///
    /// # Panics
    /// Panics if it was taken out since.
    pub fn resource_mut<T: Send + Sync + 'static>(&mut self) -> &mut T {
        self.world.resource_mut().expect("inserted at the start, and nobody takes it out")
    }

    /// Looks for what must not be in any demo: a store that is not sound, a command that did not
    /// apply.
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
