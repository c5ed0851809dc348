//! Several commands on one entity, played as one move of its row.
//!
//! First the commands are walked through without touching a row: which apply, what archetype each
//! would lead to, which bits it would leave. Then the row goes to the last of these archetypes in
//! one step. Of each component, the value that was given last goes into the row; the others, and
//! those in the old row that were replaced or removed, are dropped in the end.
#![expect(unsafe_code, reason = "moves the row of an entity and writes payloads into it")]

use alloc::vec::Vec;
use core::ops::Range;

use smallvec::SmallVec;

use super::stream::Stream;
use super::{Action, Record};
use crate::archetype::{Archetype, ArchetypeId};
use crate::bundle::{Leftovers, Slot};
use crate::component::{ArchetypeFlags, ComponentId, Registry};
use crate::entities::Location;
use crate::entity::Entity;
use crate::error::{CommandFailure, CommandFailureReason, ComponentError, MissingComponent};
use crate::storage::{RowAddress, RowPlan};
use crate::transfer::{Bundles, Carried, Change, MoveContext, RowMove};
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
    /// By column of the last archetype: whether a bundle gives it its value.
    given: Vec<bool>,
    /// What goes along from the first archetype to the last.
    row: RowPlan,
    /// The values that have no place in the world.
    leftovers: Leftovers,
}

/// Where the components of one bundle go.
type Slots = SmallVec<[Slot; 16]>;

impl Plan {
    /// Drops what a panic has left.
    pub(super) fn clear(&mut self) {
        self.leftovers.clear();
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
        self.plan.leftovers.clear();
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
        match from {
            Some(from) if from.archetype == target => self.stay(from),
            Some(from) => self.relocate(from, target),
            None => self.spawn(target),
        }
    }

    /// The row is where it belongs already.
    fn stay(&mut self, at: Location) {
        if !self.plan.bundles.is_empty() {
            _ = self.world.next_version();
            let World { archetypes, bundles, registry, .. } = &mut *self.world;
            let archetype = archetypes.get(at.archetype);
            self.plan.place(self.stream, (bundles, registry), archetype, at.address, true);
            self.stamp(at);
        }
        let archetype = self.world.archetypes.get(at.archetype);
        set_bits(archetype, at.address, &self.plan.bits);
    }

    /// Writes down which values of a row that stays were given.
    fn stamp(&mut self, at: Location) {
        let moment = self.world.moment();
        let archetype = self.world.archetypes.get_mut(at.archetype);
        for (index, &given) in self.plan.given.iter().enumerate() {
            let column = &archetype.columns[index];
            if self.plan.added.contains(&column.info.id) {
                let (version, slot) = (moment.version, column.track_slot);
                archetype.chunks.stamps(at.address.chunk, index).raise_added(version);
                if let Some(slot) = slot {
                    archetype.chunks.set_row_versions(slot, at.address, version, version);
                }
            }
            if given {
                archetype.mark_changed(at.address, index, moment);
            }
        }
    }

    fn spawn(&mut self, target: ArchetypeId) {
        let version = self.world.next_version();
        let World { archetypes, blocks, bundles, registry, entities, .. } = &mut *self.world;
        let archetype = archetypes.get_mut(target);
        let to = archetype.chunks.reserve_row(blocks);
        self.plan.place(self.stream, (bundles, registry), archetype, to, false);
        entities.activate(self.entity, archetype.chunks.place(to));
        // SAFETY: reserved above, and nothing but the entity table was touched since. Every
        // component of the archetype came by a bundle, and `place` has written it: all columns are
        // initialised (I-2).
        unsafe { archetype.chunks.commit_rows(to, &[self.entity], version, version) };
        set_bits(archetype, to, &self.plan.bits);
    }

    fn relocate(&mut self, from: Location, target: ArchetypeId) {
        let version = self.world.next_version();
        let World { archetypes, blocks, bundles, registry, entities, scratch, .. } =
            &mut *self.world;
        let context = MoveContext { entities, blocks, scratch, version };
        let moving = RowMove::new(context, archetypes, (self.entity, from), target);
        let to = moving.to;
        self.plan.place(self.stream, (bundles, registry), moving.target, to, false);
        let Plan { added, given, row, bits, .. } = &mut *self.plan;
        row.connect(moving.source, moving.target, |id, column| match (given[column], &*added) {
            (_, added) if added.contains(&id) => Carried::Nothing,
            (true, _) => Carried::Marks,
            (false, _) => Carried::Value,
        });
        // SAFETY: the plan was made for these archetypes (I-6), and the entity was located (I-1). A
        // component of the target that does not go along was given by a bundle, and `place` has
        // written it (I-2).
        let (left, target) = unsafe { moving.finish(row) };
        set_bits(target, to, bits);
        // User code, last.
        drop(left);
    }
}

impl Plan {
    /// Puts the values that were given last into a row: a reserved one, or one whose values are
    /// replaced. What was given before them is left over.
    fn place(
        &mut self,
        stream: &mut Stream<'_>,
        (bundles, registry): (&mut Bundles, &mut Registry),
        archetype: &Archetype,
        to: RowAddress,
        replaces: bool,
    ) {
        let Self { bundles: given_bundles, given, leftovers, .. } = self;
        let mut slots = Slots::new();
        given.clear();
        given.resize(archetype.columns.len(), false);
        // From the last: the first to come to a column stays.
        for &index in given_bundles.iter().rev() {
            let (Action::Spawn(payload) | Action::Insert(payload)) = &stream.at(index).1.action
            else {
                continue;
            };
            slots.clear();
            let bundle = (payload.functions.index)(bundles, registry);
            for &id in bundles.ids(bundle) {
                let free = archetype.column_of(id).filter(|&column| !given[column]);
                slots.push(free.map_or(Slot::Leave, |column| {
                    given[column] = true;
                    let start = archetype.chunks.column(to.chunk, column);
                    if replaces { Slot::Replace(start) } else { Slot::Write(start) }
                }));
            }
            let (Action::Spawn(bundle) | Action::Insert(bundle)) = stream.take_at(index) else {
                continue;
            };
            // SAFETY: the columns are those of the bundle's components (I-9). The row is reserved,
            // or a live entity's (I-1) and so initialised; no column comes up twice.
            unsafe { bundle.place(&slots, to.row, leftovers) };
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
