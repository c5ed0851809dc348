//! From bytes to a world: everything is built aside, and nothing of it is seen before all of it is
//! in order.

use alloc::string::ToString;
use alloc::vec::Vec;
use core::ops::Range;

use super::format::contradiction;
use super::image::{
    ArchetypeImage, ChunkImage, ColumnImage, ComponentImage, Image, check_complete, move_in,
};
use super::names::KnownComponents;
use crate::archetype::{Archetype, ArchetypeId, Archetypes, Column, ComponentSet};
use crate::component::{ArchetypeFlags, Component, ComponentId, Despawned, Registry};
use crate::entities::Entities;
use crate::entity::Entity;
use crate::error::{DroppedComponent, RestoreError, RestoreReport};
use crate::features::prefab::Prefab;
use crate::features::relation::RelationFns;
use crate::storage::{BlockPool, RowAddress};
use crate::world::{Finishing, World};

/// Puts what is in the image in place of what is in the world.
pub(super) fn load(world: &mut World, image: &Image<'_>) -> Result<RestoreReport, RestoreError> {
    if world.entities.has_reserved() {
        return Err(RestoreError::InPlayback);
    }
    // The store's own, which need no registration.
    if image.has(Prefab::name()) {
        world.register::<Prefab>();
    }
    if image.has(Despawned::name()) {
        world.register_despawned();
    }
    let ids = KnownComponents::of(&world.registry).find_all(&image.components)?;
    let entities = image.vacant()?;
    let mut building = Building {
        registry: &world.registry,
        components: &image.components,
        ids,
        archetypes: Archetypes::new(&world.registry),
        entities,
        // Unused blocks. Should this come to nothing, they go back.
        pool: world.blocks.spare_blocks(),
        finished: Vec::new(),
    };
    let loaded =
        image.archetypes.iter().try_for_each(|archetype| building.load_archetype(archetype));
    match loaded.and_then(|()| building.check(world.relations())) {
        Ok(()) => {
            let report = building.report(image);
            let Building { archetypes, entities, pool, finished, .. } = building;
            let mut finishing = Finishing { world, entities: &finished };
            // Drops what was there, which may panic.
            finishing.world.replace_contents((archetypes, entities), pool, image.version);
            finishing.finish();
            Ok(report)
        }
        Err(error) => {
            let Building { archetypes, mut pool, .. } = building;
            world.blocks.absorb(&mut pool);
            drop(archetypes);
            Err(error)
        }
    }
}

/// A world's contents on their way from an image. Drops what has been loaded if it comes to nothing.
struct Building<'a> {
    registry: &'a Registry,
    components: &'a [ComponentImage<'a>],
    /// The world's ids of these, and none of those that the program has no more.
    ids: Vec<Option<ComponentId>>,
    archetypes: Archetypes,
    entities: Entities,
    pool: BlockPool,
    /// Despawned entities that have nothing left to clean up, since the program knows it no more.
    finished: Vec<Entity>,
}

