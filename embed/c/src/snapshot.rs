//! Snapshots and hashes of worlds.
#![expect(unsafe_code, reason = "exports functions that take pointers")]

use formic_ecs::Snapshot;

use crate::ffi;
use crate::handles::Shared;
use crate::status::{Failure, call, fm_status};
use crate::world::{fm_world, with};

/// Bytes of the library.
pub type fm_blob = u64;

static BLOBS: Shared<Box<[u8]>> = Shared::new("blob");

/// Takes a snapshot of all entities. `*out` is a blob with its bytes, which may be kept in a file.
///
/// # Safety
/// `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_snapshot(world: fm_world, out: *mut fm_blob) -> fm_status {
    call(|| {
        ffi::expect_place("out", out)?;
        let bytes = with(world, |state| {
            state.expect_all_readable()?;
            let snapshot = state.world.snapshot().map_err(Failure::argument)?;
            Ok(Box::<[u8]>::from(snapshot.as_bytes()))
        })?;
        // SAFETY: the caller says that it may be written.
        unsafe { ffi::give("out", out, BLOBS.insert(bytes)) }
    })
}

/// Goes back to a snapshot, of this world or another one with the same components. With FM_BAD_DATA
/// the world is as it was.
///
/// # Safety
/// `bytes` points at `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_restore(world: fm_world, bytes: *const u8, len: usize) -> fm_status {
    call(|| {
        // SAFETY: the caller vouches for as many bytes.
        let bytes = unsafe { ffi::slice("bytes", bytes, len) }?;
        let bad = |error: &dyn std::fmt::Display| Failure::new(fm_status::FM_BAD_DATA, error);
        let snapshot = Snapshot::from_bytes(bytes).map_err(|error| bad(&error))?;
        with(world, |state| {
            state.expect_no_lease()?;
            state.world.restore(&snapshot).map(drop).map_err(|error| bad(&error))
        })
    })
}

/// Gives the address and the number of a blob's bytes, which stay until it is freed.
///
/// # Safety
/// `bytes` and `len` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_blob_bytes(
    blob: fm_blob,
    bytes: *mut *const u8,
    len: *mut usize,
) -> fm_status {
    call(|| {
        ffi::expect_place("bytes", bytes)?;
        ffi::expect_place("len", len)?;
        let (start, count) = BLOBS.with(blob, |blob| Ok((blob.as_ptr(), blob.len())))?;
        // SAFETY: the caller says that it may be written.
        unsafe { ffi::give("bytes", bytes, start) }?;
        // SAFETY: as above.
        unsafe { ffi::give("len", len, count) }
    })
}

/// Frees a blob.
#[unsafe(no_mangle)]
pub extern "C" fn fm_blob_free(blob: fm_blob) -> fm_status {
    call(|| BLOBS.free(blob, |_| Ok(())))
}

/// Gives the hash of a world's state: equal worlds have equal hashes, in any process. `*uncovered` is
/// how many components have values that it does not see; of components that were registered here
/// it sees all.
///
/// # Safety
/// `hash` and `uncovered` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_state_hash(
    world: fm_world,
    hash: *mut u64,
    uncovered: *mut usize,
) -> fm_status {
    call(|| {
        ffi::expect_place("hash", hash)?;
        ffi::expect_place("uncovered", uncovered)?;
        let found = with(world, |state| {
            state.expect_all_readable()?;
            Ok(state.world.state_hash())
        })?;
        // SAFETY: the caller says that it may be written.
        unsafe { ffi::give("hash", hash, found.value()) }?;
        // SAFETY: as above.
        unsafe { ffi::give("uncovered", uncovered, found.uncovered().len()) }
    })
}
