//! The table of entities: which handles are alive, and where their rows are.

use alloc::vec::Vec;
use core::num::NonZeroU32;

use crate::archetype::ArchetypeId;
use crate::entity::{Entity, GENERATION_MAX};
use crate::storage::RowAddress;

/// Where an entity's row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) archetype: ArchetypeId,
    pub(crate) address: RowAddress,
}

/// One place of the table: 16 bytes, so that a lookup touches one cache line.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Of the entity that is here, or of the next one that will be.
    generation: NonZeroU32,
    /// The archetype, or what the slot is used for while nobody is here.
    archetype: u32,
    /// The chunk, or the next free slot.
    chunk: u32,
    row: u32,
}

/// In place of an archetype: the slot is on the free list.
const FREE: u32 = u32::MAX;
/// In place of an archetype: a handle was given out, the entity is yet to come.
const RESERVED: u32 = u32::MAX - 2;
/// The first of the numbers that are no archetype.
const NOT_LIVE: u32 = RESERVED;
/// In place of an archetype: every generation was used, nobody will be here again.
const RETIRED: u32 = u32::MAX - 1;
/// Ends the free list.
const NOBODY: u32 = u32::MAX;

/// Handles, generations and locations. A live entity is in exactly one row (I-1).
///
/// Freed slots are used again last in, first out: the handles that a run of the same operations
/// gets are the same every time.
#[derive(Debug)]
pub(crate) struct Entities {
    slots: Vec<Slot>,
    free_head: u32,
    live_count: usize,
}

impl Entities {
    pub(crate) const fn new() -> Self {
        Self { slots: Vec::new(), free_head: NOBODY, live_count: 0 }
    }

    /// How many entities are alive.
    pub(crate) fn live_count(&self) -> usize {
        self.live_count
    }

    /// How many slots there are; every index of a handle is below it.
    pub(crate) fn slot_count(&self) -> usize {
        self.slots.len()
    }

    /// Makes room for more entities in one go.
    pub(crate) fn reserve(&mut self, additional: usize) {
        self.slots.reserve(additional.saturating_sub(self.slots.len() - self.live_count));
    }

    /// At least this many more entities can be allocated, and at least one.
    ///
    /// Panics where there can be no more.
    pub(crate) fn available_min(&self) -> usize {
        // Asks for the panic, should not even one be left.
        _ = self.next();
        (NOBODY as usize).saturating_sub(self.slots.len()).max(1)
    }

    /// The handle that the next [`allocate`](Self::allocate) will give.
    pub(crate) fn next(&self) -> Entity {
        match self.slots.get(self.free_head as usize) {
            Some(slot) => Entity::new(self.free_head, slot.generation),
            None => Entity::new(self.new_index(), NonZeroU32::MIN),
        }
    }

    /// The index of a slot that is yet to be made.
    fn new_index(&self) -> u32 {
        let index = u32::try_from(self.slots.len()).expect("fewer than 2^32 entities");
        assert!(index != NOBODY, "fewer than 2^32 - 1 entities");
        index
    }

    /// A new entity, whose row is at `location`.
    pub(crate) fn allocate(&mut self, location: Location) -> Entity {
        let entity = self.next();
        let slot = Slot::at(entity, location);
        match self.slots.get_mut(entity.index() as usize) {
            Some(free) => {
                self.free_head = free.chunk;
                *free = slot;
            }
            None => self.slots.push(slot),
        }
        self.live_count += 1;
        entity
    }

    /// Gives out the handle of an entity that is yet to come; to the world it is not there.
    ///
    /// To be followed by [`activate`](Self::activate) or by [`release`](Self::release).
    pub(crate) fn reserve_one(&mut self) -> Entity {
        let nowhere =
            Location { archetype: ArchetypeId::EMPTY, address: RowAddress { chunk: 0, row: 0 } };
        let entity = self.allocate(nowhere);
        self.slots[entity.index() as usize].archetype = RESERVED;
        self.live_count -= 1;
        entity
    }

    /// Lets a reserved entity live.
    pub(crate) fn activate(&mut self, entity: Entity, location: Location) {
        debug_assert!(self.is_reserved(entity));
        self.live_count += 1;
        self.set_location(entity, location);
    }

    /// Gives up a reserved handle.
    pub(crate) fn release(&mut self, entity: Entity) {
        debug_assert!(self.is_reserved(entity));
        self.live_count += 1;
        self.free(entity);
    }

    pub(crate) fn is_reserved(&self, entity: Entity) -> bool {
        let slot = self.slots.get(entity.index() as usize);
        slot.is_some_and(|slot| {
            slot.archetype == RESERVED && slot.generation.get() == entity.generation()
        })
    }

