//! The dungeon as the shell sees it.

use ecs_core::{RandomStream, World};
use ecs_jobs::{IntoSystem, Pool, Schedule, Threads};
use nav::{
    Cell, Grid, MoveRule, Position, SearchReport, Tally, TallySum, Terrain, Wander, systems,
};

use crate::dungeon::digest::digest;
use crate::dungeon::picture::picture;
use crate::dungeon::watch::{Watch, watch};
use crate::dungeon::works::{Works, WorksCount, work};
use crate::failure::Failure;
use crate::raster::Raster;
use crate::setup::Setup;
use crate::simulation::{Counter, Simulation, Summary};
use crate::text::grouped;
use crate::view::View;

/// The slowest and the fastest imp, in cells per second; at twenty ticks a second
/// none walks half a cell in a tick, which `watch` relies on.
const SPEEDS: (f32, f32) = (2.0, 5.0);

/// Streams of random numbers that have nothing to do with each other.
const WORKS_STREAM: u64 = 0;
const PLACES_STREAM: u64 = 1;
const IMPS_STREAM: u64 = 2;

/// A world of imps, and what runs it.
pub(super) struct Dungeon {
    pub(super) world: World,
    pub(super) schedule: Schedule,
    pub(super) pool: Pool,
    open_count_at_start: usize,
}

impl Dungeon {
    pub(super) fn new(setup: &Setup, grid: Grid) -> Result<Self, Failure> {
        let terrain = Terrain::new(grid, MoveRule::default());
        let open_count_at_start = terrain.grid().open_count();
        let seed = RandomStream::new(setup.seed);
        let mut world = World::new();
        spawn_imps(&mut world, &terrain, setup.agents, &seed);
        world.insert_resource(Works::new(seed.fork(WORKS_STREAM), &terrain));
        systems::insert_resources(&mut world, terrain);
        let schedule = systems::add(Schedule::builder().add(work.before(systems::push_out)))
            .add(watch.after(systems::search))
            .build(&mut world)
            .expect("the order of these systems has no circles");
        Ok(Self { world, schedule, pool: pool(setup.threads)?, open_count_at_start })
    }

    pub(super) fn terrain(&self) -> &Terrain {
        self.world.resource().expect("inserted at the start, and nobody takes it out")
    }

    fn works(&self) -> &Works {
        self.world.resource().expect("inserted at the start, and nobody takes it out")
    }

    fn report(&self) -> SearchReport {
        self.world.resource().copied().unwrap_or_default()
    }

    fn tally(&self) -> TallySum {
        Tally::sum(self.world.query_ref::<&Tally>().map(|tally| *tally))
    }

    /// What the watch has seen, and what it cannot see: where everybody is now.
    fn check_imps(&self) -> Result<(), String> {
        for (position, watch) in self.world.query_ref::<(&Position, &Watch)>() {
            let is_in_the_open = position.cell().is_some_and(|cell| self.terrain().is_open(cell));
            if watch.ticks_in_rock > 0 || !is_in_the_open || !position.0.is_finite() {
                return Err(format!("an imp, now at {}, stood in rock", position.0));
            }
            if watch.illegal_moves > 0 {
                return Err(format!("an imp, now at {}, walked through rock", position.0));
            }
        }
        Ok(())
    }
}

/// The calling thread works as well, so it counts as one.
fn pool(threads: usize) -> Result<Pool, Failure> {
    let threads = match threads {
        0 | 1 => Threads::None,
        several => Threads::Own(several - 1),
    };
    Pool::new(threads).map_err(|error| Failure::Usage(error.to_string()))
}

/// Puts imps on random open cells, as many in each as may happen.
fn spawn_imps(world: &mut World, terrain: &Terrain, count: u32, seed: &RandomStream) {
    let grid = terrain.grid();
    let open: Vec<Cell> = grid.cells().filter(|&cell| grid.is_open(cell)).collect();
    let mut places = seed.fork(PLACES_STREAM);
    let streams = seed.fork(IMPS_STREAM);
    let imps = (0..count).map(|number| {
        let mut stream = streams.fork(number.into());
        let chosen = usize::try_from(places.below(open.len() as u64)).unwrap_or_default();
        let position = open[chosen].centre();
        let speed = stream.between(SPEEDS.0, SPEEDS.1);
        (systems::agent(position, speed), Wander::new(stream), Watch::new(position))
    });
    world.spawn_batch(imps);
}

impl Simulation for Dungeon {
    fn tick(&mut self) {
        let report = self.schedule.run(&mut self.world, &self.pool);
        debug_assert!(report.failures.is_empty(), "no system here records commands");
    }

    fn state_hash(&self) -> u64 {
        digest(&self.world, self.terrain(), self.works())
    }

    fn counters(&self) -> Vec<Counter> {
        let (tally, works, report) = (self.tally(), self.works().count, self.report());
        [
            ("paths_found", tally.paths_found),
            ("paths_unreachable", tally.paths_unreachable),
            ("paths_broken", tally.paths_broken),
            ("arrivals", tally.arrivals),
            ("pushed_out", tally.pushed_out),
            ("regions", self.terrain().regions().count() as u64),
            ("regions_merged", works.regions_merged),
            ("regions_split", works.regions_split),
            ("tiles_dug", works.tiles_dug),
            ("tiles_filled", works.tiles_filled),
            ("cells_expanded", report.expansions),
        ]
        .map(|(name, value)| Counter::new(name, value))
        .into()
    }

    fn check(&self) -> Result<(), String> {
        self.check_imps()?;
        self.terrain().check().map_err(|fault| fault.to_string())?;
        self.world.check().map_err(|broken| broken.to_string())
    }

    fn view(&self) -> Option<&dyn View> {
        Some(self)
    }

    fn view_mut(&mut self) -> Option<&mut dyn View> {
        Some(self)
    }

    fn raster(&self) -> Raster {
        picture(&self.world, self.terrain())
    }

    fn summary(&self) -> Summary {
        let (tally, works, report) = (self.tally(), self.works().count, self.report());
        Summary::new()
            .line("map", self.map_line())
            .line("works", works_line(&works))
            .line("paths", paths_line(&tally))
            .line("imps", imps_line(&tally))
            .line("search", search_line(&report))
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

fn paths_line(tally: &TallySum) -> String {
    format!(
        "{} found, {} unreachable, {} broken by an edit on the way",
        grouped(tally.paths_found),
        grouped(tally.paths_unreachable),
        grouped(tally.paths_broken),
    )
}

fn imps_line(tally: &TallySum) -> String {
    format!(
        "{} walks ended at their goal, {} imps put aside by a new wall",
        grouped(tally.arrivals),
        grouped(tally.pushed_out),
    )
}

fn search_line(report: &SearchReport) -> String {
    format!(
        "{} cells expanded, {} in the busiest tick",
        grouped(report.expansions),
        grouped(report.expansions_max),
    )
}
