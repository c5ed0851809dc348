//! Terrain: a grid and its regions, kept in step.

use std::path::Path;

use formic_ecs::{Codec, CodecError};

use crate::bytes::{Saved, take};
use crate::cell::Cell;
use crate::clearance::{Clearance, SIZE_MAX, square, weight_of_square};
use crate::cost::Weight;
use crate::direction::MoveRule;
use crate::grid::Grid;
use crate::grid::change::{Change, GridVersion};
use crate::lanes::LanePair;
use crate::load::LoadError;
use crate::region::event::{RegionEvent, RegionId};
use crate::region::{RegionFault, Regions};

/// A grid, a rule of movement, and the regions that follow from the two.
///
/// This is the type that agents live on. The grid can be read through
/// [`Terrain::grid`] and edited only here, so that the regions never lag behind.
///
/// ```
/// use formic_nav::{Cell, Grid, MoveRule, RegionEvent, Terrain};
///
/// // Two halls with a wall between.
/// let grid = Grid::from_fn(9, 5, |cell| cell.x != 4)?;
/// let mut terrain = Terrain::new(grid, MoveRule::default());
/// let (west, east) = (Cell::new(0, 0), Cell::new(8, 0));
/// assert!(!terrain.reachable(west, east));
///
/// terrain.dig(Cell::new(4, 2));
/// assert!(terrain.reachable(west, east));
/// terrain.fill(Cell::new(4, 2));
/// assert!(!terrain.reachable(west, east));
///
/// let events: Vec<RegionEvent> = terrain.drain_events().collect();
/// assert!(matches!(events[..], [RegionEvent::Merged { .. }, RegionEvent::Split { .. }]));
/// # Ok::<(), formic_nav::GridSizeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Terrain {
    grid: Grid,
    rule: MoveRule,
    regions: Regions,
    lanes: LanePair,
    /// Kept where there are larger agents than those of one cell.
    clearance: Option<Clearance>,
    /// The terrains of agents of two cells along a side, of three, and so on: open where one fits.
    larger: Vec<Terrain>,
}

impl Terrain {
    /// Finds the regions of a grid by one flood over it.
    ///
    /// The version keeps its number and gets another history, that of a terrain with this
    /// rule: what was derived from another terrain is not taken for one of this.
    #[must_use]
    pub fn new(mut grid: Grid, rule: MoveRule) -> Self {
        grid.become_of(rule as u64);
        let regions = Regions::new(&grid, rule.connectivity());
        let lanes = LanePair::new(&grid, rule);
        Self { grid, rule, regions, lanes, clearance: None, larger: Vec::new() }
    }

    /// Keeps what agents of up to `size_max` cells along a side need as well: see
    /// [`Terrain::for_size`].
    ///
    /// Each size takes as much memory as the terrain itself. An edit changes the terrain of a size
    /// at so many cells as such an agent covers, at most.
    ///
    /// # Panics
    /// Panics if `size_max` is zero or more than [`SIZE_MAX`].
    #[must_use]
    pub fn with_sizes(mut self, size_max: u8) -> Self {
        assert!((1..=SIZE_MAX).contains(&size_max), "agents cannot be of size {size_max}");
        let grid = &self.grid;
        let clearance = Clearance::new(grid, size_max);
        let is_weighted = grid.weights().iter().any(|&weight| weight != Weight::ONE);
        let terrain_of = |size| {
            let fits = |cell| clearance.at(grid, cell) >= size;
            let (width, height) = (grid.width().into(), grid.height().into());
            let mut larger =
                Grid::from_fn(width, height, fits).expect("it is as large as this one");
            for cell in grid.cells().filter(|_| is_weighted) {
                larger.set_weight(cell, weight_of_square(grid, cell, size));
            }
            Self::new(larger, self.rule)
        };
        self.larger = (2..=size_max).map(terrain_of).collect();
        self.clearance = Some(clearance);
        self
    }

