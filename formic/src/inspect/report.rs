//! The session in JSON: its state, its contents, and what ran when.

use formic_ecs::Archetype;
use formic_jobs::{Delay, Explanation, Reason, Schedule, Span, Step};
use serde_json::{Value, json};

use super::advice::advice;
use super::scene::short_name;
use super::session::Told;
use super::{Answer, Host, Session, Touch, View};

/// The number of bars of a chunk histogram.
const BARS: usize = 10;

/// The maximum number of entities whose state is hashed for every answer. For more, the hash is computed
/// on request.
const HASHED_MAX: usize = 50_000;

impl Session {
    pub(super) fn state(&mut self, host: &dyn Host) -> Answer {
        let (schedule, view) = (host.schedule(), host.view());
        let hash = self.known_hash(host);
        let described = self.told().described.get_or_insert_with(|| host.describe()).clone();
        let mut state = json!({
            "world": self.world_number,
            "tick": self.ticks,
            "running": self.is_running,
            "speed": if self.speed.is_finite() { self.speed } else { 0.0 },
            "tick_ms": self.tick_seconds * 1e3,
            "state_hash": hash.map(hash_text),
            "noun": host.noun(),
            "threads": host.threads(),
            "entities": host.world().len(),
            "worlds": view.world_names(),
            "focus": view.focus(),
            "stepping": schedule.is_stepping(),
            "next_step": next_step(schedule),
            "stop": self.stop_json(),
            "scene": scene_json(view),
        });
        if let Value::Object(entries) = &mut state {
            entries.extend(described);
        }
        Answer::json(&state)
    }

    /// Returns the hash of the current state, if it is known or takes only some milliseconds.
    fn known_hash(&mut self, host: &dyn Host) -> Option<u64> {
        // While the world runs, the hash could not be compared with anything.
        if self.is_running {
            return None;
        }
        let worlds = host.view().world_names().len().max(1);
        let is_small = host.world().len() * worlds <= HASHED_MAX;
        self.told().hash.or_else(|| is_small.then(|| self.state_hash(host)))
    }

    fn state_hash(&mut self, host: &dyn Host) -> u64 {
        *self.told().hash.get_or_insert_with(|| host.state_hash())
    }

    /// Returns the values computed for the current version of the world.
    fn told(&mut self) -> &mut Told {
        if self.told.version != self.version {
            self.told = Told { version: self.version, ..Told::default() };
        }
        &mut self.told
    }

    /// Answers with the hash of a state of any size, for which all viewers wait.
    pub(super) fn hash(&mut self, host: &dyn Host) -> Answer {
        if self.is_running {
            return Answer::error(409, "pause the world first: the hash is that of one tick");
        }
        let hash = self.state_hash(host);
        Answer::json(&json!({ "tick": self.ticks, "state_hash": hash_text(hash) }))
    }

    /// Answers with the data about more than one tick, and with what is waited for.
    pub(super) fn time(&self, host: &dyn Host) -> Answer {
        Answer::json(&json!({
            "tick": self.ticks,
            "breakpoints": self.breakpoints_json(host),
            "graphs": self.graphs_json(),
            "history": self.history_json(),
        }))
    }

    /// Runs the host's own check of its world.
    pub(super) fn check(host: &dyn Host) -> Answer {
        // Invariants need not hold before a tick has ended.
        let check = match host.schedule().is_stepping() {
            true => Err("a tick has begun, and has not ended".to_owned()),
            false => host.check(),
        };
        Answer::json(&json!({ "check": check.err().unwrap_or_else(|| "ok".to_owned()) }))
    }

    pub(super) fn archetypes(host: &dyn Host) -> Answer {
        let world = host.world();
        let stats = world.stats();
        let list: Vec<_> = stats
            .archetypes
            .iter()
            .zip(world.archetypes())
            .map(|(stats, archetype)| {
                let names: Vec<_> = stats.components.iter().map(|name| short_name(name)).collect();
                json!({
                    "id": stats.id.index(),
                    "components": names,
                    "entities": stats.entity_count,
                    "capacity": stats.capacity,
                    "chunks": stats.chunk_count,
                    "row_bytes": stats.row_bytes,
                    "block_bytes": stats.block_bytes,
                    "used_bytes": stats.used_bytes(),
                    "fill": histogram(archetype),
                })
            })
            .collect();
        let advice: Vec<_> = advice(world).iter().map(ToString::to_string).collect();
        Answer::json(&json!({
            "entities": stats.entity_count,
            "block_bytes": stats.block_bytes(),
            "used_bytes": stats.used_bytes(),
            "total_bytes": stats.total_bytes(),
            "archetypes": list,
            "advice": advice,
        }))
    }

    pub(super) fn systems(&self, host: &dyn Host) -> Answer {
        let schedule = host.schedule();
        let names = system_names(schedule);
        let mut spans = schedule.last_run();
        if self.was_stepped {
            close_gaps(&mut spans);
        }
        let explained = schedule.explain_all();
        let explained = explained.0.iter().map(|known| {
            let place = schedule.system_names().iter().position(|name| *name == known.system);
            json!({
                "name": place.map_or_else(|| short_name(&known.system), |at| names[at].clone()),
                "system": place,
                "ran": known.reason == Reason::Ran,
                "text": verdict(known),
            })
        });
        let syncs = schedule.sync_points();
        Answer::json(&json!({
            "tick": schedule.tick().checked_sub(1),
            "threads": host.threads(),
            "systems": explained.collect::<Vec<_>>(),
            "spans": spans.iter().map(|span| span_json(span, &names)).collect::<Vec<_>>(),
            "sync_points": syncs.iter().map(|it| short_name(&it.to_string())).collect::<Vec<_>>(),
            "stepping": schedule.is_stepping(),
            "next_step": next_step(schedule),
        }))
    }
}

