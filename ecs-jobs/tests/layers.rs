//! The modules of this crate form layers: a file names, by `crate::` paths, only
//! modules of lower layers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Bottom to top. The list in ARCHITECTURE.md is this one. A file names modules of its own layer or of
/// lower ones; see also [`no_two_modules_know_each_other`].
const LAYERS: &[&[&str]] = &[
    &["sync", "thread_number"],
    &["sleep", "queue", "panic_slot", "clock", "body_costs", "spans"],
    &["slots", "stored_job", "task_group", "join_deque", "job_queue", "handle", "wait_graph"],
    &[
        "shared",
        "context",
        "wait",
        "join",
        "scope",
        "flat_loop",
        "static_graph",
        "run_job",
        "walk",
        "complete",
        "worker",
        "future",
        "pool",
        "job_graph",
    ],
    &["schedule"],
    &["loom_models"],
];

/// The first of the modules that may know the ECS.
const FIRST_ABOVE_THE_POOL: &str = "schedule";

/// The module that a file belongs to: the first name below `src`.
fn module_of(file: &Path) -> String {
    let first = file.iter().next().expect("a file has a name");
    Path::new(first).with_extension("").to_string_lossy().into_owned()
}

fn layer_of(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

/// What stands after each `crate::` outside of comments.
fn named_in(text: &str) -> impl Iterator<Item = &str> {
    names_after("crate::", text)
}

/// What stands after each `prefix` outside of comments.
fn names_after<'a>(prefix: &'a str, text: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines().filter(|line| !line.trim_start().starts_with("//")).flat_map(move |line| {
        line.match_indices(prefix).map(|(place, prefix)| {
            let rest = &line[place + prefix.len()..];
            let end = rest.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(rest.len());
            &rest[..end]
        })
    })
}

/// Says what is wrong with the names in a file, if anything is.
fn violations(file: &Path, text: &str) -> Vec<String> {
    let module = module_of(file);
    let Some(own) = layer_of(&module) else {
        return vec![format!("{}: module `{module}` is in no layer", file.display())];
    };
    let mut found = Vec::new();
    if text.contains("super::super::") {
        found.push(format!("{}: `super::super::` hides a name from this test", file.display()));
    }
    for name in named_in(text) {
        // Not a module: a list in braces, or something that `lib.rs` exports.
        if layer_of(name).is_none_or(|layer| layer > own) {
            found.push(format!("{}: names `crate::{name}`, not below it", file.display()));
        }
    }
    if own < layer_of(FIRST_ABOVE_THE_POOL).expect("it is listed") && text.contains("formic_ecs") {
        found.push(format!("{}: the pool does not know the ECS", file.display()));
    }
    found
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
    assert!(seen >= 14, "the scan sees the files: {seen}");
    assert!(found.is_empty(), "{found:#?}");
}

/// Each module with those that it names, itself left out.
fn names_of_modules() -> BTreeMap<String, BTreeSet<String>> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut names = BTreeMap::<String, BTreeSet<String>>::new();
    for path in files_below(&src) {
        let file = path.strip_prefix(&src).expect("it is below src");
        let (module, text) = (module_of(file), fs::read_to_string(&path).expect("it is text"));
        let others = named_in(&text).filter(|&name| layer_of(name).is_some() && name != module);
        let own = names.entry(module.clone()).or_default();
        own.extend(others.map(str::to_owned));
    }
    names
}

/// A way from a module back to itself, if there is one.
fn cycle(names: &BTreeMap<String, BTreeSet<String>>) -> Option<Vec<String>> {
    fn go(
        names: &BTreeMap<String, BTreeSet<String>>,
        way: &mut Vec<String>,
        done: &mut BTreeSet<String>,
    ) -> Option<Vec<String>> {
        let at = way.last()?.clone();
        for next in names.get(&at).into_iter().flatten() {
            if let Some(place) = way.iter().position(|other| other == next) {
                return Some(way[place..].to_vec());
            }
            if !done.contains(next) {
                way.push(next.clone());
                if let Some(found) = go(names, way, done) {
                    return Some(found);
                }
                way.pop();
            }
        }
        done.insert(at);
        None
    }
    let mut done = BTreeSet::new();
    names.keys().find_map(|module| go(names, &mut vec![module.clone()], &mut done))
}

