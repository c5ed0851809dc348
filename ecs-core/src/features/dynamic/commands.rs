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
