//! Ways through gates: legal, priced rightly, near the best, and kept up to date.

use formic_nav::{
    Cell, Grid, MoveRule, Path, PathScratch, PortalGraph, Terrain, Weight, generate, path_cost,
};

use crate::rng::Rng;
use crate::{cells, noise};

fn open_cell(rng: &mut Rng, terrain: &Terrain) -> Cell {
    loop {
        let cell = cells::any_cell(rng, terrain.grid());
        if terrain.is_open(cell) {
            return cell;
        }
    }
}

/// Solves random queries by gates and exactly, and returns the mean of what the
/// former cost more, as a ratio.
fn compare(terrain: &Terrain, graph: &mut PortalGraph, rng: &mut Rng, count: usize) -> f64 {
    let (mut scratch, mut path) = (PathScratch::new(), Path::new());
    let (mut sum, mut found_count) = (0.0, 0);
    for _ in 0..count {
        let (start, goal) = (open_cell(rng, terrain), open_cell(rng, terrain));
        let outcome = graph.find(terrain, start, goal, &mut scratch, &mut path);
        let Some(cost) = outcome.cost() else {
            assert!(!terrain.reachable(start, goal) && path.is_empty());
            assert_eq!(scratch.find(terrain, start, goal, &mut path), outcome);
            continue;
        };
        assert_eq!(path_cost(terrain.grid(), terrain.rule(), path.cells()), Ok(cost));
        assert_eq!((path.cells().first(), path.cells().last()), (Some(&start), Some(&goal)));
        let best = scratch.find(terrain, start, goal, &mut path).cost().unwrap();
        assert!(best <= cost);
        if best.units() > 0 {
            sum += cost.length() / best.length();
            found_count += 1;
        }
    }
    sum / f64::from(found_count)
}

#[test]
fn ways_through_gates_are_legal_and_near_the_best_under_all_rules() {
    let mut rng = Rng::new(71);
    for rule in MoveRule::ALL {
        for (grid, limit) in [
            (noise::noise(&mut rng, 150, 100, 70), 1.12),
            (generate::dungeon(160, 112, 3).unwrap(), 1.12),
            (Grid::from_fn(97, 61, |_| true).unwrap(), 1.12),
        ] {
            let terrain = Terrain::new(grid, rule);
            let mut graph = PortalGraph::new(&terrain);
            let ratio = compare(&terrain, &mut graph, &mut rng, 60);
            assert!((1.0..limit).contains(&ratio), "{rule:?}: {ratio}");
        }
    }
}

#[test]
fn they_are_as_good_over_weights() {
    let mut rng = Rng::new(72);
    let mut grid = noise::noise(&mut rng, 150, 100, 80);
    let cells: Vec<Cell> = grid.cells().collect();
    for cell in cells {
        let weight = 1 + (cell.x / 9 * 7 + cell.y / 11 * 5) % 8;
        grid.set_weight(cell, Weight::new(u8::try_from(weight).unwrap()).unwrap());
    }
    let terrain = Terrain::new(grid, MoveRule::BothFree);
    let ratio = compare(&terrain, &mut PortalGraph::new(&terrain), &mut rng, 100);
    assert!(ratio < 1.15, "{ratio}");
}

#[test]
fn an_edited_graph_finds_what_a_new_one_finds() {
    let mut rng = Rng::new(73);
    let mut terrain = Terrain::new(noise::noise(&mut rng, 120, 90, 65), MoveRule::BothFree);
    let mut graph = PortalGraph::new(&terrain);
    let (mut scratch, mut path, mut other) = (PathScratch::new(), Path::new(), Path::new());
    for _ in 0..25 {
        for _ in 0..1 + rng.below(30) {
            let cell = cells::any_cell(&mut rng, terrain.grid());
            assert!(terrain.dig(cell) || terrain.fill(cell));
            let cell = cells::any_cell(&mut rng, terrain.grid());
            terrain.set_weight(cell, Weight::new(1 + u8::try_from(rng.below(5)).unwrap()).unwrap());
        }
        let mut fresh = PortalGraph::new(&terrain);
        for _ in 0..8 {
            let start = cells::any_cell(&mut rng, terrain.grid());
            let goal = cells::any_cell(&mut rng, terrain.grid());
            let outcome = graph.find(&terrain, start, goal, &mut scratch, &mut path);
            assert_eq!(outcome, fresh.find(&terrain, start, goal, &mut scratch, &mut other));
            assert_eq!(path, other);
        }
    }
}

#[test]
fn an_edit_works_out_one_sector_or_those_whose_border_it_lies_on() {
    let mut terrain = Terrain::new(Grid::from_fn(64, 64, |_| true).unwrap(), MoveRule::BothFree);
    let mut graph = PortalGraph::new(&terrain);
    for (cell, expected) in [((8, 8), 1), ((15, 8), 2), ((16, 8), 2), ((31, 32), 3), ((0, 63), 1)] {
        terrain.fill(Cell::new(cell.0, cell.1));
        assert_eq!(graph.update(&terrain), expected, "{cell:?}");
        assert_eq!(graph.update(&terrain), 0);
    }
}

#[test]
fn a_graph_of_another_terrain_is_worked_out_anew() {
    let of_size =
        |side| Terrain::new(Grid::from_fn(side, side, |_| true).unwrap(), MoveRule::BothFree);
    assert_eq!(PortalGraph::new(&of_size(20)).update(&of_size(40)), 9);
}
