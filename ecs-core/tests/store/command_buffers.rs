//! Command buffers: recorded now, applied later, in an order that depends on the keys alone.

use std::sync::Arc;

use formic_ecs::prelude::*;
use formic_ecs::{CommandFailureReason, Playback};

#[derive(Component, Clone, Debug, PartialEq)]
struct Log(String);

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Number(u64);

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Link(#[component(entity)] Entity);

#[derive(Component, Clone)]
#[component(enableable)]
struct On;

/// Its count tells how many there are.
#[derive(Component, Clone)]
struct Shared(Arc<()>);

impl Shared {
    fn count(&self) -> usize {
        Arc::strong_count(&self.0)
    }
}

/// Appends to what the last command has written: the order of all of them shows in the end.
fn play_letters(buffers: &mut [CommandBuffer], world: &mut World, entity: Entity) -> String {
    drop(CommandBuffer::play_all(buffers, world));
    world.get::<Log>(entity).map(|log| log.0.clone()).unwrap_or_default()
}

fn letter(commands: &mut CommandBuffer, sort_key: u64, entity: Entity, letter: &str) {
    commands.set_sort_key(sort_key);
    commands.insert(entity, Log(letter.into()));
}

#[test]
fn the_largest_key_has_the_last_word() {
    let mut world = World::new();
    let entity = world.spawn(());
    for keys in [[0, 1, 2], [2, 1, 0], [1, u64::MAX, u64::MIN], [u64::MAX - 1, u64::MIN, u64::MAX]]
    {
        let mut commands = CommandBuffer::new(&world);
        for key in keys {
            letter(&mut commands, key, entity, &key.to_string());
        }
        let last = play_letters(std::slice::from_mut(&mut commands), &mut world, entity);
        assert_eq!(last, keys.iter().max().expect("three").to_string());
    }
}

#[test]
fn inside_one_key_commands_keep_the_order_of_recording() {
    let mut world = World::new();
    let mut commands = CommandBuffer::new(&world);
    for i in 0..200 {
        commands.set_sort_key(i % 3);
        _ = commands.spawn(Number(i));
    }
    assert_eq!(commands.play(&mut world).applied_count(), 200);
    let found: Vec<u64> = world.query::<&Number>().map(|number| number.0).collect();
    let expected: Vec<u64> =
        (0..3).flat_map(|key| (0..200).filter(move |i| i % 3 == key)).collect();
    assert_eq!(found, expected);
}

#[test]
fn inside_one_key_buffers_go_by_their_place() {
    let mut world = World::new();
    let entity = world.spawn(());
    let mut buffers: Vec<_> = (0..3).map(|_| CommandBuffer::new(&world)).collect();
    for (buffer, text) in buffers.iter_mut().zip(["a", "b", "c"]) {
        letter(buffer, 5, entity, text);
    }
    assert_eq!(play_letters(&mut buffers, &mut world, entity), "c");
}

/// Four jobs, each with keys of its own, recorded into the buffers that `buffer_of` says.
fn permuted(buffer_of: impl Fn(usize) -> usize, order: &[usize]) -> (u64, Vec<Entity>) {
    let mut world = World::new();
    let agents = world.spawn_batch((0..20).map(|i| (Number(i), On)));
    let mut buffers: Vec<_> = (0..4).map(|_| CommandBuffer::new(&world)).collect();
    for &job in order {
        let commands = &mut buffers[buffer_of(job)];
        for key in [job * 2, job * 2 + 1, job * 2] {
            commands.set_sort_key(key as u64);
            let child = commands.spawn((Number(1000 + key as u64), Link(agents[0])));
            for &agent in agents.iter().skip(job).step_by(3) {
                commands.insert(agent, (Link(child), Log(key.to_string())));
                commands.set_enabled::<On>(agent, key % 3 == 0);
            }
            commands.remove::<Log>(agents[key]);
            commands.despawn(agents[key + 8]);
        }
    }
    drop(CommandBuffer::play_all(&mut buffers, &mut world));
    world.check().expect("consistent");
    (world.state_hash().value(), world.entities().collect())
}

#[test]
fn it_does_not_matter_which_buffer_has_which_key_nor_who_records_first() {
    let expected = permuted(|_| 0, &[0, 1, 2, 3]);
    let orders = [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [1, 3, 0, 2]];
    // Miri is slow, and one order has shown it what there is to see.
    let shown = if cfg!(miri) { 1 } else { orders.len() };
    for order in orders.into_iter().rev().take(shown) {
        assert_eq!(permuted(|_| 0, &order), expected);
        assert_eq!(permuted(|job| job, &order), expected);
        assert_eq!(permuted(|job| 3 - job, &order), expected);
        assert_eq!(permuted(|job| job % 2, &order), expected);
    }
}

#[test]
fn deferred_entities_are_replaced_in_targets_and_in_components() {
    let mut world = World::new();
    let agent = world.spawn(());
    let mut commands = CommandBuffer::new(&world);
    let parent = commands.spawn(Number(1));
    let child = commands.spawn((Number(2), Link(parent)));
    commands.insert(parent, Link(child));
    commands.insert(agent, Link(child));
    commands.insert(child, On);
    commands.set_enabled::<On>(child, false);
    assert!(commands.play(&mut world).failures().is_empty());

    let child = world.get::<Link>(agent).expect("inserted").0;
    let parent = world.get::<Link>(child).expect("spawned with it").0;
    assert_eq!(world.get::<Link>(parent), Ok(&Link(child)));
    assert_eq!(world.get(parent), Ok(&Number(1)));
    assert_eq!(world.is_enabled::<On>(child), Ok(false));
}

#[test]
fn a_component_may_refer_to_an_entity_that_a_later_command_spawns() {
    let mut world = World::new();
    let agent = world.spawn(());
    let mut commands = CommandBuffer::new(&world);
    commands.set_sort_key(9);
    let late = commands.spawn(Number(7));
    commands.set_sort_key(1);
    commands.insert(agent, Link(late));
    let early = commands.spawn((Number(8), Link(late)));
    assert!(commands.play(&mut world).failures().is_empty());
    let late = world.get::<Link>(agent).expect("inserted").0;
    assert_eq!(world.get(late), Ok(&Number(7)));
    assert!(!world.contains(early), "the deferred handle itself stays stale");
}

#[test]
fn a_command_on_an_entity_before_its_spawn_is_reported() {
    let mut world = World::new();
    let mut commands = CommandBuffer::new(&world);
    commands.set_sort_key(9);
    let late = commands.spawn(Number(7));
    commands.set_sort_key(1);
    commands.insert(late, On);
    commands.despawn(late);
    let playback = commands.play(&mut world);
    assert_eq!(playback.applied_count(), 1);
    assert_eq!(reasons(&playback), vec![CommandFailureReason::NoSuchEntity; 2]);
    assert_eq!(world.query::<&Number>().single(), Ok(&Number(7)));
    world.check().expect("consistent");
}

#[test]
fn an_entity_that_is_spawned_and_despawned_in_one_playback_was_there_in_between() {
    let mut world = World::new();
    let agent = world.spawn(());
    let mut commands = CommandBuffer::new(&world);
    let brief = commands.spawn(Number(1));
    commands.insert(agent, Link(brief));
    commands.despawn(brief);
    commands.insert(brief, Number(2));
    let playback = commands.play(&mut world);
    assert_eq!(reasons(&playback), [CommandFailureReason::NoSuchEntity]);
    let brief = world.get::<Link>(agent).expect("inserted").0;
    assert!(!brief.is_deferred() && !world.contains(brief));
    world.check().expect("consistent");
}

fn reasons(playback: &Playback) -> Vec<CommandFailureReason> {
    playback.failures().iter().map(|failure| failure.reason.clone()).collect()
}

#[test]
fn what_does_not_apply_is_listed_and_the_rest_applies() {
    let mut world = World::new();
    let (alive, dead) = (world.spawn(Number(1)), world.spawn(Number(2)));
    world.despawn(dead).expect("alive");
    let mut commands = CommandBuffer::new(&world);
    commands.set_sort_key(3);
    commands.insert(dead, On);
    commands.remove::<(Number, On)>(alive);
    commands.set_enabled::<Number>(alive, false);
    commands.despawn(dead);
    commands.set_enabled::<On>(dead, true);
    commands.remove::<On>(dead);
    commands.insert(alive, Log("applied".into()));
    let playback = commands.play(&mut world);
    assert_eq!(playback.applied_count(), 1);
    let lines: Vec<String> = playback.failures().iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "insert on 1v1 (sort key 3) did not apply: there is no such entity",
            "remove on 0v1 (sort key 3) did not apply: entity 0v1 has no component store::command_buffers::On",
            "set_enabled on 0v1 (sort key 3) did not apply: store::command_buffers::Number is not \
             enableable; declare it with #[component(enableable)]",
            "despawn on 1v1 (sort key 3) did not apply: there is no such entity",
            "set_enabled on 1v1 (sort key 3) did not apply: there is no such entity",
            "remove on 1v1 (sort key 3) did not apply: there is no such entity",
        ]
    );
    assert_eq!(world.get(alive), Ok(&Log("applied".into())));
    assert_eq!(world.get(alive), Ok(&Number(1)));
}

