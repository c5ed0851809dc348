//! Instantiation: copies of entities, with all that belongs to them.

use alloc::vec::Vec;

use crate::archetype::Archetypes;
use crate::bundle::{Bundle, mapped};
use crate::commands::CommandBuffer;
use crate::component::{ArchetypeFlags, CloneFn, Codec, Component, HashRule, Registry};
use crate::entities::Location;
use crate::entity::Entity;
use crate::error::NoSuchEntity;
use crate::features::relation::ChildOf;
use crate::hash::BuildFibonacci;
use crate::name::Name;
use crate::transfer::{Bundles, Change, RowCopies, Transition};
use crate::user_code::expected;
use crate::world::{EntitySet, Lifecycle, World};

/// A tag for templates: queries skip an entity with it unless they name it (`With<Prefab>`, or any other
/// term), and copies made by [`instantiate`](crate::World::instantiate) do not have it.
///
/// It is inserted and removed like any other component. A lookup of the entity by its handle is not
/// affected.
///
/// ```
/// use formic_ecs::prelude::*;
/// use formic_ecs::Prefab;
/// # #[derive(Component, Clone)] struct Health(u32);
/// let mut world = World::new();
/// let imp = world.spawn((Prefab, Health(10)));
/// assert_eq!(world.query::<&Health>().count(), 0);
/// assert_eq!(world.query_filtered::<&Health, With<Prefab>>().count(), 1);
/// world.instantiate(imp, 5)?;
/// assert_eq!(world.query::<&Health>().count(), 5);
/// # Ok::<(), formic_ecs::InstantiateError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prefab;

impl Component for Prefab {
    const CLONE: Option<CloneFn<Self>> = Some(Self::clone);
    const HASH: HashRule<Self> = HashRule::Fields(|Self, _| {});
    const HIDES: bool = true;
    const CODEC: Codec<Self> = Codec::tag(|_| Ok(Self));

    fn name() -> &'static str {
        "formic_ecs::Prefab"
    }
}

/// An entity and its descendants, each after its parent.
struct Family {
    members: Vec<Entity>,
    /// The index of each member.
    places: hashbrown::HashMap<Entity, usize, BuildFibonacci>,
    /// The number of pairs of a member and another entity that are related.
    outside_pairs: usize,
}

/// Copies of entities.
impl World {
    /// Creates `count` copies of an entity, and returns their handles. Components are cloned, and the
    /// enabled bits are copied.
    ///
    /// Its [descendants](crate::RelationRef::descendants) are copied with it. A reference to one of these
    /// entities (in fields marked `#[component(entity)]`, relations, the elements of buffers) refers in
    /// the copy to the copy of that entity. References to other entities stay as they are, and if an
    /// entity is related to others, its copies are related to them as well. The tag [`Prefab`] and
    /// [cleanup components](crate::Component::CLEANUP) are not copied.
    ///
    /// If a clone panics, the copies before exist, and nothing remains of the copy that it was for. If an
    /// [observer](crate::Hooks::observe) despawns the original or makes it impossible to copy, the copies
    /// made before are returned.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// use formic_ecs::Prefab;
    /// # #[derive(Component, Clone)] struct Engine(u32);
    /// #[derive(Component, Clone)]
    /// struct Lamps(#[component(entity)] Vec<Entity>);
    ///
    /// let mut world = World::new();
    /// let car = world.spawn((Prefab, Engine(90)));
    /// let lamp = world.spawn(Prefab);
    /// world.relation_mut::<ChildOf>().set_parent(lamp, car)?;
    /// world.insert(car, Lamps(vec![lamp]))?;
    ///
    /// let cars = world.instantiate(car, 3)?;
    /// assert_eq!(world.get::<Lamps>(cars[2])?.0, world.relation::<ChildOf>().children(cars[2]));
    /// assert_eq!(world.query::<&Engine>().count(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the entity is not in the world, or if a component of it or of a descendant is
    /// not `Clone`. Nothing is copied then.
    ///
    /// # Panics
    /// Panics if the world has no handle left (see [`World`]). The copies before that exist.
    #[doc(alias("clone_and_spawn", "EntityCloner"))]
    pub fn instantiate(
        &mut self,
        prefab: Entity,
        count: usize,
    ) -> Result<Vec<Entity>, InstantiateError> {
        self.expect_there(prefab)?;
        let mut copies = Vec::with_capacity(expected(count));
        if self.is_related_at_all(prefab) {
            self.instantiate_families(prefab, count, &mut copies)?;
        } else {
            self.instantiate_alone(prefab, count, &mut copies)?;
        }
        Ok(copies)
    }

