//! Shared and chunk components in snapshots: values that lie outside the rows.

use super::support::{Counted, Ledger, panics_as_planned};
use super::*;
use formic_ecs::{MalformedSnapshot, RestoreError, Snapshot, SnapshotError};

/// Entities of several levels and texts, in chunks of which every other has a value of its own.
fn rooms(count: u32) -> (World, Vec<Entity>) {
    let mut world = World::new();
    let all: Vec<Entity> = (0..count).map(|i| world.spawn(position(i))).collect();
    for (i, &entity) in (0..).zip(&all) {
        // The greater values come first.
        world.set_shared(entity, Level(3 - i % 3)).expect("alive");
        if i % 4 == 0 {
            world.set_shared(entity, Text(format!("text {}", i % 8))).expect("alive");
        }
        if i % 5 != 0 {
            world.add_chunk_component::<Reach>(entity).expect("alive");
        }
    }
    let mut number = 0;
    world.update_chunk_values::<Reach, Entity>(|reach, _| {
        number += 1;
        *reach = if number % 2 == 0 { Reach::Far } else { Reach::Near };
    });
    (world, all)
}

#[test]
fn groups_come_back_by_value_in_their_order_and_chunks_with_their_values() {
    let (mut world, all) = rooms(if cfg!(miri) { 30 } else { 3000 });
    let (before, hash) = (seen(&mut world), world.state_hash());
    let order = |world: &mut World| {
        let levels = world.query::<(Entity, Shared<Level>)>();
        levels.map(|(entity, level)| (entity, level.0)).collect::<Vec<_>>()
    };
    let first_order = order(&mut world);
    let saved = world.snapshot().expect("all can be saved");
    // To the same values again, to others, and to none at all.
    for (i, &entity) in (0..).zip(&all) {
        world.set_shared(entity, Level(i % 7)).expect("alive");
    }
    world.update_chunk_values::<Reach, Entity>(|reach, _| *reach = Reach::Near);
    world.restore(&saved).expect("its own");
    world.check().expect("in order");
    assert_eq!((seen(&mut world), world.state_hash()), (before, hash));
    assert_eq!(order(&mut world), first_order);

    world.clear();
    world.collect_archetypes();
    assert!(world.release_unused_shared() > 0, "even the values are gone");
    world.restore(&saved).expect("its own");
    world.check().expect("in order");
    assert_eq!(world.snapshot(), Ok(saved));
    assert_eq!(order(&mut world), first_order);
    let attic = world.query::<Entity>().with_shared(&Level(3)).count();
    assert_eq!(attic, all.len().div_ceil(3), "a value can be asked for");
}

#[test]
fn what_follows_among_groups_is_what_followed() {
    let follow = |world: &mut World| {
        let fresh = world.spawn(position(9));
        for (i, entity) in (0..).zip(world.entities().collect::<Vec<_>>()) {
            match i % 3 {
                0 => world.set_shared(entity, Level(i % 4)).expect("alive"),
                1 => _ = world.remove_shared::<Text>(entity),
                _ => world.set_shared(entity, Text("new".into())).expect("alive"),
            }
        }
        (fresh, seen(world), world.snapshot().expect("all can be saved"))
    };
    let (mut world, _) = rooms(if cfg!(miri) { 12 } else { 50 });
    let saved = world.snapshot().expect("all can be saved");
    let first = follow(&mut world);
    world.restore(&saved).expect("its own");
    assert!(follow(&mut world) == first);
}

#[test]
fn another_world_has_to_know_the_types_and_nothing_more() {
    let (world, all) = rooms(if cfg!(miri) { 12 } else { 40 });
    let saved = world.snapshot().expect("all can be saved");
    let mut other = World::new();
    other.register::<Position>();
    let refused = |other: &mut World| match other.restore(&saved) {
        Err(RestoreError::UnknownComponent { component }) => component,
        other => panic!("{other:?}"),
    };
    let unknown = refused(&mut other);
    assert!(unknown == Text::name(), "the first by name is {unknown}");
    other.register_shared::<Text>();
    assert_eq!(refused(&mut other), Level::name());
    other.register_shared::<Level>();
    assert_eq!(refused(&mut other), Reach::name());
    assert_eq!(other.release_unused_shared(), 0, "a refusal leaves nothing behind");
    other.register_chunk_component::<Reach>();
    other.restore(&saved).expect("all is known");
    other.check().expect("in order");
    assert_eq!(other.snapshot(), Ok(saved));
    assert_eq!(other.state_hash(), world.state_hash());
    for &entity in &all {
        assert_eq!(other.shared::<Text>(entity).ok(), world.shared::<Text>(entity).ok());
        assert_eq!(other.chunk_value::<Reach>(entity).ok(), world.chunk_value(entity).ok());
    }
}

