//! Terrain: a grid and its regions, kept consistent.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use formic_ecs::{Codec, CodecError};

use crate::bytes::{Bytes, Saved, codec, ensure};
use crate::cell::Cell;
use crate::class::{AgentClass, ClassId};
use crate::cost::{DIAGONAL, JUMP_COST_END, Weight};
use crate::direction::MoveRule;
use crate::flow::wave::Ground;
use crate::grid::Grid;
use crate::grid::change::{Change, GridVersion};
use crate::landmarks::Landmarks;
use crate::lanes::LanePair;
use crate::link::Link;
use crate::load::LoadError;
use crate::reach::Reach;
use crate::region::event::{RegionEvent, RegionId};
use crate::region::{RegionFault, Regions};

/// The bit beside the rule that is set in a save with landmarks.
const HAS_LANDMARKS: u8 = 1 << 7;
/// If more than one of this many open cells is mixed, A* takes less time than jumps.
const MIXED_SHARE_MAX: usize = 16;

/// A grid, a rule of movement, and the regions that follow from the two.
///
/// Agents live on this type. The grid can be read through [`Terrain::grid`] and edited only here, so the
/// regions are always up to date.
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
    /// Which regions lead to which by links. Computed on first use.
    reach: OnceLock<Reach>,
    /// Shared with the copy on which long searches run.
    landmarks: Option<Arc<Landmarks>>,
    /// The classes of agents, each with its terrain, which is open where such an agent may be.
    classes: Vec<(AgentClass, Terrain)>,
}

impl Terrain {
    /// Creates a terrain, and finds the regions of the grid by one flood fill.
    ///
    /// The version keeps its number and gets another history, that of a terrain with this rule. So
    /// nothing derived from another terrain is taken for one of this.
    #[must_use]
    pub fn new(mut grid: Grid, rule: MoveRule) -> Self {
        grid.become_of([rule as u64]);
        let regions = Regions::new(&grid, rule.connectivity());
        Self::of_parts(grid, rule, regions)
    }

    fn of_parts(grid: Grid, rule: MoveRule, regions: Regions) -> Self {
        let lanes = LanePair::new(&grid, rule);
        let (reach, landmarks, classes) = (OnceLock::new(), None, Vec::new());
        Self { grid, rule, regions, lanes, reach, landmarks, classes }
    }

    /// Joins cells by links, which replace those before. As for another terrain, everything derived from
    /// this one begins anew.
    ///
    /// A path uses a link if that makes it cheaper; its cells do not touch there. Whether a goal can be
    /// reached stays exact, and becomes directed: a drop leads down only. Searches use A*, whose
    /// estimates know up to 32 shortcuts exactly; with more shortcuts, the estimates are zero. An agent
    /// that comes to the centre of the cell where a link begins is moved to the centre of the cell where
    /// it ends. An agent that gives way to others uses the link from anywhere in that cell, because a
    /// crowd around it could keep all of its members from the centre. Crossing takes no time, whatever
    /// the speed, but an agent without speed stands, as all do in ticks without time.
    ///
    /// ```
    /// use formic_nav::{Cell, Grid, Link, MoveRule, Terrain};
    /// // A cliff, and a place to jump down from.
    /// let grid = Grid::from_fn(9, 5, |cell| cell.x != 4)?;
    /// let (top, foot) = (Cell::new(3, 2), Cell::new(5, 2));
    /// let mut terrain =
    ///     Terrain::new(grid, MoveRule::BothFree).with_links([Link::new(top, foot, 3)]);
    /// let (west, east) = (Cell::new(0, 0), Cell::new(8, 0));
    /// assert!(terrain.reachable(west, east) && !terrain.reachable(east, west));
    /// terrain.fill(foot);
    /// assert!(!terrain.reachable(west, east));
    /// # Ok::<(), formic_nav::GridSizeError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if a link has an end outside of the grid, two ends that touch, or no length, or if all
    /// links together cost more than two billion straight steps, by themselves or to a class of agents.
    #[must_use]
    pub fn with_links(mut self, links: impl IntoIterator<Item = Link>) -> Self {
        let before = self.version();
        self.grid.set_links(links.into_iter().collect());
        self.reach.take();
        self.landmarks = self.landmarks.filter(|_| self.grid.version() == before);
        let classes = std::mem::take(&mut self.classes);
        self.with_classes(classes.into_iter().map(|(class, _)| class))
    }

