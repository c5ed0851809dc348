//! `demos path`: solves the scenarios of a map, and checks every path.

use std::io::Write;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use formic_ecs::StateHasher;
use formic_nav::{
    Algorithm, MoveRule, Path, PathOutcome, PathQuery, PathScratch, Scenario, Terrain, path_cost,
};
use serde::Serialize;

use crate::arguments::threads;
use crate::failure::Failure;
use crate::files;
use crate::proofs::{Times, load_grid, write_lines};
use crate::text::{grouped, rounded, write_json};

/// The arguments of `path`.
#[derive(Debug, Clone, Args)]
pub struct PathArguments {
    /// The MovingAI map
    #[arg(long, value_name = "FILE")]
    pub map: PathBuf,
    /// Its scenarios, of which each states the length of the best path
    #[arg(long, value_name = "FILE")]
    pub scen: PathBuf,
    /// How to search
    #[arg(long, value_name = "NAME", value_enum, default_value_t = Algo::Jps)]
    pub algo: Algo,
    /// Solve at most so many scenarios, spread evenly over the file
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: Option<u32>,
    /// How many threads solve scenarios side by side
    #[arg(long, value_name = "T", default_value_t = 1, value_parser = threads)]
    pub threads: usize,
    /// Print one JSON object instead of the summary
    #[arg(long)]
    pub json: bool,
}

/// The algorithms to choose from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Algo {
    /// A*, cell by cell
    Astar,
    /// Jump points
    Jps,
}

impl Algo {
    const fn algorithm(self) -> Algorithm {
        match self {
            Self::Astar => Algorithm::AStar,
            // The benchmark maps have only one weight, so this means jump points.
            Self::Jps => Algorithm::Auto,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Astar => "astar",
            Self::Jps => "jps",
        }
    }
}

/// The results; the keys of the JSON are in this order.
#[derive(Debug, Serialize)]
struct Results {
    map: String,
    algo: &'static str,
    scenarios: usize,
    optimal: usize,
    suboptimal: usize,
    illegal: usize,
    unsolved: usize,
    mean_us: f64,
    p99_us: f64,
    expansions: u64,
    threads: usize,
    /// A hash of all paths, cell by cell: the same for any number of threads.
    paths_hash: String,
}

/// The outcome of one scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Optimal,
    Suboptimal,
    Illegal,
    Unsolved,
}

/// The result of one scenario.
#[derive(Debug, Clone, Copy)]
struct Answer {
    verdict: Verdict,
    time: Duration,
    expansions: u64,
    path_hash: u64,
}

/// Solves the scenarios that `arguments` name.
///
/// # Errors
/// Returns [`Failure::Usage`] for an unusable file, [`Failure::Check`] if an answer was wrong, and
/// [`Failure::Stdout`] if `out` cannot be written.
pub fn run(arguments: &PathArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let terrain = Terrain::new(load_grid(&arguments.map)?, MoveRule::BothFree);
    let scenarios = load_scenarios(arguments, &terrain)?;
    let results = solve(arguments, &terrain, &scenarios);
    let written = match arguments.json {
        true => write_json(out, &results),
        false => results.write_text(out),
    };
    written.map_err(Failure::Stdout)?;
    results.check()
}

fn load_scenarios(arguments: &PathArguments, terrain: &Terrain) -> Result<Vec<Scenario>, Failure> {
    let file = arguments.scen.display().to_string();
    let all = Scenario::parse(&file, &files::read(&arguments.scen)?)
        .and_then(|all| {
            all.iter().try_for_each(|scenario| scenario.check_size(&file, terrain.grid()))?;
            Ok(all)
        })
        .map_err(|error| Failure::Usage(error.to_string()))?;
    let count = arguments.limit.map_or(all.len(), |limit| all.len().min(limit as usize));
    Ok((0..count).map(|i| all[i * all.len() / count].clone()).collect())
}