    /// Creates copies of an entity, as [`instantiate`](Self::instantiate) does, and adds to each the
    /// bundle that the closure returns for its number. Numbers start at zero.
    ///
    /// # Errors
    /// Returns the errors of [`instantiate`](Self::instantiate).
    ///
    /// # Panics
    /// Panics like [`instantiate`](Self::instantiate), and if the bundle has a component twice.
    pub fn instantiate_with<B: Bundle>(
        &mut self,
        prefab: Entity,
        count: usize,
        mut bundle: impl FnMut(usize) -> B,
    ) -> Result<Vec<Entity>, InstantiateError> {
        let mut copies = self.instantiate(prefab, 0)?;
        for index in 0..count {
            // User code: nothing is incomplete while it runs.
            let bundle = bundle(index);
            let Ok(one) = self.instantiate(prefab, 1) else { break };
            if let Some(&copy) = one.first() {
                // An observer may have despawned the copy.
                drop(self.insert(copy, bundle));
            }
            copies.extend(one);
        }
        Ok(copies)
    }

    fn is_related_at_all(&self, entity: Entity) -> bool {
        self.flags_of(entity).any(ArchetypeFlags::RELATED)
    }

    /// Returns the location of an entity, if it can be copied.
    fn locate_original(&self, entity: Entity) -> Result<Location, InstantiateError> {
        let from = self.locate(entity).ok_or(NoSuchEntity(entity))?;
        match self.archetypes.get(from.archetype).not_clone() {
            Some(info) => {
                let component = info.type_name().map_or_else(|| info.name().clone(), Name::from);
                Err(InstantiateError::NotClone { component, instead: info.instead_of_clone })
            }
            None => Ok(from),
        }
    }

    /// Copies an entity without relations.
    fn instantiate_alone(
        &mut self,
        prefab: Entity,
        count: usize,
        copies: &mut Vec<Entity>,
    ) -> Result<(), InstantiateError> {
        let mut from = self.locate_original(prefab)?;
        self.entities.reserve(expected(count));
        while copies.len() < count {
            let wanted = count - copies.len();
            if !self.flags_of_copies(from).any(ArchetypeFlags::ON_ADD) {
                self.copy_run(prefab, from, wanted, copies);
                continue;
            }
            // An observer of a copy may change the original, so each copy is made by itself.
            self.copy_run(prefab, from, 1, copies);
            if let Some(&copy) = copies.last() {
                self.trigger_lifecycle(copy, Lifecycle::Arrived);
            }
            let Ok(now) = self.locate_original(prefab) else { return Ok(()) };
            if self.is_related_at_all(prefab) {
                return self.instantiate_families(prefab, count, copies).or(Ok(()));
            }
            from = now;
        }
        Ok(())
    }

    /// Copies an entity, its descendants, and their relations to others.
    fn instantiate_families(
        &mut self,
        prefab: Entity,
        count: usize,
        copies: &mut Vec<Entity>,
    ) -> Result<(), InstantiateError> {
        let mut family = self.family(prefab)?;
        while copies.len() < count {
            let (members, flags) = self.copy_family(&family);
            copies.push(members[0]);
            if family.outside_pairs > 0 {
                self.adopt(&members);
            }
            let triggers_relations = self.has_event_observers();
            if flags.any(ArchetypeFlags::ON_ADD) {
                members.iter().for_each(|&copy| self.trigger_lifecycle(copy, Lifecycle::Arrived));
            }
            if triggers_relations {
                members.iter().for_each(|&copy| self.trigger_relations(copy));
            }
            if triggers_relations || flags.any(ArchetypeFlags::ON_ADD) {
                // Observers may have done anything to the original.
                let Ok(now) = self.family(prefab) else { return Ok(()) };
                family = now;
            }
        }
        Ok(())
    }

