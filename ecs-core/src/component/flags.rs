//! Per-archetype flags: which lifecycle events need dispatch, and the tag of the despawned.

use super::{Codec, Component, HashRule};

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
