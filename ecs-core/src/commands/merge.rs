//! Several commands on one entity, played as one move of its row.
//!
//! First the commands are walked through without touching a row: which apply, what archetype each
//! would lead to, which bits it would leave. Then the row goes to the last of these archetypes in
//! one step. Of each component, the value that was given last goes into the row; the others, and
//! those in the old row that were replaced or removed, are dropped in the end.

use alloc::vec::Vec;
use core::ops::Range;

use super::stream::Stream;
use super::{Action, Record};
use crate::archetype::{Archetype, ArchetypeId};
use crate::component::{ArchetypeFlags, ComponentId, Registry};
use crate::entities::Location;
use crate::entity::Entity;
use crate::error::{CommandFailure, CommandFailureReason, ComponentError, MissingComponent};
use crate::storage::RowAddress;
use crate::transfer::{Assembly, Bundles, Change, RowFiller};
use crate::world::World;

/// What a group of commands comes to, and memory for it.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The commands that have a bundle and apply, in order.
    bundles: Vec<usize>,
    /// What does not apply, and why.
    pub(super) failures: Vec<CommandFailure>,
    /// The components that came on the way, also those that had been there and were taken.
    added: Vec<ComponentId>,
    /// The bits that commands have set, the last one last.
    bits: Vec<(ComponentId, bool)>,
    /// How the row gets to the last archetype.
    assembly: Assembly,
}

impl Plan {
    /// Drops what a panic has left.
    pub(super) fn clear(&mut self) {
        self.assembly.leftovers.clear();
    }
}

/// Where the entity is in the course of its commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Nowhere,
    In(ArchetypeId),
    /// It was there, and is despawned.
    Gone,
}

/// A group of commands on one entity.
pub(super) struct Group<'a, 's> {
    pub(super) stream: &'a mut Stream<'s>,
    pub(super) world: &'a mut World,
    pub(super) plan: &'a mut Plan,
    pub(super) entity: Entity,
    pub(super) commands: Range<usize>,
}

impl Group<'_, '_> {
    /// Plays all of it; afterwards `plan` says what did not apply. `false` where a hook has to
    /// be told of one of the steps: nothing has happened then.
    pub(super) fn play(mut self) -> bool {
        let from = self.world.locate(self.entity);
        let Some(end) = self.walk(from) else { return false };
        match end {
            Stage::Nowhere => {}
            Stage::Gone => self.despawn(from),
            Stage::In(target) => self.arrive(from, target),
        }
        self.plan.clear();
        // What is left has no place in the world: it did not apply, or its entity is gone.
        while self.stream.next < self.commands.end {
            drop(self.stream.take());
        }
        true
    }

