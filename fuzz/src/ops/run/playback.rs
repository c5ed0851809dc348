//! Recording commands, and playing them: together in the world, one by one on the model.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use formic_ecs::{CommandBuffer, CommandFailure, CommandFailureReason, Entity, World};

use super::super::model::{Holding, Model};
use super::super::parts::{Kind, Seed};
use super::super::shapes::{GIFT, Values};
use super::super::sink;
use super::super::{Command, Who};
use super::{
    BUFFERS, ENTITIES_MAX, Run, is_by_id, remove_by_id_from, remove_from, set_enabled_in, values_of,
};

/// What the model expects a recorded command to do.
#[derive(Clone)]
pub(super) struct Pending {
    pub(super) sort_key: u64,
    pub(super) entity: Entity,
    pub(super) action: Action,
}

#[derive(Clone)]
pub(super) enum Action {
    Spawn(Values),
    Insert(Values),
    Remove(Vec<Kind>),
    RemoveById(Kind),
    SetEnabled(Kind, bool),
    Despawn,
    /// A call that removes these, or despawns.
    Call(Option<Vec<Kind>>),
    /// Copies, and what each is given.
    Instantiate(Vec<Values>),
}

/// Recorded commands and what the model knows about them.
pub(super) struct Recording {
    pub(super) buffer: CommandBuffer,
    pub(super) pending: Vec<Pending>,
    /// The deferred entities that can be named in it.
    pub(super) deferred: Vec<Entity>,
}

impl Recording {
    pub(super) fn new(world: &World) -> Self {
        Self { buffer: CommandBuffer::new(world), pending: Vec::new(), deferred: Vec::new() }
    }
}

impl Run {
    pub(super) fn record(&mut self, buffer: usize, sort_key: u64, command: &Command) {
        let buffer = buffer % BUFFERS;
        let target = |run: &Self, who: Who| {
            let deferred = &run.recordings[buffer].deferred;
            let number = usize::from(who.0);
            match deferred.len() {
                0 => run.pick(who),
                len if number % 3 == 0 => deferred[number % len],
                _ => run.pick(who),
            }
        };
        let in_component = |run: &Self, who: Who| {
            let entity = target(run, who);
            let is_foreign =
                entity.is_deferred() && !run.recordings[buffer].deferred.contains(&entity);
            if is_foreign { run.handles[0] } else { entity }
        };
        let ledger = Arc::clone(&self.ledger);
        let seed_of = |run: &Self, value: u8, link: Who| Seed {
            value: u64::from(value),
            link: in_component(run, link),
            ledger: &ledger,
        };
        self.recordings[buffer].buffer.set_sort_key(sort_key);
        let (entity, action) = match *command {
            Command::Spawn { shape, value, link } => {
                let seed = seed_of(self, value, link);
                let Recording { buffer, deferred, .. } = &mut self.recordings[buffer];
                let entity = (shape.fns().record_spawn)(buffer, &seed);
                assert!(entity.is_deferred());
                deferred.push(entity);
                (entity, Action::Spawn(values_of(&(shape.fns().kinds)(), &seed)))
            }
            Command::Insert { who, shape, value, link } => {
                let (entity, seed) = (target(self, who), seed_of(self, value, link));
                (shape.fns().record_insert)(&mut self.recordings[buffer].buffer, entity, &seed);
                (entity, Action::Insert(values_of(&(shape.fns().kinds)(), &seed)))
            }
            Command::Remove { who, shape } => {
                let entity = target(self, who);
                let kinds = (shape.fns().kinds)();
                if let ([kind], true) = (kinds.as_slice(), is_by_id(who.0)) {
                    let id = (kind.fns().id)(&mut self.world);
                    self.recordings[buffer].buffer.remove_by_id(entity, id);
                    (entity, Action::RemoveById(*kind))
                } else {
                    (shape.fns().record_remove)(&mut self.recordings[buffer].buffer, entity);
                    (entity, Action::Remove(kinds))
                }
            }
            Command::SetEnabled { who, kind, enabled } => {
                let entity = target(self, who);
                let record = kind.fns().record_set_enabled;
                record(&mut self.recordings[buffer].buffer, entity, enabled);
                (entity, Action::SetEnabled(kind, enabled))
            }
            Command::Despawn { who } => {
                let entity = target(self, who);
                self.recordings[buffer].buffer.despawn(entity);
                (entity, Action::Despawn)
            }
            Command::Call { who, shape } => {
                let entity = target(self, who);
                sink::call(&mut self.recordings[buffer].buffer, entity, shape);
                (entity, Action::Call(shape.map(|shape| (shape.fns().kinds)())))
            }
            Command::Instantiate { who, count, gift } => {
                let (entity, count) = (target(self, who), usize::from(count % 4));
                let seed = gift.map(|(value, link)| seed_of(self, value, link));
                let values_of_nth = |nth| match &seed {
                    None => Values::new(),
                    Some(seed) => values_of(&GIFT, &seed.nth(nth)),
                };
                let gifts = (0..count).map(values_of_nth).collect();
                let commands = &mut self.recordings[buffer].buffer;
                sink::instantiate(commands, entity, count, seed.as_ref());
                (entity, Action::Instantiate(gifts))
            }
        };
        let recording = &mut self.recordings[buffer];
        recording.pending.push(Pending { sort_key, entity, action });
        assert_eq!(recording.buffer.len(), recording.pending.len());
    }

