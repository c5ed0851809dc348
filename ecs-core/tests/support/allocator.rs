//! The system's allocator, with a callback for each call.
#![expect(unsafe_code, reason = "an allocator is an unsafe trait's implementation")]

use std::alloc::{GlobalAlloc, Layout, System};

/// To be made the global allocator of a test, or the block memory of a world.
pub(crate) struct Watched<G = fn(Layout) -> bool, F = fn(Layout)> {
    /// Called with what is asked for. Says whether it is to be had.
    pub(crate) grants: G,
    /// Called with what is given back.
    pub(crate) freed: F,
}

// SAFETY: it is the system's allocator, but that it sometimes has no memory, as any may. To be told
// of it allocates nothing where it is the global one: the tests count in atomics and in constant thread locals.
unsafe impl<G: Fn(Layout) -> bool, F: Fn(Layout)> GlobalAlloc for Watched<G, F> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !(self.grants)(layout) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller keeps to the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        (self.freed)(layout);
        // SAFETY: all memory comes from the system's allocator; the rest is the caller's word.
        unsafe { System.dealloc(pointer, layout) }
    }
}
