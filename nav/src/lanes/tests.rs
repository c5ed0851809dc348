//! Lanes that follow edits, compared with lanes that are made anew, and scans with
//! walks cell by cell.

use formic_ecs::RandomStream;

use crate::cell::Cell;
use crate::cost::Weight;
use crate::direction::MoveRule;
use crate::grid::Grid;
use crate::lanes::LanePair;

fn noise(stream: &mut RandomStream, width: u32, height: u32, open_share: u64) -> Grid {
    Grid::from_fn(width, height, |_| stream.next_u64() % 100 < open_share).unwrap()
}

#[test]
fn edited_lanes_are_those_of_the_edited_grid() {
    let mut stream = RandomStream::new(1);
    // In the last one scans pass several words.
    for (width, height, open_share) in
        [(1, 1, 65), (62, 3, 65), (63, 64, 65), (130, 70, 65), (300, 5, 98)]
    {
        for rule in MoveRule::ALL {
            let mut grid = noise(&mut stream, width, height, open_share);
            let mut lanes = LanePair::new(&grid, rule);
            for _ in 0..200 {
                let mut below = |side: u32| stream.next_u64() % u64::from(side);
                let (x, y) = (below(width), below(height));
                let cell = Cell::new(u16::try_from(x).unwrap(), u16::try_from(y).unwrap());
                if stream.next_u64() % 3 == 0 {
                    let weight = u8::try_from(1 + stream.next_u64() % 3).unwrap();
                    grid.set_weight(cell, Weight::new(weight).unwrap());
                    lanes.edit_weight(&grid, cell);
                } else {
                    let _is_open = grid.dig(cell) || !grid.fill(cell);
                    lanes.edit(&grid, cell);
                }
                assert!(lanes == LanePair::new(&grid, rule), "{rule:?} {width} x {height}: {cell}");
            }
        }
    }
}

#[test]
fn lanes_and_the_grid_agree_on_cells_and_squares() {
    let mut stream = RandomStream::new(2);
    let grid = noise(&mut stream, 130, 20, 65);
    let lanes = LanePair::new(&grid, MoveRule::BothFree);
    for cell in grid.cells() {
        let (x, y) = (u32::from(cell.x) + 1, u32::from(cell.y) + 1);
        assert_eq!(lanes.rows.is_open(y, x), grid.is_open(cell));
        assert_eq!(lanes.columns.is_open(x, y), grid.is_open(cell));
        let square = [(0, 0), (1, 0), (0, 1), (1, 1)];
        let is_open =
            square.iter().all(|&(dx, dy)| grid.is_open(Cell::new(cell.x + dx, cell.y + dy)));
        assert_eq!(lanes.rows.is_square_open(y, x), is_open, "{cell}");
    }
}

/// The stops of a scan if no corner is cut, from the definition.
fn stops(grid: &Grid, x: i32, y: i32, dx: i32, dy: i32) -> bool {
    let is_open = |x: i32, y: i32| {
        let cell = u16::try_from(x).ok().zip(u16::try_from(y).ok());
        cell.is_some_and(|(x, y)| grid.is_open(Cell::new(x, y)))
    };
    let side =
        |s: i32| is_open(x + s * dy, y + s * dx) && !is_open(x + s * dy - dx, y + s * dx - dy);
    !is_open(x, y) || side(1) || side(-1)
}

#[test]
fn scans_stop_where_walks_do() {
    let mut stream = RandomStream::new(3);
    let grid = Grid::from_fn(200, 150, |_| stream.next_u64() % 100 < 93).unwrap();
    let lanes = LanePair::new(&grid, MoveRule::BothFree);
    let walk = |cell: Cell, dx: i32, dy: i32| {
        let (mut x, mut y) = (i32::from(cell.x) + dx, i32::from(cell.y) + dy);
        while !stops(&grid, x, y, dx, dy) {
            (x, y) = (x + dx, y + dy);
        }
        (x + 1, y + 1)
    };
    for cell in grid.cells().filter(|&cell| grid.is_open(cell)) {
        let (x, y) = (u32::from(cell.x) + 1, u32::from(cell.y) + 1);
        assert_eq!(lanes.rows.leads_on::<true>(y, x), lanes.rows.scan::<true>(y, x).is_open);
        assert_eq!(lanes.rows.leads_on::<false>(y, x), lanes.rows.scan::<false>(y, x).is_open);
        assert_eq!(lanes.columns.leads_on::<true>(x, y), lanes.columns.scan::<true>(x, y).is_open);
        assert_eq!(
            lanes.columns.leads_on::<false>(x, y),
            lanes.columns.scan::<false>(x, y).is_open
        );
        let place = |place: u32| i32::try_from(place).unwrap();
        assert_eq!(place(lanes.rows.scan::<true>(y, x).place), walk(cell, 1, 0).0, "{cell} east");
        assert_eq!(place(lanes.rows.scan::<false>(y, x).place), walk(cell, -1, 0).0, "{cell} west");
        assert_eq!(
            place(lanes.columns.scan::<true>(x, y).place),
            walk(cell, 0, 1).1,
            "{cell} south"
        );
        assert_eq!(
            place(lanes.columns.scan::<false>(x, y).place),
            walk(cell, 0, -1).1,
            "{cell} north"
        );
    }
}
