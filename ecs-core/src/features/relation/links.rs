//! Access to relations, which keeps both sides in step: directly and by commands; and the hierarchy.

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use core::iter::FusedIterator;
use core::marker::PhantomData;

use super::{
    ChildOf, EntityList, EntityQueue, OnTargetDespawn, Related, Relation, RelationError,
    RelationId, RelationRules, Side, Sources, Targets, Unrelated, side_name,
};
use crate::archetype::Archetype;
use crate::commands::CommandBuffer;
use crate::component::{ArchetypeFlags, ComponentId, ComponentInfo};
use crate::entities::Location;
use crate::entity::Entity;
use crate::error::{BrokenInvariant, CommandFailureReason, NoSuchEntity};
use crate::features::dynamic::{ById, ByIdMut, RegisterError};
use crate::hash::BuildFibonacci;
use crate::storage::RowAddress;
use crate::transfer::Change;
use crate::world::{AfterDespawn, EntitySet, World};

/// Calls observers: two entities, the source first, are now related (`true`), or no longer are.
type TriggerFn = fn(&mut World, bool, Pair);

/// A relation of one world, whether it has a Rust type or not.
#[derive(Clone, Copy)]
pub(crate) struct RelationFns {
    /// How many relations the world knew before this one.
    number: usize,
    pub(crate) targets: SideFns,
    pub(crate) sources: SideFns,
    rules: RelationRules,
    pub(crate) trigger: TriggerFn,
}

/// One side of a relation: the component that lists the entities of the other side.
#[derive(Clone, Copy)]
pub(crate) struct SideFns {
    pub(crate) id: ComponentId,
    read: fn(&Archetype, RowAddress, usize) -> &[Entity],
    write: fn(&mut Archetype, RowAddress, usize) -> &mut EntityQueue,
    /// Adds the component, with this list, to an entity that lacks it.
    add: fn(&mut World, Entity, ComponentId, EntityList),
}

impl SideFns {
    /// Creates the functions for a component that holds values of this type.
    fn of<S: Side>(id: ComponentId) -> Self {
        Self {
            id,
            read: |archetype, at, column| archetype.value::<S>(at, column),
            write: |archetype, at, column| archetype.value_mut::<S>(at, column).list_mut(),
            add: |world, entity, id, list| world.add_component(entity, id, S::of(list)),
        }
    }

    /// Returns the list of an entity. It is empty if the entity has none or is not in the world.
    pub(crate) fn of_entity(self, world: &World, entity: Entity) -> &[Entity] {
        let list = |at: Location| {
            let archetype = world.archetypes.get(at.archetype);
            Some((self.read)(archetype, at.address, archetype.column_of(self.id)?))
        };
        world.locate(entity).and_then(list).unwrap_or_default()
    }

    /// Returns mutable access to the list of an entity, if it has one, and marks the list as changed.
    fn list_mut(self, world: &mut World, entity: Entity) -> Option<&mut EntityQueue> {
        world.next_version();
        let at = world.locate(entity)?;
        let archetype = world.archetypes.get(at.archetype);
        let column = archetype.column_of(self.id)?;
        archetype.mark_changed(at.address, column, world.window());
        Some((self.write)(world.archetypes.get_mut(at.archetype), at.address, column))
    }

    fn push(self, world: &mut World, entity: Entity, other: Entity) {
        match self.list_mut(world, entity) {
            Some(list) => list.push(other),
            None => (self.add)(world, entity, self.id, EntityList::from_slice(&[other])),
        }
    }

    /// Removes `other` from the list of the entity, and returns whether it was there. A list that becomes
    /// empty is removed with its component.
    fn remove(self, world: &mut World, entity: Entity, other: Entity) -> bool {
        // Looked up first: a list that stays as it is does not count as changed.
        let Some(place) = place_of(self.of_entity(world, entity), other) else { return false };
        let Some(list) = self.list_mut(world, entity) else { return false };
        list.remove(place);
        if list.as_slice().is_empty() {
            self.remove_component(world, entity);
        }
        true
    }

