//! The operations of bundle and component types, found again through function pointers.
#![expect(
    unsafe_code,
    reason = "takes each payload out of the arena once, as the type it was put in"
)]

use core::mem::ManuallyDrop;
use core::ptr::NonNull;

use super::arena::{Arena, Offset};
use crate::archetype::{Archetype, ArchetypeId, Archetypes};
use crate::bundle::{Bundle, Leftovers, Slot};
use crate::component::{Component, ComponentId, Registry};
use crate::entity::Entity;
use crate::error::{CommandFailureReason, ComponentError};
use crate::transfer::Transition;
use crate::world::{Bundles, Placement, World};

/// A bundle in the arena of the buffer whose record has this. It cannot be copied, and the record
/// forgets it when it is taken, so that the bundle is taken out once (C-1).
///
/// Packed, so that the tag of an action fits beside it in 16 bytes.
#[derive(Debug)]
#[repr(C, packed(4))]
pub(super) struct Payload {
    offset: Offset,
    pub(super) functions: &'static BundleFns,
}

impl Payload {
    #[inline]
    pub(super) fn store<B: Bundle>(bundle: B, arena: &mut Arena) -> Self {
        Self { offset: arena.push(bundle), functions: BundleFns::of::<B>() }
    }

    /// The arena was appended to another.
    pub(super) fn shift(&mut self, by: Offset) {
        self.offset += by;
    }

    /// # Safety
    /// The payload is in this arena (C-1). Should this panic, it is there no longer.
    pub(super) unsafe fn map_entities(&self, arena: &mut Arena, map: &mut MapFn<'_>) {
        if let Some(map_entities) = self.functions.map_entities {
            // SAFETY: the functions are those of the type that was stored; that it is in this arena
            // is the caller's word, and that it was not taken follows from its being here (C-1).
            unsafe { map_entities(arena, self.offset, map) };
        }
    }
}

/// A bundle that was taken from its record, and is dropped unless it is used.
#[derive(Debug)]
pub(super) struct Held<'a> {
    payload: ManuallyDrop<Payload>,
    arena: &'a Arena,
}

impl<'a> Held<'a> {
    /// # Safety
    /// The payload is in this arena, and was taken from its record (C-1).
    #[inline]
    pub(super) unsafe fn new(payload: Payload, arena: &'a Arena) -> Self {
        Self { payload: ManuallyDrop::new(payload), arena }
    }

    #[inline]
    fn into_parts(self) -> (&'a Arena, Offset, &'static BundleFns) {
        let this = ManuallyDrop::new(self);
        (this.arena, this.payload.offset, this.payload.functions)
    }

    /// Lets a reserved entity live with it.
    pub(super) fn spawn(self, world: &mut World, entity: Entity) {
        let (arena, offset, functions) = self.into_parts();
        // SAFETY: a bundle of this type is there and was not taken (`new`, C-1).
        unsafe { (functions.spawn)(arena, offset, world, entity) }
    }

    /// Gives it to an entity.
    pub(super) fn insert(self, world: &mut World, entity: Entity) -> Outcome {
        let (arena, offset, functions) = self.into_parts();
        // SAFETY: a bundle of this type is there and was not taken (`new`, C-1).
        unsafe { (functions.insert)(arena, offset, world, entity) }
    }

    /// Moves it into a row.
    ///
    /// # Safety
    /// As for [`Bundle::write`].
    #[inline]
    pub(super) unsafe fn write(self, columns: &[NonNull<u8>], row: usize) {
        let (arena, offset, functions) = self.into_parts();
        // SAFETY: a bundle of this type is there and was not taken (`new`, C-1); the caller vouches
        // for the columns and the row (I-2, I-3, I-9).
        unsafe { (functions.write)(arena, offset, columns, row) }
    }
}

