//! Regions against fresh floods, under random and adversarial edits.

use formic_nav::{Cell, Grid, MoveRule, RegionEvent, RegionId, Terrain};

use crate::flood::assert_exact;
use crate::rng::Rng;
use crate::{cells, noise};

/// Flips random cells and compares every `interval` flips.
fn flip_randomly(terrain: &mut Terrain, rng: &mut Rng, flips: usize, interval: usize) {
    for i in 0..flips {
        let cell = cells::any_cell(rng, terrain.grid());
        assert!(terrain.dig(cell) || terrain.fill(cell));
        if i % interval == 0 {
            assert_exact(terrain);
        }
    }
    assert_exact(terrain);
}

/// A serpentine of one-wide corridors: every cell of it is a cut.
fn serpentine(side: u16) -> Grid {
    let is_open = |cell: Cell| {
        let turn = if cell.y % 4 == 1 { side - 1 } else { 0 };
        cell.y % 2 == 0 || cell.x == turn
    };
    Grid::from_fn(side.into(), side.into(), is_open).unwrap()
}

/// A one-wide spiral towards the middle.
fn spiral(side: u16) -> Grid {
    let mut grid = Grid::solid(side.into(), side.into()).unwrap();
    let (mut low, mut high) = (0, side - 1);
    while low < high {
        for i in low..=high {
            grid.dig(Cell::new(i, low));
            grid.dig(Cell::new(high, i));
            grid.dig(Cell::new(i, high));
            if i >= low + 2 {
                grid.dig(Cell::new(low, i));
            }
        }
        grid.dig(Cell::new(low + 1, low + 2));
        low += 2;
        high = high.saturating_sub(2);
    }
    grid
}

/// A random spanning tree of corridors on the even cells: a perfect maze.
fn maze(rng: &mut Rng, width: u16, height: u16) -> Grid {
    let mut grid = Grid::solid(width.into(), height.into()).unwrap();
    let mut trail = vec![Cell::new(0, 0)];
    grid.dig(trail[0]);
    while let Some(&Cell { x, y }) = trail.last() {
        let ways = [(2, 0), (0, 2), (-2, 0), (0, -2)];
        let cells = ways.map(|(dx, dy)| x.checked_add_signed(dx).zip(y.checked_add_signed(dy)));
        let fresh: Vec<Cell> = cells
            .into_iter()
            .flatten()
            .map(|(x, y)| Cell::new(x, y))
            .filter(|&cell| grid.contains(cell) && !grid.is_open(cell))
            .collect();
        if fresh.is_empty() {
            trail.pop();
            continue;
        }
        let next = fresh[rng.below(fresh.len())];
        grid.dig(Cell::new(x.midpoint(next.x), y.midpoint(next.y)));
        grid.dig(next);
        trail.push(next);
    }
    grid
}

#[test]
fn regions_equal_a_fresh_flood_after_random_digs_and_fills() {
    let mut rng = Rng::new(11);
    for percent in [0, 35, 50, 60, 65, 80, 100] {
        for rule in MoveRule::ALL {
            let mut terrain = Terrain::new(noise::noise(&mut rng, 33, 21, percent), rule);
            assert_exact(&terrain);
            flip_randomly(&mut terrain, &mut rng, 600, 7);
        }
    }
}

#[test]
fn regions_of_the_smallest_grids_are_exact_after_every_flip() {
    let mut rng = Rng::new(12);
    for (width, height) in [(1, 1), (1, 7), (7, 1), (2, 2), (3, 3), (4, 3), (62, 2), (64, 3)] {
        for rule in MoveRule::ALL {
            let mut terrain = Terrain::new(noise::noise(&mut rng, width, height, 60), rule);
            flip_randomly(&mut terrain, &mut rng, 400, 1);
        }
    }
}

#[test]
fn regions_are_exact_when_pieces_split_and_join_along_the_seams_of_sectors() {
    let mut rng = Rng::new(17);
    for (percent, rule) in [50, 62, 75].into_iter().flat_map(|p| MoveRule::ALL.map(|r| (p, r))) {
        let mut terrain = Terrain::new(noise::noise(&mut rng, 97, 66, percent), rule);
        assert_exact(&terrain);
        for i in 0..1500 {
            // Half of the edits are beside a seam, which is at multiples of 32.
            let mut cell = cells::any_cell(&mut rng, terrain.grid());
            match rng.below(4) {
                0 => cell.x = (cell.x / 32 * 32).saturating_sub(cell.x % 2),
                1 => cell.y = (cell.y / 32 * 32).saturating_sub(cell.y % 2),
                _ => {}
            }
            assert!(terrain.dig(cell) || terrain.fill(cell));
            if i % 50 == 0 {
                assert_exact(&terrain);
            }
        }
        assert_exact(&terrain);
    }
}

