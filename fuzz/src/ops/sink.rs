//! Commands whose closures need more than a call.

use std::sync::Arc;

use formic_ecs::{CommandBuffer, Entity, World};

use super::parts::Seed;
use super::shapes::{self, Shape};

/// A call that takes components from an entity, or takes it away.
pub(crate) fn call(commands: &mut CommandBuffer, entity: Entity, shape: Option<Shape>) {
    let remove = shape.map(|shape| shape.fns().remove);
    commands.run_with(entity, move |world: &mut World, entity| match remove {
        Some(remove) => drop(remove(world, entity)),
        None => drop(world.despawn(entity)),
    });
}

/// Copies of an entity, each of them with a gift where there is a seed for it.
pub(crate) fn instantiate(
    commands: &mut CommandBuffer,
    original: Entity,
    count: usize,
    gift: Option<&Seed<'_>>,
) {
    let Some(&Seed { value, link, ledger }) = gift else {
        return commands.instantiate(original, count);
    };
    let ledger = Arc::clone(ledger);
    commands.instantiate_with(original, count, move |nth| {
        shapes::gift(&Seed { value, link, ledger: &ledger }, nth)
    });
}
