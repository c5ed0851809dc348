//! Single entities: their location, components and reasons, and edits of them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use formic_ai::action::OwnedAction;
use formic_ai::explain::DecisionLog;
use formic_ecs::{Access, Buffer, ChildOf, ComponentId, ComponentInfo, Entity, EntityPlace, World};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::mind::minds;
use super::query::{Terms, components};
use super::report::system_names;
use super::request::{entity_of, entity_text};
use super::scene::short_name;
use super::slice::Slice;
use super::{Answer, Host, Session};

/// The maximum number of entities inspected for one answer, if no clock ends it.
const LOOKED_AT_MAX: usize = 20_000;
/// The maximum number of entities listed in one answer.
const LISTED_MAX: usize = 100;

/// A page of the list of entities.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Query {
    query: String,
    /// The number of entities to skip: `next` of the previous answer.
    #[serde(default)]
    after: usize,
    /// An entity for which to explain why it does not match.
    entity: Option<String>,
}

/// A change of one entity by a person.
enum Edit {
    Set { component: String, field: usize, value: String },
    Enable { component: String, enabled: bool },
    Add { component: String },
    Remove { component: String },
    Despawn,
}

/// Parses the entity and the change of a request body. It is parsed by hand, because serde's errors about
/// untagged bodies name no field.
fn edit_of(mut body: Map<String, Value>) -> Result<(String, Edit), String> {
    let kind: String = take(&mut body, "edit")?;
    let entity = take(&mut body, "entity")?;
    let component = |body: &mut _| take(body, "component");
    let edit = match &*kind {
        "set" => Edit::Set {
            component: component(&mut body)?,
            field: take(&mut body, "field")?,
            value: take(&mut body, "value")?,
        },
        "enable" => {
            Edit::Enable { component: component(&mut body)?, enabled: take(&mut body, "enabled")? }
        }
        "add" => Edit::Add { component: component(&mut body)? },
        "remove" => Edit::Remove { component: component(&mut body)? },
        "despawn" => Edit::Despawn,
        _ => return Err("`edit` is set, enable, add, remove or despawn".to_owned()),
    };
    body.keys().next().map_or(Ok((entity, edit)), |key| Err(format!("{kind} takes no `{key}`")))
}

/// Takes a field out of a body.
fn take<T: DeserializeOwned>(body: &mut Map<String, Value>, field: &str) -> Result<T, String> {
    let value = body.remove(field).ok_or_else(|| format!("`{field}` is missing"))?;
    serde_json::from_value(value).map_err(|error| format!("`{field}`: {error}"))
}

impl Session {
    pub(super) fn query(host: &dyn Host, asked: &Query) -> Answer {
        let (world, view) = (host.world(), host.view());
        let terms = match Terms::parse(&asked.query, world) {
            Ok(terms) => terms,
            Err(fault) => return Answer::error(400, &fault),
        };
        let mut listed = Vec::new();
        let (mut looked_at, mut next) = (0, None);
        let slice = Slice::new();
        for (before, entity) in terms.candidates(world, asked.after) {
            // At least one, so that repeated requests make progress.
            let is_over = looked_at == LOOKED_AT_MAX || looked_at > 0 && slice.is_over();
            if listed.len() == LISTED_MAX || is_over {
                next = Some(before);
                break;
            }
            looked_at += 1;
            if terms.matches(world, view, entity) {
                listed.push(json!({
                    "entity": entity_text(entity),
                    "name": entity.to_string(),
                    "noun": view.noun(entity),
                    "components": names(world, components(world, entity)),
                }));
            }
        }
        let mut answer = json!({ "entities": listed, "looked_at": looked_at, "next": next });
        if let Some(entity) = &asked.entity {
            match found(world, entity) {
                Err(answer) => return answer,
                Ok(entity) => {
                    let reasons = terms.reasons(world, view, entity);
                    answer["matches"] = reasons.iter().all(|(_, fault)| fault.is_none()).into();
                    answer["reasons"] = json!(reasons);
                }
            }
        }
        Answer::json(&answer)
    }

    /// Answers with the entity that `id=` names.
    pub(super) fn entity(&self, host: &dyn Host, id: Option<&str>) -> Answer {
        let Some(id) = id else { return Answer::error(400, "ask for id=NUMBER") };
        let (world, view) = (host.world(), host.view());
        let entity = match found(world, id) {
            Ok(entity) => entity,
            Err(answer) => return answer,
        };
        let Some(mut value) = self.entity_json(world, entity) else {
            return Answer::error(404, &gone(world, entity));
        };
        let mut why = view.why(entity);
        if why.is_empty() {
            why = crate::why(world, entity);
        }
        value["why"] = json!(why);
        value["noun"] = json!(view.noun(entity));
        value["systems"] = json!(touching(host, entity));
        value["minds"] = json!(minds(world, entity));
        value["decisions"] = json!(decisions(world, entity));
        let mut companions = view.companions(entity);
        companions.extend(actions(world, entity));
        value["companions"] =
            companions.iter().filter_map(|&other| self.entity_json(world, other)).collect();
        let has = components(world, entity);
        let addable =
            world.components().iter().filter(|it| it.has_default() && !has.contains(&it.id()));
        value["addable"] = addable.map(|info| short_name(info.name())).collect();
        Answer::json(&value)
    }

