//! The access of a query, and the run-time check that no other user contradicts it.

use alloc::vec::Vec;

use crate::archetype::Archetype;
use crate::component::{ComponentId, Registry};
use crate::error::AccessConflict;
use crate::name::Name;
use crate::sync::{Ordering, ProtocolU32, ProtocolU64};

/// The components that something reads and writes, their values, their enabled bits and their
/// versions apart.
///
/// Bits and versions are atomics, so two that disagree about them are no data race; but the result
/// depends on who comes first, which is why a schedule orders them.
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
    reads: Vec<ComponentId>,
    writes: Vec<ComponentId>,
    bit_reads: Vec<ComponentId>,
    bit_writes: Vec<ComponentId>,
    version_reads: Vec<ComponentId>,
    /// What was named otherwise.
    names: Vec<ComponentId>,
    /// A component whose values were asked for twice, once of them to write.
    clash: Option<ComponentId>,
    has_claimants: bool,
}

/// What a filter on an enabled bit does, in a message.
const ASKS_BIT: &str = "asks whether there is an enabled";

fn add(list: &mut Vec<ComponentId>, id: ComponentId) {
    if id != ComponentId::UNKNOWN && !list.contains(&id) {
        list.push(id);
    }
}

impl Access {
    pub(crate) fn add_read(&mut self, id: ComponentId) {
        if self.writes.contains(&id) {
            self.clash = Some(id);
        }
        add(&mut self.reads, id);
    }

    pub(crate) fn add_write(&mut self, id: ComponentId) {
        if self.writes.contains(&id) || self.reads.contains(&id) {
            self.clash = Some(id);
        }
        add(&mut self.writes, id);
    }

    pub(crate) fn add_bit_read(&mut self, id: ComponentId) {
        add(&mut self.bit_reads, id);
    }

    pub(crate) fn add_bit_write(&mut self, id: ComponentId) {
        add(&mut self.bit_writes, id);
    }

    /// Who writes the values of a component stamps its versions.
    pub(crate) fn add_version_read(&mut self, id: ComponentId) {
        add(&mut self.version_reads, id);
    }

    /// Takes in what another part of the same query does, but for the bits that it reads.
    pub(crate) fn add_without_bit_reads(&mut self, part: &Self) {
        part.reads.iter().for_each(|&id| self.add_read(id));
        part.writes.iter().for_each(|&id| self.add_write(id));
        part.bit_writes.iter().for_each(|&id| self.add_bit_write(id));
        part.version_reads.iter().for_each(|&id| self.add_version_read(id));
        part.names.iter().for_each(|&id| self.add_name(id));
        self.clash = self.clash.or(part.clash);
        self.has_claimants |= part.has_claimants;
    }

    pub(crate) fn add_claimants(&mut self) {
        self.has_claimants = true;
    }

    /// Whether rows are handed out as [`Claimant`](crate::Claimant)s, which one user does at a time.
    #[must_use]
    pub const fn has_claimants(&self) -> bool {
        self.has_claimants
    }

    pub(crate) fn add_name(&mut self, id: ComponentId) {
        add(&mut self.names, id);
    }

    /// Whether a term was about this component.
    pub(crate) fn names(&self, id: ComponentId) -> bool {
        [&self.reads, &self.writes, &self.bit_reads, &self.bit_writes, &self.names]
            .iter()
            .any(|list| list.contains(&id))
    }

    /// Whether a query with this access does not come by this archetype.
    pub(crate) fn leaves_out(&self, archetype: &Archetype) -> bool {
        archetype.hidden_by.iter().any(|&id| !self.names(id))
    }

    /// The component that one query or view asks for twice, once of them to write: it is refused.
    #[must_use]
    pub const fn clash(&self) -> Option<ComponentId> {
        self.clash
    }

    /// The components whose values are read.
    #[must_use]
    pub fn reads(&self) -> &[ComponentId] {
        &self.reads
    }

