//! A plot of a cat's diary beside the curves that it decides by.
//!
//! ```text
//!   +-- needs over time, what it does as coloured bands --+-- eat ---+
//!   |                                                      +-- sleep -+
//!   +-- scores over time ----------------------------------+-- play --+
//! ```

use formic_ai::utility::{Curve, Reasoner};
use svg::node::element::{Polyline, Rectangle, Text, Title};
use svg::{Document, Node};

use super::diary::Diary;
use super::mind::{OPTIONS, hunger_curve, tiredness_curve};
use super::view::COLOURS;
use crate::raster::Colour;

const WIDTH: u16 = 1200;
const HEIGHT: u16 = 640;
const AXIS: Colour = Colour([150, 150, 150]);
const GRID: Colour = Colour([228, 228, 228]);
const HUNGER: Colour = Colour([213, 94, 0]);
const TIREDNESS: Colour = Colour([86, 110, 200]);

pub(super) fn draw(diary: &Diary, reasoner: &Reasoner) -> Vec<u8> {
    let ground = Rectangle::new().set("width", "100%").set("height", "100%").set("fill", "#ffffff");
    let mut svg = Document::new()
        .set("viewBox", (0, 0, WIDTH, HEIGHT))
        .set("width", WIDTH)
        .set("height", HEIGHT)
        .set("font-family", "sans-serif")
        .add(Title::new("A cat: its needs, its scores and its choices"))
        .add(ground);
    // A multiple of four, so that the axis labels are whole numbers.
    let seconds = diary.entries().last().map_or(1.0, |entry| entry.seconds.max(1.0));
    let seconds = (seconds / 4.0).ceil() * 4.0;
    let needs = Chart::new((60.0, 50.0), (740.0, 240.0), seconds, 100.0);
    let scores = Chart::new((60.0, 370.0), (740.0, 200.0), seconds, 1.0);
    needs.frame(&mut svg, "Needs of the first cat, and what it does", "seconds");
    needs.bands(&mut svg, diary);
    needs.line(&mut svg, HUNGER, diary.entries().iter().map(|it| (it.seconds, it.hunger)));
    needs.line(&mut svg, TIREDNESS, diary.entries().iter().map(|it| (it.seconds, it.tiredness)));
    let [eat, sleep, play] = std::array::from_fn(|it| (OPTIONS[it], COLOURS[it]));
    let of_needs = [("hunger", HUNGER), ("tiredness", TIREDNESS)];
    needs.legend(&mut svg, [of_needs[0], of_needs[1], eat, sleep, play]);
    scores.frame(&mut svg, "What each option scores before commitment", "seconds");
    for (option, colour) in COLOURS.into_iter().enumerate() {
        let points = diary.entries().iter().map(|it| (it.seconds, it.scores[option]));
        scores.line(&mut svg, colour, points);
    }
    scores.legend(&mut svg, [eat, sleep, play]);
    draw_curves(&mut svg, reasoner);
    format!("{svg}\n").into_bytes()
}

/// Draws the curve of each need, and the score of playing along both.
fn draw_curves(svg: &mut Document, reasoner: &Reasoner) {
    let chart = |row: f32| Chart::new((880.0, 50.0 + row * 195.0), (280.0, 130.0), 100.0, 1.0);
    let along = |curve: Curve| (0..=50).map(move |it| (it, curve.at(it as f32 / 50.0)));
    let plain = |(it, score): (u8, f32)| (f32::from(it) * 2.0, score);
    let (eat, sleep, play) = (chart(0.0), chart(1.0), chart(2.0));
    eat.frame(svg, "Eat: hunger, squared", "hunger");
    eat.line(svg, COLOURS[0], along(hunger_curve()).map(plain));
    sleep.frame(svg, "Sleep: tiredness, fast and then slow", "tiredness");
    sleep.line(svg, COLOURS[1], along(tiredness_curve()).map(plain));
    play.frame(svg, "Play", "one need, the other at 0");
    let of_hunger = (0..=50_u8).map(|it| (it, reasoner.scores(&[f32::from(it) / 50.0, 0.0])[2]));
    play.line(svg, HUNGER, of_hunger.map(plain));
    let of_tiredness = (0..=50_u8).map(|it| (it, reasoner.scores(&[0.0, f32::from(it) / 50.0])[2]));
    play.line(svg, TIREDNESS, of_tiredness.map(plain));
    play.legend(svg, [("hunger", HUNGER), ("tiredness", TIREDNESS)]);
}

