//! Every kind of drop in every operation, each of them made to panic: nothing is dropped twice or
//! leaked, both sides of relations stay in step, and the world goes on.

use crate::support::{Counted, Ledger, panics_as_planned};
use formic_ecs::prelude::*;
use formic_ecs::{BufferElement, ChildOf, Despawned, EventKind, OnTargetDespawn, Relation};

#[derive(Component, Clone)]
struct Value(Counted);

struct Element(Counted);

impl BufferElement for Element {
    const HASH: formic_ecs::HashRule<Self> = formic_ecs::HashRule::Unhashed;
    type Inline = [Self; 2];
    const CLONE: Option<fn(&Self) -> Self> = Some(|element| Self(element.0.clone()));
}

#[derive(Component)]
#[component(cleanup)]
struct Socket(Counted);

#[derive(Component, Clone, Copy)]
struct Tag;

struct Likes;

impl Relation for Likes {}

struct Serves;

impl Relation for Serves {
    const EXCLUSIVE: bool = true;
    const ON_TARGET_DESPAWN: OnTargetDespawn = OnTargetDespawn::DespawnSources;
}

/// Held by a resource, and by the closures of an observer.
struct Held(Counted);

const COUNT: usize = if cfg!(miri) { 6 } else { 12 };

/// Families and friends, of which each has values of every kind.
fn world(ledger: &Ledger) -> (World, Vec<Entity>) {
    let mut world = World::new();
    let mut all = Vec::new();
    for i in 0..COUNT as u64 {
        let elements = (0..3).map(|_| Element(ledger.value(i)));
        let entity = world.spawn((Value(ledger.value(i)), Buffer::from_iter(elements)));
        if i % 3 == 0 {
            assert!(world.insert(entity, Socket(ledger.value(i))).is_ok(), "alive");
        }
        all.push(entity);
    }
    for (i, &entity) in all.iter().enumerate().skip(1) {
        world.relation_mut::<ChildOf>().set_parent(entity, all[i / 3]).expect("no cycle");
        world.relation_mut::<Likes>().add(entity, all[(i * 5 + 1) % COUNT]).expect("alive");
    }
    world.relation_mut::<Serves>().add(all[1], all[COUNT - 1]).expect("alive");
    world.insert_resource(Held(ledger.value(100)));
    (world, all)
}

/// How many counted values there are in a world.
fn values(world: &mut World) -> usize {
    let mut count = world.query::<&Value>().count() + world.query::<&Socket>().count();
    world.query::<&Socket>().for_each(|socket| assert!(socket.0.number() < 1000));
    world.query::<&Buffer<Element>>().for_each(|buffer| count += buffer.len());
    world.query::<&Value>().for_each(|value| assert!(value.0.number() < 1000));
    // A query does not see those that wait for their cleanup, unless it asks for them.
    count += world.query_filtered::<&Socket, With<Despawned>>().count();
    count + usize::from(world.resource::<Held>().is_ok())
}

type Act = fn(&mut World, &[Entity], &Ledger);

#[test]
fn every_drop_in_every_operation() {
    let acts: [(&str, Act); 18] = [
        ("insert over", |world, all, ledger| {
            drop(world.insert(all[2], (Value(ledger.value(2)), Tag)));
        }),
        ("insert in place", |world, all, ledger| {
            drop(world.insert(all[2], Value(ledger.value(2))));
        }),
        ("insert a buffer", |world, all, _| drop(world.insert(all[3], Buffer::<Element>::new()))),
        ("remove", |world, all, _| drop(world.remove::<(Value, Buffer<Element>)>(all[1]))),
        ("remove a cleanup component", |world, all, _| {
            world.despawn(all[3]).expect("alive");
            drop(world.remove::<Socket>(all[3]));
        }),
        ("despawn a leaf", |world, all, _| world.despawn(all[COUNT - 1]).expect("alive")),
        ("despawn a family", |world, all, _| world.despawn(all[1]).expect("alive")),
        ("relate", |world, all, _| {
            _ = world.relation_mut::<Likes>().add(all[0], all[4]);
            _ = world.relation_mut::<Serves>().add(all[1], all[2]);
            _ = world.relation_mut::<Serves>().add(all[5], all[5]);
        }),
        ("set a parent", |world, all, _| {
            world.relation_mut::<ChildOf>().set_parent(all[2], all[1]).expect("no cycle");
            world.relation_mut::<ChildOf>().set_parent(all[4], None).expect("alive");
        }),
        ("unrelate", |world, all, _| {
            for i in 1..COUNT {
                _ = world.relation_mut::<Likes>().remove(all[i], all[(i * 5 + 1) % COUNT]);
            }
        }),
        ("instantiate a family", |world, all, _| drop(world.instantiate(all[2], 2))),
        ("bulk insert", |world, _, ledger| {
            world.bulk::<With<Value>>().insert((Value(ledger.value(7)), Tag));
        }),
        ("bulk remove", |world, _, _| _ = world.bulk::<With<Value>>().remove::<Buffer<Element>>()),
        ("bulk despawn", |world, _, _| _ = world.bulk::<With<Socket>>().despawn()),
        ("clear", |world, _, _| world.clear()),
        ("resources", |world, _, ledger| {
            drop(world.insert_resource(Held(ledger.value(1))));
            drop(world.remove_resource::<Held>());
        }),
        ("commands", |world, all, ledger| {
            let mut commands = CommandBuffer::new(world);
            let new = commands.spawn(Value(ledger.value(5)));
            commands.insert(all[0], Value(ledger.value(5)));
            commands.relate::<Likes>(all[0], new);
            commands.set_parent(new, all[3]);
            commands.remove::<Buffer<Element>>(all[4]);
            commands.despawn(all[1]);
            commands.insert(all[1], Value(ledger.value(5)));
            let held = Held(ledger.value(6));
            commands.run(move |world| _ = (world.len(), held.0.number()));
            drop(commands.play(world));
        }),
        ("observers", |world, all, ledger| {
            let held = Held(ledger.value(6));
            world.hooks().observe::<Value>(EventKind::Remove, move |world, event| {
                assert!(world.contains(event.entity) && held.0.number() == 6);
            });
            drop(world.remove::<Value>(all[2]));
            world.despawn(all[1]).expect("alive");
        }),
    ];
    for (name, act) in acts {
        for nth in 0.. {
            let ledger = Ledger::default();
            let (mut world, all) = world(&ledger);
            ledger.panic_at_drop(nth);
            let panicked = panics_as_planned(|| act(&mut world, &all, &ledger));
            if let Err(broken) = world.check() {
                panic!("{name}, drop {nth}: {broken:?}");
            }
            // What only an observer holds is not in the world.
            let held = if name == "observers" { ledger.live() - values(&mut world) } else { 0 };
            assert!(held <= 1, "{name}, drop {nth}");
            assert_eq!(ledger.live() - held, values(&mut world), "{name}, drop {nth}");
            let new = world.spawn(Value(ledger.value(1)));
            if let Some(&old) = all.iter().find(|&&entity| world.contains(entity)) {
                // Those that wait for their cleanup are there, and can be related no more.
                _ = world.relation_mut::<ChildOf>().add(new, old);
            }
            world.check().expect("it goes on");
            _ = panics_as_planned(|| drop(world));
            assert_eq!(ledger.live(), 0, "{name}, drop {nth}");
            if !panicked {
                break;
            }
        }
    }
}
