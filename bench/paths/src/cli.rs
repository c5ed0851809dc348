//! The command line.

use std::path::PathBuf;
use std::str::FromStr;

pub(crate) const HELP: &str = "\
Usage: cargo bench -p paths-bench -- [OPTIONS]

  --maps DIR        folder of MovingAI maps with their scenarios [NAV_DATA]
  --only TEXT       only maps that have TEXT in their name
  --scenarios N     scenarios of each map, spread evenly over the file [40]
  --rounds N        rounds, of which the best counts for each scenario [5]
  --no-weights      leaves the tables over weights out, which take most of the time
  --only-ticks      no maps: only what a tick of 10,000 agents takes, and the costs
  --only-costs      only the costs in bad moments
  --json FILE       where the figures go [paths.json]
";

pub(crate) enum Request {
    Bench(Options),
    Help,
}

pub(crate) struct Options {
    pub(crate) maps: Option<PathBuf>,
    pub(crate) only: String,
    pub(crate) scenarios: usize,
    pub(crate) rounds: u32,
    pub(crate) has_weights: bool,
    pub(crate) has_maps: bool,
    pub(crate) has_ticks: bool,
    pub(crate) json: PathBuf,
}

pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Request, String> {
    let mut options = Options {
        maps: std::env::var_os("NAV_DATA").map(PathBuf::from),
        only: String::new(),
        scenarios: 40,
        rounds: 5,
        has_weights: true,
        has_maps: true,
        has_ticks: true,
        json: PathBuf::from("paths.json"),
    };
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--help" | "-h" => return Ok(Request::Help),
            // Cargo says so to every bench.
            "--bench" => {}
            "--maps" => options.maps = Some(value()?.into()),
            "--only" => options.only = value()?,
            "--scenarios" => options.scenarios = number(&value()?)?,
            "--rounds" => options.rounds = number(&value()?)?,
            "--no-weights" => options.has_weights = false,
            "--only-ticks" => options.has_maps = false,
            "--only-costs" => (options.has_maps, options.has_ticks) = (false, false),
            "--json" => options.json = value()?.into(),
            _ => return Err(format!("{argument} is not known; try --help")),
        }
    }
    Ok(Request::Bench(options))
}

fn number<T: FromStr + PartialOrd + From<u8>>(text: &str) -> Result<T, String> {
    text.parse().ok().filter(|number| *number >= T::from(1)).ok_or(format!("{text} is no count"))
}
