//! The interface of a system.

use ecs_core::{CommandBuffer, World};

use super::access::SystemAccess;
use super::param::RunContext;

/// Something that runs once a tick and says beforehand what it will touch.
///
/// Functions are systems by themselves (see [`IntoSystem`](super::IntoSystem)); implement it for
/// what has state of a kind that [`Local`](super::Local) does not suit.
pub trait System: Send {
    /// For messages.
    fn name(&self) -> &str;

    /// Gets ready for a world; says what will be touched. Called once, before the first run.
    fn initialize(&mut self, world: &mut World) -> SystemAccess;

    /// Runs.
    ///
    /// # Panics
    /// Where it asks for something that it did not declare and somebody else is using.
    fn run(&mut self, context: RunContext<'_>);

    /// Shows what the run recorded, to be played back at the sync point: the buffers of one call
    /// as one, see [`CommandBuffer::play_all`].
    fn visit_commands(&mut self, visit: &mut dyn FnMut(&mut [CommandBuffer])) {
        _ = visit;
    }
}
