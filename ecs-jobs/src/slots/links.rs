//! Links between jobs: adding a job after others, and ending a job.

use super::slot::{DEPENDENCIES_MAX, Edge};
use super::{Claimed, JobId, JobKind, JobSlot, Slots, State};
use crate::sync::{Ordering, needed};

/// The end of the list of joints that `end` keeps.
const NONE: u32 = u32::MAX;

impl Slots {
    /// Reduces any number of jobs to as many as a slot has room for, which are done when all of them are:
    /// the jobs themselves, or joints, which are jobs without a closure that wait for a few jobs each, in
    /// a tree.
    ///
    /// # Panics
    ///
    /// Panics if there are too many unfinished jobs.
    pub(crate) fn reduce<D: Copy + Into<JobId>>(
        &self,
        many: &[D],
    ) -> ([JobId; DEPENDENCIES_MAX], usize) {
        let mut few = [JobId::new(0, 1); DEPENDENCIES_MAX];
        if many.len() <= DEPENDENCIES_MAX {
            few.iter_mut().zip(many).for_each(|(id, &of)| *id = of.into());
            return (few, many.len());
        }
        let shares = many.chunks(many.len().div_ceil(DEPENDENCIES_MAX));
        let count = shares.len();
        few.iter_mut().zip(shares).for_each(|(joint, share)| *joint = self.combine(share));
        (few, count)
    }

    /// A job that is done when all of `some` are; the job itself if there is only one.
    pub(crate) fn combine<D: Copy + Into<JobId>>(&self, some: &[D]) -> JobId {
        if let [one] = some {
            return (*one).into();
        }
        let (few, count) = self.reduce(some);
        let joint = self.take(JobKind::Joint);
        let id = joint.id();
        if let Some(joint) = self.add(joint, JobKind::Joint, &few[..count]) {
            self.note_if_failed(&joint);
            self.end_unknown(joint);
        }
        id
    }

    /// Adds a job after others, with its closure in its slot. Returns the job if it waits for nothing: the
    /// caller publishes or runs it. Otherwise the thread that ends the last of its dependencies does.
    pub(crate) fn add<'slots>(
        &'slots self,
        claimed: Claimed<'slots>,
        kind: JobKind,
        after: &[JobId],
    ) -> Option<Claimed<'slots>> {
        let (id, slot) = (claimed.id, claimed.slot());
        // Relaxed: the state, the links or the queue publish these.
        slot.kind.store(kind.number(), Ordering::Relaxed);
        slot.failed_by.store(0, Ordering::Relaxed);
        let mut count = 0;
        for &dependency in after {
            if self.is_done(dependency) {
                self.fail_with(slot, dependency);
            } else {
                // Release: a thread that reads this in place of an earlier job's dependency sees that the
                // earlier job has ended (`JobSlot::dependency`).
                let order = needed("dependency_store", Ordering::Release);
                slot.dependencies[count].store(dependency.to_bits(), order);
                count += 1;
            }
        }
        if count == 0 {
            return Some(claimed);
        }
        let pending = u32::try_from(count).expect("a handful");
        slot.pending.store(pending, Ordering::Relaxed);
        slot.dependency_count.store(pending, Ordering::Relaxed);
        slot.set_state(id, State::Waiting);
        // From the first link on, other threads decrement the count. It is right from the start;
        // dependencies that have ended meanwhile are subtracted at the end.
        let mut ended = 0;
        for which in 0..count {
            let bits = slot.dependencies[which].load(Ordering::Relaxed);
            let dependency = JobId::from_bits(bits).expect("it was stored above");
            let edge = Edge::new(id.index(), which);
            if !self.get(dependency).link(dependency, edge, &slot.next_edges[which]) {
                self.fail_with(slot, dependency);
                ended += 1;
            }
        }
        (ended > 0 && slot.count_down(ended)).then_some(claimed)
    }

    /// Notes in a slot that a dependency has failed, if it has.
    #[inline]
    fn fail_with(&self, slot: &JobSlot, dependency: JobId) {
        if self.failures.panic_of(dependency).is_some() {
            slot.failed_by.store(dependency.to_bits(), Ordering::Relaxed);
        }
    }

    /// Ends a job, and hands out the jobs that become ready, each to be published or run. Calls `awaited`
    /// with the jobs that a thread sleeps for.
    pub(crate) fn end<'slots>(
        &'slots self,
        claimed: Claimed<'slots>,
        failed: bool,
        mut ready: impl FnMut(Claimed<'slots>),
        mut awaited: impl FnMut(JobId),
    ) {
        // The joints that are ready, linked through their slots.
        let mut joints = NONE;
        let mut next = Some((claimed, failed));
        while let Some((claimed, failed)) = next.take() {
            let id = claimed.id;
            let (mut edge, is_awaited) = claimed.slot().end(id);
            while let Some((index, which)) = edge.parts() {
                let slot = self.at(index);
                // Before the decrement: after it the job may run, end, and be replaced by another one.
                edge = slot.next_edge(which);
                if failed {
                    slot.failed_by.store(id.to_bits(), Ordering::Relaxed);
                }
                if !slot.count_down(1) {
                    continue;
                }
                // Relaxed: made visible by the decrement.
                if slot.kind.load(Ordering::Relaxed) == JobKind::Joint.number() {
                    slot.next_joint.store(joints, Ordering::Relaxed);
                    joints = index;
                } else {
                    ready(Claimed::new(slot.id(index), &slot));
                }
            }
            self.give_back(claimed);
            if is_awaited {
                awaited(id);
            }
            if joints != NONE {
                let slot = self.at(joints);
                let id = slot.id(joints);
                joints = slot.next_joint.load(Ordering::Relaxed);
                let joint = Claimed::new(id, &slot);
                let failed = self.note_if_failed(&joint);
                next = Some((joint, failed));
            }
        }
    }

    /// Ends a job that no other thread knows, so that no job waits for it.
    pub(crate) fn end_unknown(&self, claimed: Claimed<'_>) {
        claimed.slot().end_unknown(claimed.id);
        self.give_back(claimed);
    }

    /// Whether a job that has not run must not run because of its dependencies. If so, the failure is
    /// also recorded for the job itself.
    #[inline]
    pub(crate) fn note_if_failed(&self, claimed: &Claimed<'_>) -> bool {
        // Relaxed: made visible by the last decrement, or written by the caller itself.
        let failed_by = JobId::from_bits(claimed.slot().failed_by.load(Ordering::Relaxed));
        // A job that was cancelled by a call is its own cause: there is no panic to report.
        let cancelled = claimed.slot().is_cancelled(claimed.id).then_some(claimed.id);
        let cause = failed_by.or(cancelled);
        if let Some(cause) = cause {
            self.failures.note_cancelled(claimed.id(), cause);
        }
        cause.is_some()
    }
}
