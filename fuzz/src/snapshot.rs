//! Bytes that an attacker made: they are refused, or they are a world in order.

use bytemuck::{CheckedBitPattern, NoUninit, Pod, Zeroable};
use formic_ecs::prelude::*;
use formic_ecs::{Codec, CodecError, HashRule, Prefab, Snapshot};

use crate::ops::tamper::{changed, sealed};

#[derive(Component, Clone, Copy, Pod, Zeroable)]
#[component(name = "position")]
#[repr(C)]
struct Position([f32; 2]);

#[derive(Component, Clone, Copy, NoUninit, CheckedBitPattern)]
#[component(name = "mood", enableable, tracked)]
#[repr(u8)]
enum Mood {
    Calm = 1,
    Angry = 2,
}

#[derive(Component, Clone, Copy, NoUninit, CheckedBitPattern)]
#[component(name = "target")]
#[repr(C)]
struct Target(#[component(entity)] Entity);

#[derive(Component)]
#[component(name = "tag", enableable)]
struct Tag;

#[derive(Component, Clone, Copy, Pod, Zeroable)]
#[component(name = "steps", buffer = 2)]
#[repr(C)]
struct Step(u16);

#[derive(Component, Default)]
#[component(name = "cache", transient)]
struct Cache(Option<Box<u8>>);

struct Name(Box<str>);

impl Component for Name {
    const HASH: HashRule<Self> = HashRule::Codec(Self::CODEC);
    const CODEC: Codec<Self> = Codec::custom(write_name, read_name);

    fn name() -> &'static str {
        "name"
    }
}

#[derive(Component)]
#[component(name = "names", buffer = 1, transient)]
struct Nothing;

impl Default for Nothing {
    fn default() -> Self {
        Self
    }
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
    Ok(Name(std::str::from_utf8(text).map_err(|_| CodecError)?.into()))
}

fn sample() -> World {
    let mut world = World::new();
    let mut last = world.spawn(Tag);
    for i in 0..30_u8 {
        let position = Position([f32::from(i), 1.0]);
        let entity = match i % 4 {
            0 => world.spawn((position, Mood::Calm, Target(last))),
            1 => world.spawn((Name("x".repeat(usize::from(i)).into()), Tag, Mood::Angry)),
            2 => world.spawn((0..u16::from(i % 5)).map(Step).collect::<Buffer<_>>()),
            _ => world.spawn((Cache(None), (0..i % 3).map(|_| Nothing).collect::<Buffer<_>>())),
        };
        if i % 7 == 0 {
            world.despawn(last).expect("alive");
        }
        _ = world.set_enabled::<Mood>(entity, i % 8 == 0);
        match i % 7 {
            3 => world.relation_mut::<ChildOf>().set_parent(entity, last).expect("no cycle"),
            5 => world.insert(entity, Prefab).expect("alive"),
            _ => {}
        }
        last = entity;
    }
    world
}

/// Tries these bytes as they are, as the body of a snapshot, and as changes to a good one.
pub(crate) fn run(bytes: &[u8]) {
    let mut world = sample();
    let good = world.snapshot().expect("every component can be saved");
    attempt(&mut world, bytes.to_vec());
    attempt(&mut world, sealed(bytes));
    attempt(&mut world, changed(good.as_bytes(), bytes));
    world.restore(&good).expect("its own");
    assert_eq!(world.snapshot(), Ok(good));
}

fn attempt(world: &mut World, bytes: Vec<u8>) {
    let hash = world.state_hash();
    let Ok(snapshot) = Snapshot::from_bytes(bytes) else { return };
    if world.restore(&snapshot).is_err() {
        assert_eq!(world.state_hash(), hash, "the world is as it was");
        return;
    }
    world.check().expect("in order");
    let hash = world.state_hash();
    let again = world.snapshot().expect("every component can be saved");
    // The world goes on, and can go back again.
    let all: Vec<Entity> = world.entities().collect();
    for &entity in all.iter().step_by(2) {
        world.despawn(entity).expect("alive");
    }
    drop(world.spawn_batch((0..20).map(|_| (Tag, Mood::Calm))));
    world.query::<&mut Mood>().for_each(|mood| *mood = Mood::Angry);
    world.check().expect("in order");
    world.restore(&again).expect("its own");
    world.check().expect("in order");
    assert_eq!(world.state_hash(), hash);
    assert_eq!(world.snapshot(), Ok(again));
}
