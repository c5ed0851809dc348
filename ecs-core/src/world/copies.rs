//! Copying rows.

use alloc::vec::Vec;

use super::World;
use super::bundles::Transition;
use crate::archetype::{Archetypes, RowCopies};
use crate::component::ArchetypeFlags;
use crate::entities::Location;
use crate::entity::Entity;
use crate::storage::BlockPool;

/// How an entity in a new row refers to others: what the originals become.
pub(super) type Map<'a> = dyn FnMut(Entity) -> Entity + 'a;

impl World {
    /// What is to be done for each copy of an entity that is at `from`.
    pub(super) fn duties_of_copies(&mut self, from: Location) -> ArchetypeFlags {
        let Self { bundles, registry, archetypes, .. } = self;
        let target = bundles.copying(from.archetype, registry, archetypes).target;
        archetypes.get(target).flags
    }

    /// Copies one entity into as many rows of one chunk as there are, at most `wanted`; references
    /// to itself become references to the copy. Should a clone panic, the copies before it are
    /// there.
    pub(super) fn copy_run(
        &mut self,
        original: Entity,
        from: Location,
        wanted: usize,
        copies: &mut Vec<Entity>,
    ) {
        let version = self.next_version();
        let Self { bundles, registry, archetypes, blocks, entities, .. } = self;
        let transition = bundles.copying(from.archetype, registry, archetypes);
        let mut run = copies_of(archetypes, transition, from, (blocks, wanted), version, copies);
        for _ in 0..run.granted() {
            let copy = entities.next();
            let mut map = |entity| if entity == original { copy } else { entity };
            run.push(&mut map, |place| entities.allocate(place));
        }
    }

    /// Copies one entity, whose handle was reserved. Returns what is to be done next. `made` is
    /// memory, which members of a family share: the copies before this one.
    pub(super) fn copy_reserved(
        &mut self,
        from: Location,
        copy: Entity,
        map: &mut Map<'_>,
        made: &mut Vec<Entity>,
    ) -> ArchetypeFlags {
        let version = self.next_version();
        let Self { bundles, registry, archetypes, blocks, entities, .. } = self;
        let transition = bundles.copying(from.archetype, registry, archetypes);
        let mut one = copies_of(archetypes, transition, from, (blocks, 1), version, made);
        one.push(map, |place| {
            entities.activate(copy, place);
            copy
        });
        drop(one);
        archetypes.get(transition.target).flags
    }
}

/// Room for copies of the entity at `from`.
fn copies_of<'a>(
    archetypes: &'a mut Archetypes,
    transition: &'a Transition,
    from: Location,
    room: (&mut BlockPool, usize),
    version: u64,
    copies: &'a mut Vec<Entity>,
) -> RowCopies<'a> {
    let (source, target) = if transition.target == from.archetype {
        (None, archetypes.get_mut(transition.target))
    } else {
        let (source, target) = archetypes.get_two(from.archetype, transition.target);
        (Some(&*source), target)
    };
    let along = (&transition.moves[..], &transition.plan.bit_moves[..]);
    RowCopies::new((source, from.address), target, along, room, version, copies)
}
