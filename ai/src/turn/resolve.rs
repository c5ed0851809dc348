//! The resolution of a turn: an action, everything that follows from it, and real time.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use formic_ecs::{Entity, World};

use super::draft::{TurnActionKind, settle};
use super::judge::Decision;
use super::log::LoggedTurn;
use super::real_time::{Motion, Point};
use super::schedule::Ticket;
use super::situation::Situation;
use super::trace::{Cause, TracedPoint};
use super::turns::{Record, Turns};

/// The actor of the next turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// An actor whose mind can decide at once.
    Ready(Entity),
    /// A player: nothing happens until a decision comes from outside. This is a state, and uses no
    /// processor time.
    Waiting(Entity),
    /// No actor has a turn.
    Nobody,
}

impl Next {
    /// The actor of the next turn, if there is one.
    #[must_use]
    pub const fn entity(self) -> Option<Entity> {
        match self {
            Self::Ready(entity) | Self::Waiting(entity) => Some(entity),
            Self::Nobody => None,
        }
    }
}

/// A frame to draw: the world right after an action, or a point in real time, that can be seen.
#[derive(Debug)]
pub struct Frame<'a, C> {
    /// The world.
    pub now: Situation<'a, C>,
    /// The time since the beginning of the turn, in the units of
    /// [`TurnsBuilder::step`](super::TurnsBuilder::step).
    pub time: u64,
}

/// A callback for [`Turns::take_turn`] without a viewer: draws nothing, and lets the turn continue.
pub fn unseen<C>(_: &Frame<'_, C>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// The callback that draws.
pub(super) type Draw<'a, C> = dyn FnMut(&Frame<'_, C>) -> ControlFlow<()> + 'a;

/// The reason why a turn ended before everything that followed from it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stopped {
    /// There were too many actions: most likely an endless chain of reactions.
    TooManyActions {
        /// The maximum number of actions in a turn.
        limit: usize,
        /// The number of actions that were waiting and never happened.
        dropped: usize,
    },
    /// There were too many points in real time: something moves without end.
    TooManyPoints {
        /// The maximum number of points in a turn.
        limit: usize,
        /// The number of actions that were waiting and never happened.
        dropped: usize,
    },
    /// The callback that draws broke the turn off.
    Interrupted {
        /// The number of actions that were waiting and never happened.
        dropped: usize,
    },
}

/// The outcome of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnEnd {
    /// The outcome of the decided action; the trace has all others.
    pub decision: Decision,
    /// Whether it cost the turn. A player's turn in which nothing was done does not: the player is asked
    /// again. The turn of any other actor does.
    pub spent: bool,
    /// The number of actions that were committed.
    pub commits: usize,
    /// The number of actions that were rejected or refused.
    pub rejections: usize,
    /// The number of times that there was something new to draw.
    pub frames: usize,
    /// The duration of the turn, in the units of [`TurnsBuilder::step`](super::TurnsBuilder::step).
    pub time: u64,
    /// The reason why the turn was cut off, if it was. What had been done until then stays done.
    pub stopped: Option<Stopped>,
}

/// The error that it is another actor's turn: the actor that decided was interrupted meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not the turn of {actor}{}", .next.map_or_else(String::new, |next| format!(" but of {next}")))]
pub struct NotTheirTurn {
    /// The actor that decided.
    pub actor: Entity,
    /// The actor whose turn it is.
    pub next: Option<Entity>,
}

/// A turn to take.
pub(super) struct Turn<K> {
    /// The actor whose turn it is, if any.
    pub(super) place: Option<(Ticket, Entity)>,
    pub(super) kind: K,
    /// Whether it costs nothing if nothing is done.
    pub(super) is_free_if_rejected: bool,
    /// The number of steps after which it is broken off, as it was when it was logged.
    pub(super) steps_max: Option<usize>,
}

impl<K: TurnActionKind> Turns<K> {
    /// The actor of the next turn. The call changes nothing.
    #[must_use]
    pub fn next(&self, world: &World) -> Next {
        match self.next_place(world) {
            None => Next::Nobody,
            Some((_, entity)) if (self.is_player)(world, entity) => Next::Waiting(entity),
            Some((_, entity)) => Next::Ready(entity),
        }
    }

    /// The first turn of a living actor: the schedule does not know of actors that were despawned by
    /// other means.
    fn next_place(&self, world: &World) -> Option<(Ticket, Entity)> {
        self.schedule.iter().find(|&(_, entity)| self.now(world).is_alive(entity))
    }

