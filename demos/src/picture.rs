//! A picture of a world with axes and a legend: the live page's view, in a file.

use formic::inspect::{Ground, Kind, Mark, Marks, Scene, View};
use glam::Vec2;

use crate::raster::{Alignment, Colour, LETTER, Point, Raster, Rectangle, Size};
use crate::text::grouped;

/// The longer side of the map, in pixels; approximate, because each tile takes whole pixels.
const SIDE_PIXELS: f32 = 1_280.0;
/// The maximum number of pixels per unit of the world.
const UNIT_PIXELS_MAX: f32 = 32.0;
/// A map of tiles has at least a pixel for each, up to this side.
const TILES_MAX: f32 = 8_192.0;
/// The margins around a map: on the left the numbers of its axis, above it the name of that axis.
pub(crate) const LEFT: u32 = 84;
const TOP: u32 = 34;
pub(crate) const RIGHT: u32 = 40;
pub(crate) const AXIS: u32 = 52;
/// The width of the marks of an axis.
pub(crate) const MARK: u32 = 2;
pub(crate) const PAPER: Colour = Colour([17, 21, 27]);
pub(crate) const INK: Colour = Colour([217, 223, 232]);
const PATH: Colour = Colour([178, 184, 194]);
/// With more agents than this, their paths would hide them.
const PATHS_MAX: usize = 1_000;
/// Fewer agents than this are drawn so that they are easy to find.
const FEW: usize = 500;
/// In pixels.
const FAR: f32 = 65_536.0;

/// A line of a legend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Its symbol: a disc, a letter, or a square of the ground.
    pub(crate) kind: Kind,
    /// Its text.
    pub(crate) text: String,
}

/// Draws what the page shows of a world.
pub(crate) fn picture(view: &dyn View) -> Raster {
    let (scene, ground) = (view.scene(), view.ground());
    let mut marks = Marks::default();
    view.marks(&mut marks);
    let count = |place: usize| marks.iter().filter(|it| usize::from(it.kind) == place).count();
    let kinds = scene.kinds.iter().enumerate();
    let entries: Vec<Entry> = kinds
        .map(|(place, &kind)| {
            let text = match kind.is_ground {
                true => kind.name.to_owned(),
                false => format!("{} {}", kind.name, grouped(count(place) as u64)),
            };
            Entry { kind, text }
        })
        .collect();
    let map = Map::new(&scene, &ground);
    let width = LEFT + map.width + RIGHT;
    let top = TOP + map.height + AXIS;
    let mut raster = Raster::new(width, top + legend_height(width, &entries), PAPER);
    map.draw_ground(&mut raster, &ground);
    if marks.len() <= PATHS_MAX {
        for mark in marks.iter() {
            let path: Vec<Point> = view.path(mark.entity).iter().map(|&at| map.point(at)).collect();
            raster.polyline(&path, PATH);
        }
    }
    map.draw_marks(&mut raster, &scene, &marks);
    map.draw_axes(&mut raster, &scene, view);
    draw_legend(&mut raster, top, &entries);
    raster
}

/// The mapping from units to pixels.
struct Map {
    scale: f32,
    width: u32,
    height: u32,
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a picture has some thousand pixels, and what lies outside is left out"
)]
impl Map {
    fn new(scene: &Scene, ground: &Ground) -> Self {
        let side = scene.size.max_element().max(1.0);
        let mut scale = (SIDE_PIXELS / side).min(UNIT_PIXELS_MAX);
        if ground.columns > 0 && side <= TILES_MAX {
            scale = scale.floor().max(1.0);
        }
        let pixels = |units: f32| ((units * scale) as u32).max(1);
        Self { scale, width: pixels(scene.size.x), height: pixels(scene.size.y) }
    }

    /// Positions edited by hand may be anywhere; those far outside the picture are clamped.
    fn point(&self, at: Vec2) -> Point {
        let at = (at * self.scale).clamp(Vec2::splat(-FAR), Vec2::splat(FAR));
        Point::new(pixel(LEFT) + at.x as i32, pixel(TOP) + at.y as i32)
    }

