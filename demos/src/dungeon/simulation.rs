//! The dungeon as a simulation for the shell.

use formic_ecs::{StateHash, StateHasher};
use formic_nav::Terrain;

use crate::dungeon::cheat::Cheat;
use crate::dungeon::works::Works;
use crate::dungeon::world::{Dungeon, Visits};
use crate::engine::Engine;
use crate::simulation::{Counter, Simulation};
use crate::walkers;

impl Simulation for Dungeon {
    fn engine(&self) -> &Engine {
        &self.engine
    }

    fn engine_mut(&mut self) -> &mut Engine {
        &mut self.engine
    }

    /// Applies the script's cheats for the coming tick; does nothing if the tick was begun by steps.
    fn begin_tick(&mut self) {
        let schedule = self.engine.schedule();
        if !schedule.is_stepping() {
            for cheat in self.script.get(&schedule.tick()).cloned().unwrap_or_default() {
                // Refused cheats are counted, and the run goes on: the map may have changed by then.
                _ = self.apply(cheat);
            }
        }
    }

    /// Hashes everything that the next tick depends on. The hash depends neither on the order of entities
    /// in memory, nor on the names of regions, nor on the number of threads.
    fn state_hash(&self) -> StateHash {
        self.engine.world.state_hash().and(|hasher| {
            write_terrain(hasher, self.engine.resource());
            self.engine.resource::<Works>().digest(|number| hasher.write_u64(number));
            // The number of imps so far determines the random numbers of the next one.
            hasher.write_u64(self.engine.resource::<Visits>().imps.into());
        })
    }

    fn counters(&self) -> Vec<Counter> {
        let (works, visits) = (self.engine.resource::<Works>(), self.engine.resource::<Visits>());
        let terrain = self.engine.resource::<Terrain>();
        let mut counters = walkers::counters(&self.engine);
        counters.extend([
            ("cells_open", terrain.grid().open_count() as u64),
            ("cells_open_at_start", works.open_count_at_start as u64),
            ("regions", terrain.regions().count() as u64),
            ("regions_merged", works.count.regions_merged),
            ("regions_split", works.count.regions_split),
            ("tiles_dug", works.count.tiles_dug),
            ("tiles_filled", works.count.tiles_filled),
            ("imps", visits.imps.into()),
            ("cheats", visits.cheats),
            ("cheats_refused", visits.refusals),
        ]);
        counters
    }

    fn check(&self) -> Result<(), String> {
        walkers::check(&self.engine.world)?;
        self.engine.check()
    }

    /// Applies a cheat: `dig 3 7`.
    fn input(&mut self, input: &str) -> Result<(), String> {
        let cheat: Cheat = input.parse()?;
        self.apply(cheat).map_err(|refusal| format!("{cheat}: {refusal}"))
    }
}

/// Hashes which cells are open, and which of them are connected: each region is named by the index of its
/// first cell in reading order.
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
