//! Flow fields: exact, lazy, and exact again after edits.

use formic_nav::{
    CHANGES_MAX, Cell, Cost, Direction, FlowField, Grid, MoveRule, Path, PathScratch, Terrain,
    Weight, path_cost,
};

use crate::rng::Rng;
use crate::{cells, dijkstra, noise};

/// The units from each cell in reading order to the nearest goal.
fn oracle(terrain: &Terrain, goals: &[Cell]) -> Vec<Option<u64>> {
    let grid = terrain.grid();
    let mut best = vec![None; grid.cell_count()];
    for &goal in goals.iter().filter(|&&goal| grid.is_open(goal)) {
        let distances = dijkstra::distances(grid, terrain.rule(), goal);
        for (best, distance) in best.iter_mut().zip(distances) {
            *best = (*best).into_iter().chain(distance).min();
        }
    }
    best
}

/// Follows the field from a cell until it says nothing more.
fn follow(field: &mut FlowField, terrain: &Terrain, start: Cell) -> Vec<Cell> {
    let mut way = vec![start];
    let mut cell = start;
    while let Some(direction) = field.direction(terrain, cell) {
        cell = direction.step(cell).unwrap();
        way.push(cell);
        assert!(way.len() <= terrain.grid().cell_count(), "a field that goes in circles");
    }
    way
}

/// Asks for some cells, and checks distances against the oracle and the ways
/// against the distances.
fn check(field: &mut FlowField, terrain: &Terrain, asked: impl Iterator<Item = Cell>) {
    let expected = oracle(terrain, field.goals());
    for cell in asked {
        let units = expected[terrain.grid().index(cell).unwrap()];
        let distance = field.distance(terrain, cell);
        assert_eq!(distance.map(Cost::units), units, "the distance of {cell}");
        let way = follow(field, terrain, cell);
        let Some(distance) = distance else {
            assert_eq!(way, [cell], "there is no way from {cell}");
            continue;
        };
        assert_eq!(path_cost(terrain.grid(), terrain.rule(), &way), Ok(distance), "from {cell}");
        let leads_on = |direction: &Direction| {
            let step = direction.step(cell).map(|next| (next, terrain.grid().index(next)));
            let Some((next, Some(place))) = step else { return false };
            let units = path_cost(terrain.grid(), terrain.rule(), &[cell, next]).map(Cost::units);
            units.ok().zip(expected[place]).is_some_and(|(a, b)| a + b == distance.units())
        };
        let first = Direction::ALL.into_iter().find(leads_on);
        assert_eq!(field.direction(terrain, cell), first, "the first of equals from {cell}");
        assert!(field.goals().contains(way.last().unwrap()), "{cell} does not lead to a goal");
    }
}

fn weigh(rng: &mut Rng, grid: &mut Grid) {
    let cells: Vec<Cell> = grid.cells().collect();
    for cell in cells {
        grid.set_weight(cell, any_weight(rng));
    }
}

fn any_weight(rng: &mut Rng) -> Weight {
    Weight::new(u8::try_from(1 + rng.below(9)).unwrap()).unwrap()
}

/// Random terrain under a rule, more or less open, weighed or not, and some goals.
fn scene(rng: &mut Rng, rule: MoveRule) -> (Terrain, Vec<Cell>) {
    let (width, height) = (1 + rng.below(75), 1 + rng.below(45));
    let percent = 45 + rng.below(50);
    let side = |length| u32::try_from(length).unwrap();
    let mut grid = noise::noise(rng, side(width), side(height), percent);
    if rng.below(2) == 0 {
        weigh(rng, &mut grid);
    }
    let goals = (0..1 + rng.below(4)).map(|_| cells::any_cell(rng, &grid)).collect();
    (Terrain::new(grid, rule), goals)
}

/// Digs, fills and weighs a few cells, or many, anywhere or around one place.
fn edit(rng: &mut Rng, terrain: &mut Terrain, goals: &[Cell]) {
    let count = [1, 1, 3, 40][rng.below(4)];
    let is_near = rng.below(2) == 0;
    for _ in 0..count {
        let mut cell = cells::any_cell(rng, terrain.grid());
        if is_near {
            let near =
                |place: u16, by: usize| (place + u16::try_from(by).unwrap()).saturating_sub(3);
            cell = Cell::new(near(goals[0].x, rng.below(7)), near(goals[0].y, rng.below(7)));
        }
        match rng.below(3) {
            0 => terrain.set_weight(cell, any_weight(rng)),
            1 => terrain.dig(cell),
            _ => terrain.fill(cell),
        };
    }
}

