//! Rollback to the beginning of a turn, also of a turn that a panic cut off.

use std::panic::{AssertUnwindSafe, catch_unwind};

use formic_ecs::{Entity, World};

use super::draft::TurnActionKind;
use super::journal::Step;
use super::turns::{Record, Turns};

impl<K: TurnActionKind> Turns<K> {
    /// Undoes everything since the beginning of a turn, in reverse order.
    ///
    /// A panic in an observer does not stop it. The first panic is returned, for the caller to resume.
    pub(super) fn roll_back(
        &mut self,
        world: &mut World,
        record: Record,
    ) -> std::thread::Result<()> {
        let mut outcome = Ok(());
        while let Some(step) = self.journal.pop_after(record.journal_start) {
            outcome = outcome.and(catch_unwind(AssertUnwindSafe(|| self.take_back(world, step))));
        }
        self.clock = record.clock;
        self.schedule.sequence = record.sequence;
        let is_back = |&(until, _): &(u64, Entity)| until > record.journal_start;
        while self.pending_despawns.back().is_some_and(is_back) {
            self.pending_despawns.pop_back();
        }
        if outcome.is_err() {
            // The cells do not know of the change whose observer has panicked.
            self.cells.rebuild(world);
        }
        outcome
    }

    fn take_back(&mut self, world: &mut World, step: Step) {
        match step {
            Step::Component(column) => {
                if let Some(entity) = self.journal.restore(column, world) {
                    self.cells.refresh(world, entity);
                }
            }
            Step::Took(entity) => self.vacant.push_front(entity),
            Step::Scheduled(ticket) => drop(self.schedule.cancel(ticket)),
            Step::Unscheduled(ticket, entity) => self.schedule.restore(ticket, entity),
        }
    }

    /// Undoes a turn that a panic has cut off, before any other code sees it.
    pub(super) fn roll_back_unfinished(&mut self, world: &mut World, record: Record) {
        self.abandon();
        // The first panic continues; later ones are less informative.
        drop(self.roll_back(world, record));
        self.cells.rebuild(world);
    }
}
