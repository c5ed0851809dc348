//! What a worker thread does all day: search, help, sleep.

use crate::group::Reach;
use crate::seat::Seat;
use crate::shared::{Bench, Shared};
use crate::sync::spin_until;

/// Runs until the pool closes.
pub(crate) fn run_worker(shared: &Shared, worker: usize, bench: Bench) {
    Seat::with_worker(shared, worker, bench, |seat| {
        while !shared.is_closing() {
            if !work_once(shared, seat, worker) && !spin_until(|| shared.has_news(worker)) {
                sleep_until_news(shared, worker);
            }
        }
    });
}

/// Searching -> Working -> Searching. Groups come first: there are more
/// hands wanted there.
pub(crate) fn work_once(shared: &Shared, seat: &Seat, worker: usize) -> bool {
    if let Some(visit) = shared.enter(Reach::All, Some(worker)) {
        seat.help(&visit);
        return true;
    }
    // The half itself notes which group its thief is now working for.
    let half = shared.steal(worker);
    half.map(|half| half.run()).is_some()
}

/// Searching -> Announced -> Asleep -> Searching (docs/job-sleep.md, section 2).
fn sleep_until_news(shared: &Shared, worker: usize) {
    shared.idle.announce(worker);
    if !shared.has_news(worker) {
        shared.idle.sleep(worker, &shared.parkers);
    } else if !shared.idle.cancel(worker) {
        // A wake-up was spent on this worker although it was awake, and perhaps
        // for other work than what it found: pass it on.
        shared.announce_job();
    }
}
