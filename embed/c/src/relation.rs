//! Relations: pairs of entities, with rules that the store keeps.
#![expect(unsafe_code, reason = "exports functions that take pointers")]

use formic_ecs::{
    ChildOf, ComponentId, Entity, NoSuchEntity, OnTargetDespawn, Relation, RelationError, Sources,
    Targets, World,
};

use crate::component::fm_component;
use crate::entity::{entity_of, fm_entity};
use crate::ffi;
use crate::status::{Failure, call, fm_status};
use crate::world::{WorldState, fm_world, with};

/// A relation of one world: each source has targets, each target has sources. FM_CHILD_OF, or what
/// fm_relation_new() gave.
pub type fm_relation = u32;

/// The relation of children to their parent, which every world has: exclusive, without circles, and
/// children are despawned with their parent.
pub const FM_CHILD_OF: fm_relation = 0;

/// A rule of a relation: a source has one target at most. A new one takes the place of the old one.
pub const FM_EXCLUSIVE: u32 = 1;
/// A rule of a relation: no entity may be related to itself, directly or by others.
pub const FM_ACYCLIC: u32 = 2;
/// A rule of a relation: the sources are despawned with their target. Else they are only related to it
/// no longer.
pub const FM_DESPAWN_SOURCES: u32 = 4;

/// The n-th relation of a world that has these rules.
///
/// The store knows a relation by a type; a host that has none takes one of these.
#[derive(Debug)]
struct HostRelation<const RULES: u32, const NUMBER: usize>;

impl<const RULES: u32, const NUMBER: usize> Relation for HostRelation<RULES, NUMBER> {
    const EXCLUSIVE: bool = RULES & FM_EXCLUSIVE != 0;
    const ACYCLIC: bool = RULES & FM_ACYCLIC != 0;
    const ON_TARGET_DESPAWN: OnTargetDespawn = if RULES & FM_DESPAWN_SOURCES == 0 {
        OnTargetDespawn::Unrelate
    } else {
        OnTargetDespawn::DespawnSources
    };
}

/// The calls of one relation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RelationCalls {
    rules: u32,
    relate: fn(&mut World, Entity, Entity) -> Result<bool, RelationError>,
    unrelate: fn(&mut World, Entity, Entity) -> Result<bool, NoSuchEntity>,
    targets: fn(&World, Entity) -> &[Entity],
    sources: fn(&World, Entity) -> &[Entity],
    components: fn(&mut World) -> [ComponentId; 2],
}

impl RelationCalls {
    const fn of<R: Relation>(rules: u32) -> Self {
        Self {
            rules,
            relate: World::relate::<R>,
            unrelate: World::unrelate::<R>,
            targets: World::targets::<R>,
            sources: World::sources::<R>,
            components: |world| {
                world.register_relation::<R>();
                [world.register::<Targets<R>>(), world.register::<Sources<R>>()]
            },
        }
    }

    const fn with_rules<const RULES: u32>() -> [Self; EACH] {
        [
            Self::of::<HostRelation<RULES, 0>>(RULES),
            Self::of::<HostRelation<RULES, 1>>(RULES),
            Self::of::<HostRelation<RULES, 2>>(RULES),
            Self::of::<HostRelation<RULES, 3>>(RULES),
        ]
    }
}

/// How many relations of the same rules a world can have.
const EACH: usize = 4;

static CHILD_OF: RelationCalls = RelationCalls::of::<ChildOf>(7);

/// By their rules.
static ALL: [[RelationCalls; EACH]; 8] = [
    RelationCalls::with_rules::<0>(),
    RelationCalls::with_rules::<1>(),
    RelationCalls::with_rules::<2>(),
    RelationCalls::with_rules::<3>(),
    RelationCalls::with_rules::<4>(),
    RelationCalls::with_rules::<5>(),
    RelationCalls::with_rules::<6>(),
    RelationCalls::with_rules::<7>(),
];

impl From<RelationError> for Failure {
    fn from(error: RelationError) -> Self {
        match error {
            RelationError::NoSuchEntity(error) => error.into(),
            error => Self::argument(error),
        }
    }
}

fn find(state: &WorldState, relation: fm_relation) -> Result<RelationCalls, Failure> {
    let Some(place) = relation.checked_sub(1) else { return Ok(CHILD_OF) };
    state.relations.get(place as usize).copied().ok_or_else(|| {
        Failure::new(fm_status::FM_BAD_HANDLE, format!("the world has no relation {relation}"))
    })
}

