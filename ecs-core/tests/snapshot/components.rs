//! Each kind of component is saved, and found again by its name.

use super::*;
use formic_ecs::{MalformedSnapshot, RestoreError, SnapshotError};

#[test]
fn a_transient_component_comes_back_with_its_default() {
    let mut world = World::new();
    let a = world.spawn((Tag, Cache(Some("kept elsewhere".into()))));
    let b = world.spawn(Tag);
    let saved = world.snapshot().expect("it has not to be saved");
    world.restore(&saved).expect("its own");
    assert_eq!(world.get::<Cache>(a), Ok(&Cache(None)));
    assert!(!world.has::<Cache>(b));
    assert!(!String::from_utf8_lossy(saved.as_bytes()).contains("elsewhere"));
}

#[test]
fn a_component_that_cannot_be_saved_is_named() {
    #[derive(Component)]
    struct Opaque(String);
    let mut world = World::new();
    let entity = world.spawn((Tag, Opaque(String::new())));
    let error = world.snapshot().expect_err("it cannot");
    assert_eq!(error, SnapshotError::NotSerializable { component: Opaque::name().to_string() });
    world.despawn(entity).expect("alive");
    // An archetype without entities has nothing that could not be saved.
    let saved = world.snapshot().expect("no values");
    world.restore(&saved).expect("its own");
}

/// A reader that stops early would have each later value begin in the middle of another.
#[test]
fn a_function_that_does_not_read_all_that_was_written_is_an_error() {
    #[derive(Debug, PartialEq)]
    struct Late(u32);
    impl Component for Late {
        const CODEC: Codec<Self> = Codec::custom(write, read);
        const HASH: HashRule<Self> = HashRule::Codec(Codec::custom(write, read));
    }
    fn write(value: &Late, out: &mut Vec<u8>) -> Result<(), CodecError> {
        out.extend([value.0.to_le_bytes(), [9; 4]].concat());
        Ok(())
    }
    fn read(bytes: &mut &[u8]) -> Result<Late, CodecError> {
        let (first, rest) = bytes.split_first_chunk().ok_or(CodecError)?;
        *bytes = rest;
        Ok(Late(u32::from_le_bytes(*first)))
    }
    let mut world = World::new();
    let entity = world.spawn(Late(4));
    let saved = world.snapshot().expect("it can be written");
    world.get_mut::<Late>(entity).expect("alive").0 = 5;
    let component = Late::name().to_string();
    assert_eq!(world.restore(&saved), Err(RestoreError::InvalidValue { component }));
    assert_eq!(world.get::<Late>(entity), Ok(&Late(5)), "as it was");
}

#[test]
fn a_value_that_its_function_cannot_write_is_named() {
    let mut world = World::new();
    world.spawn(Name("long".repeat(100)));
    let component = Name::name().to_string();
    assert_eq!(world.snapshot(), Err(SnapshotError::Unwritable { component }));
    let mut saved = World::new().snapshot().expect("nothing to save");
    assert!(world.snapshot_into(&mut saved).is_err());
    assert_eq!(
        world.restore(&saved),
        Err(RestoreError::Malformed(MalformedSnapshot::NotASnapshot)),
        "what is half written is no snapshot"
    );
}

#[test]
fn two_components_with_one_name_are_told_apart_by_nobody() {
    #[derive(Component)]
    #[component(name = "tests.twin")]
    struct One;
    #[derive(Component)]
    #[component(name = "tests.twin")]
    struct Two;
    let mut world = World::new();
    world.spawn(One);
    let saved = world.snapshot().expect("one of them");
    world.spawn(Two);
    let component = "tests.twin".to_string();
    assert_eq!(
        world.snapshot(),
        Err(SnapshotError::AmbiguousName { component: component.clone() })
    );
    assert_eq!(world.restore(&saved), Err(RestoreError::AmbiguousName { component }));
    assert_eq!(world.len(), 2);
}

