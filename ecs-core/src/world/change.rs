//! Structural changes: components come to and go from an entity, whose row moves.
#![expect(unsafe_code, reason = "moves rows between archetypes and bundles in and out of rows")]

use alloc::vec::Vec;
use core::fmt;

use super::World;
use super::lifecycle::Lifecycle;
use crate::archetype::Archetype;
use crate::bundle::{Bundle, Parts, with_starts};
use crate::component::{ArchetypeFlags, Component, ComponentId, ComponentInfo};
use crate::entities::Location;
use crate::entity::Entity;
use crate::error::{ComponentError, NoSuchEntity};
use crate::name::Name;
use crate::storage::{ChangeWindow, RowAddress};
use crate::transfer::{Change, MoveContext, Part, RowMove, Transition};

/// The entity is not in the world; the components that it was to be given are handed back.
pub struct NotInserted<B> {
    /// The entity that is not there.
    pub entity: Entity,
    /// What it was to be given.
    pub bundle: B,
}

debug_fields!([B] NotInserted<B>: entity);

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
        match self.locate_for_bundle::<B::Parts>(entity) {
            Some(from) => {
                self.insert_parts(entity, from, bundle.into_parts());
                Ok(())
            }
            None => Err(NotInserted { entity, bundle }),
        }
    }

    /// The place of an entity that is to be given a bundle, after all was told that has to be told
    /// before.
    #[inline]
    pub(crate) fn locate_for_bundle<P: Parts>(&mut self, entity: Entity) -> Option<Location> {
        let from = self.locate(entity)?;
        if !self.archetypes.get(from.archetype).flags.any(ArchetypeFlags::REPLACE) {
            return Some(from);
        }
        self.trigger_bundle::<P>(entity, |ids| Lifecycle::Replacing(ids));
        // An observer may have moved it, or taken it away.
        self.locate(entity)
    }

    /// Gives a bundle to an entity that is at `from`, and tells of it.
    #[inline]
    pub(crate) fn insert_parts<P: Parts>(&mut self, entity: Entity, from: Location, bundle: P) {
        let flags = self.insert_at(entity, from, bundle);
        if flags.any(ArchetypeFlags::ON_ADD) {
            self.trigger_bundle::<P>(entity, |ids| Lifecycle::Given(ids, from.archetype));
        }
    }

    /// Gives components to an entity that is at `from`; returns what is to be done next.
    #[inline]
    pub(crate) fn insert_at<P: Parts>(
        &mut self,
        entity: Entity,
        from: Location,
        bundle: P,
    ) -> ArchetypeFlags {
        let version = self.next_version();
        let Self { bundles, registry, archetypes, blocks, entities, scratch, settled, .. } = self;
        let insertion = bundles.insertion::<P>(from.archetype, registry, archetypes);
        if insertion.target == from.archetype {
            let moment =
                ChangeWindow { version, settled: *settled.get_mut(), ..ChangeWindow::default() };
            let archetype = archetypes.get(from.archetype);
            replace(archetype, insertion, from.address, bundle, moment);
            return archetype.flags;
        }
        let context = MoveContext { entities, blocks, scratch, version };
        let moving = RowMove::new(context, archetypes, (entity, from), insertion.target);
        let start = |k: usize| moving.target.chunks.column(moving.to.chunk, insertion.columns[k]);
        with_starts::<P, _>(start, |starts| {
            // SAFETY: the columns are those of the bundle's components in the target (I-6, I-9),
            // and the row is reserved.
            unsafe { bundle.write(starts, moving.to.row) };
        });
        // SAFETY: the transition begins at the archetype where the entity is (I-1, I-6), and the
        // columns of the bundle have just been written.
        let (left, target) = unsafe { moving.finish(&insertion.plan) };
        drop(left);
        target.flags
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
        self.remove_parts(entity).map(B::from_parts)
    }

    #[inline]
    pub(crate) fn remove_parts<P: Parts>(&mut self, entity: Entity) -> Result<P, ComponentError> {
        let mut from = self.locate(entity).ok_or(NoSuchEntity(entity))?;
        if self.archetypes.get(from.archetype).flags.any(ArchetypeFlags::ON_REMOVE)
            && self
                .bundles
                .transition::<P>(
                    Change::Remove,
                    from.archetype,
                    &mut self.registry,
                    &mut self.archetypes,
                )
                .is_some()
        {
            self.trigger_bundle::<P>(entity, |ids| Lifecycle::Removing(ids));
            // An observer may have moved it, or taken it away.
            from = self.locate(entity).ok_or(NoSuchEntity(entity))?;
        }
        let (removed, flags) = self.remove_at::<P>(entity, from)?;
        if flags.any(ArchetypeFlags::CLEANUP_PENDING) {
            self.finish_cleanup(entity);
        }
        Ok(removed)
    }

    /// Takes components from an entity that is at `from`; returns what is to be done next, too.
    #[inline]
    pub(crate) fn remove_at<P: Parts>(
        &mut self,
        entity: Entity,
        from: Location,
    ) -> Result<(P, ArchetypeFlags), ComponentError> {
        debug_assert_eq!(self.locate(entity), Some(from));
        let Self { bundles, registry, archetypes, .. } = self;
        let found = bundles.transition::<P>(Change::Remove, from.archetype, registry, archetypes);
        let Some(removal) = found else {
            let archetype = self.archetypes.get(from.archetype);
            let bundle = self.bundles.index::<P>(&mut self.registry);
            let missing = self.bundles.first_missing(bundle, entity, archetype, &self.registry);
            return Err(missing.into());
        };
        self.version += 1;
        let version = self.version;
        if removal.target == from.archetype {
            // SAFETY: only the empty bundle leads to where it came from (I-6); it has no
            // components, so nothing is read.
            return Ok((unsafe { P::read(&[], 0) }, ArchetypeFlags::NONE));
        }
        let Self { archetypes, blocks, entities, scratch, .. } = self;
        let context = MoveContext { entities, blocks, scratch, version };
        let moving = RowMove::new(context, archetypes, (entity, from), removal.target);
        let chunks = &moving.source.chunks;
        let start = |k: usize| chunks.column(from.address.chunk, removal.columns[k]);
        let removed = with_starts::<P, _>(start, |starts| {
            // SAFETY: the columns are those of the bundle's components in the source (I-6, I-9); the
            // row is a live entity's (I-1), and what it leaves behind is forgotten below.
            unsafe { P::read(starts, from.address.row) }
        });
        // SAFETY: the transition begins at the archetype where the entity is (I-1, I-6), and adds no
        // component.
        let (left, target) = unsafe { moving.finish(&removal.plan) };
        left.forget();
        Ok((removed, target.flags))
    }

    /// Leaves an entity that is at `from` nothing but its cleanup components and this tag.
    pub(super) fn strip(&mut self, entity: Entity, from: Location, tag: ComponentId) {
        debug_assert_eq!(self.locate(entity), Some(from));
        let version = self.next_version();
        let Self { bundles, registry, archetypes, blocks, entities, scratch, .. } = self;
        let is_kept = |info: &&ComponentInfo| info.is_cleanup();
        let (part, tag) = (Part::Cleanup, Some(tag));
        let transition = bundles.partial(part, from.archetype, registry, archetypes, is_kept, tag);
        let context = MoveContext { entities, blocks, scratch, version };
        let moving = RowMove::new(context, archetypes, (entity, from), transition.target);
        // SAFETY: the transition begins at the archetype where the entity is (I-1), and leads to
        // another, which has the tag (I-6). The tag alone is new: it has no bytes to write.
        drop(unsafe { moving.finish(&transition.plan) }.0);
    }

    /// Switches a component of an entity on or off; returns what it was. The entity stays where it
    /// is, and so does the value.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world or lacks the component, or the component
    /// is not declared enableable.
    pub fn set_enabled<T: Component>(
        &mut self,
        entity: Entity,
        enabled: bool,
    ) -> Result<bool, ComponentError> {
        let (archetype, address, column) = self.find::<T>(entity)?;
        let not_enableable = ComponentError::NotEnableable { component: T::name() };
        Ok(archetype.enabled_bit(address, column).ok_or(not_enableable)?.set(enabled))
    }

    /// Whether a component of an entity is switched on. One that cannot be switched always is.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world or lacks the component.
    pub fn is_enabled<T: Component>(&self, entity: Entity) -> Result<bool, ComponentError> {
        let (archetype, address, column) = self.find::<T>(entity)?;
        Ok(archetype.is_enabled(address, column))
    }

    /// The components of an entity, by name, with whether each is enabled.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world.
    pub fn components_of(&self, entity: Entity) -> Result<Vec<(Name, bool)>, NoSuchEntity> {
        let Location { archetype, address, .. } =
            self.locate(entity).ok_or(NoSuchEntity(entity))?;
        let archetype = self.archetypes.get(archetype);
        let columns = archetype.columns.iter().enumerate();
        Ok(columns
            .map(|(index, column)| (column.info.name.clone(), archetype.is_enabled(address, index)))
            .collect())
    }
}

/// Puts a bundle in place of the components that an entity has, all of them.
pub(super) fn replace<P: Parts>(
    archetype: &Archetype,
    insertion: &Transition,
    address: RowAddress,
    bundle: P,
    moment: ChangeWindow,
) {
    let RowAddress { chunk, row } = address;
    for &column in &insertion.columns {
        archetype.mark_changed(address, column, moment);
    }
    let start = |k: usize| archetype.chunks.column(chunk, insertion.columns[k]);
    let old = with_starts::<P, _>(start, |starts| {
        // SAFETY: the columns are those of the bundle's components (I-6, I-9), and the row is a live
        // entity's (I-1, I-2), in a world that the caller has to itself (I-10); it is given up here and
        // written again below, with no user code between.
        let old = unsafe { P::read(starts, row) };
        // SAFETY: the columns are those of the bundle's components (I-6, I-9); `old` has what lay in
        // the row, which the caller has to itself (I-10).
        unsafe { bundle.write(starts, row) };
        old
    });
    drop(old);
}
