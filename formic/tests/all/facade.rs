//! The facade as a program sees it that depends on `formic` alone.

/// Of the paths that `#[component(crate = ...)]` takes.
mod renamed {
    pub(crate) use formic::ecs as entities;
}

use formic::prelude::*;

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(crate = crate::facade::renamed::entities, enableable)]
struct Gold(u32);

#[derive(Component, Clone)]
#[component(crate = ::formic::ecs)]
struct Owner(#[component(entity)] Entity);

#[test]
fn a_derive_finds_the_crate_where_it_is_told() -> Result<(), ComponentError> {
    let mut world = World::new();
    let ant = world.spawn(Gold(3));
    world.set_enabled::<Gold>(ant, false)?;
    let nest = world.spawn(Owner(ant));
    assert_eq!(world.get::<Gold>(world.get::<Owner>(nest)?.0)?, &Gold(3));
    Ok(())
}

#[cfg(feature = "jobs")]
#[test]
fn there_is_one_query_and_it_is_that_of_systems() {
    fn count(ants: Query<'_, &Gold>, mut found: ResMut<'_, usize>) {
        *found = ants.count();
    }
    let mut world = World::new();
    world.spawn(Gold(1));
    world.insert_resource(0_usize);
    let mut schedule = Schedule::builder().add(count).build(&mut world).expect("no cycle");
    schedule.run(&mut world, &Pool::new(Threads::None).expect("no threads are needed"));
    assert_eq!(world.resource::<usize>().copied(), Ok(1));
    // What the store returns has a name as well.
    let query: formic::ecs::Query<'_, &Gold> = world.query();
    assert_eq!(query.count(), 1);
}

#[cfg(feature = "jobs")]
#[test]
fn rows_and_arguments_are_derived_through_the_facade() {
    #[derive(QueryData)]
    #[query_data(read_only = PurseReadOnly)]
    struct Purse<'w> {
        gold: &'w mut Gold,
    }
    #[derive(SystemParam)]
    struct Mint<'w> {
        coins: ResMut<'w, u32>,
    }
    fn pay(mut purses: Query<'_, Purse<'_>>, mut mint: Mint<'_>) {
        purses.for_each(|purse| {
            purse.gold.0 += 1;
            *mint.coins -= 1;
        });
    }
    let mut world = World::new();
    world.spawn(Gold(1));
    world.insert_resource(3_u32);
    world.run_system(&Pool::new(Threads::None).expect("no threads are needed"), pay);
    assert_eq!(world.query_ref::<PurseReadOnly<'_>>().single().map(|row| row.gold.0), Ok(2));
    assert_eq!(world.resource::<u32>(), Ok(&2));
}

#[test]
fn examples_fit_on_a_screen() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    for entry in std::fs::read_dir(folder).expect("there are examples") {
        let path = entry.expect("a file").path();
        let text = std::fs::read_to_string(&path).expect("UTF-8");
        assert!(text.lines().count() <= 60, "{} is longer than 60 lines", path.display());
    }
}
