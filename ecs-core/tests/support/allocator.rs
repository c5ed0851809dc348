//! The system's allocator, with a callback for each call.
#![expect(unsafe_code, reason = "an allocator is an unsafe trait's implementation")]

use std::alloc::{GlobalAlloc, Layout, System};

/// To be made the global allocator of a test.
pub(crate) struct Watched {
    /// Called with the bytes that are asked for. Says whether they are to be had.
    pub(crate) grants: fn(usize) -> bool,
    /// Called with the bytes that are given back.
    pub(crate) freed: fn(usize),
}

// SAFETY: it is the system's allocator, but that it sometimes has no memory, as any may. To be told
// of it allocates nothing: the tests count in atomics and in constant thread locals.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !(self.grants)(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller keeps to the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        (self.freed)(layout.size());
        // SAFETY: all memory comes from the system's allocator; the rest is the caller's word.
        unsafe { System.dealloc(pointer, layout) }
    }
}
