//! Shortest ways at any angle against a graph of all corners that see each other.

use formic_nav::{
    Algorithm, Avoid, Cell, Grid, Link, MoveRule, Path, PathFault, PathOutcome, PathQuery,
    PathRequest, PathScratch, RequestStatus, Route, Terrain, Weight, generate, path_cost,
};
use glam::Vec2;

use crate::rng::Rng;
use crate::sim::Sim;
use crate::visibility::{PARTS, Point, centre, is_clear, length, obstacles, shortest};
use crate::{cells, noise};

#[expect(clippy::cast_possible_truncation, reason = "it is a whole number of parts")]
fn points_of(path: &Path) -> Vec<Point> {
    let exact = |value: f32| {
        let parts = f64::from(value) * PARTS as f64;
        assert_eq!(parts.fract(), 0.0);
        parts as i64
    };
    path.points().map(|point| (exact(point.x), exact(point.y))).collect()
}

fn query(start: Cell, goal: Cell) -> PathQuery {
    PathQuery::new(start, goal).by(Algorithm::AnyAngle)
}

/// Checks a path of any angle, and returns its length.
fn check_path(
    terrain: &Terrain,
    path: &Path,
    outcome: PathOutcome,
    start: Cell,
    goal: Cell,
) -> f64 {
    let (grid, rule) = (terrain.grid(), terrain.rule());
    let points = points_of(path);
    let found: f64 = points.windows(2).map(|pair| length(pair[0], pair[1])).sum();
    assert!((outcome.cost().unwrap().length() - found).abs() < 1e-3, "{outcome:?} {found}");
    assert_eq!((points[0], points[points.len() - 1]), (centre(start), centre(goal)));
    let obstacles = obstacles(grid);
    for pair in points.windows(2) {
        assert!(is_clear(&obstacles, pair[0], pair[1]), "{pair:?} of {points:?}");
    }
    path_cost(grid, rule, path.cells()).unwrap();
    assert_eq!((path.cells().first(), path.cells().last()), (Some(&start), Some(&goal)));
    found
}

#[test]
fn ways_at_any_angle_are_the_shortest_on_random_maps_under_edits() {
    let mut rng = Rng::new(71);
    let (mut scratch, mut path, mut turns) = (PathScratch::new(), Path::new(), Vec::new());
    let (mut found_count, mut turned_count) = (0, 0);
    let map_count = if cfg!(debug_assertions) { 60 } else { 3000 };
    for round in 0..map_count {
        let (width, height) = (3 + rng.below(14), 2 + rng.below(12));
        let sides = [width, height].map(|side| u32::try_from(side).unwrap());
        let grid = noise::noise(&mut rng, sides[0], sides[1], 50 + round % 48);
        let mut terrain = Terrain::new(grid, MoveRule::BothFree);
        for _ in 0..4 {
            let [start, goal] = [0; 2].map(|_| cells::any_cell(&mut rng, terrain.grid()));
            let outcome = scratch.solve(&terrain, &query(start, goal), &mut path);
            let is_reachable = terrain.reachable(start, goal);
            assert_eq!(outcome.cost().is_some(), is_reachable);
            if is_reachable {
                let found = check_path(&terrain, &path, outcome, start, goal);
                let best = shortest(terrain.grid(), start, goal).unwrap();
                assert!(
                    (found - best).abs() < 1e-9,
                    "{found} for {best}, {start} to {goal} in\n{}",
                    terrain.grid().to_map()
                );
                found_count += 1;
                turned_count += usize::from(path.points().count() > 3);
                assert!(scratch.find(&terrain, start, goal, &mut path).cost().is_some());
                assert!(found < path.pull(&terrain, &mut turns) + 1e-9);
            }
            let cell = cells::any_cell(&mut rng, terrain.grid());
            let _changed = terrain.dig(cell) || terrain.fill(cell);
        }
    }
    assert!(
        found_count > map_count && turned_count > map_count / 4,
        "{found_count} {turned_count}"
    );
}

#[test]
fn ways_at_any_angle_over_large_maps_are_legal_and_no_longer_than_pulled_ones() {
    let mut rng = Rng::new(72);
    let (mut scratch, mut path, mut turns) = (PathScratch::new(), Path::new(), Vec::new());
    let mut shorter_count = 0;
    for seed in 0..12_u8 {
        // Words of 32 columns, and the last one of all lengths.
        let grid = generate::cavern(60 + 3 * u32::from(seed), 64, seed.into()).unwrap();
        let terrain = Terrain::new(grid, MoveRule::BothFree);
        for _ in 0..10 {
            let [start, goal] = [0; 2].map(|_| cells::any_cell(&mut rng, terrain.grid()));
            if scratch.find(&terrain, start, goal, &mut path).cost().is_some() {
                let pulled = path.pull(&terrain, &mut turns);
                let outcome = scratch.solve(&terrain, &query(start, goal), &mut path);
                let found = check_path(&terrain, &path, outcome, start, goal);
                assert!(found < pulled + 1e-9, "{found} for {pulled}");
                shorter_count += usize::from(found < pulled - 0.01);
            }
        }
    }
    assert!(shorter_count > 20, "{shorter_count}");
}

