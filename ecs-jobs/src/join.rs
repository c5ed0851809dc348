//! Join: two closures, the second of which another thread may steal.
#![expect(unsafe_code, reason = "the second half lies in the caller's frame while a thief runs it")]

use crate::context::WorkerContext;
use crate::join_deque::DequeIndex;
use crate::panic_slot::{AbortOnDrop, Payload, catch, discard, never_unwinding};
use crate::shared::{LocalQueues, Shared};
use crate::sync::UnsafeCell;
use crate::task_group::{JobHead, JobRef, TaskGroup};
use crate::wait::wait_until_done;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::resume_unwind;
use std::ptr::NonNull;

/// The second half of a join, in the frame of the thread that called it.
///
/// Invariant J-6: until the half's [`JobRef`] is used up, no thread touches the two cells. If a thief
/// runs the half, they belong to the thief until the group is done. Then, or if the owner took the
/// reference back, they belong to the owner. So the body is read once.
#[repr(C)]
struct StackJob<'pool, F, R> {
    /// In front, so that a pointer to it leads to the whole. The group counts one: this half.
    head: JobHead,
    shared: &'pool Shared,
    body: UnsafeCell<F>,
    /// What the thief leaves.
    outcome: UnsafeCell<MaybeUninit<Result<R, Payload>>>,
}

impl<F: FnOnce() -> R + Send, R: Send> StackJob<'_, F, R> {
    fn job_ref(&self) -> JobRef {
        // SAFETY: `join` leaves the frame only after the reference is used up and the thief, if there was
        // one, is done (J-4). The bounds on `F` and `R` allow any thread.
        unsafe { JobRef::new(NonNull::from(self).cast()) }
    }

    /// The function that a thief calls.
    ///
    /// # Safety
    ///
    /// `half` is a pointer that `job_ref` made a reference of, and this call uses it up (J-4).
    unsafe fn run_stolen(half: NonNull<JobHead>) {
        // SAFETY: the half is alive until its group is done, which the last line below causes (J-4). The
        // borrow is not used after that.
        let half = unsafe { half.cast::<Self>().as_ref() };
        let (shared, group) = (half.shared, NonNull::from(&half.head.group));
        WorkerContext::with(shared, |context| {
            let outcome = context.inside(&half.head.group, || catch(half.take_body()));
            half.outcome.with_mut(|cell| {
                // SAFETY: the cell belongs to the thief until the group is done (J-6).
                unsafe { cell.write(MaybeUninit::new(outcome)) };
            });
        });
        // SAFETY: the group counts this half, which has just finished (J-2).
        unsafe { TaskGroup::finish_one(group, &shared.sleepers) };
    }

    /// Takes the closure out. Called once, by the thread that used up the reference.
    fn take_body(&self) -> F {
        // SAFETY: the caller used up the reference, so the cell is the caller's, which alone reads it (J-6).
        self.body.with_mut(|cell| unsafe { cell.read() })
    }

    /// Waits for the thief, and takes what it left. Called once, by the owner.
    #[cold]
    #[inline(never)]
    fn outwait_thief(&self, context: &WorkerContext) -> Result<R, Payload> {
        let group = &self.head.group;
        never_unwinding(|| wait_until_done(self.shared, context, group, None));
        assert!(group.is_done(), "the thief is done");
        // SAFETY: the group is done, so the thief has written the cell, which is the owner's (J-6).
        self.outcome.with_mut(|cell| unsafe { cell.cast::<Result<R, Payload>>().read() })
    }
}

