//! Saved turns, stored beside a snapshot of their world.

use std::collections::VecDeque;

use formic_ecs::{Codec, Entity, World};

use super::draft::TurnActionKind;
use super::error::TurnsSaveError;
use super::journal::SavedJournal;
use super::log::{LoggedTurn, TurnLog};
use super::schedule::TurnSchedule;
use super::turns::{Record, Turns, vacant_in};

/// Turns in their saved form. The decisions of the log are bytes of their codec.
#[derive(serde::Serialize, serde::Deserialize)]
struct SavedTurns {
    clock: u64,
    vacant_next: u64,
    schedule: TurnSchedule,
    pending_despawns: VecDeque<(u64, Entity)>,
    journal: SavedJournal,
    records: VecDeque<Record>,
    log: Vec<LoggedTurn<Vec<u8>>>,
}

// Not generic, so that programs do not compile it again.
impl SavedTurns {
    fn to_bytes(&self) -> Result<Vec<u8>, TurnsSaveError> {
        let mut bytes = Vec::new();
        let written = Codec::serde().write(self, &mut bytes);
        written.map(|()| bytes).map_err(|_| TurnsSaveError::Malformed)
    }

    fn from_bytes(mut bytes: &[u8]) -> Result<Self, TurnsSaveError> {
        let saved = Codec::serde().read(&mut bytes).ok().filter(|_| bytes.is_empty());
        saved.ok_or(TurnsSaveError::Malformed)
    }
}

impl<K: TurnActionKind> Turns<K> {
    /// Saves everything that lasts from one turn to the next, to be stored beside a
    /// [snapshot](World::snapshot) of the world: the schedule, the log, and what undoing needs. `kinds`
    /// writes the decisions in the log.
    ///
    /// ```
    /// use formic_ai::turn::{Draft, Refusal, TurnActionKind, Turns, unseen};
    /// use formic_ecs::{Codec, prelude::*};
    /// #[derive(Component, Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
    /// #[repr(C)]
    /// struct Gold(u32);
    /// #[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
    /// #[repr(C)]
    /// struct Earn { who: u64, gold: u32, unused: u32 }
    /// impl TurnActionKind for Earn {
    ///     type Cell = ();
    ///     fn bind(&self, draft: &mut Draft<()>) -> Result<(), Refusal> {
    ///         let who = Entity::from_bits(self.who).expect("the bits of a handle");
    ///         draft.insert(who, Gold(draft.get::<Gold>(who)?.0 + self.gold));
    ///         Ok(())
    ///     }
    /// }
    /// let build = |world: &mut World| Turns::<Earn>::builder().component::<Gold>().build(world);
    ///
    /// let mut world = World::new();
    /// let mut turns = build(&mut world)?;
    /// let imp = world.spawn(Gold(1));
    /// let earn = Earn { who: imp.to_bits(), gold: 10, unused: 0 };
    /// turns.act(&mut world, earn, unseen);
    /// let saved = (world.snapshot()?, turns.save(Codec::plain())?);
    ///
    /// let mut loaded = World::new();
    /// let mut turns = build(&mut loaded)?;
    /// loaded.restore(&saved.0)?;
    /// turns.load(&loaded, Codec::plain(), &saved.1)?;
    /// assert!(turns.undo(&mut loaded).is_some());
    /// assert_eq!(loaded.get::<Gold>(imp)?, &Gold(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`TurnsSaveError`] if a decision, or a value that undoing would restore, cannot be
    /// written.
    pub fn save(&self, kinds: Codec<K>) -> Result<Vec<u8>, TurnsSaveError> {
        let mut log = Vec::new();
        for &LoggedTurn { actor, ref kind, hash, broken_off } in &self.log.turns {
            let mut bytes = Vec::new();
            kinds.write(kind, &mut bytes).map_err(|_| TurnsSaveError::Decision)?;
            log.push(LoggedTurn { actor, kind: bytes, hash, broken_off });
        }
        SavedTurns {
            clock: self.clock,
            vacant_next: self.vacant_next,
            schedule: self.schedule.clone(),
            pending_despawns: self.pending_despawns.clone(),
            journal: self.journal.to_saved()?,
            records: self.records.clone(),
            log,
        }
        .to_bytes()
    }

    /// Loads what was [saved](Self::save) by turns that were built the same way. The world is the one
    /// that was saved with them, and has been restored already. The trace is empty.
    ///
    /// # Errors
    /// Returns [`TurnsSaveError`] if the bytes are not those of such turns. Nothing has changed then.
    pub fn load(
        &mut self,
        world: &World,
        kinds: Codec<K>,
        bytes: &[u8],
    ) -> Result<(), TurnsSaveError> {
        let saved = SavedTurns::from_bytes(bytes)?;
        let (journal, records) = (self.journal.loaded(saved.journal)?, saved.records);
        let mut log = TurnLog::default();
        for LoggedTurn { actor, kind, hash, broken_off } in saved.log {
            let mut kind = &kind[..];
            let read = kinds.read(&mut kind).ok().filter(|_| kind.is_empty());
            let kind = read.ok_or(TurnsSaveError::Decision)?;
            log.turns.push(LoggedTurn { actor, kind, hash, broken_off });
        }
        // Turns are undone from the last one back: each needs its place in the journal and in the log.
        let starts = || records.iter().map(|record| record.journal_start);
        let is_consistent = starts().is_sorted()
            && starts().next().is_none_or(|first| first >= journal.forgotten)
            && starts().next_back().is_none_or(|last| last <= journal.end())
            && records.len() <= log.turns.len();
        if !is_consistent {
            return Err(TurnsSaveError::Malformed);
        }
        self.abandon();
        self.trace.clear();
        (self.clock, self.vacant_next) = (saved.clock, saved.vacant_next);
        (self.schedule, self.pending_despawns) = (saved.schedule, saved.pending_despawns);
        (self.journal, self.records, self.log) = (journal, records, log);
        self.vacant = vacant_in(world).into_iter().map(|(_, entity)| entity).collect();
        self.cells.rebuild(world);
        Ok(())
    }
}
