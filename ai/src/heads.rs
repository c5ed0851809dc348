//! The list heads of intrusive per-entity lists.

use std::collections::BTreeMap;

use formic_ecs::Entity;

/// Marks the end of a list.
pub(crate) const NONE: u32 = u32::MAX;

/// The dense part may always hold this many heads.
const DENSE_MIN: usize = 1 << 16;
/// The dense part may hold this many heads per node. Heads beyond it go into a map, so that an entity
/// index that no world has ever used (from a broken snapshot or a stray number) does not cost memory in
/// proportion to the index.
const PLACES_PER_NODE: usize = 32;

/// The first node of each entity's list, by the index of the entity.
#[derive(Debug, Default)]
pub(crate) struct Heads {
    dense: Vec<u32>,
    /// The heads of non-empty lists whose index is beyond `dense`.
    sparse: BTreeMap<u32, u32>,
}

impl Heads {
    /// The first node of the entity's list, or [`NONE`].
    pub(crate) fn get(&self, entity: Entity) -> u32 {
        let index = entity.index();
        match self.dense.get(index as usize) {
            Some(&head) => head,
            None => self.sparse.get(&index).copied().unwrap_or(NONE),
        }
    }

    /// Makes `head` the first node of the entity's list; [`NONE`] empties the list. `node_count`, the
    /// number of nodes in all lists, bounds the size of the dense part.
    pub(crate) fn set(&mut self, entity: Entity, head: u32, node_count: usize) {
        let index = entity.index();
        let place = index as usize;
        if place >= self.dense.len() && place < DENSE_MIN.max(node_count * PLACES_PER_NODE) {
            self.dense.resize(place + 1, NONE);
            let beyond = self.sparse.split_off(&(index + 1));
            for (index, head) in std::mem::replace(&mut self.sparse, beyond) {
                self.dense[index as usize] = head;
            }
        }
        match self.dense.get_mut(place) {
            Some(place) => *place = head,
            None if head == NONE => _ = self.sparse.remove(&index),
            None => _ = self.sparse.insert(index, head),
        }
    }

    /// Empties all lists.
    pub(crate) fn clear(&mut self) {
        self.dense.clear();
        self.sparse.clear();
    }

    /// The number of heads that are stored.
    pub(crate) fn len(&self) -> usize {
        self.dense.len() + self.sparse.len()
    }
}
