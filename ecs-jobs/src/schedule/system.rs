//! The interface of a system.

use formic_ecs::{CommandBuffer, World};

use super::access::SystemAccess;
use super::param::RunContext;
use super::save::StateArchive;
use crate::pool::Pool;

/// A task that runs once per tick and declares its access beforehand.
///
/// Functions are systems by themselves (see [`IntoSystem`](super::IntoSystem)). Implement this trait for
/// a system with state that does not suit [`Local`](super::Local), or whose access is known only at run
/// time. [`SystemConfig::of`](super::SystemConfig::of) makes it addable to a schedule.
///
/// ```
/// use formic_ecs::QueryPlan;
/// use formic_jobs::prelude::*;
/// use formic_jobs::{RunContext, StateArchive, System, SystemAccess, SystemConfig};
/// # #[derive(Component)] struct Gold(u64);
///
/// /// A tax at a rate of its own.
/// struct Tax {
///     percent: u64,
///     plan: Option<QueryPlan<&'static mut Gold>>,
/// }
///
/// impl System for Tax {
///     fn name(&self) -> &str {
///         "tax"
///     }
///
///     fn initialize(&mut self, world: &mut World) -> SystemAccess {
///         let plan = self.plan.insert(world.plan::<&mut Gold>());
///         let mut access = SystemAccess::default();
///         access.add_components(plan.access(), world);
///         access
///     }
///
///     fn visit_state(&mut self, archive: &mut StateArchive<'_>) {
///         archive.number("percent", &mut self.percent);
///     }
///
///     fn run(&mut self, context: RunContext<'_>) {
///         let plan = self.plan.as_mut().expect("it was initialized");
///         let mut all = context.cell.query(plan).expect("the schedule keeps others away");
///         all.query().for_each(|gold| gold.0 -= gold.0 * self.percent / 100);
///     }
/// }
///
/// let mut world = World::new();
/// let miner = world.spawn(Gold(200));
/// let tax = SystemConfig::of(Tax { percent: 10, plan: None });
/// let mut schedule = Schedule::builder().add(tax).build(&mut world)?;
/// schedule.run(&mut world, &Pool::new(Threads::None)?);
/// assert_eq!(world.get::<Gold>(miner)?.0, 180);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait System: Send {
    /// Returns the name, for messages.
    fn name(&self) -> &str;

    /// Prepares for a world and returns the access. Called once, before the first run.
    fn initialize(&mut self, world: &mut World) -> SystemAccess;

    /// Runs the system.
    ///
    /// # Panics
    /// Panics if it accesses something that it did not declare.
    fn run(&mut self, context: RunContext<'_>);

    /// Runs with the whole world, instead of [`run`](Self::run), if the access is
    /// [`SystemAccess::exclusive`].
    fn run_exclusive(&mut self, world: &mut World, pool: &Pool) {
        _ = (world, pool);
        unreachable!("{} is exclusive and has no `run_exclusive`", self.name());
    }

    /// Passes the commands recorded in the run to `visit`, to be played back at the sync point. The
    /// buffers of one call are played as one, see [`CommandBuffer::play_all`]. Called for systems whose
    /// access [records commands](SystemAccess::add_commands).
    fn visit_commands(&mut self, visit: &mut dyn FnMut(&mut [CommandBuffer])) {
        _ = visit;
    }

    /// Saves or loads the state that is kept between runs and affects later ones, see
    /// [`Save`](super::Save). By default it cannot be saved, and `Save::of` reports it.
    fn visit_state(&mut self, archive: &mut StateArchive<'_>) {
        archive.cannot_save("the state", "implement `System::visit_state`");
    }
}
