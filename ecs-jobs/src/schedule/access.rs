//! The access of a system.

use std::any::{TypeId, type_name};
use std::fmt::Write;

use formic_ecs::{Access, ComponentId, DeclaredAccess, World};

use super::save::{Change, LoadError, SaveRules, Unsaved};

/// The components and resources that a system reads and writes, as its parameters declare them.
///
/// The schedule orders systems by it, and enforces it: an access beyond it panics with the names of the
/// system and the component.
#[derive(Clone, Debug, Default)]
pub struct SystemAccess {
    components: Access,
    resources: Vec<Resource>,
    /// The accesses that the system requests twice, at least once to write.
    clashes: Vec<String>,
    /// The path of struct fields that lead to the parameter being declared.
    fields: Vec<&'static str>,
    exclusive: bool,
    records_commands: bool,
    /// The aging of the events that it writes or reads.
    pub(super) events: Vec<EventAging>,
    /// The components for which ambiguities with systems that allow the same are not reported.
    pub(super) allowed: Vec<String>,
    pub(super) expected: Vec<Expected>,
}

/// An order that a system must be given.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected {
    /// The type of the other systems, and its name.
    pub(super) others: (TypeId, &'static str),
    /// Whether the system must run after them; otherwise before.
    pub(super) is_after: bool,
    /// The way to give it that order.
    pub(super) how: &'static str,
}

#[derive(Clone, Copy, Debug)]
struct Resource {
    id: TypeId,
    name: &'static str,
    how: How,
    /// Whether the system also runs without it.
    is_optional: bool,
    grant: fn(&mut DeclaredAccess, bool),
}

/// The kind of access to a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    Read,
    Write,
    /// Adds to it, in a section that only one system enters at a time: systems that append do not conflict
    /// with each other.
    Append,
}

impl How {
    fn conflicts(self, other: Self) -> bool {
        self != other || self == Self::Write
    }
}

type SaveEvents = fn(&World, &SaveRules) -> Result<Vec<u8>, Unsaved>;
type LoadEvents = fn(&World, &SaveRules, &[u8]) -> Result<Change, LoadError>;

/// The saving of the events of one type, and their aging at the end of a run of the schedule.
#[derive(Clone, Copy, Debug)]
pub(super) struct EventAging {
    pub(super) id: TypeId,
    /// Whether the schedule has systems that write them.
    pub(super) writes: bool,
    pub(super) age: fn(&mut World, bool),
    /// Notes that a schedule writes them.
    pub(super) note_writer: fn(&mut World),
    /// The name of the type.
    pub(super) name: &'static str,
    pub(super) resource: TypeId,
    pub(super) save: SaveEvents,
    pub(super) load: LoadEvents,
}

impl SystemAccess {
    /// The access of an exclusive system: it gets the whole world, and is run by
    /// [`System::run_exclusive`](super::System::run_exclusive).
    #[must_use]
    pub fn exclusive() -> Self {
        Self { exclusive: true, ..Self::default() }
    }

    /// Whether the system gets exclusive access to the whole world.
    #[must_use]
    pub const fn is_exclusive(&self) -> bool {
        self.exclusive
    }

    /// Declares that a parameter accesses components.
    pub fn add_components(&mut self, access: &Access, world: &World) {
        // Values only: the rows of a loop are settled before its first row could change an enabled bit.
        let clashes = self.components.value_conflicts(access);
        let within = access.clash().filter(|id| !clashes.contains(id));
        let clashes: Vec<_> = within.into_iter().chain(clashes).collect();
        component_names(&clashes, world).into_iter().for_each(|name| self.add_clash(name));
        if self.components.has_claimants() && access.has_claimants() {
            self.add_clash("Claimant".into());
        }
        self.components.merge(access);
    }

    /// Does not report an ambiguity with a system that calls this as well, if it is about components that
    /// this access writes: for parameters whose systems run in the order of adding on purpose.
    pub fn allow_ambiguities_about(&mut self, access: &Access, world: &World) {
        self.allowed.extend(component_names(&access.conflicts(access), world));
    }

