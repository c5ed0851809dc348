//! Relations, and what a model knows about them: two lists for each entity.

use std::collections::BTreeMap;

use arbitrary::Arbitrary;
use formic_ecs::{
    ChildOf, Entity, NoSuchEntity, OnTargetDespawn, Related, Relation, RelationError, Sources,
    Targets, Unrelated, World,
};

use super::watch::{Log, Told};

/// The relations.
#[derive(Arbitrary, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Bond {
    /// One parent, no cycles, and children go with their parent.
    Child,
    /// Anything, and sources go with their targets.
    Needs,
    /// Anything, and no entity goes.
    Likes,
}

pub(crate) struct Needs;

impl Relation for Needs {
    const ON_TARGET_DESPAWN: OnTargetDespawn = OnTargetDespawn::DespawnSources;
}

pub(crate) struct Likes;

impl Relation for Likes {}

/// What can be done with one relation in a world.
pub(crate) struct BondFns {
    pub(crate) register: fn(&mut World),
    pub(crate) relate: fn(&mut World, Entity, Entity) -> Result<bool, RelationError>,
    pub(crate) unrelate: fn(&mut World, Entity, Entity) -> Result<bool, NoSuchEntity>,
    pub(crate) targets: fn(&World, Entity) -> &[Entity],
    pub(crate) sources: fn(&World, Entity) -> &[Entity],
    /// Has pairs written down that come, or that go.
    pub(crate) observe: fn(&mut World, u32, Bond, bool),
}

impl BondFns {
    fn of<R: Relation>() -> Self {
        Self {
            register: |world| _ = world.relation_mut::<R>(),
            relate: |world, source, target| world.relation_mut::<R>().add(source, target),
            unrelate: |world, source, target| world.relation_mut::<R>().remove(source, target),
            targets: |world, source| world.relation::<R>().targets(source),
            sources: |world, target| world.relation::<R>().sources(target),
            observe: |world, number, bond, comes| {
                let note = move |world: &mut World, source, target, about| {
                    assert_eq!(about, source, "a pair is told of its source");
                    let told = Told::Pair { number, bond, comes, source, target };
                    world.resource_mut::<Log>().expect("it is there").0.push(told);
                };
                _ = if comes {
                    world.hooks().observe_event(
                        move |world: &mut World, pair: &Related<R>, about| {
                            note(world, pair.source, pair.target, about);
                        },
                    )
                } else {
                    world.hooks().observe_event(
                        move |world: &mut World, pair: &Unrelated<R>, about| {
                            note(world, pair.source, pair.target, about);
                        },
                    )
                };
            },
        }
    }
}

impl Bond {
    /// By name, as a world goes through them.
    pub(crate) const ALL: [Self; 3] = [Self::Child, Self::Likes, Self::Needs];

    pub(crate) fn fns(self) -> BondFns {
        match self {
            Self::Child => BondFns::of::<ChildOf>(),
            Self::Needs => BondFns::of::<Needs>(),
            Self::Likes => BondFns::of::<Likes>(),
        }
    }

    /// Which components hold its two lists.
    pub(crate) fn has_sides(self, world: &World, entity: Entity) -> [bool; 2] {
        match self {
            Self::Child => sides::<ChildOf>(world, entity),
            Self::Needs => sides::<Needs>(world, entity),
            Self::Likes => sides::<Likes>(world, entity),
        }
    }
}

fn sides<R: Relation>(world: &World, entity: Entity) -> [bool; 2] {
    [world.has::<Targets<R>>(entity), world.has::<Sources<R>>(entity)]
}

type Lists = BTreeMap<(Bond, Entity), Vec<Entity>>;

/// All pairs, from both ends. No list is empty.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bonds {
    targets: Lists,
    sources: Lists,
}

fn list(lists: &Lists, bond: Bond, of: Entity) -> &[Entity] {
    lists.get(&(bond, of)).map_or(&[], Vec::as_slice)
}

fn leave(lists: &mut Lists, bond: Bond, of: Entity, other: Entity) {
    let Some(list) = lists.get_mut(&(bond, of)) else { return };
    list.retain(|&found| found != other);
    if list.is_empty() {
        drop(lists.remove(&(bond, of)));
    }
}

impl Bonds {
    pub(crate) fn targets(&self, bond: Bond, source: Entity) -> &[Entity] {
        list(&self.targets, bond, source)
    }

    pub(crate) fn sources(&self, bond: Bond, target: Entity) -> &[Entity] {
        list(&self.sources, bond, target)
    }