    /// The components whose values are written.
    #[must_use]
    pub fn writes(&self) -> &[ComponentId] {
        &self.writes
    }

    /// Whether nothing is written, neither values nor bits.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.writes.is_empty() && self.bit_writes.is_empty()
    }

    /// The first component with which `part` does something that this access does not, and what.
    pub(crate) fn lacking(&self, part: &Self) -> Option<(ComponentId, &'static str)> {
        fn first(ids: &[ComponentId], may: impl Fn(&ComponentId) -> bool) -> Option<ComponentId> {
            ids.iter().copied().find(|id| !may(id))
        }
        let may_read = |id: &_| self.reads.contains(id) || self.writes.contains(id);
        let write = first(&part.writes, |id| self.writes.contains(id)).map(|id| (id, "writes"));
        let read = || first(&part.reads, may_read).map(|id| (id, "reads"));
        let may_switch = |id: &_| self.bit_writes.contains(id);
        let switch = || first(&part.bit_writes, may_switch).map(|id| (id, "switches"));
        let look = || first(&part.bit_reads, |&id| self.names(id)).map(|id| (id, ASKS_BIT));
        let may_follow = |id: &_| self.version_reads.contains(id);
        let follow =
            || first(&part.version_reads, may_follow).map(|id| (id, "asks for changes of"));
        write.or_else(read).or_else(switch).or_else(look).or_else(follow)
    }

    /// Takes in what another access does.
    pub fn merge(&mut self, other: &Self) {
        other.reads.iter().for_each(|&id| add(&mut self.reads, id));
        other.writes.iter().for_each(|&id| add(&mut self.writes, id));
        other.bit_reads.iter().for_each(|&id| add(&mut self.bit_reads, id));
        other.bit_writes.iter().for_each(|&id| add(&mut self.bit_writes, id));
        other.version_reads.iter().for_each(|&id| add(&mut self.version_reads, id));
        self.clash = self.clash.or(other.clash);
        self.has_claimants |= other.has_claimants;
    }

    /// The components over which this and another access cannot go on at the same time: one
    /// writes the values or the bits that the other uses, or stamps the versions that it reads.
    #[must_use]
    pub fn conflicts(&self, other: &Self) -> Vec<ComponentId> {
        let mut found = self.value_conflicts(other);
        let bits = overlap(&self.bit_writes, &other.bit_writes)
            .chain(overlap(&self.bit_writes, &other.bit_reads))
            .chain(overlap(&self.bit_reads, &other.bit_writes));
        bits.for_each(|id| add(&mut found, id));
        overlap(&self.writes, &other.version_reads)
            .chain(overlap(&self.version_reads, &other.writes))
            .for_each(|id| add(&mut found, id));
        found
    }

    /// The components of which one side writes the values that the other uses: what must never
    /// happen at the same time, as opposed to what must happen in an order.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component)] struct Gold(u32);
    /// let mut world = World::new();
    /// let (writer, reader) = (world.plan::<&mut Gold>(), world.plan::<&Gold>());
    /// let asking = world.plan_filtered::<(), Changed<Gold>>();
    /// let conflicts = writer.access().value_conflicts(reader.access());
    /// assert_eq!(conflicts, [world.register::<Gold>()]);
    /// assert!(writer.access().value_conflicts(asking.access()).is_empty(), "it uses no values");
    /// ```
    #[must_use]
    pub fn value_conflicts(&self, other: &Self) -> Vec<ComponentId> {
        let mut found = Vec::new();
        overlap(&self.writes, &other.writes)
            .chain(overlap(&self.writes, &other.reads))
            .chain(overlap(&self.reads, &other.writes))
            .for_each(|id| add(&mut found, id));
        found
    }
}

fn overlap<'a>(
    a: &'a [ComponentId],
    b: &'a [ComponentId],
) -> impl Iterator<Item = ComponentId> + 'a {
    a.iter().copied().filter(|id| b.contains(id))
}

