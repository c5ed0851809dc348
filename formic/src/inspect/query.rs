//! The query box: which entities have these components with these values, and why another does not match.
//!
//! ```text
//!   Position, Hunger > 0.7, without Asleep      components, values and what must not be there
//!   Needs.hunger >= 0.5, Mood = Angry           a field by its name; the variant of an enum
//!   "ada"                                       any value or name with these letters
//!   12, 12v3                                    an entity by its number
//!   12 chooses flee                             what its mind chose last
//! ```

use std::cmp::Ordering;
use std::fmt;

use formic_ai::action::{ActionNames, Body};
use formic_ai::explain::{DecisionLog, Engine, Label, Verdict};
use formic_ecs::{Archetype, ComponentId, Entity, World};

use super::scene::short_name;
use super::{EntityName, NoView, View};

/// A parsed query.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Terms(Vec<Term>);

/// The maximum length of a query, in bytes.
const QUERY_BYTES_MAX: usize = 1_000;
/// The maximum number of terms: each is checked for thousands of entities.
const TERMS_MAX: usize = 16;

/// The number of choices listed if the query names an unknown one, and the number of agents they are
/// taken from.
const CHOICES_TOLD: usize = 12;
const AGENTS_TOLD: usize = 64;

/// The number of values inspected to learn which fields exist: types with the same name may differ.
const FIELDS_OF_MAX: usize = 16;

#[derive(Debug, Clone, PartialEq)]
enum Term {
    With(Named),
    Without(Named),
    Value {
        of: Named,
        field: Option<String>,
        compare: Compare,
        with: String,
    },
    Text(String),
    Called(EntityName),
    /// A choice whose name begins with these words.
    Chooses(String),
}

/// The components with a name: several modules may have one each.
#[derive(Debug, Clone, PartialEq)]
struct Named {
    name: String,
    ids: Vec<ComponentId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compare {
    Less,
    LessOrEqual,
    More,
    MoreOrEqual,
    Equal,
    NotEqual,
}

/// The comparison signs, each before any that is its prefix.
const SIGNS: [(&str, Compare); 6] = [
    ("<=", Compare::LessOrEqual),
    (">=", Compare::MoreOrEqual),
    ("!=", Compare::NotEqual),
    ("<", Compare::Less),
    (">", Compare::More),
    ("=", Compare::Equal),
];

/// The number of signs of a term before each of which a component is sought.
const SIGNS_TRIED: usize = 16;

impl Terms {
    /// Parses a query. An empty one matches every entity.
    pub(super) fn parse(text: &str, world: &World) -> Result<Self, String> {
        if text.len() > QUERY_BYTES_MAX {
            return Err(format!("a query has at most {QUERY_BYTES_MAX} letters"));
        }
        let mut terms = Vec::new();
        for term in split(text)? {
            // `12 chooses flee` is two terms in one.
            match term.split_once(" chooses ").filter(|(agent, _)| !agent.contains('"')) {
                Some((agent, what)) => {
                    terms.extend([Term::parse(agent.trim(), world)?, Term::chooses(what)?]);
                }
                None => terms.push(Term::parse(term, world)?),
            }
        }
        if terms.len() > TERMS_MAX {
            return Err(format!("a query has at most {TERMS_MAX} terms"));
        }
        Ok(Self(terms))
    }

    /// Whether there are no terms, so that every entity matches.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the entity that a term names, if it is alive.
    pub(super) fn named(&self, world: &World) -> Option<Entity> {
        let (number, index) = self.number()?;
        let entity = world.entity_at(index)?;
        number.fault(world, &NoView, entity).is_none().then_some(entity)
    }

    /// Whether a term names an entity, alive or not.
    pub(super) fn has_number(&self) -> bool {
        self.number().is_some()
    }

    /// Returns the first term that names an entity, and the index that it names.
    fn number(&self) -> Option<(&Term, u32)> {
        self.0.iter().find_map(|term| match term {
            Term::Called(name) => Some((term, name.index)),
            _ => None,
        })
    }

    /// Returns the cost of checking all entities that may match, in units of one check of an entity's
    /// components.
    pub(super) fn cost(&self, world: &World) -> usize {
        let candidates = world.archetypes().iter().filter(|it| self.may_match(it));
        let looks: usize = self.0.iter().map(Term::cost).sum();
        candidates.map(Archetype::len).sum::<usize>() * looks.max(1)
    }

