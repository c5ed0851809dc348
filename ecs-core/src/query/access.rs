//! The access of a query, and the run-time check that no other user conflicts with it.

use alloc::vec::Vec;

use crate::archetype::Archetype;
use crate::component::{ComponentId, Registry};
use crate::error::AccessConflict;
use crate::name::Name;
use crate::sync::{Ordering, ProtocolU32, ProtocolU64};

/// The components that a user reads and writes, separately for their values, their enabled bits and their
/// versions.
///
/// Bits and versions are atomics, so conflicting uses of them are no data race. But the result depends on
/// which user comes first, so a schedule orders them.
///
/// ```
/// use formic_ecs::prelude::*;
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// let mut world = World::new();
/// let (reader, writer) = (world.plan::<&Gold>(), world.plan::<&mut Gold>());
/// let gold = world.register::<Gold>();
/// assert_eq!(reader.access().reads(), [gold]);
/// assert_eq!(writer.access().writes(), [gold]);
/// assert_eq!(reader.access().conflicts(writer.access()), [gold]);
/// let mut both = reader.access().clone();
/// both.merge(writer.access());
/// assert_eq!(both.value_conflicts(reader.access()), [gold]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// The components by how they are used.
    uses: [Vec<ComponentId>; Use::Name as usize + 1],
    /// A component whose values were asked for twice, once of them for writing.
    clash: Option<ComponentId>,
    has_claimants: bool,
    /// Whether the rows of the part that is being added are visited regardless of enabled bits.
    is_without_narrowing: bool,
}

/// The ways to use a component: its values, its enabled bits, its versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Read,
    /// Writes the values. Such a user also stamps the versions.
    Write,
    BitRead,
    BitWrite,
    VersionRead,
    /// Names the component in any other way.
    Name,
}

use Use::{BitRead, BitWrite, Name as Named, Read, VersionRead, Write};

/// The uses that count as naming a component.
const NAMING: &[Use] = &[Read, Write, BitRead, BitWrite, Named];

/// For each use: the declared uses of which one is needed for it, and the verb for messages.
const NEEDS: [(Use, &[Use], &str); 5] = [
    (Write, &[Write], "writes"),
    (Read, &[Read, Write], "reads"),
    (BitWrite, &[BitWrite], "switches"),
    (BitRead, &[BitRead, BitWrite], "asks whether there is an enabled"),
    (VersionRead, &[VersionRead], "asks for changes of"),
];

/// The pairs of uses of two users that must never happen at the same time.
const VALUE_CONFLICTS: [(Use, Use); 3] = [(Write, Write), (Write, Read), (Read, Write)];

/// The pairs of uses that must happen in an order.
const ORDER_CONFLICTS: [(Use, Use); 5] = [
    (BitWrite, BitWrite),
    (BitWrite, BitRead),
    (BitRead, BitWrite),
    (Write, VersionRead),
    (VersionRead, Write),
];

fn add(list: &mut Vec<ComponentId>, id: ComponentId) {
    if id != ComponentId::UNKNOWN && !list.contains(&id) {
        list.push(id);
    }
}

impl Access {
    /// Adds a use. Values that are used twice, once of them for writing, clash.
    pub(crate) fn add(&mut self, how: Use, id: ComponentId) {
        let clashing: &[Use] = match how {
            Read => &[Write],
            Write => &[Read, Write],
            _ => &[],
        };
        if self.has_any(clashing, id) {
            self.clash = Some(id);
        }
        add(&mut self.uses[how as usize], id);
    }

    /// Records that the enabled bits of a component decide which rows are visited.
    pub(crate) fn add_narrowing(&mut self, id: ComponentId) {
        if !self.is_without_narrowing {
            self.add(BitRead, id);
        }
    }

    /// Adds a part of the query whose rows are visited regardless of enabled bits. Bits that it hands out
    /// as data still count as uses.
    pub(crate) fn without_narrowing<S>(&mut self, part: impl FnOnce(&mut Self) -> S) -> S {
        let outer = core::mem::replace(&mut self.is_without_narrowing, true);
        let state = part(self);
        self.is_without_narrowing = outer;
        state
    }

    pub(crate) fn add_claimants(&mut self) {
        self.has_claimants = true;
    }

    /// Returns whether rows are handed out as [`Claimant`](crate::Claimant)s, which only one user does at
    /// a time.
    #[must_use]
    pub const fn has_claimants(&self) -> bool {
        self.has_claimants
    }

    fn of(&self, how: Use) -> &[ComponentId] {
        &self.uses[how as usize]
    }

