//! Terrain: a grid and its regions, kept in step.

use std::path::Path;

use formic_ecs::{Codec, CodecError};

use crate::bytes::take;
use crate::cell::Cell;
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
        Self { grid, rule, regions, lanes }
    }

    /// How a terrain is saved with a game: with everything that its regions depend on beside the grid,
    /// so that the next edit has the same result, and the same random cell is drawn.
    pub const CODEC: Codec<Self> = Codec::custom(
        |terrain, out| {
            Grid::CODEC.write(&terrain.grid, out)?;
            out.push(terrain.rule as u8);
            terrain.regions.write(out);
            Ok(())
        },
        |bytes| {
            let grid = Grid::CODEC.read(bytes)?;
            let [rule] = take(bytes)?;
            let rule = *MoveRule::ALL.get(usize::from(rule)).ok_or(CodecError)?;
            let regions = Regions::read(bytes, &grid, rule.connectivity())?;
            let lanes = LanePair::new(&grid, rule);
            Ok(Self { grid, rule, regions, lanes })
        },
    );

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
        }
        changed
    }

    /// Gives a cell a weight. False, and nothing happens, if it has that weight
    /// already or is outside.
    pub fn set_weight(&mut self, cell: Cell, weight: Weight) -> bool {
        let changed = self.grid.set_weight(cell, weight);
        if changed {
            self.lanes.edit_weight(&self.grid, cell);
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

    /// Compares the regions with those of a fresh flood.
    ///
    /// A pass over the whole map, for tests and tools.
    ///
    /// # Errors
    /// The first cell that is wrong, which would be a bug of this crate.
    pub fn check(&self) -> Result<(), RegionFault> {
        self.regions.check(&self.grid)
    }
}
