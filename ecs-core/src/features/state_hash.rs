//! The hash of the state of a world, and the differences between two states.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::archetype::Archetype;
use crate::entities::Location;
use crate::entity::Entity;
use crate::hash::StateHasher;
use crate::name::Name;
use crate::storage::RowAddress;
use crate::world::World;

/// The hash of a state, and the names of the components that it does not cover. Created by
/// [`World::state_hash`].
///
/// Two hashes are equal if the states are equal, as far as the hash covers them, and the same components
/// are not covered.
///
/// ```
/// use formic_ecs::prelude::*;
/// #[derive(Component)]
/// struct Gold(u32);
/// #[derive(Component)]
/// #[component(unhashed, name = "game.sound")]
/// struct Sound(Box<dyn Fn() + Send + Sync>);
///
/// let mut world = World::new();
/// let purse = world.spawn(Gold(5));
/// assert!(world.state_hash().is_whole());
/// world.insert(purse, Sound(Box::new(|| ()))).expect("alive");
/// let hash = world.state_hash();
/// assert_eq!(hash.uncovered()[0], "game.sound");
/// assert!(hash.to_string().ends_with("(without game.sound)"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct StateHash {
    value: u64,
    /// Sorted and without duplicates.
    uncovered: Vec<Name>,
}

impl StateHash {
    /// Returns the hash as a number.
    #[must_use]
    pub const fn value(&self) -> u64 {
        self.value
    }

    /// Returns the names of the components in the state that the hash does not cover, or not wholly:
    /// those that are declared `#[component(unhashed)]`, and those that were registered at run time
    /// without a hash function. They are sorted.
    #[must_use]
    pub fn uncovered(&self) -> &[Name] {
        &self.uncovered
    }

    /// Whether the hash covers every value of every component.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.uncovered.is_empty()
    }

    /// Adds more of the state to the hash, such as a resource or the turn of a game.
    pub fn and(mut self, more: impl FnOnce(&mut StateHasher)) -> Self {
        self.value = hash_of(|hasher| {
            hasher.write_u64(self.value);
            more(hasher);
        });
        self
    }

    /// Adds the state of another world to the hash.
    pub fn and_world(self, world: &World) -> Self {
        let other = world.state_hash();
        let mut both = self.and(|hasher| hasher.write_u64(other.value));
        both.uncovered.extend(other.uncovered);
        sort(&mut both.uncovered);
        both
    }
}

/// Writes sixteen hexadecimal digits, and the names that the hash does not cover.
impl fmt::Display for StateHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.value)?;
        for (index, name) in self.uncovered.iter().enumerate() {
            let before = if index == 0 { " (without " } else { ", " };
            write!(f, "{before}{name}")?;
        }
        if self.uncovered.is_empty() { Ok(()) } else { f.write_str(")") }
    }
}

/// The state hash.
impl World {
    /// Returns the hash of all entities: their handles, which components they have, which of these are
    /// enabled, and their values.
    ///
    /// It covers every value, except those of the components that it [names](StateHash::uncovered), such
    /// as those declared `#[component(unhashed)]`. Resources are not entities: to include what a game
    /// keeps in them, use [`StateHash::and`].
    ///
    /// The hash does not depend on the places of rows, nor on the order in which component types were
    /// first used: the same entities with the same components have the same hash.
    ///
    /// ```
    /// use formic_ecs::prelude::*;
    /// #[derive(Component)]
    /// struct Health(f32);
    ///
    /// let play = |wounds: f32| {
    ///     let mut world = World::new();
    ///     world.spawn_batch((0..10_u8).map(|i| Health(100.0 - f32::from(i) * wounds)));
    ///     world.state_hash()
    /// };
    /// assert_eq!(play(3.0), play(3.0));
    /// assert_ne!(play(3.0), play(4.0));
    /// ```
    ///
    /// # Panics
    /// Panics if a component is hashed by its codec or by serde, and that fails to write a value.
    pub fn state_hash(&self) -> StateHash {
        let mut seen = Seen::default();
        for archetype in self.archetypes().iter().filter(|archetype| !archetype.is_empty()) {
            let names = seen.enter(archetype);
            for chunk in 0..archetype.chunk_count() {
                for row in 0..archetype.chunks.len(chunk) {
                    seen.add(archetype, RowAddress { chunk, row }, &names);
                }
            }
        }
        seen.finish()
    }

    /// Returns the hash of some entities, as [`state_hash`](Self::state_hash) does for all. Their order
    /// does not matter. Entities that are not alive are left out.
    ///
    /// # Panics
    /// Panics if a component is hashed by its codec or by serde, and that fails to write a value.
    pub fn state_hash_of(&self, entities: impl IntoIterator<Item = Entity>) -> StateHash {
        let mut seen = Seen::default();
        let mut entered = None;
        let mut names = Vec::new();
        for location in entities.into_iter().filter_map(|entity| self.locate(entity)) {
            let archetype = self.archetypes.get(location.archetype);
            if entered != Some(location.archetype) {
                (entered, names) = (Some(location.archetype), seen.enter(archetype));
            }
            seen.add(archetype, location.address, &names);
        }
        seen.finish()
    }
}

