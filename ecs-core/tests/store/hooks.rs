//! Hooks and observers: what is told, in which order, and what watchers may do meanwhile.

use std::sync::{Arc, Mutex};

use crate::support::{Counted, Ledger, panics_as_planned};
use formic_ecs::prelude::*;
use formic_ecs::{ByIdError, Event, EventKind, ObserverId};

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct A(u32);

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct B(u32);

#[derive(Component, Clone, Copy)]
#[component(enableable)]
struct Lamp;

/// What was told, in words.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn write(&self, line: impl Into<String>) {
        self.0.lock().expect("no panic while it is locked").push(line.into());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().expect("no panic while it is locked"))
    }
}

/// The value of A or B that the entity has while it is told.
fn seen(world: &World, event: Event) -> String {
    let name = world.components()[event.component.index()].name();
    if name.ends_with("::A") {
        format!("{:?} A {}", event.kind, world.get::<A>(event.entity).expect("it is there").0)
    } else {
        format!("{:?} B {}", event.kind, world.get::<B>(event.entity).expect("it is there").0)
    }
}

/// Writes down everything that happens to A and B.
fn observe_all(world: &mut World, log: &Log) {
    fn one<T: Component>(world: &mut World, kind: EventKind, log: &Log) {
        let log = log.clone();
        world.hooks().observe::<T>(kind, move |world: &mut World, event| {
            world.check().expect("no book is open");
            log.write(seen(world, event));
        });
    }
    one::<A>(world, EventKind::Add, log);
    one::<A>(world, EventKind::Insert, log);
    one::<A>(world, EventKind::Replace, log);
    one::<A>(world, EventKind::Remove, log);
    one::<A>(world, EventKind::Despawn, log);
    one::<B>(world, EventKind::Add, log);
    one::<B>(world, EventKind::Insert, log);
    one::<B>(world, EventKind::Replace, log);
    one::<B>(world, EventKind::Remove, log);
    one::<B>(world, EventKind::Despawn, log);
}

#[test]
fn each_operation_tells_what_the_table_says() {
    let (mut world, log) = (World::new(), Log::default());
    world.register::<A>();
    observe_all(&mut world, &log);
    let entity = world.spawn((B(1), A(2)));
    assert_eq!(log.take(), ["Add B 1", "Add A 2", "Insert B 1", "Insert A 2"], "declared order");
    world.insert(entity, A(3)).expect("alive");
    assert_eq!(log.take(), ["Replace A 2", "Insert A 3"]);
    assert_eq!(world.remove::<B>(entity), Ok(B(1)));
    assert_eq!(log.take(), ["Replace B 1", "Remove B 1"]);
    world.insert(entity, (A(4), B(5), Lamp)).expect("alive");
    assert_eq!(log.take(), ["Replace A 3", "Add B 5", "Insert A 4", "Insert B 5"]);
    world.set_enabled::<Lamp>(entity, false).expect("it has one");
    assert_eq!(log.take(), [""; 0]);
    let copies = world.instantiate(entity, 2).expect("all is Clone");
    let once = ["Add A 4", "Add B 5", "Insert A 4", "Insert B 5"];
    assert_eq!(log.take(), [once, once].concat());
    world.despawn(entity).expect("alive");
    let departing =
        ["Despawn A 4", "Despawn B 5", "Replace A 4", "Replace B 5", "Remove A 4", "Remove B 5"];
    assert_eq!(log.take(), departing, "the order of first use");
    world.clear();
    assert_eq!(log.take(), [departing, departing].concat());
    assert!(copies.iter().all(|&copy| !world.contains(copy)));
    let spawned = world.spawn_batch((0..3).map(A));
    let expected = (0..3).flat_map(|i| [format!("Add A {i}"), format!("Insert A {i}")]);
    assert_eq!(log.take(), expected.collect::<Vec<_>>());
    let mut commands = CommandBuffer::new(&world);
    _ = commands.spawn(B(7));
    commands.insert(spawned[0], A(9));
    commands.remove::<A>(spawned[1]);
    commands.despawn(spawned[2]);
    assert!(commands.play(&mut world).failures().is_empty());
    let expected = [
        ["Add B 7", "Insert B 7"],
        ["Replace A 0", "Insert A 9"],
        ["Replace A 1", "Remove A 1"],
        ["Despawn A 2", "Replace A 2"],
        ["Remove A 2", ""],
    ];
    assert_eq!(log.take(), expected.concat()[..9]);
}

