//! Join: two closures, the second of which another thread may steal.
#![expect(unsafe_code, reason = "the second half lies in the caller's frame while a thief runs it")]

use crate::context::WorkerContext;
use crate::panic_slot::{AbortOnDrop, Payload, catch, discard};
use crate::shared::Shared;
use crate::sync::UnsafeCell;
use crate::task_group::{JobRef, TaskGroup};
use crate::wait::wait_until_done;
use std::mem::ManuallyDrop;
use std::panic::resume_unwind;
use std::ptr::NonNull;

/// The second half of a join, in the frame of the thread that called it.
///
/// Invariant J-6: until the half's [`JobRef`] is used up, no thread touches the two cells. If a thief
/// runs the half, they belong to the thief until the group is done. Then, or if the owner took the
/// reference back, they belong to the owner.
struct StackJob<'pool, F, R> {
    shared: &'pool Shared,
    /// Counts one: this half.
    group: TaskGroup,
    body: UnsafeCell<Option<F>>,
    result: UnsafeCell<Option<R>>,
}

impl<F, R> StackJob<'_, F, R>
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    fn job_ref(&self) -> JobRef {
        // SAFETY: `join` leaves the frame only after the reference is used up and the thief, if there was
        // one, is done (J-4). The bounds on `F` and `R` allow any thread.
        unsafe {
            JobRef::new(NonNull::from(self).cast(), NonNull::from(&self.group), Self::run_stolen)
        }
    }

    /// The function that a thief calls.
    ///
    /// # Safety
    ///
    /// `half` is a pointer that `job_ref` made a reference of, and this call uses it up (J-4).
    unsafe fn run_stolen(half: NonNull<()>) {
        // SAFETY: the half is alive until its group is done, which the last line below causes (J-4). The
        // borrow is not used after that.
        let half = unsafe { half.cast::<Self>().as_ref() };
        let (shared, group) = (half.shared, NonNull::from(&half.group));
        WorkerContext::with(shared, |context| context.inside(&half.group, || half.run_into_cell()));
        // SAFETY: the group counts this half, which has just finished (J-2).
        unsafe { TaskGroup::finish_one(group, &shared.sleepers) };
    }

    fn run_into_cell(&self) {
        let result = self.group.run(self.take_body());
        self.result.with_mut(|cell| {
            // SAFETY: the cell belongs to the thief until the group is done (J-6).
            unsafe { *cell = result };
        });
    }

    /// Takes the closure out. Called once, by the thread that used up the reference.
    fn take_body(&self) -> F {
        let body = self.body.with_mut(|cell| {
            // SAFETY: the caller used up the reference, so the cell is the caller's (J-6).
            unsafe { (*cell).take() }
        });
        body.expect("a half runs once")
    }

    /// Takes the result that the thief left, once it is done.
    fn take_outcome(&self) -> Result<R, Payload> {
        debug_assert!(self.group.is_done(), "the thief is done");
        let result = self.result.with_mut(|cell| {
            // SAFETY: the group is done, so the cell is the owner's (J-6).
            unsafe { (*cell).take() }
        });
        let panic = self.group.panics.take();
        panic.map_or_else(|| Ok(result.expect("a half without a panic has a result")), Err)
    }
}

/// Runs both closures, in parallel if another thread is free.
///
/// Nearly all joins are one half of a larger one and are not stolen: they cost a few nanoseconds. The
/// slow paths, which register, share and wait, are `inline(never)` and not just `cold`: link-time
/// optimisation inlines functions with a single caller, and then every join pays for their registers and
/// frame.
pub(crate) fn join<A, B, RA, RB>(shared: &Shared, first: A, second: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
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
fn join_alone<A, B, RA, RB>(first: A, second: B) -> (RA, RB)
where
    A: FnOnce() -> RA,
    B: FnOnce() -> RB,
{
    conclude(catch(first), second, catch)
}

/// A separate function, so that the nested joins do not pay for its setup.
#[cold]
#[inline(never)]
fn join_from_outside<A, B, RA, RB>(shared: &Shared, first: A, second: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    WorkerContext::with_external(shared, |context| join_inside(shared, context, first, second))
}

/// A function of its own, whose arguments are passed in registers; a closure's captures are passed in
/// memory.
#[inline(never)]
fn join_inside<A, B, RA, RB>(
    shared: &Shared,
    context: &WorkerContext,
    first: A,
    second: B,
) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    let Some(queues) = context.queues() else { return join_alone(first, second) };
    // SAFETY: this thread runs the job of the parent group, which ends after this function does; by then
    // the half is done (J-3).
    let group = unsafe { TaskGroup::below(context.group.get(), context.job.get(), 1) };
    // All its contents are taken out before this function ends, so there is nothing to drop.
    let half = ManuallyDrop::new(StackJob {
        shared,
        group,
        body: UnsafeCell::new(Some(second)),
        result: UnsafeCell::new(None),
    });
    // Not `never_unwinding`: its closure would be a separate function with a frame of its own.
    let unwinding = AbortOnDrop;
    let place = queues.push(shared, half.job_ref(), &half.group);
    let first = catch(first);
    let is_own = queues.take_back(shared, place, NonNull::from(&*half).cast(), &half.group);
    if !is_own {
        wait_for_thief(shared, context, &half.group);
    }
    std::mem::forget(unwinding);
    if is_own { conclude(first, half.take_body(), catch) } else { conclude_stolen(first, &half) }
}

#[cold]
#[inline(never)]
fn wait_for_thief(shared: &Shared, context: &WorkerContext, group: &TaskGroup) {
    wait_until_done(shared, context, group, None);
}

#[cold]
#[inline(never)]
fn conclude_stolen<RA, F, RB>(first: Result<RA, Payload>, half: &StackJob<'_, F, RB>) -> (RA, RB)
where
    F: FnOnce() -> RB + Send,
    RB: Send,
{
    conclude(first, half.take_outcome(), |outcome| outcome)
}

/// Returns both results, or resumes a panic: the first half's, else the second's.
///
/// `second` is the remainder of the second half, its closure or its outcome, and `run` turns it into an
/// outcome. Values that a panic makes unreachable are dropped before it is resumed, since a second panic
/// in a drop would abort.
#[inline(always)]
fn conclude<RA, RB, S>(
    first: Result<RA, Payload>,
    second: S,
    run: impl FnOnce(S) -> Result<RB, Payload>,
) -> (RA, RB) {
    match first {
        Ok(first) => match run(second) {
            Ok(second) => (first, second),
            Err(payload) => resume_without(payload, first),
        },
        Err(payload) => resume_without(payload, second),
    }
}

/// Drops values that no caller gets, then resumes the panic that is the reason.
#[cold]
#[inline(never)]
fn resume_without<T>(payload: Payload, unused: T) -> ! {
    discard(unused);
    resume_unwind(payload)
}