impl Held<'_> {
    /// Moves its components to their slots.
    ///
    /// # Safety
    /// As for [`Bundle::place`].
    pub(super) unsafe fn place(self, slots: &[Slot], row: usize, leftovers: &mut Leftovers) {
        let (arena, offset, functions) = self.into_parts();
        // SAFETY: a bundle of this type is there and was not taken (`new`, C-1); the caller vouches
        // for the slots and the row (I-2, I-3, I-9).
        unsafe { (functions.place)(arena, offset, slots, row, leftovers) }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // SAFETY: a bundle of this type is there and was not taken (`new`, C-1); the code that uses it
        // does not come by here.
        unsafe { (self.payload.functions.drop)(self.arena, self.payload.offset) }
    }
}

pub(super) type MapFn<'a> = dyn FnMut(Entity) -> Entity + 'a;
type Outcome = Result<(), CommandFailureReason>;

/// What a command can do with a bundle type.
///
/// The unsafe ones take a payload: they ask that a bundle of this type is at the offset of the
/// arena, and that it was not taken before (C-1).
#[derive(Debug)]
pub(super) struct BundleFns {
    /// Where new entities with it go.
    pub(super) placement:
        for<'a> fn(&'a mut Bundles, &mut Registry, &mut Archetypes) -> &'a Placement,
    /// The transition of a row that is given it.
    pub(super) insertion:
        for<'a> fn(&'a mut Bundles, ArchetypeId, &mut Registry, &mut Archetypes) -> &'a Transition,
    /// The transition of a row that it is taken from.
    pub(super) removal: for<'a> fn(
        &'a mut Bundles,
        ArchetypeId,
        &mut Registry,
        &mut Archetypes,
    ) -> Option<&'a Transition>,
    /// The first of its components that an archetype does not have.
    pub(super) first_missing: fn(&mut Bundles, &Archetype, &mut Registry) -> &'static str,
    /// Its components in declared order.
    pub(super) ids: for<'a> fn(&'a mut Bundles, &mut Registry) -> &'a [ComponentId],
    pub(super) remove: fn(&mut World, Entity) -> Outcome,
    pub(super) spawn: unsafe fn(&Arena, Offset, &mut World, Entity),
    pub(super) insert: unsafe fn(&Arena, Offset, &mut World, Entity) -> Outcome,
    /// Moves the payload into a row, as [`Bundle::write`] does and under its conditions.
    pub(super) write: unsafe fn(&Arena, Offset, &[NonNull<u8>], usize),
    /// Moves the components of the payload to their slots, as [`Bundle::place`] does and under its
    /// conditions.
    pub(super) place: unsafe fn(&Arena, Offset, &[Slot], usize, &mut Leftovers),
    pub(super) drop: unsafe fn(&Arena, Offset),
    /// Replaces the entities in the payload. Should that panic, the payload is gone.
    pub(super) map_entities: Option<unsafe fn(&mut Arena, Offset, &mut MapFn<'_>)>,
}

/// Makes a constant of the functions, to be borrowed for ever.
struct Of<T>(core::marker::PhantomData<T>);

impl<B: Bundle> Of<B> {
    const BUNDLE: &'static BundleFns = &BundleFns {
        placement: Bundles::placement::<B>,
        insertion: Bundles::insertion::<B>,
        removal: Bundles::removal::<B>,
        first_missing: Bundles::first_missing::<B>,
        ids: Bundles::ids::<B>,
        remove: |world, entity| world.remove::<B>(entity).map(drop).map_err(reason),
        spawn: spawn::<B>,
        insert: insert::<B>,
        write: write::<B>,
        place: place::<B>,
        drop: drop_payload::<B>,
        map_entities: if B::MAPS_ENTITIES { Some(map_entities::<B>) } else { None },
    };
}

impl BundleFns {
    pub(super) fn of<B: Bundle>() -> &'static Self {
        Of::<B>::BUNDLE
    }
}