    /// Returns the choice that a term asks for. Choices are known only for watched agents.
    pub(super) fn choice(&self) -> Option<&str> {
        self.0.iter().find_map(|term| match term {
            Term::Chooses(what) => Some(&**what),
            _ => None,
        })
    }

    /// For each term, returns in words why the entity does not match it, or `None` if it does.
    pub(super) fn reasons(
        &self,
        world: &World,
        view: &dyn View,
        entity: Entity,
    ) -> Vec<(String, Option<String>)> {
        self.0.iter().map(|term| (term.to_string(), term.fault(world, view, entity))).collect()
    }

    /// Returns the entities that may match, beginning at the position `after` in the list of all
    /// entities. Archetypes that lack a component are skipped as a whole, and so are all entities but the
    /// one that a term names. Each entity comes with the number of entities before it in the list.
    pub(super) fn candidates<'w>(
        &self,
        world: &'w World,
        after: usize,
    ) -> impl Iterator<Item = (usize, Entity)> + use<'_, 'w> {
        let named = self.named(world).filter(|_| after == 0).map(|entity| (0, entity));
        let mut before = 0;
        let all = world.archetypes().iter().filter(|_| !self.has_number());
        let all = all.map(move |archetype| {
            let first = before;
            before += archetype.len();
            (first, archetype)
        });
        let all = all.filter(|(_, archetype)| self.may_match(archetype));
        let chunks = all.flat_map(|(mut next, archetype)| {
            (0..archetype.chunk_count()).map(move |chunk| {
                let entities = archetype.entities(chunk);
                next += entities.len();
                (next - entities.len(), entities)
            })
        });
        let rows = chunks
            .filter(move |(first, entities)| first + entities.len() > after)
            .flat_map(|(first, entities)| (first..).zip(entities.iter().copied()))
            .skip_while(move |&(before, _)| before < after);
        named.into_iter().chain(rows)
    }

    fn may_match(&self, archetype: &Archetype) -> bool {
        self.0.iter().all(|term| term.may_match(archetype))
    }

    /// Whether an entity matches all terms.
    pub(super) fn matches(&self, world: &World, view: &dyn View, entity: Entity) -> bool {
        self.0.iter().all(|term| term.fault(world, view, entity).is_none())
    }
}

fn entities_of(archetype: &Archetype) -> impl Iterator<Item = Entity> {
    (0..archetype.chunk_count()).flat_map(|chunk| archetype.entities(chunk).iter().copied())
}

/// Splits a query at the commas that are not between quotation marks.
fn split(text: &str) -> Result<Vec<&str>, String> {
    let mut is_quoted = false;
    let parts = text.split(|letter| {
        is_quoted ^= letter == '"';
        letter == ',' && !is_quoted
    });
    let parts = parts.map(str::trim).filter(|part| !part.is_empty()).collect();
    if is_quoted { Err("a quotation mark is not closed".to_owned()) } else { Ok(parts) }
}