    /// Removes the component from an entity.
    fn remove_component(self, world: &mut World, entity: Entity) {
        if let Some(row) = world.moves().locate(entity) {
            // A list of entities: its drop calls no user code.
            drop(row.leave(Change::Remove, &[self.id]));
        }
    }

    fn replace(self, world: &mut World, entity: Entity, others: EntityList) {
        if others.is_empty() {
            self.remove_component(world, entity);
        } else if let Some(list) = self.list_mut(world, entity) {
            *list = others.into();
        }
    }

    /// Returns the entities that have the component, with their lists.
    fn lists(self, archetypes: &[Archetype]) -> impl Iterator<Item = (Entity, &[Entity])> {
        let having = archetypes.iter().filter_map(move |it| Some((it, it.column_of(self.id)?)));
        having.flat_map(move |(archetype, column)| {
            (0..archetype.chunk_count()).flat_map(move |chunk| {
                let entities = archetype.entities(chunk).iter().enumerate();
                entities.map(move |(row, &entity)| {
                    (entity, (self.read)(archetype, RowAddress { chunk, row }, column))
                })
            })
        })
    }
}

/// The type parameter for the sides of relations that have no Rust type.
struct Untyped;

impl Relation for Untyped {}

/// Relations.
impl World {
    /// Returns read access to a relation.
    #[must_use]
    pub fn relation<R: Relation>(&self) -> RelationRef<'_, R> {
        let targets = self.registry.get::<Targets<R>>();
        let fns = self.relations().iter().find(|known| Some(known.targets.id) == targets);
        RelationRef::new(self, fns)
    }

    /// Returns write access to a relation. The world knows the relation from then on, which
    /// [`restore`](Self::restore) requires even if no entities are related yet:
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::ChildOf;
    /// let mut world = World::new();
    /// let [family, child] = [world.spawn(()), world.spawn(())];
    /// world.relation_mut::<ChildOf>().add(child, family)?;
    /// let saved = world.snapshot()?;
    ///
    /// let mut other = World::new();
    /// other.relation_mut::<ChildOf>();
    /// other.restore(&saved)?;
    /// assert_eq!(other.relation::<ChildOf>().children(family), [child]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn relation_mut<R: Relation>(&mut self) -> RelationMut<'_, R> {
        let targets = self.register::<Targets<R>>();
        if let Some(known) = self.relations().iter().find(|known| known.targets.id == targets) {
            let id = RelationId { world: self.id(), index: known.number };
            return RelationMut::new(self, id);
        }
        let sources = self.register::<Sources<R>>();
        let rules = RelationRules {
            is_exclusive: R::EXCLUSIVE,
            is_acyclic: R::ACYCLIC,
            on_target_despawn: R::ON_TARGET_DESPAWN,
        };
        let trigger: TriggerFn = |world, are_related, (source, target)| {
            if are_related {
                world.hooks().trigger(&Related::<R>::new(source, target), source);
            } else {
                world.hooks().trigger(&Unrelated::<R>::new(source, target), source);
            }
        };
        let number = self.push_relation::<R>([targets, sources], rules, trigger);
        RelationMut::new(self, number)
    }

    /// Returns the relation with this number, unless the number is of another world.
    fn relation_by_id(&self, id: RelationId) -> Option<&RelationFns> {
        let has_number = |known: &&RelationFns| known.number == id.index;
        self.relations().iter().find(has_number).filter(|_| id.world == self.id())
    }

    /// Adds a relation whose two sides are these components.
    fn push_relation<R: Relation>(
        &mut self,
        sides: [ComponentId; 2],
        rules: RelationRules,
        trigger: TriggerFn,
    ) -> RelationId {
        let (targets, sources) =
            (SideFns::of::<Targets<R>>(sides[0]), SideFns::of::<Sources<R>>(sides[1]));
        let relations = self.extensions.get_mut::<Vec<RelationFns>>();
        let number = relations.len();
        let name = |known: &RelationFns| self.registry.info(known.targets.id).name();
        let new = RelationFns { number, targets, sources, rules, trigger };
        relations.insert(relations.partition_point(|known| name(known) <= name(&new)), new);
        self.callbacks.dependents = dependents;
        self.callbacks.unrelate = unrelate;
        self.callbacks.check = check_relations;
        // From now on, archetypes with its components need relation handling.
        let mut flags = ArchetypeFlags::RELATED;
        if self.has_event_observers() {
            flags = flags.and(ArchetypeFlags::DESPAWN);
        }
        sides.into_iter().for_each(|side| self.add_flags(side, flags));
        RelationId { world: self.id(), index: number }
    }

    /// Returns the relations that this world knows, sorted by name: what goes by their order does not
    /// depend on which of them the world met first.
    pub(crate) fn relations(&self) -> &[RelationFns] {
        self.extensions.get::<Vec<RelationFns>>().map_or(&[], Vec::as_slice)
    }
}

