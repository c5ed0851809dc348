//! Agents of several cells: clearance, regions and paths of each size against squares that are
//! looked at cell by cell.

use crate::flood::assert_exact;
use crate::rng::Rng;
use crate::sim::Sim;
use crate::{cells, dijkstra, noise};
use formic_ecs::{Entity, RandomStream};
use formic_jobs::Threads;
use formic_nav::{
    Cell, Grid, MoveRule, Path, PathRequest, PathScratch, PathStats, RequestStatus, SIZE_MAX, Size,
    Terrain, Unreachable, Wander, Weight,
};

/// The cells of a square, or `None` where it is not all on the grid.
fn square(grid: &Grid, corner: Cell, size: u8) -> Option<Vec<Cell>> {
    let size = u16::from(size);
    let (x, y) = (corner.x + size, corner.y + size);
    let rows = corner.y..y;
    let cells = rows.flat_map(|y| (corner.x..x).map(move |x| Cell::new(x, y)));
    (x <= grid.width() && y <= grid.height()).then(|| cells.collect())
}

/// The grid of agents of a size, worked out anew.
fn eroded(grid: &Grid, size: u8) -> Grid {
    let fits = |corner| {
        square(grid, corner, size).is_some_and(|all| all.into_iter().all(|cell| grid.is_open(cell)))
    };
    let mut eroded = Grid::from_fn(grid.width().into(), grid.height().into(), fits).unwrap();
    for corner in grid.cells() {
        if let Some(all) = square(grid, corner, size) {
            let heaviest = all.into_iter().filter_map(|cell| grid.weight(cell)).max().unwrap();
            eroded.set_weight(corner, heaviest);
        }
    }
    eroded
}

fn edit(rng: &mut Rng, terrain: &mut Terrain) {
    let cell = cells::any_cell(rng, terrain.grid());
    let weight = Weight::new(u8::try_from(1 + rng.below(5)).unwrap()).unwrap();
    let changed = match rng.below(5) {
        0 => terrain.set_weight(cell, weight),
        _ => terrain.dig(cell) || terrain.fill(cell),
    };
    let _ = changed;
}

fn assert_sizes_are_exact(terrain: &Terrain, size_max: u8) {
    let grid = terrain.grid();
    for size in 1..=size_max {
        let (kept, fresh) = (terrain.for_size(size).unwrap(), eroded(grid, size));
        for cell in grid.cells() {
            assert_eq!(kept.is_open(cell), fresh.is_open(cell), "size {size} at {cell}");
            assert_eq!(terrain.clearance(cell) >= size, fresh.is_open(cell), "{size} at {cell}");
            if fresh.is_open(cell) {
                assert_eq!(kept.grid().weight(cell), fresh.weight(cell), "size {size} at {cell}");
            }
        }
        assert_exact(kept);
    }
    assert!(terrain.for_size(0).is_none() && terrain.for_size(size_max + 1).is_none());
    terrain.check().unwrap();
}

#[test]
fn clearance_regions_and_weights_of_every_size_are_exact_under_random_edits() {
    let mut rng = Rng::new(61);
    for (rule, size_max) in MoveRule::ALL.into_iter().zip([8, 3, 5, 2]) {
        let grid = noise::noise(&mut rng, 45, 37, 92);
        let mut terrain = Terrain::new(grid, rule).with_sizes(size_max);
        assert_sizes_are_exact(&terrain, size_max);
        for _ in 0..12 {
            (0..25).for_each(|_| edit(&mut rng, &mut terrain));
            assert_sizes_are_exact(&terrain, size_max);
        }
    }
}