#[test]
fn an_interrupted_search_at_any_angle_ends_the_same() {
    let grid = generate::cavern(60, 60, 5).unwrap();
    let terrain = Terrain::new(grid, MoveRule::BothFree);
    let open: Vec<Cell> = terrain.grid().cells().filter(|&cell| terrain.is_open(cell)).collect();
    let (mut scratch, mut whole, mut path) = (PathScratch::new(), Path::new(), Path::new());
    let mut interruption_count = 0;
    for step in 1..30 {
        let query = query(open[0], open[open.len() - step * 7]).or_nearest();
        let expected = scratch.solve(&terrain, &query, &mut whole);
        let count = scratch.expansion_count();
        let mut outcome = scratch.solve(&terrain, &query.within(7), &mut path);
        let mut sum = scratch.expansion_count();
        while outcome == PathOutcome::OutOfBudget {
            outcome = scratch.resume(&terrain, 7, &mut path);
            assert!(scratch.expansion_count() <= 7);
            sum += scratch.expansion_count();
            interruption_count += 1;
        }
        assert_eq!((outcome, sum, &path), (expected, count, &whole));
    }
    assert!(interruption_count > 100);
}

#[test]
fn terrains_without_ways_at_any_angle_have_the_ordinary_ones() {
    let mut rng = Rng::new(73);
    let (mut scratch, mut path, mut ordinary) = (PathScratch::new(), Path::new(), Path::new());
    let mut check = |terrain: Terrain| {
        for _ in 0..20 {
            let [start, goal] = [0; 2].map(|_| cells::any_cell(&mut rng, terrain.grid()));
            let expected = scratch.find(&terrain, start, goal, &mut ordinary);
            assert_eq!(scratch.solve(&terrain, &query(start, goal), &mut path), expected);
            assert_eq!(path, ordinary);
        }
    };
    let grid = || generate::cavern(40, 40, 3).unwrap();
    let open: Vec<Cell> = grid().cells().filter(|&cell| grid().is_open(cell)).collect();
    for rule in [MoveRule::Orthogonal, MoveRule::OneFree, MoveRule::Always] {
        check(Terrain::new(grid(), rule));
    }
    let links = [Link::new(open[0], open[open.len() - 1], 2)];
    check(Terrain::new(grid(), MoveRule::BothFree).with_links(links));
    let mut terrain = Terrain::new(grid(), MoveRule::BothFree);
    terrain.set_weight(open[open.len() / 2], Weight::new(3).unwrap());
    check(terrain);
    // One weight everywhere is as good as another.
    let mut terrain = Terrain::new(grid(), MoveRule::BothFree);
    open.iter().for_each(|&cell| assert!(terrain.set_weight(cell, Weight::new(3).unwrap())));
    let (start, goal) = (open[0], open[open.len() - 1]);
    let outcome = scratch.solve(&terrain, &query(start, goal), &mut path);
    let length =
        scratch.solve(&Terrain::new(grid(), MoveRule::BothFree), &query(start, goal), &mut path);
    let lengths = [outcome, length].map(|it| it.cost().unwrap().units());
    assert_eq!(lengths[0], 3 * lengths[1]);
}

/// Asks for a way at any angle.
fn send(sim: &mut Sim, agent: formic_ecs::Entity, goal: Vec2) {
    sim.world.get_mut::<PathRequest>(agent).unwrap().ask(goal).any_angle();
}

#[test]
fn an_agent_walks_the_very_way_at_any_angle() {
    let mut rng = Rng::new(74);
    let mut turned_count = 0;
    for seed in 0..8 {
        let mut sim = Sim::new(generate::cavern(50, 50, seed).unwrap());
        for _ in 0..6 {
            let [start, goal] = [0; 2].map(|_| cells::any_cell(&mut rng, sim.terrain().grid()));
            if start == goal || !sim.terrain().reachable(start, goal) {
                continue;
            }
            let agent = sim.spawn(start.centre().x, start.centre().y, 7.0);
            // Not the middle of the cell: the way ends there by a step more.
            send(&mut sim, agent, goal.centre() + Vec2::splat(0.2));
            sim.tick();
            let path = sim.world.get::<Route>(agent).unwrap().path().clone();
            turned_count += usize::from(path.points().count() > 3);
            let (mut walked, mut before) = (0.0, sim.position(agent));
            while sim.status(agent) != RequestStatus::Arrived {
                sim.tick();
                let position = sim.position(agent);
                walked += f64::from(position.distance(before));
                before = position;
                let around = [-0.02, 0.02].map(Vec2::splat).map(|offset| position + offset);
                assert!(
                    around.iter().all(|&it| sim.terrain().is_open(Cell::containing(it).unwrap()))
                );
            }
            // A tick that turns cuts the corner of what is measured.
            let expected = path.cost().length() + 0.2 * 2_f64.sqrt();
            assert!(
                walked < expected + 1e-3 && walked > expected * 0.99 - 0.2,
                "{walked} {expected}"
            );
            assert_eq!(sim.stats(agent).paths_found, 1);
        }
    }
    assert!(turned_count > 10, "{turned_count}");
}

