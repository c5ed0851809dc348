//! The dungeon as a picture: regions in colours, rock, paths and imps.

use formic_ecs::World;
use formic_nav::{Cell, PathRequest, Position, Route, Terrain};
use glam::Vec2;

use crate::raster::{Colour, Point, Raster, Rectangle, region_colour};

/// The side of the picture, in pixels, that small maps are scaled up to.
const SIDE_PIXELS: u32 = 1_280;
/// The most pixels along a side of a cell.
const CELL_PIXELS_MAX: u32 = 32;

/// Draws the terrain, what imps have ahead of them, and the imps.
pub(super) fn picture(world: &World, terrain: &Terrain) -> Raster {
    let canvas = Canvas::new(terrain);
    let mut raster = canvas.floor(terrain);
    for (position, request, route) in world.query_ref::<(&Position, &PathRequest, &Route)>() {
        canvas.draw_path(&mut raster, terrain, *position, request, route);
    }
    for position in world.query_ref::<&Position>() {
        canvas.draw_imp(&mut raster, *position);
    }
    raster
}

/// How cells become pixels.
struct Canvas {
    cell_pixels: u32,
}

impl Canvas {
    fn new(terrain: &Terrain) -> Self {
        let side = terrain.grid().width().max(terrain.grid().height());
        Self { cell_pixels: (SIDE_PIXELS / u32::from(side)).clamp(1, CELL_PIXELS_MAX) }
    }

    fn floor(&self, terrain: &Terrain) -> Raster {
        let grid = terrain.grid();
        let pixels = |cells: u16| u32::from(cells) * self.cell_pixels;
        let mut raster = Raster::new(pixels(grid.width()), pixels(grid.height()), Colour::ROCK);
        for cell in grid.cells() {
            if terrain.is_open(cell) {
                raster.fill(self.square(cell), cell_colour(terrain, cell));
            }
            self.draw_edge(&mut raster, terrain, cell);
        }
        raster
    }

    /// Rock above a floor gets a face, as if one looked at it from the south.
    fn draw_edge(&self, raster: &mut Raster, terrain: &Terrain, cell: Cell) {
        let below = cell.y.checked_add(1).map(|y| Cell::new(cell.x, y));
        let is_face = !terrain.is_open(cell) && below.is_some_and(|cell| terrain.is_open(cell));
        if is_face && self.cell_pixels >= 4 {
            let height = self.cell_pixels / 3;
            let square = self.square(cell);
            let top = square.y + pixel(self.cell_pixels - height);
            raster.fill(Rectangle { y: top, height, ..square }, FACE);
        }
    }

    fn draw_path(
        &self,
        raster: &mut Raster,
        terrain: &Terrain,
        position: Position,
        request: &PathRequest,
        route: &Route,
    ) {
        let Some((goal, cells)) = request.goal().zip(route.rest().split_last()) else { return };
        let mut points = vec![self.point(position.0)];
        points.extend(cells.1.iter().map(|cell| self.point(cell.centre())));
        points.push(self.point(goal));
        let colour = mix(cell_colour(terrain, *cells.0), Colour::WHITE, 110);
        // On large cells a line of one pixel would get lost.
        let width = if self.cell_pixels >= 8 { 2 } else { 1 };
        for offset in 0..width {
            let beside = |point: &Point| Point::new(point.x + offset, point.y + offset);
            raster.polyline(&points.iter().map(beside).collect::<Vec<_>>(), colour);
        }
        if self.cell_pixels >= 4 {
            raster.disc(self.point(goal), self.cell_pixels / 5, colour);
        }
    }

    fn draw_imp(&self, raster: &mut Raster, position: Position) {
        let at = self.point(position.0);
        // On small cells an imp is larger than its cell, or it could not be seen.
        let radius = (self.cell_pixels * 3 / 10).max(1);
        raster.disc(at, radius + 1, Colour::BLACK);
        raster.disc(at, radius, Colour::WHITE);
    }

    fn square(&self, cell: Cell) -> Rectangle {
        let side = self.cell_pixels;
        let [x, y] = [cell.x, cell.y].map(|at| pixel(u32::from(at) * side));
        Rectangle { x, y, width: side, height: side }
    }

    #[expect(clippy::cast_possible_truncation, reason = "pictures have at most 2^14 pixels a side")]
    fn point(&self, position: Vec2) -> Point {
        let at = position * self.cell_pixels as f32;
        Point::new(at.x as i32, at.y as i32)
    }
}

/// The side of rock that is turned towards us.
pub(super) const FACE: Colour = Colour([66, 60, 70]);

/// The colour of a floor, that of its region subdued, so that imps and paths stand out from it.
pub(super) fn floor_colour(region: Colour) -> Colour {
    mix(region, Colour::ROCK, 90)
}

fn cell_colour(terrain: &Terrain, cell: Cell) -> Colour {
    let Some(region) = terrain.region(cell) else { return Colour::ROCK };
    let index = u32::try_from(region.slot()).unwrap_or(u32::MAX);
    floor_colour(region_colour(index))
}

/// `part` of 256 of the second colour, the rest of the first.
fn mix(Colour(first): Colour, Colour(second): Colour, part: u32) -> Colour {
    let channel = |i: usize| {
        let sum = u32::from(first[i]) * (256 - part) + u32::from(second[i]) * part;
        u8::try_from(sum >> 8).unwrap_or(u8::MAX)
    };
    Colour([channel(0), channel(1), channel(2)])
}

/// A place in a picture, whose sides have at most 2^14 pixels.
fn pixel(at: u32) -> i32 {
    i32::try_from(at).unwrap_or(i32::MAX)
}
