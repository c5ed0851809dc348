//! The modules of this crate form layers: a file names, by `crate::` paths, only modules of lower
//! layers, and by `super::` paths only files of its folder that stand above it in the list.

use std::fs;
use std::path::{Path, PathBuf};

/// Bottom to top. The list in ARCHITECTURE.md is this one.
const LAYERS: &[&[&str]] = &[
    // These know nothing but what stands before them here.
    &["sync"],
    &["entity"],
    &["mask"],
    &["name"],
    &["error"],
    &["random"],
    &["tuples"],
    &["hash"],
    &["flat"],
    &["capacity"],
    // The store.
    &["component"],
    &["storage"],
    &["archetype"],
    &["entities"],
    &["bundle"],
    &["transfer"],
    &["relation"],
    &["query"],
    &["world"],
    &["commands"],
    &["snapshot"],
    // Documentation.
    &["enableable"],
    &["compile_fail"],
];

/// The files of each folder, bottom to top; files that know each other share an entry.
const FOLDERS: &[(&str, &[&[&str]])] = &[
    ("hash", &[&["state"], &["see"]]),
    ("error", &[&["by_id"], &["dynamic"], &["query"], &["relation"], &["snapshot"]]),
    (
        "component",
        &[
            &["codec"],
            &["hash_rule"],
            &["buffer"],
            &["flags"],
            &["fields"],
            &["erased"],
            &["descriptor"],
            &["registry"],
            &["set"],
            &["tags"],
        ],
    ),
    (
        "storage",
        &[
            &["bytes"],
            &["layout"],
            &["directory"],
            &["block"],
            &["canaries"],
            &["chunk_head"],
            &["bits"],
            &["column_versions"],
            &["column_records"],
            &["row_versions"],
            &["plan"],
            &["chunks"],
        ],
    ),
    ("archetype", &[&["index"], &["rows"]]),
    ("transfer", &[&["plan"], &["new_rows"], &["mover"]]),
    (
        "query",
        &[
            &["access"],
            &["column"],
            &["data"],
            &["filter"],
            &["plan"],
            &["chunk"],
            &["pass"],
            &["parallel"],
            &["iter"],
            &["entities"],
            &["dynamic"],
            &["dynamic_run"],
            &["dynamic_rows"],
            &["view_plan"],
            &["view"],
            &["claims"],
            &["loom_models"],
        ],
    ),
    (
        "world",
        &[
            &["edges"],
            &["bundles"],
            &["resources"],
            &["rights"],
            &["event"],
            &["hooks"],
            &["dispatch"],
            &["relations"],
            &["hierarchy"],
            &["despawn"],
            &["copies"],
            &["prefabs"],
            &["spawn"],
            &["change"],
            &["bulk"],
            &["components"],
            &["by_id"],
            &["access"],
            &["cell"],
            &["dynamic"],
            &["memory"],
            &["stats"],
            &["check"],
            &["state_hash"],
            &["difference"],
        ],
    ),
    ("compile_fail", &[&["cells"], &["dynamic"], &["types"]]),
    (
        "commands",
        &[
            &["arena"],
            &["deferred"],
            &["exclusive"],
            &["call"],
            &["erased"],
            &["take"],
            &["stream"],
            &["runs"],
            &["merge"],
            &["playback"],
            &["changes"],
            &["bulk"],
        ],
    ),
    (
        "snapshot",
        &[&["format"], &["image"], &["names"], &["table"], &["relations"], &["save"], &["load"]],
    ),
];

fn place(list: &[&[&str]], name: &str) -> Option<usize> {
    list.iter().position(|entry| entry.contains(&name))
}

/// The names that stand after each `prefix` outside of comments; of a group in braces, the first
/// of each of its paths.
fn named_in<'a>(text: &'a str, prefix: &str) -> Vec<&'a str> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut found = Vec::new();
    for line in code {
        for (start, _) in line.match_indices(prefix) {
            let rest = &line[start + prefix.len()..];
            let members = match rest.strip_prefix('{') {
                Some(group) => group.split('}').next().unwrap_or(group).split(',').collect(),
                None => vec![rest],
            };
            found.extend(members.into_iter().map(|path| {
                let path = path.trim();
                let end = path.find(|c: char| c != '_' && !c.is_alphanumeric());
                &path[..end.unwrap_or(path.len())]
            }));
        }
    }
    found
}

