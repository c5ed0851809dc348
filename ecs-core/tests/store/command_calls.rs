//! Stored calls: closures in command buffers, and the commands that are made of them.

use std::alloc::Layout;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::support::{Counted, Ledger, panics_as_planned};
use formic_ecs::prelude::*;
use formic_ecs::{
    ChildOf, CommandFailureReason, ComponentDescriptor, MapEntities, Playback, Prefab, Sources,
};

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Number(u64);

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Link(#[component(entity)] Entity);

#[derive(Component, Clone, Debug, PartialEq)]
struct Many {
    #[component(entity)]
    list: Vec<Option<Entity>>,
    #[component(entity)]
    pair: [Entity; 2],
    #[component(entity)]
    both: (Entity, Vec<Vec<Entity>>),
}

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(buffer = 1)]
struct Friend(#[component(entity)] Entity);

#[derive(Component, Clone)]
#[component(enableable)]
struct On;

/// What calls have written down.
#[derive(Default)]
struct Log(Vec<String>);

fn note(world: &mut World, text: impl ToString) {
    world.resource_mut::<Log>().expect("there").0.push(text.to_string());
}

fn logging_world() -> World {
    let mut world = World::new();
    world.insert_resource(Log::default());
    world
}

fn notes(world: &World) -> String {
    world.resource::<Log>().expect("there").0.join(" ")
}

fn reasons(playback: &Playback) -> Vec<CommandFailureReason> {
    playback.failures().iter().map(|failure| failure.reason.clone()).collect()
}

fn is_send_and_sync<T: Send + Sync>(_: &T) {}

#[test]
fn a_buffer_with_calls_that_are_only_send_can_be_sent_and_shared() {
    let mut world = logging_world();
    let mut commands = CommandBuffer::new(&world);
    let only_send = Cell::new(7);
    commands.run(move |world| note(world, only_send.take()));
    is_send_and_sync(&commands);
    world.insert_resource(commands);
    let mut commands = world.remove_resource::<CommandBuffer>().expect("there");
    assert_eq!(commands.play(&mut world).applied_count(), 1);
    assert_eq!(notes(&world), "7");
}

#[test]
fn a_call_sees_what_came_before_it_and_is_seen_by_what_comes_after() {
    let mut world = logging_world();
    let agent = world.spawn(Number(0));
    let mut commands = CommandBuffer::new(&world);
    let see = move |world: &mut World| {
        let number = world.get::<Number>(agent).map(|number| number.0);
        note(world, number.map_or("none".into(), |number| number.to_string()));
    };
    // Between commands on one entity.
    commands.insert(agent, Number(1));
    commands.insert(agent, On);
    commands.run(see);
    commands.insert(agent, Number(2));
    commands.remove::<On>(agent);
    commands.run(see);
    commands.run(move |world| world.insert(agent, Number(3)).expect("alive"));
    commands.run(see);
    commands.remove::<Number>(agent);
    commands.run(see);
    commands.run(move |world| world.despawn(agent).expect("alive"));
    commands.insert(agent, Number(4));
    let playback = commands.play(&mut world);
    assert_eq!(notes(&world), "1 2 3 none");
    assert_eq!(reasons(&playback), [CommandFailureReason::NoSuchEntity]);
    assert_eq!(playback.applied_count(), 11);
    world.check().expect("consistent");
}

#[test]
fn calls_go_by_sort_key_and_place() {
    let mut world = logging_world();
    let mut buffers: Vec<_> = (0..3).map(|_| CommandBuffer::new(&world)).collect();
    for (place, commands) in buffers.iter_mut().enumerate() {
        for key in [5, u64::MAX, 0, u64::MAX, 5] {
            commands.set_sort_key(key);
            let key = if key == u64::MAX { 9 } else { key };
            commands.run(move |world| note(world, format!("{key}{place}")));
        }
    }
    let mut buffers: Vec<_> = buffers.into_iter().rev().collect();
    let playback = CommandBuffer::play_all(&mut buffers, &mut world);
    assert_eq!(playback.applied_count(), 15);
    assert_eq!(notes(&world), "02 01 00 52 52 51 51 50 50 92 92 91 91 90 90");
}

#[test]
fn appended_calls_are_found_by_their_new_numbers() {
    let mut world = logging_world();
    let mut all = CommandBuffer::new(&world);
    for letter in ["a", "b", "c"] {
        let mut more = CommandBuffer::new(&world);
        let entity = more.spawn(Number(1));
        more.run(move |world| note(world, letter));
        more.run_with(entity, |world, entity| {
            let number = world.get::<Number>(entity).expect("spawned").0;
            note(world, number);
        });
        all.append(&mut more);
        assert!(more.is_empty());
        assert_eq!(more.play(&mut world).applied_count(), 0);
    }
    assert_eq!(all.play(&mut world).failures(), []);
    assert_eq!(notes(&world), "a 1 b 1 c 1");
}

#[test]
fn deferred_entities_are_found_however_deep_they_are() {
    let mut world = World::new();
    let agent = world.spawn(());
    let mut commands = CommandBuffer::new(&world);
    let [a, b, c] = [1, 2, 3].map(|i| commands.spawn(Number(i)));
    let many = Many {
        list: vec![Some(a), None, Some(c), Some(agent)],
        pair: [b, agent],
        both: (c, vec![vec![], vec![a, b]]),
    };
    commands.insert(agent, (many, Buffer::from_iter([a, b, c].map(Friend))));
    commands.run_with((vec![Some(a), None], [b, c], agent), move |world, (list, pair, same)| {
        assert_eq!(same, agent);
        let find = |entity| world.get::<Number>(entity).expect("spawned").0;
        assert_eq!(list.iter().flatten().map(|&entity| find(entity)).collect::<Vec<_>>(), [1]);
        assert_eq!(pair.map(find), [2, 3]);
    });
    assert_eq!(commands.play(&mut world).failures(), []);
    let number = |entity: Entity| world.get::<Number>(entity).expect("spawned").0;
    let many = world.get::<Many>(agent).expect("inserted");
    assert_eq!(number(many.list[0].expect("some")), 1);
    assert_eq!(many.list[1], None);
    assert_eq!(number(many.list[2].expect("some")), 3);
    assert_eq!((many.list[3], many.pair[1]), (Some(agent), agent));
    assert_eq!((number(many.pair[0]), number(many.both.0)), (2, 3));
    assert_eq!(many.both.1[1].iter().map(|&entity| number(entity)).collect::<Vec<_>>(), [1, 2]);
    let friends = world.get::<Buffer<Friend>>(agent).expect("inserted");
    assert_eq!(friends.iter().map(|friend| number(friend.0)).collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn an_entity_whose_spawn_comes_later_is_not_there_yet() {
    let mut world = logging_world();
    let mut commands = CommandBuffer::new(&world);
    commands.set_sort_key(2);
    let late = commands.spawn(Number(1));
    commands.set_sort_key(1);
    commands.run_with(late, |world, late| {
        assert!(!late.is_deferred() && !world.contains(late));
        world.check().expect("consistent");
        world.clear();
        world.check().expect("consistent");
        assert!(!world.contains(late));
    });
    commands.set_sort_key(3);
    commands.run_with(late, |world, late| note(world, world.contains(late)));
    assert_eq!(commands.play(&mut world).failures(), []);
    assert_eq!(notes(&world), "true");
}

#[test]
fn a_call_can_record_and_play_other_buffers() {
    let mut world = logging_world();
    let mut commands = CommandBuffer::new(&world);
    let outer = commands.spawn(Number(1));
    commands.run_with(outer, |world, outer| {
        let mut inner = CommandBuffer::new(world);
        let new = inner.spawn(Link(outer));
        inner.insert(outer, Link(new));
        inner.run(|world| note(world, "innermost"));
        assert_eq!(inner.play(world).failures(), []);
        // And one to be played later.
        let mut later = CommandBuffer::new(world);
        later.spawn(Link(outer));
        world.insert_resource(later);
    });
    let after = commands.spawn(Number(2));
    commands.insert(after, Link(outer));
    assert_eq!(commands.play(&mut world).failures(), []);
    let mut later = world.remove_resource::<CommandBuffer>().expect("recorded");
    assert_eq!(later.play(&mut world).applied_count(), 1);
    assert_eq!(world.query::<&Link>().count(), 4);
    assert_eq!(notes(&world), "innermost");
    world.check().expect("consistent");
}

#[test]
fn a_call_that_exchanges_the_world_is_found_out() {
    let mut world = World::new();
    let mut commands = CommandBuffer::new(&world);
    commands.run(|world| *world = World::new());
    let exchanged = catch_unwind(AssertUnwindSafe(|| drop(commands.play(&mut world))));
    let message = exchanged.expect_err("it panics");
    assert!(message.downcast_ref::<String>().is_some_and(|text| text.contains("exchanged")));
    assert!(commands.is_empty());
}

#[test]
fn a_panic_in_a_call_keeps_what_came_before_and_drops_what_comes_after() {
    let ledger = Ledger::default();
    let mut world = World::new();
    let mut commands = CommandBuffer::new(&world);
    commands.spawn(ledger.value(1));
    let (in_call, after) = (ledger.value(2), ledger.value(3));
    commands.run(move |world| {
        world.spawn(in_call);
        panic!("planned: call");
    });
    commands.spawn(ledger.value(4));
    commands.run(move |world| _ = world.spawn(after));
    assert!(panics_as_planned(|| drop(commands.play(&mut world))));
    world.check().expect("consistent");
    assert_eq!(ledger.live(), 2);
    assert_eq!(world.query::<&Counted>().map(Counted::number).collect::<Vec<_>>(), [1, 2]);
    assert!(commands.is_empty());
    commands.spawn(ledger.value(5));
    assert_eq!(commands.play(&mut world).applied_count(), 1);
    drop(world);
    assert_eq!(ledger.live(), 0);
}

#[test]
fn a_mapping_that_panics_in_a_call_is_a_panic_of_that_call() {
    struct Fails(Counted);
    impl MapEntities for Fails {
        fn map_entities(&mut self, _: &mut dyn FnMut(Entity) -> Entity) {
            panic!("planned: mapping {}", self.0.number());
        }
    }
    let ledger = Ledger::default();
    let mut world = World::new();
    let mut commands = CommandBuffer::new(&world);
    commands.spawn(Number(1));
    commands.run_with(Fails(ledger.value(1)), |_, _| unreachable!("it was not mapped"));
    commands.spawn(Number(2));
    let panicked = catch_unwind(AssertUnwindSafe(|| drop(commands.play(&mut world))));
    assert!(panicked.is_err());
    assert_eq!(world.query::<&Number>().count(), 1);
    assert_eq!(ledger.live(), 0);
    world.check().expect("consistent");
}

#[test]
fn calls_that_are_never_made_drop_what_they_hold_once_also_where_a_drop_panics() {
    for panics in [None, Some(0), Some(1), Some(3)] {
        let ledger = Ledger::default();
        let world = World::new();
        let mut commands = CommandBuffer::new(&world);
        for i in 0..2 {
            commands.spawn(ledger.value(i));
            let value = ledger.value(10 + i);
            commands.run(move |world| _ = world.spawn(value));
        }
        assert_eq!(ledger.live(), 4);
        if let Some(nth) = panics {
            ledger.panic_at_drop(nth);
        }
        assert_eq!(panics_as_planned(|| drop(commands)), panics.is_some());
        assert_eq!(ledger.live(), 0, "{panics:?}");
    }
}

#[test]
fn copies_are_made_and_given_bundles() {
    let mut world = World::new();
    let mut commands = CommandBuffer::new(&world);
    let prefab = commands.spawn((Prefab, Number(7)));
    let seats = commands.spawn_batch([On, On]);
    commands.instantiate(prefab, 2);
    commands.instantiate_with(prefab, 2, move |index| Link(seats[index]));
    assert_eq!(commands.play(&mut world).failures(), []);
    assert_eq!(world.query::<&Number>().count(), 4);
    let seats: Vec<Entity> = world.query_filtered::<Entity, With<On>>().into_iter().collect();
    let taken: Vec<Entity> = world.query::<(&Number, &Link)>().map(|(_, link)| link.0).collect();
    assert_eq!(taken, seats);
}

#[test]
fn what_a_call_cannot_do_is_reported_with_its_reason() {
    #[derive(Component)]
    struct Unique;
    let mut world = World::new();
    let gold = ComponentDescriptor::bytes("gold", Layout::new::<u16>());
    let gold = world.by_id_mut().register(gold).expect("new");
    let (one, two, dead) = (world.spawn(Unique), world.spawn(()), world.spawn(()));
    world.despawn(dead).expect("alive");
    world.relation_mut::<ChildOf>().set_parent(two, one).expect("no cycle");
    let managed = world.component_id::<Sources<ChildOf>>().expect("used");
    let foreign = CommandBuffer::new(&world).spawn(());

    let mut commands = CommandBuffer::new(&world);
    commands.set_sort_key(4);
    commands.instantiate(one, 1);
    commands.instantiate(dead, 1);
    commands.instantiate(foreign, 1);
    commands.relate::<ChildOf>(one, two);
    commands.relate::<ChildOf>(dead, two);
    commands.relate::<ChildOf>(two, dead);
    commands.set_parent(two, foreign);
    commands.unrelate::<ChildOf>(dead, two);
    commands.insert_by_id(one, gold, &[1]);
    commands.insert_by_id(dead, gold, &[1, 2]);
    commands.remove_by_id(one, gold);
    commands.remove_by_id(one, managed);
    commands.insert_by_id(one, managed, &[]);
    // None of these is a failure.
    commands.remove_resource::<Log>();
    commands.set_parent(one, None);
    commands.unrelate::<ChildOf>(one, two);
    commands.bulk::<With<Number>>().despawn();
    let playback = commands.play(&mut world);
    assert_eq!(playback.applied_count(), 4);
    let lines: Vec<String> = playback.failures().iter().map(ToString::to_string).collect();
    let managed = world.component_info(managed).expect("known").name();
    let unique = Unique::name();
    let expected = [
        format!(
            "instantiate on {one} (sort key 4) did not apply: {unique} cannot be copied: it is not \
             Clone, or declared unique"
        ),
        format!("instantiate on {dead} (sort key 4) did not apply: there is no such entity"),
        format!(
            "instantiate on {foreign} (sort key 4) did not apply: the handle was deferred by \
             another command buffer"
        ),
        format!(
            "relate on {one} (sort key 4) did not apply: relating {one} to {two} would close a cycle"
        ),
        format!("relate on {dead} (sort key 4) did not apply: there is no such entity"),
        format!(
            "relate on {two} (sort key 4) did not apply: there is no entity {dead} in this world"
        ),
        format!(
            "set_parent on {two} (sort key 4) did not apply: the handle was deferred by another \
             command buffer"
        ),
        format!("unrelate on {dead} (sort key 4) did not apply: there is no such entity"),
        format!(
            "insert_by_id on {one} (sort key 4) did not apply: the values of gold have 2 bytes \
             in all, not 1"
        ),
        format!("insert_by_id on {dead} (sort key 4) did not apply: there is no such entity"),
        format!(
            "remove_by_id on {one} (sort key 4) did not apply: entity {one} has no component \
             gold"
        ),
        format!(
            "remove_by_id on {one} (sort key 4) did not apply: {managed} is the world's \
             to give and to take"
        ),
    ];
    assert_eq!(lines[..12], expected);
    assert_eq!(lines.len(), 13);
    world.check().expect("consistent");
}

#[test]
fn relations_and_bytes_and_resources_reach_deferred_entities() {
    let mut world = World::new();
    let gold = ComponentDescriptor::bytes("gold", Layout::new::<u16>());
    let gold = world.by_id_mut().register(gold).expect("new");
    let mut commands = CommandBuffer::new(&world);
    let [house, room, chair] = [1, 2, 3].map(|i| commands.spawn(Number(i)));
    commands.set_parent(room, house);
    commands.relate::<ChildOf>(chair, room);
    commands.insert_by_id(house, gold, &300_u16.to_ne_bytes());
    commands.insert_by_id(room, gold, &301_u16.to_ne_bytes());
    commands.remove_by_id(room, gold);
    commands.run_with([house, room, chair], |world, all| _ = world.insert_resource(all));
    commands.insert_resource(5_u8);
    commands.insert_resource(6_u8);
    commands.insert_resource(7_u16);
    commands.remove_resource::<u16>();
    assert_eq!(commands.play(&mut world).failures(), []);
    let [house, room, chair] = *world.resource::<[Entity; 3]>().expect("put there");
    assert!(world.relation::<ChildOf>().descendants(house).eq([room, chair]));
    assert_eq!(world.by_id().get(house, gold), Ok(&300_u16.to_ne_bytes()[..]));
    assert!(!world.by_id().has(room, gold));
    assert_eq!(world.resource::<u8>(), Ok(&6));
    assert!(world.resource::<u16>().is_err());
    let mut commands = CommandBuffer::new(&world);
    commands.unrelate::<ChildOf>(chair, room);
    commands.set_parent(room, None);
    assert_eq!(commands.play(&mut world).failures(), []);
    assert_eq!(world.relation::<ChildOf>().descendants(house).count(), 0);
    world.check().expect("consistent");
}

#[test]
fn a_call_about_an_entity_stands_between_the_other_commands_on_it() {
    let mut world = World::new();
    let gold = ComponentDescriptor::bytes("gold", Layout::new::<u16>());
    let gold = world.by_id_mut().register(gold).expect("new");
    let agent = world.spawn(());
    let mut commands = CommandBuffer::new(&world);
    commands.insert(agent, Number(1));
    commands.insert(agent, On);
    commands.insert_by_id(agent, gold, &[1, 2]);
    commands.remove::<Number>(agent);
    commands.insert(agent, Link(agent));
    commands.despawn(agent);
    commands.remove_by_id(agent, gold);
    let playback = commands.play(&mut world);
    assert_eq!(playback.applied_count(), 6);
    assert_eq!(reasons(&playback), [CommandFailureReason::NoSuchEntity]);
    assert!(world.is_empty());
    world.check().expect("consistent");
}

/// One at a time through the world, and recorded through a buffer.
#[test]
fn recorded_bulk_commands_do_what_the_world_does() {
    let build = || {
        let mut world = World::new();
        let all = world.spawn_batch((0..300).map(Number));
        for &entity in all.iter().step_by(3) {
            world.insert(entity, On).expect("alive");
        }
        for &entity in all.iter().step_by(6) {
            world.set_enabled::<On>(entity, false).expect("it has one");
        }
        (world, all[1])
    };
    let (mut expected, first) = build();
    expected.bulk::<With<On>>().insert(Link(first));
    expected.bulk::<(With<Number>, Without<On>)>().set_enabled::<On>(true);
    expected.bulk::<With<On>>().remove::<Number>();
    expected.spawn(On);
    expected.bulk::<(With<Number>, Without<Link>)>().despawn();
    expected.bulk::<With<Link>>().despawn();

    let (mut world, first) = build();
    let mut commands = CommandBuffer::new(&world);
    commands.bulk::<With<On>>().insert(Link(first));
    commands.bulk::<(With<Number>, Without<On>)>().set_enabled::<On>(true);
    commands.bulk::<With<On>>().remove::<Number>();
    commands.spawn(On);
    commands.bulk::<(With<Number>, Without<Link>)>().despawn();
    commands.bulk::<With<Link>>().despawn();
    assert_eq!(commands.len(), 6);
    assert_eq!(commands.play(&mut world).applied_count(), 6);
    world.check().expect("consistent");
    assert!(world.entities().eq(expected.entities()));
    assert!(!world.is_empty());
}

#[test]
fn a_bulk_insert_finds_the_entities_and_the_deferred_ones_of_its_turn() {
    let mut world = World::new();
    world.spawn_batch((0..5).map(Number));
    let mut commands = CommandBuffer::new(&world);
    let leader = commands.spawn(On);
    commands.spawn(Number(5));
    commands.bulk::<With<Number>>().insert(Link(leader));
    commands.spawn(Number(6));
    assert_eq!(commands.play(&mut world).failures(), []);
    let leader = world.query_filtered::<Entity, With<On>>().single().expect("one");
    assert!(world.query::<&Link>().map(|link| link.0).eq([leader; 6]));
    assert_eq!(world.query::<&Number>().count(), 7);
}

#[test]
fn a_clone_that_panics_in_a_bulk_insert_ends_the_playback_in_order() {
    let ledger = Ledger::default();
    let mut world = World::new();
    world.spawn_batch((0..20).map(Number));
    let mut commands = CommandBuffer::new(&world);
    commands.spawn(On);
    commands.bulk::<With<Number>>().insert(ledger.value(1));
    commands.spawn(On);
    ledger.panic_at_clone(7);
    assert!(panics_as_planned(|| drop(commands.play(&mut world))));
    world.check().expect("consistent");
    assert_eq!(world.query::<&On>().count(), 1);
    assert_eq!(world.query::<&Number>().count(), 20);
    assert_eq!(world.query::<&Counted>().count(), ledger.live());
    drop(world);
    assert_eq!(ledger.live(), 0);
}

#[test]
fn an_iterator_that_panics_leaves_what_it_gave() {
    let mut world = World::new();
    let mut commands = CommandBuffer::new(&world);
    let bundles = (0..5).map(|i| if i < 3 { Number(i) } else { panic!("planned: iterator") });
    assert!(panics_as_planned(|| drop(commands.spawn_batch(bundles))));
    assert_eq!(commands.len(), 3);
    assert_eq!(commands.play(&mut world).applied_count(), 3);
    assert_eq!(world.query::<&Number>().map(|number| number.0).collect::<Vec<_>>(), [0, 1, 2]);
}