/// Formats a hash as sixteen digits.
fn hash_text(hash: u64) -> String {
    format!("{hash:016x}")
}

/// Removes the time in which no system ran, in which a person thinks between two steps.
fn close_gaps(spans: &mut [Span]) {
    spans.sort_by_key(|span| span.from_ns);
    let (mut waited, mut end) = (0, 0);
    for span in spans {
        waited += span.from_ns.saturating_sub(waited).saturating_sub(end);
        span.from_ns -= waited;
        span.to_ns -= waited;
        end = end.max(span.to_ns);
    }
}

/// Counts the chunks by how full they are, in tenths. The first bar counts chunks that are at most a
/// tenth full.
fn histogram(archetype: &Archetype) -> [usize; BARS] {
    let mut bars = [0; BARS];
    for chunk in 0..archetype.chunk_count() {
        let (rows, capacity) = archetype.chunk_fill(chunk);
        bars[(rows * BARS).div_ceil(capacity.max(1)).clamp(1, BARS) - 1] += 1;
    }
    bars
}

fn scene_json(view: &dyn View) -> Value {
    let scene = view.scene();
    let kinds: Vec<_> = scene
        .kinds
        .iter()
        .map(|kind| {
            json!({
                "name": kind.name,
                "colour": kind.colour.0,
                "letter": kind.letter,
                "is_thing": kind.is_thing,
                "is_ground": kind.is_ground,
            })
        })
        .collect();
    let cheats: Vec<_> = view
        .cheats()
        .iter()
        .map(|cheat| {
            json!({
                "name": cheat.name,
                "label": cheat.label,
                "key": cheat.key,
                "touch": match cheat.touch {
                    Touch::None => "none",
                    Touch::Place => "place",
                    Touch::Brush => "brush",
                },
            })
        })
        .collect();
    json!({
        "size": [scene.size.x, scene.size.y],
        "unit": scene.unit,
        "axes": { "names": view.axes().names, "is_upwards": view.axes().is_upwards },
        "ticks_per_second": scene.ticks_per_second,
        "kinds": kinds,
        "cheats": cheats,
    })
}

/// Returns the names of systems without their paths, except for the part that distinguishes two of them.
pub(super) fn system_names(schedule: &Schedule) -> Vec<String> {
    let paths = schedule.system_names();
    let short: Vec<String> = paths.iter().map(|path| short_name(path)).collect();
    let longer = |path: &String, name: &String| {
        let module = path.strip_suffix(&format!("::{name}")).unwrap_or_default();
        format!("{}::{name}", short_name(module))
    };
    let is_alone = |name: &String| short.iter().filter(|other| *other == name).count() == 1;
    let named = |(path, name)| if is_alone(name) { name.clone() } else { longer(path, name) };
    paths.iter().zip(&short).map(named).collect()
}

/// Describes what happened to a system, without its name in front.
fn verdict(known: &Explanation) -> String {
    let nameless = Explanation { system: String::new(), ..known.clone() };
    short_name(nameless.to_string().trim_start())
}

/// Describes the next step.
fn next_step(schedule: &Schedule) -> String {
    match schedule.next_step() {
        Some(Step::System(system)) => system_names(schedule)[system].clone(),
        Some(Step::SyncPoint(_)) => "sync point".to_owned(),
        _ => "nothing".to_owned(),
    }
}

fn span_json(span: &Span, names: &[String]) -> Value {
    let delay = match span.delay {
        Delay::Order(system) => format!("waited for {}", names[system]),
        Delay::Stage(system) => format!("waited for the stage that {} ended", names[system]),
        Delay::SyncPoint => "waited for a sync point".to_owned(),
        Delay::Thread(system) => format!("its thread was busy with {}", names[system]),
        _ => "waited for nothing".to_owned(),
    };
    json!({
        "name": span.system.map_or("sync point", |system| &names[system]),
        "system": span.system,
        "thread": span.thread,
        "from_us": micros(span.from_ns),
        "to_us": micros(span.to_ns),
        "delay": delay,
    })
}

/// Converts nanoseconds to microseconds.
#[expect(clippy::cast_precision_loss, reason = "a run takes less than a hundred days")]
fn micros(ns: u64) -> f64 {
    ns as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use formic_ecs::prelude::*;

    use super::*;

    #[test]
    fn a_histogram_counts_every_chunk_once() {
        let mut world = World::new();
        world.spawn_batch((0..5_000).map(|_| ()));
        let archetype = &world.archetypes()[0];
        let bars = histogram(archetype);
        assert_eq!(bars.iter().sum::<usize>(), archetype.chunk_count());
        assert_eq!(bars[BARS - 1], archetype.chunk_count() - 1, "all but the last are full");
    }

    #[test]
    fn systems_of_one_name_are_told_apart_by_their_modules() {
        mod ants {
            pub(super) fn think() {}
        }
        mod bees {
            pub(super) fn think() {}
            pub(super) fn fly() {}
        }
        let systems = (ants::think, bees::think, bees::fly);
        let schedule = Schedule::builder().add(systems).build(&mut World::new());
        let names = system_names(&schedule.expect("they have an order"));
        assert_eq!(names, ["ants::think", "bees::think", "fly"]);
    }

    #[test]
    fn sentences_lose_their_paths() {
        let text = "formic_nav::systems::push_out did not run in tick 3: a::b::is_on was false";
        assert_eq!(short_name(text), "push_out did not run in tick 3: is_on was false");
    }
}
