//! Whether the two sides of a relation in a snapshot are in step (I-18).

use alloc::vec::Vec;

use super::format::contradiction;
use super::image::Image;
use crate::component::ComponentId;
use crate::entity::Entity;
use crate::error::MalformedSnapshot;
use crate::features::relation::{RelationFns, read_list};
use crate::hash::BuildFibonacci;

/// Who is related to whom, the source first.
type Pair = (Entity, Entity);

/// Looks at the lists of one relation, which were read already and are lists of handles. `ids` are
/// those of the image's components.
pub(super) fn check_relation(
    image: &Image<'_>,
    relation: &RelationFns,
    ids: &[Option<ComponentId>],
    is_alive: &dyn Fn(Entity) -> bool,
) -> Result<(), MalformedSnapshot> {
    let mut forward = pairs(image, number(ids, relation.targets), |row, other| (row, other))?;
    let mut backward = pairs(image, number(ids, relation.sources), |row, other| (other, row))?;
    let key = |&(source, target): &Pair| (source.to_bits(), target.to_bits());
    forward.sort_unstable_by_key(key);
    backward.sort_unstable_by_key(key);
    if forward != backward {
        return Err(contradiction("the sides of a relation are not in step"));
    }
    // The other side was seen in a row of its own, unless no entity is there.
    if forward.iter().any(|&(_, target)| !is_alive(target)) {
        return Err(contradiction("an entity is related to one that is not there"));
    }
    let is_twice = |pair: &[Pair]| pair[0] == pair[1];
    let has_two = |pair: &[Pair]| relation.is_exclusive && pair[0].0 == pair[1].0;
    if forward.windows(2).any(|pair| is_twice(pair) || has_two(pair)) {
        return Err(contradiction("an entity is related twice"));
    }
    if relation.is_acyclic && has_circle(&forward) {
        return Err(contradiction("a relation goes in a circle"));
    }
    Ok(())
}

/// The number in the table of a component.
fn number(ids: &[Option<ComponentId>], of: ComponentId) -> Option<usize> {
    ids.iter().position(|&id| id == Some(of))
}

/// All pairs that one side lists.
fn pairs(
    image: &Image<'_>,
    number: Option<usize>,
    pair: impl Fn(Entity, Entity) -> Pair,
) -> Result<Vec<Pair>, MalformedSnapshot> {
    let mut all = Vec::new();
    let Some(number) = number else { return Ok(all) };
    for archetype in &image.archetypes {
        let Ok(column) = archetype.components.binary_search(&number) else { continue };
        for (index, chunk) in archetype.chunks.iter().enumerate() {
            let mut values = archetype.columns_of(index)[column].values;
            for row in chunk.entities().flatten() {
                let list = read_list(&mut values).unwrap_or_default();
                if list.is_empty() {
                    return Err(contradiction("an entity is related to nobody"));
                }
                all.extend(list.into_iter().map(|other| pair(row, other)));
            }
        }
    }
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
