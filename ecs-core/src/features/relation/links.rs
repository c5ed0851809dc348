//! Relating entities to each other, both sides in step, at once and by commands; the hierarchy.

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use core::iter::FusedIterator;

use super::{
    ChildOf, EntityList, List, OnTargetDespawn, Related, Relation, RelationError, Side, Sources,
    Targets, Unrelated,
};
use crate::archetype::Archetype;
use crate::bundle::Value;
use crate::commands::CommandBuffer;
use crate::component::{ArchetypeFlags, ComponentId};
use crate::entity::Entity;
use crate::error::{BrokenInvariant, CommandFailureReason, NoSuchEntity};
use crate::hash::BuildFibonacci;
use crate::world::{AfterDespawn, EntitySet, World};

/// A pair that was related and is no longer, to be told of when everything is in order.
struct Broken {
    source: Entity,
    target: Entity,
    tell: fn(&mut World, Entity, Entity),
}

impl Broken {
    fn tell(self, world: &mut World) {
        (self.tell)(world, self.source, self.target);
    }
}

/// What can be done with a relation whose type is not known.
#[derive(Clone, Copy)]
pub(crate) struct RelationFns {
    pub(crate) targets: ComponentId,
    pub(crate) sources: ComponentId,
    is_exclusive: bool,
    is_acyclic: bool,
    /// Whether sources are despawned with their target.
    despawns_sources: bool,
    pub(crate) sources_of: fn(&World, Entity) -> &[Entity],
    pub(crate) targets_of: fn(&World, Entity) -> &[Entity],
    /// Takes an entity that is about to go out of the lists of all others. Its own lists stay.
    forget: fn(&mut World, Entity, &mut Vec<Broken>),
    /// Brings the lists of an entity that was copied, with those of others, in step.
    pub(crate) adopt: fn(&mut World, Entity, &EntitySet),
    pub(crate) trigger_related: fn(&mut World, Entity, Entity),
}

impl RelationFns {
    fn of<R: Relation>(targets: ComponentId, sources: ComponentId) -> Self {
        Self {
            targets,
            sources,
            is_exclusive: R::EXCLUSIVE,
            is_acyclic: R::ACYCLIC,
            despawns_sources: R::ON_TARGET_DESPAWN == OnTargetDespawn::DespawnSources,
            sources_of: World::sources::<R>,
            targets_of: World::targets::<R>,
            forget: forget::<R>,
            adopt: adopt::<R>,
            trigger_related: |world, source, target| {
                world.trigger(&Related::<R>::new(source, target), source);
            },
        }
    }
}

/// Relations.
impl World {
    /// Relates an entity to another; `false` where it was so already. Where the relation is
    /// exclusive, the source is not related to its old target any more.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// struct Likes;
    /// impl formic_ecs::Relation for Likes {}
    ///
    /// let mut world = World::new();
    /// let [ada, bob] = [world.spawn(()), world.spawn(())];
    /// assert!(world.relate::<Likes>(ada, bob)?);
    /// assert!(!world.relate::<Likes>(ada, bob)?, "they are already");
    /// assert!(world.is_related::<Likes>(ada, bob));
    /// assert!(!world.is_related::<Likes>(bob, ada));
    /// assert_eq!(world.targets::<Likes>(ada), [bob]);
    /// assert_eq!(world.sources::<Likes>(bob), [ada]);
    /// assert!(world.unrelate::<Likes>(ada, bob)?);
    /// assert!(world.targets::<Likes>(ada).is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if one of them is not in the world, or a circle would be closed that must
    /// not be.
    pub fn relate<R: Relation>(
        &mut self,
        source: Entity,
        target: Entity,
    ) -> Result<bool, RelationError> {
        self.expect_there(source)?;
        self.expect_there(target)?;
        if self.is_related::<R>(source, target) {
            return Ok(false);
        }
        if R::ACYCLIC && self.leads_to::<R>(target, source) {
            return Err(RelationError::Circle { source, target });
        }
        self.register_relation::<R>();
        let old = self.targets::<R>(source).first().copied().filter(|_| R::EXCLUSIVE);
        if let Some(old) = old {
            self.leave_list::<Sources<R>>(old, source);
            if let Ok(targets) = self.value_mut::<Targets<R>>(source) {
                targets.list_mut().as_mut_slice()[0] = target;
            }
        } else {
            self.enter_list::<Targets<R>>(source, target);
        }
        self.enter_list::<Sources<R>>(target, source);
        if let Some(old) = old {
            self.trigger(&Unrelated::<R>::new(source, old), source);
        }
        self.trigger(&Related::<R>::new(source, target), source);
        Ok(true)
    }

