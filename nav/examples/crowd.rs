//! A thousand agents walk to one goal by a flow field, while walls come and go:
//! `cargo run --release -p formic-nav --example crowd`.

#![expect(clippy::print_stdout, reason = "a program that prints what happens")]

use std::error::Error;

use formic_nav::{Cell, Direction, FlowField, MoveRule, Terrain, generate};
use glam::Vec2;

const AGENT_COUNT: usize = 1000;
/// Cells per tick.
const SPEED: f32 = 0.4;
/// Ticks between two edits.
const EDIT_PERIOD: usize = 20;
/// By then all have arrived, or something is wrong.
const TICK_COUNT_MAX: usize = 10_000;

/// An agent on the way from the centre of one cell to the next.
struct Walker {
    position: Vec2,
    /// The cell that it left or stands in.
    cell: Cell,
}

impl Walker {
    /// Whether it stands in a cell, or counts as standing there.
    fn is_in(&self, cell: Cell) -> bool {
        self.cell == cell || Cell::containing(self.position) == Some(cell)
    }

    /// Walks for a tick. False where the field leads no further.
    fn walk(&mut self, field: &mut FlowField, terrain: &Terrain) -> bool {
        let mut left = SPEED;
        while left > 0.0 {
            let direction = field.direction(terrain, self.cell);
            let next = direction.and_then(|direction| direction.step(self.cell));
            let Some(next) = next else { return false };
            let way = next.centre() - self.position;
            let distance = way.length();
            if distance > left {
                self.position += way * (left / distance);
                break;
            }
            self.position = next.centre();
            self.cell = next;
            left -= distance;
        }
        true
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut terrain = Terrain::new(generate::dungeon(256, 256, 7)?, MoveRule::BothFree);
    let regions = terrain.regions();
    let largest = regions.ids().max_by_key(|&region| regions.cell_count(region));
    let largest = largest.ok_or("a dungeon without a room")?;
    let cells: Vec<Cell> = regions.cells(largest).collect();
    let goal = cells[cells.len() / 2];
    let mut walkers: Vec<Walker> = (0..AGENT_COUNT)
        .map(|number| cells[number * cells.len() / AGENT_COUNT])
        .map(|cell| Walker { position: cell.centre(), cell })
        .collect();
    println!("{} agents walk to {goal}.", walkers.len());

    let mut field = FlowField::new(&terrain, &[goal]);
    let mut wall = None;
    for tick in 1..=TICK_COUNT_MAX {
        if tick % EDIT_PERIOD == 0 {
            // The last wall falls, and a new one rises before an agent's feet.
            if let Some(cell) = wall.take() {
                terrain.dig(cell);
            }
            let walker = &walkers[tick / EDIT_PERIOD % walkers.len()];
            let ahead = field.direction(&terrain, walker.cell);
            wall = ahead.and_then(|direction: Direction| direction.step(walker.cell));
            wall = wall.filter(|&cell| cell != goal && walkers.iter().all(|it| !it.is_in(cell)));
            if let Some(cell) = wall {
                terrain.fill(cell);
            }
        }
        // An agent that is shut out for a while waits; only the goal is an end.
        walkers.retain_mut(|walker| walker.walk(&mut field, &terrain) || walker.cell != goal);
        if tick % 100 == 0 {
            let (left, count) = (walkers.len(), field.expansion_count());
            println!("Tick {tick}: {left} on their way, {count} cells worked out so far.");
        }
        if walkers.is_empty() {
            println!("All have arrived after {tick} ticks.");
            return Ok(());
        }
    }
    Err(format!("{} agents never arrived", walkers.len()).into())
}