    fn entity_json(&self, world: &World, entity: Entity) -> Option<Value> {
        let EntityPlace { archetype, chunk, row, .. } = world.place_of(entity).ok()?;
        let archetype = &world.archetypes()[archetype.index()];
        let (rows, capacity) = archetype.chunk_fill(chunk);
        let ids = archetype.components().ids().iter();
        Some(json!({
            "entity": entity_text(entity),
            "name": entity.to_string(),
            "archetype": archetype.id().index(),
            "chunk": chunk,
            "row": row,
            "chunk_rows": rows,
            "chunk_capacity": capacity,
            "parent": world.relation::<ChildOf>().parent(entity).map(entity_text),
            "components": ids.map(|&id| self.component_json(world, entity, id)).collect::<Vec<_>>(),
        }))
    }

    fn component_json(&self, world: &World, entity: Entity, id: ComponentId) -> Value {
        let Ok(info) = world.component_info(id) else { return Value::Null };
        let path: &str = info.name();
        let enabled = world.by_id().is_enabled(entity, id).ok();
        let fields = world.by_id().fields(entity, id).unwrap_or_default();
        let fields = fields.iter().map(|field| {
            json!({
                "name": field.name,
                "type": short_name(field.type_name),
                "value": field.text,
                "editable": field.is_editable,
            })
        });
        json!({
            "name": short_name(path),
            "path": path,
            "label": self.label(path),
            "bytes": info.layout().size(),
            "enabled": enabled.filter(|_| info.is_enableable()),
            "fields": fields.collect::<Vec<_>>(),
        })
    }

    /// Returns the description of a component, if the program gave one.
    pub(super) fn label(&self, path: &str) -> Option<&str> {
        self.labels.iter().find(|(known, _)| *known == path).map(|(_, label)| &**label)
    }

    /// Performs an edit. The world must be paused: systems would overwrite the edit.
    pub(super) fn edit(&mut self, host: &mut dyn Host, body: Map<String, Value>) -> Answer {
        let (entity, edit) = match edit_of(body) {
            Ok(edit) => edit,
            Err(fault) => return Answer::error(400, &fault),
        };
        if self.is_running {
            return Answer::error(409, "pause the world before editing it");
        }
        let entity = match found(host.world(), &entity) {
            Ok(entity) => entity,
            Err(answer) => return answer,
        };
        self.end_tick(host);
        let done = guarded(|| edited(host.world_mut(), entity, &edit));
        self.version += 1;
        self.keep_change(host);
        match done {
            Ok(Ok(())) => Answer::json(&json!({ "done": entity.to_string() })),
            Ok(Err(fault)) => Answer::error(400, &fault),
            Err(fault) => Answer::error(500, &fault),
        }
    }
}

/// Returns the action entities of an agent, in order; none for any other entity.
#[must_use]
pub fn actions(world: &World, agent: Entity) -> Vec<Entity> {
    let actions = world.get::<Buffer<OwnedAction>>(agent);
    actions.map_or_else(|_| Vec::new(), |list| list.iter().map(|it| it.entity()).collect())
}

/// Runs code of the program (drops, hooks, codecs) and catches its panics, so that no click ends the
/// program.
pub(super) fn guarded<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    let fault = "the program panicked, and says why by itself";
    catch_unwind(AssertUnwindSafe(run)).map_err(|_| fault.to_owned())
}

fn edited(world: &mut World, entity: Entity, edit: &Edit) -> Result<(), String> {
    let id = |world: &World, name: &str| component_of(world, entity, name);
    let done = match edit {
        Edit::Set { component, field, value } => {
            let id = id(world, component)?;
            world.by_id_mut().set_field(entity, id, *field, value)
        }
        Edit::Enable { component, enabled } => {
            let id = id(world, component)?;
            world.by_id_mut().set_enabled(entity, id, *enabled).map(drop)
        }
        Edit::Add { component } => {
            let id = addable_of(world, entity, component)?;
            world.by_id_mut().insert_default(entity, id)
        }
        Edit::Remove { component } => {
            let id = id(world, component)?;
            world.by_id_mut().remove(entity, id)
        }
        Edit::Despawn => world.despawn(entity).map_err(Into::into),
    };
    done.map_err(|error| short_name(&error.to_string()))
}

/// Returns the component with a name. If several modules have one with that name, prefers one that the
/// entity has.
pub(super) fn component_of(
    world: &World,
    entity: Entity,
    name: &str,
) -> Result<ComponentId, String> {
    let own = components(world, entity);
    let ids = called(world, name).map(ComponentInfo::id);
    // The smallest key is the first one of equal keys.
    let id = ids.min_by_key(|id| !own.contains(id));
    id.ok_or_else(|| format!("no component of this world is called {name}"))
}

