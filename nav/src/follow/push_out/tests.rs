//! The places to which agents are pushed.

use std::time::{Duration, Instant};

use formic_ecs::RandomStream;

use super::*;

fn check(open: &[(u16, u16)], position: (f32, f32), expected: Option<(f32, f32)>) {
    let is_open = |cell: Cell| open.contains(&(cell.x, cell.y));
    let grid = Grid::from_fn(9, 9, is_open).expect("a small grid");
    let found = refuge(&grid, position.into()).map(|place| (place.x, place.y));
    assert_eq!(found, expected, "from {position:?}");
}

#[test]
fn the_nearest_open_cell_takes_the_agent_in_on_its_near_side() {
    check(&[(3, 4), (5, 4)], (4.4, 4.5), Some((3.75, 4.5)));
    check(&[(3, 4), (5, 4)], (4.6, 4.5), Some((5.25, 4.5)));
    check(&[(8, 8)], (0.5, 0.5), Some((8.25, 8.25)));
}

#[test]
fn of_two_cells_as_near_the_first_in_reading_order_wins() {
    check(&[(4, 3), (3, 4), (5, 4), (4, 5)], (4.5, 4.5), Some((4.5, 3.75)));
    check(&[(5, 4), (4, 5), (3, 4)], (4.5, 4.5), Some((3.75, 4.5)));
    // On the line between the two.
    check(&[(4, 3), (4, 4)], (4.5, 4.0), Some((4.5, 3.75)));
}

#[test]
fn a_cell_of_a_wider_ring_may_be_nearer_than_a_far_corner() {
    check(&[(4, 4), (3, 1)], (3.05, 3.05), Some((3.25, 1.75)));
}

#[test]
fn positions_outside_and_no_numbers_find_their_way_back() {
    check(&[(0, 0)], (-3.0, -1.0), Some((0.25, 0.25)));
    check(&[(8, 8)], (100.0, f32::INFINITY), Some((8.75, 8.75)));
    check(&[(0, 0)], (f32::NAN, 0.5), Some((0.25, 0.5)));
    check(&[], (4.5, 4.5), None);
}

#[test]
fn the_nearest_cell_of_all_is_found() {
    let mut stream = RandomStream::new(5);
    let mut below = |end: u64| u16::try_from(stream.next_u64() % end).expect("it is small");
    for round in 0..2_000 {
        let (width, height) = (1 + below(140), 1 + below(9));
        let share = [2, 20, 300][round % 3];
        let grid =
            Grid::from_fn(width.into(), height.into(), |_| below(share) == 0).expect("small");
        let position = Cell::new(below(width.into()), below(height.into())).centre()
            + Vec2::new(f32::from(below(9)), f32::from(below(9))) / 9.0
            - Vec2::splat(0.5);
        let far = |cell: &Cell| cell.centre().distance_squared(position);
        let open = grid.cells().filter(|&cell| grid.is_open(cell));
        let expected = open.min_by(|a, b| far(a).total_cmp(&far(b)).then(a.cmp(b)));
        assert_eq!(nearest_open(&grid, position), expected, "round {round}, from {position}");
    }
}

#[test]
fn a_cell_that_is_far_away_is_found_in_a_moment() {
    let grid =
        Grid::from_fn(2_000, 2_000, |cell| cell == Cell::new(1_990, 1_980)).expect("not large");
    let start = Instant::now();
    for x in 0..100_u8 {
        let place = refuge(&grid, Vec2::new(f32::from(x), 10.5));
        assert_eq!(place, Some(Vec2::new(1_990.25, 1_980.25)));
    }
    assert!(start.elapsed() < Duration::from_secs(1), "it took {:?}", start.elapsed());
}
