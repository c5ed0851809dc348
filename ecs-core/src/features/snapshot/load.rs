//! Loading: from bytes to a world. Everything is built aside, and becomes visible once all of it is
//! valid.

use alloc::string::ToString;
use alloc::vec::Vec;
use core::ops::Range;

use super::format::contradiction;
use super::image::{
    ArchetypeImage, ChunkImage, ColumnImage, ComponentImage, Image, check_complete, occupy,
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
use crate::world::{CleanupGuard, World};

/// Replaces the contents of the world by those of the image.
pub(super) fn load(world: &mut World, image: &Image<'_>) -> Result<RestoreReport, RestoreError> {
    let known = world.registry.infos().len();
    let loaded = load_contents(world, image);
    if loaded.is_err() {
        // The crate's own components, if they were registered for this image.
        world.registry.truncate(known);
    }
    loaded
}

fn load_contents(world: &mut World, image: &Image<'_>) -> Result<RestoreReport, RestoreError> {
    if world.entities.has_reserved() {
        return Err(RestoreError::InPlayback);
    }
    // The crate's own components, which need no registration.
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
        // Unused blocks. They are returned if loading fails.
        pool: world.blocks.spare_blocks(),
        finished: Vec::new(),
    };
    let loaded =
        image.archetypes.iter().try_for_each(|archetype| building.load_archetype(archetype));
    match loaded.and_then(|()| building.check(world.relations())) {
        Ok(()) => {
            let report = building.report(image);
            let Building { archetypes, entities, pool, finished, .. } = building;
            let mut guard = CleanupGuard { world, entities: &finished };
            // Drops the old contents, which may panic.
            guard.world.replace_contents((archetypes, entities), pool, image.version);
            guard.finish();
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

/// The contents of a world that are being built from an image. They are dropped if loading fails.
struct Building<'a> {
    registry: &'a Registry,
    components: &'a [ComponentImage<'a>],
    /// The world's ids of these, or `None` for those that the program no longer has.
    ids: Vec<Option<ComponentId>>,
    archetypes: Archetypes,
    entities: Entities,
    pool: BlockPool,
    /// Despawned entities that have nothing left to clean up, because the program no longer has it.
    finished: Vec<Entity>,
}

impl Building<'_> {
    /// Checks that the contents are possible.
    fn check(&self, relations: &[RelationFns]) -> Result<(), RestoreError> {
        check_complete(&self.entities)?;
        for relation in relations {
            relation.check(self.archetypes.list()).map_err(contradiction)?;
        }
        Ok(())
    }

    /// Returns what was not loaded.
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
        // The sets in an image are all different, but two can be equal without the removed components.
        let archetype = self.archetypes.obtain(set, self.registry);
        // The program has no component left for which the entities wait.
        if self.archetypes.get(archetype).flags.any(ArchetypeFlags::CLEANUP_DONE) {
            self.finished.extend(image.chunks.iter().flat_map(ChunkImage::entities).flatten());
        }
        for (index, chunk) in image.chunks.iter().enumerate() {
            let columns = image.columns_of(index);
            // For each column of the archetype, the name and the data of its column in the image.
            let column = |&(_, at): &(ComponentId, usize)| {
                (self.components[image.components[at]].name, columns[at])
            };
            let columns: Vec<_> = order.iter().map(column).collect();
            self.load_chunk(archetype, chunk, &columns)?;
        }
        Ok(())
    }

    /// Loads the rows of one chunk of the image behind those that are already there. They fill one chunk
    /// again, unless chunks had another size where the image was made.
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
                occupy(&mut self.entities, Some(entity), place)?;
            }
            loaded += count;
        }
        match sources.iter().position(|source| !source.is_empty()) {
            Some(column) => Err(invalid(column)),
            None => Ok(()),
        }
    }
}

/// Returns when the columns of the last chunk with rows were last written.
fn last_changed(archetype: &Archetype) -> Vec<u64> {
    let Some(last) = archetype.chunk_count().checked_sub(1) else { return Vec::new() };
    let columns = 0..archetype.columns.len();
    columns.map(|column| archetype.chunks.stamps(last, column).changed()).collect()
}

/// Writes what the image knows about a column's rows beside their values. These rows are now at `first`
/// and after it. Older rows of the chunk were written at `before`.
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