#[test]
fn paths_of_every_size_cost_what_dijkstra_finds_for_squares() {
    let mut rng = Rng::new(62);
    let (mut scratch, mut path) = (PathScratch::new(), Path::new());
    let mut found = 0;
    for rule in MoveRule::ALL {
        let grid = noise::noise(&mut rng, 40, 40, 94);
        let mut terrain = Terrain::new(grid, rule).with_sizes(4);
        for _ in 0..6 {
            (0..10).for_each(|_| edit(&mut rng, &mut terrain));
            for size in 1..=4 {
                let (kept, fresh) = (terrain.for_size(size).unwrap(), eroded(terrain.grid(), size));
                let start = cells::any_cell(&mut rng, &fresh);
                if !fresh.is_open(start) {
                    continue;
                }
                let distances = dijkstra::distances(&fresh, rule, start);
                for _ in 0..8 {
                    let goal = cells::any_cell(&mut rng, &fresh);
                    let best = distances[fresh.index(goal).unwrap()];
                    assert_eq!(kept.reachable(start, goal), best.is_some());
                    let cost = scratch.find(kept, start, goal, &mut path).cost();
                    assert_eq!(cost.map(|cost| cost.units()), best, "{size}: {start} to {goal}");
                    found += u32::from(best.is_some());
                    // All that such an agent covers on its way is open.
                    for &corner in path.cells() {
                        let all = square(terrain.grid(), corner, size).unwrap();
                        assert!(all.into_iter().all(|cell| terrain.is_open(cell)));
                    }
                }
            }
        }
    }
    assert!(found > 150, "{found}");
}

#[test]
fn terrains_of_sizes_are_saved_and_edited_with_the_same_results() {
    let mut rng = Rng::new(63);
    let mut terrain =
        Terrain::new(noise::noise(&mut rng, 40, 33, 90), MoveRule::BothFree).with_sizes(3);
    (0..200).for_each(|_| edit(&mut rng, &mut terrain));
    let mut bytes = Vec::new();
    Terrain::CODEC.write(&terrain, &mut bytes).unwrap();
    let mut read = Terrain::CODEC.read(&mut bytes.as_slice()).unwrap();
    let (mut one, mut two) = (Rng::new(1), Rng::new(1));
    (0..200).for_each(|_| edit(&mut one, &mut terrain));
    (0..200).for_each(|_| edit(&mut two, &mut read));
    for size in 1..=3 {
        let of = |terrain: &Terrain| {
            let terrain = terrain.for_size(size).unwrap();
            let regions: Vec<_> = terrain.regions().ids().collect();
            let cells: Vec<_> = terrain.grid().cells().map(|cell| terrain.region(cell)).collect();
            (terrain.version(), regions, cells)
        };
        assert_eq!(of(&read), of(&terrain), "size {size}");
    }
    assert_sizes_are_exact(&read, 3);
    // A terrain of a size that does not follow from the other one is refused.
    let written = |terrain: &Terrain| {
        let mut bytes = Vec::new();
        Terrain::CODEC.write(terrain, &mut bytes).unwrap();
        bytes
    };
    let whole = written(&read);
    let larger = written(read.for_size(3).unwrap()).split_off(1);
    let swapped =
        [whole.strip_suffix(&larger[..]).unwrap(), &written(read.for_size(2).unwrap())[1..]];
    assert!(Terrain::CODEC.read(&mut swapped.concat().as_slice()).is_err());
    for place in (0..whole.len()).step_by(173) {
        let mut bytes = whole.clone();
        bytes[place] ^= 1;
        if let Ok(read) = Terrain::CODEC.read(&mut bytes.as_slice()) {
            read.check().unwrap();
        }
    }
}

#[test]
fn a_size_that_is_not_kept_has_no_terrain_and_none_is_beyond_the_greatest() {
    let grid = Grid::from_fn(20, 20, |_| true).unwrap();
    let terrain = Terrain::new(grid, MoveRule::BothFree);
    assert!(terrain.for_size(2).is_none());
    assert_eq!((terrain.clearance(Cell::new(3, 3)), terrain.clearance(Cell::new(20, 3))), (1, 0));
    let terrain = terrain.with_sizes(SIZE_MAX);
    assert_eq!(terrain.clearance(Cell::new(0, 0)), 8);
    assert_eq!(terrain.clearance(Cell::new(17, 3)), 3);
}

/// Whether all that an agent covers is open.
fn stands_on_open_cells(sim: &Sim, agent: Entity, size: u8) -> bool {
    let corner = Cell::containing(sim.position(agent)).unwrap();
    let all = square(sim.terrain().grid(), corner, size);
    all.is_some_and(|all| all.into_iter().all(|cell| sim.terrain().is_open(cell)))
}

