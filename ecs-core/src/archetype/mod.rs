//! Archetypes: the entities that have the same set of components, with their rows; and the map from
//! component sets to archetypes.
//!
//! An archetype is not a database table (the order of its rows has no meaning) and not a class (an entity
//! changes its archetype whenever a component is added or removed).

mod rows;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::alloc::Layout;
use core::any::TypeId;

use crate::component::{
    ArchetypeFlags, Component, ComponentId, ComponentInfo, DropErasedFn as DropFn, Registry,
};
use crate::entity::Entity;
use crate::hash::BuildFibonacci;
use crate::storage::{BlockPool, ChangeWindow, Chunks, EnabledBit, RowAddress, RowPlan};

/// A set of component ids, in increasing order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ComponentSet(Box<[ComponentId]>);

impl ComponentSet {
    /// Creates the set of these ids, which may be in any order and repeated.
    pub(crate) fn new(mut ids: Vec<ComponentId>) -> Self {
        ids.sort_unstable();
        ids.dedup();
        Self(ids.into_boxed_slice())
    }

    /// Returns the ids in increasing order.
    #[must_use]
    pub fn ids(&self) -> &[ComponentId] {
        &self.0
    }

    /// Returns the position of this id in the order, if it is in the set.
    pub(crate) fn position(&self, id: ComponentId) -> Option<usize> {
        // Most sets have few members, for which a scan is faster than a binary search.
        if self.0.len() <= 8 {
            self.0.iter().position(|&mine| mine == id)
        } else {
            self.0.binary_search(&id).ok()
        }
    }

    /// Whether this id is in the set.
    #[must_use]
    pub fn contains(&self, id: ComponentId) -> bool {
        self.position(id).is_some()
    }

    /// Returns the union of this set and these ids.
    pub(crate) fn with(&self, added: &[ComponentId]) -> Self {
        Self::new(self.0.iter().chain(added).copied().collect())
    }

    /// Returns this set without these ids.
    pub(crate) fn without(&self, removed: &[ComponentId]) -> Self {
        Self(self.0.iter().copied().filter(|id| !removed.contains(id)).collect())
    }
}

/// The index of an archetype in its world's list. Ids are assigned in order of first use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArchetypeId(pub(crate) u32);

impl ArchetypeId {
    /// The archetype without components, which every world has.
    pub(crate) const EMPTY: Self = Self(0);

    /// Returns the index.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The entities that have one particular set of components.
///
/// It is read-only: its contents, and how full its chunks are. Everything else goes through the world.
///
/// ```
/// use formic_ecs::prelude::*;
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// let mut world = World::new();
/// let imps = world.spawn_batch((0..1000).map(Gold));
/// let gold = world.component_id::<Gold>().expect("it is in use");
/// let archetype = world.archetypes().iter().find(|it| it.components().contains(gold)).unwrap();
/// assert_eq!(archetype.len(), 1000);
/// assert!(archetype.block_bytes() >= 1000 * (8 + 4));
/// let mut listed = Vec::new();
/// for chunk in 0..archetype.chunk_count() {
///     let (rows, capacity) = archetype.chunk_fill(chunk);
///     assert!(rows <= capacity);
///     listed.extend_from_slice(archetype.entities(chunk));
/// }
/// assert_eq!(listed, imps);
/// ```
// The chunks begin a cache line; see their type.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Archetype {
    pub(crate) chunks: Chunks,
    pub(crate) id: ArchetypeId,
    /// Flags for the work beside moving rows.
    pub(crate) flags: ArchetypeFlags,
    pub(crate) components: ComponentSet,
    /// The columns, in the order of `components`.
    pub(crate) columns: Box<[Column]>,
    /// The components that hide it from queries that do not name them.
    pub(crate) hidden_by: Box<[ComponentId]>,
    /// The plan for a row whose entity is removed.
    pub(crate) ending: RowPlan,
}

/// One component of an archetype.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) info: ComponentInfo,
    /// The index of this component among the archetype's enabled bits.
    pub(crate) enable_slot: Option<usize>,
    /// The index of this component among the archetype's row versions.
    pub(crate) track_slot: Option<usize>,
}

impl Column {
    /// Checks that the values of the column are of this type (I-9).
    ///
    /// # Panics
    /// Panics if they are not.
    #[inline]
    fn expect_type<T: Component>(&self) {
        assert!(self.info.type_id() == Some(TypeId::of::<T>()), "the column is of another type");
    }

    /// Returns the size of its values, and the function that drops them.
    pub(crate) fn size_and_drop(&self) -> (usize, Option<DropFn>) {
        (self.info.layout.size(), self.info.erased.drop)
    }
}

impl Archetype {
    pub(crate) fn new(id: ArchetypeId, components: ComponentSet, registry: &Registry) -> Self {
        let (mut enableable_count, mut tracked_count) = (0, 0);
        let columns: Box<[Column]> = components
            .ids()
            .iter()
            .map(|&component| {
                let info = registry.info(component).clone();
                let enable_slot = info.enableable.then(|| {
                    enableable_count += 1;
                    enableable_count - 1
                });
                let track_slot = info.tracked.then(|| {
                    tracked_count += 1;
                    tracked_count - 1
                });
                Column { info, enable_slot, track_slot }
            })
            .collect();
        let layouts: Vec<Layout> = columns.iter().map(|column| column.info.layout).collect();
        let has_marks = enableable_count + tracked_count > 0;
        let mut ending = RowPlan { has_marks, ..RowPlan::default() };
        columns.iter().for_each(|column| ending.push_column(column.size_and_drop(), None, false));
        let flags =
            columns.iter().fold(ArchetypeFlags::NONE, |flags, column| flags.and(column.info.flags));
        let hiding = columns.iter().filter(|column| column.info.hides);
        let hidden_by = hiding.map(|column| column.info.id).collect();
        Self {
            id,
            components,
            columns,
            chunks: Chunks::new(id.0, &layouts, (enableable_count, tracked_count)),
            ending,
            flags: flags.complete(),
            hidden_by,
        }
    }

