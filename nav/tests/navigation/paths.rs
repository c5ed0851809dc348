//! A* against Dijkstra, under every rule, with and without weights.

use formic_ecs::{HashState, StateHasher};
use formic_nav::{
    Algorithm, Cell, Grid, Link, MoveRule, Path, PathFault, PathOutcome, PathQuery, PathScratch,
    Terrain, Unreachable, Weight, path_cost,
};

use crate::rng::Rng;
use crate::{cells, dijkstra, noise};

fn open(width: u32, height: u32) -> Terrain {
    Terrain::new(Grid::from_fn(width, height, |_| true).unwrap(), MoveRule::default())
}

/// Compares the paths from one start to some goals with the oracle.
fn check_against_oracle(terrain: &Terrain, rng: &mut Rng, scratch: &mut PathScratch) {
    let (grid, rule) = (terrain.grid(), terrain.rule());
    let start = cells::any_cell(rng, grid);
    if !grid.is_open(start) {
        return;
    }
    let best = dijkstra::distances(grid, rule, start);
    let mut path = Path::new();
    for _ in 0..12 {
        let goal = cells::any_cell(rng, grid);
        let cost = scratch.find(terrain, start, goal, &mut path).cost();
        let expected = best[grid.index(goal).unwrap()];
        assert_eq!(cost.map(|cost| cost.units()), expected, "{rule:?}: {start} to {goal}");
        assert_eq!(expected.is_some(), terrain.reachable(start, goal));
        if let Some(cost) = cost {
            assert_eq!(path_cost(grid, rule, path.cells()), Ok(cost));
            assert_eq!(path.cost(), cost);
            assert_eq!((path.cells()[0], path.cells().last()), (start, Some(&goal)));
        }
    }
}

fn check_random_terrains(seed: u64, weight_max: usize) {
    let mut rng = Rng::new(seed);
    let mut scratch = PathScratch::new();
    for round in 0..120 {
        let (width, height) = (1 + rng.below(70), 1 + rng.below(40));
        let percent = 40 + rng.below(60);
        let (width, height) = (u32::try_from(width).unwrap(), u32::try_from(height).unwrap());
        let mut grid = noise::noise(&mut rng, width, height, percent);
        let cells: Vec<Cell> = grid.cells().collect();
        for cell in cells {
            let weight = u8::try_from(1 + rng.below(weight_max)).unwrap();
            grid.set_weight(cell, Weight::new(weight).unwrap());
        }
        let terrain = Terrain::new(grid, MoveRule::ALL[round % 4]);
        for _ in 0..4 {
            check_against_oracle(&terrain, &mut rng, &mut scratch);
        }
    }
}

#[test]
fn paths_are_optimal_and_legal_under_all_rules() {
    check_random_terrains(1, 1);
}

#[test]
fn paths_over_weights_are_optimal_and_legal_under_all_rules() {
    check_random_terrains(2, 5);
    check_random_terrains(3, 255);
}

#[test]
fn paths_stay_optimal_while_cells_change() {
    let mut rng = Rng::new(4);
    let mut scratch = PathScratch::new();
    for rule in MoveRule::ALL {
        let mut terrain = Terrain::new(noise::noise(&mut rng, 40, 30, 60), rule);
        for _ in 0..60 {
            for _ in 0..10 {
                let cell = cells::any_cell(&mut rng, terrain.grid());
                let _changed = terrain.dig(cell) || terrain.fill(cell);
                let weight = Weight::new(u8::try_from(1 + rng.below(3)).unwrap()).unwrap();
                terrain.set_weight(cells::any_cell(&mut rng, terrain.grid()), weight);
            }
            check_against_oracle(&terrain, &mut rng, &mut scratch);
        }
    }
}

#[test]
fn a_path_costs_the_same_in_both_directions() {
    let mut rng = Rng::new(5);
    let mut grid = noise::noise(&mut rng, 40, 40, 80);
    let cells: Vec<Cell> = grid.cells().collect();
    for cell in cells {
        grid.set_weight(cell, Weight::new(u8::try_from(1 + rng.below(9)).unwrap()).unwrap());
    }
    let terrain = Terrain::new(grid, MoveRule::BothFree);
    let (mut scratch, mut path) = (PathScratch::new(), Path::new());
    for _ in 0..200 {
        let a = cells::any_cell(&mut rng, terrain.grid());
        let b = cells::any_cell(&mut rng, terrain.grid());
        let there = scratch.find(&terrain, a, b, &mut path).cost();
        assert_eq!(there, scratch.find(&terrain, b, a, &mut path).cost());
    }
}

