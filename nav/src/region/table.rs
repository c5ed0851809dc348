//! The regions themselves: which pieces each has, and which region each piece has.

use std::num::NonZeroU32;

use formic_ecs::CodecError;

use crate::bytes::{Saved, get_count, get_u32, put};
use crate::grid::change::GridVersion;
use crate::grid::count_u32;
use crate::region::event::RegionId;
use crate::region::pieces::Pieces;

/// The slot of pieces without a region.
const NONE: u32 = u32::MAX;

/// Where a piece is listed: `slots[slot].pieces[position]` is the piece.
#[derive(Clone, Copy, Debug)]
struct Place {
    slot: u32,
    position: u32,
}

const NOWHERE: Place = Place { slot: NONE, position: 0 };

#[derive(Clone, Debug)]
struct Slot {
    generation: NonZeroU32,
    /// Empty if and only if the slot is free.
    pieces: Vec<u32>,
    /// The cells of all pieces together.
    cell_count: u32,
    version: GridVersion,
}

/// Regions in slots that are used again, and the region of each piece.
///
/// Invariant: `places` and `slots` are inverse to each other. Every method below
/// keeps that, so removal by swapping needs no search.
#[derive(Clone, Debug, Default)]
pub(crate) struct RegionTable {
    places: Vec<Place>,
    slots: Vec<Slot>,
    /// Free slots, the one freed last on top: that makes ids deterministic.
    free: Vec<u32>,
    region_count: usize,
}

impl RegionTable {
    /// The region of a piece, `None` if it has none yet.
    pub(crate) fn region_of(&self, piece: u32) -> Option<RegionId> {
        let slot = self.places.get(piece as usize)?.slot;
        (slot != NONE).then(|| self.id(slot))
    }

    /// Whether two pieces are of one region.
    #[inline]
    pub(crate) fn is_same(&self, a: u32, b: u32) -> bool {
        self.places[a as usize].slot == self.places[b as usize].slot
    }

