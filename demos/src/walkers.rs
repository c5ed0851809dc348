//! Agents of `nav` in the demos: checks of their movement, and descriptions of what they do.

#[cfg(test)]
mod tests;

use bytemuck::{Pod, Zeroable};
use formic_ecs::{Component, Entity, World};
use formic_jobs::{Query, Res};
use formic_nav::{
    Cell, ClassId, PathRequest, PathStats, Position, RequestStatus, Route, SearchReport, Terrain,
};
use glam::Vec2;

use crate::engine::Engine;
use crate::text::counted;

/// The state of an agent a tick ago, and counts of what it did wrong.
#[derive(Component, Clone, Copy, Debug, Pod, Zeroable)]
#[component(name = "formic_demos::dungeon::watch::Watch")] // As it is called in saved games.
#[repr(C)]
pub struct Watch {
    position: Vec2,
    pushed_out: u32,
    /// Ticks in which the agent stood where its class cannot be.
    ticks_in_rock: u32,
    /// Ticks in which it went through such a place, or around a corner too closely.
    illegal_moves: u32,
}

impl Watch {
    /// Creates the record of an agent that is spawned here.
    #[must_use]
    pub fn new(position: Vec2) -> Self {
        Self { position, pushed_out: 0, ticks_in_rock: 0, illegal_moves: 0 }
    }
}

/// Compares where every agent stands with where it stood.
///
/// An agent walks less than half a cell in a tick, and so along one straight line or around the middle of
/// a cell. Whether the line is in the open is determined from the cells along it, without any code that
/// finds or follows paths. An agent that was pushed aside by a wall has not walked.
pub fn watch(
    mut agents: Query<(&Position, &PathStats, &mut Watch, Option<&ClassId>)>,
    terrain: Res<Terrain>,
) {
    agents.par_for_each(|(position, stats, watch, class)| {
        let class = class.copied().unwrap_or_default();
        let was_put_aside = stats.pushed_out != watch.pushed_out;
        let (from, to) = (watch.position, position.0);
        if !fits(&terrain, class, to) {
            watch.ticks_in_rock += 1;
        } else if !was_put_aside
            && !is_in_the_open(&terrain, class, from, to)
            && !is_linked(&terrain, class, from, to)
        {
            watch.illegal_moves += 1;
        }
        watch.position = to;
        watch.pushed_out = stats.pushed_out;
    });
}

/// Whether the whole square that an agent of a class covers is ground that it can cross, according to the
/// map itself and not to data derived from it for the class.
fn fits(terrain: &Terrain, class: ClassId, place: Vec2) -> bool {
    let Some(corner) = Cell::containing(place) else { return false };
    let Some(class) = terrain.class(class) else { return terrain.is_open(corner) };
    let side = 0..u16::from(class.size());
    let mut square = side.clone().flat_map(|y| side.clone().map(move |x| (x, y)));
    square.all(|(x, y)| {
        let cell = Cell::new(corner.x.saturating_add(x), corner.y.saturating_add(y));
        let ground = terrain.grid().weight(cell).filter(|_| terrain.is_open(cell));
        ground.and_then(|ground| class.weight(ground)).is_some()
    })
}

fn is_in_the_open(terrain: &Terrain, class: ClassId, from: Vec2, to: Vec2) -> bool {
    (0..=32_u8).all(|part| fits(terrain, class, from.lerp(to, f32::from(part) / 32.0)))
}

/// Whether a link that the class can cross leads from one cell to the other.
fn is_linked(terrain: &Terrain, class: ClassId, from: Vec2, to: Vec2) -> bool {
    let ends = Cell::containing(from).zip(Cell::containing(to));
    let class = terrain.class(class);
    terrain.links().iter().any(|link| {
        ends == Some((link.from, link.to))
            && class.is_none_or(|class| class.weight(link.ground).is_some())
    })
}

/// Checks the records of all agents, their current positions, and whether the regions match the map.
///
/// # Errors
/// Returns a line that names the agent that stood or walked where it cannot be, or what is wrong with the
/// regions.
///
/// # Panics
/// Panics if the world has no terrain.
pub fn check(world: &World) -> Result<(), String> {
    let terrain = world.resource::<Terrain>().expect("agents walk on a terrain");
    let agents = world.query_ref::<(Entity, &Position, &Watch, Option<&ClassId>)>();
    for (agent, position, watch, class) in agents {
        if watch.ticks_in_rock > 0 || !fits(terrain, class.copied().unwrap_or_default(), position.0)
        {
            return Err(format!("agent {agent}, now at {}, stood in rock", position.0));
        }
        if watch.illegal_moves > 0 {
            return Err(format!("agent {agent}, now at {}, walked through rock", position.0));
        }
    }
    terrain.check().map_err(|fault| fault.to_string())
}

/// Returns the totals of requests and results of all agents, and the costs of their searches.
#[must_use]
pub fn counters(engine: &Engine) -> Vec<(&'static str, u64)> {
    let sum = |count: fn(&PathStats) -> u32| engine.sum(&|stats| count(stats).into());
    let report: SearchReport = engine.world.resource().copied().unwrap_or_default();
    vec![
        ("arrivals", sum(|it| it.arrivals)),
        ("paths_found", sum(|it| it.paths_found)),
        ("paths_partial", sum(|it| it.paths_partial)),
        ("paths_unreachable", sum(|it| it.paths_unreachable)),
        ("paths_broken", sum(|it| it.paths_broken)),
        ("pushed_out", sum(|it| it.pushed_out)),
        ("cells_expanded", report.expansions),
        ("cells_expanded_max", report.expansions_max),
        ("interruptions", report.interruptions),
    ]
}

/// Describes what an agent does and why; `rest_seconds` is how much longer it rests between two walks.
/// Returns `None` for an entity that requests no paths.
#[must_use]
pub fn doing(world: &World, agent: Entity, rest_seconds: f32) -> Option<String> {
    let request = world.get::<PathRequest>(agent).ok()?;
    let ahead = world.get::<Route>(agent).map_or(0, |route| route.rest().len());
    let ahead = counted(ahead as u64, "cells");
    let goal = request.last_goal().unwrap_or_default().floor();
    let goal = format!("({:.0}, {:.0})", goal.x, goal.y);
    let rests = format!("It rests for {rest_seconds:.1} s more, ");
    Some(match request.status() {
        RequestStatus::Idle => format!("{rests}because it has not been anywhere yet."),
        RequestStatus::Arrived => format!("{rests}because it came to {goal}."),
        RequestStatus::Pending => format!(
            "It stands still, because the search has not answered its request for a path to {goal} \
             yet: the budget of a tick goes to those who asked before."
        ),
        RequestStatus::Found => {
            format!("It goes to {goal}, {ahead} ahead, because it chose that place.")
        }
        RequestStatus::Partial(why) => format!(
            "It goes as near to {goal} as it can, {ahead} ahead, because it cannot get there: \
             {why}."
        ),
        RequestStatus::Nearby(why) | RequestStatus::Unreachable(why) => {
            format!("{rests}because it cannot get to {goal}: {why}.")
        }
    })
}
