//! Queries of any shape, put together at random: by id, with the model beside them; claims of
//! many entities at once; and enabled bits that are flipped while a query runs.

use std::collections::BTreeSet;

use arbitrary::Arbitrary;
use formic_ecs::{Claimant, DynamicQuery, DynamicRow, EnabledMut, Entity, TermError, With, World};

use super::model::{Holding, Model};
use super::parts::{Active, Fuel, Kind, Part, Position};

/// What a query asks of one component.
#[derive(Arbitrary, Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Read,
    Write,
    Optional,
    OptionalWrite,
    With,
    Without,
    Present,
    Disabled,
    Changed,
    Added,
}

impl Role {
    fn is_term(self) -> bool {
        matches!(self, Self::Read | Self::Write | Self::Optional | Self::OptionalWrite)
    }

    fn writes(self) -> bool {
        matches!(self, Self::Write | Self::OptionalWrite)
    }

    /// Whether only rows pass that have the component enabled.
    fn asks_for_enabled(self) -> bool {
        matches!(self, Self::Read | Self::Write | Self::With | Self::Changed | Self::Added)
    }
}

/// In which way the rows are walked.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Ask {
    Rows,
    ForEach,
    Cell,
    Get,
}

/// A query by id, and how it is asked.
#[derive(Arbitrary, Clone, Debug)]
pub(crate) struct Question {
    parts: [Option<(Kind, Role)>; 5],
    ask: Ask,
    value: u8,
}

impl Question {
    /// Of the kinds, the model keeps the versions of one.
    fn parts(&self) -> impl Iterator<Item = (Kind, Role)> + Clone + '_ {
        self.parts.iter().flatten().map(|&(kind, role)| match role {
            Role::Changed | Role::Added => (Kind::Fuel, role),
            _ => (kind, role),
        })
    }

    fn terms(&self) -> Vec<(Kind, Role)> {
        self.parts().filter(|(_, role)| role.is_term()).collect()
    }

    /// The query, if the world makes one of it; it must where no two parts contradict each other.
    pub(crate) fn build(&self, world: &mut World) -> Option<DynamicQuery> {
        let mut builder = DynamicQuery::builder();
        for (kind, role) in self.parts() {
            let id = (kind.fns().id)(world);
            builder = match role {
                Role::Read => builder.read(id),
                Role::Write => builder.write(id),
                Role::Optional => builder.optional(id),
                Role::OptionalWrite => builder.optional_write(id),
                Role::With => builder.with(id),
                Role::Without => builder.without(id),
                Role::Present => builder.present(id),
                Role::Disabled => builder.disabled(id),
                Role::Changed => builder.changed(id),
                Role::Added => builder.added(id),
            };
        }
        let built = builder.build(world);
        assert_eq!(built.is_ok(), !self.is_contradictory(), "{self:?}: {:?}", built.err());
        built.ok()
    }

    fn is_contradictory(&self) -> bool {
        let terms = self.terms();
        let twice = terms.iter().enumerate().any(|(place, (kind, role))| {
            let others = terms[place + 1..].iter().filter(|(other, _)| other == kind);
            others.into_iter().any(|(_, other)| role.writes() || other.writes())
        });
        twice
            || Kind::ALL.into_iter().any(|kind| {
                let roles = || self.parts().filter(move |part| part.0 == kind).map(|part| part.1);
                let asked = |role| roles().any(|other| other == role);
                let enabled = roles().any(Role::asks_for_enabled);
                let there = enabled || asked(Role::Present) || asked(Role::Disabled);
                let enableable = kind.fns().enableable;
                (asked(Role::Disabled) && !enableable)
                    || (enabled && (asked(Role::Without) || asked(Role::Disabled)))
                    || (there && asked(Role::Without) && !enableable)
            })
    }

    fn matches(&self, model: &Model, entity: Entity, held: &Holding, clock: u64) -> bool {
        self.parts().all(|(kind, role)| match role {
            Role::Optional | Role::OptionalWrite => true,
            Role::Read | Role::Write | Role::With => held.enabled(kind).is_some(),
            Role::Without => held.enabled(kind).is_none(),
            Role::Present => held.has(kind),
            Role::Disabled => held.is_disabled(kind),
            Role::Changed => model.is_new(entity, clock).0,
            Role::Added => model.is_new(entity, clock).1,
        })
    }

    /// Asks for what is new since some version, and compares what is found; writes what is to be
    /// written, on both sides.
    pub(crate) fn ask(
        &self,
        query: &mut DynamicQuery,
        world: &mut World,
        model: &mut Model,
        (version, clock): (u64, u64),
    ) {
        let terms = self.terms();
        let value = u64::from(self.value);
        let asks_for_prefabs = self.parts().any(|(kind, _)| kind == Kind::Prefab);
        let is_met = |held: &Holding| !held.2 && (asks_for_prefabs || !held.has(Kind::Prefab));
        let entities = model.entities.iter().filter(|(_, held)| is_met(held));
        let expected: Vec<Entity> = entities
            .filter(|(entity, held)| self.matches(model, **entity, held, clock))
            .map(|(&entity, _)| entity)
            .collect();
        let mut found = Vec::new();
        let mut visit = |mut row: DynamicRow<'_>| {
            let entity = row.entity();
            found.push(entity);
            let held = &model.entities[&entity];
            for (term, &(kind, role)) in terms.iter().enumerate() {
                let said = held.enabled(kind).ok_or(TermError::Absent);
                assert_eq!((kind.fns().read_term)(&row, term), said, "{kind:?} of {entity}");
                if role.writes() {
                    assert_eq!((kind.fns().set_term)(&mut row, term, value), said.map(|_| ()));
                }
            }
        };
        match self.ask {
            Ask::Rows => {
                let rows = world.query_by_id(query).expect("this world's").since(version);
                rows.into_iter().for_each(visit);
            }
            Ask::ForEach => {
                let rows = world.query_by_id(query).expect("this world's").since(version);
                assert_eq!(rows.count(), expected.len());
                rows.for_each(visit);
            }
            Ask::Cell => {
                let mut rows = world.cell().query_by_id(query).expect("nobody else is here");
                rows.rows().since(version).into_iter().for_each(visit);
            }
            Ask::Get => {
                let mut rows = world.query_by_id(query).expect("this world's").since(version);
                for &entity in model.entities.keys() {
                    if let Ok(row) = rows.get(entity) {
                        visit(row);
                    }
                }
            }
        }
        found.sort_unstable();
        assert_eq!(found, expected, "{self:?} since {version}");
        for (kind, role) in terms {
            for entity in expected.iter().filter(|_| role.writes()) {
                if let Some(held) = model.entities.get_mut(entity) {
                    if held.enabled(kind).is_some() {
                        held.set(kind, value);
                    }
                }
            }
        }
    }
}

