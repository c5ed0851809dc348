//! The public benchmark maps: optimal lengths, and regions under edits. Without
//! `NAV_DATA` these tests say SKIPPED and pass. `NAV_SCENARIOS=all` solves every scenario in
//! place of a sample.

use formic_nav::{Algorithm, Path, PathQuery, PathScratch, Scenario, Terrain, path_cost};

use crate::rng::Rng;
use crate::{cells, flood, nav_data};

#[test]
fn scenarios_of_every_map_are_solved_legally_and_optimally_by_both_algorithms() {
    let wanted = std::env::var("NAV_SCENARIOS");
    let samples = if wanted.is_ok_and(|it| it == "all") { usize::MAX } else { 60 };
    let mut scratch = PathScratch::new();
    let mut path = Path::new();
    for map in nav_data::maps() {
        let terrain = Terrain::load(&map).unwrap();
        let scenarios = Scenario::load(map.with_extension("map.scen")).unwrap();
        assert!(!scenarios.is_empty(), "{}", map.display());
        let sample = scenarios.iter().step_by(scenarios.len().div_ceil(samples));
        // The maps have one weight, so that the second one means jump points.
        for (scenario, algorithm) in
            sample.flat_map(|it| [(it, Algorithm::AStar), (it, Algorithm::Auto)])
        {
            let name = || format!("{} by {algorithm:?}: {scenario:?}", map.display());
            let query = PathQuery::new(scenario.start, scenario.goal).by(algorithm);
            let outcome = scratch.solve(&terrain, &query, &mut path);
            let cost = outcome.cost().unwrap_or_else(|| panic!("{}: {outcome:?}", name()));
            assert_eq!(path_cost(terrain.grid(), terrain.rule(), path.cells()), Ok(cost));
            assert_eq!(path.cells()[0], scenario.start);
            assert_eq!(path.cells().last(), Some(&scenario.goal));
            assert!(scenario.is_optimal(cost.length()), "{}: found {cost}", name());
        }
    }
}

#[test]
fn regions_of_every_map_are_exact_after_thousands_of_edits() {
    let mut rng = Rng::new(41);
    for map in nav_data::maps() {
        let mut terrain = Terrain::load(&map).unwrap();
        for _ in 0..2 {
            for _ in 0..3000 {
                let cell = cells::any_cell(&mut rng, terrain.grid());
                assert!(terrain.dig(cell) || terrain.fill(cell));
            }
            flood::assert_exact(&terrain);
        }
    }
}
