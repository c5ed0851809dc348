//! Which components a world has met, and what it knows about each.

use alloc::vec::Vec;
use core::alloc::Layout;
use core::any::TypeId;
use core::ffi::c_void;

use super::{Codec, CodecKind, Component, ComponentId, DropValueFn, ErasedFns, HashRule};
use crate::error::UnknownComponent;
use crate::hash::{BuildFibonacci, TypeMap};
use crate::name::Name;

/// What stands behind a component id.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// A Rust type, with its name.
    Type(TypeId, &'static str),
    /// Bytes that were given a meaning at run time.
    Bytes,
    /// Values that were given functions at run time.
    Functions,
    /// Values of a Rust type, under a name of their own: there can be several such components.
    Named(TypeId),
}

/// What a world knows about one component.
#[derive(Clone, Debug)]
pub struct ComponentInfo {
    pub(crate) id: ComponentId,
    pub(crate) kind: Kind,
    pub(crate) name: Name,
    pub(crate) layout: Layout,
    pub(crate) enableable: bool,
    pub(crate) tracked: bool,
    pub(crate) erased: ErasedFns,
    /// Its names in earlier versions of the program.
    pub(crate) was: &'static [&'static str],
    /// The fields of a value, as text.
    pub(crate) fields: Name,
    /// What there is to do for entities with it. The copies in archetypes are not kept up.
    pub(crate) flags: ArchetypeFlags,
    /// Whether queries leave out entities with it.
    pub(crate) hides: bool,
    /// Whether only the world gives and takes it.
    pub(crate) managed: bool,
    pub(crate) instead_of_clone: &'static str,
}

impl ComponentInfo {
    /// Of a Rust type, which gets its id from the registry.
    fn of<T: Component>() -> Self {
        Self {
            id: ComponentId::UNKNOWN,
            kind: Kind::Type(TypeId::of::<T>(), T::name()),
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

    /// Of a Rust type, under another name.
    pub(crate) fn named<T: Component>(id: ComponentId, name: Name) -> Self {
        Self { id, kind: Kind::Named(TypeId::of::<T>()), name, ..Self::of::<T>() }
    }

    /// Its number in this world.
    #[must_use]
    pub const fn id(&self) -> ComponentId {
        self.id
    }

    /// Its name, as [`Component::name`] or its descriptor gives it.
    #[must_use]
    pub const fn name(&self) -> &Name {
        &self.name
    }

    /// Whether a [snapshot](crate::World::snapshot) can have values of it.
    #[must_use]
    pub fn is_saved(&self) -> bool {
        self.erased.codec.kind != CodecKind::Unsaved
    }

    /// How a value is dropped, and what the function is given beside it, where there is something to drop: for
    /// a value that could not be inserted, for instance.
    #[must_use]
    pub fn drop_fn(&self) -> Option<(DropValueFn, *mut c_void)> {
        self.erased.drop.map(|drop| (drop.function, drop.user_data))
    }

    /// The Rust type of the values, if there is one.
    #[must_use]
    pub const fn type_id(&self) -> Option<TypeId> {
        match self.kind {
            Kind::Type(id, _) | Kind::Named(id) => Some(id),
            Kind::Bytes | Kind::Functions => None,
        }
    }

    /// The name of the Rust type, if there is one.
    pub(crate) const fn type_name(&self) -> Option<&'static str> {
        match self.kind {
            Kind::Type(_, name) => Some(name),
            _ => None,
        }
    }

    /// Whether it was registered at run time as plain bytes, which
    /// [`ByIdMut::insert`](crate::ByIdMut::insert) and others ask for.
    #[must_use]
    pub const fn is_bytes(&self) -> bool {
        matches!(self.kind, Kind::Bytes)
    }

    /// Size and alignment of one value, in bytes.
    #[must_use]
    pub const fn layout(&self) -> Layout {
        self.layout
    }

    /// Whether it outlives the despawning of its entity; see [`Component::CLEANUP`].
    #[must_use]
    pub const fn is_cleanup(&self) -> bool {
        self.flags.any(ArchetypeFlags::CLEANUP)
    }

    /// Whether [`ByIdMut::insert_default`](crate::ByIdMut::insert_default) can make a value.
    #[must_use]
    pub const fn has_default(&self) -> bool {
        self.erased.default.is_some() && !self.managed
    }

    /// Whether it can be switched off and on per entity.
    #[must_use]
    pub const fn is_enableable(&self) -> bool {
        self.enableable
    }

    /// Whether there are versions for each of its rows.
    #[must_use]
    pub const fn is_tracked(&self) -> bool {
        self.tracked
    }
}

/// The components of one world. Types have one id each (I-9); components with a name of their own
/// have ids of their own, which are never given to anything else (I-16).
#[derive(Debug, Default)]
pub struct Registry {
    infos: Vec<ComponentInfo>,
    ids: TypeMap<ComponentId>,
    /// The first of each name: two types may call themselves the same.
    names: hashbrown::HashMap<Name, ComponentId, BuildFibonacci>,
    /// The names of components that the program has no more, which snapshots may have.
    removed: Vec<Name>,
}

impl Registry {
    /// The id of `T`, which is registered where it was not.
    pub(crate) fn register<T: Component>(&mut self) -> ComponentId {
        self.obtain(TypeId::of::<T>(), ComponentInfo::of::<T>)
    }

