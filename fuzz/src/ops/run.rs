//! Runs operations on a world and on the model of it, and compares the two.

mod playback;
mod snapshots;
mod society;

use std::sync::Arc;

use formic_ecs::{
    ByIdError, ComponentError, DynamicQuery, Entity, MissingComponent, NoSuchEntity, Snapshot,
    World,
};

use super::bulk::{self, Deed};
use super::by_id;
use super::model::{Held, Holding, Model};
use super::parts::{Kind, Ledger, Seed, keep_books_in};
use super::queries::{self, LOOKS};
use super::questions::{self, Question};
use super::shapes::{Shape, Values};
use super::watch::Log;
use super::{Buffers, Op, Way, Who};
use playback::{Action, Recording};
pub(super) use snapshots::empty_world;

/// Above this, operations that make entities are passed over.
const ENTITIES_MAX: usize = if cfg!(miri) { 40 } else { 1200 };
const BUFFERS: usize = 3;
const MARKS_MAX: usize = 4;
const QUESTIONS_MAX: usize = 4;

pub(crate) struct Run {
    world: World,
    model: Model,
    ledger: Arc<Ledger>,
    recordings: Vec<Recording>,
    /// Every handle that was ever seen.
    handles: Vec<Entity>,
    /// Versions of the world, and what the model's clock said then.
    marks: Vec<(u64, u64)>,
    saved: Option<(Snapshot, Model)>,
    /// Queries that were asked before, to be asked again.
    questions: Vec<(Question, DynamicQuery)>,
    /// Whether it goes on in another world where it may.
    moves: bool,
}

impl Run {
    pub(crate) fn new(moves: bool) -> Self {
        let world = empty_world();
        let recordings = (0..BUFFERS).map(|_| Recording::new(&world)).collect();
        let elsewhere = World::new().spawn(());
        let bogus = [0x1_0000_0000, 0x7FFF_FFFF_FFFF_FFFF, u64::MAX];
        let mut handles: Vec<Entity> = bogus.into_iter().filter_map(Entity::from_bits).collect();
        handles.push(elsewhere);
        let ledger = Arc::default();
        keep_books_in(&ledger);
        Self {
            world,
            model: Model::default(),
            ledger,
            recordings,
            handles,
            marks: vec![(0, 0)],
            saved: None,
            questions: Vec::new(),
            moves,
        }
    }

    /// The entity that is meant.
    fn pick(&self, who: Who) -> Entity {
        let number = usize::from(who.0);
        let live = self.model.entities.len();
        if number < 216 && live > 0 {
            let nth = number * 7919 % live;
            *self.model.entities.keys().nth(nth).expect("below the count")
        } else {
            self.handles[number * 7919 % self.handles.len()]
        }
    }

    /// The entity that is meant inside a component. Not a deferred one: these differ from run to
    /// run, and the hash with them.
    fn pick_link(&self, who: Who) -> Entity {
        Some(self.pick(who)).filter(|entity| !entity.is_deferred()).unwrap_or(self.handles[0])
    }

    fn has_room(&self, count: usize) -> bool {
        self.model.entities.len() + count <= ENTITIES_MAX
    }

    fn remember(&mut self, entity: Entity, holding: Holding, kinds: &[Kind]) {
        self.handles.push(entity);
        self.model.arrive(entity, holding, Some(kinds));
    }

