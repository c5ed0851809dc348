//! The deferred entities of a buffer: handles now, entities at playback.

use alloc::vec::Vec;

use crate::entity::Entity;
use crate::error::CommandFailureReason;
use crate::sync::Serial;

/// What became of a command.
pub(crate) type Outcome = Result<(), CommandFailureReason>;

static TAGS: Serial = Serial::starting_at(0);
/// Tags have 30 bits; two buffers that share one after a billion others cannot meet in practice.
const TAG_MASK: u64 = (1 << 30) - 1;

/// Each filling of a buffer has a tag of its own: a handle that was deferred before the last
/// playback must not be taken for one after it.
fn fresh_tag() -> u32 {
    (TAGS.next() & TAG_MASK) as u32
}

/// Stands where a command is about no entity: no buffer defers it, see [`Deferred::next`].
pub(super) const NO_ENTITY: Entity = match Entity::from_bits(u64::MAX) {
    Some(entity) => entity,
    None => unreachable!(),
};

/// The entities that a buffer will spawn.
#[derive(Debug, Default)]
pub(crate) struct Deferred {
    /// One as a rule; those of appended buffers behind it.
    tags: Vec<Tag>,
    /// How many entities the buffer will spawn.
    count: usize,
    /// What they are, during playback.
    spawned: Vec<Entity>,
}

/// The deferred handles of one tag, which are numbered from zero.
#[derive(Debug)]
struct Tag {
    tag: u32,
    /// The place of the first of them in `spawned`.
    first: usize,
    count: u32,
    /// Whether more can come: not to those of an appended buffer.
    is_own: bool,
}

impl Deferred {
    /// The handle of one more entity.
    ///
    /// Panics where there are 2^32 already.
    pub(super) fn next(&mut self) -> Entity {
        if !self.tags.last().is_some_and(|last| last.is_own) {
            self.tags.push(Tag { tag: fresh_tag(), first: self.count, count: 0, is_own: true });
        }
        let last = self.tags.last_mut().expect("there is one now");
        let entity = Entity::deferred(last.tag, last.count);
        // The largest index is never given: it is that of `NO_ENTITY`.
        last.count = last.count.checked_add(1).expect("fewer than 2^32 entities");
        self.count += 1;
        entity
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Which of the entities this handle stands for.
    fn index_of(&self, entity: Entity) -> Option<usize> {
        let tag = entity.deferred_tag()?;
        let found = self.tags.iter().find(|found| found.tag == tag)?;
        // An index that we never gave was made up of bits.
        (entity.index() < found.count).then(|| found.first + entity.index() as usize)
    }

    /// Makes room for what the entities are.
    pub(super) fn begin_playback(&mut self) {
        self.spawned.clear();
        // A place for each, overwritten by `enter`: each deferred handle has one spawn.
        self.spawned.resize(self.count, Entity::deferred(0, 0));
    }

    /// Writes down what a deferred entity of this buffer is.
    pub(super) fn enter(&mut self, deferred: Entity, entity: Entity) {
        if let Some(index) = self.index_of(deferred) {
            self.spawned[index] = entity;
        }
    }

    /// What a handle stands for: itself, unless this buffer deferred it.
    #[inline]
    pub(crate) fn resolve(&self, entity: Entity) -> Entity {
        if entity.is_deferred() { self.look_up(entity) } else { entity }
    }

    fn look_up(&self, entity: Entity) -> Entity {
        self.index_of(entity).and_then(|index| self.spawned.get(index)).copied().unwrap_or(entity)
    }

    /// What the entities are.
    pub(super) fn spawned(&self) -> &[Entity] {
        &self.spawned
    }

    /// Takes the entities of another buffer over: their handles are this one's from now on.
    /// Where there is no memory, nothing has changed.
    pub(super) fn append(&mut self, other: &mut Self) {
        self.tags.reserve(other.tags.len());
        for tag in other.tags.drain(..) {
            self.tags.push(Tag { first: self.count + tag.first, is_own: false, ..tag });
        }
        self.count += core::mem::take(&mut other.count);
    }

    /// Forgets all; handles that were given are foreign from now on.
    pub(super) fn clear(&mut self) {
        self.tags.clear();
        self.spawned.clear();
        self.count = 0;
    }
}
