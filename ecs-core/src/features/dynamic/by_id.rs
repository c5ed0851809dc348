//! Access to components by their ids: for components without a Rust type, and for hosts without Rust
//! types.
#![expect(unsafe_code, reason = "writes and drops values that are known by their layout alone")]

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::any::TypeId;
use core::ptr::NonNull;

use super::{ByIdError, ComponentDescriptor, RegisterError};
use crate::archetype::{Archetype, ArchetypeId};
use crate::commands::CommandBuffer;
use crate::component::{
    ArchetypeFlags, Component, ComponentId, ComponentInfo, FieldText, not_editable,
};
use crate::entities::Location;
use crate::entity::Entity;
use crate::error::NoSuchEntity;
use crate::storage::RowAddress;
use crate::transfer::{Change, MoveContext, NewRows};
use crate::user_code::expected;
use crate::world::{CleanupGuard, Lifecycle, World};

/// Access by id.
impl World {
    /// Returns read access to the components of entities by component id.
    #[must_use]
    pub const fn by_id(&self) -> ById<'_> {
        ById(self)
    }

    /// Returns access that adds, changes and removes components by id, and spawns entities with them.
    #[must_use]
    pub const fn by_id_mut(&mut self) -> ByIdMut<'_> {
        ByIdMut(self)
    }
}

/// Read access to the components of a world by their ids. Created by [`World::by_id`].
#[derive(Clone, Copy, Debug)]
pub struct ById<'w>(pub(in crate::features) &'w World);

/// Write access to the components of a world by their ids. Created by [`World::by_id_mut`].
#[derive(Debug)]
pub struct ByIdMut<'w>(pub(in crate::features) &'w mut World);

impl<'w> ById<'w> {
    /// Whether the entity has the component, enabled or not. `false` if the entity is not alive, or the
    /// world does not know the id.
    #[must_use]
    pub fn has(self, entity: Entity, id: ComponentId) -> bool {
        let world = self.0;
        world.locate(entity).is_some_and(|location| {
            world.archetypes.get(location.archetype).components().contains(id)
        })
    }

    /// Returns the bytes of a component of an entity, enabled or not. The component was registered as
    /// plain bytes, or its type has bytes (see [`Component::BYTES`](crate::Component::BYTES)).
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world, the world does not know the id, the entity
    /// lacks the component, or its values have no bytes.
    pub fn get(self, entity: Entity, id: ComponentId) -> Result<&'w [u8], ByIdError> {
        let world = self.0;
        let (archetype, address, column) = world.find_by_id(entity, id)?;
        let name = || world.registry.info(id).name().clone();
        archetype.bytes(address, column).ok_or_else(|| ByIdError::NotBytes(name()))
    }

    /// Returns the fields of a component of an entity as text. If the fields are not known, it is the
    /// whole value, or nothing if that has no size. A text has at most about 1,000 bytes.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// #[derive(Component)]
    /// enum Mood {
    ///     Calm,
    ///     Angry { at: Entity },
    /// }
    /// let mut world = World::new();
    /// let cat = world.spawn(Mood::Calm);
    /// let dog = world.spawn(Mood::Angry { at: cat });
    /// let mood = world.component_id::<Mood>().expect("it is in use");
    /// let fields = world.by_id().fields(dog, mood)?;
    /// assert_eq!((fields[0].name, fields[0].text.as_deref()), ("variant", Some("Angry")));
    /// assert_eq!((fields[1].name, &fields[1].text), ("at", &Some(cat.to_string())));
    /// # Ok::<(), formic_ecs::ByIdError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world, the world does not know the id, or the entity
    /// lacks the component.
    pub fn fields(self, entity: Entity, id: ComponentId) -> Result<Vec<FieldText>, ByIdError> {
        let (archetype, address, column) = self.0.find_by_id(entity, id)?;
        let info = &archetype.columns[column].info;
        let Some(known) = info.erased.fields else {
            let value = archetype.shown_value(address, column);
            return Ok(if info.layout.size() == 0 {
                Vec::new()
            } else {
                vec![FieldText::whole(&value)]
            });
        };
        let mut fields = Vec::new();
        let value = archetype.chunks.row(address, column);
        // SAFETY: the function is that of the column's type (I-9). The row is initialised (I-2): `row`
        // has checked that it exists. The borrow of the world keeps writers out.
        unsafe { (known.read)(value, &mut |field| fields.push(field)) };
        Ok(fields)
    }

    /// Returns the address of a component of an entity, of any kind, for reading while the world is
    /// borrowed.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world, the world does not know the id, or the entity
    /// lacks the component.
    pub fn get_ptr(self, entity: Entity, id: ComponentId) -> Result<NonNull<u8>, ByIdError> {
        let (archetype, address, column) = self.0.find_by_id(entity, id)?;
        Ok(archetype.chunks.row(address, column))
    }

    /// Whether a component of an entity is enabled. A component that is not enableable always is.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world, the world does not know the id, or the entity
    /// lacks the component.
    pub fn is_enabled(self, entity: Entity, id: ComponentId) -> Result<bool, ByIdError> {
        let (archetype, address, column) = self.0.find_by_id(entity, id)?;
        Ok(archetype.is_enabled(address, column))
    }
}

