//! The only file of this crate that names an atomic type.
//!
//! [`ProtocolU64`] and [`ProtocolU32`] are for the words that threads come to an agreement through: `--cfg loom` puts
//! loom's modelled atomics in their place. The others are counters, stamps and bits that are only
//! ever accessed relaxed and publish nothing, so that there is nothing to model.

pub(crate) use core::sync::atomic::{AtomicU64, Ordering};

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicU32 as ProtocolU32, AtomicU64 as ProtocolU64};
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU32 as ProtocolU32, AtomicU64 as ProtocolU64};

/// Hands out numbers that no other call in this process gets.
#[derive(Debug)]
pub(crate) struct Serial(AtomicU64);

impl Serial {
    pub(crate) const fn starting_at(first: u64) -> Self {
        Self(AtomicU64::new(first))
    }

    pub(crate) fn next(&self) -> u64 {
        // Relaxed: the number alone matters, it publishes nothing.
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}
