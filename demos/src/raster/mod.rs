//! Pictures: a rectangle of pixels, shapes drawn into it, and PNG files.
//!
//! Everything is integer arithmetic, so that one world gives one picture, pixel
//! for pixel, on every machine.

mod draw;
mod encode;
#[cfg(test)]
mod tests;
mod text;

pub use formic::inspect::Colour;

pub use crate::raster::draw::{Point, Rectangle};
pub use crate::raster::text::LETTER;

/// A picture in memory, row by row from the top left.
///
/// ```text
///   (0,0) ──> x            pixels[y * width + x]
///     │
///     v
///     y
/// ```
///
/// Shapes may reach over the edges: what lies outside is left out.
///
/// ```
/// use formic_demos::raster::{Colour, Point, Raster, Rectangle};
///
/// let mut raster = Raster::new(64, 32, Colour::BLACK);
/// raster.fill(Rectangle { x: 8, y: 8, width: 16, height: 16 }, Colour::WHITE);
/// raster.polyline(&[Point::new(0, 0), Point::new(63, 0), Point::new(63, 31)], Colour::RED);
/// assert_eq!(raster.get(10, 10), Some(Colour::WHITE));
/// assert_eq!(&raster.png()[1..4], b"PNG");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raster {
    width: u32,
    height: u32,
    pixels: Vec<Colour>,
}

impl Raster {
    /// The most pixels along a side.
    pub const SIDE_MAX: u32 = 16_384;

    /// A picture of one colour.
    ///
    /// # Panics
    /// If a side is 0 or longer than [`Raster::SIDE_MAX`].
    #[must_use]
    pub fn new(width: u32, height: u32, background: Colour) -> Self {
        let sides = 1..=Self::SIDE_MAX;
        assert!(
            sides.contains(&width) && sides.contains(&height),
            "a picture of {width} by {height} pixels: each side has 1 to {}",
            Self::SIDE_MAX
        );
        let pixels = vec![background; width as usize * height as usize];
        Self { width, height, pixels }
    }

    /// The number of columns.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// The number of rows.
    #[must_use]
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The colour of a pixel, or `None` outside of the picture.
    #[must_use]
    pub fn get(&self, x: i32, y: i32) -> Option<Colour> {
        self.index(x, y).map(|index| self.pixels[index])
    }

    /// Colours one pixel; outside of the picture it does nothing.
    pub fn set(&mut self, x: i32, y: i32, colour: Colour) {
        if let Some(index) = self.index(x, y) {
            self.pixels[index] = colour;
        }
    }

    fn index(&self, x: i32, y: i32) -> Option<usize> {
        let (x, y) = (u32::try_from(x).ok()?, u32::try_from(y).ok()?);
        (x < self.width && y < self.height).then(|| y as usize * self.width as usize + x as usize)
    }
}
