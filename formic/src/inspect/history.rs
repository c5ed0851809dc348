//! Rewinding: the game is saved every few ticks, and a tick between two saves is replayed.
//!
//! ```text
//!   tick      0        20        40   46        66  until
//!   saves     *         *         *    *         *    .
//!                                      └ an edit, or a cheat: what came before is not lived across
//! ```
//!
//! Going back loads the last save before the tick and replays the rest. If the world then continues other
//! than towards a known tick, what was known of later ticks is discarded.

use std::collections::VecDeque;

use formic_ai::explain::DecisionLog;
use formic_jobs::Save;
use serde::Deserialize;
use serde_json::{Value, json};

use super::entity::guarded;
use super::session::Steps;
use super::{Answer, Host, Session};

/// The maximum size of all saves together, in bytes; the oldest are dropped first.
const BYTES_MAX: usize = 64 << 20;
/// The maximum size of a world that is saved every few ticks, in bytes: the world stops during a save.
const WORLD_BYTES_MAX: usize = 8 << 20;
/// The maximum number of ticks between two saves.
const EVERY_MAX: u64 = 10_000;

/// How often to save; 0 for never.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Keep {
    every: u64,
}

/// A tick to go to.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rewind {
    tick: u64,
}

/// The saves, and the range of known ticks.
#[derive(Debug, Default)]
pub(super) struct History {
    /// The number of ticks between two saves; 0 if nothing is kept.
    every: u64,
    /// Ordered by tick.
    saves: VecDeque<(u64, Vec<u8>)>,
    /// The total size of the saves, in bytes.
    bytes: usize,
    /// The last known tick.
    until: u64,
    /// The tick that the world is replaying towards.
    goal: Option<u64>,
    /// Why nothing is kept any more.
    fault: Option<String>,
}

impl History {
    /// Records that the world is at a tick in a new state: discards what was known of this tick and of
    /// later ones.
    fn reach(&mut self, tick: u64) {
        while self.saves.back().is_some_and(|save| save.0 >= tick) {
            self.bytes -= self.saves.pop_back().map_or(0, |save| save.1.len());
        }
        self.until = tick;
    }

    fn save(&mut self, host: &dyn Host, tick: u64) -> Result<(), String> {
        let worlds = host.view().world_names().len().max(1);
        let used_bytes = host.world().stats().used_bytes() * worlds;
        if used_bytes > WORLD_BYTES_MAX {
            return Err(format!(
                "the world has {} MiB, and those of up to {} MiB are kept",
                used_bytes >> 20,
                WORLD_BYTES_MAX >> 20
            ));
        }
        let saved = guarded(|| host.save().map(|save| save.to_bytes()))?;
        let bytes = saved?;
        self.bytes += bytes.len();
        self.saves.push_back((tick, bytes));
        while self.bytes > BYTES_MAX {
            self.bytes -= self.saves.pop_front().map_or(0, |save| save.1.len());
        }
        match self.saves.is_empty() {
            true => Err(format!("a save has more than {} MiB", BYTES_MAX >> 20)),
            false => Ok(()),
        }
    }

    /// Saves, and keeps no more history if that fails.
    fn save_or_end(&mut self, host: &dyn Host, tick: u64) {
        if let Err(fault) = self.save(host, tick) {
            *self = Self { fault: Some(fault), ..Self::default() };
        }
    }
}

impl Session {
    /// Starts or stops keeping history.
    pub(super) fn keep(&mut self, host: &mut dyn Host, asked: &Keep) -> Answer {
        if asked.every > EVERY_MAX {
            return Answer::error(400, "every is a number of ticks up to 10,000, or 0 for never");
        }
        self.end_tick(host);
        self.history = History { every: asked.every, until: self.ticks, ..History::default() };
        if asked.every > 0 {
            self.history.save_or_end(host, self.ticks);
        }
        match &self.history.fault {
            Some(fault) => Answer::error(409, fault),
            None => self.time(host),
        }
    }

    /// Goes to a known tick; the ticks still to be replayed are taken as steps.
    pub(super) fn rewind(&mut self, host: &mut dyn Host, asked: &Rewind) -> Answer {
        if self.history.every == 0 {
            return Answer::error(409, "the past is not kept; begin with that in the tab Time");
        }
        self.end_tick(host);
        let History { saves, until, .. } = &self.history;
        let from = saves.front().map_or(*until, |save| save.0);
        let save = saves.iter().rev().find(|save| save.0 <= asked.tick);
        let Some((tick, bytes)) = save.filter(|_| asked.tick <= *until) else {
            return Answer::error(400, &format!("the ticks from {from} to {until} are known"));
        };
        // Between the save and the tick, only ticks have happened.
        let is_on_the_way = (*tick..=asked.tick).contains(&self.ticks);
        if !is_on_the_way {
            let tick = *tick;
            let save = Save::from_bytes(bytes).map_err(|error| error.to_string());
            let loaded = save.and_then(|save| guarded(|| host.load(&save))?);
            // A codec may have panicked midway.
            self.version += 1;
            if let Err(fault) = loaded {
                return Answer::error(500, &fault);
            }
            self.ticks = tick;
            self.rewind_count += 1;
            self.forget_later(host);
        }
        self.set_running(false);
        self.history.goal = Some(asked.tick).filter(|&goal| goal > self.ticks);
        self.steps = Steps { ticks: asked.tick - self.ticks, systems: 0 };
        self.state(host)
    }

    /// Discards what viewers saw of ticks that are now in the future.
    fn forget_later(&mut self, host: &mut dyn Host) {
        let tick = self.ticks;
        self.graphs.iter_mut().for_each(|graph| graph.forget_after(tick));
        self.stop = None;
        let last_run = host.schedule().tick().checked_sub(1);
        if let Ok(log) = host.world_mut().resource_mut::<DecisionLog>() {
            match last_run {
                Some(run) => log.forget_after(run),
                None => log.clear(),
            }
        }
        self.check_breakpoints(host, false);
    }

    /// Records a tick that was run, and returns whether it was a replay.
    pub(super) fn keep_tick(&mut self, host: &dyn Host) -> bool {
        let (tick, history) = (self.ticks, &mut self.history);
        if let Some(goal) = history.goal {
            history.goal = Some(goal).filter(|&goal| goal > tick);
            return true;
        }
        if history.every > 0 {
            history.reach(tick);
            if history.saves.back().is_none_or(|save| save.0 + history.every <= tick) {
                history.save_or_end(host, tick);
            }
        }
        false
    }

    /// Records that a person has changed the world between two ticks.
    pub(super) fn keep_change(&mut self, host: &dyn Host) {
        // What follows has not been run before.
        self.history.goal = None;
        if self.history.every > 0 {
            self.history.reach(self.ticks);
            self.history.save_or_end(host, self.ticks);
        }
    }

    /// Ends a replay: the world has no target tick any more.
    pub(super) fn forget_goal(&mut self) {
        self.history.goal = None;
    }

    pub(super) fn history_json(&self) -> Value {
        let History { every, saves, bytes, until, fault, .. } = &self.history;
        json!({
            "every": every,
            "from": saves.front().map(|save| save.0),
            "to": until,
            "saves": saves.len(),
            "bytes": bytes,
            "bytes_max": BYTES_MAX,
            "fault": fault,
        })
    }
}
