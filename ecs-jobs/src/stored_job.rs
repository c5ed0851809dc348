//! A closure without its type: small ones inline, large ones in a box.
#![expect(unsafe_code, reason = "keeps a closure of any type in a few bytes")]

use std::fmt;
use std::mem::MaybeUninit;

/// Closures up to this size lie in the [`StoredJob`] itself.
const INLINE_BYTES: usize = 64;

/// Room for a small closure, or for the box of a large one.
#[repr(C, align(16))]
struct Room(MaybeUninit<[u8; INLINE_BYTES]>);

/// A job that can be run once, on any thread, or dropped.
///
/// ```text
///   room    [ the closure, or a box with it ........ ]   64 bytes
///   table   -> run: takes it out and calls it
///              drop: takes it out and drops it
///              none: there is no job
/// ```
///
/// Invariant J-7: as long as there is a table, `room` holds one value of the type
/// that it was made for, and that type is `Send + 'static`. Whoever takes the
/// value out takes the table first.
pub(crate) struct StoredJob {
    room: Room,
    table: Option<&'static Table>,
}

/// What depends on the type of the closure. Both take it out of the room.
struct Table {
    run: unsafe fn(*const Room),
    drop: unsafe fn(*const Room),
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
/// `room` points to a room that holds an `F`, which nobody takes out again (J-7).
unsafe fn take<F: Stored>(room: *const Room) -> F {
    debug_assert!(F::FITS, "only types that fit are stored in place");
    // SAFETY: the room holds an `F`, and is large enough and aligned for one.
    unsafe { room.cast::<F>().read() }
}

impl StoredJob {
    /// No job.
    pub(crate) fn empty() -> Self {
        Self { room: Room(MaybeUninit::uninit()), table: None }
    }

    /// Puts a job into an empty place.
    ///
    /// Where it is to lie, and not made elsewhere and moved: a processor that
    /// loads wide what was just stored narrow waits for the store.
    pub(crate) fn put<F: FnOnce() + Send + 'static>(&mut self, job: F) {
        // Only one of the two is compiled for a type.
        if const { F::FITS } { self.put_inline(job) } else { self.put_inline(boxed(job)) }
    }

    fn put_inline<F: FnOnce() + Send + 'static>(&mut self, job: F) {
        assert!(self.table.is_none(), "a job is put where there is none");
        // The caller has looked: only types that fit are stored in place.
        assert!(F::FITS, "a job is stored where it fits");
        // SAFETY: the room is large enough and aligned for an `F`.
        unsafe { (&raw mut self.room).cast::<F>().write(job) };
        self.table = Some(const { &F::TABLE });
    }

    /// Runs the job, where it lies. What it owns is gone afterwards, panic or not.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub(crate) fn run(&mut self) {
        let table = self.table.take().expect("a job is run once");
        // SAFETY: the room holds what the table was made for (J-7), and nobody
        // takes it out again, since the table is gone.
        unsafe { (table.run)(&raw const self.room) }
    }

    /// Takes the job out.
    pub(crate) fn take(&mut self) -> Self {
        std::mem::replace(self, Self::empty())
    }

    /// Drops the job, if there is one.
    pub(crate) fn clear(&mut self) {
        if let Some(table) = self.table.take() {
            // SAFETY: as in `run` (J-7).
            unsafe { (table.drop)(&raw const self.room) }
        }
    }
}

fn boxed<F: FnOnce() + Send + 'static>(job: F) -> impl FnOnce() + Send + 'static {
    let job = Box::new(job);
    move || job()
}

impl Drop for StoredJob {
    fn drop(&mut self) {
        self.clear();
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

    fn job(run: impl FnOnce() + Send + 'static) -> StoredJob {
        let mut stored = StoredJob::empty();
        stored.put(run);
        stored
    }

    /// Stores a job with a payload of `N` words; it is counted by its `Arc`.
    fn stored<const N: usize>(sum: &Arc<AtomicUsize>) -> StoredJob {
        let (sum, words) = (Arc::clone(sum), [1_usize; N]);
        job(move || {
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
        let mut failing = job(move || {
            let _inside = inside;
            std::panic::resume_unwind(Box::new("on purpose"));
        });
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| failing.run()));
        assert!(outcome.is_err());
        assert_eq!(Arc::strong_count(&owned), 1);
    }

    #[test]
    fn a_job_with_a_strict_alignment_is_aligned() {
        #[repr(align(64))]
        struct Strict(u8);
        let strict = Strict(7);
        job(move || {
            let inside = &strict;
            assert!((&raw const *inside).is_aligned());
            assert_eq!(inside.0, 7);
        })
        .run();
    }
}
