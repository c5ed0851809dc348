//! A world that is too simple to be wrong.

use std::collections::BTreeMap;

use ecs_core::Entity;

use super::parts::Kind;

/// One component of one entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) value: u64,
    pub(crate) enabled: bool,
}

/// What became of the tracked component in one operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Touched {
    changed: bool,
    added: bool,
}

/// The components of one entity, and whether the tracked one was touched just now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Holding(pub(crate) BTreeMap<Kind, Held>, Touched);

impl Holding {
    pub(crate) fn has(&self, kind: Kind) -> bool {
        self.0.contains_key(&kind)
    }

    pub(crate) fn get(&self, kind: Kind) -> Option<u64> {
        self.0.get(&kind).map(|held| held.value)
    }

    /// The value, where the component is there and enabled: what a query sees.
    pub(crate) fn enabled(&self, kind: Kind) -> Option<u64> {
        self.0.get(&kind).filter(|held| held.enabled).map(|held| held.value)
    }

    pub(crate) fn is_disabled(&self, kind: Kind) -> bool {
        self.0.get(&kind).is_some_and(|held| !held.enabled)
    }

    /// Overwrites the value of a component, if it is there.
    pub(crate) fn set(&mut self, kind: Kind, value: u64) {
        if let Some(held) = self.0.get_mut(&kind).filter(|_| kind.can_be_set()) {
            held.value = value;
            self.1.changed |= kind == TRACKED;
        }
    }

    /// As an insertion does: the bit of what was there stays, what is new comes enabled.
    pub(crate) fn insert(&mut self, kind: Kind, value: u64) {
        if kind == TRACKED {
            self.1.changed = true;
            self.1.added |= !self.has(kind);
        }
        self.0.entry(kind).or_insert(Held { value, enabled: true }).value = value;
    }

    /// As for a copy: all of it is new.
    pub(crate) fn copied(&self) -> Self {
        Self(self.0.clone(), Touched { changed: true, added: true })
    }
}

/// Which handles the world gives out next is part of what it promises.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    pub(crate) entities: BTreeMap<Entity, Holding>,
    /// Goes up with every operation.
    pub(crate) clock: u64,
    /// When the tracked component of an entity was changed, and when it came.
    versions: BTreeMap<Entity, (u64, u64)>,
    generations: Vec<u32>,
    free: Vec<u32>,
}

/// The component whose changes the model keeps.
const TRACKED: Kind = Kind::Fuel;

impl Model {
    /// Writes down what the operation that has just ended touched.
    pub(crate) fn tick(&mut self) {
        self.clock += 1;
        for (&entity, holding) in &mut self.entities {
            let Touched { changed, added } = std::mem::take(&mut holding.1);
            let versions = self.versions.entry(entity).or_default();
            if changed {
                versions.0 = self.clock;
            }
            if added {
                versions.1 = self.clock;
            }
        }
    }

    /// Whether the tracked component of an entity is there and enabled and was changed after the
    /// clock stood there, and whether it came after that.
    pub(crate) fn is_new(&self, entity: Entity, since: u64) -> (bool, bool) {
        let (changed, added) = self.versions.get(&entity).copied().unwrap_or_default();
        let holding = self.entities.get(&entity);
        let is_seen = holding.is_some_and(|holding| holding.enabled(TRACKED).is_some());
        (is_seen && changed > since, is_seen && added > since)
    }

    pub(crate) fn allocate(&mut self) -> Entity {
        let index = self.free.pop().unwrap_or_else(|| {
            self.generations.push(1);
            u32::try_from(self.generations.len() - 1).expect("few entities")
        });
        let generation = self.generations[index as usize];
        Entity::from_bits(u64::from(generation) << 32 | u64::from(index)).expect("not zero")
    }

    pub(crate) fn despawn(&mut self, entity: Entity) -> bool {
        let gone = self.entities.remove(&entity).is_some();
        if gone {
            self.generations[entity.index() as usize] += 1;
            self.free.push(entity.index());
        }
        gone
    }

    pub(crate) fn clear(&mut self) {
        let mut all: Vec<Entity> = self.entities.keys().copied().collect();
        all.sort_by_key(|entity| std::cmp::Reverse(entity.index()));
        for entity in all {
            assert!(self.despawn(entity));
        }
    }

    pub(crate) fn count(&self, kind: Kind) -> usize {
        self.entities.values().filter(|holding| holding.has(kind)).count()
    }
}
