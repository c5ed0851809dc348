//! The layout of the squadrons: two in each sector, one against the other, with the sectors side by side.

use glam::Vec2;

use super::parts::Side;

/// The side of a sector, in metres.
pub(super) const SECTOR: f32 = 300.0;
/// The distance of a base from the middle of its sector.
const BASE_OFFSET: f32 = 90.0;
/// The number of units of a squadron, including its admiral.
pub(super) const SQUADRON: u32 = 64;
/// The number of turrets among 63 units without the admiral.
const TURRETS_OF_63: u32 = 12;

/// A plan of all squadrons.
pub(super) struct Sky {
    units: u32,
    columns: u32,
    rows: u32,
}

/// One squadron, before it is built.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Squadron {
    pub(super) side: Side,
    pub(super) base: Vec2,
    pub(super) foe_base: Vec2,
    pub(super) ships: u32,
    pub(super) turrets: u32,
}

impl Sky {
    /// Plans squadrons of 64 for this many units; the last one may be smaller.
    pub(super) fn new(units: u32) -> Self {
        let sectors = units.div_ceil(2 * SQUADRON);
        let columns = (1..).find(|side| side * side >= sectors).unwrap_or(1);
        Self { units, columns, rows: sectors.div_ceil(columns) }
    }

    /// The size of the sky, in metres.
    pub(super) fn size(&self) -> Vec2 {
        Vec2::new(self.columns as f32, self.rows as f32) * SECTOR
    }

    /// Returns the squadrons, each beside its foe: red, blue, red, blue.
    pub(super) fn squadrons(&self) -> impl Iterator<Item = Squadron> + '_ {
        (0..self.units.div_ceil(SQUADRON)).map(|number| {
            let units = (self.units - number * SQUADRON).min(SQUADRON) - 1;
            let turrets = units * TURRETS_OF_63 / 63;
            let sector = number / 2;
            let corner = Vec2::new((sector % self.columns) as f32, (sector / self.columns) as f32);
            let middle = (corner + 0.5) * SECTOR;
            // Every other sector is turned, so that the picture is less regular.
            let offset = match sector % 2 {
                0 => Vec2::new(BASE_OFFSET, BASE_OFFSET / 3.0),
                _ => Vec2::new(BASE_OFFSET / 3.0, -BASE_OFFSET),
            };
            let side = Side::BOTH[number as usize % 2];
            let offset = if side == Side::Red { -offset } else { offset };
            Squadron {
                side,
                base: middle + offset,
                foe_base: middle - offset,
                ships: units - turrets,
                turrets,
            }
        })
    }
}