#[test]
fn regions_are_exact_along_the_seams_of_squares_of_all_levels() {
    let mut rng = Rng::new(19);
    // No groups, also at the longest side, one level of them between pieces and regions, and two.
    let sizes = [(300, 270, 256), (1024, 40, 992), (1030, 270, 1024), (2070, 35, 2048)];
    for (width, height, seam) in sizes {
        for (percent, rule) in [(55, MoveRule::Always), (64, MoveRule::BothFree)] {
            let mut terrain = Terrain::new(noise::noise(&mut rng, width, height, percent), rule);
            assert_exact(&terrain);
            for i in 0..1200 {
                let mut cell = cells::any_cell(&mut rng, terrain.grid());
                match rng.below(4) {
                    0 => cell.x = seam - cell.x % 2,
                    1 => cell.x = (cell.x / 256 * 256).saturating_sub(cell.x % 2),
                    2 => cell.y = (cell.y / 256 * 256).saturating_sub(cell.y % 2),
                    _ => {}
                }
                assert!(terrain.dig(cell) || terrain.fill(cell));
                if i % 120 == 0 {
                    assert_exact(&terrain);
                }
            }
            assert_exact(&terrain);
        }
    }
}

#[test]
fn a_wide_maze_is_exact_after_cuts_and_repairs_on_all_levels() {
    let mut rng = Rng::new(20);
    for rule in [MoveRule::BothFree, MoveRule::Always] {
        let grid = maze(&mut rng, 2101, 91);
        let corridor: Vec<Cell> = grid.cells().filter(|&cell| grid.is_open(cell)).collect();
        let mut terrain = Terrain::new(grid, rule);
        for round in 0..4 {
            let cuts: Vec<Cell> = (0..60).map(|_| corridor[rng.below(corridor.len())]).collect();
            let cut_count = cuts.iter().filter(|&&cell| terrain.fill(cell)).count();
            assert!(terrain.regions().count() > cut_count / 2, "round {round}");
            assert_exact(&terrain);
            cuts.iter().for_each(|&cell| _ = terrain.dig(cell));
            assert_eq!(terrain.regions().count(), 1);
            assert_exact(&terrain);
        }
    }
}

#[test]
fn regions_of_one_wide_mazes_are_exact_after_thousands_of_cuts_and_repairs() {
    let mut rng = Rng::new(13);
    for grid in [serpentine(41), spiral(41), maze(&mut rng, 41, 41)] {
        for rule in [MoveRule::BothFree, MoveRule::Always] {
            let mut terrain = Terrain::new(grid.clone(), rule);
            let corridor: Vec<Cell> = grid.cells().filter(|&cell| grid.is_open(cell)).collect();
            for i in 0..3000 {
                let cell = corridor[rng.below(corridor.len())];
                assert!(terrain.fill(cell) || terrain.dig(cell));
                if i % 40 == 0 {
                    assert_exact(&terrain);
                }
            }
            corridor.iter().for_each(|&cell| _ = terrain.dig(cell));
            assert_exact(&terrain);
        }
    }
}

#[test]
fn a_perfect_maze_is_one_region_and_any_inner_cut_makes_more() {
    let mut terrain = Terrain::new(maze(&mut Rng::new(14), 31, 31), MoveRule::BothFree);
    assert_eq!(terrain.regions().count(), 1);
    let open: Vec<Cell> = terrain.grid().cells().filter(|&cell| terrain.is_open(cell)).collect();
    for cell in open {
        let way_count = terrain.grid().neighbours(cell, MoveRule::Orthogonal).count();
        terrain.fill(cell);
        assert_eq!(terrain.regions().count(), way_count, "cut at {cell}");
        terrain.dig(cell);
        assert_eq!(terrain.regions().count(), 1, "repaired at {cell}");
    }
    assert_exact(&terrain);
}

#[test]
fn filling_the_middle_of_a_cross_splits_it_into_four_and_digging_joins_them() {
    let grid = Grid::from_fn(7, 7, |cell| cell.x == 3 || cell.y == 3).unwrap();
    let mut terrain = Terrain::new(grid, MoveRule::BothFree);
    let middle = Cell::new(3, 3);
    let kept = terrain.region(middle).unwrap();

    terrain.fill(middle);
    assert_eq!(terrain.regions().count(), 4);
    let events: Vec<RegionEvent> = terrain.drain_events().collect();
    assert_eq!(events.len(), 3);
    for event in events {
        assert!(matches!(event, RegionEvent::Split { from, cell_count: 3, .. } if from == kept));
    }

    terrain.dig(middle);
    assert_eq!(terrain.regions().count(), 1);
    let events: Vec<RegionEvent> = terrain.drain_events().collect();
    assert!(events.iter().all(|event| matches!(event, RegionEvent::Merged { cell_count: 3, .. })));
    assert_eq!(events.len(), 3);
    assert_exact(&terrain);
}

