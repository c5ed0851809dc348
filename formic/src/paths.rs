//! The path requests of agents in the log of their decisions.

use formic_ai::explain::{Candidate, DecisionRecorder, Engine, Verdict};
use formic_jobs::ComponentLookup;
use formic_nav::{PathRequest, RequestStatus, Unreachable};

/// A system that writes down what agents that are watched ask of [`nav`](crate::nav), and how it
/// answers, whenever that changes. Add it behind [`nav::systems::search`](crate::nav::systems::search);
/// without a [`DecisionLog`](crate::ai::explain::DecisionLog) it does nothing.
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
///     ["Tick 0: Imp#0 asked for a way to (4, 7): no way, what lies between is closed."]
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn note_paths(requests: ComponentLookup<'_, &PathRequest>, recorder: DecisionRecorder<'_>) {
    let Some(log) = recorder.log() else { return };
    for agent in log.agents() {
        let Ok(request) = requests.get(agent) else { continue };
        let Some(goal) = request.last_goal() else { continue };
        let answer = match request.status() {
            RequestStatus::Idle => "taken back".to_owned(),
            RequestStatus::Pending => "it is looked for".to_owned(),
            RequestStatus::Found => "found".to_owned(),
            RequestStatus::Arrived => "it is there".to_owned(),
            RequestStatus::Partial(why) => format!("only as near as it gets, {}", because(why)),
            RequestStatus::Nearby(why) => format!("it is as near as it gets, {}", because(why)),
            RequestStatus::Unreachable(why) => format!("no way, {}", because(why)),
        };
        let cell = goal.floor();
        let text = format!("a way to ({}, {}): {answer}", cell.x, cell.y);
        // The number tells a request from the next for the same goal.
        let number = i32::try_from(request.number()).unwrap_or(i32::MAX);
        let way = Candidate::new(text, Verdict::Chosen).rank(number);
        log.note_change(agent, recorder.tick(), Engine::Paths, way);
    }
}

/// As a designer says it.
fn because(why: Unreachable) -> String {
    match why {
        Unreachable::StartOutside => "it stands outside of the map".to_owned(),
        Unreachable::StartBlocked => "it stands in a wall".to_owned(),
        Unreachable::GoalOutside => "that is outside of the map".to_owned(),
        Unreachable::GoalBlocked => "that is in a wall".to_owned(),
        Unreachable::Disconnected => "what lies between is closed".to_owned(),
        other => other.to_string(),
    }
}