/// Claims these entities, all at once, and writes to those that could be had.
pub(crate) fn claim_many(world: &mut World, model: &mut Model, entities: &[Entity], value: u64) {
    let mut plan = world.claim_plan::<(&mut Position, Option<&Fuel>)>();
    let mut rows = world.plan::<Claimant<'_>>();
    let cell = world.cell();
    let view = cell.claims(&mut plan).expect("nobody else is here");
    let mut rows = cell.query(&mut rows).expect("nobody else is here");
    let Some(row) = rows.query().first() else { return };
    let mut claims = Vec::new();
    let mut claimed = BTreeSet::new();
    for &entity in entities {
        let held = model.entities.get(&entity);
        let free = held.is_some_and(|held| held.has(Kind::Position)) && !claimed.contains(&entity);
        let claim = view.claim(&row, entity);
        assert_eq!(claim.is_ok(), free, "the claim of {entity}");
        claims.extend(claim);
        if free {
            _ = claimed.insert(entity);
        }
    }
    for claim in &mut claims {
        claim.get_mut().0.set(value);
    }
    drop(claims);
    for entity in claimed {
        assert!(view.claim(&row, entity).is_ok(), "what was let go can be claimed");
        if let Some(held) = model.entities.get_mut(&entity) {
            held.set(Kind::Position, value);
        }
    }
}

/// Flips bits of some entities while a query walks those for which they are on. What is not
/// flipped is found or not as ever; nothing is found twice.
pub(crate) fn flip_meanwhile(world: &mut World, model: &mut Model, flipped: &[Entity], on: bool) {
    let mut found = Vec::new();
    let mut plan = world.plan_filtered::<(Entity, &Position), With<Active>>();
    let mut bits = world.view_plan::<EnabledMut<Active>>();
    let cell = world.cell();
    let bits = cell.view(&mut bits).expect("bits are nobody's");
    let mut query = cell.query(&mut plan).expect("bits are nobody's");
    let mut next = flipped.iter();
    for (entity, position) in query.query() {
        assert_eq!(Some(position.value()), model.entities[&entity].get(Kind::Position));
        found.push(entity);
        if let Some(&entity) = next.next() {
            let has = model.entities.get(&entity).is_some_and(|held| held.has(Kind::Active));
            assert_eq!(bits.set(entity, on).is_ok(), has);
        }
    }
    let walked = found.len();
    found.sort_unstable();
    found.dedup();
    assert_eq!(found.len(), walked, "a row came twice");
    let touched = &flipped[..flipped.len() - next.len()];
    for (&entity, held) in &mut model.entities {
        let expected = held.is_visible()
            && held.enabled(Kind::Active).is_some()
            && held.enabled(Kind::Position).is_some();
        if touched.contains(&entity) {
            if let Some(active) = held.0.get_mut(&Kind::Active) {
                active.enabled = on;
            }
        } else {
            assert_eq!(found.binary_search(&entity).is_ok(), expected, "{entity}");
        }
    }
}

/// Programs that are mostly queries, each after a change or two.
#[derive(Arbitrary, Clone, Debug)]
enum Step {
    Crowd { shape: super::Shape, value: u8, count: u8 },
    Ask { question: Question, mark: u8, again: u8 },
    Sweep { change: super::Change, walk: super::Walk, value: u8 },
    Claim { who: [super::Who; 6], value: u8 },
    Flip { who: [super::Who; 4], on: bool },
    Mark,
    Direct(super::Op),
}

pub(super) fn program(bytes: &[u8]) -> Vec<super::Op> {
    let mut bytes = arbitrary::Unstructured::new(bytes);
    let mut ops = Vec::new();
    while !bytes.is_empty() && ops.len() < super::OPS_MAX {
        let Ok(step) = bytes.arbitrary() else { break };
        ops.push(match step {
            Step::Crowd { shape, value, count } => {
                super::Op::SpawnBatch { shape, value, link: super::Who(value), count: count % 48 }
            }
            Step::Ask { question, mark, again } => super::Op::Ask { question, mark, again },
            Step::Sweep { change, walk, value } => super::Op::Sweep { change, walk, value },
            Step::Claim { who, value } => super::Op::ClaimMany { who, value },
            Step::Flip { who, on } => super::Op::FlipMeanwhile { who, on },
            Step::Mark => super::Op::Mark,
            Step::Direct(op) => op,
        });
    }
    ops
}
