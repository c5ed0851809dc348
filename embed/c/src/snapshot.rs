//! Snapshots and hashes of worlds.
#![expect(unsafe_code, reason = "exports functions that take pointers")]

use core::ffi::c_char;
use std::ffi::CString;

use formic_ecs::{ChildOf, RestoreError, Snapshot, SnapshotError};
use formic_jobs::Save;

use crate::ffi;
use crate::handles::Shared;
use crate::schedule::{both, fm_schedule};
use crate::status::{Failure, call, fm_log_level, fm_status, log};
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
            let snapshot = state.world.snapshot().map_err(|error| match error {
                SnapshotError::NotSerializable { component } => Failure::argument(format!(
                    "{component} has a drop function: such values are in no snapshot"
                )),
                other => Failure::argument(other),
            })?;
            Ok(Box::<[u8]>::from(snapshot.as_bytes()))
        })?;
        // SAFETY: the caller says that it may be written.
        unsafe { ffi::give("out", out, BLOBS.insert(bytes)) }
    })
}

/// Goes back to a snapshot, of this world or another one with the same components, relations, minds and
/// paths. With FM_BAD_DATA the world is as it was.
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
            // Every world has it, but only from its first use on.
            state.world.relation_mut::<ChildOf>();
            state.world.restore(&snapshot).map(drop).map_err(|error| match error {
                RestoreError::UnknownComponent { component } => bad(&format!(
                    "the snapshot has {component}, which this world does not have: make it first, \
                     be it a component, a relation, a mind or paths"
                )),
                other => bad(&other),
            })
        })
    })
}

/// Saves a world with a schedule of it, between two runs: `*out` is a blob with bytes that fm_load()
/// takes. Beside the entities it has the tick, and what systems remember.
///
/// # Safety
/// `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_save(schedule: fm_schedule, out: *mut fm_blob) -> fm_status {
    call(|| {
        ffi::expect_place("out", out)?;
        let saved = both(schedule, |world, schedule| Save::of(world, schedule))?;
        let bytes = saved.map_err(Failure::argument)?.to_bytes();
        // SAFETY: the caller says that it may be written.
        unsafe { ffi::give("out", out, BLOBS.insert(bytes.into())) }
    })
}

/// Loads what fm_save() saved into a schedule that was made in the same way, and its world with the
/// same components: it goes on as the saved one would have gone on. What did not fit exactly is noted in
/// the log. With FM_BAD_DATA both are as they were.
///
/// # Safety
/// `bytes` points at `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_load(schedule: fm_schedule, bytes: *const u8, len: usize) -> fm_status {
    call(|| {
        // SAFETY: the caller vouches for as many bytes.
        let bytes = unsafe { ffi::slice("bytes", bytes, len) }?;
        let bad = |error: &dyn std::fmt::Display| Failure::new(fm_status::FM_BAD_DATA, error);
        let save = Save::from_bytes(bytes).map_err(|error| bad(&error))?;
        let report = both(schedule, |world, schedule| {
            world.relation_mut::<ChildOf>();
            save.load(world, schedule)
        })?;
        let report = report.map_err(|error| bad(&error))?;
        if !report.is_exact() {
            let text = report.to_string().replace('\0', " ");
            log(fm_log_level::FM_LOG_NOTE, &CString::new(text).unwrap_or_default());
        }
        Ok(())
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
/// how many components have values that it does not see, such as those with a drop function;
/// fm_hash_uncovered() has their names.
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

/// Writes the names of the components whose values fm_state_hash() does not see, with `, ` between
/// them. `*len` is how many bytes the text has without the zero at its end; of more than `capacity`
/// bytes with it, only the beginning is written.
///
/// # Safety
/// `text` points at `capacity` bytes that are initialised and may be written; `len` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fm_hash_uncovered(
    world: fm_world,
    text: *mut c_char,
    capacity: usize,
    len: *mut usize,
) -> fm_status {
    let names = || {
        with(world, |state| {
            state.expect_all_readable()?;
            let hash = state.world.state_hash();
            Ok(hash.uncovered().iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
        })
    };
    // SAFETY: the caller vouches for as many bytes, and that all may be written.
    unsafe { ffi::answer_text(text, capacity, len, names) }
}