    pub(crate) fn apply(&mut self, op: &Op) {
        match *op {
            Op::Spawn { shape, value, link } => self.spawn(shape, value, link),
            Op::SpawnBatch { shape, value, link, count } => {
                self.spawn_batch(shape, value, link, count);
            }
            Op::Insert { who, shape, value, link } => self.insert(who, shape, value, link),
            Op::Remove { who, shape } => self.remove(who, shape),
            Op::Despawn { who } => self.despawn(self.pick(who)),
            Op::Thin { step } => {
                let step = usize::from(step % 6) + 2;
                let gone: Vec<_> = self.model.entities.keys().step_by(step).copied().collect();
                gone.into_iter().for_each(|entity| self.despawn(entity));
            }
            Op::SetEnabled { who, kind, enabled } => self.set_enabled(who, kind, enabled),
            Op::Instantiate { who, count } => self.instantiate(who, usize::from(count % 5), None),
            Op::InstantiateWith { who, count, value, link } => {
                self.instantiate(who, usize::from(count % 5), Some((value, link)));
            }
            Op::Poke { who, kind, value, way } => self.poke(who, kind, u64::from(value), way),
            Op::Sweep { change, walk, value } => {
                let value = u64::from(value);
                let visited = queries::change_world(&mut self.world, change, walk, value);
                assert_eq!(visited, queries::change_model(&mut self.model, change, value));
            }
            Op::Record { buffer, sort_key, ref command } => {
                self.record(usize::from(buffer), u64::from(sort_key % 4), command);
            }
            Op::Play { buffers: Buffers::All } => self.play(0..BUFFERS),
            Op::Play { buffers: Buffers::One(buffer) } => {
                let index = usize::from(buffer) % self.recordings.len();
                self.play(index..index + 1);
            }
            Op::Append { into, from } => self.append(usize::from(into), usize::from(from)),
            Op::Forget { buffer, drop } => {
                self.forget(usize::from(buffer) % self.recordings.len(), drop);
            }
            Op::Mark => {
                if self.marks.len() == MARKS_MAX {
                    _ = self.marks.remove(1);
                }
                self.marks.push((self.world.version(), self.model.clock));
            }
            Op::Rotate { who, view } => {
                let entities = who.map(|who| self.pick(who));
                let rotated = queries::rotate_in_world(&mut self.world, entities, view);
                assert_eq!(rotated, queries::rotate_in_model(&mut self.model, entities, view));
            }
            Op::Ask { ref question, mark, again } => self.ask(question, mark, again),
            Op::ClaimMany { who, value } => {
                let entities = who.map(|who| self.pick(who));
                let value = u64::from(value);
                questions::claim_many(&mut self.world, &mut self.model, &entities, value);
            }
            Op::FlipMeanwhile { who, on } => {
                let entities = who.map(|who| self.pick(who));
                questions::flip_meanwhile(&mut self.world, &mut self.model, &entities, on);
            }
            Op::Save => self.save(),
            Op::Restore { sure } => {
                if sure < 128 {
                    self.restore();
                }
            }
            Op::Move => self.move_on(),
            Op::Tamper { changes } => self.tamper(&changes),
            Op::Compact { collect } => self.compact(collect),
            Op::Relate { bond, source, target } => self.relate(bond, source, target),
            Op::Unrelate { bond, source, nth } => self.unrelate(bond, source, usize::from(nth)),
            Op::Watch { watched, is_hook, sure } => {
                // Where an observer watches, the short ways are not taken.
                if sure < 12 {
                    self.watch(watched, is_hook);
                }
            }
            Op::Bulk { crowd, deed, value, is_recorded, sure } => {
                if sure < 64 || !matches!(deed, Deed::Despawn) {
                    let (value, link) = (u64::from(value), self.handles[0]);
                    let seed = Seed { value, link, ledger: &self.ledger };
                    let what = (crowd, deed);
                    bulk::change(&mut self.world, &mut self.model, &seed, what, is_recorded);
                }
            }
            Op::Clear { sure } => {
                // Who is watched goes alone, in the order of the archetypes.
                if sure < 40 && !self.model.watches.watch_departures() {
                    self.world.clear();
                    self.model.clear();
                }
            }
        }
    }