    fn pixels(&self, units: f32) -> u32 {
        (units * self.scale) as u32
    }

    fn draw_ground(&self, raster: &mut Raster, ground: &Ground) {
        let background = ground.palette.first().copied().unwrap_or(Colour::BLACK);
        let corner = Point::new(pixel(LEFT), pixel(TOP));
        raster.fill(Rectangle::new(corner, Size::new(self.width, self.height)), background);
        let (columns, rows) = (u64::from(ground.columns), u64::from(ground.rows));
        for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |it| (row, it))) {
            let tile = usize::try_from(row * columns + column).unwrap_or(usize::MAX);
            let place = ground.tiles.get(tile).map_or(0, |&tile| usize::from(tile));
            let colour = ground.palette.get(place).copied().unwrap_or(background);
            // Tiles share the pixels without gaps.
            let edge = |side: u32, at: u64, count: u64| (u64::from(side) * at / count) as u32;
            let left = edge(self.width, column, columns);
            let top = edge(self.height, row, rows);
            let size = Size::new(
                edge(self.width, column + 1, columns) - left,
                edge(self.height, row + 1, rows) - top,
            );
            raster.fill(Rectangle::new(corner + Size::new(left, top), size), colour);
        }
        for landmark in &ground.landmarks {
            let at = self.point(landmark.at);
            raster.disc(at, self.pixels(landmark.radius), landmark.colour);
            raster.text(at, &landmark.label, Alignment::Center, INK);
        }
    }

    fn draw_marks(&self, raster: &mut Raster, scene: &Scene, marks: &[Mark]) {
        let least = if marks.len() < FEW { 3 } else { 1 };
        let radius = self.pixels(scene.mark_radius).max(least);
        let nothing = Kind::new("", Colour::WHITE);
        let shapes: Vec<_> =
            scene.kinds.iter().chain([&nothing]).map(|&it| shape(radius, it)).collect();
        for mark in marks {
            let at = self.point(mark.at);
            let kind = usize::from(mark.kind).min(scene.kinds.len());
            for &(beside, colour) in &shapes[kind] {
                raster.dot(Point { x: at.x + beside.x, y: at.y + beside.y }, colour);
            }
        }
    }

    fn draw_axes(&self, raster: &mut Raster, scene: &Scene, view: &dyn View) {
        let axes = view.axes();
        let [across, along] = axes.names.map(|name| format!("{name} ({})", scene.unit));
        let bottom = TOP + self.height;
        let step = self.round_step();
        let mut at = 0.0;
        while at <= scene.size.x {
            let x = self.point(Vec2::new(at, 0.0)).x;
            let mark = Point::new(x, pixel(bottom));
            raster.fill(Rectangle::new(mark, Size::new(MARK, 6)), INK);
            let below = Point::new(x, pixel(bottom + 18));
            raster.text(below, &grouped(at as u64), Alignment::Center, INK);
            at += step;
        }
        let end = Point::new(pixel(LEFT + self.width), pixel(bottom + 38));
        raster.text(end, &across, Alignment::Right, INK);
        at = 0.0;
        while at <= scene.size.y {
            let from_top = if axes.is_upwards { scene.size.y - at } else { at };
            let y = self.point(Vec2::new(0.0, from_top)).y;
            let mark = Point::new(pixel(LEFT - 6), y);
            raster.fill(Rectangle::new(mark, Size::new(6, MARK)), INK);
            let beside = Point::new(pixel(LEFT - 10), y);
            raster.text(beside, &grouped(at as u64), Alignment::Right, INK);
            at += step;
        }
        raster.text(Point::new(8, 16), &along, Alignment::Left, INK);
    }

    /// Returns the distance between two numbers of an axis, a round number of units.
    fn round_step(&self) -> f32 {
        let least = 90.0 / self.scale;
        let mut power = 1.0;
        loop {
            for factor in [1.0, 2.0, 5.0] {
                if power * factor >= least {
                    return power * factor;
                }
            }
            power *= 10.0;
        }
    }
}