    /// Ends the relation of an entity to another; `false` where there was none.
    ///
    /// # Errors
    /// Returns an error if the source is not in the world.
    pub fn unrelate<R: Relation>(
        &mut self,
        source: Entity,
        target: Entity,
    ) -> Result<bool, NoSuchEntity> {
        self.expect_there(source)?;
        let was_related = self.leave_list::<Targets<R>>(source, target);
        if was_related {
            self.leave_list::<Sources<R>>(target, source);
            self.trigger(&Unrelated::<R>::new(source, target), source);
        }
        Ok(was_related)
    }

    /// Whom an entity is related to, in the order in which they were related; none where it is
    /// not in the world.
    #[must_use]
    pub fn targets<R: Relation>(&self, source: Entity) -> &[Entity] {
        self.get::<Targets<R>>(source).map_or(&[], |targets| targets)
    }

    /// Who is related to an entity, in the order in which they were related; none where it is
    /// not in the world.
    #[must_use]
    pub fn sources<R: Relation>(&self, target: Entity) -> &[Entity] {
        self.get::<Sources<R>>(target).map_or(&[], |sources| sources)
    }

    /// Whether an entity is related to another.
    #[must_use]
    pub fn is_related<R: Relation>(&self, source: Entity, target: Entity) -> bool {
        let (targets, sources) = (self.targets::<R>(source), self.sources::<R>(target));
        if targets.len() <= sources.len() {
            targets.contains(&target)
        } else {
            sources.contains(&source)
        }
    }

    /// Whether one goes from `from` to `goal` by going to targets, any number of times.
    fn leads_to<R: Relation>(&self, from: Entity, goal: Entity) -> bool {
        // Nothing leads to an entity without sources: a chain that grows at its end is not walked each time.
        if from != goal && self.sources::<R>(goal).is_empty() {
            return false;
        }
        let mut seen = EntitySet::default();
        let mut ahead = alloc::vec![from];
        while let Some(entity) = ahead.pop() {
            if entity == goal {
                return true;
            }
            let targets = self.targets::<R>(entity).iter().copied();
            // Of an exclusive relation there is one way, which cannot come by twice.
            ahead.extend(targets.filter(|&next| R::EXCLUSIVE || seen.insert(next)));
        }
        false
    }