impl<'w> ByIdMut<'w> {
    /// Registers a component that has no Rust type (see [`ComponentDescriptor`]), and returns its id.
    ///
    /// # Errors
    /// Returns an error if the name is taken, the world cannot store values of this layout, or it has as
    /// many components as it can number.
    pub fn register(self, descriptor: ComponentDescriptor) -> Result<ComponentId, RegisterError> {
        descriptor.register(&mut self.0.registry)
    }

    /// Adds a component that was registered as plain bytes to an entity, or replaces its value, which
    /// keeps the enabled bit.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world, the world does not know the id, the component
    /// is not plain bytes, or the number of bytes is not the size of a value.
    pub fn insert(self, entity: Entity, id: ComponentId, bytes: &[u8]) -> Result<(), ByIdError> {
        let world = self.0;
        world.expect_bytes(id, bytes, 1)?;
        // SAFETY: the number of bytes is the size of a value. They may be copied, and are outside the
        // world, which is borrowed exclusively. Plain bytes have no drop (I-16), so they are only read,
        // and need not be aligned.
        unsafe { world.by_id_mut().insert_ptr(entity, id, NonNull::from(bytes).cast()) }
    }

    /// Adds a component of any kind to an entity, or replaces its value, which keeps the enabled bit. The
    /// value is moved out of the memory at `value`. A replaced value is dropped once the new one is in
    /// place.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use core::{alloc::Layout, ptr::NonNull};
    /// use formic_ecs::ComponentDescriptor;
    /// let mut world = World::new();
    /// let score = world.by_id_mut().register(ComponentDescriptor::bytes("score", Layout::new::<u32>()))?;
    /// let imp = world.spawn(());
    /// let mut value = 7_u32;
    /// // SAFETY: four initialised bytes, as the layout says; plain bytes may be copied.
    /// unsafe { world.by_id_mut().insert_ptr(imp, score, NonNull::from(&mut value).cast())? };
    /// let at = world.by_id().get_ptr(imp, score)?;
    /// // SAFETY: the address of a `u32` in a world that does not change meanwhile.
    /// assert_eq!(unsafe { at.cast::<u32>().read() }, 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world, the world does not know the id, or only the
    /// world adds the component. The caller still owns the value then.
    ///
    /// # Safety
    /// `id` was issued by this world. `value` points to an initialised value of that component: of its
    /// type, or as its descriptor requires (plain bytes: all initialised). The value is outside the world,
    /// and has no other owner. It can be read for the size of the component. If values of the component
    /// are dropped, it can also be written, and is aligned: a value that it replaces is dropped there. After
    /// success, or after a panic of an observer or of a drop, it must be neither used nor dropped.
    pub unsafe fn insert_ptr(
        self,
        entity: Entity,
        id: ComponentId,
        value: NonNull<u8>,
    ) -> Result<(), ByIdError> {
        let world = self.0;
        let info = world.expect_unmanaged(id)?;
        let (size, drop) = (info.layout.size(), info.erased.drop);
        let put = |room: NonNull<u8>, replaces: bool| match drop {
            Some(drop) if replaces => {
                // SAFETY: the row holds an initialised value of the component (I-2, I-16). The caller's
                // is outside the world and may be written.
                unsafe { core::ptr::swap_nonoverlapping(room.as_ptr(), value.as_ptr(), size) };
                // SAFETY: the old value, of the component that the function belongs to (I-9, I-16), is
                // now in the memory that the caller has given up.
                unsafe { drop.call(value) };
            }
            // SAFETY: the row has room for a value of the component (I-9, I-16), and a value that it
            // holds needs no drop. The caller's is outside the world.
            _ => unsafe { room.copy_from_nonoverlapping(value, size) },
        };
        // SAFETY: the function puts a value of the component into the row (I-9, I-16).
        unsafe { world.put_by_id(entity, id, put) }
    }

