//! The grid: which cells can be crossed, and at what weight.

pub(crate) mod change;
pub(crate) mod plane;

use std::fmt;
use std::ops::Range;

use formic_ecs::{Codec, CodecError};

use crate::bytes::{Bytes, Saved, codec, ensure};
use crate::cell::Cell;
use crate::cost::Weight;
use crate::direction::{MoveRule, members};
use crate::grid::change::{Change, ChangeKind, ChangeLog, GridVersion};
use crate::grid::plane::BitPlane;
use crate::link::{Link, Links};

debug_as_text!(GridSizeError);

/// The maximum length of a side of a grid, in cells.
pub const SIDE_MAX: u32 = 16_384;
/// The maximum number of cells of a grid.
pub const CELL_COUNT_MAX: u32 = 1 << 24;

/// A rectangle of cells, each open or solid and each with a weight.
///
/// Passability is a bit plane with a frame of solid cells around it, so nothing ever reads beyond the
/// map. Weights are a byte per cell. The grid does not know what is connected:
/// [`Terrain`](crate::Terrain) adds the regions, and is what most code wants.
///
/// Every edit increments the version and is remembered for a while, so code that derived something from
/// the grid can find out whether it still holds.
///
/// ```
/// use formic_nav::{Cell, Grid};
/// let mut grid = Grid::solid(8, 4)?;
/// assert!(grid.dig(Cell::new(3, 2)));
/// assert!(!grid.dig(Cell::new(3, 2))); // open already
/// assert!(!grid.dig(Cell::new(8, 0))); // outside
/// assert_eq!(grid.version().get(), 1);
/// assert_eq!(grid.open_count(), 1);
/// # Ok::<(), formic_nav::GridSizeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Grid {
    width: u16,
    height: u16,
    open: BitPlane,
    weights: Vec<Weight>,
    census: Census,
    changes: ChangeLog,
    links: Links,
}

impl Grid {
    /// Creates a grid of solid cells of weight one.
    ///
    /// # Errors
    /// Returns [`GridSizeError`] if a side is zero or longer than [`SIDE_MAX`], or if there are
    /// more cells than [`CELL_COUNT_MAX`].
    pub fn solid(width: u32, height: u32) -> Result<Self, GridSizeError> {
        let (width, height) = check_size(width, height)?;
        let cell_count = usize::from(width) * usize::from(height);
        let mut changes = ChangeLog::default();
        changes.begin([u64::from(width) << 16 | u64::from(height)]);
        Ok(Self {
            width,
            height,
            open: BitPlane::new(width, height),
            weights: vec![Weight::ONE; cell_count],
            census: Census::default(),
            changes,
            links: Links::default(),
        })
    }

    /// Creates a grid of weight one whose open cells are those that `is_open` accepts. A saved grid is
    /// read by [`CODEC`](Self::CODEC), with its weights.
    ///
    /// `is_open` is called in reading order. The version starts at zero.
    ///
    /// ```
    /// use formic_nav::Grid;
    /// let checkers = Grid::from_fn(4, 4, |cell| (cell.x + cell.y) % 2 == 0)?;
    /// assert_eq!(checkers.open_count(), 8);
    /// # Ok::<(), formic_nav::GridSizeError>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`GridSizeError`] if [`Grid::solid`] does.
    pub fn from_fn(
        width: u32,
        height: u32,
        mut is_open: impl FnMut(Cell) -> bool,
    ) -> Result<Self, GridSizeError> {
        let mut grid = Self::solid(width, height)?;
        for y in 0..grid.height {
            for x in 0..grid.width {
                let cell = Cell { x, y };
                if is_open(cell) {
                    grid.open.set(cell, true);
                    grid.census.add(Weight::ONE);
                }
            }
        }
        grid.changes.begin(grid.open.words().iter().copied());
        Ok(grid)
    }

