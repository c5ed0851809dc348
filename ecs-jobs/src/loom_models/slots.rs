//! The slots of jobs with handles: which thread gets them, and what it sees.

#![expect(unsafe_code, reason = "the cells that the models guard go from thread to thread")]

use super::explore;
use crate::slots::{Claimed, JobId, JobKind, Ledger, Slots};
use crate::stored_job::StoredJob;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;

/// The effect of a job: a write that must happen before each read.
#[derive(Clone)]
pub(super) struct Deed(Arc<UnsafeCell<()>>);

// SAFETY: loom sees each access to the cell, and whether another one overlaps.
unsafe impl Send for Deed {}
// SAFETY: loom sees each access to the cell, and whether another one overlaps.
unsafe impl Sync for Deed {}

impl Deed {
    pub(super) fn new() -> Self {
        Self(Arc::new(UnsafeCell::new(())))
    }

    pub(super) fn act(&self) {
        self.0.with_mut(|_| ());
    }

    pub(super) fn see(&self) {
        self.0.with(|_| ());
    }
}

pub(super) fn added<'slots>(slots: &'slots Slots, after: &[JobId]) -> Option<Claimed<'slots>> {
    add(slots, JobKind::Anywhere, after, || ())
}

pub(super) fn add<'slots>(
    slots: &'slots Slots,
    kind: JobKind,
    after: &[JobId],
    job: impl FnOnce() + Send + 'static,
) -> Option<Claimed<'slots>> {
    let mut claimed = slots.take(kind);
    claimed.with_job(|cell| cell.put(|&()| job()));
    slots.add(claimed, kind, after)
}

/// Adds a job after others that have not ended.
pub(super) fn waiting(slots: &Slots, after: &[JobId]) -> JobId {
    let mut claimed = slots.take(JobKind::Anywhere);
    claimed.with_job(|cell| cell.put(|&()| ()));
    let id = claimed.id();
    assert!(slots.add(claimed, JobKind::Anywhere, after).is_none(), "it waits");
    id
}

pub(super) fn claimed(slots: &Slots) -> Claimed<'_> {
    added(slots, &[]).expect("it waits for nothing")
}

/// Publishes a job that one thread will claim.
pub(super) fn published(slots: &Slots) -> JobId {
    claimed(slots).publish()
}

pub(super) fn claim(slots: &Slots, id: JobId) -> Claimed<'_> {
    slots.claim(id).expect("nobody else claims it")
}

/// Ends a job, and returns the job that becomes ready, if any.
fn end<'slots>(slots: &'slots Slots, mut claimed: Claimed<'slots>) -> Option<Claimed<'slots>> {
    claimed.with_job(StoredJob::clear);
    let mut next = None;
    slots.end(claimed, false, |job| next = Some(job), |_| ());
    next
}

#[test]
fn one_of_two_that_end_gets_the_job_after_both_and_sees_what_they_did() {
    explore("countdown to ready", || {
        let slots = Arc::new(Slots::new());
        let deeds = [Deed::new(), Deed::new()];
        let (first, second) = (published(&slots), published(&slots));
        let after = waiting(&slots, &[first, second]);
        let finish = |job: JobId, own: usize| {
            let (slots, deeds) = (Arc::clone(&slots), deeds.clone());
            move || {
                let job = claim(&slots, job);
                deeds[own].act();
                if let Some(next) = end(&slots, job) {
                    assert_eq!(next.id(), after);
                    deeds.iter().for_each(Deed::see);
                    assert!(end(&slots, next).is_none());
                    return 1;
                }
                0
            }
        };
        let other = thread::spawn(finish(second, 1));
        let own = finish(first, 0)();
        assert_eq!(own + other.join().unwrap(), 1);
        assert!(slots.is_done(after));
    });
}

/// The list of those that wait for a job goes through their slots.
#[test]
fn none_that_waits_is_lost_with_a_slot_in_front_of_it_that_is_used_again() {
    explore("end against a slot in its list that is used again", || {
        let slots = Arc::new(Slots::new());
        let (first, second) = (published(&slots), published(&slots));
        let last = waiting(&slots, &[first]);
        // In front of it in the list.
        waiting(&slots, &[first, second]);
        let other = thread::spawn({
            let slots = Arc::clone(&slots);
            move || {
                if let Some(next) = end(&slots, claim(&slots, second)) {
                    assert!(end(&slots, next).is_none());
                    // In the slot of the former, unless that of `first` is free as well.
                    waiting(&slots, &[last]);
                }
            }
        });
        let mut ready = Vec::new();
        let mut job = claim(&slots, first);
        job.with_job(StoredJob::clear);
        slots.end(job, false, |job| ready.push(job.id()), |_| ());
        assert!(ready.contains(&last), "it waits for nothing else");
        other.join().unwrap();
    });
}

