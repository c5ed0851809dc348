//! Tables of everything that has a handle.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{ReentrantMutex, RwLock};

use crate::status::{Failure, fm_status};

/// Handles of one kind, and what they stand for.
#[derive(Debug)]
pub(crate) struct Table<T> {
    what: &'static str,
    /// With the last handle of each place.
    slots: Vec<(u64, Option<T>)>,
    free: Vec<usize>,
}

/// How many handles there have been, in all tables.
static HANDLES: AtomicU64 = AtomicU64::new(0);
/// The bits of a handle that are its place; the others are its number among all. So one of another world or
/// of another kind is none, until there were 2^40 of them.
const PLACE_BITS: u32 = 24;

impl<T> Table<T> {
    pub(crate) const fn new(what: &'static str) -> Self {
        Self { what, slots: Vec::new(), free: Vec::new() }
    }

    pub(crate) fn insert(&mut self, value: T) -> u64 {
        let place = self.free.pop().unwrap_or(self.slots.len());
        assert!(place >> PLACE_BITS == 0, "there are 2^{PLACE_BITS} of them in use: {}", self.what);
        let number = HANDLES.fetch_add(1, Ordering::Relaxed) + 1;
        let handle = number << PLACE_BITS | place as u64;
        if place == self.slots.len() {
            self.slots.push((0, None));
        }
        self.slots[place] = (handle, Some(value));
        handle
    }

    fn place(handle: u64) -> usize {
        (handle & ((1 << PLACE_BITS) - 1)) as usize
    }

    pub(crate) fn get(&self, handle: u64) -> Result<&T, Failure> {
        match self.slots.get(Self::place(handle)) {
            Some((own, Some(value))) if *own == handle => Ok(value),
            _ => Err(stale(self.what, handle)),
        }
    }

    pub(crate) fn get_mut(&mut self, handle: u64) -> Result<&mut T, Failure> {
        match self.slots.get_mut(Self::place(handle)) {
            Some((own, Some(value))) if *own == handle => Ok(value),
            _ => Err(stale(self.what, handle)),
        }
    }

    pub(crate) fn remove(&mut self, handle: u64) -> Result<T, Failure> {
        self.get(handle)?;
        let place = Self::place(handle);
        self.free.push(place);
        let value = self.slots[place].1.take();
        Ok(value.expect("it was just found"))
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().filter_map(|(_, value)| value.as_ref())
    }
}

fn stale(what: &str, handle: u64) -> Failure {
    Failure::new(fm_status::FM_BAD_HANDLE, format!("{handle:#x} is no {what} that is in use"))
}

/// Things that any thread may ask for by their handle, one thread at a time.
pub(crate) struct Shared<T> {
    what: &'static str,
    table: RwLock<Table<Arc<Owned<T>>>>,
}

/// By one thread at a time; a call inside of a call finds it borrowed. `None` once it was freed, for
/// a thread that found it in the table before that.
type Owned<T> = ReentrantMutex<RefCell<Option<T>>>;

impl<T> Shared<T> {
    pub(crate) const fn new(what: &'static str) -> Self {
        Self { what, table: RwLock::new(Table::new(what)) }
    }

    pub(crate) fn insert(&self, value: T) -> u64 {
        self.table.write().insert(Arc::new(ReentrantMutex::new(RefCell::new(Some(value)))))
    }

    fn with_slot<R>(
        &self,
        handle: u64,
        body: impl FnOnce(&mut Option<T>) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let found = Arc::clone(self.table.read().get(handle)?);
        let owned = found.lock();
        let mut slot = owned.try_borrow_mut().map_err(|_| self.busy())?;
        body(&mut slot)
    }

    pub(crate) fn with<R>(
        &self,
        handle: u64,
        body: impl FnOnce(&mut T) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        self.with_slot(handle, |slot| body(slot.as_mut().ok_or_else(|| self.none(handle))?))
    }

    /// Frees it; `ready` says whether it may go, and no other call comes between.
    pub(crate) fn free(
        &self,
        handle: u64,
        ready: impl FnOnce(&T) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let taken = self.with_slot(handle, |slot| {
            ready(slot.as_ref().ok_or_else(|| self.none(handle))?)?;
            Ok(slot.take())
        })?;
        self.table.write().remove(handle)?;
        // No lock is held any more while it is dropped.
        drop(taken);
        Ok(())
    }

    fn none(&self, handle: u64) -> Failure {
        stale(self.what, handle)
    }

    fn busy(&self) -> Failure {
        let text = format!("the {} is at work in a call that led to this one", self.what);
        Failure::new(fm_status::FM_BUSY, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_of_one_table_is_none_of_any_other_however_many_there_are() {
        let mut first = Table::new("first");
        let handle = first.insert(());
        for _ in 0..200_000 {
            let other = Table::new("other").insert(());
            assert!(first.get(other).is_err());
        }
        assert!(first.remove(handle).is_ok() && first.remove(handle).is_err());
        assert!(first.insert(()) != handle);
    }
}