/// Read access to a relation of a world. Created by [`World::relation`], and for a relation that is given
/// by its number by [`ById::relation`].
///
/// ```
/// use formic_ecs::prelude::*;
/// struct Likes;
/// impl formic_ecs::Relation for Likes {}
///
/// let mut world = World::new();
/// let [ada, bob] = [world.spawn(()), world.spawn(())];
/// world.relation_mut::<Likes>().add(ada, bob)?;
/// let likes = world.relation::<Likes>();
/// assert_eq!(likes.targets(ada), [bob]);
/// assert_eq!(likes.sources(bob), [ada]);
/// assert!(likes.contains(ada, bob) && !likes.contains(bob, ada));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RelationRef<'w, R = ()> {
    world: &'w World,
    /// `None` if the world did not know the relation.
    fns: Option<&'w RelationFns>,
    _relation: PhantomData<fn() -> R>,
}

copied!(['w, R] RelationRef<'w, R>);
debug_fields!([R] RelationRef<'_, R>: world);

impl<'w, R> RelationRef<'w, R> {
    const fn new(world: &'w World, fns: Option<&'w RelationFns>) -> Self {
        Self { world, fns, _relation: PhantomData }
    }

    /// Returns the entities to which an entity is related, in the order in which they were related. There
    /// are none if it is not in the world.
    #[must_use]
    pub fn targets(self, source: Entity) -> &'w [Entity] {
        self.fns.map_or(&[], |it| it.targets.of_entity(self.world, source))
    }

    /// Returns the entities that are related to an entity, in the order in which they were related. There
    /// are none if it is not in the world.
    #[must_use]
    pub fn sources(self, target: Entity) -> &'w [Entity] {
        self.fns.map_or(&[], |it| it.sources.of_entity(self.world, target))
    }

    /// Whether an entity is related to another.
    #[must_use]
    pub fn contains(self, source: Entity, target: Entity) -> bool {
        let (targets, sources) = (self.targets(source), self.sources(target));
        if targets.len() <= sources.len() {
            targets.contains(&target)
        } else {
            sources.contains(&source)
        }
    }
}

/// The hierarchy.
impl<'w> RelationRef<'w, ChildOf> {
    /// Returns the parent of an entity, if it has one.
    #[must_use]
    pub fn parent(self, child: Entity) -> Option<Entity> {
        self.targets(child).first().copied()
    }

    /// Returns the children of an entity, in the order in which they were added to it.
    #[must_use]
    #[doc(alias = "Children")]
    pub fn children(self, parent: Entity) -> &'w [Entity] {
        self.sources(parent)
    }

    /// Returns the parent of an entity, the parent's parent, and so on.
    pub fn ancestors(self, entity: Entity) -> impl FusedIterator<Item = Entity> + 'w {
        core::iter::successors(self.parent(entity), move |&ancestor| self.parent(ancestor))
    }

    /// Returns the children of an entity, each followed by its own descendants.
    pub fn descendants(self, entity: Entity) -> impl FusedIterator<Item = Entity> + 'w {
        let mut ahead: Vec<Entity> = self.children(entity).iter().rev().copied().collect();
        core::iter::from_fn(move || {
            let next = ahead.pop()?;
            ahead.extend(self.children(next).iter().rev());
            Some(next)
        })
        .fuse()
    }
}

