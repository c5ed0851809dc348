//! Drawings of lines and words, as SVG.

use std::fmt::Write;

use crate::raster::Colour;

/// A drawing: shapes in the order in which they are painted, on a white ground.
///
/// ```
/// use formic_demos::raster::Colour;
/// use formic_demos::svg::Svg;
///
/// let mut svg = Svg::new(200.0, 100.0, "A line");
/// svg.polyline([(10.0, 90.0), (190.0, 10.0)], Colour::RED, 2.0);
/// svg.text((100.0, 95.0), 12.0, "middle", "x < y");
/// let text = String::from_utf8(svg.bytes())?;
/// assert!(text.starts_with("<svg ") && text.contains("x &lt; y"));
/// # Ok::<(), std::string::FromUtf8Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Svg {
    text: String,
}

impl Svg {
    /// An empty drawing of this size, in pixels.
    #[must_use]
    pub fn new(width: f32, height: f32, title: &str) -> Self {
        let title = escaped(title);
        Self {
            text: format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
                 width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\">\n\
                 <title>{title}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
            ),
        }
    }

    /// A filled rectangle; opacity from 0 to 1.
    pub fn rectangle(&mut self, corner: (f32, f32), size: (f32, f32), fill: Colour, opacity: f32) {
        let (x, y) = corner;
        let (width, height) = size;
        let fill = hex(fill);
        self.push(format_args!(
            "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" \
             fill=\"{fill}\" fill-opacity=\"{opacity:.2}\"/>"
        ));
    }

    /// Straight lines from each point to the next.
    pub fn polyline(
        &mut self,
        points: impl IntoIterator<Item = (f32, f32)>,
        stroke: Colour,
        width: f32,
    ) {
        let mut list = String::new();
        for (x, y) in points {
            list.push_str(&format!("{x:.1},{y:.1} "));
        }
        let stroke = hex(stroke);
        self.push(format_args!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{stroke}\" \
             stroke-width=\"{width}\" stroke-linejoin=\"round\"/>",
            list.trim_end()
        ));
    }

    /// Words whose `start`, `middle` or `end` stands at a place; the size is that of the letters, in
    /// pixels.
    pub fn text(&mut self, at: (f32, f32), size: f32, anchor: &str, words: &str) {
        let (x, y) = at;
        let words = escaped(words);
        self.push(format_args!(
            "<text x=\"{x:.2}\" y=\"{y:.2}\" font-size=\"{size}\" text-anchor=\"{anchor}\" \
             fill=\"#333333\">{words}</text>"
        ));
    }

    /// The whole drawing as a file.
    #[must_use]
    pub fn bytes(mut self) -> Vec<u8> {
        self.text.push_str("</svg>\n");
        self.text.into_bytes()
    }

    fn push(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing into a String cannot fail.
        let written = writeln!(self.text, "{element}");
        debug_assert!(written.is_ok());
    }
}

fn hex(Colour([red, green, blue]): Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
