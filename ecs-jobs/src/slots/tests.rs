//! Tests of slots alone, on one thread.

use super::*;
use crate::sync::Arc;

fn end(slots: &Slots, mut claimed: Claimed<'_>) -> Vec<JobId> {
    claimed.with_job(StoredJob::clear);
    let mut ready = Vec::new();
    slots.end(claimed, false, |id| ready.push(id.id()), |_| ());
    ready
}

fn added<'a>(slots: &'a Slots, dependencies: &[JobId]) -> (JobId, Option<Claimed<'a>>) {
    let (few, count) = slots.reduce(dependencies);
    let mut claimed = slots.take(JobKind::Anywhere);
    claimed.with_job(|job| job.put(|_| ()));
    (claimed.id(), slots.add(claimed, JobKind::Anywhere, &few[..count]))
}

fn claimed(slots: &Slots) -> Claimed<'_> {
    added(slots, &[]).1.expect("it waits for nothing")
}

#[test]
fn a_slot_is_used_again_with_another_generation() {
    let slots = Slots::new();
    let first = claimed(&slots);
    let first_id = first.id();
    assert!(end(&slots, first).is_empty());
    let again = claimed(&slots);
    assert_eq!(again.id().index(), first_id.index());
    assert_ne!(again.id().generation(), first_id.generation());
    assert!(slots.is_done(first_id));
    assert!(!slots.is_done(again.id()));
    let _ready = end(&slots, again);
}

#[test]
fn a_slot_that_has_had_all_generations_is_never_used_again() {
    let slots = Slots::new();
    let first = claimed(&slots);
    let index = first.id().index();
    let last = JobId::new(index, JobId::GENERATION_MAX);
    slots.get(last).set_generation(JobId::GENERATION_MAX);
    let _ready = end(&slots, Claimed::new(last, &slots.get(last)));
    assert_ne!(claimed(&slots).id().index(), index);
    assert!(slots.is_done(last));
}

#[test]
fn slots_beyond_the_first_segment_can_be_taken() {
    let slots = Slots::new();
    let ids: Vec<JobId> = (0..1000).map(|_| claimed(&slots).publish()).collect();
    assert!(ids.iter().zip(0..).all(|(id, index)| id.index() == index));
    assert!(!slots.all_ended());
}

#[test]
fn a_job_is_claimed_once_and_not_after_its_slot_is_used_again() {
    let slots = Slots::new();
    let id = claimed(&slots).publish();
    let claim = slots.claim(id).expect("nobody has it");
    assert!(slots.claim(id).is_none());
    let _ready = end(&slots, claim);
    let later = claimed(&slots).publish();
    assert_eq!(later.index(), id.index());
    assert!(slots.claim(id).is_none());
    assert!(slots.claim(later).is_some());
}

#[test]
fn a_job_is_ready_when_the_last_of_its_dependencies_has_ended() {
    let slots = Slots::new();
    let (first, second) = (claimed(&slots), claimed(&slots));
    let (after, None) = added(&slots, &[first.id(), second.id()]) else {
        panic!("it waits for two");
    };
    assert!(end(&slots, second).is_empty());
    assert_eq!(end(&slots, first), [after]);
}

#[test]
fn a_job_after_what_has_ended_is_ready_at_once() {
    let slots = Slots::new();
    let first = claimed(&slots);
    let id = first.id();
    let _ready = end(&slots, first);
    assert!(added(&slots, &[id, id]).1.is_some());
}

#[test]
fn a_job_may_wait_for_more_than_a_slot_has_room_for_and_twice_for_the_same() {
    let slots = Slots::new();
    let mut before: Vec<Claimed<'_>> = (0..100).map(|_| claimed(&slots)).collect();
    let mut ids: Vec<JobId> = before.iter().map(Claimed::id).collect();
    ids.extend_from_within(..3);
    let (after, None) = added(&slots, &ids) else { panic!("it waits for many") };
    let last = before.pop().expect("there are some");
    assert!(before.into_iter().all(|job| end(&slots, job).is_empty()));
    assert_eq!(end(&slots, last), [after]);
    let claim =
        slots.claim(Claimed::new(after, &slots.get(after)).publish()).expect("nobody has it");
    let _ready = end(&slots, claim);
    assert!(slots.all_ended());
}

