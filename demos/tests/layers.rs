//! The modules of this crate form layers: a file names only files below it.

use std::fs;
use std::path::Path;

/// From the bottom to the top, as ARCHITECTURE.md lists them. The demos lie between `BELOW` and
/// `ABOVE` and do not name each other. `lib` is above all and not listed.
const BELOW: [&str; 20] = [
    "text",
    "failure",
    "files",
    "interrupt",
    "raster",
    "setup",
    "direction",
    "engine",
    "walkers",
    "picture",
    "simulation",
    "card",
    "progress",
    "explain",
    "arguments",
    "origin",
    "recording",
    "saved_game",
    "session",
    "serve",
];
const ABOVE: [&str; 9] =
    ["proofs", "catalogue", "cli", "plan", "report", "runner", "resume", "diff", "shell"];

#[test]
fn every_module_names_only_lower_ones() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let lib = fs::read_to_string(source.join("lib.rs")).expect("lib.rs can be read");
    let modules = lib.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    let (shell, demos): (Vec<&str>, Vec<&str>) =
        modules.partition(|module| BELOW.contains(module) || ABOVE.contains(module));
    assert_eq!(shell.len(), BELOW.len() + ABOVE.len());
    for module in BELOW.iter().chain(&demos).chain(&ABOVE) {
        let file = source.join(format!("{module}.rs"));
        let files = if file.is_file() { vec![file] } else { rust_files(&source.join(module)) };
        assert!(!files.is_empty(), "there is no module {module}");
        let is_demo = files.iter().any(|file| declares_a_demo(file));
        assert_eq!(
            is_demo,
            demos.contains(module),
            "{module}: a demo, and nothing else, has a card"
        );
        for file in files {
            let text = fs::read_to_string(&file).expect("a source file can be read");
            for name in named_modules(without_tests(&text)) {
                assert!(
                    may_name(&demos, module, &name),
                    "{}: {module} names {name}, which is above it",
                    file.display()
                );
            }
        }
    }
}

fn declares_a_demo(file: &Path) -> bool {
    fs::read_to_string(file).is_ok_and(|text| text.contains("pub const DEMO: Demo"))
}

/// Whether `name` is `module` itself or below it.
fn may_name(demos: &[&str], module: &str, name: &str) -> bool {
    let height = |name: &str| {
        let below = BELOW.iter().position(|&one| one == name);
        let demo = demos.contains(&name).then_some(BELOW.len());
        let above = ABOVE.iter().position(|&one| one == name).map(|at| BELOW.len() + 1 + at);
        below.or(demo).or(above)
    };
    module == name || height(name).is_some_and(|other| Some(other) < height(module))
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

/// Unit tests may look up.
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

/// The files of a folder that name each other in a cycle; none if there is no cycle.
fn cycle(folder: &Path) -> Vec<String> {
    let name_of = |file: &Path| Some(file.file_stem()?.to_str()?.to_owned());
    let mut left: Vec<(String, String)> = Vec::new();
    for file in rust_files(folder) {
        let name = name_of(&file).expect("a name in Unicode");
        if !["mod", "tests"].contains(&name.as_str()) {
            let text = fs::read_to_string(&file).expect("a source file can be read");
            let code =
                without_tests(&text).lines().filter(|line| !line.trim_start().starts_with("//"));
            left.push((name, code.collect::<Vec<_>>().join("\n")));
        }
    }
    loop {
        let names: Vec<String> = left.iter().map(|(name, _)| name.clone()).collect();
        let names_another = |(own, text): &(String, String)| {
            let others = names.iter().filter(|name| *name != own);
            others.into_iter().any(|name| {
                text.contains(&format!("super::{name}::"))
                    || text.contains(&format!("super::{name};"))
            })
        };
        left.retain(names_another);
        if left.len() == names.len() {
            return names;
        }
    }
}

#[test]
fn the_files_of_a_demo_name_each_other_in_no_cycle() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for entry in fs::read_dir(&source).expect("the folder can be read").flatten() {
        if entry.path().is_dir() {
            let cycle = cycle(&entry.path());
            assert!(cycle.is_empty(), "{}: {cycle:?}", entry.path().display());
        }
    }
}

#[test]
fn the_scan_sees_groups_and_paths() {
    let text = "use crate::{dungeon, miners::DEMO};\nuse crate::text::grouped;";
    assert_eq!(named_modules(text), ["dungeon", "miners", "text"]);
}
