//! The country from above.

use formic_ai::prelude::*;
use glam::Vec2;

use super::components::{Animator, Clip, Inventory, Item, Position};
use super::{CASTLE, CROWD_RADIUS, MINES, SIZE};
use crate::raster::{Colour, Point, Raster};

const PIXELS_PER_METRE: f32 = 12.0;
pub(super) const MEADOW: Colour = Colour([32, 44, 36]);
pub(super) const STONE: Colour = Colour([92, 88, 84]);
pub(super) const TOWER: Colour = Colour([62, 78, 116]);
pub(super) const EMPTY_HANDED: Colour = Colour([130, 200, 230]);
pub(super) const LADEN: Colour = Colour([250, 200, 60]);
pub(super) const AT_WORK: Colour = Colour([240, 110, 80]);

pub(super) fn draw(world: &World) -> Raster {
    let size = point(SIZE);
    let mut raster = Raster::new(size.x.unsigned_abs(), size.y.unsigned_abs(), MEADOW);
    raster.disc(point(CASTLE), radius(CROWD_RADIUS + 1.0), TOWER);
    for mine in MINES {
        raster.disc(point(mine), radius(CROWD_RADIUS + 1.0), STONE);
    }
    for (position, inventory, animator) in world.query_ref::<(&Position, &Inventory, &Animator)>() {
        let colour = match (animator.clip, inventory.count(Item::GOLD)) {
            (Clip::Mine, _) => AT_WORK,
            (_, 0) => EMPTY_HANDED,
            (_, _) => LADEN,
        };
        raster.disc(point(position.0), 1, colour);
    }
    raster
}

#[expect(clippy::cast_possible_truncation, reason = "the country is some thousand pixels wide")]
fn point(metres: Vec2) -> Point {
    let pixels = metres * PIXELS_PER_METRE;
    Point { x: pixels.x as i32, y: pixels.y as i32 }
}

fn radius(metres: f32) -> u32 {
    point(Vec2::splat(metres)).x.unsigned_abs()
}
