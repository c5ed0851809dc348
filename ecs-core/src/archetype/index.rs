//! All archetypes of a world, and which component set leads to which.

use alloc::vec::Vec;

use super::{Archetype, ArchetypeId};
use crate::component::{ComponentSet, Registry};
use crate::hash::BuildFibonacci;
use crate::storage::BlockPool;

/// The archetypes in order of first use, and the way from a component set to its archetype.
#[derive(Debug)]
pub(crate) struct Archetypes {
    list: Vec<Archetype>,
    by_set: hashbrown::HashMap<ComponentSet, ArchetypeId, BuildFibonacci>,
}

impl Archetypes {
    /// The archetype of entities without components, and no other.
    pub(crate) fn new(registry: &Registry) -> Self {
        let mut archetypes = Self { list: Vec::new(), by_set: hashbrown::HashMap::default() };
        archetypes.obtain(ComponentSet::default(), registry);
        archetypes
    }

    /// The archetype of this set, made where there was none.
    pub(crate) fn obtain(&mut self, set: ComponentSet, registry: &Registry) -> ArchetypeId {
        if let Some(&id) = self.by_set.get(&set) {
            return id;
        }
        let id = ArchetypeId(u32::try_from(self.list.len()).expect("fewer than 2^32 archetypes"));
        self.list.push(Archetype::new(id, set.clone(), registry));
        self.by_set.insert(set, id);
        id
    }

    /// Removes the archetypes without entities, but for the first; returns how many these were. The
    /// others move up.
    pub(crate) fn collect(&mut self, pool: &mut BlockPool) -> usize {
        let before = self.list.len();
        self.list.retain_mut(|archetype| {
            let is_first = archetype.components.ids().is_empty();
            let stays = is_first || !archetype.is_empty();
            if !stays {
                archetype.chunks.free_spare(pool);
            }
            stays
        });
        let gone = before - self.list.len();
        if gone == 0 {
            // No archetype has moved, and plans need not look again.
            return 0;
        }
        self.by_set.clear();
        for (index, archetype) in (0_u32..).zip(&mut self.list) {
            archetype.id = ArchetypeId(index);
            archetype.chunks.set_owner(index, &mut pool.directory);
            self.by_set.insert(archetype.components.clone(), archetype.id);
        }
        gone
    }

    /// Gives back memory that no archetype needs.
    pub(crate) fn shrink(&mut self) {
        self.list.shrink_to_fit();
        self.by_set.shrink_to_fit();
    }

    pub(crate) fn list(&self) -> &[Archetype] {
        &self.list
    }

    pub(crate) fn list_mut(&mut self) -> &mut [Archetype] {
        &mut self.list
    }

    #[inline]
    pub(crate) fn get(&self, id: ArchetypeId) -> &Archetype {
        &self.list[id.index()]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: ArchetypeId) -> &mut Archetype {
        &mut self.list[id.index()]
    }

    /// Two different archetypes at once.
    pub(crate) fn get_two(
        &mut self,
        a: ArchetypeId,
        b: ArchetypeId,
    ) -> (&mut Archetype, &mut Archetype) {
        let (a, b) = (a.index(), b.index());
        if a < b {
            let (head, tail) = self.list.split_at_mut(b);
            (&mut head[a], &mut tail[0])
        } else {
            let (head, tail) = self.list.split_at_mut(a);
            (&mut tail[0], &mut head[b])
        }
    }
}