#[test]
fn a_deferred_entity_of_another_buffer_is_foreign() {
    let mut world = World::new();
    let agent = world.spawn(());
    let (mut mine, mut theirs) = (CommandBuffer::new(&world), CommandBuffer::new(&world));
    let foreign = theirs.spawn(Number(1));
    mine.insert(foreign, On);
    mine.despawn(foreign);
    mine.insert(agent, Link(foreign));
    let playback = CommandBuffer::play_all(&mut [mine, theirs], &mut world);
    assert_eq!(reasons(&playback), vec![CommandFailureReason::ForeignDeferred; 2]);
    assert_eq!(playback.applied_count(), 2);
    assert_eq!(world.get(agent), Ok(&Link(foreign)), "nobody knows what it should be");
    assert_eq!(world.query_filtered::<&Number, Without<On>>().count(), 1);
}

#[test]
fn a_deferred_entity_does_not_survive_playback_or_clear() {
    let mut world = World::new();
    let mut commands = CommandBuffer::new(&world);
    let first = commands.spawn(Number(1));
    drop(commands.play(&mut world));
    let second = commands.spawn(Number(2));
    assert_ne!(first, second);
    commands.insert(first, On);
    commands.clear();
    assert!(commands.is_empty());
    let third = commands.spawn(Number(3));
    commands.despawn(first);
    commands.despawn(second);
    commands.insert(third, On);
    let playback = commands.play(&mut world);
    assert_eq!(reasons(&playback), vec![CommandFailureReason::ForeignDeferred; 2]);
    assert_eq!(world.query::<(&Number, &On)>().single().map(|row| row.0), Ok(&Number(3)));
}