    /// The links, ordered by the cell where they begin.
    #[must_use]
    pub fn links(&self) -> &[Link] {
        self.grid.links().all()
    }

    /// Also maintains the terrain of these classes of agents: see [`Terrain::for_class`]. Replaces the
    /// classes before. As for another terrain, everything derived from this one begins anew.
    ///
    /// Each class takes as much memory as the terrain itself. An edit changes the terrain of a class in
    /// at most as many cells as such an agent covers.
    ///
    /// # Panics
    /// Panics if there are more than 255 classes, or if all [links](Terrain::with_links) together cost one
    /// of them more than two billion straight steps.
    #[must_use]
    pub fn with_classes(mut self, classes: impl IntoIterator<Item = AgentClass>) -> Self {
        let (width, height) = (self.grid.width().into(), self.grid.height().into());
        let terrain_of = |class: AgentClass| {
            let is_open = |cell| class.find(&self.grid, cell).0;
            let mut grid = Grid::from_fn(width, height, is_open).expect("it is as large");
            for cell in self.grid.cells() {
                grid.set_weight(cell, class.find(&self.grid, cell).1);
            }
            grid.set_links(class.links(&self.grid));
            (class, Self::new(grid, self.rule))
        };
        let classes: Vec<_> = classes.into_iter().map(terrain_of).collect();
        assert!(classes.len() <= usize::from(u8::MAX), "there are {} classes", classes.len());
        let numbers = classes.iter().flat_map(|(class, _)| class.numbers());
        self.grid.become_of(numbers.chain([classes.len() as u64]));
        self.classes = classes;
        self
    }

    /// Computes landmarks, which sharpen the estimates of A*, for this terrain and those of classes, each
    /// if it is searched step by step: if its weights change from cell to cell, or it has links. Searches
    /// then expand about six times fewer cells, and find paths of the same cost.
    ///
    /// It takes as long as nine flow fields over the whole map. Each cell takes 32 bytes, in saves as
    /// well. Landmarks suit maps on which paths seldom become cheaper than they were at this call: doors
    /// may open and close, and buildings come and go. An edit that makes no path cheaper leaves landmarks
    /// as they are. After any other edit the distances around it are repaired, which weakens estimates a
    /// little; if more than a thousand distances need repair, the landmarks of the terrain are dropped.
    /// New [links](Terrain::with_links) drop them too, and new [classes](Terrain::with_classes) have
    /// none. Call it again at a convenient time. Everything derived from the terrain takes it for another
    /// one afterwards.
    ///
    /// ```
    /// use formic_nav::{Cell, Grid, MoveRule, Path, PathScratch, Terrain, Weight};
    /// let mut terrain = Terrain::new(Grid::from_fn(64, 64, |_| true)?, MoveRule::BothFree);
    /// for cell in terrain.grid().cells().filter(|cell| cell.x != 63) {
    ///     let weight = Weight::new(if (cell.x ^ cell.y) & 4 == 0 { 3 } else { 9 }).unwrap();
    ///     terrain.set_weight(cell, weight);
    /// }
    /// let (mut scratch, mut path) = (PathScratch::new(), Path::new());
    /// let mut search = |terrain: &Terrain| {
    ///     let outcome = scratch.find(terrain, Cell::new(2, 2), Cell::new(60, 50), &mut path);
    ///     (outcome, scratch.expansion_count())
    /// };
    /// let (outcome, before) = search(&terrain);
    /// terrain.place_landmarks();
    /// let (same, after) = search(&terrain);
    /// assert_eq!(outcome, same);
    /// assert!(after * 4 < before);
    /// # Ok::<(), formic_nav::GridSizeError>(())
    /// ```
    pub fn place_landmarks(&mut self) {
        self.landmarks =
            (!self.may_jump()).then(|| Arc::new(Landmarks::new(self.ground(), &self.regions)));
        self.grid.become_of([self.landmarks.is_some().into()]);
        self.classes.iter_mut().for_each(|(_, terrain)| terrain.place_landmarks());
    }

