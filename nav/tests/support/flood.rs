//! The oracle of regions: a flood over the whole map that knows nothing of them.

use std::collections::VecDeque;

use formic_nav::{Cell, Connectivity, Grid, Terrain};

/// For each cell in reading order the number of its component, `None` if solid.
pub(crate) fn components(grid: &Grid, connectivity: Connectivity) -> Vec<Option<usize>> {
    let mut labels = vec![None; grid.cell_count()];
    let mut count = 0;
    for cell in grid.cells().filter(|&cell| grid.is_open(cell)) {
        if labels[grid.index(cell).unwrap()].is_none() {
            flood(grid, connectivity, cell, count, &mut labels);
            count += 1;
        }
    }
    labels
}

fn flood(
    grid: &Grid,
    connectivity: Connectivity,
    from: Cell,
    label: usize,
    labels: &mut [Option<usize>],
) {
    labels[grid.index(from).unwrap()] = Some(label);
    let mut queue = VecDeque::from([from]);
    while let Some(cell) = queue.pop_front() {
        for (dx, dy) in [(0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1)] {
            if connectivity == Connectivity::Four && dx != 0 && dy != 0 {
                continue;
            }
            let x = cell.x.checked_add_signed(dx);
            let y = cell.y.checked_add_signed(dy);
            let Some(next) = x.zip(y).map(|(x, y)| Cell::new(x, y)) else { continue };
            if grid.is_open(next) && labels[grid.index(next).unwrap()].is_none() {
                labels[grid.index(next).unwrap()] = Some(label);
                queue.push_back(next);
            }
        }
    }
}

/// Fails unless the regions of a terrain are exactly the components of its grid,
/// and the cell lists of the regions hold exactly their cells.
pub(crate) fn assert_exact(terrain: &Terrain) {
    let grid = terrain.grid();
    let labels = components(grid, terrain.rule().connectivity());
    let label_count = labels.iter().flatten().max().map_or(0, |max| max + 1);
    assert_eq!(terrain.regions().count(), label_count, "the number of regions");
    assert_eq!(terrain.regions().ids().count(), label_count, "the regions listed");

    let mut listed_count = 0;
    for region in terrain.regions().ids() {
        let cells: Vec<Cell> = terrain.regions().cells(region).collect();
        assert_eq!(terrain.regions().cell_count(region), cells.len());
        listed_count += cells.len();
        let label = labels[grid.index(cells[0]).unwrap()];
        for &cell in &cells {
            assert_eq!(terrain.region(cell), Some(region), "the region of {cell}");
            assert_eq!(labels[grid.index(cell).unwrap()], label, "the component of {cell}");
        }
    }
    // As many regions as components and no region with two: a bijection, if all
    // open cells are listed.
    assert_eq!(listed_count, grid.open_count(), "the cells of all regions");
    terrain.check().unwrap();
}
