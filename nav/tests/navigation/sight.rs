//! Lines of sight against sampled points, and pulled paths against both.

use formic_nav::{Cell, Grid, MoveRule, Path, PathScratch, Terrain, Weight, generate, is_visible};

use crate::rng::Rng;
use crate::visibility::{centre, is_clear, obstacles};
use crate::{cells, noise};

/// Whether all points of the line that do not lie on the border of a cell lie in
/// open ones: thousands of points, each in exact fractions.
fn crosses_open_cells_only(grid: &Grid, from: Cell, to: Cell) -> bool {
    let (dx, dy) = (i64::from(to.x) - i64::from(from.x), i64::from(to.y) - i64::from(from.y));
    // Between borders of columns and rows there are at least 1 / (4 dx dy) of the way.
    let parts = 8 * dx.abs().max(1) * dy.abs().max(1) + 1;
    (0..=parts).all(|part| {
        let place = |start: u16, length: i64| {
            let twice = (2 * i64::from(start) + 1) * parts + 2 * length * part;
            (twice.div_euclid(2 * parts), twice.rem_euclid(2 * parts) == 0)
        };
        let ((x, on_column), (y, on_row)) = (place(from.x, dx), place(from.y, dy));
        let cell = Cell::new(u16::try_from(x).unwrap(), u16::try_from(y).unwrap());
        on_column || on_row || grid.is_open(cell)
    })
}

#[test]
fn a_line_is_seen_along_if_all_its_cells_are_open() {
    let mut rng = Rng::new(61);
    let (mut seen_count, mut hidden_count) = (0, 0);
    for _ in 0..3000 {
        let grid = noise::noise(&mut rng, 14, 11, 90);
        let (from, to) = (cells::any_cell(&mut rng, &grid), cells::any_cell(&mut rng, &grid));
        let expected = crosses_open_cells_only(&grid, from, to);
        assert_eq!(is_visible(&grid, MoveRule::Always, from, to), expected, "{from} to {to}");
        assert_eq!(is_visible(&grid, MoveRule::Always, to, from), expected, "{to} to {from}");
        seen_count += usize::from(expected);
        hidden_count += usize::from(!expected);
    }
    assert!(seen_count > 500 && hidden_count > 500, "{seen_count} {hidden_count}");
}

#[test]
fn a_line_through_corners_needs_what_a_diagonal_step_needs() {
    let check = |solid: &[(u16, u16)], expected: [bool; 4]| {
        let grid = Grid::from_fn(4, 4, |cell| !solid.contains(&(cell.x, cell.y))).unwrap();
        let found =
            MoveRule::ALL.map(|rule| is_visible(&grid, rule, Cell::new(0, 0), Cell::new(3, 3)));
        assert_eq!(found, expected, "{solid:?}");
    };
    check(&[], [true, true, true, true]);
    check(&[(1, 2)], [false, false, true, true]);
    check(&[(1, 2), (2, 1)], [false, false, false, true]);
    check(&[(2, 2)], [false, false, false, false]);
}

#[test]
fn pulled_paths_turn_where_they_must_and_are_never_longer() {
    let mut rng = Rng::new(62);
    let (mut scratch, mut path, mut turns) = (PathScratch::new(), Path::new(), Vec::new());
    let mut shorter_count = 0;
    for round in 0..300 {
        let rule = MoveRule::ALL[round % 4];
        let mut grid = noise::noise(&mut rng, 40, 30, 85);
        if round % 8 > 3 {
            for _ in 0..400 {
                let cell = cells::any_cell(&mut rng, &grid);
                grid.set_weight(cell, Weight::new(3).unwrap());
            }
        }
        let terrain = Terrain::new(grid, rule);
        let start = cells::any_cell(&mut rng, terrain.grid());
        let goal = cells::any_cell(&mut rng, terrain.grid());
        if scratch.find(&terrain, start, goal, &mut path).cost().is_none() {
            assert_eq!(path.pull(&terrain, &mut turns), 0.0);
            continue;
        }
        let length = path.pull(&terrain, &mut turns);
        let steps = path.cells().windows(2);
        let walked: f64 =
            steps
                .map(|step| {
                    if step[0].x != step[1].x && step[0].y != step[1].y {
                        2_f64.sqrt()
                    } else {
                        1.0
                    }
                })
                .sum();
        assert!(length <= walked + 1e-9);
        shorter_count += usize::from(length < walked - 0.1);
        assert_eq!((turns.first(), turns.last()), (Some(&start), Some(&goal)));
        // Every turn is on the path, in order.
        let mut cells = path.cells().iter();
        assert!(turns.iter().all(|turn| cells.any(|cell| cell == turn)), "{turns:?}");
        for pair in turns.windows(2) {
            let is_step = pair[0].x.abs_diff(pair[1].x).max(pair[0].y.abs_diff(pair[1].y)) == 1;
            assert!(is_step || is_visible(terrain.grid(), rule, pair[0], pair[1]));
        }
    }
    assert!(shorter_count > 50, "{shorter_count}");
}

