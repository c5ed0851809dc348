//! The dungeon as the shell sees it.

use formic_ecs::StateHash;
use formic_jobs::{Save, Step};
use formic_nav::{PathStatsSum, SearchReport};

use crate::dungeon::cheat::{Cheat, CheatError};
use crate::dungeon::digest::digest;
use crate::dungeon::works::WorksCount;
use crate::dungeon::world::Dungeon;
use crate::engine::Engine;
use crate::simulation::{Counter, Simulation, Summary};
use crate::text::grouped;
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

    fn save(&self) -> Result<Save, String> {
        self.save_game().map_err(|error| error.to_string())
    }

    fn load(&mut self, save: &Save) -> Result<String, String> {
        self.load_game(save).map(|it| it.to_string())
    }

    fn state_hash(&self) -> StateHash {
        digest(&self.engine.world, self.terrain(), self.works(), self.imp_count)
    }

    fn counters(&self) -> Vec<Counter> {
        let (stats, works, report) = (self.stats(), self.works().count, self.report());
        [
            ("paths_found", stats.paths_found),
            ("paths_unreachable", stats.paths_unreachable),
            ("paths_broken", stats.paths_broken),
            ("arrivals", stats.arrivals),
            ("pushed_out", stats.pushed_out),
            ("regions", self.terrain().regions().count() as u64),
            ("regions_merged", works.regions_merged),
            ("regions_split", works.regions_split),
            ("tiles_dug", works.tiles_dug),
            ("tiles_filled", works.tiles_filled),
            ("cells_expanded", report.expansions),
            ("imps", self.imp_count.into()),
            ("cheats", self.cheat_count),
            ("cheats_refused", self.refusal_count),
        ]
        .map(|(name, value)| Counter::new(name, value))
        .into()
    }

    fn check(&self) -> Result<(), String> {
        walkers::check(&self.engine.world)?;
        self.terrain().check().map_err(|fault| fault.to_string())?;
        self.engine.check()
    }

    /// A cheat: `dig 3 7`.
    fn input(&mut self, input: &str) -> Result<(), String> {
        let cheat: Cheat = input.parse().map_err(|error: CheatError| error.to_string())?;
        self.apply(cheat).map_err(|refusal| format!("{cheat}: {refusal}"))
    }

    fn summary(&self) -> Summary {
        let (stats, works, report) = (self.stats(), self.works().count, self.report());
        Summary::new()
            .line("map", self.map_line())
            .line("works", works_line(&works))
            .line("paths", paths_line(&stats))
            .line("imps", imps_line(&stats))
            .line("search", search_line(&report))
            .line("cheats", self.cheats_line())
    }
}

impl Dungeon {
    fn map_line(&self) -> String {
        let terrain = self.terrain();
        let grid = terrain.grid();
        format!(
            "{} x {} cells, {} of them open ({} at the start), in {} regions",
            grid.width(),
            grid.height(),
            grouped(grid.open_count() as u64),
            grouped(self.open_count_at_start as u64),
            grouped(terrain.regions().count() as u64),
        )
    }

    fn cheats_line(&self) -> String {
        let (cheats, refused) = (grouped(self.cheat_count), grouped(self.refusal_count));
        format!("{cheats}, of which {refused} changed nothing")
    }
}

fn works_line(works: &WorksCount) -> String {
    format!(
        "{} tiles dug, {} filled in; regions merged {} and split {} times",
        grouped(works.tiles_dug),
        grouped(works.tiles_filled),
        grouped(works.regions_merged),
        grouped(works.regions_split),
    )
}

fn paths_line(stats: &PathStatsSum) -> String {
    format!(
        "{} found, {} as near as it gets, {} unreachable, {} broken by an edit on the way",
        grouped(stats.paths_found),
        grouped(stats.paths_partial),
        grouped(stats.paths_unreachable),
        grouped(stats.paths_broken),
    )
}

fn imps_line(stats: &PathStatsSum) -> String {
    format!(
        "{} walks reached their goal, new walls pushed imps out {} times",
        grouped(stats.arrivals),
        grouped(stats.pushed_out),
    )
}

fn search_line(report: &SearchReport) -> String {
    format!(
        "{} cells expanded, {} in the busiest tick",
        grouped(report.expansions),
        grouped(report.expansions_max),
    )
}
