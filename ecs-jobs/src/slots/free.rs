//! Which slots are free.

use super::{KEPT_COUNT, Slot};
use crate::sync::{AtomicU32, Mutex, Ordering, needed};
use crossbeam_utils::CachePadded;

/// The end of a list.
const NONE: u32 = u32::MAX;
/// How many threads have a stack of their own, in each pool.
pub(super) const PLACE_COUNT: usize = if cfg!(any(loom, shuttle)) { 0 } else { 64 };
/// How many slots go between the stack of a thread and those of all at once.
const SHARE: u32 = 16;

/// Stacks of free slots, linked through the slots themselves.
///
/// ```text
///   places   [ one stack per thread ]   no lock, no locked instruction
///                |  ^
///          16 at once, either way
///                v  |
///   freed, taking   two stacks for all
/// ```
///
/// A thread with too many slots pushes them on `freed`, by one compare-exchange.
/// A thread with none takes them under a lock from `taking`, and when that is empty,
/// takes all of `freed` over. Since no thread ever takes a single one off `freed`, it
/// does not matter whether the slot on top is still the same (the ABA problem of
/// such stacks).
#[derive(Debug)]
pub(super) struct FreeSlots {
    places: Box<[CachePadded<Place>]>,
    freed: CachePadded<AtomicU32>,
    taking: Mutex<Taking>,
}

/// The stack of the thread that has this place. No other thread touches it (J-9), so
/// all accesses are relaxed.
#[derive(Debug)]
struct Place {
    top: AtomicU32,
    len: AtomicU32,
}

#[derive(Debug)]
struct Taking {
    top: u32,
    /// How many slots have ever been taken.
    made: u32,
}

impl FreeSlots {
    pub(super) fn new() -> Self {
        let place = || Place { top: AtomicU32::new(NONE), len: AtomicU32::new(0) };
        Self {
            places: (0..PLACE_COUNT).map(|_| CachePadded::new(place())).collect(),
            freed: CachePadded::new(AtomicU32::new(NONE)),
            taking: Mutex::new(Taking { top: NONE, made: 0 }),
        }
    }

    /// The stack of the calling thread, which has this place.
    fn own(&self, place: Option<usize>) -> Option<&Place> {
        self.places.get(place?).map(|place| &**place)
    }

    /// Takes the index of a free slot, or one of which no slot was made yet; `None` if all are taken.
    pub(super) fn take<'slots>(
        &self,
        place: Option<usize>,
        slot_at: impl Fn(u32) -> &'slots Slot,
    ) -> Option<u32> {
        let Some(own) = self.own(place) else { return Some(self.take_shared(0, slot_at)?.0) };
        let top = own.top.load(Ordering::Relaxed);
        let len = own.len.load(Ordering::Relaxed);
        let (index, rest, rest_len) = if top == NONE {
            self.take_shared(SHARE - 1, &slot_at)?
        } else {
            (top, slot_at(top).next_free.load(Ordering::Relaxed), len - 1)
        };
        own.top.store(rest, Ordering::Relaxed);
        own.len.store(rest_len, Ordering::Relaxed);
        Some(index)
    }

    /// Takes an index as above, and besides up to `more` of slots that have been
    /// made, as a list and its length.
    fn take_shared<'slots>(
        &self,
        more: u32,
        slot_at: impl Fn(u32) -> &'slots Slot,
    ) -> Option<(u32, u32, u32)> {
        let mut taking = self.taking.lock();
        if taking.top == NONE {
            // Acquire: the slots are as those left them who pushed them.
            taking.top = self.freed.swap(NONE, needed("freed_take", Ordering::Acquire));
        }
        let index = taking.top;
        if index == NONE {
            let made = taking.made;
            if made == KEPT_COUNT {
                return None;
            }
            taking.made += 1;
            return Some((made, NONE, 0));
        }
        let next = |index: u32| slot_at(index).next_free.load(Ordering::Relaxed);
        let (rest, mut last, mut len) = (next(index), index, 0);
        while len < more && next(last) != NONE {
            last = next(last);
            len += 1;
        }
        taking.top = next(last);
        if len == 0 {
            return Some((index, NONE, 0));
        }
        slot_at(last).next_free.store(NONE, Ordering::Relaxed);
        Some((index, rest, len))
    }

    /// Gives a slot back that no thread has any more.
    pub(super) fn give_back<'slots>(
        &self,
        place: Option<usize>,
        index: u32,
        slot: &'slots Slot,
        slot_at: impl Fn(u32) -> &'slots Slot,
    ) {
        let Some(own) = self.own(place) else { return self.push_freed(index, slot) };
        let top = own.top.load(Ordering::Relaxed);
        let len = own.len.load(Ordering::Relaxed);
        slot.next_free.store(top, Ordering::Relaxed);
        if len < 2 * SHARE {
            own.top.store(index, Ordering::Relaxed);
            own.len.store(len + 1, Ordering::Relaxed);
            return;
        }
        // This one and the newest half of the others go to all.
        let mut last = slot;
        for _ in 0..SHARE {
            last = slot_at(last.next_free.load(Ordering::Relaxed));
        }
        own.top.store(last.next_free.load(Ordering::Relaxed), Ordering::Relaxed);
        own.len.store(len - SHARE, Ordering::Relaxed);
        self.push_freed(index, last);
    }

    /// Pushes a list of slots, from `first` to `last`, on `freed`.
    fn push_freed(&self, first: u32, last: &Slot) {
        let mut top = self.freed.load(Ordering::Relaxed);
        loop {
            last.next_free.store(top, Ordering::Relaxed);
            // Release: see `take_shared`.
            let order = needed("freed_push", Ordering::Release);
            let pushed = self.freed.compare_exchange_weak(top, first, order, Ordering::Relaxed);
            match pushed {
                Ok(_) => return,
                Err(other) => top = other,
            }
        }
    }
}
