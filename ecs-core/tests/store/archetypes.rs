//! Archetypes: rows move between them, and nothing gets lost on the way.

use formic_ecs::prelude::*;

macro_rules! components {
    ($($name:ident),*) => {
        $(
            #[derive(Component, Clone, Debug, PartialEq)]
            struct $name(u64);
        )*
    };
}

components!(A, B, C, D);

/// Owns memory, so that a value that is lost or dropped twice shows under Miri.
#[derive(Component, Clone, Debug, PartialEq)]
struct Text(String);

#[derive(Component, Clone)]
struct Tag;

/// A different type for every number.
struct Nth<const N: usize>;
impl<const N: usize> Component for Nth<N> {
    const HASH: formic_ecs::HashRule<Self> = formic_ecs::HashRule::Fields(|_, _| {});
}

#[test]
fn the_order_in_a_bundle_does_not_make_another_archetype() {
    let mut world = World::new();
    let one = world.spawn((A(1), B(2), C(3)));
    let count = world.archetypes().len();
    let two = world.spawn((C(6), (A(4), B(5))));
    assert_eq!(world.archetypes().len(), count);
    assert_eq!(world.query_one::<(&A, &B, &C)>(one), Ok((&A(1), &B(2), &C(3))));
    assert_eq!(world.query_one::<(&A, &B, &C)>(two), Ok((&A(4), &B(5), &C(6))));
}

#[test]
fn every_way_to_the_same_components_ends_in_the_same_archetype() {
    let mut world = World::new();
    let spawned = world.spawn((A(1), Text("x".into()), B(2)));
    let count = world.archetypes().len();
    let grown = world.spawn(());
    world.insert(grown, B(2)).expect("alive");
    world.insert(grown, (A(1), Text("x".into()))).expect("alive");
    let shrunk = world.spawn((A(1), Text("x".into()), B(2), C(3), D(4)));
    assert_eq!(world.remove::<(D, C)>(shrunk), Ok((D(4), C(3))));
    for entity in [spawned, grown, shrunk] {
        let found = world.query_one::<(&A, &B, &Text)>(entity);
        assert_eq!(found, Ok((&A(1), &B(2), &Text("x".into()))));
    }
    let full = world.archetypes().iter().find(|archetype| archetype.len() == 3);
    assert!(full.is_some_and(|archetype| archetype.id().index() < count));
    world.check().expect("consistent");
}

#[test]
fn a_move_takes_along_what_stays_and_the_row_that_fills_the_hole_is_found_again() {
    let mut world = World::new();
    let count = if cfg!(miri) { 40 } else { 200 };
    let all = world.spawn_batch((0..count).map(|i| (A(i), Text(i.to_string()), B(i * 2))));
    for (i, &entity) in (0..).zip(&all) {
        match i % 4 {
            0 => world.insert(entity, C(i * 3)).expect("alive"),
            1 => assert_eq!(world.remove::<Text>(entity), Ok(Text(i.to_string()))),
            2 => assert_eq!(world.remove::<(B, A)>(entity), Ok((B(i * 2), A(i)))),
            _ => {}
        }
        world.check().expect("consistent after every move");
    }
    for (i, &entity) in (0..).zip(&all) {
        let text = Text(i.to_string());
        assert_eq!(world.get::<A>(entity).ok(), (i % 4 != 2).then_some(&A(i)));
        assert_eq!(world.get::<B>(entity).ok(), (i % 4 != 2).then_some(&B(i * 2)));
        assert_eq!(world.get::<C>(entity).ok(), (i % 4 == 0).then_some(&C(i * 3)));
        assert_eq!(world.get::<Text>(entity).ok(), (i % 4 != 1).then_some(&text));
    }
}

