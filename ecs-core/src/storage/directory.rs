//! The numbers of chunks, by which the place of an entity fits in four bytes.

use alloc::vec::Vec;

use crate::mask::ROWS_MAX;

/// The position of a row in its archetype.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RowAddress {
    pub(crate) chunk: usize,
    pub(crate) row: usize,
}

/// The number of a chunk, unique among the chunks that its world has at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkId(u32);

/// The place of a row in its world: the number of its chunk, and its index there, in one word.
///
/// ```text
///  31                              11 10            0
/// ┌─────────────────────────────────┬────────────────┐
/// │ chunk id, 21 bits               │ row, 11 bits   │
/// └─────────────────────────────────┴────────────────┘
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(u32);

const ROW_BITS: u32 = ROWS_MAX.ilog2();
/// The maximum number of chunks at a time. The last number is omitted, because a place in such a chunk
/// would look like the marks with which the entity table says that there is no place.
const CHUNKS_MAX: usize = (1 << (u32::BITS - ROW_BITS)) - 1;

/// The limit that is enforced. It is low in tests, which reach it.
#[cfg(not(test))]
const fn chunks_limit() -> usize {
    CHUNKS_MAX
}

#[cfg(test)]
std::thread_local! {
    pub(crate) static CHUNKS_LIMIT: core::cell::Cell<usize> = const { core::cell::Cell::new(16) };
}

#[cfg(test)]
fn chunks_limit() -> usize {
    CHUNKS_LIMIT.get()
}

const _: () = assert!(ROWS_MAX == 1 << ROW_BITS);

impl Place {
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "no chunk has more than ROWS_MAX rows")]
    pub(crate) fn new(chunk: ChunkId, row: usize) -> Self {
        debug_assert!(row < ROWS_MAX);
        Self((chunk.0 << ROW_BITS) | row as u32)
    }

    /// Returns the place that is this many rows further on in the same chunk.
    #[inline]
    pub(crate) fn after(self, rows: u32) -> Self {
        debug_assert!(self.row() + (rows as usize) < ROWS_MAX);
        Self(self.0 + rows)
    }

    /// Returns the word, which is never one of the 2,048 largest numbers.
    #[inline]
    pub(crate) const fn to_bits(self) -> u32 {
        self.0
    }

    #[inline]
    pub(crate) const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// Returns the number of the chunk.
    #[inline]
    pub(crate) const fn chunk(self) -> usize {
        (self.0 >> ROW_BITS) as usize
    }

    /// Returns the index of the row in the chunk.
    #[inline]
    pub(crate) const fn row(self) -> usize {
        self.0 as usize & (ROWS_MAX - 1)
    }
}

/// The archetype that owns a chunk, and the index of the chunk in its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    owner: u32,
    chunk: u32,
}

/// The owner of a number that no chunk has.
const NO_OWNER: u32 = u32::MAX;

/// The numbers of the chunks in a world, and the archetype and index of each chunk. The number of a chunk
/// that is gone is reused.
///
/// It also counts how often a chunk came, went or changed its owner, and how often the bookkeeping of
/// chunks may have moved in memory. Code that keeps addresses of these compares that count (I-23).
#[derive(Debug, Default)]
pub(crate) struct Directory {
    entries: Vec<Entry>,
    free: Vec<ChunkId>,
    /// The number of changes so far.
    changes: u64,
}

impl Directory {
    /// Ensures that the next [`enter`](Self::enter) cannot fail.
    ///
    /// # Panics
    /// Panics if the world has 2,097,151 chunks already.
    pub(crate) fn prepare(&mut self) {
        if self.free.is_empty() {
            self.expect_room(1);
            self.entries.reserve(1);
            // Freeing numbers, which happens while rows are being taken out, then needs no memory.
            self.free.reserve(self.entries.len() + 1);
        }
    }

    /// Panics unless there is room for this many more chunks.
    pub(crate) fn expect_room(&self, chunks: usize) {
        assert!(chunks <= self.room(), "a world has at most {} chunks", chunks_limit());
    }

    /// Returns how many more chunks there may be.
    pub(crate) fn room(&self) -> usize {
        self.free.len() + chunks_limit().saturating_sub(self.entries.len())
    }

    /// Counts a change. A caller that moves something and may panic half-way counts first.
    pub(crate) fn count_change(&mut self) {
        self.changes += 1;
    }

    /// Notes that this directory replaces another one of its world, which is a change as well.
    pub(crate) fn succeed(&mut self, other: &Self) {
        self.changes += other.changes + 1;
    }

    /// Returns the number of changes in this world.
    #[inline]
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// Assigns a number to the chunk with index `chunk` in the list of the archetype with index `owner`.
    pub(crate) fn enter(&mut self, owner: u32, chunk: usize) -> ChunkId {
        let chunk = u32::try_from(chunk).expect("fewer than 2^32 chunks");
        let entry = Entry { owner, chunk };
        if let Some(id) = self.free.pop() {
            self.entries[id.0 as usize] = entry;
            return id;
        }
        let index = u32::try_from(self.entries.len()).expect("`prepare` keeps it below 2^21");
        self.entries.push(entry);
        ChunkId(index)
    }

    /// Frees the number of a chunk that is gone.
    pub(crate) fn leave(&mut self, id: ChunkId) {
        self.entries[id.0 as usize].owner = NO_OWNER;
        self.count_change();
        self.free.push(id);
    }

    /// Notes that the chunk with this number has moved to another index or another owner.
    pub(crate) fn set(&mut self, id: ChunkId, owner: u32, chunk: usize) {
        let chunk = u32::try_from(chunk).expect("fewer than 2^32 chunks");
        self.entries[id.0 as usize] = Entry { owner, chunk };
        self.count_change();
    }