#[test]
fn the_same_query_gives_the_same_path_whatever_the_scratch_did_before() {
    let mut rng = Rng::new(6);
    let terrain = Terrain::new(noise::noise(&mut rng, 60, 60, 75), MoveRule::BothFree);
    let other = open(90, 80);
    let (mut used, mut path, mut again) = (PathScratch::new(), Path::new(), Path::new());
    for _ in 0..100 {
        let start = cells::any_cell(&mut rng, terrain.grid());
        let goal = cells::any_cell(&mut rng, terrain.grid());
        let _ = used.find(&other, goal, start, &mut path);
        let outcome = used.find(&terrain, start, goal, &mut path);
        assert_eq!(outcome, PathScratch::new().find(&terrain, start, goal, &mut again));
        assert_eq!(path, again);
    }
}

#[test]
fn start_and_goal_may_be_the_same_cell() {
    let terrain = open(3, 3);
    let (mut scratch, mut path) = (PathScratch::new(), Path::new());
    let here = Cell::new(0, 0);
    assert_eq!(scratch.find(&terrain, here, here, &mut path).cost().unwrap().units(), 0);
    assert_eq!(path.cells(), [here]);
    assert!(path.steps().is_empty());
}

#[test]
fn the_hash_of_a_path_sees_what_the_path_is_and_not_how_it_was_found() {
    let hash = |path: &Path| {
        let mut hasher = StateHasher::new();
        path.hash_state(&mut hasher);
        hasher.finish()
    };
    let mut terrain = open(9, 9);
    let (mut scratch, mut path) = (PathScratch::new(), Path::new());
    let mut find = |terrain: &Terrain, goal, by, path: &mut Path| {
        let query = PathQuery::new(Cell::new(0, 0), goal).by(by);
        assert!(scratch.solve(terrain, &query, path).cost().is_some());
        hash(path)
    };
    let goals = [Cell::new(5, 0), Cell::new(0, 5), Cell::new(6, 0), Cell::new(6, 3)];
    let mut hashes = vec![hash(&path)];
    hashes.extend(goals.map(|goal| find(&terrain, goal, Algorithm::AStar, &mut path)));
    let by_jumps = find(&terrain, goals[0], Algorithm::Auto, &mut Path::new());
    assert_eq!(by_jumps, hashes[1]);
    hashes.push(find(&terrain, goals[3], Algorithm::AnyAngle, &mut path));
    // The same cells at another cost, and of a grid that was edited.
    assert!(terrain.set_weight(Cell::new(3, 0), Weight::new(2).unwrap()));
    hashes.push(find(&terrain, Cell::new(3, 0), Algorithm::AStar, &mut path));
    assert!(terrain.set_weight(Cell::new(3, 0), Weight::new(3).unwrap()));
    hashes.push(find(&terrain, Cell::new(3, 0), Algorithm::AStar, &mut path));
    assert!(terrain.fill(Cell::new(8, 8)));
    hashes.push(find(&terrain, Cell::new(3, 0), Algorithm::AStar, &mut path));
    let count = hashes.len();
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), count);
}

#[test]
fn what_cannot_be_reached_is_refused_with_the_reason_and_no_search() {
    let grid = Grid::from_fn(5, 1, |cell| cell.x != 2).unwrap();
    let terrain = Terrain::new(grid, MoveRule::BothFree);
    let at = |x| Cell::new(x, 0);
    let check = |start, goal, expected| {
        let (mut scratch, mut path) = (PathScratch::new(), Path::new());
        let _ = scratch.find(&terrain, at(0), at(1), &mut path);
        let outcome = scratch.find(&terrain, start, goal, &mut path);
        assert_eq!(outcome, PathOutcome::Unreachable(expected));
        assert!(path.is_empty(), "the buffer must not keep the last path");
        assert_eq!(scratch.expansion_count(), 0);
    };
    check(at(9), at(0), Unreachable::StartOutside);
    check(at(2), at(0), Unreachable::StartBlocked);
    check(at(0), Cell::new(0, 1), Unreachable::GoalOutside);
    check(at(0), at(2), Unreachable::GoalBlocked);
    check(at(0), at(4), Unreachable::Disconnected);
}

