//! Costs in bad moments, each over growing sizes: what an edit, a crowd or a far request takes at worst.

use std::hint::black_box;
use std::time::Duration;

use cpu_time::ThreadTime;
use formic_ecs::{Entity, RandomStream, World};
use formic_jobs::{Pool, Schedule, Threads};
use formic_nav::{
    Algorithm, Avoid, Cell, FlowFields, Grid, MoveRule, Path, PathOutcome, PathQuery, PathRequest,
    PathScratch, RequestStatus, SearchBudget, SearchReport, Terrain, Weight, generate, systems,
};
use glam::Vec2;

use crate::maps::Problem;

/// One row: a figure for each size.
pub(crate) struct Cost {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) figures: Vec<(String, f64)>,
    /// The most that it should be at any of these sizes.
    pub(crate) target: Option<f64>,
}

/// All rows; edits of public maps where there are any.
pub(crate) fn all(maps: &[Problem]) -> Result<Vec<Cost>, String> {
    let mut costs = vec![ties("expansions"), ties("us"), ties_by_a_star()];
    costs.extend(crowds()?);
    costs.push(near_behind_far()?);
    costs.push(field_repair()?);
    costs.extend(edits_of_dungeons()?);
    costs.extend(edits_of_mazes());
    costs.extend(edits_of_maps(maps));
    costs.extend(landmarks_of_maps(maps));
    costs.extend(doors());
    costs.push(reachable());
    costs.push(search_under_edits()?);
    costs.push(weights());
    Ok(costs)
}

fn square(side: u16, is_open: impl FnMut(Cell) -> bool) -> Terrain {
    let grid = Grid::from_fn(side.into(), side.into(), is_open).expect("the side is small enough");
    Terrain::new(grid, MoveRule::BothFree)
}

fn us(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}

/// Thread time of the best of three.
fn best_us(mut work: impl FnMut()) -> f64 {
    let times = (0..3).map(|_| {
        let clock = ThreadTime::now();
        work();
        us(clock.elapsed())
    });
    times.fold(f64::INFINITY, f64::min)
}

/// Across an open map with one heavy cell in a corner of it.
fn ties(unit: &'static str) -> Cost {
    let figure = |side: u16| {
        let mut terrain = square(side, |_| true);
        terrain.set_weight(Cell::new(0, side - 1), Weight::new(9).expect("not zero"));
        let (mut scratch, mut path) = (PathScratch::new(), Path::new());
        let goal = Cell::new(side - 2, side / 3);
        let time = best_us(|| {
            let outcome = scratch.find(&terrain, Cell::new(1, 1), goal, &mut path);
            assert!(matches!(black_box(outcome), PathOutcome::Found { .. }));
        });
        let value = if unit == "us" { time } else { scratch.expansion_count() as f64 };
        (side.to_string(), value)
    };
    let name = "open map, one heavy cell";
    Cost { name, unit, figures: [512, 1024, 2048].map(figure).into(), target: None }
}

fn ties_by_a_star() -> Cost {
    let figure = |side: u16| {
        let terrain = square(side, |_| true);
        let query = PathQuery::new(Cell::new(1, 1), Cell::new(side - 2, side / 3));
        let mut scratch = PathScratch::new();
        let outcome = scratch.solve(&terrain, &query.by(Algorithm::AStar), &mut Path::new());
        assert!(matches!(outcome, PathOutcome::Found { .. }));
        (side.to_string(), scratch.expansion_count() as f64)
    };
    let figures = [512, 1024, 2048].map(figure).into();
    Cost { name: "the same by A*", unit: "expansions", figures, target: None }
}

struct Sim {
    world: World,
    schedule: Schedule,
    pool: Pool,
}

impl Sim {
    fn new(terrain: Terrain) -> Result<Self, String> {
        let mut world = World::new();
        systems::insert_resources(&mut world, terrain);
        let schedule = systems::add(Schedule::builder()).build(&mut world);
        let schedule = schedule.map_err(|error| error.to_string())?;
        let pool = Pool::new(Threads::None).map_err(|error| error.to_string())?;
        Ok(Self { world, schedule, pool })
    }

    fn tick(&mut self) -> f64 {
        let clock = ThreadTime::now();
        black_box(self.schedule.run(&mut self.world, &self.pool));
        us(clock.elapsed())
    }

    fn edit(&mut self, edit: impl FnOnce(&mut Terrain)) {
        edit(self.world.resource_mut::<Terrain>().expect("it was inserted"));
    }

