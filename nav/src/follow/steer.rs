//! Steering: where one agent among others would like to go along its path in one tick.

use glam::Vec2;

use crate::agent::ARRIVAL_DISTANCE;
use crate::cell::Cell;
use crate::check::path_cost;
use crate::link;
use crate::request::Route;
use crate::terrain::Terrain;

/// The instruction of a path to an agent that others push about.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Steering {
    /// The agent is at the end.
    Arrived,
    /// Go to a place.
    Go {
        /// The offset to the next place to go to.
        offset: Vec2,
        /// Whether that is the end of the path.
        is_last: bool,
    },
    /// The agent is where a link begins, and goes on at this cell, where the link ends.
    Cross(Cell),
    /// The agent has been pushed off the path.
    Strayed,
}

/// Advances the route to the position of the agent, and returns where to go from there. The path has to
/// be legal.
pub(crate) fn steer(position: Vec2, goal: Vec2, route: &mut Route, terrain: &Terrain) -> Steering {
    let Some(at) = Cell::containing(position) else { return Steering::Strayed };
    let count = route.path().cells().len();
    if route.leg().is_some_and(|[from, _]| from != at) {
        if let Some(place) = route.passed(at) {
            route.set_leg(place, (place + 1).min(count - 1));
        }
    }
    let Some([from, to]) = route.leg() else { return Steering::Strayed };
    let next = route.next();
    // A step of the path itself is known to be legal.
    let is_step = next == route.behind() + 1 && from == at;
    // It takes a link from anywhere in its cell: if many wait to cross, none comes to the exact centre.
    if is_step && !link::is_step(from, to) {
        return Steering::Cross(to);
    }
    let is_legal = || path_cost(terrain.grid(), terrain.rule(), &[at, to]).is_ok();
    if to != at && !is_step && !is_legal() {
        return Steering::Strayed;
    }
    let is_last = next + 1 == count;
    let target = if is_last { goal } else { to.centre() };
    let offset = target - position;
    if is_last && offset.length() < ARRIVAL_DISTANCE {
        return Steering::Arrived;
    }
    Steering::Go { offset, is_last }
}

/// The velocity of an agent that would like to be `offset` away: at its speed, or slower if it is to stop
/// there.
pub(crate) fn velocity_to(offset: Vec2, is_last: bool, speed: f32, seconds: f32) -> Vec2 {
    let distance = offset.length();
    let Some(direction) = offset.try_normalize() else { return Vec2::ZERO };
    if is_last && distance < speed * seconds { offset / seconds } else { direction * speed }
}