#[test]
fn runs_of_like_commands_tell_of_each() {
    let (mut world, log) = (World::new(), Log::default());
    let all = world.spawn_batch((0..4).map(|_| Lamp));
    observe_all(&mut world, &log);
    let each = |kinds: &[&str]| {
        let each = (0..4).flat_map(|i| kinds.iter().map(move |kind| format!("{kind} A {i}")));
        each.collect::<Vec<_>>()
    };
    let mut commands = CommandBuffer::new(&world);
    (0..4).for_each(|i| commands.insert(all[i as usize], A(i)));
    assert!(commands.play(&mut world).failures().is_empty());
    assert_eq!(log.take(), each(&["Add", "Insert"]));
    (0..4).for_each(|i| commands.insert(all[i as usize], (A(i), B(9))));
    assert!(commands.play(&mut world).failures().is_empty());
    let replaced = log.take().into_iter().filter(|line| line.starts_with("Replace"));
    assert_eq!(replaced.collect::<Vec<_>>(), each(&["Replace"]));
    all.iter().for_each(|&entity| commands.remove::<A>(entity));
    assert!(commands.play(&mut world).failures().is_empty());
    assert_eq!(log.take(), each(&["Replace", "Remove"]));
    all.iter().for_each(|&entity| commands.despawn(entity));
    assert!(commands.play(&mut world).failures().is_empty());
    assert_eq!(log.take(), ["Despawn B 9", "Replace B 9", "Remove B 9"].repeat(4));
    (0..4).for_each(|i| _ = commands.spawn(A(i)));
    assert!(commands.play(&mut world).failures().is_empty());
    assert_eq!(log.take(), each(&["Add", "Insert"]));
    world.check().expect("every invariant holds");
}

#[test]
fn what_fails_tells_nothing() {
    let (mut world, log) = (World::new(), Log::default());
    observe_all(&mut world, &log);
    let gone = world.spawn(A(1));
    world.despawn(gone).expect("alive");
    let entity = world.spawn(A(1));
    log.take();
    assert!(world.insert(gone, A(2)).is_err());
    assert!(world.remove::<A>(gone).is_err());
    assert!(world.remove::<(A, B)>(entity).is_err());
    assert!(world.despawn(gone).is_err());
    assert_eq!(log.take(), [""; 0]);
}

#[test]
fn the_hook_comes_first_and_observers_in_the_order_of_registration() {
    let (mut world, log) = (World::new(), Log::default());
    let writer = |line: &'static str| {
        let log = log.clone();
        move |_: &mut World, _: Event| log.write(line)
    };
    world.hooks().observe::<A>(EventKind::Add, writer("first"));
    let second = world.hooks().observe::<A>(EventKind::Add, writer("second"));
    world.hooks().observe::<A>(EventKind::Add, writer("third"));
    world.hooks().on::<A>(EventKind::Add, writer("hook"));
    world.spawn(A(0));
    assert_eq!(log.take(), ["hook", "first", "second", "third"]);
    assert!(world.hooks().unobserve(second));
    assert!(!world.hooks().unobserve(second));
    let mut other = World::new();
    other.hooks().observe::<A>(EventKind::Add, |_, _| {});
    let foreign = other.hooks().observe::<A>(EventKind::Add, |_, _| {});
    assert!(!world.hooks().unobserve(foreign));
    world.spawn(A(0));
    assert_eq!(log.take(), ["hook", "first", "third"]);
}

#[test]
fn a_component_has_one_hook_of_a_kind() {
    let mut world = World::new();
    let twice = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        world
            .hooks()
            .on::<A>(EventKind::Add, |_, _| {})
            .on::<A>(EventKind::Remove, |_, _| {})
            .on::<A>(EventKind::Add, |_, _| {});
    }));
    assert!(twice.is_err());
    world.spawn(A(1));
    let late = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        world.hooks().on::<A>(EventKind::Insert, |_, _| {});
    }));
    assert!(late.is_err());
    world.check().expect("every invariant holds");
}

