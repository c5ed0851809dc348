//! Following: agents walk along their paths, and heed the edits of the terrain.
#![expect(elided_lifetimes_in_paths, reason = "systems read better without <'_>")]

mod push_out;
pub(crate) mod steer;
pub(crate) mod walk;

use formic_ecs::{EnabledMut, World};
use formic_jobs::{Local, Query, Res};
use glam::Vec2;

use crate::agent::{Facing, PathStats, Position, Size, Speed, TimeStep};
use crate::avoid::body::Avoid;
use crate::cell::Cell;
use crate::direction::MoveRule;
use crate::follow::push_out::refuge;
use crate::follow::steer::{Steering, steer, velocity_to};
use crate::follow::walk::{current_cell, is_at_goal, is_on_route, leave, leg, walk};
use crate::grid::change::{ChangeKind, GridVersion};
use crate::request::{PathPending, PathRequest, RequestStatus, Route};
use crate::terrain::Terrain;

/// What a system keeps from tick to tick that heeds edits.
#[derive(Debug, Default)]
pub struct SeenTerrain {
    /// The version that it has seen last.
    version: Option<GridVersion>,
    /// Scratch: cells that were filled since.
    filled: Vec<Cell>,
}

impl SeenTerrain {
    pub(crate) fn version(&self) -> GridVersion {
        self.version.unwrap_or(GridVersion::ZERO)
    }

    pub(crate) fn load(&mut self, version: GridVersion, _: &World) {
        self.version = Some(version).filter(|&version| version != GridVersion::ZERO);
    }
}

