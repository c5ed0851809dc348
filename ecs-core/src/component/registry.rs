//! Which component types a world has met, and what it knows about each.

use alloc::vec::Vec;
use core::alloc::Layout;
use core::any::TypeId;

use super::{Component, ComponentId, ErasedFns};
use crate::hash::TypeMap;

/// What a world knows about one component type.
#[derive(Clone, Debug)]
pub struct ComponentInfo {
    pub(crate) id: ComponentId,
    pub(crate) name: &'static str,
    pub(crate) layout: Layout,
    pub(crate) enableable: bool,
    pub(crate) erased: ErasedFns,
}

impl ComponentInfo {
    /// Its number in this world.
    #[must_use]
    pub const fn id(&self) -> ComponentId {
        self.id
    }

    /// Its name, as [`Component::name`] gives it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Size and alignment of one value, in bytes.
    #[must_use]
    pub const fn layout(&self) -> Layout {
        self.layout
    }

    /// Whether it can be switched off and on per entity.
    #[must_use]
    pub const fn is_enableable(&self) -> bool {
        self.enableable
    }
}

/// The component types of one world. Ids and types are in one-to-one correspondence (I-9).
#[derive(Debug, Default)]
pub struct Registry {
    infos: Vec<ComponentInfo>,
    ids: TypeMap<ComponentId>,
}

impl Registry {
    /// The id of `T`, which is registered where it was not.
    pub(crate) fn register<T: Component>(&mut self) -> ComponentId {
        if let Some(&id) = self.ids.get(&TypeId::of::<T>()) {
            return id;
        }
        let index = u32::try_from(self.infos.len()).expect("fewer than 2^32 component types");
        let id = ComponentId(index);
        assert!(id != ComponentId::UNKNOWN, "fewer than 2^32 - 1 component types");
        self.infos.push(ComponentInfo {
            id,
            name: T::name(),
            layout: Layout::new::<T>(),
            enableable: T::ENABLEABLE,
            erased: ErasedFns::of::<T>(),
        });
        self.ids.insert(TypeId::of::<T>(), id);
        id
    }

    /// The id of `T`, if the world has met it.
    pub(crate) fn get<T: Component>(&self) -> Option<ComponentId> {
        self.ids.get(&TypeId::of::<T>()).copied()
    }

    pub(crate) fn info(&self, id: ComponentId) -> &ComponentInfo {
        &self.infos[id.index()]
    }

    pub(crate) fn infos(&self) -> &[ComponentInfo] {
        &self.infos
    }
}

/// Where a query gets the ids of its types from: with or without the right to register them.
#[derive(Debug)]
pub enum IdSource<'a> {
    /// Types that are new become known.
    Register(&'a mut Registry),
    /// Types that are new stay unknown, and nothing has them.
    LookUp(&'a Registry),
}

impl IdSource<'_> {
    pub(crate) fn id<T: Component>(&mut self) -> ComponentId {
        match self {
            Self::Register(registry) => registry.register::<T>(),
            Self::LookUp(registry) => registry.get::<T>().unwrap_or(ComponentId::UNKNOWN),
        }
    }
}
