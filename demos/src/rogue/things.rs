//! The components of the things in the dungeon.

use bytemuck::{Pod, Zeroable};
use formic_ai::turn::{CellPosition, Vacant};
use formic_ecs::prelude::*;

use crate::raster::Colour;

/// A cell: column and row.
pub(super) type Cell = (i32, i32);

/// The cell of a thing.
#[derive(Component, Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Position {
    pub(super) x: i32,
    pub(super) y: i32,
}

impl CellPosition for Position {
    type Cell = Cell;

    fn cell(&self) -> Cell {
        (self.x, self.y)
    }
}

impl From<Cell> for Position {
    fn from((x, y): Cell) -> Self {
        Self { x, y }
    }
}

/// The letter that a thing is drawn as.
#[derive(Component, Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Look(u32);

impl Look {
    pub(super) fn of(letter: char) -> Self {
        Self(letter.into())
    }

    pub(super) fn letter(self) -> char {
        char::from_u32(self.0).unwrap_or('?')
    }
}

/// The colour of letters that have no other in the legend.
const DULL: Colour = Colour([170, 150, 120]);

/// The letters of the legend and their colours; the last one stands for all others.
pub(super) const KINDS: [(char, &str, Colour); 12] = [
    ('>', "stairs", Colour([230, 159, 0])),
    ('!', "potion", Colour([86, 180, 233])),
    ('+', "closed door", DULL),
    ('/', "open door", DULL),
    ('o', "barrel", Colour([213, 94, 0])),
    ('r', "rat", Colour([186, 140, 99])),
    ('g', "goblin", Colour([0, 158, 115])),
    ('a', "archer", Colour([204, 121, 167])),
    ('z', "asleep", Colour([110, 110, 120])),
    ('*', "flame", Colour([240, 228, 66])),
    ('@', "hero", Colour::WHITE),
    ('-', "arrow", DULL),
];

/// Returns the index of a letter in the legend.
pub(super) fn kind_of(letter: char) -> usize {
    KINDS.iter().position(|(known, ..)| *known == letter).unwrap_or(KINDS.len() - 1)
}

pub(super) const ASLEEP: char = 'z';

/// Returns the noun for a thing, if the legend has it.
pub(super) fn noun(world: &World, thing: Entity) -> Option<&'static str> {
    if world.has::<Vacant>(thing) {
        return Some("vacancy");
    }
    if world.has::<Velocity>(thing) {
        // Some letters of arrows are those of doors.
        return Some("arrow");
    }
    if world.has::<Door>(thing) {
        return Some("door");
    }
    let letter = world.get::<Look>(thing).ok()?.letter();
    KINDS.iter().find(|(known, ..)| *known == letter).map(|&(_, noun, _)| noun)
}

/// The number of blows that a thing can take.
#[derive(Component, Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Health {
    pub(super) now: u32,
    pub(super) most: u32,
}

/// The strength of a blow.
#[derive(Component, Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Blow(pub(super) u32);

/// The range of a shot, in cells.
#[derive(Component, Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Bow(pub(super) i32);

/// The direction of an arrow, which moves by one cell at every point in real time.
#[derive(Component, Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Velocity {
    pub(super) x: i32,
    pub(super) y: i32,
}

/// A flame: the points in real time until it flares up, and then those for which it burns.
#[derive(Component, Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Flame {
    pub(super) wait: u32,
    pub(super) left: u32,
}

/// Blocks actors from entering its cell.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
pub(super) struct Solid;

/// Blocks the line of sight.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
pub(super) struct Opaque;

/// A door, open or closed.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
pub(super) struct Door;

/// A door that is closed.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
pub(super) struct Closed;

/// A barrel, which bursts when it is hit.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
pub(super) struct Barrel;

/// A potion, which heals the hero.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
pub(super) struct Potion;

/// The way out.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
pub(super) struct Stairs;

/// The actor that is played.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
pub(super) struct Hero;

/// The hero has been on the stairs.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
pub(super) struct Escaped;

/// An actor that can open doors.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
pub(super) struct Hands;

/// A foe of the hero, with the number of its reasoner.
#[derive(Component, Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Foe(pub(super) u32);

/// A foe that has not noticed the hero, and has no turns.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
pub(super) struct Asleep;

/// The handle of the hero, as a resource, which stays after the hero is gone.
#[derive(Clone, Copy, Debug)]
pub(super) struct TheHero(pub(super) Entity);
