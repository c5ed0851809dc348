//! The entity table: which handles are alive, and the locations of their rows.

use alloc::vec::Vec;
use core::num::NonZeroU32;

use crate::archetype::ArchetypeId;
use crate::entity::{Entity, GENERATION_MAX};
use crate::storage::{Directory, Place, RowAddress};

/// The location of an entity's row, both packed into one word and resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) archetype: ArchetypeId,
    pub(crate) address: RowAddress,
    pub(crate) place: Place,
}

impl Location {
    #[inline]
    pub(crate) fn resolve(place: Place, directory: &Directory) -> Self {
        let (owner, address) = directory.resolve(place);
        Self { archetype: ArchetypeId(owner), address, place }
    }
}

/// One entry of the table. It has 8 bytes, since the cost of a random lookup is that of the memory it
/// loads into the cache.
///
/// ```text
/// generation        word
/// 0 | generation    place of the row            an entity lives here
/// 1 | generation    index of the next free      free, or a mark: RESERVED, RETIRED
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot {
    /// The generation of the entity in this slot or, with [`EMPTY`] set, of the next entity in it.
    generation: u32,
    word: u32,
}

/// A view of the entity table for lookups of places.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places<'w>(&'w [Slot]);

impl Places<'_> {
    /// Returns the place of this entity, if it is alive.
    #[inline]
    pub(crate) fn get(self, entity: Entity) -> Option<Place> {
        let slot = self.0.get(entity.index() as usize)?;
        // A deferred handle has the same bit set as an empty slot.
        (slot.generation == entity.generation() && !entity.is_deferred())
            .then(|| Place::from_bits(slot.word))
    }

    /// Returns the live entity with this index, if any.
    pub(crate) fn at(self, index: u32) -> Option<Entity> {
        let generation = self.0.get(index as usize)?.generation;
        let is_alive = generation & EMPTY == 0;
        NonZeroU32::new(generation).filter(|_| is_alive).map(|it| Entity::new(index, it))
    }
}

/// A bit of the generation: the slot has no entity. No live handle has this bit, which marks deferred
/// handles.
const EMPTY: u32 = !GENERATION_MAX;
/// The end of the free list.
const LIST_END: u32 = u32::MAX;
/// In an empty slot: a handle was given out, and its entity does not exist yet.
const RESERVED: u32 = u32::MAX - 1;
/// In an empty slot: every generation was used, so the slot is never reused.
const RETIRED: u32 = u32::MAX - 2;
/// The end of the slot indices: larger words are marks. It is small in tests, so that they can reach it.
const INDEX_END: u32 = if cfg!(test) { 200 } else { RETIRED };

/// The table of handles, generations and places. A live entity is in exactly one row (I-1).
///
/// Freed slots are reused last in, first out: the same operations always give the same handles.
#[derive(Debug)]
pub(crate) struct Entities {
    slots: Vec<Slot>,
    free_head: u32,
    live_count: usize,
    reserved_count: usize,
}

impl Entities {
    pub(crate) const fn new() -> Self {
        Self { slots: Vec::new(), free_head: LIST_END, live_count: 0, reserved_count: 0 }
    }

    /// Returns the number of live entities.
    pub(crate) fn live_count(&self) -> usize {
        self.live_count
    }

    /// Whether handles were given out whose entities do not exist yet. This is so while commands are
    /// played back.
    pub(crate) fn has_reserved(&self) -> bool {
        self.reserved_count > 0
    }

    /// Returns the number of slots; every index of a handle is below it.
    pub(crate) fn slot_count(&self) -> usize {
        self.slots.len()
    }

    /// Reserves memory for more entities at once.
    pub(crate) fn reserve(&mut self, additional: usize) {
        self.slots.reserve(additional.saturating_sub(self.slots.len() - self.live_count));
    }