#[test]
fn the_larger_side_of_a_cut_keeps_its_region() {
    let mut terrain = Terrain::new(Grid::from_fn(20, 1, |_| true).unwrap(), MoveRule::BothFree);
    let before = terrain.region(Cell::new(19, 0));
    terrain.fill(Cell::new(4, 0));
    assert_eq!(terrain.region(Cell::new(19, 0)), before);
    let small = terrain.region(Cell::new(0, 0)).unwrap();
    assert_ne!(Some(small), before);
    terrain.dig(Cell::new(4, 0));
    assert_eq!(terrain.region(Cell::new(0, 0)), before);
    assert_eq!(terrain.regions().cells(small).count(), 0, "merged away");
    assert_eq!(terrain.regions().version(small), None);
}

#[test]
fn ids_of_removed_regions_stay_stale_after_their_slot_is_used_again() {
    let mut terrain = Terrain::new(Grid::solid(4, 4).unwrap(), MoveRule::BothFree);
    let cell = Cell::new(1, 1);
    terrain.dig(cell);
    let first = terrain.region(cell).unwrap();
    terrain.fill(cell);
    assert_eq!(terrain.region(cell), None);
    terrain.dig(cell);
    let second = terrain.region(cell).unwrap();
    assert_eq!(first.slot(), second.slot());
    assert_ne!(first, second);
    assert_eq!(terrain.regions().cells(first).count(), 0);
    assert_eq!(terrain.regions().random_cell(first, 7), None);
    let events: Vec<RegionEvent> = terrain.drain_events().collect();
    let expected = [
        RegionEvent::Created { region: first },
        RegionEvent::Removed { region: first },
        RegionEvent::Created { region: second },
    ];
    assert_eq!(events, expected);
    assert_eq!(terrain.drain_events().count(), 0, "draining leaves nothing");
}

#[test]
fn ids_and_events_are_a_function_of_the_edits() {
    let run = || {
        let mut rng = Rng::new(15);
        let mut terrain = Terrain::new(noise::noise(&mut rng, 30, 30, 55), MoveRule::BothFree);
        for _ in 0..2000 {
            let cell = cells::any_cell(&mut rng, terrain.grid());
            assert!(terrain.dig(cell) || terrain.fill(cell));
        }
        let regions: Vec<Option<RegionId>> =
            terrain.grid().cells().map(|cell| terrain.region(cell)).collect();
        let lists: Vec<Vec<Cell>> =
            terrain.regions().ids().map(|id| terrain.regions().cells(id).collect()).collect();
        (regions, lists, terrain.drain_events().collect::<Vec<_>>())
    };
    assert_eq!(run(), run());
}

#[test]
fn edits_that_change_nothing_are_refused_and_leave_the_version() {
    let mut terrain =
        Terrain::new(Grid::from_fn(3, 3, |cell| cell.x == 0).unwrap(), MoveRule::BothFree);
    assert!(!terrain.dig(Cell::new(0, 0)));
    assert!(!terrain.fill(Cell::new(1, 0)));
    for outside in [Cell::new(3, 0), Cell::new(0, 3), Cell::new(u16::MAX, u16::MAX)] {
        assert!(!terrain.dig(outside) && !terrain.fill(outside));
        assert_eq!(terrain.region(outside), None);
        assert!(!terrain.reachable(outside, outside));
    }
    assert_eq!(terrain.version().get(), 0);
    assert_eq!(terrain.drain_events().count(), 0);
}

#[test]
fn cells_at_the_border_can_be_dug_and_do_not_touch_across_the_rows() {
    let mut terrain = Terrain::new(Grid::solid(64, 4).unwrap(), MoveRule::Always);
    terrain.dig(Cell::new(63, 1));
    terrain.dig(Cell::new(0, 2));
    assert!(!terrain.reachable(Cell::new(63, 1), Cell::new(0, 2)));
    assert_exact(&terrain);
}

#[test]
fn a_region_touched_by_an_edit_moves_its_version_and_others_do_not() {
    let mut terrain =
        Terrain::new(Grid::from_fn(9, 1, |cell| cell.x != 4).unwrap(), MoveRule::BothFree);
    let (west, east) = (Cell::new(0, 0), Cell::new(8, 0));
    terrain.fill(east);
    let version = |terrain: &Terrain, cell| {
        terrain.regions().version(terrain.region(cell).unwrap()).unwrap().get()
    };
    assert_eq!((version(&terrain, west), version(&terrain, Cell::new(7, 0))), (0, 1));
}

