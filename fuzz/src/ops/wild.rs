//! Programs whose watchers change the world while they are told of a change, or panic. No model says
//! what comes of that. But the world is in order after each step, no value is torn, dropped twice or
//! left behind, and the same program gives the same world.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use arbitrary::{Arbitrary, Unstructured};
use formic_ecs::{CommandBuffer, Entity, ObserverId, Related, Snapshot, Unrelated, With, World};

use super::Who;
use super::bonds::{Bond, Likes, Needs};
use super::parts::{Active, Counted, Fuel, Kind, Ledger, Part, Seed, keep_books_in, with_part};
use super::shapes::Shape;
use super::watch::Watched;
use super::{run, shrink};

/// What is done to an entity, or to the whole world.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Act {
    Spawn {
        shape: Shape,
        count: u8,
    },
    Give {
        shape: Shape,
    },
    Take {
        shape: Shape,
    },
    TakeById {
        kind: Kind,
    },
    Poke {
        kind: Kind,
    },
    Switch {
        kind: Kind,
        on: bool,
    },
    Despawn,
    Copy {
        count: u8,
    },
    Relate {
        bond: Bond,
        to: Who,
    },
    Unrelate {
        bond: Bond,
    },
    /// A buffer of a few commands, which is played at once.
    Play {
        shape: Shape,
        despawns: bool,
    },
    BulkGive,
    BulkTake,
    BulkDespawn {
        sure: u8,
    },
    /// One more watcher, who takes away.
    Watch {
        watched: Watched,
        shape: Shape,
    },
    Unwatch {
        nth: u8,
    },
    Save,
    Restore,
    Collect,
    Clear {
        sure: u8,
    },
    Panic,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Step {
    /// A watcher, and what it does to whom it is told of, or to another.
    Watch {
        watched: Watched,
        act: Act,
        to: Option<Who>,
    },
    Do {
        act: Act,
        who: Who,
    },
    Crowd {
        shape: Shape,
        count: u8,
    },
}

/// What the watchers know, as a resource of the world.
struct Wild {
    /// How much more they may do in this step.
    strength: u32,
    ledger: Arc<Ledger>,
    watchers: Vec<ObserverId>,
    saved: Option<Snapshot>,
    /// Counts the acts, for values that differ.
    acts: u16,
}

/// The panics that are meant.
struct Planned;

const WATCHERS_MAX: usize = 20;
/// How often watchers may act in one step.
const STRENGTH: u32 = 24;
const ENTITIES_MAX: usize = if cfg!(miri) { 30 } else { 400 };
const STEPS_MAX: usize = 120;

fn wild(world: &mut World) -> &mut Wild {
    world.resource_mut::<Wild>().expect("it is there")
}

/// Few shapes, so that watchers have much to do: among them one with something to clean up.
fn few(shape: Shape) -> Shape {
    let few = [Shape::Socket, Shape::Connected, Shape::Agent, Shape::Counted, Shape::Named, shape];
    few[shape as usize % few.len()]
}

/// Few kinds, those of these shapes.
fn few_kinds(kind: Kind) -> Kind {
    let few = [Kind::Socket, Kind::Counted, Kind::Active, kind];
    few[kind as usize % few.len()]
}

/// Half of the numbers mean one of the first entities.
fn pick(world: &World, who: Who) -> Entity {
    let (count, number) = (world.len().max(1), usize::from(who.0));
    let nth = if number % 2 == 0 { number / 2 % count.min(6) } else { number * 7919 % count };
    world.entities().nth(nth).unwrap_or_else(|| Entity::from_bits(u64::MAX).expect("not zero"))
}

/// Adds a watcher that acts.
fn watch(world: &mut World, watched: Watched, act: Act, to: Option<Who>) {
    if wild(world).watchers.len() == WATCHERS_MAX {
        return;
    }
    let told = move |world: &mut World, entity: Entity| {
        let strength = &mut wild(world).strength;
        if *strength > 0 {
            *strength -= 1;
            let entity = to.map_or(entity, |to| pick(world, to));
            apply(world, entity, act);
        }
    };
    let mut hooks = world.hooks();
    let watcher =
        match watched {
            Watched::Component(moment, kind) => with_part!(few_kinds(kind), T, {
                hooks.observe::<T>(moment.kind(), move |world, event| {
                    // It can be read at any moment.
                    _ = world.get::<T>(event.entity).expect("it has it").value();
                    told(world, event.entity);
                })
            }),
            Watched::Pairs(Bond::Needs, true) => {
                hooks.observe_event(move |world, pair: &Related<Needs>, _| told(world, pair.target))
            }
            Watched::Pairs(Bond::Needs, false) => hooks
                .observe_event(move |world, pair: &Unrelated<Needs>, _| told(world, pair.target)),
            Watched::Pairs(_, true) => {
                hooks.observe_event(move |world, pair: &Related<Likes>, _| told(world, pair.source))
            }
            Watched::Pairs(_, false) => hooks
                .observe_event(move |world, pair: &Unrelated<Likes>, _| told(world, pair.source)),
        };
    wild(world).watchers.push(watcher);
}