#[test]
fn a_made_up_deferred_handle_is_foreign_as_well() {
    let mut world = World::new();
    let agent = world.spawn(());
    let mut commands = CommandBuffer::new(&world);
    let real = commands.spawn(Number(1));
    let made_up = Entity::from_bits(real.to_bits() + 100).expect("a handle");
    assert!(made_up.is_deferred());
    commands.insert(made_up, On);
    commands.insert(agent, Link(made_up));
    let playback = commands.play(&mut world);
    assert_eq!(reasons(&playback), [CommandFailureReason::ForeignDeferred]);
    assert_eq!(world.get(agent), Ok(&Link(made_up)));
    world.check().expect("consistent");
}

#[test]
fn a_buffer_of_another_world_is_refused_and_nothing_is_applied() {
    let (mut mine, theirs) = (World::new(), World::new());
    let mut buffers = [CommandBuffer::new(&mine), CommandBuffer::for_world_id(theirs.id())];
    _ = buffers[0].spawn(Number(1));
    _ = buffers[1].spawn(Number(2));
    let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        drop(CommandBuffer::play_all(&mut buffers, &mut mine));
    }));
    let message = refused.expect_err("it panics");
    let message = message.downcast_ref::<String>().expect("a formatted message");
    assert!(message.contains("only to its own world"), "{message}");
    assert!(mine.is_empty());
    assert_eq!(buffers[0].len(), 1, "it can still be played");
    assert_eq!(buffers[0].play(&mut mine).applied_count(), 1);
}

#[test]
fn a_buffer_that_is_never_played_drops_what_it_holds_once() {
    let shared = Shared(Arc::default());
    let world = World::new();
    let mut commands = CommandBuffer::new(&world);
    let entity = commands.spawn((shared.clone(), Log("text".into())));
    commands.insert(entity, shared.clone());
    assert_eq!(shared.count(), 3);
    drop(commands);
    assert_eq!(shared.count(), 1);
}

#[test]
fn what_was_for_a_dead_entity_is_dropped_once() {
    let shared = Shared(Arc::default());
    let mut world = World::new();
    let dead = world.spawn(());
    world.despawn(dead).expect("alive");
    let mut commands = CommandBuffer::new(&world);
    commands.insert(dead, (shared.clone(), Number(1), Log("text".into())));
    let foreign = CommandBuffer::new(&world).spawn(());
    commands.insert(foreign, (Log("text".into()), shared.clone()));
    assert_eq!(commands.play(&mut world).failures().len(), 2);
    assert_eq!(shared.count(), 1);
}

