//! The timeline: the system that ran on each thread, and when.
//!
//! With the feature `timeline` each thread writes what it did into a ring of its own, and
//! [`Schedule::trace_json`](super::Schedule::trace_json) writes that down. The time is that of the
//! pool's clock. Without it nothing is written.
#![cfg_attr(
    not(feature = "timeline"),
    expect(dead_code, reason = "no records are read where none are kept")
)]

use super::node::Outcome;
use crate::pool::Pool;
use crate::sync::Mutex;

/// How many records a thread keeps: the newest.
const RECORDS_MAX: usize = 4096;

/// The records of a schedule: a ring for each thread. Only its thread writes to it, so its lock
/// is free.
#[derive(Debug)]
pub(super) struct Timeline {
    lanes: Vec<Mutex<Ring>>,
    /// The number of the last run, from 1 on, and when it began.
    pub(super) run: u64,
    pub(super) began_ns: u64,
    /// The tick that it was.
    tick: u64,
}

#[derive(Debug)]
struct Ring {
    records: Vec<Record>,
    /// Where the oldest is, once all are in use.
    oldest: usize,
}

/// One thing that a thread did.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    /// Which run of the schedule it was: clocks of the host may stand still, and those of two
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
        Self { lanes: Vec::new(), run: 0, began_ns: 0, tick: 0 }
    }

    pub(super) fn begin_run(&mut self, pool: &Pool, tick: u64) {
        if Self::IS_KEPT {
            self.run += 1;
            self.tick = tick;
            self.began_ns = pool.now_ns();
        }
    }

    /// Makes room for the threads of a pool; a run that is stepped through may go on on another
    /// one.
    pub(super) fn prepare(&mut self, pool: &Pool) {
        while Self::IS_KEPT && self.lanes.len() < pool.parallelism() {
            let records = Vec::with_capacity(RECORDS_MAX);
            self.lanes.push(Mutex::new(Ring { records, oldest: 0 }));
        }
    }

    /// What a node did on a thread, from when to when.
    pub(super) fn note_node(&self, lane: usize, node: usize, outcome: Outcome, times: [u64; 2]) {
        if outcome == Outcome::Ran {
            self.note(lane, Some(node), times);
        }
    }

    pub(super) fn note(&self, lane: usize, node: Option<usize>, [from_ns, to_ns]: [u64; 2]) {
        if !Self::IS_KEPT {
            return;
        }
        let record = Record { run: self.run, tick: self.tick, node, from_ns, to_ns };
        let Ring { records, oldest } = &mut *self.lanes[lane].lock();
        if records.len() < RECORDS_MAX {
            records.push(record);
        } else {
            records[*oldest] = record;
            *oldest = (*oldest + 1) % RECORDS_MAX;
        }
    }

    /// Calls `visit` with every record and the number of its thread, the oldest first.
    pub(super) fn for_each(&self, mut visit: impl FnMut(usize, Record)) {
        for (lane, ring) in self.lanes.iter().enumerate() {
            let ring = ring.lock();
            let (newer, older) = ring.records.split_at(ring.oldest);
            older.iter().chain(newer).for_each(|&record| visit(lane, record));
        }
    }
}
