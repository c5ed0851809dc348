//! The layers of this crate: a file names only modules above it in the list.
//!
//! The list is the one in ARCHITECTURE.md. Grouped imports and chains of
//! `super::` cannot be judged by their text, so they are refused as well.

use std::fs;
use std::path::{Path, PathBuf};

/// All modules, lowest first.
const LAYERS: &[&str] = &[
    "bits",
    "heads",
    "key_map",
    "explain::decision",
    "explain::sentence",
    "explain::ring",
    "explain::log",
    "explain::recorder",
    "explain",
    "action::components",
    "action::processor",
    "action::access",
    "action::carry",
    "action::body",
    "action::names",
    "action::report",
    "action::lifetimes",
    "action::systems",
    "action::param",
    "action::mind",
    "action::composite",
    "action::action_set",
    "action::sequence",
    "action::data",
    "action::order",
    "action",
    "library",
    "reload",
    "utility::curve",
    "utility::considerations",
    "utility::reasoner",
    "utility::record",
    "utility::agent",
    "utility::agents",
    "utility::data",
    "utility",
    "bt::node",
    "bt::parse",
    "bt::tree",
    "bt::btcpp::table",
    "bt::btcpp::import",
    "bt::btcpp::export",
    "bt::btcpp",
    "bt::record",
    "bt::tick",
    "bt::agent",
    "bt::data",
    "bt",
    "goap::facts",
    "goap::operator",
    "goap::state",
    "goap::problem",
    "goap::search",
    "goap::search_input",
    "goap::planner",
    "goap::record",
    "goap::sensors",
    "goap::agent",
    "goap::data",
    "goap",
    "htn::domain",
    "htn::search",
    "htn::record",
    "htn::agent",
    "htn::data",
    "htn",
    "fsm::state",
    "fsm::transition",
    "fsm::machine",
    "fsm::builder",
    "fsm::agent",
    "fsm::situation",
    "fsm::record",
    "fsm::update",
    "fsm::machines",
    "fsm::data",
    "fsm",
    "turn::error",
    "turn::schedule",
    "turn::values",
    "turn::journal",
    "turn::action",
    "turn::cells",
    "turn::cell_changes",
    "turn::situation",
    "turn::draft",
    "turn::rule",
    "turn::rule_book",
    "turn::log",
    "turn::trace",
    "turn::explain",
    "turn::real_time",
    "turn::turns",
    "turn::rollback",
    "turn::judge",
    "turn::resolve",
    "turn::history",
    "turn::save",
    "turn",
    "activity::event",
    "activity::domain",
    "activity::subscription",
    "activity::calls",
    "activity::table",
    "activity::tick",
    "activity::inbox",
    "activity::mailbox",
    "activity::async_context",
    "activity::behaviour",
    "activity::asynchronous",
    "activity::current",
    "activity::slot",
    "activity::record",
    "activity::deliver",
    "activity::param",
    "activity",
    "why",
];

/// Every name in `text`, the source of `module`, that stands no lower.
fn violations(module: &str, text: &str) -> Vec<String> {
    let Some(own_rank) = LAYERS.iter().position(|&layer| layer == module) else {
        return vec![format!("{module} is not in the list of layers")];
    };
    let code = text.lines().map(str::trim_start).filter(|line| !line.starts_with("//"));
    let mut found = Vec::new();
    for line in code {
        if ["super::super::", "super::{", "self::{", "crate::{"].iter().any(|it| line.contains(it))
        {
            found.push(format!("{module} hides what it names: {line}"));
        }
        for path in paths(module, line) {
            match rank(&path) {
                Some(rank) if rank < own_rank => {}
                _ => found.push(format!("{module} names upward: {line}")),
            }
        }
    }
    found
}

