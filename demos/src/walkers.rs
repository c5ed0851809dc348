//! Agents of `nav` as the demos look after them: a watch over every one, and what it has ahead.
#![expect(elided_lifetimes_in_paths, reason = "systems read better without <'_>")]

#[cfg(test)]
mod tests;

use bytemuck::{Pod, Zeroable};
use formic_ecs::{Component, Entity, World};
use formic_jobs::{Query, Res};
use formic_nav::{Cell, ClassId, PathStats, Position, Terrain};
use glam::Vec2;

/// What an agent looked like a tick ago, and what it did wrong so far.
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
    /// A watch over an agent that is spawned here.
    #[must_use]
    pub fn new(position: Vec2) -> Self {
        Self { position, pushed_out: 0, ticks_in_rock: 0, illegal_moves: 0 }
    }
}

/// Compares where every agent stands with where it stood.
///
/// An agent walks less than half a cell in a tick, and so along one straight line or around the middle
/// of a cell. Whether the line is in the open is asked of the cells along it, by no code that
/// finds or walks paths. An agent that was put aside by a wall has not walked.
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

/// Whether all of the square that an agent of a class covers is ground that it can cross: by the map
/// itself, and not by what is derived from it for the class.
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

/// Whether a link that the class can cross leads from the one cell to the other.
fn is_linked(terrain: &Terrain, class: ClassId, from: Vec2, to: Vec2) -> bool {
    let ends = Cell::containing(from).zip(Cell::containing(to));
    let class = terrain.class(class);
    terrain.links().iter().any(|link| {
        ends == Some((link.from, link.to))
            && class.is_none_or(|class| class.weight(link.ground).is_some())
    })
}

/// What the watch has seen, and what it cannot see: where all agents are now.
///
/// # Errors
/// Says in one line who stood or walked where it cannot be.
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
    Ok(())
}