#[test]
fn distances_are_those_of_dijkstra_and_ways_cost_what_they_say() {
    let mut rng = Rng::new(81);
    for rule in MoveRule::ALL {
        for _ in 0..12 {
            let (terrain, goals) = scene(&mut rng, rule);
            let mut field = FlowField::new(&terrain, &goals);
            check(&mut field, &terrain, terrain.grid().cells());
        }
    }
}

#[test]
fn distances_are_those_of_path_searches() {
    let mut rng = Rng::new(82);
    let (mut scratch, mut path) = (PathScratch::new(), Path::new());
    for rule in MoveRule::ALL {
        let (terrain, goals) = scene(&mut rng, rule);
        let mut field = FlowField::new(&terrain, &goals[..1]);
        for _ in 0..200 {
            let start = cells::any_cell(&mut rng, terrain.grid());
            let outcome = scratch.find(&terrain, start, goals[0], &mut path);
            assert_eq!(field.distance(&terrain, start), outcome.cost(), "{rule:?} from {start}");
        }
    }
}

#[test]
fn after_edits_they_are_exact_again_wherever_the_wave_had_halted() {
    let mut rng = Rng::new(83);
    for rule in MoveRule::ALL {
        for _ in 0..8 {
            let (mut terrain, goals) = scene(&mut rng, rule);
            let mut field = FlowField::new(&terrain, &goals);
            for _ in 0..12 {
                let asked: Vec<Cell> =
                    (0..rng.below(6)).map(|_| cells::any_cell(&mut rng, terrain.grid())).collect();
                check(&mut field, &terrain, asked.into_iter());
                edit(&mut rng, &mut terrain, &goals);
            }
            check(&mut field, &terrain, terrain.grid().cells());
        }
    }
}

#[test]
fn directions_do_not_depend_on_what_was_asked_and_edited_before() {
    let mut rng = Rng::new(84);
    for rule in MoveRule::ALL {
        let (mut terrain, goals) = scene(&mut rng, rule);
        let mut old = FlowField::new(&terrain, &goals);
        for _ in 0..30 {
            edit(&mut rng, &mut terrain, &goals);
            let asked = cells::any_cell(&mut rng, terrain.grid());
            old.direction(&terrain, asked);
        }
        let mut new = FlowField::new(&terrain, &goals);
        let new = new.settle_all(&terrain);
        for cell in terrain.grid().cells() {
            assert_eq!(old.direction(&terrain, cell), new.direction(cell), "{rule:?} at {cell}");
            assert_eq!(old.distance(&terrain, cell), new.distance(cell), "{rule:?} at {cell}");
        }
    }
}

#[test]
fn of_equal_ways_the_first_direction_is_taken() {
    let terrain = Terrain::new(Grid::from_fn(9, 9, |_| true).unwrap(), MoveRule::Orthogonal);
    let mut field = FlowField::new(&terrain, &[Cell::new(4, 4)]);
    assert_eq!(field.direction(&terrain, Cell::new(0, 8)), Some(Direction::North));
    assert_eq!(field.direction(&terrain, Cell::new(8, 0)), Some(Direction::West));
}

#[test]
fn an_ask_near_the_goal_settles_only_cells_near_it() {
    let terrain = Terrain::new(Grid::from_fn(512, 512, |_| true).unwrap(), MoveRule::BothFree);
    let mut field = FlowField::new(&terrain, &[Cell::new(240, 240)]);
    assert_eq!(field.expansion_count(), 0);
    field.direction(&terrain, Cell::new(245, 240)).unwrap();
    let near = field.expansion_count();
    assert!((25..=121).contains(&near), "{near} cells for a distance of five");
    field.direction(&terrain, Cell::new(243, 241)).unwrap();
    assert_eq!(field.expansion_count(), near, "a nearer cell is known already");
    field.direction(&terrain, Cell::new(260, 240)).unwrap();
    assert!(field.expansion_count() < 41 * 41, "it goes on from where it halted");
    field.settle_all(&terrain);
    assert_eq!(field.expansion_count(), 512 * 512, "each cell once");
}

#[test]
fn an_edit_makes_only_what_lies_behind_it_be_found_again() {
    let mut terrain = Terrain::new(Grid::from_fn(200, 100, |_| true).unwrap(), MoveRule::BothFree);
    let goals = [Cell::new(0, 50)];
    let mut field = FlowField::new(&terrain, &goals);
    field.settle_all(&terrain);
    let before = field.expansion_count();
    terrain.fill(Cell::new(190, 50));
    field.settle_all(&terrain);
    let far = field.expansion_count() - before;
    assert!(far < 1000, "{far} cells found again for a wall at the far end");
    check(&mut field, &terrain, terrain.grid().cells().step_by(37));
}

