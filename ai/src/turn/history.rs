//! Turns taken back, and games played again.

use ecs_core::World;

use super::draft::TurnActionKind;
use super::error::{ReplayError, UndoError};
use super::log::{LoggedTurn, TurnLog};
use super::resolve::unseen;
use super::turns::Turns;

impl<K: TurnActionKind> Turns<K> {
    /// Takes the last turn back, with all that followed from it and what was scheduled since, and
    /// says what it was. The state hash is what it was before the turn.
    ///
    /// Who decides the same again comes to the same state again. What the turns do not know
    /// (resources, components that hooks wrote without saying so) stays as it is.
    ///
    /// # Errors
    /// Where no turn is remembered.
    ///
    /// # Panics
    /// Where a watcher of a component does. The rest is then taken back by the next call of any
    /// method that takes the world.
    pub fn undo(&mut self, world: &mut World) -> Result<LoggedTurn<K>, UndoError> {
        self.tidy(world);
        let record = self.records.pop_back().ok_or(UndoError::NothingLeft)?;
        let turn = self.log.turns.pop().ok_or(UndoError::NothingLeft)?;
        self.open = Some(record);
        self.roll_back(world, record);
        self.open = None;
        self.trace.clear();
        Ok(turn)
    }

    /// Plays a log: in a world that is as that one was at the beginning, it comes to the same state.
    ///
    /// # Errors
    /// Where this is not so, at the first turn that shows it. The turns until then have been taken.
    ///
    /// # Panics
    /// As [`take_turn`](Self::take_turn).
    pub fn replay(&mut self, world: &mut World, log: &TurnLog<K>) -> Result<(), ReplayError> {
        for (turn, logged) in log.turns.iter().enumerate() {
            let kind = logged.kind.clone();
            let end = match logged.actor {
                None => self.act(world, kind, unseen),
                Some(actor) => self.take_turn(world, actor, kind, unseen).map_err(|error| {
                    ReplayError::OtherActor { turn, logged: Some(actor), here: error.next }
                })?,
            };
            if !end.spent {
                return Err(ReplayError::NotSpent { turn });
            }
            let here = logged.hash.map(|logged| (logged, self.state_hash(world)));
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
