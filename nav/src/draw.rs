//! Pictures of the state of the systems of this crate, for debugging.

use formic_ecs::{Entity, World};
use glam::Vec2;

use crate::agent::Position;
use crate::cell::Cell;
use crate::class::{ClassId, SIZE_MAX};
use crate::cost::Weight;
use crate::flow::Known;
use crate::flow_agent::fields::{FlowFields, FlowId};
use crate::grid::Grid;
use crate::region::event::RegionId;
use crate::request::{PathRequest, Route};
use crate::terrain::Terrain;

/// A picture in memory: pixels as indices into a palette of colours, row by row from the top left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Picture {
    /// The number of columns.
    pub width: u32,
    /// Up to 256 colours: red, green and blue.
    pub palette: Vec<[u8; 3]>,
    /// The index in the palette of each pixel, a whole number of rows.
    pub pixels: Vec<u8>,
}

/// The options of [`debug_draw`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DrawOptions {
    /// The side of a cell, in pixels. Cells of less than 4 pixels have no arrows.
    pub cell_pixels: u8,
    /// The class whose ground is drawn.
    pub class: ClassId,
    /// Whether ground is drawn by its clearance instead of in the colours of regions: the larger the
    /// largest square that fits there, from the cell to the south-east, the brighter the cell.
    pub clearance: bool,
    /// The field whose directions are drawn, as far as they are known.
    pub field: Option<FlowId>,
    /// Whether links, routes and agents are drawn.
    pub agents: bool,
}

impl Default for DrawOptions {
    /// Regions of the terrain itself, with links, routes and agents, in cells of eight pixels.
    fn default() -> Self {
        let (class, field) = (ClassId(0), None);
        Self { cell_pixels: 8, class, clearance: false, field, agents: true }
    }
}

/// Places in the palette, and the colours there.
const ROCK: u8 = 0;
/// Rock whose south side is visible.
const FACE: u8 = 1;
const LINK: u8 = 2;
const AGENT: u8 = 3;
const ARROW: u8 = 4;
const COLOURS: [[u8; 3]; 5] =
    [[30, 28, 34], [66, 60, 70], [255, 90, 255], [255, 255, 255], [250, 250, 160]];
/// The number of colours of routes.
const FIRST_ROUTE: u8 = 5;
const ROUTE_COUNT: u8 = 8;
const FIRST_GROUND: u8 = FIRST_ROUTE + ROUTE_COUNT;
/// The number of region colours. Regions this many numbers apart look the same.
const REGION_COUNT: u8 = 48;
const WEIGHT_STEPS: u8 = 5;
const WEIGHTS_PER_STEP: u8 = 3;
/// The colour towards which ground shifts with its weight.
const HEAVY: [u8; 3] = [24, 84, 190];

