//! Queries: each beside a sentence about the model that says the same.

use arbitrary::Arbitrary;
use formic_ecs::{
    Added, Changed, Disabled, Enabled, EnabledMut, Entity, Not, Or, ParallelScratch, Present,
    QueryData, With, Without, World,
};

use super::model::{Holding, Model};
use super::parts::{Active, Counted, Fuel, Kind, Link, Name, Part, Position, Tag, Wide};

/// In which of the ways a query is walked.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub(crate) enum Walk {
    Rows,
    ForEach,
    Chunks,
    Parallel,
    Cell,
}

/// A change to everything that a query finds.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub(crate) enum Change {
    PositionsOfTheActive,
    PositionsOfTheInactive,
    Fuels,
    CountedOfTheUnfuelled,
    PositionsAndFuels,
    NamesOfTheTagged,
    WideBySlices,
    FlipFuel,
    SwitchOffActive,
    SwitchOnActive,
}

macro_rules! walk {
    ($world:expr, $walk:expr, $data:ty, $filter:ty, |$item:pat_param| $body:expr) => {
        match $walk {
            Walk::Rows => {
                for $item in $world.query_filtered::<$data, $filter>() {
                    $body
                }
            }
            Walk::ForEach => {
                $world.query_filtered::<$data, $filter>().for_each(|$item| $body);
            }
            Walk::Chunks => $world.query_filtered::<$data, $filter>().chunks(|chunk| {
                for $item in chunk {
                    $body
                }
            }),
            Walk::Parallel => {
                let mut scratch = ParallelScratch::default();
                let mut query = $world.query_filtered::<$data, $filter>();
                let chunks = query.parallel(&mut scratch);
                for index in (0..chunks.len()).rev() {
                    if let Some(chunk) = chunks.take(index) {
                        chunk.for_each(|$item| $body);
                    }
                    assert!(chunks.take(index).is_none(), "a chunk was given out twice");
                }
            }
            Walk::Cell => {
                let mut plan = $world.plan_filtered::<$data, $filter>();
                let cell = $world.cell();
                let mut query = cell.query(&mut plan).expect("nobody else is here");
                for $item in query.query() {
                    $body
                }
            }
        }
    };
}

/// Makes the change in the world; returns how many rows were visited.
pub(crate) fn change_world(world: &mut World, change: Change, walk: Walk, value: u64) -> usize {
    let mut visited = 0;
    match change {
        Change::PositionsOfTheActive => {
            walk!(world, walk, &mut Position, With<Active>, |position| {
                visited += 1;
                position.set(value);
            });
        }
        Change::PositionsOfTheInactive => {
            walk!(world, walk, &mut Position, Without<Active>, |position| {
                visited += 1;
                position.set(value);
            });
        }
        Change::Fuels => walk!(world, walk, &mut Fuel, (), |fuel| {
            visited += 1;
            fuel.set(value);
        }),
        Change::CountedOfTheUnfuelled => {
            walk!(world, walk, (&mut Counted,), Disabled<Fuel>, |(counted,)| {
                visited += 1;
                counted.set(value);
            });
        }
        Change::PositionsAndFuels => {
            walk!(world, walk, (&mut Position, Option<&mut Fuel>), (), |(position, fuel)| {
                visited += 1;
                position.set(value);
                if let Some(fuel) = fuel {
                    fuel.set(value);
                }
            });
        }
        Change::NamesOfTheTagged => {
            walk!(world, walk, (&mut Name, &Tag), Present<Active>, |(name, _)| {
                visited += 1;
                name.set(value);
            });
        }
        Change::WideBySlices => world.query::<&mut Wide>().for_each_chunk(|slice| {
            visited += slice.len();
            slice.iter_mut().for_each(|wide| wide.set(value));
        }),
        Change::FlipFuel => walk!(world, walk, EnabledMut<Fuel>, (), |mut bit| {
            visited += 1;
            let was = bit.get();
            assert_eq!(bit.set(!was), was);
        }),
        Change::SwitchOffActive => {
            // The bit that admits the row is switched off under the query's feet.
            walk!(world, walk, (EnabledMut<Active>, &Active), With<Active>, |(mut bit, _)| {
                visited += 1;
                assert!(bit.set(false));
            });
        }
        Change::SwitchOnActive => {
            walk!(world, walk, EnabledMut<Active>, Disabled<Active>, |mut bit| {
                visited += 1;
                assert!(!bit.set(true));
            });
        }
    }
    visited
}

