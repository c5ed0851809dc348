//! Graphs: the numbers of a field over the last ticks.

use std::collections::VecDeque;

use formic_ecs::{ComponentId, Entity, World};
use serde::Deserialize;
use serde_json::{Value, json};

use super::entity::{component_of, found};
use super::request::entity_text;
use super::scene::short_name;
use super::{Answer, Host, Session};

/// The maximum number of graphs at a time: each takes a sample after every tick.
const GRAPHS_MAX: usize = 8;
/// The number of ticks that a graph goes back.
const SAMPLES_MAX: usize = 600;
/// The maximum number of components of a field: those of a vector.
const LINES_MAX: usize = 4;

/// An edit of the graphs.
#[derive(Deserialize)]
#[serde(tag = "graph", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Draw {
    Add { entity: String, component: String, field: usize },
    Remove { number: u32 },
}

/// A field of an entity, sampled after every tick.
#[derive(Debug)]
pub(super) struct Graph {
    number: u32,
    /// The world that it is about, of a program that has several.
    world: u8,
    entity: Entity,
    component: ComponentId,
    /// The path of the component's type.
    path: String,
    field: usize,
    field_name: &'static str,
    /// The number of values that the field has.
    line_count: usize,
    /// Oldest first, each with its tick. A tick without the field has no sample.
    samples: VecDeque<(u64, [f64; LINES_MAX])>,
}

/// The values of a field, their count, and the field's name.
struct Sample {
    numbers: [f64; LINES_MAX],
    count: usize,
    name: &'static str,
}

impl Sample {
    fn of(world: &World, entity: Entity, component: ComponentId, field: usize) -> Option<Self> {
        let fields = world.by_id().fields(entity, component).ok()?;
        let field = fields.get(field)?;
        let mut sample = Self { numbers: [0.0; LINES_MAX], count: 0, name: field.name };
        for part in field.text.as_deref()?.split(',') {
            *sample.numbers.get_mut(sample.count)? = match part.trim() {
                "true" => 1.0,
                "false" => 0.0,
                number => number.parse().ok()?,
            };
            sample.count += 1;
        }
        Some(sample)
    }
}

impl Graph {
    fn sample(&mut self, world: &World, tick: u64) {
        let sample = Sample::of(world, self.entity, self.component, self.field);
        let Some(sample) = sample.filter(|it| it.count == self.line_count) else { return };
        if self.samples.len() == SAMPLES_MAX {
            self.samples.pop_front();
        }
        self.samples.push_back((tick, sample.numbers));
    }

    /// Discards the samples after a tick, since the world has gone back.
    pub(super) fn forget_after(&mut self, tick: u64) {
        self.samples.retain(|sample| sample.0 <= tick);
    }

    fn json(&self, session: &Session) -> Value {
        let path = &self.path;
        let line = |line| self.samples.iter().map(|it| it.1[line]).collect::<Vec<_>>();
        json!({
            "number": self.number,
            "entity": entity_text(self.entity),
            "name": self.entity.to_string(),
            "component": short_name(path),
            "field": self.field_name,
            "unit": session.label(path),
            "ticks": self.samples.iter().map(|it| it.0).collect::<Vec<_>>(),
            "lines": (0..self.line_count).map(line).collect::<Vec<_>>(),
        })
    }
}

impl Session {
    /// Adds or removes a graph.
    pub(super) fn draw(&mut self, host: &dyn Host, asked: &Draw) -> Answer {
        let done = match asked {
            Draw::Remove { number } => {
                let count = self.graphs.len();
                self.graphs.retain(|it| it.number != *number);
                match self.graphs.len() < count {
                    true => Ok(()),
                    false => Err(Answer::error(404, &format!("there is no graph {number}"))),
                }
            }
            Draw::Add { entity, component, field } => {
                self.add_graph(host, entity, component, *field)
            }
        };
        done.map_or_else(|answer| answer, |()| self.time(host))
    }

    fn add_graph(
        &mut self,
        host: &dyn Host,
        entity: &str,
        component: &str,
        field: usize,
    ) -> Result<(), Answer> {
        let refused = |text: &str| Answer::error(400, text);
        let world = host.world();
        let entity = found(world, entity)?;
        let id = component_of(world, entity, component).map_err(|fault| refused(&fault))?;
        let sample = Sample::of(world, entity, id, field);
        let sample = sample.ok_or_else(|| refused("only numbers are drawn, and up to four"))?;
        let focus = host.view().focus();
        let same = (focus, entity, id, field);
        let is_same = |it: &Graph| (it.world, it.entity, it.component, it.field) == same;
        if self.graphs.iter().any(is_same) {
            return Ok(());
        }
        if self.graphs.len() == GRAPHS_MAX {
            return Err(refused(&format!("there are at most {GRAPHS_MAX} graphs")));
        }
        let number = self.new_number();
        self.graphs.push(Graph {
            number,
            world: focus,
            entity,
            component: id,
            path: world
                .component_info(id)
                .map_or_else(|_| String::new(), |it| it.name().to_string()),
            field,
            field_name: sample.name,
            line_count: sample.count,
            samples: VecDeque::from([(self.ticks, sample.numbers)]),
        });
        Ok(())
    }

    /// Samples all graphs after a tick.
    pub(super) fn sample_graphs(&mut self, host: &dyn Host) {
        let (tick, focus) = (self.ticks, host.view().focus());
        let here = self.graphs.iter_mut().filter(|it| it.world == focus);
        here.for_each(|graph| graph.sample(host.world(), tick));
    }

    pub(super) fn graphs_json(&self) -> Value {
        self.graphs.iter().map(|graph| graph.json(self)).collect()
    }
}
