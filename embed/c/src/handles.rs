//! Tables of everything that has a handle.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use parking_lot::{ReentrantMutex, RwLock};
use slotmap::{DefaultKey, Key, KeyData, SlotMap};

use crate::status::{Failure, fm_status};

/// Handles of one kind, and what they stand for.
#[derive(Debug)]
pub(crate) struct Table<T> {
    what: &'static str,
    slots: SlotMap<DefaultKey, T>,
    /// What handles have in the upper half of their place, other than those of the tables before: one of
    /// another world, or of another kind, is found to be none.
    mark: u64,
}

static TABLES: AtomicU16 = AtomicU16::new(0);

impl<T> Table<T> {
    pub(crate) fn new(what: &'static str) -> Self {
        let mark = u64::from(TABLES.fetch_add(1, Ordering::Relaxed)) << 16;
        Self { what, slots: SlotMap::new(), mark }
    }

    pub(crate) fn insert(&mut self, value: T) -> u64 {
        self.slots.insert(value).data().as_ffi() ^ self.mark
    }

    fn key(&self, handle: u64) -> DefaultKey {
        KeyData::from_ffi(handle ^ self.mark).into()
    }

    fn stale(&self, handle: u64) -> Failure {
        stale(self.what, handle)
    }

    pub(crate) fn get(&self, handle: u64) -> Result<&T, Failure> {
        self.slots.get(self.key(handle)).ok_or_else(|| self.stale(handle))
    }

    pub(crate) fn get_mut(&mut self, handle: u64) -> Result<&mut T, Failure> {
        let key = self.key(handle);
        if !self.slots.contains_key(key) {
            return Err(self.stale(handle));
        }
        Ok(&mut self.slots[key])
    }

    pub(crate) fn remove(&mut self, handle: u64) -> Result<T, Failure> {
        self.slots.remove(self.key(handle)).ok_or_else(|| self.stale(handle))
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &T> {
        self.slots.values()
    }
}

fn stale(what: &str, handle: u64) -> Failure {
    Failure::new(fm_status::FM_BAD_HANDLE, format!("{handle:#x} is no {what} that is in use"))
}

/// Things that any thread may ask for by their handle, one thread at a time.
pub(crate) struct Shared<T> {
    what: &'static str,
    table: RwLock<Option<Table<Arc<Owned<T>>>>>,
}

/// By one thread at a time; a call inside of a call finds it borrowed. `None` once it was freed, for
/// a thread that found it in the table before that.
type Owned<T> = ReentrantMutex<RefCell<Option<T>>>;

impl<T> Shared<T> {
    pub(crate) const fn new(what: &'static str) -> Self {
        Self { what, table: RwLock::new(None) }
    }

    pub(crate) fn insert(&self, value: T) -> u64 {
        let mut table = self.table.write();
        let table = table.get_or_insert_with(|| Table::new(self.what));
        table.insert(Arc::new(ReentrantMutex::new(RefCell::new(Some(value)))))
    }

    fn with_slot<R>(
        &self,
        handle: u64,
        body: impl FnOnce(&mut Option<T>) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let found = match &*self.table.read() {
            Some(table) => Arc::clone(table.get(handle)?),
            None => return Err(self.none(handle)),
        };
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
        if let Some(table) = &mut *self.table.write() {
            table.remove(handle)?;
        }
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