#[test]
fn a_pulled_path_stays_out_of_heavy_cells_that_the_path_went_around() {
    let mut grid = Grid::from_fn(11, 11, |_| true).unwrap();
    for x in 2..9 {
        for y in 0..8 {
            grid.set_weight(Cell::new(x, y), Weight::new(9).unwrap());
        }
    }
    let terrain = Terrain::new(grid, MoveRule::BothFree);
    let (mut path, mut turns) = (Path::new(), Vec::new());
    let _ = PathScratch::new().find(&terrain, Cell::new(0, 0), Cell::new(10, 0), &mut path);
    path.pull(&terrain, &mut turns);
    assert!(turns.iter().any(|turn| turn.y >= 7), "{turns:?}");
    assert!(turns.len() < path.cells().len() / 2, "{turns:?}");
}

#[test]
fn pulled_ways_keep_a_distance_from_corners_that_they_pass_at_a_small_angle() {
    let mut rng = Rng::new(64);
    let (mut scratch, mut path, mut turns) = (PathScratch::new(), Path::new(), Vec::new());
    let mut long_count = 0;
    for _ in 0..400 {
        let terrain = Terrain::new(noise::noise(&mut rng, 140, 4, 97), MoveRule::BothFree);
        let obstacles = obstacles(terrain.grid());
        let [start, goal] = [0; 2].map(|_| cells::any_cell(&mut rng, terrain.grid()));
        if scratch.find(&terrain, start, goal, &mut path).cost().is_some() {
            path.pull(&terrain, &mut turns);
            for leg in turns.windows(2) {
                let [from, to] = [leg[0], leg[1]];
                let is_step = from.x.abs_diff(to.x).max(from.y.abs_diff(to.y)) == 1;
                let [line_from, line_to] = [from, to].map(centre);
                assert!(is_step || is_clear(&obstacles, line_from, line_to), "{from} to {to}");
                long_count += usize::from(from.x.abs_diff(to.x) > 50 && from.y != to.y);
            }
        }
    }
    assert!(long_count > 20, "{long_count}");
}

/// The length of the shortest way at any angle from one cell to another, from the middle of a cell
/// to that of one that it sees: Dijkstra's algorithm over all cells.
fn shortest_at_any_angle(terrain: &Terrain, start: Cell, goal: Cell) -> Option<f64> {
    let (grid, rule) = (terrain.grid(), terrain.rule());
    let mut open: Vec<(f64, Cell)> = grid
        .cells()
        .filter(|&cell| grid.is_open(cell))
        .map(|cell| (if cell == start { 0.0 } else { f64::INFINITY }, cell))
        .collect();
    while let Some(nearest) = (0..open.len()).min_by(|&a, &b| open[a].0.total_cmp(&open[b].0)) {
        let (length, cell) = open.swap_remove(nearest);
        if length.is_infinite() {
            return None;
        }
        if cell == goal {
            return Some(length);
        }
        for (best, other) in &mut open {
            let step = f64::from(cell.centre().distance(other.centre()));
            if length + step < *best && is_visible(grid, rule, cell, *other) {
                *best = length + step;
            }
        }
    }
    None
}

#[test]
fn pulled_paths_are_hardly_longer_than_the_shortest_at_any_angle() {
    let mut rng = Rng::new(63);
    let (mut scratch, mut path, mut turns) = (PathScratch::new(), Path::new(), Vec::new());
    let mut check = |grid: Grid, rng: &mut Rng| {
        let terrain = Terrain::new(grid, MoveRule::BothFree);
        let [start, goal] = [0; 2].map(|_| cells::any_cell(rng, terrain.grid()));
        let is_found = scratch.find(&terrain, start, goal, &mut path).cost().is_some();
        let best = shortest_at_any_angle(&terrain, start, goal);
        assert_eq!(is_found, best.is_some(), "{start} to {goal}");
        let best = best.filter(|&best| best > 0.0)?;
        let ratio = path.pull(&terrain, &mut turns) / best;
        assert!((0.999..1.125).contains(&ratio), "{ratio} from {start} to {goal}");
        Some(ratio)
    };
    let mean = |ratios: &[f64]| ratios.iter().sum::<f64>() / ratios.len() as f64;
    let caverns = (0..90).map(|seed| generate::cavern(48, 48, seed).unwrap());
    let ratios: Vec<f64> = caverns.filter_map(|grid| check(grid, &mut rng)).collect();
    assert!(ratios.len() > 20 && mean(&ratios) < 1.015, "{}", mean(&ratios));
    let rubble: Vec<Grid> = (0..90).map(|_| noise::noise(&mut rng, 40, 30, 70)).collect();
    let ratios: Vec<f64> = rubble.into_iter().filter_map(|grid| check(grid, &mut rng)).collect();
    assert!(ratios.len() > 20 && mean(&ratios) < 1.055, "{}", mean(&ratios));
}
