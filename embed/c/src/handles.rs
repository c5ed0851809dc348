//! Tables of everything that has a handle.

use std::cell::RefCell;
use std::sync::Arc;

use parking_lot::{ReentrantMutex, RwLock};
use slotmap::{DefaultKey, Key, KeyData, SlotMap};

use crate::status::{Failure, fm_status};

/// Handles of one kind, and what they stand for.
#[derive(Debug)]
pub(crate) struct Table<T> {
    what: &'static str,
    slots: SlotMap<DefaultKey, T>,
}

impl<T> Table<T> {
    pub(crate) fn new(what: &'static str) -> Self {
        Self { what, slots: SlotMap::new() }
    }

    pub(crate) fn insert(&mut self, value: T) -> u64 {
        self.slots.insert(value).data().as_ffi()
    }

    fn stale(&self, handle: u64) -> Failure {
        let text = format!("{handle:#x} is no {} that is in use", self.what);
        Failure::new(fm_status::FM_BAD_HANDLE, text)
    }

    pub(crate) fn get(&self, handle: u64) -> Result<&T, Failure> {
        self.slots.get(key(handle)).ok_or_else(|| self.stale(handle))
    }

    pub(crate) fn get_mut(&mut self, handle: u64) -> Result<&mut T, Failure> {
        if !self.slots.contains_key(key(handle)) {
            return Err(self.stale(handle));
        }
        Ok(&mut self.slots[key(handle)])
    }

    pub(crate) fn remove(&mut self, handle: u64) -> Result<T, Failure> {
        self.slots.remove(key(handle)).ok_or_else(|| self.stale(handle))
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &T> {
        self.slots.values()
    }
}

fn key(handle: u64) -> DefaultKey {
    KeyData::from_ffi(handle).into()
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
        Table::<T>::new(self.what).stale(handle)
    }

    fn busy(&self) -> Failure {
        let text = format!("the {} is at work in a call that led to this one", self.what);
        Failure::new(fm_status::FM_BUSY, text)
    }
}
