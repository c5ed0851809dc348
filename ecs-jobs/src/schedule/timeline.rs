//! The timeline: the system that ran on each thread, and when.
//!
//! With the feature `timeline` each thread writes what it did into a ring of its own, and
//! [`Schedule::trace_json`](super::Schedule::trace_json) writes that down. The time is that of the
//! pool's clock.

use super::node::Outcome;
use crate::pool::Pool;

#[cfg(feature = "timeline")]
pub(super) use self::kept::{Lanes, Record};

/// The records of a schedule, if they are kept.
#[derive(Debug)]
pub(super) struct Timeline {
    #[cfg(feature = "timeline")]
    pub(super) lanes: Lanes,
    /// The number of the last run, from 1 on, and when it began.
    #[cfg(feature = "timeline")]
    pub(super) run: u64,
    #[cfg(feature = "timeline")]
    pub(super) began_ns: u64,
}

impl Timeline {
    /// Whether records are kept.
    pub(super) const IS_KEPT: bool = cfg!(feature = "timeline");

    pub(super) fn new() -> Self {
        Self {
            #[cfg(feature = "timeline")]
            lanes: Lanes::default(),
            #[cfg(feature = "timeline")]
            run: 0,
            #[cfg(feature = "timeline")]
            began_ns: 0,
        }
    }

    pub(super) fn begin_run(&mut self, pool: &Pool) {
        #[cfg(feature = "timeline")]
        {
            self.run += 1;
            self.began_ns = pool.now_ns();
        }
        self.prepare(pool);
    }

    /// Makes room for the threads of a pool; a run that is stepped through may go on on another one.
    #[cfg_attr(
        not(feature = "timeline"),
        expect(clippy::unused_self, reason = "there is nothing to keep")
    )]
    pub(super) fn prepare(&mut self, pool: &Pool) {
        #[cfg(feature = "timeline")]
        self.lanes.prepare(pool.parallelism());
        _ = pool;
    }

    /// What a node did on a thread.
    #[cfg_attr(
        not(feature = "timeline"),
        expect(clippy::unused_self, reason = "there is nothing to keep")
    )]
    #[inline]
    pub(super) fn note_node(&self, lane: usize, node: usize, outcome: Outcome, from: u64, to: u64) {
        #[cfg(feature = "timeline")]
        if outcome == Outcome::Ran {
            self.lanes
                .note(lane, Record { run: self.run, node: Some(node), from_ns: from, to_ns: to });
        }
        _ = (lane, node, outcome, from, to);
    }

    /// A sync point.
    #[cfg_attr(
        not(feature = "timeline"),
        expect(clippy::unused_self, reason = "there is nothing to keep")
    )]
    pub(super) fn note_sync(&self, lane: usize, from: u64, to: u64) {
        #[cfg(feature = "timeline")]
        self.lanes.note(lane, Record { run: self.run, node: None, from_ns: from, to_ns: to });
        _ = (lane, from, to);
    }
}

#[cfg(feature = "timeline")]
mod kept {
    use crate::sync::Mutex;

    /// How many records a thread keeps: the newest.
    const RECORDS_MAX: usize = 4096;

    /// A ring of records for each thread. Only its thread writes to it, so its lock is free.
    #[derive(Debug, Default)]
    pub(in crate::schedule) struct Lanes(Vec<Mutex<Ring>>);

    #[derive(Debug)]
    struct Ring {
        records: Vec<Record>,
        /// Where the oldest is, once all are in use.
        oldest: usize,
    }

    /// One thing that a thread did.
    #[derive(Clone, Copy, Debug)]
    pub(in crate::schedule) struct Record {
        /// Which run of the schedule it was: clocks of the host may stand still, and those of two
        /// pools differ.
        pub(in crate::schedule) run: u64,
        /// `None` for a sync point.
        pub(in crate::schedule) node: Option<usize>,
        pub(in crate::schedule) from_ns: u64,
        pub(in crate::schedule) to_ns: u64,
    }

    impl Lanes {
        /// Makes room for so many threads.
        pub(super) fn prepare(&mut self, lane_count: usize) {
            while self.0.len() < lane_count {
                let records = Vec::with_capacity(RECORDS_MAX);
                self.0.push(Mutex::new(Ring { records, oldest: 0 }));
            }
        }

        pub(super) fn note(&self, lane: usize, record: Record) {
            let mut ring = self.0[lane].lock();
            let Ring { records, oldest } = &mut *ring;
            if records.len() < RECORDS_MAX {
                records.push(record);
            } else {
                records[*oldest] = record;
                *oldest = (*oldest + 1) % RECORDS_MAX;
            }
        }

        /// Calls `visit` with every record and the number of its thread, the oldest first.
        pub(in crate::schedule) fn for_each(&self, mut visit: impl FnMut(usize, Record)) {
            for (lane, ring) in self.0.iter().enumerate() {
                let ring = ring.lock();
                let (newer, older) = ring.records.split_at(ring.oldest);
                older.iter().chain(newer).for_each(|&record| visit(lane, record));
            }
        }
    }
}
