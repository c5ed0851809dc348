//! The works: tunnels are dug and corridors bricked up, a tile every few ticks.
//!
//! All of it is a function of the seed and of the current map. The more has been dug than filled, the
//! likelier the next project fills, so the map stays in balance forever.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use formic_ecs::RandomStream;
use formic_jobs::ResMut;
use formic_nav::{Cell, Direction, MoveRule, RegionEvent, Terrain};
use serde::{Deserialize, Serialize};

/// The number of ticks per tile.
const TICKS_PER_TILE: u64 = 4;
/// The maximum amount of rock that a tunnel goes through, in tiles.
const TUNNEL_MAX: usize = 12;
/// The maximum number of corridor tiles that are bricked up at once.
const PLUG_MAX: usize = 3;
/// The maximum number of dug tiles that are remembered.
const DUG_CELLS_MAX: usize = 1_024;
/// The number of places tried before a tick passes without an edit.
const TRIES: usize = 1_000;

const ORTHOGONAL: [Direction; 4] =
    [Direction::North, Direction::East, Direction::South, Direction::West];

/// The current project of the works, and what they have done so far. A resource.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Works {
    stream: RandomStream,
    ticks: u64,
    project: VecDeque<Cell>,
    /// Whether the project digs its cells or fills them.
    is_digging: bool,
    /// Tiles that were dug and may be filled in again.
    dug_cells: Vec<Cell>,
    pub(super) open_count_at_start: usize,
    region_count_at_start: usize,
    pub(super) count: WorksCount,
}

/// Counts of tiles, and of changes of regions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WorksCount {
    pub(super) tiles_dug: u64,
    pub(super) tiles_filled: u64,
    pub(super) regions_merged: u64,
    pub(super) regions_split: u64,
}

/// Does the work of one tick.
pub(super) fn work(mut works: ResMut<Works>, mut terrain: ResMut<Terrain>) {
    works.tick(&mut terrain);
}

impl Works {
    pub(super) fn new(stream: RandomStream, terrain: &Terrain) -> Self {
        Self {
            stream,
            ticks: 0,
            project: VecDeque::new(),
            is_digging: true,
            dug_cells: Vec::new(),
            open_count_at_start: terrain.grid().open_count(),
            region_count_at_start: terrain.regions().count(),
            count: WorksCount::default(),
        }
    }

    /// Writes all state that the next tick depends on and that the terrain does not show.
    pub(super) fn digest(&self, mut write: impl FnMut(u64)) {
        write(self.stream.state());
        write(self.ticks);
        write(u64::from(self.is_digging));
        for cell in self.project.iter().chain(&self.dug_cells) {
            write(u64::from(cell.y) << 16 | u64::from(cell.x));
        }
    }

    fn tick(&mut self, terrain: &mut Terrain) {
        self.ticks += 1;
        if self.ticks % TICKS_PER_TILE != 0 {
            return;
        }
        if self.project.is_empty() {
            self.plan(terrain);
        }
        if let Some(cell) = self.project.pop_front() {
            self.edit(terrain, cell);
        }
        for event in terrain.drain_events() {
            match event {
                RegionEvent::Merged { .. } => self.count.regions_merged += 1,
                RegionEvent::Split { .. } => self.count.regions_split += 1,
                RegionEvent::Created { .. } | RegionEvent::Removed { .. } => {}
            }
        }
    }

    fn edit(&mut self, terrain: &mut Terrain, cell: Cell) {
        if self.is_digging {
            if terrain.dig(cell) {
                self.count.tiles_dug += 1;
                if self.dug_cells.len() == DUG_CELLS_MAX {
                    self.some_dug_cell();
                }
                self.dug_cells.push(cell);
            }
        } else if terrain.grid().open_count() > 1 && terrain.fill(cell) {
            self.count.tiles_filled += 1;
        }
    }

    /// Chooses the next project; none if no place suits.
    fn plan(&mut self, terrain: &Terrain) {
        // The chance to dig falls from one to zero over this many tiles of surplus on both sides of
        // balance.
        let slack = 16 + self.open_count_at_start / 100;
        let threshold = self.open_count_at_start + self.below(2 * slack);
        self.is_digging = terrain.grid().open_count() + slack <= threshold;
        self.project.clear();
        // Without this the map would fall apart, since cutting is easier than joining.
        let is_in_pieces = terrain.regions().count() > self.region_count_at_start + 4;
        for attempt in 0..TRIES {
            let cells = match (self.is_digging, is_in_pieces) {
                (true, _) => self.tunnel(terrain, attempt > TRIES / 2),
                (false, false) => self.plug(terrain),
                (false, true) => self.dead_end(terrain),
            };
            if !cells.is_empty() {
                self.project.extend(cells);
                return;
            }
        }
        // On a map without corridors, tiles that were dug before can still be filled.
        if !self.is_digging {
            self.project = self.some_dug_cell().into_iter().collect();
        }
    }