    fn has_any(&self, uses: &[Use], id: ComponentId) -> bool {
        uses.iter().any(|&how| self.of(how).contains(&id))
    }

    /// Whether a query with this access skips this archetype, because it does not name a component that
    /// hides it.
    pub(crate) fn skips(&self, archetype: &Archetype) -> bool {
        archetype.hidden_by.iter().any(|&id| !self.has_any(NAMING, id))
    }

    /// Returns the component that one query or view asks for twice, once of them for writing. Such a
    /// query is refused.
    #[must_use]
    pub const fn clash(&self) -> Option<ComponentId> {
        self.clash
    }

    /// Returns the components whose values are read.
    #[must_use]
    pub fn reads(&self) -> &[ComponentId] {
        self.of(Read)
    }

    /// Returns the components whose values are written.
    #[must_use]
    pub fn writes(&self) -> &[ComponentId] {
        self.of(Write)
    }

    /// Returns whether nothing is written, neither values nor bits.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.of(Write).is_empty() && self.of(BitWrite).is_empty()
    }

    /// Returns the first component that `part` uses in a way that this access does not cover, with the
    /// verb for that use.
    pub(crate) fn first_uncovered(&self, part: &Self) -> Option<(ComponentId, &'static str)> {
        NEEDS.iter().find_map(|&(how, needed, does)| {
            let uncovered = part.of(how).iter().find(|&&id| !self.has_any(needed, id));
            uncovered.map(|&id| (id, does))
        })
    }

    /// Adds the uses of another access.
    pub fn merge(&mut self, other: &Self) {
        for how in [Read, Write, BitRead, BitWrite, VersionRead] {
            other.of(how).iter().for_each(|&id| add(&mut self.uses[how as usize], id));
        }
        self.clash = self.clash.or(other.clash);
        self.has_claimants |= other.has_claimants;
    }

    /// Returns the components that keep this and another access from running at the same time: one writes
    /// the values or the bits that the other uses, or stamps the versions that it reads.
    #[must_use]
    pub fn conflicts(&self, other: &Self) -> Vec<ComponentId> {
        let mut found = self.value_conflicts(other);
        self.overlap(other, &ORDER_CONFLICTS, &mut found);
        found
    }

    /// Returns the components whose values one side writes and the other uses. Such uses must never
    /// happen at the same time; other conflicts only have to be ordered.
    #[must_use]
    pub fn value_conflicts(&self, other: &Self) -> Vec<ComponentId> {
        let mut found = Vec::new();
        self.overlap(other, &VALUE_CONFLICTS, &mut found);
        found
    }

    fn overlap(&self, other: &Self, pairs: &[(Use, Use)], found: &mut Vec<ComponentId>) {
        for &(mine, theirs) in pairs {
            let both = self.of(mine).iter().filter(|id| other.of(theirs).contains(id));
            both.for_each(|&id| add(found, id));
        }
    }
}

/// The users of the values of each component of a world at the moment.
///
/// A word is the number of readers, or [`WRITER`]. Taking it acquires and leaving it releases, so the
/// next user sees all that was written (the models are in `loom_models`). If no user of the cell writes
/// the component, the word is [`READ_ONLY`] for the life of the cell, and readers do not change it.
#[derive(Debug, Default)]
pub(crate) struct Borrows {
    words: Vec<ProtocolU64>,
    /// One for each version slot of the cell.
    claim_loops: Vec<ClaimLoops>,
}

/// The loops of one user of a cell that hand out [`Claimant`](crate::Claimant)s. Only one runs at a time,
/// so no row has two claimants on different threads.
#[derive(Debug, Default)]
pub(crate) struct ClaimLoops {
    /// [`WRITER`] while a loop runs.
    word: ProtocolU64,
    begun: ProtocolU32,
}

impl ClaimLoops {
    fn begin(&self) -> bool {
        let is_free = take_write(&self.word);
        if is_free {
            // Relaxed: threads that get rows from the loop are ordered after this by the way they get
            // them.
            self.begun.fetch_add(1, Ordering::Relaxed);
        }
        is_free
    }

    /// Returns the number of loops that have begun.
    #[inline]
    pub(crate) fn begun(&self) -> u32 {
        self.begun.load(Ordering::Relaxed)
    }
}

const WRITER: u64 = u64::MAX;
const READ_ONLY: u64 = u64::MAX - 1;

/// Returns a word without users, for values that may be written or are only read.
pub(crate) fn unused_word(is_written: bool) -> ProtocolU64 {
    ProtocolU64::new(if is_written { 0 } else { READ_ONLY })
}

