//! Jump points against A* and Dijkstra, to the bit, on many kinds of maps.

use formic_jobs::{Pool, Threads};
use formic_nav::{
    Algorithm, Cell, Grid, MoveRule, Path, PathOutcome, PathQuery, PathScratch, Terrain, Weight,
    generate, path_cost,
};
use std::sync::Mutex;

use crate::rng::Rng;
use crate::{cells, dijkstra, noise};

/// Solves one query by both algorithms, which must agree on the cost.
fn both(terrain: &Terrain, start: Cell, goal: Cell, scratch: &mut PathScratch) -> Option<u64> {
    let query = PathQuery::new(start, goal);
    let (mut jumped, mut stepped) = (Path::new(), Path::new());
    let outcome = scratch.solve(terrain, &query, &mut jumped);
    let other = scratch.solve(terrain, &query.by(Algorithm::AStar), &mut stepped);
    assert_eq!(outcome, other, "{:?}: {start} to {goal}", terrain.rule());
    let cost = outcome.cost()?;
    for path in [&jumped, &stepped] {
        assert_eq!(path_cost(terrain.grid(), terrain.rule(), path.cells()), Ok(cost));
        assert_eq!((path.cells().first(), path.cells().last()), (Some(&start), Some(&goal)));
    }
    Some(cost.units())
}

/// Compares all paths from some cell to some others with the oracle.
fn check(terrain: &Terrain, rng: &mut Rng, scratch: &mut PathScratch, goal_count: usize) {
    let start = cells::any_cell(rng, terrain.grid());
    if !terrain.is_open(start) {
        return;
    }
    let best = dijkstra::distances(terrain.grid(), terrain.rule(), start);
    for _ in 0..goal_count {
        let goal = cells::any_cell(rng, terrain.grid());
        let cost = both(terrain, start, goal, scratch);
        assert_eq!(cost, best[terrain.grid().index(goal).unwrap()], "{start} to {goal}");
    }
}

/// Rooms of `side` cells with a door in most walls.
fn rooms(rng: &mut Rng, width: u32, height: u32, side: u16) -> Grid {
    let mut grid = Grid::from_fn(width, height, |cell| {
        (cell.x + 1) % (side + 1) != 0 && (cell.y + 1) % (side + 1) != 0
    })
    .unwrap();
    for _ in 0..width * height / u32::from(side) / 4 {
        grid.dig(cells::any_cell(rng, &grid));
    }
    grid
}

#[test]
fn jump_points_a_star_and_dijkstra_agree_on_noise_while_cells_change() {
    let mut rng = Rng::new(51);
    let mut scratch = PathScratch::new();
    for round in 0..48 {
        let rule = MoveRule::ALL[round % 4];
        let percent = [55, 70, 85, 97][round / 4 % 4];
        let (width, height) = ([9, 64, 131][round % 3], [40, 7, 66][round / 4 % 3]);
        let mut terrain = Terrain::new(noise::noise(&mut rng, width, height, percent), rule);
        for _ in 0..6 {
            for _ in 0..8 {
                let cell = cells::any_cell(&mut rng, terrain.grid());
                assert!(terrain.dig(cell) || terrain.fill(cell));
            }
            check(&terrain, &mut rng, &mut scratch, 12);
        }
    }
}

#[test]
fn they_agree_in_rooms_and_caves_while_doors_open_and_close() {
    let mut rng = Rng::new(52);
    let mut scratch = PathScratch::new();
    for round in 0..12_u16 {
        let rule = MoveRule::ALL[usize::from(round) % 4];
        let grid = if round < 8 {
            rooms(&mut rng, 150, 90, 5 + 3 * (round / 4))
        } else {
            generate::cavern(140, 100, u64::from(round)).unwrap()
        };
        let mut terrain = Terrain::new(grid, rule);
        for _ in 0..4 {
            for _ in 0..40 {
                let cell = cells::any_cell(&mut rng, terrain.grid());
                assert!(terrain.dig(cell) || terrain.fill(cell));
            }
            check(&terrain, &mut rng, &mut scratch, 20);
        }
    }
}

/// Lays patches of heavier and lighter ground, some of one cell.
fn lay_patches(terrain: &mut Terrain, rng: &mut Rng, count: usize) {
    for _ in 0..count {
        let corner = cells::any_cell(rng, terrain.grid());
        let sides = [1 + rng.below(9), 1 + rng.below(9)].map(|side| u16::try_from(side).unwrap());
        let weight = Weight::new(u8::try_from(1 + rng.below(5)).unwrap()).unwrap();
        for y in corner.y..corner.y + sides[1] {
            for x in corner.x..corner.x + sides[0] {
                terrain.set_weight(Cell::new(x, y), weight);
            }
        }
    }
}

