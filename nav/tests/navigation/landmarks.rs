//! Landmarks: the same costs with them and without, under edits, in saves and for classes.

use crate::rng::Rng;
use crate::{cells, dijkstra, noise};
use formic_nav::{
    AgentClass, Cell, ClassId, Grid, Link, MoveRule, Path, PathOutcome, PathQuery, PathScratch,
    Terrain, Weight, path_cost,
};

/// A terrain on which searches go step by step.
fn weighted(rng: &mut Rng, grid: Grid, rule: MoveRule) -> Terrain {
    let mut terrain = Terrain::new(grid, rule);
    for cell in terrain.grid().cells() {
        terrain.set_weight(cell, any_weight(rng));
    }
    terrain
}

fn any_weight(rng: &mut Rng) -> Weight {
    Weight::new([1, 2, 5, 9][rng.below(4)]).unwrap()
}

fn edit(rng: &mut Rng, terrain: &mut Terrain) {
    let cell = cells::any_cell(rng, terrain.grid());
    let _ = match rng.below(3) {
        0 => terrain.set_weight(cell, any_weight(rng)),
        _ => terrain.dig(cell) || terrain.fill(cell),
    };
}

/// Searches from one cell to others, against the oracle. Returns how many cells were expanded.
fn check(rng: &mut Rng, terrain: &Terrain, scratch: &mut PathScratch) -> u64 {
    let (grid, rule) = (terrain.grid(), terrain.rule());
    let (start, mut path, mut expansion_count) = (cells::any_cell(rng, grid), Path::new(), 0);
    if !grid.is_open(start) {
        return 0;
    }
    let distances = dijkstra::distances(grid, rule, start);
    for _ in 0..20 {
        let goal = cells::any_cell(rng, grid);
        let best = distances[grid.index(goal).unwrap()];
        let outcome = scratch.find(terrain, start, goal, &mut path);
        assert_eq!(outcome.cost().map(|cost| cost.units()), best, "{start} to {goal}");
        let cost = best.map(|_| path_cost(grid, rule, path.cells()).unwrap().units());
        assert_eq!(cost, best, "{start} to {goal}");
        expansion_count += scratch.expansion_count();
        // In small pieces it is the same search.
        let mut outcome = scratch.solve(terrain, &PathQuery::new(start, goal).within(7), &mut path);
        while outcome == PathOutcome::OutOfBudget {
            outcome = scratch.resume(terrain, 7, &mut path);
        }
        assert_eq!(outcome.cost().map(|cost| cost.units()), best, "{start} to {goal}");
    }
    expansion_count
}

#[test]
fn searches_with_landmarks_are_exact_under_random_edits() {
    let mut rng = Rng::new(301);
    let (mut scratch, mut with_landmarks) = (PathScratch::new(), 0);
    for (round, rule) in (0..8).flat_map(|round| MoveRule::ALL.map(|rule| (round, rule))) {
        let grid = noise::noise(&mut rng, 31, 27, [55, 70, 95][round % 3]);
        let classes = [AgentClass::new(2), AgentClass::new(1).without(Weight::new(9).unwrap())];
        let mut terrain = weighted(&mut rng, grid, rule).with_classes(classes);
        terrain.place_landmarks();
        for edits in [0, 1, 1, 5, 100, 3] {
            (0..edits).for_each(|_| edit(&mut rng, &mut terrain));
            terrain.check().unwrap();
            for class in 0..3 {
                let terrain = terrain.for_class(ClassId(class)).unwrap();
                with_landmarks += usize::from(terrain.has_landmarks());
                check(&mut rng, terrain, &mut scratch);
            }
        }
    }
    assert!(with_landmarks > 500, "{with_landmarks} of 576 rounds with landmarks");
}

#[test]
fn landmarks_leave_few_cells_to_expand_also_after_edits() {
    let mut rng = Rng::new(302);
    let grid = noise::noise(&mut rng, 120, 120, 75);
    let mut plain = weighted(&mut rng, grid, MoveRule::BothFree);
    let mut terrain = plain.clone();
    terrain.place_landmarks();
    for edits in [0, 100, 1_000] {
        let seed = rng.next();
        for terrain in [&mut plain, &mut terrain] {
            let mut rng = Rng::new(seed);
            for _ in 0..edits {
                // A wall that goes up, and often down again; ground that becomes heavier.
                let cell = cells::any_cell(&mut rng, terrain.grid());
                if terrain.fill(cell) && rng.below(9) > 0 {
                    terrain.dig(cell);
                }
                let heavier = any_weight(&mut rng).max(terrain.grid().weight(cell).unwrap());
                terrain.set_weight(cell, heavier);
            }
        }
        assert!(terrain.has_landmarks() && !plain.has_landmarks());
        let count = |terrain: &Terrain| {
            let (mut rng, mut scratch) = (Rng::new(seed), PathScratch::new());
            (0..10).map(|_| check(&mut rng, terrain, &mut scratch)).sum::<u64>()
        };
        let (with, without) = (count(&terrain), count(&plain));
        assert!(with * 2 < without, "{with} and {without} after {edits} edits");
    }
}

#[test]
fn an_edit_that_shortens_most_ways_forgets_landmarks() {
    let mut rng = Rng::new(303);
    // A wall with one door at its end, and a far way around for all that is behind it.
    let grid = Grid::from_fn(200, 120, |cell| cell.y != 60 || cell.x == 199).unwrap();
    let mut terrain = weighted(&mut rng, grid, MoveRule::BothFree);
    terrain.place_landmarks();
    let same = terrain.clone();
    // Dearer ways are no matter, however many.
    terrain.fill(Cell::new(199, 60));
    assert!(terrain.has_landmarks());
    assert!(terrain.dig(Cell::new(199, 60)));
    assert!(terrain.has_landmarks(), "as it was");
    assert!(terrain.dig(Cell::new(0, 60)));
    assert!(!terrain.has_landmarks() && same.has_landmarks());
    terrain.check().unwrap();
    terrain.place_landmarks();
    assert!(terrain.has_landmarks());
    // They are of these links and classes.
    assert!(terrain.clone().with_links([]).has_landmarks(), "the same links");
    let link = Link::new(Cell::new(0, 0), Cell::new(9, 0), 3);
    assert!(!terrain.clone().with_links([link]).has_landmarks());
    let classes = terrain.with_classes([AgentClass::new(2)]);
    assert!(!classes.for_class(ClassId(1)).unwrap().has_landmarks());
}

#[test]
fn searches_by_jumps_do_without_landmarks() {
    let mut terrain = Terrain::new(Grid::from_fn(9, 9, |_| true).unwrap(), MoveRule::BothFree);
    terrain.place_landmarks();
    assert!(!terrain.has_landmarks());
}

#[test]
fn placing_landmarks_makes_another_version() {
    let mut rng = Rng::new(304);
    let grid = noise::noise(&mut rng, 30, 30, 80);
    let mut terrain = weighted(&mut rng, grid, MoveRule::BothFree);
    let before = terrain.version();
    terrain.place_landmarks();
    assert_ne!(terrain.version(), before);
    assert!(terrain.grid().changes_since(before).is_none());
}
