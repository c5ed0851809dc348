//! A world that is too simple to be wrong.

use std::collections::{BTreeMap, BTreeSet};

use formic_ecs::Entity;

use super::bonds::{Bond, Bonds};
use super::parts::Kind;
use super::shapes::Values;
use super::watch::{Moment, Watches};

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

/// The components of one entity, whether the tracked one was touched just now, and whether it was
/// despawned and has something to clean up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Holding(pub(crate) BTreeMap<Kind, Held>, Touched, pub(crate) bool);

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

    /// As for a copy: all of it is new, and some of it does not come along.
    pub(crate) fn copied(&self) -> Self {
        let mut copy = self.clone();
        copy.0.retain(|kind, _| !kind.is_left_behind());
        Self(copy.0, Touched { changed: true, added: true }, copy.2)
    }

    /// Whether queries come by that do not ask for what is hidden.
    pub(crate) fn is_visible(&self) -> bool {
        !self.has(Kind::Prefab) && !self.2
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
    pub(crate) bonds: Bonds,
    pub(crate) watches: Watches,
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

    /// Whether an entity is there, and not only to be cleaned up.
    pub(crate) fn is_there(&self, entity: Entity) -> bool {
        self.entities.get(&entity).is_some_and(|holding| !holding.2)
    }

    /// What queries see that do not ask for what is hidden.
    pub(crate) fn visible(&self) -> impl Iterator<Item = (&Entity, &Holding)> {
        self.entities.iter().filter(|(_, holding)| holding.is_visible())
    }

    pub(crate) fn visible_mut(&mut self) -> impl Iterator<Item = (&Entity, &mut Holding)> {
        self.entities.iter_mut().filter(|(_, holding)| holding.is_visible())
    }

    fn tell(&mut self, moment: Moment, entity: Entity, kinds: &[Kind]) {
        for &kind in kinds {
            if let Some(value) = self.entities[&entity].get(kind) {
                self.watches.tell(moment, kind, entity, value);
            }
        }
    }

    /// An entity has come, with what was asked for or with all that it has.
    pub(crate) fn arrive(&mut self, entity: Entity, holding: Holding, kinds: Option<&[Kind]>) {
        let all: Vec<Kind> = holding.0.keys().copied().collect();
        let before = self.entities.insert(entity, holding);
        assert!(before.is_none(), "{entity} was given out while it was alive");
        let kinds = kinds.unwrap_or(&all);
        self.tell(Moment::Add, entity, kinds);
        self.tell(Moment::Insert, entity, kinds);
    }

    /// A copy of an entity that is there and of its descendants; who was made, itself first.
    pub(crate) fn copy(&mut self, original: Entity) -> Vec<Entity> {
        let members = self.bonds.family(original);
        let of: BTreeMap<Entity, Entity> =
            members.iter().map(|&member| (member, self.allocate())).collect();
        self.bonds.copy(&of, &members);
        for member in &members {
            let mut holding = self.entities[member].copied();
            if let Some(link) = holding.0.get_mut(&Kind::Link) {
                let to = Entity::from_bits(link.value).and_then(|to| of.get(&to));
                link.value = to.map_or(link.value, |to| to.to_bits());
            }
            self.arrive(of[member], holding, None);
        }
        let copies: Vec<Entity> = members.iter().map(|member| of[member]).collect();
        for &copy in &copies {
            for bond in Bond::ALL {
                for target in self.bonds.targets(bond, copy).to_vec() {
                    self.watches.tell_pair(bond, true, copy, target);
                }
            }
        }
        copies
    }

    /// Inserts a bundle into an entity that is there.
    pub(crate) fn insert(&mut self, entity: Entity, values: &[(Kind, u64)]) {
        let kinds: Vec<Kind> = values.iter().map(|&(kind, _)| kind).collect();
        self.tell(Moment::Replace, entity, &kinds);
        let holding = self.entities.get_mut(&entity).expect("it is there");
        let new: Vec<Kind> = kinds.iter().copied().filter(|&kind| !holding.has(kind)).collect();
        values.iter().for_each(|&(kind, value)| holding.insert(kind, value));
        self.tell(Moment::Add, entity, &new);
        self.tell(Moment::Insert, entity, &kinds);
    }

    /// Removes components that an entity has.
    pub(crate) fn remove(&mut self, entity: Entity, kinds: &[Kind]) -> Values {
        self.tell(Moment::Replace, entity, kinds);
        self.tell(Moment::Remove, entity, kinds);
        let holding = self.entities.get_mut(&entity).expect("it is there");
        let take = |kind: &Kind| (*kind, holding.0.remove(kind).expect("it has it").value);
        let values = kinds.iter().map(take).collect();
        if holding.2 && !holding.has(Kind::Socket) {
            self.part(entity, false);
        }
        values
    }

    /// Despawns an entity, after all that depend on it: the last of them first, none before its
    /// own. Who has something to clean up stays with it.
    pub(crate) fn despawn(&mut self, root: Entity) -> bool {
        if !self.is_there(root) {
            return false;
        }
        self.despawn_all(root, &mut BTreeSet::new());
        true
    }

    /// `open` are those whose dependants are going: a cycle leads back to them.
    fn despawn_all(&mut self, entity: Entity, open: &mut BTreeSet<Entity>) {
        _ = open.insert(entity);
        for dependent in self.bonds.dependents(entity).into_iter().rev() {
            if self.is_there(dependent) && !open.contains(&dependent) {
                self.despawn_all(dependent, open);
            }
        }
        self.part(entity, true);
    }

    fn part(&mut self, entity: Entity, keeps: bool) {
        let all: Vec<Kind> = self.entities[&entity].0.keys().copied().collect();
        let stays = |kind: &Kind| keeps && *kind == Kind::Socket;
        let leaving: Vec<Kind> = all.iter().copied().filter(|kind| !stays(kind)).collect();
        self.tell(Moment::Despawn, entity, &all);
        self.tell(Moment::Replace, entity, &leaving);
        self.tell(Moment::Remove, entity, &leaving);
        let broken = self.bonds.forget(entity);
        let holding = self.entities.get_mut(&entity).expect("it is there");
        if leaving.len() < all.len() {
            holding.0.retain(|kind, _| stays(kind));
            holding.2 = true;
        } else {
            self.free(entity);
        }
        for (bond, source, target) in broken {
            self.watches.tell_pair(bond, false, source, target);
        }
    }

    fn free(&mut self, entity: Entity) {
        drop(self.entities.remove(&entity));
        self.generations[entity.index() as usize] += 1;
        self.free.push(entity.index());
    }

    pub(crate) fn clear(&mut self) {
        let mut all: Vec<Entity> = self.entities.keys().copied().collect();
        all.sort_by_key(|entity| std::cmp::Reverse(entity.index()));
        all.into_iter().for_each(|entity| self.free(entity));
        self.bonds.clear();
    }

    pub(crate) fn count(&self, kind: Kind) -> usize {
        self.entities.values().filter(|holding| holding.has(kind)).count()
    }
}
