//! Statistics: the memory that a world takes, and the part of it that is in use.

use alloc::vec::Vec;
use core::fmt;

use super::World;
use crate::archetype::{Archetype, ArchetypeId, Column};
use crate::entities::Location;
use crate::entity::Entity;
use crate::error::NoSuchEntity;
use crate::name::Name;

/// The memory that the entities of a world take at one moment. Returned by [`World::stats`].
///
/// Its `Display` output is a table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorldStats {
    /// The number of live entities.
    pub entity_count: usize,
    /// The number of slots in the entity table.
    pub slot_count: usize,
    /// The size of the entity table in bytes.
    pub table_bytes: usize,
    /// The size of the spare blocks, which no archetype uses, in bytes.
    pub pool_bytes: usize,
    /// The archetypes, in the order of [`World::archetypes`].
    pub archetypes: Vec<ArchetypeStats>,
}

/// The memory that the entities of one archetype take.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArchetypeStats {
    /// The id of the archetype.
    pub id: ArchetypeId,
    /// The names of its components.
    pub components: Vec<Name>,
    /// The number of its entities.
    pub entity_count: usize,
    /// The number of entities that its chunks have room for.
    pub capacity: usize,
    /// The number of chunks that have entities.
    pub chunk_count: usize,
    /// The number of empty chunks that are kept for later entities.
    pub spare_chunk_count: usize,
    /// The size of one entity in bytes: its handle and its components, without their heap memory.
    pub row_bytes: usize,
    /// The size of its blocks in bytes.
    pub block_bytes: usize,
    /// The size of the bookkeeping of the archetype and its chunks in bytes.
    pub metadata_bytes: usize,
}

/// The place of an entity's row at one moment. Returned by [`World::place_of`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct EntityPlace {
    /// The archetype of the entity.
    pub archetype: ArchetypeId,
    /// The index of the chunk in the archetype.
    pub chunk: usize,
    /// The index of the row in the chunk.
    pub row: usize,
}

impl ArchetypeStats {
    /// Returns the number of bytes in use in the chunks.
    #[must_use]
    pub const fn used_bytes(&self) -> usize {
        self.entity_count * self.row_bytes
    }

    fn new(archetype: &Archetype) -> Self {
        let chunks = &archetype.chunks;
        let columns = archetype.columns.iter();
        let sizes = columns.clone().map(|column| column.info.layout().size());
        Self {
            id: archetype.id(),
            components: columns.map(|column| column.info.name().clone()).collect(),
            entity_count: archetype.len(),
            capacity: (0..chunks.all_count()).map(|chunk| chunks.capacity(chunk)).sum(),
            chunk_count: chunks.used_count(),
            spare_chunk_count: chunks.all_count() - chunks.used_count(),
            row_bytes: size_of::<Entity>() + sizes.sum::<usize>(),
            block_bytes: chunks.block_bytes(),
            metadata_bytes: size_of::<Archetype>()
                + archetype.columns.len() * size_of::<Column>()
                + chunks.metadata_bytes(),
        }
    }
}

impl WorldStats {
    /// Returns the number of chunks that have entities.
    #[must_use]
    pub fn chunk_count(&self) -> usize {
        self.sum(|archetype| archetype.chunk_count)
    }

    /// Returns the number of empty chunks that are kept for later entities.
    #[must_use]
    pub fn spare_chunk_count(&self) -> usize {
        self.sum(|archetype| archetype.spare_chunk_count)
    }

    /// Returns the size of all blocks in bytes, without spare blocks.
    #[must_use]
    pub fn block_bytes(&self) -> usize {
        self.sum(|archetype| archetype.block_bytes)
    }

    /// Returns the number of bytes in use in all chunks.
    #[must_use]
    pub fn used_bytes(&self) -> usize {
        self.sum(ArchetypeStats::used_bytes)
    }

    /// Returns the size of the bookkeeping of all archetypes and chunks in bytes.
    #[must_use]
    pub fn metadata_bytes(&self) -> usize {
        self.sum(|archetype| archetype.metadata_bytes)
    }

    /// Returns the size of everything together in bytes: chunks, spare blocks, the entity table and
    /// bookkeeping. It does not include the heap memory of components, resources, and query plans.
    #[must_use]
    pub fn total_bytes(&self) -> usize {
        self.block_bytes() + self.metadata_bytes() + self.table_bytes + self.pool_bytes
    }

    /// Returns the fraction of the chunks that is in use, from 0 to 1; 1 if there are none.
    #[must_use]
    pub fn utilisation(&self) -> f64 {
        part(self.used_bytes(), self.block_bytes())
    }

    fn sum(&self, of: impl Fn(&ArchetypeStats) -> usize) -> usize {
        self.archetypes.iter().map(of).sum()
    }
}

#[expect(clippy::cast_precision_loss, reason = "it is for looking at")]
fn part(some: usize, all: usize) -> f64 {
    if all == 0 { 1.0 } else { some as f64 / all as f64 }
}

impl fmt::Display for WorldStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} entities in {} chunks of {} archetypes: {} KiB, {:.0} % of them in use",
            self.entity_count,
            self.chunk_count(),
            self.archetypes.len(),
            self.block_bytes() / 1024,
            self.utilisation() * 100.0
        )?;
        writeln!(
            f,
            "besides: {} spare chunks, {} KiB of spare blocks, {} KiB of metadata, {} KiB of table",
            self.spare_chunk_count(),
            self.pool_bytes / 1024,
            self.metadata_bytes() / 1024,
            self.table_bytes / 1024
        )?;
        writeln!(f, "  entities   capacity  chunks  bytes/row    KiB  used  components")?;
        for line in &self.archetypes {
            write!(
                f,
                "{:>10} {:>10} {:>7} {:>10} {:>6} {:>4.0}%  ",
                line.entity_count,
                line.capacity,
                line.chunk_count,
                line.row_bytes,
                line.block_bytes / 1024,
                part(line.used_bytes(), line.block_bytes) * 100.0
            )?;
            for (place, name) in line.components.iter().enumerate() {
                let comma = if place == 0 { "" } else { ", " };
                write!(f, "{comma}{name}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// Memory: its use, and the places of entities.
impl World {
    /// Returns how much memory the entities take, by archetype.
    #[must_use]
    pub fn stats(&self) -> WorldStats {
        WorldStats {
            entity_count: self.len(),
            slot_count: self.entities.slot_count(),
            table_bytes: self.entities.table_bytes(),
            pool_bytes: self.blocks.spare_bytes(),
            archetypes: self.archetypes().iter().map(ArchetypeStats::new).collect(),
        }
    }

    /// Returns the place of an entity's row.
    ///
    /// The row stays there until this entity, or another one of its archetype, is added, removed or gets
    /// another set of components. The id of the archetype may also change when archetypes are removed,
    /// see [`collect_archetypes`](Self::collect_archetypes).
    ///
    /// An entity that was despawned but has a [cleanup component](crate::Component::CLEANUP) still has a
    /// row, and a place, until its last cleanup component is removed.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world.
    pub fn place_of(&self, entity: Entity) -> Result<EntityPlace, NoSuchEntity> {
        let Location { archetype, address, .. } =
            self.locate(entity).ok_or(NoSuchEntity(entity))?;
        Ok(EntityPlace { archetype, chunk: address.chunk, row: address.row })
    }
}