    fn ask(&mut self, question: &Question, mark: u8, again: u8) {
        let mark = self.marks[usize::from(mark) % self.marks.len()];
        let (world, model) = (&mut self.world, &mut self.model);
        if self.questions.is_empty() || again % 2 == 0 {
            let Some(query) = question.build(world) else { return };
            if self.questions.len() == QUESTIONS_MAX {
                drop(self.questions.remove(0));
            }
            self.questions.push((question.clone(), query));
        }
        let which = usize::from(again / 2) % self.questions.len();
        let (question, query) = &mut self.questions[which];
        question.ask(query, world, model, mark);
    }

    fn compact(&mut self, collect: bool) {
        let order: Vec<Entity> = self.world.entities().collect();
        if collect {
            _ = self.world.collect_archetypes();
            assert!(self.world.archetypes().iter().skip(1).all(|archetype| !archetype.is_empty()));
        }
        self.world.compact();
        let stats = self.world.stats();
        assert_eq!((stats.pool_bytes, stats.spare_chunk_count()), (0, 0));
        assert!(self.world.entities().eq(order));
    }

    fn spawn(&mut self, shape: Shape, value: u8, link: Who) {
        if !self.has_room(1) {
            return;
        }
        let link = self.pick_link(link);
        let seed = Seed { value: u64::from(value), link, ledger: &self.ledger };
        let kinds = (shape.fns().kinds)();
        let holding = held_by(&kinds, &seed);
        let entity = if is_by_id(value) {
            by_id::spawn(&mut self.world, &kinds, &seed, 1).expect("by id as by type")[0]
        } else {
            (shape.fns().spawn)(&mut self.world, &seed)
        };
        assert_eq!(entity, self.model.allocate());
        self.remember(entity, holding, &kinds);
    }

    fn spawn_batch(&mut self, shape: Shape, value: u8, link: Who, count: u8) {
        // Few, as a rule; now and then enough for several chunks.
        let count = usize::from(if count < 200 { count % 12 } else { count });
        if !self.has_room(count) {
            return;
        }
        let link = self.pick_link(link);
        let seed = Seed { value: u64::from(value), link, ledger: &self.ledger };
        let spawned = if is_by_id(value) {
            let kinds = (shape.fns().kinds)();
            by_id::spawn(&mut self.world, &kinds, &seed, count).expect("by id as by type")
        } else {
            (shape.fns().spawn_batch)(&mut self.world, &seed, count)
        };
        assert_eq!(spawned.len(), count);
        let ledger = Arc::clone(&self.ledger);
        for (offset, entity) in spawned.into_iter().enumerate() {
            let seed = Seed { value: u64::from(value), link, ledger: &ledger }.nth(offset);
            assert_eq!(entity, self.model.allocate());
            let kinds = (shape.fns().kinds)();
            self.remember(entity, held_by(&kinds, &seed), &kinds);
        }
    }

    fn insert(&mut self, who: Who, shape: Shape, value: u8, link: Who) {
        let (entity, link) = (self.pick(who), self.pick_link(link));
        let seed = Seed { value: u64::from(value), link, ledger: &self.ledger };
        let values = values_of(&(shape.fns().kinds)(), &seed);
        let is_there = self.model.entities.contains_key(&entity);
        if is_by_id(value) && is_there {
            for (kind, value) in values {
                by_id::insert(&mut self.world, entity, kind, &seed).expect("by id as by type");
                self.model.insert(entity, &[(kind, value)]);
            }
            return;
        }
        let inserted = (shape.fns().insert)(&mut self.world, entity, &seed);
        if is_there {
            assert_eq!(inserted, Ok(()));
            self.model.insert(entity, &values);
        } else {
            assert_eq!(inserted, Err((entity, values)), "the bundle comes back");
        }
    }

    fn remove(&mut self, who: Who, shape: Shape) {
        let entity = self.pick(who);
        if is_by_id(who.0) {
            for kind in (shape.fns().kinds)() {
                let id = (kind.fns().id)(&mut self.world);
                let removed = self.world.by_id_mut().remove(entity, id);
                assert_eq!(removed, remove_by_id_from(&mut self.model, entity, kind));
            }
            return;
        }
        let removed = (shape.fns().remove)(&mut self.world, entity);
        assert_eq!(removed, remove_from(&mut self.model, entity, &(shape.fns().kinds)()));
    }