/// # Safety
/// A `B` is at this offset and has not been taken (C-1).
unsafe fn spawn<B: Bundle>(arena: &Arena, offset: Offset, world: &mut World, entity: Entity) {
    // SAFETY: the caller vouches that a `B` is there and was not taken (C-1).
    let bundle = unsafe { arena.take::<B>(offset) };
    world.spawn_reserved(entity, bundle);
}

/// # Safety
/// A `B` is at this offset and has not been taken (C-1).
unsafe fn insert<B: Bundle>(
    arena: &Arena,
    offset: Offset,
    world: &mut World,
    entity: Entity,
) -> Outcome {
    // SAFETY: the caller vouches that a `B` is there and was not taken (C-1).
    let bundle = unsafe { arena.take::<B>(offset) };
    world.insert(entity, bundle).map_err(|_| CommandFailureReason::NoSuchEntity)
}

/// # Safety
/// A `B` is at this offset and has not been taken (C-1); the columns and the row are as
/// [`Bundle::write`] asks.
unsafe fn write<B: Bundle>(arena: &Arena, offset: Offset, columns: &[NonNull<u8>], row: usize) {
    // SAFETY: the caller vouches that a `B` is there and was not taken (C-1).
    let bundle = unsafe { arena.take::<B>(offset) };
    // SAFETY: the caller vouches for columns of these types (I-9) and a reserved row (I-2, I-3).
    unsafe { bundle.write(columns, row) };
}

/// # Safety
/// A `B` is at this offset and has not been taken (C-1); the slots and the row are as
/// [`Bundle::place`] asks.
unsafe fn place<B: Bundle>(
    arena: &Arena,
    offset: Offset,
    slots: &[Slot],
    row: usize,
    leftovers: &mut Leftovers,
) {
    // SAFETY: the caller vouches that a `B` is there and was not taken (C-1).
    let bundle = unsafe { arena.take::<B>(offset) };
    // SAFETY: the caller vouches for slots of these types (I-9) and a row that is its own (I-2,
    // I-3).
    unsafe { bundle.place(slots, row, leftovers) };
}

/// # Safety
/// A `B` is at this offset and has not been taken (C-1).
unsafe fn drop_payload<B: Bundle>(arena: &Arena, offset: Offset) {
    // SAFETY: the caller vouches that a `B` is there and was not taken (C-1).
    drop(unsafe { arena.take::<B>(offset) });
}

/// # Safety
/// A `B` is at this offset and has not been taken (C-1).
unsafe fn map_entities<B: Bundle>(arena: &mut Arena, offset: Offset, map: &mut MapFn<'_>) {
    // SAFETY: the caller vouches that a `B` is there and was not taken (C-1); another is put back
    // below.
    let mut bundle = unsafe { arena.take::<B>(offset) };
    bundle.map_entities(map);
    arena.put_back(offset, bundle);
}

/// What a command can do with a component type.
#[derive(Debug)]
pub(super) struct ComponentFns {
    pub(super) id: fn(&Registry) -> Option<ComponentId>,
    pub(super) name: fn() -> &'static str,
    pub(super) set_enabled: fn(&mut World, Entity, bool) -> Outcome,
}

impl<T: Component> Of<T> {
    const COMPONENT: &'static ComponentFns = &ComponentFns {
        id: Registry::get::<T>,
        name: T::name,
        set_enabled: |world, entity, enabled| {
            world.set_enabled::<T>(entity, enabled).map(drop).map_err(reason)
        },
    };
}

impl ComponentFns {
    pub(super) fn of<T: Component>() -> &'static Self {
        Of::<T>::COMPONENT
    }
}

fn reason(error: ComponentError) -> CommandFailureReason {
    match error {
        ComponentError::NoSuchEntity(_) => CommandFailureReason::NoSuchEntity,
        ComponentError::Missing(missing) => {
            CommandFailureReason::MissingComponent(missing.component)
        }
        ComponentError::NotEnableable { component } => {
            CommandFailureReason::NotEnableable(component)
        }
    }
}
