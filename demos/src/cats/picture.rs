//! All cats by their needs: hunger to the right, tiredness upwards, up to where cats never come. The ground has the colour of
//! what scores most there, a cat that of what it does.

use formic_ai::prelude::*;
use formic_ai::utility::{Reasoner, UtilityAgent};

use super::mind::inputs;
use super::needs::{Hunger, Tiredness};
use crate::raster::{Colour, Point, Raster};

const WIDTH: u32 = 800;
const HEIGHT: u32 = 480;
/// In points of need.
pub(super) const HUNGER_MAX: f32 = 100.0;
pub(super) const TIREDNESS_MAX: f32 = 40.0;
/// Of eating, sleeping and playing: colours that the colour-blind can tell apart.
pub(super) const COLOURS: [Colour; 3] =
    [Colour([230, 159, 0]), Colour([0, 114, 178]), Colour([0, 158, 115])];

pub(super) fn draw(world: &World, reasoner: &Reasoner) -> Raster {
    let mut raster = Raster::new(WIDTH, HEIGHT, Colour::BLACK);
    let (right, up) = (WIDTH as f32 / HUNGER_MAX, HEIGHT as f32 / TIREDNESS_MAX);
    for (x, y) in (0..HEIGHT).flat_map(|y| (0..WIDTH).map(move |x| (x, y))) {
        let scores = reasoner.scores(&inputs(x as f32 / right, (HEIGHT - y) as f32 / up));
        let best = (0..COLOURS.len()).max_by(|&a, &b| scores[a].total_cmp(&scores[b]));
        let at = point(x as f32, y as f32);
        raster.set(at.x, at.y, darker(COLOURS[best.unwrap_or_default()]));
    }
    for (hunger, tiredness, agent) in world.query_ref::<(&Hunger, &Tiredness, &UtilityAgent)>() {
        let colour = agent.current().map_or(Colour::WHITE, |option| lighter(COLOURS[option]));
        raster.disc(point(hunger.0 * right, (TIREDNESS_MAX - tiredness.0) * up), 1, colour);
    }
    raster
}

#[expect(clippy::cast_possible_truncation, reason = "needs are at most 100")]
fn point(x: f32, y: f32) -> Point {
    Point::new(x as i32, y as i32)
}

pub(super) fn darker(Colour(channels): Colour) -> Colour {
    Colour(channels.map(|channel| channel / 4))
}

pub(super) fn lighter(Colour(channels): Colour) -> Colour {
    Colour(channels.map(|channel| 128 + channel / 2))
}
