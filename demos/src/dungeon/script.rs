//! Scripts: cheats with the ticks that they belong to, so that a run can be had again.

use std::path::Path;
use std::str::FromStr;

use formic_nav::Grid;

use crate::dungeon::cheat::Cheat;
use crate::failure::Failure;
use crate::files;

/// A cheat and when it is due: before the tick of that number, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Timed {
    pub(super) tick: u64,
    pub(super) cheat: Cheat,
}

impl FromStr for Timed {
    type Err = String;

    /// Reads `TICK: CHEAT`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (tick, cheat) = text.split_once(':').ok_or("expected TICK: CHEAT")?;
        let tick = tick.trim().parse();
        let tick = tick.map_err(|_| "expected the number of a tick before the colon")?;
        let cheat = cheat.parse::<Cheat>().map_err(|error| error.to_string())?;
        Ok(Self { tick, cheat })
    }
}

/// All cheats of a run, in the order in which they are due; those of one tick in the order in which
/// they were given.
#[derive(Debug, Clone, Default)]
pub(super) struct Script {
    cheats: Vec<Timed>,
    done: usize,
}

impl Script {
    /// Reads the file, if there is one, and then what the command line says. Every cheat has to be
    /// on the map.
    pub(super) fn read(file: Option<&Path>, at: &[Timed], grid: &Grid) -> Result<Self, Failure> {
        let mut cheats = Vec::new();
        if let Some(path) = file {
            for (number, line) in (1..).zip(files::read_text(path)?.lines()) {
                let line = line.split('#').next().unwrap_or_default().trim();
                if line.is_empty() {
                    continue;
                }
                let place = || format!("{}:{number}", path.display());
                let timed = line.parse::<Timed>().map_err(|error| usage(&place(), &error))?;
                check(timed, grid).map_err(|error| usage(&place(), &error))?;
                cheats.push(timed);
            }
        }
        for &timed in at {
            check(timed, grid).map_err(|error| usage("--cheat", &error))?;
            cheats.push(timed);
        }
        // Stable: those of one tick keep their order.
        cheats.sort_by_key(|timed| timed.tick);
        Ok(Self { cheats, done: 0 })
    }

    /// How many cheats were taken.
    pub(super) const fn done(&self) -> usize {
        self.done
    }

    /// Goes on behind so many cheats.
    pub(super) const fn skip_to(&mut self, done: usize) {
        self.done = done;
    }

    /// The next cheat that is due before a tick.
    pub(super) fn next(&mut self, tick: u64) -> Option<Cheat> {
        let timed = self.cheats.get(self.done).filter(|timed| timed.tick <= tick)?;
        self.done += 1;
        Some(timed.cheat)
    }
}

fn check(timed: Timed, grid: &Grid) -> Result<(), String> {
    let cell = timed.cheat.cell();
    if grid.contains(cell) {
        return Ok(());
    }
    let (width, height) = (grid.width(), grid.height());
    Err(format!("{cell} is not on the map, which has {width} x {height} tiles"))
}

fn usage(place: &str, error: &str) -> Failure {
    Failure::Usage(format!("{place}: {error}"))
}