#[test]
fn they_agree_over_patches_of_weight_while_cells_and_weights_change() {
    let mut rng = Rng::new(57);
    let mut scratch = PathScratch::new();
    let mut jumped = 0;
    for round in 0..48 {
        let rule = MoveRule::ALL[round % 4];
        let percent = [75, 90, 97, 100][round / 4 % 4];
        let (width, height) = ([60, 64, 131][round % 3], [40, 70, 66][round / 4 % 3]);
        let mut terrain = Terrain::new(noise::noise(&mut rng, width, height, percent), rule);
        let count = 1 + rng.below(3);
        for _ in 0..4 {
            lay_patches(&mut terrain, &mut rng, count);
            for _ in 0..8 {
                let cell = cells::any_cell(&mut rng, terrain.grid());
                assert!(terrain.dig(cell) || terrain.fill(cell));
            }
            check(&terrain, &mut rng, &mut scratch, 12);
            // Jump points take no memory for cells that they pass.
            let mut fresh = PathScratch::new();
            let ends = [0, 1].map(|_| cells::any_cell(&mut rng, terrain.grid()));
            let _ = fresh.find(&terrain, ends[0], ends[1], &mut Path::new());
            jumped += usize::from(fresh.bytes() < terrain.grid().cell_count() * 6);
        }
    }
    assert!(jumped > 96, "jump points were used on {jumped} of 192 terrains");
}

#[test]
fn every_map_of_three_by_four_cells_is_solved_under_every_rule() {
    let mut scratch = PathScratch::new();
    let (start, goal) = (Cell::new(0, 0), Cell::new(2, 3));
    for bits in 0..1_u32 << 10 {
        // Start and goal are open, the ten cells between are as the bits say.
        let is_open = |cell: Cell| {
            let place = u32::from(cell.y) * 3 + u32::from(cell.x);
            place == 0 || place == 11 || bits >> (place - 1) & 1 != 0
        };
        let grid = Grid::from_fn(3, 4, is_open).unwrap();
        for rule in MoveRule::ALL {
            let terrain = Terrain::new(grid.clone(), rule);
            let best = dijkstra::distances(terrain.grid(), rule, start);
            assert_eq!(both(&terrain, start, goal, &mut scratch), best[11], "{rule:?} {bits:b}");
            assert_eq!(both(&terrain, goal, start, &mut scratch), best[11], "{rule:?} {bits:b}");
        }
    }
}

#[test]
fn one_weight_everywhere_multiplies_the_cost() {
    let mut rng = Rng::new(53);
    let mut grid = noise::noise(&mut rng, 50, 50, 80);
    let light = Terrain::new(grid.clone(), MoveRule::BothFree);
    let cells: Vec<Cell> = grid.cells().collect();
    for &cell in &cells {
        grid.set_weight(cell, Weight::new(7).unwrap());
    }
    let heavy = Terrain::new(grid, MoveRule::BothFree);
    let mut scratch = PathScratch::new();
    for _ in 0..60 {
        let start = cells::any_cell(&mut rng, light.grid());
        let goal = cells::any_cell(&mut rng, light.grid());
        let cost = both(&light, start, goal, &mut scratch);
        assert_eq!(both(&heavy, start, goal, &mut scratch), cost.map(|cost| 7 * cost));
    }
}

/// A corridor one cell wide that winds through the whole map.
fn winding(width: u16, height: u16) -> Grid {
    let is_open = |cell: Cell| {
        let end = if cell.y % 4 == 1 { width - 1 } else { 0 };
        cell.y % 2 == 0 || cell.x == end
    };
    Grid::from_fn(width.into(), height.into(), is_open).unwrap()
}

#[test]
fn ways_whose_costs_need_more_than_32_bits_are_found_by_jumps() {
    // 128,512 steps of 33,461 units; the goal is where the last row begins.
    let terrain = Terrain::new(winding(511, 503), MoveRule::BothFree);
    let (start, goal) = (Cell::new(0, 0), Cell::new(510, 502));
    let cost = both(&terrain, start, goal, &mut PathScratch::new()).unwrap();
    assert_eq!(cost, (251 * 510 + 502) * u64::from(formic_nav::STRAIGHT));
    assert!(cost > u64::from(u32::MAX));
    // Nothing of it is done twice.
    let mut scratch = PathScratch::new();
    assert!(scratch.find(&terrain, start, goal, &mut Path::new()).cost().is_some());
    assert!(scratch.expansion_count() < 1_000, "{}", scratch.expansion_count());
}

