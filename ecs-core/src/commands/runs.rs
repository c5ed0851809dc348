//! Commands of one kind on many entities of one archetype, played together.
#![expect(unsafe_code, reason = "writes payloads into the rows of entities that move together")]

use super::Action;
use super::payload::{BundleFns, Payload};
use super::stream::Stream;
use crate::archetype::ArchetypeId;
use crate::component::ArchetypeFlags;
use crate::entity::Entity;
use crate::transfer::{Change, MoveContext, NewRows, RowMoves};
use crate::world::World;

/// What the commands of a run have in common.
#[derive(Clone, Copy)]
enum Kind {
    Spawn(&'static BundleFns),
    Insert(&'static BundleFns),
    Remove(&'static BundleFns),
    Despawn,
}

impl Kind {
    #[inline]
    fn of(action: &Action<Payload>) -> Option<Self> {
        match action {
            Action::Spawn(payload) => Some(Self::Spawn(payload.functions)),
            Action::Insert(payload) => Some(Self::Insert(payload.functions)),
            Action::Remove(functions) => Some(Self::Remove(functions)),
            Action::Despawn => Some(Self::Despawn),
            Action::SetEnabled(..) | Action::Call(_) | Action::Taken => None,
        }
    }

    #[inline]
    fn is_that_of(self, action: &Action<Payload>) -> bool {
        use core::ptr::eq;
        match (self, action) {
            (Self::Spawn(mine), Action::Spawn(payload))
            | (Self::Insert(mine), Action::Insert(payload)) => eq(mine, payload.functions),
            (Self::Remove(mine), Action::Remove(theirs)) => eq(mine, *theirs),
            (Self::Despawn, Action::Despawn) => true,
            _ => false,
        }
    }
}

/// Plays the next command and those after it that are like it, together: the transition is looked up
/// once, and rows that lie side by side move column by column. Returns how many were played, none
/// where the next command is not the first of a run or has to be played by itself.
///
/// No user code runs meanwhile: where a value is to be dropped, or a hook has to be told of what
/// happens, commands go one by one.
pub(super) fn play(stream: &mut Stream<'_>, entity: Entity, world: &mut World) -> usize {
    let first = stream.next;
    let Some(kind) = Kind::of(&stream.at(first).1.action) else { return 0 };
    if stream.remaining() < 2 || !kind.is_that_of(&stream.at(first + 1).1.action) {
        return 0;
    }
    match kind {
        Kind::Spawn(functions) => spawn(stream, kind, functions, world),
        Kind::Insert(_) | Kind::Remove(_) | Kind::Despawn => {
            let Some(from) = world.locate(entity) else { return 0 };
            leave(stream, kind, from.archetype, world);
        }
    }
    stream.next - first
}

/// Calls `play` for each command of the run that the next one begins, until it says no.
///
/// A command that is followed by another on the same entity is the next run's.
#[inline]
fn each(
    stream: &mut Stream<'_>,
    kind: Kind,
    mut play: impl FnMut(&mut Stream<'_>, Entity) -> bool,
) {
    let mut next = (!stream.is_at_end()).then(|| stream.entity(stream.next));
    while let Some(entity) = next {
        next = stream.following();
        let is_like = kind.is_that_of(&stream.at(stream.next).1.action);
        if !is_like || next == Some(entity) || !play(stream, entity) {
            return;
        }
    }
}

/// Commands on entities whose rows leave an archetype.
fn leave(stream: &mut Stream<'_>, kind: Kind, from: ArchetypeId, world: &mut World) {
    let version = world.next_version();
    let World { bundles, registry, archetypes, entities, blocks, scratch, .. } = world;
    let context = MoveContext { entities, blocks, scratch, version };
    // With what flags of the source and of the target a hook has to be told.
    let (transition, columns, told) = match kind {
        Kind::Insert(functions) => {
            let insertion = functions.insertion(bundles, from, registry, archetypes);
            let told = (ArchetypeFlags::REPLACE, ArchetypeFlags::ON_ADD);
            (Some(insertion), &*insertion.columns, told)
        }
        Kind::Remove(functions) => {
            let change = Change::Remove;
            let removal = (functions.transition)(bundles, change, from, registry, archetypes);
            let Some(removal) = removal else { return };
            let told = (ArchetypeFlags::ON_REMOVE, ArchetypeFlags::CLEANUP_PENDING);
            (Some(removal), &[][..], told)
        }
        _ => (None, &[][..], (ArchetypeFlags::MORE_THAN_A_ROW, ArchetypeFlags::NONE)),
    };
    if archetypes.get(from).flags.any(told.0) {
        return;
    }
    let mut moves = match transition {
        None => RowMoves::despawn(context, archetypes.get_mut(from)),
        Some(transition) if transition.target == from => return,
        Some(transition) => {
            let archetypes = archetypes.get_two(from, transition.target);
            if archetypes.1.flags.any(told.1) {
                return;
            }
            RowMoves::new(context, archetypes, transition, columns)
        }
    };
    if moves.drops_values() {
        return;
    }
    each(stream, kind, |stream, entity| {
        let Some(here) = moves.locate(entity).filter(|here| here.archetype == from) else {
            return false;
        };
        moves.prepare(stream.remaining());
        match stream.take() {
            Action::Insert(bundle) => {
                let (columns, row) = moves.next_row();
                // SAFETY: the columns are those of the insertion of this bundle type (I-6, I-9), and
                // the row was reserved by `prepare`.
                unsafe { bundle.write(columns, row) };
            }
            nothing_to_write => drop(nothing_to_write),
        }
        // SAFETY: prepared just now, and what is to be written has been; the entity lives in that
        // row (I-1): this is where the table has it, which was written for those of this run that
        // have moved.
        unsafe { moves.leave_one(entity, here.address) };
        true
    });
}

fn spawn(stream: &mut Stream<'_>, kind: Kind, functions: &BundleFns, world: &mut World) {
    let version = world.next_version();
    let World { bundles, registry, archetypes, entities, blocks, scratch, .. } = world;
    let insertion = functions.insertion(bundles, ArchetypeId::EMPTY, registry, archetypes);
    let target = archetypes.get_mut(insertion.target);
    if target.flags.any(ArchetypeFlags::ON_ADD) {
        return;
    }
    scratch.arrived.clear();
    let mut rows = NewRows::new(target, &insertion.columns, version, &mut scratch.arrived);
    each(stream, kind, |stream, entity| {
        if !entities.is_reserved(entity) {
            return false;
        }
        rows.prepare(blocks, stream.remaining());
        let Action::Spawn(bundle) = stream.take() else { return false };
        let (columns, row) = rows.next_row();
        // SAFETY: the columns are those of this bundle type in its archetype (I-9), which has no
        // others, and the row was reserved by `prepare`.
        unsafe { bundle.write(columns, row) };
        entities.activate(entity, rows.place());
        // SAFETY: prepared and written just now: the row is complete (C-3).
        unsafe { rows.push(entity) };
        true
    });
}