    fn obtain(&mut self, type_id: TypeId, info: fn() -> ComponentInfo) -> ComponentId {
        if let Some(&id) = self.ids.get(&type_id) {
            return id;
        }
        // A name is user code: nothing has changed yet.
        let info = info();
        let id = self.next_id().expect("fewer than 2^32 - 1 components");
        self.push(ComponentInfo { id, ..info });
        self.ids.insert(type_id, id);
        id
    }

    /// The id of the next component, if there can be one more.
    pub(crate) fn next_id(&self) -> Option<ComponentId> {
        let id = ComponentId(u32::try_from(self.infos.len()).ok()?);
        (id != ComponentId::UNKNOWN).then_some(id)
    }

    pub(crate) fn push(&mut self, info: ComponentInfo) {
        self.names.entry(info.name.clone()).or_insert(info.id);
        self.infos.push(info);
    }

    /// The component of this name; the first, should several types call themselves the same.
    pub(crate) fn by_name(&self, name: &str) -> Option<ComponentId> {
        self.names.get(name).copied()
    }

    pub(crate) fn register_removed(&mut self, name: Name) {
        if !self.removed.contains(&name) {
            self.removed.push(name);
        }
    }

    /// The names of components that the program has no more.
    pub(crate) fn removed(&self) -> &[Name] {
        &self.removed
    }

    /// What is known of a component whose id a caller gave.
    pub(crate) fn find(&self, id: ComponentId) -> Result<&ComponentInfo, UnknownComponent> {
        self.infos.get(id.index()).ok_or(UnknownComponent { index: id.index() })
    }

    /// The id of `T`, if the world has met it.
    pub(crate) fn get<T: Component>(&self) -> Option<ComponentId> {
        self.ids.get(&TypeId::of::<T>()).copied()
    }

    /// Looks for broken invariants: I-9 and I-16 as far as they can be seen from here.
    pub(crate) fn check(&self) -> Result<(), (&'static str, &'static str)> {
        for (index, info) in self.infos.iter().enumerate() {
            if info.id.index() != index {
                return Err(("I-9", "a component is listed under another's id"));
            }
            if matches!(info.kind, Kind::Type(id, _) if self.ids.get(&id) != Some(&info.id)) {
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

    /// Has archetypes that are made from now on see to this.
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

/// Where a query gets the ids of its types from: with or without the right to register them.
#[derive(Debug)]
pub enum IdSource<'a> {
    /// Types that are new become known.
    Register(&'a mut Registry),
    /// Types that are new stay unknown, and nothing has them.
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

/// The lifecycle events of an archetype that have hooks or observers: a bit for each, so
/// that an operation finds out by one test that there is nothing to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ArchetypeFlags(u16);

impl ArchetypeFlags {
    pub(crate) const NONE: Self = Self(0);
    /// A component is new.
    pub(crate) const ADD: Self = Self(1);
    /// A component was added or replaced.
    pub(crate) const INSERT: Self = Self(1 << 1);
    /// A value is about to be replaced or removed.
    pub(crate) const REPLACE: Self = Self(1 << 2);
    /// A component is about to go.
    pub(crate) const REMOVE: Self = Self(1 << 3);
    /// An entity is about to go.
    pub(crate) const DESPAWN: Self = Self(1 << 4);
    /// A component outlives the despawning of its entity.
    pub(crate) const CLEANUP: Self = Self(1 << 5);
    /// A component is one side of a relation.
    pub(crate) const RELATED: Self = Self(1 << 6);
    /// The entities have been despawned.
    pub(crate) const DESPAWNED: Self = Self(1 << 7);
    /// They have, and there is nothing left to clean up.
    pub(crate) const CLEANUP_PENDING: Self = Self(1 << 8);
    /// After a row has come.
    pub(crate) const ON_ADD: Self = Self::ADD.and(Self::INSERT);
    /// Before components are taken.
    pub(crate) const ON_REMOVE: Self = Self::REPLACE.and(Self::REMOVE);
    /// Before an entity goes.
    pub(crate) const ON_DESPAWN: Self = Self::ON_REMOVE.and(Self::DESPAWN);

    /// Where an entity cannot just be taken out.
    pub(crate) const MORE_THAN_A_ROW: Self =
        Self::ON_DESPAWN.and(Self::CLEANUP).and(Self::RELATED).and(Self::DESPAWNED);

    /// These and those.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// These, and what follows from them: who was despawned and has nothing to clean up is doomed.
    pub(crate) const fn complete(self) -> Self {
        let is_doomed = self.any(Self::DESPAWNED) && !self.any(Self::CLEANUP);
        if is_doomed { self.and(Self::CLEANUP_PENDING) } else { self }
    }

    /// Whether any of those is among these.
    #[inline]
    pub(crate) const fn any(self, of: Self) -> bool {
        self.0 & of.0 != 0
    }
}

/// The entity was despawned, and is only there until its last cleanup component is removed.
///
/// The world gives it; queries leave such entities out unless they name the tag. See
/// [`Component::CLEANUP`].
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