#[test]
fn an_insertion_may_replace_some_and_add_others_at_once() {
    let mut world = World::new();
    let neighbour = world.spawn((A(7), Text("neighbour".into())));
    let entity = world.spawn((A(1), Text("old".into())));
    world.insert(entity, (Text("new".into()), B(2), Tag)).expect("alive");
    let found = world.query_one::<(&A, &B, &Text, &Tag)>(entity).expect("it has all");
    assert_eq!((found.0, found.1, found.2), (&A(1), &B(2), &Text("new".into())));
    assert_eq!(world.get(neighbour), Ok(&Text("neighbour".into())));
    world.insert(entity, (B(3), Text("newer".into()))).expect("alive");
    assert_eq!(world.query_one::<(&B, &Text)>(entity), Ok((&B(3), &Text("newer".into()))));
    world.check().expect("consistent");
}

#[test]
fn a_removal_that_lacks_one_component_changes_nothing() {
    let mut world = World::new();
    let entity = world.spawn((A(1), B(2)));
    let error = world.remove::<(A, C, B)>(entity).expect_err("there is no C");
    assert!(error.to_string().ends_with("::C"), "{error}");
    assert_eq!(world.query_one::<(&A, &B)>(entity), Ok((&A(1), &B(2))));
    world.insert(entity, C(3)).expect("alive");
    assert_eq!(world.remove::<(A, C, B)>(entity), Ok((A(1), C(3), B(2))));
    assert_eq!(world.components_of(entity), Ok(vec![]));
}

#[test]
fn the_transition_of_one_bundle_differs_by_where_it_starts() {
    let mut world = World::new();
    let entities =
        [world.spawn(()), world.spawn(A(1)), world.spawn(B(2)), world.spawn((A(1), B(2)))];
    for _ in 0..2 {
        for entity in entities {
            world.insert(entity, (B(9), A(8))).expect("alive");
            assert_eq!(world.query_one::<(&A, &B)>(entity), Ok((&A(8), &B(9))));
            assert_eq!(world.remove::<A>(entity), Ok(A(8)));
        }
    }
    world.check().expect("consistent");
}

#[test]
fn tuples_of_twelve_and_tuples_in_tuples_are_bundles() {
    let mut world = World::new();
    let twelve = || {
        (
            (Nth::<0>, Nth::<1>),
            Nth::<2>,
            Nth::<3>,
            Nth::<4>,
            Nth::<5>,
            Nth::<6>,
            Nth::<7>,
            Nth::<8>,
            Nth::<9>,
            (Nth::<10>, (Nth::<11>, ())),
            A(1),
            (B(2), Text("text".into())),
        )
    };
    let entity = world.spawn(twelve());
    assert_eq!(world.components_of(entity).map(|list| list.len()), Ok(15));
    assert_eq!(world.query_one::<(&B, &A)>(entity), Ok((&B(2), &A(1))));
    world.insert(entity, (twelve(), C(3), (Nth::<20>, Nth::<21>, Nth::<22>))).expect("alive");
    assert_eq!(world.components_of(entity).map(|list| list.len()), Ok(19));
    assert_eq!(world.remove::<(C, Text)>(entity), Ok((C(3), Text("text".into()))));
    world.check().expect("consistent");
}

#[test]
#[should_panic(
    expected = "a bundle (store::archetypes::A, store::archetypes::B, store::archetypes::A) has \
                store::archetypes::A twice"
)]
fn a_bundle_with_a_component_twice_panics_and_says_which() {
    _ = World::new().spawn((A(1), (B(2), A(3))));
}

#[test]
fn a_refused_bundle_leaves_the_world_as_it_was() {
    let mut world = World::new();
    let entity = world.spawn((A(1), Text("kept".into())));
    let mut refused = |f: &dyn Fn(&mut World)| {
        let f = std::panic::AssertUnwindSafe(|| f(&mut world));
        assert!(std::panic::catch_unwind(f).is_err());
        world.check().expect("consistent");
        assert_eq!(world.len(), 1);
    };
    refused(&|world| _ = world.spawn((B(1), B(2))));
    refused(&|world| drop(world.spawn_batch([(Text("a".into()), Text("b".into()))])));
    refused(&|world| world.insert(entity, (C(1), C(2))).expect("alive"));
    refused(&|world| _ = world.remove::<(A, A)>(entity));
    assert_eq!(world.get(entity), Ok(&Text("kept".into())));
}