    fn family(&self, root: Entity) -> Result<Family, InstantiateError> {
        self.expect_there(root)?;
        let members: Vec<Entity> =
            core::iter::once(root).chain(self.relation::<ChildOf>().descendants(root)).collect();
        for &member in &members {
            self.locate_original(member)?;
        }
        let places: hashbrown::HashMap<_, _, _> =
            members.iter().enumerate().map(|(place, &member)| (member, place)).collect();
        let sides = self.relations().iter().flat_map(|it| [it.targets, it.sources]);
        let others = sides
            .flat_map(|side| members.iter().flat_map(move |&member| side.of_entity(self, member)));
        let outside_pairs = others.filter(|other| !places.contains_key(*other)).count();
        Ok(Family { members, places, outside_pairs })
    }

    /// Copies each member once. If a clone panics, or no handle is left, there are no copies.
    fn copy_family(&mut self, family: &Family) -> (Vec<Entity>, ArchetypeFlags) {
        let mut made = Vec::with_capacity(family.members.len());
        let handles = Vec::with_capacity(family.members.len());
        let mut copying = Copying { world: self, handles, is_complete: false };
        for _ in &family.members {
            copying.handles.push(copying.world.entities.reserve_one());
        }
        let mut flags = ArchetypeFlags::NONE;
        for (place, &member) in family.members.iter().enumerate() {
            let Copying { world, handles, .. } = &mut copying;
            let mut map =
                |entity| family.places.get(&entity).map_or(entity, |&place| handles[place]);
            if let Some(from) = world.locate(member) {
                flags = flags.and(world.copy_reserved(from, handles[place], &mut map, &mut made));
            }
        }
        // Each pair moves the copy or the other entity: all of these moves succeed, or there are no copies.
        copying.world.blocks.directory.expect_room(family.outside_pairs);
        copying.is_complete = true;
        (core::mem::take(&mut copying.handles), flags)
    }

    /// Brings the relations of a copied family to others in step.
    fn adopt(&mut self, members: &[Entity]) {
        let family: EntitySet = members.iter().copied().collect();
        for relation in self.relations().to_vec() {
            members.iter().for_each(|&member| relation.adopt(self, member, &family));
        }
    }

    fn trigger_relations(&mut self, copy: Entity) {
        for relation in self.relations().to_vec() {
            for target in relation.targets.of_entity(self, copy).to_vec() {
                // An observer may have ended the relation.
                if relation.targets.of_entity(self, copy).contains(&target) {
                    (relation.trigger)(self, true, (copy, target));
                }
            }
        }
    }
}

/// A family that is being copied. On drop the copies are removed, unless all were made.
struct Copying<'w> {
    world: &'w mut World,
    /// The handles of the copies so far, by member: reserved, or alive once the member was copied.
    handles: Vec<Entity>,
    is_complete: bool,
}

impl Drop for Copying<'_> {
    fn drop(&mut self) {
        if self.is_complete {
            return;
        }
        for &copy in self.handles.iter().rev() {
            if self.world.entities.is_reserved(copy) {
                self.world.entities.release(copy);
            } else if let Some(row) = self.world.moves().locate(copy) {
                // No observer has been called for it, and only other copies are related to it.
                drop(row.despawn());
            }
        }
    }
}

/// The reason why an entity could not be instantiated.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstantiateError {
    /// The entity to be copied is not in this world.
    NoSuchEntity(NoSuchEntity),
    /// One of its components cannot be cloned.
    NotClone {
        /// The name of the component.
        component: Name,
        /// What to do [instead](crate::Component::INSTEAD_OF_CLONE). It may be empty.
        instead: &'static str,
    },
}

error_text! { InstantiateError:
    Self::NoSuchEntity(error) => "{error}";
    Self::NotClone { component, instead } => "{component} cannot be copied: it is not Clone, or declared unique{}{instead}",
        if instead.is_empty() { "" } else { "; " };
}

