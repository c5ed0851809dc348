//! Events of activities: their kinds, subjects and tokens.

use formic_ecs::HashState;
use std::fmt;
use std::ops::BitOr;

use formic_ecs::{Codec, CodecError, Entity, MapEntities};

/// A type of events that activities wait for: an enum of the game's, for instance.
///
/// ```
/// use formic_ai::activity::{Event, EventKinds};
///
/// enum Happening {
///     Arrived { lost: bool },
///     Eaten,
/// }
/// const ARRIVED: EventKinds = EventKinds::one(0);
/// const EATEN: EventKinds = EventKinds::one(1);
///
/// impl Event for Happening {
///     fn kind(&self) -> EventKinds {
///         match self {
///             Self::Arrived { .. } => ARRIVED,
///             Self::Eaten => EATEN,
///         }
///     }
///     // As it is called where an agent says what it waits for.
///     fn kind_name(number: u32) -> Option<&'static str> {
///         Some(if number == 0 { "the arrival" } else { "the meal" })
///     }
/// }
/// assert!((ARRIVED | EATEN).contains(Happening::Eaten.kind()));
/// assert!(!ARRIVED.contains(Happening::Eaten.kind()));
/// ```
pub trait Event: Sized + Send + Sync + 'static {
    /// The codec of events, for saving a game, since events are kept for a while after they were
    /// delivered. Without one, a game with such events cannot be saved.
    const CODEC: Codec<Self> = Codec::UNSAVED;

    /// The kind of the event: a single one, as returned by [`EventKinds::one`]. By default all events of
    /// the type have one kind.
    fn kind(&self) -> EventKinds {
        EventKinds::one(0)
    }

    /// The name of the kind with this number in [decision records](crate::explain): `arrived`.
    #[must_use]
    fn kind_name(number: u32) -> Option<&'static str> {
        _ = number;
        None
    }
}

/// A set of kinds of events: none, all, or some of one block of 64.
///
/// Kinds are numbered from 0 to below [`COUNT_MAX`](Self::COUNT_MAX). The blocks are 0 to 63, 64 to 127
/// and so on. Kinds that an activity waits for together should be in one block; kinds in two blocks need
/// two subscriptions. A set is therefore as small in a game with hundreds of kinds as in one with three.
///
/// ```
/// use formic_ai::activity::EventKinds;
/// const HIT: EventKinds = EventKinds::one(700);
/// const HEALED: EventKinds = EventKinds::one(701);
/// assert!((HIT | HEALED).contains(HIT) && EventKinds::ALL.contains(HIT));
/// assert!(!HIT.intersects(EventKinds::one(700 - 64)));
/// ```
#[derive(
    Clone, Copy, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, HashState,
)]
pub struct EventKinds {
    /// One bit per kind of the block.
    bits: u64,
    block: u8,
}

/// Stands for all blocks, with all their kinds.
const EVERY: u8 = u8::MAX - 1;

impl EventKinds {
    /// No kind: a subscription to it only receives the death of its subject.
    pub const NONE: Self = Self { bits: 0, block: 0 };
    /// Every kind.
    pub const ALL: Self = Self { bits: u64::MAX, block: EVERY };
    /// The numbers of kinds are below this.
    pub const COUNT_MAX: u32 = 1_024;

    /// The kind with this number.
    ///
    /// # Panics
    /// Panics if the number is not below [`COUNT_MAX`](Self::COUNT_MAX).
    #[must_use]
    pub const fn one(number: u32) -> Self {
        assert!(number < Self::COUNT_MAX, "there are 1,024 kinds of events");
        #[expect(clippy::cast_possible_truncation, reason = "there are 16 blocks")]
        let block = (number / 64) as u8;
        Self { bits: 1 << (number % 64), block }
    }

    /// The bits that are in both sets, if they may share a block.
    const fn shared_bits(self, other: Self) -> u64 {
        if self.block == other.block || self.block == EVERY || other.block == EVERY {
            self.bits & other.bits
        } else {
            0
        }
    }

    /// Whether this set contains all kinds of the other set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        let has_block = self.block == EVERY || other.block != EVERY;
        has_block && self.shared_bits(other) == other.bits
    }

    /// Whether some kind is in both sets.
    #[must_use]
    pub const fn intersects(self, other: Self) -> bool {
        self.shared_bits(other) != 0
    }

    /// The numbers of the kinds; none if the set has all kinds.
    pub(super) fn numbers(self) -> impl Iterator<Item = u32> {
        let bits = if self.block == EVERY { 0 } else { self.bits };
        let numbers = (0..64).filter(move |number| bits >> number & 1 == 1);
        numbers.map(move |number| u32::from(self.block) * 64 + number)
    }

    pub(super) const fn to_parts(self) -> (u64, u8) {
        (self.bits, self.block)
    }

    /// From the result of [`to_parts`](Self::to_parts).
    pub(super) const fn of_block(bits: u64, block: u8) -> Self {
        Self { bits, block }
    }

    /// Whether these are valid kinds, when read from a file.
    pub(super) fn is_valid(self) -> bool {
        let is_some_block = u32::from(self.block) < Self::COUNT_MAX / 64;
        self == Self::ALL || is_some_block && (self.bits != 0 || self.block == 0)
    }
}

/// # Panics
/// Panics if the kinds are in two blocks of 64: subscribe to each.
impl BitOr for EventKinds {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        match (self, other) {
            (some, none) | (none, some) if none.bits == 0 => some,
            (all, _) | (_, all) if all == Self::ALL => all,
            _ => {
                assert!(
                    self.block == other.block,
                    "{self:?} and {other:?} lie in two blocks of 64: subscribe to each",
                );
                Self { bits: self.bits | other.bits, ..self }
            }
        }
    }
}

