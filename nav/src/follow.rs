//! Following: agents walk along their paths, and heed the edits of the terrain.
#![expect(elided_lifetimes_in_paths, reason = "systems read better without <'_>")]

mod push_out;
pub(crate) mod steer;
pub(crate) mod walk;

use formic_ecs::{EnabledMut, Without};
use formic_jobs::{Local, Query, Res};
use glam::Vec2;

use crate::agent::{Facing, PathStats, Position, Speed, TimeStep};
use crate::avoid::body::Avoid;
use crate::cell::Cell;
use crate::class::ClassId;
use crate::follow::push_out::refuge;
use crate::follow::steer::{Steering, steer, velocity_to};
use crate::follow::walk::{is_at_goal, is_on_route, walk};
use crate::grid::change::GridVersion;
use crate::obstacle::Obstacle;
use crate::request::{PathPending, PathRequest, RequestStatus, Route};
use crate::sight::{NEAR, heaviest};
use crate::terrain::Terrain;

/// Whether a terrain was edited since the version that a system has seen, which becomes that of the terrain.
fn is_news(terrain: &Terrain, seen: &mut GridVersion) -> bool {
    std::mem::replace(seen, terrain.version()) != terrain.version()
}

/// Moves agents whose cell has become solid into the nearest open cell, of equals the first in reading
/// order.
///
/// Agents that were on their way ask for a path from there. If no cell is open at all, agents stay in the
/// rock and their requests are unreachable. Ticks without edits cost nothing, so agents have to be
/// spawned on open cells.
pub fn push_out(
    mut agents: Query<
        (
            &mut Position,
            Option<&mut PathRequest>,
            Option<&mut Route>,
            Option<&mut PathStats>,
            Option<&ClassId>,
        ),
        Without<Obstacle>,
    >,
    terrain: Res<Terrain>,
    mut seen: Local<GridVersion>,
) {
    if !is_news(&terrain, &mut seen) || terrain.grid().open_count() == 0 {
        return;
    }
    agents.par_for_each(|(position, request, route, stats, class)| {
        let terrain = terrain.for_agents(class.copied().unwrap_or_default());
        if position.cell().is_some_and(|cell| terrain.is_open(cell)) {
            return;
        }
        let Some(place) = refuge(terrain.grid(), position.0) else { return };
        position.0 = place;
        if let Some(stats) = stats {
            stats.pushed_out += 1;
        }
        if let Some((request, route)) = request.zip(route) {
            route.clear();
            if request.status().is_under_way() {
                request.reopen();
            }
        }
    });
}

/// Reopens requests that [keep trying](PathRequest::keep_trying), and were refused or answered by a
/// partial path, once an edit has made their goals reachable.
///
/// Ticks without edits cost nothing.
pub fn retry(
    mut agents: Query<(&Position, &mut PathRequest, Option<&ClassId>)>,
    terrain: Res<Terrain>,
    mut seen: Local<GridVersion>,
) {
    if !is_news(&terrain, &mut seen) {
        return;
    }
    agents.par_for_each(|(position, request, class)| {
        if !request.is_waiting_for_edits() {
            return;
        }
        let terrain = terrain.for_agents(class.copied().unwrap_or_default());
        let ends = position.cell().zip(Cell::containing(request.goal));
        if ends.is_some_and(|(start, goal)| terrain.reachable(start, goal)) {
            request.reopen();
        }
    });
}

/// The agents, with everything that walking changes.
type Walkers<'a> = Query<
    'a,
    (
        &'static mut Position,
        &'static mut Facing,
        &'static Speed,
        &'static mut PathRequest,
        &'static mut Route,
        &'static mut PathStats,
        EnabledMut<PathPending>,
        Option<&'static mut Avoid>,
        Option<&'static ClassId>,
    ),
>;