/// Write access to a relation of a world. Created by [`World::relation_mut`], and for a relation that is
/// given by its number by [`ByIdMut::relation`].
///
/// ```
/// use formic_ecs::prelude::*;
/// struct Likes;
/// impl formic_ecs::Relation for Likes {}
///
/// let mut world = World::new();
/// let [ada, bob] = [world.spawn(()), world.spawn(())];
/// let mut likes = world.relation_mut::<Likes>();
/// assert!(likes.add(ada, bob)?);
/// assert!(!likes.add(ada, bob)?, "they are related already");
/// assert!(likes.remove(ada, bob)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RelationMut<'w, R = ()> {
    world: &'w mut World,
    id: RelationId,
    _relation: PhantomData<fn() -> R>,
}

debug_fields!([R] RelationMut<'_, R>: id);

impl<'w, R> RelationMut<'w, R> {
    const fn new(world: &'w mut World, id: RelationId) -> Self {
        Self { world, id, _relation: PhantomData }
    }

    /// Returns the number of the relation, by which [`ById::relation`] finds it.
    #[must_use]
    pub const fn id(&self) -> RelationId {
        self.id
    }

    fn fns(&self) -> &RelationFns {
        self.world.relation_by_id(self.id).expect("a world does not forget a relation")
    }

    /// Returns the components that related entities have, for queries by id: that of sources, which lists
    /// their targets, and that of targets.
    #[must_use]
    pub fn sides(&self) -> [ComponentId; 2] {
        [self.fns().targets.id, self.fns().sources.id]
    }

    /// Returns read access to the relation.
    #[must_use]
    pub fn as_readonly(&self) -> RelationRef<'_, R> {
        RelationRef::new(self.world, Some(self.fns()))
    }

    /// Relates an entity to another, and returns `false` if it already was. If the relation is exclusive,
    /// the source is no longer related to its old target.
    ///
    /// # Errors
    /// Returns an error if one of them is not in the world, or if the relation must not have cycles and
    /// this would close one.
    pub fn add(&mut self, source: Entity, target: Entity) -> Result<bool, RelationError> {
        self.world.expect_there(source)?;
        self.world.expect_there(target)?;
        if self.as_readonly().contains(source, target) {
            return Ok(false);
        }
        let (relation, world) = (*self.fns(), &mut *self.world);
        let RelationFns { targets, sources, rules, trigger, .. } = relation;
        if rules.is_acyclic && relation.has_path(world, target, source) {
            return Err(RelationError::Cycle { source, target });
        }
        // The source, the target and the old target may each move to another archetype.
        world.blocks.directory.expect_room(3);
        let old = targets.of_entity(world, source).first().copied().filter(|_| rules.is_exclusive);
        if let Some(old) = old {
            sources.remove(world, old, source);
            targets.replace(world, source, EntityList::from_slice(&[target]));
        } else {
            targets.push(world, source, target);
        }
        sources.push(world, target, source);
        if let Some(old) = old {
            trigger(world, false, (source, old));
        }
        // An observer of the end of the old pair may have ended the new one.
        if old.is_none() || targets.of_entity(world, source).contains(&target) {
            trigger(world, true, (source, target));
        }
        Ok(true)
    }

    /// Ends the relation of an entity to another, and returns `false` if there was none.
    ///
    /// # Errors
    /// Returns an error if the source is not in the world.
    pub fn remove(&mut self, source: Entity, target: Entity) -> Result<bool, NoSuchEntity> {
        self.world.expect_there(source)?;
        let RelationFns { targets, sources, trigger, .. } = *self.fns();
        let world = &mut *self.world;
        // Both may move to another archetype.
        world.blocks.directory.expect_room(2);
        let was_related = targets.remove(world, source, target);
        if was_related {
            sources.remove(world, target, source);
            trigger(world, false, (source, target));
        }
        Ok(was_related)
    }
}

