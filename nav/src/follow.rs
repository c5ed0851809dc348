//! Following: agents walk along their paths, and heed the edits of the terrain.
#![expect(elided_lifetimes_in_paths, reason = "systems read better without <'_>")]

mod push_out;
mod walk;

use ecs_core::EnabledMut;
use ecs_jobs::{Local, Query, Res};
use glam::Vec2;

use crate::agent::{Facing, Position, Speed, Tally, TimeStep};
use crate::cell::Cell;
use crate::follow::push_out::refuge;
use crate::follow::walk::{is_at_goal, is_on_route, walk};
use crate::grid::change::GridVersion;
use crate::request::{PathRequest, RequestStatus, Route, Unanswered};
use crate::terrain::Terrain;

/// Puts agents whose cell has become solid into the nearest open one, of equals
/// the first in reading order.
///
/// Those that were on their way ask for a path from there. Where no cell is open
/// at all, agents stay in the rock and their requests are unreachable. Ticks
/// without edits cost nothing, so agents have to be spawned on open cells.
pub fn push_out(
    mut agents: Query<(&mut Position, &mut PathRequest, &mut Route, &mut Tally)>,
    terrain: Res<Terrain>,
    mut seen: Local<Option<GridVersion>>,
) {
    if seen.replace(terrain.version()) == Some(terrain.version()) {
        return;
    }
    agents.par_for_each(|(position, request, route, tally)| {
        if position.cell().is_some_and(|cell| terrain.is_open(cell)) {
            return;
        }
        let Some(place) = refuge(terrain.grid(), position.0) else { return };
        position.0 = place;
        tally.pushed_out += 1;
        if request.status().is_under_way() {
            route.clear();
            request.reopen();
        }
    });
}

/// Opens those requests again that were refused, or answered by a partial path, and
/// [keep trying](PathRequest::keep_trying), once an edit has made their goals
/// reachable.
///
/// Ticks without edits cost nothing.
pub fn retry(
    mut agents: Query<(&Position, &mut PathRequest)>,
    terrain: Res<Terrain>,
    mut seen: Local<Option<GridVersion>>,
) {
    if seen.replace(terrain.version()) == Some(terrain.version()) {
        return;
    }
    agents.par_for_each(|(position, request)| {
        if !request.is_waiting_for_edits() {
            return;
        }
        let ends = position.cell().zip(Cell::containing(request.last_goal()));
        if ends.is_some_and(|(start, goal)| terrain.reachable(start, goal)) {
            request.reopen();
        }
    });
}

/// The agents, and everything that walking changes on them.
type Walkers<'a> = Query<
    'a,
    (
        &'static mut Position,
        &'static mut Facing,
        &'static Speed,
        &'static mut PathRequest,
        &'static mut Route,
        &'static mut Tally,
        EnabledMut<Unanswered>,
    ),
>;

/// Walks every agent that has a path, as far as its speed takes it in one tick.
///
/// A path that an edit has broken ahead of the agent is dropped and asked for
/// anew before the agent takes another step on it, so no agent ever enters a
/// solid cell, nor cuts a corner that the rule protects. (Under the rules that do
/// let agents cut corners, straight lines between positions may graze them.)
pub fn follow(mut agents: Walkers, terrain: Res<Terrain>, step: Res<TimeStep>) {
    agents.par_for_each(|(position, facing, speed, request, route, tally, mut unanswered)| {
        let Some(goal) = request.goal() else { return };
        if request.status().is_under_way() {
            let goal = end_of_route(request, route, goal);
            if is_usable(route, &terrain, *position) {
                let walked = walk(position.0, goal, route, speed.0.max(0.0) * step.seconds);
                position.0 = walked.position;
                facing.0 = walked.facing.unwrap_or(facing.0);
                if walked.arrived {
                    arrive(request, route, tally);
                }
                return;
            }
            tally.paths_broken += 1;
            request.reopen();
        }
        // A new goal makes the old path useless as well.
        route.clear();
        if is_at_goal(position.0, goal) {
            arrive(request, route, tally);
        } else {
            unanswered.set(true);
        }
    });
}

/// Where a route ends: at the goal, or if it is a partial one, in the middle of its last
/// cell.
fn end_of_route(request: &PathRequest, route: &Route, goal: Vec2) -> Vec2 {
    let is_partial = matches!(request.status(), RequestStatus::Partial(_));
    let last = route.rest().last().filter(|_| is_partial);
    last.map_or(goal, |cell| cell.centre())
}

fn arrive(request: &mut PathRequest, route: &mut Route, tally: &mut Tally) {
    request.arrived();
    route.clear();
    tally.arrivals += 1;
}

/// Whether an agent can walk on along its route: it is where the route says, and
/// every step from there on is legal still.
fn is_usable(route: &mut Route, terrain: &Terrain, position: Position) -> bool {
    // The cell behind counts, too: the agent may still be in it, or in a cell
    // beside a diagonal.
    let from = route.next().saturating_sub(1);
    is_on_route(position.0, route) && route.path_mut().revalidate(terrain, from).is_ok()
}
