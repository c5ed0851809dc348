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
    pub reason: String,
    /// The error of reading, its [source](std::error::Error::source).
    source: Option<io::Error>,
}

impl LoadError {
    pub(crate) fn at(file: &str, line: usize, reason: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line: Some(line), reason: reason.into(), source: None }
    }

    /// The error of a file that does not begin as those of its kind do.
    pub(crate) fn header(file: &str, expected: &str) -> Self {
        let files = "files of the MovingAI benchmarks";
        Self::at(file, 1, format!("the first line is not `{expected}`, as in {files}"))
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

impl std::error::Error for LoadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|error| error as _)
    }
}

/// Reads the whole file, and returns the name to use for it in errors with the bytes.
pub(crate) fn read(path: &Path) -> Result<(String, Vec<u8>), LoadError> {
    let file = path.display().to_string();
    match std::fs::read(path) {
        Ok(bytes) => Ok((file, bytes)),
        Err(error) => {
            let reason = format!("cannot be read: {error}");
            Err(LoadError { file, line: None, reason, source: Some(error) })
        }
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
pub(crate) fn parse_number<T: FromStr>(text: &str, field: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{field} is not a valid number: {:?}", excerpt(text)))
}

/// The reason of a field that is not there.
pub(crate) fn missing(field: &str) -> String {
    format!("`{field}` is missing")
}

/// The beginning of a text, short enough for an error of one line.
pub(crate) fn excerpt(text: &str) -> String {
    text.chars().take(40).collect()
}
