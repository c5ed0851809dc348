//! The heads of per-entity lists.

use std::collections::BTreeMap;

use formic_ecs::Entity;

/// No node.
pub(crate) const NONE: u32 = u32::MAX;

/// As many places are kept in one piece in any case.
const DENSE_MIN: usize = 1 << 16;
/// And as many for each node. What lies beyond is kept one by one, so that an entity that no world
/// has ever had, of a broken snapshot or of a stray number, does not cost memory by its index.
const PLACES_PER_NODE: usize = 32;

/// By the index of an entity, the first node of its list.
#[derive(Debug, Default)]
pub(crate) struct Heads {
    dense: Vec<u32>,
    /// Those that are beyond, with a list that is not empty.
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

    /// Has the entity's list begin with this node, or be empty, where there are so many nodes.
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

    /// Takes out everything.
    pub(crate) fn clear(&mut self) {
        self.dense.clear();
        self.sparse.clear();
    }

    /// How many places there are.
    pub(crate) fn len(&self) -> usize {
        self.dense.len() + self.sparse.len()
    }
}
