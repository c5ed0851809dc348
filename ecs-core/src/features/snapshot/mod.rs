//! Snapshots: the entities of a world as bytes and back, and the errors on the way.

mod format;
mod image;
mod load;
mod names;
mod save;

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use image::Image;

use crate::world::World;

/// The entities of a world at one moment, with everything that decides what happens next.
///
/// It contains the handles that are alive and those that will be given out, which entities have which
/// components, the values, the enabled bits, the order of archetypes and rows, and the versions of change
/// detection. After a restore the same operations have the same results, to the bit. Resources are not
/// included.
///
/// Created by [`World::snapshot`], or from the bytes of an earlier snapshot.
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
/// A snapshot in a file is older than the program that reads it. These are the changes that a program may
/// have seen since, and what it declares so that the snapshot can be [restored](World::restore)
/// nevertheless:
///
/// * A component has another **name**, or its type another path: `#[component(was = "...")]` declares the
///   old name. `#[component(name = "...")]` gives it a name that does not depend on the path of the type.
/// * A component is **new**: restored entities do not have it. Add it to them after the restore
///   ([`World::query_filtered`] with [`Without`](crate::Without) finds them).
/// * A component is **gone**: [`World::register_removed`] declares this. Its values are dropped, and the
///   [`RestoreReport`] says how many entities had it.
/// * A component needs **no cleanup** any more, or is gone: despawned entities that were waiting only for
///   it are gone as well.
/// * The **fields** of a `#[component(serde)]` component have changed: serde decides; see `Codec::serde`.
/// * The **fields of plain data** have changed: this is [`RestoreError::ChangedFields`], since the bytes
///   do not describe their fields. Variants may be added at the end of an enum, and
///   `#[component(name = "...")]` on a field declares its old name. For any other change keep the old
///   type, under its name, beside the new one, and convert the values after the restore:
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
    /// Sealed and consistent, or else empty.
    bytes: Vec<u8>,
}

debug_fields!([] Snapshot:; bytes = |it| it.bytes.len());

impl Snapshot {
    /// Creates a snapshot from the bytes of one. `docs/snapshot-format.md` describes the format.
    ///
    /// Everything that needs no world is verified: whatever the bytes are, the result is an error or a
    /// snapshot without contradictions. The memory that this takes is a small multiple of their length.
    ///
    /// # Errors
    /// Returns an error if the bytes are not those of a snapshot, or are incomplete.
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Result<Self, MalformedSnapshot> {
        let bytes = bytes.into();
        let image = Image::parse(format::open(&bytes)?)?;
        image.check_entities()?;
        Ok(Self { bytes })
    }

    /// Returns the bytes, which can be stored anywhere. The same state always has the same bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Snapshots.
impl World {
    /// Saves all entities.
    ///
    /// Components are saved as their types specify (see [`Codec`](crate::Codec) and the options of
    /// [`Component`](crate::Component)). Resources are not saved.
    ///
    /// # Errors
    /// Returns an error if there are values that cannot be saved, if two components have the same name,
    /// or while commands that spawn entities are being played back.
    pub fn snapshot(&self) -> Result<Snapshot, SnapshotError> {
        let mut bytes = Vec::new();
        save::save(self, &mut bytes)?;
        Ok(Snapshot { bytes })
    }

    /// Saves all entities in the memory of an older snapshot. Use it to take a snapshot every tick.
    ///
    /// # Errors
    /// Returns the errors of [`snapshot`](Self::snapshot). The older snapshot is lost then: it has no
    /// bytes, and cannot be restored.
    pub fn snapshot_into(&self, snapshot: &mut Snapshot) -> Result<(), SnapshotError> {
        save::save(self, &mut snapshot.bytes)
    }