    /// All regions, by slot.
    pub(crate) fn ids(&self) -> impl Iterator<Item = RegionId> + '_ {
        (0_u32..)
            .zip(&self.slots)
            .filter(|(_, slot)| !slot.pieces.is_empty())
            .map(|(i, slot)| RegionId { slot: i, generation: slot.generation })
    }

    pub(crate) const fn region_count(&self) -> usize {
        self.region_count
    }

    /// The pieces of a region; none if the id is stale.
    pub(crate) fn pieces(&self, region: RegionId) -> &[u32] {
        self.live(region).map_or(&[], |slot| &slot.pieces)
    }

    /// The number of cells of a region; zero if the id is stale.
    pub(crate) fn cell_count(&self, region: RegionId) -> u32 {
        self.live(region).map_or(0, |slot| slot.cell_count)
    }

    /// Counts a cell more or less.
    pub(crate) fn resize(&mut self, region: RegionId, by: i32, version: GridVersion) {
        let slot = &mut self.slots[region.slot()];
        slot.cell_count = slot.cell_count.wrapping_add_signed(by);
        slot.version = version;
    }

    /// The version of the grid when the region last changed.
    pub(crate) fn version(&self, region: RegionId) -> Option<GridVersion> {
        self.live(region).map(|slot| slot.version)
    }

    /// A region without pieces, to be given some at once.
    pub(crate) fn create(&mut self, version: GridVersion) -> RegionId {
        self.region_count += 1;
        let slot = self.free.pop().unwrap_or_else(|| {
            let slot =
                Slot { generation: NonZeroU32::MIN, pieces: Vec::new(), cell_count: 0, version };
            self.slots.push(slot);
            count_u32(self.slots.len() - 1)
        });
        let Slot { version: last, cell_count, .. } = &mut self.slots[slot as usize];
        (*last, *cell_count) = (version, 0);
        self.id(slot)
    }

    /// Frees the slot of a region that has lost its last piece.
    pub(crate) fn remove(&mut self, region: RegionId) {
        let slot = &mut self.slots[region.slot()];
        debug_assert!(slot.pieces.is_empty(), "region {region} still has pieces");
        self.region_count -= 1;
        // A slot whose generations are used up is retired, never wrapped.
        if let Some(generation) = slot.generation.checked_add(1) {
            slot.generation = generation;
            self.free.push(region.slot);
        }
    }

    /// Adds a piece that has no region to one. Its cells are counted by the caller.
    pub(crate) fn insert(&mut self, region: RegionId, piece: u32) {
        let pieces = &mut self.slots[region.slot()].pieces;
        let position = count_u32(pieces.len());
        pieces.push(piece);
        if self.places.len() <= piece as usize {
            self.places.resize(piece as usize + 1, NOWHERE);
        }
        self.places[piece as usize] = Place { slot: region.slot, position };
    }

    /// Takes a piece out of its region. Its cells are counted by the caller.
    pub(crate) fn take(&mut self, piece: u32) {
        let Place { slot, position } = std::mem::replace(&mut self.places[piece as usize], NOWHERE);
        let pieces = &mut self.slots[slot as usize].pieces;
        pieces.swap_remove(position as usize);
        // The last piece has moved into the gap, unless it was the gap.
        if let Some(&moved) = pieces.get(position as usize) {
            self.places[moved as usize].position = position;
        }
    }

    /// Counts cells that went from one region to another.
    pub(crate) fn recount(&mut self, from: RegionId, into: RegionId, cell_count: u32) {
        self.slots[from.slot()].cell_count -= cell_count;
        self.slots[into.slot()].cell_count += cell_count;
    }

    /// Moves all pieces of one region into another and frees its slot.
    pub(crate) fn absorb(&mut self, into: RegionId, from: RegionId) {
        // The emptied list goes back, so that its memory serves the slot's next
        // region.
        let mut pieces = std::mem::take(&mut self.slots[from.slot()].pieces);
        let cell_count = self.slots[from.slot()].cell_count;
        let target = &mut self.slots[into.slot()];
        target.cell_count += cell_count;
        for (position, &piece) in (count_u32(target.pieces.len())..).zip(&pieces) {
            self.places[piece as usize] = Place { slot: into.slot, position };
        }
        target.pieces.append(&mut pieces);
        self.slots[from.slot()].pieces = pieces;
        self.remove(from);
    }

    /// Fills a region that has one piece with all that it connects to. The list
    /// of the region is the queue of the flood.
    pub(crate) fn flood(&mut self, region: RegionId, pieces: &Pieces) {
        let mut head = 0;
        while let Some(&piece) = self.slots[region.slot()].pieces.get(head) {
            head += 1;
            self.slots[region.slot()].cell_count += pieces.cell_count(piece);
            for next in pieces.touched(piece) {
                if self.region_of(next).is_none() {
                    self.insert(region, next);
                }
            }
        }
    }

    /// Whether places and slots are inverse, and regions have the cells of their pieces.
    pub(crate) fn is_sound(&self, pieces: &Pieces) -> bool {
        let is_listed = |piece: u32| {
            let place = self.places.get(piece as usize).copied().unwrap_or(NOWHERE);
            let listed = self.slots.get(place.slot as usize);
            let listed = listed.and_then(|slot| slot.pieces.get(place.position as usize));
            listed.copied() == (pieces.cell_count(piece) > 0).then_some(piece)
        };
        let is_counted = |slot: &Slot| {
            let cell_count = slot.pieces.iter().map(|&piece| pieces.cell_count(piece)).sum::<u32>();
            slot.pieces.is_empty() || slot.cell_count == cell_count
        };
        // As many listed pieces as there are, so none is listed twice.
        let listed_count: usize = self.slots.iter().map(|slot| slot.pieces.len()).sum();
        (0..count_u32(pieces.number_end())).all(is_listed)
            && self.slots.iter().all(is_counted)
            && listed_count == pieces.count()
            && self.ids().count() == self.region_count
    }

    /// The slots that are free, the one freed last at the end; of each slot its generation, its
    /// version, and its pieces in their order.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        put(out, self.free.len() as u64);
        self.free.iter().for_each(|&slot| put(out, slot.into()));
        put(out, self.slots.len() as u64);
        for slot in &self.slots {
            put(out, slot.generation.get().into());
            slot.version.write(out);
            put(out, slot.pieces.len() as u64);
            slot.pieces.iter().for_each(|&piece| put(out, piece.into()));
        }
    }

    /// The regions of a grid; whether they are, is looked at where pieces are listed.
    pub(crate) fn read(bytes: &mut &[u8], pieces: &Pieces) -> Saved<Self> {
        let mut table = Self::default();
        for _ in 0..get_count(bytes, 8)? {
            table.free.push(get_u32(bytes)?);
        }
        for number in 0..get_count(bytes, 32)? {
            let generation = NonZeroU32::new(get_u32(bytes)?).ok_or(CodecError)?;
            let version = GridVersion::read(bytes)?;
            table.slots.push(Slot { generation, pieces: Vec::new(), cell_count: 0, version });
            let piece_count = get_count(bytes, 8)?;
            table.region_count += usize::from(piece_count > 0);
            let id = table.id(u32::try_from(number).map_err(|_| CodecError)?);
            for _ in 0..piece_count {
                let piece = get_u32(bytes)?;
                let is_new = (piece as usize) < pieces.number_end()
                    && pieces.cell_count(piece) > 0
                    && table.region_of(piece).is_none();
                if !is_new {
                    return Err(CodecError);
                }
                table.slots[number].cell_count += pieces.cell_count(piece);
                table.insert(id, piece);
            }
        }
        let mut free = table.free.clone();
        free.sort_unstable();
        let is_free =
            |&slot: &u32| table.slots.get(slot as usize).is_some_and(|slot| slot.pieces.is_empty());
        let is_set = free.windows(2).all(|pair| pair[0] != pair[1]);
        if is_set && free.iter().all(is_free) { Ok(table) } else { Err(CodecError) }
    }

    fn id(&self, slot: u32) -> RegionId {
        RegionId { slot, generation: self.slots[slot as usize].generation }
    }

    fn live(&self, region: RegionId) -> Option<&Slot> {
        let slot = self.slots.get(region.slot())?;
        (slot.generation == region.generation && !slot.pieces.is_empty()).then_some(slot)
    }
}
