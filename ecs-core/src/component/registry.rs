//! The components that a world knows, and what it knows about each.

use alloc::vec::Vec;
use core::alloc::Layout;
use core::any::TypeId;
use core::ffi::c_void;
use core::marker::PhantomData;

use super::{Codec, CodecKind, Component, ComponentId, DropValueFn, ErasedFns, HashRule};
use crate::error::UnknownComponent;
use crate::hash::{BuildFibonacci, TypeMap};
use crate::name::Name;

/// The kinds of component.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ComponentKind {
    /// A Rust type, with its name.
    Type(TypeId, &'static str),
    /// Plain bytes, registered at run time.
    Bytes,
    /// Values with functions that were registered at run time.
    Functions,
    /// Values of a Rust type, under a name of their own. Several components can have the same type.
    Named(TypeId),
}

/// The description of one component in a world.
#[derive(Clone, Debug)]
pub struct ComponentInfo {
    pub(crate) id: ComponentId,
    pub(crate) kind: ComponentKind,
    pub(crate) name: Name,
    pub(crate) layout: Layout,
    pub(crate) enableable: bool,
    pub(crate) tracked: bool,
    pub(crate) erased: ErasedFns,
    /// Its names in earlier versions of the program.
    pub(crate) was: &'static [&'static str],
    /// The fields of a value, as text.
    pub(crate) fields: Name,
    /// The flags that it gives to its archetypes. The copies of this struct in archetypes are not
    /// updated.
    pub(crate) flags: ArchetypeFlags,
    /// Whether queries skip entities with it.
    pub(crate) hides: bool,
    /// Whether only the world adds and removes it.
    pub(crate) managed: bool,
    pub(crate) instead_of_clone: &'static str,
}

impl ComponentInfo {
    /// Describes a Rust type, which gets its id from the registry.
    fn of<T: Component>() -> Self {
        Self {
            id: ComponentId::UNKNOWN,
            kind: ComponentKind::Type(TypeId::of::<T>(), T::name()),
            name: T::lasting_name(),
            layout: Layout::new::<T>(),
            enableable: T::ENABLEABLE,
            tracked: T::TRACKED,
            erased: const { ErasedFns::of::<T>() },
            was: T::WAS,
            fields: T::fields(),
            flags: if T::CLEANUP { ArchetypeFlags::CLEANUP } else { ArchetypeFlags::NONE },
            hides: T::HIDES,
            managed: T::MANAGED,
            instead_of_clone: T::INSTEAD_OF_CLONE,
        }
    }

    /// Describes a Rust type under another name.
    pub(crate) fn named<T: Component>(name: Name) -> Self {
        Self { kind: ComponentKind::Named(TypeId::of::<T>()), name, ..T::info().0 }
    }

    /// Returns its number in this world.
    #[must_use]
    pub const fn id(&self) -> ComponentId {
        self.id
    }

    /// Returns its name, which [`Component::name`] or its descriptor provides.
    #[must_use]
    pub const fn name(&self) -> &Name {
        &self.name
    }

    /// Returns whether a [snapshot](crate::World::snapshot) can contain its values.
    #[must_use]
    pub fn is_saved(&self) -> bool {
        self.erased.codec.kind != CodecKind::Unsaved
    }

    /// Returns the function that drops a value and the user data for it, or `None` if there is nothing to
    /// drop. For a value that could not be inserted, for instance.
    #[must_use]
    pub fn drop_fn(&self) -> Option<(DropValueFn, *mut c_void)> {
        self.erased.drop.map(|drop| (drop.function, drop.user_data))
    }

    /// Returns the Rust type of the values, if there is one.
    #[must_use]
    pub const fn type_id(&self) -> Option<TypeId> {
        match self.kind {
            ComponentKind::Type(id, _) | ComponentKind::Named(id) => Some(id),
            ComponentKind::Bytes | ComponentKind::Functions => None,
        }
    }

