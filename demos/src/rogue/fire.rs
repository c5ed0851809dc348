//! Arrows and flames, which move by themselves inside a turn.

use formic_ai::turn::{Motion, Point, RealTime};
use formic_ecs::prelude::*;

use super::deed::Deed;
use super::things::{Cell, Flame, Health, Position, Velocity};

/// The time between two points in real time, in milliseconds.
pub(super) const STEP_MS: u64 = 40;
/// The damage of a flame to everything in its cell.
const BURN: u32 = 4;

/// Returns the hook that runs at every point of a turn.
pub(super) fn real_time() -> RealTime<Deed> {
    RealTime::new("arrows and flames", |point| {
        let flames = burn(point);
        let arrows = fly(point);
        if flames || arrows { Motion::Moving } else { Motion::Still }
    })
}

/// Flames flare up, burn the actors there, and go out. The flames themselves are written without the
/// rules; their effects on others go through the rules.
fn burn(point: &mut Point<Deed>) -> bool {
    let mut flaring: Vec<Cell> = Vec::new();
    let mut ending: Vec<Entity> = Vec::new();
    let mut is_burning = false;
    let world = point.now().world();
    for (entity, position, flame) in world.query_ref::<(Entity, &Position, &Flame)>() {
        let mut flame = *flame;
        is_burning = true;
        if flame.wait > 0 {
            flame.wait -= 1;
            if flame.wait == 0 {
                flaring.push((position.x, position.y));
            }
        } else {
            flame.left = flame.left.saturating_sub(1);
            if flame.left == 0 {
                ending.push(entity);
            }
        }
        point.insert(entity, flame);
    }
    // The result must not depend on the order of rows.
    flaring.sort_unstable();
    ending.sort_unstable();
    for cell in flaring {
        let burnt: Vec<Entity> = point.now().cell(cell).with::<Health>().collect();
        burnt.into_iter().for_each(|who| point.request(Deed::Wound { who, blow: BURN }));
    }
    ending.into_iter().for_each(|flame| point.request(Deed::End(flame)));
    is_burning
}

/// Moves each arrow by a cell, through the rules, which decide what it hits.
fn fly(point: &mut Point<Deed>) -> bool {
    let arrows = point.now().entities_with::<Velocity>();
    let is_flying = !arrows.is_empty();
    arrows.into_iter().for_each(|arrow| point.request(Deed::Fly(arrow)));
    is_flying
}