    /// Drops the unused numbers at the end, and frees what memory it can.
    pub(crate) fn shrink(&mut self) {
        let len =
            self.entries.iter().rposition(|entry| entry.owner != NO_OWNER).map_or(0, |at| at + 1);
        self.entries.truncate(len);
        self.free.retain(|id| (id.0 as usize) < len);
        self.entries.shrink_to_fit();
        // As in `prepare`: freeing numbers needs no memory.
        self.free.shrink_to(len + 1);
    }

    /// Returns the index of the archetype that a place is in, and the address of the row there.
    #[inline]
    pub(crate) fn resolve(&self, place: Place) -> (u32, RowAddress) {
        let entry = self.entries[place.chunk()];
        (entry.owner, RowAddress { chunk: entry.chunk as usize, row: place.row() })
    }

    /// Returns an upper bound, which every number of a chunk is below.
    pub(crate) fn bound(&self) -> usize {
        self.entries.len()
    }

    /// Returns the number of chunks that have a number.
    pub(crate) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::BLOCK_BYTES;

    #[test]
    fn a_place_leads_back_to_its_chunk_and_row() {
        let mut directory = Directory::default();
        let ids: Vec<_> = (0..5).map(|chunk| directory.enter(7, chunk)).collect();
        for (chunk, &id) in ids.iter().enumerate() {
            for row in [0, 1, ROWS_MAX - 1] {
                let place = Place::from_bits(Place::new(id, row).to_bits());
                assert_eq!(directory.resolve(place), (7, RowAddress { chunk, row }));
            }
        }
    }

    #[test]
    fn a_number_is_used_again_when_its_chunk_is_gone() {
        let mut directory = Directory::default();
        let first = directory.enter(0, 0);
        let second = directory.enter(0, 1);
        directory.leave(first);
        assert_eq!(directory.len(), 1);
        assert_eq!(directory.enter(3, 9), first);
        assert_eq!(directory.resolve(Place::new(first, 4)), (3, RowAddress { chunk: 9, row: 4 }));
        assert_eq!(directory.resolve(Place::new(second, 0)), (0, RowAddress { chunk: 1, row: 0 }));
    }

    #[test]
    fn a_chunk_that_changes_its_owner_or_goes_is_a_change() {
        let mut directory = Directory::default();
        let id = directory.enter(0, 0);
        for (change, expected) in [(0, 1), (1, 2), (2, 3)] {
            match change {
                0 => directory.set(id, 1, 0),
                1 => directory.set(id, 1, 5),
                _ => directory.leave(id),
            }
            assert_eq!(directory.changes(), expected);
        }
    }

    #[test]
    fn no_place_looks_like_a_mark() {
        let last = ChunkId(u32::try_from(CHUNKS_MAX - 1).expect("21 bits"));
        assert!(Place::new(last, ROWS_MAX - 1).to_bits() < u32::MAX - 2047);
    }

    /// As large as a large block, so that few entities need many chunks.
    #[derive(crate::Component, Clone)]
    struct Huge([u64; BLOCK_BYTES]);

    #[derive(crate::Component, Clone)]
    struct Counted(std::sync::Arc<()>);

    std::thread_local! {
        static DEFAULTS: core::cell::Cell<usize> = const { core::cell::Cell::new(0) };
    }

    /// Counts its instances.
    #[derive(crate::Component)]
    struct WithDefault([u64; BLOCK_BYTES]);

    impl Default for WithDefault {
        fn default() -> Self {
            DEFAULTS.set(DEFAULTS.get() + 1);
            Self([4; BLOCK_BYTES])
        }
    }

    impl Drop for WithDefault {
        fn drop(&mut self) {
            DEFAULTS.set(DEFAULTS.get() - 1);
        }
    }

    #[test]
    fn a_world_without_another_chunk_refuses_what_needs_one_and_goes_on() {
        use crate::world::World;
        use std::panic::{AssertUnwindSafe, catch_unwind};

        let counted = std::sync::Arc::new(());
        let mut world = World::new();
        let with_default = world.register::<WithDefault>();
        let mut all = std::vec![world.spawn(Counted(counted.clone()))];
        while catch_unwind(AssertUnwindSafe(|| all.push(world.spawn(Huge([1; BLOCK_BYTES])))))
            .is_ok()
        {
            assert!(all.len() < 100 * chunks_limit(), "there is no limit");
        }
        assert_eq!((all.len(), world.blocks.directory.len()), (world.len(), chunks_limit()));
        let before = world.state_hash().value();
        let mut fails = |attempt: &mut dyn FnMut(&mut World)| {
            assert!(catch_unwind(AssertUnwindSafe(|| attempt(&mut world))).is_err());
            world.check().expect("in order");
            assert_eq!((world.len(), world.state_hash().value()), (all.len(), before));
        };
        fails(&mut |world| _ = world.spawn((Counted(counted.clone()), Huge([2; BLOCK_BYTES]))));
        fails(&mut |world| {
            drop(world.spawn_batch([(Counted(counted.clone()), Huge([2; BLOCK_BYTES]))]));
        });
        fails(&mut |world| _ = world.insert(all[0], Huge([2; BLOCK_BYTES])));
        fails(&mut |world| drop(world.instantiate(all[1], 1)));
        fails(&mut |world| drop(world.by_id_mut().insert_default(all[0], with_default)));
        assert_eq!(DEFAULTS.get(), 0, "a default value that was refused is dropped, or not made");
        assert_eq!(std::sync::Arc::strong_count(&counted), 2, "what was refused is dropped");
        world.despawn(all[1]).expect("alive");
        _ = world.spawn(Huge([3; BLOCK_BYTES]));
        world.check().expect("in order");
    }
}
