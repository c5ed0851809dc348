//! Running jobs with handles: a job, and its successors that become ready.

use crate::context::WorkerContext;
use crate::job_queue::JobQueue;
use crate::panic_slot::catch;
use crate::shared::Shared;
use crate::slots::{Claimed, JobId, JobKind};
use crate::stored_job::StoredJob;
use crate::sync::{Ordering, is_kept};

/// The maximum number of jobs in a row that a thread runs because each makes the next ready, or that a
/// worker runs in groups, before it turns to other work.
pub(crate) const IN_A_ROW_MAX: usize = 64;

/// Runs a job, then the first job that it makes ready, and so on, until there is none or `stop`, which is
/// asked before each, returns true.
pub(crate) fn run_chain<'pool>(
    shared: &'pool Shared,
    context: &WorkerContext,
    first: Claimed<'pool>,
    stop: &mut dyn FnMut() -> bool,
) {
    let mut job = first;
    for count in 1.. {
        let Some(next) = run_job(shared, context, job, |_id| true) else { return };
        let gives_way = next.slot().is_background() && shared.ready.has_frame();
        if count == IN_A_ROW_MAX || gives_way || stop() {
            queue(shared, next);
            if is_kept("announce_left") {
                shared.announce_ready(1, true);
            }
            return;
        }
        job = next;
    }
}

/// Publishes a ready job, and queues it for the threads that may run it. Returns whether any thread may:
/// then the caller tells the sleepers.
fn queue(shared: &Shared, job: Claimed<'_>) -> bool {
    let (pinned, is_background) = (job.slot().pinned(), job.slot().is_background());
    let queue = pinned.map_or(&shared.ready, |thread| &shared.pinned[thread as usize]);
    queue.push(job.publish(), is_background, |id| shared.slots.is_ready(id));
    if let Some(thread) = pinned {
        shared.announce_pinned(thread);
    }
    pinned.is_none()
}

/// Runs a job, ends it, and queues the jobs that become ready, except the first that the thread `goes_on`
/// with, which is returned.
pub(crate) fn run_job<'pool>(
    shared: &'pool Shared,
    context: &WorkerContext,
    mut claimed: Claimed<'pool>,
    goes_on: impl Fn(JobId) -> bool,
) -> Option<Claimed<'pool>> {
    context.note_work_found(shared, 0, None);
    let failed = run_closure(shared, context, &mut claimed);
    let (mut kept, mut queued_count) = (None, 0);
    let ready = |job: Claimed<'pool>| {
        if job.slot().pinned().is_none() && kept.is_none() && goes_on(job.id()) {
            kept = Some(job);
        } else {
            queued_count += usize::from(queue(shared, job));
        }
    };
    let awaited = |id: JobId| {
        if is_kept("wake_awaited") {
            shared.sleepers.wake(usize::MAX, |tag| tag.job == id.to_bits());
        }
    };
    shared.slots.end(claimed, failed, ready, awaited);
    if queued_count > 0 && is_kept("announce_after_end") {
        shared.announce_ready(queued_count, true);
    }
    context.note_ended_job(shared);
    kept
}

/// Runs a job, and leaves all that it makes ready to other threads.
pub(crate) fn run_only<'pool>(
    shared: &'pool Shared,
    context: &WorkerContext,
    claimed: Claimed<'pool>,
) {
    let next = run_job(shared, context, claimed, |_id| false);
    debug_assert!(next.is_none(), "nothing was to be run at once");
}

/// Runs a job that no other thread knows before this returns: so it has no successors and no thread
/// awaits it.
fn run_unknown(shared: &Shared, context: &WorkerContext, mut claimed: Claimed<'_>) {
    run_closure(shared, context, &mut claimed);
    shared.slots.end_unknown(claimed);
    context.note_ended_job(shared);
}

