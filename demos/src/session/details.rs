//! One entity in JSON: where it is, what it is made of, and why it does what it does.

use formic_ai::explain::DecisionLog;
use formic_ecs::{Access, ComponentId, Entity, EntityPlace, World};
use serde_json::{Value, json};

use crate::session::report::system_names;
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
                value["systems"] = json!(touching(view, entity));
                value["decisions"] = json!(decisions(view.world(), entity));
                let companions = view.companions(entity);
                value["companions"] =
                    companions.iter().filter_map(|&other| entity_json(view, other)).collect();
                Answer::json(&value)
            }
            // It is no fault of the client that a selected agent is gone.
            None => {
                let status = if parameter(query, "id").is_some() { 404 } else { 200 };
                Answer::error(status, &format!("There is no entity {entity} any more."))
            }
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

/// The systems that may touch an entity, and what of it they write and read.
fn touching(view: &dyn View, entity: Entity) -> Vec<Value> {
    let world = view.world();
    let Ok(place) = world.place_of(entity) else { return Vec::new() };
    let has = world.archetypes()[place.archetype.index()].components();
    let named = |ids: &[ComponentId]| -> Vec<String> {
        let own = ids.iter().filter(|&&id| has.contains(id));
        let infos = own.filter_map(|&id| world.component_info(id).ok());
        infos.map(|info| short_name(info.name().as_str())).collect()
    };
    let names = system_names(view.schedule());
    let paths = view.schedule().system_names();
    let touched = |(path, access): (&str, Option<&Access>)| {
        let place = paths.iter().position(|known| known == path)?;
        let system = &names[place];
        let Some(access) = access else { return Some(json!({ "system": system, "all": true })) };
        let (writes, reads) = (named(access.writes()), named(access.reads()));
        let touches = !writes.is_empty() || !reads.is_empty();
        touches.then(|| json!({ "system": system, "writes": writes, "reads": reads }))
    };
    view.schedule().accesses().filter_map(touched).collect()
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
