//! The owner's side of a group: open it, wait for it, and only then leave.
#![expect(unsafe_code, reason = "opens groups in the caller's frame, and outwaits their visitors")]

use crate::group::{Group, Reach, Work};
use crate::panic_slot::never_unwinding;
use crate::seat::Seat;
use crate::shared::Shared;
use crate::sync::spin_until;
use std::ptr::NonNull;

/// Lists `work` while `body` runs, helps with it, and returns when all its jobs
/// have finished and all visitors have left. `body` keeps panics inside.
pub(crate) fn share(shared: &Shared, seat: &Seat, work: &dyn Work, body: impl FnOnce()) {
    never_unwinding(|| {
        // SAFETY: this thread runs that job, which ends after this function
        // does, and then the group is done and off the list (J-3).
        unsafe { work.group().set_parent(seat.group()) };
        work.group().set_job(seat.job());
        // SAFETY: closed and then waited for below, before `work` can go, which
        // the caller's borrow keeps until this function ends. It does not
        // unwind in between (J-1, J-2).
        unsafe { shared.open.open(work) };
        body();
        // Jobs may still open work here, so the group stays listed until all
        // have finished. Then nothing new can come but visitors who find that
        // nothing is left: close the door, and let those out as well.
        wait_until_done(shared, seat, work.group(), Some(work));
        shared.open.close(work);
        wait_until_done(shared, seat, work.group(), None);
    });
}

/// Returns when `group` is done. Helps with `own` work and with groups below,
/// else sleeps (docs/job-sleep.md, section 4).
pub(crate) fn wait_until_done(shared: &Shared, seat: &Seat, group: &Group, own: Option<&dyn Work>) {
    while !group.is_done() {
        let has_news = || has_news(shared, group, own);
        // What this thread helps with may take long.
        seat.feed_thieves(shared);
        // The rest is often a matter of a microsecond, less than a sleep costs.
        if help_once(shared, seat, group, own) || spin_until(has_news) {
            continue;
        }
        seat.share_all(shared);
        group.announce_wait();
        // Behind the fence of `announce_wait`, see `wake_watching`.
        shared.queues.waiters.wake_watching(&shared.parkers);
        if !has_news() {
            seat.park(shared);
        }
        group.end_wait();
    }
}

fn help_once(shared: &Shared, seat: &Seat, group: &Group, own: Option<&dyn Work>) -> bool {
    if let Some(work) = own.filter(|work| work.has_work()) {
        seat.inside(group, || work.help(seat.slot));
        return true;
    }
    let visit = shared.enter(Reach::Below(NonNull::from(group)));
    visit.inspect(|visit| seat.help(visit)).is_some()
}

fn has_news(shared: &Shared, group: &Group, own: Option<&dyn Work>) -> bool {
    group.is_done()
        || own.is_some_and(Work::has_work)
        || shared.open.has_work(Reach::Below(NonNull::from(group)))
}