impl fmt::Debug for EventKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EventKinds")?;
        if *self == Self::ALL {
            return f.write_str("(all)");
        }
        f.debug_set().entries(self.numbers()).finish()
    }
}

/// The name of one subscription or timer. It proves that an answer belongs to the request that was sent
/// with it, and not to an older one.
///
/// A request carries it (in a component, for instance), and it comes back with [`Posted::answering`]. The
/// subscriptions of a task have different tokens until it has made 2^32 of them, even if its
/// [`ActivitySlot`](super::ActivitySlot) was removed or replaced meanwhile.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    serde::Serialize,
    serde::Deserialize,
    HashState,
)]
pub struct Token {
    pub(super) task: Entity,
    pub(super) number: u32,
}

/// So that a component can hold it as `#[component(entity)]`.
impl MapEntities for Token {
    fn map_entities(&mut self, map: &mut dyn FnMut(Entity) -> Entity) {
        self.task.map_entities(map);
    }
}

impl Token {
    /// The task of the subscription: the entity that has the [`ActivitySlot`](super::ActivitySlot).
    #[must_use]
    pub const fn task(self) -> Entity {
        self.task
    }

    /// The number of the subscription within the task.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.number
    }

    /// The token with this number, for systems that store requests as plain numbers.
    #[must_use]
    pub const fn new(task: Entity, number: u32) -> Self {
        Self { task, number }
    }
}

/// An event with its subject. Systems send it with an [`EventWriter`](formic_jobs::EventWriter), from any
/// number of threads, and it wakes activities.
///
/// ```
/// use formic_ai::activity::Posted;
/// # use formic_ai::activity::Event;
/// # struct Arrived;
/// # impl Event for Arrived {}
/// use formic_ai::prelude::*;
/// # #[derive(Component)] struct Walk { left: u32 }
/// fn walk(mut walkers: Query<(Entity, &mut Walk)>, mut posts: EventWriter<Posted<Arrived>>) {
///     walkers.par_for_each_with(&mut posts, |(walker, walk), posts| {
///         walk.left -= 1;
///         if walk.left == 0 {
///             posts.send(Posted::about(walker, Arrived));
///         }
///     });
/// }
/// # let mut world = World::new();
/// # Schedule::builder().add(walk).build(&mut world).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct Posted<E> {
    /// The entity that it is about.
    pub subject: Entity,
    /// The event.
    pub event: E,
    /// The request that it answers; `None` for all subscribers.
    pub answers: Option<Token>,
}

impl<E: Event> Posted<E> {
    /// The subject, the token it answers (two numbers, 0 for none), and the event by its own codec.
    pub(super) const CODEC: Codec<Self> = Codec::custom(
        |post, bytes| {
            let answers = post.answers.map_or([0; 2], |it| [it.task.to_bits(), it.number.into()]);
            Codec::plain().write(&post.subject, bytes)?;
            Codec::plain().write(&answers, bytes)?;
            E::CODEC.write(&post.event, bytes)
        },
        |bytes| {
            let subject = Codec::plain().read(bytes)?;
            let [task, number] = Codec::<[u64; 2]>::plain().read(bytes)?;
            let number = u32::try_from(number).map_err(|_| CodecError)?;
            let answers = match task {
                0 => None,
                task => Some(Token::new(Entity::from_bits(task).ok_or(CodecError)?, number)),
            };
            Ok(Self { subject, event: E::CODEC.read(bytes)?, answers })
        },
    );
}

impl<E> Posted<E> {
    /// Creates an event about a subject, for all subscribers.
    #[must_use]
    pub const fn about(subject: Entity, event: E) -> Self {
        Self { subject, event, answers: None }
    }

    /// Addresses it to this subscription alone. If the subscription has ended meanwhile, the event is
    /// dropped.
    ///
    /// ```
    /// use formic_ai::activity::{Posted, Token};
    /// # #[derive(Clone)] struct PathFound;
    /// # let mut world = formic_ecs::World::new();
    /// # let walker = world.spawn(());
    /// // What `Tick::subscribe` returned, taken along in the request.
    /// let token = Token::new(walker, 7);
    /// let answer = Posted::about(walker, PathFound).answering(token);
    /// assert_eq!(answer.answers, Some(token));
    /// ```
    #[must_use]
    pub fn answering(self, token: Token) -> Self {
        Self { answers: Some(token), ..self }
    }
}

/// A notice to an activity in [`on_event`](super::Activity::on_event), with the token of the subscription
/// or timer that it comes by.
///
/// ```
/// use formic_ai::activity::{Notice, Token};
/// use formic_ecs::Entity;
/// let task = Entity::from_bits(1 << 32).unwrap();
/// let token = Token::new(task, 7);
/// assert_eq!(Notice::Event(&"arrived", token).token(), token);
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Notice<'e, E> {
    /// An event about the subject.
    Event(&'e E, Token),
    /// The subject was despawned. The subscription has ended, and the activity always wakes.
    Died(Token),
    /// The timer has run out; the subject is the task itself.
    Time(Token),
    /// Events may have been missed, or requests of the activity may be lost: activities did not run for
    /// longer than events are kept, or a panic cut a run of the schedule short. The subscription stays,
    /// and the activity always wakes: it should check the world and request again.
    Missed(Token),
}

impl<E> Notice<'_, E> {
    /// The subscription or timer that it comes by.
    #[must_use]
    pub const fn token(&self) -> Token {
        match self {
            Self::Event(_, token) | Self::Died(token) | Self::Time(token) | Self::Missed(token) => {
                *token
            }
        }
    }
}

copied!([E] Notice<'_, E>);
