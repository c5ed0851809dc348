//! Hooks and observers: what they were told, and what they have to be told.

use arbitrary::Arbitrary;
use formic_ecs::{Entity, Event, EventKind, World};

use super::bonds::Bond;
use super::parts::{Kind, Part, with_part};

/// What a watcher can be told of. In the order in which the world tells it of one component.
#[derive(Arbitrary, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    Add,
    Insert,
    Despawn,
    Replace,
    Remove,
}

impl Moment {
    pub(crate) const ALL: [Self; 5] =
        [Self::Add, Self::Insert, Self::Despawn, Self::Replace, Self::Remove];

    pub(crate) fn kind(self) -> EventKind {
        match self {
            Self::Add => EventKind::Add,
            Self::Insert => EventKind::Insert,
            Self::Despawn => EventKind::Despawn,
            Self::Replace => EventKind::Replace,
            Self::Remove => EventKind::Remove,
        }
    }

    /// Whether the value is still there, and will not be for long.
    fn is_departure(self) -> bool {
        matches!(self, Self::Despawn | Self::Replace | Self::Remove)
    }
}

/// What an observer watches.
#[derive(Arbitrary, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watched {
    Component(Moment, Kind),
    Pairs(Bond, bool),
}

impl Watched {
    /// Whether entities have to go one by one when all go.
    pub(crate) fn is_departure(self) -> bool {
        matches!(self, Self::Component(moment, _) if moment.is_departure())
    }
}

/// One call of a watcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// Whose value was seen then.
    Component {
        number: u32,
        moment: Moment,
        kind: Kind,
        entity: Entity,
        value: u64,
    },
    Pair {
        number: u32,
        bond: Bond,
        comes: bool,
        source: Entity,
        target: Entity,
    },
}

/// All calls, as a resource of the world.
#[derive(Debug, Default)]
pub(crate) struct Log(pub(crate) Vec<Told>);

fn note<T: Part>(number: u32, moment: Moment) -> impl Fn(&mut World, Event) + Send + Sync {
    move |world, event| {
        assert_eq!(event.kind, moment.kind());
        let entity = event.entity;
        let value = world.get::<T>(entity).expect("it has it at this moment").value();
        let told = Told::Component { number, moment, kind: T::KIND, entity, value };
        world.resource_mut::<Log>().expect("it is there").0.push(told);
    }
}

/// Has a watcher of a world write down what it is told: a hook, or else an observer.
pub(crate) fn watch(world: &mut World, number: u32, watched: Watched, is_hook: bool) {
    match watched {
        Watched::Pairs(bond, comes) => (bond.fns().observe)(world, number, bond, comes),
        Watched::Component(moment, kind) => {
            with_part!(kind, T, {
                if is_hook {
                    world.hooks().on::<T>(moment.kind(), note::<T>(number, moment));
                } else {
                    let id = world.register::<T>();
                    let note = note::<T>(number, moment);
                    _ = world.hooks().observe_by_id(moment.kind(), id, note).expect("it is known");
                }
            });
        }
    }
}

/// Who watches what, and what they have been told since the last look.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watches {
    /// By number, hooks first.
    list: Vec<(bool, u32, Watched)>,
    pub(crate) told: Vec<Told>,
}

impl Watches {
    /// The next watcher's number.
    pub(crate) fn add(&mut self, watched: Watched, is_hook: bool) -> u32 {
        let number = u32::try_from(self.list.len()).expect("few");
        self.list.push((!is_hook, number, watched));
        self.list.sort_by_key(|&(is_observer, number, _)| (is_observer, number));
        number
    }

    /// Has all of them watch another world, which is empty, in the same order.
    pub(crate) fn begin_in(&self, world: &mut World) {
        for &(is_observer, number, watched) in &self.list {
            watch(world, number, watched, !is_observer);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn has_hook(&self, watched: Watched) -> bool {
        self.list.iter().any(|&(is_observer, _, other)| !is_observer && other == watched)
    }

    pub(crate) fn watch_departures(&self) -> bool {
        let is_told =
            |watched: Watched| matches!(watched, Watched::Pairs(..)) || watched.is_departure();
        self.list.iter().any(|&(_, _, watched)| is_told(watched))
    }

    pub(crate) fn tell(&mut self, moment: Moment, kind: Kind, entity: Entity, value: u64) {
        let called = |watched: Watched| watched == Watched::Component(moment, kind);
        let numbers = self.list.iter().filter(|(_, _, watched)| called(*watched));
        self.told.extend(numbers.map(|&(_, number, _)| Told::Component {
            number,
            moment,
            kind,
            entity,
            value,
        }));
    }

    pub(crate) fn tell_pair(&mut self, bond: Bond, comes: bool, source: Entity, target: Entity) {
        let called = |watched: Watched| watched == Watched::Pairs(bond, comes);
        let numbers = self.list.iter().filter(|(_, _, watched)| called(*watched));
        self.told.extend(numbers.map(|&(_, number, _)| Told::Pair {
            number,
            bond,
            comes,
            source,
            target,
        }));
    }
}