    /// Returns the name of the Rust type, if the component is registered as that type.
    pub(crate) const fn type_name(&self) -> Option<&'static str> {
        match self.kind {
            ComponentKind::Type(_, name) => Some(name),
            _ => None,
        }
    }

    /// Returns whether it was registered at run time as plain bytes, which
    /// [`ByIdMut::insert`](crate::ByIdMut::insert) and other functions require.
    #[must_use]
    pub const fn is_bytes(&self) -> bool {
        matches!(self.kind, ComponentKind::Bytes)
    }

    /// Returns the size and alignment of one value, in bytes.
    #[must_use]
    pub const fn layout(&self) -> Layout {
        self.layout
    }

    /// Returns whether it outlives the despawning of its entity; see [`Component::CLEANUP`].
    #[must_use]
    pub const fn is_cleanup(&self) -> bool {
        self.flags.any(ArchetypeFlags::CLEANUP)
    }

    /// Returns whether [`ByIdMut::insert_default`](crate::ByIdMut::insert_default) can create a value.
    #[must_use]
    pub const fn has_default(&self) -> bool {
        self.erased.default.is_some() && !self.managed
    }

    /// Returns whether it can be disabled and enabled per entity.
    #[must_use]
    pub const fn is_enableable(&self) -> bool {
        self.enableable
    }

    /// Returns whether each of its rows has versions.
    #[must_use]
    pub const fn is_tracked(&self) -> bool {
        self.tracked
    }
}

/// The description of `T` and of no other type (I-9).
///
/// It is invariant, because a subtype of `T` is another component, with an id and functions of its own.
#[derive(Debug)]
pub struct InfoOf<T>(ComponentInfo, PhantomData<fn(T) -> T>);

impl<T: Component> InfoOf<T> {
    /// Describes the type.
    #[must_use]
    pub fn of() -> Self {
        Self(ComponentInfo::of::<T>(), PhantomData)
    }
}

/// The maximum number of components of a world. It is low in tests, which reach it.
const COMPONENTS_MAX: usize = if cfg!(test) { 100 } else { u32::MAX as usize };

/// The components of one world. Each type has one id (I-9). Components with a name of their own have ids
/// of their own, which never refer to anything else (I-16).
#[derive(Debug, Default)]
pub struct Registry {
    infos: Vec<ComponentInfo>,
    ids: TypeMap<ComponentId>,
    /// The first component of each name: two types may have the same name.
    names: hashbrown::HashMap<Name, ComponentId, BuildFibonacci>,
    /// The names of components that the program no longer has, but snapshots may have.
    removed: Vec<Name>,
}

impl Registry {
    /// Returns the id of `T`, and registers it first if necessary.
    pub(crate) fn register<T: Component>(&mut self) -> ComponentId {
        self.obtain(TypeId::of::<T>(), || T::info().0)
    }

    fn obtain(&mut self, type_id: TypeId, info: fn() -> ComponentInfo) -> ComponentId {
        if let Some(&id) = self.ids.get(&type_id) {
            return id;
        }
        // A name is user code, so it is called before anything has changed.
        let info = info();
        let [id] = self.push([info]).expect("fewer than 2^32 - 1 components");
        self.ids.insert(type_id, id);
        id
    }

    /// Adds these components and returns their ids, or `None` if so many more have no ids.
    pub(crate) fn push<const N: usize>(
        &mut self,
        infos: [ComponentInfo; N],
    ) -> Option<[ComponentId; N]> {
        let has_room = self.infos.len() + N <= COMPONENTS_MAX;
        has_room.then(|| {
            infos.map(|info| {
                let id = ComponentId(u32::try_from(self.infos.len()).expect("below the maximum"));
                self.names.entry(info.name.clone()).or_insert(id);
                self.infos.push(ComponentInfo { id, ..info });
                id
            })
        })
    }