/// Returns the height of the legend of a picture of this width.
pub(crate) fn legend_height(width: u32, entries: &[Entry]) -> u32 {
    places(width, entries).last().map_or(0, |place| place.1) + 30
}

/// Draws a legend into the rows from `top` on.
pub(crate) fn draw_legend(raster: &mut Raster, top: u32, entries: &[Entry]) {
    let places = places(raster.size().width, entries);
    for (entry, (x, y)) in entries.iter().zip(places) {
        let (x, y) = (pixel(x), pixel(top + y + 7));
        draw_kind(raster, Point::new(x + 7, y), 7, entry.kind);
        raster.text(Point::new(x + 22, y), &entry.text, Alignment::Left, INK);
    }
}

/// Returns the positions of the entries, row by row, in pixels from the upper left corner of the legend.
fn places(width: u32, entries: &[Entry]) -> Vec<(u32, u32)> {
    let (mut x, mut y) = (12, 0);
    let place = |entry: &Entry| {
        let long = 22 + text_width(&entry.text) + 20;
        if x > 12 && x + long > width {
            (x, y) = (12, y + 24);
        }
        x += long;
        (x - long, y)
    };
    entries.iter().map(place).collect()
}

/// Returns the pixels of a kind's symbol, relative to its middle: it may be drawn millions of times.
fn shape(radius: u32, kind: Kind) -> Vec<(Point, Colour)> {
    let middle = pixel(radius.max(LETTER.height) + 2);
    let drawn_on = |paper| {
        let side = 2 * middle.unsigned_abs() + 1;
        let mut raster = Raster::new(side, side, paper);
        draw_kind(&mut raster, Point::new(middle, middle), radius, kind);
        raster
    };
    let (black, white) = (drawn_on(Colour::BLACK), drawn_on(Colour::WHITE));
    let places = (0..=2 * middle).flat_map(|y| (0..=2 * middle).map(move |x| Point::new(x, y)));
    // Pixels that are the same on both papers were drawn.
    let drawn = places.filter_map(|at| Some((at, white.get(at.x, at.y)?, black.get(at.x, at.y)?)));
    let drawn = drawn.filter(|(_, on_white, on_black)| on_white == on_black);
    drawn.map(|(at, colour, _)| (at - Point::new(middle, middle), colour)).collect()
}

fn draw_kind(raster: &mut Raster, at: Point, radius: u32, kind: Kind) {
    if let Some(letter) = kind.letter {
        // A black outline, or a few red letters vanish among many orange discs.
        for (x, y) in (-1..=1).flat_map(|x| (-1..=1).map(move |y| (x, y))) {
            raster.letter(at + Point::new(x, y), radius, letter, Colour::BLACK);
        }
        return raster.letter(at, radius, letter, kind.colour);
    }
    if kind.is_ground {
        // The ink around it tells it from the paper.
        for (half, colour) in [(radius, INK), (radius - 1, kind.colour)] {
            let corner = at - Point::new(pixel(half), pixel(half));
            raster.fill(Rectangle::new(corner, Size::new_equal(2 * half)), colour);
        }
        return;
    }
    if radius >= 3 {
        raster.disc(at, radius + 1, Colour::BLACK);
    }
    raster.disc(at, radius, kind.colour);
}

/// Returns the width of a text, in pixels.
fn text_width(text: &str) -> u32 {
    u32::try_from(text.chars().count()).unwrap_or(u32::MAX).saturating_mul(LETTER.width)
}