/// Takes `count` slots and gives them back.
fn burst(slots: &Slots, count: u32) -> Vec<JobId> {
    let jobs: Vec<_> = (0..count).map(|_| claimed(slots)).collect();
    let ids = jobs.iter().map(Claimed::id).collect();
    jobs.into_iter().for_each(|job| assert!(end(slots, job).is_empty()));
    ids
}

#[test]
fn slots_of_a_burst_go_and_no_id_of_them_stands_for_a_later_job() {
    let slots = Slots::new();
    let old = burst(&slots, KEPT_COUNT + 3 * burst::LEN);
    assert_eq!(slots.burst.segment_count(), 1, "one stays, for the next time");
    assert!(slots.all_ended() && old.iter().all(|&id| slots.is_done(id)));
    assert!(old.iter().all(|&id| slots.claim(id).is_none() && !slots.is_ready(id)));
    let after = added(&slots, &old[old.len() - 3..]).1.expect("all that it waits for have ended");
    assert!(end(&slots, after).is_empty());
    let jobs: Vec<_> = (0..old.len()).map(|_| claimed(&slots)).collect();
    assert_eq!(slots.burst.segment_count(), 3);
    assert!(old.iter().all(|&id| slots.is_done(id)), "they have other generations now");
    assert!(jobs.iter().all(|job| !slots.is_done(job.id())));
}

#[test]
fn a_failure_that_is_forgotten_is_one_after_its_slot_has_gone_and_come_again() {
    let slots = Slots::new();
    let count = KEPT_COUNT + 2 * burst::LEN;
    let failed = *burst(&slots, count).last().expect("there are some");
    slots.failures.forget(failed);
    // The table of failures is not empty.
    slots.failures.note_panic(JobId::new(0, 1), Box::new(()));
    assert!(slots.failures.panic_of(failed).is_some(), "its slot has gone");
    let jobs: Vec<_> = (0..count).map(|_| claimed(&slots)).collect();
    assert!(slots.failures.panic_of(failed).is_some(), "its slot has come again");
    let last = jobs.last().expect("there are some").id();
    assert_eq!(last.index(), failed.index());
    assert!(slots.failures.panic_of(last).is_none(), "that is another job");
}

#[test]
fn a_failure_that_is_forgotten_makes_no_other_job_a_failed_one() {
    let slots = Slots::new();
    let count = KEPT_COUNT + 3 * burst::LEN;
    let ids = burst(&slots, count);
    let failed = ids[ids.len() - 2];
    slots.failures.forget(failed);
    // The table of failures is not empty.
    slots.failures.note_panic(JobId::new(0, 1), Box::new(()));
    let fail = |id: &&JobId| slots.failures.panic_of(**id).is_some();
    let failing: Vec<_> = ids[1..].iter().filter(fail).collect();
    assert_eq!(failing, [&failed], "the slots have gone");
    let jobs: Vec<_> = (0..count).map(|_| claimed(&slots)).collect();
    assert_eq!(ids[1..].iter().filter(fail).count(), 1, "the slots have come again");
    assert!(jobs.iter().all(|job| slots.failures.panic_of(job.id()).is_none()));
}

#[test]
fn a_job_more_and_less_at_the_border_of_a_segment_makes_none() {
    let slots = Slots::new();
    let jobs: Vec<_> = (0..KEPT_COUNT + burst::LEN).map(|_| claimed(&slots)).collect();
    burst(&slots, 1);
    let shared = slots.burst.get(burst::LEN).expect("it stays");
    burst(&slots, 1);
    let again = slots.burst.get(burst::LEN).expect("it stays");
    assert!(Arc::ptr_eq(&shared, &again));
    assert_eq!(jobs.len(), (KEPT_COUNT + burst::LEN) as usize);
}
