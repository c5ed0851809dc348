//! The public benchmark maps, where `NAV_DATA` says that they are.

use std::path::PathBuf;

/// All map files below `NAV_DATA`, sorted; none, and a line that says so, without
/// it.
pub(crate) fn maps() -> Vec<PathBuf> {
    let Some(root) = std::env::var_os("NAV_DATA") else {
        eprintln!("SKIPPED: NAV_DATA does not name the folder of benchmark maps");
        return Vec::new();
    };
    let folders = std::fs::read_dir(root).expect("NAV_DATA names a folder");
    let folders = folders.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let files = folders.flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let files = files.map(|entry| entry.unwrap().path());
    let mut maps: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|ext| ext == "map")).collect();
    maps.sort();
    assert!(!maps.is_empty(), "NAV_DATA holds no maps");
    maps
}