from_error!(NoSuchEntity => InstantiateError::NoSuchEntity);

impl CommandBuffer {
    /// Creates copies of an entity, as [`World::instantiate`](crate::World::instantiate) does.
    pub fn instantiate(&mut self, prefab: Entity, count: usize) {
        self.record_call("instantiate", prefab, move |world, prefab, _| {
            world.instantiate(prefab, count).map(drop).map_err(Into::into)
        });
    }

    /// Creates copies of an entity and adds to each the bundle that the closure returns for it, as
    /// [`World::instantiate_with`](crate::World::instantiate_with) does. Deferred entities in the bundles
    /// are replaced.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// # #[derive(Component, Clone)] struct Guest;
    /// # #[derive(Component, Clone)] struct Seat(#[component(entity)] Entity);
    /// let mut world = World::new();
    /// let guest = world.spawn(Guest);
    /// let mut commands = CommandBuffer::new(&world);
    /// let seats = commands.spawn_batch([(), (), ()]);
    /// commands.instantiate_with(guest, 3, move |index| Seat(seats[index]));
    /// commands.play(&mut world);
    /// assert!(world.query::<&Seat>().map(|seat| seat.0).all(|seat| !seat.is_deferred()));
    /// ```
    pub fn instantiate_with<B: Bundle>(
        &mut self,
        prefab: Entity,
        count: usize,
        mut bundle: impl FnMut(usize) -> B + Send + 'static,
    ) {
        self.record_call("instantiate", prefab, move |world, prefab, deferred| {
            let bundle = |index| mapped(bundle(index), &mut |entity| deferred.resolve(entity));
            world.instantiate_with(prefab, count, bundle).map(drop).map_err(Into::into)
        });
    }
}

type Map<'a> = dyn FnMut(Entity) -> Entity + 'a;

impl World {
    /// Returns the flags of the archetype that copies of an entity at `from` come to.
    fn flags_of_copies(&mut self, from: Location) -> ArchetypeFlags {
        let Self { bundles, registry, archetypes, .. } = self;
        let target = copying(bundles, from, registry, archetypes).target;
        archetypes.get(target).flags
    }

    /// Copies one entity into as many rows of one chunk as there are, at most `wanted`. References to the
    /// entity itself become references to the copy. If a clone panics, the copies before exist.
    fn copy_run(
        &mut self,
        original: Entity,
        from: Location,
        wanted: usize,
        copies: &mut Vec<Entity>,
    ) {
        let version = self.next_version();
        let Self { bundles, registry, archetypes, blocks, entities, .. } = self;
        let transition = copying(bundles, from, registry, archetypes);
        let mut run =
            RowCopies::new(archetypes, from, transition, (blocks, wanted), version, copies);
        for _ in 0..run.granted() {
            let copy = entities.next();
            let mut map = |entity| if entity == original { copy } else { entity };
            run.push(&mut map, |place| entities.allocate(place));
        }
    }

    /// Copies one entity to a reserved handle. Returns the flags of the copy's archetype. `made` is
    /// memory that the members of a family share; it holds the copies before this one.
    fn copy_reserved(
        &mut self,
        from: Location,
        copy: Entity,
        map: &mut Map<'_>,
        made: &mut Vec<Entity>,
    ) -> ArchetypeFlags {
        let version = self.next_version();
        let Self { bundles, registry, archetypes, blocks, entities, .. } = self;
        let transition = copying(bundles, from, registry, archetypes);
        let mut one = RowCopies::new(archetypes, from, transition, (blocks, 1), version, made);
        one.push(map, |place| {
            entities.activate(copy, place);
            copy
        });
        drop(one);
        archetypes.get(transition.target).flags
    }
}

/// Returns the transition from an original to its copies.
fn copying<'a>(
    bundles: &'a mut Bundles,
    from: Location,
    registry: &Registry,
    archetypes: &mut Archetypes,
) -> &'a Transition {
    let prefab = registry.get::<Prefab>();
    let (source, ids) = (from.archetype, prefab.as_slice());
    let copying = bundles.transition_of_ids(Change::Copy, ids, source, registry, archetypes);
    copying.expect("it leads somewhere")
}
