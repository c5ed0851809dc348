//! Reciprocal avoidance: each of two bodies gives half of the way.
//!
//! J. van den Berg, S. Guy, M. Lin and D. Manocha, "Reciprocal n-Body Collision Avoidance", 2011 (ORCA).
//! Of all velocities relative to another body, those that lead to a collision within some time form a
//! cone that is cut off at its tip. Each of the two takes half of the smallest change that leads out of
//! it.

use formic_ecs::Entity;
use glam::{Mat4, Vec2, Vec4, Vec4Swizzles};

use crate::avoid::half_plane::{LANE_COUNT, Row, Vectors};

/// The time within which collisions are foreseen, in seconds.
const HORIZON_SECONDS: f32 = 1.0;

/// A body as others see it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Disc {
    /// Its position and its velocity.
    pub(crate) motion: Vec4,
    pub(crate) radius: f32,
    /// Whether others nearby have to look at more than this.
    pub(crate) is_special: bool,
    /// Whether it gives way to no other.
    pub(crate) is_obstacle: bool,
    pub(crate) entity: Entity,
}

impl Disc {
    pub(crate) fn position(&self) -> Vec2 {
        self.motion.xy()
    }
}

/// A body for each lane.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Discs {
    positions: Vectors,
    velocities: Vectors,
    radii: Vec4,
}

impl Discs {
    #[inline]
    pub(crate) fn new(lanes: [&Disc; LANE_COUNT]) -> Self {
        let [one, two, three, four] = lanes.map(|disc| disc.motion);
        let rows = Mat4::from_cols(one, two, three, four).transpose();
        Self {
            positions: Vectors { x: rows.x_axis, y: rows.y_axis },
            velocities: Vectors { x: rows.z_axis, y: rows.w_axis },
            radii: lanes.map(|disc| disc.radius).into(),
        }
    }
}

/// The velocities that `own` may choose so that none meets the other in its lane, if that does its part as
/// well.
///
/// `shares` are the parts of the change that the bodies themselves take, one half between equals. `sides`
/// are one or minus one, opposite for two bodies, and decide if they are in exactly the same place and
/// move alike.
#[inline]
pub(crate) fn half_planes(
    own: &Discs,
    others: &Discs,
    shares: Vec4,
    sides: impl FnOnce() -> Vec4,
    seconds: f32,
) -> Row {
    let offset = others.positions.minus(own.positions);
    let velocity = own.velocities.minus(others.velocities);
    let radius = own.radii + others.radii;
    let distance_squared = offset.dot(offset);
    // Bodies that overlap must not overlap at the end of this tick.
    let overlaps = distance_squared.cmple(radius * radius);
    let (mut centre, mut reach) = (offset, radius);
    if overlaps.any() {
        let horizon = Vec4::select(overlaps, Vec4::splat(seconds), Vec4::splat(HORIZON_SECONDS));
        centre = Vectors { x: offset.x / horizon, y: offset.y / horizon };
        reach = radius / horizon;
    }
    let from_tip = velocity.minus(centre);

    // The way out of a disc, if they overlap or the tip is the nearest part of the cone.
    let along = from_tip.dot(offset);
    let length_squared = from_tip.dot(from_tip);
    let is_before = along.cmplt(Vec4::ZERO);
    let is_tip = is_before & (along * along).cmpgt(radius * radius * length_squared);
    let length = length_squared.sqrt();
    let has_length = length.cmpgt(Vec4::splat(f32::EPSILON));
    let mut outward = Vectors { x: from_tip.x / length, y: from_tip.y / length };
    if !has_length.all() {
        outward = Vectors::select(has_length, outward, Vectors { x: sides(), y: Vec4::ZERO });
    }
    let way_out = reach - length;

    // The nearer leg of the cone: both bodies pass one that they meet head-on on the same side.
    let is_left = offset.perp_dot(from_tip).cmpgt(Vec4::ZERO);
    let turn = Vec4::select(is_left, Vec4::ONE, Vec4::NEG_ONE);
    let (leg_length, across) = ((distance_squared - radius * radius).sqrt(), radius * turn);
    let leg = Vectors {
        x: turn * (offset.x * leg_length - offset.y * across) / distance_squared,
        y: turn * (offset.x * across + offset.y * leg_length) / distance_squared,
    };
    let along_leg = velocity.dot(leg);

    let is_disc = overlaps | is_tip;
    let out = outward.times(way_out);
    let to_leg = leg.times(along_leg).minus(velocity);
    let change = Vectors::select(is_disc, out, to_leg);
    let right = Vectors { x: outward.y, y: -outward.x };
    Row {
        points: own.velocities.plus(change.times(shares)),
        directions: Vectors::select(is_disc, right, leg),
    }
}