/// Says what is wrong with the names in a file, if anything is.
fn violations(file: &Path, text: &str) -> Vec<String> {
    let parts: Vec<String> =
        file.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let module = parts[0].as_str();
    let Some(own) = place(LAYERS, module) else {
        return vec![format!("{}: module `{module}` is in no layer", file.display())];
    };
    let mut found = Vec::new();
    if text.contains("super::super::") {
        found.push(format!("{}: `super::super::` hides a name from this test", file.display()));
    }
    // Unit tests may name their whole crate.
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text);
    for name in named_in(text, "crate::") {
        // Not a module: something that `lib.rs` exports, which stands above everything.
        if place(LAYERS, name).is_none_or(|layer| layer >= own) && name != "_" {
            found.push(format!("{}: names `crate::{name}`, not below it", file.display()));
        }
    }
    if let [_, name] = &parts[..] {
        found.extend(folder_violations(file, module, name, text));
    }
    found
}

fn folder_violations(file: &Path, folder: &str, name: &str, text: &str) -> Vec<String> {
    if name == "mod" {
        return Vec::new();
    }
    let order = FOLDERS.iter().find(|(known, _)| *known == folder).map(|(_, order)| *order);
    let Some(own) = order.and_then(|order| place(order, name)) else {
        return vec![format!("{}: its folder's list does not have it", file.display())];
    };
    let order = order.unwrap_or_default();
    named_in(text, "super::")
        .into_iter()
        .filter(|named| place(order, named).is_some_and(|place| place > own))
        .map(|named| format!("{}: names `super::{named}`, above it", file.display()))
        .collect()
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is readable");
    entries
        .map(|entry| entry.expect("the entry is readable").path())
        .flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] })
        .collect()
}

#[test]
#[cfg_attr(miri, ignore = "reads the source files")]
fn every_file_names_only_lower_layers() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    let mut seen = 0;
    for path in files_below(&src) {
        let file = path.strip_prefix(&src).expect("it is below src");
        if file != Path::new("lib.rs") {
            seen += 1;
            found.extend(violations(file, &fs::read_to_string(&path).expect("it is text")));
        }
    }
    assert!(seen >= 40, "the scan sees the files: {seen}");
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn an_upward_name_is_found() {
    let check = |file: &str, text| violations(Path::new(file), text).len();
    assert_eq!(check("entities.rs", "use crate::world::World;"), 1);
    assert_eq!(check("storage/bits.rs", "fn f() { crate::sync::f(); crate::query::g(); }"), 1);
    assert_eq!(check("bundle.rs", "use crate::World;"), 1);
    assert_eq!(check("bundle.rs", "use crate::{entity::Entity, query::Query};"), 1);
    assert_eq!(check("query/iter.rs", "use super::super::world;"), 1);
    assert_eq!(check("query/access.rs", "use super::view::View;"), 1);
    assert_eq!(check("commands/arena.rs", "use super::{erased, Record};"), 1);
    assert_eq!(check("world/cell.rs", "use crate::world::World;"), 1, "its own by `super::`");
    assert_eq!(check("stray.rs", ""), 1);
    assert_eq!(check("query/stray.rs", ""), 1);
}

#[test]
fn downward_names_and_comments_are_not() {
    let check = |file: &str, text| violations(Path::new(file), text);
    assert_eq!(check("world/cell.rs", "use crate::query::Query;\nuse super::World;"), [""; 0]);
    assert_eq!(check("commands/playback.rs", "use super::erased::{self, play};"), [""; 0]);
    assert_eq!(check("error.rs", "    /// See [`World`](crate::World)."), [""; 0]);
    assert_eq!(check("mask.rs", "#[cfg(test)]\nmod tests {\n use crate::world::World;"), [""; 0]);
}