#[test]
fn an_observer_that_comes_late_is_told_of_archetypes_that_were_there() {
    let (mut world, log) = (World::new(), Log::default());
    let entity = world.spawn((A(1), B(2)));
    observe_all(&mut world, &log);
    world.despawn(entity).expect("alive");
    assert_eq!(log.take().len(), 6);
}

#[test]
fn an_entity_may_be_despawned_while_its_spawn_is_told() {
    let (mut world, log) = (World::new(), Log::default());
    world.hooks().observe::<A>(EventKind::Add, |world: &mut World, event| {
        world.despawn(event.entity).expect("alive");
        // The slot and the row are another entity's now.
        world.spawn(B(77));
    });
    let late = log.clone();
    world
        .hooks()
        .observe::<A>(EventKind::Add, move |_: &mut World, _| late.write("not told: it is gone"));
    let late = log.clone();
    world.hooks().observe::<A>(EventKind::Insert, move |_: &mut World, _| {
        late.write("not told: it is gone");
    });
    let entity = world.spawn((A(1), B(2)));
    assert!(!world.contains(entity));
    let many = world.spawn_batch((0..5).map(|i| (A(i), B(i))));
    assert!(many.iter().all(|&entity| !world.contains(entity)));
    let mut commands = CommandBuffer::new(&world);
    _ = commands.spawn((A(1), B(2)));
    assert!(commands.play(&mut world).failures().is_empty());
    assert_eq!(log.take(), [""; 0]);
    assert_eq!(world.query::<&B>().into_iter().filter(|b| b.0 == 77).count(), 7);
    assert_eq!(world.len(), 7);
    world.check().expect("every invariant holds");
}

#[test]
fn an_operation_goes_by_what_its_watchers_made_of_the_world() {
    let mut world = World::new();
    world.hooks().observe::<A>(EventKind::Replace, |world: &mut World, event| {
        world.despawn(event.entity).expect("despawning tells of the same, but only once");
    });
    let entity = world.spawn((A(1), B(2)));
    let refused = world.insert(entity, (A(3), B(4))).expect_err("its watcher despawned it");
    assert_eq!(refused.bundle, (A(3), B(4)));
    let entity = world.spawn((A(1), B(2)));
    assert!(world.remove::<A>(entity).is_err());
    assert!(!world.contains(entity));
    let entity = world.spawn((A(1), B(2)));
    assert_eq!(world.despawn(entity), Ok(()), "it is gone, as was asked");
    assert!(world.is_empty());

    let mut world = World::new();
    world.hooks().observe::<A>(EventKind::Remove, |world: &mut World, event| {
        world.insert(event.entity, Lamp).expect("alive");
        assert_eq!(world.remove::<B>(event.entity), Ok(B(2)));
        world.spawn_batch((0..3).map(B));
    });
    let entity = world.spawn((A(1), B(2)));
    assert_eq!(world.remove::<A>(entity), Ok(A(1)), "the row had moved");
    assert!(world.has::<Lamp>(entity) && !world.has::<A>(entity) && !world.has::<B>(entity));
    world.check().expect("every invariant holds");
    let entity = world.spawn((A(1), B(2)));
    assert!(world.remove::<(A, B)>(entity).is_err(), "B was taken by a watcher");
    assert!(world.has::<A>(entity));
    world.check().expect("every invariant holds");
}

#[test]
fn what_a_watcher_puts_in_the_way_is_told_of_as_well() {
    let (mut world, log) = (World::new(), Log::default());
    world.hooks().observe::<B>(EventKind::Replace, |world: &mut World, event| {
        world.insert(event.entity, A(50)).expect("alive");
    });
    observe_all(&mut world, &log);
    let entity = world.spawn(B(1));
    log.take();
    world.insert(entity, (A(2), B(3))).expect("alive");
    let expected = ["Add A 50", "Insert A 50", "Replace B 1", "Replace A 50", "Insert A 2"];
    assert_eq!(log.take()[..5], expected);
}

#[test]
fn nested_operations_are_told_of_at_once() {
    let (mut world, log) = (World::new(), Log::default());
    world.hooks().observe::<A>(EventKind::Add, |world: &mut World, event| {
        let depth = world.get::<A>(event.entity).expect("told after it").0;
        if depth > 0 {
            world.spawn(A(depth - 1));
        }
    });
    observe_all(&mut world, &log);
    world.spawn(A(2));
    let expected = ["Add A 0", "Insert A 0", "Add A 1", "Insert A 1", "Add A 2", "Insert A 2"];
    assert_eq!(log.take(), expected);
}

