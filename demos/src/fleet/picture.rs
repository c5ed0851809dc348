//! The sky from above: bases as rings, turrets as squares, ships as discs, bullets as sparks.

use formic_ai::prelude::*;
use glam::Vec2;

use super::parts::{Bullet, Hull, Orders, Position, Side, Velocity};
use super::sky::Sky;
use crate::raster::{Colour, Point, Raster, Rectangle};

/// The longer side, in pixels.
const SIDE_PIXELS: f32 = 1600.0;
const PIXELS_PER_METRE_MAX: f32 = 3.0;
pub(super) const SPACE: Colour = Colour([10, 12, 22]);
pub(super) const BASE: Colour = Colour([26, 30, 48]);

pub(super) fn draw(world: &World) -> Raster {
    let Ok(sky) = world.resource::<Sky>() else { return Raster::new(1, 1, SPACE) };
    let scale = (SIDE_PIXELS / sky.size().max_element()).min(PIXELS_PER_METRE_MAX);
    let size = point(sky.size() * scale);
    let side = |pixels: i32| pixels.unsigned_abs().max(1);
    let mut raster = Raster::new(side(size.x), side(size.y), SPACE);
    let radius = |metres: f32| point(Vec2::splat(metres * scale)).x.unsigned_abs();
    for (orders, owner) in world.query_ref::<(&Orders, &Side)>() {
        raster.disc(point(orders.base * scale), radius(34.0), BASE);
        raster.disc(point(orders.base * scale), radius(5.0).max(1), colour(*owner, 120));
    }
    for (position, bullet) in world.query_ref::<(&Position, &Bullet)>() {
        let at = point(position.0 * scale);
        raster.set(at.x, at.y, colour(bullet.side, 190));
    }
    type Unit<'a> = (&'a Position, &'a Side, Option<&'a Velocity>);
    for (position, owner, velocity) in world.query_ref_filtered::<Unit<'_>, With<Hull>>() {
        let at = point(position.0 * scale);
        match velocity {
            Some(_) => raster.disc(at, radius(1.2), colour(*owner, 255)),
            None => {
                let half = radius(1.8).max(1);
                let side = 2 * half;
                let back = i32::try_from(half).unwrap_or(0);
                let corner = (at.x - back, at.y - back);
                let square = Rectangle { x: corner.0, y: corner.1, width: side, height: side };
                raster.fill(square, colour(*owner, 220));
            }
        }
    }
    raster
}

/// The colour of a side, as bright as said.
pub(super) fn colour(side: Side, light: u32) -> Colour {
    let Colour(channels) = match side {
        Side::Red => Colour([255, 110, 80]),
        Side::Blue => Colour([90, 170, 255]),
    };
    let dimmed = |channel: u8| u8::try_from(u32::from(channel) * light / 255).unwrap_or(u8::MAX);
    Colour(channels.map(dimmed))
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "it saturates, and what is outside is left out"
)]
fn point(pixels: Vec2) -> Point {
    Point::new(pixels.x as i32, pixels.y as i32)
}