    /// Takes the next turn with the decision of `actor`. `draw` sees the world after each action that can
    /// be seen, and after each point at which a hook writes something that can; a `Break` drops what would
    /// still have followed in this turn.
    ///
    /// Afterwards the actor has its next turn, [`duration`](TurnActionKind::duration) later, and the turn
    /// is in the log, unless it was not [spent](TurnEnd::spent).
    ///
    /// # Errors
    /// Returns an error if it is not that actor's turn: it died while the player was thinking, for
    /// instance. Nothing happens.
    ///
    /// # Panics
    /// Panics if a kind, a rule, a hook, an observer or `draw` panics. The whole turn is undone by then;
    /// the trace shows how far it came. Only if an observer panics because an entity that was
    /// [`Gone`](super::Gone) is despawned, the turn is over and logged.
    pub fn take_turn(
        &mut self,
        world: &mut World,
        actor: Entity,
        kind: K,
        mut draw: impl FnMut(&Frame<'_, K::Cell>) -> ControlFlow<()>,
    ) -> Result<TurnEnd, NotTheirTurn> {
        self.turn_of(world, actor, kind, None, &mut draw)
    }

    pub(super) fn turn_of(
        &mut self,
        world: &mut World,
        actor: Entity,
        kind: K,
        steps_max: Option<usize>,
        draw: &mut Draw<'_, K::Cell>,
    ) -> Result<TurnEnd, NotTheirTurn> {
        let place = self.next_place(world);
        if place.is_none_or(|(_, entity)| entity != actor) {
            return Err(NotTheirTurn { actor, next: place.map(|(_, entity)| entity) });
        }
        let is_free_if_rejected = (self.is_player)(world, actor);
        let turn = Turn { place, kind, is_free_if_rejected, steps_max };
        Ok(self.whole_turn(world, turn, draw))
    }

    /// Takes an action out of turn, for no particular actor: a lever that a script pulls. It goes through
    /// the rules, and into the log like any other turn, if anything is done.
    ///
    /// # Panics
    /// Panics like [`take_turn`](Self::take_turn).
    pub fn act(
        &mut self,
        world: &mut World,
        kind: K,
        mut draw: impl FnMut(&Frame<'_, K::Cell>) -> ControlFlow<()>,
    ) -> TurnEnd {
        let turn = Turn { place: None, kind, is_free_if_rejected: true, steps_max: None };
        self.whole_turn(world, turn, &mut draw)
    }

    /// Lets all actors take turns until a player has to decide, none is left, or this many turns are
    /// over. Returns who is next. `decide` is the mind of all actors.
    ///
    /// # Panics
    /// Panics like [`take_turn`](Self::take_turn).
    pub fn run(
        &mut self,
        world: &mut World,
        turn_count_max: usize,
        mut decide: impl FnMut(&mut Self, &mut World, Entity) -> K,
        mut draw: impl FnMut(&Frame<'_, K::Cell>) -> ControlFlow<()>,
    ) -> Next {
        for _ in 0..turn_count_max {
            let Next::Ready(actor) = self.next(world) else { break };
            let kind = decide(self, world, actor);
            // Deciding may have ended the actor's turn: continue with the next.
            drop(self.take_turn(world, actor, kind, &mut draw));
        }
        self.next(world)
    }

    pub(super) fn whole_turn(
        &mut self,
        world: &mut World,
        turn: Turn<K>,
        draw: &mut Draw<'_, K::Cell>,
    ) -> TurnEnd {
        let record = Record {
            journal_start: self.journal.end(),
            clock: self.clock,
            sequence: self.schedule.sequence,
        };
        self.trace.clear();
        // A panic ends the turn, and continues once the turn is undone: no caller ever sees half a turn.
        let half = AssertUnwindSafe(|| self.unlogged_turn(world, turn, record, draw));
        let (end, logged) = catch_unwind(half).unwrap_or_else(|panic| {
            self.roll_back_unfinished(world, record);
            resume_unwind(panic)
        });
        if let Some(logged) = logged {
            self.write_down(record, logged);
            self.despawn_gone(world);
        }
        end
    }

    /// Takes a turn, except for making it undoable and logging it.
    fn unlogged_turn(
        &mut self,
        world: &mut World,
        turn: Turn<K>,
        record: Record,
        draw: &mut Draw<'_, K::Cell>,
    ) -> (TurnEnd, Option<LoggedTurn<K>>) {
        let Turn { place, kind, is_free_if_rejected, steps_max } = turn;
        if let Some((ticket, _)) = place {
            self.clock = ticket.time();
        }
        let actor = place.map(|(_, actor)| actor);
        let (mut end, steps) = self.resolve(world, kind.clone(), actor, steps_max, draw);
        let is_done = end.commits > 0 || self.journal.end() > record.journal_start;
        end.spent = is_done || !is_free_if_rejected;
        if !end.spent {
            self.clock = record.clock;
            return (end, None);
        }
        if let Some((ticket, actor)) = place {
            // Turns before it belong to entities that were despawned by other means.
            while let Some((first, _)) = self.schedule.first().filter(|&(it, _)| it <= ticket) {
                self.cancel(first);
            }
            if self.now(world).is_alive(actor) {
                // No actor may fail again and again without time passing.
                let least = u64::from(!is_done);
                self.schedule(actor, kind.duration().max(least));
            }
        }
        let every = self.hash_every;
        let is_due = every > 0 && (self.log.turns.len() + 1) % every == 0;
        let hash = is_due.then(|| self.state_hash(world).value());
        let is_broken_off = matches!(end.stopped, Some(Stopped::Interrupted { .. }));
        let broken_off = is_broken_off.then_some(steps);
        (end, Some(LoggedTurn { actor, kind, hash, broken_off }))
    }

    fn write_down(&mut self, record: Record, logged: LoggedTurn<K>) {
        self.log.turns.push(logged);
        self.records.push_back(record);
        if self.records.len() > self.limits.undo {
            self.records.pop_front();
            let start = self.records.front().map(|record| record.journal_start);
            self.journal.forget_before(start.unwrap_or(self.journal.end()));
        }
    }

    /// Despawns entities that are gone, once no turn that can be undone would bring them back.
    fn despawn_gone(&mut self, world: &mut World) {
        let oldest = self.records.front().map_or(self.journal.end(), |it| it.journal_start);
        while let Some(&(_, entity)) =
            self.pending_despawns.front().filter(|(until, _)| *until <= oldest)
        {
            self.pending_despawns.pop_front();
            // The game may have despawned it before.
            _ = world.despawn(entity);
        }
    }

    /// Resolves an action and everything that follows from it. Returns the outcome, and the number of
    /// steps.
    fn resolve(
        &mut self,
        world: &mut World,
        kind: K,
        actor: Option<Entity>,
        steps_max: Option<usize>,
        draw: &mut Draw<'_, K::Cell>,
    ) -> (TurnEnd, usize) {
        let mut end = TurnEnd {
            decision: Decision::Accepted,
            spent: false,
            commits: 0,
            rejections: 0,
            frames: 0,
            time: 0,
            stopped: None,
        };
        let mut points = 0;
        let mut next_point = self.step;
        self.enqueue(kind, 0, Cause::Decision(actor));
        while end.stopped.is_none() {
            // Actions that are due precede the hooks of the same time.
            let due = self.pending.first_key_value().map(|(&(time, _), _)| time);
            if let Some(due) = due.filter(|&due| self.hooks.is_empty() || due <= next_point) {
                end.time = due;
                end.stopped = self.one_action(world, &mut end, draw);
            } else if self.hooks.is_empty() {
                break;
            } else {
                end.time = next_point;
                next_point = next_point.saturating_add(self.step);
                points += 1;
                let (motion, flow) = self.one_point(world, &mut end, draw);
                let dropped = self.pending.len();
                let limit = self.limits.points;
                if flow.is_break() {
                    end.stopped = Some(Stopped::Interrupted { dropped });
                } else if motion == Motion::Still && self.pending.is_empty() {
                    break;
                } else if points >= limit {
                    end.stopped = Some(Stopped::TooManyPoints { limit, dropped });
                }
            }
            // Actions and points, seen or not.
            if steps_max == Some(end.commits + end.rejections + points) {
                end.stopped = Some(Stopped::Interrupted { dropped: self.pending.len() });
            }
        }
        self.abandon();
        let steps = end.commits + end.rejections + points;
        (end, steps)
    }

    /// Processes the next action.
    fn one_action(
        &mut self,
        world: &mut World,
        end: &mut TurnEnd,
        draw: &mut Draw<'_, K::Cell>,
    ) -> Option<Stopped> {
        let limit = self.limits.actions.max(1);
        let actions = end.commits + end.rejections;
        if actions >= limit {
            return Some(Stopped::TooManyActions { limit, dropped: self.pending.len() });
        }
        let ((time, _), (kind, cause)) = self.pending.pop_first()?;
        let (decision, is_seen) = self.process(world, kind, cause, time);
        match decision {
            Decision::Accepted => end.commits += 1,
            Decision::Rejected(_) | Decision::Refused(_) => end.rejections += 1,
        }
        if actions == 0 {
            end.decision = decision;
        }
        if is_seen {
            end.frames += 1;
            if draw(&Frame { now: self.now(world), time }).is_break() {
                return Some(Stopped::Interrupted { dropped: self.pending.len() });
            }
        }
        None
    }

    /// Runs all hooks.
    fn one_point(
        &mut self,
        world: &mut World,
        end: &mut TurnEnd,
        draw: &mut Draw<'_, K::Cell>,
    ) -> (Motion, ControlFlow<()>) {
        let time = end.time;
        let mut motion = Motion::Still;
        let mut is_seen = false;
        for hook in 0..self.hooks.len() {
            let Self { hooks, known, cells, requests, action, .. } = self;
            let now = Situation::now(world, cells);
            let mut point = Point { now, action: &mut *action, requests, time };
            if (hooks[hook].run)(&mut point) == Motion::Moving {
                motion = Motion::Moving;
            }
            if let Err(why) = settle(now, known, action) {
                panic!("the hook {:?} cannot write this: {why}", hooks[hook].name());
            }
            let (changes, requests) = (action.len(), requests.len());
            if changes + requests > 0 {
                self.trace.point(TracedPoint { hook, time, changes, requests });
            }
            is_seen |= self.is_seen(world);
            self.commit(world);
            let mut requests = std::mem::take(&mut self.requests);
            for (delay, kind) in requests.drain(..) {
                self.enqueue(kind, time.saturating_add(delay), Cause::RealTime { hook });
            }
            self.requests = requests;
        }
        if !is_seen {
            return (motion, ControlFlow::Continue(()));
        }
        end.frames += 1;
        (motion, draw(&Frame { now: self.now(world), time }))
    }
}