/// The hierarchy.
impl RelationMut<'_, ChildOf> {
    /// Makes an entity the child of another, as [`add`](Self::add) does, or of none. A new child comes
    /// last among the children.
    ///
    /// An entity that is despawned takes its children with it, at any depth; see [`World::despawn`].
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::ChildOf;
    /// let mut world = World::new();
    /// let [house, room, chair] = [world.spawn(()), world.spawn(()), world.spawn(())];
    /// let mut family = world.relation_mut::<ChildOf>();
    /// family.set_parent(room, house)?;
    /// family.set_parent(chair, room)?;
    /// assert!(family.set_parent(house, chair).is_err(), "that would be a cycle");
    ///
    /// let family = world.relation::<ChildOf>();
    /// assert_eq!(family.parent(chair), Some(room));
    /// assert_eq!(family.children(house), [room]);
    /// assert!(family.ancestors(chair).eq([room, house]));
    /// assert!(world.relation::<ChildOf>().descendants(house).eq([room, chair]));
    ///
    /// world.relation_mut::<ChildOf>().set_parent(chair, None)?;
    /// world.despawn(house)?;
    /// assert_eq!(world.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if one of them is not in the world, or the parent is the child itself or one of
    /// its descendants.
    #[doc(alias("add_child", "with_children"))]
    pub fn set_parent(
        &mut self,
        child: Entity,
        parent: impl Into<Option<Entity>>,
    ) -> Result<(), RelationError> {
        if let Some(parent) = parent.into() {
            self.add(child, parent)?;
        } else if let Some(parent) = self.as_readonly().parent(child) {
            self.remove(child, parent)?;
        } else {
            self.world.expect_there(child)?;
        }
        Ok(())
    }
}

/// Returns the index of an entity in a list. It searches from both ends, because entities usually leave
/// at the front or at the back.
fn place_of(list: &[Entity], other: Entity) -> Option<usize> {
    /// The number of entities that are compared at one end before it is the other end's turn.
    const STEP: usize = 64;
    // All of them are compared, so that the compiler can compare several at once.
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

/// Checks I-18.
fn check_relations(world: &World) -> Result<(), BrokenInvariant> {
    for relation in world.relations() {
        relation.check(world.archetypes()).map_err(|detail| {
            let name = world.registry.info(relation.targets.id).name();
            BrokenInvariant { invariant: "I-18", detail: format!("{name}: {detail}") }
        })?;
    }
    Ok(())
}

/// Two related entities, the source first.
type Pair = (Entity, Entity);

impl RelationFns {
    /// Whether sources are despawned with their target.
    fn despawns_sources(&self) -> bool {
        self.rules.on_target_despawn == OnTargetDespawn::DespawnSources
    }

    /// Whether a path from source to target leads from `from` to `target`. A path may have no steps.
    fn has_path(&self, world: &World, from: Entity, target: Entity) -> bool {
        // No path leads to an entity without sources: a chain that grows at its end is not walked each
        // time.
        if from != target && self.sources.of_entity(world, target).is_empty() {
            return false;
        }
        let mut seen = EntitySet::default();
        let mut ahead = alloc::vec![from];
        while let Some(entity) = ahead.pop() {
            if entity == target {
                return true;
            }
            let targets = self.targets.of_entity(world, entity).iter().copied();
            // An exclusive relation has one path, which cannot pass an entity twice.
            ahead.extend(targets.filter(|&next| self.rules.is_exclusive || seen.insert(next)));
        }
        false
    }

    /// Brings the lists of a copied entity in step with those of others. `family` holds all copies.
    pub(crate) fn adopt(self, world: &mut World, copy: Entity, family: &EntitySet) {
        let Self { targets, sources, .. } = self;
        // Entities related to the original are not related to the copy, unless they were copied as well.
        let all = sources.of_entity(world, copy);
        if !all.is_empty() {
            let inside = all.iter().copied().filter(|source| family.contains(source)).collect();
            sources.replace(world, copy, inside);
        }
        // The copy is related to the same targets as the original.
        let all = targets.of_entity(world, copy).iter().copied();
        let outside: Vec<Entity> = all.filter(|target| !family.contains(target)).collect();
        for target in outside {
            sources.push(world, target, copy);
        }
    }

    /// Checks that the two sides are in step (I-18): every pair is in both, once, no list is empty, and
    /// the rules of the relation hold.
    pub(crate) fn check(&self, archetypes: &[Archetype]) -> Result<(), &'static str> {
        let forward = pairs(self.targets.lists(archetypes), |source, target| (source, target))?;
        if forward != pairs(self.sources.lists(archetypes), |target, source| (source, target))? {
            return Err("the sides of a relation are not in step");
        }
        let is_twice = |pair: &[Pair]| pair[0] == pair[1];
        let has_two = |pair: &[Pair]| self.rules.is_exclusive && pair[0].0 == pair[1].0;
        if forward.windows(2).any(|pair| is_twice(pair) || has_two(pair)) {
            return Err("an entity is related twice");
        }
        if self.rules.is_acyclic && has_cycle(&forward) {
            return Err("a relation goes in a cycle");
        }
        Ok(())
    }
}

