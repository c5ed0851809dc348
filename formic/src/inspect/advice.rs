//! Advice: possible improvements of the archetypes of a world.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::fmt;

use formic_ecs::{Archetype, ComponentId, Prefab, World};

use super::scene::{grouped, short_name};

/// A suggested change, and its benefit.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Advice {
    /// Several archetypes have the same data and differ only in tags.
    TagsOnly {
        /// The indices of the archetypes in the world's list.
        archetypes: Vec<usize>,
        /// The tags that some of them have and others lack.
        tags: Vec<String>,
        /// The total number of entities in them.
        entity_count: usize,
        /// The total number of their chunks.
        chunk_count: usize,
    },
    /// Many archetypes have few entities, and each takes a chunk for them.
    Scattered {
        /// The number of archetypes with at most [`FEW_ENTITIES`] entities.
        archetype_count: usize,
        /// The bytes of their chunks that are in use.
        used_bytes: usize,
        /// The bytes that their chunks take.
        block_bytes: usize,
    },
    /// Few rows fit into a chunk, because one of the components is large.
    LargeRow {
        /// The index of the archetype in the world's list.
        archetype: usize,
        /// The largest component.
        component: String,
        /// The size of a value of that component, in bytes.
        component_bytes: usize,
        /// The size of a row, in bytes.
        row_bytes: usize,
    },
    /// Empty archetypes keep chunks for future entities.
    Empty {
        /// The number of these archetypes.
        archetype_count: usize,
        /// The bytes that their chunks take.
        block_bytes: usize,
    },
}

/// An archetype with at most this many entities is hardly worth a chunk.
pub const FEW_ENTITIES: usize = 8;
/// The minimum number of entities for advice about them.
const ENTITIES_MIN: usize = 100;
/// The minimum number of archetypes with few entities for advice about them.
const SCATTERED_MIN: usize = 16;
/// The minimum size of a row for advice about it: 16 rows fit into an ordinary chunk.
const LARGE_ROW_BYTES: usize = 1_024;
/// The minimum number of empty archetypes for advice about them.
const EMPTY_MIN: usize = 16;

/// Inspects all archetypes of a world and returns the advice, the most important first.
///
/// ```
/// use formic::inspect::{Advice, advice};
/// use formic::prelude::*;
///
/// #[derive(Component)]
/// struct Position(f32);
/// #[derive(Component)]
/// struct Asleep;
///
/// let mut world = World::new();
/// world.spawn_batch((0..100).map(|at| Position(at as f32)));
/// world.spawn_batch((0..100).map(|at| (Position(at as f32), Asleep)));
/// let found = advice(&world);
/// assert!(matches!(&found[..], [Advice::TagsOnly { tags, .. }] if *tags == ["Asleep"]));
/// println!("{}", found[0]);
/// ```
#[must_use]
pub fn advice(world: &World) -> Vec<Advice> {
    let mut found = tags_only(world);
    found.extend(scattered(world));
    found.extend(large_rows(world));
    found.extend(empty(world));
    found
}

/// Whether an entity with this component could have an enabled bit instead. Cleanup components and the
/// two sides of relations have no size either, but are not tags.
fn is_tag(world: &World, id: ComponentId) -> bool {
    world.component_info(id).is_ok_and(|info| {
        info.layout().size() == 0
            && info.type_id().is_some()
            && !info.is_enableable()
            && !info.is_cleanup()
            // Queries skip prefabs, which an enabled bit does not achieve.
            && info.type_id() != Some(TypeId::of::<Prefab>())
    })
}

fn tags_only(world: &World) -> Vec<Advice> {
    let mut groups: BTreeMap<Vec<ComponentId>, Vec<&Archetype>> = BTreeMap::new();
    for archetype in world.archetypes().iter().filter(|archetype| !archetype.is_empty()) {
        let ids = archetype.components().ids().iter().copied();
        let data = ids.filter(|&id| !is_tag(world, id)).collect();
        groups.entry(data).or_default().push(archetype);
    }
    let count = |group: &[&Archetype]| group.iter().map(|it| it.len()).sum::<usize>();
    let groups = groups.into_values();
    let groups = groups.filter(|group| group.len() > 1 && count(group) >= ENTITIES_MIN);
    let mut found: Vec<_> = groups.map(|group| tags_only_of(world, &group)).collect();
    found.sort_by_key(|&(entity_count, _)| std::cmp::Reverse(entity_count));
    found.into_iter().map(|(_, advice)| advice).collect()
}

