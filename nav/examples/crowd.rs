//! A thousand agents walk to one goal by a flow field, while walls come and go:
//! `cargo run --release -p formic-nav --example crowd -- [PICTURE.ppm]`, with a picture of it once half of them are there.

#![expect(clippy::print_stdout, reason = "a program that prints what happens")]

use std::error::Error;

use formic_ecs::{Entity, World};
use formic_jobs::{Pool, Schedule, Threads};
use formic_nav::{
    Cell, DrawOptions, Facing, FlowFields, FlowFollower, FlowStatus, MoveRule, Position, Terrain,
    debug_draw, generate, systems,
};

const AGENT_COUNT: usize = 1000;
/// Cells per second.
const SPEED: f32 = 8.0;
/// Ticks between two edits.
const EDIT_PERIOD: usize = 20;
/// By then all have arrived, or something is wrong.
const TICK_COUNT_MAX: usize = 10_000;

fn main() -> Result<(), Box<dyn Error>> {
    let terrain = Terrain::new(generate::dungeon(256, 256, 7)?, MoveRule::BothFree);
    let regions = terrain.regions();
    let largest = regions.ids().max_by_key(|&region| regions.cell_count(region));
    let cells: Vec<Cell> = regions.cells(largest.ok_or("a dungeon without a room")?).collect();
    let goal = cells[cells.len() / 2];
    let mut fields = FlowFields::default();
    let field = fields.add(&terrain, &[goal]);
    let mut world = World::new();
    systems::insert_resources(&mut world, terrain);
    world.insert_resource(fields);
    let agents: Vec<Entity> = (0..AGENT_COUNT)
        .map(|number| cells[number * cells.len() / AGENT_COUNT].centre())
        .map(|place| world.spawn(systems::flow_agent(place, SPEED, field)))
        .collect();
    println!("{AGENT_COUNT} agents walk to {goal}.");

    let pool = Pool::new(Threads::None)?;
    let mut schedule = systems::add(Schedule::builder()).build(&mut world)?;
    let mut picture = std::env::args().nth(1);
    let mut wall = None;
    for tick in 1..=TICK_COUNT_MAX {
        if tick % EDIT_PERIOD == 0 {
            // The last wall falls, and a new one rises before an agent's feet.
            let agent = agents[tick / EDIT_PERIOD % agents.len()];
            let ahead = world.get::<Position>(agent)?.0 + world.get::<Facing>(agent)?.0;
            let terrain = world.resource_mut::<Terrain>()?;
            wall.take().map(|cell| terrain.dig(cell));
            wall = Cell::containing(ahead).filter(|&cell| cell != goal && terrain.fill(cell));
        }
        schedule.run(&mut world, &pool);
        let followers = world.query::<&FlowFollower>().into_iter();
        let left = followers.filter(|it| it.status() != FlowStatus::Arrived).count();
        if tick % 100 == 0 {
            println!("Tick {tick}: {left} on their way.");
        }
        if let Some(file) = picture.take_if(|_| left <= AGENT_COUNT / 2) {
            let options = DrawOptions { cell_pixels: 4, field: Some(field), ..Default::default() };
            std::fs::write(&file, debug_draw(&world, options).ppm())?;
            println!("Tick {tick}: the picture is in {file}.");
        }
        if left == 0 {
            println!("All have arrived after {tick} ticks.");
            return Ok(());
        }
    }
    Err("there are agents that never arrived".into())
}