    /// The terrain of agents of a size, in cells along a side, or `None` if it is not
    /// [kept](Terrain::with_sizes): regions, paths and fields over it are those of such agents.
    ///
    /// The cell of an agent is the north-western one of the square that it covers. It is open if all
    /// of the square is, and as heavy as the heaviest cell of it. Edits go to the terrain of size
    /// one, which this one follows.
    ///
    /// ```
    /// use formic_nav::{Cell, Grid, MoveRule, Terrain};
    /// // Two halls, and a door of one cell between them.
    /// let grid = Grid::from_fn(9, 5, |cell| cell.x != 4 || cell.y == 2)?;
    /// let mut terrain = Terrain::new(grid, MoveRule::BothFree).with_sizes(2);
    /// let (imp, troll) = (terrain.for_size(1).unwrap(), terrain.for_size(2).unwrap());
    /// let (west, east) = (Cell::new(0, 0), Cell::new(7, 0));
    /// assert!(imp.reachable(west, east) && !troll.reachable(west, east));
    ///
    /// terrain.dig(Cell::new(4, 3));
    /// assert!(terrain.for_size(2).unwrap().reachable(west, east));
    /// # Ok::<(), formic_nav::GridSizeError>(())
    /// ```
    #[must_use]
    pub fn for_size(&self, size: u8) -> Option<&Self> {
        if size == 1 { Some(self) } else { self.larger.get(usize::from(size.checked_sub(2)?)) }
    }

    /// How large an agent may be whose north-western cell is this one, up to the greatest size that
    /// is [kept](Terrain::with_sizes). Zero if the cell is solid or outside.
    #[must_use]
    pub fn clearance(&self, cell: Cell) -> u8 {
        match &self.clearance {
            Some(clearance) if self.grid.contains(cell) => clearance.at(&self.grid, cell),
            _ => u8::from(self.is_open(cell)),
        }
    }

    /// Lets the terrains of larger agents follow an edit of a cell.
    fn edit_larger(&mut self, cell: Cell) {
        let Some(clearance) = &mut self.clearance else { return };
        let larger = &mut self.larger;
        clearance.edit(&self.grid, cell, |cell, before, after| {
            for size in before.min(after).max(1) + 1..=before.max(after) {
                let terrain = &mut larger[usize::from(size) - 2];
                let _ = if after > before { terrain.dig(cell) } else { terrain.fill(cell) };
            }
        });
    }

    /// How a terrain is saved with a game: with everything that its regions depend on beside the grid,
    /// so that the next edit has the same result, and the same random cell is drawn.
    pub const CODEC: Codec<Self> = Codec::custom(
        |terrain, out| {
            out.push(terrain.clearance.as_ref().map_or(0, |clearance| clearance.max));
            terrain.write(out);
            terrain.larger.iter().for_each(|larger| larger.write(out));
            Ok(())
        },
        |bytes| {
            let [size_max] = take(bytes)?;
            let mut terrain = Self::read(bytes)?;
            if size_max > 0 {
                let larger = (2..=size_max).map(|_| Self::read(bytes));
                terrain.larger = larger.collect::<Result<_, _>>()?;
                terrain.clearance = Some(Clearance::new(&terrain.grid, size_max));
                terrain.check_larger().map_err(|_| CodecError)?;
            }
            Ok(terrain)
        },
    );

    /// The grid, the rule, and the regions.
    fn write(&self, out: &mut Vec<u8>) {
        self.grid.write(out);
        out.push(self.rule as u8);
        self.regions.write(out);
    }

    fn read(bytes: &mut &[u8]) -> Saved<Self> {
        let grid = Grid::read(bytes)?;
        let [rule] = take(bytes)?;
        let rule = *MoveRule::ALL.get(usize::from(rule)).ok_or(CodecError)?;
        let regions = Regions::read(bytes, &grid, rule.connectivity())?;
        let lanes = LanePair::new(&grid, rule);
        Ok(Self { grid, rule, regions, lanes, clearance: None, larger: Vec::new() })
    }

    /// Whether the terrains of larger agents are what follows from this one.
    fn check_larger(&self) -> Result<(), RegionFault> {
        let Some(clearance) = &self.clearance else { return Ok(()) };
        let fresh = Clearance::new(&self.grid, clearance.max);
        for (size, larger) in (2..).zip(&self.larger) {
            let is_alike = larger.rule == self.rule
                && (larger.grid.width(), larger.grid.height())
                    == (self.grid.width(), self.grid.height());
            let is_right = |&cell: &Cell| {
                is_alike
                    && larger.is_open(cell) == (fresh.at(&self.grid, cell) >= size)
                    && larger.grid.weight(cell) == Some(weight_of_square(&self.grid, cell, size))
            };
            if let Some(cell) = self.grid.cells().find(|cell| !is_right(cell)) {
                return Err(RegionFault { cell });
            }
            larger.regions.check(&larger.grid)?;
        }
        if fresh == *clearance { Ok(()) } else { Err(RegionFault { cell: Cell::new(0, 0) }) }
    }

