//! The state hash: the same for the same state, and for nothing else that a test can think of.

use formic_ecs::prelude::*;
use formic_ecs::{Difference, HashTree, StateHasher};

#[derive(Component, Clone, Copy, bytemuck::NoUninit)]
#[repr(C)]
struct A(u32);

#[derive(Component, Clone, Copy, bytemuck::NoUninit)]
#[repr(C)]
struct B(u32);

#[derive(Component, Clone)]
#[component(enableable)]
struct On;

/// Its text is on the heap.
#[derive(Component, Clone)]
struct Text(String);

fn hash_of(make: impl FnOnce(&mut World)) -> u64 {
    let mut world = World::new();
    make(&mut world);
    let hash = world.state_hash();
    assert!(hash.is_whole());
    hash.value()
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

/// Says what the hash makes of the values that `make` gives, one world each.
fn hashes<B: Bundle>(values: impl IntoIterator<Item = B>) -> Vec<u64> {
    values.into_iter().map(|value| hash_of(|world| _ = world.spawn(value))).collect()
}

fn assert_all_differ(hashes: &[u64]) {
    let mut sorted = hashes.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), hashes.len());
}

#[test]
fn a_component_that_derives_nothing_else_is_seen_field_by_field() {
    #[derive(Component)]
    struct Position(f32);
    #[derive(Component)]
    struct Padded {
        small: u8,
        large: u64,
        flag: bool,
    }
    #[derive(HashState)]
    enum Mood {
        Calm,
        Angry { at: Entity, since: f64 },
        Afraid(Box<Mood>),
    }
    #[derive(Component)]
    struct Mind {
        mood: Mood,
        memories: Vec<(String, Option<f32>)>,
        dice: RandomStream,
    }
    #[derive(Component)]
    enum Door {
        Open,
        Closed { by: Option<Entity> },
    }
    assert_all_differ(&hashes([0.0, -0.0, 1.0, f32::NAN].map(Position)));
    let padded = |small, large, flag| Padded { small, large, flag };
    assert_all_differ(&hashes([
        padded(0, 0, false),
        padded(1, 0, false),
        padded(0, 1, false),
        padded(0, 0, true),
    ]));
    let (one, other) = {
        let mut world = World::new();
        (world.spawn(()), world.spawn(()))
    };
    let mind = |mood, memories: &[(&str, Option<f32>)], seed| Mind {
        mood,
        memories: memories.iter().map(|&(text, when)| (text.to_owned(), when)).collect(),
        dice: RandomStream::new(seed),
    };
    assert_all_differ(&hashes([
        mind(Mood::Calm, &[], 1),
        mind(Mood::Calm, &[], 2),
        mind(Mood::Calm, &[("", None)], 1),
        mind(Mood::Calm, &[("a wolf", None)], 1),
        mind(Mood::Calm, &[("a wolf", Some(0.0))], 1),
        mind(Mood::Calm, &[("a wolf", Some(1.0))], 1),
        mind(Mood::Angry { at: one, since: 0.0 }, &[], 1),
        mind(Mood::Angry { at: other, since: 0.0 }, &[], 1),
        mind(Mood::Angry { at: one, since: 0.5 }, &[], 1),
        mind(Mood::Afraid(Box::new(Mood::Calm)), &[], 1),
        mind(Mood::Afraid(Box::new(Mood::Angry { at: one, since: 0.0 })), &[], 1),
    ]));
    assert_all_differ(&hashes([
        Door::Open,
        Door::Closed { by: None },
        Door::Closed { by: Some(one) },
        Door::Closed { by: Some(other) },
    ]));
}

#[test]
fn elements_of_buffers_are_seen() {
    #[derive(Component, Clone)]
    #[component(buffer = 2)]
    struct Word(String);
    #[derive(Component)]
    #[component(buffer = 2)]
    struct Mark;
    let words = |words: &[&str]| -> Buffer<Word> {
        words.iter().map(|word| Word((*word).to_owned())).collect()
    };
    assert_all_differ(&hashes([
        words(&[]),
        words(&["a"]),
        words(&["b"]),
        words(&["a", "b", "c"]),
        words(&["a", "b", "d"]),
        words(&["ab", "", "d"]),
    ]));
    let marks = |count| (0..count).map(|_| Mark).collect::<Buffer<Mark>>();
    assert_all_differ(&hashes([marks(0), marks(1), marks(5)]));
}

