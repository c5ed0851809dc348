//! The components that the programs play with, and bundles of them.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use arbitrary::Arbitrary;
use bytemuck::{CheckedBitPattern, NoUninit, Pod, Zeroable};
use ecs_core::{
    Bundle, CloneFn, Codec, CodecError, CommandBuffer, Component, ComponentError, ComponentId,
    DynamicRow, Entity, TermError, World,
};

/// The component types.
#[derive(Arbitrary, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Position,
    Counted,
    Name,
    Tag,
    Active,
    Fuel,
    Wide,
    Link,
}

impl Kind {
    pub(crate) const ALL: [Self; 8] = [
        Self::Position,
        Self::Counted,
        Self::Name,
        Self::Tag,
        Self::Active,
        Self::Fuel,
        Self::Wide,
        Self::Link,
    ];
}

/// How many `Counted` are alive.
#[derive(Debug, Default)]
pub(crate) struct Ledger(AtomicI64);

impl Ledger {
    pub(crate) fn live(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What components are made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seed<'a> {
    pub(crate) value: u64,
    pub(crate) link: Entity,
    pub(crate) ledger: &'a Arc<Ledger>,
}

/// A component that can be made from a number and tells that number again.
///
/// Every byte of it depends on the number: a value that was torn, or overwritten by its
/// neighbour, is found out.
pub(crate) trait Part: Component {
    const KIND: Kind;
    fn make(seed: &Seed<'_>) -> Self;
    fn value(&self) -> u64;
    fn set(&mut self, value: u64);
}

#[derive(Component, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Position {
    value: u32,
    inverted: u32,
}

impl Part for Position {
    const KIND: Kind = Kind::Position;

    fn make(seed: &Seed<'_>) -> Self {
        let value = u32::try_from(seed.value).expect("values are small");
        Self { value, inverted: !value }
    }

    fn value(&self) -> u64 {
        assert_eq!(self.value, !self.inverted, "torn");
        u64::from(self.value)
    }