/// Walks every agent that has a path, as far as its speed takes it in one tick. For agents that give way
/// to others ([`Avoid`]) it only sets where to go, and [`avoid`](crate::systems::avoid) moves them.
///
/// A path that an edit has broken ahead of the agent is dropped and requested again before the agent
/// takes another step on it. So no agent ever enters a solid cell, or cuts a corner.
///
/// An agent that waits for an answer walks on along its current path, as described at
/// [`PathRequest::ask`].
pub fn follow(mut agents: Walkers, terrain: Res<Terrain>, step: Res<TimeStep>) {
    let seconds = step.elapsed();
    agents.par_for_each(
        |(position, facing, speed, request, route, stats, mut pending, mut body, class)| {
            let terrain = terrain.for_agents(class.copied().unwrap_or_default());
            let Some(goal) = request.goal() else {
                route.clear();
                if let Some(body) = body {
                    stand(*position, request, body);
                }
                return;
            };
            let is_under_way = request.status().is_under_way();
            let done = if !request.walks() || route.path().is_empty() {
                Done::Arrived
            } else {
                let end = end_of_route(request, route, goal);
                match &mut body {
                    Some(body) => direct(position, end, *speed, route, body, terrain, seconds),
                    None if !is_legal(route, terrain, *position) => Done::Broken,
                    None if !is_on_route(position.0, route) => Done::Strayed,
                    None => {
                        let reach = speed.reach(seconds, request.carry);
                        let walked = walk(position.0, end, route, reach, terrain);
                        request.carry = walked.carry;
                        position.0 = walked.position;
                        facing.0 = walked.facing.unwrap_or(facing.0);
                        if walked.arrived { Done::Arrived } else { Done::OnTheWay }
                    }
                }
            };
            match done {
                Done::OnTheWay => {}
                Done::Arrived if is_under_way => return arrive(request, route, stats),
                // The end of an old path is not a goal, but the place to wait.
                Done::Arrived | Done::Broken | Done::Strayed => {
                    stats.paths_broken += u32::from(matches!(done, Done::Broken));
                    route.clear();
                    // An agent that waits for a path stays blocked.
                    body.iter_mut().for_each(|body| body.hold());
                    request.reopen();
                }
            }
            if request.status() == RequestStatus::Pending {
                if is_at_goal(position.0, goal) {
                    body.into_iter().for_each(|body| body.arrive(position.0, goal));
                    arrive(request, route, stats);
                } else {
                    pending.set(true);
                }
            }
        },
    );
}

/// The fate of a path in a tick.
enum Done {
    OnTheWay,
    Arrived,
    /// An edit has broken it.
    Broken,
    /// Others have pushed the agent off it, or the game has put it elsewhere.
    Strayed,
}

/// Tells an agent that gives way to others where to go.
fn direct(
    position: &mut Position,
    goal: Vec2,
    speed: Speed,
    route: &mut Route,
    body: &mut Avoid,
    terrain: &Terrain,
    seconds: f32,
) -> Done {
    let from = route.behind();
    let is_legal = route.path_mut().revalidate(terrain, from).is_ok();
    let done = match steer(position.0, goal, route, terrain) {
        _ if !is_legal => Done::Broken,
        Steering::Strayed => Done::Strayed,
        Steering::Cross(to) => {
            if speed.reach(seconds, 0.0) > 0.0 {
                position.0 = to.centre();
            }
            body.hold();
            return Done::OnTheWay;
        }
        Steering::Arrived => Done::Arrived,
        Steering::Go { .. } if body.is_crowded_out() => Done::Arrived,
        Steering::Go { offset, is_last } => {
            let left = (route.rest().len() - 1) as f32 + offset.length();
            let velocity = velocity_to(offset, is_last, speed.per_second(), seconds);
            body.go(velocity, goal, Some(left));
            return Done::OnTheWay;
        }
    };
    match done {
        Done::Arrived => body.arrive(position.0, goal),
        // An agent that is pushed about stays blocked.
        _ => body.hold(),
    }
    done
}

/// Makes an agent stand that has nowhere to go.
fn stand(position: Position, request: &mut PathRequest, body: &mut Avoid) {
    match request.status() {
        RequestStatus::Arrived | RequestStatus::Nearby(_) if body.is_left_behind(position.0) => {
            request.reopen();
        }
        RequestStatus::Arrived | RequestStatus::Nearby(_) => body.rest(),
        _ => body.pause(),
    }
}

/// The end of a route: the goal, or if the route does not lead there, the centre of its last cell.
fn end_of_route(request: &PathRequest, route: &Route, goal: Vec2) -> Vec2 {
    let leads_to_goal = request.status() == RequestStatus::Found;
    let last = route.rest().last().filter(|_| !leads_to_goal);
    last.map_or(goal, |cell| cell.centre())
}

fn arrive(request: &mut PathRequest, route: &mut Route, stats: &mut PathStats) {
    request.arrive();
    route.clear();
    stats.arrivals += 1;
}

/// Whether every step of a route is still legal from where the agent is.
fn is_legal(route: &mut Route, terrain: &Terrain, position: Position) -> bool {
    let (from, to) = (route.behind(), route.next());
    let is_step = to <= from + 1;
    let path = route.path_mut();
    let is_free = match position.cell() {
        Some(at) if !is_step && path.may_be_broken(terrain) => {
            let line = [path.cells()[from], path.cells()[to]];
            let is_near = || heaviest(terrain.grid(), terrain.rule(), line, NEAR, at).is_none();
            path.is_line_free(terrain.grid(), [from, to], at)
                && (path.is_at_any_angle() || !is_near())
        }
        _ => true,
    };
    // The cell behind counts too: the agent may still be in it, or in a cell beside a diagonal.
    is_free && path.revalidate(terrain, if is_step { from } else { to }).is_ok()
}
