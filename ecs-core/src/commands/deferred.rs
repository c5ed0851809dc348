//! The deferred entities of a buffer: their handles exist now, the entities from playback on.

use alloc::vec::Vec;

use crate::entity::Entity;
use crate::error::CommandFailureReason;
use crate::sync::Serial;

/// The outcome of a command.
pub(crate) type Outcome = Result<(), CommandFailureReason>;

static TAGS: Serial = Serial::starting_at(0);
/// Tags have 30 bits. Two buffers with the same tag are a billion tags apart, and cannot meet in
/// practice.
const TAG_MASK: u64 = (1 << 30) - 1;

/// Returns a new tag. A buffer gets one each time it is filled, so that a handle that was deferred before
/// the last playback is not taken for a later one.
fn fresh_tag() -> u32 {
    (TAGS.next() & TAG_MASK) as u32
}

/// The target of a command that has none. No buffer defers this handle (see [`Deferred::next`]).
pub(super) const NO_ENTITY: Entity = match Entity::from_bits(u64::MAX) {
    Some(entity) => entity,
    None => unreachable!(),
};

/// The entities that a buffer will spawn.
#[derive(Debug, Default)]
pub(crate) struct Deferred {
    /// Usually one; those of appended buffers are added.
    tags: Vec<Tag>,
    /// The number of entities that the buffer will spawn.
    count: usize,
    /// The real entities, during playback.
    spawned: Vec<Entity>,
}

/// The deferred handles with one tag, numbered from zero.
#[derive(Debug)]
struct Tag {
    tag: u32,
    /// The index of the first of them in `spawned`.
    first: usize,
    count: u32,
    /// Whether handles can be added, which is not so for an appended buffer's.
    is_own: bool,
}

impl Deferred {
    /// Returns the handle of one more entity.
    ///
    /// Panics if the tag has 2^32 - 1 handles already.
    pub(super) fn next(&mut self) -> Entity {
        if !self.tags.last().is_some_and(|last| last.is_own) {
            self.tags.push(Tag { tag: fresh_tag(), first: self.count, count: 0, is_own: true });
        }
        let last = self.tags.last_mut().expect("there is one now");
        let entity = Entity::deferred(last.tag, last.count);
        // The largest index is never given out: it is that of `NO_ENTITY`.
        last.count = last.count.checked_add(1).expect("fewer than 2^32 entities");
        self.count += 1;
        entity
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the index of the entity that this handle stands for.
    fn index_of(&self, entity: Entity) -> Option<usize> {
        let tag = entity.deferred_tag()?;
        let found = self.tags.iter().find(|found| found.tag == tag)?;
        // An index that was never given out was made from bits.
        (entity.index() < found.count).then(|| found.first + entity.index() as usize)
    }

    /// Makes room for the real entities.
    pub(super) fn begin_playback(&mut self) {
        self.spawned.clear();
        // Placeholders, which `set_entity` overwrites: each deferred handle has one spawn.
        self.spawned.resize(self.count, Entity::deferred(0, 0));
    }

    /// Records the real entity of a deferred handle of this buffer.
    pub(super) fn set_entity(&mut self, deferred: Entity, entity: Entity) {
        if let Some(index) = self.index_of(deferred) {
            self.spawned[index] = entity;
        }
    }

    /// Returns the entity that a handle stands for: itself, unless this buffer deferred it.
    #[inline]
    pub(crate) fn resolve(&self, entity: Entity) -> Entity {
        if entity.is_deferred() { self.look_up(entity) } else { entity }
    }

    fn look_up(&self, entity: Entity) -> Entity {
        self.index_of(entity).and_then(|index| self.spawned.get(index)).copied().unwrap_or(entity)
    }

    /// Returns the real entities.
    pub(super) fn spawned(&self) -> &[Entity] {
        &self.spawned
    }

    /// Takes over the entities of another buffer: their handles belong to this one from now on. If memory
    /// cannot be allocated, nothing has changed.
    pub(super) fn append(&mut self, other: &mut Self) {
        self.tags.reserve(other.tags.len());
        for tag in other.tags.drain(..) {
            self.tags.push(Tag { first: self.count + tag.first, is_own: false, ..tag });
        }
        self.count += core::mem::take(&mut other.count);
    }

    /// Forgets all entities. Handles that were given out are foreign from now on.
    pub(super) fn clear(&mut self) {
        self.tags.clear();
        self.spawned.clear();
        self.count = 0;
    }
}
