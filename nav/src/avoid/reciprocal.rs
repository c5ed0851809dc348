//! Reciprocal avoidance: each of two bodies gives half of the way.
//!
//! J. van den Berg, S. Guy, M. Lin and D. Manocha, "Reciprocal n-Body Collision Avoidance", 2011 (ORCA).
//! Of all velocities relative to another body, those that lead to a collision within some time form a
//! cone that is cut off at its tip. Each of the two takes half of the smallest change that leads out of
//! it.

use glam::{Mat4, Vec2, Vec4};

use crate::avoid::half_plane::{Four, LANE_COUNT, Vectors};

/// The time within which collisions are foreseen, in seconds.
const HORIZON_SECONDS: f32 = 1.0;

/// A body as others see it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Disc {
    pub(crate) position: Vec2,
    pub(crate) velocity: Vec2,
    pub(crate) radius: f32,
}

/// Four other bodies, one in each lane, and the ways to avoid them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct FourOthers {
    /// The position and the velocity of each.
    motions: [Vec4; LANE_COUNT],
    radii: Vec4,
    shares: Vec4,
    sides: Vec4,
}

impl FourOthers {
    pub(crate) const NONE: Self = Self {
        motions: [Vec4::ZERO; LANE_COUNT],
        radii: Vec4::ZERO,
        shares: Vec4::ZERO,
        sides: Vec4::ZERO,
    };

    /// Puts a body into a lane. `share` is the part of the change that the body itself takes, one half
    /// between equals. `side` is one or minus one, opposite for the two bodies, and decides if they are in
    /// exactly the same place and move alike.
    #[inline]
    pub(crate) fn set(&mut self, lane: usize, disc: &Disc, share: f32, side: f32) {
        let Disc { position, velocity, .. } = disc;
        self.motions[lane] = Vec4::new(position.x, position.y, velocity.x, velocity.y);
        (self.radii[lane], self.shares[lane], self.sides[lane]) = (disc.radius, share, side);
    }
}

/// The velocities that `own` may choose so that it does not meet the others, if these do their part as
/// well.
#[inline]
pub(crate) fn half_planes(own: &Disc, others: &FourOthers, seconds: f32) -> Four {
    let [one, two, three, four] = others.motions;
    let lanes = Mat4::from_cols(one, two, three, four).transpose();
    let positions = Vectors { x: lanes.x_axis, y: lanes.y_axis };
    let velocities = Vectors { x: lanes.z_axis, y: lanes.w_axis };
    let offset = positions.minus(Vectors::splat(own.position));
    let velocity = Vectors::splat(own.velocity).minus(velocities);
    let radius = own.radius + others.radii;
    let distance_squared = offset.dot(offset);
    // Bodies that overlap must not overlap at the end of this tick.
    let overlaps = distance_squared.cmple(radius * radius);
    let horizon = Vec4::select(overlaps, Vec4::splat(seconds), Vec4::splat(HORIZON_SECONDS));
    let from_tip =
        Vectors { x: velocity.x - offset.x / horizon, y: velocity.y - offset.y / horizon };

    // The way out of a disc, if they overlap or the tip is the nearest part of the cone.
    let along = from_tip.dot(offset);
    let length_squared = from_tip.dot(from_tip);
    let is_before = along.cmplt(Vec4::ZERO);
    let is_tip = is_before & (along * along).cmpgt(radius * radius * length_squared);
    let length = length_squared.sqrt();
    let has_length = length.cmpgt(Vec4::splat(f32::EPSILON));
    let outward = Vectors {
        x: Vec4::select(has_length, from_tip.x / length, others.sides),
        y: Vec4::select(has_length, from_tip.y / length, Vec4::ZERO),
    };
    let way_out = radius / horizon - length;

    // The nearer leg of the cone: both bodies pass one that they meet head-on on the same side.
    let is_left = (offset.x * from_tip.y - offset.y * from_tip.x).cmpgt(Vec4::ZERO);
    let turn = Vec4::select(is_left, Vec4::ONE, Vec4::NEG_ONE);
    let (leg_length, across) = ((distance_squared - radius * radius).sqrt(), radius * turn);
    let leg = Vectors {
        x: turn * (offset.x * leg_length - offset.y * across) / distance_squared,
        y: turn * (offset.x * across + offset.y * leg_length) / distance_squared,
    };
    let along_leg = velocity.dot(leg);

    let is_disc = overlaps | is_tip;
    let change_x = Vec4::select(is_disc, outward.x * way_out, leg.x * along_leg - velocity.x);
    let change_y = Vec4::select(is_disc, outward.y * way_out, leg.y * along_leg - velocity.y);
    Four {
        points: Vectors {
            x: own.velocity.x + change_x * others.shares,
            y: own.velocity.y + change_y * others.shares,
        },
        directions: Vectors {
            x: Vec4::select(is_disc, outward.y, leg.x),
            y: Vec4::select(is_disc, -outward.x, leg.y),
        },
    }
}
