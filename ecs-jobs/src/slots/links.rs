//! Who waits for whom: adding a job after others, and ending one.

use super::slot::{DEPENDENCIES_MAX, Edge};
use super::{Claimed, JobId, Kind, Slots, State};
use crate::stored_job::StoredJob;
use crate::sync::Ordering;

/// The end of the list of joints that `end` keeps.
const NONE: u32 = u32::MAX;

/// What has become of a job that was added.
#[derive(Debug)]
pub(crate) enum Added {
    /// It waits for nothing, and is the caller's to publish or to run.
    Claimed(Claimed),
    /// It waits, and is the business of who ends the last of what it waits for.
    Waiting(JobId),
}

impl Added {
    pub(crate) fn id(&self) -> JobId {
        match self {
            Self::Claimed(claimed) => claimed.id(),
            Self::Waiting(id) => *id,
        }
    }
}

impl Slots {
    /// Adds a job after others.
    ///
    /// # Panics
    ///
    /// If there are too many unfinished jobs. The job is dropped then.
    pub(crate) fn add<D>(&self, job: Option<StoredJob>, kind: Kind, dependencies: &[D]) -> Added
    where
        D: Copy + Into<JobId>,
    {
        let mut few = [JobId { index: 0, generation: 0 }; DEPENDENCIES_MAX];
        if dependencies.len() <= DEPENDENCIES_MAX {
            few.iter_mut().zip(dependencies).for_each(|(id, &of)| *id = of.into());
            return self.add_after_few(job, kind, &few[..dependencies.len()]);
        }
        // A tree of joints: jobs without a closure, that wait for a few each.
        let shares = dependencies.chunks(dependencies.len().div_ceil(DEPENDENCIES_MAX));
        let count = shares.len();
        few.iter_mut().zip(shares).for_each(|(joint, share)| *joint = self.join_up(share));
        self.add_after_few(job, kind, &few[..count])
    }

    /// A job that is done when all of `some` are, or one of them if there is but
    /// one.
    pub(crate) fn join_up<D: Copy + Into<JobId>>(&self, some: &[D]) -> JobId {
        if let [one] = some {
            return (*one).into();
        }
        match self.add(None, Kind::Joint, some) {
            Added::Waiting(id) => id,
            Added::Claimed(joint) => {
                let id = joint.id();
                let failed = self.note_if_failed(&joint);
                // Nobody knows of it yet.
                self.end(joint, failed, |_| (), |_| ());
                id
            }
        }
    }

    fn add_after_few(&self, job: Option<StoredJob>, kind: Kind, dependencies: &[JobId]) -> Added {
        let claimed = self.take(job);
        let id = claimed.id();
        let slot = self.get(id);
        let count = u32::try_from(dependencies.len()).expect("a handful");
        // Relaxed: the state, the links or the queue publish these.
        slot.kind.store(kind.number(), Ordering::Relaxed);
        slot.failed_by.store(0, Ordering::Relaxed);
        if count == 0 {
            return Added::Claimed(claimed);
        }
        slot.pending.store(count, Ordering::Relaxed);
        slot.dependency_count.store(count, Ordering::Relaxed);
        for (cell, dependency) in slot.dependencies.iter().zip(dependencies) {
            // Release: who reads this in place of an earlier job's sees that the
            // earlier one has ended (`Slot::dependency`).
            cell.store(dependency.to_bits(), Ordering::Release);
        }
        slot.set_state(id, State::Waiting);
        // From the first link on others count the job down. The number is right
        // from the start, and what has ended already is taken off at the end.
        let mut ended = 0;
        for (which, &dependency) in dependencies.iter().enumerate() {
            let edge = Edge::new(id.index, which);
            if !self.get(dependency).link(dependency, edge, &slot.next_edges[which]) {
                ended += 1;
                if self.failures.panic_of(dependency).is_some() {
                    slot.failed_by.store(dependency.to_bits(), Ordering::Relaxed);
                }
            }
        }
        if ended > 0 && slot.count_down(ended) {
            Added::Claimed(claimed)
        } else {
            Added::Waiting(id)
        }
    }

    /// Ends a job, and hands out the jobs that are ready for it, each to be
    /// published or run. `awaited` is called with the jobs that somebody sleeps
    /// for.
    pub(crate) fn end(
        &self,
        claimed: Claimed,
        failed: bool,
        mut ready: impl FnMut(Claimed),
        mut awaited: impl FnMut(JobId),
    ) {
        // Joints that are ready, linked through their slots.
        let mut joints = NONE;
        let mut next = Some((claimed, failed));
        while let Some((claimed, failed)) = next.take() {
            let id = claimed.id();
            let (mut edge, is_awaited) = self.get(id).end(id);
            while let Some((index, which)) = edge.parts() {
                let slot = self.at(index);
                // Before the decrement: after it the job may run, end, and be
                // another one.
                edge = slot.next_edge(which);
                if failed {
                    slot.failed_by.store(id.to_bits(), Ordering::Relaxed);
                }
                if !slot.count_down(1) {
                    continue;
                }
                // Relaxed: came with the decrement.
                if slot.kind.load(Ordering::Relaxed) == Kind::Joint.number() {
                    slot.next_free.store(joints, Ordering::Relaxed);
                    joints = index;
                } else {
                    ready(Claimed(slot.id(index)));
                }
            }
            self.give_back(id);
            if is_awaited {
                awaited(id);
            }
            if joints != NONE {
                let slot = self.at(joints);
                let joint = Claimed(slot.id(joints));
                joints = slot.next_free.load(Ordering::Relaxed);
                let failed = self.note_if_failed(&joint);
                next = Some((joint, failed));
            }
        }
    }

    /// Sees to it that the job is dropped instead of run, and so are those after it.
    pub(crate) fn cancel(&self, claimed: &Claimed) {
        // Its own id leads to no panic, which is what there is to tell.
        let id = claimed.id();
        self.get(id).failed_by.store(id.to_bits(), Ordering::Relaxed);
    }

    /// Whether a job that has not run is not to run because of what it depends
    /// on; if so, that is noted of the job itself.
    pub(crate) fn note_if_failed(&self, claimed: &Claimed) -> bool {
        // Relaxed: came with the last decrement, or is the caller's own.
        let cause = self.get(claimed.id()).failed_by.load(Ordering::Relaxed);
        let cause = JobId::from_bits(cause);
        if cause.is_some() {
            self.failures.note_cancelled(claimed.id(), cause);
        }
        cause.is_some()
    }
}
