//! The timeline: the systems that ran on each thread, and when.
//!
//! With the feature `timeline` each thread records its work in a ring buffer of its own, and
//! [`Schedule::trace_json`](super::Schedule::trace_json) writes these out. The time is that of the pool's
//! clock. Without the feature nothing is recorded.
#![cfg_attr(
    not(feature = "timeline"),
    expect(dead_code, reason = "no records are read where none are kept")
)]

use std::collections::VecDeque;

use super::node::Outcome;
use crate::pool::Pool;
use crate::sync::Mutex;

/// The number of records that a thread keeps: the newest.
const RECORDS_MAX: usize = 4096;

/// The records of a schedule: a ring buffer for each thread. Only its thread writes to it, so its lock is
/// free.
#[derive(Debug)]
pub(super) struct Timeline {
    tracks: Vec<Mutex<VecDeque<Record>>>,
    /// The number of the last run, counted from 1, and its start.
    pub(super) run: u64,
    pub(super) began_ns: u64,
    /// The tick of that run.
    tick: u64,
}

/// A record of work on a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    /// The run of the schedule that it belongs to: clocks of the host may stand still, and those of two
    /// pools differ.
    pub(super) run: u64,
    pub(super) tick: u64,
    /// `None` for a sync point.
    pub(super) node: Option<usize>,
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
}

impl Timeline {
    /// Whether records are kept.
    pub(super) const IS_KEPT: bool = cfg!(feature = "timeline");

    pub(super) const fn new() -> Self {
        Self { tracks: Vec::new(), run: 0, began_ns: 0, tick: 0 }
    }

    pub(super) fn begin_run(&mut self, pool: &Pool, tick: u64) {
        if Self::IS_KEPT {
            self.run += 1;
            self.tick = tick;
            self.began_ns = pool.now_ns();
        }
    }

    /// Makes room for the threads of a pool. A run that is stepped through may continue on another pool.
    pub(super) fn prepare(&mut self, pool: &Pool) {
        while Self::IS_KEPT && self.tracks.len() < pool.parallelism() {
            self.tracks.push(Mutex::new(VecDeque::with_capacity(RECORDS_MAX)));
        }
    }

    /// Records the turn of a node on a thread, with start and end.
    pub(super) fn note_node(&self, track: usize, node: usize, outcome: Outcome, times: [u64; 2]) {
        if outcome == Outcome::Ran {
            self.note(track, Some(node), times);
        }
    }

    pub(super) fn note(&self, track: usize, node: Option<usize>, [from_ns, to_ns]: [u64; 2]) {
        if !Self::IS_KEPT {
            return;
        }
        let record = Record { run: self.run, tick: self.tick, node, from_ns, to_ns };
        let mut records = self.tracks[track].lock();
        if records.len() == RECORDS_MAX {
            records.pop_front();
        }
        records.push_back(record);
    }

    /// Calls `visit` with every record and the number of its thread, the oldest first.
    pub(super) fn for_each(&self, mut visit: impl FnMut(usize, Record)) {
        for (track, records) in self.tracks.iter().enumerate() {
            records.lock().iter().for_each(|&record| visit(track, record));
        }
    }
}
