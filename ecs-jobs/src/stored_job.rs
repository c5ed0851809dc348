//! A type-erased closure: small ones are stored inline, large ones in a box.
#![expect(unsafe_code, reason = "keeps a closure of any type in a few bytes")]

use crate::panic_slot::discard;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// Closures up to this size are stored in the [`StoredJob`] itself.
const INLINE_BYTES: usize = 64;

/// Storage for a small closure, or for the box of a large one.
#[repr(C, align(16))]
struct Storage(MaybeUninit<[u8; INLINE_BYTES]>);

/// A job that can be run once, on any thread, or dropped. It gets a reference to an `A`.
///
/// ```text
///   table    -> run: takes it out and calls it
///               drop: takes it out and drops it
///               none: there is no job
///   storage  [ the closure, or a box with it ........ ]   64 bytes
/// ```
///
/// Invariant J-7: as long as there is a table, `storage` holds one value of the type
/// that it was made for, and that type is `FnOnce(&A) + Send + 'a`. A caller that takes
/// the value out takes the table first.
#[repr(C)]
pub(crate) struct StoredJob<'a, A = ()> {
    /// In front, beside the small closures in a cache line.
    table: Option<&'static Table>,
    storage: Storage,
    /// The type that the storage stands for: it is `Send`, but not `Sync`.
    _job: PhantomData<Box<dyn FnOnce(&A) + Send + 'a>>,
}

/// The functions that depend on the type of the closure. Both take it out of the storage.
struct Table {
    /// The second is a reference to the closure's argument.
    run: unsafe fn(*const Storage, NonNull<()>),
    drop: unsafe fn(*const Storage),
}

/// One table for each type of closure that is stored, in place or in a box.
trait Stored<A>: FnOnce(&A) + Send + Sized {
    const TABLE: Table = Table {
        run: |storage, argument| {
            // SAFETY: the caller meets the requirements of `take` (J-7).
            let job = unsafe { take::<Self>(storage) };
            // SAFETY: the caller has a borrow of an `A` for the argument.
            job(unsafe { argument.cast::<A>().as_ref() });
        },
        // SAFETY: the caller meets the requirements of `take` (J-7).
        drop: |storage| discard(unsafe { take::<Self>(storage) }),
    };
    const FITS: bool =
        size_of::<Self>() <= INLINE_BYTES && align_of::<Self>() <= align_of::<Storage>();
}

impl<A, F: FnOnce(&A) + Send> Stored<A> for F {}

/// Takes the value out of a storage.
///
/// # Safety
///
/// `storage` points to a storage that holds an `F`, which no caller takes out again (J-7).
unsafe fn take<F>(storage: *const Storage) -> F {
    // SAFETY: the storage holds an `F` (J-7), and is large enough and aligned for
    // one.
    unsafe { storage.cast::<F>().read() }
}

impl<'a, A> StoredJob<'a, A> {
    /// No job.
    pub(crate) fn empty() -> Self {
        Self { storage: Storage(MaybeUninit::uninit()), table: None, _job: PhantomData }
    }

    /// Stores a job in an empty place.
    ///
    /// It is written in place rather than created elsewhere and moved: a processor that loads a wide
    /// value just after narrow stores to it stalls on store forwarding.
    pub(crate) fn put<F: FnOnce(&A) + Send + 'a>(&mut self, job: F) {
        // Only one of the two is compiled for a type.
        if const { <F as Stored<A>>::FITS } {
            self.put_inline(job);
        } else {
            self.put_inline(boxed(job));
        }
    }

    fn put_inline<F: FnOnce(&A) + Send + 'a>(&mut self, job: F) {
        assert!(self.table.is_none(), "a job is put where there is none");
        // The caller has checked this: only types that fit are stored in place.
        assert!(<F as Stored<A>>::FITS, "a job is stored where it fits");
        // SAFETY: the storage is large enough and aligned for an `F`, and holds no value (J-7), as there was
        // no table.
        unsafe { (&raw mut self.storage).cast::<F>().write(job) };
        self.table = Some(const { &<F as Stored<A>>::TABLE });
    }

    /// Runs the job in place. Everything that it owns is dropped, even on a panic.
    ///
    /// # Panics
    ///
    /// Panics if there is none.
    pub(crate) fn run(&mut self, argument: &A) {
        let table = self.table.take().expect("a job is run once");
        // SAFETY: the storage holds a value of the table's type (J-7), which gets an `A`. No caller takes it
        // out again, since the table is gone.
        unsafe { (table.run)(&raw const self.storage, NonNull::from(argument).cast()) }
    }

    /// Drops the job, if there is one. A panic of the drop is caught: the job is dropped because of
    /// another panic, or with others, and a second panic would abort the process.
    pub(crate) fn clear(&mut self) {
        if let Some(table) = self.table.take() {
            // SAFETY: as in `run` (J-7).
            unsafe { (table.drop)(&raw const self.storage) }
        }
    }
}

fn boxed<'a, A, F: FnOnce(&A) + Send + 'a>(job: F) -> impl FnOnce(&A) + Send + 'a {
    let job = Box::new(job);
    move |argument: &A| job(argument)
}

impl<A> Drop for StoredJob<'_, A> {
    fn drop(&mut self) {
        self.clear();
    }
}

debug_fields!([A] StoredJob<'_, A>:);

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn job<'a>(run: impl FnOnce() + Send + 'a) -> StoredJob<'a> {
        let mut stored = StoredJob::empty();
        stored.put(|&()| run());
        stored
    }

    /// Stores a job with a payload of `N` words, counted by its `Arc`.
    fn stored<const N: usize>(sum: &Arc<AtomicUsize>) -> StoredJob<'static> {
        let (sum, words) = (Arc::clone(sum), [1_usize; N]);
        job(move || {
            sum.fetch_add(words.iter().sum::<usize>(), Ordering::Relaxed);
        })
    }

    #[test]
    fn small_and_large_jobs_run_once_and_drop_what_they_own() {
        let sum = Arc::new(AtomicUsize::new(0));
        stored::<0>(&sum).run(&());
        stored::<7>(&sum).run(&());
        stored::<8>(&sum).run(&());
        stored::<100>(&sum).run(&());
        assert_eq!(sum.load(Ordering::Relaxed), 115);
        assert_eq!(Arc::strong_count(&sum), 1);
    }

    #[test]
    fn a_job_may_borrow_and_gets_its_argument() {
        let (mut small, mut large) = (0, [0; 20]);
        let mut one = StoredJob::<'_, i32>::empty();
        one.put(|argument| small = *argument);
        let mut other = StoredJob::<'_, i32>::empty();
        let owned = [1; 20];
        other.put(|argument| large = owned.map(|one| one + *argument));
        one.run(&7);
        other.run(&8);
        drop((one, other));
        assert_eq!((small, large), (7, [9; 20]));
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
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| failing.run(&())));
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
        .run(&());
    }
}
