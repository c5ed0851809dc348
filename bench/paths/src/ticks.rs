//! Ticks of whole crowds: there is no peer that does the same, so these stand beside a target.

use std::hint::black_box;
use std::time::{Duration, Instant};

use cpu_time::ThreadTime;
use formic_ecs::{RandomStream, World};
use formic_jobs::{Pool, Schedule, Threads};
use formic_nav::{
    Avoid, Cell, FlowField, FlowFields, FlowFollower, FlowStatus, MoveRule, PathRequest,
    RequestStatus, SearchBudget, Terrain, generate, systems,
};

/// One row: what a tick takes.
pub(crate) struct Tick {
    pub(crate) name: &'static str,
    /// Agents that were on their way in the ticks that count, at least.
    pub(crate) agent_count: usize,
    /// Microseconds a tick, on one thread.
    pub(crate) us: f64,
    pub(crate) target_us: Option<f64>,
}

const AGENT_COUNT: usize = 10_000;
/// Ticks of one turn.
const TURN_TICKS: u32 = 10;

/// All rows. The best of so many turns counts.
pub(crate) fn all(rounds: u32) -> Result<Vec<Tick>, String> {
    Ok(vec![
        follow(rounds, false)?,
        follow(rounds, true)?,
        flow(rounds, false)?,
        flow(rounds, true)?,
        flow_of_many(rounds)?,
        edit_of_a_field(rounds)?,
    ])
}

fn terrain() -> Result<Terrain, String> {
    let grid = generate::dungeon(512, 512, 7).map_err(|error| error.to_string())?;
    Ok(Terrain::new(grid, MoveRule::BothFree))
}

/// The cells of the largest region.
fn cells(terrain: &Terrain) -> Vec<Cell> {
    let regions = terrain.regions();
    let largest = regions.ids().max_by_key(|&region| regions.cell_count(region));
    largest.map(|region| regions.cells(region).collect()).unwrap_or_default()
}

fn choose(stream: &mut RandomStream, cells: &[Cell]) -> Cell {
    let place = stream.below(cells.len() as u64);
    cells[usize::try_from(place).expect("less than the length")]
}

/// A world, and what runs it.
struct Sim {
    world: World,
    schedule: Schedule,
    pool: Pool,
    /// Whether more threads than this one count.
    by_wall: bool,
}

impl Sim {
    fn new(mut world: World, threads: Threads) -> Result<Self, String> {
        let by_wall = !matches!(threads, Threads::None);
        let schedule = systems::add(Schedule::builder()).build(&mut world);
        let schedule = schedule.map_err(|error| error.to_string())?;
        let pool = Pool::new(threads).map_err(|error| error.to_string())?;
        Ok(Self { world, schedule, pool, by_wall })
    }

    fn tick(&mut self) {
        black_box(self.schedule.run(&mut self.world, &self.pool));
    }

    /// Microseconds of a tick in the best of some turns.
    fn measure(&mut self, rounds: u32) -> f64 {
        let mut best = Duration::MAX;
        for _ in 0..rounds {
            let (clock, wall) = (ThreadTime::now(), Instant::now());
            (0..TURN_TICKS).for_each(|_| self.tick());
            best = best.min(if self.by_wall { wall.elapsed() } else { clock.elapsed() });
        }
        best.as_nanos() as f64 / 1e3 / f64::from(TURN_TICKS)
    }
}

/// Agents on paths of their own, across a dungeon of 512 x 512 cells.
fn follow(rounds: u32, gives_way: bool) -> Result<Tick, String> {
    let terrain = terrain()?;
    let cells = cells(&terrain);
    let mut stream = RandomStream::new(3);
    let mut world = World::new();
    for _ in 0..AGENT_COUNT {
        let place = choose(&mut stream, &cells).centre();
        let agent = world.spawn(systems::agent(place, 2.0 + stream.between(0.0, 3.0)));
        if gives_way {
            world.insert(agent, Avoid::default()).map_err(|error| error.to_string())?;
        }
        let goal = choose(&mut stream, &cells).centre();
        let request = world.get_mut::<PathRequest>(agent);
        request.map_err(|error| format!("{error:?}"))?.ask(goal);
    }
    systems::insert_resources(&mut world, terrain);
    world.insert_resource(SearchBudget { expansions: u64::MAX });
    let mut sim = Sim::new(world, Threads::None)?;
    // All paths are found here.
    (0..3).for_each(|_| sim.tick());
    let us = sim.measure(rounds);
    let requests = sim.world.query::<&PathRequest>();
    let agent_count = requests
        .map(|request| request.status())
        .filter(|status| *status == RequestStatus::Found)
        .count();
    let name = if gives_way { "paths, giving way" } else { "paths" };
    let target_us = Some(if gives_way { 4_000.0 } else { 1_000.0 });
    Ok(Tick { name, agent_count, us, target_us })
}