/// Returns the advice for archetypes with the same data, and the number of entities it concerns.
fn tags_only_of(world: &World, group: &[&Archetype]) -> (usize, Advice) {
    let mut tags: Vec<ComponentId> = group
        .iter()
        .flat_map(|archetype| archetype.components().ids())
        .copied()
        .filter(|&id| !group.iter().all(|archetype| archetype.components().contains(id)))
        .collect();
    tags.sort_unstable();
    tags.dedup();
    let entity_count = group.iter().map(|archetype| archetype.len()).sum();
    let advice = Advice::TagsOnly {
        archetypes: group.iter().map(|archetype| archetype.id().index()).collect(),
        tags: tags.into_iter().map(|id| name_of(world, id)).collect(),
        entity_count,
        chunk_count: group.iter().map(|archetype| archetype.chunk_count()).sum(),
    };
    (entity_count, advice)
}

fn scattered(world: &World) -> Option<Advice> {
    let stats = world.stats();
    let small = stats.archetypes.iter().filter(|it| (1..=FEW_ENTITIES).contains(&it.entity_count));
    let archetype_count = small.clone().count();
    (archetype_count >= SCATTERED_MIN).then(|| Advice::Scattered {
        archetype_count,
        used_bytes: small.clone().map(|it| it.used_bytes()).sum(),
        block_bytes: small.map(|it| it.block_bytes).sum(),
    })
}

fn large_rows(world: &World) -> Vec<Advice> {
    let stats = world.stats();
    let large = stats.archetypes.iter().filter(|archetype| {
        archetype.row_bytes >= LARGE_ROW_BYTES && archetype.entity_count > FEW_ENTITIES
    });
    large
        .filter_map(|archetype| {
            let ids = world.archetypes()[archetype.id.index()].components().ids();
            let size =
                |id: &ComponentId| world.component_info(*id).map_or(0, |info| info.layout().size());
            let largest = ids.iter().copied().max_by_key(size)?;
            Some(Advice::LargeRow {
                archetype: archetype.id.index(),
                component: name_of(world, largest),
                component_bytes: size(&largest),
                row_bytes: archetype.row_bytes,
            })
        })
        .collect()
}

fn empty(world: &World) -> Option<Advice> {
    let stats = world.stats();
    let empty = stats.archetypes.iter().filter(|it| it.entity_count == 0 && it.block_bytes > 0);
    let (archetype_count, block_bytes) =
        empty.fold((0, 0), |(count, bytes), it| (count + 1, bytes + it.block_bytes));
    (archetype_count >= EMPTY_MIN).then_some(Advice::Empty { archetype_count, block_bytes })
}

