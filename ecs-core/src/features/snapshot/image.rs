//! A parsed snapshot: where everything is in its bytes, and whether it is consistent.

use alloc::vec::Vec;
use core::ops::Range;

use super::format::{ENABLEABLE, KINDS, Reader, TRACKED, contradiction, numbers_u32, numbers_u64};
use crate::component::CodecKind;
use crate::entities::Entities;
use crate::entity::Entity;
use crate::error::MalformedSnapshot;
use crate::storage;

/// No world reaches this version. One that did would not have enough versions left to go on with.
const VERSION_END: u64 = 1 << 62;

/// The contents of a snapshot.
#[derive(Debug)]
pub(super) struct Image<'a> {
    pub(super) version: u64,
    generations: &'a [u8],
    free: &'a [u8],
    /// Sorted by name.
    pub(super) components: Vec<ComponentImage<'a>>,
    pub(super) archetypes: Vec<ArchetypeImage<'a>>,
}

#[derive(Debug)]
pub(super) struct ComponentImage<'a> {
    pub(super) name: &'a str,
    pub(super) kind: CodecKind,
    pub(super) enableable: bool,
    pub(super) tracked: bool,
    pub(super) size: u64,
    pub(super) fields: &'a str,
}

#[derive(Debug)]
pub(super) struct ArchetypeImage<'a> {
    /// Indices in the list of components, in increasing order.
    pub(super) components: Vec<usize>,
    pub(super) chunks: Vec<ChunkImage<'a>>,
    /// All columns of the first chunk, then those of the next, and so on.
    pub(super) columns: Vec<ColumnImage<'a>>,
}

#[derive(Debug)]
pub(super) struct ChunkImage<'a> {
    pub(super) len: usize,
    entities: &'a [u8],
}

#[derive(Clone, Copy, Debug)]
pub(super) struct ColumnImage<'a> {
    pub(super) changed: u64,
    pub(super) added: u64,
    /// One bit per row, if the component is enableable.
    pub(super) bits: &'a [u8],
    /// If the component is tracked: the versions at which each row was changed, then those at which it
    /// was added.
    row_versions: &'a [u8],
    pub(super) values: &'a [u8],
}

impl<'a> Image<'a> {
    /// Parses the body of a snapshot, and verifies everything that needs neither a world nor the
    /// entities.
    pub(super) fn parse(body: &'a [u8]) -> Result<Self, MalformedSnapshot> {
        let mut reader = Reader(body);
        let version = reader.u64()?;
        if version >= VERSION_END {
            return Err(contradiction("there is no world of such an age"));
        }
        let count = reader.count()?;
        let generations = reader.records(count, 4)?;
        let count = reader.count()?;
        let free = reader.records(count, 4)?;
        let components = components(&mut reader)?;
        let mut archetypes = Vec::new();
        for _ in 0..reader.count()? {
            archetypes.push(archetype(&mut reader, &components, version)?);
        }
        if !reader.0.is_empty() {
            return Err(MalformedSnapshot::WrongLength);
        }
        let image = Self { version, generations, free, components, archetypes };
        image.check_archetypes()?;
        Ok(image)
    }

    fn check_archetypes(&self) -> Result<(), MalformedSnapshot> {
        let mut sets: Vec<&[usize]> =
            self.archetypes.iter().map(|archetype| &archetype.components[..]).collect();
        if sets.first().is_none_or(|set| !set.is_empty()) {
            return Err(contradiction("the first archetype is not the one without components"));
        }
        let mut is_used = alloc::vec![false; self.components.len()];
        sets.iter().copied().flatten().for_each(|&component| is_used[component] = true);
        if is_used.contains(&false) {
            return Err(contradiction("no archetype has a component that is listed"));
        }
        sets.sort_unstable();
        if sets.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(contradiction("two archetypes have the same components"));
        }
        Ok(())
    }

    /// Returns a table of entities without live ones.
    pub(super) fn vacant(&self) -> Result<Entities, MalformedSnapshot> {
        Entities::vacant(numbers_u32(self.generations), numbers_u32(self.free))
            .ok_or(contradiction("the slots of entities and the list of free ones disagree"))
    }

    /// Checks that every row has an entity of its own, and every entity a row.
    pub(super) fn check_entities(&self) -> Result<(), MalformedSnapshot> {
        let mut entities = self.vacant()?;
        let chunks = self.archetypes.iter().flat_map(|archetype| &archetype.chunks);
        for entity in chunks.flat_map(ChunkImage::entities) {
            // Any place will do: the table is discarded.
            occupy(&mut entities, entity, storage::Place::from_bits(0))?;
        }
        check_complete(&entities)
    }
}

