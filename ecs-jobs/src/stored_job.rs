//! A closure without its type: small ones inline, large ones in a box.
#![expect(unsafe_code, reason = "keeps a closure of any type in a few bytes")]

use std::fmt;
use std::mem::{ManuallyDrop, MaybeUninit};

/// Closures up to this size lie in the [`StoredJob`] itself.
const INLINE_BYTES: usize = 64;

/// Room for a small closure, or for the box of a large one.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Room(MaybeUninit<[u8; INLINE_BYTES]>);

/// A job that can be run once, on any thread, or dropped.
///
/// ```text
///   room    [ the closure, or a box with it ........ ]   64 bytes
///   table   -> run: takes it out and calls it
///              drop: takes it out and drops it
/// ```
///
/// Invariant J-7: `room` holds one value of the type that `table` was made for,
/// and that type is `Send + 'static`. Running it, or dropping it, takes the
/// value out and ends the `StoredJob`.
pub(crate) struct StoredJob {
    room: Room,
    table: &'static Table,
}

/// What depends on the type of the closure.
struct Table {
    run: unsafe fn(Room),
    drop: unsafe fn(Room),
}

/// One table for each type of closure that is stored, in place or in a box.
trait Stored: FnOnce() + Send + Sized + 'static {
    const TABLE: Table = Table {
        // SAFETY: who calls it keeps to the contract of `take`.
        run: |room| unsafe { take::<Self>(room) }(),
        // SAFETY: as above.
        drop: |room| drop(unsafe { take::<Self>(room) }),
    };
    const FITS: bool =
        size_of::<Self>() <= INLINE_BYTES && align_of::<Self>() <= align_of::<Room>();
}

impl<F: FnOnce() + Send + 'static> Stored for F {}

/// Takes the value out of a room.
///
/// # Safety
///
/// The room holds an `F`, which nobody takes out again (J-7).
unsafe fn take<F: Stored>(room: Room) -> F {
    debug_assert!(F::FITS, "only types that fit are stored in place");
    // SAFETY: the room holds an `F`, and is large enough and aligned for one.
    unsafe { (&raw const room).cast::<F>().read() }
}

impl StoredJob {
    pub(crate) fn new<F: FnOnce() + Send + 'static>(job: F) -> Self {
        // Only one of the two is compiled for a type.
        if const { F::FITS } { Self::inline(job) } else { Self::inline(boxed(job)) }
    }

    fn inline<F: FnOnce() + Send + 'static>(job: F) -> Self {
        let mut room = Room(MaybeUninit::uninit());
        // The caller has looked: only types that fit are stored in place.
        assert!(F::FITS, "a job is stored where it fits");
        // SAFETY: the room is large enough and aligned for an `F`.
        unsafe { (&raw mut room).cast::<F>().write(job) };
        Self { room, table: const { &F::TABLE } }
    }

    /// Runs the job. What it owns is gone afterwards, panic or not.
    pub(crate) fn run(self) {
        let job = ManuallyDrop::new(self);
        // SAFETY: the room holds what the table was made for, and is not used
        // again, since `self` is not dropped (J-7).
        unsafe { (job.table.run)(job.room) }
    }
}

fn boxed<F: FnOnce() + Send + 'static>(job: F) -> impl FnOnce() + Send + 'static {
    let job = Box::new(job);
    move || job()
}

impl Drop for StoredJob {
    fn drop(&mut self) {
        // SAFETY: as in `run`; this is the end of `self` (J-7).
        unsafe { (self.table.drop)(self.room) }
    }
}

// SAFETY: what is inside is `Send` (J-7).
unsafe impl Send for StoredJob {}

impl fmt::Debug for StoredJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoredJob")
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Stores a job with a payload of `N` words; it is counted by its `Arc`.
    fn stored<const N: usize>(sum: &Arc<AtomicUsize>) -> StoredJob {
        let (sum, words) = (Arc::clone(sum), [1_usize; N]);
        StoredJob::new(move || {
            sum.fetch_add(words.iter().sum::<usize>(), Ordering::Relaxed);
        })
    }

    #[test]
    fn small_and_large_jobs_run_once_and_drop_what_they_own() {
        let sum = Arc::new(AtomicUsize::new(0));
        stored::<0>(&sum).run();
        stored::<7>(&sum).run();
        stored::<8>(&sum).run();
        stored::<100>(&sum).run();
        assert_eq!(sum.load(Ordering::Relaxed), 115);
        assert_eq!(Arc::strong_count(&sum), 1);
    }

    #[test]
    fn a_job_that_is_not_run_drops_what_it_owns() {
        let sum = Arc::new(AtomicUsize::new(0));
        drop(stored::<1>(&sum));
        drop(stored::<50>(&sum));
        assert_eq!(sum.load(Ordering::Relaxed), 0);
        assert_eq!(Arc::strong_count(&sum), 1);
    }

    #[test]
    fn a_job_that_panics_drops_what_it_owns() {
        let owned = Arc::new(());
        let inside = Arc::clone(&owned);
        let job = StoredJob::new(move || {
            let _inside = inside;
            std::panic::resume_unwind(Box::new("on purpose"));
        });
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| job.run()));
        assert!(outcome.is_err());
        assert_eq!(Arc::strong_count(&owned), 1);
    }

    #[test]
    fn a_job_with_a_strict_alignment_is_aligned() {
        #[repr(align(64))]
        struct Strict(u8);
        let strict = Strict(7);
        StoredJob::new(move || {
            let inside = &strict;
            assert!((&raw const *inside).is_aligned());
            assert_eq!(inside.0, 7);
        })
        .run();
    }
}
