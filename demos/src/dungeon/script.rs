//! Scripts: cheats with their ticks, so that a run can be repeated.

use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr;

use formic_nav::Grid;

use crate::dungeon::cheat::Cheat;
use crate::failure::Failure;
use crate::files;

/// A cheat and its time: before the tick of that number, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Timed {
    pub(super) tick: u64,
    pub(super) cheat: Cheat,
}

impl FromStr for Timed {
    type Err = String;

    /// Parses `TICK: CHEAT`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (tick, cheat) = text.split_once(':').ok_or("expected TICK: CHEAT")?;
        let tick = tick.trim().parse();
        let tick = tick.map_err(|_| "expected the number of a tick before the colon")?;
        Ok(Self { tick, cheat: cheat.parse()? })
    }
}

/// All cheats of a run by tick; those of one tick in the order in which they were given.
pub(super) type Script = BTreeMap<u64, Vec<Cheat>>;

/// Reads the file, if there is one, and then the cheats of the command line. Every cheat must be on the
/// map.
pub(super) fn read(file: Option<&Path>, at: &[Timed], grid: &Grid) -> Result<Script, Failure> {
    let of_line = |line: &str| check(line.parse()?, grid);
    let mut all = file.map_or(Ok(Vec::new()), |path| files::read_lines(path, of_line))?;
    for &timed in at {
        let timed = check(timed, grid);
        all.push(timed.map_err(|error| Failure::Usage(format!("--cheat: {error}")))?);
    }
    let mut script = Script::new();
    all.iter().for_each(|it| script.entry(it.tick).or_default().push(it.cheat));
    Ok(script)
}

fn check(timed: Timed, grid: &Grid) -> Result<Timed, String> {
    let cell = timed.cheat.cell();
    if grid.contains(cell) {
        return Ok(timed);
    }
    let (width, height) = (grid.width(), grid.height());
    Err(format!("{cell} is not on the map, which has {width} x {height} tiles"))
}
