//! Failures that end a run early, with their exit codes.

use std::fmt;
use std::io;
use std::path::Path;

use crate::text::counted;

/// The reason why the program stops; its text is the one line that goes to stderr.
#[derive(Debug)]
#[non_exhaustive]
pub enum Failure {
    /// The caller's input cannot be used: a value, a file, a path.
    Usage(String),
    /// The simulation ran, and its own check found an error.
    Check(String),
    /// The results could not be written.
    Stdout(io::Error),
    /// The compared runs are not equal. The results say where.
    Differ,
    /// The user pressed Ctrl-C. The results so far were written.
    Interrupted {
        /// The number of ticks that were run.
        ticks: u64,
    },
}

impl Failure {
    /// Creates a failure for a file that could not be opened, read or written; `verb` says which.
    pub fn on_file(verb: &str, path: &Path, what: impl fmt::Display) -> Self {
        Self::Usage(format!("cannot {verb} {}: {what}", path.display()))
    }

    /// Whether the results already say everything.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.is_closed_pipe() || matches!(self, Self::Differ)
    }

    /// Whether the reader of stdout has closed it, as in `demos list | head -1`. That reader has what it
    /// wanted, so this is not an error.
    #[must_use]
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Stdout(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Returns the exit code: 0 if the reader closed stdout, 1 for a failed check, 2 for everything that
    /// the caller can fix, 130 for an interrupted run.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Check(_) | Self::Differ => 1,
            Self::Stdout(_) if self.is_closed_pipe() => 0,
            Self::Usage(_) | Self::Stdout(_) => 2,
            // The exit code that a shell reports for a program ended by Ctrl-C.
            Self::Interrupted { .. } => 130,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Usage(what) => what.clone(),
            Self::Check(what) => format!("check failed: {what}"),
            Self::Differ => "the runs are not equal".to_owned(),
            Self::Stdout(error) => format!("cannot write the results: {error}"),
            Self::Interrupted { ticks } => {
                format!(
                    "interrupted after {}; the results are those until then",
                    counted(*ticks, "ticks")
                )
            }
        };
        // File names and values come from outside and may contain line breaks; a script that reads stderr
        // by line relies on there being one line.
        for (index, word) in text.split(['\n', '\r']).enumerate() {
            f.write_str(if index > 0 { " " } else { "" })?;
            f.write_str(word.trim_end())?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interruption_counts_its_ticks() {
        let told = |ticks| Failure::Interrupted { ticks }.to_string();
        assert_eq!(told(1), "interrupted after 1 tick; the results are those until then");
        assert_eq!(told(2_000), "interrupted after 2,000 ticks; the results are those until then");
    }
}