    /// Forgets the components after the first `count`. No archetype and no plan may know them.
    pub(crate) fn truncate(&mut self, count: usize) {
        self.infos.truncate(count);
        self.ids.retain(|_, id| id.index() < count);
        self.names.retain(|_, id| id.index() < count);
    }

    /// Returns the component with this name, or the first one if several types have it.
    pub(crate) fn by_name(&self, name: &str) -> Option<ComponentId> {
        self.names.get(name).copied()
    }

    pub(crate) fn register_removed(&mut self, name: Name) {
        if !self.removed.contains(&name) {
            self.removed.push(name);
        }
    }

    /// Returns the names of components that the program no longer has.
    pub(crate) fn removed(&self) -> &[Name] {
        &self.removed
    }

    /// Returns the description of a component whose id comes from a caller.
    pub(crate) fn find(&self, id: ComponentId) -> Result<&ComponentInfo, UnknownComponent> {
        self.infos.get(id.index()).ok_or(UnknownComponent { index: id.index() })
    }

    /// Returns the id of `T`, if it is registered.
    pub(crate) fn get<T: Component>(&self) -> Option<ComponentId> {
        self.ids.get(&TypeId::of::<T>()).copied()
    }

    /// Looks for violations of I-9 and I-16, as far as they are visible here.
    pub(crate) fn check(&self) -> Result<(), (&'static str, &'static str)> {
        for (index, info) in self.infos.iter().enumerate() {
            if info.id.index() != index {
                return Err(("I-9", "a component is listed under another's id"));
            }
            if matches!(info.kind, ComponentKind::Type(id, _) if self.ids.get(&id) != Some(&info.id))
            {
                return Err(("I-9", "a type leads to another's id"));
            }
            if info.is_bytes() && info.erased.drop.is_some() {
                return Err(("I-16", "plain bytes have something to drop"));
            }
        }
        if self.infos.iter().filter(|info| info.type_name().is_some()).count() != self.ids.len() {
            return Err(("I-9", "a type leads nowhere"));
        }
        Ok(())
    }

    /// Adds a flag to the archetypes with this component that are created from now on.
    pub(crate) fn add_flags(&mut self, id: ComponentId, flag: ArchetypeFlags) {
        let info = &mut self.infos[id.index()];
        info.flags = info.flags.and(flag);
    }

    pub(crate) fn info(&self, id: ComponentId) -> &ComponentInfo {
        &self.infos[id.index()]
    }

    pub(crate) fn infos(&self) -> &[ComponentInfo] {
        &self.infos
    }
}

/// The registry from which a query gets the ids of its types, with or without the right to register them.
#[derive(Debug)]
pub enum IdSource<'a> {
    /// Registers types that are new.
    Register(&'a mut Registry),
    /// Leaves types that are new unregistered: no entity has them.
    LookUp(&'a Registry),
}

impl IdSource<'_> {
    pub(crate) fn registry(&self) -> &Registry {
        match self {
            Self::Register(registry) => registry,
            Self::LookUp(registry) => registry,
        }
    }

    pub(crate) fn id<T: Component>(&mut self) -> ComponentId {
        match self {
            Self::Register(registry) => registry.register::<T>(),
            Self::LookUp(registry) => registry.get::<T>().unwrap_or(ComponentId::UNKNOWN),
        }
    }
}

/// The flags of an archetype: the lifecycle events that have hooks or observers, and the properties that
/// structural changes depend on. They are bits, so that an operation finds out by one test that there is
/// nothing to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ArchetypeFlags(u16);

