//! Running jobs with handles: one, and those that are ready for it.

use crate::panic_slot::{catch, discard};
use crate::seat::Seat;
use crate::shared::Shared;
use crate::slots::{Added, Claimed, Few, JobId, Kind, Slots};
use crate::sync::needed_fence;

/// Which of the jobs that get ready the thread may run at once, without queuing
/// them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Next {
    /// The first one.
    First,
    /// Only this one, which the thread waits for.
    Only(Option<JobId>),
}

impl Next {
    fn allows(self, id: JobId) -> bool {
        match self {
            Self::First => true,
            Self::Only(only) => only == Some(id),
        }
    }
}

/// Runs a job, then the first that is ready for it, and so on.
pub(crate) fn run_chain<'pool>(shared: &'pool Shared, seat: &Seat, first: Claimed<'pool>) {
    let mut next = Some(first);
    while let Some(job) = next {
        next = run_job(shared, seat, job, Next::First);
    }
}

/// Runs a job, ends it, and queues the jobs that are ready for it, but for one
/// that is returned, if `next` allows any.
pub(crate) fn run_job<'pool>(
    shared: &'pool Shared,
    seat: &Seat,
    mut claimed: Claimed<'pool>,
    next: Next,
) -> Option<Claimed<'pool>> {
    let failed = run_closure(shared, seat, &mut claimed);
    let (mut kept, mut queued_count, mut is_main_wanted) = (None, 0, false);
    let ready = |job: Claimed<'pool>| {
        if job.slot().is_on_main() {
            shared.push_main(job.publish());
            is_main_wanted = true;
        } else if kept.is_none() && next.allows(job.id()) {
            kept = Some(job);
        } else {
            seat.queue(shared, job.publish());
            queued_count += 1;
        }
    };
    let awaited = |id| shared.queues.waiters.wake_for(id, &shared.parkers);
    shared.slots.end(claimed, failed, ready, awaited);
    if queued_count > 0 || is_main_wanted {
        shared.announce_ready(queued_count);
    }
    if !seat.is_resident() {
        // This thread may leave the pool: it does not come by another fence for sure.
        needed_fence("end_watched");
    }
    shared.queues.waiters.wake_watching(&shared.parkers);
    kept
}

/// Runs the closure, or drops it if a job that it comes after has failed.
/// Returns whether this one has failed for either reason.
fn run_closure(shared: &Shared, seat: &Seat, claimed: &mut Claimed<'_>) -> bool {
    let (slots, id) = (&shared.slots, claimed.id());
    let is_cancelled = slots.note_if_failed(claimed);
    claimed.start();
    let is_guest = seat.is_guest(shared);
    if is_guest {
        claimed.slot().start_as_guest(id);
    }
    // Dropping a closure runs the user's code as well as calling it does.
    let outcome = claimed.with_job(|job| {
        seat.inside_job(id, || {
            if is_cancelled {
                discard(job.take());
                return Ok(());
            }
            catch(|| job.run(&()))
        })
    });
    if is_guest {
        claimed.slot().let_guest_out();
    }
    match outcome {
        Ok(()) => is_cancelled,
        Err(payload) => {
            slots.failures.note_panic(id, payload);
            true
        }
    }
}

/// Takes a job that is ready from wherever there is one, first of all from the
/// thread's own deque, and claims it.
pub(crate) fn take_any<'pool>(shared: &'pool Shared, seat: &Seat) -> Option<Claimed<'pool>> {
    if !shared.queues.is_in_use() {
        return None;
    }
    let queues = &shared.queues;
    loop {
        let id = seat
            .take_own()
            .or_else(|| queues.take_injected(seat.own_jobs(shared)))
            .or_else(|| queues.steal(seat.slot))?;
        // Somebody who waits for it may have been faster.
        if let Some(claimed) = shared.slots.claim(id) {
            return Some(claimed);
        }
    }
}

/// What a thread does about the jobs that are for the main thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Main {
    /// Nothing: it is another thread.
    Leave,
    /// Runs them: it is the main thread.
    Run,
    /// Cancels them: the pool ends on another thread, and nobody will run them.
    Cancel,
}

impl Main {
    /// What the calling thread does in the life of the pool.
    pub(crate) fn of_this_thread(shared: &Shared) -> Self {
        if shared.is_main_thread() { Self::Run } else { Self::Leave }
    }

    /// Does it to the oldest of them that is ready. Returns whether there was one.
    pub(crate) fn run_one(self, shared: &Shared, seat: &Seat) -> bool {
        if self == Self::Leave {
            return false;
        }
        while let Some(id) = shared.queues.take_main() {
            // Somebody who waits for it may have been faster: this very thread.
            let Some(claimed) = shared.slots.claim(id) else { continue };
            if self == Self::Cancel {
                Slots::cancel(&claimed);
            }
            // What comes after it is not for the main thread.
            let next = run_job(shared, seat, claimed, Next::Only(None));
            debug_assert!(next.is_none(), "nothing was to be run at once");
            return true;
        }
        false
    }

    /// Does it to all that are ready. Returns whether there was one.
    pub(crate) fn run_all(self, shared: &Shared, seat: &Seat) -> bool {
        let mut has_run = false;
        while self.run_one(shared, seat) {
            has_run = true;
        }
        has_run
    }
}

/// Adds a job after others, and queues it or has it run if it is ready.
pub(crate) fn add_job<D: Copy + Into<JobId>>(
    shared: &Shared,
    kind: Kind,
    after: &[D],
    job: impl FnOnce() + Send + 'static,
) -> JobId {
    let few = shared.slots.gather(after);
    let mut claimed = shared.slots.take();
    claimed.with_job(|cell| cell.put(|&()| job()));
    add_claimed(shared, claimed, kind, few)
}

/// What of that does not depend on the type of the closure.
fn add_claimed<'pool>(
    shared: &'pool Shared,
    claimed: Claimed<'pool>,
    kind: Kind,
    after: Few,
) -> JobId {
    shared.queues.use_from_now_on();
    let added = shared.slots.add(claimed, kind, after);
    let id = added.id();
    match added {
        Added::Waiting(_) => {}
        Added::Claimed(claimed) if kind == Kind::OnMain => {
            shared.push_main(claimed.publish());
            shared.announce_ready(0);
        }
        Added::Claimed(claimed) if shared.is_inline => run_inline(shared, claimed),
        Added::Claimed(claimed) => {
            claimed.publish();
            Seat::with_any(shared, |seat| match seat {
                Some(seat) => seat.queue(shared, id),
                None => shared.inject(id),
            });
            shared.announce_ready(1);
        }
    }
    id
}

/// Runs a job in a pool without threads, and all that get ready meanwhile, in the
/// order in which they do. Inside of such a job it is left to the one loop here.
fn run_inline<'pool>(shared: &'pool Shared, first: Claimed<'pool>) {
    Seat::with(shared, |seat| {
        if seat.set_draining(true) {
            shared.inject(first.publish());
            return;
        }
        let mut next = Some(first);
        while let Some(job) = next {
            run_chain(shared, seat, job);
            next = take_any(shared, seat);
        }
        seat.set_draining(false);
    });
}