#[test]
fn a_buffer_is_empty_after_playback_and_starts_again_at_key_zero() {
    let mut world = World::new();
    let entity = world.spawn(());
    let mut commands = CommandBuffer::new(&world);
    for round in 0..3 {
        letter(&mut commands, 5, entity, "old");
        drop(commands.play(&mut world));
        assert!(commands.is_empty(), "round {round}");
        assert_eq!(commands.len(), 0);
        assert_eq!(commands.play(&mut world), Playback::default());
    }
    commands.insert(entity, Log("recorded first, at key zero".into()));
    letter(&mut commands, 1, entity, "at key one");
    drop(commands.play(&mut world));
    assert_eq!(world.get(entity), Ok(&Log("at key one".into())));
}

#[test]
fn no_buffers_are_played_as_nothing() {
    let mut world = World::new();
    assert_eq!(CommandBuffer::play_all(&mut [], &mut world), Playback::default());
}

#[test]
fn payloads_of_every_size_and_alignment_lie_side_by_side() {
    #[derive(Component, Clone, Copy, Debug, PartialEq)]
    #[repr(align(128))]
    struct Wide(u8);
    #[derive(Component, Clone, Copy, Debug, PartialEq)]
    struct Byte(u8);
    #[derive(Component)]
    struct Large([u64; 500]);
    let mut world = World::new();
    let mut commands = CommandBuffer::new(&world);
    for i in 0..50 {
        _ = commands.spawn(Byte(i));
        _ = commands.spawn((Wide(i), On));
        _ = commands.spawn(());
        _ = commands.spawn((Byte(i), Large([i.into(); 500]), Log(i.to_string())));
    }
    assert_eq!(commands.play(&mut world).applied_count(), 200);
    let bytes: Vec<u8> = world.query_filtered::<&Byte, Without<Log>>().map(|byte| byte.0).collect();
    assert_eq!(bytes, (0..50).collect::<Vec<_>>());
    assert!(world.query::<(&Byte, &Large, &Log)>().into_iter().all(|(byte, large, log)| {
        large.0 == [u64::from(byte.0); 500] && log.0 == byte.0.to_string()
    }));
    assert_eq!(world.query::<&Wide>().count(), 50);
}

#[test]
fn buffers_can_be_filled_by_other_threads() {
    let mut world = World::new();
    let mut buffers: Vec<_> = (0..3).map(|_| CommandBuffer::new(&world)).collect();
    std::thread::scope(|scope| {
        for (thread, commands) in (0..).zip(&mut buffers) {
            scope.spawn(move || {
                commands.set_sort_key(10 - thread);
                for i in 0..20 {
                    _ = commands.spawn((Number(thread * 100 + i), Log(i.to_string())));
                }
            });
        }
    });
    drop(CommandBuffer::play_all(&mut buffers, &mut world));
    let found: Vec<u64> = world.query::<&Number>().map(|number| number.0).collect();
    assert_eq!(found, (200..220).chain(100..120).chain(0..20).collect::<Vec<_>>());
}

#[test]
fn an_appended_buffer_is_played_as_if_it_had_been_recorded_here() {
    let mut world = World::new();
    let agent = world.spawn(());
    let (mut commands, mut more) = (CommandBuffer::new(&world), CommandBuffer::new(&world));
    let here = commands.spawn(Number(1));
    letter(&mut commands, 5, agent, "here");
    let there = more.spawn((Number(2), Link(agent)));
    more.insert(agent, Link(there));
    letter(&mut more, 5, agent, "there");
    commands.append(&mut more);
    assert!(more.is_empty());
    commands.insert(there, Link(here));
    let late = commands.spawn((Number(3), Link(there)));
    commands.insert(here, Link(late));
    assert_eq!(commands.play(&mut world).failures(), []);
    assert_eq!(world.get(agent), Ok(&Log("there".into())));
    let linked = |from| world.get::<Link>(from).expect("it has one").0;
    let there = linked(agent);
    assert_eq!(world.get(there), Ok(&Number(2)));
    assert_eq!(world.get(linked(there)), Ok(&Number(1)));
    assert_eq!(world.get(linked(linked(there))), Ok(&Number(3)));
    assert_eq!(linked(linked(linked(there))), there);
}

