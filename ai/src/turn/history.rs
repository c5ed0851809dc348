//! Undo and replay of turns.

use std::panic::resume_unwind;

use formic_ecs::World;

use super::draft::TurnActionKind;
use super::error::ReplayError;
use super::log::{LoggedTurn, TurnLog};
use super::resolve::{Turn, unseen};
use super::turns::Turns;

impl<K: TurnActionKind> Turns<K> {
    /// Undoes the last turn, with everything that followed from it and was scheduled since, and returns
    /// it. The state hash is the same as before the turn.
    ///
    /// The same decision then leads to the same state again. Data that the turns do not know (resources,
    /// writes of other systems) stays as it is.
    ///
    /// Entities get their components back, but not their rows: a query may visit them in another order
    /// than before the turn. The state hash does not depend on that order, nor should a game: if the
    /// order matters, use [`Situation::entities_with`](super::Situation::entities_with).
    ///
    /// To drop the decision records of the turn, call
    /// [`DecisionLog::forget_after`](crate::explain::DecisionLog::forget_after).
    ///
    /// Returns `None` if no turn can be undone.
    ///
    /// # Panics
    /// Panics if an observer of a component panics. The turn is undone by then.
    pub fn undo(&mut self, world: &mut World) -> Option<LoggedTurn<K>> {
        let record = self.records.pop_back()?;
        let turn = self.log.turns.pop()?;
        self.trace.clear();
        self.roll_back(world, record).unwrap_or_else(|panic| resume_unwind(panic));
        Some(turn)
    }

    /// Replays a log. In a world that equals the original at its beginning, with turns that were built
    /// the same way, it leads to the same state.
    ///
    /// The handles of entities that are brought are the same, unless a turn that ran out of
    /// [vacancies](super::TurnsBuilder::vacancies) was undone and others were taken in its place.
    ///
    /// Nothing is drawn. A turn that its drawing callback broke off ends at the same point.
    ///
    /// # Errors
    /// Returns an error at the first turn that diverges. The turns before it have been taken.
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
