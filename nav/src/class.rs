//! Classes of agents: their size, and the cost of each kind of ground to them.

use bytemuck::{Pod, Zeroable};
use formic_ecs::{CodecError, Component};

use crate::bytes::{Bytes, Saved, bytes_as, bytes_by_field};
use crate::cell::Cell;
use crate::cost::Weight;
use crate::grid::Grid;
use crate::link::Link;

/// The maximum size of agents, in cells along a side.
pub const SIZE_MAX: u8 = 8;

/// A class of agents, which determines how they cross the ground.
///
/// The weight of a cell tells which kind of ground it is. To agents without a class it is the cost of the
/// cell. A class may have another weight for that kind of ground, or be unable to cross it.
/// [`Terrain::with_classes`](crate::Terrain::with_classes) takes all classes of a game, and keeps the
/// regions, paths and fields of each exact.
///
/// ```
/// use formic_nav::{AgentClass, Cell, ClassId, Grid, MoveRule, Terrain, Weight};
/// const MUD: Weight = Weight::new(4).unwrap();
/// const WATER: Weight = Weight::new(9).unwrap();
/// // A river between two banks.
/// let mut terrain = Terrain::new(Grid::from_fn(9, 4, |_| true)?, MoveRule::BothFree);
/// (0..4).for_each(|y| drop(terrain.set_weight(Cell::new(4, y), WATER)));
///
/// let goblins = AgentClass::new(1).without(WATER).with_weight(MUD, Weight::new(2).unwrap());
/// let boats = AgentClass::new(1).only(&[WATER]);
/// let terrain = terrain.with_classes([goblins, boats]);
/// let (goblins, boats) = (ClassId(1), ClassId(2));
/// let reachable = |class, from: (u16, u16), to: (u16, u16)| {
///     terrain.for_class(class).unwrap().reachable(Cell::new(from.0, from.1), Cell::new(to.0, to.1))
/// };
/// assert!(!reachable(goblins, (0, 0), (8, 0)));
/// assert!(reachable(boats, (4, 0), (4, 3)));
/// # Ok::<(), formic_nav::GridSizeError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AgentClass {
    size: u8,
    /// The weight to this class, or zero, by the weight of a cell.
    weights: [u8; 256],
}

/// The number of a class of agents, counted from one in the order of
/// [`Terrain::with_classes`](crate::Terrain::with_classes). As a component it makes an agent one of that
/// class. Agents with zero, or without it, cross the terrain as it is.
///
/// The position of an agent of several cells along a side is in the north-western one of them.
///
/// The systems panic if the terrain has no such class.
#[derive(Component, Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(transparent)]
pub struct ClassId(pub u8);

bytes_by_field!(AgentClass { size, weights });
bytes_as!(ClassId as u8, |it| it.0, |it| Some(Self(it)));

impl AgentClass {
    /// Creates a class of agents of `size` cells along a side, to which all ground has its own weight.
    ///
    /// An agent of several cells fits if the whole square is open to it; the heaviest cell counts.
    ///
    /// # Panics
    /// Panics if `size` is zero or more than [`SIZE_MAX`].
    #[must_use]
    pub fn new(size: u8) -> Self {
        assert!((1..=SIZE_MAX).contains(&size), "agents cannot be of size {size}");
        let mut weights = [0; 256];
        (0..=u8::MAX).for_each(|weight| weights[usize::from(weight)] = weight);
        Self { size, weights }
    }

    /// Returns the class with another weight for this ground.
    #[must_use]
    pub fn with_weight(mut self, ground: Weight, weight: Weight) -> Self {
        self.weights[usize::from(ground.get())] = weight.get();
        self
    }

    /// Returns the class, unable to cross this ground.
    #[must_use]
    pub fn without(mut self, ground: Weight) -> Self {
        self.weights[usize::from(ground.get())] = 0;
        self
    }

    /// Returns the class, able to cross only these kinds of ground.
    #[must_use]
    pub fn only(mut self, grounds: &[Weight]) -> Self {
        for ground in (1..=u8::MAX).filter_map(Weight::new).filter(|it| !grounds.contains(it)) {
            self = self.without(ground);
        }
        self
    }

    /// The number of cells that an agent covers along a side.
    #[must_use]
    pub const fn size(&self) -> u8 {
        self.size
    }

    /// The weight of ground to this class, or `None` if it cannot cross it.
    #[must_use]
    pub fn weight(&self, ground: Weight) -> Option<Weight> {
        Weight::new(self.weights[usize::from(ground.get())])
    }

    /// Whether the square with this north-western corner, a cell of the grid, is open to the class, and
    /// its weight, open or not.
    pub(crate) fn find(&self, grid: &Grid, corner: Cell) -> (bool, Weight) {
        let (mut is_open, mut heaviest) = (true, Weight::ONE);
        for y in corner.y..corner.y + u16::from(self.size) {
            for x in corner.x..corner.x + u16::from(self.size) {
                let cell = Cell::new(x, y);
                let weight = grid.weight(cell).and_then(|ground| self.weight(ground));
                is_open &= grid.is_open(cell) && weight.is_some();
                heaviest = heaviest.max(weight.unwrap_or_default());
            }
        }
        (is_open, heaviest)
    }

    /// The links that the class can cross, with their weights to it.
    pub(crate) fn links(&self, grid: &Grid) -> Vec<Link> {
        let as_is = |link: &Link| Some(Link { ground: self.weight(link.ground)?, ..*link });
        let mut links: Vec<Link> = grid.links().all().iter().filter_map(as_is).collect();
        links.sort_unstable();
        links
    }

    /// The definition of the class, as numbers.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u64> + '_ {
        std::iter::once(self.size).chain(self.weights).map(u64::from)
    }

    /// The north-western corners of all squares that a cell is in.
    pub(crate) fn corners(&self, cell: Cell) -> impl Iterator<Item = Cell> + use<> {
        let span = u16::from(self.size) - 1;
        let columns = cell.x.saturating_sub(span)..=cell.x;
        let rows = cell.y.saturating_sub(span)..=cell.y;
        rows.flat_map(move |y| columns.clone().map(move |x| Cell::new(x, y)))
    }

    /// Whether it could be a class of a game, as one from a save may not be.
    pub(crate) const fn is_sound(&self) -> bool {
        self.size >= 1 && self.size <= SIZE_MAX && self.weights[0] == 0
    }
}
