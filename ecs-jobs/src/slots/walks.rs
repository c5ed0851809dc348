//! The common part of the walks along the links.

use super::JobId;
use crate::sync::{AtomicU64, Mutex, Ordering};

/// A job on the way, and which of its dependencies is next.
pub(crate) type Step = (JobId, usize);

/// The numbers of the walks of a pool, and the memory of earlier ones.
#[derive(Debug)]
pub(crate) struct Walks {
    last_number: AtomicU64,
    spare: Mutex<Vec<Vec<Step>>>,
}

impl Walks {
    pub(super) fn new() -> Self {
        Self { last_number: AtomicU64::new(0), spare: Mutex::new(Vec::new()) }
    }

    /// A number that no walk had before.
    pub(crate) fn number(&self) -> u64 {
        // Relaxed: all that matters is that no two are the same.
        self.last_number.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// An empty list, with room if there was an earlier one.
    pub(crate) fn take_list(&self) -> Vec<Step> {
        self.spare.lock().pop().unwrap_or_default()
    }

    pub(crate) fn give_back_list(&self, mut list: Vec<Step>) {
        list.clear();
        self.spare.lock().push(list);
    }
}