    /// Makes the schedule reject the system unless it is declared to run before all systems of another
    /// type: for parameters that do nothing, or come too late, in any other position. `how` completes the
    /// error, after a colon, with the way to declare the order.
    ///
    /// ```
    /// use formic_jobs::prelude::*;
    /// # use formic_jobs::{ParamError, RunContext, SystemAccess};
    /// fn send() {}
    /// struct Outbox;
    /// impl SystemParam for Outbox {
    ///     type State = ();
    ///     type Item<'a> = Self;
    ///     fn init(_: &mut World, access: &mut SystemAccess) {
    ///         access.expect_before(send, "add it with `.before(send)`");
    ///     }
    ///     fn fetch<'a>((): &'a mut (), _: RunContext<'a>) -> Result<Self, ParamError> {
    ///         Ok(Self)
    ///     }
    /// }
    /// fn write(_: Outbox) {}
    ///
    /// let mut world = World::new();
    /// let forgotten = Schedule::builder().add((write, send)).build(&mut world).unwrap_err();
    /// assert!(forgotten.to_string().ends_with(": add it with `.before(send)`"));
    /// assert!(Schedule::builder().add((write.before(send), send)).build(&mut world).is_ok());
    /// ```
    pub fn expect_before<T: 'static>(&mut self, _other: T, how: &'static str) {
        self.expect::<T>(false, how);
    }

    /// Like [`expect_before`](Self::expect_before), for a system that must run after all systems of
    /// another type.
    pub fn expect_after<T: 'static>(&mut self, _other: T, how: &'static str) {
        self.expect::<T>(true, how);
    }

    fn expect<T: 'static>(&mut self, is_after: bool, how: &'static str) {
        self.expected.push(Expected {
            others: (TypeId::of::<T>(), type_name::<T>()),
            is_after,
            how,
        });
    }

    /// Records an access that is requested twice, with the field of the second request.
    fn add_clash(&mut self, mut wanted: String) {
        if !self.fields.is_empty() {
            _ = write!(wanted, " (in the field `{}`)", self.fields.join("."));
        }
        self.clashes.push(wanted);
    }

    /// Calls `declare`, which declares the accesses of the parameter in this field of a struct.
    #[doc(hidden)]
    pub fn of_field<R>(&mut self, name: &'static str, declare: impl FnOnce(&mut Self) -> R) -> R {
        self.fields.push(name);
        let declared = declare(self);
        self.fields.pop();
        declared
    }

    /// Declares that a parameter reads a resource.
    pub fn add_resource_read<T: 'static>(&mut self) {
        self.add_resource::<T>(How::Read, false);
    }

    /// Declares that a parameter writes a resource.
    pub fn add_resource_write<T: 'static>(&mut self) {
        self.add_resource::<T>(How::Write, false);
    }

    /// Declares how a parameter uses a resource, and whether that may be missing.
    pub(super) fn add_resource<T: 'static>(&mut self, how: How, is_optional: bool) {
        let (id, name) = (TypeId::of::<T>(), type_name::<T>());
        let grant = |rights: &mut DeclaredAccess, write| rights.add_resource::<T>(write);
        let (mut known, mut clashes) = (false, 0);
        for resource in self.resources.iter_mut().filter(|resource| resource.id == id) {
            known |= resource.how == how;
            resource.is_optional &= is_optional;
            // A system appends to a resource after it has read everything that it reads.
            let is_in_turn =
                matches!((resource.how, how), (How::Read, How::Append) | (How::Append, How::Read));
            clashes += usize::from(resource.how.conflicts(how) && !is_in_turn);
        }
        (0..clashes).for_each(|_| self.add_clash(name.into()));
        // Several parameters may read one resource.
        if !known {
            self.resources.push(Resource { id, name, how, is_optional, grant });
        }
    }

    /// A required resource that is not in the world.
    pub(super) fn missing_resource(&self, world: &World) -> Option<&'static str> {
        let is_there = |id: TypeId| world.resource_types().any(|(known, ..)| known == id);
        let is_missing = |it: &&Resource| !it.is_optional && !is_there(it.id);
        self.resources.iter().find(is_missing).map(|it| it.name)
    }

    /// Declares that a parameter records commands.
    pub fn add_commands(&mut self) {
        self.records_commands = true;
    }

    pub(super) const fn records_commands(&self) -> bool {
        self.records_commands
    }

    /// Returns the names of the accesses that the system requests twice, at least once to write: in two
    /// parameters, or in one query.
    #[must_use]
    pub fn clashes(&self) -> &[String] {
        &self.clashes
    }

    /// Whether nothing is written or recorded.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        let reads = |resource: &Resource| resource.how == How::Read;
        let quiet = !self.exclusive && !self.records_commands;
        quiet && self.components.is_read_only() && self.resources.iter().all(reads)
    }

    /// Adds the accesses of a condition of the system, which has been evaluated before the system runs.
    pub(super) fn absorb(&mut self, other: &Self) {
        self.components.merge(&other.components);
        self.resources.extend_from_slice(&other.resources);
        self.events.extend_from_slice(&other.events);
    }

    /// Returns the names of the components and resources for which two systems cannot run in parallel, or
    /// not in any order.
    #[must_use]
    pub fn conflicts(&self, other: &Self, world: &World) -> Vec<String> {
        if self.exclusive || other.exclusive {
            return vec!["the whole world".into()];
        }
        let mut names = component_names(&self.components.conflicts(&other.components), world);
        for mine in &self.resources {
            let clash = |theirs: &&Resource| theirs.id == mine.id && mine.how.conflicts(theirs.how);
            if other.resources.iter().any(|theirs| clash(&theirs))
                && !names.iter().any(|name| name == mine.name)
            {
                names.push(mine.name.into());
            }
        }
        names
    }

    /// The accesses that a system may make while it runs.
    pub(super) fn rights(&self, owner: &str) -> DeclaredAccess {
        let mut rights =
            DeclaredAccess::new(format!("the system {owner}"), self.components.clone());
        for resource in &self.resources {
            (resource.grant)(&mut rights, resource.how != How::Read);
        }
        rights
    }
}

pub(super) fn component_names(ids: &[ComponentId], world: &World) -> Vec<String> {
    ids.iter().map(|id| world.components()[id.index()].name().to_string()).collect()
}
