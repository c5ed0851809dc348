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

/// One row: a figure for each size.
pub(crate) struct Cost {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) figures: Vec<(String, f64)>,
    /// The most that it should be at any of these sizes.
    pub(crate) target: Option<f64>,
}

pub(crate) fn all() -> Result<Vec<Cost>, String> {
    let mut costs = vec![ties("expansions"), ties("us"), ties_by_a_star()];
    costs.extend(crowds()?);
    costs.push(near_behind_far()?);
    costs.push(field_repair()?);
    costs.extend(edits()?);
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

/// Bodies that follow one field: all in one place, and spread.
fn crowds() -> Result<[Cost; 2], String> {
    let mut costs = [("a crowd in one place", true), ("the same spread", false)]
        .map(|(name, _)| Cost { name, unit: "ms a tick", figures: Vec::new(), target: None });
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

/// Random edits of a dungeon.
fn edits() -> Result<[Cost; 2], String> {
    let mut p99 = Vec::new();
    let mut worst = Vec::new();
    for side in [1000_u16, 2000, 4000] {
        let grid =
            generate::dungeon(side.into(), side.into(), 7).map_err(|error| error.to_string())?;
        let mut terrain = Terrain::new(grid, MoveRule::BothFree);
        let mut stream = RandomStream::new(9);
        let mut place = || u16::try_from(stream.below(side.into())).expect("less than the side");
        let mut times: Vec<f64> = (0..20_000)
            .map(|_| {
                let cell = Cell::new(place(), place());
                let clock = ThreadTime::now();
                black_box(terrain.dig(cell) || terrain.fill(cell));
                us(clock.elapsed())
            })
            .collect();
        times.sort_unstable_by(f64::total_cmp);
        p99.push((side.to_string(), times[times.len() * 99 / 100]));
        worst.push((side.to_string(), times[times.len() - 1]));
    }
    let name = "an edit of a dungeon";
    Ok([
        Cost { name, unit: "us, 99 in 100", figures: p99, target: Some(10.0) },
        Cost { name, unit: "us, worst", figures: worst, target: Some(1000.0) },
    ])
}

/// The only door between two halves of a map.
fn doors() -> [Cost; 2] {
    let figures = |is_closed: bool| {
        let figure = |side: u16| {
            let door = Cell::new(side / 2, side / 2);
            let mut terrain = square(side, |cell| cell.x != door.x || cell == door);
            let best = (0..5).map(|_| {
                let clock = ThreadTime::now();
                assert!(terrain.fill(door));
                let closed = us(clock.elapsed());
                let clock = ThreadTime::now();
                assert!(terrain.dig(door));
                if is_closed { closed } else { us(clock.elapsed()) }
            });
            (side.to_string(), best.fold(f64::INFINITY, f64::min))
        };
        [1000, 2000, 4000].map(figure).to_vec()
    };
    let (closed, opened) = (figures(true), figures(false));
    let target = Some(1000.0);
    [
        Cost { name: "closing the door between two halves", unit: "us", figures: closed, target },
        Cost { name: "opening it", unit: "us", figures: opened, target },
    ]
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
