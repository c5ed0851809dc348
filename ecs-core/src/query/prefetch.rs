//! Telling the processor what will be needed soon.
#![cfg_attr(
    all(target_arch = "x86_64", not(miri)),
    expect(unsafe_code, reason = "calls the prefetch instruction")
)]

const LINE_BYTES: usize = 64;

/// Asks for the cache lines of `bytes` bytes from `start` on. It is a hint: any address will do,
/// and where the processor has no such instruction nothing happens.
#[inline]
pub(crate) fn prefetch(start: *const u8, bytes: usize) {
    for offset in (0..bytes).step_by(LINE_BYTES) {
        prefetch_line(start.wrapping_add(offset));
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline]
fn prefetch_line(address: *const u8) {
    use core::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
    // SAFETY: a prefetch reads nothing that the program could see and faults at no address; SSE,
    // which it belongs to, is part of every x86-64.
    unsafe { _mm_prefetch::<_MM_HINT_T1>(address.cast()) };
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[inline]
fn prefetch_line(_address: *const u8) {}
