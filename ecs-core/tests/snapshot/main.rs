//! Snapshots: to go back to what was, exactly.

mod components;
mod hostile;
mod migration;
mod panics;
mod relations;
mod restore;
#[path = "../support/mod.rs"]
mod support;

use formic_ecs::prelude::*;
use formic_ecs::{Codec, CodecError, HashRule, StateHasher};

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
    const HASH: HashRule<Self> = HashRule::Codec(Codec::custom(write_name, read_name));
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

impl formic_ecs::BufferElement for Name {
    type Inline = [Self; 1];
    const HASH: HashRule<Self> = HashRule::Codec(Codec::custom(write_name, read_name));
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

/// Writes the length and the checksum that these bytes have, as an attacker would.
fn reseal(bytes: &mut [u8]) {
    let sum = {
        let body = &bytes[32..];
        let mut lanes = [StateHasher::new(); 4];
        let stripes = body.chunks_exact(32);
        let rest = stripes.remainder();
        for stripe in stripes {
            for (lane, word) in lanes.iter_mut().zip(stripe.chunks_exact(8)) {
                lane.write_u64(u64::from_le_bytes(word.try_into().expect("eight")));
            }
        }
        let mut all = StateHasher::new();
        lanes.iter().for_each(|lane| all.write_u64(lane.finish()));
        all.write(rest);
        all.finish()
    };
    let len = (bytes.len() - 32) as u64;
    bytes[16..24].copy_from_slice(&len.to_le_bytes());
    bytes[24..32].copy_from_slice(&sum.to_le_bytes());
}
