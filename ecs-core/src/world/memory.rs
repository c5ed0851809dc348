//! The contents of a world as a whole: replacing them, and giving back memory.

use super::World;
use super::bundles::Bundles;
use crate::archetype::Archetypes;
use crate::entities::Entities;
use crate::query::PlanCache;
use crate::storage::BlockPool;
use crate::unwind::finish;

/// What is in a world, apart from resources.
#[derive(Debug)]
pub(crate) struct Contents {
    pub(crate) archetypes: Archetypes,
    pub(crate) entities: Entities,
    /// What the archetypes' chunks came from.
    pub(crate) pool: BlockPool,
    pub(crate) version: u64,
}

impl World {
    /// Puts other contents in place of what there is, which is dropped when the world is in order.
    pub(crate) fn replace_contents(&mut self, contents: Contents) {
        let Contents { archetypes, entities, mut pool, version } = contents;
        pool.directory.succeed(&self.blocks.directory);
        let mut old = core::mem::replace(&mut self.archetypes, archetypes);
        let mut old_pool = core::mem::replace(&mut self.blocks, pool);
        self.entities = entities;
        self.version = version;
        *self.settled.get_mut() = version.min(*self.settled.get_mut());
        self.resources.bound_versions(version);
        self.forget_archetypes();
        self.restored = self.epoch;
        // The blocks are the world's whatever panics.
        let mut archetypes = old.list_mut().iter_mut();
        finish(|| {
            archetypes.by_ref().for_each(|archetype| archetype.empty(&mut old_pool));
            self.blocks.absorb(&mut old_pool);
        });
    }

    /// Another list of archetypes has come: nothing that was worked out from the one before holds
    /// (I-21).
    fn forget_archetypes(&mut self) {
        self.epoch += 1;
        self.bundles = Bundles::default();
        self.plans = PlanCache::default();
    }
}

impl World {
    /// Gives back the memory that is kept for what may come: spare chunks and blocks, and the room
    /// for more entities and archetypes. What is there stays where it is, since rows have no gaps.
    ///
    /// It is for after a peak: memory that is needed again soon is better kept.
    pub fn compact(&mut self) {
        for archetype in self.archetypes.list_mut() {
            archetype.chunks.free_spare(&mut self.blocks);
            archetype.chunks.shrink(&mut self.blocks.directory);
        }
        self.archetypes.shrink();
        self.entities.shrink();
        self.blocks.shrink();
    }

    /// Removes the archetypes that have no entities, and returns how many there were. Those behind
    /// them move up, so that [`ArchetypeId`](crate::ArchetypeId)s mean others from now on. Plans
    /// notice it and are worked out again when they are used next.
    ///
    /// It is for worlds that have met many component sets which do not come back: every query that
    /// is made looks at every archetype, and each takes about a kilobyte even if it is empty.
    pub fn collect_archetypes(&mut self) -> usize {
        let count = self.archetypes.collect(&mut self.blocks);
        if count > 0 {
            self.forget_archetypes();
        }
        count
    }
}
