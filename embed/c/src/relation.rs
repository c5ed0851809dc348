//! Relations: pairs of entities, with rules that the store keeps.
#![expect(unsafe_code, reason = "exports functions that take pointers")]

use formic_ecs::{
    ChildOf, Entity, OnTargetDespawn, RelationError, RelationId, RelationMut, RelationRef,
    RelationRules,
};

use crate::component::{fm_component, number_of};
use crate::entity::{each, entity_of, fm_entity};
use crate::ffi;
use crate::status::{Failure, call, fm_status};
use crate::world::{WorldState, fm_world, with};

/// A relation of one world: each source has targets, each target has sources. FM_CHILD_OF, or what
/// fm_relation_new() gave.
pub type fm_relation = u32;

/// The relation of children to their parent, which every world has: exclusive, without cycles, and
/// children are despawned with their parent.
pub const FM_CHILD_OF: fm_relation = 0;

/// A rule of a relation: a source has one target at most. A new one takes the place of the old one.
pub const FM_EXCLUSIVE: u32 = 1;
/// A rule of a relation: no entity may be related to itself, directly or by others.
pub const FM_ACYCLIC: u32 = 2;
/// A rule of a relation: the sources are despawned with their target. Else they are only related to it
/// no longer.
pub const FM_DESPAWN_SOURCES: u32 = 4;

/// A relation that the host has made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostRelation {
    rules: u32,
    id: RelationId,
}

impl From<RelationError> for Failure {
    fn from(error: RelationError) -> Self {
        match error {
            RelationError::NoSuchEntity(error) => error.into(),
            error => Self::argument(error),
        }
    }
}

fn find(state: &mut WorldState, relation: fm_relation) -> Result<RelationMut<'_>, Failure> {
    let id = match relation.checked_sub(1) {
        None => Some(state.world.relation_mut::<ChildOf>().id()),
        Some(place) => state.relations.get(place as usize).map(|relation| relation.id),
    };
    id.and_then(|id| state.world.by_id_mut().relation(id)).ok_or_else(|| {
        Failure::new(fm_status::FM_BAD_HANDLE, format!("the world has no relation {relation}"))
    })
}

/// Makes a relation with these rules: FM_EXCLUSIVE, FM_ACYCLIC, FM_DESPAWN_SOURCES, or 0. `*out` is
/// its number. In snapshots and saves relations go by their rules and the order of making, so a program
/// makes them in the same order each time.
///
/// # Safety
/// `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_relation_new(
    world: fm_world,
    rules: u32,
    out: *mut fm_relation,
) -> fm_status {
    call(|| {
        ffi::expect_place("out", out)?;
        if rules & !(FM_EXCLUSIVE | FM_ACYCLIC | FM_DESPAWN_SOURCES) != 0 {
            return Err(Failure::argument(format!("unknown rules {rules:#x}")));
        }
        let relation = with(world, |state| {
            state.expect_no_lease()?;
            let before = state.relations.iter().filter(|known| known.rules == rules).count();
            let on_target_despawn = if rules & FM_DESPAWN_SOURCES == 0 {
                OnTargetDespawn::Unrelate
            } else {
                OnTargetDespawn::DespawnSources
            };
            let store_rules = RelationRules {
                is_exclusive: rules & FM_EXCLUSIVE != 0,
                is_acyclic: rules & FM_ACYCLIC != 0,
                on_target_despawn,
            };
            let name = format!("host.{rules}.{before}");
            let id = state.world.by_id_mut().register_relation(&name, store_rules)?.id();
            state.relations.push(HostRelation { rules, id });
            Ok(state.relations.len())
        })?;
        let relation = fm_relation::try_from(relation).expect("fewer than components");
        // SAFETY: the caller says that it may be written.
        unsafe { ffi::give("out", out, relation) }
    })
}

/// Gives the components that entities have while they are related, for FM_WITH and FM_WITHOUT:
/// `*targets` is what sources have, `*sources` what targets have.
///
/// # Safety
/// `targets` and `sources` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_relation_components(
    world: fm_world,
    relation: fm_relation,
    targets: *mut fm_component,
    sources: *mut fm_component,
) -> fm_status {
    call(|| {
        ffi::expect_place("targets", targets)?;
        ffi::expect_place("sources", sources)?;
        let [to, from] = with(world, |state| Ok(find(state, relation)?.sides()))?;
        // SAFETY: the caller says that it may be written.
        unsafe { ffi::give("targets", targets, number_of(to)) }?;
        // SAFETY: as above.
        unsafe { ffi::give("sources", sources, number_of(from)) }
    })
}

