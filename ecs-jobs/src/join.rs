//! Join: two closures, the second of which another thread may take.
#![expect(unsafe_code, reason = "the second half lies in the caller's frame while a thief runs it")]

use crate::group::Group;
use crate::halves::Place;
use crate::job::JobRef;
use crate::panic_slot::{AbortOnDrop, Payload, catch, discard};
use crate::seat::Seat;
use crate::shared::{Bench, Shared};
use crate::sync::UnsafeCell;
use crate::wait::wait_until_done;
use std::mem::ManuallyDrop;
use std::panic::resume_unwind;
use std::ptr::NonNull;

/// The second half of a join, in the frame of the thread that called it.
///
/// Invariant J-6: until the half's [`JobRef`] is used up, nobody touches the two
/// cells. If a thief runs it they are the thief's until the group is done; then,
/// or if the owner took the reference back, they are the owner's.
struct Half<'pool, F, R> {
    shared: &'pool Shared,
    /// Counts one: this half.
    group: Group,
    body: UnsafeCell<Option<F>>,
    result: UnsafeCell<Option<R>>,
}

impl<F, R> Half<'_, F, R>
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    fn job_ref(&self) -> JobRef {
        // SAFETY: `join` leaves the frame only after the reference is used up
        // and the thief, if there was one, is done (J-4). The bounds on `F` and
        // `R` allow any thread.
        unsafe { JobRef::new(NonNull::from(self).cast(), Self::run_stolen) }
    }

    /// What a thief calls.
    ///
    /// # Safety
    ///
    /// `half` is what `job_ref` made a reference of, and this call uses it up (J-4).
    unsafe fn run_stolen(half: NonNull<()>) {
        // SAFETY: the half is alive until its group is done, which is the last
        // line below (J-4). The borrow is not used after that.
        let half = unsafe { half.cast::<Self>().as_ref() };
        let (shared, group) = (half.shared, NonNull::from(&half.group));
        Seat::with(shared, |seat| seat.inside(&half.group, || half.run_into_cell()));
        // SAFETY: the group counts this half, which has just finished (J-2).
        unsafe { Group::finish_one(group, &shared.parkers) };
    }

    fn run_into_cell(&self) {
        let result = self.group.run(self.take_body());
        self.result.with_mut(|cell| {
            // SAFETY: the thief's until the group is done (J-6).
            unsafe { *cell = result };
        });
    }

    /// Takes the closure out. Called once, by whoever used up the reference.
    fn take_body(&self) -> F {
        let body = self.body.with_mut(|cell| {
            // SAFETY: the caller used up the reference, so the cell is its (J-6).
            unsafe { (*cell).take() }
        });
        body.expect("a half runs once")
    }

    /// Takes out what the thief left, once it is done.
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

/// Runs both closures, at the same time if another thread is free.
///
/// Nearly all joins are one half of a larger one, and nobody steals from them: a few nanoseconds.
/// What the others need, to sit down, to share and to wait, is `inline(never)` and not just `cold`,
/// since link-time optimisation inlines whatever is called from one place only, and then every join
/// pays for its registers and its frame.
pub(crate) fn join<A, B, RA, RB>(shared: &Shared, first: A, second: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    // Nobody steals in a pool without workers, nor from a thread without a bench.
    if shared.worker_count == 0 {
        return join_alone(first, second);
    }
    Seat::with_any(shared, |seat| match seat {
        Some(seat) => join_seated(shared, seat, first, second),
        None => join_from_outside(shared, first, second),
    })
}

/// Apart, so that what it needs is not made ready for each of the joins inside.
#[cold]
#[inline(never)]
fn join_from_outside<A, B, RA, RB>(shared: &Shared, first: A, second: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    Seat::with_guest(shared, |seat| join_seated(shared, seat, first, second))
}

#[inline(always)]
fn join_seated<A, B, RA, RB>(shared: &Shared, seat: &Seat, first: A, second: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    match seat.bench() {
        Some(bench) => join_shared(shared, (seat, bench), first, second),
        None => join_alone(first, second),
    }
}

/// Both halves, one after the other, where nobody can steal.
#[inline(never)]
fn join_alone<A, B, RA, RB>(first: A, second: B) -> (RA, RB)
where
    A: FnOnce() -> RA,
    B: FnOnce() -> RB,
{
    conclude(catch(first), second, catch)
}

#[inline(always)]
fn join_shared<A, B, RA, RB>(
    shared: &Shared,
    (seat, bench): (&Seat, &Bench),
    first: A,
    second: B,
) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    // SAFETY: this thread runs the job that the parent is about, which ends after this function
    // does, and then the half is done (J-3).
    let group = unsafe { Group::below(seat.group(), seat.job(), 1, seat.bench_parker()) };
    // All that is in it is taken out before this function ends, so there is nothing to drop.
    let half = ManuallyDrop::new(Half {
        shared,
        group,
        body: UnsafeCell::new(Some(second)),
        result: UnsafeCell::new(None),
    });
    // Not `never_unwinding`: its closure would be a function of its own, with a frame of its own.
    let unwinding = AbortOnDrop;
    let place = bench.push(shared, half.job_ref());
    let first = match catch(first) {
        Ok(first) => first,
        Err(payload) => {
            std::mem::forget(unwinding);
            resume_first(shared, (seat, bench), place, &half, payload);
        }
    };
    let is_own = bench.take_back(shared, place, NonNull::from(&*half).cast());
    if !is_own {
        wait_for_thief(shared, seat, &half.group);
    }
    std::mem::forget(unwinding);
    if is_own {
        conclude(Ok(first), half.take_body(), catch)
    } else {
        conclude_stolen(first, &half)
    }
}

/// The first half has panicked: the second is not begun any more, or waited for; then that goes on.
#[cold]
#[inline(never)]
fn resume_first<F, R>(
    shared: &Shared,
    (seat, bench): (&Seat, &Bench),
    place: Place,
    half: &Half<'_, F, R>,
    payload: Payload,
) -> !
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    let unwinding = AbortOnDrop;
    let is_own = bench.take_back(shared, place, NonNull::from(half).cast());
    if !is_own {
        wait_for_thief(shared, seat, &half.group);
    }
    std::mem::forget(unwinding);
    if is_own {
        resume_without(payload, half.take_body())
    } else {
        resume_without(payload, half.take_outcome())
    }
}

#[cold]
#[inline(never)]
fn wait_for_thief(shared: &Shared, seat: &Seat, group: &Group) {
    wait_until_done(shared, seat, group, None);
}

#[cold]
#[inline(never)]
fn conclude_stolen<RA, F, RB>(first: RA, half: &Half<'_, F, RB>) -> (RA, RB)
where
    F: FnOnce() -> RB + Send,
    RB: Send,
{
    conclude(Ok(first), half.take_outcome(), |outcome| outcome)
}

/// Both results, or the panic to resume: the first half's, else the second's.
///
/// `second` is whatever there is of the second half, its closure or its outcome,
/// and `run` makes an outcome of it. What nobody gets because of a panic is
/// dropped before that is resumed, lest a second panic in the drop abort.
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

/// Drops what nobody gets, then resumes the panic on whose account that is.
#[cold]
#[inline(never)]
fn resume_without<T>(payload: Payload, nobodys: T) -> ! {
    discard(nobodys);
    resume_unwind(payload)
}
