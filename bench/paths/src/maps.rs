//! The maps and what is asked on them.

use std::path::{Path, PathBuf};

use formic_ecs::RandomStream;
use formic_nav::{Cell, Grid, MoveRule, Scenario, Terrain, Weight, generate};

use crate::cli::Options;

/// A map and pairs of cells.
#[derive(Clone)]
pub(crate) struct Problem {
    pub(crate) name: String,
    pub(crate) terrain: Terrain,
    pub(crate) queries: Vec<(Cell, Cell)>,
    pub(crate) is_weighted: bool,
}

/// The public maps, or maps of our own where there are none.
pub(crate) fn problems(options: &Options) -> Result<Vec<Problem>, String> {
    let mut problems = match &options.maps {
        Some(folder) => public(folder, options)?,
        None => {
            println!("SKIPPED: the public maps (neither --maps nor NAV_DATA names their folder).");
            println!("What follows is about maps of our own.\n");
            own(options)?
        }
    };
    problems.retain(|problem| problem.name.contains(&options.only));
    if problems.is_empty() { Err("there are no such maps".to_owned()) } else { Ok(problems) }
}

fn public(folder: &Path, options: &Options) -> Result<Vec<Problem>, String> {
    let mut maps = Vec::new();
    for set in paths(folder)?.iter().filter(|path| path.is_dir()) {
        maps.extend(
            paths(set)?.into_iter().filter(|path| path.extension().is_some_and(|e| e == "map")),
        );
    }
    maps.sort();
    let name = |path: &Path| {
        path.strip_prefix(folder).unwrap_or(path).with_extension("").display().to_string()
    };
    maps.retain(|path| name(path).contains(&options.only));
    maps.iter().map(|path| load(name(path), path, options.scenarios)).collect()
}

fn paths(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let fault = |error| format!("{}: {error}", folder.display());
    let entries = std::fs::read_dir(folder).map_err(fault)?;
    entries.map(|entry| entry.map(|entry| entry.path()).map_err(fault)).collect()
}

fn load(name: String, path: &Path, count: usize) -> Result<Problem, String> {
    let terrain = Terrain::load(path).map_err(|error| error.to_string())?;
    let scenarios = Scenario::load(path.with_extension("map.scen"));
    let scenarios = scenarios.map_err(|error| error.to_string())?;
    let count = count.min(scenarios.len());
    let queries = (0..count).map(|i| {
        let scenario = &scenarios[i * scenarios.len() / count];
        (scenario.start, scenario.goal)
    });
    Ok(Problem { name, queries: queries.collect(), terrain, is_weighted: false })
}

fn own(options: &Options) -> Result<Vec<Problem>, String> {
    let mut stream = RandomStream::new(5);
    let noise = Grid::from_fn(512, 512, |_| stream.next_u64() % 100 >= 30);
    let grids = [
        ("dungeon", generate::dungeon(512, 512, 1)),
        ("cavern", generate::cavern(512, 512, 1)),
        ("noise", noise),
    ];
    let problem = |(name, grid): (&str, Result<Grid, _>)| {
        let terrain = Terrain::new(grid.map_err(|error| format!("{error}"))?, MoveRule::BothFree);
        let queries = random_queries(&terrain, options.scenarios);
        Ok(Problem { name: name.to_owned(), terrain, queries, is_weighted: false })
    };
    grids.into_iter().map(problem).collect()
}

/// Pairs of cells with a path between them.
fn random_queries(terrain: &Terrain, count: usize) -> Vec<(Cell, Cell)> {
    let cells: Vec<Cell> = terrain.grid().cells().filter(|&cell| terrain.is_open(cell)).collect();
    let mut stream = RandomStream::new(9);
    let mut any = || cells[usize::try_from(stream.next_u64() % cells.len() as u64).expect("small")];
    let pairs = std::iter::from_fn(|| Some((any(), any())));
    pairs.filter(|&(start, goal)| terrain.reachable(start, goal)).take(count).collect()
}

impl Problem {
    /// The same map with weights from 1 to 9 in patches of 8 x 8 cells.
    pub(crate) fn weighted(&self) -> Self {
        let mut terrain = self.terrain.clone();
        let cells: Vec<Cell> = terrain.grid().cells().collect();
        for cell in cells {
            let patch = u64::from(cell.x / 8) << 16 | u64::from(cell.y / 8);
            let weight = 1 + RandomStream::new(patch).next_u64() % 9;
            let weight = u8::try_from(weight).ok().and_then(Weight::new).unwrap_or_default();
            terrain.set_weight(cell, weight);
        }
        let name = format!("{}, weighted", self.name);
        Self { name, terrain, queries: self.queries.clone(), is_weighted: true }
    }
}