#[test]
fn a_buffer_that_was_appended_to_another_knows_its_old_handles_no_longer() {
    let mut world = World::new();
    let (mut commands, mut more) = (CommandBuffer::new(&world), CommandBuffer::new(&world));
    let moved = more.spawn(Number(1));
    commands.append(&mut more);
    more.insert(moved, On);
    let own = more.spawn(Number(2));
    more.insert(own, On);
    assert_eq!(commands.play(&mut world).applied_count(), 1);
    assert_eq!(reasons(&more.play(&mut world)), [CommandFailureReason::ForeignDeferred]);
    assert_eq!(world.query::<(&Number, &On)>().single().map(|row| row.0), Ok(&Number(2)));
}

#[test]
fn appended_commands_go_by_their_keys() {
    for (key_here, key_there, last) in [(5, 1, "here"), (1, 5, "there"), (3, 3, "there")] {
        let mut world = World::new();
        let agent = world.spawn(());
        let (mut commands, mut more) = (CommandBuffer::new(&world), CommandBuffer::new(&world));
        letter(&mut commands, key_here, agent, "here");
        letter(&mut more, key_there, agent, "there");
        commands.append(&mut more);
        let buffers = std::slice::from_mut(&mut commands);
        assert_eq!(play_letters(buffers, &mut world, agent), last);
    }
}

#[test]
fn a_buffer_of_another_world_is_not_appended() {
    let (mine, theirs) = (World::new(), World::new());
    let (mut commands, mut more) = (CommandBuffer::new(&mine), CommandBuffer::new(&theirs));
    _ = more.spawn(Number(1));
    let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        commands.append(&mut more);
    }));
    assert!(refused.is_err());
    assert_eq!((commands.len(), more.len()), (0, 1));
}

#[test]
fn playing_an_empty_buffer_changes_no_row() {
    let mut world = World::new();
    let agent = world.spawn(Number(1));
    let before = world.state_hash();
    let mut commands = CommandBuffer::new(&world);
    for _ in 0..3 {
        assert_eq!(commands.play(&mut world), Playback::default());
    }
    assert_eq!(world.state_hash(), before);
    assert_eq!(world.spawn(()).index(), agent.index() + 1, "no handle was used up");
}

/// Rows of three archetypes that take turns, back and forth over chunk borders.
#[test]
fn runs_of_like_commands_move_every_row_once() {
    let mut world = World::new();
    let count = if cfg!(miri) { 40 } else { 900 };
    let mut all = world.spawn_batch((0..count).map(|i| (Number(i), On)));
    for &entity in all.iter().step_by(3) {
        world.insert(entity, Link(entity)).expect("alive");
        world.set_enabled::<On>(entity, false).expect("it has one");
    }
    // Neither the order of the rows nor its reverse.
    all.sort_by_key(|entity| entity.index().wrapping_mul(0x9E37_79B1).rotate_left(7));
    let mut commands = CommandBuffer::new(&world);
    all.iter().for_each(|&entity| commands.insert(entity, Log(entity.to_string())));
    all.iter().step_by(2).for_each(|&entity| commands.remove::<Number>(entity));
    all.iter().step_by(5).for_each(|&entity| commands.insert(entity, (Number(7), Link(entity))));
    all.iter().step_by(7).for_each(|&entity| commands.remove::<Log>(entity));
    all.iter().step_by(11).for_each(|&entity| commands.despawn(entity));
    let spawned = (0..count).map(|i| commands.spawn(Number(5000 + i))).last();
    let recorded = commands.len();
    let playback = commands.play(&mut world);
    assert_eq!((playback.applied_count(), playback.failures().len()), (recorded, 0));
    world.check().expect("consistent");
    assert!(!world.contains(spawned.expect("one")));
    for (place, &entity) in all.iter().enumerate() {
        let is = |step: usize| place % step == 0;
        assert_eq!(world.contains(entity), !is(11));
        if !is(11) {
            let linked = entity.index() % 3 == 0;
            let number = if is(5) { Some(7) } else { (!is(2)).then(|| entity.index().into()) };
            assert_eq!(world.get::<Number>(entity).ok().map(|number| number.0), number);
            assert_eq!(world.has::<Link>(entity), linked || is(5));
            assert_eq!(world.is_enabled::<On>(entity), Ok(!linked));
            let log = world.get::<Log>(entity).ok().map(|log| log.0.clone());
            assert_eq!(log, (!is(7)).then(|| entity.to_string()));
        }
    }
    let numbers: Vec<u64> = world.query::<&Number>().map(|number| number.0).collect();
    let spawned: Vec<u64> = numbers.into_iter().filter(|&number| number >= 5000).collect();
    assert_eq!(spawned, (5000..5000 + count).collect::<Vec<_>>(), "in the order of recording");
}
