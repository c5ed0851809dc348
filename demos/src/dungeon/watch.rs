//! The watch: looks over the shoulder of every imp in every tick.
#![expect(elided_lifetimes_in_paths, reason = "systems read better without <'_>")]

#[cfg(test)]
mod tests;

use bytemuck::{Pod, Zeroable};
use formic_ecs::Component;
use formic_jobs::{Query, Res};
use formic_nav::{Cell, PathStats, Position, Terrain};
use glam::Vec2;

/// What an imp looked like a tick ago, and what it did wrong so far.
#[derive(Component, Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Watch {
    position: Vec2,
    pushed_out: u32,
    /// Ticks in which the imp stood in rock.
    pub(super) ticks_in_rock: u32,
    /// Ticks in which the imp went through rock, or around a corner too closely.
    pub(super) illegal_moves: u32,
}

impl Watch {
    pub(super) fn new(position: Vec2) -> Self {
        Self { position, pushed_out: 0, ticks_in_rock: 0, illegal_moves: 0 }
    }
}

/// Compares where every imp stands with where it stood.
///
/// An imp walks less than half a cell in a tick, and so along one straight line or around the middle
/// of a cell. Whether the line is in the open is asked of the cells along it, by no code that
/// finds or walks paths. An imp that was put aside by a wall has not walked.
pub(super) fn watch(mut imps: Query<(&Position, &PathStats, &mut Watch)>, terrain: Res<Terrain>) {
    imps.par_for_each(|(position, stats, watch)| {
        let cell = position.cell().filter(|&cell| terrain.is_open(cell));
        let was_put_aside = stats.pushed_out != watch.pushed_out;
        match cell {
            None => watch.ticks_in_rock += 1,
            Some(_) if !was_put_aside && !is_in_the_open(&terrain, watch.position, position.0) => {
                watch.illegal_moves += 1;
            }
            Some(_) => {}
        }
        watch.position = position.0;
        watch.pushed_out = stats.pushed_out;
    });
}

fn is_in_the_open(terrain: &Terrain, from: Vec2, to: Vec2) -> bool {
    (0..=32_u8).all(|part| {
        let place = from.lerp(to, f32::from(part) / 32.0);
        Cell::containing(place).is_some_and(|cell| terrain.is_open(cell))
    })
}
