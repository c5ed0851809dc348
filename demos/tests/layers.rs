//! The modules of this crate form layers: a file names only files below it.

use std::fs;
use std::path::Path;

/// From the bottom to the top, as ARCHITECTURE.md lists them. `lib` is above
/// all and not listed.
const LAYERS: [&str; 15] = [
    "failure",
    "text",
    "files",
    "raster",
    "setup",
    "simulation",
    "progress",
    "miners",
    "dungeon",
    "proofs",
    "cli",
    "plan",
    "catalogue",
    "report",
    "runner",
];

#[test]
fn every_module_names_only_lower_ones() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut seen = 0;
    for (height, module) in LAYERS.iter().enumerate() {
        let file = source.join(format!("{module}.rs"));
        let files = if file.is_file() { vec![file] } else { rust_files(&source.join(module)) };
        assert!(!files.is_empty(), "there is no module {module}");
        seen += 1;
        for file in files {
            let text = fs::read_to_string(&file).expect("a source file can be read");
            for name in named_modules(without_tests(&text)) {
                let lower = LAYERS[..=height].contains(&name.as_str());
                assert!(lower, "{}: {module} names {name}, which is above it", file.display());
            }
        }
    }
    let lib = fs::read_to_string(source.join("lib.rs")).expect("lib.rs can be read");
    assert_eq!(seen, lib.lines().filter(|line| line.starts_with("pub mod ")).count());
}

/// The modules in `crate::module`, `crate::{a, b::c}` and doc links.
fn named_modules(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for rest in text.split("crate::").skip(1) {
        let group = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
        let list = group.map_or(rest, |(list, _)| list);
        let count = if group.is_some() { usize::MAX } else { 1 };
        names.extend(list.split(',').take(count).map(first_word));
    }
    names
}

fn first_word(path: &str) -> String {
    path.trim_start().chars().take_while(|&c| c.is_alphanumeric() || c == '_').collect()
}

/// Unit tests may look up: `cli` compares itself with the catalogue.
fn without_tests(text: &str) -> &str {
    text.split_once("#[cfg(test)]\nmod tests {").map_or(text, |(code, _)| code)
}

fn rust_files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

#[test]
fn the_scan_sees_groups_and_paths() {
    let text = "use crate::{dungeon, miners::DEMO};\nuse crate::text::grouped;";
    assert_eq!(named_modules(text), ["dungeon", "miners", "text"]);
}