#[test]
fn a_world_that_does_not_know_a_component_says_so() {
    let (world, _) = sample(10);
    let saved = world.snapshot().expect("all can be saved");
    let mut other = World::new();
    other.spawn(Tag);
    let error = other.restore(&saved).expect_err("it knows hardly any");
    assert!(matches!(error, RestoreError::UnknownComponent { .. }), "{error}");
    assert_eq!(other.len(), 1);
    other.check().expect("in order");
}

#[test]
fn a_component_that_has_changed_since_is_refused() {
    mod old {
        use super::*;
        #[derive(Component, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
        #[component(name = "tests.a")]
        #[repr(C)]
        pub(super) struct A(pub u32);
        #[derive(Component, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
        #[component(name = "tests.b")]
        #[repr(C)]
        pub(super) struct B(pub u32);
        #[derive(Component)]
        #[component(name = "tests.c")]
        pub(super) struct C;
    }
    #[derive(Component, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
    #[component(name = "tests.a")]
    #[repr(C)]
    struct A(u64);
    #[derive(Component, Default)]
    #[component(name = "tests.b", transient)]
    struct B;
    #[derive(Component)]
    #[component(name = "tests.c", enableable)]
    struct C;

    let saved = |make: fn(&mut World)| {
        let mut world = World::new();
        make(&mut world);
        world.snapshot().expect("all can be saved")
    };
    let all = [
        saved(|world| _ = world.spawn(old::A(1))),
        saved(|world| _ = world.spawn(old::B(1))),
        saved(|world| _ = world.spawn(old::C)),
    ];
    let mut world = World::new();
    world.spawn((A(1), B, C));
    let hash = world.state_hash();
    for saved in all {
        let error = world.restore(&saved).expect_err("not the same");
        let is_named = matches!(
            error,
            RestoreError::DifferentComponent { .. } | RestoreError::ChangedFields { .. }
        );
        assert!(is_named, "{error}");
        assert_eq!(world.state_hash(), hash);
    }
}

#[test]
fn buffers_come_back_with_all_their_elements() {
    let mut world = World::new();
    let steps = |len: u32| -> Buffer<Step> { (0..len).map(Step).collect() };
    let names = |len: u32| -> Buffer<Name> { (0..len).map(|i| Name(format!("{i}"))).collect() };
    let all: Vec<Entity> = (0..9).map(|i| world.spawn((steps(i), names(9 - i)))).collect();
    let saved = world.snapshot().expect("all can be saved");
    world.clear();
    world.restore(&saved).expect("its own");
    for (i, &entity) in (0..).zip(&all) {
        assert_eq!(world.get::<Buffer<Step>>(entity), Ok(&steps(i)));
        assert_eq!(world.get::<Buffer<Name>>(entity), Ok(&names(9 - i)));
        assert_eq!(world.get::<Buffer<Step>>(entity).expect("there").is_inline(), i <= 2);
    }
}

/// Each has a length before it, so that a count of them is bounded by the bytes that are there.
#[test]
fn a_count_of_elements_without_a_size_is_not_believed() {
    #[derive(Component, Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
    #[component(buffer = 2)]
    #[repr(C)]
    struct Empty(());
    #[derive(Component, Debug, PartialEq)]
    #[component(buffer = 2)]
    struct Mark;
    fn check<T: Component + core::fmt::Debug + PartialEq>(buffer: &T) {
        let mut bytes = Vec::new();
        T::CODEC.write(buffer, &mut bytes).expect("it can be saved");
        assert_eq!(T::CODEC.read(&mut bytes.as_slice()).as_ref(), Ok(buffer));
        for count in [6, 1 << 40, u64::MAX] {
            bytes[..8].copy_from_slice(&count.to_le_bytes());
            assert!(T::CODEC.read(&mut bytes.as_slice()).is_err(), "{count}");
        }
    }
    check(&[Empty(()); 5].into_iter().collect::<Buffer<Empty>>());
    check(&(0..5).map(|_| Mark).collect::<Buffer<Mark>>());
}