    /// Makes a relation known. It is known anyway once entities are related by it;
    /// [`restore`](Self::restore) asks for it in a world where none are.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::ChildOf;
    /// let mut world = World::new();
    /// let [family, child] = [world.spawn(()), world.spawn(())];
    /// world.set_parent(child, family)?;
    /// let saved = world.snapshot()?;
    ///
    /// let mut other = World::new();
    /// other.register_relation::<ChildOf>();
    /// other.restore(&saved)?;
    /// assert_eq!(other.children(family), [child]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn register_relation<R: Relation>(&mut self) {
        // Archetypes with its components are to see to it.
        let targets = self.register::<Targets<R>>();
        if self.relations().iter().any(|known| known.targets == targets) {
            return;
        }
        let sources = self.register::<Sources<R>>();
        let relations = self.extensions.get_mut::<Vec<RelationFns>>();
        relations.push(RelationFns::of::<R>(targets, sources));
        self.callbacks.dependents = dependents;
        self.callbacks.unrelate = unrelate;
        self.callbacks.check = check_relations;
        self.add_flags(targets, ArchetypeFlags::RELATED);
        self.add_flags(sources, ArchetypeFlags::RELATED);
    }

    fn enter_list<S: Side>(&mut self, entity: Entity, other: Entity) {
        if let Ok(side) = self.value_mut::<S>(entity) {
            side.list_mut().push(other);
        } else if let Some(row) = self.moves().locate(entity) {
            _ = row.insert(Value::<_, true>(S::of(EntityList::from_slice(&[other]))));
        }
    }

    /// Whether it was in there. What becomes empty goes.
    fn leave_list<S: Side>(&mut self, entity: Entity, other: Entity) -> bool {
        let Ok(side) = self.value_mut::<S>(entity) else { return false };
        let Some(place) = place_of(side, other) else { return false };
        side.list_mut().remove(place);
        if side.is_empty() {
            self.drop_side::<S>(entity);
        }
        true
    }

    fn drop_side<S: Side>(&mut self, entity: Entity) {
        if let Some(row) = self.moves().locate(entity) {
            // A list of entities; to drop it calls no user code.
            drop(row.remove::<Value<S, true>>());
        }
    }

    /// The relations that were used in this world.
    pub(crate) fn relations(&self) -> &[RelationFns] {
        self.extensions.get::<Vec<RelationFns>>().map_or(&[], Vec::as_slice)
    }
}

/// The place of an entity in a list, looked for from both ends: families are taken apart from the front or
/// from the back.
fn place_of(list: &[Entity], other: Entity) -> Option<usize> {
    /// How many at one end are looked at before the other end has its turn.
    const STEP: usize = 64;
    // All of them are, so that the compiler compares several at once.
    let is_in = |part: &[Entity]| part.iter().fold(false, |is_in, &found| is_in | (found == other));
    let (mut start, mut end) = (0, list.len());
    while start < end {
        let (front, back) = (end.min(start + STEP), end.saturating_sub(STEP).max(start));
        for part in [back..end, start..front] {
            if is_in(&list[part.clone()]) {
                return part.into_iter().find(|&place| list[place] == other);
            }
        }
        (start, end) = (front, back);
    }
    None
}

/// I-18.
fn check_relations(world: &World) -> Result<(), BrokenInvariant> {
    for relation in world.relations() {
        let lists = |id, list_of: fn(&World, Entity) -> &[Entity]| {
            let having = world.archetypes().iter().filter(move |it| it.components().contains(id));
            having.flat_map(Archetype::all_entities).map(move |row| (row, list_of(world, row)))
        };
        let targets = lists(relation.targets, relation.targets_of);
        let sources = lists(relation.sources, relation.sources_of);
        relation.check(targets, sources).map_err(|detail| {
            let name = world.registry.info(relation.targets).name();
            BrokenInvariant { invariant: "I-18", detail: format!("{name}: {detail}") }
        })?;
    }
    Ok(())
}

/// Entities that are related, the source first.
type Pair = (Entity, Entity);

impl RelationFns {
    /// Whether the two sides are in step (I-18): all targets that sources list, and all sources that
    /// targets list.
    pub(crate) fn check<List: AsRef<[Entity]>>(
        &self,
        targets: impl Iterator<Item = (Entity, List)>,
        sources: impl Iterator<Item = (Entity, List)>,
    ) -> Result<(), &'static str> {
        let forward = pairs(targets, |source, target| (source, target))?;
        if forward != pairs(sources, |target, source| (source, target))? {
            return Err("the sides of a relation are not in step");
        }
        let is_twice = |pair: &[Pair]| pair[0] == pair[1];
        let has_two = |pair: &[Pair]| self.is_exclusive && pair[0].0 == pair[1].0;
        if forward.windows(2).any(|pair| is_twice(pair) || has_two(pair)) {
            return Err("an entity is related twice");
        }
        if self.is_acyclic && has_circle(&forward) {
            return Err("a relation goes in a circle");
        }
        Ok(())
    }
}

