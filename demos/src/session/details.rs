//! One entity in JSON: where it is, what it is made of, and why it does what it does.

use ai::explain::DecisionLog;
use ecs_core::{Entity, EntityPlace, World};
use serde_json::{Value, json};

use crate::session::request::{entity_of, entity_text, parameter};
use crate::session::{Answer, Session};
use crate::view::{Field, View, short_name};

impl Session {
    /// The entity that `id=` names, or the selected one.
    pub(super) fn entity(&self, query: &str) -> Answer {
        let Some(view) = self.view() else {
            return Answer::error(404, "this demo shows no entities");
        };
        let entity = match parameter(query, "id") {
            None => match self.selected {
                Some(entity) => entity,
                None => return Answer::error(404, "no entity is selected; ask for id=NUMBER"),
            },
            Some(text) => match entity_of(text) {
                Some(entity) => entity,
                None => return Answer::error(400, "id is a number of 64 bits"),
            },
        };
        match entity_json(view, entity) {
            Some(mut value) => {
                value["why"] = json!(view.why(entity));
                value["decisions"] = json!(decisions(view.world(), entity));
                let companions = view.companions(entity);
                value["companions"] =
                    companions.iter().filter_map(|&other| entity_json(view, other)).collect();
                Answer::json(&value)
            }
            None => Answer::error(404, &format!("there is no entity {entity} any more")),
        }
    }
}

fn entity_json(view: &dyn View, entity: Entity) -> Option<Value> {
    let world = view.world();
    let EntityPlace { archetype, chunk, row, .. } = world.place_of(entity).ok()?;
    let (rows, capacity) = world.archetypes()[archetype.index()].chunk_fill(chunk);
    let fields = view.inspector().fields(world, entity).ok()?;
    Some(json!({
        "entity": entity_text(entity),
        "name": entity.to_string(),
        "archetype": archetype.index(),
        "chunk": chunk,
        "row": row,
        "chunk_rows": rows,
        "chunk_capacity": capacity,
        "parent": parent(world, entity),
        "components": fields.iter().map(field_json).collect::<Vec<_>>(),
    }))
}

/// What the minds of a watched agent wrote down, the last first.
fn decisions(world: &World, entity: Entity) -> Vec<String> {
    let log = world.resource::<DecisionLog>();
    log.map_or_else(|_| Vec::new(), |log| log.sentences(entity).into_iter().rev().collect())
}

fn parent(world: &World, entity: Entity) -> Option<String> {
    world.parent(entity).map(entity_text)
}

fn field_json(field: &Field) -> Value {
    json!({
        "name": short_name(&field.name),
        "path": field.name,
        "bytes": field.size_bytes,
        "enabled": field.enabled,
        "value": field.value,
    })
}
