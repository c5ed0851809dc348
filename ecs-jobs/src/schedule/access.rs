//! The access of a system.

use std::any::{TypeId, type_name};
use std::fmt::Write;

use formic_ecs::{Access, DeclaredAccess, World};

use super::save::{Change, LoadError, SaveRules, Unsaved};

/// The components and resources that a system reads and writes, as its parameters declare them.
///
/// The schedule orders systems by it, and holds each to its own: what a system touches beyond it is
/// a panic that names the system and the component.
#[derive(Clone, Debug, Default)]
pub struct SystemAccess {
    components: Access,
    resources: Vec<Resource>,
    /// What the system asks for twice, once of them to write.
    clashes: Vec<String>,
    /// The fields of structs of parameters that the parameter at hand is in.
    fields: Vec<&'static str>,
    exclusive: bool,
    records_commands: bool,
    /// How the events that it writes or reads grow older.
    events: Vec<EventAging>,
    /// The components about which it may be ambiguous with systems that say the same.
    allowed: Vec<String>,
    pub(super) expected: Vec<Expected>,
}

/// A place in the order that a system has to be given.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected {
    /// The type of the other systems, and its name.
    pub(super) others: (TypeId, &'static str),
    /// Whether the system comes after them, or else before them.
    pub(super) is_after: bool,
    /// How it is given that place.
    pub(super) how: &'static str,
}

#[derive(Clone, Copy, Debug)]
struct Resource {
    id: TypeId,
    name: &'static str,
    how: How,
    /// Whether the system runs without it as well.
    is_optional: bool,
    grant: fn(&mut DeclaredAccess, bool),
}

/// How a resource is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Read,
    Write,
    /// Adds to it, in a way that many can at the same time.
    Append,
}

impl How {
    fn conflicts(self, other: Self) -> bool {
        self != other || self == Self::Write
    }
}

type SaveEvents = fn(&World, &SaveRules) -> Result<Vec<u8>, Unsaved>;
type LoadEvents = fn(&SaveRules, &[u8]) -> Result<Change, LoadError>;

/// How the events of one type are saved, and how they grow older when a run of the schedule has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct EventAging {
    pub(super) id: TypeId,
    /// Whether the schedule has systems that write them.
    pub(super) writes: bool,
    pub(super) age: fn(&mut World, bool),
    /// The name of the type.
    pub(super) name: &'static str,
    pub(super) resource: TypeId,
    pub(super) save: SaveEvents,
    pub(super) load: LoadEvents,
}

impl SystemAccess {
    /// The access of a system that gets the whole world to itself, and is run by
    /// [`System::run_exclusive`](super::System::run_exclusive).
    #[must_use]
    pub fn exclusive() -> Self {
        Self { exclusive: true, ..Self::default() }
    }

    /// Whether the system gets the whole world to itself.
    #[must_use]
    pub const fn is_exclusive(&self) -> bool {
        self.exclusive
    }

    /// Declares that a parameter touches components.
    pub fn add_components(&mut self, access: &Access, world: &World) {
        // Values only: which rows a loop visits was settled before its first one could flip a bit.
        let clashes = self.components.value_conflicts(access);
        let within = access.clash().filter(|id| !clashes.contains(id));
        let clashes: Vec<_> = within.into_iter().chain(clashes).collect();
        component_names(&clashes, world).into_iter().for_each(|name| self.add_clash(name));
        if self.components.has_claimants() && access.has_claimants() {
            self.add_clash("Claimant".into());
        }
        self.components.merge(access);
    }

    /// Does not list an ambiguity with a system that says the same, if it is about components that this
    /// access writes: for parameters whose systems run in the order of adding on purpose.
    pub fn allow_ambiguities_about(&mut self, access: &Access, world: &World) {
        self.allowed.extend(component_names(&access.conflicts(access), world));
    }

    /// Whether both systems allow ambiguities about a component.
    pub(super) fn both_allow(&self, other: &Self, component: &String) -> bool {
        self.allowed.contains(component) && other.allowed.contains(component)
    }

    /// Has the schedule refuse the system if nothing declares that it runs before all systems of
    /// another type: for parameters that do nothing, or come too late, in any other place. The error
    /// says `how` it is given that place, in words that follow a colon.
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

    /// The same for a system that has to run after all systems of another type.
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

    /// Notes what is asked for twice, with the field that the second is in.
    fn add_clash(&mut self, mut wanted: String) {
        if !self.fields.is_empty() {
            _ = write!(wanted, " (in the field `{}`)", self.fields.join("."));
        }
        self.clashes.push(wanted);
    }

    /// Lets `declare` declare what the parameter in this field of a struct touches.
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

    /// The same for one that does not have to be in the world.
    pub(super) fn add_optional_resource_read<T: 'static>(&mut self) {
        self.add_resource::<T>(How::Read, true);
    }

    /// Declares that a parameter writes a resource.
    pub fn add_resource_write<T: 'static>(&mut self) {
        self.add_resource::<T>(How::Write, false);
    }

    /// Declares that a parameter adds to a resource, at a moment when no other system does: others that
    /// do so are not in conflict with it.
    pub(super) fn add_resource_append<T: 'static>(&mut self) {
        self.add_resource::<T>(How::Append, false);
    }

    fn add_resource<T: 'static>(&mut self, how: How, is_optional: bool) {
        let (id, name) = (TypeId::of::<T>(), type_name::<T>());
        let grant = |rights: &mut DeclaredAccess, write| rights.add_resource::<T>(write);
        let (mut known, mut clashes) = (false, 0);
        for resource in self.resources.iter_mut().filter(|resource| resource.id == id) {
            known |= resource.how == how;
            resource.is_optional &= is_optional;
            // What a system adds to a resource is added when it has read what it wants.
            let is_in_turn =
                matches!((resource.how, how), (How::Read, How::Append) | (How::Append, How::Read));
            clashes += usize::from(resource.how.conflicts(how) && !is_in_turn);
        }
        (0..clashes).for_each(|_| self.add_clash(name.into()));
        // Several arguments may read one resource.
        if !known {
            self.resources.push(Resource { id, name, how, is_optional, grant });
        }
    }

    /// A resource that is not in the world and has to be.
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

    pub(super) fn add_event_aging(&mut self, aging: EventAging) {
        self.events.push(aging);
    }

    pub(super) fn event_aging(&self) -> &[EventAging] {
        &self.events
    }

    /// The names of what the system asks for twice, once of them to write: in two parameters, or in one query.
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

    /// Takes in what a condition of the system does, which is over when the system runs.
    pub(super) fn absorb(&mut self, other: &Self) {
        self.components.merge(&other.components);
        self.resources.extend_from_slice(&other.resources);
        self.events.extend_from_slice(&other.events);
    }

    /// The names of the components and resources over which two systems cannot run at the same
    /// time, or not in any order.
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

    /// What a system with this access may touch while it runs.
    pub(super) fn rights(&self, owner: &str) -> DeclaredAccess {
        let mut rights =
            DeclaredAccess::new(format!("the system {owner}"), self.components.clone());
        for resource in &self.resources {
            (resource.grant)(&mut rights, resource.how != How::Read);
        }
        rights
    }
}

fn component_names(ids: &[formic_ecs::ComponentId], world: &World) -> Vec<String> {
    ids.iter().map(|id| world.components()[id.index()].name().to_string()).collect()
}
