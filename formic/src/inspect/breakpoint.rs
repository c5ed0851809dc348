//! Breakpoints: queries that stop the world after the tick in which an entity begins to match.

use formic_ecs::{Entity, World};
use serde::Deserialize;
use serde_json::{Value, json};

use super::query::{Terms, unknown_choice};
use super::request::entity_text;
use super::{Answer, Host, Session, View};

/// The maximum number of breakpoints at a time: each is checked after every tick.
const BREAKPOINTS_MAX: usize = 8;
/// The maximum cost, in entity checks, of a breakpoint that names no entity: all entities that may match
/// are checked after every tick, which takes some milliseconds.
const LOOKS_MAX: usize = 5_000;

/// An edit of the breakpoints.
#[derive(Deserialize)]
#[serde(tag = "break", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Break {
    Add { query: String },
    Remove { number: u32 },
}

/// A query that stops the world.
#[derive(Debug)]
pub(super) struct Breakpoint {
    number: u32,
    query: String,
    terms: Terms,
    /// The world that it is about, of a program that has several.
    world: u8,
    /// The one entity that it is about; all entities if `None`.
    pub(super) entity: Option<Entity>,
    /// The entities that matched after the previous tick, sorted.
    matched: Vec<Entity>,
    /// Whether any entity has ever matched: the log forgets old decisions.
    has_matched: bool,
}

/// The breakpoint hit that stopped the world.
#[derive(Debug)]
pub(super) struct Stop {
    tick: u64,
    text: String,
    entity: Option<Entity>,
}

impl Breakpoint {
    /// Returns the entities that match, sorted; `None` if there are too many to check.
    fn matching(&self, world: &World, view: &dyn View) -> Option<Vec<Entity>> {
        let matches = |&entity: &Entity| self.terms.matches(world, view, entity);
        let mut found: Vec<Entity> = match self.entity {
            Some(entity) => {
                let living = Some(entity).filter(|&entity| world.contains(entity));
                living.into_iter().filter(matches).collect()
            }
            None if self.terms.cost(world) > LOOKS_MAX => return None,
            None => self.terms.candidates(world, 0).map(|it| it.1).filter(matches).collect(),
        };
        found.sort_unstable();
        Some(found)
    }

    /// Checks the world after a tick, and returns the reason to stop, if any.
    fn check(&mut self, host: &dyn Host, tick: u64) -> Option<Stop> {
        let Some(now) = self.matching(host.world(), host.view()) else {
            let text = format!("{}: {}", self.query, too_many());
            return Some(Stop { tick, text, entity: None });
        };
        let before = std::mem::replace(&mut self.matched, now);
        self.has_matched |= !self.matched.is_empty();
        let is_new = |entity: &&Entity| before.binary_search(entity).is_err();
        let entity = self.matched.iter().find(is_new).copied()?;
        let text = format!("{}: entity {entity} matches since tick {tick}", self.query);
        Some(Stop { tick, text, entity: Some(entity) })
    }
}

fn too_many() -> String {
    "name an entity, as in 12, Hunger > 0.7: there are too many to look at all of them after every tick"
        .to_owned()
}

impl Session {
    /// Adds or removes a breakpoint.
    pub(super) fn set_break(&mut self, host: &mut dyn Host, asked: &Break) -> Answer {
        let done = match asked {
            Break::Remove { number } => {
                let count = self.breakpoints.len();
                self.breakpoints.retain(|it| it.number != *number);
                match self.breakpoints.len() < count {
                    true => Ok(()),
                    false => Err(Answer::error(404, &format!("there is no breakpoint {number}"))),
                }
            }
            Break::Add { query } => self.add_breakpoint(host, query),
        };
        done.map_or_else(|answer| answer, |()| self.time(host))
    }

    fn add_breakpoint(&mut self, host: &mut dyn Host, query: &str) -> Result<(), Answer> {
        let refused = |text: &str| Answer::error(400, text);
        let terms = Terms::parse(query, host.world()).map_err(|fault| refused(&fault))?;
        let entity = terms.named(host.world());
        if terms.is_empty() {
            return Err(refused("say what to wait for, as in 12 chooses flee"));
        }
        if terms.has_number() && entity.is_none() {
            return Err(Answer::error(404, "there is no such entity"));
        }
        if terms.choice().is_some() && entity.is_none() {
            return Err(refused("name the agent whose choice it is, as in 12 chooses flee"));
        }
        if self.breakpoints.len() == BREAKPOINTS_MAX {
            return Err(refused(&format!("there are at most {BREAKPOINTS_MAX} breakpoints")));
        }
        let mut breakpoint = Breakpoint {
            number: self.new_number(),
            query: query.to_owned(),
            terms,
            world: host.view().focus(),
            entity,
            matched: Vec::new(),
            has_matched: false,
        };
        // An entity that already matches does not begin to match.
        let matched = breakpoint.matching(host.world(), host.view());
        breakpoint.matched = matched.ok_or_else(|| refused(&too_many()))?;
        if let Some(agent) = entity.filter(|_| breakpoint.terms.choice().is_some()) {
            self.watch(host, agent).map_err(|error| Answer::error(404, &error.to_string()))?;
        }
        self.breakpoints.push(breakpoint);
        Ok(())
    }

    /// Returns the agents of a world for whose choices a breakpoint waits.
    pub(super) fn waited_for(&self, world: u8) -> Vec<Entity> {
        let here =
            self.breakpoints.iter().filter(|it| it.world == world && it.terms.choice().is_some());
        here.filter_map(|it| it.entity).collect()
    }

    /// Updates the breakpoints after a tick, and stops the world if one was hit and `may_stop` is true.
    pub(super) fn check_breakpoints(&mut self, host: &dyn Host, may_stop: bool) {
        let (tick, focus) = (self.ticks, host.view().focus());
        let here = self.breakpoints.iter_mut().filter(|it| it.world == focus);
        let mut stops: Vec<Stop> = here.filter_map(|it| it.check(host, tick)).collect();
        if let Some(stop) = (may_stop && !stops.is_empty()).then(|| stops.swap_remove(0)) {
            self.set_running(false);
            self.stop = Some(stop);
        }
    }

    pub(super) fn breakpoints_json(&self, host: &dyn Host) -> Value {
        let (world, focus) = (host.world(), host.view().focus());
        let hint = |it: &Breakpoint| {
            let (agent, choice) = it.entity.zip(it.terms.choice())?;
            // If it ever matched, the choice was made, however long ago.
            (it.world == focus && !it.has_matched)
                .then(|| unknown_choice(world, agent, choice))
                .flatten()
        };
        let one =
            |it: &Breakpoint| json!({ "number": it.number, "query": it.query, "hint": hint(it) });
        self.breakpoints.iter().map(one).collect()
    }

    pub(super) fn stop_json(&self) -> Value {
        self.stop.as_ref().map_or(Value::Null, |stop| {
            let entity = stop.entity.map(entity_text);
            json!({ "tick": stop.tick, "text": stop.text, "entity": entity })
        })
    }
}
