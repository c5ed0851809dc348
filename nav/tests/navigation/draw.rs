//! Pictures: every layer shows what it is to show, in the cells where it is.

use formic_nav::{
    AgentClass, Cell, ClassId, DrawOptions, FlowFields, Grid, Link, MoveRule, PathRequest, Picture,
    Position, Terrain, Weight, debug_draw,
};

use glam::Vec2;

use crate::noise;
use crate::rng::Rng;
use crate::sim::Sim;

const ROCK: [u8; 3] = [30, 28, 34];

/// The colours in a cell.
fn colours(picture: &Picture, options: DrawOptions, cell: Cell) -> Vec<[u8; 3]> {
    let (side, width) = (usize::from(options.cell_pixels), picture.width as usize);
    let (left, top) = (usize::from(cell.x) * side, usize::from(cell.y) * side);
    let pixels = (top..top + side).flat_map(|y| (left..left + side).map(move |x| (x, y)));
    let mut all: Vec<_> =
        pixels.map(|(x, y)| picture.palette[usize::from(picture.pixels[y * width + x])]).collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[test]
fn cells_of_one_region_and_weight_have_one_colour_and_rock_has_two() {
    let mut rng = Rng::new(3);
    let sim = Sim::new(noise::noise(&mut rng, 21, 14, 60));
    let options = DrawOptions { cell_pixels: 3, ..DrawOptions::default() };
    let picture = debug_draw(&sim.world, options);
    assert_eq!((picture.width, picture.height()), (63, 42));
    let terrain = sim.terrain();
    for (a, b) in terrain.grid().cells().zip(terrain.grid().cells().skip(1)) {
        let [one, other] = [a, b].map(|cell| colours(&picture, options, cell));
        assert_eq!((one.len(), other.len()), (1, 1));
        let kinds = [a, b].map(|cell| {
            // Rock above an open cell shows its side.
            let region = terrain.region(cell).map(|region| region.slot() % 48);
            (region, region.is_none() && terrain.is_open(Cell::new(cell.x, cell.y + 1)))
        });
        assert_eq!(one == other, kinds[0] == kinds[1], "{a} and {b}");
    }
    let ppm = picture.ppm();
    assert_eq!(ppm.len(), b"P6 63 42 255\n".len() + 63 * 42 * 3);
}

#[test]
fn clearances_are_the_largest_squares_that_fit() {
    let mut rng = Rng::new(4);
    let sim = Sim::new(noise::noise(&mut rng, 30, 30, 96));
    let options = DrawOptions { cell_pixels: 1, clearance: true, ..DrawOptions::default() };
    let picture = debug_draw(&sim.world, options);
    let terrain = sim.terrain().clone().with_classes((1..=8).map(AgentClass::new));
    for cell in terrain.grid().cells() {
        let fits = |size: &u8| terrain.for_class(ClassId(*size)).unwrap().is_open(cell);
        let largest = (1..=8).rev().find(fits);
        let is_above_open = terrain.is_open(Cell::new(cell.x, cell.y + 1));
        let rock = if is_above_open { [66, 60, 70] } else { ROCK };
        let expected = largest.map_or(rock, |size| [40 + size * 26; 3]);
        assert_eq!(colours(&picture, options, cell), [expected], "{cell}");
    }
}

#[test]
fn fields_links_routes_and_agents_are_drawn_where_they_are() {
    let grid = Grid::from_fn(20, 9, |cell| cell.x != 15).unwrap();
    let link = Link::new(Cell::new(14, 1), Cell::new(18, 1), 3);
    let mut sim = Sim::new(grid.clone());
    sim.world.insert_resource(Terrain::new(grid, MoveRule::default()).with_links([link]));
    let terrain = sim.terrain().clone();
    let mut fields = FlowFields::default();
    let field = fields.add(&terrain, &[Cell::new(3, 3)]);
    let _ = fields.get_mut(field).unwrap().settle_all(&terrain);
    sim.world.insert_resource(fields);
    let agent = sim.spawn(1.5, 6.5, 1.0);
    sim.ask(agent, 12.5, 6.5);
    sim.tick();
    let plain = DrawOptions { agents: false, ..DrawOptions::default() };
    let ground = debug_draw(&sim.world, plain);
    let differs = |options: DrawOptions, cell: Cell| {
        let picture = debug_draw(&sim.world, options);
        colours(&picture, options, cell) != colours(&ground, plain, cell)
    };
    let all = DrawOptions::default();
    for x in 1..=12 {
        assert!(differs(all, Cell::new(x, 6)), "the route in column {x}");
    }
    assert!(differs(all, Cell::new(16, 1)) && differs(all, link.to), "the link");
    assert!(!differs(all, Cell::new(7, 3)));
    let with_field = DrawOptions { field: Some(field), ..plain };
    for cell in terrain.grid().cells() {
        let has_way = terrain.reachable(cell, Cell::new(3, 3));
        assert_eq!(differs(with_field, cell), has_way, "{cell}");
    }
    let picture = debug_draw(&sim.world, all);
    let white = colours(&picture, all, Cell::new(1, 6)).contains(&[255, 255, 255]);
    assert!(white, "the agent");
    assert_eq!(picture, debug_draw(&sim.world, all), "the same world gives the same picture");
}

#[test]
fn regions_are_told_apart_from_each_other_and_from_rock_and_agents() {
    let distance = |a: [u8; 3], b: [u8; 3]| -> u32 {
        a.iter().zip(b).map(|(&a, b)| u32::from(a.abs_diff(b))).sum()
    };
    let sim = Sim::new(Grid::from_fn(47, 1, |cell| cell.x % 2 == 0).unwrap());
    let options = DrawOptions::default();
    let picture = debug_draw(&sim.world, options);
    let cells = sim.terrain().grid().cells().step_by(2);
    let regions: Vec<_> = cells.map(|cell| colours(&picture, options, cell)[0]).collect();
    assert_eq!(regions.len(), 24);
    for (index, &colour) in regions.iter().enumerate() {
        assert!(distance(colour, ROCK) > 80, "{index}: {colour:?} is as dark as rock");
        assert!(distance(colour, [255; 3]) > 80, "{index}: {colour:?} is as light as an agent");
        for (other, &neighbour) in regions.iter().enumerate().skip(index + 1) {
            let apart = distance(colour, neighbour);
            assert!(apart > 24, "{index} {colour:?} and {other} {neighbour:?}: {apart}");
        }
    }
}

#[test]
fn a_route_to_a_goal_far_beyond_the_map_is_drawn_to_its_border() {
    let draw = |goal: f32| {
        let mut sim = Sim::new(Grid::from_fn(9, 3, |_| true).unwrap());
        let agent = sim.spawn(0.5, 1.5, 0.0);
        let request = sim.world.get_mut::<PathRequest>(agent).unwrap();
        request.ask(Vec2::new(goal, 1.5)).or_nearest();
        sim.ticks(5);
        let picture = debug_draw(&sim.world, DrawOptions::default());
        sim.world.get_mut::<Position>(agent).unwrap().0 = Vec2::new(-1e30, f32::INFINITY);
        (picture, debug_draw(&sim.world, DrawOptions::default()))
    };
    // A line of that many pixels would never end.
    assert_eq!(draw(9.5), draw(1e30));
}

#[test]
fn heavy_ground_is_bluer() {
    let mut grid = Grid::from_fn(6, 1, |_| true).unwrap();
    for (x, weight) in (0..).zip([1, 2, 4, 5, 13, 255]) {
        grid.set_weight(Cell::new(x, 0), Weight::new(weight).unwrap());
    }
    let options = DrawOptions { cell_pixels: 1, ..DrawOptions::default() };
    let picture = debug_draw(&Sim::new(grid).world, options);
    let blue: Vec<u8> = (0..6).map(|x| colours(&picture, options, Cell::new(x, 0))[0][2]).collect();
    assert!(blue[0] < blue[1] && blue[1] == blue[2] && blue[2] < blue[3], "{blue:?}");
    assert!(blue[3] < blue[4] && blue[4] == blue[5], "{blue:?}");
}
