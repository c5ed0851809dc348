//! The threads of a schedule as the argument of a system.

use ecs_core::World;
use ecs_jobs::{Pool, RunContext, SystemAccess, SystemParam};

/// The pool that the schedule runs on, for work that no query describes.
#[derive(Clone, Copy, Debug)]
pub struct OnPool<'a>(&'a Pool);

impl<'a> OnPool<'a> {
    pub(crate) const fn pool(self) -> &'a Pool {
        self.0
    }
}

impl SystemParam for OnPool<'_> {
    type State = ();
    type Item<'a> = OnPool<'a>;

    fn init(_world: &mut World, _access: &mut SystemAccess) {}

    fn fetch<'a>((): &'a mut (), context: RunContext<'a>) -> Result<OnPool<'a>, String> {
        Ok(OnPool(context.pool))
    }
}