fn solve(arguments: &PathArguments, terrain: &Terrain, scenarios: &[Scenario]) -> Results {
    let answers = answers(arguments, terrain, scenarios);
    let count = |verdict| answers.iter().filter(|answer| answer.verdict == verdict).count();
    let mut times = Times(answers.iter().map(|answer| answer.time).collect());
    let mut hasher = StateHasher::new();
    answers.iter().for_each(|answer| hasher.write_u64(answer.path_hash));
    Results {
        map: arguments.map.display().to_string(),
        algo: arguments.algo.name(),
        scenarios: scenarios.len(),
        optimal: count(Verdict::Optimal),
        suboptimal: count(Verdict::Suboptimal),
        illegal: count(Verdict::Illegal),
        unsolved: count(Verdict::Unsolved),
        mean_us: rounded(times.mean_ns() / 1e3),
        p99_us: rounded(times.p99_ns() / 1e3),
        expansions: answers.iter().map(|answer| answer.expansions).sum(),
        threads: arguments.threads,
        paths_hash: format!("{:016x}", hasher.finish()),
    }
}

/// Solves the scenarios and returns the answers in their order. Each thread has its share of them and its
/// own scratch memory.
fn answers(arguments: &PathArguments, terrain: &Terrain, scenarios: &[Scenario]) -> Vec<Answer> {
    let share = scenarios.len().div_ceil(arguments.threads).max(1);
    thread::scope(|scope| {
        let solve = |share: &'_ [Scenario]| {
            let mut memory = (PathScratch::new(), Path::new());
            let answer = |it| answer(terrain, it, arguments.algo.algorithm(), &mut memory);
            share.iter().map(answer).collect::<Vec<_>>()
        };
        let solving = scenarios.chunks(share).map(|share| scope.spawn(move || solve(share)));
        let solving: Vec<_> = solving.collect();
        let solved = solving.into_iter().map(|it| it.join().expect("a search never panics"));
        solved.flatten().collect()
    })
}

fn answer(
    terrain: &Terrain,
    scenario: &Scenario,
    algorithm: Algorithm,
    (scratch, path): &mut (PathScratch, Path),
) -> Answer {
    let query = PathQuery::new(scenario.start, scenario.goal).by(algorithm);
    let start = Instant::now();
    let outcome = scratch.solve(terrain, &query, path);
    let time = start.elapsed();
    let mut hasher = StateHasher::new();
    for cell in path.cells() {
        hasher.write_u64(u64::from(cell.y) << 16 | u64::from(cell.x));
    }
    Answer {
        verdict: judge(terrain, scenario, outcome, path),
        time,
        expansions: scratch.expansion_count(),
        path_hash: hasher.finish(),
    }
}

/// Judges an answer only by its path, not by the cost that it claims.
fn judge(terrain: &Terrain, scenario: &Scenario, outcome: PathOutcome, path: &Path) -> Verdict {
    if outcome.cost().is_none() {
        return Verdict::Unsolved;
    }
    let ends = (path.cells().first(), path.cells().last());
    if ends != (Some(&scenario.start), Some(&scenario.goal)) {
        return Verdict::Illegal;
    }
    match path_cost(terrain.grid(), terrain.rule(), path.cells()) {
        Err(_) => Verdict::Illegal,
        Ok(cost) if scenario.is_optimal(cost.length()) => Verdict::Optimal,
        Ok(_) => Verdict::Suboptimal,
    }
}

impl Results {
    fn write_text(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let headline =
            format!("path: {} scenarios of {} by {}", self.scenarios, self.map, self.algo);
        let lines = [
            ("optimal", grouped(self.optimal as u64)),
            ("suboptimal", grouped(self.suboptimal as u64)),
            ("illegal", grouped(self.illegal as u64)),
            ("unsolved", grouped(self.unsolved as u64)),
            ("time", format!("{:.2} us a path, 99 in 100 below {:.2}", self.mean_us, self.p99_us)),
            ("expansions", grouped(self.expansions)),
            ("paths", format!("{} in all their cells", self.paths_hash)),
        ];
        write_lines(out, &headline, &lines)
    }

    fn check(&self) -> Result<(), Failure> {
        if self.optimal == self.scenarios {
            return Ok(());
        }
        let Self { scenarios, suboptimal, illegal, unsolved, .. } = self;
        Err(Failure::Check(format!(
            "of {scenarios} scenarios {suboptimal} suboptimal, {illegal} illegal, {unsolved} unsolved"
        )))
    }
}
