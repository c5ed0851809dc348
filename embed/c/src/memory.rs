//! The memory of the library: from the system, or from functions of the host.
#![expect(unsafe_code, reason = "is the allocator of the library, and calls the host's functions")]

use core::ffi::c_void;
use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use crate::ffi;
use crate::status::{Failure, call, fm_status};

/// The source of the memory of the library. Both functions may be called on any thread, on several
/// at once; they return (C++: they throw no exception), and call nothing of the library.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct fm_allocator {
    /// Gives `size` bytes, at least one, at an address that is a multiple of `align`, a power of two; or
    /// null, after which the library may end the program.
    pub allocate: Option<unsafe extern "C" fn(*mut c_void, usize, usize) -> *mut c_void>,
    /// Takes back what `allocate` gave, with the same size and alignment.
    pub free: Option<unsafe extern "C" fn(*mut c_void, *mut c_void, usize, usize)>,
    /// What both are given first.
    pub user: *mut c_void,
}

/// The functions of the host.
struct Host {
    allocate: unsafe extern "C" fn(*mut c_void, usize, usize) -> *mut c_void,
    free: unsafe extern "C" fn(*mut c_void, *mut c_void, usize, usize),
    user: *mut c_void,
}

/// Set once, before anything was allocated: what is freed was allocated by the same functions.
static HOST: AtomicPtr<Host> = AtomicPtr::new(ptr::null_mut());
static IN_USE: AtomicBool = AtomicBool::new(false);

struct Memory;

#[global_allocator]
static MEMORY: Memory = Memory;

impl Memory {
    fn host() -> Option<&'static Host> {
        let host = HOST.load(Ordering::Acquire);
        // SAFETY: null, or made by `fm_memory_from` to stay for ever.
        unsafe { host.as_ref() }
    }
}

// SAFETY: all is handed on to the system's allocator, or to functions that the host says are one; to
// the same of both in the life of the program.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !IN_USE.load(Ordering::Relaxed) {
            IN_USE.store(true, Ordering::Relaxed);
        }
        match Self::host() {
            // SAFETY: the caller vouches for the layout.
            None => unsafe { System.alloc(layout) },
            // SAFETY: the host gave it for this.
            Some(it) => unsafe { (it.allocate)(it.user, layout.size(), layout.align()).cast() },
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match Self::host() {
            // SAFETY: the caller vouches for the block, which the system gave.
            None => unsafe { System.dealloc(block, layout) },
            // SAFETY: the caller vouches for the block, which the host gave.
            Some(it) => unsafe { (it.free)(it.user, block.cast(), layout.size(), layout.align()) },
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if Self::host().is_none() && IN_USE.load(Ordering::Relaxed) {
            // SAFETY: the caller vouches for the layout.
            return unsafe { System.alloc_zeroed(layout) };
        }
        // SAFETY: the caller vouches for the layout.
        let block = unsafe { self.alloc(layout) };
        if !block.is_null() {
            // SAFETY: as many bytes as were just allocated.
            unsafe { block.write_bytes(0, layout.size()) };
        }
        block
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if Self::host().is_none() {
            // SAFETY: the caller vouches for all of it; the system gave the block.
            return unsafe { System.realloc(block, layout, size) };
        }
        // SAFETY: the caller vouches that it is a size for this alignment.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: the caller vouches that it is not zero.
        let new = unsafe { self.alloc(wanted) };
        if !new.is_null() {
            // SAFETY: both have so many bytes, and the new one was just allocated.
            unsafe { new.copy_from_nonoverlapping(block, layout.size().min(size)) };
            // SAFETY: the caller vouches for the block.
            unsafe { self.dealloc(block, layout) };
        }
        new
    }
}

/// Has the library take all its memory from these functions, for ever. It is the first call of the
/// program: FM_BUSY once the library has memory, or has functions.
///
/// # Safety
/// `allocator` points at functions that may be called as its members say, for as long as the library is
/// loaded.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_memory_from(allocator: *const fm_allocator) -> fm_status {
    let is_late = IN_USE.load(Ordering::Relaxed);
    call(|| {
        // SAFETY: the caller vouches for one.
        let given = unsafe { ffi::slice("allocator", allocator, 1) }?[0];
        let Some((allocate, free)) = given.allocate.zip(given.free) else {
            return Err(Failure::new(fm_status::FM_NULL, "a function of the allocator is null"));
        };
        let busy = || Failure::new(fm_status::FM_BUSY, "the library has memory already");
        if is_late || Memory::host().is_some() {
            return Err(busy());
        }
        // SAFETY: it has a size.
        let place = unsafe { System.alloc(Layout::new::<Host>()) }.cast::<Host>();
        if place.is_null() {
            return Err(Failure::argument("there is no memory"));
        }
        // SAFETY: just allocated for it; it is never freed.
        unsafe { place.write(Host { allocate, free, user: given.user }) };
        let nothing = ptr::null_mut();
        if HOST.compare_exchange(nothing, place, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            // SAFETY: allocated above by the system, with this layout.
            unsafe { System.dealloc(place.cast(), Layout::new::<Host>()) };
            return Err(busy());
        }
        Ok(())
    })
}