#[test]
fn every_cell_of_a_region_can_be_chosen() {
    let terrain = Terrain::new(Grid::from_fn(5, 2, |_| true).unwrap(), MoveRule::BothFree);
    let region = terrain.region(Cell::new(0, 0)).unwrap();
    let mut rng = Rng::new(16);
    let mut counts = [0; 10];
    for _ in 0..2000 {
        let cell = terrain.regions().random_cell(region, rng.next()).unwrap();
        counts[terrain.grid().index(cell).unwrap()] += 1;
    }
    assert!(counts.iter().all(|count| (120..280).contains(count)), "{counts:?}");
}

#[test]
fn every_cell_of_a_region_on_a_wide_map_can_be_chosen() {
    // Five groups, of which the first has more cells than the others.
    let grid = Grid::from_fn(1060, 3, |Cell { x, y }| y == 0 || x < 40).unwrap();
    let terrain = Terrain::new(grid, MoveRule::BothFree);
    let region = terrain.region(Cell::new(1059, 0)).unwrap();
    let mut rng = Rng::new(21);
    let mut counts = vec![0; terrain.grid().cell_count()];
    for _ in 0..114_000 {
        let cell = terrain.regions().random_cell(region, rng.next()).unwrap();
        counts[terrain.grid().index(cell).unwrap()] += 1;
    }
    counts.retain(|&count| count > 0);
    assert_eq!(counts.len(), 1140);
    assert!(counts.iter().all(|count| (50..160).contains(count)), "{counts:?}");
}

#[test]
fn every_cell_of_a_region_that_is_thin_in_its_sectors_can_be_chosen() {
    // Diagonal steps: no two cells touch by a side, and each is one in thirty-two of its row.
    let grid = Grid::from_fn(80, 80, |cell| cell.x == cell.y).unwrap();
    let terrain = Terrain::new(grid, MoveRule::Always);
    let region = terrain.region(Cell::new(79, 79)).unwrap();
    let mut rng = Rng::new(18);
    let mut counts = [0; 80];
    for _ in 0..16_000 {
        let cell = terrain.regions().random_cell(region, rng.next()).unwrap();
        counts[usize::from(cell.x)] += 1;
    }
    assert!(counts.iter().all(|count| (140..260).contains(count)), "{counts:?}");
}

#[test]
fn events_that_are_not_drained_are_bounded_and_counted() {
    let mut terrain = Terrain::new(Grid::solid(2, 2).unwrap(), MoveRule::BothFree);
    for _ in 0..formic_nav::EVENTS_MAX {
        terrain.dig(Cell::new(0, 0));
        terrain.fill(Cell::new(0, 0));
    }
    assert_eq!(terrain.regions().lost_event_count(), formic_nav::EVENTS_MAX as u64);
    assert_eq!(terrain.drain_events().count(), formic_nav::EVENTS_MAX);
}

/// Digs a cell between two regions, and returns those that remain and that are gone.
fn merged(terrain: &mut Terrain, cell: Cell) -> (RegionId, RegionId) {
    terrain.drain_events().for_each(drop);
    terrain.dig(cell);
    let events: Vec<RegionEvent> = terrain.drain_events().collect();
    let &[RegionEvent::Merged { into, from, .. }] = events.as_slice() else {
        panic!("two regions merge, but not by {events:?}");
    };
    (into, from)
}

#[test]
fn of_merged_regions_the_one_of_more_pieces_or_groups_remains_and_of_equals_that_of_more_cells() {
    // A hall within one sector, and a corridor of fewer cells over three.
    let is_open = |cell: Cell| cell.y == 22 || cell.y < 21 && (1..31).contains(&cell.x);
    let mut terrain = Terrain::new(Grid::from_fn(96, 32, is_open).unwrap(), MoveRule::BothFree);
    let [hall, corridor] = [0, 22].map(|y| terrain.region(Cell::new(5, y)).unwrap());
    let cell_count = |region| terrain.regions().cell_count(region);
    assert!(cell_count(hall) > 6 * cell_count(corridor));
    assert_eq!(merged(&mut terrain, Cell::new(5, 21)), (corridor, hall));

    // On a wider map, a hall of four sectors in a square of eight, and a corridor over two sectors of two
    // squares.
    let is_open = |cell: Cell| {
        cell.y == 41 && (250..260).contains(&cell.x) || cell.y < 40 && (200..254).contains(&cell.x)
    };
    let mut terrain = Terrain::new(Grid::from_fn(1100, 64, is_open).unwrap(), MoveRule::BothFree);
    let [hall, corridor] = [0, 41].map(|y| terrain.region(Cell::new(252, y)).unwrap());
    assert_eq!(merged(&mut terrain, Cell::new(252, 40)), (corridor, hall));

    // Two of one piece each.
    let mut terrain =
        Terrain::new(Grid::from_fn(9, 1, |cell| cell.x != 3).unwrap(), MoveRule::BothFree);
    let [few, many] = [0, 8].map(|x| terrain.region(Cell::new(x, 0)).unwrap());
    assert_eq!(merged(&mut terrain, Cell::new(3, 0)), (many, few));
}
