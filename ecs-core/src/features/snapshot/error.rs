//! Errors of snapshots.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// Why a world could not be saved.
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

impl fmt::Display for DroppedComponent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entities = if self.count == 1 { "entity" } else { "entities" };
        let Self { component, count } = self;
        write!(f, "{component} of {count} {entities}: dropped, the program has it no more")
    }
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
