//! Recording commands, and playing them: together in the world, one by one on the model.

use std::collections::BTreeMap;
use std::sync::Arc;

use ecs_core::{CommandBuffer, CommandFailure, CommandFailureReason, ComponentError, Entity};

use super::super::model::{Holding, Model};
use super::super::parts::{Kind, Seed};
use super::super::shapes::Values;
use super::super::{Command, Who};
use super::{Run, remove_from, set_enabled_in, values_of};

/// What the model expects a recorded command to do.
pub(super) struct Pending {
    pub(super) sort_key: u64,
    pub(super) entity: Entity,
    pub(super) action: Action,
}

pub(super) enum Action {
    Spawn(Values),
    Insert(Values),
    Remove(Vec<Kind>),
    SetEnabled(Kind, bool),
    Despawn,
    /// A call that removes these, or despawns.
    Call(Option<Vec<Kind>>),
}

/// A command buffer and what the model knows about it.
pub(super) struct Recording {
    pub(super) buffer: CommandBuffer,
    pub(super) pending: Vec<Pending>,
    /// The deferred entities that can be named in it.
    pub(super) deferred: Vec<Entity>,
}

impl Run {
    pub(super) fn record(&mut self, buffer: usize, sort_key: u64, command: &Command) {
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
                (shape.fns().record_remove)(&mut self.recordings[buffer].buffer, entity);
                (entity, Action::Remove((shape.fns().kinds)()))
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
                let remove = shape.map(|shape| shape.fns().remove);
                self.recordings[buffer].buffer.run_with(
                    entity,
                    move |world, entity| match remove {
                        Some(remove) => drop(remove(world, entity)),
                        None => drop(world.despawn(entity)),
                    },
                );
                (entity, Action::Call(shape.map(|shape| (shape.fns().kinds)())))
            }
        };
        let recording = &mut self.recordings[buffer];
        recording.pending.push(Pending { sort_key, entity, action });
        assert_eq!(recording.buffer.len(), recording.pending.len());
    }

    pub(super) fn play(&mut self, which: std::ops::Range<usize>) {
        let recordings = &mut self.recordings[which];
        let mut queue = Vec::new();
        let mut seen = Vec::new();
        let mut buffers = Vec::new();
        for (index, recording) in recordings.iter_mut().enumerate() {
            queue.extend(recording.pending.drain(..).map(|pending| (index, pending)));
            seen.append(&mut recording.deferred);
            let empty = CommandBuffer::new(&self.world);
            buffers.push(std::mem::replace(&mut recording.buffer, empty));
        }
        queue.sort_by_key(|(index, pending)| (pending.sort_key, *index));
        let playback = CommandBuffer::play_all(&mut buffers, &mut self.world);
        for (recording, buffer) in recordings.iter_mut().zip(buffers) {
            assert!(buffer.is_empty());
            recording.buffer = buffer;
        }

        let (applied, failures) = self.play_on_model(queue);
        assert_eq!(playback.failures(), failures);
        assert_eq!(playback.applied_count(), applied);
        self.handles.append(&mut seen);
    }

    fn play_on_model(&mut self, queue: Vec<(usize, Pending)>) -> (usize, Vec<CommandFailure>) {
        // By buffer, since a deferred entity means something only in its own.
        let mut spawned = BTreeMap::new();
        for (index, pending) in &queue {
            if matches!(pending.action, Action::Spawn(_)) {
                let entity = self.model.allocate();
                self.handles.push(entity);
                _ = spawned.insert((*index, pending.entity), entity);
            }
        }
        let (mut applied, mut failures) = (0, Vec::new());
        for (index, Pending { sort_key, entity, action }) in queue {
            let map = |entity| spawned.get(&(index, entity)).copied().unwrap_or(entity);
            let entity = map(entity);
            match play_one(&mut self.model, entity, &action, map) {
                Ok(()) => applied += 1,
                Err(reason) => {
                    let command = match action {
                        Action::Spawn(_) => "spawn",
                        Action::Insert(_) => "insert",
                        Action::Remove(_) => "remove",
                        Action::SetEnabled(..) => "set_enabled",
                        Action::Despawn => "despawn",
                        Action::Call(_) => "run",
                    };
                    failures.push(CommandFailure { sort_key, command, entity, reason });
                }
            }
        }
        (applied, failures)
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

fn play_one(
    model: &mut Model,
    entity: Entity,
    action: &Action,
    map: impl Fn(Entity) -> Entity,
) -> Result<(), CommandFailureReason> {
    let mapped = |kind: Kind, value: u64| match kind {
        Kind::Link => map(Entity::from_bits(value).expect("a handle")).to_bits(),
        _ => value,
    };
    let reason = |error| match error {
        ComponentError::NoSuchEntity(_) => CommandFailureReason::NoSuchEntity,
        ComponentError::Missing(missing) => {
            CommandFailureReason::MissingComponent(missing.component)
        }
        ComponentError::NotEnableable { component } => {
            CommandFailureReason::NotEnableable(component)
        }
        other => panic!("unheard of: {other}"),
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
        _ if entity.is_deferred() => return Err(CommandFailureReason::ForeignDeferred),
        _ => {}
    }
    match action {
        Action::Spawn(values) => {
            let mut holding = Holding::default();
            for &(kind, value) in values {
                holding.insert(kind, mapped(kind, value));
            }
            let kinds: Vec<Kind> = values.iter().map(|&(kind, _)| kind).collect();
            model.arrive(entity, holding, Some(&kinds));
            Ok(())
        }
        Action::Insert(values) => {
            if !model.entities.contains_key(&entity) {
                return Err(CommandFailureReason::NoSuchEntity);
            }
            let mapped: Values =
                values.iter().map(|&(kind, value)| (kind, mapped(kind, value))).collect();
            model.insert(entity, &mapped);
            Ok(())
        }
        Action::Remove(kinds) => remove_from(model, entity, kinds).map(drop).map_err(reason),
        Action::SetEnabled(kind, enabled) => {
            set_enabled_in(model, entity, *kind, *enabled).map(drop).map_err(reason)
        }
        Action::Despawn if model.despawn(entity) => Ok(()),
        Action::Despawn | Action::Call(_) => Err(CommandFailureReason::NoSuchEntity),
    }
}
