//! Grids from and to map files of the MovingAI benchmarks.
//!
//! The format, and the sets of maps in it: N. Sturtevant, "Benchmarks for
//! Grid-Based Pathfinding", IEEE TCIAIG 4(2), 2012.
//!
//! ```text
//! type octile
//! height 2
//! width 5
//! map
//! .GS@T      . G S can be crossed,
//! OW...      @ O T W cannot
//! ```

use std::cmp::Ordering;
use std::path::Path;

use crate::cell::Cell;
use crate::grid::{Grid, check_size};
use crate::load::{LoadError, excerpt, lines, missing, parse_number, read};

const MAGIC: &str = "type octile";

impl Grid {
    /// Reads a map file.
    ///
    /// # Errors
    /// Returns [`LoadError`] if the file cannot be read, or if [`Grid::parse`] does.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, LoadError> {
        let (file, bytes) = read(path.as_ref())?;
        Self::parse(&file, &bytes)
    }

    /// Reads a map from memory; `file` is its name in errors.
    ///
    /// Lines may end in `\n` or `\r\n`, and empty lines may follow the last row. Every weight is one. A
    /// map without passable cells is valid. Memory is allocated only after the rows were found to be
    /// there, so a header with a wrong size costs nothing.
    ///
    /// ```
    /// use formic_nav::{Cell, Grid};
    /// let grid = Grid::parse("tiny.map", b"type octile\nheight 1\nwidth 3\nmap\n.T.\n")?;
    /// assert!(grid.is_open(Cell::new(0, 0)) && !grid.is_open(Cell::new(1, 0)));
    /// # Ok::<(), formic_nav::LoadError>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`LoadError`] with the line if the file is not a map.
    pub fn parse(file: &str, bytes: &[u8]) -> Result<Self, LoadError> {
        let mut lines = lines(bytes);
        let header = Header::parse(file, &mut lines)?;
        header.check_rows(file, lines.clone())?;
        let rows: Vec<&[u8]> = lines.take(header.height.into()).map(|(_, row)| row).collect();
        let is_open = |cell: Cell| is_passable(rows[usize::from(cell.y)][usize::from(cell.x)]);
        let (width, height) = (header.width.into(), header.height.into());
        Self::from_fn(width, height, |cell| is_open(cell) == Some(true))
            .map_err(|_| LoadError::at(file, header.map_line, wrong_size(width, height)))
    }

    /// Writes this grid as a map file, with `.` for open and `@` for solid cells.
    ///
    /// [`Grid::parse`] can read the result back, whatever the grid. Weights are not part of the format
    /// and are lost.
    ///
    /// ```
    /// use formic_nav::Grid;
    /// let grid = Grid::from_fn(2, 1, |cell| cell.x == 0)?;
    /// assert_eq!(grid.to_map(), "type octile\nheight 1\nwidth 2\nmap\n.@\n");
    /// # Ok::<(), formic_nav::GridSizeError>(())
    /// ```
    #[must_use]
    pub fn to_map(&self) -> String {
        let (width, height) = (self.width(), self.height());
        let mut text = format!("{MAGIC}\nheight {height}\nwidth {width}\nmap\n");
        for y in 0..height {
            text.extend((0..width).map(|x| if self.is_open(Cell { x, y }) { '.' } else { '@' }));
            text.push('\n');
        }
        text
    }
}

/// The header: the lines up to and including `map`.
struct Header {
    width: u16,
    height: u16,
    map_line: usize,
}

impl Header {
    fn parse<'a>(
        file: &str,
        lines: &mut impl Iterator<Item = (usize, &'a [u8])>,
    ) -> Result<Self, LoadError> {
        let first = lines.next().map(|(_, line)| line.trim_ascii());
        if first != Some(MAGIC.as_bytes()) {
            return Err(LoadError::header(file, MAGIC));
        }
        let (mut columns, mut rows) = (None, None);
        let mut last_line = 1;
        for (number, line) in lines {
            last_line = number;
            let fault = |reason: String| LoadError::at(file, number, reason);
            let text = String::from_utf8_lossy(line.trim_ascii());
            match text.split_once(char::is_whitespace).unwrap_or((&text, "")) {
                ("height", value) => set_field(&mut rows, "height", value).map_err(fault)?,
                ("width", value) => set_field(&mut columns, "width", value).map_err(fault)?,
                ("map", "") => return Self::new(columns, rows, number).map_err(fault),
                _ => {
                    let (text, fields) = (excerpt(&text), "`height N`, `width N` and `map`");
                    return Err(fault(format!("{text:?} is none of {fields}")));
                }
            }
        }
        Err(LoadError::at(file, last_line, missing("map")))
    }

    fn new(columns: Option<u32>, rows: Option<u32>, map_line: usize) -> Result<Self, String> {
        let rows = rows.ok_or_else(|| missing("height"))?;
        let columns = columns.ok_or_else(|| missing("width"))?;
        let size = check_size(columns, rows);
        let (width, height) = size.map_err(|_| wrong_size(columns, rows))?;
        Ok(Self { width, height, map_line })
    }

    /// Checks everything after the header.
    fn check_rows<'a>(
        &self,
        file: &str,
        mut lines: impl Iterator<Item = (usize, &'a [u8])>,
    ) -> Result<(), LoadError> {
        let mut last_line = self.map_line;
        let (width, height) = (usize::from(self.width), usize::from(self.height));
        for row in 0..height {
            let Some((number, line)) = lines.next() else {
                let reason = format!("the file ends after {row} of {height} rows");
                return Err(LoadError::at(file, last_line, reason));
            };
            last_line = number;
            check_row(line, width).map_err(|reason| LoadError::at(file, number, reason))?;
        }
        match lines.find(|(_, line)| !line.trim_ascii().is_empty()) {
            Some((number, _)) => {
                Err(LoadError::at(file, number, "nothing may follow the last row"))
            }
            None => Ok(()),
        }
    }
}

/// Takes the value of a header field that may appear once.
fn set_field(field: &mut Option<u32>, name: &str, value: &str) -> Result<(), String> {
    if field.is_some() {
        return Err(format!("`{name}` is given twice"));
    }
    *field = Some(parse_number(value.trim(), name)?);
    Ok(())
}

/// Checks one row.
fn check_row(row: &[u8], expected: usize) -> Result<(), String> {
    // A strange byte is reported before a wrong length, which it often explains.
    if let Some(i) = row.iter().position(|&byte| is_passable(byte).is_none()) {
        let (column, byte) = (i + 1, row[i].escape_ascii());
        let terrains = "'.', 'G' and 'S' can be crossed, '@', 'O', 'T' and 'W' cannot";
        return Err(format!("column {column}: '{byte}' is no terrain: {terrains}"));
    }
    let found = row.len();
    let fault = match found.cmp(&expected) {
        Ordering::Less => "short",
        Ordering::Equal => return Ok(()),
        Ordering::Greater => "long",
    };
    Err(format!("the row is too {fault}: {found} cells instead of {expected}"))
}

fn wrong_size(columns: u32, rows: u32) -> String {
    format!("a map cannot have {columns} columns and {rows} rows")
}

/// Whether terrain can be crossed, or `None` if the byte stands for no terrain.
fn is_passable(terrain: u8) -> Option<bool> {
    match terrain {
        b'.' | b'G' | b'S' => Some(true),
        b'@' | b'O' | b'T' | b'W' => Some(false),
        _ => None,
    }
}
