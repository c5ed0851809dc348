//! Pictures: a rectangle of pixels that `embedded_graphics` draws on, and PNG files.
//!
//! Everything is integer arithmetic, so that one world gives one picture, pixel
//! for pixel, on every machine.

#[cfg(test)]
mod tests;

use std::convert::Infallible;

use embedded_graphics::mono_font::ascii::{FONT_6X10, FONT_10X20};
use embedded_graphics::mono_font::{MonoFont, MonoTextStyle};
use embedded_graphics::pixelcolor::Rgb888;
use embedded_graphics::prelude::*;
use embedded_graphics::primitives::{Circle, Polyline, PrimitiveStyle};
use embedded_graphics::text::{Baseline, Text, TextStyleBuilder};

pub use embedded_graphics::prelude::{Point, Size};
pub use embedded_graphics::primitives::Rectangle;
pub use embedded_graphics::text::Alignment;
pub use formic::inspect::Colour;

/// The width and the height of a letter of text, in pixels.
pub const LETTER: Size = FONT_10X20.character_size;

/// A picture in memory, row by row from the top left.
///
/// ```text
///   (0,0) ──> x            pixels[y * width + x]
///     │
///     v
///     y
/// ```
///
/// Shapes may extend beyond the edges; the outside parts are not drawn.
///
/// ```
/// use formic_demos::raster::{Colour, Point, Raster, Rectangle, Size};
///
/// let mut raster = Raster::new(64, 32, Colour::BLACK);
/// raster.fill(Rectangle::new(Point::new(8, 8), Size::new(16, 16)), Colour::WHITE);
/// raster.polyline(&[Point::new(0, 0), Point::new(63, 0), Point::new(63, 31)], Colour::RED);
/// assert_eq!(raster.get(10, 10), Some(Colour::WHITE));
/// assert_eq!(&raster.png()[1..4], b"PNG");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raster {
    size: Size,
    pixels: Vec<[u8; 3]>,
}

impl Raster {
    /// The maximum number of pixels along a side.
    pub const SIDE_MAX: u32 = 16_384;

    /// Creates a picture of one colour.
    ///
    /// # Panics
    /// Panics if a side is 0 or longer than [`Raster::SIDE_MAX`].
    #[must_use]
    pub fn new(width: u32, height: u32, background: Colour) -> Self {
        let sides = 1..=Self::SIDE_MAX;
        assert!(
            sides.contains(&width) && sides.contains(&height),
            "a picture of {width} by {height} pixels: each side has 1 to {}",
            Self::SIDE_MAX
        );
        let pixels = vec![background.0; width as usize * height as usize];
        Self { size: Size::new(width, height), pixels }
    }

    /// Returns the number of columns and rows.
    #[must_use]
    pub fn size(&self) -> Size {
        self.size
    }

    /// Returns the colour of a pixel, or `None` outside the picture.
    #[must_use]
    pub fn get(&self, x: i32, y: i32) -> Option<Colour> {
        self.index(x, y).map(|index| Colour(self.pixels[index]))
    }

    fn index(&self, x: i32, y: i32) -> Option<usize> {
        let (x, y) = (u32::try_from(x).ok()?, u32::try_from(y).ok()?);
        let is_inside = x < self.size.width && y < self.size.height;
        is_inside.then(|| y as usize * self.size.width as usize + x as usize)
    }

    /// Fills a rectangle.
    pub fn fill(&mut self, rectangle: Rectangle, colour: Colour) {
        let Ok(()) = self.fill_solid(&rectangle, rgb(colour));
    }

    /// Draws lines from each point to the next; a single point is a dot.
    pub fn polyline(&mut self, points: &[Point], colour: Colour) {
        let style = PrimitiveStyle::with_stroke(rgb(colour), 1);
        let Ok(()) = match points {
            [only] => return self.dot(*only, colour),
            _ => Polyline::new(points).into_styled(style).draw(self),
        };
    }

    /// Colours a pixel.
    #[inline]
    pub fn dot(&mut self, at: Point, colour: Colour) {
        if let Some(index) = self.index(at.x, at.y) {
            self.pixels[index] = colour.0;
        }
    }

    /// Fills a disc; a radius of 0 is one pixel.
    pub fn disc(&mut self, centre: Point, radius: u32, colour: Colour) {
        let style = PrimitiveStyle::with_fill(rgb(colour));
        let Ok(()) = Circle::with_center(centre, 2 * radius + 1).into_styled(style).draw(self);
    }

    /// Writes a text whose left end, middle or right end is at a point, at half its height. Characters
    /// outside ASCII become question marks.
    pub fn text(&mut self, at: Point, text: &str, alignment: Alignment, colour: Colour) {
        self.write(at, text, &FONT_10X20, alignment, colour);
    }

    /// Writes a letter in place of a disc.
    pub fn letter(&mut self, centre: Point, radius: u32, letter: char, colour: Colour) {
        let font = if radius < LETTER.width / 2 { &FONT_6X10 } else { &FONT_10X20 };
        self.write(centre, &letter.to_string(), font, Alignment::Center, colour);
    }

    fn write(
        &mut self,
        at: Point,
        text: &str,
        font: &MonoFont<'_>,
        alignment: Alignment,
        colour: Colour,
    ) {
        let place = TextStyleBuilder::new().alignment(alignment).baseline(Baseline::Middle).build();
        let style = MonoTextStyle::new(font, rgb(colour));
        let Ok(_) = Text::with_text_style(text, at, style, place).draw(self);
    }

    /// Encodes a PNG file; the same picture always gives the same bytes.
    ///
    /// # Panics
    /// Panics if the encoder fails, which cannot happen: it writes to memory, and the sides were checked
    /// when the picture was created.
    #[must_use]
    pub fn png(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.encode(&mut bytes).expect("a picture in memory can be encoded");
        bytes
    }

    fn encode(&self, bytes: &mut Vec<u8>) -> Result<(), png::EncodingError> {
        let mut encoder = png::Encoder::new(bytes, self.size.width, self.size.height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(self.pixels.as_flattened())?;
        writer.finish()
    }
}

impl OriginDimensions for Raster {
    fn size(&self) -> Size {
        self.size
    }
}

impl DrawTarget for Raster {
    type Color = Rgb888;
    type Error = Infallible;

    fn draw_iter<I>(&mut self, pixels: I) -> Result<(), Infallible>
    where
        I: IntoIterator<Item = Pixel<Rgb888>>,
    {
        for Pixel(at, colour) in pixels {
            self.dot(at, Colour([colour.r(), colour.g(), colour.b()]));
        }
        Ok(())
    }

    fn fill_solid(&mut self, area: &Rectangle, colour: Rgb888) -> Result<(), Infallible> {
        let area = area.intersection(&self.bounding_box());
        for y in area.rows() {
            if let Some(first) = self.index(area.top_left.x, y) {
                let pixel = [colour.r(), colour.g(), colour.b()];
                self.pixels[first..first + area.size.width as usize].fill(pixel);
            }
        }
        Ok(())
    }
}

fn rgb(Colour([red, green, blue]): Colour) -> Rgb888 {
    Rgb888::new(red, green, blue)
}
