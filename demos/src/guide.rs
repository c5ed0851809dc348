//! The chapters of the guide under `docs/guide`, compiled and run as tests. The README and the pages that
//! use the facade are tests of `formic`.

/// Declares the chapters in order; `docs/guide/src/SUMMARY.md` lists the same ones.
macro_rules! chapters {
    ($($name:ident = $file:literal),* $(,)?) => {
        $(#[doc = include_str!(concat!("../../docs/guide/src/", $file))] mod $name {})*
    };
}

chapters! {
    world = "01_world.md",
    queries = "02_queries.md",
    chunks = "03_chunks.md",
    enableable = "04_enableable.md",
    commands = "05_commands.md",
    systems = "06_systems.md",
    threads = "07_threads.md",
    minds = "08_minds.md",
    ways = "09_paths.md",
    swarm = "10_swarm.md",
    saving = "11_saving.md",
    events = "events.md",
    differ = "differ.md",
}
