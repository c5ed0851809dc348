//! The types of values that rows do not have for themselves: shared by all rows of an archetype, or
//! of a chunk.

use core::any::type_name;
use core::hash::Hash;

use super::Codec;

/// A value that many entities have in common, such as a material or a level: entities with equal
/// values lie together, in chunks of their own.
///
/// Each different value is kept once in a world, and entities that have it are an archetype of
/// their own. That makes reading it free (a query looks once per archetype) and giving another one
/// a structural change. Use it for few values that change seldom; a value per entity would be an
/// archetype per entity.
///
/// Derive it, or implement it without a body. A value cannot be changed while it is shared: what
/// its `Eq` and `Hash` say must not change either.
///
/// The derive has a value that is plain data, or has no fields, saved in snapshots. The options are
/// `#[component(name = "...")]` and `#[component(serde)]`, which mean what they mean for a
/// [`Component`](crate::Component).
///
/// ```
/// use formic_ecs::prelude::*;
///
/// #[derive(SharedComponent, PartialEq, Eq, Hash, Debug)]
/// struct Level(u32);
///
/// let mut world = World::new();
/// let (cellar, attic) = (world.spawn(()), world.spawn(()));
/// world.set_shared(cellar, Level(0))?;
/// world.set_shared(attic, Level(7))?;
/// assert_eq!(world.shared::<Level>(attic)?, &Level(7));
/// let below = world.query::<(Entity, Shared<Level>)>().with_shared(&Level(0));
/// assert_eq!(below.map(|(entity, _)| entity).collect::<Vec<_>>(), [cellar]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// By hand:
///
/// ```
/// use formic_ecs::{Codec, SharedComponent};
/// #[derive(PartialEq, Eq, Hash)]
/// struct Mesh(&'static str);
/// impl SharedComponent for Mesh {
///     const CODEC: Codec<Self> = Codec::UNSAVED;
///
///     fn name() -> &'static str {
///         "game.mesh"
///     }
/// }
/// ```
pub trait SharedComponent: Eq + Hash + Send + Sync + Sized + 'static {
    /// How to save values in a snapshot.
    const CODEC: Codec<Self> = Codec::UNSAVED;

    /// The name in messages, in the state hash and in snapshots.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// #[derive(SharedComponent, PartialEq, Eq, Hash)]
    /// #[component(name = "game.level")]
    /// struct Level(u32);
    /// assert_eq!(Level::name(), "game.level");
    /// ```
    #[must_use]
    fn name() -> &'static str {
        type_name::<Self>()
    }
}

/// A value that a chunk has once, for all its rows, such as a box around all their places.
///
/// That an entity's chunk has one is a matter of its component set; the value itself lies outside
/// the rows, and to set it is no structural change. A chunk to which nothing was set has the
/// default, and a chunk that empties drops its value. Rows come and go without the value noticing:
/// work it out again where that matters ([`World::update_chunk_values`](crate::World::update_chunk_values)).
///
/// Derive it, or implement it without a body. The derive has a value that is plain data, or has no
/// fields, saved in snapshots. The options are `#[component(name = "...")]`, `#[component(serde)]`
/// and `#[component(transient)]`, which mean what they mean for a [`Component`](crate::Component).
///
/// ```
/// use formic_ecs::prelude::*;
///
/// #[derive(Component)]
/// struct Place(f32);
/// #[derive(ChunkComponent, Default)]
/// struct Reach(f32);
///
/// let mut world = World::new();
/// for entity in world.spawn_batch((0..1000).map(|i| Place(i as f32))) {
///     world.add_chunk_component::<Reach>(entity)?;
/// }
/// world.update_chunk_values::<Reach, &Place>(|reach, places| {
///     reach.0 = places.into_iter().map(|place| place.0).fold(0.0, f32::max);
/// });
/// // Chunks that cannot have anything beyond 900 are not entered.
/// let mut found = 0;
/// let places = world.query::<&Place>();
/// places.chunks_where::<Reach>(|reach| reach.0 > 900.0, |chunk| {
///     chunk.for_each(|place| found += usize::from(place.0 > 900.0));
/// });
/// assert_eq!(found, 99);
/// # Ok::<(), formic_ecs::NoSuchEntity>(())
/// ```
///
/// By hand:
///
/// ```
/// use formic_ecs::{ChunkComponent, Codec};
/// #[derive(Default)]
/// struct Heaviest(u32);
/// impl ChunkComponent for Heaviest {
///     const CODEC: Codec<Self> = Codec::transient();
///
///     fn name() -> &'static str {
///         "game.heaviest"
///     }
/// }
/// ```
pub trait ChunkComponent: Default + Send + Sync + Sized + 'static {
    /// How to save values in a snapshot.
    const CODEC: Codec<Self> = Codec::UNSAVED;

    /// The name in messages, in the state hash and in snapshots.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// #[derive(ChunkComponent, Default)]
    /// #[component(name = "game.reach")]
    /// struct Reach(f32);
    /// assert_eq!(Reach::name(), "game.reach");
    /// ```
    #[must_use]
    fn name() -> &'static str {
        type_name::<Self>()
    }
}
