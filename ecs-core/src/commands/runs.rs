//! Runs: commands of one kind on many entities of one archetype, which are played together.

use super::Action;
use super::payload::{BundleFns, Payload};
use super::stream::Stream;
use crate::archetype::ArchetypeId;
use crate::component::ArchetypeFlags;
use crate::entity::Entity;
use crate::transfer::{Change, MoveContext, NewRows, RowMoves};
use crate::world::World;

/// What the commands of a run have in common.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Spawn(&'static BundleFns),
    Change(Change, &'static BundleFns),
    Despawn,
}

impl Kind {
    #[inline]
    fn of(action: &Action<Payload>) -> Option<Self> {
        match action {
            Action::Spawn(payload) => Some(Self::Spawn(payload.functions)),
            Action::Insert(payload) => Some(Self::Change(Change::Insert, payload.functions)),
            Action::Remove(functions) => Some(Self::Change(Change::Remove, functions)),
            Action::Despawn => Some(Self::Despawn),
            Action::SetEnabled(..) | Action::Call(_) | Action::Taken => None,
        }
    }
}

/// Plays the next command and the similar ones after it together: the transition is looked up once, and
/// adjacent rows move column by column. Returns the number of commands that were played. It is zero if
/// the next command is not the first of a run, or has to be played by itself.
///
/// No user code runs meanwhile: if a value is to be dropped or a hook to be triggered, commands are
/// played one by one.
pub(super) fn play(stream: &mut Stream<'_>, entity: Entity, world: &mut World) -> usize {
    let first = stream.next;
    let Some(kind) = Kind::of(&stream.at(first).1.action) else { return 0 };
    if stream.remaining() < 2 || Kind::of(&stream.at(first + 1).1.action) != Some(kind) {
        return 0;
    }
    match kind {
        Kind::Spawn(functions) => spawn(stream, kind, functions, world),
        Kind::Change(..) | Kind::Despawn => {
            let Some(from) = world.locate(entity) else { return 0 };
            leave(stream, kind, from.archetype, world);
        }
    }
    stream.next - first
}

/// Calls `play` for each command of the run that begins with the next one, until it returns `false`.
#[inline]
fn each(
    stream: &mut Stream<'_>,
    kind: Kind,
    mut play: impl FnMut(&mut Stream<'_>, Entity) -> bool,
) {
    while !stream.is_at_end() {
        let entity = stream.entity(stream.next);
        let is_like = Kind::of(&stream.at(stream.next).1.action) == Some(kind);
        if !is_like || !play(stream, entity) {
            return;
        }
    }
}

/// Plays commands on entities whose rows leave an archetype.
fn leave(stream: &mut Stream<'_>, kind: Kind, from: ArchetypeId, world: &mut World) {
    let (moves, change) = match kind {
        Kind::Change(change, functions) => {
            let moves = RowMoves::new(world.moves(), from, |bundles, registry, archetypes| {
                (functions.transition)(bundles, change, from, registry, archetypes)
            });
            (moves, Some(change))
        }
        _ => (Some(RowMoves::despawn(world.moves(), from)), None),
    };
    let Some(mut moves) = moves else { return };
    // The flags of the source and of the target with which commands have to be played one by one.
    let one_by_one = match change {
        Some(Change::Insert) => (ArchetypeFlags::REPLACE, ArchetypeFlags::ON_ADD),
        Some(_) => (ArchetypeFlags::ON_REMOVE, ArchetypeFlags::CLEANUP_DONE),
        None => (ArchetypeFlags::MORE_THAN_A_ROW, ArchetypeFlags::NONE),
    };
    if moves.source().flags.any(one_by_one.0) || moves.target_flags().any(one_by_one.1) {
        return;
    }
    if moves.drops_values() {
        return;
    }
    each(stream, kind, |stream, entity| {
        moves.leave_one(entity, stream.remaining(), move || match stream.take() {
            Action::Insert(bundle) => Some(bundle),
            _ => None,
        })
    });
}

fn spawn(stream: &mut Stream<'_>, kind: Kind, functions: &BundleFns, world: &mut World) {
    world.next_version();
    let MoveContext { bundles, registry, archetypes, entities, blocks, scratch, version, .. } =
        world.moves();
    let insertion = functions.insertion(bundles, ArchetypeId::EMPTY, registry, archetypes);
    if archetypes.get(insertion.target).flags.any(ArchetypeFlags::ON_ADD) {
        return;
    }
    scratch.arrived.clear();
    let mut rows = NewRows::new(archetypes, insertion, *version, &mut scratch.arrived);
    each(stream, kind, |stream, entity| {
        let wanted = stream.remaining();
        rows.spawn_one(entity, (entities, blocks), wanted, move || match stream.take() {
            Action::Spawn(bundle) => bundle,
            _ => unreachable!("it is of that kind"),
        });
        true
    });
}