#[test]
fn a_budget_of_just_enough_expansions_finds_the_path_and_one_less_does_not() {
    let mut rng = Rng::new(7);
    let terrain = Terrain::new(noise::noise(&mut rng, 50, 50, 80), MoveRule::BothFree);
    let (mut scratch, mut path) = (PathScratch::new(), Path::new());
    for _ in 0..50 {
        let start = cells::any_cell(&mut rng, terrain.grid());
        let goal = cells::any_cell(&mut rng, terrain.grid());
        let outcome = scratch.find(&terrain, start, goal, &mut path);
        let needed = scratch.expansion_count();
        if outcome.cost().is_none() || needed == 0 {
            continue;
        }
        assert_eq!(
            scratch.solve(&terrain, &PathQuery::new(start, goal).within(needed), &mut path),
            outcome
        );
        let short =
            scratch.solve(&terrain, &PathQuery::new(start, goal).within(needed - 1), &mut path);
        assert_eq!(short, PathOutcome::OutOfBudget);
        assert!(path.is_empty());
    }
}

/// Searches in slices of so many expansions; returns the outcome, and how many it took
/// in all.
fn find_in_slices(
    terrain: &Terrain,
    query: &PathQuery,
    slice: u64,
    scratch: &mut PathScratch,
    path: &mut Path,
) -> (PathOutcome, u64) {
    let mut outcome = scratch.solve(terrain, &query.within(slice), path);
    let mut expansions = scratch.expansion_count();
    let mut is_full = true;
    while outcome == PathOutcome::OutOfBudget {
        assert!(path.is_empty() && scratch.expansion_count() <= slice);
        is_full &= scratch.expansion_count() == slice;
        outcome = scratch.resume(terrain, slice, path);
        expansions += scratch.expansion_count();
    }
    // Looking for the cell nearest to a goal takes its part of the slices.
    assert!(is_full || matches!(outcome, PathOutcome::Partial { .. }), "{outcome:?}");
    (outcome, expansions)
}

#[test]
fn a_search_in_slices_is_the_same_search() {
    for (seed, rule) in (20..).zip(MoveRule::ALL) {
        let mut rng = Rng::new(seed);
        let mut terrain = Terrain::new(noise::noise(&mut rng, 40, 30, 75), rule);
        let (mut scratch, mut path, mut whole) = (PathScratch::new(), Path::new(), Path::new());
        for round in 0..40 {
            if round == 20 {
                let cell = cells::any_cell(&mut rng, terrain.grid());
                terrain.set_weight(cell, Weight::new(3).unwrap());
            }
            let start = cells::any_cell(&mut rng, terrain.grid());
            let goal = cells::any_cell(&mut rng, terrain.grid());
            for algorithm in [Algorithm::Auto, Algorithm::AStar] {
                let query = PathQuery::new(start, goal).by(algorithm).or_nearest();
                let outcome = scratch.solve(&terrain, &query, &mut whole);
                let expansions = scratch.expansion_count();
                for slice in [1, 2, 7, 1_000] {
                    let sliced = find_in_slices(&terrain, &query, slice, &mut scratch, &mut path);
                    assert_eq!(sliced, (outcome, expansions), "{rule:?} in slices of {slice}");
                    assert_eq!(path, whole);
                }
            }
        }
    }
}

#[test]
fn a_search_that_is_overtaken_by_an_edit_begins_anew() {
    let mut terrain = open(30, 30);
    for y in 0..29 {
        terrain.fill(Cell::new(15, y));
    }
    let (mut scratch, mut path) = (PathScratch::new(), Path::new());
    let (start, goal) = (Cell::new(0, 0), Cell::new(29, 0));
    assert_eq!(
        scratch.solve(&terrain, &PathQuery::new(start, goal).within(3), &mut path),
        PathOutcome::OutOfBudget
    );
    terrain.dig(Cell::new(15, 0));
    let outcome = scratch.resume(&terrain, u64::MAX, &mut path);
    assert_eq!(outcome, PathScratch::new().find(&terrain, start, goal, &mut path));
    assert_eq!(outcome.cost().unwrap().length(), 29.0, "straight through the new gap");
}