/// Puts agents whose cell has become solid into the nearest open one, of equals
/// the first in reading order.
///
/// Those that were on their way ask for a path from there. Where no cell is open
/// at all, agents stay in the rock and their requests are unreachable. Ticks
/// without edits cost nothing, so agents have to be spawned on open cells.
///
/// Under the rules that let agents cut corners they may be over a solid cell by right.
/// Those on a legal step of their routes are left alone, and those without a route whose
/// cell was not filled just now and is beside an open one.
pub fn push_out(
    mut agents: Query<(
        &mut Position,
        Option<&mut PathRequest>,
        Option<&mut Route>,
        Option<&mut PathStats>,
        Option<&Size>,
    )>,
    terrain: Res<Terrain>,
    mut seen: Local<SeenTerrain>,
) {
    let SeenTerrain { version, filled } = &mut *seen;
    let before = version.replace(terrain.version());
    if before == Some(terrain.version()) || terrain.grid().open_count() == 0 {
        return;
    }
    filled.clear();
    let changes = before.and_then(|version| terrain.grid().changes_since(version));
    let is_known = changes.is_some();
    let fills = changes.into_iter().flatten().filter(|change| change.kind == ChangeKind::Filled);
    filled.extend(fills.map(|change| change.cell));
    filled.sort_unstable();
    let cuts_corners = matches!(terrain.rule(), MoveRule::OneFree | MoveRule::Always);
    let is_beside_open =
        |cell| terrain.grid().neighbours(cell, MoveRule::Orthogonal).next().is_some();
    let is_old = |cell| is_known && filled.binary_search(&cell).is_err();
    agents.par_for_each(|(position, request, route, stats, size)| {
        let terrain = Size::terrain(size, &terrain);
        let cell = position.cell();
        if cell.is_some_and(|cell| terrain.is_open(cell)) {
            return;
        }
        let may_stay = cuts_corners
            && match &route {
                Some(route) => leg(position.0, route, terrain).is_some(),
                None if size.is_some() => false,
                None => cell.is_some_and(|cell| is_old(cell) && is_beside_open(cell)),
            };
        if may_stay {
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

/// Opens those requests again that were refused, or answered by a partial path, and
/// [keep trying](PathRequest::keep_trying), once an edit has made their goals
/// reachable.
///
/// Ticks without edits cost nothing.
pub fn retry(
    mut agents: Query<(&Position, Option<&Route>, &mut PathRequest, Option<&Size>)>,
    terrain: Res<Terrain>,
    mut seen: Local<SeenTerrain>,
) {
    if seen.version.replace(terrain.version()) == Some(terrain.version()) {
        return;
    }
    agents.par_for_each(|(position, route, request, size)| {
        if !request.is_waiting_for_edits() {
            return;
        }
        let terrain = Size::terrain(size, &terrain);
        let start = current_cell(position.0, route, terrain);
        let ends = start.zip(Cell::containing(request.last_goal()));
        if ends.is_some_and(|(start, goal)| terrain.reachable(start.cell, goal)) {
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
        &'static mut PathStats,
        EnabledMut<PathPending>,
        Option<&'static mut Avoid>,
        Option<&'static Size>,
    ),
>;

/// Walks every agent that has a path, as far as its speed takes it in one tick. Those
/// that give way to others ([`Avoid`]) are told where to go, and
/// [`avoid`](crate::systems::avoid) moves them.
///
/// A path that an edit has broken ahead of the agent is dropped and asked for
/// anew before the agent takes another step on it, so no agent ever enters a
/// solid cell, nor cuts a corner that the rule protects. (Under the rules that do
/// let agents cut corners, straight lines between positions may graze them.)
///
/// An agent that waits for an answer walks on along the path that it has, as
/// [`PathRequest::ask`] says.
pub fn follow(mut agents: Walkers, terrain: Res<Terrain>, step: Res<TimeStep>) {
    let seconds = step.elapsed();
    agents.par_for_each(
        |(position, facing, speed, request, route, stats, mut pending, mut body, size)| {
            let terrain = Size::terrain(size, &terrain);
            let Some(goal) = request.goal() else {
                leave(position.0, route, terrain);
                if let Some(body) = body {
                    stand(request, body);
                }
                return;
            };
            let is_under_way = request.status().is_under_way();
            let walks = is_under_way || (request.walks_on() && !route.path().is_empty());
            let (mut is_left, mut has_strayed) = (!walks, false);
            if walks {
                let end = end_of_route(request, route, goal);
                let done = match &mut body {
                    Some(body) => direct(*position, end, *speed, route, body, terrain, seconds),
                    None if is_usable(route, terrain, *position) => {
                        let walked = match speed.reach(seconds) {
                            0.0 => walk(position.0, end, route, 0.0),
                            reach => walk(position.0, end, route, reach + request.carry()),
                        };
                        request.set_carry(walked.carry);
                        position.0 = walked.position;
                        facing.0 = walked.facing.unwrap_or(facing.0);
                        if walked.arrived { Done::Arrived } else { Done::OnTheWay }
                    }
                    None => Done::Broken,
                };
                match done {
                    Done::OnTheWay if is_under_way => return,
                    Done::OnTheWay => {}
                    Done::Arrived if is_under_way => return arrive(request, route, stats),
                    Done::Broken => {
                        stats.paths_broken += 1;
                        is_left = true;
                    }
                    // The end of an old path is no goal, but the place to wait.
                    Done::Arrived => is_left = true,
                    Done::Strayed => (is_left, has_strayed) = (true, true),
                }
                request.reopen();
            }
            if is_left {
                leave(position.0, route, terrain);
                if let Some(body) = body.filter(|_| !has_strayed) {
                    body.pause();
                }
            }
            if is_at_goal(position.0, goal) {
                arrive(request, route, stats);
            } else {
                pending.set(true);
            }
        },
    );
}

/// What became of a path in a tick.
enum Done {
    OnTheWay,
    Arrived,
    /// An edit has broken it.
    Broken,
    /// Others have pushed the agent off it.
    Strayed,
}

/// Tells an agent that gives way to others where to go.
fn direct(
    position: Position,
    goal: Vec2,
    speed: Speed,
    route: &mut Route,
    body: &mut Avoid,
    terrain: &Terrain,
    seconds: f32,
) -> Done {
    let from = route.next().saturating_sub(1);
    let is_legal = route.path_mut().revalidate(terrain, from).is_ok();
    let done = match steer(position.0, goal, route, terrain) {
        _ if !is_legal => Done::Broken,
        Steering::Strayed => Done::Strayed,
        Steering::Arrived => Done::Arrived,
        Steering::Go { .. } if body.is_crowded_out() => Done::Arrived,
        Steering::Go { offset, is_last } => {
            body.go(velocity_to(offset, is_last, speed.0, seconds), goal);
            return Done::OnTheWay;
        }
    };
    match done {
        Done::Arrived => body.rest(),
        // Those who are pushed about have been blocked for as long as before.
        _ => body.hold(),
    }
    done
}

/// Lets an agent stand that has nowhere to go.
fn stand(request: &PathRequest, body: &mut Avoid) {
    match request.status() {
        RequestStatus::Arrived | RequestStatus::Nearby(_) => body.rest(),
        _ => body.pause(),
    }
}

/// Where a route ends: at the goal, or if it does not lead there, in the middle of its last
/// cell.
fn end_of_route(request: &PathRequest, route: &Route, goal: Vec2) -> Vec2 {
    let leads_to_goal = request.status() == RequestStatus::Found;
    let last = route.rest().last().filter(|_| !leads_to_goal);
    last.map_or(goal, |cell| cell.centre())
}

fn arrive(request: &mut PathRequest, route: &mut Route, stats: &mut PathStats) {
    request.arrived();
    route.clear();
    stats.arrivals += 1;
}

/// Whether an agent can walk on along its route: it is where the route says, and
/// every step from there on is legal still.
fn is_usable(route: &mut Route, terrain: &Terrain, position: Position) -> bool {
    // The cell behind counts, too: the agent may still be in it, or in a cell
    // beside a diagonal.
    let from = route.next().saturating_sub(1);
    is_on_route(position.0, route) && route.path_mut().revalidate(terrain, from).is_ok()
}