impl Building<'_> {
    /// Whether what was built can be.
    fn check(&self, relations: &[RelationFns]) -> Result<(), RestoreError> {
        check_complete(&self.entities)?;
        for relation in relations {
            relation.check(self.archetypes.list()).map_err(contradiction)?;
        }
        Ok(())
    }

    /// What was not loaded.
    fn report(&self, image: &Image<'_>) -> RestoreReport {
        let is_gone = |&number: &usize| self.ids[number].is_none();
        let dropped = (0..self.ids.len()).filter(is_gone).map(|number| {
            let having = image.archetypes.iter().filter(|it| it.components.contains(&number));
            let chunks = having.flat_map(|archetype| &archetype.chunks);
            DroppedComponent {
                component: self.components[number].name.to_string(),
                count: chunks.map(|chunk| chunk.len).sum(),
            }
        });
        RestoreReport { dropped: dropped.collect() }
    }

    fn load_archetype(&mut self, image: &ArchetypeImage<'_>) -> Result<(), RestoreError> {
        let numbered = image.components.iter().enumerate();
        let mut order: Vec<(ComponentId, usize)> =
            numbered.filter_map(|(at, &number)| Some((self.ids[number]?, at))).collect();
        order.sort_unstable();
        let set = ComponentSet::new(order.iter().map(|&(id, _)| id).collect());
        // The sets in an image are all different, but two can be the same without what is gone.
        let archetype = self.archetypes.obtain(set, self.registry);
        // Where the program has no component left that waits to be cleaned up.
        if self.archetypes.get(archetype).flags.any(ArchetypeFlags::CLEANUP_PENDING) {
            self.finished.extend(image.chunks.iter().flat_map(ChunkImage::entities).flatten());
        }
        for (index, chunk) in image.chunks.iter().enumerate() {
            let columns = image.columns_of(index);
            // For each column of the archetype, which of the image's it is, and its name there.
            let column = |&(_, at): &(ComponentId, usize)| {
                (self.components[image.components[at]].name, columns[at])
            };
            let columns: Vec<_> = order.iter().map(column).collect();
            self.load_chunk(archetype, chunk, &columns)?;
        }
        Ok(())
    }

    /// Loads the rows of one chunk behind those that are there: into one chunk again, unless chunks
    /// had another size where the image was made.
    fn load_chunk(
        &mut self,
        archetype: ArchetypeId,
        image: &ChunkImage<'_>,
        columns: &[(&str, ColumnImage<'_>)],
    ) -> Result<(), RestoreError> {
        let invalid = |column: usize| {
            let component = columns[column].0.to_string();
            RestoreError::InvalidValue { component }
        };
        let entities: Option<Vec<Entity>> = image.entities().collect();
        let entities = entities.ok_or(contradiction("a row has no entity"))?;
        let mut sources: Vec<&[u8]> = columns.iter().map(|(_, column)| column.values).collect();
        let archetype = self.archetypes.get_mut(archetype);
        let mut loaded = 0;
        while loaded < image.len {
            let before = last_changed(archetype);
            let rest = &entities[loaded..];
            let (first, count) =
                archetype.load_rows(&mut self.pool, rest, &mut sources).map_err(invalid)?;
            for (index, (_, column)) in columns.iter().enumerate() {
                let before = if first.row == 0 { 0 } else { before[index] };
                load_marks(archetype, index, column, before, first, loaded..loaded + count);
            }
            for (row, &entity) in rest[..count].iter().enumerate() {
                let address = RowAddress { chunk: first.chunk, row: first.row + row };
                let place = archetype.chunks.place(address);
                move_in(&mut self.entities, Some(entity), place)?;
            }
            loaded += count;
        }
        match sources.iter().position(|source| !source.is_empty()) {
            Some(column) => Err(invalid(column)),
            None => Ok(()),
        }
    }
}

/// When the columns of the last chunk with rows were last written.
fn last_changed(archetype: &Archetype) -> Vec<u64> {
    let Some(last) = archetype.chunk_count().checked_sub(1) else { return Vec::new() };
    let columns = 0..archetype.columns.len();
    columns.map(|column| archetype.chunks.stamps(last, column).changed()).collect()
}

/// Writes what is known about a column's rows beside their values: these of the image, which are
/// from `first` on now. The chunk's older rows were written at `before`.
fn load_marks(
    archetype: &Archetype,
    column: usize,
    image: &ColumnImage<'_>,
    before: u64,
    first: RowAddress,
    rows: Range<usize>,
) {
    let Column { enable_slot, track_slot, .. } = archetype.columns[column];
    let chunks = &archetype.chunks;
    let marks = chunks.marks(first.chunk);
    chunks.stamps(first.chunk, column).mark(image.changed.max(before));
    chunks.stamps(first.chunk, column).raise_added(image.added);
    if let Some(slot) = enable_slot {
        for row in rows.clone().filter(|&row| !bit(image.bits, row)) {
            _ = marks.bits(slot).bit(first.row + row - rows.start).set(false);
        }
    }
    if let Some(slot) = track_slot {
        for (row, (changed, added)) in (first.row..).zip(image.row_versions(rows)) {
            marks.versions[slot].set(row, changed, added);
        }
    }
}

fn bit(bits: &[u8], row: usize) -> bool {
    bits[row / 8] & (1 << (row % 8)) != 0
}