#[test]
fn cells_without_a_way_say_so_without_a_search() {
    let mut terrain =
        Terrain::new(Grid::from_fn(90, 60, |cell| cell.x != 70).unwrap(), MoveRule::Always);
    let mut field = FlowField::new(&terrain, &[Cell::new(3, 3)]);
    for cell in [Cell::new(80, 3), Cell::new(70, 3), Cell::new(90, 3), Cell::new(0, 60)] {
        assert_eq!(field.distance(&terrain, cell), None, "{cell}");
        assert_eq!(field.direction(&terrain, cell), None, "{cell}");
    }
    assert_eq!(field.expansion_count(), 0);
    assert_eq!(field.settle_all(&terrain).distance(Cell::new(80, 3)), None);
    terrain.dig(Cell::new(70, 59));
    assert!(field.distance(&terrain, Cell::new(80, 3)).is_some());
    terrain.fill(Cell::new(70, 59));
    assert_eq!(field.distance(&terrain, Cell::new(80, 3)), None);
}

#[test]
fn a_goal_counts_while_it_is_open() {
    let mut terrain = Terrain::new(Grid::from_fn(40, 3, |_| true).unwrap(), MoveRule::BothFree);
    let (west, east) = (Cell::new(0, 1), Cell::new(39, 1));
    let mut field = FlowField::new(&terrain, &[east, west, east, Cell::new(40, 1)]);
    let length = |field: &mut FlowField, terrain: &Terrain| {
        field
            .distance(terrain, Cell::new(3, 1))
            .map(|cost| cost.units() / u64::from(formic_nav::STRAIGHT))
    };
    assert_eq!(length(&mut field, &terrain), Some(3));
    assert_eq!(field.direction(&terrain, west), None);
    terrain.fill(west);
    assert_eq!(length(&mut field, &terrain), Some(36));
    terrain.fill(east);
    assert_eq!(length(&mut field, &terrain), None);
    terrain.dig(west);
    assert_eq!(length(&mut field, &terrain), Some(3));
    assert_eq!(FlowField::new(&terrain, &[]).distance(&terrain, west), None);
}

#[test]
fn more_edits_than_are_remembered_begin_the_field_anew() {
    let mut rng = Rng::new(85);
    let mut terrain = Terrain::new(noise::noise(&mut rng, 90, 70, 70), MoveRule::OneFree);
    let mut field = FlowField::new(&terrain, &[Cell::new(20, 20), Cell::new(60, 60)]);
    field.settle_all(&terrain);
    for _ in 0..=CHANGES_MAX {
        let cell = cells::any_cell(&mut rng, terrain.grid());
        assert!(terrain.dig(cell) || terrain.fill(cell));
    }
    check(&mut field, &terrain, terrain.grid().cells().step_by(7));
}

#[test]
fn a_field_that_has_grown_takes_no_more_memory() {
    let mut rng = Rng::new(86);
    let mut terrain = Terrain::new(noise::noise(&mut rng, 100, 100, 80), MoveRule::BothFree);
    let goals = [Cell::new(50, 50)];
    terrain.dig(goals[0]);
    let mut field = FlowField::new(&terrain, &goals);
    let mut round = |field: &mut FlowField| {
        field.restart(&terrain, &goals);
        field.settle_all(&terrain);
        // From now on no agent asks far away, and all the while edits come and go there.
        for _ in 0..3000 {
            let cell = Cell::new(60, 50);
            assert!(terrain.dig(cell) || terrain.fill(cell));
            field.distance(&terrain, Cell::new(52, 50));
        }
        field.settle_all(&terrain);
        field.bytes()
    };
    let grown = round(&mut field);
    for _ in 0..3 {
        assert_eq!(round(&mut field), grown);
    }
    assert!(grown < 300_000, "{grown} bytes");
}

#[test]
fn a_field_of_another_terrain_begins_anew() {
    let terrain = Terrain::new(Grid::from_fn(5, 5, |_| true).unwrap(), MoveRule::BothFree);
    let mut field = FlowField::new(&terrain, &[Cell::new(0, 0)]);
    let mut length = |terrain: &Terrain| field.distance(terrain, Cell::new(2, 2)).unwrap().length();
    assert!(length(&terrain) < 3.0);
    let other = Terrain::new(terrain.grid().clone(), MoveRule::Orthogonal);
    assert_eq!(length(&other), 4.0);
    assert!(length(&terrain) < 3.0);
}
