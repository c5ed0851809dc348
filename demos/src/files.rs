//! Input and output files, with errors that name them.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// The size limit of [`read`]: far beyond any map, and it stops `--map /dev/zero`.
pub const BYTES_MAX: u64 = 64 << 20;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Whether a file begins with these bytes.
///
/// # Errors
/// Returns an error if the file cannot be read.
pub fn begins_with(path: &Path, front: &[u8]) -> Result<bool, Failure> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(front.len() as u64).read_to_end(&mut bytes))
        .map_err(|error| Failure::on_file("read", path, error))?;
    Ok(bytes == front)
}

/// Reads a whole file, without a byte-order mark.
///
/// # Errors
/// Returns an error if the file cannot be read, or is larger than [`BYTES_MAX`].
pub fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = read_at_most(path, BYTES_MAX)?;
    // Some editors put one before a text; it is not part of the text.
    if bytes.starts_with(BYTE_ORDER_MARK) {
        bytes.drain(..BYTE_ORDER_MARK.len());
    }
    Ok(bytes)
}

/// Reads a whole file, unchanged.
///
/// # Errors
/// Returns an error if the file cannot be read, or has more than `bytes_max` bytes.
pub fn read_at_most(path: &Path, bytes_max: u64) -> Result<Vec<u8>, Failure> {
    let file = File::open(path).map_err(|error| Failure::on_file("read", path, error))?;
    let mut bytes = Vec::new();
    file.take(bytes_max + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::on_file("read", path, error))?;
    if bytes.len() as u64 > bytes_max {
        let what = format!("it is larger than {} MiB", bytes_max >> 20);
        return Err(Failure::on_file("read", path, what));
    }
    Ok(bytes)
}

/// Reads a whole text file.
///
/// # Errors
/// Returns an error if the file cannot be read, is larger than [`BYTES_MAX`], or is not UTF-8.
pub fn read_text(path: &Path) -> Result<String, Failure> {
    String::from_utf8(read(path)?).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        Failure::Usage(format!("{}:{line}: this is not UTF-8 text", path.display()))
    })
}

/// Parses each line of a file. Empty lines, and text after a `#`, are skipped.
///
/// # Errors
/// Returns an error that names the first invalid line.
pub fn read_lines<T, E: fmt::Display>(
    path: &Path,
    read: impl Fn(&str) -> Result<T, E>,
) -> Result<Vec<T>, Failure> {
    let text = read_text(path)?;
    let said = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let lines = (1..).zip(said).filter(|(_, line)| !line.is_empty());
    let read = |(number, line)| {
        let wrong = |error| Failure::Usage(format!("{}:{number}: {error}", path.display()));
        read(line).map_err(wrong)
    };
    lines.map(read).collect()
}

/// Checks the format number at the beginning of a file against the one that is read; none if it is not a
/// number.
///
/// # Errors
/// Returns an error that names the format if it differs.
pub fn check_format(number: &serde_json::Value, read: u32) -> Option<Result<(), String>> {
    let format = number.as_u64()?;
    Some(match format == u64::from(read) {
        true => Ok(()),
        false => Err(format!("it is in format {format}, and this program reads format {read}")),
    })
}

/// Writes a whole file.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    fs::write(path, bytes).map_err(|error| Failure::on_file("write", path, error))
}

/// Opens a file for writing and closes it again without changing its content, so that a long run does not
/// fail only at its end.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn prove_writable(path: &Path) -> Result<(), Failure> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map(drop)
        .map_err(|error| Failure::on_file("write", path, error))
}

/// Returns the default path of the picture: the system's folder for temporary files, because the current
/// one may be read-only.
///
/// # Errors
/// Returns an error if that folder is not writable either.
pub fn picture_path(demo: &str) -> Result<PathBuf, Failure> {
    let folder = std::env::temp_dir();
    let usual = folder.join(format!("formic-{demo}.png"));
    if prove_writable(&usual).is_ok() {
        return Ok(usual);
    }
    // On a shared machine the usual name may belong to another user.
    let own = folder.join(format!("formic-{demo}-{}.png", std::process::id()));
    prove_writable(&own)?;
    Ok(own)
}