/// Draws the terrain of a world, with its agents, into a picture.
///
/// Each region has a colour. Ground is bluer the heavier it is. Solid cells are dark, those above open
/// ones a little less. With a pixel for each cell, and without agents, this is the map of the page that
/// `formic::inspect` serves. A route is a line from its agent to its goal, a link one that ends in a dot.
/// The same world gives the same picture.
///
/// ```
/// use formic_ecs::World;
/// use formic_nav::{DrawOptions, Grid, MoveRule, Terrain, debug_draw, systems};
/// let mut world = World::new();
/// let terrain = Terrain::new(Grid::from_fn(9, 5, |cell| cell.x != 4)?, MoveRule::default());
/// systems::insert_resources(&mut world, terrain);
/// let picture = debug_draw(&world, DrawOptions::default());
/// assert_eq!((picture.width, picture.height()), (72, 40));
/// assert!(picture.ppm().starts_with(b"P6 72 40 255\n"));
/// # Ok::<(), formic_nav::GridSizeError>(())
/// ```
///
/// # Panics
/// Panics if the world has no [`Terrain`], or that has no such class.
#[must_use]
pub fn debug_draw(world: &World, options: DrawOptions) -> Picture {
    let all = world.resource::<Terrain>().expect("the world has a terrain");
    let terrain = all.for_class(options.class).expect("the terrain has the class");
    let (grid, side) = (terrain.grid(), usize::from(options.cell_pixels.max(1)));
    let mut picture = Picture::new(grid, side, options.clearance);
    let clearances = options.clearance.then(|| clearances(grid));
    for (place, cell) in grid.cells().enumerate() {
        let below = Cell::new(cell.x, cell.y.saturating_add(1));
        let colour = match (terrain.region(cell), &clearances) {
            (None, _) if terrain.is_open(below) => FACE,
            (None, _) => ROCK,
            (Some(_), Some(clearances)) => FIRST_GROUND + clearances[place] - 1,
            (Some(region), None) => ground_place(region, grid.weight_inside(cell)),
        };
        picture.fill_cell(cell, colour, side);
    }
    let field = options
        .field
        .filter(|_| side >= 4)
        .and_then(|id| world.resource::<FlowFields>().ok()?.get_on(id, all));
    if let Some((field, ground)) = field.filter(|(field, ground)| field.fits(ground)) {
        for cell in ground.grid().cells() {
            let (at, known) = (cell.centre(), field.known(ground, cell));
            match known {
                Known::Step(to) | Known::NotYet(Some(to)) => {
                    let way = (to.centre() - at).clamp_length_max(1.0) * 0.4;
                    picture.line(at - way, at + way, ARROW, side);
                    picture.square(at + way, side.div_ceil(6), ARROW, side);
                }
                Known::Goal => picture.square(at, side.div_ceil(2), ARROW, side),
                Known::NotYet(None) | Known::Unreachable => {}
            }
        }
    }
    if options.agents {
        picture.draw_agents(world, terrain, side);
    }
    picture
}

/// The index in the palette of the ground of a region.
fn ground_place(region: RegionId, weight: Weight) -> u8 {
    #[expect(clippy::cast_possible_truncation, reason = "of a few regions")]
    let region = (region.slot() % usize::from(REGION_COUNT)) as u8;
    let step = (weight.get() - 1).div_ceil(WEIGHTS_PER_STEP).min(WEIGHT_STEPS - 1);
    FIRST_GROUND + region * WEIGHT_STEPS + step
}

/// The colour of the ground of a region, at a step of weights. Regions with neighbouring numbers differ,
/// and no colour is as dark as rock or as light as an agent.
fn ground_colour(region: u8, weight_step: u8) -> [u8; 3] {
    // The golden ratio spreads any number of hues evenly; the first one is calm.
    let hue = f32::from(region) * 0.618_034 + 0.52;
    let bright = [0.62, 0.42, 0.8, 0.52][usize::from(region % 4)];
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "of a byte")]
    let channel = |shift: f32| {
        let away = ((hue + shift).fract() * 6.0 - 3.0).abs() - 1.0;
        (255.0 * bright * (0.25 + 0.75 * away.clamp(0.0, 1.0))) as u8
    };
    let floor = [0.0, 2.0 / 3.0, 1.0 / 3.0].map(channel);
    let part = u16::from(weight_step * WEIGHTS_PER_STEP) * 20;
    let mix = |place: usize| {
        (u16::from(floor[place]) * (256 - part) + u16::from(HEAVY[place]) * part) / 256
    };
    [0, 1, 2].map(|place| u8::try_from(mix(place)).unwrap_or(u8::MAX))
}

/// For each cell, the side of the largest open square of which it is the north-western cell, up to the
/// maximum size of agents.
fn clearances(grid: &Grid) -> Vec<u8> {
    let mut sides = vec![0; grid.cell_count()];
    let width = usize::from(grid.width());
    for place in (0..sides.len()).rev() {
        let cell = grid.cell_at(place);
        let is_inside = cell.x + 1 < grid.width() && cell.y + 1 < grid.height();
        let behind = [1, width, width + 1].map(|by| if is_inside { sides[place + by] } else { 0 });
        let least = behind.into_iter().min().unwrap_or(0).min(SIZE_MAX - 1);
        sides[place] = if grid.is_open(cell) { least + 1 } else { 0 };
    }
    sides
}