    fn asker(&mut self, at: Vec2, goal: Vec2) -> Entity {
        let agent = self.world.spawn(systems::agent(at, 0.0));
        self.world.get_mut::<PathRequest>(agent).expect("it has one").ask(goal);
        agent
    }

    fn status(&self, agent: Entity) -> RequestStatus {
        self.world.get::<PathRequest>(agent).expect("it has one").status()
    }

    fn report(&self) -> SearchReport {
        *self.world.resource::<SearchReport>().expect("it was inserted")
    }
}

/// Bodies that follow one field: all in one place, spread, and how many times more the first takes.
fn crowds() -> Result<[Cost; 3], String> {
    let row = |name, unit, target| Cost { name, unit, figures: Vec::new(), target };
    let mut costs = [
        row("a crowd in one place", "ms a tick", None),
        row("the same spread", "ms a tick", None),
        row("one place against spread", "times", Some(3.0)),
    ];
    for (cost, is_dense) in costs.iter_mut().zip([true, false]) {
        for count in [1_000_u32, 4_000, 8_000] {
            let mut sim = Sim::new(square(400, |_| true))?;
            let mut stream = RandomStream::new(4);
            let mut fields = FlowFields::default();
            fields.expansions_per_tick = u64::MAX;
            let terrain = sim.world.resource::<Terrain>().expect("it was inserted").clone();
            let field = fields.add(&terrain, &[Cell::new(200, 200)]);
            sim.world.insert_resource(fields);
            let half = if is_dense { 2.0 } else { 195.0 };
            for _ in 0..count {
                let mut place = || 200.5 + stream.between(-half, half);
                let place = Vec2::new(place(), place());
                sim.world.spawn((systems::flow_agent(place, 2.0, field), Avoid::default()));
            }
            sim.tick();
            let best = (0..3).map(|_| sim.tick()).fold(f64::INFINITY, f64::min);
            cost.figures.push((count.to_string(), best / 1e3));
        }
    }
    for at in 0..costs[0].figures.len() {
        let (count, dense) = costs[0].figures[at].clone();
        let times = dense / costs[1].figures[at].1;
        costs[2].figures.push((count, times));
    }
    Ok(costs)
}

/// Weights from cell to cell, so that searches go step by step.
fn weighted(side: u16, weights: [u8; 3]) -> Terrain {
    let mut terrain = square(side, |_| true);
    for cell in terrain.grid().cells().collect::<Vec<_>>() {
        let which = (u32::from(cell.x) * 7 + u32::from(cell.y) * 13) % 3;
        let weight = Weight::new(weights[which as usize]).expect("not zero");
        terrain.set_weight(cell, weight);
    }
    terrain
}

/// Eight far requests, then fifty over six cells.
fn near_behind_far() -> Result<Cost, String> {
    let mut figures = Vec::new();
    for side in [256_u16, 512, 1024] {
        let mut sim = Sim::new(weighted(side, [1, 2, 5]))?;
        let end = f32::from(side) - 0.5;
        (0..8_u8).for_each(|i| _ = sim.asker(Vec2::new(0.5, f32::from(i) + 0.5), Vec2::splat(end)));
        sim.tick();
        let near: Vec<Entity> = (0..50_u8)
            .map(|i| {
                sim.asker(Vec2::new(20.5, f32::from(i) + 0.5), Vec2::new(26.5, f32::from(i) + 0.5))
            })
            .collect();
        let mut ticks = 0;
        while near.iter().all(|&agent| sim.status(agent) == RequestStatus::Pending) {
            sim.tick();
            ticks += 1;
        }
        figures.push((side.to_string(), f64::from(ticks)));
    }
    let name = "the first of 50 near requests behind 8 far ones";
    Ok(Cost { name, unit: "ticks", figures, target: Some(1.0) })
}

/// A follower far from the goal, and an edit beside the goal in every tick.
fn field_repair() -> Result<Cost, String> {
    let mut figures = Vec::new();
    for side in [500_u16, 1000, 2000] {
        let mut sim = Sim::new(square(side, |_| true))?;
        let mut fields = FlowFields::default();
        let terrain = sim.world.resource::<Terrain>().expect("it was inserted").clone();
        fields.expansions_per_tick = u64::MAX;
        let field = fields.add(&terrain, &[Cell::new(5, side / 2)]);
        sim.world.insert_resource(fields);
        let place = Vec2::new(f32::from(side) - 1.5, f32::from(side / 2) + 0.5);
        sim.world.spawn(systems::flow_agent(place, 2.0, field));
        sim.tick();
        sim.world.resource_mut::<FlowFields>().expect("it was inserted").expansions_per_tick =
            20_000;
        let mut worst = 0_f64;
        for tick in 0..60 {
            let cell = Cell::new(6, side / 2);
            sim.edit(|terrain| {
                _ = if tick % 2 == 0 { terrain.fill(cell) } else { terrain.dig(cell) }
            });
            worst = worst.max(sim.tick());
        }
        figures.push((side.to_string(), worst / 1e3));
    }
    Ok(Cost {
        name: "an edit beside the goal of a field",
        unit: "ms, worst tick",
        figures,
        target: None,
    })
}

