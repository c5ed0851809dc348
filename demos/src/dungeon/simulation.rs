//! The dungeon as the shell sees it.

use formic_ecs::StateHash;
use formic_jobs::Step;
use formic_nav::Terrain;

use crate::dungeon::cheat::Cheat;
use crate::dungeon::digest::digest;
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

    fn step(&mut self) -> Step {
        self.begin_tick();
        self.engine.step()
    }

    fn tick(&mut self) {
        self.begin_tick();
        self.engine.tick();
    }

    fn state_hash(&self) -> StateHash {
        let (works, visits) = (self.engine.resource(), self.engine.resource::<Visits>());
        digest(&self.engine.world, self.engine.resource(), works, visits.imps)
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

    /// A cheat: `dig 3 7`.
    fn input(&mut self, input: &str) -> Result<(), String> {
        let cheat: Cheat = input.parse()?;
        self.apply(cheat).map_err(|refusal| format!("{cheat}: {refusal}"))
    }
}