    pub(super) fn play(&mut self, which: Range<usize>) {
        let mut queue = Vec::new();
        for index in which.clone() {
            let pending = &self.recordings[index].pending;
            queue.extend(pending.iter().map(|pending| (index, pending.clone())));
        }
        queue.sort_by_key(|(index, pending)| (pending.sort_key, *index));
        let Some(expected) = Expected::of(&self.model, queue) else {
            return which.for_each(|index| self.forget(index, false));
        };

        let mut seen = Vec::new();
        let recordings = &mut self.recordings[which];
        let mut buffers = Vec::new();
        for recording in &mut *recordings {
            let other = CommandBuffer::new(&self.world);
            buffers.push(std::mem::replace(&mut recording.buffer, other));
            recording.pending.clear();
            seen.append(&mut recording.deferred);
        }
        let playback = CommandBuffer::play_all(&mut buffers, &mut self.world);
        for (recording, buffer) in recordings.iter_mut().zip(buffers) {
            assert!(buffer.is_empty());
            recording.buffer = buffer;
        }
        assert_eq!(playback.failures(), expected.failures);
        assert_eq!(playback.applied_count(), expected.applied_count);
        self.model = expected.model;
        self.handles.extend(expected.made);
        self.handles.append(&mut seen);
    }

    /// Has one buffer take over what another holds.
    pub(super) fn append(&mut self, into: usize, from: usize) {
        let into = into % BUFFERS;
        let from = (into + 1 + from % (BUFFERS - 1)) % BUFFERS;
        let empty = Recording::new(&self.world);
        let mut other = std::mem::replace(&mut self.recordings[from], empty);
        let recording = &mut self.recordings[into];
        recording.buffer.append(&mut other.buffer);
        assert!(other.buffer.is_empty());
        recording.pending.append(&mut other.pending);
        recording.deferred.append(&mut other.deferred);
        assert_eq!(recording.buffer.len(), recording.pending.len());
        self.recordings[from] = other;
    }

    pub(super) fn forget(&mut self, buffer: usize, drop: bool) {
        let recording = &mut self.recordings[buffer];
        recording.pending.clear();
        self.handles.append(&mut recording.deferred);
        if drop {
            recording.buffer = CommandBuffer::new(&self.world);
        } else {
            recording.buffer.clear();
        }
        assert!(recording.buffer.is_empty());
    }
}

/// What a playback has to make of a model.
struct Expected {
    model: Model,
    applied_count: usize,
    failures: Vec<CommandFailure>,
    /// Who came, whether they are still there or not.
    made: Vec<Entity>,
}