/// All pairs of one side, in order.
fn pairs<List: AsRef<[Entity]>>(
    lists: impl Iterator<Item = (Entity, List)>,
    pair: impl Fn(Entity, Entity) -> Pair,
) -> Result<Vec<Pair>, &'static str> {
    let mut all = Vec::new();
    for (row, list) in lists {
        if list.as_ref().is_empty() {
            return Err("an entity is related to no other");
        }
        all.extend(list.as_ref().iter().map(|&other| pair(row, other)));
    }
    all.sort_unstable_by_key(|&(source, target)| (source.to_bits(), target.to_bits()));
    Ok(all)
}

/// Whether one comes back by going from source to target: takes away those to which no entity is
/// related, until there are none (Kahn's algorithm).
fn has_circle(pairs: &[Pair]) -> bool {
    let mut counts = hashbrown::HashMap::<Entity, usize, BuildFibonacci>::default();
    pairs.iter().for_each(|&(_, target)| *counts.entry(target).or_default() += 1);
    let targets_of = |source: Entity| {
        let start = pairs.partition_point(|pair| pair.0.to_bits() < source.to_bits());
        pairs[start..].iter().take_while(move |pair| pair.0 == source).map(|pair| pair.1)
    };
    let mut free: Vec<Entity> = pairs.iter().map(|pair| pair.0).collect();
    free.dedup();
    free.retain(|source| !counts.contains_key(source));
    while let Some(source) = free.pop() {
        for target in targets_of(source) {
            let Some(count) = counts.get_mut(&target) else { continue };
            *count -= 1;
            if *count == 0 {
                counts.remove(&target);
                free.push(target);
            }
        }
    }
    !counts.is_empty()
}

/// Who has to go before an entity goes.
fn dependents(world: &World, entity: Entity, visit: &mut dyn FnMut(Entity)) {
    for relation in world.relations().iter().filter(|relation| relation.despawns_sources) {
        (relation.sources_of)(world, entity).iter().copied().for_each(&mut *visit);
    }
}

/// Takes an entity that is about to go out of the lists of all others.
fn unrelate(world: &mut World, entity: Entity) -> Option<AfterDespawn> {
    let mut broken = Vec::new();
    for index in 0..world.relations().len() {
        let RelationFns { forget, .. } = world.relations()[index];
        forget(world, entity, &mut broken);
    }
    if broken.is_empty() {
        return None;
    }
    Some(Box::new(|world| broken.into_iter().for_each(|pair| pair.tell(world))))
}

fn forget<R: Relation>(world: &mut World, entity: Entity, broken: &mut Vec<Broken>) {
    let tell = |world: &mut World, source, target| {
        world.trigger(&Unrelated::<R>::new(source, target), source);
    };
    let is_told_of = world.has_event_observers();
    let targets = world.targets::<R>(entity).to_vec();
    for &target in &targets {
        world.leave_list::<Sources<R>>(target, entity);
        if is_told_of {
            broken.push(Broken { source: entity, target, tell });
        }
    }
    let sources = world.sources::<R>(entity).to_vec();
    for &source in sources.iter().filter(|&&source| source != entity) {
        world.leave_list::<Targets<R>>(source, entity);
        if is_told_of {
            broken.push(Broken { source, target: entity, tell });
        }
    }
}

fn adopt<R: Relation>(world: &mut World, copy: Entity, family: &EntitySet) {
    // Entities related to the original are not related to the copy, unless copied as well.
    if let Ok(sources) = world.value_mut::<Sources<R>>(copy) {
        let inside: EntityList = sources.iter().copied().filter(|it| family.contains(it)).collect();
        *sources = Sources::of(inside);
        if sources.is_empty() {
            world.drop_side::<Sources<R>>(copy);
        }
    }
    // Whomever the original is related to the copy is related to as well.
    let targets = world.targets::<R>(copy).iter().copied();
    let outside: Vec<Entity> = targets.filter(|target| !family.contains(target)).collect();
    for target in outside {
        world.enter_list::<Sources<R>>(target, copy);
    }
}

impl CommandBuffer {
    /// Relates an entity to another, as [`World::relate`](crate::World::relate) does.
    pub fn relate<R: Relation>(&mut self, source: Entity, target: Entity) {
        self.record_call("relate", source, move |world, source, deferred| {
            let target = deferred.resolve(target);
            let related = world.relate::<R>(source, target);
            related.map(drop).map_err(|error| relation_reason(error, source))
        });
    }

