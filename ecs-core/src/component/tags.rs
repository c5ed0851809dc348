//! The component that the store itself gives a meaning to.

use super::{Codec, Component, HashRule};

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
