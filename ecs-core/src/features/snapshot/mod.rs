//! Snapshots: the entities of a world as bytes, and back, and what may stand against it.

mod format;
mod image;
mod load;
mod names;
mod save;

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use image::Image;

use crate::world::World;

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
///   [`RestoreError::ChangedFields`], since its bytes say nothing
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

/// Snapshots.
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
    /// Returns the errors of [`snapshot`](Self::snapshot). The older one is lost then: it has no bytes, and cannot
    /// be restored.
    pub fn snapshot_into(&self, snapshot: &mut Snapshot) -> Result<(), SnapshotError> {
        save::save(self, &mut snapshot.bytes)
    }

    /// Goes back to what was saved: all entities of now go, and those of then come, with their
    /// handles, in their order, with all that [`Snapshot`] names.
    ///
    /// Components are found by their names, so the world has to know them: the one that was saved
    /// does, another is told by [`register`](Self::register) and
    /// [`relation_mut`](Self::relation_mut). A snapshot of an earlier version of the
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

/// Why a world could not be saved.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SnapshotError {
    /// There are values of a component that has no way to be saved.
    NotSerializable {
        /// The name of the component.
        component: String,
    },
    /// The component's own function failed to write a value.
    Unwritable {
        /// The name of the component.
        component: String,
    },
    /// Two components of the world have the same name, or one has the name that another had.
    AmbiguousName {
        /// Their name.
        component: String,
    },
    /// An observer asked for it while commands are being played back, and some handles stand for
    /// entities that are yet to come.
    InPlayback,
}

error_text! { SnapshotError:
    Self::NotSerializable { component } => "{component} cannot be saved: a component can be plain data, or be declared \
        #[component(serde)] or #[component(transient)]";
    Self::Unwritable { component } => "a value of {component} cannot be written";
    Self::AmbiguousName { component } => "two components have or had the name {component}: give one of them another with \
        #[component(name = \"...\")]";
    Self::InPlayback => "commands that spawn entities are being played back at this moment";
}

/// Why bytes are no snapshot.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MalformedSnapshot {
    /// They do not begin as a snapshot does.
    NotASnapshot,
    /// They are of a version of the format that this version of the crate cannot read.
    UnknownVersion {
        /// The version of the format.
        version: u32,
    },
    /// They were written on a machine with the other order of bytes.
    ForeignByteOrder,
    /// There are fewer or more of them than they say.
    WrongLength,
    /// The checksum is not theirs: they have been changed.
    WrongChecksum,
    /// They say something that cannot be.
    Contradiction {
        /// What is wrong.
        detail: &'static str,
    },
}

error_text! { MalformedSnapshot:
    Self::NotASnapshot => "this is not a snapshot of a world";
    Self::UnknownVersion { version } => "the snapshot has the unknown format version {version}";
    Self::ForeignByteOrder => "the snapshot is from a machine with another byte order";
    Self::WrongLength => "the snapshot is cut off, or something follows it";
    Self::WrongChecksum => "the snapshot is damaged: its checksum is wrong";
    Self::Contradiction { detail } => "the snapshot contradicts itself: {detail}";
}

/// What [`World::restore`](crate::World::restore) left out: nothing where the program has all
/// components of the snapshot. It prints as lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RestoreReport {
    /// The components that the program [has no more](crate::World::register_removed).
    pub dropped: Vec<DroppedComponent>,
}

/// A component that was in a snapshot and that the program has no more.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DroppedComponent {
    /// Its name.
    pub component: String,
    /// How many entities had it.
    pub count: usize,
}

display_text! { DroppedComponent:
    Self { component, count: 1 } => "{component} of 1 entity: dropped, the program has it no more";
    Self { component, count } => "{component} of {count} entities: dropped, the program has it no more";
}

impl fmt::Display for RestoreReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, dropped) in self.dropped.iter().enumerate() {
            f.write_str(if number > 0 { "\n" } else { "" })?;
            dropped.fmt(f)?;
        }
        Ok(())
    }
}

/// Why a snapshot could not be restored. The world is as it was.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RestoreError {
    /// The bytes do not make sense.
    Malformed(MalformedSnapshot),
    /// The world does not know a component of the snapshot.
    UnknownComponent {
        /// The name of the component.
        component: String,
    },
    /// The world knows two components by the name of one in the snapshot, or one by the names of
    /// two.
    AmbiguousName {
        /// Their name.
        component: String,
    },
    /// The component is plain data and its fields have changed since it was saved, or their size.
    /// [What to do](crate::Snapshot#between-two-versions-of-a-program).
    ChangedFields {
        /// The name of the component.
        component: String,
        /// The [fields](crate::Component::fields) that were saved, and their size.
        saved: String,
        /// The fields that there are now, and their size.
        now: String,
    },
    /// The component of this name is another one than when it was saved.
    DifferentComponent {
        /// The name of the component.
        component: String,
        /// What has changed.
        what: &'static str,
    },
    /// The snapshot has bytes that are no value of the component.
    InvalidValue {
        /// The name of the component.
        component: String,
    },
    /// An observer asked for it while commands are being played back, and some handles stand for
    /// entities that are yet to come.
    InPlayback,
}

error_text! { RestoreError:
    Self::Malformed(error) => "{error}";
    Self::UnknownComponent { component } => "the snapshot has the component {component}, which this world does not know: \
        register it first, say how it is called now with #[component(was = \"{component}\")], or that the program has it \
        no more with World::register_removed(\"{component}\")";
    Self::AmbiguousName { component } => "two components, of this world or of the snapshot, have or had the name {component}";
    Self::ChangedFields { component, saved, now } => "{component} was saved as {saved}, and is {now} now: keep the old type \
        under this name, give the new one another with #[component(name = \"...\")], and turn the one into the other after \
        loading";
    Self::DifferentComponent { component, what } => "{component} was saved differently: another {what}";
    Self::InvalidValue { component } => "the snapshot has bytes that are no value of {component}";
    Self::InPlayback => "commands that spawn entities are being played back at this moment";
}

from_error!(MalformedSnapshot => RestoreError::Malformed);
