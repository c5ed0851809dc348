//! Memory that runs out. The standard library ends the process then (`handle_alloc_error`), which no
//! test survives; so the program runs in a child, once for each of its allocations, which fails. The
//! child has to end by the message and the abort that belong to it, never by a wrong access.

use std::env;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::sync::Arc;

use formic_ecs::prelude::*;

use crate::watched::Watched;
use crate::{LEFT, fails};

const VARIABLE: &str = "ALLOCATIONS_THAT_GO_WELL";
const ABORTED: i32 = 6;

#[derive(Component, Clone)]
struct Label(Box<str>);

#[derive(Component, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[component(tracked)]
#[repr(C)]
struct Number(u64);

#[derive(Component)]
#[component(enableable)]
struct Tag;

#[derive(Component, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[component(buffer = 1)]
#[repr(C)]
struct Step(u32);

/// A bit of everything.
fn program(mut world: World) {
    let all = world.spawn_batch((0..40).map(|i| (Number(i), Label("a".into()))));
    for &entity in &all[..10] {
        world.insert(entity, Tag).expect("alive");
        world.insert(entity, (0..3).map(Step).collect::<Buffer<_>>()).expect("alive");
    }
    drop(world.remove::<Label>(all[3]).expect("it has one"));
    drop(world.instantiate(all[12], 5).expect("it can be cloned"));
    let mut commands = CommandBuffer::new(&world);
    for &entity in &all[5..15] {
        commands.insert(entity, (Tag, Label("b".into())));
        _ = commands.spawn((Number(7), Tag));
        commands.despawn(entity);
    }
    assert!(commands.play(&mut world).failures().is_empty());
    world.query::<&mut Number>().for_each(|number| number.0 += 1);
    assert!(world.query::<&Label>().into_iter().all(|label| label.0.len() == 1));
    world.clear();
    world.compact();
    drop(world.spawn_batch((0..9).map(|i| (Number(i), Tag))));
    world.check().expect("in order");
}

/// Nothing on its own: what the other test runs, in another process.
#[test]
fn the_program() {
    let Ok(left) = env::var(VARIABLE) else { return };
    LEFT.set(Some(left.parse().expect("a number")));
    program(World::new());
    let host = Watched { grants: |_| !fails(), freed: |_| () };
    program(World::with_block_memory(Arc::new(host)));
    LEFT.set(None);
}

#[test]
fn wherever_memory_runs_out_the_process_aborts_with_a_message() {
    let this = env::current_exe().expect("the test runs");
    let mut left = 0;
    let mut aborted = 0;
    loop {
        let child = Command::new(&this)
            .args(["--exact", "failing::the_program", "--nocapture", "--test-threads=1"])
            .env(VARIABLE, left.to_string())
            .output()
            .expect("it starts");
        if child.status.success() {
            break;
        }
        let said = String::from_utf8_lossy(&child.stderr);
        assert_eq!(child.status.signal(), Some(ABORTED), "allocation {left}: {said}");
        assert!(said.contains("memory allocation of"), "allocation {left}: {said}");
        aborted += 1;
        // Each of the first, then fewer: the later ones are of the same few kinds.
        left += 1 + left / 24;
    }
    assert!(aborted > 40, "the program has only {aborted} allocations");
}
