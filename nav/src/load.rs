//! Errors and lines, common to map and scenario files.

use std::fmt;
use std::io;
use std::path::Path;
use std::str::FromStr;

debug_as_text!(LoadError);

/// The error of a map or scenario file that cannot be used.
///
/// It displays as `file:line: reason`, in one line.
///
/// ```
/// use formic_nav::Grid;
/// let error = Grid::parse("cave.map", b"type hex\n").unwrap_err();
/// let expected = "the first line is not `type octile`, as in files of the MovingAI benchmarks";
/// assert_eq!(error.to_string(), format!("cave.map:1: {expected}"));
/// assert_eq!(error.line, Some(1));
/// ```
pub struct LoadError {
    /// The file, as named by the caller.
    pub file: String,
    /// The line, counted from one; `None` if the file could not be read at all.
    pub line: Option<usize>,
    /// The reason why the file cannot be used.
    pub reason: LoadReason,
}

/// The reason why a map or scenario file cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum LoadReason {
    /// The file could not be read.
    Read(io::Error),
    /// The first line is not that of files of this kind.
    Header {
        /// The expected line.
        expected: &'static str,
    },
    /// A field is missing; for a map also the line `map` itself.
    MissingField(&'static str),
    /// A field of the map header appears twice.
    RepeatedField(&'static str),
    /// A line of the map header is none of `height N`, `width N` and `map`.
    UnknownField(String),
    /// A field is not a number of its kind.
    Number {
        /// The field.
        field: &'static str,
        /// The text found there.
        text: String,
    },
    /// A map of no cells, or of more than a grid can have.
    Size {
        /// Cells per row.
        width: u32,
        /// Rows.
        height: u32,
    },
    /// A row has fewer cells than the width.
    ShortRow {
        /// The width.
        expected: usize,
        /// The bytes of the row.
        found: usize,
    },
    /// A row has more cells than the width.
    LongRow {
        /// The width.
        expected: usize,
        /// The bytes of the row.
        found: usize,
    },
    /// The file ends before the last row.
    MissingRows {
        /// The height.
        expected: usize,
        /// The number of rows that are there.
        found: usize,
    },
    /// Something follows the last row.
    ExtraLine,
    /// A byte that stands for no terrain.
    StrangeByte {
        /// The byte.
        byte: u8,
        /// Its column, counted from one.
        column: usize,
    },
    /// A start or goal lies outside of the map that the line itself names.
    CellOutside {
        /// `start` or `goal`.
        field: &'static str,
    },
    /// A line of a scenario file is not text.
    NotText,
    /// A problem of a scenario file was made for a map of another size.
    OtherMap {
        /// Columns and rows of the map of the problem.
        found: (u16, u16),
        /// Columns and rows of the given map.
        expected: (u16, u16),
    },
}

impl LoadError {
    pub(crate) fn at(file: &str, line: usize, reason: LoadReason) -> Self {
        Self { file: file.to_owned(), line: Some(line), reason }
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.reason),
            None => write!(f, "{}: {}", self.file, self.reason),
        }
    }
}

impl fmt::Display for LoadReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => write!(f, "cannot be read: {error}"),
            Self::Header { expected } => {
                write!(
                    f,
                    "the first line is not `{expected}`, as in files of the MovingAI benchmarks"
                )
            }
            Self::MissingField(field) => write!(f, "`{field}` is missing"),
            Self::RepeatedField(field) => write!(f, "`{field}` is given twice"),
            Self::UnknownField(text) => {
                write!(f, "{text:?} is none of `height N`, `width N` and `map`")
            }
            Self::Number { field, text } => write!(f, "{field} is not a valid number: {text:?}"),
            Self::Size { width, height } => {
                write!(f, "a map cannot have {width} columns and {height} rows")
            }
            Self::ShortRow { expected, found } => {
                write!(f, "the row is too short: {found} cells instead of {expected}")
            }
            Self::LongRow { expected, found } => {
                write!(f, "the row is too long: {found} cells instead of {expected}")
            }
            Self::MissingRows { expected, found } => {
                write!(f, "the file ends after {found} of {expected} rows")
            }
            Self::ExtraLine => write!(f, "nothing may follow the last row"),
            Self::StrangeByte { byte, column } => {
                let byte = byte.escape_ascii();
                write!(
                    f,
                    "column {column}: '{byte}' is no terrain: '.', 'G' and 'S' can be crossed, \
                     '@', 'O', 'T' and 'W' cannot"
                )
            }
            Self::CellOutside { field } => write!(f, "the {field} lies outside of the map"),
            Self::NotText => write!(f, "the line is not UTF-8 text"),
            Self::OtherMap { found: (width, height), expected: (columns, rows) } => write!(
                f,
                "the problem is for a map of {width} x {height} cells, not of {columns} x {rows}"
            ),
        }
    }
}

impl std::error::Error for LoadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.reason {
            LoadReason::Read(error) => Some(error),
            _ => None,
        }
    }
}

/// Reads the whole file, and returns the name to use for it in errors with the bytes.
pub(crate) fn read(path: &Path) -> Result<(String, Vec<u8>), LoadError> {
    let file = path.display().to_string();
    match std::fs::read(path) {
        Ok(bytes) => Ok((file, bytes)),
        Err(error) => Err(LoadError { file, line: None, reason: LoadReason::Read(error) }),
    }
}

/// The lines with their numbers from one, without `\n` or `\r\n`.
///
/// A newline at the end of the file ends the last line and begins no other.
pub(crate) fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> + Clone {
    let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let lines = text.split(|&byte| byte == b'\n');
    lines.enumerate().map(|(i, line)| (i + 1, line.strip_suffix(b"\r").unwrap_or(line)))
}

/// Parses a field that is a number.
pub(crate) fn parse_number<T: FromStr>(text: &str, field: &'static str) -> Result<T, LoadReason> {
    text.parse().map_err(|_| LoadReason::Number { field, text: excerpt(text) })
}

/// The beginning of a text, short enough for an error of one line.
pub(crate) fn excerpt(text: &str) -> String {
    text.chars().take(40).collect()
}