/// Relates each source to the target at the same place; those that are related stay so. Pairs that
/// cannot be related are passed over: FM_NO_ENTITY if one is not in the world, FM_BAD_ARGUMENT if it
/// would close a cycle, of the first of them, when all others are related.
///
/// # Safety
/// `sources` and `targets` have `count` handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_relate(
    world: fm_world,
    relation: fm_relation,
    sources: *const fm_entity,
    targets: *const fm_entity,
    count: usize,
) -> fm_status {
    // SAFETY: the caller vouches for as many handles.
    call(|| unsafe {
        each_pair(
            (world, relation),
            |relation, from, to| relation.add(from, to),
            (sources, targets, count),
        )
    })
}

/// Ends the relation of each source to the target at the same place, where there is one. Sources that
/// are not in the world are passed over, as for fm_despawn().
///
/// # Safety
/// `sources` and `targets` have `count` handles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_unrelate(
    world: fm_world,
    relation: fm_relation,
    sources: *const fm_entity,
    targets: *const fm_entity,
    count: usize,
) -> fm_status {
    // SAFETY: the caller vouches for as many handles.
    call(|| unsafe {
        each_pair(
            (world, relation),
            |relation, from, to| Ok(relation.remove(from, to)?),
            (sources, targets, count),
        )
    })
}

/// Does something to pairs; the first failure is returned in the end.
///
/// # Safety
/// There are `count` handles at both pointers.
unsafe fn each_pair(
    (world, relation): (fm_world, fm_relation),
    act: fn(&mut RelationMut<'_>, Entity, Entity) -> Result<bool, RelationError>,
    (sources, targets, count): (*const fm_entity, *const fm_entity, usize),
) -> Result<(), Failure> {
    // SAFETY: the caller vouches for as many handles.
    let sources = unsafe { ffi::slice("sources", sources, count) }?;
    // SAFETY: as above.
    let targets = unsafe { ffi::slice("targets", targets, count) }?;
    with(world, |state| {
        state.expect_no_lease()?;
        let mut relation = find(state, relation)?;
        each(sources, |place, source| {
            act(&mut relation, source, entity_of(targets[place])?)?;
            Ok(())
        })
    })
}

/// Gives the targets of an entity in the order in which it was related to them, the first ones of them
/// if there is room for fewer. `*len` is how many it has.
///
/// # Safety
/// `entities` has room for `capacity` handles, initialised; `len` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_targets(
    world: fm_world,
    relation: fm_relation,
    source: fm_entity,
    entities: *mut fm_entity,
    capacity: usize,
    len: *mut usize,
) -> fm_status {
    call(|| {
        // SAFETY: the caller vouches for room, and for what may be written.
        unsafe {
            let room = (entities, capacity, len);
            list((world, relation, source), |relation, entity| relation.targets(entity), room)
        }
    })
}

/// Gives the sources of an entity, as fm_targets() gives the targets.
///
/// # Safety
/// `entities` has room for `capacity` handles, initialised; `len` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_sources(
    world: fm_world,
    relation: fm_relation,
    target: fm_entity,
    entities: *mut fm_entity,
    capacity: usize,
    len: *mut usize,
) -> fm_status {
    call(|| {
        // SAFETY: the caller vouches for room, and for what may be written.
        unsafe {
            let room = (entities, capacity, len);
            list((world, relation, target), |relation, entity| relation.sources(entity), room)
        }
    })
}

/// # Safety
/// There is room for as many initialised handles, and the last pointer may be written.
unsafe fn list(
    (world, relation, entity): (fm_world, fm_relation, fm_entity),
    others: for<'w> fn(RelationRef<'w>, Entity) -> &'w [Entity],
    (entities, capacity, len): (*mut fm_entity, usize, *mut usize),
) -> Result<(), Failure> {
    ffi::expect_place("len", len)?;
    // SAFETY: the caller vouches for room for as many handles.
    let room = unsafe { ffi::slice_mut("entities", entities, capacity) }?;
    let count = with(world, |state| {
        let entity = entity_of(entity)?;
        state.world.place_of(entity)?;
        let relation = find(state, relation)?;
        let found = others(relation.as_readonly(), entity);
        for (place, other) in room.iter_mut().zip(found) {
            *place = other.to_bits();
        }
        Ok(found.len())
    })?;
    // SAFETY: the caller says that it may be written.
    unsafe { ffi::give("len", len, count) }
}
