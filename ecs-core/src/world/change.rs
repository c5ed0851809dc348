//! Structural changes: components come to and go from an entity, whose row moves.
#![expect(unsafe_code, reason = "moves rows between archetypes and bundles in and out of rows")]

use alloc::vec::Vec;
use core::fmt;

use super::World;
use super::bundles::Transition;
use crate::archetype::{Archetype, Archetypes};
use crate::bundle::{Bundle, ColumnStarts, with_starts};
use crate::component::{ArchetypeFlags, Component, ComponentId};
use crate::entities::{Entities, Location};
use crate::entity::Entity;
use crate::error::{ComponentError, MissingComponent, NoSuchEntity};
use crate::name::Name;
use crate::storage::{BlockPool, Chunks, ColumnAction, Moment, RowAddress};

/// The entity is not in the world; the components that it was to be given are handed back.
///
/// ```
/// use formic_ecs::prelude::*;
/// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
/// let mut world = World::new();
/// let imp = world.spawn(());
/// world.despawn(imp)?;
/// let refused = world.insert(imp, Gold(5)).unwrap_err();
/// assert_eq!((refused.entity, refused.bundle), (imp, Gold(5)));
/// # Ok::<(), formic_ecs::NoSuchEntity>(())
/// ```
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
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
    /// # #[derive(Component)] struct Depth(u32);
    /// let mut world = World::new();
    /// let imp = world.spawn(Gold(5));
    /// world.insert(imp, (Gold(6), Depth(1)))?;
    /// assert_eq!(world.get(imp), Ok(&Gold(6)));
    ///
    /// // Where the entity is gone, what was to be inserted comes back.
    /// world.despawn(imp).expect("alive");
    /// let Err(refused) = world.insert(imp, Gold(7)) else { panic!("the entity is alive") };
    /// assert_eq!(refused.bundle, Gold(7));
    /// # Ok::<(), formic_ecs::NotInserted<(Gold, Depth)>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world; the components are in the error.
    ///
    /// # Panics
    /// Panics if the bundle has a component twice.
    pub fn insert<B: Bundle>(&mut self, entity: Entity, bundle: B) -> Result<(), NotInserted<B>> {
        let Some(mut from) = self.locate(entity) else {
            return Err(NotInserted { entity, bundle });
        };
        if self.archetypes.get(from.archetype).flags.any(ArchetypeFlags::REPLACE) {
            self.trigger_replacing::<B>(entity);
            // An observer may have moved it, or taken it away.
            let Some(now) = self.locate(entity) else {
                return Err(NotInserted { entity, bundle });
            };
            from = now;
        }
        let flags = self.insert_at(entity, from, bundle);
        if flags.any(ArchetypeFlags::ON_ADD) {
            self.trigger_inserted::<B>(entity, from.archetype);
        }
        Ok(())
    }

    /// Gives components to an entity that is at `from`; returns what is to be done next.
    #[inline]
    pub(super) fn insert_at<B: Bundle>(
        &mut self,
        entity: Entity,
        from: Location,
        bundle: B,
    ) -> ArchetypeFlags {
        let version = self.next_version();
        let Self { bundles, registry, archetypes, blocks, entities, settled, .. } = self;
        let insertion = bundles.insertion::<B>(from.archetype, registry, archetypes);
        if insertion.target == from.archetype {
            let moment = Moment { version, settled: *settled.get_mut(), ..Moment::default() };
            let archetype = archetypes.get(from.archetype);
            replace(archetype, insertion, from.address, bundle, moment);
            return archetype.flags;
        }
        let moving = MoveRow { archetypes, blocks, entities, entity, from, version };
        let write = |_: &Chunks, target: &Chunks, to: RowAddress| {
            let start = |k: usize| target.column(to.chunk, insertion.columns[k]);
            with_starts::<B, _>(start, |starts| {
                // SAFETY: the columns are those of the bundle's components in the target (I-6, I-9),
                // and the row is reserved.
                unsafe { bundle.write(starts, to.row) };
            });
        };
        // SAFETY: the transition begins at the row's archetype (I-6), and `write` fills the columns
        // of the bundle.
        unsafe { moving.run(insertion, write) }.1
    }

    /// Takes components from an entity and hands them over.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
    /// # #[derive(Component, Debug, PartialEq)] struct Depth(u32);
    /// let mut world = World::new();
    /// let imp = world.spawn((Gold(5), Depth(1)));
    /// assert_eq!(world.remove::<Gold>(imp)?, Gold(5));
    /// // All of a bundle or nothing.
    /// assert!(world.remove::<(Gold, Depth)>(imp).is_err());
    /// assert!(world.has::<Depth>(imp));
    /// # Ok::<(), formic_ecs::ComponentError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world, or lacks one of the components; nothing
    /// has changed then.
    ///
    /// # Panics
    /// Panics if the bundle has a component twice.
    pub fn remove<B: Bundle>(&mut self, entity: Entity) -> Result<B, ComponentError> {
        let mut from = self.locate(entity).ok_or(NoSuchEntity(entity))?;
        if self.archetypes.get(from.archetype).flags.any(ArchetypeFlags::ON_REMOVE)
            && self
                .bundles
                .removal::<B>(from.archetype, &mut self.registry, &mut self.archetypes)
                .is_some()
        {
            self.trigger_removing::<B>(entity);
            // An observer may have moved it, or taken it away.
            from = self.locate(entity).ok_or(NoSuchEntity(entity))?;
        }
        let (removed, flags) = self.remove_at::<B>(entity, from)?;
        if flags.any(ArchetypeFlags::CLEANUP_PENDING) {
            self.finish_cleanup(entity);
        }
        Ok(removed)
    }

    /// Takes components from an entity that is at `from`; returns what is to be done next, too.
    #[inline]
    pub(super) fn remove_at<B: Bundle>(
        &mut self,
        entity: Entity,
        from: Location,
    ) -> Result<(B, ArchetypeFlags), ComponentError> {
        debug_assert_eq!(self.locate(entity), Some(from));
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
            // SAFETY: only the empty bundle leads to where it came from (I-6); it has no
            // components, so nothing is read.
            return Ok((unsafe { B::read(&[], 0) }, ArchetypeFlags::NONE));
        }
        let Self { archetypes, blocks, entities, .. } = self;
        let moving = MoveRow { archetypes, blocks, entities, entity, from, version };
        let read = |source: &Chunks, _: &Chunks, _: RowAddress| {
            let start = |k: usize| source.column(from.address.chunk, removal.columns[k]);
            with_starts::<B, _>(start, |starts| {
                // SAFETY: the columns are those of the bundle's components in the source (I-6, I-9);
                // the row is a live entity's (I-1), and these columns of it are forgotten by the
                // move.
                unsafe { B::read(starts, from.address.row) }
            })
        };
        // SAFETY: the transition begins at the row's archetype, and takes the columns that `read`
        // reads and adds none (I-6).
        Ok(unsafe { moving.run(removal, read) })
    }

    /// Leaves an entity that is at `from` nothing but its cleanup components and this tag.
    pub(super) fn strip(&mut self, entity: Entity, from: Location, tag: ComponentId) {
        debug_assert_eq!(self.locate(entity), Some(from));
        let version = self.next_version();
        let Self { bundles, registry, archetypes, blocks, entities, .. } = self;
        let transition = bundles.stripping(from.archetype, tag, registry, archetypes);
        let moving = MoveRow { archetypes, blocks, entities, entity, from, version };
        // SAFETY: the transition begins at the row's archetype and leads to another, which has the tag;
        // what does not go along is dropped (I-6). The tag alone is new: it has no bytes to write.
        _ = unsafe { moving.run(transition, |_, _, _| ()) };
    }

    /// Switches a component of an entity on or off; returns what it was. The entity stays where it
    /// is, and so does the value.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component, Debug)] #[component(enableable)] struct Lamp;
    /// let mut world = World::new();
    /// let room = world.spawn(Lamp);
    /// assert_eq!(world.set_enabled::<Lamp>(room, false)?, true, "what it was");
    /// assert_eq!(world.query::<&Lamp>().count(), 0);
    /// # Ok::<(), formic_ecs::ComponentError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world or lacks the component, or the component
    /// is not declared enableable.
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
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component, Clone, Debug, PartialEq)] struct Gold(u32);
    /// # #[derive(Component, Debug)] #[component(enableable)] struct Lamp;
    /// let mut world = World::new();
    /// let room = world.spawn((Lamp, Gold(1)));
    /// world.set_enabled::<Lamp>(room, false)?;
    /// assert!(!world.is_enabled::<Lamp>(room)?);
    /// assert!(world.is_enabled::<Gold>(room)?);
    /// # Ok::<(), formic_ecs::ComponentError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world or lacks the component.
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
    /// ```
    /// use formic_ecs::prelude::*;
    /// #[derive(Component)]
    /// #[component(enableable, name = "game.lamp")]
    /// struct Lamp;
    ///
    /// let mut world = World::new();
    /// let room = world.spawn(Lamp);
    /// world.set_enabled::<Lamp>(room, false)?;
    /// let names = world.components_of(room)?;
    /// assert_eq!((names[0].0.as_str(), names[0].1), ("game.lamp", false));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world.
    pub fn components_of(&self, entity: Entity) -> Result<Vec<(Name, bool)>, NoSuchEntity> {
        let Location { archetype, address, .. } =
            self.locate(entity).ok_or(NoSuchEntity(entity))?;
        let archetype = self.archetypes.get(archetype);
        let enabled = |slot: usize| archetype.chunks.bits(slot).get(address.chunk, address.row);
        let columns = archetype.columns.iter();
        Ok(columns
            .map(|column| (column.info.name.clone(), column.enable_slot.is_none_or(enabled)))
            .collect())
    }
}

