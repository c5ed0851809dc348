//! The layers of this crate: a file names only modules above it in the list.
//!
//! The list is the one in ARCHITECTURE.md. Only `crate::` paths can be judged by
//! their text, so `super::`, `self::` and grouped imports are refused as well.

use std::fs;
use std::path::{Path, PathBuf};

/// All modules, lowest first.
const LAYERS: &[&str] = &[
    "bytes",
    "cell",
    "direction",
    "cost",
    "rng",
    "link",
    "grid::plane",
    "grid::change",
    "grid",
    "load",
    "map",
    "scenario",
    "generate",
    "region::event",
    "region::ring",
    "region::sector",
    "region::chunks",
    "region::hierarchy",
    "region::pieces",
    "region::flood",
    "region",
    "reach",
    "line",
    "lanes",
    "class",
    "flow::store",
    "flow::wave",
    "check",
    "landmarks",
    "terrain",
    "path::open_list",
    "path::nodes",
    "path::outcome",
    "path::query",
    "path::prune",
    "path::a_star",
    "path::any_angle",
    "path::frontier",
    "path::jump",
    "path::trace",
    "path::nearest",
    "path",
    "sight",
    "flow",
    "agent",
    "request",
    "avoid::body",
    "obstacle",
    "follow::walk",
    "follow::steer",
    "follow::push_out",
    "follow",
    "flow_agent::fields",
    "flow_agent",
    "avoid::half_plane",
    "avoid::reciprocal",
    "avoid::walls",
    "avoid::crowd",
    "avoid",
    "wander",
    "search::batch",
    "search::background",
    "search",
    "draw",
    "systems",
];

/// Every name in `text`, the source of `module`, that stands no lower.
fn violations(module: &str, text: &str) -> Vec<String> {
    let Some(own_rank) = LAYERS.iter().position(|&layer| layer == module) else {
        return vec![format!("{module} is not in the list of layers")];
    };
    let code = text.lines().map(str::trim_start).filter(|line| !line.starts_with("//"));
    let mut found = Vec::new();
    for line in code {
        if ["super::", "self::", "crate::{"].iter().any(|path| line.contains(path)) {
            found.push(format!("{module} hides what it names: {line}"));
        }
        for (start, _) in line.match_indices("crate::") {
            let path = &line[start + "crate::".len()..];
            match rank(path) {
                Some(rank) if rank < own_rank => {}
                _ => found.push(format!("{module} names upward: {line}")),
            }
        }
    }
    found
}

/// The layer of a path: that of the longest module name that it begins with.
fn rank(path: &str) -> Option<usize> {
    let is_prefix = |layer: &str| {
        let rest = path.strip_prefix(layer);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    let layers = LAYERS.iter().enumerate().filter(|(_, layer)| is_prefix(layer));
    layers.max_by_key(|(_, layer)| layer.len()).map(|(rank, _)| rank)
}

/// All source files but `lib.rs`, which stands above everything, and unit tests,
/// by module.
fn sources() -> Vec<(String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![root.clone()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().is_some_and(|name| name != "lib.rs" && name != "tests.rs") {
                files.push((module_name(path.strip_prefix(&root).unwrap()), path));
            }
        }
    }
    files.sort();
    files
}

/// `region/flood.rs` is `region::flood`, `region/mod.rs` is `region`.
fn module_name(file: &Path) -> String {
    let parts: Vec<_> =
        file.with_extension("").iter().map(|p| p.to_str().unwrap().to_owned()).collect();
    let name = parts.join("::");
    name.strip_suffix("::mod").map_or(name.clone(), str::to_owned)
}

#[test]
fn no_file_names_a_module_of_a_higher_layer() {
    let sources = sources();
    assert!(sources.len() >= LAYERS.len(), "some modules of the list have no file");
    let found: Vec<String> = sources
        .iter()
        .flat_map(|(module, path)| violations(module, &fs::read_to_string(path).unwrap()))
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn an_upward_name_is_found() {
    let is_refused = |module, text| !violations(module, text).is_empty();
    assert!(is_refused("grid", "use crate::region::Regions;"));
    assert!(is_refused("grid", "    let path = crate::path::Path::new();"));
    assert!(is_refused("region::table", "use crate::region::Regions;"));
    assert!(is_refused("grid", "use crate::grid::Grid;"));
    assert!(is_refused("path", "use crate::Terrain;"));
    assert!(is_refused("path", "use crate::{cell::Cell, terrain::Terrain};"));
    assert!(is_refused("region::table", "use super::Regions;"));
    assert!(is_refused("unheard_of", ""));
}

#[test]
fn downward_names_and_comments_are_not() {
    assert_eq!(violations("region", "use crate::region::hierarchy::Hierarchy;"), [""; 0]);
    assert_eq!(violations("path", "use crate::terrain::Terrain;"), [""; 0]);
    assert_eq!(violations("cell", "    /// See [`Terrain`](crate::Terrain)."), [""; 0]);
}

#[test]
fn no_file_reads_a_clock_or_asks_the_system_for_randomness() {
    let asks =
        ["Instant", "SystemTime", "std::time", "RandomState", "available_parallelism", "getrandom"];
    for (module, file) in sources() {
        let text = fs::read_to_string(&file).expect("it is there");
        let found = asks.iter().find(|word| text.contains(**word));
        assert_eq!(found, None, "{module}");
    }
}
