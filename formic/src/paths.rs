//! Path requests in the decision log: what an agent asked for and how it was answered.

use formic_ai::action::Body;
use formic_ai::explain::{Candidate, DecisionLog, DecisionRecorder, Engine, Verdict};
use formic_ecs::{Entity, World};
use formic_jobs::ComponentLookup;
use formic_nav::{PathRequest, PathStats, RequestStatus, Speed, TimeStep, Unreachable};
use glam::Vec2;

/// A system that logs the path requests of watched agents and the answers of [`nav`](crate::nav) whenever
/// they change.
///
/// Add it after [`nav::systems::search`](crate::nav::systems::search). Without a
/// [`DecisionLog`](crate::ai::explain::DecisionLog) it does nothing.
///
/// ```
/// use formic::nav::{self, Grid, MoveRule, Terrain};
/// use formic::prelude::*;
///
/// let grid = Grid::from_fn(8, 8, |cell| cell.x != 3)?;
/// let mut world = World::new();
/// nav::systems::insert_resources(&mut world, Terrain::new(grid, MoveRule::default()));
/// let imp = world.spawn(nav::systems::agent(Vec2::new(0.5, 0.5), 4.0));
/// world.get_mut::<PathRequest>(imp)?.ask(Vec2::new(4.5, 7.5));
/// world.insert_resource(DecisionLog::watching(imp, "Imp", 16));
/// let mut schedule = nav::systems::add(Schedule::builder())
///     .add(formic::note_paths.after(nav::systems::search))
///     .build(&mut world)?;
/// schedule.run(&mut world, &Pool::new(Threads::None)?);
/// assert_eq!(
///     formic::ai::why(&world, imp),
///     ["Tick 0: Imp#0 asked for a path to (4, 7): none, no open route leads there."]
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn note_paths(
    requests: ComponentLookup<'_, (&PathRequest, Option<&PathStats>)>,
    recorder: DecisionRecorder<'_>,
) {
    let Some(log) = recorder.log() else { return };
    for agent in log.agents() {
        let Ok((request, stats)) = requests.get(agent) else { continue };
        let Some(goal) = request.last_goal() else { continue };
        // The number distinguishes a request from a later one for the same goal. The count of broken
        // paths distinguishes a path from one found for the same request after an edit cut the first.
        let (number, status) = (request.number(), request.status());
        let state = (number, status, stats.map_or(0, |stats| stats.paths_broken));
        log.note_change((agent, recorder.tick()), Engine::Paths, &state, || {
            let rank = i32::try_from(number).unwrap_or(i32::MAX);
            let decisions = log.decisions(agent);
            let last = decisions.iter().rfind(|it| it.engine == Engine::Paths);
            let last = last.and_then(|it| it.chosen()).filter(|it| it.rank == rank);
            let had_one = last.is_some_and(|it| it.name.ends_with(FOUND));
            let is_cut = had_one && !matches!(status, RequestStatus::Arrived | RequestStatus::Idle);
            let again = if is_cut { " again, as an edit cut the one it had" } else { "" };
            Candidate::new(answer(goal, again, status), Verdict::Chosen).rank(rank)
        });
    }
}

/// The answer to a request whose path the agent is following.
const FOUND: &str = ": found";

/// Returns the reasons for what an entity does, as [`ai::why`](crate::ai::why) does. Unless the log has
/// path requests of the entity, its last request to [`nav`](crate::nav) and the answer are added.
///
/// For an agent that has a path and does not move, the reasons include a speed or a tick length that is
/// not a positive finite number.
///
/// ```
/// use formic::nav::{self, Grid, MoveRule, Terrain};
/// use formic::prelude::*;
///
/// let grid = Grid::from_fn(8, 8, |cell| cell.x != 3)?;
/// let mut world = World::new();
/// nav::systems::insert_resources(&mut world, Terrain::new(grid, MoveRule::default()));
/// let imp = world.spawn(nav::systems::agent(Vec2::new(0.5, 0.5), 4.0));
/// world.get_mut::<PathRequest>(imp)?.ask(Vec2::new(4.5, 7.5));
/// let mut schedule = nav::systems::add(Schedule::builder()).build(&mut world)?;
/// schedule.run(&mut world, &Pool::new(Threads::None)?);
/// let why = ["entity 0 asked for a path to (4, 7): none, no open route leads there."];
/// assert_eq!(formic::why(&world, imp), why);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn why(world: &World, entity: Entity) -> Vec<String> {
    let Ok(request) = world.get::<PathRequest>(entity) else {
        return formic_ai::why(world, entity);
    };
    let nothing = DecisionLog::new();
    let log = world.resource::<DecisionLog>().unwrap_or(&nothing);
    let has_mind = world.has::<Body>(entity);
    let mut said = if has_mind { formic_ai::why(world, entity) } else { log.sentences(entity) };
    let is_told = log.decisions(entity).iter().any(|it| it.engine == Engine::Paths);
    if let Some(goal) = request.last_goal().filter(|_| !is_told) {
        let asked = answer(goal, "", request.status());
        said.push(format!("{} asked for {asked}.", log.name(entity)));
    }
    if request.status().is_under_way() {
        said.extend(hindrance(world, entity));
    }
    if said.is_empty() { formic_ai::why(world, entity) } else { said }
}

/// Returns what keeps an agent from walking along its path, if it is its speed or the length of a tick.
fn hindrance(world: &World, entity: Entity) -> Option<String> {
    let speed = world.get::<Speed>(entity).ok()?.0;
    let seconds = world.resource::<TimeStep>().ok()?.seconds;
    let moves = |number: f32| number.is_finite() && number > 0.0;
    let (what, number) = match moves(speed) {
        true => ("the `TimeStep`", seconds),
        false => ("its `Speed`", speed),
    };
    (!moves(number)).then(|| {
        format!("It stands still: {what} is {number}, and has to be a finite number above 0.")
    })
}

/// Describes a request and its answer.
fn answer(goal: Vec2, again: &str, status: RequestStatus) -> String {
    let answer = match status {
        RequestStatus::Idle => "withdrawn".to_owned(),
        RequestStatus::Pending => "being searched".to_owned(),
        RequestStatus::Found => return format!("{}{FOUND}", path_to(goal, again)),
        RequestStatus::Arrived => "arrived".to_owned(),
        RequestStatus::Partial(why) => format!("found for part of the way, {}", because(why)),
        RequestStatus::Nearby(why) => format!("arrived as near as it gets, {}", because(why)),
        RequestStatus::Unreachable(why) => format!("none, {}", because(why)),
    };
    format!("{}: {answer}", path_to(goal, again))
}

fn path_to(goal: Vec2, again: &str) -> String {
    let cell = goal.floor();
    format!("a path to ({}, {}){again}", cell.x, cell.y)
}

/// Describes the reason in a designer's words.
fn because(why: Unreachable) -> String {
    match why {
        Unreachable::StartOutside => "it stands outside the map".to_owned(),
        Unreachable::StartBlocked => "it stands in a wall".to_owned(),
        Unreachable::GoalOutside => "that is outside the map".to_owned(),
        Unreachable::GoalBlocked => "that is inside a wall".to_owned(),
        Unreachable::Disconnected => "no open route leads there".to_owned(),
        other => other.to_string(),
    }
}