/// A rectangle with two axes, both from 0.
struct Chart {
    corner: (f32, f32),
    size: (f32, f32),
    x_max: f32,
    y_max: f32,
}

impl Chart {
    fn new(corner: (f32, f32), size: (f32, f32), x_max: f32, y_max: f32) -> Self {
        Self { corner, size, x_max, y_max }
    }

    fn x(&self, value: f32) -> f32 {
        self.corner.0 + value / self.x_max * self.size.0
    }

    fn y(&self, value: f32) -> f32 {
        self.corner.1 + self.size.1 - value / self.y_max * self.size.1
    }

    fn frame(&self, svg: &mut Document, title: &str, x_label: &str) {
        let (left, bottom) = (self.x(0.0), self.y(0.0));
        let middle = self.x(self.x_max / 2.0);
        text(svg, (left, self.corner.1 - 12.0), 14.0, "start", title);
        text(svg, (middle, bottom + 32.0), 11.0, "middle", x_label);
        for part in [0.0, 0.25, 0.5, 0.75, 1.0] {
            let (x, y) = (self.x(part * self.x_max), self.y(part * self.y_max));
            polyline(svg, [(left, y), (self.x(self.x_max), y)], GRID, 1.0);
            text(svg, (left - 6.0, y + 4.0), 11.0, "end", &number(part * self.y_max));
            text(svg, (x, bottom + 16.0), 11.0, "middle", &number(part * self.x_max));
        }
        let corner = [(left, self.y(self.y_max)), (left, bottom), (self.x(self.x_max), bottom)];
        polyline(svg, corner, AXIS, 1.0);
    }

    fn line(&self, svg: &mut Document, colour: Colour, points: impl Iterator<Item = (f32, f32)>) {
        polyline(svg, points.map(|(x, y)| (self.x(x), self.y(y))), colour, 1.8);
    }

    /// Draws what the cat does, as colours behind the lines and as words where there is room.
    fn bands(&self, svg: &mut Document, diary: &Diary) {
        let entries = diary.entries();
        let mut from = 0.0;
        for stay in entries.chunk_by(|a, b| a.choice == b.choice) {
            let to = stay[stay.len() - 1].seconds;
            if let Some(option) = stay[0].choice {
                let (left, right) = (self.x(from), self.x(to));
                let band = Rectangle::new()
                    .set("x", left)
                    .set("y", self.corner.1)
                    .set("width", right - left)
                    .set("height", self.size.1);
                svg.append(band.set("fill", hex(COLOURS[option])).set("fill-opacity", 0.3));
                if right - left > 24.0 {
                    let at = ((left + right) / 2.0, self.corner.1 + 14.0);
                    text(svg, at, 10.0, "middle", OPTIONS[option]);
                }
            }
            from = to;
        }
    }

    /// Draws names at the right end of the title, in their colours.
    fn legend<const N: usize>(&self, svg: &mut Document, names: [(&str, Colour); N]) {
        for (place, (name, colour)) in names.into_iter().rev().enumerate() {
            let right = self.x(self.x_max) - place as f32 * 80.0;
            let y = self.corner.1 - 12.0;
            polyline(svg, [(right - 78.0, y - 4.0), (right - 64.0, y - 4.0)], colour, 3.0);
            text(svg, (right - 60.0, y), 11.0, "start", name);
        }
    }
}

/// Formats a number with as many decimals as it needs.
fn number(value: f32) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

/// Writes words whose `start`, `middle` or `end` is at a point; the size is that of the letters, in
/// pixels.
fn text(svg: &mut Document, (x, y): (f32, f32), size: f32, anchor: &str, words: &str) {
    let text = Text::new(words).set("x", x).set("y", y).set("font-size", size);
    svg.append(text.set("text-anchor", anchor).set("fill", "#333333"));
}

/// Draws straight lines from each point to the next.
fn polyline(
    svg: &mut Document,
    points: impl IntoIterator<Item = (f32, f32)>,
    stroke: Colour,
    width: f32,
) {
    let points: Vec<String> = points.into_iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let line = Polyline::new().set("points", points.join(" ")).set("fill", "none");
    svg.append(line.set("stroke", hex(stroke)).set("stroke-width", width));
}

fn hex(Colour([red, green, blue]): Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}
