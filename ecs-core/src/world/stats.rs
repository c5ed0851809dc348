//! Statistics: the memory of a world, and how much of it is in use.

use alloc::vec::Vec;
use core::fmt;

use super::World;
use crate::archetype::{Archetype, ArchetypeId, Column};
use crate::entities::Location;
use crate::entity::Entity;
use crate::error::NoSuchEntity;
use crate::name::Name;

/// What a world's entities take, at one moment. Made by [`World::stats`].
///
/// It prints as a table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorldStats {
    /// How many entities are alive.
    pub entity_count: usize,
    /// How many slots the entity table has.
    pub slot_count: usize,
    /// What the entity table takes.
    pub table_bytes: usize,
    /// What spare blocks take that no archetype has.
    pub pool_bytes: usize,
    /// In the order of [`World::archetypes`].
    pub archetypes: Vec<ArchetypeStats>,
}

/// What the entities of one archetype take.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArchetypeStats {
    /// Which archetype it is.
    pub id: ArchetypeId,
    /// The names of its components.
    pub components: Vec<Name>,
    /// How many entities are in it.
    pub entity_count: usize,
    /// How many entities its chunks could hold.
    pub capacity: usize,
    /// How many chunks have entities.
    pub chunk_count: usize,
    /// How many chunks are kept for those to come.
    pub spare_chunk_count: usize,
    /// What one entity takes: its handle and its components, without what they have on the heap.
    pub row_bytes: usize,
    /// What the chunks take.
    pub block_bytes: usize,
    /// What is known about the archetype and its chunks outside of these.
    pub metadata_bytes: usize,
}

/// Where the row of an entity is, at one moment. Made by [`World::place_of`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct EntityPlace {
    /// Which archetype it is in.
    pub archetype: ArchetypeId,
    /// The place of the chunk in the archetype.
    pub chunk: usize,
    /// The row in the chunk.
    pub row: usize,
}

impl ArchetypeStats {
    /// How many bytes of the chunks are in use.
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
    /// How many chunks have entities.
    #[must_use]
    pub fn chunk_count(&self) -> usize {
        self.sum(|archetype| archetype.chunk_count)
    }

    /// How many chunks are kept for entities to come.
    #[must_use]
    pub fn spare_chunk_count(&self) -> usize {
        self.sum(|archetype| archetype.spare_chunk_count)
    }

    /// What all chunks take.
    #[must_use]
    pub fn block_bytes(&self) -> usize {
        self.sum(|archetype| archetype.block_bytes)
    }

    /// How many bytes of the chunks are in use.
    #[must_use]
    pub fn used_bytes(&self) -> usize {
        self.sum(ArchetypeStats::used_bytes)
    }

    /// What is known about archetypes and chunks outside of these.
    #[must_use]
    pub fn metadata_bytes(&self) -> usize {
        self.sum(|archetype| archetype.metadata_bytes)
    }

    /// Everything together: chunks, spare blocks, the entity table, and what is known about them.
    /// What components have on the heap is not in it, nor are resources and plans.
    #[must_use]
    pub fn total_bytes(&self) -> usize {
        self.block_bytes() + self.metadata_bytes() + self.table_bytes + self.pool_bytes
    }

    /// Which part of the chunks is in use, from 0 to 1; 1 where there are none.
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

/// Memory: what is in use, and where an entity lies.
impl World {
    /// How much memory the entities take, archetype by archetype.
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

    /// Where the row of an entity is.
    ///
    /// It stays there until the entity, or another one of its archetype, comes, goes or changes its
    /// set of components.
    ///
    /// A row that a [cleanup component](crate::Component::CLEANUP) keeps after the entity was
    /// despawned is still a row: it has a place until the last cleanup component is removed.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world.
    pub fn place_of(&self, entity: Entity) -> Result<EntityPlace, NoSuchEntity> {
        let Location { archetype, address, .. } =
            self.locate(entity).ok_or(NoSuchEntity(entity))?;
        Ok(EntityPlace { archetype, chunk: address.chunk, row: address.row })
    }
}