/// The row of the median, that of 99 in 100, and that of the worst of some edits.
fn edit_rows(name: &'static str, p99_target: f64) -> [Cost; 3] {
    let row = |unit, target| Cost { name, unit, figures: Vec::new(), target };
    [
        row("us, median", None),
        row("us, 99 in 100", Some(p99_target)),
        row("us, worst", Some(1000.0)),
    ]
}

/// Edits of one terrain, into a row each.
fn add_edits(rows: &mut [Cost; 3], label: String, mut times: Vec<f64>) {
    times.sort_unstable_by(f64::total_cmp);
    let count = times.len();
    for (row, at) in rows.iter_mut().zip([count / 2, count * 99 / 100, count - 1]) {
        row.figures.push((label.clone(), times[at]));
    }
}

/// The times of random edits.
fn random_edits(terrain: &mut Terrain) -> Vec<f64> {
    let mut stream = RandomStream::new(9);
    let (width, height) = (terrain.grid().width(), terrain.grid().height());
    let mut below = |end: u16| u16::try_from(stream.below(end.into())).expect("less than a side");
    let mut edit = || {
        let cell = Cell::new(below(width), below(height));
        let clock = ThreadTime::now();
        black_box(terrain.dig(cell) || terrain.fill(cell));
        us(clock.elapsed())
    };
    (0..20_000).map(|_| edit()).collect()
}

fn edits_of_dungeons() -> Result<[Cost; 3], String> {
    let mut rows = edit_rows("an edit of a dungeon", 10.0);
    for side in [1000_u16, 2000, 4000] {
        let grid = generate::dungeon(side.into(), side.into(), 7);
        let grid = grid.map_err(|error| error.to_string())?;
        let mut terrain = Terrain::new(grid, MoveRule::BothFree);
        add_edits(&mut rows, side.to_string(), random_edits(&mut terrain));
    }
    Ok(rows)
}

/// Mazes without a loop, of corridors one cell wide: from each odd cell one leads to the north or
/// to the west.
fn edits_of_mazes() -> [Cost; 3] {
    let mut rows = edit_rows("an edit of a one-wide maze", 10.0);
    for side in [999_u16, 1999, 3999] {
        let leads_north = |x: u16, y: u16| {
            let seed = u64::from(x) << 16 | u64::from(y);
            y > 1 && (x == 1 || RandomStream::new(seed).next_u64() % 2 == 0)
        };
        let mut terrain = square(side, |Cell { x, y }| match (x % 2, y % 2) {
            (1, 1) => true,
            (1, 0) => y > 0 && y + 1 < side && leads_north(x, y + 1),
            (0, 1) => x > 0 && x + 1 < side && !leads_north(x + 1, y),
            _ => false,
        });
        add_edits(&mut rows, side.to_string(), random_edits(&mut terrain));
    }
    rows
}

/// Public maps of games.
fn edits_of_maps(maps: &[Problem]) -> Vec<Cost> {
    let is_of_game =
        |map: &&Problem| ["bg512", "da2", "dao", "sc1"].iter().any(|set| map.name.starts_with(set));
    let mut rows = edit_rows("an edit of a map of a game", 2.0);
    for map in maps.iter().filter(is_of_game) {
        add_edits(&mut rows, map.name.clone(), random_edits(&mut map.terrain.clone()));
    }
    if rows[0].figures.is_empty() { Vec::new() } else { rows.into() }
}

