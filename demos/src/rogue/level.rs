//! Rooms, corridors, and what lies in them, all generated from the seed.

use std::collections::BTreeSet;

use formic_ecs::RandomStream;
use formic_ecs::prelude::*;

use super::things::{
    Asleep, Barrel, Blow, Bow, Cell, Closed, Door, Foe, Hands, Health, Hero, Look, Opaque,
    Position, Potion, Solid, Stairs, TheHero,
};

/// The plot of a room, in cells: rooms lie in rows and columns of plots.
const PLOT: (i32, i32) = (16, 8);
/// The number of foes per room.
const FOES_PER_ROOM: u32 = 3;

/// The map of a level: which cells are rock.
#[derive(Debug)]
pub(super) struct Level {
    pub(super) width: i32,
    pub(super) height: i32,
    open: Vec<bool>,
}

/// A room without its walls: from the first corner to the last, both inside.
#[derive(Clone, Copy, Debug)]
struct Room {
    first: Cell,
    last: Cell,
}

impl Room {
    fn centre(&self) -> Cell {
        ((self.first.0 + self.last.0) / 2, (self.first.1 + self.last.1) / 2)
    }

    /// Whether a cell is on the walls around the room.
    fn has_wall(&self, (x, y): Cell) -> bool {
        let (left, top) = (self.first.0 - 1, self.first.1 - 1);
        let (right, bottom) = (self.last.0 + 1, self.last.1 + 1);
        let is_beside = (left..=right).contains(&x) && (top..=bottom).contains(&y);
        is_beside && (x == left || x == right || y == top || y == bottom)
    }
}

impl Level {
    /// Whether a cell is not rock. Everything outside the map is rock.
    pub(super) fn is_open(&self, cell: Cell) -> bool {
        self.index(cell).is_some_and(|index| self.open[index])
    }

    pub(super) fn index(&self, (x, y): Cell) -> Option<usize> {
        let is_inside = (0..self.width).contains(&x) && (0..self.height).contains(&y);
        let index = usize::try_from(y).ok()? * usize::try_from(self.width).ok()?;
        is_inside.then_some(index + usize::try_from(x).ok()?)
    }

    fn carve(&mut self, cell: Cell) {
        if let Some(index) = self.index(cell) {
            self.open[index] = true;
        }
    }

    /// Carves a corridor from one cell to another: first along the row, then along the column.
    fn carve_corridor(&mut self, from: Cell, to: Cell) {
        (from.0.min(to.0)..=from.0.max(to.0)).for_each(|x| self.carve((x, from.1)));
        (from.1.min(to.1)..=from.1.max(to.1)).for_each(|y| self.carve((to.0, y)));
    }

    /// Whether a cell is open between two walls, like a doorway.
    fn is_doorway(&self, (x, y): Cell) -> bool {
        let open = |dx, dy| self.is_open((x + dx, y + dy));
        let across = open(-1, 0) && open(1, 0) && !open(0, -1) && !open(0, 1);
        let along = open(0, -1) && open(0, 1) && !open(-1, 0) && !open(1, 0);
        open(0, 0) && (across || along)
    }
}

fn between(dice: &mut RandomStream, least: i32, most: i32) -> i32 {
    let count = u64::try_from(most - least + 1).unwrap_or(1);
    least + i32::try_from(dice.below(count)).unwrap_or(0)
}

