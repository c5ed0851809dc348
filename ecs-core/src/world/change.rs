//! Structural changes: components come to and go from an entity, whose row moves.
#![expect(unsafe_code, reason = "moves rows between archetypes and bundles in and out of rows")]

use alloc::vec::Vec;
use core::fmt;

use super::World;
use super::bundles::Transition;
use crate::archetype::Archetype;
use crate::bundle::{Bundle, ColumnStarts};
use crate::component::Component;
use crate::entities::{Entities, Location};
use crate::entity::Entity;
use crate::error::{ComponentError, MissingComponent, NoSuchEntity};
use crate::storage::{Chunks, Place, RowAddress, TakenRow};

/// The entity is not in the world; the components that it was to be given are handed back.
pub struct NotInserted<B> {
    /// The entity that is not there.
    pub entity: Entity,
    /// What it was to be given.
    pub bundle: B,
}

impl<B> fmt::Debug for NotInserted<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NotInserted").field("entity", &self.entity).finish_non_exhaustive()
    }
}

impl<B> fmt::Display for NotInserted<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot insert components: {}", NoSuchEntity(self.entity))
    }
}

impl<B> core::error::Error for NotInserted<B> {}

impl World {
    /// Gives components to an entity. Those it has already are replaced, and keep their enabled
    /// bit; those it did not have come enabled.
    ///
    /// The replaced values are dropped at the end: should a drop panic, the entity has the new
    /// components and everything is in order.
    ///
    /// # Errors
    /// Where the entity is not in the world; the components are in the error.
    ///
    /// # Panics
    /// Where the bundle has a component twice.
    pub fn insert<B: Bundle>(&mut self, entity: Entity, bundle: B) -> Result<(), NotInserted<B>> {
        let Some(from) = self.locate(entity) else {
            return Err(NotInserted { entity, bundle });
        };
        let version = self.next_version();
        let Self { bundles, registry, archetypes, blocks, entities, .. } = self;
        let insertion = bundles.insertion::<B>(from.archetype, registry, archetypes);
        if insertion.target == from.archetype {
            replace(archetypes.get(from.archetype), insertion, from.address, bundle, version);
            return Ok(());
        }
        let (source, target) = archetypes.get_two(from.archetype, insertion.target);
        let (to, _) = target.chunks.reserve_rows(blocks, 1);
        // SAFETY: a live entity's row (I-1) and a reserved one, of two archetypes; the pairs of
        // columns were worked out from equal component ids (I-6). The values left behind are
        // forgotten below.
        unsafe { source.chunks.copy_row(from.address, &target.chunks, to, &insertion.moves) };
        let starts = column_starts(&target.chunks, &insertion.columns, to.chunk);
        // SAFETY: the columns are those of the bundle's components in the target (I-6, I-9), and
        // the row is reserved.
        unsafe { bundle.write(starts.as_slice(), to.row) };
        // SAFETY: reserved above; the moves and the bundle together are all columns of the target.
        unsafe { target.chunks.commit_rows(to, &[entity], version) };
        copy_bits(source, from.address, target, to, &insertion.bit_moves);
        let keep = |column: usize| insertion.replaced.contains(&column);
        let taken = source.chunks.take_row(blocks, from.address, version, keep);
        settle(entities, entity, from.place, target.chunks.place(to), &taken);
        if source.needs_drop {
            // SAFETY: the replaced values were kept behind the last row for us to drop; all books
            // are in order.
            unsafe { source.drop_row(taken.vacated, keep) };
        }
        Ok(())
    }

    /// Takes components from an entity and hands them over.
    ///
    /// # Errors
    /// Where the entity is not in the world, or lacks one of the components; nothing has changed
    /// then.
    ///
    /// # Panics
    /// Where the bundle has a component twice.
    pub fn remove<B: Bundle>(&mut self, entity: Entity) -> Result<B, ComponentError> {
        let from = self.locate(entity).ok_or(NoSuchEntity(entity))?;
        let found =
            self.bundles.removal::<B>(from.archetype, &mut self.registry, &mut self.archetypes);
        let Some(removal) = found else {
            let archetype = self.archetypes.get(from.archetype);
            let component = self.bundles.first_missing::<B>(archetype, &mut self.registry);
            return Err(MissingComponent { entity, component }.into());
        };
        self.version += 1;
        let version = self.version;
        if removal.target == from.archetype {
            // The empty bundle. SAFETY: it has no components, so nothing is read.
            return Ok(unsafe { B::read(&[], 0) });
        }
        let (source, target) = self.archetypes.get_two(from.archetype, removal.target);
        let (to, _) = target.chunks.reserve_rows(&mut self.blocks, 1);
        // SAFETY: a live entity's row (I-1) and a reserved one; the pairs of columns were worked
        // out from equal component ids (I-6). The values left behind are forgotten below.
        unsafe { source.chunks.copy_row(from.address, &target.chunks, to, &removal.moves) };
        // SAFETY: reserved above; the moves are all columns of the target.
        unsafe { target.chunks.commit_rows(to, &[entity], version) };
        copy_bits(source, from.address, target, to, &removal.bit_moves);
        let starts = column_starts(&source.chunks, &removal.columns, from.address.chunk);
        // SAFETY: the columns are those of the bundle's components in the source (I-6, I-9); the
        // row is a live entity's (I-1) and forgotten at once.
        let removed = unsafe { B::read(starts.as_slice(), from.address.row) };
        let taken = source.chunks.take_row(&mut self.blocks, from.address, version, |_| false);
        settle(&mut self.entities, entity, from.place, target.chunks.place(to), &taken);
        Ok(removed)
    }

