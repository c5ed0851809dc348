//! Values outside the rows: shared by entities, or of chunks.

use std::collections::BTreeMap;

use bytemuck::{Pod, Zeroable};
use formic_ecs::{ChunkComponent, Entity, SharedComponent, World};

use super::model::Model;

/// A floor, which many entities have in common.
#[derive(SharedComponent, Clone, Copy, Debug, PartialEq, Eq, Hash, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Level(pub(crate) u32);

/// Something about the entities of a chunk.
#[derive(ChunkComponent, Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Reach(u64);

/// What an entity has outside its row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outer {
    pub(crate) level: Option<u32>,
    pub(crate) has_reach: bool,
    /// It was despawned, and has something to clean up.
    pub(crate) is_despawned: bool,
}

impl Outer {
    /// What the world says.
    pub(crate) fn of(world: &World, entity: Entity) -> Self {
        Self {
            level: world.shared::<Level>(entity).ok().map(|level| level.0),
            has_reach: world.chunk_value::<Reach>(entity).is_ok(),
            is_despawned: world.has::<formic_ecs::Despawned>(entity),
        }
    }

    /// How many components these are.
    pub(crate) fn count(self) -> usize {
        usize::from(self.level.is_some())
            + usize::from(self.has_reach)
            + usize::from(self.is_despawned)
    }
}

/// Works out the value of each chunk, in both ways that there are, and looks whether it is about
/// the entities that are in it.
pub(crate) fn measure(world: &mut World, model: &Model, by_hand: Option<Entity>) {
    let mut sums = BTreeMap::new();
    if let Some(entity) = by_hand {
        let has = model.entities.get(&entity).is_some_and(|held| held.2.has_reach);
        let value = world.chunk_value_mut::<Reach>(entity);
        assert_eq!(value.is_ok(), has, "{entity}");
        if let Ok(value) = value {
            value.0 = entity.to_bits();
            for other in neighbours(world, entity) {
                let seen = world.chunk_value::<Reach>(other).expect("in the same chunk");
                assert_eq!(seen.0, entity.to_bits());
            }
        }
    }
    world.update_chunk_values::<Reach, Entity>(|reach, entities| {
        reach.0 = 0;
        for entity in entities {
            reach.0 = reach.0.wrapping_add(entity.to_bits());
        }
    });
    for (&entity, _) in model.visible().filter(|(_, held)| held.2.has_reach) {
        let sum = *sums.entry(entity).or_insert_with(|| {
            neighbours(world, entity).iter().fold(0_u64, |sum, it| sum.wrapping_add(it.to_bits()))
        });
        assert_eq!(world.chunk_value::<Reach>(entity), Ok(&Reach(sum)), "the chunk of {entity}");
    }
}

/// The entities of the same chunk.
fn neighbours(world: &World, entity: Entity) -> Vec<Entity> {
    let chunks = world
        .archetypes()
        .iter()
        .flat_map(|archetype| (0..archetype.chunk_count()).map(|chunk| archetype.entities(chunk)));
    let mut found = chunks.filter(|entities| entities.contains(&entity));
    found.next().expect("it is in a chunk").to_vec()
}

/// Looks whether entities are grouped by their levels, and found by them.
pub(crate) fn look(world: &mut World, model: &Model) {
    for archetype in world.archetypes() {
        let mut levels = (0..archetype.chunk_count())
            .flat_map(|chunk| archetype.entities(chunk))
            .map(|entity| model.entities[entity].2.level);
        let first = levels.next();
        assert!(levels.all(|level| Some(level) == first), "two levels in one archetype");
    }
    for level in 0..4 {
        let query = world.query::<Entity>().with_shared(&Level(level));
        let mut found: Vec<Entity> = query.into_iter().collect();
        found.sort_unstable();
        let at = model.visible().filter(|(_, held)| held.2.level == Some(level));
        let expected: Vec<Entity> = at.map(|(&entity, _)| entity).collect();
        assert_eq!(found, expected, "who is on level {level}");
    }
}
