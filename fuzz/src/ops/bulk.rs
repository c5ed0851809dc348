//! Changes to all entities that pass a filter, at once or recorded.

use arbitrary::Arbitrary;
use formic_ecs::{CommandBuffer, Disabled, Entity, QueryFilter, With, World};

use super::by_id;
use super::model::{Holding, Model};
use super::parts::{Active, Counted, Fuel, Kind, Part, Seed};

/// Who is changed.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub(crate) enum Crowd {
    Everybody,
    Active,
    Unfuelled,
}

impl Crowd {
    fn has(self, holding: &Holding) -> bool {
        holding.is_visible()
            && match self {
                Self::Everybody => true,
                Self::Active => holding.enabled(Kind::Active).is_some(),
                Self::Unfuelled => holding.is_disabled(Kind::Fuel),
            }
    }
}

/// What is done to them.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub(crate) enum Deed {
    Insert,
    Remove,
    Switch { on: bool },
    Despawn,
}

/// What is given and taken.
type Gift = (Counted, Fuel);
const GIFT: [Kind; 2] = [Kind::Counted, Kind::Fuel];

/// Changes world and model; what the world says of how many there were must be true.
pub(crate) fn change(
    world: &mut World,
    model: &mut Model,
    seed: &Seed<'_>,
    (crowd, deed): (Crowd, Deed),
    is_recorded: bool,
) {
    match crowd {
        Crowd::Everybody => change_those::<()>(world, model, seed, (crowd, deed), is_recorded),
        Crowd::Active => {
            change_those::<With<Active>>(world, model, seed, (crowd, deed), is_recorded);
        }
        Crowd::Unfuelled => {
            change_those::<Disabled<Fuel>>(world, model, seed, (crowd, deed), is_recorded);
        }
    }
}

fn change_those<F: QueryFilter + 'static>(
    world: &mut World,
    model: &mut Model,
    seed: &Seed<'_>,
    (crowd, deed): (Crowd, Deed),
    is_recorded: bool,
) {
    // The world is asked for their order alone: slots are used again in the order in which they
    // were left, and watchers are told in that order.
    let mut order: Vec<Entity> = world.query_filtered::<Entity, F>().into_iter().collect();
    let meant = model.entities.iter().filter(|(_, holding)| crowd.has(holding));
    let mut sorted = order.clone();
    sorted.sort_unstable();
    assert!(meant.map(|(&entity, _)| entity).eq(sorted), "{crowd:?}");

    let gift = || (Counted::make(seed), Fuel::make(seed));
    let values = GIFT.map(|kind| (kind, kind.value_of(seed)));
    if is_recorded {
        let mut commands = CommandBuffer::new(world);
        let bulk = commands.bulk::<F>();
        match deed {
            Deed::Insert => bulk.insert::<Gift>(gift()),
            Deed::Remove => bulk.remove::<Gift>(),
            Deed::Switch { on } => bulk.set_enabled::<Fuel>(on),
            Deed::Despawn => bulk.despawn(),
        }
        assert_eq!(commands.play(world).failures().len(), 0);
        _ = change_model(model, deed, &values, &order);
    } else if matches!(deed, Deed::Despawn) && seed.value % 2 == 0 {
        // Half of them, in an order that is not that of their rows.
        order.sort_by_key(|entity| entity.index().wrapping_mul(0x9e37_79b9));
        order.truncate(order.len().div_ceil(2));
        let count = world.despawn_many(order.iter().copied());
        assert_eq!(count, change_model(model, deed, &values, &order), "{crowd:?} by ids");
    } else if seed.value % 4 == 3 && !matches!(deed, Deed::Insert) {
        change_by_id(world, model, (crowd, deed), &order);
    } else {
        let bulk = world.bulk::<F>();
        let changed = match deed {
            Deed::Insert => bulk.insert::<Gift>(gift()),
            Deed::Remove => bulk.remove::<Gift>(),
            Deed::Switch { on } => bulk.set_enabled::<Fuel>(on),
            Deed::Despawn => bulk.despawn(),
        };
        assert_eq!(changed, change_model(model, deed, &values, &order), "{crowd:?} {deed:?}");
    }
}

/// The same by component ids, which removes one component at a time.
fn change_by_id(
    world: &mut World,
    model: &mut Model,
    (crowd, deed): (Crowd, Deed),
    order: &[Entity],
) {
    let [counted, fuel] = GIFT.map(|kind| (kind.fns().id)(world));
    let mut query = by_id::query(world, crowd);
    let bulk = world.by_id_mut().bulk(&mut query).expect("this world's");
    let changed = match deed {
        Deed::Remove => bulk.remove(counted),
        Deed::Switch { on } => bulk.set_enabled(fuel, on),
        Deed::Insert | Deed::Despawn => Ok(bulk.despawn()),
    };
    let mut take = |entity: &Entity| {
        let has_it = model.entities[entity].has(Kind::Counted);
        if has_it {
            drop(model.remove(*entity, &[Kind::Counted]));
        }
        has_it
    };
    let expected = match deed {
        Deed::Remove => order.iter().filter(|entity| take(entity)).count(),
        _ => change_model(model, deed, &[], order),
    };
    assert_eq!(changed, Ok(expected), "{crowd:?} {deed:?} by ids");
}

/// One entity after the other; returns how many there were.
fn change_model(model: &mut Model, deed: Deed, values: &[(Kind, u64)], order: &[Entity]) -> usize {
    let mut change = |entity: Entity| match deed {
        Deed::Insert => {
            model.insert(entity, values);
            true
        }
        Deed::Remove => {
            let has_all = GIFT.iter().all(|&kind| model.entities[&entity].has(kind));
            if has_all {
                drop(model.remove(entity, &GIFT));
            }
            has_all
        }
        Deed::Switch { on } => {
            let holding = model.entities.get_mut(&entity).expect("it is there");
            let fuel = holding.0.get_mut(&Kind::Fuel);
            fuel.map(|fuel| fuel.enabled = on).is_some()
        }
        Deed::Despawn => model.despawn(entity),
    };
    order.iter().map(|&entity| usize::from(change(entity))).sum()
}
