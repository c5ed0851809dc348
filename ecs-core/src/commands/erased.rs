//! The operations of a bundle type, found again through function pointers.
#![expect(
    unsafe_code,
    reason = "takes each payload out of the arena once, as the type it was put in"
)]

use alloc::vec::Vec;

use super::arena::Arena;
use super::{Action, Record};
use crate::bundle::Bundle;
use crate::component::Component;
use crate::entity::Entity;
use crate::error::{CommandFailureReason, ComponentError};
use crate::world::World;

/// What a command needs to be told when it is played back.
pub(super) type MapFn<'a> = dyn FnMut(Entity) -> Entity + 'a;
pub(super) type RemoveFn = fn(&mut World, Entity) -> Result<(), CommandFailureReason>;
pub(super) type SetEnabledFn = fn(&mut World, Entity, bool) -> Result<(), CommandFailureReason>;

/// A bundle in the arena. There is one of these for each and it cannot be copied, so that the
/// bundle is taken out once (C-1).
#[derive(Debug)]
pub(super) struct Payload {
    offset: usize,
    functions: &'static Functions,
}

/// For one bundle type.
#[derive(Debug)]
struct Functions {
    spawn: unsafe fn(&Arena, usize, &mut MapFn<'_>, &mut World, Entity),
    insert: unsafe fn(
        &Arena,
        usize,
        &mut MapFn<'_>,
        &mut World,
        Entity,
    ) -> Result<(), CommandFailureReason>,
    drop: unsafe fn(&Arena, usize),
}

/// Makes a constant of the functions, to be borrowed for ever.
struct Of<B>(core::marker::PhantomData<B>);

impl<B: Bundle> Of<B> {
    const FUNCTIONS: &'static Functions =
        &Functions { spawn: spawn::<B>, insert: insert::<B>, drop: drop_payload::<B> };
}

impl Payload {
    pub(super) fn store<B: Bundle>(bundle: B, arena: &mut Arena) -> Self {
        Self { offset: arena.push(bundle), functions: Of::<B>::FUNCTIONS }
    }

    /// # Safety
    /// The payload is in this arena and has not been taken.
    pub(super) unsafe fn spawn(
        self,
        arena: &Arena,
        map: &mut MapFn<'_>,
        world: &mut World,
        entity: Entity,
    ) {
        // SAFETY: the functions are those of the type that was stored; that it is in this arena and
        // was not taken is the caller's word.
        unsafe { (self.functions.spawn)(arena, self.offset, map, world, entity) }
    }

    /// # Safety
    /// The payload is in this arena and has not been taken.
    pub(super) unsafe fn insert(
        self,
        arena: &Arena,
        map: &mut MapFn<'_>,
        world: &mut World,
        entity: Entity,
    ) -> Result<(), CommandFailureReason> {
        // SAFETY: the functions are those of the type that was stored; that it is in this arena and
        // was not taken is the caller's word.
        unsafe { (self.functions.insert)(arena, self.offset, map, world, entity) }
    }

    /// # Safety
    /// The payload is in this arena and has not been taken.
    pub(super) unsafe fn drop(self, arena: &Arena) {
        // SAFETY: the functions are those of the type that was stored; that it is in this arena and
        // was not taken is the caller's word.
        unsafe { (self.functions.drop)(arena, self.offset) }
    }
}

/// # Safety
/// A `B` is at this offset and has not been taken.
unsafe fn spawn<B: Bundle>(
    arena: &Arena,
    offset: usize,
    map: &mut MapFn<'_>,
    world: &mut World,
    entity: Entity,
) {
    // SAFETY: the caller ensures that a `B` is there and was not taken.
    let mut bundle = unsafe { arena.take::<B>(offset) };
    bundle.map_entities(map);
    world.spawn_reserved(entity, bundle);
}

/// # Safety
/// A `B` is at this offset and has not been taken.
unsafe fn insert<B: Bundle>(
    arena: &Arena,
    offset: usize,
    map: &mut MapFn<'_>,
    world: &mut World,
    entity: Entity,
) -> Result<(), CommandFailureReason> {
    // SAFETY: the caller ensures that a `B` is there and was not taken.
    let mut bundle = unsafe { arena.take::<B>(offset) };
    bundle.map_entities(map);
    world.insert(entity, bundle).map_err(|_| CommandFailureReason::NoSuchEntity)
}

/// # Safety
/// A `B` is at this offset and has not been taken.
unsafe fn drop_payload<B: Bundle>(arena: &Arena, offset: usize) {
    // SAFETY: the caller ensures that a `B` is there and was not taken.
    drop(unsafe { arena.take::<B>(offset) });
}

pub(super) fn remove<B: Bundle>(
    world: &mut World,
    entity: Entity,
) -> Result<(), CommandFailureReason> {
    world.remove::<B>(entity).map(drop).map_err(reason)
}

pub(super) fn set_enabled<T: Component>(
    world: &mut World,
    entity: Entity,
    enabled: bool,
) -> Result<(), CommandFailureReason> {
    world.set_enabled::<T>(entity, enabled).map(drop).map_err(reason)
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

/// Plays one command. `arena` is that of the buffer which the record came from.
pub(super) fn play(
    record: Record,
    arena: &Arena,
    map: &mut MapFn<'_>,
    world: &mut World,
) -> Result<(), CommandFailureReason> {
    let entity = map(record.entity);
    match record.action {
        Action::Spawn(payload) => {
            // SAFETY: the record is of the buffer of this arena, and consumed (C-1).
            unsafe { payload.spawn(arena, map, world, entity) };
            Ok(())
        }
        Action::Insert(payload) => {
            // SAFETY: as above.
            unsafe { payload.insert(arena, map, world, entity) }
        }
        Action::Remove(remove) => remove(world, entity),
        Action::SetEnabled(set_enabled, enabled) => set_enabled(world, entity, enabled),
        Action::Despawn => world.despawn(entity).map_err(|_| CommandFailureReason::NoSuchEntity),
    }
}

/// Drops what a command carries. `arena` is that of the buffer which the record came from.
pub(super) fn drop_payload_of(record: Record, arena: &Arena) {
    if let Action::Spawn(payload) | Action::Insert(payload) = record.action {
        // SAFETY: the record is of the buffer of this arena, and consumed (C-1).
        unsafe { payload.drop(arena) };
    }
}

/// Drops the payloads of all records that are left, and the rest of them should one panic.
pub(super) fn drop_all(records: &mut Vec<Record>, arena: &mut Arena) {
    struct Rest<'a>(&'a mut Vec<Record>, &'a mut Arena);

    impl Rest<'_> {
        fn run(&mut self) {
            while let Some(record) = self.0.pop() {
                drop_payload_of(record, self.1);
            }
            self.1.clear();
        }
    }

    impl Drop for Rest<'_> {
        fn drop(&mut self) {
            self.run();
        }
    }

    Rest(records, arena).run();
}
