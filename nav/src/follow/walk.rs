//! The walk of one agent along its path in one tick.

use glam::Vec2;

use crate::agent::{ARRIVAL_DISTANCE, walk_part};
use crate::cell::Cell;
use crate::direction::MoveRule;
use crate::link::is_step;
use crate::request::Route;
use crate::sight::turn_after;
use crate::terrain::Terrain;

/// The result of a walk.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Walked {
    pub(crate) position: Vec2,
    /// The direction of the last motion, if there was any.
    pub(crate) facing: Option<Vec2>,
    pub(crate) arrived: bool,
    /// The part of the reach that is left to walk, because the position could not move by so little.
    pub(crate) carry: f32,
}

/// Whether an agent at `position` needs no path to its goal. An agent that has one walks it to the very
/// end.
///
/// This holds only within the cell of the goal: behind a wall an agent may be as near.
pub(crate) fn is_at_goal(position: Vec2, goal: Vec2) -> bool {
    position.distance_squared(goal) < ARRIVAL_DISTANCE * ARRIVAL_DISTANCE
        && Cell::containing(position) == Cell::containing(goal)
}

/// The maximum distance of an agent from its straight line, in cells: less than that of corners.
const STRAY_MAX: f32 = 0.03;

/// Whether an agent at `position` is where its route says: inside the rectangle around the two cells of a
/// step, in one of those of a link, or on a straight line over several steps.
///
/// It is false only if the game moved the agent elsewhere.
pub(crate) fn is_on_route(position: Vec2, route: &Route) -> bool {
    let Some(at) = Cell::containing(position) else { return false };
    let Some([from, to]) = route.leg() else { return false };
    if route.next() > route.behind() + 1 {
        let [start, end] = [route.behind(), route.next()].map(|place| route.path().point(place));
        let (along, offset) = (end - start, position - start);
        let length = along.length();
        let (done, aside) = (offset.dot(along) / length, offset.perp_dot(along) / length);
        return aside.abs() < STRAY_MAX && (-STRAY_MAX..length + STRAY_MAX).contains(&done);
    }
    if !is_step(from, to) {
        return at == from || at == to;
    }
    (from.x.min(to.x)..=from.x.max(to.x)).contains(&at.x)
        && (from.y.min(to.y)..=from.y.max(to.y)).contains(&at.y)
}

/// Walks `reach` cells along a route, over any number of its cells, and advances the route. A negative
/// reach was walked before, by rounding.
///
/// From any point of a cell, the straight line to any point of a cell one legal step away touches only
/// cells that the step needs open. If steps are diagonal as well, an agent goes on straight from the
/// centre of a cell to that of one far along the path that it [sees](turn_after). The last step leads exactly
/// to the goal.
pub(crate) fn walk(
    from: Vec2,
    goal: Vec2,
    route: &mut Route,
    mut reach: f32,
    terrain: &Terrain,
) -> Walked {
    let mut walked = Walked { position: from, facing: None, arrived: false, carry: 0.0 };
    let (mut behind, mut next) = (route.behind(), route.next());
    let path = route.path();
    let cells = path.cells();
    let is_straight = terrain.rule() == MoveRule::BothFree;
    let is_at_any_angle = path.is_at_any_angle();
    let stands = reach == 0.0;
    while next < cells.len() {
        let is_last = next + 1 == cells.len();
        let under = Cell::containing(walked.position);
        let is_done = if is_straight {
            walked.position == path.point(next)
        } else {
            under == Some(cells[next])
        };
        // An any-angle path has a point in the last cell, from which it goes to the goal.
        if is_done && (!is_last || is_at_any_angle && behind < next) {
            (behind, next) = (next, cells.len().min(next + 2) - 1);
            continue;
        }
        let mut returns = false;
        if is_straight && next == behind + 1 {
            let is_there = walked.position == path.point(behind);
            if is_at_any_angle {
                // Between turns it goes on from cell to cell.
                let turn = if path.is_turn(behind) { path.turn_after(behind) } else { next };
                returns = turn > next && !is_there;
                next = if is_there { turn } else { next };
            } else if is_there {
                let is_middle = cells.last().is_some_and(|last| last.centre() == goal);
                let end = cells.len() - usize::from(!is_middle);
                next = turn_after(cells, behind, end.max(next + 1), terrain);
            }
        }
        let is_last = next + 1 == cells.len() && !(is_at_any_angle && behind < next);
        let is_link = next == behind + 1 && !is_step(cells[behind], cells[next]);
        let link = is_link && under != Some(cells[next]);
        let target = match is_last {
            _ if link || returns => path.point(behind),
            true => goal,
            false => path.point(next),
        };
        let offset = target - walked.position;
        let distance = offset.length();
        if link && stands {
            break;
        }
        // Two points may coincide, and a zero offset has no direction.
        if distance > 0.0 && reach > 0.0 {
            walked.facing = Some(offset / distance);
        }
        // Rounding may have put it on the target, with less than nothing left to walk.
        if distance > 0.0 && reach < distance {
            walked.carry = walk_part(&mut walked.position, offset, reach);
            break;
        }
        walked.position = if link { cells[next].centre() } else { target };
        reach -= distance;
        if is_last && !link {
            walked.arrived = true;
            break;
        }
    }
    route.set_leg(behind, next);
    walked
}
