//! The components that the programs play with, and bundles of them.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use arbitrary::Arbitrary;
use bytemuck::{CheckedBitPattern, NoUninit, Pod, Zeroable};
use formic_ecs::{
    Buffer, Claimant, CloneFn, Codec, CodecError, CommandBuffer, Component, ComponentError,
    ComponentId, DynamicRow, Entity, HashRule, Prefab, TermError, World,
};

use super::by_id::{self, Column};

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
    Steps,
    Socket,
    Prefab,
}

impl Kind {
    pub(crate) const ALL: [Self; 11] = [
        Self::Position,
        Self::Counted,
        Self::Name,
        Self::Tag,
        Self::Active,
        Self::Fuel,
        Self::Wide,
        Self::Link,
        Self::Steps,
        Self::Socket,
        Self::Prefab,
    ];

    /// Whether copies of an entity do not get it.
    pub(crate) fn is_left_behind(self) -> bool {
        matches!(self, Self::Socket | Self::Prefab)
    }
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

impl Seed<'_> {
    /// For one of several.
    pub(crate) fn nth(self, nth: usize) -> Self {
        Self { value: self.value + nth as u64, ..self }
    }
}

/// A component that can be made from a number and tells that number again.
///
/// Every byte of it depends on the number: a value that was torn, or overwritten by its
/// neighbour, is found out.
pub(crate) trait Part: Component + Clone {
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
            const HASH: HashRule<Self> =
                HashRule::Fields(|part, hasher| hasher.write_u64(part.value()));
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

#[derive(Component, Clone, Copy, PartialEq, Pod, Zeroable)]
#[component(buffer = 2)]
#[repr(C)]
pub(crate) struct Step(u16);

/// A buffer of one to five elements: in the chunk, or on the heap.
impl Part for Buffer<Step> {
    const KIND: Kind = Kind::Steps;

    fn make(seed: &Seed<'_>) -> Self {
        let mut steps = Self::new();
        steps.set(seed.value);
        steps
    }

    fn value(&self) -> u64 {
        let value = self[0].0;
        assert!(self.len() == 1 + usize::from(value % 5), "torn");
        assert!(self.iter().all(|step| step.0 == value), "torn");
        u64::from(value)
    }

    fn set(&mut self, value: u64) {
        let value = u16::try_from(value).expect("values are small");
        self.clear();
        self.extend((0..=value % 5).map(|_| Step(value)));
        if value % 2 == 0 {
            self.shrink_to_fit();
        }
    }
}

/// What has to be cleaned up.
#[derive(Component, Clone, Copy, Pod, Zeroable)]
#[component(cleanup)]
#[repr(C)]
pub(crate) struct Socket(u32);

impl Part for Socket {
    const KIND: Kind = Kind::Socket;

    fn make(seed: &Seed<'_>) -> Self {
        Self(u32::try_from(seed.value).expect("values are small"))
    }

    fn value(&self) -> u64 {
        u64::from(self.0)
    }

    fn set(&mut self, value: u64) {
        self.0 = u32::try_from(value).expect("values are small");
    }
}

impl Part for Prefab {
    const KIND: Kind = Kind::Prefab;

    fn make(_seed: &Seed<'_>) -> Self {
        Self
    }

    fn value(&self) -> u64 {
        0
    }

