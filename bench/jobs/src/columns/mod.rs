//! The columns: one for each pool, one for a serial loop.

#[cfg(feature = "bevy")]
mod bevy_ecs;
#[cfg(feature = "bevy")]
mod bevy_tasks;
#[cfg(feature = "chili")]
mod chili;
mod formic;
#[cfg(feature = "rayon")]
mod rayon;
mod serial;

use crate::harness::Cell;
use crate::rows::Row;
use crate::signal::Signal;

/// One column of the table.
#[derive(Clone, Copy)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    /// Whether it counts where the best peer is asked for.
    pub(crate) is_peer: bool,
    /// The cell of a row. `None` where the library has nothing of the kind.
    pub(crate) cell: fn(&Row) -> Option<Cell>,
    /// A pool that a job can be pushed to from outside, with this many threads besides the caller.
    pub(crate) outside: fn(usize) -> Option<Box<dyn Outside>>,
}

/// A pool that takes jobs from a thread that is none of its own.
pub(crate) trait Outside {
    /// Pushes a job that rings `signal`, and calls `meanwhile` before it helps with anything.
    fn push(&self, signal: &'static Signal, meanwhile: &dyn Fn());
}

#[cfg(any(feature = "chili", feature = "bevy"))]
fn no_outside(_: usize) -> Option<Box<dyn Outside>> {
    None
}

/// All columns that were built, in the order of the table.
pub(crate) fn all() -> Vec<Column> {
    let column = |name, is_peer, cell, outside| Column { name, is_peer, cell, outside };
    vec![
        column("formic", false, formic::cell, formic::outside),
        column("serial", false, serial::cell, serial::outside),
        #[cfg(feature = "rayon")]
        column("rayon", true, rayon::cell, rayon::outside),
        #[cfg(feature = "chili")]
        column("chili", true, chili::cell, no_outside),
        #[cfg(feature = "bevy")]
        column("bevy_tasks", true, bevy_tasks::cell, bevy_tasks::outside),
        #[cfg(feature = "bevy")]
        column("bevy_multi", true, bevy_ecs::multi_threaded, no_outside),
        #[cfg(feature = "bevy")]
        column("bevy_single", true, bevy_ecs::single_threaded, no_outside),
    ]
}

/// Makes what exists once in a process, for the rows on this many threads.
pub(crate) fn prepare(threads: usize) {
    #[cfg(feature = "bevy")]
    bevy_ecs::prepare(threads);
    #[cfg(not(feature = "bevy"))]
    let _ = threads;
}

/// The peers that this build was made without.
pub(crate) fn left_out() -> Vec<&'static str> {
    let peers = ["rayon", "chili", "bevy_tasks", "bevy_multi", "bevy_single"];
    let built = all();
    peers.into_iter().filter(|peer| built.iter().all(|column| column.name != *peer)).collect()
}
