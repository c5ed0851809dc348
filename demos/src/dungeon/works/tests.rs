//! Tests that the works keep any map alive.

use formic_nav::{Grid, generate};

use super::*;

/// Works on a map for many ticks; returns what was done.
fn check(grid: Grid, ticks: usize) -> WorksCount {
    let mut terrain = Terrain::new(grid, MoveRule::default());
    let open_count = terrain.grid().open_count();
    let border = |terrain: &Terrain| -> Vec<bool> {
        let cells = terrain.grid().cells().filter(|&cell| !is_inner(terrain, cell));
        cells.map(|cell| terrain.is_open(cell)).collect()
    };
    let border_at_start = border(&terrain);
    let mut works = Works::new(RandomStream::new(3), &terrain);
    for tick in 0..ticks {
        works.tick(&mut terrain);
        if tick % 500 == 0 {
            terrain.check().expect("regions as of a fresh flood");
        }
    }
    terrain.check().expect("regions as of a fresh flood");
    assert_eq!(border(&terrain), border_at_start);
    let open = terrain.grid().open_count() as u64;
    assert_eq!(open + works.count.tiles_filled, open_count as u64 + works.count.tiles_dug);
    let drift = terrain.grid().open_count().abs_diff(open_count);
    assert!(drift <= 64 + open_count / 50, "{drift} cells away from {open_count}");
    works.count
}

#[test]
fn a_dungeon_is_dug_and_filled_merged_and_split_for_ever() {
    let count = check(generate::dungeon(64, 48, 5).expect("a size that grids have"), 20_000);
    assert!(count.tiles_dug > 1_000 && count.tiles_filled > 1_000, "{count:?}");
    assert!(count.regions_merged > 100 && count.regions_split > 100, "{count:?}");
}

#[test]
fn caves_without_corridors_are_worked_in_as_well() {
    let count = check(generate::cavern(48, 48, 2).expect("a size that grids have"), 5_000);
    assert!(count.tiles_dug > 50 && count.tiles_filled > 50, "{count:?}");
}

#[test]
fn maps_too_small_to_work_in_are_left_alone() {
    for (width, height) in [(1, 1), (2, 2), (1, 9), (9, 1), (3, 3)] {
        let grid = Grid::from_fn(width, height, |_| true).expect("a small grid");
        assert_eq!(check(grid, 200), WorksCount::default(), "{width} x {height}");
    }
}

#[test]
fn the_works_follow_from_their_seed() {
    let digest = |seed| {
        let grid = generate::dungeon(48, 48, 1).expect("a size that grids have");
        let mut terrain = Terrain::new(grid, MoveRule::default());
        let mut works = Works::new(RandomStream::new(seed), &terrain);
        (0..1_000).for_each(|_| works.tick(&mut terrain));
        let mut numbers = Vec::new();
        works.digest(|number| numbers.push(number));
        (numbers, terrain.grid().to_map())
    };
    assert_eq!(digest(1), digest(1));
    assert_ne!(digest(1), digest(2));
}
