//! Obstacles: cells are solid exactly while one stands there, and bodies give way to those that move.

use std::collections::HashSet;

use formic_ecs::{Entity, World};
use formic_jobs::{Pool, Save, Schedule, Threads};
use formic_nav::{Avoid, Cell, Grid, MoveRule, Obstacle, Position, Terrain, systems};
use glam::Vec2;

use crate::flood::assert_exact;
use crate::noise;
use crate::rng::Rng;
use crate::sim::Sim;

/// Whether a square around a place covers some of a cell.
fn covers(place: Vec2, size: f32, cell: Cell) -> bool {
    let reach = size * 0.5;
    [(place.x, cell.x), (place.y, cell.y)].into_iter().all(|(at, cell)| {
        let low = f32::from(cell);
        at + reach > low && at - reach < low + 1.0
    })
}

#[test]
fn radii_that_no_body_has_are_taken_for_the_nearest() {
    for (asked, radius) in [(f32::NAN, 0.05), (-3.0, 0.05), (f32::INFINITY, 0.45), (0.2, 0.2)] {
        assert_eq!(Avoid::new(asked).radius().to_bits(), f32::to_bits(radius), "{asked}");
        let mut words: [u32; 18] = bytemuck::cast(Avoid::new(0.3));
        words[0] = asked.to_bits();
        let read: Avoid = bytemuck::cast(words);
        assert_eq!(read.radius().to_bits(), f32::to_bits(radius), "{asked}");
    }
}

/// A number of eighths of cells below a bound.
fn eighths(rng: &mut Rng, bound: usize) -> f32 {
    f32::from(u16::try_from(rng.below(bound)).unwrap()) / 8.0
}

/// A place, some of them beyond the map.
fn anywhere(rng: &mut Rng) -> Vec2 {
    Vec2::new(eighths(rng, 272) - 2.0, eighths(rng, 256) - 2.0)
}

fn build() -> (World, Schedule) {
    let mut world = World::new();
    let grid = noise::noise(&mut Rng::new(7), 30, 28, 80);
    systems::insert_resources(&mut world, Terrain::new(grid, MoveRule::default()));
    let schedule = systems::add(Schedule::builder()).build(&mut world).unwrap();
    (world, schedule)
}

#[test]
fn cells_are_solid_exactly_while_obstacles_stand_there_under_random_edits() {
    let mut rng = Rng::new(91);
    let (mut world, mut schedule) = build();
    let pool = Pool::new(Threads::None).unwrap();
    let mut ground = world.resource::<Terrain>().unwrap().grid().clone();
    // Of each where it was in the last tick, and its size.
    let mut obstacles: Vec<(Entity, Option<Vec2>, f32)> = Vec::new();
    let mut covered: HashSet<Cell> = HashSet::new();
    for tick in 0..600 {
        if obstacles.len() < 12 && rng.below(4) == 0 {
            let size = 2.0 * eighths(&mut rng, 12) + 0.25;
            let place = anywhere(&mut rng);
            let obstacle = world.spawn((Position(place), Obstacle::new(size)));
            obstacles.push((obstacle, None, size));
        }
        if !obstacles.is_empty() && rng.below(30) == 0 {
            let (obstacle, ..) = obstacles.swap_remove(rng.below(obstacles.len()));
            world.despawn(obstacle).unwrap();
        }
        for &(obstacle, ..) in &obstacles {
            let step = Vec2::new(eighths(&mut rng, 9), eighths(&mut rng, 9)) - 0.5;
            let position = world.get_mut::<Position>(obstacle).unwrap();
            match rng.below(12) {
                0 => position.0 = anywhere(&mut rng),
                1..=3 => position.0 += step,
                _ => {}
            }
        }
        for _ in 0..rng.below(3) {
            let cell = crate::cells::any_cell(&mut rng, &ground);
            // What is edited under an obstacle is open once it has left.
            let terrain = world.resource_mut::<Terrain>().unwrap();
            if rng.below(2) == 0 {
                terrain.dig(cell);
                ground.dig(cell);
            } else if !covered.contains(&cell) {
                terrain.fill(cell);
                ground.fill(cell);
            }
        }
        schedule.run(&mut world, &pool);
        covered.clear();
        for (obstacle, before, size) in &mut obstacles {
            let place = world.get::<Position>(*obstacle).unwrap().0;
            let way = before.replace(place).map_or(0.0, |before| before.distance(place));
            let stands = way == 0.0 || way > 2.0;
            let it = world.get::<Obstacle>(*obstacle).unwrap();
            assert_eq!(it.velocity() == Vec2::ZERO, stands, "{way}");
            if stands {
                covered.extend(ground.cells().filter(|&cell| covers(place, *size, cell)));
            }
        }
        let terrain = world.resource::<Terrain>().unwrap();
        for cell in ground.cells() {
            let is_open = ground.is_open(cell) && !covered.contains(&cell);
            assert_eq!(terrain.is_open(cell), is_open, "{cell} in tick {tick}");
        }
        assert_exact(terrain);
        if tick % 50 == 49 {
            let save = Save::of(&world, &schedule).unwrap();
            (world, schedule) = build();
            assert!(save.load(&mut world, &mut schedule).unwrap().is_exact());
        }
    }
}

