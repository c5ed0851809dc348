//! Radar: all units in a grid of cells, and the target of each unit.

use formic_ai::prelude::*;
use glam::Vec2;
use serde::{Deserialize, Serialize};

use super::parts::{Aim, Hull, Position, Side, TICK_SECONDS};

/// The range of sight of units, in metres.
const SIGHT: f32 = 80.0;
/// The grid is rebuilt at this interval, in ticks; in the meantime no unit flies far.
pub(super) const SCAN_TICKS: u32 = 2;
/// The interval at which each unit looks around, in ticks; not all units look in the same one.
const LOOK_TICKS: u64 = 8;
/// The side of a cell, in metres.
const CELL: f32 = 40.0;

/// The units of both sides, by cell.
///
/// ```text
///   cells    [ 0 | 3 | 3 | 5 | ...        cell c holds blips[cells[c] .. cells[c + 1]]
///   blips    [ a b c | d e | ...          first all cells of red, then all of blue
/// ```
pub(super) struct Radar {
    columns: usize,
    rows: usize,
    cells: Vec<u32>,
    blips: Vec<Blip>,
    /// Scratch memory: every unit with its cell, unsorted.
    found: Vec<(u32, Blip)>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Blip {
    at: Vec2,
    entity: Entity,
}

impl Radar {
    /// Creates an empty grid over a sky of this size.
    pub(super) fn new(size: Vec2) -> Self {
        let [columns, rows] = [size.x, size.y].map(|metres| whole(metres / CELL) + 1);
        let cells = vec![0; 2 * columns * rows + 1];
        Self { columns, rows, cells, blips: Vec::new(), found: Vec::new() }
    }

    /// Returns the last seen positions of units for a save; the size is that of the sky.
    pub(super) fn to_save(&self) -> (Vec<u32>, Vec<Blip>) {
        (self.cells.clone(), self.blips.clone())
    }

    pub(super) fn load(&mut self, (cells, blips): (Vec<u32>, Vec<Blip>), _: &World) {
        let is_one = cells.len() == self.cells.len()
            && cells.is_sorted()
            && cells.last().is_some_and(|&end| end as usize == blips.len());
        if is_one {
            (self.cells, self.blips) = (cells, blips);
        }
    }

    /// Rebuilds the grid: sorts all units by cell, and keeps their order within a cell.
    fn scan(&mut self, units: impl Iterator<Item = (Entity, Vec2, Side)>) {
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        self.cells.fill(0);
        for (entity, at, side) in units {
            let cell = self.cell(side, self.column(at.x), self.row(at.y));
            self.cells[cell] += 1;
            found.push((u32::try_from(cell).unwrap_or(u32::MAX), Blip { at, entity }));
        }
        // The ends first; filling from the back leaves the starts.
        let mut sum = 0;
        for count in &mut self.cells {
            sum += *count;
            *count = sum;
        }
        self.blips.clear();
        self.blips.extend(found.iter().map(|&(_, blip)| blip));
        for &(cell, blip) in found.iter().rev() {
            let place = &mut self.cells[cell as usize];
            *place -= 1;
            self.blips[*place as usize] = blip;
        }
        self.found = found;
    }

    /// Returns the nearest unit of a side within a radius of a place, and its distance.
    pub(super) fn nearest(&self, side: Side, from: Vec2, radius: f32) -> Option<(Entity, f32)> {
        let mut nearest = None;
        let mut best = radius * radius;
        for row in self.row(from.y - radius)..=self.row(from.y + radius) {
            // The cells of a row are adjacent, and so are their blips.
            let first = self.cell(side, self.column(from.x - radius), row);
            let last = self.cell(side, self.column(from.x + radius), row);
            let range = self.cells[first] as usize..self.cells[last + 1] as usize;
            for blip in &self.blips[range] {
                let squared = blip.at.distance_squared(from);
                if squared < best {
                    (nearest, best) = (Some(blip.entity), squared);
                }
            }
        }
        nearest.map(|entity| (entity, best.sqrt()))
    }

    fn cell(&self, side: Side, column: usize, row: usize) -> usize {
        (side as usize * self.rows + row) * self.columns + column
    }

    /// Positions outside are clamped to the edge.
    fn column(&self, x: f32) -> usize {
        whole(x / CELL).min(self.columns - 1)
    }

    fn row(&self, y: f32) -> usize {
        whole(y / CELL).min(self.rows - 1)
    }
}

/// Rounds down; negative numbers become 0.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
fn whole(number: f32) -> usize {
    number as usize
}

/// Records the position of each unit.
pub(super) fn scan(
    mut units: Query<(Entity, &Position, &Side), With<Hull>>,
    mut radar: ResMut<Radar>,
) {
    let units = units.query().into_iter();
    radar.scan(units.map(|(entity, position, side)| (entity, position.0, *side)));
}

/// Follows targets, and finds new ones.
pub(super) fn aim(
    mut units: Query<(Entity, &Position, &Side, &mut Aim)>,
    positions: ComponentLookup<&'static Position>,
    radar: Res<Radar>,
    mut tick: Local<u64>,
) {
    *tick += 1;
    let tick = *tick;
    units.par_for_each(|(entity, position, side, aim)| {
        if aim.has_target() {
            match positions.get(aim.target) {
                Ok(target) => {
                    aim.motion = (target.0 - aim.at) / TICK_SECONDS;
                    aim.at = target.0;
                    aim.distance = aim.at.distance(position.0);
                }
                Err(_) => *aim = Aim::none(entity),
            }
        }
        if (entity.to_bits() + tick) % LOOK_TICKS == 0 {
            let found = radar.nearest(side.other(), position.0, SIGHT);
            let found = found.and_then(|(target, _)| Some((target, positions.get(target).ok()?.0)));
            match found {
                Some((target, _)) if target == aim.target && aim.has_target() => {}
                Some((target, at)) => {
                    let distance = at.distance(position.0);
                    *aim = Aim { target, at, motion: Vec2::ZERO, distance, unused: 0 };
                }
                None => *aim = Aim::none(entity),
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_is_the_one_that_a_look_at_all_finds() {
        let mut world = World::new();
        let mut random = RandomStream::new(5);
        let mut place = || Vec2::new(random.between(-20.0, 620.0), random.between(-20.0, 320.0));
        let units: Vec<(Entity, Vec2, Side)> =
            (0..400).map(|unit| (world.spawn(()), place(), Side::BOTH[unit % 2])).collect();
        let mut radar = Radar::new(Vec2::new(600.0, 300.0));
        for _ in 0..2 {
            radar.scan(units.iter().copied());
        }
        for radius in [3.0, 45.0, 200.0] {
            for &(_, from, side) in &units {
                let others = units.iter().filter(|(_, _, other)| *other == side.other());
                let distances = others.map(|(_, at, _)| at.distance(from));
                let expected = distances.filter(|&it| it < radius).min_by(f32::total_cmp);
                let found = radar.nearest(side.other(), from, radius).map(|(_, distance)| distance);
                let close = |(a, b): (f32, f32)| (a - b).abs() < 1e-3;
                assert_eq!(found.is_some(), expected.is_some());
                assert!(found.zip(expected).is_none_or(close), "{found:?} for {expected:?}");
            }
        }
    }
}