    /// Restores a saved state: all current entities go, and the saved ones come back, with their handles,
    /// in their order, with everything that [`Snapshot`] lists.
    ///
    /// Components are found by their names, so the world has to know them. The world that was saved does.
    /// Another one needs [`register`](Self::register) and [`relation_mut`](Self::relation_mut); the order
    /// of these calls shows only in the order of [observers](crate::EventKind). A snapshot of an earlier
    /// version of the program [may have others](Snapshot#between-two-versions-of-a-program); the report
    /// lists what was dropped. Resources stay as they are. The [`version`](Self::version) is restored as
    /// well. Observers hear nothing of the entities that go and come.
    ///
    /// It is all or nothing: everything is built before anything is replaced. The current values are
    /// dropped when the saved ones are in place. If a drop panics, the world is restored nevertheless.
    ///
    /// # Errors
    /// Returns an error if the world does not know a component, or knows another one by its name, if a
    /// value cannot be read, or while commands that spawn entities are being played back. The world is
    /// unchanged then.
    pub fn restore(&mut self, snapshot: &Snapshot) -> Result<RestoreReport, RestoreError> {
        load::load(self, &Image::parse(format::reopen(&snapshot.bytes)?)?)
    }
}

/// The reason why a world could not be saved.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SnapshotError {
    /// There are values of a component that cannot be saved.
    NotSerializable {
        /// The name of the component.
        component: String,
    },
    /// The component's own function failed to write a value.
    Unwritable {
        /// The name of the component.
        component: String,
    },
    /// Two components of the world have the same name, or one has a former name of another.
    AmbiguousName {
        /// Their name.
        component: String,
    },
    /// The call came from an observer or a stored call during a playback, while some handles belong to
    /// entities that are yet to be spawned.
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

/// The reason why bytes are not a snapshot.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MalformedSnapshot {
    /// They do not begin like a snapshot.
    NotASnapshot,
    /// They have a version of the format that this version of the crate cannot read.
    UnknownVersion {
        /// The version of the format.
        version: u32,
    },
    /// They were written on a machine with the other byte order.
    ForeignByteOrder,
    /// There are fewer or more bytes than the contents require.
    WrongLength,
    /// The checksum does not match: the bytes were changed.
    WrongChecksum,
    /// They contain something impossible.
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

/// What [`World::restore`](crate::World::restore) left out. It is empty if the program has all components
/// of the snapshot. It is displayed as lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RestoreReport {
    /// The components that the program [no longer has](crate::World::register_removed).
    pub dropped: Vec<DroppedComponent>,
}

/// A component of a snapshot that the program no longer has.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DroppedComponent {
    /// Its name.
    pub component: String,
    /// The number of entities that had it.
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

/// The reason why a snapshot could not be restored. The world is unchanged.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RestoreError {
    /// The bytes are not those of a snapshot, or contradict themselves.
    Malformed(MalformedSnapshot),
    /// The world does not know a component of the snapshot.
    UnknownComponent {
        /// The name of the component.
        component: String,
    },
    /// The world knows two components by one name of the snapshot, or one component by two names of the
    /// snapshot.
    AmbiguousName {
        /// Their name.
        component: String,
    },
    /// The component is plain data, and its fields or their size have changed since it was saved (see
    /// [what to do](crate::Snapshot#between-two-versions-of-a-program)).
    ChangedFields {
        /// The name of the component.
        component: String,
        /// The [fields](crate::Component::fields) that were saved, and their size.
        saved: String,
        /// The current fields, and their size.
        now: String,
    },
    /// The component with this name was saved as a different one.
    DifferentComponent {
        /// The name of the component.
        component: String,
        /// What is different.
        what: &'static str,
    },
    /// The snapshot has bytes that are not a value of the component.
    InvalidValue {
        /// The name of the component.
        component: String,
    },
    /// The call came from an observer or a stored call during a playback, while some handles belong to
    /// entities that are yet to be spawned.
    InPlayback,
}

/// How a program makes this component of a snapshot known.
fn making_known(component: &str) -> String {
    // Both sides of a relation are components of the world's own.
    if component.starts_with("Sources<") || component.starts_with("Targets<") {
        return "ask for the relation first with World::relation_mut, say how it is called now with Relation::WAS"
            .to_owned();
    }
    format!(
        "register it first with World::register, say how it is called now with #[component(was = \"{component}\")]"
    )
}

error_text! { RestoreError:
    Self::Malformed(error) => "{error}";
    Self::UnknownComponent { component } => "the snapshot has the component {component}, which this world does not know: \
        {}, or that the program has it no more with World::register_removed(\"{component}\")", making_known(component);
    Self::AmbiguousName { component } => "two components, of this world or of the snapshot, have or had the name {component}";
    Self::ChangedFields { component, saved, now } => "{component} was saved as {saved}, and is {now} now: keep the old type \
        under this name, give the new one another with #[component(name = \"...\")], and turn the one into the other after \
        loading";
    Self::DifferentComponent { component, what } => "{component} was saved differently: another {what}";
    Self::InvalidValue { component } => "the snapshot has bytes that are no value of {component}";
    Self::InPlayback => "commands that spawn entities are being played back at this moment";
}

from_error!(MalformedSnapshot => RestoreError::Malformed);
