//! A small game: things on a square of cells that walk, open doors, burst and die.

use std::fmt;
use std::str::FromStr;

use bytemuck::{Pod, Zeroable};
use formic_ai::turn::{
    CellPosition, Change, Draft, Refusal, Rule, Ruling, TurnActionKind, Turns, TurnsBuilder, Vacant,
};
use formic_ecs::RandomStream;
use formic_ecs::prelude::*;

pub(crate) type Cell = (i32, i32);

#[derive(Component, Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Position {
    pub(crate) x: i32,
    pub(crate) y: i32,
}

impl CellPosition for Position {
    type Cell = Cell;

    fn cell(&self) -> Cell {
        (self.x, self.y)
    }
}

#[derive(Component, Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Health(pub(crate) u32);

#[derive(Component, Clone, Copy, Debug, PartialEq)]
pub(crate) struct Solid;

#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[component(enableable)]
pub(crate) struct Lit;

#[derive(Component, Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Door(pub(crate) u32);

#[derive(Component, Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Velocity {
    pub(crate) x: i32,
    pub(crate) y: i32,
}

#[derive(Component, Clone, Copy, Debug, PartialEq)]
pub(crate) struct OpensDoors;

#[derive(Component, Clone, Copy, Debug, PartialEq)]
pub(crate) struct Player;

/// A component that a thing can be made of.
pub(crate) trait Part {
    fn give(&self, world: &mut World, to: Entity);
}

impl<T: Component + Clone> Part for T {
    fn give(&self, world: &mut World, to: Entity) {
        world.insert(to, self.clone()).map_err(drop).unwrap();
    }
}

/// Spawns a thing, part by part: a bundle of its own for each test takes its time to compile.
pub(crate) fn put(world: &mut World, parts: &[&dyn Part]) -> Entity {
    let thing = world.spawn(());
    parts.iter().for_each(|part| part.give(world, thing));
    thing
}

#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Deed {
    Walk(Entity, i32, i32),
    Open(Entity),
    Hurt(Entity, u32),
    Die(Entity),
    Bring(i32, i32),
    /// Two things change places in one action.
    Swap(Entity, Entity),
    /// Two go to one cell in one action.
    Meet(Entity, Entity),
    /// An actor learns to open doors, and walks, in one action.
    Learn(Entity, i32),
    Close(Entity),
    /// Inserts into an actor that dies of it, and gives them another turn.
    Burst(Entity),
    /// Brings a vacant entity without a draft's knowing.
    Smuggle(Entity),
    /// Gives an actor a turn.
    Call(Entity),
    /// Changes drawn by chance.
    Anything(u64),
    /// Brings so many at once.
    Flood(usize),
    /// Answers with itself for ever, where the rule is there.
    Echo(u32),
    Wait,
}

pub(crate) const SIDE: u32 = 4;

fn below(dice: &mut RandomStream, bound: u32) -> u32 {
    u32::try_from(dice.below(u64::from(bound))).unwrap()
}

pub(crate) fn chance_position(dice: &mut RandomStream) -> Position {
    let mut number = || i32::try_from(below(dice, SIDE)).unwrap();
    Position { x: number(), y: number() }
}

impl TurnActionKind for Deed {
    type Cell = Cell;

    fn bind(&self, draft: &mut Draft<'_, Cell>) -> Result<(), Refusal> {
        match *self {
            Self::Walk(who, x, y) => {
                let from = draft.get::<Position>(who)?;
                draft.insert(who, Position { x: from.x + x, y: from.y + y });
            }
            Self::Open(door) => {
                draft.remove::<Solid>(door);
                draft.insert(door, Door(1));
            }
            Self::Hurt(who, wounds) => {
                let left = draft.get::<Health>(who)?.0.saturating_sub(wounds);
                draft.insert(who, Health(left));
            }
            Self::Die(who) => draft.despawn(who),
            Self::Bring(x, y) => {
                let new = draft.spawn()?;
                draft.insert(new, Position { x, y });
                draft.insert(new, Health(3));
                draft.schedule(new, 2);
            }
            Self::Swap(one, other) => {
                let (a, b) = (*draft.get::<Position>(one)?, *draft.get::<Position>(other)?);
                draft.insert(one, b);
                draft.insert(other, a);
            }
            Self::Meet(one, other) => {
                draft.insert(one, Position { x: 3, y: 3 });
                draft.insert(other, Position { x: 3, y: 3 });
            }
            Self::Learn(who, x) => {
                let from = *draft.get::<Position>(who)?;
                draft.insert(who, Position { x: from.x + x, ..from });
                draft.insert(who, OpensDoors);
            }
            Self::Close(door) => {
                draft.insert(door, Door(0));
                draft.insert(door, Solid);
            }
            Self::Burst(who) => {
                draft.insert(who, Health(0));
                draft.insert(who, Lit);
                draft.despawn(who);
                draft.insert(who, Position { x: 1, y: 1 });
                draft.schedule(who, 1);
            }
            Self::Smuggle(who) => draft.remove::<Vacant>(who),
            Self::Call(who) => draft.schedule(who, 1),
            Self::Anything(seed) => anything(seed, draft)?,
            Self::Flood(count) => {
                for _ in 0..count {
                    draft.spawn()?;
                }
            }
            Self::Echo(number) if number > 1_000_000 => {
                return Err(Refusal::Malformed(format!("{number} is too loud")));
            }
            Self::Echo(_) | Self::Wait => {}
        }
        Ok(())
    }

