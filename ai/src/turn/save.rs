//! Turns as bytes, beside the world that they belong to.

use std::collections::VecDeque;

use formic_ecs::{Codec, Entity, World};

use super::bytes::{Reader, put, put_counted};
use super::draft::TurnActionKind;
use super::error::TurnsSaveError;
use super::log::{LoggedTurn, TurnLog};
use super::schedule::TurnSchedule;
use super::turns::{Record, Turns, vacant_in};

const FORMAT: u64 = 1;
const NONE: u64 = 0;
const SOME: u64 = 1;

impl<K: TurnActionKind> Turns<K> {
    /// Everything that lasts from one turn to the next as bytes, to be kept beside a
    /// [snapshot](World::snapshot) of the world: whose turn it is when, the log, and what undoing
    /// brings back. `kinds` writes the decisions in the log.
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
    ///     fn bind(&self, draft: &mut Draft<'_, ()>) -> Result<(), Refusal> {
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
    /// turns.undo(&mut loaded)?;
    /// assert_eq!(loaded.get::<Gold>(imp)?, &Gold(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`TurnsSaveError`] if a value that undoing would bring back, or a decision, cannot be
    /// written.
    pub fn save(&self, kinds: Codec<K>) -> Result<Vec<u8>, TurnsSaveError> {
        let mut bytes = Vec::new();
        let out = &mut bytes;
        put(out, FORMAT);
        put(out, self.clock);
        put(out, self.vacant_next);
        self.schedule.write(out);
        put(out, self.graves.len() as u64);
        for &(until, entity) in &self.graves {
            put(out, until);
            put(out, entity.to_bits());
        }
        self.journal.write(out)?;
        put(out, self.records.len() as u64);
        for &Record { journal_start, clock, sequence } in &self.records {
            [journal_start, clock, sequence].into_iter().for_each(|number| put(out, number));
        }
        put(out, self.log.turns.len() as u64);
        for turn in &self.log.turns {
            put_maybe(out, turn.actor.map(|actor| actor.to_bits()));
            put_maybe(out, turn.hash);
            put_maybe(out, turn.broken_off.map(|steps| steps as u64));
            let mut kind = Vec::new();
            kinds.write(&turn.kind, &mut kind).map_err(|_| TurnsSaveError::Decision)?;
            put_counted(out, &kind);
        }
        Ok(bytes)
    }

    /// Goes on from what was [saved](Self::save) by turns that were built alike. The world is the one
    /// that was saved with them, and has been restored already. The trace is empty.
    ///
    /// # Errors
    /// Returns [`TurnsSaveError`] if the bytes are not what such turns have saved. Nothing has
    /// changed then.
    pub fn load(
        &mut self,
        world: &World,
        kinds: Codec<K>,
        bytes: &[u8],
    ) -> Result<(), TurnsSaveError> {
        const BAD: TurnsSaveError = TurnsSaveError::Malformed;
        let reader = &mut Reader(bytes);
        if reader.number() != Some(FORMAT) {
            return Err(BAD);
        }
        let clock = reader.number().ok_or(BAD)?;
        let vacant_next = reader.number().ok_or(BAD)?;
        let schedule = TurnSchedule::read(reader).ok_or(BAD)?;
        let graves = reader.list(|reader| Some((reader.number()?, reader.entity()?)));
        let graves: VecDeque<_> = graves.ok_or(BAD)?.into();
        let journal = self.journal.read(reader)?;
        let records = reader.list(|reader| {
            let mut number = || reader.number();
            Some(Record { journal_start: number()?, clock: number()?, sequence: number()? })
        });
        let records: VecDeque<Record> = records.ok_or(BAD)?.into();
        let turns = reader.list(|reader| {
            let actor = match maybe(reader)? {
                None => None,
                Some(bits) => Some(Entity::from_bits(bits)?),
            };
            let (hash, broken_off) = (maybe(reader)?, maybe(reader)?);
            let broken_off = broken_off.map(usize::try_from).transpose().ok()?;
            Some((actor, hash, broken_off, reader.counted()?))
        });
        let mut log = TurnLog::default();
        for (actor, hash, broken_off, mut kind) in turns.ok_or(BAD)? {
            let read = kinds.read(&mut kind).ok().filter(|_| kind.is_empty());
            let kind = read.ok_or(TurnsSaveError::Decision)?;
            log.turns.push(LoggedTurn { actor, kind, hash, broken_off });
        }
        // Turns are undone from the last one back: each has its place in the journal, and in the log.
        let starts = || records.iter().map(|record| record.journal_start);
        let is_consistent = reader.0.is_empty()
            && starts().is_sorted()
            && starts().next().is_none_or(|first| first >= journal.start())
            && starts().next_back().is_none_or(|last| last <= journal.end())
            && records.len() <= log.turns.len();
        if !is_consistent {
            return Err(BAD);
        }
        self.abandon();
        self.trace.clear();
        (self.clock, self.vacant_next, self.schedule) = (clock, vacant_next, schedule);
        (self.graves, self.journal, self.records, self.log) = (graves, journal, records, log);
        self.vacant = vacant_in(world).into_iter().map(|(_, entity)| entity).collect();
        self.cells.rebuild(world);
        Ok(())
    }
}

fn put_maybe(out: &mut Vec<u8>, number: Option<u64>) {
    put(out, if number.is_some() { SOME } else { NONE });
    number.into_iter().for_each(|number| put(out, number));
}

/// A number, or none; nothing where the bytes are neither.
fn maybe(reader: &mut Reader<'_>) -> Option<Option<u64>> {
    match reader.number()? {
        NONE => Some(None),
        SOME => reader.number().map(Some),
        _ => None,
    }
}
