//! The check of a whole world: whether every invariant holds.

use alloc::format;
use alloc::string::String;

use super::World;
use crate::archetype::Archetype;
use crate::component::ArchetypeFlags;
use crate::entities::Location;
use crate::error::BrokenInvariant;
use crate::storage::RowAddress;

fn broken(invariant: &'static str, detail: String) -> BrokenInvariant {
    BrokenInvariant { invariant, detail }
}

/// Invariants.
impl World {
    /// Verifies the invariants of the store that ARCHITECTURE.md numbers, as far as they can be observed.
    ///
    /// For tests and fuzzing: it visits the whole world. An error is a bug of this crate.
    ///
    /// # Errors
    /// Returns the first invariant found broken.
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
        let plans = self.plans.check(archetypes, &self.blocks.directory);
        plans.map_err(|(invariant, detail)| broken(invariant, detail.into()))?;
        (self.callbacks.check)(self)?;
        let rows: usize = self.archetypes().iter().map(Archetype::len).sum();
        if rows != self.len() {
            return Err(broken("I-1", format!("{rows} rows for {} entities", self.len())));
        }
        Ok(())
    }

    fn check_archetype(&self, archetype: &Archetype) -> Result<(), BrokenInvariant> {
        let at = |detail| format!("{detail}, in {:?}", archetype.id());
        if archetype.flags.complete().any(ArchetypeFlags::CLEANUP_DONE) && !archetype.is_empty() {
            return Err(broken("I-19", at("a despawned entity has nothing to clean up".into())));
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(crate::Component)]
    struct Gold;

    #[test]
    fn entities_and_rows_that_are_out_of_step_are_found() {
        let mut world = World::new();
        let [one, two] = [world.spawn(Gold), world.spawn(Gold)];
        world.check().expect("in order");
        let fault = |world: &World| {
            let fault = world.check().expect_err("it was spoiled");
            assert_eq!(fault.invariant, "I-1");
            fault.detail
        };
        let places = [one, two].map(|entity| world.entities.get(entity).expect("alive"));
        let [first, second] = places;
        world.entities.set_place(one, second);
        assert!(fault(&world).contains("listed in"));
        world.entities.set_place(one, first);
        let ghost = world.entities.allocate(first);
        assert!(fault(&world).contains("2 rows for 3 entities"));
        world.entities.free(ghost);
        world.check().expect("in order");
    }
}