impl Borrows {
    /// Adds words until there is one for each of this many components and version slots.
    pub(crate) fn grow(&mut self, component_count: usize, slot_count: usize) {
        while self.words.len() < component_count {
            self.words.push(ProtocolU64::new(0));
        }
        if self.claim_loops.len() < slot_count {
            self.claim_loops.resize_with(slot_count, ClaimLoops::default);
        }
    }

    /// Resets all words. No user is left; only leaked guards may still exist. The next users write no
    /// more than `declared` does, or anything if it is `None`.
    pub(crate) fn reset(&mut self, declared: Option<&Access>) {
        let is_written = declared.is_none();
        self.words.iter_mut().for_each(|word| *word = unused_word(is_written));
        if let Some(declared) = declared {
            self.set_written(declared, true);
        }
        self.claim_loops.iter_mut().for_each(|loops| *loops = ClaimLoops::default());
    }

    /// Sets whether the next users write what `access` writes, or only read it. No user is left.
    #[inline]
    pub(crate) fn set_written(&mut self, access: &Access, is_written: bool) {
        access.writes().iter().for_each(|id| self.words[id.index()] = unused_word(is_written));
    }

    /// Returns the loops of one version slot.
    pub(crate) fn claim_loops(&self, slot: usize) -> &ClaimLoops {
        &self.claim_loops[slot]
    }

    /// Takes all that `access` asks for, in this version slot, or nothing.
    pub(crate) fn take<'w>(
        &'w self,
        access: &'w Access,
        slot: usize,
        registry: &Registry,
    ) -> Result<BorrowGuard<'w>, AccessConflict> {
        let (writes, reads) = (access.writes(), access.reads());
        // The loop index counts what was taken. A count in the guard would be written in parts and read
        // as a whole when the guard is returned, and the processor would stall on that.
        for (place, &id) in writes.iter().enumerate() {
            if !take_write(&self.words[id.index()]) {
                self.leave(&writes[..place], &[]);
                return Err(conflict(id, true, registry));
            }
        }
        for (place, &id) in reads.iter().enumerate() {
            if !take_read(&self.words[id.index()]) {
                self.leave(writes, &reads[..place]);
                return Err(conflict(id, false, registry));
            }
        }
        let claim_loops = access.has_claimants.then(|| &self.claim_loops[slot]);
        if claim_loops.is_some_and(|loops| !loops.begin()) {
            self.leave(writes, reads);
            return Err(AccessConflict { name: Name::from("Claimant"), wanted_write: true });
        }
        Ok(BorrowGuard { borrows: self, access, claim_loops })
    }

    fn leave(&self, writes: &[ComponentId], reads: &[ComponentId]) {
        writes.iter().for_each(|id| leave_write(&self.words[id.index()]));
        reads.iter().for_each(|id| leave_read(&self.words[id.index()]));
    }
}

#[cold]
fn conflict(id: ComponentId, wanted_write: bool, registry: &Registry) -> AccessConflict {
    AccessConflict { name: registry.info(id).name().clone(), wanted_write }
}

pub(crate) fn take_write(word: &ProtocolU64) -> bool {
    word.compare_exchange(0, WRITER, Ordering::Acquire, Ordering::Relaxed).is_ok()
}

pub(crate) fn take_read(word: &ProtocolU64) -> bool {
    let mut readers = word.load(Ordering::Relaxed);
    if readers == READ_ONLY {
        return true;
    }
    while readers < READ_ONLY - 1 {
        match word.compare_exchange_weak(readers, readers + 1, Ordering::Acquire, Ordering::Relaxed)
        {
            Ok(_) => return true,
            Err(now) => readers = now,
        }
    }
    false
}

pub(crate) fn leave_write(word: &ProtocolU64) {
    word.store(0, Ordering::Release);
}

pub(crate) fn leave_read(word: &ProtocolU64) {
    // Relaxed: a word has this value for the whole life of a cell, or never.
    if word.load(Ordering::Relaxed) != READ_ONLY {
        word.fetch_sub(1, Ordering::Release);
    }
}

/// A guard for the right to use the values of some components, until it is dropped (I-10).
#[derive(Debug)]
pub(crate) struct BorrowGuard<'w> {
    borrows: &'w Borrows,
    access: &'w Access,
    claim_loops: Option<&'w ClaimLoops>,
}

impl Drop for BorrowGuard<'_> {
    fn drop(&mut self) {
        self.borrows.leave(self.access.writes(), self.access.reads());
        if let Some(loops) = self.claim_loops {
            leave_write(&loops.word);
        }
    }
}
