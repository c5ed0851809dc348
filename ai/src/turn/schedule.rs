//! The turn order: by time, and at equal times in the order of scheduling.

use bytemuck::{Pod, Zeroable};
use std::collections::BTreeMap;

use formic_ecs::{Entity, HashState, StateHasher};

/// A place in a [`TurnSchedule`], valid for one turn: no other ticket of the schedule is ever equal to
/// it, whatever is undone. If undoing brings its turn back, it is valid again.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Pod,
    Zeroable,
    serde::Serialize,
    serde::Deserialize,
    HashState,
)]
#[repr(C)]
pub struct Ticket {
    time: u64,
    /// Decides among turns at the same time. Undoing restores it, so that the same decisions lead to the
    /// same state.
    sequence: u64,
    /// Never restored. It makes tickets distinct, and never decides the order.
    stamp: u64,
}

impl Ticket {
    /// The time of the turn, in the units of
    /// [`TurnActionKind::duration`](super::TurnActionKind::duration).
    #[must_use]
    pub const fn time(self) -> u64 {
        self.time
    }
}

/// The scheduled turns, ordered by time; at equal times in the order of scheduling.
///
/// ```
/// use formic_ai::turn::TurnSchedule;
/// # let mut world = formic_ecs::World::new();
/// let (imp, rat, cat) = (world.spawn(()), world.spawn(()), world.spawn(()));
/// let mut schedule = TurnSchedule::new();
/// let cancelled = schedule.insert(imp, 10);
/// schedule.insert(rat, 20);
/// schedule.insert(cat, 10);
/// assert_eq!(schedule.cancel(cancelled), Some(imp));
/// assert_eq!(schedule.cancel(cancelled), None, "a ticket is good for one turn");
/// assert!(schedule.iter().map(|(_, entity)| entity).eq([cat, rat]));
/// ```
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct TurnSchedule {
    turns: BTreeMap<Ticket, Entity>,
    pub(super) sequence: u64,
    stamp: u64,
}

impl TurnSchedule {
    /// Creates a schedule without turns.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Schedules a turn. The ticket is for [`cancel`](Self::cancel).
    pub fn insert(&mut self, entity: Entity, time: u64) -> Ticket {
        let ticket = Ticket { time, sequence: self.sequence, stamp: self.stamp };
        // They only wrap if a save was tampered with.
        self.sequence = self.sequence.wrapping_add(1);
        self.stamp = self.stamp.wrapping_add(1);
        self.restore(ticket, entity);
        ticket
    }

    /// Cancels a turn, and returns its entity; `None` if there is no such turn any more.
    pub fn cancel(&mut self, ticket: Ticket) -> Option<Entity> {
        self.turns.remove(&ticket)
    }

    /// Restores a cancelled turn.
    pub(super) fn restore(&mut self, ticket: Ticket, entity: Entity) {
        self.turns.insert(ticket, entity);
    }

    /// The next turn, and its entity.
    #[must_use]
    pub fn first(&self) -> Option<(Ticket, Entity)> {
        self.turns.first_key_value().map(|(&ticket, &entity)| (ticket, entity))
    }

    /// All turns in order.
    pub fn iter(&self) -> impl Iterator<Item = (Ticket, Entity)> + '_ {
        self.turns.iter().map(|(&ticket, &entity)| (ticket, entity))
    }

    /// The turns of one entity in order. It visits all turns: few games have many thousands, and a list
    /// per entity would make every turn more expensive.
    pub fn tickets_of(&self, entity: Entity) -> impl Iterator<Item = Ticket> + '_ {
        self.iter().filter(move |&(_, whose)| whose == entity).map(|(ticket, _)| ticket)
    }

    /// The number of turns.
    #[must_use]
    pub fn len(&self) -> usize {
        self.turns.len()
    }

    /// Whether no actor has a turn.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    pub(super) fn hash(&self, hasher: &mut StateHasher) {
        hasher.write_u64(self.sequence);
        hasher.write_u64(self.turns.len() as u64);
        for (ticket, entity) in &self.turns {
            hasher.write_u64(ticket.time);
            hasher.write_u64(ticket.sequence);
            hasher.write_u64(entity.to_bits());
        }
    }
}
