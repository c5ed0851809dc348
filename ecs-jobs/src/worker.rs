//! What a worker thread does all day: search, help, sleep.

use crate::group::Reach;
use crate::panic_slot::never_unwinding;
use crate::run_job::{run_chain, take_any};
use crate::seat::Seat;
use crate::shared::{Bench, Shared};
use crate::sync::spin_until;

/// Runs until the pool closes.
///
/// Jobs keep their panics inside. If the pool itself has a bug and panics here,
/// that is a crash: a worker that merely ended would leave a group counting it,
/// and the group's owner waiting for ever.
pub(crate) fn run_worker(shared: &Shared, worker: usize, bench: Bench) {
    never_unwinding(|| {
        Seat::with_worker(shared, worker, bench, |seat| {
            loop {
                // Looked at first: what is ready when the pool closes is not left
                // behind.
                let is_closing = shared.is_closing();
                if work_once(shared, seat) {
                    continue;
                }
                if is_closing {
                    return;
                }
                if !spin_until(|| shared.has_news()) {
                    sleep_until_news(shared, worker);
                }
            }
        });
    });
}

/// Searching -> Working -> Searching. Groups come first: there are more
/// hands wanted there.
pub(crate) fn work_once(shared: &Shared, seat: &Seat) -> bool {
    if let Some(visit) = shared.enter(Reach::All) {
        seat.help(&visit);
        return true;
    }
    // The half itself notes which group its thief is now working for.
    if let Some(half) = shared.steal(seat.slot) {
        half.run();
        return true;
    }
    let job = take_any(shared, seat);
    job.map(|job| run_chain(shared, seat, job)).is_some()
}

/// Searching -> Announced -> Asleep -> Searching (docs/job-sleep.md, section 2).
pub(crate) fn sleep_until_news(shared: &Shared, worker: usize) {
    shared.idle.announce(worker);
    // Behind the fence of `announce`, see `wake_watching`.
    shared.queues.waiters.wake_watching(&shared.parkers);
    if !shared.has_news() {
        shared.idle.sleep(worker, &shared.parkers);
    } else if !shared.idle.cancel(worker) {
        // A wake-up was spent on this worker although it was awake, and perhaps
        // for other work than what it found: pass it on. Owners need not be
        // told, see section 4.
        shared.announce_jobs(1);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    #[cfg_attr(miri, ignore = "starts a process")]
    fn a_bug_in_the_pool_crashes_a_worker_and_does_not_end_it() {
        const CHILD: &str = "FORMIC_WORKER_BUG_CHILD";
        if std::env::var_os(CHILD).is_some() {
            let (shared, mut benches) = Shared::new(1);
            // There is no worker of this number: its search for jobs panics.
            run_worker(&shared, 7, benches.remove(0));
        }
        let name = "worker::tests::a_bug_in_the_pool_crashes_a_worker_and_does_not_end_it";
        let child = Command::new(std::env::current_exe().expect("the test knows itself"))
            .args(["--exact", name])
            .env(CHILD, "1")
            .output()
            .expect("the test can start itself");
        let said = String::from_utf8_lossy(&child.stdout);
        assert!(said.contains("running 1 test"), "there is no test {name}");
        assert!(!child.status.success());
        // A panic that came through would be a failed test with a result.
        assert!(!said.contains("test result"), "{said}");
    }
}
