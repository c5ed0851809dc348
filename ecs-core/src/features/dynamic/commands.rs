//! Components by id, by command.

use alloc::boxed::Box;

use super::ByIdError;
use crate::commands::CommandBuffer;
use crate::component::ComponentId;
use crate::entity::Entity;
use crate::error::CommandFailureReason;

impl CommandBuffer {
    /// Gives an entity a component of plain bytes, as [`World::insert_by_id`](crate::World::insert_by_id) does. Bytes are bytes:
    /// a deferred entity among them is not found.
    ///
    /// ```
    /// use core::alloc::Layout;
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::ComponentDescriptor;
    ///
    /// let mut world = World::new();
    /// let gold = ComponentDescriptor::bytes("gold", Layout::new::<u16>());
    /// let gold = world.register_dynamic(gold)?;
    /// let mut commands = CommandBuffer::new(&world);
    /// let imp = commands.spawn(());
    /// commands.insert_by_id(imp, gold, &300_u16.to_ne_bytes());
    /// commands.insert_by_id(imp, gold, &[1, 2, 3]);
    /// let playback = commands.play(&mut world);
    /// assert_eq!(playback.applied_count(), 2);
    /// assert!(playback.failures()[0].to_string().ends_with("a value has 2 bytes, not 3"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_by_id(&mut self, entity: Entity, id: ComponentId, bytes: &[u8]) {
        let bytes: Box<[u8]> = bytes.into();
        self.record_call("insert_by_id", entity, move |world, entity, _| {
            world.insert_by_id(entity, id, &bytes).map_err(|error| by_id_reason(&error, id))
        });
    }

    /// Takes a component of any kind from an entity and drops it, as [`World::remove_by_id`](crate::World::remove_by_id) does.
    pub fn remove_by_id(&mut self, entity: Entity, id: ComponentId) {
        self.record_call("remove_by_id", entity, move |world, entity, _| {
            world.remove_by_id(entity, id).map_err(|error| by_id_reason(&error, id))
        });
    }
}

fn by_id_reason(error: &ByIdError, id: ComponentId) -> CommandFailureReason {
    let index = id.index();
    match *error {
        ByIdError::NoSuchEntity(_) => CommandFailureReason::NoSuchEntity,
        ByIdError::Unknown(unknown) => CommandFailureReason::UnknownComponent(unknown),
        ByIdError::Missing { .. } => CommandFailureReason::MissingId { index },
        ByIdError::WrongLength { expected, given, .. } => {
            CommandFailureReason::WrongLength { index, expected, given }
        }
        ByIdError::Managed(_) => CommandFailureReason::ManagedId { index },
        ByIdError::NotBytes(_)
        | ByIdError::NotEnableable(_)
        | ByIdError::Twice(_)
        | ByIdError::NoDefault(_)
        | ByIdError::NotSet { .. } => CommandFailureReason::NotBytes { index },
    }
}