    /// Relates two; gives the target that had to make room.
    pub(crate) fn relate(&mut self, bond: Bond, source: Entity, target: Entity) -> Option<Entity> {
        let old = (bond == Bond::Child).then(|| self.targets(bond, source).first().copied());
        let old = old.flatten();
        if let Some(old) = old {
            self.unrelate(bond, source, old);
        }
        self.targets.entry((bond, source)).or_default().push(target);
        self.sources.entry((bond, target)).or_default().push(source);
        old
    }

    pub(crate) fn unrelate(&mut self, bond: Bond, source: Entity, target: Entity) -> bool {
        let was = self.targets(bond, source).contains(&target);
        leave(&mut self.targets, bond, source, target);
        leave(&mut self.sources, bond, target, source);
        was
    }

    /// Whether one comes from `from` to `goal` by going to targets.
    pub(crate) fn leads_to(&self, bond: Bond, from: Entity, goal: Entity) -> bool {
        from == goal || self.targets(bond, from).iter().any(|&next| self.leads_to(bond, next, goal))
    }

    /// Who goes before this one goes, in the order in which they are listed.
    pub(crate) fn dependents(&self, entity: Entity) -> Vec<Entity> {
        [Bond::Child, Bond::Needs]
            .iter()
            .flat_map(|&bond| self.sources(bond, entity).iter().copied())
            .collect()
    }

    /// Takes an entity out of all pairs; gives these.
    pub(crate) fn forget(&mut self, entity: Entity) -> Vec<(Bond, Entity, Entity)> {
        let mut broken = Vec::new();
        for bond in Bond::ALL {
            let targets = self.targets(bond, entity).to_vec();
            broken.extend(targets.into_iter().map(|target| (bond, entity, target)));
            let sources = self.sources(bond, entity).to_vec();
            let others = sources.into_iter().filter(|&source| source != entity);
            broken.extend(others.map(|source| (bond, source, entity)));
        }
        for &(bond, source, target) in &broken {
            _ = self.unrelate(bond, source, target);
        }
        broken
    }

    /// An entity and its descendants, each before its own.
    pub(crate) fn family(&self, root: Entity) -> Vec<Entity> {
        let children = self.sources(Bond::Child, root).iter();
        let mut family = vec![root];
        family.extend(children.flat_map(|&child| self.family(child)));
        family
    }

    /// Relates the copies of a family as the originals are: among each other, and to others.
    pub(crate) fn copy(&mut self, copies: &BTreeMap<Entity, Entity>, members: &[Entity]) {
        let of = |entity: &Entity| copies.get(entity).copied();
        for bond in Bond::ALL {
            for member in members {
                let copy = copies[member];
                let targets = self.targets(bond, *member).to_vec();
                let mapped = targets.iter().map(|target| of(target).unwrap_or(*target)).collect();
                let sources: Vec<Entity> =
                    self.sources(bond, *member).iter().filter_map(of).collect();
                if !targets.is_empty() {
                    drop(self.targets.insert((bond, copy), mapped));
                }
                if !sources.is_empty() {
                    drop(self.sources.insert((bond, copy), sources));
                }
            }
            // Others learn of it when all copies are made.
            for member in members {
                for target in self.targets(bond, *member).to_vec() {
                    if of(&target).is_none() {
                        self.sources.entry((bond, target)).or_default().push(copies[member]);
                    }
                }
            }
        }
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Compares what the world says about an entity.
    pub(crate) fn verify(&self, world: &World, entity: Entity) {
        for bond in Bond::ALL {
            let fns = bond.fns();
            let (targets, sources) = (self.targets(bond, entity), self.sources(bond, entity));
            assert_eq!((fns.targets)(world, entity), targets, "{bond:?} targets of {entity}");
            assert_eq!((fns.sources)(world, entity), sources, "{bond:?} sources of {entity}");
            let sides = [!targets.is_empty(), !sources.is_empty()];
            assert_eq!(bond.has_sides(world, entity), sides, "a list is there while it has some");
        }
    }

    /// How many lists an entity has.
    pub(crate) fn list_count(&self, entity: Entity) -> usize {
        let is_there = |lists: &Lists, bond| usize::from(lists.contains_key(&(bond, entity)));
        let both = |&bond: &Bond| is_there(&self.targets, bond) + is_there(&self.sources, bond);
        Bond::ALL.iter().map(both).sum()
    }
}
