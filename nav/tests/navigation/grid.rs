//! Cells, weights, versions and changes of grids.

use formic_nav::{Cell, ChangeKind, Direction, Grid, MoveRule, Weight};
use glam::Vec2;

use crate::rng::Rng;
use crate::{cells, noise};

#[test]
fn neighbours_follow_the_rule_written_out_cell_by_cell() {
    let mut rng = Rng::new(31);
    for width in [1, 2, 62, 63, 64, 65, 129] {
        let grid = noise::noise(&mut rng, width, 8, 55);
        for (cell, rule) in grid.cells().flat_map(|cell| MoveRule::ALL.map(|rule| (cell, rule))) {
            let expected: Vec<Cell> = Direction::ALL
                .into_iter()
                .filter(|&direction| is_legal(&grid, rule, cell, direction))
                .filter_map(|direction| direction.step(cell))
                .collect();
            assert_eq!(
                grid.neighbours(cell, rule).collect::<Vec<_>>(),
                expected,
                "{rule:?} {cell}"
            );
        }
    }
}

fn is_legal(grid: &Grid, rule: MoveRule, cell: Cell, direction: Direction) -> bool {
    let Some(to) = direction.step(cell).filter(|&to| grid.is_open(to)) else { return false };
    let beside = [Cell::new(to.x, cell.y), Cell::new(cell.x, to.y)];
    let free_count = beside.into_iter().filter(|&cell| grid.is_open(cell)).count();
    let free_min = match rule {
        MoveRule::Orthogonal => return !direction.is_diagonal(),
        MoveRule::BothFree => 2,
        MoveRule::OneFree => 1,
        MoveRule::Always => 0,
    };
    !direction.is_diagonal() || free_count >= free_min
}

#[test]
fn the_weight_range_is_that_of_the_open_cells_after_any_edits() {
    let mut rng = Rng::new(32);
    let mut grid = noise::noise(&mut rng, 6, 5, 40);
    for _ in 0..3000 {
        let cell = cells::any_cell(&mut rng, &grid);
        match rng.below(3) {
            0 => _ = grid.dig(cell),
            1 => _ = grid.fill(cell),
            _ => {
                let weight = [1, 2, 7, 255][rng.below(4)];
                grid.set_weight(cell, Weight::new(weight).unwrap());
            }
        }
        let open: Vec<Cell> = grid.cells().filter(|&cell| grid.is_open(cell)).collect();
        let weights = || open.iter().filter_map(|&cell| grid.weight(cell));
        assert_eq!(grid.weight_range(), weights().min().zip(weights().max()));
        assert_eq!(grid.open_count(), open.len());
    }
}

#[test]
fn changes_are_told_from_any_version_that_is_remembered() {
    let mut grid = Grid::solid(4, 4).unwrap();
    let start = grid.version();
    let cell = Cell::new(2, 1);
    grid.dig(cell);
    grid.set_weight(cell, Weight::new(4).unwrap());
    let middle = grid.version();
    grid.fill(cell);
    let kinds = |since| -> Vec<ChangeKind> {
        grid.changes_since(since).unwrap().map(|change| change.kind).collect()
    };
    assert_eq!(kinds(start), [ChangeKind::Dug, ChangeKind::Weighed, ChangeKind::Filled]);
    assert_eq!(kinds(middle), [ChangeKind::Filled]);
    assert_eq!(kinds(grid.version()), []);
    assert_eq!(grid.changes_since(middle).unwrap().next().unwrap().version, grid.version());
}

#[test]
fn the_log_forgets_the_oldest_change_first() {
    let mut grid = Grid::solid(2, 2).unwrap();
    let start = grid.version();
    for _ in 0..formic_nav::CHANGES_MAX / 2 {
        grid.dig(Cell::new(0, 0));
        grid.fill(Cell::new(0, 0));
    }
    assert_eq!(grid.changes_since(start).unwrap().count(), formic_nav::CHANGES_MAX);
    grid.dig(Cell::new(0, 0));
    assert!(grid.changes_since(start).is_none());
}

#[test]
fn absurd_sizes_are_refused_before_memory_is_taken() {
    for (width, height) in
        [(0, 1), (1, 0), (16_385, 1), (1, 16_385), (16_384, 16_384), (u32::MAX, u32::MAX)]
    {
        assert!(Grid::solid(width, height).is_err(), "{width} x {height}");
    }
    assert!(Grid::solid(16_384, 1).is_ok());
}

#[test]
fn cells_contain_their_own_centres_up_to_the_last_column() {
    for cell in [Cell::new(0, 0), Cell::new(16_383, 1), Cell::new(u16::MAX, u16::MAX)] {
        assert_eq!(Cell::containing(cell.centre()), Some(cell));
    }
    for x in [f32::INFINITY, f32::NEG_INFINITY, -f32::MIN_POSITIVE, 65_536.0] {
        assert_eq!(Cell::containing(Vec2::new(x, 0.5)), None);
    }
    assert_eq!(Cell::containing(Vec2::new(-0.0, 0.5)), Some(Cell::new(0, 0)));
}

#[test]
fn directions_lead_back_and_are_found_between_cells() {
    let middle = Cell::new(5, 5);
    for direction in Direction::ALL {
        let next = direction.step(middle).unwrap();
        assert_eq!(direction.opposite().step(next), Some(middle));
        assert_eq!(Direction::between(middle, next), Some(direction));
    }
    assert_eq!(Direction::between(middle, middle), None);
    assert_eq!(Direction::between(middle, Cell::new(7, 5)), None);
}
