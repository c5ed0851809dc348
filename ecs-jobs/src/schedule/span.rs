//! The last run as spans of time, each with the reason for its delay.

use std::time::Duration;

use super::run::Schedule;
use super::timeline::Record;

/// A span of work of one thread in the last run. Made by [`Schedule::last_run`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Span {
    /// The system, as an index into [`Schedule::system_names`]; `None` for a sync point.
    pub system: Option<usize>,
    /// The number of the thread: the caller of `run` comes after the threads of the pool.
    pub thread: usize,
    /// The start, in nanoseconds since the start of the run.
    pub from_ns: u64,
    /// The end, in nanoseconds since the start of the run.
    pub to_ns: u64,
    /// The event that it had to wait for.
    pub delay: Delay,
}

/// The last event that a system waited for before it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delay {
    /// None: it was the first on its thread, and nothing had to come before it.
    Nothing,
    /// This system, which comes before it by declaration or because their accesses conflict.
    Order(usize),
    /// The previous stage, whose last system was this one. A sync point waits for it.
    Stage(usize),
    /// A sync point.
    SyncPoint,
    /// Its thread, which was busy with this system.
    Thread(usize),
}

impl Schedule {
    /// Returns the duration of the last run, up to the end of its last span. It requires the feature
    /// `timeline`, and costs less than [`last_run`](Self::last_run), which compares each pair of spans.
    ///
    /// ```
    /// use formic_jobs::prelude::*;
    /// use std::time::Duration;
    /// fn sleep() { std::thread::sleep(Duration::from_millis(2)) }
    /// let mut world = World::new();
    /// let mut schedule = Schedule::builder().add(sleep).build(&mut world)?;
    /// schedule.run(&mut world, &Pool::new(Threads::None)?);
    /// assert!(schedule.last_run_took() >= Duration::from_millis(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn last_run_took(&self) -> Duration {
        let mut end = 0;
        self.timeline.for_each(|_, record| {
            if record.run == self.timeline.run {
                end = end.max(record.to_ns);
            }
        });
        Duration::from_nanos(end.saturating_sub(self.timeline.began_ns))
    }

    /// Returns the spans of the last run, in the order in which they started. Systems that did not run
    /// have no span; [`explain_all`](Self::explain_all) gives the reason.
    ///
    /// It requires the feature `timeline`, and covers runs of up to 4096 systems and sync points per
    /// thread.
    ///
    /// ```
    /// use formic_jobs::prelude::*;
    /// fn think() {}
    /// let mut world = World::new();
    /// let mut schedule = Schedule::builder().add(think).build(&mut world)?;
    /// let pool = Pool::new(Threads::None)?;
    /// schedule.run(&mut world, &pool);
    /// schedule.run(&mut world, &pool);
    /// assert_eq!(schedule.last_run().len(), 1, "of the last one alone");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn last_run(&self) -> Vec<Span> {
        let (run, began) = (self.timeline.run, self.timeline.began_ns);
        let mut records = Vec::new();
        self.timeline.for_each(|thread, record| {
            if record.run == run {
                records.push((thread, record));
            }
        });
        // Stable: records that start in the same nanosecond on one thread stay in order.
        records.sort_by_key(|&(_, record)| record.from_ns);
        let parts = self.part_numbers();
        let span = |place: usize| {
            let (thread, Record { node, from_ns, to_ns, .. }) = records[place];
            let delay = self.delay(&records, place, &parts);
            // A host's clock may go back.
            let [from_ns, to_ns] = [from_ns, to_ns.max(from_ns)].map(|at| at.saturating_sub(began));
            Span { system: node, thread, from_ns, to_ns, delay }
        };
        (0..records.len()).map(span).collect()
    }

    /// The event that ended last among those that a record had to wait for. If several ended at once, an
    /// order is more informative than a stage, and a stage more than the thread.
    fn delay(&self, records: &[(usize, Record)], place: usize, parts: &[usize]) -> Delay {
        let (thread, record) = records[place];
        let mut latest = (0, 0, Delay::Nothing);
        for &(other_thread, other) in &records[..place] {
            let Some((rank, delay)) = self.reason((thread, record), (other_thread, other), parts)
            else {
                continue;
            };
            if (other.to_ns, rank) >= (latest.0, latest.1) {
                latest = (other.to_ns, rank, delay);
            }
        }
        latest.2
    }

    /// The reason why one record could not start before another had ended, if any, and its rank.
    fn reason(
        &self,
        (thread, record): (usize, Record),
        (other_thread, other): (usize, Record),
        parts: &[usize],
    ) -> Option<(u8, Delay)> {
        let Some(before) = other.node else { return Some((2, Delay::SyncPoint)) };
        let waits = |node: usize| self.plan.successors[before].contains(&node);
        let is_earlier_part = record.node.is_none_or(|node| parts[before] < parts[node]);
        if record.node.is_some_and(waits) {
            Some((3, Delay::Order(before)))
        } else if is_earlier_part {
            Some((2, Delay::Stage(before)))
        } else {
            (thread == other_thread).then_some((1, Delay::Thread(before)))
        }
    }

    /// For each node, the number of its part.
    fn part_numbers(&self) -> Vec<usize> {
        let mut numbers = vec![0; self.nodes.len()];
        for (number, part) in self.plan.parts.iter().enumerate() {
            part.nodes().iter().for_each(|&node| numbers[node] = number);
        }
        numbers
    }
}