    /// Forgets an entity that is alive. Its handle is stale from now on.
    pub(crate) fn free(&mut self, entity: Entity) {
        let index = entity.index();
        let head = self.free_head;
        let slot = &mut self.slots[index as usize];
        debug_assert_eq!(slot.generation.get(), entity.generation());
        match slot.generation.checked_add(1).filter(|next| next.get() <= GENERATION_MAX) {
            Some(next) => {
                *slot = Slot { generation: next, archetype: FREE, chunk: head, row: 0 };
                self.free_head = index;
            }
            // Wrapping would let an old handle name a new entity.
            None => slot.archetype = RETIRED,
        }
        self.live_count -= 1;
    }

    /// Forgets all entities.
    pub(crate) fn clear(&mut self) {
        // From the back, so that slots are used again from the front.
        for index in (0..self.slots.len()).rev() {
            let slot = self.slots[index];
            if slot.archetype < NOT_LIVE {
                self.free(Entity::new(index_of(index), slot.generation));
            }
        }
    }

    /// Where this entity is, if it is alive.
    #[inline]
    pub(crate) fn get(&self, entity: Entity) -> Option<Location> {
        let slot = self.slots.get(entity.index() as usize)?;
        (slot.generation.get() == entity.generation() && slot.archetype < NOT_LIVE)
            .then(|| slot.location())
    }

    /// Writes down where a live entity has gone.
    #[inline]
    pub(crate) fn set_location(&mut self, entity: Entity, location: Location) {
        let slot = &mut self.slots[entity.index() as usize];
        debug_assert_eq!(slot.generation.get(), entity.generation());
        *slot = Slot::at(entity, location);
    }

    /// Whether the free list, the slots and the count agree; part of I-1.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let live = self.slots.iter().filter(|slot| slot.archetype < NOT_LIVE).count();
        if live != self.live_count {
            return Err("the count of live entities is off");
        }
        let free = self.slots.iter().filter(|slot| slot.archetype == FREE).count();
        let mut listed = 0;
        let mut next = self.free_head;
        while let Some(slot) = self.slots.get(next as usize) {
            if slot.archetype != FREE || listed > free {
                return Err("the free list runs through a slot in use, or in a circle");
            }
            listed += 1;
            next = slot.chunk;
        }
        if listed == free && next == NOBODY { Ok(()) } else { Err("the free list misses a slot") }
    }
}

impl Slot {
    fn at(entity: Entity, location: Location) -> Self {
        let Location { archetype, address } = location;
        debug_assert!(archetype.0 < NOT_LIVE);
        Self {
            generation: entity.generation_non_zero(),
            archetype: archetype.0,
            chunk: index_of(address.chunk),
            row: index_of(address.row),
        }
    }

    fn location(&self) -> Location {
        let address = RowAddress { chunk: self.chunk as usize, row: self.row as usize };
        Location { archetype: ArchetypeId(self.archetype), address }
    }
}

/// An index as the table keeps it: no archetype has 2^32 chunks, and no chunk 2^32 rows.
#[expect(
    clippy::cast_possible_truncation,
    reason = "checked in debug builds, and out of reach: 2^32 chunks are 64 TiB"
)]
fn index_of(index: usize) -> u32 {
    debug_assert!(u32::try_from(index).is_ok());
    index as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Location =
        Location { archetype: ArchetypeId::EMPTY, address: RowAddress { chunk: 0, row: 0 } };

    #[test]
    fn a_freed_slot_is_used_again_under_another_generation() {
        let mut entities = Entities::new();
        let first = entities.allocate(HERE);
        entities.free(first);
        assert_eq!(entities.get(first), None);
        let second = entities.allocate(HERE);
        assert_eq!(second.index(), first.index());
        assert_ne!(second, first);
        assert_eq!(entities.get(first), None);
        assert!(entities.get(second).is_some());
        entities.check().expect("consistent");
    }

    #[test]
    fn a_slot_whose_generations_are_exhausted_is_retired() {
        let mut entities = Entities::new();
        let first = entities.allocate(HERE);
        entities.slots[0].generation = NonZeroU32::new(GENERATION_MAX).expect("not zero");
        let last = Entity::new(first.index(), entities.slots[0].generation);
        entities.free(last);
        entities.check().expect("consistent");
        assert_eq!(entities.get(last), None);
        let next = entities.allocate(HERE);
        assert_ne!(next.index(), first.index(), "the slot is never used again");
        entities.clear();
        assert_eq!(entities.live_count(), 0);
        entities.check().expect("consistent");
    }

    #[test]
    fn next_foretells_what_allocate_gives() {
        let mut entities = Entities::new();
        let all: Vec<_> = (0..5).map(|_| entities.allocate(HERE)).collect();
        entities.free(all[3]);
        entities.free(all[1]);
        for _ in 0..4 {
            let foretold = entities.next();
            assert_eq!(entities.allocate(HERE), foretold);
        }
        entities.check().expect("consistent");
    }
}
