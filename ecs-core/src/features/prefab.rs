//! Making copies of entities, with all that belongs to them.

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

/// The entity is a template: queries leave it out unless they name this tag (`With<Prefab>`, or
/// any other term), and copies made by [`instantiate`](crate::World::instantiate) do not have it.
///
/// To be inserted and removed like any other component. Looking an entity up by its handle finds
/// it as ever.
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
    /// Where each member stands.
    places: hashbrown::HashMap<Entity, usize, BuildFibonacci>,
    /// How many pairs there are of one of them and another entity.
    outsiders: usize,
}

/// Copies of entities.
impl World {
    /// Copies of an entity, `count` of them: its components cloned, their bits as they are.
    ///
    /// Its [descendants](crate::RelationRef::descendants) are copied with it. What refers to one of these
    /// entities (fields marked `#[component(entity)]`, relations, the elements of buffers) refers
    /// in the copy to the copy of that entity; what refers to other entities is as it was, and an
    /// entity that is related to others has copies that are related to them. The tag
    /// [`Prefab`] and [cleanup components](crate::Component::CLEANUP) are not
    /// copied.
    ///
    /// Should a clone panic, the copies before it are there, and nothing of the one that it was
    /// for. Should an [observer](crate::Hooks::observe) take the original away, the copies made before are
    /// returned.
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
    /// Returns an error if the entity is not in the world, or a component of it or of a descendant
    /// is not `Clone`; nothing is copied then.
    ///
    /// # Panics
    /// Panics if the world has no handle left (see [`World`]); the copies before that are there.
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

    /// Copies of an entity as [`instantiate`](Self::instantiate) makes them, each of which is then
    /// given the bundle that the closure makes for it: its number counts from zero.
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
            // User code: nothing is half done.
            let bundle = bundle(index);
            let Ok(one) = self.instantiate(prefab, 1) else { break };
            if let Some(&copy) = one.first() {
                // An observer may have taken the copy away.
                drop(self.insert(copy, bundle));
            }
            copies.extend(one);
        }
        Ok(copies)
    }

    fn is_related_at_all(&self, entity: Entity) -> bool {
        self.flags_of(entity).any(ArchetypeFlags::RELATED)
    }

    /// Where an entity is that can be copied.
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

    /// Copies an entity to which no entity is related.
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
            if !self.duties_of_copies(from).any(ArchetypeFlags::ON_ADD) {
                self.copy_run(prefab, from, wanted, copies);
                continue;
            }
            // Who is told of a copy may change the original, so each is made by itself.
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

    /// Copies an entity, its descendants, and what they are to others.
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
            if family.outsiders > 0 {
                self.adopt(&members);
            }
            let tells_of_relations = self.has_event_observers();
            if flags.any(ArchetypeFlags::ON_ADD) {
                members.iter().for_each(|&copy| self.trigger_lifecycle(copy, Lifecycle::Arrived));
            }
            if tells_of_relations {
                members.iter().for_each(|&copy| self.trigger_relations(copy));
            }
            if tells_of_relations || flags.any(ArchetypeFlags::ON_ADD) {
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
        let outsiders = others.filter(|other| !places.contains_key(*other)).count();
        Ok(Family { members, places, outsiders })
    }

    /// One copy of each member. Should a clone panic, or there be no handle left, there is none.
    fn copy_family(&mut self, family: &Family) -> (Vec<Entity>, ArchetypeFlags) {
        if family.outsiders > 0 {
            // For the copies, and for those that they are related to: both, or nothing is done.
            let chunks = self.chunks_for(family.members.len()) + family.outsiders;
            self.blocks.directory.expect_room(chunks);
        }
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
        copying.is_complete = true;
        (core::mem::take(&mut copying.handles), flags)
    }

    /// Brings the relations of a copied family with others in step.
    fn adopt(&mut self, members: &[Entity]) {
        let family: EntitySet = members.iter().copied().collect();
        for index in 0..self.relations().len() {
            let relation = self.relations()[index];
            members.iter().for_each(|&member| relation.adopt(self, member, &family));
        }
    }

    fn trigger_relations(&mut self, copy: Entity) {
        for index in 0..self.relations().len() {
            let relation = self.relations()[index];
            for target in relation.targets.of_entity(self, copy).to_vec() {
                // An observer may have taken it apart.
                if relation.targets.of_entity(self, copy).contains(&target) {
                    (relation.trigger)(self, true, (copy, target));
                }
            }
        }
    }
}

/// A family that is being copied. The copies go again, unless all were made.
struct Copying<'w> {
    world: &'w mut World,
    /// By member, as far as they have one; reserved, or alive once it has been copied.
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
                // No hook has been told of it, and nothing is related to it but its own.
                drop(row.despawn());
            }
        }
    }
}

/// Why an entity could not be instantiated.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstantiateError {
    /// The entity to copy is not in this world.
    NoSuchEntity(NoSuchEntity),
    /// One of its components cannot be cloned.
    NotClone {
        /// The name of the component.
        component: Name,
        /// What [else](crate::Component::INSTEAD_OF_CLONE) to do; may be empty.
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
    /// Makes copies of an entity, as [`World::instantiate`](crate::World::instantiate) does.
    pub fn instantiate(&mut self, prefab: Entity, count: usize) {
        self.record_call("instantiate", prefab, move |world, prefab, _| {
            world.instantiate(prefab, count).map(drop).map_err(Into::into)
        });
    }

    /// Makes copies of an entity and gives each the bundle that the closure makes for it, as
    /// [`World::instantiate_with`](crate::World::instantiate_with) does. Deferred entities in the bundles are replaced.
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
    /// What is to be done for each copy of an entity that is at `from`.
    fn duties_of_copies(&mut self, from: Location) -> ArchetypeFlags {
        let Self { bundles, registry, archetypes, .. } = self;
        let target = copying(bundles, from, registry, archetypes).target;
        archetypes.get(target).flags
    }

    /// Copies one entity into as many rows of one chunk as there are, at most `wanted`; references
    /// to itself become references to the copy. Should a clone panic, the copies before it are
    /// there.
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

    /// Copies one entity, whose handle was reserved. Returns what is to be done next. `made` is
    /// memory, which members of a family share: the copies before this one.
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

/// The transition from an original to its copies.
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
