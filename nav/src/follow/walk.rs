//! One agent, one tick, one path: spending a distance on it.

use glam::Vec2;

use crate::agent::lost_to_rounding;
use crate::cell::Cell;
use crate::check::path_cost;
use crate::request::Route;
use crate::terrain::Terrain;

/// How near to its goal an agent is there without walking, in cells.
const ARRIVAL_DISTANCE: f32 = 0.1;

/// Where a walk led.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Walked {
    pub(crate) position: Vec2,
    /// The direction of the last motion, if there was any.
    pub(crate) facing: Option<Vec2>,
    pub(crate) arrived: bool,
    /// What of the reach is still to be walked, because the position could not move so little.
    pub(crate) carry: f32,
}

/// Whether an agent at `position` needs no path to its goal; an agent that has one
/// walks it to the very end.
///
/// Within the cell of the goal alone: behind a wall it may be as near.
pub(crate) fn is_at_goal(position: Vec2, goal: Vec2) -> bool {
    position.distance_squared(goal) < ARRIVAL_DISTANCE * ARRIVAL_DISTANCE
        && Cell::containing(position) == Cell::containing(goal)
}

/// Whether an agent at `position` is on the step that its route says: inside the
/// rectangle around the two cells of it.
///
/// False only if the game moved it elsewhere.
pub(crate) fn is_on_route(position: Vec2, route: &Route) -> bool {
    let Some(at) = Cell::containing(position) else { return false };
    let cells = route.path().cells();
    let Some(&to) = cells.get(route.next()) else { return false };
    let from = cells[route.next().saturating_sub(1)];
    (from.x.min(to.x)..=from.x.max(to.x)).contains(&at.x)
        && (from.y.min(to.y)..=from.y.max(to.y)).contains(&at.y)
}

/// The step that an agent at `position` is taking, where its route says one that is legal
/// still.
///
/// Under the rules that let agents cut corners it may be over a solid cell then.
pub(crate) fn leg(position: Vec2, route: &Route, terrain: &Terrain) -> Option<[Cell; 2]> {
    let leg = route.leg().filter(|_| is_on_route(position, route))?;
    path_cost(terrain.grid(), terrain.rule(), &leg).is_ok().then_some(leg)
}

/// The cell that a path of an agent begins in, if there can be one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CurrentCell {
    pub(crate) cell: Cell,
    /// The cell that the agent is coming from, where it is cutting a corner.
    pub(crate) behind: Option<Cell>,
}

/// Where an agent at `position` stands: in the cell under it, or where it is cutting a
/// solid corner, in the one that its step leads to.
pub(crate) fn current_cell(
    position: Vec2,
    route: Option<&Route>,
    terrain: &Terrain,
) -> Option<CurrentCell> {
    let under = Cell::containing(position)?;
    let route = route.filter(|_| !terrain.is_open(under));
    Some(match route.and_then(|route| leg(position, route, terrain)) {
        Some([behind, cell]) => CurrentCell { cell, behind: Some(behind) },
        None => CurrentCell { cell: under, behind: None },
    })
}

/// Forgets a route that is not to be walked any longer, but for the step by which an agent
/// at `position` is cutting a solid corner: it says where the agent stands.
pub(crate) fn leave(position: Vec2, route: &mut Route, terrain: &Terrain) {
    if route.path().is_empty() {
        return;
    }
    match current_cell(position, Some(route), terrain) {
        Some(CurrentCell { behind: Some(_), .. }) => route.keep_leg(),
        _ => route.clear(),
    }
}

/// Walks `reach` cells along a route, over as many of its steps as that takes,
/// and moves the route on. A reach below zero was walked before, by rounding.
///
/// A step is done once the agent is inside its cell. From any point of a cell, the
/// straight line to any point of a cell that one legal step leads to touches no
/// cells but those that the step needs open. Turning earlier, say within 0.75 of
/// the centre, would cut through solid corners.
pub(crate) fn walk(from: Vec2, goal: Vec2, route: &mut Route, mut reach: f32) -> Walked {
    let mut walked = Walked { position: from, facing: None, arrived: false, carry: 0.0 };
    let mut next = route.next();
    let cells = route.path().cells();
    while next < cells.len() {
        let is_last = next + 1 == cells.len();
        if !is_last && Cell::containing(walked.position) == Some(cells[next]) {
            next += 1;
            continue;
        }
        let target = if is_last { goal } else { cells[next].centre() };
        let offset = target - walked.position;
        let distance = offset.length();
        // Two points may coincide, and a zero offset has no direction.
        if distance > 0.0 {
            walked.facing = Some(offset / distance);
        }
        if reach < distance {
            let before = walked.position;
            walked.position += offset * (reach / distance);
            let moved = (walked.position - before).dot(offset) / distance;
            walked.carry = lost_to_rounding(reach, moved);
            break;
        }
        walked.position = target;
        reach -= distance;
        if is_last {
            walked.arrived = true;
            break;
        }
    }
    route.set_next(next);
    walked
}