    /// Checks that the next [`allocate`](Self::allocate) cannot fail. Call it before anything is written
    /// for which a handle is needed.
    ///
    /// Panics if no more entities are possible.
    #[inline]
    pub(crate) fn expect_one(&self) {
        if self.slots.get(self.free_head as usize).is_none() {
            _ = self.new_index();
        }
    }

    /// Returns a number of entities, at least one, that can certainly be allocated.
    ///
    /// Panics if no more entities are possible.
    pub(crate) fn available_min(&self) -> usize {
        self.expect_one();
        (INDEX_END as usize).saturating_sub(self.slots.len()).max(1)
    }

    /// Returns the handle that the next [`allocate`](Self::allocate) will return.
    pub(crate) fn next(&self) -> Entity {
        match self.slots.get(self.free_head as usize) {
            Some(slot) => Entity::new(self.free_head, slot.next_generation()),
            None => Entity::new(self.new_index(), NonZeroU32::MIN),
        }
    }

    /// Returns the index of the next slot to be appended.
    #[inline]
    fn new_index(&self) -> u32 {
        u32::try_from(self.slots.len())
            .ok()
            .filter(|&index| index < INDEX_END)
            .expect("a world has fewer than 2^32 - 3 entities")
    }

    /// Creates an entity whose row is at `place`.
    #[inline]
    pub(crate) fn allocate(&mut self, place: Place) -> Entity {
        let head = self.free_head as usize;
        let entity = if let Some(free) = self.slots.get_mut(head) {
            let entity = Entity::new(self.free_head, free.next_generation());
            self.free_head = free.word;
            *free = Slot::at(entity, place);
            entity
        } else {
            let entity = Entity::new(self.new_index(), NonZeroU32::MIN);
            self.slots.push(Slot::at(entity, place));
            entity
        };
        self.live_count += 1;
        entity
    }

    /// Gives out the handle of a future entity, which does not exist in the world yet.
    ///
    /// Must be followed by [`activate`](Self::activate) or [`release`](Self::release).
    pub(crate) fn reserve_one(&mut self) -> Entity {
        let entity = self.allocate(Place::from_bits(0));
        self.slots[entity.index() as usize] =
            Slot { generation: entity.generation() | EMPTY, word: RESERVED };
        self.live_count -= 1;
        self.reserved_count += 1;
        entity
    }

    /// Makes a reserved entity live.
    ///
    /// # Panics
    /// Panics if it is not reserved.
    pub(crate) fn activate(&mut self, entity: Entity, place: Place) {
        *self.take_reserved(entity) = Slot::at(entity, place);
    }

    /// Releases a reserved handle.
    ///
    /// # Panics
    /// Panics if it is not reserved.
    pub(crate) fn release(&mut self, entity: Entity) {
        self.take_reserved(entity).generation = entity.generation();
        self.free(entity);
    }

    /// Takes the slot of a reserved entity, and counts the entity as live.
    fn take_reserved(&mut self, entity: Entity) -> &mut Slot {
        assert!(self.is_reserved(entity), "the handle is not reserved");
        self.live_count += 1;
        self.reserved_count -= 1;
        &mut self.slots[entity.index() as usize]
    }

    pub(crate) fn is_reserved(&self, entity: Entity) -> bool {
        let slot = self.slots.get(entity.index() as usize);
        // A deferred handle has the same bit set as an empty slot.
        slot.is_some_and(|slot| {
            slot.word == RESERVED
                && slot.generation == entity.generation() | EMPTY
                && !entity.is_deferred()
        })
    }

    /// Frees the slot of a live entity. Its handle is stale from now on.
    #[inline]
    pub(crate) fn free(&mut self, entity: Entity) {
        let index = entity.index();
        let slot = &mut self.slots[index as usize];
        debug_assert_eq!(slot.generation, entity.generation());
        if entity.generation() < GENERATION_MAX {
            *slot = Slot { generation: (entity.generation() + 1) | EMPTY, word: self.free_head };
            self.free_head = index;
        } else {
            // If the generation wrapped, an old handle could refer to a new entity.
            *slot = Slot { generation: GENERATION_MAX | EMPTY, word: RETIRED };
        }
        self.live_count -= 1;
    }