#[test]
fn a_runaway_is_stopped_with_a_message() {
    let mut world = World::new();
    world.hooks().observe::<A>(EventKind::Add, |world: &mut World, _| {
        world.spawn(A(0));
    });
    let stopped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.spawn(A(0))));
    let payload = stopped.expect_err("it never ends");
    let message = payload.downcast_ref::<String>().expect("a formatted message");
    assert!(message.contains("128 levels deep"), "{message}");
    assert_eq!(world.len(), 129, "each spawn was complete");
    world.check().expect("every invariant holds");
    // The count of levels is back at zero.
    let mut quiet = 0;
    world.hooks().observe::<B>(EventKind::Add, |_: &mut World, _| {});
    for _ in 0..200 {
        world.spawn(B(0));
        quiet += 1;
    }
    assert_eq!(quiet, 200);
}

#[test]
fn clearing_ends_although_watchers_keep_spawning() {
    let mut world = World::new();
    world.hooks().observe::<A>(EventKind::Despawn, |world: &mut World, event| {
        let value = world.get::<A>(event.entity).expect("told before").0;
        if value > 0 {
            world.spawn(A(value - 1));
        }
    });
    world.spawn_batch((0..4).map(A));
    world.clear();
    assert!(world.is_empty());
    world.hooks().observe::<A>(EventKind::Despawn, |world: &mut World, _| {
        world.spawn(A(0));
    });
    world.spawn(A(0));
    assert!(
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.clear())).is_err(),
        "it would never end"
    );
    world.check().expect("every invariant holds");
}

/// Where an observer finds its own name.
struct Own(Option<ObserverId>);

#[test]
fn an_observer_may_take_itself_away_while_it_runs() {
    let (mut world, log) = (World::new(), Log::default());
    world.insert_resource(Own(None));
    // The closure owns something that is freed with it.
    let (text, written) = (String::from("a text on the heap"), log.clone());
    let once = world.hooks().observe::<A>(EventKind::Add, move |world: &mut World, _| {
        let own = world.resource::<Own>().expect("inserted").0.expect("set");
        assert!(world.hooks().unobserve(own));
        // The next observer must not be called by this one, nor may its memory be reused.
        world.spawn(A(5));
        written.write(&text);
    });
    world.resource_mut::<Own>().expect("inserted").0 = Some(once);
    world.spawn(A(1));
    world.spawn(A(2));
    assert_eq!(log.take(), ["a text on the heap"]);
    assert_eq!(world.len(), 3);
}

#[test]
fn observers_that_come_and_go_meanwhile() {
    let (mut world, log) = (World::new(), Log::default());
    world.insert_resource(Own(None));
    let adder = log.clone();
    world.hooks().observe::<A>(EventKind::Add, move |world: &mut World, _| {
        let last = world.resource_mut::<Own>().expect("inserted").0.take();
        if let Some(last) = last {
            assert!(world.hooks().unobserve(last));
        }
        let log = adder.clone();
        world.hooks().observe::<A>(EventKind::Add, move |_: &mut World, event| {
            log.write(format!("{:?}", event.kind));
        });
    });
    let late = log.clone();
    let last = world
        .hooks()
        .observe::<A>(EventKind::Add, move |_: &mut World, _| late.write("was taken away"));
    world.resource_mut::<Own>().expect("inserted").0 = Some(last);
    world.spawn(A(1));
    assert_eq!(log.take(), [""; 0], "from the next event on");
    world.spawn(A(1));
    assert_eq!(log.take(), ["Add"]);
    world.spawn(A(1));
    assert_eq!(log.take(), ["Add", "Add"]);
}

#[test]
fn events_of_a_users_type_reach_their_observers_in_order() {
    struct Hit(u32);
    let (mut world, log) = (World::new(), Log::default());
    let entity = world.spawn(A(10));
    let first = log.clone();
    let gone = world.hooks().observe_event(move |world: &mut World, hit: &Hit, entity| {
        world.get_mut::<A>(entity).expect("alive").0 -= hit.0;
        first.write("first");
    });
    let second = log.clone();
    world.hooks().observe_event(move |world: &mut World, hit: &Hit, entity| {
        second.write("second");
        if hit.0 > 1 {
            world.hooks().trigger(&Hit(hit.0 - 1), entity);
        }
    });
    world.hooks().trigger(&"no one listens", entity);
    world.hooks().trigger(&Hit(2), entity);
    assert_eq!(log.take(), ["first", "second", "first", "second"]);
    assert_eq!(world.get(entity), Ok(&A(7)));
    assert!(world.hooks().unobserve(gone));
    world.hooks().trigger(&Hit(1), entity);
    assert_eq!(log.take(), ["second"]);
}

