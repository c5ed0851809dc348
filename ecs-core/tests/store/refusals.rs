//! Errors and mistakes that panic leave the world as it was: to the byte of its snapshot, which has
//! everything that decides what comes next.

use core::alloc::Layout;
use std::panic::{AssertUnwindSafe, catch_unwind};

use formic_ecs::prelude::*;
use formic_ecs::{ComponentDescriptor, ComponentId, EventKind, Relation};

#[derive(Component, Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct A(u32);

#[derive(Component, Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[component(tracked)]
#[repr(C)]
struct B(u32);

#[derive(Component)]
#[component(enableable)]
struct On;

/// Not to be cloned.
#[derive(Component, bytemuck::Zeroable, bytemuck::Pod, Clone, Copy)]
#[component(cleanup)]
#[repr(C)]
struct Socket(u32);

/// Of no entity yet: who is given it comes to an archetype that is not there.
#[derive(Component, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Fresh(u32);

struct Likes;
impl Relation for Likes {}

/// A world with something of every kind, and handles of its own.
struct Stage {
    world: World,
    plain: Entity,
    parent: Entity,
    child: Entity,
    /// Despawned, and there to be cleaned up.
    waiting: Entity,
    stale: Entity,
    a: ComponentId,
    on: ComponentId,
    bytes: ComponentId,
    unknown: ComponentId,
}

fn stage() -> Stage {
    let mut world = World::new();
    let all = world.spawn_batch((0..5).map(|i| (A(i), B(i))));
    let [plain, parent, child] = [all[0], all[1], all[2]];
    world.insert(child, On).expect("alive");
    world.relation_mut::<ChildOf>().set_parent(child, parent).expect("alive");
    world.relation_mut::<Likes>().add(plain, child).expect("alive");
    let waiting = world.spawn((A(7), Socket(1)));
    world.despawn(waiting).expect("alive");
    world.despawn(all[3]).expect("alive");
    let bytes =
        world.by_id_mut().register(ComponentDescriptor::bytes("test.bytes", Layout::new::<u64>()));
    let bytes = bytes.expect("a new name");
    let mut other = World::new();
    for name in ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15"] {
        let layout = Layout::new::<u8>();
        _ = other.by_id_mut().register(ComponentDescriptor::bytes(name, layout)).expect("new");
    }
    let of_other = ComponentDescriptor::bytes("test.last", Layout::new::<u8>());
    let unknown = other.by_id_mut().register(of_other).expect("a new name");
    assert!(world.component_info(unknown).is_err());
    let [a, on] = [world.register::<A>(), world.register::<On>()];
    world.register::<Fresh>();
    Stage { world, plain, parent, child, waiting, stale: all[3], a, on, bytes, unknown }
}

/// Everything that decides what comes next, but for the version: asking makes the world older.
fn state(world: &World) -> Vec<u8> {
    world.check().expect("consistent");
    let saved = world.snapshot().expect("all can be saved");
    // Behind the header and the version, see docs/snapshot-format.md.
    saved.as_bytes()[40..].to_vec()
}