/// Runs the closure, or drops it if a dependency has failed. Returns whether this job has failed, for
/// either reason.
fn run_closure(shared: &Shared, context: &WorkerContext, claimed: &mut Claimed<'_>) -> bool {
    let (slots, id) = (&shared.slots, claimed.id());
    let is_background = claimed.slot().is_background();
    let is_cancelled = slots.note_if_failed(claimed);
    claimed.start();
    if context.is_external(shared) {
        claimed.slot().start_as_external(id);
    }
    // Dropping a closure runs user code just as calling it does.
    let run = |job: &mut StoredJob<'static>| {
        context.inside_job(id, || {
            if is_cancelled {
                job.clear();
                return Ok(());
            }
            catch(|| job.run(&()))
        })
    };
    // A job that waits while this one runs continues only after it.
    let around = context.job.get();
    let pool = (shared.number, &shared.slots);
    // Relaxed: a hint.
    let count = |step| _ = shared.background_count.fetch_add(step, Ordering::Relaxed);
    if is_background {
        count(1);
    }
    let outcome =
        claimed.with_job(|job| shared.wait_graph.while_waiting(pool, around, id, || run(job)));
    if is_background {
        count(usize::MAX);
    }
    match outcome {
        Ok(()) => is_cancelled,
        Err(payload) => {
            slots.failures.note_panic(id, payload);
            true
        }
    }
}

/// Takes the next ready job and claims it.
pub(crate) fn take_any(shared: &Shared) -> Option<Claimed<'_>> {
    take_from(&shared.ready, shared)
}

fn take_from<'pool>(queue: &JobQueue, shared: &'pool Shared) -> Option<Claimed<'pool>> {
    // A thread that waits for a job may have claimed it already.
    std::iter::from_fn(|| queue.pop()).find_map(|id| shared.slots.claim(id))
}

/// The queue of the jobs that are pinned to this thread, if it runs any now.
fn pinned_queue<'pool>(shared: &'pool Shared, context: &WorkerContext) -> Option<&'pool JobQueue> {
    context.pinned(shared).map(|thread| &shared.pinned[thread as usize])
}

/// Whether a job that is pinned to this thread is ready, and the thread may run it now.
pub(crate) fn has_pinned(shared: &Shared, context: &WorkerContext) -> bool {
    pinned_queue(shared, context).is_some_and(JobQueue::has_frame)
}

/// Runs the jobs pinned to this thread that are ready by now, until `stop` returns true after one; returns
/// their number. The jobs that become ready through these wait for the next look, or a job that schedules
/// itself again would keep this thread here.
pub(crate) fn run_all_pinned(
    shared: &Shared,
    context: &WorkerContext,
    mut stop: impl FnMut() -> bool,
) -> usize {
    let count = pinned_queue(shared, context).map_or(0, JobQueue::len);
    for ran in 0..count {
        // A waiting thread may have claimed some of them.
        if !run_pinned(shared, context) {
            return ran;
        }
        if stop() {
            return ran + 1;
        }
    }
    count
}

/// Runs the oldest ready job that is pinned to this thread, or cancels it. Returns whether there was one.
pub(crate) fn run_pinned(shared: &Shared, context: &WorkerContext) -> bool {
    let Some(claimed) = pinned_queue(shared, context).and_then(|queue| take_from(queue, shared))
    else {
        return false;
    };
    if context.cancels_main_jobs.get() {
        claimed.slot().cancel(claimed.id());
    }
    // Its successors may be for other threads.
    run_only(shared, context, claimed);
    true
}

/// Drops a job instead of running it, unless it has started: at once if it is ready, else when it would
/// start.
pub(crate) fn cancel_job(shared: &Shared, id: JobId) {
    shared.slots.get(id).cancel(id);
    let Some(claimed) = shared.slots.claim(id) else { return };
    WorkerContext::with(shared, |context| {
        let run = || run_only(shared, context, claimed);
        if shared.is_inline {
            run_inline(shared, context, run);
        } else {
            run();
        }
        context.tell_conditional(shared, "tell_cancelled");
    });
}