    /// The format of a grid in a saved game: cells, weights, links, and the changes that it remembers. So
    /// what was derived from the saved grid holds for the one that is read.
    ///
    /// ```
    /// use formic_nav::{Cell, Grid, Weight};
    /// let mut grid = Grid::solid(4, 4)?;
    /// grid.dig(Cell::new(1, 1));
    /// grid.set_weight(Cell::new(1, 1), Weight::new(7).unwrap());
    /// let mut bytes = Vec::new();
    /// Grid::CODEC.write(&grid, &mut bytes)?;
    /// let read = Grid::CODEC.read(&mut bytes.as_slice())?;
    /// assert_eq!(read.version(), grid.version());
    /// assert_eq!(read.weight(Cell::new(1, 1)), Weight::new(7));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub const CODEC: Codec<Self> = codec();

    /// The number of cells per row.
    #[must_use]
    pub const fn width(&self) -> u16 {
        self.width
    }

    /// The number of rows.
    #[must_use]
    pub const fn height(&self) -> u16 {
        self.height
    }

    /// The number of cells, open and solid.
    #[must_use]
    pub fn cell_count(&self) -> usize {
        self.weights.len()
    }

    /// The number of open cells.
    #[must_use]
    pub const fn open_count(&self) -> usize {
        self.census.open_count
    }

    /// The sum of the weights of all open cells.
    pub(crate) const fn weight_sum(&self) -> u64 {
        self.census.weight_sum
    }

    /// Whether a cell lies inside the grid.
    #[must_use]
    pub const fn contains(&self, cell: Cell) -> bool {
        cell.x < self.width && cell.y < self.height
    }

    /// The index of a cell in reading order, for arrays with an element per cell; `None` outside of the
    /// grid.
    #[must_use]
    pub fn index(&self, cell: Cell) -> Option<usize> {
        self.contains(cell).then(|| self.index_inside(cell))
    }

    /// All cells in reading order.
    pub fn cells(&self) -> impl Iterator<Item = Cell> + use<> {
        let width = self.width;
        (0..self.height).flat_map(move |y| (0..width).map(move |x| Cell { x, y }))
    }

    /// Whether a cell can be crossed; outside of the grid nothing can.
    #[must_use]
    pub fn is_open(&self, cell: Cell) -> bool {
        self.contains(cell) && self.open.get(cell)
    }

    /// The weight of a cell, open or solid; `None` outside of the grid.
    #[must_use]
    pub fn weight(&self, cell: Cell) -> Option<Weight> {
        self.contains(cell).then(|| self.weight_inside(cell))
    }

    /// The minimum and maximum weight of the open cells, or `None` if no cell is open.
    #[must_use]
    pub fn weight_range(&self) -> Option<(Weight, Weight)> {
        self.census.range
    }

    /// The cells on the border of the square of `radius` around a cell, as far as they lie inside the
    /// grid.
    pub(crate) fn square(&self, middle: Cell, radius: u16) -> impl Iterator<Item = Cell> + use<> {
        let reach = radius;
        let [x, y, radius] = [middle.x, middle.y, radius].map(i32::from);
        let [width, height] = [self.width(), self.height()].map(i32::from);
        let rows = (y - radius).max(0)..(y + radius + 1).min(height);
        rows.flat_map(move |row| {
            // The first and the last row are whole; the others have two cells.
            let (first, step) = match (row - y).abs() == radius {
                true => ((x - radius).max(0), 1),
                false => (x - radius, 2 * usize::from(reach)),
            };
            let columns = (first..(x + radius + 1).min(width)).step_by(step).filter(|&x| x >= 0);
            columns.filter_map(move |x| Some(Cell::new(x.try_into().ok()?, row.try_into().ok()?)))
        })
    }

    /// The cells to which one legal step leads, in the order of
    /// [`Direction::ALL`](crate::Direction::ALL).
    ///
    /// A solid cell has the same steps as an open one, so that an agent caught in a new wall can leave
    /// it.
    ///
    /// ```
    /// use formic_nav::{Cell, Grid, MoveRule};
    /// let grid = Grid::from_fn(2, 2, |cell| cell != Cell::new(1, 0))?;
    /// let steps = |rule| grid.neighbours(Cell::new(0, 0), rule).count();
    /// assert_eq!(steps(MoveRule::BothFree), 1); // the corner is in the way
    /// assert_eq!(steps(MoveRule::OneFree), 2);
    /// # Ok::<(), formic_nav::GridSizeError>(())
    /// ```
    pub fn neighbours(&self, cell: Cell, rule: MoveRule) -> impl Iterator<Item = Cell> + use<> {
        let moves =
            if self.contains(cell) { rule.table()[usize::from(self.ring(cell))] } else { 0 };
        members(moves).map(move |direction| direction.step_inside(cell))
    }