    /// Removes a component of any kind from an entity and drops it.
    ///
    /// If the drop panics, the component is gone nevertheless, and the world is consistent.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world, the world does not know the id, the entity
    /// lacks the component, or only the world removes it.
    pub fn remove(self, entity: Entity, id: ComponentId) -> Result<(), ByIdError> {
        let world = self.0;
        world.expect_unmanaged(id)?;
        if world.flags_of(entity).any(ArchetypeFlags::ON_REMOVE) {
            world.trigger_lifecycle(entity, Lifecycle::Removing(&[id]));
        }
        let guard = CleanupGuard { world, entities: &[entity] };
        let row = guard.world.moves().locate(entity).ok_or(NoSuchEntity(entity))?;
        let Some(left) = row.leave(Change::Remove, &[id]) else {
            let component = guard.world.registry.info(id).name().clone();
            return Err(ByIdError::Missing { entity, component });
        };
        drop(left);
        Ok(())
    }

    /// Returns mutable access to the bytes of a component that was registered as plain bytes.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world, the world does not know the id, the entity
    /// lacks the component, or it was not registered as plain bytes.
    pub fn get_mut(self, entity: Entity, id: ComponentId) -> Result<&'w mut [u8], ByIdError> {
        let world = self.0;
        let info = world.registry.find(id)?;
        if !info.is_bytes() {
            return Err(ByIdError::NotBytes(info.name().clone()));
        }
        let size = info.layout.size();
        let value = world.by_id_mut().get_mut_ptr(entity, id)?;
        let mut value = NonNull::slice_from_raw_parts(value, size);
        // SAFETY: a row of plain bytes, all initialised (I-2, I-16). The world is borrowed exclusively
        // for as long as the slice lives.
        Ok(unsafe { value.as_mut() })
    }

    /// Sets a field of a component from a text. `field` is its index among [`fields`](ById::fields). The
    /// component counts as changed.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// #[derive(Component, Debug, PartialEq)]
    /// #[component(editable)]
    /// struct Gold(u32);
    /// let mut world = World::new();
    /// let purse = world.spawn(Gold(7));
    /// let gold = world.component_id::<Gold>().expect("it is in use");
    /// world.by_id_mut().set_field(purse, gold, 0, "8")?;
    /// assert_eq!(world.get(purse), Ok(&Gold(8)));
    /// let error = world.by_id_mut().set_field(purse, gold, 0, "much").unwrap_err();
    /// assert!(error.to_string().ends_with("\"much\" is no u32"), "{error}");
    /// # Ok::<(), formic_ecs::ByIdError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world, the world does not know the id, the entity
    /// lacks the component, only the world changes it, it is not declared `#[component(editable)]`, or
    /// the text is not a value of the field.
    pub fn set_field(
        self,
        entity: Entity,
        id: ComponentId,
        field: usize,
        text: &str,
    ) -> Result<(), ByIdError> {
        let world = self.0;
        let info = world.expect_unmanaged(id)?;
        let (known, component) = (info.erased.fields, info.name().clone());
        let (archetype, address, column) = world.find_by_id(entity, id)?;
        let value = archetype.chunks.row(address, column);
        let written = match known {
            // SAFETY: the function is that of the column's type (I-9). The row is initialised (I-2):
            // `row` has checked that it exists. The world is borrowed exclusively.
            Some(known) => unsafe { (known.write)(value, field, text) },
            None => not_editable(text),
        };
        written.map_err(|reason| ByIdError::NotSet { component, reason })?;
        world.open_row(entity, id);
        Ok(())
    }

    /// Adds a component with its default value to an entity, or replaces the value that it has.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world, the world does not know the id, only the world
    /// adds the component, or it has no default value.
    pub fn insert_default(self, entity: Entity, id: ComponentId) -> Result<(), ByIdError> {
        let world = self.0;
        let info = world.expect_unmanaged(id)?;
        let default = info.erased.default;
        let put_default = default.ok_or_else(|| ByIdError::NoDefault(info.name().clone()))?;
        // SAFETY: the function is that of the component's type (I-9), and the row is one of its column.
        let put = |room: NonNull<u8>, replaces| unsafe { put_default(room, replaces) };
        // SAFETY: the function puts a value of the component into the row (I-9), which it creates first.
        unsafe { world.put_by_id(entity, id, put) }
    }

    /// Returns the address of a component of an entity, of any kind, for writing while the world is
    /// borrowed.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world, the world does not know the id, the entity
    /// lacks the component, or only the world changes it, such as the two sides of a relation.
    pub fn get_mut_ptr(self, entity: Entity, id: ComponentId) -> Result<NonNull<u8>, ByIdError> {
        let world = self.0;
        let component = world.expect_unmanaged(id)?.name().clone();
        world.find_by_id(entity, id)?;
        world.open_row(entity, id).ok_or(ByIdError::Missing { entity, component })
    }

    /// Enables or disables a component of an entity, and returns whether it was enabled.
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world, the world does not know the id, the entity
    /// lacks the component, or the component is not enableable.
    pub fn set_enabled(
        self,
        entity: Entity,
        id: ComponentId,
        enabled: bool,
    ) -> Result<bool, ByIdError> {
        let (archetype, address, column) = self.0.find_by_id(entity, id)?;
        let not_enableable =
            || ByIdError::NotEnableable(archetype.columns[column].info.name().clone());
        let bit = archetype.enabled_bit(address, column).ok_or_else(not_enableable)?;
        Ok(bit.set(enabled))
    }

    /// Spawns an entity with these components, which were registered as plain bytes.
    ///
    /// # Errors
    /// Returns an error if the world does not know an id, an id appears twice, a component is not plain
    /// bytes, or the number of its bytes is not the size of a value. Nothing is spawned then.
    ///
    /// # Panics
    /// Panics if the world has no handle left (see [`World`]).
    pub fn spawn(self, components: &[(ComponentId, &[u8])]) -> Result<Entity, ByIdError> {
        let world = self.0;
        Ok(world.by_id_mut().spawn_batch(components, 1)?[0])
    }

    /// Spawns `count` entities with the same components, which were registered as plain bytes. For each
    /// component there are the values of all entities, one after the other.
    ///
    /// ```
    /// use core::alloc::Layout;
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::ComponentDescriptor;
    ///
    /// let mut world = World::new();
    /// let byte = Layout::new::<u8>();
    /// let team = world.by_id_mut().register(ComponentDescriptor::bytes("team", byte))?;
    /// let imps = world.by_id_mut().spawn_batch(&[(team, &[1, 2, 3])], 3)?;
    /// assert_eq!(world.by_id().get(imps[2], team)?, [3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the world does not know an id, an id appears twice, a component is not plain
    /// bytes, or the number of its bytes is not the size of `count` values. Nothing is spawned then.
    ///
    /// # Panics
    /// Panics if the world has no handle left (see [`World`]). The entities before that exist.
    pub fn spawn_batch(
        self,
        components: &[(ComponentId, &[u8])],
        count: usize,
    ) -> Result<Vec<Entity>, ByIdError> {
        let world = self.0;
        for &(id, bytes) in components {
            world.expect_bytes(id, bytes, count)?;
        }
        let start = |&(id, bytes): &(ComponentId, &[u8])| (id, NonNull::from(bytes).cast());
        let values: Vec<_> = components.iter().map(start).collect();
        // SAFETY: plain bytes, as many as `count` values have, as was checked (I-16). They may be copied,
        // and are outside the world.
        unsafe { world.by_id_mut().spawn_batch_ptr(&values, count) }
    }

    /// Spawns `count` entities with the same components, of any kind. For each component, the values of
    /// all entities, one after the other, are moved out of the memory at its address.
    ///
    /// ```
    /// use core::{alloc::Layout, ptr::NonNull};
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::ComponentDescriptor;
    ///
    /// let mut world = World::new();
    /// // SAFETY: there is nothing to drop.
    /// let name = unsafe {
    ///     ComponentDescriptor::with_functions("host.name", Layout::new::<&str>(), None, None, None)
    /// };
    /// let name = world.by_id_mut().register(name)?;
    /// let mut names = ["Ada", "Bob"];
    /// // SAFETY: two values of the layout, which may be copied.
    /// let two = unsafe { world.by_id_mut().spawn_batch_ptr(&[(name, NonNull::from(&mut names).cast())], 2)? };
    /// // SAFETY: the address of such a value in a world that does not change meanwhile.
    /// assert_eq!(unsafe { world.by_id().get_ptr(two[1], name)?.cast::<&str>().read() }, "Bob");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the world does not know an id, an id appears twice, or only the world adds the
    /// component. Nothing is spawned then, and the caller still owns the values.
    ///
    /// # Panics
    /// Panics if the world has no handle left (see [`World`]). The entities before that exist, and the
    /// values of the others are not dropped.
    ///
    /// # Safety
    /// The ids were issued by this world. At each address are `count` values of that component, which
    /// meet the requirements of [`insert_ptr`](ByIdMut::insert_ptr), except that they are only read, and
    /// need not be aligned.
    pub unsafe fn spawn_batch_ptr(
        self,
        components: &[(ComponentId, NonNull<u8>)],
        count: usize,
    ) -> Result<Vec<Entity>, ByIdError> {
        let world = self.0;
        for (place, &(id, _)) in components.iter().enumerate() {
            let info = world.expect_unmanaged(id)?;
            if components[..place].iter().any(|&(other, _)| other == id) {
                return Err(ByIdError::Twice(info.name().clone()));
            }
        }
        let ids = components.iter().map(|&(id, _)| id).collect::<Vec<_>>();
        let expected = expected(count);
        world.entities.reserve(expected);
        let mut spawned = Vec::with_capacity(expected);
        while spawned.len() < count {
            world.next_version();
            let MoveContext { bundles, registry, archetypes, blocks, entities, version, .. } =
                world.moves();
            let (change, nowhere) = (Change::Insert, ArchetypeId::EMPTY);
            let insertion = bundles.transition_of_ids(change, &ids, nowhere, registry, archetypes);
            let insertion = insertion.expect("it leads somewhere");
            let flags = archetypes.get(insertion.target).flags;
            // An observer may do anything, so entities that trigger any are spawned one by one.
            let is_observed = flags.any(ArchetypeFlags::ON_ADD);
            let left = if is_observed { 1 } else { count - spawned.len() };
            let wanted = left.min(entities.available_min());
            let from = spawned.len();
            let mut rows = NewRows::new(archetypes, insertion, *version, &mut spawned);
            let granted = rows.prepare(blocks, wanted);
            let (columns, first) = rows.next_row();
            for (&start, &(id, values)) in columns.starts.iter().zip(components) {
                let size = registry.info(id).layout.size();
                // SAFETY: so many consecutive rows of the column were reserved (I-3).
                let target = unsafe { start.add(first * size) };
                // SAFETY: the caller guarantees `count` values, and fewer have been spawned so far.
                let source = unsafe { values.add(from * size) };
                // SAFETY: each row has room for a value (I-9, I-16). The caller's are outside the world.
                unsafe { target.copy_from_nonoverlapping(source, granted * size) };
            }
            for _ in 0..granted {
                let entity = entities.allocate(rows.place());
                // SAFETY: the archetype has these components and no others, so every column of the row
                // was written (I-2), with a value of its component (I-9, I-16).
                unsafe { rows.push(entity) };
            }
            drop(rows);
            if is_observed {
                world.trigger_lifecycle(spawned[from], Lifecycle::Spawned(&ids));
            }
        }
        Ok(spawned)
    }
}