/// Makes the entity of a row live in its slot.
pub(super) fn occupy(
    entities: &mut Entities,
    entity: Option<Entity>,
    place: storage::Place,
) -> Result<(), MalformedSnapshot> {
    match entity {
        Some(entity) if entities.occupy(entity, place) => Ok(()),
        _ => Err(contradiction("an entity is in two rows, or has no slot")),
    }
}

pub(super) fn check_complete(entities: &Entities) -> Result<(), MalformedSnapshot> {
    if entities.is_complete() { Ok(()) } else { Err(contradiction("an entity is in no row")) }
}

impl<'a> ArchetypeImage<'a> {
    pub(super) fn columns_of(&self, chunk: usize) -> &[ColumnImage<'a>] {
        let count = self.components.len();
        &self.columns[chunk * count..(chunk + 1) * count]
    }
}

impl ColumnImage<'_> {
    /// Returns when each of these rows of a tracked component was changed, and when it was added.
    pub(super) fn row_versions(&self, rows: Range<usize>) -> impl Iterator<Item = (u64, u64)> + '_ {
        let (changed, added) = self.row_versions.split_at(self.row_versions.len() / 2);
        // Sliced rather than skipped: the length of a chunk is not to be trusted.
        let bytes = rows.start * size_of::<u64>()..rows.end * size_of::<u64>();
        numbers_u64(&changed[bytes.clone()]).zip(numbers_u64(&added[bytes]))
    }
}

impl ChunkImage<'_> {
    /// Returns the handles. A handle is `None` if its bits are not those of a handle.
    pub(super) fn entities(&self) -> impl Iterator<Item = Option<Entity>> + '_ {
        numbers_u64(self.entities).map(Entity::from_bits)
    }
}

impl Image<'_> {
    /// Whether the snapshot has a component with this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.components.iter().any(|component| component.name == name)
    }
}

impl ComponentImage<'_> {
    /// Whether this number of bytes can be this number of values.
    fn fits(&self, count: usize, bytes: usize) -> bool {
        match self.kind {
            CodecKind::Plain => self.size.checked_mul(count as u64) == Some(bytes as u64),
            CodecKind::Custom => true,
            CodecKind::Unsaved => false,
        }
    }
}

fn components<'a>(reader: &mut Reader<'a>) -> Result<Vec<ComponentImage<'a>>, MalformedSnapshot> {
    let mut components: Vec<ComponentImage<'a>> = Vec::new();
    for _ in 0..reader.count()? {
        let name = reader.text()?;
        let (kind, flags, size) = (reader.u8()?, reader.u8()?, reader.u64()?);
        let fields = reader.text()?;
        let (enableable, tracked) = (flags & ENABLEABLE != 0, flags & TRACKED != 0);
        let kind = KINDS.get(usize::from(kind)).filter(|_| flags & !(ENABLEABLE | TRACKED) == 0);
        let kind = *kind.ok_or(contradiction("a component of a kind that there is not"))?;
        if components.last().is_some_and(|last| last.name >= name) {
            return Err(contradiction("the components are not in the order of their names"));
        }
        components.push(ComponentImage { name, kind, enableable, tracked, size, fields });
    }
    Ok(components)
}