/// Runs both closures, in parallel if another thread is free.
///
/// Nearly all joins are one half of a larger one and are not stolen: they cost a few nanoseconds. The
/// slow paths, which register, share and wait, are `inline(never)` and not just `cold`: link-time
/// optimisation inlines functions with a single caller, and then every join pays for their registers and
/// frame.
pub(crate) fn join<RA: Send, RB: Send>(
    shared: &Shared,
    first: impl FnOnce() -> RA + Send,
    second: impl FnOnce() -> RB + Send,
) -> (RA, RB) {
    // There are no thieves in a pool without workers, nor for a thread without queues.
    if shared.worker_count == 0 {
        return join_alone(first, second);
    }
    WorkerContext::with_any(shared, |context| match context {
        Some(context) => join_inside(shared, context, first, second),
        None => join_from_outside(shared, first, second),
    })
}

/// Runs both halves, one after the other, if no thread can steal.
#[inline(never)]
fn join_alone<RA, RB>(first: impl FnOnce() -> RA, second: impl FnOnce() -> RB) -> (RA, RB) {
    match catch(first) {
        Ok(first) => conclude(first, catch(second)),
        Err(payload) => resume_without(payload, second),
    }
}

/// A separate function, so that the nested joins do not pay for its setup.
#[cold]
#[inline(never)]
fn join_from_outside<RA: Send, RB: Send>(
    shared: &Shared,
    first: impl FnOnce() -> RA + Send,
    second: impl FnOnce() -> RB + Send,
) -> (RA, RB) {
    WorkerContext::with_external(shared, |context| join_inside(shared, context, first, second))
}

/// A function of its own, whose arguments are passed in registers; a closure's captures are passed in
/// memory.
#[inline(never)]
fn join_inside<RA: Send, B: FnOnce() -> RB + Send, RB: Send>(
    shared: &Shared,
    context: &WorkerContext,
    first: impl FnOnce() -> RA + Send,
    second: B,
) -> (RA, RB) {
    let Some(queues) = context.queues() else { return join_alone(first, second) };
    // SAFETY: this thread runs the job of the parent group, which ends after this function does; by then
    // the half is done (J-3).
    let group = unsafe { TaskGroup::below(context.group.get(), context.job.get(), 1) };
    // All its contents are taken out before this function ends, so there is nothing to drop.
    let half = ManuallyDrop::new(StackJob {
        head: JobHead { group, run: StackJob::<B, RB>::run_stolen },
        shared,
        body: UnsafeCell::new(second),
        outcome: UnsafeCell::new(MaybeUninit::uninit()),
    });
    // Not `never_unwinding`: its closure would be a separate function with a frame of its own.
    let unwinding = AbortOnDrop;
    let place = queues.push(shared, half.job_ref(), &half.head.group);
    let first = match catch(first) {
        Ok(first) => first,
        Err(payload) => {
            std::mem::forget(unwinding);
            fail(&half, context, place, payload)
        }
    };
    let is_own = queues.take_back(shared, place, &half.head.group);
    std::mem::forget(unwinding);
    conclude(first, if is_own { catch(half.take_body()) } else { half.outwait_thief(context) })
}

/// Ends a join whose first half has panicked.
#[cold]
#[inline(never)]
fn fail<F: FnOnce() -> R + Send, R: Send>(
    half: &StackJob<'_, F, R>,
    context: &WorkerContext,
    place: DequeIndex,
    payload: Payload,
) -> ! {
    let take_back = |queues: &LocalQueues| queues.take_back(half.shared, place, &half.head.group);
    if never_unwinding(|| context.queues().is_some_and(take_back)) {
        resume_without(payload, half.take_body())
    }
    resume_without(payload, half.outwait_thief(context))
}

/// Returns both results, or resumes the panic of the second half.
///
/// Values that a panic makes unreachable are dropped before it is resumed, since a second panic in a drop
/// would abort.
#[inline(always)]
fn conclude<RA, RB>(first: RA, second: Result<RB, Payload>) -> (RA, RB) {
    match second {
        Ok(second) => (first, second),
        Err(payload) => resume_without(payload, first),
    }
}

/// Drops values that no caller gets, then resumes the panic that is the reason.
#[cold]
#[inline(never)]
fn resume_without<T>(payload: Payload, unused: T) -> ! {
    discard(unused);
    resume_unwind(payload)
}