fn name_of(world: &World, id: ComponentId) -> String {
    world.component_info(id).map_or_else(|_| String::new(), |info| short_name(info.name()))
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |count: &usize| grouped(*count as u64);
        match self {
            Self::TagsOnly { archetypes, tags, entity_count, chunk_count } => write!(
                f,
                "{} archetypes with {} entities in {} chunks differ by tags only: make {} enableable.",
                archetypes.len(),
                number(entity_count),
                number(chunk_count),
                tags.join(", ")
            ),
            Self::Scattered { archetype_count, used_bytes, block_bytes } => write!(
                f,
                "{archetype_count} archetypes hold at most {FEW_ENTITIES} entities each: {} bytes of \
                 data in {} bytes of chunks. Fewer sets of components would share them.",
                number(used_bytes),
                number(block_bytes)
            ),
            Self::LargeRow { archetype, component, component_bytes, row_bytes } => write!(
                f,
                "A row of archetype {archetype} takes {} bytes, {} of them for {component}: keep it \
                 in a Box, a Buffer or an entity of its own if it is seldom read.",
                number(row_bytes),
                number(component_bytes)
            ),
            Self::Empty { archetype_count, block_bytes } => write!(
                f,
                "{archetype_count} empty archetypes keep {} KiB of chunks: \
                 World::collect_archetypes gives them back.",
                number(&(block_bytes >> 10))
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use formic_ecs::prelude::*;

    use super::*;

    #[derive(Component)]
    struct Position([f32; 2]);
    #[derive(Component)]
    struct Speed(f32);
    #[derive(Component)]
    struct Asleep;
    #[derive(Component)]
    struct Hurt;
    #[derive(Component)]
    #[component(enableable)]
    struct Awake;
    #[derive(Component)]
    struct Diary([u8; 2_000]);

    fn positions(count: usize) -> impl Iterator<Item = Position> {
        (0..count).map(|_| Position([0.0; 2]))
    }

    #[test]
    fn archetypes_that_differ_by_tags_are_named_with_their_tags() {
        let mut world = World::new();
        world.spawn_batch(positions(34));
        world.spawn_batch(positions(33).map(|it| (it, Asleep)));
        world.spawn_batch(positions(33).map(|it| (it, Asleep, Hurt)));
        // Different data, so not in the group.
        world.spawn_batch(positions(40).map(|it| (it, Speed(1.0), Hurt)));
        let found = advice(&world);
        let [Advice::TagsOnly { archetypes, tags, entity_count, chunk_count }] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!((archetypes.len(), *entity_count, *chunk_count), (3, 100, 3));
        assert_eq!(*tags, ["Asleep", "Hurt"]);
        assert!(found[0].to_string().ends_with("make Asleep, Hurt enableable."), "{}", found[0]);
    }

    #[test]
    fn archetypes_that_differ_by_data_or_by_bits_are_left_alone() {
        let mut world = World::new();
        world.spawn_batch(positions(10));
        world.spawn_batch(positions(10).map(|it| (it, Speed(0.0))));
        world.spawn_batch(positions(10).map(|it| (it, Awake)));
        assert_eq!(advice(&world), []);
    }

    #[test]
    fn an_archetype_without_entities_does_not_count() {
        let mut world = World::new();
        world.spawn_batch(positions(98));
        let asleep = world.spawn((Position([0.0; 2]), Asleep));
        assert_eq!(advice(&world), [], "a few entities are not worth a word");
        world.spawn_batch(positions(1));
        assert_eq!(advice(&world).len(), 1);
        world.despawn(asleep).expect("it lives");
        assert_eq!(advice(&world), []);
    }

    #[test]
    fn large_rows_are_told_by_their_largest_component() {
        let mut world = World::new();
        world.spawn_batch(positions(20).map(|it| (it, Diary([0; 2_000]))));
        let found = advice(&world);
        let [Advice::LargeRow { component, component_bytes, row_bytes, .. }] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!((&**component, *component_bytes, *row_bytes), ("Diary", 2_000, 2_016));
        let text = found[0].to_string();
        assert!(text.contains(" takes 2,016 bytes, 2,000 of them for Diary: keep it"), "{text}");
    }

    /// Registers a separate component for each number.
    fn script(world: &mut World, number: usize) -> ComponentId {
        let layout = std::alloc::Layout::from_size_align(8, 8).expect("it is a layout");
        let name = format!("script.{number}");
        let descriptor = formic_ecs::ComponentDescriptor::bytes(name, layout);
        world.by_id_mut().register(descriptor).expect("the name is new")
    }

    #[test]
    fn many_archetypes_of_one_entity_are_told_of_together_and_when_empty_too() {
        let mut world = World::new();
        let mut entities = Vec::new();
        for number in 0..SCATTERED_MIN {
            let id = script(&mut world, number);
            entities.push(world.by_id_mut().spawn(&[(id, &[0; 8])]).expect("it has eight bytes"));
        }
        let found = advice(&world);
        let [Advice::Scattered { archetype_count, used_bytes, .. }] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!((*archetype_count, *used_bytes), (SCATTERED_MIN, SCATTERED_MIN * 16));
        let (text, used) = (found[0].to_string(), grouped(SCATTERED_MIN as u64 * 16));
        assert!(text.contains(&format!("each: {used} bytes of data in ")), "{text}");
        for entity in entities {
            world.despawn(entity).expect("it lives");
        }
        let found = advice(&world);
        let [Advice::Empty { archetype_count, .. }] = &found[..] else { panic!("{found:?}") };
        assert_eq!(*archetype_count, EMPTY_MIN);
        world.collect_archetypes();
        assert_eq!(advice(&world), []);
    }
}