/// An entity whose row is to move to another archetype, and what it takes to move it. Every
/// structural change of one entity goes through here.
pub(super) struct MoveRow<'w> {
    pub(super) archetypes: &'w mut Archetypes,
    pub(super) blocks: &'w mut BlockPool,
    pub(super) entities: &'w mut Entities,
    pub(super) entity: Entity,
    pub(super) from: Location,
    pub(super) version: u64,
}

impl MoveRow<'_> {
    /// Moves the row. `transfer` sees the chunks that the row leaves, those that it goes to, and
    /// its place there: it writes what is new and takes what does not go along.
    ///
    /// The values that the transition leaves to be dropped are dropped at the end, when all books are in
    /// order. Returns what there is to do where the row is now, too.
    ///
    /// # Safety
    /// `transition` leads from the archetype that the entity is in, and to another one (I-6). `transfer`
    /// does not panic, and initialises the columns of the target that `transition` does not move to (I-2).
    /// It takes only values that `transition` forgets.
    #[inline]
    pub(super) unsafe fn run<R>(
        self,
        transition: &Transition,
        transfer: impl FnOnce(&Chunks, &Chunks, RowAddress) -> R,
    ) -> (R, ArchetypeFlags) {
        let Self { archetypes, blocks, entities, entity, from, version } = self;
        let (source, target) = archetypes.get_two(from.archetype, transition.target);
        let to = target.chunks.reserve_row(blocks);
        let transferred = transfer(&source.chunks, &target.chunks, to);
        let arrival = (&mut target.chunks, to);
        // SAFETY: a live entity's row (I-1) and one that was just reserved, of two archetypes, which
        // the transition leads between (I-6); `transfer` has written what the transition does not move.
        let (taken, place) = unsafe {
            source.chunks.move_row(
                blocks,
                (entity, from.address),
                arrival,
                &transition.plan,
                version,
            )
        };
        entities.set_place(entity, place);
        if let Some(moved) = taken.moved {
            entities.set_place(moved, from.place);
        }
        if transition.plan.drops {
            let is_left =
                |column: usize| transition.plan.steps[column].action == ColumnAction::Drop;
            // SAFETY: these values, initialised (I-2) and of their columns' types (I-9), were kept
            // behind the last row for us to drop, where they are unowned; all books are in order.
            unsafe { source.drop_row(taken.vacated, is_left) };
        }
        (transferred, target.flags)
    }
}

/// Puts a bundle in place of the components that an entity has, all of them.
pub(super) fn replace<B: Bundle>(
    archetype: &Archetype,
    insertion: &Transition,
    address: RowAddress,
    bundle: B,
    moment: Moment,
) {
    let RowAddress { chunk, row } = address;
    for &column in &insertion.columns {
        archetype.mark_changed(address, column, moment);
    }
    let starts = column_starts(&archetype.chunks, &insertion.columns, chunk);
    // SAFETY: the columns are those of the bundle's components (I-6, I-9), and the row is a live
    // entity's (I-1, I-2), in a world that the caller has to itself (I-10); it is given up here and
    // written again below, with no user code between.
    let old = unsafe { B::read(starts.as_slice(), row) };
    // SAFETY: the columns are those of the bundle's components (I-6, I-9); `old` has what lay in
    // the row, which the caller has to itself (I-10).
    unsafe { bundle.write(starts.as_slice(), row) };
    drop(old);
}

pub(super) fn column_starts(chunks: &Chunks, columns: &[usize], chunk: usize) -> ColumnStarts {
    ColumnStarts::new(columns.iter().map(|&column| chunks.column(chunk, column)))
}
