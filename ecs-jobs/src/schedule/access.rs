//! What a system touches.

use std::any::{TypeId, type_name};

use ecs_core::{Access, World};

/// The components and resources that a system reads and writes, as its parameters declare them.
#[derive(Clone, Debug, Default)]
pub struct SystemAccess {
    components: Access,
    resource_reads: Vec<Resource>,
    resource_writes: Vec<Resource>,
    /// What two parameters of the system cannot both have.
    clashes: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Resource {
    id: TypeId,
    name: &'static str,
}

impl Resource {
    fn of<T: 'static>() -> Self {
        Self { id: TypeId::of::<T>(), name: type_name::<T>() }
    }
}

impl SystemAccess {
    /// Declares that a parameter touches components.
    pub fn add_components(&mut self, access: &Access, world: &World) {
        // Values only: which rows a loop visits was settled before its first one could flip a bit.
        let clashes = self.components.value_conflicts(access);
        self.clashes.extend(component_names(&clashes, world));
        self.components.merge(access);
    }

    /// Declares that a parameter reads a resource.
    pub fn add_resource_read<T: 'static>(&mut self) {
        let resource = Resource::of::<T>();
        if self.resource_writes.contains(&resource) {
            self.clashes.push(resource.name.into());
        }
        // Several arguments may read one resource.
        if !self.resource_reads.contains(&resource) {
            self.resource_reads.push(resource);
        }
    }

    /// Declares that a parameter writes a resource.
    pub fn add_resource_write<T: 'static>(&mut self) {
        let resource = Resource::of::<T>();
        if self.resource_writes.contains(&resource) || self.resource_reads.contains(&resource) {
            self.clashes.push(resource.name.into());
        }
        self.resource_writes.push(resource);
    }

    /// The names of what two parameters of this system both want, one of them to write.
    #[must_use]
    pub fn clashes(&self) -> &[String] {
        &self.clashes
    }

    /// The names of the components and resources over which two systems cannot run at the same
    /// time, or not in any order.
    #[must_use]
    pub fn conflicts(&self, other: &Self, world: &World) -> Vec<String> {
        let mut names = component_names(&self.components.conflicts(&other.components), world);
        names.extend(shared(&self.resource_writes, &other.resource_writes));
        names.extend(shared(&self.resource_writes, &other.resource_reads));
        names.extend(shared(&self.resource_reads, &other.resource_writes));
        names
    }
}

fn component_names(ids: &[ecs_core::ComponentId], world: &World) -> Vec<String> {
    ids.iter().map(|id| world.components()[id.index()].name().to_string()).collect()
}

fn shared<'a>(mine: &'a [Resource], theirs: &'a [Resource]) -> impl Iterator<Item = String> + 'a {
    mine.iter().filter(|resource| theirs.contains(resource)).map(|resource| resource.name.into())
}