/// Fills an empty world with a level and `foes` foes; returns the hero.
pub(super) fn fill(world: &mut World, foes: u32, seed: u64) -> Entity {
    let mut dice = RandomStream::new(seed).fork(1);
    let rooms_wanted = i32::try_from(foes.div_ceil(FOES_PER_ROOM) + 3).unwrap_or(i32::MAX);
    // Plots are twice as wide as high, and so is the level.
    let mut columns = 1;
    while columns * columns < rooms_wanted {
        columns += 1;
    }
    let rows = (rooms_wanted + columns - 1) / columns;
    let (width, height) = (columns * PLOT.0 + 1, rows * PLOT.1 + 1);
    let cell_count = usize::try_from(i64::from(width) * i64::from(height)).unwrap_or(0);
    let mut level = Level { width, height, open: vec![false; cell_count] };
    let mut rooms = Vec::new();
    for plot in 0..columns * rows {
        let corner = (plot % columns * PLOT.0 + 1, plot / columns * PLOT.1 + 1);
        let first = (corner.0 + between(&mut dice, 1, 3), corner.1 + between(&mut dice, 1, 2));
        let size = (between(&mut dice, 4, PLOT.0 - 7), between(&mut dice, 2, PLOT.1 - 5));
        let room = Room { first, last: (first.0 + size.0, first.1 + size.1) };
        for y in room.first.1..=room.last.1 {
            (room.first.0..=room.last.0).for_each(|x| level.carve((x, y)));
        }
        rooms.push(room);
    }
    let number = |index: i32| usize::try_from(index).unwrap_or(0);
    for plot in 0..columns * rows {
        let centre = rooms[number(plot)].centre();
        if plot % columns + 1 < columns {
            level.carve_corridor(centre, rooms[number(plot + 1)].centre());
        }
        // Only every other column is connected vertically: all rooms can be reached, some only by
        // detours.
        if plot + columns < columns * rows && (plot % columns) % 2 == 0 {
            level.carve_corridor(centre, rooms[number(plot + columns)].centre());
        }
    }
    let hero = populate(world, &level, &rooms, foes, &mut dice);
    world.insert_resource(level);
    world.insert_resource(TheHero(hero));
    hero
}

fn populate(
    world: &mut World,
    level: &Level,
    rooms: &[Room],
    foes: u32,
    dice: &mut RandomStream,
) -> Entity {
    let (start, end) = (rooms[0].centre(), rooms[rooms.len() - 1].centre());
    let health = |most| Health { now: most, most };
    let body = (Position::from(start), Look::of('@'), health(20), Solid);
    let hero = world.spawn((body, Hero, Hands, Blow(3), Bow(8)));
    world.spawn((Position::from(end), Look::of('>'), Stairs));
    for room in rooms {
        spawn_doors(world, level, room, dice);
    }
    let mut taken = BTreeSet::from([start, end]);
    for number in 0..foes {
        let room = 1 + usize::try_from(number / FOES_PER_ROOM).unwrap_or(0) % (rooms.len() - 1);
        let Some(at) = free_cell(&rooms[room], &mut taken, dice) else { continue };
        let (position, kind) = (Position::from(at), dice.below(4));
        let foe = match kind {
            0 | 1 => (position, Look::of('r'), health(3), Blow(1), Foe(0)),
            2 => (position, Look::of('g'), health(7), Blow(2), Foe(1)),
            _ => (position, Look::of('a'), health(4), Blow(1), Foe(2)),
        };
        let foe = world.spawn((foe, Solid, Asleep));
        match kind {
            0 | 1 => {}
            2 => drop(world.insert(foe, Hands)),
            _ => drop(world.insert(foe, (Hands, Bow(6)))),
        }
    }
    for room in &rooms[1..] {
        for _ in 0..between(dice, 1, 2) {
            if let Some(at) = free_cell(room, &mut taken, dice) {
                world.spawn((Position::from(at), Look::of('o'), health(1), Solid, Barrel));
            }
        }
        if let Some(at) = free_cell(room, &mut taken, dice).filter(|_| dice.below(2) == 0) {
            world.spawn((Position::from(at), Look::of('!'), Potion));
        }
    }
    hero
}

fn spawn_doors(world: &mut World, level: &Level, room: &Room, dice: &mut RandomStream) {
    for y in room.first.1 - 1..=room.last.1 + 1 {
        for x in room.first.0 - 1..=room.last.0 + 1 {
            let is_doorway = room.has_wall((x, y)) && level.is_doorway((x, y));
            if is_doorway && dice.below(4) > 0 {
                let door = (Position { x, y }, Look::of('+'), Door, Closed, Solid, Opaque);
                world.spawn(door);
            }
        }
    }
}

/// Returns a free cell of a room, if a few random tries find one.
fn free_cell(room: &Room, taken: &mut BTreeSet<Cell>, dice: &mut RandomStream) -> Option<Cell> {
    for _ in 0..8 {
        let x = between(dice, room.first.0, room.last.0);
        let y = between(dice, room.first.1, room.last.1);
        // A thing in the middle of a room would be in the way of corridors.
        if (x, y) != room.centre() && taken.insert((x, y)) {
            return Some((x, y));
        }
    }
    None
}