#[test]
fn a_chunk_to_which_nothing_was_set_comes_back_so() {
    #[derive(ChunkComponent, Default)]
    struct Opaque(#[expect(dead_code, reason = "is only there")] Option<Box<u8>>);
    #[derive(ChunkComponent, Default, Debug, PartialEq)]
    #[component(transient)]
    struct Guess(u32);
    let mut world = World::new();
    let entity = world.spawn(Tag);
    world.add_chunk_component::<Opaque>(entity).expect("alive");
    world.add_chunk_component::<Guess>(entity).expect("alive");
    world.chunk_value_mut::<Guess>(entity).expect("there").0 = 5;
    let saved = world.snapshot().expect("no value that could not be saved");
    _ = world.chunk_value_mut::<Opaque>(entity).expect("there");
    let component = Opaque::name().to_string();
    assert_eq!(world.snapshot(), Err(SnapshotError::NotSerializable { component }));
    world.restore(&saved).expect("its own");
    assert_eq!(world.snapshot(), Ok(saved));
    assert_eq!(world.chunk_value::<Guess>(entity), Ok(&Guess(0)));
}

#[test]
fn a_shared_value_that_cannot_be_saved_is_named_while_an_archetype_has_it() {
    #[derive(SharedComponent, PartialEq, Eq, Hash)]
    struct Opaque(String);
    let mut world = World::new();
    let entity = world.spawn(Tag);
    world.set_shared(entity, Opaque(String::new())).expect("alive");
    let error = SnapshotError::NotSerializable { component: Opaque::name().to_string() };
    assert_eq!(world.snapshot(), Err(error.clone()));
    world.despawn(entity).expect("alive");
    assert_eq!(world.snapshot(), Err(error), "the order of archetypes is part of it");
    world.collect_archetypes();
    assert!(world.snapshot().is_ok());
}

#[test]
fn one_type_may_be_in_rows_and_outside_of_them() {
    #[derive(
        Component,
        SharedComponent,
        ChunkComponent,
        Clone,
        Copy,
        Debug,
        Default,
        PartialEq,
        Eq,
        Hash,
        bytemuck::Pod,
        bytemuck::Zeroable,
    )]
    #[component(name = "tests.everywhere")]
    #[repr(C)]
    struct Number(u32);
    let mut world = World::new();
    let entity = world.spawn(Number(1));
    world.set_shared(entity, Number(2)).expect("alive");
    world.add_chunk_component::<Number>(entity).expect("alive");
    *world.chunk_value_mut::<Number>(entity).expect("there") = Number(3);
    let saved = world.snapshot().expect("told apart by where they are");
    world.clear();
    world.restore(&saved).expect("its own");
    assert_eq!(world.get::<Number>(entity), Ok(&Number(1)));
    assert_eq!(world.shared::<Number>(entity), Ok(&Number(2)));
    assert_eq!(world.chunk_value::<Number>(entity), Ok(&Number(3)));
}

#[derive(PartialEq, Eq, Hash)]
struct Kept(u8, Held);

