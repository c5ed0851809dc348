//! Once warm, no query and no tick allocates.

use std::alloc::Layout;
use std::cell::Cell as Counter;

use crate::allocator::Watched;
use crate::rng::Rng;
use crate::sim::Sim;
use crate::{cells, noise};
use formic_ecs::Entity;
use formic_nav::{
    Algorithm, Avoid, Cell, FlowField, FlowFields, MoveRule, Path, PathQuery, PathRequest,
    PathScratch, Terrain, Weight, systems,
};
use glam::Vec2;

thread_local! {
    /// Of this thread alone: tests run side by side.
    static COUNT: Counter<u64> = const { Counter::new(0) };
    /// The bytes that it has taken, less those that it has given back.
    static HELD: Counter<usize> = const { Counter::new(0) };
}

fn count(layout: Layout) -> bool {
    COUNT.with(|count| count.set(count.get() + 1));
    HELD.with(|held| held.set(held.get().wrapping_add(layout.size())));
    true
}

fn uncount(layout: Layout) {
    HELD.with(|held| held.set(held.get().wrapping_sub(layout.size())));
}

#[global_allocator]
static WATCHED: Watched = Watched { grants: count, freed: uncount };

fn allocations(work: impl FnOnce()) -> u64 {
    let before = COUNT.get();
    work();
    COUNT.get() - before
}

#[test]
fn the_counting_allocator_counts_allocations() {
    assert_eq!(allocations(|| drop(std::hint::black_box(Box::new(5_u64)))), 1);
}

#[test]
fn a_warm_query_allocates_nothing_by_any_algorithm_on_any_ground() {
    let mut rng = Rng::new(11);
    for rule in MoveRule::ALL {
        let mut terrain = Terrain::new(noise::noise(&mut rng, 60, 60, 70), rule);
        for is_weighted in [false, true] {
            if is_weighted {
                terrain.set_weight(Cell::new(30, 30), Weight::new(9).unwrap());
            }
            let queries: Vec<PathQuery> = (0..40)
                .map(|_| {
                    let start = cells::any_cell(&mut rng, terrain.grid());
                    PathQuery::new(start, cells::any_cell(&mut rng, terrain.grid())).or_nearest()
                })
                .collect();
            let (mut scratch, mut path) = (PathScratch::new(), Path::new());
            let mut field = FlowField::new(&terrain, &[queries[0].goal]);
            let mut run = || {
                for query in &queries {
                    let _ = scratch.solve(&terrain, query, &mut path);
                    let _ = scratch.solve(&terrain, &query.by(Algorithm::AStar), &mut path);
                    let _ = scratch.solve(&terrain, &query.by(Algorithm::AnyAngle), &mut path);
                    let _ = field.direction(&terrain, query.start);
                }
            };
            run();
            assert_eq!(allocations(run), 0, "{rule:?}, weighted: {is_weighted}");
        }
    }
}

#[test]
fn the_memory_of_searches_and_fields_is_told_to_the_byte() {
    let mut rng = Rng::new(5);
    let mut terrain = Terrain::new(noise::noise(&mut rng, 90, 70, 70), MoveRule::BothFree);
    let (mut path, before) = (Path::new(), HELD.get());
    let mut scratch = PathScratch::new();
    for round in 0..60 {
        let [start, goal] = [0, 1].map(|_| cells::any_cell(&mut rng, terrain.grid()));
        let algorithm = if round % 2 == 0 { Algorithm::Auto } else { Algorithm::AStar };
        let _ = scratch.solve(&terrain, &PathQuery::new(start, goal).by(algorithm), &mut path);
        path = Path::new();
        assert_eq!(scratch.bytes(), HELD.get() - before);
    }
    drop(scratch);
    let mut field = FlowField::new(&terrain, &[Cell::new(40, 30)]);
    for _ in 0..60 {
        for _ in 0..rng.below(40) {
            let cell = cells::any_cell(&mut rng, terrain.grid());
            let _ = terrain.dig(cell) || terrain.fill(cell);
        }
        let _ = field.distance(&terrain, cells::any_cell(&mut rng, terrain.grid()));
    }
    let (bytes, with_field) = (field.bytes(), HELD.get());
    drop(field);
    assert_eq!(bytes, with_field - HELD.get());
}

/// Sends all agents to one of two goals, and lives some ticks.
fn there_and_back(sim: &mut Sim, agents: &[Entity]) {
    for goal in [Vec2::new(35.5, 3.5), Vec2::new(2.5, 35.5)] {
        for &agent in agents {
            sim.world.get_mut::<PathRequest>(agent).unwrap().ask(goal);
        }
        for _ in 0..30 {
            sim.schedule.run(&mut sim.world, &sim.pool);
        }
    }
}

#[test]
fn a_warm_tick_of_requests_paths_fields_and_crowds_allocates_nothing() {
    let grid = formic_nav::Grid::from_fn(40, 40, |cell| cell.x % 8 != 4 || cell.y % 5 > 1).unwrap();
    let mut sim = Sim::new(grid);
    let terrain = sim.terrain().clone();
    let mut fields = FlowFields::default();
    let field = fields.add(&terrain, &[Cell::new(20, 20)]);
    sim.world.insert_resource(fields);
    let mut agents = Vec::new();
    for number in 0..60_u8 {
        let place = Vec2::new(f32::from(number % 20) + 0.5, f32::from(number / 20) * 3.0 + 2.5);
        agents.push(match number % 2 {
            0 => sim.world.spawn(systems::agent(place, 9.0)),
            _ => sim.world.spawn((systems::agent(place, 9.0), Avoid::new(0.2))),
        });
        let bundle = (systems::flow_agent(place, 1.0, field), Avoid::new(0.2));
        sim.world.spawn(bundle);
    }
    // Paths, which agents exchange with the search, grow to the longest there is; and where a
    // crowd gathers, squares get their most members.
    for _ in 0..40 {
        there_and_back(&mut sim, &agents);
    }
    assert_eq!(allocations(|| there_and_back(&mut sim, &agents)), 0);
}
