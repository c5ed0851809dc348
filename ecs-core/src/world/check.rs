//! Looking at the whole world: whether every invariant holds, and one number for its state.

use alloc::format;
use alloc::string::String;

use super::World;
use crate::archetype::Archetype;
use crate::component::ArchetypeFlags;
use crate::entities::Location;
use crate::entity::Entity;
use crate::error::{BrokenInvariant, NoSuchEntity};
use crate::hash::StateHasher;
use crate::storage::RowAddress;

fn broken(invariant: &'static str, detail: String) -> BrokenInvariant {
    BrokenInvariant { invariant, detail }
}

impl World {
    /// Verifies every invariant of the store that ARCHITECTURE.md numbers and that can be seen.
    ///
    /// For tests and fuzzing: it looks at everything. An error is a bug of this crate.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// let mut world = World::new();
    /// world.spawn_batch([(); 10]);
    /// world.check()?; // in tests, after whatever might have upset it
    /// # Ok::<(), formic_ecs::BrokenInvariant>(())
    /// ```
    ///
    /// # Errors
    /// The first invariant found broken.
    pub fn check(&self) -> Result<(), BrokenInvariant> {
        self.entities.check().map_err(|detail| broken("I-1", detail.into()))?;
        self.registry.check().map_err(|(invariant, detail)| broken(invariant, detail.into()))?;
        for archetype in self.archetypes() {
            self.check_archetype(archetype)?;
        }
        let chunks: usize =
            self.archetypes().iter().map(|archetype| archetype.chunks.all_count()).sum();
        if chunks != self.blocks.directory.len() {
            let listed = self.blocks.directory.len();
            return Err(broken("I-1", format!("{chunks} chunks, {listed} in the directory")));
        }
        let archetypes = self.archetypes();
        self.bundles.check(archetypes).map_err(|detail| broken("I-6", detail))?;
        self.plans.check(archetypes).map_err(|detail| broken("I-8", detail.into()))?;
        let views = self.views.check(archetypes, &self.blocks.directory);
        views.map_err(|detail| broken("I-23", detail.into()))?;
        self.check_relations().map_err(|detail| broken("I-18", detail))?;
        let rows: usize = self.archetypes().iter().map(Archetype::len).sum();
        if rows != self.len() {
            return Err(broken("I-1", format!("{rows} rows for {} entities", self.len())));
        }
        Ok(())
    }

    fn check_archetype(&self, archetype: &Archetype) -> Result<(), BrokenInvariant> {
        let at = |detail| format!("{detail}, in {:?}", archetype.id());
        if archetype.duties.complete().any(ArchetypeFlags::DOOMED) && !archetype.is_empty() {
            return Err(broken("I-19", at("an entity waits to be cleaned up by nobody".into())));
        }
        let chunks = &archetype.chunks;
        chunks
            .check(self.version)
            .map_err(|(invariant, detail)| broken(invariant, at(detail.into())))?;
        for (column, &id) in archetype.columns.iter().zip(archetype.components().ids()) {
            if column.info.id != id || self.registry.info(id).layout != column.info.layout {
                return Err(broken(
                    "I-9",
                    at(format!("the column of {} is another's", column.info.name)),
                ));
            }
        }
        for chunk in 0..archetype.chunk_count() {
            for (row, &entity) in archetype.entities(chunk).iter().enumerate() {
                let address = RowAddress { chunk, row };
                let place = archetype.chunks.place(address);
                let here = Location { archetype: archetype.id(), address, place };
                let found = self.locate(entity);
                if found != Some(here) {
                    return Err(broken(
                        "I-1",
                        at(format!("{entity} is in {here:?}, but listed in {found:?}")),
                    ));
                }
            }
        }
        Ok(())
    }

    /// One number for the state of all entities: their handles, which components they have, which
    /// of these are enabled, and the bytes of those that have bytes (see
    /// [`Component`](crate::Component)).
    ///
    /// It does not depend on where the rows are, nor on the order in which component types were
    /// first used: the same entities with the same components give the same number. Of a component
    /// without bytes it takes in only that it is there.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// #[derive(Component, Clone, Copy, bytemuck::NoUninit)]
    /// #[repr(C)]
    /// struct Health(u32);
    ///
    /// let play = |wounds: u32| {
    ///     let mut world = World::new();
    ///     world.spawn_batch((0..10).map(|i: u32| Health(100 - i * wounds)));
    ///     world.state_hash()
    /// };
    /// assert_eq!(play(3), play(3));
    /// assert_ne!(play(3), play(4));
    /// ```
    #[must_use]
    pub fn state_hash(&self) -> u64 {
        let mut sum = 0_u64;
        for archetype in self.archetypes() {
            let names =
                archetype.columns.iter().map(|column| name_hash(&column.info.name)).collect();
            let names: alloc::vec::Vec<u64> = names;
            for chunk in 0..archetype.chunk_count() {
                for row in 0..archetype.chunks.len(chunk) {
                    sum = sum.wrapping_add(row_hash(archetype, RowAddress { chunk, row }, &names));
                }
            }
        }
        let mut hasher = StateHasher::new();
        hasher.write_u64(self.len() as u64);
        hasher.write_u64(sum);
        hasher.finish()
    }

    /// One number for the state of one entity: its handle, and of each of its components what
    /// [`state_hash`](Self::state_hash) takes in. For numbers about a part of the world.
    ///
    /// ```
    /// # use formic_ecs::prelude::*;
    /// # #[derive(Component, Clone, Copy, bytemuck::NoUninit)] #[repr(C)] struct Health(u32);
    /// let mut world = World::new();
    /// let [imp, rat] = [world.spawn(Health(3)), world.spawn(Health(3))];
    /// assert_ne!(world.entity_hash(imp)?, world.entity_hash(rat)?);
    /// let before = world.entity_hash(imp)?;
    /// world.get_mut::<Health>(rat).unwrap().0 = 1;
    /// assert_eq!(world.entity_hash(imp)?, before);
    /// # Ok::<(), formic_ecs::NoSuchEntity>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`NoSuchEntity`] if `entity` is not alive.
    pub fn entity_hash(&self, entity: Entity) -> Result<u64, NoSuchEntity> {
        let location = self.locate(entity).ok_or(NoSuchEntity(entity))?;
        let archetype = self.archetypes.get(location.archetype);
        let names = archetype.columns.iter().map(|column| name_hash(&column.info.name));
        let names: alloc::vec::Vec<u64> = names.collect();
        Ok(row_hash(archetype, location.address, &names))
    }
}

fn name_hash(name: &str) -> u64 {
    let mut hasher = StateHasher::new();
    hasher.write(name.as_bytes());
    hasher.finish()
}

/// The hash of one entity: a sum over its components, so that their order does not matter.
fn row_hash(archetype: &Archetype, address: RowAddress, names: &[u64]) -> u64 {
    let mut components = 0_u64;
    for (index, column) in archetype.columns.iter().enumerate() {
        let mut hasher = StateHasher::new();
        hasher.write_u64(names[index]);
        let bits = column.enable_slot.map(|slot| archetype.chunks.bits(slot));
        let enabled = bits.is_none_or(|bits| bits.get(address.chunk, address.row));
        hasher.write_u64(u64::from(enabled));
        archetype.hash_value(address, index, &mut hasher);
        components = components.wrapping_add(hasher.finish());
    }
    let mut hasher = StateHasher::new();
    hasher.write_u64(archetype.chunks.entities(address.chunk)[address.row].to_bits());
    hasher.write_u64(components);
    hasher.finish()
}
