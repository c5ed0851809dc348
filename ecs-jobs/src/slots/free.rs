//! Which slots are free.

use super::{Slot, Slots};
use crate::sync::{AtomicU32, Mutex, Ordering};

/// The end of a list.
const NONE: u32 = u32::MAX;

/// Two stacks of free slots, linked through the slots themselves.
///
/// Whoever ends a job pushes its slot on `freed`, by one compare-exchange.
/// Whoever takes slots does so under a lock, from a stack of its own, and when
/// that is empty, takes all of `freed` at once. Since nobody ever takes a single
/// one off `freed`, it does not matter whether the slot on top is still the same
/// (the ABA problem of such stacks).
#[derive(Debug)]
pub(super) struct FreeSlots {
    freed: AtomicU32,
    taking: Mutex<Taking>,
    /// `taking.made`, readable without the lock.
    made: AtomicU32,
}

#[derive(Debug)]
struct Taking {
    top: u32,
    /// How many slots have ever been taken.
    made: u32,
}

impl FreeSlots {
    pub(super) fn new() -> Self {
        Self {
            freed: AtomicU32::new(NONE),
            taking: Mutex::new(Taking { top: NONE, made: 0 }),
            made: AtomicU32::new(0),
        }
    }

    /// Takes the index of a free slot, or one of which no slot was made yet.
    pub(super) fn take<'slots>(&self, slot_at: impl Fn(u32) -> &'slots Slot) -> u32 {
        let mut taking = self.taking.lock();
        if taking.top == NONE {
            // Acquire: the slots are as those left them who pushed them.
            taking.top = self.freed.swap(NONE, Ordering::Acquire);
        }
        let index = taking.top;
        if index != NONE {
            taking.top = slot_at(index).next_free.load(Ordering::Relaxed);
            return index;
        }
        let made = taking.made;
        let is_room = (made as usize) < Slots::COUNT_MAX;
        if is_room {
            taking.made += 1;
            // Relaxed: whoever reads it looks into the segment, which is published by itself.
            self.made.store(taking.made, Ordering::Relaxed);
        }
        drop(taking);
        assert!(is_room, "{} jobs are unfinished, and a pool has no more", Slots::COUNT_MAX);
        made
    }

    pub(super) fn give_back(&self, index: u32, slot: &Slot) {
        let mut top = self.freed.load(Ordering::Relaxed);
        loop {
            slot.next_free.store(top, Ordering::Relaxed);
            // Release: see `take`.
            let pushed =
                self.freed.compare_exchange_weak(top, index, Ordering::Release, Ordering::Relaxed);
            match pushed {
                Ok(_) => return,
                Err(other) => top = other,
            }
        }
    }

    /// How many slots there are, give or take those that are being made.
    pub(super) fn made_count(&self) -> u32 {
        self.made.load(Ordering::Relaxed)
    }
}
