//! Replays the corpus of every target, on stable and without a fuzzer.

use std::fs;
use std::path::Path;

/// The files of a target's corpus, of which there are at least so many.
fn corpus(target: &str, count_min: usize) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let mut paths: Vec<_> = fs::read_dir(folder)
        .expect("the corpus is in the tree")
        .map(|entry| entry.expect("the entry is readable").path())
        .collect();
    paths.sort();
    assert!(paths.len() >= count_min, "a corpus of {} files has been lost", paths.len());
    let read = |path: &std::path::PathBuf| {
        println!("{}", path.display());
        fs::read(path).expect("the file is readable")
    };
    paths.iter().map(read).collect()
}

#[test]
fn snapshot_holds_on_every_file_of_its_corpus() {
    corpus("snapshot", 16).iter().for_each(|bytes| formic_fuzz::snapshot(bytes));
}

#[test]
fn snapshot_holds_on_random_changes() {
    for seed in 0..400 {
        let len = usize::try_from(seed % 24).expect("small") * 4;
        formic_fuzz::snapshot(&formic_fuzz::random_bytes(seed, len));
    }
}

#[test]
fn world_ops_holds_on_every_file_of_its_corpus() {
    corpus("world_ops", 24).iter().for_each(|bytes| formic_fuzz::world_ops(bytes));
}

#[test]
fn commands_holds_on_every_file_of_its_corpus() {
    corpus("commands", 24).iter().for_each(|bytes| formic_fuzz::commands(bytes));
}

#[test]
fn society_holds_on_every_file_of_its_corpus() {
    corpus("society", 24).iter().for_each(|bytes| formic_fuzz::society(bytes));
}

#[test]
fn wild_holds_on_every_file_of_its_corpus() {
    corpus("wild", 24).iter().for_each(|bytes| formic_fuzz::wild(bytes));
}

#[test]
fn games_holds_on_every_file_of_its_corpus() {
    corpus("games", 24).iter().for_each(|bytes| formic_fuzz::games(bytes));
}

#[test]
fn games_holds_on_random_bytes() {
    for seed in 0..150 {
        formic_fuzz::games(&formic_fuzz::random_bytes(seed, 128));
    }
}

#[test]
fn queries_holds_on_every_file_of_its_corpus() {
    corpus("queries", 24).iter().for_each(|bytes| formic_fuzz::queries(bytes));
}

#[test]
fn nav_load_holds_on_every_file_of_its_corpus() {
    corpus("nav_load", 8).iter().for_each(|bytes| formic_fuzz::nav_load(bytes));
}

#[test]
fn nav_edits_holds_on_every_file_of_its_corpus() {
    corpus("nav_edits", 16).iter().for_each(|bytes| formic_fuzz::nav_edits(bytes));
}

#[test]
fn jps_vs_dijkstra_holds_on_every_file_of_its_corpus() {
    corpus("jps_vs_dijkstra", 16).iter().for_each(|bytes| formic_fuzz::jps_vs_dijkstra(bytes));
}

#[test]
fn navigation_holds_on_random_programs() {
    for seed in 0..150 {
        let len = usize::try_from(seed % 30).expect("small") * 16;
        let bytes = formic_fuzz::random_bytes(seed, len);
        formic_fuzz::nav_load(&bytes);
        formic_fuzz::nav_edits(&bytes);
        formic_fuzz::jps_vs_dijkstra(&bytes);
    }
}