impl World {
    /// Adds a component to this entity by a function, which gets the row and whether the row already
    /// holds a value. The row is reserved before the function is called.
    ///
    /// # Safety
    /// If the row holds no value, `put` initialises it with a value of the component (I-9, I-16). If it
    /// holds one, `put` replaces and drops that. If `put` panics, the row is as before, or has the new
    /// value.
    unsafe fn put_by_id(
        &mut self,
        entity: Entity,
        id: ComponentId,
        put: impl FnOnce(NonNull<u8>, bool),
    ) -> Result<(), ByIdError> {
        if self.flags_of(entity).any(ArchetypeFlags::REPLACE) {
            self.trigger_lifecycle(entity, Lifecycle::Inserting(&[id]));
        }
        // An observer may have moved or despawned the entity.
        let from = self.locate(entity).ok_or(NoSuchEntity(entity))?.archetype;
        if let Some(there) = self.open_row(entity, id) {
            put(there, true);
        } else if let Some(row) = self.moves().locate(entity) {
            // SAFETY: the caller guarantees the function. The entity was found to lack the component.
            unsafe { row.insert_id(id, |room| put(room, false)) };
        }
        if self.flags_of(entity).any(ArchetypeFlags::ON_ADD) {
            self.trigger_lifecycle(entity, Lifecycle::Inserted(&[id], from));
        }
        Ok(())
    }