    /// Switches a component of an entity on or off; returns what it was. The entity stays where it
    /// is, and so does the value.
    ///
    /// # Errors
    /// Where the entity is not in the world or lacks the component, or the component is not
    /// declared enableable.
    pub fn set_enabled<T: Component>(
        &mut self,
        entity: Entity,
        enabled: bool,
    ) -> Result<bool, ComponentError> {
        let (location, slot) = self.enable_slot::<T>(entity)?;
        let bits = self.archetypes.get(location.archetype).chunks.bits(slot);
        Ok(bits.set(location.address.chunk, location.address.row, enabled))
    }

    /// Whether a component of an entity is switched on. One that cannot be switched always is.
    ///
    /// # Errors
    /// Where the entity is not in the world or lacks the component.
    pub fn is_enabled<T: Component>(&self, entity: Entity) -> Result<bool, ComponentError> {
        match self.enable_slot::<T>(entity) {
            Ok((location, slot)) => {
                let bits = self.archetypes.get(location.archetype).chunks.bits(slot);
                Ok(bits.get(location.address.chunk, location.address.row))
            }
            Err(ComponentError::NotEnableable { .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }

    fn enable_slot<T: Component>(
        &self,
        entity: Entity,
    ) -> Result<(Location, usize), ComponentError> {
        let location = self.locate(entity).ok_or(NoSuchEntity(entity))?;
        let archetype = self.archetypes.get(location.archetype);
        let column = self
            .registry
            .get::<T>()
            .and_then(|id| archetype.column_of(id))
            .ok_or_else(|| MissingComponent { entity, component: T::name() })?;
        let slot = archetype.columns[column].enable_slot;
        Ok((location, slot.ok_or_else(|| ComponentError::NotEnableable { component: T::name() })?))
    }

    /// The components of an entity, by name, with whether each is enabled.
    ///
    /// # Errors
    /// Where the entity is not in the world.
    pub fn components_of(&self, entity: Entity) -> Result<Vec<(&'static str, bool)>, NoSuchEntity> {
        let Location { archetype, address, .. } =
            self.locate(entity).ok_or(NoSuchEntity(entity))?;
        let archetype = self.archetypes.get(archetype);
        let enabled = |slot: usize| archetype.chunks.bits(slot).get(address.chunk, address.row);
        let columns = archetype.columns.iter();
        Ok(columns
            .map(|column| (column.info.name, column.enable_slot.is_none_or(enabled)))
            .collect())
    }
}

/// Puts a bundle in place of the components that an entity has, all of them.
fn replace<B: Bundle>(
    archetype: &Archetype,
    insertion: &Transition,
    address: RowAddress,
    bundle: B,
    version: u64,
) {
    let RowAddress { chunk, row } = address;
    for &column in &insertion.columns {
        archetype.chunks.stamp(chunk, column, version);
    }
    let starts = column_starts(&archetype.chunks, &insertion.columns, chunk);
    // SAFETY: the columns are those of the bundle's components (I-6, I-9), and the row is a live
    // entity's (I-1); it is given up here and written again below, with no user code between.
    let old = unsafe { B::read(starts.as_slice(), row) };
    // SAFETY: as above; `old` has what lay there.
    unsafe { bundle.write(starts.as_slice(), row) };
    drop(old);
}

fn column_starts(chunks: &Chunks, columns: &[usize], chunk: usize) -> ColumnStarts {
    ColumnStarts::new(columns.iter().map(|&column| chunks.column(chunk, column)))
}

/// Copies the enabled bits that go along with a row.
fn copy_bits(
    source: &Archetype,
    from: RowAddress,
    target: &Archetype,
    to: RowAddress,
    moves: &[(usize, usize)],
) {
    for &(mine, theirs) in moves {
        let enabled = source.chunks.bits(mine).get(from.chunk, from.row);
        target.chunks.bits(theirs).set(to.chunk, to.row, enabled);
    }
}

/// Writes down where a moved entity is, and where the one that took its old place.
fn settle(entities: &mut Entities, entity: Entity, from: Place, to: Place, taken: &TakenRow) {
    entities.set_place(entity, to);
    if let Some(moved) = taken.moved {
        entities.set_place(moved, from);
    }
}
