//! Times A* and region edits on map files:
//! `cargo run --release -p formic-nav --example measure -- FILE.map ...`, each with its
//! scenarios beside it in `FILE.map.scen`.

#![expect(clippy::print_stdout, reason = "a program that prints a table")]

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use formic_nav::{Cell, Path, PathScratch, Scenario, Terrain};

const SCENARIO_COUNT: usize = 100;
const EDIT_COUNT: u64 = 20_000;

fn main() -> Result<(), Box<dyn Error>> {
    println!("| map | A* us | expansions | ns each | edit p50 ns | p99 | max |");
    println!("|---|---|---|---|---|---|---|");
    for file in std::env::args().skip(1) {
        let mut terrain = Terrain::load(&file)?;
        let scenarios = Scenario::load(format!("{file}.scen"))?;
        let (us, expansions) = time_paths(&terrain, &scenarios);
        let [p50, p99, max] = time_edits(&mut terrain);
        let each = 1000.0 * us / expansions;
        println!("| {file} | {us:.1} | {expansions:.0} | {each:.1} | {p50} | {p99} | {max} |");
    }
    Ok(())
}

/// Microseconds and expansions of a path on average, the least of three rounds.
fn time_paths(terrain: &Terrain, scenarios: &[Scenario]) -> (f64, f64) {
    let (mut scratch, mut path) = (PathScratch::new(), Path::new());
    let step = scenarios.len().div_ceil(SCENARIO_COUNT);
    let sample: Vec<&Scenario> = scenarios.iter().step_by(step).collect();
    let mut best = f64::INFINITY;
    let mut expansion_count = 0;
    for _ in 0..3 {
        expansion_count = 0;
        let begin = Instant::now();
        for scenario in &sample {
            let _ = black_box(scratch.find(terrain, scenario.start, scenario.goal, &mut path));
            expansion_count += scratch.expansion_count();
        }
        best = best.min(begin.elapsed().as_secs_f64());
    }
    let count = sample.len() as f64;
    (1e6 * best / count, expansion_count as f64 / count)
}

/// Nanoseconds of random flips: median, 99th percentile and maximum.
fn time_edits(terrain: &mut Terrain) -> [u128; 3] {
    let (width, height) = (u64::from(terrain.grid().width()), u64::from(terrain.grid().height()));
    let coordinate = |random: u64, side: u64| u16::try_from(random % side).unwrap_or(0);
    let mut state = 1_u64;
    let mut times: Vec<u128> = Vec::new();
    for _ in 0..EDIT_COUNT {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let cell = Cell::new(coordinate(state >> 20, width), coordinate(state >> 42, height));
        let begin = Instant::now();
        let _changed = black_box(terrain.dig(cell) || terrain.fill(cell));
        times.push(begin.elapsed().as_nanos());
    }
    times.sort_unstable();
    [times[times.len() / 2], times[times.len() * 99 / 100], times[times.len() - 1]]
}
