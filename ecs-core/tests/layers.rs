//! The modules of this crate form layers: a file names, by `crate::` paths, only modules of lower
//! layers, and by `super::` paths only files of its folder that stand above it in the list.

use std::fs;
use std::path::{Path, PathBuf};

/// Bottom to top. The list in ARCHITECTURE.md is this one.
const LAYERS: &[&[&str]] = &[
    // These know nothing but what stands before them here.
    &["sync"],
    &["macros"],
    &["entity"],
    &["mask"],
    &["name"],
    &["error"],
    &["random"],
    &["hash"],
    &["user_code"],
    // The store.
    &["component"],
    &["storage"],
    &["archetype"],
    &["entities"],
    &["bundle"],
    &["transfer"],
    &["query"],
    &["world"],
    &["commands"],
    // Above the kernel, which ends here.
    &["features"],
    // Documentation.
    &["enableable"],
];

/// The files of each folder, bottom to top; files that know each other share an entry.
const FOLDERS: &[(&str, &[&[&str]])] = &[
    ("component", &[&["codec"], &["hash_rule"], &["fields"], &["erased"], &["registry"]]),
    (
        "storage",
        &[
            &["layout"],
            &["directory"],
            &["block"],
            &["bits"],
            &["column_records"],
            &["row_versions"],
            &["marks"],
            &["chunks"],
        ],
    ),
    ("archetype", &[&["rows"]]),
    ("transfer", &[&["plan"], &["bundles"], &["new_rows"], &["mover"], &["holes"], &["row_moves"]]),
    (
        "query",
        &[
            &["access"],
            &["claims"],
            &["column"],
            &["term"],
            &["data"],
            &["filter"],
            &["plan"],
            &["cursor"],
            &["iter"],
            &["view"],
            &["loom_models"],
        ],
    ),
    (
        "world",
        &[
            &["resources"],
            &["lifecycle"],
            &["spawn"],
            &["change"],
            &["bulk"],
            &["access"],
            &["cell"],
            &["stats"],
            &["check"],
        ],
    ),
    ("commands", &[&["deferred"], &["payload"], &["stream"], &["runs"], &["playback"]]),
    (
        "features",
        &[
            &["buffer"],
            &["hooks"],
            &["dynamic"],
            &["relation"],
            &["prefab"],
            &["snapshot"],
            &["state_hash"],
        ],
    ),
    (
        "features/dynamic",
        &[&["descriptor"], &["by_id"], &["query"], &["bulk"], &["run"], &["rows"]],
    ),
    ("features/relation", &[&["links"]]),
    ("features/snapshot", &[&["format"], &["image"], &["names"], &["save"], &["load"]]),
];

/// What files of the kernel name of the features all the same: the page of errors has theirs too.
const KERNEL_EXCEPTIONS: &[(&str, &str)] = &[("error.rs", "features")];

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
        let is_below = place(LAYERS, name).is_some_and(|layer| layer < own);
        let is_excepted = KERNEL_EXCEPTIONS.contains(&(&file.to_string_lossy(), name));
        // Features name each other by whole paths, in their own order (below).
        if !is_below && !is_excepted && name != "_" && (module, name) != ("features", "features") {
            found.push(format!("{}: names `crate::{name}`, not below it", file.display()));
        }
    }
    match &parts[..] {
        [_, name] => found.extend(folder_violations(file, module, name, text)),
        [_, folder, name] => {
            // A folder that `FOLDERS` does not have is that of one file's parts.
            let folder = format!("{module}/{folder}");
            if FOLDERS.iter().any(|(known, _)| *known == folder) {
                found.extend(folder_violations(file, &folder, name, text));
            }
        }
        _ => {}
    }
    if let (Some(feature), "features") = (parts.get(1), module) {
        found.extend(feature_violations(file, feature, text));
    }
    found
}

/// The features that a file of a feature names though they do not stand before its own.
fn feature_violations(file: &Path, feature: &str, text: &str) -> Vec<String> {
    let order = FOLDERS.iter().find(|(known, _)| *known == "features").expect("it is there").1;
    let own = place(order, feature);
    named_in(text, "crate::features::")
        .into_iter()
        .filter(|named| place(order, named) >= own)
        .map(|named| format!("{}: names the feature `{named}`", file.display()))
        .collect()
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

/// All source files but unit tests, which may name their whole crate.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is readable");
    entries
        .map(|entry| entry.expect("the entry is readable").path())
        .flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] })
        .filter(|path| !path.ends_with("tests.rs"))
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

