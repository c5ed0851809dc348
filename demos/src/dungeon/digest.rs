//! The state hash: everything that the next tick depends on, in one number.

use formic_ecs::{StateHash, StateHasher, World};
use formic_nav::Terrain;

use crate::dungeon::works::Works;

/// The hash of a dungeon. Neither the order of entities in memory, nor the names
/// that regions happen to have, nor the number of threads show in it.
pub(super) fn digest(world: &World, terrain: &Terrain, works: &Works, imp_count: u32) -> StateHash {
    world.state_hash().and(|hasher| {
        write_terrain(hasher, terrain);
        works.digest(|number| hasher.write_u64(number));
        // The next imp gets its random numbers by its number.
        hasher.write_u64(imp_count.into());
    })
}

/// Which cells are open, and which of them hang together: each region goes by the
/// place of its first cell in reading order.
fn write_terrain(hasher: &mut StateHasher, terrain: &Terrain) {
    let grid = terrain.grid();
    hasher.write_u64(u64::from(grid.width()) << 16 | u64::from(grid.height()));
    let slot_count = terrain.regions().ids().map(|region| region.slot() + 1).max().unwrap_or(0);
    let mut first_cells = vec![None; slot_count];
    for (place, cell) in grid.cells().enumerate() {
        if let Some(region) = terrain.region(cell) {
            let first = *first_cells[region.slot()].get_or_insert(place);
            hasher.write_u64((place as u64) << 32 | first as u64);
        }
    }
}
