//! The interface of a system.

use formic_ecs::{CommandBuffer, World};

use super::access::SystemAccess;
use super::param::RunContext;
use super::save::StateArchive;
use crate::pool::Pool;

/// Something that runs once a tick and says beforehand what it will touch.
///
/// Functions are systems by themselves (see [`IntoSystem`](super::IntoSystem)); implement it for
/// what has state of a kind that [`Local`](super::Local) does not suit, or whose access is known
/// only at run time. [`SystemConfig::of`](super::SystemConfig::of) makes it something to be added.
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
    /// For messages.
    fn name(&self) -> &str;

    /// Gets ready for a world; says what will be touched. Called once, before the first run.
    fn initialize(&mut self, world: &mut World) -> SystemAccess;

    /// Runs.
    ///
    /// # Panics
    /// Panics if it asks for something that it did not declare.
    fn run(&mut self, context: RunContext<'_>);

    /// Runs with the whole world, in place of [`run`](Self::run), where the access is
    /// [`SystemAccess::exclusive`].
    fn run_exclusive(&mut self, world: &mut World, pool: &Pool) {
        _ = (world, pool);
        unreachable!("{} is exclusive and has no `run_exclusive`", self.name());
    }

    /// Shows what the run recorded, to be played back at the sync point: the buffers of one call
    /// as one, see [`CommandBuffer::play_all`]. Asked of systems whose access says that they
    /// [record commands](SystemAccess::add_commands).
    fn visit_commands(&mut self, visit: &mut dyn FnMut(&mut [CommandBuffer])) {
        _ = visit;
    }

    /// Saves or loads what is kept from run to run and decides what comes next, see
    /// [`Save`](super::Save). By default that cannot be saved, and `Save::of` says so.
    fn visit_state(&mut self, archive: &mut StateArchive<'_>) {
        archive.cannot_save("the state", "implement `System::visit_state`");
    }
}
