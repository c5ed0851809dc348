//! From a world to bytes.

use alloc::string::ToString;
use alloc::vec::Vec;

use super::format::{CUSTOM, ENABLEABLE, HEADER_BYTES, PLAIN, TRACKED, UNSAVED, Writer, seal};
use crate::archetype::{Archetype, Column};
use crate::component::{CodecKind, ComponentId, ComponentInfo};
use crate::error::SnapshotError;
use crate::storage::ChunkVersions;
use crate::world::World;

/// Writes the world over what is in `target`, which is empty where that fails.
pub(super) fn save(world: &World, target: &mut Vec<u8>) -> Result<(), SnapshotError> {
    // What is half written, by an error or a panic of somebody's function, is no snapshot.
    let mut bytes = core::mem::take(target);
    bytes.clear();
    if world.entities.has_reserved() {
        return Err(SnapshotError::InPlayback);
    }
    let table = Table::new(world)?;
    bytes.resize(HEADER_BYTES, 0);
    let mut writer = Writer(&mut bytes);
    writer.u64(world.last_version());
    let generations = world.entities.generations();
    writer.count(generations.len());
    generations.for_each(|generation| writer.u32(generation));
    let free_count = world.entities.free_list().count();
    writer.count(free_count);
    world.entities.free_list().for_each(|index| writer.u32(index));
    table.write(&mut writer);
    writer.count(world.archetypes().len());
    for archetype in world.archetypes() {
        write_archetype(archetype, &table, &mut writer)?;
    }
    seal(&mut bytes);
    *target = bytes;
    Ok(())
}

/// The components of the world's archetypes, in the order of their names: another world, which has
/// met the same types in another order, writes the same.
struct Table<'w> {
    infos: Vec<&'w ComponentInfo>,
    /// By component id: the index above. Of components that no archetype has it means nothing.
    indexes: Vec<usize>,
}

impl<'w> Table<'w> {
    fn new(world: &'w World) -> Result<Self, SnapshotError> {
        let all = world.registry.infos();
        let mut is_used = Vec::from_iter(all.iter().map(|_| false));
        for archetype in world.archetypes() {
            archetype.components().ids().iter().for_each(|id| is_used[id.index()] = true);
        }
        let mut infos: Vec<_> = all.iter().filter(|info| is_used[info.id.index()]).collect();
        // To leave out an archetype, even an empty one, would be to change the order of the others.
        if let Some(marker) = infos.iter().find(|info| info.is_marker()) {
            return Err(SnapshotError::NotSerializable { component: marker.name().to_string() });
        }
        infos.sort_unstable_by(|a, b| a.name().as_str().cmp(b.name()));
        if let Some(pair) = infos.windows(2).find(|pair| pair[0].name() == pair[1].name()) {
            return Err(SnapshotError::AmbiguousName { component: pair[0].name().to_string() });
        }
        let mut indexes = Vec::from_iter(all.iter().map(|_| 0));
        for (index, info) in infos.iter().enumerate() {
            indexes[info.id.index()] = index;
        }
        Ok(Self { infos, indexes })
    }

    fn index(&self, id: ComponentId) -> usize {
        self.indexes[id.index()]
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.count(self.infos.len());
        for info in &self.infos {
            writer.count(info.name().len());
            writer.0.extend_from_slice(info.name().as_bytes());
            let kind = match info.erased.codec.kind {
                CodecKind::Unsaved => UNSAVED,
                CodecKind::Plain => PLAIN,
                CodecKind::Custom => CUSTOM,
            };
            writer.u8(kind);
            let enableable = if info.is_enableable() { ENABLEABLE } else { 0 };
            writer.u8(enableable | if info.tracked { TRACKED } else { 0 });
            // How large a value is that is saved by functions is nobody's business.
            let size = if kind == PLAIN { info.layout().size() } else { 0 };
            writer.long_count(size);
        }
    }
}

fn write_archetype(
    archetype: &Archetype,
    table: &Table<'_>,
    writer: &mut Writer<'_>,
) -> Result<(), SnapshotError> {
    // In the order of the table, which is not that of the columns.
    let mut columns: Vec<(usize, usize)> = archetype
        .components()
        .ids()
        .iter()
        .enumerate()
        .map(|(column, &id)| (table.index(id), column))
        .collect();
    columns.sort_unstable();
    writer.count(columns.len());
    columns.iter().for_each(|&(index, _)| writer.count(index));
    writer.count(archetype.chunk_count());
    for chunk in 0..archetype.chunk_count() {
        let entities = archetype.entities(chunk);
        writer.count(entities.len());
        entities.iter().for_each(|entity| writer.u64(entity.to_bits()));
        for &(_, column) in &columns {
            write_column(archetype, chunk, column, writer)?;
        }
    }
    Ok(())
}

fn write_column(
    archetype: &Archetype,
    chunk: usize,
    column: usize,
    writer: &mut Writer<'_>,
) -> Result<(), SnapshotError> {
    let Column { info, enable_slot, track_slot } = &archetype.columns[column];
    let component = || info.name().to_string();
    if info.erased.codec.kind == CodecKind::Unsaved {
        return Err(SnapshotError::NotSerializable { component: component() });
    }
    let stamps = archetype.chunks.stamps(chunk, column);
    writer.u64(stamps.changed());
    writer.u64(stamps.added());
    let rows = archetype.chunks.len(chunk);
    if let Some(slot) = *enable_slot {
        let bits = archetype.chunks.bits(slot);
        for start in (0..rows).step_by(8) {
            let byte = (start..rows.min(start + 8))
                .fold(0, |byte, row| byte | u8::from(bits.get(chunk, row)) << (row - start));
            writer.u8(byte);
        }
    }
    if let Some(slot) = *track_slot {
        let ChunkVersions { changed, added } = archetype.chunks.row_versions(slot, chunk);
        (0..rows).for_each(|row| writer.u64(changed.get(row)));
        (0..rows).for_each(|row| writer.u64(added.get(row)));
    }
    let start = writer.0.len();
    writer.long_count(0);
    let written = archetype.save_column(chunk, column, writer.0);
    written.map_err(|_| SnapshotError::Unwritable { component: component() })?;
    let len = (writer.0.len() - start - size_of::<u64>()) as u64;
    writer.0[start..start + size_of::<u64>()].copy_from_slice(&len.to_le_bytes());
    Ok(())
}