#[test]
fn what_is_an_error_leaves_the_world_as_it_was() {
    type Attempt = fn(&mut Stage) -> bool;
    let attempts: &[(&str, Attempt)] = &[
        ("despawn", |s| s.world.despawn(s.stale).is_err()),
        ("despawn again", |s| s.world.despawn(s.waiting).is_err()),
        ("insert", |s| s.world.insert(s.stale, (A(1), Fresh(1))).is_err()),
        ("remove", |s| s.world.remove::<A>(s.stale).is_err()),
        ("remove what is not there", |s| s.world.remove::<(A, Fresh)>(s.plain).is_err()),
        ("get_mut", |s| s.world.get_mut::<B>(s.stale).is_err()),
        ("get_mut of another", |s| s.world.get_mut::<Fresh>(s.plain).is_err()),
        ("set_enabled", |s| s.world.set_enabled::<On>(s.plain, false).is_err()),
        ("set_enabled, stale", |s| s.world.set_enabled::<On>(s.stale, false).is_err()),
        ("relate", |s| s.world.relation_mut::<Likes>().add(s.plain, s.stale).is_err()),
        ("relate, stale", |s| s.world.relation_mut::<Likes>().add(s.stale, s.plain).is_err()),
        ("relate to who waits", |s| {
            s.world.relation_mut::<Likes>().add(s.plain, s.waiting).is_err()
        }),
        ("a cycle", |s| s.world.relation_mut::<ChildOf>().set_parent(s.parent, s.child).is_err()),
        ("its own parent", |s| {
            s.world.relation_mut::<ChildOf>().set_parent(s.child, s.child).is_err()
        }),
        ("a stale parent", |s| {
            s.world.relation_mut::<ChildOf>().set_parent(s.child, s.stale).is_err()
        }),
        ("instantiate", |s| s.world.instantiate(s.stale, 3).is_err()),
        ("instantiate without Clone", |s| s.world.instantiate(s.child, 3).is_err()),
        ("resource", |s| s.world.resource_mut::<u32>().is_err()),
        ("remove_by_id", |s| s.world.by_id_mut().remove(s.plain, s.bytes).is_err()),
        ("remove_by_id, unknown", |s| s.world.by_id_mut().remove(s.plain, s.unknown).is_err()),
        ("remove_by_id, stale", |s| s.world.by_id_mut().remove(s.stale, s.a).is_err()),
        ("insert_by_id", |s| s.world.by_id_mut().insert(s.plain, s.bytes, &[0; 7]).is_err()),
        ("insert_by_id, stale", |s| s.world.by_id_mut().insert(s.stale, s.bytes, &[0; 8]).is_err()),
        ("insert_by_id, unknown", |s| {
            s.world.by_id_mut().insert(s.plain, s.unknown, &[0]).is_err()
        }),
        ("insert_by_id, not bytes", |s| s.world.by_id_mut().insert(s.plain, s.a, &[0; 4]).is_err()),
        ("get_mut_by_id", |s| s.world.by_id_mut().get_mut(s.plain, s.bytes).is_err()),
        ("set_enabled_by_id", |s| s.world.by_id_mut().set_enabled(s.plain, s.on, false).is_err()),
        ("set_enabled_by_id, never", |s| {
            s.world.by_id_mut().set_enabled(s.plain, s.a, false).is_err()
        }),
        ("spawn_by_id", |s| s.world.by_id_mut().spawn(&[(s.bytes, &[0; 9])]).is_err()),
        ("spawn_by_id, unknown", |s| s.world.by_id_mut().spawn(&[(s.unknown, &[0; 8])]).is_err()),
        ("spawn_batch_by_id", |s| {
            s.world.by_id_mut().spawn_batch(&[(s.bytes, &[0; 23])], 3).is_err()
        }),
        ("a descriptor", |s| {
            let other = ComponentDescriptor::bytes("test.bytes", Layout::new::<u8>());
            s.world.by_id_mut().register(other).is_err()
        }),
        ("query_one", |s| s.world.query_one::<(&mut A, &Fresh)>(s.plain).is_err()),
        ("query_one, stale", |s| s.world.query_one::<&mut A>(s.stale).is_err()),
        ("get_many_mut", |s| {
            let mut query = s.world.query::<&mut A>();
            query.get_many_mut([s.plain, s.plain]).is_err()
        }),
        ("single", |s| s.world.query::<&mut A>().single().is_err()),
        ("restore", |s| {
            let mut other = World::new();
            #[derive(Component)]
            struct Unknown;
            other.spawn(Unknown);
            s.world.restore(&other.snapshot().expect("a tag")).is_err()
        }),
        ("commands", |s| {
            let mut commands = CommandBuffer::new(&s.world);
            commands.insert(s.stale, Fresh(1));
            commands.insert(s.stale, Fresh(2));
            commands.remove::<A>(s.stale);
            commands.despawn(s.stale);
            commands.play(&mut s.world).failures().len() == 4
        }),
    ];
    let mut stage = stage();
    let before = state(&stage.world);
    for (name, attempt) in attempts {
        assert!(attempt(&mut stage), "{name} is refused");
        assert_eq!(state(&stage.world), before, "after: {name}");
    }
    let fresh = stage.world.spawn(A(1));
    assert_eq!(fresh.index(), stage.stale.index(), "the slot that is free is the next");
}

#[test]
fn a_mistake_that_panics_leaves_the_world_as_it_was() {
    type Mistake = fn(&mut Stage);
    let mistakes: &[(&str, Mistake)] = &[
        ("spawn twice", |s| _ = s.world.spawn((A(1), B(1), A(2)))),
        ("spawn_batch twice", |s| drop(s.world.spawn_batch((0..3).map(|i| (A(i), A(i)))))),
        ("insert twice", |s| drop(s.world.insert(s.plain, (Fresh(1), Fresh(1))))),
        ("remove twice", |s| _ = s.world.remove::<(A, A)>(s.plain)),
        ("bulk insert twice", |s| _ = s.world.bulk::<()>().insert((A(1), A(1)))),
        ("bulk remove twice", |s| _ = s.world.bulk::<()>().remove::<(A, A)>()),
        ("query twice", |s| _ = s.world.query::<(&mut A, &A)>().count()),
        ("a plan of another world", |s| {
            let mut plan = World::new().plan::<&mut A>();
            drop(s.world.cell().query(&mut plan));
        }),
        ("commands of another world", |s| {
            let mut commands = CommandBuffer::new(&World::new());
            commands.despawn(s.plain);
            drop(commands.play(&mut s.world));
        }),
        ("a view twice", |s| drop(s.world.view::<(&mut A, &A)>())),
        ("a hook that comes too late", |s| _ = s.world.hooks().on::<A>(EventKind::Add, |_, _| ())),
        ("a hook twice", |s| {
            s.world
                .hooks()
                .on::<Fresh>(EventKind::Add, |_, _| ())
                .on::<Fresh>(EventKind::Add, |_, _| ());
        }),
    ];
    let mut stage = stage();
    let before = state(&stage.world);
    for (name, mistake) in mistakes {
        let outcome = catch_unwind(AssertUnwindSafe(|| mistake(&mut stage)));
        assert!(outcome.is_err(), "{name} panics");
        assert_eq!(state(&stage.world), before, "after: {name}");
    }
}
