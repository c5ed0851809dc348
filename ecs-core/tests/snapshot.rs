//! Snapshots: to go back to what was, exactly.

mod support;

use ecs_core::prelude::*;
use ecs_core::{
    Add, Added, Changed, Codec, CodecError, MalformedSnapshot, NoSuchEntity, Remove, RestoreError,
    Snapshot, SnapshotError,
};
use support::{Counted, Ledger, panics_as_planned};

#[derive(Component, Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Position([f32; 3]);

#[derive(Component, Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[component(enableable, name = "tests.fuel")]
#[repr(C)]
struct Fuel(u16);

#[derive(
    Component, Clone, Copy, Debug, PartialEq, bytemuck::NoUninit, bytemuck::CheckedBitPattern,
)]
#[component(tracked)]
#[repr(u8)]
enum Mood {
    Calm = 1,
    Angry = 2,
}

#[derive(Component, Clone, Copy, PartialEq, bytemuck::NoUninit, bytemuck::CheckedBitPattern)]
#[repr(C)]
struct Target(#[component(entity)] Entity);

#[derive(Component)]
struct Tag;

#[derive(Component)]
#[component(enableable)]
struct Active;

#[derive(Component, Clone, Debug, PartialEq, Default)]
#[component(transient)]
struct Cache(Option<String>);

#[derive(Component, Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[component(buffer = 2)]
#[repr(C)]
struct Step(u32);

/// Saved by functions of its own: a length and text.
#[derive(Clone, Debug, PartialEq)]
struct Name(String);

impl Component for Name {
    const CODEC: Codec<Self> = Codec::custom(write_name, read_name);
    const HASH: Option<ecs_core::HashFn<Self>> =
        Some(|name, hasher| hasher.write(name.0.as_bytes()));
}

fn write_name(name: &Name, out: &mut Vec<u8>) -> Result<(), CodecError> {
    out.push(u8::try_from(name.0.len()).map_err(|_| CodecError)?);
    out.extend(name.0.as_bytes());
    Ok(())
}

fn read_name(source: &mut &[u8]) -> Result<Name, CodecError> {
    let (&len, rest) = source.split_first().ok_or(CodecError)?;
    let (text, rest) = rest.split_at_checked(len.into()).ok_or(CodecError)?;
    *source = rest;
    Ok(Name(std::str::from_utf8(text).map_err(|_| CodecError)?.to_owned()))
}

impl ecs_core::BufferElement for Name {
    type Inline = [Self; 1];
    const CODEC: Codec<Self> = Codec::custom(write_name, read_name);
}

fn position(i: u32) -> Position {
    Position([i as f32, 0.5, -1.0])
}

/// A world with all kinds of components, with holes in all kinds of places.
fn sample(size: u32) -> (World, Vec<Entity>) {
    let mut world = World::new();
    let mut all = Vec::new();
    for i in 0..size {
        let entity = match i % 5 {
            0 => world.spawn((position(i), Fuel(1))),
            1 => world.spawn((Fuel(2), Active, position(i), Tag)),
            2 => world.spawn((Name(format!("n{i}")), Target(all[i as usize / 2]))),
            3 => world.spawn((Mood::Angry, (0..i % 7).map(Step).collect::<Buffer<_>>())),
            _ => world.spawn(()),
        };
        all.push(entity);
    }
    for (i, &entity) in all.iter().enumerate() {
        match i % 11 {
            0 => world.despawn(entity).expect("alive"),
            1 => world.insert(entity, Mood::Calm).expect("alive"),
            2 => _ = world.remove::<Position>(entity),
            3 | 4 => _ = world.set_enabled::<Fuel>(entity, false),
            5 => world.insert(entity, (Tag, Cache::default())).expect("alive"),
            _ => {}
        }
    }
    for step in world.query::<&mut Mood>() {
        *step = Mood::Calm;
    }
    (world, all)
}

/// Everything about the entities that can be seen, in the order in which it is seen.
fn seen(world: &mut World) -> Vec<String> {
    let mut lines = Vec::new();
    let all: Vec<Entity> = world.entities().collect();
    for entity in all {
        lines.push(format!(
            "{entity} {:?} {:?} {:?} {:?} {:?}",
            world.components_of(entity),
            world.get::<Position>(entity),
            world.get::<Name>(entity),
            world.get::<Mood>(entity),
            world.get::<Buffer<Step>>(entity).map(|steps| steps.to_vec()),
        ));
    }
    for (entity, fuel) in world.query::<(Entity, &Fuel)>() {
        lines.push(format!("{entity} {fuel:?}"));
    }
    for archetype in world.archetypes() {
        let fills: Vec<_> = (0..archetype.chunk_count()).map(|i| archetype.chunk_fill(i)).collect();
        lines.push(format!("{:?}", fills));
    }
    lines
}

/// Changes a world in every way.
fn disturb(world: &mut World) {
    let all: Vec<Entity> = world.entities().collect();
    for (i, &entity) in all.iter().enumerate() {
        match i % 4 {
            0 => world.despawn(entity).expect("alive"),
            1 => world.insert(entity, (Name("new".into()), Tag)).expect("alive"),
            2 => _ = world.set_enabled::<Fuel>(entity, i % 8 == 2),
            _ => _ = world.remove::<Mood>(entity),
        }
    }
    drop(world.spawn_batch((0..50).map(|i| (Tag, Active, position(i), Mood::Calm))));
}

const SIZES: [u32; 4] = if cfg!(miri) { [0, 1, 7, 30] } else { [0, 7, 200, 5000] };

#[test]
fn a_world_goes_back_to_what_it_was() {
    for size in SIZES {
        let (mut world, all) = sample(size);
        let (before, hash) = (seen(&mut world), world.state_hash());
        let saved = world.snapshot().expect("all can be saved");
        disturb(&mut world);
        world.restore(&saved).expect("its own");
        world.check().expect("in order");
        assert_eq!(world.state_hash(), hash);
        assert_eq!(seen(&mut world), before);
        assert!(all.iter().enumerate().all(|(i, &entity)| world.contains(entity) == (i % 11 != 0)));
    }
}

#[test]
fn the_same_state_has_the_same_bytes() {
    let (mut world, _) = sample(300);
    let saved = world.snapshot().expect("all can be saved");
    assert_eq!(world.snapshot().expect("again"), saved, "to look is not to change");
    disturb(&mut world);
    world.restore(&saved).expect("its own");
    assert_eq!(world.snapshot().expect("again"), saved);
}

#[test]
fn what_follows_is_what_followed() {
    let follow = |world: &mut World| {
        let fresh = world.spawn((position(7), Tag));
        let saved = world.snapshot().expect("all can be saved");
        disturb(world);
        (fresh, saved, seen(world), world.snapshot().expect("all can be saved"))
    };
    let (mut world, _) = sample(300);
    let saved = world.snapshot().expect("all can be saved");
    let first = follow(&mut world);
    disturb(&mut world);
    world.restore(&saved).expect("its own");
    assert!(first == follow(&mut world), "handles, rows, order, versions");
}

#[test]
fn another_world_is_the_same_then_whatever_it_has_met_before() {
    let (mut world, _) = sample(300);
    let saved = world.snapshot().expect("all can be saved");
    let mut other = World::new();
    // In another order than the first world met them.
    other.register::<Active>();
    let old = other.spawn((Tag, Mood::Calm, Cache(None)));
    other.spawn((Name("old".into()), Target(old)));
    other.register::<Buffer<Step>>();
    drop(other.spawn_batch((0..100).map(|i| (Fuel(1), position(i)))));
    other.restore(&Snapshot::from_bytes(saved.as_bytes()).expect("ours")).expect("known");
    other.check().expect("in order");
    assert_eq!(other.snapshot().expect("all can be saved"), saved);
    assert_eq!(other.state_hash(), world.state_hash());
    world.register::<Buffer<Step>>();
    for (mine, theirs) in seen(&mut world).iter().zip(&seen(&mut other)) {
        // The components of an entity are listed in the order in which the world met them.
        assert_eq!(mine.split_whitespace().next(), theirs.split_whitespace().next());
    }
}

#[test]
fn handles_of_the_snapshot_live_again_and_those_after_it_are_stale() {
    let mut world = World::new();
    let old = world.spawn(Tag);
    let saved = world.snapshot().expect("tags can be saved");
    world.despawn(old).expect("alive");
    let reused = world.spawn(Tag);
    let new = world.spawn(Tag);
    world.restore(&saved).expect("its own");
    assert!(world.has::<Tag>(old));
    assert_eq!(world.despawn(reused), Err(NoSuchEntity(reused)));
    assert_eq!(world.despawn(new), Err(NoSuchEntity(new)));
    world.despawn(old).expect("alive");
    assert_eq!([world.spawn(()), world.spawn(())], [reused, new], "as it was the first time");
}

#[test]
fn the_free_list_and_its_order_come_back() {
    let mut world = World::new();
    let all: Vec<Entity> = (0..10).map(|_| world.spawn(())).collect();
    for index in [3, 7, 1, 8] {
        world.despawn(all[index]).expect("alive");
    }
    let saved = world.snapshot().expect("nothing to save");
    let next = |world: &mut World| -> Vec<Entity> { (0..6).map(|_| world.spawn(())).collect() };
    let first = next(&mut world);
    world.clear();
    world.restore(&saved).expect("its own");
    world.check().expect("in order");
    assert_eq!(next(&mut world), first);
}

#[test]
fn plans_notice_that_the_archetypes_are_others() {
    let mut world = World::new();
    world.spawn(Tag);
    let saved = world.snapshot().expect("tags can be saved");
    let target = world.spawn((position(1), Fuel(3)));
    let mut query = world.plan::<&Position, With<Fuel>>();
    let mut view = world.view_plan::<&Position>();
    let mut claims = world.claim_plan::<&mut Position>();
    assert_eq!(world.query_filtered::<&Position, With<Fuel>>().count(), 1);
    let cell = world.cell();
    assert_eq!(cell.query(&mut query).expect("free").count(), 1);
    assert!(cell.view(&mut view).expect("free").get(target).is_ok());
    assert!(cell.claims(&mut claims).expect("free").claim(target).is_ok());

    world.restore(&saved).expect("its own");
    // Others at the places where the plans have seen something else.
    let text = world.spawn(Name("text where numbers were".into()));
    let both = world.spawn((Active, position(2)));
    let third = world.spawn((Fuel(4), position(3), Active));
    let found: Vec<&Position> =
        world.query_filtered::<&Position, With<Fuel>>().into_iter().collect();
    assert_eq!(found, [&position(3)]);
    let cell = world.cell();
    let mut found = Vec::new();
    cell.query(&mut query).expect("free").query().for_each(|position| found.push(*position));
    assert_eq!(found, [position(3)]);
    let view = cell.view(&mut view).expect("free");
    assert!(view.get(text).is_err());
    assert_eq!(view.get(both), Ok(&position(2)));
    drop(view);
    let claims = cell.claims(&mut claims).expect("free");
    assert!(claims.claim(text).is_err());
    assert_eq!(*claims.claim(third).expect("there").get_mut(), position(3));
}

#[test]
fn what_has_changed_since_when_comes_back() {
    let mut world = World::new();
    let all = world.spawn_batch((0..100).map(|i| (Mood::Calm, position(i))));
    let before = world.version();
    *world.get_mut::<Mood>(all[70]).expect("there") = Mood::Angry;
    *world.get_mut::<Position>(all[0]).expect("there") = position(9);
    let later = world.spawn((Mood::Angry, position(3)));
    let look = |world: &mut World| {
        let changed = world.query_filtered::<Entity, Changed<Mood>>().since(before);
        let changed: Vec<Entity> = changed.into_iter().collect();
        let added = world.query_filtered::<Entity, Added<Mood>>().since(before);
        let added: Vec<Entity> = added.into_iter().collect();
        let chunks = world.query_filtered::<&Position, Changed<Position>>().since(before);
        (changed, added, chunks.count())
    };
    let first = look(&mut world);
    assert_eq!((&first.0[..], &first.1[..]), (&[all[70], later][..], &[later][..]));
    let saved = world.snapshot().expect("all can be saved");
    world.query::<&mut Mood>().for_each(|mood| *mood = Mood::Calm);
    world.restore(&saved).expect("its own");
    assert_eq!(look(&mut world), first);
    world.check().expect("in order");
}

#[test]
fn to_a_plan_everything_is_new_after_a_restore_and_nothing_after_a_collection() {
    let mut world = World::new();
    drop(world.spawn_batch((0..10).map(|_| (Mood::Calm, Tag))));
    let saved = world.snapshot().expect("all can be saved");
    let gone = world.spawn(Fuel(1));
    let mut plan = world.plan::<&Mood, Changed<Mood>>();
    let mut count = |world: &mut World| {
        let cell = world.cell();
        cell.query(&mut plan).expect("free").query().count()
    };
    assert_eq!((count(&mut world), count(&mut world)), (10, 0));
    world.despawn(gone).expect("alive");
    assert_eq!(world.collect_archetypes(), 1);
    assert_eq!(count(&mut world), 0);
    world.restore(&saved).expect("its own");
    assert_eq!((count(&mut world), count(&mut world)), (10, 0));
}

#[test]
fn bundles_notice_that_the_archetypes_are_others() {
    let mut world = World::new();
    let saved = world.snapshot().expect("nothing to save");
    let go = |world: &mut World| {
        let entity = world.spawn((position(1), Tag));
        world.insert(entity, Name("a".into())).expect("alive");
        assert!(world.remove::<Position>(entity).is_ok());
        world.components_of(entity).expect("alive").len()
    };
    let first = go(&mut world);
    world.restore(&saved).expect("its own");
    world.spawn((Mood::Calm, Fuel(1)));
    assert_eq!(go(&mut world), first);
    world.check().expect("in order");
}

#[test]
fn commands_from_before_are_played_by_the_rules_of_handles() {
    let mut world = World::new();
    let old = world.spawn(Tag);
    let saved = world.snapshot().expect("tags can be saved");
    let new = world.spawn(Tag);
    let mut commands = CommandBuffer::new(&world);
    commands.insert(old, Fuel(1));
    commands.insert(new, Fuel(2));
    let spawned = commands.spawn(Fuel(3));
    commands.insert(old, Target(spawned));
    world.restore(&saved).expect("its own");
    let playback = commands.play(&mut world);
    let failures = playback.failures();
    assert!(matches!(failures, [failure] if failure.entity == new), "{failures:?}");
    assert_eq!(world.get::<Fuel>(old), Ok(&Fuel(1)));
    // The same slot with the same generation: a handle to what never was is no handle to keep.
    assert_eq!(world.get::<Target>(old).map(|target| target.0), Ok(new));
    assert_eq!(world.get::<Fuel>(new), Ok(&Fuel(3)));
    world.check().expect("in order");
}

#[test]
fn watchers_are_not_told_of_a_restore_and_stay() {
    let mut world = World::new();
    world.insert_resource(0_u32);
    world.observe::<Add, Tag>(|world: &mut World, _| {
        *world.resource_mut::<u32>().expect("there") += 1;
    });
    world.spawn(Tag);
    let saved = world.snapshot().expect("tags can be saved");
    world.clear();
    world.restore(&saved).expect("its own");
    assert_eq!(world.resource::<u32>(), Ok(&1));
    world.spawn((Tag, Fuel(1)));
    world.spawn(Tag);
    assert_eq!(world.resource::<u32>(), Ok(&3));
}

#[test]
fn a_watcher_may_go_back_in_time_but_not_while_commands_are_played() {
    let mut world = World::new();
    let first = world.spawn(Fuel(1));
    let saved = world.snapshot().expect("plain");
    let in_playback = saved.clone();
    world.observe::<Remove, Tag>(move |world: &mut World, _| {
        world.restore(&saved).expect("no playback");
    });
    world.observe::<Add, Mood>(move |world: &mut World, _| {
        assert_eq!(world.snapshot(), Err(SnapshotError::InPlayback));
        assert_eq!(world.restore(&in_playback), Err(RestoreError::InPlayback));
    });
    let tagged = world.spawn((Tag, position(1)));
    assert!(world.remove::<Tag>(tagged).is_err(), "it was never there");
    assert!(world.contains(first) && !world.contains(tagged));
    world.check().expect("in order");

    let mut commands = CommandBuffer::new(&world);
    commands.insert(first, Mood::Calm);
    let spawned = commands.spawn(Fuel(2));
    commands.insert(first, Target(spawned));
    assert_eq!(commands.play(&mut world).failures(), []);
    assert_eq!(world.len(), 2);
    world.check().expect("in order");
}

#[test]
fn resources_stay_as_they_are() {
    let mut world = World::new();
    _ = world.insert_resource(1_u32);
    let saved = world.snapshot().expect("nothing to save");
    *world.resource_mut::<u32>().expect("there") = 2;
    world.restore(&saved).expect("its own");
    assert_eq!(world.resource::<u32>(), Ok(&2));
}

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
    struct Opaque(#[expect(dead_code, reason = "is only there")] String);
    let mut world = World::new();
    let entity = world.spawn((Tag, Opaque(String::new())));
    let error = world.snapshot().expect_err("it cannot");
    assert_eq!(error, SnapshotError::NotSerializable { component: Opaque::name().to_string() });
    world.despawn(entity).expect("alive");
    // An archetype without entities has nothing that could not be saved.
    let saved = world.snapshot().expect("no values");
    world.restore(&saved).expect("its own");
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
fn shared_and_chunk_components_cannot_be_saved() {
    #[derive(SharedComponent, PartialEq, Eq, Hash)]
    struct Level(u32);
    #[derive(ChunkComponent, Default)]
    struct Reach;
    let mut world = World::new();
    let saved = world.snapshot().expect("nothing to save");
    let entity = world.spawn(Tag);
    world.set_shared(entity, Level(1)).expect("alive");
    let component = Level::name().to_string();
    assert_eq!(world.snapshot(), Err(SnapshotError::NotSerializable { component }));
    world.despawn(entity).expect("alive");
    assert!(world.snapshot().is_err(), "the order of archetypes is part of it");
    world.collect_archetypes();
    assert!(world.snapshot().is_ok());

    let entity = world.spawn(Tag);
    world.add_chunk_component::<Reach>(entity).expect("alive");
    let component = Reach::name().to_string();
    assert_eq!(world.snapshot(), Err(SnapshotError::NotSerializable { component }));
    world.restore(&saved).expect("its own");
    world.check().expect("in order");
}

#[test]
fn archetypes_that_are_collected_give_up_their_shared_values() {
    #[derive(SharedComponent, PartialEq, Eq, Hash)]
    struct Text(String);
    let mut world = World::new();
    let plan = |world: &mut World| world.query::<(Entity, Shared<Text>)>().count();
    for round in 0..4 {
        for i in 0..20 {
            let entity = world.spawn(Tag);
            world.set_shared(entity, Text(format!("{round} {i}"))).expect("alive");
        }
        assert_eq!(plan(&mut world), 20);
        world.clear();
        assert!(world.collect_archetypes() >= 20);
        assert_eq!(world.release_unused_shared(), 20, "their ids are used again");
        world.check().expect("in order");
        assert_eq!(plan(&mut world), 0);
    }
}

/// Copies the value while it is written.
struct Copied(Counted);

impl Component for Copied {
    const CODEC: Codec<Self> = Codec::custom(
        |value, out| {
            out.extend(value.0.clone().number().to_le_bytes());
            Ok(())
        },
        |_| Err(CodecError),
    );
}

#[test]
fn a_panicking_write_leaves_no_half_snapshot_and_nothing_behind() {
    let ledger = Ledger::default();
    let mut world = World::new();
    drop(world.spawn_batch((0..9).map(|i| Copied(ledger.value(i)))));
    for nth in 0..9 {
        let mut saved = World::new().snapshot().expect("nothing to save");
        ledger.panic_at_clone(nth);
        assert!(panics_as_planned(|| world.snapshot_into(&mut saved).expect("no error")));
        assert_eq!(saved.as_bytes(), []);
        assert_eq!((world.len(), ledger.live()), (9, 9));
        world.check().expect("in order");
    }
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
        assert!(matches!(error, RestoreError::DifferentComponent { .. }), "{error}");
        assert_eq!(world.state_hash(), hash);
    }
}

#[test]
fn bytes_that_are_no_value_are_refused() {
    let mut world = World::new();
    world.spawn((Mood::Angry, Tag));
    let saved = world.snapshot().expect("all can be saved");
    let mut bytes = saved.as_bytes().to_vec();
    let last = bytes.len() - 1;
    let place = bytes.iter().rposition(|&byte| byte == Mood::Angry as u8).expect("there");
    assert!(place > last - 40);
    for byte in [0, 3, 255] {
        bytes[place] = byte;
        reseal(&mut bytes);
        let altered = Snapshot::from_bytes(&bytes[..]).expect("it contradicts nothing");
        let component = Mood::name().to_string();
        assert_eq!(world.restore(&altered), Err(RestoreError::InvalidValue { component }));
        assert_eq!(world.query::<&Mood>().into_iter().next(), Some(&Mood::Angry));
    }
}

/// Writes the length and the checksum that these bytes have, as somebody hostile would.
fn reseal(bytes: &mut [u8]) {
    let sum = {
        let body = &bytes[32..];
        let mut lanes = [ecs_core::StateHasher::new(); 4];
        let stripes = body.chunks_exact(32);
        let rest = stripes.remainder();
        for stripe in stripes {
            for (lane, word) in lanes.iter_mut().zip(stripe.chunks_exact(8)) {
                lane.write_u64(u64::from_le_bytes(word.try_into().expect("eight")));
            }
        }
        let mut all = ecs_core::StateHasher::new();
        lanes.iter().for_each(|lane| all.write_u64(lane.finish()));
        all.write(rest);
        all.finish()
    };
    let len = (bytes.len() - 32) as u64;
    bytes[16..24].copy_from_slice(&len.to_le_bytes());
    bytes[24..32].copy_from_slice(&sum.to_le_bytes());
}

#[test]
fn what_is_not_a_snapshot_is_told_from_what_is_damaged() {
    let (world, _) = sample(20);
    let saved = world.snapshot().expect("all can be saved");
    let good = saved.as_bytes();
    let check = |change: &dyn Fn(&mut Vec<u8>), expected| {
        let mut bytes = good.to_vec();
        change(&mut bytes);
        assert_eq!(Snapshot::from_bytes(bytes), Err(expected));
    };
    check(&|bytes| bytes.clear(), MalformedSnapshot::NotASnapshot);
    check(&|bytes| bytes[0] ^= 1, MalformedSnapshot::NotASnapshot);
    check(&|bytes| bytes[8] = 9, MalformedSnapshot::UnknownVersion { version: 9 });
    check(&|bytes| bytes[12..16].reverse(), MalformedSnapshot::ForeignByteOrder);
    check(&|bytes| bytes.truncate(20), MalformedSnapshot::WrongLength);
    check(&|bytes| bytes.push(0), MalformedSnapshot::WrongLength);
    check(&|bytes| bytes[40] ^= 1, MalformedSnapshot::WrongChecksum);
    assert_eq!(Snapshot::from_bytes(good), Ok(saved.clone()));
}

#[derive(Component, Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[component(tracked, enableable, name = "wear")]
#[repr(C)]
struct Wear(u32);

/// As a machine writes it whose chunks are as large as you like: an entity per number, all in one
/// chunk, every third switched off, changed at the version after the number and added at 1.
fn one_chunk(count: u32) -> Vec<u8> {
    fn words(bytes: &mut Vec<u8>, words: impl IntoIterator<Item = u32>) {
        words.into_iter().for_each(|word| bytes.extend(word.to_le_bytes()));
    }
    fn longs(bytes: &mut Vec<u8>, longs: impl IntoIterator<Item = u64>) {
        longs.into_iter().for_each(|long| bytes.extend(long.to_le_bytes()));
    }
    let mut bytes = World::new().snapshot().expect("nothing to save").as_bytes()[..32].to_vec();
    let body = &mut bytes;
    longs(body, [u64::from(count) + 1]);
    words(body, [count]);
    words(body, (0..count).map(|_| 1));
    words(body, [0]);
    words(body, [1, 4]);
    body.extend(b"wear\x01\x03");
    longs(body, [4]);
    words(body, [2, 0, 0, 1, 0, 1, count]);
    longs(body, (0..u64::from(count)).map(|index| 1 << 32 | index));
    longs(body, [u64::from(count) + 1, 1]);
    let is_on = |row: u32| row < count && row % 3 != 0;
    let byte = |start: u32| (0..8).fold(0, |byte, bit| byte | u8::from(is_on(start + bit)) << bit);
    body.extend((0..count).step_by(8).map(byte));
    longs(body, (0..u64::from(count)).map(|row| row + 1));
    longs(body, (0..u64::from(count)).map(|_| 1));
    longs(body, [4 * u64::from(count)]);
    words(body, 0..count);
    reseal(&mut bytes);
    bytes
}

#[test]
fn rows_of_a_larger_chunk_come_back_in_their_order_with_bits_and_versions() {
    let count = if cfg!(miri) { 80 } else { 5000 };
    let snapshot = Snapshot::from_bytes(one_chunk(count)).expect("a snapshot");
    let mut world = World::new();
    world.register::<Wear>();
    world.restore(&snapshot).expect("all is known");
    world.check().expect("consistent");
    assert!(world.archetypes()[1].chunk_count() > 1, "it did not fit into one");
    let found: Vec<_> = world
        .query::<(Present<Ref<'_, Wear>>, Enabled<Wear>)>()
        .map(|(wear, bit)| (wear.0, wear.last_changed(), wear.added_at(), bit.get()))
        .collect();
    let expected = (0..count).map(|i| (i, u64::from(i) + 1, 1, i % 3 != 0));
    assert_eq!(found, expected.collect::<Vec<_>>());
    let late = u64::from(count) - 4;
    let changed = world.query_filtered::<&Wear, Changed<Wear>>().since(late).map(|wear| wear.0);
    assert!(changed.eq((count - 4..count).filter(|i| i % 3 != 0)));
}

#[test]
fn a_snapshot_of_a_world_that_has_no_versions_left_is_refused() {
    let mut world = World::new();
    let saved = world.snapshot().expect("all can be saved");
    let aged = |version: u64| {
        let mut bytes = saved.as_bytes().to_vec();
        bytes[32..40].copy_from_slice(&version.to_le_bytes());
        reseal(&mut bytes);
        Snapshot::from_bytes(bytes)
    };
    for version in [u64::MAX, 1 << 63, 1 << 62] {
        assert!(matches!(aged(version), Err(MalformedSnapshot::Contradiction { .. })));
    }
    let old = aged((1 << 62) - 1).expect("old enough to be told from a hostile one");
    world.restore(&old).expect("nothing is unknown");
    world.spawn(Tag);
    assert!(world.version() > (1 << 62) - 1);
    world.check().expect("consistent");
}

#[test]
fn a_snapshot_that_is_cut_off_anywhere_is_refused() {
    let (world, _) = sample(25);
    let saved = world.snapshot().expect("all can be saved");
    for len in 0..saved.as_bytes().len() {
        let mut bytes = saved.as_bytes()[..len].to_vec();
        assert!(Snapshot::from_bytes(&bytes[..]).is_err());
        if len >= 32 {
            reseal(&mut bytes);
            let error = Snapshot::from_bytes(bytes).expect_err("something is missing");
            assert_ne!(error, MalformedSnapshot::WrongChecksum);
        }
    }
}

/// Whatever bytes somebody seals: an error, or a world in order.
#[test]
fn altered_snapshots_are_refused_or_make_a_world_in_order() {
    let rounds = if cfg!(miri) { 30 } else { 6000 };
    let (mut world, _) = sample(if cfg!(miri) { 12 } else { 40 });
    let saved = world.snapshot().expect("all can be saved");
    let mut random = RandomStream::new(99);
    let mut below =
        |bound: usize| usize::try_from(random.below(bound as u64)).expect("below a usize");
    let (mut refused, mut restored, mut same) = (0, 0, 0);
    for round in 0..rounds {
        let mut bytes = saved.as_bytes().to_vec();
        for _ in 0..=below(3) {
            let at = 32 + below(bytes.len() - 32);
            match below(5) {
                0 => bytes[at] ^= 1 << below(8),
                1 => bytes[at] = [0, 1, 127, 128, 255][below(5)],
                2 => {
                    let end = bytes.len().min(at + 1 + below(8));
                    bytes[at..end].fill(255);
                }
                3 => _ = bytes.remove(at),
                _ => bytes.insert(at, 0),
            }
        }
        reseal(&mut bytes);
        let before = world.state_hash();
        let outcome = match Snapshot::from_bytes(bytes) {
            Ok(altered) => world.restore(&altered).map(|()| altered),
            Err(error) => Err(error.into()),
        };
        match outcome {
            Ok(altered) => {
                restored += 1;
                // Mostly the same; bytes of a custom format may say one thing in two ways.
                let again = world.snapshot().expect("all can be saved");
                let hash = world.state_hash();
                same += usize::from(again == altered);
                disturb(&mut world);
                world.restore(&again).expect("its own");
                assert_eq!(world.snapshot().as_ref(), Ok(&again), "round {round}");
                assert_eq!(world.state_hash(), hash);
                disturb(&mut world);
            }
            Err(_) => {
                refused += 1;
                assert_eq!(world.state_hash(), before, "round {round}");
            }
        }
        world.check().expect("in order");
        world.restore(&saved).expect("its own");
    }
    assert!(
        cfg!(miri) || refused > rounds / 4 && restored > rounds / 100 && same > restored / 2,
        "{refused} {restored} {same}"
    );
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

#[test]
fn components_of_run_time_are_saved_if_they_are_bytes() {
    use core::alloc::Layout;
    use ecs_core::{ComponentDescriptor, DynamicQuery};
    let health = || ComponentDescriptor::bytes("script.health", Layout::new::<u32>());
    let mut world = World::new();
    let id = world.register_dynamic(health()).expect("new");
    let all: Vec<Entity> = (0..100).map(|_| world.spawn(Tag)).collect();
    for (i, &entity) in (0_u32..).zip(&all) {
        world.insert_by_id(entity, id, &i.to_ne_bytes()).expect("alive");
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
    assert_eq!(world.get_by_id(all[77], id), Ok(&77_u32.to_ne_bytes()[..]));

    let mut other = World::new();
    other.register::<Tag>();
    other.register_dynamic(health()).expect("new");
    other.restore(&saved).expect("known");
    assert_eq!(other.state_hash(), world.state_hash());
}

#[test]
fn a_restore_drops_what_was_there_once() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let saved = world.snapshot().expect("nothing to save");
    drop(world.spawn_batch((0..100).map(|i| (ledger.value(i), Tag))));
    world.restore(&saved).expect("its own");
    assert_eq!((world.len(), ledger.live()), (0, 0));
}

#[test]
fn a_panicking_drop_of_what_was_there_leaves_the_restored_world() {
    for nth in [0, 1, 50, 99] {
        let ledger = Ledger::default();
        let mut world = World::new();
        let kept = world.spawn(Fuel(1));
        let saved = world.snapshot().expect("plain");
        drop(world.spawn_batch((0..60).map(|i| (ledger.value(i), Tag))));
        drop(world.spawn_batch((0..40).map(|i| (ledger.value(i), Fuel(2)))));
        ledger.panic_at_drop(nth);
        assert!(panics_as_planned(|| world.restore(&saved).expect("its own")));
        world.check().expect("in order");
        assert_eq!((world.len(), ledger.live()), (1, 0));
        assert_eq!(world.get::<Fuel>(kept), Ok(&Fuel(1)));
    }
}

thread_local! {
    /// How many reads of `Fragile` go well.
    static READS: std::cell::Cell<u32> = const { std::cell::Cell::new(u32::MAX) };
    static ALIVE: std::cell::Cell<i32> = const { std::cell::Cell::new(0) };
}

#[derive(Debug)]
struct Fragile(Box<u8>);

impl Fragile {
    fn new(number: u8) -> Self {
        ALIVE.set(ALIVE.get() + 1);
        Self(Box::new(number))
    }
}

impl Drop for Fragile {
    fn drop(&mut self) {
        ALIVE.set(ALIVE.get() - 1);
    }
}

impl Component for Fragile {
    const CODEC: Codec<Self> = Codec::custom(
        |value, out| {
            out.push(*value.0);
            Ok(())
        },
        |source| {
            let (&number, rest) = source.split_first().ok_or(CodecError)?;
            *source = rest;
            assert!(READS.get() > 0 || number % 2 == 0, "planned: read");
            if READS.get() == 0 {
                return Err(CodecError);
            }
            READS.set(READS.get() - 1);
            Ok(Self::new(number))
        },
    );
}

#[test]
fn a_failing_or_panicking_read_leaves_the_world_and_drops_what_was_read() {
    let mut world = World::new();
    drop(world.spawn_batch((0..70).map(|i| (Fragile::new(i), Fuel(i.into())))));
    let saved = world.snapshot().expect("all can be saved");
    let hash = world.state_hash();
    for reads in 0..70 {
        READS.set(reads);
        let mut result = Ok(());
        let panicked = panics_as_planned(|| result = world.restore(&saved));
        assert!(panicked == (reads % 2 == 1) && panicked == result.is_ok());
        assert_eq!(ALIVE.get(), 70);
        assert_eq!(world.state_hash(), hash);
        world.check().expect("in order");
    }
    READS.set(70);
    world.restore(&saved).expect("its own");
    assert_eq!((ALIVE.get(), world.state_hash()), (70, hash));
    READS.set(u32::MAX);
    drop(world);
    assert_eq!(ALIVE.get(), 0);
}

#[cfg(feature = "serde")]
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
