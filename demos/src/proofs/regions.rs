//! `demos regions`: digs and fills at random, and compares the regions with fresh flood fills.

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use formic_ecs::RandomStream;
use formic_nav::{Cell, MoveRule, RegionEvent, Terrain};
use serde::Serialize;

use crate::failure::Failure;
use crate::progress::Progress;
use crate::proofs::{Times, load_grid, write_lines};
use crate::text::{grouped, rounded, write_json};

/// The arguments of `regions`.
#[derive(Debug, Clone, Args)]
pub struct RegionsArguments {
    /// The MovingAI map
    #[arg(long, value_name = "FILE")]
    pub map: PathBuf,
    /// How many cells to dig or to fill
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=100_000_000))]
    pub edits: u32,
    /// Where every random choice comes from
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Print one JSON object instead of the summary
    #[arg(long)]
    pub json: bool,
}

/// The number of comparisons of the partition before the last one.
const CHECK_COUNT: u32 = 10;

/// The results; the keys of the JSON are in this order.
#[derive(Debug, Default, Serialize)]
struct Results {
    map: String,
    edits: u32,
    seed: u64,
    digs: u64,
    fills: u64,
    merges: u64,
    splits: u64,
    regions: usize,
    checks: u32,
    mismatches: u32,
    mean_ns: f64,
    p99_ns: f64,
}

/// Makes the edits that `arguments` ask for.
///
/// # Errors
/// Returns the errors of [`path::run`](crate::proofs::path::run).
pub fn run(arguments: &RegionsArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let terrain = Terrain::new(load_grid(&arguments.map)?, MoveRule::BothFree);
    let results = edit(arguments, terrain);
    let written = match arguments.json {
        true => write_json(out, &results),
        false => results.write_text(out),
    };
    written.map_err(Failure::Stdout)?;
    if results.mismatches == 0 {
        return Ok(());
    }
    let Results { mismatches, checks, .. } = results;
    Err(Failure::Check(format!("{mismatches} of {checks} comparisons found other regions")))
}

fn edit(arguments: &RegionsArguments, mut terrain: Terrain) -> Results {
    let RegionsArguments { edits, seed, .. } = *arguments;
    let map = arguments.map.display().to_string();
    let mut results = Results { map, edits, seed, ..Results::default() };
    let mut stream = RandomStream::new(seed);
    let mut times = Times::default();
    let progress = Progress::new("regions", edits.into());
    for done in 1..=edits {
        let cell = random_cell(&mut stream, &terrain);
        let start = Instant::now();
        let is_dug = terrain.dig(cell);
        let is_filled = !is_dug && terrain.fill(cell);
        times.push(start.elapsed());
        results.digs += u64::from(is_dug);
        results.fills += u64::from(is_filled);
        for event in terrain.drain_events() {
            results.merges += u64::from(matches!(event, RegionEvent::Merged { .. }));
            results.splits += u64::from(matches!(event, RegionEvent::Split { .. }));
        }
        if done % edits.div_ceil(CHECK_COUNT) == 0 || done == edits {
            results.checks += 1;
            results.mismatches += u32::from(terrain.check().is_err());
        }
        progress.at(done.into());
    }
    progress.finish();
    results.regions = terrain.regions().count();
    results.mean_ns = rounded(times.mean_ns());
    results.p99_ns = rounded(times.p99_ns());
    results
}

fn random_cell(stream: &mut RandomStream, terrain: &Terrain) -> Cell {
    let mut below = |side: u16| u16::try_from(stream.below(side.into())).unwrap_or(0);
    let (x, y) = (below(terrain.grid().width()), below(terrain.grid().height()));
    Cell::new(x, y)
}

impl Results {
    fn write_text(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let headline = format!("regions: {} edits of {}", grouped(self.edits.into()), self.map);
        let lines = [
            ("edits", format!("{} digs, {} fills", grouped(self.digs), grouped(self.fills))),
            ("events", format!("{} merges, {} splits", grouped(self.merges), grouped(self.splits))),
            ("regions", grouped(self.regions as u64)),
            ("time", format!("{:.0} ns an edit, 99 in 100 below {:.0}", self.mean_ns, self.p99_ns)),
            ("mismatches", format!("{} in {} comparisons", self.mismatches, self.checks)),
        ];
        write_lines(out, &headline, &lines)
    }
}