#[test]
fn a_job_that_is_added_while_the_one_before_it_ends_is_somebodys() {
    explore("add after a job that ends", || {
        let slots = Arc::new(Slots::new());
        let deed = Deed::new();
        let first = published(&slots);
        let other = thread::spawn({
            let (slots, deed) = (Arc::clone(&slots), deed.clone());
            move || {
                let job = claim(&slots, first);
                deed.act();
                end(&slots, job).map(|next| {
                    deed.see();
                    assert!(end(&slots, next).is_none());
                })
            }
        });
        let own = match added(&slots, &[first]) {
            Some(claimed) => {
                deed.see();
                assert!(end(&slots, claimed).is_none());
                true
            }
            None => false,
        };
        assert!(own != other.join().unwrap().is_some());
        assert!(slots.all_ended());
    });
}

/// A job ends and `behind` runs after it, while another thread checks whether the job is done.
fn end_against_a_look(name: &'static str, behind: fn(&Slots, JobId)) {
    explore(name, move || {
        let slots = Arc::new(Slots::new());
        let deed = Deed::new();
        let id = published(&slots);
        let other = thread::spawn({
            let (slots, deed) = (Arc::clone(&slots), deed.clone());
            move || {
                let job = claim(&slots, id);
                deed.act();
                assert!(end(&slots, job).is_none());
                behind(&slots, id);
            }
        });
        if slots.is_done(id) {
            deed.see();
        }
        other.join().unwrap();
        assert!(slots.is_done(id));
    });
}

#[test]
fn who_sees_that_a_job_is_done_sees_what_it_did() {
    end_against_a_look("end against a look", |_, _| ());
}

#[test]
fn who_sees_a_later_job_in_its_place_sees_what_a_job_did() {
    end_against_a_look("the end of an unknown job against a look", |slots, id| {
        let mut unknown = claimed(slots);
        assert_eq!(unknown.id().index(), id.index());
        unknown.with_job(StoredJob::clear);
        slots.end_unknown(unknown);
    });
}

#[test]
fn one_of_two_threads_claims_a_job_and_has_its_closure() {
    explore("claim against claim", || {
        let slots = Arc::new(Slots::new());
        // The slot exists before, so that only the job is new to the other thread.
        assert!(end(&slots, claimed(&slots)).is_none());
        // Like a queue, but without an ordering of its own.
        let queued = Arc::new(AtomicU64::new(0));
        let claim = {
            let (slots, queued) = (Arc::clone(&slots), Arc::clone(&queued));
            move || {
                let Some(id) = JobId::from_bits(queued.load(Ordering::Relaxed)) else { return 0 };
                let Some(mut job) = slots.claim(id) else { return 0 };
                job.with_job(|job| job.run(&()));
                assert!(end(&slots, job).is_none());
                1
            }
        };
        let other = thread::spawn(claim.clone());
        queued.store(published(&slots).to_bits(), Ordering::Relaxed);
        let own = claim();
        assert_eq!(own + other.join().unwrap(), 1);
    });
}

#[test]
fn an_old_id_never_gets_the_job_that_has_its_slot_now() {
    explore("slot used again against an old id", || {
        let slots = Arc::new(Slots::new());
        let old = published(&slots);
        let other = thread::spawn({
            let slots = Arc::clone(&slots);
            // Claims at most the old job, and links to it only while it is unfinished.
            move || {
                let claim = slots.claim(old).map(|job| end(&slots, job).is_none());
                (claim, added(&slots, &[old]).is_none())
            }
        });
        let own = slots.claim(old).map(|job| end(&slots, job).is_some());
        let new = published(&slots);
        assert!(new != old);
        let (claim, waits) = other.join().unwrap();
        // The thread that ended the old job also got the job that waited for it.
        assert!(own.is_some() != claim.is_some());
        assert_eq!(waits, own == Some(true));
        assert!(slots.is_done(old));
        assert!(!slots.is_done(new));
        assert!(slots.claim(new).is_some(), "nobody else has claimed it");
    });
}