#[test]
fn edits_let_no_agent_on_a_way_at_any_angle_into_rock() {
    for (seed, gives_way) in [(75, false), (76, false), (77, true)] {
        let mut rng = Rng::new(seed);
        let mut sim = Sim::new(noise::noise(&mut rng, 30, 30, 80));
        let any_open = |rng: &mut Rng, sim: &Sim| loop {
            let cell = cells::any_cell(rng, sim.terrain().grid());
            if sim.terrain().is_open(cell) {
                return cell.centre();
            }
        };
        let agents: Vec<_> = (0..30)
            .map(|_| {
                let place = any_open(&mut rng, &sim);
                let agent = sim.spawn(place.x, place.y, 6.0);
                if gives_way {
                    sim.world.insert(agent, Avoid::new(0.2)).unwrap();
                }
                agent
            })
            .collect();
        for _ in 0..800 {
            let cell = cells::any_cell(&mut rng, sim.terrain().grid());
            let _changed = sim.terrain_mut().dig(cell) || sim.terrain_mut().fill(cell);
            for &agent in &agents {
                if sim.status(agent).is_at_rest() {
                    let goal = any_open(&mut rng, &sim);
                    let offset = Vec2::splat(0.1 * (rng.below(7) as f32 - 3.0));
                    send(&mut sim, agent, goal + offset);
                }
            }
            sim.tick();
            for &agent in &agents {
                let at = Cell::containing(sim.position(agent)).unwrap();
                assert!(sim.terrain().is_open(at), "{at}");
            }
        }
        assert!(sim.total(&agents, |stats| stats.arrivals) > 200);
        assert!(sim.total(&agents, |stats| stats.paths_broken) > 20);
    }
}

#[test]
fn a_wall_beside_the_line_breaks_a_way_at_any_angle() {
    let mut terrain = Terrain::new(Grid::from_fn(9, 9, |_| true).unwrap(), MoveRule::BothFree);
    let mut path = Path::new();
    let outcome =
        PathScratch::new().solve(&terrain, &query(Cell::new(0, 0), Cell::new(8, 5)), &mut path);
    assert_eq!((outcome.cost().is_some(), path.points().count()), (true, 2));
    for cell in terrain.grid().cells().collect::<Vec<_>>() {
        let is_end = cell == Cell::new(0, 0) || cell == Cell::new(8, 5);
        if !is_end && terrain.fill(cell) {
            let is_legal = path_cost(terrain.grid(), terrain.rule(), path.cells()).is_ok();
            let points = points_of(&path);
            let is_clear = is_clear(&obstacles(terrain.grid()), points[0], points[1]);
            assert_eq!(
                path.clone().revalidate(&terrain, 0).is_ok(),
                is_legal && is_clear,
                "{cell}"
            );
            terrain.dig(cell);
        }
    }
}

#[test]
fn the_first_fault_of_a_way_at_any_angle_is_told_be_it_a_step_or_a_line() {
    let mut rng = Rng::new(4);
    let (mut scratch, mut path, mut line_count) = (PathScratch::new(), Path::new(), 0);
    for _ in 0..400 {
        let mut terrain = Terrain::new(noise::noise(&mut rng, 40, 30, 90), MoveRule::BothFree);
        let [start, goal] = [0, 1].map(|_| cells::any_cell(&mut rng, terrain.grid()));
        let _ = scratch.solve(&terrain, &query(start, goal), &mut path);
        for _ in 0..20 {
            terrain.fill(cells::any_cell(&mut rng, terrain.grid()));
        }
        let step = path_cost(terrain.grid(), terrain.rule(), path.cells()).err();
        let number = |fault: PathFault| match fault {
            PathFault::Blocked { step } | PathFault::CutCorner { step } => step,
            fault => unreachable!("{fault}"),
        };
        let Some(step) = step.filter(|_| !path.is_empty()).map(number) else { continue };
        let told = number(path.revalidate(&terrain, 0).unwrap_err());
        assert!(told <= step, "{told} and not {step}");
        line_count += usize::from(told < step);
    }
    assert!(line_count > 0, "no line was broken before a step");
}
