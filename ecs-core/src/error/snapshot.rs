//! Errors of snapshots.

use alloc::string::String;
use core::fmt;

/// Why a world could not be saved.
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::SnapshotError;
/// #[derive(Component)]
/// #[component(unhashed)]
/// struct Opaque(Box<dyn Fn() + Send + Sync>);
///
/// let mut world = World::new();
/// world.spawn(Opaque(Box::new(|| ())));
/// assert!(matches!(world.snapshot(), Err(SnapshotError::NotSerializable { .. })));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// Two components of the world have the same name.
    AmbiguousName {
        /// Their name.
        component: String,
    },
    /// An observer asked for it while commands are being played back, and some handles stand for
    /// entities that are yet to come.
    InPlayback,
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSerializable { component } => write!(
                f,
                "{component} cannot be saved: a component can be plain data, or be declared \
                 #[component(serde)] or #[component(transient)]"
            ),
            Self::Unwritable { component } => write!(f, "a value of {component} cannot be written"),
            Self::AmbiguousName { component } => {
                write!(f, "there are two components with the name {component}")
            }
            Self::InPlayback => {
                f.write_str("commands that spawn entities are being played back at this moment")
            }
        }
    }
}

impl core::error::Error for SnapshotError {}

/// Why bytes are no snapshot.
///
/// ```
/// use formic_ecs::{MalformedSnapshot, Snapshot, World};
/// let mut bytes = World::new().snapshot()?.as_bytes().to_vec();
/// assert_eq!(Snapshot::from_bytes(*b"hello"), Err(MalformedSnapshot::NotASnapshot));
/// *bytes.last_mut().expect("some") ^= 1;
/// assert!(Snapshot::from_bytes(bytes).is_err());
/// # Ok::<(), formic_ecs::SnapshotError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

impl fmt::Display for MalformedSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotASnapshot => f.write_str("this is not a snapshot of a world"),
            Self::UnknownVersion { version } => {
                write!(f, "the snapshot has the unknown format version {version}")
            }
            Self::ForeignByteOrder => {
                f.write_str("the snapshot is from a machine with another byte order")
            }
            Self::WrongLength => f.write_str("the snapshot is cut off, or something follows it"),
            Self::WrongChecksum => f.write_str("the snapshot is damaged: its checksum is wrong"),
            Self::Contradiction { detail } => {
                write!(f, "the snapshot contradicts itself: {detail}")
            }
        }
    }
}

impl core::error::Error for MalformedSnapshot {}

/// Why a snapshot could not be restored. The world is as it was.
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::RestoreError;
/// #[derive(Component, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
/// #[repr(C)]
/// struct Health(u32);
///
/// let mut world = World::new();
/// world.spawn(Health(1));
/// let saved = world.snapshot()?;
/// let mut other = World::new();
/// assert!(matches!(other.restore(&saved), Err(RestoreError::UnknownComponent { .. })));
/// other.register::<Health>();
/// other.restore(&saved)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RestoreError {
    /// The bytes do not make sense.
    Malformed(MalformedSnapshot),
    /// The world does not know a component of the snapshot.
    UnknownComponent {
        /// The name of the component.
        component: String,
    },
    /// The world knows two components by the name of one in the snapshot.
    AmbiguousName {
        /// Their name.
        component: String,
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

impl fmt::Display for RestoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(error) => error.fmt(f),
            Self::UnknownComponent { component } => write!(
                f,
                "the snapshot has the component {component}, which this world does not know: \
                 register it first"
            ),
            Self::AmbiguousName { component } => {
                write!(f, "this world has two components with the name {component}")
            }
            Self::DifferentComponent { component, what } => {
                write!(f, "{component} was saved differently: another {what}")
            }
            Self::InvalidValue { component } => {
                write!(f, "the snapshot has bytes that are no value of {component}")
            }
            Self::InPlayback => {
                f.write_str("commands that spawn entities are being played back at this moment")
            }
        }
    }
}

impl core::error::Error for RestoreError {}

impl From<MalformedSnapshot> for RestoreError {
    fn from(error: MalformedSnapshot) -> Self {
        Self::Malformed(error)
    }
}
