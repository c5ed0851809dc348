//! Replays the corpus of every target, on stable and without a fuzzer.

use std::fs;
use std::path::Path;

fn replay(target: &str, run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let mut paths: Vec<_> = fs::read_dir(folder)
        .expect("the corpus is in the tree")
        .map(|entry| entry.expect("the entry is readable").path())
        .collect();
    paths.sort();
    assert!(paths.len() >= 24, "a corpus of {} files has been lost", paths.len());
    for path in paths {
        println!("{}", path.display());
        run(&fs::read(&path).expect("the file is readable"));
    }
}

#[test]
fn world_ops_holds_on_every_file_of_its_corpus() {
    replay("world_ops", formic_fuzz::world_ops);
}

#[test]
fn commands_holds_on_every_file_of_its_corpus() {
    replay("commands", formic_fuzz::commands);
}