/// Returns all pairs of one side, sorted. Fails if a list is empty.
fn pairs<'a>(
    lists: impl Iterator<Item = (Entity, &'a [Entity])>,
    pair: impl Fn(Entity, Entity) -> Pair,
) -> Result<Vec<Pair>, &'static str> {
    let mut all = Vec::new();
    for (row, list) in lists {
        if list.is_empty() {
            return Err("an entity is related to no other");
        }
        all.extend(list.iter().map(|&other| pair(row, other)));
    }
    all.sort_unstable_by_key(|&(source, target)| (source.to_bits(), target.to_bits()));
    Ok(all)
}

/// Whether a path from source to target leads back to its start. Removes the entities to which none is
/// related until there are none (Kahn's algorithm).
fn has_cycle(pairs: &[Pair]) -> bool {
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

/// Visits the entities that are despawned before this one.
fn dependents(world: &World, entity: Entity, visit: &mut dyn FnMut(Entity)) {
    for relation in world.relations().iter().filter(|relation| relation.despawns_sources()) {
        relation.sources.of_entity(world, entity).iter().copied().for_each(&mut *visit);
    }
}

/// Ensures that there are chunks for this many moves of a row that loses a side of a relation, and for the
/// entity itself, which may stay in the world for cleanup.
///
/// # Panics
/// Panics if there are not.
fn expect_room(world: &World, moves: usize) {
    let directory = &world.blocks.directory;
    let mut chunks = moves;
    if chunks >= directory.room() {
        // The rows of an archetype may go to one archetype for each subset of the sides that they have.
        let most = world.archetypes().iter().map(|archetype| {
            let sides = world.relations().iter().flat_map(|it| [it.targets.id, it.sources.id]);
            let count = sides.filter(|&side| archetype.column_of(side).is_some()).count();
            let subsets = 1_usize.checked_shl(u32::try_from(count).unwrap_or(u32::MAX));
            archetype.chunks.count_elsewhere().saturating_mul(subsets.unwrap_or(usize::MAX))
        });
        chunks = chunks.min(most.fold(0, usize::saturating_add));
    }
    directory.expect_room(chunks + 1);
}

/// Removes an entity that is about to be despawned from the lists of all others. Its own lists stay.
fn unrelate(world: &mut World, entity: Entity) -> Option<AfterDespawn> {
    let mut broken: Vec<(usize, Pair)> = Vec::new();
    for (index, relation) in world.relations().iter().enumerate() {
        let targets = relation.targets.of_entity(world, entity).iter();
        broken.extend(targets.map(|&target| (index, (entity, target))));
        let sources = relation.sources.of_entity(world, entity).iter();
        let others = sources.filter(|&&source| source != entity);
        broken.extend(others.map(|&source| (index, (source, entity))));
    }
    expect_room(world, broken.len());
    for &(index, (source, target)) in &broken {
        let RelationFns { targets, sources, .. } = world.relations()[index];
        if source == entity {
            sources.remove(world, target, source);
        } else {
            targets.remove(world, source, target);
        }
    }
    if broken.is_empty() || !world.has_event_observers() {
        return None;
    }
    // An observer may register relations, which changes the places of those that are known.
    let triggers: Vec<_> = world.relations().iter().map(|relation| relation.trigger).collect();
    let trigger =
        move |world: &mut World, (index, pair): (usize, _)| triggers[index](world, false, pair);
    Some(Box::new(move |world| broken.into_iter().for_each(|pair| trigger(world, pair))))
}

/// Relations by their numbers.
impl<'w> ById<'w> {
    /// Returns read access to a relation, given its number. `None` if the number is of another world.
    #[must_use]
    pub fn relation(self, relation: RelationId) -> Option<RelationRef<'w>> {
        self.0.relation_by_id(relation).map(|fns| RelationRef::new(self.0, Some(fns)))
    }
}