    /// Reads a map file; the rule is the default, that of the benchmarks.
    ///
    /// # Errors
    /// As [`Grid::load`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self, LoadError> {
        Ok(Self::new(Grid::load(path)?, MoveRule::default()))
    }

    /// The cells.
    #[must_use]
    pub const fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The rule of movement.
    #[must_use]
    pub const fn rule(&self) -> MoveRule {
        self.rule
    }

    /// The regions.
    #[must_use]
    pub const fn regions(&self) -> &Regions {
        &self.regions
    }

    /// Where scans along rows and columns stop.
    pub(crate) const fn lanes(&self) -> &LanePair {
        &self.lanes
    }

    /// How many edits changed the grid, and which. Two terrains of equal versions are
    /// alike.
    #[must_use]
    pub fn version(&self) -> GridVersion {
        self.grid.version()
    }

    /// Opens a cell and merges the regions around it. False, and nothing happens,
    /// if it is open already or outside.
    pub fn dig(&mut self, cell: Cell) -> bool {
        let changed = self.grid.dig(cell);
        if changed {
            self.regions.dug(&self.grid, cell);
            self.lanes.edit(&self.grid, cell);
            self.edit_larger(cell);
        }
        changed
    }

    /// Makes a cell solid and splits its region where that cuts it. False, and
    /// nothing happens, if it is solid already or outside.
    pub fn fill(&mut self, cell: Cell) -> bool {
        let changed = self.grid.fill(cell);
        if changed {
            self.regions.filled(&self.grid, cell);
            self.lanes.edit(&self.grid, cell);
            self.edit_larger(cell);
        }
        changed
    }

    /// Gives a cell a weight. False, and nothing happens, if it has that weight
    /// already or is outside.
    pub fn set_weight(&mut self, cell: Cell, weight: Weight) -> bool {
        let changed = self.grid.set_weight(cell, weight);
        if changed {
            self.lanes.edit_weight(&self.grid, cell);
            for (size, larger) in (2..).zip(&mut self.larger) {
                for y in square(cell.y, size) {
                    for corner in square(cell.x, size).map(|x| Cell::new(x, y)) {
                        larger.set_weight(corner, weight_of_square(&self.grid, corner, size));
                    }
                }
            }
        }
        changed
    }

    /// Becomes a copy of a terrain that this was a copy of before edits. False if these are
    /// not known any longer.
    pub(crate) fn follow(&mut self, other: &Self) -> bool {
        if self.version() == other.version() {
            return true;
        }
        let Some(changes) = other.grid.changes_since(self.version()) else { return false };
        for Change { cell, .. } in changes {
            let _ = if other.is_open(cell) { self.dig(cell) } else { self.fill(cell) };
            self.set_weight(cell, other.grid.weight_inside(cell));
        }
        self.grid.take_history_of(&other.grid);
        self.drain_events().for_each(drop);
        for (one, other) in self.larger.iter_mut().zip(&other.larger) {
            one.grid.take_history_of(&other.grid);
            one.drain_events().for_each(drop);
        }
        true
    }

    /// Whether a cell can be crossed; outside of the grid nothing can.
    #[must_use]
    pub fn is_open(&self, cell: Cell) -> bool {
        self.grid.is_open(cell)
    }

    /// The region of a cell, or `None` if it is solid or outside.
    #[must_use]
    pub fn region(&self, cell: Cell) -> Option<RegionId> {
        if !self.grid.contains(cell) {
            return None;
        }
        self.regions.region_inside(cell)
    }

    /// Whether there is a path between two cells. Four array reads, no search.
    #[must_use]
    pub fn reachable(&self, from: Cell, to: Cell) -> bool {
        let inside = self.grid.contains(from) && self.grid.contains(to);
        inside && self.regions.is_same(from, to)
    }

    /// Takes what happened to regions since the last call, oldest first.
    ///
    /// At most [`EVENTS_MAX`](crate::EVENTS_MAX) events wait here; that some were
    /// lost shows in [`Regions::lost_event_count`].
    pub fn drain_events(&mut self) -> impl Iterator<Item = RegionEvent> + '_ {
        self.regions.drain_events()
    }

    /// Compares the regions with those of a fresh flood, for agents of all sizes.
    ///
    /// A pass over the whole map, for tests and tools.
    ///
    /// # Errors
    /// The first cell that is wrong, which would be a bug of this crate.
    pub fn check(&self) -> Result<(), RegionFault> {
        self.regions.check(&self.grid)?;
        self.check_larger()
    }
}
