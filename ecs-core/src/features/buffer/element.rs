//! The trait of a buffer's elements.

use super::Buffer;
use crate::component::{BytesFn, CloneFn, Codec, HashRule, MapEntitiesFn};
use crate::name::Name;

/// What [`Buffer`]s can hold: says how many elements lie in the chunk.
///
/// Derived by `#[derive(Component)]` with `#[component(buffer = N)]`, which makes the type an
/// element instead of a component; the component is the buffer. By hand it takes two lines, and the
/// constants mean what those of [`Component`](trait@crate::Component) mean.
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::{Buffer, BufferElement, HashRule};
///
/// struct Callback(Box<dyn Fn() + Send + Sync>);
/// impl BufferElement for Callback {
///     type Inline = [Self; 2];
///     const HASH: HashRule<Self> = HashRule::Unhashed;
/// }
///
/// // One that says all that there is to say.
/// use formic_ecs::{BytesFn, CloneFn, Codec, MapEntitiesFn};
/// struct Friend(Entity);
/// impl BufferElement for Friend {
///     type Inline = [Self; 4];
///     const ENABLEABLE: bool = true;
///     const TRACKED: bool = true;
///     const CLONE: Option<CloneFn<Self>> = Some(|friend| Self(friend.0));
///     const BYTES: Option<BytesFn<Self>> = None;
///     const HASH: HashRule<Self> =
///         HashRule::Fields(|friend, hasher| hasher.write_u64(friend.0.to_bits()));
///     const MAP_ENTITIES: Option<MapEntitiesFn<Self>> = Some(|friend, map| friend.0 = map(friend.0));
///     const CODEC: Codec<Self> = Codec::UNSAVED;
///
///     fn name() -> &'static str {
///         "game.friends"
///     }
/// }
///
/// let mut world = World::new();
/// let imp = world.spawn(Buffer::from_iter([Callback(Box::new(|| ()))]));
/// world.insert(imp, Buffer::from_iter([Friend(imp)])).expect("alive");
/// assert!(world.component_by_name("game.friends").is_some());
/// ```
pub trait BufferElement: Send + Sync + Sized + 'static {
    /// An array of elements: as many as lie in the chunk.
    type Inline: smallvec::Array<Item = Self> + Send + Sync + 'static;

    /// Whether the buffer can be switched off and on per entity.
    const ENABLEABLE: bool = false;
    /// Whether there are versions per row that say when the buffer was changed and added.
    const TRACKED: bool = false;
    /// How to copy an element, for instantiation.
    const CLONE: Option<CloneFn<Self>> = None;
    /// How to see elements as bytes, for access by id.
    const BYTES: Option<BytesFn<Self>> = None;
    /// How the state hash sees elements.
    const HASH: HashRule<Self>;
    /// How to replace the entities that an element refers to.
    const MAP_ENTITIES: Option<MapEntitiesFn<Self>> = None;
    /// How to save elements in a snapshot.
    const CODEC: Codec<Self> = Codec::UNSAVED;
    /// The names that the buffer had in earlier versions of the program.
    const WAS: &'static [&'static str] = &[];

    /// The name of the buffer in messages, in the state hash and in snapshots.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::BufferElement;
    /// #[derive(Component)]
    /// #[component(buffer = 4, name = "game.bag")]
    /// struct Item(u32);
    /// assert_eq!(Item::name(), "game.bag");
    /// ```
    #[must_use]
    fn name() -> &'static str {
        core::any::type_name::<Buffer<Self>>()
    }

    /// The fields of an element, as [`Component::fields`](crate::Component::fields) has them.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::BufferElement;
    /// #[derive(Component)]
    /// #[component(buffer = 4)]
    /// struct Item(u32);
    /// assert_eq!(Item::fields().as_str(), "u32");
    /// ```
    #[must_use]
    fn fields() -> Name {
        Name::from("")
    }
}
