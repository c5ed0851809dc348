//! All cats by their needs: hunger to the right, tiredness upwards. The ground has the colour of
//! what scores most there, a cat that of what it does.

use ai::prelude::*;
use ai::utility::{Reasoner, UtilityAgent};

use super::mind::inputs;
use super::needs::{Hunger, Tiredness};
use crate::raster::{Colour, Point, Raster};

const SIDE: u32 = 600;
/// Of eating, sleeping and playing: colours that the colour-blind can tell apart.
pub(super) const COLOURS: [Colour; 3] =
    [Colour([230, 159, 0]), Colour([0, 114, 178]), Colour([0, 158, 115])];

pub(super) fn draw(world: &World, reasoner: &Reasoner) -> Raster {
    let mut raster = Raster::new(SIDE, SIDE, Colour::BLACK);
    let side = SIDE as f32 / 100.0;
    for (x, y) in (0..SIDE).flat_map(|y| (0..SIDE).map(move |x| (x, y))) {
        let needs = inputs(x as f32 / side, (SIDE - 1 - y) as f32 / side);
        let scores = reasoner.scores(&needs);
        let best = (0..COLOURS.len()).max_by(|&a, &b| scores[a].total_cmp(&scores[b]));
        let at = point(x as f32, y as f32);
        raster.set(at.x, at.y, darker(COLOURS[best.unwrap_or_default()]));
    }
    for (hunger, tiredness, agent) in world.query_ref::<(&Hunger, &Tiredness, &UtilityAgent)>() {
        let colour = agent.current().map_or(Colour::WHITE, |option| lighter(COLOURS[option]));
        raster.disc(point(hunger.0 * side, (100.0 - tiredness.0) * side), 1, colour);
    }
    raster
}

#[expect(clippy::cast_possible_truncation, reason = "needs are at most 100")]
fn point(x: f32, y: f32) -> Point {
    Point::new(x as i32, y as i32)
}

fn darker(Colour(channels): Colour) -> Colour {
    Colour(channels.map(|channel| channel / 4))
}

fn lighter(Colour(channels): Colour) -> Colour {
    Colour(channels.map(|channel| 128 + channel / 2))
}