/// The state that was hashed so far.
#[derive(Default)]
struct Seen {
    count: u64,
    /// The sum of the hashes of entities, so that the places of their rows do not matter.
    sum: u64,
    uncovered: Vec<Name>,
}

impl Seen {
    /// Records which components of an archetype are not covered, and returns the hashes of its
    /// components' names.
    fn enter(&mut self, archetype: &Archetype) -> Vec<u64> {
        let infos = archetype.columns.iter().map(|column| &column.info);
        for info in infos.filter(|info| !info.erased.is_hashed) {
            if !self.uncovered.contains(&info.name) {
                self.uncovered.push(info.name.clone());
            }
        }
        name_hashes(archetype)
    }

    fn add(&mut self, archetype: &Archetype, address: RowAddress, names: &[u64]) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(row_hash(archetype, address, names));
    }

    fn finish(mut self) -> StateHash {
        let value = hash_of(|hasher| {
            hasher.write_u64(self.count);
            hasher.write_u64(self.sum);
        });
        sort(&mut self.uncovered);
        StateHash { value, uncovered: self.uncovered }
    }
}

fn sort(names: &mut Vec<Name>) {
    names.sort_unstable();
    names.dedup();
}

/// Returns the hash of what `write` writes.
fn hash_of(write: impl FnOnce(&mut StateHasher)) -> u64 {
    let mut hasher = StateHasher::new();
    write(&mut hasher);
    hasher.finish()
}

/// Returns the hashes of the names of an archetype's components.
fn name_hashes(archetype: &Archetype) -> Vec<u64> {
    let names = archetype.columns.iter().map(|column| &column.info.name);
    names.map(|name| hash_of(|hasher| hasher.write(name.as_bytes()))).collect()
}

/// Returns the hash of one entity: a sum over its components, so that their order does not matter.
fn row_hash(archetype: &Archetype, address: RowAddress, names: &[u64]) -> u64 {
    let mut components = 0_u64;
    for (index, &name) in names.iter().enumerate() {
        components = components.wrapping_add(hash_of(|hasher| {
            hasher.write_u64(name);
            hasher.write_u64(archetype.is_enabled(address, index).into());
            archetype.hash_value(address, index, hasher);
        }));
    }
    hash_of(|hasher| {
        hasher.write_u64(archetype.chunks.entities(address.chunk)[address.row].to_bits());
        hasher.write_u64(components);
    })
}

/// The hashes of all chunks of a world.
///
/// Unlike [`World::state_hash`], it depends on the places of rows. So two runs differ in it as soon as
/// they visit entities in different orders. Archetypes without entities make no difference.
///
/// ```
/// use formic_ecs::HashTree;
/// use formic_ecs::prelude::*;
/// #[derive(Component)]
/// struct Gold(u32);
/// let (mut one, mut other) = (World::new(), World::new());
/// one.spawn_batch([Gold(1), Gold(2)]);
/// let purses = other.spawn_batch([Gold(1), Gold(3)]);
/// assert_ne!(HashTree::of(&one), HashTree::of(&other));
/// other.get_mut::<Gold>(purses[1]).expect("there").0 = 2;
/// assert_eq!(HashTree::of(&one), HashTree::of(&other));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HashTree {
    chunks: Vec<ChunkHash>,
}

#[derive(Clone, Copy, Debug, Eq)]
struct ChunkHash {
    archetype: usize,
    chunk: usize,
    hash: u64,
}

/// Compares the hashes alone: archetypes without entities move the others up, and make no difference.
impl PartialEq for ChunkHash {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
    }
}

impl HashTree {
    /// Computes the hashes of all chunks of a world.
    ///
    /// # Panics
    /// Panics if a component is hashed by its codec or by serde, and that fails to write a value.
    #[must_use]
    pub fn of(world: &World) -> Self {
        let archetypes = world.archetypes().iter().enumerate();
        let chunks = archetypes.flat_map(|(index, archetype)| {
            let names = name_hashes(archetype);
            (0..archetype.chunk_count()).map(move |chunk| {
                let rows = (0..archetype.chunks.len(chunk)).map(|row| RowAddress { chunk, row });
                let hash = hash_of(|hasher| {
                    rows.for_each(|row| hasher.write_u64(row_hash(archetype, row, &names)));
                });
                ChunkHash { archetype: index, chunk, hash }
            })
        });
        Self { chunks: chunks.collect() }
    }

    /// Returns the chunks that are not the same in both.
    fn differing(&self, other: &Self) -> impl Iterator<Item = [Option<ChunkHash>; 2]> {
        (0..self.chunks.len().max(other.chunks.len())).filter_map(move |place| {
            let both = [self, other].map(|tree| tree.chunks.get(place).copied());
            (both[0] != both[1]).then_some(both)
        })
    }
}

