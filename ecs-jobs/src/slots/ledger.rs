//! The free slots, and the counts of jobs that were added and have ended.

use super::KEPT_COUNT;
use crate::sync::{AtomicU32, AtomicU64, Mutex, Ordering, needed};
use crossbeam_utils::CachePadded;

/// The number of threads with a ledger of their own, in each pool.
pub(super) const THREAD_COUNT: usize = if cfg!(any(loom, shuttle)) { 0 } else { 64 };
/// The number of free slots that a thread keeps for itself.
const OWN_MAX: usize = 2 * SHARE;
/// The number of slots that move between a thread and the shared stack at once.
const SHARE: usize = 16;

/// Free slots and counts per thread. Only the thread itself changes them, so a job costs no locked
/// instruction.
///
/// ```text
///   threads   [ a stack for each thread ]   no lock, no locked instruction
///                |  ^
///          16 at once, either way
///                v  |
///   shared   a stack for all, behind a lock
/// ```
///
/// A thread that asks whether all jobs have ended reads all counts of ended jobs first, and then all
/// counts of added ones. Every job that it sees as ended it also sees as added, so the first sum is at
/// most the second. If they are equal, all jobs added up to then have ended.
#[derive(Debug)]
pub(crate) struct Ledger {
    threads: Box<[CachePadded<ThreadLedger>]>,
    /// The ledger of threads without one of their own; its stack stays empty.
    others: CachePadded<ThreadLedger>,
    shared: CachePadded<Mutex<Shared>>,
}

/// The counts of one thread, and the slots that it has freed. No other thread changes them (J-9), so the
/// thread's own accesses are relaxed.
#[derive(Debug)]
pub(crate) struct ThreadLedger {
    added: AtomicU64,
    ended: AtomicU64,
    len: AtomicU32,
    free: [AtomicU32; OWN_MAX],
}

#[derive(Debug)]
struct Shared {
    free: Vec<u32>,
    /// The number of slots that have ever been taken.
    made: u32,
}

impl Ledger {
    pub(crate) fn new(thread_count: usize) -> Self {
        let ledger = || {
            CachePadded::new(ThreadLedger {
                added: AtomicU64::new(0),
                ended: AtomicU64::new(0),
                len: AtomicU32::new(0),
                free: std::array::from_fn(|_| AtomicU32::new(0)),
            })
        };
        let shared = Shared { free: Vec::with_capacity(OWN_MAX), made: 0 };
        Self {
            threads: (0..thread_count).map(|_| ledger()).collect(),
            others: ledger(),
            shared: CachePadded::new(Mutex::new(shared)),
        }
    }

    /// The ledger of the calling thread, which has this index, if it has one.
    #[inline]
    pub(crate) fn own(&self, index: Option<usize>) -> Option<&ThreadLedger> {
        self.threads.get(index?).map(|own| &**own)
    }

    /// Takes the index of a free slot, or one for which no slot exists yet; `None` if all are taken.
    #[inline]
    pub(super) fn take(&self, own: Option<&ThreadLedger>) -> Option<u32> {
        match own.and_then(ThreadLedger::pop) {
            Some(index) => Some(index),
            None => self.take_shared(own),
        }
    }

    #[cold]
    fn take_shared(&self, own: Option<&ThreadLedger>) -> Option<u32> {
        let mut shared = self.shared.lock();
        if let Some(index) = shared.free.pop() {
            let rest = shared.free.len().saturating_sub(SHARE - 1);
            if let Some(own) = own {
                shared.free.drain(rest..).for_each(|index| own.push(index));
            }
            return Some(index);
        }
        let made = shared.made;
        shared.made += u32::from(made < KEPT_COUNT);
        (made < KEPT_COUNT).then_some(made)
    }

    /// Frees a slot that no thread uses any more.
    #[inline]
    pub(super) fn give_back(&self, own: Option<&ThreadLedger>, index: u32) {
        match own {
            Some(own) if own.len() < OWN_MAX => own.push(index),
            _ => self.give_back_shared(own, index),
        }
    }

    #[cold]
    fn give_back_shared(&self, own: Option<&ThreadLedger>, index: u32) {
        let mut shared = self.shared.lock();
        shared.free.push(index);
        // This slot and the newer half of the thread's own go to the shared stack.
        if let Some(own) = own {
            shared.free.extend((0..SHARE).map_while(|_| own.pop()));
        }
    }

    /// Counts a job that no other thread knows yet.
    #[inline]
    pub(crate) fn add_one(&self, own: Option<&ThreadLedger>) {
        // Relaxed: a thread that sees the job end sees this as well.
        match own {
            Some(own) => add_alone(&own.added, Ordering::Relaxed),
            None => _ = self.others.added.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// Counts a job that has ended.
    #[inline]
    pub(crate) fn end_one(&self, own: Option<&ThreadLedger>) {
        // Release: publishes the effects of the job, and the fact that it was added.
        let order = needed("ledger_end", Ordering::Release);
        match own {
            Some(own) => add_alone(&own.ended, order),
            None => _ = self.others.ended.fetch_add(1, order),
        }
    }

    /// Whether all jobs added before this call have ended. If so, their effects are visible.
    pub(crate) fn is_even(&self) -> bool {
        let all = || self.threads.iter().chain([&self.others]);
        let order = needed("ledger_is_even", Ordering::Acquire);
        let ended = all().fold(0, |sum: u64, own| sum.wrapping_add(own.ended.load(order)));
        let added =
            all().fold(0, |sum: u64, own| sum.wrapping_add(own.added.load(Ordering::Relaxed)));
        ended == added
    }
}

impl ThreadLedger {
    #[inline]
    fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed) as usize
    }

    #[inline]
    fn push(&self, index: u32) {
        let len = self.len.load(Ordering::Relaxed);
        self.free[len as usize].store(index, Ordering::Relaxed);
        self.len.store(len + 1, Ordering::Relaxed);
    }

    #[inline]
    fn pop(&self) -> Option<u32> {
        let len = self.len.load(Ordering::Relaxed).checked_sub(1)?;
        self.len.store(len, Ordering::Relaxed);
        Some(self.free[len as usize].load(Ordering::Relaxed))
    }
}

/// Increments a counter that only the calling thread changes.
fn add_alone(counter: &AtomicU64, order: Ordering) {
    if cfg!(loom) {
        // loom does not try schedules between a load and a store of one thread, nor before them.
        counter.fetch_add(1, order);
    } else {
        counter.store(counter.load(Ordering::Relaxed) + 1, order);
    }
}