/// The methods that the features give to types of the kernel, but for those that only they can call.
fn methods_of_features(text: &str) -> Vec<&str> {
    let of_kernel = ["impl World {", "impl<'w> WorldCell<'w> {", "impl CommandBuffer {"];
    let mut found = Vec::new();
    let mut is_inside = false;
    for line in text.lines() {
        is_inside = of_kernel.contains(&line) || (is_inside && line != "}");
        let is_for_others = is_inside && line.trim_start().starts_with("pub");
        let name = line.split_once("fn ").map(|(_, rest)| rest).filter(|_| is_for_others);
        if let Some(name) = name {
            let end = name.find(|c: char| c != '_' && !c.is_alphanumeric());
            found.extend(end.map(|end| &name[..end]));
        }
    }
    found
}

/// Says which of these methods a file calls, outside of comments and unit tests.
fn calls_of(file: &Path, text: &str, methods: &[String]) -> Vec<String> {
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text);
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code: String = code.collect::<Vec<_>>().join("\n");
    let calls = |name: &&String| {
        // Whatever it is called on may be a world.
        [format!(".{name}"), format!("::{name}")].iter().any(|call| {
            code.match_indices(call.as_str()).any(|(start, _)| {
                let after = &code[start + call.len()..];
                after.starts_with('(') || after.starts_with("::<")
            })
        })
    };
    let found = methods.iter().filter(calls);
    found.map(|name| format!("{}: calls `{name}` of a feature", file.display())).collect()
}

#[test]
#[cfg_attr(miri, ignore = "reads the source files")]
fn the_kernel_calls_no_method_of_a_feature() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut methods = Vec::new();
    for path in files_below(&src.join("features")) {
        let text = fs::read_to_string(&path).expect("it is text");
        methods.extend(methods_of_features(&text).into_iter().map(String::from));
    }
    let doors =
        ["by_id", "query_by_id", "hooks", "relation", "instantiate", "snapshot", "state_hash"];
    for door in doors {
        assert!(methods.iter().any(|found| found == door), "the scan sees {door}: {methods:?}");
    }
    let mut found = Vec::new();
    for path in files_below(&src) {
        let file = path.strip_prefix(&src).expect("it is below src");
        if !file.starts_with("features") {
            found.extend(calls_of(file, &fs::read_to_string(&path).expect("it is text"), &methods));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_call_of_a_feature_is_found() {
    let methods = methods_of_features(
        "impl World {\n    pub fn relate<R>(&self) {}\n    fn own() {}\n}\npub fn no() {}",
    );
    assert_eq!(methods, ["relate"]);
    let methods: Vec<_> = methods.into_iter().map(String::from).collect();
    let check = |text| calls_of(Path::new("world/spawn.rs"), text, &methods).len();
    assert_eq!(check("fn f() { world.relate::<R>(a, b); }"), 1);
    assert_eq!(check("fn f() { self.relate(a, b); }"), 1);
    assert_eq!(check("fn f(w: &mut World) { [w][0].relate(a, b); }"), 1);
    assert_eq!(check("fn f() { <World>::relate::<R>(w, a, b); }"), 1);
    assert_eq!(check("// world.relate(a)\nfn f() { world.related(a); }"), 0);
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
    assert_eq!(check("commands/deferred.rs", "use super::{payload, Record};"), 1);
    assert_eq!(check("world/cell.rs", "use crate::world::World;"), 1, "its own by `super::`");
    assert_eq!(check("world/spawn.rs", "use crate::features::hooks::Hooks;"), 1);
    assert_eq!(check("world/error.rs", "use crate::features::ByIdError;"), 2, "not that one");
    assert_eq!(check("features/hooks.rs", "use crate::features::prefab::Prefab;"), 1);
    assert_eq!(check("features/dynamic/run.rs", "use crate::features::relation::ChildOf;"), 1);
    assert_eq!(check("features/dynamic/run.rs", "use super::rows;"), 1);
    assert_eq!(check("stray.rs", ""), 1);
    assert_eq!(check("query/stray.rs", ""), 1);
}

#[test]
fn downward_names_and_comments_are_not() {
    let check = |file: &str, text| violations(Path::new(file), text);
    assert_eq!(check("world/cell.rs", "use crate::query::Query;\nuse super::World;"), [""; 0]);
    assert_eq!(check("commands/playback.rs", "use super::payload::{self, play};"), [""; 0]);
    assert_eq!(check("features/prefab.rs", "use crate::features::relation::ChildOf;"), [""; 0]);
    assert_eq!(check("error.rs", "pub use crate::features::ByIdError;"), [""; 0]);
    assert_eq!(check("error.rs", "    /// See [`World`](crate::World)."), [""; 0]);
    assert_eq!(check("mask.rs", "#[cfg(test)]\nmod tests {\n use crate::world::World;"), [""; 0]);
}