    /// Ends the relation of an entity to another, as [`World::unrelate`](crate::World::unrelate) does; nothing happens where
    /// there is none.
    pub fn unrelate<R: Relation>(&mut self, source: Entity, target: Entity) {
        self.record_call("unrelate", source, move |world, source, deferred| {
            let ended = world.unrelate::<R>(source, deferred.resolve(target));
            ended.map(drop).map_err(|error| relation_reason(error.into(), source))
        });
    }

    /// Makes an entity the child of another, or of none, as [`World::set_parent`](crate::World::set_parent) does.
    pub fn set_parent(&mut self, child: Entity, parent: impl Into<Option<Entity>>) {
        let parent = parent.into();
        self.record_call("set_parent", child, move |world, child, deferred| {
            let parent = parent.map(|parent| deferred.resolve(parent));
            world.set_parent(child, parent).map_err(|error| relation_reason(error, child))
        });
    }
}

fn relation_reason(error: RelationError, source: Entity) -> CommandFailureReason {
    match error {
        RelationError::NoSuchEntity(missing) if missing.0 == source => {
            CommandFailureReason::NoSuchEntity
        }
        RelationError::NoSuchEntity(missing) if missing.0.is_deferred() => {
            CommandFailureReason::ForeignDeferred
        }
        error => CommandFailureReason::Relation(error),
    }
}

/// The hierarchy, which is the relation [`ChildOf`].
impl World {
    /// Makes an entity the child of another, or of none. It comes last of the children.
    ///
    /// What is despawned takes its children with it, at any depth; see [`despawn`](Self::despawn).
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// let mut world = World::new();
    /// let [house, room, chair] = [world.spawn(()), world.spawn(()), world.spawn(())];
    /// world.set_parent(room, house)?;
    /// world.set_parent(chair, room)?;
    /// assert_eq!(world.parent(chair), Some(room));
    /// assert_eq!(world.children(house), [room]);
    /// assert!(world.ancestors(chair).eq([room, house]));
    /// assert!(world.descendants(house).eq([room, chair]));
    /// assert!(world.set_parent(house, chair).is_err(), "that would be a circle");
    /// world.set_parent(chair, None)?;
    /// world.despawn(house)?;
    /// assert_eq!(world.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if one of them is not in the world, or the parent is the child itself or
    /// one of its descendants.
    pub fn set_parent(
        &mut self,
        child: Entity,
        parent: impl Into<Option<Entity>>,
    ) -> Result<(), RelationError> {
        if let Some(parent) = parent.into() {
            self.relate::<ChildOf>(child, parent)?;
        } else if let Some(parent) = self.parent(child) {
            self.unrelate::<ChildOf>(child, parent)?;
        } else {
            self.expect_there(child)?;
        }
        Ok(())
    }

    /// The parent of an entity, if it has one.
    #[must_use]
    pub fn parent(&self, child: Entity) -> Option<Entity> {
        self.targets::<ChildOf>(child).first().copied()
    }

    /// The children of an entity, in the order in which they came to it.
    #[must_use]
    pub fn children(&self, parent: Entity) -> &[Entity] {
        self.sources::<ChildOf>(parent)
    }

    /// The parent of an entity, the parent's parent, and so on.
    pub fn ancestors(&self, entity: Entity) -> impl FusedIterator<Item = Entity> + '_ {
        core::iter::successors(self.parent(entity), |&ancestor| self.parent(ancestor))
    }

    /// The children of an entity, each followed by its own descendants.
    pub fn descendants(&self, entity: Entity) -> impl FusedIterator<Item = Entity> + '_ {
        let mut ahead: Vec<Entity> = self.children(entity).iter().rev().copied().collect();
        core::iter::from_fn(move || {
            let next = ahead.pop()?;
            ahead.extend(self.children(next).iter().rev());
            Some(next)
        })
        .fuse()
    }
}