    /// Opens a cell. Returns false and changes nothing if it is open or outside.
    pub fn dig(&mut self, cell: Cell) -> bool {
        if !self.contains(cell) || self.open.get(cell) {
            return false;
        }
        self.open.set(cell, true);
        self.census.add(self.weight_inside(cell));
        self.changes.push(cell, ChangeKind::Dug, Weight::ONE);
        true
    }

    /// Makes a cell solid. Returns false and changes nothing if it is solid or outside.
    pub fn fill(&mut self, cell: Cell) -> bool {
        if !self.is_open(cell) {
            return false;
        }
        self.open.set(cell, false);
        self.census.remove(self.weight_inside(cell));
        self.changes.push(cell, ChangeKind::Filled, Weight::ONE);
        true
    }

    /// Sets the weight of a cell. Returns false and changes nothing if it has that weight or is outside.
    pub fn set_weight(&mut self, cell: Cell, weight: Weight) -> bool {
        if !self.contains(cell) || self.weight_inside(cell) == weight {
            return false;
        }
        let index = self.index_inside(cell);
        let before = std::mem::replace(&mut self.weights[index], weight);
        if self.open.get(cell) {
            // Added first, so that the census is never empty in between.
            self.census.add(weight);
            self.census.remove(before);
        }
        self.changes.push(cell, ChangeKind::Weighed, weight);
        true
    }

    /// The number and history of the edits since the grid was created.
    #[must_use]
    pub fn version(&self) -> GridVersion {
        self.changes.version()
    }