/// A watcher of this kind panics at its nth call.
fn panic_at(kind: EventKind, world: &mut World, nth: usize) {
    let calls = Mutex::new(0);
    world.hooks().observe::<Counted>(kind, move |world: &mut World, event| {
        world.check().expect("no book is open");
        assert!(world.get::<Counted>(event.entity).is_ok(), "the value is readable");
        let panics = {
            let mut calls = calls.lock().expect("no panic while it is locked");
            *calls += 1;
            *calls == nth + 1
        };
        assert!(!panics, "planned: watcher");
    });
}

#[test]
fn a_panic_in_any_watcher_leaves_everything_in_order() {
    for kind in [
        EventKind::Add,
        EventKind::Insert,
        EventKind::Replace,
        EventKind::Remove,
        EventKind::Despawn,
    ] {
        let mut panics = 0;
        for nth in 0..6 {
            for operation in 0..8 {
                let ledger = Ledger::default();
                let mut world = World::new();
                let all = world.spawn_batch((0..4).map(|i| (ledger.value(i), A(1))));
                let plain = world.spawn(A(2));
                panic_at(kind, &mut world, nth);
                let panicked = panics_as_planned(|| match operation {
                    0 => drop(world.spawn((A(1), ledger.value(9)))),
                    1 => drop(world.spawn_batch((0..6).map(|i| (ledger.value(i), B(2))))),
                    2 => world.insert(plain, (ledger.value(7), B(3))).expect("alive"),
                    3 => world.insert(all[0], (ledger.value(7), A(3))).expect("alive"),
                    4 => drop(world.remove::<Counted>(all[1]).expect("it has one")),
                    5 => drop(world.instantiate(all[2], 6).expect("all is Clone")),
                    6 => world.clear(),
                    _ => {
                        let mut commands = CommandBuffer::new(&world);
                        _ = commands.spawn(ledger.value(3));
                        commands.insert(all[1], (Lamp, ledger.value(3)));
                        commands.despawn(all[2]);
                        _ = commands.spawn(ledger.value(4));
                        drop(commands.play(&mut world));
                    }
                });
                panics += usize::from(panicked);
                world.check().expect("every invariant holds");
                let values = world.query::<&Counted>();
                let values = values.into_iter().map(Counted::number).count();
                assert_eq!(ledger.live(), values, "{kind:?} {nth} {operation}");
                if panicked && operation == 3 && kind == EventKind::Replace {
                    assert_eq!(world.get(all[0]), Ok(&A(1)), "it has not taken place");
                }
                if panicked && operation == 3 && kind == EventKind::Insert {
                    assert_eq!(world.get(all[0]), Ok(&A(3)), "it has taken place");
                }
                if panicked && operation == 6 {
                    assert!(!world.is_empty(), "those that were not told of are there");
                }
                drop(world);
                assert_eq!(ledger.live(), 0);
            }
        }
        assert!(panics >= 4, "{kind:?} panicked {panics} times");
    }
}