    /// Adds a component that holds values of this type to a live entity that lacks it.
    ///
    /// # Panics
    /// Panics if the entity has the component, or the component holds values of another type.
    pub(in crate::features) fn add_component<T: Component>(
        &mut self,
        entity: Entity,
        id: ComponentId,
        value: T,
    ) {
        let holds = self.registry.info(id).type_id();
        assert!(holds == Some(TypeId::of::<T>()), "the component is of another type");
        if let Some(row) = self.moves().locate(entity) {
            let put = |room: NonNull<u8>| {
                // SAFETY: the row is a free one of a column of this type, as was just checked (I-9,
                // I-16).
                unsafe { room.cast::<T>().write(value) };
            };
            // SAFETY: the function puts a value of the component into the row (I-9, I-16).
            unsafe { row.insert_id(id, put) };
        }
    }

    /// Returns the description of a component, unless only the world adds, changes and removes it.
    pub(super) fn expect_unmanaged(&self, id: ComponentId) -> Result<&ComponentInfo, ByIdError> {
        let info = self.registry.find(id)?;
        if info.managed { Err(ByIdError::Managed(info.name().clone())) } else { Ok(info) }
    }

    /// Returns the description of a component, if these bytes can be `count` of its values.
    pub(super) fn expect_bytes(
        &self,
        id: ComponentId,
        bytes: &[u8],
        count: usize,
    ) -> Result<&ComponentInfo, ByIdError> {
        let info = self.registry.find(id)?;
        if !info.is_bytes() {
            return Err(ByIdError::NotBytes(info.name().clone()));
        }
        let (size, given) = (info.layout.size(), bytes.len());
        let expected = size.saturating_mul(count);
        if expected != given {
            let component = info.name().clone();
            return Err(ByIdError::WrongLength { component, expected, given });
        }
        Ok(info)
    }

