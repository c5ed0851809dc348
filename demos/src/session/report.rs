//! The session in JSON: how things are, what there is, and what ran when.

use formic_ecs::Archetype;
use formic_jobs::{Delay, Explanation, Reason, Schedule, Span, Step};
use serde_json::{Value, json};

use crate::session::advice::advice;
use crate::session::request::entity_text;
use crate::session::{Answer, Session};
use crate::view::{Touch, View, short_name};

/// How many bars a histogram of chunks has.
const BARS: usize = 10;

impl Session {
    pub(super) fn demos(&self) -> Answer {
        let demos: Vec<_> = self
            .demos
            .iter()
            .map(|demo| {
                json!({
                    "name": demo.name,
                    "about": demo.about,
                    "agents": demo.agents_default,
                    "noun": demo.agents_noun,
                })
            })
            .collect();
        Answer::json(&json!({ "demos": demos }))
    }

    pub(super) fn state(&self) -> Answer {
        let counters: serde_json::Map<String, Value> = self
            .simulation
            .counters()
            .iter()
            .map(|counter| (counter.name.to_owned(), counter.value.into()))
            .collect();
        let summary = self.simulation.summary();
        let summary: Vec<_> =
            summary.lines().iter().map(|(label, text)| json!([label, text])).collect();
        let mut state = json!({
            "demo": self.demo.name,
            "about": self.demo.about,
            "noun": self.demo.agents_noun,
            "agents": self.setup.agents,
            "seed": self.setup.seed.to_string(),
            "threads": self.setup.threads,
            "world": self.world_number,
            "tick": self.ticks,
            "running": self.is_running,
            "speed": if self.speed.is_finite() { self.speed } else { 0.0 },
            "tick_ms": self.tick_seconds * 1e3,
            // While time goes by no reader could compare it with anything, and it looks at everything.
            "state_hash": (!self.is_running)
                .then(|| format!("{:016x}", self.simulation.state_hash().value())),
            "counters": counters,
            "summary": summary,
            "selected": self.selected.map(entity_text),
            "live": self.view().is_some(),
        });
        if let Some(view) = self.view() {
            state["scene"] = scene_json(view);
            state["entities"] = view.world().len().into();
            state["worlds"] = json!(view.world_names());
            state["focus"] = view.focus().into();
            state["stepping"] = view.schedule().is_stepping().into();
            state["next_step"] = next_step(view.schedule()).into();
        }
        Answer::json(&state)
    }

    /// The demo's own check of its world.
    pub(super) fn check(&self) -> Answer {
        // The sums need not come out before a tick is over.
        let check = match self.is_mid_tick() {
            true => Err("a tick has begun, and has not ended".to_owned()),
            false => self.simulation.check(),
        };
        Answer::json(&json!({ "check": check.err().unwrap_or_else(|| "ok".to_owned()) }))
    }

    pub(super) fn archetypes(&self) -> Answer {
        let Some(view) = self.view() else {
            return Answer::json(&json!({ "archetypes": [], "advice": [] }));
        };
        let world = view.world();
        let stats = world.stats();
        let list: Vec<_> = stats
            .archetypes
            .iter()
            .zip(world.archetypes())
            .map(|(stats, archetype)| {
                let names: Vec<_> =
                    stats.components.iter().map(|name| short_name(name.as_str())).collect();
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

    pub(super) fn systems(&self) -> Answer {
        let Some(view) = self.view() else {
            return Answer::json(&json!({ "systems": [], "spans": [], "sync_points": [] }));
        };
        let schedule = view.schedule();
        let names = system_names(schedule);
        let spans: Vec<_> =
            schedule.last_run().iter().map(|span| span_json(span, &names)).collect();
        let explained: Vec<_> = schedule
            .explain_all()
            .0
            .iter()
            .map(|known| {
                let place = schedule.system_names().iter().position(|name| *name == known.system);
                json!({
                    "name": place.map_or_else(|| short_name(&known.system), |at| names[at].clone()),
                    "system": place,
                    "ran": known.reason == Reason::Ran,
                    "text": verdict(known),
                })
            })
            .collect();
        let syncs: Vec<_> =
            schedule.sync_points().iter().map(|point| readable(&point.to_string())).collect();
        Answer::json(&json!({
            "tick": schedule.tick().checked_sub(1),
            "threads": self.setup.threads,
            "systems": explained,
            "spans": spans,
            "sync_points": syncs,
            "stepping": schedule.is_stepping(),
            "next_step": next_step(schedule),
        }))
    }
}

/// How many chunks are how full, by tenths; a chunk is in the first bar up to a tenth.
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
        .map(|kind| json!({ "name": kind.name, "colour": kind.colour.0, "letter": kind.letter }))
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
        "ticks_per_second": scene.ticks_per_second,
        "kinds": kinds,
        "cheats": cheats,
    })
}

/// What systems are called: without their paths, but for as much of these as tells two apart.
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

/// What became of a system, without its name in front.
fn verdict(known: &Explanation) -> String {
    let nameless = Explanation { system: String::new(), ..known.clone() };
    readable(nameless.to_string().trim_start())
}

/// What the next step would be, in words.
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

/// Nanoseconds in microseconds.
#[expect(clippy::cast_precision_loss, reason = "a run takes less than a hundred days")]
fn micros(ns: u64) -> f64 {
    ns as f64 / 1e3
}

/// A sentence with the paths of its words cut off.
fn readable(text: &str) -> String {
    short_name(text)
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
        assert_eq!(readable(text), "push_out did not run in tick 3: is_on was false");
    }
}