#[test]
fn observers_after_one_that_panicked_are_not_called() {
    fn observe<T: Component>(world: &mut World, kind: EventKind, log: &Log, line: &'static str) {
        let log = log.clone();
        world.hooks().observe::<T>(kind, move |_: &mut World, _| {
            log.write(line);
            assert!(!line.starts_with("panics"), "planned: watcher");
        });
    }
    fn observe_both(kind: EventKind, world: &mut World, log: &Log) {
        for line in ["first", "panics", "third"] {
            observe::<A>(world, kind, log, line);
        }
        observe::<B>(world, kind, log, "of the component behind it");
    }
    type Operation = fn(&mut World, Entity);
    let operations: [(EventKind, Operation, usize); 7] = [
        (EventKind::Add, |world, _| _ = world.spawn((A(1), B(1))), 3),
        (EventKind::Insert, |world, it| world.insert(it, (A(2), B(2))).expect("alive"), 2),
        (EventKind::Replace, |world, it| world.insert(it, (A(2), B(2))).expect("alive"), 2),
        (EventKind::Remove, |world, it| _ = world.remove::<(A, B)>(it), 2),
        (EventKind::Remove, |world, it| world.despawn(it).expect("alive"), 2),
        (EventKind::Despawn, |world, it| world.despawn(it).expect("alive"), 2),
        (EventKind::Despawn, |world, _| world.clear(), 2),
    ];
    for (number, (kind, operation, len)) in operations.into_iter().enumerate() {
        let (mut world, log) = (World::new(), Log::default());
        let both = world.spawn((A(1), B(1)));
        let other = world.spawn((A(3), B(3)));
        observe_both(kind, &mut world, &log);
        // Again and again: a panic leaves no one called less.
        for _ in 0..2 {
            assert!(panics_as_planned(|| operation(&mut world, both)), "operation {number}");
            assert_eq!(log.take(), ["first", "panics"], "operation {number}");
            world.check().expect("consistent");
        }
        assert_eq!(
            (world.len(), world.has::<A>(other) && world.has::<B>(other)),
            (len + usize::from(number == 0), true)
        );
    }
}

#[test]
fn observers_of_an_insertion_are_not_called_where_the_drop_of_a_replaced_value_panics() {
    for moves in [true, false] {
        let (ledger, log) = (Ledger::default(), Log::default());
        let mut world = World::new();
        let entity = world.spawn((ledger.value(1), A(1)));
        let told = log.clone();
        world
            .hooks()
            .observe::<Counted>(EventKind::Insert, move |_: &mut World, _| told.write("Insert"));
        let told = log.clone();
        world.hooks().observe::<B>(EventKind::Add, move |_: &mut World, _| told.write("Add"));
        ledger.panic_at_drop(0);
        assert!(panics_as_planned(|| {
            if moves {
                world.insert(entity, (ledger.value(2), B(2))).expect("alive");
            } else {
                world.insert(entity, ledger.value(2)).expect("alive");
            }
        }));
        assert!(log.take().is_empty());
        world.check().expect("consistent");
        assert_eq!(world.get::<Counted>(entity).map(Counted::number), Ok(2));
        world.insert(entity, ledger.value(3)).expect("alive");
        assert_eq!(log.take(), ["Insert"], "of the next one they are");
    }
}

#[test]
fn observers_of_a_users_event_after_one_that_panicked_are_not_called() {
    struct Hit(bool);
    let (mut world, log) = (World::new(), Log::default());
    for line in ["first", "panics", "third"] {
        let log = log.clone();
        world.hooks().observe_event(move |_: &mut World, hit: &Hit, _| {
            log.write(line);
            assert!(!(hit.0 && line == "panics"), "planned: watcher");
        });
    }
    let entity = world.spawn(A(1));
    for _ in 0..2 {
        assert!(panics_as_planned(|| world.hooks().trigger(&Hit(true), entity)));
        assert_eq!(log.take(), ["first", "panics"]);
    }
    world.hooks().trigger(&Hit(false), entity);
    assert_eq!(log.take(), ["first", "panics", "third"]);
}

#[test]
fn a_watcher_cannot_put_another_world_in_the_place_of_its_own() {
    let mut world = World::new();
    world.hooks().observe::<A>(EventKind::Despawn, |world: &mut World, _| {
        let mut other = World::new();
        other.spawn(B(1));
        *world = other;
    });
    let entity = world.spawn((A(1), B(2)));
    let swapped = std::panic::AssertUnwindSafe(|| world.despawn(entity).expect("alive"));
    assert!(std::panic::catch_unwind(swapped).is_err());
    world.check().expect("every invariant holds");
    assert_eq!(world.query::<&B>().into_iter().next(), Some(&B(1)));
}