#[test]
fn a_packed_component_is_seen_by_its_bytes() {
    #[derive(Component, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
    #[repr(C, packed(2))]
    struct Tight {
        small: u16,
        large: u64,
    }
    assert_all_differ(&hashes([
        Tight { small: 0, large: 0 },
        Tight { small: 1, large: 0 },
        Tight { small: 0, large: 1 },
    ]));
}

#[test]
fn what_is_left_out_is_named_and_only_where_there_is_some() {
    #[derive(Component)]
    #[component(unhashed, name = "tests.sound")]
    struct Sound(u32);
    #[derive(Component)]
    #[component(unhashed, buffer = 2, name = "tests.echoes")]
    struct Echo(#[expect(dead_code, reason = "is not looked at")] u32);
    let mut world = World::new();
    let horn = world.spawn((A(1), Sound(1)));
    let hash = world.state_hash();
    assert!(!hash.is_whole());
    assert_eq!(hash.uncovered(), ["tests.sound"]);
    assert_eq!(hash.to_string(), format!("{:016x} (without tests.sound)", hash.value()));
    world.get_mut::<Sound>(horn).expect("there").0 = 2;
    assert_eq!(world.state_hash(), hash, "as it was said");
    world.insert(horn, Buffer::from_iter([Echo(1)])).expect("alive");
    assert_eq!(world.state_hash().uncovered(), ["tests.echoes", "tests.sound"]);
    let both = World::new().state_hash().and_world(&world).and_world(&world);
    assert_eq!(both.uncovered(), ["tests.echoes", "tests.sound"]);
    // A world with the same number that leaves nothing out is not equal.
    drop(world.remove::<(Buffer<Echo>, Sound)>(horn));
    assert!(world.state_hash().is_whole());
    assert_ne!(world.state_hash(), hash);
}

#[test]
#[should_panic(expected = "cannot write a value")]
fn a_codec_that_fails_is_not_passed_over() {
    struct Stubborn;
    impl Component for Stubborn {
        const HASH: formic_ecs::HashRule<Self> = formic_ecs::HashRule::Codec(
            formic_ecs::Codec::custom(|_, _| Err(formic_ecs::CodecError), |_| Ok(Self)),
        );
    }
    _ = hash_of(|world| _ = world.spawn(Stubborn));
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

#[test]
fn the_hash_of_some_leaves_out_handles_that_are_stale() {
    let mut world = World::new();
    let [imp, rat, gone] = [1, 2, 3].map(|number| world.spawn((A(number), On)));
    let before = world.state_hash_of([imp, rat]);
    assert_ne!(world.state_hash_of([imp, rat, gone]), before);
    world.despawn(gone).expect("alive");
    assert_eq!(world.state_hash_of([gone, imp, rat]), before);
    // Another entity has the slot: the handle of the one before is not its own.
    let new = world.spawn((A(9), On, Text("new".into())));
    assert_eq!(new.index(), gone.index());
    assert_eq!(world.state_hash_of([imp, gone, rat]), before);
    assert_ne!(world.state_hash_of([imp, new, rat]), before);
    let nothing = world.state_hash_of([]);
    assert_eq!(world.state_hash_of([gone, gone]), nothing);
    assert_eq!(World::new().state_hash_of([imp, new]), nothing, "none of its own is alive");
}

/// Where the trees differ, the search for a difference would end without one.
#[test]
fn an_archetype_without_entities_is_no_difference() {
    let (mut one, mut other) = (World::new(), World::new());
    let gone = [one.spawn(On), other.spawn(())];
    one.despawn(gone[0]).expect("alive");
    other.despawn(gone[1]).expect("alive");
    let imps = [&mut one, &mut other].map(|world| world.spawn(A(1)));
    assert_eq!(HashTree::of(&one), HashTree::of(&other));
    assert_eq!(Difference::between(&one, &other), None);
    one.get_mut::<A>(imps[0]).expect("there").0 = 2;
    assert_ne!(HashTree::of(&one), HashTree::of(&other));
    let found = Difference::between(&one, &other);
    assert!(matches!(found, Some(Difference::Value { entity, .. }) if entity == imps[0]));
}

#[test]
fn a_difference_says_what_is_different() {
    let worlds = || {
        let mut pair = [World::new(), World::new()];
        let imps = pair.each_mut().map(|world| world.spawn((A(1), On)));
        assert_eq!(Difference::between(&pair[0], &pair[1]), None);
        (pair, imps[0])
    };
    let check = |change: &dyn Fn(&mut World, Entity), expected: [&str; 2]| {
        let ([mut one, other], imp) = worlds();
        change(&mut one, imp);
        let found = [Difference::between(&one, &other), Difference::between(&other, &one)];
        let shown = found.map(|found| found.expect("they differ").to_string());
        assert_eq!(shown.map(|text| text.replace(&imp.to_string(), "it")), expected);
    };
    let ([world, _], _) = worlds();
    let id = world.component_id::<On>().expect("known");
    let name = world.component_info(id).expect("known").name();
    let switched = |side| format!("{name} of it is enabled {side} only");
    let sides = [switched("there"), switched("here")];
    let off = |world: &mut World, imp| _ = world.set_enabled::<On>(imp, false).expect("there");
    check(&off, sides.each_ref().map(|side| &**side));
    let removed = ["there", "here"].map(|side| format!("it has {name} {side} only"));
    let removes = |world: &mut World, imp| _ = world.remove::<On>(imp).expect("there");
    check(&removes, removed.each_ref().map(|side| &**side));
    let gone = |world: &mut World, imp| world.despawn(imp).expect("alive");
    check(&gone, ["it is alive there only", "it is alive here only"]);
}

#[test]
fn entities_in_another_order_are_a_difference() {
    let world = |order: [usize; 2]| {
        let mut world = World::new();
        let imps = [world.spawn(A(0)), world.spawn(A(1))];
        order.into_iter().for_each(|i| world.insert(imps[i], On).expect("alive"));
        (world, imps)
    };
    let ((one, imps), (other, _)) = (world([0, 1]), world([1, 0]));
    let expected = Difference::Order { here: Some(imps[0]), there: Some(imps[1]) };
    assert_eq!(
        expected.to_string(),
        format!("entities are in another order: {} here is where {} is there", imps[0], imps[1])
    );
    assert_eq!(Difference::between(&one, &other), Some(expected));
}

#[test]
fn values_of_the_standard_library_are_seen() {
    use std::collections::BinaryHeap;
    fn of(value: &impl HashState) -> u64 {
        let mut hasher = StateHasher::new();
        value.hash_state(&mut hasher);
        hasher.finish()
    }
    let heap = |numbers: &[u32]| of(&numbers.iter().copied().collect::<BinaryHeap<_>>());
    assert_eq!(heap(&[1, 2, 3, 4]), heap(&[4, 2, 1, 3]), "in another order");
    assert_all_differ(&[heap(&[]), heap(&[0]), heap(&[0, 0]), heap(&[1, 2]), heap(&[1, 3])]);
    let result = |result: Result<u32, u32>| of(&result);
    assert_all_differ(&[result(Ok(1)), result(Ok(2)), result(Err(1)), result(Err(2))]);
    let mut left = 2..=3_u32;
    let steps = std::array::from_fn::<_, 3, _>(|_| {
        let before = of(&left);
        _ = left.next();
        before
    });
    assert_all_differ(&[steps[0], steps[1], of(&left), of(&(3..=4_u32))]);
    assert_eq!(steps[1], of(&(3..=3_u32)), "it has one step left");
}