#[test]
fn without_a_budget_nothing_begins_and_a_later_slice_does() {
    let terrain = open(9, 9);
    let (mut scratch, mut path) = (PathScratch::new(), Path::new());
    let (start, goal) = (Cell::new(0, 0), Cell::new(8, 5));
    assert_eq!(
        scratch.solve(&terrain, &PathQuery::new(start, goal).within(0), &mut path),
        PathOutcome::OutOfBudget
    );
    assert_eq!(scratch.resume(&terrain, 0, &mut path), PathOutcome::OutOfBudget);
    assert!(scratch.resume(&terrain, 1, &mut path).cost().is_some());
}

#[test]
fn a_heavy_strip_is_crossed_only_where_going_round_costs_more() {
    let mut terrain = open(7, 5);
    let cost_with = |terrain: &mut Terrain, weight| {
        for y in 0..4 {
            terrain.set_weight(Cell::new(3, y), Weight::new(weight).unwrap());
        }
        let mut path = Path::new();
        let (start, goal) = (Cell::new(0, 0), Cell::new(6, 0));
        let outcome = PathScratch::new().find(terrain, start, goal, &mut path);
        let crossed = path.cells().iter().any(|cell| cell.x == 3 && cell.y < 4);
        (outcome.cost().unwrap(), crossed)
    };
    assert!(cost_with(&mut terrain, 2).1);
    let round = cost_with(&mut terrain, 50);
    assert!(!round.1);
    assert_eq!(round.0, cost_with(&mut terrain, 200).0, "the way round has no heavy cell");
}

#[test]
fn a_path_goes_stale_when_a_cell_or_a_corner_of_it_is_filled() {
    let mut terrain = open(6, 6);
    let (mut scratch, mut path) = (PathScratch::new(), Path::new());
    let _ = scratch.find(&terrain, Cell::new(0, 0), Cell::new(4, 4), &mut path);
    assert_eq!(path.revalidate(&terrain, 0), Ok(()));

    terrain.fill(Cell::new(5, 5));
    terrain.fill(Cell::new(0, 4));
    assert_eq!(path.revalidate(&terrain, 0), Ok(()), "neither cell is on the way");
    assert_eq!(path.version(), terrain.version());

    terrain.fill(Cell::new(3, 2));
    assert_eq!(path.revalidate(&terrain, 0), Err(PathFault::CutCorner { step: 3 }));
    terrain.dig(Cell::new(3, 2));
    assert_eq!(path.revalidate(&terrain, 0), Ok(()), "the corner is free again");

    terrain.fill(Cell::new(1, 1));
    assert_eq!(path.revalidate(&terrain, 0), Err(PathFault::Blocked { step: 1 }));
    assert_eq!(path.revalidate(&terrain, 2), Ok(()), "the wall is behind");
    assert_eq!(path.revalidate(&terrain, 5), Err(PathFault::Empty));
}

#[test]
fn a_path_is_judged_rightly_when_the_grid_has_forgotten_its_version() {
    let mut terrain = open(8, 8);
    let (mut scratch, mut path) = (PathScratch::new(), Path::new());
    let _ = scratch.find(&terrain, Cell::new(0, 0), Cell::new(4, 0), &mut path);
    terrain.fill(Cell::new(2, 0));
    for _ in 0..formic_nav::CHANGES_MAX {
        terrain.fill(Cell::new(7, 7));
        terrain.dig(Cell::new(7, 7));
    }
    assert!(terrain.grid().changes_since(path.version()).is_none());
    assert_eq!(path.revalidate(&terrain, 0), Err(PathFault::Blocked { step: 2 }));
}

#[test]
fn the_checker_names_each_fault() {
    let grid = Grid::from_fn(4, 4, |cell| cell != Cell::new(1, 0)).unwrap();
    let check = |rule, path: &[(u16, u16)], expected| {
        let path: Vec<Cell> = path.iter().map(|&(x, y)| Cell::new(x, y)).collect();
        assert_eq!(path_cost(&grid, rule, &path), Err(expected));
    };
    check(MoveRule::Always, &[], PathFault::Empty);
    check(MoveRule::Always, &[(1, 0)], PathFault::Blocked { step: 0 });
    check(MoveRule::Always, &[(0, 0), (1, 0)], PathFault::Blocked { step: 1 });
    check(MoveRule::Always, &[(0, 3), (0, 4)], PathFault::Blocked { step: 1 });
    check(MoveRule::Always, &[(0, 0), (0, 0)], PathFault::Jump { step: 1 });
    check(MoveRule::Always, &[(0, 1), (0, 2), (2, 2)], PathFault::Jump { step: 2 });
    check(MoveRule::BothFree, &[(0, 0), (1, 1)], PathFault::CutCorner { step: 1 });
    check(MoveRule::Orthogonal, &[(2, 2), (3, 3)], PathFault::CutCorner { step: 1 });
}