/// For each component of a world, who uses its values at this moment.
///
/// A word is the number of readers, or [`WRITER`]. Taking it acquires and leaving it releases, so
/// that the next user sees all that was written (the models are in `loom_models`). Where no user of
/// the cell writes, it is [`READ_ONLY`] for as long as there is the cell, and readers leave it alone.
#[derive(Debug, Default)]
pub(crate) struct Borrows {
    words: Vec<ProtocolU64>,
    /// For each turn of the cell.
    claim_loops: Vec<ClaimLoops>,
}

/// The loops of one user of a cell that hand out [`Claimant`](crate::Claimant)s: one at a time, so
/// that no row has two claimants on different threads.
#[derive(Debug, Default)]
pub(crate) struct ClaimLoops {
    /// [`WRITER`] while there is one.
    word: ProtocolU64,
    begun: ProtocolU32,
}

impl ClaimLoops {
    fn begin(&self) -> bool {
        let is_free = take_write(&self.word);
        if is_free {
            // Relaxed: threads that the loop hands rows to see it by way of how they get them.
            self.begun.fetch_add(1, Ordering::Relaxed);
        }
        is_free
    }

    /// How many have begun.
    #[inline]
    pub(crate) fn begun(&self) -> u32 {
        self.begun.load(Ordering::Relaxed)
    }
}

const WRITER: u64 = u64::MAX;
const READ_ONLY: u64 = u64::MAX - 1;

/// A word that no user holds, of what may be written or is read only.
pub(crate) fn unused_word(is_written: bool) -> ProtocolU64 {
    ProtocolU64::new(if is_written { 0 } else { READ_ONLY })
}

impl Borrows {
    /// Makes words for components up to this number of them, and for this many turns.
    pub(crate) fn grow(&mut self, component_count: usize, turn_count: usize) {
        while self.words.len() < component_count {
            self.words.push(ProtocolU64::new(0));
        }
        if self.claim_loops.len() < turn_count {
            self.claim_loops.resize_with(turn_count, ClaimLoops::default);
        }
    }

    /// Forgets who used what: no user is left, a guard that was leaked is all there can be. The next
    /// users write no more than `declared` does, or anything.
    pub(crate) fn reset(&mut self, declared: Option<&Access>) {
        let is_written = declared.is_none();
        self.words.iter_mut().for_each(|word| *word = unused_word(is_written));
        let written = declared.map_or(&[][..], Access::writes);
        written.iter().for_each(|id| self.words[id.index()] = unused_word(true));
        self.claim_loops.iter_mut().for_each(|loops| *loops = ClaimLoops::default());
    }

    /// The loops of one turn.
    pub(crate) fn claim_loops(&self, turn: usize) -> &ClaimLoops {
        &self.claim_loops[turn]
    }

    /// Takes all that `access` asks for, in this turn, or nothing.
    pub(crate) fn take<'w>(
        &'w self,
        access: &'w Access,
        turn: usize,
        registry: &Registry,
    ) -> Result<BorrowGuard<'w>, AccessConflict> {
        let Access { writes, reads, .. } = access;
        // What was taken is counted by place: a count in the guard would be written by parts and
        // read as a whole when it is returned, for which the processor waits.
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
        let claim_loops = access.has_claimants.then(|| &self.claim_loops[turn]);
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
    // Relaxed: a word is this for the whole life of a cell, or never.
    if word.load(Ordering::Relaxed) != READ_ONLY {
        word.fetch_sub(1, Ordering::Release);
    }
}

/// The right to use the values of some components, until it is dropped (I-10).
#[derive(Debug)]
pub(crate) struct BorrowGuard<'w> {
    borrows: &'w Borrows,
    access: &'w Access,
    claim_loops: Option<&'w ClaimLoops>,
}

impl Drop for BorrowGuard<'_> {
    fn drop(&mut self) {
        self.borrows.leave(&self.access.writes, &self.access.reads);
        if let Some(loops) = self.claim_loops {
            leave_write(&loops.word);
        }
    }
}
