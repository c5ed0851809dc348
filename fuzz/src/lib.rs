//! The programs of the fuzz targets. The plain tests run them, too: on the corpus (`tests/corpus.rs`), and
//! on seeded random bytes (`ecs-core/tests/model`).

mod games;
mod nav;
mod ops;
mod snapshot;

/// A program of world operations, against a model of the world.
///
/// # Panics
/// Panics if the two disagree.
pub fn world_ops(bytes: &[u8]) {
    ops::run_bytes(bytes);
}

/// A program of mostly commands, in bursts on one entity and in runs over many, against the model,
/// which plays them one by one.
///
/// # Panics
/// Panics if the two disagree.
pub fn commands(bytes: &[u8]) {
    ops::run_command_bytes(bytes);
}

/// A program of mostly queries: of every shape, by type and by id, claims, and bits that are
/// flipped meanwhile; against the model.
///
/// # Panics
/// Panics if the two disagree.
pub fn queries(bytes: &[u8]) {
    ops::run_query_bytes(bytes);
}

/// A program of mostly relations, watchers, and entities that have to be cleaned up, against the
/// model.
///
/// # Panics
/// Panics if the two disagree.
pub fn society(bytes: &[u8]) {
    ops::run_society_bytes(bytes);
}

/// A program of world operations with snapshots in it, that go back, that go on in another world,
/// and that was altered; and these bytes as a snapshot, as the body of one, and as changes
/// to a good one.
///
/// # Panics
/// Panics if world and model disagree, where something is restored that makes a world out of order,
/// or where a failure changes the world.
pub fn snapshot(bytes: &[u8]) {
    ops::run_snapshot_bytes(bytes);
    snapshot::run(bytes);
}

/// A game of systems of many kinds, at rates and under conditions, with paths, plans and random
/// streams, that is saved at several ticks: each save is loaded into a world and a schedule that were
/// built anew, and goes on with another number of threads.
///
/// # Panics
/// Panics if a loaded game is another one than the game that was saved.
pub fn games(bytes: &[u8]) {
    games::run(bytes);
}

/// A program of watchers that change the world while they are told of a change, or panic.
///
/// # Panics
/// Panics if the world is not in order after a step, or a value is torn, lost or dropped twice.
pub fn wild(bytes: &[u8]) {
    ops::run_wild_bytes(bytes);
}

/// Bytes as a map and as a scenario file.
///
/// # Panics
/// Panics if a loader does, or takes what it cannot write, or blames a line that is not there.
pub fn nav_load(bytes: &[u8]) {
    nav::load::run(bytes);
}

/// A program of edits on a small grid, its regions against fresh floods.
///
/// # Panics
/// Panics if the two disagree.
pub fn nav_edits(bytes: &[u8]) {
    nav::edits::run(bytes);
}

/// A program of edits and queries on a small grid: jump points and A* against Dijkstra.
///
/// # Panics
/// Panics if they disagree.
pub fn jps_vs_dijkstra(bytes: &[u8]) {
    nav::paths::run(bytes);
}

/// Bytes from a seed, the same for ever.
#[must_use]
pub fn random_bytes(seed: u64, len: usize) -> Vec<u8> {
    ops::random_bytes(seed, len)
}
