//! The map of the harbour, and the classes of agents that can cross it.

use formic::inspect::Kind as Legend;
use formic_ecs::RandomStream;
use formic_nav::{AgentClass, Cell, ClassId, Grid, Link, MoveRule, Terrain, Weight};
use glam::Vec2;

use crate::raster::Colour;

/// The tiles: `#` rock, `.` floor, `~` water, `,` mud, `+` a door, `=` a door with a lock. From each
/// small letter a link leads to the same capital: stairs up (a) and down (b), a ramp up (c) and down (d),
/// a drop (e).
const MAP: &str = include_str!("../../maps/harbour.txt");
pub(super) const WIDTH: u16 = 64;
pub(super) const HEIGHT: u16 = 31;
/// The first row of the upper floor.
const UPSTAIRS: u16 = 25;
/// The length of a link, in cells.
const LINK_LENGTH: u8 = 4;

/// Kinds of ground, which classes of agents distinguish by their weights. For agents without a class, of
/// which there are none here, they are the cost of the ground.
const MUD: Weight = Weight::new(4).expect("not zero");
const WATER: Weight = Weight::new(5).expect("not zero");
const LOCKED: Weight = Weight::new(6).expect("not zero");

/// The kind of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Goblin,
    /// A goblin with the key.
    Porter,
    Boat,
    Troll,
}

/// Every kind, in the order of the classes.
pub(super) const KINDS: [Kind; 4] = [Kind::Goblin, Kind::Porter, Kind::Boat, Kind::Troll];

impl Kind {
    /// Returns the kind of agents of a class.
    pub(super) fn of(class: ClassId) -> Option<Self> {
        KINDS.into_iter().find(|kind| kind.class() == class)
    }

    pub(super) const fn class(self) -> ClassId {
        ClassId(self as u8 + 1)
    }

    fn definition(self) -> AgentClass {
        let half = Weight::new(MUD.get() / 2).expect("not zero");
        let walker = AgentClass::new(1).without(WATER).with_weight(MUD, half);
        match self {
            Self::Goblin => walker.without(LOCKED),
            Self::Porter => walker.with_weight(LOCKED, Weight::ONE),
            Self::Boat => AgentClass::new(1).only(&[WATER]).with_weight(WATER, Weight::ONE),
            Self::Troll => AgentClass::new(2).without(WATER).without(LOCKED),
        }
    }

    /// Returns the noun of a kind; its slowest and its fastest speed, in cells per second; and its entry in
    /// the legend. At twenty ticks per second no agent walks half a cell in a tick, which the watch relies
    /// on.
    const fn row(self) -> (&'static str, (f32, f32), Legend) {
        let green = Colour([120, 220, 110]);
        let (yellow, red) = (Colour([250, 214, 90]), Colour([240, 110, 90]));
        match self {
            Self::Goblin => ("goblin", (2.0, 4.0), Legend::new("goblins", green)),
            Self::Porter => {
                ("porter", (2.0, 4.0), Legend::letter("porters with the key", yellow, 'P'))
            }
            Self::Boat => ("boat", (2.0, 6.0), Legend::letter("boats", Colour([240; 3]), 'B')),
            Self::Troll => {
                ("troll", (1.5, 2.5), Legend::letter("trolls, too wide for doors", red, 'T'))
            }
        }
    }

    pub(super) const fn noun(self) -> &'static str {
        self.row().0
    }

    pub(super) const fn speeds(self) -> (f32, f32) {
        self.row().1
    }

    pub(super) const fn legend(self) -> Legend {
        self.row().2
    }
}

/// Returns the symbol of a cell; rock outside the map.
pub(super) fn symbol(cell: Cell) -> u8 {
    let row = MAP.lines().nth(cell.y.into()).unwrap_or_default();
    row.as_bytes().get(usize::from(cell.x)).copied().unwrap_or(b'#')
}

pub(super) fn is_upstairs(place: Vec2) -> bool {
    place.y >= f32::from(UPSTAIRS)
}

/// Returns the harbour without carts.
pub(super) fn terrain() -> Terrain {
    let is_open = |cell| symbol(cell) != b'#';
    let mut grid = Grid::from_fn(WIDTH.into(), HEIGHT.into(), is_open).expect("it is a small map");
    for cell in grid.cells() {
        let ground = match symbol(cell) {
            b'~' => WATER,
            b',' => MUD,
            b'=' => LOCKED,
            _ => continue,
        };
        grid.set_weight(cell, ground);
    }
    let end_of = |from: Cell| {
        let capital =
            symbol(from).is_ascii_lowercase().then(|| symbol(from).to_ascii_uppercase())?;
        grid.cells().find(|&cell| symbol(cell) == capital)
    };
    let link = |from| Some(Link::new(from, end_of(from)?, LINK_LENGTH));
    let links: Vec<Link> = grid.cells().filter_map(link).collect();
    Terrain::new(grid, MoveRule::BothFree)
        .with_links(links)
        .with_classes(KINDS.map(Kind::definition))
}

/// Returns a random open cell, all with the same probability; `None` if there is none.
pub(super) fn somewhere(terrain: &Terrain, random: &mut RandomStream) -> Option<Cell> {
    let grid = terrain.grid();
    let number = random.below(grid.open_count() as u64);
    grid.cells().filter(|&cell| grid.is_open(cell)).nth(usize::try_from(number).ok()?)
}
