//! Pointers from outside: slices, strings and places to write results to.
#![expect(unsafe_code, reason = "reads and writes through the caller's pointers")]

use core::ffi::{CStr, c_char};

use crate::status::{Failure, call, fm_status};

fn null(what: &str) -> Failure {
    Failure::new(fm_status::FM_NULL, format!("{what} is a null pointer"))
}

fn check<T>(what: &str, data: *const T, len: usize) -> Result<(), Failure> {
    if data.is_null() {
        return Err(null(what));
    }
    if !data.is_aligned() {
        return Err(Failure::argument(format!("{what} is not aligned to {}", align_of::<T>())));
    }
    if len.checked_mul(size_of::<T>()).is_none_or(|bytes| bytes > isize::MAX as usize) {
        return Err(Failure::argument(format!("{what} cannot have {len} elements")));
    }
    Ok(())
}

/// The caller's array. One without elements may be null.
///
/// # Safety
/// Unless it is null, `data` points at `len` initialised elements, which no thread writes during
/// the call.
pub(crate) unsafe fn slice<'a, T>(
    what: &str,
    data: *const T,
    len: usize,
) -> Result<&'a [T], Failure> {
    if len == 0 {
        return Ok(&[]);
    }
    check(what, data, len)?;
    // SAFETY: not null, aligned and not too long, as was checked; the caller vouches for the rest.
    Ok(unsafe { core::slice::from_raw_parts(data, len) })
}

/// The caller's array, to be filled. One without elements may be null.
///
/// # Safety
/// Unless it is null, `data` points at `len` elements that are initialised and that no other code
/// uses during the call.
pub(crate) unsafe fn slice_mut<'a, T>(
    what: &str,
    data: *mut T,
    len: usize,
) -> Result<&'a mut [T], Failure> {
    if len == 0 {
        return Ok(&mut []);
    }
    check(what, data, len)?;
    // SAFETY: not null, aligned and not too long, as was checked; the caller vouches for the rest.
    Ok(unsafe { core::slice::from_raw_parts_mut(data, len) })
}

/// A result for the caller.
///
/// # Safety
/// Unless it is null, `place` may be written.
pub(crate) unsafe fn give<T>(what: &str, place: *mut T, value: T) -> Result<(), Failure> {
    check(what, place, 1)?;
    // SAFETY: not null and aligned, as was checked; the caller vouches that it may be written.
    unsafe { place.write(value) };
    Ok(())
}

/// Looks whether [`give`] can succeed, before anything is done that it would be too late for.
pub(crate) fn expect_place<T>(what: &str, place: *mut T) -> Result<(), Failure> {
    check(what, place, 1)
}

/// Runs a call that has a text for the caller: with a zero at its end, as much of it as there is room for;
/// `len` gets its whole length without the zero.
///
/// # Safety
/// Unless they are null, `room` points at `capacity` bytes that are initialised, and they and `len` may
/// be written.
pub(crate) unsafe fn answer_text(
    room: *mut c_char,
    capacity: usize,
    len: *mut usize,
    body: impl FnOnce() -> Result<String, Failure>,
) -> fm_status {
    call(|| {
        expect_place("len", len)?;
        let text = body()?;
        // SAFETY: the caller vouches for as many bytes.
        let room = unsafe { slice_mut("text", room.cast::<u8>(), capacity) }?;
        if let Some(last) = room.len().checked_sub(1) {
            // Not in the middle of a character.
            let mut end = text.len().min(last);
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            room[..end].copy_from_slice(&text.as_bytes()[..end]);
            room[end] = 0;
        }
        // SAFETY: the caller vouches that it may be written.
        unsafe { give("len", len, text.len()) }
    })
}

/// The caller's texts, each as for [`text`].
///
/// # Safety
/// As for [`slice`] and, of each element, for [`text`].
pub(crate) unsafe fn texts<'a>(
    what: &str,
    all: *const *const c_char,
    len: usize,
) -> Result<Vec<&'a str>, Failure> {
    // SAFETY: the caller vouches for as many addresses.
    let all = unsafe { slice(what, all, len) }?;
    // SAFETY: the caller vouches for each.
    all.iter().map(|&one| unsafe { text(what, one) }).collect()
}

/// The caller's text, which is UTF-8 and ends with a zero.
///
/// # Safety
/// Unless it is null, `text` points at bytes up to a zero, which no thread writes during the call.
pub(crate) unsafe fn text<'a>(what: &str, text: *const c_char) -> Result<&'a str, Failure> {
    if text.is_null() {
        return Err(null(what));
    }
    // SAFETY: not null; the caller vouches for a zero at the end, and that it stays as it is.
    let bytes = unsafe { CStr::from_ptr(text) };
    bytes.to_str().map_err(|error| Failure::argument(format!("{what} is not UTF-8: {error}")))
}