    fn duration(&self) -> u64 {
        match self {
            Self::Wait => 3,
            _ => 2,
        }
    }
}

/// A few changes of living things, in any order, some of them of the same component.
fn anything(seed: u64, draft: &mut Draft<'_, Cell>) -> Result<(), Refusal> {
    let mut dice = RandomStream::new(seed);
    let now = draft.now();
    let mut all: Vec<Entity> = now.world().entities().filter(|&it| now.is_alive(it)).collect();
    all.sort_unstable();
    if all.is_empty() || dice.below(4) == 0 {
        let new = draft.spawn()?;
        draft.insert(new, chance_position(&mut dice));
        all.push(new);
    }
    for _ in 0..dice.below(6) {
        let who = all[usize::try_from(dice.below(all.len() as u64)).unwrap()];
        match dice.below(14) {
            0..3 => draft.insert(who, chance_position(&mut dice)),
            3 => draft.remove::<Position>(who),
            4 => draft.insert(who, Health(below(&mut dice, 9))),
            5 => draft.remove::<Health>(who),
            6 | 7 => draft.insert(who, Solid),
            8 => draft.remove::<Solid>(who),
            9 => draft.insert(who, Door(below(&mut dice, 2))),
            10 => draft.remove::<Door>(who),
            11 => draft.insert(who, Lit),
            12 => draft.remove::<Lit>(who),
            _ => draft.despawn(who),
        }
    }
    Ok(())
}

impl fmt::Display for Deed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Walk(who, x, y) => write!(f, "walk {} {x} {y}", who.to_bits()),
            Self::Anything(seed) => write!(f, "anything {seed}"),
            other => write!(f, "{other:?}"),
        }
    }
}

impl FromStr for Deed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split(' ').collect();
        let number = |word: &str| word.parse::<i32>().map_err(|_| format!("{word:?} is no number"));
        match words[..] {
            ["walk", who, x, y] => {
                let who = who.parse().ok().and_then(Entity::from_bits);
                Ok(Self::Walk(who.ok_or("who walks?")?, number(x)?, number(y)?))
            }
            ["anything", seed] => {
                Ok(Self::Anything(seed.parse().map_err(|_| format!("{seed:?} is no seed"))?))
            }
            _ => Err(format!("{text:?} is nothing that can be done")),
        }
    }
}

/// The components and cells of the game, without rules.
pub(crate) fn bare() -> TurnsBuilder<Deed> {
    Turns::builder()
        .position::<Position>()
        .set::<Solid>()
        .set::<Door>()
        .component::<Health>()
        .component::<Lit>()
        .component::<Velocity>()
        .component::<OpensDoors>()
        .player::<Player>()
        .vacancies(64)
}

/// Who bumps into a closed door opens it, where they can.
pub(crate) fn bump_opens_doors() -> Rule<Deed> {
    Rule::on("bump opens doors", |case, moved: Change<'_, Position>, reactions| {
        if !case.after.has::<OpensDoors>(moved.entity) {
            return Ruling::pass();
        }
        let closed = |door: &Entity| case.now.get::<Door>(*door) == Ok(&Door(0));
        let Some(door) = case.now.cell(moved.value.cell()).with::<Door>().find(closed) else {
            return Ruling::pass();
        };
        reactions.push(Deed::Open(door));
        Ruling::reject()
    })
    .before("collision")
}

/// No two solid things are in one cell.
pub(crate) fn collision() -> Rule<Deed> {
    Rule::on("collision", |case, moved: Change<'_, Position>, _| {
        let is_solid = case.after.has::<Solid>(moved.entity);
        if is_solid && case.after.cell(moved.value.cell()).count::<Solid>() > 1 {
            Ruling::reject()
        } else {
            Ruling::pass()
        }
    })
}

/// Things in the square, the same for the same seed.
pub(crate) fn populate(world: &mut World, seed: u64, count: usize) -> Vec<Entity> {
    let mut dice = RandomStream::new(seed);
    let mut all = Vec::new();
    for _ in 0..count {
        let who = put(world, &[&chance_position(&mut dice), &Health(5)]);
        if dice.below(2) == 0 {
            world.insert(who, Solid).unwrap();
        }
        if dice.below(3) == 0 {
            world.insert(who, Door(0)).unwrap();
        }
        if dice.below(3) == 0 {
            world.insert(who, Lit).unwrap();
            world.set_enabled::<Lit>(who, dice.below(2) == 0).unwrap();
        }
        all.push(who);
    }
    all
}
