//! Generated maps: the same size and seed always give the same map.
//!
//! The two maps in `demos/maps` come from here, and a test checks that they do.

#[cfg(test)]
mod tests;

use formic_ecs::RandomStream;

use crate::cell::Cell;
use crate::grid::{Grid, GridSizeError};
use crate::rng::{below, percent, pick};

/// The columns and rows of the plot on which each room of a dungeon is built.
const PLOT: u16 = 16;
/// The number of wings of a dungeon along each side.
const WINGS: (u16, u16) = (3, 2);

/// Generates a dungeon of rooms and corridors, in wings that only digging can connect.
///
/// Every plot of 16 x 16 cells gets a room, some with pillars. Rooms of one wing are joined by a spanning
/// tree of corridors and a few more for loops. No corridor leads from one wing to another, but at some
/// places only a few cells of rock stand between. Some of the rooms are vaults with no door at all. Plots
/// that would leave the map are not built on; a map smaller than one plot is solid.
///
/// ```
/// use formic_nav::{MoveRule, Terrain, generate};
/// let dungeon = Terrain::new(generate::dungeon(128, 96, 1)?, MoveRule::default());
/// assert!(dungeon.regions().count() >= 6);
/// # Ok::<(), formic_nav::GridSizeError>(())
/// ```
///
/// # Errors
/// Returns [`GridSizeError`] if no grid can have this size.
pub fn dungeon(width: u32, height: u32, seed: u64) -> Result<Grid, GridSizeError> {
    let mut canvas = Grid::solid(width, height)?;
    let mut rng = RandomStream::new(seed);
    let (columns, rows) = (canvas.width() / PLOT, canvas.height() / PLOT);
    let plots: Vec<(u16, u16)> =
        (0..rows).flat_map(|row| (0..columns).map(move |column| (column, row))).collect();
    let rooms: Vec<Room> =
        plots.iter().map(|&plot| Room::random(&mut rng, plot, (columns, rows))).collect();
    for room in &rooms {
        carve_room(&mut canvas, &mut rng, room);
    }
    for (a, b) in corridors(&mut rng, &rooms, usize::from(columns)) {
        carve_corridor(&mut canvas, &mut rng, rooms[a].centre, rooms[b].centre);
    }
    // Without the edits that have made it.
    Grid::from_fn(width, height, |cell| canvas.is_open(cell))
}

/// Generates a cavern of rounded caves, some of them closed.
///
/// It is noise, smoothed by a cellular automaton: a cell becomes rock if five or more of the nine cells
/// around and including it are rock (the method of J. Babcock, "Cellular Automata Method for Generating
/// Random Cave-Like Levels", 2005). The border of the map is solid.
///
/// ```
/// use formic_nav::generate;
/// let cavern = generate::cavern(64, 48, 1)?;
/// assert!(cavern.open_count() > 64 * 48 / 4);
/// # Ok::<(), formic_nav::GridSizeError>(())
/// ```
///
/// # Errors
/// Returns [`GridSizeError`] if no grid can have this size.
pub fn cavern(width: u32, height: u32, seed: u64) -> Result<Grid, GridSizeError> {
    const OPEN_PERCENT: u16 = 56;
    const SMOOTHING_ROUNDS: usize = 4;
    const OPEN_COUNT_MIN: usize = 5;
    let mut rng = RandomStream::new(seed);
    let is_inside = |cell: Cell| {
        let is_between = |at: u16, side: u32| at > 0 && u32::from(at) + 1 < side;
        is_between(cell.x, width) && is_between(cell.y, height)
    };
    let is_noise = |cell| is_inside(cell) && percent(&mut rng, OPEN_PERCENT);
    let mut grid = Grid::from_fn(width, height, is_noise)?;
    for _ in 0..SMOOTHING_ROUNDS {
        let open_count =
            |cell| grid.ring(cell).count_ones() as usize + usize::from(grid.is_open(cell));
        let is_open = |cell| is_inside(cell) && open_count(cell) >= OPEN_COUNT_MIN;
        grid = Grid::from_fn(width, height, is_open)?;
    }
    Ok(grid)
}

/// A room, walls not included.
struct Room {
    west: u16,
    north: u16,
    width: u16,
    height: u16,
    centre: (u16, u16),
    /// Only rooms of one wing are joined.
    wing: u16,
    is_vault: bool,
}

impl Room {
    const SIDE_MIN: u16 = 5;
    const SIDE_MAX: u16 = 13;
    const VAULT_PERCENT: u16 = 8;