impl Picture {
    fn new(grid: &Grid, side: usize, clearance: bool) -> Self {
        let routes = (0..ROUTE_COUNT).map(|place| ground_colour(place, 0).map(|it| it | 0x60));
        let mut palette: Vec<_> = COLOURS.into_iter().chain(routes).collect();
        if clearance {
            palette.extend((1..=SIZE_MAX).map(|size| [40 + size * (208 / SIZE_MAX); 3]));
        } else {
            let steps = |region| (0..WEIGHT_STEPS).map(move |step| ground_colour(region, step));
            palette.extend((0..REGION_COUNT).flat_map(steps));
        }
        let [width, height] = [grid.width(), grid.height()].map(|cells| usize::from(cells) * side);
        let width_pixels = u32::try_from(width).expect("at most 255 pixels a cell");
        Self { width: width_pixels, palette, pixels: vec![ROCK; width * height] }
    }

    /// The number of rows.
    #[must_use]
    pub fn height(&self) -> u32 {
        u32::try_from(self.pixels.len() / self.width.max(1) as usize).unwrap_or(u32::MAX)
    }

    /// The bytes of a PPM file, which most viewers of pictures read.
    #[must_use]
    pub fn ppm(&self) -> Vec<u8> {
        let mut bytes = format!("P6 {} {} 255\n", self.width, self.height()).into_bytes();
        bytes.extend(self.pixels.iter().flat_map(|&place| self.palette[usize::from(place)]));
        bytes
    }

    fn fill_cell(&mut self, cell: Cell, colour: u8, side: usize) {
        let (left, top) = (usize::from(cell.x) * side, usize::from(cell.y) * side);
        for row in top..top + side {
            self.pixels[row * self.width as usize + left..][..side].fill(colour);
        }
    }

    /// Fills a square of `pixels` pixels a side around a position, as far as it is on the map.
    fn square(&mut self, middle: Vec2, pixels: usize, colour: u8, side: usize) {
        let corner = middle * side as f32 - pixels as f32 * 0.5;
        #[expect(clippy::cast_possible_truncation, reason = "the conversion saturates")]
        let [left, top] = [corner.x, corner.y].map(|at| i64::from(at.round() as i32));
        let pixels = i64::try_from(pixels).unwrap_or(0);
        for (y, x) in (top..top + pixels).flat_map(|y| (left..left + pixels).map(move |x| (y, x))) {
            let (x, y) = (usize::try_from(x).ok(), usize::try_from(y).ok());
            let Some((x, y)) = x.zip(y).filter(|&(x, _)| x < self.width as usize) else { continue };
            if let Some(pixel) = self.pixels.get_mut(y * self.width as usize + x) {
                *pixel = colour;
            }
        }
    }

    /// Draws a line. Ends beyond the map are moved to its border.
    fn line(&mut self, from: Vec2, to: Vec2, colour: u8, side: usize) {
        let size = Vec2::new(self.width as f32, self.height() as f32) / side as f32;
        let [from, to] = [from, to].map(|end| end.clamp(Vec2::ZERO, size));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "on the map")]
        let count = (from.distance(to) * side as f32).ceil().max(1.0) as u32;
        let thickness = side.div_ceil(8);
        for part in 0..=count {
            let at = from.lerp(to, part as f32 / count as f32);
            self.square(at, thickness, colour, side);
        }
    }

    fn draw_agents(&mut self, world: &World, terrain: &Terrain, side: usize) {
        for link in terrain.links() {
            self.line(link.from.centre(), link.to.centre(), LINK, side);
            self.square(link.to.centre(), side.div_ceil(2), LINK, side);
        }
        let routes = world.query_ref::<(Entity, &Position, &PathRequest, &Route)>();
        for (entity, position, request, route) in routes {
            let Some(goal) = request.goal() else { continue };
            #[expect(clippy::cast_possible_truncation, reason = "of a few colours")]
            let colour = FIRST_ROUTE + (entity.index() % u32::from(ROUTE_COUNT)) as u8;
            for ends in route.line(position.0, goal).windows(2) {
                self.line(ends[0], ends[1], colour, side);
            }
        }
        for position in world.query_ref::<&Position>() {
            self.square(position.0, side.div_ceil(2), AGENT, side);
        }
    }
}