/// Public maps over weights: landmarks are placed, and then open cells are closed and opened again.
fn landmarks_of_maps(maps: &[Problem]) -> Vec<Cost> {
    let placing = Cost { name: "placing landmarks", unit: "ms", figures: Vec::new(), target: None };
    let mut placing = [placing];
    let mut rows = edit_rows("closing and opening a cell beside landmarks", 1000.0);
    for map in maps {
        let mut terrain = map.weighted().terrain;
        let clock = ThreadTime::now();
        terrain.place_landmarks();
        placing[0].figures.push((map.name.clone(), us(clock.elapsed()) / 1e3));
        let open: Vec<Cell> =
            terrain.grid().cells().filter(|&cell| terrain.is_open(cell)).collect();
        let mut stream = RandomStream::new(12);
        let times = (0..20_000).map(|_| {
            let place = usize::try_from(stream.below(open.len() as u64));
            let cell = open[place.expect("less than their number")];
            let clock = ThreadTime::now();
            assert!(terrain.fill(cell) && terrain.dig(cell) && terrain.has_landmarks());
            us(clock.elapsed())
        });
        let times = times.collect();
        add_edits(&mut rows, map.name.clone(), times);
    }
    if maps.is_empty() { Vec::new() } else { placing.into_iter().chain(rows).collect() }
}

/// The only door between two halves of a map.
fn doors() -> [Cost; 6] {
    let mut closed = edit_rows("closing the door between two halves", 1000.0);
    let mut opened = edit_rows("opening it", 1000.0);
    for side in [1000_u16, 2000, 4000] {
        let door = Cell::new(side / 2, side / 2);
        let mut terrain = square(side, |cell| cell.x != door.x || cell == door);
        let mut time = |edit: fn(&mut Terrain, Cell) -> bool| {
            let clock = ThreadTime::now();
            assert!(edit(&mut terrain, door));
            us(clock.elapsed())
        };
        let times = (0..100).map(|_| (time(Terrain::fill), time(Terrain::dig)));
        let (closings, openings) = times.unzip();
        add_edits(&mut closed, side.to_string(), closings);
        add_edits(&mut opened, side.to_string(), openings);
    }
    let ([a, b, c], [d, e, f]) = (closed, opened);
    [a, b, c, d, e, f]
}

fn reachable() -> Cost {
    let figure = |side: u16| {
        let terrain = square(side, |cell| cell.x % 9 != 4 || cell.y % 9 == 4);
        let mut stream = RandomStream::new(11);
        let mut place = || u16::try_from(stream.below(side.into())).expect("less than the side");
        let cells: Vec<Cell> = (0..4096).map(|_| Cell::new(place(), place())).collect();
        let time = best_us(|| {
            for pair in cells.windows(2).cycle().take(400_000) {
                black_box(terrain.reachable(pair[0], pair[1]));
            }
        });
        (side.to_string(), time * 1e3 / 400_000.0)
    };
    let figures = [1000, 2000, 4000].map(figure).into();
    Cost { name: "reachable", unit: "ns", figures, target: Some(20.0) }
}

/// A far search, and an edit where it has been in every tick.
fn search_under_edits() -> Result<Cost, String> {
    let mut figures = Vec::new();
    for side in [256_u16, 512, 1024] {
        let mut sim = Sim::new(weighted(side, [1, 2, 5]))?;
        let budget = 10_000;
        sim.world.insert_resource(SearchBudget { expansions: budget });
        let agent = sim.asker(Vec2::splat(0.5), Vec2::splat(f32::from(side) - 0.5));
        let mut tick = 0;
        while sim.status(agent) == RequestStatus::Pending {
            let cell = Cell::new(1, 3);
            sim.edit(|terrain| {
                _ = if tick % 2 == 0 { terrain.dig(cell) } else { terrain.fill(cell) }
            });
            sim.tick();
            tick += 1;
        }
        let beyond = sim.report().expansions_max as f64 / budget as f64;
        figures.push((side.to_string(), 100.0 * beyond));
    }
    let name = "a far search, edited where it has been in every tick";
    Ok(Cost { name, unit: "% of the budget, worst tick", figures, target: Some(110.0) })
}

/// Light weights beside heavy ones.
fn weights() -> Cost {
    let figure = |weights: [u8; 3]| {
        let terrain = weighted(512, weights);
        let (mut scratch, mut path) = (PathScratch::new(), Path::new());
        let time = best_us(|| {
            let outcome = scratch.find(&terrain, Cell::new(3, 3), Cell::new(500, 350), &mut path);
            assert!(matches!(black_box(outcome), PathOutcome::Found { .. }));
        });
        (format!("{weights:?}"), 1e3 * time / scratch.expansion_count() as f64)
    };
    let figures = [[1, 2, 3], [1, 100, 255], [85, 170, 255]].map(figure).into();
    Cost { name: "an expansion over weights", unit: "ns", figures, target: None }
}