impl Term {
    fn parse(text: &str, world: &World) -> Result<Self, String> {
        if let Some(quoted) = text.strip_prefix('"') {
            let inner = quoted.strip_suffix('"').filter(|inner| !inner.contains('"'));
            let inner = inner.ok_or_else(|| format!("there is no comma after {text}"))?;
            return Ok(Self::Text(inner.to_lowercase()));
        }
        if text.starts_with(|letter: char| letter.is_ascii_digit()) {
            return text.parse().map(Self::Called);
        }
        if text == "without" {
            return Err("there is no component after `without`".to_owned());
        }
        if let Some(what) = text.strip_prefix("chooses ") {
            return Self::chooses(what);
        }
        if let Some(name) = ["without ", "!"].iter().find_map(|word| text.strip_prefix(word)) {
            return Named::find(name.trim(), world).map(Self::Without);
        }
        let name = text.strip_prefix("with ").unwrap_or(text).trim();
        let signs = name.char_indices().filter_map(|(at, _)| {
            let (sign, compare) = SIGNS.iter().find(|(sign, _)| name[at..].starts_with(sign))?;
            Some((name[..at].trim(), *sign, *compare, name[at + sign.len()..].trim()))
        });
        let named = Named::find(name, world);
        let Some(first) = signs.clone().next().filter(|_| named.is_err()) else {
            return named.map(Self::With);
        };
        // The brackets of `Targets<Serves>` are no signs: one follows a component or its field.
        let follows = |(left, ..): &(&str, _, _, _)| Named::with_field(left, world).is_ok();
        let (left, sign, compare, with) = signs.take(SIGNS_TRIED).find(follows).unwrap_or(first);
        let with = with.trim_matches('"').to_owned();
        if left.is_empty() {
            return Err(format!("there is no component before {sign} in {text}"));
        }
        let (of, field) = Named::with_field(left, world)?;
        if with.is_empty() {
            return Err(format!("there is no value after {sign} in {text}"));
        }
        let is_order = !matches!(compare, Compare::Equal | Compare::NotEqual);
        if is_order && with.parse::<f64>().map_or(true, f64::is_nan) {
            return Err(match with.split_once(' ') {
                Some((value, rest)) if value.parse::<f64>().is_ok() => {
                    let rest = rest.strip_prefix("and ").unwrap_or(rest).trim_start();
                    format!("put a comma between two terms: {left} {sign} {value}, {rest}")
                }
                _ => format!("{with} is no number, and {sign} compares numbers"),
            });
        }
        if let Some(field) = field {
            of.check_field(field, world)?;
        }
        Ok(Self::Value { of, field: field.map(str::to_owned), compare, with })
    }

    fn chooses(what: &str) -> Result<Self, String> {
        match what.trim() {
            "" => Err("there is no choice after `chooses`".to_owned()),
            what => Ok(Self::Chooses(what.to_lowercase())),
        }
    }

    /// Whether any entity of an archetype may match.
    fn may_match(&self, archetype: &Archetype) -> bool {
        match self {
            Self::With(named) | Self::Value { of: named, .. } => named.is_in(archetype),
            _ => true,
        }
    }

    /// Returns the cost of checking one entity, for which its values are formatted as text.
    fn cost(&self) -> usize {
        match self {
            Self::With(_) | Self::Without(_) | Self::Called(_) => 1,
            Self::Value { .. } | Self::Chooses(_) => 4,
            Self::Text(_) => 20,
        }
    }

    /// Returns why an entity does not match, or `None` if it does.
    fn fault(&self, world: &World, view: &dyn View, entity: Entity) -> Option<String> {
        match self {
            Self::With(named) => named.absence(world, entity),
            Self::Without(named) => named
                .absence(world, entity)
                .is_none()
                .then(|| format!("It has {}, which the query excludes.", named.name)),
            Self::Value { of, field, compare, with } => of
                .absence(world, entity)
                .or_else(|| of.value_fault(world, entity, field.as_deref(), *compare, with)),
            Self::Text(text) => {
                let has = |found: &str| found.to_lowercase().contains(text);
                let is_called = view.noun(entity).is_some_and(has) || has(&entity.to_string());
                (!is_called && !any_text(world, entity, has))
                    .then(|| format!("None of its values has the letters \"{text}\"."))
            }
            Self::Called(name) => {
                (!name.is_of(entity)).then(|| format!("It is the entity {entity}."))
            }
            Self::Chooses(what) => choice_fault(world, entity, what),
        }
    }
}

impl Named {
    fn find(name: &str, world: &World) -> Result<Self, String> {
        let lower = name.to_lowercase();
        let is_called =
            |path: &str| path.to_lowercase() == lower || short_name(path).to_lowercase() == lower;
        if let Some((before, after)) = name.split_once(" without ") {
            return Err(format!("put a comma between two terms: {before}, without {after}"));
        }
        let infos = world.components().iter();
        let ids: Vec<_> =
            infos.filter(|info| is_called(info.name())).map(|info| info.id()).collect();
        match ids.is_empty() {
            true => Err(format!("no component of this world is called {name}")),
            false => Ok(Self { name: name.to_owned(), ids }),
        }
    }