/// Makes a relation with these rules: FM_EXCLUSIVE, FM_ACYCLIC, FM_DESPAWN_SOURCES, or 0. `*out` is
/// its number. A world has up to four with the same rules; in snapshots and saves they go by their
/// rules and the order of making, so a program makes them in the same order each time.
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
        let all = ALL.get(rules as usize);
        let all = all.ok_or_else(|| Failure::argument(format!("unknown rules {rules:#x}")))?;
        let relation = with(world, |state| {
            state.expect_no_lease()?;
            let before = state.relations.iter().filter(|known| known.rules == rules).count();
            let relation = all.get(before).ok_or_else(|| {
                Failure::argument(format!("the world has {EACH} relations of these rules already"))
            })?;
            (relation.components)(&mut state.world);
            state.relations.push(*relation);
            Ok(state.relations.len())
        })?;
        let relation = fm_relation::try_from(relation).expect("there are at most 32");
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
        let [to, from] = with(world, |state| {
            let relation = find(state, relation)?;
            Ok((relation.components)(&mut state.world))
        })?;
        let number = |id: ComponentId| fm_component::try_from(id.index()).expect("fewer than 2^32");
        // SAFETY: the caller says that it may be written.
        unsafe { ffi::give("targets", targets, number(to)) }?;
        // SAFETY: as above.
        unsafe { ffi::give("sources", sources, number(from)) }
    })
}

/// Relates each source to the target at the same place; those that are related stay so. Pairs that
/// cannot be related are passed over: FM_NO_ENTITY if one is not in the world, FM_BAD_ARGUMENT if it
/// would close a circle, of the first of them, when all others are related.
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
    call(|| unsafe { each((world, relation), |it| it.relate, (sources, targets, count)) })
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
    call(|| unsafe { each((world, relation), |it| it.unrelate, (sources, targets, count)) })
}

/// Does something to pairs; the first failure is returned in the end.
///
/// # Safety
/// There are `count` handles at both pointers.
unsafe fn each<E: Into<Failure>>(
    (world, relation): (fm_world, fm_relation),
    which: fn(&RelationCalls) -> fn(&mut World, Entity, Entity) -> Result<bool, E>,
    (sources, targets, count): (*const fm_entity, *const fm_entity, usize),
) -> Result<(), Failure> {
    // SAFETY: the caller vouches for as many handles.
    let sources = unsafe { ffi::slice("sources", sources, count) }?;
    // SAFETY: as above.
    let targets = unsafe { ffi::slice("targets", targets, count) }?;
    with(world, |state| {
        state.expect_no_lease()?;
        let act = which(&find(state, relation)?);
        let mut first = Ok(());
        for (&source, &target) in sources.iter().zip(targets) {
            let pair = entity_of(source).and_then(|source| Ok((source, entity_of(target)?)));
            let done = pair.and_then(|(source, target)| {
                act(&mut state.world, source, target).map_err(E::into)
            });
            first = first.and(done.map(|_| ()));
        }
        first
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
        unsafe { list((world, relation, source), |it| it.targets, (entities, capacity, len)) }
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
        unsafe { list((world, relation, target), |it| it.sources, (entities, capacity, len)) }
    })
}

/// # Safety
/// There is room for as many initialised handles, and the last pointer may be written.
unsafe fn list(
    (world, relation, entity): (fm_world, fm_relation, fm_entity),
    which: fn(&RelationCalls) -> fn(&World, Entity) -> &[Entity],
    (entities, capacity, len): (*mut fm_entity, usize, *mut usize),
) -> Result<(), Failure> {
    ffi::expect_place("len", len)?;
    // SAFETY: the caller vouches for room for as many handles.
    let room = unsafe { ffi::slice_mut("entities", entities, capacity) }?;
    let count = with(world, |state| {
        let entity = entity_of(entity)?;
        state.world.place_of(entity)?;
        let found = which(&find(state, relation)?)(&state.world, entity);
        for (place, other) in room.iter_mut().zip(found) {
            *place = other.to_bits();
        }
        Ok(found.len())
    })?;
    // SAFETY: the caller says that it may be written.
    unsafe { ffi::give("len", len, count) }
}