    /// Whether there are [landmarks](Terrain::place_landmarks) that no edit has made useless.
    #[must_use]
    pub const fn has_landmarks(&self) -> bool {
        self.landmarks.is_some()
    }

    /// Whether searches use jumps: there are no links, jumps are likely to be longer than a step or two,
    /// and costs fit.
    pub(crate) fn may_jump(&self) -> bool {
        self.lanes.mixed_count() * MIXED_SHARE_MAX <= self.grid.open_count()
            && self.links().is_empty()
            && (self.lanes.mixed_count() == 0 || self.jump_cost_max() < JUMP_COST_END)
    }

    /// An upper bound of the costs and estimates of a search by jumps over weights. A step costs less
    /// than the sum of the weights of its cells. What a look adds to a path is at most a side of
    /// diagonals, or a row and a column if there are no diagonals, and so is the estimate: together less
    /// than three sides of diagonals.
    fn jump_cost_max(&self) -> u64 {
        let side = u64::from(self.grid.width().max(self.grid.height()));
        let heaviest = self.grid.weight_range().map_or(1, |(_, max)| max.factor());
        let cells = self.grid.open_count() as u64;
        (2 * self.grid.weight_sum() - cells + 3 * side * heaviest) * u64::from(DIAGONAL)
    }

    pub(crate) fn landmarks(&self) -> Option<&Landmarks> {
        self.landmarks.as_deref()
    }

    /// Repairs landmarks after an edit that may have made steps cheaper.
    fn repair_landmarks(&mut self, cell: Cell) {
        let ground = Ground::new(&self.grid, self.rule);
        let Some(landmarks) = &mut self.landmarks else { return };
        if landmarks.is_outdated(ground, cell) && !Arc::make_mut(landmarks).repair(ground, cell) {
            self.landmarks = None;
        }
    }

    /// The terrain of a class of agents, or `None` if there is no such class. Its regions, paths and
    /// fields are those of such agents. Class zero is the terrain itself.
    ///
    /// The cell of an agent is the north-western cell of the square that it covers. It is open if the
    /// class can cross all of the square, and as heavy as the heaviest cell there. Edit the terrain
    /// itself; those of classes follow.
    ///
    /// ```
    /// use formic_nav::{AgentClass, Cell, ClassId, Grid, MoveRule, Terrain};
    /// // Two halls, and a door of one cell between them.
    /// let grid = Grid::from_fn(9, 5, |cell| cell.x != 4 || cell.y == 2)?;
    /// let mut terrain = Terrain::new(grid, MoveRule::BothFree).with_classes([AgentClass::new(2)]);
    /// let troll = terrain.for_class(ClassId(1)).unwrap();
    /// let (west, east) = (Cell::new(0, 0), Cell::new(7, 0));
    /// assert!(terrain.reachable(west, east) && !troll.reachable(west, east));
    ///
    /// terrain.dig(Cell::new(4, 3));
    /// assert!(terrain.for_class(ClassId(1)).unwrap().reachable(west, east));
    /// # Ok::<(), formic_nav::GridSizeError>(())
    /// ```
    #[must_use]
    pub fn for_class(&self, class: ClassId) -> Option<&Self> {
        let Some(place) = class.0.checked_sub(1) else { return Some(self) };
        self.classes.get(usize::from(place)).map(|(_, terrain)| terrain)
    }

    /// The definition of a class, or `None` if there is no such class, and of class zero, which has none.
    #[must_use]
    pub fn class(&self, class: ClassId) -> Option<&AgentClass> {
        self.classes.get(usize::from(class.0.checked_sub(1)?)).map(|(class, _)| class)
    }

    /// The terrain for agents of a class.
    pub(crate) fn for_agents(&self, class: ClassId) -> &Self {
        assert!(
            !self.rule.cuts_corners(),
            "agents cannot walk by the move rule {:?}, which cuts corners",
            self.rule
        );
        let missing = || panic!("the terrain has no {class:?}: see `Terrain::with_classes`");
        self.for_class(class).unwrap_or_else(missing)
    }

    /// Applies the edit of a cell to the terrains of classes.
    fn edit_classes(&mut self, cell: Cell) {
        for (class, terrain) in &mut self.classes {
            for corner in class.corners(cell) {
                terrain.become_like(corner, class.find(&self.grid, corner));
            }
        }
    }