    /// The changes after a version, oldest first. `None` if they are more than the grid remembers
    /// ([`CHANGES_MAX`](crate::CHANGES_MAX)), or if this grid never had that version.
    ///
    /// ```
    /// use formic_nav::{Cell, ChangeKind, Grid};
    /// let mut grid = Grid::solid(4, 4)?;
    /// let before = grid.version();
    /// grid.dig(Cell::new(1, 1));
    /// let kinds: Vec<_> = grid.changes_since(before).unwrap().map(|change| change.kind).collect();
    /// assert_eq!(kinds, [ChangeKind::Dug]);
    /// # Ok::<(), formic_nav::GridSizeError>(())
    /// ```
    #[must_use]
    pub fn changes_since(&self, version: GridVersion) -> Option<impl Iterator<Item = Change> + '_> {
        self.changes.since(version)
    }

    pub(crate) const fn links(&self) -> &Links {
        &self.links
    }

    /// Replaces the links, and makes the version depend on them.
    pub(crate) fn set_links(&mut self, links: Vec<Link>) {
        let wrong = links.iter().find(|link| !self.may_have(link));
        assert!(wrong.is_none(), "{wrong:?} is not a valid link of the grid");
        let ends =
            |link: &Link| u64::from(link.from.to_bits()) << 32 | u64::from(link.to.to_bits());
        let had_some = !self.links.all().is_empty();
        self.links = Links::new(links);
        assert!(self.links.are_sound(), "the lengths of the links add up to too much");
        let all = self.links.all();
        // That there are none any more is another grid as well.
        let none = (had_some && all.is_empty()).then_some(0);
        let each = all.iter().flat_map(|link| [ends(link), link.units()]);
        self.changes.begin(each.chain(none));
    }

    fn may_have(&self, link: &Link) -> bool {
        link.is_sound() && self.contains(link.from) && self.contains(link.to)
    }

    /// Whether a link can be crossed: both of its ends are open.
    pub(crate) fn is_link_open(&self, link: &Link) -> bool {
        self.open.get(link.from) && self.open.get(link.to)
    }

    /// The open links that begin at a cell, or end there (`inward`): their other ends, and their costs.
    pub(crate) fn open_links(
        &self,
        cell: Cell,
        inward: bool,
    ) -> impl Iterator<Item = (Cell, u64)> + '_ {
        let links = if inward { self.links.to(cell) } else { self.links.from(cell) };
        let open = links.iter().filter(|link| self.is_link_open(link));
        open.map(move |link| (if inward { link.from } else { link.to }, link.units()))
    }

    /// Starts a new history that depends on `numbers`, and forgets the changes before.
    pub(crate) fn become_of(&mut self, numbers: impl IntoIterator<Item = u64>) {
        self.changes.begin(numbers);
    }

    /// Takes the history of a grid of which this one is a copy.
    pub(crate) fn take_history_of(&mut self, other: &Self) {
        self.changes.clone_from(&other.changes);
    }

    /// The open cells around a cell inside the grid, as a set of directions.
    #[inline]
    pub(crate) fn ring(&self, cell: Cell) -> u8 {
        debug_assert!(self.contains(cell), "{cell} lies outside of the grid");
        self.open.ring(cell)
    }

    /// A bit for each of 32 cells of a row, from column `x` on, a multiple of 32: whether it is open.
    pub(crate) fn open_row(&self, x: u16, y: u16) -> u32 {
        self.open.row(x, y)
    }

    /// The open cells of its row that are nearest to a cell inside the grid: in the west, and in the east
    /// or the cell itself.
    #[expect(clippy::cast_possible_truncation, reason = "there are 32 bits")]
    pub(crate) fn nearest_in_row(&self, Cell { x, y }: Cell) -> impl Iterator<Item = Cell> {
        let own = x & !31;
        let in_west = (1_u32 << (x & 31)) - 1;
        let open = |first: u16, of_own: u32| {
            self.open_row(first, y) & if first == own { of_own } else { u32::MAX }
        };
        let firsts = |range: Range<u16>| range.step_by(32);
        let west = firsts(0..x + 1).rev().find_map(|first| {
            let open = open(first, in_west);
            (open != 0).then(|| Cell::new(first + 31 - open.leading_zeros() as u16, y))
        });
        let east = firsts(own..self.width).find_map(|first| {
            let open = open(first, !in_west);
            (open != 0).then(|| Cell::new(first + open.trailing_zeros() as u16, y))
        });
        west.into_iter().chain(east)
    }

    #[inline]
    pub(crate) fn index_inside(&self, cell: Cell) -> usize {
        debug_assert!(self.contains(cell), "{cell} lies outside of the grid");
        usize::from(cell.y) * usize::from(self.width) + usize::from(cell.x)
    }

    /// The cell at an index in reading order.
    #[expect(clippy::cast_possible_truncation, reason = "sides are at most SIDE_MAX")]
    pub(crate) fn cell_at(&self, place: usize) -> Cell {
        let width = usize::from(self.width);
        Cell::new((place % width) as u16, (place / width) as u16)
    }

    /// The weights of all cells in reading order.
    #[inline]
    pub(crate) fn weights(&self) -> &[Weight] {
        &self.weights
    }

    #[inline]
    pub(crate) fn weight_inside(&self, cell: Cell) -> Weight {
        self.weights[self.index_inside(cell)]
    }
}

impl Bytes for Grid {
    /// Writes the sides; whether each cell is open, eight cells in a byte; the weights, as runs of equal
    /// ones; the links; and the changes.
    fn write(&self, out: &mut Vec<u8>) {
        (self.width, self.height).write(out);
        let mut open = vec![0_u8; self.cell_count().div_ceil(8)];
        for (place, cell) in self.cells().enumerate() {
            open[place / 8] |= u8::from(self.open.get(cell)) << (place % 8);
        }
        out.extend(open);
        let runs = self.weights.chunk_by(|one, next| one == next);
        runs.for_each(|run| (run.len(), run[0]).write(out));
        self.links.write(out);
        self.changes.write(out);
    }