    /// Works out what the commands come to. Touches no row. `None` where a hook has to be told
    /// of what happens on the way.
    fn walk(&mut self, from: Option<Location>) -> Option<Stage> {
        let Self { stream, world, plan, entity, commands } = self;
        let World { bundles, registry, archetypes, entities, .. } = &mut **world;
        plan.bundles.clear();
        plan.failures.clear();
        plan.added.clear();
        plan.bits.clear();
        let mut stage = from.map_or(Stage::Nowhere, |from| Stage::In(from.archetype));
        for index in commands.clone() {
            if let Stage::In(here) = stage {
                if archetypes.get(here).flags != ArchetypeFlags::NONE {
                    return None;
                }
            }
            let Record { sort_key, action, .. } = stream.at(index).1;
            let outcome = match (action, stage) {
                (Action::Spawn(payload), Stage::Nowhere) if entities.is_reserved(*entity) => {
                    let (functions, from) = (payload.functions, ArchetypeId::EMPTY);
                    plan.bundles.push(index);
                    let insertion = functions.insertion(bundles, from, registry, archetypes);
                    Ok(Stage::In(insertion.target))
                }
                (Action::Insert(payload), Stage::In(here)) => {
                    let functions = payload.functions;
                    let target = functions.insertion(bundles, here, registry, archetypes).target;
                    plan.bundles.push(index);
                    let before = archetypes.get(here).components();
                    for column in &archetypes.get(target).columns {
                        let id = column.info.id;
                        if !before.contains(id) {
                            plan.added.push(id);
                            plan.bits.extend(column.enable_slot.map(|_| (id, true)));
                        }
                    }
                    Ok(Stage::In(target))
                }
                (Action::Remove(functions), Stage::In(here)) => {
                    let change = Change::Remove;
                    match (functions.transition)(bundles, change, here, registry, archetypes) {
                        Some(transition) => Ok(Stage::In(transition.target)),
                        None => {
                            let bundle = (functions.index)(bundles, registry);
                            let here = archetypes.get(here);
                            let missing = bundles.first_missing(bundle, *entity, here, registry);
                            Err(ComponentError::from(missing).into())
                        }
                    }
                }
                (Action::SetEnabled(functions, enabled), Stage::In(here)) => {
                    let here = archetypes.get(here);
                    let (id, name) = ((functions.id)(registry), (functions.name)());
                    match id.and_then(|id| here.column_of(id)).map(|found| &here.columns[found]) {
                        Some(column) if column.enable_slot.is_some() => {
                            plan.bits.push((column.info.id, *enabled));
                            Ok(stage)
                        }
                        Some(_) => Err(ComponentError::NotEnableable { component: name }.into()),
                        None => {
                            let missing = MissingComponent { entity: *entity, component: name };
                            Err(ComponentError::from(missing).into())
                        }
                    }
                }
                (Action::Despawn, Stage::In(_)) => Ok(Stage::Gone),
                _ => Err(CommandFailureReason::NoSuchEntity),
            };
            match outcome {
                Ok(next) => stage = next,
                Err(reason) => plan.failures.push(CommandFailure {
                    sort_key: *sort_key,
                    command: action.name(),
                    entity: *entity,
                    reason,
                }),
            }
        }
        match stage {
            Stage::In(here) if archetypes.get(here).flags != ArchetypeFlags::NONE => None,
            _ => Some(stage),
        }
    }

    fn despawn(&mut self, from: Option<Location>) {
        if from.is_none() {
            // It would have been there for a moment.
            self.world.entities.release(self.entity);
        } else if self.world.despawn(self.entity).is_err() {
            unreachable!("it was located");
        }
    }

    fn arrive(&mut self, from: Option<Location>, target: ArchetypeId) {
        let Self { stream, world, plan, entity, .. } = self;
        let Plan { bundles: given, added, bits, assembly, .. } = &mut **plan;
        if let (Some(at), true) = (from, given.is_empty()) {
            if at.archetype == target {
                // The row is where it belongs already, and as it was.
                return set_bits(world.archetypes.get(target), at.address, bits);
            }
        }
        let fill = |row: &mut RowFiller<'_>, bundles: &mut Bundles, registry: &mut Registry| {
            // From the last: the first to come to a column stays.
            for &index in given.iter().rev() {
                if let Action::Spawn(bundle) | Action::Insert(bundle) = stream.take_at(index) {
                    let components = (bundle.functions().index)(bundles, registry);
                    row.place(bundles.ids(components), bundle);
                }
            }
        };
        let is_added = |id| added.contains(&id);
        let (archetype, at, left) =
            world.moves().assemble(*entity, target, assembly, fill, is_added);
        set_bits(archetype, at, bits);
        // User code, last.
        drop(left);
        if from.is_some_and(|from| from.archetype == target) {
            self.stamp(at, target);
        }
    }

    /// Writes down which values of a row that stays were given.
    fn stamp(&mut self, at: RowAddress, archetype: ArchetypeId) {
        let moment = self.world.moment();
        let archetype = self.world.archetypes.get_mut(archetype);
        for (index, &given) in self.plan.assembly.given.iter().enumerate() {
            let column = &archetype.columns[index];
            if self.plan.added.contains(&column.info.id) {
                let (version, slot) = (moment.version, column.track_slot);
                archetype.chunks.stamps(at.chunk, index).raise_added(version);
                if let Some(slot) = slot {
                    archetype.chunks.set_row_versions(slot, at, version, version);
                }
            }
            if given {
                archetype.mark_changed(at, index, moment);
            }
        }
    }
}

/// Sets the bits that commands have set, one after the other.
fn set_bits(archetype: &Archetype, at: RowAddress, bits: &[(ComponentId, bool)]) {
    for &(id, enabled) in bits {
        let column = archetype.column_of(id);
        if let Some(bit) = column.and_then(|column| archetype.enabled_bit(at, column)) {
            bit.set(enabled);
        }
    }
}
