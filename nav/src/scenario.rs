//! Scenario files of the MovingAI benchmarks: starts, goals and optimal lengths.
//!
//! There are two dialects, `version 1` with tabs and `version 1.0` with blanks. Each line is `bucket map
//! width height start-x start-y goal-x goal-y length`. The map may be a path with blanks in it, so the
//! last seven fields are read from the right.

use std::path::Path;
use std::str::FromStr;

use crate::cell::Cell;
use crate::grid::Grid;
use crate::load::{LoadError, lines, missing, parse_number, read};

/// One problem of a scenario file.
#[derive(Clone, PartialEq, Debug)]
pub struct Scenario {
    /// The line of the problem in the file, counted from one.
    pub line: usize,
    /// The file's own group of problems of similar length.
    pub bucket: u32,
    /// The map as the file names it, usually a path on its author's machine.
    pub map: String,
    /// The number of columns of the map of the problem.
    pub width: u16,
    /// The number of rows of the map of the problem.
    pub height: u16,
    /// The start of the path.
    pub start: Cell,
    /// The end of the path.
    pub goal: Cell,
    /// The length of the best path in cell widths, rounded as in the file.
    pub length: f64,
}

impl Scenario {
    /// Reads all problems of a scenario file.
    ///
    /// # Errors
    /// Returns [`LoadError`] if the file cannot be read, or if [`Scenario::parse`] does.
    pub fn load(path: impl AsRef<Path>) -> Result<Vec<Self>, LoadError> {
        let (file, bytes) = read(path.as_ref())?;
        Self::parse(&file, &bytes)
    }

    /// Reads all problems of a scenario file in memory; `file` is its name in errors. Skips empty lines.
    ///
    /// ```
    /// use formic_nav::{Cell, Scenario};
    /// let text = b"version 1\n0\tdao/arena.map\t49\t49\t1\t11\t1\t12\t1\n";
    /// let scenarios = Scenario::parse("arena.map.scen", text)?;
    /// assert_eq!(scenarios[0].goal, Cell::new(1, 12));
    /// # Ok::<(), formic_nav::LoadError>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`LoadError`] with the line if the file is broken.
    pub fn parse(file: &str, bytes: &[u8]) -> Result<Vec<Self>, LoadError> {
        let mut lines = lines(bytes);
        let first = lines.next().map(|(_, line)| line.trim_ascii());
        if !matches!(first, Some(b"version 1" | b"version 1.0")) {
            return Err(LoadError::header(file, "version 1"));
        }
        lines
            .filter(|(_, line)| !line.trim_ascii().is_empty())
            .map(|(number, line)| {
                parse_line(number, line).map_err(|reason| LoadError::at(file, number, reason))
            })
            .collect()
    }

    /// Checks that this problem was made for a map of this size.
    ///
    /// ```
    /// use formic_nav::{Grid, Scenario};
    /// let text = b"version 1\n0\tx.map\t9\t9\t1\t1\t2\t1\t1\n";
    /// let scenario = &Scenario::parse("x.map.scen", text)?[0];
    /// let error = scenario.check_size("x.map.scen", &Grid::solid(8, 9).unwrap()).unwrap_err();
    /// assert_eq!(error.to_string(), "x.map.scen:2: the problem is for a map of 9 x 9 cells, not of 8 x 9");
    /// # Ok::<(), formic_nav::LoadError>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`LoadError`] with its line in `file` if the problem is for another map.
    pub fn check_size(&self, file: &str, grid: &Grid) -> Result<(), LoadError> {
        let (found, expected) = ((self.width, self.height), (grid.width(), grid.height()));
        if found == expected {
            return Ok(());
        }
        let [found, expected] =
            [found, expected].map(|(width, height)| format!("{width} x {height}"));
        let reason = format!("the problem is for a map of {found} cells, not of {expected}");
        Err(LoadError::at(file, self.line, reason))
    }

    /// Whether a length is the optimum that the file states, within its rounding: 0.011, or a
    /// hundred-thousandth of the length if that is more.
    ///
    /// ```
    /// # use formic_nav::{Cell, Scenario};
    /// # let (start, goal) = (Cell::new(0, 0), Cell::new(9, 9));
    /// # let scenario = Scenario { line: 2, bucket: 0, map: String::new(), width: 10, height: 10, start, goal, length: 12.7279 };
    /// assert!(scenario.is_optimal(12.72792));
    /// assert!(!scenario.is_optimal(12.75)); // longer, and
    /// assert!(!scenario.is_optimal(12.70)); // shorter than possible
    /// ```
    #[must_use]
    pub fn is_optimal(&self, length: f64) -> bool {
        (length - self.length).abs() <= (1e-5 * self.length).max(0.011)
    }
}

fn parse_line(number: usize, line: &[u8]) -> Result<Scenario, String> {
    let mut rest = std::str::from_utf8(line).map_err(|_| "the line is not UTF-8 text")?.trim();
    let length: f64 = take_last(&mut rest, "length")?;
    let goal_y = take_last(&mut rest, "goal y")?;
    let goal_x = take_last(&mut rest, "goal x")?;
    let start_y = take_last(&mut rest, "start y")?;
    let start_x = take_last(&mut rest, "start x")?;
    let height = take_last(&mut rest, "height")?;
    let width = take_last(&mut rest, "width")?;
    let (bucket, map) = rest.split_once(char::is_whitespace).ok_or_else(|| missing("map"))?;

    let scenario = Scenario {
        line: number,
        bucket: parse_number(bucket, "bucket")?,
        map: map.trim().to_owned(),
        width,
        height,
        start: Cell::new(start_x, start_y),
        goal: Cell::new(goal_x, goal_y),
        length,
    };
    check_range(&scenario)?;
    Ok(scenario)
}

/// Checks that the cells are inside the map that the line names, and that the length is possible.
fn check_range(scenario: &Scenario) -> Result<(), String> {
    let is_outside = |cell: Cell| cell.x >= scenario.width || cell.y >= scenario.height;
    let ends = [("start", scenario.start), ("goal", scenario.goal)];
    if let Some((field, _)) = ends.into_iter().find(|&(_, cell)| is_outside(cell)) {
        return Err(format!("the {field} lies outside of the map"));
    }
    // Parsing accepts "inf" and "nan", which are not lengths of paths.
    let Scenario { length, .. } = scenario;
    if !length.is_finite() || *length < 0.0 {
        return Err(format!("length is not a valid number: \"{length}\""));
    }
    Ok(())
}

/// Removes the last field from a line, and returns it.
fn take_last<T: FromStr>(rest: &mut &str, field: &str) -> Result<T, String> {
    let (before, text) = rest.rsplit_once(char::is_whitespace).ok_or_else(|| missing(field))?;
    *rest = before.trim_end();
    parse_number(text, field)
}
