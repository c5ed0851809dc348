//! Copying rows.
#![expect(unsafe_code, reason = "clones rows into reserved ones")]

use alloc::vec::Vec;

use smallvec::SmallVec;

use super::World;
use super::bundles::Transition;
use crate::archetype::{Archetype, Archetypes, ColumnCloner};
use crate::component::Duties;
use crate::entities::Location;
use crate::entity::Entity;
use crate::storage::RowAddress;

/// How an entity in a new row refers to others: what the originals become.
pub(super) type Map<'a> = dyn FnMut(Entity) -> Entity + 'a;

impl World {
    /// What is to be done for each copy of an entity that is at `from`.
    pub(super) fn duties_of_copies(&mut self, from: Location) -> Duties {
        let Self { bundles, registry, archetypes, .. } = self;
        let target = bundles.copying(from.archetype, registry, archetypes).target;
        archetypes.get(target).duties
    }

    /// Copies one entity into as many rows of one chunk as there are, at most `wanted`; references
    /// to itself become references to the copy. Should a clone panic, the copies before it are
    /// there.
    pub(super) fn copy_run(
        &mut self,
        original: Entity,
        from: Location,
        wanted: usize,
        copies: &mut Vec<Entity>,
    ) {
        let version = self.next_version();
        let Self { bundles, registry, archetypes, blocks, entities, .. } = self;
        let way = bundles.copying(from.archetype, registry, archetypes);
        let target = archetypes.get_mut(way.target);
        let (first, granted) = target.chunks.reserve_rows(blocks, wanted);
        copies.reserve(granted);
        let start = copies.len();
        let mut run = CopyRun { archetypes, way, from, first, version, start, copies };
        let CopyRun { archetypes, copies, .. } = &mut run;
        let (source, target) = (archetypes.get(from.archetype), archetypes.get(way.target));
        // SAFETY: a live entity's row (I-1); the pairs are all columns of the target in their
        // order, each with the source's of the same component (I-6).
        let cloners = unsafe { source.cloners(from.address, target, first.chunk, &way.moves) };
        let cloners: SmallVec<[ColumnCloner; 8]> = cloners.collect();
        for row in first.row..first.row + granted {
            let copy = entities.next();
            let mut map = |entity| if entity == original { copy } else { entity };
            let (to, cloners) = (RowAddress { row, ..first }, cloners.iter().copied());
            // SAFETY: the row was reserved above, and comes up once; the archetypes are borrowed.
            unsafe { target.clone_to(to, cloners, &mut map) }.into_committed();
            copies.push(entities.allocate(target.chunks.place(to)));
        }
    }

    /// Copies one entity, whose handle was reserved. Returns what is to be done next.
    pub(super) fn copy_reserved(
        &mut self,
        from: Location,
        copy: Entity,
        map: &mut Map<'_>,
    ) -> Duties {
        let version = self.next_version();
        let Self { bundles, registry, archetypes, blocks, entities, .. } = self;
        let way = bundles.copying(from.archetype, registry, archetypes);
        let (to, _) = archetypes.get_mut(way.target).chunks.reserve_rows(blocks, 1);
        let (source, target) = (archetypes.get(from.archetype), archetypes.get(way.target));
        // SAFETY: as in `copy_run`.
        let cloners = unsafe { source.cloners(from.address, target, to.chunk, &way.moves) };
        // SAFETY: the row was reserved above, and the archetypes are borrowed.
        unsafe { target.clone_to(to, cloners, map) }.into_committed();
        let target = archetypes.get_mut(way.target);
        entities.activate(copy, target.chunks.place(to));
        // SAFETY: reserved above, and every column was cloned.
        unsafe { target.chunks.commit_rows(to, &[copy], version, version) };
        copy_bits(archetypes, way, from, to, 1);
        archetypes.get(way.target).duties
    }
}

/// Rows of one chunk that are being filled with copies of one; what was written is committed when
/// it is dropped.
struct CopyRun<'a> {
    archetypes: &'a mut Archetypes,
    way: &'a Transition,
    from: Location,
    first: RowAddress,
    version: u64,
    /// The first of the copies that are this run's.
    start: usize,
    copies: &'a mut Vec<Entity>,
}

impl Drop for CopyRun<'_> {
    fn drop(&mut self) {
        let Self { archetypes, way, from, first, version, start, copies } = self;
        let copies = &copies[*start..];
        if copies.is_empty() {
            // The first clone has panicked: a chunk without rows must not count as used (I-4).
            return;
        }
        let target = archetypes.get_mut(way.target);
        // SAFETY: the rows were reserved when the run began, and the archetypes have been borrowed
        // by it since; each entity was pushed after every column of its row had been cloned.
        unsafe { target.chunks.commit_rows(*first, copies, *version, *version) };
        copy_bits(archetypes, way, *from, *first, copies.len());
    }
}

/// Switches off in the copies what is switched off in the original; they have come all enabled.
fn copy_bits(
    archetypes: &Archetypes,
    way: &Transition,
    from: Location,
    first: RowAddress,
    count: usize,
) {
    let (source, target): (&Archetype, &Archetype) =
        (archetypes.get(from.archetype), archetypes.get(way.target));
    for &(mine, theirs) in &way.plan.bit_moves {
        if !source.chunks.bits(mine).get(from.address.chunk, from.address.row) {
            let bits = target.chunks.bits(theirs);
            (first.row..first.row + count).for_each(|row| _ = bits.set(first.chunk, row, false));
        }
    }
}