    /// Returns a straight way through rock from some open cell to one of another region, or of the same
    /// region if `short_cuts` is true. Empty if the place does not suit.
    fn tunnel(&mut self, terrain: &Terrain, short_cuts: bool) -> Vec<Cell> {
        let Some(start) = self.inner_cell(terrain).filter(|&cell| terrain.is_open(cell)) else {
            return Vec::new();
        };
        let direction = ORTHOGONAL[self.below(4)];
        let ahead = |&cell: &Cell| direction.step(cell).filter(|&next| is_inner(terrain, next));
        let ray = std::iter::successors(ahead(&start), ahead);
        let rock = ray.take_while(|&cell| !terrain.is_open(cell)).take(TUNNEL_MAX + 1);
        let rock: Vec<Cell> = rock.collect();
        let end = rock.last().and_then(|&last| ahead(&last));
        let is_wanted = end.is_some_and(|end| short_cuts || !terrain.reachable(start, end));
        if is_wanted && rock.len() <= TUNNEL_MAX { rock } else { Vec::new() }
    }

    /// Returns a piece of a corridor one cell wide, or a tile that was dug before. Empty if the place
    /// does not suit.
    fn plug(&mut self, terrain: &Terrain) -> Vec<Cell> {
        if !self.dug_cells.is_empty() && self.below(8) == 0 {
            let dug = self.some_dug_cell().filter(|&cell| terrain.is_open(cell));
            return dug.into_iter().collect();
        }
        let Some(start) = self.inner_cell(terrain) else { return Vec::new() };
        let Some(direction) = corridor(terrain, start) else { return Vec::new() };
        let length = 1 + self.below(PLUG_MAX);
        let along = std::iter::successors(Some(start), |&cell| direction.step(cell));
        along.take_while(|&cell| corridor(terrain, cell) == Some(direction)).take(length).collect()
    }

    /// Returns the end of a blind corridor, or an enclosed cell. Empty if the place is neither.
    fn dead_end(&mut self, terrain: &Terrain) -> Vec<Cell> {
        let cell = self.inner_cell(terrain).filter(|&cell| terrain.is_open(cell));
        let is_end =
            |cell: &Cell| terrain.grid().neighbours(*cell, MoveRule::Orthogonal).count() <= 1;
        cell.filter(is_end).into_iter().collect()
    }

    /// Removes a random tile from the list of dug tiles.
    fn some_dug_cell(&mut self) -> Option<Cell> {
        let place = self.below(self.dug_cells.len());
        (place < self.dug_cells.len()).then(|| self.dug_cells.swap_remove(place))
    }

    /// Returns a random cell that is not on the border of the map.
    fn inner_cell(&mut self, terrain: &Terrain) -> Option<Cell> {
        let (width, height) = (terrain.grid().width(), terrain.grid().height());
        let cell = Cell::new(self.coordinate(width), self.coordinate(height));
        is_inner(terrain, cell).then_some(cell)
    }

    fn coordinate(&mut self, side: u16) -> u16 {
        let place = self.stream.below(side.into());
        u16::try_from(place).expect("less than the side, which is a u16")
    }

    fn below(&mut self, bound: usize) -> usize {
        let number = self.stream.below(bound as u64);
        usize::try_from(number).expect("less than the bound, which is a usize")
    }
}

/// Whether a cell is not on the border of the map, which never changes.
fn is_inner(terrain: &Terrain, cell: Cell) -> bool {
    let (width, height) = (terrain.grid().width(), terrain.grid().height());
    (1..width.saturating_sub(1)).contains(&cell.x)
        && (1..height.saturating_sub(1)).contains(&cell.y)
}

/// Returns the direction of a corridor one cell wide at an open cell, south or east.
fn corridor(terrain: &Terrain, cell: Cell) -> Option<Direction> {
    let is_open =
        |direction: Direction| direction.step(cell).is_some_and(|beside| terrain.is_open(beside));
    let [north, east, south, west] = ORTHOGONAL.map(is_open);
    match terrain.is_open(cell) {
        true if north && south && !east && !west => Some(Direction::South),
        true if east && west && !north && !south => Some(Direction::East),
        _ => None,
    }
}
