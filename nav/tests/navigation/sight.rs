//! Lines of sight against sampled points, and pulled paths against both.

use formic_nav::{Cell, Grid, MoveRule, Path, PathScratch, Terrain, Weight, is_visible};

use crate::rng::Rng;
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