impl Expected {
    /// `None` where there would be too many entities.
    fn of(model: &Model, queue: Vec<(usize, Pending)>) -> Option<Self> {
        let (mut model, mut made) = (model.clone(), Vec::new());
        // By buffer, since a deferred entity means something only in its own.
        let mut spawned = BTreeMap::new();
        for (index, pending) in &queue {
            if matches!(pending.action, Action::Spawn(_)) {
                let entity = model.allocate();
                made.push(entity);
                _ = spawned.insert((*index, pending.entity), entity);
            }
        }
        let (mut applied_count, mut failures) = (0, Vec::new());
        for (index, Pending { sort_key, entity, action }) in queue {
            let map = |entity| spawned.get(&(index, entity)).copied().unwrap_or(entity);
            let entity = map(entity);
            match play_one(&mut model, entity, &action, &mut made, map) {
                Ok(()) => applied_count += 1,
                Err(reason) => {
                    let command = match action {
                        Action::Spawn(_) => "spawn",
                        Action::Insert(_) => "insert",
                        Action::Remove(_) => "remove",
                        Action::RemoveById(_) => "remove_by_id",
                        Action::SetEnabled(..) => "set_enabled",
                        Action::Despawn => "despawn",
                        Action::Call(_) => "run",
                        Action::Instantiate(_) => "instantiate",
                    };
                    failures.push(CommandFailure { sort_key, command, entity, reason });
                }
            }
            // Copies of copies double with each command.
            if model.entities.len() > 2 * ENTITIES_MAX {
                return None;
            }
        }
        Some(Self { model, applied_count, failures, made })
    }
}

fn play_one(
    model: &mut Model,
    entity: Entity,
    action: &Action,
    made: &mut Vec<Entity>,
    map: impl Fn(Entity) -> Entity,
) -> Result<(), CommandFailureReason> {
    let mapped = |kind: Kind, value: u64| match kind {
        Kind::Link => map(Entity::from_bits(value).expect("a handle")).to_bits(),
        _ => value,
    };
    match action {
        // Whether its target is there is the call's business.
        Action::Call(Some(kinds)) => {
            drop(remove_from(model, entity, kinds));
            return Ok(());
        }
        Action::Call(None) => {
            _ = model.despawn(entity);
            return Ok(());
        }
        // The largest handle is no buffer's: it stands for no entity in those calls that are about
        // none, and copies and removals by id are calls.
        Action::Instantiate(_) | Action::RemoveById(_) if entity.to_bits() == u64::MAX => {
            return Err(CommandFailureReason::NoSuchEntity);
        }
        _ if entity.is_deferred() => return Err(CommandFailureReason::ForeignDeferred),
        _ => {}
    }
    let all_mapped = |values: &Values| -> Values {
        values.iter().map(|&(kind, value)| (kind, mapped(kind, value))).collect()
    };
    match action {
        Action::Spawn(values) => {
            let mut holding = Holding::default();
            for (kind, value) in all_mapped(values) {
                holding.insert(kind, value);
            }
            let kinds: Vec<Kind> = values.iter().map(|&(kind, _)| kind).collect();
            model.arrive(entity, holding, Some(&kinds));
            Ok(())
        }
        Action::Insert(values) => {
            if !model.entities.contains_key(&entity) {
                return Err(CommandFailureReason::NoSuchEntity);
            }
            model.insert(entity, &all_mapped(values));
            Ok(())
        }
        Action::Instantiate(gifts) => {
            if !model.is_there(entity) {
                return Err(CommandFailureReason::NoSuchEntity);
            }
            for gift in gifts {
                let copies = model.copy(entity);
                if !gift.is_empty() {
                    model.insert(copies[0], &all_mapped(gift));
                }
                made.extend(copies);
            }
            Ok(())
        }
        Action::Remove(kinds) => remove_from(model, entity, kinds).map(drop).map_err(Into::into),
        Action::RemoveById(kind) => remove_by_id_from(model, entity, *kind).map_err(Into::into),
        Action::SetEnabled(kind, enabled) => {
            set_enabled_in(model, entity, *kind, *enabled).map(drop).map_err(Into::into)
        }
        Action::Despawn if model.despawn(entity) => Ok(()),
        Action::Despawn | Action::Call(_) => Err(CommandFailureReason::NoSuchEntity),
    }
}