fn archetype<'a>(
    reader: &mut Reader<'a>,
    listed: &[ComponentImage<'a>],
    version: u64,
) -> Result<ArchetypeImage<'a>, MalformedSnapshot> {
    let count = reader.count()?;
    let mut components = Vec::new();
    for component in numbers_u32(reader.records(count, 4)?) {
        let component = component as usize;
        if component >= listed.len() {
            return Err(contradiction("an archetype has what is not listed"));
        }
        if components.last().is_some_and(|&last| last >= component) {
            return Err(contradiction("the components of an archetype are not a set"));
        }
        components.push(component);
    }
    let mut archetype = ArchetypeImage { components, chunks: Vec::new(), columns: Vec::new() };
    for _ in 0..reader.count()? {
        let len = reader.count()?;
        if len == 0 {
            return Err(contradiction("a chunk without rows"));
        }
        archetype.chunks.push(ChunkImage { len, entities: reader.records(len, 8)? });
        for &component in &archetype.components {
            archetype.columns.push(column(reader, &listed[component], len, version)?);
        }
    }
    Ok(archetype)
}

fn column<'a>(
    reader: &mut Reader<'a>,
    component: &ComponentImage<'a>,
    rows: usize,
    version: u64,
) -> Result<ColumnImage<'a>, MalformedSnapshot> {
    let (changed, added) = (reader.u64()?, reader.u64()?);
    if changed.max(added) > version {
        return Err(contradiction("a column was written in the future"));
    }
    let bits = if component.enableable { reader.bytes(rows.div_ceil(8))? } else { &[] };
    if rows % 8 != 0 && bits.last().is_some_and(|last| last >> (rows % 8) != 0) {
        return Err(contradiction("a bit is set beyond the last row"));
    }
    let tracked_rows = if component.tracked { rows } else { 0 };
    let row_versions = reader.records(tracked_rows, 16)?;
    let (rows_changed, rows_added) = row_versions.split_at(row_versions.len() / 2);
    for (of_rows, last) in [(rows_changed, changed), (rows_added, added)] {
        if numbers_u64(of_rows).any(|row| row == 0 || row > last) {
            return Err(contradiction(
                "a row was written before the world began, or after its column",
            ));
        }
    }
    let len = reader.long_count()?;
    let values = reader.bytes(len)?;
    if !component.fits(rows, len) {
        return Err(contradiction("there are more or fewer values than there should be"));
    }
    Ok(ColumnImage { changed, added, bits, row_versions, values })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Component;
    use crate::features::snapshot::{format, load};
    use crate::query::Changed;
    use crate::world::World;

    #[derive(Component, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
    #[repr(C)]
    struct Number(u64);

    /// As in a snapshot of a build whose chunks are smaller.
    #[test]
    #[cfg_attr(
        any(miri, formic_small_blocks),
        ignore = "the rows have to be in one chunk at first"
    )]
    fn rows_of_two_chunks_that_come_to_one_were_written_when_the_later_of_these_was() {
        let mut world = World::new();
        world.spawn_batch((0..10).map(Number));
        let saved = world.snapshot().expect("plain values");
        for [first, second] in [[7, 3], [3, 7]] {
            let mut image =
                Image::parse(format::reopen(saved.as_bytes()).expect("sealed")).expect("in order");
            image.version = 100;
            let archetype = image.archetypes.last_mut().expect("of the numbers");
            assert_eq!(archetype.chunks.len(), 1);
            let (chunk, column) = (archetype.chunks.remove(0), archetype.columns.remove(0));
            let (early, late) = chunk.entities.split_at(4 * 8);
            archetype.chunks.push(ChunkImage { len: 4, entities: early });
            archetype.chunks.push(ChunkImage { len: 6, entities: late });
            let (early, late) = column.values.split_at(4 * 8);
            archetype.columns.push(ColumnImage { changed: first, values: early, ..column });
            archetype.columns.push(ColumnImage { changed: second, values: late, ..column });
            let mut other = World::new();
            other.register::<Number>();
            load::load(&mut other, &image).expect("in order");
            let mut changed =
                |since| other.query_filtered::<(), Changed<Number>>().since(since).count();
            assert_eq!([changed(6), changed(7)], [10, 0], "written at {first} and {second}");
        }
    }
}
