//! Turns taken back, and games played again.

use std::panic::resume_unwind;

use formic_ecs::World;

use super::draft::TurnActionKind;
use super::error::ReplayError;
use super::log::{LoggedTurn, TurnLog};
use super::resolve::{Turn, unseen};
use super::turns::Turns;

impl<K: TurnActionKind> Turns<K> {
    /// Takes the last turn back, with all that followed from it and what was scheduled since, and
    /// says what it was. The state hash is what it was before the turn.
    ///
    /// Who decides the same again comes to the same state again. What the turns do not know
    /// (resources, what other systems wrote) stays as it is.
    ///
    /// Entities have their components again, but not their rows: a query may come by them in another
    /// order than before the turn. The state hash does not depend on it, nor should a game: where the
    /// order matters, go by the entities, with
    /// [`Situation::entities_with`](super::Situation::entities_with).
    ///
    /// What the turn left in a log of decisions is taken out by
    /// [`DecisionLog::forget_after`](crate::explain::DecisionLog::forget_after).
    ///
    /// `None` if no turn is remembered.
    ///
    /// # Panics
    /// Panics if an observer of a component does. The turn has been taken back by then.
    pub fn undo(&mut self, world: &mut World) -> Option<LoggedTurn<K>> {
        let record = self.records.pop_back()?;
        let turn = self.log.turns.pop()?;
        self.trace.clear();
        self.roll_back(world, record).unwrap_or_else(|panic| resume_unwind(panic));
        Some(turn)
    }

    /// Plays a log: in a world that is as that one was at the beginning, with turns that were built in
    /// the same way, it comes to the same state.
    ///
    /// The handles of entities that are brought are the same unless a turn was undone that ran out of
    /// [vacancies](super::TurnsBuilder::vacancies), and others were taken in its place.
    ///
    /// Nothing is drawn; a turn that was broken off while it was drawn ends where it did.
    ///
    /// # Errors
    /// Returns an error if this is not so, at the first turn that shows it. The turns until then
    /// have been taken.
    ///
    /// # Panics
    /// Panics like [`take_turn`](Self::take_turn).
    pub fn replay(&mut self, world: &mut World, log: &TurnLog<K>) -> Result<(), ReplayError> {
        for (turn, logged) in log.turns.iter().enumerate() {
            let (kind, steps_max) = (logged.kind.clone(), logged.broken_off);
            let end = match logged.actor {
                None => {
                    let is_free_if_rejected = true;
                    let turn = Turn { place: None, kind, is_free_if_rejected, steps_max };
                    self.whole_turn(world, turn, &mut unseen)
                }
                Some(actor) => {
                    self.turn_of(world, actor, kind, steps_max, &mut unseen).map_err(|error| {
                        ReplayError::OtherActor { turn, logged: Some(actor), here: error.next }
                    })?
                }
            };
            if !end.spent {
                return Err(ReplayError::NotSpent { turn });
            }
            let here = logged.hash.map(|logged| (logged, self.state_hash(world).value()));
            match here {
                Some((logged, here)) if logged != here => {
                    return Err(ReplayError::OtherHash { turn, logged, here });
                }
                _ => {}
            }
        }
        Ok(())
    }
}