/// The paths in a line of `module` that stay in this crate, from its root on.
fn paths(module: &str, line: &str) -> Vec<String> {
    let parent = module.rsplit_once("::").map_or("", |(parent, _)| parent);
    let starts = [("crate::", ""), ("super::", parent), ("self::", module)];
    let in_crate = |(start, base): (&str, &str)| {
        let rests = line.match_indices(start).map(|(place, _)| &line[place + start.len()..]);
        let full =
            |rest| if base.is_empty() { String::from(rest) } else { format!("{base}::{rest}") };
        rests.map(full).collect::<Vec<_>>()
    };
    starts.into_iter().flat_map(in_crate).collect()
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
/// which may name what they test, by module.
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

/// `action/param.rs` is `action::param`, `action/mod.rs` is `action`.
fn module_name(file: &Path) -> String {
    let parts: Vec<_> =
        file.with_extension("").iter().map(|part| part.to_str().unwrap().to_owned()).collect();
    let name = parts.join("::");
    name.strip_suffix("::mod").map_or(name.clone(), str::to_owned)
}

#[test]
#[cfg_attr(miri, ignore = "reads the source files")]
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
    assert!(is_refused("action::components", "use super::processor::Processor;"));
    assert!(is_refused("action::param", "    crate::action::sequence::advance();"));
    assert!(is_refused("action::param", "use super::Actions;"));
    assert!(is_refused("action::param", "use crate::action::Actions;"));
    assert!(is_refused("action::param", "use super::{components, processor};"));
    assert!(is_refused("action", "use crate::prelude::Sequence;"));
    assert!(is_refused("unheard_of", ""));
}

#[test]
fn downward_names_and_comments_are_not() {
    assert_eq!(violations("action::param", "use super::components::Action;"), [""; 0]);
    assert_eq!(violations("action", "pub use self::components::{Action, Executing};"), [""; 0]);
    assert_eq!(violations("action::processor", "    /// See [`x`](super::Actions)."), [""; 0]);
}

#[test]
#[cfg_attr(miri, ignore = "reads the source files")]
fn every_module_page_has_its_words_a_small_example_and_when_not_to_use_it() {
    let pages = sources().into_iter().filter(|(_, path)| path.ends_with("mod.rs"));
    let mut count = 0;
    for (module, path) in pages {
        let text = fs::read_to_string(path).unwrap();
        let page: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("//!")).collect();
        for heading in [" # Vocabulary", " # When to use it, and when not"] {
            assert!(page.contains(&heading), "the page of {module} has no{heading}");
        }
        let mut examples = page.split(|line| line.starts_with(" ```")).skip(1);
        let first = examples.next().expect("it has an example");
        // The pattern's smallest agent, with the lines that readers do not see.
        let lines = first.iter().filter(|line| !line.trim().is_empty()).count();
        assert!((15..=25).contains(&lines), "the first example of {module} has {lines} lines");
        let runs =
            |line: &&str| [".run(&mut world", ".take_turn("].iter().any(|it| line.contains(it));
        assert!(first.iter().any(runs), "no agent lives in the first example of {module}");
        count += 1;
    }
    assert!(count >= 8, "{count} pages");
}

#[test]
#[cfg_attr(miri, ignore = "reads the source files")]
fn no_file_reads_a_clock_or_asks_the_system_for_randomness() {
    let asks =
        ["Instant", "SystemTime", "std::time", "RandomState", "available_parallelism", "getrandom"];
    for (module, file) in sources() {
        let text = fs::read_to_string(&file).expect("it is there");
        let found = asks.iter().find(|word| text.contains(**word));
        assert_eq!(found, None, "{module}");
    }
}

/// Those of a system differ in their last bits from those of another.
#[test]
#[cfg_attr(miri, ignore = "reads the source files")]
fn functions_of_floats_are_those_of_libm() {
    let asks = [
        ".exp()",
        ".exp2(",
        ".ln()",
        ".log2(",
        ".log10(",
        ".sin()",
        ".cos()",
        ".tan()",
        ".sin_cos()",
        ".powf(",
        ".powi(",
        ".cbrt()",
        ".hypot(",
        ".mul_add(",
        "from_angle(",
    ];
    for (module, file) in sources() {
        let text = fs::read_to_string(&file).expect("it is there");
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let found = code.filter(|line| asks.iter().any(|word| line.contains(word)));
        assert_eq!(found.collect::<Vec<_>>(), [""; 0], "{module}");
    }
}