    fn become_like(&mut self, cell: Cell, (is_open, weight): (bool, Weight)) {
        self.set_weight(cell, weight);
        let _ = if is_open { self.dig(cell) } else { self.fill(cell) };
    }

    /// The format of a terrain in a saved game. It contains everything beside the grid on which its
    /// regions depend, so that the next edit has the same result, and the same random cell is drawn.
    pub const CODEC: Codec<Self> = codec();

    /// Writes the grid, the rule, the regions, and landmarks if there are any.
    fn write_alone(&self, out: &mut Vec<u8>) {
        self.grid.write(out);
        let landmarks_bit = if self.has_landmarks() { HAS_LANDMARKS } else { 0 };
        (self.rule as u8 | landmarks_bit).write(out);
        self.regions.write(out);
        self.landmarks.iter().for_each(|landmarks| landmarks.write(out));
    }

    fn read_alone(bytes: &mut &[u8]) -> Saved<Self> {
        let (grid, byte) = <(Grid, u8)>::read(bytes)?;
        let rule = usize::from(byte & !HAS_LANDMARKS);
        let rule = *MoveRule::ALL.get(rule).ok_or(CodecError)?;
        let regions = Regions::read(bytes, &grid, rule.connectivity())?;
        let mut terrain = Self::of_parts(grid, rule, regions);
        if byte & HAS_LANDMARKS != 0 {
            terrain.landmarks = Some(Arc::new(Landmarks::read_for(bytes, terrain.ground())?));
        }
        Ok(terrain)
    }

    fn check_landmarks(&self) -> Result<(), RegionFault> {
        let fault = self.landmarks().and_then(|it| it.find_fault(self.ground()));
        fault.map_or(Ok(()), |cell| Err(RegionFault { cell }))
    }

    /// Checks that the terrains of classes follow from this one.
    fn check_classes(&self) -> Result<(), RegionFault> {
        for (class, terrain) in &self.classes {
            let has_size = (terrain.grid.width(), terrain.grid.height())
                == (self.grid.width(), self.grid.height());
            let is_right = |&cell: &Cell| {
                has_size
                    && terrain.rule == self.rule
                    && terrain.links() == class.links(&self.grid)
                    && class.find(&self.grid, cell)
                        == (terrain.is_open(cell), terrain.grid.weight_inside(cell))
            };
            if let Some(cell) = self.grid.cells().find(|cell| !is_right(cell)) {
                return Err(RegionFault { cell });
            }
            terrain.regions.check(&terrain.grid)?;
            terrain.check_landmarks()?;
        }
        Ok(())
    }

    /// Reads a map file. The rule is the default, that of the benchmarks.
    ///
    /// # Errors
    /// Returns [`LoadError`] if [`Grid::load`] does.
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