impl ArchetypeFlags {
    pub(crate) const NONE: Self = Self(0);
    /// A component is added that the entity did not have.
    pub(crate) const ADD: Self = Self(1);
    /// A component is added or replaced.
    pub(crate) const INSERT: Self = Self(1 << 1);
    /// A value is about to be replaced or removed.
    pub(crate) const REPLACE: Self = Self(1 << 2);
    /// A component is about to be removed.
    pub(crate) const REMOVE: Self = Self(1 << 3);
    /// An entity is about to be despawned.
    pub(crate) const DESPAWN: Self = Self(1 << 4);
    /// A component outlives the despawning of its entity.
    pub(crate) const CLEANUP: Self = Self(1 << 5);
    /// A component is one side of a relation.
    pub(crate) const RELATED: Self = Self(1 << 6);
    /// The entities have been despawned.
    pub(crate) const DESPAWNED: Self = Self(1 << 7);
    /// The entities have been despawned, and nothing is left to clean up.
    pub(crate) const CLEANUP_DONE: Self = Self(1 << 8);
    /// The events after a row has come.
    pub(crate) const ON_ADD: Self = Self::ADD.and(Self::INSERT);
    /// The events before components are removed.
    pub(crate) const ON_REMOVE: Self = Self::REPLACE.and(Self::REMOVE);
    /// The events before an entity is despawned.
    pub(crate) const ON_DESPAWN: Self = Self::ON_REMOVE.and(Self::DESPAWN);

    /// The flags of entities that cannot be despawned by just removing their row.
    pub(crate) const MORE_THAN_A_ROW: Self =
        Self::ON_DESPAWN.and(Self::CLEANUP).and(Self::RELATED).and(Self::DESPAWNED);

    /// Returns the union of both.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns these flags and those that follow from them: despawned entities without cleanup components
    /// are to be removed.
    pub(crate) const fn complete(self) -> Self {
        let is_doomed = self.any(Self::DESPAWNED) && !self.any(Self::CLEANUP);
        if is_doomed { self.and(Self::CLEANUP_DONE) } else { self }
    }

    /// Returns whether any flag of `of` is among these.
    #[inline]
    pub(crate) const fn any(self, of: Self) -> bool {
        self.0 & of.0 != 0
    }
}

/// A tag of an entity that was despawned, and exists only until its last cleanup component is removed.
///
/// The world adds it. Queries skip such entities unless they name the tag. See [`Component::CLEANUP`].
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::Despawned;
/// #[derive(Component)]
/// #[component(cleanup)]
/// struct Socket(u32);
///
/// let mut world = World::new();
/// let client = world.spawn(Socket(80));
/// world.despawn(client)?;
/// // A system has to close the socket; then the entity is gone.
/// let open: Vec<Entity> =
///     world.query_filtered::<Entity, (With<Socket>, With<Despawned>)>().into_iter().collect();
/// for entity in open {
///     let Socket(port) = world.remove::<Socket>(entity)?;
///     assert_eq!(port, 80);
/// }
/// assert!(!world.contains(client));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Despawned(());

impl Component for Despawned {
    const HASH: HashRule<Self> = HashRule::Fields(|Self(()), _| {});
    const HIDES: bool = true;
    const MANAGED: bool = true;
    const CODEC: Codec<Self> = Codec::tag(|_| Ok(Self(())));

    fn name() -> &'static str {
        "formic_ecs::Despawned"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(crate::Component)]
    struct Gold;

    #[derive(crate::Component)]
    struct Silver;

    #[test]
    fn a_registry_that_is_out_of_step_is_found() {
        let check = |spoil: fn(&mut Registry), expected: &str| {
            let mut world = crate::world::World::new();
            world.register::<Gold>();
            world.register::<Silver>();
            let registry = &mut world.registry;
            assert_eq!(registry.check(), Ok(()));
            spoil(registry);
            assert_eq!(registry.check().expect_err("it was spoiled").0, expected);
        };
        check(|it| it.infos.swap(0, 1), "I-9");
        check(|it| assert!(it.ids.remove(&TypeId::of::<Gold>()).is_some()), "I-9");
        check(|it| _ = it.ids.insert(TypeId::of::<u8>(), it.infos[0].id), "I-9");
        check(|it| _ = it.ids.insert(TypeId::of::<Gold>(), it.infos[1].id), "I-9");
    }
}