/// Makes the same change in the model.
pub(crate) fn change_model(model: &mut Model, change: Change, value: u64) -> usize {
    model.visible_mut().filter_map(|(_, held)| change_holding(held, change, value)).count()
}

/// `None` where the change is not about this entity.
fn change_holding(held: &mut Holding, change: Change, value: u64) -> Option<()> {
    match change {
        Change::PositionsOfTheActive => {
            held.enabled(Kind::Active)?;
            held.enabled(Kind::Position)?;
            held.set(Kind::Position, value);
        }
        Change::PositionsOfTheInactive => {
            held.enabled(Kind::Active).is_none().then_some(())?;
            held.enabled(Kind::Position)?;
            held.set(Kind::Position, value);
        }
        Change::Fuels => {
            held.enabled(Kind::Fuel)?;
            held.set(Kind::Fuel, value);
        }
        Change::CountedOfTheUnfuelled => {
            held.is_disabled(Kind::Fuel).then_some(())?;
            held.enabled(Kind::Counted)?;
            held.set(Kind::Counted, value);
        }
        Change::PositionsAndFuels => {
            held.enabled(Kind::Position)?;
            held.set(Kind::Position, value);
            if held.enabled(Kind::Fuel).is_some() {
                held.set(Kind::Fuel, value);
            }
        }
        Change::NamesOfTheTagged => {
            held.get(Kind::Active)?;
            held.get(Kind::Tag)?;
            held.get(Kind::Name)?;
            held.set(Kind::Name, value);
        }
        Change::WideBySlices => {
            held.get(Kind::Wide)?;
            held.set(Kind::Wide, value);
        }
        Change::FlipFuel => {
            let fuel = held.0.get_mut(&Kind::Fuel)?;
            fuel.enabled = !fuel.enabled;
        }
        Change::SwitchOffActive => {
            held.enabled(Kind::Active)?;
            held.0.get_mut(&Kind::Active)?.enabled = false;
        }
        Change::SwitchOnActive => {
            held.is_disabled(Kind::Active).then_some(())?;
            held.0.get_mut(&Kind::Active)?.enabled = true;
        }
    }
    Some(())
}

/// Exchanges the fuels of three entities; whether they could be had all at once.
pub(crate) fn rotate_in_world(world: &mut World, entities: [Entity; 3], view: bool) -> bool {
    let rotate = |[a, b, c]: [&mut Fuel; 3]| {
        std::mem::swap(a, b);
        std::mem::swap(b, c);
    };
    if view {
        world.view::<&mut Fuel>().get_many_mut(entities).map(rotate).is_ok()
    } else {
        world.query::<&mut Fuel>().get_many_mut(entities).map(rotate).is_ok()
    }
}

/// The same in the model.
pub(crate) fn rotate_in_model(model: &mut Model, entities: [Entity; 3], view: bool) -> bool {
    let [a, b, c] = entities;
    let fuel = |entity: Entity| {
        let holding = model.entities.get(&entity)?;
        match view {
            true => holding.get(Kind::Fuel),
            false => holding.enabled(Kind::Fuel).filter(|_| holding.is_visible()),
        }
    };
    let fuels = entities.map(fuel);
    let [Some(first), Some(second), Some(third)] = fuels else { return false };
    if a == b || b == c || a == c {
        return false;
    }
    for (entity, value) in [(a, second), (b, third), (c, first)] {
        if let Some(holding) = model.entities.get_mut(&entity) {
            holding.set(Kind::Fuel, value);
        }
    }
    true
}

/// Compares what has changed since some version with what the model says.
pub(crate) fn look_since(world: &mut World, model: &Model, version: u64, clock: u64) {
    let expected = |said: &dyn Fn(Entity, &Holding) -> bool| -> Vec<Entity> {
        let entities = model.visible();
        entities.filter(|(entity, held)| said(**entity, held)).map(|(&entity, _)| entity).collect()
    };
    macro_rules! since {
        ($filter:ty, $said:expr) => {{
            let query = world.query_filtered::<Entity, $filter>().since(version);
            let mut found: Vec<Entity> = query.into_iter().collect();
            found.sort_unstable();
            assert_eq!(found, expected(&$said), "{} since {version}", stringify!($filter));
        }};
    }
    since!(Changed<Fuel>, |entity, _held| model.is_new(entity, clock).0);
    since!(Added<Fuel>, |entity, _held| model.is_new(entity, clock).1);
    since!(Or<(Added<Fuel>, (Changed<Fuel>, With<Tag>))>, |entity, held: &Holding| {
        let (changed, added) = model.is_new(entity, clock);
        added || (changed && held.has(Kind::Tag))
    });
    since!((Present<Fuel>, Not<Changed<Fuel>>), |entity, held: &Holding| {
        held.has(Kind::Fuel) && !model.is_new(entity, clock).0
    });
}

