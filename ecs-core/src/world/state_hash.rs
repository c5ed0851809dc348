//! One number for the state of a world, and which values are not in it.

use alloc::vec::Vec;
use core::fmt;

use super::World;
use crate::archetype::Archetype;
use crate::entity::Entity;
use crate::hash::StateHasher;
use crate::name::Name;
use crate::storage::RowAddress;

/// The hash of a state, and the components whose values are not in it. Made by
/// [`World::state_hash`].
///
/// Two are equal if the states are, as far as they are seen, and the same components are left out.
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
/// assert_eq!(hash.uncovered()[0].as_str(), "game.sound");
/// assert!(hash.to_string().ends_with("(without game.sound)"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct StateHash {
    value: u64,
    /// In order, each once.
    uncovered: Vec<Name>,
}

impl StateHash {
    /// The number.
    #[must_use]
    pub const fn value(&self) -> u64 {
        self.value
    }

    /// The components that there are and whose values are not in the number, or not wholly: those
    /// that are declared `#[component(unhashed)]`. By name, in order.
    #[must_use]
    pub fn uncovered(&self) -> &[Name] {
        &self.uncovered
    }

    /// Whether every value of every component is in the number.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.uncovered.is_empty()
    }

    /// Takes in more of the state: a resource, the turn of a game.
    ///
    /// ```
    /// use formic_ecs::World;
    /// let world = World::new();
    /// let at = |turn| world.state_hash().and(|hasher| hasher.write_u64(turn));
    /// assert_eq!(at(1), at(1));
    /// assert_ne!(at(1), at(2));
    /// ```
    pub fn and(mut self, more: impl FnOnce(&mut StateHasher)) -> Self {
        let mut hasher = StateHasher::new();
        hasher.write_u64(self.value);
        more(&mut hasher);
        self.value = hasher.finish();
        self
    }

    /// Takes in the state of another world.
    pub fn and_world(self, world: &World) -> Self {
        let other = world.state_hash();
        let mut both = self.and(|hasher| hasher.write_u64(other.value));
        both.uncovered.extend(other.uncovered);
        sort(&mut both.uncovered);
        both
    }
}

/// Sixteen digits, and what is not in them.
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

impl World {
    /// The hash of all entities: their handles, which components they have, which of these are
    /// enabled, and their values.
    ///
    /// Every value is in it, but for components that are declared `#[component(unhashed)]`: those
    /// are [named](StateHash::uncovered) with it. Resources are not entities: what a game keeps in
    /// them is added by [`StateHash::and`].
    ///
    /// It does not depend on where the rows are, nor on the order in which component types were
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
    /// Panics if a component is hashed by its codec and the codec fails to write a value.
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

    /// The hash of some entities, as [`state_hash`](Self::state_hash) is that of all. Their order does
    /// not matter; those that are not alive are not in it.
    ///
    /// # Panics
    /// Panics if a component is hashed by its codec and the codec fails to write a value.
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

/// What was hashed so far.
#[derive(Default)]
struct Seen {
    count: u64,
    /// Of the hashes of entities: where their rows are does not matter.
    sum: u64,
    uncovered: Vec<Name>,
}

impl Seen {
    /// Notes what is not seen of an archetype, and gives the hashes of its components' names.
    fn enter(&mut self, archetype: &Archetype) -> Vec<u64> {
        let infos = archetype.columns.iter().map(|column| &column.info);
        for info in infos.clone().filter(|info| !info.erased.is_hashed) {
            if !self.uncovered.contains(&info.name) {
                self.uncovered.push(info.name.clone());
            }
        }
        infos.map(|info| name_hash(&info.name)).collect()
    }

    fn add(&mut self, archetype: &Archetype, address: RowAddress, names: &[u64]) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(row_hash(archetype, address, names));
    }

    fn finish(mut self) -> StateHash {
        let mut hasher = StateHasher::new();
        hasher.write_u64(self.count);
        hasher.write_u64(self.sum);
        sort(&mut self.uncovered);
        StateHash { value: hasher.finish(), uncovered: self.uncovered }
    }
}

fn sort(names: &mut Vec<Name>) {
    names.sort_unstable_by(|one, other| one.as_str().cmp(other));
    names.dedup();
}

fn name_hash(name: &str) -> u64 {
    let mut hasher = StateHasher::new();
    hasher.write(name.as_bytes());
    hasher.finish()
}

/// The hash of one entity: a sum over its components, so that their order does not matter.
fn row_hash(archetype: &Archetype, address: RowAddress, names: &[u64]) -> u64 {
    let mut components = 0_u64;
    for (index, &name) in names.iter().enumerate() {
        let mut hasher = StateHasher::new();
        hasher.write_u64(name);
        hasher.write_u64(archetype.is_enabled(address, index).into());
        archetype.hash_value(address, index, &mut hasher);
        components = components.wrapping_add(hasher.finish());
    }
    let mut hasher = StateHasher::new();
    hasher.write_u64(archetype.chunks.entities(address.chunk)[address.row].to_bits());
    hasher.write_u64(components);
    hasher.finish()
}