    /// Finds a component that a field may follow.
    fn with_field<'a>(text: &'a str, world: &World) -> Result<(Self, Option<&'a str>), String> {
        // A component's path may contain no dot, so the last dot precedes a field.
        match (Self::find(text, world), text.rsplit_once('.')) {
            (Err(_), Some((of, field))) => Ok((Self::find(of, world)?, Some(field))),
            (named, _) => Ok((named?, None)),
        }
    }

    /// Checks that a field may exist. Returns an error only if the inspected values have named fields and
    /// none is `field`.
    fn check_field(&self, field: &str, world: &World) -> Result<(), String> {
        let mut known = Vec::new();
        let archetypes = world.archetypes().iter().filter(|it| self.is_in(it));
        let entities = archetypes.flat_map(entities_of);
        let rows = entities.flat_map(|it| self.of(world, it).map(move |id| (it, id)));
        for (entity, id) in rows.take(FIELDS_OF_MAX) {
            for it in world.by_id().fields(entity, id).unwrap_or_default() {
                // The fields of an enum are those of its current variant, so others may occur.
                if it.name.eq_ignore_ascii_case(field) || it.name == "variant" {
                    return Ok(());
                }
                if !known.contains(&it.name) && !it.name.is_empty() {
                    known.push(it.name);
                }
            }
        }
        match known.is_empty() {
            true => Ok(()),
            false => Err(format!("{} has no field {field}, but {}", self.name, known.join(", "))),
        }
    }

    /// Whether the entities of an archetype have the component.
    fn is_in(&self, archetype: &Archetype) -> bool {
        self.ids.iter().any(|&id| archetype.components().contains(id))
    }

    /// Returns those of the components that an entity has.
    fn of(&self, world: &World, entity: Entity) -> impl Iterator<Item = ComponentId> {
        self.ids.iter().copied().filter(move |&id| world.by_id().has(entity, id))
    }

    /// Returns why an entity does not have the component, or `None` if it does.
    fn absence(&self, world: &World, entity: Entity) -> Option<String> {
        let mut own = self.of(world, entity).peekable();
        if own.peek().is_none() {
            return Some(format!("It has no {}.", self.name));
        }
        let is_on = own.any(|id| world.by_id().is_enabled(entity, id) == Ok(true));
        (!is_on).then(|| format!("Its {} is switched off.", self.name))
    }

    fn value_fault(
        &self,
        world: &World,
        entity: Entity,
        field: Option<&str>,
        compare: Compare,
        with: &str,
    ) -> Option<String> {
        let mut fault = None;
        for id in self.of(world, entity) {
            let fields = world.by_id().fields(entity, id).unwrap_or_default();
            let mut found = fields.iter().filter(|it| match field {
                Some(name) => it.name.eq_ignore_ascii_case(name),
                None => true,
            });
            let Some(found) = found.next() else {
                fault = Some(match field {
                    Some(field) => format!("Its {} has no field {field} now.", self.name),
                    None => format!("{} has no value.", self.name),
                });
                continue;
            };
            let Some(text) = &found.text else {
                fault = Some(format!("The value of {} cannot be read.", self.name));
                continue;
            };
            if compare.holds(text, with) {
                return None;
            }
            let dot = if found.name.is_empty() { "" } else { "." };
            fault = Some(format!("Its {}{dot}{} is {text}.", self.name, found.name));
        }
        fault
    }
}

impl Compare {
    fn holds(self, text: &str, with: &str) -> bool {
        // Whole numbers first: not all of them are an f64.
        let order = match (text.parse::<i128>(), with.parse::<i128>()) {
            (Ok(one), Ok(other)) => Some(one.cmp(&other)),
            _ => match (text.parse::<f64>(), with.parse::<f64>()) {
                (Ok(one), Ok(other)) => one.partial_cmp(&other),
                _ => text.eq_ignore_ascii_case(with).then_some(Ordering::Equal),
            },
        };
        // NaN has no order, but is found by its name.
        let is_equal = order.map_or(text == with, Ordering::is_eq);
        match self {
            Self::Less => order.is_some_and(Ordering::is_lt),
            Self::LessOrEqual => order.is_some_and(Ordering::is_le),
            Self::More => order.is_some_and(Ordering::is_gt),
            Self::MoreOrEqual => order.is_some_and(Ordering::is_ge),
            Self::Equal => is_equal,
            Self::NotEqual => !is_equal,
        }
    }
}