    fn read(bytes: &mut &[u8]) -> Saved<Self> {
        let (width, height) = <(u16, u16)>::read(bytes)?;
        let cell_count = usize::from(width) * usize::from(height);
        let (open, rest) = bytes.split_at_checked(cell_count.div_ceil(8)).ok_or(CodecError)?;
        *bytes = rest;
        let mut grid = Self::solid(width.into(), height.into()).map_err(|_| CodecError)?;
        let mut unweighed = grid.weights.as_mut_slice();
        while !unweighed.is_empty() {
            let (count, weight) = <(usize, Weight)>::read(bytes)?;
            ensure(count > 0)?;
            let (run, rest) = unweighed.split_at_mut_checked(count).ok_or(CodecError)?;
            run.fill(weight);
            unweighed = rest;
        }
        let is_open = |place: usize| open[place / 8] & (1 << (place % 8)) != 0;
        for (place, cell) in grid.cells().enumerate().filter(|&(place, _)| is_open(place)) {
            grid.open.set(cell, true);
            grid.census.add(grid.weights[place]);
        }
        grid.links = Links::read(bytes)?;
        ensure(grid.links.all().iter().all(|link| grid.may_have(link)) && grid.links.are_sound())?;
        grid.changes = ChangeLog::read(bytes)?;
        ensure(grid.changes.cells().all(|cell| grid.contains(cell)))?;
        Ok(grid)
    }
}

/// The number of open cells of each weight.
///
/// Searches scale their estimate by the least weight, so it must be known without a pass over the map.
#[derive(Clone, Debug)]
struct Census {
    counts: Box<[u32; 256]>,
    open_count: usize,
    weight_sum: u64,
    range: Option<(Weight, Weight)>,
}

impl Default for Census {
    fn default() -> Self {
        Self { counts: Box::new([0; 256]), open_count: 0, weight_sum: 0, range: None }
    }
}

impl Census {
    fn add(&mut self, weight: Weight) {
        self.open_count += 1;
        self.weight_sum += weight.factor();
        self.counts[usize::from(weight.get())] += 1;
        let (min, max) = self.range.unwrap_or((weight, weight));
        self.range = Some((min.min(weight), max.max(weight)));
    }

    fn remove(&mut self, weight: Weight) {
        self.open_count -= 1;
        self.weight_sum -= weight.factor();
        let count = &mut self.counts[usize::from(weight.get())];
        *count -= 1;
        if *count == 0 {
            self.range = self.measure();
        }
    }

    /// Computes the range anew. It reads 256 counts, and only when a weight disappears.
    fn measure(&self) -> Option<(Weight, Weight)> {
        let mut used = (0..=u8::MAX).filter(|&weight| self.counts[usize::from(weight)] > 0);
        let min = used.next()?;
        let max = used.next_back().unwrap_or(min);
        Some((Weight::new(min)?, Weight::new(max)?))
    }
}

/// The error of a size that no grid can have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct GridSizeError {
    /// The requested number of cells per row.
    pub width: u32,
    /// The requested number of rows.
    pub height: u32,
}

impl fmt::Display for GridSizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { width, height } = self;
        write!(
            f,
            "a grid cannot be {width} x {height} cells: sides are 1 to {SIDE_MAX}, \
             and there are at most {CELL_COUNT_MAX} cells"
        )
    }
}

impl std::error::Error for GridSizeError {}

/// Converts a count of cells, or of things made of them, to the type in which it is stored.
pub(crate) fn count_u32(count: usize) -> u32 {
    u32::try_from(count).expect("fewer than 2^32 cells or agents")
}

/// Converts the sides to the type of coordinates, if a grid can have them.
pub(crate) fn check_size(width: u32, height: u32) -> Result<(u16, u16), GridSizeError> {
    let sides = 1..=SIDE_MAX;
    if !sides.contains(&width) || !sides.contains(&height) || width * height > CELL_COUNT_MAX {
        return Err(GridSizeError { width, height });
    }
    // Both are at most SIDE_MAX, which fits 16 bits.
    match (u16::try_from(width), u16::try_from(height)) {
        (Ok(width), Ok(height)) => Ok((width, height)),
        _ => Err(GridSizeError { width, height }),
    }
}
