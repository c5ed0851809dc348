//! Telling the processor what will be needed soon. `no_prefetch.rs` stands in where there is no
//! instruction for it.
#![expect(unsafe_code, reason = "calls the prefetch instruction")]

use core::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};

const LINE_BYTES: usize = 64;
/// Of the smallest pages that there are. Where they are larger, some lines are asked for in vain.
const PAGE_BYTES: usize = 4096;

/// Asks for the cache lines of `bytes` bytes from `start` on, to be needed in a while. It is a hint:
/// any address will do.
#[inline]
pub(crate) fn prefetch(start: *const u8, bytes: usize) {
    (0..bytes).step_by(LINE_BYTES).for_each(|offset| prefetch_far(start.wrapping_add(offset)));
}

/// Asks for a line of each page that these bytes are on, so that the processor knows by then where
/// the pages are.
#[inline]
pub(crate) fn prefetch_pages(start: *const u8, bytes: usize) {
    (0..bytes).step_by(PAGE_BYTES).for_each(|offset| prefetch_far(start.wrapping_add(offset)));
    // The last page may be one more than there are whole ones.
    prefetch_far(start.wrapping_add(bytes));
}

#[inline]
fn prefetch_far(address: *const u8) {
    // SAFETY: a prefetch reads nothing that the program could see and faults at no address;
    // SSE, which it belongs to, is part of every x86-64.
    unsafe { _mm_prefetch::<_MM_HINT_T1>(address.cast()) };
}

/// Asks for one cache line, to be needed at once. As much a hint.
#[inline]
pub(crate) fn prefetch_line(address: *const u8) {
    // SAFETY: a prefetch reads nothing that the program could see and faults at no address;
    // SSE, which it belongs to, is part of every x86-64.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
}