pub(crate) fn pixel(at: u32) -> i32 {
    i32::try_from(at).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::DEMOS;
    use crate::setup::Setup;

    /// Whether a text is written somewhere in a picture, in the size and colour of words.
    fn says(raster: &Raster, text: &str) -> bool {
        let mut paper = Raster::new(text_width(text), LETTER.height, PAPER);
        paper.text(Point::new(0, pixel(LETTER.height / 2)), text, Alignment::Left, INK);
        let size = (pixel(paper.size().width), pixel(paper.size().height));
        let pixels = (0..size.1).flat_map(|y| (0..size.0).map(move |x| (x, y)));
        let ink: Vec<(i32, i32)> = pixels.filter(|&(x, y)| paper.get(x, y) == Some(INK)).collect();
        let is_at = |left: i32, top: i32| {
            ink.iter().all(|&(x, y)| raster.get(left + x, top + y) == Some(INK))
        };
        let (width, height) = (pixel(raster.size().width), pixel(raster.size().height));
        let corners = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        corners.into_iter().any(|(x, y)| is_at(x, y))
    }

    #[test]
    fn every_demo_has_a_picture_with_a_legend() {
        let setup = Setup { agents: 40, ticks: 5, seed: 1, threads: 1 };
        for demo in DEMOS {
            let mut simulation = demo.open(&setup).expect("small numbers are allowed");
            (0..5).for_each(|_| simulation.tick());
            let raster = simulation.raster();
            let kinds = simulation.view().scene().kinds;
            // The picture of the minds is another one than the map of the page.
            let drawn = kinds.iter().filter(|it| !it.is_ground || demo.name != "minds");
            for kind in drawn {
                assert!(says(&raster, kind.name), "{}: {}", demo.name, kind.name);
            }
            // So is what the colours of its ground mean.
            let ground = simulation.view().ground();
            let is_plain = ground.columns == 0 && ground.landmarks.is_empty();
            assert!(is_plain || kinds.iter().any(|kind| kind.is_ground), "{}", demo.name);
            if demo.name == "harbour" {
                let named = |colour| kinds.iter().any(|it| it.is_ground && it.colour == colour);
                assert!(ground.palette.into_iter().all(named));
            }
        }
    }

    #[test]
    fn a_letter_is_set_off_from_what_lies_under_it() {
        let (orange, red) = (Colour([250, 170, 60]), Colour::RED);
        let mut raster = Raster::new(40, 40, orange);
        draw_kind(&mut raster, Point::new(20, 20), 4, Kind::letter("wolves", red, 'W'));
        let pixels = || (1..39).flat_map(|y| (1..39).map(move |x| (x, y)));
        assert!(pixels().any(|(x, y)| raster.get(x, y) == Some(red)));
        let beside = |x, y| [(x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)];
        let touches = |(x, y)| beside(x, y).iter().any(|&(x, y)| raster.get(x, y) == Some(orange));
        assert!(pixels().filter(|&(x, y)| raster.get(x, y) == Some(red)).all(|it| !touches(it)));
    }

    #[test]
    fn what_is_far_away_is_drawn_as_if_it_were_nearer() {
        let map = Map { scale: 32.0, width: 64, height: 64 };
        let mut raster = Raster::new(200, 100, PAPER);
        for far in [f32::MAX, -1e9, f32::INFINITY, f32::NAN] {
            let ends = [map.point(Vec2::new(1.0, 1.0)), map.point(Vec2::new(far, 1.0))];
            raster.polyline(&ends, PATH);
            raster.disc(ends[1], 9, PATH);
        }
        let (x, y) = (pixel(LEFT) + 32, pixel(TOP) + 32);
        assert!((-30..=30).all(|step| raster.get(x + step, y) == Some(PATH)));
    }

    #[test]
    fn axes_have_numbers_and_say_what_they_are_of() {
        let setup = Setup { agents: 10, ticks: 0, seed: 1, threads: 1 };
        let raster = |name: &str| {
            let demo = DEMOS.iter().find(|it| it.name == name).expect("it is there");
            demo.open(&setup).expect("small numbers are allowed").raster()
        };
        let cats = raster("cats");
        for text in ["hunger (point of need)", "tiredness (point of need)", "100", "40"] {
            assert!(says(&cats, text), "{text}");
        }
        assert!(!says(&cats, "110"), "what is not written is not found");
        assert!(says(&raster("miners"), "x (metre)"));
        let minds = raster("minds");
        assert!(says(&minds, "tick") && says(&minds, "0 to 100 % of those with a mind"));
    }
}
