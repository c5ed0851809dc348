//! The state hash: the same for the same state, and for nothing else that a test can think of.

use formic_ecs::prelude::*;

#[derive(Component, Clone, Copy, bytemuck::NoUninit)]
#[repr(C)]
struct A(u32);

#[derive(Component, Clone, Copy, bytemuck::NoUninit)]
#[repr(C)]
struct B(u32);

#[derive(Component, Clone)]
#[component(enableable)]
struct On;

/// Has no bytes that could be compared.
#[derive(Component, Clone)]
struct Text(String);

fn hash_of(make: impl FnOnce(&mut World)) -> u64 {
    let mut world = World::new();
    make(&mut world);
    world.state_hash()
}

#[test]
fn the_same_state_by_another_way_has_the_same_hash() {
    let straight = hash_of(|world| {
        for i in 0..100 {
            _ = world.spawn((A(i), B(i * 2), On));
        }
    });
    let crooked = hash_of(|world| {
        // Types in another order, rows in another order, archetypes that are empty by now.
        let all: Vec<Entity> = (0..100).map(|_| world.spawn(())).collect();
        for (i, &entity) in (0..100).zip(&all).rev() {
            world.insert(entity, (On, B(0), Text("gone".into()))).expect("alive");
            world.insert(entity, (B(i * 2), A(i))).expect("alive");
            assert_eq!(world.remove::<Text>(entity).expect("it has one").0, "gone");
        }
    });
    assert_eq!(straight, crooked);
}

#[test]
fn every_difference_makes_another_hash() {
    let base =
        |world: &mut World| -> Vec<Entity> { world.spawn_batch((0..10).map(|i| (A(i), B(i), On))) };
    let variants: [fn(&mut World, &[Entity]); 9] = [
        |_, _| {},
        |world, all| world.get_mut::<A>(all[3]).expect("there").0 = 99,
        |world, all| world.get_mut::<B>(all[3]).expect("there").0 = 99,
        |world, all| _ = world.set_enabled::<On>(all[3], false).expect("there"),
        |world, all| _ = world.remove::<On>(all[3]).expect("there"),
        |world, all| world.insert(all[3], Text("new".into())).expect("alive"),
        |world, all| world.despawn(all[9]).expect("alive"),
        |world, _| _ = world.spawn(()),
        |world, all| {
            // The values of two entities change places.
            world.insert(all[3], (A(4), B(4))).expect("alive");
            world.insert(all[4], (A(3), B(3))).expect("alive");
        },
    ];
    let mut hashes: Vec<u64> = variants
        .map(|vary| {
            hash_of(|world| {
                let all = base(world);
                vary(world, &all);
            })
        })
        .to_vec();
    let count = hashes.len();
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), count);
}

#[test]
fn the_generation_of_a_handle_counts() {
    let once = hash_of(|world| _ = world.spawn(A(1)));
    let again = hash_of(|world| {
        let first = world.spawn(A(1));
        world.despawn(first).expect("alive");
        _ = world.spawn(A(1));
    });
    assert_ne!(once, again);
}

#[test]
fn equal_bytes_in_components_of_other_types_differ() {
    assert_ne!(hash_of(|world| _ = world.spawn(A(1))), hash_of(|world| _ = world.spawn(B(1))));
}

#[test]
fn of_a_component_without_bytes_only_that_it_is_there_counts() {
    let text = |text: &str| hash_of(|world| _ = world.spawn(Text(text.into())));
    assert_eq!(text("one"), text("another"));
    assert_ne!(text("one"), hash_of(|world| _ = world.spawn(())));
}

#[test]
fn to_look_is_not_to_change() {
    let mut world = World::new();
    drop(world.spawn_batch((0..10).map(|i| (A(i), On))));
    let hash = world.state_hash();
    assert_eq!(world.query::<&A>().count(), 10);
    assert_eq!(world.query_ref::<&On>().count(), 10);
    assert_eq!(world.state_hash(), hash);
    world.clear();
    assert_eq!(world.state_hash(), World::new().state_hash());
}