#[test]
fn panics_of_drops_and_clones_in_a_world_with_watchers() {
    for nth in 0..4 {
        let ledger = Ledger::default();
        let (mut world, log) = (World::new(), Log::default());
        let all = world.spawn_batch((0..4).map(|i| (ledger.value(i), A(1))));
        observe_all(&mut world, &log);
        ledger.panic_at_clone(nth);
        let panicked = panics_as_planned(|| drop(world.instantiate(all[0], 4)));
        assert!(panicked);
        assert_eq!(log.take().len(), nth * 2, "complete copies are told of, and no others");
        ledger.panic_at_drop(nth);
        let panicked = panics_as_planned(|| {
            for &entity in &all {
                world.insert(entity, (ledger.value(9), A(2))).expect("alive");
            }
        });
        assert!(panicked);
        assert_eq!(log.take().len(), nth * 2 + 1, "what came before the panic was told of");
        world.check().expect("every invariant holds");
        drop(world);
        assert_eq!(ledger.live(), 0);
    }
}

#[test]
fn components_by_id_are_told_of_as_well() {
    use formic_ecs::ComponentDescriptor;
    let (mut world, log) = (World::new(), Log::default());
    let layout = std::alloc::Layout::new::<u8>();
    let gold = world.by_id_mut().register(ComponentDescriptor::bytes("gold", layout)).expect("new");
    let kinds = [
        EventKind::Add,
        EventKind::Insert,
        EventKind::Replace,
        EventKind::Remove,
        EventKind::Despawn,
    ];
    for kind in kinds {
        let log = log.clone();
        let observer = move |world: &mut World, event: Event| {
            let amount = world.by_id().get(event.entity, event.component).expect("it is there")[0];
            log.write(format!("{:?} {amount}", event.kind));
        };
        world.hooks().observe_by_id(kind, gold, observer).expect("of this world");
    }
    let entity = world.spawn(A(1));
    world.by_id_mut().insert(entity, gold, &[1]).expect("alive");
    assert_eq!(log.take(), ["Add 1", "Insert 1"]);
    world.by_id_mut().insert(entity, gold, &[2]).expect("alive");
    assert_eq!(log.take(), ["Replace 1", "Insert 2"]);
    world.by_id_mut().remove(entity, gold).expect("it has some");
    assert_eq!(log.take(), ["Replace 2", "Remove 2"]);
    assert!(world.by_id_mut().remove(entity, gold).is_err());
    assert!(world.by_id_mut().insert(entity, gold, &[1, 2]).is_err());
    assert_eq!(log.take(), [""; 0]);
    let other = world.by_id_mut().spawn(&[(gold, &[3])]).expect("plain bytes");
    assert_eq!(log.take(), ["Add 3", "Insert 3"]);
    world.despawn(other).expect("alive");
    assert_eq!(log.take(), ["Despawn 3", "Replace 3", "Remove 3"]);
    assert!(World::new().hooks().observe_by_id(EventKind::Add, gold, |_, _| {}).is_err());
}

/// As one of its type does not compile.
#[test]
fn an_observer_of_what_the_world_manages_is_refused() {
    let mut world = World::new();
    for side in world.relation_mut::<ChildOf>().sides() {
        let refused = world.hooks().observe_by_id(EventKind::Add, side, |_, _| {});
        assert!(matches!(refused, Err(ByIdError::Managed(_))), "{refused:?}");
    }
}

#[test]
fn what_is_about_to_happen_is_told_once_if_an_observer_despawns_the_entity() {
    let kinds = [EventKind::Despawn, EventKind::Replace, EventKind::Remove];
    // The kind whose observer despawns, and what is told of a removal and of a despawning then.
    let cases: [(EventKind, &[&str], &[&str]); 2] = [
        (EventKind::Remove, &["Replace", "Remove", "Despawn"], &["Despawn", "Replace", "Remove"]),
        (EventKind::Replace, &["Replace", "Despawn", "Remove"], &["Despawn", "Replace", "Remove"]),
    ];
    for (despawning, of_removal, of_despawning) in cases {
        let (mut world, log) = (World::new(), Log::default());
        for kind in kinds {
            let log = log.clone();
            world.hooks().observe::<A>(kind, move |world: &mut World, event: Event| {
                log.write(format!("{kind:?}"));
                if kind == despawning {
                    _ = world.despawn(event.entity);
                }
            });
        }
        let entity = world.spawn(A(1));
        assert!(world.remove::<A>(entity).is_err(), "it is gone");
        assert_eq!(log.take(), of_removal);
        let entity = world.spawn(A(1));
        world.despawn(entity).expect("alive");
        assert_eq!(log.take(), of_despawning);
        world.check().expect("in order");
    }
}
