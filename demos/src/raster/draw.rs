//! Shapes, cut off at the edges of the picture.

use crate::raster::{Colour, Raster};

/// A pixel, which may lie outside of the picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// The column, from the left.
    pub x: i32,
    /// The row, from the top.
    pub y: i32,
}

impl Point {
    /// The pixel in column `x` and row `y`.
    #[must_use]
    pub fn new(x: i32, y: i32) -> Self {
        Self { x, y }
    }
}

/// A rectangle of pixels by its upper left corner and its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rectangle {
    /// The leftmost column.
    pub x: i32,
    /// The topmost row.
    pub y: i32,
    /// The number of columns.
    pub width: u32,
    /// The number of rows.
    pub height: u32,
}

impl Raster {
    /// Fills a rectangle.
    pub fn fill(&mut self, rectangle: Rectangle, colour: Colour) {
        let columns = visible(rectangle.x, rectangle.width, self.width);
        let rows = visible(rectangle.y, rectangle.height, self.height);
        for y in rows {
            let start = y * self.width as usize;
            self.pixels[start + columns.start..start + columns.end].fill(colour);
        }
    }

    /// Draws a straight line from `from` to `to`, both ends included.
    ///
    /// It walks along the whole line. An end far from the picture is drawn as if it were nearer, for
    /// what is edited by hand may be anywhere.
    pub fn line(&mut self, from: Point, to: Point, colour: Colour) {
        const FAR: i32 = 1 << 16;
        let [from, to] =
            [from, to].map(|end| Point::new(end.x.clamp(-FAR, FAR), end.y.clamp(-FAR, FAR)));
        // Bresenham's walk, in i64 because the difference of two i32 needs it.
        let (width, height) = (span(from.x, to.x), -span(from.y, to.y));
        let (step_x, step_y) = (direction(from.x, to.x), direction(from.y, to.y));
        let (mut at, mut error) = (from, width + height);
        loop {
            self.set(at.x, at.y, colour);
            if at == to {
                return;
            }
            let doubled = 2 * error;
            if doubled >= height {
                error += height;
                at.x += step_x;
            }
            if doubled <= width {
                error += width;
                at.y += step_y;
            }
        }
    }

    /// Draws lines from each point to the next; one point alone is a dot.
    pub fn polyline(&mut self, points: &[Point], colour: Colour) {
        if let [only] = points {
            self.set(only.x, only.y, colour);
        }
        for ends in points.windows(2) {
            self.line(ends[0], ends[1], colour);
        }
    }

    /// Fills a disc; a radius of 0 is one pixel.
    pub fn disc(&mut self, centre: Point, radius: u32, colour: Colour) {
        let reach = i64::from(radius);
        // A quarter of a pixel more than the radius rounds the small discs.
        let limit = reach * reach + reach;
        let rows = visible_around(centre.y, radius, self.height);
        let columns = visible_around(centre.x, radius, self.width);
        for y in rows {
            for x in columns.clone() {
                let (dx, dy) = (span(centre.x, x), span(centre.y, y));
                if dx * dx + dy * dy <= limit {
                    self.set(x, y, colour);
                }
            }
        }
    }
}

fn span(from: i32, to: i32) -> i64 {
    (i64::from(to) - i64::from(from)).abs()
}

/// -1, 0 or 1: the step that leads from one coordinate to the other.
fn direction(from: i32, to: i32) -> i32 {
    to.cmp(&from) as i32
}

/// The part of `start .. start + length` that lies inside `0 .. side`.
fn visible(start: i32, length: u32, side: u32) -> std::ops::Range<usize> {
    let inside = |place: i64| usize::try_from(place.clamp(0, side.into())).unwrap_or(0);
    let start = i64::from(start);
    inside(start)..inside(start + i64::from(length))
}

/// The coordinates within `radius` of `centre` that lie inside `0 .. side`.
fn visible_around(centre: i32, radius: u32, side: u32) -> std::ops::Range<i32> {
    let inside = |place: i64| i32::try_from(place.clamp(0, side.into())).unwrap_or(0);
    let (centre, radius) = (i64::from(centre), i64::from(radius));
    inside(centre - radius)..inside(centre + radius + 1)
}