/// The first difference between two worlds: one is *here*, the other *there*.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Difference {
    /// An entity is alive in only one of them.
    Alive {
        /// The entity.
        entity: Entity,
        /// Whether it is alive here.
        here: bool,
    },
    /// An entity has a component in only one of them.
    Component {
        /// The entity.
        entity: Entity,
        /// The component.
        component: Name,
        /// Whether the entity has it here.
        here: bool,
    },
    /// A component of an entity is enabled in only one of them.
    Enabled {
        /// The entity.
        entity: Entity,
        /// The component.
        component: Name,
        /// Whether it is enabled here.
        here: bool,
    },
    /// A component of an entity has different values.
    Value {
        /// The entity.
        entity: Entity,
        /// The component.
        component: Name,
        /// The value here: as `Debug` writes it, else its bytes, else its hash.
        here: String,
        /// The value there.
        there: String,
    },
    /// Entities are visited in different orders, and are otherwise the same.
    Order {
        /// The entity here at the first place that differs.
        here: Option<Entity>,
        /// The entity there at that place.
        there: Option<Entity>,
    },
}

display_text! { Difference:
    Self::Alive { entity, here } => "{entity} is alive {} only", side(*here);
    Self::Component { entity, component, here } => "{entity} has {component} {} only", side(*here);
    Self::Enabled { entity, component, here } => "{component} of {entity} is enabled {} only", side(*here);
    Self::Value { entity, component, here, there } => "{component} of {entity} is {here} here and {there} there";
    Self::Order { here, there } => "entities are in another order: {} here is where {} is there", named(*here), named(*there);
}

fn side(here: bool) -> &'static str {
    if here { "here" } else { "there" }
}

fn named(entity: Option<Entity>) -> String {
    entity.map_or_else(|| "nothing".into(), |entity| format!("{entity}"))
}

impl Difference {
    /// Returns the first difference between the entities of two worlds, as far as the state hash covers
    /// them, or `None` if their [hashes](HashTree) are equal.
    ///
    /// A difference of an entity takes precedence over a different order of rows: all chunks whose hashes
    /// differ are searched for one.
    ///
    /// # Panics
    /// Panics if a component is hashed by its codec or by serde, and that fails to write a value.
    #[must_use]
    pub fn between(one: &World, other: &World) -> Option<Self> {
        let mut order = None;
        for [here, there] in HashTree::of(one).differing(&HashTree::of(other)) {
            let (here, there) = (entities_of(one, here), entities_of(other, there));
            for &entity in here.iter().chain(there) {
                let difference = Self::of_entity(one, other, entity);
                if difference.is_some() {
                    return difference;
                }
            }
            let mut places =
                (0..here.len().max(there.len())).map(|row| (here.get(row), there.get(row)));
            let moved = places.find(|(here, there)| here != there);
            order = order.or(moved
                .map(|(here, there)| Self::Order { here: here.copied(), there: there.copied() }));
        }
        order
    }

    fn of_entity(one: &World, other: &World, entity: Entity) -> Option<Self> {
        let (here, there) = match (one.locate(entity), other.locate(entity)) {
            (Some(here), Some(there)) => (here, there),
            (None, None) => return None,
            (here, _) => return Some(Self::Alive { entity, here: here.is_some() }),
        };
        let (mine, theirs) =
            (one.archetypes.get(here.archetype), other.archetypes.get(there.archetype));
        let find = |archetype: &Archetype, name: &Name| {
            archetype.columns.iter().position(|column| column.info.name == *name)
        };
        for (index, column) in mine.columns.iter().enumerate() {
            let component = column.info.name.clone();
            let Some(at) = find(theirs, &component) else {
                return Some(Self::Component { entity, component, here: true });
            };
            let is_enabled = mine.is_enabled(here.address, index);
            if is_enabled != theirs.is_enabled(there.address, at) {
                return Some(Self::Enabled { entity, component, here: is_enabled });
            }
            let value = |archetype: &Archetype, place: Location, column| {
                hash_of(|hasher| archetype.hash_value(place.address, column, hasher))
            };
            if value(mine, here, index) != value(theirs, there, at) {
                let (here, there) =
                    (mine.shown_value(here.address, index), theirs.shown_value(there.address, at));
                return Some(Self::Value { entity, component, here, there });
            }
        }
        let extra = theirs.columns.iter().find(|column| find(mine, &column.info.name).is_none());
        extra.map(|column| Self::Component {
            entity,
            component: column.info.name.clone(),
            here: false,
        })
    }
}

fn entities_of(world: &World, chunk: Option<ChunkHash>) -> &[Entity] {
    chunk.map_or(&[], |it| world.archetypes()[it.archetype].entities(it.chunk))
}