/// Does it. What the world says of it is its business.
fn apply(world: &mut World, entity: Entity, act: Act) {
    let state = wild(world);
    state.acts = (state.acts + 1) % 10_000;
    let (value, ledger) = (u64::from(state.acts), Arc::clone(&state.ledger));
    let link = Entity::from_bits(1 << 32).expect("not zero");
    let seed = Seed { value, link, ledger: &ledger };
    let has_room = world.len() < ENTITIES_MAX;
    match act {
        Act::Spawn { shape, count } if has_room => {
            drop((few(shape).fns().spawn_batch)(world, &seed, usize::from(count % 16)));
        }
        Act::Copy { count } if has_room => {
            drop(world.instantiate_with(entity, usize::from(count % 3), |nth| {
                super::shapes::gift(&seed, nth)
            }));
        }
        Act::Give { shape } => drop((few(shape).fns().insert)(world, entity, &seed)),
        Act::Take { shape } => drop((few(shape).fns().remove)(world, entity)),
        Act::TakeById { kind } => {
            let id = (few_kinds(kind).fns().id)(world);
            drop(world.by_id_mut().remove(entity, id));
        }
        Act::Poke { kind } => _ = (kind.fns().poke_by_id)(world, entity, value),
        Act::Switch { kind, on } => _ = (kind.fns().set_enabled)(world, entity, on),
        Act::Despawn => _ = world.despawn(entity),
        Act::Relate { bond, to } => {
            let to = pick(world, to);
            _ = (bond.fns().relate)(world, entity, to);
        }
        Act::Unrelate { bond } => {
            let target = (bond.fns().targets)(world, entity).first().copied();
            _ = target.map(|target| (bond.fns().unrelate)(world, entity, target));
        }
        Act::Play { shape, despawns } => {
            let mut commands = CommandBuffer::new(world);
            if has_room {
                _ = (few(shape).fns().record_spawn)(&mut commands, &seed);
            }
            (few(shape).fns().record_insert)(&mut commands, entity, &seed);
            commands.set_enabled::<Fuel>(entity, false);
            if despawns {
                commands.despawn(entity);
            } else {
                (few(shape).fns().record_remove)(&mut commands, entity);
            }
            drop(commands.play(world));
        }
        Act::BulkGive => {
            _ = world.bulk::<With<Active>>().insert((Counted::make(&seed), Fuel::make(&seed)));
        }
        Act::BulkTake => _ = world.bulk::<()>().remove::<(Counted, Fuel)>(),
        Act::BulkDespawn { sure } if sure < 80 => _ = world.bulk::<With<Active>>().despawn(),
        Act::Watch { watched, shape } => watch(world, watched, Act::Take { shape }, None),
        Act::Unwatch { nth } => {
            let watchers = &mut wild(world).watchers;
            if !watchers.is_empty() {
                let watcher = watchers.remove(usize::from(nth) % watchers.len());
                assert!(world.hooks().unobserve(watcher));
            }
        }
        Act::Save => {
            let saved = world.snapshot().expect("every component can be saved");
            wild(world).saved = Some(saved);
        }
        Act::Restore => {
            if let Some(saved) = wild(world).saved.clone() {
                world.restore(&saved).expect("it knows all that was saved");
            }
        }
        Act::Collect => {
            _ = world.collect_archetypes();
            world.compact();
        }
        Act::Clear { sure } if sure < 10 => world.clear(),
        Act::Panic => resume_unwind(Box::new(Planned)),
        Act::Spawn { .. } | Act::Copy { .. } | Act::BulkDespawn { .. } | Act::Clear { .. } => {}
    }
}

/// Panics unless the world is in order, and has all values that there are.
fn verify(world: &mut World, number: usize, step: &Step) {
    if let Err(broken) = world.check() {
        panic!("after step {number}, {step:?}: {broken}");
    }
    let entities: Vec<Entity> = world.entities().collect();
    let mut counted = 0;
    for &entity in &entities {
        for kind in Kind::ALL {
            // No value is torn.
            let there = (kind.fns().read)(world, entity).is_ok();
            counted += i64::from(there && kind == Kind::Counted);
        }
    }
    assert_eq!(wild(world).ledger.live(), counted, "after step {number}, {step:?}");
}

/// Runs a program, and returns the hash of the world after every step.
fn play(program: &[Step]) -> Vec<u64> {
    let ledger = Arc::<Ledger>::default();
    keep_books_in(&ledger);
    let mut world = run::empty_world();
    let state = Wild {
        strength: 0,
        ledger: Arc::clone(&ledger),
        watchers: Vec::new(),
        saved: None,
        acts: 0,
    };
    drop(world.insert_resource(state));
    let mut hashes = Vec::new();
    for (number, step) in program.iter().enumerate() {
        let (act, who) = match *step {
            Step::Watch { watched, act, to } => {
                watch(&mut world, watched, act, to);
                continue;
            }
            Step::Crowd { shape, count } => (Act::Spawn { shape, count }, Who(0)),
            Step::Do { act, who } => (act, who),
        };
        wild(&mut world).strength = STRENGTH;
        let entity = pick(&world, who);
        let act = AssertUnwindSafe(|| apply(&mut world, entity, act));
        if let Err(panic) = catch_unwind(act) {
            if !panic.is::<Planned>() {
                resume_unwind(panic);
            }
        }
        verify(&mut world, number, step);
        hashes.push(world.state_hash().value());
    }
    drop(world);
    assert_eq!(ledger.live(), 0, "something was leaked or dropped twice");
    hashes
}

fn run_twice(program: &[Step]) {
    assert_eq!(play(program), play(program), "the same program gave two different worlds");
}

/// Runs the program with wild watchers that these bytes are, twice: the two worlds must come out the
/// same. Panics where a world is not in order.
pub(crate) fn run_bytes(bytes: &[u8]) {
    let mut bytes = Unstructured::new(bytes);
    let mut program = Vec::new();
    while !bytes.is_empty() && program.len() < STEPS_MAX {
        let Ok(step) = bytes.arbitrary::<Step>() else { break };
        program.push(step);
    }
    shrink::run_or_shrink(&program, run_twice);
}
