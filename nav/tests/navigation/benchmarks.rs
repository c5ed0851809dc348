//! The public benchmark maps: optimal lengths, and regions under edits. Without
//! `NAV_DATA` these tests say SKIPPED and pass.

use formic_nav::{Path, PathScratch, Scenario, Terrain, path_cost};

use crate::rng::Rng;
use crate::{cells, flood, nav_data};

#[test]
fn sampled_scenarios_of_every_map_are_solved_legally_and_optimally() {
    const SAMPLES: usize = 60;
    let mut scratch = PathScratch::new();
    let mut path = Path::new();
    for map in nav_data::maps() {
        let terrain = Terrain::load(&map).unwrap();
        let scenarios = Scenario::load(map.with_extension("map.scen")).unwrap();
        assert!(!scenarios.is_empty(), "{}", map.display());
        for scenario in scenarios.iter().step_by(scenarios.len().div_ceil(SAMPLES)) {
            let name = || format!("{}: {scenario:?}", map.display());
            let outcome = scratch.find(&terrain, scenario.start, scenario.goal, &mut path);
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