    fn set(&mut self, _value: u64) {}
}

/// A value and whether it is enabled.
type Read = Result<(u64, bool), ComponentError>;

/// Does something with the type of a kind.
macro_rules! with_part {
    ($kind:expr, $part:ident, $body:block) => {{
        use $crate::ops::parts::{self, Kind};
        match $kind {
            Kind::Position => {
                type $part = parts::Position;
                $body
            }
            Kind::Counted => {
                type $part = parts::Counted;
                $body
            }
            Kind::Name => {
                type $part = parts::Name;
                $body
            }
            Kind::Tag => {
                type $part = parts::Tag;
                $body
            }
            Kind::Active => {
                type $part = parts::Active;
                $body
            }
            Kind::Fuel => {
                type $part = parts::Fuel;
                $body
            }
            Kind::Wide => {
                type $part = parts::Wide;
                $body
            }
            Kind::Link => {
                type $part = parts::Link;
                $body
            }
            Kind::Steps => {
                type $part = formic_ecs::Buffer<parts::Step>;
                $body
            }
            Kind::Socket => {
                type $part = parts::Socket;
                $body
            }
            Kind::Prefab => {
                type $part = formic_ecs::Prefab;
                $body
            }
        }
    }};
}

pub(crate) use with_part;

/// What can be done with one component type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KindFns {
    pub(crate) name: &'static str,
    /// The name in lists, hashes and snapshots.
    pub(crate) lasting_name: fn() -> formic_ecs::Name,
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
    pub(crate) poke_by_id: fn(&mut World, Entity, u64) -> bool,
    pub(crate) id: fn(&mut World) -> ComponentId,
    /// So many values, for operations by id.
    pub(crate) column: fn(&Seed<'_>, usize) -> Column,
    pub(crate) read_term: fn(&DynamicRow<'_>, usize) -> Result<u64, TermError>,
    pub(crate) set_term: fn(&mut DynamicRow<'_>, usize, u64) -> Result<(), TermError>,
}

impl KindFns {
    fn of<T: Part>() -> Self {
        Self {
            name: T::name(),
            lasting_name: T::lasting_name,
            enableable: T::ENABLEABLE,
            read: |world, entity| {
                let by_id = by_id::read::<T>(world, entity);
                let read = world.get::<T>(entity);
                assert_eq!(by_id.is_some(), read.is_ok(), "by id as by type");
                let read = (read?.value(), world.is_enabled::<T>(entity)?);
                assert_eq!(by_id, Some(read), "by id as by type");
                Ok(read)
            },
            has: |world, entity| world.has::<T>(entity),
            set_enabled: |world, entity, enabled| world.set_enabled::<T>(entity, enabled),
            record_set_enabled: |sink, entity, enabled| sink.set_enabled::<T>(entity, enabled),
            get_mut: |world, entity, value| {
                world.get_mut::<T>(entity).map(|part| part.set(value)).is_ok()
            },
            view: |world, entity, value| {
                world.view::<&mut T>().get_mut(entity).map(|part| part.set(value)).is_ok()
            },
            claim: |world, entity, value| {
                // It takes a row to claim: where all are hidden, a view writes.
                if world.query::<Entity>().first().is_none() {
                    let mut view = world.view::<&mut T>();
                    return view.get_mut(entity).map(|part| part.set(value)).is_ok();
                }
                let mut plan = world.claim_plan::<&mut T>();
                let mut rows = world.plan::<Claimant<'_>>();
                let cell = world.cell();
                let view = cell.claims(&mut plan).expect("nobody else is here");
                let mut rows = cell.query(&mut rows).expect("nobody else is here");
                let Some(row) = rows.query().first() else { return false };
                view.claim(&row, entity).map(|mut claim| claim.get_mut().set(value)).is_ok()
            },
            query_one: |world, entity, value| {
                world.query_one::<&mut T>(entity).map(|part| part.set(value)).is_ok()
            },
            poke_by_id: by_id::poke::<T>,
            id: World::register::<T>,
            column: Column::of::<T>,
            read_term: |row, term| row.get::<T>(term).map(T::value),
            set_term: |row, term, value| row.get_mut::<T>(term).map(|part| part.set(value)),
        }
    }
}

impl Kind {
    pub(crate) fn fns(self) -> KindFns {
        with_part!(self, T, { KindFns::of::<T>() })
    }

    /// The value that a component made from this seed has.
    pub(crate) fn value_of(self, seed: &Seed<'_>) -> u64 {
        match self {
            Self::Tag | Self::Active | Self::Prefab => 0,
            Self::Link => seed.link.to_bits(),
            _ => seed.value,
        }
    }

    /// Whether `Part::set` does anything.
    pub(crate) fn can_be_set(self) -> bool {
        !matches!(self, Self::Tag | Self::Active | Self::Link | Self::Prefab)
    }
}