/// Returns the component with a name that an entity lacks. If several modules have one with that name,
/// prefers one with a default value.
fn addable_of(world: &World, entity: Entity, name: &str) -> Result<ComponentId, String> {
    let own = components(world, entity);
    let lacked = called(world, name).filter(|it| !own.contains(&it.id()));
    let info = lacked.min_by_key(|it| !it.has_default());
    // The entity has every component of that name, or there is none.
    info.map_or_else(
        || component_of(world, entity, name).and_then(|_| Err(format!("it has {name} already"))),
        |info| Ok(info.id()),
    )
}

/// Returns the components with a name, which is a path or the end of one.
fn called<'w>(world: &'w World, name: &str) -> impl Iterator<Item = &'w ComponentInfo> {
    let is_it = move |path: &str| path == name || short_name(path) == name;
    world.components().iter().filter(move |it| is_it(it.name()))
}

/// Returns the living entity that a text names.
pub(super) fn found(world: &World, text: &str) -> Result<Entity, Answer> {
    // The number of a handle includes a generation, so it is larger than any index.
    match (entity_of(text), text.parse()) {
        (Some(entity), _) if world.contains(entity) => Ok(entity),
        (Some(entity), _) => Err(Answer::error(404, &gone(world, entity))),
        (None, Ok(index)) => world
            .entity_at(index)
            .ok_or_else(|| Answer::error(404, &format!("No entity has the number {index} now."))),
        (None, Err(_)) => Err(Answer::error(
            400,
            "an entity is called 12, 12v3, or by the number that `Entity::to_bits` gives",
        )),
    }
}

/// Describes what is known of an entity that is not in the world.
fn gone(world: &World, entity: Entity) -> String {
    if entity.is_deferred() {
        return format!("No entity has the number {}.", entity.to_bits());
    }
    let log = world.resource::<DecisionLog>();
    let last = log.ok().and_then(|log| log.decisions(entity).last().map(|last| last.tick));
    let heir = world.entity_at(entity.index());
    let heir = heir.filter(|it| it.generation() > entity.generation());
    let mut text = match last.is_some() || heir.is_some() {
        true => format!("The entity {entity} was despawned."),
        false => format!("There is no entity {entity} in this world; it may have been despawned."),
    };
    if let Some(tick) = last {
        text += &format!(" It decided last in tick {tick}.");
    }
    if let Some(heir) = heir {
        text += &format!(" Its number has gone to {heir}.");
    }
    text
}

fn names(world: &World, ids: &[ComponentId]) -> Vec<String> {
    let infos = ids.iter().filter_map(|&id| world.component_info(id).ok());
    infos.map(|info| short_name(info.name())).collect()
}

/// Returns the systems that may access an entity, and which of its components they write and read.
fn touching(host: &dyn Host, entity: Entity) -> Vec<Value> {
    let (world, schedule) = (host.world(), host.schedule());
    let has = components(world, entity);
    let own = |ids: &[ComponentId]| {
        let ids: Vec<_> = ids.iter().copied().filter(|id| has.contains(id)).collect();
        names(world, &ids)
    };
    let short = system_names(schedule);
    let paths = schedule.system_names();
    let touched = |(path, access): (&str, Option<&Access>)| {
        let place = paths.iter().position(|known| known == path)?;
        let system = &short[place];
        let Some(access) = access else { return Some(json!({ "system": system, "all": true })) };
        let (writes, reads) = (own(access.writes()), own(access.reads()));
        let touches = !writes.is_empty() || !reads.is_empty();
        touches.then(|| json!({ "system": system, "writes": writes, "reads": reads }))
    };
    schedule.accesses().filter_map(touched).collect()
}

/// Returns the logged decisions of a watched agent, the latest first.
fn decisions(world: &World, entity: Entity) -> Vec<String> {
    let log = world.resource::<DecisionLog>();
    log.map_or_else(|_| Vec::new(), |log| log.sentences(entity).into_iter().rev().collect())
}

#[cfg(test)]
mod tests {
    use formic_ai::explain::Engine;

    use super::*;

    #[test]
    fn an_entity_that_is_gone_says_that_it_was_despawned_and_when_it_decided_last() {
        let mut world = World::new();
        let [ant, bee] = [(); 2].map(|()| world.spawn(()));
        let mut log = DecisionLog::new();
        log.watch(bee, "Bee", 4);
        log.note(bee, 7, Engine::Utility, |_| ());
        world.insert_resource(log);
        for entity in [ant, bee] {
            world.despawn(entity).expect("it is there");
        }
        let told = gone(&world, ant);
        assert_eq!(told, "There is no entity 0v1 in this world; it may have been despawned.");
        let told = gone(&world, bee);
        assert_eq!(told, "The entity 1v1 was despawned. It decided last in tick 7.");
        let deferred = Entity::from_bits(u64::MAX).expect("it is no empty handle");
        assert_eq!(gone(&world, deferred), format!("No entity has the number {}.", u64::MAX));
        let heirs = [(); 2].map(|()| world.spawn(()));
        assert!(heirs.iter().all(|heir| heir.generation() == 2), "{heirs:?}");
        assert_eq!(gone(&world, ant), "The entity 0v1 was despawned. Its number has gone to 0v2.");
    }
}