    fn set(&mut self, value: u64) {
        self.value = u32::try_from(value).expect("values are small");
        self.inverted = !self.value;
    }
}

thread_local! {
    /// Where those are counted that come out of a snapshot.
    static LEDGER: RefCell<Arc<Ledger>> = RefCell::default();
}

/// Has those that come out of a snapshot counted here, on this thread.
pub(crate) fn keep_books_in(ledger: &Arc<Ledger>) {
    LEDGER.set(Arc::clone(ledger));
}

/// A component that is no plain data, saved as the number that it tells.
macro_rules! saved_by_number {
    ($name:ident, $make:expr) => {
        impl Component for $name {
            const CLONE: Option<CloneFn<Self>> = Some(Self::clone);
            const CODEC: Codec<Self> = Codec::custom(
                |part, out| {
                    out.extend(part.value().to_le_bytes());
                    Ok(())
                },
                |source| {
                    let (number, rest) = source.split_first_chunk().ok_or(CodecError)?;
                    *source = rest;
                    let make: fn(u64) -> Result<Self, CodecError> = $make;
                    make(u64::from_le_bytes(*number))
                },
            );
        }
    };
}

saved_by_number!(Counted, |number| Ok(LEDGER.with_borrow(|ledger| Self::new(number, ledger))));
saved_by_number!(Name, |number| Ok(Self(number.to_string())));
saved_by_number!(Wide, |number| Ok(Self([u16::try_from(number).map_err(|_| CodecError)?; 70])));

pub(crate) struct Counted {
    value: u64,
    ledger: Arc<Ledger>,
}

impl Counted {
    fn new(value: u64, ledger: &Arc<Ledger>) -> Self {
        _ = ledger.0.fetch_add(1, Ordering::Relaxed);
        Self { value, ledger: Arc::clone(ledger) }
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        Self::new(self.value, &self.ledger)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        _ = self.ledger.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Part for Counted {
    const KIND: Kind = Kind::Counted;

    fn make(seed: &Seed<'_>) -> Self {
        Self::new(seed.value, seed.ledger)
    }

    fn value(&self) -> u64 {
        self.value
    }

    fn set(&mut self, value: u64) {
        self.value = value;
    }
}

#[derive(Clone)]
pub(crate) struct Name(String);

impl Part for Name {
    const KIND: Kind = Kind::Name;

    fn make(seed: &Seed<'_>) -> Self {
        Self(seed.value.to_string())
    }

    fn value(&self) -> u64 {
        self.0.parse().expect("a name is a number")
    }

    fn set(&mut self, value: u64) {
        self.0 = value.to_string();
    }
}

macro_rules! tag {
    ($name:ident) => {
        impl Part for $name {
            const KIND: Kind = Kind::$name;

            fn make(_seed: &Seed<'_>) -> Self {
                Self
            }

            fn value(&self) -> u64 {
                0
            }

            fn set(&mut self, _value: u64) {}
        }
    };
}

#[derive(Component, Clone)]
pub(crate) struct Tag;
tag!(Tag);

#[derive(Component, Clone)]
#[component(enableable)]
pub(crate) struct Active;
tag!(Active);

#[derive(Component, Clone, Copy, Pod, Zeroable)]
#[component(enableable, tracked)]
#[repr(C)]
pub(crate) struct Fuel([u16; 3]);

impl Part for Fuel {
    const KIND: Kind = Kind::Fuel;

    fn make(seed: &Seed<'_>) -> Self {
        Self([u16::try_from(seed.value).expect("values are small"); 3])
    }

    fn value(&self) -> u64 {
        assert!(self.0[0] == self.0[1] && self.0[1] == self.0[2], "torn");
        u64::from(self.0[0])
    }

    fn set(&mut self, value: u64) {
        self.0 = [u16::try_from(value).expect("values are small"); 3];
    }
}

#[derive(Clone)]
#[repr(align(128))]
pub(crate) struct Wide([u16; 70]);

impl Part for Wide {
    const KIND: Kind = Kind::Wide;

    fn make(seed: &Seed<'_>) -> Self {
        Self([u16::try_from(seed.value).expect("values are small"); 70])
    }

    fn value(&self) -> u64 {
        assert!(self.0.iter().all(|&part| part == self.0[0]), "torn");
        assert!(std::ptr::from_ref(self).addr() % 128 == 0, "misaligned");
        u64::from(self.0[0])
    }

    fn set(&mut self, value: u64) {
        self.0 = [u16::try_from(value).expect("values are small"); 70];
    }
}

#[derive(Component, Clone, Copy, NoUninit, CheckedBitPattern)]
#[repr(C)]
pub(crate) struct Link {
    #[component(entity)]
    to: Entity,
}

impl Part for Link {
    const KIND: Kind = Kind::Link;

    fn make(seed: &Seed<'_>) -> Self {
        Self { to: seed.link }
    }

    fn value(&self) -> u64 {
        self.to.to_bits()
    }

    fn set(&mut self, _value: u64) {}
}

/// What the components of a bundle hold.
pub(crate) type Values = Vec<(Kind, u64)>;

/// What an insertion gives back where nobody is there.
pub(crate) type HandedBack = (Entity, Values);

/// A value and whether it is enabled.
type Read = Result<(u64, bool), ComponentError>;

/// A tuple of parts.
trait Parts: Bundle {
    fn kinds() -> Vec<Kind>;
    fn make(seed: &Seed<'_>) -> Self;
    fn values(&self) -> Values;
}

macro_rules! parts {
    ($(($part:ident $index:tt))+) => {
        impl<$($part: Part),+> Parts for ($($part,)+) {
            fn kinds() -> Vec<Kind> {
                vec![$($part::KIND),+]
            }

            fn make(seed: &Seed<'_>) -> Self {
                ($($part::make(seed),)+)
            }

            fn values(&self) -> Values {
                vec![$(($part::KIND, self.$index.value())),+]
            }
        }
    };
}

impl Parts for () {
    fn kinds() -> Vec<Kind> {
        vec![]
    }

    fn make(_seed: &Seed<'_>) -> Self {}

    fn values(&self) -> Values {
        vec![]
    }
}

parts!((A 0));
parts!((A 0)(B 1));
parts!((A 0)(B 1)(C 2));
parts!((A 0)(B 1)(C 2)(D 3));
parts!((A 0)(B 1)(C 2)(D 3)(E 4)(F 5)(G 6)(H 7));

/// What can be done with one type of bundle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShapeFns {
    pub(crate) kinds: fn() -> Vec<Kind>,
    pub(crate) spawn: fn(&mut World, &Seed<'_>) -> Entity,
    pub(crate) spawn_batch: fn(&mut World, &Seed<'_>, usize) -> Vec<Entity>,
    pub(crate) insert: fn(&mut World, Entity, &Seed<'_>) -> Result<(), HandedBack>,
    pub(crate) remove: fn(&mut World, Entity) -> Result<Values, ComponentError>,
    pub(crate) record_spawn: fn(&mut CommandBuffer, &Seed<'_>) -> Entity,
    pub(crate) record_insert: fn(&mut CommandBuffer, Entity, &Seed<'_>),
    pub(crate) record_remove: fn(&mut CommandBuffer, Entity),
}

impl ShapeFns {
    fn of<B: Parts>() -> Self {
        Self {
            kinds: B::kinds,
            spawn: |world, seed| world.spawn(B::make(seed)),
            spawn_batch: |world, seed, count| {
                let seeds = (0..count as u64).map(|i| Seed { value: seed.value + i, ..*seed });
                world.spawn_batch(seeds.map(|seed| B::make(&seed)))
            },
            insert: |world, entity, seed| {
                let inserted = world.insert(entity, B::make(seed));
                inserted.map_err(|error| (error.entity, error.bundle.values()))
            },
            remove: |world, entity| world.remove::<B>(entity).map(|bundle| bundle.values()),
            record_spawn: |buffer, seed| buffer.spawn(B::make(seed)),
            record_insert: |buffer, entity, seed| buffer.insert(entity, B::make(seed)),
            record_remove: |buffer, entity| buffer.remove::<B>(entity),
        }
    }
}

macro_rules! shapes {
    ($($name:ident: ($($part:ty),*);)*) => {
        /// The bundles.
        #[derive(Arbitrary, Clone, Copy, Debug)]
        pub(crate) enum Shape {
            $($name),*
        }

        impl Shape {
            pub(crate) fn fns(self) -> ShapeFns {
                match self {
                    $(Self::$name => ShapeFns::of::<($($part,)*)>()),*
                }
            }
        }
    };
}

shapes! {
    Nothing: ();
    Position: (Position);
    Counted: (Counted);
    Name: (Name);
    Tag: (Tag);
    Active: (Active);
    Fuel: (Fuel);
    Wide: (Wide);
    Link: (Link);
    Body: (Position, Fuel);
    Agent: (Active, Counted, Position);
    Named: (Name, Link, Tag, Counted);
    Switches: (Fuel, Active);
    Heavy: (Wide, Counted);
    Everything: (Link, Wide, Fuel, Active, Tag, Name, Counted, Position);
}

/// What can be done with one component type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KindFns {
    pub(crate) name: &'static str,
    pub(crate) enableable: bool,
    pub(crate) read: fn(&World, Entity) -> Read,
    pub(crate) has: fn(&World, Entity) -> bool,
    pub(crate) set_enabled: fn(&mut World, Entity, bool) -> Result<bool, ComponentError>,
    pub(crate) record_set_enabled: fn(&mut CommandBuffer, Entity, bool),
    /// Writes the value; `Err` where the entity is not to be had.
    pub(crate) get_mut: fn(&mut World, Entity, u64) -> bool,
    pub(crate) view: fn(&mut World, Entity, u64) -> bool,
    pub(crate) claim: fn(&mut World, Entity, u64) -> bool,
    pub(crate) query_one: fn(&mut World, Entity, u64) -> bool,
    pub(crate) id: fn(&mut World) -> ComponentId,
    pub(crate) read_term: fn(&DynamicRow<'_>, usize) -> Result<u64, TermError>,
    pub(crate) set_term: fn(&mut DynamicRow<'_>, usize, u64) -> Result<(), TermError>,
}

impl KindFns {
    fn of<T: Part>() -> Self {
        Self {
            name: T::name(),
            enableable: T::ENABLEABLE,
            read: |world, entity| {
                Ok((world.get::<T>(entity)?.value(), world.is_enabled::<T>(entity)?))
            },
            has: |world, entity| world.has::<T>(entity),
            set_enabled: |world, entity, enabled| world.set_enabled::<T>(entity, enabled),
            record_set_enabled: |buffer, entity, enabled| {
                buffer.set_enabled::<T>(entity, enabled);
            },
            get_mut: |world, entity, value| {
                world.get_mut::<T>(entity).map(|part| part.set(value)).is_ok()
            },
            view: |world, entity, value| {
                world.view::<&mut T>().get_mut(entity).map(|part| part.set(value)).is_ok()
            },
            claim: |world, entity, value| {
                let mut plan = world.claim_plan::<&mut T>();
                let view = world.cell().claims(&mut plan).expect("nobody else is here");
                view.claim(entity).map(|mut claim| claim.get_mut().set(value)).is_ok()
            },
            query_one: |world, entity, value| {
                world.query_one::<&mut T>(entity).map(|part| part.set(value)).is_ok()
            },
            id: World::register::<T>,
            read_term: |row, term| row.get::<T>(term).map(T::value),
            set_term: |row, term, value| row.get_mut::<T>(term).map(|part| part.set(value)),
        }
    }
}

impl Kind {
    pub(crate) fn fns(self) -> KindFns {
        match self {
            Self::Position => KindFns::of::<Position>(),
            Self::Counted => KindFns::of::<Counted>(),
            Self::Name => KindFns::of::<Name>(),
            Self::Tag => KindFns::of::<Tag>(),
            Self::Active => KindFns::of::<Active>(),
            Self::Fuel => KindFns::of::<Fuel>(),
            Self::Wide => KindFns::of::<Wide>(),
            Self::Link => KindFns::of::<Link>(),
        }
    }

    /// The value that a component made from this seed has.
    pub(crate) fn value_of(self, seed: &Seed<'_>) -> u64 {
        match self {
            Self::Tag | Self::Active => 0,
            Self::Link => seed.link.to_bits(),
            _ => seed.value,
        }
    }

    /// Whether `Part::set` does anything.
    pub(crate) fn can_be_set(self) -> bool {
        !matches!(self, Self::Tag | Self::Active | Self::Link)
    }
}