/// Counts how many there are; two are always equal.
struct Held(#[expect(dead_code, reason = "only counts")] Counted);

impl PartialEq for Held {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Held {}

impl std::hash::Hash for Held {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

thread_local! {
    static LEDGER: Ledger = Ledger::default();
    /// How many reads go well.
    static READS: std::cell::Cell<u8> = const { std::cell::Cell::new(u8::MAX) };
}

impl Kept {
    fn new(number: u8) -> Self {
        Self(number, Held(LEDGER.with(|ledger| ledger.value(number.into()))))
    }

    fn read(source: &mut &[u8]) -> Result<Self, CodecError> {
        let (&number, rest) = source.split_first().ok_or(CodecError)?;
        *source = rest;
        let left = READS.get().checked_sub(1);
        assert!(left.is_some() || number % 2 == 0, "planned: read");
        READS.set(left.ok_or(CodecError)?);
        Ok(Self::new(number))
    }
}

impl Default for Kept {
    fn default() -> Self {
        Self::new(0)
    }
}

impl SharedComponent for Kept {
    const CODEC: Codec<Self> = Codec::custom(write_kept, Self::read);
}

impl ChunkComponent for Kept {
    const CODEC: Codec<Self> = Codec::custom(write_kept, Self::read);
}

fn write_kept(kept: &Kept, out: &mut Vec<u8>) -> Result<(), CodecError> {
    out.push(kept.0);
    Ok(())
}

#[test]
fn a_failing_or_panicking_read_gives_up_the_values_that_were_new() {
    let live = || LEDGER.with(Ledger::live);
    let mut world = World::new();
    for number in 1..=6 {
        let entity = world.spawn(Tag);
        world.set_shared(entity, Kept::new(number)).expect("alive");
        if number > 3 {
            world.add_chunk_component::<Kept>(entity).expect("alive");
            *world.chunk_value_mut::<Kept>(entity).expect("there") = Kept::new(number + 10);
        }
    }
    let saved = world.snapshot().expect("all can be saved");
    world.clear();
    world.collect_archetypes();
    assert_eq!(world.release_unused_shared(), 6);
    let only = world.spawn(Tag);
    world.set_shared(only, Kept::new(2)).expect("alive");
    // It, and the default of the chunk component.
    assert_eq!(live(), 2);
    for reads in 0..9 {
        READS.set(reads);
        let mut result = Ok(());
        let panicked = panics_as_planned(|| result = world.restore(&saved));
        assert!(panicked || result.is_err());
        assert_eq!((live(), world.len()), (2, 1), "after {reads}");
        assert_eq!(world.release_unused_shared(), 0);
        assert_eq!(world.shared::<Kept>(only).map(|kept| kept.0), Ok(2));
        world.check().expect("in order");
    }
    READS.set(u8::MAX);
    world.restore(&saved).expect("its own");
    assert_eq!(live(), 1 + 6 + 3);
    assert_eq!(world.snapshot(), Ok(saved));
    drop(world);
    assert_eq!(live(), 0);
}

/// Numbers as they lie in a snapshot.
fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A good snapshot in which the last of these bytes were replaced.
fn altered(saved: &Snapshot, old: &[u8], new: &[u8]) -> Result<Snapshot, MalformedSnapshot> {
    let mut bytes = saved.as_bytes().to_vec();
    let at = bytes.windows(old.len()).rposition(|window| window == old).expect("there");
    bytes[at..at + old.len()].copy_from_slice(new);
    reseal(&mut bytes);
    Snapshot::from_bytes(bytes)
}

#[test]
fn contradictions_among_outer_values_are_refused() {
    let mut world = World::new();
    for level in [70, 80] {
        let entity = world.spawn(());
        world.set_shared(entity, Level(level)).expect("alive");
        world.add_chunk_component::<Reach>(entity).expect("alive");
        *world.chunk_value_mut::<Reach>(entity).expect("there") = Reach::Far;
    }
    let saved = world.snapshot().expect("all can be saved");
    let check = |old: &[u32], new: &[u32]| altered(&saved, &words(old), &words(new));
    let refused = |altered: Result<Snapshot, MalformedSnapshot>| {
        assert!(matches!(altered, Err(MalformedSnapshot::Contradiction { .. })), "{altered:?}");
    };
    // The table is: 0 the type of levels, 1 reaches, 2 the level 70, 3 the level 80. An archetype
    // names how many it has, and which.
    refused(check(&[2, 1, 3], &[2, 0, 3]));
    refused(check(&[2, 1, 3], &[2, 2, 3]));
    refused(check(&[2, 1, 3], &[2, 1, 4]));
    refused(check(&[2, 1, 3], &[2, 1, 2]));
    // A value of a type that is not shared, of one byte less, of a type that there is not.
    refused(check(&[0, 4, 0, 80], &[1, 4, 0, 80]));
    refused(check(&[0, 4, 0, 80], &[0, 3, 0, 80]));
    refused(check(&[0, 4, 0, 80], &[9, 4, 0, 80]));
    // Whether the chunk has a value: 1 byte, then how long it is, then the value.
    refused(altered(&saved, &[1, 1, 0, 0, 0, 0, 0, 0, 0, 4], &[2, 1, 0, 0, 0, 0, 0, 0, 0, 4]));
    let hash = world.state_hash();
    let same = check(&[0, 4, 0, 80], &[0, 4, 0, 70]).expect("to be seen only by who reads it");
    let error = world.restore(&same).expect_err("two values are one");
    let contradiction = RestoreError::Malformed(MalformedSnapshot::Contradiction {
        detail: "two shared values of one type are equal",
    });
    assert_eq!(error, contradiction);
    let odd = altered(&saved, &[1, 1, 0, 0, 0, 0, 0, 0, 0, 4], &[1, 1, 0, 0, 0, 0, 0, 0, 0, 9]);
    let component = Reach::name().to_string();
    let error = RestoreError::InvalidValue { component };
    assert_eq!(world.restore(&odd.expect("to be seen only by who reads it")), Err(error));
    assert_eq!(world.state_hash(), hash);
    world.check().expect("in order");
}

#[test]
fn values_of_a_larger_chunk_come_back_in_each_chunk_of_its_rows() {
    let count = if cfg!(miri) { 80 } else { 5000 };
    let mut bytes = World::new().snapshot().expect("nothing to save").as_bytes()[..32].to_vec();
    // The version, the slots, no free ones.
    bytes.extend(words(&[9, 0, count]));
    bytes.extend((0..count).flat_map(|_| words(&[1])));
    // Two components and a shared value.
    bytes.extend(words(&[0, 2]));
    bytes.extend([&words(&[11])[..], b"tests.level\x01\x04", &words(&[4, 0])].concat());
    bytes.extend([&words(&[11])[..], b"tests.reach\x01\x08", &words(&[1, 0])].concat());
    bytes.extend(words(&[1, 0, 4, 0, 33]));
    // An archetype with nothing, and one with both in one chunk.
    bytes.extend(words(&[2, 0, 0, 2, 1, 2, 1, count]));
    bytes.extend((0..count).flat_map(|index| words(&[index, 1])));
    bytes.extend([&words(&[7, 0, 7, 0])[..], &[1], &words(&[1, 0]), &[4]].concat());
    bytes.extend(words(&[8, 0, 8, 0]));
    reseal(&mut bytes);
    let snapshot = Snapshot::from_bytes(bytes).expect("a snapshot");
    let mut world = World::new();
    world.register_shared::<Level>();
    world.register_chunk_component::<Reach>();
    world.restore(&snapshot).expect("all is known");
    world.check().expect("in order");
    assert!(world.archetypes()[1].chunk_count() > 1, "it did not fit into one");
    for entity in world.entities().collect::<Vec<_>>() {
        assert_eq!(world.shared::<Level>(entity), Ok(&Level(33)));
        assert_eq!(world.chunk_value::<Reach>(entity), Ok(&Reach::Far));
    }
}

#[cfg(feature = "serde")]
#[test]
fn outer_values_are_saved_by_serde() {
    #[derive(SharedComponent, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
    #[component(serde)]
    struct Material(String);
    #[derive(ChunkComponent, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
    #[component(serde)]
    struct Notes(Vec<String>);
    let mut world = World::new();
    let entity = world.spawn(Tag);
    world.set_shared(entity, Material("brass".into())).expect("alive");
    world.add_chunk_component::<Notes>(entity).expect("alive");
    world.chunk_value_mut::<Notes>(entity).expect("there").0.push("cold".into());
    let saved = world.snapshot().expect("all can be saved");
    world.clear();
    world.restore(&saved).expect("its own");
    assert_eq!(world.shared(entity), Ok(&Material("brass".into())));
    assert_eq!(world.chunk_value(entity), Ok(&Notes(vec!["cold".into()])));
}
