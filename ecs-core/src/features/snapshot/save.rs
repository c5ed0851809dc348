//! Saving: from a world to bytes.

use alloc::string::ToString;
use alloc::vec::Vec;

use super::format::{HEADER_BYTES, Writer, seal};
use super::names::Table;
use crate::archetype::{Archetype, Column};
use crate::component::CodecKind;
use crate::error::SnapshotError;
use crate::storage::ChunkVersions;
use crate::world::World;

/// Writes the world over the contents of `target`, which is left empty if that fails.
pub(super) fn save(world: &World, target: &mut Vec<u8>) -> Result<(), SnapshotError> {
    // If an error or a panic of a user's function interrupts the writing, the rest is not a snapshot.
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

fn write_archetype(
    archetype: &Archetype,
    table: &Table<'_>,
    writer: &mut Writer<'_>,
) -> Result<(), SnapshotError> {
    // In the order of the table, which differs from that of the columns.
    let mut columns: Vec<(usize, usize)> = archetype
        .components()
        .ids()
        .iter()
        .enumerate()
        .map(|(column, &id)| (table.number(id), column))
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
    let stamps = archetype.chunks.stamps(chunk, column);
    writer.u64(stamps.changed());
    writer.u64(stamps.added());
    let rows = archetype.chunks.len(chunk);
    if let Some(slot) = *enable_slot {
        let bits = archetype.chunks.marks(chunk).bits(slot);
        for start in (0..rows).step_by(8) {
            let byte = (start..rows.min(start + 8))
                .fold(0, |byte, row| byte | u8::from(bits.bit(row).get()) << (row - start));
            writer.u8(byte);
        }
    }
    if let Some(slot) = *track_slot {
        let ChunkVersions { changed, added } = &archetype.chunks.marks(chunk).versions[slot];
        (0..rows).for_each(|row| writer.u64(changed.get(row)));
        (0..rows).for_each(|row| writer.u64(added.get(row)));
    }
    let written = writer.counted(|out| archetype.save_column(chunk, column, out));
    written.map_err(|_| match info.erased.codec.kind {
        CodecKind::Unsaved => SnapshotError::NotSerializable { component: component() },
        CodecKind::Plain | CodecKind::Custom => {
            SnapshotError::Unwritable { component: component() }
        }
    })
}