#[test]
fn an_element_that_leaves_some_of_its_bytes_is_refused() {
    let names: Buffer<Name> = ["Ada", "Bob"].map(|name| Name(name.into())).into_iter().collect();
    let mut bytes = Vec::new();
    Buffer::<Name>::CODEC.write(&names, &mut bytes).expect("it can be saved");
    assert_eq!(Buffer::<Name>::CODEC.read(&mut &bytes[..]), Ok(names));
    // The count of elements, then the first one with its length before it.
    let len = u64::from_le_bytes(bytes[8..16].try_into().expect("eight"));
    bytes[8..16].copy_from_slice(&(len + 1).to_le_bytes());
    bytes.insert(16 + usize::try_from(len).expect("short"), 0);
    assert!(Buffer::<Name>::CODEC.read(&mut &bytes[..]).is_err());
}

#[test]
fn components_of_run_time_are_saved_if_they_are_bytes() {
    use core::alloc::Layout;
    use formic_ecs::{ComponentDescriptor, DynamicQuery};
    let health = || ComponentDescriptor::bytes("script.health", Layout::new::<u32>());
    let mut world = World::new();
    let id = world.by_id_mut().register(health()).expect("new");
    let all: Vec<Entity> = (0..100).map(|_| world.spawn(Tag)).collect();
    for (i, &entity) in (0_u32..).zip(&all) {
        world.by_id_mut().insert(entity, id, &i.to_ne_bytes()).expect("alive");
    }
    let saved = world.snapshot().expect("bytes");
    let mut query = DynamicQuery::builder().read(id).build(&world).expect("well made");
    let count = |world: &mut World, query: &mut DynamicQuery| {
        let mut sum = 0;
        let rows = world.query_by_id(query).expect("of this world");
        rows.for_each(|row| sum += u32::from(row.bytes(0).expect("bytes")[0]));
        sum
    };
    assert_eq!(count(&mut world, &mut query), 4950);
    world.clear();
    world.restore(&saved).expect("its own");
    assert_eq!(count(&mut world, &mut query), 4950, "the query begins again");
    assert_eq!(world.by_id().get(all[77], id), Ok(&77_u32.to_ne_bytes()[..]));

    let mut other = World::new();
    other.register::<Tag>();
    other.by_id_mut().register(health()).expect("new");
    other.restore(&saved).expect("known");
    assert_eq!(other.state_hash(), world.state_hash());
}

mod with_serde {
    use super::*;
    use std::collections::BTreeMap;

    #[derive(Component, Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    #[component(serde)]
    struct Inventory {
        items: BTreeMap<String, u32>,
        owner: Option<Entity>,
    }

    #[derive(Component, Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    #[component(serde, buffer = 1)]
    struct Note(String);

    #[test]
    fn components_are_saved_by_serde() {
        let mut world = World::new();
        let owner = world.spawn(Tag);
        let inventory = |count: u32| Inventory {
            items: (0..count).map(|i| (format!("item {i}"), i)).collect(),
            owner: (count % 2 == 0).then_some(owner),
        };
        let notes = |count: u32| (0..count).map(|i| Note(i.to_string())).collect::<Buffer<_>>();
        let all: Vec<Entity> = (0..50).map(|i| world.spawn((inventory(i), notes(i % 4)))).collect();
        let saved = world.snapshot().expect("all can be saved");
        world.clear();
        world.restore(&saved).expect("its own");
        for (i, &entity) in (0..).zip(&all) {
            assert_eq!(world.get::<Inventory>(entity), Ok(&inventory(i)));
            assert_eq!(world.get::<Buffer<Note>>(entity), Ok(&notes(i % 4)));
        }
        assert_eq!(world.snapshot().expect("again"), saved);
    }

    #[test]
    fn a_handle_without_a_generation_is_refused() {
        assert!(postcard_of_zero().is_err());
    }

    fn postcard_of_zero() -> Result<Entity, serde::de::value::Error> {
        use serde::Deserialize;
        use serde::de::IntoDeserializer;
        Entity::deserialize(IntoDeserializer::into_deserializer(7_u64))
    }
}