/// Agents on one flow field, across the same dungeon.
fn flow(rounds: u32, gives_way: bool) -> Result<Tick, String> {
    let name = if gives_way { "one flow field, giving way" } else { "one flow field" };
    let target_us = Some(if gives_way { 4_000.0 } else { 400.0 });
    flow_on(terrain()?, Threads::None, AGENT_COUNT, rounds, gives_way)
        .map(|(us, agent_count)| Tick { name, agent_count, us, target_us })
}

/// Ten times as many on a map of ten times as many cells, on two threads, by the clock on the wall.
fn flow_of_many(rounds: u32) -> Result<Tick, String> {
    let grid = generate::dungeon(1600, 1600, 7).map_err(|error| error.to_string())?;
    let terrain = Terrain::new(grid, MoveRule::BothFree);
    let (us, agent_count) = flow_on(terrain, Threads::Own(1), 10 * AGENT_COUNT, rounds, true)?;
    let name = "one flow field, giving way, two threads";
    Ok(Tick { name, agent_count, us, target_us: Some(100_000.0) })
}

/// Microseconds of a tick, and how many agents are on their way.
fn flow_on(
    terrain: Terrain,
    threads: Threads,
    count: usize,
    rounds: u32,
    gives_way: bool,
) -> Result<(f64, usize), String> {
    let cells = cells(&terrain);
    let mut stream = RandomStream::new(3);
    let mut fields = FlowFields::default();
    fields.expansions_per_tick = u64::MAX;
    let field = fields.add(&terrain, &[cells[cells.len() / 2]]);
    let mut world = World::new();
    for _ in 0..count {
        let place = choose(&mut stream, &cells).centre();
        let speed = 2.0 + stream.between(0.0, 3.0);
        let agent = world.spawn(systems::flow_agent(place, speed, field));
        if gives_way {
            world.insert(agent, Avoid::default()).map_err(|error| error.to_string())?;
        }
    }
    systems::insert_resources(&mut world, terrain);
    world.insert_resource(fields);
    let mut sim = Sim::new(world, threads)?;
    // The field is worked out here.
    (0..3).for_each(|_| sim.tick());
    let us = sim.measure(rounds);
    let followers = sim.world.query::<&FlowFollower>();
    let agent_count =
        followers.map(|one| one.status()).filter(|status| *status == FlowStatus::Going).count();
    Ok((us, agent_count))
}

/// A flow field of the whole map that follows a wall, which rises and falls, to its end.
fn edit_of_a_field(rounds: u32) -> Result<Tick, String> {
    let mut terrain = terrain()?;
    let cells = cells(&terrain);
    let mut field = FlowField::new(&terrain, &[cells[cells.len() / 2]]);
    field.settle_all(&terrain);
    let mut stream = RandomStream::new(5);
    let mut sum = Duration::ZERO;
    let edit_count = 50;
    for _ in 0..edit_count {
        let cell = choose(&mut stream, &cells);
        let mut best = Duration::MAX;
        for _ in 0..rounds {
            terrain.fill(cell);
            let clock = ThreadTime::now();
            black_box(field.settle_all(&terrain).distance(cells[0]));
            let filled = clock.elapsed();
            terrain.dig(cell);
            let clock = ThreadTime::now();
            black_box(field.settle_all(&terrain).distance(cells[0]));
            best = best.min((filled + clock.elapsed()) / 2);
        }
        sum += best;
    }
    let us = sum.as_nanos() as f64 / 1e3 / f64::from(edit_count);
    Ok(Tick { name: "the field after one edit, all of it", agent_count: 0, us, target_us: None })
}