#[test]
fn a_slot_of_a_burst_may_go_while_others_look_at_it_by_old_ids() {
    explore("slots that go against an old id", || {
        let slots = Arc::new(Slots::new());
        // Four slots are kept. Of two empty segments, one is freed.
        let kept = [(); 4].map(|()| claimed(&slots));
        let (stays, deed) = ([(); 2].map(|()| claimed(&slots)), Deed::new());
        let old = published(&slots);
        stays.into_iter().for_each(|job| assert!(end(&slots, job).is_none()));
        let other = thread::spawn({
            let (slots, deed) = (Arc::clone(&slots), deed.clone());
            move || {
                let job = claim(&slots, old);
                deed.act();
                end(&slots, job).map(|next| assert!(end(&slots, next).is_none())).is_some()
            }
        });
        let is_ready = match added(&slots, &[old]) {
            Some(job) => {
                deed.see();
                assert!(end(&slots, job).is_none());
                true
            }
            None => false,
        };
        assert!(is_ready != other.join().unwrap(), "it is somebody's");
        assert!(slots.is_done(old) && slots.claim(old).is_none());
        kept.into_iter().for_each(|job| assert!(end(&slots, job).is_none()));
        assert!(slots.all_ended());
    });
}

#[test]
fn who_sees_that_all_jobs_have_ended_sees_what_they_did() {
    explore("ledger: end against a look", || {
        let (ledger, deed) = (Arc::new(Ledger::new(2)), Deed::new());
        ledger.add_one(ledger.own(Some(0)));
        let other = thread::spawn({
            let (ledger, deed) = (Arc::clone(&ledger), deed.clone());
            move || {
                deed.act();
                ledger.end_one(ledger.own(Some(1)));
            }
        });
        if ledger.is_even() {
            deed.see();
        }
        other.join().unwrap();
        assert!(ledger.is_even());
    });
}

#[test]
fn a_job_that_another_has_added_before_its_end_is_not_overlooked() {
    explore("ledger: add inside of a job against a look", || {
        let ledger = Arc::new(Ledger::new(3));
        ledger.add_one(ledger.own(Some(0)));
        let other = thread::spawn({
            let ledger = Arc::clone(&ledger);
            move || {
                // In a job on another thread: it adds a job and then ends.
                ledger.add_one(ledger.own(Some(1)));
                ledger.end_one(ledger.own(Some(2)));
            }
        });
        assert!(!ledger.is_even(), "one of the two has not ended");
        other.join().unwrap();
        assert!(!ledger.is_even());
    });
}

#[test]
fn a_job_that_is_seen_ready_is_seen_to_be_for_the_main_thread() {
    explore("kind of a job against a look", || {
        let slots = Arc::new(Slots::new());
        // The slot exists before, and has held a job for any thread.
        assert!(end(&slots, claimed(&slots)).is_none());
        let queued = Arc::new(AtomicU64::new(0));
        let other = thread::spawn({
            let (slots, queued) = (Arc::clone(&slots), Arc::clone(&queued));
            move || {
                let Some(id) = JobId::from_bits(queued.load(Ordering::Relaxed)) else { return };
                if slots.is_ready(id) {
                    assert!(slots.get(id).pinned() == Some(0), "another thread would run it");
                }
            }
        });
        let job = add(&slots, JobKind::MAIN, &[], || ()).expect("it waits for nothing");
        queued.store(job.publish().to_bits(), Ordering::Relaxed);
        other.join().unwrap();
    });
}

#[test]
fn a_dependency_of_a_later_job_is_not_taken_for_one_of_the_former() {
    explore("dependency against a slot that is used again", || {
        let slots = Arc::new(Slots::new());
        let (first, gate) = (published(&slots), published(&slots));
        let former = waiting(&slots, &[first]);
        let other = thread::spawn({
            let slots = Arc::clone(&slots);
            move || {
                let dependency = slots.get(former).dependency(former, 0);
                assert!(dependency.is_none_or(|id| id == first), "it is of the later job");
            }
        });
        let first = claim(&slots, first);
        let former_job = end(&slots, first).expect("it waits for this");
        // The free slots are a stack: the later job gets the slot of the former.
        assert!(end(&slots, former_job).is_none());
        let later = waiting(&slots, &[gate]);
        assert_eq!(later.index(), former.index());
        other.join().unwrap();
    });
}