    /// Returns its index in the world's list.
    #[must_use]
    pub const fn id(&self) -> ArchetypeId {
        self.id
    }

    /// Returns the components that its entities have.
    #[must_use]
    pub const fn components(&self) -> &ComponentSet {
        &self.components
    }

    /// Returns the number of its entities.
    #[must_use]
    pub fn len(&self) -> usize {
        self.chunks.row_count()
    }

    /// Whether it has no entities.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of chunks that hold its entities.
    #[must_use]
    pub fn chunk_count(&self) -> usize {
        self.chunks.used_count()
    }

    /// Returns the number of rows of this chunk, and its capacity.
    ///
    /// # Panics
    /// Panics if `chunk` is not below [`chunk_count`](Self::chunk_count).
    #[must_use]
    pub fn chunk_fill(&self, chunk: usize) -> (usize, usize) {
        assert!(chunk < self.chunk_count(), "chunk {chunk} of {}", self.chunk_count());
        (self.chunks.len(chunk), self.chunks.capacity(chunk))
    }

    /// Returns the memory that its chunks take, in bytes.
    #[must_use]
    pub fn block_bytes(&self) -> usize {
        self.chunks.block_bytes()
    }

    /// Returns the entities of one chunk, in row order.
    ///
    /// # Panics
    /// Panics if `chunk` is not below [`chunk_count`](Self::chunk_count).
    #[must_use]
    pub fn entities(&self, chunk: usize) -> &[Entity] {
        assert!(chunk < self.chunk_count(), "chunk {chunk} of {}", self.chunk_count());
        self.chunks.entities(chunk)
    }

    /// Iterates over the entities of all chunks.
    pub(crate) fn all_entities(&self) -> impl Iterator<Item = Entity> + '_ {
        (0..self.chunk_count()).flat_map(|chunk| self.entities(chunk).iter().copied())
    }

    /// Returns the enabled bit of a component of a row, or `None` if the component is not enableable.
    pub(crate) fn enabled_bit(&self, at: RowAddress, column: usize) -> Option<EnabledBit<'_>> {
        let slot = self.columns[column].enable_slot?;
        Some(self.chunks.marks(at.chunk).bits(slot).bit(at.row))
    }

    /// Stamps a value that is handed out for writing, or was replaced.
    #[inline]
    pub(crate) fn mark_changed(&self, address: RowAddress, column: usize, window: ChangeWindow) {
        self.chunks.stamps(address.chunk, column).mark(window.version);
        if let Some(slot) = self.columns[column].track_slot {
            let marks = self.chunks.marks(address.chunk);
            marks.versions[slot].changed.mark(address.row, window);
        }
    }

    /// Returns the column of this component.
    #[inline]
    pub(crate) fn column_of(&self, component: ComponentId) -> Option<usize> {
        self.components.position(component)
    }
}

/// The archetypes in order of first use, and the map from a component set to its archetype.
#[derive(Debug)]
pub(crate) struct Archetypes {
    list: Vec<Archetype>,
    by_set: hashbrown::HashMap<ComponentSet, ArchetypeId, BuildFibonacci>,
}

impl Archetypes {
    /// Creates a list with only the archetype of entities without components.
    pub(crate) fn new(registry: &Registry) -> Self {
        let mut archetypes = Self { list: Vec::new(), by_set: hashbrown::HashMap::default() };
        archetypes.obtain(ComponentSet::default(), registry);
        archetypes
    }

    /// Returns the archetype of this set, which is created if it does not exist.
    pub(crate) fn obtain(&mut self, set: ComponentSet, registry: &Registry) -> ArchetypeId {
        if let Some(&id) = self.by_set.get(&set) {
            return id;
        }
        let id = ArchetypeId(u32::try_from(self.list.len()).expect("fewer than 2^32 archetypes"));
        self.list.push(Archetype::new(id, set.clone(), registry));
        self.by_set.insert(set, id);
        id
    }

    /// Removes the archetypes without entities, except the first, and returns their number. The others
    /// move up.
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
            // No archetype has moved, so plans stay valid.
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

    /// Frees memory that no archetype needs.
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

    /// Returns two different archetypes at once.
    #[inline]
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

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn order_and_repetition_do_not_make_another_set() {
        let ids = |numbers: &[u32]| numbers.iter().copied().map(ComponentId).collect::<Vec<_>>();
        let set = ComponentSet::new(ids(&[3, 1, 2, 1]));
        assert_eq!(set, ComponentSet::new(ids(&[1, 2, 3])));
        assert_eq!(set.with(&ids(&[2, 4])).ids(), ids(&[1, 2, 3, 4]));
        assert_eq!(set.without(&ids(&[2, 9])).ids(), ids(&[1, 3]));
        assert_eq!(ComponentSet::new(vec![]), ComponentSet::default());
        let large = ComponentSet::new((0..40).map(|i| ComponentId(i * 2)).collect());
        assert_eq!(large.position(ComponentId(20)), Some(10));
        assert!(!large.contains(ComponentId(21)));
    }
}