    fn despawn(&mut self, entity: Entity) {
        let despawned = self.world.despawn(entity);
        let expected = self.model.despawn(entity);
        assert_eq!(despawned, if expected { Ok(()) } else { Err(NoSuchEntity(entity)) });
    }

    fn set_enabled(&mut self, who: Who, kind: Kind, enabled: bool) {
        let entity = self.pick(who);
        let expected = set_enabled_in(&mut self.model, entity, kind, enabled);
        if is_by_id(who.0) {
            let id = (kind.fns().id)(&mut self.world);
            let before = self.world.by_id_mut().set_enabled(entity, id, enabled);
            assert_eq!(before, expected.map_err(|error| as_by_id(error, kind)));
        } else {
            let before = (kind.fns().set_enabled)(&mut self.world, entity, enabled);
            assert_eq!(before, expected);
        }
    }

    fn poke(&mut self, who: Who, kind: Kind, value: u64, way: Way) {
        let entity = self.pick(who);
        let fns = kind.fns();
        let poke = match way {
            Way::GetMut => fns.get_mut,
            Way::View => fns.view,
            Way::Claim => fns.claim,
            Way::QueryOne => fns.query_one,
            Way::ById => fns.poke_by_id,
        };
        let poked = poke(&mut self.world, entity, value);
        let holding = self.model.entities.get_mut(&entity);
        let expected = holding.as_ref().is_some_and(|holding| match way {
            // Queries pass over what is disabled; to be asked for one entity is another matter.
            Way::QueryOne => {
                let is_named = kind == Kind::Prefab && !holding.2;
                (holding.is_visible() || is_named) && holding.enabled(kind).is_some()
            }
            _ => holding.has(kind),
        });
        assert_eq!(poked, expected, "{kind:?} of {entity} by {way:?}");
        if let Some(holding) = holding.filter(|_| poked) {
            holding.set(kind, value);
        }
    }

    pub(crate) fn state_hash(&self) -> u64 {
        self.world.state_hash().value()
    }

    /// Compares everything that can be seen.
    pub(crate) fn verify(&mut self, number: usize, op: &Op) {
        self.model.tick();
        let told = std::mem::take(&mut self.world.resource_mut::<Log>().expect("it is there").0);
        let expected = std::mem::take(&mut self.model.watches.told);
        assert_eq!(told, expected, "what watchers were told in {number}, {op:?}");
        if let Err(broken) = self.world.check() {
            panic!("after operation {number}, {op:?}: {broken}");
        }
        assert_eq!(self.world.len(), self.model.entities.len(), "after {number}, {op:?}");
        assert_eq!(self.world.entities().count(), self.model.entities.len());
        for (&entity, holding) in &self.model.entities {
            let (held, listed) = seen(&self.world, entity);
            assert_eq!(&held, holding, "{entity} after {number}, {op:?}");
            self.model.bonds.verify(&self.world, entity);
            let others = usize::from(held.2) + self.model.bonds.list_count(entity);
            assert_eq!(listed, held.0.len() + others, "{entity} after {number}, {op:?}");
        }
        for &handle in &self.handles {
            let is_alive = self.model.entities.contains_key(&handle);
            assert_eq!(self.world.contains(handle), is_alive, "{handle} after {number}, {op:?}");
        }
        queries::look(&mut self.world, &self.model, number);
        let (version, clock) = self.marks[number % self.marks.len()];
        queries::look_since(&mut self.world, &self.model, version, clock);
        assert_eq!(self.ledger.live(), self.expected_live(), "after {number}, {op:?}");
    }