/// Returns why the last choice of an entity is not this one, or `None` if it is.
fn choice_fault(world: &World, entity: Entity, what: &str) -> Option<String> {
    let log = world.resource::<DecisionLog>().ok().filter(|log| log.is_watched(entity));
    let Some(log) = log else {
        return Some("Its decisions are not written down: it is not watched.".to_owned());
    };
    let mut decisions = log.decisions(entity);
    // A path is what became of a choice.
    decisions.retain(|it| it.engine != Engine::Paths);
    // Several decision engines of one agent may decide in the same tick.
    let last = decisions.last().map(|last| last.tick);
    let candidates =
        decisions.iter().filter(|it| Some(it.tick) == last).flat_map(|it| &it.candidates);
    let chosen = candidates.filter(|it| it.verdict == Verdict::Chosen).map(|it| &*it.name);
    let chosen: Vec<&str> = chosen.collect();
    (!chosen.iter().any(|name| is_choice(name, what))).then(|| match chosen.is_empty() {
        true => "It has chosen nothing since it is watched.".to_owned(),
        false => format!("It has chosen {}.", chosen.join(" and ")),
    })
}

/// Whether the name of a choice begins with these words, which are in lower case.
fn is_choice(name: &str, what: &str) -> bool {
    let name = name.to_lowercase();
    name.strip_prefix(what).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}

/// Returns a hint for a choice that is waited for and that no agent has had so far: the choices that are
/// known. Returns `None` while the choice is among those that were decided on.
pub(super) fn unknown_choice(world: &World, agent: Entity, what: &str) -> Option<String> {
    let mut known: Vec<Label> = match (world.get::<Body>(agent), world.resource::<ActionNames>()) {
        (Ok(body), Ok(names)) => (0..).map_while(|action| names.name(body, action)).collect(),
        _ => Vec::new(),
    };
    if let Ok(log) = world.resource::<DecisionLog>() {
        let agents = std::iter::once(agent).chain(log.agents().take(AGENTS_TOLD));
        let decisions = agents.flat_map(|agent| log.decisions(agent));
        let decisions = decisions.filter(|it| it.engine != Engine::Paths);
        known.extend(decisions.flat_map(|it| it.candidates.into_iter().map(|one| one.name)));
    }
    known.sort_unstable();
    known.dedup();
    let is_known = known.iter().any(|name| is_choice(name, what));
    (!is_known).then(|| match known.len() {
        0 => "Nothing was decided since it is waited for.".to_owned(),
        count => {
            let more = if count > CHOICES_TOLD { ", ..." } else { "" };
            known.truncate(CHOICES_TOLD);
            format!("No agent has chosen `{what}`; known are {}{more}.", known.join(", "))
        }
    })
}

/// Whether `is_it` accepts the name of a component or the text of a value.
fn any_text(world: &World, entity: Entity, is_it: impl Fn(&str) -> bool) -> bool {
    components(world, entity).iter().any(|&id| {
        let name = world.component_info(id).map(|info| short_name(info.name()));
        let fields = world.by_id().fields(entity, id).unwrap_or_default();
        name.is_ok_and(|name| is_it(&name))
            || fields.iter().flat_map(|it| &it.text).any(|it| is_it(it))
    })
}

/// Returns the components of an entity; none if it is despawned.
pub(super) fn components(world: &World, entity: Entity) -> &[ComponentId] {
    match world.place_of(entity) {
        Ok(place) => world.archetypes()[place.archetype.index()].components().ids(),
        Err(_) => &[],
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::With(named) => f.write_str(&named.name),
            Self::Without(named) => write!(f, "without {}", named.name),
            Self::Value { of, field, compare, with } => {
                let sign = SIGNS.iter().find(|(_, known)| known == compare);
                let field = field.iter().map(|field| format!(".{field}")).collect::<String>();
                write!(f, "{}{field} {} {with}", of.name, sign.map_or("", |(sign, _)| sign))
            }
            Self::Text(text) => write!(f, "\"{text}\""),
            Self::Called(name) => write!(f, "{name}"),
            Self::Chooses(what) => write!(f, "chooses {what}"),
        }
    }
}

#[cfg(test)]
mod tests;
