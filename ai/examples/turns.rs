//! A corridor in turns: a door that opens when an actor bumps into it, and a shot that flies in real
//! time inside a turn and bursts a barrel.
//!
//! `cargo run -p formic-ai --example turns` prints each frame, the trace of the shot, and that undoing all
//! turns comes back to the first state.
#![expect(elided_lifetimes_in_paths, reason = "the arguments of systems read better without <'_>")]
#![expect(clippy::print_stdout, reason = "this program talks to a person")]

use std::error::Error;
use std::ops::ControlFlow;

use formic_ai::turn::{
    CellPosition, Change, Draft, Frame, Motion, RealTime, Refusal, Rule, Ruling, Situation,
    TurnActionKind, Turns,
};
use formic_ecs::prelude::*;

#[derive(Component, Clone, PartialEq)]
struct Position(i32);

impl CellPosition for Position {
    type Cell = i32;

    fn cell(&self) -> i32 {
        self.0
    }
}

/// How a thing looks.
#[derive(Component, Clone)]
struct Glyph(char);

#[derive(Component, Clone)]
struct Solid;

#[derive(Component, Clone)]
struct ClosedDoor;

#[derive(Component, Clone)]
struct Barrel;

#[derive(Component, Clone)]
struct Velocity(i32);

#[derive(Component, Clone)]
struct Hero;

#[derive(Clone, Copy, Debug)]
enum Deed {
    Walk(Entity, i32),
    Open(Entity),
    Shoot(Entity),
    Burst(Entity),
    Vanish(Entity),
}

impl TurnActionKind for Deed {
    type Cell = i32;

    fn bind(&self, draft: &mut Draft<i32>) -> Result<(), Refusal> {
        match *self {
            Self::Walk(who, by) => {
                let Position(at) = *draft.get(who)?;
                draft.insert(who, Position(at + by));
            }
            Self::Open(door) => {
                draft.remove::<ClosedDoor>(door);
                draft.remove::<Solid>(door);
                draft.insert(door, Glyph('/'));
            }
            Self::Shoot(who) => {
                let Position(at) = *draft.get(who)?;
                let bullet = draft.spawn()?;
                draft.insert(bullet, Position(at));
                draft.insert(bullet, Velocity(1));
                draft.insert(bullet, Glyph('-'));
            }
            Self::Burst(barrel) => {
                draft.remove::<Barrel>(barrel);
                draft.remove::<Solid>(barrel);
                draft.insert(barrel, Glyph('*'));
            }
            Self::Vanish(who) => draft.despawn(who),
        }
        Ok(())
    }
}

fn rules() -> [Rule<Deed>; 2] {
    let collision = Rule::on("collision", |case, moved: Change<Position>, _| {
        let is_solid = case.after.has::<Solid>(moved.entity);
        let solid = case.after.cell(moved.value.0).count::<Solid>();
        if is_solid && solid > 1 { Ruling::reject() } else { Ruling::pass() }
    });
    let bump = Rule::on("bump opens doors", |case, moved: Change<Position>, reactions| {
        let door = case.after.cell(moved.value.0).first::<ClosedDoor>();
        let Some(door) = door.filter(|_| case.after.has::<Hero>(moved.entity)) else {
            return Ruling::pass();
        };
        reactions.push(Deed::Open(door));
        Ruling::reject()
    });
    [collision, bump.before("collision")]
}

/// Whatever has a velocity moves, until it meets something solid.
fn flight() -> RealTime<Deed> {
    RealTime::new("flight", |point| {
        let now = point.now();
        let mut motion = Motion::Still;
        for (bullet, position, velocity) in
            now.world().query_ref::<(Entity, &Position, &Velocity)>()
        {
            motion = Motion::Moving;
            let at = position.0 + velocity.0;
            point.insert(bullet, Position(at));
            let cell = now.cell(at);
            if cell.any::<Solid>() {
                point.request(Deed::Vanish(bullet));
            }
            if let Some(barrel) = cell.first::<Barrel>() {
                point.request(Deed::Burst(barrel));
                point.request_after(20, Deed::Vanish(barrel));
            }
        }
        motion
    })
}

fn line(now: Situation<i32>) -> String {
    let glyph = |at| {
        let top = now.cell(at).with::<Glyph>().last();
        top.and_then(|top| now.get::<Glyph>(top).ok()).map_or('.', |glyph| glyph.0)
    };
    (0..16).map(glyph).collect()
}

fn draw(frame: &Frame<i32>) -> ControlFlow<()> {
    println!("{:4} ms  {}", frame.time, line(frame.now));
    ControlFlow::Continue(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut world = World::new();
    world.spawn((Position(3), Glyph('+'), Solid, ClosedDoor));
    world.spawn((Position(12), Glyph('o'), Solid, Barrel));
    let hero = world.spawn((Position(1), Glyph('@'), Solid, Hero));

    let builder = Turns::builder()
        .position::<Position>()
        .set::<Solid>()
        .set::<ClosedDoor>()
        .component::<Barrel>()
        .component::<Velocity>()
        .component::<Glyph>()
        .component::<Hero>()
        .player::<Hero>()
        .real_time(flight())
        .vacancies(8);
    let builder = rules().into_iter().fold(builder, |builder, rule| builder.rule(rule));
    let mut turns = builder.build(&mut world)?;
    turns.schedule(hero, 0);
    let first = turns.state_hash(&world);

    let script = [Deed::Walk(hero, 1), Deed::Walk(hero, 1), Deed::Walk(hero, 1), Deed::Shoot(hero)];
    for deed in script {
        println!("{deed:?}");
        turns.take_turn(&mut world, hero, deed, draw)?;
    }
    println!("\nWhy:\n{}", turns.trace());

    while turns.undo(&mut world).is_some() {}
    println!("Undone: {}", line(turns.now(&world)));
    assert_eq!(turns.state_hash(&world), first);
    Ok(())
}