/// How many different queries there are to look through.
pub(crate) const LOOKS: usize = 9;

/// Stands for a component that an `Option` did not find.
const NOTHING: u64 = u64::MAX;

macro_rules! look {
    ($world:expr, $model:expr, $data:ty, $filter:ty, |$item:pat_param| $found:expr, $said:expr) => {{
        let said: fn(&Holding) -> Option<u64> = $said;
        type Row<'w> = (Entity, <$data as QueryData>::Item<'w>);
        let of_item = |(entity, $item): Row<'_>| -> (Entity, u64) { (entity, $found) };
        let query = || $world.query_ref_filtered::<(Entity, $data), $filter>();
        let rows: Vec<(Entity, u64)> = query().map(of_item).collect();
        let count = query().count();
        assert_eq!(rows.len(), count, "count() is not the number of rows");
        assert_eq!(query().is_empty(), rows.is_empty());
        assert_eq!(query().single().is_ok(), rows.len() == 1);

        let mut by_entity = rows.clone();
        by_entity.sort_unstable();
        let expected: Vec<(Entity, u64)> = $model
            .visible()
            .filter_map(|(&entity, holding)| Some((entity, said(holding)?)))
            .collect();
        assert_eq!(by_entity, expected, "what a query finds");

        for &entity in $model.entities.keys() {
            let found = query().into_get(entity).ok().map(of_item);
            assert_eq!(found.is_some(), expected.binary_search_by_key(&entity, |e| e.0).is_ok());
            assert!(found.is_none_or(|found| expected.contains(&found)));
        }

        let mut walked = Vec::new();
        $world
            .query_filtered::<(Entity, $data), $filter>()
            .for_each(|item| walked.push(of_item(item)));
        assert_eq!(walked, rows, "for_each goes another way than the iterator");
    }};
}

/// Compares what one of the queries finds with what the model says.
pub(crate) fn look(world: &mut World, model: &Model, which: usize) {
    match which % LOOKS {
        0 => look!(world, model, &'static Position, (), |p| p.value(), |held| held
            .get(Kind::Position)),
        1 => look!(world, model, &'static Fuel, (), |f| f.value(), |held| held.enabled(Kind::Fuel)),
        2 => look!(
            world,
            model,
            Option<&'static Fuel>,
            With<Active>,
            |f| f.map_or(NOTHING, Part::value),
            |held| {
                held.enabled(Kind::Active)?;
                Some(held.enabled(Kind::Fuel).unwrap_or(NOTHING))
            }
        ),
        3 => look!(world, model, (), Without<Active>, |()| 0, |held| {
            held.enabled(Kind::Active).is_none().then_some(0)
        }),
        4 => look!(world, model, &'static Link, Disabled<Fuel>, |l| l.value(), |held| {
            held.is_disabled(Kind::Fuel).then(|| held.get(Kind::Link))?
        }),
        5 => look!(world, model, &'static Name, Present<Active>, |n| n.value(), |held| {
            held.get(Kind::Active)?;
            held.get(Kind::Name)
        }),
        6 => look!(
            world,
            model,
            Enabled<Fuel>,
            (Without<Tag>, Present<Fuel>),
            |bit| u64::from(bit.get()),
            |held| {
                held.get(Kind::Tag).is_none().then_some(())?;
                held.get(Kind::Fuel)?;
                Some(u64::from(held.enabled(Kind::Fuel).is_some()))
            }
        ),
        7 => look!(
            world,
            model,
            (&'static Counted, &'static Wide),
            Without<Fuel>,
            |(counted, wide)| counted.value() << 32 | wide.value(),
            |held| {
                held.enabled(Kind::Fuel).is_none().then_some(())?;
                Some(held.get(Kind::Counted)? << 32 | held.get(Kind::Wide)?)
            }
        ),
        _ => look!(
            world,
            model,
            (&'static Active, Option<&'static Position>, &'static Fuel),
            (),
            |(_, position, fuel)| position.map_or(0, Part::value) << 32 | fuel.value(),
            |held| {
                held.enabled(Kind::Active)?;
                Some(held.get(Kind::Position).unwrap_or(0) << 32 | held.enabled(Kind::Fuel)?)
            }
        ),
    }
}
