//! Bundles of the components that the programs play with.

use arbitrary::Arbitrary;
use formic_ecs::{Buffer, Bundle, CommandBuffer, ComponentError, Entity, Prefab, World};

use super::parts::{
    Active, Counted, Fuel, Kind, Link, Name, Part, Position, Seed, Socket, Step, Tag, Wide,
};

/// What the components of a bundle hold.
pub(crate) type Values = Vec<(Kind, u64)>;

/// What an insertion gives back where no entity is there.
pub(crate) type HandedBack = (Entity, Values);

/// What a copy is given, in place of what its original has or beside it.
pub(crate) type Gift = (Counted, Link, Fuel);
pub(crate) const GIFT: [Kind; 3] = [Kind::Counted, Kind::Link, Kind::Fuel];

/// The gift for one copy of several.
pub(crate) fn gift(seed: &Seed<'_>, nth: usize) -> Gift {
    Gift::make(&seed.nth(nth))
}

/// A tuple of parts.
trait Parts: Bundle + Clone {
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
                world.spawn_batch((0..count).map(|nth| B::make(&seed.nth(nth))))
            },
            insert: |world, entity, seed| {
                let inserted = world.insert(entity, B::make(seed));
                inserted.map_err(|error| (error.entity, error.bundle.values()))
            },
            remove: |world, entity| world.remove::<B>(entity).map(|bundle| bundle.values()),
            record_spawn: |sink, seed| sink.spawn(B::make(seed)),
            record_insert: |sink, entity, seed| sink.insert(entity, B::make(seed)),
            record_remove: |sink, entity| sink.remove::<B>(entity),
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
    Steps: (Buffer<Step>);
    Socket: (Socket);
    Prefab: (Prefab);
    Template: (Buffer<Step>, Prefab, Link, Position);
    Connected: (Counted, Socket, Fuel);
    Everything: (Link, Wide, Fuel, Active, Tag, Name, Counted, Position);
}