#[test]
fn a_type_can_be_registered_before_its_first_use_and_keeps_its_number() {
    let mut world = World::new();
    let (b, a) = (world.register::<B>(), world.register::<A>());
    assert_eq!((b.index(), a.index()), (0, 1));
    _ = world.spawn((A(1), B(2)));
    assert_eq!(world.register::<A>(), a);
    let names: Vec<_> = world.components().iter().map(|info| info.name()).collect();
    assert_eq!(names, ["store::archetypes::B", "store::archetypes::A"]);
    let archetype = world.archetypes().last().expect("the one of the entity");
    assert_eq!(archetype.components().ids(), [b, a]);
}

/// Gives `entity` the component of every bit that is set in `bits`.
fn insert_bits(world: &mut World, entity: Entity, bits: usize) {
    macro_rules! each {
        ($($n:literal)*) => {
            $(if bits & (1 << $n) != 0 {
                world.insert(entity, Nth::<$n>).expect("alive");
            })*
        };
    }
    each!(0 1 2 3 4 5 6 7 8 9 10 11 12 13);
}

#[test]
fn ten_thousand_archetypes_of_one_entity_take_less_than_64_mib() {
    const COUNT: usize = if cfg!(miri) { 40 } else { 10_000 };
    let mut world = World::new();
    for bits in 0..COUNT {
        let entity = world.spawn((A(bits as u64), Text(bits.to_string())));
        insert_bits(&mut world, entity, bits);
    }
    assert!(world.archetypes().len() >= COUNT);
    let bytes: usize = world.archetypes().iter().map(|archetype| archetype.block_bytes()).sum();
    assert!(bytes < 64 << 20, "{bytes} bytes of blocks");
    let found: u64 = world.query_ref::<&A>().map(|a| a.0).sum();
    assert_eq!(found, (0..COUNT as u64).sum());
    world.check().expect("consistent");
}

#[test]
fn the_place_of_an_entity_is_the_row_that_lists_it() {
    let mut world = World::new();
    let mut all = world.spawn_batch((0..700).map(A));
    all.extend(world.spawn_batch((0..300).map(|i| (A(i), B(i)))));
    // Holes are filled by the last row, which moves.
    for &entity in all.iter().step_by(3) {
        world.despawn(entity).expect("it lives");
        assert_eq!(world.place_of(entity), Err(formic_ecs::NoSuchEntity(entity)));
    }
    let mut found = 0;
    for entity in world.entities() {
        let place = world.place_of(entity).expect("it lives");
        let archetype = &world.archetypes()[place.archetype.index()];
        assert_eq!(archetype.entities(place.chunk)[place.row], entity);
        found += 1;
    }
    assert_eq!(found, world.len());
}

#[test]
fn what_a_component_declares_is_what_its_info_says() {
    #[derive(Component, Clone, Copy, Default, bytemuck::Pod, bytemuck::Zeroable)]
    #[component(enableable)]
    #[repr(C)]
    struct Plain(u64);
    #[derive(Component)]
    #[component(tracked, cleanup)]
    struct Socket(String);
    let mut world = World::new();
    let [plain, socket] = [world.register::<Plain>(), world.register::<Socket>()];
    let said = |id| {
        let info = world.component_info(id).expect("of this world");
        assert_eq!(info.id(), id);
        let way = [info.is_saved(), info.has_default(), info.is_enableable()];
        (way, info.is_tracked(), info.is_cleanup(), info.is_bytes(), info.layout().size())
    };
    assert_eq!(said(plain), ([true; 3], false, false, false, 8));
    assert_eq!(said(socket), ([false; 3], true, true, false, size_of::<String>()));
}

#[test]
fn what_is_known_about_chunks_counts_as_memory() {
    let mut world = World::new();
    let before = world.stats();
    world.spawn_batch((0..10_000).map(A));
    let after = world.stats();
    assert!(after.metadata_bytes() > before.metadata_bytes());
    let parts = after.block_bytes() + after.metadata_bytes() + after.table_bytes;
    assert_eq!(after.total_bytes(), parts + after.pool_bytes);
    assert!(after.used_bytes() <= after.block_bytes() && after.utilisation() <= 1.0);
}