    fn random(
        rng: &mut RandomStream,
        (column, row): (u16, u16),
        (columns, rows): (u16, u16),
    ) -> Self {
        let mut side = || Self::SIDE_MIN + below(rng, Self::SIDE_MAX - Self::SIDE_MIN + 1);
        let (width, height) = (side(), side());
        // At least one cell of wall stays on each side of the plot.
        let mut offset = |side: u16| 1 + below(rng, PLOT - 1 - side);
        let west = column * PLOT + offset(width);
        let north = row * PLOT + offset(height);
        let wing = row * WINGS.1 / rows * WINGS.0 + column * WINGS.0 / columns;
        let centre = (west + width / 2, north + height / 2);
        let is_vault = percent(rng, Self::VAULT_PERCENT);
        Self { west, north, width, height, centre, wing, is_vault }
    }
}

/// The pairs of rooms to join: a spanning tree of each wing in random order, as in Kruskal's algorithm,
/// and one in four of the other pairs.
fn corridors(rng: &mut RandomStream, rooms: &[Room], columns: usize) -> Vec<(usize, usize)> {
    const LOOP_PERCENT: u16 = 25;
    let mut pairs = neighbouring_rooms(rooms, columns);
    shuffle(rng, &mut pairs);
    let mut groups = Groups::new(rooms.len());
    pairs.retain(|&(a, b)| groups.join(a, b) || percent(rng, LOOP_PERCENT));
    pairs
}

/// Groups of joined rooms: a union-find forest, by size (B. Galler and M. Fischer, "An Improved
/// Equivalence Algorithm", 1964).
struct Groups {
    /// The parent of each room; a root is its own parent.
    parents: Vec<usize>,
    /// The number of joined rooms, for each root.
    sizes: Vec<usize>,
}

impl Groups {
    fn new(count: usize) -> Self {
        Self { parents: (0..count).collect(), sizes: vec![1; count] }
    }

    /// A room, its ancestors, and the root.
    fn way_up(&self, room: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(room), |&room| {
            Some(self.parents[room]).filter(|&parent| parent != room)
        })
    }

    /// Joins the groups of two rooms. Returns false if they are the same.
    fn join(&mut self, a: usize, b: usize) -> bool {
        let [a, b] = [a, b].map(|room| self.way_up(room).last().unwrap_or(room));
        let (under, root) = if self.sizes[a] < self.sizes[b] { (a, b) } else { (b, a) };
        if under != root {
            self.parents[under] = root;
            self.sizes[root] += self.sizes[under];
        }
        under != root
    }
}

/// The pairs of rooms of one wing side by side or one above the other.
fn neighbouring_rooms(rooms: &[Room], columns: usize) -> Vec<(usize, usize)> {
    let is_joinable = |&(a, b): &(usize, usize)| {
        let (a, b) = (&rooms[a], &rooms[b]);
        a.wing == b.wing && !a.is_vault && !b.is_vault
    };
    let to_east = (0..rooms.len()).filter(|i| (i + 1) % columns != 0).map(|i| (i, i + 1));
    let to_south = (columns..rooms.len()).map(|i| (i - columns, i));
    to_east.chain(to_south).filter(is_joinable).collect()
}

/// Shuffles by the method of Fisher and Yates.
fn shuffle<T>(rng: &mut RandomStream, items: &mut [T]) {
    for end in (2..=items.len()).rev() {
        let other = pick(rng.next_u64(), end);
        items.swap(end - 1, other);
    }
}

/// Opens a rectangle of cells, ends included.
fn carve(canvas: &mut Grid, [west, east]: [u16; 2], [north, south]: [u16; 2]) {
    for y in north..=south {
        (west..=east).for_each(|x| _ = canvas.dig(Cell::new(x, y)));
    }
}

/// Opens a room; large ones may keep pillars every fourth cell.
fn carve_room(canvas: &mut Grid, rng: &mut RandomStream, room: &Room) {
    const PILLAR_PERCENT: u16 = 40;
    let (east, south) = (room.west + room.width, room.north + room.height);
    carve(canvas, [room.west, east - 1], [room.north, south - 1]);
    if room.width.min(room.height) < 9 || !percent(rng, PILLAR_PERCENT) {
        return;
    }
    for y in (room.north + 2..south - 2).step_by(4) {
        for x in (room.west + 2..east - 2).step_by(4) {
            canvas.fill(Cell::new(x, y));
        }
    }
}

/// Opens a corridor with one bend, one or two cells wide, between the centres of two rooms.
fn carve_corridor(canvas: &mut Grid, rng: &mut RandomStream, a: (u16, u16), b: (u16, u16)) {
    let wide = u16::from(percent(rng, 30));
    let bend = if percent(rng, 50) { (a.0, b.1) } else { (b.0, a.1) };
    for (from, to) in [(a, bend), (bend, b)] {
        let xs = [from.0.min(to.0), from.0.max(to.0) + wide];
        let ys = [from.1.min(to.1), from.1.max(to.1) + wide];
        carve(canvas, xs, ys);
    }
}