#[test]
#[cfg_attr(miri, ignore = "reads the source files")]
fn no_two_modules_know_each_other() {
    let mut names = names_of_modules();
    assert_eq!(cycle(&names), None);
    let pool = names.get_mut("sleep").expect("there is such a module");
    pool.insert("pool".to_owned());
    assert!(cycle(&names).is_some(), "a cycle is found");
}

/// The modules of a folder, each with its siblings that it names by `super::`.
fn siblings(folder: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut names = BTreeMap::<String, BTreeSet<String>>::new();
    let name = folder.file_name().expect("a folder has a name").to_string_lossy();
    for path in files_below(folder) {
        let file = path.strip_prefix(folder).expect("it is below the folder");
        let (module, text) = (module_of(file), fs::read_to_string(&path).expect("it is text"));
        if module == "mod" {
            continue;
        }
        let own = names.entry(module).or_default();
        own.extend(names_after(&format!("crate::{name}::"), &text).map(str::to_owned));
        // Further down `super` is another folder.
        if file.iter().count() == 1 || file.ends_with("mod.rs") {
            own.extend(names_after("super::", &text).map(str::to_owned));
        }
    }
    names
}

#[test]
#[cfg_attr(miri, ignore = "reads the source files")]
fn no_two_modules_of_a_folder_know_each_other() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for folder in ["schedule", "schedule/save", "pool", "slots", "static_graph", "job_graph"] {
        let mut names = siblings(&src.join(folder));
        assert_eq!(cycle(&names), None, "in {folder}");
        if folder == "schedule" {
            names.get_mut("node").expect("there is such a module").insert("run".to_owned());
            assert!(cycle(&names).is_some(), "a cycle is found");
        }
    }
}

#[test]
fn an_upward_name_is_found() {
    let check = |text| violations(Path::new("task_group.rs"), text).len();
    assert_eq!(check("use crate::pool::Pool;"), 1);
    assert_eq!(check("fn f() { crate::sync::fence(); crate::context::enter(); }"), 1);
    assert_eq!(check("use crate::Pool;"), 1);
    assert_eq!(check("use crate::{pool, sync};"), 1);
    assert_eq!(check("use super::super::pool;"), 1);
    assert_eq!(check("use formic_ecs::World;"), 1);
    assert_eq!(check("// See crate::pool::Pool.\nuse crate::sync::Arc;\nuse crate::slots::A;"), 0);
}

#[test]
fn a_file_in_a_folder_belongs_to_the_folder() {
    let inner = Path::new("slots/modelled.rs");
    assert!(violations(inner, "use crate::sync::Arc;").is_empty());
    assert_eq!(violations(inner, "use crate::worker::run;").len(), 1);
    assert_eq!(violations(Path::new("stray.rs"), "").len(), 1);
}

/// `scripts/plant-bugs` weakens what has a name.
#[test]
#[cfg_attr(miri, ignore = "reads the source files")]
fn every_ordering_that_is_not_relaxed_is_named() {
    const STRONG: [&str; 4] = ["Acquire", "Release", "AcqRel", "SeqCst"];
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut named, mut nameless) = (0, Vec::new());
    for path in files_below(&src) {
        let file = path.strip_prefix(&src).expect("it is below src");
        if file == Path::new("sync.rs") || file.starts_with("loom_models") {
            continue;
        }
        for line in fs::read_to_string(&path).expect("it is text").lines() {
            let strong =
                names_after("Ordering::", line).filter(|name| STRONG.contains(name)).count();
            let names = line.matches("needed(\"").count();
            named += strong.min(names);
            if strong > names {
                nameless.push(format!("{}: {}", file.display(), line.trim()));
            }
        }
    }
    assert!(named >= 15, "the scan sees the orderings: {named}");
    assert!(nameless.is_empty(), "{nameless:#?}");
}