/// Adds a job after others, and queues or runs it if it is ready. One that polls a future never runs
/// before this returns.
#[inline]
pub(crate) fn add_job<D: Copy + Into<JobId>>(
    shared: &Shared,
    kind: JobKind,
    name: &'static str,
    after: &[D],
    job: impl FnOnce() + Send + 'static,
) -> JobId {
    let (few, count) = shared.slots.reduce(after);
    let mut claimed = shared.slots.take(kind);
    claimed.with_job(|cell| cell.put(|&()| job()));
    let id = claimed.id();
    shared.wait_graph.note_name(id, name);
    let is_inline = shared.is_inline && kind != JobKind::Poll;
    add_claimed(shared, claimed, (kind, is_inline), &few[..count]);
    id
}

/// A job that is done when all of `some` are.
pub(crate) fn combine<D: Copy + Into<JobId>>(shared: &Shared, some: &[D]) -> JobId {
    let id = shared.slots.combine(some);
    if is_kept("tell_combined") {
        // If all of them have ended, so has a job that a thread in `flush` may have counted.
        shared.announce_condition();
    }
    id
}

/// Adds a job without dependencies that no thread claims before it is opened or cancelled.
pub(crate) fn add_gate(shared: &Shared) -> JobId {
    let mut claimed = shared.slots.take(JobKind::GATE);
    claimed.with_job(|cell| cell.put(|&()| ()));
    let claimed = shared.slots.add(claimed, JobKind::GATE, &[]);
    claimed.expect("it waits for nothing").publish()
}

/// Turns a gate into an ordinary job after these, unless it was cancelled.
pub(crate) fn open_gate<D: Copy + Into<JobId>>(shared: &Shared, id: JobId, after: &[D]) {
    let all = combine(shared, after);
    // A dependency that waits for the gate closes a cycle.
    shared.wait_graph.while_waiting((shared.number, &shared.slots), Some(id), all, || {
        if let Some(claimed) = shared.slots.claim(id) {
            add_claimed(shared, claimed, (JobKind::Anywhere, false), &[all]);
            if is_kept("announce_opened") {
                // The walks of all that wait for a job may find more now.
                shared.announce_ready(0, true);
            }
            if shared.is_inline {
                WorkerContext::with(shared, |context| run_inline(shared, context, || ()));
            }
        }
    });
}

/// The part of adding a job that does not depend on the type of the closure.
fn add_claimed<'pool>(
    shared: &'pool Shared,
    claimed: Claimed<'pool>,
    (kind, is_inline): (JobKind, bool),
    after: &[JobId],
) {
    let Some(claimed) = shared.slots.add(claimed, kind, after) else { return };
    if is_inline && claimed.slot().pinned().is_none() {
        WorkerContext::with(shared, |context| {
            if context.is_draining.get() {
                queue(shared, claimed);
            } else {
                run_inline(shared, context, || run_unknown(shared, context, claimed));
            }
        });
    } else if queue(shared, claimed) && is_kept("announce_added") {
        shared.announce_ready(1, false);
    }
}

/// Calls `run` in a pool without threads, and then runs all jobs that became ready meanwhile, in that
/// order. A nested call leaves its jobs to the outermost loop. Polls of futures are left to waiting
/// threads: a future that wakes itself is ready again and again.
fn run_inline(shared: &Shared, context: &WorkerContext, run: impl FnOnce()) {
    let is_inside = context.is_draining.replace(true);
    run();
    if is_inside {
        return;
    }
    let is_job = |id: &JobId| !shared.slots.get(*id).is_poll();
    while let Some(id) = shared.ready.pop_where(is_job) {
        if let Some(job) = shared.slots.claim(id) {
            run_chain(shared, context, job, &mut || false);
        }
    }
    context.is_draining.set(false);
    context.tell_conditional(shared, "tell_inline");
}
