//! The atomic types of this crate. No other file names one, except the models for loom.
//!
//! [`ProtocolU64`] and [`ProtocolU32`] are for the words by which threads synchronise: `--cfg loom`
//! replaces them by loom's modelled atomics. The others are counters, stamps and bits. They are only
//! accessed relaxed and publish nothing, so there is nothing to model.

pub(crate) use core::sync::atomic::{AtomicU64, Ordering};

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicU32 as ProtocolU32, AtomicU64 as ProtocolU64};
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU32 as ProtocolU32, AtomicU64 as ProtocolU64};

/// A source of distinct numbers: each call of `next` returns another one.
#[derive(Debug)]
pub(crate) struct Serial(AtomicU64);

impl Serial {
    pub(crate) const fn starting_at(first: u64) -> Self {
        Self(AtomicU64::new(first))
    }

    pub(crate) fn next(&self) -> u64 {
        // Relaxed: only the number matters; it publishes nothing.
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}