    /// Frees the slots of all entities.
    pub(crate) fn clear(&mut self) {
        // From the back, so that slots are reused from the front.
        for index in (0..self.slots.len()).rev() {
            let index = u32::try_from(index).expect("slots are fewer than 2^32");
            if let Some(entity) = self.at(index) {
                self.free(entity);
            }
        }
    }

    /// Returns the place of this entity, if it is alive.
    #[inline]
    pub(crate) fn get(&self, entity: Entity) -> Option<Place> {
        self.places().get(entity)
    }

    /// Returns the table for repeated lookups.
    #[inline]
    pub(crate) fn places(&self) -> Places<'_> {
        Places(&self.slots)
    }

    /// Returns the live entity with this index, if any.
    pub(crate) fn at(&self, index: u32) -> Option<Entity> {
        self.places().at(index)
    }

    /// Returns the resolved location of this entity, if it is alive.
    #[inline]
    pub(crate) fn locate(&self, entity: Entity, directory: &Directory) -> Option<Location> {
        self.get(entity).map(|place| Location::resolve(place, directory))
    }

    /// Records the new place of a live entity.
    #[inline]
    pub(crate) fn set_place(&mut self, entity: Entity, place: Place) {
        let slot = &mut self.slots[entity.index() as usize];
        debug_assert_eq!(slot.generation, entity.generation());
        slot.word = place.to_bits();
    }

    /// Records the new places of live entities, which now lie one after the other.
    pub(crate) fn set_places(&mut self, entities: &[Entity], first: Place) {
        for (offset, &entity) in (0..).zip(entities) {
            self.set_place(entity, first.after(offset));
        }
    }

    /// Returns the generation of each slot: of its entity, of its next one, or of its last one.
    pub(crate) fn generations(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.slots.iter().map(|slot| slot.generation & GENERATION_MAX)
    }

    /// Returns the free slots, in the order in which they will be used.
    pub(crate) fn free_list(&self) -> impl Iterator<Item = u32> + '_ {
        let mut next = self.free_head;
        core::iter::from_fn(move || {
            let index = next;
            next = self.slots.get(index as usize)?.word;
            Some(index)
        })
    }

    /// Creates a table with these slots and without live entities. Slots on the free list are free, and
    /// the others are for [`occupy`](Self::occupy). Returns `None` if no table can be like that.
    pub(crate) fn vacant(
        generations: impl ExactSizeIterator<Item = u32>,
        free: impl Iterator<Item = u32>,
    ) -> Option<Self> {
        if generations.len() > INDEX_END as usize {
            return None;
        }
        let slots = generations.map(|generation| {
            let is_valid = (1..=GENERATION_MAX).contains(&generation);
            is_valid.then_some(Slot { generation: generation | EMPTY, word: RETIRED })
        });
        let mut entities = Self { slots: slots.collect::<Option<_>>()?, ..Self::new() };
        let mut last: Option<u32> = None;
        for index in free {
            let slot = entities.slots.get_mut(index as usize)?;
            // Otherwise the slot is on the list already.
            (slot.word == RETIRED).then_some(())?;
            slot.word = LIST_END;
            match last.replace(index) {
                Some(last) => entities.slots[last as usize].word = index,
                None => entities.free_head = index,
            }
        }
        Some(entities)
    }

    /// Makes an entity live in its slot of a [`vacant`](Self::vacant) table, and returns whether that was
    /// possible.
    pub(crate) fn occupy(&mut self, entity: Entity, place: Place) -> bool {
        let slot = self.slots.get_mut(entity.index() as usize);
        let vacant = Slot { generation: entity.generation() | EMPTY, word: RETIRED };
        match slot.filter(|slot| !entity.is_deferred() && **slot == vacant) {
            Some(slot) => {
                *slot = Slot::at(entity, place);
                self.live_count += 1;
                true
            }
            None => false,
        }
    }

    /// Whether every slot without a live entity is on the free list, or has used all its generations.
    pub(crate) fn is_complete(&self) -> bool {
        let exhausted = GENERATION_MAX | EMPTY;
        let is_vacant = |slot: &Slot| slot.generation & EMPTY != 0 && slot.word == RETIRED;
        self.slots.iter().all(|slot| !is_vacant(slot) || slot.generation == exhausted)
    }

    /// Frees memory that no slot needs.
    pub(crate) fn shrink(&mut self) {
        self.slots.shrink_to_fit();
    }

    /// Returns the size of the table in bytes.
    pub(crate) fn table_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>()
    }

    /// Checks that the free list, the slots and the count agree; part of I-1.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let live = self.slots.iter().filter(|slot| slot.generation & EMPTY == 0).count();
        if live != self.live_count {
            return Err("the count of live entities is off");
        }
        let is_reserved = |slot: &&Slot| slot.generation & EMPTY != 0 && slot.word == RESERVED;
        if self.slots.iter().filter(is_reserved).count() != self.reserved_count {
            return Err("the count of reserved handles is off");
        }
        let is_free = |slot: &Slot| {
            slot.generation & EMPTY != 0 && slot.word != RESERVED && slot.word != RETIRED
        };
        let free = self.slots.iter().filter(|slot| is_free(slot)).count();
        let mut listed = 0;
        let mut next = self.free_head;
        while let Some(slot) = self.slots.get(next as usize) {
            if !is_free(slot) || listed > free {
                return Err("the free list runs through a slot in use, or in a cycle");
            }
            listed += 1;
            next = slot.word;
        }
        if listed == free && next == LIST_END { Ok(()) } else { Err("the free list misses a slot") }
    }
}