    /// Returns the archetype and the row of an entity, and the column of one of its components.
    fn find_by_id(
        &self,
        entity: Entity,
        id: ComponentId,
    ) -> Result<(&Archetype, RowAddress, usize), ByIdError> {
        let info = self.registry.find(id)?;
        let location = self.locate(entity).ok_or(NoSuchEntity(entity))?;
        let archetype = self.archetypes.get(location.archetype);
        let missing = || ByIdError::Missing { entity, component: info.name().clone() };
        Ok((archetype, location.address, archetype.column_of(id).ok_or_else(missing)?))
    }

    /// Marks a component of an entity as written and returns its row, or `None` if there is none.
    fn open_row(&mut self, entity: Entity, id: ComponentId) -> Option<NonNull<u8>> {
        self.next_version();
        let Location { archetype, address, .. } = self.locate(entity)?;
        let archetype = self.archetypes.get(archetype);
        let column = archetype.column_of(id)?;
        archetype.mark_changed(address, column, self.window());
        Some(archetype.chunks.row(address, column))
    }
}

impl CommandBuffer {
    /// Adds a component of plain bytes to an entity, as [`ByIdMut::insert`](crate::ByIdMut::insert) does.
    /// A deferred entity among the bytes is not replaced.
    pub fn insert_by_id(&mut self, entity: Entity, id: ComponentId, bytes: &[u8]) {
        let bytes: Box<[u8]> = bytes.into();
        self.record_call("insert_by_id", entity, move |world, entity, _| {
            world.by_id_mut().insert(entity, id, &bytes).map_err(Into::into)
        });
    }

    /// Removes a component of any kind from an entity and drops it, as
    /// [`ByIdMut::remove`](crate::ByIdMut::remove) does.
    pub fn remove_by_id(&mut self, entity: Entity, id: ComponentId) {
        self.record_call("remove_by_id", entity, move |world, entity, _| {
            world.by_id_mut().remove(entity, id).map_err(Into::into)
        });
    }
}
