//! The declared access of one user of a cell.

use alloc::string::String;
use alloc::vec::Vec;
use core::any::{TypeId, type_name};

use super::World;
use crate::query::Access;

/// The declared access of a user, to be held to it by
/// [`WorldCell::restrict_to`](crate::WorldCell::restrict_to).
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::DeclaredAccess;
/// # #[derive(Component)] struct Gold(u32);
/// let mut world = World::new();
/// world.insert_resource(5_u32);
/// let mut plan = world.plan::<&mut Gold>();
/// let mut rights = DeclaredAccess::new("the miner", plan.access().clone());
/// rights.add_resource::<u32>(false);
///
/// let cell = world.cell().restrict_to(&rights);
/// assert!(cell.query(&mut plan).is_ok());
/// assert_eq!(*cell.resource::<u32>()?, 5);
/// # Ok::<(), formic_ecs::ResourceError>(())
/// ```
#[derive(Clone, Default)]
pub struct DeclaredAccess {
    owner: String,
    components: Access,
    /// Each with whether it may be written.
    resources: Vec<(TypeId, bool)>,
}

debug_fields!([] DeclaredAccess: owner);

impl DeclaredAccess {
    /// The right to touch these components. The name is for messages.
    #[must_use]
    pub fn new(owner: impl Into<String>, components: Access) -> Self {
        Self { owner: owner.into(), components, resources: Vec::new() }
    }

    pub(super) fn owner(&self) -> &str {
        &self.owner
    }

    /// The components that may be touched.
    #[must_use]
    pub const fn components(&self) -> &Access {
        &self.components
    }

    /// Adds the right to read a resource, or to write it as well.
    pub fn add_resource<T: 'static>(&mut self, write: bool) {
        self.resources.push((TypeId::of::<T>(), write));
    }

    /// Takes in what another user declares.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::DeclaredAccess;
    /// # #[derive(Component)] struct Gold(u32);
    /// # #[derive(Component)] struct Debt(u32);
    /// let mut world = World::new();
    /// let mut both = DeclaredAccess::new("the miner", world.plan::<&Gold>().access().clone());
    /// both.merge(&DeclaredAccess::new("the bank", world.plan::<&mut Debt>().access().clone()));
    /// assert_eq!(both.components().writes(), [world.register::<Debt>()]);
    /// ```
    pub fn merge(&mut self, other: &Self) {
        self.components.merge(&other.components);
        let new = other.resources.iter().filter(|it| !self.resources.contains(it));
        self.resources.extend(new.copied().collect::<Vec<_>>());
    }

    pub(super) fn written_resources(&self) -> impl Iterator<Item = TypeId> + '_ {
        self.resources.iter().filter(|&&(_, may_write)| may_write).map(|&(id, _)| id)
    }

    /// # Panics
    /// Panics if something is used that is not in here.
    #[inline]
    pub(super) fn check(&self, access: &Access, world: &World) {
        if let Some((id, does)) = self.components.lacking(access) {
            let name = world.components()[id.index()].name();
            panic!("{} {does} {name}, which it has not declared", self.owner);
        }
    }

    /// # Panics
    /// Panics if the resource is not in here.
    #[inline]
    pub(super) fn check_resource<T: 'static>(&self, write: bool) {
        let wanted = TypeId::of::<T>();
        if !self.resources.iter().any(|&(id, may_write)| id == wanted && may_write >= write) {
            let (does, name) = (if write { "writes" } else { "reads" }, type_name::<T>());
            panic!("{} {does} the resource {name}, which it has not declared", self.owner);
        }
    }
}
