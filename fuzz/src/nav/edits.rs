//! A program of edits: the regions against a flood that knows nothing of them, and what the events
//! say against what is there.

use ::formic_nav::{Cell, Connectivity, RegionEvent, RegionId, Terrain, Weight};

use crate::nav::Input;

pub(crate) fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let rule = input.rule();
    let mut terrain = Terrain::new(input.grid(), rule);
    let mut known: Vec<RegionId> = terrain.regions().ids().collect();
    while !input.is_empty() {
        for _ in 0..1 + input.byte() % 8 {
            let before = terrain.version();
            let cell = input.cell(terrain.grid());
            let changed = match input.byte() % 4 {
                0 | 1 => terrain.dig(cell) || terrain.fill(cell),
                2 => terrain.fill(cell),
                _ => {
                    Weight::new(input.byte()).is_some_and(|weight| terrain.set_weight(cell, weight))
                }
            };
            assert_eq!(changed, terrain.version() > before);
        }
        for event in terrain.drain_events() {
            hear(&mut known, event);
        }
        known.sort_unstable();
        assert!(
            terrain.regions().ids().eq(known.iter().copied()),
            "the events tell of all regions"
        );
        check(&terrain);
    }
}

fn hear(known: &mut Vec<RegionId>, event: RegionEvent) {
    let (new, old) = match event {
        RegionEvent::Created { region } => (Some(region), None),
        RegionEvent::Removed { region } => (None, Some(region)),
        RegionEvent::Merged { into, from, .. } => {
            assert!(known.contains(&into));
            (None, Some(from))
        }
        RegionEvent::Split { from, into, .. } => {
            assert!(known.contains(&from));
            (Some(into), None)
        }
    };
    if let Some(old) = old {
        let place = known.iter().position(|&region| region == old);
        known.swap_remove(place.expect("only what is there can go"));
    }
    if let Some(new) = new {
        assert!(!known.contains(&new));
        known.push(new);
    }
}

/// Floods each region from its first cell and compares.
fn check(terrain: &Terrain) {
    terrain.check().expect("the regions are those of a fresh flood");
    let grid = terrain.grid();
    let is_cornerwise = terrain.rule().connectivity() == Connectivity::Eight;
    let mut cell_count = 0;
    for region in terrain.regions().ids() {
        let cells: Vec<Cell> = terrain.regions().cells(region).collect();
        assert_eq!(terrain.regions().cell_count(region), cells.len());
        let mut is_seen = vec![false; grid.cell_count()];
        let mut queue = vec![cells[0]];
        is_seen[grid.index(cells[0]).expect("inside")] = true;
        let mut flooded = 0;
        while let Some(cell) = queue.pop() {
            flooded += 1;
            assert_eq!(terrain.region(cell), Some(region));
            for (dx, dy) in [(-1, -1), (0, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (0, 1), (1, 1)] {
                let next = cell.x.checked_add_signed(dx).zip(cell.y.checked_add_signed(dy));
                let Some(next) = next.map(|(x, y)| Cell::new(x, y)) else { continue };
                let is_linked = is_cornerwise || dx == 0 || dy == 0;
                let Some(index) = grid.index(next).filter(|_| is_linked && grid.is_open(next))
                else {
                    continue;
                };
                if !std::mem::replace(&mut is_seen[index], true) {
                    queue.push(next);
                }
            }
        }
        assert_eq!(flooded, cells.len());
        let some_cell = terrain.regions().random_cell(region, u64::MAX / 3);
        assert!(some_cell.is_some_and(|cell| cells.contains(&cell)));
        cell_count += flooded;
    }
    assert_eq!(cell_count, grid.open_count());
}