#[test]
fn a_troll_takes_the_wide_door_and_waits_where_there_is_none() {
    // A door of one cell, and one of two far from it.
    let open = |cell: Cell| cell.x != 10 || cell.y == 3 || cell.y == 26 || cell.y == 27;
    let mut sim = Sim::new(Grid::from_fn(20, 30, open).unwrap());
    let terrain = sim.terrain().clone().with_sizes(2);
    sim.world.insert_resource(terrain);
    let [imp, troll] = [3.5, 2.5].map(|y| sim.spawn(2.5, y, 4.0));
    sim.world.insert(troll, Size(2)).unwrap();
    for agent in [imp, troll] {
        sim.ask(agent, 17.5, 3.5);
        sim.world.get_mut::<PathRequest>(agent).unwrap().keep_trying();
    }
    let mut rows = [0_u16; 2];
    for _ in 0..600 {
        sim.tick();
        for (row, agent) in rows.iter_mut().zip([imp, troll]) {
            *row = (*row).max(Cell::containing(sim.position(agent)).unwrap().y);
        }
        assert!(stands_on_open_cells(&sim, troll, 2));
    }
    assert_eq!([imp, troll].map(|agent| sim.status(agent)), [RequestStatus::Arrived; 2]);
    assert_eq!(rows, [3, 26]);

    // The wide door becomes narrow, and wide again.
    sim.terrain_mut().fill(Cell::new(10, 27));
    sim.ask(troll, 2.5, 3.5);
    sim.world.get_mut::<PathRequest>(troll).unwrap().keep_trying();
    sim.ticks(50);
    let apart = RequestStatus::Unreachable(Unreachable::Disconnected);
    assert_eq!(sim.status(troll), apart);
    // An edit that lets only smaller agents through does not have it ask again.
    let answers = sim.report().answers;
    sim.terrain_mut().dig(Cell::new(10, 12));
    sim.ticks(5);
    assert_eq!((sim.status(troll), sim.report().answers), (apart, answers));
    sim.terrain_mut().dig(Cell::new(10, 4));
    sim.ticks(100);
    assert_eq!(sim.status(troll), RequestStatus::Arrived);
}

#[test]
fn trolls_stand_on_open_cells_after_every_edit_on_any_number_of_threads() {
    let mut hashes = Vec::new();
    for threads in [Threads::None, Threads::Own(2)] {
        let mut rng = Rng::new(64);
        let mut sim = Sim::on(noise::noise(&mut rng, 40, 40, 96), MoveRule::BothFree, threads);
        let terrain = sim.terrain().clone().with_sizes(3);
        let places: Vec<Cell> =
            terrain.grid().cells().filter(|&cell| terrain.clearance(cell) >= 3).collect();
        sim.world.insert_resource(terrain);
        // Some searches take more than a tick.
        sim.set_budget(40);
        let trolls: Vec<(Entity, u8)> = (0..30)
            .map(|number| {
                let place = places[rng.below(places.len())].centre();
                let size = 2 + u8::try_from(number % 2).unwrap();
                let troll = sim.spawn(place.x, place.y, 3.0);
                let wander = Wander::with_pause(RandomStream::new(number), 0.5);
                sim.world.insert(troll, (Size(size), wander)).unwrap();
                (troll, size)
            })
            .collect();
        for _ in 0..400 {
            if rng.below(3) == 0 {
                edit(&mut rng, sim.terrain_mut());
            }
            sim.tick();
            for &(troll, size) in &trolls {
                assert!(stands_on_open_cells(&sim, troll, size));
            }
        }
        sim.terrain().check().unwrap();
        let arrivals: u32 = trolls
            .iter()
            .map(|&(troll, _)| sim.world.get::<PathStats>(troll).unwrap().arrivals)
            .sum();
        assert!(arrivals > 60, "{arrivals}");
        hashes.push((sim.world.state_hash(), sim.report()));
    }
    assert_eq!(hashes[0], hashes[1]);
}