#[test]
fn a_search_whose_costs_might_not_fit_is_by_a_star_from_the_beginning() {
    // One heavy cell in a corner: jumps, as long as all cells together do not weigh too much.
    let counts = [1, 255].map(|weight| {
        let grid = Grid::from_fn(310, 300, |_| true).unwrap();
        let cells: Vec<Cell> = grid.cells().collect();
        let mut terrain = Terrain::new(grid, MoveRule::BothFree);
        for cell in cells {
            terrain.set_weight(cell, Weight::new(weight).unwrap());
        }
        terrain.set_weight(Cell::new(0, 299), Weight::new(2).unwrap());
        let query = PathQuery::new(Cell::new(1, 1), Cell::new(290, 120));
        [Algorithm::Auto, Algorithm::AStar].map(|algorithm| {
            let mut scratch = PathScratch::new();
            let outcome = scratch.solve(&terrain, &query.by(algorithm), &mut Path::new());
            assert!(outcome.cost().is_some());
            scratch.expansion_count()
        })
    });
    assert!(counts[0][0] < 10 && counts[0][1] > 200, "{counts:?}");
    assert_eq!(counts[1][0], counts[1][1]);
}

#[test]
fn heavy_ways_whose_costs_need_more_than_32_bits_are_found() {
    let mut terrain = Terrain::new(winding(63, 41), MoveRule::BothFree);
    let cells: Vec<Cell> = terrain.grid().cells().collect();
    for &cell in &cells {
        terrain.set_weight(cell, Weight::new(255).unwrap());
    }
    let (start, goal) = (Cell::new(0, 0), Cell::new(62, 40));
    terrain.set_weight(start, Weight::ONE);
    let best = dijkstra::distances(terrain.grid(), terrain.rule(), start);
    let cost = both(&terrain, start, goal, &mut PathScratch::new());
    assert_eq!(cost, best[terrain.grid().index(goal).unwrap()]);
    assert!(cost > Some(u64::from(u32::MAX)));
}

#[test]
fn paths_are_the_same_on_any_number_of_threads() {
    let mut rng = Rng::new(54);
    let terrain = Terrain::new(noise::noise(&mut rng, 120, 120, 75), MoveRule::BothFree);
    let queries: Vec<(Cell, Cell)> = (0..300)
        .map(|_| {
            let start = cells::any_cell(&mut rng, terrain.grid());
            (start, cells::any_cell(&mut rng, terrain.grid()))
        })
        .collect();
    let solve_on = |threads| {
        let pool = Pool::new(threads).unwrap();
        let paths: Vec<Mutex<Path>> = queries.iter().map(|_| Mutex::new(Path::new())).collect();
        let scratches: Vec<Mutex<PathScratch>> =
            (0..pool.parallelism()).map(|_| Mutex::default()).collect();
        pool.for_each_range_with_slot(queries.len(), |slot, range| {
            let mut scratch = scratches[slot].lock().unwrap();
            for i in range {
                let (start, goal) = queries[i];
                let _ = scratch.find(&terrain, start, goal, &mut paths[i].lock().unwrap());
            }
        });
        paths.into_iter().map(|path| path.into_inner().unwrap()).collect::<Vec<Path>>()
    };
    let one = solve_on(Threads::None);
    assert!(one.iter().filter(|path| !path.is_empty()).count() > 50);
    assert_eq!(one, solve_on(Threads::Own(7)));
}

#[test]
fn a_partial_path_ends_at_the_nearest_cell_that_can_be_reached() {
    let mut rng = Rng::new(55);
    let (mut scratch, mut path) = (PathScratch::new(), Path::new());
    let mut partial_count = 0;
    for round in 0..200 {
        let rule = MoveRule::ALL[round % 4];
        let terrain = Terrain::new(noise::noise(&mut rng, 40, 30, 55), rule);
        let start = cells::any_cell(&mut rng, terrain.grid());
        let x = u16::try_from(rng.below(60)).unwrap();
        let goal = Cell::new(x, u16::try_from(rng.below(40)).unwrap());
        let query = PathQuery::new(start, goal).or_nearest();
        let outcome = scratch.solve(&terrain, &query, &mut path);
        let Some(region) = terrain.region(start) else {
            assert!(matches!(outcome, PathOutcome::Unreachable(_)) && path.is_empty());
            continue;
        };
        let PathOutcome::Partial { cost, .. } = outcome else {
            assert!(terrain.reachable(start, goal) && outcome.cost().is_some());
            continue;
        };
        partial_count += 1;
        // The distance on an empty map.
        let distance = |cell: Cell| {
            let dx = u64::from(cell.x.abs_diff(goal.x));
            let dy = u64::from(cell.y.abs_diff(goal.y));
            let straight = u64::from(formic_nav::STRAIGHT);
            match rule {
                MoveRule::Orthogonal => straight * (dx + dy),
                _ => {
                    straight * (dx.max(dy) - dx.min(dy))
                        + u64::from(formic_nav::DIAGONAL) * dx.min(dy)
                }
            }
        };
        let cells = terrain.regions().cells(region);
        let nearest = cells.min_by_key(|&cell| (distance(cell), cell));
        assert_eq!(path.cells().last().copied(), nearest);
        assert_eq!(scratch.find(&terrain, start, nearest.unwrap(), &mut path).cost(), Some(cost));
    }
    assert!(partial_count > 60, "{partial_count}");
}
