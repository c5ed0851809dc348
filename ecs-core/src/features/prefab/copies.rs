//! Copying rows.

use alloc::vec::Vec;

use super::Prefab;
use crate::archetype::Archetypes;
use crate::component::{ArchetypeFlags, ComponentInfo, Registry};
use crate::entities::Location;
use crate::entity::Entity;
use crate::transfer::{RowCopies, Transition};
use crate::world::{Bundles, Part, World};

/// How an entity in a new row refers to others: what the originals become.
pub(super) type Map<'a> = dyn FnMut(Entity) -> Entity + 'a;

impl World {
    /// What is to be done for each copy of an entity that is at `from`.
    pub(super) fn duties_of_copies(&mut self, from: Location) -> ArchetypeFlags {
        let Self { bundles, registry, archetypes, .. } = self;
        let target = copying(bundles, from, registry, archetypes).target;
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
        let transition = copying(bundles, from, registry, archetypes);
        let mut run =
            RowCopies::new(archetypes, from, transition, (blocks, wanted), version, copies);
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
        let transition = copying(bundles, from, registry, archetypes);
        let mut one = RowCopies::new(archetypes, from, transition, (blocks, 1), version, made);
        one.push(map, |place| {
            entities.activate(copy, place);
            copy
        });
        drop(one);
        archetypes.get(transition.target).flags
    }
}

/// The transition from an original to its copies.
fn copying<'a>(
    bundles: &'a mut Bundles,
    from: Location,
    registry: &Registry,
    archetypes: &mut Archetypes,
) -> &'a Transition {
    let prefab = registry.get::<Prefab>();
    let is_copied = |info: &&ComponentInfo| !info.is_cleanup() && Some(info.id()) != prefab;
    bundles.partial(Part::Copied, from.archetype, registry, archetypes, is_copied, None)
}
