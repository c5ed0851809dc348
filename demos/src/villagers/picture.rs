//! The village from above.

use formic_ai::activity::{ActivitySlot, State};
use formic_ai::prelude::*;
use glam::Vec2;

use super::chores::{Chore, Kind};
use super::parts::{Block, Position, Wolf};
use super::{HOME, SIZE};
use crate::raster::{Colour, Point, Raster, Rectangle};

const PIXELS_PER_METRE: f32 = 8.0;
pub(super) const MEADOW: Colour = Colour([34, 46, 34]);
pub(super) const STONE: Colour = Colour([112, 108, 104]);
pub(super) const HOUSE: Colour = Colour([86, 66, 50]);
pub(super) const ASLEEP: Colour = Colour([96, 128, 160]);
pub(super) const AWAKE: Colour = Colour([250, 240, 200]);
pub(super) const EATING: Colour = Colour([130, 200, 90]);
pub(super) const FLEEING: Colour = Colour([250, 170, 60]);

pub(super) fn draw(world: &World) -> Raster {
    let size = point(SIZE);
    let mut raster = Raster::new(size.x.unsigned_abs(), size.y.unsigned_abs(), MEADOW);
    raster.disc(point(HOME), 24, HOUSE);
    for (block, position) in world.query_ref::<(&Block, &Position)>() {
        if block.carrier().is_none() {
            let corner = point(position.0);
            let (x, y) = (corner.x - 2, corner.y - 2);
            raster.fill(Rectangle { x, y, width: 4, height: 4 }, STONE);
        }
    }
    for (doing, position) in world.query_ref::<(&ActivitySlot<Chore>, &Position)>() {
        let colour = match (doing.activity().map(|chore| chore.kind), doing.state()) {
            (Some(Kind::Flee), _) => FLEEING,
            (Some(Kind::Eat), _) => EATING,
            (_, State::Active) => AWAKE,
            (_, _) => ASLEEP,
        };
        raster.disc(point(position.0), 1, colour);
    }
    for (_, position) in world.query_ref::<(&Wolf, &Position)>() {
        // A cross, which is told apart without its colour.
        let Point { x, y } = point(position.0);
        raster.disc(Point { x, y }, 4, Colour::RED);
        for (from, to) in [((x - 3, y - 3), (x + 3, y + 3)), ((x - 3, y + 3), (x + 3, y - 3))] {
            raster.line(Point::new(from.0, from.1), Point::new(to.0, to.1), Colour::WHITE);
        }
    }
    raster
}

#[expect(clippy::cast_possible_truncation, reason = "the country is some thousand pixels wide")]
fn point(metres: Vec2) -> Point {
    let pixels = metres * PIXELS_PER_METRE;
    Point { x: pixels.x as i32, y: pixels.y as i32 }
}