/// What a scratch takes for one search across an empty map of 512 x 512 cells.
fn bytes_a_cell(terrain: &Terrain, algorithm: Algorithm) -> f64 {
    let mut scratch = PathScratch::new();
    let query = PathQuery::new(Cell::new(0, 0), Cell::new(300, 511)).by(algorithm);
    let _ = scratch.solve(terrain, &query, &mut Path::new());
    scratch.bytes() as f64 / (512.0 * 512.0)
}

#[test]
fn scratch_takes_next_to_nothing_for_empty_cells_of_one_weight() {
    let bytes = bytes_a_cell(&open(512, 512), Algorithm::Auto);
    assert!(bytes < 0.1, "{bytes}");
}

#[test]
fn scratch_takes_sixteen_bytes_a_cell_and_some_two_more_for_the_open_lists_at_worst() {
    // Estimates of weight one lead astray: all cells are reached.
    let mut terrain = open(512, 512);
    for place in 0..512 * 512_u32 {
        let (x, y) = (u16::try_from(place % 512).unwrap(), u16::try_from(place / 512).unwrap());
        terrain.set_weight(Cell::new(x, y), Weight::new(3).unwrap());
    }
    terrain.set_weight(Cell::new(400, 3), Weight::ONE);
    let bytes = bytes_a_cell(&terrain, Algorithm::AStar);
    assert!((16.0..18.1).contains(&bytes), "{bytes}");
}

#[test]
fn ties_are_not_expanded() {
    // All ways over the square between the corners cost the same.
    let terrain = open(512, 512);
    let mut scratch = PathScratch::new();
    for goal in [Cell::new(511, 511), Cell::new(511, 255), Cell::new(511, 0)] {
        let query = PathQuery::new(Cell::new(0, 0), goal).by(Algorithm::AStar);
        assert!(scratch.solve(&terrain, &query, &mut Path::new()).cost().is_some());
        assert!(scratch.expansion_count() <= 511, "{}", scratch.expansion_count());
    }
}

#[test]
fn warm_scratch_grows_no_more() {
    let mut rng = Rng::new(8);
    let terrain = Terrain::new(noise::noise(&mut rng, 80, 80, 70), MoveRule::BothFree);
    let (mut scratch, mut path) = (PathScratch::new(), Path::new());
    let queries: Vec<(Cell, Cell)> = (0..60)
        .map(|_| {
            let start = cells::any_cell(&mut rng, terrain.grid());
            (start, cells::any_cell(&mut rng, terrain.grid()))
        })
        .collect();
    let run = |scratch: &mut PathScratch, path: &mut Path| {
        for &(start, goal) in &queries {
            let _ = scratch.find(&terrain, start, goal, path);
        }
        scratch.bytes()
    };
    let warm_bytes = run(&mut scratch, &mut path);
    assert_eq!(run(&mut scratch, &mut path), warm_bytes);
}

/// The number of cells that a search over noise of two weights expands, on a map so wide that a path
/// across it over the heavy weights costs more than 32 bits hold.
fn expansions_over(weights: [u8; 2], link: Option<Link>) -> u64 {
    let mut rng = Rng::new(7);
    let mut grid = Grid::from_fn(900, 60, |_| true).unwrap();
    let cells: Vec<Cell> = grid.cells().collect();
    for cell in cells {
        grid.set_weight(cell, Weight::new(weights[rng.below(2)]).unwrap());
    }
    let terrain = Terrain::new(grid, MoveRule::default()).with_links(link);
    let mut scratch = PathScratch::new();
    let (start, goal) = (Cell::new(400, 30), Cell::new(450, 30));
    let outcome = scratch.find(&terrain, start, goal, &mut Path::new());
    assert!(outcome.cost().is_some());
    scratch.expansion_count()
}

#[test]
fn searches_over_heavy_ground_expand_no_more_cells_than_over_light_ground() {
    let link = Link::new(Cell::new(2, 2), Cell::new(890, 2), 255);
    for link in [None, Some(link)] {
        let [light, heavy] = [[4, 5], [200, 250]].map(|weights| expansions_over(weights, link));
        assert!(heavy * 4 < light * 5, "{heavy} and {light} cells, with {link:?}");
    }
}