/// Relations by their numbers.
impl<'w> ByIdMut<'w> {
    /// Returns write access to a relation, given its number. `None` if the number is of another world.
    #[must_use]
    pub fn relation(self, relation: RelationId) -> Option<RelationMut<'w>> {
        let is_known = self.0.relation_by_id(relation).is_some();
        is_known.then(|| RelationMut::new(self.0, relation))
    }

    /// Registers a relation that has no Rust type. Its pairs do not trigger observers.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::RelationRules;
    /// let mut world = World::new();
    /// let [ada, bob] = [world.spawn(()), world.spawn(())];
    /// let rules = RelationRules { is_acyclic: true, ..RelationRules::default() };
    /// let mut trusts = world.by_id_mut().register_relation("script.trusts", rules)?;
    /// trusts.add(ada, bob)?;
    /// assert!(trusts.add(bob, ada).is_err(), "a cycle");
    ///
    /// // Its number, by which it is found again, and the components of entities that are related.
    /// let (trusts, [targets, _sources]) = (trusts.id(), trusts.sides());
    /// let found = world.by_id().relation(trusts).expect("it is of this world");
    /// assert_eq!(found.targets(ada), [bob]);
    /// assert!(world.by_id().has(ada, targets));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the world already has a relation of this name, or has as many components as it
    /// can number.
    pub fn register_relation(
        self,
        name: &str,
        rules: RelationRules,
    ) -> Result<RelationMut<'w>, RegisterError> {
        let registry = &mut self.0.registry;
        let names = ["Targets", "Sources"].map(|side| side_name(side, name));
        if let Some(taken) = names.iter().find(|name| registry.by_name(name).is_some()) {
            return Err(RegisterError::NameTaken(taken.clone()));
        }
        let [targets_name, sources_name] = names;
        let sides = [
            ComponentInfo::named::<Targets<Untyped>>(targets_name),
            ComponentInfo::named::<Sources<Untyped>>(sources_name),
        ];
        let sides = registry.push(sides).ok_or(RegisterError::TooMany)?;
        let number = self.0.push_relation::<Untyped>(sides, rules, |_, _, _| {});
        Ok(RelationMut::new(self.0, number))
    }
}

impl CommandBuffer {
    /// Relates an entity to another, as [`RelationMut::add`] does.
    pub fn relate<R: Relation>(&mut self, source: Entity, target: Entity) {
        self.record_call("relate", source, move |world, source, deferred| {
            let target = deferred.resolve(target);
            let related = world.relation_mut::<R>().add(source, target);
            related.map(drop).map_err(|error| relation_reason(error, source))
        });
    }

    /// Ends the relation of an entity to another, as [`RelationMut::remove`] does. Does nothing if there
    /// is none.
    pub fn unrelate<R: Relation>(&mut self, source: Entity, target: Entity) {
        self.record_call("unrelate", source, move |world, source, deferred| {
            let ended = world.relation_mut::<R>().remove(source, deferred.resolve(target));
            ended.map(drop).map_err(|error| relation_reason(error.into(), source))
        });
    }

    /// Makes an entity the child of another, or of none, as [`RelationMut::set_parent`] does.
    pub fn set_parent(&mut self, child: Entity, parent: impl Into<Option<Entity>>) {
        let parent = parent.into();
        self.record_call("set_parent", child, move |world, child, deferred| {
            let parent = parent.map(|parent| deferred.resolve(parent));
            let set = world.relation_mut::<ChildOf>().set_parent(child, parent);
            set.map_err(|error| relation_reason(error, child))
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

#[cfg(test)]
mod tests;
