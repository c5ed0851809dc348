//! The timeline: the system that ran on each thread, and when.
//!
//! With the feature `timeline` each thread writes what it did into a ring of its own, and
//! [`Schedule::trace_json`](super::Schedule::trace_json) writes that down. The time is that of the
//! pool's clock.

#[cfg(feature = "timeline")]
pub(super) use self::kept::{Record, Timeline};
#[cfg(not(feature = "timeline"))]
pub(super) use self::none::Timeline;

#[cfg(not(feature = "timeline"))]
mod none {
    use crate::pool::Pool;
    use crate::schedule::node::Outcome;

    /// No records are kept.
    #[derive(Debug)]
    pub(in crate::schedule) struct Timeline;

    #[expect(clippy::unused_self, reason = "there is nothing to keep")]
    impl Timeline {
        pub(in crate::schedule) const IS_KEPT: bool = false;

        pub(in crate::schedule) const fn new() -> Self {
            Self
        }

        pub(in crate::schedule) fn begin_run(&self, _: &Pool, _: u64) {}

        pub(in crate::schedule) fn prepare(&self, _: &Pool) {}

        #[inline]
        pub(in crate::schedule) fn note_node(&self, _: usize, _: usize, _: Outcome, _: [u64; 2]) {}

        pub(in crate::schedule) fn note_sync(&self, _: usize, _: [u64; 2]) {}
    }
}

#[cfg(feature = "timeline")]
mod kept {
    use crate::pool::Pool;
    use crate::schedule::node::Outcome;
    use crate::sync::Mutex;

    /// How many records a thread keeps: the newest.
    const RECORDS_MAX: usize = 4096;

    /// The records of a schedule: a ring for each thread. Only its thread writes to it, so its lock
    /// is free.
    #[derive(Debug)]
    pub(in crate::schedule) struct Timeline {
        lanes: Vec<Mutex<Ring>>,
        /// The number of the last run, from 1 on, and when it began.
        pub(in crate::schedule) run: u64,
        pub(in crate::schedule) began_ns: u64,
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
    pub(in crate::schedule) struct Record {
        /// Which run of the schedule it was: clocks of the host may stand still, and those of two
        /// pools differ.
        pub(in crate::schedule) run: u64,
        pub(in crate::schedule) tick: u64,
        /// `None` for a sync point.
        pub(in crate::schedule) node: Option<usize>,
        pub(in crate::schedule) from_ns: u64,
        pub(in crate::schedule) to_ns: u64,
    }

    impl Timeline {
        /// Whether records are kept.
        pub(in crate::schedule) const IS_KEPT: bool = true;

        pub(in crate::schedule) const fn new() -> Self {
            Self { lanes: Vec::new(), run: 0, began_ns: 0, tick: 0 }
        }

        pub(in crate::schedule) fn begin_run(&mut self, pool: &Pool, tick: u64) {
            self.run += 1;
            self.tick = tick;
            self.began_ns = pool.now_ns();
        }

        /// Makes room for the threads of a pool; a run that is stepped through may go on on another
        /// one.
        pub(in crate::schedule) fn prepare(&mut self, pool: &Pool) {
            while self.lanes.len() < pool.parallelism() {
                let records = Vec::with_capacity(RECORDS_MAX);
                self.lanes.push(Mutex::new(Ring { records, oldest: 0 }));
            }
        }

        /// What a node did on a thread, from when to when.
        pub(in crate::schedule) fn note_node(
            &self,
            lane: usize,
            node: usize,
            outcome: Outcome,
            times: [u64; 2],
        ) {
            if outcome == Outcome::Ran {
                self.note(lane, Some(node), times);
            }
        }

        /// A sync point.
        pub(in crate::schedule) fn note_sync(&self, lane: usize, times: [u64; 2]) {
            self.note(lane, None, times);
        }

        fn note(&self, lane: usize, node: Option<usize>, [from_ns, to_ns]: [u64; 2]) {
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
        pub(in crate::schedule) fn for_each(&self, mut visit: impl FnMut(usize, Record)) {
            for (lane, ring) in self.lanes.iter().enumerate() {
                let ring = ring.lock();
                let (newer, older) = ring.records.split_at(ring.oldest);
                older.iter().chain(newer).for_each(|&record| visit(lane, record));
            }
        }
    }
}