impl Slot {
    #[inline]
    fn at(entity: Entity, place: Place) -> Self {
        Self { generation: entity.generation(), word: place.to_bits() }
    }

    /// The generation of the next entity in this free slot.
    #[inline]
    fn next_generation(self) -> NonZeroU32 {
        NonZeroU32::new(self.generation & GENERATION_MAX).expect("a generation is never zero")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::CommandBuffer;
    use crate::world::World;

    const HERE: Place = Place::from_bits(0);

    /// A table whose slots have had all generations before this one.
    fn all_free(count: u32, generation: u32) -> Entities {
        let generations = (0..count as usize).map(|_| generation);
        Entities::vacant(generations, 0..count).expect("each slot is free once")
    }

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
    fn a_table_that_is_out_of_step_is_found() {
        let check = |spoil: fn(&mut Entities), expected: &str| {
            let mut entities = Entities::new();
            let all: Vec<Entity> = (0..4).map(|_| entities.allocate(HERE)).collect();
            entities.free(all[1]);
            entities.free(all[2]);
            entities.check().expect("consistent");
            spoil(&mut entities);
            let found = entities.check().expect_err("it was spoiled");
            assert!(found.contains(expected), "{found}");
        };
        check(|it| it.live_count += 1, "live entities");
        check(|it| it.slots[3].generation |= EMPTY, "live entities");
        check(|it| it.reserved_count += 1, "reserved handles");
        check(|it| it.slots[2].word = RESERVED, "reserved handles");
        // The list goes from the second slot to the first.
        check(|it| it.free_head = 0, "a slot in use");
        check(|it| it.slots[1].word = 2, "a cycle");
        check(|it| it.free_head = 1, "misses a slot");
        check(|it| it.free_head = LIST_END, "misses a slot");
        check(|it| it.slots[1].word = 77, "misses a slot");
    }

    #[test]
    fn a_slot_whose_generations_are_exhausted_is_retired() {
        let mut entities = Entities::new();
        let first = entities.allocate(HERE);
        entities.slots[0].generation = GENERATION_MAX;
        let last = Entity::new(first.index(), NonZeroU32::new(GENERATION_MAX).expect("not zero"));
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
    fn no_handle_names_an_empty_slot() {
        let mut entities = Entities::new();
        let free = entities.allocate(HERE);
        let retired = entities.allocate(HERE);
        entities.free(free);
        entities.slots[1].generation = GENERATION_MAX;
        entities.free(Entity::new(1, NonZeroU32::new(GENERATION_MAX).expect("not zero")));
        let reserved = entities.reserve_one();
        entities.check().expect("consistent");
        for index in [free.index(), retired.index(), reserved.index()] {
            for generation in [1, 2, 3, GENERATION_MAX] {
                for bit in [0, EMPTY] {
                    let bits = u64::from(generation | bit) << 32 | u64::from(index);
                    let handle = Entity::from_bits(bits).expect("not zero");
                    assert_eq!(entities.get(handle), None, "{handle}");
                    assert_eq!(entities.is_reserved(handle), handle == reserved, "{handle}");
                }
            }
        }
        entities.release(reserved);
        entities.check().expect("consistent");
    }

    #[test]
    fn only_a_reserved_handle_comes_to_life_or_is_given_up() {
        let mut entities = Entities::new();
        let [alive, freed] = [(); 2].map(|()| entities.allocate(HERE));
        entities.free(freed);
        let reserved = entities.reserve_one();
        for wrong in [alive, freed, Entity::deferred(0, reserved.index())] {
            for act in [|it: &mut Entities, of| it.activate(of, HERE), Entities::release] {
                let attempt = std::panic::AssertUnwindSafe(|| act(&mut entities, wrong));
                assert!(std::panic::catch_unwind(attempt).is_err(), "{wrong}");
                entities.check().expect("as before");
            }
        }
        assert_eq!((entities.live_count(), entities.has_reserved()), (1, true));
        entities.activate(reserved, HERE);
        assert!(entities.get(reserved).is_some() && !entities.has_reserved());
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

    #[derive(crate::Component, Clone)]
    struct Counted(std::sync::Arc<()>);

    /// Whether it panics for want of a handle.
    fn finds_no_handle(attempt: impl FnOnce()) -> bool {
        let attempt = std::panic::AssertUnwindSafe(attempt);
        let Err(panic) = std::panic::catch_unwind(attempt) else { return false };
        let message = panic.downcast_ref::<std::string::String>().expect("a formatted message");
        assert!(message.starts_with("a world has fewer than 2^32 - 3 entities"), "{message}");
        true
    }

    #[test]
    fn a_world_without_another_handle_refuses_what_needs_one_and_goes_on() {
        let counted = std::sync::Arc::new(());
        let value = || Counted(counted.clone());
        let mut world = World::new();
        let byte = crate::ComponentDescriptor::bytes("byte", core::alloc::Layout::new::<u8>());
        let byte = world.by_id_mut().register(byte).expect("a new name");
        let [alone, parent, child] = [(); 3].map(|()| world.spawn(value()));
        world.relation_mut::<crate::ChildOf>().set_parent(child, parent).expect("no cycle");
        assert!(finds_no_handle(|| drop(world.spawn_batch((0..9999).map(|_| ())))));
        assert_eq!(world.len(), INDEX_END as usize, "those before it are there");

        let before = world.state_hash();
        let mut refuses = |attempt: &mut dyn FnMut(&mut World)| {
            assert!(finds_no_handle(|| attempt(&mut world)));
            world.check().expect("in order");
            assert!(!world.entities.has_reserved());
            assert_eq!(world.state_hash(), before);
            assert_eq!(std::sync::Arc::strong_count(&counted), 4, "what was refused is dropped");
        };
        refuses(&mut |world| _ = world.spawn(value()));
        refuses(&mut |world| drop(world.spawn_batch([value()])));
        refuses(&mut |world| drop(world.by_id_mut().spawn(&[(byte, &[1])])));
        refuses(&mut |world| drop(world.instantiate(alone, 1)));
        refuses(&mut |world| drop(world.instantiate(parent, 1)));
        refuses(&mut |world| drop(world.instantiate_with(alone, 1, |_| value())));
        refuses(&mut |world| {
            let mut commands = CommandBuffer::new(world);
            commands.despawn(alone);
            commands.spawn(value());
            drop(commands.play(world));
        });
        refuses(&mut |world| {
            let mut commands = CommandBuffer::new(world);
            commands.instantiate(parent, 1);
            commands.insert(alone, value());
            drop(commands.play(world));
        });

        // One handle is not enough for two.
        let spare = world.entities().find(|&entity| !world.has::<Counted>(entity));
        world.despawn(spare.expect("there are many")).expect("alive");
        let before: Vec<Entity> = world.entities().collect();
        for is_playback in [false, true] {
            assert!(finds_no_handle(|| if is_playback {
                let mut commands = CommandBuffer::new(&world);
                commands.insert(alone, value());
                drop(commands.spawn_batch([value(), value()]));
                drop(commands.play(&mut world));
            } else {
                drop(world.instantiate_with(parent, 1, |_| value()));
            }));
            assert!(world.entities().eq(before.iter().copied()));
            world.check().expect("in order");
            assert!(!world.entities.has_reserved(), "what was reserved was given back");
            assert_eq!(std::sync::Arc::strong_count(&counted), 4);
        }
        assert!(finds_no_handle(|| drop(world.instantiate(alone, 2))), "one is there, two are not");
        assert_eq!((world.len(), std::sync::Arc::strong_count(&counted)), (INDEX_END as usize, 5));
        world.check().expect("in order");
        world.clear();
        assert_eq!(world.spawn_batch((0..INDEX_END).map(|_| ())).len(), INDEX_END as usize);
    }

    /// Generations that wrapped round would give out again what was given out before.
    #[test]
    fn a_slot_that_has_had_its_last_generation_is_never_used_again() {
        let ways: [fn(&mut World, Entity); 5] = [
            |world, entity| world.despawn(entity).expect("alive"),
            |world, _| world.clear(),
            |world, _| assert_eq!(world.bulk::<()>().despawn(), 1),
            |world, entity| {
                let mut commands = CommandBuffer::new(world);
                commands.despawn(entity);
                assert!(commands.play(world).failures().is_empty());
            },
            |world, entity| {
                let saved = world.snapshot().expect("there are numbers");
                world.despawn(entity).expect("alive");
                world.restore(&saved).expect("its own");
                world.despawn(entity).expect("alive again");
                let saved = world.snapshot().expect("there are numbers");
                _ = world.spawn(());
                world.restore(&saved).expect("its own");
            },
        ];
        for way in ways {
            let mut world = World::new();
            world.entities = all_free(3, GENERATION_MAX - 1);
            let mut seen = Vec::new();
            for index in [0, 0, 1, 1, 2] {
                let entity = world.spawn(());
                assert!(!seen.contains(&entity), "{entity} was given out before");
                seen.push(entity);
                assert_eq!(entity.index(), index);
                way(&mut world, entity);
                assert!(world.is_empty());
                assert!(seen.iter().all(|&entity| !world.contains(entity)));
                assert!(seen.iter().all(|&entity| world.despawn(entity).is_err()));
                world.check().expect("in order");
            }
        }
    }

    #[test]
    fn a_world_whose_slots_are_all_retired_has_no_handle_left() {
        let mut world = World::new();
        world.entities = all_free(INDEX_END, GENERATION_MAX);
        for index in 0..INDEX_END {
            let entity = world.spawn(());
            assert_eq!((entity.index(), entity.generation()), (index, GENERATION_MAX));
            world.despawn(entity).expect("alive");
        }
        assert!(finds_no_handle(|| _ = world.spawn(())));
        assert!(finds_no_handle(|| drop(world.spawn_batch([()]))));
        world.clear();
        assert!(finds_no_handle(|| _ = world.spawn(())));
        assert!(world.is_empty());
        world.check().expect("in order");
    }
}
