//! Restored worlds, and their life afterwards.

use formic_ecs::prelude::*;
use formic_ecs::{
    Added, Changed, EventKind, NoSuchEntity, Prefab, RestoreError, Snapshot, SnapshotError,
};

use super::*;

const SIZES: [u32; 4] = if cfg!(miri) { [0, 1, 7, 30] } else { [0, 7, 200, 5000] };
const MANY: u32 = if cfg!(miri) { 24 } else { 300 };

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
    let (mut world, _) = sample(MANY);
    let saved = world.snapshot().expect("all can be saved");
    assert_eq!(world.snapshot().expect("again"), saved, "to look is not to change");
    disturb(&mut world);
    world.restore(&saved).expect("its own");
    assert_eq!(world.snapshot().expect("again"), saved);
}

/// Handles, rows, versions and all: nothing in a world goes by addresses, or by the order of a map that
/// another world does not have.
#[test]
fn the_same_operations_give_the_same_world_to_the_byte() {
    let make = || {
        let (mut world, all) = sample(MANY);
        disturb(&mut world);
        let mut commands = CommandBuffer::new(&world);
        for (i, &entity) in (0..).zip(&all) {
            commands.set_sort_key(i * 7 % 5);
            match i % 3 {
                0 => commands.insert(entity, (Tag, Mood::Angry)),
                1 => commands.remove::<Position>(entity),
                _ => _ = commands.spawn((Fuel(3), position(3))),
            }
        }
        commands.play(&mut world);
        world.bulk::<With<Tag>>().remove::<Tag>();
        world.bulk::<With<Fuel>>().insert(Mood::Calm);
        world.snapshot().expect("all can be saved")
    };
    let first = make();
    assert!((0..3).all(|_| make() == first));
}

#[test]
fn what_follows_is_what_followed() {
    let follow = |world: &mut World| {
        let fresh = world.spawn((position(7), Tag));
        let saved = world.snapshot().expect("all can be saved");
        disturb(world);
        (fresh, saved, seen(world), world.snapshot().expect("all can be saved"))
    };
    let (mut world, _) = sample(MANY);
    let saved = world.snapshot().expect("all can be saved");
    let first = follow(&mut world);
    disturb(&mut world);
    world.restore(&saved).expect("its own");
    assert!(first == follow(&mut world), "handles, rows, order, versions");
}

#[test]
fn another_world_is_the_same_then_whatever_it_has_met_before() {
    let (mut world, _) = sample(MANY);
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
fn a_refused_snapshot_leaves_no_component_behind() {
    #[derive(Component)]
    #[component(cleanup)]
    struct Socket;
    let mut world = World::new();
    let gone = world.spawn((Socket, Tag));
    world.despawn(gone).expect("alive");
    world.spawn(Prefab);
    let saved = world.snapshot().expect("all can be saved");
    let mut other = World::new();
    for _ in 0..2 {
        other.register::<Tag>();
        let known = other.components().len();
        let refused = other.restore(&saved);
        assert!(matches!(refused, Err(RestoreError::UnknownComponent { .. })), "{refused:?}");
        assert_eq!(other.components().len(), known);
        assert_eq!(other.component_id::<Prefab>(), None);
        other.check().expect("in order");
    }
    other.register::<Socket>();
    other.restore(&saved).expect("known");
    other.check().expect("in order");
    assert_eq!(other.snapshot().expect("all can be saved"), saved);
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
    let mut query = world.plan_filtered::<&Position, With<Fuel>>();
    let mut view = world.view_plan::<&Position>();
    let mut claims = world.claim_plan::<&mut Position>();
    let mut rows = world.plan::<Claimant<'_>>();
    assert_eq!(world.query_filtered::<&Position, With<Fuel>>().count(), 1);
    let cell = world.cell();
    assert_eq!(cell.query(&mut query).expect("free").count(), 1);
    assert!(cell.view(&mut view).expect("free").get(target).is_ok());
    let exclusive = cell.claims(&mut claims).expect("free");
    let taken = |row: Claimant<'_>| assert!(exclusive.claim(&row, target).is_ok());
    cell.query(&mut rows).expect("free").query().into_iter().take(1).for_each(taken);
    drop(exclusive);

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
    let mut rows = cell.query(&mut rows).expect("free");
    let row = rows.query().into_get(text).expect("alive");
    assert!(claims.claim(&row, text).is_err());
    assert_eq!(*claims.claim(&row, third).expect("there").get_mut(), position(3));
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
    let mut plan = world.plan_filtered::<&Mood, Changed<Mood>>();
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
    world.hooks().observe::<Tag>(EventKind::Add, |world: &mut World, _| {
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
    world.hooks().observe::<Tag>(EventKind::Remove, move |world: &mut World, _| {
        world.restore(&saved).expect("no playback");
    });
    world.hooks().observe::<Mood>(EventKind::Add, move |world: &mut World, _| {
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