    /// The grid with its rule.
    pub(crate) const fn ground(&self) -> Ground<'_> {
        Ground::new(&self.grid, self.rule)
    }

    /// The regions.
    #[must_use]
    pub const fn regions(&self) -> &Regions {
        &self.regions
    }

    /// The positions where scans along rows and columns stop.
    pub(crate) const fn lanes(&self) -> &LanePair {
        &self.lanes
    }

    /// The number and history of the edits of the grid. Two terrains of equal versions are alike.
    #[must_use]
    pub fn version(&self) -> GridVersion {
        self.grid.version()
    }

    /// Opens a cell and merges the regions around it. Returns false and changes nothing if it is open
    /// already or outside.
    pub fn dig(&mut self, cell: Cell) -> bool {
        let changed = self.grid.dig(cell);
        if changed {
            self.regions.dug(&self.grid, cell);
            self.reach.take();
            self.lanes.edit(&self.grid, cell);
            self.repair_landmarks(cell);
            self.edit_classes(cell);
        }
        changed
    }

    /// Makes a cell solid, and splits its region if that disconnects it. Returns false and changes
    /// nothing if it is solid already or outside.
    pub fn fill(&mut self, cell: Cell) -> bool {
        let changed = self.grid.fill(cell);
        if changed {
            self.regions.filled(&self.grid, cell);
            self.reach.take();
            self.lanes.edit(&self.grid, cell);
            self.edit_classes(cell);
        }
        changed
    }

    /// Sets the weight of a cell. Returns false and changes nothing if it has that weight already or is
    /// outside.
    pub fn set_weight(&mut self, cell: Cell, weight: Weight) -> bool {
        let changed = self.grid.set_weight(cell, weight);
        if changed {
            self.lanes.edit_weight(&self.grid, cell);
            self.repair_landmarks(cell);
            self.edit_classes(cell);
        }
        changed
    }

    /// Makes this terrain, which was a copy of `other` before edits of it, a copy again. Returns false if
    /// these edits are no longer known.
    pub(crate) fn follow(&mut self, other: &Self) -> bool {
        if self.version() == other.version() {
            self.take_landmarks_of(other);
            return true;
        }
        let Some(changes) = other.grid.changes_since(self.version()) else { return false };
        // Landmarks depend on the order of edits, so they are copied.
        self.landmarks = None;
        self.classes.iter_mut().for_each(|(_, terrain)| terrain.landmarks = None);
        for Change { cell, .. } in changes {
            self.become_like(cell, (other.is_open(cell), other.grid.weight_inside(cell)));
        }
        self.grid.take_history_of(&other.grid);
        self.drain_events().for_each(drop);
        for ((_, one), (_, other)) in self.classes.iter_mut().zip(&other.classes) {
            one.grid.take_history_of(&other.grid);
            one.drain_events().for_each(drop);
        }
        self.take_landmarks_of(other);
        true
    }

    /// Copies the landmarks of a terrain with the same classes.
    fn take_landmarks_of(&mut self, other: &Self) {
        self.landmarks.clone_from(&other.landmarks);
        for ((_, one), (_, other)) in self.classes.iter_mut().zip(&other.classes) {
            one.landmarks.clone_from(&other.landmarks);
        }
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

    /// Whether there is a path from one cell to another. Takes a few array reads, and no search. If links
    /// have to be crossed, the first call after an edit looks at all of them.
    #[must_use]
    pub fn reachable(&self, from: Cell, to: Cell) -> bool {
        let are_open = self.grid.is_open(from) && self.grid.is_open(to);
        are_open
            && (self.regions.is_same(from, to)
                || !self.links().is_empty()
                    && self
                        .region(from)
                        .zip(self.region(to))
                        .is_some_and(|(a, b)| self.leads(a, b)))
    }

    /// Whether there is a path from one region to another.
    pub(crate) fn leads(&self, from: RegionId, to: RegionId) -> bool {
        let reach = || self.reach.get_or_init(|| Reach::new(&self.grid, &self.regions));
        from == to || !self.links().is_empty() && reach().leads(from, to)
    }

    /// Removes and returns the region events since the last call, oldest first.
    ///
    /// At most [`EVENTS_MAX`](crate::EVENTS_MAX) events wait here. [`Regions::lost_event_count`] counts
    /// those that were lost.
    pub fn drain_events(&mut self) -> impl Iterator<Item = RegionEvent> + '_ {
        self.regions.drain_events()
    }

    /// Compares the regions with those of a fresh flood fill, for all classes of agents, and checks
    /// landmarks.
    ///
    /// It passes over the whole map, and is meant for tests and tools.
    ///
    /// # Errors
    /// Returns [`RegionFault`] for the first wrong cell, if any. It would be a bug of this crate.
    pub fn check(&self) -> Result<(), RegionFault> {
        self.regions.check(&self.grid)?;
        self.check_landmarks()?;
        self.check_classes()
    }
}

impl Bytes for Terrain {
    fn write(&self, out: &mut Vec<u8>) {
        self.write_alone(out);
        u8::try_from(self.classes.len()).expect("at most 255 classes").write(out);
        for (class, terrain) in &self.classes {
            class.write(out);
            terrain.write_alone(out);
        }
    }

    fn read(bytes: &mut &[u8]) -> Saved<Self> {
        let (mut terrain, class_count) = (Self::read_alone(bytes)?, u8::read(bytes)?);
        let classes =
            (0..class_count).map(|_| Ok((AgentClass::read(bytes)?, Self::read_alone(bytes)?)));
        terrain.classes = classes.collect::<Saved<_>>()?;
        ensure(terrain.classes.iter().all(|(class, _)| class.is_sound()))?;
        ensure(terrain.check_classes().is_ok())?;
        Ok(terrain)
    }
}
