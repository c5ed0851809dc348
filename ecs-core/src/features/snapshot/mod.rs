//! Snapshots: the entities of a world as bytes, and back.

mod error;
mod format;
mod image;
mod load;
mod names;
mod relations;
mod save;

use alloc::vec::Vec;

use crate::world::World;
use image::Image;

pub use error::{DroppedComponent, MalformedSnapshot, RestoreError, RestoreReport, SnapshotError};

/// The entities of a world at one moment: what there is, and everything that decides what comes
/// next.
///
/// That is the handles that are alive and those that will be given out, which entities have which
/// components, the values, what is enabled, the order of archetypes and rows, and the versions of
/// change detection. After a restore the same operations have the same results, to the bit.
/// Resources are not part of it.
///
/// Made by [`World::snapshot`], or from bytes that once were one.
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::Snapshot;
///
/// #[derive(Component, Clone, Copy, PartialEq, Debug, bytemuck::Pod, bytemuck::Zeroable)]
/// #[repr(C)]
/// struct Gold(u32);
///
/// let mut world = World::new();
/// let purse = world.spawn(Gold(5));
/// let saved = world.snapshot()?;
///
/// world.despawn(purse)?;
/// world.restore(&saved)?;
/// assert_eq!(world.get::<Gold>(purse)?, &Gold(5));
///
/// // The bytes can be kept in a file, for another world that knows the components.
/// let read = Snapshot::from_bytes(saved.as_bytes())?;
/// let mut other = World::new();
/// other.register::<Gold>();
/// other.restore(&read)?;
/// assert_eq!(other.state_hash(), world.state_hash());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Between two versions of a program
///
/// A snapshot in a file is older than the program that reads it. What may have changed meanwhile,
/// and what the program says so that the snapshot is [restored](World::restore) all the same:
///
/// * A component has another **name**, or its type another path: `#[component(was = "...")]` says
///   how it was called. `#[component(name = "...")]` gives it a name that does not depend on where
///   the type is.
/// * A component is **new**: restored entities do not have it. Give it to them after the restore
///   ([`World::query_filtered`] with [`Without`](crate::Without) finds them).
/// * A component is **gone**: [`World::register_removed`] says so. Its values are dropped, and the
///   [`RestoreReport`] says of how many entities.
/// * A component needs **no cleanup** any more, or is gone: entities that were despawned and waited
///   for it alone are gone as well.
/// * The **fields** of a `#[component(serde)]` component have changed: serde says how, see
///   `Codec::serde`.
/// * The **fields of plain data** have changed: that is
///   [`RestoreError::ChangedFields`](crate::RestoreError::ChangedFields), since its bytes say nothing
///   of them. Variants may be added at the end of an enum, and `#[component(name = "...")]` on a
///   field says how it was called. For any other change keep the old type, under its name, beside
///   the new one, and turn the one into the other after the restore:
///
/// ```
/// use bytemuck::{Pod, Zeroable};
/// use formic_ecs::prelude::*;
/// use formic_ecs::Snapshot;
///
/// /// What the program had until now; only old snapshots have it.
/// #[derive(Component, Clone, Copy, Pod, Zeroable)]
/// #[component(name = "game.position")]
/// #[repr(C)]
/// struct FlatPosition {
///     x: f32,
///     y: f32,
/// }
///
/// #[derive(Component, Clone, Copy, Pod, Zeroable, PartialEq, Debug)]
/// #[component(name = "game.position.2")]
/// #[repr(C)]
/// struct Position {
///     x: f32,
///     y: f32,
///     height: f32,
/// }
///
/// fn load(bytes: &[u8]) -> Result<World, Box<dyn std::error::Error>> {
///     let mut world = World::new();
///     world.register::<FlatPosition>();
///     world.register::<Position>();
///     world.restore(&Snapshot::from_bytes(bytes)?)?;
///     let old: Vec<_> = world.query::<(Entity, &FlatPosition)>().map(|(e, it)| (e, *it)).collect();
///     for (entity, FlatPosition { x, y }) in old {
///         world.remove::<FlatPosition>(entity)?;
///         world.insert(entity, Position { x, y, height: 0.0 })?;
///     }
///     Ok(world)
/// }
///
/// let mut old = World::new();
/// let scout = old.spawn(FlatPosition { x: 1.0, y: 2.0 });
/// let world = load(old.snapshot()?.as_bytes())?;
/// assert_eq!(world.get::<Position>(scout)?, &Position { x: 1.0, y: 2.0, height: 0.0 });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Sealed, and seen to make sense; or else empty.
    bytes: Vec<u8>,
}

debug_fields!([] Snapshot:; bytes = |it| it.bytes.len());

impl Snapshot {
    /// A snapshot from the bytes of one. The format is described in `docs/snapshot-format.md`.
    ///
    /// All that can be verified without a world is: whatever the bytes are, there is an error or a
    /// snapshot that contradicts itself nowhere, and the memory taken on the way is a small multiple
    /// of their length.
    ///
    /// # Errors
    /// Returns an error if the bytes are not those of a snapshot, or not all of them.
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Result<Self, MalformedSnapshot> {
        let bytes = bytes.into();
        let image = Image::parse(format::open(&bytes)?)?;
        image.check_entities()?;
        Ok(Self { bytes })
    }

    /// The bytes, to be kept wherever bytes can be. The same state has the same bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl World {
    /// Saves all entities.
    ///
    /// Components are saved as their types ask for, see [`Codec`](crate::Codec) and the options of
    /// [`Component`](crate::Component). Resources are not saved.
    ///
    /// # Errors
    /// Returns an error if there are values that cannot be saved, or two components have the same
    /// name; and while commands that spawn entities are being played back.
    pub fn snapshot(&self) -> Result<Snapshot, SnapshotError> {
        let mut bytes = Vec::new();
        save::save(self, &mut bytes)?;
        Ok(Snapshot { bytes })
    }

    /// Saves all entities in the memory of an older snapshot: for those who do it every tick.
    ///
    /// # Errors
    /// As for [`snapshot`](Self::snapshot). The older one is lost then: it has no bytes, and cannot
    /// be restored.
    pub fn snapshot_into(&self, snapshot: &mut Snapshot) -> Result<(), SnapshotError> {
        save::save(self, &mut snapshot.bytes)
    }

    /// Goes back to what was saved: all entities of now go, and those of then come, with their
    /// handles, in their order, with all that [`Snapshot`] names.
    ///
    /// Components are found by their names, so the world has to know them: the one that was saved
    /// does, another is told by [`register`](Self::register) and
    /// [`register_relation`](Self::register_relation). A snapshot of an earlier version of the
    /// program [may have others](Snapshot#between-two-versions-of-a-program); what was dropped of it
    /// is in the report. Resources stay as they are. The [`version`](Self::version) goes back as
    /// well.
    ///
    /// It is all or nothing: everything is built before anything is replaced. The values of now
    /// are dropped last; should a drop panic, the world is restored all the same.
    ///
    /// # Errors
    /// Returns an error if the world does not know a component, or knows another one by its name,
    /// or a value cannot be read; and while commands that spawn entities are being played back. The
    /// world is as it was.
    pub fn restore(&mut self, snapshot: &Snapshot) -> Result<RestoreReport, RestoreError> {
        load::load(self, &Image::parse(format::reopen(&snapshot.bytes)?)?)
    }
}