    /// How many `Counted` there must be, in the world and in the buffers.
    fn expected_live(&self) -> i64 {
        let pending = self.recordings.iter().flat_map(|recording| &recording.pending);
        let in_buffers = pending.filter(|pending| match &pending.action {
            Action::Spawn(values) | Action::Insert(values) => {
                values.iter().any(|(kind, _)| *kind == Kind::Counted)
            }
            _ => false,
        });
        let count = self.model.count(Kind::Counted) + in_buffers.count();
        i64::try_from(count).expect("few")
    }

    /// Ends the world, and with it everything that was in it.
    pub(crate) fn finish(mut self) {
        (0..LOOKS).for_each(|which| queries::look(&mut self.world, &self.model, which));
        let Self { world, recordings, ledger, .. } = self;
        drop(world);
        drop(recordings);
        assert_eq!(ledger.live(), 0, "something was leaked or dropped twice");
    }
}

fn values_of(kinds: &[Kind], seed: &Seed<'_>) -> Values {
    kinds.iter().map(|&kind| (kind, kind.value_of(seed))).collect()
}

fn held_by(kinds: &[Kind], seed: &Seed<'_>) -> Holding {
    let mut holding = Holding::default();
    values_of(kinds, seed).into_iter().for_each(|(kind, value)| holding.insert(kind, value));
    holding
}

/// What the world says about an entity, and how many components it lists.
fn seen(world: &World, entity: Entity) -> (Holding, usize) {
    let mut holding = Holding::default();
    holding.2 = world.has::<formic_ecs::Despawned>(entity);
    let listed = world.components_of(entity).expect("it is alive");
    for kind in Kind::ALL {
        let fns = kind.fns();
        let read = (fns.read)(world, entity);
        assert_eq!((fns.has)(world, entity), read.is_ok());
        if let Ok((value, enabled)) = read {
            assert!(listed.contains(&((fns.lasting_name)(), enabled)));
            _ = holding.0.insert(kind, Held { value, enabled });
        }
    }
    (holding, listed.len())
}

fn remove_from(
    model: &mut Model,
    entity: Entity,
    kinds: &[Kind],
) -> Result<Values, ComponentError> {
    let holding = model.entities.get(&entity).ok_or(NoSuchEntity(entity))?;
    if let Some(missing) = kinds.iter().find(|&&kind| !holding.has(kind)) {
        return Err(MissingComponent { entity, component: missing.fns().name }.into());
    }
    Ok(model.remove(entity, kinds))
}

/// Whether an operation with this number goes by component ids.
pub(super) fn is_by_id(number: u8) -> bool {
    number % 4 == 3
}

pub(super) fn remove_by_id_from(
    model: &mut Model,
    entity: Entity,
    kind: Kind,
) -> Result<(), ByIdError> {
    let removed = remove_from(model, entity, &[kind]);
    removed.map(drop).map_err(|error| as_by_id(error, kind))
}

/// What a call by id says instead.
fn as_by_id(error: ComponentError, kind: Kind) -> ByIdError {
    let component = (kind.fns().lasting_name)();
    match error {
        ComponentError::NoSuchEntity(missing) => missing.into(),
        ComponentError::Missing(MissingComponent { entity, .. }) => {
            ByIdError::Missing { entity, component }
        }
        ComponentError::NotEnableable { .. } => ByIdError::NotEnableable(component),
        other => unreachable!("{other}"),
    }
}

fn set_enabled_in(
    model: &mut Model,
    entity: Entity,
    kind: Kind,
    enabled: bool,
) -> Result<bool, ComponentError> {
    let component = kind.fns().name;
    let holding = model.entities.get_mut(&entity).ok_or(NoSuchEntity(entity))?;
    let held = holding.0.get_mut(&kind).ok_or(MissingComponent { entity, component })?;
    if !kind.fns().enableable {
        return Err(ComponentError::NotEnableable { component });
    }
    Ok(std::mem::replace(&mut held.enabled, enabled))
}
