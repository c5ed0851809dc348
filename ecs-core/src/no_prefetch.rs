//! In the place of `prefetch.rs` where the processor, or Miri, has no such instruction.

/// Does nothing.
#[inline]
pub(crate) fn prefetch(_start: *const u8, _bytes: usize) {}

/// Does nothing.
#[inline]
pub(crate) fn prefetch_pages(_start: *const u8, _bytes: usize) {}

/// Does nothing.
#[inline]
pub(crate) fn prefetch_line(_address: *const u8) {}