#[test]
fn bodies_give_way_to_an_obstacle_that_moves_and_it_never_does() {
    let mut sim = Sim::new(Grid::from_fn(24, 9, |_| true).unwrap());
    let mut agents = Vec::new();
    for number in 0..12_u8 {
        let place = Vec2::new(6.5 + f32::from(number), 4.5 + f32::from(number % 3) * 0.5 - 0.5);
        agents.push(sim.world.spawn((systems::agent(place, 4.0), Avoid::new(0.3))));
    }
    // Half of them want to pass it.
    for &agent in &agents[6..] {
        sim.ask(agent, 1.5, 4.5);
    }
    let cart = sim.world.spawn((Position(Vec2::new(2.5, 4.5)), Obstacle::new(1.4)));
    sim.tick();
    for tick in 0..340_u16 {
        let place = Vec2::new(2.5 + f32::from(tick) * 0.05, 4.5);
        sim.world.get_mut::<Position>(cart).unwrap().0 = place;
        sim.tick();
        assert_eq!(sim.position(cart), place, "it is moved by the game alone");
        for &agent in &agents {
            let gap = sim.position(agent).distance(place) - 0.7 - 0.3;
            assert!(gap > -0.1, "tick {tick}: {agent} is {gap} away");
        }
    }
    // Where it has stopped it is a wall, and no body is in there.
    sim.ticks(2);
    assert!(!sim.terrain().is_open(Cell::containing(sim.position(cart)).unwrap()));
    for &agent in &agents {
        assert!(sim.terrain().is_open(Cell::containing(sim.position(agent)).unwrap()));
    }
}

#[test]
fn an_obstacle_under_way_blocks_no_cell_and_moves_no_agent_while_time_stands_still() {
    let mut sim = Sim::of(&[".....", "....."]);
    let agent = sim.spawn(2.4, 0.5, 3.0);
    let cart = sim.world.spawn((Position(Vec2::new(0.5, 0.5)), Obstacle::new(1.0)));
    let step = |sim: &mut Sim, seconds, way| {
        sim.set_time_step(seconds);
        sim.world.get_mut::<Position>(cart).unwrap().0.x += way;
        sim.tick();
        let velocity = sim.world.get::<Obstacle>(cart).unwrap().velocity();
        (velocity == Vec2::ZERO, sim.terrain().grid().open_count(), sim.position(agent).x)
    };
    assert_eq!(step(&mut sim, 0.05, 0.0), (true, 9, 2.4));
    assert_eq!([0.8, 0.9].map(|way| step(&mut sim, 0.05, way)), [(false, 10, 2.4); 2]);
    assert_eq!(
        [0.0, -5.0, -0.3].map(|seconds| step(&mut sim, seconds, 0.0)),
        [(false, 10, 2.4); 3]
    );
    assert!(step(&mut sim, 0.05, 0.0).0, "it stands once a tick takes time");
}

#[test]
fn the_velocity_of_an_obstacle_is_finite_however_short_a_tick_is() {
    for seconds in [1e-45, 1e-40, 1e-30, 0.05, 1e6] {
        let mut sim = Sim::of(&["......", "......"]);
        sim.set_time_step(seconds);
        let cart = sim.world.spawn((Position(Vec2::new(0.5, 0.5)), Obstacle::new(1.0)));
        for _ in 0..4 {
            sim.world.get_mut::<Position>(cart).unwrap().0.x += 1.0;
            sim.tick();
            let velocity = sim.world.get::<Obstacle>(cart).unwrap().velocity();
            assert!(velocity.is_finite(), "{velocity} in ticks of {seconds}");
        }
    }
}

#[test]
fn sizes_that_no_obstacle_has_are_taken_for_the_nearest() {
    for (asked, size) in [(f32::NAN, 0.1), (-3.0, 0.1), (99.0, 8.0), (2.5, 2.5)] {
        assert_eq!(Obstacle::new(asked).size().to_bits(), f32::to_bits(size), "{asked}");
        // From a save.
        let read: Obstacle = bytemuck::cast([asked, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(read.size().to_bits(), f32::to_bits(size), "{asked}");
    }
}
