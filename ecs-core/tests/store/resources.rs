//! Resources: one value of each type, beside the entities.

use formic_ecs::ResourceError;
use formic_ecs::prelude::*;

#[derive(Debug, PartialEq)]
struct Score(u32);

#[test]
fn a_resource_is_put_in_replaced_and_taken_out() {
    let mut world = World::new();
    assert_eq!(world.insert_resource(Score(1)), None);
    assert_eq!(world.insert_resource(Score(2)), Some(Score(1)));
    world.resource_mut::<Score>().expect("there").0 += 1;
    assert_eq!(world.resource::<Score>(), Ok(&Score(3)));
    assert_eq!(world.remove_resource::<Score>(), Some(Score(3)));
    assert_eq!(world.remove_resource::<Score>(), None);
}

#[test]
fn a_missing_resource_is_named() {
    let mut world = World::new();
    let message = world.resource::<Score>().expect_err("there is none").to_string();
    assert!(message.contains("store::resources::Score"), "{message}");
    assert!(world.resource_mut::<Score>().is_err());
    assert!(matches!(world.cell().resource::<Score>(), Err(ResourceError::Missing(_))));
    assert!(matches!(world.cell().resource_mut::<Score>(), Err(ResourceError::Missing(_))));
}

#[test]
fn clearing_the_world_keeps_its_resources() {
    let mut world = World::new();
    _ = world.insert_resource(Score(7));
    _ = world.spawn(());
    world.clear();
    assert_eq!(world.resource::<Score>(), Ok(&Score(7)));
}

#[test]
fn one_writer_or_many_readers() {
    let mut world = World::new();
    _ = world.insert_resource(Score(1));
    drop(world.insert_resource(String::from("another type is not in the way")));
    let cell = world.cell();
    let (first, second) = (cell.resource::<Score>().expect("free"), cell.resource::<Score>());
    assert_eq!((first.0, second.expect("readers share").0), (1, 1));
    assert!(matches!(cell.resource_mut::<Score>(), Err(ResourceError::Conflict(_))));
    drop(first);
    let mut writing = cell.resource_mut::<Score>().expect("the readers are gone");
    writing.0 = 2;
    let refused = cell.resource::<Score>().expect_err("written").to_string();
    assert!(refused.contains("cannot read store::resources::Score"), "{refused}");
    assert!(cell.resource_mut::<String>().is_ok());
    drop(writing);
    assert_eq!(cell.resource::<Score>().expect("free").0, 2);
}

#[test]
fn a_guard_that_is_passed_on_gives_up_its_right_where_it_is_dropped() {
    // A guard that held a plain reference would promise the compiler exclusive access until the
    // function it was given to returns, however early it is dropped in there. Miri sees this.
    fn write_after(guard: impl Drop2, cell: formic_ecs::WorldCell<'_>) {
        guard.end();
        cell.resource_mut::<Score>().expect("free again").0 += 1;
    }
    trait Drop2: Sized {
        fn end(self) {}
    }
    impl Drop2 for formic_ecs::Res<'_, Score> {}
    impl Drop2 for formic_ecs::ResMut<'_, Score> {}
    fn writing(guard: formic_ecs::ResMut<'_, Score>, cell: formic_ecs::WorldCell<'_>) {
        drop(guard);
        cell.resource_mut::<Score>().expect("free again").0 += 1;
    }
    fn reading(guard: formic_ecs::Res<'_, Score>, cell: formic_ecs::WorldCell<'_>) {
        drop(guard);
        cell.resource_mut::<Score>().expect("free again").0 += 1;
    }
    let mut world = World::new();
    _ = world.insert_resource(Score(0));
    let cell = world.cell();
    writing(cell.resource_mut().expect("free"), cell);
    reading(cell.resource().expect("free"), cell);
    write_after(cell.resource_mut().expect("free"), cell);
    write_after(cell.resource().expect("free"), cell);
    assert_eq!(world.resource::<Score>(), Ok(&Score(4)));
}

#[test]
fn a_panic_while_a_resource_is_written_releases_it() {
    let mut world = World::new();
    _ = world.insert_resource(Score(0));
    let cell = world.cell();
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        cell.resource_mut::<Score>().expect("free").0 = 5;
        let _held = cell.resource_mut::<Score>();
        panic!("planned");
    }));
    assert!(outcome.is_err());
    assert_eq!(cell.resource_mut::<Score>().expect("released").0, 5);
}

#[test]
fn threads_take_turns_at_a_resource() {
    let mut world = World::new();
    _ = world.insert_resource(Score(0));
    let cell = world.cell();
    let rounds = if cfg!(miri) { 20 } else { 2000 };
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(move || {
                for _ in 0..rounds {
                    loop {
                        if let Ok(mut score) = cell.resource_mut::<Score>() {
                            score.0 += 1;
                            break;
                        }
                        std::thread::yield_now();
                    }
                }
            });
        }
    });
    assert_eq!(world.resource::<Score>(), Ok(&Score(3 * rounds)));
}
